"""Filters as SQL over jsonb: the whole tree is pushed down. Every name and value is a bound parameter.

Numbers agree with the reference to the last bit. jsonb keeps decimal numbers exactly as they are written, and Python writes
a float so that no other float is nearer; that orders floats among themselves, and among whole numbers up to 2**53. Above it
a float is written into the document that is filtered as the whole number that it is.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from memwell.filters import Filter, Where
from memwell.storage.conditions import ORDER, Condition, Dialect, FilterTarget, joined

RECORD = FilterTarget(
    {"@id": "record.id", "@kind": "record.kind", "@text": "record.text", "@time": "record.time"}, "record.document"
)
ENTRY = FilterTarget({"@id": "entry.key"}, "entry.document")
ALWAYS = Condition("true", ())
_NEVER = Condition("false", ())
_EXACT_UP_TO = 2.0**53
# A float from 2**53 on is written with an exponent or with sixteen digits. Other text may match too.
_MAY_BE_LARGE = re.compile(r"\de|\d{16}").search


def filter_document(encoded: str) -> str | None:
    """The JSON to filter instead of a value's own; None where its own will do."""
    if _MAY_BE_LARGE(encoded) is None:
        return None
    value = msgspec.json.decode(encoded)
    exact = _exact(value)
    return None if exact is value else msgspec.json.encode(exact).decode()


def _exact(value: Any) -> Any:
    """The value with its large floats as integers; the same object where there are none."""
    if type(value) is float:
        # msgspec writes no integers of more than 64 bits, but takes JSON as it is.
        return msgspec.Raw(str(int(value)).encode()) if abs(value) >= _EXACT_UP_TO else value
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        changed = {key: _exact(item) for key, item in items.items()}
        return changed if any(changed[key] is not item for key, item in items.items()) else items
    if isinstance(value, list | tuple):
        members = cast("list[Any]", value)
        found = [_exact(one) for one in members]
        return found if any(one is not other for one, other in zip(found, members, strict=True)) else members
    return value


def compiled(node: Filter | None, target: FilterTarget) -> Condition:
    """The filter as SQL. It agrees with the reference evaluator in ``memwell.filters`` on every row."""
    return _DIALECT.compiled(node, target)


# Attributes: columns of one type that are never NULL


def _of_attribute(node: Where, column: str) -> Condition:
    # A timestamp is a float, and too small for rounding of integers to matter.
    kind = "double precision" if node.field == "@time" else "text"
    if node.operator == "exists":
        return ALWAYS
    if node.operator in ("eq", "in"):
        asked = node.value if node.operator == "in" else (node.value,)
        wanted = [one if kind == "text" else float(one) for one in asked if _suits(one, kind)]
        return Condition(f"({column} = ANY (%s::{kind}[]))", (wanted,)) if wanted else _NEVER
    if not _suits(node.value, kind):
        return _NEVER
    if node.operator == "contains":
        return Condition(f"(strpos({column}, %s::text) > 0)", (node.value,)) if kind == "text" else _NEVER
    return Condition(f"({column} {ORDER[node.operator]} %s::{kind})", (node.value,))


def _suits(wanted: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(wanted, str)
    return isinstance(wanted, int | float) and not isinstance(wanted, bool)


# The document


def _in_document(node: Where, path: tuple[str, ...], document: str) -> Condition:
    """Walk down with ``-> text``, which opens objects only and takes keys literally."""
    place = Condition(f"({document}{' -> %s::text' * len(path)})", path)
    if node.operator == "exists":
        return Condition(f"({place.sql} IS NOT NULL)", path)
    if node.operator == "eq":
        return Condition(f"(({place.sql} = %s::jsonb) IS TRUE)", (*path, _literal(node.value)))
    if node.operator == "in":
        wanted = [_literal(one) for one in node.value]
        return Condition(f"(({place.sql} = ANY (%s::jsonb[])) IS TRUE)", (*path, wanted))
    if node.operator == "contains":
        return _contains(node.value, place)
    return _ordered(ORDER[node.operator], node.value, place)


def _literal(wanted: Any) -> str:
    return msgspec.json.encode(_exact(wanted)).decode()


def _contains(wanted: Any, place: Condition) -> Condition:
    element = f"({place.sql} @> %s::jsonb)"
    array = Condition(
        f"((CASE jsonb_typeof({place.sql}) WHEN 'array' THEN {element} END) IS TRUE)",
        (*place.bindings, *place.bindings, f"[{_literal(wanted)}]"),
    )
    if not isinstance(wanted, str):
        return array
    return joined(" OR ", [_of_type("string", f"strpos({_text(place.sql)}, %s::text) > 0", wanted, place), array])


def _ordered(symbol: str, wanted: Any, place: Condition) -> Condition:
    if isinstance(wanted, str):
        return _of_type("string", f'{_text(place.sql)} COLLATE "C" {symbol} %s::text', wanted, place)
    if wanted is None or isinstance(wanted, bool):
        return _NEVER
    return _of_type("number", f"{place.sql}::numeric {symbol} %s::numeric", _literal(wanted), place)


def _of_type(kind: str, comparison: str, wanted: str, place: Condition) -> Condition:
    """A comparison of values of one type: casting another type would be an error."""
    sql = f"((CASE jsonb_typeof({place.sql}) WHEN '{kind}' THEN {comparison} END) IS TRUE)"
    return Condition(sql, (*place.bindings, *place.bindings, wanted))


def _text(place: str) -> str:
    return f"({place} #>> '{{}}')"


_DIALECT = Dialect(ALWAYS, _NEVER, _of_attribute, _in_document)

"""Filters as SQL: the whole tree is pushed down. Every name and value is a bound parameter; nothing is spliced in."""

from __future__ import annotations

from typing import Any

from memwell.filters import Filter, Where
from memwell.storage.conditions import ORDER, Condition, Dialect, FilterTarget, joined

RECORD = FilterTarget(
    {"@id": "record.id", "@kind": "record.kind", "@text": "record.text", "@time": "record.time"}, "record.metadata"
)
ENTRY = FilterTarget(
    {"@id": "entry.key"},
    "(CASE WHEN typeof(entry.value) = 'text' AND json_type(entry.value) = 'object' THEN entry.value ELSE '{}' END)",
)
ALWAYS = Condition("1", ())
_NEVER = Condition("0", ())


def compiled(node: Filter | None, target: FilterTarget) -> Condition:
    """The filter as SQL. It agrees with the reference evaluator in ``memwell.filters`` on every row."""
    return _DIALECT.compiled(node, target)


def _of_attribute(node: Where, column: str) -> Condition:
    return _compared(node, "'real'" if node.field == "@time" else "'text'", column)


def _in_document(node: Where, path: tuple[str, ...], document: str) -> Condition:
    """Walk down with json_each, whose keys are compared as values: no key can act as a JSON path."""
    tables: list[str] = []
    for depth in range(len(path)):
        tables.append(f"json_each({document}) AS j{depth}")
        # Only an object is parsed as one.
        document = f"(CASE j{depth}.type WHEN 'object' THEN j{depth}.value ELSE '{{}}' END)"
    keys = " AND ".join(f"j{depth}.key = ?" for depth in range(len(path)))
    last = f"j{len(path) - 1}"
    found = _compared(node, f"{last}.type", f"{last}.value")
    return Condition(
        f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {keys} AND {found.sql})", (*path, *found.bindings)
    )


def _compared(node: Where, kind: str, value: str) -> Condition:
    if node.operator == "exists":
        return ALWAYS
    if node.operator == "eq":
        return _equal(node.value, kind, value)
    if node.operator == "in":
        members = [_equal(one, kind, value) for one in node.value]
        return joined(" OR ", members) if members else _NEVER
    if node.operator == "contains":
        return _contains(node.value, kind, value)
    return _ordered(ORDER[node.operator], node.value, kind, value)


def _equal(wanted: Any, kind: str, value: str) -> Condition:
    if wanted is None or isinstance(wanted, bool):
        name = {None: "null", True: "true", False: "false"}[wanted]
        return Condition(f"({kind} = '{name}')", ())
    return _ordered("=", wanted, kind, value)


def _ordered(symbol: str, wanted: Any, kind: str, value: str) -> Condition:
    if isinstance(wanted, str):
        return Condition(f"({kind} = 'text' AND {value} {symbol} ?)", (wanted,))
    if wanted is None or isinstance(wanted, bool):
        return _NEVER
    return Condition(f"({kind} IN ('integer', 'real') AND {value} {symbol} ?)", (wanted,))


def _contains(wanted: Any, kind: str, value: str) -> Condition:
    element = _equal(wanted, "element.type", "element.value")
    array = f"(CASE {kind} WHEN 'array' THEN {value} ELSE '[]' END)"
    inside = Condition(f"EXISTS (SELECT 1 FROM json_each({array}) AS element WHERE {element.sql})", element.bindings)
    if not isinstance(wanted, str):
        return inside
    part = Condition(f"({kind} = 'text' AND instr({value}, ?) > 0)", (wanted,))
    return joined(" OR ", [part, inside])


_DIALECT = Dialect(ALWAYS, _NEVER, _of_attribute, _in_document)

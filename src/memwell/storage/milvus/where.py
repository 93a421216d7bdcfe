"""Filters as expressions of Milvus, and what of a record they are asked about.

No text of a user's ever stands in an expression: keys and texts are digests, so nothing in them can be taken for a part of
it. What Milvus cannot be asked exactly is left out, and the expression holds wherever the filter does; the filter itself is
looked at again above, on the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.records import Record, Space

_EXACT = 2**53
_MOST_LEAVES = 500
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def digest(*texts: str) -> str:
    """A name for texts that is safe in any expression."""
    return hashlib.sha256(msgspec.json.encode(texts)).hexdigest()


def row_key(space: Space, id_: str) -> str:
    """The primary key of a record."""
    return digest(space.encoded(), id_)


def row_of(record: Record) -> dict[str, Any]:
    """A record as Milvus keeps it: its vector, and what filters ask about."""
    leaves = list(_leaves(record.metadata, ()))
    partial = len(leaves) > _MOST_LEAVES
    return {
        "key": row_key(record.space, record.id),
        "space": digest(record.space.encoded()),
        "id": record.id,
        "kind": digest(record.kind),
        "time": record.time.timestamp(),
        "partial": partial,
        "metadata": {} if partial else dict(leaves),
        "vector": list(record.vector or ()),
    }


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The scalars of metadata under the names of their paths. Numbers have names apart, so they are ordered alone."""
    for key, one in value.items():
        here = (*path, key)
        if isinstance(one, dict):
            yield from _leaves(cast("dict[str, Any]", one), here)
        elif isinstance(one, int | float) and not isinstance(one, bool):
            # Beyond that only its order is asked for.
            yield _number_name(here), one if abs(one) < _EXACT else float(one)
        elif one is None or isinstance(one, bool | str):
            yield _name(here), _scalar(one)


def _name(path: tuple[str, ...]) -> str:
    return "s" + digest(*path)[:32]


def _number_name(path: tuple[str, ...]) -> str:
    return "n" + digest(*path)[:32]


def _scalar(value: str | bool | None) -> str:
    return digest(value)[:32] if isinstance(value, str) else f"{value}"


def expression(space: Space, where: Filter | None) -> str:
    """What to ask Milvus for the records of a space that may satisfy the filter."""
    mine = f'space == "{digest(space.encoded())}"'
    asked = None if where is None else _asked(where, space)
    return mine if asked is None else f"{mine} and ({asked})"


def _asked(node: Filter, space: Space) -> str | None:
    """An expression that holds wherever the filter does; None when that is everywhere."""
    if isinstance(node, Where):
        return _compared(node, space)
    if isinstance(node, Not):
        return None
    members = [_asked(one, space) for one in node.filters]
    kept = [one for one in members if one is not None]
    if isinstance(node, AnyOf) and len(kept) < len(members):
        return None
    joint = " and " if isinstance(node, AllOf) else " or "
    return "(" + joint.join(kept) + ")" if kept else None


def _compared(node: Where, space: Space) -> str | None:
    if node.operator not in ("eq", "in", *_SIGNS):
        return None
    if node.operator == "in":
        asked = [_compared(Where(node.field, "eq", one), space) for one in node.value]
        return None if not asked or None in asked else "(" + " or ".join(one for one in asked if one) + ")"
    if node.field == "@time":
        number = _number(node.value)
        return None if number is None else f"time {_SIGNS.get(node.operator, '==')} {number}"
    if isinstance(node.field, str) and node.field.startswith("@"):
        return _of_attribute(node, space)
    compared = _of_metadata(node)
    return None if compared is None else f"(partial == true or {compared})"


def _of_attribute(node: Where, space: Space) -> str | None:
    if node.operator != "eq" or not isinstance(node.value, str):
        return None
    if node.field == "@kind":
        return f'kind == "{digest(node.value)}"'
    return f'key == "{row_key(space, node.value)}"' if node.field == "@id" else None


def _of_metadata(node: Where) -> str | None:
    path = (node.field,) if isinstance(node.field, str) else node.field
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        number = _number(node.value)
        if number is None:
            return None
        return f'metadata["{_number_name(path)}"] {_SIGNS.get(node.operator, "==")} {number}'
    if node.operator != "eq":
        return None
    return f'metadata["{_name(path)}"] == "{_scalar(node.value)}"'


def _number(value: Any) -> str | None:
    """A number as it is written in an expression; None for one that Milvus might read as another."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= _EXACT:
        return None
    written = repr(value)
    return None if "e" in written or written.startswith("-0") else written

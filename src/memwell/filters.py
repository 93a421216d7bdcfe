"""Filters: conditions on the metadata and attributes of records and values, and their reference evaluator.

    Filter  =  Where(field, operator, value)  |  AllOf(filters)  |  AnyOf(filters)  |  Not(filter)

A field is a key of the metadata (``"city"``), a path into it (``("address", "city")``), or an attribute of a record
written with an at-sign (``"@id"``, ``"@kind"``, ``"@text"``, ``"@time"``). Build filters from values, or from a mapping::

    {"city": "Paris"}                                  equality
    {"age": {"$gt": 30, "$lt": 65}}                    operators: $eq $ne $gt $ge $lt $le $in $contains $exists
    {"$or": [{"city": "Paris"}, {"$not": {"vip": True}}]}
    {"$path": ["address", "city"], "$eq": "Paris"}     a path into the metadata

Logic is two-valued: a comparison with a missing field is false, ``Not`` inverts it, ``ne`` is the opposite of ``eq``. Two
numbers and two texts (by code point) are ordered; comparing other types is false. A boolean is no number. ``contains``
tests a list for an element and a text for a substring. A field is compared with a scalar: text, a number, a boolean or
None (``@time`` with a datetime or its ISO form ``"2026-05-01"``). Backends evaluate filters in their engines, and must
agree with ``holds`` on every record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, cast

import msgspec
from msgspec.structs import force_setattr

from memwell.errors import InvalidInput
from memwell.values import check_json, check_text, check_type, shown

OPERATORS = ("eq", "ne", "gt", "ge", "lt", "le", "in", "contains", "exists")
ATTRIBUTES = ("@id", "@kind", "@text", "@time")
MAX_FILTER_NODES = 256
MAX_FILTER_DEPTH = 32

Path: TypeAlias = tuple[str, ...]


class Where(msgspec.Struct, frozen=True):
    """One comparison. Raises ``InvalidInput`` for an unknown operator or an invalid value."""

    field: str | Path
    operator: str
    value: Any = True

    def __post_init__(self) -> None:
        force_setattr(self, "field", _check_field(self.field))
        if self.operator not in OPERATORS:
            raise InvalidInput(f"unknown filter operator {shown(self.operator)}; known: {', '.join(OPERATORS)}")
        value = _moment(self.value) if self.field == "@time" else self.value
        force_setattr(self, "value", _checked_value(self.operator, cast(object, value)))


class AllOf(msgspec.Struct, frozen=True):
    """All of the filters hold; true for none."""

    filters: tuple[Filter, ...]


class AnyOf(msgspec.Struct, frozen=True):
    """At least one of the filters holds."""

    filters: tuple[Filter, ...]


class Not(msgspec.Struct, frozen=True):
    """The filter does not hold."""

    filter: Filter


Filter: TypeAlias = Where | AllOf | AnyOf | Not
FilterLike: TypeAlias = Filter | Mapping[str, Any]


class Filterable(Protocol):
    """The attributes and metadata that a filter reads, as of a ``Record``."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def time(self) -> datetime: ...
    @property
    def metadata(self) -> dict[str, Any]: ...


class KeyedValue(Protocol):
    """A value with its key, as an ``Entry``."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> Any: ...


def as_filter(value: FilterLike | None) -> Filter | None:
    """The filter of a mapping. Raises ``InvalidInput`` for unknown operators, invalid forms and too large filters."""
    if value is None:
        return None
    built = _parse(value, 0) if isinstance(value, Mapping) else value
    _measure(built, 0)
    return built


def _parse(mapping: Mapping[str, Any], depth: int) -> Filter:
    if depth > MAX_FILTER_DEPTH:
        raise InvalidInput(f"a filter is nested at most {MAX_FILTER_DEPTH} deep")
    if "$path" in mapping:
        operators = {key: value for key, value in mapping.items() if key != "$path"}
        path = tuple(cast("Sequence[str]", _expect_list("$path", mapping["$path"])))
        return _parse_operators(path, operators or {"$exists": True})
    found = [_parse_entry(key, value, depth) for key, value in mapping.items()]
    return found[0] if len(found) == 1 else AllOf(tuple(found))


def _parse_entry(key: Any, value: Any, depth: int) -> Filter:
    if key in ("$and", "$or"):
        members = tuple(_parse(_expect_mapping(item), depth + 1) for item in _expect_list(key, value))
        return AllOf(members) if key == "$and" else AnyOf(members)
    if key == "$not":
        return Not(_parse(_expect_mapping(value), depth + 1))
    if isinstance(key, str) and key.startswith("$"):
        raise InvalidInput(f"unknown filter operator {shown(key)}; known here: $and, $or, $not")
    if isinstance(value, Mapping) and value:
        return _parse_operators(key, cast("Mapping[Any, Any]", value))
    return Where(key, "eq", value)


def _parse_operators(field: str | Path, operators: Mapping[Any, Any]) -> Filter:
    for name in operators:
        if not isinstance(name, str) or not name.startswith("$"):
            raise InvalidInput(f"expected an operator such as $gt for {shown(field)}, not {shown(name)}")
        if name[1:] not in OPERATORS:
            raise InvalidInput(f"unknown filter operator {shown(name)}; known: {', '.join(f'${o}' for o in OPERATORS)}")
    found = tuple(Where(field, name[1:], value) for name, value in operators.items())
    return found[0] if len(found) == 1 else AllOf(found)


def _expect_mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", check_type(value, Mapping, "a filter must be a mapping"))


def _expect_list(key: str, value: object) -> Sequence[object]:
    return cast("Sequence[object]", check_type(value, (list, tuple), f"{key} takes a list"))


def _check_field(field: object) -> str | Path:
    if isinstance(field, str):
        if field.startswith("@") and field not in ATTRIBUTES:
            raise InvalidInput(f"unknown attribute {shown(field)}; known: {', '.join(ATTRIBUTES)}")
        check_text(field, "a filter's field")
        return field
    if isinstance(field, tuple | list) and field:
        path = tuple(cast("Sequence[str]", field))
        if len(path) > MAX_FILTER_DEPTH:
            raise InvalidInput(f"a filter's path has at most {MAX_FILTER_DEPTH} keys, not {len(path)}")
        for key in path:
            check_text(key, "a key in a filter's path")
        return path
    raise InvalidInput(f"a filter's field must be a key or a path of keys, not {shown(cast(object, field))}")


def _checked_value(operator: str, value: object) -> object:
    if operator == "exists" and not isinstance(value, bool):
        raise InvalidInput(f"'exists' takes true or false, not {shown(value)}")
    if operator != "in":
        return _check_scalar(value, operator)
    return tuple(_check_scalar(one, operator) for one in _expect_list("'in'", value))


def _moment(value: Any) -> Any:
    """A datetime from its ISO form, as in JSON."""
    if isinstance(value, list | tuple):
        return [_moment(one) for one in cast("Sequence[Any]", value)]
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return value


def _check_scalar(value: object, operator: str) -> object:
    if isinstance(value, datetime):
        # A time without a zone is UTC, as in a record.
        return (value.replace(tzinfo=UTC) if value.utcoffset() is None else value).timestamp()
    if isinstance(value, list | tuple | dict):
        raise InvalidInput(
            f"{operator!r} compares with text, a number, true, false or None, not {shown(cast(object, value))}"
        )
    check_json(value, f"the value of {operator!r}")
    return value


def _measure(node: object, depth: int) -> int:
    if depth > MAX_FILTER_DEPTH:
        raise InvalidInput(f"a filter is nested at most {MAX_FILTER_DEPTH} deep")
    if isinstance(node, Where):
        steps = 0 if isinstance(node.field, str) else len(node.field) - 1
        size = steps + (len(node.value) if node.operator == "in" else 1)
    elif isinstance(node, AllOf | AnyOf):
        check_type(node.filters, (tuple, list), "AllOf and AnyOf take a tuple of filters")
        size = 1 + sum(_measure(member, depth + 1) for member in node.filters)
    elif isinstance(node, Not):
        size = 1 + _measure(node.filter, depth + 1)
    else:
        raise InvalidInput(f"a filter must be Where, AllOf, AnyOf, Not or a mapping, not {shown(node)}")
    if size > MAX_FILTER_NODES:
        raise InvalidInput(f"a filter has at most {MAX_FILTER_NODES} comparisons, listed values and steps of paths")
    return size


def as_mapping(node: Filter) -> dict[str, Any]:
    """The mapping from which ``as_filter`` makes this filter, in plain JSON data."""
    if isinstance(node, AllOf):
        return {"$and": [as_mapping(member) for member in node.filters]}
    if isinstance(node, AnyOf):
        return {"$or": [as_mapping(member) for member in node.filters]}
    if isinstance(node, Not):
        return {"$not": as_mapping(node.filter)}
    value = list(node.value) if node.operator == "in" else node.value
    if isinstance(node.field, str) and not node.field.startswith("$"):
        return {node.field: {f"${node.operator}": value}}
    # In a path, a key that begins with $ is no operator.
    return {"$path": [node.field] if isinstance(node.field, str) else list(node.field), f"${node.operator}": value}


_MISSING = object()


def holds(node: Filter, subject: Filterable) -> bool:
    """The reference evaluator: whether ``subject`` satisfies the filter. Many are asked through ``record_test``."""
    return record_test(node)(subject)


def record_test(node: Filter) -> Callable[[Filterable], bool]:
    """What says whether a record satisfies the filter."""
    return _test(node, lambda field: lambda record: _of_record(field, record))


def value_test(node: Filter) -> Callable[[KeyedValue], bool]:
    """The same for values stored by key: fields are the keys of a JSON object, and ``@id`` is its own key.

    It returns a function to ask of each, because a store in memory asks every value it has.
    """
    return _test(node, _value_reader)


def _test(node: Filter, reader: Callable[[str | Path], Callable[[Any], Any]]) -> Callable[[Any], bool]:
    """What to ask of a subject; ``reader`` makes what reads a field of one."""
    if isinstance(node, Where):
        return _comparison(node.operator, reader(node.field), node.value)
    if isinstance(node, Not):
        test = _test(node.filter, reader)
        return lambda subject: not test(subject)
    tests = [_test(one, reader) for one in node.filters]
    is_any = isinstance(node, AnyOf)

    def test_all(subject: Any) -> bool:
        for test in tests:
            if test(subject) is is_any:
                return is_any
        return not is_any

    return test_all


def _value_reader(field: str | Path) -> Callable[[KeyedValue], Any]:
    if field == "@id":
        return lambda one: one.key
    return lambda one: _of_mapping(field, one.value)


def _of_record(field: str | Path, record: Filterable) -> Any:
    if field == "@time":
        return record.time.timestamp()
    if isinstance(field, str) and field.startswith("@"):
        return getattr(record, field[1:])
    return _of_mapping(field, record.metadata)


def _of_mapping(field: str | Path, value: Any) -> Any:
    if isinstance(field, str) and field.startswith("@"):
        return _MISSING
    for key in (field,) if isinstance(field, str) else field:
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = cast("dict[str, Any]", value)[key]
    return value


def _comparison(operator: str, read: Callable[[Any], Any], wanted: Any) -> Callable[[Any], bool]:
    if operator == "exists":
        return lambda subject: (read(subject) is not _MISSING) is wanted
    if operator == "ne":
        return lambda subject: not _equal(read(subject), wanted)
    if operator == "eq":
        return lambda subject: _equal(read(subject), wanted)
    if operator == "in":
        return lambda subject: _is_among(read(subject), wanted)
    if operator == "contains":
        return lambda subject: _contains(read(subject), wanted)
    return lambda subject: _ordered(operator, read(subject), wanted)


def _is_among(found: Any, wanted: Any) -> bool:
    return any(_equal(found, one) for one in wanted)


def _contains(found: Any, wanted: Any) -> bool:
    if isinstance(found, str):
        return isinstance(wanted, str) and wanted in found
    return isinstance(found, list | tuple) and any(_equal(one, wanted) for one in cast("list[Any]", found))


def _equal(found: Any, wanted: Any) -> bool:
    """Equality of JSON scalars: 1 equals 1.0, but True does not equal 1."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found is not _MISSING and bool(found == wanted)


def _ordered(operator: str, found: Any, wanted: Any) -> bool:
    numbers = _is_number(found) and _is_number(wanted)
    if not numbers and not (isinstance(found, str) and isinstance(wanted, str)):
        return False
    if operator == "gt":
        return bool(found > wanted)
    if operator == "ge":
        return bool(found >= wanted)
    if operator == "lt":
        return bool(found < wanted)
    return bool(found <= wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_LAST = "\U0010ffff"


def id_begins_with(prefix: str) -> AllOf | None:
    """A filter for ids or keys with a prefix; None, no condition, for an empty one."""
    return AllOf((Where("@id", "ge", prefix), Where("@id", "lt", prefix + _LAST))) if prefix else None

"""Values to JSON and back, for both sides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
import msgspec.inspect as shapes

from memwell.errors import InvalidInput
from memwell.records import Space, Vector

T = TypeVar("T")

MOST_SPACE_SEGMENTS = 16
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BEGINS_A_TIME = re.compile("[0-9]{4}-")
_EXAMPLE = "2026-05-01T09:30:00Z"
_NO_TIME = "Invalid RFC3339 encoded datetime"


class NotJson(InvalidInput):
    """What was sent is not JSON at all, not UTF-8, or nested too deeply to be read."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request says. A field that is not known is refused: it is a mistake more often than not."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer says. A client ignores fields it does not know, so that a newer service may say more."""


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value, enc_hook=_encoded)


def decode(data: bytes, type_: type[T] | Any) -> T:
    """The value that JSON says; a request may say a date where a time is expected, which is its midnight in UTC.

    Raises ``NotJson`` when it is not JSON or too deep, and ``InvalidInput`` when it is of another shape.
    """
    try:
        return cast("T", _decoded_as(data, type_))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"the JSON is not as expected: {_in_words(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(f"this is not JSON in UTF-8: {error}") from None
    except RecursionError:
        raise NotJson("the JSON is nested too deeply") from None


def _decoded_as(data: bytes, type_: Any) -> Any:
    try:
        return _decoder(type_).decode(data)
    except msgspec.ValidationError as error:
        # Read a second time only where that may help: times are rare, and dates among them rarer.
        if _NO_TIME not in str(error) or not times_of(type_):
            raise
        values = msgspec.json.decode(data)
        return msgspec.convert(_with_midnights(values, type_), type_, dec_hook=_decoded)


def convert(values: Mapping[str, Any], type_: type[T] | Any) -> T:
    """The value that texts say, as in the query of an address, with dates as in ``decode``. Raises ``InvalidInput``."""
    try:
        said = _with_midnights(dict(values), type_)
        _check_times(said, type_)
        return cast("T", msgspec.convert(said, type_, strict=False, dec_hook=_decoded))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"the query is not as expected: {_in_words(error)}") from None


def _with_midnights(values: dict[str, Any], type_: Any) -> dict[str, Any]:
    """The values of a request with a time in the place of each date that stands for one."""
    dates = {name for name in times_of(type_) if isinstance(said := values.get(name), str) and _DATE.fullmatch(said)}
    return {name: f"{said}T00:00:00Z" if name in dates else said for name, said in values.items()}


def _check_times(values: dict[str, Any], type_: Any) -> None:
    """Raises ``ValidationError`` for a bare number: ``2026`` would be taken for seconds since 1970."""
    for name in times_of(type_) & values.keys():
        if not isinstance(said := values[name], str) or not _BEGINS_A_TIME.match(said):
            raise msgspec.ValidationError(f"{_NO_TIME} - at `$.{name}`")


@cache
def times_of(type_: Any) -> frozenset[str]:
    """The fields of a request that are times; none of anything else."""
    if not (isinstance(type_, type) and issubclass(type_, Request)):
        return frozenset()
    shape = shapes.type_info(type_)
    assert isinstance(shape, shapes.StructType)
    return frozenset(field.encode_name for field in shape.fields if _is_time(field.type))


def _is_time(shape: shapes.Type) -> bool:
    if isinstance(shape, shapes.UnionType):
        return any(_is_time(one) for one in shape.types)
    return isinstance(shape, shapes.DateTimeType)


def _in_words(error: Exception) -> str:
    expected = f"expected a time such as {_EXAMPLE} or a date such as {_EXAMPLE[:10]}"
    return str(error).replace(_NO_TIME, expected)


def schema_of(type_: Any) -> dict[str, Any]:
    """The JSON schema of the values that msgspec does not know by itself."""
    if type_ is Space:
        return {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "maxItems": MOST_SPACE_SEGMENTS,
        }
    raise NotImplementedError(type_)


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=_decoded)


def _decoded(type_: Any, value: Any) -> Any:
    if type_ is Space:
        return Space(*msgspec.convert(value, list[str]))
    raise NotImplementedError(type_)


def _encoded(value: Any) -> Any:
    # Vectors are arrays of numbers of one kind or another.
    if hasattr(value, "tolist"):
        return cast("Vector", value.tolist())
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise NotImplementedError(f"no JSON for {type(value).__name__}")

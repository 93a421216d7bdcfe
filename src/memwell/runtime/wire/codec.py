"""Values to JSON and back, for both sides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.records import Space, Vector

T = TypeVar("T")

MOST_SPACE_SEGMENTS = 16


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request says. A field that is not known is refused: it is a mistake more often than not."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer says. A client ignores fields it does not know, so that a newer service may say more."""


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value, enc_hook=_encoded)


def decode(data: bytes, type_: type[T] | Any) -> T:
    """The value that JSON says. Raises ``InvalidInput`` when it is not JSON, too deep, or of another shape."""
    try:
        return cast("T", _decoder(type_).decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError) as error:
        raise InvalidInput(f"the JSON is not as expected: {error}") from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply") from None


def convert(values: Mapping[str, Any], type_: type[T] | Any) -> T:
    """The value that texts say, as in the query of an address. Raises ``InvalidInput``."""
    try:
        return cast("T", msgspec.convert(dict(values), type_, strict=False, dec_hook=_decoded))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"the query is not as expected: {error}") from None


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


__all__ = ["Answer", "Request", "convert", "decode", "encode", "schema_of"]

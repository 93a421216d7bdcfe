"""Values of a shape, made from the shape itself, so that a test of all shapes needs none by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import msgspec.inspect as shapes
import pytest

from memwell.errors import InvalidInput
from memwell.runtime.wire.codec import Request, decode, encode

_PLAIN: dict[type[shapes.Type], Any] = {
    shapes.AnyType: {"a": [1, "二"]}, shapes.BoolType: True, shapes.BytesType: "AAEC",
    shapes.CustomType: ["acme", "安娜"], shapes.DateTimeType: "2026-03-01T09:30:00.5Z", shapes.FloatType: 0.5,
    shapes.IntType: 3, shapes.NoneType: None, shapes.StrType: "记忆 or memory",
}  # fmt: skip


def built(shape: shapes.Type, *, whole: bool) -> Any:
    """A value of a shape as JSON has it; ``whole`` has every field, otherwise only those that must be there."""
    if type(shape) in _PLAIN:
        return _PLAIN[type(shape)]
    match shape:
        case shapes.StructType() | shapes.DataclassType() | shapes.NamedTupleType():
            wanted = {
                field.encode_name: built(field.type, whole=whole) for field in shape.fields if whole or field.required
            }
            if isinstance(shape, shapes.StructType) and shape.tag_field is not None:
                wanted = {shape.tag_field: shape.tag, **wanted}
            return list(wanted.values()) if isinstance(shape, shapes.NamedTupleType) or _is_list(shape) else wanted
        case shapes.UnionType():
            # None, which comes last, says least.
            return built(max(shape.types, key=lambda one: not isinstance(one, shapes.NoneType)), whole=whole)
        case shapes.ListType() | shapes.VarTupleType() | shapes.SetType() | shapes.FrozenSetType():
            return [built(shape.item_type, whole=whole)]
        case shapes.TupleType():
            return [built(one, whole=whole) for one in shape.item_types]
        case shapes.DictType():
            return {"a": built(shape.value_type, whole=whole)}
        case shapes.LiteralType() | shapes.EnumType():
            return shape.values[0] if isinstance(shape, shapes.LiteralType) else next(iter(shape.cls)).value
        case _:
            raise NotImplementedError(shape)


def _is_list(shape: shapes.Type) -> bool:
    return isinstance(shape, shapes.StructType) and shape.array_like


def check_survives(types: Iterable[type[msgspec.Struct]]) -> None:
    """That values of these types, with and without what may be left out, come back from JSON as they went."""
    lost = [(type_.__name__, whole) for type_ in types for whole in (False, True) if not _survives(type_, whole)]
    assert lost == []


def _survives(type_: type[msgspec.Struct], whole: bool) -> bool:
    value = decode(msgspec.json.encode(built(shapes.type_info(type_), whole=whole)), type_)
    return isinstance(value, type_) and decode(encode(value), type_) == value


def check_unknown_fields(types: Iterable[type[msgspec.Struct]]) -> None:
    """That a request with a field too many is refused, and an answer is read all the same."""
    requests = [type_ for type_ in types if issubclass(type_, Request)]
    for type_ in requests:
        with pytest.raises(InvalidInput, match="colour"):
            decode(_with_a_field_too_many(type_), type_)
    answers = {type_: decode(_with_a_field_too_many(type_), type_) for type_ in types if type_ not in requests}
    assert [type_.__name__ for type_, value in answers.items() if not isinstance(value, type_)] == []


def _with_a_field_too_many(type_: type[msgspec.Struct]) -> bytes:
    return msgspec.json.encode({**built(shapes.type_info(type_), whole=False), "colour": "red"})


__all__ = ["built", "check_survives", "check_unknown_fields"]

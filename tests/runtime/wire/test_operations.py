"""What is derived from a method: the request, the arguments, the answer, and the refusal of what has no form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import msgspec.inspect as shapes
import pytest

from memwell.errors import InvalidInput, Unsupported
from memwell.filters import FilterLike
from memwell.records import SpaceLike
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.operations import Operation, derived, wrapped
from memwell.runtime.wire.table import OPERATIONS


class Room:
    """A room with a method of every kind of parameter that has two forms."""

    def ask(
        self,
        id_: str,
        /,
        query: str,
        *,
        limit: int = 3,
        where: FilterLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        weight: float = 0.5,
        to: SpaceLike | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        return {"id": id_, "query": query, "limit": limit, "where": where, "to": to, "since": since}


def operation(method: str, **fields: Any) -> Operation:
    chosen = {"progress": None, **fields}
    takes, arguments = derived(Room.ask, ("AskRoom", "A question."), skip=1, query=method == "GET", fields=chosen)
    gives, field = wrapped("Told", "What is told.", told=dict[str, Any])
    return Operation(
        name="ask_room", method=method, path="/v1/rooms/{id}", scope="read", tag="rooms", takes=takes,
        arguments=arguments, gives=gives, field=field, does=Room.ask, unsent={"progress": "nobody hears it"},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_a_client_sends_is_what_the_method_gets(method: str):
    one = operation(method)
    since = datetime(2026, 3, 1, tzinfo=UTC)
    asked = one.request({"query": "tea", "where": {"n": {"$gt": 1}}, "since": since, "to": "b"})
    assert isinstance(asked.where, str if method == "GET" else dict)
    read = decode(encode(asked), one.takes)
    found = one.answer(one.run(Room(), {"id": "x"}, read)).told
    assert (found["id"], found["query"], found["limit"], found["since"]) == ("x", "tea", 3, since)
    assert found["where"] == {"n": {"$gt": 1}}
    assert found["to"] == ("b",)


def test_the_request_has_the_names_types_and_defaults_of_the_method_and_what_is_added():
    takes = operation("POST", language=(str, "en")).takes
    found = {field.name: field.required for field in msgspec.structs.fields(takes)}
    assert found == {
        "query": True, "limit": False, "where": False, "metadata": False, "since": False, "weight": False, "to": False,
        "language": False,
    }  # fmt: skip
    assert (takes.__name__, takes.__doc__) == ("AskRoom", "A question.")


@pytest.mark.parametrize(
    "given",
    [
        {"query": 7},
        {"query": "a", "limit": None},
        {"query": "a", "limit": True},
        {"query": "a", "weight": float("nan")},
        {"query": "a", "where": {"$odd": 1}},
        {"query": "a", "since": "yesterday"},
        {"query": "a", "metadata": {"a": {1, 2}}},
    ],
    ids=str,
)
def test_what_breaks_a_shape_is_refused_before_it_is_sent(given: dict[str, Any]):
    with pytest.raises(InvalidInput):
        operation("POST").request(given)


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(Unsupported, match="nobody hears it"):
        operation("POST").request({"query": "a", "progress": print})
    with pytest.raises(TypeError, match=r"Engine.import_file\(path\)"):
        derived(Engine.import_file, ("Import", ""), skip=0, query=False, fields={})


@pytest.mark.parametrize("place", ["-1", "1.0", "１", "9" * 30, "x"])
def test_a_place_is_a_number_in_plain_digits(place: str):
    with pytest.raises(InvalidInput, match="a place is a whole number"):
        OPERATIONS["message_at"].run(None, {"thread": "t", "index": place}, None)


class Listening:
    """A memory, and any room of it, that notes how it is called."""

    def __init__(self) -> None:
        self.heard: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __getattr__(self, name: str) -> Any:
        return self if name in ("facts", "knowledge", "media", "receipts") else self._call

    def thread(self, id_: str) -> Listening:
        assert id_ == "0"
        return self

    def _call(self, *args: Any, **kwargs: Any) -> None:
        self.heard = (args, kwargs)


FITTING: dict[tuple[str, str], Any] = {
    **{(name, field): '{"a":1}' for name in ("browse", "activity") for field in ("where", "chosen")},
    ("memories", "where"): '{"a":1}',
    ("documents", "where"): '{"a":1}',
    ("recall", "weights"): {"curves": {"words": {"values": [0.0, 1.0], "shares": [0.0, 1.0]}}},
    ("ask", "history"): [{"role": "user", "content": "hi"}],
}
"""Values that say something, where any value of the shape would not."""

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


METHODS = [one for one in OPERATIONS.values() if one.does is not None]


@pytest.mark.parametrize("row", METHODS, ids=lambda row: row.name)
def test_every_field_of_every_request_reaches_its_method(row: Operation):
    asked = None
    if row.takes is not None:
        data = built(shapes.type_info(row.takes), whole=True)
        asked = decode(encode({name: FITTING.get((row.name, name), value) for name, value in data.items()}), row.takes)
    memory = Listening()
    row.run(memory, dict.fromkeys(row.places, "0"), asked)
    args, kwargs = memory.heard
    assert len(args) == len(row.places) - (row.room == "thread")
    assert set(kwargs) == {one.name for one in row.arguments}
    assert all(value is not None for value in kwargs.values())
    # They are parameters of the method, and each has its own place.
    assert inspect.signature(row.does).bind(memory, *args, **kwargs)


@pytest.mark.parametrize("name", ["threads", "messages", "memories", "all_facts", "documents", "log"])
def test_what_may_be_long_is_a_page(name: str):
    assert [field.name for field in msgspec.structs.fields(OPERATIONS[name].gives)] == ["items", "next"]

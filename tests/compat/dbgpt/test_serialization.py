"""Objects as bytes and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.serialization import (
    JsonSerializable,
    JsonSerializer,
    MsgpackSerializer,
    Serializable,
    Serializer,
)
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


class Note(Serializable):
    def __init__(self, title: str, body: Any = None) -> None:
        if title == "":
            raise InvalidInput("a note has a title")
        self.title = title
        self.body = body

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "body": self.body}


class JsonNote(JsonSerializable):
    def to_dict(self) -> dict[str, Any]:
        return {"title": "信"}


@pytest.fixture(params=[JsonSerializer, MsgpackSerializer])
def serializer(request: pytest.FixtureRequest) -> Serializer:
    return request.param()


@given(st.text("a你😀"), PLAIN)
def test_what_is_written_comes_back(title: str, body: Any) -> None:
    note = Note(f"t{title}", body)
    for one in (JsonSerializer(), MsgpackSerializer()):
        read = one.deserialize(one.serialize(note), Note)
        assert (read.title, read.body) == (note.title, body)
        assert read.serialize() == one.serialize(note)


def test_json_is_readable() -> None:
    assert JsonSerializer().serialize(Note("你好", [1])) == '{"title": "你好", "body": [1]}'.encode()
    assert JsonNote().serialize() == '{"title": "信"}'.encode()


def test_msgpack_keeps_bytes_and_times() -> None:
    serializer, moment = MsgpackSerializer(), datetime(2024, 1, 2, tzinfo=UTC)
    read = serializer.deserialize(serializer.serialize(Note("t", [b"\0\xff", moment])), Note)
    assert read.body == [b"\0\xff", moment]


def test_without_a_serializer_nothing_is_written() -> None:
    note = Note("t")
    with pytest.raises(ValueError, match="Serializer is not set"):
        note.serialize()
    note.set_serializer(JsonSerializer())
    assert note.serialize() == b'{"title": "t", "body": null}'


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"not", b"[1]", b'"x"', b"\xc1", b"[" * 5_000])
def test_bytes_that_are_nothing_are_refused(serializer: Serializer, data: bytes) -> None:
    with pytest.raises(StorageError, match="Note"):
        serializer.deserialize(data, Note)


@pytest.mark.parametrize("fields", ['{"titel": "x"}', "{}", '{"title": ""}', '{"title": "x", "more": 1}'])
def test_fields_that_do_not_fit_the_class_are_refused(fields: str) -> None:
    with pytest.raises(StorageError, match="Note"):
        JsonSerializer().deserialize(fields.encode(), Note)


@pytest.mark.parametrize("body", [object(), {1, 2}, float("nan"), "\ud800", b"raw"])
def test_what_json_cannot_hold_is_refused(body: Any) -> None:
    with pytest.raises(StorageError, match="Note cannot be written"):
        JsonSerializer().serialize(Note("t", body))


def test_what_msgpack_cannot_hold_is_refused() -> None:
    with pytest.raises(StorageError, match="Note cannot be written"):
        MsgpackSerializer().serialize(Note("t", object()))

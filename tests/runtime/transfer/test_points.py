"""Points of Qdrant's local mode: read without unpickling, and whatever else a pickle asks for is refused."""

from __future__ import annotations

import json
import os
import pickle
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.transfer.points import point_json

STORED = b64decode(
    "gASVRAIAAAAAAACMIHFkcmFudF9jbGllbnQuaHR0cC5tb2RlbHMubW9kZWxzlIwLUG9pbnRTdHJ1Y3SUk5QpgZR9lCiMCF9fZGljdF9flH2UKI"
    "wCaWSUjCRjNWMwNTExZi1mMzBlLTQ0YjEtYTFlOC03NGQ5ODA2OTNhNGOUjAZ2ZWN0b3KUfZSMAJRdlChHP7wcHBwcHBxHP9nZ2dnZ2dpHP+a2"
    "tra2trdHP+8/Pz8/Pz9HP+6+vr6+vr9HP+9/f39/f39HP8OTk5OTk5RHP+CQkJCQkJFlc4wHcGF5bG9hZJR9lCiMA3RhZ5SMAXiUjAFulEsBjA"
    "RsaXN0lF2UKIwBYZRLAmWMB3VzZXJfaWSUjANiZW6UjAZydW5faWSUjAJyMZSMBHJvbGWUjAR1c2VylIwEZGF0YZSMDkJlbiBsaWtlcyB0ZWEu"
    "lIwEaGFzaJSMIDFjNjdiNWY5ZjVmYjI3ODQ1ZTk4ZmJiZGM5ZTFiNTljlIwKY3JlYXRlZF9hdJSMIDIwMjYtMTEtMThUMjA6NTI6MTIuNTY3OD"
    "g3KzAwOjAwlIwKdXBkYXRlZF9hdJSMIDIwMjYtMTEtMThUMjA6NTI6MTIuNTY3ODg3KzAwOjAwlIwPdGV4dF9sZW1tYXRpemVklIwOQmVuIGxp"
    "a2VzIHRlYS6UdXWMEl9fcHlkYW50aWNfZXh0cmFfX5ROjBdfX3B5ZGFudGljX2ZpZWxkc19zZXRfX5SPlChoDWgHaAmQjBRfX3B5ZGFudGljX3"
    "ByaXZhdGVfX5ROdWIu"
)
"""A point that mem0 2 stored with the local mode of qdrant-client 1."""


class Point:
    """Pickled as qdrant-client's PointStruct is: its fields are in a mapping of the state."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __getstate__(self) -> dict[str, Any]:
        kept = {"__pydantic_extra__": None, "__pydantic_fields_set__": set(self.fields), "__pydantic_private__": None}
        return {"__dict__": self.fields, **kept}


def pickled(payload: Any, protocol: int = 4, **fields: Any) -> bytes:
    return pickle.dumps(Point(id="a", vector=[0.5, -1.0], payload=payload, **fields), protocol)


def test_a_real_point_is_read():
    id_, payload = json.loads(point_json(STORED))
    assert (id_, payload["data"], payload["user_id"]) == (
        "c5c0511f-f30e-44b1-a1e8-74d980693a4c",
        "Ben likes tea.",
        "ben",
    )
    assert payload["list"] == ["a", 2]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e300, 1e300) | st.text("aé。\U0001f600"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=10,
)


@given(payload=st.dictionaries(st.text("abc", max_size=3), PLAIN, max_size=4), protocol=st.integers(4, 5))
def test_any_payload_is_read_as_it_is(payload: Any, protocol: int):
    fresh = json.loads(json.dumps(payload))  # a value that occurs twice is pickled as a reference
    assert json.loads(point_json(pickled(fresh, protocol))) == ["a", payload]


class Calling:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("made-by-a-pickle",))


class Building:
    def __reduce__(self) -> Any:
        return (Calling, (), {"a": 1})


SHARED: list[Any] = ["a"]


def nested(depth: int) -> bytes:
    """A point whose payload is lists in lists, which pickle itself cannot write."""
    return pickled("PAYLOAD").replace(b"\x8c\x07PAYLOAD", b"]" * depth + b"a" * (depth - 1))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Calling()),
        pickle.dumps(Building()),
        pickled({"data": Calling()}),
        pickled({"data": Point(id="b")}),
        pickled({"data": object}),
        pickled({"data": {1, 2}, "more": Path("x")}),
        pickled([SHARED, SHARED]),
        pickled({"data": "x" * 2000, "more": [0]}).replace(b"K\x00", b"h\x0e" * 1000),
        nested(200_000),
        pickle.dumps([1, 2]),
        pickle.dumps("text", 0),
        pickle.dumps({"id": 1, "payload": {}}),
        b"",
        b"\x80\x04",
        b"u.",
        b"(K\x01u.",
        b"]K\x01K\x02s.",
        b"\x8d" + b"\xff" * 8 + b"x.",
        STORED[:-40],
    ],
)
def test_anything_else_is_refused_and_nothing_is_called(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="not a point as Qdrant stores it"):
        point_json(data)
    assert list(tmp_path.iterdir()) == []


@given(at=st.integers(0, len(STORED) - 1), byte=st.integers(0, 255))
def test_a_damaged_point_is_read_or_refused(at: int, byte: int):
    damaged = STORED[:at] + bytes([byte]) + STORED[at + 1 :]
    try:
        id_, payload = json.loads(point_json(damaged))
    except InvalidInput:
        return
    assert isinstance(payload, dict | list | str | int | float), id_

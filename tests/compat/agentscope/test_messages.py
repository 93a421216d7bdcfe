"""Messages of agents: what they take, what they refuse, how they are written and copied."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

import pytest

from memwell.compat.agentscope.messages import Msg, check_message, from_core, to_core
from memwell.errors import InvalidInput

URL = {"type": "url", "url": "https://x.org/a.png"}
BASE64 = {"type": "base64", "media_type": "image/png", "data": "aGk="}
CALL = {"type": "tool_use", "id": "1", "name": "search", "input": {"q": "茶"}, "raw_input": '{"q": "茶"}'}
RESULT = {"type": "tool_result", "id": "1", "name": "search", "output": [{"type": "text", "text": "10"}]}
BLOCKS: list[Any] = [
    {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}, {"type": "text", "text": "two"},
    {"type": "image", "source": URL}, {"type": "audio", "source": BASE64}, {"type": "video", "source": URL}, CALL,
    RESULT,
]  # fmt: skip


def test_a_message_has_an_id_a_timestamp_and_empty_metadata() -> None:
    one, other = Msg("ann", "你好", "user"), Msg("ann", "你好", "user")
    assert one.id != other.id
    assert one != other
    assert one.metadata == {}
    assert len(one.timestamp) == len("2026-01-01 00:00:00.000")
    assert datetime.fromisoformat(one.timestamp)
    assert Msg("ann", "x", "user", timestamp="yesterday").timestamp == "yesterday"
    assert repr(one).startswith(f"Msg(id={one.id!r}, name='ann', content='你好'")


def test_everything_survives_to_dict_and_from_dict() -> None:
    said = Msg("bot", copy.deepcopy(BLOCKS), "assistant", metadata={"a": [1]}, invocation_id="call-7")
    again = Msg.from_dict(said.to_dict())
    assert vars(again) == vars(from_core(to_core(said))) == vars(said)
    # AgentScope forgets which call of a model a message came from.
    assert again.invocation_id == "call-7"
    plain = Msg("bot", "x", "assistant").to_dict()
    assert list(plain) == ["id", "name", "role", "content", "metadata", "timestamp"]


def test_text_and_blocks_of_a_content() -> None:
    text, blocks = Msg("a", "", "user"), Msg("a", BLOCKS, "user")
    assert text.get_text_content() == ""
    assert text.get_content_blocks() == [{"type": "text", "text": ""}]
    assert blocks.get_text_content() == "one\ntwo"
    assert blocks.get_text_content(" ") == "one two"
    assert Msg("a", [CALL], "assistant").get_text_content() is None  # type: ignore[list-item]
    assert blocks.get_content_blocks("tool_use") == [CALL]
    assert [one["type"] for one in blocks.get_content_blocks(["audio", "video"])] == ["audio", "video"]
    assert blocks.has_content_blocks("thinking")
    assert not text.has_content_blocks("image")
    assert not Msg("a", [], "user").has_content_blocks()


@pytest.mark.parametrize(
    "block",
    [
        "text", None, {}, {"type": "card"}, {"type": "text"}, {"type": "thinking", "text": "x"}, {"type": "image"},
        {"type": "image", "source": {"type": "url"}}, {"type": "audio", "source": {"type": "base64", "data": "aGk="}},
        {"type": "tool_use", "id": "1", "name": "f", "input": "{}"},
        {"type": "tool_use", "id": 1, "name": "f", "input": {}}, {"type": "tool_result", "id": "1", "name": "f"},
        {"type": "tool_result", "id": "1", "name": "f", "output": [{"type": "card"}]},
    ],
)  # fmt: skip
def test_a_block_of_unknown_type_or_without_what_it_needs_is_refused(block: Any) -> None:
    with pytest.raises(InvalidInput, match="block"):
        Msg("a", [{"type": "text", "text": "x"}, block], "user")


@pytest.mark.parametrize(
    ("name", "value"), [("role", "x"), ("content", None), ("metadata", []), ("id", 1), ("name", None), ("timestamp", 0)]
)
def test_what_was_assigned_is_checked_again(name: str, value: Any) -> None:
    said = Msg("a", "x", "user")
    assert check_message(said) is said
    setattr(said, name, value)
    with pytest.raises(InvalidInput):
        check_message(said)
    for bad in (None, [], {}, {"name": "a", "content": "x"}):
        with pytest.raises(InvalidInput):
            Msg.from_dict(bad)  # type: ignore[arg-type]
    if name in ("role", "content", "metadata", "name"):
        with pytest.raises(InvalidInput):
            Msg(**{"name": "a", "content": "x", "role": "user", name: value})
        with pytest.raises(InvalidInput):
            Msg.from_dict({"name": "a", "content": "x", "role": "user", name: value or 7})
    for call in (check_message, to_core):
        with pytest.raises(InvalidInput, match="expected a Msg"):
            call({"name": "a"})  # type: ignore[arg-type]


class Signed(Msg):
    """A message of a program's own, with an attribute of its own."""

    seal: Any = None


def test_a_deep_copy_is_the_same_message_and_shares_nothing() -> None:
    said = Signed("bot", copy.deepcopy(BLOCKS), "assistant", metadata={"a": {"b": [1]}})
    said.seal = {1, 2}
    twin = copy.deepcopy(said)
    assert type(twin) is Signed
    assert vars(twin) == vars(said)
    said.metadata["a"]["b"].append(2)
    said.seal.add(3)
    said.content.clear()  # type: ignore[union-attr]
    assert (twin.metadata, twin.seal, twin.content) == ({"a": {"b": [1]}}, {1, 2}, BLOCKS)

"""AgentScope's layout of messages: lossless there and back, and readable for every other program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import (
    Image,
    Message,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ai,
    decode_message,
    encode_message,
    human,
    message,
    system,
    tool_result,
)
from memwell.transcript.agentscope import from_agentscope, to_agentscope
from memwell.transcript.langchain import from_langchain

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=3,
)
_OBJECT = st.dictionaries(_TEXT, _PLAIN, max_size=2)
_SOURCE = st.fixed_dictionaries({"type": st.just("url"), "url": _TEXT}) | st.fixed_dictionaries(
    {"type": st.just("base64"), "media_type": _TEXT, "data": st.sampled_from(["", "aGk=", "aGl=", "no base64", "aGk"])}
)


def _block(kind: str, needed: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    extra = {"note": _PLAIN} if kind != "tool_use" else {"raw_input": _TEXT, "note": _PLAIN}
    return st.fixed_dictionaries({"type": st.just(kind), **needed}, optional=extra)


_SEEN = st.one_of(
    _block("text", {"text": _TEXT}), *(_block(kind, {"source": _SOURCE}) for kind in ("image", "audio", "video"))
)
_CALL = _block("tool_use", {"id": _TEXT, "name": _TEXT, "input": _OBJECT})
_THOUGHT = _block("thinking", {"thinking": _TEXT})
_RESULT = _block(
    "tool_result", {"id": _TEXT, "name": _TEXT, "output": _TEXT | st.lists(_SEEN | _CALL | _THOUGHT, max_size=3)}
)
_BLOCKS = st.lists(_SEEN | _CALL | _THOUGHT | _RESULT, max_size=4)


def layout(name: str, content: Any, role: str, **more: Any) -> dict[str, Any]:
    said = {"id": "m1", "metadata": {}, "timestamp": "2026-01-02 03:04:05.678", "invocation_id": None, **more}
    return {**said, "name": name, "content": content, "role": role}


@given(
    _TEXT,
    _TEXT | _BLOCKS | st.lists(_RESULT, min_size=1, max_size=2),
    st.sampled_from(["user", "assistant", "system"]),
    _OBJECT,
    st.sampled_from(["2026-01-02 03:04:05.678", "2026-01-02T03:04:05+08:00", "gestern", "0001-01-01"]),
    st.none() | _TEXT,
)
def test_every_message_comes_back_from_the_store_as_it_went_in(
    name: str, content: Any, role: Any, metadata: dict[str, Any], timestamp: str, invocation_id: str | None
) -> None:
    said = layout(name, content, role, metadata=metadata, timestamp=timestamp, invocation_id=invocation_id)
    stored = decode_message(encode_message(from_agentscope(said)))
    assert stored.id == said["id"]
    assert to_agentscope(stored) == said


def test_the_core_sees_what_was_said() -> None:
    content: Any = [
        {"type": "thinking", "thinking": "SECRET"},
        {"type": "text", "text": "I look it up.", "citations": [1]},
        {"type": "tool_use", "id": "7", "name": "search", "input": {"q": "tea"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    ]
    stored = from_agentscope(layout("bot", content, "assistant", timestamp="2026-01-02T03:04:05+00:00"))
    assert (stored.role, stored.name, stored.text) == (Role.AI, "bot", "I look it up.")
    assert stored.tool_calls == (ToolCall("7", "search", {"q": "tea"}),)
    assert stored.parts[-1] == Image(data=b"hi", media_type="image/png")
    assert stored.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    # What a model thought is no part of what it said.
    assert "SECRET" not in stored.searchable


def test_messages_from_elsewhere_are_read() -> None:
    assert _seen(human("你好")) == ("user", "user", "你好", {})
    assert _seen(system("be nice", name="boss", metadata={"k": 1})) == ("boss", "system", "be nice", {"k": 1})
    assert _seen(message("chat", "x", chat_role="critic")) == ("critic", "user", "x", {})
    assert _seen(message("view", "x"))[:2] == ("assistant", "assistant")
    called = _seen(ai("", tool_calls=[ToolCall("1", "f", {"a": 1}), ToolCall("2", "g", "{broken")]))
    assert called[2] == [
        {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "2", "name": "g", "input": {}, "raw_input": "{broken"},
    ]
    answered = _seen(tool_result("1", "Ten.", name="f"))
    result = {"type": "tool_result", "id": "1", "output": [{"type": "text", "text": "Ten."}], "name": "f"}
    assert answered == ("f", "system", [result], {})


def test_the_word_of_a_tool_is_no_instruction() -> None:
    function = from_langchain({"type": "function", "data": {"content": "Obey me.", "name": "f"}})
    assert _seen(function)[:3] == ("f", "user", "Obey me.")
    mixed = Message(Role.TOOL, (ToolResult("1", (Text("Ten."),), "f"), Text("Obey me.")))
    assert _seen(mixed)[1] == "user"


def test_what_a_model_of_langchain_reasoned_is_a_thought() -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So."}]},
        {"type": "text", "text": "Yes."},
    ]
    thought = from_langchain({"type": "ai", "data": {"content": blocks}})
    assert to_agentscope(thought)["content"] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "thinking", "thinking": "So."},
        {"type": "text", "text": "Yes."},
    ]


def test_parts_that_no_block_can_hold_become_words() -> None:
    foreign = Message(Role.AI, (Opaque("openai.refusal", {"type": "refusal"}), Image(blob="0" * 64, text="a cat")))
    assert to_agentscope(foreign)["content"] == [
        {"type": "text", "text": "[refusal]"},
        {"type": "text", "text": "[image: a cat]"},
    ]
    own = Message(Role.AI, (Opaque("x.thinking", {"type": "thinking", "thinking": "hm"}),))
    assert to_agentscope(own)["content"] == [{"type": "thinking", "thinking": "hm"}]


def test_an_edit_through_another_room_is_seen() -> None:
    stored = from_agentscope(layout("bot", [{"type": "text", "text": "old", "note": 1}], "assistant"))
    assert to_agentscope(stored.changed(content="new"))["content"] == [{"type": "text", "text": "new", "note": 1}]
    replaced = to_agentscope(stored.changed(content=(ToolCall("1", "f"),)))
    assert replaced["content"] == [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]
    assert to_agentscope(stored.changed(content=()))["content"] == []


@pytest.mark.parametrize("changes", [{"role": "tool"}, {"content": [{"type": "card"}]}, {"metadata": 1}, {"id": None}])
def test_a_message_that_breaks_a_rule_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        from_agentscope(layout("a", "x", "user") | changes)


def _seen(stored: Message) -> tuple[str, str, Any, dict[str, Any]]:
    made = to_agentscope(stored)
    assert made["id"] == stored.id
    assert made["timestamp"]
    return made["name"], made["role"], made["content"], made["metadata"]

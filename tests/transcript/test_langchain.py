"""The layout LangChain writes, to our messages and back: nothing is lost, whatever is in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Message, Opaque, Role, Text, ToolCall, ToolResult, ai, check_message, human
from memwell.transcript.langchain import KINDS, from_langchain, to_langchain

words = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=12)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | words, lambda inner: st.dictionaries(words, inner)
)
objects = st.dictionaries(words, plain, max_size=2)
blocks = (
    words
    | st.fixed_dictionaries({"type": st.just("text"), "text": words}, optional={"cache_control": objects})
    | st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.just({"url": "https://x", "detail": "low"})})
    | st.fixed_dictionaries({"type": st.sampled_from(["thinking", "image", "text"]), "x": plain})
)
contents = words | st.lists(blocks, max_size=3)
calls = st.lists(
    st.fixed_dictionaries({"name": words, "args": objects, "id": st.none() | words, "type": st.just("tool_call")}),
    max_size=2,
)


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    data: dict[str, Any] = {
        "content": draw(contents),
        "additional_kwargs": draw(objects),
        "response_metadata": draw(objects),
        "type": kind,
        "name": draw(st.none() | words),
        "id": draw(st.none() | words),
    }
    if KINDS[kind] == "ai":
        data |= {"tool_calls": draw(calls), "invalid_tool_calls": [], "usage_metadata": draw(st.none() | objects)}
    elif KINDS[kind] == "tool":
        status = draw(st.sampled_from(["success", "error"]))
        data |= {"tool_call_id": draw(words), "artifact": draw(plain), "status": status}
    elif KINDS[kind] == "chat":
        data["role"] = draw(words)
    elif KINDS[kind] == "function":
        data["name"] = draw(words)
    return {"type": kind, "data": data | draw(st.dictionaries(st.sampled_from(["extra", "foo"]), plain, max_size=1))}


@given(layouts())
def test_nothing_is_lost(layout: dict[str, Any]) -> None:
    message = from_langchain(layout)
    check_message(message)
    assert to_langchain(message) == layout


@given(words, st.sampled_from(["human", "ai", "system"]))
def test_a_plain_message_carries_nothing_extra(text: str, kind: str) -> None:
    message = from_langchain({"type": kind, "data": {"content": text, "type": kind, "example": False}})
    assert (message.text, message.metadata, message.role.value) == (text, {}, kind)


def test_an_edited_message_shows_its_new_words() -> None:
    blocks = [{"type": "text", "text": "old", "cache_control": {}}]
    call = {"name": "f", "args": {}, "id": None}
    message = from_langchain({"type": "ai", "data": {"content": blocks, "tool_calls": [call]}})
    assert to_langchain(message)["data"]["tool_calls"][0]["id"] is None
    edited = message.changed(content="new")
    assert to_langchain(edited)["data"]["content"] == "new"
    assert to_langchain(edited)["data"]["tool_calls"] == []


@pytest.mark.parametrize(
    "layout",
    [
        None, {"type": "nobody", "data": {}}, {"type": ["human"], "data": {}}, {"type": "human"},
        {"type": "human", "data": {"content": 7}}, {"type": "human", "data": {"content": [7]}},
        {"type": "human", "data": {"content": "x", "name": 7}}, {"type": "tool", "data": {"content": "x"}},
        {"type": "ai", "data": {"content": "x", "tool_calls": 7}},
        {"type": "ai", "data": {"content": "x", "tool_calls": [{"name": "f"}]}},
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(layout: object) -> None:
    with pytest.raises(InvalidInput):
        from_langchain(layout)


def test_messages_of_other_rooms_have_a_layout() -> None:
    results = Message(Role.TOOL, (ToolResult("c1", (Text("ten"),), is_error=True),), name="trains")
    shown = to_langchain(results)["data"]
    assert (shown["content"], shown["tool_call_id"], shown["status"]) == ("ten", "c1", "error")
    unreadable = to_langchain(ai("", tool_calls=[ToolCall("c", "f", "{oops")]))["data"]
    assert unreadable["invalid_tool_calls"][0]["args"] == "{oops"
    media = to_langchain(human([Image(url="u"), Image(data=b"\x89PNG"), Audio(blob="b"), ToolResult("c", ())]))
    assert [block["type"] for block in media["data"]["content"]] == ["image_url", "image", "audio", "tool_result"]
    view = to_langchain(Message(Role.VIEW, (Opaque("langchain.x", {"type": "x"}),)))
    assert (view["type"], view["data"]["role"], view["data"]["content"]) == ("chat", "view", [{"type": "x"}])

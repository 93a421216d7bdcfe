"""The four kinds of messages."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.compat.dbgpt.media import MediaContent, MediaObject
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ViewMessage,
    message_from_dict,
    messages_from_dict,
    messages_to_dict,
)
from memwell.errors import InvalidInput

PICTURE = MediaContent(MediaObject("https://example.com/a.png", "url"), "image")
SAID: list[BaseMessage] = [
    SystemMessage("be brief"),
    HumanMessage("你好", 1, 2, {"a": [1]}, example=True),
    AIMessage(content="hello", index=2, round_index=2),
    ViewMessage([MediaContent.build_text("look"), PICTURE], index=3),
]


def test_each_kind_says_what_it_is() -> None:
    assert [one.type for one in SAID] == ["system", "human", "ai", "view"]
    assert [one.pass_to_model for one in SAID] == [True, True, True, False]
    assert [one.has_media for one in SAID] == [False, False, False, True]
    assert [one.last_text for one in SAID] == ["be brief", "你好", "hello", "look"]


def test_messages_are_equal_by_their_fields() -> None:
    assert HumanMessage("a") == HumanMessage(content="a") != HumanMessage("a", index=1)
    assert HumanMessage("a") != AIMessage("a")
    first, second = HumanMessage("a"), HumanMessage("a")
    first.additional_kwargs["x"] = 1
    assert second.additional_kwargs == {}


def test_messages_survive_as_plain_data() -> None:
    assert messages_from_dict(messages_to_dict(SAID)) == SAID
    assert SAID[1].to_dict() == {
        "type": "human",
        "data": {"content": "你好", "index": 1, "round_index": 2, "additional_kwargs": {"a": [1]}, "example": True},
        "index": 1,
        "round_index": 2,
    }
    shared = SAID[1].to_dict()
    shared["data"]["additional_kwargs"]["a"].append(2)
    assert SAID[1].additional_kwargs == {"a": [1]}, "plain data is a copy"
    assert message_from_dict({"type": "ai", "data": {"content": "x", "unheard_of": 1}}) == AIMessage("x")
    copied = SAID[1].copy()
    copied.additional_kwargs["a"].append(2)
    assert SAID[1].additional_kwargs == {"a": [1]}


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"type": "human"},
        {"type": "human", "data": {}},
        {"type": "robot", "data": {"content": "x"}},
        {"type": ["human"], "data": {"content": "x"}},
        {"type": "human", "data": {"content": 7}},
        {"type": "human", "data": {"content": "x", "index": -1}},
        {"type": "human", "data": {"content": "x", "round_index": "2"}},
        {"type": "human", "data": {"content": "x", "additional_kwargs": []}},
        "human",
        None,
    ],
)
def test_data_that_is_no_message_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        message_from_dict(broken)


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(InvalidInput, match="Got unexpected type: 'robot'"):
        message_from_dict({"type": "robot", "data": {"content": "x"}})


def test_a_kind_of_its_own_is_not_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        BaseMessage("x")  # type: ignore[abstract]


def test_messages_as_text() -> None:
    assert BaseMessage.messages_to_string(SAID) == "System: be brief\nHuman: 你好\nAI: hello"
    view = SAID[3].get_view_markdown_text(lambda url: f"{url}?x")
    assert view == "look\n![image](https://example.com/a.png?x)"
    assert SAID[0].get_view_markdown_text(str) == "be brief"
    sound = MediaContent(MediaObject("u", "url"), "audio")
    assert HumanMessage([sound]).get_view_markdown_text(str) == "[audio](u)"
    assert HumanMessage([MediaContent(MediaObject(b"", "binary"), "audio")]).get_view_markdown_text(str) == "[audio]"


def test_openai_messages_are_read() -> None:
    read = BaseMessage.parse_chat_completion_message
    assert [read("x", role).type for role in ("human", "ai", "system", "view")] == ["human", "ai", "system", "view"]
    assert read({"role": "user", "content": "x"}) == HumanMessage([MediaContent.build_text("x")])
    for message, role in (("", "human"), ("x", "robot"), ({"content": [{"type": "smell"}]}, "human")):
        with pytest.raises(InvalidInput):
            read(message, role)

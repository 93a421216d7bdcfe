"""Messages: their pieces, their kinds, and their forms for models and for a log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MediaContent,
    MediaObject,
    ModelMessage,
    ModelMessageRoleType,
    SystemMessage,
    ViewMessage,
    from_core,
    message_from_dict,
    to_core,
)
from memwell.errors import InvalidInput
from memwell.messages import (
    Image,
    Message,
    Role,
    Text,
    ToolCall,
    Video,
    ai,
    decode_message,
    encode_message,
    human,
    message,
    tool_result,
)

PICTURE = MediaContent(MediaObject("https://example.com/a.png", "url"), "image")
SAID: list[BaseMessage] = [
    SystemMessage("be brief"), HumanMessage("你好", 1, 2, {"a": [1]}, example=True),
    AIMessage(content="hello", index=2, round_index=2),
    ViewMessage([MediaContent.build_text("look"), PICTURE], index=3),
]  # fmt: skip


def test_pieces_survive_as_plain_data() -> None:
    sound = MediaContent(MediaObject(b"\0", "binary"), "audio")
    made = HumanMessage(["look", {"object": {"data": "u", "format": "url"}, "type": "image"}, sound])  # type: ignore[list-item]
    assert made.content == [MediaContent.build_text("look"), MediaContent(MediaObject("u", "url"), "image"), sound]
    assert message_from_dict(made.to_dict()) == made
    with pytest.raises(InvalidInput, match="one of text"):
        MediaContent(MediaObject("x"), "smell")
    for broken in (None, 7, {"object": {"data": "x"}}, [7], [{"object": 7}], [{"type": "text"}]):
        with pytest.raises(InvalidInput):
            HumanMessage(broken)  # type: ignore[arg-type]


def test_messages_survive_as_plain_data() -> None:
    assert [message_from_dict(one.to_dict()) for one in SAID] == SAID
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
        {}, {"type": "human"}, {"type": "human", "data": {}}, {"type": "robot", "data": {"content": "x"}},
        {"type": ["human"], "data": {"content": "x"}}, {"type": "human", "data": {"content": 7}},
        {"type": "human", "data": {"content": "x", "index": -1}},
        {"type": "human", "data": {"content": "x", "round_index": "2"}}, "human", None,
    ],
)  # fmt: skip
def test_data_that_is_no_message_is_refused(broken: Any) -> None:
    with pytest.raises(InvalidInput, match=r"Got unexpected type|a message"):
        message_from_dict(broken)


HUMAN, AI, SYSTEM, VIEW = (
    ModelMessageRoleType.HUMAN, ModelMessageRoleType.AI, ModelMessageRoleType.SYSTEM, ModelMessageRoleType.VIEW,
)  # fmt: skip


def test_view_messages_never_reach_a_model() -> None:
    given = [SystemMessage("s"), HumanMessage("h", round_index=2), AIMessage("a"), ViewMessage("v")]
    made = ModelMessage.from_base_messages(given)
    assert [(one.role, one.content, one.round_index) for one in made] == [
        (SYSTEM, "s", 0),
        (HUMAN, "h", 2),
        (AI, "a", 0),
    ]
    common = ModelMessage.to_common_messages([*made, ModelMessage(VIEW, "v")])
    assert [one["role"] for one in common] == ["system", "user", "assistant"]
    asked_last = ModelMessage.to_common_messages(made, convert_to_compatible_format=True)
    assert [one["role"] for one in asked_last] == ["system", "assistant", "user"]
    assert [one.pass_to_model for one in (made[0], ModelMessage(VIEW, ""))] == [True, False]
    assert made[1].to_dict() == {"role": "human", "content": "h", "round_index": 2}
    with pytest.raises(InvalidInput, match="Current model not support system role"):
        ModelMessage.to_common_messages(made, support_system_role=False)
    with pytest.raises(ValueError, match="unexpected type"):
        ModelMessage.to_common_messages([ModelMessage("tool", "x")])


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
FORMATS = st.sampled_from(["text", "url", "url@image/png", "base64", "base64@image/png", "binary", "odd@@"])
PIECES = st.builds(
    MediaContent,
    st.builds(MediaObject, WORDS | st.sampled_from(["AAAA", "aGk=", "aGk"]), FORMATS)
    | st.builds(MediaObject, st.just(b"\0\xff"), st.just("binary@video/mp4")),
    st.sampled_from(["image", "audio", "video"]),
) | st.builds(MediaContent, st.builds(MediaObject, WORDS, FORMATS), st.sampled_from(["text", "thinking"]))
KWARGS = st.dictionaries(
    WORDS, st.none() | st.integers(0, 9) | WORDS | st.lists(st.integers(0, 9), max_size=2), max_size=3
)
PLACES = st.integers(0, 99)


@st.composite
def messages(draw: st.DrawFn) -> BaseMessage:
    cls = draw(st.sampled_from([HumanMessage, AIMessage, ViewMessage, SystemMessage]))
    content: Any = draw(WORDS | st.lists(PIECES, max_size=4))
    made = cls(content, draw(PLACES), draw(PLACES), draw(KWARGS))
    if not isinstance(made, SystemMessage):
        made.example = draw(st.booleans())
    return made


@given(messages())
def test_nothing_is_lost_in_a_log(said: BaseMessage) -> None:
    stored = decode_message(encode_message(to_core(said).changed(index=said.index, round=7)))
    assert from_core(stored) == said


def test_other_parts_see_what_was_said() -> None:
    picture = MediaContent(MediaObject("https://example.com/a.png", "url@image/png"), "image")
    stored = to_core(HumanMessage([MediaContent.build_text("look"), picture]))
    assert stored.parts == (Text("look"), Image(url="https://example.com/a.png", media_type="image/png"))
    assert stored.text == "look"
    assert to_core(ViewMessage("v")).for_model is False


FOREIGN: list[tuple[Message, BaseMessage]] = [
    (human("q"), HumanMessage("q")),
    (ai("a", tool_calls=(ToolCall("c", "f"),)), AIMessage("a")),
    (tool_result("c", "42"), AIMessage("42")),
    (message("chat", "x", chat_role="assistant"), AIMessage("x")),
    (message("chat", "x", chat_role="Alice"), HumanMessage("x")),
    (message("chat", "x", chat_role="system"), SystemMessage("x")),
    (message("function", "x", name="f"), AIMessage("x")),
    (ai("secret", hidden=True), ViewMessage("secret")),
    (human(["a", "b"]), HumanMessage("a\nb")),
    (human(()), HumanMessage("")),
    (human(["see", Video(url="v")]),
     HumanMessage([MediaContent.build_text("see"), MediaContent(MediaObject("v", "url"), "video")])),
    (human([Image(data=b"hi", media_type="image/png")]),
     HumanMessage([MediaContent(MediaObject("aGk=", "base64@image/png"), "image")])),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "expected"), FOREIGN)
def test_what_others_wrote_reads_as_the_nearest_kind(stored: Message, expected: BaseMessage) -> None:
    read = from_core(stored.changed(index=3, round=2))
    expected.index, expected.round_index = 3, 2
    assert read == expected


@pytest.mark.parametrize(
    "mark",
    ["x", 7, {"round_index": -1}, {"round_index": "1"}, {"additional_kwargs": []}, {"formats": 3}, {"example": "yes"}],
)
def test_a_mark_that_somebody_broke_is_passed_over(mark: Any) -> None:
    assert from_core(human("q", metadata={"dbgpt": mark})) == HumanMessage("q")


def test_a_content_that_others_changed_is_read_as_it_is_now() -> None:
    stored = to_core(HumanMessage([MediaContent(MediaObject("AAAA", "base64"), "image")]))
    assert from_core(stored.changed(content="words")).content == "words"
    assert from_core(stored.changed(content=["a", "b"])).content == "a\nb"
    moved = from_core(stored.changed(content=[Image(url="u")])).content
    assert moved == [MediaContent(MediaObject("u", "url"), "image")]


def test_a_kind_of_its_own_is_refused() -> None:
    class RobotMessage(BaseMessage):
        @property
        def type(self) -> str:
            return "robot"

    with pytest.raises(InvalidInput, match="unexpected type"):
        to_core(RobotMessage("x"))
    assert {Role(one.type) for one in (HumanMessage(""), AIMessage(""), ViewMessage(""), SystemMessage(""))} < set(Role)

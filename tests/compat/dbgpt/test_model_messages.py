"""Messages as a model gets them."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.compat.dbgpt.media import MediaContent, MediaObject
from memwell.compat.dbgpt.messages import AIMessage, HumanMessage, SystemMessage, ViewMessage
from memwell.compat.dbgpt.model_messages import ModelMessage, ModelMessageRoleType, parse_model_messages
from memwell.errors import InvalidInput

HUMAN, AI, SYSTEM, VIEW = (
    ModelMessageRoleType.HUMAN,
    ModelMessageRoleType.AI,
    ModelMessageRoleType.SYSTEM,
    ModelMessageRoleType.VIEW,
)
PICTURE = MediaContent(MediaObject("u", "url"), "image")


def said(*pairs: tuple[str, str]) -> list[ModelMessage]:
    return [ModelMessage(role, content) for role, content in pairs]


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
    assert [one.pass_to_model for one in said((SYSTEM, ""), (VIEW, ""))] == [True, False]


def test_openai_messages_come_and_go() -> None:
    shapes: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "hello"},
    ]
    made = ModelMessage.from_openai_messages(shapes)
    assert made == said((SYSTEM, "be brief"), (HUMAN, "你好"), (AI, "hello"))
    assert ModelMessage.to_common_messages(made) == shapes
    assert ModelMessage.from_openai_messages("x") == said((HUMAN, "x"))
    several = [{"type": "text", "text": "a"}, "b", {"type": "refusal", "refusal": "no"}]
    assert ModelMessage.from_openai_messages([{"role": "assistant", "content": several}]) == said(
        (AI, "a"), (AI, "b"), (AI, "no")
    )
    seen = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
    assert ModelMessage.from_openai_messages([{"role": "user", "content": seen}]) == [
        ModelMessage(HUMAN, [MediaContent.build_text("a"), PICTURE])
    ]


@pytest.mark.parametrize(
    "shape",
    [
        {"role": "tool", "content": "x"},
        {"role": "function", "content": "x"},
        {"role": "robot", "content": "x"},
        {"content": "x"},
        {"role": "user"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [{"type": "smell"}]},
    ],
)
def test_openai_messages_without_a_place_are_refused(shape: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        ModelMessage.from_openai_messages([shape])


def test_common_messages_suit_the_model() -> None:
    talk = said((HUMAN, "q"), (AI, "a"))
    moved = ModelMessage.to_common_messages(talk, convert_to_compatible_format=True)
    assert [one["content"] for one in moved] == ["a", "q"]
    with pytest.raises(InvalidInput, match="Current model not support system role"):
        ModelMessage.to_common_messages(said((SYSTEM, "s")), support_system_role=False)
    with pytest.raises(ValueError, match="Unsupported message role"):
        ModelMessage.to_common_messages(said((HUMAN, "q"), ("tool", "x")))
    mixed = [ModelMessage(HUMAN, [PICTURE, MediaContent.build_text("what is it?")])]
    assert ModelMessage.to_common_messages(mixed, support_media_content=False)[0]["content"] == "what is it?"
    named = ModelMessage.to_common_messages(mixed, type_mapping={"image_url": "image"})
    assert named[0]["content"][0] == {"type": "image", "image": "u"}


def test_messages_as_text() -> None:
    talk = said((HUMAN, "q "), (AI, "a"))
    assert ModelMessage.get_printable_message(talk) == "(Round 0) human: q\n(Round 0) ai: a\n"
    assert ModelMessage.messages_to_string(talk) == "human: q \nai: a"
    assert ModelMessage.messages_to_string([HumanMessage("q"), ViewMessage("v")], human_prefix="Me") == "Me: q"
    assert ModelMessage.to_dict_list(talk)[1] == {"role": "ai", "content": "a", "round_index": 0}


def test_what_the_user_said_last() -> None:
    assert ModelMessage.parse_user_message([*said((HUMAN, "q"), (AI, "a"))]) == "q"
    with pytest.raises(ValueError, match="No user message"):
        ModelMessage.parse_user_message(said((AI, "a")))
    assert ModelMessage.build_human_message("x") == ModelMessage(HUMAN, "x")


def test_a_talk_is_taken_apart() -> None:
    talk = said(
        (HUMAN, "a"), (AI, "b"), (SYSTEM, "s"), (AI, "alone"), (HUMAN, "c"), (HUMAN, "d"), (AI, "e"), (HUMAN, "now")
    )
    assert parse_model_messages(talk) == ("now", ["s"], [["a", "b"]])
    for bad in ([], said((HUMAN, "a"), (AI, "b"))):
        with pytest.raises(ValueError, match="What do you want to talk about"):
            parse_model_messages(bad)

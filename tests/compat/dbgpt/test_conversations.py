"""A conversation in memory: rounds, and what a model gets of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.conversations import OnceConversation
from memwell.compat.dbgpt.media import MediaContent, MediaObject
from memwell.compat.dbgpt.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ViewMessage
from memwell.errors import InvalidInput


def talk(rounds: int = 3) -> OnceConversation:
    made = OnceConversation("chat_normal", user_name="ana", model_name="m", param_type="t", param_value="v")
    made.add_system_message("be brief")
    for number in range(1, rounds + 1):
        made.start_new_round()
        made.add_user_message(f"q{number}")
        made.add_ai_message(f"a{number}")
        made.add_view_message(f"v{number}")
        made.end_current_round()
    return made


def words(messages: list[Any]) -> list[Any]:
    return [one.content for one in messages]


def test_messages_have_a_place_a_round_and_parameters() -> None:
    made = talk(2)
    assert [one.index for one in made.messages] == list(range(7))
    assert [one.round_index for one in made.messages] == [0, 1, 1, 1, 2, 2, 2]
    assert made.chat_order == 2
    assert made.messages[-1].additional_kwargs == {"param_type": "t", "param_value": "v", "model_name": "m"}


def test_a_view_message_is_in_no_history_and_reaches_no_model() -> None:
    made = talk(1)
    assert [one.type for one in made.get_history_message()] == ["human", "ai"]
    assert [one.type for one in made.get_history_message(include_system_message=True)] == ["system", "human", "ai"]
    assert [(one.role, one.round_index) for one in made.get_model_messages()] == [
        ("system", 0),
        ("human", 1),
        ("ai", 1),
    ]


@given(st.lists(st.sampled_from(["user", "ai", "view", "system", "round"]), max_size=20), st.integers(0, 6))
def test_the_last_rounds_hold_what_was_said_in_them(steps: list[str], count: int) -> None:
    made = OnceConversation("chat_normal")
    for at, step in enumerate(steps):
        if step == "round":
            made.start_new_round()
        else:
            getattr(made, f"add_{step}_message")(str(at))
    latest = steps.count("round")
    expected = [one for one in made.messages if one.round_index > latest - count]
    assert made.get_messages_with_round(count) == expected
    assert made.get_messages_by_round(0) == made.messages[: [*steps, "round"].index("round")]
    assert made.get_latest_round() == made.get_messages_with_round(1)
    assert all(one.pass_to_model for one in made.get_history_message(include_system_message=True))


def test_what_was_said_before_the_first_round_counts() -> None:
    made = OnceConversation("chat_normal")
    made.add_user_message("q")
    made.add_ai_message("a")
    assert words(made.get_messages_with_round(1)) == ["q", "a"]
    with pytest.raises(InvalidInput):
        made.get_messages_with_round(-1)


def test_an_answer_that_grows_changes_only_the_round_under_way() -> None:
    made = OnceConversation("chat_normal")
    for number in (1, 2):
        made.start_new_round()
        made.add_user_message(f"q{number}")
        for part in ("a", "ab", "abc"):
            made.add_ai_message(f"{part}{number}", update_if_exist=True)
    assert words(made.messages) == ["q1", "abc1", "q2", "abc2"]
    assert [one.index for one in made.messages] == [0, 1, 2, 3]
    with pytest.raises(InvalidInput):
        made.add_ai_message(7, update_if_exist=True)  # type: ignore[arg-type]
    assert words(made.messages) == ["q1", "abc1", "q2", "abc2"]


def test_a_second_question_can_be_refused() -> None:
    made = OnceConversation("chat_normal")
    made.add_user_message("q", check_duplicate_type=True)
    with pytest.raises(ValueError, match="Already Have Human message"):
        made.add_user_message("q", check_duplicate_type=True)
    with pytest.raises(InvalidInput):
        made.add_user_message(None)  # type: ignore[arg-type]
    assert len(made.messages) == 1


def test_what_was_said_last_is_found() -> None:
    made = talk()
    latest = made.get_latest_user_message()
    assert latest is not None
    assert latest.content == "q3"
    assert words(made.get_system_messages()) == ["be brief"]
    assert OnceConversation("chat_normal").get_latest_user_message() is None


def test_a_copy_shares_no_message() -> None:
    first, second = talk(), OnceConversation("chat_other", model_name="mine")
    second.from_conversation(first)
    assert second.messages == first.messages
    assert (second.chat_mode, second.user_name, second.model_name) == ("chat_normal", "ana", "mine")
    second.messages[1].content = "changed"
    second.messages[1].additional_kwargs["x"] = 1
    second.add_user_message("more")
    assert first.messages[1].content == "q1"
    assert "x" not in first.messages[1].additional_kwargs
    assert len(first.messages) == 10
    assert second.messages[-1].index == 10


def test_a_conversation_begins_anew_when_it_is_cleared() -> None:
    made = talk()
    made.clear()
    made.add_user_message("q")
    assert made.messages == [HumanMessage("q", 0, 0, made.messages[0].additional_kwargs)]


def test_messages_may_be_given() -> None:
    given: list[BaseMessage] = [SystemMessage("s"), HumanMessage("q", index=1), ViewMessage("v", index=2)]
    made = OnceConversation("chat_normal", messages=[given[0].to_dict(), *given[1:]])
    assert made.messages == given
    made.add_ai_message("a")
    assert isinstance(made.messages[-1], AIMessage)
    assert made.messages[-1].index == 3
    with pytest.raises(InvalidInput):
        OnceConversation("chat_normal", messages=["text"])  # type: ignore[list-item]
    made.set_start_time(datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert made.start_date == "2024-01-02 03:04:05"


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", "你\0好", "é\udfff"])
@pytest.mark.parametrize("add", ["add_user_message", "add_ai_message", "add_view_message", "add_system_message"])
def test_what_no_store_can_keep_is_refused_at_once(add: str, bad: str):
    talk = OnceConversation("chat_normal")
    pieces = [MediaContent.build_text("fine"), MediaContent.build_text(bad)]
    for content in (bad, [bad], pieces, [MediaContent(MediaObject("data", bad), "image")]):
        with pytest.raises(InvalidInput):
            getattr(talk, add)(content)
    assert talk.messages == []
    getattr(talk, add)([MediaContent(MediaObject(b"\0\xff", "binary"), "image")])
    assert [one.index for one in talk.messages] == [0]


def test_an_answer_that_grows_into_something_unstorable_stays():
    talk = OnceConversation("chat_normal")
    talk.add_ai_message("fine")
    with pytest.raises(InvalidInput):
        talk.add_ai_message("fine\0", update_if_exist=True)
    assert [one.content for one in talk.messages] == ["fine"]

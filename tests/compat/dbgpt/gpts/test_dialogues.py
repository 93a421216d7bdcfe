"""A message of agents as a message of the core, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.dialogues import KEY, as_core, as_gpts
from memwell.compat.dbgpt.gpts.values import GptsMessage
from memwell.errors import InvalidInput
from memwell.messages import Role, decode_message, encode_message, human, tool_result

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
ROLES = st.sampled_from(
    ["human", "Human", "user", "ai", "assistant", "system", "view", "tool", "CodeEngineer", "", "x" * 2000]
)
ZONES = st.none() | st.just(UTC) | st.just(timezone(timedelta(hours=8)))
TIMES = st.builds(
    lambda moment, zone: moment.replace(tzinfo=zone),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001
    ZONES,
)
MESSAGES = st.builds(
    GptsMessage,
    st.just("c"),
    TEXTS | st.just("x" * 2000),
    TEXTS,
    ROLES,
    TEXTS,
    st.integers(0, 9),
    st.booleans(),
    current_goal=st.none() | TEXTS,
    action_report=st.none() | TEXTS,
    created_at=TIMES,
    updated_at=TIMES,
)


@given(MESSAGES)
def test_every_field_comes_back_through_the_core(message: GptsMessage) -> None:
    stored = decode_message(encode_message(as_core(message)))
    back = as_gpts(stored, "c")
    assert back == message
    assert (back.created_at.tzinfo is None) == (message.created_at.tzinfo is None)


def test_the_core_sees_who_spoke_and_what() -> None:
    core = as_core(GptsMessage("c", "Planner", "Coder", "assistant", "写代码"))
    assert (core.role, core.name, core.text) == (Role.AI, "Planner", "写代码")
    assert core.metadata[KEY] == {"receiver": "Coder", "role": "assistant"}
    assert as_core(GptsMessage("c", "U", "P", "Human", "hi")).role is Role.HUMAN
    assert as_core(GptsMessage("c", "U", "P", "CodeEngineer", "hi")).chat_role == "CodeEngineer"


def test_what_another_room_wrote_can_be_read() -> None:
    foreign = [human("hi", name="Ann"), tool_result("1", "42"), human("x", metadata={KEY: "odd"})]
    assert [(one.sender, one.role, one.content) for one in (as_gpts(core, "c") for core in foreign)] == [
        ("Ann", "human", "hi"),
        ("", "tool", "42"),
        ("", "human", "x"),
    ]


def test_a_bad_message_is_refused() -> None:
    with pytest.raises(InvalidInput, match="receiver"):
        as_core(GptsMessage("c", "A", 3, "ai", "x"))  # pyright: ignore[reportArgumentType]

"""Steps of plans, messages of dialogues, outputs of actions: what they hold, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.values import (
    ActionOutput,
    GptsMessage,
    GptsPlan,
    Status,
    check_gpts_message,
    check_plan,
    copied,
    in_utc,
    reported,
)
from memwell.errors import InvalidInput

TEXTS = st.text(max_size=20)
MAYBE = st.none() | TEXTS


@given(st.builds(GptsPlan, TEXTS, st.integers(0), MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, state=MAYBE, result=MAYBE))
def test_a_plan_comes_back_from_its_dictionary_with_its_title(plan: GptsPlan) -> None:
    assert GptsPlan.from_dict(plan.to_dict()) == plan
    assert GptsPlan.from_dict({**plan.to_dict(), "gmt_create": 1}) == plan


def test_a_message_comes_back_from_its_dictionary_also_through_json() -> None:
    message = GptsMessage("c", "A", "B", "ai", "好", rounds=2, created_at=datetime(2025, 1, 2, 3, 4, tzinfo=UTC))
    assert GptsMessage.from_dict(message.to_dict()) == message
    assert GptsMessage.from_dict(json.loads(json.dumps(message.to_dict(), default=datetime.isoformat))) == message


def test_what_is_not_given_has_a_default() -> None:
    plan = GptsPlan("c", 1, "do it")
    assert (plan.state, plan.retry_times, plan.max_retry_times) == (Status.TODO, 0, 5)
    message = GptsMessage("c", "A", "B", "ai", "hi")
    assert message.created_at.tzinfo is None
    assert abs(datetime.now(UTC) - in_utc(message.created_at)) < timedelta(minutes=5)
    assert message.updated_at is message.created_at


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GptsPlan.from_dict({"conv_id": "c"}), "sub_task_num, sub_task_content"),
        (lambda: GptsPlan.from_dict([]), "mapping"),  # pyright: ignore[reportArgumentType]
        (lambda: GptsMessage.from_dict({"created_at": "yesterday"}), "yesterday"),
        (lambda: ActionOutput.from_dict({"view": "x"}), "content"),
        (lambda: check_plan("a plan"), "a plan"),
        (lambda: check_plan(GptsPlan("", 1, "x")), "conv_id"),
        (lambda: check_plan(GptsPlan("c", -1, "x")), "sub_task_num"),
        (lambda: check_plan(GptsPlan("c", True, "x")), "sub_task_num"),
        (lambda: check_plan(GptsPlan("c", 1, "x\0")), "sub_task_content"),
        (lambda: check_plan(GptsPlan("c", 1, "x", state=3)), "state"),  # pyright: ignore[reportArgumentType]
        (lambda: check_gpts_message(GptsMessage("c", "A", "B", "ai", None)), "content"),  # pyright: ignore[reportArgumentType]
        (lambda: check_gpts_message(GptsMessage("c", "A", "B", "ai", "\ud800")), "content"),
        (lambda: check_gpts_message(GptsMessage("c", "A", "B", "ai", "", rounds=-1)), "rounds"),
        (lambda: check_gpts_message(GptsMessage("c", "A", "B", "ai", "", is_success=1)), "is_success"),  # pyright: ignore[reportArgumentType]
        (lambda: check_gpts_message(GptsMessage("c", "A", "B", "ai", "", created_at="now")), "created_at"),  # pyright: ignore[reportArgumentType]
        (lambda: check_gpts_message(None), "None"),
    ],
)
def test_what_no_store_could_keep_is_refused_by_name(make: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()


def test_an_action_output_comes_back() -> None:
    output = ActionOutput("done", view="**done**", next_speakers=["B"], resource_value={"k": [1]})
    assert ActionOutput.from_dict(output.to_dict()) == output
    failed = ActionOutput.from_dict({"content": "no rows", "is_exe_success": False})
    assert failed is not None
    assert failed.observations == "no rows"
    assert ActionOutput.from_dict({}) is None


@pytest.mark.parametrize("report", ["not JSON", "[1]", "3", '{"content": 3}', "{}", "[" * 5000])
def test_a_report_that_is_no_output_is_its_own_content(report: str) -> None:
    message = GptsMessage("c", "A", "B", "ai", "x", is_success=False, action_report=report)
    assert reported(message) == ActionOutput(report, is_exe_success=False)


def test_a_message_without_a_report_reports_nothing() -> None:
    assert reported(GptsMessage("c", "A", "B", "ai", "x", action_report="")) is None


def test_a_copy_can_be_changed() -> None:
    message = GptsMessage("c", "A", "B", "ai", "x")
    twin = copied(message)
    assert twin == message
    twin.content = "y"
    assert message.content == "x"


def test_times_of_every_zone_are_told_in_utc() -> None:
    east = timezone(timedelta(hours=8))
    assert in_utc(datetime(2025, 1, 1, 8, tzinfo=east)) == in_utc(datetime(2025, 1, 1, 0))  # noqa: DTZ001

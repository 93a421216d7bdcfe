"""The views of a dialogue that are pushed: blocks of JSON in Markdown, and plain lists."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.values import GptsMessage
from memwell.compat.dbgpt.gpts.views import dialogue_markdown, messages_block, plain_views, streamed_view


def said(text: str, goal: str | None = None, **fields: Any) -> GptsMessage:
    return replace(GptsMessage("c", "Planner", "Coder", "ai", text, current_goal=goal), **fields)


def blocks(markdown: str) -> list[tuple[str, Any]]:
    return [(tag, json.loads(body)) for tag, body in re.findall(r"^```(\S+)\n(.*)\n```$", markdown, re.MULTILINE)]


def test_goals_are_steps_and_the_rest_stands_by_itself() -> None:
    view = blocks(dialogue_markdown([said("hi"), said("1", "load"), said("2", "load"), said("3", "count")]))
    assert [tag for tag, _ in view] == ["agent-messages", "agent-plans", "agent-messages"]
    assert view[0][1][0]["markdown"] == "hi"
    assert [(step["name"], step["num"], step["status"], step["agent"]) for step in view[1][1]] == [
        ("load", 1, "complete", "Coder"),
        ("count", 2, "complete", "Coder"),
    ]
    assert [one["markdown"] for one in blocks(view[1][1][0]["markdown"])[0][1]] == ["1", "2"]
    assert view[2][1][0]["markdown"] == "3"


def test_a_goal_that_comes_back_loses_nothing() -> None:
    view = dialogue_markdown([said("1", "a"), said("2", "b"), said("3", "a")])
    steps = blocks(view)[0][1]
    assert [step["name"] for step in steps] == ["a", "b", "a"]
    assert [blocks(step["markdown"])[0][1][0]["markdown"] for step in steps] == ["1", "2", "3"]


def test_a_step_that_failed_says_so() -> None:
    assert blocks(dialogue_markdown([said("x", "a", is_success=False)]))[0][1][0]["status"] == "failed"


def test_reports_take_the_place_of_what_was_said() -> None:
    report = json.dumps({"content": "42 rows", "view": "**42** rows"})
    broke = json.dumps({"content": "no rows", "is_exe_success": False})
    messages = [said("running", action_report=report), said("hm", action_report=broke)]
    shown = [body[0]["markdown"] for _, body in blocks(dialogue_markdown(messages))]
    assert shown == ["**42** rows", "hm"]
    assert [one["markdown"] for one in plain_views(messages)] == ["42 rows", "no rows"]


def test_what_ends_it_all_is_shown_as_text() -> None:
    ending = said("", "b", action_report=json.dumps({"content": "All done", "terminate": True}))
    view = dialogue_markdown([said("1", "a"), ending])
    assert view.endswith("\nAll done")
    assert [step["name"] for step in blocks(view)[0][1]] == ["a"]


def test_a_person_is_left_out_of_the_plain_list() -> None:
    messages = [said("hi", sender="Human"), said("ho", model_name="qwen")]
    assert plain_views(messages) == [{"sender": "Planner", "receiver": "Coder", "model": "qwen", "markdown": "ho"}]


def test_a_message_being_written() -> None:
    assert streamed_view("ha") == [{"sender": "?", "receiver": "?", "model": "?", "markdown": "ha"}]
    assert streamed_view({"sender": "A", "markdown": "ha"})[0]["sender"] == "A"
    assert blocks(messages_block(streamed_view("ha")))[0][0] == "agent-messages"


def test_nothing_said_is_nothing_shown() -> None:
    assert dialogue_markdown([]) == ""
    assert plain_views([]) == []


@given(st.lists(st.tuples(st.text(max_size=20) | st.just("\n```\nx"), st.none() | st.sampled_from("ab")), max_size=8))
def test_every_message_is_in_the_view_whatever_it_says(lines: list[tuple[str, str | None]]) -> None:
    shown: list[str] = []
    for tag, body in blocks(dialogue_markdown([said(text, goal) for text, goal in lines])):
        for one in body:
            shown += (
                [m["markdown"] for m in blocks(one["markdown"])[0][1]] if tag == "agent-plans" else [one["markdown"]]
            )
    texts = [text for text, _ in lines]
    # The last of the last goal is shown once more.
    assert shown == texts + (texts[-1:] if lines and lines[-1][1] else [])

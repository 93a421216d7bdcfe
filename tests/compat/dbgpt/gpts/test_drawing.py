"""Mermaid sources: their shape, and that no text can break out of its place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.drawing import (
    escaped,
    links_of,
    mermaid_dialogue,
    mermaid_plan,
    relied_on,
    shortened,
    width_of,
)
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan, Status
from memwell.errors import InvalidInput

HOSTILE = [
    "<script>alert(1)</script>",
    "```js\nalert(1)\n```",
    "end",
    "a END b",
    '"; click s0 href "javascript:alert(1)"',
    "]\n    evil[x]",
    "%%{init: {}}%%",
    "1. first",
    "wrap: x",
    "#quot; &amp; $$x^2$$ ﬂ°°35¶ß",
    "结束，end。",
    "👩\u200d👩\u200d👧 \u202e\u2028",
    "\ud800\0",
    "x" * 100_000,
    "字" * 100_000,
    "",
    "   ",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=40)
# What may stand in a label: letters, digits, harmless signs, and everything else by its number.
LABEL = r"(?:[^\W_]|[ ,.?!'()/=，。？！、：；（）《》「」“”‘’…—·]|#\d+;)+"
PLAN_LINE = re.compile(
    rf'flowchart TD|    (?:s\d+\["<b>\d+#160;#160;{LABEL}</b><br/>{LABEL}"\](?::::[a-z]+_)?|s\d+ (?:-->|-\.->) s\d+'
    rf'|classDef [a-z]+_ [\w:#,]+|none\["{LABEL}"\])'
)
DIALOGUE_LINE = re.compile(
    rf"sequenceDiagram|    (?:autonumber|participant a\d+ as {LABEL}|Note over a\d+(?:,a\d+)?: {LABEL}"
    rf"|a\d+(?:->>|-x)a\d+: {LABEL})"
)


@given(
    st.lists(
        st.builds(GptsPlan, st.just("c"), st.integers(0, 9), TEXTS, TEXTS, TEXTS, rely=TEXTS, state=TEXTS), max_size=4
    )
)
def test_no_text_leaves_its_box(plans: list[GptsPlan]) -> None:
    lines = mermaid_plan(plans).splitlines()
    assert [line for line in lines if not PLAN_LINE.fullmatch(line)] == []
    assert not re.search(r"\bend\b", "\n".join(lines), re.IGNORECASE)
    assert max(map(len, lines)) < 2_000


@given(st.lists(st.builds(GptsMessage, st.just("c"), TEXTS, TEXTS, TEXTS, TEXTS, st.integers(0, 2)), max_size=5))
def test_no_text_leaves_its_arrow(messages: list[GptsMessage]) -> None:
    lines = mermaid_dialogue(messages, language="zh").splitlines()
    assert [line for line in lines if not DIALOGUE_LINE.fullmatch(line)] == []
    assert not re.search(r"\bend\b", "\n".join(lines), re.IGNORECASE)
    assert sum("->>" in line for line in lines) == len(messages)


def test_a_plan_as_a_flowchart() -> None:
    plans = [
        GptsPlan("c", 1, "…", "Load", "Analyst", state=Status.COMPLETE),
        GptsPlan("c", 2, "写报告", None, "撰写人", rely="1, 7", state="running"),
    ]
    assert mermaid_plan(plans).splitlines() == [
        "flowchart TD",
        '    s0["<b>1#160;#160;Load</b><br/>Analyst · complete"]:::complete_',
        '    s1["<b>2#160;#160;写报告</b><br/>撰写人 · running"]:::running_',
        "    s0 --> s1",
        "    classDef running_ fill:#dbeafe,stroke:#2563eb,color:#1e3a8a",
        "    classDef complete_ fill:#dcfce7,stroke:#16a34a,color:#14532d",
    ]
    assert "撰写人 · 进行中" in mermaid_plan(plans, language="zh")


def test_a_plan_without_links_shows_its_order() -> None:
    drawn = mermaid_plan([GptsPlan("c", number, "x") for number in (1, 2, 3)])
    assert re.findall(r"s\d -\.-> s\d", drawn) == ["s0 -.-> s1", "s1 -.-> s2"]


def test_a_dialogue_as_a_sequence() -> None:
    messages = [
        GptsMessage("c", "Human", "Planner", "human", "为什么？", rounds=1),
        GptsMessage("c", "Planner", "Human", "ai", "timed out", rounds=2, is_success=False),
    ]
    assert mermaid_dialogue(messages).splitlines() == [
        "sequenceDiagram",
        "    autonumber",
        "    participant a0 as Human",
        "    participant a1 as Planner",
        "    Note over a0,a1: Round 1",
        "    a0->>a1: 为什么？",
        "    Note over a0,a1: Round 2",
        "    a1-xa0: timed out",
    ]


def test_of_a_long_dialogue_the_last_messages_are_drawn() -> None:
    messages = [GptsMessage("c", "A", "B", "ai", f"no{number}") for number in range(300)]
    assert mermaid_dialogue(messages).count("->>") == 200
    assert mermaid_dialogue(messages, last=None).count("->>") == 300
    assert "no299" in mermaid_dialogue(messages, last=1)
    with pytest.raises(InvalidInput, match="last"):
        mermaid_dialogue(messages, last=0)


def test_nothing_can_be_drawn_too() -> None:
    assert "No plan yet" in mermaid_plan([])
    assert "还没有消息" in mermaid_dialogue([], language="zh")


@pytest.mark.parametrize("draw", [mermaid_plan, mermaid_dialogue])
def test_an_unknown_language_is_refused(draw: Any) -> None:
    with pytest.raises(InvalidInput):
        draw([], language="fr")


@pytest.mark.parametrize(
    ("rely", "numbers"),
    [("1,2", [1, 2]), ("[1, 1，3]", [1, 3]), (None, []), ("none", []), ("9" * 30, []), ("1;2", [1, 2])],
)
def test_what_a_step_builds_on(rely: str | None, numbers: list[int]) -> None:
    assert relied_on(GptsPlan("c", 5, "x", rely=rely)) == numbers


def test_links_to_itself_and_to_nowhere_are_left_out() -> None:
    assert links_of([GptsPlan("c", 1, "x", rely="1,2,8"), GptsPlan("c", 2, "y", rely="1")]) == [(1, 0), (0, 1)]


@given(st.text(max_size=200), st.integers(2, 30))
def test_a_shortened_text_fits(text: str, most: int) -> None:
    short = shortened(text, most)
    assert sum(map(width_of, short)) <= most
    assert "\n" not in short
    if not short.endswith("…"):
        assert short == " ".join(text.split())


def test_what_is_escaped() -> None:
    assert escaped("a-b") == "a#45;b"
    assert escaped("the End") == "the #101;nd"
    assert escaped("Kalender") == "Kalender"

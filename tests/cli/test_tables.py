from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.table import Table

from memwell.cli.tables import fact_table, hit_table, message_table, thread_table
from memwell.cli.terminal import console
from memwell.longterm.facts import Fact
from memwell.longterm.facts.timeline import Source
from memwell.longterm.recalling import Recalled, Signal
from memwell.messages import Image, Message, ai, human, message
from memwell.records import Space, Thread
from memwell.storage.protocols import ThreadInfo
from memwell.testing import strategies


def drawn(table: Table, width: int = 80) -> str:
    screen = console(width=width)
    with screen.capture() as captured:
        screen.print(table)
    return captured.get()


def placed(*messages: Message) -> list[Message]:
    return [one.changed(index=at, round=1) for at, one in enumerate(messages)]


def info(name: str, **fields: Any) -> ThreadInfo:
    moment = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    return ThreadInfo(Thread(Space("a"), name), 0, 1_234, 1_234, 98_765, 321, moment, moment, {}, **fields)


def test_messages_are_rows():
    shown = drawn(message_table(placed(human("Hello", name="Anna", tokens=12), ai("Hi")), "en"))
    assert [line.split() for line in shown.splitlines()] == [
        ["#", "round", "role", "tokens", "text"],
        ["0", "1", "Anna", "12", "Hello"],
        ["1", "1", "ai", "Hi"],
    ]


def test_scores_have_a_column():
    shown = drawn(message_table(placed(human("Hello")), "zh", scores=[1.234]))
    assert "得分" in shown
    assert "1.23" in shown


def test_what_is_not_text_is_told_in_words():
    picture = Image(url="https://example.org/x.png", text="a lighthouse")
    shown = drawn(message_table(placed(human([picture, "see?"]), message("chat", "x", chat_role="critic")), "en"))
    assert "[image: a lighthouse]" in shown
    assert "critic" in shown


def test_conversations_are_rows():
    shown = drawn(thread_table([info("trip"), info("中文")], "en"))
    assert ["trip", "1,234", "321", "98,765", "2026-05-04", "03:02:01", "UTC"] in [
        one.split() for one in shown.splitlines()
    ]
    assert "中文" in shown


@pytest.mark.parametrize("width", [80, 120])
def test_texts_stay_within_the_terminal_and_the_names_of_conversations_whole(width: int):
    long = "字" * 500
    shown = drawn(message_table(placed(human(long, name="n" * 300, tokens=1), ai("x" * 500)), "zh"), width)
    assert max(len(line.encode("gbk")) for line in shown.splitlines()) <= width
    assert drawn(message_table(placed(human(long)), "en"), width).count("字") == 500
    assert drawn(thread_table([info("t" * 300)], "en"), width).splitlines()[1].startswith("t" * 300 + "  ")


@given(st.lists(strategies.messages(), max_size=3), st.sampled_from(("en", "zh")))
def test_any_message_can_be_shown(messages: list[Message], language: str):
    shown = drawn(message_table(placed(*messages), language))
    assert not any(ord(char) < 32 and char != "\n" for char in shown)


MOMENT = datetime(2024, 5, 7, tzinfo=UTC)
FACT = Fact(
    id="1",
    subject="小明",
    relation="lives_in",
    object="北京",
    valid_from=datetime(2020, 1, 1, tzinfo=UTC),
    valid_to=MOMENT,
    learned_at=MOMENT,
    said_at=MOMENT,
    evidence=(Source("m1"), Source("gone")),
)


def test_facts_are_rows_with_their_time_and_evidence():
    text = f"2020年起我住在北京\x1b[31m，{'很' * 200}"
    out = drawn(fact_table([FACT], {"m1": text}, "zh"), 200)
    header, row = out.splitlines()[:2]
    assert header.split() == ["主体", "关系", "内容", "起", "止", "依据"]
    assert row.split()[:5] == ["小明", "住在", "北京", "2020-01-01", "2024-05-07"]
    assert "2020年起我住在北京" in row
    assert row.rstrip().endswith("很…")
    assert "\x1b" not in out
    english = drawn(fact_table([FACT], {}, "en"), 200).splitlines()
    assert english[0].split("  ")[0] == "of"
    assert "lives in" in english[1]


def test_a_fact_that_still_holds_has_no_end():
    row = drawn(fact_table([replace(FACT, valid_to=None, relation="favourite:茶")], {}, "zh"), 200).splitlines()[1]
    assert row.split() == ["小明", "最喜欢的茶", "北京", "2020-01-01"]


def test_hits_say_why_in_words_or_by_every_signal():
    signals = {"dense": Signal(0.9, 0.3), "words": Signal(1.0, 0.2), "peak": Signal(0.3, -0.04)}
    hit = Recalled("id-1", "I drink milk.", 0.46, MOMENT, "memory", "Ann", "", 0.5, {}, signals)
    assert "same meaning (60 %); same words: milk (40 %)" in drawn(hit_table([hit], "en", query="milk?"), 200)
    assert "意思相同（60%）" in drawn(hit_table([hit], "zh", query="milk?"), 200)
    explained = drawn(hit_table([hit], "en", query="milk?", explain=True), 200)
    assert "dense +0.30, words +0.20, peak -0.04" in explained
    assert explained.splitlines()[1].endswith("  id-1")

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from memwell.cli.tables import message_table, thread_table
from memwell.cli.terminal import console
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
def test_long_names_and_texts_stay_within_the_terminal(width: int):
    long = "字" * 500
    for table in (
        message_table(placed(human(long, name="n" * 300, tokens=1), ai("x" * 500)), "zh"),
        thread_table([info("t" * 300)], "en"),
    ):
        shown = drawn(table, width)
        assert max(len(line.encode("gbk")) for line in shown.splitlines()) <= width
    assert drawn(message_table(placed(human(long)), "en"), width).count("字") == 500
    assert (
        drawn(thread_table([info("t" * 300)], "en"), width).replace("thread", "").replace("tokens", "").count("t")
        >= 300
    )


@given(st.lists(strategies.messages(), max_size=3), st.sampled_from(("en", "zh")))
def test_any_message_can_be_shown(messages: list[Message], language: str):
    shown = drawn(message_table(placed(*messages), language))
    assert not any(ord(char) < 32 and char != "\n" for char in shown)

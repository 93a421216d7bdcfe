"""The question: what is read off it before any record is looked at."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwell.longterm.question import HAN_WEIGHT, Question, weighted_terms

NOW = datetime(2023, 6, 15, 12, tzinfo=UTC).timestamp()


def ask(text: str) -> Question:
    return Question.of(text, now=NOW)


def test_words_that_only_ask_are_left_out_unless_there_are_no_others() -> None:
    assert set(weighted_terms("What did Anna paint?")) == {"anna", "paint"}
    assert weighted_terms("what is it")


def test_words_that_say_the_form_of_the_answer_count_less() -> None:
    terms = weighted_terms("How many weeks ago did Anna marry?")
    assert terms["week"] < terms["anna"] == 1.0


def test_single_characters_count_a_little_beside_pairs() -> None:
    terms = weighted_terms("花园在哪")
    assert terms["花园"] == 1.0
    assert terms["花"] == HAN_WEIGHT


@pytest.mark.parametrize("text", ["When did it begin?", "In which year was that?", "安娜什么时候来的？"])
def test_it_knows_when_a_time_is_asked(text: str) -> None:
    assert ask(text).asks_when
    assert not ask("Who came?").asks_when


@pytest.mark.parametrize("text", ["How many dogs?", "他有多少钱？"])
def test_it_knows_when_a_number_is_asked(text: str) -> None:
    assert ask(text).asks_how_many
    assert not ask("谁来了？").asks_how_many


def test_it_reads_past_times_and_leaves_the_present_out() -> None:
    ((since, until),) = ask("What did she do in May 2023?").times
    assert datetime.fromtimestamp(since, UTC).month == 5
    assert until <= NOW
    assert ask("What can I do today?").times == ()


def test_a_long_text_is_talk_and_asks_nothing() -> None:
    assert not ask("我们昨天聊了很多事情，你还记得吗？" * 5 + "什么时候").asks_when


def test_it_knows_whether_it_is_about_me_or_you() -> None:
    assert ask("What did I buy?").of_me
    assert ask("你推荐了什么？").of_you
    assert not ask("What did Ben buy?").of_me

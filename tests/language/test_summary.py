"""A summary is made of the text's own sentences, never too large, and can be summed up again."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.language.sentences import is_small_talk
from memwell.language.summary import SummaryLine, lines_of, read_summary, summarise, written
from memwell.testing import strategies

SENTENCES = (
    "I live in Oslo with my son Ben.", "My flight leaves on May 3 at 7:40.", "What is the weather like?", "Thanks!",
    "Hello there", "no full stop", "我住在北京，养了两只猫。", "今天天气怎么样？", "谢谢。", "Dr. Smith said so.",
    "Wait... what?", '"Really?" he asked.', "Note: bring 2 bags", "1. first", "```", "x = 1",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(SENTENCES), max_size=5).flatmap(
    lambda some: st.sampled_from((" ", "\n", "")).map(lambda between: between.join(some))
) | strategies.texts(max_size=40)
SPEAKERS = st.sampled_from(("Human", "AI", "Anna", "小明", ""))
TALKS = st.lists(st.tuples(SPEAKERS, TEXTS), max_size=6)


def lines(talk: list[tuple[str, str]]) -> list[SummaryLine]:
    return [line for speaker, text in talk for line in lines_of(speaker, text)]


@given(talk=TALKS, limit=st.integers(0, 200))
def test_every_sentence_is_in_the_source_and_all_fit(talk: list[tuple[str, str]], limit: int):
    source = lines(talk)
    chosen = summarise(source, limit=limit)
    assert len(written(chosen)) <= limit
    places = iter(source)
    for line in chosen:
        assert any(line.text in one.text and line.speaker in (one.speaker, "") for one in places), "in their order"
    assert all(any(line.text in text for _, text in talk) for line in chosen)


@given(talks=st.lists(TALKS, min_size=1, max_size=4), limit=st.integers(20, 200))
def test_a_summary_of_a_summary_is_still_faithful_and_as_small(talks: list[list[tuple[str, str]]], limit: int):
    summary = ""
    for talk in talks:
        summary = written(summarise([*read_summary(summary), *lines(talk)], limit=limit))
        assert len(summary) <= limit
    said = [text for talk in talks for _, text in talk]
    # A sentence may carry its speaker inside when the speaker is no label; what was said is there all the same.
    for line in read_summary(summary):
        assert any(line.text in text or f"{line.speaker}: {line.text}" in text for text in said), (line, said)


@given(talk=TALKS)
@example(talk=[("Human", "I live in Oslo."), ("", "Human: so do I")])
@example(talk=[("Human", "I live in Oslo."), ("", "Human:  so do I. Really.")])
def test_what_is_written_is_read_back(talk: list[tuple[str, str]]):
    text = written(lines(talk))
    assert written(read_summary(text)) == text


@given(talk=TALKS, limit=st.integers(0, 200), seed=st.integers(0, 5))
def test_the_limit_holds_however_odd_the_measure(talk: list[tuple[str, str]], limit: int, seed: int):
    def size(text: str) -> int:
        return len(text) + crc32(f"{seed}{text}".encode()) % 50

    chosen = summarise(lines(talk), limit=limit, size=size)
    assert not chosen or size(written(chosen)) <= limit


def test_a_turn_costs_a_few_measurements():
    """However many sentences there are, a summary is measured as a whole only a few times, and never over its limit."""
    measured: list[int] = []

    def size(text: str) -> int:
        measured.append(len(text))
        return len(text)

    source = lines_of("Human", " ".join(f"I have {number} cats in Oslo." for number in range(200)))
    chosen = summarise(source, limit=1_000, size=size)
    assert len(written(chosen)) <= 1_000
    assert len([length for length in measured if length > 500]) <= 8


@given(talk=TALKS)
def test_it_is_the_same_every_time_and_empty_only_of_nothing(talk: list[tuple[str, str]]):
    source = lines(talk)
    assert summarise(source, limit=100) == summarise(iter(source), limit=100)
    assert bool(summarise(source, limit=100)) == bool(source)


@pytest.mark.parametrize(
    ("talk", "limit", "summary"),
    [
        (
            [
                ("Human", "Hi! I am Anna and I live in Oslo. How are you?"),
                ("AI", "Hello Anna, nice to meet you! How can I help?"),
                ("Human", "My train to Bergen leaves on Friday at 9."),
                ("AI", "Great."),
            ],
            90,
            "Human: I am Anna and I live in Oslo. My train to Bergen leaves on Friday at 9.",
        ),
        ([("Human", "你好！我叫李雷，住在上海。你会做什么？"), ("AI", "您好！"), ("Human", "我下周三去北京开会。")],
         33, "Human: 我叫李雷，住在上海。 我下周三去北京开会。"),
        # Of two that say the same the newest is kept, and of two that weigh the same.
        ([("Human", "I live in Oslo."), ("AI", "Yes."), ("Human", "I live in Oslo.")], 99, "Human: I live in Oslo."),
        ([("Human", "I live in Oslo."), ("Human", "I live in Rome.")], 25, "Human: I live in Rome."),
        ([("Human", "Thanks!"), ("AI", "You're welcome.")], 16, "Human: Thanks!"),
        ([("Human", "I moved to Bergen in March")], 18, "Human: I moved to"),
        ([("A very long name indeed", "I moved")], 7, "I moved"),
        ([], 10, ""),
    ],
)  # fmt: skip
def test_what_says_most_is_kept(talk: list[tuple[str, str]], limit: int, summary: str):
    assert written(summarise(lines(talk), limit=limit)) == summary


@given(talk=TALKS)
def test_while_there_is_room_all_that_is_said_is_kept(talk: list[tuple[str, str]]):
    source = lines(talk)
    said = {line for line in source if not is_small_talk(line.text)}
    kept = summarise(source, limit=len(written(source)))
    assert not said or {(speaker, text.casefold()) for speaker, text in kept} == {
        (speaker, text.casefold()) for speaker, text in said
    }


def test_sentences_that_would_run_together_get_lines_of_their_own():
    said = ("I live in Oslo", "I like tea.", "And milk.")
    source = [SummaryLine("Human", one) for one in said]
    assert written(source) == "Human: I live in Oslo\nHuman: I like tea. And milk."
    assert read_summary(written(source)) == source


def test_a_hundred_thousand_characters_are_summed_up():
    text = " ".join(f"I have {number} cats in town {number}." for number in range(4_000))
    chosen = summarise(lines_of("Human", text), limit=100)
    assert 0 < len(written(chosen)) <= 100

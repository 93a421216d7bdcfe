"""The memories that state the facts which a question asks for are recalled, whatever else resembles the question."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import memwell
from memwell.language.fact_questions import fact_question
from memwell.longterm.stating import stating

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = BEGIN + timedelta(days=60)
LIKE = (
    "My neighbour's dog barked all night ({}).", "Do I have to have the dog of Ann on day {}?",
    "What does one do on day {}?",
    "My sister and I have a plan what to do on day {}.", "What should Ann cook on day {}?", "隔壁的狗叫了一晚上（{}）",
    "我妹妹做什么都慢（{}）", "有什么好吃的（{}）？", "今晚有什么计划（{}）？",
)  # fmt: skip
TOLD = (
    "We have a terrier called Biscuit.", "Zoe, my sister, started as a paramedic in Derby.", "I'm allergic to shellfish.",
    "I'm a vegetarian.", "I've decided to learn the cello.", "We're going to Norway in December.",
    "I have a dentist appointment tomorrow.",
)  # fmt: skip


def nobody(_: str) -> bool:
    """Whether a name is a speaker's, in a store without any."""
    return False


@pytest.fixture
def engine() -> Iterator[memwell.Engine]:
    with memwell.open("memory:", work=False, embedder=None) as opened:
        for number in range(15):
            for text in LIKE:
                opened.remember(text.format(number), time=BEGIN + timedelta(hours=number))
        for number, text in enumerate(TOLD):
            opened.remember(text, time=BEGIN + timedelta(hours=2, minutes=number))
        opened.flush()
        yield opened


ASKED = (
    ("Do I have a dog?", {TOLD[0]}), ("What does my sister do?", {TOLD[1]}), ("我有狗吗？", {TOLD[0]}),
    ("What are my plans?", {TOLD[4], TOLD[5]}), ("我有什么计划？", {TOLD[4], TOLD[5]}),
    ("What should I cook for me tonight?", {TOLD[2], TOLD[3]}), ("今晚吃什么好？", {TOLD[2], TOLD[3]}),
)  # fmt: skip


@pytest.mark.parametrize(("question", "told"), ASKED)
def test_what_states_the_fact_that_is_asked_for_is_recalled_first(
    engine: memwell.Engine, question: str, told: set[str]
):
    hits = engine.recall(question, limit=len(told), now=NOW)
    assert {hit.text for hit in hits} == told
    assert all(hit.relevance > 0.5 for hit in hits)
    shown = engine.context(question, budget=600, now=NOW).text()
    assert all(text in shown for text in told)


@pytest.mark.parametrize(
    "question", ["What does one do in June?", "7月我做什么？", "Did I have a dog before?", "", "Why?"]
)
def test_other_questions_are_left_to_the_ranking(engine: memwell.Engine, question: str):
    assert stating(engine.facts, question, fact_question(question), NOW, nobody) == []


def test_what_is_filtered_out_or_forgotten_is_not_recalled(engine: memwell.Engine):
    assert TOLD[0] not in [hit.text for hit in engine.recall("Do I have a dog?", kinds="note", now=NOW)]
    assert TOLD[0] not in [
        hit.text for hit in engine.recall("Do I have a dog?", since=BEGIN + timedelta(hours=3), now=NOW)
    ]
    [told] = [one.id for one in engine.recall("Do I have a dog?", limit=1, now=NOW)]
    engine.forget(told)
    assert TOLD[0] not in [hit.text for hit in engine.recall("Do I have a dog?", now=NOW)]


def test_a_fact_by_hand_has_no_memory(engine: memwell.Engine):
    engine.facts.correct("user", "occupation", "baker")
    assert stating(engine.facts, "What is my job?", fact_question("What is my job?"), NOW, nobody) == []


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Book us a table somewhere nice for Saturday", {"I'm allergic to nuts.", "Our son can't have eggs."}),
        ("Can I have the pad thai?", {"I'm allergic to nuts."}), ("What's a good dessert?", {"I'm allergic to nuts."}),
        ("帮我订个外卖", {"I'm allergic to nuts."}), ("这个蛋糕我能吃吗？", {"I'm allergic to nuts."}),
        ("What should I cook for the kids?", {"I'm allergic to nuts.", "Our son can't have eggs."}),
    ],
)  # fmt: skip
def test_what_is_eaten_calls_for_the_allergies_of_who_eats(question: str, told: set[str]):
    with memwell.open("memory:", work=False, embedder=None) as opened:
        opened.remember("I'm allergic to nuts.", time=BEGIN)
        opened.remember("Our son can't have eggs.", time=BEGIN)
        opened.remember("I'm a nurse.", time=BEGIN)
        opened.flush()
        found = stating(opened.facts, question, fact_question(question), NOW, nobody)
        assert {opened.get(one).text for one in found} == told


def test_a_fact_of_a_speaker_is_found_by_the_name():
    said = (
        ("Maya", "I've got a flat in Bristol."), ("Maya", "My brother Luke lives in Leeds, he teaches chemistry."),
        ("Joel", "I'm still living in Cardiff."), ("Maya", "I live in Bath now, a little terrace."),
        ("Joel", "Sam, my best man, lives in Newport."),
    )  # fmt: skip
    with memwell.open("memory:", work=False, embedder=None) as opened:
        for number, (speaker, text) in enumerate(said):
            opened.remember(text, speaker=speaker, time=BEGIN + timedelta(days=number))
        opened.flush()
        for question, told in (("Where does Maya live?", said[3]), ("Where does Joel live?", said[2])):
            first = opened.recall(question, now=NOW)[0]
            assert (first.speaker, first.text) == told

"""What is quoted answers, is short, and stands exactly where its source says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.knowledge import Chunking, Knowledge, read_document
from memwell.knowledge.choosing import MOST_TOKENS
from memwell.storage import open_backend
from memwell.tokens import default_counter
from tests.knowledge.bench import SUPPORTED, filled, knowledge_over

HOUSE = """# House

## Heating

The boiler was serviced in March. The engineer is Mrs Okafor, phone 5550 171. She comes by train.

## Wifi

The router stands behind the books; restart it with the small button.
"""
TICKET = "Question: My display shows E4.\n\nAnswer: E4 means that the tank is loose. Take it out and push it in."
ZH_TICKET = "问题：咖啡机屏幕显示E4。\n\n答复：E4表示水箱没有装好。请取出水箱重新放入。"
SHARED = filled(knowledge_over(open_backend("memory:")))


def _knowing(*texts: str, embedded: bool = False, chunking: Chunking | None = None) -> Knowledge:
    backend = open_backend("memory:")
    knowledge = (
        knowledge_over(backend, chunking=chunking)
        if embedded
        else knowledge_over(backend, embedder=None, chunking=chunking)
    )
    for number, text in enumerate(texts):
        knowledge.add(read_document(text.encode(), name=f"{number}.md"), id=str(number), source=f"{number}.md")
    return knowledge


def _assert_exact(knowledge: Knowledge, question: str) -> None:
    answer = knowledge.answer(question)
    assert default_counter().count(answer.text) <= MOST_TOKENS
    for source in answer.sources:
        place = source.citation
        assert source.text == knowledge.text(place.document)[place.start : place.end]
    said = answer.text if answer.supported else ""
    for piece, number in re.findall(r"(.*?) \[(\d+)\](?: |\Z)", said, re.S):
        assert piece in answer.sources[int(number) - 1].text


@pytest.mark.parametrize(("question", "expected"), SUPPORTED)
def test_sources_are_the_sentences_and_nothing_more(question: str, expected: str):
    answer = SHARED.answer(question)
    _assert_exact(SHARED, question)
    assert any(expected in source.text for source in answer.sources)
    passages = {hit.id: hit for hit in SHARED.recall(question)}
    for source in answer.sources:
        assert passages[source.id].citation.start <= source.citation.start < passages[source.id].citation.end


WORDS = st.sampled_from(
    "boiler engineer 锅炉 router phone. 师傅。 Who? 谁？ : \n\n # ## - 5550171 March ; Answer: |".split(" ")
)


@given(st.lists(WORDS, max_size=120).map(" ".join), st.integers(12, 80))
@settings(max_examples=60, deadline=None)
def test_whatever_the_document_the_place_is_exact_and_the_answer_short(text: str, tokens: int):
    knowledge = _knowing(f"The boiler.\n\n{text}", chunking=Chunking(tokens=tokens, overlap=4, least=4))
    for question in ("Who is the engineer of the boiler?", "锅炉师傅的电话是多少？"):
        _assert_exact(knowledge, question)


@pytest.mark.parametrize("embedded", [True, False])
def test_what_a_sentence_leaves_open_is_said_by_the_next(embedded: bool):
    answer = _knowing(HOUSE, embedded=embedded).answer("Who services the boiler, and what is the phone number?")
    assert answer.text == "The boiler was serviced in March. The engineer is Mrs Okafor, phone 5550 171. [1]"
    assert str(answer.sources[0].citation) == "0.md › House › Heating", (
        "the nearest heading, though the chunk has them all"
    )


def test_a_sentence_before_may_say_what_is_left_open_too():
    knowledge = _knowing("The site is run by Marta Kovac. The office of the site can be reached at 0471 882 19.")
    answer = knowledge.answer("Who is in the office of the site, and what is the phone number?")
    assert "Marta Kovac" in answer.text
    assert "0471" in answer.text


def test_sentences_that_follow_one_another_are_one_source():
    knowledge = _knowing("# Valve\n\nThe valve is red. The valve is large. The pump is blue. The valve is loud.")
    answer = knowledge.answer("valve")
    assert answer.text == "The valve is red. The valve is large. [1] The valve is loud. [2]"
    assert [source.text for source in answer.sources] == ["The valve is red. The valve is large.", "The valve is loud."]


@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize(
    ("ticket", "question", "expected"),
    [
        (
            TICKET,
            "My display shows E4, what should I do?",
            "E4 means that the tank is loose. Take it out and push it in. [1]",
        ),
        (ZH_TICKET, "我的咖啡机显示E4，该怎么办？", "E4表示水箱没有装好。请取出水箱重新放入。 [1]"),
    ],
)
def test_a_question_is_answered_by_what_stands_below_it(embedded: bool, ticket: str, question: str, expected: str):
    assert _knowing(ticket, embedded=embedded).answer(question).text == expected


def test_questions_that_nothing_follows_answer_nothing():
    knowledge = _knowing("Where is the boiler?\n\nWhere is the router?")
    answer = knowledge.answer("Where is the boiler?")
    assert (answer.supported, answer.text) == (False, "I don't know.")


def test_the_answer_may_stand_behind_the_cut():
    knowledge = _knowing(f"{'Filler stands here. ' * 6}\n\n{TICKET}", chunking=Chunking(tokens=12, overlap=0, least=0))
    assert "the tank is loose" in knowledge.answer("The display shows E4").text


def test_a_sentence_with_what_is_asked_for_is_preferred():
    text = (
        "The library is proud of its opening.\n\nThe library opens at nine.\n\nThe opening of the library was missed."
    )
    assert _knowing(text).answer("When is the opening of the library?").text.startswith("The library opens at nine.")


def test_a_long_sentence_is_quoted_in_part():
    knowledge = _knowing(
        "the lantern was " + "very " * 150 + "old and the wick of the lantern is kept in drawer 14 " + "too " * 150
    )
    answer = knowledge.answer("In which drawer is the wick of the lantern?")
    _assert_exact(knowledge, "In which drawer is the wick of the lantern?")
    assert "drawer 14" in answer.text


def test_several_long_sentences_are_not_all_quoted():
    said = [f"The lantern of house {number} is kept " + f"and kept{number} " * 15 + "there." for number in range(3)]
    knowledge = _knowing(*said)
    answer = knowledge.answer("Which lantern of a house is kept?")
    assert 1 <= len(answer.sources) < 3
    assert default_counter().count(answer.text) <= MOST_TOKENS


def test_a_document_that_was_replaced_meanwhile_is_quoted_as_it_was_found(monkeypatch: pytest.MonkeyPatch):
    knowledge = _knowing(HOUSE, chunking=Chunking(tokens=12, overlap=0, least=0))
    hits = knowledge.recall("boiler engineer Mrs Okafor", limit=1)
    assert hits[0].citation.start > 0
    monkeypatch.setattr(knowledge, "recall", lambda *_, **__: hits)
    knowledge.add("Something else.", id="0")
    answer = knowledge.answer("Who is the engineer of the boiler?")
    assert "Mrs Okafor" in answer.text
    assert answer.sources[0].text in hits[0].text
    start, end = (
        at - hits[0].citation.start for at in (answer.sources[0].citation.start, answer.sources[0].citation.end)
    )
    assert hits[0].text[start:end] == answer.sources[0].text
    knowledge.remove("0")
    assert "Mrs Okafor" in knowledge.answer("Who is the engineer of the boiler?").text

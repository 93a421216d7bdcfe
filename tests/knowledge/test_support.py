"""How much of a question a text holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.support import Needs
from memwell.knowledge.synonyms import Synonyms

NONE = Synonyms()


def _equal(terms: Iterable[str]) -> Mapping[str, float]:
    return dict.fromkeys(terms, 1.0)


def _covered(question: str, text: str, synonyms: Synonyms = NONE) -> float:
    return Needs(question, synonyms=synonyms, rarities=_equal).covered(text)


@pytest.mark.parametrize(
    ("question", "text", "part"),
    [
        ("When are salaries paid?", "Salaries are paid on Monday.", 1.0),
        ("When are salaries paid?", "The salary is large.", 0.5),
        ("明前茶是什么时候采的？", "清明前采摘的称为明前茶。", 1.0),
        ("茶叶怎么保存？", "茶叶放入冰箱。", 0.5),
        ("员工每年有多少天年假？", "长城很长。", 0.0),
        ("How does the router work?", "今天天气很好。", 0.0),
    ],
)
def test_the_part_of_a_question_that_a_text_holds(question: str, text: str, part: float):
    assert _covered(question, text) == pytest.approx(part, abs=0.01)


def test_a_synonym_serves_nearly_as_well():
    synonyms = Synonyms([["salary", "wage"], ["保存", "储存"]])
    assert 0.5 < _covered("wage", "The salary is large.", synonyms) < 1.0
    assert 0.5 < _covered("茶叶怎么保存？", "茶叶要储存在冰箱里。", synonyms) < 1.0
    assert _covered("wage", "The salary is large.") == 0.0


def test_what_no_text_has_counts_most():
    def rarities(terms: Iterable[str]) -> Mapping[str, float]:
        return {term: 1.0 if term == "ipv6" else 0.3 for term in terms}

    needs = Needs("Does the router speak IPv6?", synonyms=NONE, rarities=rarities)
    assert needs.covered("The router can speak.") < 0.5 < needs.covered("IPv6")


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_a_part_of_the_whole(question: str, text: str):
    needs = Needs(question, synonyms=Synonyms.bundled(), rarities=_equal)
    assert 0.0 <= needs.covered(text) <= 1.0
    assert bool(needs) == (needs.covered(f"{text} {question}") > 0.0)


def test_a_question_without_a_telling_word_needs_nothing():
    assert not Needs("？！", synonyms=NONE, rarities=_equal)
    assert _covered("", "anything") == 0.0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long do I have to send something back?", "Goods can be sent back."),
        ("Who is the engineer, and what is the phone number?", "The engineer: 5550 171."),
        ("屏幕显示E4，我该怎么办？", "屏幕显示E4。"),
        ("买的东西多少天内可以退货？", "买后三天内退货。"),
        ("电话号码是多少？", "请拨 8812-4406。"),
    ],
)
def test_words_that_only_ask_need_nothing_and_other_forms_and_numbers_serve(question: str, text: str):
    assert _covered(question, text) >= 0.7


def test_only_a_question_for_a_telephone_is_met_by_its_number():
    assert _covered("What is the telephone number?", "There are 5550 of them, in 28 rows.") == 0.0
    assert _covered("What is the number of rows?", "5550 171") == 0.0

"""Indexes and rounds follow one rule, whoever keeps them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import human
from memwell.storage.parts import (
    MAX_INDEX,
    MAX_TERMS,
    Tail,
    bm25_scores,
    distinct_terms,
    place,
    prepare,
)


def test_a_thread_can_be_full():
    prepared = prepare([human("last"), human("one too many")], keep_places=False)
    assert place(prepared[:1], Tail(MAX_INDEX, 0, -1), keep_places=False)[0].index == MAX_INDEX
    with pytest.raises(InvalidInput, match="at most"):
        place(prepared, Tail(MAX_INDEX, 0, -1), keep_places=False)


# The score is Okapi BM25, as the textbook has it.


WORDS = st.sampled_from(("a", "b", "c", "d"))
DOCUMENTS = st.dictionaries(st.integers(0, 20), st.lists(WORDS, max_size=8), max_size=8)


def test_a_score_worked_out_by_hand():
    documents = {1: ["tea", "tea", "milk"], 2: ["tea"], 3: ["coffee", "milk"]}
    found = bm25_scores(documents, ["tea"])
    weight = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert found[1] == pytest.approx(weight * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert found[2] == pytest.approx(weight * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2)))
    assert set(found) == {1, 2}


@given(DOCUMENTS, st.lists(WORDS, max_size=4, unique=True))
def test_exactly_what_shares_a_term_has_a_score_above_nothing(documents: dict[int, list[str]], terms: list[str]):
    found = bm25_scores(documents, terms)
    assert set(found) == {key for key, words in documents.items() if set(words) & set(terms)}
    assert all(score > 0 for score in found.values())


def test_a_query_is_cut_where_it_has_said_enough():
    assert distinct_terms(["b", "a", "b"]) == ["b", "a"]
    assert distinct_terms(map(str, range(1000))) == [str(n) for n in range(MAX_TERMS)]

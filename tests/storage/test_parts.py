"""Indexes and rounds follow one rule, whoever keeps them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, Role, ai, decode_message, human
from memwell.storage.parts import (
    MAX_INDEX,
    MAX_TERMS,
    Tail,
    as_stored,
    bm25_scores,
    distinct_terms,
    place,
    prepare,
    replaced_body,
)
from memwell.testing.strategies import messages


@given(st.lists(messages(), max_size=6), st.integers(0, 100), st.integers(0, 20), st.integers(-1, 20))
def test_places_go_on_behind_the_tail(given_messages: list[Message], next_: int, round_: int, ended: int):
    prepared = prepare(given_messages, keep_places=False)
    placed = place(prepared, Tail(next_, round_, min(ended, round_)), keep_places=False)
    assert [one.index for one in placed] == list(range(next_, next_ + len(placed)))
    rounds = [round_, *(one.round for one in placed)]
    for before, after, message in zip(rounds, rounds[1:], given_messages, strict=False):
        opens = message.role is Role.HUMAN or before == min(ended, round_)
        assert after == before + opens


@given(st.lists(messages(), max_size=6))
def test_what_is_returned_is_what_a_reader_gets(given_messages: list[Message]):
    prepared = prepare(given_messages, keep_places=False)
    placed = place(prepared, Tail(3, 1, -1), keep_places=False)
    stored = as_stored(prepared, placed)
    assert stored == [decode_message(one.body) for one in placed]
    assert [one.changed(index=None, round=None) for one in stored] == given_messages


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=5), st.integers(0, 10), st.integers(0, 5))
def test_kept_places_stand_or_conflict(places: list[tuple[int, int]], next_: int, round_: int):
    kept = [ai("x", index=index, round=number) for index, number in places]
    prepared = prepare(kept, keep_places=True)
    follows = all(
        index >= least and number >= least_round
        for (index, number), (least, least_round) in zip(
            places, [(next_, round_), *((index + 1, number) for index, number in places)], strict=False
        )
    )
    if follows:
        placed = place(prepared, Tail(next_, round_, -1), keep_places=True)
        assert [(one.index, one.round) for one in placed] == places
    else:
        with pytest.raises(Conflict):
            place(prepared, Tail(next_, round_, -1), keep_places=True)


def test_a_thread_can_be_full():
    prepared = prepare([human("last"), human("one too many")], keep_places=False)
    assert place(prepared[:1], Tail(MAX_INDEX, 0, -1), keep_places=False)[0].index == MAX_INDEX
    with pytest.raises(InvalidInput, match="at most"):
        place(prepared, Tail(MAX_INDEX, 0, -1), keep_places=False)


@given(messages())
def test_a_replacement_takes_over_the_place_and_the_id(message: Message):
    replaced = decode_message(replaced_body(message, 7, 3, "the id"))
    assert (replaced.index, replaced.round, replaced.id) == (7, 3, "the id")
    assert replaced == message.changed(index=7, round=3, id="the id")


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

"""Postings that follow the texts score as the plain definition does, and pages fit together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.filters import Where
from memwell.language.segment import segment
from memwell.records import Record, as_vector
from memwell.storage import bm25
from memwell.storage.searching import Postings, asked_terms, filtered, matching, nearest, page
from memwell.testing.strategies import sentences

Steps = list[tuple[int, str | None]]
steps: st.SearchStrategy[Steps] = st.lists(st.tuples(st.integers(0, 5), st.none() | sentences()), max_size=12)


def follow(postings: Postings, texts: dict[int, str], changes: Steps) -> None:
    for number, text in changes:
        if number in texts:
            postings.remove(number, texts.pop(number))
        if text is not None:
            postings.add(number, text)
            texts[number] = text


def plain(texts: dict[int, str], terms: list[str]) -> dict[int, float]:
    return bm25.scores({number: segment(text) for number, text in texts.items()}, terms)


@given(steps, sentences())
def test_postings_score_as_the_definition_does(changes: Steps, question: str):
    postings, texts = Postings(), dict[int, str]()
    follow(postings, texts, changes)
    terms = asked_terms(question)
    assert postings.scores(terms) == plain(texts, terms)
    assert postings.pairs == sum(len(set(segment(text))) for text in texts.values())


@given(steps, steps, sentences())
def test_what_a_fork_learns_the_other_does_not(before: Steps, after: Steps, question: str):
    postings, texts = Postings(), dict[int, str]()
    follow(postings, texts, before)
    terms = asked_terms(question)
    fork, forked = postings.fork(), dict(texts)
    follow(fork, forked, after)
    assert fork.scores(terms) == plain(forked, terms)
    assert postings.scores(terms) == plain(texts, terms)


def records(count: int) -> list[tuple[int, Record]]:
    return [(3 * n, Record(text=f"tea {n}", id=str(n), metadata={"n": n}, vector=[1.0, n])) for n in range(count)]


@given(st.integers(0, 7), st.integers(1, 4), st.booleans())
def test_pages_put_together_are_the_whole(count: int, limit: int, newest_first: bool):
    held = records(count)
    found: list[Record] = []
    cursor: str | None = None
    while True:
        got = page(held, limit=limit, cursor=cursor, newest_first=newest_first)
        found += got.items
        cursor = got.next
        if cursor is None:
            break
        assert len(got.items) == limit
    assert found == [record for _, record in (reversed(held) if newest_first else held)]


def test_a_bad_cursor_or_limit_is_refused():
    with pytest.raises(InvalidInput, match="cursor"):
        page([], limit=1, cursor="x", newest_first=False)
    with pytest.raises(InvalidInput, match="limit"):
        page([], limit=0, cursor=None, newest_first=False)


def test_searches_go_by_score_then_by_age_and_give_no_vectors():
    held = records(3)
    near = nearest(held, as_vector([1.0, 0.0]), 2)
    assert [hit.record.id for hit in near] == ["0", "1"]
    found = matching(dict(held), "tea", 2, Where("n", "lt", 2))
    assert [hit.record.id for hit in found] == ["1", "0"]
    assert [number for number, _ in filtered(held, Where("n", "ge", 1))] == [3, 6]
    assert {hit.record.vector for hit in (*near, *found)} == {None}

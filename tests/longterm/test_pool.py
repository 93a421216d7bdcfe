"""The pool: what it holds after any changes is what a fresh one would hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.language.segment import segment
from memwell.longterm.pool import NOWHERE, Entry, Pool, date_words, embedded_text, indexed_words
from memwell.longterm.question import Question
from memwell.longterm.ranking import rank
from memwell.longterm.weights import SIGNALS, Weights

EVERYTHING = Weights.linear({name: 1.0 + place / 10 for place, name in enumerate(SIGNALS)})
WORDS = ["train", "ticket", "garden", "tomato", "Anna", "Ben", "yesterday", "why?", "火车", "花园", "7"]


def vector_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal(8).astype(np.float32)


entries = st.builds(
    Entry,
    id=st.sampled_from([f"r{number}" for number in range(8)]),
    text=st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    speaker=st.sampled_from(["", "Anna", "Ben Lee", "user"]),
    session=st.sampled_from(["", "one", "two"]),
    position=st.integers(0, 3),
    time=st.sampled_from([0.0, 1.0e9, 1.6e9]),
    importance=st.floats(0, 1, width=32),
    uses=st.integers(0, 3),
    vector=st.one_of(st.none(), st.integers(0, 5).map(vector_of)),
    accessed=st.sampled_from([0.0, 1.2e9, 1.65e9]),
    worth=st.one_of(st.none(), st.floats(0, 1, width=32)),
)
changes = st.lists(
    st.tuples(st.lists(entries, max_size=4), st.lists(st.sampled_from(["r0", "r1", "r2", "r9"]), max_size=2))
)


@given(changes)
def test_a_changed_pool_ranks_as_one_built_afresh(changes: list[tuple[list[Entry], list[str]]]) -> None:
    pool, kept = Pool(), {}
    for changed, removed in changes:
        pool.apply(changed, removed)
        for identity in removed:
            kept.pop(identity, None)
        kept.update({entry.id: entry for entry in changed})
    fresh = Pool.build(kept.values())
    question = Question.of("When did Anna buy a train ticket? 火车", now=1.7e9, vector=vector_of(3))
    mine, theirs = (rank(one, question, weights=EVERYTHING) for one in (pool, fresh))
    assert len(pool) == len(fresh) == len(kept)
    assert {hit.id: hit.score for hit in mine} == pytest.approx({hit.id: hit.score for hit in theirs}, abs=1e-4)


def test_a_removed_record_leaves_no_word_behind() -> None:
    pool = Pool.build([Entry("a", "a canary sings"), Entry("b", "trains")])
    pool.apply((), ["a", "unknown"])
    assert "canari" not in pool.postings
    assert "a" not in pool
    assert len(pool) == 1


def test_neighbours_follow_the_positions_and_not_the_order_of_arrival() -> None:
    pool = Pool.build(Entry(str(place), "x", session="s", position=place) for place in (2, 0, 1))
    first, middle, last = (pool.row_of(str(place)) for place in range(3))
    assert [pool.previous[first], pool.following[first]] == [NOWHERE, middle]
    assert [pool.previous[last], pool.following[last]] == [middle, NOWHERE]
    pool.apply((), ["1"])
    assert pool.following[first] == last


def test_records_without_a_session_have_no_neighbours() -> None:
    pool = Pool.build([Entry("a", "x"), Entry("b", "x")])
    assert set(pool.previous[:2]) == set(pool.following[:2]) == {NOWHERE}
    assert pool.session_count == 2


def test_a_vector_of_another_length_is_refused() -> None:
    pool = Pool.build([Entry("a", "x", vector=np.ones(3))])
    with pytest.raises(InvalidInput, match="'b' has 2 numbers"):
        pool.apply([Entry("b", "y", vector=np.ones(2))], ())
    with pytest.raises(InvalidInput, match="finite"):
        pool.apply([Entry("c", "y", vector=np.array([1.0, np.nan, 0.0]))], ())


def test_a_pool_grows_past_its_first_rows_and_says_how_much_it_takes() -> None:
    pool = Pool.build(Entry(str(number), f"word{number}", vector=np.full(4, number)) for number in range(300))
    small = Pool.build([Entry("0", "word0")])
    assert pool.vectors.dots(np.ones(4), pool.limit)[pool.row_of("299")] == pytest.approx(4 * 299.0)
    assert pool.nbytes > small.nbytes > 0


@pytest.mark.parametrize(("text", "day"), [("hello", "7 May 2023 Sunday"), ("你好", "2023年5月7日 星期日")])
def test_the_speaker_and_the_day_are_among_the_words(text: str, day: str) -> None:
    found = indexed_words(Entry("a", text, speaker="Anna", time=1_683_460_000.0))
    assert {*segment(day), *segment(text), "anna"} <= set(found)


def test_roles_and_unknown_times_add_no_words() -> None:
    assert indexed_words(Entry("a", "hello", speaker="user")) == ["hello"]
    assert date_words(0.0, chinese=False) == ""
    assert embedded_text(Entry("a", "hello", speaker="Assistant")) == "hello"
    assert embedded_text(Entry("a", "hello", speaker="Anna")) == "Anna: hello"

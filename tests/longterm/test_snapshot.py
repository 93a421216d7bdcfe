from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import (
    NOWHERE,
    QuantizedVectors,
    Snapshot,
    SnapshotEntry,
    Speakers,
)
from memwell.longterm.weights import SIGNALS, Weights


def _unit(seed: int, rows: int, dimensions: int) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1)[:, None]


def _codes(vectors: np.ndarray) -> QuantizedVectors:
    codes = QuantizedVectors()
    for row, vector in enumerate(vectors):
        codes.grow(row + 1)
        codes[row] = vector
    return codes


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 40), dimensions=st.integers(1, 300))
def test_products_and_cosines_are_nearly_those_of_the_vectors(seed: int, rows: int, dimensions: int) -> None:
    vectors = _unit(seed, rows + 1, dimensions)
    question, kept = vectors[-1], vectors[:-1]
    codes = _codes(kept)
    # A code is off by half a step at most, and a step is a 127th of the largest number.
    assert codes.dots(question, rows) == pytest.approx(kept @ question, abs=0.02)
    assert codes.cosine(0, rows - 1) == pytest.approx(float(kept[0] @ kept[-1]), abs=0.02)


def test_a_vector_with_the_direction_of_the_question_is_the_nearest_whatever_its_length() -> None:
    vectors = _unit(3, 50, 64)
    codes = _codes(vectors * np.linspace(0.1, 900.0, 50, dtype=np.float32)[:, None])
    lengths = np.linalg.norm(vectors, axis=1) * np.linspace(0.1, 900.0, 50)
    assert [int(np.argmax(codes.dots(one, 50) / lengths)) for one in vectors] == list(range(50))


def test_a_row_that_is_taken_out_or_has_no_direction_is_near_to_nothing() -> None:
    codes = _codes(_unit(1, 3, 8))
    del codes[1]
    codes[2] = np.zeros(8, np.float32)
    dots = codes.dots(np.ones(8, np.float32), 3)
    assert dots[0] != 0.0
    assert dots[1:].tolist() == [0.0, 0.0]
    assert codes.cosine(0, 1) == 0.0


def test_signs_tell_the_nearest_from_the_rest_whatever_changed_since() -> None:
    vectors = _unit(6, 5000, 200)
    codes = QuantizedVectors()
    codes.grow(6000)
    codes.put(range(5000), list(vectors))
    likely = codes.likely_dots(3.0 * vectors[4500], 5000)
    assert int(np.argmax(likely)) == 4500
    assert float(np.abs(likely - 3.0 * vectors @ vectors[4500]).max()) < 3.0 * 6.0 / 200**0.5
    codes[17], codes[5500] = vectors[4500], 2.0 * vectors[4500]
    del codes[4500]
    again = codes.likely_dots(vectors[4500], 6000)
    assert again[17] == pytest.approx(1.0, abs=1e-6)
    assert again[5500] == pytest.approx(2.0, abs=1e-6)
    assert again[[4500, 5999]].tolist() == [0.0, 0.0]


# Speakers: whom a question means, and who is forgotten.


def test_people_are_named_by_the_first_part_of_their_name() -> None:
    speakers = Speakers()
    ben, anna, _ = (speakers.add(name) for name in ("Ben Lee", "安娜", ""))
    assert speakers.named(["ben", "lee"]) == [ben]
    assert speakers.named(["安娜"]) == [anna]
    assert speakers.named(["lee", ""]) == []


# The pool: what it holds after any changes is what a fresh one would hold.


EVERYTHING = Weights.linear({name: 1.0 + place / 10 for place, name in enumerate(SIGNALS)})
WORDS = ["train", "ticket", "garden", "tomato", "Anna", "Ben", "yesterday", "why?", "火车", "花园", "7"]


def vector_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal(8).astype(np.float32)


entries = st.builds(
    SnapshotEntry,
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
    expires=st.sampled_from([0.0, 1.8e9]),
    number=st.integers(0, 2**62),
)
changes = st.lists(
    st.tuples(st.lists(entries, max_size=4), st.lists(st.sampled_from(["r0", "r1", "r2", "r9"]), max_size=2))
)


@given(changes)
def test_a_changed_pool_ranks_as_one_built_afresh(changes: list[tuple[list[SnapshotEntry], list[str]]]) -> None:
    snapshot, kept = Snapshot(), {}
    for changed, removed in changes:
        snapshot.apply(changed, removed)
        for identity in removed:
            kept.pop(identity, None)
        kept.update({entry.id: entry for entry in changed})
    fresh = Snapshot.build(kept.values())
    question = ParsedQuery.of("When did Anna buy a train ticket? 火车", now=1.7e9, vector=vector_of(3))
    mine, theirs = (rank(one, question, weights=EVERYTHING) for one in (snapshot, fresh))
    assert len(snapshot) == len(fresh) == len(kept)
    assert {hit.id: hit.score for hit in mine} == pytest.approx({hit.id: hit.score for hit in theirs}, abs=1e-4)


def test_a_removed_record_leaves_no_word_behind() -> None:
    snapshot = Snapshot.build([SnapshotEntry("a", "a canary sings"), SnapshotEntry("b", "trains")])
    snapshot.apply((), ["a", "unknown"])
    assert "canari" not in snapshot.postings
    assert "a" not in snapshot
    assert len(snapshot) == 1


def test_neighbours_follow_the_positions_and_not_the_order_of_arrival() -> None:
    snapshot = Snapshot.build(SnapshotEntry(str(place), "x", session="s", position=place) for place in (2, 0, 1))
    first, middle, last = (snapshot.row_of(str(place)) for place in range(3))
    assert [snapshot.previous[first], snapshot.following[first]] == [NOWHERE, middle]
    assert [snapshot.previous[last], snapshot.following[last]] == [middle, NOWHERE]
    snapshot.apply((), ["1"])
    assert snapshot.following[first] == last


def test_a_vector_of_another_length_is_refused() -> None:
    snapshot = Snapshot.build([SnapshotEntry("a", "x", vector=np.ones(3))])
    with pytest.raises(InvalidInput, match="'b' has 2 numbers"):
        snapshot.apply([SnapshotEntry("b", "y", vector=np.ones(2))], ())
    with pytest.raises(InvalidInput, match="finite"):
        snapshot.apply([SnapshotEntry("c", "y", vector=np.array([1.0, np.nan, 0.0]))], ())

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import NOWHERE, QuantizedVectors, RoundedMatrices, Snapshot, SnapshotEntry, Speakers
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


def _two_languages(seed: int, rows: int, own: int, shared: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors whose first part is of one language (every other row has zeros there), their shared parts, and flags."""
    shares, native = _unit(seed + 1, rows, shared), np.arange(rows) % 2 == 0
    vectors = np.concatenate((0.9 * _unit(seed, rows, own), 0.19**0.5 * shares), axis=1)
    vectors[~native] = np.concatenate((np.zeros((rows, own), np.float32), shares), axis=1)[~native]
    return vectors.astype(np.float32), shares, native


def _raised(cosines: np.ndarray) -> np.ndarray:
    return np.clip(1.3 * cosines, -1.0, 1.0)


@given(seed=st.integers(0, 10_000), rows=st.integers(2, 40), own=st.integers(1, 50), shared=st.integers(4, 50))
def test_across_languages_the_shared_parts_count_for_more(seed: int, rows: int, own: int, shared: int) -> None:
    vectors, shares, native = _two_languages(seed, rows, own, shared)
    codes = _codes(vectors)
    for asked in range(2):
        codes.share_from(None)
        plain = codes.dots(vectors[asked], rows)
        codes.share_from(own)
        same = native == native[asked]
        found = codes.dots(vectors[asked], rows)
        assert found[same].tolist() == plain[same].tolist()
        assert found[~same] == pytest.approx(_raised(shares @ shares[asked])[~same], abs=0.2)
        assert codes.dots_of(np.arange(rows), vectors[asked]).tolist() == found.tolist()
        foreign = codes.foreign(vectors[asked], slice(rows))
        assert foreign is not None
        assert foreign.tolist() == (~same).tolist()
    codes[0] = np.concatenate((np.zeros(own, np.float32), shares[0]))
    assert codes.dots(vectors[1], rows)[0] == pytest.approx(float(shares[0] @ shares[1]), abs=0.15)
    del codes[0]
    assert codes.dots(vectors[1], rows)[0] == 0.0


def test_signs_tell_the_nearest_in_another_language() -> None:
    vectors, shares, native = _two_languages(6, 5000, 120, 200)
    shares[1] = shares[0]
    vectors[1, 120:] = shares[0]
    codes = QuantizedVectors()
    codes.grow(5000)
    codes.put(range(5000), list(vectors))
    codes.share_from(120)
    for asked, other in ((0, 1), (1, 0)):
        likely = codes.likely_dots(vectors[asked], 5000)
        same = native == native[asked]
        assert int(np.argmax(np.where(same, 0.0, likely))) == other
        assert float(np.abs(likely - _raised(shares @ shares[asked]))[~same].max()) < 1.3 * 6.0 / 200**0.5


def test_signs_tell_the_same_once_they_are_packed_and_follow_what_is_shared() -> None:
    vectors, _, _ = _two_languages(6, 5000, 120, 700)
    codes = QuantizedVectors()
    codes.grow(5000)
    codes.put(range(5000), list(vectors))
    for place, asked in ((None, 0), (120, 0), (120, 1), (None, 1)):
        codes.share_from(place)
        first, *again = (codes.likely_dots(vectors[asked], 5000).tolist() for _ in range(3))
        assert again == [first, first]
        assert int(np.argmax(first)) == asked


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
    time=st.sampled_from([0.0, 1.0e9, 1.6e9, 1.6e9 + 3 * 3600, 1.6e9 + 6 * 3600, 1.6e9 + 9 * 3600]),
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


@pytest.mark.parametrize("longest_run", [2, 200])
@given(changes=changes)
def test_a_changed_pool_ranks_as_one_built_afresh(
    changes: list[tuple[list[SnapshotEntry], list[str]]], longest_run: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memwell.longterm.snapshot._LONGEST_RUN", longest_run)
        _check_changed_pool(changes)


def _check_changed_pool(changes: list[tuple[list[SnapshotEntry], list[str]]]) -> None:
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


def test_neighbours_follow_the_positions_and_not_the_order_of_arrival() -> None:
    snapshot = Snapshot.build(SnapshotEntry(str(place), "x", session="s", position=place) for place in (2, 0, 1))
    first, middle, last = (snapshot.row_of(str(place)) for place in range(3))
    assert [snapshot.previous[first], snapshot.following[first]] == [NOWHERE, middle]
    assert [snapshot.previous[last], snapshot.following[last]] == [middle, NOWHERE]
    snapshot.apply((), ["1"])
    assert snapshot.following[first] == last


def _turn(name: str, hours: float, speaker: str = "Ann", position: int = 0) -> SnapshotEntry:
    return SnapshotEntry(name, name, speaker, "", position, 1.7e9 + 3600 * hours)


def _conversations(snapshot: Snapshot) -> list[list[str]]:
    """The ids of each session in the order of their links; each session of its own number."""
    firsts = [row for row in range(snapshot.limit) if snapshot.alive[row] and snapshot.previous[row] == NOWHERE]
    found: dict[int, list[str]] = {}
    for row in firsts:
        number = int(snapshot.session[row])
        assert number not in found
        found[number] = []
        while row != NOWHERE:
            assert snapshot.session[row] == number
            found[number].append(snapshot.ids[row])
            row = int(snapshot.following[row])
    assert snapshot.session_count == len(found)
    for number, ids in found.items():
        assert snapshot.session_lengths[number] == sum(snapshot.lengths[snapshot.row_of(one)] for one in ids)
    return sorted(found.values())


def test_turns_without_a_session_are_one_conversation_until_a_gap_of_four_hours() -> None:
    turns = [_turn("a", 0), _turn("b", 3), _turn("c", 6), _turn("d", 10.5), _turn("e", 11, "Ben")]
    assert _conversations(Snapshot.build(turns)) == [["a", "b", "c"], ["d", "e"]]
    snapshot = Snapshot.build(turns[:3:2])
    assert _conversations(snapshot) == [["a"], ["c"]]
    for turn in (turns[1], turns[4], turns[3]):
        snapshot.apply([turn], ())
    assert _conversations(snapshot) == [["a", "b", "c"], ["d", "e"]]
    snapshot.apply((), ["b"])
    assert _conversations(snapshot) == [["a"], ["c"], ["d", "e"]]
    snapshot.apply([_turn("f", 8)], ["d"])
    assert _conversations(snapshot) == [["a"], ["c", "f", "e"]]


def test_turns_of_the_same_time_keep_their_order() -> None:
    snapshot = Snapshot.build([_turn("z", 0, position=1), _turn("y", 0, position=2), _turn("x", 0, position=3)])
    assert _conversations(snapshot) == [["z", "y", "x"]]


def test_a_fact_or_a_memory_without_a_time_is_no_turn() -> None:
    kept = [_turn("a", 0, ""), _turn("b", 0, ""), SnapshotEntry("c", "c", "Ann"), SnapshotEntry("d", "d", "Ann")]
    assert _conversations(Snapshot.build(kept)) == [["a"], ["b"], ["c"], ["d"]]


def test_a_very_long_run_of_turns_is_no_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwell.longterm.snapshot._LONGEST_RUN", 4)
    turns = [_turn(f"{place:02}", place / 10) for place in range(12)]
    whole = Snapshot.build(turns)
    assert whole.session_count == 12
    assert [whole.following[whole.row_of(turn.id)] != NOWHERE for turn in turns] == [True] * 11 + [False]
    whole.apply((), [turn.id for turn in turns[4:9]])
    assert whole.session_count == 7
    whole.apply((), ["03", "09", "10"])
    assert _conversations(whole) == [["00", "01", "02", "11"]]
    whole.apply(turns[3:5], ())
    assert whole.session_count == 6


def test_a_vector_of_another_length_is_refused() -> None:
    snapshot = Snapshot.build([SnapshotEntry("a", "x", vector=np.ones(3))])
    with pytest.raises(InvalidInput, match="'b' has 2 numbers"):
        snapshot.apply([SnapshotEntry("b", "y", vector=np.ones(2))], ())
    with pytest.raises(InvalidInput, match="finite"):
        snapshot.apply([SnapshotEntry("c", "y", vector=np.array([1.0, np.nan, 0.0]))], ())


def test_rounded_matrices_give_nearly_the_same_products():
    random = np.random.default_rng(3)
    matrices = [random.standard_normal((40, 12)).astype(np.float32) * scale for scale in (1.0, 0.01)]
    parts = [random.standard_normal((5, 40)).astype(np.float32), np.zeros((5, 40), np.float32)]
    parts[1][2, 7] = 1000.0
    exact = sum(part @ matrix for part, matrix in zip(parts, matrices, strict=True))
    assert np.abs(RoundedMatrices(matrices).products(parts) - exact).max() < 0.01 * np.abs(exact).max()

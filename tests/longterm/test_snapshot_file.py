"""A file of a snapshot: it ranks the same, and one that is damaged or of another version is not read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm import snapshot_file
from memwell.longterm.candidates import LARGE, ParsedQuery
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.snapshot_file import restored, saved
from tests.longterm.test_snapshot import vector_of


def written(snapshot: Snapshot) -> bytearray:
    return bytearray(b"".join(saved(snapshot)))


def again(snapshot: Snapshot) -> Snapshot:
    found = restored(written(snapshot))
    assert found is not None
    return found


def test_a_large_snapshot_ranks_the_same_by_its_saved_signs() -> None:
    vectors = np.random.default_rng(5).standard_normal((LARGE + 10, 128)).astype(np.float32)
    entries = [
        SnapshotEntry(f"r{number}", f"note {number % 997} about trains", vector=row, session=f"s{number // 9}")
        for number, row in enumerate(vectors)
    ]
    whole = Snapshot.build(entries)
    read = again(whole)
    question = ParsedQuery.of("Which note is about 17?", now=1.7e9, vector=vectors[17])
    more = [SnapshotEntry("new", "note 17 again", vector=vectors[17]), entries[3]._replace(vector=vectors[17])]
    for _ in range(2):
        mine, theirs = (rank(one, question) for one in (read, whole))
        assert [(hit.id, hit.score) for hit in mine] == [(hit.id, hit.score) for hit in theirs]
        for one in (read, whole):
            one.apply(more, ["r17"])


SNAPSHOT = Snapshot.build(
    [SnapshotEntry("a", "the train", speaker="Anna", vector=vector_of(1)), SnapshotEntry("b", "花园")]
)


@given(st.data())
def test_a_file_that_was_cut_off_is_not_read(data: st.DataObject) -> None:
    whole = written(SNAPSHOT)
    assert restored(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None
    assert restored(whole + b"\0") is None


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_damaged_header_is_not_read(place: int, bits: int) -> None:
    whole = written(SNAPSHOT)
    whole[place] ^= bits
    assert restored(whole) is None


@given(st.data(), st.integers(0, 7))
def test_a_flipped_bit_of_an_array_is_noticed(data: st.DataObject, bit: int) -> None:
    whole = written(SNAPSHOT)
    # Between the header and the arrays there may be bytes that nobody reads.
    place = data.draw(st.integers(len(whole) // 2, len(whole) - 1))
    whole[place] ^= 1 << bit
    assert restored(whole) is None


@pytest.mark.parametrize("name", ["FORMAT", "VERSION"])
def test_a_file_of_another_version_is_not_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written(SNAPSHOT)
    assert restored(whole) is not None
    monkeypatch.setattr(snapshot_file, name, "another")
    assert restored(whole) is None


def test_a_file_without_a_column_of_today_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "COLUMNS", Snapshot.COLUMNS[1:])
        older = written(SNAPSHOT)
    assert restored(older) is None

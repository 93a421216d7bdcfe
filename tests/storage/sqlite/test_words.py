"""Leaving common words out of the first pass changes no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Record, Space
from memwell.storage.memory import MemoryBackend
from memwell.storage.sqlite import SqliteBackend, words
from memwell.testing.conformance.congruence import EVERYTHING, assert_same_match

HOME = Space("home")
COMMON = ("the", "of", "的", "是")
RARE = ("harbour", "lantern", "北京", "东京", "quartz", "violin")
WORDS = (*COMMON, *RARE, *(f"w{n}" for n in range(40)))


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SqliteBackend, MemoryBackend]]:
    """A store in which a word is common soon, and the reference."""
    monkeypatch.setattr(words, "_COMMON_ABOVE", 20)
    monkeypatch.setattr(words, "_MOST_CANDIDATES", 60)
    chance = random.Random(3)
    stored = [
        Record(
            id=str(n),
            text=" ".join(chance.choices(WORDS, weights=[40] * 4 + [2] * 6 + [1] * 40, k=chance.randint(1, 30))),
            space=HOME,
            metadata={"even": n % 2 == 0},
        )
        for n in range(400)
    ]
    reference = MemoryBackend()
    reference.index.upsert(stored)
    with SqliteBackend(tmp_path / "store.db") as store:
        store.index.upsert(stored)
        yield store, reference


def test_common_words_are_left_out_without_a_trace(
    pair: tuple[SqliteBackend, MemoryBackend], monkeypatch: pytest.MonkeyPatch
):
    store, reference = pair
    pruned = 0
    plain = words.Words._pruned

    def counting(*args: object) -> object:
        nonlocal pruned
        found = plain(*args)  # type: ignore[arg-type]
        pruned += found is not None
        return found

    monkeypatch.setattr(words.Words, "_pruned", counting)

    @given(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
        st.integers(1, 30),
        st.none() | st.just({"even": True}),
    )
    def check(text: str, limit: int, where: dict[str, bool] | None) -> None:
        found = store.index.match(HOME, text, limit=limit, where=where)
        assert_same_match(found, reference.index.match(HOME, text, limit=EVERYTHING, where=where), limit)

    check()
    for limit in (1, 3, 10):
        for rare in RARE:
            check.hypothesis.inner_test(f"the of 的 {rare}", limit, None)
    assert pruned > 5


def test_the_most_common_words_are_left_out_where_their_rows_are_too_many(
    pair: tuple[SqliteBackend, MemoryBackend], monkeypatch: pytest.MonkeyPatch
):
    store, reference = pair
    monkeypatch.setattr(words, "MOST_POSTINGS", 100)
    rows = {word: len(reference.index.match(HOME, word, limit=EVERYTHING)) for word in ("the", "of", "quartz")}
    assert rows["quartz"] < 100 < rows["the"]
    expected = reference.index.match(HOME, "quartz", limit=EVERYTHING)
    assert_same_match(store.index.match(HOME, "the of quartz", limit=EVERYTHING), expected, EVERYTHING)
    # A text of common words alone still finds some.
    assert 10 < len(store.index.match(HOME, "the of", limit=EVERYTHING)) <= 100

"""Postings: after any changes they hold what was said of each row, and nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.segment import segment
from memwell.longterm.postings import MAX_COUNT, Cutter, Postings, unpacked

TEXTS = st.lists(st.sampled_from(["train", "Trains", "don't", "'", "garden", "火车", "7", "a"]), max_size=40).map(
    " ".join
)
CHANGES = st.lists(st.dictionaries(st.integers(0, 11), st.one_of(st.none(), TEXTS), min_size=1, max_size=8), max_size=6)


def told(postings: Postings, term: str) -> dict[int, int]:
    rows, counts = unpacked(postings[term])
    assert rows.tolist() == sorted(rows.tolist())
    return dict(zip(rows.tolist(), counts.tolist(), strict=True))


def change(postings: Postings, cutter: Cutter, kept: dict[int, Counter[str]], batch: dict[int, str | None]) -> None:
    for row in batch.keys() & kept.keys():
        postings.remove(row)
        del kept[row]
    new = {row: text for row, text in sorted(batch.items()) if text is not None}
    cut = cutter.cut((("day",), text) for text in new.values())
    postings.add(np.array(list(new), np.int32), cut)
    kept.update({row: Counter(["day", *segment(text)]) for row, text in new.items()})
    assert cut.lengths().tolist() == [kept[row].total() for row in new]


@given(CHANGES)
def test_after_any_changes_every_word_has_its_rows(changes: list[dict[int, str | None]]) -> None:
    postings, kept = Postings(), dict[int, Counter[str]]()
    cutter = Cutter(postings)
    for batch in changes:
        change(postings, cutter, kept, batch)
        wanted: dict[str, dict[int, int]] = {}
        for row, words in kept.items():
            for term, count in words.items():
                wanted.setdefault(term, {})[row] = min(count, MAX_COUNT)
        assert {term: told(postings, term) for term in wanted} == wanted
        assert not any(term in postings for term in {"train", "garden", "day", "火车", "7"} - wanted.keys())
        for term, rows in wanted.items():
            column = postings.column(term, 12)
            assert column is not None
            assert {row: int(count) for row, count in enumerate(column) if count} == rows
        assert all(len(postings.words_of(row)) == len(words) for row, words in kept.items())


def test_a_rare_word_has_no_column() -> None:
    postings = Postings()
    postings.add(np.arange(2, dtype=np.int32), Cutter(postings).cut([((), "one"), ((), "two two")]))
    assert postings.column("two", 17) is None
    column = postings.column("two", 16)
    assert column is not None
    assert column[:2].tolist() == [0, 2]


def test_a_text_without_words_is_a_row_without_words() -> None:
    postings = Postings()
    cut = Cutter(postings).cut([((), ""), ((), "' '")])
    postings.add(np.arange(2, dtype=np.int32), cut)
    assert cut.lengths().tolist() == [0, 0]
    assert postings.words_of(0) == postings.words_of(1) == set()

"""Postings: after any changes they hold what was said of each row, and nothing else."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.segment import ascii_words, segment
from memwell.longterm.postings import (
    MAX_COUNT,
    BatchSegmenter,
    Names,
    RowPostings,
    asks,
    below,
    kinds_of,
    tells,
    under,
    unpacked,
)

# Cues: found by words, they are what the patterns that describe them would find.


QUESTION = re.compile(r"[?？]|[吗呢么][。!！~\s]*\Z")
TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|weekends?|"
    r"(?:last|next|this|past|coming|every|previous|few|couple of) "
    r"(?:night|morning|afternoon|evening|days?|weeks?|weekend|months?|years?|summer|winter|spring|fall|autumn|"
    r"mon|tues|wednes|thurs|fri|satur|sun)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|since|"
    r"january|february|march|april|june|july|august|september|october|november|december|(?:19|20)\d\d)\b"
    r"|昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|once|twice|couple|dozen)\b"
    r"|[二三四五六七八九十两百千][个只次天年本名位条张件]",
    re.IGNORECASE,
)
PARTS = [
    *"last LAST week weeks night day today Today's todays yesterday 2023 19 20 mon monday couple few days since".split(),
    *"every this blast ſince ınit İ 20٢٣ ٣ ① ² two tWo dozen x é 昨天 今 今年 年 3 这个 月 前 两个 三 周 末 吗 呢".split(),
    *"。 ？ ? _ ' ’ . - ™ ! of".split(),
    *("couple of", "\u00ad", "\u00a0", "\n", "\t", "  ", "wee\u212a"),
]


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["", " ", "'"])), max_size=7))
def test_they_are_what_the_patterns_find(parts: list[tuple[str, str]]) -> None:
    text = "".join(part + between for part, between in parts)
    found = (asks(text), *tells(text, kinds_of(ascii_words(text)) if text.isascii() else 0))
    assert found == tuple(pattern.search(text) is not None for pattern in (QUESTION, TIME, NUMBER))


TEXTS = st.lists(st.sampled_from(["train", "Trains", "don't", "'", "garden", "火车", "7", "a"]), max_size=40).map(
    " ".join
)
CHANGES = st.lists(st.dictionaries(st.integers(0, 11), st.one_of(st.none(), TEXTS), min_size=1, max_size=8), max_size=6)


def told(postings: RowPostings, term: str) -> dict[int, int]:
    rows, counts = unpacked(postings[term])
    assert rows.tolist() == sorted(rows.tolist())
    every = np.arange(-1, 13, dtype=np.int32)
    assert postings.counts(term, rows).tolist() == counts.tolist()
    assert every[postings.counts(term, every) > 0].tolist() == rows.tolist()
    assert not postings.counts("nowhere", every).any()
    return dict(zip(rows.tolist(), counts.tolist(), strict=True))


def change(
    postings: RowPostings, segmenter: BatchSegmenter, kept: dict[int, Counter[str]], batch: dict[int, str | None]
) -> None:
    for row in batch.keys() & kept.keys():
        postings.remove(row)
        del kept[row]
    new = {row: text for row, text in sorted(batch.items()) if text is not None}
    cut = segmenter.cut((("day",), text) for text in new.values())
    postings.add(np.array(list(new), np.int32), cut)
    kept.update({row: Counter(["day", *segment(text)]) for row, text in new.items()})
    assert cut.lengths().tolist() == [kept[row].total() for row in new]


@given(CHANGES)
def test_after_any_changes_every_word_has_its_rows(changes: list[dict[int, str | None]]) -> None:
    postings, kept = RowPostings(), dict[int, Counter[str]]()
    segmenter = BatchSegmenter(postings)
    for batch in changes:
        change(postings, segmenter, kept, batch)
        wanted: dict[str, dict[int, int]] = {}
        for row, words in kept.items():
            for term, count in words.items():
                wanted.setdefault(term, {})[row] = min(count, MAX_COUNT)
        assert {term: told(postings, term) for term in wanted} == wanted
        assert not any(term in postings for term in {"train", "garden", "day", "火车", "7"} - wanted.keys())
        assert all(len(postings.words_of(row)) == len(words) for row, words in kept.items())


NAMES = st.one_of(st.sampled_from(["", "a", "b", "ab", "火车", "\ud800", "a\0b"]), st.text(max_size=3))
STEPS = st.lists(st.one_of(st.sets(NAMES, max_size=4), st.integers(0, 20), st.just("save")), max_size=20)


@given(STEPS)
def test_a_saved_table_that_is_changed_holds_what_a_dictionary_would(steps: list[set[str] | int | str]) -> None:
    names, held = Names(), dict[int, str]()
    for step in steps:
        if isinstance(step, set):
            fresh = [name for name in sorted(step) if not name or name not in held.values()]
            numbers = names.add_all(fresh)
            assert numbers == sorted(numbers)
            assert held.keys().isdisjoint(numbers)
            held.update(zip(numbers, fresh, strict=True))
        elif isinstance(step, int):
            if step in held:
                names.remove(step)
                del held[step]
        else:
            names = Names(below(under("table", names.arrays()), "table"))
        assert len(names) == len(held)
        assert all(number < names.limit and names[number] == name for number, name in held.items())
        assert all(names.get(name) == number for number, name in held.items() if name)
        asked = ("", "a", "b", "ab", "nobody", *held.values())
        assert names.known(asked) == [name for name in asked if name and name in held.values()]
        assert not any(name in names for name in asked if not name or name not in held.values())


def test_two_names_with_the_same_hash_are_told_apart() -> None:
    # Known to have the same CRC-32.
    names = Names()
    first, second = names.number("plumless"), names.number("buckeroo")
    saved = Names(names.arrays())
    assert (saved.get("plumless"), saved.get("buckeroo")) == (first, second)
    saved.remove(first)
    assert (saved.get("plumless"), saved.get("buckeroo")) == (None, second)

"""Word pieces: what the original tokenizer makes of these texts, and that nothing can stop it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.models.local.wordpiece import MOST_CHARACTERS, WordPieces

WORDS = WordPieces()
START, END, UNKNOWN = 101, 102, 100


# The ids were made by the tokenizer that the model was trained with.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" \t\n\u3000", []),
        ("Hello, world!", [7592, 1010, 2088, 999]),
        ("unaffable", [14477, 20961, 3468]),
        ("Café NAÏVE", [7668, 15743]),
        ("don't", [2123, 1005, 1056]),
        ("\x00a\u200db\x07", [11113]),
        ("x" * 101, [UNKNOWN]),
        ("我爱你", [1855, 100, 100]),
        ("😀 ok", [UNKNOWN, 7929]),
    ],
)
def test_pieces_are_those_of_the_original(text: str, ids: list[int]):
    assert WORDS.encode(text, 256) == [START, *ids, END]


@given(st.text(max_size=300), st.integers(3, 40))
def test_any_text_is_cut_and_fits(text: str, most: int):
    ids = WORDS.encode(text, most)
    assert (ids[0], ids[-1]) == (START, END)
    assert len(ids) <= most
    assert ids[:-1] == WORDS.encode(text, 2000)[: len(ids) - 1]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("x" * 10**6, 1), ("中" * 10**6, 254), ("\u0301" * 10**6, 0), ("a b " * 10**5, 254), ("e\u0301" * 10**5, 1)],
)
def test_a_huge_text_is_cut_like_any_other(text: str, pieces: int):
    assert len(WORDS.encode(text, 256)) == pieces + 2


def test_what_comes_too_late_is_not_looked_at():
    assert WORDS.encode(" " * MOST_CHARACTERS + "hello", 256) == [START, END]
    assert WORDS.encode(" " * (MOST_CHARACTERS - 5) + "hello", 256) == [START, 7592, END]

"""MiniLM on our own graph: the same directions as the original."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.models.local.minilm import DIMENSIONS, MiniLM, WordPieces

# Word pieces: what the original tokenizer makes of these texts, and that nothing can stop it.


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


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Where does Anna work?", "Anna is a nurse at the city hospital.", "The train was late again."),
        ("favourite food", "I could eat sushi every day.", "My sister moved to Oslo."),
        ("How old is the dog?", "Rex turned seven in May.", "We painted the kitchen blue."),
    ],
)
def test_what_belongs_together_is_near(model: MiniLM, query: str, near: str, far: str):
    asked, first, second = (model.embed(text) for text in (query, near, far))
    assert asked @ first > asked @ second + 0.1


@pytest.mark.parametrize("text", ["", "a", "x" * 10**5, "word " * 5000, "中文", "\ud800", "\x00"])
def test_any_text_has_a_direction(model: MiniLM, text: str):
    vector = model.embed(text)
    assert vector.shape == (DIMENSIONS,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)

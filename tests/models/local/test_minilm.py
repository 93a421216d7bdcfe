"""MiniLM on our own graph: the same directions as the original."""

from __future__ import annotations

import numpy as np
import pytest

from memwell.models.local.minilm import DIMENSIONS, MiniLM


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


def test_only_the_first_pieces_count(model: MiniLM):
    assert np.array_equal(model.embed("word " * 254), model.embed("word " * 254 + "other"))
    assert not np.array_equal(model.embed("word " * 253), model.embed("word " * 253 + "other"))

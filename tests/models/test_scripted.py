"""The models for tests: predictable, and they remember what they were asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import ModelError
from memwell.messages import human
from memwell.models.scripted import HashEmbedder, ScriptedChat, ScriptedReranker


def test_answers_come_in_order_and_questions_are_kept():
    chat = ScriptedChat(["one", ModelError("down"), "three"])
    assert chat.complete([human("a")], max_tokens=3).text == "one"
    with pytest.raises(ModelError, match="down"):
        chat.complete([human("b")])
    assert chat.complete([human("c")]).text == "three"
    assert [asked[0].text for asked in chat.asked] == ["a", "b", "c"]
    assert chat.options[0] == {"max_tokens": 3}
    with pytest.raises(ModelError, match="no answer left for call 4"):
        chat.complete([human("d")])


@given(st.lists(st.text(), max_size=4))
def test_hashed_vectors_are_stable_and_of_unit_length(texts: list[str]):
    rows = HashEmbedder(32).embed(texts)
    assert np.array_equal(rows, HashEmbedder(32).embed(texts))
    lengths = np.linalg.norm(rows, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_texts_that_share_words_are_near():
    cat, kitten, tax = HashEmbedder().embed(["the black cat sleeps", "a black cat eats", "income tax is due"])
    assert cat @ kitten > 0.3 > abs(cat @ tax)
    train, ticket, moon = HashEmbedder().embed(["我喜欢坐火车", "火车票在哪里", "月亮很圆"])
    assert train @ ticket > abs(train @ moon)


def test_a_reranker_scores_by_function_or_by_words():
    assert ScriptedReranker(lambda query, text: len(text)).scores("q", ["ab", "c"]) == [2.0, 1.0]
    plain = ScriptedReranker()
    assert plain.scores("red car", ["a red bike", "red cars", ""]) == [0.5, 1.0, 0.0]
    assert plain.asked == [("red car", ["a red bike", "red cars", ""])]

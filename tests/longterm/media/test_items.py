from __future__ import annotations

from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm.media.items import MediaWords, apart, check_features, check_sentiment, composed
from memwell.testing.strategies import texts

WORDS = st.builds(MediaWords, texts(), st.lists(texts().filter(bool), max_size=4).map(tuple), texts())


@given(WORDS)
def test_words_come_apart_as_they_went_in(words: MediaWords):
    text, wording = composed(words)
    assert apart(text, wording) == words
    assert all(one in text for one in (words.description, *words.features, words.transcript))


@given(WORDS, texts().filter(bool))
def test_a_text_that_was_changed_is_all_description(words: MediaWords, more: str):
    text, wording = composed(words)
    assert apart(text + more, wording) == (MediaWords(text + more) if text else MediaWords())


def test_features_are_words_or_a_vector():
    assert check_features(None) == check_features([]) == ((), None)
    assert check_features([" tree ", "SVM", "tree", " "]) == (("tree", "SVM"), None)
    words, vector = check_features(np.array([3.0, 4.0], np.float32))  # pyright: ignore[reportArgumentType]
    assert words == ()
    assert vector == array("f", [0.6, 0.8])
    assert check_features([1, 0])[1] == array("f", [1.0, 0.0])


def test_a_sentiment_is_read_off_the_transcript():
    glad, sad = check_sentiment(None, "太好了，我很开心！"), check_sentiment(None, "This is terrible and sad.")
    assert isinstance(glad, float)
    assert isinstance(sad, float)
    assert glad > 0 > sad
    assert check_sentiment(None, "The train leaves at nine.") == 0.0
    assert check_sentiment(None, " ") is None

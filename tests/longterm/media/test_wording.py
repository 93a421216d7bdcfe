from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm.media.wording import Wording, Words, apart, composed
from memwell.testing.strategies import texts

WORDS = st.builds(Words, texts(), st.lists(texts().filter(bool), max_size=4).map(tuple), texts())


@given(WORDS)
def test_words_come_apart_as_they_went_in(words: Words):
    text, wording = composed(words)
    assert apart(text, wording) == words
    assert all(one in text for one in (words.description, *words.features, words.transcript))


@given(WORDS, texts().filter(bool))
def test_a_text_that_was_changed_is_all_description(words: Words, more: str):
    text, wording = composed(words)
    assert apart(text + more, wording) == (Words(text + more) if text else Words())


def test_each_has_a_line_of_its_own():
    assert composed(Words("a chart", ("tree", "SVM"), "hello"))[0] == "a chart\ntree, SVM\nhello"
    assert composed(Words("", ("决策树", "SVM"), ""))[0] == "决策树、SVM"
    assert composed(Words()) == ("", Wording())

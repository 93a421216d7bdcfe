"""Words that are passwords where nothing but the word before them says so, and words that are not."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.passwords import is_placeholder, looks_chosen, looks_random, unlike_a_word


@pytest.mark.parametrize(
    "word", ["hunter2", "Pa$$w0rd", "Abc12345", "Tr0ub4dor&3", "Summer2024", "12345678", "correct-horse9"]
)
def test_what_mixes_letters_and_digits_is_chosen(word: str):
    assert looks_chosen(word, last=False)


@pytest.mark.parametrize(
    "word",
    [
        "manager",
        "yesterday",
        "SHA256",
        "OAuth2.0",
        "UTF-8",
        "2FA",
        "VARCHAR(255",
        "a1@example.com",
        "/home/ann1",
        "index2.html",
    ],
)
def test_what_is_written_is_not_chosen(word: str):
    assert not looks_chosen(word, last=True)


def test_a_short_number_counts_only_where_the_thought_ends():
    assert looks_chosen("4821", last=True)
    assert not looks_chosen("4821", last=False)


def test_more_is_asked_where_something_else_may_be_meant():
    assert looks_chosen("server22", last=False)
    assert not looks_chosen("server22", last=False, named=False)
    assert looks_chosen("Server22", last=False, named=False)


@given(st.text(string.ascii_letters + "-'.", min_size=1, max_size=30))
def test_words_and_names_are_never_chosen(word: str):
    assert not looks_chosen(word, last=True)
    assert unlike_a_word(word + "1")


@pytest.mark.parametrize("word", ["<password>", "$TOKEN", "********", "your_password", "os.environ", "None,"])
def test_what_stands_for_a_value_is_a_placeholder(word: str):
    assert is_placeholder(word)
    assert not is_placeholder(word.strip("<>$*,")[::-1] + "7q")


def test_a_token_is_long_and_mixed_and_a_hash_may_be_the_key_of_a_row():
    assert looks_random("Zm9vYmFyMTIzNDU2Nzg5MA", rows_have_it=True)
    assert not looks_random("a-very-long-hyphenated-word", rows_have_it=False)
    assert not looks_random("1111111111111111a", rows_have_it=False)
    assert looks_random("a8f5f167f44f4964e6c998dee827110c", rows_have_it=False)
    assert not looks_random("a8f5f167f44f4964e6c998dee827110c", rows_have_it=True)

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.stem import stem

SAME = [
    "run runs running",
    "memory memories",
    "hop hops hopped hopping",
    "hope hopes hoped hoping",
    "agree agrees agreed agreeing",
    "relate related relating relational",
    "connect connected connecting connection connections connective",
    "general generally generalize generalization",
    "happy happiness",
    "apple apples",
    "snow snows snowed snowing",
    "fix fixed fixing",
    "possible possibly possibility",
]

# The paper's own examples, step by step.
STEMS = {
    "caresses": "caress",
    "ponies": "poni",
    "caress": "caress",
    "cats": "cat",
    "feed": "feed",
    "agreed": "agre",
    "plastered": "plaster",
    "bled": "bled",
    "motoring": "motor",
    "sing": "sing",
    "conflated": "conflat",
    "troubled": "troubl",
    "sized": "size",
    "falling": "fall",
    "hissing": "hiss",
    "fizzed": "fizz",
    "failing": "fail",
    "filing": "file",
    "happy": "happi",
    "sky": "sky",
    "relational": "relat",
    "conditional": "condit",
    "vietnamization": "vietnam",
    "decisiveness": "decis",
    "triplicate": "triplic",
    "formative": "form",
    "electrical": "electr",
    "goodness": "good",
    "revival": "reviv",
    "allowance": "allow",
    "replacement": "replac",
    "adoption": "adopt",
    "companion": "companion",
    "rate": "rate",
    "cease": "ceas",
    "controll": "control",
    "roll": "roll",
    "archaeology": "archaeolog",
    "generalizations": "gener",
    "oscillators": "oscil",
}


@pytest.mark.parametrize("forms", SAME)
def test_the_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_the_published_examples() -> None:
    assert {word: stem(word) for word in STEMS} == STEMS


@pytest.mark.parametrize("pair", ["hop hope", "rat rate", "wand wander", "king kin", "ring rung"])
def test_different_words_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(string.ascii_lowercase))
def test_a_stem_is_never_longer_and_never_empty(word: str) -> None:
    stemmed = stem(word)
    assert len(stemmed) <= len(word)
    assert bool(stemmed) == bool(word)
    assert stemmed == word or len(word) > 2

from __future__ import annotations

import sys

import pytest

from memwell._package import load_lazily


def test_a_name_is_loaded_when_it_is_asked_for():
    load, names = load_lazily({"__name__": "json", "known": 1}, {"JSONDecodeError": ".decoder", "sqrt": "math"})
    assert load("JSONDecodeError") is sys.modules["json.decoder"].JSONDecodeError
    assert load("sqrt")(9) == 3
    assert names() == ["JSONDecodeError", "__name__", "known", "sqrt"]


def test_another_name_is_an_error_that_names_it_and_the_package():
    load, _ = load_lazily({"__name__": "json"}, {})
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'nothing'"):
        load("nothing")

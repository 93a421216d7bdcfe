"""What is no text is refused by the readers that users call, with its name and the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.language.dates import time_expressions
from memwell.language.keywords import keywords
from memwell.language.segment import query_terms, segment
from memwell.language.sentiment import sentiment
from memwell.language.words import check_string

READERS: list[Callable[[Any], object]] = [check_string, keywords, query_terms, segment, sentiment]
BAD = [7, None, 1.5, b"text", [], ["text"], object()]


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_text_is_refused(bad: Any):
    for read in READERS:
        with pytest.raises(InvalidInput, match="must be a string, not"):
            read(bad)


def test_any_string_is_a_text():
    assert check_string("\x00\ud800") == "\x00\ud800"
    assert check_string("") == ""


@pytest.mark.parametrize("bad", [None, 1.5, b"text", "2"])
def test_the_other_arguments_have_their_rules_too(bad: Any):
    for call in (lambda: keywords("hello there", limit=bad), lambda: time_expressions("today", now=bad)):
        with pytest.raises(InvalidInput, match="must be"):
            call()

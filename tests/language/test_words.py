"""What is no text is refused by every reader, with its name and the rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.language.dates import shown_date, time_expressions
from memwell.language.detect import han_share, language_of
from memwell.language.entities import entities
from memwell.language.keywords import keywords
from memwell.language.secrets import findings, redacted, shifted
from memwell.language.segment import query_terms, segment, stem
from memwell.language.sentences import sentences
from memwell.language.sentiment import sentiment
from memwell.language.words import check_string

NOW = datetime(2024, 3, 3, tzinfo=UTC)
READERS: list[Callable[[Any], object]] = [
    check_string,
    han_share,
    language_of,
    entities,
    keywords,
    findings,
    lambda text: redacted(text, []),
    query_terms,
    segment,
    sentences,
    sentiment,
    stem,
    lambda text: time_expressions(text, now=NOW),
]
BAD = [7, None, 1.5, b"text", [], ["text"], object()]


def unless(kinds: Any, bad: object, instead: object) -> Any:
    """A bad value, or another one where the value is of a kind that would be good."""
    return instead if isinstance(bad, kinds) else bad


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_text_is_refused(bad: Any):
    for read in READERS:
        with pytest.raises(InvalidInput, match="must be a string, not"):
            read(bad)


def test_any_string_is_a_text():
    assert check_string("\x00\ud800") == "\x00\ud800"
    assert check_string("") == ""


@pytest.mark.parametrize("bad", BAD)
def test_the_other_arguments_have_their_rules_too(bad: Any):
    no_number = unless(int, bad, "2")
    no_row = unless(list, bad, 7)
    calls: list[Callable[[], object]] = [
        lambda: keywords("hello there", limit=no_number),
        lambda: entities("Ann is here", known=[bad]),
        lambda: entities("Ann is here", known=no_row),
        lambda: redacted("hello", [bad]),
        lambda: redacted("hello", no_row),
        lambda: shifted(no_number, []),
        lambda: shifted(2, [bad]),
        lambda: time_expressions("today", now=bad),
        lambda: shown_date(bad, "en"),
        lambda: shown_date(NOW, bad),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="must be"):
            call()


def test_one_name_is_not_a_list_of_names():
    with pytest.raises(InvalidInput, match="known must be a list of names, not 'Ann'"):
        entities("Ann is here", known="Ann")

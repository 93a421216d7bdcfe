"""The words of the drawings and the page."""

from __future__ import annotations

import string
from typing import Any

import pytest

from memwell.compat.dbgpt.gpts.phrases import phrases_in
from memwell.compat.dbgpt.gpts.values import Status
from memwell.errors import InvalidInput


def test_both_languages_say_the_same_things() -> None:
    english, chinese = phrases_in("en"), phrases_in("zh")
    assert set(english.states) == set(chinese.states) == set(Status)
    for name in english._fields:
        mine, theirs = getattr(english, name), getattr(chinese, name)
        assert mine
        assert theirs
        if isinstance(mine, str):
            assert _gaps(mine) == _gaps(theirs), name


def _gaps(text: str) -> int:
    return sum(field is not None for _, field, _, _ in string.Formatter().parse(text))


def test_a_language_may_name_its_country() -> None:
    assert phrases_in("zh-CN") is phrases_in("ZH_hans") is phrases_in("zh")
    assert phrases_in("en-GB") is phrases_in("en")


@pytest.mark.parametrize("language", ["fr", "", "english", None, 3])
def test_another_language_is_refused(language: Any) -> None:
    with pytest.raises(InvalidInput, match="'en' or 'zh'"):
        phrases_in(language)

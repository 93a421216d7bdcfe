from __future__ import annotations

from typing import Any

import pytest

from memwell.errors import InvalidInput, ModelError
from memwell.history import History
from memwell.messages import Message, ai, human, system
from memwell.strategies import Combined, LastRounds, Strategy, Summary


class Broken(Strategy):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def observe(self) -> None:
        raise self.error

    def recall(self, query: str | None = None) -> list[Message]:
        raise self.error

    def clear(self) -> None:
        raise self.error


def test_each_message_is_recalled_once(history: History, numbering: Any, driven: Any):
    history.add(system("Be kind."), human("one"), ai("1"), human("two"), ai("2"))
    both = driven(Combined(Summary(history, numbering()), LastRounds(history, 1), LastRounds(history, 2)))
    both.observe()
    assert [one.index for one in both.recall()] == [0, None, 3, 4, 1, 2]
    assert both.failures == []


def test_one_that_fails_does_not_stop_the_others(history: History, numbering: Any, driven: Any):
    history.add(human("one"), ai("1"))
    summary = Summary(history, numbering())
    first, second = Broken(ModelError("down")), Broken(RuntimeError("a bug"))
    several = driven(Combined(first, summary, second))
    with pytest.raises(ModelError, match="down") as raised:
        several.observe()
    assert raised.value.__notes__ == ["Broken failed too: RuntimeError: a bug"]
    assert several.failures == [(first, first.error), (second, second.error)]
    assert summary.summary == "0 1"
    assert several.recall() == summary.recall()
    assert several.failures == [(first, first.error), (second, second.error)]
    with pytest.raises(ModelError):
        several.clear()
    assert summary.summary == ""


def test_a_recall_of_which_all_failed_fails():
    with pytest.raises(ModelError, match="down"):
        Combined(Broken(ModelError("down"))).recall()


def test_none_recall_nothing():
    nothing = Combined()
    nothing.observe()
    nothing.clear()
    assert nothing.recall("tea") == []


def test_they_are_strategies(history: History):
    with pytest.raises(InvalidInput, match="expected a strategy"):
        Combined(LastRounds(history), history)  # pyright: ignore[reportArgumentType]

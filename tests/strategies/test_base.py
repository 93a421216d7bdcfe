from __future__ import annotations

from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.history import History
from memwell.messages import Message, ai, human
from memwell.strategies import Buffer, LastRounds, ReadOnly, Strategy, Summary, Wrapper


class Shouting(Wrapper):
    def recall(self, query: str | None = None) -> list[Message]:
        return [one.changed(content=one.text.upper()) for one in super().recall(query)]


def test_a_wrapper_adds_one_behaviour(history: History, driven: Any):
    history.add(human("tea"), ai("milk"))
    wrapped = driven(Shouting(LastRounds(history)))
    wrapped.observe()
    wrapped.clear()
    assert [one.text for one in wrapped.recall()] == ["TEA", "MILK"]


def test_a_wrapper_passes_on_what_it_does_not_override(history: History, numbering: Any, driven: Any):
    inner = Summary(history, numbering())
    wrapped = driven(Wrapper(inner))
    history.add(human("tea"), ai("milk"))
    wrapped.observe()
    assert inner.summary == "0 1"
    assert wrapped.recall() == inner.recall()
    wrapped.clear()
    assert inner.summary == ""


def test_a_read_only_strategy_takes_nothing_in_and_forgets_nothing(history: History, numbering: Any, driven: Any):
    inner = Summary(history, numbering())
    shared = driven(ReadOnly(inner))
    history.add(human("tea"))
    shared.observe()
    assert inner.summary == ""
    inner.observe()
    shared.clear()
    assert inner.summary == "0"
    assert shared.recall() == inner.recall()


@pytest.mark.parametrize("inner", [None, "summary", Buffer])
def test_what_is_wrapped_is_a_strategy(inner: Any):
    with pytest.raises(InvalidInput, match="expected a strategy"):
        ReadOnly(inner)


def test_a_strategy_has_its_verbs():
    assert Strategy.__abstractmethods__ == {"observe", "recall", "clear"}

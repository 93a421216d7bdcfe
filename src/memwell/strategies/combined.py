"""Several strategies as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from memwell.messages import Message
from memwell.strategies.base import Strategy, checked_strategy

Failure: TypeAlias = tuple[Strategy, Exception]
"""A strategy and what it raised."""


class Combined(Strategy):
    """Several strategies: each takes in, and what they recall is put together in their order, a message only once.

    One that fails does not stop the others. ``failures`` has what failed in the last call. ``recall`` gives what the others
    found; it raises only when all failed. ``observe`` and ``clear`` raise the first failure once all were called, the
    others in its notes.
    """

    def __init__(self, *strategies: Strategy) -> None:
        self.strategies = tuple(checked_strategy(one) for one in strategies)
        self.failures: list[Failure] = []

    def observe(self) -> None:
        self._each(Strategy.observe)

    def clear(self) -> None:
        self._each(Strategy.clear)

    def _each(self, verb: Callable[[Strategy], None]) -> None:
        failures: list[Failure] = []
        for strategy in self.strategies:
            try:
                getattr(strategy, verb.__name__)()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one, the others' work must go on
                failures.append((strategy, error))
        self.failures = failures
        _raise_first(failures)

    def recall(self, query: str | None = None) -> list[Message]:
        found: dict[str, Message] = {}
        failures: list[Failure] = []
        for strategy in self.strategies:
            try:
                recalled = strategy.recall(query)
            except Exception as error:  # noqa: BLE001 - a prompt with less in it is better than none
                failures.append((strategy, error))
                continue
            for message in recalled:
                found.setdefault(message.id, message)
        self.failures = failures
        if self.strategies and len(failures) == len(self.strategies):
            _raise_first(failures)
        return list(found.values())


def _raise_first(failures: list[Failure]) -> None:
    if not failures:
        return
    (_, first), *others = failures
    for strategy, error in others:
        first.add_note(f"{type(strategy).__name__} failed too: {type(error).__name__}: {error}")
    raise first


__all__ = ["Combined", "Failure"]

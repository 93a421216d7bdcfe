"""Strategies that return the conversation itself: all of it, its last rounds, or as much of its end as fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from memwell.history import HistoryReader
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy, note
from memwell.strategies.state import AT_ONCE
from memwell.values import check_count, check_type


class _Window(Strategy):
    """A strategy without state."""

    def __init__(self, history: HistoryReader, *, system: bool) -> None:
        self.history = checked_history(history)
        self.system = system

    def observe(self) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


class Buffer(_Window):
    """The whole conversation. Its cost grows with the conversation.

    Messages that are not for a model, a leading answer and incomplete tool calls are left out. With ``system`` the
    instructions before the first round come first.
    """

    def __init__(self, history: HistoryReader, *, system: bool = True) -> None:
        super().__init__(history, system=system)

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(system=self.system)


class LastRounds(_Window):
    """The last rounds, whole; nothing with 0. Raises ``InvalidInput`` for a number below 0.

    With ``system`` the instructions before the first round come first.
    """

    def __init__(self, history: HistoryReader, rounds: int = 5, *, system: bool = True) -> None:
        super().__init__(history, system=system)
        self.rounds = check_count(rounds, "rounds")

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []


class TokenWindow(_Window):
    """As many of the last rounds as fit ``tokens``, whole, by the history's counter; nothing with 0.

    Of a last round that alone is too large, its first message and as many of its last messages as fit are kept. With
    ``system`` the instructions before the first round come first and count; when these alone exceed the limit, ``recall``
    raises ``InvalidInput``.
    """

    def __init__(self, history: HistoryReader, tokens: int = 2000, *, system: bool = True) -> None:
        super().__init__(history, system=system)
        self.tokens = check_count(tokens, "tokens")

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(tokens=self.tokens, system=self.system) if self.tokens else []


def checked_history(value: object) -> HistoryReader:
    """Return ``value`` if it is a conversation. Raises ``InvalidInput``."""
    return check_type(value, HistoryReader, "a strategy needs a History")


# Long-term memory as a strategy.


@runtime_checkable
class Recaller(Protocol):
    """Finds texts for a query; ``memwell.longterm.Memory`` is one."""

    def recall(self, query: str, *, limit: int) -> Sequence[Any]:
        """At most ``limit`` hits, best first, each with a ``text``."""
        ...


class Recalled(Strategy):
    """One system message with what a memory recalls for the query, marked as data and not as instructions.

    The default query is the last message of a person in ``history``. Without a query or a hit it recalls nothing. It
    stores nothing in the memory.
    """

    def __init__(self, recaller: Recaller, history: HistoryReader | None = None, limit: int = 5) -> None:
        self.recaller = check_type(recaller, Recaller, "a recaller must have a method recall(query, *, limit)")
        self.history = None if history is None else checked_history(history)
        self.limit = check_count(limit, "limit")

    def observe(self) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""

    def recall(self, query: str | None = None) -> list[Message]:
        wanted = self._last_said() if query is None else query
        if not wanted.strip() or not self.limit:
            return []
        texts = [str(hit.text) for hit in self.recaller.recall(wanted, limit=self.limit)][: self.limit]
        found = note("recalled", texts, language_like=wanted)
        return [] if found is None else [found]

    def _last_said(self) -> str:
        latest = [] if self.history is None else self.history.last(AT_ONCE)
        said = (one.text for one in reversed(latest) if one.role is Role.HUMAN and one.for_model)
        return next(said, "")

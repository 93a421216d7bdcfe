"""What long-term memory knows, as a strategy: whatever can recall texts for a query is asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from memwell.errors import InvalidInput
from memwell.history import HistoryReader
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy
from memwell.strategies.notes import note
from memwell.strategies.state import AT_ONCE
from memwell.strategies.windows import checked_history
from memwell.values import check_count, shown


@runtime_checkable
class Recaller(Protocol):
    """Finds what is known for a query; ``memwell.longterm.Memory`` is one."""

    def recall(self, query: str, *, limit: int) -> Sequence[Any]:
        """At most ``limit`` hits, best first, each with a ``text``."""
        ...


class Recalled(Strategy):
    """One system message with what a memory recalls for the query, marked as data and not as instructions.

    Without a query it is what the last person in ``history`` said that is looked for; without either, and when nothing is
    found, nothing is recalled. It takes nothing in: what is to be remembered is told to the memory.
    """

    def __init__(self, recaller: Recaller, history: HistoryReader | None = None, limit: int = 5) -> None:
        if not isinstance(recaller, Recaller):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a recaller must have a method recall(query, *, limit), not {shown(recaller)}")
        self.recaller = recaller
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


__all__ = ["Recalled", "Recaller"]

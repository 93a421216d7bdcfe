"""Strategies that show the conversation itself: all of it, its last rounds, or as much of its end as fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from memwell.errors import InvalidInput
from memwell.history import HistoryReader
from memwell.messages import Message, Role
from memwell.strategies.base import Strategy, note
from memwell.strategies.state import AT_ONCE, State, is_preamble, next_index, until_settled
from memwell.values import check_count, shown

Leaving: TypeAlias = Callable[[Sequence[Message]], None]
"""What is called with the messages that leave a window, in order."""


class _Window(Strategy):
    """A strategy that makes nothing of the conversation, so has nothing to take in and nothing to forget."""

    def __init__(self, history: HistoryReader, *, system: bool) -> None:
        self.history = checked_history(history)
        self.system = system

    def observe(self) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


class Buffer(_Window):
    """The whole conversation. Its cost grows with the conversation, as its prompt does.

    What is not for a model is left out, and so are an answer to nothing at the front and halves of tool calls. With
    ``system`` the instructions from before the first round come first.
    """

    def __init__(self, history: HistoryReader, *, system: bool = True) -> None:
        super().__init__(history, system=system)

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(system=self.system)


class LastRounds(_Window):
    """The last rounds, whole; with 0 nothing at all. Raises ``InvalidInput`` for a number below 0.

    With ``system`` the instructions from before the first round come first.
    """

    def __init__(self, history: HistoryReader, rounds: int = 5, *, system: bool = True) -> None:
        super().__init__(history, system=system)
        self.rounds = check_count(rounds, "rounds")

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(rounds=self.rounds, system=self.system) if self.rounds else []


class TokenWindow(_Window):
    """As many of the last rounds as fit ``tokens``, whole, counted by the history's counter; with 0 nothing at all.

    Of a last round that alone is too large, its opening and as many of its last steps as fit are kept. With ``system`` the
    instructions from before the first round come first and count; when those alone are over the limit, ``recall`` raises
    ``InvalidInput``. Each of ``leaving`` is called by ``observe`` with the messages that have left the window since, before
    that is noted: when one raises, nothing is noted and they are handed over again, to all. So each message is handed over
    at least once, and exactly once as long as nothing fails and nobody else observes at the same moment.
    """

    def __init__(
        self,
        history: HistoryReader,
        tokens: int = 2000,
        *,
        leaving: Iterable[Leaving] = (),
        system: bool = True,
        name: str = "window",
    ) -> None:
        super().__init__(history, system=system)
        self.tokens = check_count(tokens, "tokens")
        self._leaving = checked_leaving(leaving)
        self._state = State(history, name)

    def recall(self, query: str | None = None) -> list[Message]:
        return self.history.window(tokens=self.tokens, system=self.system) if self.tokens else []

    def observe(self) -> None:
        """Hand over the messages that left the window. Without anything to hand them to it does nothing."""
        if self._leaving:
            until_settled(self._step)

    def _step(self) -> bool:
        held = self._state.read()
        shown_ = [one for one in self.recall() if not is_preamble(one)]
        messages = self._state.unread(held, shown_[0].index if shown_ else None)
        if not messages:
            return False
        hand_over(self._leaving, messages)
        self._state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields={})
        return len(messages) == AT_ONCE

    def clear(self) -> None:
        """Hand over nothing that is in the conversation by now."""
        self._state.clear()


def checked_history(value: object) -> HistoryReader:
    """Return ``value`` when it is a conversation; raises ``InvalidInput`` otherwise."""
    if not isinstance(value, HistoryReader):
        raise InvalidInput(f"a strategy needs a History, not {shown(value)}")
    return value


def checked_leaving(hooks: Iterable[Leaving]) -> tuple[Leaving, ...]:
    """The hooks as a tuple; raises ``InvalidInput`` for one that cannot be called."""
    found = tuple(hooks)
    for hook in found:
        if not callable(hook):
            raise InvalidInput(f"'leaving' holds functions of messages, not {shown(hook)}")
    return found


def hand_over(hooks: Iterable[Leaving], messages: Sequence[Message]) -> None:
    """Give those messages that a window can show to all hooks."""
    left = [one for one in messages if one.for_model and not is_preamble(one)]
    if left:
        for hook in hooks:
            hook(list(left))


# What long-term memory knows, as a strategy: whatever can recall texts for a query is asked for them.


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

"""What the memories kept in the process have in common: an ordered buffer, changed as a whole or not at all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from memwell._asyncify import blocking
from memwell.compat.dbgpt.fragments import DiscardedMemoryFragments, MemoryFragment
from memwell.compat.dbgpt.memory import Memory
from memwell.compat.dbgpt.ranking import Question, coefficients
from memwell.compat.dbgpt.times import check_moment
from memwell.compat.dbgpt.turns import Turns
from memwell.compat.dbgpt.undo import all_or_nothing, undone_by
from memwell.values import check_count
from memwell.values import now as present_moment

T = TypeVar("T", bound=MemoryFragment)


class Held(NamedTuple, Generic[T]):
    """A fragment in a buffer, and when it was written."""

    fragment: T
    written: datetime


class Change(NamedTuple, Generic[T]):
    """What a write did to a buffer: enough to undo it."""

    left: Sequence[Held[T]]
    came: Sequence[T]
    replaced: Sequence[Held[T]]
    """What stood where a fragment of the same id stands now."""
    order: Sequence[int] = ()
    """The ids before, where more than the front of the buffer may have changed."""


class BufferedMemory(Memory[T]):
    """Fragments in the order they were written, each id once. Raises ``InvalidInput`` for a size below 0.

    Writers take turns, so that what one decides while it waits for a scorer is still true when it acts. The lock is held
    for the change itself alone.
    """

    def __init__(self, buffer_size: int) -> None:
        self._buffer_size = check_count(buffer_size, "buffer_size")
        self._buffer: OrderedDict[int, Held[T]] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = Turns()
        self._working: list[T] | None = None
        self._told_time: datetime | None = None

    def __len__(self) -> int:
        return len(self._buffer)

    def __bool__(self) -> bool:
        # An empty memory is a memory: `memory or default` must not throw it away.
        return True

    @property
    def _fragments(self) -> list[T]:
        # A hook of a subclass that is called during a write sees, and may change, what that write is working on.
        return self._held_fragments() if self._working is None else self._working

    @_fragments.setter
    def _fragments(self, fragments: Iterable[T]) -> None:
        if self._working is None:
            self._commit(self._held_fragments(), list(fragments))
        else:
            self._working = list(fragments)

    def _held(self) -> list[Held[T]]:
        with self._lock:
            return list(self._buffer.values())

    def _held_fragments(self) -> list[T]:
        return [held.fragment for held in self._held()]

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """All fragments, oldest first; with any of the coefficients given, best first. A read changes nothing.

        Recency counts since a fragment was last used, or else written; relevance is by vectors where there are any, and by
        words otherwise. Raises ``InvalidInput`` for a coefficient that is no finite number.
        """
        weights = coefficients(alpha, beta, gamma)
        if weights is None:
            return self._held_fragments()
        question = Question(observation, await self._vector_of(observation))
        present = self._told_time or present_moment()

        def worth(held: Held[T]) -> float:
            return question.score(held.fragment, held.fragment.last_accessed_time or held.written, present, weights)

        return [held.fragment for held in sorted(self._held(), key=worth, reverse=True)]

    async def _vector_of(self, text: str) -> list[float] | None:
        """The vector of a question, for a memory that can make one."""
        return None

    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it, oldest first."""
        return await self.take_out(lambda _: True)

    async def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Take out the fragments that are wanted, and return them, oldest first."""
        async with self._turns.taken():
            before = self._fragments
            out = [one for one in before if wanted(one)]
            taken = {one.id for one in out}
            self._fragments = [one for one in before if one.id not in taken]
            return out

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none and with nobody in between, and return all that had to go for them, or None."""
        async with self._turns.taken():
            return await super().write_batch(memory_fragments, now)

    read_sync = blocking(read)
    write_batch_sync = blocking(write_batch)
    clear_sync = blocking(clear)

    def _time_of_writing(self, now: datetime | None) -> datetime:
        # Who tells the time when writing has a clock of his own; then reads go by it too.
        self._told_time = None if now is None else check_moment(now, "now")
        return self._told_time or present_moment()

    @asynccontextmanager
    async def _rewriting(self, now: datetime | None) -> AsyncGenerator[None]:
        """A turn in which the hooks work on a list; what is in it at the end is what is kept. If it fails, nothing is."""
        async with self._turns.taken():
            before = self._held_fragments()
            outer, self._working = self._working, list(before)
            try:
                with all_or_nothing():
                    yield
                    self._commit(before, self._working, now)
            finally:
                self._working = outer
                self._let_go()

    def _let_go(self) -> None:
        """What a subclass does when a turn ends, well or badly."""

    def _commit(self, before: Sequence[T], after: Sequence[T], now: datetime | None = None) -> None:
        written = self._time_of_writing(now)
        with self._lock:
            old = self._buffer
            known = {one.id for one in before}
            # Put back by somebody in the meantime, or taken out: that stays so.
            kept = OrderedDict((key, held) for key, held in old.items() if key not in known)
            wanted = {one.id: one for one in after if one.id in old or one.id not in known}
            for key, fragment in wanted.items():
                stood = old.get(key)
                same = stood is not None and stood.fragment is fragment
                kept[key] = stood if stood is not None and same else Held(fragment, written)
            self._buffer = kept
            change = Change(
                left=[held for key, held in old.items() if key not in kept],
                came=[held.fragment for key, held in kept.items() if key not in old],
                replaced=[held for key, held in old.items() if key in kept and kept[key] is not held],
                order=list(old),
            )
        undone_by(partial(self._revert, change))

    def _revert(self, change: Change[T]) -> None:
        with self._lock:
            for held in change.replaced:
                if held.fragment.id in self._buffer:
                    self._buffer[held.fragment.id] = held
            for fragment in change.came:
                stood = self._buffer.get(fragment.id)
                if stood is not None and stood.fragment is fragment:
                    del self._buffer[fragment.id]
            for held in reversed(change.left):
                self._put_first(held)
            for key in reversed(change.order):
                if key in self._buffer:
                    self._buffer.move_to_end(key, last=False)

    def _put_first(self, held: Held[T]) -> None:
        if held.fragment.id not in self._buffer:
            self._buffer[held.fragment.id] = held
            self._buffer.move_to_end(held.fragment.id, last=False)


__all__ = ["BufferedMemory", "Change", "Held"]

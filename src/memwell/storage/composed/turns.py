"""Conversations and values elsewhere, whose transactions take their turn at the home store first.

Where the home lets several write at once, two transactions could each hold in one store what the other waits for in the
other store, and neither store would see it. So inside a transaction a space is held at home before anything of it is
touched elsewhere: whoever needs both waits in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memwell.filters import FilterLike
from memwell.messages import Message
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage.composed.transactions import transaction_on
from memwell.storage.protocols import Backend, Entry, KeyValue, MessageLog, Place, ThreadInfo, Version


class _Turns:
    def __init__(self, home: Backend) -> None:
        self._home = home

    def of(self, space: Space) -> Space:
        """The space, held at home until the end of the transaction that the caller is in, if any."""
        transaction = transaction_on(self._home)
        if transaction is not None:
            transaction.hold(given.check_space(space))
        return space

    def at(self, thread: Thread) -> Thread:
        """The thread, its space held likewise."""
        self.of(given.check_thread(thread).space)
        return thread


class LogInTurn(MessageLog):
    """The conversations of another store."""

    def __init__(self, log: MessageLog, home: Backend) -> None:
        self._log = log
        self._turn = _Turns(home)

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        return self._log.append(self._turn.at(thread), messages, keep_places=keep_places)

    def read(
        self,
        thread: Thread,
        *,
        after: int | None = None,
        before: int | None = None,
        last: int | None = None,
        first: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        return self._log.read(self._turn.at(thread), after=after, before=before, last=last, first=first, ids=ids)

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        return self._log.edit(self._turn.at(thread), changes)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        return self._log.versions(self._turn.at(thread), index)

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        return self._log.trim(self._turn.at(thread), before, keep=keep)

    def delete(self, thread: Thread) -> bool:
        return self._log.delete(self._turn.at(thread))

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        return self._log.annotate(self._turn.at(thread), metadata=metadata, end_round=end_round)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        return self._log.threads(self._turn.of(space), ids=ids, limit=limit, cursor=cursor)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        return self._log.match(self._turn.at(thread), text, limit=limit)

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        return self._log.places(self._turn.at(thread), after=after, limit=limit)

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        if isinstance(info, ThreadInfo):  # pyright: ignore[reportUnnecessaryIsInstance] - refused below
            self._turn.at(info.thread)
        self._log.restore(info, places)


class KeyValueInTurn(KeyValue):
    """The values of another store."""

    def __init__(self, kv: KeyValue, home: Backend) -> None:
        self._kv = kv
        self._turn = _Turns(home)

    def get(self, space: Space, key: str) -> Entry | None:
        return self._kv.get(self._turn.of(space), key)

    def put(self, space: Space, key: str, value: Any, *, ttl: float | None = None, expect: int | None = None) -> Entry:
        return self._kv.put(self._turn.of(space), key, value, ttl=ttl, expect=expect)

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        return self._kv.delete(self._turn.of(space), key, expect=expect)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        return self._kv.scan(self._turn.of(space), where=where, limit=limit, cursor=cursor, skip=skip)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        return self._kv.count(self._turn.of(space), where=where)

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        self._kv.restore(self._turn.of(space), entries)


__all__ = ["KeyValueInTurn", "LogInTurn"]

"""Conversations and values in another store than the home; what memwell itself keeps about a space stays in the home.

Journals, jobs, marks and documents change together with records, in transactions of the home. They are in spaces with a
segment ``memwell`` (see ``domains``), and those are the home's, whatever else lives in the other store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memwell.filters import FilterLike
from memwell.messages import Message
from memwell.records import Page, Space, Thread, paged
from memwell.storage import arguments as given
from memwell.storage.domains import is_memwells
from memwell.storage.elsewhere import REMEMBERED
from memwell.storage.protocols import Backend, Entry, KeyValue, MessageLog, Place, ThreadInfo, Version

_PAGE = 500


class PlacedLog(MessageLog):
    """The conversations of another store, and those of memwell itself in the home."""

    def __init__(self, home: MessageLog, other: MessageLog) -> None:
        self._home = home
        self._other = other

    def _in(self, space: Space) -> MessageLog:
        return self._home if is_memwells(given.check_space(space)) else self._other

    def _of(self, thread: Thread) -> MessageLog:
        return self._in(given.check_thread(thread).space)

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        return self._of(thread).append(thread, messages, keep_places=keep_places)

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        return self._of(thread).read(thread, last=last, first=first, after=after, before=before, ids=ids)

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        return self._of(thread).edit(thread, changes)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        return self._of(thread).versions(thread, index)

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        return self._of(thread).trim(thread, before, keep=keep)

    def delete(self, thread: Thread) -> bool:
        return self._of(thread).delete(thread)

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        return self._of(thread).annotate(thread, metadata=metadata, end_round=end_round)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        return self._in(space).threads(space, ids=ids, limit=limit, cursor=cursor)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        return self._of(thread).match(thread, text, limit=limit)

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        return self._of(thread).places(thread, after=after, limit=limit)

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        # What is no ThreadInfo, the other store refuses.
        log = self._of(info.thread) if isinstance(info, ThreadInfo) else self._other  # pyright: ignore[reportUnnecessaryIsInstance]
        log.restore(info, places)


class PlacedKeyValue(KeyValue):
    """The values of another store, and those of memwell itself in the home."""

    def __init__(self, home: KeyValue, other: KeyValue) -> None:
        self._home = home
        self._other = other

    def _in(self, space: Space) -> KeyValue:
        return self._home if is_memwells(given.check_space(space)) else self._other

    def get(self, space: Space, key: str) -> Entry | None:
        return self._in(space).get(space, key)

    def put(self, space: Space, key: str, value: Any, *, ttl: float | None = None, expect: int | None = None) -> Entry:
        return self._in(space).put(space, key, value, ttl=ttl, expect=expect)

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        return self._in(space).delete(space, key, expect=expect)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        return self._in(space).scan(space, where=where, limit=limit, cursor=cursor, skip=skip)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        return self._in(space).count(space, where=where)

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        self._in(space).restore(space, entries)


def take_home(home: Backend, part: Backend, kinds: Iterable[str]) -> None:
    """Move what memwell itself keeps from a part (its ``log``, its ``kv``) to the home.

    Earlier versions kept it in the part. What the home has already is not written over, so a call that dies half-way is
    finished by the next.
    """
    for space in list(paged(lambda cursor: part.spaces(limit=_PAGE, cursor=cursor))):
        if not is_memwells(space) or space == REMEMBERED:
            continue
        threads = [one.thread for one in _threads(part, space)] if "log" in kinds else []
        entries = list(paged(lambda cursor: part.kv.scan(space, cursor=cursor))) if "kv" in kinds else []  # noqa: B023 - used at once
        with home.transaction():
            home.kv.restore(space, [one for one in entries if home.kv.get(space, one.key) is None])
            for thread in threads:
                if not home.log.threads(space, ids=[thread.id]).items:
                    _copy_thread(part, home, thread)
        for thread in threads:
            part.log.delete(thread)
        for entry in entries:
            part.kv.delete(space, entry.key)


def _threads(store: Backend, space: Space) -> Iterable[ThreadInfo]:
    return paged(lambda cursor: store.log.threads(space, cursor=cursor))


def _copy_thread(source: Backend, target: Backend, thread: Thread) -> None:
    [info] = source.log.threads(thread.space, ids=[thread.id]).items
    places = source.log.places(thread, limit=_PAGE)
    target.log.restore(info, places)
    while places:
        places = source.log.places(thread, after=places[-1].index, limit=_PAGE)
        target.log.restore(info, places)

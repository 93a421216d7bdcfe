"""Base classes for conversations and values: they check arguments, encode and decode, the same for all backends.

A backend implements the methods that begin with an underscore. They get checked arguments and work on stored forms: the
JSON of a message, an encoded value.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from memwell.filters import Filter, FilterLike, as_filter
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage.bm25 import best_messages
from memwell.storage.placement import (
    CopiedPlace,
    CopiedThread,
    Placed,
    StoredEntry,
    as_stored,
    copied_entries,
    copied_places,
    copied_thread,
    prepare,
)
from memwell.storage.protocols import Entry, KeyValue, MessageLog, Place, ThreadInfo, Version, unsupported
from memwell.values import check_count, check_id, check_metadata, check_text

T = TypeVar("T")

Prepared: TypeAlias = Sequence[tuple[Message, str]]
"""Messages, each with its JSON up to the place, which is written in front of it."""

StoredVersion: TypeAlias = tuple[str | None, float]
"""The JSON that a place held (None: removed), and until when."""

StoredPlace: TypeAlias = tuple[int, int, str, str | None, Iterable[StoredVersion]]
"""Index, round, id and JSON of a place, and its versions."""


class ThreadRow(NamedTuple):
    """A thread without its messages, as backends store it. ``ended`` is −1 while no round was closed by hand."""

    first: int
    next: int
    messages: int
    tokens: int
    round: int
    created: float
    metadata: str
    ended: int
    edits: int

    def info(self, thread: Thread, newest: str | None) -> ThreadInfo:
        """The same for readers; ``newest`` is the time of the newest message in ISO 8601."""
        created = given.moment(self.created)
        return ThreadInfo(
            thread=thread,
            first=self.first,
            next=self.next,
            messages=self.messages,
            tokens=self.tokens,
            rounds=self.round,
            created=created,
            updated=datetime.fromisoformat(newest) if newest else created,
            metadata=msgspec.json.decode(self.metadata),
            ended_round=self.ended if self.ended >= 0 else None,
            edits=self.edits,
        )


def message_of(body: str | None) -> Message | None:
    """The message in its JSON; None for one that was removed."""
    return None if body is None else decode_message(body)


def _decoded(stored: Iterable[StoredVersion]) -> list[Version]:
    return [Version(message_of(body), given.moment(at)) for body, at in stored]


class BaseLog(MessageLog):
    """Conversations over rows of JSON. Search reads the whole thread unless ``_match`` is overridden."""

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        given.check_thread(thread)
        prepared = prepare(messages, keep_places=keep_places)
        return as_stored(prepared, self._append(thread, prepared, keep_places=keep_places))

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
        given.check_thread(thread)
        return decode_messages(self._read(thread, given.check_range(last, first, after, before, ids)))

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        return list(map(message_of, self._edit(thread, given.check_changes(changes))))

    def versions(self, thread: Thread, index: int) -> list[Version]:
        given.check_thread(thread)
        return _decoded(self._versions(thread, min(check_count(index, "an index"), given.MAX_INDEX + 1)))

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        given.check_thread(thread)
        end = min(check_count(before, "before"), given.MAX_INDEX + 1)
        return self._trim(thread, end, {index for index in given.check_places(keep) if index <= given.MAX_INDEX})

    def delete(self, thread: Thread) -> bool:
        return self._delete(given.check_thread(thread))

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else str(given.encode_value(check_metadata(metadata)))
        return self._annotate(thread, encoded, bool(end_round))

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        named = None if ids is None else sorted(set(given.check_ids(ids)))
        found = self._threads(space, named, given.check_name_cursor(cursor), given.check_limit(limit) + 1)
        return page_of(found, limit, lambda info: info.thread.id)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        given.check_thread(thread)
        return self._match(thread, check_text(text, "text"), given.check_limit(limit))

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        given.check_thread(thread)
        start = 0 if after is None else min(check_count(after, "after", least=-1), given.MAX_INDEX) + 1
        return [
            Place(index, round_, id_, message_of(body), _decoded(versions))
            for index, round_, id_, body, versions in self._places(thread, start, given.check_limit(limit))
        ]

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        self._restore(info.thread, wanted, copied_places(wanted, places))

    @abstractmethod
    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        """Store messages at the end of a thread, all or none."""

    @abstractmethod
    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        """The JSON of the messages in a range, in order."""

    @abstractmethod
    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> Iterable[str | None]:
        """Change places, all or none, and give what they hold then. Raises ``NotFound``."""

    @abstractmethod
    def _versions(self, thread: Thread, index: int) -> Iterable[StoredVersion]:
        """What a place held before, oldest first."""

    @abstractmethod
    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        """Drop the places below ``before`` that are not spared; how many held a message."""

    @abstractmethod
    def _delete(self, thread: Thread) -> bool:
        """Drop a thread; whether there was one."""

    @abstractmethod
    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        """Set the metadata of a thread and close its round; the thread is made if need be."""

    @abstractmethod
    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        """The first threads behind the id ``after``, by id; at least ``limit`` of them if there are as many."""

    def _match(self, thread: Thread, text: str, limit: int) -> list[tuple[Message, float]]:
        return best_messages(self.read(thread), text, limit)

    def _places(self, thread: Thread, start: int, limit: int) -> Iterable[StoredPlace]:
        """The places from the index ``start`` on, at most ``limit``; for the ability ``copies``."""
        raise unsupported("copies")

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        """Store copied places behind the existing ones, and take over the rest. Raises ``Conflict``."""
        raise unsupported("copies")


class BaseKeyValue(KeyValue):
    """Values by key over encoded entries. ``_clock`` gives the time in seconds."""

    _clock: Callable[[], float]

    def get(self, space: Space, key: str) -> Entry | None:
        given.check_space(space)
        found = self._get(space, check_id(key, "a key"), self._clock())
        return None if found is None else found.entry()

    def get_many(self, space: Space, keys: Sequence[str]) -> dict[str, Entry]:
        given.check_space(space)
        wanted = [check_id(key, "a key") for key in keys]
        return {found.key: found.entry() for found in self._get_many(space, wanted, self._clock())} if wanted else {}

    def put(self, space: Space, key: str, value: Any, *, ttl: float | None = None, expect: int | None = None) -> Entry:
        given.check_space(space)
        check_id(key, "a key")
        now = self._clock()
        stored = StoredEntry.of(key, value, given.check_ttl(ttl, now))
        self._put(space, stored, given.check_expect(expect), now)
        return stored.entry()

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        given.check_space(space)
        return self._delete(space, check_id(key, "a key"), given.check_expect(expect), self._clock())

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        given.check_space(space)
        wanted, start = as_filter(where), given.check_name_cursor(cursor)
        given.check_limit(limit)
        # One more than the page holds says whether there is another.
        found = self._scan(space, wanted, start, limit + 1, given.check_skip(skip), self._clock())
        return page_of(found, limit, lambda entry: entry.key)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        given.check_space(space)
        return self._count(space, as_filter(where), self._clock())

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        given.check_space(space)
        self._restore(space, copied_entries(entries))

    @abstractmethod
    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        """The entry of a key that lives at the moment ``now``."""

    def _get_many(self, space: Space, keys: Sequence[str], now: float) -> list[StoredEntry]:
        """The entries of keys that live at the moment ``now``, in any order."""
        return [found for key in keys if (found := self._get(space, key, now)) is not None]

    @abstractmethod
    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        """Store an entry. Raises ``Conflict``."""

    @abstractmethod
    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        """Drop a key; whether it lived. Raises ``Conflict``."""

    @abstractmethod
    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        """The live entries behind the key ``after`` that satisfy the filter, by key."""

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        """How many live entries satisfy the filter."""
        return len(self._scan(space, where, None, sys.maxsize, 0, now))

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        """Store copied entries, all or none; for the ability ``copies``."""
        raise unsupported("copies")


def page_of(found: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """The first ``limit`` items, and a cursor when there are more."""
    return Page(list(found[:limit]), cursor(found[limit - 1]) if len(found) > limit else None)

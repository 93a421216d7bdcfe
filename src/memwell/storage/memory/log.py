"""Conversations in memory: the reference."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memwell.errors import Conflict, NotFound
from memwell.language.segment import query_terms, segment
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.storage.memory.state import Store, ThreadState, page_of
from memwell.storage.placement import Placed, Tail, as_stored, place, prepare, replaced_body
from memwell.storage.protocols import (
    MessageLog,
    ThreadInfo,
    Version,
)
from memwell.values import check_count, check_metadata, check_text


class MemoryLog(MessageLog):
    """Conversations in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        given.check_thread(thread)
        prepared = prepare(messages, keep_places=keep_places)
        with self._store.use() as state:
            known = state.threads.get(thread)
            tail = known.tail if known else Tail(0, 0, -1)
            placed = place(prepared, tail, keep_places=keep_places)
            taken = {id_ for id_, _ in known.rows.values()} if known else set[str]()
            for one in placed:
                if one.id in taken:
                    raise Conflict(f"the thread already holds a message with the id {one.id!r}")
                taken.add(one.id)
            if placed:
                target = state.threads.setdefault(thread, ThreadState(self._store.clock()))
                target.rows.update({one.index: (one.id, one) for one in placed})
                target.tail = Tail(placed[-1].index + 1, placed[-1].round, target.tail.ended)
        return as_stored(prepared, placed)

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
        span = given.check_span(last, first, after, before, ids)
        wanted = None if span.ids is None else set(span.ids)
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            found = [
                row.body
                for index, (id_, row) in sorted(known.rows.items() if known else ())
                if row is not None
                and (after is None or index > after)
                and (before is None or index < before)
                and (wanted is None or id_ in wanted)
            ]
        if last is not None:
            found = found[len(found) - min(last, len(found)) :]
        return decode_messages(found if first is None else found[:first])

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        wanted = given.check_changes(changes)
        with self._store.use() as state:
            known = state.threads.get(thread)
            places: dict[int, Placed | None] = {}
            for index, message in wanted.items():
                if known is None or index not in known.rows:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                places[index] = self._changed(known, index, message)
            if known is not None:
                for index, placed in places.items():
                    self._put(known, index, placed)
        return [None if one is None else decode_message(one.body) for one in places.values()]

    def _changed(self, known: ThreadState, index: int, message: Message | None) -> Placed | None:
        if message is None:
            return None
        id_ = known.rows[index][0]
        round_ = next(r for i, r in self._rounds(known) if i == index)
        return Placed(index, round_, id_, message.tokens or 0, replaced_body(message, index, round_, id_))

    @staticmethod
    def _rounds(known: ThreadState) -> Iterator[tuple[int, int]]:
        for index, (_, row) in known.rows.items():
            if row is not None:
                yield index, row.round
            else:
                bodies = [body for body, _ in known.versions[index] if body is not None]
                yield index, decode_message(bodies[-1]).round or 0

    def _put(self, known: ThreadState, index: int, placed: Placed | None) -> None:
        id_, old = known.rows[index]
        if old is None and placed is None:
            return
        body = None if old is None else old.body
        known.versions[index] = [*known.versions.get(index, []), (body, self._store.clock())]
        known.rows[index] = (id_, placed)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        check_count(index, "an index")
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            stored = known.versions.get(index, []) if known else []
        return [Version(decode_message(b) if b is not None else None, given.moment(at)) for b, at in stored]

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        check_count(before, "before")
        spared = given.check_places(keep)
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            if known is None:
                return 0
            gone = [index for index in known.rows if index < before and index not in spared]
            live = sum(known.rows[index][1] is not None for index in gone)
            for index in gone:
                del known.rows[index]
                known.versions.pop(index, None)
            known.first = max(known.first, min([before, known.tail.next, *(i for i in known.rows if i < before)]))
            return live

    def delete(self, thread: Thread) -> bool:
        with self._store.use() as state:
            return state.threads.pop(given.check_thread(thread), None) is not None

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else given.encode_value(check_metadata(metadata))
        with self._store.use() as state:
            known = state.threads.setdefault(thread, ThreadState(self._store.clock()))
            if isinstance(encoded, str):
                known.metadata = encoded
            if end_round:
                known.tail = known.tail._replace(ended=known.tail.round)
            return self._info(thread, known)

    @staticmethod
    def count(known: ThreadState) -> int:
        """How many messages a thread has."""
        return sum(row is not None for _, row in known.rows.values())

    @staticmethod
    def _info(thread: Thread, known: ThreadState) -> ThreadInfo:
        live = [row for _, row in known.rows.values() if row is not None]
        created = given.moment(known.created)
        newest = max(live, key=lambda row: row.index, default=None)
        return ThreadInfo(
            thread=thread,
            first=known.first,
            next=known.tail.next,
            messages=len(live),
            tokens=sum(row.tokens for row in live),
            rounds=known.tail.round,
            created=created,
            updated=created if newest is None else decode_message(newest.body).time,
            metadata=msgspec.json.decode(known.metadata),
            ended_round=known.tail.ended if known.tail.ended >= 0 else None,
        )

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        wanted = None if ids is None else set(given.check_ids(ids))
        start = given.check_name_cursor(cursor)
        with self._store.use() as state:
            found = [
                self._info(thread, known)
                for thread, known in state.threads.items()
                if thread.space == space
                and (wanted is None or thread.id in wanted)
                and (start is None or thread.id > start)
            ]
        found.sort(key=lambda info: info.thread.id)
        return page_of(found, given.check_limit(limit), lambda info: info.thread.id)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        messages = {message.index or 0: message for message in self.read(thread)}
        scores = bm25.scores({index: segment(m.searchable) for index, m in messages.items()}, terms)
        best = heapq.nlargest(limit, ((score, index) for index, score in scores.items()))
        return [(messages[index], score) for score, index in best]


__all__ = ["MemoryLog"]

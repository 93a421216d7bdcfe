"""Conversations in memory: the reference."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, NotFound
from memwell.language.segment import query_terms, segment
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.storage.copies import CopiedPlace, CopiedThread, check_follows, copied_places, copied_thread
from memwell.storage.memory.state import Row, State, Store, ThreadState, page_of
from memwell.storage.placement import Placed, Tail, as_stored, place, prepare, replaced_body
from memwell.storage.protocols import (
    MessageLog,
    Place,
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
            known = state.thread(thread)
            placed = place(prepared, known.tail if known else Tail(0, 0, -1), keep_places=keep_places)
            _check_new([one.id for one in placed], known.ids if known else ())
            if placed:
                self._extend(self._opened(state, thread), placed)
        return as_stored(prepared, placed)

    def _opened(self, state: State, thread: Thread) -> ThreadState:
        threads = self._store.undo.opened(state.threads, thread.space, dict[str, ThreadState])
        return self._store.undo.opened(threads, thread.id, lambda: ThreadState(self._store.clock()))

    def _extend(self, known: ThreadState, placed: Sequence[Placed]) -> None:
        undo, indexes = self._store.undo, [one.index for one in placed]
        undo.update(known.rows, {one.index: Row(one.id, one.round, one.tokens, one.body) for one in placed})
        undo.update(known.ids, {one.id: one.index for one in placed})
        undo.extend(known.order, indexes)
        undo.extend(known.live, indexes)
        tail = Tail(placed[-1].index + 1, placed[-1].round, known.tail.ended)
        undo.assign(known, tail=tail, tokens=known.tokens + sum(one.tokens for one in placed))

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
        with self._store.use() as state:
            known = state.thread(given.check_thread(thread))
            found = [] if known is None else [known.rows[index].body for index in _spanned(known, span)]
        return decode_messages([body for body in found if body is not None])

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        wanted = given.check_changes(changes)
        with self._store.use() as state:
            known = state.thread(thread)
            places: dict[int, Row] = {}
            for index, message in wanted.items():
                if known is None or index not in known.rows:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                places[index] = _changed(known.rows[index], index, message)
            if known is not None:
                for index, row in places.items():
                    self._put(known, index, row)
        return [None if row.body is None else decode_message(row.body) for row in places.values()]

    def _put(self, known: ThreadState, index: int, row: Row) -> None:
        undo, old = self._store.undo, known.rows[index]
        if old.body is None and row.body is None:
            return
        versions = undo.opened(known.versions, index, list[tuple[str | None, float]])
        undo.extend(versions, [(old.body, self._store.clock())])
        undo.update(known.rows, {index: row})
        undo.assign(known, tokens=known.tokens + row.tokens - old.tokens, edits=known.edits + 1)
        # Its place among the living is the same before and after: the index is put there, left there, or taken out.
        at = bisect_left(known.live, index)
        undo.splice(known.live, at, at + (old.body is not None), [] if row.body is None else [index])

    def versions(self, thread: Thread, index: int) -> list[Version]:
        check_count(index, "an index")
        with self._store.use() as state:
            known = state.thread(given.check_thread(thread))
            stored = list(known.versions.get(index, ())) if known else []
        return _versions(stored)

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        check_count(before, "before")
        spared = given.check_places(keep)
        with self._store.use() as state:
            known = state.thread(given.check_thread(thread))
            return 0 if known is None else self._drop(known, before, spared)

    def _drop(self, known: ThreadState, before: int, spared: set[int]) -> int:
        undo, live = self._store.undo, len(known.live)
        gone = [index for index in known.order[: bisect_left(known.order, before)] if index not in spared]
        rows = [known.rows[index] for index in gone]
        for indexes in (known.order, known.live):
            cut = bisect_left(indexes, before)
            undo.splice(indexes, 0, cut, [index for index in indexes[:cut] if index in spared])
        undo.drop(known.rows, gone)
        undo.drop(known.versions, gone)
        undo.drop(known.ids, [row.id for row in rows])
        first = max(known.first, min([before, known.tail.next, *known.order[:1]]))
        dropped = live - len(known.live)
        edits = known.edits + (dropped > 0)
        undo.assign(known, first=first, tokens=known.tokens - sum(row.tokens for row in rows), edits=edits)
        return dropped

    def delete(self, thread: Thread) -> bool:
        with self._store.use() as state:
            known = state.thread(given.check_thread(thread))
            if known is not None:
                self._store.undo.drop(state.threads[thread.space], [thread.id])
            return known is not None

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else given.encode_value(check_metadata(metadata))
        with self._store.use() as state:
            known = self._opened(state, thread)
            if isinstance(encoded, str):
                self._store.undo.assign(known, metadata=encoded)
            if end_round:
                self._store.undo.assign(known, tail=known.tail._replace(ended=known.tail.round))
            return _info(thread, known)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        wanted = None if ids is None else set(given.check_ids(ids))
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        with self._store.use() as state:
            held = state.threads.get(space, {})
            names = held if wanted is None else [name for name in wanted if name in held]
            listed = sorted(name for name in names if start is None or name > start)
            found = [_info(Thread(space, name), held[name]) for name in listed[: limit + 1]]
        return page_of(found, limit, lambda info: info.thread.id)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        messages = {message.index or 0: message for message in self.read(thread)}
        scores = bm25.scores({index: segment(m.searchable) for index, m in messages.items()}, terms)
        best = heapq.nlargest(limit, ((score, index) for index, score in scores.items()))
        return [(messages[index], score) for score, index in best]

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        start = -1 if after is None else check_count(after, "after", least=-1)
        given.check_limit(limit)
        with self._store.use() as state:
            known = state.thread(given.check_thread(thread)) or ThreadState(0.0)
            begin = bisect_right(known.order, start)
            indexes = known.order[begin : begin + limit]
            return [_place(index, known.rows[index], known.versions.get(index, ())) for index in indexes]

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        copied = copied_places(wanted, places)
        with self._store.use() as state:
            known = self._opened(state, info.thread)
            for one in copied[:1]:
                check_follows(one, known.order[-1] if known.order else -1)
            _check_new([one.id for one in copied], known.ids)
            self._take_over(known, wanted, copied)

    def _take_over(self, known: ThreadState, wanted: CopiedThread, copied: Sequence[CopiedPlace]) -> None:
        undo = self._store.undo
        undo.update(known.rows, {one.index: Row(one.id, one.round, one.tokens, one.body) for one in copied})
        undo.update(known.ids, {one.id: one.index for one in copied})
        undo.update(known.versions, {one.index: one.versions for one in copied if one.versions})
        undo.extend(known.order, [one.index for one in copied])
        undo.extend(known.live, [one.index for one in copied if one.body is not None])
        undo.assign(
            known,
            created=wanted.created,
            metadata=wanted.metadata,
            first=wanted.first,
            tail=Tail(wanted.next, wanted.round, wanted.ended),
            edits=wanted.edits,
            tokens=known.tokens + sum(one.tokens for one in copied),
        )


def _check_new(ids: Sequence[str], known: Collection[str]) -> None:
    """Raises ``Conflict`` for an id that is known, or is there twice."""
    seen: set[str] = set()
    for id_ in ids:
        if id_ in known or id_ in seen:
            raise Conflict(f"the thread already holds a message with the id {id_!r}")
        seen.add(id_)


def _spanned(known: ThreadState, span: given.Span) -> list[int]:
    """The indexes that a read asks for, in order."""
    live = known.live if span.ids is None else _named(known, span.ids)
    start = 0 if span.after is None else bisect_right(live, span.after)
    stop = len(live) if span.before is None else bisect_left(live, span.before)
    if span.last is not None:
        start = max(start, stop - span.last)
    if span.first is not None:
        stop = min(stop, start + span.first)
    return live[start:stop]


def _named(known: ThreadState, ids: Iterable[str]) -> list[int]:
    """The indexes of the messages of these ids, rising."""
    found = {known.ids[id_] for id_ in ids if id_ in known.ids}
    return sorted(index for index in found if known.rows[index].body is not None)


def _versions(stored: Iterable[tuple[str | None, float]]) -> list[Version]:
    return [Version(None if body is None else decode_message(body), given.moment(at)) for body, at in stored]


def _place(index: int, row: Row, versions: Iterable[tuple[str | None, float]]) -> Place:
    message = None if row.body is None else decode_message(row.body)
    return Place(index, row.round, row.id, message, _versions(versions))


def _changed(row: Row, index: int, message: Message | None) -> Row:
    if message is None:
        return replace(row, tokens=0, body=None)
    return replace(row, tokens=message.tokens or 0, body=replaced_body(message, index, row.round, row.id))


class _Dated(msgspec.Struct):
    """What is read of the newest message; the rest of it may be long."""

    time: datetime


_dated = msgspec.json.Decoder(_Dated)


def _info(thread: Thread, known: ThreadState) -> ThreadInfo:
    created = given.moment(known.created)
    newest = known.rows[known.live[-1]].body if known.live else None
    return ThreadInfo(
        thread=thread,
        first=known.first,
        next=known.tail.next,
        messages=len(known.live),
        tokens=known.tokens,
        rounds=known.tail.round,
        created=created,
        updated=created if newest is None else _dated.decode(newest).time,
        metadata=msgspec.json.decode(known.metadata),
        ended_round=known.tail.ended if known.tail.ended >= 0 else None,
        edits=known.edits,
    )


def complaints(thread: Thread, known: ThreadState) -> list[str]:
    """What is kept beside a thread's rows and does not agree with them, in words."""
    rows = known.rows
    derived = {
        "ids": (known.ids, {row.id: index for index, row in rows.items()}),
        "order": (known.order, sorted(rows)),
        "live": (known.live, sorted(index for index, row in rows.items() if row.body is not None)),
        "tokens": (known.tokens, sum(row.tokens for row in rows.values())),
    }
    return [f"the {name} of thread {thread.id!r} are wrong" for name, (kept, due) in derived.items() if kept != due]


__all__ = ["MemoryLog", "complaints"]

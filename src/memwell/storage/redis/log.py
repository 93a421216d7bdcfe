"""Conversations in Redis: the keys of a thread share a hash tag, so an append is one script on one server."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memwell.errors import NotFound
from memwell.language.segment import query_terms, segment
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.storage.placement import (
    MAX_INDEX,
    CopiedPlace,
    as_stored,
    check_follows,
    copied_places,
    copied_thread,
    prepare,
    replaced_body,
)
from memwell.storage.protocols import MessageLog, Place, ThreadInfo, Version
from memwell.storage.redis import thread_scripts as scripts
from memwell.storage.redis.appending import Appending
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.rows import Row, info_of, packed_row, row_of
from memwell.storage.redis.running import Argument
from memwell.storage.redis.tags import Tag
from memwell.storage.redis.transactions import UNLIST
from memwell.values import check_count, check_metadata, check_text

_AT_ONCE = 5_000
"""Messages that one script gives out: a server does nothing else meanwhile."""
_BOUND = MAX_INDEX + 1


class RedisLog(MessageLog):
    """Conversations in Redis."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock
        self._tags = connections.tags
        self._appending = Appending(connections, clock)

    # Writing

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        tag = self._tags.thread_of(given.check_thread(thread))
        prepared = prepare(messages, keep_places=keep_places)
        if not prepared:
            return []
        if keep_places:
            return as_stored(prepared, self._appending.keep(tag, prepared))
        return as_stored(prepared, self._appending.append(tag, prepared))

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        tag = self._tags.thread_of(given.check_thread(thread))
        wanted = given.check_changes(changes)
        while True:
            edits, created, *stored = self._connections.call(scripts.ROWS, tag, list(wanted))
            rows = dict(zip(wanted, map(row_of, stored), strict=True))
            bodies: dict[int, str | None] = {}
            arguments: list[Argument] = [edits or b"", created or b"", repr(self._clock()), 0, 0]
            for index, message in wanted.items():
                row = rows[index]
                if row is None:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                bodies[index] = body = None if message is None else replaced_body(message, index, row.round, row.id)
                if body is not None or row.body:
                    _note_change(arguments, index, row, message, body)
            if len(arguments) == 5 or self._connections.call(scripts.EDIT, tag, arguments) == b"done":
                return [None if body is None else decode_message(body) for body in bodies.values()]

    def versions(self, thread: Thread, index: int) -> list[Version]:
        tag = self._tags.thread_of(given.check_thread(thread))
        check_count(index, "an index")
        return _versions(self._connections.call(scripts.VERSIONS, tag, [index]))

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        tag = self._tags.thread_of(given.check_thread(thread))
        check_count(before, "before")
        spared = given.check_places(keep)
        arguments = [min(before, _BOUND), *(index for index in spared if index < _BOUND)]
        return self._connections.call(scripts.TRIM, tag, arguments)

    def delete(self, thread: Thread) -> bool:
        tag = self._tags.thread_of(given.check_thread(thread))

        def operation() -> bool:
            existed = bool(self._connections.call(scripts.DELETE, tag))
            if existed and tag.parent is not None:
                self._connections.call(UNLIST, tag.parent, [tag.member])
            return existed

        return self._connections.together(operation)

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        tag = self._tags.thread_of(given.check_thread(thread))
        encoded = "" if metadata is None else given.encode_value(check_metadata(metadata))
        arguments = [repr(self._clock()), encoded, int(bool(end_round))]
        info = info_of(self._connections.call(scripts.ANNOTATE, tag, arguments))
        assert info is not None, "it was made just now"
        return info.shown(thread)

    # Reading

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
        tag = self._tags.thread_of(given.check_thread(thread))
        span = given.check_span(last, first, after, before, ids)
        low, high = -1 if after is None else min(after, _BOUND), _BOUND if before is None else min(before, _BOUND)
        named: list[Argument] = [] if span.ids is None else ["ids", *span.ids]
        wanted = span.last if span.last is not None else span.first
        rows: list[Row] = []
        while wanted is None or len(rows) < wanted:
            most = _AT_ONCE if wanted is None else min(wanted - len(rows), _AT_ONCE)
            side = "first" if last is None else "last"
            stored = self._connections.call(scripts.READ, tag, [low, high, most, side, *named])
            some = [row for row in map(row_of, stored) if row is not None]
            rows += some
            if len(some) < most:
                break
            # What one script gives out is bounded; the next one goes on behind it.
            reached = decode_message(some[-1].body).index or 0
            low, high = (low, reached) if last is not None else (reached, high)
        if last is not None:
            rows.reverse()
        return decode_messages([row.body for row in rows])

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        listing = self._tags.threads(given.check_space(space))
        named = None if ids is None else sorted(set(given.check_ids(ids)))
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        found: list[ThreadInfo] = []
        while len(found) <= limit:
            names = self._names(listing, named, start, limit + 1)
            found += self._infos(space, names)
            if named is not None or len(names) <= limit:
                break
            start = names[-1]
        return Page(found[:limit], found[limit - 1].thread.id if len(found) > limit else None)

    def _names(self, listing: Tag, named: list[str] | None, start: str | None, limit: int) -> list[str]:
        if named is not None:
            wanted = [name for name in named if start is None or name > start]
            return wanted if len(wanted) < 2 else _decoded(self._connections.call(scripts.NAMED, listing, wanted))
        return _decoded(
            self._connections.call(scripts.THREADS, listing, ["-" if start is None else f"({start}", limit])
        )

    def _infos(self, space: Space, names: Sequence[str]) -> list[ThreadInfo]:
        threads = [Thread(space, name) for name in names]
        replies = self._connections.call_many(scripts.INFO, [(self._tags.thread_of(one), ()) for one in threads])
        infos = zip(threads, map(info_of, replies), strict=True)
        return [info.shown(thread) for thread, info in infos if info is not None]

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        messages = {message.index or 0: message for message in self.read(thread)}
        scores = bm25.scores({index: segment(m.searchable) for index, m in messages.items()}, terms)
        best = heapq.nlargest(limit, ((score, index) for index, score in scores.items()))
        return [(messages[index], score) for score, index in best]

    def complaints(self, thread: Thread) -> list[str]:
        """What is kept beside a thread's rows and does not agree with them, in words."""
        return _decoded(self._connections.call(scripts.CHECK, self._tags.thread_of(thread)))

    def base(self, thread: Thread) -> str:
        """What the keys of a thread begin with."""
        return self._tags.thread_of(thread).base

    def names(self, space: Space) -> Iterator[str]:
        """The ids that are listed in a space, whether their threads are there or not."""
        start: str | None = None
        while names := self._names(self._tags.threads(space), None, start, _AT_ONCE):
            yield from names
            start = names[-1]

    # Copying

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        tag = self._tags.thread_of(given.check_thread(thread))
        start = -1 if after is None else min(check_count(after, "after", least=-1), _BOUND)
        given.check_limit(limit)
        found: list[Place] = []
        while len(found) < limit:
            most = min(limit - len(found), _AT_ONCE)
            some = [_place(*one) for one in self._connections.call(scripts.PLACES, tag, [start, most])]
            found += some
            if len(some) < most:
                break
            start = some[-1].index
        return found

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        copied = copied_places(wanted, places)
        tag = self._tags.thread_of(info.thread)
        fields: dict[str, Argument] = {
            "first": wanted.first,
            "next": wanted.next,
            "round": wanted.round,
            "ended": wanted.ended,
            "edits": wanted.edits,
            "created": repr(wanted.created),
            "metadata": wanted.metadata,
            "+messages": sum(one.body is not None for one in copied),
            "+tokens": sum(one.tokens for one in copied),
        }
        rows = [(one.index, one.id, _copied_row(one)) for one in copied]
        versions = [(one.index, _packed(one)) for one in copied if one.versions]
        while True:
            known = self._appending.known(tag)
            for one in copied[:1]:
                check_follows(one, -1 if known is None else known.last)
            live = [one.body for one in copied if one.body is not None]
            updated = decode_message(live[-1]).time.isoformat() if live else "" if known is None else known.updated
            last = copied[-1].index if copied else -1 if known is None else known.last
            if self._appending.extended(tag, known, fields | {"updated": updated, "last": last}, rows, versions):
                return


def _copied_row(one: CopiedPlace) -> bytes:
    time = None if one.body is None else decode_message(one.body).time
    return packed_row(one.round, one.tokens, time, one.id, one.body)


def _packed(one: CopiedPlace) -> bytes:
    return msgspec.msgpack.encode([[repr(at), False if body is None else body] for body, at in one.versions])


def _note_change(arguments: list[Any], index: int, row: Row, message: Message | None, body: str | None) -> None:
    """Add what an edit of one place changes: the sums of tokens and messages, and the row."""
    tokens, time = (0, None) if message is None else (message.tokens or 0, message.time)
    arguments[3] += tokens - row.tokens
    arguments[4] += (body is not None) - bool(row.body)
    arguments += (index, packed_row(row.round, tokens, time, row.id, body))


def _versions(stored: list[list[bytes]]) -> list[Version]:
    return [
        Version(decode_message(body[0].decode()) if body else None, given.moment(float(at))) for at, *body in stored
    ]


def _place(index: bytes, stored: bytes, versions: list[list[bytes]]) -> Place:
    row = row_of(stored)
    assert row is not None, "a place that is given out has a row"
    return Place(int(index), row.round, row.id, decode_message(row.body) if row.body else None, _versions(versions))


def _decoded(names: list[bytes]) -> list[str]:
    return [name.decode() for name in names]


__all__ = ["RedisLog"]

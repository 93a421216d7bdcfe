"""Reading a store as a stream, a little at a time, and what it holds in one form that is the same on every backend.

Exports and moves read through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from memwell.messages import Message, encode_message
from memwell.records import Page, Record, Space, Thread, pack_half
from memwell.storage.protocols import Backend, Entry, Place, ThreadInfo, Version

T = TypeVar("T")
U = TypeVar("U")

MOVING = Space("memwell", "moving")
"""Where a move keeps its own notes, on both sides. It is never copied."""

MOST_BYTES = 8 * 2**20
"""A page is made smaller when it was more than this, and larger again when it was much less."""
_FIRST = 16
_MOST = 1000


def _pages(read: Callable[[str | None, int], Page[T]], weight: Callable[[T], int]) -> Iterator[T]:
    """All items, in pages whose length follows the weight of what they held."""
    cursor, limit = None, _FIRST
    while True:
        page = read(cursor, limit)
        yield from page.items
        if page.next is None:
            return
        cursor, limit = page.next, _next_limit(limit, sum(map(weight, page.items)))


def _next_limit(limit: int, weight: int) -> int:
    if weight > MOST_BYTES:
        return max(1, limit // 4)
    return min(_MOST, limit * 2) if weight < MOST_BYTES // 4 else limit


def spaces_of(backend: Backend) -> Iterator[Space]:
    """Every space but our own, in the order of their paths."""
    for space in _pages(lambda cursor, limit: backend.spaces(limit=limit, cursor=cursor), lambda _: 0):
        if space != MOVING:
            yield space


def entries_of(backend: Backend, space: Space) -> Iterator[Entry]:
    """The live entries, by key."""
    return _pages(lambda cursor, limit: backend.kv.scan(space, limit=limit, cursor=cursor), entry_weight)


def records_of(backend: Backend, space: Space) -> Iterator[Record]:
    """The records with their vectors, in the order in which they were first stored."""
    if "records" not in backend.abilities:
        return iter(())
    return _pages(lambda cursor, limit: backend.index.scan(space, limit=limit, cursor=cursor), record_weight)


def threads_of(backend: Backend, space: Space) -> Iterator[ThreadInfo]:
    """The threads, by id."""
    return _pages(lambda cursor, limit: backend.log.threads(space, limit=limit, cursor=cursor), lambda _: 1000)


def digests_of(backend: Backend, space: Space) -> Iterator[str]:
    """The digests of the blobs, in order."""
    if "blobs" not in backend.abilities:
        return iter(())
    return _pages(lambda cursor, limit: backend.blobs.scan(space, limit=limit, cursor=cursor), lambda _: 64)


def place_pages(backend: Backend, thread: Thread, after: int, before: int) -> Iterator[list[Place]]:
    """The places between two indexes, in pieces."""
    limit = _FIRST
    while True:
        page = backend.log.places(thread, after=after, limit=limit)
        wanted = [place for place in page if place.index < before]
        if wanted:
            yield wanted
        if len(page) < limit or len(wanted) < len(page):
            return
        after, limit = page[-1].index, _next_limit(limit, sum(map(_place_weight, page)))


def entry_weight(entry: Entry) -> int:
    """About how many bytes an entry takes."""
    return len(entry.value if isinstance(entry.value, bytes | str) else _canonical(entry.value)) + 100


def record_weight(record: Record) -> int:
    """About how many bytes a record takes."""
    return len(record.text) * 2 + 4 * len(record.vector or ()) + len(_canonical(record.metadata)) + 200


def _place_weight(place: Place) -> int:
    held: list[Message | None] = [place.message, *(version.message for version in place.versions)]
    return 100 + sum(len(encode_message(message)) for message in held if message is not None)


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _packed(vector: Any) -> bytes:
    return b"" if vector is None else pack_half(vector)


def entry_bytes(entry: Entry) -> bytes:
    """An entry in one form on every backend."""
    value = entry.value
    kind, encoded = ("bytes", value) if isinstance(value, bytes) else ("json", _canonical(value))
    expires = None if entry.expires is None else entry.expires.isoformat()
    return _canonical([entry.key, entry.version, expires, kind]) + encoded


def record_bytes(record: Record) -> bytes:
    """A record in one form on every backend, with its vector in half precision."""
    plain = [record.id, record.kind, record.time.isoformat(), record.metadata, record.text]
    return _canonical(plain) + _packed(record.vector)


def info_bytes(info: ThreadInfo) -> bytes:
    """What a listing says of a thread, in one form on every backend."""
    return _canonical([*info_key(info), info.updated.isoformat()])


def info_key(info: ThreadInfo) -> list[Any]:
    """What says that a thread is as it was: all that its listing shows but what is derived from its newest message."""
    return [
        info.thread.id,
        info.first,
        info.next,
        info.messages,
        info.tokens,
        info.rounds,
        info.created.isoformat(),
        info.metadata,
        info.ended_round,
        info.edits,
    ]


def place_bytes(place: Place) -> bytes:
    """A place with all its versions, in one form on every backend."""
    held = [_version_bytes(version) for version in place.versions]
    return b"\x00".join([_canonical([place.index, place.round, place.id]), _message_bytes(place.message), *held])


def _version_bytes(version: Version) -> bytes:
    return _message_bytes(version.message) + version.replaced.isoformat().encode()


def _message_bytes(message: Message | None) -> bytes:
    return b"null" if message is None else _canonical(msgspec.json.decode(encode_message(message)))


def merged(
    left: Iterator[T], right: Iterator[U], key_of: Callable[[T | U], str]
) -> Iterator[tuple[T | None, U | None]]:
    """Two listings in the order of their keys as one: what both have comes together, what one lacks is None there."""
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and key_of(mine) < key_of(theirs)):
            yield mine, None
            mine = next(left, None)
        elif mine is None or key_of(theirs) < key_of(mine):
            yield None, theirs
            theirs = next(right, None)
        else:
            yield mine, theirs
            mine, theirs = next(left, None), next(right, None)

"""The reference backend: everything in this process's memory, written to be obviously right.

Every other backend must give the same answers. It keeps encoded copies, so what a caller does to a value afterwards does
not reach it, and it is the store behind ``memory:``.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable
from typing import Any

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, NotFound
from memwell.messages import forget_decoded
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage.memory.index import MemoryIndex
from memwell.storage.memory.kv import MemoryKeyValue
from memwell.storage.memory.log import MemoryLog, complaints
from memwell.storage.memory.state import Store, Stored, page_of
from memwell.storage.protocols import Backend, Blobs
from memwell.values import check_text


class MemoryBlobs(Blobs):
    """Bytes in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, space: Space, data: bytes) -> str:
        given.check_space(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        with self._store.use() as state:
            self._store.undo.update(state.blobs, {(space, digest): blob})
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        given.check_space(space)
        with self._store.use() as state:
            blob = state.blobs.get((space, given.check_digest(digest)))
        if blob is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return blob

    def delete(self, space: Space, digest: str) -> bool:
        given.check_space(space)
        with self._store.use() as state:
            known = (space, given.check_digest(digest)) in state.blobs
            self._store.undo.drop(state.blobs, [(space, digest)])
            return known

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        given.check_space(space)
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        with self._store.use() as state:
            digests = sorted(digest for owner, digest in state.blobs if owner == space and digest > start)
        return page_of(digests, limit, str)


class MemoryBackend(Backend):
    """A store that lives as long as this object. ``clock`` gives the time in seconds, for tests."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._store = Store(clock)
        self.log = MemoryLog(self._store)
        self.kv = MemoryKeyValue(self._store)
        self.index = MemoryIndex(self._store)
        self.blobs = MemoryBlobs(self._store)

    @property
    def durable(self) -> bool:
        return False

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        return self._store.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._store.transaction())

    def check(self) -> list[str]:
        with self._store.use() as state:
            threads = [(Thread(space, id_), one) for space, held in state.threads.items() for id_, one in held.items()]
            return [complaint for thread, known in threads for complaint in complaints(thread, known)]

    def scrub(self) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be scrubbed inside its own transaction")
        forget_decoded()

    def facts(self) -> dict[str, Any]:
        with self._store.use() as state:
            return {
                "kind": "memory",
                "threads": sum(map(len, state.threads.values())),
                "messages": sum(len(known.live) for held in state.threads.values() for known in held.values()),
                "entries": sum(map(len, state.entries.values())),
                "records": sum(map(len, state.records.values())),
                "blobs": len(state.blobs),
                "sealed": self._store.undo.sealed,
            }

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        now = self._store.clock()
        with self._store.use() as state:
            held = {space for part in (state.threads, state.records) for space, content in part.items() if content}
            held |= {space for space, entries in state.entries.items() if any(map(_lives_at(now), entries.values()))}
            held |= {space for space, _ in state.blobs}
        found = sorted((path, space) for space in held if (path := space.encoded()) > start)
        page = page_of(found, limit, lambda pair: pair[0])
        return Page([space for _, space in page.items], page.next)

    def seal(self, reason: str | None) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be sealed inside its own transaction")
        wanted = None if reason is None else check_text(reason, "a reason")
        with self._store.use():
            self._store.undo.sealed = wanted

    def close(self) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be closed inside its own transaction")
        self._store.closed = True


def _lives_at(now: float) -> Callable[[Stored], bool]:
    return lambda stored: stored[2] is None or stored[2] > now


__all__ = ["MemoryBackend", "MemoryBlobs", "MemoryIndex", "MemoryKeyValue", "MemoryLog"]

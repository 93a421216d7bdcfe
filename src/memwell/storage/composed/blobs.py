"""Blobs in another place, and the references to them in the home store. Bytes without a reference are not there.

A reference is written and its bytes are put in one transaction of the home store, so callers who put and delete the same
bytes wait for each other. Bytes are deleted after their reference is gone for good; a process that dies in between leaves
bytes that no reader sees, and ``reconcile`` removes them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any

from memwell.errors import BackendError, BackendUnavailable, NotFound
from memwell.records import Page, Space, paged
from memwell.storage import arguments as given
from memwell.storage.composed.feeding import is_own, own_space
from memwell.storage.protocols import Blobs, KeyValue

REFERENCES = "blob-references"
_PAGE = 1000


class PlacedBlobs(Blobs):
    """The bytes of ``opener``'s store, as far as ``kv`` refers to them.

    ``afterwards`` and ``if_undone`` have work done at the end of the home's transaction that the caller is inside of.
    """

    def __init__(
        self,
        kv: KeyValue,
        opener: Callable[[], Blobs],
        place: str,
        *,
        transaction: Callable[[], AbstractContextManager[None]],
        afterwards: Callable[[Callable[[], object]], None],
        if_undone: Callable[[Callable[[], object]], None],
    ) -> None:
        self._kv = kv
        self._opener = opener
        self._place = place
        self._transaction = transaction
        self._afterwards = afterwards
        self._if_undone = if_undone
        self._lock = threading.Lock()
        self._opened: Blobs | None = None

    def put(self, space: Space, data: bytes) -> str:
        there = own_space(given.check_space(space), REFERENCES)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        with self._transaction():
            self._kv.put(there, digest, {"bytes": len(blob), "space": list(space)})
            self._if_undone(lambda: self._remove(space, digest))
            self._part().put(space, blob)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        self._refer(space, digest)
        try:
            return self._part().get(space, digest)
        except NotFound as error:
            # Another caller may have deleted it between the two looks.
            self._refer(space, digest)
            raise BackendError(f"the bytes of blob {digest!r} are missing from {self._place}") from error

    def _refer(self, space: Space, digest: str) -> None:
        there = own_space(given.check_space(space), REFERENCES)
        if self._kv.get(there, given.check_digest(digest)) is None:
            raise NotFound(f"the space holds no blob {digest!r}")

    def delete(self, space: Space, digest: str) -> bool:
        there = own_space(given.check_space(space), REFERENCES)
        given.check_digest(digest)
        with self._transaction():
            known = self._kv.delete(there, digest)
            if known:
                self._afterwards(lambda: self._remove(space, digest))
        return known

    def _remove(self, space: Space, digest: str) -> bool:
        """Delete bytes without a reference; whether that was done. While their place is away they stay, unseen."""
        with suppress(BackendError), self._transaction():
            if self._kv.get(own_space(space, REFERENCES), digest) is None:
                return self._part().delete(space, digest)
        return False

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        page = self._kv.scan(own_space(given.check_space(space), REFERENCES), limit=limit, cursor=cursor)
        return Page([entry.key for entry in page.items], page.next)

    def count(self, spaces: Iterator[Space]) -> int:
        """How many there are, by the references in these spaces of the home store."""
        return sum(self._kv.count(space) for space in spaces if REFERENCES in space and is_own(space))

    # In step

    def problems(self, spaces: Iterator[Space]) -> list[str]:
        """What is referred to and missing, and what is there and not referred to."""
        return [complaint for space in spaces for complaint in self._compared(space)]

    def _compared(self, space: Space) -> Iterator[str]:
        referred, there = self._both(space)
        for digest in sorted(referred - there):
            yield f"the bytes of blob {digest} of the space {space!r} are missing from {self._place}"
        for digest in sorted(there - referred):
            yield f"nothing refers to the blob {digest} of the space {space!r} in {self._place}: run memwell reindex"

    def reconcile(self, spaces: Iterator[Space]) -> int:
        """Remove bytes without a reference; how many there were. Raises ``BackendUnavailable``."""
        removed = 0
        for space in spaces:
            referred, there = self._both(space)
            removed += sum(self._remove(space, digest) for digest in sorted(there - referred))
        return removed

    def _both(self, space: Space) -> tuple[set[str], set[str]]:
        part = self._part()
        there = set(paged(lambda cursor: part.scan(space, limit=_PAGE, cursor=cursor)))
        return set(paged(lambda cursor: self.scan(space, limit=_PAGE, cursor=cursor))), there

    def facts(self) -> dict[str, Any]:
        """Where the bytes are, and whether that place answers."""
        try:
            self._part().scan(Space("memwell", "asked"), limit=1)
        except BackendError as error:
            return {"place": self._place, "answers": False, "why": str(error)}
        return {"place": self._place, "answers": True}

    def _part(self) -> Blobs:
        with self._lock:
            if self._opened is None:
                try:
                    self._opened = self._opener()
                except BackendError as error:
                    raise BackendUnavailable(f"the blobs at {self._place} are away: {error}") from error
            return self._opened

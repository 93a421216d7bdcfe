"""Whether two stores hold the same, part by part: what they hold is put into one form and digested on both sides."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from memwell.records import Space
from memwell.runtime.moving.reading import (
    digests_of,
    entries_of,
    entry_bytes,
    info_bytes,
    place_bytes,
    place_pages,
    record_bytes,
    records_of,
    spaces_of,
    threads_of,
)
from memwell.storage.protocols import Backend


class Checksum(NamedTuple):
    """How many things of each kind a part of a space holds, and the digest of all of them in order."""

    counts: dict[str, int]
    digest: str
    lasting: str
    """The digest of what does not end by itself; empty when there is nothing."""


class _Thing(NamedTuple):
    kind: str
    data: bytes
    lasts: bool = True


def _entries(backend: Backend, space: Space) -> Iterator[_Thing]:
    for entry in entries_of(backend, space):
        yield _Thing("entries", entry_bytes(entry), entry.expires is None)


def _records(backend: Backend, space: Space) -> Iterator[_Thing]:
    for record in records_of(backend, space):
        yield _Thing("records", record_bytes(record))


def _threads(backend: Backend, space: Space) -> Iterator[_Thing]:
    for info in threads_of(backend, space):
        yield _Thing("threads", info_bytes(info))
        for places in place_pages(backend, info.thread, -1, info.next):
            for place in places:
                yield _Thing("messages", place_bytes(place))


def _blobs(backend: Backend, space: Space) -> Iterator[_Thing]:
    # The digest is asked of the bytes themselves: that a store lists one does not say that it still has what it is of.
    for digest in digests_of(backend, space):
        yield _Thing("blobs", hashlib.sha256(backend.blobs.get(space, digest)).digest() + digest.encode())


PARTS: Final[dict[str, Callable[[Backend, Space], Iterator[_Thing]]]] = {
    "entries": _entries,
    "records": _records,
    "threads": _threads,
    "blobs": _blobs,
}
"""What a space is made of, in the order in which it is copied."""


def checksum(backend: Backend, space: Space, part: str, tell: Callable[[int], None] | None = None) -> Checksum:
    """The checksum of one part of one space, read piece by piece."""
    digest, lasting, counts, lasts = hashlib.sha256(), hashlib.sha256(), Counter[str](), False
    for thing in PARTS[part](backend, space):
        framed = len(thing.data).to_bytes(8, "big") + thing.data
        digest.update(framed)
        if thing.lasts:
            lasting.update(framed)
            lasts = True
        counts[thing.kind] += 1
        if tell is not None:
            tell(thing.kind != "threads")
    return Checksum(dict(counts), digest.hexdigest(), lasting.hexdigest() if lasts else "")


class Total:
    """The checksum of what a store holds for good, made of those of its parts in the order of their spaces."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.counts = Counter[str]()
        self.spaces = 0

    def add(self, space: Space, checksums: dict[str, Checksum]) -> None:
        """Take in one space."""
        self.spaces += any(one.counts for one in checksums.values())
        for part, one in checksums.items():
            self.counts.update(one.counts)
            if one.lasting:
                self._digest.update(f"{space.encoded()} {part} {one.lasting}\n".encode())

    def hexdigest(self) -> str:
        """The checksum of all that was taken in."""
        return self._digest.hexdigest()


def total_of(backend: Backend) -> Total:
    """The checksum of a whole store."""
    total = Total()
    for space in spaces_of(backend):
        total.add(space, {part: checksum(backend, space, part) for part in PARTS})
    return total


__all__ = ["PARTS", "Checksum", "Total", "checksum", "total_of"]

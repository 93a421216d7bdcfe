"""Tags: which keys lie together.

A script of Redis touches the keys of one hash slot alone. What must change together in one script therefore shares a hash
tag: a thread, the entries of a space, its records, its blobs. The hash tag is one of a fixed number of buckets, so that a
flag for every bucket seals the whole store.

Ids never enter a key: they may be long and hold anything. A key has a digest instead.
"""

from __future__ import annotations

import binascii
import hashlib
from functools import lru_cache
from typing import NamedTuple

from memwell.records import Space, Thread

BUCKETS = 4096
SHARDS = 16
"""The list of all spaces is kept in this many pieces, so that no single key sees every new space."""


class Tag(NamedTuple):
    """What the keys of one thing begin with, the key of its bucket's seal, its hash slot, and where it is listed."""

    base: str
    seal: str
    slot: int
    parent: Tag | None = None
    member: str = ""


def slot_of(hash_tag: str) -> int:
    """The slot of a cluster that a hash tag falls into."""
    return binascii.crc_hqx(hash_tag.encode(), 0) % 16384


class Tags:
    """The tags of one store, whose keys all begin with one prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        # Whoever talks in a thread does so again: its tag need not be worked out for every message.
        self.thread = lru_cache(maxsize=4096)(self._thread)

    def thread_of(self, thread: Thread) -> Tag:
        """The messages of a thread; listed among the threads of its space."""
        return self.thread(thread.space, thread.id)

    def _thread(self, space: Space, id_: str) -> Tag:
        return self._made("t", f"{space.encoded()}\0{id_}", self.threads(space), id_)

    def threads(self, space: Space) -> Tag:
        """The list of the threads of a space."""
        return self._of_space("l", space)

    def entries(self, space: Space) -> Tag:
        """The entries of a space."""
        return self._of_space("k", space)

    def records(self, space: Space) -> Tag:
        """The records of a space."""
        return self._of_space("r", space)

    def blobs(self, space: Space) -> Tag:
        """The blobs of a space."""
        return self._of_space("b", space)

    def _of_space(self, kind: str, space: Space) -> Tag:
        path = space.encoded()
        shard = self.shard(int(hashlib.sha256(path.encode()).hexdigest()[0], 16) % SHARDS)
        # NUL is in no path and sorts before everything, so the members sort as their paths do.
        return self._made(kind, path, shard, f"{path}\0{kind}")

    def shard(self, number: int) -> Tag:
        """A piece of the list of all spaces."""
        return self._made("s", str(number))

    def state(self, transaction: str) -> Tag:
        """The state of a transaction."""
        return self._made("x", transaction, plain=transaction)

    def _made(self, kind: str, name: str, parent: Tag | None = None, member: str = "", *, plain: str = "") -> Tag:
        digest = hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()
        hash_tag = f"{self.prefix}:{digest[:3]}"
        return Tag(
            f"{{{hash_tag}}}{kind}:{plain or digest[3:43]}:", f"{{{hash_tag}}}seal", slot_of(hash_tag), parent, member
        )

    def seals(self) -> list[Tag]:
        """One tag for every bucket, for the sake of its seal."""
        found: list[Tag] = []
        for bucket in range(BUCKETS):
            hash_tag = f"{self.prefix}:{bucket:03x}"
            found.append(Tag(f"{{{hash_tag}}}seal:", f"{{{hash_tag}}}seal", slot_of(hash_tag)))
        return found


__all__ = ["BUCKETS", "SHARDS", "Tag", "Tags", "slot_of"]

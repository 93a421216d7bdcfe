"""What the home store remembers of the engine beside it: how far each space was fed, and which ids were deleted since.

The journal of a space says which records changed, but of those that are gone it knows no id any more. So a deletion leaves
a note of its ids in the same transaction, which goes when the engine has been told.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.storage.protocols import KeyValue
from memwell.values import new_id

MARKS = Space("memwell", "index")
_LEASE_S = 30.0
_LONGEST_KEY = 1000
_NOTED_TOGETHER = 500


class Mark(msgspec.Struct, frozen=True):
    """How far the engine was fed with a space."""

    space: tuple[str, ...]
    engine: str
    """The identity of what was fed. An engine with another one has nothing of it."""
    generation: str
    """Another one after every time that the space was fed anew."""
    state: int | None
    """The state of the home store that the engine has reached; None while it is fed anew."""
    dimensions: int
    by: str | None = None
    """Who is feeding it,"""
    until: float = 0.0
    """and when that one is taken for dead."""


class Held(NamedTuple):
    """A mark, and the version of its entry."""

    mark: Mark
    version: int


class Marks:
    """The marks of all spaces. Each is changed by compare-and-set, so two who feed one space notice each other."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv
        self._me = new_id()

    def get(self, space: Space) -> Held | None:
        """The space's mark, or None when it was never fed."""
        entry = self._kv.get(MARKS, _key(space))
        return None if entry is None else Held(msgspec.convert(entry.value, Mark), entry.version)

    def taken(self, held: Held) -> bool:
        """Whether another is feeding the space."""
        return held.mark.by not in (None, self._me) and held.mark.until > time.time()

    def begin(self, space: Space, held: Held | None, engine: str, dimensions: int) -> Held | None:
        """A new generation, fed by us; None when another was faster."""
        mark = Mark(tuple(space), engine, new_id(), None, dimensions)
        return self._put(mark, 0 if held is None else held.version, ours=True)

    def take(self, held: Held) -> Held | None:
        """Feed on from where the mark is, or go on feeding; None when another was faster."""
        return self._put(held.mark, held.version, ours=True)

    def settle(self, held: Held, state: int | None) -> bool:
        """The engine has reached this state, and we are done; False when another has come between."""
        return self._put(replace(held.mark, state=state), held.version, ours=False) is not None

    def distrust(self, held: Held, state: int) -> None:
        """Somebody who was taken for dead has fed too: let what came after his state be fed again."""
        while (now := self.get(Space(*held.mark.space))) is not None:
            known = now.mark.state
            if known is not None:
                known = min(known, state) if now.mark.generation == held.mark.generation else None
            if self._put(replace(now.mark, state=known), now.version, ours=False):
                return

    def remove(self, space: Space) -> None:
        """Let the space be fed anew."""
        self._kv.delete(MARKS, _key(space))

    def spaces(self) -> Iterator[Space]:
        """The spaces that were ever fed."""
        entries = paged(lambda cursor: self._kv.scan(MARKS, limit=_NOTED_TOGETHER, cursor=cursor))
        return (Space(*msgspec.convert(entry.value, Mark).space) for entry in entries)

    def _put(self, mark: Mark, version: int, *, ours: bool) -> Held | None:
        written = replace(mark, by=self._me if ours else None, until=time.time() + _LEASE_S if ours else 0.0)
        try:
            entry = self._kv.put(MARKS, _key(mark.space), msgspec.to_builtins(written), expect=version)
        except Conflict:
            return None
        return Held(written, entry.version)


class Note(NamedTuple):
    """A note of deleted ids, and the key it is kept under."""

    key: str
    ids: list[str]


class Notes:
    """The ids that were deleted, until the engine has been told."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def add(self, space: Space, ids: Sequence[str]) -> None:
        """Note deleted ids. Inside the transaction that deletes them."""
        for start in range(0, len(ids), _NOTED_TOGETHER):
            self._kv.put(own_space(space, "index-gone"), new_id(), list(ids[start : start + _NOTED_TOGETHER]))

    def read(self, space: Space) -> list[Note]:
        """The notes of a space."""
        there = own_space(space, "index-gone")
        return [
            Note(entry.key, cast("list[str]", entry.value))
            for entry in paged(lambda cursor: self._kv.scan(there, cursor=cursor))
        ]

    def remove(self, space: Space, notes: Sequence[Note]) -> None:
        """Drop notes that are done with."""
        for note in notes:
            self._kv.delete(own_space(space, "index-gone"), note.key)


_OWN = ("blob-references", "index-gone")


def own_space(space: Space, name: str) -> Space:
    """Where something about a space is kept beside it, so that both belong together for whoever locks by owner."""
    if len(space) + 2 <= MAX_SEGMENTS:
        return Space(*space, "memwell", name)
    return Space(*space[: MAX_SEGMENTS - 3], "memwell", name, hashlib.sha256(space.encoded().encode()).hexdigest())


def is_own(space: Space) -> bool:
    """Whether the composed store keeps its own notes there, which nobody else is to see."""
    if space[:1] == ("memwell",) and space[1:2] in (("index",), ("commits",), ("blob-spaces",), ("parts",)):
        return True
    return any(space[depth] == "memwell" and space[depth + 1] in _OWN for depth in range(1, len(space) - 1))


def _key(space: Sequence[str]) -> str:
    key = Space(*space).encoded()
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


__all__ = ["MARKS", "Held", "Mark", "Marks", "Note", "Notes", "is_own", "own_space"]

"""Marks on the messages of a conversation: named sets of places, kept in the same store.

A set of places is a whole number with one bit a place. It is stored in blocks of some thousand bits, so that marking ten
thousand messages writes a few values, and reading by mark reads no other message. The messages stay as they are: with marks
in their metadata, every mark set or removed would be another version of a message.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

from memwell.errors import Conflict
from memwell.filters import id_begins_with
from memwell.history.reading import key_part, thread_keys
from memwell.history.writing import History
from memwell.records import paged
from memwell.storage.protocols import Backend, ThreadInfo

_BLOCK = 4096
_ONES = re.compile("1+")
# Reading over this many unwanted messages costs about as much as another call of the store.
_GAP = 16


class MessageMarks:
    """The marks of one conversation. Every change is a compare-and-set; changes that belong together need a transaction."""

    def __init__(self, history: History) -> None:
        self._kv = cast(Backend, history.backend).kv
        self._space, prefix = thread_keys(history.thread)
        self._prefix = f"{prefix}agentscope/mark/"

    def places(self, mark: str, info: ThreadInfo) -> int:
        """The places that have this mark; the message of a place may have been removed since."""
        blocks = range(info.first // _BLOCK, info.next // _BLOCK + 1)
        found = ((block, self._kv.get(self._space, self._key(mark, block))) for block in blocks)
        return sum(_bits(entry.value) << block * _BLOCK for block, entry in found if entry is not None)

    def all(self) -> dict[str, int]:
        """Every mark with its places, in the order in which the marks were first used."""
        where = id_begins_with(self._prefix)
        found: dict[str, int] = {}
        since: dict[str, int] = {}
        for entry in paged(lambda cursor: self._kv.scan(self._space, where=where, limit=500, cursor=cursor)):
            fields = cast("dict[str, Any]", entry.value)
            name = fields["mark"]
            found[name] = found.get(name, 0) | _bits(fields) << fields["block"] * _BLOCK
            since[name] = min(since.get(name, fields["since"]), fields["since"])
        return {name: found[name] for name in sorted(found, key=since.__getitem__)}

    def add(self, mark: str, places: int) -> None:
        """Put the mark on these places."""
        for block, bits in _blocks(places):
            self._change(mark, block, bits, 0)

    def remove(self, mark: str, places: int) -> None:
        """Take the mark off these places."""
        for block, bits in _blocks(places):
            self._change(mark, block, 0, bits)

    def _change(self, mark: str, block: int, more: int, less: int) -> None:
        key = self._key(mark, block)
        while True:
            entry = self._kv.get(self._space, key)
            blank: dict[str, Any] = {"mark": mark, "block": block, "bits": "0", "since": time.time_ns()}
            held = blank if entry is None else cast("dict[str, Any]", entry.value)
            old = _bits(held)
            new = (old | more) & ~less
            try:
                if new and new != old:
                    expect = 0 if entry is None else entry.version
                    self._kv.put(self._space, key, {**held, "bits": f"{new:x}"}, expect=expect)
                elif old and not new and entry is not None:
                    self._kv.delete(self._space, key, expect=entry.version)
            except Conflict:
                # Another writer changed the block since it was read.
                continue
            return

    def _key(self, mark: str, block: int) -> str:
        return f"{self._prefix}{key_part(mark)}/{block:012d}"


def _bits(value: object) -> int:
    return int(cast("dict[str, str]", value)["bits"], 16)


def _blocks(places: int) -> Iterator[tuple[int, int]]:
    """The blocks that are not empty, each with its bits."""
    for block in range(places.bit_length() // _BLOCK + 1):
        if bits := places >> block * _BLOCK & (1 << _BLOCK) - 1:
            yield block, bits


def places_at(indexes: Iterable[int]) -> int:
    """The set of these places."""
    places = 0
    for index in indexes:
        places |= 1 << index
    return places


def every_place(info: ThreadInfo) -> int:
    """The set of all places of a conversation."""
    return (1 << info.next) - (1 << info.first)


def stretches(places: int) -> Iterator[tuple[int, int]]:
    """The ranges to read for these places: start and end (excluded), in order, small gaps included."""
    begun: tuple[int, int] | None = None
    # Mostly the latest messages are wanted, so the zeros before them are not searched.
    first = (places & -places).bit_length() - 1 if places else 0
    for run in _ONES.finditer(f"{places >> first:b}"[::-1]):
        start, end = first + run.start(), first + run.end()
        if begun is not None and start - begun[1] <= _GAP:
            begun = (begun[0], end)
            continue
        if begun is not None:
            yield begun
        begun = (start, end)
    if begun is not None:
        yield begun

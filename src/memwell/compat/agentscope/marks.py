"""Marks on the messages of a conversation, kept beside it in the same store.

A mark is a set of places, kept as bits, some thousand places to a value: marking ten thousand messages writes a few values,
and finding those with a mark, or all but those, reads no message that is not wanted. The messages themselves stay as they
are; were the marks in their metadata, every mark set or taken off would be another version of a message.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from memwell.filters import id_begins_with
from memwell.history import History
from memwell.history.reading import key_part, thread_keys
from memwell.records import paged
from memwell.storage.protocols import Backend, ThreadInfo

Places: TypeAlias = dict[int, int]
"""A set of places: by number of the block they are in, one bit for each place of the block."""

_BLOCK = 4096
_ONES = re.compile("1+")
# Reading on over so many messages that are not wanted costs about what another question to the store does.
_GAP = 16


class Marks:
    """The marks of one conversation. What is written in several steps belongs in a transaction of the caller's."""

    def __init__(self, history: History) -> None:
        self._kv = cast(Backend, history.backend).kv
        self._space, beside = thread_keys(history.thread)
        self._prefix = f"{beside}agentscope/mark/"

    def places(self, mark: str, info: ThreadInfo) -> Places:
        """Where the messages with this mark are, or were: a place may have been emptied since."""
        blocks = range(info.first // _BLOCK, info.next // _BLOCK + 1)
        found = ((block, self._kv.get(self._space, self._key(mark, block))) for block in blocks)
        return {block: int(_fields(entry.value)["bits"], 16) for block, entry in found if entry is not None}

    def all(self) -> dict[str, Places]:
        """Every mark with its places, in the order in which the marks came up."""
        where = id_begins_with(self._prefix)
        found: dict[str, Places] = {}
        since: dict[str, int] = {}
        for entry in paged(lambda cursor: self._kv.scan(self._space, where=where, limit=500, cursor=cursor)):
            fields = _fields(entry.value)
            name = fields["mark"]
            found.setdefault(name, {})[fields["block"]] = int(fields["bits"], 16)
            since[name] = min(since.get(name, fields["since"]), fields["since"])
        return {name: found[name] for name in sorted(found, key=since.__getitem__)}

    def put(self, mark: str, places: Places) -> None:
        """Put the mark on these places too."""
        for block, bits in places.items():
            self._change(mark, block, bits, 0)

    def take_off(self, mark: str, places: Places) -> None:
        """Take the mark off these places."""
        for block, bits in places.items():
            self._change(mark, block, 0, bits)

    def take_all_off(self, places: Places) -> None:
        """Take every mark off these places."""
        for mark, marked in self.all().items():
            self.take_off(mark, both(marked, places))

    def _change(self, mark: str, block: int, more: int, less: int) -> None:
        key = self._key(mark, block)
        entry = self._kv.get(self._space, key)
        blank: dict[str, Any] = {"mark": mark, "block": block, "bits": "0", "since": time.time_ns()}
        held = blank if entry is None else _fields(entry.value)
        old = int(held["bits"], 16)
        new = (old | more) & ~less
        if new and new != old:
            self._kv.put(self._space, key, {**held, "bits": f"{new:x}"})
        elif old and not new:
            self._kv.delete(self._space, key)

    def _key(self, mark: str, block: int) -> str:
        return f"{self._prefix}{key_part(mark)}/{block:012d}"


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value)


def at(indexes: Iterable[int]) -> Places:
    """The set of these places."""
    found: Places = {}
    for index in indexes:
        block, place = divmod(index, _BLOCK)
        found[block] = found.get(block, 0) | 1 << place
    return found


def every(info: ThreadInfo) -> Places:
    """The set of all places of a conversation."""
    found: Places = {}
    for block in range(info.first // _BLOCK, info.next // _BLOCK + 1):
        below_first = (1 << max(0, info.first - block * _BLOCK)) - 1
        below_next = (1 << min(_BLOCK, info.next - block * _BLOCK)) - 1
        found[block] = below_next & ~below_first
    return found


def both(left: Places, right: Places) -> Places:
    """The places that are in both sets."""
    return {block: bits for block in left if (bits := left[block] & right.get(block, 0))}


def without(left: Places, right: Places) -> Places:
    """The places of the first set that are not in the second."""
    return {block: bits for block in left if (bits := left[block] & ~right.get(block, 0))}


def either(left: Places, right: Places) -> Places:
    """The places that are in one of the sets or both."""
    return {block: left.get(block, 0) | right.get(block, 0) for block in left | right}


def holds(places: Places, index: int) -> bool:
    """Whether a place is in the set."""
    block, place = divmod(index, _BLOCK)
    return bool(places.get(block, 0) >> place & 1)


def stretches(places: Places) -> Iterator[tuple[int, int]]:
    """What to read to see all these places: from, and up to but not with, in order. Small gaps are read over."""
    begun: tuple[int, int] | None = None
    for start, stop in _runs(places):
        if begun is not None and start - begun[1] <= _GAP:
            begun = (begun[0], stop)
            continue
        if begun is not None:
            yield begun
        begun = (start, stop)
    if begun is not None:
        yield begun


def _runs(places: Places) -> Iterator[tuple[int, int]]:
    for block in sorted(places):
        lowest_first = f"{places[block]:b}"[::-1]
        for run in _ONES.finditer(lowest_first):
            yield block * _BLOCK + run.start(), block * _BLOCK + run.end()


__all__ = ["Marks", "Places", "at", "both", "either", "every", "holds", "stretches", "without"]

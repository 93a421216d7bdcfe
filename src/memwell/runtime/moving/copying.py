"""Bringing one part of one space of the target to what the source holds: only what differs is written.

What comes after what matters, for a copy that is taken while the source is in use. Entries say how far records and
conversations have been worked on, so they are copied before them; what refers to a blob is copied before the blobs. What
is then ahead of the entries is worked on once more by who opens the copy, and nothing is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

from memwell.errors import NotFound
from memwell.records import Record, Space, Thread
from memwell.runtime.moving.marks import Marks
from memwell.runtime.moving.reading import (
    MOST_BYTES,
    digests_of,
    entries_of,
    entry_weight,
    info_key,
    merged,
    place_pages,
    record_bytes,
    record_weight,
    records_of,
    threads_of,
)
from memwell.storage.protocols import Backend, Entry, ThreadInfo

T = TypeVar("T")

Tell: TypeAlias = Callable[[int], None]
"""Is told of so many things that were looked at."""

_BATCH = 500
_FEW_CHANGES = 2_000
"""Up to so many changes of a space are asked for by themselves; after more it is read through."""
_SMALL = 300
"""About how many bytes a message takes."""
_LONG = 20_000
"""A longer thread is copied in pieces that are each committed, so that a kill costs one piece and not all of it."""


class Writes:
    """Writes that are held back until there are enough for a transaction: a store of many small spaces needs few."""

    def __init__(self, target: Backend) -> None:
        self._target = target
        self._held: list[Callable[[], object]] = []
        self._count = 0
        self._weight = 0

    def add(self, write: Callable[[], object], weight: int = 0, count: int = 1) -> None:
        """Hold a write back, or write it with all that are held."""
        self._held.append(write)
        self._count += count
        self._weight += weight
        if self._count >= _BATCH or self._weight >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write all that is held, together. What cannot be written is given up; the next pass finds that it is missing."""
        held, self._held, self._count, self._weight = self._held, [], 0, 0
        if held:
            with self._target.together():
                for write in held:
                    write()


class Copier:
    """Copies from a source to a target. Each method returns how many things it had to write or take away."""

    def __init__(self, source: Backend, target: Backend, marks: Marks, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._marks = marks
        self._tell = tell
        self._writes = Writes(target)

    def flush(self) -> None:
        """Write what is still held back."""
        self._writes.flush()

    def entries(self, space: Space) -> int:
        """Entries are the same when their versions are."""
        kv = self._target.kv
        batch = _Batch(
            self._writes,
            lambda keys: [kv.delete(space, key) for key in keys],
            lambda entries: kv.restore(space, entries),
            entry_weight,
        )
        for mine, theirs in merged(entries_of(self._source, space), entries_of(self._target, space), _key):
            if mine is not None:
                self._tell(1)
                if theirs is None or theirs.version != mine.version:
                    batch.store(mine)
            elif theirs is not None:
                batch.drop(theirs.key)
        return batch.finish()

    def records(self, space: Space) -> int:
        """Records are the same in the same order; what the source's journal still tells is not looked for."""
        if "records" not in self._source.abilities:
            return 0
        if not self._source.index.info(space).records and "records" not in self._target.abilities:
            return 0
        state, known = self._source.index.info(space).state, self._marks.state_of(space)
        if known == state:
            self._tell(self._source.index.info(space).records)
            return 0
        few = self._few_changes(space, known, state)
        if few is not None:
            return few
        self._drop_vectors_of_another_size(space)
        batch = self._record_batch(space)
        self._align(batch, space)
        changed = batch.finish()
        self._writes.add(lambda: self._marks.set_state(space, state))
        return changed

    def _record_batch(self, space: Space) -> _Batch[Record]:
        index = self._target.index
        return _Batch(self._writes, lambda ids: index.delete(space, ids), index.upsert, record_weight)

    def _few_changes(self, space: Space, known: int | None, state: int) -> int | None:
        """Copy what the source says has changed; None when it must be read through to see."""
        if known is None or not 0 < state - known <= _FEW_CHANGES:
            return None
        changes = self._source.index.changes(space, known)
        # What went may have come back, behind the others; their numbers alone do not say whose place that was.
        if changes.whole or changes.gone or changes.state is None:
            return None
        batch = self._record_batch(space)
        for _, record in sorted(changes.records, key=lambda pair: pair[0]):
            self._tell(1)
            batch.store(record)
        changed, reached = batch.finish(), changes.state
        self._writes.add(lambda: self._marks.set_state(space, reached))
        return changed

    def _drop_vectors_of_another_size(self, space: Space) -> None:
        here, there = (one.index.info(space).dimensions for one in (self._source, self._target))
        if here is not None and there is not None and here != there:
            self._target.index.revector(space, {})

    def _align(self, batch: _Batch[Record], space: Space) -> None:
        """Walk both sides in their order. What the source adds, it adds at the end, so what is not next there is gone."""
        others: Iterator[Record] = records_of(self._target, space)
        other = next(others, None)
        for record in records_of(self._source, space):
            self._tell(1)
            while other is not None and other.id != record.id:
                batch.drop(other.id)
                other = next(others, None)
            if other is None or record_bytes(other) != record_bytes(record):
                batch.store(record)
            other = None if other is None else next(others, None)
        while other is not None:
            batch.drop(other.id)
            other = next(others, None)

    def threads(self, space: Space) -> int:
        """Threads are the same when their listings are."""
        changed = 0
        for mine, theirs in merged(threads_of(self._source, space), threads_of(self._target, space), _id):
            if mine is None:
                if theirs is not None:
                    self._drop_thread(theirs.thread)
                    changed += 1
                continue
            self._tell(mine.messages)
            reached = self._marks.reached(mine.thread) if _is_long(mine) else None
            if theirs is None or reached is not None or info_key(mine) != info_key(theirs):
                self._thread(mine, theirs, reached)
                changed += 1
        return changed

    def _drop_thread(self, thread: Thread) -> None:
        self._writes.add(lambda: self._target.log.delete(thread))

    def _thread(self, info: ThreadInfo, held: ThreadInfo | None, reached: int | None) -> None:
        same = held is not None and _made_of(held) == _made_of(info)
        if same and reached is not None:
            self._pieces(info, reached)
        elif held is not None and same and held.next <= info.next:
            after = held.next - 1
            self._writes.add(lambda: self._restore(info, after), _SMALL * (info.next - held.next))
        elif _is_long(info):
            self._begin(info)
            self._pieces(info, -1)
        else:
            self._writes.add(lambda: self._whole(info), _SMALL * info.messages)

    def _whole(self, info: ThreadInfo) -> None:
        self._target.log.delete(info.thread)
        self._marks.finish(info.thread)
        self._restore(info, -1)

    def _restore(self, info: ThreadInfo, after: int) -> None:
        """Copy the places behind an index; the listing is taken over even when there are none."""
        self._target.log.restore(info, [])
        for places in place_pages(self._source, info.thread, after, info.next):
            self._target.log.restore(info, places)

    def _begin(self, info: ThreadInfo) -> None:
        with self._target.together():
            self._target.log.delete(info.thread)
            self._marks.reach(info.thread, -1)
            self._target.log.restore(info, [])

    def _pieces(self, info: ThreadInfo, after: int) -> None:
        # A target without transactions may have a piece that is not noted.
        for places in place_pages(self._target, info.thread, after, info.next):
            after = places[-1].index
        for places in place_pages(self._source, info.thread, after, info.next):
            with self._target.together():
                self._target.log.restore(info, places)
                self._marks.reach(info.thread, places[-1].index)
        with self._target.together():
            self._target.log.restore(info, [])
            self._marks.finish(info.thread)

    def blobs(self, space: Space) -> int:
        """Blobs are the same when their digests are."""
        changed = 0
        for mine, theirs in merged(digests_of(self._source, space), digests_of(self._target, space), str):
            if theirs is None and mine is not None:
                changed += self._blob(space, mine)
            elif mine is None and theirs is not None:
                self._drop_blob(space, theirs)
                changed += 1
            self._tell(mine is not None)
        return changed

    def _blob(self, space: Space, digest: str) -> int:
        # It may have been deleted a moment ago; the next pass sees that.
        with suppress(NotFound):
            data = self._source.blobs.get(space, digest)
            self._writes.add(lambda: self._target.blobs.put(space, data), len(data))
        return 1

    def _drop_blob(self, space: Space, digest: str) -> None:
        self._writes.add(lambda: self._target.blobs.delete(space, digest))

    def forget(self, space: Space, part: str) -> None:
        """Take a part of a space out of the target, whatever it holds, so that it is copied anew."""
        self.flush()
        if part == "entries":
            for entry in entries_of(self._target, space):
                self._target.kv.delete(space, entry.key)
        elif part == "records":
            self._marks.set_state(space, None)
            for record in records_of(self._target, space):
                self._target.index.delete(space, [record.id])
        elif part == "threads":
            for info in threads_of(self._target, space):
                self._marks.finish(info.thread)
                self._target.log.delete(info.thread)
        else:
            for digest in digests_of(self._target, space):
                self._target.blobs.delete(space, digest)


def _is_long(info: ThreadInfo) -> bool:
    return info.next - info.first > _LONG


def _made_of(info: ThreadInfo) -> tuple[object, ...]:
    """What stays while a thread only grows."""
    return info.created, info.edits, info.first


def _key(entry: Entry) -> str:
    return entry.key


def _id(info: ThreadInfo) -> str:
    return info.thread.id


class _Batch(Generic[T]):
    """What is to be dropped and stored in one part of a space. What is dropped goes first: it may come back at the end."""

    def __init__(
        self,
        writes: Writes,
        drop: Callable[[list[str]], object],
        store: Callable[[list[T]], object],
        weight: Callable[[T], int],
    ) -> None:
        self._writes = writes
        self._drop = drop
        self._store = store
        self._weigh = weight
        self._stored: list[T] = []
        self._dropped: list[str] = []
        self._weight = 0
        self._changed = 0

    def store(self, item: T) -> None:
        self._stored.append(item)
        self._weight += self._weigh(item)
        self._hand_over_if_full()

    def drop(self, name: str) -> None:
        self._dropped.append(name)
        self._hand_over_if_full()

    def _hand_over_if_full(self) -> None:
        if len(self._stored) + len(self._dropped) >= _BATCH or self._weight >= MOST_BYTES:
            self.finish()

    def finish(self) -> int:
        """Hand over what is left; returns how many there were in all."""
        stored, dropped = self._stored, self._dropped
        if stored or dropped:
            self._writes.add(
                lambda: (self._drop(dropped), self._store(stored)), self._weight, len(stored) + len(dropped)
            )
        self._changed += len(stored) + len(dropped)
        self._stored, self._dropped, self._weight = [], [], 0
        return self._changed


__all__ = ["Copier", "Tell"]

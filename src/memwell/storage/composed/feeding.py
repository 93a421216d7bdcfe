"""Bringing an engine to the state of the rows, one space at a time.

The order is always: the rows are committed, the engine acknowledges, the mark is moved. Whoever dies in between leaves a
mark that is behind, and the next to feed does the same once more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from memwell.errors import BackendError
from memwell.records import Record, Space, paged
from memwell.storage.composed.attached import Attached
from memwell.storage.composed.marks import Held, Marks, Notes
from memwell.storage.protocols import Changes, IndexInfo, KeyValue, RecordIndex

PAGE = 1000
MOST_CHANGES = 10_000
"""A space that is further behind is fed anew, page by page: the changes of one call are all held in memory."""

Progress: TypeAlias = Callable[[int, int | None], None]


class Reconciled(NamedTuple):
    """What an engine had wrong: records it had not, and ids it should no longer have had."""

    missing: int = 0
    orphans: int = 0

    def __add__(self, other: object) -> Reconciled:
        if not isinstance(other, Reconciled):
            return NotImplemented
        return Reconciled(self.missing + other.missing, self.orphans + other.orphans)


class Feeding:
    """What is done to an engine so that it holds what the home store holds. Safe from several threads and processes."""

    def __init__(self, home: RecordIndex, kv: KeyValue, attached: Attached) -> None:
        self._home = home
        self._attached = attached
        # Of one process, one thread at a time; of several processes, the mark says who.
        self._turn = threading.RLock()
        self.marks = Marks(kv)
        self.notes = Notes(kv)

    def feed(self, space: Space, progress: Progress | None = None) -> bool:
        """Bring the engine to the home's state; False when another is at it. Raises ``BackendUnavailable``."""
        with self._turn:
            while True:
                reached = self._step(space, progress)
                if reached is not None:
                    return reached

    def _step(self, space: Space, progress: Progress | None) -> bool | None:
        """One piece of feeding: whether it is done, or None when there is more to do."""
        info, held = self._home.info(space), self.marks.get(space)
        if held is None and info.dimensions is None:
            return True
        if held is not None and self.marks.taken(held):
            return False
        if held is None or self._must_be_filled(held, info):
            return self._fill(space, held, info, progress)
        return self._follow(space, held, info)

    def rebuild(self, space: Space, progress: Progress | None = None) -> bool:
        """Drop what the engine has of a space and feed it anew; False when another is at it."""
        with self._turn:
            held = self.marks.get(space)
            if held is not None and self.marks.taken(held):
                return False
            self.marks.remove(space)
            self._attached.use(lambda engine: engine.forget(space))
            return self.feed(space, progress)

    def reconcile(self, space: Space) -> Reconciled | None:
        """Compare the ids both ways and mend what differs; None when another is feeding the space."""
        with self._turn:
            return self._mend(space) if self.feed(space) else None

    def _mend(self, space: Space) -> Reconciled | None:
        held = self.marks.get(space)
        if held is None:
            return self._forget_unknown(space)
        mine = self.marks.take(held)
        if mine is None:
            return None
        found = self._compare(space)
        self._settle(mine, held.mark.state)
        return found

    def differs(self, space: Space) -> bool:
        """Whether the engine holds another number of records than the home store has vectors, with nothing on its way."""
        before, held = self._home.info(space), self.marks.get(space)
        if held is not None and (held.mark.state != before.state or self.notes.read(space)):
            return False
        count = self._attached.use(lambda engine: engine.count(space))
        return count != before.vectors and self._home.info(space).state == before.state

    # One space

    def _must_be_filled(self, held: Held, info: IndexInfo) -> bool:
        mark = held.mark
        if mark.state is None or info.dimensions not in (None, mark.dimensions):
            return True
        if not 0 <= info.state - mark.state <= MOST_CHANGES:
            return True
        return mark.engine != self._attached.use(lambda engine: engine.identity(mark.dimensions))

    def _fill(self, space: Space, held: Held | None, info: IndexInfo, progress: Progress | None) -> bool | None:
        """Feed all of a space."""
        size = info.dimensions or (held.mark.dimensions if held else 0)
        identity = self._attached.use(lambda engine: engine.identity(size))
        mine = self.marks.begin(space, held, identity, size)
        if mine is None:
            return False
        self._attached.use(lambda engine: engine.forget(space))
        # What is written while the pages are read is behind this state, and follows.
        state, done, cursor = self._home.info(space).state, 0, None
        while True:
            page = self._home.scan(space, limit=PAGE, cursor=cursor)
            self._apply(space, page.items)
            done += len(page.items)
            if progress is not None:
                progress(done, info.records)
            if page.next is None:
                break
            cursor, mine = page.next, self.marks.take(mine)
            if mine is None:
                return False
        return None if self._settle(mine, state) else False

    def _follow(self, space: Space, held: Held, info: IndexInfo) -> bool | None:
        """Feed what changed since the mark."""
        if held.mark.state == info.state and not self.notes.read(space):
            return True
        mine = self.marks.take(held)
        if mine is None:
            return False
        changes = self._home.changes(space, held.mark.state)
        if changes.state is None:
            raise BackendError("an engine cannot be fed inside a transaction: what is written there may yet be undone")
        if changes.whole:
            return None if self.marks.settle(mine, None) else False
        self._tell(space, changes)
        if not self._settle(mine, changes.state):
            return False
        # Somebody may have deleted without a note: a program that opened the home store alone.
        if changes.gone and self.differs(space):
            return None if self._mend(space) is not None else False
        return None

    def _tell(self, space: Space, changes: Changes) -> None:
        # Read after the changes, so that there is a note of every deletion among them.
        notes = self.notes.read(space)
        self._apply(space, [record for _, record in changes.records])
        self.agree(space, [id_ for note in notes for id_ in note.ids])
        self.notes.remove(space, notes)

    def _apply(self, space: Space, records: Sequence[Record]) -> None:
        with_vector = [one for one in records if one.vector is not None]
        without = [one.id for one in records if one.vector is None]
        for start in range(0, len(with_vector), PAGE):
            part = with_vector[start : start + PAGE]
            self._attached.use(lambda engine, part=part: engine.store(space, part))
        if without:
            self._attached.use(lambda engine: engine.drop(space, without))

    def agree(self, space: Space, ids: Sequence[str]) -> None:
        """Let the engine have what the home store has of these ids now."""
        for start in range(0, len(ids), PAGE):
            part = ids[start : start + PAGE]
            kept = [one for one in self._home.get(space, part) if one.vector is not None]
            gone = sorted(set(part) - {one.id for one in kept})
            if kept:
                self._attached.use(lambda engine, kept=kept: engine.store(space, kept))
            if gone:
                self._attached.use(lambda engine, gone=gone: engine.drop(space, gone))

    def _settle(self, mine: Held, state: int | None) -> bool:
        if self.marks.settle(mine, state):
            return True
        # We were taken for dead and have written over what another fed.
        if state is not None:
            self.marks.distrust(mine, state)
        return False

    def _compare(self, space: Space) -> Reconciled:
        there = set(self._attached.use(lambda engine: list(engine.ids(space))))
        missing = 0
        for batch in _batches(paged(lambda cursor: self._home.scan(space, limit=PAGE, cursor=cursor))):
            lost = [one.id for one in batch if one.vector is not None and one.id not in there]
            there.difference_update(one.id for one in batch if one.vector is not None)
            self.agree(space, lost)
            missing += len(lost)
        self.agree(space, sorted(there))
        return Reconciled(missing, len(there))

    def _forget_unknown(self, space: Space) -> Reconciled:
        """A space without vectors that was never fed has nothing in the engine."""
        count = self._attached.use(lambda engine: engine.count(space))
        if count:
            self._attached.use(lambda engine: engine.forget(space))
        return Reconciled(orphans=count)


def _batches(records: Iterable[Record]) -> Iterable[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == PAGE:
            yield batch
            batch = []
    yield batch


__all__ = ["MOST_CHANGES", "PAGE", "Feeding", "Progress", "Reconciled"]

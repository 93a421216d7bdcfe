"""Bringing a vector engine to the state of the home store's rows, one space at a time.

The order is always: the rows are committed, the engine acknowledges, the mark is moved. A process that dies in between
leaves a mark that is behind, and the next to feed does the same once more. The journal of a space says which records
changed, but has no id of those that are gone. So a deletion leaves a note of its ids in the same transaction, which is
removed when the engine has dropped them.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import BackendError, Conflict, MemwellError
from memwell.records import MAX_SEGMENTS, Record, Space, paged
from memwell.storage.engines import Attached
from memwell.storage.protocols import Changes, IndexInfo, KeyValue, RecordIndex
from memwell.values import new_id

PAGE = 1000
MOST_CHANGES = 10_000
"""A space that is further behind is filled again, page by page: the changes of one call are all held in memory."""

Progress: TypeAlias = Callable[[int, int | None], None]
MARKS = Space("memwell", "index")
_LEASE_S = 30.0
_LONGEST_KEY = 1000
_NOTED_TOGETHER = 500
_TAKEN_NAP_S = 1.0
_LAST_WAIT_S = 10.0


# Marks and notes in the home store


class Mark(msgspec.Struct, frozen=True):
    """How far the engine was fed with a space."""

    space: tuple[str, ...]
    engine: str
    """The identity of what was fed. An engine with another one has nothing of it."""
    generation: str
    """Another one after every time that the space was filled."""
    state: int | None
    """The state of the home store that the engine has reached; None while it is filled."""
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
    """The marks of all spaces. Each is changed by compare-and-set, so two feeders of one space notice each other."""

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
        """A feeder whose lease had run out has fed, too: what came after its state is fed again."""
        while (now := self.get(Space(*held.mark.space))) is not None:
            known = now.mark.state
            if known is not None:
                known = min(known, state) if now.mark.generation == held.mark.generation else None
            if self._put(replace(now.mark, state=known), now.version, ours=False):
                return

    def remove(self, space: Space) -> None:
        """Have the space filled again."""
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
    """The ids that were deleted, until the engine has dropped them."""

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
    """Where something about a space is kept: under it, so that a store that locks by owner locks both."""
    if len(space) + 2 <= MAX_SEGMENTS:
        return Space(*space, "memwell", name)
    return Space(*space[: MAX_SEGMENTS - 3], "memwell", name, hashlib.sha256(space.encoded().encode()).hexdigest())


def is_own(space: Space) -> bool:
    """Whether the composed store keeps its own notes there, which are not listed."""
    if space[:1] == ("memwell",) and space[1:2] in (("index",), ("commits",), ("blob-spaces",), ("parts",)):
        return True
    return any(space[depth] == "memwell" and space[depth + 1] in _OWN for depth in range(1, len(space) - 1))


def _key(space: Sequence[str]) -> str:
    key = Space(*space).encoded()
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


# Feeding


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
        # One thread of a process at a time; among processes, the mark says which one feeds.
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
        """Drop what the engine has of a space and fill it again; False when another process feeds it."""
        with self._turn:
            held = self.marks.get(space)
            if held is not None and self.marks.taken(held):
                return False
            self.marks.remove(space)
            self._attached.use(lambda engine: engine.forget(space))
            return self.feed(space, progress)

    def reconcile(self, space: Space) -> Reconciled | None:
        """Compare the ids both ways and repair what differs; None when another process feeds the space."""
        with self._turn:
            return self._repair(space) if self.feed(space) else None

    def _repair(self, space: Space) -> Reconciled | None:
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
        """Fill the engine with all of a space."""
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
        # A program that opened the home store alone deletes without a note.
        if changes.gone and self.differs(space):
            return None if self._repair(space) is not None else False
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
        # The lease ran out, and this process has written over what another fed.
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


class Feeder:
    """Feeds the spaces that are due, and tries again what it could not.

    ``feed`` brings one space up to date and says whether it did; ``left_behind`` lists all spaces that processes before
    this one left behind.
    """

    def __init__(self, feed: Callable[[Space], bool], left_behind: Callable[[], Iterable[Space]]) -> None:
        self._feed = feed
        self._left_behind = left_behind
        self._due: set[Space] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._idle = True
        self._thread: threading.Thread | None = None
        self._process = 0

    def due(self, spaces: Iterable[Space]) -> None:
        """Let these be fed soon."""
        with self._changed:
            self._due.update(spaces)
            if self._stopped or not self._due:
                return
            # A thread does not cross a fork.
            if self._thread is None or self._process != os.getpid():
                self._process = os.getpid()
                self._thread = threading.Thread(target=self._run, name="memwell-feeder", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is due; whether that came to be."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._due or not self._idle:
                if self._stopped or not self._changed.wait(max(0.0, end - time.monotonic())):
                    return False
            return True

    def stop(self) -> None:
        """End the thread, after the piece of work that it is at."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and self._process == os.getpid() and thread is not threading.current_thread():
            thread.join(_LAST_WAIT_S)

    def _run(self) -> None:
        swept = False
        while (work := self._next()) is not None:
            failed = {space for space in work if not self._try(space)}
            if not swept and not failed:
                swept = self._sweep()
            with self._changed:
                self._due |= failed
                self._idle = True
                self._changed.notify_all()
                if failed and not self._stopped:
                    self._changed.wait(_TAKEN_NAP_S)

    def _next(self) -> list[Space] | None:
        with self._changed:
            while not self._due and not self._stopped:
                self._changed.wait()
            if self._stopped:
                return None
            work = list(self._due)
            self._due.clear()
            self._idle = False
            return work

    def _try(self, space: Space) -> bool:
        if self._stopped:
            return True
        try:
            return self._feed(space)
        except MemwellError:
            # The engine is away or the home store refuses: nothing is lost, the mark stays where it is.
            return False

    def _sweep(self) -> bool:
        try:
            for space in self._left_behind():
                if self._stopped:
                    break
                self._try(space)
        except MemwellError:
            return False
        return True

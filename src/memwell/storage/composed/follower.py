"""A vector engine that follows the home store: it gets a copy of the vectors and answers searches by vector.

Writes go to the home store alone. A background thread, the feeder, brings the engine to the state of the rows, one space at
a time, and stores the position that the engine has reached. The order is always: the rows are committed, the engine
acknowledges, the position is stored. A process that dies in between leaves a position that is behind, and the next feeder
does the same once more. The journal of a space names the records that changed, but has no id of deleted ones. So a
deletion stores its ids in the same transaction, and they are removed when the engine has dropped them.

A search asks the engine, reads what it found from the rows, and adds what changed since the engine was fed. Every score is
computed from the rows' own vectors. So an answer never waits for the feeder, and never shows what does not exist. Where the
engine is unavailable or too far behind, the home store answers.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from memwell._native import product
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, Conflict, MemwellError
from memwell.filters import Filter, FilterLike, as_filter, record_test
from memwell.records import Hit, Record, Space, Vector, as_vector, paged
from memwell.storage import arguments as given
from memwell.storage.composed.placed import Transaction, afterwards, is_own, own_space
from memwell.storage.protocols import Backend, Changes, IndexInfo, KeyValue, RecordIndex, VectorEngine, changes_between
from memwell.values import new_id

PAGE = 1000
_MAX_CHANGES = 10_000
"""A space that is further behind is filled again, page by page, because all changes of a call are held in memory."""

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int | None], None]
_POSITIONS = Space("memwell", "index")
_LEASE_S = 30.0
_MAX_KEY = 1000
_AT_ONCE = 500
_RETRY_S = 1.0
_STOP_S = 10.0
_FIRST_NAP_S, _LONGEST_NAP_S = 0.5, 30.0
_MAX_BEHIND = 1000
"""A search reads up to this many changes from the rows. With more, the home store answers."""
_SPARE = 8
_FURTHER = 4
_MAX_FETCHED = 2000


# Positions and deletions in the home store


class Position(msgspec.Struct, frozen=True):
    """How far the engine was fed with a space, and who feeds it."""

    space: tuple[str, ...]
    engine: str
    """The identity of the engine that was fed. An engine with another identity holds nothing of it."""
    generation: str
    """A new one each time the space is filled."""
    state: int | None
    """The state of the home store that the engine has reached; None while it is filled."""
    dimensions: int
    by: str | None = None
    """The process that holds the lease."""
    until: float = 0.0
    """When the lease ends."""
    version: int = 0
    """The version of its entry, which is not stored in it."""


class Positions:
    """The positions of all spaces, changed by compare-and-set, so that two feeders of one space notice each other."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv
        self._me = new_id()

    def get(self, space: Space) -> Position | None:
        """The space's position, or None when it was never fed."""
        entry = self._kv.get(_POSITIONS, _key(space))
        return None if entry is None else replace(msgspec.convert(entry.value, Position), version=entry.version)

    def taken(self, held: Position) -> bool:
        """Whether another process holds the lease of the space."""
        return held.by not in (None, self._me) and held.until > time.time()

    def begin(self, space: Space, held: Position | None, engine: str, dimensions: int) -> Position | None:
        """Begin a new generation and take its lease; None when another process was faster."""
        version = 0 if held is None else held.version
        return self._put(Position(tuple(space), engine, new_id(), None, dimensions, version=version), ours=True)

    def take(self, held: Position) -> Position | None:
        """Take or renew the lease; None when another process was faster."""
        return self._put(held, ours=True)

    def finish(self, held: Position, state: int | None) -> bool:
        """Store the state that the engine has reached and end the lease; False when another process took it."""
        return self._put(replace(held, state=state), ours=False) is not None

    def rewind(self, held: Position, state: int) -> None:
        """Go back to ``state``, because a feeder without a lease wrote too: what came after it is fed again."""
        while (now := self.get(Space(*held.space))) is not None:
            known = now.state
            if known is not None:
                known = min(known, state) if now.generation == held.generation else None
            if self._put(replace(now, state=known), ours=False):
                return

    def remove(self, space: Space) -> None:
        """Forget the position, so that the space is filled again."""
        self._kv.delete(_POSITIONS, _key(space))

    def spaces(self) -> Iterator[Space]:
        """The spaces with a position."""
        entries = paged(lambda cursor: self._kv.scan(_POSITIONS, limit=_AT_ONCE, cursor=cursor))
        return (Space(*msgspec.convert(entry.value, Position).space) for entry in entries)

    def _put(self, position: Position, *, ours: bool) -> Position | None:
        written = replace(position, by=self._me if ours else None, until=time.time() + _LEASE_S if ours else 0.0)
        value = {name: one for name, one in msgspec.to_builtins(written).items() if name != "version"}
        try:
            entry = self._kv.put(_POSITIONS, _key(position.space), value, expect=position.version)
        except Conflict:
            return None
        return replace(written, version=entry.version)


class Deletions:
    """The deleted ids of each space, until the engine has dropped them."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def add(self, space: Space, ids: Sequence[str]) -> None:
        """Store deleted ids, inside the transaction that deletes them."""
        for start in range(0, len(ids), _AT_ONCE):
            self._kv.put(own_space(space, "index-gone"), new_id(), list(ids[start : start + _AT_ONCE]))

    def read(self, space: Space) -> dict[str, list[str]]:
        """The ids that are pending, by the keys they are stored under."""
        there = own_space(space, "index-gone")
        entries = paged(lambda cursor: self._kv.scan(there, cursor=cursor))
        return {entry.key: cast("list[str]", entry.value) for entry in entries}

    def remove(self, space: Space, keys: Iterable[str]) -> None:
        """Remove deletions that the engine has made."""
        for key in keys:
            self._kv.delete(own_space(space, "index-gone"), key)


def _key(space: Sequence[str]) -> str:
    key = Space(*space).encoded()
    return key if len(key) <= _MAX_KEY else hashlib.sha256(key.encode()).hexdigest()


# The engine


class Attached:
    """The engine of a store. It is opened lazily, and after a failure not asked again for a while."""

    def __init__(self, opener: Callable[[], VectorEngine], name: str, place: str) -> None:
        self.name = name
        self.place = place
        """Where it is, without secrets."""
        self._opener = opener
        self._engine: VectorEngine | None = None
        self._lock = threading.Lock()
        self._nap = _FIRST_NAP_S
        self._asleep_until = 0.0
        self.away: str | None = None
        """Why it does not answer; None while it does, or was not asked yet."""

    @property
    def resting(self) -> bool:
        """Whether it failed a moment ago and is not asked yet."""
        return self.away is not None and time.monotonic() < self._asleep_until

    @property
    def most(self) -> int:
        """How many a search can find; 0 while it is not open."""
        return 0 if self._engine is None else self._engine.most

    def use(self, operation: Callable[[VectorEngine], T]) -> T:
        """The engine's answer. Raises ``BackendUnavailable``, at once if it failed a moment ago."""
        if self.resting:
            raise BackendUnavailable(f"{self.name} at {self.place} is unavailable: {self.away}")
        try:
            answer = operation(self._opened())
        except (BackendError, ConfigurationError) as error:
            self._failed(error)
            raise BackendUnavailable(f"{self.name} at {self.place} does not answer: {error}") from error
        self.away, self._nap = None, _FIRST_NAP_S
        return answer

    def facts(self) -> dict[str, Any]:
        """Its place and whether it answers."""
        try:
            own = self.use(lambda engine: engine.facts())
        except BackendUnavailable:
            return {"kind": self.name, "engine": self.name, "place": self.place, "answers": False, "why": self.away}
        return {"kind": self.name, "engine": self.name, "place": self.place, "answers": True, **own}

    def wake(self) -> None:
        """Ask it at the next call, even if it failed a moment ago."""
        self._asleep_until = 0.0

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            # What it did not store is in the home, and is fed later.
            with suppress(BackendError):
                engine.close()

    def _opened(self) -> VectorEngine:
        with self._lock:
            if self._engine is None:
                self._engine = self._opener()
            return self._engine

    def _failed(self, error: Exception) -> None:
        self.away = str(error)
        self._asleep_until = time.monotonic() + self._nap
        self._nap = min(2 * self._nap, _LONGEST_NAP_S)


# Feeding


class Reconciled(NamedTuple):
    """What was wrong in an engine: records it lacked, and ids that no longer exist."""

    missing: int = 0
    orphans: int = 0


class Feeding:
    """Brings an engine to the state of the home store. Safe for several threads and processes."""

    def __init__(self, home: RecordIndex, kv: KeyValue, attached: Attached) -> None:
        self._home = home
        self._attached = attached
        # One thread of a process feeds at a time; among processes, the lease decides.
        self._turn = threading.RLock()
        self.positions = Positions(kv)
        self.deletions = Deletions(kv)

    def feed(self, space: Space, progress: Progress | None = None) -> bool:
        """Bring the engine to the home's state; False when another process does. Raises ``BackendUnavailable``."""
        with self._turn:
            while True:
                reached = self._step(space, progress)
                if reached is not None:
                    return reached

    def _step(self, space: Space, progress: Progress | None) -> bool | None:
        """One step of feeding: whether it succeeded, or None when there is more to do."""
        info, held = self._home.info(space), self.positions.get(space)
        if held is None and info.dimensions is None:
            return True
        if held is not None and self.positions.taken(held):
            return False
        if held is None or self._must_be_filled(held, info):
            return self._fill(space, held, info, progress)
        return self._follow(space, held, info)

    def rebuild(self, space: Space, progress: Progress | None = None) -> bool:
        """Empty the engine of a space and fill it again; False when another process feeds it."""
        with self._turn:
            held = self.positions.get(space)
            if held is not None and self.positions.taken(held):
                return False
            self.positions.remove(space)
            self._attached.use(lambda engine: engine.forget(space))
            return self.feed(space, progress)

    def reconcile(self, space: Space) -> Reconciled | None:
        """Compare the ids both ways and repair what differs; None when another process feeds the space."""
        with self._turn:
            return self._repair(space) if self.feed(space) else None

    def _repair(self, space: Space) -> Reconciled | None:
        held = self.positions.get(space)
        if held is None:
            return self._forget_unknown(space)
        mine = self.positions.take(held)
        if mine is None:
            return None
        found = self._compare(space)
        self._finish(mine, held.state)
        return found

    def differs(self, space: Space) -> bool:
        """Whether the engine's count differs from the home store's vectors while no change is pending."""
        before, held = self._home.info(space), self.positions.get(space)
        if held is not None and (held.state != before.state or self.deletions.read(space)):
            return False
        count = self._attached.use(lambda engine: engine.count(space))
        return count != before.vectors and self._home.info(space).state == before.state

    # One space

    def _must_be_filled(self, held: Position, info: IndexInfo) -> bool:
        if held.state is None or info.dimensions not in (None, held.dimensions):
            return True
        if not 0 <= changes_between(held.state, info.state) <= _MAX_CHANGES:
            return True
        return held.engine != self._attached.use(lambda engine: engine.identity(held.dimensions))

    def _fill(self, space: Space, held: Position | None, info: IndexInfo, progress: Progress | None) -> bool | None:
        """Fill the engine with all of a space."""
        size = info.dimensions or (held.dimensions if held else 0)
        identity = self._attached.use(lambda engine: engine.identity(size))
        mine = self.positions.begin(space, held, identity, size)
        if mine is None:
            return False
        self._attached.use(lambda engine: engine.forget(space))
        # What is written while the pages are read comes after this state, and follows.
        state, done = self._home.info(space).state, 0
        for records in self._pages(space):
            self._apply(space, records)
            done += len(records)
            if progress is not None:
                progress(done, info.records)
            mine = self.positions.take(mine)
            if mine is None:
                return False
        return None if self._finish(mine, state) else False

    def _pages(self, space: Space) -> Iterator[list[Record]]:
        records = paged(lambda cursor: self._home.scan(space, limit=PAGE, cursor=cursor))
        while page := list(islice(records, PAGE)):
            yield page

    def _follow(self, space: Space, held: Position, info: IndexInfo) -> bool | None:
        """Feed what changed since the position."""
        if held.state == info.state and not self.deletions.read(space):
            return True
        mine = self.positions.take(held)
        if mine is None:
            return False
        changes = self._home.changes(space, held.state)
        if changes.state is None:
            raise BackendError("an engine cannot be fed inside a transaction: what is written there may yet be undone")
        if changes.whole:
            return None if self.positions.finish(mine, None) else False
        self._send_changes(space, changes)
        if not self._finish(mine, changes.state):
            return False
        # A program that opened the home store alone stores no deletions.
        if changes.gone and self.differs(space):
            return None if self._repair(space) is not None else False
        return None

    def _send_changes(self, space: Space, changes: Changes) -> None:
        # Read after the changes, so that every deletion among them is known.
        deletions = self.deletions.read(space)
        self._apply(space, [record for _, record in changes.records])
        self.agree(space, [id_ for ids in deletions.values() for id_ in ids])
        self.deletions.remove(space, deletions)

    def _apply(self, space: Space, records: Sequence[Record], ids: Iterable[str] = ()) -> None:
        """Copy records to the engine; those of ``ids`` that are not among them, or have no vector, it drops."""
        stored = [one for one in records if one.vector is not None]
        for start in range(0, len(stored), PAGE):
            part = stored[start : start + PAGE]
            self._attached.use(lambda engine, part=part: engine.store(space, part))
        dropped = sorted({*ids, *(one.id for one in records)} - {one.id for one in stored})
        if dropped:
            self._attached.use(lambda engine: engine.drop(space, dropped))

    def agree(self, space: Space, ids: Sequence[str]) -> None:
        """Copy the current state of these ids to the engine."""
        for start in range(0, len(ids), PAGE):
            part = ids[start : start + PAGE]
            self._apply(space, self._home.get(space, part), part)

    def _finish(self, mine: Position, state: int | None) -> bool:
        if self.positions.finish(mine, state):
            return True
        # The lease ended, and this process has overwritten what another fed.
        if state is not None:
            self.positions.rewind(mine, state)
        return False

    def _compare(self, space: Space) -> Reconciled:
        there = set(self._attached.use(lambda engine: list(engine.ids(space))))
        missing = 0
        for batch in self._pages(space):
            lost = [one.id for one in batch if one.vector is not None and one.id not in there]
            there.difference_update(one.id for one in batch if one.vector is not None)
            self.agree(space, lost)
            missing += len(lost)
        self.agree(space, sorted(there))
        return Reconciled(missing, len(there))

    def _forget_unknown(self, space: Space) -> Reconciled:
        """Empty the engine of a space that was never fed."""
        count = self._attached.use(lambda engine: engine.count(space))
        if count:
            self._attached.use(lambda engine: engine.forget(space))
        return Reconciled(orphans=count)


class Feeder:
    """The background thread that feeds spaces and retries what failed.

    ``feed`` brings one space up to date and says whether it did; ``behind`` lists the spaces that earlier processes left
    behind.
    """

    def __init__(self, feed: Callable[[Space], bool], behind: Callable[[], Iterable[Space]]) -> None:
        self._feed = feed
        self._behind = behind
        self._due: set[Space] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._idle = True
        self._thread: threading.Thread | None = None
        self._process = 0

    def due(self, spaces: Iterable[Space]) -> None:
        """Schedule these spaces."""
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
        """Wait until nothing is pending; False when the time was too short."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._due or not self._idle:
                if self._stopped or not self._changed.wait(max(0.0, end - time.monotonic())):
                    return False
            return True

    def stop(self) -> None:
        """End the thread after its current step."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and self._process == os.getpid() and thread is not threading.current_thread():
            thread.join(_STOP_S)

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
                    self._changed.wait(_RETRY_S)

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
            # The engine is unavailable or the home store refuses. Nothing is lost: the position stays where it is.
            return False

    def _sweep(self) -> bool:
        try:
            for space in self._behind():
                if self._stopped:
                    break
                self._try(space)
        except MemwellError:
            return False
        return True


# Searching


class _Question(NamedTuple):
    space: Space
    vector: Vector
    limit: int
    where: Filter | None


def _asked_at_home(name: str) -> Any:
    """A method that the home store answers alone."""

    def call(self: FollowedIndex, *args: Any, **options: Any) -> Any:
        return getattr(self.home, name)(*args, **options)

    return call


class FollowedIndex(RecordIndex):
    """The index of ``home``, with ``attached`` to search by vector in spaces of more than ``ask_above`` vectors."""

    def __init__(self, home: Backend, attached: Attached, ask_above: int) -> None:
        self._store = home
        self.home = home.index
        self._ask_above = ask_above
        self.attached = attached
        self.feeding = Feeding(home.index, home.kv, attached)
        self._feeder = Feeder(self._feed, self._behind)
        self.due = self._feeder.due
        self._suspects: set[Space] = set()

    # Writing: to the home store alone

    def upsert(self, records: Sequence[Record]) -> None:
        checked = given.check_records(records)
        self.home.upsert(list(checked.values()))
        self._touched({space for space, _ in checked})

    def _touched(self, spaces: Iterable[Space]) -> None:
        """Schedule spaces that were written to. The feeder cannot see uncommitted rows, so it waits for the commit."""
        found = list(spaces)
        afterwards(self._store, lambda: self.due(found))

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        given.check_space(space)
        wanted = list(dict.fromkeys(given.check_ids(ids)))
        with Transaction(self._store):
            gone = self.home.delete(space, wanted)
            if gone:
                self.feeding.deletions.add(space, wanted)
        if gone:
            self._touched([space])
        return gone

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        self.home.revector(space, vectors)
        self._touched([space])

    # Reading

    get, scan, match = _asked_at_home("get"), _asked_at_home("scan"), _asked_at_home("match")
    changes, pieces = _asked_at_home("changes"), _asked_at_home("pieces")
    numbered, metadata = _asked_at_home("numbered"), _asked_at_home("metadata")
    metadata_of = _asked_at_home("metadata_of")
    keep_cache, kept_cache = _asked_at_home("keep_cache"), _asked_at_home("kept_cache")

    def info(self, space: Space) -> IndexInfo:
        info = self.home.info(space)
        return replace(info, search=self.attached.name) if self._answers(space, info) else info

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        question = _Question(given.check_space(space), as_vector(vector), given.check_limit(limit), as_filter(where))
        try:
            hits = self._from_engine(question)
        except BackendUnavailable:
            if self.attached.away is None:
                # The home store itself cannot be reached.
                raise
            self.due([space])
            hits = None
        return self.home.near(space, vector, limit=limit, where=where) if hits is None else hits

    def _answers(self, space: Space, info: IndexInfo) -> bool:
        held = self.feeding.positions.get(space) if info.vectors > self._ask_above else None
        if held is None or held.state is None or self.attached.away is not None:
            return False
        return held.dimensions == info.dimensions and 0 <= changes_between(held.state, info.state) <= _MAX_BEHIND

    def _from_engine(self, question: _Question) -> list[Hit] | None:
        """Hits from the engine and the changes since; None when they cannot answer."""
        space = question.space
        info = self.home.info(space)
        if info.vectors <= self._ask_above or len(question.vector) != info.dimensions or self.attached.resting:
            return None
        held = self.feeding.positions.get(space)
        if held is None or held.state is None or held.dimensions != info.dimensions:
            self.due([space])
            return None
        behind = changes_between(held.state, info.state)
        if held.state != info.state:
            self.due([space])
        if not 0 <= behind <= _MAX_BEHIND:
            return None
        found = self._search(question, info, held.state, question.limit + behind + _SPARE)
        again = self.feeding.positions.get(space)
        # While it is being filled, the engine holds only a part.
        return found if again is not None and again.generation == held.generation else None

    def _search(self, question: _Question, info: IndexInfo, state: int, wanted: int) -> list[Hit] | None:
        space, vector, limit, where = question
        while wanted <= max(_MAX_FETCHED, limit):
            asked = wanted
            found = self._asked(question, asked)
            # Read after the search, so that everything fed meanwhile is among them.
            changes = self.home.changes(space, state)
            if changes.state is None or changes.whole:
                return None
            kept, fresh = self._rows(question, found, changes)
            if len(kept) >= limit:
                return _ranked(vector, kept + fresh, limit)
            if len(found) < min(asked, self.attached.most):
                if where is None and len(kept) + len(fresh) < min(limit, info.vectors):
                    self._suspects.add(space)
                    self.due([space])
                    return None
                return _ranked(vector, kept + fresh, limit)
            if asked >= self.attached.most:
                return None
            wanted = asked * _FURTHER
        return None

    def _asked(self, question: _Question, count: int) -> list[tuple[str, float]]:
        space, vector = question.space, question.vector
        return self.attached.use(lambda engine: engine.near(space, vector, min(count, engine.most)))

    def _rows(
        self, question: _Question, found: list[tuple[str, float]], changes: Changes
    ) -> tuple[list[Record], list[Record]]:
        """The unchanged rows among what was found, and the changed rows; each of those that satisfy the question."""
        changed = {record.id: record for _, record in changes.records}
        rows = self.home.get(question.space, [id_ for id_, _ in found if id_ not in changed])
        size = len(question.vector)
        satisfies = None if question.where is None else record_test(question.where)

        def asked_for(record: Record) -> bool:
            fits = record.vector is not None and len(record.vector) == size
            return fits and (satisfies is None or satisfies(record))

        return list(filter(asked_for, rows)), list(filter(asked_for, changed.values()))

    # Feeding

    def _feed(self, space: Space) -> bool:
        if not self.feeding.feed(space):
            return False
        if space in self._suspects:
            if self.feeding.differs(space) and self.feeding.reconcile(space) is None:
                return False
            self._suspects.discard(space)
        return True

    def _behind(self) -> Iterator[Space]:
        for space in self.spaces():
            info, held = self.home.info(space), self.feeding.positions.get(space)
            if held is None:
                behind = info.vectors > 0
            else:
                behind = held.state != info.state or bool(self.feeding.deletions.read(space))
            if behind:
                yield space

    def spaces(self) -> Iterator[Space]:
        """All spaces of the home store that may hold records."""
        found = paged(lambda cursor: self._store.spaces(limit=PAGE, cursor=cursor))
        return (space for space in found if not is_own(space))

    def catch_up(self, space: Space) -> bool:
        """Feed a space now; False when another process does. Raises ``BackendUnavailable``."""
        self.attached.wake()
        return self._feed(space)

    def catch_up_everywhere(self) -> None:
        """Feed every space that is behind. Raises ``BackendUnavailable``."""
        for space in list(self._behind()):
            self.catch_up(space)

    def wait(self, seconds: float) -> bool:
        """Wait until the feeder has nothing pending; False when the time was too short."""
        return self._feeder.wait(seconds)

    def reconcile(self, space: Space | None = None, progress: Progress | None = None) -> Reconciled:
        """Compare the engine with the rows and repair it, one space or all. Raises ``BackendUnavailable``."""
        self.attached.wake()
        spaces = [space] if space is not None else self._everywhere()
        missing = orphans = 0
        for number, one in enumerate(spaces):
            found = self.feeding.reconcile(one) or Reconciled()
            missing, orphans = missing + found.missing, orphans + found.orphans
            self._suspects.discard(one)
            if progress is not None:
                progress(number + 1, len(spaces))
        return Reconciled(missing, orphans)

    def rebuild(self, space: Space | None = None, progress: Progress | None = None) -> int:
        """Fill the engine again from the rows, one space or all; how many spaces. Raises ``BackendUnavailable``."""
        self.attached.wake()
        spaces = [space] if space is not None else self._everywhere()
        return sum(self.feeding.rebuild(one, progress) for one in spaces)

    def _everywhere(self) -> list[Space]:
        there = self.attached.use(lambda engine: list(engine.spaces()))
        return sorted({*self.spaces(), *there}, key=Space.encoded)

    def problems(self) -> list[str]:
        """In what the engine's counts disagree with the rows, apart from pending changes."""
        if self.attached.resting:
            return []
        try:
            spaces = sorted({*self.spaces(), *self.feeding.positions.spaces()}, key=Space.encoded)
            return [found for space in spaces if (found := self._problem(space)) is not None]
        except BackendUnavailable:
            return []

    def _problem(self, space: Space) -> str | None:
        info = self.home.info(space)
        if info.vectors and self.feeding.positions.get(space) is None:
            return None
        if not self.feeding.differs(space):
            return None
        count = self.attached.use(lambda engine: engine.count(space))
        return (
            f"{self.attached.name} holds {count:,} vectors of the space {space!r}, and the store {info.vectors:,}: "
            "run memwell reindex"
        )

    def facts(self) -> dict[str, Any]:
        """Where the engine is, whether it answers, and how many spaces it is behind in."""
        return {**self.attached.facts(), "spaces_behind": sum(1 for _ in self._behind())}

    def close(self) -> None:
        """Stop the feeder and close the engine."""
        self._feeder.stop()
        self.attached.close()


def _ranked(vector: Vector, records: list[Record], limit: int) -> list[Hit]:
    """The best records by exact cosine."""
    if not records:
        return []
    rows = np.array([np.asarray(one.vector, dtype=np.float32) for one in records])
    scores = product(rows, np.asarray(vector, dtype=np.float32)) / np.linalg.norm(rows, axis=1)
    best: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
    return [Hit(replace(records[at], vector=None), float(scores[at])) for at in best]

"""The worker: indexes in the background what was remembered, and removes from the files what was erased, in one thread for
each engine.

The worker keeps no state of its own. What is to be done is in the journals of the store, so a worker may be killed at any
moment, and the next one goes on after the last commit. The workers of all processes share one list of spaces with pending
work (``jobs.PendingList``), and each space is owned by one worker at a time. Two that work on one space would lose nothing:
the second finds the journal moved on, and stores nothing.

Spaces take turns after each batch, so that a large one does not hold up the others.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from msgspec.structs import replace

from memwell.errors import BackendError, MemwellError, ReadOnlyStore
from memwell.longterm.changing import Eraser
from memwell.longterm.indexing import BATCH
from memwell.longterm.journal import Journal, PendingWork, inner_space, knowledge_space
from memwell.longterm.memory import Memory
from memwell.records import MAX_SEGMENTS, Space
from memwell.runtime.jobs import LEASE_S, REGISTRY, PendingList
from memwell.storage.protocols import Backend
from memwell.storage.scrubbing import SCRUBS, any_scrub_pending, scrub_pending

_log = logging.getLogger("memwell.jobs")

_LOOK_S = 5.0
"""How often the pending list is read, for spaces without a notification."""
_AGAIN_S = 1.0
"""The first pause before failed work, or work of a space that another process owned, is tried again; it then doubles."""
_LONGEST_PAUSE_S = 30.0
_SURE_S = 1.0
"""How long a process that does the work itself assumes that a space it has listed is still on the list."""
_GATHERING_S = 1.0
"""How long a pass of scrubbing waits for more erasures."""
_SCRUB_PAUSE_S = 5.0
"""The shortest pause after scrubbing. A long pass has one of ten times its length."""
_USES_EVERY_S = 30.0
_CLOSING_S = 10.0
_PURGE_EVERY_S = 86_400.0
_PURGED_S = 3_600.0
"""How long a worker does not ask again whether a space was purged."""
_MOST_KNOWN = 10_000
_TOPIC = "memwell work "

_delayed: ContextVar[dict[Space, Callable[[Space], None]] | None] = ContextVar("memwell_delayed", default=None)


class _Left(Enum):
    """The state of a space after a batch of work: finished, more to do, or to be tried again later."""

    NOTHING = auto()
    MORE = auto()
    LATER = auto()


class _Uses(NamedTuple):
    """How often memories were recalled since the counts were last stored, and when last."""

    counts: Counter[str]
    last: dict[str, datetime]


@contextmanager
def notified_afterwards() -> Generator[None]:
    """Delay notifications of pending work until the block ends; an error drops them.

    It encloses a transaction: a worker that is notified before the commit finds nothing.
    """
    spaces: dict[Space, Callable[[Space], None]] = {}
    token = _delayed.set(spaces)
    try:
        yield
    finally:
        _delayed.reset(token)
    for space, notify in spaces.items():
        notify(space)


def is_delayed(space: Space, notify: Callable[[Space], None]) -> bool:
    """Whether the notification of this space waits for the end of ``notified_afterwards``."""
    spaces = _delayed.get()
    if spaces is None:
        return False
    spaces[space] = notify
    return True


class Worker:
    """Does the pending work of spaces, in one thread that starts when there is some."""

    def __init__(
        self,
        backend: Backend,
        memory_of: Callable[[Space], Memory],
        *,
        retention_s: float = 30 * 86_400.0,
        prepare: Callable[[Space], bool] | None = None,
    ) -> None:
        self._backend = backend
        self._memory_of = memory_of
        self._prepare = prepare
        """Makes a space ready for its first question; False when that is to be tried again."""
        self._prepared: set[Space] = set()
        """The spaces that were prepared, with no large work since."""
        self._unprepared: set[Space] = set()
        """The spaces whose work is done, and that are to be prepared."""
        self._retention_s = retention_s
        self._pending = PendingList(backend.kv, REGISTRY, lease_s=LEASE_S)
        self._sure: dict[Space, float] = {}
        """When a space was last seen on the list."""
        self._waiting: set[Space] = set()
        """The spaces with work that is due."""
        self._others: set[Space] = set()
        """Listed spaces whose work cannot be done here."""
        self._unfinished: dict[Space, Eraser] = {}
        """Kept until their work is done: they count failed tries."""
        self._put_off: dict[Space, tuple[float, float]] = {}
        """When a space whose work failed is tried again, and after how long a pause."""
        self._purged: dict[Space, float] = {}
        """Until when a space is known to be purged."""
        self._uses: dict[Space, _Uses] = {}
        self._lock = threading.Lock()
        self._owned: set[Space] = set()
        self._looked = self._scrub_again = float("-inf")
        self._scrub_due = float("inf")
        """When the next pass of scrubbing begins."""
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._stop_listening: Callable[[], None] | None = None

    def schedule(self, space: Space) -> None:
        """List a space with pending work, and do the work here."""
        self._list(space, sure_s=_SURE_S)
        self._add(space)

    def announce(self, space: Space) -> None:
        """List a space with pending work, for the worker of any process."""
        self._list(space)
        # The list is enough: a notification only makes it sooner.
        with suppress(MemwellError):
            self._backend.notify(_TOPIC + space.encoded())

    def _list(self, space: Space, *, sure_s: float = 0.0) -> None:
        now = time.monotonic()
        if now - self._sure.get(space, float("-inf")) < sure_s:
            return
        # The journal holds the work. When the space cannot be listed, the worker here does it all the same, or else the
        # next process that recalls from the space or writes to it.
        try:
            # A worker that is idle begins at once; the spaces of a busy one are free for others.
            self._pending.offer(space.encoded(), mine=sure_s > 0 and not self._waiting)
            self._sure[space] = now
        except ReadOnlyStore:
            raise
        except BackendError as error:
            _log.warning("%r could not be listed as pending: %s", space, error)

    def _add(self, space: Space) -> None:
        self._waiting.add(space)
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None:
            self.start()

    def attend(self) -> None:
        """Do pending work of other processes: the current work, and that of later notifications."""
        if self._stop_listening is None and not self._stopped:
            self._stop_listening = self._backend.listen(self._heard)
        self.start_if_pending()

    def start_if_pending(self) -> None:
        """Start if another process has left pending work."""
        if self._thread is None and (any_scrub_pending(self._backend) or not self._pending.is_empty()):
            self.start()

    def start(self) -> None:
        """Start the thread. It begins with the pending work of earlier processes."""
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="memwell-worker", daemon=True)
                self._thread.start()

    def _heard(self, topic: str) -> None:
        if topic.startswith(_TOPIC) and not self._stopped:
            self._add(Space.decode(topic[len(_TOPIC) :]))

    def used(self, space: Space, ids: Sequence[str], at: datetime) -> None:
        """Count that memories were recalled at a moment. The counts are stored every 30 seconds."""
        with self._lock:
            uses = self._uses.setdefault(space, _Uses(Counter(), {}))
            uses.counts.update(ids)
            for id_ in ids:
                uses.last[id_] = max(at, uses.last.get(id_, at))

    def close(self) -> None:
        """Stop after the current batch. The rest stays pending for the next worker."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSING_S)
        for space in list(self._owned):
            self._release(space)
        self._pending.close()
        self.store_uses()
        # The function refers to this worker: a reference cycle would wait for the garbage collector.
        self._memory_of, self._prepare = _closed, None
        self._unfinished.clear()

    def _memory(self, space: Space) -> Eraser:
        """The memory of a space, or of the documents in it, which does its pending work."""
        owner = owner_of_documents(space)
        if owner is None:
            return self._memory_of(space)
        # Without the embedding cache of memories: a removed document must not leave its vectors there.
        memory = self._memory_of(owner)
        return self._unfinished.get(space) or Eraser(
            self._backend, space, embedder=memory.embedder, wanted_embedder=memory.wanted_embedder
        )

    def _run(self) -> None:
        stored = time.monotonic()
        while not self._stopped:
            self._wake.clear()
            self._add_due()
            self._round()
            if time.monotonic() - stored > _USES_EVERY_S:
                self.store_uses()
                stored = time.monotonic()
            if not self._waiting:
                self._prepare_spaces()
                due = min(self._scrub_due, *(due for due, _ in self._put_off.values()), time.monotonic() + _LOOK_S)
                self._wake.wait(max(0.0, due - time.monotonic()))

    def _prepare_spaces(self) -> None:
        while self._prepare is not None and self._unprepared and not self._waiting:
            space = self._unprepared.pop()
            # What cannot be read now is read by the first question.
            with suppress(MemwellError):
                if not self._prepare(space):
                    self._unprepared.add(space)
                    return
            if len(self._prepared) >= _MOST_KNOWN:
                self._prepared.clear()
            self._prepared.add(space)

    def _add_due(self) -> None:
        """Add the spaces whose next try is due, and every five seconds those that other processes have listed."""
        now = time.monotonic()
        self._waiting.update(space for space, (due, _) in self._put_off.items() if due <= now)
        if self._scrub_due <= now:
            self._waiting.add(SCRUBS)
        if now - self._looked >= _LOOK_S:
            self._looked = now
            passed_over = self._others | set(self._put_off)
            self._waiting.update(space for space in self._listed() if space not in passed_over)

    def _listed(self) -> Iterator[Space]:
        try:
            yield from (Space.decode(entry.key) for entry in self._pending.entries())
            if any_scrub_pending(self._backend):
                # Its process was killed before it could be listed.
                yield SCRUBS
        except MemwellError as error:
            _log.warning("the spaces with pending work cannot be listed: %s", error)

    def _round(self) -> None:
        """Do one batch for each space that has work."""
        spaces = list(self._waiting)
        # In random order: workers that take the same order would meet at the same spaces.
        random.shuffle(spaces)
        for space in spaces:
            if self._stopped:
                return
            self._waiting.discard(space)
            left = self._work(space)
            if left is _Left.LATER:
                _, waited = self._put_off.get(space, (0.0, 0.0))
                pause = min(2 * waited, _LONGEST_PAUSE_S) or _AGAIN_S
                self._put_off[space] = (time.monotonic() + pause, pause)
            else:
                self._put_off.pop(space, None)
            if left is _Left.MORE:
                self._waiting.add(space)
            if left is not _Left.NOTHING and len(spaces) > 1:
                # Another process may take it during the turns of the others.
                self._release(space)

    def _work(self, space: Space) -> _Left:
        """Do one batch for a space."""
        if space == SCRUBS:
            return self._scrub()
        memory = self._memory(space)
        if memory.embedder is None and owner_of_documents(space) is not None:
            # Documents only lack vectors; they stay listed for a process with an embedder.
            self._others.add(space)
            return _Left.NOTHING
        self._unfinished[space] = memory
        left = self._batch(space, memory)
        if left is _Left.NOTHING:
            self._unfinished.pop(space, None)
            if space not in self._prepared and owner_of_documents(space) is None:
                self._unprepared.add(space)
        elif left is _Left.MORE:
            self._prepared.discard(space)
        return left

    def _batch(self, space: Space, memory: Eraser) -> _Left:
        done = 0
        try:
            # Before each step: a worker that has lost the space stops.
            while not self._stopped and self._claims(space):
                worked = memory.indexer.work()
                done += worked
                if not worked or memory.indexer.done_to is not None:
                    self._purge(space, memory)
                    return self._finish(space, lambda: _is_pending(memory), memory.indexer.done_to is not None)
                if done >= BATCH:
                    return _Left.MORE
        except ReadOnlyStore:
            # It is left to a process that can write.
            self._others.add(space)
            return _Left.NOTHING
        except Exception as error:  # noqa: BLE001 - an error in one space must not stop the work of the others
            if not self._stopped:
                _log.warning("work for %r failed and is tried again: %s: %s", space, type(error).__name__, error)
        return _Left.LATER

    def _scrub(self) -> _Left:
        """Remove what was erased from the store's files: one pass for all erasures, and a longer pause before the next."""
        begun = time.monotonic()
        if self._scrub_due == float("inf"):
            self._scrub_due = max(begun + _GATHERING_S, self._scrub_again)
        if begun < self._scrub_due:
            return _Left.NOTHING
        self._scrub_due = float("inf")
        try:
            if self._claims(SCRUBS):
                scrub_pending(self._backend)
                now = time.monotonic()
                self._scrub_again = now + max(_SCRUB_PAUSE_S, 10 * (now - begun))
                return self._finish(SCRUBS, lambda: any_scrub_pending(self._backend))
        except ReadOnlyStore:
            self._others.add(SCRUBS)
            return _Left.NOTHING
        except Exception as error:  # noqa: BLE001 - as in ``_batch``
            if not self._stopped:
                _log.warning("scrubbing failed and is tried again: %s: %s", type(error).__name__, error)
        return _Left.LATER

    def _finish(self, space: Space, is_pending: Callable[[], bool], is_done: bool = False) -> _Left:
        """Remove a space from the list, unless something is pending there; ``is_done`` says that nothing was."""
        if not is_done and is_pending():
            self._release(space)
            return _Left.LATER
        self._sure.pop(space, None)
        self._owned.discard(space)
        self._pending.remove(space.encoded())
        if is_pending():
            # It was added in between, by a process that saw the space on the list.
            self._pending.offer(space.encoded())
            return _Left.LATER
        return _Left.NOTHING

    def _claims(self, space: Space) -> bool:
        """Whether this worker owns the space, which is listed if it is not."""
        if not self._pending.claim(space.encoded(), add=True):
            self._owned.discard(space)
            return False
        self._owned.add(space)
        return True

    def _release(self, space: Space) -> None:
        """Release a space, so that another worker can claim it at once."""
        if space in self._owned:
            self._owned.discard(space)
            with suppress(MemwellError):
                self._pending.release(space.encoded())

    def _purge(self, space: Space, memory: Eraser) -> None:
        """Once a day, erase what expired and what was forgotten longer ago than its retention."""
        if owner_of_documents(space) is not None:
            # Documents neither expire nor are forgotten.
            return
        if time.monotonic() < self._purged.get(space, 0.0):
            return
        inner = inner_space(space)
        if self._backend.kv.get(inner, "purged") is None:
            memory.purge(self._retention_s)
            self._backend.kv.put(inner, "purged", True, ttl=_PURGE_EVERY_S)
        if len(self._purged) >= _MOST_KNOWN:
            self._purged.clear()
        self._purged[space] = time.monotonic() + _PURGED_S

    def store_uses(self, only: Space | None = None) -> None:
        """Store the counts of recalled memories of all spaces, or of one."""
        with self._lock:
            spaces = list(self._uses) if only is None else [only]
            uses = {space: self._uses.pop(space) for space in spaces if space in self._uses}
        for space, (counts, last) in uses.items():
            try:
                self._memory_of(space).note_uses(counts, last)
            except ReadOnlyStore:
                continue
            except MemwellError as error:
                _log.warning("the uses of memories in %r could not be counted: %s", space, error)


def pending_by_space(backend: Backend) -> dict[Space, PendingWork]:
    """The spaces with pending work, and how many memories of each are not indexed by words and by vectors."""
    listed: list[list[str]] = [one["space"] for one in backend.facts().get("spaces", [])]
    spaces = dict.fromkeys([*(Space(*segments) for segments in listed), *listed_spaces(backend)])
    found = {space: _pending_in(backend, space) for space in spaces if len(space) < MAX_SEGMENTS}
    return {space: lacks for space, lacks in found.items() if lacks.words or lacks.vectors}


def listed_spaces(backend: Backend) -> Iterator[Space]:
    """The spaces on the pending list, also those without any indexed memory."""
    return (Space.decode(entry.key) for entry in PendingList(backend.kv, REGISTRY).entries())


def _pending_in(backend: Backend, space: Space) -> PendingWork:
    lacks = Journal(backend, space).pending()
    # Documents only lack vectors: their words are indexed when they are stored.
    return lacks if owner_of_documents(space) is None else replace(lacks, words=0)


def _is_pending(memory: Eraser) -> bool:
    done_to = memory.indexer.done_to
    if done_to is not None:
        # All else was done: only what was added since can be pending.
        return bool(memory.indexer.journal.after(done_to, 1))
    lacks = memory.pending()
    return bool(lacks.words or (lacks.vectors and memory.embedder is not None))


def owner_of_documents(space: Space) -> Space | None:
    """The space whose documents this one holds; None when it holds memories."""
    owner = space[:-2]
    return Space(*owner) if owner and space == knowledge_space(Space(*owner)) else None


def _closed(space: Space) -> Memory:
    raise BackendError(f"the store is closed; nothing is done for {space!r} any more")

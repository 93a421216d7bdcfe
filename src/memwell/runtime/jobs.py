"""The worker: does in the background what remembering leaves owed.

There is one thread for an engine. It owns nothing: what is owed stands in the journals of the store, so a worker may be
killed at any moment, and the next one goes on where the last commit was. A lease keeps two processes from doing the same
work at the same time; without it nothing would be done twice either, only some of it in vain.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from memwell.errors import BackendError, Conflict, MemwellError, ReadOnlyStore
from memwell.longterm.erasing import Eraser
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.longterm.memory import Memory
from memwell.records import Space, paged
from memwell.storage.protocols import Backend
from memwell.values import new_id

_log = logging.getLogger("memwell.jobs")

REGISTRY = Space("memwell", "spaces")
"""Which spaces are owed work, so that a worker finds what an earlier process left."""

_LEASE_S = 30.0
_PAUSE_S = 5.0
_AGAIN_S = 1.0
"""How soon work is tried again that another process was at, or that failed; then ever less often."""
_USES_EVERY_S = 30.0
_CLOSING_S = 10.0
_PURGE_EVERY_S = 86_400.0


class _Uses(NamedTuple):
    """How often memories were recalled since it was last stored, and when last."""

    counts: Counter[str]
    last: dict[str, datetime]


class Worker:
    """Works off what spaces are owed, in one thread that starts when there is something to do."""

    def __init__(
        self, backend: Backend, memory_of: Callable[[Space], Memory], *, retention_s: float = 30 * 86_400.0
    ) -> None:
        self._backend = backend
        self._memory_of = memory_of
        self._retention_s = retention_s
        self._me = new_id()
        self._owing: set[Space] = set()
        self._known: set[Space] = set()
        self._unfinished: dict[Space, Eraser] = {}
        """Held until their work is done: they count how often something has been tried in vain."""
        self._uses: dict[Space, _Uses] = {}
        self._lock = threading.Lock()
        self._leases: set[Space] = set()
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def tell(self, space: Space) -> None:
        """There is something to do in this space, and somebody here who does it."""
        self.note(space)
        self._owing.add(space)
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None:
            self.start()

    def note(self, space: Space) -> None:
        """There is something to do in this space, for whoever comes."""
        if space not in self._known:
            self._known.add(space)
            self._backend.kv.put(REGISTRY, space.encoded(), True)

    def start_if_owed(self) -> None:
        """Begin when an earlier process has left something to do."""
        if self._backend.kv.scan(REGISTRY, limit=1).items:
            self.start()

    def start(self) -> None:
        """Begin, with what an earlier process left owed."""
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="memwell-worker", daemon=True)
                self._thread.start()

    def used(self, space: Space, ids: Sequence[str], at: datetime) -> None:
        """Memories were recalled at a moment. Their counts are stored now and then, not at once."""
        with self._lock:
            uses = self._uses.setdefault(space, _Uses(Counter(), {}))
            uses.counts.update(ids)
            for id_ in ids:
                uses.last[id_] = max(at, uses.last.get(id_, at))

    def close(self) -> None:
        """Stop after the piece of work under way. What is still owed is done by the next one."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSING_S)
        for space in list(self._leases):
            with suppress(MemwellError):
                self._let_go(space)
        self.store_uses()
        # Who makes memories holds this worker too: the ring would keep all of it until the collector comes.
        self._memory_of = _closed
        self._unfinished.clear()

    def settle(self, spaces: Sequence[Space]) -> None:
        """Do all that these spaces are owed, in the calling thread."""
        for space in spaces:
            self._owed_to(space).settle()

    def _owed_to(self, space: Space) -> Eraser:
        """What is owed the work of a space: its memory, or the documents that stand in it."""
        owner = _owner_of_documents(space)
        if owner is None:
            return self._memory_of(space)
        # Past the cache that memories have: what is removed must not leave its vectors there.
        return self._unfinished.get(space) or Eraser(self._backend, space, embedder=self._memory_of(owner).embedder)

    # The thread

    def _run(self) -> None:
        self._owing.update(self._left_over())
        stored, pause = time.monotonic(), _AGAIN_S
        while not self._stopped:
            self._wake.clear()
            undone: set[Space] = set()
            for space in list(self._owing):
                self._owing.discard(space)
                if not self._stopped and not self._work(space):
                    undone.add(space)
            if time.monotonic() - stored > _USES_EVERY_S:
                self.store_uses()
                stored = time.monotonic()
            if not self._owing:
                self._wake.wait(pause if undone else _PAUSE_S)
            self._owing |= undone
            pause = min(2 * pause, _LEASE_S) if undone else _AGAIN_S

    def _left_over(self) -> Iterator[Space]:
        """The spaces that an earlier process may have left owed."""
        entries = paged(lambda cursor: self._backend.kv.scan(REGISTRY, limit=500, cursor=cursor))
        while True:
            try:
                entry = next(entries, None)
            except MemwellError as error:
                _log.warning("the spaces that are owed work cannot be listed: %s", error)
                return
            if entry is None:
                return
            space = Space.decode(entry.key)
            self._known.add(space)
            yield space

    def _work(self, space: Space) -> bool:
        """All that one space is owed; False when some is left, because another process is at it or it failed."""
        memory = self._owed_to(space)
        if memory.embedder is None and _owner_of_documents(space) is not None:
            # They are owed nothing but vectors, and stay on the list for whoever can make them.
            return True
        self._unfinished[space] = memory
        done = self._worked_off(space, memory)
        if done:
            self._unfinished.pop(space, None)
        return done

    def _worked_off(self, space: Space, memory: Eraser) -> bool:
        try:
            while not self._stopped and self._leased(space):
                if not memory.indexer.work():
                    self._purge(space, memory)
                    self._let_go(space)
                    return self._settled(space, memory)
        except ReadOnlyStore:
            # Nothing can be done about it here; whoever may write will.
            return True
        except Exception as error:  # noqa: BLE001 - whatever is wrong in one space, the others' work must go on
            if not self._stopped:
                _log.warning("work for %r failed and is tried again: %s: %s", space, type(error).__name__, error)
        return False

    def _settled(self, space: Space, memory: Eraser) -> bool:
        """Whether nothing is owed any more. Then the space is taken off the list, unless somebody has just put it on."""
        entry = self._backend.kv.get(REGISTRY, space.encoded())
        owed = memory.owed()
        if owed.words or (owed.vectors and memory.embedder is not None):
            return False
        self._known.discard(space)
        if entry is not None:
            with suppress(Conflict):
                self._backend.kv.delete(REGISTRY, space.encoded(), expect=entry.version)
        return memory.owed().words == 0

    def _let_go(self, space: Space) -> None:
        """Give the lease back, so that nobody waits for it to run out."""
        self._leases.discard(space)
        held = self._backend.kv.get(inner_space(space), "lease")
        if held is not None and held.value == self._me:
            with suppress(Conflict):
                self._backend.kv.delete(inner_space(space), "lease", expect=held.version)

    def _purge(self, space: Space, memory: Eraser) -> None:
        """Once a day, erase what expired and what was forgotten longer ago than its retention."""
        if _owner_of_documents(space) is not None:
            # Documents do neither; looking through all their chunks would be in vain.
            return
        inner = inner_space(space)
        if self._backend.kv.get(inner, "purged") is None:
            memory.purge(self._retention_s)
            self._backend.kv.put(inner, "purged", True, ttl=_PURGE_EVERY_S)

    def _leased(self, space: Space) -> bool:
        """Whether the work of this space is ours for a while; another's lease runs out by itself."""
        inner = inner_space(space)
        held = self._backend.kv.get(inner, "lease")
        if held is not None and held.value != self._me:
            return False
        try:
            self._backend.kv.put(inner, "lease", self._me, ttl=_LEASE_S, expect=0 if held is None else held.version)
        except Conflict:
            return False
        self._leases.add(space)
        return True

    def store_uses(self, only: Space | None = None) -> None:
        """Store the counts of all spaces, or of one, now."""
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


def _owner_of_documents(space: Space) -> Space | None:
    """The space whose documents stand in this one, if any do."""
    owner = space[:-2]
    return Space(*owner) if owner and space == knowledge_space(Space(*owner)) else None


def _closed(space: Space) -> Memory:
    raise BackendError(f"the store is closed; nothing is done for {space!r} any more")


__all__ = ["REGISTRY", "Worker"]

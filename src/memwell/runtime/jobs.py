"""The worker: does in the background what remembering leaves owed.

There is one thread for an engine. It owns nothing: what is owed stands in the journals of the store, so a worker may be
killed at any moment, and the next one goes on where the last commit was. The workers of all processes share the list of
spaces that are owed something; a claim keeps two of them from doing the same at the same time. Without it nothing would be
done twice either, only some of it in vain: whoever is second finds the journal moved on, and stores nothing.

Spaces take turns after each piece, so that one with a mountain of work does not keep the others from theirs.
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

from memwell.errors import BackendError, Conflict, MemwellError, ReadOnlyStore
from memwell.longterm.erasing import Eraser
from memwell.longterm.indexing import BATCH
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.longterm.memory import Memory
from memwell.records import Space, paged
from memwell.storage.protocols import Backend

_log = logging.getLogger("memwell.jobs")

REGISTRY = Space("memwell", "spaces")
"""Which spaces are owed work, so that every worker finds what any process left."""

_DUTY = "lease"
_LEASE_S = 30.0
_WITH_CHAT_S = 300.0
"""A piece that asks a chat model takes longer, and doing it twice would cost twice."""
_LOOK_S = 5.0
"""How often the list is looked at, for what nobody has told of here."""
_AGAIN_S = 1.0
"""How soon work is tried again that another process was at, or that failed; then ever less often."""
_SURE_S = 1.0
"""For how long a process that does the work itself trusts that a space it has listed is still on the list."""
_USES_EVERY_S = 30.0
_CLOSING_S = 10.0
_PURGE_EVERY_S = 86_400.0
_TOPIC = "memwell work "

_held_back: ContextVar[dict[Space, Callable[[Space], None]] | None] = ContextVar("memwell_held_back", default=None)


class _Left(Enum):
    """What a piece of work leaves: nothing, more of it, or all for a later time."""

    NOTHING = auto()
    MORE = auto()
    LATER = auto()


class _Uses(NamedTuple):
    """How often memories were recalled since it was last stored, and when last."""

    counts: Counter[str]
    last: dict[str, datetime]


@contextmanager
def told_afterwards() -> Generator[None]:
    """Let whatever is said inside to be owed be told at the end, unless that is an error.

    It goes around a transaction: what a worker is told of before it is stored, it would look for in vain.
    """
    spaces: dict[Space, Callable[[Space], None]] = {}
    token = _held_back.set(spaces)
    try:
        yield
    finally:
        _held_back.reset(token)
    for space, tell in spaces.items():
        tell(space)


def is_held_back(space: Space, tell: Callable[[Space], None]) -> bool:
    """Whether telling of this space is put off until the end of ``told_afterwards``."""
    spaces = _held_back.get()
    if spaces is None:
        return False
    spaces[space] = tell
    return True


class _Listing:
    """The list of spaces that are owed work, and the word to other processes that there is something on it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sure: dict[Space, float] = {}

    def note(self, space: Space, *, sure_s: float = 0.0) -> None:
        """Have a space on the list; not looked at again for ``sure_s`` after it was seen there."""
        now = time.monotonic()
        if now - self._sure.get(space, float("-inf")) < sure_s:
            return
        # Whoever has done the work takes it off, in any process.
        if self._backend.kv.get(REGISTRY, space.encoded()) is None:
            self._backend.kv.put(REGISTRY, space.encoded(), True)
        self._sure[space] = now

    def tell_others(self, space: Space) -> None:
        """Wake the workers of other processes, where the store can; elsewhere they see it when they look next."""
        # What they are told is not what makes it done, so that it cannot be told, or is too long, is no failure.
        with suppress(MemwellError):
            self._backend.notify(_TOPIC + space.encoded())

    def spaces(self) -> Iterator[Space]:
        """All that are on the list."""
        entries = paged(lambda cursor: self._backend.kv.scan(REGISTRY, limit=500, cursor=cursor))
        while True:
            try:
                entry = next(entries, None)
            except MemwellError as error:
                _log.warning("the spaces that are owed work cannot be listed: %s", error)
                return
            if entry is None:
                return
            yield Space.decode(entry.key)

    def is_empty(self) -> bool:
        """Whether nothing is on the list."""
        return not self._backend.kv.scan(REGISTRY, limit=1).items

    def strike(self, space: Space, still_owed: Callable[[], bool]) -> bool:
        """Take a space off the list, unless something is owed; whether nothing is."""
        entry = self._backend.kv.get(REGISTRY, space.encoded())
        if still_owed():
            return False
        self._sure.pop(space, None)
        if entry is not None:
            with suppress(Conflict):
                self._backend.kv.delete(REGISTRY, space.encoded(), expect=entry.version)
        if still_owed():
            # It came in between, from somebody who saw the space on the list.
            self.note(space)
            return False
        return True


class Worker:
    """Works off what spaces are owed, in one thread that starts when there is something to do."""

    def __init__(
        self, backend: Backend, memory_of: Callable[[Space], Memory], *, retention_s: float = 30 * 86_400.0
    ) -> None:
        self._backend = backend
        self._memory_of = memory_of
        self._retention_s = retention_s
        self._listing = _Listing(backend)
        self._owing: set[Space] = set()
        self._others: set[Space] = set()
        """What stands on the list and cannot be done here."""
        self._unfinished: dict[Space, Eraser] = {}
        """Held until their work is done: they count how often something has been tried in vain."""
        self._put_off: dict[Space, tuple[float, float]] = {}
        """What was tried in vain: when it is tried again, and after what a pause."""
        self._uses: dict[Space, _Uses] = {}
        self._lock = threading.Lock()
        self._claimed: set[Space] = set()
        self._looked = float("-inf")
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._stop_listening: Callable[[], None] | None = None

    def tell(self, space: Space) -> None:
        """There is something to do in this space, and somebody here who does it."""
        self._list(space, sure_s=_SURE_S)
        self._take_on(space)

    def _list(self, space: Space, *, sure_s: float = 0.0) -> None:
        # What was remembered is stored by now, and what it is owed stands in its journal: without the list the worker here
        # does it all the same, and without a worker whoever recalls from the space or writes to it next.
        try:
            self._listing.note(space, sure_s=sure_s)
        except ReadOnlyStore:
            raise
        except BackendError as error:
            _log.warning("%r could not be put on the list of spaces that are owed work: %s", space, error)

    def _take_on(self, space: Space) -> None:
        self._owing.add(space)
        if not self._wake.is_set():
            self._wake.set()
        if self._thread is None:
            self.start()

    def note(self, space: Space) -> None:
        """There is something to do in this space, for whoever comes."""
        self._list(space)
        self._listing.tell_others(space)

    def attend(self) -> None:
        """Be there for what other processes leave owed: begin when there is something, and hear when something comes."""
        if self._stop_listening is None and not self._stopped:
            self._stop_listening = self._backend.listen(self._heard)
        self.start_if_owed()

    def start_if_owed(self) -> None:
        """Begin when another process has left something to do."""
        if self._thread is None and not self._listing.is_empty():
            self.start()

    def start(self) -> None:
        """Begin, with what an earlier process left owed."""
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="memwell-worker", daemon=True)
                self._thread.start()

    def _heard(self, topic: str) -> None:
        if topic.startswith(_TOPIC) and not self._stopped:
            self._take_on(Space.decode(topic[len(_TOPIC) :]))

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
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSING_S)
        for space in list(self._claimed):
            self._let_go(space)
        self.store_uses()
        # Who makes memories holds this worker too: the ring would keep all of it until the collector comes.
        self._memory_of = _closed
        self._unfinished.clear()

    def settle(self, spaces: Sequence[Space]) -> None:
        """Do all that these spaces are owed, in the calling thread."""
        for space in spaces:
            self._owed_to(space).flush()

    def _owed_to(self, space: Space) -> Eraser:
        """What is owed the work of a space: its memory, or the documents that stand in it."""
        owner = _owner_of_documents(space)
        if owner is None:
            return self._memory_of(space)
        # Past the cache that memories have: what is removed must not leave its vectors there.
        memory = self._memory_of(owner)
        return self._unfinished.get(space) or Eraser(
            self._backend, space, embedder=memory.embedder, wanted_embedder=memory.wanted_embedder
        )

    # The thread

    def _run(self) -> None:
        stored = time.monotonic()
        while not self._stopped:
            self._wake.clear()
            self._look()
            self._round()
            if time.monotonic() - stored > _USES_EVERY_S:
                self.store_uses()
                stored = time.monotonic()
            if not self._owing:
                self._wake.wait(self._pause())

    def _look(self) -> None:
        """See whose time has come again, and now and then what others have put on the list."""
        now = time.monotonic()
        self._owing.update(space for space, (due, _) in self._put_off.items() if due <= now)
        if now - self._looked >= _LOOK_S:
            self._looked = now
            passed_over = self._others | set(self._put_off)
            self._owing.update(space for space in self._listing.spaces() if space not in passed_over)

    def _pause(self) -> float:
        now = time.monotonic()
        return max(0.0, min([now + _LOOK_S, *(due for due, _ in self._put_off.values())]) - now)

    def _round(self) -> None:
        """A piece for each space that is owed something."""
        spaces = list(self._owing)
        # Several workers that go down one list in one order would be at the same spaces all the time.
        random.shuffle(spaces)
        for space in spaces:
            if self._stopped:
                return
            self._owing.discard(space)
            left = self._work(space)
            if left is _Left.LATER:
                _, waited = self._put_off.get(space, (0.0, 0.0))
                pause = min(2 * waited, _LEASE_S) or _AGAIN_S
                self._put_off[space] = (time.monotonic() + pause, pause)
            else:
                self._put_off.pop(space, None)
            if left is _Left.MORE:
                self._owing.add(space)
            if left is not _Left.NOTHING and len(spaces) > 1:
                # While the others have their turns, another process may go on with this one.
                self._let_go(space)

    def _work(self, space: Space) -> _Left:
        """A piece of what one space is owed."""
        memory = self._owed_to(space)
        if memory.embedder is None and _owner_of_documents(space) is not None:
            # They are owed nothing but vectors, and stay on the list for whoever can make them.
            self._others.add(space)
            return _Left.NOTHING
        self._unfinished[space] = memory
        left = self._piece(space, memory)
        if left is _Left.NOTHING:
            self._unfinished.pop(space, None)
        return left

    def _piece(self, space: Space, memory: Eraser) -> _Left:
        done = 0
        try:
            # Asked each time: whose claim is lost has nothing more to do here, and what was not stored by then is not.
            while not self._stopped and self._claims(space, memory):
                brought_on = memory.indexer.work()
                done += brought_on
                if not brought_on:
                    self._purge(space, memory)
                    self._let_go(space)
                    return _Left.NOTHING if self._settled(space, memory) else _Left.LATER
                if done >= BATCH:
                    return _Left.MORE
        except ReadOnlyStore:
            # Nothing can be done about it here; whoever may write will.
            self._others.add(space)
            return _Left.NOTHING
        except Exception as error:  # noqa: BLE001 - whatever is wrong in one space, the others' work must go on
            if not self._stopped:
                _log.warning("work for %r failed and is tried again: %s: %s", space, type(error).__name__, error)
        return _Left.LATER

    def _settled(self, space: Space, memory: Eraser) -> bool:
        """Whether nothing is owed any more. Then the space is taken off the list."""

        def still_owed() -> bool:
            owed = memory.owed()
            return bool(owed.words or (owed.vectors and memory.embedder is not None))

        return self._listing.strike(space, still_owed)

    def _claims(self, space: Space, memory: Eraser) -> bool:
        """Whether the work of this space is ours for a while."""
        seconds = _LEASE_S if getattr(memory, "chat", None) is None else _WITH_CHAT_S
        if not self._backend.claims.take(inner_space(space), _DUTY, seconds=seconds):
            self._claimed.discard(space)
            return False
        self._claimed.add(space)
        return True

    def _let_go(self, space: Space) -> None:
        """Give the claim back, so that nobody waits for it to run out."""
        if space in self._claimed:
            self._claimed.discard(space)
            with suppress(MemwellError):
                self._backend.claims.release(inner_space(space), _DUTY)

    def _purge(self, space: Space, memory: Eraser) -> None:
        """Once a day, erase what expired and what was forgotten longer ago than its retention."""
        if _owner_of_documents(space) is not None:
            # Documents do neither; looking through all their chunks would be in vain.
            return
        inner = inner_space(space)
        if self._backend.kv.get(inner, "purged") is None:
            memory.purge(self._retention_s)
            self._backend.kv.put(inner, "purged", True, ttl=_PURGE_EVERY_S)

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


__all__ = ["REGISTRY", "Worker", "is_held_back", "told_afterwards"]

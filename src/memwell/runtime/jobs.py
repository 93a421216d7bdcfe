"""The job queue of a store: durable jobs, each owned by one process under a lease, with retries, progress and results.

    queue = JobQueue(backend, Space("memwell", "service", "jobs"))
    version = queue.add(key, Kept(job))              # this process owns it
    for found in queue.free(): ...                   # open jobs that no living process owns
    found = queue.claim(found.key)                   # one process gets it
    version = queue.write(key, kept, version)        # progress, and at last the end

It has two users: the jobs of the service, and the spaces whose memories are to be indexed.
Everything is in the key-value part of the store. A ``PendingList`` has the keys of open work, each with its owner.
``JobQueue`` adds the state of each job. A process that owns something renews one entry every few seconds. When the entry
runs out, what the process owned is free, and another process claims it. An owner writes a job at the version that it wrote
last: an owner that finds another version has lost the job.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, MemwellError
from memwell.filters import id_begins_with
from memwell.records import Space, paged
from memwell.runtime.wire.codec import Problem
from memwell.storage.protocols import Backend, Entry, KeyValue
from memwell.values import new_id

REGISTRY = Space("memwell", "spaces")
"""The pending list of spaces whose memories or documents are to be indexed."""

SERVICE_JOBS = Space("memwell", "service", "jobs")
"""The queue of the service."""

ENDED = ("done", "failed")
"""The final states of a job."""

LEASE_S = 10.0
TRIES = 3
"""How often a job is tried before it fails."""

_OWNERS = SERVICE_JOBS / "owners"
"""The leases of the processes that own open work, of all queues of a store."""

_CANCELLED_S = 3600.0
"""How long a cancellation request is kept."""

_CLOSING_S = 1.0
_PAGE = 500
_LARGEST_INLINE = 16_384
"""A larger result is stored in an entry of its own, which is not read when jobs are listed."""

INTERRUPTED = Problem(
    type="urn:memwell:problem:interrupted",
    title="The service ended before the work did",
    status=503,
    code="interrupted",
    detail="the process that did this is gone, and what was sent for it too; start it again",
)
_IN_VAIN = "no process that began this was there to end it, three times; look for the reason in its log"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A background job. ``status`` is ``waiting``, ``running``, ``done`` or ``failed``.

    ``stage`` names its current step; ``done`` of ``of`` is its progress. ``result`` has the form of the call that it does;
    ``file`` says that there is a file to fetch; ``problem`` why it failed.

    A document is stored, and found by its words, when its job is at the stage ``vectors``; the job is ``done`` when the
    vectors are made. When the service stops, the job is cancelled, or no vector was made for half a minute, it is ``done``
    too, with ``done`` below ``of``, and ``note`` says what is left: the worker does that.
    """

    id: str
    action: str
    status: str
    created: datetime
    updated: datetime
    stage: str = ""
    done: int = 0
    of: int | None = None
    result: dict[str, Any] | None = None
    file: str = ""
    problem: dict[str, Any] | None = None
    note: str = ""

    @property
    def ended(self) -> bool:
        """Whether it has a final status."""
        return self.status in ENDED


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job as it is stored. ``apart`` says that its result is an entry of its own.

    ``again`` is what any process needs to do it; None when only the process that received it can. ``begun`` counts the
    tries.
    """

    job: Job
    owner: str = ""
    apart: bool = False
    space: tuple[str, ...] = ()
    again: bytes | None = None
    begun: int = 1

    @property
    def goes_on(self) -> bool:
        """Whether another process may do it when its own is gone."""
        return self.again is not None and self.begun < TRIES

    def interrupted(self) -> Job:
        """The failed job after its process is gone and no other can do it."""
        detail = self.job.note or (INTERRUPTED.detail if self.again is None else _IN_VAIN)
        problem = msgspec.to_builtins(replace(INTERRUPTED, detail=detail))
        return replace(self.job, status="failed", note="", problem=problem)


class PendingList:
    """Keys of open work in a space of the store, each owned by at most one living process.

    The value of an entry is the id of its owner; an empty one, or one of an owner that is gone, is free.
    """

    def __init__(self, kv: KeyValue, space: Space, *, lease_s: float = LEASE_S, kept_s: float | None = None) -> None:
        self._kv = kv
        self._space = space
        self._lease_s = lease_s
        self._kept_s = kept_s
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._owner = new_id()
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._versions: dict[str, int] = {}
        """The versions of the entries that this process owns, as it wrote or read them last."""
        self._beaten = float("-inf")
        self._heart: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def owner(self) -> str:
        """The id of this process as an owner. A forked child has another one, and owns nothing."""
        if self._pid != os.getpid():
            self._begin()
        return self._owner

    def offer(self, key: str, *, mine: bool = False) -> None:
        """Add a key to the list, unless it is listed. With ``mine`` this process owns it."""
        if mine:
            self._hold(key)
        elif self._kv.get(self._space, key) is not None:
            return
        with suppress(Conflict):
            entry = self._kv.put(self._space, key, self.owner if mine else "", ttl=self._kept_s, expect=0)
            if mine:
                self._versions[key] = entry.version

    def entries(self) -> Iterator[Entry]:
        """Every entry of the list."""
        return paged(lambda cursor: self._kv.scan(self._space, limit=_PAGE, cursor=cursor))

    def free(self) -> Iterator[str]:
        """The keys that no living process owns."""
        alive = dict[str, bool]()
        for entry in self.entries():
            owner = _owner(entry)
            if owner not in alive:
                alive[owner] = self.is_alive(owner)
            if not alive[owner]:
                yield entry.key

    def is_empty(self) -> bool:
        """Whether nothing is on the list."""
        return not self._kv.scan(self._space, limit=1).items

    def claim(self, key: str, *, add: bool = False) -> bool:
        """Own a key of the list, or keep it. False when another process owns it, or it is not listed.

        With ``add`` a key that is not listed is added.
        """
        mine = self.owner
        if key in self._versions and self._is_leased():
            # As long as the lease lasts, no other process takes it.
            self._hold(key)
            return True
        entry = self._kv.get(self._space, key)
        owner = "" if entry is None else _owner(entry)
        if (entry is None and not add) or (owner != mine and self.is_alive(owner)):
            return self._lose(key)
        self._hold(key)
        if entry is None or owner != mine:
            expect = 0 if entry is None else entry.version
            try:
                entry = self._kv.put(self._space, key, mine, ttl=self._kept_s, expect=expect)
            except Conflict:
                return self._lose(key)
        self._versions[key] = entry.version
        return True

    def release(self, key: str) -> None:
        """Let another process claim a key that this one owns."""
        version = self._own_version(key)
        if version is not None:
            with suppress(Conflict):
                self._kv.put(self._space, key, "", ttl=self._kept_s, expect=version)

    def remove(self, key: str) -> None:
        """Remove a key that this process owns from the list."""
        version = self._own_version(key)
        if version is not None:
            with suppress(Conflict):
                self._kv.delete(self._space, key, expect=version)

    def _own_version(self, key: str) -> int | None:
        """The version of a key that is given up; None when this process does not own it."""
        known = self._versions.get(key)
        self._lose(key)
        if known is not None:
            return known
        entry = self._kv.get(self._space, key)
        return entry.version if entry is not None and entry.value == self.owner else None

    def forget(self, key: str) -> None:
        """Take a key as not owned: the transaction that added it was undone."""
        self._lose(key)

    def _hold(self, key: str) -> None:
        # The lease first: an owner without one counts as gone.
        self.beat()
        with self._lock:
            self._held.add(key)
            if self._heart is None and not self._stop.is_set():
                self._heart = threading.Thread(target=self._beat_on, name="memwell-lease", daemon=True)
                self._heart.start()

    def _lose(self, key: str) -> bool:
        with self._lock:
            self._held.discard(key)
            self._versions.pop(key, None)
        return False

    def _is_leased(self) -> bool:
        """Whether the lease of this process lasts for a while."""
        return time.monotonic() - self._beaten < self._lease_s / 2

    def is_alive(self, owner: str) -> bool:
        """Whether the process of this id renews its lease, or is this one."""
        return bool(owner) and (owner == self.owner or self._kv.get(_OWNERS, owner) is not None)

    def beat(self) -> None:
        """Renew the lease, unless it was renewed a moment ago."""
        owner = self.owner
        if time.monotonic() - self._beaten > self._lease_s / 4:
            self._kv.put(_OWNERS, owner, True, ttl=self._lease_s)
            self._beaten = time.monotonic()

    def _beat_on(self) -> None:
        while not self._stop.wait(self._lease_s / 4):
            with self._lock:
                if not self._held:
                    self._heart = None
                    return
            with suppress(MemwellError):
                self.beat()

    def close(self) -> None:
        """Release everything that this process owns."""
        self._stop.set()
        heart = self._heart
        if heart is not None:
            # With a timeout: it may wait for a transaction of the caller.
            heart.join(_CLOSING_S)
        with self._lock:
            self._held.clear()
            self._versions.clear()
            said = self._beaten > float("-inf")
        if said:
            with suppress(MemwellError):
                self._kv.delete(_OWNERS, self.owner)


def _owner(entry: Entry) -> str:
    return entry.value if isinstance(entry.value, str) else ""


class FoundJob(NamedTuple):
    """A job of a queue, and the version at which it is stored."""

    key: str
    kept: Kept
    version: int


class JobQueue:
    """Jobs with their states, in a space of the store. ``kept_s`` is how long a job is kept after its last change."""

    def __init__(
        self, backend: Backend, space: Space, *, lease_s: float = LEASE_S, kept_s: float | None = None
    ) -> None:
        self._backend = backend
        self._kv = backend.kv
        self._space = space
        self._results = space / "results"
        self._cancelled = space / "cancelled"
        self._kept_s = kept_s
        self.pending = PendingList(backend.kv, space / "open", lease_s=lease_s, kept_s=kept_s)

    def add(self, key: str, kept: Kept) -> int:
        """Store a new job that this process owns, and return its version.

        Raises ``Conflict`` when the queue has a job of this key.
        """
        try:
            with self._backend.transaction():
                self.pending.offer(key, mine=True)
                return self._put(key, replace(kept, owner=self.pending.owner), expect=0)
        except MemwellError:
            self.pending.forget(key)
            raise

    def claim(self, key: str) -> FoundJob | None:
        """Own a free job, and return it. None when another process owns it, or it has ended."""
        if not self.pending.claim(key):
            return None
        found = self.find(key)
        if found is not None and not found.kept.job.ended:
            return found
        self.pending.remove(key)
        return None

    def write(self, key: str, kept: Kept, version: int) -> int:
        """Store the state of a job that this process owns, and return its version. An ended one is removed from the list.

        Raises ``Conflict`` when another process has claimed it meanwhile.
        """
        job, ended = kept.job, kept.job.ended
        result = None if job.result is None else msgspec.json.encode(job.result)
        apart = result is not None and len(result) > _LARGEST_INLINE
        job = replace(job, result=None) if apart else job
        # The input of an ended job is not needed any more.
        again = None if ended else kept.again
        stored = replace(kept, job=job, owner=self.pending.owner, apart=apart, again=again)
        try:
            with self._backend.transaction() if ended else nullcontext():
                written = self._put(key, stored, expect=version)
                if apart:
                    self._kv.put(self._results, key, result, ttl=self._kept_s)
                if ended:
                    self.pending.remove(key)
        except Conflict:
            # The claim was too late, and must not block others.
            self.pending.release(key)
            raise
        return written

    def give_back(self, key: str, kept: Kept, version: int) -> None:
        """Release a job for another process. Raises ``Conflict`` as ``write`` does."""
        with self._backend.transaction():
            self._put(key, replace(kept, owner=""), expect=version)
            self.pending.release(key)

    def _put(self, key: str, kept: Kept, expect: int | None = None) -> int:
        # As bytes: a result may hold characters that a JSON value of a store may not, such as NUL.
        return self._kv.put(self._space, key, msgspec.msgpack.encode(kept), ttl=self._kept_s, expect=expect).version

    def free(self) -> Iterator[FoundJob]:
        """The open jobs that no living process owns."""
        for key in list(self.pending.free()):
            found = self.find(key)
            # Another process may have ended it since it was listed.
            if found is not None and not found.kept.job.ended and not self.pending.is_alive(found.kept.owner):
                yield found

    def find(self, key: str) -> FoundJob | None:
        """A job as it is stored."""
        entry = self._kv.get(self._space, key)
        return None if entry is None else FoundJob(key, _read(entry), entry.version)

    def get(self, key: str) -> Job | None:
        """A job with its result, also one that is stored apart."""
        found = self.find(key)
        if found is None:
            return None
        apart = self._kv.get(self._results, key) if found.kept.apart else None
        job = self._as_seen(found.kept)
        return job if apart is None else replace(job, result=msgspec.json.decode(apart.value))

    def all(self, prefix: str = "") -> Iterator[FoundJob]:
        """The stored jobs whose keys have a prefix, without results that are stored apart."""
        where = id_begins_with(prefix)
        for entry in paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_PAGE, cursor=cursor)):
            yield FoundJob(entry.key, _read(entry), entry.version)

    def shown(self, prefix: str) -> dict[str, Job]:
        """The jobs whose keys have a prefix, without results that are stored apart."""
        return {found.key: self._as_seen(found.kept) for found in self.all(prefix)}

    def _as_seen(self, kept: Kept) -> Job:
        """The current job: one of a process that is gone does not run, whatever its stored status."""
        if kept.job.ended or not kept.owner or self.pending.is_alive(kept.owner):
            return kept.job
        return replace(kept.job, status="waiting") if kept.goes_on else kept.interrupted()

    def drop_result(self, key: str) -> bool:
        """Drop the result of an ended job; whether it had one."""
        found = self.find(key)
        if found is None or not found.kept.job.ended:
            return False
        job = found.kept.job
        if not (found.kept.apart or job.result or job.file):
            return False
        with self._backend.transaction():
            self._kv.delete(self._results, key)
            self._put(key, Kept(replace(job, result=None, file=""), found.kept.owner))
        return True

    def cancel(self, key: str) -> None:
        """Request that the owner of a job cancels it."""
        self._kv.put(self._cancelled, key, True, ttl=_CANCELLED_S)

    def cancelled(self) -> list[str]:
        """The keys of jobs with a cancellation request, of any process."""
        return [entry.key for entry in self._kv.scan(self._cancelled, limit=_PAGE).items]

    def take_cancel(self, key: str) -> None:
        """Drop a cancellation request that is being carried out."""
        self._kv.delete(self._cancelled, key)

    def close(self) -> None:
        """Release everything that this process owns."""
        self.pending.close()


def _read(entry: Entry) -> Kept:
    return msgspec.msgpack.decode(entry.value, type=Kept)

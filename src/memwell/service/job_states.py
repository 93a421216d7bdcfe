"""What the store has of jobs: how far each is, what came of it, and which processes are there to go on with theirs.

A job belongs to the process that does it, which writes it at the version that it wrote last. Who finds another version has
lost the job to somebody who took it for dead, and lets it be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict
from memwell.filters import id_begins_with
from memwell.records import Space, paged
from memwell.runtime.wire.problems import Problem
from memwell.runtime.wire.running import Job
from memwell.service.keys import SERVICE
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import new_id

ENDED = ("done", "failed")
"""What the status of a job is after which nothing more comes of it."""

_JOBS = SERVICE / "jobs"
_RESULTS = _JOBS / "results"
_OWNERS = _JOBS / "owners"
_CANCELLED = _JOBS / "cancelled"
_OPEN = _JOBS / "open"
"""The keys of jobs that have not ended, for whoever looks for those that nobody does any more."""

_ERASED = _JOBS / "erased"
_CANCELLED_S = 3600.0
"""For so long a process may find that one of its jobs is to be cancelled."""

_KEPT_S = 7 * 86_400.0
_PAGE = 500
_LARGEST_BESIDE = 16_384
"""A larger result is stored apart from its job, and not read when jobs are listed."""

_INTERRUPTED = Problem(
    type="urn:memwell:problem:interrupted",
    title="The service ended before the work did",
    status=503,
    code="interrupted",
    detail="the process that did this is gone, and what was sent for it too; start it again",
)
_IN_VAIN = replace(
    _INTERRUPTED, detail="no process that began this was there to end it, three times; look for the reason in its log"
)
_MOST_BEGUN = 3


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job as it is stored: whose process does it, and whether its result lies elsewhere.

    ``again`` is what any process needs to do it once more, None for what only the one that was asked could do.
    """

    job: Job
    owner: str
    apart: bool = False
    space: tuple[str, ...] = ()
    again: bytes | None = None
    begun: int = 1

    @property
    def goes_on(self) -> bool:
        """Whether another process goes on with it when its own is gone."""
        return self.again is not None and self.begun < _MOST_BEGUN

    def interrupted(self) -> Job:
        """What it is when its process is gone and nobody can go on."""
        problem = _INTERRUPTED if self.again is None else _IN_VAIN
        problem = replace(problem, detail=self.job.note) if self.job.note else problem
        return replace(self.job, status="failed", note="", problem=msgspec.to_builtins(problem))


class JobStates:
    """The jobs of a store as one process writes and sees them. What is written is kept for a week."""

    def __init__(self, kv: KeyValue, lease_s: float) -> None:
        self._kv = kv
        self._lease_s = lease_s
        self._me = new_id()
        self._beaten = float("-inf")

    def begin(self, key: str, kept: Kept, *, version: int = 0) -> int:
        """Make a job this process' own, and return the version at which it is; 0 is that of a new one.

        Raises ``Conflict`` when somebody else was faster.
        """
        self.beat()
        # First, so that nobody overlooks it.
        self._kv.put(_OPEN, key, True, ttl=_KEPT_S)
        return self._put(key, replace(kept, owner=self._me), expect=version)

    def put(self, key: str, kept: Kept, *, version: int) -> int:
        """Write down how far a job of this process is, and return the version at which it is now.

        Raises ``Conflict`` when it belongs to another process by now.
        """
        job = kept.job
        result = None if job.result is None else msgspec.json.encode(job.result)
        apart = result is not None and len(result) > _LARGEST_BESIDE
        if apart:
            self._kv.put(_RESULTS, key, result, ttl=_KEPT_S)
        job = replace(job, result=None) if apart else job
        ended = job.status in ENDED
        # What it would need to be done again is nobody's any more once it has ended.
        again = None if ended else kept.again
        written = self._put(key, replace(kept, job=job, owner=self._me, apart=apart, again=again), expect=version)
        if ended:
            self._kv.delete(_OPEN, key)
        return written

    def _put(self, key: str, kept: Kept, expect: int | None = None) -> int:
        # As bytes: a result may hold what no JSON value of a store may, such as a NUL.
        return self._kv.put(_JOBS, key, msgspec.msgpack.encode(kept), ttl=_KEPT_S, expect=expect).version

    def left_behind(self) -> Iterator[tuple[str, Kept, int]]:
        """The jobs that have not ended and whose process is gone, with their keys and versions."""
        for open_ in list(paged(lambda cursor: self._kv.scan(_OPEN, limit=_PAGE, cursor=cursor))):
            entry = self._kv.get(_JOBS, open_.key)
            kept = None if entry is None else _read(entry)
            if entry is None or kept is None or kept.job.status in ENDED:
                # Its process was killed between the two. A new job stands here a moment before it is written.
                if kept is not None:
                    self._kv.delete(_OPEN, open_.key)
            elif not self._is_there(kept.owner):
                yield open_.key, kept, entry.version

    def give_up(self, key: str, job: Job, *, version: int) -> None:
        """Write down how a job ended that nobody goes on with, unless somebody does."""
        with suppress(Conflict):
            self._put(key, Kept(job, self._me), expect=version)
            self._kv.delete(_OPEN, key)

    def get(self, key: str) -> Job | None:
        """A job with its result."""
        entry = self._kv.get(_JOBS, key)
        if entry is None:
            return None
        kept = _read(entry)
        apart = self._kv.get(_RESULTS, key) if kept.apart else None
        job = self._as_seen(kept)
        return job if apart is None else replace(job, result=msgspec.json.decode(apart.value))

    def all(self, space: Space) -> dict[str, Job]:
        """The jobs of a space by their keys, without results that are large."""
        return {entry.key: self._as_seen(_read(entry)) for entry in self._entries(space)}

    def _entries(self, space: Space) -> Iterator[Entry]:
        where = id_begins_with(key_of(space, ""))
        return paged(lambda cursor: self._kv.scan(_JOBS, where=where, limit=_PAGE, cursor=cursor))

    def _as_seen(self, kept: Kept) -> Job:
        """A job of a process that is gone does not run, though that is the last that was written of it."""
        if kept.job.status in ENDED or self._is_there(kept.owner):
            return kept.job
        return replace(kept.job, status="waiting") if kept.goes_on else kept.interrupted()

    def _is_there(self, owner: str) -> bool:
        return owner == self._me or self._kv.get(_OWNERS, owner) is not None

    def drop_results(self, space: Space) -> list[str]:
        """Drop what came of the ended jobs of a space, and return their ids."""
        keys = [entry.key for entry in self._entries(space)]
        return [key.rpartition("/")[2] for key in keys if self.drop_result(key)]

    def drop_result(self, key: str) -> bool:
        """Drop what came of one job; whether it has ended and there was something."""
        entry = self._kv.get(_JOBS, key)
        if entry is None:
            return False
        kept = _read(entry)
        if kept.job.status not in ENDED or not (kept.apart or kept.job.result or kept.job.file):
            return False
        self._kv.delete(_RESULTS, key)
        self._put(key, Kept(replace(kept.job, result=None, file=""), kept.owner))
        return True

    def note_erasure(self, space: Space) -> None:
        """Let the processes that write files of this space find that they hold what was erased."""
        self._kv.put(_ERASED, _digest(space), True, ttl=_KEPT_S)

    def erasures(self, space: Space) -> int:
        """A number that is another one after something was erased."""
        entry = self._kv.get(_ERASED, _digest(space))
        return 0 if entry is None else entry.version

    def cancel(self, key: str) -> None:
        """Have the process that does a job find that it is to be cancelled."""
        self._kv.put(_CANCELLED, key, True, ttl=_CANCELLED_S)

    def cancelled(self) -> list[str]:
        """The keys of jobs that are to be cancelled, of whatever process."""
        return [entry.key for entry in self._kv.scan(_CANCELLED, limit=_PAGE).items]

    def take_cancel(self, key: str) -> None:
        """What was asked for is being done."""
        self._kv.delete(_CANCELLED, key)

    def beat(self) -> None:
        """Say that this process is alive, unless that was said just now."""
        if time.monotonic() - self._beaten > self._lease_s / 4:
            self._kv.put(_OWNERS, self._me, True, ttl=self._lease_s)
            self._beaten = time.monotonic()

    def leave(self) -> None:
        """Say that this process does no more."""
        self._kv.delete(_OWNERS, self._me)


def key_of(space: Space, id_: str) -> str:
    """Where a job stands. With its space in front, no id leads to a job of another."""
    return f"{_digest(space)}/{id_}"


def _digest(space: Space) -> str:
    # A space may be longer than a key.
    return blake2b(space.encoded().encode(), digest_size=16).hexdigest()


def _read(entry: Entry) -> Kept:
    return msgspec.msgpack.decode(entry.value, type=Kept)


__all__ = ["ENDED", "JobStates", "Kept", "key_of"]

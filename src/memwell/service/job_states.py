"""What the store has of jobs: how far each is, what came of it, and which processes are there to go on with theirs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

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
    detail="the process that did this is gone; start it again",
)


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job as it is stored: whose process does it, and whether its result lies elsewhere."""

    job: Job
    owner: str
    apart: bool = False


class JobStates:
    """The jobs of a store as one process writes and sees them. What is written is kept for a week."""

    def __init__(self, kv: KeyValue, lease_s: float) -> None:
        self._kv = kv
        self._lease_s = lease_s
        self._me = new_id()
        self._beaten = float("-inf")

    def put(self, key: str, job: Job) -> None:
        """Write down how far a job of this process is."""
        result = None if job.result is None else msgspec.json.encode(job.result)
        apart = result is not None and len(result) > _LARGEST_BESIDE
        if apart:
            self._kv.put(_RESULTS, key, result, ttl=_KEPT_S)
        self._put(key, _Kept(replace(job, result=None) if apart else job, self._me, apart))

    def _put(self, key: str, kept: _Kept) -> None:
        # As bytes: a result may hold what no JSON value of a store may, such as a NUL.
        self._kv.put(_JOBS, key, msgspec.msgpack.encode(kept), ttl=_KEPT_S)

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

    def _as_seen(self, kept: _Kept) -> Job:
        """A job of a process that is gone will not go on, though the last that was written says that it runs."""
        if kept.job.status in ENDED or kept.owner == self._me or self._kv.get(_OWNERS, kept.owner) is not None:
            return kept.job
        problem = replace(_INTERRUPTED, detail=kept.job.note) if kept.job.note else _INTERRUPTED
        return replace(kept.job, status="failed", note="", problem=msgspec.to_builtins(problem))

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
        self._put(key, _Kept(replace(kept.job, result=None, file=""), kept.owner))
        return True

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
    # A digest: a space may be longer than a key.
    return f"{blake2b(space.encoded().encode(), digest_size=16).hexdigest()}/{id_}"


def _read(entry: Entry) -> _Kept:
    return msgspec.msgpack.decode(entry.value, type=_Kept)


__all__ = ["ENDED", "JobStates", "key_of"]

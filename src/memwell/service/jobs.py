"""Jobs: work that takes longer than a request should, done in threads of its own and followed by whoever started it.

    job = jobs.start(space, "export", work)         # at once; work(report) runs in a thread
    jobs.get(space, job.id)                         # how far it is, and at the end what came of it

How far a job is stands in the store, so that every process that serves it can tell. A process that has jobs says every
few seconds that it is alive; when that stops, its unfinished jobs are shown as failed. Files that jobs make lie in a
folder that only this user can open; they are gone after an hour, and with the process.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.errors import Busy, Conflict, MemwellError, NotFound
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.problems import Problem, problem_of
from memwell.runtime.wire.running import Job
from memwell.service.job_files import JobFiles, Made
from memwell.service.job_states import ENDED, JobStates, key_of
from memwell.storage.protocols import Backend
from memwell.values import MAX_CONTENT_BYTES, new_id, shown

_log = logging.getLogger("memwell.service.jobs")

MOST_WAITING = 64
"""So many jobs may wait for a thread; who wants to start one more is told to come again."""

_WRITE_EVERY_S = 0.5
_MOST_LISTED = 200
_ID = re.compile("[0-9a-f]{32}")

Work: TypeAlias = Callable[["Report"], Any]
"""What a job does. It returns what came of it: a struct or a dict of plain data, a ``Made`` file, or None."""

Progress: TypeAlias = Callable[[int, int | None], None]


class Report:
    """How a job tells how far it is: ``report("reading", 3, 10)``. It may be called as often as one likes.

    Raises ``Busy`` when the service is stopping, which ends the job; what it has stored by then stays.
    """

    def __init__(self, id_: str, tell: Callable[[str, int, int | None], None], files: JobFiles) -> None:
        self.id = id_
        self._tell = tell
        self._files = files

    def __call__(self, stage: str, done: int = 0, of: int | None = None) -> None:
        self._tell(stage, done, of)

    def stage(self, name: str) -> Progress:
        """A function that is told how much of one stage is done and of how much, as the library's calls want it."""
        self(name)
        return lambda done, of: self(name, done, of)

    def path(self, ending: str) -> Path:
        """Where the job may write a file that ends so. Only if it is returned as ``Made`` is it kept."""
        return self._files.path(self.id, ending)


class _Outcome(msgspec.Struct, frozen=True):
    """What came of a job: its result as JSON, a file, or a problem."""

    result: bytes | None = None
    made: Made | None = None
    problem: Problem | None = None


class _Live:
    """A job of this process that has not ended, or whose end is not written yet: until then it is seen as running."""

    __slots__ = ("changed", "job", "outcome", "outdated", "owned", "space", "written")

    def __init__(self, space: Space, job: Job, owned: Path | None) -> None:
        self.space = space
        self.job = job
        self.owned = owned
        self.outcome: _Outcome | None = None
        self.changed = False
        self.outdated = False
        """Something was erased since it began, which a file that it makes may still hold."""
        self.written = threading.Event()

    def state(self, now: datetime) -> Job:
        """What there is to write of it."""
        if self.outcome is None:
            return self.job
        outdated = self.outdated and self.outcome.made is not None
        return _with_outcome(self.job, _Outcome(problem=_OUTDATED) if outdated else self.outcome, now)


class Jobs(Closing):
    """The jobs of a store. A job belongs to a space, and for every other space it does not exist."""

    def __init__(
        self, backend: Backend, threads: int = 2, *, clock: Callable[[], datetime] = utc_now, lease_s: float = 30.0
    ) -> None:
        self._states = JobStates(backend.kv, lease_s)
        self._clock = clock
        self._pause_s = min(_WRITE_EVERY_S, lease_s / 4)
        self._files = JobFiles()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memwell-job")
        self._live: dict[str, _Live] = {}
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        # Held while a state is written, so that an older one never lands on top. Never waited for by a request: it may be
        # inside a transaction that the writer waits for.
        self._writing = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._closed = False

    # Starting and asking

    def start(self, space: Space, action: str, work: Work, *, owned: Path | None = None) -> Job:
        """Begin a job, and return at once. ``owned`` is a file that goes when the job ends, and when it cannot begin.

        Raises ``Busy`` when too many are waiting, or the service is stopping.
        """
        now = self._clock()
        job = Job(id=new_id(), action=action, status="waiting", created=now, updated=now)
        live = _Live(space, job, owned)
        key = key_of(space, job.id)
        try:
            self._admit(key, live)
            self._states.beat()
            self._states.put(key, job)
            self._submit(key, live, work)
        except BaseException:
            self._forget(key, live)
            raise
        return job

    def _admit(self, key: str, live: _Live) -> None:
        with self._lock:
            if self._closed:
                raise _stopping()
            if sum(one.outcome is None and one.job.status == "waiting" for one in self._live.values()) >= MOST_WAITING:
                raise Busy(f"{MOST_WAITING} jobs are waiting already; try again in a while", retry_after=5.0)
            self._live[key] = live
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="memwell-jobs", daemon=True)
                self._keeper.start()
            self._wake.notify()

    def _submit(self, key: str, live: _Live, work: Work) -> None:
        try:
            future = self._pool.submit(self._run, live, work)
        except RuntimeError:
            # It was closed a moment ago.
            raise _stopping() from None
        future.add_done_callback(lambda future: self._ended(key, live, future))

    def get(self, space: Space, id_: str) -> Job:
        """One job. Raises ``NotFound`` for an id that is no job of this space."""
        if _ID.fullmatch(id_) is None:
            raise NotFound(f"there is no job {shown(id_)}")
        key = key_of(space, id_)
        with self._lock:
            live = self._live.get(key)
        job = self._states.get(key) if live is None else live.job
        if job is None:
            raise NotFound(f"there is no job {shown(id_)}")
        return self._with_file(job)

    def _with_file(self, job: Job) -> Job:
        return job if not job.file or self._files.get(job.id) else replace(job, file="")

    def all(self, space: Space) -> list[Job]:
        """The newest 200 jobs of a space, newest first. A large result is left out; ``get`` has it."""
        with self._lock:
            live = {key: one.job for key, one in self._live.items() if one.space == space}
        found = {**self._states.all(space), **live}
        newest = sorted(found, reverse=True)[:_MOST_LISTED]
        return [self._with_file(found[key]) for key in newest]

    def watch(self, space: Space, id_: str) -> Iterator[Job | None]:
        """The job, and again whenever it has changed; None for each look that found nothing new. It ends with the job.

        Raises ``NotFound`` at once for an id that is no job of this space.
        """
        return self._watched(space, self.get(space, id_))

    def _watched(self, space: Space, job: Job) -> Iterator[Job | None]:
        yield job
        while job.status not in ENDED:
            seen, job = job, self.get(space, job.id)
            yield None if job == seen else job

    def file(self, space: Space, id_: str) -> tuple[Path, str]:
        """The file that a job has made, and what to call it. Raises ``NotFound`` when there is none, or no longer."""
        self.get(space, id_)
        found = self._files.get(id_)
        if found is None:
            raise NotFound(f"the job {id_} has no file here; a file is kept for an hour")
        return found

    def drop_results(self, space: Space) -> int:
        """Drop what came of all ended jobs of a space, their files too, and return of how many.

        For when something is erased: a result or an export may hold its words. A job that is writing a file fails. It may
        be part of a transaction.
        """
        with self._lock:
            for live in self._live.values():
                live.outdated = live.outdated or live.space == space
        dropped = self._states.drop_results(space)
        for id_ in dropped:
            self._files.drop(id_)
        return len(dropped)

    @property
    def busy(self) -> int:
        """How many jobs wait or run in this process."""
        with self._lock:
            return len(self._live)

    # Running, in a thread of the pool

    def _run(self, live: _Live, work: Work) -> _Outcome:
        self._change(live, status="running")
        report = Report(live.job.id, lambda stage, done, of: self._tell(live, stage, done, of), self._files)
        return _outcome_of(work(report), report, live.job.action)

    def _tell(self, live: _Live, stage: str, done: int, of: int | None) -> None:
        job = live.job
        if self._closed:
            raise _stopping()
        # What is counted may shrink while it is worked on; whoever looks at a bar must not see it go back.
        done = max(done, job.done) if stage == job.stage else done
        self._change(live, stage=stage, done=done, of=None if of is None else max(of, done))

    def _change(self, live: _Live, **changes: Any) -> None:
        with self._lock:
            if live.outcome is None:
                live.job = replace(live.job, updated=self._clock(), **changes)
                live.changed = True

    def _ended(self, key: str, live: _Live, future: Future[_Outcome]) -> None:
        error = None if future.cancelled() else future.exception()
        if future.cancelled():
            outcome = _Outcome(problem=_STOPPED)
        elif error is None:
            outcome = future.result()
        else:
            outcome = _Outcome(problem=_told(error, live.job))
        self._end(key, live, outcome)

    def _end(self, key: str, live: _Live, outcome: _Outcome) -> None:
        """Write down what came of a job, once: who is later finds that it has ended."""
        with self._lock:
            if live.outcome is not None:
                return
            live.outcome = outcome
        # Whoever sees that it has ended finds its file, and none that it no longer needs.
        if outcome.made is not None:
            self._files.keep(live.job.id, outcome.made)
        else:
            self._files.drop(live.job.id)
        _remove(live.owned)
        live.changed = True
        self._write(key, live)

    # What is written down

    def _write(self, key: str, live: _Live) -> None:
        """Write the state of a job. What fails here is tried again by the keeper."""
        with self._writing:
            with self._lock:
                if not live.changed:
                    # The keeper was here first. To write an end twice could bring back what was dropped in between.
                    return
                live.changed = False
                job, outdated = live.state(self._clock()), live.outdated
            try:
                self._states.put(key, job)
            except MemwellError as error:
                live.changed = True
                _log.warning("the state of the job %s could not be stored: %s", job.id, error)
                return
        if job.status in ENDED:
            self._let_go(key, live, outdated)

    def _let_go(self, key: str, live: _Live, outdated: bool) -> None:
        if live.outdated:
            self._files.drop(live.job.id)
            if not outdated:
                # Something was erased while the end was written, too early for it to be found there.
                self._states.drop_result(key)
        with self._lock:
            self._live.pop(key, None)
        live.written.set()

    def _forget(self, key: str, live: _Live) -> None:
        with self._lock:
            self._live.pop(key, None)
        _remove(live.owned)

    # The keeper: one thread that writes what changed, says that this process is alive, and removes old files

    def _keep(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                pause = self._pause_s if self._live else self._files.next_end()
                self._wake.wait(pause)
                live = list(self._live.items())
            self._files.sweep()
            with suppress(MemwellError):
                if live:
                    self._states.beat()
            for key, one in live:
                if one.changed and not self._closed:
                    self._write(key, one)

    # The end

    def close(self, wait_s: float = 5.0) -> None:
        """Stop. What is waiting does not begin; what is running has a moment to end, and is called failed after it."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            live = list(self._live.items())
            self._wake.notify_all()
        self._pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + wait_s
        for key, one in live:
            if not one.written.wait(max(0.0, until - time.monotonic())):
                self._end(key, one, _Outcome(problem=_STOPPED))
        if self._keeper is not None:
            self._keeper.join(wait_s)
        with suppress(MemwellError):
            self._states.leave()
        self._files.close()


def _remove(path: Path | None) -> None:
    # That it cannot be removed must not keep the job from ending.
    with suppress(OSError):
        if path is not None:
            path.unlink(missing_ok=True)


def _outcome_of(result: Any, report: Report, action: str) -> _Outcome:
    made = result if isinstance(result, Made) else None
    told = made.result if made is not None else result
    written = None if told is None else encode(told)
    if written is None or len(written) <= MAX_CONTENT_BYTES:
        return _Outcome(written, made)
    # Too large for a value of a store: to be fetched as a file.
    path = report.path(".json")
    path.write_bytes(written)
    return _Outcome(made=Made(path=path, name=f"memwell-{action}.json"))


def _with_outcome(job: Job, outcome: _Outcome, now: datetime) -> Job:
    if outcome.problem is not None:
        return replace(job, status="failed", updated=now, problem=msgspec.to_builtins(outcome.problem))
    return replace(
        job,
        status="done",
        updated=now,
        result=None if outcome.result is None else msgspec.json.decode(outcome.result),
        file="" if outcome.made is None else outcome.made.name,
    )


def _told(error: BaseException, job: Job) -> Problem:
    """A failure as whoever started the job is told of it; what they are not told is logged."""
    known = error if isinstance(error, MemwellError) else MemwellError(type(error).__name__)
    problem = problem_of(known, request=job.id)
    # A name that is no text in any encoding could not be stored.
    problem = replace(problem, detail=problem.detail.encode(errors="replace").decode())
    if problem.status in (500, 501):
        _log.error("the job %s (%s) failed", job.id, job.action, exc_info=error)
    return problem


def _stopping() -> Busy:
    return Busy("the service is stopping; start it again in a moment", code="stopping", retry_after=5.0)


_STOPPED = replace(
    problem_of(_stopping()), detail="the service was stopped before this was done; start it again", retry_after=None
)
_OUTDATED = problem_of(Conflict("something was erased while this was written; start it again"))

__all__ = ["Jobs", "MOST_WAITING", "Made", "Report", "Work"]

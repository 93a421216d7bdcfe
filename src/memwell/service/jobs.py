"""The jobs of the service: work that takes longer than a request, in threads of this process.

    job = jobs.start(space, "import", work)         # at once; work(report) runs in a thread
    job = jobs.repeat(memory, "export", asked)      # another process repeats it when this one is killed
    jobs.get(space, job.id)                         # its progress, and at the end its result
    jobs.cancel(space, job.id)

The jobs are in the store's queue (``memwell.runtime.jobs``), so every process that serves the store shows all of them.
Spaces with fewer running jobs come first, and none has all the threads. When a process is killed, another takes over its
jobs, or fails those whose upload is lost. A process that stops gives its jobs back at once. Files that jobs make are in a
folder that only this user can open; they are removed after an hour, and with the process.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.confined import FairQueue, reading_for
from memwell.errors import Busy, Conflict, FileError, MemwellError, NotFound
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.jobs import LEASE_S, SERVICE_JOBS, FoundJob, Job, JobQueue, Kept
from memwell.runtime.transfer.files import PrivateFolder
from memwell.runtime.wire.codec import Problem, encode, problem_of
from memwell.storage.protocols import Backend
from memwell.values import MAX_CONTENT_BYTES, new_id, shown

# Files that jobs make

KEPT_S = 3600.0


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a job made, its name, and a further result."""

    path: Path
    name: str
    result: Any = None


class JobFiles:
    """The files of this process' jobs, in a folder that is made for the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: PrivateFolder | None = None
        self._held: dict[str, tuple[Made, str, float]] = {}
        """By the id of a job: its file, its key in the queue, and until when it is kept."""
        self._closed = False

    def path(self, id_: str, ending: str) -> Path:
        """A path that a job may write to. Raises ``FileError`` after ``close``."""
        with self._lock:
            if self._closed:
                raise FileError("no file is made any more: the service is stopping")
            if self._folder is None or not self._folder.path.is_dir():
                self._folder = PrivateFolder("jobs")
            return self._folder.path / f"{id_}{ending}"

    def keep(self, id_: str, made: Made, key: str) -> None:
        """Keep a file for an hour; ``key`` is its job's in the queue. After ``close`` it is removed at once."""
        with self._lock:
            if not self._closed:
                self._held[id_] = (made, key, time.monotonic() + KEPT_S)
                return
        made.path.unlink(missing_ok=True)

    def get(self, id_: str) -> Made | None:
        """The file of a job, if it exists."""
        with self._lock:
            held = self._held.get(id_)
        return held[0] if held is not None and held[0].path.is_file() else None

    def drop(self, id_: str) -> None:
        """Remove the files of a job."""
        with self._lock:
            self._held.pop(id_, None)
            folder = self._folder
        with suppress(OSError):
            for path in folder.path.glob(f"*{id_}*") if folder is not None else ():
                path.unlink(missing_ok=True)

    def sweep(self, is_dropped: Callable[[str], bool]) -> None:
        """Remove the files that expired, and those whose jobs ``is_dropped`` names by their keys in the queue."""
        with self._lock:
            held = list(self._held.items())
        for id_, (_, key, until) in held:
            if until <= time.monotonic() or is_dropped(key):
                self.drop(id_)

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            self._closed = True
            self._held.clear()
            folder, self._folder = self._folder, None
        if folder is not None:
            folder.close()


_log = logging.getLogger("memwell.service.jobs")

MOST_WAITING = 64
"""How many jobs may wait for a thread; above that ``Busy`` is raised."""

MOST_WAITING_EACH = 16
"""How many jobs of one space may wait."""

_ERASED = SERVICE_JOBS / "erased"
_KEPT_S = 7 * 86_400.0
_MOST_LISTED = 200
_WRITE_EVERY_S = 0.5
_ID = re.compile("[0-9a-f]{32}")

Work: TypeAlias = Callable[["Report"], Any]
"""The function of a job. It returns a struct or a dict of plain data, a ``Made`` file, or None."""

Progress: TypeAlias = Callable[[int, int | None], None]

WorkFactory: TypeAlias = Callable[[Engine, Any], Work]
"""Makes the work of a job from its memory and its request."""

REPEATED: dict[str, tuple[type[Any], WorkFactory]] = {}
"""The actions that any process can repeat, by name: the type of the request, and the factory of the work."""

M = TypeVar("M", bound=WorkFactory)


def repeated(action: str, shape: type[Any]) -> Callable[[M], M]:
    """Register the factory of an action that may run twice: another process repeats it when one is killed."""

    def register(factory: M) -> M:
        REPEATED[action] = (shape, factory)
        return factory

    return register


class Report:
    """Reports the progress of a job: ``report("reading", 3, 10)``.

    Raises ``Busy`` when the service is stopping and ``Cancelled`` after a cancellation request, which ends the job. What
    it has stored stays.
    """

    def __init__(self, jobs: Jobs, live: _Live) -> None:
        self.id = live.job.id
        self._jobs = jobs
        self._live = live

    def __call__(self, stage: str, done: int = 0, of: int | None = None) -> None:
        self._jobs.report(self._live, stage, done, of)

    def note(self, note: str) -> None:
        """Set the note of the job, such as what is still pending at its end."""
        self._jobs.change(self._live, note=note)

    def erased(self) -> None:
        """Drop what else may hold the texts that the job has erased: results of jobs, and stored answers."""
        space = Space(*self._live.kept.space)
        self._jobs.drop_results(space)
        self._jobs.drop_answers(space)

    def stage(self, name: str) -> Progress:
        """A ``progress`` function for one stage, as the library takes it."""
        self(name)
        return lambda done, of: self(name, done, of)

    def path(self, ending: str) -> Path:
        """A path with this ending that the job may write to. The file is kept if the job returns it as ``Made``."""
        return self._jobs.files.path(self.id, ending)

    def write(self, ending: str, data: bytes) -> Path:
        """A file with this content, encrypted if the store is."""
        path, backend = self.path(ending), self._jobs.backend
        with backend.export_writer(path) if backend.encrypted else path.open("wb") as file:
            file.write(data)
        return path


class Cancelled(MemwellError):
    """The job was cancelled."""

    code = "cancelled"


class _Outcome(msgspec.Struct, frozen=True):
    """The outcome of a job: its result as plain data, a file, or a problem."""

    result: dict[str, Any] | None = None
    made: Made | None = None
    problem: Problem | None = None

    def ended(self, job: Job, now: datetime) -> Job:
        """The job after it ended with this outcome."""
        if self.problem is not None:
            return replace(job, status="failed", updated=now, note="", problem=msgspec.to_builtins(self.problem))
        return replace(
            job, status="done", updated=now, result=self.result, file="" if self.made is None else self.made.name
        )


class _Live:
    """A job of this process that has not ended, or whose end is not stored yet."""

    def __init__(self, key: str, kept: Kept, work: Work, owned: Path | None = None) -> None:
        self.key = key
        self.kept = kept
        """Its first state."""
        self.version = 0
        self.space = Space(*kept.space)
        self.job = kept.job
        self.work = work
        self.owned = owned
        self.erasures = 0
        self.outcome: _Outcome | None = None
        self.changed = False
        self.cancelled = False
        self.outdated = False
        """Something was erased since it began, so its file may hold erased texts."""
        self.lost = False
        """Whether another process owns it by now."""
        self.written = threading.Event()

    @property
    def waits(self) -> bool:
        """Whether it waits for a thread."""
        return self.outcome is None and self.job.status == "waiting"

    def state(self, now: datetime) -> Job:
        """The state to store."""
        if self.outcome is None:
            return self.job
        outdated = self.outdated and self.outcome.made is not None
        return (_Outcome(problem=_OUTDATED) if outdated else self.outcome).ended(self.job, now)


def _outcome_of(result: Any, report: Report, action: str) -> _Outcome:
    """The outcome for what a job returned."""
    made = result if isinstance(result, Made) else None
    said = made.result if made is not None else result
    if said is None:
        return _Outcome(made=made)
    written = encode(said)
    if len(written) <= MAX_CONTENT_BYTES:
        return _Outcome(msgspec.json.decode(written), made)
    # Too large for a value of a store: it becomes a file.
    return _Outcome(made=Made(path=report.write(".json", written), name=f"memwell-{action}.json"))


def _problem(error: BaseException, job: Job) -> Problem:
    """The problem of an error, for the user of the job. Internal details go to the log."""
    known = error if isinstance(error, MemwellError) else MemwellError(type(error).__name__)
    problem = problem_of(known, request=job.id)
    # Surrogates, as in odd file names, cannot be stored.
    problem = replace(problem, detail=problem.detail.encode(errors="replace").decode())
    if problem.status in (500, 501):
        _log.error("the job %s (%s) failed", job.id, job.action, exc_info=error)
    return problem


def _stopping() -> Busy:
    return Busy("the service is stopping; start it again in a moment", code="stopping", retry_after=5.0)


def _cancelled() -> Cancelled:
    return Cancelled("it was cancelled; what was stored by then stays")


_STOPPED = replace(
    problem_of(_stopping()), detail="the service was stopped before this was done; start it again", retry_after=None
)
_OUTDATED = problem_of(Conflict("something was erased while this was written; start it again"))


class _JobStates:
    """Reads and stores the states of jobs. A job is visible in its own space only."""

    def __init__(self, backend: Backend, lease_s: float, clock: Callable[[], datetime]) -> None:
        self.backend = backend
        self._kv = backend.kv
        self._queue = JobQueue(backend, SERVICE_JOBS, lease_s=lease_s, kept_s=_KEPT_S)
        self._clock = clock
        self.files = JobFiles()
        self._live: dict[str, _Live] = {}
        self._lock = threading.Lock()
        # Held while a state is written, so that an older one never overwrites it. A request never waits for it: it may
        # hold a transaction that the writer waits for.
        self._writing = threading.Lock()

    def get(self, space: Space, id_: str) -> Job:
        """One job. Raises ``NotFound`` for an id that is no job of this space."""
        if _ID.fullmatch(id_) is None:
            raise NotFound(f"there is no job {shown(id_)}")
        key = key_of(space, id_)
        with self._lock:
            live = self._live.get(key)
        job = self._queue.get(key) if live is None else live.job
        if job is None:
            raise NotFound(f"there is no job {shown(id_)}")
        return self._with_file(job)

    def _with_file(self, job: Job) -> Job:
        return job if not job.file or self.files.get(job.id) else replace(job, file="")

    def all(self, space: Space) -> list[Job]:
        """The newest 200 jobs of a space, newest first. A large result is left out; ``get`` has it."""
        with self._lock:
            live = {key: one.job for key, one in self._live.items() if one.space == space}
        found = {**self._queue.shown(key_of(space, "")), **live}
        newest = sorted(found, reverse=True)[:_MOST_LISTED]
        return [self._with_file(found[key]) for key in newest]

    def file(self, space: Space, id_: str) -> tuple[Path, str]:
        """The file that a job has made, and its name. Raises ``NotFound`` when there is none, or no longer."""
        job, found = self.get(space, id_), self.files.get(id_)
        # After an erasure no process offers the file.
        if found is None or (job.ended and not job.file):
            raise NotFound(f"the job {id_} has no file here; a file is kept for an hour, by the process that made it")
        return found.path, found.name

    def drop_results(self, space: Space) -> int:
        """Drop the results and files of all ended jobs of a space, and return of how many.

        Called after an erasure: a result or an export may hold erased texts. A job that is writing a file fails. It may
        be part of a transaction.
        """
        with self._lock:
            for live in self._live.values():
                live.outdated = live.outdated or live.space == space
        self._kv.put(_ERASED, _digest(space), True, ttl=_KEPT_S)
        keys = [found.key for found in self._queue.all(key_of(space, ""))]
        dropped = [key for key in keys if self._queue.drop_result(key)]
        for key in dropped:
            self.files.drop(key.rpartition("/")[2])
        return len(dropped)

    def _erasures(self, space: Space) -> int:
        """A number that changes with every erasure."""
        entry = self._kv.get(_ERASED, _digest(space))
        return 0 if entry is None else entry.version

    @property
    def busy(self) -> int:
        """How many jobs wait or run in this process."""
        with self._lock:
            return len(self._live)

    # Storing states

    def change(self, live: _Live, **changes: Any) -> None:
        """Change the state of a job that runs. The keeper stores it."""
        with self._lock:
            if live.outcome is None:
                live.job = replace(live.job, updated=self._clock(), **changes)
                live.changed = True

    def _write(self, live: _Live) -> None:
        """Store the state of a job. After a failure the keeper tries again."""
        with self._writing:
            with self._lock:
                if not live.changed:
                    # The keeper stored it. Storing an end twice could restore a result that was dropped in between.
                    return
                live.changed = False
            try:
                outdated = self._is_outdated(live)
                job = live.state(self._clock())
                live.version = self._queue.write(live.key, replace(live.kept, job=job), live.version)
            except Conflict:
                _log.warning("another process has taken over the job %s; it ends here", live.job.id)
                self._lose(live)
                return
            except MemwellError as error:
                live.changed = True
                _log.warning("the state of the job %s could not be stored: %s", live.job.id, error)
                return
        if job.ended:
            if self._is_outdated(live):
                self.files.drop(live.job.id)
                if not outdated:
                    # The erasure came while the end was stored, and did not see it.
                    self._queue.drop_result(live.key)
            self._leave(live)

    def _is_outdated(self, live: _Live) -> bool:
        """Whether something was erased since it began, in any process."""
        if live.outcome is not None and live.outcome.made is not None:
            live.outdated = live.outdated or self._erasures(live.space) != live.erasures
        return live.outdated

    def _lose(self, live: _Live) -> None:
        # It stops at its next report.
        live.lost = live.cancelled = True
        _remove(live.owned)
        self.files.drop(live.job.id)
        self._leave(live)

    def _leave(self, live: _Live) -> None:
        with self._lock:
            self._live.pop(live.key, None)
        live.written.set()


class Jobs(_JobStates, Closing):
    """Runs the jobs of a store in threads of this process."""

    def __init__(
        self, backend: Backend, threads: int = 3, *, clock: Callable[[], datetime] = utc_now, lease_s: float = LEASE_S
    ) -> None:
        super().__init__(backend, lease_s, clock)
        self._pause_s = min(_WRITE_EVERY_S, lease_s / 4)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memwell-job")
        self._turns: FairQueue[_Live] = FairQueue(threads)
        self._wake = threading.Condition(self._lock)
        self._keeper: threading.Thread | None = None
        self._closed = False
        self.drop_answers: Callable[[Space], None] = _no_answers
        """Drops the stored answers of a space; set by the owner of these."""

    # Beginning

    def start(self, space: Space, action: str, work: Work, *, owned: Path | None = None) -> Job:
        """Begin a job, and return at once. ``owned`` is a file that is removed when the job ends or cannot begin.

        Raises ``Busy`` when too many are waiting, in all or of this space, or the service is stopping.
        """
        kept = self._new(space, action)
        return self._begin(kept, work, owned, lambda key: self._queue.add(key, kept))

    def repeat(self, memory: Engine, action: str, asked: Any) -> Job:
        """Begin a job of an action that is ``repeated``, and return at once. Raises ``Busy`` as ``start`` does."""
        kept = self._new(memory.space, action, msgspec.msgpack.encode(asked))
        return self._begin(kept, REPEATED[action][1](memory, asked), None, lambda key: self._queue.add(key, kept))

    def _new(self, space: Space, action: str, again: bytes | None = None) -> Kept:
        now = self._clock()
        job = Job(id=new_id(), action=action, status="waiting", created=now, updated=now)
        return Kept(job, space=tuple(space), again=again)

    def _begin(self, kept: Kept, work: Work, owned: Path | None, store: Callable[[str], int]) -> Job:
        live = _Live(key_of(Space(*kept.space), kept.job.id), kept, work, owned)
        try:
            self._admit(live)
            live.erasures = self._erasures(live.space)
            live.version = store(live.key)
            with self._lock:
                if self._closed:
                    raise _stopping()
                self._turns.add(live.space, live)
        except BaseException:
            with self._lock:
                self._live.pop(live.key, None)
            _remove(live.owned)
            raise
        self._begin_next()
        return kept.job

    def _admit(self, live: _Live) -> None:
        with self._wake:
            if self._closed:
                raise _stopping()
            waiting = Counter(one.space for one in self._live.values() if one.waits)
            if waiting.total() >= MOST_WAITING:
                raise Busy(f"{MOST_WAITING} jobs are waiting already; try again in a while", retry_after=5.0)
            if waiting[live.space] >= MOST_WAITING_EACH:
                each = f"{MOST_WAITING_EACH} of your jobs are waiting already; try again in a while"
                raise Busy(each, retry_after=5.0)
            self._live[live.key] = live
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="memwell-jobs", daemon=True)
                self._keeper.start()
            self._wake.notify()

    def take_up(self, memory_of: Callable[[Space], Engine]) -> int:
        """Take over the jobs of processes that are gone, and return how many. Those that cannot be repeated fail.

        Call it every few seconds: it removes old files too. One of several processes gets each job.
        """
        taken = 0
        for found in self._queue.free():
            with self._lock:
                if self._closed or found.key in self._live:
                    continue
            # Another process took it, or this one is full.
            with suppress(Conflict, Busy):
                taken += self._take_over(found, memory_of)
        # A process drops the result of a job after an erasure, and then no file of it may stay.
        self.files.sweep(lambda key: (job := self._queue.get(key)) is not None and job.ended and not job.file)
        return taken

    def _take_over(self, found: FoundJob, memory_of: Callable[[Space], Engine]) -> bool:
        kept = found.kept
        shape, factory = REPEATED.get(kept.job.action, (None, None))
        if found.key in self._queue.cancelled():
            problem = _problem(_cancelled(), kept.job)
            self._claimed(found.key, replace(kept, job=_Outcome(problem=problem).ended(kept.job, self._clock())))
            self._queue.take_cancel(found.key)
        elif factory is None or kept.again is None or not kept.goes_on:
            self._claimed(found.key, replace(kept, job=kept.interrupted()))
        else:
            work = factory(memory_of(Space(*kept.space)), msgspec.msgpack.decode(kept.again, type=shape))
            again = replace(kept, job=self._afresh(kept.job), begun=kept.begun + 1)
            self._begin(again, work, None, lambda key: self._claimed(key, again))
            return True
        return False

    def _afresh(self, job: Job) -> Job:
        return replace(job, status="waiting", stage="", done=0, of=None, note="", updated=self._clock())

    def _claimed(self, key: str, kept: Kept) -> int:
        """Claim a free job and store its new state. Raises ``Conflict`` when another process claimed it."""
        found = self._queue.claim(key)
        if found is None:
            raise Conflict(f"another process has begun the job {kept.job.id}")
        return self._queue.write(key, kept, found.version)

    # Running, in a thread of the pool

    def _begin_next(self) -> None:
        while True:
            with self._lock:
                live = None if self._closed else self._turns.take()
                if live is None:
                    return
                future = self._pool.submit(self._run, live)
            future.add_done_callback(lambda future, live=live: self._ran(live, future))

    def _run(self, live: _Live) -> _Outcome:
        if live.cancelled:
            raise _cancelled()
        self.change(live, status="running")
        report = Report(self, live)
        with reading_for(live.space, partial(self._check, live)):
            return _outcome_of(live.work(report), report, live.job.action)

    def report(self, live: _Live, stage: str, done: int, of: int | None) -> None:
        """Note the progress of a job. Raises ``Busy`` when the service stops, ``Cancelled`` when the job was."""
        self._check(live)
        job = live.job
        # The total may shrink while the job runs; its progress bar must not go back.
        done = max(done, job.done) if stage == job.stage else done
        self.change(live, stage=stage, done=done, of=None if of is None else max(of, done))

    def _check(self, live: _Live) -> None:
        if self._closed:
            raise _stopping()
        if live.cancelled:
            raise _cancelled()

    def _ran(self, live: _Live, future: Future[_Outcome]) -> None:
        error = None if future.cancelled() else future.exception()
        if future.cancelled() or (self._closed and isinstance(error, Busy) and error.code == "stopping"):
            self._stop(live)
        elif error is not None:
            self._end(live, _Outcome(problem=_problem(error, live.job)))
        else:
            self._end(live, future.result())
        with self._lock:
            self._turns.ended(live.space)
        self._begin_next()

    def _end(self, live: _Live, outcome: _Outcome) -> None:
        """Store the outcome of a job, once."""
        with self._lock:
            if live.outcome is not None or live.lost:
                return
            live.outcome = outcome
        # The file is there, or gone, before the end is visible.
        if outcome.made is not None:
            self.files.keep(live.job.id, outcome.made, live.key)
        else:
            self.files.drop(live.job.id)
        _remove(live.owned)
        live.changed = True
        self._write(live)

    # Cancelling

    def cancel(self, space: Space, id_: str) -> Job:
        """Cancel a job. One that waits has failed at once; one that runs ends with its next report.

        What a job has stored stays. One that has ended is as it was. Raises ``NotFound`` as ``get`` does.
        """
        found = self.get(space, id_)
        key = key_of(space, id_)
        with self._lock:
            live = self._live.get(key)
        if live is not None:
            self._cancel(live)
        elif not found.ended:
            # The process that runs it polls for requests.
            self._queue.cancel(key)
        return self.get(space, id_)

    def _cancel(self, live: _Live) -> None:
        with self._wake:
            live.cancelled = True
            waited = self._turns.drop(live.space, live)
        if waited:
            self._end(live, _Outcome(problem=_problem(_cancelled(), live.job)))

    # The keeper: one thread that stores changes and polls cancellation requests

    def _keep(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                self._wake.wait(self._pause_s if self._live else None)
                live = list(self._live.values())
            with suppress(MemwellError):
                requested = set(self._queue.cancelled()) if live else ()
                for one in live:
                    if one.key in requested:
                        self._queue.take_cancel(one.key)
                        self._cancel(one)
            for one in live:
                if one.changed and not self._closed:
                    self._write(one)

    # The end

    def close(self, wait_s: float = 5.0) -> None:
        """Stop. Waiting jobs do not begin; running ones have ``wait_s`` to end.

        Jobs that have not ended by then are given back to the queue, or fail where they cannot be repeated.
        """
        with self._wake:
            if self._closed:
                return
            self._closed = True
            live = list(self._live.values())
            dropped = self._turns.drop_all()
            self._wake.notify_all()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for one in dropped:
            self._stop(one)
        until = time.monotonic() + wait_s
        for one in live:
            if not one.written.wait(max(0.0, until - time.monotonic())):
                self._stop(one)
        if self._keeper is not None:
            self._keeper.join(wait_s)
        self._queue.close()
        self.files.close()

    def _stop(self, live: _Live) -> None:
        """Give a job back to the queue, or fail it."""
        if not live.kept.goes_on or live.outcome is not None:
            self._end(live, _Outcome(problem=_STOPPED))
            return
        with self._writing:
            waiting = self._afresh(live.job)
            # If that fails, it is free when the lease of this process ends.
            with suppress(MemwellError):
                self._queue.give_back(live.key, replace(live.kept, job=waiting), live.version)
            live.lost = True
        self.files.drop(live.job.id)
        self._leave(live)

    @property
    def lingering(self) -> bool:
        """Whether a thread still runs a job, whose result is dropped."""
        with self._lock:
            return self._turns.running > 0


def key_of(space: Space, id_: str) -> str:
    """The key of a job in the queue: its space first, so that no id leads to a job of another space."""
    return f"{_digest(space)}/{id_}"


def _digest(space: Space) -> str:
    # A space may be longer than a key.
    return blake2b(space.encoded().encode(), digest_size=16).hexdigest()


def _no_answers(space: Space) -> None:
    """There are none where nothing is answered."""


def _remove(path: Path | None) -> None:
    # A file that cannot be removed must not keep the job from ending.
    with suppress(OSError):
        if path is not None:
            path.unlink(missing_ok=True)

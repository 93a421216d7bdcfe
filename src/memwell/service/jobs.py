"""Jobs: work that takes longer than a request should, done in threads of its own and followed by whoever started it.

    job = jobs.start(space, "export", work)         # at once; work(report) runs in a thread
    jobs.get(space, job.id)                         # how far it is, and at the end what came of it
    jobs.cancel(space, job.id)                      # when nobody wants it any more

Spaces take turns, and none has all the threads. How far a job is stands in the store, so that every process that serves it
can tell. A process that has jobs says every few seconds that it is alive; when that stops, its unfinished jobs are shown as
failed. Files that jobs make lie in a folder that only this user can open; they are gone after an hour, and with the
process.
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
from typing import Any

from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.errors import MemwellError, NotFound
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.wire.running import Job
from memwell.service.job_files import JobFiles, Made
from memwell.service.job_states import ENDED, JobStates, key_of
from memwell.service.job_turns import MOST_WAITING, MOST_WAITING_EACH, Turns, check_room
from memwell.service.job_work import (
    STOPPED,
    Live,
    Ongoing,
    Outcome,
    Report,
    Watched,
    Work,
    cancelled,
    outcome_of,
    stopping,
    told,
)
from memwell.storage.protocols import Backend
from memwell.values import new_id, shown

_log = logging.getLogger("memwell.service.jobs")

_WRITE_EVERY_S = 0.5
_LOOK_EVERY_S = 0.2
_MOST_LISTED = 200
_ID = re.compile("[0-9a-f]{32}")


class _KeptJobs:
    """The jobs of a store as they are asked for and written down. For every space but its own a job does not exist."""

    def __init__(self, backend: Backend, lease_s: float, clock: Callable[[], datetime]) -> None:
        self._states = JobStates(backend.kv, lease_s)
        self._clock = clock
        self._files = JobFiles()
        self._live: dict[str, Live] = {}
        self._lock = threading.Lock()
        # Held while a state is written, so that an older one never lands on top. Never waited for by a request: it may be
        # inside a transaction that the writer waits for.
        self._writing = threading.Lock()

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

    # What is written down

    def _advance(self, live: Live, stage: str, done: int, of: int | None, note: str = "") -> None:
        job = live.job
        # What is counted may shrink while it is worked on; whoever looks at a bar must not see it go back.
        done = max(done, job.done) if stage == job.stage else done
        self._change(live, stage=stage, done=done, of=None if of is None else max(of, done), note=note)

    def _change(self, live: Live, **changes: Any) -> None:
        with self._lock:
            if live.outcome is None:
                live.job = replace(live.job, updated=self._clock(), **changes)
                live.changed = True

    def _write(self, live: Live) -> None:
        """Write the state of a job. What fails here is tried again by the keeper."""
        with self._writing:
            with self._lock:
                if not live.changed:
                    # The keeper was here first. To write an end twice could bring back what was dropped in between.
                    return
                live.changed = False
                job, outdated = live.state(self._clock()), live.outdated
            try:
                self._states.put(live.key, job)
            except MemwellError as error:
                live.changed = True
                _log.warning("the state of the job %s could not be stored: %s", job.id, error)
                return
        if job.status in ENDED:
            self._let_go(live, outdated)

    def _let_go(self, live: Live, outdated: bool) -> None:
        if live.outdated:
            self._files.drop(live.job.id)
            if not outdated:
                # Something was erased while the end was written, too early for it to be found there.
                self._states.drop_result(live.key)
        with self._lock:
            self._live.pop(live.key, None)
        live.written.set()

    def _forget(self, live: Live) -> None:
        with self._lock:
            self._live.pop(live.key, None)
        _remove(live.owned)


class Jobs(_KeptJobs, Closing):
    """The jobs of a store, and the threads of this process that do them."""

    def __init__(
        self, backend: Backend, threads: int = 3, *, clock: Callable[[], datetime] = utc_now, lease_s: float = 30.0
    ) -> None:
        super().__init__(backend, lease_s, clock)
        self._pause_s = min(_WRITE_EVERY_S, lease_s / 4)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memwell-job")
        self._turns: Turns[Live] = Turns(threads)
        self._wake = threading.Condition(self._lock)
        self._keeper: threading.Thread | None = None
        self._closed = False

    # Starting and cancelling

    def start(self, space: Space, action: str, work: Work, *, owned: Path | None = None) -> Job:
        """Begin a job, and return at once. ``owned`` is a file that goes when the job ends, and when it cannot begin.

        Raises ``Busy`` when too many are waiting, in all or of this space, or the service is stopping.
        """
        now = self._clock()
        job = Job(id=new_id(), action=action, status="waiting", created=now, updated=now)
        live = Live(key_of(space, job.id), space, job, work, owned)
        try:
            self._admit(live)
            self._states.beat()
            self._states.put(live.key, job)
            self._queue(live)
        except BaseException:
            self._forget(live)
            raise
        return job

    def _admit(self, live: Live) -> None:
        with self._wake:
            if self._closed:
                raise stopping()
            check_room([one.space for one in self._live.values() if one.waits], live.space)
            self._live[live.key] = live
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="memwell-jobs", daemon=True)
                self._keeper.start()
            self._wake.notify()

    def _queue(self, live: Live) -> None:
        with self._lock:
            if self._closed:
                raise stopping()
            self._turns.add(live.space, live)
        self._begin_next()

    def _begin_next(self) -> None:
        while True:
            with self._lock:
                live = None if self._closed else self._turns.take()
                if live is None:
                    return
                future = self._pool.submit(self._run, live)
            future.add_done_callback(lambda future, live=live: self._ran(live, future))

    def cancel(self, space: Space, id_: str) -> Job:
        """Have a job end. One that waits has failed at once; one that runs ends with its next report.

        What a job has stored stays. One that has ended is as it was. Raises ``NotFound`` as ``get`` does.
        """
        found = self.get(space, id_)
        key = key_of(space, id_)
        with self._lock:
            live = self._live.get(key)
        if live is not None:
            self._cancel(live)
        elif found.status not in ENDED:
            # Another process does it, and looks for this.
            self._states.cancel(key)
        return self.get(space, id_)

    def _cancel(self, live: Live) -> None:
        with self._wake:
            live.cancelled = True
            waited = self._turns.drop(live.space, live)
        if waited:
            self._end(live, Outcome(problem=told(cancelled(), live.job)))
        elif live.ongoing is not None:
            self._end(live, live.ongoing.outcome(live.job))

    # Running, in a thread of the pool

    def _run(self, live: Live) -> Outcome | Watched:
        if live.cancelled:
            raise cancelled()
        self._change(live, status="running")
        report = Report(live.job.id, lambda stage, done, of: self._tell(live, stage, done, of), self._files)
        result = live.work(report)
        return Watched(result, report) if isinstance(result, Ongoing) else outcome_of(result, report, live.job.action)

    def _tell(self, live: Live, stage: str, done: int, of: int | None) -> None:
        if self._closed:
            raise stopping()
        if live.cancelled:
            raise cancelled()
        self._advance(live, stage, done, of)

    def _ran(self, live: Live, future: Future[Outcome | Watched]) -> None:
        error = None if future.cancelled() else future.exception()
        if future.cancelled():
            self._end(live, Outcome(problem=STOPPED))
        elif error is not None:
            self._end(live, Outcome(problem=told(error, live.job)))
        else:
            self._gave(live, future.result())
        with self._lock:
            self._turns.ended(live.space)
        self._begin_next()

    def _gave(self, live: Live, given: Outcome | Watched) -> None:
        if isinstance(given, Outcome):
            self._end(live, given)
            return
        self._advance(live, given.stage, given.done, given.of, given.note)
        with self._wake:
            live.ongoing = given
            self._wake.notify()
        if self._closed or live.cancelled:
            self._end(live, given.outcome(live.job))

    def _end(self, live: Live, outcome: Outcome) -> None:
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
        self._write(live)

    # The keeper: one thread that writes what changed, says that this process is alive, looks after what goes on by itself
    # and what others want cancelled, and removes old files

    def _keep(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                self._wake.wait(self._pause())
                live = list(self._live.values())
            self._files.sweep()
            with suppress(MemwellError):
                if live:
                    self._states.beat()
                    self._cancel_asked_for(live)
            for one in live:
                self._look_after(one)

    def _pause(self) -> float | None:
        if any(one.ongoing is not None for one in self._live.values()):
            return min(_LOOK_EVERY_S, self._pause_s)
        return self._pause_s if self._live else self._files.next_end()

    def _cancel_asked_for(self, live: list[Live]) -> None:
        asked = set(self._states.cancelled())
        for one in live:
            if one.key in asked:
                self._states.take_cancel(one.key)
                self._cancel(one)

    def _look_after(self, live: Live) -> None:
        going = live.ongoing
        if going is not None and live.outcome is None and not self._closed:
            again = going.look()
            self._advance(live, going.stage, going.done, going.of, going.note)
            if not again:
                self._end(live, going.outcome(live.job))
        if live.changed and not self._closed:
            self._write(live)

    # The end

    def close(self, wait_s: float = 5.0) -> None:
        """Stop. What is waiting does not begin; what is running has a moment to end, and is called failed after it."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            live = list(self._live.values())
            dropped = self._turns.drop_all()
            self._wake.notify_all()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for one in dropped:
            self._end(one, Outcome(problem=STOPPED))
        for one in live:
            if one.ongoing is not None:
                self._end(one, one.ongoing.outcome(one.job))
        until = time.monotonic() + wait_s
        for one in live:
            if not one.written.wait(max(0.0, until - time.monotonic())):
                self._end(one, Outcome(problem=STOPPED))
        if self._keeper is not None:
            self._keeper.join(wait_s)
        with suppress(MemwellError):
            self._states.leave()
        self._files.close()

    @property
    def lingering(self) -> bool:
        """Whether a thread is still at a job. After the end nobody is told of what comes of it."""
        with self._lock:
            return self._turns.running > 0


def _remove(path: Path | None) -> None:
    # That it cannot be removed must not keep the job from ending.
    with suppress(OSError):
        if path is not None:
            path.unlink(missing_ok=True)


__all__ = ["Jobs", "MOST_WAITING", "MOST_WAITING_EACH", "Made", "Ongoing", "Report", "Work"]

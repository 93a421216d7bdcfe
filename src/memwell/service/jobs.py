"""Jobs: work that takes longer than a request should, done in threads of its own and followed by whoever started it.

    job = jobs.start(space, "import", work)         # at once; work(report) runs in a thread
    job = jobs.repeat(memory, "export", asked)      # one that another process goes on with when this one is gone
    jobs.get(space, job.id)                         # how far it is, and at the end what came of it
    jobs.cancel(space, job.id)                      # when nobody wants it any more

Spaces take turns, and none has all the threads. How far a job is stands in the store, so that every process that serves it
can tell. A process that has jobs says every few seconds that it is alive. When that stops, another one begins those anew
that have not ended, or calls them failed where what was sent for them is gone too. A process that is told to stop leaves
such jobs to the others at once. Files that jobs make lie in a folder that only this user can open; they are gone after an
hour, and with the process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.errors import Busy, Conflict, MemwellError
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.wire.running import Job
from memwell.service.job_files import Made
from memwell.service.job_keeping import KeptJobs, remove
from memwell.service.job_states import ENDED, Kept, key_of
from memwell.service.job_turns import MOST_WAITING, MOST_WAITING_EACH, Turns, check_room
from memwell.service.job_work import (
    REPEATED,
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
from memwell.values import new_id

_log = logging.getLogger("memwell.service.jobs")

_WRITE_EVERY_S = 0.5
_LOOK_EVERY_S = 0.2


class _BegunJobs(KeptJobs):
    """How jobs begin: because somebody asked for them, or because the process that was at them is gone."""

    _closed = False

    def start(self, space: Space, action: str, work: Work, *, owned: Path | None = None) -> Job:
        """Begin a job, and return at once. ``owned`` is a file that goes when the job ends, and when it cannot begin.

        Raises ``Busy`` when too many are waiting, in all or of this space, or the service is stopping.
        """
        return self._begin(self._new(space, action), work, owned)

    def repeat(self, memory: Engine, action: str, asked: Any) -> Job:
        """Begin a job of those that are ``repeated``, and return at once. Raises ``Busy`` as ``start`` does."""
        kept = replace(self._new(memory.space, action), again=msgspec.msgpack.encode(asked))
        return self._begin(kept, REPEATED[action][1](memory, asked))

    def _new(self, space: Space, action: str) -> Kept:
        now = self._clock()
        job = Job(id=new_id(), action=action, status="waiting", created=now, updated=now)
        return Kept(job, "", space=tuple(space))

    def _begin(self, kept: Kept, work: Work, owned: Path | None = None, *, version: int = 0) -> Job:
        live = Live(key_of(Space(*kept.space), kept.job.id), kept, work, owned)
        live.version = version
        try:
            self._admit(live)
            live.erasures = self._states.erasures(live.space)
            live.version = self._states.begin(live.key, kept, version=version)
            self._queue(live)
        except BaseException:
            self._forget(live)
            raise
        return kept.job

    def take_up(self, memory_of: Callable[[Space], Engine]) -> int:
        """Begin the jobs anew whose process is gone, and return how many. Those that nobody can do again have failed.

        Call it every few seconds. When several processes do, one of them gets a job.
        """
        taken = 0
        for key, kept, version in self._states.left_behind():
            with self._lock:
                if self._closed or key in self._live:
                    continue
            # Another was faster, or has more room.
            with suppress(Conflict, Busy):
                taken += self._take_over(key, kept, version, memory_of)
        self._drop_erased()
        return taken

    def _take_over(self, key: str, kept: Kept, version: int, memory_of: Callable[[Space], Engine]) -> bool:
        shape, maker = REPEATED.get(kept.job.action, (None, None))
        if key in self._states.cancelled():
            self._states.take_cancel(key)
            given_up = Live(key, kept, _nothing)
            given_up.outcome = Outcome(problem=told(cancelled(), kept.job))
            self._states.give_up(key, given_up.state(self._clock()), version=version)
        elif maker is None or kept.again is None or not kept.goes_on:
            self._states.give_up(key, kept.interrupted(), version=version)
        else:
            work = maker(memory_of(Space(*kept.space)), msgspec.msgpack.decode(kept.again, type=shape))
            anew = replace(kept.job, status="waiting", stage="", done=0, of=None, note="", updated=self._clock())
            self._begin(replace(kept, job=anew, begun=kept.begun + 1), work, version=version)
            return True
        return False

    def _drop_erased(self) -> None:
        """Remove the files here whose words another process has erased."""
        for id_, key in self._files.held():
            job = self._states.get(key)
            if job is not None and job.status in ENDED and not job.file:
                self._files.drop(id_)

    def _admit(self, live: Live) -> None:
        """Have it among those of this process. Raises ``Busy`` when there is no room."""
        raise NotImplementedError

    def _queue(self, live: Live) -> None:
        """Let it wait for a thread."""
        raise NotImplementedError


class Jobs(_BegunJobs, Closing):
    """The jobs of a store, and the threads of this process that do them."""

    def __init__(
        self, backend: Backend, threads: int = 3, *, clock: Callable[[], datetime] = utc_now, lease_s: float = 10.0
    ) -> None:
        super().__init__(backend, lease_s, clock)
        self._pause_s = min(_WRITE_EVERY_S, lease_s / 4)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memwell-job")
        self._turns: Turns[Live] = Turns(threads)
        self._wake = threading.Condition(self._lock)
        self._keeper: threading.Thread | None = None
        self._closed = False

    # Beginning and cancelling

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
        if future.cancelled() or (self._closed and isinstance(error, Busy) and error.code == "stopping"):
            self._stop(live)
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
            if live.outcome is not None or live.lost:
                return
            live.outcome = outcome
        # Whoever sees that it has ended finds its file, and none that it no longer needs.
        if outcome.made is not None:
            self._files.keep(live.job.id, outcome.made, live.key)
        else:
            self._files.drop(live.job.id)
        remove(live.owned)
        live.changed = True
        self._write(live)

    def _stop(self, live: Live) -> None:
        """Leave a job to another process, or call it failed."""
        if not live.goes_on:
            self._end(live, Outcome(problem=STOPPED))
            return
        self._change(live, status="waiting", stage="", done=0, of=None, note="")
        live.changed = True
        self._write(live)
        self._files.drop(live.job.id)
        # What comes of it here is nobody's any more.
        live.lost = True
        self._leave(live)

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
        """Stop. What is waiting does not begin; what is running has a moment to end.

        What has not ended by then is left to another process, now or later, or has failed where none can do it.
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
        for one in live:
            if one.ongoing is not None:
                self._end(one, one.ongoing.outcome(one.job))
        until = time.monotonic() + wait_s
        for one in live:
            if not one.written.wait(max(0.0, until - time.monotonic())):
                self._stop(one)
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


def _nothing(report: Report) -> None:
    """The work of a job that nobody does."""


__all__ = ["Jobs", "MOST_WAITING", "MOST_WAITING_EACH", "Made", "Ongoing", "Report", "Work"]

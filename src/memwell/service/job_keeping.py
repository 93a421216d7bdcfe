"""The jobs of a store as they are asked for and written down, by whichever process."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memwell.errors import Conflict, MemwellError, NotFound
from memwell.records import Space
from memwell.runtime.wire.running import Job
from memwell.service.job_files import JobFiles
from memwell.service.job_states import ENDED, JobStates, key_of
from memwell.service.job_work import Live
from memwell.storage.protocols import Backend
from memwell.values import shown

_log = logging.getLogger("memwell.service.jobs")

_MOST_LISTED = 200
_ID = re.compile("[0-9a-f]{32}")


class KeptJobs:
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
        job, found = self.get(space, id_), self._files.get(id_)
        # What was erased is gone from here as soon as any process has said so.
        if found is None or (job.status in ENDED and not job.file):
            raise NotFound(f"the job {id_} has no file here; a file is kept for an hour, by the process that made it")
        return found

    def drop_results(self, space: Space) -> int:
        """Drop what came of all ended jobs of a space, their files too, and return of how many.

        For when something is erased: a result or an export may hold its words. A job that is writing a file fails. It may
        be part of a transaction.
        """
        with self._lock:
            for live in self._live.values():
                live.outdated = live.outdated or live.space == space
        self._states.note_erasure(space)
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
            try:
                outdated = self._is_outdated(live)
                job = live.state(self._clock())
                live.version = self._states.put(live.key, replace(live.kept, job=job), version=live.version)
            except Conflict:
                _log.warning("the job %s is another process' by now, and ends here", live.job.id)
                self._lose(live)
                return
            except MemwellError as error:
                live.changed = True
                _log.warning("the state of the job %s could not be stored: %s", live.job.id, error)
                return
        if job.status in ENDED:
            self._let_go(live, outdated)

    def _is_outdated(self, live: Live) -> bool:
        """Whether something was erased since it began, in whatever process."""
        if live.outcome is not None and live.outcome.made is not None:
            live.outdated = live.outdated or self._states.erasures(live.space) != live.erasures
        return live.outdated

    def _let_go(self, live: Live, outdated: bool) -> None:
        if self._is_outdated(live):
            self._files.drop(live.job.id)
            if not outdated:
                # Something was erased while the end was written, too early for it to be found there.
                self._states.drop_result(live.key)
        self._leave(live)

    def _lose(self, live: Live) -> None:
        # It ends with its next report.
        live.lost = live.cancelled = True
        remove(live.owned)
        self._files.drop(live.job.id)
        self._leave(live)

    def _leave(self, live: Live) -> None:
        with self._lock:
            self._live.pop(live.key, None)
        live.written.set()

    def _forget(self, live: Live) -> None:
        with self._lock:
            self._live.pop(live.key, None)
        remove(live.owned)


def remove(path: Path | None) -> None:
    """Remove a file, if there is one."""
    # That it cannot be removed must not keep the job from ending.
    with suppress(OSError):
        if path is not None:
            path.unlink(missing_ok=True)


__all__ = ["KeptJobs", "remove"]

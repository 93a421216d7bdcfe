"""What a job does, how it tells how far it is, and what came of it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from memwell.errors import Busy, Conflict, MemwellError
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.problems import Problem, problem_of
from memwell.runtime.wire.running import Job
from memwell.service.job_files import JobFiles, Made
from memwell.service.job_states import Kept
from memwell.values import MAX_CONTENT_BYTES

_log = logging.getLogger("memwell.service.jobs")

Work: TypeAlias = Callable[["Report"], Any]
"""What a job does. It returns what came of it: a struct or a dict of plain data, a ``Made`` file, None, or ``Ongoing``."""

Progress: TypeAlias = Callable[[int, int | None], None]

Maker: TypeAlias = Callable[[Engine, Any], Work]
"""Makes what a job does from the memory it is about and from what was asked."""

REPEATED: dict[str, tuple[type[Any], Maker]] = {}
"""What any process can do again, by its name: the shape of what was asked, and who makes the work from it."""

M = TypeVar("M", bound=Maker)


def repeated(action: str, shape: type[Any]) -> Callable[[M], M]:
    """Register what makes the work of an action that may be done twice: another process goes on when one is gone."""

    def register(maker: M) -> M:
        REPEATED[action] = (shape, maker)
        return maker

    return register


class Report:
    """How a job tells how far it is: ``report("reading", 3, 10)``. It may be called as often as one likes.

    Raises ``Busy`` when the service is stopping and ``Cancelled`` when somebody asked for it, which ends the job; what it
    has stored by then stays.
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


class Ongoing(msgspec.Struct, frozen=True, kw_only=True):
    """The job's own work is done and stored, and the rest goes on without it: no thread waits for that.

    ``left`` is looked at now and then; ``result`` is asked for when none is left. When the service stops, somebody cancels
    the job, or for ``patience_s`` nothing changes, nobody looks on any longer: the job is done, and ``note`` says what is
    left.
    """

    stage: str
    of: int
    left: Callable[[], int]
    result: Callable[[], Any]
    note: Callable[[int], str]
    patience_s: float = 30.0


class Cancelled(MemwellError):
    """Somebody asked for the job to end."""

    code = "cancelled"


class Outcome(msgspec.Struct, frozen=True):
    """What came of a job: its result as JSON, a file, or a problem; and what is left to be said."""

    result: bytes | None = None
    made: Made | None = None
    problem: Problem | None = None
    note: str = ""


class Live:
    """A job of this process that has not ended, or whose end is not written yet: until then it is seen as running."""

    def __init__(self, key: str, kept: Kept, work: Work, owned: Path | None = None) -> None:
        self.key = key
        self.kept = kept
        """As it was begun."""
        self.version = 0
        self.space = Space(*kept.space)
        self.job = kept.job
        self.work = work
        self.owned = owned
        self.erasures = 0
        self.outcome: Outcome | None = None
        self.changed = False
        self.cancelled = False
        self.outdated = False
        """Something was erased since it began, which a file that it makes may still hold."""
        self.ongoing: Watched | None = None
        self.lost = False
        """Whether it is another process' by now."""
        self.written = threading.Event()

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.outcome is None and self.job.status == "waiting"

    @property
    def goes_on(self) -> bool:
        """Whether it is left to another process when this one ends."""
        return self.kept.goes_on and self.outcome is None

    def state(self, now: datetime) -> Job:
        """What there is to write of it."""
        if self.outcome is None:
            return self.job
        outdated = self.outdated and self.outcome.made is not None
        return _with_outcome(self.job, Outcome(problem=OUTDATED) if outdated else self.outcome, now)


class Watched:
    """What goes on by itself, as it was last seen."""

    def __init__(self, ongoing: Ongoing, report: Report) -> None:
        self.stage = ongoing.stage
        self.left = ongoing.of
        self._of = ongoing.of
        self._ongoing = ongoing
        self._report = report
        self._changed = time.monotonic()

    @property
    def done(self) -> int:
        """How much of it is done."""
        return max(self._of - self.left, 0)

    @property
    def of(self) -> int:
        """How much there is: more may have come while it goes on."""
        return max(self._of, self.left)

    @property
    def note(self) -> str:
        """What is to be said of what is left."""
        return self._ongoing.note(self.left) if self.left else ""

    def look(self) -> bool:
        """See how much is left; whether to look again."""
        try:
            left = self._ongoing.left()
        except Exception as error:  # noqa: BLE001 - nor may it end the one thread that looks after all jobs
            _log.debug("what is left of the job %s is not known: %s", self._report.id, error)
            left = self.left
        if left != self.left:
            self.left, self._changed = left, time.monotonic()
        return left > 0 and time.monotonic() - self._changed < self._ongoing.patience_s

    def outcome(self, job: Job) -> Outcome:
        """What came of the job, whether or not something is left."""
        try:
            return replace(outcome_of(self._ongoing.result(), self._report, job.action), note=self.note)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is told; the other jobs' keeper must go on
            return Outcome(problem=told(error, job))


def outcome_of(result: Any, report: Report, action: str) -> Outcome:
    """What a job returned, as it is kept."""
    made = result if isinstance(result, Made) else None
    said = made.result if made is not None else result
    written = None if said is None else encode(said)
    if written is None or len(written) <= MAX_CONTENT_BYTES:
        return Outcome(written, made)
    # Too large for a value of a store: to be fetched as a file.
    path = report.path(".json")
    path.write_bytes(written)
    return Outcome(made=Made(path=path, name=f"memwell-{action}.json"))


def _with_outcome(job: Job, outcome: Outcome, now: datetime) -> Job:
    if outcome.problem is not None:
        return replace(job, status="failed", updated=now, note="", problem=msgspec.to_builtins(outcome.problem))
    return replace(
        job,
        status="done",
        updated=now,
        note=outcome.note,
        result=None if outcome.result is None else msgspec.json.decode(outcome.result),
        file="" if outcome.made is None else outcome.made.name,
    )


def told(error: BaseException, job: Job) -> Problem:
    """A failure as whoever started the job is told of it; what they are not told is logged."""
    known = error if isinstance(error, MemwellError) else MemwellError(type(error).__name__)
    problem = problem_of(known, request=job.id)
    # A name that is no text in any encoding could not be stored.
    problem = replace(problem, detail=problem.detail.encode(errors="replace").decode())
    if problem.status in (500, 501):
        _log.error("the job %s (%s) failed", job.id, job.action, exc_info=error)
    return problem


def stopping() -> Busy:
    """What whoever starts a job, or works at one, is told at the end."""
    return Busy("the service is stopping; start it again in a moment", code="stopping", retry_after=5.0)


def cancelled() -> Cancelled:
    """What ends a job that somebody does not want any more."""
    return Cancelled("it was cancelled; what was stored by then stays")


STOPPED = replace(
    problem_of(stopping()), detail="the service was stopped before this was done; start it again", retry_after=None
)
OUTDATED = problem_of(Conflict("something was erased while this was written; start it again"))

__all__ = [
    "OUTDATED",
    "REPEATED",
    "STOPPED",
    "Cancelled",
    "Live",
    "Maker",
    "Ongoing",
    "Outcome",
    "Progress",
    "Report",
    "Watched",
    "Work",
    "cancelled",
    "outcome_of",
    "repeated",
    "stopping",
    "told",
]

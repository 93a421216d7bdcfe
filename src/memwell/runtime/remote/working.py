"""Work that takes a while: started at the service, and waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from memwell.errors import BackendError, InvalidInput
from memwell.runtime.remote.connection import Connection
from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.problems import Problem, error_of
from memwell.runtime.wire.running import Job

T = TypeVar("T")
Progress = Callable[[int, int | None], None]

_FIRST_S, _MOST_S = 0.01, 1.0


def finished(connection: Connection, job: Job, progress: Progress | None = None) -> Job:
    """The job once it is done; ``progress`` is told how far it is each time that changes.

    Raises what the work raised, as the problem of the job tells it.
    """
    wait, told = _FIRST_S, (0, cast("int | None", None))
    while job.status not in ("done", "failed"):
        connection.pause(wait)
        wait = min(2 * wait, _MOST_S)
        job = connection.call("job", Job, id=job.id)
        if progress is not None and (job.done, job.of) != told:
            told = (job.done, job.of)
            progress(*told)
    if job.status == "failed":
        raise error_of(_problem(job))
    return job


def result_of(job: Job, gives: type[T]) -> T:
    """What came of a job. Raises ``BackendError`` when it is of another shape."""
    try:
        return decode(encode(job.result), gives)
    except InvalidInput as error:
        raise BackendError(f"the job {job.action!r} ended with something else than expected: {error}") from None


def number_of(job: Job, name: str) -> int:
    """A number in a job's result, by its name; 0 when it is not there."""
    result: dict[str, Any] = job.result or {}
    return int(result.get(name, 0))


def _problem(job: Job) -> Problem:
    try:
        return msgspec.convert(job.problem, Problem)
    except msgspec.ValidationError:
        return Problem(type="", title=f"the job {job.action!r} failed", status=500, code="internal")


__all__ = ["Progress", "finished", "number_of", "result_of"]

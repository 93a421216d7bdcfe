"""Jobs that are waited for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import BackendError, InvalidInput, MemwellError
from memwell.longterm.journal import PendingWork
from memwell.records import Space
from memwell.runtime.remote import Connection
from memwell.runtime.remote.working import finished, number_of, result_of
from memwell.runtime.wire.running import Job
from memwell.service.jobs import Report
from tests.runtime.remote.serving import Served, serving

T0 = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def ended(**fields: Any) -> Job:
    return Job(id="j", action="settle", created=T0, updated=T0, **{"status": "done", **fields})


def test_what_a_job_comes_to(served: Served):
    def work(report: Report) -> PendingWork:
        report("one", 1, 2)
        return PendingWork(3, 4)

    with Connection(served.address, key=served.token("work")) as line:
        job = finished(line, served.service.jobs.start(Space("work"), "owed", work))
    assert result_of(job, PendingWork) == PendingWork(3, 4)
    assert (number_of(job, "words"), number_of(job, "nothing")) == (3, 0)
    with pytest.raises(BackendError):
        result_of(job, Job)


def test_what_fails_there_is_raised_here(served: Served):
    def work(report: Report) -> None:
        raise InvalidInput("that breaks a rule")

    with (
        Connection(served.address, key=served.token("fail")) as line,
        pytest.raises(InvalidInput, match="that breaks a rule"),
    ):
        finished(line, served.service.jobs.start(Space("fail"), "odd", work))


def test_progress_is_told_when_it_changes():
    states = [ended(status="running", done=done, of=3) for done in (1, 1, 2)] + [ended(done=3, of=3)]

    class Line:
        """A line on which a job goes its way."""

        def call(self, name: str, gives: type, **path: str) -> Job:
            return states.pop(0)

        def pause(self, seconds: float) -> None: ...

    told: list[tuple[int, int | None]] = []
    finished(Line(), ended(status="waiting"), lambda *at: told.append(at))  # pyright: ignore[reportArgumentType]
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_failure_without_a_reason_is_one_all_the_same():
    with pytest.raises(MemwellError, match="settle"):
        finished(None, ended(status="failed", problem={"odd": 1}))  # pyright: ignore[reportArgumentType]

"""Jobs whose process is gone: another goes on with them, one of several, and nobody waits for what nobody does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import memwell
from memwell.errors import Conflict, NotFound
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.wire.running import Job
from memwell.service import jobs as jobs_module
from memwell.service.job_states import JobStates, Kept, key_of
from memwell.service.job_work import REPEATED, Report, Work
from memwell.service.jobs import Jobs, Made
from memwell.storage import Backend, open_backend
from memwell.values import new_id
from tests.service.waiting import PATIENCE_S, until

ANN = Space("acme", "ann")


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads that look after jobs do so more often than they would in a service."""
    monkeypatch.setattr(jobs_module, "_WRITE_EVERY_S", 0.02)


@pytest.fixture
def memory(backend: Backend) -> Engine:
    return memwell.open(backend, embedder=None, work=False, space=ANN)


class Counted:
    """Work that any process can do, and how often it was begun and done."""

    def __init__(self) -> None:
        self.begun, self.done = list[str](), list[str]()
        self.go_on = threading.Event()
        self.go_on.set()

    def maker(self, memory: Engine, asked: Any) -> Work:
        def work(report: Report) -> dict[str, Any]:
            self.begun.append(report.id)
            while not self.go_on.wait(0.01):
                report("counting", 1, 2)
            report("counting", 2, 2)
            self.done.append(report.id)
            return {"of": memory.space[-1], "asked": asked}

        return work


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    made = Counted()
    monkeypatch.setitem(REPEATED, "count", (dict, made.maker))
    return made


def left_behind(backend: Backend, **fields: Any) -> Job:
    """A job that runs by what is stored, and whose process is gone."""
    job = Job(id=new_id(), action="count", status="running", created=utc_now(), updated=utc_now(), stage="half", done=1)
    kept = Kept(job, "", space=tuple(ANN), again=msgspec.msgpack.encode({"n": 1}))
    gone = JobStates(backend.kv, lease_s=60)
    gone.begin(key_of(ANN, job.id), replace(kept, **fields))
    gone.leave()
    return job


def test_a_job_of_a_process_that_is_gone_is_begun_anew_by_another(backend: Backend, memory: Engine, counted: Counted):
    job = left_behind(backend)
    with Jobs(backend) as jobs:
        assert jobs.get(ANN, job.id).status == "waiting", "who asks meanwhile does not hear that it failed"
        assert jobs.take_up(memory.at) == 1
        assert until(lambda: jobs.get(ANN, job.id).status == "done")
        assert jobs.get(ANN, job.id).result == {"of": "ann", "asked": {"n": 1}}
        assert jobs.take_up(memory.at) == 0
    assert counted.done == [job.id]


def test_of_several_that_look_at_once_one_takes_a_job(backend: Backend, memory: Engine, counted: Counted):
    left = sorted(left_behind(backend).id for _ in range(6))
    processes = [Jobs(backend) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda jobs: jobs.take_up(memory.at), processes))
    assert sum(taken) == 6
    # What the work has done is written down a moment later, and each process sees it in the store.
    for jobs in processes:
        assert until(lambda jobs=jobs: {job.status for job in jobs.all(ANN)} == {"done"})
    for jobs in processes:
        jobs.close()
    assert sorted(counted.done) == sorted(counted.begun) == left


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"again": None}, "what was sent for it"), ({"begun": 3}, "three times")],
    ids=["what was sent is gone", "nobody lived to end it"],
)
def test_what_nobody_can_go_on_with_has_failed(
    backend: Backend, memory: Engine, counted: Counted, fields: dict[str, Any], told: str
):
    job = left_behind(backend, **fields)
    with Jobs(backend) as jobs:
        for _ in range(2):
            seen = jobs.get(ANN, job.id)
            assert (seen.status, seen.problem["code"]) == ("failed", "interrupted")  # type: ignore[index]
            assert told in seen.problem["detail"]  # type: ignore[index]
            # The second time that is what is stored.
            assert jobs.take_up(memory.at) == 0
    assert counted.begun == []
    assert list(JobStates(backend.kv, 1).left_behind()) == []


def test_what_was_cancelled_before_anybody_went_on_is_not_begun(backend: Backend, memory: Engine, counted: Counted):
    job = left_behind(backend)
    with Jobs(backend) as jobs:
        jobs.cancel(ANN, job.id)
        assert jobs.take_up(memory.at) == 0
        assert jobs.get(ANN, job.id).problem["code"] == "cancelled"  # type: ignore[index]
    assert counted.begun == []


def test_a_process_that_stops_leaves_its_jobs_to_the_others(backend: Backend, memory: Engine, counted: Counted):
    counted.go_on.clear()
    first = Jobs(backend, threads=2)
    ids = sorted(first.repeat(memory, "count", {"n": number}).id for number in range(4))
    assert until(lambda: len(counted.begun) == 1)
    first.close()
    counted.go_on.set()
    with Jobs(backend) as second:
        assert {job.status for job in second.all(ANN)} == {"waiting"}
        assert second.take_up(memory.at) == 4
        assert until(lambda: {job.status for job in second.all(ANN)} == {"done"})
    assert sorted(counted.done) == ids


def test_who_was_taken_for_dead_writes_over_nobodys_end(
    backend: Backend, memory: Engine, counted: Counted, monkeypatch: pytest.MonkeyPatch
):
    counted.go_on.clear()
    with Jobs(backend) as slow, Jobs(backend) as other:
        job = slow.repeat(memory, "count", {})
        assert until(lambda: other.get(ANN, job.id).status == "running")
        # As when it was held up: it says nothing for longer than its lease.
        monkeypatch.setattr(slow._states, "beat", lambda: None)

        def is_taken() -> bool:
            slow._states.leave()
            # It may write just now how far the job is; then the other one comes again.
            return other.take_up(memory.at) == 1

        assert until(is_taken)
        assert until(lambda: slow.busy == 0), "who has lost a job lets it be"
        counted.go_on.set()
        assert until(lambda: other.get(ANN, job.id).status == "done")
        assert slow.get(ANN, job.id) == other.get(ANN, job.id)
    assert counted.done == [job.id]


def test_a_state_is_written_by_its_owner_alone(backend: Backend):
    one, other = JobStates(backend.kv, 60), JobStates(backend.kv, 60)
    job = Job(id=new_id(), action="count", status="waiting", created=utc_now(), updated=utc_now())
    key, kept = key_of(ANN, job.id), Kept(job, "", space=tuple(ANN))
    version = one.begin(key, kept)
    with pytest.raises(Conflict):
        other.begin(key, kept)
    taken = other.begin(key, kept, version=version)
    with pytest.raises(Conflict):
        one.put(key, replace(kept, job=replace(job, status="done")), version=version)
    other.put(key, replace(kept, job=replace(job, status="done")), version=taken)
    assert [one.get(key), other.get(key)] == [replace(job, status="done")] * 2


def test_what_one_process_erases_is_in_no_file_of_another(backend: Backend, memory: Engine):
    def made(report: Report) -> Made:
        path = report.path(".txt")
        path.write_text("the words of Ann")
        return Made(path=path, name="a.txt")

    begun, go_on = threading.Event(), threading.Event()

    def made_slowly(report: Report) -> Made:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return made(report)

    with Jobs(backend) as one, Jobs(backend) as other:
        ready, under_way = one.start(ANN, "export", made), one.start(ANN, "export", made_slowly)
        assert until(lambda: other.get(ANN, ready.id).status == "done")
        assert begun.wait(PATIENCE_S)
        path, _ = one.file(ANN, ready.id)
        assert other.drop_results(ANN) == 1
        go_on.set()
        with pytest.raises(NotFound):
            one.file(ANN, ready.id)
        assert until(lambda: one.get(ANN, under_way.id).status == "failed")
        one.take_up(memory.at)
        assert not path.exists()
        assert list(path.parent.iterdir()) == []

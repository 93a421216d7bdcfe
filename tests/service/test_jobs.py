"""Jobs: run in threads of their own, seen by their space alone, and never left half told."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import memwell
from memwell.confined import confined
from memwell.errors import Busy, ConfigurationError, FileError, InvalidInput, NotFound, UnreadableDocument
from memwell.knowledge.ingest import Ingested
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.jobs import SERVICE_JOBS, Job, JobQueue, Kept
from memwell.service import jobs as jobs_module
from memwell.service.jobs import (
    MOST_WAITING,
    MOST_WAITING_EACH,
    REPEATED,
    JobFiles,
    Jobs,
    Made,
    Report,
    Work,
    key_of,
)
from memwell.storage import Backend, open_backend
from memwell.values import new_id
from tests.service.waiting import PATIENCE_S, until
from tests.test_confined import cost

ANN, BOB = Space("acme", "ann"), Space("acme", "bob")
UNKNOWN = "0" * 32


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads that look after jobs do so more often than they would in a service."""
    monkeypatch.setattr(jobs_module, "_WRITE_EVERY_S", 0.02)


@pytest.fixture
def running(backend: Backend) -> Iterator[Jobs]:
    with Jobs(backend) as opened:
        yield opened


class Held:
    """Work that has begun and waits until it is let go."""

    def __init__(self, result: Any = None) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()
        self.result = result

    def __call__(self, report: Report) -> Any:
        report("holding", 1, 2)
        self.begun.set()
        assert self.let_go.wait(PATIENCE_S)
        report("holding", 2, 2)
        return self.result


def ended(from_: Jobs, space: Space, job: Job) -> Job:
    assert until(lambda: from_.get(space, job.id).status in ("done", "failed"))
    return from_.get(space, job.id)


def test_a_job_runs_and_tells_what_came_of_it(running: Jobs, backend: Backend):
    started = running.start(ANN, "fetch", lambda report: Ingested(added=("a",), chunks=3))
    assert (started.status, started.action) == ("waiting", "fetch")
    done = ended(running, ANN, started)
    assert (done.status, done.problem, done.file) == ("done", None, "")
    assert done.result is not None
    assert (done.result["added"], done.result["chunks"]) == (["a"], 3)
    assert done.created == started.created <= done.updated
    assert until(lambda: running.busy == 0)
    # It stands in the store: another process sees the same.
    with Jobs(backend) as other:
        assert other.get(ANN, started.id) == done


def test_what_is_under_way_is_seen_here_at_once_and_elsewhere_soon(running: Jobs, backend: Backend):
    held = Held({"n": 1})
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)
    now = running.get(ANN, job.id)
    assert (now.status, now.stage, now.done, now.of) == ("running", "holding", 1, 2)
    assert running.busy == 1
    with Jobs(backend) as other:
        assert until(lambda: other.get(ANN, job.id).stage == "holding")
        assert other.get(ANN, job.id).status == "running"
        assert other.busy == 0
        held.let_go.set()
        assert until(lambda: other.get(ANN, job.id).status == "done")
        assert other.get(ANN, job.id).result == {"n": 1}


def test_a_job_is_nobody_elses(running: Jobs):
    held = Held()
    hers = running.start(ANN, "hold", held)
    his = ended(running, BOB, running.start(BOB, "export", lambda report: _made(report, b"his")))
    for space, job in ((BOB, hers), (ANN, his), (Space("acme"), hers), (Space("acme", "ann", "x"), hers)):
        for ask in (running.get, running.file):
            with pytest.raises(NotFound):
                ask(space, job.id)
    assert [one.id for one in running.all(ANN)] == [hers.id]
    assert [one.id for one in running.all(BOB)] == [his.id]
    assert running.all(Space("acme")) == []
    # What is erased in one space drops nothing of another.
    assert running.drop_results(ANN) == 0
    assert running.file(BOB, his.id)[0].read_bytes() == b"his"
    held.let_go.set()


@pytest.mark.parametrize("id_", ["", "x", UNKNOWN, "../" + UNKNOWN, "\x00", "a" * 5000, UNKNOWN + "\n"])
def test_an_id_that_is_none_is_not_found(running: Jobs, id_: str):
    with pytest.raises(NotFound):
        running.get(ANN, id_)


def _made(report: Report, data: bytes) -> Made:
    path = report.path(".jsonl")
    path.write_bytes(data)
    return Made(path=path, name="a file.jsonl", result={"written": len(data)})


def test_a_file_lies_where_nobody_else_can_look_and_goes_at_the_end(backend: Backend):
    running = Jobs(backend)
    job = ended(running, ANN, running.start(ANN, "export", lambda report: _made(report, b"all she knows")))
    path, name = running.file(ANN, job.id)
    assert (path.read_bytes(), name, job.file) == (b"all she knows", "a file.jsonl", "a file.jsonl")
    assert job.result == {"written": 13}
    if os.name == "posix":
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    running.close()
    assert not path.parent.exists()
    # Another process has the job, and no file.
    with Jobs(backend) as other:
        assert other.get(ANN, job.id).file == ""
        with pytest.raises(NotFound):
            other.file(ANN, job.id)


def test_a_file_goes_after_its_time(running: Jobs, memory: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs_module, "KEPT_S", 0.0)
    job = ended(running, ANN, running.start(ANN, "export", lambda report: _made(report, b"x")))
    running.take_up(memory.at)
    assert running.get(ANN, job.id).file == ""
    with pytest.raises(NotFound):
        running.file(ANN, job.id)


def test_failures_are_told_as_problems(running: Jobs, caplog: pytest.LogCaptureFixture):
    def raising(error: Exception) -> dict[str, Any]:
        def work(report: Report) -> None:
            raise error

        job = ended(running, ANN, running.start(ANN, "fail", work))
        assert (job.status, job.result) == ("failed", None)
        assert job.problem is not None
        return job.problem

    unreadable = raising(UnreadableDocument("it is empty", reason="empty"))
    assert (unreadable["code"], unreadable["reason"], unreadable["detail"]) == (
        "unreadable-document",
        "empty",
        "it is empty",
    )
    assert raising(InvalidInput("a lone \udc80 half"))["detail"] == "a lone ? half"
    assert not caplog.records
    # What only whoever runs the service should know is in its log alone.
    for error in (KeyError("/etc/secret"), ConfigurationError("/etc/secret"), OSError("/etc/secret")):
        problem = raising(error)
        assert problem["status"] == 500
        assert "secret" not in str(problem)
    assert len(caplog.records) == 3


def test_what_is_sent_goes_with_the_job_whatever_becomes_of_it(running: Jobs, tmp_path: Path):
    def sent(name: str) -> Path:
        path = tmp_path / name
        path.write_text("x")
        return path

    seen: list[str] = []
    read = sent("read")
    good = running.start(ANN, "a", lambda report: seen.append(read.read_text()), owned=read)
    bad = running.start(ANN, "b", lambda report: 1 / 0, owned=sent("bad"))
    assert (ended(running, ANN, good).status, ended(running, ANN, bad).status) == ("done", "failed")
    assert seen == ["x"]
    held = [Held(), Held()]
    for one in held:
        running.start(ANN, "hold", one)
        assert one.begun.wait(PATIENCE_S)
    running.start(ANN, "never", lambda report: None, owned=sent("waiting"))
    for one in held:
        one.let_go.set()
    running.close()
    with pytest.raises(Busy) as refused:
        running.start(ANN, "late", lambda report: None, owned=sent("late"))
    assert refused.value.code == "stopping"
    assert [path.name for path in tmp_path.iterdir() if path.name in ("read", "bad", "waiting", "late")] == []


def test_too_many_are_told_to_come_again(running: Jobs, tmp_path: Path):
    held = [Held(), Held(), Held()]
    for number, one in enumerate(held):
        running.start(Space("holding", str(number)), "hold", one)
        assert one.begun.wait(PATIENCE_S)

    def refused(space: Space) -> str:
        path = tmp_path / "upload"
        path.write_text("x")
        with pytest.raises(Busy) as found:
            running.start(space, "one more", lambda report: None, owned=path)
        assert (found.value.code, found.value.retry_after > 0, path.exists()) == ("overloaded", True, False)
        return str(found.value)

    waiting = [running.start(ANN, "wait", lambda report: None) for _ in range(MOST_WAITING_EACH)]
    # One space has no room left; the others have.
    assert "of your jobs" in refused(ANN)
    others = [Space("other", str(number % 3)) for number in range(MOST_WAITING - MOST_WAITING_EACH)]
    for space in others:
        running.start(space, "wait", lambda report: None)
    assert running.busy == MOST_WAITING + 3
    assert "of your jobs" not in refused(BOB)
    assert len(running.all(ANN)) == MOST_WAITING_EACH
    for one in held:
        one.let_go.set()
    assert until(lambda: running.busy == 0)
    assert {running.get(ANN, job.id).status for job in waiting} == {"done"}
    assert ended(running, ANN, running.start(ANN, "again", lambda report: None)).status == "done"


# Cancelling


def test_a_job_that_waits_is_cancelled_at_once(backend: Backend, tmp_path: Path):
    with Jobs(backend, threads=1) as running:
        held, seen = Held(), list[str]()
        running.start(ANN, "hold", held)
        assert held.begun.wait(PATIENCE_S)
        owned = tmp_path / "sent"
        owned.write_text("x")
        job = running.start(ANN, "wait", lambda report: seen.append("begun"), owned=owned)
        with pytest.raises(NotFound):
            running.cancel(BOB, job.id)
        found = running.cancel(ANN, job.id)
        assert found.problem is not None
        assert (found.status, found.problem["code"], found.problem["status"]) == ("failed", "cancelled", 409)
        assert not owned.exists()
        # Asked again it is the same.
        assert running.cancel(ANN, job.id) == found
        held.let_go.set()
    assert seen == []


def test_a_job_that_runs_ends_with_its_next_report_and_one_that_is_done_stays(running: Jobs, backend: Backend):
    held = Held({"n": 1})
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)
    assert running.cancel(ANN, job.id).status == "running"
    held.let_go.set()
    found = ended(running, ANN, job)
    assert found.problem is not None
    assert (found.status, found.problem["code"]) == ("failed", "cancelled")
    done = ended(running, ANN, running.start(ANN, "quick", lambda report: {"n": 1}))
    assert running.cancel(ANN, done.id) == done


def test_a_job_that_reads_a_file_is_cancelled_while_it_reads(running: Jobs):
    begun = threading.Event()

    def read(report: Report) -> None:
        begun.set()
        confined(cost, b"", "time")

    job = running.start(ANN, "read", read)
    assert begun.wait(PATIENCE_S)
    running.cancel(ANN, job.id)
    found = ended(running, ANN, job)
    assert found.problem is not None
    assert found.problem["code"] == "cancelled"


def test_a_job_of_another_process_is_cancelled_there(running: Jobs, backend: Backend):
    held = Held()
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)
    with Jobs(backend) as other:
        assert other.cancel(ANN, job.id).status != "done"
        live = next(iter(vars(running)["_live"].values()))
        assert until(lambda: live.cancelled)
        held.let_go.set()
        found = ended(other, ANN, job)
    assert found.problem is not None
    assert found.problem["code"] == "cancelled"


def test_closing_lets_work_end_and_marks_the_rest(backend: Backend):
    running = Jobs(backend, threads=1)
    stopped = Held()
    under_way, waiting = running.start(ANN, "hold", stopped), running.start(ANN, "wait", lambda report: None)
    assert stopped.begun.wait(PATIENCE_S)
    closing = threading.Thread(target=running.close)
    closing.start()
    # Whoever reports is told to stop.
    assert until(lambda: running.get(ANN, waiting.id).status == "failed")
    stopped.let_go.set()
    closing.join(PATIENCE_S)
    with Jobs(backend) as other:
        for job in (under_way, waiting):
            found = other.get(ANN, job.id)
            assert found.problem is not None
            assert (found.status, found.problem["code"]) == ("failed", "stopping")


def test_closing_does_not_wait_for_ever(backend: Backend):
    running = Jobs(backend)
    held = Held("too late")
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)
    running.close(wait_s=0.05)
    with Jobs(backend) as other:
        assert other.get(ANN, job.id).status == "failed"
        held.let_go.set()
        assert until(lambda: not running.lingering)
        assert other.get(ANN, job.id).status == "failed"
    running.close()


@given(
    reports=st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9), st.none() | st.integers(0, 9)), min_size=1
    )
)
def test_progress_never_goes_back(reports: list[tuple[str, int, int | None]]):
    with open_backend("memory:") as backend, Jobs(backend) as running:
        seen: list[Job] = []

        def work(report: Report) -> None:
            for stage, done, of in reports:
                report(stage, done, of)
                seen.append(running.get(ANN, report.id))

        ended(running, ANN, running.start(ANN, "work", work))
    assert [job.stage for job in seen] == [stage for stage, _, _ in reports]
    for before, after in pairwise(seen):
        assert after.stage != before.stage or after.done >= before.done
    assert all(job.of is None or job.done <= job.of for job in seen)


def test_the_store_is_not_written_at_every_report(running: Jobs, backend: Backend, monkeypatch: pytest.MonkeyPatch):
    writes: list[str] = []
    put = backend.kv.put

    def counted(space: Space, key: str, *args: Any, **options: Any) -> Any:
        writes.append(key)
        return put(space, key, *args, **options)

    monkeypatch.setattr(backend.kv, "put", counted)

    def work(report: Report) -> None:
        for number in range(20_000):
            report("counting", number, 20_000)

    # How often it is written while the work goes on is a matter of time, and here that does not pass.
    monkeypatch.setattr(running, "_pause_s", PATIENCE_S)
    ended(running, ANN, running.start(ANN, "count", work))
    assert len(writes) <= 5


def test_a_large_result_is_read_by_itself_and_a_huge_one_is_a_file(running: Jobs, monkeypatch: pytest.MonkeyPatch):
    large = {"words": ["\x00记忆" * 10] * 2000}
    job = ended(running, ANN, running.start(ANN, "audit", lambda report: large))
    assert job.result == large
    assert until(lambda: running.busy == 0)
    assert running.get(ANN, job.id).result == large
    assert running.all(ANN)[0].result is None
    monkeypatch.setattr(jobs_module, "MAX_CONTENT_BYTES", 1000)
    huge = ended(running, ANN, running.start(ANN, "audit", lambda report: large))
    assert (huge.status, huge.result, huge.file) == ("done", None, "memwell-audit.json")
    assert b"\\u0000" in running.file(ANN, huge.id)[0].read_bytes()


def test_erasing_drops_what_came_of_jobs(running: Jobs):
    large = {"words": ["x" * 100] * 200}
    done = [
        running.start(ANN, "audit", lambda report: large),
        running.start(ANN, "upload", lambda report: {"title": "x"}),
        running.start(ANN, "export", lambda report: _made(report, b"x")),
        running.start(ANN, "flush", lambda report: None),
    ]
    for job in done:
        ended(running, ANN, job)
    assert until(lambda: running.busy == 0)
    path, _ = running.file(ANN, done[2].id)
    assert running.drop_results(ANN) == 3
    assert running.drop_results(ANN) == 0
    assert not path.exists()
    assert [(job.status, job.result, job.file) for job in running.all(ANN)] == [("done", None, "")] * 4


def test_what_is_erased_while_an_end_is_written_is_dropped_all_the_same(
    running: Jobs, backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    put, dropped = backend.kv.put, list[int]()

    def erasing_first(space: Space, key: str, *args: Any, **options: Any) -> Any:
        if finished == ["export"]:
            finished.append("erased")
            dropped.append(running.drop_results(ANN))
        return put(space, key, *args, **options)

    finished: list[str] = []

    def work(report: Report) -> Made:
        made = _made(report, b"x")
        finished.append("export")
        return made

    monkeypatch.setattr(backend.kv, "put", erasing_first)
    job = running.start(ANN, "export", work)
    assert until(lambda: running.busy == 0)
    assert dropped == [0]
    assert running.get(ANN, job.id).result is None
    with pytest.raises(NotFound):
        running.file(ANN, job.id)


def test_a_state_that_could_not_be_stored_is_stored_later(
    running: Jobs, backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    held = Held()
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)

    failed: list[object] = []

    def failing(*args: Any, **options: Any) -> Any:
        failed.append(args)
        raise Busy("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(backend.kv, "put", failing)
        held.let_go.set()
        assert until(lambda: len(failed) > 2)
        # Nobody is told of an end that could be lost again.
        assert running.get(ANN, job.id).status == "running"
    assert ended(running, ANN, job).status == "done"
    with Jobs(backend) as other:
        assert other.get(ANN, job.id).status == "done"


# Jobs whose process is gone


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
    kept = Kept(job, space=tuple(ANN), again=msgspec.msgpack.encode({"n": 1}))
    gone = JobQueue(backend, SERVICE_JOBS, kept_s=60)
    gone.add(key_of(ANN, job.id), replace(kept, **fields))
    gone.close()
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
    assert list(JobQueue(backend, SERVICE_JOBS).free()) == []


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
        pending = slow._queue.pending
        monkeypatch.setattr(pending, "beat", lambda: None)

        def is_taken() -> bool:
            backend.kv.delete(SERVICE_JOBS / "owners", pending.owner)
            # It may write just now how far the job is; then the other one comes again.
            return other.take_up(memory.at) == 1

        assert until(is_taken)
        assert until(lambda: slow.busy == 0), "who has lost a job lets it be"
        counted.go_on.set()
        assert until(lambda: other.get(ANN, job.id).status == "done")
        assert slow.get(ANN, job.id) == other.get(ANN, job.id)
    assert counted.done == [job.id]


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
        assert [one.name for one in path.parent.iterdir()] == [".lock"]


# The files of jobs: for this user alone, and none left behind.


def test_folders_of_killed_processes_are_removed_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, fresh, others = (tmp_path / name for name in ("memwell-jobs-old", "memwell-jobs-fresh", "theirs"))
    for folder in (old, fresh, others):
        folder.mkdir()
        (folder / "export.jsonl").write_text("x")
    long_ago = time.time() - 2 * 86_400
    os.utime(old, (long_ago, long_ago))
    os.utime(others, (long_ago, long_ago))
    (tmp_path / "memwell-jobs-link").symlink_to(others)
    files = JobFiles()
    path = files.path("1", ".jsonl")
    assert not old.exists()
    assert (fresh / "export.jsonl").exists()
    assert (others / "export.jsonl").exists()
    files.close()
    assert not path.parent.exists()


def test_after_the_end_no_file_is_made_or_kept(tmp_path: Path):
    files = JobFiles()
    files.close()
    with pytest.raises(FileError):
        files.path("1", ".md")
    late = tmp_path / "late"
    late.write_text("x")
    files.keep("1", Made(path=late, name="late"), "key")
    assert not late.exists()

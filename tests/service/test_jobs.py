"""Jobs: run in threads of their own, seen by their space alone, and never left half told."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memwell.errors import Busy, ConfigurationError, InvalidInput, NotFound, UnreadableDocument
from memwell.knowledge.ingest import Ingested
from memwell.records import Space
from memwell.runtime.wire.running import Job
from memwell.service import job_files, job_states, job_work
from memwell.service import jobs as jobs_module
from memwell.service.jobs import MOST_WAITING, MOST_WAITING_EACH, Jobs, Made, Ongoing, Report
from memwell.storage import Backend, open_backend
from memwell.storage.sqlite import SqliteBackend
from tests.service.waiting import PATIENCE_S, until

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
    monkeypatch.setattr(jobs_module, "_LOOK_EVERY_S", 0.02)


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
        for ask in (running.get, running.watch, running.file):
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


def test_jobs_are_listed_newest_first(running: Jobs):
    started = [running.start(ANN, f"job {number}", lambda report: None) for number in range(5)]
    for job in started:
        ended(running, ANN, job)
    assert [job.action for job in running.all(ANN)] == [f"job {number}" for number in (4, 3, 2, 1, 0)]


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


def test_a_file_goes_after_its_time(running: Jobs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_files, "KEPT_S", 0.05)
    job = running.start(ANN, "export", lambda report: _made(report, b"x"))
    assert until(lambda: running.get(ANN, job.id).status == "done")
    assert until(lambda: running.get(ANN, job.id).file == "")
    with pytest.raises(NotFound):
        running.file(ANN, job.id)


def test_a_file_of_a_job_that_fails_does_not_stay(running: Jobs):
    paths: list[Path] = []

    def work(report: Report) -> None:
        paths.append(report.path(".jsonl"))
        paths[0].write_text("half")
        raise InvalidInput("it broke off")

    assert ended(running, ANN, running.start(ANN, "export", work)).status == "failed"
    assert not paths[0].exists()


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


def test_one_space_with_long_jobs_does_not_keep_another_from_its_own(running: Jobs):
    held = [Held() for _ in range(8)]
    for one in held:
        running.start(ANN, "hold", one)
    assert ended(running, BOB, running.start(BOB, "quick", lambda report: {"n": 1})).result == {"n": 1}
    assert sum(one.begun.is_set() for one in held) <= 2
    for one in held:
        one.let_go.set()


def test_spaces_take_turns(backend: Backend):
    order: list[str] = []
    with Jobs(backend, threads=1) as running:
        first = Held()
        running.start(ANN, "hold", first)
        assert first.begun.wait(PATIENCE_S)
        for name, space in (("ann 1", ANN), ("ann 2", ANN), ("ann 3", ANN), ("bob 1", BOB), ("bob 2", BOB)):
            running.start(space, name, lambda report, name=name: order.append(name))
        first.let_go.set()
        assert until(lambda: running.busy == 0)
    assert order == ["ann 1", "bob 1", "ann 2", "bob 2", "ann 3"]


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


# What goes on by itself


class Rest:
    """So much is left of something that goes on by itself."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, report: Report) -> Ongoing:
        report("storing")
        return Ongoing(
            stage="vectors",
            of=self.left,
            left=lambda: self.left,
            result=lambda: {"id": "a"},
            note=lambda left: f"{left} to go",
            patience_s=self.patience_s,
        )

    patience_s = 60.0


def test_what_goes_on_by_itself_holds_no_thread_and_is_done_when_nothing_is_left(running: Jobs):
    rests = [Rest(4) for _ in range(10)]
    jobs = [running.start(ANN, "upload", rest) for rest in rests]
    assert until(lambda: all(running.get(ANN, job.id).stage == "vectors" for job in jobs))
    assert ended(running, ANN, running.start(ANN, "quick", lambda report: None)).status == "done"
    rests[0].left = 1
    assert until(lambda: running.get(ANN, jobs[0].id).done == 3)
    seen = running.get(ANN, jobs[0].id)
    assert (seen.status, seen.of, seen.result, seen.note) == ("running", 4, None, "1 to go")
    for rest in rests:
        rest.left = 0
    for job in jobs:
        done = ended(running, ANN, job)
        assert (done.status, done.done, done.of, done.note, done.result) == ("done", 4, 4, "", {"id": "a"})


def test_what_is_left_is_said_when_nobody_looks_on_any_longer(backend: Backend):
    running = Jobs(backend)
    stuck, cancelled, stopped, broken = Rest(3), Rest(4), Rest(5), Rest(6)
    stuck.patience_s = 0.05
    jobs = [running.start(ANN, "upload", one) for one in (stuck, cancelled, stopped)]
    assert until(lambda: all(running.get(ANN, job.id).stage == "vectors" for job in jobs))
    ended(running, ANN, jobs[0])
    assert running.cancel(ANN, jobs[1].id).status == "done"
    running.close()
    with Jobs(backend) as other:
        found = [other.get(ANN, job.id) for job in jobs]
        assert [(one.status, one.done, one.of) for one in found] == [("done", 0, 3), ("done", 0, 4), ("done", 0, 5)]
        assert [one.note for one in found] == ["3 to go", "4 to go", "5 to go"]
        assert all(one.result == {"id": "a"} for one in found)
        # What cannot be looked at ends nothing but itself.
        broken.patience_s = 0.05
        job = other.start(ANN, "upload", lambda report: replace(broken(report), left=lambda: 1 // 0))
        assert ended(other, ANN, job).note == "6 to go"


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


KILLED = """
    import sys, threading
    from memwell.records import Space
    from memwell.service.jobs import Jobs
    from memwell.storage import open_backend

    jobs = Jobs(open_backend(sys.argv[1]), threads=1, lease_s=600.0)
    begun = threading.Event()

    def work(report):
        report("reading", 1, 2)
        begun.set()
        threading.Event().wait()

    ids = [jobs.start(Space("acme", "ann"), "import", work).id for _ in range(2)]
    begun.wait()
    print(*ids, flush=True)
    threading.Event().wait()
"""


def test_jobs_of_a_process_that_was_killed_are_shown_as_interrupted(tmp_path: Path):
    store, ahead = str(tmp_path / "store.db"), [0.0]
    command = [sys.executable, "-c", textwrap.dedent(KILLED), store]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ids = process.stdout.readline().split()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with SqliteBackend(store, clock=lambda: time.time() + ahead[0]) as backend, Jobs(backend) as other:
        # It may be held up only.
        assert [other.get(ANN, id_).problem for id_ in ids] == [None, None]
        # Nobody waits for the lease of ten minutes to end.
        ahead[0] = 601.0
        found = [other.get(ANN, id_) for id_ in ids]
        assert [(job.status, job.problem and job.problem["code"]) for job in found] == [("failed", "interrupted")] * 2
        assert {job.status for job in other.all(ANN)} == {"failed"}
        assert [one.status for one in other.watch(ANN, ids[0]) if one is not None] == ["failed"]


def test_a_process_that_has_jobs_says_again_and_again_that_it_lives(backend: Backend, monkeypatch: pytest.MonkeyPatch):
    put, said, held = backend.kv.put, list[str](), Held()

    def noted(space: Space, key: str, *args: Any, **options: Any) -> Any:
        if space == job_states._OWNERS:
            said.append(key)
        return put(space, key, *args, **options)

    monkeypatch.setattr(backend.kv, "put", noted)
    with Jobs(backend, lease_s=0.2) as running:
        running.start(ANN, "hold", held)
        assert until(lambda: len(said) > 3)
        held.let_go.set()
    assert len(set(said)) == 1


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


def test_watching_ends_with_the_job(running: Jobs):
    held = Held({"n": 1})
    job = running.start(ANN, "hold", held)
    assert held.begun.wait(PATIENCE_S)
    watched = running.watch(ANN, job.id)
    first = next(watched)
    assert first is not None
    assert (first.status, first.stage) == ("running", "holding")
    assert next(watched) is None
    held.let_go.set()
    rest = [one for one in watched if one is not None]
    assert (rest[-1].status, rest[-1].result) == ("done", {"n": 1})
    # Of one that has ended there is this one thing to say.
    assert list(running.watch(ANN, job.id)) == [rest[-1]]


def test_a_large_result_is_read_by_itself_and_a_huge_one_is_a_file(running: Jobs, monkeypatch: pytest.MonkeyPatch):
    large = {"words": ["\x00记忆" * 10] * 2000}
    job = ended(running, ANN, running.start(ANN, "audit", lambda report: large))
    assert job.result == large
    assert until(lambda: running.busy == 0)
    assert running.get(ANN, job.id).result == large
    assert running.all(ANN)[0].result is None
    monkeypatch.setattr(job_work, "MAX_CONTENT_BYTES", 1000)
    huge = ended(running, ANN, running.start(ANN, "audit", lambda report: large))
    assert (huge.status, huge.result, huge.file) == ("done", None, "memwell-audit.json")
    assert b"\\u0000" in running.file(ANN, huge.id)[0].read_bytes()


def test_erasing_drops_what_came_of_jobs(running: Jobs):
    large = {"words": ["x" * 100] * 200}
    done = [
        running.start(ANN, "audit", lambda report: large),
        running.start(ANN, "upload", lambda report: {"title": "x"}),
        running.start(ANN, "export", lambda report: _made(report, b"x")),
        running.start(ANN, "settle", lambda report: None),
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


def test_an_export_that_was_under_way_during_an_erasure_is_not_handed_out(running: Jobs):
    begun, let_go = threading.Event(), threading.Event()

    def work(report: Report) -> Made:
        made = _made(report, b"erased meanwhile")
        begun.set()
        assert let_go.wait(PATIENCE_S)
        return made

    job = running.start(ANN, "export", work)
    assert begun.wait(PATIENCE_S)
    assert running.drop_results(ANN) == 0
    let_go.set()
    failed = ended(running, ANN, job)
    assert failed.problem is not None
    assert (failed.status, failed.problem["status"], failed.file) == ("failed", 409, "")


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

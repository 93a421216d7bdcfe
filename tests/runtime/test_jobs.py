"""The queue: a job has one owner, the jobs of an owner that is gone are free, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from memwell.errors import Conflict
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime import jobs as jobs_module
from memwell.runtime.jobs import REGISTRY, Job, JobQueue, Kept, PendingList
from memwell.storage import Backend, open_backend
from memwell.values import new_id
from tests.service.waiting import until

QUEUE = Space("some", "queue")


def job(**fields: object) -> Job:
    return replace(Job(id=new_id(), action="count", status="waiting", created=utc_now(), updated=utc_now()), **fields)


def ended(kept: Kept) -> Kept:
    return replace(kept, job=replace(kept.job, status="done", result={"n": 1}))


def end_lease(queue: JobQueue) -> None:
    """As if its process were gone."""
    queue._kv.delete(jobs_module._OWNERS, queue.pending.owner)


def test_a_key_has_one_owner_until_it_is_released_or_the_owner_is_gone(backend: Backend):
    one, other = PendingList(backend.kv, REGISTRY), PendingList(backend.kv, REGISTRY)
    for key in "ab":
        one.offer(key)
    assert [one.claim("a"), one.claim("a"), other.claim("a"), other.claim("x")] == [True, True, False, False]
    assert list(other.free()) == ["b"]
    one.release("a")
    assert [other.claim("a"), one.claim("a")] == [True, False]
    other.remove("a")
    assert [entry.key for entry in one.entries()] == ["b"]
    assert other.claim("b")
    other.close()
    assert list(one.free()) == ["b"]
    # What another owns by now is not removed.
    assert one.claim("b")
    other.remove("b")
    assert not other.claim("b")
    one.close()


def test_a_forked_child_owns_nothing_of_its_parents(backend: Backend, monkeypatch: pytest.MonkeyPatch):
    pending = PendingList(backend.kv, REGISTRY)
    pending.offer("a", mine=True)
    pending.offer("b")
    monkeypatch.setattr(jobs_module.os, "getpid", lambda: -1)
    assert [pending.claim("a"), pending.claim("b")] == [False, True]
    pending.close()


def test_an_owner_renews_its_lease_while_it_owns_something(backend: Backend):
    one, other = PendingList(backend.kv, REGISTRY, lease_s=0.2), PendingList(backend.kv, REGISTRY)
    one.offer("a", mine=True)
    before = one._beaten
    assert until(lambda: one._beaten > before + 0.3)
    assert other.is_alive(one.owner)
    assert not other.claim("a")
    one.remove("a")
    assert until(lambda: not other.is_alive(one.owner)), "who owns nothing renews nothing"
    one.close()


def test_of_many_that_claim_at_once_each_key_has_one_owner(backend: Backend):
    keys = [str(number) for number in range(20)]
    owners = [PendingList(backend.kv, REGISTRY) for _ in range(4)]
    for key in keys:
        owners[0].offer(key)
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda one: [key for key in random.sample(keys, 20) if one.claim(key)], owners))
    assert sorted(key for some in got for key in some) == sorted(keys)
    for one in owners:
        one.close()


def test_a_state_is_written_by_its_owner_alone(backend: Backend):
    one, other = JobQueue(backend, QUEUE), JobQueue(backend, QUEUE)
    kept = Kept(job(), again=b"")
    version = one.add("k", kept)
    with pytest.raises(Conflict):
        other.add("k", kept)
    assert other.claim("k") is None
    end_lease(one)
    found = other.claim("k")
    assert found is not None
    taken = other.write("k", found.kept, found.version)
    with pytest.raises(Conflict):
        one.write("k", ended(kept), version)
    other.write("k", ended(kept), taken)
    assert one.get("k") == other.get("k") == ended(kept).job
    assert one.pending.is_empty()
    assert list(other.free()) == []
    for queue in (one, other):
        queue.close()


def test_a_job_that_could_not_be_added_is_not_owned(backend: Backend):
    one, other = JobQueue(backend, QUEUE), JobQueue(backend, QUEUE)
    kept = Kept(job(), again=b"")
    one.write("k", ended(kept), one.add("k", kept))
    with pytest.raises(Conflict):
        other.add("k", kept)
    assert not other.pending.claim("k")
    for queue in (one, other):
        queue.close()


def test_a_key_that_is_owned_is_read_again_only_when_the_lease_runs_out(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    one, other = PendingList(backend.kv, REGISTRY), PendingList(backend.kv, REGISTRY)
    assert [one.claim("a"), one.claim("a", add=True), other.claim("a", add=True)] == [False, True, False]
    reads: list[str] = []
    plain = type(backend.kv).get
    monkeypatch.setattr(type(backend.kv), "get", lambda self, space, key: reads.append(key) or plain(self, space, key))
    assert one.claim("a")
    assert reads == []
    # As if the process was held up for longer than its lease, and another one took the key.
    one._beaten = float("-inf")
    backend.kv.delete(jobs_module._OWNERS, one.owner)
    assert other.claim("a")
    assert not one.claim("a")
    one.remove("a")
    assert [entry.value for entry in other.entries()] == [other.owner]
    for queue in (one, other):
        queue.close()


def test_a_claim_that_came_too_late_is_given_back(backend: Backend):
    slow, other = JobQueue(backend, QUEUE), JobQueue(backend, QUEUE)
    kept = Kept(job(), again=b"")
    version = slow.add("k", kept)
    end_lease(slow)
    found = other.claim("k")
    assert found is not None
    # It was held up only, and writes once more.
    slow.write("k", replace(kept, job=replace(kept.job, stage="half")), version)
    with pytest.raises(Conflict):
        other.write("k", found.kept, found.version)
    slow.close()
    assert [one.key for one in other.free()] == ["k"], "so that it is not lost when the slow one is gone"
    other.close()


def test_a_large_result_is_stored_apart_and_goes_with_its_job(backend: Backend):
    queue = JobQueue(backend, QUEUE, kept_s=60)
    large = {"words": ["\x00记忆"] * 5000}
    version = queue.add("k", Kept(job(), again=b"asked"))
    queue.write("k", Kept(job(status="done", result=large), again=b"asked"), version)
    [found] = queue.all()
    assert (found.kept.apart, found.kept.job.result, found.kept.again) == (True, None, None)
    assert queue.get("k").result == large  # type: ignore[union-attr]
    assert queue.drop_result("k")
    assert not queue.drop_result("k")
    assert queue.get("k").result is None  # type: ignore[union-attr]
    assert backend.kv.scan(QUEUE / "results").items == []
    queue.close()


def test_a_released_job_that_another_runs_or_has_ended_is_not_free(backend: Backend):
    """Who claimed it too late has released its place on the list."""
    alive = Kept(job(status="running"), owner="alive", space=("ann",), again=b"x")
    backend.kv.put(jobs_module._OWNERS, "alive", True, ttl=60)
    for key, one in (("a", alive), ("b", replace(ended(alive), owner="")), ("c", replace(alive, owner="gone"))):
        backend.kv.put(QUEUE / "open", key, "")
        backend.kv.put(QUEUE, key, msgspec.msgpack.encode(one))
    queue = JobQueue(backend, QUEUE)
    assert [found.key for found in queue.free()] == ["c"]
    queue.close()


_CHILD = """
    import sys
    from memwell.longterm.base import utc_now
    from memwell.records import Space
    from memwell.runtime.jobs import Job, Kept, JobQueue
    from memwell.storage import open_backend
    from msgspec.structs import replace

    queue = JobQueue(open_backend(sys.argv[1]), Space("some", "queue"), lease_s=1.0)
    while True:
        print(flush=True)
        for found in queue.free():
            mine = queue.claim(found.key)
            if mine is not None:
                print(mine.key, flush=True)
                job = replace(mine.kept.job, status="done", result={"by": queue.pending.owner})
                queue.write(mine.key, replace(mine.kept, job=job), mine.version)
"""


def test_jobs_of_killed_processes_are_all_done(tmp_path: Path):
    store, lot = str(tmp_path / "store.db"), random.Random(3)
    command = [sys.executable, "-c", textwrap.dedent(_CHILD), store]
    with open_backend(store) as backend:
        queue = JobQueue(backend, QUEUE)
        for number in range(60):
            found = queue.add(f"{number:02d}", kept := Kept(job(), again=b""))
            queue.give_back(f"{number:02d}", kept, found)
        while not queue.pending.is_empty():
            with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                for _ in range(lot.randint(5, 25)):
                    if queue.pending.is_empty():
                        break
                    child.stdout.readline()
                os.kill(child.pid, signal.SIGKILL)
        assert {found.kept.job.status for found in queue.all()} == {"done"}
        assert len(list(queue.all())) == 60
        queue.close()

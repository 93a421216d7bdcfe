"""What is observed is counted once, by space, and outlives the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memwell
from memwell.errors import BackendError, BackendUnavailable
from memwell.messages import human
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import FIGURES, Metrics
from memwell.runtime.metrics import recorder as stock_module
from memwell.runtime.metrics.recorder import Stock
from memwell.runtime.metrics.trends import HOURS, MINUTES, Level
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Entry

# What is stored is counted of one space and of all, and counting does not take over.


NOON = 1_800_014_400.0


def fill(engine: Engine) -> None:
    engine.thread("one").add(human("Hello"), human("again"))
    engine.thread("二").add(human("你好"))
    engine.remember(["Ann likes tea.", "我喜欢喝茶。", "Bo lives in Rome."])
    engine.media.add(kind="image", description="a red bicycle")
    engine.catch_up()
    engine.knowledge.add("Tea is a drink. " * 40, title="Tea")


def test_a_space_is_counted(engine: Engine, clock):
    fill(engine)
    found = Stock(engine.backend, clock).of(engine)
    assert (found.conversations, found.messages, found.memories, found.documents, found.media) == (2, 3, 4, 1, 1)
    assert found.chunks == engine.knowledge.count().chunks > 0
    assert found.counted == datetime.fromtimestamp(NOON, UTC)
    other = Stock(engine.backend).of(engine.at("bo"))
    assert (other.conversations, other.messages, other.memories, other.documents, other.chunks, other.media) == (0,) * 6
    deep = engine.at(Space(*"abcdefghijklmn"))
    deep.remember("Tea.")
    deep.catch_up()
    assert Stock(engine.backend).of(deep).memories == 1


def test_all_spaces_are_counted_without_memwells_own(engine: Engine):
    for space in ("ann", "bo"):
        fill(engine.at(space))
    stock = Stock(engine.backend)
    found = stock.whole(engine)
    assert (found.conversations, found.messages, found.memories, found.documents, found.media) == (4, 6, 8, 2, None)
    assert found.chunks == 2 * engine.at("ann").knowledge.count().chunks
    assert stock.sample(None, may_count=True) == (8, 4)


def test_a_store_that_does_not_list_its_spaces_says_so():
    with memwell.open("memory:", embedder=None, work=False) as engine:
        fill(engine)
        assert Stock(engine.backend).whole(engine).memories is None
        assert Stock(engine.backend).of(engine).memories == 4
        assert Stock(engine.backend).sample(None, may_count=True) == (None, None)


def test_a_count_is_kept_while_it_is_fresh(engine: Engine, monkeypatch):
    stock = Stock(engine.backend)
    fill(engine)
    assert stock.of(engine).memories == 4
    engine.remember("one more")
    engine.catch_up()
    assert stock.of(engine).memories == 4
    monkeypatch.setattr(stock_module, "_FRESH_S", 0.0)
    monkeypatch.setattr(stock_module, "_PATIENCE", 0.0)
    assert stock.of(engine).memories == 5


def test_a_sample_without_leave_counts_nothing_slow(engine: Engine):
    fill(engine)
    stock = Stock(engine.backend)
    assert stock.sample(engine.space, may_count=False) == (4, None)
    assert stock.sample(engine.space, may_count=True) == (4, 2)
    engine.thread("three").add(human("Hi"))
    assert stock.sample(engine.space, may_count=False) == (4, 2)
    assert stock.sample(None, may_count=False) == (None, None)


def test_pending_work_is_counted_of_one_space_and_of_all(engine: Engine):
    stock = Stock(engine.backend)
    engine.remember(["Tea.", "Milk."])
    engine.at("bo").remember("Rome.")
    assert stock.pending(engine).words == 2
    assert stock.pending(engine).spaces == 1
    assert stock.pending(engine.at("nobody")).spaces == 0
    whole = stock.pending_whole(engine)
    assert (whole.words, whole.spaces) == (3, 2)
    engine.flush()
    engine.at("bo").flush()
    assert stock.pending_whole(engine).words == 0


Clock = Callable[[], float]
ANN, BO = Space("ann"), Space("bo")


def requests(metrics: Metrics, space: Space | None, level: Level = MINUTES) -> int:
    return sum(row.requests for _, row in metrics.past(space, level, 0, 10**9).slots)


def test_operations_are_counted_by_status_with_their_times_and_bytes():
    metrics = Metrics(MemoryBackend())
    for status in (200, 201, 404, 503, 7):
        metrics.observe("remember", "write", 0.01, status=status, space=ANN, size=100)
    counted = metrics.counts()["remember"]
    assert counted.statuses == {"0xx": 1, "2xx": 2, "4xx": 1, "5xx": 1}
    assert counted.bytes == 500
    assert counted.seconds == pytest.approx(0.05)
    [found] = metrics.operations()
    assert (found.requests, found.errors, found.latency.count, found.recent.count) == (5, 1, 5, 5)
    assert found.latency.p50 == pytest.approx(0.01, rel=0.2)


def test_nothing_is_lost_between_threads():
    metrics = Metrics(MemoryBackend())

    def work(number: int) -> None:
        for _ in range(500):
            with metrics.in_flight():
                metrics.observe("recall", "recall", 0.001, status=200, space=Space(f"s{number}"))
            if number == 0:
                metrics.flush()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert metrics.requests_in_flight == 0
    assert requests(metrics, None) == requests(metrics, None, HOURS) == 4_000
    assert [requests(metrics, Space(f"s{number}")) for number in range(8)] == [500] * 8


def test_a_request_that_fails_is_no_longer_in_flight():
    metrics = Metrics(MemoryBackend())

    def fail() -> None:
        with metrics.in_flight(), metrics.in_flight():
            raise KeyError(metrics.requests_in_flight)

    with pytest.raises(KeyError, match="2"):
        fail()
    assert metrics.requests_in_flight == 0


def test_a_space_has_its_own_figures_and_no_others():
    metrics = Metrics(MemoryBackend())
    metrics.observe("recall", "recall", 0.001, status=500, space=ANN, speaker="Ann", code="internal")
    metrics.observe("recall", "recall", 0.001, status=500, space=BO, speaker="Bo")
    metrics.observe("recall", "recall", 0.001, status=401, space=None)
    for space, seen in ((ANN, 1), (BO, 1), (Space("ann", "x"), 0), (None, 3)):
        assert requests(metrics, space) == seen
    [failed] = metrics.past(ANN, MINUTES, 0, 10**9).failures
    assert (failed.operation, failed.status, failed.code) == ("recall", 500, "internal")
    metrics.flush()
    assert requests(metrics, ANN) == 1


def test_recent_times_are_those_of_the_last_minutes(clock):
    metrics = Metrics(MemoryBackend(), clock=clock)
    for minute in range(30):
        clock.now = NOON + 60 * minute
        metrics.observe("recall", "recall", 0.001, status=200, space=ANN)
    assert metrics.latency("recall").count == 30
    assert [metrics.latency("recall", minutes=n).count for n in (1, 5, 15)] == [1, 5, 15]
    clock.now += 3 * 60
    assert metrics.latency("recall", minutes=5).count == 2
    clock.now += 3600
    assert metrics.latency("recall", minutes=5).count == 0
    assert metrics.latency("unknown", minutes=5).count == metrics.latency("unknown").count == 0


def test_operations_are_bounded_in_number():
    metrics = Metrics(MemoryBackend())
    for number in range(2_000):
        metrics.observe(f"operation-{number}", "other", 0.001, status=200, space=None)
    counted = metrics.counts()
    assert len(counted) <= 513
    assert sum(sum(one.statuses.values()) for one in counted.values()) == 2_000


def test_spaces_are_bounded_in_number_and_the_silent_ones_make_room(clock):
    metrics = Metrics(MemoryBackend(), clock=clock, most_spaces=3)
    for number in range(5):
        metrics.observe("recall", "recall", 0.001, status=200, space=Space(f"s{number}"), speaker="x")
    assert [requests(metrics, Space(f"s{number}")) for number in range(5)] == [1, 1, 1, 0, 0]
    [(_, row)] = metrics.past(None, MINUTES, 0, 10**9).slots
    assert (row.requests, row.missed, len(row.spaces), len(row.speakers)) == (5, 2, 5, 5)
    metrics.flush()
    clock.now += 3600
    metrics.flush()
    metrics.observe("recall", "recall", 0.001, status=200, space=Space("s4"))
    assert [requests(metrics, Space(f"s{number}"), HOURS) for number in range(5)] == [1, 1, 1, 0, 1]


def test_speakers_are_counted_once(clock):
    metrics = Metrics(MemoryBackend(), clock=clock)
    for minute in range(3):
        clock.now = NOON + 60 * minute
        for name in ("Ann", "安", "Ann", None):
            metrics.observe("remember", "write", 0.001, status=200, space=ANN, speaker=name)
    [(_, row)] = metrics.past(ANN, HOURS, 0, 10**9).slots
    assert (row.requests, len(row.speakers)) == (12, 2)


class Moody(MemoryBackend):
    """Stores nothing while it is found not to."""

    sulking = False

    def __init__(self) -> None:
        super().__init__()
        put = self.kv.put

        def moody_put(*args: object, **given: object) -> Entry:
            if self.sulking:
                raise BackendUnavailable("busy")
            return put(*args, **given)  # type: ignore[arg-type]

        self.kv.put = moody_put


def test_a_flush_that_fails_loses_nothing(clock):
    backend = Moody()
    metrics = Metrics(backend, clock=clock)
    for hour in range(4):
        clock.now = NOON + 3600 * hour
        metrics.observe("remember", "write", 0.001, status=200, space=ANN)
        backend.sulking = hour in (1, 2)
        if backend.sulking:
            with pytest.raises(BackendError):
                metrics.flush()
        else:
            metrics.flush()
        assert metrics.unflushed == {1: 1, 2: 2}.get(hour, 0)
        assert requests(metrics, ANN) == requests(metrics, None) == hour + 1
    again = Metrics(backend, clock=clock)
    for level in (MINUTES, HOURS):
        assert requests(again, ANN, level) == requests(again, None, level) == 4


def test_a_store_that_can_only_be_read_is_left_alone(engine: Engine, tmp_path: Path, unprivileged: None):
    engine.remember("x")
    engine.close()
    path = tmp_path / "app.db"
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with memwell.open(path, embedder=None, work=False) as reader:
            metrics = Metrics(reader.backend)
            metrics.observe("recall", "recall", 0.001, status=200, space=ANN)
            metrics.flush()
            assert requests(metrics, ANN) == 1
            assert reader.backend.kv.scan(FIGURES).items == []
    finally:
        tmp_path.chmod(0o755)


def test_the_figures_of_a_space_are_forgotten(engine: Engine):
    metrics = Metrics(engine.backend)
    for space in (ANN, BO):
        metrics.observe("remember", "write", 0.001, status=200, space=space)
    metrics.flush()
    assert metrics.forget(ANN) == 2
    assert (requests(metrics, ANN), requests(metrics, BO), requests(metrics, None)) == (0, 1, 2)
    metrics.flush()
    assert requests(metrics, ANN) == 0


_CHILD = """
import os, signal, sys
import memwell
from memwell.records import Space
from memwell.runtime.metrics import Metrics
with memwell.open(sys.argv[1], embedder=None, work=False) as m:
    metrics = Metrics(m.backend)
    for _ in range(10):
        metrics.observe("remember", "write", 0.001, status=200, space=Space("ann"))
        metrics.flush()
    metrics.observe("remember", "write", 0.001, status=200, space=Space("ann"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_two_processes_that_are_killed_lose_what_was_not_flushed_and_add_up(engine: Engine, tmp_path: Path):
    command = [sys.executable, "-c", _CHILD, str(tmp_path / "app.db")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [child.wait(60) for child in children] == [-9, -9]
    metrics = Metrics(engine.backend)
    metrics.observe("remember", "write", 0.001, status=200, space=ANN)
    assert requests(metrics, ANN) == requests(metrics, None) == requests(metrics, ANN, HOURS) == 21

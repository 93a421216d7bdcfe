"""Every request is counted once, by space; the figures outlive the process; a space sees its own, the operator all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

import memwell
from memwell.errors import BackendError, BackendUnavailable, InvalidInput, MissingDependency
from memwell.messages import human
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.records import Space
from memwell.runtime import metrics as metrics_module
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import (
    BOUNDS,
    FIGURES,
    HOURS,
    MINUTES,
    SPANS,
    Buckets,
    Level,
    Metrics,
    Stock,
    Tally,
    bucket_of,
    count_number,
    distinct,
    exposition,
    figures_of,
    latency_of,
    merged_numbers,
    note_quality,
    number_of,
    percentile,
    tag_of,
)
from memwell.runtime.wire.codec import Quality, ServiceFigures
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Entry
from memwell.testing.conformance.suite import Clock

NOON = 1_800_014_400.0
"""The beginning of an hour, and the middle of a day in UTC."""
ANN, BO = Space("ann"), Space("bo")


@pytest.fixture
def clock() -> Clock:
    found = Clock()
    found.now = NOON
    return found


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with memwell.open(tmp_path / "app.db", embedder=None, work=False) as opened:
        yield opened


NUMBERS = st.lists(st.integers(0, 2**53 - 1) | st.integers(0, 40), max_size=60)


@given(NUMBERS, NUMBERS)
def test_numbers_are_counted_once_in_any_order(some: list[int], others: list[int]):
    counted: list[int] = []
    for number in some:
        count_number(counted, number)
    assert counted == sorted(set(some))
    assert distinct(counted, 61) == len(set(some))
    assert merged_numbers(counted, others) == sorted({*some, *others})


@pytest.mark.parametrize("many", [1_000, 20_000])
def test_many_are_estimated(many: int):
    numbers: list[int] = []
    for n in range(many):
        count_number(numbers, number_of(Space("acme", f"user-{n}")))
    assert len(numbers) == 256
    # Three standard errors of 6 %.
    assert abs(distinct(numbers, 256) - many) < 0.19 * many


def test_a_speaker_is_another_in_another_space():
    ann = [number_of(Space("a"), "安"), number_of(Space("b"), "安"), number_of(Space("a"), "Bo"), number_of(Space("a"))]
    assert len(set(ann)) == 4
    assert number_of(Space("a", "b")) != number_of(Space("ab"))
    assert all(0 <= one < 2**53 for one in ann)


# A percentile is right to within the width of a bucket.


TIMES = st.lists(st.floats(0.0, 200.0) | st.floats(0.0, 0.01) | st.sampled_from(BOUNDS), max_size=60)


def bucketed(times: list[float]) -> Buckets:
    return dict(Counter(map(bucket_of, times)))


@given(TIMES.filter(bool), st.sampled_from((0.01, 0.25, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(times: list[float], share: float):
    true = sorted(times)[max(ceil(share * len(times) - 1e-9), 1) - 1]
    found = percentile(bucketed(times), share)
    assert found is not None
    place = bucket_of(true)
    if place == len(BOUNDS):
        assert found == BOUNDS[-1]
    else:
        assert (BOUNDS[place - 1] if place else 0.0) <= found <= BOUNDS[place]
        assert abs(found - true) <= max(true * 0.2, BOUNDS[0])
    latency = latency_of(bucketed(times))
    assert latency.count == len(times)
    assert (latency.p50 or 0) <= (latency.p95 or 0) <= (latency.p99 or 0)


@given(st.floats(0.0, 200.0))
def test_of_one_time_alone_all_percentiles_are_the_same(took: float):
    latency = latency_of(bucketed([took]))
    assert latency.p50 == latency.p95 == latency.p99


# A tally comes back from the store as it was, and tallies add up.


KINDS = st.sampled_from(("write", "recall", "read", "other"))
REQUESTS = st.lists(st.tuples(KINDS, st.integers(0, 81), st.sampled_from((200, 404, 429, 500, 503))), max_size=30)


def tally_of(requests: list[tuple[str, int, int]], spaces: list[int]) -> Tally:
    tally = Tally()
    for kind, bucket, status in requests:
        tally.add(kind, bucket, status)
    for space in spaces:
        count_number(tally.spaces, space)
        count_number(tally.speakers, space + 1)
    return tally


@given(REQUESTS, REQUESTS, st.lists(st.integers(0, 99)), st.lists(st.integers(0, 99)))
def test_tallies_add_up_before_and_after_they_are_stored(
    some: list[tuple[str, int, int]], others: list[tuple[str, int, int]], here: list[int], there: list[int]
):
    merged = tally_of(some, here)
    merged.merge(tally_of(others, there))
    stored = Tally()
    for one in (tally_of(some, here), tally_of(others, there)):
        stored.merge(msgspec.msgpack.decode(msgspec.msgpack.encode(one), type=Tally))
    assert merged == stored == tally_of(some + others, here + there)


def test_an_answer_is_empty_or_has_its_relevance(engine: Engine, clock: Clock):
    """The mean is that of the answers that found something, of the space alone and after it was stored."""
    metrics = Metrics(engine.backend, clock=clock)
    for best in (0.9, 0.5, 0.001, 0.0):
        metrics.observe_answer(engine.space, best)
    metrics.observe_answer(BO, 0.1)
    for _ in range(2):
        answers = figures_of(metrics, engine).answers
        assert (answers.count, answers.empty, answers.relevance) == (4, 2, pytest.approx(0.7))
        assert sum(point.empty for point in figures_of(metrics, engine).trends) == 2
        metrics.flush()
    assert figures_of(metrics, engine, whole=True).answers.count == 5


def test_totals_are_the_last_ones_and_refusals_are_no_failures():
    tally = tally_of([("write", 1, 200), ("write", 1, 404), ("write", 1, 503)], [])
    tally.memories, tally.conversations = 7, 3
    for later in (Tally(memories=9), Tally()):
        tally.merge(later)
    assert (tally.memories, tally.conversations) == (9, 3)
    assert (tally.requests, tally.refused, tally.errors, tally.write) == (3, 1, 1, {1: 2})


@given(st.lists(st.integers(-200_000, 200_000) | st.integers(-100, 4_000), max_size=25), st.booleans())
def test_no_request_is_lost_or_counted_twice_whatever_the_clock_does(steps: list[int], flushed: bool):
    clock = Clock()
    metrics = Metrics(MemoryBackend(), clock=clock)
    for step in steps:
        clock.now += step
        metrics.observe("remember", "write", 0.001, status=200, space=ANN)
        if flushed:
            metrics.flush()
    for level in (MINUTES, HOURS):
        for space in (ANN, None):
            slots = metrics.past(space, level, 0, 10**9).slots
            assert sum(row.requests for _, row in slots) == len(steps)
            assert [number for number, _ in slots] == sorted(number for number, _ in slots)


def test_rows_are_kept_for_days_and_name_nobody(clock: Clock):
    backend = MemoryBackend(clock=clock)
    metrics = Metrics(backend, clock=clock)
    metrics.observe("remember", "write", 0.001, status=200, space=ANN)
    metrics.flush()
    rows = backend.kv.scan(FIGURES).items
    assert sorted((row.expires.timestamp() - NOON) / 86_400 for row in rows if row.expires) == [2, 2, 32, 400]
    assert not any("ann" in row.key for row in rows)
    assert tag_of(Space("a", "b")) != tag_of(Space("ab"))


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
    monkeypatch.setattr(metrics_module, "_FRESH_S", 0.0)
    monkeypatch.setattr(metrics_module, "_PATIENCE", 0.0)
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


def requests(metrics: Metrics, space: Space | None, level: Level = MINUTES) -> int:
    return sum(row.requests for _, row in metrics.past(space, level, 0, 10**9).slots)


def test_operations_are_counted_by_status_with_their_times():
    metrics = Metrics(MemoryBackend())
    for status in (200, 201, 404, 503, 200):
        metrics.observe("remember", "write", 0.01, status=status, space=ANN)
    counted = metrics.counts()["remember"]
    assert counted.statuses == {200: 2, 201: 1, 404: 1, 503: 1}
    assert counted.seconds == pytest.approx(0.05)
    [found] = metrics.operations()
    assert (found.requests, found.errors, found.latency.count) == (5, 1, 5)
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


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("whole", [False, True])
def test_an_empty_service_has_figures(engine: Engine, clock, span: str, whole: bool):
    found = figures_of(Metrics(engine.backend, clock=clock), engine, span=span, whole=whole)
    assert len(found.trends) == SPANS[span].length_s / SPANS[span].step_s
    assert found.trends[0].time == found.since
    assert found.trends[-1].time <= found.now < found.trends[-1].time.fromtimestamp(NOON + found.step_s, UTC)
    assert (found.availability.share, found.write.p50, found.quality, found.costs) == (None, None, None, None)
    assert found.complete
    assert msgspec.json.decode(msgspec.json.encode(found), type=ServiceFigures) == found


@pytest.mark.parametrize("span", ["2h", None])
def test_an_unknown_span_is_refused(engine: Engine, span):
    with pytest.raises(InvalidInput, match="1h, 24h, 7d, 30d"):
        figures_of(Metrics(engine.backend), engine, span=span)


@pytest.mark.parametrize("span", SPANS)
def test_all_that_happened_in_a_span_is_in_its_trends(engine: Engine, clock, span: str):
    metrics = Metrics(engine.backend, clock=clock)
    length, step = SPANS[span].length_s, SPANS[span].step_s
    clock.now = NOON - length - 7_200
    metrics.observe("recall", "recall", 9.0, status=500, space=ANN)
    for part in range(10):
        clock.now = NOON - (9 - part) * (length - 2 * step) / 9
        metrics.observe("remember", "write", 0.002, status=200, space=ANN)
        metrics.observe("recall", "recall", 0.008, status=200 if part else 503, space=BO)
        metrics.flush()
    for space, writes, recalls in ((ANN, 10, 0), (BO, 0, 10)):
        found = figures_of(metrics, engine.at(space), span=span)
        assert sum(point.writes for point in found.trends) == found.write.count == writes
        assert sum(point.recalls for point in found.trends) == found.recall.count == recalls
    found = figures_of(metrics, engine, span=span, whole=True)
    assert (found.availability.requests, found.availability.errors, found.availability.share) == (20, 1, 0.95)
    assert found.write.p50 == pytest.approx(0.002, rel=0.2)
    assert found.recall.p95 == pytest.approx(0.008, rel=0.2)
    busy = [point for point in found.trends if point.requests]
    assert len(busy) == 10
    assert busy[0].errors == 1
    assert {point.active for point in busy} == {2}
    assert busy[-1].recall_p50 == pytest.approx(0.008, rel=0.2)


def test_a_space_is_found_nothing_of_another(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0)})
    ledger.settle("m", 0.0, Usage(5, 5))
    engine.at(ANN).remember("Ann likes tea.")
    engine.at(ANN).thread("t").add(human("Hi"))
    metrics.observe("secret-operation", "write", 0.5, status=500, space=ANN, speaker="Ann", code="internal")
    metrics.flush()
    with metrics.in_flight():
        before = figures_of(Metrics(engine.backend, clock=clock), engine.at("zoe"), ledger=ledger)
        found = figures_of(metrics, engine.at(BO), ledger=ledger)
    assert msgspec.structs.replace(found, totals=before.totals) == before
    assert (found.totals.memories, found.totals.conversations, found.queue.words) == (0, 0, 0)
    assert (found.errors, found.operations, found.costs, found.availability.in_flight) == ([], [], None, 0)


def test_failures_are_found_newest_first_and_outlive_the_process(engine: Engine, clock):
    for life in range(3):
        metrics = Metrics(engine.backend, clock=clock)
        for number in range(10):
            clock.now += 1
            metrics.observe("recall", "recall", 0.1, status=503, space=ANN, code=f"c{life}{number}")
        metrics.flush()
    for span in SPANS:
        found = figures_of(Metrics(engine.backend, clock=clock), engine.at(ANN), span=span).errors
        assert [one.code for one in found] == [f"c{n // 10}{n % 10}" for n in range(29, 9, -1)]
        assert found[0].time == datetime.fromtimestamp(clock.now, UTC)


def test_who_was_there_in_a_day_and_in_a_week(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    for day, names in ((8, ["Old"]), (3, ["Ann", "安"]), (0, ["Ann", "Bo"])):
        clock.now = NOON - day * 86_400
        for name in names:
            metrics.observe("remember", "write", 0.1, status=200, space=ANN, speaker=name)
            metrics.observe("recall", "recall", 0.1, status=200, space=Space("of", name))
        metrics.flush()
    found = figures_of(metrics, engine, whole=True).active
    assert (found.spaces_day, found.spaces_week, found.speakers_day, found.speakers_week) == (3, 4, 2, 3)
    found = figures_of(metrics, engine.at(ANN)).active
    assert (found.spaces_day, found.spaces_week, found.speakers_day, found.speakers_week) == (1, 1, 2, 3)


def test_how_much_is_stored_is_a_trend_too(engine: Engine, clock):
    clock.now = NOON - 600
    metrics = Metrics(engine.backend, clock=clock)
    engine.remember(["Tea.", "Milk."])
    engine.thread("t").add(human("Hi"))
    engine.catch_up()
    metrics.observe("remember", "write", 0.01, status=200, space=engine.space)
    metrics.flush()
    clock.now = NOON
    for whole in (False, True):
        points = figures_of(metrics, engine, span="1h", whole=whole).trends
        assert [(point.memories, point.conversations) for point in points] == [(None, None)] * 49 + [(2, 1)] * 11


def test_requests_beyond_the_bound_make_figures_incomplete(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock, most_spaces=1)
    for space in (ANN, BO):
        metrics.observe("recall", "recall", 0.01, status=200, space=space)
    assert not figures_of(metrics, engine.at(BO)).complete
    assert figures_of(metrics, engine, whole=True).complete


def test_quality_jobs_and_costs_are_found(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    quality = Quality(data="茶", ndcg10=0.5, recall10=0.6, queries=3, time=datetime(2026, 1, 1, tzinfo=UTC))
    note_quality(engine.backend.kv, quality)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0, 2.0)}, spend_cap=9.0, clock=clock)
    ledger.settle("m", 0.0, Usage(1_000_000, 500_000))
    ledger.settle("free", 0.0, Usage(1, 1))
    found = figures_of(metrics, engine, whole=True, jobs=3, ledger=ledger)
    assert (found.quality, found.queue.jobs) == (quality, 3)
    assert found.costs is not None
    assert (found.costs.month, found.costs.spent, found.costs.cap) == ("2027-01", 2.0, 9.0)
    assert [(one.model, one.calls, one.cost) for one in found.costs.models] == [("free", 1, None), ("m", 1, 2.0)]


# Prometheus' own parser reads the exposition, which names no space and no user.


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(data: bytes) -> Samples:
    families = list(text_string_to_metric_families(data.decode()))
    found = [(one.name, tuple(sorted(one.labels.items())), one.value) for family in families for one in family.samples]
    assert len({one[:2] for one in found}) == len(found)
    return {(name, labels): value for name, labels, value in found}


def test_its_own_parser_reads_all_of_it(engine: Engine):
    metrics = Metrics(engine.backend)
    engine.remember(["Tea.", "Milk."])
    for _ in range(3):
        engine.at("elsewhere").recall("tea")
    for seconds, status in ((0.00005, 200), (0.003, 200), (0.003, 404), (500.0, 503)):
        space = Space("geheim")
        metrics.observe("recall", "recall", seconds, status=status, space=space, speaker="Ann", received=7, sent=9)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0, 2.0)}, spend_cap=9.0)
    ledger.settle("m", 0.0, Usage(1_000_000, 500_000))
    with metrics.in_flight():
        data, content_type = exposition(metrics, engine, version="1.2.3", jobs=4, ledger=ledger)
    assert content_type.startswith("text/plain")
    found = samples(data)
    of_recall = ("operation", "recall")
    # The alerts that are shipped name statuses in full.
    assert found["memwell_requests_total", (of_recall, ("status", "200"))] == 2
    assert found["memwell_requests_total", (of_recall, ("status", "503"))] == 1
    assert found["memwell_request_seconds_count", (of_recall,)] == 4
    assert found["memwell_request_seconds_sum", (of_recall,)] == pytest.approx(500.00605)
    below = {labels[0][1]: many for (name, labels), many in found.items() if name == "memwell_request_seconds_bucket"}
    assert (below["0.0001"], below["0.0032"], below["+Inf"]) == (1, 3, 4)
    assert sorted(below.values()) == list(below.values())
    assert found["memwell_in_flight", ()] == 1
    assert found["memwell_conversations", ()] == 0
    assert found["memwell_pending", (("work", "words"),)] == 2
    assert found["memwell_pending", (("work", "jobs"),)] == 4
    assert found["memwell_cost_usd_total", (("model", "m"),)] == 2.0
    assert found["memwell_month_cost_usd", ()] == 2.0
    assert found["memwell_spend_cap_usd", ()] == 9.0
    assert found["memwell_request_bytes_total", (of_recall,)] == 28
    assert found["memwell_response_bytes_total", (of_recall,)] == 36
    assert found["memwell_snapshot_reads_total", (("found", "miss"),)] == 1
    assert found["memwell_snapshot_reads_total", (("found", "hit"),)] == 2
    assert found["memwell_snapshot_spaces", ()] == 1
    assert found["memwell_snapshot_bytes", ()] > 0
    assert found["memwell_snapshot_evictions_total", ()] == 0
    assert any(name == "memwell_build_info" and ("version", "1.2.3") in labels for name, labels in found)
    assert b"geheim" not in data
    assert b"Ann" not in data


def test_odd_labels_are_escaped_and_no_ledger_means_no_costs(engine: Engine):
    metrics = Metrics(engine.backend)
    odd = 'a"b\\c\nd 茶'
    metrics.observe(odd, "other", 0.1, status=200, space=None)
    found = samples(exposition(metrics, engine, version="1")[0])
    assert ("memwell_requests_total", (("operation", odd), ("status", "200"))) in found
    assert found["memwell_memories", ()] == 0
    assert not any(name.startswith("memwell_cost") for name, _ in found)


def test_the_registry_of_the_program_is_left_alone(engine: Engine):
    before = {family.name for family in REGISTRY.collect()}
    for _ in range(2):
        exposition(Metrics(engine.backend), engine, version="1")
    assert {family.name for family in REGISTRY.collect()} == before


def test_without_the_package_the_extra_is_named(engine: Engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingDependency, match=r"memwell\[server\]"):
        exposition(Metrics(engine.backend), engine, version="1")

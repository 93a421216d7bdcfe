"""The overview tells a space its own figures, and the operator those of all."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from memwell.errors import InvalidInput
from memwell.messages import human
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import SPANS, Metrics, figures_of, last_quality, note_quality
from memwell.runtime.wire.running import Quality, ServiceFigures
from memwell.storage.memory import MemoryBackend

# The last measurement is found again.


def test_the_last_measurement_is_found_again():
    kv = MemoryBackend().kv
    assert last_quality(kv) is None
    when = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
    for data in ("LoCoMo", "茶"):
        told = Quality(data=data, ndcg10=0.61, recall10=0.75, queries=12, time=when)
        note_quality(kv, told)
        assert last_quality(kv) == told


NOON = 1_800_014_400.0
ANN, BO = Space("ann"), Space("bo")


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("whole", [False, True])
def test_an_empty_service_has_figures(engine: Engine, clock, span: str, whole: bool):
    told = figures_of(Metrics(engine.backend, clock=clock), engine, span=span, whole=whole)
    assert len(told.trends) == SPANS[span].length_s / SPANS[span].step_s
    assert told.trends[0].time == told.since
    assert told.trends[-1].time <= told.now < told.trends[-1].time.fromtimestamp(NOON + told.step_s, UTC)
    assert (told.availability.share, told.write.p50, told.quality, told.costs) == (None, None, None, None)
    assert told.complete
    assert msgspec.json.decode(msgspec.json.encode(told), type=ServiceFigures) == told


@pytest.mark.parametrize("span", ["", "2h", "1H", None, 3])
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
        told = figures_of(metrics, engine.at(space), span=span)
        assert sum(point.writes for point in told.trends) == told.write.count == writes
        assert sum(point.recalls for point in told.trends) == told.recall.count == recalls
    told = figures_of(metrics, engine, span=span, whole=True)
    assert (told.availability.requests, told.availability.errors, told.availability.share) == (20, 1, 0.95)
    assert told.write.p50 == pytest.approx(0.002, rel=0.2)
    assert told.recall.p95 == pytest.approx(0.008, rel=0.2)
    busy = [point for point in told.trends if point.requests]
    assert len(busy) == 10
    assert busy[0].errors == 1
    assert {point.active for point in busy} == {2}
    assert busy[-1].recall_p50 == pytest.approx(0.008, rel=0.2)


def test_a_space_is_told_nothing_of_another(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0)})
    ledger.settle("m", 0.0, Usage(5, 5))
    engine.at(ANN).remember("Ann likes tea.")
    engine.at(ANN).thread("t").add(human("Hi"))
    metrics.observe("secret-operation", "write", 0.5, status=500, space=ANN, speaker="Ann", code="internal")
    metrics.flush()
    with metrics.in_flight():
        before = figures_of(Metrics(engine.backend, clock=clock), engine.at("nobody"), ledger=ledger)
        told = figures_of(metrics, engine.at(BO), ledger=ledger)
    assert msgspec.structs.replace(told, totals=before.totals) == before
    assert (told.totals.memories, told.totals.conversations, told.queue.words) == (0, 0, 0)
    assert (told.errors, told.operations, told.costs, told.availability.in_flight) == ([], [], None, 0)


def test_failures_are_told_newest_first_and_outlive_the_process(engine: Engine, clock):
    for life in range(3):
        metrics = Metrics(engine.backend, clock=clock)
        for number in range(10):
            clock.now += 1
            metrics.observe("recall", "recall", 0.1, status=503, space=ANN, code=f"c{life}{number}")
        metrics.flush()
    for span in SPANS:
        told = figures_of(Metrics(engine.backend, clock=clock), engine.at(ANN), span=span).errors
        assert [one.code for one in told] == [f"c{n // 10}{n % 10}" for n in range(29, 9, -1)]
        assert told[0].time == datetime.fromtimestamp(clock.now, UTC)


def test_who_was_there_in_a_day_and_in_a_week(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    for day, names in ((8, ["Old"]), (3, ["Ann", "安"]), (0, ["Ann", "Bo"])):
        clock.now = NOON - day * 86_400
        for name in names:
            metrics.observe("remember", "write", 0.1, status=200, space=ANN, speaker=name)
            metrics.observe("recall", "recall", 0.1, status=200, space=Space("of", name))
        metrics.flush()
    told = figures_of(metrics, engine, whole=True).active
    assert (told.spaces_day, told.spaces_week, told.speakers_day, told.speakers_week) == (3, 4, 2, 3)
    told = figures_of(metrics, engine.at(ANN)).active
    assert (told.spaces_day, told.spaces_week, told.speakers_day, told.speakers_week) == (1, 1, 2, 3)


def test_two_processes_add_up(engine: Engine, clock):
    one, other = (Metrics(engine.backend, clock=clock) for _ in range(2))
    for metrics, many in ((one, 3), (other, 4)):
        for _ in range(many):
            metrics.observe("recall", "recall", 0.01, status=200, space=ANN)
    other.flush()
    told = figures_of(one, engine, span="1h", whole=True)
    assert told.recall.count == told.trends[-1].recalls == 7
    assert told.trends[-1].active == told.active.spaces_day == 1
    assert [done.requests for done in told.operations] == [3]


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


def test_a_crowd_is_told_of(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock, most_spaces=1)
    for space in (ANN, BO):
        metrics.observe("recall", "recall", 0.01, status=200, space=space)
    assert not figures_of(metrics, engine.at(BO)).complete
    assert figures_of(metrics, engine, whole=True).complete


def test_quality_jobs_and_costs_are_told(engine: Engine, clock):
    metrics = Metrics(engine.backend, clock=clock)
    quality = Quality(data="茶", ndcg10=0.5, recall10=0.6, queries=3, time=datetime(2026, 1, 1, tzinfo=UTC))
    note_quality(engine.backend.kv, quality)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0, 2.0)}, spend_cap=9.0, clock=clock)
    ledger.settle("m", 0.0, Usage(1_000_000, 500_000))
    ledger.settle("free", 0.0, Usage(1, 1))
    told = figures_of(metrics, engine, whole=True, jobs=3, ledger=ledger)
    assert (told.quality, told.queue.jobs) == (quality, 3)
    assert told.costs is not None
    assert (told.costs.month, told.costs.spent, told.costs.cap) == ("2027-01", 2.0, 9.0)
    assert [(one.model, one.calls, one.cost) for one in told.costs.models] == [("free", 1, None), ("m", 1, 2.0)]

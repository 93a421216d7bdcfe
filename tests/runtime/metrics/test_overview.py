"""The overview shows a space its own figures, and the operator those of all; Prometheus reads those of the whole."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import msgspec
import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from memwell.errors import InvalidInput, MissingDependency
from memwell.messages import human
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import SPANS, Metrics, exposition, figures_of, last_quality, note_quality
from memwell.runtime.wire.running import Quality, ServiceFigures
from memwell.storage.memory import MemoryBackend


def test_the_last_measurement_is_found_again():
    kv = MemoryBackend().kv
    assert last_quality(kv) is None
    when = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
    for data in ("LoCoMo", "茶"):
        found = Quality(data=data, ndcg10=0.61, recall10=0.75, queries=12, time=when)
        note_quality(kv, found)
        assert last_quality(kv) == found


NOON = 1_800_014_400.0
ANN, BO = Space("ann"), Space("bo")


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


def test_two_processes_add_up(engine: Engine, clock):
    one, other = (Metrics(engine.backend, clock=clock) for _ in range(2))
    for metrics, many in ((one, 3), (other, 4)):
        for _ in range(many):
            metrics.observe("recall", "recall", 0.01, status=200, space=ANN)
    other.flush()
    found = figures_of(one, engine, span="1h", whole=True)
    assert found.recall.count == found.trends[-1].recalls == 7
    assert found.trends[-1].active == found.active.spaces_day == 1
    assert [done.requests for done in found.operations] == [3]


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
    for seconds, status in ((0.00005, 200), (0.003, 200), (0.003, 404), (500.0, 503)):
        metrics.observe("recall", "recall", seconds, status=status, space=Space("geheim"), speaker="Ann", size=7)
    ledger = KeptLedger(engine.backend, {"m": Price(1.0, 2.0)}, spend_cap=9.0)
    ledger.settle("m", 0.0, Usage(1_000_000, 500_000))
    with metrics.in_flight():
        data, content_type = exposition(metrics, engine, version="1.2.3", jobs=4, ledger=ledger)
    assert content_type.startswith("text/plain")
    found = samples(data)
    of_recall = ("operation", "recall")
    assert found["memwell_requests_total", (of_recall, ("status", "2xx"))] == 2
    assert found["memwell_requests_total", (of_recall, ("status", "5xx"))] == 1
    assert found["memwell_request_seconds_count", (of_recall,)] == 4
    assert found["memwell_request_seconds_sum", (of_recall,)] == pytest.approx(500.00605)
    assert found["memwell_request_bytes_total", (of_recall,)] == 28
    below = {labels[0][1]: many for (name, labels), many in found.items() if name == "memwell_request_seconds_bucket"}
    assert (below["0.0001"], below["0.0032"], below["+Inf"]) == (1, 3, 4)
    assert sorted(below.values()) == list(below.values())
    assert found["memwell_in_flight", ()] == 1
    assert found["memwell_conversations", ()] == 0
    assert found["memwell_owed", (("work", "words"),)] == 2
    assert found["memwell_owed", (("work", "jobs"),)] == 4
    assert found["memwell_cost_total", (("model", "m"),)] == 2.0
    assert found["memwell_spend_cap", ()] == 9.0
    assert any(name == "memwell_build_info" and ("version", "1.2.3") in labels for name, labels in found)
    assert b"geheim" not in data
    assert b"Ann" not in data


def test_odd_labels_are_escaped_and_no_ledger_means_no_costs(engine: Engine):
    metrics = Metrics(engine.backend)
    odd = 'a"b\\c\nd 茶'
    metrics.observe(odd, "other", 0.1, status=200, space=None)
    found = samples(exposition(metrics, engine, version="1")[0])
    assert ("memwell_requests_total", (("operation", odd), ("status", "2xx"))) in found
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

"""What Prometheus reads is what its own parser understands, and names nobody."""

from __future__ import annotations

import sys

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from memwell.errors import MissingDependency
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import Metrics, exposition

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
    told = samples(data)
    of_recall = ("operation", "recall")
    assert told["memwell_requests_total", (of_recall, ("status", "2xx"))] == 2
    assert told["memwell_requests_total", (of_recall, ("status", "5xx"))] == 1
    assert told["memwell_request_seconds_count", (of_recall,)] == 4
    assert told["memwell_request_seconds_sum", (of_recall,)] == pytest.approx(500.00605)
    assert told["memwell_request_bytes_total", (of_recall,)] == 28
    below = {labels[0][1]: many for (name, labels), many in told.items() if name == "memwell_request_seconds_bucket"}
    assert (below["0.0001"], below["0.0032"], below["+Inf"]) == (1, 3, 4)
    assert sorted(below.values()) == list(below.values())
    assert told["memwell_in_flight", ()] == 1
    assert told["memwell_conversations", ()] == 0
    assert told["memwell_owed", (("work", "words"),)] == 2
    assert told["memwell_owed", (("work", "jobs"),)] == 4
    assert told["memwell_cost_total", (("model", "m"),)] == 2.0
    assert told["memwell_spend_cap", ()] == 9.0
    assert any(name == "memwell_build_info" and ("version", "1.2.3") in labels for name, labels in told)
    assert b"geheim" not in data
    assert b"Ann" not in data


def test_a_process_without_requests_is_read_too(engine: Engine):
    data, _ = exposition(Metrics(engine.backend), engine, version="1")
    told = samples(data)
    assert told["memwell_memories", ()] == 0
    assert not any(name.startswith("memwell_cost") for name, _ in told)


def test_a_label_that_is_odd_is_escaped(engine: Engine):
    metrics = Metrics(engine.backend)
    odd = 'a"b\\c\nd 茶'
    metrics.observe(odd, "other", 0.1, status=200, space=None)
    assert ("memwell_requests_total", (("operation", odd), ("status", "2xx"))) in samples(
        exposition(metrics, engine, version="1")[0]
    )


def test_the_registry_of_the_program_is_left_alone(engine: Engine):
    before = {family.name for family in REGISTRY.collect()}
    for _ in range(2):
        exposition(Metrics(engine.backend), engine, version="1")
    assert {family.name for family in REGISTRY.collect()} == before


def test_without_the_package_the_extra_is_named(engine: Engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingDependency, match=r"memwell\[server\]"):
        exposition(Metrics(engine.backend), engine, version="1")

"""The figures of the service, for its overview page and for Prometheus."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memwell.errors import InvalidInput, MissingDependency
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics.recorder import Metrics
from memwell.runtime.metrics.trends import (
    BOUNDS,
    COARSE,
    FIGURES,
    HOURS,
    MINUTES,
    Failed,
    Level,
    Past,
    Tally,
    distinct,
    latency_of,
    percentile,
)
from memwell.runtime.wire.running import (
    ActiveUsers,
    Availability,
    FailedRequest,
    ModelCost,
    ModelCosts,
    Point,
    Quality,
    Queue,
    ServiceFigures,
)
from memwell.storage.protocols import KeyValue
from memwell.values import shown

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_KEY = "quality"
"""Where a store keeps the last measurement of recall."""


def note_quality(kv: KeyValue, quality: Quality) -> None:
    """Keep a measurement in the place of the one before."""
    kv.put(FIGURES, _KEY, msgspec.to_builtins(quality))


def last_quality(kv: KeyValue) -> Quality | None:
    """The last measurement, or None when there was none."""
    entry = kv.get(FIGURES, _KEY)
    return None if entry is None else msgspec.convert(entry.value, Quality)


_MOST_FAILURES = 20
_DAY = 24
_WEEK = 7 * _DAY


class TimeSpan(NamedTuple):
    """How far back figures go, and in which steps."""

    length_s: int
    step_s: int
    level: Level


SPANS = {
    "1h": TimeSpan(3600, 60, MINUTES),
    "24h": TimeSpan(86_400, 900, MINUTES),
    "7d": TimeSpan(7 * 86_400, 7200, HOURS),
    "30d": TimeSpan(30 * 86_400, 21_600, HOURS),
}


def figures_of(
    metrics: Metrics,
    engine: Engine,
    *,
    span: str = "24h",
    whole: bool = False,
    jobs: int = 0,
    ledger: KeptLedger | None = None,
) -> ServiceFigures:
    """The figures of the engine's space, or with ``whole`` of the whole service, for its operator.

    ``jobs`` is how many jobs wait or are under way. Raises ``InvalidInput`` for an unknown span.
    """
    if span not in SPANS:
        raise InvalidInput(f"a span is one of {', '.join(SPANS)}, not {shown(span)}")
    now, asked, space = metrics.clock(), SPANS[span], None if whole else engine.space
    begin = int(now // asked.step_s + 1) * asked.step_s - asked.length_s
    past = metrics.past(space, asked.level, begin // asked.level.slot_s, int(now // asked.level.slot_s))
    steps = _steps(past, asked)
    total = Tally()
    for tally in steps.values():
        total.merge(tally)
    queue = metrics.stock.pending_whole(engine) if whole else metrics.stock.pending(engine)
    return ServiceFigures(
        now=_moment(now),
        span=span,
        since=_moment(begin),
        step_s=asked.step_s,
        whole=whole,
        complete=whole or not _missed(metrics, asked, begin, now),
        availability=_availability(total, metrics, now, whole=whole),
        totals=metrics.stock.whole(engine) if whole else metrics.stock.of(engine),
        write=latency_of(total.write),
        recall=latency_of(total.recall),
        queue=Queue(words=queue.words, vectors=queue.vectors, spaces=queue.spaces, jobs=jobs),
        errors=[_failure(one) for one in _failures(metrics, space, past, asked, begin, now)],
        active=_active(metrics, space, now),
        quality=last_quality(metrics.backend.kv),
        costs=None if ledger is None or not whole else costs_of(ledger),
        operations=metrics.operations() if whole else [],
        trends=list(_points(steps, begin, asked, whole=whole)),
    )


def _steps(past: Past, asked: TimeSpan) -> dict[int, Tally]:
    """What happened in each step, by its number since 1970; steps without any row are left out."""
    steps: dict[int, Tally] = {}
    for number, row in past.slots:
        step = number * asked.level.slot_s // asked.step_s
        steps.setdefault(step, Tally()).merge(row)
    return steps


def _points(steps: dict[int, Tally], begin: int, asked: TimeSpan, *, whole: bool) -> Iterator[Point]:
    memories = conversations = None
    first, most = begin // asked.step_s, asked.level.most
    for number in range(first, first + asked.length_s // asked.step_s):
        tally = steps.get(number) or Tally()
        memories = memories if tally.memories is None else tally.memories
        conversations = conversations if tally.conversations is None else tally.conversations
        yield Point(
            time=_moment(number * asked.step_s),
            requests=tally.requests,
            writes=sum(tally.write.values()),
            recalls=sum(tally.recall.values()),
            errors=tally.errors,
            write_p50=percentile(tally.write, 0.5),
            write_p95=percentile(tally.write, 0.95),
            recall_p50=percentile(tally.recall, 0.5),
            recall_p95=percentile(tally.recall, 0.95),
            memories=memories,
            conversations=conversations,
            active=distinct(tally.spaces, most)
            if whole
            else max(distinct(tally.speakers, most), int(tally.requests > 0)),
        )


def _availability(total: Tally, metrics: Metrics, now: float, *, whole: bool) -> Availability:
    return Availability(
        requests=total.requests,
        errors=total.errors,
        refused=total.refused,
        share=1 - total.errors / total.requests if total.requests else None,
        uptime_s=max(now - metrics.started, 0.0),
        in_flight=metrics.requests_in_flight if whole else 0,
    )


def _failures(
    metrics: Metrics, space: Space | None, past: Past, asked: TimeSpan, begin: int, now: float
) -> Sequence[Failed]:
    """The last failures of the span. They are kept with the minutes, so for two days."""
    minute = int(now // 60)
    found = past if asked.level is MINUTES else metrics.past(space, MINUTES, minute - 2 * _DAY * 60, minute)
    return [one for one in found.failures if one.time >= begin][:_MOST_FAILURES]


def _active(metrics: Metrics, space: Space | None, now: float) -> ActiveUsers:
    hour = int(now // 3600)
    slots = metrics.past(space, HOURS, hour - _WEEK + 1, hour).slots
    found: dict[str, int] = {}
    for name, length in (("day", _DAY), ("week", _WEEK)):
        total = Tally()
        for number, row in slots:
            if number > hour - length:
                total.merge(row)
        # In the rows of a space there is no other.
        found[f"spaces_{name}"] = distinct(total.spaces, HOURS.most) if space is None else int(total.requests > 0)
        found[f"speakers_{name}"] = distinct(total.speakers, HOURS.most)
    return ActiveUsers(**found)


def _missed(metrics: Metrics, asked: TimeSpan, begin: int, now: float) -> bool:
    """Whether requests of some space were counted for the whole service only."""
    slots = metrics.past(None, asked.level, begin // asked.level.slot_s, int(now // asked.level.slot_s)).slots
    return any(row.missed for _, row in slots)


def costs_of(ledger: KeptLedger) -> ModelCosts:
    """What models cost in this month."""
    models = [
        ModelCost(
            model=model, calls=one.calls, input_tokens=one.input_tokens, output_tokens=one.output_tokens, cost=one.cost
        )
        for model, one in sorted(ledger.accounts().items())
    ]
    spent = sum(one.cost or 0.0 for one in models)
    return ModelCosts(month=ledger.month, spent=spent, cap=ledger.spend_cap, models=models)


def _failure(failed: Failed) -> FailedRequest:
    return FailedRequest(time=_moment(failed.time), operation=failed.operation, status=failed.status, code=failed.code)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


# Prometheus. No label holds a space, a user or any user text.


_STORED = ("conversations", "messages", "memories", "documents", "chunks")


def exposition(
    metrics: Metrics, engine: Engine, *, version: str, jobs: int = 0, ledger: KeptLedger | None = None
) -> tuple[bytes, str]:
    """What Prometheus reads, and its content type: the requests of this process, what all spaces hold.

    ``version`` is memwell's own. Raises ``MissingDependency`` without prometheus_client.
    """
    try:
        # An optional dependency, only needed here.
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency('figures for Prometheus need: pip install "memwell[server]"') from error
    families = [*_requests(metrics), *_gauges(metrics, engine, jobs)]
    if ledger is not None:
        families += _costs(ledger)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector([*families, _build(version)]))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    """Gives the registry of one answer its families."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _requests(metrics: Metrics) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily  # noqa: PLC0415 - as above

    requests = CounterMetricFamily("memwell_requests", "Requests that were answered.", labels=("operation", "status"))
    seconds = HistogramMetricFamily("memwell_request_seconds", "How long requests took.", labels=("operation",))
    sizes = CounterMetricFamily("memwell_request_bytes", "Bytes received and sent.", labels=("operation",))
    for name, one in metrics.counts().items():
        for status, many in one.statuses.items():
            requests.add_metric((name, status), many)
        # How many requests took no longer than each bound; every fourth bound is shown.
        below = list(accumulate(one.buckets))
        bounds = [*((repr(BOUNDS[place]), float(below[place])) for place in COARSE), ("+Inf", float(below[-1]))]
        seconds.add_metric((name,), bounds, one.seconds)
        sizes.add_metric((name,), one.bytes)
    yield from (requests, seconds, sizes)


def _gauges(metrics: Metrics, engine: Engine, jobs: int) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    yield GaugeMetricFamily("memwell_in_flight", "Requests under way.", value=metrics.requests_in_flight)
    yield GaugeMetricFamily("memwell_start_time_seconds", "When the process began.", value=metrics.started)
    yield GaugeMetricFamily(
        "memwell_unflushed", "How often figures could not be stored since they last were.", value=metrics.unflushed
    )
    stored = metrics.stock.whole(engine)
    for name in _STORED:
        many: int | None = getattr(stored, name)
        if many is not None:
            yield GaugeMetricFamily(f"memwell_{name}", f"The {name} of all spaces.", value=many)
    yield GaugeMetricFamily(
        "memwell_counted_time_seconds", "When what is stored was counted.", value=stored.counted.timestamp()
    )
    queue = metrics.stock.pending_whole(engine)
    pending = GaugeMetricFamily("memwell_owed", "Work that is still to be done.", labels=("work",))
    for work, many in (("words", queue.words), ("vectors", queue.vectors), ("jobs", jobs)):
        pending.add_metric((work,), many)
    yield pending


def _costs(ledger: KeptLedger) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415 - as above

    costs = CounterMetricFamily("memwell_cost", "What models cost in this calendar month.", labels=("model",))
    tokens = CounterMetricFamily("memwell_tokens", "Tokens of this calendar month.", labels=("model", "direction"))
    for model, account in ledger.accounts().items():
        if account.cost is not None:
            costs.add_metric((model,), account.cost)
        tokens.add_metric((model, "input"), account.input_tokens)
        tokens.add_metric((model, "output"), account.output_tokens)
    yield from (costs, tokens)
    if ledger.spend_cap is not None:
        yield GaugeMetricFamily("memwell_spend_cap", "What may be spent in a month.", value=ledger.spend_cap)


def _build(version: str) -> Metric:
    from prometheus_client.core import InfoMetricFamily  # noqa: PLC0415 - as above

    build = InfoMetricFamily("memwell_build", "What is running.")
    build.add_metric((), {"version": version, "python": platform.python_version()})
    return build

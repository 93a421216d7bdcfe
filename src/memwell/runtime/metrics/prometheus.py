"""The figures of this process for Prometheus. No label names a space, a user, or anything that somebody wrote."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from memwell.errors import MissingDependency
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics.recorder import Metrics, OperationCounts
from memwell.runtime.metrics.trends import BOUNDS, COARSE
from memwell.runtime.wire.figures import Queue, Stored

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_STORED = ("conversations", "messages", "memories", "documents", "chunks")


def exposition(
    metrics: Metrics, engine: Engine, *, version: str, jobs: int = 0, ledger: KeptLedger | None = None
) -> tuple[bytes, str]:
    """What Prometheus reads, and its content type: the requests of this process, what all spaces hold and are owed.

    ``version`` is memwell's own. Raises ``MissingDependency`` without prometheus_client.
    """
    try:
        # Optional, and of use to nobody who is not asked for figures.
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency('figures for Prometheus need: pip install "memwell[server]"') from error
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics, engine, version, jobs, ledger))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    """Reads the figures once, when it is asked. It is made for one answer and registered nowhere else."""

    def __init__(self, metrics: Metrics, engine: Engine, version: str, jobs: int, ledger: KeptLedger | None) -> None:
        self._metrics = metrics
        self._engine = engine
        self._version = version
        self._jobs = jobs
        self._ledger = ledger

    def describe(self) -> list[Metric]:
        """Nothing: a registry would otherwise collect once to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All figures."""
        operations = self._metrics.counts()
        yield from _requests(operations)
        yield from _gauges(self._metrics)
        yield from _stored(self._metrics.stock.whole(self._engine))
        yield _owed(self._metrics.stock.owed_whole(self._engine), self._jobs)
        if self._ledger is not None:
            yield from _costs(self._ledger)
        yield _build(self._version)


def _requests(operations: dict[str, OperationCounts]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily  # noqa: PLC0415 - as above

    requests = CounterMetricFamily("memwell_requests", "Requests that were answered.", labels=("operation", "status"))
    seconds = HistogramMetricFamily("memwell_request_seconds", "How long requests took.", labels=("operation",))
    sizes = CounterMetricFamily("memwell_request_bytes", "Bytes received and sent.", labels=("operation",))
    for name, one in operations.items():
        for status, many in one.statuses.items():
            requests.add_metric((name, status), many)
        seconds.add_metric((name,), _cumulative(one.buckets), one.seconds)
        sizes.add_metric((name,), one.bytes)
    yield from (requests, seconds, sizes)


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    """How many requests took no longer than each bound, of which every fourth is told."""
    below = list(accumulate(buckets))
    return [*((repr(BOUNDS[place]), float(below[place])) for place in COARSE), ("+Inf", float(below[-1]))]


def _gauges(metrics: Metrics) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    yield GaugeMetricFamily("memwell_in_flight", "Requests under way.", value=metrics.requests_in_flight)
    yield GaugeMetricFamily("memwell_start_time_seconds", "When the process began.", value=metrics.started)
    yield GaugeMetricFamily(
        "memwell_unflushed", "How often figures could not be stored since they last were.", value=metrics.unflushed
    )


def _stored(stored: Stored) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    for name in _STORED:
        many: int | None = getattr(stored, name)
        if many is not None:
            yield GaugeMetricFamily(f"memwell_{name}", f"The {name} of all spaces.", value=many)
    yield GaugeMetricFamily(
        "memwell_counted_time_seconds", "When what is stored was counted.", value=stored.counted.timestamp()
    )


def _owed(queue: Queue, jobs: int) -> Metric:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    owed = GaugeMetricFamily("memwell_owed", "Work that is still to be done.", labels=("work",))
    owed.add_metric(("words",), queue.words)
    owed.add_metric(("vectors",), queue.vectors)
    owed.add_metric(("jobs",), jobs)
    return owed


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

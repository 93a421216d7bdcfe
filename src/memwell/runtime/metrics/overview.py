"""The figures of the overview page: requests of all processes over a span, and what is stored and pending now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.models.ledger import Account
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics.recorder import Metrics
from memwell.runtime.metrics.trends import (
    FIGURES,
    HOURS,
    MINUTES,
    MOST_OF_AN_HOUR,
    Distinct,
    Failed,
    Level,
    Past,
    Tally,
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

# How well recall did when it was last measured, kept in a store for its overview.


_KEY = "quality"


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


class Span(NamedTuple):
    """How far back figures go, and in which steps."""

    length_s: int
    step_s: int
    level: Level


SPANS = {
    "1h": Span(3600, 60, MINUTES),
    "24h": Span(86_400, 900, MINUTES),
    "7d": Span(7 * 86_400, 7200, HOURS),
    "30d": Span(30 * 86_400, 21_600, HOURS),
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
    """The figures of the engine's space, or with ``whole`` of the service, for who runs it.

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
    queue = metrics.stock.owed_whole(engine) if whole else metrics.stock.owed(engine)
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
        trends=_points(steps, begin, asked, whole=whole),
    )


def _steps(past: Past, asked: Span) -> dict[int, Tally]:
    """What happened in each step, by its number since 1970; steps without any row are left out."""
    steps: dict[int, Tally] = {}
    for number, row in past.slots:
        step = number * asked.level.slot_s // asked.step_s
        if step not in steps:
            steps[step] = Tally(asked.level.most)
        steps[step].add_row(row, asked.level.most)
    return steps


def _points(steps: dict[int, Tally], begin: int, asked: Span, *, whole: bool) -> list[Point]:
    points: list[Point] = []
    memories = conversations = None
    first = begin // asked.step_s
    for number in range(first, first + asked.length_s // asked.step_s):
        tally = steps.get(number) or Tally()
        memories = memories if tally.memories is None else tally.memories
        conversations = conversations if tally.conversations is None else tally.conversations
        points.append(
            Point(
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
                active=tally.spaces.count() if whole else max(tally.speakers.count(), int(tally.requests > 0)),
            )
        )
    return points


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
    metrics: Metrics, space: Space | None, past: Past, asked: Span, begin: int, now: float
) -> Sequence[Failed]:
    """The last failures of the span. They are kept with the minutes, so for two days."""
    minute = int(now // 60)
    found = past if asked.level is MINUTES else metrics.past(space, MINUTES, minute - 2 * _DAY * 60, minute)
    return [one for one in found.failures if one.time >= begin][:_MOST_FAILURES]


def _active(metrics: Metrics, space: Space | None, now: float) -> ActiveUsers:
    hour = int(now // 3600)
    slots = metrics.past(space, HOURS, hour - _WEEK + 1, hour).slots
    spaces = {length: Distinct(MOST_OF_AN_HOUR) for length in (_DAY, _WEEK)}
    speakers = {length: Distinct(MOST_OF_AN_HOUR) for length in (_DAY, _WEEK)}
    for number, row in slots:
        for length in (_DAY, _WEEK):
            if number > hour - length:
                # In the rows of a space there is no other.
                seen = row.spaces if space is None else [0][: row.requests]
                spaces[length].merge(Distinct(MOST_OF_AN_HOUR, seen))
                speakers[length].merge(Distinct(MOST_OF_AN_HOUR, row.speakers))
    return ActiveUsers(
        spaces_day=spaces[_DAY].count(),
        spaces_week=spaces[_WEEK].count(),
        speakers_day=speakers[_DAY].count(),
        speakers_week=speakers[_WEEK].count(),
    )


def _missed(metrics: Metrics, asked: Span, begin: int, now: float) -> bool:
    """Whether requests of some space or other were counted in the whole only."""
    slots = metrics.past(None, asked.level, begin // asked.level.slot_s, int(now // asked.level.slot_s)).slots
    return any(row.missed for _, row in slots)


def costs_of(ledger: KeptLedger) -> ModelCosts:
    """What models took in this month."""
    models = [_model_cost(model, account) for model, account in sorted(ledger.accounts().items())]
    spent = sum(one.cost or 0.0 for one in models)
    return ModelCosts(month=ledger.month, spent=spent, cap=ledger.spend_cap, models=models)


def _model_cost(model: str, account: Account) -> ModelCost:
    return ModelCost(
        model=model,
        calls=account.calls,
        input_tokens=account.input_tokens,
        output_tokens=account.output_tokens,
        cost=account.cost,
    )


def _failure(failed: Failed) -> FailedRequest:
    return FailedRequest(time=_moment(failed.time), operation=failed.operation, status=failed.status, code=failed.code)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

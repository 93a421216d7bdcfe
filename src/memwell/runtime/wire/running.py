"""The shapes of jobs, keys, logs, grants and metrics on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from memwell.records import Space
from memwell.runtime.grants import Grant
from memwell.runtime.jobs import Job
from memwell.runtime.wire.codec import AnswerBody, Request

Outcome = Literal["done", "refused"]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """An API key. It holds neither the secret nor its digest, so it may be shown and logged.

    ``rate`` is how many requests a minute it may make: None the default of the service, 0 any number. ``rotated`` is when
    it last got another secret. ``last_used`` is exact to a minute; ``check`` does not read it.
    """

    id: str
    name: str
    space: Space
    scopes: tuple[str, ...]
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    rotated: datetime | None = None
    last_used: datetime | None = None
    rate: int | None = None


class CreateKey(Request, frozen=True):
    """A key to make. ``space`` is the path of the space it opens; ``expires_days`` after how many days it ends."""

    name: str
    space: list[str]
    scopes: list[str]
    expires_days: float | None = None
    rate: int | None = None


class RotateKey(Request, frozen=True):
    """How long the old secret still works."""

    grace_minutes: float = 0.0


class ListKeys(Request, frozen=True):
    """Whose keys: of one space, or of all."""

    space: list[str] | None = None


class KeyList(AnswerBody, frozen=True):
    """Keys."""

    keys: list[Key]


class NewKey(AnswerBody, frozen=True):
    """A key with its token, which is shown this once."""

    key: Key
    token: str


class Me(AnswerBody, frozen=True):
    """The caller's key, and the service."""

    key: Key
    version: str
    embedder: str
    chat: str
    language: str


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the audit log. ``key`` and ``space`` are None when the key is unknown.

    ``digest`` is the SHA-256 of the other fields as JSON in UTF-8: keys sorted, no blanks, and nothing escaped that need
    not be.
    """

    number: int
    time: datetime
    key: str | None
    space: Space | None
    action: str
    targets: tuple[str, ...]
    outcome: Outcome
    detail: dict[str, str | int]
    previous: str
    digest: str


class ListLog(Request, frozen=True):
    """Which page of the log."""

    limit: int = 100
    cursor: str | None = None


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the log is whole. ``entries`` fit, up to the first that does not: its number is ``broken_at``.

    ``head`` is the digest of the last entry that fits; write it down elsewhere. Not ``ok`` without ``broken_at``: the chain
    fits, but the digest that was noted is not in it.
    """

    entries: int
    ok: bool
    broken_at: int | None
    head: str


class GrantList(AnswerBody, frozen=True):
    """Who may see this memory, and whose memories this key may see."""

    given: list[Grant]
    received: list[Grant]


class Done(AnswerBody, frozen=True):
    """Whether, or how often, something was done."""

    done: int


class JobList(AnswerBody, frozen=True):
    """Jobs, newest first."""

    jobs: list[Job]


class Export(Request, frozen=True):
    """In which form: ``jsonl`` (everything) or ``markdown`` (the memories, to be read)."""

    format: str = "jsonl"
    vectors: bool = False


class Import(Request, frozen=True):
    """What the file is, where it cannot be seen from its content; and which user's memories of mem0's."""

    name: str = ""
    format: str | None = None
    user: str | None = None


class AskFigures(Request, frozen=True):
    """Over which time: ``1h``, ``24h``, ``7d`` or ``30d``; of the whole service with ``whole``, which needs an admin."""

    span: str = "24h"
    whole: bool = False


class Health(AnswerBody, frozen=True):
    """Whether the service is up, and can do its work."""

    status: str
    version: str
    checks: dict[str, str] | None = None


# Metrics for the overview: of one space, or of the whole service


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """How long calls took, in seconds. A percentile is right to within a fifth of itself; None when there was no call."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class OperationFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the service since this process began."""

    operation: str
    requests: int
    errors: int
    """Answers of 500 and above."""
    latency: Latency


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """How reliably requests of the span were answered."""

    requests: int
    errors: int
    """Answers of 500 and above: the service's own failures."""
    refused: int
    """Answers of 400 to 499: requests that were wrong, not allowed, or too many."""
    share: float | None
    """The share of requests that did not end in an error of the service; None when there was none."""
    uptime_s: float
    """How long this process has been running."""
    in_flight: int
    """The requests under way in this process; 0 in the metrics of a space."""


class StoredCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored. None is a count that the store cannot tell without reading everything."""

    conversations: int | None = None
    messages: int | None = None
    memories: int | None = None
    """Those that were forgotten and can still be brought back included, and media, which are memories too."""
    documents: int | None = None
    chunks: int | None = None
    media: int | None = None
    counted: datetime
    """When this was counted: it takes time, and is not repeated for every request."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """The work that is still to be done in the background."""

    words: int = 0
    """Memories that cannot be found by their words yet."""
    vectors: int = 0
    """Memories and chunks that cannot be found by their meaning yet."""
    spaces: int = 0
    """How many spaces have pending work."""
    jobs: int = 0
    """Exports, imports and the like that wait or are under way."""


class FailedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the service failed to answer. It holds nothing of what was asked."""

    time: datetime
    operation: str
    status: int
    code: str


class ActiveUsers(msgspec.Struct, frozen=True, kw_only=True):
    """Active spaces and speakers. Exact up to 256; above that an estimate with a standard error of 6 %."""

    spaces_day: int = 0
    spaces_week: int = 0
    speakers_day: int = 0
    """People named as speakers; the same name in two spaces is two people."""
    speakers_week: int = 0


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The quality of recall, as last measured with ``memwell bench recall --note-in``."""

    data: str
    ndcg10: float
    recall10: float
    queries: int
    time: datetime


class ModelCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one model took in the month."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """None when its price is not known."""


class ModelCosts(msgspec.Struct, frozen=True, kw_only=True):
    """What models took in the calendar month, in UTC, of all processes together."""

    month: str
    """Such as ``2026-11``."""
    spent: float
    cap: float | None
    """What may be spent in a month; None is no cap."""
    models: list[ModelCost]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a trend, from ``time`` on. Counts are those of the step, times are seconds; None where there is none."""

    time: datetime
    requests: int = 0
    writes: int = 0
    recalls: int = 0
    errors: int = 0
    write_p50: float | None = None
    write_p95: float | None = None
    recall_p50: float | None = None
    recall_p95: float | None = None
    memories: int | None = None
    """How many there were, as last counted in the step or before; None before the first count."""
    conversations: int | None = None
    active: int = 0
    """Spaces, in figures of the whole; in those of a space its speakers, and at least 1 when it was used."""


class ServiceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The overview. Numbers of the span are those of all processes of the service."""

    now: datetime
    span: str
    """``1h``, ``24h``, ``7d`` or ``30d``."""
    since: datetime
    """When the span begins, and with it the first step of the trends."""
    step_s: int
    """How long a step of the trends is."""
    whole: bool
    """Whether these are the metrics of the whole service; otherwise of one space."""
    complete: bool
    """False when too many spaces were active at once, and requests of this one are only in the totals of the service."""
    availability: Availability
    totals: StoredCounts
    write: Latency
    recall: Latency
    queue: Queue
    errors: list[FailedRequest]
    """The last ones, newest first, at most 20."""
    active: ActiveUsers
    quality: Quality | None
    costs: ModelCosts | None
    """None where costs are not recorded, and in the metrics of a space."""
    operations: list[OperationFigures]
    """Of this process alone; empty in the figures of a space."""
    trends: list[Point]

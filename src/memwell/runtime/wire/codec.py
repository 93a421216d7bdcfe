"""JSON on the wire: how requests, answers and errors are encoded, and what the service says of itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, cast

import msgspec
import msgspec.inspect as shapes

from memwell import errors
from memwell.errors import AccessDenied, Busy, InvalidInput, MemwellError, UnreadableDocument
from memwell.records import Space, Vector
from memwell.values import TOO_DEEP

T = TypeVar("T")

MOST_SPACE_SEGMENTS = 16
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BEGINS_A_TIME = re.compile("[0-9]{4}-")
_EXAMPLE = "2026-05-01T09:30:00Z"
_NO_TIME = "Invalid RFC3339 encoded datetime"


class NotJson(InvalidInput):
    """The data is not JSON, not UTF-8, or nested too deeply."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of requests. Unknown fields are refused."""


class AnswerBody(msgspec.Struct, frozen=True, kw_only=True):
    """The base of answers. A client ignores unknown fields, so that a newer service may add some."""


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value, enc_hook=_encoded)


def decode(data: bytes, type_: type[T] | Any) -> T:
    """Decode JSON. In a request a date may stand for a time: its midnight in UTC.

    Raises ``NotJson`` when it is not JSON or too deep, and ``InvalidInput`` when it is of another shape.
    """
    try:
        return cast("T", _decoded_as(data, type_))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"the JSON is not as expected: {_in_words(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(f"this is not JSON in UTF-8: {error}") from None
    except RecursionError:
        raise NotJson(f"the JSON is {TOO_DEEP}") from None


def _decoded_as(data: bytes, type_: Any) -> Any:
    try:
        return _decoder(type_).decode(data)
    except msgspec.ValidationError as error:
        # Decode a second time only where a date may be the reason.
        if _NO_TIME not in str(error) or not times_of(type_):
            raise
        values = msgspec.json.decode(data)
        return msgspec.convert(_with_midnights(values, type_), type_, dec_hook=as_written)


def convert(values: Mapping[str, Any], type_: type[T] | Any) -> T:
    """Decode the texts of a query, with dates as in ``decode``. Raises ``InvalidInput``."""
    try:
        said = _with_midnights(dict(values), type_)
        _check_times(said, type_)
        return cast("T", msgspec.convert(said, type_, strict=False, dec_hook=as_written))
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"the query is not as expected: {_in_words(error)}") from None


def _with_midnights(values: dict[str, Any], type_: Any) -> dict[str, Any]:
    """The values of a request with dates replaced by times."""
    dates = {name for name in times_of(type_) if isinstance(said := values.get(name), str) and _DATE.fullmatch(said)}
    return {name: f"{said}T00:00:00Z" if name in dates else said for name, said in values.items()}


def _check_times(values: dict[str, Any], type_: Any) -> None:
    """Raises ``ValidationError`` for a bare number: ``2026`` would be taken for seconds since 1970."""
    for name in times_of(type_) & values.keys():
        if not isinstance(said := values[name], str) or not _BEGINS_A_TIME.match(said):
            raise msgspec.ValidationError(f"{_NO_TIME} - at `$.{name}`")


@cache
def fields_of(type_: Any, *kinds: type[shapes.Type]) -> frozenset[str]:
    """The fields of a request that are, or may be, of some kinds."""
    if not (isinstance(type_, type) and issubclass(type_, Request)):
        return frozenset()
    fields = cast("shapes.StructType", shapes.type_info(type_)).fields
    types = {one.encode_name: getattr(one.type, "types", (one.type,)) for one in fields}
    return frozenset(name for name, each in types.items() if any(isinstance(one, kinds) for one in each))


def times_of(type_: Any) -> frozenset[str]:
    """The fields of a request that are times."""
    return fields_of(type_, shapes.DateTimeType)


def _in_words(error: Exception) -> str:
    expected = f"expected a time such as {_EXAMPLE} or a date such as {_EXAMPLE[:10]}"
    return str(error).replace(_NO_TIME, expected)


def schema_of(type_: Any) -> dict[str, Any]:
    """The JSON schema of types that msgspec does not know."""
    if type_ is Space:
        return {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "maxItems": MOST_SPACE_SEGMENTS,
        }
    raise NotImplementedError(type_)


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=as_written)


def as_written(type_: Any, value: Any) -> Any:
    """The decoding hook for types that are not plain JSON data: a space is a list of its segments."""
    if type_ is Space:
        return Space(*msgspec.convert(value, list[str]))
    raise NotImplementedError(type_)


def _encoded(value: Any) -> Any:
    # Numpy arrays.
    if hasattr(value, "tolist"):
        return cast("Vector", value.tolist())
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence):
        return list(cast("Sequence[Any]", value))
    raise NotImplementedError(f"no JSON for {type(value).__name__}")


# Errors over HTTP: one table for the service, which writes problems, and the client, which reads them

MEDIA_TYPE = "application/problem+json"

_TYPES = "urn:memwell:problem:"
_SEGMENT = r"""(?:'[^'\\]*'|"[^"\\]*")"""
_SPACE = re.compile(rf"Space\(({_SEGMENT}(?:, {_SEGMENT})*)\)")
_UNSURE = re.compile(r"may (?:or may not|yet) be stored")
_CALLS = {"erase_all()": "'everything'", "undo()": "undo"}
"""Calls that messages of the library mention, and what they are in the service."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error answer (RFC 9457). ``code`` is for programs, ``detail`` for people.

    ``request`` is the request's id in the log of the service; ``retry_after`` is in seconds; ``reason`` is why a document
    could not be read.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str = ""
    request: str = ""
    retry_after: float | None = None
    reason: str = ""


class ProblemKind(msgspec.Struct, frozen=True):
    """One row of the table: a code, its status, its title, and its error class."""

    code: str
    status: int
    title: str
    error: type[MemwellError]


KINDS = (
    # For an error, the first row of its class or of its nearest parent applies.
    ProblemKind("unreadable-document", 422, "The document cannot be read", errors.UnreadableDocument),
    ProblemKind("invalid-input", 422, "A value breaks a rule", errors.InvalidInput),
    ProblemKind("not-found", 404, "There is no such thing", errors.NotFound),
    ProblemKind("not-granted", 403, "That memory is not shared with this key", errors.NotGranted),
    ProblemKind("bad-key", 401, "No valid key", errors.AccessDenied),
    ProblemKind("missing-scope", 403, "The key may not do this", errors.AccessDenied),
    ProblemKind("foreign-space", 403, "The key may not go to this space", errors.AccessDenied),
    ProblemKind("foreign-origin", 403, "The request comes from another site", errors.AccessDenied),
    ProblemKind("rate-limited", 429, "Too many requests", errors.Busy),
    ProblemKind("overloaded", 503, "Too much to do", errors.Busy),
    ProblemKind("stopping", 503, "The service is stopping", errors.Busy),
    ProblemKind("interrupted", 503, "The service ended before the work was done", errors.Busy),
    ProblemKind("loading", 503, "The models are being loaded", errors.Busy),
    ProblemKind("in-progress", 409, "The same request is still under way", errors.Busy),
    ProblemKind("conflict", 409, "Another change came first", errors.Conflict),
    ProblemKind("idempotency-mismatch", 409, "Another request had this Idempotency-Key", errors.Conflict),
    ProblemKind("answer-gone", 409, "It was done, and its answer is no longer kept", errors.Conflict),
    ProblemKind("cancelled", 409, "It was cancelled", errors.Conflict),
    ProblemKind("unsupported", 422, "This cannot be done here", errors.Unsupported),
    ProblemKind("file", 422, "The file cannot be used", errors.FileError),
    ProblemKind("read-only", 409, "The store can only be read", errors.ReadOnlyStore),
    ProblemKind("unavailable", 503, "The store cannot be reached", errors.BackendUnavailable),
    ProblemKind("store", 500, "The store failed", errors.BackendError),
    ProblemKind("model", 502, "The model failed", errors.ModelError),
    ProblemKind("missing-dependency", 501, "A package is not installed", errors.MissingDependency),
    ProblemKind("secret", 422, "The file needs another secret", errors.SecretRefused),
    ProblemKind("configuration", 500, "The service is not set up for this", errors.ConfigurationError),
    ProblemKind("internal", 500, "Something went wrong in the service", errors.MemwellError),
)

# Problems of HTTP, which have no error class
HTTP_KINDS = {
    "no-such-address": (404, "There is no such address"),
    "method": (405, "This address is not asked that way"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The request is in another form than expected"),
    "head-too-large": (431, "The address or the headers are too long"),
    "too-slow": (408, "The request did not arrive in time"),
    "malformed": (400, "The request cannot be understood"),
    "foreign-host": (421, "The service does not answer to this name"),
}

_BY_CODE = {kind.code: kind for kind in KINDS}


def kind_of(error: MemwellError) -> ProblemKind:
    """The row of the table for an error."""
    code = getattr(error, "code", None)
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code]
    for class_ in type(error).__mro__:
        for kind in KINDS:
            if kind.error is class_:
                return kind
    return _BY_CODE["internal"]


def problem_of(error: MemwellError, *, request: str = "") -> Problem:
    """The problem of an error. Details of the store and the configuration stay in the log of the service."""
    kind = kind_of(error)
    return Problem(
        type=_TYPES + kind.code,
        title=kind.title,
        status=kind.status,
        code=kind.code,
        detail=_detail(error, kind, request),
        request=request,
        retry_after=error.retry_after if isinstance(error, Busy) else (1.0 if kind.status == 503 else None),
        reason=error.reason if isinstance(error, UnreadableDocument) else "",
    )


def _detail(error: MemwellError, kind: ProblemKind, request: str) -> str:
    """The detail for the caller. It does not name the store."""
    if kind.code == "unavailable":
        stored = "; what was written may or may not be stored" if _UNSURE.search(str(error)) else ""
        return f"the store cannot be reached or stays busy{stored}; try again"
    if kind.code == "read-only":
        return "the store can only be read now: it is sealed, write-protected or a replica"
    if kind.status in (500, 501) and kind.code != "missing-dependency":
        return f"the service's log has it under {request}"
    return plainly(str(error))


def plainly(text: str) -> str:
    """A message of the library without Python notation."""
    for call, words in _CALLS.items():
        text = text.replace(call, words)
    return _SPACE.sub(lambda found: " / ".join(ast.literal_eval(f"({found[1]},)")), text)


def http_problem(code: str, detail: str = "", *, request: str = "") -> Problem:
    """A problem of HTTP itself, by its code."""
    status, title = HTTP_KINDS[code]
    return Problem(type=_TYPES + code, title=title, status=status, code=code, detail=detail, request=request)


def error_of(problem: Problem) -> MemwellError:
    """The error that a client raises for a problem."""
    kind = _BY_CODE.get(problem.code)
    message = problem.detail or problem.title
    if kind is None:
        return errors.InvalidInput(message) if problem.status < 500 else errors.BackendError(message)
    options: dict[str, Any] = {}
    if issubclass(kind.error, AccessDenied):
        options = {"code": kind.code}
    elif issubclass(kind.error, Busy):
        options = {"code": kind.code, "retry_after": problem.retry_after or 1.0}
    elif issubclass(kind.error, UnreadableDocument):
        options = {"reason": problem.reason or "broken"}
    return kind.error(message, **options)


# What the service says of itself: keys, logs, health and metrics

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
    limit: int = 100
    cursor: str | None = None


class NewKey(AnswerBody, frozen=True):
    """A key with its token, which is shown this once."""

    key: Key
    token: str


class SignIn(Request, frozen=True):
    """The code of a link that signs in once."""

    code: str


class SignedIn(AnswerBody, frozen=True):
    """The token of the key that a link stands for."""

    token: str


class Me(AnswerBody, frozen=True):
    """The caller's key, and the service."""

    key: Key
    version: str
    embedder: str
    chat: str
    language: str


class ListSpaces(Request, frozen=True):
    """Which page of the spaces."""

    limit: int = 100
    cursor: str | None = None


class SpaceCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A space, and how many memories and vectors are in it."""

    space: Space
    memories: int
    vectors: int


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


class Done(AnswerBody, frozen=True):
    """Whether, or how often, something was done."""

    done: int


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


class AnswerQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How well recalls were answered: how many, how many found nothing relevant, and the mean relevance of the best hits of
    the others; None when there was none. What a person looks at on the page is not counted.
    """

    count: int = 0
    empty: int = 0
    relevance: float | None = None


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
    """Those that were forgotten and can still be restored included, and media, which are memories too."""
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
    scrubs: int = 0
    """Erasures that may still be in the store's files. It is counted for the whole service only."""


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
    answers: int = 0
    empty: int = 0
    relevance: float | None = None
    """As in ``AnswerQuality``."""
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
    answers: AnswerQuality
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

"""One request after its address is known: decodes it, runs its handler, and encodes the answer.

A request with an ``Idempotency-Key`` has one effect however often it is sent: its answer is stored, for quick changes in
the transaction of the change. An answer with a token is not stored, and an erasure drops the stored answers; a repeated
request then gets a problem which says that it was done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import msgspec
import msgspec.inspect as shapes

from memwell.errors import AccessDenied, Busy, Conflict, InvalidInput, MemwellError
from memwell.longterm.recall import looking
from memwell.longterm.remembering import Remembered
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.wire.codec import (
    Key,
    LogEntry,
    NotJson,
    Problem,
    convert,
    decode,
    encode,
    fields_of,
    http_problem,
    problem_of,
)
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, ERASE, JSON, READ, WRITE, AuditNote, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.runtime.worker import notified_afterwards
from memwell.service.idempotency import KeptAnswer, Overtaken, fingerprint_of, kept_under
from memwell.service.keys import SPACES
from memwell.service.openapi import check_bounds
from memwell.values import shown

if TYPE_CHECKING:
    from memwell.service.parts import Service

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)
T = TypeVar("T")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is a file: its bytes, its path, or it, open for reading. ``name`` is the file name for a browser."""

    content: bytes | Path | BinaryIO
    media_type: str = "application/octet-stream"
    name: str = ""


_LEAVES_TRACES = frozenset({"context", "mcp"})
"""What reads, and stores a receipt of it."""


class Call:
    """One request with a valid key: the operation, the key, and the uploaded file.

    Where a request names a space, ``key`` is the caller's for that space, and ``caller`` is as it is stored.
    """

    __slots__ = ("_memory", "caller", "from_page", "id", "key", "path", "route", "service", "speaker", "upload")

    def __init__(
        self,
        service: Service,
        route: Operation,
        key: Key,
        path: dict[str, str],
        *,
        upload: Path | None = None,
        id: str = "",  # noqa: A002 - the usual name
        from_page: bool = False,
        caller: Key | None = None,
    ) -> None:
        self.caller = key if caller is None else caller
        self.service = service
        self.route = route
        self.key = key
        self.path = path
        self.upload = upload
        self.id = id
        self.from_page = from_page
        self.speaker: str | None = None
        """The speaker that the request names, for the count of active users."""
        self._memory: Engine | None = None

    @property
    def space(self) -> Space:
        """The space of the key, or the one below it that the request names."""
        return self.key.space

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the key."""
        return self.key.scopes

    @property
    def looks_in(self) -> bool:
        """Whether an operator looks into a space that is not the key's."""
        return self.key.space != self.caller.space and SPACES not in self.key.scopes

    @property
    def only_looks(self) -> bool:
        """Whether what it recalls is only looked at: a person uses the page, or the key may not write."""
        return self.from_page or WRITE not in self.key.scopes

    @property
    def memory(self) -> Engine:
        """The engine of the key's space."""
        if self._memory is None:
            self._memory = self.service.memory_of(self.key.space)
        return self._memory

    def memory_of(self, owner: list[str] | None) -> Engine | SharedMemory:
        """The memory of the key's space, or one shared with it. Raises ``NotGranted`` when it is not shared."""
        if owner is None or Space(*owner) == self.space:
            return self.memory
        return self.memory.shared(Space(*owner))

    def run(self, asked: Any = None, **instead: Any) -> Any:
        """What the engine's method returns for this request; ``instead`` are arguments in the place of the request's."""
        return self.route.run(self.memory_of(getattr(asked, "owner", None)), self.path, asked, **instead)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run work in a thread, when it is the turn of the key's space."""
        # The span of the request goes with it.
        return self.service.threads.submit(self.space, partial(copy_context().run, work))

    def allow(self, scope: str) -> None:
        """Raises ``AccessDenied`` when the key has not this scope, or would leave a trace in a space it looks into."""
        if self.looks_in and (
            scope not in (ANY_KEY, READ) or self.route.has_effect or self.route.name in _LEAVES_TRACES
        ):
            raise AccessDenied(
                f"the key {self.caller.name!r} only looks into spaces that are not its own", code="missing-scope"
            )
        if scope not in (ANYONE, ANY_KEY, *self.key.scopes):
            raise AccessDenied(
                f"the key {self.key.name!r} may {', '.join(self.key.scopes) or 'nothing'}, not {scope}",
                code="missing-scope",
            )

    def note_refusal(self, action: str) -> None:
        """Log in the audit log that the key lacks the scope. It writes: do not call it on the event loop."""
        self.service.log.refuse(action, code="missing-scope", key=self.key.id, space=self.space)

    def take_upload(self) -> Path:
        """The uploaded file; the caller removes it. Raises ``InvalidInput`` when there is none."""
        if self.upload is None:
            raise InvalidInput("the body is empty; send the bytes of a file")
        taken, self.upload = self.upload, None
        return taken

    def log(self, *targets: str, action: str = "", **detail: str | int) -> LogEntry:
        """Add to the audit log: ids and numbers, never a text."""
        return self.service.log.append(
            action=action or self.route.name, key=self.key.id, space=self.space, targets=targets, detail=detail
        )

    def note(self, note: AuditNote | None) -> None:
        """Add a note to the audit log, if there is one. An erasure also drops the results of jobs: an export may hold
        erased texts.
        """
        if note is None:
            return
        self.log(*note.targets, action=self.route.name, **note.detail)
        if self.route.scope == ERASE:
            self.service.jobs.drop_results(self.space)


def perform(call: Call, asked: Any = None) -> Any:
    """The handler of an operation that is only a method of the engine."""
    result = call.run(asked)
    if call.route.notes is not None:
        call.note(call.route.notes(result, asked, call.path))
    return call.route.answer(result)


HANDLERS: dict[str, Handler] = {name: perform for name, operation in OPERATIONS.items() if operation.does is not None}
"""The handler of each operation: ``handler(call)``, or ``handler(call, asked)`` where it takes a request."""


def handles(*names: str) -> Callable[[H], H]:
    """Register the handler of some operations."""
    for name in names:
        if name not in OPERATIONS:
            raise KeyError(f"there is no operation {name!r}")

    def register(handler: H) -> H:
        for name in names:
            if HANDLERS.get(name, perform) is not perform:
                raise KeyError(f"the operation {name!r} has a handler already")
            HANDLERS[name] = handler
        return handler

    return register


# Answering

_LISTS = (shapes.ListType, shapes.VarTupleType, shapes.TupleType, shapes.SetType, shapes.FrozenSetType)


class RequestData(NamedTuple):
    """The address of a request with its query, its body, and its ``Idempotency-Key``."""

    method: str
    target: str
    query: Mapping[str, list[str]]
    body: bytes = b""
    once: str | None = None


class Answered(NamedTuple):
    """An answer: its status, its body, and further headers. ``failed`` is the error for the request log."""

    status: int
    body: bytes | File
    media_type: str = JSON
    replayed: bool = False
    code: str = ""
    failed: BaseException | None = None
    headers: tuple[tuple[str, str], ...] = ()


def answer(call: Call, asked: RequestData) -> Answered:
    """Run the handler of a call. Errors become problems; nothing is raised."""
    try:
        if call.looks_in:
            said = f"{asked.method} {asked.target}\0".encode(errors="surrogateescape") + asked.body
            call.service.log.look_into(call.route.name, key=call.key.id, space=call.space, asked=said)
        once = asked.once is not None and call.route.has_effect
        return _once(call, asked) if once else _run(call, asked)
    except _Malformed as error:
        return refused(http_problem("malformed", str(error), request=call.id))
    except MemwellError as error:
        return refused(problem_of(error, request=call.id), error)
    except Exception as error:  # noqa: BLE001 - a defect must not stop the service, nor show its details
        return refused(problem_of(MemwellError(), request=call.id), error)


def refused(problem: Problem, error: BaseException | None = None) -> Answered:
    """A problem as an answer."""
    # Being busy is no failure to log.
    failed = error if problem.status >= 500 and not isinstance(error, Busy) else None
    return Answered(problem.status, encode(problem), "application/problem+json", code=problem.code, failed=failed)


def _once(call: Call, asked: RequestData) -> Answered:
    once, key, header = call.service.once, kept_under(call.caller, call.space), asked.once or ""
    said = asked.body
    if call.upload is not None:
        with call.upload.open("rb") as file:
            said = hashlib.file_digest(file, "sha256").digest()
    fingerprint = fingerprint_of(asked.method, asked.target, said)

    def run() -> Answered:
        done = _run(call, asked)
        assert isinstance(done.body, bytes)
        once.finish(key, header, fingerprint, done.status, done.body)
        return done

    if call.route.atomic:
        # Write transactions run one by one, so a second request finds the answer of the first.
        with notified_afterwards(), call.service.backend.transaction():
            kept = once.begin(key, header, fingerprint)
            return run() if kept is None else _replayed(kept)
    kept = once.begin(key, header, fingerprint)
    if kept is not None:
        return _replayed(kept)
    try:
        return run()
    except Overtaken:
        kept = once.begin(key, header, fingerprint)
        if kept is None:
            raise
        return _replayed(kept)
    except BaseException:
        once.abandon(key, header, fingerprint)
        raise


def _replayed(kept: KeptAnswer) -> Answered:
    if not kept.whole:
        raise _Gone("this was done when it was first sent; its answer was not stored, or was dropped by an erasure")
    return Answered(kept.status, kept.body, JSON, replayed=True)


class _Malformed(InvalidInput):
    """A body that is not JSON. Bad JSON in the value of a field is ``InvalidInput``."""


class _Gone(Conflict):
    code = "answer-gone"


def _run(call: Call, asked: RequestData) -> Answered:
    with looking(call.only_looks):
        given = _handled(call, asked)
    # Nothing was created when all was refused.
    status = 200 if isinstance(given, Remembered) and not given.ids else call.route.status
    return Answered(status, given if isinstance(given, File) else encode(given))


def _handled(call: Call, asked: RequestData) -> Any:
    handler = HANDLERS[call.route.name]
    if call.route.scope == ERASE:
        # Also before: if the process is killed in between, no erased text is left.
        call.service.drop_answers(call.space)
    if call.route.takes is None:
        _expect_no_query(asked)
        _expect_no_body(asked)
        given = handler(call)
    else:
        said = _said(call.route, asked)
        check_bounds(said)
        if call.route.kind == "write":
            call.speaker = getattr(said, "speaker", None)
        given = handler(call, said)
    if call.route.scope == ERASE:
        call.service.drop_answers(call.space)
    return given


def _said(route: Operation, asked: RequestData) -> Any:
    if not route.takes_query:
        _expect_no_query(asked)
        try:
            # An empty body is an empty request.
            return decode(asked.body or b"{}", route.takes)
        except NotJson as error:
            raise _Malformed(str(error)) from None
    _expect_no_body(asked)
    # These may be in a query several times.
    many = fields_of(route.takes, *_LISTS)
    values: dict[str, Any] = {}
    for name, given in asked.query.items():
        if name not in many and len(given) > 1:
            raise InvalidInput(f"{shown(name)} stands in the query {len(given)} times")
        values[name] = given if name in many else given[0]
    return convert(values, route.takes)


def _expect_no_query(asked: RequestData) -> None:
    if asked.query:
        raise InvalidInput(f"{shown(min(asked.query))} is not known here; this address takes no query")


def _expect_no_body(asked: RequestData) -> None:
    if asked.body.strip() not in (b"", b"{}", b"null"):
        raise InvalidInput("this address takes no body")

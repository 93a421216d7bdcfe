"""One request, after its address is known: who asks, its handler, and its answer.

It is answered in a thread of its own: what it says is read, its handler runs, and what came of it is written. A request
with an ``Idempotency-Key`` has one effect however often it comes: its answer is kept, for quick changes in the same
transaction as the change itself, so that no kill can come between the two. Some answers are not kept, such as one with a
token, and those that words were erased from: then it is said that it was done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import msgspec.inspect as shapes

from memwell.errors import AccessDenied, Busy, Conflict, InvalidInput, MemwellError
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.wire.codec import NotJson, Problem, convert, decode, encode, http_problem, problem_of
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, ERASE, JSON, READ, Note, Operation, place_of
from memwell.runtime.wire.running import Key, LogEntry
from memwell.runtime.wire.table import OPERATIONS
from memwell.runtime.worker import notified_afterwards
from memwell.service.fields import check_bounds
from memwell.service.idempotency import Kept, Overtaken, fingerprint_of
from memwell.values import shown

if TYPE_CHECKING:
    from memwell.service.parts import Service

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is a file: its bytes, or where they lie. ``name`` is what a browser saves it as."""

    content: bytes | Path
    media_type: str = "application/octet-stream"
    name: str = ""
    forget: bool = False
    """Whether a file is removed once it was sent."""


class Events(msgspec.Struct, frozen=True):
    """An answer that goes on: values as they come, each sent when it is there. ``None`` keeps the line open."""

    values: Iterator[Any]
    pause_s: float = 0.2


class Call:
    """One request, after its key was found good: who asks, for what, and with which file."""

    __slots__ = ("_memory", "id", "key", "path", "route", "service", "speaker", "upload")

    def __init__(
        self,
        service: Service,
        route: Operation,
        key: Key,
        path: dict[str, str],
        *,
        upload: Path | None = None,
        id: str = "",  # noqa: A002 - what everybody calls it
    ) -> None:
        self.service = service
        self.route = route
        self.key = key
        self.path = path
        self.upload = upload
        self.id = id
        self.speaker: str | None = None
        """Who is named as having said something, for the count of active users."""
        self._memory: Engine | None = None

    @property
    def space(self) -> Space:
        """The space of the key: no request can name another."""
        return self.key.space

    @property
    def scopes(self) -> tuple[str, ...]:
        """What the key may do."""
        return self.key.scopes

    @property
    def memory(self) -> Engine:
        """The memory of the key's space."""
        if self._memory is None:
            self._memory = self.service.memory_of(self.key.space)
        return self._memory

    def memory_of(self, owner: list[str] | None) -> Engine | SharedMemory:
        """The key's own memory, or that of a space that has shared it. Raises ``NotGranted`` when it has not."""
        if owner is None or Space(*owner) == self.space:
            return self.memory
        return self.memory.shared(Space(*owner))

    def run(self, asked: Any = None, **instead: Any) -> Any:
        """What the engine's method returns for this request; ``instead`` are arguments in the place of the request's."""
        return self.route.run(self.memory_of(getattr(asked, "owner", None)), self.path, asked, **instead)

    def place(self) -> int:
        """The place of a message in the address. Raises ``InvalidInput`` for anything but a number in plain digits."""
        return place_of(self.path["index"])

    def allow(self, scope: str) -> None:
        """Raises ``AccessDenied`` when the key has not this scope."""
        if scope not in (ANYONE, ANY_KEY, *self.key.scopes):
            raise AccessDenied(
                f"the key {self.key.name!r} may {', '.join(self.key.scopes) or 'nothing'}, not {scope}",
                code="missing-scope",
            )

    def note_refusal(self, action: str) -> None:
        """Let the audit log tell that the key may not do this. Not on the event loop: it writes."""
        self.service.log.refuse(action, code="missing-scope", key=self.key.id, space=self.space)

    def take_upload(self) -> Path:
        """The file that was sent, from now on the caller's to remove. Raises ``InvalidInput`` when there is none."""
        if self.upload is None:
            raise InvalidInput("the body is empty; send the bytes of a file")
        taken, self.upload = self.upload, None
        return taken

    def log(self, *targets: str, action: str = "", **detail: str | int) -> LogEntry:
        """Note in the audit log what was done: ids and numbers, never a text."""
        return self.service.log.append(
            action=action or self.route.name, key=self.key.id, space=self.space, targets=targets, detail=detail
        )

    def note(self, note: Note | None) -> None:
        """Note what was done, if anything was. When it was removed for good, the results of jobs are dropped: an export
        may hold the words of what is gone.
        """
        if note is None:
            return
        self.log(*note.targets, action=self.route.name, **note.detail)
        if self.route.scope == ERASE:
            self.service.jobs.drop_results(self.space)


def perform(call: Call, asked: Any = None) -> Any:
    """The handler of an operation that is a method of the engine, and no more."""
    result = call.run(asked)
    if call.route.notes is not None:
        call.note(call.route.notes(result, asked, call.path))
    return call.route.answer(result)


HANDLERS: dict[str, Handler] = {name: perform for name, operation in OPERATIONS.items() if operation.does is not None}
"""What answers each operation, by its name: ``handler(call)``, or ``handler(call, asked)`` where it takes something."""


def handles(*names: str) -> Callable[[H], H]:
    """Register the handler of some operations. One that is a method of the engine may have a handler around it."""
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

_BEGUN = 202
_LISTS = (shapes.ListType, shapes.VarTupleType, shapes.TupleType, shapes.SetType, shapes.FrozenSetType)


class Asked(NamedTuple):
    """What a request says: its address with the query, its body, and its ``Idempotency-Key``."""

    method: str
    target: str
    query: Mapping[str, list[str]]
    body: bytes = b""
    once: str | None = None


class Answered(NamedTuple):
    """What is answered: a status with a body, or a file or events to send. ``failed`` is for the service's own log.

    ``headers`` go with it, in addition to those of every answer.
    """

    status: int
    body: bytes | File | Events
    media_type: str = JSON
    replayed: bool = False
    code: str = ""
    failed: BaseException | None = None
    headers: tuple[tuple[str, str], ...] = ()


def answer(call: Call, asked: Asked) -> Answered:
    """Run the handler of a call. An error becomes a problem; nothing is raised."""
    try:
        once = asked.once is not None and has_effect(call.route)
        return _once(call, asked) if once else _run(call, asked)
    except _Malformed as error:
        return refused(http_problem("malformed", str(error), request=call.id))
    except MemwellError as error:
        return refused(problem_of(error, request=call.id), error)
    except Exception as error:  # noqa: BLE001 - a defect of ours must not take the service down, nor tell of itself
        return refused(problem_of(MemwellError(), request=call.id), error)


def refused(problem: Problem, error: BaseException | None = None) -> Answered:
    """A problem as an answer."""
    # To be busy for a while is no failure to look into.
    failed = error if problem.status >= 500 and not isinstance(error, Busy) else None
    return Answered(problem.status, encode(problem), "application/problem+json", code=problem.code, failed=failed)


def _once(call: Call, asked: Asked) -> Answered:
    once, key, header = call.service.once, call.key.id, asked.once or ""
    said = asked.body if call.upload is None else _digest(call.upload)
    fingerprint = fingerprint_of(asked.method, asked.target, said)

    def run() -> Answered:
        done = _run(call, asked)
        assert isinstance(done.body, bytes)
        once.finish(key, header, fingerprint, done.status, done.body)
        return done

    if call.route.atomic:
        # Changes take turns, so the second finds the answer of the first.
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


def _digest(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


def has_effect(route: Operation) -> bool:
    """Whether asking twice does something twice: it changes something, or begins a job.

    What was only read is not kept: it may be erased meanwhile. A job that has just begun tells nothing of what it reads.
    """
    changes = route.scope != READ or route.status == _BEGUN
    return route.method != "GET" and changes and route.media_type == JSON


def _replayed(kept: Kept) -> Answered:
    if not kept.whole:
        raise _Gone("this was done when it was first asked; the answer held what is not kept, or was erased since")
    return Answered(kept.status, kept.body, JSON, replayed=True)


class _Malformed(InvalidInput):
    """A body that cannot be understood at all. JSON that stands in the value of a field is another matter."""


class _Gone(Conflict):
    code = "answer-gone"


def _run(call: Call, asked: Asked) -> Answered:
    handler = HANDLERS[call.route.name]
    if call.route.scope == ERASE:
        # Also before: were the process killed in between, no words would be left of what is gone.
        _drop_kept_answers(call)
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
        _drop_kept_answers(call)
    if isinstance(given, File | Events):
        return Answered(call.route.status, given)
    return Answered(call.route.status, encode(given))


def _said(route: Operation, asked: Asked) -> Any:
    if not route.takes_query:
        _expect_no_query(asked)
        # A request that has nothing to say may say nothing.
        return _read(asked.body or b"{}", route.takes)
    _expect_no_body(asked)
    many = _many(route.takes)
    values: dict[str, Any] = {}
    for name, given in asked.query.items():
        if name not in many and len(given) > 1:
            raise InvalidInput(f"{shown(name)} stands in the query {len(given)} times")
        values[name] = given if name in many else given[0]
    return convert(values, route.takes)


def _read(body: bytes, type_: Any) -> Any:
    try:
        return decode(body, type_)
    except NotJson as error:
        raise _Malformed(str(error)) from None


def _expect_no_query(asked: Asked) -> None:
    if asked.query:
        raise InvalidInput(f"{shown(min(asked.query))} is not known here; this address takes no query")


def _expect_no_body(asked: Asked) -> None:
    if asked.body.strip() not in (b"", b"{}", b"null"):
        raise InvalidInput("this address takes no body")


@cache
def _many(type_: Any) -> frozenset[str]:
    """The fields that may stand in a query several times."""
    shape = shapes.type_info(type_)
    assert isinstance(shape, shapes.StructType)
    return frozenset(field.encode_name for field in shape.fields if _is_list(field.type))


def _is_list(shape: shapes.Type) -> bool:
    if isinstance(shape, shapes.UnionType):
        return any(_is_list(one) for one in shape.types)
    return isinstance(shape, _LISTS)


def _drop_kept_answers(call: Call) -> None:
    """What was erased must not live on in answers that are kept to be given again."""
    for key in call.service.keys.all(call.space):
        call.service.once.drop_bodies(key.id)

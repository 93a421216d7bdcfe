"""Answering one request, in a thread of its own: what it says is read, its handler runs, what came of it is written.

A request with an ``Idempotency-Key`` has one effect however often it comes: its answer is kept, for quick changes in the
same transaction as the change itself, so that no kill can come between the two. Some answers are not kept, such as one with
a token, and those that words were erased from: then it is told that it was done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec.inspect as shapes

from memwell.errors import Busy, Conflict, InvalidInput, MemwellError
from memwell.runtime.jobs import told_afterwards
from memwell.runtime.wire.codec import NotJson, convert, decode, encode
from memwell.runtime.wire.problems import Problem, http_problem, problem_of
from memwell.runtime.wire.routes import ERASE, JSON, READ, Route
from memwell.service.call import HANDLERS, Call, Events, File
from memwell.service.idempotency import Kept, Overtaken, fingerprint_of
from memwell.values import shown

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

    ``headers`` go with it, beside those that every answer has.
    """

    status: int
    body: bytes | File | Events
    media_type: str = JSON
    replayed: bool = False
    code: str = ""
    failed: BaseException | None = None
    headers: tuple[tuple[str, str], ...] = ()


def answer(call: Call, asked: Asked) -> Answered:
    """Run the handler of a call. Whatever goes wrong is told as a problem; nothing is raised."""
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
    # To be busy for a while is no failure that anybody has to look into.
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
        # Changes take turns, so whoever comes second finds the answer of the first.
        with told_afterwards(), call.service.backend.transaction():
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


def has_effect(route: Route) -> bool:
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
        if call.route.kind == "write":
            call.speaker = getattr(said, "speaker", None)
        given = handler(call, said)
    if call.route.scope == ERASE:
        _drop_kept_answers(call)
    if isinstance(given, File | Events):
        return Answered(call.route.status, given)
    return Answered(call.route.status, encode(given))


def _said(route: Route, asked: Asked) -> Any:
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


Answering = Callable[[Call, Asked], Answered]

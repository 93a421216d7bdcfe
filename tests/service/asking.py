"""Asking the handlers of a service as its application does, without one: address, scope, body, handler, answer.

with service_at() as service:
    ann = key_of(service, "acme", "ann")
    ask(service, ann, "remember", content="Ann is allergic to nuts.")
    ask(service, ann, "recall", query="what can Ann not eat?").items
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import memwell
import memwell.service.rest
from memwell.records import Space
from memwell.runtime.wire.codec import Key, Problem, decode, encode, error_of
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.table import OPERATIONS, Job
from memwell.service.call import Answered, Call, File, RequestData, answer
from memwell.service.http import Router
from memwell.service.keys import SCOPES
from memwell.service.parts import Service
from memwell.settings import load_settings
from tests.service.waiting import until

_ROUTER = Router(OPERATIONS.values())


def service_at(url: str | Path = "memory:", **options: Any) -> Service:
    """A service over a store, by default one in memory that finds by words alone and does nothing in the background."""
    engine = memwell.open(url, **{"embedder": None, "work": False, **options})
    return Service(engine, load_settings({}))


def key_of(service: Service, *space: str, scopes: Iterable[str] = SCOPES) -> Key:
    """A key of a space, which may do everything unless told otherwise."""
    key, _ = service.keys.create("a key of a test", space=Space(*space), scopes=scopes)
    return Key(**{name: getattr(key, name) for name in Key.__struct_fields__})


def ask(service: Service, key: Key, name: str, path: dict[str, str] | None = None, /, **body: Any) -> Any:
    """What a route gives back for an address and a body, by its own shape. Raises the error that a problem tells of."""
    route = OPERATIONS[name]
    answered = asked_with(service, key, route, path or {}, body)
    if isinstance(answered.body, File):
        return answered.body
    if answered.status >= 400:
        raise answered.failed or error_of(decode(answered.body, Problem))
    # 200 where nothing was created.
    assert answered.status in (200, route.status)
    return decode(answered.body, route.gives)


def asked_with(service: Service, key: Key, route: Operation, path: dict[str, str], body: dict[str, Any]) -> Answered:
    """The whole answer. Raises ``AccessDenied`` when the key lacks the scope."""
    found, named, _ = _ROUTER.find(_address(route, path).encode(), route.method)
    assert found is route
    assert named == path
    call = Call(service, route, key, named, id="a test")
    call.allow(route.scope)
    if route.takes_query:
        query = {name: _texts(value) for name, value in body.items() if value is not None}
        return answer(call, RequestData(route.method, route.path, query))
    return answer(call, RequestData(route.method, route.path, {}, encode(body) if body else b""))


def ended(service: Service, key: Key, job: Job) -> Job:
    """The job when it is over."""
    assert until(lambda: service.jobs.get(key.space, job.id).status in ("done", "failed")), "the job does not end"
    return service.jobs.get(key.space, job.id)


def _address(route: Operation, path: dict[str, str]) -> str:
    parts = [quote(path[part[1:-1]], safe="") if part.startswith("{") else part for part in route.parts]
    return "/" + "/".join(parts)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one if isinstance(one, str) else json.dumps(one) for one in values]


def send(service: Service, key: Key, called: str, body: bytes | None, folder: Path, /, **query: Any) -> Any:
    """What a route gives back for a file; None for an empty body. Raises the error that a problem tells of.

    ``folder`` is where the file lies meanwhile.
    """
    route = OPERATIONS[called]
    upload = None
    if body is not None:
        upload = folder / "upload-1"
        upload.write_bytes(body)
    call = Call(service, route, key, {}, upload=upload, id="a test")
    call.allow(route.scope)
    texts = {field: _texts(value) for field, value in query.items() if value is not None}
    answered = answer(call, RequestData(route.method, route.path, texts))
    assert isinstance(answered.body, bytes)
    if call.upload is not None:
        # The application removes what no handler took.
        call.upload.unlink()
    if answered.status >= 400:
        raise answered.failed or error_of(decode(answered.body, Problem))
    # 200 where nothing was created.
    assert answered.status in (200, route.status)
    return decode(answered.body, route.gives)

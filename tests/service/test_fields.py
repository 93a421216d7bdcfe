from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from memwell.messages import human
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.running import Key
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.fields import BOUNDS, MEANINGS, OWN_BOUNDS, OWN_MEANINGS, bounds_of, meaning_of
from memwell.service.openapi import REQUESTS
from memwell.service.parts import Service
from tests.service.rest.asking import asked_with, key_of, service_at

ASKING = [route for route in OPERATIONS.values() if route.takes is not None]
NUMBERS = [
    (route, field.encode_name)
    for route in ASKING
    for field in msgspec.structs.fields(route.takes)
    if bounds_of(route.takes.__name__, field.encode_name) != (None, None)
]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture(scope="module")
def ann(service: Service) -> Key:
    key = key_of(service, "acme", "ann")
    for thread in ("x", "y"):
        service.memory_of(key.space).thread(thread).add(human("hello"))
    return key


def test_nothing_is_told_of_what_is_not_there():
    fields = {
        f"{route.takes.__name__}.{field.encode_name}"
        for route in ASKING
        for field in msgspec.structs.fields(route.takes)
    }
    names = {field.partition(".")[2] for field in fields}
    assert set(MEANINGS) | set(BOUNDS) <= names
    assert set(OWN_MEANINGS) | set(OWN_BOUNDS) <= fields
    assert meaning_of("Recall", "colour") == ""


def asked(service: Service, key: Key, route: Operation, field: str, value: float) -> int:
    least = {"subject": "Ann", "name": "a.txt", "start": "user"}
    said: dict[str, Any] = REQUESTS.get(route.name) or {
        one.encode_name: least[one.encode_name] for one in msgspec.structs.fields(route.takes) if one.required
    }
    both = {"tokens": "rounds", "rounds": "tokens"}.get(field)
    body = {name: told for name, told in said.items() if name != both} | {field: value}
    path = {part[1:-1]: "0" if part == "{index}" else "x" for part in route.parts if part.startswith("{")}
    return asked_with(service, key, route, path, body).status


@pytest.mark.parametrize(("route", "field"), NUMBERS, ids=lambda one: one if isinstance(one, str) else one.name)
def test_the_bounds_are_those_of_the_handlers(route: Operation, field: str, service: Service, ann: Key):
    least, most = bounds_of(route.takes.__name__, field)
    assert asked(service, ann, route, field, -1 if least == 0 else 0) == 422
    # The question itself must fit into a budget.
    assert field == "budget" or asked(service, ann, route, field, least or 0) in (route.status, 404)
    if most is not None:
        assert asked(service, ann, route, field, most) in (route.status, 404)
        assert asked(service, ann, route, field, most + 1) == 422

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.running import Key
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.examples import ANSWERS, REQUESTS
from memwell.service.parts import Service
from tests.service.rest.asking import asked_with, key_of, service_at


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture(scope="module")
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


def test_every_route_with_a_body_has_an_example():
    bodies = {route.name for route in OPERATIONS.values() if route.takes is not None and not route.takes_query}
    assert set(REQUESTS) == bodies
    assert {"remember", "recall", "add_messages", "erase", "create_key", "export"} <= set(ANSWERS)


@pytest.mark.parametrize("name", REQUESTS)
def test_an_example_can_be_sent_as_it_is(name: str, service: Service, ann: Key):
    route = OPERATIONS[name]
    path = {part[1:-1]: "0" if part == "{index}" else "x" for part in route.parts if part.startswith("{")}
    answered = asked_with(service, ann, route, path, REQUESTS[name])
    # What it names need not exist, and an address on the web need not be reached from here.
    assert answered.status in (route.status, 404), answered.body


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_what_the_route_gives(name: str):
    given = ANSWERS[name]
    answer: Any = decode(msgspec.json.encode(given), OPERATIONS[name].gives)
    # All fields are shown, and none that is no more.
    assert set(given) == set(msgspec.json.decode(encode(answer)))


def test_no_example_shows_a_token():
    assert ANSWERS["create_key"]["token"].endswith("…")
    assert ANSWERS["rotate_key"]["token"].endswith("…")

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.requests import Request

from memwell.errors import AccessDenied, Busy
from memwell.records import Space
from memwell.service.doorway import Doorway
from memwell.service.http import RefusedRequest
from memwell.service.parts import Service
from memwell.settings import Settings
from tests.service.rest.asking import service_at


def asked(**headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": sent, "client": ("10.0.0.1", 5)})


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


def door(service: Service, **chosen: Any) -> Doorway:
    service.settings = replace(Settings(), **chosen)
    return Doorway(service, lambda later: later())


OURS = ["127.0.0.1", "127.0.0.1:7411", "localhost:1", "LOCALHOST", "[::1]:7411", "[::1]", "10.9.8.7:80", "memwell:7411"]
NOT_OURS = [
    "",
    "evil.example",
    "evil.example:7411",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1:1:2",
    "[evil]",
    "0x7f000001",
    "@127.0.0.1",
]


@pytest.mark.parametrize("host", OURS)
def test_numbers_and_our_own_names_are_answered(host: str, service: Service):
    assert door(service).check_host(asked(host=host)) is None


@pytest.mark.parametrize("host", NOT_OURS)
def test_other_names_are_not(host: str, service: Service):
    with pytest.raises(RefusedRequest) as refused:
        door(service).check_host(asked(host=host))
    assert refused.value.problem.status == 421


def test_names_can_be_added(service: Service):
    added = door(service, serve_hosts="Memory.Example.org, other.example")
    assert added.check_host(asked(host="memory.example.ORG:443")) is None
    assert door(service, serve_hosts="*").check_host(asked(host="any.thing")) is None
    with pytest.raises(RefusedRequest):
        added.check_host(asked(host="memory.example.org.evil.example"))


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7411", "https://127.0.0.1:7411", "https://app.example"])
def test_our_page_and_allowed_ones_may_call(origin: str, service: Service):
    allowed = door(service, serve_origins="https://app.example")
    assert allowed.check_origin(asked(host="127.0.0.1:7411", origin=origin)) is None


def test_a_good_key_is_found_and_its_use_noted(service: Service):
    key, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    for header in (f"Bearer {token}", f"bearer  {token} "):
        assert asyncio.run(door(service).key_of(asked(authorization=header))).id == key.id
    assert service.keys.get(key.id).last_used is not None


BAD: list[Callable[[str], dict[str, str]]] = [
    lambda token: {},
    lambda token: {"authorization": token},
    lambda token: {"authorization": "Bearer"},
    lambda token: {"authorization": f"Basic {token}"},
    lambda token: {"authorization": f"Bearer {token}x"},
    lambda token: {"authorization": f"Bearer {token}, Bearer {token}"},
    lambda token: {"authorization": f"Bearer {'ü' * 50}"},
    lambda token: {"cookie": f"key={token}"},
]


@pytest.mark.parametrize("headers", BAD)
def test_a_bad_key_is_refused_and_logged_without_its_secret(headers: Callable[[str], dict[str, str]], service: Service):
    _, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    with pytest.raises(AccessDenied):
        asyncio.run(door(service).key_of(asked(**headers(token))))
    entries = service.log.entries().items
    assert [(entry.action, entry.outcome) for entry in entries] == [("sign-in", "refused")]
    assert token[-64:] not in str(entries)


def test_who_guesses_on_and_on_is_sent_away_and_no_longer_logged(service: Service):
    at = door(service)
    for _ in range(20):
        with pytest.raises(AccessDenied):
            asyncio.run(at.key_of(asked(authorization="Bearer x")))
    with pytest.raises(Busy):
        asyncio.run(at.key_of(asked(authorization="Bearer x")))
    assert len(service.log.entries(limit=100).items) == 20
    _, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    assert asyncio.run(at.key_of(asked(authorization=f"Bearer {token}")))


def test_the_refusal_of_a_page_names_the_key_only_when_it_is_good(service: Service):
    key, token = service.keys.create("k", space=Space("a"), scopes=["read"])
    here = door(service)
    for header in (f"Bearer {token}", f"Bearer {token}x", ""):
        here.note_refusal(asked(authorization=header), "recall", "foreign-origin", None)
    told = [(one.action, one.key, one.space) for one in service.log.entries().items]
    assert told == [("recall", None, None), ("recall", None, None), ("recall", key.id, key.space)]

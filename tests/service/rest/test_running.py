"""The service itself over REST; and of every route with an id in its address, that it reaches nothing of another space."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import AccessDenied, BackendError, Busy, InvalidInput, MemwellError, NotFound
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.running import Key
from memwell.service.call import File
from memwell.service.parts import Service
from tests.service.rest.asking import ask, key_of, service_at

NOBODY = Key(id="", name="", space=Space("nobody"), scopes=(), created=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture
def operator(service: Service) -> Key:
    return key_of(service, "acme", "operator")


# Who asks, and figures


def test_me_tells_the_key_and_the_models(service: Service, operator: Key):
    told = ask(service, operator, "me")
    assert told.key == operator
    assert (told.version, told.embedder, told.chat, told.language) == (memwell.__version__, "", "", "en")
    with service_at(embedder=HashEmbedder(16), chat=lambda messages: "yes") as other:
        mine = ask(other, key_of(other, "ann"), "me")
        assert mine.embedder == HashEmbedder(16).name
        assert mine.chat


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d"])
def test_figures_are_of_the_space_and_of_the_whole_for_the_operator(service: Service, operator: Key, span: str):
    ann = key_of(service, "acme", "ann", scopes=["read", "write"])
    ask(service, ann, "remember", content="Ann is allergic to nuts.")
    ask(service, ann, "count")
    figures = ask(service, ann, "figures", span=span)
    assert (figures.span, figures.whole, figures.operations) == (span, False, [])
    with pytest.raises(AccessDenied, match="admin"):
        ask(service, ann, "figures", span=span, whole=True)
    assert ask(service, operator, "figures", span=span, whole=True).whole
    with pytest.raises(InvalidInput, match="span"):
        ask(service, ann, "figures", span="1y")


def test_prometheus_gets_its_text(service: Service, operator: Key):
    told = ask(service, operator, "metrics")
    assert isinstance(told, File)
    assert isinstance(told.content, bytes)
    assert told.media_type.startswith("text/plain")
    assert b"# TYPE memwell_" in told.content
    with pytest.raises(AccessDenied):
        ask(service, key_of(service, "ann", scopes=["read"]), "metrics")


# Grants


def test_grants_are_given_listed_and_ended(service: Service):
    ann, bob = key_of(service, "ann"), key_of(service, "bob")
    until = datetime.now(UTC) + timedelta(days=1)
    given = ask(service, ann, "grant", to=["bob"], write=True, until=until.isoformat())
    assert (given.owner, given.to, given.write, given.until) == (ann.space, bob.space, True, until)
    assert ask(service, ann, "grants").given == ask(service, bob, "grants").received == [given]
    assert ask(service, ann, "grants").received == ask(service, bob, "grants").given == []
    assert ask(service, ann, "revoke_grant", to=["bob"]).done == 1
    assert ask(service, ann, "revoke_grant", to=["bob"]).done == 0
    assert ask(service, bob, "grants").received == []
    entries = service.log.entries().items
    assert [(one.action, one.targets) for one in entries] == [("revoke_grant", ('["bob"]',)), ("grant", ('["bob"]',))]


# Keys


def test_a_key_is_made_shown_once_and_works(service: Service, operator: Key):
    made = ask(service, operator, "create_key", name="phone", space=["acme", "ann"], scopes=["write", "read"], rate=7)
    assert service.keys.check(made.token).id == made.key.id
    assert (made.key.space, made.key.scopes, made.key.rate) == (Space("acme", "ann"), ("read", "write"), 7)
    secret = made.token.rpartition("_")[2]
    listed = ask(service, operator, "keys").keys
    assert made.key.id in {key.id for key in listed}
    assert secret not in encode([listed, service.log.entries().items]).decode()
    assert [key.id for key in ask(service, operator, "keys", space=["acme", "ann"]).keys] == [made.key.id]
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("create_key", (made.key.id, '["acme","ann"]'))


def test_a_key_ends_after_its_days(service: Service, operator: Key):
    made = ask(service, operator, "create_key", name="x", space=["a"], scopes=["read"], expires_days=0.5)
    left = made.key.expires - datetime.now(UTC)
    assert timedelta(hours=11) < left <= timedelta(hours=12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"space": ["memwell", "service"]},
        {"space": ["memwell", "service", "keys"]},
        {"space": ["memwell", "grants"]},
        {"space": ["acme", "memwell"]},
        {"space": []},
        {"scopes": []},
        {"scopes": ["all"]},
        {"name": ""},
        {"name": "x" * 201},
        {"expires_days": 0},
        {"expires_days": -1},
        {"expires_days": 1e300},
        {"rate": -1},
        {"id": "mine"},
    ],
)
def test_a_key_that_breaks_a_rule_is_not_made(service: Service, operator: Key, wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        ask(service, operator, "create_key", **{"name": "x", "space": ["a"], "scopes": ["read"], **wrong})
    assert [key.id for key in service.keys.all()] == [operator.id]
    assert service.log.entries().items == []


def test_a_key_turns_and_ends_even_the_one_that_asks(service: Service, operator: Key):
    first = ask(service, operator, "rotate_key", {"id": operator.id})
    second = ask(service, operator, "rotate_key", {"id": operator.id}, grace_minutes=5)
    assert service.keys.check(first.token).id == service.keys.check(second.token).id == operator.id
    assert ask(service, operator, "revoke_key", {"id": operator.id}).revoked is not None
    for token in (first.token, second.token):
        with pytest.raises(AccessDenied, match="revoked"):
            service.keys.check(token)
    with pytest.raises(InvalidInput):
        ask(service, operator, "rotate_key", {"id": operator.id})
    actions = [one.action for one in service.log.entries().items]
    assert actions == ["revoke_key", "rotate_key", "rotate_key"]


@pytest.mark.parametrize("route", ["rotate_key", "revoke_key"])
@pytest.mark.parametrize("id_", ["0" * 16, "x", "mw_0123456789abcdef_" + "0" * 64])
def test_a_key_that_is_not_there_is_not_found(service: Service, operator: Key, route: str, id_: str):
    with pytest.raises(NotFound) as told:
        ask(service, operator, route, {"id": id_})
    assert "mw_" not in str(told.value)


# The log


def test_the_log_is_read_in_pages_and_verified(service: Service, operator: Key):
    for number in range(5):
        ask(service, operator, "grant", to=[f"space {number}"])
    service.log.append("refused", outcome="refused")
    first = ask(service, operator, "log", limit=4)
    rest = ask(service, operator, "log", limit=4, cursor=first.next)
    entries = [*first.items, *rest.items]
    assert [entry.number for entry in entries] == [6, 5, 4, 3, 2, 1]
    assert (entries[0].key, entries[0].space, entries[0].outcome) == (None, None, "refused")
    assert (entries[1].key, entries[1].space) == (operator.id, operator.space)
    assert all(one.previous == other.digest for one, other in pairwise(entries))
    verified = ask(service, operator, "verify_log")
    assert (verified.entries, verified.ok, verified.broken_at, verified.head) == (6, True, None, entries[0].digest)
    for bad in ({"limit": 0}, {"limit": 1001}, {"cursor": "x"}):
        with pytest.raises(InvalidInput):
            ask(service, operator, "log", **bad)


# Health


def test_health_is_told_to_anybody(service: Service):
    assert ask(service, NOBODY, "live").status == "ok"
    ready = ask(service, NOBODY, "ready")
    assert (ready.status, ready.version, ready.checks) == ("ok", memwell.__version__, {"store": "ok", "models": "none"})


def test_a_service_that_stops_is_alive_but_not_ready(service: Service):
    service.stopping = True
    assert ask(service, NOBODY, "live").status == "ok"
    with pytest.raises(Busy) as told:
        ask(service, NOBODY, "ready")
    assert told.value.code == "stopping"


def test_a_service_whose_store_is_gone_is_not_ready(tmp_path: Path):
    with service_at(tmp_path / "app.db") as service:
        service.backend.close()
        with pytest.raises((BackendError, MemwellError)):
            ask(service, NOBODY, "ready")

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.errors import AccessDenied, InvalidInput, NotGranted
from memwell.records import Space
from memwell.runtime.wire.operations import ANY_KEY, ANYONE
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.call import HANDLERS, Call, handles
from memwell.service.parts import Service
from tests.service.rest.asking import key_of, service_at


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


def test_a_call_reaches_the_space_of_its_key_alone(service: Service):
    call = Call(service, OPERATIONS["me"], key_of(service, "acme", "ann"), {})
    assert call.space == call.memory.space == Space("acme", "ann")
    assert call.memory is call.memory
    assert call.memory_of(None) is call.memory
    assert call.memory_of(["acme", "ann"]) is call.memory
    with pytest.raises(NotGranted):
        call.memory_of(["acme", "ben"])
    with pytest.raises(InvalidInput):
        call.memory_of([])


def test_a_call_reaches_what_was_shared_with_it(service: Service):
    ann, ben = (Call(service, OPERATIONS["me"], key_of(service, "acme", name), {}) for name in ("ann", "ben"))
    ann.memory.remember("Ann went to Lisbon.")
    ann.memory.grant(ben.space)
    assert ben.memory_of(["acme", "ann"]).count() == 1


def test_scopes_do_not_include_one_another(service: Service):
    call = Call(service, OPERATIONS["me"], key_of(service, "a", scopes=["admin", "read"]), {})
    for scope in ("admin", "read", ANY_KEY, ANYONE):
        assert call.allow(scope) is None
    for scope in ("write", "erase"):
        with pytest.raises(AccessDenied, match=scope) as refused:
            call.allow(scope)
        assert refused.value.code == "missing-scope"
    assert call.scopes == ("read", "admin")


def test_a_file_is_taken_once(service: Service, tmp_path: Path):
    call = Call(service, OPERATIONS["import"], key_of(service, "a"), {}, upload=tmp_path / "file")
    assert call.take_upload() == tmp_path / "file"
    with pytest.raises(InvalidInput, match="empty"):
        call.take_upload()


def test_what_is_logged_names_the_key_and_the_space(service: Service):
    call = Call(service, OPERATIONS["erase"], key_of(service, "acme", "ann"), {})
    entry = call.log("m1", "m2", memories=2)
    assert (entry.action, entry.key, entry.space) == ("erase", call.key.id, call.space)
    assert (entry.targets, entry.detail) == (("m1", "m2"), {"memories": 2})
    assert call.log(action="forget").action == "forget"


def test_a_route_has_one_handler():
    with pytest.raises(KeyError, match="no operation"):
        handles("fly")
    with pytest.raises(KeyError, match="already"):
        handles("me")(lambda call: None)
    assert "fly" not in HANDLERS

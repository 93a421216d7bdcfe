"""One request: whose it is, what it may do, what it says, and that it has one effect."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

from memwell.errors import AccessDenied, BackendError, Busy
from memwell.longterm.recall import looking
from memwell.runtime.wire.codec import Key, Problem, decode, problem_of
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.call import HANDLERS, Answered, Call, RequestData, answer, handles, refused
from memwell.service.parts import Service
from tests.service.asking import key_of
from tests.service.waiting import PATIENCE_S

# Whose it is


def test_scopes_do_not_include_one_another(service: Service):
    call = Call(service, OPERATIONS["me"], key_of(service, "a", scopes=["admin", "read"]), {})
    for scope in ("admin", "read", ANY_KEY, ANYONE):
        assert call.allow(scope) is None
    for scope in ("write", "erase"):
        with pytest.raises(AccessDenied, match=scope) as refused:
            call.allow(scope)
        assert refused.value.code == "missing-scope"
    assert call.scopes == ("read", "admin")


def test_a_route_has_one_handler():
    with pytest.raises(KeyError, match="no operation"):
        handles("fly")
    with pytest.raises(KeyError, match="already"):
        handles("me")(lambda call: None)
    assert "fly" not in HANDLERS


# How it is answered


def told(service: Service, key: Key, route: Operation | str, asked: RequestData, **path: str) -> Answered:
    return answer(Call(service, OPERATIONS[route] if isinstance(route, str) else route, key, path, id="r1"), asked)


def code(answered: Answered) -> str:
    assert isinstance(answered.body, bytes)
    return decode(answered.body, Problem).code


@pytest.mark.parametrize(
    ("route", "asked"),
    [
        ("forget_one", RequestData("POST", "/", {}, b'{"ids":[]}')),
        ("undo", RequestData("POST", "/", {}, b"[1]")),
        ("undo", RequestData("POST", "/", {"a": ["1"]})),
        ("remember", RequestData("POST", "/", {"a": ["1"]}, b'{"content":"a"}')),
        ("remember", RequestData("POST", "/", {}, b"")),
        ("add_medium", RequestData("POST", "/", {"kind": ["image"]}, b"{}x")),
    ],
)
def test_what_is_not_asked_for_is_refused(route: str, asked: RequestData, service: Service, ann: Key):
    refused = told(service, ann, route, asked, id="x")
    assert (refused.status, code(refused)) == (422, "invalid-input")


@pytest.mark.parametrize("body", [b"", b" ", b"{}", b"null"])
def test_nothing_may_be_said_in_several_ways(body: bytes, service: Service, ann: Key):
    assert told(service, ann, "remember_thread", RequestData("POST", "/", {}, body), thread="t").status in (200, 404)


def remember(text: str, once: str | None = "k1") -> RequestData:
    return RequestData("POST", "/v1/memories", {}, f'{{"content":"{text}"}}'.encode(), once)


@pytest.mark.parametrize("atomic", [True, False])
def test_what_failed_is_done_when_asked_again(
    atomic: bool, service: Service, ann: Key, monkeypatch: pytest.MonkeyPatch
):
    route, real = replace(OPERATIONS["remember"], atomic=atomic), HANDLERS["remember"]

    def failing(call: Call, asked: Any) -> Any:
        real(call, asked)
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setitem(HANDLERS, "remember", failing)
        assert told(service, ann, route, remember("tea")).status == 500
    # In one transaction with its receipt nothing is left of it; otherwise what was done stays done.
    assert service.memory_of(ann.space).count() == (0 if atomic else 1)
    assert told(service, ann, route, remember("tea")).status == 201


@pytest.mark.parametrize("atomic", [True, False])
def test_of_those_who_race_one_does_it(atomic: bool, service: Service, ann: Key):
    route = replace(OPERATIONS["remember"], atomic=atomic)
    start, answers = threading.Barrier(6), list[Answered]()

    def race() -> None:
        start.wait(PATIENCE_S)
        answers.append(told(service, ann, route, remember("tea")))

    threads = [threading.Thread(target=race) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert {one.status for one in answers} <= {201, 409}
    assert sum(one.status == 201 and not one.replayed for one in answers) == 1
    assert service.memory_of(ann.space).count() == 1


def test_to_be_busy_is_told_and_not_logged_as_a_failure():
    for error, failed in ((Busy("come back later"), False), (BackendError("the disk is gone"), True)):
        told = refused(problem_of(error, request="r"), error)
        assert (told.status >= 500, told.failed is error) == (True, failed)


@pytest.mark.parametrize(
    ("scopes", "from_page", "counts"),
    [(("read", "write"), False, True), (("read", "write"), True, False), (("read",), False, False)],
)
def test_only_a_recall_by_a_program_that_may_write_counts_as_use(
    scopes: tuple[str, ...], from_page: bool, counts: bool, service: Service
):
    key = key_of(service, "acme", "ann", scopes=scopes)
    memory = service.memory_of(key.space)
    memory.remember("Ann is allergic to nuts.", id="nuts")
    asked = RequestData("POST", "/v1/recall", {}, b'{"query": "nuts"}')
    for name in ("recall", "context"):
        call = Call(service, OPERATIONS[name], key, {}, from_page=from_page)
        assert answer(call, asked).status == 200
    with looking():
        [hit] = memory.recall("nuts")
    assert (hit.accessed is not None) is counts

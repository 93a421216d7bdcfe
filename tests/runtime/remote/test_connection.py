"""The connection to a service: what is sent, what is sent again, and that the key is not shown."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import (
    AccessDenied,
    BackendError,
    BackendUnavailable,
    Busy,
    ConfigurationError,
    InvalidInput,
    MemwellError,
    MissingDependency,
)
from memwell.runtime.remote import RemoteMemory
from memwell.runtime.remote.connection import Connection, check_address, finished, target_of
from memwell.runtime.wire.codec import MEDIA_TYPE
from memwell.runtime.wire.table import OPERATIONS, Job
from memwell.service.http import Router
from tests.runtime.remote.serving import QUICK, Line, Served, line_to, listening_to, serving

SECRET = "mw_0123456789abcdef_" + "5ec2e7" * 10 + "dead"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def answering(status: int, body: bytes, **headers: str) -> Callable[..., Any]:
    """An application that always answers the same."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": body})

    return app


def first(times: int, other: Callable[..., Any]) -> Callable[[Any], Any]:
    """What is asked of a memory is first answered so often by another application, which says it has too much to do."""
    left = [times]

    def around(app: Any) -> Any:
        async def asked(scope: dict[str, Any], receive: Any, send: Any) -> None:
            turned_away = scope["type"] == "http" and scope["path"] == "/v1/memories" and left[0] > 0
            left[0] -= turned_away
            await (other if turned_away else app)(scope, receive, send)

        return asked

    return around


def cut_answers(line: Line, times: int) -> None:
    """Cut the line so often when an answer comes: what was asked has been done by then."""
    line.cut = lambda piece: False if line.cuts < times else None


# Tried again


@pytest.mark.parametrize("times", [1, 3])
def test_a_write_whose_answer_was_lost_has_one_effect(served: Served, times: int):
    waits: list[float] = []
    with line_to(served.address) as line, served.patient(waits, line.address, f"lost {times}") as m:
        cut_answers(line, times)
        done = m.remember("Ann is allergic to nuts.")
        assert line.cuts == times == len(waits)
        assert [one.id for one in m.memories()] == done.ids
        thread = m.thread("trip")
        cut_answers(line, 2 * times)
        said = thread.add_human("Where to?")
        assert list(thread) == [said]
        assert (said.index, line.cuts) == (0, 2 * times)


def test_an_answer_that_is_lost_too_often_is_an_error_that_names_the_address(served: Served):
    waits: list[float] = []
    with line_to(served.address) as line, served.patient(waits, line.address) as m:
        cut_answers(line, 99)
        with pytest.raises(BackendUnavailable, match=line.address) as raised:
            m.count()
        assert len(waits) == QUICK.retries
    # An error of the line holds no request, which has the key.
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)


@pytest.mark.parametrize(("status", "code"), [(503, "overloaded"), (503, "stopping"), (429, "rate-limited")])
def test_who_is_told_to_come_later_waits_as_long_as_asked(status: int, code: str):
    body = f'{{"type":"urn:x","title":"Later","status":{status},"code":"{code}","detail":"not now"}}'.encode()
    busy = answering(status, body, content_type=MEDIA_TYPE, retry_after="2")
    waits: list[float] = []
    with serving(around=first(2, busy)) as one, one.patient(waits) as m:
        m.remember("Ann is allergic to nuts.")
        assert len(waits) == 2
        assert all(2 <= wait < 2.1 for wait in waits)
        assert m.count() == 1


def test_who_would_wait_too_long_is_told_so():
    body = b'{"type":"urn:x","title":"Later","status":503,"code":"overloaded","detail":"not now","retry_after":900}'
    waits: list[float] = []
    with serving(around=first(9, answering(503, body, content_type=MEDIA_TYPE))) as one, one.patient(waits) as m:
        with pytest.raises(Busy, match="not now") as raised:
            m.remember("Ann is allergic to nuts.")
        assert (raised.value.retry_after, raised.value.code, waits) == (900, "overloaded", [])


def test_what_is_wrong_is_not_tried_again(served: Served):
    waits: list[float] = []
    with served.patient(waits) as m, pytest.raises(InvalidInput):
        m.remember("x", trust="nobody knows")
    assert waits == []


# What went wrong


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    waits: list[float] = []
    with (
        Connection(address, key=SECRET, patience=QUICK, pause=waits.append) as line,
        pytest.raises(BackendUnavailable, match=f"no service can be reached at {address}"),
    ):
        line.call("me")
    assert len(waits) == QUICK.retries


@pytest.mark.parametrize(
    "app",
    [
        answering(200, b"<html>Welcome", content_type="text/html"),
        answering(200, b'{"hello": "world"}', content_type="application/json"),
        answering(404, b"no such page", content_type="text/plain"),
        answering(422, b'{"detail": "other"}', content_type="application/json"),
        answering(422, b'["no problem"]', content_type=MEDIA_TYPE),
        answering(302, b"", location="https://elsewhere.example/login"),
        answering(500, b""),
    ],
)
def test_another_service_is_told_from_ours(app: Any):
    with listening_to(app) as address, pytest.raises(BackendError, match="is no memwell service") as raised:
        RemoteMemory.connect(address, key=SECRET, patience=QUICK)
    assert address in str(raised.value)
    assert SECRET not in str(raised.value)


def test_an_address_with_a_path_is_told_what_is_expected(served: Served):
    address = served.address + "/foo"
    with pytest.raises(ConfigurationError) as refused:
        RemoteMemory.connect(address, key=served.token("path"))
    assert f"nothing of a memwell service is at {address}" in str(refused.value)
    assert "http://127.0.0.1:7411" in str(refused.value)


def test_a_wrong_key_is_refused_and_never_shown(served: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AccessDenied) as raised:
        RemoteMemory.connect(served.address, key=SECRET, patience=QUICK)
    line = Connection(served.address, key=SECRET)
    shown = "".join((str(raised.value), repr(raised.value), repr(line), str(vars(raised.value)), caplog.text))
    assert raised.value.code == "bad-key"
    assert "5ec2e7" not in shown
    chain = [raised.value.__cause__, raised.value.__context__]
    assert chain == [None, None]


def test_a_key_that_may_only_write_writes(served: Served):
    with served.memory("letterbox", ["write"]) as m:
        done = m.remember("Ann is allergic to nuts.")
        with pytest.raises(AccessDenied):
            m.count()
    with served.memory("letterbox") as owner:
        assert [one.id for one in owner.memories()] == done.ids


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependency, match=r"memwell\[server\]"):
        Connection("http://127.0.0.1:7411", key=SECRET)


def test_what_cannot_be_json_is_refused_here(served: Served):
    with served.memory("json") as m:
        for odd in ("a\ud800b", "a\0b"):
            with pytest.raises(InvalidInput):
                m.remember(odd)
            with pytest.raises(InvalidInput):
                m.get(odd)
            with pytest.raises(InvalidInput):
                m.facts.about(odd)
        with pytest.raises(InvalidInput):
            m.remember("x", metadata={"a": float("nan")})
        with pytest.raises(InvalidInput):
            m.remember("x", ttl=float("inf"))
        with pytest.raises(InvalidInput):
            m.remember("x", speaker=object())  # pyright: ignore[reportArgumentType]
        assert m.count() == 0


# Its life


def test_after_the_end_nothing_is_asked(served: Served):
    with served.memory() as m:
        assert m.count() == 0
    with pytest.raises(BackendError, match="was closed"):
        m.count()
    m.close()


def test_many_threads_use_one_line(served: Served):
    with served.memory("crowd") as m, ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: m.remember(f"Fact number {number} of many.").id, range(64)))
        assert sorted(one.id for one in m.memories()) == sorted(made)


def test_a_fork_has_a_line_of_its_own(served: Served, monkeypatch: pytest.MonkeyPatch):
    with served.memory("fork") as m:
        before = dict(m._connection._clients)
        with monkeypatch.context() as patched:
            # A real fork of a process with threads is what Python itself warns of.
            patched.setattr(os, "getpid", lambda: -1)
            assert m.count() == 0
            after = m._connection._clients
            assert set(after) - set(before) == {-1}
            after.pop(-1).close()


def test_a_line_in_clear_text_is_warned_of_unless_it_stays_on_this_machine(caplog: pytest.LogCaptureFixture):
    for address in ("http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://memory.example"):
        Connection(address, key=SECRET).close()
    assert caplog.text == ""
    Connection("http://memory.example:7411", key=SECRET).close()
    assert "not encrypted" in caplog.text
    assert SECRET not in caplog.text


def test_proxies_of_the_environment_are_not_asked_for_this_machine(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with served.memory("proxied") as m:
        assert m.count() == 0


def test_a_key_is_needed():
    for odd in ("", None, "mw_a\n", "mw_ä", 7):
        with pytest.raises(ConfigurationError):
            Connection("http://127.0.0.1:7411", key=odd)  # pyright: ignore[reportArgumentType]


# Addresses


MEDIA = OPERATIONS["media"].takes


@pytest.mark.parametrize(
    "odd", ["", "memory.db", "ftp://a", "http://", "http://[", "http://a:99999", "http://a b", 7, None]
)
def test_what_is_no_address(odd: object):
    with pytest.raises(ConfigurationError, match="named by its address"):
        check_address(odd)


@pytest.mark.parametrize(
    "odd", ["http://mw_secret@a", "http://u:mw_secret@a", "http://a/?key=mw_secret", "http://a#mw_secret"]
)
def test_a_key_in_an_address_is_refused_and_not_shown(odd: str):
    with pytest.raises(ConfigurationError, match="key=") as raised:
        check_address(odd)
    assert "mw_secret" not in str(raised.value)


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20))
def test_any_id_comes_through(id_: str):
    target = target_of(OPERATIONS["undo"], {"id": id_}, None)
    route, path, _ = Router(OPERATIONS.values()).find(target.encode(), "POST")
    assert route is OPERATIONS["undo"]
    assert path == {"id": id_}
    assert not {".", ".."} & set(urlsplit(target).path.split("/"))


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.lists(st.text(st.characters(codec="utf-8")), max_size=3))
def test_any_query_comes_through(session: str, kinds: list[str]):
    target = target_of(OPERATIONS["media"], {}, MEDIA(session=session, kinds=kinds or None, limit=3))
    told = parse_qs(urlsplit(target).query, keep_blank_values=True)
    assert told == {"session": [session], "limit": ["3"], **({"kinds": kinds} if kinds else {})}
    assert unquote(urlsplit(target).path) == "/v1/media"


def test_more_than_an_address_holds_is_refused():
    assert target_of(OPERATIONS["media"], {}, MEDIA(session="x" * 50_000))
    for session in ("x" * 60_001, "中" * 7_000):
        with pytest.raises(InvalidInput, match="60,000"):
            target_of(OPERATIONS["media"], {}, MEDIA(session=session))


# Jobs


T0 = datetime(2026, 3, 1, tzinfo=UTC)


def ended(**fields: Any) -> Job:
    return Job(id="j", action="flush", created=T0, updated=T0, **{"status": "done", **fields})


def test_progress_is_told_when_it_changes():
    states = [ended(status="running", done=done, of=3) for done in (1, 1, 2)] + [ended(done=3, of=3)]

    class Line:
        """A line on which a job goes its way."""

        def call(self, name: str, **path: str) -> Job:
            return states.pop(0)

        def pause(self, seconds: float) -> None: ...

    told: list[tuple[int, int | None]] = []
    finished(Line(), ended(status="waiting"), lambda *at: told.append(at))  # pyright: ignore[reportArgumentType]
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_failure_without_a_reason_is_one_all_the_same():
    with pytest.raises(MemwellError, match="flush"):
        finished(None, ended(status="failed", problem={"odd": 1}))  # pyright: ignore[reportArgumentType]

"""Whether the store answers is told soon, also while it does not; and where it is, is told to nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendUnavailable
from memwell.service import readiness as readiness_module
from memwell.service.readiness import Readiness
from memwell.storage.memory import MemoryBackend
from tests.engines.postgres import schema_of, server
from tests.engines.proxy import Proxy
from tests.engines.redis import wait_until
from tests.service.serving import running
from tests.service.waiting import PATIENCE_S


class _Slow(MemoryBackend):
    """A store that answers when it is let, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.answering = threading.Event()
        self.asked = 0
        self.fails = False
        plain = self.kv.get

        def get(*asked: Any, **more: Any) -> Any:
            self.asked += 1
            assert self.answering.wait(PATIENCE_S)
            if self.fails:
                raise BackendUnavailable("db.example is away")
            return plain(*asked, **more)

        self.kv.get = get


@pytest.fixture
def slow() -> Iterator[_Slow]:
    backend = _Slow()
    yield backend
    backend.answering.set()


def test_a_store_that_says_nothing_is_away_until_it_answers(slow: _Slow, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readiness_module, "_WITHIN_S", 0.1)
    readiness = Readiness(slow)
    with ThreadPoolExecutor(6) as many:
        for asked in [many.submit(readiness.check) for _ in range(6)]:
            with pytest.raises(BackendUnavailable, match="not answered"):
                asked.result(PATIENCE_S)
    assert slow.asked == 1
    monkeypatch.setattr(readiness_module, "_WITHIN_S", PATIENCE_S)
    slow.answering.set()
    wait_until(lambda: _ready(readiness), "it stays away")
    readiness.check()
    readiness.close()


def test_a_failure_counts_for_a_moment_and_then_the_store_is_asked_again(slow: _Slow, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readiness_module, "_KNOWN_S", PATIENCE_S)
    readiness = Readiness(slow)
    slow.answering.set()
    slow.fails = True
    for _ in range(20):
        with pytest.raises(BackendUnavailable, match=r"db\.example is away"):
            readiness.check()
    assert slow.asked == 1
    monkeypatch.setattr(readiness_module, "_KNOWN_S", 0.01)
    slow.fails = False
    wait_until(lambda: _ready(readiness), "it stays away")
    readiness.close()


def _ready(readiness: Readiness) -> bool:
    try:
        readiness.check()
    except BackendUnavailable:
        return False
    return True


@pytest.mark.parametrize("how", ["hold", "refuse"])
def test_while_the_store_is_away_that_is_told_soon_and_not_where_it_is(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(readiness_module, "_WITHIN_S", 0.2)
    monkeypatch.setattr(readiness_module, "_KNOWN_S", 0.2)
    with Proxy(server().port) as proxy:
        url = server().url(port=proxy.port, schema=schema_of(tmp_path), durable="yes")
        # Whoever waited for a connection would not be answered within the test's patience.
        patience = {"connect_timeout_s": 2 * PATIENCE_S, "statement_timeout_s": 2 * PATIENCE_S}
        with running(url, serve_threads=2, **patience) as run:
            token = run.token()
            assert run.ask("GET", "/v1/me", token=token).status == 200
            getattr(proxy, how)()
            proxy.cut()
            with ThreadPoolExecutor(2) as others:
                # They hold all the threads that there are for requests.
                waiting = [others.submit(run.ask, "GET", "/v1/memories", token=token) for _ in range(2)]
                for _ in range(2):
                    told = run.ask("GET", "/health/ready", token=None)
                    assert (told.status, told.code) == (503, "unavailable")
                    assert int(told.headers["retry-after"]) >= 1
                    assert str(proxy.port) not in told.body.decode()
                    assert "127.0.0.1" not in told.body.decode()
                assert run.ask("GET", "/health/live", token=None).status == 200
                proxy.resume()
                proxy.refuse(False)
                for one in waiting:
                    one.exception(PATIENCE_S)
            wait_until(lambda: run.ask("GET", "/health/ready", token=None).status == 200, "it stays away")


def test_no_answer_names_the_place_of_a_store_that_is_away(tmp_path: Path):
    with Proxy(server().port) as proxy:
        url = server().url(port=proxy.port, schema=schema_of(tmp_path), durable="yes")
        with running(url, connect_timeout_s=0.5) as run:
            token = run.token()
            run.ask("GET", "/v1/me", token=token)
            proxy.refuse()
            proxy.cut()
            for path in ("/v1/memories", "/v1/threads", "/v1/me"):
                told = run.ask("GET", path, token=token)
                if told.status != 200:
                    assert (told.status, told.code) == (503, "unavailable")
                    assert "127.0.0.1" not in told.body.decode()
                    assert "try again" in told.json["detail"]
            proxy.refuse(False)

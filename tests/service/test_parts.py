"""Whether the store answers is told soon, also while it does not; and where it is, is told to nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendError, BackendUnavailable, ModelError
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.service import parts
from memwell.service import parts as readiness_module
from memwell.service.parts import Readiness, Service
from memwell.storage.memory import MemoryBackend
from tests.engines.postgres import schema_of, server
from tests.engines.proxy import Proxy
from tests.engines.redis import wait_until
from tests.service.asking import service_at
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


def test_a_memory_is_held_for_each_space_and_old_ones_are_let_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "_HELD", 2)
    with service_at() as service:
        first = service.memory_of(Space("a"))
        assert service.memory_of(Space("a")) is first
        for name in ("b", "c"):
            service.memory_of(Space(name))
        assert service.memory_of(Space("a")).space == Space("a")
        assert len(vars(service)["_engines"]) == 2


def test_models_are_loading_until_they_are_there_and_do_not_stop_it_when_they_cannot_be(
    monkeypatch: pytest.MonkeyPatch,
):
    def broken(texts: object) -> None:
        raise ModelError("no weights")

    with service_at(embedder=HashEmbedder()) as service:
        assert service.models == "loading"
        service.warm()
        assert service.models == "ok"
        monkeypatch.setattr(service.engine.embedder, "embed", broken)
        service.warm()
        assert service.models == "failed"


def test_the_end_writes_down_what_was_gathered(tmp_path: Path):
    said: list[str] = []
    service: Service = service_at(tmp_path / "s.db")
    key, _ = service.keys.create("k", space=Space("a"), scopes=["read"])
    service.keys.note_use(key)
    service.at_end(lambda: said.append(service.keys.get(key.id).name))
    service.close()
    service.close()
    assert said == ["k"]
    assert service.stopping
    with service_at(tmp_path / "s.db") as again:
        assert again.keys.get(key.id).last_used is not None


def test_work_that_cannot_be_stopped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "_ALL_S", 0.2)
    monkeypatch.setattr(parts, "_LEAST_S", 0.1)
    let_go = threading.Event()
    service = service_at()
    close = service.engine.close

    def closing() -> None:
        assert let_go.wait(PATIENCE_S)
        close()

    monkeypatch.setattr(service.engine, "close", closing)
    service.close()
    assert service.lingering
    let_go.set()
    quick = service_at()
    quick.close()
    assert not quick.lingering


def test_what_goes_wrong_at_the_end_is_raised(monkeypatch: pytest.MonkeyPatch):
    service = service_at()
    close = service.engine.close

    def closing() -> None:
        close()
        raise BackendError("the disk is full")

    monkeypatch.setattr(service.engine, "close", closing)
    with pytest.raises(BackendError, match="disk is full"):
        service.close()


def test_a_job_that_works_on_is_told_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "_LAST_JOBS_S", 0.05)
    begun, let_go = threading.Event(), threading.Event()
    service = service_at()

    def work(report: object) -> None:
        begun.set()
        assert let_go.wait(PATIENCE_S)

    service.jobs.start(Space("a"), "hold", work)
    assert begun.wait(PATIENCE_S)
    service.close()
    assert service.lingering
    let_go.set()

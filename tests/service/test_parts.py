from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memwell.errors import BackendError, ModelError
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.service import parts
from memwell.service.parts import Service
from tests.service.rest.asking import service_at
from tests.service.waiting import PATIENCE_S


def test_a_memory_is_held_for_each_space_and_old_ones_are_let_go(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "_HELD", 2)
    with service_at() as service:
        first = service.memory_of(Space("a"))
        assert service.memory_of(Space("a")) is first
        for name in ("b", "c"):
            service.memory_of(Space(name))
        assert service.memory_of(Space("a")).space == Space("a")
        assert len(vars(service)["_engines"]) == 2


def test_models_are_loading_until_they_are_there():
    with service_at(embedder=HashEmbedder()) as service:
        assert service.models == "loading"
        service.warm()
        assert service.models == "ok"


def test_without_models_nobody_waits_for_them():
    with service_at() as service:
        assert service.models == "none"
        service.warm()
        assert service.models == "none"


def test_models_that_cannot_be_loaded_do_not_stop_it(monkeypatch: pytest.MonkeyPatch):
    def broken(texts: object) -> None:
        raise ModelError("no weights")

    with service_at(embedder=HashEmbedder()) as service:
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


def test_what_is_done_every_few_seconds_is_done_with_the_rest():
    done: list[int] = []
    with service_at() as service:
        service.at_tick(lambda: done.append(1))
        service.tick()
        assert done == [1]

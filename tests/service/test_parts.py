from __future__ import annotations

from pathlib import Path

import pytest

from memwell.errors import ModelError
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.service import parts
from memwell.service.parts import Service
from tests.service.rest.asking import service_at


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

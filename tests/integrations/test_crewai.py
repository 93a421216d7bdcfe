"""CrewAI's storage over memwell: every condition beside a plain list of records, and under CrewAI's own ``Memory``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
pytest.importorskip("crewai", reason="crewai is not installed: make test installs it apart")
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from memwell.errors import InvalidInput
from memwell.integrations.crewai import MemwellStorage, local_embedder
from memwell.storage import open_backend
from memwell.storage.registry import close_shared
from tests.engines.postgres import store_url

BEGAN = datetime(2026, 5, 1, 9)  # noqa: DTZ001 - CrewAI's times have no zone


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemwellStorage]:
    yield MemwellStorage(store_url(tmp_path / "store") if request.param == "postgres" else str(tmp_path / "app.db"))
    close_shared()


def record(number: int, **fields: Any) -> MemoryRecord:
    vector = [1.0, number / 10, 0.0]
    when = BEGAN + timedelta(days=number)
    return MemoryRecord(id=f"{number}", content=f"text {number}", embedding=vector, created_at=when, **fields)


def is_in(one: MemoryRecord, scope: str | None) -> bool:
    wanted = [part for part in (scope or "").split("/") if part]
    return [part for part in one.scope.split("/") if part][: len(wanted)] == wanted


SCOPES = st.sampled_from([None, "/", "/a", "/a/", "a/b", "/ab", "/a/b/c", "/%", "/_"])
SOME = st.lists(st.sampled_from(["x", "y", "%"]), max_size=2, unique=True)
PLAIN = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from([1, "1", True, "x"]), max_size=1)


@settings(deadline=None, max_examples=30)
@given(
    held=st.lists(st.tuples(SCOPES, SOME, PLAIN), max_size=6),
    scope=SCOPES,
    categories=st.none() | SOME,
    metadata=st.none() | PLAIN,
    older=st.none() | st.integers(0, 6),
    ids=st.none() | st.lists(st.sampled_from(["0", "1", "5"])),
)
def test_conditions_choose_what_they_choose_in_a_list(
    held: Any, scope: Any, categories: Any, metadata: Any, older: Any, ids: Any
):
    records = [record(n, scope=path or "/", categories=own, metadata=more) for n, (path, own, more) in enumerate(held)]

    def fits(one: MemoryRecord) -> bool:
        same = all(
            one.metadata.get(key) == value and isinstance(one.metadata[key], bool) == isinstance(value, bool)
            for key, value in (metadata or {}).items()
        )
        return is_in(one, scope) and (not categories or bool(set(categories) & set(one.categories))) and same

    with open_backend("memory:") as backend:
        storage = MemwellStorage(backend)
        storage.save(records)
        assert [bare(one) for one in storage.list_records()] == [bare(one) for one in records[::-1]]
        inside = [one for one in records if is_in(one, scope)]
        assert [one.id for one in storage.list_records(scope, limit=2, offset=1)] == [
            one.id for one in inside[::-1][1:3]
        ]
        assert storage.count(scope) == len(inside)
        names = {name for one in inside for name in one.categories}
        assert storage.list_categories(scope) == {name: sum(name in one.categories for one in inside) for name in names}
        info = storage.get_scope_info(scope or "/")
        assert (info.record_count, info.categories) == (len(inside), sorted(names))
        assert (info.oldest_record, info.newest_record) == (
            (inside[0].created_at, inside[-1].created_at) if inside else (None, None)
        )
        found = storage.search([1.0, 0.0, 0.0], scope, categories, metadata, limit=10)
        assert [one.id for one, _ in found] == [one.id for one in records if fits(one)]
        before = None if older is None else BEGAN + timedelta(days=older)
        gone = [
            one.id
            for one in records
            if fits(one) and (before is None or one.created_at < before) and (ids is None or one.id in ids)
        ]
        assert storage.delete(scope, categories, ids, before, metadata) == len(gone)
        assert {one.id for one in storage.list_records()} == {one.id for one in records} - set(gone)


def bare(one: MemoryRecord) -> MemoryRecord:
    return one.model_copy(update={"embedding": None})


def test_records_are_replaced_touched_and_reset(storage: MemwellStorage):
    assert isinstance(storage, StorageBackend)
    storage.save([record(0, scope="/a/b", metadata={"n": [1, {"é": None}]}, source="ann", private=True)])
    storage.save([record(1, scope="/a"), record(2, scope="/c/d/e"), MemoryRecord(id="none", content="no vector")])
    assert storage.list_scopes() == ["/a", "/c"]
    assert storage.list_scopes("/c") == ["/c/d"]
    held = storage.get_record("0")
    assert held is not None
    assert held.embedding is not None
    assert (held.metadata, held.source, held.private) == ({"n": [1, {"é": None}]}, "ann", True)
    assert storage.get_record("x") is None
    storage.update(held.model_copy(update={"scope": "/z", "embedding": None}))
    storage.touch_records(["0", "x"])
    again = storage.get_record("0")
    assert again is not None
    assert (again.scope, again.embedding) == ("/z", held.embedding)
    assert again.last_accessed > held.last_accessed
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([MemoryRecord(content="x", embedding=[1.0])])
    with pytest.raises(InvalidInput):
        storage.save([record(7), record(8, metadata={"x": object})])
    assert storage.get_record("7") is None
    asyncio.run(storage.asave([record(3, scope="/c")]))
    assert [one.id for one, _ in asyncio.run(storage.asearch([1.0, 0.3, 0.0], "/c", limit=1, min_score=0.5))] == ["3"]
    assert asyncio.run(storage.adelete(record_ids=["3"])) == 1
    storage.reset("/c")
    assert {one.id for one in storage.list_records()} == {"0", "1", "none"}
    storage.reset()
    assert storage.count() == 0


def test_crewais_memory_remembers_and_recalls_without_a_model_of_others(storage: MemwellStorage):
    memory = Memory(storage=storage, embedder=local_embedder(), root_scope="/crew")
    fields: dict[str, Any] = {"scope": "/ann", "categories": ["food"], "metadata": {"n": 1}, "importance": 0.5}
    memory.remember("Ann is allergic to nuts.", **fields)
    memory.remember("The flight leaves at 7:40.", **{**fields, "scope": "/trip", "categories": ["plan"]})
    [found] = memory.recall("What may Ann not eat?", depth="shallow", limit=1)
    assert found.record.content == "Ann is allergic to nuts."
    assert [one.record.content for one in memory.recall("Ann", scope="/trip", depth="shallow")] == [
        "The flight leaves at 7:40."
    ]
    memory.update(found.record.id, content="Ann is allergic to sesame.")
    [found] = memory.recall("What may Ann not eat?", depth="shallow", limit=1)
    assert found.record.content == "Ann is allergic to sesame."
    assert memory.forget(categories=["plan"]) == 1
    assert storage.count("/crew") == 1
    memory.close()

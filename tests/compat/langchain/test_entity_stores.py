"""Where entities are kept: in memory, in a store of ours, in a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.compat.langchain.entity_stores import (
    BaseEntityStore,
    FileEntityStore,
    InMemoryEntityStore,
    SQLiteEntityStore,
)
from memwell.errors import InvalidInput
from memwell.storage.sharing import close_shared


@pytest.fixture(params=["memory", "sqlite", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseEntityStore]:
    if request.param == "memory":
        yield InMemoryEntityStore()
    elif request.param == "file":
        yield FileEntityStore(tmp_path / "entities.json")
    else:
        yield SQLiteEntityStore(db_file=tmp_path / "entities.db")
        close_shared()


def test_texts_by_name(store: BaseEntityStore) -> None:
    assert (store.get("小明"), store.get("小明", "?"), store.exists("小明")) == (None, "?", False)
    store.set("小明", "住在北京")
    store.set("Ann", "a pilot")
    store.set("Ann", "a painter")
    assert (store.get("小明"), store.get("Ann"), store.exists("Ann")) == ("住在北京", "a painter", True)
    store.delete("Ann")
    assert (store.get("Ann"), store.exists("小明")) == (None, True)
    store.clear()
    assert not store.exists("小明")


def test_async(store: BaseEntityStore) -> None:
    async def use() -> tuple[str | None, bool]:
        await store.aset("a", "b")
        found = await store.aget("a"), await store.aexists("a")
        await store.adelete("a")
        await store.aclear()
        return found

    assert asyncio.run(use()) == ("b", True)
    assert not store.exists("a")


def test_nothing_and_missing(store: BaseEntityStore) -> None:
    store.set("a", "x")
    store.set("a", None)
    in_memory = isinstance(store, InMemoryEntityStore)
    assert store.exists("a") is in_memory
    if in_memory:
        with pytest.raises(KeyError):
            store.delete("missing")
    else:
        store.delete("missing")
        store.set("b", "")
        assert not store.exists("b")


def test_objects_in_memory_share_nothing() -> None:
    given = {"a": "b"}
    one, two = InMemoryEntityStore(given), InMemoryEntityStore()
    one.set("c", "d")
    assert (given, two.store, one.store) == ({"a": "b"}, {}, {"a": "b", "c": "d"})


def test_sessions_and_tables_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "entities.db"
    one, two = SQLiteEntityStore("one", path), SQLiteEntityStore("two", path)
    three = SQLiteEntityStore("one", path, "other")
    for number in range(120):
        one.set(f"e{number}", "x")
    two.set("e0", "y")
    three.set("e0", "z")
    one.clear()
    assert (one.get("e0"), two.get("e0"), three.get("e0")) == (None, "y", "z")
    assert one.full_table_name == "memory_store_one"
    close_shared()
    assert SQLiteEntityStore("two", path).get("e0") == "y"
    close_shared()


@pytest.mark.parametrize(("session", "table"), [("a-b", "t"), ("a", "t; drop"), ("", "t"), ("1a", "t")])
def test_names_that_are_no_identifiers(tmp_path: Path, session: str, table: str) -> None:
    with pytest.raises(ValueError, match="Table name and session ID must be valid Python identifiers"):
        SQLiteEntityStore(session, tmp_path / "e.db", table)
    assert not (tmp_path / "e.db").exists()


def test_a_file_of_entities(tmp_path: Path) -> None:
    path = tmp_path / "entities.json"
    FileEntityStore(path).set("小明", "住在北京")
    assert json.loads(path.read_text("utf-8")) == {"小明": "住在北京"}
    path.chmod(0o600)
    FileEntityStore(path).set("Ann", "a pilot")
    assert path.stat().st_mode & 0o777 == 0o600
    assert FileEntityStore(path).get("小明") == "住在北京"
    for broken in ("[]", '{"a"'):
        path.write_text(broken)
        with pytest.raises(InvalidInput, match=r"entities\.json"):
            FileEntityStore(path).set("a", "b")
        assert path.read_text() == broken

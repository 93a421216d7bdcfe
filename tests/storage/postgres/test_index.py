"""Records in PostgreSQL: many at once, many writers, and what a cache of a space is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.records import Record, Space
from memwell.settings import Settings
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.record_tables import RECORD_TABLES, keyed
from memwell.storage.postgres.session import Session
from tests.engines.postgres import open_store

HOME, AWAY = Space("home"), Space("away")
KEPT = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresBackend]:
    with open_store(tmp_path, settings=Settings(kept_changes=KEPT)) as backend:
        yield backend
        assert backend.check() == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that operations send from now on."""
    sent: list[str] = []
    plain = Session.execute

    def execute(self: Session, sql: str, bindings: Any = ()) -> Any:
        sent.append(sql)
        return plain(self, sql, bindings)

    monkeypatch.setattr(Session, "execute", execute)
    return sent


def record(id_: str, text: str = "tea", **fields: Any) -> Record:
    return Record(id=id_, text=text, **{"space": HOME, **fields})


def test_more_records_than_one_statement_takes(store: PostgresBackend):
    records = [record(str(n), f"word{n}", vector=[1.0, n]) for n in range(4_500)]
    store.index.upsert(records)
    info = store.index.info(HOME)
    assert (info.records, info.vectors, info.state) == (4_500, 4_500, 4_500)
    page = store.index.scan(HOME, limit=5_000)
    assert [one.id for one in page.items] == [one.id for one in records]
    assert [hit.record.id for hit in store.index.match(HOME, "word4444")] == ["4444"]


def test_an_upsert_is_one_statement_and_so_is_news_of_nothing(store: PostgresBackend, asked: list[str]):
    store.index.upsert([record("warm", vector=[1.0, 0.0])])
    asked.clear()
    store.index.upsert([record(str(n), vector=[1.0, n]) for n in range(50)])
    assert len(asked) == 1
    state = store.index.changes(HOME).state
    asked.clear()
    assert store.index.changes(HOME, state).records == []
    assert len(asked) == 1


def test_a_short_search_by_vector_is_one_statement(store: PostgresBackend, asked: list[str]):
    store.index.upsert([record(str(n), vector=[1.0, n]) for n in range(5)])
    store.index.near(HOME, [1.0, 0.0])
    asked.clear()
    assert store.index.near(HOME, [1.0, 0.0], where={"@id": "3"})[0].record.id == "3"
    assert len(asked) == 1


def test_what_happened_too_long_ago_is_told_as_a_whole(store: PostgresBackend):
    store.index.upsert([record("a")])
    early = store.index.changes(HOME).state
    for n in range(3 * KEPT):
        store.index.upsert([record("b", f"cup {n}")])
    late = store.index.changes(HOME, early)
    assert late.whole
    assert [one.id for _, one in late.records] == ["a", "b"]
    assert late.state is not None
    store.index.upsert([record("b", "last")])
    again = store.index.changes(HOME, late.state)
    assert (again.whole, [one.text for _, one in again.records]) == (False, ["last"])


def test_a_refused_size_names_the_record_and_changes_nothing(store: PostgresBackend):
    store.index.upsert([record("a", vector=[1.0, 0.0])])
    before = store.index.info(HOME)
    with pytest.raises(InvalidInput, match="record 'c' has a vector of 3 dimensions in a space of 2"):
        store.index.upsert([record("b"), record("c", vector=[1.0, 2.0, 3.0])])
    with pytest.raises(InvalidInput, match="record 'e' has a vector of 1 dimensions in a space of 2"):
        store.index.upsert([record("d", vector=[1.0, 2.0]), record("e", vector=[1.0])])
    assert store.index.info(HOME) == before


def test_all_of_several_spaces_or_none(store: PostgresBackend):
    store.index.upsert([record("a", vector=[1.0, 0.0])])
    with pytest.raises(InvalidInput, match="dimensions"):
        store.index.upsert([record("b", space=AWAY), record("c", vector=[1.0])])
    assert store.index.info(AWAY).records == 0
    store.index.upsert([record("b", space=AWAY), record("c", vector=[0.0, 1.0])])
    assert (store.index.info(AWAY).records, store.index.info(HOME).records) == (1, 2)


def test_other_vectors_for_a_space(store: PostgresBackend):
    store.index.upsert([record(name, vector=[1.0, 0.0]) for name in "abc"] + [record("d")])
    state = store.index.changes(HOME).state
    store.index.revector(HOME, {"a": [1.0, 0.0, 0.0], "d": [0.0, 1.0, 0.0], "gone": [0.0, 0.0, 1.0]})
    assert [one.vector is None for one in store.index.get(HOME, list("abcd"))] == [False, True, True, False]
    info = store.index.info(HOME)
    assert (info.records, info.vectors, info.dimensions) == (4, 2, 3)
    changes = store.index.changes(HOME, state)
    assert (changes.whole, [one.id for _, one in changes.records]) == (False, ["a", "b", "c", "d"])
    assert changes.state == info.state
    with pytest.raises(InvalidInput, match="one size"):
        store.index.revector(HOME, {"a": [1.0], "b": [1.0, 2.0]})
    assert store.index.info(HOME) == info
    store.index.revector(HOME, {})
    assert (store.index.info(HOME).vectors, store.index.info(HOME).dimensions) == (0, None)


def test_times_come_back_to_the_microsecond(store: PostgresBackend):
    times = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2300, 5, 6, 7, 8, 9, 123457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ]
    store.index.upsert([record(str(n), time=time) for n, time in enumerate(times)])
    assert [one.time for one in store.index.scan(HOME).items] == times
    for time in times:
        assert [one.time for one in store.index.scan(HOME, where={"@time": time}).items] == [time]


# Names


def test_names_of_any_length_have_keys_of_their_own():
    names = [
        "a",
        "a" * 200,
        "a" * 201,
        "a" * 300 + "b",
        "a" * 300 + "c",
        "中" * 66,
        "中" * 67,
        "中" * 500,
        "😀" * 50,
        "😀" * 51,
    ]
    names += [keyed(name) for name in names if keyed(name) != name]
    assert len({keyed(name) for name in names}) == len(names)
    assert all(len(keyed(name).encode()) <= 400 for name in names)
    assert [keyed(name) for name in names[:2]] == names[:2]


def test_every_key_and_index_begins_with_the_space():
    keys = [line.strip() for line in RECORD_TABLES.splitlines() if "PRIMARY KEY" in line or "UNIQUE INDEX" in line]
    assert len(keys) == 6
    assert all("(space" in line or line.startswith("space ") for line in keys)


# Writers side by side


def test_writers_of_one_space_wait_for_each_other(store: PostgresBackend):
    def write(writer: int) -> None:
        for n in range(15):
            store.index.upsert([record(f"{writer}-{n}", vector=[1.0, n]), record(f"shared-{n}", f"cup {writer}")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    info = store.index.info(HOME)
    assert (info.records, info.vectors, info.state) == (75, 60, 120)
    numbers = [number for number, _ in store.index.changes(HOME).records]
    assert len(set(numbers)) == 75


def test_writers_of_other_spaces_do_not_wait(store: PostgresBackend):
    done = threading.Event()

    def write() -> None:
        store.index.upsert([record("b", space=AWAY)])
        done.set()

    other = threading.Thread(target=write)
    with store.transaction():
        store.index.upsert([record("a")])
        other.start()
        assert done.wait(20), "a transaction of one space held up another space"
    other.join()
    assert store.index.info(AWAY).records == 1

"""Records in Redis: what one process writes another finds, whatever the server keeps or loses of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from memwell.errors import InvalidInput
from memwell.records import Hit, Record, Space
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.mirrored import Row
from memwell.storage.redis.address import parsed
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.index import RedisIndex
from memwell.testing.machine import EVERYTHING, Versions, assert_same, assert_same_match, assert_same_near
from memwell.testing.strategies import Operation, index_writes, sentences, vectors
from memwell.values import new_id
from tests.engines.redis import Server, prefix_of, single, single_url

HOME = Space("home")
MANY = 250
PATIENT = "lease=10"
"""Nobody dies here, and a machine with much to do must not undo a transaction."""


class Client:
    """One process's way to the records at a place."""

    def __init__(self, place: Path, *, kept_changes: int = 1000, kind: type[RedisIndex] = RedisIndex) -> None:
        self.connections = Connections(parsed(single_url(place, PATIENT)), Settings())
        self.index = kind(self.connections, vector_cache_mb=64, kept_changes=kept_changes)


Opener = Callable[..., Client]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Opener]:
    opened: list[Client] = []

    def open_(**options: Any) -> Client:
        opened.append(Client(tmp_path, **options))
        return opened[-1]

    yield open_
    for one in opened:
        one.connections.close()


@pytest.fixture
def server() -> Iterator[Redis]:
    with Redis(port=single().port) as connection:
        yield connection


def record(id_: str, text: str = "tea", **fields: Any) -> Record:
    return Record(id=id_, text=text, space=HOME, **fields)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def saved(server: Redis, place: Path) -> dict[bytes, bytes]:
    """All keys of a place, to be restored when the server shall have lost what comes after."""
    keys: list[bytes] = list(server.scan_iter(f"{{{prefix_of(place)}:*"))
    return {key: held for key in keys if (held := server.dump(key)) is not None}


class Undone(Exception): ...


def written(store: Client, reference: MemoryBackend, writes: list[Operation], rename: dict[Space, Space]) -> None:
    """Make the same calls on both; they must be refused by both or by none."""
    for write in writes:
        args = tuple(_moved(argument, rename) for argument in write.args)
        outcomes = [_refused(index, write.method, args) for index in (store.index, reference.index)]
        assert outcomes[0] == outcomes[1], write


def _moved(argument: Any, rename: dict[Space, Space]) -> Any:
    if isinstance(argument, Space):
        return rename.setdefault(argument, Space(new_id()))
    if isinstance(argument, Record):
        return msgspec.structs.replace(argument, space=_moved(argument.space, rename))
    return [_moved(one, rename) for one in argument] if isinstance(argument, list) else argument


def _refused(index: Any, method: str, args: tuple[Any, ...]) -> bool:
    try:
        getattr(index, method)(*args)
    except InvalidInput:
        return True
    return False


def compared(store: Client, reference: MemoryBackend, spaces: list[Space], text: str, vector: list[float]) -> None:
    """All questions have the answers of the reference."""
    for space in spaces:
        assert_same(store.index.scan(space), reference.index.scan(space), Versions())
        where = {"$not": {"@id": "r0"}}
        assert_same(store.index.scan(space, where=where), reference.index.scan(space, where=where), Versions())
        whole = reference.index.match(space, text, limit=EVERYTHING)
        assert_same_match(store.index.match(space, text, limit=3), whole, 3)
        if reference.index.info(space).dimensions in (None, 3):
            nearest = reference.index.near(space, vector, limit=EVERYTHING)
            assert_same_near(store.index.near(space, vector, limit=3), nearest, 3)


some_writes = st.lists(index_writes(), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some_writes, some_writes, some_writes, st.booleans(), st.sampled_from((1, 1000)), sentences(), vectors())
def test_one_process_finds_what_another_writes(
    client: Opener,
    before: list[Operation],
    inside: list[Operation],
    after: list[Operation],
    undo: bool,
    kept_changes: int,
    text: str,
    vector: list[float],
):
    writer, reader, reference = client(kept_changes=kept_changes), client(), MemoryBackend()
    rename: dict[Space, Space] = {}
    for writes in (before, after):
        written(writer, reference, writes, rename)
        compared(reader, reference, list(rename.values()), text, vector)
    with suppress(Undone), reference.transaction(), writer.connections.transaction():
        written(writer, reference, inside, rename)
        compared(writer, reference, list(rename.values()), text, vector)
        if undo:
            raise Undone
    for one in (writer, reader):
        compared(one, reference, list(rename.values()), text, vector)
    for space in rename.values():
        assert reader.index.info(space).records == reference.index.info(space).records


def test_many_records_are_stored_all_or_none(client: Opener):
    index = client().index
    many = [record(str(n), vector=[1.0, n]) for n in range(MANY)]
    with pytest.raises(InvalidInput, match="3 dimensions"):
        index.upsert([*many, record("odd", vector=[1.0, 2.0, 3.0])])
    assert index.info(HOME).records == 0
    index.upsert([record("first", vector=[1.0, 0.0, 0.0])])
    with pytest.raises(InvalidInput, match="2 dimensions in a space of 3"):
        index.upsert([*(record(f"plain {n}") for n in range(MANY)), *many])
    assert [one.id for one in index.scan(HOME).items] == ["first"]
    index.delete(HOME, ["first"])
    index.upsert(many)
    assert [one.id for one in index.scan(HOME, limit=MANY).items] == [str(n) for n in range(MANY)]
    assert [one.id for one in index.get(HOME, [str(n) for n in range(MANY)])] == [str(n) for n in range(MANY)]
    assert len(index.changes(HOME).records) == MANY
    assert index.delete(HOME, [str(n) for n in range(MANY)]) == MANY
    assert index.changes(HOME).records == []


def test_records_of_several_spaces_are_stored_all_or_none(client: Opener):
    index, away = client().index, Space("away")
    index.upsert([record("a", vector=[1.0, 0.0])])
    with pytest.raises(InvalidInput):
        index.upsert([Record(id="x", text="", space=away), record("b", vector=[1.0])])
    assert index.info(away).records == 0
    assert index.info(HOME).records == 1


def test_only_what_changed_is_told(client: Opener):
    index = client().index
    index.upsert([record(str(n)) for n in range(MANY)])
    state = index.changes(HOME).state
    index.upsert([record("5", "changed"), record("new")])
    index.delete(HOME, ["7"])
    changes = index.changes(HOME, state)
    assert not changes.whole
    assert [one.id for _, one in changes.records] == ["5", "new"]
    assert len(changes.gone) == 1
    assert changes.state == index.info(HOME).state


def test_a_long_absence_is_caught_up_piece_by_piece(client: Opener):
    index = client().index
    index.upsert([record("a")])
    state = index.changes(HOME).state
    index.upsert([record(str(n)) for n in range(MANY)])
    index.delete(HOME, ["3"])
    changes = index.changes(HOME, state)
    assert not changes.whole
    assert len(changes.records) == MANY - 1


def test_changes_are_forgotten_when_there_are_too_many(client: Opener, server: Redis, tmp_path: Path):
    index = client(kept_changes=10).index
    index.upsert([record("a")])
    state = index.changes(HOME).state
    for n in range(60):
        index.upsert([record(str(n))])
    for since in (state, 0):
        changes = index.changes(HOME, since)
        assert changes.whole
        assert len(changes.records) == 61
    [key] = [key for key in server.scan_iter(f"{{{prefix_of(tmp_path)}:*r:*") if key.endswith(b":c")]
    assert server.llen(key) <= 21


def test_a_server_that_lost_its_latest_writes_is_noticed(client: Opener, server: Redis, tmp_path: Path):
    writer, reader = client().index, client().index
    writer.upsert([record("kept", vector=[1.0, 0.0])])
    before = saved(server, tmp_path)
    writer.upsert([record("lost", vector=[1.0, 0.1])])
    assert ids(reader.near(HOME, [1.0, 0.0])) == ["kept", "lost"]
    for key, held in before.items():
        server.restore(key, 0, held, replace=True)
    for place, id_ in enumerate("xyz"):
        # The same number of changes as were lost, and then more.
        writer.upsert([record(id_, vector=[1.0, 0.2 + place])])
        assert ids(reader.near(HOME, [1.0, 0.0])) == ["kept", *"xyz"[: place + 1]]
    assert set(ids(reader.match(HOME, "tea"))) == {"kept", *"xyz"}


def test_a_server_that_lost_writes_and_made_more_is_noticed(client: Opener, server: Redis, tmp_path: Path):
    writer, reader = client().index, client().index
    writer.upsert([record("kept")])
    before = saved(server, tmp_path)
    writer.upsert([record("lost")])
    assert set(ids(reader.match(HOME, "tea"))) == {"kept", "lost"}
    for key, held in before.items():
        server.restore(key, 0, held, replace=True)
    for id_ in "xyz":
        writer.upsert([record(id_)])
    assert set(ids(reader.match(HOME, "tea"))) == {"kept", *"xyz"}


def test_what_is_written_while_a_space_is_loaded_is_not_missed(client: Opener):
    writer = client().index

    class Interrupted(RedisIndex):
        pages = 0

        def _page(self, *args: Any, **options: Any) -> tuple[list[Row], bool]:
            found = super()._page(*args, **options)
            self.pages += 1
            if self.pages == 1:
                writer.delete(HOME, ["0"])
                writer.upsert([record("1", "coffee"), record("new", "coffee")])
            return found

    writer.upsert([record(str(n)) for n in range(MANY)])
    reader = client(kind=Interrupted).index
    assert set(ids(reader.match(HOME, "coffee"))) == {"1", "new"}
    assert len(reader.match(HOME, "tea", limit=1000)) == MANY - 2


def test_large_records_come_in_several_replies(client: Opener):
    index = client().index
    large = [record(str(n), f"{n} " + "x" * 900_000) for n in range(5)]
    index.upsert(large)
    names = [one.id for one in large]
    assert [one.id for one in index.get(HOME, names)] == names
    assert [one.id for one in index.scan(HOME).items] == names
    assert [one.id for one in index.scan(HOME, newest_first=True).items] == names[::-1]
    assert [one.id for _, one in index.changes(HOME, 0).records] == names
    assert sorted(ids(index.match(HOME, "0 1 2 3 4"))) == names


def test_other_vectors_are_given_all_at_once(client: Opener):
    opened = client()
    index, reader = opened.index, client().index
    index.upsert([record(str(n), vector=[1.0, n]) for n in range(MANY)])
    assert ids(reader.near(HOME, [1.0, 0.0], limit=2)) == ["0", "1"]
    with suppress(Undone), opened.connections.transaction():
        index.revector(HOME, {"9": [0.0, 0.0, 1.0]})
        assert ids(index.near(HOME, [0.0, 0.0, 1.0])) == ["9"]
        raise Undone
    assert ids(reader.near(HOME, [1.0, 0.0], limit=2)) == ["0", "1"]
    index.revector(HOME, {str(n): [0.0, n, 1.0] for n in range(0, MANY, 2)} | {"nobody": [1.0, 1.0, 1.0]})
    assert ids(reader.near(HOME, [0.0, 0.0, 1.0], limit=2)) == ["0", "2"]
    assert (index.info(HOME).vectors, index.info(HOME).dimensions) == (MANY // 2, 3)
    index.revector(HOME, {})
    assert (index.info(HOME).vectors, index.info(HOME).dimensions) == (0, None)
    index.revector(Space("nobody's"), {"a": [1.0]})
    assert index.info(Space("nobody's")).records == 0


_KILLED_INSIDE = """
import os, sys
from memwell.records import Record, Space
from memwell.storage.redis import RedisBackend, index

class Dying(index.RedisIndex):
    calls = 0

    def _upsert(self, *args):
        super()._upsert(*args)
        Dying.calls += 1
        if Dying.calls == 2:
            os._exit(9)

store = RedisBackend(sys.argv[1])
store.index.__class__ = Dying
store.index.upsert([Record(id=str(n), text="tea", space=Space("home")) for n in range(250)])
"""


def test_a_process_that_dies_in_the_middle_of_many_records_leaves_none(client: Opener, tmp_path: Path):
    index = client().index
    index.upsert([record("kept")])
    assert ids(index.match(HOME, "tea")) == ["kept"]
    died = subprocess.run([sys.executable, "-c", _KILLED_INSIDE, single_url(tmp_path, "lease=1")], check=False)
    assert died.returncode == 9
    assert ids(index.match(HOME, "tea")) == ["kept"]
    assert [one.id for one in index.scan(HOME).items] == ["kept"]
    index.upsert([record("new")])
    assert ids(index.match(HOME, "tea")) == ["new", "kept"]


def test_a_server_that_is_killed_has_what_was_acknowledged(tmp_path: Path):
    server = Server(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    try:
        connections = Connections(parsed(f"redis://127.0.0.1:{server.port}/0"), Settings())
        index = RedisIndex(connections, vector_cache_mb=64, kept_changes=1000)
        index.upsert([record(str(n), vector=[1.0, n]) for n in range(MANY)])
        index.delete(HOME, ["0"])
        assert ids(index.near(HOME, [1.0, 0.0], limit=2)) == ["1", "2"]
        server.kill()
        server.start()
        assert index.info(HOME).records == MANY - 1
        assert ids(index.near(HOME, [1.0, 0.0], limit=2)) == ["1", "2"]
        index.upsert([record("0", vector=[1.0, 0.0])])
        assert ids(index.near(HOME, [1.0, 0.0], limit=2)) == ["0", "1"]
        connections.close()
    finally:
        server.stop()


def test_an_id_asked_for_twice_is_given_twice(client: Opener):
    index = client().index
    index.upsert([record("a", metadata={"tags": ["x"]})])
    one, other = index.get(HOME, ["a", "a"])
    one.metadata["tags"].append("y")
    assert other.metadata == {"tags": ["x"]}

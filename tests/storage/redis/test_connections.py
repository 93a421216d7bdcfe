"""What a part finds between itself and its keys: hostile ids, forks, listening, resharding."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendUnavailable, ConfigurationError
from memwell.messages import human
from memwell.records import Space, Thread, paged
from memwell.storage.redis import RedisBackend, running
from memwell.storage.redis.tags import BUCKETS, Tags, slot_of
from tests.engines.redis import ask, cluster, cluster_url, single_url, wait_until
from tests.ports import closed_port

HOME = Space("home")
HOSTILE = (
    "{}",
    "{a}b",
    "}{",
    "a\nb\r\nc",
    "*",
    "?[x]",
    "' .. redis.call('FLUSHALL') .. '",
    "🙂",
    "北京" * 300,
    "x" * 1024,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisBackend]:
    with RedisBackend(single_url(tmp_path)) as backend:
        yield backend


def test_hostile_ids_are_only_names(store: RedisBackend):
    for name in HOSTILE:
        space = Space(name, name)
        thread = Thread(space, name)
        with store.transaction():
            store.log.append(thread, [human(name, id=name)])
            store.kv.put(space, name, name)
        store.log.append(thread, [human("again")])
    for name in HOSTILE:
        space = Space(name, name)
        assert [info.thread for info in store.log.threads(space).items] == [Thread(space, name)]
        assert [message.text for message in store.log.read(Thread(space, name), ids=[name])] == [name]
        assert [(entry.key, entry.value) for entry in store.kv.scan(space).items] == [(name, name)]
    assert set(paged(lambda cursor: store.spaces(limit=3, cursor=cursor))) == {Space(name, name) for name in HOSTILE}
    assert all(len(key) < 120 and "\n" not in key for key in store._spaces.keys("*"))
    assert store.check() == []


@given(st.text(min_size=1).filter(lambda t: "\0" not in t), st.text(min_size=1).filter(lambda t: "\0" not in t))
def test_no_two_threads_share_a_tag(one: str, other: str):
    try:
        threads = [Thread(HOME, one), Thread(HOME, other), Thread(HOME / one, other), Thread(HOME / other, one)]
    except ValueError:
        return
    tags = Tags("memwell")
    bases = {tags.thread_of(thread).base for thread in threads}
    assert len(bases) == len(set(threads))
    assert all(base.startswith("{memwell:") for base in bases)


def test_every_bucket_has_a_seal_in_its_own_slot():
    tags = Tags("memwell")
    seals = {tag.seal: tag.slot for tag in tags.seals()}
    assert len(seals) == BUCKETS
    thread = tags.thread_of(Thread(HOME, "talk"))
    assert seals[thread.seal] == thread.slot == slot_of(thread.base[1 : thread.base.index("}")])


def test_a_child_of_a_fork_has_connections_of_its_own(store: RedisBackend):
    store.kv.put(HOME, "parent", 1)
    pid = os.fork()
    if pid == 0:
        ok = False
        try:
            with store.transaction():
                store.kv.put(HOME, "child", 2)
            ok = True
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    store.kv.put(HOME, "parent", 3)
    assert [(entry.key, entry.value) for entry in store.kv.scan(HOME).items] == [("child", 2), ("parent", 3)]


@pytest.mark.parametrize("url", [single_url, cluster_url])
def test_whoever_listens_hears_what_others_notify(tmp_path: Path, url: type[str]):
    heard: list[str] = []
    rang = threading.Event()

    def hear(topic: str) -> None:
        heard.append(topic)
        rang.set()

    with RedisBackend(url(tmp_path)) as one, RedisBackend(url(tmp_path)) as other:
        stop = one.listen(hear)
        assert stop is not None
        other.notify("搬走")
        assert rang.wait(60)
        stop()
        other.notify("nobody hears this")
    assert heard == ["搬走"]


def test_slots_that_move_are_followed_and_nothing_is_seen_half(tmp_path: Path):
    members = cluster().members[:3]
    thread = Thread(HOME, "moving")
    with RedisBackend(cluster_url(tmp_path)) as store:
        store.log.append(thread, [human("before")])
        slot = store._connections.tags.thread_of(thread).slot
        ids = {m.port: ask(m.port, "CLUSTER", "MYID").split(b"\r\n")[1].decode() for m in members}
        source = store._connections.runner.servers.of_slot(slot).where[1]
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


def test_a_server_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch):
    # One that restarts would be waited for.
    monkeypatch.setattr(running, "_RESTARTING_S", 0.1)
    with closed_port() as port, pytest.raises(BackendUnavailable, match="cannot be reached") as told:
        RedisBackend(f"redis://me:secret@127.0.0.1:{port}")
    assert "secret" not in str(told.value)


def test_a_single_server_is_no_cluster(tmp_path: Path):
    url = single_url(tmp_path).replace("redis://", "redis+cluster://").replace("/0", "")
    with pytest.raises(ConfigurationError, match="not a member"):
        RedisBackend(url)

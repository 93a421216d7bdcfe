"""Transactions in Redis: whoever dies, and whenever, all of one is there afterwards or nothing."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendError, BackendUnavailable, ReadOnlyStore
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.settings import Settings
from memwell.storage.redis import RedisBackend
from memwell.storage.redis.tags import Tag
from memwell.storage.redis.transactions import LIST, current_transaction
from tests.engines.proxy import Proxy
from tests.engines.redis import (
    LEASE,
    Cluster,
    Server,
    ask,
    give_up_on_replicas_soon,
    prefix_of,
    single,
    single_url,
    wait_until,
)

HOME, AWAY = Space("home"), Space("away")
TALK = Thread(HOME, "talk")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisBackend]:
    with RedisBackend(single_url(tmp_path)) as backend:
        yield backend


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[RedisBackend]:
    """The store of a process that will die: nobody waits long for it."""
    backend = RedisBackend(single_url(tmp_path, "lease=0.3"))
    yield backend
    current_transaction.set(None)
    backend.close()


def write(store: RedisBackend, text: str) -> None:
    """Writes over several tags, one of them new."""
    store.log.append(TALK, [human(text)])
    store.kv.put(HOME, "key", text)
    store.kv.put(AWAY, text, text)


def seen(store: RedisBackend) -> tuple[list[str], Any, list[str]]:
    entry = store.kv.get(HOME, "key")
    return (
        [message.text for message in store.log.read(TALK)],
        None if entry is None else entry.value,
        [one.key for one in store.kv.scan(AWAY).items],
    )


def die_inside(mortal: RedisBackend, work: Callable[[], object]) -> None:
    """Leave a transaction open as a killed process does: nothing is undone and nobody says that it lives."""
    mortal.transaction().__enter__()
    work()
    mortal._connections.heartbeat.stop()
    current_transaction.set(None)


def prepared(mortal: RedisBackend, text: str) -> str:
    """The id of a transaction whose owner died when it was ready for the verdict."""
    joined = mortal.joined()
    joined.__enter__()
    write(mortal, text)
    assert joined.prepare()
    mortal._connections.heartbeat.stop()
    current_transaction.set(None)
    return joined.id


def fail_joined(store: RedisBackend, text: str, *, prepare: bool) -> None:
    with store.joined() as joined:
        write(store, text)
        assert not prepare or joined.prepare()
        raise ZeroDivisionError


def apart(work: Callable[[], object]) -> None:
    """Do something outside of the transaction that the caller is inside of."""
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


def locked(store: RedisBackend) -> list[str]:
    return [key for key in store._spaces.keys("*") if key.endswith((":l", ":u", ":d", ":s", ":h")) or ":g" in key]


# The owner dies


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """A server and its replica."""
    for name in ("master", "replica"):
        (tmp_path / name).mkdir()
    master = Server(tmp_path / "master", "--repl-diskless-sync-delay", "0")
    replica = Server(tmp_path / "replica", "--replicaof", "127.0.0.1", str(master.port))
    wait_until(lambda: Cluster.is_followed(master), "the replica did not follow")
    yield master, replica
    os.kill(replica.pid, signal.SIGCONT)
    replica.kill()
    master.kill()


def held(server: Server) -> int:
    """How many tags are held by transactions."""
    return int(ask(server.port, "EVAL", "return #redis.call('KEYS', '*}*:l')", "0")[1:])


def test_a_commit_that_may_die_with_its_server_is_believed_by_nobody(followed: tuple[Server, Server]) -> None:
    master, replica = followed
    url = f"redis://127.0.0.1:{master.port}/0?wait=1&lease=30"
    with RedisBackend(url) as ours, RedisBackend(url) as theirs:
        write(ours, "before")
        transaction = ours.transaction()
        transaction.__enter__()
        write(ours, "after")
        os.kill(replica.pid, signal.SIGSTOP)
        give_up_on_replicas_soon(ours)
        give_up_on_replicas_soon(theirs)
        with pytest.raises(BackendUnavailable, match="may yet be stored"):
            transaction.__exit__(None, None, None)
        before = held(master)
        with pytest.raises(BackendUnavailable, match="replicas"):
            seen(theirs)
        # Were one part let go of now, it would stay when its server lives on, while the rest is undone with the commit.
        assert held(master) == before > 1
        os.kill(replica.pid, signal.SIGCONT)
        wait_until(lambda: replicated(theirs), "the replica did not catch up")
        assert seen(theirs) == (["before", "after"], "after", ["after", "before"])


def test_a_write_that_is_sent_again_waits_for_the_replica_too(followed: tuple[Server, Server]) -> None:
    master, replica = followed
    with Proxy(master.port) as proxy, RedisBackend(f"redis://127.0.0.1:{proxy.port}/0?wait=1") as store:
        write(store, "before")
        os.kill(replica.pid, signal.SIGSTOP)
        give_up_on_replicas_soon(store)
        connections = proxy.connections
        # The script has run, and its answer is lost. Run again it finds its receipt, and has nothing left to write.
        proxy.cut_after_bytes(0, "to_client")
        with pytest.raises(BackendUnavailable, match="may yet be stored"):
            store.kv.put(HOME, "key", "after")
        assert proxy.connections == connections + 1


def test_what_a_killed_writer_began_is_nothing_to_complain_of(store: RedisBackend, mortal: RedisBackend) -> None:
    # The list of the space's threads is made, and not yet listed itself.
    fresh = Thread(Space("fresh"), "talk")
    tags = mortal._connections.tags
    die_inside(mortal, lambda: _make_list(fresh, tags.threads(fresh.space)))
    assert held(single()) > 0
    assert store.check() == []
    time.sleep(0.5)
    assert store.check() == []
    assert not list(store._spaces.keys("*:[il]"))


def _make_list(thread: Thread, tag: Tag) -> None:
    transaction = current_transaction.get()
    assert transaction is not None
    transaction.call(LIST, tag, [thread.id, "1"], fresh=True)


def replicated(store: RedisBackend) -> bool:
    """Whether reads, which settle what others left, find their replica."""
    try:
        seen(store)
    except BackendUnavailable:
        return False
    return True


def test_what_a_dead_owner_wrote_is_undone_by_whoever_comes(store: RedisBackend, mortal: RedisBackend):
    write(store, "before")
    held = seen(store)
    die_inside(mortal, lambda: write(mortal, "inside"))
    assert seen(store) == held
    write(store, "after")
    assert seen(store) == (["before", "after"], "after", ["after", "before"])
    assert store.check() == []
    assert locked(store) == []


def test_a_deletion_by_a_dead_owner_is_undone(store: RedisBackend, mortal: RedisBackend):
    write(store, "before")
    store.log.edit(TALK, {0: human("changed")})
    held, versions = seen(store), store.log.versions(TALK, 0)

    def delete() -> None:
        mortal.log.trim(TALK, 1)
        mortal.log.append(TALK, [human("more")])
        mortal.log.delete(TALK)
        mortal.log.append(TALK, [human("anew")])
        mortal.kv.delete(HOME, "key")

    die_inside(mortal, delete)
    assert seen(store) == held
    assert store.log.versions(TALK, 0) == versions
    assert [info.thread for info in store.log.threads(HOME).items] == [TALK]
    assert store.check() == []


def test_what_was_committed_stays_when_the_owner_dies_before_it_lets_go(
    store: RedisBackend, mortal: RedisBackend, monkeypatch: pytest.MonkeyPatch
):
    write(store, "before")

    def dead(*_: object) -> None:
        raise BackendError("killed")

    monkeypatch.setattr(mortal._connections.states, "free", dead)
    with mortal.transaction():
        write(mortal, "inside")
    assert seen(store) == (["before", "inside"], "inside", ["before", "inside"])
    assert [key for key in locked(store) if not key.endswith(":s")] == []


def test_scrubbing_sees_to_what_the_dead_left_behind(store: RedisBackend, mortal: RedisBackend):
    write(store, "a canary")
    die_inside(mortal, lambda: mortal.log.delete(TALK))
    time.sleep(0.4)
    store.scrub()
    assert locked(store) == []
    assert seen(store)[0] == ["a canary"]
    store.log.delete(TALK)
    store.kv.delete(HOME, "key")
    store.kv.delete(AWAY, "a canary")
    store.scrub()
    left = [key for key in store._spaces.keys("*") if ":q" not in key]
    assert all("}s:" in key for key in left)
    assert store.spaces().items == []


# The owner lives, but too slowly


def test_an_owner_whose_lease_is_over_is_fenced_off(store: RedisBackend, mortal: RedisBackend):
    write(store, "before")
    held = seen(store)

    def be_slow() -> None:
        with mortal.transaction():
            write(mortal, "inside")
            mortal._connections.heartbeat.stop()
            apart(lambda: write(store, "other"))
            with pytest.raises(BackendUnavailable, match="lease"):
                mortal.log.append(TALK, [human("too late")])

    with pytest.raises(BackendUnavailable, match="nothing was stored"):
        be_slow()
    assert held[0] == ["before"]
    assert seen(store) == (["before", "other"], "other", ["before", "other"])
    assert locked(store) == []


def test_a_fenced_owner_cannot_commit_what_it_touches_first_afterwards(store: RedisBackend, mortal: RedisBackend):
    write(store, "before")

    def be_slow() -> None:
        with mortal.transaction():
            mortal.kv.put(HOME, "key", "inside")
            mortal._connections.heartbeat.stop()
            apart(lambda: store.kv.put(HOME, "key", "other"))
            mortal.kv.put(AWAY, "first touched now", 1)

    with pytest.raises(BackendUnavailable):
        be_slow()
    assert seen(store) == (["before"], "other", ["before"])


def test_who_is_slow_and_lives_keeps_its_transaction(tmp_path: Path, store: RedisBackend):
    with RedisBackend(single_url(tmp_path, "lease=1")) as slow:
        with slow.transaction():
            write(slow, "inside")
            time.sleep(1.3)
            slow.kv.put(HOME, "late", 1)
        assert seen(store) == (["inside"], "inside", ["inside"])


# Together


def test_others_wait_and_never_see_the_inside(store: RedisBackend):
    write(store, "before")
    found: list[Any] = []
    inside, entered = threading.Event(), threading.Event()

    def look() -> None:
        inside.wait(30)
        entered.set()
        found.append(seen(store))

    watcher = threading.Thread(target=look)
    watcher.start()
    with store.transaction():
        write(store, "half")
        inside.set()
        entered.wait(30)
        time.sleep(0.1)
        write(store, "whole")
        assert found == []
    watcher.join()
    assert found == [seen(store)]


def test_of_two_that_wait_for_each_other_the_younger_gives_way(store: RedisBackend):
    store.kv.put(HOME, "key", 0)
    store.kv.put(AWAY, "key", 0)
    first, second = threading.Event(), threading.Event()
    failed: list[str] = []

    def work(name: str, mine: Space, others: Space, here: threading.Event, there: threading.Event) -> None:
        with suppress(BackendUnavailable):
            try:
                with store.transaction():
                    store.kv.put(mine, "key", name)
                    here.set()
                    there.wait(30)
                    store.kv.put(others, "key", name)
            except BackendUnavailable as error:
                failed.append(f"{name}: {error}")
                raise

    older = threading.Thread(target=work, args=("older", HOME, AWAY, first, second))
    older.start()
    first.wait(30)
    younger = threading.Thread(target=work, args=("younger", AWAY, HOME, second, first))
    younger.start()
    older.join()
    younger.join()
    assert len(failed) == 1
    assert failed[0].startswith("younger: ")
    assert "waited for each other" in failed[0]
    assert [store.kv.get(space, "key").value for space in (HOME, AWAY)] == ["older", "older"]  # pyright: ignore[reportOptionalMemberAccess]


def test_counters_in_transactions_lose_nothing(tmp_path: Path, store: RedisBackend):
    store.kv.put(HOME, "count", 0)
    store.kv.put(AWAY, "count", 0)

    def work() -> None:
        with RedisBackend(single_url(tmp_path)) as mine:
            for _ in range(8):
                with mine.transaction():
                    for space in (HOME, AWAY):
                        entry = mine.kv.get(space, "count")
                        assert entry is not None
                        mine.kv.put(space, "count", int(entry.value) + 1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    entries = [store.kv.get(space, "count") for space in (HOME, AWAY)]
    assert [entry and entry.value for entry in entries] == [32, 32]


def test_threads_are_made_and_deleted_side_by_side(store: RedisBackend):
    def work(number: int) -> None:
        for step in range(6):
            thread = Thread(HOME, f"t{(number + step) % 3}")
            store.log.append(thread, [human("x")])
            store.log.delete(thread)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert store.check() == []
    assert store.log.threads(HOME).items == []


def test_whoever_waits_too_long_is_told(tmp_path: Path, store: RedisBackend):
    store.kv.put(HOME, "key", 1)
    with (
        RedisBackend(single_url(tmp_path), settings=Settings(busy_timeout_s=0.2)) as hasty,
        store.transaction(),
    ):
        store.kv.put(HOME, "key", 2)
        with pytest.raises(BackendUnavailable, match="busy") as told:
            hasty.kv.get(HOME, "key")
        assert told.value.__context__ is None


def test_a_store_sealed_meanwhile_takes_no_commit(tmp_path: Path, store: RedisBackend):
    write(store, "before")
    held = seen(store)
    with RedisBackend(single_url(tmp_path)) as other:

        def be_overtaken() -> None:
            with store.transaction():
                write(store, "inside")
                apart(lambda: other.seal("moved away"))

        with pytest.raises(ReadOnlyStore, match="moved"):
            be_overtaken()
        assert seen(store) == held
        with pytest.raises(ReadOnlyStore, match="moved"), store.transaction():
            store.kv.put(HOME, "key", 1)
        other.seal(None)
    write(store, "after")
    assert seen(store)[0] == ["before", "after"]


# Answers that are lost


def test_a_transaction_has_one_effect_whichever_answer_is_lost(tmp_path: Path):
    wrong: list[object] = []
    for answer in itertools.count():
        place = tmp_path / str(answer)
        with Proxy(single().port) as proxy, RedisBackend(single_url(place)) as store:
            write(store, "before")
            url = f"redis://127.0.0.1:{proxy.port}/0?prefix={prefix_of(place)}&{LEASE}"
            answers = _write_and_lose(url, proxy, answer)
            found = (seen(store), store.check(), locked(store))
        if found != ((["before", "inside"], "inside", ["before", "inside"]), [], []):
            wrong.append((answer, found))
        if answers <= answer:
            # There was no such answer.
            break
    assert wrong == []
    assert answer >= 7


def _write_and_lose(url: str, proxy: Proxy, answer: int) -> int:
    """Write in a transaction and lose the answer of this number; how many answers there were."""
    calls = 0
    with RedisBackend(url) as cut:
        exchange = cut._connections.runner.servers.of_slot(0).exchange

        def losing(commands: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == answer + 1:
                # The server does it, and the answer is cut off at its first byte.
                proxy.cut_after_bytes(0, "to_client")
            return exchange(commands)

        cut._connections.runner.servers.of_slot(0).exchange = losing
        with cut.transaction():
            write(cut, "inside")
    return calls


# Following a verdict


def test_a_joined_transaction_follows_and_is_seen_afterwards(store: RedisBackend):
    with store.joined() as joined:
        assert not joined.prepare()
        write(store, "inside")
        assert joined.prepare()
    assert seen(store) == (["inside"], "inside", ["inside"])
    with pytest.raises(ZeroDivisionError):
        fail_joined(store, "undone", prepare=False)
    assert seen(store) == (["inside"], "inside", ["inside"])
    assert locked(store) == []


@pytest.mark.parametrize("committed", [True, False])
def test_who_finds_a_prepared_one_left_behind_asks_for_the_verdict(
    store: RedisBackend, mortal: RedisBackend, committed: bool
):
    write(store, "before")
    asked: list[str] = []

    def verdict(id_: str) -> bool:
        asked.append(id_)
        return committed

    store.follow(verdict)
    id_ = prepared(mortal, "inside")
    found = seen(store)
    assert set(asked) == {id_}
    expected = (["before", "inside"], "inside", ["before", "inside"])
    assert found == (expected if committed else (["before"], "before", ["before"]))
    assert store.check() == []


def test_without_a_verdict_a_prepared_one_is_waited_for(tmp_path: Path, store: RedisBackend, mortal: RedisBackend):
    write(store, "before")
    prepared(mortal, "inside")
    with RedisBackend(single_url(tmp_path), settings=Settings(busy_timeout_s=0.6)) as other:
        with pytest.raises(BackendUnavailable):
            other.log.read(TALK)

        def away(_: str) -> bool:
            raise BackendUnavailable("the home store is away")

        other.follow(away)
        with pytest.raises(BackendUnavailable):
            other.log.read(TALK)
        other.follow(lambda _: True)
        assert seen(other)[0] == ["before", "inside"]


@pytest.mark.parametrize("committed", [True, False])
def test_an_error_after_the_preparation_goes_by_the_verdict(store: RedisBackend, committed: bool):
    store.follow(lambda _: committed)
    with pytest.raises(ZeroDivisionError):
        fail_joined(store, "inside", prepare=True)
    assert seen(store)[0] == (["inside"] if committed else [])
    assert locked(store) == []

"""Keys and scripts: hostile names and names that are listed first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.messages import human
from memwell.records import Space, Thread, paged
from memwell.storage.redis import RedisBackend
from memwell.storage.redis.scripts import GENERATION, LIST, UNLIST, HashTag, Script, Tags
from memwell.testing.conformance.backend import in_threads
from tests.engines.redis import single_url

HOME = Space("home")
TALK = Thread(HOME, "talk")
HOSTILE = (
    "{}", "{a}b", "}{", "a\nb\r\nc", "*", "?[x]", "' .. redis.call('FLUSHALL') .. '", "🙂", "北京" * 300, "x" * 1024,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisBackend]:
    with RedisBackend(single_url(tmp_path)) as backend:
        yield backend


# Keys


def test_hostile_ids_are_only_names(store: RedisBackend):
    for name in HOSTILE:
        space = Space(name, name)
        store.log.append(Thread(space, name), [human(name, id=name)])
        store.kv.put(space, name, name)
    for name in HOSTILE:
        space = Space(name, name)
        assert [info.thread for info in store.log.threads(space).items] == [Thread(space, name)]
        assert [message.text for message in store.log.read(Thread(space, name), ids=[name])] == [name]
        assert [(entry.key, entry.value) for entry in store.kv.scan(space).items] == [(name, name)]
    assert set(paged(lambda cursor: store.spaces(limit=3, cursor=cursor))) == {Space(name, name) for name in HOSTILE}
    assert all(len(key) < 120 and "\n" not in key for key in store._keys("*"))
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


# Listed first


class Stopped(Exception):
    """Stands for the death of a process."""


def die_when_listed(store: RedisBackend, at: HashTag, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process die when something was listed there."""
    call: Callable[..., Any] = store._connections.call

    def dying(script: Script, tag: HashTag, *rest: Any) -> Any:
        reply = call(script, tag, *rest)
        if script is LIST and tag.base == at.base:
            raise Stopped
        return reply

    monkeypatch.setattr(store._connections, "call", dying)


def test_a_process_that_dies_leaves_a_name_and_never_content_without_one(
    tmp_path: Path, store: RedisBackend, monkeypatch: pytest.MonkeyPatch
):
    tags = store._connections.tags
    with RedisBackend(single_url(tmp_path)) as dead:
        die_when_listed(dead, tags.of_space("l", HOME), monkeypatch)
        with pytest.raises(Stopped):
            dead.log.append(TALK, [human("lost")])
    with RedisBackend(single_url(tmp_path)) as dead:
        shard = tags.of_space("k", HOME).parent
        assert shard is not None
        die_when_listed(dead, shard, monkeypatch)
        with pytest.raises(Stopped):
            dead.kv.put(HOME, "key", 1)
    assert list(store._log.names(HOME)) == ["talk"]
    assert list(store._listed()) == [(HOME, ["k", "l"])]
    assert (store.log.threads(HOME).items, store.spaces().items, store.check()) == ([], [], [])
    store.scrub()
    assert list(store._listed()) == []
    store.log.append(TALK, [human("first")])
    assert [info.thread for info in store.log.threads(HOME).items] == [TALK]


def test_a_deletion_that_dies_half_way_hinders_no_later_write(
    tmp_path: Path, store: RedisBackend, monkeypatch: pytest.MonkeyPatch
):
    store.log.append(TALK, [human("deleted")])
    with RedisBackend(single_url(tmp_path)) as dead:
        monkeypatch.setattr(dead._log, "_unlisted", lambda tag, emptied: emptied(generation(dead, tag)))
        assert dead.log.delete(TALK)
    assert store.log.threads(HOME).items == []
    # The name is still listed, under a generation that has a tombstone.
    assert list(store._log.names(HOME)) == ["talk"]
    store.log.append(TALK, [human("again")])
    assert [message.text for message in store.log.read(TALK)] == ["again"]
    assert store.check() == []


def generation(store: RedisBackend, tag: HashTag) -> bytes:
    assert tag.parent is not None
    return store._connections.call(GENERATION, tag.parent, [tag.member])


def test_a_late_deletion_does_not_unlist_what_was_written_since(store: RedisBackend):
    store.log.append(TALK, [human("first")])
    tag = store._connections.tags.thread_of(TALK)
    assert tag.parent is not None
    old = generation(store, tag)
    store.log.delete(TALK)
    store.log.append(TALK, [human("second")])
    assert generation(store, tag) != old
    assert store._connections.call(UNLIST, tag.parent, [tag.member, old]) == 0
    assert [info.thread for info in store.log.threads(HOME).items] == [TALK]


def test_writers_deleters_and_scrubs_at_once_leave_everything_listed(tmp_path: Path):
    threads = [Thread(HOME, str(number)) for number in range(3)]

    def work(seed: int) -> None:
        drawn = random.Random(seed)
        with RedisBackend(single_url(tmp_path)) as backend:
            for _ in range(120):
                thread = drawn.choice(threads)
                act = drawn.random()
                if act < 0.5:
                    backend.log.append(thread, [human("x")])
                elif act < 0.9:
                    backend.log.delete(thread)
                else:
                    backend.scrub()

    in_threads(4, work)
    with RedisBackend(single_url(tmp_path)) as store:
        assert store.check() == []
        there = [thread for thread in threads if store.log.read(thread)]
        assert [info.thread for info in store.log.threads(HOME).items] == there

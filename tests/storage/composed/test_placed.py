"""Conversations and values live in the other store, and what memwell itself keeps in the home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.messages import ai, human
from memwell.records import Space, Thread
from memwell.storage import open_backend
from memwell.storage.composed import ComposedBackend, Part
from memwell.storage.composed.placed import take_home
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance.copies import seen
from tests.engines.redis import single_url

HOME = Space("home")
OWN = HOME / "memwell"
JOURNAL = Thread(OWN, "journal")


@pytest.fixture
def home(tmp_path: Path) -> SqliteBackend:
    return SqliteBackend(tmp_path / "home.db")


@pytest.fixture
def store(home: SqliteBackend) -> Iterator[ComposedBackend]:
    part = Part(MemoryBackend(), "there")
    with ComposedBackend(home, log=part, kv=part) as made:
        yield made


def test_a_space_says_which_store_it_is_in(store: ComposedBackend, home: SqliteBackend):
    for space in (HOME, OWN, Space("memwell", "service"), HOME / "memwell" / "knowledge"):
        own = space != HOME
        store.log.append(Thread(space, "talk"), [human("x")])
        store.kv.put(space, "key", 1)
        assert bool(home.log.threads(space).items) is own
        assert (home.kv.get(space, "key") is not None) is own
        assert len(store.log.read(Thread(space, "talk"))) == 1
        assert store.kv.count(space) == 1
    assert store.facts()["parts"]["log"]["place"] == "there"


def filled(part: Backend) -> None:
    """What an earlier version kept in a part: a journal, marks, and a conversation."""
    part.log.append(JOURNAL, [human("first"), human("second")])
    part.log.edit(JOURNAL, {1: ai("changed")})
    part.kv.put(OWN, "marks", [1, 1, 0])
    part.log.append(Thread(HOME, "talk"), [human("stays")])
    part.kv.put(HOME, "key", "stays")


def test_what_an_earlier_version_kept_in_a_part_is_taken_home(home: SqliteBackend):
    part = MemoryBackend()
    filled(part)
    before, marks = seen(part, JOURNAL), part.kv.get(OWN, "marks")
    with home:
        take_home(home, part, ["log", "kv"])
        assert seen(home, JOURNAL) == before
        assert home.kv.get(OWN, "marks") == marks
        assert part.spaces().items == [HOME]


def test_what_died_half_way_is_finished_and_nothing_written_over(home: SqliteBackend):
    part = MemoryBackend()
    filled(part)
    with home:
        home.log.append(JOURNAL, [human("newer")])
        home.kv.put(OWN, "marks", [2, 2, 0])
        take_home(home, part, ["log", "kv"])
        assert [message.text for message in home.log.read(JOURNAL)] == ["newer"]
        entry = home.kv.get(OWN, "marks")
        assert entry is not None
        assert entry.value == [2, 2, 0]
        assert part.spaces().items == [HOME]


def test_a_store_takes_home_once_when_it_is_opened(tmp_path: Path):
    place = single_url(tmp_path)
    url = f"sqlite:{tmp_path / 'a.db'},log={place},kv={place}"
    with RedisBackend(place) as part:
        filled(part)
        with open_backend(url) as store:
            assert isinstance(store, ComposedBackend)
            assert [message.text for message in store.log.read(JOURNAL)] == ["first", "changed"]
            assert store.home.kv.get(OWN, "marks") is not None
            assert [message.text for message in store.log.read(Thread(HOME, "talk"))] == ["stays"]
            assert part.log.threads(OWN).items == []
            assert store.check() == []
        part.kv.put(OWN, "marks", "not looked at again")
        with open_backend(url) as again:
            entry = again.kv.get(OWN, "marks")
            assert entry is not None
            assert entry.value == [1, 1, 0]

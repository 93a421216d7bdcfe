"""Conversations and values live in the other store, and what memwell itself keeps in the home."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.messages import human
from memwell.records import Page, Record, Space, Thread
from memwell.storage.composed import ComposedBackend, Part
from memwell.storage.memory import MemoryBackend
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance.suite import all_pages
from tests.engines import postgres, redis

HOME = Space("home")
OWN = HOME / "memwell"


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


# The spaces of several stores are listed once each and in one order, whatever order a store has for long ones.


NAMES = ("a", "a/b", '"', "\\", "é", "北京", "\U0001f600", "\uffff", "memwell", "zzz", "\x01")
LONG = "长" * 70
"""With this a path is longer than PostgreSQL keeps as it is, and the cut is inside of a character."""


@pytest.fixture
def spaces_store(tmp_path: Path) -> Iterator[ComposedBackend]:
    part = Part(RedisBackend(redis.single_url(tmp_path)), "a server")
    with ComposedBackend(postgres.open_recycled(tmp_path), log=part, kv=part) as backend:
        yield backend
    postgres.recycle(tmp_path)


def some_spaces(chance: random.Random) -> set[Space]:
    short = {Space(*chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(20)}
    alike = {Space(LONG, str(number)) for number in range(6)} | {Space(LONG), Space(LONG, "1", "2")}
    nearly = {Space("x" * length) for length in range(188, 202, 3)}
    deep = {Space(*["d"] * depth) for depth in (13, 15, 16)} | {Space(LONG, *["d"] * 15)}
    return {space for space in short if space[0] != "memwell"} | alike | nearly | deep


def fill(spaces_store: ComposedBackend, space: Space, kinds: list[str]) -> None:
    if "log" in kinds:
        spaces_store.log.append(Thread(space, "t"), [human("x")])
    if "kv" in kinds:
        spaces_store.kv.put(space, "key", 1)
    if "index" in kinds:
        spaces_store.index.upsert([Record(id="r", text="x", space=space)])
    if "blobs" in kinds:
        spaces_store.blobs.put(space, b"x")


def test_every_space_is_listed_once_and_in_order(spaces_store: ComposedBackend):
    chance = random.Random(3)
    spaces = some_spaces(chance)
    for space in sorted(spaces):
        fill(spaces_store, space, chance.sample(["log", "kv", "index", "blobs"], chance.randint(1, 4)))

    def listing(_: Space, **options: Any) -> Page[Space]:
        page = spaces_store.spaces(**options)
        assert page.next is None or page.next > (options.get("cursor") or ""), "a listing goes forward, or never ends"
        return page

    for limit in (1, 7, 100):
        found = all_pages(listing, Space("any"), limit=limit)
        assert found == sorted(spaces, key=Space.encoded)

"""The spaces of several stores are listed once each and in one order, whatever order a store has for long ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.messages import human
from memwell.records import Page, Record, Space, Thread
from memwell.storage.composed import Bytes, ComposedBackend, Part
from memwell.storage.files import FileBlobs
from memwell.storage.redis import RedisBackend
from memwell.testing.conformance.suite import all_pages
from tests.engines import postgres, redis

NAMES = ("a", "a/b", '"', "\\", "é", "北京", "\U0001f600", "\uffff", "memwell", "zzz", "\x01")
LONG = "长" * 70
"""With this a path is longer than PostgreSQL keeps as it is, and the cut is inside of a character."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ComposedBackend]:
    part = Part(RedisBackend(redis.single_url(tmp_path)), "a server")
    blobs = FileBlobs(tmp_path / "blobs")
    folder = Bytes(lambda: blobs, lambda: None, "a folder")
    with ComposedBackend(postgres.open_recycled(tmp_path), log=part, kv=part, blobs=folder) as backend:
        yield backend
    postgres.recycle(tmp_path)


def some_spaces(chance: random.Random) -> set[Space]:
    short = {Space(*chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(20)}
    alike = {Space(LONG, str(number)) for number in range(6)} | {Space(LONG), Space(LONG, "1", "2")}
    nearly = {Space("x" * length) for length in range(188, 202, 3)}
    deep = {Space(*["d"] * depth) for depth in (13, 15, 16)} | {Space(LONG, *["d"] * 15)}
    return {space for space in short if space[0] != "memwell"} | alike | nearly | deep


def fill(store: ComposedBackend, space: Space, kinds: list[str]) -> None:
    if "log" in kinds:
        store.log.append(Thread(space, "t"), [human("x")])
    if "kv" in kinds:
        store.kv.put(space, "key", 1)
    if "index" in kinds:
        store.index.upsert([Record(id="r", text="x", space=space)])
    if "blobs" in kinds:
        store.blobs.put(space, b"x")


def test_every_space_is_listed_once_and_in_order(store: ComposedBackend):
    chance = random.Random(3)
    spaces = some_spaces(chance)
    for space in sorted(spaces):
        fill(store, space, chance.sample(["log", "kv", "index", "blobs"], chance.randint(1, 4)))

    def listing(_: Space, **options: Any) -> Page[Space]:
        page = store.spaces(**options)
        assert page.next is None or page.next > (options.get("cursor") or ""), "a listing goes forward, or never ends"
        return page

    shallow = {space for space in spaces if len(space) < 15}
    for limit in (1, 7, 100):
        found = all_pages(listing, Space("any"), limit=limit)
        assert len(found) == len(set(found))
        assert set(found) == spaces
        # Those that are too deep to have what belongs to them under them may come where that is.
        assert [one for one in found if one in shallow] == sorted(shallow, key=Space.encoded)

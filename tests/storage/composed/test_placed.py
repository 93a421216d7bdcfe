"""Conversations and values live in the other store, and what memwell itself keeps in the home."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendError, BackendUnavailable, NotFound
from memwell.messages import ai, human
from memwell.records import Page, Record, Space, Thread
from memwell.storage import open_backend
from memwell.storage.composed import Bytes, ComposedBackend, Part
from memwell.storage.composed.placed import take_home
from memwell.storage.files import FileBlobs
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend, Blobs
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance.backend import in_threads
from memwell.testing.conformance.copies import seen
from memwell.testing.conformance.suite import all_pages
from tests.engines import postgres, redis
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


# The spaces of several stores are listed once each and in one order, whatever order a store has for long ones.


NAMES = ("a", "a/b", '"', "\\", "é", "北京", "\U0001f600", "\uffff", "memwell", "zzz", "\x01")
LONG = "长" * 70
"""With this a path is longer than PostgreSQL keeps as it is, and the cut is inside of a character."""


@pytest.fixture
def spaces_store(tmp_path: Path) -> Iterator[ComposedBackend]:
    part = Part(RedisBackend(redis.single_url(tmp_path)), "a server")
    blobs = FileBlobs(tmp_path / "blobs")
    folder = Bytes(lambda: blobs, "a folder")
    with ComposedBackend(postgres.open_recycled(tmp_path), log=part, kv=part, blobs=folder) as backend:
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

    shallow = {space for space in spaces if len(space) < 15}
    for limit in (1, 7, 100):
        found = all_pages(listing, Space("any"), limit=limit)
        assert len(found) == len(set(found))
        assert set(found) == spaces
        # Those that are too deep to have what belongs to them under them may come where that is.
        assert [one for one in found if one in shallow] == sorted(shallow, key=Space.encoded)


# Bytes elsewhere: what nobody refers to is not there, and no reference is left without its bytes.


@pytest.fixture
def there(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "bytes")


@pytest.fixture
def blobs_store(tmp_path: Path, there: FileBlobs) -> Iterator[ComposedBackend]:
    with ComposedBackend(SqliteBackend(tmp_path / "a.db"), blobs=Bytes(lambda: there, "there")) as made:
        yield made


def test_bytes_are_there_and_references_at_home(blobs_store: ComposedBackend, there: FileBlobs):
    digest = blobs_store.blobs.put(HOME, b"data")
    assert there.get(HOME, digest) == b"data"
    assert blobs_store.home.blobs.scan(HOME).items == []
    assert blobs_store.blobs.scan(HOME).items == [digest]
    assert blobs_store.facts()["parts"]["blobs"] == {"kind": "store", "place": "there", "answers": True}
    assert blobs_store.facts()["blobs"] == 1
    assert blobs_store.blobs.delete(HOME, digest)
    assert there.scan(HOME).items == []
    assert blobs_store.facts()["blobs"] == 0


def test_an_undone_put_leaves_nothing(blobs_store: ComposedBackend, there: FileBlobs):
    kept = hashlib.sha256(b"kept").hexdigest()
    with pytest.raises(ZeroDivisionError), blobs_store.transaction():  # noqa: PT012 - all of it is undone
        blobs_store.blobs.put(HOME, b"undone")
        raise ZeroDivisionError
    with blobs_store.transaction():
        blobs_store.blobs.put(HOME, b"kept")
        with pytest.raises(ZeroDivisionError), blobs_store.transaction():  # noqa: PT012 - all of it is undone
            blobs_store.blobs.put(HOME, b"part")
            raise ZeroDivisionError
    assert there.scan(HOME).items == [kept]
    with pytest.raises(ZeroDivisionError), blobs_store.transaction():  # noqa: PT012 - all of it is undone
        blobs_store.blobs.delete(HOME, kept)
        raise ZeroDivisionError
    assert blobs_store.blobs.get(HOME, kept) == b"kept"
    assert blobs_store.check() == []


def test_bytes_that_nobody_refers_to_are_listed_and_removed(blobs_store: ComposedBackend, there: FileBlobs):
    kept = blobs_store.blobs.put(HOME, b"kept")
    there.put(HOME, b"left by who died")
    with pytest.raises(NotFound):
        blobs_store.blobs.get(HOME, hashlib.sha256(b"left by who died").hexdigest())
    assert ["nothing refers" in complaint for complaint in blobs_store.check()] == [True]
    assert blobs_store.remove_unreferenced() == 1
    assert there.scan(HOME).items == [kept]
    assert blobs_store.check() == []


def test_missing_bytes_are_said(blobs_store: ComposedBackend, there: FileBlobs):
    digest = blobs_store.blobs.put(HOME, b"data")
    there.delete(HOME, digest)
    with pytest.raises(BackendError, match="missing from there"):
        blobs_store.blobs.get(HOME, digest)
    assert ["missing from there" in complaint for complaint in blobs_store.check()] == [True]


def test_where_their_place_is_away_only_blobs_fail(tmp_path: Path):
    away = True

    def opened() -> Blobs:
        if away:
            raise BackendUnavailable("nobody answers")
        return FileBlobs(tmp_path / "bytes")

    with ComposedBackend(SqliteBackend(tmp_path / "a.db"), blobs=Bytes(opened, "there")) as blobs_store:
        blobs_store.kv.put(HOME, "key", 1)
        with pytest.raises(BackendUnavailable, match="blobs at there"):
            blobs_store.blobs.put(HOME, b"x")
        assert blobs_store.blobs.scan(HOME).items == []
        assert blobs_store.facts()["parts"]["blobs"]["answers"] is False
        assert blobs_store.check() == []
        away = False
        assert blobs_store.blobs.get(HOME, blobs_store.blobs.put(HOME, b"x")) == b"x"


def test_putting_and_deleting_the_same_bytes_at_once_tears_nothing(blobs_store: ComposedBackend, there: FileBlobs):
    digest = hashlib.sha256(b"same").hexdigest()

    def work(number: int) -> None:
        for _ in range(15):
            if number % 2:
                blobs_store.blobs.delete(HOME, digest)
            else:
                blobs_store.blobs.put(HOME, b"same")

    in_threads(4, work)
    assert blobs_store.check() == []
    assert blobs_store.blobs.scan(HOME).items == there.scan(HOME).items


DEEP = Space(*map(str, range(16)))


def test_a_space_of_blobs_alone_is_listed_in_its_order(blobs_store: ComposedBackend):
    owners = [HOME, Space("home", "in"), Space("home", "zoo"), Space("a"), Space("z"), DEEP, HOME / "memwell"]
    for owner in owners:
        blobs_store.blobs.put(owner, b"x")
    blobs_store.kv.put(Space("home", "x"), "key", 1)
    blobs_store.kv.put(HOME, "key", 1)
    expected = sorted({*owners, Space("home", "x")}, key=Space.encoded)
    for limit in (1, 2, 3, 100):
        found: list[Space] = []
        cursor = None
        while True:
            page = blobs_store.spaces(limit=limit, cursor=cursor)
            found += page.items
            if page.next is None:
                break
            cursor = page.next
        # A space that is too deep to have anything under it may come out of its turn.
        assert sorted(found, key=Space.encoded) == expected, limit
        assert [one for one in found if one != DEEP] == [one for one in expected if one != DEEP]

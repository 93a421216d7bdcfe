"""Bytes elsewhere: what nobody refers to is not there, and no reference is left without its bytes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.errors import BackendError, BackendUnavailable, NotFound
from memwell.records import Space
from memwell.storage.composed import Bytes, ComposedBackend
from memwell.storage.files import FileBlobs
from memwell.storage.protocols import Blobs
from memwell.storage.sqlite import SqliteBackend

HOME = Space("home")
DEEP = Space(*map(str, range(16)))


@pytest.fixture
def there(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "bytes")


@pytest.fixture
def store(tmp_path: Path, there: FileBlobs) -> Iterator[ComposedBackend]:
    with ComposedBackend(SqliteBackend(tmp_path / "a.db"), blobs=Bytes(lambda: there, lambda: None, "there")) as made:
        yield made


def test_bytes_are_there_and_references_at_home(store: ComposedBackend, there: FileBlobs):
    digest = store.blobs.put(HOME, b"data")
    assert there.get(HOME, digest) == b"data"
    assert store.home.blobs.scan(HOME).items == []
    assert store.blobs.scan(HOME).items == [digest]
    assert store.facts()["parts"]["blobs"] == {"kind": "store", "place": "there", "answers": True}
    assert store.facts()["blobs"] == 1
    assert store.blobs.delete(HOME, digest)
    assert there.scan(HOME).items == []
    assert store.facts()["blobs"] == 0


def test_an_undone_put_leaves_nothing(store: ComposedBackend, there: FileBlobs):
    kept = hashlib.sha256(b"kept").hexdigest()
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
        store.blobs.put(HOME, b"undone")
        raise ZeroDivisionError
    with store.transaction():
        store.blobs.put(HOME, b"kept")
        with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
            store.blobs.put(HOME, b"part")
            raise ZeroDivisionError
    assert there.scan(HOME).items == [kept]
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
        store.blobs.delete(HOME, kept)
        raise ZeroDivisionError
    assert store.blobs.get(HOME, kept) == b"kept"
    assert store.check() == []


def test_bytes_that_nobody_refers_to_are_listed_and_removed(store: ComposedBackend, there: FileBlobs):
    kept = store.blobs.put(HOME, b"kept")
    there.put(HOME, b"left by who died")
    with pytest.raises(NotFound):
        store.blobs.get(HOME, hashlib.sha256(b"left by who died").hexdigest())
    assert ["nothing refers" in complaint for complaint in store.check()] == [True]
    assert store.remove_unreferenced() == 1
    assert there.scan(HOME).items == [kept]
    assert store.check() == []


def test_missing_bytes_are_said(store: ComposedBackend, there: FileBlobs):
    digest = store.blobs.put(HOME, b"data")
    there.delete(HOME, digest)
    with pytest.raises(BackendError, match="missing from there"):
        store.blobs.get(HOME, digest)
    assert ["missing from there" in complaint for complaint in store.check()] == [True]


def test_where_their_place_is_away_only_blobs_fail(tmp_path: Path):
    away = True

    def opened() -> Blobs:
        if away:
            raise BackendUnavailable("nobody answers")
        return FileBlobs(tmp_path / "bytes")

    with ComposedBackend(SqliteBackend(tmp_path / "a.db"), blobs=Bytes(opened, lambda: None, "there")) as store:
        store.kv.put(HOME, "key", 1)
        with pytest.raises(BackendUnavailable, match="blobs at there"):
            store.blobs.put(HOME, b"x")
        assert store.blobs.scan(HOME).items == []
        assert store.facts()["parts"]["blobs"]["answers"] is False
        assert store.check() == []
        away = False
        assert store.blobs.get(HOME, store.blobs.put(HOME, b"x")) == b"x"


def test_putting_and_deleting_the_same_bytes_at_once_tears_nothing(store: ComposedBackend, there: FileBlobs):
    digest = hashlib.sha256(b"same").hexdigest()

    def put() -> None:
        for _ in range(15):
            store.blobs.put(HOME, b"same")

    def delete() -> None:
        for _ in range(15):
            store.blobs.delete(HOME, digest)

    threads = [threading.Thread(target=work) for work in (put, delete, put, delete)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.check() == []
    assert store.blobs.scan(HOME).items == there.scan(HOME).items


def test_a_space_of_blobs_alone_is_listed_in_its_order(store: ComposedBackend):
    owners = [HOME, Space("home", "in"), Space("home", "zoo"), Space("a"), Space("z"), DEEP, HOME / "memwell"]
    for owner in owners:
        store.blobs.put(owner, b"x")
    store.kv.put(Space("home", "x"), "key", 1)
    store.kv.put(HOME, "key", 1)
    expected = sorted({*owners, Space("home", "x")}, key=Space.encoded)
    for limit in (1, 2, 3, 100):
        found: list[Space] = []
        cursor = None
        while True:
            page = store.spaces(limit=limit, cursor=cursor)
            found += page.items
            if page.next is None:
                break
            cursor = page.next
        # A space that is too deep to have anything under it may come out of its turn.
        assert sorted(found, key=Space.encoded) == expected, limit
        assert [one for one in found if one != DEEP] == [one for one in expected if one != DEEP]

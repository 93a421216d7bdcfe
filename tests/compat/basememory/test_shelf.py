"""Any storage can be worked on with what it has."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.compat.basememory.shelf import CannotOptimize, Shelf
from memwell.compat.basememory.storages import ListStorage


class Readable:
    def __init__(self, *items: Any) -> None:
        self.rows = list(items)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


class Replaceable(Readable):
    def replace(self, items: list[Any]) -> None:
        self.rows = items


class Writable(Readable):
    def __setitem__(self, index: int, value: Any) -> None:
        self.rows[index] = value

    def __delitem__(self, index: int) -> None:
        del self.rows[index]


def test_items_are_dropped_in_the_way_the_storage_has() -> None:
    for storage in (Replaceable(*"abcde"), Writable(*"abcde"), ListStorage("abcde"), list("abcde")):
        shelf = Shelf("x", storage)
        shelf.drop([1, 3])
        assert list(shelf) == ["a", "c", "e"]
        assert shelf.dropped == [1, 3]
    named = dict(enumerate("abcde", 10))
    shelf = Shelf("x", named)
    shelf.drop([1, 3])
    shelf.drop([0])
    assert named == {12: "c", 14: "e"}


def test_what_a_storage_lacks_is_said() -> None:
    shelf = Shelf("x", Readable("a", "b"))
    asked = [
        (lambda: shelf.drop([0]), "no-delitem"),
        (lambda: shelf.replace(0, "c"), "no-setitem"),
        (lambda: shelf.pack(6), "no-pack"),
        (shelf.uses, "no-uses"),
    ]
    for ask, reason in asked:
        with pytest.raises(CannotOptimize, match=reason):
            ask()
    shelf.drop([])
    assert list(shelf) == ["a", "b"]


def test_what_could_be_changed_is_not_shared_by_others_storages() -> None:
    first, second = ["x"], ["x"]
    storage = Writable(first, second, "long " * 9, "".join(["long "] * 9))
    assert Shelf("x", storage).share({1: 0, 3: 2}) == 1
    assert storage[1] is second
    assert storage[3] is storage[2]
    assert Shelf("x", storage).share({3: 2}) == 0


def test_the_same_words_of_two_people_are_two_items() -> None:
    one, two, three = Shelf("x", ["ok", "ok", "ok"], owners=["Anna", "Ben", "Anna"]).identities()
    assert one == three != two


def test_bytes_are_those_of_everything_inside() -> None:
    assert Shelf("x", Readable("x" * 5000)).bytes() > 5000

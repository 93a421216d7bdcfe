"""Which class an item is of, as a storage notes it."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.compat.dbgpt.item_classes import CLASS, ItemClasses, unnoted
from memwell.compat.dbgpt.rows import StoragePlace
from memwell.compat.dbgpt.serialization import JsonSerializer
from memwell.filters import Where
from memwell.records import Space
from memwell.storage import open_backend


class Animal: ...


class Cat(Animal): ...


class Tree: ...


def classes() -> ItemClasses:
    return ItemClasses(StoragePlace(open_backend("memory:"), Space("a"), "items", JsonSerializer()))


@pytest.mark.parametrize("pushed", [None, Where("city", "eq", "Oslo")])
def test_only_among_strangers_is_the_class_asked_for(pushed: Any):
    noted = classes()
    assert noted.narrowed(pushed, Animal) is pushed
    for _ in range(3):
        noted.note([Animal(), Cat()])
    assert noted.narrowed(pushed, Animal) is pushed
    assert noted.narrowed(pushed, Cat) is pushed
    assert noted.narrowed(pushed, Tree) != pushed
    noted.note([Tree()])
    assert noted.narrowed(pushed, Animal) != pushed


def test_once_something_does_not_fit_the_class_is_always_asked_for():
    noted = classes()
    assert noted.narrowed(None, Cat) is None
    assert [noted.distrust(), noted.distrust()] == [True, False]
    assert noted.narrowed(None, Cat) is not None


@pytest.mark.parametrize("value", [{"a": 1, CLASS: "Cat"}, {"a": 1}])
def test_the_note_is_no_field(value: Any):
    assert unnoted(value) == {"a": 1}
    assert unnoted([1]) == [1]

"""Our storage does what a list does, and any other object with two methods is a storage too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.optimizing import deep_size
from memwell.compat.basememory.storages import ListStorage
from memwell.errors import InvalidInput

LARGE = "large " * 2000
ITEMS = st.sampled_from(["a", "猫", "\ud800" * 99, {"n": 1}, [1, 2.5], b"bytes", None, LARGE, LARGE + "!"])
VERBS = st.sampled_from(["append", "many", "set", "delete", "drop", "insert", "first", "compress"])
STEPS = st.lists(st.tuples(VERBS, st.integers(0, 400), ITEMS), max_size=14)


@given(steps=STEPS)
def test_a_storage_does_what_a_list_does(steps: list[tuple[str, int, Any]]) -> None:
    storage, model = ListStorage(), list[Any]()
    for verb, number, item in steps:
        _step(storage, model, verb, number, item)
        assert list(storage) == model
        assert len(storage) == len(model)
    assert [storage[at] for at in range(0, len(model), 37)] == model[::37]
    assert storage[3:600:7] == model[3:600:7]
    assert storage[::-90] == model[::-90]


def _step(storage: Any, model: list[Any], verb: str, number: int, item: Any) -> None:
    at = number % len(model) if model else 0
    if verb == "append":
        storage.append(item)
        model.append(item)
    elif verb == "many":
        more = [f"{item if type(item) is str and len(item) < 9 else 'x'} {one}" for one in range(number)]
        storage.extend(more)
        model.extend(more)
    elif verb == "insert":
        storage.insert(at, item)
        model.insert(at, item)
    elif verb == "compress":
        storage.compress(6)
    elif model and verb == "set":
        storage[at] = model[at] = item
    elif model and verb == "delete":
        del storage[at], model[at]
    elif model and verb == "drop":
        storage.drop({at, 0})
        model[:] = [one for place, one in enumerate(model) if place not in (at, 0)]
    elif model and verb == "first":
        storage.drop(set(range(at)))
        del model[:at]


def test_items_are_kept_by_value() -> None:
    item = {"tags": ["a"]}
    storage = ListStorage([item])
    item["tags"].append("b")
    storage[0]["tags"].append("c")
    assert storage[0] == {"tags": ["a"]}


def test_compressed_items_are_read_as_before() -> None:
    class Mine:
        pass

    mine, texts = Mine(), [f"User{at} says: " + "Hello, world! How are you today? " * 9 for at in range(50)]
    storage = ListStorage([*texts, 1, None, "not worth it", mine])
    before = deep_size(storage)
    assert storage.compress(6) == 50
    assert deep_size(storage) < 0.75 * before
    assert list(storage) == [*texts, 1, None, "not worth it", mine]
    assert (storage[49], storage.compress(6)) == (texts[-1], 0)


def test_several_items_cannot_be_put_in_one_place() -> None:
    with pytest.raises(InvalidInput, match="instead of a slice"):
        ListStorage("abc")[0:2] = "x"

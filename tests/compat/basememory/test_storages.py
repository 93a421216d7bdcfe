"""Our storages do what a list does, and any other object with two methods is a storage too."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.optimizing import deep_size
from memwell.compat.basememory.storages import DurableStorage, ListStorage, SparseVector, encode_item
from memwell.errors import InvalidInput
from memwell.records import Space
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend

LARGE = "large " * 2000
ITEMS = st.sampled_from(["a", "猫", {"n": 1}, [1, 2.5], b"bytes", None, LARGE, LARGE + "!"])
VERBS = st.sampled_from(["append", "many", "set", "delete", "drop", "insert", "first", "compress"])
STEPS = st.lists(st.tuples(VERBS, st.integers(0, 400), ITEMS), max_size=14)


@pytest.mark.parametrize("kind", [ListStorage, DurableStorage])
@given(steps=STEPS)
def test_a_storage_does_what_a_list_does(kind: Any, steps: list[tuple[str, int, Any]]) -> None:
    with MemoryBackend() as backend:
        storage: Any = DurableStorage(backend) if kind is DurableStorage else ListStorage()
        model: list[Any] = []
        for verb, number, item in steps:
            _step(storage, model, verb, number, item)
            assert list(storage) == model
            assert len(storage) == len(model)
        again = DurableStorage(backend) if kind is DurableStorage else storage
        assert [again[at] for at in range(0, len(model), 37)] == model[::37]
        assert again[3:600:7] == model[3:600:7]
        assert again[::-90] == model[::-90]


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
    elif verb == "compress" and isinstance(storage, ListStorage):
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
    storage = ListStorage([*texts, 1, None, "a", mine])
    before = deep_size(storage)
    assert storage.compress(6) == 50
    assert deep_size(storage) < 0.75 * before
    assert list(storage) == [*texts, 1, None, "a", mine]
    assert (storage[49], storage.compress(6)) == (texts[-1], 0)


def test_several_items_cannot_be_put_in_one_place() -> None:
    with pytest.raises(InvalidInput, match="instead of a slice"):
        ListStorage("abc")[0:2] = "x"


def test_items_of_earlier_versions_are_read_and_written_on(tmp_path: Path) -> None:
    texts = [f"消息 {at}" for at in range(300)]
    with open_backend(tmp_path / "app.db") as backend:
        space = Space("default") / "memwell" / "basememory 4.logs"
        # 256 rows in a compressed page, the others loose, large ones in a blob.
        page = zlib.compress(msgspec.msgpack.encode([encode_item(one) for one in texts[:256]]))
        backend.kv.put(space, f"p{0:015d}", page)
        for at, one in enumerate(texts[256:], 256):
            backend.kv.put(space, f"i{at:015d}", encode_item(one))
        digest = backend.blobs.put(space, zlib.compress(encode_item(LARGE)))
        for at in (300, 301):
            backend.kv.put(space, f"i{at:015d}", {"blob": digest, "size": 9})
        backend.kv.put(space, "bounds", {"first": 0, "next": 302})
    with open_backend(tmp_path / "app.db") as backend:
        storage = DurableStorage(backend, "logs")
        assert list(storage) == [*texts, LARGE, LARGE]
        assert backend.blobs.scan(space).items == []
        storage[3] = SparseVector(2, "int8", 0.5, b"\x01\x02", None, 0.0)
        assert storage[3].dense() == [0.5, 1.0]
        del storage[0]
        assert DurableStorage(backend, "logs")[-1] == LARGE


def test_an_item_that_cannot_be_kept_is_refused_with_all_of_its_batch() -> None:
    with MemoryBackend() as backend:
        storage = DurableStorage(backend)
        with pytest.raises(InvalidInput, match="plain JSON data"):
            storage.extend(["fine", object()])
        with pytest.raises(InvalidInput, match="lone surrogates"):
            storage.append("\ud800")
        assert len(storage) == 0
        with pytest.raises(IndexError, match="holds 0"):
            storage[0]

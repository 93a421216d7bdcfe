"""A list in a store: like any list, there after a restart, and right beside others."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.durable import DurableStorage
from memwell.errors import InvalidInput
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend

LARGE = "large " * 2000
ITEMS = st.sampled_from(["a", "猫", {"n": 1}, [1, 2.5], b"bytes", None, LARGE, LARGE + "!"])
VERBS = st.sampled_from(["append", "many", "set", "delete", "drop", "pack", "insert", "first"])
STEPS = st.lists(st.tuples(VERBS, st.integers(0, 400), ITEMS), max_size=14)


@given(STEPS)
def test_it_does_what_a_list_does_packed_or_not(steps: list[tuple[str, int, Any]]) -> None:
    with MemoryBackend() as backend:
        storage, model = DurableStorage(backend), list[Any]()
        for verb, number, item in steps:
            _step(storage, model, verb, number, item)
            assert list(storage) == model
            assert len(storage) == len(model)
        again = DurableStorage(backend)
        assert [again[at] for at in range(0, len(model), 37)] == model[::37]
        assert again[3:600:7] == model[3:600:7]
        assert again[::-90] == model[::-90]
        _every_blob_has_its_row(backend, model)


def _step(storage: DurableStorage, model: list[Any], verb: str, number: int, item: Any) -> None:
    at = number % len(model) if model else 0
    if verb == "append":
        storage.append(item)
        model.append(item)
    elif verb == "many":
        more = [f"{item if type(item) is str and len(item) < 9 else 'x'} {one}" for one in range(number)]
        storage.extend(more)
        model.extend(more)
    elif verb == "pack":
        storage.pack(6)
    elif verb == "insert":
        storage.insert(at, item)
        model.insert(at, item)
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


def _every_blob_has_its_row(backend: MemoryBackend, model: list[Any]) -> None:
    assert backend.facts()["blobs"] == len({item for item in model if type(item) is str and len(item) > 4096})


def test_it_is_there_after_a_restart_packed_or_not(tmp_path: Path) -> None:
    items = [{"text": f"消息 {at}"} for at in range(600)]
    with open_backend(tmp_path / "app.db") as backend:
        storage = DurableStorage(backend, "logs")
        storage.extend(items)
        before = storage.stored_bytes()
        assert storage.pack(6) == 512
        assert storage.stored_bytes() < before / 2
    with open_backend(tmp_path / "app.db") as backend:
        again = DurableStorage(backend, "logs")
        assert list(again) == items
        assert again[-1] == items[-1]
        assert again.pack(6) == 0


def test_a_large_item_lies_in_the_store_once_and_goes_with_its_last_place() -> None:
    with MemoryBackend() as backend:
        storage = DurableStorage(backend)
        storage.extend([LARGE, LARGE, "small"])
        assert backend.facts()["blobs"] == 1
        storage[0] = "small too"
        assert list(storage) == ["small too", LARGE, "small"]
        del storage[1]
        assert backend.facts()["blobs"] == 0


def test_an_item_that_is_put_anew_while_it_is_read_is_found() -> None:
    class Slow(DurableStorage):
        waiting = True

        def _page(self, number: int) -> Any:
            if self.waiting:
                # Another one writes after the rows were read, and before the page is.
                self.waiting = False
                DurableStorage(backend)[7] = "new"
            return super()._page(number)

    with MemoryBackend() as backend:
        storage = Slow(backend)
        storage.extend(map(str, range(300)))
        DurableStorage(backend).pack(6)
        assert list(storage)[6:9] == ["6", "new", "8"]


def test_names_and_spaces_share_nothing() -> None:
    with MemoryBackend() as backend:
        DurableStorage(backend, "a").append(1)
        assert [len(DurableStorage(backend, "b")), len(DurableStorage(backend, "a", space="other"))] == [0, 0]
        assert list(DurableStorage(backend, "a")) == [1]


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


def test_threads_lose_nothing_while_others_pack_and_read(tmp_path: Path) -> None:
    seen: list[int] = []
    with open_backend(tmp_path / "app.db") as backend:
        storage = DurableStorage(backend)
        storage.extend(range(600))

        def write(who: int) -> None:
            for at in range(15):
                storage.append([who, at])

        def read() -> None:
            for at in range(40):
                storage.pack(1)
                seen.append(storage[at] - at)

        threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
        threads += [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        added = list(storage)[600:]
        assert seen == [0] * 80
        assert all([at for who, at in added if who == mine] == list(range(15)) for mine in range(8))
        assert list(storage)[:600] == list(range(600))

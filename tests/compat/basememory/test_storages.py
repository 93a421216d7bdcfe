"""Our own storage does what a list does, and any other with two methods will do."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.sizes import deep_size
from memwell.compat.basememory.storages import ListStorage, add_to, check_storage, each, furnished
from memwell.errors import InvalidInput, Unsupported

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "insert", "set", "delete", "pack", "drop"]), st.integers(0, 9), st.text(max_size=3)
    ),
    max_size=30,
)


@given(STEPS)
def test_it_does_what_a_list_does_packed_or_not(steps: list[tuple[str, int, str]]) -> None:
    storage, model = ListStorage(), list[Any]()
    for verb, at, text in steps:
        item = {"text": text * 100}
        if verb == "append":
            storage.append(item)
            model.append(item)
        elif verb == "insert":
            storage.insert(at, item)
            model.insert(at, item)
        elif verb == "pack":
            storage.pack(6)
        elif verb == "drop":
            storage.drop({at})
            del model[at : at + 1]
        elif at < len(model) and verb == "set":
            storage[at] = model[at] = item
        elif at < len(model):
            del storage[at], model[at]
        assert list(storage) == model
        assert [storage[place] for place in range(len(storage))] == model
        assert storage[1:4] == model[1:4]
        assert len(storage.uses()) == len(model)


def test_items_are_kept_by_value() -> None:
    item = {"tags": ["a"]}
    storage = ListStorage([item])
    item["tags"].append("b")
    storage[0]["tags"].append("c")
    assert storage[0] == {"tags": ["a"]}


def test_packing_saves_and_nobody_sees_it() -> None:
    texts = [f"User{at} says: Hello, world! How are you today?" for at in range(500)]
    storage = ListStorage(texts)
    before = deep_size(storage)
    assert storage.pack(6) == 500
    assert deep_size(storage) < 0.75 * before
    assert list(storage) == texts
    assert storage[-1] == texts[-1]
    assert storage.pack(6) == 0


def test_what_does_not_become_smaller_is_left_alone() -> None:
    class Mine:
        pass

    mine = Mine()
    storage = ListStorage([1, None, "a", mine])
    assert storage.pack(9) == 0
    assert storage[3] is mine


def test_reads_by_index_are_counted() -> None:
    storage = ListStorage("abc")
    assert [storage[1], storage[1], storage[-1], *storage] == ["b", "b", "c", "a", "b", "c"]
    assert storage.uses() == [0, 2, 1]


def test_several_items_cannot_be_put_in_one_place() -> None:
    with pytest.raises(InvalidInput, match="instead of a slice"):
        ListStorage("abc")[0:2] = "x"


def test_threads_lose_nothing() -> None:
    storage = ListStorage()
    threads = [threading.Thread(target=lambda: [storage.append("x") for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(storage) == len(storage.uses()) == 4000


class Sketch:
    def __len__(self) -> Any:
        pass

    def __getitem__(self, index: Any) -> Any:
        pass


class Bare:
    """As people write it: nobody makes the list."""

    rows: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


def test_a_sketch_is_a_storage_and_nothing_of_it_is_asked() -> None:
    sketch = Sketch()
    assert furnished(check_storage(sketch, "data"), "data") is sketch


@pytest.mark.parametrize("storage", [5, None, "text", b"bytes", {1}, iter([])])
def test_what_is_no_storage_is_refused(storage: Any) -> None:
    with pytest.raises(InvalidInput, match="must be a storage with __len__ and __getitem__"):
        check_storage(storage, "data")


def test_a_class_in_the_place_of_a_storage_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"write Sketch\(\)"):
        check_storage(Sketch, "data")


def test_a_storage_without_init_gets_the_list_it_asks_for() -> None:
    bare = furnished(Bare(), "messages")
    assert len(bare) == 0
    state = furnished(Bare(), "state")
    assert isinstance(state, Bare)
    assert state.rows == {}


def test_a_storage_that_has_what_it_needs_keeps_it() -> None:
    bare = Bare()
    bare.rows = [1]
    furnished(bare, "messages")
    assert bare.rows == [1]


def test_an_error_that_is_not_its_own_lack_is_not_hidden() -> None:
    class Broken:
        def __len__(self) -> int:
            return "text".nothing  # type: ignore[attr-defined]

        def __getitem__(self, index: int) -> Any:
            return None

    with pytest.raises(AttributeError, match="nothing"):
        furnished(Broken(), "messages")


def test_one_with_an_init_is_left_alone() -> None:
    class Lazy(Bare):
        def __init__(self) -> None:
            pass

    lazy = furnished(Lazy(), "messages")
    assert not hasattr(lazy, "rows")


def test_each_goes_through_anything() -> None:
    bare = Bare()
    bare.rows = ["a", "b"]
    assert [list(each(one)) for one in (bare, ["a", "b"], {"x": "a", "y": "b"}, ("a", "b"))] == [["a", "b"]] * 4


def test_items_are_added_in_the_way_the_storage_has() -> None:
    class Adding(Bare):
        def add_message(self, item: Any) -> None:
            self.rows.append(("added", item))

    adding, listed = furnished(Adding(), "x"), ListStorage()
    add_to(adding, "messages", 1)
    add_to(listed, "messages", 1)
    assert list(each(adding)) == [("added", 1)]
    assert list(listed) == [1]
    bare: Any = furnished(Bare(), "rows")
    add_to(bare, "rows", 2)
    assert bare[0] == 2
    with pytest.raises(Unsupported, match="give it add_message or append"):
        add_to(Sketch(), "messages", 1)

"""The contract of a storage, and what follows from its seven methods."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.storage import (
    DefaultStorageItemAdapter,
    PaginationResult,
    QuerySpec,
    ResourceIdentifier,
    StorageError,
    StorageInterface,
    StorageItem,
)
from memwell.errors import InvalidInput, MemwellError


class Name(ResourceIdentifier):
    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def str_identifier(self) -> str:
        return self.name

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name}


class Other(Name):
    pass


class Thing(StorageItem):
    def __init__(self, name: str, size: int = 0) -> None:
        self.name = name
        self.size = size

    @property
    def identifier(self) -> Name:
        return Name(self.name)

    def merge(self, other: StorageItem) -> None:
        assert isinstance(other, Thing)
        self.size = other.size

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.size}


class DictStorage(StorageInterface[Thing, Thing]):
    """A storage as a user would write one: nothing but the abstract methods."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Thing] = {}

    def save(self, data: Thing) -> None:
        if data.name in self.held:
            raise StorageError("there already")
        self.held[data.name] = data

    def update(self, data: Thing) -> None:
        self.held[data.name] = data

    def save_or_update(self, data: Thing) -> None:
        self.update(data)

    def load(self, resource_id: ResourceIdentifier, cls: type[Thing]) -> Thing | None:
        return self.held.get(resource_id.str_identifier)

    def delete(self, resource_id: ResourceIdentifier) -> None:
        self.held.pop(resource_id.str_identifier, None)

    def query(self, spec: QuerySpec, cls: type[Thing]) -> list[Thing]:
        found = [one for one in self.held.values() if all(getattr(one, k) == v for k, v in spec.conditions.items())]
        return found[spec.offset :][: spec.limit]

    def count(self, spec: QuerySpec, cls: type[Thing]) -> int:
        return len(self.query(QuerySpec(spec.conditions), cls))


def test_identifiers_are_equal_by_their_text() -> None:
    assert Name("a") == Other("a") != Name("b")
    assert len({Name("a"), Other("a"), Name("b")}) == 2
    assert Name("a") != "a"


def test_the_error_says_what_is_wrong() -> None:
    error = StorageError("gone")
    assert (error.message, str(error), isinstance(error, MemwellError)) == ("gone", "gone", True)


def test_lists_follow_from_single_items() -> None:
    storage = DictStorage()
    storage.save_list([Thing("a", 1), Thing("b", 2)])
    storage.save_or_update_list([Thing("b", 3), Thing("c", 4)])
    assert [one.size for one in storage.load_list([Name("c"), Name("x"), Name("b")], Thing)] == [4, 3]
    storage.delete_list([Name("a"), Name("x")])
    assert sorted(storage.held) == ["b", "c"]


def test_the_async_twins_do_the_same() -> None:
    async def use(storage: DictStorage) -> tuple[Any, ...]:
        await storage.asave(Thing("a", 1))
        await storage.aupdate(Thing("a", 2))
        await storage.asave_or_update(Thing("b", 2))
        await storage.asave_list([Thing("c", 2)])
        await storage.asave_or_update_list([Thing("d", 2)])
        await storage.adelete(Name("d"))
        await storage.adelete_list([Name("c")])
        spec = QuerySpec({"size": 2})
        page = await storage.apaginate_query(1, 1, Thing, spec)
        loaded = await storage.aload_list([Name("a")], Thing)
        return len(await storage.aquery(spec, Thing)), await storage.acount(spec, Thing), page.total_pages, len(loaded)

    storage = DictStorage()
    assert asyncio.run(use(storage)) == (2, 2, 2, 1)
    assert storage.load(Name("a"), Thing) is asyncio.run(storage.aload(Name("a"), Thing))


@given(st.integers(0, 30), st.integers(1, 12), st.integers(1, 7))
def test_pages_hold_what_a_slice_would(total: int, page: int, size: int) -> None:
    storage = DictStorage()
    storage.save_list([Thing(f"t{at}", at) for at in range(total)])
    spec = QuerySpec({}, limit=3, offset=2)
    found = storage.paginate_query(page, size, Thing, spec)
    assert [one.size for one in found.items] == list(range(total))[(page - 1) * size : page * size]
    assert (found.total_count, found.total_pages, found.page, found.page_size) == (total, -(-total // size), page, size)
    assert (spec.limit, spec.offset) == (3, 2), "the question was changed"


@pytest.mark.parametrize(("page", "size"), [(0, 1), (-1, 1), (1, 0), (1.5, 1), (True, 1), (1, None), ("1", 1)])
def test_a_page_that_cannot_be_is_refused(page: Any, size: Any) -> None:
    with pytest.raises(InvalidInput):
        DictStorage().paginate_query(page, size, Thing)


@given(st.integers(0, 20), st.integers(-3, 9), st.integers(-3, 9))
def test_a_page_of_a_list_is_the_nearest_there_is(total: int, page: int, size: int) -> None:
    items = list(range(total))
    found = PaginationResult.build_from_all(items, page, size)
    assert found.page_size == max(1, size)
    assert found.total_pages * found.page_size >= total
    assert found.page == (min(max(1, page), found.total_pages) if total else 0)
    assert found.items == items[max(0, found.page - 1) * found.page_size :][: found.page_size]


def test_the_default_adapter_changes_nothing() -> None:
    adapter, thing = DefaultStorageItemAdapter[Thing](), Thing("a")
    assert adapter.from_storage_format(adapter.to_storage_format(thing)) is thing
    assert adapter.get_query_for_identifier(Thing, Name("a")) is True
    assert DictStorage().adapter.to_storage_format(thing) is thing

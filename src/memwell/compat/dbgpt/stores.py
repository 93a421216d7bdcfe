"""The storages: one implementation of the contract, over every backend."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from memwell.compat.dbgpt.item_rows import ItemRows
from memwell.compat.dbgpt.rows import Rows, RowsMaker, StoragePlace
from memwell.compat.dbgpt.serialization import Serializer
from memwell.compat.dbgpt.storage import (
    DefaultStorageItemAdapter,
    QuerySpec,
    ResourceIdentifier,
    StorageInterface,
    StorageItem,
    StorageItemAdapter,
)
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_count, check_id, shown

T = TypeVar("T", bound=StorageItem)


class BackendStorage(StorageInterface[T, Any]):
    """Items in a store of ours: a file, memory, or any other backend.

    ``store`` is a path, a URL or an open backend, ``name`` keeps this storage's items apart from those of others in the
    same ``space``. Items come in the order of their identifiers, in which numbers sort by value. Lists are stored or
    deleted all or none. ``update`` stores what is not there yet. Messages are kept as the conversation they belong to,
    whatever ``name`` is; with an adapter they are items like any other.
    """

    def __init__(
        self,
        store: Store = "memwell.db",
        name: str = "items",
        *,
        space: SpaceLike = DEFAULT_SPACE,
        serializer: Serializer | None = None,
        adapter: StorageItemAdapter[T, Any] | None = None,
    ) -> None:
        super().__init__(serializer, adapter)
        translates = adapter is not None and type(adapter) is not DefaultStorageItemAdapter
        self.backend: Backend = shared_backend(store)
        self.space = as_space(space)
        self._place = StoragePlace(
            self.backend,
            self.space,
            check_id(name, "a storage's name"),
            self.serializer,
            adapter if translates else None,
        )
        self._items = ItemRows(self._place)
        self._others: dict[RowsMaker, Rows] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place.name!r}, space={self.space!r})"

    @property
    def keeps_conversations(self) -> bool:
        """Whether messages are kept as conversations, which every other part of memwell can read."""
        return self._place.adapter is None

    def history(self, conv_uid: str) -> History:
        """The conversation that the messages of ``conv_uid`` are. Raises ``InvalidInput`` with an adapter, where they are
        items.
        """
        if not self.keeps_conversations:
            raise InvalidInput(f"a storage with an adapter keeps items, not conversations: {self!r}")
        return History(self.backend, conv_uid, space=self.space)

    # One item

    def save(self, data: T) -> None:
        """Store a new item. Raises ``StorageError`` when there is none, or one of its identifier is stored already."""
        self._rows(self._checked(data)).add((data,))

    def update(self, data: T) -> None:
        """Store an item in the place of the one of its identifier, or as a new one. Raises ``StorageError`` for None."""
        self._rows(self._checked(data)).put((data,))

    def save_or_update(self, data: T) -> None:
        """Store an item, new or not. Raises ``StorageError`` for None."""
        self.update(data)

    def load(self, resource_id: ResourceIdentifier, cls: type[T]) -> T | None:
        """A fresh copy of the item, or None when there is none. Raises ``StorageError`` when it is no ``cls``."""
        found = self._rows(resource_id).get(resource_id, _checked_class(cls))
        if found is not None and _wants_to_know(found.__class__):
            found.found_in(self)
        return found

    def delete(self, resource_id: ResourceIdentifier) -> None:
        """Drop an item. One that is not there is fine."""
        self._rows(resource_id).drop((resource_id,))

    # Several

    def save_list(self, data: Iterable[T]) -> None:
        """Store new items, all or none. Raises ``StorageError`` when one is there already."""
        groups = self._grouped([self._checked(one) for one in data])
        with self._together(groups):
            for rows, some in groups:
                rows.add(some)

    def save_or_update_list(self, data: Iterable[T]) -> None:
        """Store items, new or not, all or none."""
        groups = self._grouped([self._checked(one) for one in data])
        with self._together(groups):
            for rows, some in groups:
                rows.put(some)

    def delete_list(self, resource_id: Iterable[ResourceIdentifier]) -> None:
        """Drop items, all or none. Those that are not there are fine."""
        groups = self._grouped(list(resource_id))
        with self._together(groups):
            for rows, some in groups:
                rows.drop(some)

    def query(self, spec: QuerySpec, cls: type[T]) -> list[T]:
        """The items that satisfy all conditions, in order.

        Raises ``StorageError`` for an attribute that ``cls`` does not have, ``InvalidInput`` for a limit or an offset
        that is no count.
        """
        limit = None if spec.limit is None else check_count(spec.limit, "limit")
        rows = self._rows(_checked_class(cls))
        return self._told(rows.find(spec.conditions, cls, limit, check_count(spec.offset, "offset")))

    def count(self, spec: QuerySpec, cls: type[T]) -> int:
        """How many items satisfy all conditions, whatever the limit and the offset. Raises as ``query`` does."""
        return self._rows(_checked_class(cls)).count(spec.conditions, cls)

    def _told(self, found: list[T]) -> list[T]:
        """The items, which were told where they were found, if their class wants to know."""
        if found and _wants_to_know(type(found[0])):
            for one in found:
                one.found_in(self)
        return found

    def _rows(self, owner: Any) -> Rows:
        """Where items of a kind are; their class, an item and an identifier all know."""
        # The attribute of the class: an item may have one of that name for itself.
        kind: type[Any] = owner if isinstance(owner, type) else owner.__class__
        maker: RowsMaker | None = getattr(kind, "kept_as", None)
        if maker is None or self._place.adapter is not None:
            return self._items
        rows = self._others.get(maker)
        if rows is None:
            rows = self._others[maker] = maker(self._place)
        return rows

    def _grouped(self, owners: Sequence[Any]) -> Sequence[tuple[Rows, Sequence[Any]]]:
        groups: dict[int, tuple[Rows, list[Any]]] = {}
        for owner in owners:
            rows = self._rows(owner)
            groups.setdefault(id(rows), (rows, []))[1].append(owner)
        return list(groups.values())

    def _together(self, groups: Sequence[object]) -> AbstractContextManager[None]:
        # Rows store theirs together by themselves.
        return nullcontext() if len(groups) == 1 else self.backend.transaction()

    def _checked(self, data: T | None) -> T:
        if not data:
            raise StorageError("Data cannot be None")
        if not isinstance(data, StorageItem):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StorageError(f"a storage keeps StorageItems, not {shown(data)}")
        if data._serializer is None:  # pyright: ignore[reportPrivateUsage] - the attribute is part of the contract
            data.set_serializer(self.serializer)
        return data


@functools.cache
def _wants_to_know(cls: type[Any]) -> bool:
    """Whether items of a class are told where they were found. An adapter may make anything."""
    return getattr(cls, "found_in", StorageItem.found_in) is not StorageItem.found_in


def _checked_class(cls: type[T]) -> type[T]:
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StorageError(f"say of which class the items are, not {shown(cls)}")
    return cls


class InMemoryStorage(BackendStorage[T]):
    """Items that last as long as the storage."""

    def __init__(self, serializer: Serializer | None = None, adapter: StorageItemAdapter[T, Any] | None = None) -> None:
        super().__init__(open_backend("memory:"), serializer=serializer, adapter=adapter)


__all__ = ["BackendStorage", "InMemoryStorage"]

"""The contract of a storage: items that are saved, loaded, found by conditions and deleted.

The values it speaks of, and the methods that follow from others, written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from memwell._asyncify import asyncify
from memwell.compat.dbgpt.rows import RowsMaker
from memwell.compat.dbgpt.serialization import JsonSerializer, Serializable, Serializer
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.values import check_count


class ResourceIdentifier(Serializable):
    """What names an item. Two that have the same text are equal."""

    kept_as: ClassVar[RowsMaker | None] = None
    """Where a storage over a backend keeps what this names, when it is not beside the others."""

    @property
    @abstractmethod
    def str_identifier(self) -> str:
        """The text that no other item of the storage has."""

    def __hash__(self) -> int:
        return hash(self.str_identifier)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResourceIdentifier) and self.str_identifier == other.str_identifier


class StorageItem(Serializable):
    """What a storage keeps. It is written by ``to_dict`` and made again by its constructor from the same fields."""

    kept_as: ClassVar[RowsMaker | None] = None
    """Where a storage over a backend keeps such items, when it is not beside the others."""

    @property
    @abstractmethod
    def identifier(self) -> ResourceIdentifier:
        """What names the item."""

    @abstractmethod
    def merge(self, other: StorageItem) -> None:
        """Take over what ``other`` holds."""

    def found_in(self, storage: StorageInterface[Any, Any]) -> None:
        """Called by a storage over a backend for each item that it loads or finds. For items that want to know."""


ID = TypeVar("ID", bound=ResourceIdentifier)
T = TypeVar("T", bound=StorageItem)
TDataRepresentation = TypeVar("TDataRepresentation")


class StorageItemAdapter(ABC, Generic[T, TDataRepresentation]):
    """Translates items to the form a storage keeps, and back."""

    @abstractmethod
    def to_storage_format(self, item: T) -> TDataRepresentation:
        """The item in the storage's form."""

    @abstractmethod
    def from_storage_format(self, data: TDataRepresentation) -> T:
        """The item that was stored."""

    @abstractmethod
    def get_query_for_identifier(
        self, storage_format: type[TDataRepresentation], resource_id: ResourceIdentifier, **kwargs: Any
    ) -> Any:
        """How the storage finds what ``resource_id`` names; for storages that ask in a language of their own."""


class DefaultStorageItemAdapter(StorageItemAdapter[T, T]):
    """Changes nothing."""

    def to_storage_format(self, item: T) -> T:
        """The item itself."""
        return item

    def from_storage_format(self, data: T) -> T:
        """The item itself."""
        return data

    def get_query_for_identifier(self, storage_format: type[T], resource_id: ResourceIdentifier, **kwargs: Any) -> bool:
        """Always true: the storage finds it by its identifier."""
        return True


@dataclass(slots=True)
class QuerySpec:
    """What to look for: attributes and the values they must equal, how many at most, and how many to leave out first."""

    conditions: dict[str, Any]
    limit: int | None = None
    offset: int = 0


@dataclass(slots=True)
class PaginationResult(Generic[TDataRepresentation]):
    """One page of what was found. Pages count from 1."""

    items: list[TDataRepresentation]
    total_count: int
    total_pages: int
    page: int
    page_size: int

    @classmethod
    def build_from_all(cls, all_items: Sequence[TDataRepresentation], page: int, page_size: int) -> Self:
        """A page of a list. A number out of range means the nearest page; of an empty list it is page 0."""
        size, total = max(1, page_size), len(all_items)
        pages = -(-total // size)
        at = min(max(1, page), pages)
        start = max(0, at - 1) * size
        return cls(list(all_items[start : start + size]), total, pages, at, size)


class StorageInterface(ABC, Generic[T, TDataRepresentation]):
    """Where items are kept. A class of your own gives the seven abstract methods; the others follow from them.

    Whatever a method raises, nothing of the call was stored.
    """

    def __init__(
        self, serializer: Serializer | None = None, adapter: StorageItemAdapter[T, TDataRepresentation] | None = None
    ) -> None:
        self._serializer = serializer or JsonSerializer()
        self._storage_item_adapter: StorageItemAdapter[T, Any] = adapter or DefaultStorageItemAdapter[T]()

    @property
    def serializer(self) -> Serializer:
        """What writes the items."""
        return self._serializer

    @property
    def adapter(self) -> StorageItemAdapter[T, Any]:
        """What translates the items."""
        return self._storage_item_adapter

    @abstractmethod
    def save(self, data: T) -> None:
        """Store a new item. Raises ``StorageError`` when there is none, or one of its identifier is stored already."""

    @abstractmethod
    def update(self, data: T) -> None:
        """Store an item in the place of the one of its identifier, or as a new one. Raises ``StorageError`` for None."""

    @abstractmethod
    def save_or_update(self, data: T) -> None:
        """Store an item, new or not. Raises ``StorageError`` for None."""

    def save_list(self, data: Iterable[T]) -> None:
        """Store new items in order. Raises ``StorageError`` as ``save`` does."""
        for item in data:
            self.save(item)

    def save_or_update_list(self, data: Iterable[T]) -> None:
        """Store items in order, new or not. Raises ``StorageError`` for None."""
        for item in data:
            self.save_or_update(item)

    @abstractmethod
    def load(self, resource_id: ResourceIdentifier, cls: type[T]) -> T | None:
        """A fresh copy of the item, or None when there is none. Raises ``StorageError`` when it is no ``cls``."""

    def load_list(self, resource_id: Iterable[ResourceIdentifier], cls: type[T]) -> list[T]:
        """The items of these identifiers that are there, in the order asked."""
        found = (self.load(one, cls) for one in resource_id)
        return [item for item in found if item is not None]

    @abstractmethod
    def delete(self, resource_id: ResourceIdentifier) -> None:
        """Drop an item. One that is not there is fine."""

    def delete_list(self, resource_id: Iterable[ResourceIdentifier]) -> None:
        """Drop items. Those that are not there are fine."""
        for one in resource_id:
            self.delete(one)

    @abstractmethod
    def query(self, spec: QuerySpec, cls: type[T]) -> list[T]:
        """The items that satisfy all conditions. Raises ``StorageError`` for an attribute that ``cls`` does not have."""

    @abstractmethod
    def count(self, spec: QuerySpec, cls: type[T]) -> int:
        """How many items satisfy all conditions, whatever the limit and the offset. Raises as ``query`` does."""

    def paginate_query(
        self, page: int, page_size: int, cls: type[T], spec: QuerySpec | None = None
    ) -> PaginationResult[T]:
        """One page of what satisfies the conditions; ``spec`` is left as it is, and its limit and offset do not count.

        Raises ``InvalidInput`` for a page or a size below 1.
        """
        check_count(page, "page", least=1)
        check_count(page_size, "page_size", least=1)
        conditions = {} if spec is None else spec.conditions
        wanted = QuerySpec(conditions, limit=page_size, offset=(page - 1) * page_size)
        total = self.count(wanted, cls)
        return PaginationResult(self.query(wanted, cls), total, -(-total // page_size), page, page_size)

    asave = asyncify(save)
    aupdate = asyncify(update)
    asave_or_update = asyncify(save_or_update)
    asave_list = asyncify(save_list)
    asave_or_update_list = asyncify(save_or_update_list)
    aload = asyncify(load)
    aload_list = asyncify(load_list)
    adelete = asyncify(delete)
    adelete_list = asyncify(delete_list)
    aquery = asyncify(query)
    acount = asyncify(count)
    apaginate_query = asyncify(paginate_query)


__all__ = [
    "DefaultStorageItemAdapter",
    "PaginationResult",
    "QuerySpec",
    "ResourceIdentifier",
    "StorageError",
    "StorageInterface",
    "StorageItem",
    "StorageItemAdapter",
]

"""Where a storage over a backend keeps its items: beside each other under their keys, or wherever a kind of item says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from memwell.compat.dbgpt.serialization import Serializer
from memwell.records import Space
from memwell.storage.protocols import Backend


@dataclass(frozen=True, slots=True)
class StoragePlace:
    """The part of a backend that belongs to a storage, and how the storage writes."""

    backend: Backend
    space: Space
    name: str
    serializer: Serializer
    adapter: Any = None
    """What translates the items; None when nothing does."""


class Rows(ABC):
    """Items of one kind in a place. Every method is all or nothing and raises ``StorageError`` for what breaks the contract
    of a storage.
    """

    @abstractmethod
    def add(self, items: Sequence[Any]) -> None:
        """Store new items, none of which is there yet."""

    @abstractmethod
    def put(self, items: Sequence[Any]) -> None:
        """Store items, new or not."""

    @abstractmethod
    def get(self, identifier: Any, cls: type[Any]) -> Any:
        """The item, or None."""

    @abstractmethod
    def drop(self, identifiers: Sequence[Any]) -> None:
        """Drop the items that are there."""

    @abstractmethod
    def find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        """The items that satisfy the conditions, in order: at most ``limit`` behind the first ``offset``."""

    @abstractmethod
    def count(self, conditions: Mapping[str, Any], cls: type[Any]) -> int:
        """How many items satisfy the conditions."""


RowsMaker: TypeAlias = Callable[[StoragePlace], Rows]
"""Makes the rows of a place."""

__all__ = ["Rows", "RowsMaker", "StoragePlace"]

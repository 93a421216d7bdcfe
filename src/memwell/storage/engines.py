"""What searches by vector beside a store. The rows in the store are the truth; an engine holds a copy to search in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memwell.filters import Filter
from memwell.records import Record, Space, Vector


class VectorEngine(ABC):
    """Vectors by space and id. What a call stored or dropped is seen by every later search.

    Every method may raise ``BackendUnavailable`` (the engine is away) or ``BackendError`` (it failed). Doing a thing twice
    is doing it once, so whoever does not know whether a call was done makes it again.
    """

    name: str
    """What ``IndexInfo.search`` calls it."""

    most: int
    """How many a search can find at most."""

    @abstractmethod
    def identity(self, dimensions: int) -> str:
        """A name of what it holds of this size. It gets another one when it is emptied behind our back."""

    @abstractmethod
    def store(self, space: Space, records: Sequence[Record]) -> None:
        """Hold these records of the space, each of which has a vector, in the place of those with their ids."""

    @abstractmethod
    def drop(self, space: Space, ids: Iterable[str]) -> None:
        """Hold these no longer; ids that are not there are passed over."""

    @abstractmethod
    def near(self, space: Space, vector: Vector, limit: int, where: Filter | None) -> list[tuple[str, float]]:
        """The ids of the nearest and their cosines, best first, of all that may satisfy the filter.

        Some may not: the filter is looked at again above. None that does is left out, but for what an approximate search
        overlooks.
        """

    @abstractmethod
    def ids(self, space: Space) -> Iterator[str]:
        """All ids it holds of the space."""

    @abstractmethod
    def count(self, space: Space) -> int:
        """How many it holds of the space."""

    @abstractmethod
    def forget(self, space: Space) -> None:
        """Drop all of the space."""

    @abstractmethod
    def spaces(self) -> Iterator[Space]:
        """The spaces it holds anything of, each once."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What it says of itself; raises when it does not answer."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it. Closing twice is fine."""

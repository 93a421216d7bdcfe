"""Vector engines, which search by vector for a store. The rows in the store are the truth; an engine holds a copy."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.filters import Filter
from memwell.records import Record, Space, Vector

T = TypeVar("T")

_FIRST_NAP_S, _LONGEST_NAP_S = 0.5, 30.0


class VectorEngine(ABC):
    """Vectors by space and id. A search sees all earlier writes.

    Every method may raise ``BackendUnavailable`` (the engine is unavailable) or ``BackendError`` (it failed). Every method
    is idempotent, so a call whose outcome is unknown is made again.
    """

    name: str
    """What ``IndexInfo.search`` calls it."""

    most: int
    """How many a search can find at most."""

    @abstractmethod
    def identity(self, dimensions: int) -> str:
        """An id of what it holds for this vector size. It changes when the engine is emptied by someone else."""

    @abstractmethod
    def store(self, space: Space, records: Sequence[Record]) -> None:
        """Store records of a space, each with a vector; they replace those with their ids."""

    @abstractmethod
    def drop(self, space: Space, ids: Iterable[str]) -> None:
        """Drop records; unknown ids are ignored."""

    @abstractmethod
    def near(self, space: Space, vector: Vector, limit: int, where: Filter | None) -> list[tuple[str, float]]:
        """The ids of the nearest records and their cosines, best first.

        Some may not satisfy the filter: the caller checks it again. None that does is left out, except for what an
        approximate search misses.
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
        """The engine's version and so on; raises when it does not answer."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection. Closing twice is fine."""


class Attached:
    """The engine of a store. It is opened lazily, and after a failure not asked again for a while."""

    def __init__(self, opener: Callable[[], VectorEngine], name: str, place: str) -> None:
        self.name = name
        self.place = place
        """Where it is, without secrets."""
        self._opener = opener
        self._engine: VectorEngine | None = None
        self._lock = threading.Lock()
        self._nap = _FIRST_NAP_S
        self._asleep_until = 0.0
        self.away: str | None = None
        """Why it does not answer; None while it does, or was not asked yet."""

    @property
    def resting(self) -> bool:
        """Whether it failed a moment ago and is not asked yet."""
        return self.away is not None and time.monotonic() < self._asleep_until

    @property
    def most(self) -> int:
        """How many a search can find; 0 while it is not open."""
        return 0 if self._engine is None else self._engine.most

    def use(self, operation: Callable[[VectorEngine], T]) -> T:
        """The engine's answer. Raises ``BackendUnavailable``, at once if it failed a moment ago."""
        if self.resting:
            raise BackendUnavailable(f"{self.name} at {self.place} is unavailable: {self.away}")
        try:
            answer = operation(self._opened())
        except (BackendError, ConfigurationError) as error:
            self._failed(error)
            raise BackendUnavailable(f"{self.name} at {self.place} does not answer: {error}") from error
        self.away, self._nap = None, _FIRST_NAP_S
        return answer

    def facts(self) -> dict[str, Any]:
        """Its place and whether it answers."""
        try:
            own = self.use(lambda engine: engine.facts())
        except BackendUnavailable:
            return {"kind": self.name, "engine": self.name, "place": self.place, "answers": False, "why": self.away}
        return {"kind": self.name, "engine": self.name, "place": self.place, "answers": True, **own}

    def wake(self) -> None:
        """Ask it at the next call, even if it failed a moment ago."""
        self._asleep_until = 0.0

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            # What it did not store is in the home, and is fed later.
            with suppress(BackendError):
                engine.close()

    def _opened(self) -> VectorEngine:
        with self._lock:
            if self._engine is None:
                self._engine = self._opener()
            return self._engine

    def _failed(self, error: Exception) -> None:
        self.away = str(error)
        self._asleep_until = time.monotonic() + self._nap
        self._nap = min(2 * self._nap, _LONGEST_NAP_S)

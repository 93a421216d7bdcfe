"""Vector engines: what searches by vector for a store. The rows in the store are the truth; an engine holds a copy."""

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
    """Vectors by space and id. What a call stored or dropped is seen by every later search.

    Every method may raise ``BackendUnavailable`` (the engine is away) or ``BackendError`` (it failed). Doing a thing twice
    is doing it once, so a call whose outcome is unknown is made again.
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


class Attached:
    """The engine of a store, opened when first needed, and left alone for a while after it failed."""

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
        """Whether it failed just now and is not to be asked yet."""
        return self.away is not None and time.monotonic() < self._asleep_until

    @property
    def most(self) -> int:
        """How many a search can find; 0 while it is not open."""
        return 0 if self._engine is None else self._engine.most

    def use(self, operation: Callable[[VectorEngine], T]) -> T:
        """What the engine answers. Raises ``BackendUnavailable`` when it is away, at once if it failed a moment ago."""
        if self.resting:
            raise BackendUnavailable(f"{self.name} at {self.place} is away: {self.away}")
        try:
            answer = operation(self._opened())
        except (BackendError, ConfigurationError) as error:
            self._failed(error)
            raise BackendUnavailable(f"{self.name} at {self.place} does not answer: {error}") from error
        self.away, self._nap = None, _FIRST_NAP_S
        return answer

    def facts(self) -> dict[str, Any]:
        """Where it is and whether it answers."""
        try:
            own = self.use(lambda engine: engine.facts())
        except BackendUnavailable:
            return {"kind": self.name, "engine": self.name, "place": self.place, "answers": False, "why": self.away}
        return {"kind": self.name, "engine": self.name, "place": self.place, "answers": True, **own}

    def wake(self) -> None:
        """Ask it again at the next call, whatever happened before."""
        self._asleep_until = 0.0

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            # What it did not take is in the home, and is fed the next time.
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

"""An engine that may be away: it is opened when first needed, and left alone for a while after it failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.storage.engines import VectorEngine

T = TypeVar("T")

_FIRST_NAP_S, _LONGEST_NAP_S = 0.5, 30.0


class Attached:
    """The engine beside a store, and whether it answers."""

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
            # What it did not take is at home, and it is told next time.
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


__all__ = ["Attached"]

"""Duties that one process at a time has: to work off what a space is owed, to feed an index, to sweep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from memwell.errors import Conflict
from memwell.records import Space
from memwell.values import new_id

if TYPE_CHECKING:
    # A store has claims, and these claims are kept in a part of a store: each names the other.
    from memwell.storage.protocols import KeyValue


class Claims(ABC):
    """Duties of a space, each had by one holder in all processes at a time."""

    @abstractmethod
    def take(self, space: Space, duty: str, *, seconds: float = 30.0) -> bool:
        """Have the duty, or go on having it; False when another has it. It ends with the holder's death.

        A store that cannot see a death ends it ``seconds`` after the last call.
        """

    @abstractmethod
    def release(self, space: Space, duty: str) -> None:
        """Let another have it. What this holder does not have is left alone."""


class Leases(Claims):
    """Claims as entries with a time to live, on any ``KeyValue``."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv
        self._me = new_id()

    def take(self, space: Space, duty: str, *, seconds: float = 30.0) -> bool:
        held = self._kv.get(space, duty)
        if held is not None and held.value != self._me:
            return False
        try:
            self._kv.put(space, duty, self._me, ttl=seconds, expect=0 if held is None else held.version)
        except Conflict:
            return False
        return True

    def release(self, space: Space, duty: str) -> None:
        held = self._kv.get(space, duty)
        if held is not None and held.value == self._me:
            with suppress(Conflict):
                self._kv.delete(space, duty, expect=held.version)

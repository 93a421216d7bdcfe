"""Working memory: the few things that are held in mind now, by how much attention each has and how fresh that is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.cognition.attention import is_finite
from memwell.errors import InvalidInput, NotFound
from memwell.values import check_count, now, shown

MOST_ATTENTION = 1000.0
"""No item has more attention than this."""


class Active(msgspec.Struct, frozen=True):
    """Something held in mind: how much attention it was given, when, and what is left of that now."""

    item: Any
    attention: float
    since: datetime
    activation: float = 0.0
    """Its attention, halved with every half-life since it was last attended to."""
    source: str = ""
    """The memory that it was taken from, by its id, if it was."""


class WorkingMemory:
    """At most ``capacity`` items; the one that is least active makes room for a new one. Safe to share between threads.

    It lives in the process alone. Raises ``InvalidInput`` for a capacity below 1 and a half-life that is not above 0.
    """

    def __init__(self, capacity: int = 7, *, half_life_s: float = 300.0, clock: Callable[[], datetime] = now) -> None:
        self.capacity = check_count(capacity, "capacity", least=1)
        if not is_finite(half_life_s) or half_life_s <= 0:
            raise InvalidInput(f"half_life_s must be a number of seconds above 0, not {shown(half_life_s)}")
        self.half_life_s = half_life_s
        self._clock = clock
        self._held: list[Active] = []
        self._lock = threading.Lock()

    def add(self, item: Any, attention: float = 1.0, *, source: str = "") -> Any | None:
        """Hold an item in mind. Returns the item that had to make room for it, or None.

        One that is held already is attended to anew, and nothing has to go. Raises ``InvalidInput`` for an attention that
        is not from 0 to 1,000.
        """
        _check_attention(attention)
        with self._lock:
            moment = self._clock()
            known = self._place(item)
            if known is not None:
                before = self._held.pop(known)
                attention = max(attention, self._activation(before, moment))
                source = source or before.source
            # The new item is not asked: it is what is thought of now.
            evicted = self._held.pop(self._least(moment)).item if len(self._held) >= self.capacity else None
            self._held.append(Active(item, attention, moment, source=source))
        return evicted

    def attend(self, item: Any, amount: float = 1.0) -> Active:
        """Give an item more attention, or less with an amount below 0, and return it as it stands now.

        Raises ``NotFound`` for an item that is not held, ``InvalidInput`` for an amount that is no finite number.
        """
        if not is_finite(amount):
            raise InvalidInput(f"an amount of attention must be a finite number, not {shown(amount)}")
        with self._lock:
            place = self._place(item)
            if place is None:
                raise NotFound(f"{shown(item)} is not in working memory")
            moment = self._clock()
            left = self._activation(self._held[place], moment)
            level = min(max(left + amount, 0.0), MOST_ATTENTION)
            self._held[place] = replace(self._held[place], attention=level, since=moment)
            return replace(self._held[place], activation=level)

    def active(self, limit: int | None = None) -> list[Active]:
        """What is held, the most active first, of equals the latest."""
        if limit is not None:
            check_count(limit, "limit")
        with self._lock:
            moment = self._clock()
            held = [replace(one, activation=self._activation(one, moment)) for one in reversed(self._held)]
        return sorted(held, key=lambda one: -one.activation)[:limit]

    def items(self) -> list[Any]:
        """What is held, in the order in which it was last added."""
        with self._lock:
            return [one.item for one in self._held]

    def drop(self, item: Any) -> bool:
        """Let an item go. Returns whether it was held."""
        with self._lock:
            place = self._place(item)
            if place is not None:
                del self._held[place]
        return place is not None

    def clear(self) -> None:
        """Let everything go."""
        with self._lock:
            self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, item: object) -> bool:
        with self._lock:
            return self._place(item) is not None

    def _place(self, item: object) -> int | None:
        for place, one in enumerate(self._held):
            if one.item is item or (type(one.item) is type(item) and _is_same(one.item, item)):
                return place
        return None

    def _least(self, moment: datetime) -> int:
        # min takes the first of equals, which is the one that was added longest ago.
        return min(range(len(self._held)), key=lambda place: self._activation(self._held[place], moment))

    def _activation(self, one: Active, moment: datetime) -> float:
        # A clock that was set back makes nothing more active than it was.
        age = max(0.0, (moment - one.since).total_seconds())
        return one.attention * 0.5 ** (age / self.half_life_s)


def _is_same(one: object, other: object) -> bool:
    # An array answers with an array, which is neither true nor false.
    return cast(object, one == other) is True


def _check_attention(value: object) -> None:
    if not is_finite(value) or not 0 <= cast(float, value) <= MOST_ATTENTION:
        raise InvalidInput(f"attention must be a number from 0 to {MOST_ATTENTION:g}, not {shown(value)}")

"""Working memory: a few items in the process, ranked by attention that decays with time; and softmax over scores."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, NotFound
from memwell.values import check_count, is_finite, now, shown

MOST_ATTENTION = 1000.0
"""No item has more attention than this."""
_WIDEST = 745.0  # beyond this a power of e is 0


def check_temperature(value: object) -> float:
    """The value, if it is a finite number above 0. Raises ``InvalidInput``."""
    if not is_finite(value) or value <= 0:
        raise InvalidInput(f"a temperature must be a number above 0, not {shown(value)}")
    return value


def softmax(scores: Sequence[float], temperature: float = 1.0) -> list[float]:
    """A weight for every score, in order; the weights add up to 1, and a higher score never has a lower weight.

    The lower the ``temperature``, the more weight the best score has. Raises ``InvalidInput`` for a score that is no finite
    number, and for a temperature that is not above 0.
    """
    check_temperature(temperature)
    for score in scores:
        if not is_finite(score):
            raise InvalidInput(f"a score must be a finite number, not {shown(score)}")
    top = max(scores, default=0.0)
    powers = [math.exp(max(-_WIDEST, (score - top) / temperature)) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


class Active(msgspec.Struct, frozen=True):
    """An item of working memory: its attention, when that was given, and its activation now."""

    item: Any
    attention: float
    since: datetime
    activation: float = 0.0
    """Its attention, halved with every half-life since it was last attended to."""
    source: str = ""
    """The id of the memory that it was taken from, if any."""


class WorkingMemory:
    """At most ``capacity`` items; a new one evicts the least active. It lives in the process and is safe for threads.

    Raises ``InvalidInput`` for a capacity below 1 and a half-life that is not above 0.
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
        """Add an item, and return the one it evicted, or None.

        An item that is held already is refreshed, and evicts none. Raises ``InvalidInput`` for an attention that is not
        from 0 to 1,000.
        """
        if not is_finite(attention) or not 0 <= attention <= MOST_ATTENTION:
            raise InvalidInput(f"attention must be a number from 0 to {MOST_ATTENTION:g}, not {shown(attention)}")
        with self._lock:
            moment = self._clock()
            known = self._place(item)
            if known is not None:
                before = self._held.pop(known)
                attention = max(attention, self._activation(before, moment))
                source = source or before.source
            evicted = None
            if len(self._held) >= self.capacity:
                # min takes the first of equals, which was added longest ago.
                least = min(range(len(self._held)), key=lambda at: self._activation(self._held[at], moment))
                evicted = self._held.pop(least).item
            self._held.append(Active(item, attention, moment, source=source))
        return evicted

    def attend(self, item: Any, amount: float = 1.0) -> Active:
        """Give an item more attention, or less with an amount below 0, and return it.

        Raises ``NotFound`` for an item that is not held, ``InvalidInput`` for an amount that is no finite number.
        """
        if not is_finite(amount):
            raise InvalidInput(f"an amount of attention must be a finite number, not {shown(amount)}")
        with self._lock:
            place = self._place(item)
            if place is None:
                raise NotFound(f"{shown(item)} is not in working memory")
            moment = self._clock()
            level = min(max(self._activation(self._held[place], moment) + amount, 0.0), MOST_ATTENTION)
            self._held[place] = replace(self._held[place], attention=level, since=moment)
            return replace(self._held[place], activation=level)

    def active(self, limit: int | None = None) -> list[Active]:
        """The items, the most active first, of equals the latest."""
        if limit is not None:
            check_count(limit, "limit")
        with self._lock:
            moment = self._clock()
            held = [replace(one, activation=self._activation(one, moment)) for one in reversed(self._held)]
        return sorted(held, key=lambda one: -one.activation)[:limit]

    def items(self) -> list[Any]:
        """The items in the order in which they were last added."""
        with self._lock:
            return [one.item for one in self._held]

    def drop(self, item: Any) -> bool:
        """Remove an item. Returns whether it was held."""
        with self._lock:
            place = self._place(item)
            if place is not None:
                del self._held[place]
        return place is not None

    def clear(self) -> None:
        """Remove all items."""
        with self._lock:
            self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, item: object) -> bool:
        with self._lock:
            return self._place(item) is not None

    def _place(self, item: object) -> int | None:
        for place, one in enumerate(self._held):
            # An array answers a comparison with an array, which is neither true nor false.
            if one.item is item or (type(one.item) is type(item) and cast(object, one.item == item) is True):
                return place
        return None

    def _activation(self, one: Active, moment: datetime) -> float:
        # A clock that was set back makes nothing more active.
        age = max(0.0, (moment - one.since).total_seconds())
        return one.attention * 0.5 ** (age / self.half_life_s)

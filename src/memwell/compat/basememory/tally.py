"""Who sent which message, so that what somebody has not read is counted without reading it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict


class Tally:
    """The places of messages that can be unread, in order, and those of each sender among them."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._own: defaultdict[str, list[int]] = defaultdict(list)

    def note(self, place: int, sender: str | None) -> None:
        """Count a message; places come in order."""
        self.places.append(place)
        if sender is not None:
            self._own[sender].append(place)

    def count(self, user: str, after: int) -> int:
        """How many messages from the place ``after`` on are not the user's own."""
        own = self._own.get(user, [])
        return len(self.places) - bisect_left(self.places, after) - (len(own) - bisect_left(own, after))

    def unread(self, user: str, after: int) -> list[int]:
        """The places from ``after`` on whose messages are not the user's own."""
        own = set(self._own.get(user, ()))
        return [place for place in self.places[bisect_left(self.places, after) :] if place not in own]


__all__ = ["Tally"]

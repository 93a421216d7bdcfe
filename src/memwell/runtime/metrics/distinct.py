"""How many different ones there were, in bounded memory: exact while they are few, an estimate when they are many.

Every name becomes a number between 0 and 2⁵³ by a hash, and only the smallest of them are kept. If the 256th smallest is at
a hundredth of the whole range, there were about 25,600. Two of these are added up by keeping the smallest of both, so that
somebody who was there on two days, or seen by two processes, counts once.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from heapq import heapify, heappush, heappushpop

from memwell.records import Space

_RANGE = 2**53


def number_of(space: Space, speaker: str | None = None) -> int:
    """The number that a space, or a speaker within it, always gets. The name cannot be read off it."""
    digest = blake2b(space.encoded().encode(), digest_size=8)
    if speaker is not None:
        digest.update(b"\0" + speaker.encode(errors="surrogatepass"))
    return int.from_bytes(digest.digest()) >> 11


class Distinct:
    """Counts different numbers, keeping at most ``most`` of them; up to there it is exact."""

    __slots__ = ("_heap", "_held", "most")

    def __init__(self, most: int, numbers: Iterable[int] = ()) -> None:
        self.most = most
        self._held: set[int] = set()
        self._heap: list[int] = []
        """Negated, so that the largest number is in front."""
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        """Count a number, unless it has been counted."""
        if number in self._held:
            return
        if len(self._heap) < self.most:
            heappush(self._heap, -number)
            self._held.add(number)
        elif -number > self._heap[0]:
            self._held.discard(-heappushpop(self._heap, -number))
            self._held.add(number)

    def merge(self, other: Distinct) -> None:
        """Count those of another too. What is left of fewer numbers says no more than those did."""
        for number in other._held:
            self.add(number)
        if other.most < self.most:
            self.most = other.most
            self._held = set(self.smallest(other.most))
            self._heap = [-number for number in self._held]
            heapify(self._heap)

    def smallest(self, most: int) -> list[int]:
        """So many of its numbers, the smallest first: what it is made of again."""
        return sorted(self._held)[:most]

    def count(self) -> int:
        """How many there were."""
        if len(self._heap) < self.most:
            return len(self._heap)
        # A set that is just full is exact as well, but cannot be told from one that has seen more.
        return max(self.most, round((self.most - 1) * _RANGE / max(-self._heap[0], 1)))


__all__ = ["Distinct", "number_of"]

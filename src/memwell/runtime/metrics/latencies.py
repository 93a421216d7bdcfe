"""How long things took: counts in fixed buckets, which can be added up over time and over processes.

A bucket is a fifth wider than the one before, so that a percentile is told to within a fifth of itself, from a tenth of a
millisecond to 105 seconds; what took longer is told as 105 seconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import TypeAlias

from memwell.errors import InvalidInput
from memwell.runtime.wire.figures import Latency

_SHORTEST = 0.0001
_A_DOUBLING = 4
_DOUBLINGS = 20

BOUNDS = tuple(_SHORTEST * 2 ** (step / _A_DOUBLING) for step in range(_DOUBLINGS * _A_DOUBLING + 1))
"""The longest time that each bucket holds, in seconds; one more bucket holds what is longer than all."""

COARSE = tuple(range(0, len(BOUNDS), _A_DOUBLING))
"""The places of the bounds that are twice as long as the one before."""

Buckets: TypeAlias = dict[int, int]
"""How many times fell into a bucket, by its place; those that are empty are left out."""


def bucket_of(seconds: float) -> int:
    """The place of the bucket that holds a time."""
    return bisect_left(BOUNDS, seconds)


def bucketed(times: Iterable[float]) -> Buckets:
    """Times, counted in buckets."""
    buckets: Buckets = {}
    for seconds in times:
        place = bucket_of(seconds)
        buckets[place] = buckets.get(place, 0) + 1
    return buckets


def add_to(buckets: Buckets, others: Mapping[int, int]) -> None:
    """Add the counts of others to those of ``buckets``."""
    for place, count in others.items():
        buckets[place] = buckets.get(place, 0) + count


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """A time that this share of all did not exceed, to within the width of its bucket; None when there was none.

    Raises ``InvalidInput`` for a share that is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"a percentile's share must be above 0 and at most 1, not {share!r}")
    rank, places = share * sum(buckets.values()), sorted(buckets)
    for place, below in zip(places, accumulate(buckets[place] for place in places), strict=True):
        if below >= rank:
            return _inside(place, (rank - below + buckets[place]) / buckets[place])
    return None


def _inside(place: int, part: float) -> float:
    """The time so far into a bucket, as if its times lay evenly in it."""
    if place >= len(BOUNDS):
        return BOUNDS[-1]
    least = BOUNDS[place - 1] if place else 0.0
    return least + (BOUNDS[place] - least) * part


def latency_of(buckets: Mapping[int, int]) -> Latency:
    """The percentiles that people ask for."""
    return Latency(
        count=sum(buckets.values()),
        p50=percentile(buckets, 0.5),
        p95=percentile(buckets, 0.95),
        p99=percentile(buckets, 0.99),
    )


__all__ = ["BOUNDS", "COARSE", "Buckets", "add_to", "bucket_of", "bucketed", "latency_of", "percentile"]

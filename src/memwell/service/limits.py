"""How often a key may ask, and how often an address may come with a wrong one.

Both are counted in this process, in buckets that fill up steadily: whoever was quiet for a minute may ask a minute's worth
at once, and nobody more than two minutes' worth in a minute. Several processes count each for itself.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from memwell.errors import Busy
from memwell.service.keys import Key
from memwell.values import check_count

_MOST_BUCKETS = 10_000


class _Bucket(msgspec.Struct):
    left: float
    at: float


class _Buckets:
    """Buckets by name, those used last. The caller holds the lock.

    One that is dropped begins full again. It is the one that was quiet longest: after a minute it would be full anyway.
    """

    def __init__(self, clock: Callable[[], float], most: int = _MOST_BUCKETS) -> None:
        self._clock = clock
        self._most = most
        self._held: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str, per_minute: int) -> float:
        """Take one out of a bucket that holds ``per_minute``; returns 0, or in how many seconds there will be one."""
        now = self._clock()
        bucket = self._held.get(name)
        if bucket is None:
            bucket = self._held[name] = _Bucket(per_minute, now)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
        self._held.move_to_end(name)
        filled = bucket.left + (now - bucket.at) * per_minute / 60
        # A key's rate may have become smaller meanwhile.
        bucket.left, bucket.at = min(filled, per_minute), now
        if bucket.left < 1:
            return (1 - bucket.left) * 60 / per_minute
        bucket.left -= 1
        return 0.0

    def __len__(self) -> int:
        return len(self._held)


class RateLimits:
    """How many requests a minute each key may make: as many as the key says, or ``per_minute``; 0 is any number."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = check_count(per_minute, "per_minute")
        self._lock = threading.Lock()
        self._buckets = _Buckets(clock)

    def check(self, key: Key) -> None:
        """Count a request. Raises ``Busy`` when the key has made too many; that one is not counted."""
        rate = self._per_minute if key.rate is None else key.rate
        if rate == 0:
            return
        with self._lock:
            wait = self._buckets.take(key.id, rate)
        if wait:
            message = f"this key may make {rate:,} requests a minute; try again in {wait:.1f} s"
            raise Busy(message, retry_after=wait, code="rate-limited")


class Failures:
    """How many wrong keys come from where: 20 a minute from one address, and 600 from everywhere.

    Count a key only after it was refused, so that a right key is never refused for what came from its address. Behind a
    proxy many tenants share one address, and one that sends wrong keys would otherwise lock out the rest. Nothing is lost
    by it: 256 random bits are not guessed, however often one may try. What is bounded is the noise. Where ``count``
    raises, there is nothing to be logged, so nobody fills the log by guessing.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, per_minute: int = 20, together: int = 600
    ) -> None:
        self._per_minute = check_count(per_minute, "per_minute", least=1)
        self._together = check_count(together, "together", least=1)
        self._lock = threading.Lock()
        self._by_address = _Buckets(clock)
        self._all = _Buckets(clock)

    def count(self, address: str) -> None:
        """Count a refused key. Raises ``Busy``, in the place of ``AccessDenied``, when there were too many."""
        with self._lock:
            # In this order: one address that never stops does not use up what the others may.
            wait = self._by_address.take(_network(address), self._per_minute) or self._all.take("", self._together)
        if wait:
            message = f"too many wrong keys; try again in {wait:.1f} s"
            raise Busy(message, retry_after=wait, code="rate-limited")


def _network(address: str) -> str:
    """The address, or of IPv6 the network: one customer has 2^64 addresses there."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        # The name of a socket, or of nothing at all.
        return address[:100]
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or int(parsed) >> 64)


__all__ = ["Failures", "RateLimits"]

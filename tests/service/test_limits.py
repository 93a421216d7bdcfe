"""Who asks too often is told when to come back, and nobody else is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import Busy, InvalidInput
from memwell.records import Space
from memwell.service.keys import Key
from memwell.service.limits import Failures, RateLimits, _Buckets


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def key(name: str = "0", rate: int | None = None) -> Key:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    return Key(id=name, name=name, space=Space("a"), scopes=("read",), created=now, rate=rate)


def turned_away(call: Callable[[], None]) -> bool:
    try:
        call()
    except Busy as error:
        busy = error
    else:
        return False
    assert busy.code == "rate-limited"
    assert busy.retry_after > 0
    return True


def passed(limits: RateLimits, one: Key, times: int) -> int:
    return sum(not turned_away(lambda: limits.check(one)) for _ in range(times))


def test_a_key_may_ask_as_often_as_the_service_says():
    clock = Clock()
    limits = RateLimits(60, clock)
    assert passed(limits, key(), 100) == 60
    assert passed(limits, key("1"), 1) == 1, "another key is not concerned"
    clock.now += 1
    assert passed(limits, key(), 100) == 1
    clock.now += 3600
    assert passed(limits, key(), 100) == 60, "nothing is saved up over a minute's worth"


def test_a_key_may_have_a_limit_of_its_own_or_none():
    limits = RateLimits(5, Clock())
    assert passed(limits, key("slow", 2), 50) == 2
    assert passed(limits, key("free", 0), 50) == 50
    assert passed(RateLimits(0, Clock()), key(), 50) == 50
    assert passed(RateLimits(0, Clock()), key("slow", 3), 50) == 3


def test_a_smaller_rate_works_at_once():
    limits = RateLimits(100, Clock())
    assert passed(limits, key(), 1) == 1
    assert passed(limits, key(rate=3), 50) == 3


@given(rate=st.integers(1, 10_000), tries=st.integers(1, 20))
def test_whoever_waits_as_told_gets_in(rate: int, tries: int):
    clock = Clock()
    limits = RateLimits(rate, clock)
    assert passed(limits, key(), rate + 1) == rate
    for _ in range(tries):
        with pytest.raises(Busy) as busy:
            limits.check(key())
        clock.now += busy.value.retry_after + 1e-6
        limits.check(key())


@given(st.lists(st.floats(0, 30), max_size=60))
def test_never_more_than_a_full_bucket_and_what_flowed_in(waits: list[float]):
    clock, count = Clock(), 0
    limits = RateLimits(10, clock)
    for wait in waits:
        clock.now += wait
        count += passed(limits, key(), 3)
    assert count <= 10 + sum(waits) / 6 + 1e-6


def test_many_keys_do_not_fill_the_memory():
    buckets = _Buckets(Clock(), most=10)
    for name in range(100):
        buckets.take(str(name), 5)
        assert buckets.take("busy", 1000) == 0
    assert len(buckets) == 10
    assert buckets._held["busy"].left == 900, "the one that is used is not dropped"


def test_threads_together_get_no_more():
    limits = RateLimits(500, Clock())
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(passed(limits, key(), 400))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 500


@pytest.mark.parametrize("rate", [-1, None, "5", True])
def test_a_bad_rate_is_refused(rate: Any):
    with pytest.raises(InvalidInput):
        RateLimits(rate)


def refused(failures: Failures, address: str, times: int) -> int:
    return sum(turned_away(lambda: failures.count(address)) for _ in range(times))


def test_wrong_keys_are_counted_by_address():
    clock = Clock()
    failures = Failures(clock)
    assert refused(failures, "10.0.0.1", 25) == 5
    assert refused(failures, "10.0.0.2", 20) == 0
    clock.now += 60
    assert refused(failures, "10.0.0.1", 25) == 5


def test_a_network_of_ipv6_is_one_address():
    failures = Failures(Clock())
    assert sum(refused(failures, f"2001:db8::{one:x}", 1) for one in range(30)) == 10
    assert refused(failures, "2001:db8:0:1::1", 20) == 0
    assert refused(failures, "::ffff:10.0.0.1", 20) == 0
    assert refused(failures, "10.0.0.1", 1) == 1, "the same address, written in two ways"


def test_wrong_keys_from_everywhere_are_bounded_too():
    failures = Failures(Clock())
    addresses = [f"10.0.{one // 250}.{one % 250}" for one in range(1000)]
    assert sum(refused(failures, address, 1) for address in addresses) == 400
    calm = Failures(Clock())
    refused(calm, "10.0.0.1", 1000)
    assert sum(refused(calm, address, 1) for address in addresses[100:600]) == 0, "one that never stops harms nobody"


@pytest.mark.parametrize("address", ["", "unix:", "testclient", "x" * 10_000, "\x00", "fe80::1%eth0", "密"])
def test_any_address_will_do(address: str):
    assert refused(Failures(Clock()), address, 21) == 1

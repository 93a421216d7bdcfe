"""Values by key in Redis: what is over goes by itself."""

from __future__ import annotations

from pathlib import Path

from memwell.records import Space
from memwell.storage.redis import RedisBackend
from memwell.testing.conformance.suite import Clock
from tests.engines.redis import single_url

HOME = Space("home")


def test_what_is_over_is_dropped_by_later_writes(tmp_path: Path):
    clock = Clock()
    with RedisBackend(single_url(tmp_path), clock=clock) as store:
        for number in range(20):
            store.kv.put(HOME, f"passing {number}", number, ttl=1)
        clock.advance(2)
        assert store.kv.scan(HOME).items == []
        for number in range(3):
            store.kv.put(HOME, "staying", number)
        assert [entry.value for entry in store.kv.scan(HOME).items] == [2]
        assert store.check() == []
        base = store._connections.tags.of_space("k", HOME).base
        [left] = store._connections.ask(store._connections.servers.of_slot(0), ("HLEN", f"{base}v"))
        assert left == 1

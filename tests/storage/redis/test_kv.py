"""Values by key in Redis: their order, and that what is over goes by itself."""

from __future__ import annotations

from pathlib import Path

from memwell.records import Space
from memwell.storage.redis import RedisBackend
from memwell.testing.clock import Clock
from tests.engines.redis import single_url

HOME = Space("home")


def test_entries_come_by_code_point_and_in_pieces(tmp_path: Path):
    keys = ["Z", "a", "a\x01", "é", "北", "\uffff", "🙂"]
    with RedisBackend(single_url(tmp_path)) as store:
        for key in reversed(keys):
            store.kv.put(HOME, key, {"key": key})
        for number in range(41):
            store.kv.put(HOME, f"many {number:04}", b"")
        listed = [entry.key for entry in store.kv.scan(HOME, limit=1000).items]
        assert listed == sorted(listed)
        assert set(keys) <= set(listed)
        assert [entry.key for entry in store.kv.scan(HOME, where={"key": "北"}).items] == ["北"]
        assert store.kv.count(HOME) == len(keys) + 41


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
        base = store._connections.tags.entries(HOME).base
        [left] = store._connections.ask(store._connections.servers.of_slot(0), ("HLEN", f"{base}v"))
        assert left == 1

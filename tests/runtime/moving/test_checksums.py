"""A store goes round through every engine and comes back the same."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memwell.records import Record, Space, Thread
from memwell.runtime.moving import move
from memwell.runtime.moving.checksums import total_of
from memwell.storage import open_backend
from memwell.storage.memory import MemoryBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance.copies import talked
from memwell.testing.strategies import Operation, outcome, writes
from memwell.values import new_id
from tests.engines.postgres import store_url
from tests.engines.redis import cluster_url, single_url

HOME = Space("user", "李雷")


def test_sqlite_to_postgres_to_redis_to_sqlite(tmp_path: Path) -> None:
    urls = [f"sqlite:{tmp_path}/a.db", store_url(tmp_path), single_url(tmp_path), f"sqlite:{tmp_path}/b.db"]
    with ExitStack() as held:
        first, *others = [held.enter_context(open_backend(url)) for url in urls]
        talked(first, Thread(HOME, "t"), Clock())
        first.index.upsert(
            [
                Record(id=f"r{n}", text=f"tea {n} 茶", space=HOME, metadata={"n": n / 3}, vector=[n, 1, 2])
                for n in range(99)
            ]
        )
        first.index.delete(HOME, ["r7"])
        first.kv.put(HOME, "键", {"b": [1, 2.5, None], "a": 2**63 - 1}, ttl=1000)
        first.kv.put(HOME, "bytes", bytes(range(256)))
        first.blobs.put(HOME, b"\x00" * 300_000)
        before, source = total_of(first), first
        for target in others:
            moved = move(source, target, seal=True, reason="gone on")
            assert (moved.checksum, moved.sealed) == (before.hexdigest(), True)
            assert target.check() == []
            source = target
        assert source.log.match(Thread(HOME, "t"), "tea") == first.log.match(Thread(HOME, "t"), "tea")
        assert [hit.record.id for hit in source.index.near(HOME, [5, 1, 2])] == [
            hit.record.id for hit in first.index.near(HOME, [5, 1, 2])
        ]


@pytest.mark.parametrize("engine", ["postgres", "redis", "cluster"])
def test_any_store_goes_there_and_back(engine: str, tmp_path: Path) -> None:
    address = {"postgres": store_url, "redis": single_url, "cluster": cluster_url}[engine]

    @given(st.lists(st.lists(writes(), max_size=12), min_size=1, max_size=2))
    @settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def check(rounds: list[list[Operation]]) -> None:
        with MemoryBackend() as source, open_backend(address(tmp_path / new_id())) as between, MemoryBackend() as back:
            for made in rounds:
                for operation in made:
                    outcome(operation, source)
                moved = move(source, between)
                assert moved.checksum == total_of(source).hexdigest()
            assert move(between, back, seal=True).checksum == moved.checksum

    check()

"""``MemwellStore`` and ``MemwellByteStore`` pass langchain's suites, and keep what those do not ask about."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.stores import BaseStore
from langchain_tests.integration_tests.base_store import BaseStoreAsyncTests, BaseStoreSyncTests

from memwell.errors import InvalidInput
from memwell.integrations.langchain_core import MemwellByteStore, MemwellStore
from memwell.storage import Backend, open_backend


class TestBytesSync(BaseStoreSyncTests[bytes]):
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellByteStore:
        return MemwellByteStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"one", b"", b"\x00\xff"


class TestBytesAsync(BaseStoreAsyncTests[bytes]):
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellByteStore:
        return MemwellByteStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"one", b"", b"\x00\xff"


class TestJSONSync(BaseStoreSyncTests[Any]):
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellStore:
        return MemwellStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return {"name": "安娜", "age": 31}, ["a", 1, None], "text"


class TestJSONAsync(BaseStoreAsyncTests[Any]):
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellStore:
        return MemwellStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return {"name": "安娜", "age": 31}, ["a", 1, None], "text"


def test_it_is_one_of_langchains(backend: Backend):
    assert isinstance(MemwellStore(backend), BaseStore)


KEYS = st.text(st.sampled_from("ab/é安𐍈\uffff"), min_size=1, max_size=4)


@given(kept=st.dictionaries(KEYS, st.binary(max_size=3), max_size=12), prefix=st.one_of(st.none(), st.just(""), KEYS))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_keys_come_in_order_whatever_the_prefix(backend: Backend, kept: dict[str, bytes], prefix: str | None):
    store = MemwellByteStore(backend)
    store.mdelete(list(store.yield_keys()))
    store.mset(list(kept.items()))
    expected = sorted(key for key in kept if key.startswith(prefix or ""))
    assert list(store.yield_keys(prefix=prefix)) == expected

    async def listed() -> list[str]:
        return [key async for key in store.ayield_keys(prefix=prefix)]

    assert asyncio.run(listed()) == expected


def test_more_keys_than_one_block(backend: Backend):
    store = MemwellStore(backend)
    names = [f"{group}/{number:04}" for group in ("a", "b", "c") for number in range(600)]
    store.mset([(name, 1) for name in reversed(names)])
    assert list(store.yield_keys()) == names
    assert list(store.yield_keys(prefix="b/")) == names[600:1200]


def test_a_batch_is_stored_whole_or_not_at_all(backend: Backend):
    store = MemwellStore(backend)
    with pytest.raises(InvalidInput, match="plain JSON"):
        store.mset([("good", 1), ("bad", object())])
    with pytest.raises(InvalidInput, match="empty"):
        store.mset([("good", 1), ("", 2)])
    with pytest.raises(InvalidInput, match="empty"):
        store.mdelete(["good", ""])
    assert list(store.yield_keys()) == []


def test_a_byte_store_takes_bytes_alone(backend: Backend):
    store = MemwellByteStore(backend)
    wrong: Any = "text"
    with pytest.raises(InvalidInput, match="must be bytes"):
        store.mset([("key", wrong)])
    assert store.mget(["key"]) == [None]


def test_spaces_see_nothing_of_each_other(backend: Backend):
    ours, theirs = MemwellStore(backend, space="ours"), MemwellStore(backend, space="theirs")
    ours.mset([("key", "mine")])
    assert theirs.mget(["key"]) == [None]
    assert list(theirs.yield_keys()) == []
    theirs.mdelete(["key"])
    assert ours.mget(["key"]) == ["mine"]


def test_it_takes_part_in_a_transaction_of_the_store(backend: Backend):
    store = MemwellStore(backend)

    async def torn() -> None:
        async with backend.atransaction():
            await store.amset([("key", 1)])
            assert await store.amget(["key"]) == [1]
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(asyncio.wait_for(torn(), 60))
    assert store.mget(["key"]) == [None]


def test_values_are_there_after_a_restart(tmp_path):
    with open_backend(tmp_path / "store.db") as opened:
        MemwellStore(opened).mset([("key", {"a": 1})])
    with open_backend(tmp_path / "store.db") as opened:
        assert MemwellStore(opened).mget(["key"]) == [{"a": 1}]

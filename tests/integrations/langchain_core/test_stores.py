"""``MemwellStore``, ``MemwellByteStore`` and ``MemwellCache`` pass langchain's suites, and share stores by their URL."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from langchain_tests.integration_tests.base_store import BaseStoreAsyncTests, BaseStoreSyncTests
from langchain_tests.integration_tests.cache import AsyncCacheTestSuite, SyncCacheTestSuite

from memwell.errors import BackendError, InvalidInput
from memwell.integrations.langchain_core import (
    MemwellByteStore,
    MemwellCache,
    MemwellChatMessageHistory,
    MemwellStore,
    MemwellVectorStore,
)
from memwell.records import DEFAULT_SPACE
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


def test_a_batch_is_stored_whole_or_not_at_all(backend: Backend):
    store = MemwellStore(backend)
    with pytest.raises(InvalidInput, match="plain JSON"):
        store.mset([("good", 1), ("bad", object())])
    with pytest.raises(InvalidInput, match="empty"):
        store.mset([("good", 1), ("", 2)])
    with pytest.raises(InvalidInput, match="empty"):
        store.mdelete(["good", ""])
    wrong: Any = "text"
    with pytest.raises(InvalidInput, match="must be bytes"):
        MemwellByteStore(backend).mset([("good", b"1"), ("bad", wrong)])
    assert list(store.yield_keys()) == []


def test_spaces_see_nothing_of_each_other(backend: Backend):
    answers = [MemwellCache(backend, space=name) for name in ("ours", "theirs")]
    for cache in answers:
        cache.update("0", "model", [Generation(text="x")])
    answers[0].clear()
    assert [cache.lookup("0", "model") for cache in answers] == [None, [Generation(text="x")]]
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


def test_values_survive_a_restart(tmp_path):
    with open_backend(tmp_path / "store.db") as opened:
        MemwellStore(opened).mset([("key", {"a": 1})])
    with open_backend(tmp_path / "store.db") as opened:
        assert MemwellStore(opened).mget(["key"]) == [{"a": 1}]


# Caches

CALL = {"name": "weather", "args": {"city": "巴黎"}, "id": "call-1", "type": "tool_call"}
USAGE = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
ANSWERS: list[list[Generation]] = [
    [],
    [Generation(text="")],
    [Generation(text="one", generation_info={"finish_reason": "stop"}), Generation(text="two")],
    [GenerationChunk(text="part", generation_info={"a": [1, 2.5, None]})],
    [
        ChatGeneration(
            message=AIMessage(
                [{"type": "text", "text": "Let me see."}, {"type": "reasoning", "reasoning": "…"}],
                tool_calls=[CALL],
                usage_metadata=USAGE,
                response_metadata={"model_name": "m", "logprobs": None},
                id="run-1",
                name="assistant",
            ),
            generation_info={"finish_reason": "tool_calls"},
        )
    ],
    [ChatGenerationChunk(message=AIMessageChunk(content="par", id="run-2", chunk_position="last"))],
]


class TestCacheSync(SyncCacheTestSuite):
    @pytest.fixture
    def cache(self, backend: Backend) -> MemwellCache:
        return MemwellCache(backend)


class TestCacheAsync(AsyncCacheTestSuite):
    @pytest.fixture
    def cache(self, backend: Backend) -> MemwellCache:
        return MemwellCache(backend)


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_comes_back_as_it_was(backend: Backend, answer: list[Generation]):
    cache = MemwellCache(backend)
    cache.update("prompt", "model", answer)
    found = cache.lookup("prompt", "model")
    assert found == answer
    assert [type(one) for one in found or ()] == [type(one) for one in answer]


ODD = st.text(st.sampled_from('a",:1\\\ud800é安\x00'), max_size=4)


@given(text=ODD, cuts=st.tuples(st.integers(0, 4), st.integers(0, 4)), other=st.tuples(ODD, ODD))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_question_gets_the_answer_of_another(
    backend: Backend, text: str, cuts: tuple[int, int], other: tuple[str, str]
):
    cache = MemwellCache(backend)
    cache.clear()
    one, shifted = ((text[:cut], text[cut:]) for cut in cuts)
    cache.update(*one, [Generation(text="one")])
    for question in (shifted, other, (r"\ud800", ""), ("\ud800", "")):
        assert (cache.lookup(*question) is None) == (question != one)


class Strange(Generation):
    """A subclass that the cache does not know."""


@pytest.mark.parametrize(
    "answer",
    [Generation(text="x", generation_info={"object": object()}), Generation(text="\x00"), Strange(text="x")],
    ids=["object", "NUL", "subclass"],
)
def test_what_cannot_be_kept_is_asked_for_again(backend: Backend, answer: Generation):
    cache = MemwellCache(backend)
    cache.update("prompt", "model", [answer])
    assert cache.lookup("prompt", "model") is None


@pytest.mark.parametrize("stored", [7, [7], [{}], [{"kind": "os.system"}], [{"kind": "ChatGeneration"}], b"raw"])
def test_an_entry_that_cannot_be_read_is_a_miss(backend: Backend, stored: Any):
    cache = MemwellCache(backend)
    cache.update("prompt", "model", [Generation(text="x")])
    (entry,) = backend.kv.scan(cache.space).items
    backend.kv.put(cache.space, entry.key, stored)
    assert cache.lookup("prompt", "model") is None


def test_an_answer_lasts_for_its_time_to_live(backend: Backend):
    cache = MemwellCache(backend, ttl=3600)
    cache.update("prompt", "model", [Generation(text="x")])
    (entry,) = backend.kv.scan(cache.space).items
    assert entry.expires is not None


def test_a_chat_model_is_asked_once(tmp_path):
    def asked(*answers: str) -> tuple[str, str]:
        with open_backend(tmp_path / "cache.db") as opened:
            model = GenericFakeChatModel(messages=iter(answers), cache=MemwellCache(opened))
            first = model.invoke([HumanMessage("Hello?")]).text
            return first, asyncio.run(model.ainvoke([HumanMessage("Hello?")])).text

    assert asked("first", "second") == ("first", "first")
    # After a restart too.
    assert asked("third") == ("first", "first")


# Where they are


def test_a_file_that_was_deleted_is_made_again(tmp_path: Path):
    old = MemwellChatMessageHistory("s", tmp_path / "app.db")
    old.add_user_message("gone")
    for file in tmp_path.iterdir():
        file.unlink()
    MemwellChatMessageHistory("s", tmp_path / "app.db").add_user_message("kept")
    assert [one.content for one in MemwellChatMessageHistory("s", tmp_path / "app.db").messages] == ["kept"]
    # A holder of the old file gets an error instead of losing what it writes.
    with pytest.raises(BackendError):
        old.add_user_message("lost")


def test_kinds_in_one_space_are_separate(backend: Backend):
    store, cache = MemwellStore(backend), MemwellCache(backend)
    notes = MemwellVectorStore(DeterministicFakeEmbedding(size=4), backend)
    store.mset([("key", 1)])
    cache.update("prompt", "model", [Generation(text="x")])
    notes.add_texts(["note"], ids=["key"])
    assert list(store.yield_keys()) == ["key"]
    cache.clear()
    notes.delete()
    assert store.mget(["key"]) == [1]
    assert backend.kv.scan(DEFAULT_SPACE).items == []


def test_the_default_is_a_file_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    MemwellStore().mset([("key", b"value")])
    assert (tmp_path / "memwell.db").exists()
    assert MemwellByteStore("memwell.db").mget(["key"]) == [b"value"]


def test_a_process_that_never_closes_ends_cleanly(tmp_path: Path):
    code = (
        "from memwell.integrations.langchain_core import MemwellChatMessageHistory\n"
        "MemwellChatMessageHistory('s', 'app.db').add_user_message('kept')\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    # Closed, and so in one file.
    assert os.listdir(tmp_path) == ["app.db"]
    assert len(MemwellChatMessageHistory("s", tmp_path / "app.db").messages) == 1

"""The room as a whole: what it offers, and what it says when langchain-core is not there."""

from __future__ import annotations

import asyncio
import builtins
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.caches import BaseCache
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests.base_store import BaseStoreAsyncTests, BaseStoreSyncTests
from langchain_tests.integration_tests.cache import AsyncCacheTestSuite, SyncCacheTestSuite
from langchain_tests.integration_tests.embeddings import EmbeddingsIntegrationTests
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests
from langchain_tests.unit_tests.embeddings import EmbeddingsUnitTests

from memwell.errors import ConfigurationError, InvalidInput
from memwell.history import History
from memwell.integrations import langchain_core as room
from memwell.integrations.langchain_core import (
    MemwellByteStore,
    MemwellCache,
    MemwellChatMessageHistory,
    MemwellEmbeddings,
    MemwellRetriever,
    MemwellStore,
    MemwellVectorStore,
)
from memwell.messages import Message, Role, Text, ToolResult, ai, human, message
from memwell.models import as_embedder
from memwell.records import DEFAULT_SPACE
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_memory
from memwell.storage import Backend, open_backend

BASES = {
    "MemwellByteStore": BaseStore, "MemwellCache": BaseCache, "MemwellChatMessageHistory": BaseChatMessageHistory,
    "MemwellEmbeddings": Embeddings, "MemwellRetriever": BaseRetriever, "MemwellStore": BaseStore,
    "MemwellVectorStore": VectorStore,
}  # fmt: skip


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """An empty store of every kind."""
    with open_backend("memory:" if request.param == "memory" else tmp_path / "store.db") as opened:
        yield opened


def test_every_class_is_a_true_subclass():
    assert sorted(BASES) == room.__all__
    assert all(issubclass(getattr(room, name), base) for name, base in BASES.items())


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_without_langchain_it_says_what_to_install():
    code = """
import sys
sys.modules["langchain_core"] = None
from memwell.errors import MissingDependency
try:
    import memwell.integrations.langchain_core
except ImportError as error:
    print(isinstance(error, MissingDependency), error)
"""
    said = python(code)
    assert said.startswith("True ")
    assert 'pip install "path/to/memwell[langchain]"' in said


def test_another_missing_module_is_not_blamed_on_langchain():
    code = """
import sys
sys.modules["msgspec.structs"] = None
try:
    import memwell.integrations.langchain_core
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert python(code) == "msgspec.structs"


# ``MemwellChatMessageHistory``: LangChain's messages come back as they went in.


pytestmark = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")

CALL = {"name": "weather", "args": {"city": "巴黎", "days": 3}, "id": "call-1", "type": "tool_call"}
USAGE: UsageMetadata = {
    "input_tokens": 3, "output_tokens": 5, "total_tokens": 8, "input_token_details": {"cache_read": 2},
    "output_token_details": {"reasoning": 1},
}  # fmt: skip
# What a layout can hold is drawn at random in tests/transcript/test_langchain.py.
EVERY_KIND: list[BaseMessage] = [
    HumanMessage("said", additional_kwargs={"a": {"b": [1, 2.5, None, True]}}, of_my_own="kept"),
    AIMessage("Let me see.", tool_calls=[CALL], usage_metadata=USAGE, id="run-1"),
    ToolMessage("22 °C", tool_call_id="call-1", name="weather", artifact={"rows": [[1, "a"], [2, None]]}, id="t"),
    FunctionMessage(content="42", name="answer"),
    ChatMessage(content="Order!", role="judge"),
    RemoveMessage(id="run-1"),
    AIMessageChunk(content="par", id="run-2", usage_metadata=USAGE, chunk_position="last"),
]


def check_same(found: Sequence[BaseMessage], expected: Sequence[BaseMessage]) -> None:
    assert list(found) == list(expected)
    assert [type(one) for one in found] == [type(one) for one in expected]
    assert [one.model_dump() for one in found] == [one.model_dump() for one in expected]


def test_a_whole_conversation_sync_and_async(backend: Backend):
    sync, other = MemwellChatMessageHistory("sync", backend), MemwellChatMessageHistory("async", backend)
    sync.add_messages(EVERY_KIND)

    async def told() -> list[BaseMessage]:
        await other.aadd_messages(EVERY_KIND)
        return await other.aget_messages()

    check_same(sync.messages, EVERY_KIND)
    check_same(asyncio.run(told()), EVERY_KIND)
    sync.add_messages(EVERY_KIND)
    check_same(sync.messages, EVERY_KIND * 2)  # LangChain lets an id come twice.
    asyncio.run(other.aclear())
    assert other.messages == []
    sync.clear()
    assert sync.messages == []


def test_all_messages_of_a_call_are_stored_or_none(backend: Backend):
    history = MemwellChatMessageHistory("s", backend)
    history.add_user_message("before")
    with pytest.raises(InvalidInput, match="artifact"):
        history.add_messages([HumanMessage("good"), ToolMessage("bad", tool_call_id="c", artifact=object())])
    with pytest.raises(InvalidInput, match="artifact"):
        asyncio.run(history.aadd_messages([ToolMessage("bad", tool_call_id="c", artifact={1, 2})]))
    history.add_messages([])
    check_same(history.messages, [HumanMessage("before")])


def test_sessions_and_spaces_are_apart(backend: Backend):
    told = {
        (session, space): MemwellChatMessageHistory(session, backend, space=space)
        for session in ("a", "b")
        for space in ("x", "y")
    }
    for name, history in told.items():
        history.add_user_message("/".join(name))
    told["a", "x"].clear()
    assert [[one.content for one in history.messages] for history in told.values()] == [[], ["a/y"], ["b/x"], ["b/y"]]


def test_memwell_reads_the_same_conversation(backend: Backend):
    theirs = MemwellChatMessageHistory("trip", backend)
    theirs.add_messages([HumanMessage("Where to?"), AIMessage("", tool_calls=[CALL])])
    theirs.add_message(ToolMessage("22 °C", tool_call_id="call-1", id="run-1"))
    ours = History(backend, "trip")
    assert ours.get("run-1").role is Role.TOOL
    assert [one.role for one in ours] == [Role.HUMAN, Role.AI, Role.TOOL]
    assert ours.last(1)[0].tool_results[0].call_id == ours.last(2)[0].tool_calls[0].id
    assert theirs.history.rounds(1)[0].messages == list(ours)


def test_what_memwell_wrote_is_read_too(backend: Backend):
    ours = History(backend, "trip")
    ours.add(human("Where to?", name="ann"), ai("Paris."), message(Role.VIEW, "typing…"), human("psst", hidden=True))
    ours.add(message(Role.CHAT, "Order!", chat_role="judge"))
    # What is not for a model is not given to a chain, which would pass it on.
    check_same(
        MemwellChatMessageHistory("trip", backend).messages,
        [HumanMessage("Where to?", name="ann"), AIMessage("Paris."), ChatMessage(content="Order!", role="judge")],
    )


def chain(get_history: Callable[[str], BaseChatMessageHistory], *answers: str) -> RunnableWithMessageHistory:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be kind."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    model = GenericFakeChatModel(messages=iter(answers))
    return RunnableWithMessageHistory(
        prompt | model, get_history, input_messages_key="input", history_messages_key="history"
    )


def of(session: str) -> Any:
    return {"configurable": {"session_id": session}}


def spoken(history: BaseChatMessageHistory) -> list[str]:
    return [one.text for one in history.messages]


def test_a_chain_keeps_its_sessions(backend: Backend):
    def get_history(session: str) -> MemwellChatMessageHistory:
        return MemwellChatMessageHistory(session, backend)

    talk = chain(get_history, "one two", "three four", "five six", "seven")

    async def on() -> str:
        return "".join([piece.text async for piece in talk.astream({"input": "c"}, of("ann"))])

    assert talk.invoke({"input": "a"}, of("ann")).text == "one two"
    assert "".join(piece.text for piece in talk.stream({"input": "b"}, of("bob"))) == "three four"
    assert asyncio.run(on()) == "five six"
    assert talk.invoke({"input": "d"}, of("bob")).text == "seven"
    assert spoken(get_history("ann")) == ["a", "one two", "c", "five six"]
    assert spoken(get_history("bob")) == ["b", "three four", "d", "seven"]


def test_nothing_blocks_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blocking: list[str] = []

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            files = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)]
            # The thread of a loop has one that runs; a loop's own helper threads have none.
            if asyncio._get_running_loop() is not None and any("src/memwell" in one for one in files):
                blocking.append(f"{name}{args!r}")
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    for name in ("stat", "lstat", "readlink", "open", "mkdir", "unlink", "fsync", "getcwd"):
        watch(os, name)
    watch(builtins, "open")
    watch(time, "sleep")
    watch(room, "shared_backend")

    async def talked() -> None:
        # A relative path is looked up, and the store is opened, with the first call.
        talk = chain(lambda session: MemwellChatMessageHistory(session, str(tmp_path / "chat.db")), "one", "two")
        await talk.ainvoke({"input": "a"}, of("ann"))
        await talk.ainvoke({"input": "b"}, of("ann"))
        history = MemwellChatMessageHistory("ann", str(tmp_path / "chat.db"))
        assert len(await history.aget_messages()) == 4
        assert "ann" in repr(history)
        await history.aclear()

    asyncio.run(talked())
    assert blocking == []


class Bytes:
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellByteStore:
        return MemwellByteStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"one", b"", b"\x00\xff"


class JSON:
    @pytest.fixture
    def kv_store(self, backend: Backend) -> MemwellStore:
        return MemwellStore(backend)

    @pytest.fixture
    def three_values(self) -> tuple[Any, Any, Any]:
        return {"name": "安娜", "age": 31}, ["a", 1, None], "text"


class TestBytesSync(Bytes, BaseStoreSyncTests[bytes]): ...


class TestBytesAsync(Bytes, BaseStoreAsyncTests[bytes]): ...


class TestJSONSync(JSON, BaseStoreSyncTests[Any]): ...


class TestJSONAsync(JSON, BaseStoreAsyncTests[Any]): ...


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


ANSWERS: list[list[Generation]] = [
    [],
    [Generation(text="")],
    [Generation(text="one", generation_info={"finish_reason": "stop"}), Generation(text="two")],
    [GenerationChunk(text="part", generation_info={"a": [1, 2.5, None]})],
    [
        ChatGeneration(
            message=AIMessage(
                [{"type": "text", "text": "Let me see."}, {"type": "reasoning", "reasoning": "…"}], tool_calls=[CALL],
                usage_metadata=USAGE, response_metadata={"model_name": "m", "logprobs": None}, id="run-1",
                name="assistant",
            ),
            generation_info={"finish_reason": "tool_calls"},
        )
    ],
    [ChatGenerationChunk(message=AIMessageChunk(content="par", id="run-2", chunk_position="last"))],
]  # fmt: skip


class Answers:
    @pytest.fixture
    def cache(self, backend: Backend) -> MemwellCache:
        return MemwellCache(backend)


class TestCacheSync(Answers, SyncCacheTestSuite): ...


class TestCacheAsync(Answers, AsyncCacheTestSuite): ...


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_comes_back_as_it_was(backend: Backend, answer: list[Generation]):
    cache = MemwellCache(backend, ttl=3600)
    cache.update("prompt", "model", answer)
    found = cache.lookup("prompt", "model")
    assert found == answer
    assert all(entry.expires is not None for entry in backend.kv.scan(cache.space).items)
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


def test_a_chat_model_is_asked_once(tmp_path):
    def asked(*answers: str) -> tuple[str, str]:
        with open_backend(tmp_path / "cache.db") as opened:
            model = GenericFakeChatModel(messages=iter(answers), cache=MemwellCache(opened))
            first = model.invoke([HumanMessage("Hello?")]).text
            return first, asyncio.run(model.ainvoke([HumanMessage("Hello?")])).text

    assert asked("first", "second") == ("first", "first")
    # After a restart too.
    assert asked("third") == ("first", "first")


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


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, backend: Backend) -> VectorStore:
        return MemwellVectorStore(self.get_embeddings(), backend)


class Compass(Embeddings):
    """A text that is an angle in degrees points that way; any other text points nowhere."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if not text.lstrip("-").isdigit():
            return [0.0, 0.0]
        return [math.cos(math.radians(int(text))), math.sin(math.radians(int(text)))]


@pytest.fixture
def compass(backend: Backend) -> MemwellVectorStore:
    return MemwellVectorStore(Compass(), backend)


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_scores_are_cosines(compass: MemwellVectorStore):
    compass.add_texts(["0", "60", "90", "180"])
    found = compass.similarity_search_with_score("0", k=10)
    assert [document.page_content for document, _ in found] == ["0", "60", "90", "180"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.5, 0.0, -1.0], abs=1e-3)
    assert asyncio.run(compass.asimilarity_search_with_score("0", k=10)) == found
    relevant = compass.similarity_search_with_relevance_scores("0", k=10, score_threshold=0.4)
    assert [document.page_content for document, _ in relevant] == ["0", "60"]
    assert all(0 <= score <= 1 for _, score in compass.similarity_search_with_relevance_scores("0", k=10))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"city": "Paris"}, {"0", "20"}), ({"year": {"$ge": 2020}}, {"10", "20"}),
        ({"$or": [{"city": "巴黎"}, {"year": 1999}]}, {"0", "10"}), ({"@id": {"$in": ["a", "c"]}}, {"0", "20"}),
        ({"city": "Rome"}, set()),
    ],
)  # fmt: skip
def test_a_filter_narrows_every_kind_of_search(compass: MemwellVectorStore, wanted: Any, expected: set[str]):
    metadatas = [{"city": "Paris", "year": 1999}, {"city": "巴黎", "year": 2020}, {"city": "Paris", "year": 2021}]
    compass.add_texts(["0", "10", "20"], metadatas, ids=["a", "b", "c"])
    searches = [
        compass.similarity_search("0", filter=wanted),
        [document for document, _ in compass.similarity_search_with_score("0", filter=wanted)],
        compass.max_marginal_relevance_search("0", filter=wanted),
        compass.as_retriever(search_kwargs={"filter": wanted}).invoke("0"),
        asyncio.run(compass.as_retriever(search_type="mmr", search_kwargs={"filter": wanted}).ainvoke("0")),
    ]
    assert [set(texts(found)) for found in searches] == [expected] * len(searches)


def test_what_is_no_argument_is_refused_and_stores_nothing(compass: MemwellVectorStore):
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (compass.add_texts, {"texts": ["0", "1"], "metadatas": [{}]}, "as many metadatas"),
        (compass.add_texts, {"texts": ["0", "1"], "ids": ["a"]}, "as many ids"),
        (compass.add_texts, {"texts": ["0", "1"], "metadatas": [{}, {"file": Path("x")}]}, "plain JSON"),
        *((compass.similarity_search, {"query": "0", "k": k}, "k must be") for k in (-1, 1.5, None, True)),
        *((compass.max_marginal_relevance_search, {"query": "0", "k": k}, "k must be") for k in (-1, None)),
        (compass.max_marginal_relevance_search, {"query": "0", "lambda_mult": 1.5}, "lambda_mult"),
    ]
    for call, arguments, said in wrong:
        with pytest.raises(InvalidInput, match=said):
            call(**arguments)
    assert compass.similarity_search("0") == []
    compass.add_texts(["0"])
    assert compass.similarity_search("0", k=0) == compass.max_marginal_relevance_search("0", k=0) == []
    with pytest.raises(InvalidInput, match="'filters'"):
        compass.similarity_search("0", filters={"user": "ann"})
    with pytest.raises(InvalidInput, match="'where'"):
        compass.delete(where={"user": "ann"})
    assert texts(compass.similarity_search("0")) == ["0"]


def test_a_text_that_points_nowhere_is_kept_but_not_found(compass: MemwellVectorStore):
    compass.add_texts(["", "0"], ids=["empty", "zero"])
    assert compass.get_by_ids(["empty"]) == [Document(id="empty", page_content="")]
    assert texts(compass.similarity_search("0", k=5)) == ["0"]
    assert compass.similarity_search("no direction") == []


def test_delete_by_filter_and_altogether(compass: MemwellVectorStore):
    compass.add_texts(["0", "10", "20"], [{"old": True}, {"old": False}, {}])
    with pytest.raises(InvalidInput, match="not both"):
        compass.delete(["a"], filter={"old": True})
    assert compass.delete(filter={"old": True}) is True
    assert texts(compass.similarity_search("0")) == ["10", "20"]
    assert asyncio.run(compass.adelete()) is True
    assert compass.similarity_search("0") == []


def test_marginal_relevance_prefers_what_differs(compass: MemwellVectorStore):
    compass.add_texts(["5", "10", "80"])
    found = {share: compass.max_marginal_relevance_search("0", k=2, lambda_mult=share) for share in (0.0, 1.0)}
    assert {share: texts(documents) for share, documents in found.items()} == {0.0: ["5", "80"], 1.0: ["5", "10"]}
    assert texts(asyncio.run(compass.amax_marginal_relevance_search("0", k=9, fetch_k=2))) == ["5", "10", "80"]


def test_made_from_texts_and_documents(backend: Backend):
    made = MemwellVectorStore.from_texts(["0"], Compass(), [{"a": 1}], ids=["x"], url_or_backend=backend, space="one")
    assert made.get_by_ids(["x"]) == [Document(id="x", page_content="0", metadata={"a": 1})]
    documents = [Document(id="y", page_content="90"), Document(page_content="45")]
    other = asyncio.run(MemwellVectorStore.afrom_documents(documents, Compass(), url_or_backend=backend, space="two"))
    assert texts(other.similarity_search("90")) == ["90", "45"]
    assert [document.id for document in other.similarity_search("90", k=1)] == ["y"]
    assert made.embeddings is made.embedding


def test_the_local_models_are_used_without_an_embedding(backend: Backend):
    store = MemwellVectorStore(url_or_backend=backend)
    store.add_texts(["Anna keeps two cats.", "The train was late.", "安娜喜欢喝茶。"])
    assert texts(store.similarity_search("pets", k=1)) == ["Anna keeps two cats."]
    assert texts(store.similarity_search("tea", k=1)) == ["安娜喜欢喝茶。"]


def test_langchains_indexing_keeps_it_up_to_date(compass: MemwellVectorStore):
    manager = InMemoryRecordManager("compass")
    manager.create_schema()

    def indexed(*angles: str) -> dict[str, object]:
        documents = [Document(page_content=angle, metadata={"source": "a"}) for angle in angles]
        return dict(index(documents, manager, compass, cleanup="full", source_id_key="source", key_encoder="sha256"))

    assert indexed("0", "10")["num_added"] == 2
    assert indexed("0", "20") == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 1}
    assert texts(compass.similarity_search("0")) == ["0", "20"]


class Ours:
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings


class TestEmbeddings(Ours, EmbeddingsUnitTests): ...


class TestEmbeddingsBoth(Ours, EmbeddingsIntegrationTests): ...


class TestEmbeddingsMiniLM(TestEmbeddingsBoth):
    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": "minilm"}


def test_any_embedder_will_do():
    embedder = as_embedder(lambda texts: [[float(len(text)), 1.0] for text in texts])
    embeddings = MemwellEmbeddings(embedder)
    assert embeddings.embedder is embedder
    assert np.allclose(embeddings.embed_documents(["abc", "a"]), embedder.embed(["abc", "a"]))
    assert asyncio.run(embeddings.aembed_query("abc")) == embeddings.embed_query("abc")
    unknown: Any = "no-such-model"
    with pytest.raises(ConfigurationError, match="no-such-model"):
        MemwellEmbeddings(unknown)


TOLD = [
    "Ann is allergic to nuts.", "Bob likes trains.", "安娜喜欢喝茶。", "Ann moved to Paris.", "The meeting was short.",
]  # fmt: skip


@pytest.fixture
def memory(backend: Backend) -> Iterator[Engine]:
    with open_memory(backend, embedder=None, work=False) as opened:
        for number, text in enumerate(TOLD):
            speaker = "Ann" if number % 2 else "Bob"
            time = datetime(2026, 3, 1 + number, tzinfo=UTC)
            opened.remember(text, speaker=speaker, time=time, metadata={"number": number, "kind": "mine"})
        yield opened


class TestRetriever(RetrieversIntegrationTests):
    memory: Engine

    @pytest.fixture(autouse=True)
    def over(self, memory: Engine) -> None:
        self.memory = memory

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemwellRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "what does Ann like?"


def test_a_document_says_what_it_is_and_why(memory: Engine):
    (found,) = MemwellRetriever(memory=memory, k=1).invoke("who is allergic to nuts?")
    (hit,) = memory.recall("who is allergic to nuts?", limit=1)
    assert isinstance(found, Document)
    assert (found.page_content, found.id, found.metadata["id"]) == (TOLD[0], hit.id, hit.id)
    assert found.metadata["score"] == pytest.approx(hit.score)
    assert found.metadata["when"] == "2026-03-01T00:00:00+00:00"
    assert (found.metadata["speaker"], found.metadata["kind"], found.metadata["number"]) == ("Bob", hit.kind, 0)
    assert found.metadata["why"] == hit.why(query="who is allergic to nuts?")
    assert found.metadata["why"]


def test_options_narrow_what_is_recalled(memory: Engine):
    retriever = MemwellRetriever(memory=memory, k=10, search_kwargs={"speaker": "Ann"})
    assert {one.metadata["speaker"] for one in retriever.invoke("Ann trains")} == {"Ann"}
    assert {one.metadata["speaker"] for one in retriever.invoke("Ann trains", speaker="Bob")} == {"Bob"}
    (only,) = retriever.invoke("Ann trains", where={"number": 3})
    assert only.page_content == TOLD[3]
    with pytest.raises(InvalidInput, match="limit"):
        MemwellRetriever(memory=memory, k=-1).invoke("Ann")
    with pytest.raises(ValueError, match="Memory"):
        MemwellRetriever(memory="app.db")  # pyright: ignore[reportArgumentType]


def test_every_result_of_a_message_is_a_message_of_its_own(tmp_path: Path) -> None:
    history = MemwellChatMessageHistory("trip", str(tmp_path / "app.db"))
    results = tuple(ToolResult(str(place), (Text(said),), "f") for place, said in enumerate(("Ten.", "Two.")))
    history.history.add(human("Count."), Message(Role.TOOL, results))
    assert [(one.type, one.content, getattr(one, "tool_call_id", None)) for one in history.messages] == [
        ("human", "Count.", None),
        ("tool", "Ten.", "0"),
        ("tool", "Two.", "1"),
    ]

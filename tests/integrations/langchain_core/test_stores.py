"""``MemwellStore``, ``MemwellByteStore`` and ``MemwellCache`` pass langchain's suites, and share stores by their URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.embeddings import DeterministicFakeEmbedding
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
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_tests.integration_tests.base_store import BaseStoreAsyncTests, BaseStoreSyncTests
from langchain_tests.integration_tests.cache import AsyncCacheTestSuite, SyncCacheTestSuite

from memwell.errors import InvalidInput
from memwell.history import History
from memwell.integrations.langchain_core import (
    MemwellByteStore,
    MemwellCache,
    MemwellChatMessageHistory,
    MemwellStore,
    MemwellVectorStore,
)
from memwell.messages import Role, ai, human, message
from memwell.records import DEFAULT_SPACE
from memwell.storage import Backend, open_backend

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
    asyncio.run(other.aclear())
    assert other.messages == []
    sync.clear()
    assert sync.messages == []


def test_all_messages_of_a_call_are_stored_or_none(backend: Backend):
    history = MemwellChatMessageHistory("s", backend)
    history.add_user_message("before")
    with pytest.raises(InvalidInput, match="artifact"):
        history.add_messages([HumanMessage("good"), ToolMessage("bad", tool_call_id="c", artifact=object())])
    with pytest.raises(InvalidInput, match="NUL"):
        asyncio.run(history.aadd_messages([HumanMessage("good"), HumanMessage("bad\x00")]))
    history.add_messages([])
    check_same(history.messages, [HumanMessage("before")])


def test_the_same_id_may_come_twice(backend: Backend):
    history = MemwellChatMessageHistory("s", backend)
    twice: list[BaseMessage] = [HumanMessage("one", id="x"), HumanMessage("two", id="x")]
    history.add_messages(twice)
    history.add_messages(twice)
    check_same(history.messages, twice * 2)


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


@pytest.mark.parametrize("session", ["", None, 7, "x" * 2000])
def test_a_session_without_a_name_is_refused(backend: Backend, session: Any):
    with pytest.raises(InvalidInput):
        MemwellChatMessageHistory(session, backend)


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

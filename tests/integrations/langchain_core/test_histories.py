"""``MemwellChatMessageHistory``: LangChain's messages come back as they went in."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from memwell.errors import InvalidInput
from memwell.history import History
from memwell.integrations.langchain_core import MemwellChatMessageHistory
from memwell.messages import Role, ai, human, message
from memwell.storage import Backend, open_backend

pytestmark = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")

CALL = {"name": "weather", "args": {"city": "巴黎", "days": 3}, "id": "call-1", "type": "tool_call"}
BAD_CALL = {"name": "weather", "args": "{city:", "id": None, "error": "no JSON", "type": "invalid_tool_call"}
USAGE: UsageMetadata = {
    "input_tokens": 3,
    "output_tokens": 5,
    "total_tokens": 8,
    "input_token_details": {"cache_read": 2},
    "output_token_details": {"reasoning": 1},
}
EVERY_KIND: list[BaseMessage] = [
    HumanMessage([{"type": "image", "base64": "AAAA", "mime_type": "image/png", "extras": {"detail": "low"}}]),
    HumanMessage("said", additional_kwargs={"a": {"b": [1, 2.5, None, True]}}, of_my_own="kept"),
    AIMessage("Let me see.", tool_calls=[CALL], invalid_tool_calls=[BAD_CALL], usage_metadata=USAGE, id="run-1"),
    AIMessage([{"type": "reasoning", "reasoning": "…"}, {"type": "text", "text": "So.", "annotations": []}]),
    AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
    ToolMessage("22 °C", tool_call_id="call-1", name="weather", artifact={"rows": [[1, "a"], [2, None]]}, id="t"),
    FunctionMessage(content="42", name="answer"),
    ChatMessage(content="Order!", role="judge"),
    RemoveMessage(id="run-1"),
    AIMessageChunk(
        content="par",
        id="run-2",
        tool_call_chunks=[{"name": "f", "args": '{"a": 1', "id": "c", "index": 0, "type": "tool_call_chunk"}],
        usage_metadata=USAGE,
        chunk_position="last",
    ),
    HumanMessageChunk(content="pie"),
    SystemMessageChunk(content="ce"),
    ToolMessageChunk(content="of", tool_call_id="call-4"),
    ChatMessageChunk(content="it", role="judge"),
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


PLAIN = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9), st.text("ab é安\n", max_size=5)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=3), PLAIN, max_size=3)
WORDS = st.text('ab 安\n"\\', max_size=6)
BLOCKS = st.one_of(
    WORDS,
    st.builds(lambda text: {"type": "text", "text": text}, WORDS),
    st.builds(lambda data: {**data, "type": "custom"}, OBJECTS),
)
CONTENT = st.one_of(WORDS, st.lists(BLOCKS, max_size=3))
CALLS = st.lists(
    st.builds(
        lambda name, args, id_: {"name": name, "args": args, "id": id_, "type": "tool_call"},
        st.text("fg", max_size=3),
        OBJECTS,
        st.one_of(st.none(), st.text("12", max_size=2)),
    ),
    max_size=2,
)
EXTRAS: dict[str, Any] = {
    "id": st.one_of(st.none(), st.text("xy", max_size=2)),
    "name": st.one_of(st.none(), st.text("no", max_size=2)),
    "additional_kwargs": OBJECTS,
    "response_metadata": OBJECTS,
}
MESSAGES = st.one_of(
    st.builds(HumanMessage, CONTENT, **EXTRAS),
    st.builds(SystemMessage, CONTENT, **EXTRAS),
    st.builds(AIMessage, CONTENT, tool_calls=CALLS, **EXTRAS),
    st.builds(ToolMessage, CONTENT, tool_call_id=st.text("12", max_size=2), artifact=PLAIN, **EXTRAS),
    st.builds(ChatMessage, CONTENT, role=st.text("rs", max_size=3), **EXTRAS),
)


@given(told=st.lists(MESSAGES, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_told_comes_back(backend: Backend, told: list[BaseMessage]):
    history = MemwellChatMessageHistory("s", backend)
    history.clear()
    history.add_messages(told)
    check_same(history.messages, told)


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


# RunnableWithMessageHistory


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


WRITER = """
import sys
from langchain_core.messages import AIMessage, HumanMessage
from memwell.integrations.langchain_core import MemwellChatMessageHistory

path, name = sys.argv[1:]
for number in range(20):
    history = MemwellChatMessageHistory("shared", path)
    history.add_messages([HumanMessage(f"{name} {number}"), AIMessage(f"{name} {number}!")])
"""


def test_two_processes_write_one_session(tmp_path: Path):
    path = tmp_path / "chat.db"
    writers = [subprocess.Popen([sys.executable, "-W", "error", "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(90) for writer in writers] == [0, 0]
    # This process opens the file again, as after a restart.
    with open_backend(path) as opened:
        told = spoken(MemwellChatMessageHistory("shared", opened))
    assert len(told) == 80
    # What was added together stayed together, and each kept its order.
    assert all(f"{asked}!" == answered for asked, answered in zip(told[::2], told[1::2], strict=True))
    for name in "ab":
        assert [one for one in told[::2] if one.startswith(name)] == [f"{name} {number}" for number in range(20)]

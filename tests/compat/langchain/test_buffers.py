from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.langchain import (
    AIMessage,
    ChatMessageHistory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationStringBufferMemory,
    ConversationTokenBufferMemory,
    FileChatMessageHistory,
    HumanMessage,
    MemwellChatMessageHistory,
    SystemMessage,
    ThreadChatMessageHistory,
    ToolMessage,
)
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.messages import ai, message
from memwell.storage.memory import MemoryBackend
from memwell.storage.sharing import close_shared

few = settings(max_examples=20)


class Words:
    """Counts words as tokens."""

    def predict(self, text: str) -> str:
        return text

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


def talk(memory: Any, count: int, start: int = 0) -> Any:
    for number in range(start, start + count):
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})
    return memory


def test_buffer_of_messages_and_of_text() -> None:
    memory = talk(ConversationBufferMemory(human_prefix="我", ai_prefix="它", memory_key="chat"), 2)
    assert memory.memory_variables == ["chat"]
    assert memory.load_memory_variables({}) == {"chat": "我: q0\n它: a0\n我: q1\n它: a1"}
    assert asyncio.run(memory.abuffer()) == memory.buffer == memory.buffer_as_str
    assert asyncio.run(memory.abuffer_as_str()) == memory.buffer_as_str
    memory.return_messages = True
    expected = [HumanMessage("q0"), AIMessage("a0"), HumanMessage("q1"), AIMessage("a1")]
    assert memory.buffer == asyncio.run(memory.abuffer_as_messages()) == expected
    memory.buffer.clear()
    assert len(memory.buffer) == 4


def test_what_is_not_for_a_model_is_not_shown() -> None:
    history = ChatMessageHistory()
    memories: list[Any] = [
        kind(chat_memory=history, return_messages=True)
        for kind in (ConversationBufferMemory, ConversationBufferWindowMemory, ConversationTokenBufferMemory)
    ]
    talk(memories[0], 1)
    history.history.add(message("view", "for people"), ai("a secret", hidden=True))
    for memory in memories:
        assert memory.buffer == [HumanMessage("q0"), AIMessage("a0")]
        assert memory.buffer_as_str == "Human: q0\nAI: a0"


def test_memory_stats() -> None:
    memory = ConversationBufferMemory()
    before = memory.get_memory_stats()
    assert before["last_accessed"] is None
    talk(memory, 3).load_memory_variables({})
    stats = memory.get_memory_stats()
    assert (stats["message_count"], stats["memory_type"]) == (6, "ConversationBufferMemory")
    assert stats["buffer_size_chars"] == len(memory.buffer)
    assert stats["last_accessed"] >= stats["created_at"] == before["created_at"]


def test_fields_in_the_order_of_the_guide() -> None:
    history = ChatMessageHistory([HumanMessage("hi")])
    memory = ConversationBufferMemory(history, None, None, True, "H", "A", "m")
    assert memory.load_memory_variables({}) == {"m": [HumanMessage("hi")]}


@few
@given(st.integers(0, 9), st.integers(-2, 7))
def test_a_window_shows_the_last_rounds_and_counts_the_rest(count: int, k: int) -> None:
    memory = talk(ConversationBufferWindowMemory(k=k, return_messages=True), count)
    kept = min(max(k, 0), count)
    assert [one.content for one in memory.buffer] == [
        f"{side}{number}" for number in range(count - kept, count) for side in "qa"
    ]
    info = memory.get_window_info()
    assert (info["max_window_size"], info["current_window_size"]) == (k, kept)
    assert info["total_messages_processed"] == len(memory.chat_memory.messages) == 2 * count
    assert info["messages_pruned"] == 2 * (count - kept)
    assert info["window_utilization"] == (kept / k if k > 0 else 0)
    assert info["pruning_efficiency"] == ((count - kept) / count if count else 0)


@pytest.mark.parametrize("k", ["2", None, 1.5, True])
def test_a_window_of_no_number(k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be a whole number"):
        ConversationBufferWindowMemory(k=k)


@pytest.mark.parametrize("make", [lambda h: ConversationBufferWindowMemory(k=2, chat_memory=h)])
def test_a_greeting_and_instructions_are_shown(make: Any) -> None:
    greeting: list[Any] = [SystemMessage("be brief"), AIMessage("How can I help?")]
    for history in (ChatMessageHistory(greeting), _foreign(greeting)):
        for memory in (make(history), ConversationTokenBufferMemory(chat_memory=history, llm=Words())):
            assert memory.buffer == "System: be brief\nAI: How can I help?"
        memory = talk(make(history), 2)
        assert memory.buffer.startswith("System: be brief\nAI: How can I help?\nHuman: q0")
        talk(memory, 1, start=2)
        # Then the greeting is left behind, and the instructions stay.
        assert memory.buffer == "System: be brief\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"


class _Foreign:
    """A history that is nobody's subclass."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages

    def add_messages(self, messages: list[Any]) -> None:
        self.messages += messages

    def clear(self) -> None:
        self.messages = []


def _foreign(messages: list[Any]) -> Any:
    return _Foreign(list(messages))


def test_tool_calls_stay_with_their_results() -> None:
    call = {"name": "add", "args": {"a": 1}, "id": "c1"}
    round_ = [
        HumanMessage("sum?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("2", tool_call_id="c1"),
        AIMessage("2"),
    ]
    memory = ConversationBufferWindowMemory(k=1, return_messages=True)
    talk(memory, 2)
    memory.chat_memory.add_messages(round_)
    assert memory.buffer == round_
    memory.k = 2
    assert len(memory.buffer) == 6


HISTORIES = [
    lambda path: ChatMessageHistory(),
    lambda path: ThreadChatMessageHistory(History(MemoryBackend(), "a thread")),
    lambda path: MemwellChatMessageHistory("s", str(path / "m.db")),
    lambda path: FileChatMessageHistory(str(path / "m.json")),
    lambda path: _foreign([]),
]


@pytest.mark.parametrize("make", HISTORIES)
def test_windows_are_the_same_over_any_history(tmp_path: Path, make: Any) -> None:
    history = make(tmp_path)
    window = talk(ConversationBufferWindowMemory(k=2, chat_memory=history), 4)
    tokens = ConversationTokenBufferMemory(chat_memory=history, llm=Words(), max_token_limit=11)
    buffer = ConversationBufferMemory(chat_memory=history)
    assert window.buffer == tokens.buffer == "Human: q2\nAI: a2\nHuman: q3\nAI: a3"
    assert buffer.buffer == "\n".join(f"Human: q{n}\nAI: a{n}" for n in range(4))
    window.clear()
    assert (window.buffer, tokens.buffer, buffer.buffer) == ("", "", "")
    close_shared()


sizes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=8)


@few
@given(sizes, st.integers(0, 40))
def test_tokens_show_the_most_whole_rounds_that_fit(rounds: list[tuple[int, int]], limit: int) -> None:
    memory = ConversationTokenBufferMemory(llm=Words(), max_token_limit=limit)
    for asked, answered in rounds:
        memory.save_context({"input": "q " * asked}, {"output": "a " * answered})
    shown = 0
    for kept in range(len(rounds) + 1):
        if sum(sum(one) + 2 for one in rounds[len(rounds) - kept :]) <= limit:
            shown = kept
    assert len(memory.buffer.splitlines()) == 2 * shown
    assert len(memory.buffer.split()) <= limit
    assert len(memory.chat_memory.messages) == 2 * len(rounds)


def test_a_round_over_the_limit() -> None:
    memory = ConversationTokenBufferMemory(llm=Words(), max_token_limit=6)
    memory.save_context({"input": "short"}, {"output": "a " * 20})
    assert memory.buffer == ""
    memory.save_context({"input": "next"}, {"output": "fits"})
    assert memory.buffer == "Human: next\nAI: fits"
    long = [HumanMessage("go"), *(AIMessage(f"step {number}") for number in range(9))]
    memory.chat_memory.add_messages(long)
    assert memory.buffer == "Human: go\nAI: step 8"


def test_instructions_over_the_limit_do_not_hide_the_conversation() -> None:
    history = ChatMessageHistory([SystemMessage("s " * 20)])
    memory = ConversationTokenBufferMemory(llm=Words(), max_token_limit=6, chat_memory=history)
    memory.save_context({"input": "a"}, {"output": "b"})
    assert memory.buffer == "Human: a\nAI: b"


@pytest.mark.parametrize("limit", [-1, "3", None])
def test_a_limit_of_no_number(limit: Any) -> None:
    with pytest.raises(InvalidInput, match="max_token_limit"):
        ConversationTokenBufferMemory(max_token_limit=limit)


def test_without_a_model_tokens_are_exact() -> None:
    memory = talk(ConversationTokenBufferMemory(max_token_limit=1000), 3)
    assert len(memory.buffer.splitlines()) == 6
    memory.max_token_limit = 0
    assert memory.buffer == ""


def test_string_buffer() -> None:
    memory = ConversationStringBufferMemory(human_prefix="H", output_key="a")
    memory.save_context({"x": "1"}, {"a": "2", "b": "3"})
    asyncio.run(memory.asave_context({"x": "3"}, {"a": "4"}))
    assert memory.load_memory_variables({}) == {"history": "\nH: 1\nAI: 2\nH: 3\nAI: 4"}
    with pytest.raises(InvalidInput, match="the input must be a string, not 3"):
        memory.save_context({"x": 3}, {"a": "4"})
    memory.output_key = None
    with pytest.raises(ValueError, match="One output key expected, got"):
        memory.save_context({"x": "3"}, {"a": "4", "b": "5"})
    asyncio.run(memory.aclear())
    assert memory.buffer == ""
    with pytest.raises(ValueError, match="return_messages must be False"):
        ConversationStringBufferMemory(return_messages=True)


def test_a_window_reads_no_more_of_a_long_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = MemwellChatMessageHistory("s", str(tmp_path / "m.db"))
    kind, read, count = type(history.history.log), type(history.history.log).read, [0]

    def counted(*args: Any, **how: Any) -> Any:
        found = read(*args, **how)
        count[0] += len(found)
        return found

    monkeypatch.setattr(kind, "read", counted)
    window = ConversationBufferWindowMemory(chat_memory=history)
    tokens = ConversationTokenBufferMemory(chat_memory=history, max_token_limit=50)
    seen: list[int] = []
    for _ in range(2):
        history.add_messages([one for n in range(500) for one in (HumanMessage(f"q{n % 9}"), AIMessage(f"a{n % 9}"))])
        count[0] = 0
        talk(window, 1)
        _ = window.buffer, tokens.buffer
        seen.append(count[0])
    assert max(seen) < 500
    assert seen[1] <= seen[0]
    close_shared()

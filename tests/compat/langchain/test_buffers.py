"""Buffers, windows and summaries: what is shown of a conversation, and what becomes of the rest."""

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
    ConversationEntityMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
    FileChatMessageHistory,
    HumanMessage,
    MemwellChatMessageHistory,
    PromptTemplate,
    SystemMessage,
    ThreadChatMessageHistory,
)
from memwell.errors import InvalidInput, ModelError
from memwell.history import History
from memwell.messages import ai, message
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import close_shared
from memwell.strategies import Summary

few = settings(max_examples=15)
PROMPT = PromptTemplate.from_template("{summary}|{new_lines}")


class Sums:
    """A model that answers by a function of the call's number, and counts words as tokens."""

    def __init__(self, answer: Any = lambda number: f"s{number}") -> None:
        self.asked: list[str] = []
        self.answer = answer

    def predict(self, text: str) -> str:
        self.asked.append(text)
        answer = self.answer(len(self.asked))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


class Foreign:
    """A chat history that is no subclass of ours."""

    def __init__(self, messages: list[Any] | None = None) -> None:
        self.messages = list(messages or [])

    def add_messages(self, messages: list[Any]) -> None:
        self.messages += messages

    def clear(self) -> None:
        self.messages = []


def talk(memory: Any, count: int, start: int = 0) -> Any:
    for number in range(start, start + count):
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})
    return memory


def rounds(count: int) -> list[Any]:
    return [one for n in range(count) for one in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]


HISTORIES: dict[str, Any] = {
    "memory": lambda path: ChatMessageHistory(),
    "thread": lambda path: ThreadChatMessageHistory(History(MemoryBackend(), "a thread")),
    "stored": lambda path: MemwellChatMessageHistory("s", str(path / "m.db")),
    "file": lambda path: FileChatMessageHistory(str(path / "m.json")),
    "foreign": lambda path: Foreign(),
}


@pytest.fixture(params=HISTORIES)
def chat(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return HISTORIES[request.param](tmp_path)


def test_a_buffer_of_messages_and_of_text() -> None:
    memory = talk(ConversationBufferMemory(human_prefix="我", ai_prefix="它", memory_key="chat"), 2)
    assert memory.memory_variables == ["chat"]
    assert memory.load_memory_variables({}) == {"chat": "我: q0\n它: a0\n我: q1\n它: a1"}
    assert asyncio.run(memory.abuffer()) == asyncio.run(memory.abuffer_as_str()) == memory.buffer_as_str
    memory.return_messages = True
    assert memory.buffer == asyncio.run(memory.abuffer_as_messages()) == rounds(2)
    memory.buffer.clear()
    assert len(memory.buffer) == 4
    in_order = ConversationBufferMemory(ChatMessageHistory([HumanMessage("hi")]), None, None, True, "H", "A", "m")
    assert in_order.load_memory_variables({}) == {"m": [HumanMessage("hi")]}


def test_memory_stats() -> None:
    memory = ConversationBufferMemory()
    before = memory.get_memory_stats()
    assert before["last_accessed"] is None
    talk(memory, 3).load_memory_variables({})
    stats = memory.get_memory_stats()
    assert (stats["message_count"], stats["buffer_size_chars"]) == (6, len(memory.buffer))
    assert stats["last_accessed"] >= stats["created_at"] == before["created_at"]


def test_messages_that_are_not_for_a_model_are_not_shown() -> None:
    history = ChatMessageHistory(rounds(1))
    history.history.add(message("view", "for people"), ai("a secret", hidden=True))
    for kind in (ConversationBufferMemory, ConversationBufferWindowMemory, ConversationTokenBufferMemory):
        memory: Any = kind(chat_memory=history, return_messages=True)
        assert memory.buffer == rounds(1)
        assert memory.buffer_as_str == "Human: q0\nAI: a0"


@few
@given(st.integers(0, 9), st.integers(-2, 7))
def test_a_window_shows_the_last_rounds_and_counts_the_rest(count: int, k: int) -> None:
    memory = talk(ConversationBufferWindowMemory(k=k, return_messages=True), count)
    kept = min(max(k, 0), count)
    assert memory.buffer == rounds(count)[2 * (count - kept) :]
    assert memory.get_window_info() == {
        "max_window_size": k, "current_window_size": kept, "total_messages_processed": 2 * count,
        "messages_pruned": 2 * (count - kept), "window_utilization": kept / k if k > 0 else 0,
        "pruning_efficiency": (count - kept) / count if count else 0,
    }  # fmt: skip


def test_windows_are_the_same_over_any_history(chat: Any) -> None:
    window = talk(ConversationBufferWindowMemory(k=2, chat_memory=chat), 4)
    tokens = ConversationTokenBufferMemory(chat_memory=chat, llm=Sums(), max_token_limit=11)
    buffer = ConversationBufferMemory(chat_memory=chat)
    assert window.buffer == tokens.buffer == "Human: q2\nAI: a2\nHuman: q3\nAI: a3"
    assert buffer.buffer == "\n".join(f"Human: q{n}\nAI: a{n}" for n in range(4))
    window.clear()
    assert (window.buffer, tokens.buffer, buffer.buffer) == ("", "", "")


@pytest.mark.parametrize("make", [ChatMessageHistory, Foreign])
def test_a_greeting_is_shown_with_the_first_round_and_instructions_always(make: Any) -> None:
    history = make([SystemMessage("be brief"), AIMessage("How can I help?")])
    memory: Any = ConversationBufferWindowMemory(k=2, chat_memory=history)
    for one in (memory, ConversationTokenBufferMemory(chat_memory=history, llm=Sums())):
        assert one.buffer == "System: be brief\nAI: How can I help?"
    assert talk(memory, 2).buffer.startswith("System: be brief\nAI: How can I help?\nHuman: q0")
    assert talk(memory, 1, 2).buffer == "System: be brief\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"


def test_what_a_token_limit_leaves() -> None:
    memory = ConversationTokenBufferMemory(llm=Sums(), max_token_limit=6)
    memory.save_context({"input": "short"}, {"output": "a " * 20})
    assert memory.buffer == ""
    memory.save_context({"input": "next"}, {"output": "fits"})
    assert memory.buffer == "Human: next\nAI: fits"
    memory.chat_memory.add_messages([HumanMessage("go"), *(AIMessage(f"step {number}") for number in range(9))])
    assert memory.buffer == "Human: go\nAI: step 8"
    history = ChatMessageHistory([SystemMessage("s " * 20)])
    instructed = ConversationTokenBufferMemory(llm=Sums(), max_token_limit=6, chat_memory=history)
    assert talk(instructed, 1).buffer == "Human: q0\nAI: a0"
    exact = talk(ConversationTokenBufferMemory(max_token_limit=1000), 3)
    assert len(exact.buffer.splitlines()) == 6
    exact.max_token_limit = 0
    assert exact.buffer == ""


def _written(history: History, step: str, number: int) -> None:
    """Do something to a conversation that a memory did not ask for."""
    shown = [one for one in history.last(6) if not one.hidden]
    if step == "question":
        history.add_human(f"other {number}")
    elif step == "greeting":
        history.end_round()
        history.add_ai("more " * (number % 4))
    elif step == "system":
        history.add_system(f"rule {number}")
    elif step == "view":
        history.add(message("view", f"view {number}"))
    elif step == "hidden":
        history.add_human("secret", hidden=True)
    elif step == "call":
        history.add_tool_call("look", {"n": number}, call_id=f"c{number}")
    elif step == "result":
        history.add_tool_result(f"c{number - 1}", "found")
    elif step == "many":
        history.add(*(message(role, f"m{n}") for n in range(40) for role in ("human", "ai")))
    elif step == "edit" and shown:
        history.edit(shown[number % len(shown)], f"edited {number} " * (number % 3 + 1))
    elif step == "remove" and shown:
        history.remove(shown[number % len(shown)])
    elif step == "trim":
        history.trim(rounds=2)
    elif step == "delete":
        history.delete()


STEPS = ["turn", "turn", "turn", "question", "greeting", "system", "view", "hidden", "call", "result", "many"]


@pytest.mark.parametrize("limit", ["k", "max_token_limit"])
@given(
    st.lists(st.sampled_from([*STEPS, "edit", "remove", "trim", "delete", "limit"]), max_size=20), st.integers(1, 30)
)
@settings(deadline=None)
def test_a_window_that_is_held_is_the_one_that_would_be_read(limit: str, steps: list[str], size: int) -> None:
    chat, options = ThreadChatMessageHistory(History(MemoryBackend(), "a thread")), {limit: size}
    kind: Any = ConversationBufferWindowMemory if limit == "k" else ConversationTokenBufferMemory
    options |= {} if limit == "k" else {"llm": Sums()}
    memory = kind(chat_memory=chat, **options)
    for number, step in enumerate(steps):
        if step == "turn":
            talk(memory, 1, number)
        elif step == "limit":
            size = size % 7 + 1
            setattr(memory, limit, size)
        else:
            _written(chat.history, step, number)
        assert memory.buffer_as_str == kind(chat_memory=chat, **{**options, limit: size}).buffer_as_str, step


@pytest.mark.parametrize("wrong", ["2", None, 1.5, -1])
def test_limits_that_are_no_number(wrong: Any) -> None:
    for kind in (ConversationTokenBufferMemory, ConversationSummaryBufferMemory):
        with pytest.raises(InvalidInput, match="max_token_limit"):
            kind(max_token_limit=wrong)
    if wrong != -1:
        with pytest.raises(InvalidInput, match="k must be a whole number"):
            ConversationBufferWindowMemory(k=wrong)


def test_a_turn_reads_no_more_of_a_long_conversation(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = MemwellChatMessageHistory("s", path)
    kind, read, count = type(history.history.log), type(history.history.log).read, [0]

    def counted(*args: Any, **how: Any) -> Any:
        found = read(*args, **how)
        count[0] += len(found)
        return found

    monkeypatch.setattr(kind, "read", counted)
    memories: list[Any] = [
        ConversationEntityMemory(chat_memory=history),
        ConversationBufferWindowMemory(chat_memory=history),
        ConversationTokenBufferMemory(llm=Sums(), chat_memory=history, max_token_limit=50),
        ConversationSummaryMemory(llm=Sums(), chat_memory=history),
        ConversationSummaryBufferMemory(llm=Sums(), max_token_limit=12, chat_memory=history),
    ]
    seen: list[int] = []
    for size in (100, 400):
        history.add_messages(rounds(size))
        for memory in memories:
            talk(memory, 2)
        count[0] = 0
        for memory in memories:
            talk(memory, 1).load_memory_variables({"input": "x"})
        seen.append(count[0])
    assert seen[1] <= seen[0] < 400


def test_a_conversation_that_exists() -> None:
    llm = Sums()
    memory = ConversationSummaryMemory(
        llm=llm, prompt=PROMPT, buffer="so far", chat_memory=ChatMessageHistory(rounds(1))
    )
    assert memory.load_memory_variables({}) == {"history": "so far"}
    talk(memory, 1)
    memory.buffer = "by hand"
    talk(memory, 1, 1)
    greeting = ChatMessageHistory([SystemMessage("be brief"), AIMessage("Hello!")])
    talk(ConversationSummaryMemory(llm=llm, prompt=PROMPT, chat_memory=greeting), 1)
    assert llm.asked == ["so far|Human: q0\nAI: a0", "by hand|Human: q1\nAI: a1", "|AI: Hello!\nHuman: q0\nAI: a0"]
    memory = ConversationSummaryMemory.from_messages(
        Sums(), ChatMessageHistory(rounds(3)), prompt=PROMPT, memory_key="m"
    )
    assert memory.load_memory_variables({}) == {"m": "s1"}
    assert len(memory.llm.asked) == 1


@pytest.mark.parametrize("bad", [ZeroDivisionError("down"), "  \n", "\ud800"])
@pytest.mark.parametrize("kind", [ConversationSummaryMemory, ConversationSummaryBufferMemory])
def test_a_model_that_fails_loses_nothing(bad: Any, kind: Any) -> None:
    answers = ["first", bad, bad, "last"]
    llm = Sums(lambda number: answers[number - 1])
    memory = kind(llm=llm, prompt=PROMPT, **({"max_token_limit": 0} if "Buffer" in kind.__name__ else {}))
    talk(memory, 1)
    with pytest.raises(ModelError):
        talk(memory, 1, 1)
    with pytest.raises(ModelError):
        asyncio.run(memory.asave_context({"input": "q2"}, {"output": "a2"}))
    assert memory.chat_memory.messages == rounds(3)
    after = memory.get_summary_stats()
    assert (after["summary_count"], after["original_message_count"]) == (1, 2)
    if kind is ConversationSummaryBufferMemory:
        assert memory.buffer == asyncio.run(memory.abuffer()) == "System: first\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"
    else:
        assert memory.buffer == "first"
    talk(memory, 1, 3)
    assert llm.asked[-1] == "first|Human: q1\nAI: a1\nHuman: q2\nAI: a2\nHuman: q3\nAI: a3"
    assert "last" in memory.load_memory_variables({})["history"]


def test_a_summariser_of_ones_own_and_a_prompt_with_other_blanks() -> None:
    class Own(ConversationSummaryMemory):
        def predict_new_summary(self, messages: Any, existing_summary: str) -> str:
            return existing_summary + "".join(one.content for one in messages)

    memory = talk(Own(), 2)
    assert memory.buffer == "q0a0q1a1"
    assert asyncio.run(memory.apredict_new_summary([HumanMessage("x")], "y")) == "yx"
    for kind in (ConversationSummaryMemory, ConversationSummaryBufferMemory):
        with pytest.raises(ValueError, match=r"Got unexpected prompt input variables\. The prompt expects"):
            kind(llm=Sums(), prompt=PromptTemplate.from_template("{history}"))


def test_a_summary_survives_a_restart_and_is_shared(path: str) -> None:
    def opened(**fields: Any) -> Any:
        return ConversationSummaryMemory(prompt=PROMPT, chat_memory=MemwellChatMessageHistory("s", path), **fields)

    talk(opened(llm=Sums()), 2)
    close_shared()
    llm = Sums(lambda number: f"again {number}")
    memory, other = opened(llm=llm), opened(llm=llm)
    assert memory.buffer == other.buffer == "s2"
    talk(other, 1, 2)
    assert llm.asked == ["s2|Human: q2\nAI: a2"]
    assert memory.get_summary_stats()["original_message_count"] == 6
    # A summary in the code is only for a conversation that has none.
    assert memory.buffer == opened(buffer="at first").buffer == "again 1"
    history = MemwellChatMessageHistory("s", path).history
    assert "again 1" in Summary(history).recall()[0].text
    memory.chat_memory.add_user_message("She has a dog called Rex.")
    Summary(history).observe()
    assert "Rex" in memory.buffer
    assert memory.get_summary_stats()["original_message_count"] == 7


def test_a_summary_given_before_the_first_turn_is_continued(chat: Any) -> None:
    llm = Sums()
    memory = ConversationSummaryMemory(llm=llm, buffer="OLD", prompt=PROMPT, chat_memory=chat)
    assert talk(memory, 1).buffer == "s1"
    assert llm.asked == ["OLD|Human: q0\nAI: a0"]
    memory.clear()
    assert memory.buffer == ""
    memory.buffer = "NEW"
    talk(memory, 1)
    assert llm.asked[-1] == "NEW|Human: q0\nAI: a0"
    memory.buffer = "DROPPED"
    memory.clear()
    talk(memory, 1)
    assert llm.asked[-1] == "|Human: q0\nAI: a0"


IMAGE = [{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}]


@pytest.mark.parametrize("said", ["", " \n ", IMAGE])
def test_a_turn_without_words_leaves_the_summary(said: Any) -> None:
    memory, buffered = ConversationSummaryMemory(), ConversationSummaryBufferMemory(max_token_limit=0)
    for one in (memory, buffered):
        one.save_context({"input": said}, {"output": ""})
        one.save_context({"input": "I live in Oslo."}, {"output": " "})
        one.save_context({"input": said}, {"output": ""})
        assert one.get_summary_stats()["summary_count"] == 1
    assert memory.buffer == buffered.moving_summary_buffer == "Human: I live in Oslo."
    assert buffered.buffer == "System: Human: I live in Oslo."

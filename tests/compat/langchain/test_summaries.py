from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.langchain import (
    AIMessage,
    ChatMessageHistory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    FileChatMessageHistory,
    HumanMessage,
    MemwellChatMessageHistory,
    PromptTemplate,
    SystemMessage,
)
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat
from memwell.storage.sharing import close_shared
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


def talk(memory: Any, count: int, start: int = 0) -> Any:
    for number in range(start, start + count):
        memory.save_context({"input": f"q{number}"}, {"output": f"a{number}"})
    return memory


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "m.db")
    close_shared()


def test_each_turn_is_one_question_to_the_model() -> None:
    llm = Sums()
    memory = talk(ConversationSummaryMemory(llm, "", PROMPT), 2)
    assert llm.asked == ["|Human: q0\nAI: a0", "s1|Human: q1\nAI: a1"]
    assert memory.load_memory_variables({}) == {"history": "s2"}
    memory.return_messages = True
    assert memory.load_memory_variables({}) == {"history": [SystemMessage("s2")]}
    assert memory.memory_variables == ["history"]
    assert len(memory.chat_memory.messages) == 4
    memory.clear()
    assert (memory.buffer, memory.chat_memory.messages) == ("", [])
    assert talk(memory, 1).buffer == "s3"
    assert llm.asked[-1] == "|Human: q0\nAI: a0"


def test_another_class_of_summary() -> None:
    memory = talk(ConversationSummaryMemory(llm=Sums(), return_messages=True, summary_message_cls=HumanMessage), 1)
    assert memory.load_memory_variables({})["history"] == [HumanMessage("s1")]


def test_without_a_model_sentences_are_kept_as_they_were_said() -> None:
    memory = ConversationSummaryMemory()
    said = ["My name is Anna and I live in Oslo.", "我在上海的一家医院当医生。", "My budget is 300 euros."]
    for one in said:
        memory.save_context({"input": one}, {"output": "Good to know."})
    for sentence in memory.buffer.replace("Human: ", "").replace("AI: ", "").split("\n"):
        assert any(part in sentence for part in (*said, "Good to know."))
    assert all(one in memory.buffer for one in ("Anna", "上海", "300"))
    again = ConversationSummaryMemory()
    for one in said:
        again.save_context({"input": one}, {"output": "Good to know."})
    assert again.buffer == memory.buffer


def test_memwells_own_models() -> None:
    memory = talk(ConversationSummaryMemory(llm=ScriptedChat(["first", "second"])), 2)
    assert memory.buffer == "second"


def test_summary_stats() -> None:
    memory = ConversationSummaryMemory(llm=Sums(), prompt=PROMPT)
    assert memory.get_summary_stats()["summary_count"] == 0
    talk(memory, 3)
    stats = memory.get_summary_stats()
    assert (stats["summary_count"], stats["original_message_count"]) == (3, 6)
    assert (stats["total_summary_tokens"], stats["current_summary_length"]) == (1, 2)
    assert stats["compression_ratio"] == stats["average_compression_ratio"] == 1 / 12
    assert stats["last_summary_time"] >= 0


def test_a_summary_that_exists() -> None:
    history = ChatMessageHistory([HumanMessage("q"), AIMessage("a")])
    llm = Sums()
    memory = ConversationSummaryMemory(llm=llm, prompt=PROMPT, buffer="so far", chat_memory=history)
    assert memory.load_memory_variables({}) == {"history": "so far"}
    talk(memory, 1)
    assert llm.asked == ["so far|Human: q0\nAI: a0"]
    memory.buffer = "by hand"
    talk(memory, 1, 1)
    assert llm.asked[-1] == "by hand|Human: q1\nAI: a1"


def test_a_conversation_that_exists_is_taken_in() -> None:
    history = ChatMessageHistory([HumanMessage("q"), AIMessage("a")])
    llm = Sums()
    talk(ConversationSummaryMemory(llm=llm, prompt=PROMPT, chat_memory=history), 1)
    assert llm.asked == ["|Human: q\nAI: a\nHuman: q0\nAI: a0"]


@pytest.mark.parametrize("bad", [ModelError("down"), ZeroDivisionError("down"), "", "  \n", "\ud800"])
def test_a_model_that_fails_loses_nothing(bad: Any) -> None:
    answers = ["first", bad, bad, "last"]
    for kind in (ConversationSummaryMemory, ConversationSummaryBufferMemory):
        llm = Sums(lambda number: answers[number - 1])
        memory: Any = kind(llm=llm, prompt=PROMPT, **({"max_token_limit": 0} if "Buffer" in kind.__name__ else {}))
        talk(memory, 1)
        before = memory.get_summary_stats()
        with pytest.raises(ModelError):
            talk(memory, 1, 1)
        with pytest.raises(ModelError):
            asyncio.run(memory.asave_context({"input": "q2"}, {"output": "a2"}))
        assert [one.content for one in memory.chat_memory.messages] == ["q0", "a0", "q1", "a1", "q2", "a2"]
        after = memory.get_summary_stats()
        assert (after["summary_count"], after["original_message_count"]) == (1, before["original_message_count"])
        assert "first" in memory.load_memory_variables({})["history"]
        if kind is ConversationSummaryBufferMemory:
            assert memory.buffer == "System: first\nHuman: q1\nAI: a1\nHuman: q2\nAI: a2"
        talk(memory, 1, 3)
        assert llm.asked[-1] == "first|Human: q1\nAI: a1\nHuman: q2\nAI: a2\nHuman: q3\nAI: a3"
        assert "last" in memory.load_memory_variables({})["history"]


def test_an_empty_answer_says_so() -> None:
    with pytest.raises(BadModelOutput, match="empty summary"):
        talk(ConversationSummaryMemory(llm=lambda text: ""), 1)


def test_a_prompt_with_other_blanks() -> None:
    for kind in (ConversationSummaryMemory, ConversationSummaryBufferMemory):
        with pytest.raises(ValueError, match=r"Got unexpected prompt input variables\. The prompt expects"):
            kind(llm=Sums(), prompt=PromptTemplate.from_template("{history}"))


def test_the_mixin_can_be_overridden() -> None:
    class Own(ConversationSummaryMemory):
        def predict_new_summary(self, messages: Any, existing_summary: str) -> str:
            return existing_summary + "".join(one.content for one in messages)

    memory = talk(Own(), 2)
    assert memory.buffer == "q0a0q1a1"
    assert asyncio.run(memory.apredict_new_summary([HumanMessage("x")], "y")) == "yx"


def test_summary_buffer_as_langchain_has_it() -> None:
    memory = ConversationSummaryBufferMemory(llm=Sums(lambda number: "summary"), memory_key="baz", max_token_limit=5)
    memory.save_context({"input": "bar"}, {"output": "foo"})
    assert memory.buffer == "Human: bar\nAI: foo"
    memory.save_context({"input": "bar1"}, {"output": "foo1"})
    assert memory.buffer == asyncio.run(memory.abuffer()) == "System: summary\nHuman: bar1\nAI: foo1"
    assert memory.moving_summary_buffer == "summary"
    memory.clear()
    assert (memory.buffer, memory.moving_summary_buffer) == ("", "")


def test_instructions_stay_out_of_the_summary() -> None:
    history = ChatMessageHistory([SystemMessage("be brief")])
    llm = Sums()
    memory = ConversationSummaryBufferMemory(llm=llm, prompt=PROMPT, max_token_limit=7, chat_memory=history)
    talk(memory, 2)
    assert llm.asked == ["|Human: q0\nAI: a0"]
    assert memory.buffer == "System: be brief\nSystem: s1\nHuman: q1\nAI: a1"


def test_a_summary_of_everything_leaves_instructions_out() -> None:
    history = ChatMessageHistory([SystemMessage("be brief"), AIMessage("Hello!")])
    llm = Sums()
    talk(ConversationSummaryMemory(llm=llm, prompt=PROMPT, chat_memory=history), 1)
    assert llm.asked == ["|AI: Hello!\nHuman: q0\nAI: a0"]


@few
@given(st.integers(0, 8), st.integers(0, 30), st.booleans())
def test_sync_and_async_do_the_same(count: int, limit: int, summary: bool) -> None:
    def made() -> tuple[Sums, Any]:
        llm = Sums()
        if summary:
            return llm, ConversationSummaryMemory(llm=llm, prompt=PROMPT)
        return llm, ConversationSummaryBufferMemory(llm=llm, prompt=PROMPT, max_token_limit=limit)

    async def atalk(memory: Any) -> Any:
        for number in range(count):
            await memory.asave_context({"input": f"q{number}"}, {"output": f"a{number}"})
        return await memory.aload_memory_variables({})

    (one, memory), (other, amemory) = made(), made()
    talk(memory, count)
    assert asyncio.run(atalk(amemory)) == memory.load_memory_variables({})
    assert one.asked == other.asked
    asyncio.run(amemory.aclear())
    assert amemory.load_memory_variables({}) == {"history": ""}


def test_a_summary_survives_a_restart_and_is_shared(store: str) -> None:
    def opened(llm: Any = None) -> Any:
        return ConversationSummaryMemory(llm=llm, prompt=PROMPT, chat_memory=MemwellChatMessageHistory("s", store))

    talk(opened(Sums()), 2)
    close_shared()
    llm = Sums(lambda number: f"again {number}")
    memory, other = opened(llm), opened(llm)
    assert memory.buffer == other.buffer == "s2"
    talk(other, 1, 2)
    assert llm.asked == ["s2|Human: q2\nAI: a2"]
    assert memory.buffer == "again 1"
    assert memory.get_summary_stats()["original_message_count"] == 6
    # A summary in the code is only for a conversation that has none.
    assert (
        ConversationSummaryMemory(buffer="at first", chat_memory=MemwellChatMessageHistory("s", store)).buffer
        == "again 1"
    )
    # And the core reads the same.
    assert "again 1" in Summary(MemwellChatMessageHistory("s", store).history).recall()[0].text


def test_a_summary_buffer_survives_a_restart(store: str) -> None:
    def opened() -> Any:
        history = MemwellChatMessageHistory("s", store)
        return ConversationSummaryBufferMemory(llm=Sums(), prompt=PROMPT, max_token_limit=8, chat_memory=history)

    talk(opened(), 5)
    close_shared()
    memory = opened()
    assert memory.buffer == "System: s3\nHuman: q3\nAI: a3\nHuman: q4\nAI: a4"
    memory.prune()
    asyncio.run(memory.aprune())
    assert memory.moving_summary_buffer == "s3"
    assert memory.llm.asked == []
    memory.moving_summary_buffer = "by hand"
    assert opened().buffer.startswith("System: by hand\nHuman: q3")


def test_over_a_file_the_summary_is_made_once(tmp_path: Path) -> None:
    llm = Sums()
    history = FileChatMessageHistory(str(tmp_path / "m.json"))
    memory = ConversationSummaryBufferMemory(llm=llm, prompt=PROMPT, max_token_limit=4, chat_memory=history)
    talk(memory, 4)
    assert llm.asked == [f"{f's{n}' if n else ''}|Human: q{n}\nAI: a{n}" for n in range(3)]
    assert memory.buffer == "System: s3\nHuman: q3\nAI: a3"
    assert len(history.messages) == 8


def test_a_long_history_is_worked_off_in_steps() -> None:
    history = ChatMessageHistory([one for n in range(100) for one in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))])
    llm = Sums()
    memory = ConversationSummaryBufferMemory(llm=llm, prompt=PROMPT, max_token_limit=4, chat_memory=history)
    memory.prune()
    assert "".join(one.partition("|")[2].replace("\n", "") for one in llm.asked) == "".join(
        f"Human: q{n}AI: a{n}" for n in range(99)
    )
    assert len(llm.asked) == 4
    assert memory.buffer == "System: s4\nHuman: q99\nAI: a99"


@pytest.mark.parametrize("limit", [-1, "x"])
def test_a_limit_of_no_number(limit: Any) -> None:
    with pytest.raises(InvalidInput, match="max_token_limit"):
        ConversationSummaryBufferMemory(max_token_limit=limit)


def test_from_messages() -> None:
    history = ChatMessageHistory([one for n in range(3) for one in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))])
    llm = Sums()
    memory = ConversationSummaryMemory.from_messages(llm, history, summarize_step=4, prompt=PROMPT, memory_key="m")
    assert memory.load_memory_variables({}) == {"m": "s2"}
    assert len(llm.asked) == 2
    with pytest.raises(InvalidInput, match="summarize_step"):
        ConversationSummaryMemory.from_messages(llm, history, summarize_step=0)


def test_a_turn_reads_no_more_of_a_long_conversation(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = MemwellChatMessageHistory("s", store)
    kind, read, count = type(history.history.log), type(history.history.log).read, [0]

    def counted(*args: Any, **how: Any) -> Any:
        found = read(*args, **how)
        count[0] += len(found)
        return found

    monkeypatch.setattr(kind, "read", counted)
    memories: list[Any] = [
        ConversationSummaryMemory(llm=Sums(), chat_memory=history),
        ConversationSummaryBufferMemory(llm=Sums(), max_token_limit=12, chat_memory=history),
    ]
    seen: list[int] = []
    for rounds in (100, 400):
        history.add_messages([one for n in range(rounds) for one in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))])
        for memory in memories:
            talk(memory, 2)
        count[0] = 0
        for memory in memories:
            talk(memory, 1)
            memory.load_memory_variables({})
        seen.append(count[0])
    assert seen[0] == seen[1] < 100


def test_a_strategy_over_the_same_summary_counts_on() -> None:
    history = ChatMessageHistory()
    memory = ConversationSummaryMemory(chat_memory=history)
    memory.save_context({"input": "Anna lives in Oslo."}, {"output": "Oslo is cold."})
    before = memory.get_summary_stats()
    history.add_user_message("She has a dog called Rex.")
    Summary(history.history).observe()
    after = memory.get_summary_stats()
    assert "Rex" in memory.buffer
    assert (before["summary_count"], after["summary_count"]) == (1, 2)
    assert after["original_message_count"] == before["original_message_count"] + 1
    assert 0 < after["compression_ratio"] <= 1


@pytest.fixture(params=["memory", "stored", "file"])
def chat(request: pytest.FixtureRequest, store: str, tmp_path: Path) -> Any:
    if request.param == "memory":
        return ChatMessageHistory()
    return (
        FileChatMessageHistory(tmp_path / "c.json")
        if request.param == "file"
        else MemwellChatMessageHistory("s", store)
    )


def test_a_summary_that_is_given_before_the_first_turn_is_what_the_model_goes_on_from(chat: Any) -> None:
    llm = Sums()
    memory = ConversationSummaryMemory(llm=llm, buffer="OLD", prompt=PROMPT, chat_memory=chat)
    assert talk(memory, 1).buffer == "s1"
    assert llm.asked == ["OLD|Human: q0\nAI: a0"]
    memory.clear()
    assert memory.buffer == ""
    memory.buffer = "NEW"
    assert talk(memory, 1).buffer == "s2"
    assert llm.asked[-1] == "NEW|Human: q0\nAI: a0"
    memory.buffer = "DROPPED"
    memory.clear()
    talk(memory, 1)
    assert llm.asked[-1] == "|Human: q0\nAI: a0"


def test_without_a_model_a_given_summary_stays_in_the_new_one(chat: Any) -> None:
    memory = ConversationSummaryMemory(buffer="Human: My name is Anna.", chat_memory=chat)
    memory.save_context({"input": "I live in Oslo."}, {"output": ""})
    assert memory.buffer == "Human: My name is Anna. I live in Oslo."


def test_a_moving_summary_that_is_given_before_the_first_turn_stays(chat: Any) -> None:
    llm = Sums()
    memory = ConversationSummaryBufferMemory(
        llm=llm, moving_summary_buffer="OLD", prompt=PROMPT, chat_memory=chat, max_token_limit=4
    )
    talk(memory, 1)
    assert memory.buffer == "System: OLD\nHuman: q0\nAI: a0"
    talk(memory, 1, 1)
    assert llm.asked == ["OLD|Human: q0\nAI: a0"]
    memory.clear()
    memory.moving_summary_buffer = "NEW"
    assert talk(memory, 1).buffer == "System: NEW\nHuman: q0\nAI: a0"
    memory.clear()
    assert talk(memory, 1).buffer == "Human: q0\nAI: a0"


IMAGE = [{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}]


@pytest.mark.parametrize("said", ["Hi!", "你好", "?", "…", "👍", "ok"])
def test_small_talk_is_no_error_without_a_model(said: str) -> None:
    memory = ConversationSummaryMemory()
    memory.save_context({"input": said}, {"output": ""})
    memory.save_context({"input": said}, {"output": said})
    assert memory.buffer == "" or said in memory.buffer
    memory.save_context({"input": "I live in Oslo."}, {"output": ""})
    assert "I live in Oslo." in memory.buffer


@pytest.mark.parametrize("said", ["", " \n ", IMAGE])
def test_a_turn_that_says_nothing_leaves_the_summary(said: Any) -> None:
    memory = ConversationSummaryMemory()
    buffered = ConversationSummaryBufferMemory(max_token_limit=0)
    for one in (memory, buffered):
        one.save_context({"input": said}, {"output": ""})
        assert one.get_summary_stats()["summary_count"] == 0
        one.save_context({"input": "I live in Oslo."}, {"output": " "})
        one.save_context({"input": said}, {"output": ""})
        assert one.get_summary_stats()["summary_count"] == 1
    assert memory.buffer == buffered.moving_summary_buffer == "Human: I live in Oslo."
    assert buffered.buffer == "System: Human: I live in Oslo."


def test_an_empty_answer_is_no_error_only_when_nothing_was_said() -> None:
    llm = Sums(lambda number: "sum" if number == 1 else " ")
    memory = talk(ConversationSummaryMemory(llm=llm, prompt=PROMPT), 1)
    memory.save_context({"input": " "}, {"output": IMAGE})
    assert (memory.buffer, len(llm.asked)) == ("sum", 2)
    with pytest.raises(BadModelOutput):
        talk(memory, 1, 1)
    # The turn that said nothing was taken in and is not asked about again.
    assert llm.asked[-1] == "sum|Human: q1\nAI: a1"

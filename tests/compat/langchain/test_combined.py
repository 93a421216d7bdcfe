from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwell.compat.langchain import (
    BaseMemory,
    CombinedMemory,
    CombinedMemoryError,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryMemory,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from memwell.errors import InvalidInput, ModelError


def buffer(key: str) -> ConversationBufferMemory:
    return ConversationBufferMemory(memory_key=key, input_key="input")


class Fails(BaseMemory):
    names: list[str] = ["broken"]
    error: Any = OSError("the disk is gone")

    @property
    def memory_variables(self) -> list[str]:
        return self.names

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        raise self.error

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        raise self.error

    def clear(self) -> None:
        raise self.error


def test_several_memories_as_one() -> None:
    memory = CombinedMemory([buffer("all"), ConversationBufferWindowMemory(k=1, memory_key="last", input_key="input")])
    memory.save_context({"input": "a"}, {"output": "b"})
    asyncio.run(memory.asave_context({"input": "c"}, {"output": "d"}))
    expected = {"all": "Human: a\nAI: b\nHuman: c\nAI: d", "last": "Human: c\nAI: d"}
    assert memory.load_memory_variables({}) == asyncio.run(memory.aload_memory_variables({})) == expected
    stats = memory.get_combined_stats()
    assert stats["memory_types"] == ["ConversationBufferMemory", "ConversationBufferWindowMemory"]
    assert (stats["memory_count"], stats["total_operations"]) == (2, 4)
    assert stats["memory_variables"] == ["all", "last"]
    assert len(stats["load_times"]) == len(stats["save_times"]) == 2
    assert stats["average_load_time"] == pytest.approx(sum(stats["load_times"]) / 2)
    memory.clear()
    assert memory.load_memory_variables({}) == {"all": "", "last": ""}


def test_members_by_class() -> None:
    first, second = buffer("a"), buffer("b")
    memory = CombinedMemory(memories=[first, second, SimpleMemory(memories={"x": 1})])
    assert memory.get_memory_by_type(ConversationBufferMemory) is first
    assert memory.get_memory_by_type(SimpleMemory) is memory.memories[2]
    assert memory.get_memory_by_type(ConversationSummaryMemory) is None


def test_one_that_fails_does_not_stop_the_others() -> None:
    last = buffer("last")
    memory = CombinedMemory([buffer("all"), Fails(), last])
    with pytest.raises(CombinedMemoryError, match="Fails: 'the disk is gone'") as told:
        memory.save_context({"input": "a"}, {"output": "b"})
    assert [type(one.memory) for one in told.value.failures] == [Fails]
    assert isinstance(told.value.__cause__, OSError)
    with pytest.warns(RuntimeWarning, match="could not load"):
        assert memory.load_memory_variables({}) == {"all": "Human: a\nAI: b", "last": "Human: a\nAI: b"}
    assert [type(one.error) for one in memory.failures] == [OSError]
    assert memory.get_combined_stats()["failures"] == ["Fails: the disk is gone"]
    with pytest.raises(CombinedMemoryError):
        memory.clear()
    assert last.chat_memory.messages == []


def test_when_all_fail_loading_fails() -> None:
    with pytest.raises(CombinedMemoryError):
        CombinedMemory([Fails()]).load_memory_variables({})


def test_a_model_that_fails_in_one_member() -> None:
    def model(prompt: str) -> str:
        raise ModelError("no model today")

    memory = CombinedMemory([ConversationSummaryMemory(llm=model, memory_key="sum", input_key="input"), buffer("all")])
    with pytest.raises(CombinedMemoryError):
        memory.save_context({"input": "a"}, {"output": "b"})
    assert memory.load_memory_variables({}) == {"sum": "", "all": "Human: a\nAI: b"}


def test_what_the_caller_got_wrong_is_raised_as_it_is() -> None:
    other = ConversationBufferMemory(memory_key="other", input_key="question")
    memory = CombinedMemory([other, buffer("all")])
    with pytest.raises(KeyError, match="question"):
        memory.save_context({"input": "a"}, {"output": "b"})
    assert memory.load_memory_variables({}) == {"other": "", "all": "Human: a\nAI: b"}


def test_what_cannot_be_combined() -> None:
    with pytest.raises(ValueError, match="at least one"):
        CombinedMemory(memories=[])
    with pytest.raises(
        ValueError, match=r"The same variables \{'a'\} are found in multiplememory object, which is not"
    ):
        CombinedMemory([buffer("a"), buffer("a")])
    with pytest.warns(UserWarning, match="input keys should be so the input is known"):
        CombinedMemory([ConversationBufferMemory()])
    memory = CombinedMemory([SimpleMemory(memories={"a": 1}), SimpleMemory(memories={"b": 1})])
    memory.memories[1].memories["a"] = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(InvalidInput, match="The variable a is repeated in the CombinedMemory"):
        memory.load_memory_variables({})


def test_read_only() -> None:
    inner = buffer("all")
    memory = ReadOnlySharedMemory(memory=inner)
    inner.save_context({"input": "a"}, {"output": "b"})
    memory.save_context({"input": "c"}, {"output": "d"})
    asyncio.run(memory.aclear())
    assert memory.load_memory_variables({}) == {"all": "Human: a\nAI: b"}
    assert memory.memory_variables == ["all"]


def test_simple() -> None:
    values = {"name": "Anna"}
    memory = SimpleMemory(memories=values)
    memory.save_context({"input": "c"}, {"output": "d"})
    memory.clear()
    assert memory.load_memory_variables({}) is values
    assert memory.memory_variables == ["name"]
    assert SimpleMemory().load_memory_variables({}) == {}

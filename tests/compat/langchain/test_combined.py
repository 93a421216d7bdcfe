"""Memories around other memories: combined, read-only, fixed, measured."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import (
    BaseMemory,
    CombinedMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryMemory,
    MemoryMetrics,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from memwell.errors import InvalidInput


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
    assert memory.get_memory_by_type(ConversationBufferWindowMemory) is memory.memories[1]
    assert memory.get_memory_by_type(ConversationSummaryMemory) is None
    memory.clear()
    assert memory.load_memory_variables({}) == {"all": "", "last": ""}


def test_one_that_fails_does_not_stop_the_others() -> None:
    last = buffer("last")
    memory = CombinedMemory([buffer("all"), Fails(), last])
    with pytest.warns(RuntimeWarning, match="1 of the memories failed to save: Fails: the disk is gone"):
        memory.save_context({"input": "a"}, {"output": "b"})
    with pytest.warns(RuntimeWarning, match="failed to load"):
        assert memory.load_memory_variables({}) == {"all": "Human: a\nAI: b", "last": "Human: a\nAI: b"}
    assert [(name, type(error)) for name, error in memory.failures] == [("Fails", OSError)]
    assert memory.get_combined_stats()["failures"] == ["Fails: the disk is gone"]
    with pytest.warns(RuntimeWarning, match="failed to clear"):
        memory.clear()
    assert last.chat_memory.messages == []
    other = ConversationBufferMemory(memory_key="other", input_key="question")
    with pytest.warns(RuntimeWarning, match="question"):
        CombinedMemory([other, last]).save_context({"input": "a"}, {"output": "b"})
    assert last.buffer == "Human: a\nAI: b"


def test_when_all_fail_the_first_error_is_raised() -> None:
    memory = CombinedMemory([Fails(), Fails(names=["other"], error=KeyError("x"))])
    for call in (lambda: memory.save_context({}, {}), lambda: memory.load_memory_variables({}), memory.clear):
        with pytest.raises(OSError, match="the disk is gone"):
            call()


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


def test_read_only_and_simple() -> None:
    inner = buffer("all")
    memory = ReadOnlySharedMemory(memory=inner)
    inner.save_context({"input": "a"}, {"output": "b"})
    memory.save_context({"input": "c"}, {"output": "d"})
    asyncio.run(memory.aclear())
    assert memory.load_memory_variables({}) == {"all": "Human: a\nAI: b"}
    assert memory.memory_variables == ["all"]
    values = {"name": "Anna"}
    simple = SimpleMemory(memories=values)
    simple.save_context({"input": "c"}, {"output": "d"})
    simple.clear()
    assert simple.load_memory_variables({}) is values
    assert (simple.memory_variables, SimpleMemory().load_memory_variables({})) == (["name"], {})


times = st.lists(st.floats(0, 10), max_size=130)


@given(times, times, st.integers(0, 5))
def test_what_is_recorded_is_summed_up(loads: list[float], saves: list[float], errors: int) -> None:
    metrics = MemoryMetrics(SimpleMemory())
    for number, taken in enumerate(loads):
        metrics.record_load_operation(taken, 1024 * 1024 * number)
    for taken in saves:
        metrics.record_save_operation(taken)
    for number in range(errors):
        metrics.record_error(RuntimeError(f"no {number}"))
    summary = metrics.get_performance_summary()
    assert summary["memory_type"] == "SimpleMemory"
    assert summary["operation_counts"] == {"loads": len(loads), "saves": len(saves), "errors": errors}
    assert summary["timing_stats"]["avg_load_time"] == pytest.approx(sum(loads[-100:]) / max(len(loads[-100:]), 1))
    p95 = summary["timing_stats"]["p95_save_time"]
    last = saves[-100:]
    if len(last) < 20:
        assert p95 == 0
    else:
        assert sum(one <= p95 for one in last) >= 0.95 * len(last)
        assert sum(one < p95 for one in last) < 0.95 * len(last)
    assert 0 <= summary["error_rate"] <= 1
    if errors <= len(loads) + len(saves):
        assert summary["error_rate"] == errors / max(len(loads) + len(saves), 1)
    assert summary["memory_usage"]["peak_memory_mb"] == max(len(loads) - 1, 0)
    assert summary["memory_usage"]["memory_growth_rate"] == (1024 * 1024 if len(loads) > 1 else 0)
    assert (summary["last_error"] or {}).get("message") == (f"no {errors - 1}" if errors else None)


def test_it_measures_by_itself() -> None:
    metrics = MemoryMetrics(memory=ConversationBufferMemory())
    metrics.save_context({"input": "你好"}, {"output": "hello"})
    assert metrics.load_memory_variables({}) == {"history": "Human: 你好\nAI: hello"}
    assert metrics.memory_variables == ["history"]
    metrics.clear()
    assert metrics.load_memory_variables({}) == {"history": ""}
    summary = metrics.get_performance_summary()
    assert summary["operation_counts"] == {"loads": 2, "saves": 1, "errors": 0}
    assert metrics.metrics["clear_count"] == 1
    assert summary["timing_stats"]["avg_load_time"] > 0
    assert list(metrics.metrics["memory_sizes"]) == [len('{"history": "Human: 你好\\nAI: hello"}'.encode()), 15]


def test_errors_are_counted_and_raised() -> None:
    metrics = MemoryMetrics(Fails())
    with pytest.raises(OSError, match="disk"):
        metrics.load_memory_variables({})
    with pytest.raises(OSError, match="disk"):
        asyncio.run(metrics.aclear())
    metrics.memory = SimpleMemory()
    metrics.save_context({}, {})
    asyncio.run(metrics.asave_context({}, {}))
    summary = metrics.get_performance_summary()
    assert summary["operation_counts"] == {"loads": 1, "saves": 2, "errors": 2}
    assert summary["error_rate"] == 0.5
    assert (summary["last_error"]["type"], summary["last_error"]["message"]) == ("OSError", "the disk is gone")

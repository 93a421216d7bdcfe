from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import BaseMemory, ConversationBufferMemory, MemoryMetrics, SimpleMemory

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
    assert summary["operation_counts"] == {"loads": len(loads), "saves": len(saves), "clears": 0, "errors": errors}
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
    assert summary["operation_counts"] == {"loads": 2, "saves": 1, "clears": 1, "errors": 0}
    assert summary["timing_stats"]["avg_load_time"] > 0
    assert list(metrics.metrics["memory_sizes"]) == [len('{"history": "Human: 你好\\nAI: hello"}'.encode()), 15]


class Broken(BaseMemory):
    @property
    def memory_variables(self) -> list[str]:
        return ["x"]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        raise LookupError("nothing there")

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Take it."""

    def clear(self) -> None:
        raise LookupError("nothing to clear")


def test_errors_are_counted_and_raised() -> None:
    metrics = MemoryMetrics(Broken())
    with pytest.raises(LookupError):
        metrics.load_memory_variables({})
    metrics.save_context({}, {})
    with pytest.raises(LookupError):
        asyncio.run(metrics.aclear())
    asyncio.run(metrics.asave_context({}, {}))
    summary = metrics.get_performance_summary()
    assert summary["operation_counts"] == {"loads": 1, "saves": 2, "clears": 1, "errors": 2}
    assert summary["error_rate"] == 0.5
    assert summary["last_error"]["type"] == "LookupError"
    assert summary["last_error"]["message"] == "nothing to clear"

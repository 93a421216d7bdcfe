"""How a memory performs: counts, times, sizes and failures, around any memory."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from memwell.compat.langchain.base import BaseMemory

_KEPT = 100
_GROWTH_OVER = 10
_ENOUGH_FOR_P95 = 20
_MEGABYTE = 1024 * 1024


class MemoryMetrics(BaseMemory):
    """A memory that measures the one it wraps: every load, save and clear that goes through it is counted and timed.

    Times and sizes are those of the last 100 operations. A program that measures by itself may instead call
    ``record_load_operation``, ``record_save_operation`` and ``record_error``. An error is recorded and raised again.
    """

    memory: BaseMemory
    _positional = ("memory",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.memory_type = type(self.memory).__name__
        self._lock = threading.Lock()
        self.metrics: dict[str, Any] = {
            "load_count": 0,
            "save_count": 0,
            "clear_count": 0,
            "total_load_time": 0.0,
            "total_save_time": 0.0,
            "load_times": deque[float](maxlen=_KEPT),
            "save_times": deque[float](maxlen=_KEPT),
            "memory_sizes": deque[int](maxlen=_KEPT),
            "error_count": 0,
            "last_error": None,
        }
        self.memory_usage = {"peak_memory_mb": 0.0, "current_memory_mb": 0.0, "memory_growth_rate": 0.0}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        memo[id(self._lock)] = threading.Lock()
        return super().__deepcopy__(memo)

    # The memory inside

    @property
    def memory_variables(self) -> list[str]:
        """Those of the memory inside."""
        return self.memory.memory_variables

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the memory inside gives. Its size is that of its JSON in UTF-8."""
        with self._errors_recorded("load_count"):
            begun = time.perf_counter()
            loaded = self.memory.load_memory_variables(inputs)
            taken = time.perf_counter() - begun
        self.record_load_operation(taken, _size(loaded))
        return loaded

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Save in the memory inside."""
        with self._errors_recorded("save_count"):
            begun = time.perf_counter()
            self.memory.save_context(inputs, outputs)
            taken = time.perf_counter() - begun
        self.record_save_operation(taken)

    def clear(self) -> None:
        """Clear the memory inside; what was measured stays."""
        with self._errors_recorded("clear_count"):
            self.memory.clear()
        with self._lock:
            self.metrics["clear_count"] += 1

    @contextmanager
    def _errors_recorded(self, count: str) -> Generator[None]:
        try:
            yield
        except Exception as error:
            # Whatever a stranger's memory raises is counted, and is still the caller's to handle.
            with self._lock:
                self.metrics[count] += 1
            self.record_error(error)
            raise

    # Recording

    def record_load_operation(self, execution_time: float, memory_size: int) -> None:
        """Count a load that took this many seconds and gave this many bytes."""
        with self._lock:
            self.metrics["load_count"] += 1
            self.metrics["total_load_time"] += execution_time
            self.metrics["load_times"].append(execution_time)
            self.metrics["memory_sizes"].append(memory_size)
            self._update_memory_usage(memory_size)

    def record_save_operation(self, execution_time: float) -> None:
        """Count a save that took this many seconds."""
        with self._lock:
            self.metrics["save_count"] += 1
            self.metrics["total_save_time"] += execution_time
            self.metrics["save_times"].append(execution_time)

    def record_error(self, error: BaseException) -> None:
        """Count a failure."""
        with self._lock:
            self.metrics["error_count"] += 1
            self.metrics["last_error"] = {
                "type": type(error).__name__,
                "message": str(error),
                "timestamp": time.time(),
            }

    def _update_memory_usage(self, size: int) -> None:
        megabytes = size / _MEGABYTE
        self.memory_usage["current_memory_mb"] = megabytes
        self.memory_usage["peak_memory_mb"] = max(megabytes, self.memory_usage["peak_memory_mb"])
        recent = list(self.metrics["memory_sizes"])[-_GROWTH_OVER:]
        if len(recent) > 1:
            # Ten sizes have nine steps between them.
            self.memory_usage["memory_growth_rate"] = (recent[-1] - recent[0]) / (len(recent) - 1)

    # Reading

    def get_performance_summary(self) -> dict[str, Any]:
        """Counts, average and 95th percentile of the last 100 times in seconds, sizes, growth in bytes a load, errors.

        A percentile of fewer than 20 times is 0. An operation that failed is counted, and not timed; the error rate is the
        share of failures among all operations.
        """
        with self._lock:
            loads, saves = list(self.metrics["load_times"]), list(self.metrics["save_times"])
            counts = {key: self.metrics[f"{key}_count"] for key in ("load", "save", "clear", "error")}
            usage, last_error = dict(self.memory_usage), self.metrics["last_error"]
        done = counts["load"] + counts["save"] + counts["clear"]
        return {
            "memory_type": self.memory_type,
            "operation_counts": {
                "loads": counts["load"],
                "saves": counts["save"],
                "clears": counts["clear"],
                "errors": counts["error"],
            },
            "timing_stats": {
                "avg_load_time": _average(loads),
                "avg_save_time": _average(saves),
                "p95_load_time": _p95(loads),
                "p95_save_time": _p95(saves),
            },
            "memory_usage": usage,
            "error_rate": counts["error"] / max(done, counts["error"], 1),
            "last_error": last_error,
        }


def _size(loaded: dict[str, Any]) -> int:
    return len(json.dumps(loaded, ensure_ascii=False, default=str).encode(errors="replace"))


def _average(times: Sequence[float]) -> float:
    return sum(times) / len(times) if times else 0


def _p95(times: Sequence[float]) -> float:
    """The smallest time that at least 95 of 100 do not exceed; of few times it would say nothing."""
    if len(times) < _ENOUGH_FOR_P95:
        return 0
    return sorted(times)[-(-95 * len(times) // 100) - 1]


__all__ = ["MemoryMetrics"]

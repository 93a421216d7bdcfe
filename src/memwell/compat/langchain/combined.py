"""Memories around other memories: several as one, one that is read-only, fixed values, and one that measures."""

from __future__ import annotations

import json
import threading
import time
import warnings
from abc import ABC
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, made_by
from memwell.errors import InvalidInput
from memwell.values import check_list, check_shape

T = TypeVar("T")
M = TypeVar("M", bound=BaseMemory)
_LAST = 100
_GROWTH_OVER = 10
_ENOUGH_FOR_P95 = 20
_MEGABYTE = 1024 * 1024


class CombinedMemory(BaseMemory):
    """Several memories, each with variables of its own.

    A member that fails does not stop the others: a ``RuntimeWarning`` says which failed and why, and ``failures`` has the
    errors of the last call by the member's class. When all fail, the first error is raised. Raises ``InvalidInput`` for no
    member, and for a variable that two members have.
    """

    memories: list[BaseMemory]
    _positional = ("memories",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.memories = check_list(self.memories, "a CombinedMemory is made of a list of memories")
        _check_members(self.memories)
        self.failures: list[tuple[str, Exception]] = []
        self._operations = 0
        self._load_times: deque[float] = deque(maxlen=_LAST)
        self._save_times: deque[float] = deque(maxlen=_LAST)

    @property
    def memory_variables(self) -> list[str]:
        return [name for memory in self.memories for name in memory.memory_variables]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The variables of all members. Raises ``InvalidInput`` when two give the same."""
        found = self._each("load", lambda memory: memory.load_memory_variables(inputs), self._load_times)
        merged: dict[str, Any] = {}
        for variables in found:
            if repeated := merged.keys() & variables.keys():
                raise InvalidInput(f"The variable {min(repeated)} is repeated in the CombinedMemory.")
            merged |= variables
        return merged

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn in every member."""
        self._each("save", lambda memory: memory.save_context(inputs, outputs), self._save_times)

    def clear(self) -> None:
        """Clear every member."""
        self._each("clear", lambda memory: memory.clear())

    def _each(self, verb: str, call: Callable[[BaseMemory], T], times: deque[float] | None = None) -> list[T]:
        """Call every member and return the results; the failures go to ``failures``."""
        begun = time.perf_counter()
        found: list[T] = []
        self.failures = []
        for memory in self.memories:
            try:
                found.append(call(memory))
            except Exception as error:  # noqa: BLE001 - whatever a member raises, the others must be called too
                self.failures.append((type(memory).__name__, error))
        if times is not None:
            times.append(time.perf_counter() - begun)
            self._operations += 1
        if len(self.failures) == len(self.memories):
            raise self.failures[0][1]
        if self.failures:
            errors = "; ".join(self._failed())
            warnings.warn(
                f"{len(self.failures)} of the memories failed to {verb}: {errors}", RuntimeWarning, stacklevel=3
            )
        return found

    def _failed(self) -> list[str]:
        return [f"{name}: {error}" for name, error in self.failures]

    def get_memory_by_type(self, memory_type: type[M]) -> M | None:
        """The first member of a class, or None."""
        return next((memory for memory in self.memories if isinstance(memory, memory_type)), None)

    def get_combined_stats(self) -> dict[str, Any]:
        """The number and classes of the members, and the times of the last 100 loads and saves in seconds."""
        loads, saves = list(self._load_times), list(self._save_times)
        return {
            "memory_count": len(self.memories),
            "memory_types": [type(memory).__name__ for memory in self.memories],
            "total_operations": self._operations,
            "load_times": loads,
            "save_times": saves,
            "average_load_time": _average(loads),
            "average_save_time": _average(saves),
            "memory_variables": self.memory_variables,
            "failures": self._failed(),
        }


def _check_members(memories: Sequence[BaseMemory]) -> None:
    if not memories:
        raise InvalidInput("Value error, a CombinedMemory needs at least one memory")
    taken: set[str] = set()
    for memory in memories:
        check_shape(memory, ("memory_variables", "save_context"), "a CombinedMemory is made of memories")
        if overlap := taken.intersection(memory.memory_variables):
            # The missing space is LangChain's, and programs look for the text.
            raise InvalidInput(
                f"Value error, The same variables {overlap} are found in multiplememory object, "
                "which is not allowed by CombinedMemory."
            )
        taken.update(memory.memory_variables)
        if isinstance(memory, BaseChatMemory) and memory.input_key is None:
            warnings.warn(
                f"When using CombinedMemory, input keys should be so the input is known.  Was not set on {memory}",
                stacklevel=4,
            )


class _Around(BaseMemory, ABC):
    """A memory around another one."""

    memory: BaseMemory
    _positional = ("memory",)

    @property
    def memory_variables(self) -> list[str]:
        return self.memory.memory_variables


class _Unchanging(BaseMemory, ABC):
    """A memory that saving and clearing do not change."""

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


class ReadOnlySharedMemory(_Unchanging, _Around):
    """Another memory, read-only: saving and clearing do nothing."""

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return self.memory.load_memory_variables(inputs)


class SimpleMemory(_Unchanging):
    """Values that are the same in every prompt: saving and clearing do nothing."""

    memories: dict[str, Any] = made_by(dict[str, Any])
    _positional = ("memories",)

    @property
    def memory_variables(self) -> list[str]:
        return list(self.memories)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The values: the same dict that the memory holds."""
        return self.memories


class MemoryMetrics(_Around):
    """A memory that counts and times every load, save and clear of the memory it wraps.

    Times and sizes are those of the last 100 operations. A program that measures by itself may instead call
    ``record_load_operation``, ``record_save_operation`` and ``record_error``. An error is recorded and raised again.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.memory_type = type(self.memory).__name__
        self._lock = threading.Lock()
        counts = dict.fromkeys(("load_count", "save_count", "clear_count", "error_count"), 0)
        times = dict.fromkeys(("total_load_time", "total_save_time"), 0.0)
        lasting = {name: deque[float](maxlen=_LAST) for name in ("load_times", "save_times", "memory_sizes")}
        self.metrics: dict[str, Any] = {**counts, **times, **lasting, "last_error": None}
        self.memory_usage = {"peak_memory_mb": 0.0, "current_memory_mb": 0.0, "memory_growth_rate": 0.0}

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the memory inside gives. Its size is that of its JSON in UTF-8."""
        loaded, seconds = self._timed("load", lambda: self.memory.load_memory_variables(inputs))
        size = len(json.dumps(loaded, ensure_ascii=False, default=str).encode(errors="replace"))
        self.record_load_operation(seconds, size)
        return loaded

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        _, seconds = self._timed("save", lambda: self.memory.save_context(inputs, outputs))
        self.record_save_operation(seconds)

    def clear(self) -> None:
        """Clear the memory inside; what was measured stays."""
        self._timed("clear", self.memory.clear)
        with self._lock:
            self.metrics["clear_count"] += 1

    def _timed(self, verb: str, call: Callable[[], T]) -> tuple[T, float]:
        """What a call gives and how long it took. A failure is counted and raised."""
        begun = time.perf_counter()
        try:
            return call(), time.perf_counter() - begun
        except Exception as error:
            with self._lock:
                self.metrics[f"{verb}_count"] += 1
            self.record_error(error)
            raise

    def record_load_operation(self, execution_time: float, memory_size: int) -> None:
        """Count a load that took this many seconds and gave this many bytes."""
        with self._lock:
            self._record("load", execution_time)
            self.metrics["memory_sizes"].append(memory_size)
            recent = list(self.metrics["memory_sizes"])[-_GROWTH_OVER:]
            megabytes = memory_size / _MEGABYTE
            self.memory_usage["current_memory_mb"] = megabytes
            self.memory_usage["peak_memory_mb"] = max(megabytes, self.memory_usage["peak_memory_mb"])
            # Ten sizes have nine steps between them.
            self.memory_usage["memory_growth_rate"] = (recent[-1] - recent[0]) / max(len(recent) - 1, 1)

    def record_save_operation(self, execution_time: float) -> None:
        """Count a save that took this many seconds."""
        with self._lock:
            self._record("save", execution_time)

    def _record(self, verb: str, seconds: float) -> None:
        self.metrics[f"{verb}_count"] += 1
        self.metrics[f"total_{verb}_time"] += seconds
        self.metrics[f"{verb}_times"].append(seconds)

    def record_error(self, error: BaseException) -> None:
        """Count a failure."""
        with self._lock:
            self.metrics["error_count"] += 1
            name, text = type(error).__name__, str(error)
            self.metrics["last_error"] = {"type": name, "message": text, "timestamp": time.time()}

    def get_performance_summary(self) -> dict[str, Any]:
        """Counts, average and 95th percentile of the last 100 times in seconds, sizes, growth in bytes a load, errors.

        A percentile of fewer than 20 times is 0. An operation that failed is counted, and not timed; the error rate is the
        share of failures among all operations.
        """
        with self._lock:
            timed = [(verb, list(self.metrics[f"{verb}_times"])) for verb in ("load", "save")]
            counts = {f"{verb}s": self.metrics[f"{verb}_count"] for verb in ("load", "save", "error")}
            operations = counts["loads"] + counts["saves"] + self.metrics["clear_count"]
            usage, last_error = dict(self.memory_usage), self.metrics["last_error"]
        return {
            "memory_type": self.memory_type,
            "operation_counts": counts,
            "timing_stats": {
                **{f"avg_{verb}_time": _average(times) for verb, times in timed},
                **{f"p95_{verb}_time": _p95(times) for verb, times in timed},
            },
            "memory_usage": usage,
            "error_rate": counts["errors"] / max(operations, counts["errors"], 1),
            "last_error": last_error,
        }


def _average(times: Sequence[float]) -> float:
    return sum(times) / len(times) if times else 0


def _p95(times: Sequence[float]) -> float:
    """The smallest time that at least 95 of 100 do not exceed; 0 for too few times."""
    if len(times) < _ENOUGH_FOR_P95:
        return 0
    return sorted(times)[-(-95 * len(times) // 100) - 1]

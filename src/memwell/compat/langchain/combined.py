"""Several memories as one, and two small ones: a memory that cannot be changed, and one that never changes."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from memwell.compat.langchain.base import BaseChatMemory, BaseMemory
from memwell.compat.langchain.fields import made_by
from memwell.errors import InvalidInput, MemwellError
from memwell.values import shown

T = TypeVar("T")
M = TypeVar("M", bound=BaseMemory)
_KEPT = 100


class MemoryFailure(NamedTuple):
    """A member of a ``CombinedMemory`` that failed, and its error."""

    memory: BaseMemory
    error: Exception


class CombinedMemoryError(MemwellError):
    """Members of a ``CombinedMemory`` failed; the others did their work. ``failures`` has each with its error."""

    def __init__(self, verb: str, failures: Sequence[MemoryFailure]) -> None:
        told = "; ".join(f"{type(one.memory).__name__}: {shown(str(one.error))}" for one in failures)
        super().__init__(f"{len(failures)} of the memories could not {verb}: {told}")
        self.failures = list(failures)


class CombinedMemory(BaseMemory):
    """Several memories, each with variables of its own.

    A member that fails does not stop the others. Loading gives what the others found and warns; saving and clearing raise
    ``CombinedMemoryError`` after all members had their turn. What the caller got wrong (``ValueError``, ``KeyError``) is
    raised as it is. ``failures`` has those of the last call. Raises ``InvalidInput`` for no member, and for a variable
    that two members have.
    """

    memories: list[BaseMemory]
    _positional = ("memories",)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.memories = list(self.memories)
        _check_members(self.memories)
        self.failures: list[MemoryFailure] = []
        self._operations = 0
        self._load_times: deque[float] = deque(maxlen=_KEPT)
        self._save_times: deque[float] = deque(maxlen=_KEPT)

    @property
    def memory_variables(self) -> list[str]:
        """Those of all members, in order."""
        return [name for memory in self.memories for name in memory.memory_variables]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The variables of all members. Raises ``InvalidInput`` when two give the same."""
        begun = time.perf_counter()
        found = self._each(lambda memory: memory.load_memory_variables(inputs))
        self._done(self._load_times, begun)
        if self.failures and len(self.failures) == len(self.memories):
            raise CombinedMemoryError("load", self.failures) from self.failures[0].error
        if self.failures:
            warnings.warn(str(CombinedMemoryError("load", self.failures)), RuntimeWarning, stacklevel=2)
        return _merged(found)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Save in every member."""
        begun = time.perf_counter()
        self._each(lambda memory: memory.save_context(inputs, outputs))
        self._done(self._save_times, begun)
        self._raise_failures("save")

    def clear(self) -> None:
        """Clear every member."""
        self._each(lambda memory: memory.clear())
        self._raise_failures("be cleared")

    def _each(self, call: Callable[[BaseMemory], T]) -> list[T]:
        """What a call of each member gives; those that fail are kept in ``failures``."""
        found: list[T] = []
        failures: list[MemoryFailure] = []
        for memory in self.memories:
            try:
                found.append(call(memory))
            except Exception as error:  # noqa: BLE001 - whatever a member raises, the others must have their turn
                failures.append(MemoryFailure(memory, error))
        self.failures = failures
        for failure in failures:
            if isinstance(failure.error, ValueError | KeyError):
                raise failure.error
        return found

    def _done(self, times: deque[float], begun: float) -> None:
        times.append(time.perf_counter() - begun)
        self._operations += 1

    def _raise_failures(self, verb: str) -> None:
        if self.failures:
            raise CombinedMemoryError(verb, self.failures) from self.failures[0].error

    def get_memory_by_type(self, memory_type: type[M]) -> M | None:
        """The first member of a class, or None."""
        return next((memory for memory in self.memories if isinstance(memory, memory_type)), None)

    def get_combined_stats(self) -> dict[str, Any]:
        """How many members there are and of what classes, and the times of the last 100 loads and saves in seconds."""
        loads, saves = list(self._load_times), list(self._save_times)
        return {
            "memory_count": len(self.memories),
            "memory_types": [type(memory).__name__ for memory in self.memories],
            "total_operations": self._operations,
            "load_times": loads,
            "save_times": saves,
            "average_load_time": sum(loads) / len(loads) if loads else 0,
            "average_save_time": sum(saves) / len(saves) if saves else 0,
            "memory_variables": self.memory_variables,
            "failures": [f"{type(one.memory).__name__}: {one.error}" for one in self.failures],
        }


def _check_members(memories: Sequence[BaseMemory]) -> None:
    if not memories:
        raise InvalidInput("Value error, a CombinedMemory needs at least one memory")
    taken: set[str] = set()
    for memory in memories:
        overlap = taken.intersection(memory.memory_variables)
        if overlap:
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


def _merged(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for variables in found:
        for name, value in variables.items():
            if name in merged:
                raise InvalidInput(f"The variable {name} is repeated in the CombinedMemory.")
            merged[name] = value
    return merged


class ReadOnlySharedMemory(BaseMemory):
    """Another memory, to be read and not changed: saving and clearing do nothing."""

    memory: BaseMemory
    _positional = ("memory",)

    @property
    def memory_variables(self) -> list[str]:
        """Those of the memory inside."""
        return self.memory.memory_variables

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the memory inside gives."""
        return self.memory.load_memory_variables(inputs)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


class SimpleMemory(BaseMemory):
    """Values that are the same in every prompt: saving and clearing do nothing."""

    memories: dict[str, Any] = made_by(dict[str, Any])
    _positional = ("memories",)

    @property
    def memory_variables(self) -> list[str]:
        """The names of the values."""
        return list(self.memories)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The values: the same dict that the memory holds."""
        return self.memories

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


__all__ = [
    "CombinedMemory",
    "CombinedMemoryError",
    "MemoryFailure",
    "ReadOnlySharedMemory",
    "SimpleMemory",
]

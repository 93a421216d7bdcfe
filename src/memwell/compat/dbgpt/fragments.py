"""Fragments, the unit of an agent's memory; the insights drawn from them; and what a memory discards."""

from __future__ import annotations

import copy
import json
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Self, TypeAlias, TypedDict, TypeVar, cast

from memwell.errors import InvalidInput
from memwell.values import check_count, check_json, check_text, new_version, shown

T = TypeVar("T", bound="MemoryFragment")

_EPOCH_US = 1_577_836_800_000_000
_RANDOM_BITS = 13


class WriteOperation(StrEnum):
    """Why a fragment is written: it is new, or it was recalled."""

    ADD = "add"
    RETRIEVAL = "retrieval"


ADD = WriteOperation.ADD
Weight: TypeAlias = float | None
"""A coefficient of a read; None for its default."""


class _Ids:
    """Ids of 63 bits: microseconds since 2020, then random bits. Each is larger than the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        fresh = (time.time_ns() // 1_000 - _EPOCH_US) << _RANDOM_BITS | new_version() % 2**_RANDOM_BITS
        with self._lock:
            self._last = max(self._last + 1, fresh)
            return self._last


_ids = _Ids()
# A forked child must not wait for a lock that a thread of its parent held.
os.register_at_fork(after_in_child=_ids.__init__)


def check_importance(value: object, what: str = "importance") -> float:
    """Return ``value`` when it is a finite number; raises ``InvalidInput`` otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise InvalidInput(f"{what} must be a finite number, not {shown(value)}")


def as_aware(moment: datetime) -> datetime:
    """The moment with a zone: its own, or the local one."""
    return moment.astimezone() if moment.utcoffset() is None else moment


class MemoryFragment:
    """The unit of memory: an observation as text, its importance, its vector, and when it was last used.

    A subclass may compute the properties in its own way. Raises ``InvalidInput`` for an observation that is no text, an
    importance that is no finite number, and an id that is no whole number.
    """

    derived_from: tuple[int, ...] = ()
    """The ids of the fragments that an insight was drawn from. In a store it is erased together with any of them."""
    session_id: str | None = None
    """The session it was written in; a ``HybridMemory`` sets it."""

    def __init__(
        self,
        observation: str,
        embeddings: list[float] | None = None,
        memory_id: int | None = None,
        importance: float | None = None,
        last_accessed_time: datetime | None = None,
        is_insight: bool = False,
        snapshot_path: str | None = None,
    ) -> None:
        self.observation = check_text(observation, "an observation")
        self.memory_id = check_count(memory_id, "memory_id") if memory_id else _ids.next()
        self.snapshot_path = snapshot_path
        self._is_insight = bool(is_insight)
        self._embeddings = None if embeddings is None else list(embeddings)
        self._importance = None if importance is None else check_importance(importance)
        self._last_accessed_time = last_accessed_time

    @classmethod
    def build_from(
        cls,
        observation: Any,
        embeddings: list[float] | None = None,
        memory_id: int | None = None,
        importance: float | None = None,
        is_insight: bool = False,
        last_accessed_time: datetime | None = None,
        snapshot_path: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """A fragment of these values; without an id it has a new one. Other keyword arguments are ignored."""
        # A subclass with a constructor of its own need not know the path of a snapshot.
        extra = {} if snapshot_path is None else {"snapshot_path": snapshot_path}
        return cls(
            observation=observation,
            embeddings=embeddings,
            memory_id=memory_id,
            importance=importance,
            last_accessed_time=last_accessed_time,
            is_insight=is_insight,
            **extra,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id}, observation={shown(self.raw_observation)})"

    @property
    def id(self) -> int:
        """The id; a copy has the same."""
        return self.memory_id

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    @property
    def raw_observation(self) -> str:
        """The observation as text."""
        return self.observation

    @property
    def is_insight(self) -> bool:
        """Whether it was drawn from other fragments."""
        return self._is_insight

    @property
    def importance(self) -> float | None:
        """How important it is; None if unknown."""
        return self._importance

    def update_importance(self, importance: float | None) -> float | None:
        """Set the importance and return the old one."""
        before = self._importance
        self._importance = None if importance is None else check_importance(importance)
        return before

    @property
    def embeddings(self) -> list[float] | None:
        """The vector, if it has one."""
        return self._embeddings

    def update_embeddings(self, embeddings: list[float] | None) -> None:
        """Set the vector."""
        self._embeddings = None if embeddings is None else list(embeddings)

    def calculate_current_embeddings(self, embedding_func: Callable[[list[str]], Sequence[Any]]) -> list[float]:
        """The vector that a function of texts gives for this observation; it is not set."""
        return list(embedding_func([self.raw_observation])[0])

    @property
    def last_accessed_time(self) -> datetime | None:
        """When it was last used."""
        return self._last_accessed_time

    def update_accessed_time(self, now: datetime) -> datetime | None:
        """Set when it was last used and return the old time."""
        before = self._last_accessed_time
        self._last_accessed_time = now
        return before

    def copy(self) -> Self:
        """Another object with the same values and the same id."""
        twin = copy.copy(self)
        twin._embeddings = None if self._embeddings is None else list(self._embeddings)
        return twin

    def reduce(self, memory_fragments: Sequence[MemoryFragment], **kwargs: Any) -> Self:
        """One new fragment with the observations of all, joined by ``;``. ``kwargs`` are passed to ``build_from``.

        Raises ``InvalidInput`` when there are none.
        """
        if not memory_fragments:
            raise InvalidInput("Memory fragments is empty.")
        return self.current_class.build_from(";".join(one.raw_observation for one in memory_fragments), **kwargs)

    @property
    def current_class(self) -> type[Self]:
        return type(self)


class AgentMemoryFragment(MemoryFragment):
    """A fragment of plain text."""


class StructuredObservation(TypedDict, total=False):
    """A step of an agent; every key is optional."""

    question: str | None
    thought: str | None
    phase: str | None
    action_intention: str | None
    action_reason: str | None
    action: str | None
    action_input: str | None
    observation: str | None


class StructuredAgentMemoryFragment(AgentMemoryFragment):
    """A fragment whose observation is a step of an agent, or several; as text it is their JSON.

    Text that is no JSON object or list becomes a step with that ``observation`` alone. The other arguments are those of
    ``AgentMemoryFragment``. Raises ``InvalidInput`` for what JSON cannot hold.
    """

    def __init__(
        self,
        observation: StructuredObservation | list[StructuredObservation] | dict[str, Any] | list[Any] | str,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        self._structured_observation = _steps(observation)
        super().__init__(self.to_raw_observation(self._structured_observation), *args, **kwargs)

    @property
    def structured_observation(self) -> Any:
        """The step, or the list of steps."""
        return self._structured_observation

    def to_raw_observation(self, observation: Any) -> str:
        """The JSON of a step or of several; raises ``InvalidInput`` for what JSON cannot hold."""
        check_json(observation, "an observation")
        return json.dumps(observation, ensure_ascii=False)

    def reduce(self, memory_fragments: Sequence[MemoryFragment], **kwargs: Any) -> Self:
        """One fragment with the steps of all, in order; a single fragment is returned as it is.

        Raises ``InvalidInput`` when there are none.
        """
        if not memory_fragments:
            raise InvalidInput("Memory fragments is empty.")
        if len(memory_fragments) == 1 and isinstance(memory_fragments[0], type(self)):
            return memory_fragments[0]
        together: list[Any] = []
        for one in memory_fragments:
            steps = _steps(one.raw_observation)
            together += steps if isinstance(steps, list) else [steps]
        return self.current_class.build_from(together, **kwargs)


def _steps(observation: object) -> Any:
    if not isinstance(observation, str):
        if not isinstance(observation, dict | list):
            raise InvalidInput(f"an observation must be a dict, a list or a string, not {shown(observation)}")
        # A copy: later changes to the caller's dict must not change the fragment.
        return copy.deepcopy(cast("dict[str, Any] | list[Any]", observation))
    try:
        read: Any = json.loads(observation)
    except (ValueError, RecursionError):
        read = None
    return cast(Any, read) if isinstance(read, dict | list) else {"observation": observation}


class InsightMemoryFragment(Generic[T]):
    """``insights`` drawn from ``original_memory_fragment``, one or several; there may be none.

    Insights given as text become fragments of the same class. Raises ``InvalidInput`` for text without a fragment.
    """

    def __init__(self, original_memory_fragment: T | list[T], insights: Sequence[T | str]) -> None:
        self.original_memory_fragment = original_memory_fragment
        self.insights: list[T] = []
        sources = original_memory_fragment if isinstance(original_memory_fragment, list) else [original_memory_fragment]
        for given in insights:
            if isinstance(given, str) and not sources:
                raise InvalidInput(f"an insight must come from a fragment: {shown(given)}")
            one = sources[0].current_class.build_from(given, is_insight=True) if isinstance(given, str) else given
            ids = (*one.derived_from, *(source.id for source in sources))
            one.derived_from = tuple(dict.fromkeys(id_ for id_ in ids if id_ != one.id))
            self.insights.append(one)


class DiscardedMemoryFragments(Generic[T]):
    """Fragments that a memory discarded, oldest first, and the insights from them, for the next memory to store."""

    def __init__(
        self, discarded_memory_fragments: list[T], discarded_insights: list[InsightMemoryFragment[T]] | None = None
    ) -> None:
        self.discarded_memory_fragments = discarded_memory_fragments
        self.discarded_insights: list[InsightMemoryFragment[T]] = discarded_insights or []


Discarded: TypeAlias = DiscardedMemoryFragments[T] | None
"""What a write discards; None for nothing."""

"""How much is stored, told without reading it where a store can, and otherwise counted now and then.

A store knows at once how many records and vectors a space has. Conversations, documents and media it has to go through. So
a count is kept, and made again only after fifty times as long as it took: whatever the size of a store, counting takes no
more than a fiftieth of one processor. Every answer says when it was counted.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memwell.filters import Where
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.runtime.engine import Engine
from memwell.runtime.grants import OWN_SPACES
from memwell.runtime.jobs import REGISTRY
from memwell.runtime.wire.figures import Queue, Stored
from memwell.storage.protocols import Backend

_FRESH_S = 5.0
_PATIENCE = 50.0
_MOST_KEPT = 1_000
_A_PAGE = 1_000
_MOST_OWED = 200
"""So many spaces that are owed work are asked how much; of more, their number alone is told."""
_MEDIA = Where("@kind", "in", ("image", "audio", "video"))
_SEGMENTS_OF_KNOWLEDGE = 3


class _Count(NamedTuple):
    value: Any
    ended: float
    took: float

    def is_fresh(self) -> bool:
        return time.monotonic() - self.ended < max(_FRESH_S, _PATIENCE * self.took)


class Stock:
    """Counts what a store holds, of one space or of all, from any thread."""

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.time) -> None:
        self._backend = backend
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Space | None], _Count] = OrderedDict()

    def of(self, engine: Engine) -> Stored:
        """What is stored in the space of an engine."""
        return self._counted("space", engine.space, lambda: self._count_space(engine))

    def whole(self, engine: Engine) -> Stored:
        """What is stored in all spaces. A store that does not list its spaces, and media, stay uncounted."""
        return self._counted("whole", None, lambda: self._count_whole(engine))

    def sample(self, space: Space | None, *, may_count: bool) -> tuple[int | None, int | None]:
        """How many memories and conversations there are, for a trend; without ``may_count`` as they were last counted."""
        if space is None:
            memories, conversations, _ = self._counted("sum", None, self._sums, may_count=may_count) or (None,) * 3
            return memories, conversations
        threads = self._counted("threads", space, lambda: self._threads(space), may_count=may_count)
        return self._backend.index.info(space).records, None if threads is None else threads[0]

    def owed(self, engine: Engine) -> Queue:
        """What the space of an engine is owed."""
        owed = engine.owed()
        vectors = owed.vectors + (engine.knowledge.owed().vectors if self._chunks(engine.space) else 0)
        return Queue(words=owed.words, vectors=vectors, spaces=int(bool(owed.words or vectors)))

    def owed_whole(self, engine: Engine) -> Queue:
        """What all spaces are owed, as far as the first 200 of them go."""
        owing = self._owing()
        each = [self.owed(engine.at(_owner(space))) for space in owing[:_MOST_OWED]]
        return Queue(
            words=sum(one.words for one in each),
            vectors=sum(one.vectors for one in each),
            spaces=sum(one.spaces for one in each) + max(len(owing) - _MOST_OWED, 0),
        )

    def _owing(self) -> list[Space]:
        kv = self._backend.kv
        entries = paged(lambda cursor: kv.scan(REGISTRY, limit=_A_PAGE, cursor=cursor))
        found = [Space.decode(entry.key) for entry in entries]
        return [space for space in found if space[:2] not in OWN_SPACES]

    def _counted(self, what: str, space: Space | None, count: Callable[[], Any], *, may_count: bool = True) -> Any:
        """A count that is kept while it is fresh; None when there is none and none may be made."""
        key = (what, space)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and (kept.is_fresh() or not may_count):
            return kept.value
        if not may_count:
            return None
        begun = time.monotonic()
        value = count()
        ended = time.monotonic()
        with self._lock:
            self._kept[key] = _Count(value, ended, ended - begun)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return value

    # One space

    def _count_space(self, engine: Engine) -> Stored:
        space = engine.space
        conversations, messages = self._threads(space)
        chunks = self._chunks(space)
        index = self._backend.index
        media = paged(lambda cursor: index.scan(space, where=_MEDIA, limit=_A_PAGE, cursor=cursor))
        return Stored(
            conversations=conversations,
            messages=messages,
            memories=index.info(space).records,
            documents=engine.knowledge.count().documents if chunks else 0,
            chunks=chunks,
            media=sum(1 for _ in media),
            counted=self._now(),
        )

    def _threads(self, space: Space) -> tuple[int, int]:
        log = self._backend.log
        infos = paged(lambda cursor: log.threads(space, limit=_A_PAGE, cursor=cursor))
        sizes = [info.messages for info in infos]
        return len(sizes), sum(sizes)

    def _chunks(self, space: Space) -> int:
        if len(space) > MAX_SEGMENTS - _SEGMENTS_OF_KNOWLEDGE:
            # Too deep for documents to have a space of their own.
            return 0
        return self._backend.index.info(knowledge_space(space)).records

    # All of them

    def _count_whole(self, engine: Engine) -> Stored:
        facts = self._backend.facts()
        if "spaces" not in facts:
            return Stored(counted=self._now())
        memories, conversations, messages = self._sums(facts)
        shelves = {space: many for space, many in _spaces(facts) if _is_shelf(space) and many}
        return Stored(
            conversations=conversations,
            messages=messages,
            memories=memories,
            documents=sum(engine.at(_owner(space)).knowledge.count().documents for space in shelves),
            chunks=sum(shelves.values()),
            counted=self._now(),
        )

    def _sums(self, facts: dict[str, Any] | None = None) -> tuple[int | None, int | None, int | None]:
        """The memories, conversations and messages of all spaces."""
        known = self._backend.facts() if facts is None else facts
        if "spaces" not in known:
            return None, None, None
        spaces = _spaces(known)
        # Memories and documents have a journal each, which is a thread of the store, and nobody's conversation.
        listed = {*(space for space, _ in spaces), *self._owing()}
        journals = [self._journal(space) for space in listed if _is_memory(space) or _is_shelf(space)]
        return (
            sum(many for space, many in spaces if _is_memory(space)),
            known["threads"] - sum(found for found, _ in journals),
            known["messages"] - sum(messages for _, messages in journals),
        )

    def _journal(self, space: Space) -> tuple[int, int]:
        if len(space) == MAX_SEGMENTS:
            # Too deep for a memory that has a journal.
            return 0, 0
        found = self._backend.log.threads(inner_space(space), ids=["journal"]).items
        return len(found), sum(info.messages for info in found)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _spaces(facts: dict[str, Any]) -> Sequence[tuple[Space, int]]:
    return [(Space(*one["space"]), one["records"]) for one in facts["spaces"]]


def _is_memory(space: Space) -> bool:
    """Whether it is somebody's memory, and not one of the spaces beside it in which memwell keeps what goes with it."""
    return "memwell" not in space[1:] and space[:2] not in OWN_SPACES


def _is_shelf(space: Space) -> bool:
    return space[-2:] == ("memwell", "knowledge") and len(space) > 2


def _owner(space: Space) -> Space:
    """The space whose documents these are, or the space itself."""
    return Space(*space[:-2]) if _is_shelf(space) else space

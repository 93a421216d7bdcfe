"""An index whose vectors are searched by an engine that follows the home store.

Writes go to the home store alone. A search asks the engine, reads what it found from the rows, and adds what changed since
the engine was fed; every score is computed from the rows' own vectors. So an answer never waits for the feeding, and never
shows what is not there. Where the engine is away or too far behind, the home store answers by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from memwell._products import product
from memwell.errors import BackendUnavailable, Conflict
from memwell.filters import AllOf, AnyOf, Filter, FilterLike, Not, Where, as_filter, holds
from memwell.records import MAX_SEGMENTS, Hit, Page, Record, Space, Vector, as_vector, paged
from memwell.storage import arguments as given
from memwell.storage.composed.feeding import PAGE, Feeder, Feeding, Progress, Reconciled, is_own
from memwell.storage.engines import Attached, VectorEngine
from memwell.storage.protocols import Backend, Changes, IndexInfo, RecordIndex
from memwell.values import new_id

_OVERLAID = 1000
"""How many changes a search takes from the rows before it leaves the engine out."""
_SPARE = 8
_FURTHER = 4
_MOST_FETCHED = 2000
_ROOM = Space("memwell", "vectors")
_DEEP = Space("memwell", "deep-vectors")


class _Question(NamedTuple):
    space: Space
    vector: Vector
    limit: int
    where: Filter | None


class FollowedIndex(RecordIndex):
    """The index of ``home``, with ``attached`` to search by vector in spaces of more than ``ask_above`` vectors.

    ``touched`` is called with the spaces that were written to, and calls ``due`` when their transaction has ended.
    """

    def __init__(
        self,
        home: Backend,
        attached: Attached,
        ask_above: int,
        transaction: Callable[[], AbstractContextManager[None]],
        touched: Callable[[Iterable[Space]], None],
    ) -> None:
        self._home = home.index
        self._spaces = home.spaces
        self._transaction = transaction
        self._ask_above = ask_above
        self.attached = attached
        self.feeding = Feeding(home.index, home.kv, attached)
        self._feeder = Feeder(self._feed, self._left_behind)
        self.due = self._feeder.due
        self._touched = touched
        self._suspects: set[Space] = set()

    # Writing: the home store's, and the engine follows

    def upsert(self, records: Sequence[Record]) -> None:
        checked = given.check_records(records)
        self._home.upsert(list(checked.values()))
        self._touched({space for space, _ in checked})

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        given.check_space(space)
        wanted = list(dict.fromkeys(given.check_ids(ids)))
        with self._transaction():
            gone = self._home.delete(space, wanted)
            if gone:
                self.feeding.notes.add(space, wanted)
        if gone:
            self._touched([space])
        return gone

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        self._home.revector(space, vectors)
        self._touched([space])

    # Reading

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        return self._home.get(space, ids)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        return self._home.scan(space, where=where, limit=limit, cursor=cursor, newest_first=newest_first)

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        return self._home.match(space, text, limit=limit, where=where)

    def changes(self, space: Space, since: int | None = None) -> Changes:
        return self._home.changes(space, since)

    def info(self, space: Space) -> IndexInfo:
        info = self._home.info(space)
        return replace(info, search=self.attached.name) if self._answers(space, info) else info

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        question = _Question(given.check_space(space), as_vector(vector), given.check_limit(limit), as_filter(where))
        try:
            hits = self._from_engine(question)
        except BackendUnavailable:
            if self.attached.away is None:
                # It was the home store that could not be reached.
                raise
            self.due([space])
            hits = None
        return self._home.near(space, vector, limit=limit, where=where) if hits is None else hits

    def _answers(self, space: Space, info: IndexInfo) -> bool:
        held = self.feeding.marks.get(space) if info.vectors > self._ask_above else None
        if held is None or held.mark.state is None or self.attached.away is not None:
            return False
        return held.mark.dimensions == info.dimensions and 0 <= info.state - held.mark.state <= _OVERLAID

    def _from_engine(self, question: _Question) -> list[Hit] | None:
        """What the engine and the changes since give; None when they cannot answer."""
        space = question.space
        info = self._home.info(space)
        if info.vectors <= self._ask_above or len(question.vector) != info.dimensions or self.attached.resting:
            return None
        held = self.feeding.marks.get(space)
        if held is None or held.mark.state is None or held.mark.dimensions != info.dimensions:
            self.due([space])
            return None
        behind = info.state - held.mark.state
        if behind:
            self.due([space])
        if not 0 <= behind <= _OVERLAID:
            return None
        found = self._search(question, info, held.mark.state, question.limit + behind + _SPARE)
        again = self.feeding.marks.get(space)
        # While it is filled the engine has only a part.
        return found if again is not None and again.mark.generation == held.mark.generation else None

    def _search(self, question: _Question, info: IndexInfo, state: int, wanted: int) -> list[Hit] | None:
        space, vector, limit, where = question
        while wanted <= max(_MOST_FETCHED, limit):
            asked = wanted
            found = self._asked(question, asked)
            # Read after the search, so that whatever was fed meanwhile is among them.
            changes = self._home.changes(space, state)
            if changes.state is None or changes.whole:
                return None
            kept, fresh = self._rows(question, found, changes)
            if len(kept) >= limit:
                return _ranked(vector, kept + fresh, limit)
            if len(found) < min(asked, self.attached.most):
                if where is None and len(kept) + len(fresh) < min(limit, info.vectors):
                    self._suspects.add(space)
                    self.due([space])
                    return None
                return _ranked(vector, kept + fresh, limit)
            if asked >= self.attached.most:
                return None
            wanted = asked * _FURTHER
        return None

    def _asked(self, question: _Question, count: int) -> list[tuple[str, float]]:
        space, vector, _, where = question
        return self.attached.use(lambda engine: engine.near(space, vector, min(count, engine.most), where))

    def _rows(
        self, question: _Question, found: list[tuple[str, float]], changes: Changes
    ) -> tuple[list[Record], list[Record]]:
        """The rows of what was found and did not change since, and of what changed; those that the question is about."""
        changed = {record.id: record for _, record in changes.records}
        rows = self._home.get(question.space, [id_ for id_, _ in found if id_ not in changed])
        size = len(question.vector)

        def asked_for(record: Record) -> bool:
            fits = record.vector is not None and len(record.vector) == size
            return fits and (question.where is None or holds(question.where, record))

        return list(filter(asked_for, rows)), list(filter(asked_for, changed.values()))

    # In step

    def _feed(self, space: Space) -> bool:
        if not self.feeding.feed(space):
            return False
        if space in self._suspects:
            if self.feeding.differs(space) and self.feeding.reconcile(space) is None:
                return False
            self._suspects.discard(space)
        return True

    def _left_behind(self) -> Iterator[Space]:
        for space in self.spaces():
            info, held = self._home.info(space), self.feeding.marks.get(space)
            if held is None:
                behind = info.vectors > 0
            else:
                behind = held.mark.state != info.state or bool(self.feeding.notes.read(space))
            if behind:
                yield space

    def spaces(self) -> Iterator[Space]:
        """All spaces of the home store that may hold records."""
        found = paged(lambda cursor: self._spaces(limit=PAGE, cursor=cursor))
        return (space for space in found if not is_own(space))

    def catch_up(self, space: Space) -> bool:
        """Feed a space now; False when another is feeding it. Raises ``BackendUnavailable`` when the engine is away."""
        self.attached.wake()
        return self._feed(space)

    def catch_up_everywhere(self) -> None:
        """Feed every space that is behind. Raises ``BackendUnavailable`` when the engine is away."""
        for space in list(self._left_behind()):
            self.catch_up(space)

    def wait(self, seconds: float) -> bool:
        """Wait until all that is due has been fed; whether that came to be."""
        return self._feeder.wait(seconds)

    def reconcile(self, space: Space | None = None, progress: Progress | None = None) -> Reconciled:
        """Compare the engine with the rows and repair it, one space or all. Raises ``BackendUnavailable``."""
        self.attached.wake()
        spaces = [space] if space is not None else self._everywhere()
        total = Reconciled()
        for number, one in enumerate(spaces):
            total += self.feeding.reconcile(one) or Reconciled()
            self._suspects.discard(one)
            if progress is not None:
                progress(number + 1, len(spaces))
        return total

    def rebuild(self, space: Space | None = None, progress: Progress | None = None) -> int:
        """Fill the engine again from the rows, one space or all. Returns how many spaces. Raises ``BackendUnavailable``."""
        self.attached.wake()
        spaces = [space] if space is not None else self._everywhere()
        return sum(self.feeding.rebuild(one, progress) for one in spaces)

    def _everywhere(self) -> list[Space]:
        there = self.attached.use(lambda engine: list(engine.spaces()))
        return sorted({*self.spaces(), *there}, key=Space.encoded)

    def problems(self) -> list[str]:
        """In what the engine disagrees with the rows, by its counts; what is still on its way is no problem."""
        if self.attached.resting:
            return []
        try:
            spaces = sorted({*self.spaces(), *self.feeding.marks.spaces()}, key=Space.encoded)
            return [found for space in spaces if (found := self._problem(space)) is not None]
        except BackendUnavailable:
            return []

    def _problem(self, space: Space) -> str | None:
        info = self._home.info(space)
        if info.vectors and self.feeding.marks.get(space) is None:
            return None
        if not self.feeding.differs(space):
            return None
        count = self.attached.use(lambda engine: engine.count(space))
        return (
            f"{self.attached.name} holds {count:,} vectors of the space {space!r}, and the store {info.vectors:,}: "
            "run memwell reindex"
        )

    def facts(self) -> dict[str, Any]:
        """Where the engine is, whether it answers, and how many spaces it is behind in."""
        return {**self.attached.facts(), "spaces_behind": sum(1 for _ in self._left_behind())}

    def close(self) -> None:
        """Stop feeding and let go of the engine."""
        self._feeder.stop()
        self.attached.close()


def _ranked(vector: Vector, records: list[Record], limit: int) -> list[Hit]:
    """The best by their own vectors."""
    if not records:
        return []
    rows = np.array([np.asarray(one.vector, dtype=np.float32) for one in records])
    scores = product(rows, np.asarray(vector, dtype=np.float32)) / np.linalg.norm(rows, axis=1)
    best: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
    return [Hit(replace(records[at], vector=None), float(scores[at])) for at in best]


# Another store as an engine


class StoreVectors(VectorEngine):
    """The vectors of one store in the index of another, in spaces under ``("memwell", "vectors")`` there.

    Texts stay at home, so a filter on ``@text`` is not looked at here.
    """

    most = given.MAX_LIMIT

    def __init__(self, store: Backend, name: str = "store") -> None:
        self.name = name
        self._store = store

    def identity(self, dimensions: int) -> str:
        while True:
            known = self._store.kv.get(_ROOM, "identity")
            if known is not None:
                return str(known.value)
            try:
                return str(self._store.kv.put(_ROOM, "identity", new_id(), expect=0).value)
            except Conflict:
                continue

    def store(self, space: Space, records: Sequence[Record]) -> None:
        self._store.index.upsert([_without_text(one, _there(space)) for one in records])

    def drop(self, space: Space, ids: Iterable[str]) -> None:
        self._store.index.delete(_there(space), ids)

    def near(self, space: Space, vector: Vector, limit: int, where: Filter | None) -> list[tuple[str, float]]:
        pushed = None if where is None else _without_texts(where)
        hits = self._store.index.near(_there(space), vector, limit=limit, where=pushed)
        return [(hit.record.id, hit.score) for hit in hits]

    def ids(self, space: Space) -> Iterator[str]:
        found = paged(lambda cursor: self._store.index.scan(_there(space), limit=PAGE, cursor=cursor))
        return (one.id for one in found)

    def count(self, space: Space) -> int:
        return self._store.index.info(_there(space)).records

    def forget(self, space: Space) -> None:
        index, there = self._store.index, _there(space)
        while ids := [one.id for one in index.scan(there, limit=PAGE).items]:
            index.delete(there, ids)

    def spaces(self) -> Iterator[Space]:
        for space in paged(lambda cursor: self._store.spaces(limit=PAGE, cursor=cursor)):
            # A space that is too deep for a place under the room has a digest there, which does not name it.
            if space[: len(_ROOM)] == _ROOM and len(space) > len(_ROOM) and self._store.index.info(space).records:
                yield Space(*space[len(_ROOM) :])

    def facts(self) -> dict[str, Any]:
        return {"kind": self._store.facts().get("kind", "store")}

    def close(self) -> None:
        self._store.close()


def _there(space: Space) -> Space:
    if len(space) + len(_ROOM) <= MAX_SEGMENTS:
        return Space(*_ROOM, *space)
    return Space(*_DEEP, hashlib.sha256(space.encoded().encode()).hexdigest())


def _without_text(record: Record, there: Space) -> Record:
    return Record(
        text="",
        space=there,
        id=record.id,
        kind=record.kind,
        time=record.time,
        metadata=record.metadata,
        vector=record.vector,
    )


def _without_texts(node: Filter) -> Filter | None:
    """The filter without its questions about texts, so that it holds wherever the whole one does; None for any."""
    if isinstance(node, Where):
        return None if node.field == "@text" else node
    if isinstance(node, Not):
        # What is left out of the inner one would be asked for the more.
        return None if _asks_for_text(node) else node
    kept = [one for one in map(_without_texts, node.filters) if one is not None]
    if isinstance(node, AllOf):
        return AllOf(tuple(kept)) if kept else None
    return AnyOf(tuple(kept)) if len(kept) == len(node.filters) else None


def _asks_for_text(node: Filter) -> bool:
    if isinstance(node, Where):
        return node.field == "@text"
    return _asks_for_text(node.filter) if isinstance(node, Not) else any(map(_asks_for_text, node.filters))

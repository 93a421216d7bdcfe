"""Keeping a long-term memory in order: clearing, forgetting, compressing, and saying what a fragment is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from memwell._asyncify import blocking, run_blocking
from memwell.compat.dbgpt.fragments import AgentMemoryFragment, MemoryFragment
from memwell.compat.dbgpt.memory import Memory, check_fragment
from memwell.compat.dbgpt.retriever import LongTermRetriever
from memwell.compat.dbgpt.stored_fragments import HIGHEST, Owner, as_fragment, as_share, fragment_id
from memwell.compat.dbgpt.times import as_aware
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Not, Where
from memwell.longterm.consolidation import Compression, Merge
from memwell.longterm.erasing import Erased
from memwell.longterm.memory import Memory as LastingMemory
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import FORGOTTEN, SUPERSEDED, importance_of
from memwell.values import check_count, shown

T = TypeVar("T", bound=MemoryFragment)

_HIDDEN = Where(("memwell", "status"), "in", [FORGOTTEN, SUPERSEDED])
_UNPINNED = Not(Where(("memwell", "pinned"), "eq", True))
_TRIES = 5


class ForgetReport(msgspec.Struct, frozen=True):
    """What was deleted, or with ``dry_run`` would be: the ids of fragments with the reasons."""

    reasons: dict[int, str]
    kept: int
    erased: Erased
    dry_run: bool

    @property
    def deleted(self) -> list[int]:
        """The fragments it is about."""
        return list(self.reasons)


class Upkeep(Memory[T]):
    """The part of a long-term memory that looks after what is stored. Every step is one of memwell's own memory."""

    memory_retriever: LongTermRetriever

    def __init__(self, metadata: Mapping[str, Any] | None) -> None:
        self._labels = Owner(metadata).labels

    @property
    def now(self) -> datetime:
        """The present, by the clock that was given or the real one."""
        return self.memory_retriever.now or datetime.now(UTC).astimezone().replace(tzinfo=None)

    @property
    def memory(self) -> LastingMemory:
        """The memory of memwell that the fragments are in; others may be in it, too."""
        return self.memory_retriever.memory

    @property
    def _owner(self) -> Owner:
        return Owner(self._labels, self.session_id)

    @property
    def _fragment_class(self) -> type[T]:
        return self._real_memory_fragment_class or cast("type[T]", AgentMemoryFragment)

    # Deleting

    async def clear(self, *, importance_below: float | None = None, older_than: timedelta | None = None) -> list[T]:
        """Delete the fragments of this memory and its session for good, and return them, oldest first.

        With ``importance_below`` (from 0 to 10) or ``older_than`` only those that satisfy all that is given, with the
        insights that were concluded from them; pinned ones stay then. Raises ``InvalidInput`` for values that make no
        sense.
        """
        where = self._matching(importance_below, older_than)
        gone, _ = await run_blocking(partial(self._erased, where))
        ordered = sorted((one for one, _ in gone), key=lambda one: one.time)
        return [as_fragment(one, self._fragment_class) for one in ordered]

    async def forget(
        self,
        *,
        importance_below: float | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
    ) -> ForgetReport:
        """Delete for good what is less important and older than this, or only say what would be; pinned fragments stay.

        An insight goes with the fragment it was concluded from, whatever it is worth itself. Raises
        ``InvalidInput`` when nothing is given, and for values that make no sense.
        """
        if importance_below is None and older_than is None:
            raise InvalidInput("say what to forget, by importance_below or older_than; clear() deletes everything")
        where = self._matching(importance_below, older_than)
        return await run_blocking(partial(self._forgotten, where, importance_below, older_than, dry_run))

    def _matching(self, importance_below: float | None, older_than: timedelta | None) -> Filter:
        parts: list[Filter] = [self._owner.filter]
        if importance_below is not None:
            share = as_share(importance_below, "importance_below")
            parts += [_UNPINNED, Where(("memwell", "importance"), "lt", share)]
        if older_than is not None:
            parts += [_UNPINNED, Where("@time", "lt", self._before(older_than))]
        return AllOf(tuple(parts))

    def _before(self, older_than: timedelta) -> datetime:
        if not isinstance(older_than, timedelta) or older_than < timedelta(0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"older_than must be a timedelta of at least 0, not {shown(older_than)}")
        try:
            return as_aware(self.now).astimezone(UTC) - older_than
        except OverflowError:
            # Nothing can be older than that.
            return datetime.min.replace(tzinfo=UTC)

    def _forgotten(
        self, where: Filter, importance_below: float | None, older_than: timedelta | None, dry_run: bool
    ) -> ForgetReport:
        before = len(self.memory.memories(where=self._owner.filter))
        gone, erased = (self._matched(where), Erased()) if dry_run else self._erased(where)
        now = as_aware(self.now)
        reasons = {
            fragment_id(one.id): _reason(one, now, importance_below, older_than) if source is None else _rests(source)
            for one, source in gone
        }
        return ForgetReport(reasons, max(before - len(gone), 0), erased, dry_run)

    def _matched(self, where: Filter) -> list[tuple[Recalled, str | None]]:
        """What satisfies a filter, and what rests on that, with the id of what it rests on."""
        found: dict[str, tuple[Recalled, str | None]] = {
            one.id: (one, None) for one in self.memory.memories(where=where)
        }
        insights = [one for one in self.memory.memories(where=self._owner.filter) if one.trust == "derived"]
        more = bool(found)
        while more:
            before = len(found)
            for one in insights:
                sources = (piece.record for piece in one.evidence if piece.record in found)
                source = None if one.id in found else next(sources, None)
                if source is not None:
                    found[one.id] = (one, source)
            more = len(found) > before
        return list(found.values())

    def _erased(self, where: Filter) -> tuple[list[tuple[Recalled, str | None]], Erased]:
        """Erase what satisfies a filter; what can be seen of it is returned, what was merged or hidden goes, too."""
        for _ in range(_TRIES):
            gone = self._matched(where)
            try:
                # The insights go with what they rest on.
                seen = self.memory.erase([one.id for one, source in gone if source is None]) if gone else Erased()
            except NotFound:
                # Somebody else erased one of them in the same moment.
                continue
            hidden = self.memory.erase_where(AllOf((where, _HIDDEN)))
            return gone, _sum(seen, hidden)
        raise NotFound("others are erasing the same fragments; try again")

    # Merging

    async def compress_memories(self, threshold: float = 0.85) -> Compression:
        """Merge fragments that say nearly the same into the one that says most, with the evidence of all.

        ``threshold`` is how alike two must be, above 0 and at most 1. Without labels of its own a memory leaves those of
        others alone. ``undo_compression`` takes it back.
        """
        return await self.memory.acompress(threshold=threshold, where=self._owner.unshared)

    async def undo_compression(self, compression: Compression) -> int:
        """Take back what ``compress_memories`` did; how many fragments there are again. What has changed since stays."""
        if not isinstance(compression, Compression):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"give what compress_memories returned, not {shown(compression)}")
        return await run_blocking(partial(self._parted, compression.merges))

    def _parted(self, merges: Iterable[Merge]) -> int:
        parted = 0
        for merge in merges:
            parted += sum(self._undone(id_, f"merged into {merge.kept}") for id_ in merge.merged)
            self._undone(merge.kept, "merged")
        return parted

    def _undone(self, id_: str, reason: str) -> bool:
        try:
            versions = self.memory.history(id_)
            if not versions or versions[-1].reason != reason:
                return False
            self.memory.undo(id_)
        except NotFound:
            return False
        return True

    # Worth

    async def evaluate_importance(self, memory_fragment: T) -> float:
        """What a fragment is worth, from 0 to 1: by its content, and once stored by its uses and the feedback on it.

        The importance it was given does not count, and is not changed. Raises ``InvalidInput`` for what is no fragment.
        """
        check_fragment(memory_fragment)
        return await run_blocking(partial(self._worth, memory_fragment))

    async def feedback(self, memory_fragment: T | int, *, useful: bool) -> T:
        """Say whether a fragment helped, by itself or by its id: its importance moves. Returns it as it is then.

        Raises ``NotFound`` for one that is not stored here.
        """
        wanted = memory_fragment.id if isinstance(memory_fragment, MemoryFragment) else memory_fragment
        check_count(wanted, "the id of a fragment")
        moved = await run_blocking(lambda: self.memory.feedback(self._record_of(wanted), useful=useful))
        return as_fragment(moved, self._fragment_class)

    def _worth(self, fragment: MemoryFragment) -> float:
        try:
            return self.memory.evaluate(self._record_of(fragment.id))
        except NotFound:
            return importance_of(fragment.raw_observation)

    def _record_of(self, wanted: int) -> str:
        """The id of the memory that holds a fragment. Raises ``NotFound``."""
        owner = self._owner
        try:
            return self.memory.get(owner.record_id(wanted)).id
        except NotFound:
            # It may be of another session, or an insight that was drawn here.
            for one in self.memory.memories(where=owner.filter):
                if fragment_id(one.id) == wanted:
                    return one.id
            raise NotFound(f"there is no fragment {wanted} in this memory") from None

    clear_sync = blocking(clear)
    forget_sync = blocking(forget)
    compress_memories_sync = blocking(compress_memories)
    undo_compression_sync = blocking(undo_compression)
    evaluate_importance_sync = blocking(evaluate_importance)
    feedback_sync = blocking(feedback)


def _reason(one: Recalled, now: datetime, importance_below: float | None, older_than: timedelta | None) -> str:
    """Why a fragment is forgotten, in words."""
    reasons: list[str] = []
    if importance_below is not None:
        reasons.append(f"its importance {one.importance * HIGHEST:.2f} is below {importance_below:.2f}")
    if older_than is not None:
        reasons.append(f"it is {now - one.time} old, more than {older_than}")
    return "; ".join(reasons)


def _rests(source: str) -> str:
    return f"it was concluded from the fragment {fragment_id(source)}, which is forgotten"


def _sum(one: Erased, other: Erased) -> Erased:
    names = Erased.__struct_fields__
    return Erased(**{name: getattr(one, name) + getattr(other, name) for name in names})


__all__ = ["ForgetReport", "Upkeep"]

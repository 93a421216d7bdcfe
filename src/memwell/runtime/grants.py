"""Grants: what one space lets another see of its memory, or add to it. Without one, spaces share nothing.

    planner = m.at("planner")
    planner.grant("critic")                            # to read, until it is revoked
    planner.grant("researcher", write=True, until=tomorrow)

    board = m.at("critic").shared("planner")           # a view, which asks for the grant at every call
    board.recall("what is the plan?")

A blackboard is a space whose owner has granted it to several. A grant is for exactly one space, not for those below it, and
cannot be passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Any, cast

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotGranted
from memwell.filters import FilterLike
from memwell.longterm.base import utc_now
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled, looking
from memwell.longterm.remembering import Rememberable, Remembered
from memwell.records import Page, Space, SpaceLike, as_opened, as_space, paged
from memwell.runtime.jobs import REGISTRY
from memwell.storage.arguments import domain
from memwell.storage.protocols import Entry, KeyValue
from memwell.storage.scrubbing import SCRUBS
from memwell.values import as_utc, check_flag, shown

GRANTS = Space("memwell", "grants")
"""Where the grants of a store are kept: apart from the spaces that they are about, so that no change of a space makes
or ends a grant."""

SERVICE = Space("memwell", "service")
"""Where a service keeps its keys, its log and its figures."""

OWN_SPACES = (
    REGISTRY,
    GRANTS,
    SERVICE,
    SCRUBS,
    *(Space("memwell", name) for name in ("batch", "commits", "deep-vectors", "index", "moving", "parts", "vectors")),
)
"""The spaces in which memwell keeps data of the whole store. They hold no memories."""


class Grant(msgspec.Struct, frozen=True):
    """That ``to`` may read the memory of ``owner``, and add to it if ``write``, from ``since`` and until ``until``."""

    owner: Space
    to: Space
    write: bool
    since: datetime
    until: datetime | None = None


class Grants:
    """The grants of a store."""

    def __init__(self, kv: KeyValue, clock: Callable[[], datetime] = utc_now) -> None:
        self._kv = kv
        self._clock = clock

    def give(self, owner: SpaceLike, to: SpaceLike, *, write: bool = False, until: datetime | None = None) -> Grant:
        """Let ``to`` read the memory of ``owner``, and add to it with ``write``; replaces an earlier grant.

        Raises ``InvalidInput`` for a space and itself, a space of memwell's own, and a time that is past.
        """
        now = self._clock()
        grant = Grant(*_two(owner, to), check_flag(write, "write"), now, check_to_come(until, "until", now))
        for old in self._all("owner", grant.owner):
            if self._is_over(old):
                self._kv.delete(GRANTS, _key(old.owner, old.to))
        self._kv.put(GRANTS, _key(grant.owner, grant.to), _written(grant))
        return grant

    def revoke(self, owner: SpaceLike, to: SpaceLike) -> bool:
        """End a grant at once, for views that are open too. Returns whether there was one."""
        holder, reader = _two(owner, to)
        held = self.between(holder, reader) is not None
        self._kv.delete(GRANTS, _key(holder, reader))
        return held

    def between(self, owner: SpaceLike, to: SpaceLike) -> Grant | None:
        """The grant that ``to`` has from ``owner`` now, or None."""
        entry = self._kv.get(GRANTS, _key(as_space(owner), as_space(to)))
        grant = None if entry is None else _read(entry)
        return None if grant is None or self._is_over(grant) else grant

    def check(self, owner: Space, to: Space, *, write: bool = False) -> Grant:
        """The grant that ``to`` has from ``owner`` now. Raises ``NotGranted`` when it has none, or none to write."""
        grant = self.between(owner, to)
        if grant is None:
            raise NotGranted(f"{owner!r} has not granted its memory to {to!r}, or no longer does")
        if write and not grant.write:
            raise NotGranted(f"{owner!r} has granted its memory to {to!r} for reading only")
        return grant

    def given_by(self, owner: SpaceLike) -> list[Grant]:
        """Who may see the memory of ``owner`` now."""
        return self._held("owner", as_space(owner))

    def given_to(self, to: SpaceLike) -> list[Grant]:
        """Whose memory ``to`` may see now."""
        return self._held("to", as_space(to))

    def _held(self, side: str, space: Space) -> list[Grant]:
        held = [grant for grant in self._all(side, space) if not self._is_over(grant)]
        return sorted(held, key=lambda grant: (grant.owner, grant.to))

    def _all(self, side: str, space: Space) -> Iterator[Grant]:
        where = {side: space.encoded()}
        entries = paged(lambda cursor: self._kv.scan(GRANTS, where=where, limit=500, cursor=cursor))
        # All are read before any is changed.
        return iter([_read(entry) for entry in entries])

    def _is_over(self, grant: Grant) -> bool:
        return grant.until is not None and grant.until <= self._clock()


class SharedMemory:
    """The memory of another space, as far as its owner has granted it. Made by ``Engine.shared``.

    Every call checks the grant, before and after reading, and raises ``NotGranted`` without one. Otherwise the methods do
    and raise what those of the memory do.
    """

    def __init__(self, memory: Memory, reader: Space, grants: Grants) -> None:
        self._memory = memory
        self._grants = grants
        self.owner, self.reader = _two(memory.space, reader)
        grants.check(self.owner, self.reader)

    @property
    def grant(self) -> Grant:
        """The grant as it is now."""
        return self._grants.check(self.owner, self.reader)

    def recall(self, query: str, *, limit: int = 10, **narrowed: Any) -> list[Recalled]:
        """The owner's memories that answer ``query`` best, best first."""
        with looking(not self.grant.write):
            return self._read(lambda: self._memory.recall(query, limit=limit, **narrowed))

    def get(self, id_: str, /) -> Recalled:
        """One memory of the owner's. Raises ``NotFound`` when there is none."""
        return self._read(lambda: self._memory.get(id_))

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The owner's memories, oldest first."""
        return self._read(lambda: self._memory.memories(where=where, limit=limit))

    def page(
        self, *, where: FilterLike | None = None, limit: int = 50, cursor: str | None = None, newest_first: bool = True
    ) -> Page[Recalled]:
        """One page of the owner's memories, the last stored first."""
        return self._read(lambda: self._memory.page(where=where, limit=limit, cursor=cursor, newest_first=newest_first))

    def count(self) -> int:
        """How many memories the owner has."""
        return self._read(self._memory.count)

    def remember(self, content: Rememberable, *, speaker: str | None = None, **given: Any) -> Remembered:
        """Add to the owner's memory, which needs a grant to write, under the name of the reader: its space's last segment.

        Raises ``InvalidInput`` for another ``speaker``.
        """
        self._grants.check(self.owner, self.reader, write=True)
        name = self.reader[-1]
        if speaker not in (None, "", name):
            raise InvalidInput(f"{self.reader!r} writes as {name!r}, and not as {shown(speaker)}")
        return self._memory.remember(content, speaker=name, **given)

    def _read(self, call: Callable[[], Any]) -> Any:
        self._grants.check(self.owner, self.reader)
        found = call()
        # The grant may have been revoked during the read, and the answer may hold what the owner wrote afterwards.
        self._grants.check(self.owner, self.reader)
        return found

    arecall = asyncify(recall)
    aget = asyncify(get)
    amemories = asyncify(memories)
    apage = asyncify(page)
    acount = asyncify(count)
    aremember = asyncify(remember)

    def __repr__(self) -> str:
        return f"<the memory of {self.owner!r}, shared with {self.reader!r}>"


def _two(owner: SpaceLike, to: SpaceLike) -> tuple[Space, Space]:
    first, second = as_opened(owner), as_opened(to)
    if first == second:
        raise InvalidInput(f"{first!r} needs no grant for its own memory")
    for space in (first, second):
        if space[: len(GRANTS)] in OWN_SPACES or domain(space) != space:
            raise InvalidInput(f"the space {space!r} is memwell's own; it is not shared")
    return first, second


def check_to_come(given: datetime | None, name: str, now: datetime) -> datetime | None:
    """The time in UTC; None stays None. Raises ``InvalidInput`` for one that is over."""
    moment = None if given is None else as_utc(given, name)
    if moment is not None and moment <= now:
        raise InvalidInput(f"{name} must be a time to come, not {shown(given)}")
    return moment


def _key(owner: Space, to: Space) -> str:
    # Digests, as two encoded spaces may be longer than a key.
    return "/".join(blake2b(space.encoded().encode(), digest_size=20).hexdigest() for space in (owner, to))


def _written(grant: Grant) -> dict[str, Any]:
    return {
        "owner": grant.owner.encoded(),
        "to": grant.to.encoded(),
        "write": grant.write,
        "since": grant.since.isoformat(),
        "until": None if grant.until is None else grant.until.isoformat(),
    }


def _read(entry: Entry) -> Grant:
    value = cast("dict[str, Any]", entry.value)
    until = value["until"]
    return Grant(
        Space.decode(value["owner"]),
        Space.decode(value["to"]),
        value["write"],
        datetime.fromisoformat(value["since"]),
        None if until is None else datetime.fromisoformat(until),
    )

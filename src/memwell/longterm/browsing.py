"""Looking through memories without a question: sorted, narrowed by their fields, counted by field and by time.

The rows come from the snapshot that recall ranks with, so a page costs about the same at any size of the space. In a space
too large for one, only the newest memories are listed, and nothing is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.filters import AllOf, AnyOf, Filter, FilterLike, Where, as_filter
from memwell.longterm.recall import Recalled, RecallingMemory, as_recalled
from memwell.longterm.snapshot import Flags
from memwell.longterm.snapshot_cache import HeldSnapshot
from memwell.longterm.traits import KEY
from memwell.records import paged
from memwell.values import as_utc, check_count, check_text, shown

SORTS = ("time", "speaker", "session", "kind", "importance", "uses")
METADATA = "metadata."
"""What the name of a field of the users' metadata begins with."""

_MOST_VALUES = 40
_MOST_FIELDS = 8
_MOST_DIFFERENT = 500
"""A field with more different values is no facet."""
_MOST_STEPS = 1_000
_PATHS: dict[str, str | tuple[str, ...]] = {
    "speaker": (KEY, "speaker"),
    "session": (KEY, "session"),
    "kind": "@kind",
    "pinned": (KEY, "pinned"),
}

_COUNTED = ("speaker", "session", "kind")

Rows = NDArray[np.intp]


class FacetValue(msgspec.Struct, frozen=True):
    """A value of a field, and how many memories have it."""

    value: Any
    count: int


class Facet(msgspec.Struct, frozen=True):
    """The most frequent values of a field, and how many more there are."""

    field: str
    values: list[FacetValue]
    more: int = 0


class Browsed(msgspec.Struct, frozen=True, kw_only=True):
    """A page of memories, and what there is besides: ``total`` is None where it was not counted."""

    items: list[Recalled]
    total: int | None
    facets: list[Facet] = []


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories were said in each step of a time, from ``since`` on. Both ends are None where there are none."""

    since: datetime | None
    until: datetime | None
    step_s: float
    counts: list[int]
    total: int


class BrowsingMemory(RecallingMemory):
    """Lists and counts memories without a question."""

    def browse(
        self,
        *,
        text: str = "",
        where: FilterLike | None = None,
        chosen: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        sort: str = "time",
        descending: bool = True,
        limit: int = 50,
        offset: int = 0,
        facets: bool = False,
    ) -> Browsed:
        """Memories that contain all words of ``text``, satisfy ``where`` and were said from ``since`` to ``until``.

        ``chosen`` has a list of values for each of ``speaker``, ``session``, ``kind``, ``pinned`` and metadata fields
        such as ``metadata.project``; a memory has one of them. With ``facets`` the values of these fields are counted, each
        without its own choice. Raises ``InvalidInput`` for another ``sort`` than ``SORTS`` and for invalid values.
        """
        check_count(limit, "limit", least=1)
        check_count(offset, "offset")
        if sort not in SORTS:
            raise InvalidInput(f"memories are sorted by {', '.join(SORTS)}, not by {shown(sort)}")
        narrowed, picked = _between(where, since, until), _choices(chosen)
        pieces = check_text(text, "text").split()
        self.indexer.catch_up()
        if not self._current_snapshots().suits(self.space):
            return self._newest(AllOf((*narrowed, *picked.values())), pieces, limit, offset)
        with self._current_snapshots().of(self.space) as held:
            flags = _base(held, narrowed, pieces, self.clock())
            by_field = {name: _flags(held, [one], self.clock()) for name, one in picked.items()}
            rows = np.flatnonzero(_all(flags, by_field.values()))
            some = _sorted(held, rows, sort, descending)[offset : offset + limit]
            found = held.memories([held.snapshot.ids[row] for row in some.tolist()])
            counted = _facets(held, flags, by_field) if facets else []
        items = [as_recalled(record, traits=traits) for record, traits in found.values()]
        return Browsed(items=items, total=len(rows), facets=counted)

    def activity(
        self,
        *,
        text: str = "",
        where: FilterLike | None = None,
        chosen: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        steps: int = 100,
        by: str = "said",
    ) -> Activity:
        """How many of the memories that ``browse`` lists were said, or with ``by="stored"`` stored, in each of equal steps.

        Without ``since`` and ``until`` they are from the first memory to the last. In a space too large to count, there are
        none. Raises ``InvalidInput`` as ``browse`` does, and for more than 1,000 steps.
        """
        check_count(steps, "steps", least=1)
        if steps > _MOST_STEPS:
            raise InvalidInput(f"at most {_MOST_STEPS:,} steps are counted, not {shown(steps)}")
        if by not in ("said", "stored"):
            raise InvalidInput(f"memories are counted by when they were said or stored, not by {shown(by)}")
        said = by == "said"
        narrowed, picked = _between(where, *((since, until) if said else (None, None))), _choices(chosen)
        pieces = check_text(text, "text").split()
        self.indexer.catch_up()
        if not self._current_snapshots().suits(self.space):
            return Activity(since=since, until=until, step_s=0.0, counts=[], total=0)
        with self._current_snapshots().of(self.space) as held:
            flags = _base(held, [*narrowed, *picked.values()], pieces, self.clock())
            times = (held.snapshot.times if said else held.snapshot.learned)[: held.snapshot.limit][flags]
        if not said:
            first, last = (None if end is None else as_utc(end, "an end").timestamp() for end in (since, until))
            times = times[(times >= (first or -np.inf)) & (times < (last or np.inf))]
        return _activity(times, since, until, steps)

    def _newest(self, wanted: AllOf, pieces: Sequence[str], limit: int, offset: int) -> Browsed:
        """The newest of a space too large to sort."""
        narrowed = AllOf((*wanted.filters, *(Where("@text", "contains", piece) for piece in pieces)))
        pages = paged(lambda cursor: self.page(where=narrowed, limit=limit + offset, cursor=cursor))
        return Browsed(items=list(islice(pages, offset, offset + limit)), total=None)

    abrowse = asyncify(browse)
    aactivity = asyncify(activity)


def _between(where: FilterLike | None, since: datetime | None, until: datetime | None) -> list[Filter]:
    """The filter and the ends of the time as conditions."""
    narrowed = as_filter(where)
    ends = (("ge", since, "since"), ("lt", until, "until"))
    times = [Where("@time", operator, as_utc(end, name)) for operator, end, name in ends if end is not None]
    return [*([] if narrowed is None else [narrowed]), *times]


def _choices(chosen: Mapping[str, Any] | None) -> dict[str, Filter]:
    """A condition for each field of which values were chosen. Raises ``InvalidInput`` for an unknown field."""
    found: dict[str, Filter] = {}
    for name, given in (chosen or {}).items():
        path = (name.removeprefix(METADATA),) if name.startswith(METADATA) else _PATHS.get(name)
        if path is None:
            raise InvalidInput(f"choose values of {', '.join(_PATHS)} or {METADATA}…, not of {shown(name)}")
        values = cast("list[Any]", given if isinstance(given, list) else [given])
        found[name] = AnyOf(tuple(Where(path, "eq", value) for value in values))
    return found


def _flags(held: HeldSnapshot, filters: Sequence[Filter], now: datetime) -> Flags:
    """The rows of memories that satisfy all filters."""
    snapshot = held.snapshot
    allowed = held.allowed(AllOf(tuple(filters)) if filters else None, now)
    alive = snapshot.alive[: snapshot.limit]
    return alive.copy() if allowed is None else alive & allowed


def _base(held: HeldSnapshot, filters: Sequence[Filter], pieces: Sequence[str], now: datetime) -> Flags:
    flags = _flags(held, filters, now)
    return flags & held.containing(pieces) if pieces else flags


def _all(flags: Flags, more: Any) -> Flags:
    for one in more:
        flags = flags & one
    return flags


def _sorted(held: HeldSnapshot, rows: Rows, sort: str, descending: bool) -> Rows:
    """Rows in order; of equal ones the newest first."""
    snapshot = held.snapshot
    times = -snapshot.times[rows]
    if sort == "time":
        keys: NDArray[Any] = times if descending else -times
        return rows[np.argsort(keys, kind="stable")]
    # ``importance`` of a snapshot is what ranking counts; ``worth`` is what a memory says of itself.
    column = getattr(snapshot, "worth" if sort == "importance" else sort)[rows]
    if sort in _COUNTED:
        numbers, places = np.unique(column, return_inverse=True)
        names = [_name(held, sort, int(number)).casefold() for number in numbers]
        order = sorted(range(len(names)), key=lambda at: (not names[at], names[at]))
        ranks = np.empty(len(names), np.int64)
        ranks[order] = np.arange(len(names))
        column = ranks[places] if names else column
    return rows[np.lexsort((times, -column if descending else column))]


def _name(held: HeldSnapshot, field: str, number: int) -> str:
    """The name of a speaker, a session or a kind by its number; empty for a session without one."""
    if field == "speaker":
        return held.snapshot.speakers.names[number] if number >= 0 else ""
    names = held.snapshot.sessions if field == "session" else held.snapshot.kinds
    name = names[number]
    return "" if name.startswith("\0") else name


def _facets(held: HeldSnapshot, base: Flags, chosen: Mapping[str, Flags]) -> list[Facet]:
    """The values of each field among the memories that satisfy everything but the choice of that field."""
    found: list[Facet] = []
    for name in (*_COUNTED, *(METADATA + field for field in held.fields()[:_MOST_FIELDS])):
        rows = np.flatnonzero(_all(base, (flags for other, flags in chosen.items() if other != name)))
        facet = _facet(held, name, rows)
        if facet is not None and facet.values:
            found.append(facet)
    return found


def _facet(held: HeldSnapshot, name: str, rows: Rows) -> Facet | None:
    if name.startswith(METADATA):
        codes, values = held.values(name.removeprefix(METADATA))
        if len(values) > _MOST_DIFFERENT:
            return None
        counts = np.bincount(codes[rows], minlength=len(values))
        counts[0] = 0
        named = {number: values[number] for number in np.flatnonzero(counts).tolist()}
    else:
        column = getattr(held.snapshot, name)[rows]
        counts = np.bincount(column[column >= 0])
        named = {number: _name(held, name, number) for number in np.flatnonzero(counts).tolist()}
    ranked = sorted((one for one in named if named[one] != ""), key=lambda one: (-counts[one], str(named[one])))
    shown_values = [FacetValue(named[one], int(counts[one])) for one in ranked[:_MOST_VALUES]]
    return Facet(name, shown_values, max(len(ranked) - _MOST_VALUES, 0))


def _activity(times: NDArray[np.float64], since: datetime | None, until: datetime | None, steps: int) -> Activity:
    if not len(times) and (since is None or until is None):
        return Activity(since=since, until=until, step_s=0.0, counts=[], total=0)
    first = float(times.min()) if since is None else since.timestamp()
    last = float(times.max()) + 1.0 if until is None else until.timestamp()
    step = max(last - first, 1.0) / steps
    counts = np.bincount(np.clip(((times - first) / step).astype(np.int64), 0, steps - 1), minlength=steps)
    ends = (datetime.fromtimestamp(moment, UTC) for moment in (first, last))
    return Activity(since=next(ends), until=next(ends), step_s=step, counts=counts.tolist(), total=len(times))

"""The spaces of several stores in one order. What a composed store keeps for itself in its home is not among them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias, cast

from memwell.records import Page, Space, paged
from memwell.storage.composed.blobs import REFERENCES
from memwell.storage.composed.feeding import is_own, own_space
from memwell.storage.elsewhere import REMEMBERED
from memwell.storage.protocols import Backend

_PAGE = 500
_SURE = 196
"""How many bytes of a path every store orders by."""

_PART_OF = REMEMBERED.encoded()
"""Where another store notes whose part it is."""

_Item: TypeAlias = tuple[str, str]
"""Where a space comes in the order, and its encoded path: the same, but for a few that are listed where they are kept."""


def spaces_of(home: Backend, others: Sequence[Backend], limit: int, cursor: str | None) -> Page[Space]:
    """One page of all spaces. A cursor is a place in the order of encoded paths, for every store that is asked."""
    sources = [_of_home(home, cursor), *(_of_other(one, cursor) for one in others)]
    found: list[_Item] = []
    for item in heapq.merge(*sources):
        if found and item == found[-1]:
            continue
        found.append(item)
        if len(found) > limit:
            break
    items = [Space.decode(path) for _, path in found[:limit]]
    return Page(items, found[limit - 1][0] if len(found) > limit else None)


def _paths(store: Backend, after: str | None) -> Iterator[str]:
    """The encoded paths behind a place, in their order.

    A store may keep long paths by their beginnings and have those that begin alike in an order of its own. They are few,
    and read together.
    """
    start = after if after is None or len(_beginning(after)) < _SURE else _beginning(after).decode(errors="ignore")

    def read(cursor: str | None) -> Page[Space]:
        return store.spaces(limit=_PAGE, cursor=start if cursor is None else cursor)

    for _, alike in groupby((space.encoded() for space in paged(read)), key=_beginning):
        for path in sorted(alike):
            if after is None or path > after:
                yield path


def _beginning(path: str) -> bytes:
    return path.encode()[:_SURE]


def _of_other(store: Backend, after: str | None) -> Iterator[_Item]:
    return ((path, path) for path in _paths(store, after) if path != _PART_OF)


def _of_home(home: Backend, after: str | None) -> Iterator[_Item]:
    """The home's spaces; where there are only references to blobs, the space whose blobs they are.

    A space comes behind all that are under it, so its references are met before its turn. Those that were met before the
    cursor belong to spaces that the cursor's is under.
    """
    owners = [] if after is None else list(_owners_above(home, Space.decode(after)))
    heapq.heapify(owners)
    for path in _paths(home, after):
        space = Space.decode(path)
        while owners and owners[0] < path:
            owner = heapq.heappop(owners)
            yield owner, owner
        if not is_own(space):
            yield path, path
        elif REFERENCES in space:
            owner = _owner(home, space)
            if owner is None:
                continue
            if own_space(owner, REFERENCES)[: len(owner)] == owner:
                heapq.heappush(owners, owner.encoded())
            elif not _is_listed(home, owner.encoded()):
                # One that is too deep to have its references under it. Its turn may be over.
                yield path, owner.encoded()
    while owners:
        owner = heapq.heappop(owners)
        yield owner, owner


def _owner(home: Backend, references: Space) -> Space | None:
    entries = home.kv.scan(references, limit=1).items
    return Space(*cast("dict[str, list[str]]", entries[0].value)["space"]) if entries else None


def _is_listed(home: Backend, path: str) -> bool:
    # Nothing but the path itself comes between the two.
    before = path[:-1] + "\\"
    return next(_paths(home, before), None) == path


def _owners_above(home: Backend, space: Space) -> Iterator[str]:
    for depth in range(1, len(space)):
        above = Space(*space[:depth])
        if home.kv.scan(own_space(above, REFERENCES), limit=1).items:
            yield above.encoded()

"""The memory of another space behind the same service, as far as its owner has granted it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotGranted
from memwell.filters import FilterLike
from memwell.longterm.recall import Recalled
from memwell.longterm.remembering import Rememberable, Remembered
from memwell.records import Page, Space, paged
from memwell.runtime.grants import Grant
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import filter_text, recall_data
from memwell.runtime.remote.telling import remember_data
from memwell.runtime.wire import memories
from memwell.runtime.wire.running import GrantList
from memwell.runtime.wire.threads import Counted
from memwell.values import check_count

_BLOCK = 500


class RemoteShared:
    """The memory of another space. Made by ``RemoteMemory.shared``.

    The service asks for the grant at every call and raises ``NotGranted`` when it is not there, or no longer.
    """

    def __init__(self, connection: Connection, owner: Space, reader: Space) -> None:
        if owner == reader:
            raise InvalidInput(f"{owner!r} needs no grant for its own memory")
        self.owner, self.reader = owner, reader
        self._connection = connection
        self._named = list(owner)
        _ = self.grant

    @property
    def grant(self) -> Grant:
        """The grant as it is now. Raises ``NotGranted`` when there is none."""
        given = self._connection.call("grants", GrantList).received
        found = next((one for one in given if one.owner == self.owner), None)
        if found is None:
            raise NotGranted(f"{self.owner!r} has not granted its memory to {self.reader!r}, or no longer does")
        return found

    def recall(self, query: str, *, limit: int = 10, **narrowed: Any) -> list[Recalled]:
        """The owner's memories that answer ``query`` best, best first."""
        asked = recall_data(query, limit=limit, owner=self._named, **narrowed)
        return self._connection.call("recall", memories.Recollection, asked).hits if limit else []

    def get(self, id_: str, /) -> Recalled:
        """One memory of the owner's. Raises ``NotFound`` when there is none."""
        return self._connection.call("memory", Recalled, memories.OwnerOnly(owner=self._named), id=id_)

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The owner's memories, oldest first. They are fetched page by page."""
        wanted = None if limit is None else check_count(limit, "limit")
        if wanted == 0:
            return []
        block = _BLOCK if wanted is None else min(wanted, _BLOCK)
        pages = paged(lambda cursor: self.page(where=where, limit=block, cursor=cursor, newest_first=False))
        return list(islice(pages, wanted))

    def page(
        self,
        *,
        where: FilterLike | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> Page[Recalled]:
        """One page of the owner's memories, the last stored first."""
        asked = memories.ListMemories(
            limit=check_count(limit, "limit", least=1),
            cursor=cursor,
            newest_first=newest_first,
            where=filter_text(where),
            owner=self._named,
        )
        return self._connection.call("memories", Page[Recalled], asked)

    def count(self) -> int:
        """How many memories the owner has."""
        return self._connection.call("count", Counted, memories.OwnerOnly(owner=self._named)).count

    def remember(self, content: Rememberable, *, speaker: str | None = None, **given: Any) -> Remembered:
        """Add to the owner's memory, which needs a grant to write, under the name of the reader: its space's last segment.

        Raises ``InvalidInput`` for another ``speaker``: nobody signs as somebody else.
        """
        asked = remember_data(content, speaker=speaker, owner=self._named, **given)
        return self._connection.call("remember", Remembered, asked)

    arecall = asyncify(recall)
    aget = asyncify(get)
    amemories = asyncify(memories)
    apage = asyncify(page)
    acount = asyncify(count)
    aremember = asyncify(remember)

    def __repr__(self) -> str:
        return f"<the memory of {self.owner!r}, shared with {self.reader!r}, at {self._connection.address}>"


__all__ = ["RemoteShared"]

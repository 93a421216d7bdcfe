"""What a batch keeps in its store: its pieces, their results, and which failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from memwell.errors import Conflict
from memwell.filters import id_begins_with
from memwell.records import Space, paged
from memwell.storage.protocols import Backend, JSONValue
from memwell.values import check_id, shown

_HEAD = "head"
_PIECES = "pieces/"
_RESULT = "result/"
_FAILED = "failed/"
_PAGE = 500


class Failure(msgspec.Struct, frozen=True):
    """A piece that was tried in vain, and how it ended the last time."""

    number: int
    piece: JSONValue
    error: str
    tries: int


class Outcome(msgspec.Struct, frozen=True):
    """The results in the order of the pieces, with None for those in ``failures``."""

    results: list[JSONValue]
    failures: list[Failure]

    @property
    def complete(self) -> bool:
        """Whether every piece has its result."""
        return not self.failures


class Ledger:
    """The notes of one batch in a store."""

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend = backend
        self._kv = backend.kv
        self.space = Space("memwell", "batch", check_id(name, "a batch's name"))
        self.name = name

    def begun(self, work: str) -> bool:
        """Whether the pieces are stored. Raises ``Conflict`` when they are another function's."""
        head = self._kv.get(self.space, _HEAD)
        if head is None:
            return False
        known = cast("dict[str, Any]", head.value)["work"]
        if known != work:
            raise Conflict(f"the batch {shown(self.name)} is one of {known}, not of {work}; run it anew")
        return True

    def begin(self, work: str, pieces: Iterable[JSONValue]) -> None:
        """Store the pieces; they count as stored when the last of them is."""
        count, page = 0, 0
        batch: list[JSONValue] = []
        for piece in pieces:
            batch.append(piece)
            if len(batch) == _PAGE:
                self._kv.put(self.space, f"{_PIECES}{page:08d}", batch)
                count, page, batch = count + len(batch), page + 1, []
        if batch:
            self._kv.put(self.space, f"{_PIECES}{page:08d}", batch)
        self._kv.put(self.space, _HEAD, {"work": work, "count": count + len(batch)})

    def pieces(self) -> list[JSONValue]:
        """All pieces, by their numbers."""
        return [piece for page in self._values(_PIECES) for piece in cast("list[JSONValue]", page)]

    def check_same(self, pieces: Sequence[JSONValue]) -> None:
        """Raises ``Conflict`` when these are not the pieces that are stored."""
        if msgspec.json.encode(pieces) != msgspec.json.encode(self.pieces()):
            raise Conflict(f"the batch {shown(self.name)} was begun with other pieces; run it anew")

    def finished(self) -> set[int]:
        """The numbers of the pieces that have their result."""
        return {int(key.removeprefix(_RESULT)) for key in self._keys(_RESULT)}

    def keep(self, number: int, result: JSONValue) -> None:
        """Store a result for good. Raises ``InvalidInput`` for one that is no plain JSON data."""
        # Wrapped: a result may be None, or bytes that look like JSON to nobody.
        self._kv.put(self.space, f"{_RESULT}{number:012d}", [result])
        self._kv.delete(self.space, f"{_FAILED}{number:012d}")

    def fail(self, failure: Failure) -> None:
        """Note that a piece was given up."""
        self._kv.put(self.space, f"{_FAILED}{failure.number:012d}", msgspec.to_builtins(failure))

    def outcome(self) -> Outcome:
        """What has come of it until now."""
        pieces = self.pieces()
        results: list[JSONValue] = [None] * len(pieces)
        for key, value in self._entries(_RESULT):
            results[int(key.removeprefix(_RESULT))] = cast("list[JSONValue]", value)[0]
        return Outcome(results, [msgspec.convert(value, Failure) for value in self._values(_FAILED)])

    def clear(self) -> None:
        """Drop all of it; the head first, so that nobody goes on with a part."""
        self._kv.delete(self.space, _HEAD)
        for prefix in (_PIECES, _RESULT, _FAILED):
            for key in list(self._keys(prefix)):
                self._kv.delete(self.space, key)

    def _entries(self, prefix: str) -> Iterator[tuple[str, JSONValue]]:
        where = id_begins_with(prefix)
        found = paged(lambda cursor: self._kv.scan(self.space, where=where, limit=_PAGE, cursor=cursor))
        return ((entry.key, entry.value) for entry in found)

    def _keys(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in self._entries(prefix))

    def _values(self, prefix: str) -> Iterator[JSONValue]:
        return (value for _, value in self._entries(prefix))


__all__ = ["Failure", "Ledger", "Outcome"]

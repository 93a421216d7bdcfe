"""A storage as a strategy sees it: the same few verbs, whatever the storage has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from memwell.compat.basememory.contents import Identity, identity_of, is_changeable
from memwell.compat.basememory.sizes import deep_size
from memwell.compat.basememory.storages import GivenList, each, has_method
from memwell.errors import Unsupported


class CannotOptimize(Unsupported):
    """A storage does not have what a strategy needs. ``reason`` is one of the words a report can explain, or a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Shelf:
    """One storage of a memory, for a strategy to read and change. Places count from 0, also in a mapping.

    What a storage cannot do raises ``CannotOptimize``, and the report says so.
    """

    def __init__(self, name: str, storage: Any, *, owners: Sequence[str | None] | None = None) -> None:
        self.name = name
        self.storage = storage
        self.left = 0
        """How many equal items are still apart, since changing the one would change the other."""
        self._rows: Any = _rows_of(storage)
        self.dropped: list[int] = []
        """The places that were dropped, in the numbering before."""
        self._owners = owners
        self._keys = list(cast("Mapping[Any, Any]", storage)) if isinstance(storage, Mapping) else None

    def __len__(self) -> int:
        return len(self.storage)

    def __iter__(self) -> Iterator[Any]:
        return each(self.storage)

    def bytes(self) -> int:
        """The bytes it takes: in memory, or as stored when it lies in a store."""
        stored = getattr(self.storage, "stored_bytes", None)
        return cast(int, stored()) if callable(stored) else deep_size(self.storage)

    def identities(self) -> Iterator[tuple[str | None, Identity] | None]:
        """The content of each item, and who said it where that is known; None where it cannot be compared."""
        for place, item in enumerate(self):
            content = identity_of(item)
            owner = self._owners[place] if self._owners is not None and place < len(self._owners) else None
            yield None if content is None else (owner, content)

    def replace(self, place: int, item: Any) -> None:
        """Put another item in a place."""
        if not has_method(self._rows, "__setitem__"):
            raise CannotOptimize("no-setitem")
        self._rows[place if self._keys is None else self._keys[place]] = item

    def share(self, places: Mapping[int, int]) -> int:
        """Let each place hold the object of another place, which has the same content; returns how many did not yet.

        What somebody could change is left alone, unless the storage keeps its items by value.
        """
        own = getattr(self.storage, "share", None)
        if callable(own):
            return cast(int, own(places))
        items = list(self)
        apart = {place: items[first] for place, first in places.items() if items[place] is not items[first]}
        safe = {place: item for place, item in apart.items() if not is_changeable(item)}
        self.left = len(apart) - len(safe)
        for place, item in safe.items():
            self.replace(place, item)
        return len(safe)

    def drop(self, places: Collection[int]) -> None:
        """Take items out, for good."""
        gone = set(places)
        if not gone:
            return
        if callable(getattr(self.storage, "drop", None)):
            self.storage.drop(gone)
        elif self._keys is not None or has_method(self._rows, "__delitem__"):
            # From the end, so that what is still to go keeps its place.
            for place in sorted(gone, reverse=True):
                del self._rows[place if self._keys is None else self._keys[place]]
        elif callable(getattr(self.storage, "replace", None)):
            self.storage.replace([item for place, item in enumerate(self) if place not in gone])
        else:
            raise CannotOptimize("no-delitem")
        self._renumber(gone)

    def _renumber(self, gone: set[int]) -> None:
        self.dropped = sorted(gone)
        for held in (self._keys, self._owners):
            if isinstance(held, list):
                held[:] = [one for place, one in enumerate(cast("list[Any]", held)) if place not in gone]

    def pack(self, level: int) -> int:
        """Have items held in fewer bytes and read as before; returns how many are now."""
        pack = getattr(self.storage, "pack", None)
        if not callable(pack):
            raise CannotOptimize("no-pack")
        return cast(int, pack(level))

    def uses(self) -> list[int]:
        """How often each item was read."""
        uses = getattr(self.storage, "uses", None)
        if not callable(uses):
            raise CannotOptimize("no-uses")
        return cast("list[int]", uses())


def _rows_of(storage: Any) -> Any:
    """What the items of a storage can be put into: itself, or the list that it got from us."""
    if has_method(storage, "__setitem__") or has_method(storage, "__delitem__"):
        return storage
    held: Iterable[object] = getattr(storage, "__dict__", {}).values()
    return next((one for one in held if isinstance(one, GivenList)), storage)


__all__ = ["CannotOptimize", "Shelf"]

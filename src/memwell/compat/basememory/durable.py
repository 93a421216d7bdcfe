"""Items in a store: there after a restart, and the same for every process that opens it."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, MutableSequence
from typing import Any, cast, overload

import msgspec

from memwell.compat.basememory.packing import decode_item, encode_item
from memwell.compat.basememory.shelf import CannotOptimize
from memwell.errors import InvalidInput
from memwell.filters import AllOf, Where
from memwell.history.reading import key_part
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend, Entry
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_id

_PAGE = 256
_LARGE = 4096
"""An item of more bytes lies in a blob, packed, and only once however many places have it."""
_BOUNDS = "bounds"
_pack = msgspec.msgpack.encode
_unpack = msgspec.msgpack.Decoder(list[bytes | None]).decode


class _Bounds(msgspec.Struct, frozen=True):
    """The numbers of the rows that are there: those from ``first`` up to, and without, ``next``."""

    first: int = 0
    next: int = 0


class DurableStorage(MutableSequence[Any]):
    """A list of items, text, bytes, plain JSON data or ``Message`` s, under a name in a store.

    ``store`` is a path, a URL or an open backend. Every change is on disk when the call returns, whole or not at all, also
    beside other threads and processes. Raises what ``open_backend`` raises, and ``InvalidInput`` for another kind of item.
    """

    by_value = True

    def __init__(self, store: Store, name: str = "data", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.name = check_id(name, "a storage's name")
        self._backend: Backend = shared_backend(store)
        self._kv = self._backend.kv
        self._space = as_space(space) / "memwell" / f"basememory {key_part(name)}"

    # Reading

    def _bounds(self) -> _Bounds:
        entry = self._kv.get(self._space, _BOUNDS)
        return _Bounds() if entry is None else msgspec.convert(entry.value, _Bounds)

    def __len__(self) -> int:
        bounds = self._bounds()
        return bounds.next - bounds.first

    def __bool__(self) -> bool:
        # An empty storage is still a storage.
        return True

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        bounds = self._bounds()
        if isinstance(index, slice):
            places = range(bounds.first, bounds.next)[index]
            if not places:
                return []
            low, high = min(places[0], places[-1]), max(places[0], places[-1])
            read = dict(self._numbered(_Bounds(low, high + 1)))
            return [read[number] for number in places]
        number = _number(bounds, index)
        found = self._rows(number, number + 1)
        if number not in found:
            # Dropped since the bounds were read: perhaps another item has this place now.
            return self[index]
        return self._item(found[number])

    def __iter__(self) -> Iterator[Any]:
        return (item for _, item in self._numbered(self._bounds()))

    def _numbered(self, bounds: _Bounds) -> Iterator[tuple[int, Any]]:
        for start in range(bounds.first - bounds.first % _PAGE, bounds.next, _PAGE):
            low, high = max(start, bounds.first), min(start + _PAGE, bounds.next)
            for number, row in sorted(self._rows(low, high).items()):
                yield number, self._item(row)

    def _rows(self, low: int, high: int) -> dict[int, Any]:
        """The rows of these numbers, all of one page, by number: those packed in the page and those outside."""
        rows = self._rows_now(low, high)
        if len(rows) == high - low:
            return rows
        # One may have been moved into the page, or out of it, between the two looks.
        with self._backend.transaction():
            return self._rows_now(low, high)

    def _rows_now(self, low: int, high: int) -> dict[int, Any]:
        where = AllOf((Where("@id", "ge", _row_key(low)), Where("@id", "lt", _row_key(high))))
        loose = self._kv.scan(self._space, where=where, limit=_PAGE).items
        start, page = low - low % _PAGE, self._page(low // _PAGE)
        packed = {start + at: row for at, row in enumerate(page) if row is not None and low <= start + at < high}
        return packed | {int(entry.key[1:]): entry.value for entry in loose}

    def _page(self, number: int) -> list[bytes | None]:
        entry = self._kv.get(self._space, _page_key(number))
        return [] if entry is None else _unpack(zlib.decompress(cast(bytes, entry.value)))

    def _item(self, row: Any) -> Any:
        if isinstance(row, dict):
            packed = self._backend.blobs.get(self._space, cast("dict[str, str]", row)["blob"])
            return decode_item(zlib.decompress(packed))
        return decode_item(row)

    # Writing

    def append(self, value: Any) -> None:
        """Put an item at the end."""
        self.extend([value])

    def extend(self, values: Iterable[Any]) -> None:
        """Put items at the end, all or none."""
        encoded = [encode_item(value) for value in values]
        with self._backend.transaction():
            bounds = self._bounds()
            for number, one in enumerate(encoded, bounds.next):
                self._kv.put(self._space, _row_key(number), self._row(one))
            self._set_bounds(bounds.first, bounds.next + len(encoded))

    def _row(self, encoded: bytes) -> Any:
        if len(encoded) <= _LARGE:
            return encoded
        packed = zlib.compress(encoded)
        return {"blob": self._backend.blobs.put(self._space, packed), "size": len(packed)}

    def _set_bounds(self, first: int, after_last: int) -> None:
        self._kv.put(self._space, _BOUNDS, {"first": first, "next": after_last})

    @overload
    def __setitem__(self, index: int, value: Any) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Any]) -> None: ...
    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, slice):
            raise InvalidInput("one item is put in a place, not several: give an index instead of a slice")
        encoded = encode_item(value)
        with self._backend.transaction():
            number = _number(self._bounds(), index)
            self._erase([number])
            self._kv.put(self._space, _row_key(number), self._row(encoded))

    def __delitem__(self, index: int | slice) -> None:
        with self._backend.transaction():
            places = range(len(self))
            self.drop(set(places[index]) if isinstance(index, slice) else {places[index]})

    def insert(self, index: int, value: Any) -> None:
        """Put an item before the one at ``index``."""
        with self._backend.transaction():
            items = list(self)
            items.insert(index, value)
            self.replace(items)

    def replace(self, items: Iterable[Any]) -> None:
        """Put other items in the place of all there are, all or none."""
        kept = list(items)
        with self._backend.transaction():
            bounds = self._bounds()
            self._erase(range(bounds.first, bounds.next))
            self._set_bounds(0, 0)
            self.extend(kept)

    # What strategies do with it

    def drop(self, places: Collection[int]) -> None:
        """Take items out, for good; those behind move up."""
        with self._backend.transaction():
            bounds = self._bounds()
            if set(places) == set(range(len(places))):
                # The oldest go most often, and then nobody has to move.
                self._erase(range(bounds.first, bounds.first + len(places)))
                self._set_bounds(bounds.first + len(places), bounds.next)
            else:
                self.replace([item for place, item in enumerate(self) if place not in places])

    def _erase(self, numbers: Iterable[int]) -> None:
        pages: dict[int, list[bytes | None]] = {}
        for number in numbers:
            entry = self._kv.get(self._space, _row_key(number))
            if entry is not None:
                self._kv.delete(self._space, entry.key)
                self._let_go(entry)
                continue
            if number // _PAGE not in pages:
                pages[number // _PAGE] = self._page(number // _PAGE)
            pages[number // _PAGE][number % _PAGE] = None
        for number, page in pages.items():
            self._put_page(number, page, 6)

    def _let_go(self, entry: Entry) -> None:
        """Drop the blob of a row that is gone, unless another row has it too."""
        value = cast("bytes | dict[str, str]", entry.value)
        if isinstance(value, dict):
            digest = value["blob"]
            if not self._kv.count(self._space, where={"blob": digest}):
                self._backend.blobs.delete(self._space, digest)

    def _put_page(self, number: int, page: list[bytes | None], level: int) -> None:
        if any(row is not None for row in page):
            self._kv.put(self._space, _page_key(number), zlib.compress(_pack(page), level))
        else:
            self._kv.delete(self._space, _page_key(number))

    def share(self, places: object) -> None:
        """Equal items need no sharing here: large ones lie in one blob, and small ones are packed together."""
        raise CannotOptimize("stored-once")

    def pack(self, level: int) -> int:
        """Put rows together in pages that zlib packs whole, and return how many rows are in one now that were not.

        The last page, which is still being filled, is left alone.
        """
        moved = 0
        bounds = self._bounds()
        for number in range(bounds.first // _PAGE, bounds.next // _PAGE):
            # A page at a time: others may write in between.
            with self._backend.transaction():
                moved += self._pack_page(number, level)
        return moved

    def _pack_page(self, number: int, level: int) -> int:
        start = number * _PAGE
        bounds = self._bounds()
        rows = self._rows(max(start, bounds.first), min(start + _PAGE, bounds.next))
        small = {at: row for at, row in rows.items() if isinstance(row, bytes)}
        loose = [at for at in small if self._kv.delete(self._space, _row_key(at))]
        if loose:
            self._put_page(number, [small.get(start + at) for at in range(_PAGE)], level)
        return len(loose)

    def stored_bytes(self) -> int:
        """The bytes of all keys and values, and of each blob once."""
        total, blobs = 0, dict[str, int]()
        for entry in paged(lambda cursor: self._kv.scan(self._space, limit=1000, cursor=cursor)):
            value = cast("bytes | dict[str, Any]", entry.value)
            total += len(entry.key) + len(value if isinstance(value, bytes) else msgspec.json.encode(value))
            if isinstance(value, dict) and "blob" in value:
                blobs[value["blob"]] = value["size"]
        return total + sum(blobs.values())

    def __repr__(self) -> str:
        return f"DurableStorage({self.name!r})"


def _number(bounds: _Bounds, index: int) -> int:
    try:
        return range(bounds.first, bounds.next)[index]
    except IndexError:
        raise IndexError(f"there is no item {index}: the storage holds {bounds.next - bounds.first}") from None


def _row_key(number: int) -> str:
    return f"i{number:015d}"


def _page_key(number: int) -> str:
    return f"p{number:015d}"


__all__ = ["DurableStorage"]

"""Storages, which hold the items of a memory: any object with ``__len__`` and ``__getitem__``, or one of two of our own."""

from __future__ import annotations

import math
import struct
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from itertools import accumulate, takewhile
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from memwell.errors import InvalidInput, Unsupported
from memwell.filters import AllOf, Where, id_begins_with
from memwell.history.reading import key_part
from memwell.messages import Message, decode_message, encode_message
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend, Entry
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_id, check_json, shown

_BLOCK = 500
_OLD_PAGE = 256
_BOUNDS = "bounds"
_ROWS_ONLY = "rows"
"""The key of the bounds that says that all items are rows: earlier versions packed them in pages and in blobs."""
_TEXT, _BYTES, _JSON, _MESSAGE, _VECTOR = b"s", b"b", b"j", b"m", b"v"
_WORTH = 0.9
"""Compressing costs time at every read, so it must save a tenth."""


@runtime_checkable
class Storage(Protocol):
    """What a memory can be made over: a length, and items by index or by key."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class SparseVector(msgspec.Struct, frozen=True):
    """A vector in few bytes: without its smallest components, the others rounded to ``form``, one of ``_FORMS``.

    It reads like a list: by index, by iteration and by ``dense``. ``error`` is its distance from the original, relative to
    the original's length.
    """

    size: int
    form: str
    scale: float
    numbers: bytes
    places: bytes | None
    error: float

    def dense(self) -> list[float]:
        """All numbers, with a zero for each that was dropped."""
        held = [number * self.scale for number in _unpacked(_FORMS[self.form], self.numbers)]
        if self.places is None:
            return held
        whole = [0.0] * self.size
        for place, number in zip(_unpacked(_place_code(self.size), self.places), held, strict=True):
            whole[place] = number
        return whole

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[float]:
        return iter(self.dense())

    def __getitem__(self, index: int) -> float:
        return self.dense()[index]


_FORMS = {"int8": "b", "float16": "e", "float32": "f"}
"""The forms of numbers, the shortest first, with their codes for ``struct``."""


def sparse_vector(numbers: Sequence[float], error: float) -> SparseVector | None:
    """The vector in as few bytes as ``error`` allows; None when it allows nothing."""
    if not any(numbers) or not math.isfinite(math.hypot(*numbers)):
        return None
    # Relative to the largest number: the squares of tiny ones would be 0.
    largest = max(map(abs, numbers))
    shares = [one / largest for one in numbers]
    for form, code in _FORMS.items():
        steps = 127 if form == "int8" else 1
        kept = _unpacked(code, _packed(code, [round(one * steps) if form == "int8" else one for one in shares]))
        off = [one - held / steps for one, held in zip(shares, kept, strict=True)]
        left = (error * math.hypot(*shares)) ** 2 - math.fsum(one * one for one in off)
        if left >= 0:
            places = _largest(shares, off, left)
            made = _narrower(len(numbers), form, largest / steps, kept, places)
            off_by = math.dist(numbers, made.dense()) / math.hypot(*numbers)
            return msgspec.structs.replace(made, error=off_by)
    return None


def _largest(shares: Sequence[float], off: Sequence[float], left: float) -> list[int]:
    """The places of all numbers but the smallest, which together are off by no more than ``left`` allows."""
    order = sorted(range(len(shares)), key=lambda place: abs(shares[place]))
    # A dropped number is off by all of it instead of by its rounding.
    costs = accumulate(shares[place] ** 2 - off[place] ** 2 for place in order)
    return sorted(order[sum(1 for _ in takewhile(lambda cost: cost <= left, costs)) :])


def _narrower(size: int, form: str, scale: float, numbers: Sequence[float], places: Sequence[int]) -> SparseVector:
    """All numbers, or those at ``places`` with their places when that takes fewer bytes."""
    code, place_code = _FORMS[form], _place_code(size)
    width = struct.calcsize(code)
    if len(places) * (width + struct.calcsize(place_code)) >= size * width:
        return SparseVector(size, form, scale, _packed(code, numbers), None, 0.0)
    kept = _packed(code, [numbers[place] for place in places])
    return SparseVector(size, form, scale, kept, _packed(place_code, places), 0.0)


def _place_code(size: int) -> str:
    return "H" if size <= 2**16 else "I"


def _packed(code: str, numbers: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def _unpacked(code: str, data: bytes) -> tuple[Any, ...]:
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


class _Compressed(bytes):
    """A compressed item of a list."""

    __slots__ = ()


class ListStorage(MutableSequence[Any]):
    """Items in a list, in memory. Dicts and lists are kept by value: what is read is a copy, and ``storage[i] = item``
    changes it. Safe for several threads.
    """

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items: list[Any] = [_copied(item) for item in items]
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [_read(one) for one in self._items[index]]
        return _read(self._items[index])

    def __iter__(self) -> Iterator[Any]:
        return map(_read, list(self._items))

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_slice(index)
        self._items[index] = _copied(value)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            del self._items[index]

    def insert(self, index: int, value: Any) -> None:
        """Put an item before the one at ``index``."""
        with self._lock:
            self._items.insert(index, _copied(value))

    def __repr__(self) -> str:
        return f"ListStorage({len(self)} items)"

    def share(self, places: Mapping[int, int]) -> int:
        """Store in each place the object of another place, which must be equal; returns how many places changed."""
        with self._lock:
            apart = {place: first for place, first in places.items() if self._items[place] is not self._items[first]}
            for place, first in apart.items():
                self._items[place] = self._items[first]
            return len(apart)

    def drop(self, places: Collection[int]) -> None:
        """Delete items; later items move up."""
        with self._lock:
            self._items = [item for place, item in enumerate(self._items) if place not in places]

    def compress(self, level: int) -> int:
        """Compress every text and all bytes that become smaller, and return how many items those are."""
        with self._lock:
            # An object in several places is compressed once.
            smaller = {id(item): small for item in self._items if (small := _compressed(item, level)) is not None}
            before, self._items = self._items, [smaller.get(id(item), item) for item in self._items]
            return sum(id(item) in smaller for item in before)


def _read(held: Any) -> Any:
    return decode_item(zlib.decompress(held)) if type(held) is _Compressed else _copied(held)


def _compressed(item: Any, level: int) -> _Compressed | None:
    if type(item) not in (str, bytes):
        return None
    try:
        encoded = encode_item(item)
    except InvalidInput:
        return None
    small = _Compressed(zlib.compress(encoded, level))
    return small if len(small) < _WORTH * len(encoded) else None


def _copied(item: Any) -> Any:
    """The item with dicts and lists of its own at every level; anything else in it is the same object."""
    # Not isinstance: a class that derives from them is kept as it is.
    if type(item) is dict:
        return {key: _copied(value) for key, value in cast("dict[Any, Any]", item).items()}
    if type(item) is list:
        return [_copied(one) for one in cast("list[Any]", item)]
    return item


def _refuse_slice(index: object) -> None:
    if isinstance(index, slice):
        raise InvalidInput("one item is put in a place, not several: give an index instead of a slice")


class _Bounds(msgspec.Struct, frozen=True):
    """The numbers of the stored rows: from ``first`` to before ``next``."""

    first: int = 0
    next: int = 0


class DurableStorage(MutableSequence[Any]):
    """A list of items, which are text, bytes, plain JSON data or ``Message`` s, under a name in a store.

    ``store`` is a path, a URL or an open backend with transactions. Every change is on disk when the call returns, whole
    or not at all, also with other threads and processes. Raises what ``open_backend`` raises, and ``InvalidInput`` for
    another kind of item.
    """

    def __init__(self, store: Store, name: str = "data", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.name = check_id(name, "a storage's name")
        self._backend: Backend = shared_backend(store)
        self._kv = self._backend.kv
        self._space = as_space(space) / "memwell" / f"basememory {key_part(name)}"
        entry = self._kv.get(self._space, _BOUNDS)
        if entry is not None and _ROWS_ONLY not in cast("dict[str, Any]", entry.value):
            self._unpack()

    def _unpack(self) -> None:
        """Write the pages and blobs of earlier versions as rows."""
        decode = msgspec.msgpack.Decoder(list[bytes | None]).decode
        with self._backend.transaction():
            for page in self._entries(id_begins_with("p")):
                start = int(page.key[1:]) * _OLD_PAGE
                for number, row in enumerate(decode(zlib.decompress(cast(bytes, page.value))), start):
                    if row is not None:
                        self._kv.put(self._space, _row_key(number), row)
                self._kv.delete(self._space, page.key)
            found = self._entries(Where("blob", "exists"))
            blobs = {entry.key: cast("dict[str, str]", entry.value)["blob"] for entry in found}
            for key, digest in blobs.items():
                self._kv.put(self._space, key, zlib.decompress(self._backend.blobs.get(self._space, digest)))
            for digest in set(blobs.values()):
                self._backend.blobs.delete(self._space, digest)
            bounds = self._bounds()
            self._set_bounds(bounds.first, bounds.next)

    def _entries(self, where: Any = None) -> list[Entry]:
        return list(paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_BLOCK, cursor=cursor)))

    def _bounds(self) -> _Bounds:
        entry = self._kv.get(self._space, _BOUNDS)
        return _Bounds() if entry is None else msgspec.convert(entry.value, _Bounds)

    def __len__(self) -> int:
        bounds = self._bounds()
        return bounds.next - bounds.first

    def __bool__(self) -> bool:
        # An empty storage is still a storage.
        return True

    def __getitem__(self, index: Any) -> Any:
        bounds = self._bounds()
        if isinstance(index, slice):
            places = range(bounds.first, bounds.next)[index]
            if not places:
                return []
            read = dict(self._numbered(min(places[0], places[-1]), max(places[0], places[-1]) + 1))
            return [read[number] for number in places]
        entry = self._kv.get(self._space, _row_key(_number(bounds, index)))
        # Without an entry it was deleted after the bounds were read: another item may have this position now.
        return self[index] if entry is None else decode_item(cast(bytes, entry.value))

    def __iter__(self) -> Iterator[Any]:
        bounds = self._bounds()
        return (item for _, item in self._numbered(bounds.first, bounds.next))

    def _numbered(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        for low in range(start, stop, _BLOCK):
            high = min(low + _BLOCK, stop)
            where = AllOf((Where("@id", "ge", _row_key(low)), Where("@id", "lt", _row_key(high))))
            for entry in self._kv.scan(self._space, where=where, limit=_BLOCK).items:
                yield int(entry.key[1:]), decode_item(cast(bytes, entry.value))

    def append(self, value: Any) -> None:
        self.extend([value])

    def extend(self, values: Iterable[Any]) -> None:
        """Add items at the end, all or none."""
        encoded = [encode_item(value) for value in values]
        with self._backend.transaction():
            bounds = self._bounds()
            for number, one in enumerate(encoded, bounds.next):
                self._kv.put(self._space, _row_key(number), one)
            self._set_bounds(bounds.first, bounds.next + len(encoded))

    def _set_bounds(self, first: int, after_last: int) -> None:
        self._kv.put(self._space, _BOUNDS, {"first": first, "next": after_last, _ROWS_ONLY: True})

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_slice(index)
        encoded = encode_item(value)
        with self._backend.transaction():
            self._kv.put(self._space, _row_key(_number(self._bounds(), index)), encoded)

    def __delitem__(self, index: int | slice) -> None:
        with self._backend.transaction():
            places = range(len(self))
            self.drop(set(places[index]) if isinstance(index, slice) else {places[index]})

    def insert(self, index: int, value: Any) -> None:
        """Put an item before the one at ``index``."""
        with self._backend.transaction():
            items = list(self)
            items.insert(index, value)
            self._replace(items)

    def _replace(self, items: Iterable[Any]) -> None:
        bounds = self._bounds()
        self._erase(bounds.first, bounds.next)
        self._set_bounds(0, 0)
        self.extend(items)

    def drop(self, places: Collection[int]) -> None:
        """Delete items; later items move up."""
        with self._backend.transaction():
            bounds = self._bounds()
            if set(places) == set(range(len(places))):
                # Mostly the oldest are dropped, and then no item moves.
                self._erase(bounds.first, bounds.first + len(places))
                self._set_bounds(bounds.first + len(places), bounds.next)
            else:
                self._replace([item for place, item in enumerate(self) if place not in places])

    def _erase(self, start: int, stop: int) -> None:
        for number in range(start, stop):
            self._kv.delete(self._space, _row_key(number))

    def stored_bytes(self) -> int:
        """The bytes of all keys and values."""
        pairs = ((one.key, one.value) for one in self._entries())
        return sum(
            len(key) + len(value if isinstance(value, bytes) else msgspec.json.encode(value)) for key, value in pairs
        )

    def __repr__(self) -> str:
        return f"DurableStorage({self.name!r})"


def _number(bounds: _Bounds, index: int) -> int:
    try:
        return range(bounds.first, bounds.next)[index]
    except IndexError:
        raise IndexError(f"there is no item {index}: the storage holds {bounds.next - bounds.first}") from None


def _row_key(number: int) -> str:
    return f"i{number:015d}"


def encode_item(item: object) -> bytes:
    """The item as bytes. Raises ``InvalidInput`` for one that is neither text, bytes, plain JSON data, a ``Message`` nor a
    ``SparseVector``, or that would not come back equal.
    """
    kind = type(item)
    if kind is str:
        try:
            return _TEXT + cast(str, item).encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"an item must not contain lone surrogates: {shown(item)} at {error.start}") from None
    if kind is bytes:
        return _BYTES + cast(bytes, item)
    if isinstance(item, Message):
        return _MESSAGE + encode_message(item)
    if isinstance(item, SparseVector):
        return _VECTOR + msgspec.msgpack.encode(item)
    check_json(item, "an item")
    encoded = msgspec.json.encode(item)
    if msgspec.json.decode(encoded) != item:
        raise InvalidInput(f"an item must come back as it went in, and a tuple would not: {shown(item)}")
    return _JSON + encoded


def decode_item(encoded: bytes) -> Any:
    """The item that ``encode_item`` wrote."""
    kind, body = encoded[:1], encoded[1:]
    if kind == _TEXT:
        # Earlier versions stored lone surrogates.
        return body.decode(errors="surrogatepass")
    if kind == _BYTES:
        return body
    if kind == _MESSAGE:
        return decode_message(body)
    return msgspec.msgpack.decode(body, type=SparseVector) if kind == _VECTOR else msgspec.json.decode(body)


# Storages of others


def has_method(thing: object, name: str) -> bool:
    """Whether the class of a thing has a method, which is where Python looks for ``__len__`` and the like."""
    return hasattr(type(thing), name)


class GivenList(list[Any]):
    """A list that ``with_attribute`` made for a storage; strategies may change it."""


def check_storage(storage: object, name: str) -> Storage:
    """Return ``storage`` when it can be one; none of its methods is called. Raises ``InvalidInput`` otherwise."""
    missing = [method for method in ("__len__", "__getitem__") if not has_method(storage, method)]
    if isinstance(storage, type):
        raise InvalidInput(f"{name} must be a storage and not its class: write {storage.__name__}()")
    if missing or isinstance(storage, str | bytes):
        raise InvalidInput(f"{name} must be a storage with __len__ and __getitem__, not {shown(storage)}")
    return cast(Storage, storage)


def with_attribute(storage: Storage, name: str) -> Storage:
    """The storage, with an empty list (a dict for ``state``) in the attribute that its ``__len__`` reads and lacks.

    Only a class without ``__init__`` gets one: a class with one has made what it needs there.
    """
    if type(storage).__init__ is object.__init__:
        try:
            # Called by name, because a sketch may return nothing.
            type(storage).__len__(storage)
        except AttributeError as error:
            if error.obj is not storage:
                raise
            setattr(storage, str(error.name), {} if name == "state" else GivenList())
    return storage


def items_of(storage: Any) -> Iterator[Any]:
    """The items of any storage, one after the other; of a mapping its values."""
    if isinstance(storage, Mapping):
        return iter(cast("Mapping[Any, Any]", storage).values())
    if has_method(storage, "__iter__"):
        return iter(storage)
    return (storage[place] for place in range(len(storage)))


def add_to(storage: Any, name: str, item: Any) -> None:
    """Add an item by the storage's ``add_message`` or ``append``, or those of the list it has under ``name``.

    Raises ``Unsupported`` when it has none.
    """
    for owner, verb in ((storage, "add_message"), (storage, "append"), (getattr(storage, name, None), "append")):
        add = getattr(owner, verb, None)
        if callable(add):
            add(item)
            return
    raise Unsupported(f"{type(storage).__name__} takes no new items: give it add_message or append")

"""Storages, which hold the items of a memory: any object with ``__len__`` and ``__getitem__``, or a ``ListStorage``."""

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
from memwell.values import shown

_TEXT, _BYTES = b"s", b"b"
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
    if type(held) is not _Compressed:
        return _copied(held)
    kind, whole = held[:1], zlib.decompress(held[1:])
    return whole if kind == _BYTES else whole.decode(errors="surrogatepass")


def _compressed(item: Any, level: int) -> _Compressed | None:
    if type(item) not in (str, bytes):
        return None
    kind, whole = (_TEXT, item.encode(errors="surrogatepass")) if isinstance(item, str) else (_BYTES, item)
    small = _Compressed(kind + zlib.compress(whole, level))
    return small if len(small) < _WORTH * len(whole) else None


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

"""Storages: what a memory keeps its items in. Anything with ``__len__`` and ``__getitem__`` is one; ours is here too."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableSequence
from contextlib import suppress
from typing import Any, Protocol, cast, overload, runtime_checkable

from memwell.compat.basememory.contents import copied
from memwell.compat.basememory.packing import Packed, Packer, encode_item
from memwell.compat.basememory.sizes import deep_size
from memwell.errors import InvalidInput, Unsupported
from memwell.values import shown

_MOST_USES = 2**32 - 1
_WORTH_LEARNING = 32
_WORTH = 0.9
"""Packing costs time at every read: it must save a tenth."""


@runtime_checkable
class Storage(Protocol):
    """What a memory can be made over: a length, and items by index (or by key)."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class ListStorage(MutableSequence[Any]):
    """Items in a list, in memory. Dicts and lists are kept by value: what is read is a copy, and ``storage[i] = item``
    changes it. Safe for several threads.
    """

    by_value = True

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = [copied(item) for item in items]
        self._uses = array("I", bytes(4 * len(self._items)))
        self._packer = Packer()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        with self._lock:
            if isinstance(index, slice):
                return [self[place] for place in range(*index.indices(len(self)))]
            held = self._items[index]
            self._uses[index] = min(self._uses[index] + 1, _MOST_USES)
        return self._read(held)

    def _read(self, held: Any) -> Any:
        return self._packer.unpacked(held) if type(held) is Packed else copied(held)

    def __iter__(self) -> Iterator[Any]:
        # Going through all is no use of any one of them.
        return map(self._read, list(self._items))

    @overload
    def __setitem__(self, index: int, value: Any) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Any]) -> None: ...
    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, slice):
            raise InvalidInput("one item is put in a place, not several: give an index instead of a slice")
        self._items[index] = copied(value)

    def __delitem__(self, index: int | slice) -> None:
        with self._lock:
            del self._items[index]
            del self._uses[index]

    def insert(self, index: int, value: Any) -> None:
        """Put an item before the one at ``index``."""
        with self._lock:
            self._items.insert(index, copied(value))
            self._uses.insert(index, 0)

    def append(self, value: Any) -> None:
        """Put an item at the end."""
        with self._lock:
            self._items.append(copied(value))
            self._uses.append(0)

    def __repr__(self) -> str:
        return f"ListStorage({len(self)} items)"

    # What strategies do with it

    def uses(self) -> list[int]:
        """How often each item was read by its index."""
        return list(self._uses)

    def share(self, places: Mapping[int, int]) -> int:
        """Let each place hold the very object of another place, which must be equal; returns how many did not yet."""
        with self._lock:
            apart = {place: first for place, first in places.items() if self._items[place] is not self._items[first]}
            for place, first in apart.items():
                self._items[place] = self._items[first]
            return len(apart)

    def drop(self, places: Collection[int]) -> None:
        """Take items out; those behind move up."""
        with self._lock:
            self._items = [item for place, item in enumerate(self._items) if place not in places]
            self._uses = array("I", [uses for place, uses in enumerate(self._uses) if place not in places])

    def pack(self, level: int) -> int:
        """Hold in fewer bytes whatever becomes smaller by it, and return how many items do now that did not."""
        with self._lock:
            # One object that many places hold is packed once, and stays one.
            unpacked = {id(item): item for item in self._items if type(item) is not Packed}
            encoded = _encoded(unpacked)
            if len(encoded) >= _WORTH_LEARNING:
                self._packer.learn(list(encoded.values()), level)
            packed = zip(encoded, self._packer.packed(list(encoded.values()), level), strict=True)
            smaller = {one: small for one, small in packed if deep_size(small) < _WORTH * deep_size(unpacked[one])}
            before, self._items = self._items, [smaller.get(id(item), item) for item in self._items]
            return sum(id(item) in smaller for item in before)


def _encoded(items: Mapping[int, Any]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for key, item in items.items():
        # What is not plain data stays as it is.
        with suppress(InvalidInput):
            found[key] = encode_item(item)
    return found


def has_method(thing: object, name: str) -> bool:
    """Whether a thing's class has a method, which is where Python looks for ``__len__`` and its like."""
    return hasattr(type(thing), name)


class GivenList(list[Any]):
    """The list that a storage got from us. It is a list like any other; we know that it may be made smaller."""


def check_storage(storage: object, name: str) -> Storage:
    """Return ``storage`` when it can be one; nothing of it is called. Raises ``InvalidInput`` otherwise."""
    missing = [method for method in ("__len__", "__getitem__") if not has_method(storage, method)]
    if isinstance(storage, type):
        raise InvalidInput(f"{name} must be a storage and not its class: write {storage.__name__}()")
    if missing or isinstance(storage, str | bytes):
        raise InvalidInput(f"{name} must be a storage with __len__ and __getitem__, not {shown(storage)}")
    return cast(Storage, storage)


def furnished(storage: Storage, name: str) -> Storage:
    """The storage, with an empty list (a dict for ``state``) in the attribute that its ``__len__`` asks for and lacks.

    Only one whose class has no ``__init__`` is looked at: whoever wrote one has made what is needed there.
    """
    if type(storage).__init__ is object.__init__:
        try:
            # Called by its name: one that returns nothing, as in a sketch, is no error yet.
            type(storage).__len__(storage)
        except AttributeError as error:
            if error.obj is not storage:
                raise
            setattr(storage, str(error.name), {} if name == "state" else GivenList())
    return storage


def each(storage: Any) -> Iterator[Any]:
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


__all__ = ["GivenList", "ListStorage", "Storage", "add_to", "check_storage", "each", "furnished", "has_method"]

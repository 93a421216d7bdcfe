"""Strategies that make the items of a storage take fewer bytes, and the report of what they did."""

from __future__ import annotations

import gc
import math
import sys
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import msgspec

from memwell.compat.basememory.storages import GivenList, has_method, items_of, sparse_vector
from memwell.errors import InvalidInput, Unsupported
from memwell.messages import Message, encode_message
from memwell.values import check_count, check_type, shown

Identity: TypeAlias = Hashable
_NOT_DATA = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, FrameType)
_DEEPEST = 64
_FEWEST = 8
"""A list of fewer numbers is not taken for a vector."""


class CannotOptimize(Unsupported):
    """A storage lacks what a strategy needs; ``reason`` says what."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Shelf:
    """One storage of a memory, for a strategy to read and change. Places count from 0, also in a mapping.

    What a storage cannot do raises ``CannotOptimize``, and the report gives the reason.
    """

    def __init__(self, name: str, storage: Any, *, owners: Sequence[str | None] | None = None) -> None:
        self.name = name
        self.storage = storage
        self.left = 0
        """How many equal items are still apart, because changing one would change the other."""
        self.dropped: list[int] = []
        """The places that were dropped, in the numbering before."""
        self._rows = _rows_of(storage)
        self._owners = None if owners is None else list(owners)
        self._keys = list(cast("Mapping[Any, Any]", storage)) if isinstance(storage, Mapping) else None

    def __len__(self) -> int:
        return len(self.storage)

    def __iter__(self) -> Iterator[Any]:
        return items_of(self.storage)

    def bytes(self) -> int:
        """The bytes it takes: in memory, or as stored when it is in a store."""
        stored = getattr(self.storage, "stored_bytes", None)
        return cast(int, stored()) if callable(stored) else deep_size(self.storage)

    def identities(self) -> Iterator[tuple[str | None, Identity] | None]:
        """The content of each item with its sender where that is known; None where it cannot be compared."""
        for place, item in enumerate(self):
            content = _identity(item)
            owner = self._owners[place] if self._owners is not None and place < len(self._owners) else None
            yield None if content is None else (owner, content)

    def replace(self, place: int, item: Any) -> None:
        """Put another item in a place."""
        if not has_method(self._rows, "__setitem__"):
            raise CannotOptimize("the storage has no __setitem__")
        self._rows[place if self._keys is None else self._keys[place]] = item

    def share(self, places: Mapping[int, int]) -> int:
        """Store in each place the object of another place with the same content; returns how many places changed.

        Items that other code could change are left alone, unless the storage keeps its items by value.
        """
        own = getattr(self.storage, "share", None)
        if callable(own):
            return cast(int, own(places))
        items = list(self)
        apart = {place: items[first] for place, first in places.items() if items[place] is not items[first]}
        safe = {place: item for place, item in apart.items() if not _is_changeable(item)}
        self.left = len(apart) - len(safe)
        for place, item in safe.items():
            self.replace(place, item)
        return len(safe)

    def drop(self, places: Collection[int]) -> None:
        """Delete items."""
        gone = set(places)
        if not gone:
            return
        if callable(getattr(self.storage, "drop", None)):
            self.storage.drop(gone)
        elif self._keys is not None or has_method(self._rows, "__delitem__"):
            # From the end, so that the other places stay valid.
            for place in sorted(gone, reverse=True):
                del self._rows[place if self._keys is None else self._keys[place]]
        else:
            raise CannotOptimize("the storage has no __delitem__")
        self.dropped = sorted(gone)
        for held in (self._keys, self._owners):
            if held is not None:
                held[:] = [one for place, one in enumerate(cast("list[Any]", held)) if place not in gone]

    def compress(self, level: int) -> int:
        """Compress items, which are decompressed when they are read; returns how many items changed."""
        own = getattr(self.storage, "compress", None)
        if not callable(own):
            raise CannotOptimize("the storage would hand out compressed items")
        return cast(int, own(level))


def _rows_of(storage: Any) -> Any:
    """The object that items are written to: the storage itself, or the list that ``with_attribute`` gave it."""
    if has_method(storage, "__setitem__") or has_method(storage, "__delitem__"):
        return storage
    held: Iterable[object] = getattr(storage, "__dict__", {}).values()
    return next((one for one in held if isinstance(one, GivenList)), storage)


def _identity(item: object, depth: int = 0) -> Identity | None:
    """A value that only items of the same content share, or None for an item whose content cannot be compared.

    It is stricter than ``==``: 1, 1.0 and True are three items.
    """
    kind = type(item)
    if kind in (str, bytes, int, bool, type(None)):
        return kind, cast(Hashable, item)
    if kind is float:
        return kind, repr(item)
    if kind in (dict, list, tuple):
        held = cast("dict[object, object] | list[object]", item)
        inner = [one for pair in held.items() for one in pair] if isinstance(held, dict) else held
        parts = [None] if depth >= _DEEPEST else [_identity(one, depth + 1) for one in inner]
        return None if None in parts else (kind.__name__, tuple(parts))
    if kind is Message:
        return kind, encode_message(cast(Message, item))
    if kind.__hash__ in (object.__hash__, None):
        return None
    try:
        hash(item)
    except TypeError:
        return None
    return kind, cast(Hashable, item)


def _is_changeable(item: object) -> bool:
    if isinstance(item, tuple):
        return any(map(_is_changeable, cast("tuple[object, ...]", item)))
    # A message is frozen, but its metadata is not.
    return isinstance(item, dict | list | set | bytearray | Message)


def deep_size(*things: object) -> int:
    """The bytes of the things and of everything they hold, each object counted once.

    Classes, functions and modules are not counted, because they exist without the data too.
    """
    seen: set[int] = set()
    total = 0
    waiting: list[object] = list(things)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_DATA):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting.extend(gc.get_referents(one))
    return total


class Outcome(msgspec.Struct, frozen=True):
    """What a strategy did to one storage."""

    changed: int = 0
    """How many items it changed or dropped."""
    lost: int = 0
    """How many distinct items were lost."""
    left: int = 0
    """How many equal items it left apart, because changing one would change another."""
    error: float = 0.0
    """The largest distance between an item and its original, relative to the original's size."""
    repeats: int = 0
    """How many it dropped whose content remains in another place."""


@runtime_checkable
class Strategy(Protocol):
    """One way to save memory. Raise ``CannotOptimize`` for a storage that it cannot work on."""

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Make the shelf smaller and return what was done."""
        ...


class Deduplicate(msgspec.Struct, frozen=True):
    """Items of the same content become one object; every place keeps its item, and nothing is lost.

    With ``drop`` the later ones are removed and counted as repeats. The same words of another sender are another message.
    """

    drop: bool = False

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when items cannot be put into the storage or dropped."""
        first: dict[Any, int] = {}
        repeated: dict[int, int] = {}
        for place, identity in enumerate(shelf.identities()):
            # The sender does not matter to two places that both keep the item.
            if identity is not None:
                seen = first.setdefault(identity if self.drop else identity[1], place)
                repeated |= {} if seen == place else {place: seen}
        if self.drop:
            shelf.drop(repeated)
            return Outcome(len(repeated), repeats=len(repeated))
        return Outcome(shelf.share(repeated), left=shelf.left) if repeated else Outcome()


class Compress(msgspec.Struct, frozen=True):
    """Texts and bytes are held compressed by zlib and read as before; nothing is lost.

    Only a ``ListStorage`` does this, for items that become smaller by it. ``level`` is from 1 (fast) to 9 (small).
    """

    level: int = 6

    def __post_init__(self) -> None:
        if type(self.level) is not int or not 1 <= self.level <= 9:
            raise InvalidInput(f"level must be a whole number from 1 to 9, not {shown(self.level)}")

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` for a storage that does not decompress what it reads."""
        return Outcome(shelf.compress(self.level))


class Evict(msgspec.Struct, frozen=True):
    """All but the newest ``keep`` items are deleted."""

    keep: int

    def __post_init__(self) -> None:
        check_count(self.keep, "keep")

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when items cannot be dropped."""
        gone = range(len(shelf) - self.keep)
        if not gone:
            return Outcome()
        before = Counter(shelf.identities())
        shelf.drop(gone)
        after = Counter(shelf.identities())
        distinct = sum(one is not None and one not in after for one in before)
        # An item that cannot be compared counts as distinct.
        lost = distinct + before[None] - after[None]
        return Outcome(len(gone), lost, repeats=len(gone) - lost)


class SparsifyVectors(msgspec.Struct, frozen=True):
    """Vectors, which are lists of floats, lose their smallest components and are kept in a byte or two for each number.

    Both stay within ``error``, relative to a vector's length.
    """

    error: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise InvalidInput(f"error must be between 0 and 1, not {shown(self.error)}")

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when items cannot be put into the storage."""
        changed, worst = 0, 0.0
        for place, item in enumerate(list(shelf)):
            numbers = _numbers(item)
            made = None if numbers is None else sparse_vector(numbers, self.error)
            if made is not None:
                shelf.replace(place, made)
                changed, worst = changed + 1, max(worst, made.error)
        return Outcome(changed, error=worst)


def _numbers(item: Any) -> list[float] | None:
    """The numbers of a list, tuple or array of floats, also of numpy; None for anything else."""
    if isinstance(item, array) or (hasattr(item, "tolist") and getattr(item, "ndim", 1) == 1):
        item = cast(Any, item).tolist()
    if not isinstance(item, list | tuple) or len(cast("list[object]", item)) < _FEWEST:
        return None
    numbers = list(cast("list[Any]", item))
    return numbers if all(type(one) is float and math.isfinite(one) for one in numbers) else None


DEFAULT: tuple[Strategy, ...] = (Deduplicate(), Compress())
"""The strategies of ``optimize()`` without arguments: they lose nothing."""


class Step(Outcome, frozen=True, kw_only=True):
    """What one strategy did to one storage; ``skipped`` is the reason why it did nothing, or empty."""

    strategy: str
    storage: str
    items_before: int
    items_after: int
    bytes_before: int
    bytes_after: int
    skipped: str = ""

    @property
    def saved(self) -> int:
        """The bytes saved."""
        return self.bytes_before - self.bytes_after

    def __str__(self) -> str:
        head = f"{self.storage} · {self.strategy}: "
        if self.skipped:
            return f"{head}skipped, {self.skipped}"
        counts = {name: getattr(self, name) for name in ("changed", "lost", "left", "repeats") if getattr(self, name)}
        words = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing changed"
        items = "1 item" if self.items_before == 1 else f"{self.items_before} items"
        return f"{head}{items}, now {self.items_after}, {self.saved:,} bytes saved; {words}"


class OptimizationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an optimisation did. Bytes are those of everything the storages hold, each object in memory once."""

    bytes_before: int
    bytes_after: int
    steps: tuple[Step, ...]

    @property
    def saved(self) -> int:
        """The bytes saved."""
        return self.bytes_before - self.bytes_after

    @property
    def share(self) -> float:
        """The part of all bytes that was saved, 0 to 1."""
        return self.saved / self.bytes_before if self.bytes_before else 0.0

    @property
    def lost(self) -> int:
        """How many distinct items were lost: none, unless a strategy was asked to drop some."""
        return sum(step.lost for step in self.steps)

    def __str__(self) -> str:
        whole = f"{self.bytes_before:,} bytes before, {self.bytes_after:,} after: {self.share:.1%} saved"
        return "\n".join([whole, *map(str, self.steps)])


def step_of(shelf: Shelf, strategy: Strategy, size: int) -> Step:
    """Apply a strategy to a shelf of ``size`` bytes. Raises ``InvalidInput`` when it returns no ``Outcome``."""
    count: object = cast(Any, type(shelf.storage)).__len__(shelf.storage)
    # A storage that is only a sketch may return no number as its length.
    items = count if isinstance(count, int) else 0
    nothing = Step(
        strategy=getattr(strategy, "name", type(strategy).__name__),
        storage=shelf.name,
        items_before=items,
        items_after=items,
        bytes_before=size,
        bytes_after=size,
    )
    if count is None:
        return msgspec.structs.replace(nothing, skipped="its __len__ returns no number")
    try:
        done = strategy.apply(shelf)
    except CannotOptimize as error:
        return msgspec.structs.replace(nothing, skipped=error.reason)
    check_type(done, Outcome, f"the strategy {nothing.strategy} must return an Outcome")
    after = shelf.bytes() if done.changed else size
    return msgspec.structs.replace(nothing, items_after=len(shelf), bytes_after=after, **msgspec.structs.asdict(done))


def total_bytes(shelves: Iterable[Shelf]) -> int:
    """The bytes of all shelves; an object that two storages hold counts once."""
    stored = [shelf for shelf in shelves if hasattr(shelf.storage, "stored_bytes")]
    held = [shelf.storage for shelf in shelves if not hasattr(shelf.storage, "stored_bytes")]
    return sum(shelf.bytes() for shelf in stored) + deep_size(*held)

"""``BaseMemory``: a container of storages by name, to which storages can be added and which can be optimised."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from memwell._asyncify import Closing, asyncify
from memwell.compat.basememory.optimizing import (
    DEFAULT,
    OptimizationReport,
    Shelf,
    Step,
    Strategy,
    step_of,
    total_bytes,
)
from memwell.compat.basememory.storages import (
    DurableStorage,
    ListStorage,
    Storage,
    add_to,
    check_storage,
    has_method,
    items_of,
    with_attribute,
)
from memwell.errors import BackendError, Conflict, InvalidInput, NotFound, Unsupported
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.sharing import Store
from memwell.values import shown

_ARGUMENTS = frozenset({"data", "items", "store", "space", "thread"})


class NoSuchStorage(NotFound, KeyError):
    """A memory has no storage of a name."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f"there is no storage {name!r}; there are: {', '.join(names)}")

    __str__ = Exception.__str__


class BaseMemory(Closing):
    """A memory over storages: ``data``, and any others by name. ``memory["messages"]`` and ``memory.messages`` are one.

    ``data`` is the first storage given, or one of our own: in memory, or in ``store``. Iteration goes through ``items``, or
    through ``data`` without them. A number or a slice in brackets reads ``data``. Raises ``InvalidInput`` for what is no
    storage, and ``Conflict`` for a name that is reserved.
    """

    def __init__(
        self,
        data: Storage | None = None,
        items: Iterable[Any] | None = None,
        *,
        store: Store | None = None,
        space: SpaceLike = DEFAULT_SPACE,
        **storages: Any,
    ) -> None:
        self._lock = threading.RLock()
        self._is_closed = False
        self._storages: dict[str, Storage] = {}
        if items is not None and not (has_method(items, "__iter__") or has_method(items, "__getitem__")):
            raise InvalidInput(f"items must be something to iterate over, not {shown(items)}")
        self._items = items
        given = self._checked(storages)
        if data is not None:
            self._data = with_attribute(check_storage(data, "data"), "data")
        elif given:
            self._data = next(iter(given.values()))
        else:
            self._data = ListStorage() if store is None else DurableStorage(store, "data", space=space)
        main = {} if any(self._data is one for one in given.values()) else {"data": self._data}
        self._storages = main | given

    def _checked(self, storages: dict[str, Any]) -> dict[str, Storage]:
        for name, storage in storages.items():
            if name in self._storages:
                raise Conflict(f"the memory has a storage {name!r} already")
            if name in _ARGUMENTS or name.startswith("_") or hasattr(type(self), name):
                raise Conflict(f"{name!r} is reserved and cannot name a storage")
            check_storage(storage, name)
        return {name: with_attribute(storage, name) for name, storage in storages.items()}

    def expand(self, **storages: Any) -> None:
        """Add storages at run time by name, all or none.

        Raises ``Conflict`` for a name that is taken or reserved, and ``InvalidInput`` for what is no storage.
        """
        self._check_open()
        with self._lock:
            self._storages = {**self._storages, **self._checked(storages)}

    @property
    def data(self) -> Any:
        """The main storage."""
        return self._data

    @property
    def items(self) -> Iterable[Any]:
        """What iteration goes through: the items given, or those of ``data``."""
        return _Items(self._data) if self._items is None else self._items

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all storages."""
        return tuple(self._storages)

    def __getitem__(self, name: str | int | slice) -> Any:
        if not isinstance(name, str):
            return self._data[name]
        if name == "data":
            return self._data
        if name not in self._storages:
            raise NoSuchStorage(name, self.names)
        return self._storages[name]

    def __getattr__(self, name: str) -> Any:
        storages: dict[str, Storage] = self.__dict__.get("_storages", {})
        if name not in storages:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return storages[name]

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        # An empty memory is still a memory.
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.names)})"

    def add_message(self, message: Any) -> int | None:
        """Add a message to the storage ``messages``, by its ``add_message`` or ``append``.

        Raises ``Unsupported`` when there is no such storage, or when nothing can be added to it.
        """
        self._check_open()
        with self._lock:
            if "messages" not in self._storages:
                raise Unsupported("the memory has no storage for messages: give one, or expand(messages=…)")
            add_to(self._storages["messages"], "messages", message)

    def optimize(self, *strategies: Strategy, only: Iterable[str] | None = None) -> OptimizationReport:
        """Apply strategies to every storage, or to those named by ``only``, and report what they did.

        Without strategies equal items are shared and items compressed, and nothing is lost. A storage that lacks what a
        strategy needs is skipped, and the report says why. Raises ``InvalidInput`` for what is no strategy and ``NotFound``
        for a name without a storage, before anything is done.
        """
        self._check_open()
        chosen = strategies or DEFAULT
        for strategy in chosen:
            if isinstance(strategy, type) or not callable(getattr(strategy, "apply", None)):
                raise InvalidInput(f"a strategy has a method apply(shelf); {shown(strategy)} has none")
        with self._lock:
            names = self._optimizable() if only is None else [only] if isinstance(only, str) else only
            shelves = [self._shelf(name, self[name]) for name in names]
            before = total_bytes(shelves)
            steps = [step for shelf in shelves for step in self._steps(shelf, chosen)]
            return OptimizationReport(bytes_before=before, bytes_after=total_bytes(shelves), steps=tuple(steps))

    def _optimizable(self) -> tuple[str, ...]:
        return self.names

    def _shelf(self, name: str, storage: Any) -> Shelf:
        return Shelf(name, storage)

    def _steps(self, shelf: Shelf, strategies: Iterable[Strategy]) -> Iterator[Step]:
        size = shelf.bytes()
        for strategy in strategies:
            step = step_of(shelf, strategy, size)
            if shelf.dropped:
                self._dropped(shelf)
                shelf.dropped = []
            size = step.bytes_after
            yield step

    def _dropped(self, shelf: Shelf) -> None:
        """Called after a strategy dropped items of a storage, to adjust positions that refer to it."""

    def close(self) -> None:
        """Close for writing: every later write raises ``BackendError``. A store named by its path stays open."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise BackendError("the memory is closed and read-only; open another one over the same storage to write")

    aadd_message = asyncify(add_message)
    aoptimize = asyncify(optimize)


class _Items:
    """The items of a storage, which may have no ``__iter__``."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __iter__(self) -> Iterator[Any]:
        return items_of(self._storage)

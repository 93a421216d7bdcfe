"""Storages of items: their contract, serializers, and an implementation over any backend.

An item is written as the fields of its ``to_dict`` and made again by its constructor. The reader always names the class:
stored bytes never decide which class they become.
"""

from __future__ import annotations

import base64
import binascii
import functools
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Generic, TypeVar, cast

import msgspec

from memwell.errors import Conflict, InvalidInput, MemwellError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.history import History
from memwell.records import DEFAULT_SPACE, Page, SpaceLike, as_space, paged
from memwell.storage.arguments import MAX_LIMIT
from memwell.storage.protocols import Backend, Entry
from memwell.storage.registry import Store, open_backend, shared_backend
from memwell.values import MAX_ID_LENGTH, check_count, check_id, check_json, shown

_CLASS = "@class"
"""The field that holds the name of an item's class; no parameter has such a name."""
_BYTES = "@serialized"
"""The field that holds what another serializer than JSON's wrote; no parameter has such a name."""
_BLOCK = 256
_MISSING = object()
_SCALARS = (str, int, float, bool, type(None))
_MISFITS = (TypeError, ValueError, LookupError, AttributeError)
"""The errors of a constructor that is called with wrong fields."""


class StorageError(MemwellError):
    """A call breaks the contract of a storage: an item exists already, has no identifier, or cannot be stored.

    Nothing was stored. ``message`` says what is wrong.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


# Serialization


class Serializable(ABC):
    """An object that can be serialised. The keys of ``to_dict`` are the parameters of the constructor."""

    _serializer: Serializer | None = None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of plain data."""

    def serialize(self) -> bytes:
        """The object as bytes. Raises ``InvalidInput`` when no serializer was set, ``StorageError`` for data it cannot
        write.
        """
        if self._serializer is None:
            raise InvalidInput("Serializer is not set. Please set the serializer before serialization.")
        return self._serializer.serialize(self)

    def set_serializer(self, serializer: Serializer) -> None:
        """Write the object with ``serializer`` from now on."""
        self._serializer = serializer


S = TypeVar("S", bound=Serializable)


class Serializer(ABC):
    """Turns objects into bytes and bytes into objects."""

    @abstractmethod
    def serialize(self, obj: Serializable) -> bytes:
        """The object as bytes. Raises ``StorageError`` for one that cannot be written."""

    @abstractmethod
    def deserialize(self, data: bytes, cls: type[S]) -> S:
        """A fresh object of ``cls``. Raises ``StorageError`` for bytes that do not fit it."""


# ``json.dumps`` with options makes an encoder for every call.
_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class JsonSerializer(Serializer):
    """JSON in UTF-8, without escapes."""

    def serialize(self, obj: Serializable) -> bytes:
        try:
            return _json(obj.to_dict()).encode()
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StorageError(f"a {type(obj).__name__} cannot be written: {error}") from error

    def deserialize(self, data: bytes, cls: type[S]) -> S:
        try:
            fields = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeError, TypeError, ValueError, RecursionError) as error:
            raise StorageError(f"these bytes are no {cls.__name__}: {error}") from error
        return made_from(fields, cls, self)


def made_from(fields: Any, cls: type[S], serializer: Serializer) -> S:
    """A fresh object of ``cls`` made from its fields. Raises ``StorageError`` when they do not fit the class."""
    if type(fields) is not dict:
        raise StorageError(f"a {cls.__name__} is made from named fields, not from {shown(fields)}")
    try:
        made = cls(**fields)
    except _MISFITS as error:
        raise StorageError(f"the data does not fit {cls.__name__}: {error}") from error
    made.set_serializer(serializer)
    return made


# The contract


class ResourceIdentifier(Serializable):
    """The name of an item. Two that have the same text are equal."""

    @property
    @abstractmethod
    def str_identifier(self) -> str:
        """The text that no other item of the storage has."""

    def __hash__(self) -> int:
        return hash(self.str_identifier)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResourceIdentifier) and self.str_identifier == other.str_identifier


class StorageItem(Serializable):
    """An item of a storage. It is written by ``to_dict`` and read by its constructor from the same fields."""

    @property
    @abstractmethod
    def identifier(self) -> ResourceIdentifier:
        """The name of the item."""

    @abstractmethod
    def merge(self, other: StorageItem) -> None:
        """Become a copy of ``other``."""


ID = TypeVar("ID", bound=ResourceIdentifier)
T = TypeVar("T", bound=StorageItem)
TDataRepresentation = TypeVar("TDataRepresentation")


class StorageItemAdapter(Generic[T, TDataRepresentation]):
    """Translates items to the form in a storage, and back. A subclass overrides both translations."""

    def to_storage_format(self, item: T) -> TDataRepresentation:
        """The item in the storage's form."""
        return cast(Any, item)

    def from_storage_format(self, data: TDataRepresentation) -> T:
        """The item that was stored."""
        return cast(Any, data)

    def get_query_for_identifier(
        self, storage_format: type[TDataRepresentation], resource_id: ResourceIdentifier, **kwargs: Any
    ) -> Any:
        """The query for ``resource_id``, for storages with a query language of their own."""
        return True


class DefaultStorageItemAdapter(StorageItemAdapter[T, T]):
    """Changes nothing."""


@dataclass(slots=True)
class QuerySpec:
    """A query: attributes and the values they must equal, and which of the matching items to return."""

    conditions: dict[str, Any]
    limit: int | None = None
    offset: int = 0


@dataclass(slots=True)
class PaginationResult(Generic[TDataRepresentation]):
    """One page of the found items. Pages count from 1."""

    items: list[TDataRepresentation]
    total_count: int
    total_pages: int
    page: int
    page_size: int


class StorageInterface(ABC, Generic[T, TDataRepresentation]):
    """Stores items. A subclass defines the seven abstract methods.

    When a method raises, it has stored nothing.
    """

    def __init__(
        self, serializer: Serializer | None = None, adapter: StorageItemAdapter[T, TDataRepresentation] | None = None
    ) -> None:
        self._serializer = serializer or JsonSerializer()
        self._storage_item_adapter: StorageItemAdapter[T, Any] = adapter or DefaultStorageItemAdapter[T]()

    @property
    def serializer(self) -> Serializer:
        return self._serializer

    @property
    def adapter(self) -> StorageItemAdapter[T, Any]:
        return self._storage_item_adapter

    @abstractmethod
    def save(self, data: T) -> None:
        """Store a new item. Raises ``StorageError`` for None, or when one of its identifier is stored already."""

    @abstractmethod
    def update(self, data: T) -> None:
        """Store an item instead of the one of its identifier, or as a new one. Raises ``StorageError`` for None."""

    @abstractmethod
    def save_or_update(self, data: T) -> None:
        """Store an item, new or not. Raises ``StorageError`` for None."""

    def save_list(self, data: Iterable[T]) -> None:
        for item in data:
            self.save(item)

    def save_or_update_list(self, data: Iterable[T]) -> None:
        for item in data:
            self.save_or_update(item)

    @abstractmethod
    def load(self, resource_id: ResourceIdentifier, cls: type[T]) -> T | None:
        """A fresh copy of the item, or None when there is none. Raises ``StorageError`` when it is no ``cls``."""

    def load_list(self, resource_id: Iterable[ResourceIdentifier], cls: type[T]) -> list[T]:
        """The items of these identifiers that are there, in the order asked."""
        found = (self.load(one, cls) for one in resource_id)
        return [item for item in found if item is not None]

    @abstractmethod
    def delete(self, resource_id: ResourceIdentifier) -> None:
        """Delete an item, if it is there."""

    def delete_list(self, resource_id: Iterable[ResourceIdentifier]) -> None:
        for one in resource_id:
            self.delete(one)

    @abstractmethod
    def query(self, spec: QuerySpec, cls: type[T]) -> list[T]:
        """The items that satisfy all conditions. Raises ``StorageError`` for an attribute that ``cls`` does not have."""

    @abstractmethod
    def count(self, spec: QuerySpec, cls: type[T]) -> int:
        """How many items satisfy all conditions, whatever the limit and the offset. Raises as ``query`` does."""

    def paginate_query(
        self, page: int, page_size: int, cls: type[T], spec: QuerySpec | None = None
    ) -> PaginationResult[T]:
        """One page of what satisfies the conditions; ``spec`` is left as it is, and its limit and offset do not count.

        Raises ``InvalidInput`` for a page or a size below 1.
        """
        check_count(page, "page", least=1)
        check_count(page_size, "page_size", least=1)
        conditions = {} if spec is None else spec.conditions
        wanted = QuerySpec(conditions, limit=page_size, offset=(page - 1) * page_size)
        total = self.count(wanted, cls)
        return PaginationResult(self.query(wanted, cls), total, -(-total // page_size), page, page_size)


# Over a backend


class BackendStorage(StorageInterface[T, Any]):
    """Items in a memwell store: a file, memory, or any other backend.

    ``store`` is a path, a URL or an open backend; ``name`` separates this storage's items from those of others in the same
    ``space``. Items come in the order of their identifiers, in which numbers sort by value. Lists are stored or deleted all
    or none. ``update`` stores items that are not there yet. Messages are stored as the conversation they belong to,
    whatever ``name`` is; with a serializer, or an adapter, which must make dicts, they are items like any other. Items
    and identifiers of DB-GPT's own classes are taken as ours are.
    """

    def __init__(
        self,
        store: Store = "memwell.db",
        name: str = "items",
        *,
        space: SpaceLike = DEFAULT_SPACE,
        serializer: Serializer | None = None,
        adapter: StorageItemAdapter[T, Any] | None = None,
    ) -> None:
        super().__init__(serializer, adapter)
        self.backend: Backend = shared_backend(store)
        self.space = as_space(space)
        self.name = check_id(name, "a storage's name")
        self._kinds: dict[type[ItemRows], ItemRows] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, space={self.space!r})"

    @property
    def keeps_conversations(self) -> bool:
        """Whether messages are stored as conversations, which every other part of memwell can read.

        With an adapter or a serializer of the user's own they are items, written by it.
        """
        return type(self.adapter) is DefaultStorageItemAdapter and type(self.serializer) is JsonSerializer

    def history(self, conv_uid: str) -> History:
        """The conversation ``conv_uid``. Raises ``InvalidInput`` where messages are items."""
        if not self.keeps_conversations:
            raise InvalidInput(f"a storage with an adapter or a serializer keeps items, not conversations: {self!r}")
        return History(self.backend, conv_uid, space=self.space)

    def save(self, data: T) -> None:
        self.save_list((data,))

    def update(self, data: T) -> None:
        self.save_or_update_list((data,))

    def save_or_update(self, data: T) -> None:
        self.update(data)

    def save_list(self, data: Iterable[T]) -> None:
        self._apply([self._checked(one) for one in data], lambda rows, some: rows.write(some, replace=False))

    def save_or_update_list(self, data: Iterable[T]) -> None:
        self._apply([self._checked(one) for one in data], lambda rows, some: rows.write(some, replace=True))

    def delete(self, resource_id: ResourceIdentifier) -> None:
        self.delete_list((resource_id,))

    def delete_list(self, resource_id: Iterable[ResourceIdentifier]) -> None:
        self._apply(list(resource_id), lambda rows, some: rows.drop(some))

    def load(self, resource_id: ResourceIdentifier, cls: type[T]) -> T | None:
        return self._rows(resource_id).get(resource_id, cls)

    def query(self, spec: QuerySpec, cls: type[T]) -> list[T]:
        _check_query(spec, cls)
        limit = None if spec.limit is None else check_count(spec.limit, "limit")
        return self._rows(cls).find(spec.conditions, cls, limit, check_count(spec.offset, "offset"))

    def count(self, spec: QuerySpec, cls: type[T]) -> int:
        _check_query(spec, cls)
        return self._rows(cls).count(spec.conditions, cls)

    def _apply(self, owners: Sequence[Any], change: Callable[[ItemRows, Sequence[Any]], None]) -> None:
        """Change items or identifiers of several kinds, all or none."""
        groups: dict[ItemRows, list[Any]] = {}
        for owner in owners:
            groups.setdefault(self._rows(owner), []).append(owner)
        with nullcontext() if len(owners) == 1 else self.backend.transaction():
            for rows, some in groups.items():
                change(rows, some)

    def _rows(self, owner: Any) -> ItemRows:
        """The rows of an item, of its class or of its identifier."""
        kind = _kept_as(owner if isinstance(owner, type) else type(owner)) if self.keeps_conversations else ItemRows
        return self._kinds.get(kind) or self._kinds.setdefault(kind, kind(self))

    def _checked(self, data: T | None) -> T:
        if not data:
            raise StorageError("Data cannot be None")
        if not (callable(getattr(data, "to_dict", None)) and hasattr(data, "set_serializer")):
            raise StorageError(f"an item is a StorageItem, not {shown(data)}")
        if getattr(data, "_serializer", None) is None:
            data.set_serializer(self.serializer)
        return data


def _check_query(spec: object, cls: object) -> None:
    if not hasattr(spec, "conditions"):
        raise StorageError(f"a query is a QuerySpec, not {shown(spec)}")
    if not isinstance(cls, type):
        raise StorageError(f"a query names the class of its items, not {shown(cls)}")


class InMemoryStorage(BackendStorage[T]):
    """Items that last as long as the storage."""

    def __init__(self, serializer: Serializer | None = None, adapter: StorageItemAdapter[T, Any] | None = None) -> None:
        super().__init__(open_backend("memory:"), serializer=serializer, adapter=adapter)


class ItemRows:
    """The items of a storage as JSON objects in its backend's values by key, so that the backend answers conditions.

    Several items are changed inside a transaction of the storage, so that a change that fails changes nothing.
    """

    def __init__(self, storage: BackendStorage[Any]) -> None:
        self._kv = storage.backend.kv
        self._space = storage.space / "dbgpt" / storage.name
        self._serializer = storage.serializer
        self._is_plain = type(storage.serializer) is JsonSerializer
        self._adapter = None if type(storage.adapter) is DefaultStorageItemAdapter else storage.adapter

    def write(self, items: Sequence[Any], *, replace: bool) -> None:
        """Store items. Raises ``StorageError`` for one that exists, unless ``replace`` is set."""
        written = [(_text_of(getattr(one, "identifier", None)), self._written(one)) for one in items]
        for identifier, value in written:
            try:
                self._kv.put(self._space, key_of(identifier), value, expect=None if replace else 0)
            except Conflict as error:
                raise StorageError(f"Data with identifier {identifier} already exists") from error
            except InvalidInput as error:
                raise StorageError(f"the data of {shown(identifier)} cannot be stored: {error}") from error

    def get(self, identifier: Any, cls: type[Any]) -> Any:
        entry = self._kv.get(self._space, key_of(_text_of(identifier)))
        return None if entry is None else self._read(entry, cls)

    def drop(self, identifiers: Sequence[Any]) -> None:
        for key in [key_of(_text_of(one)) for one in identifiers]:
            self._kv.delete(self._space, key)

    def find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        pushed, compared = self._split(conditions, cls)
        if limit == 0:
            return []
        if not compared:
            entries = self._entries(pushed, MAX_LIMIT if limit is None else min(limit, MAX_LIMIT), offset)
            return [self._read(one, cls) for one in islice(entries, limit)]
        found = (item for item in self._all(pushed, cls) if holds(item, compared))
        return list(islice(found, offset, None if limit is None else offset + limit))

    def count(self, conditions: Mapping[str, Any], cls: type[Any]) -> int:
        pushed, compared = self._split(conditions, cls)
        if not compared:
            return self._kv.count(self._space, where=pushed)
        return sum(holds(item, compared) for item in self._all(pushed, cls))

    def _split(self, conditions: Mapping[str, Any], cls: type[Any]) -> tuple[Filter | None, Mapping[str, Any]]:
        """The filter for the backend, and the conditions that are compared with each item it finds."""
        wanted = checked_conditions(conditions, cls)
        if self._adapter is not None:
            return None, wanted
        parameters, _ = _parameters(cls)
        pushed = {name: value for name, value in wanted.items() if name in parameters and _is_scalar(value)}
        filters = (_equality(name, value, parameters[name]) for name, value in pushed.items())
        of_class = AnyOf((Where((_CLASS,), "in", sorted(_related(cls))), Not(Where((_CLASS,), "exists"))))
        return AllOf((*filters, of_class)), {name: wanted[name] for name in wanted if name not in pushed}

    def _all(self, pushed: Filter | None, cls: type[Any]) -> Iterator[Any]:
        return (self._read(one, cls) for one in self._entries(pushed, _BLOCK, 0))

    def _entries(self, pushed: Filter | None, size: int, skip: int) -> Iterator[Entry]:
        def page(cursor: str | None) -> Page[Entry]:
            skipped = skip if cursor is None else 0
            return self._kv.scan(self._space, where=pushed, limit=size, cursor=cursor, skip=skipped)

        return paged(page)

    def _written(self, item: Any) -> Any:
        if self._adapter is None:
            return {**self._fields(item), _CLASS: type(item).__name__}
        made = self._adapter.to_storage_format(item)
        if not isinstance(made, dict):
            raise StorageError(f"an adapter makes a dict, not {shown(made)}")
        return cast("dict[str, Any]", made)

    def _fields(self, item: Any) -> dict[str, Any]:
        fields: dict[str, Any] = item.to_dict()
        if self._is_plain:
            return fields
        # What is no scalar is replaced by a list: a missing field would mean that it is at its default.
        scalars: dict[str, Any] = {name: value if _is_scalar(value) else [] for name, value in fields.items()}
        return {**scalars, _BYTES: base64.b64encode(self._serializer.serialize(item)).decode()}

    def _read(self, entry: Entry, cls: type[Any]) -> Any:
        value: Any = entry.value
        if isinstance(value, dict):
            cast("dict[str, Any]", value).pop(_CLASS, None)
        if self._adapter is not None:
            return self._adapter.from_storage_format(value)
        if self._is_plain or not isinstance(value, dict) or _BYTES not in value:
            return made_from(value, cls, self._serializer)
        try:
            data = base64.b64decode(cast("dict[str, Any]", value)[_BYTES], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise StorageError(f"what is stored is no {cls.__name__}: {error}") from error
        return self._serializer.deserialize(data, cls)


KEPT_AS: dict[frozenset[str], type[ItemRows]] = {}
"""How items and identifiers whose constructors have these parameters are stored, if not as the others.

By the parameters and not by the class, so that those of DB-GPT's own classes are stored alike.
"""


@functools.cache
def _kept_as(kind: type[Any]) -> type[ItemRows]:
    return KEPT_AS.get(frozenset(_parameters(kind)[0]), ItemRows)


def _text_of(identifier: Any) -> str:
    text: object = getattr(identifier, "str_identifier", None)
    if not isinstance(text, str) or not text:
        raise StorageError(
            f"an item is named by a ResourceIdentifier with a text of its own, not by {shown(identifier)}"
        )
    return text


# Conditions


@functools.cache
def _parameters(cls: type[Any]) -> tuple[Mapping[str, Any], bool]:
    """The parameters of a class's constructors with their defaults, and whether the last takes any keyword."""
    parameters: dict[str, Any] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        found = list(inspect.signature(base.__init__).parameters.values())[1:]
        for one in found:
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                parameters.setdefault(one.name, _MISSING if one.default is one.empty else one.default)
        if not any(one.kind is one.VAR_KEYWORD for one in found):
            return parameters, False
    return parameters, True


def checked_conditions(conditions: object, cls: type[Any]) -> Mapping[str, Any]:
    """The conditions, all of them on attributes of ``cls``. Raises ``StorageError`` naming the first that is not."""
    if not isinstance(conditions, Mapping):
        raise StorageError(f"conditions must be a dict of attributes and values, not {shown(conditions)}")
    parameters, takes_more = _parameters(cls)
    for name in cast("Mapping[object, Any]", conditions):
        if not isinstance(name, str) or not (name in parameters or takes_more or hasattr(cls, name)):
            known = ", ".join(sorted(parameters))
            raise StorageError(f"{cls.__name__} has no attribute {shown(name)} to ask for; it has {known}")
    return cast("Mapping[str, Any]", conditions)


def holds(item: Any, conditions: Mapping[str, Any]) -> bool:
    """Whether an item satisfies conditions. Raises ``StorageError`` for an attribute it lacks."""
    try:
        return all(getattr(item, name) == value for name, value in conditions.items())
    except AttributeError as error:
        raise StorageError(f"a {type(item).__name__} has no attribute {error.name!r}") from None


def _is_scalar(value: object) -> bool:
    """Whether it is text, a number, a boolean or None that any store can hold."""
    if type(value) not in _SCALARS:
        return False
    try:
        check_json(value, "a value")
    except InvalidInput:
        return False
    return True


def _equality(name: str, value: Any, default: object) -> Filter:
    # To Python True is 1; to a filter it is not.
    is_flag = isinstance(value, int | float) and value in (0, 1)
    equal = Where(name, "in", (bool(value), int(value))) if is_flag else Where(name, "eq", value)
    # An item may leave out what is at its default.
    is_default = type(default) in _SCALARS and default == value
    return AnyOf((equal, Not(Where(name, "exists")))) if is_default else equal


def _related(cls: type[Any]) -> set[str]:
    """The names of a class, of those it comes from and of those that come from it."""
    related = {base.__name__ for base in cls.__mro__}
    waiting = cls.__subclasses__()
    while waiting:
        one = waiting.pop()
        related.add(one.__name__)
        waiting += one.__subclasses__()
    return related


# Keys

_UNSTORABLE = re.compile("[\0\1\ud800-\udfff]")
_KEPT = MAX_ID_LENGTH - 128


@functools.lru_cache(maxsize=4096)
def key_of(identifier: str) -> str:
    """The key of an identifier of any length and any characters, never the same for two.

    Keys sort as the identifiers do, except that numbers sort by value: a number is written with the count of its digits in
    front and of its leading zeros behind. NUL, surrogates and the sign that marks them are written in letters. What is too
    long for a key ends in a digest of the whole.
    """
    # Numbers first: the letters that stand for a character may contain digits.
    key = _UNSTORABLE.sub(_spelt, re.sub("[0-9]+", _number, identifier))
    if len(key) <= MAX_ID_LENGTH:
        return key
    digest = blake2b(identifier.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    # The mark and this letter are written nowhere else, so that no short identifier has such a key.
    return f"{key[:_KEPT]}\1d{digest}"


def _number(found: re.Match[str]) -> str:
    significant = found[0].lstrip("0")
    return f"{_counted(len(significant))}{significant}{_counted(len(found[0]) - len(significant))}"


def _counted(number: int) -> str:
    """A count that sorts by its value and of which none is the beginning of another."""
    # A text holds fewer characters than a number of nine digits can count.
    return str(number) if number <= 8 else f"9{len(str(number))}{number}"


def _spelt(found: re.Match[str]) -> str:
    character = found[0]
    if character in "\0\1":
        return "\1a" if character == "\0" else "\1b"
    return f"\1c{ord(character):04x}"

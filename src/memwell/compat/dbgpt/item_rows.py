"""Items in a backend's values by key, each written as the fields of its ``to_dict``."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

from memwell.compat.dbgpt.conditions import Conditions, is_scalar, taken_apart
from memwell.compat.dbgpt.identifier_keys import key_of
from memwell.compat.dbgpt.item_classes import CLASS, ItemClasses, unnoted
from memwell.compat.dbgpt.rows import Rows, StoragePlace
from memwell.compat.dbgpt.serialization import JsonSerializer, Serializable, all_made_from, made_from
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import Conflict, InvalidInput
from memwell.storage.arguments import MAX_LIMIT
from memwell.storage.protocols import Entry
from memwell.values import shown

_BYTES = "@serialized"
"""The field that holds what another serializer than JSON's wrote; no parameter has such a name."""
_FIRST_BLOCK = 256


class ItemRows(Rows):
    """Items as JSON objects, so that a backend can answer the conditions on their fields."""

    def __init__(self, place: StoragePlace) -> None:
        self._backend = place.backend
        self._kv = place.backend.kv
        self._space = place.space / "dbgpt" / place.name
        self._classes = ItemClasses(place)
        self._serializer = place.serializer
        self._adapter = place.adapter
        self._format = None if place.adapter is None else _declared_format(place.adapter)
        self._is_plain = type(place.serializer) is JsonSerializer
        self._is_direct = self._is_plain and place.adapter is None

    def add(self, items: Sequence[Any]) -> None:
        """Store new items. Raises ``StorageError`` when one is there already."""
        self._store(items, expect=0)

    def put(self, items: Sequence[Any]) -> None:
        """Store items, new or not."""
        self._store(items, expect=None)

    def _store(self, items: Sequence[Any], expect: int | None) -> None:
        if len(items) == 1:
            identifier, value = _identified(items[0]), self._written(items[0])
            self._note(items)
            self._store_one(identifier, value, expect)
            return
        written = [(_identified(item), self._written(item)) for item in items]
        self._note(items)
        with self._backend.transaction():
            for identifier, value in written:
                self._store_one(identifier, value, expect)

    def _note(self, items: Sequence[Any]) -> None:
        # Only an adapter knows what it makes of which class.
        if self._adapter is None:
            self._classes.note(items)

    def _store_one(self, identifier: str, value: Any, expect: int | None) -> None:
        try:
            self._kv.put(self._space, key_of(identifier), value, expect=expect)
        except Conflict as error:
            raise StorageError(f"Data with identifier {identifier} already exists") from error
        except InvalidInput as error:
            raise StorageError(f"the data of {shown(identifier)} cannot be stored: {error}") from error

    def get(self, identifier: Any, cls: type[Any]) -> Any:
        """The item, or None."""
        entry = self._kv.get(self._space, key_of(text_of(identifier)))
        if entry is None:
            return None
        value = unnoted(entry.value)
        return made_from(value, cls, self._serializer) if self._is_direct else self._read(value, cls)

    def drop(self, identifiers: Sequence[Any]) -> None:
        """Drop the items that are there."""
        keys = [key_of(text_of(one)) for one in identifiers]
        with nullcontext() if len(keys) == 1 else self._backend.transaction():
            for key in keys:
                self._kv.delete(self._space, key)

    def find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        """The items that satisfy the conditions, in the order of their identifiers."""
        try:
            return self._find(conditions, cls, limit, offset)
        except StorageError:
            if not self._classes.distrust():
                raise
            return self._find(conditions, cls, limit, offset)

    def _find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        wanted = self._wanted(conditions, cls)
        if limit == 0:
            return []
        if not wanted.compared:
            return [item for page in self._pages(wanted, limit, offset) for item in self._all_read(page, cls)]
        found: list[Any] = []
        for item in self._satisfying(wanted, cls):
            if limit is not None and len(found) == offset + limit:
                break
            found.append(item)
        return found[offset:]

    def count(self, conditions: Mapping[str, Any], cls: type[Any]) -> int:
        """How many items satisfy the conditions."""
        wanted = self._wanted(conditions, cls)
        if not wanted.compared:
            return self._kv.count(self._space, where=wanted.pushed)
        return sum(1 for _ in self._satisfying(wanted, cls))

    def _wanted(self, conditions: Mapping[str, Any], cls: type[Any]) -> Conditions:
        wanted = taken_apart(conditions, cls, push=self._adapter is None)
        if self._adapter is not None:
            return wanted
        return wanted._replace(pushed=self._classes.narrowed(wanted.pushed, cls))

    def _satisfying(self, wanted: Conditions, cls: type[Any]) -> Iterator[Any]:
        for page in self._pages(wanted, None, 0, _FIRST_BLOCK):
            yield from filter(wanted.hold_for, self._all_read(page, cls))

    def _pages(
        self, wanted: Conditions, limit: int | None, skip: int, block: int = MAX_LIMIT
    ) -> Iterator[Sequence[Entry]]:
        """The entries the backend finds, read in blocks that grow, since whoever compares further often stops early."""
        cursor = None
        while True:
            size = block if limit is None else min(block, limit)
            page = self._kv.scan(self._space, where=wanted.pushed, limit=size, cursor=cursor, skip=skip)
            yield page.items
            limit = None if limit is None else limit - len(page.items)
            if page.next is None or limit == 0:
                return
            cursor, skip, block = page.next, 0, min(8 * block, MAX_LIMIT)

    # One item

    def _all_read(self, entries: Sequence[Entry], cls: type[Any]) -> list[Any]:
        if self._is_direct:
            return all_made_from([unnoted(one.value) for one in entries], cls, self._serializer)
        return [self._read(unnoted(one.value), cls) for one in entries]

    def _written(self, item: Any) -> Any:
        if self._adapter is not None:
            item = self._adapter.to_storage_format(item)
            if isinstance(item, dict):
                return cast("dict[str, Any]", item)
            if self._format is None or type(item) is not self._format:
                raise StorageError(
                    f"an adapter makes a dict, or the Serializable it names in StorageItemAdapter[Item, Format], "
                    f"not {shown(item)}"
                )
            return item.to_dict() if self._is_plain else self._with_bytes(item)
        fields = item.to_dict() if self._is_plain else self._with_bytes(item)
        return {**fields, CLASS: type(item).__name__} if type(fields) is dict else fields

    def _with_bytes(self, item: Any) -> dict[str, Any]:
        data = self._serializer.serialize(item)
        return {**_scalars(item.to_dict()), _BYTES: base64.b64encode(data).decode()}

    def _read(self, value: Any, cls: type[Any]) -> Any:
        if self._adapter is None:
            return self._made(value, cls)
        stored = value if self._format is None else self._made(value, self._format)
        return self._adapter.from_storage_format(stored)

    def _made(self, value: Any, cls: type[Any]) -> Any:
        if not self._is_plain and type(value) is dict and _BYTES in value:
            return self._serializer.deserialize(_bytes_of(cast("dict[str, Any]", value), cls), cls)
        return made_from(value, cls, self._serializer)


def text_of(identifier: Any) -> str:
    """The text of an identifier. Raises ``StorageError`` when there is none."""
    text: object = getattr(identifier, "str_identifier", None)
    if not isinstance(text, str) or not text:
        raise StorageError(
            f"an item is named by a ResourceIdentifier with a text of its own, not by {shown(identifier)}"
        )
    return text


def _identified(item: Any) -> str:
    return text_of(getattr(item, "identifier", None))


def _scalars(fields: Mapping[str, Any]) -> dict[str, Any]:
    # What is no scalar leaves a mark of its own: a field that is missing would mean that it is at its default.
    return {name: value if is_scalar(value) else [] for name, value in fields.items()}


def _bytes_of(value: Mapping[str, Any], cls: type[Any]) -> bytes:
    try:
        return base64.b64decode(value[_BYTES], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise StorageError(f"what is stored is no {cls.__name__}: {error}") from error


def _declared_format(adapter: Any) -> type[Serializable] | None:
    """The class of what an adapter makes, as it names it; None for a dict."""
    for base in type(adapter).__mro__:
        for generic in getattr(base, "__orig_bases__", ()):
            for argument in getattr(generic, "__args__", ())[1:2]:
                if isinstance(argument, type) and issubclass(argument, Serializable):
                    return argument
    return None


__all__ = ["ItemRows", "text_of"]

"""What a program may bring: a storage of nothing but the abstract methods, a serializer, and a storage of DB-GPT's own."""

from __future__ import annotations

import json
from typing import Any

from memwell.compat.dbgpt.storage import (
    JsonSerializer,
    QuerySpec,
    ResourceIdentifier,
    StorageError,
    StorageInterface,
    StorageItem,
)


class DictStorage(StorageInterface[Any, Any]):
    """Knows nothing of conversations."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, bytes] = {}

    def save(self, data: StorageItem) -> None:
        if data.identifier.str_identifier in self.held:
            raise StorageError("already exists")
        self.update(data)

    def update(self, data: StorageItem) -> None:
        self.held[data.identifier.str_identifier] = self.serializer.serialize(data)

    def save_or_update(self, data: StorageItem) -> None:
        self.update(data)

    def load(self, resource_id: ResourceIdentifier, cls: type[Any]) -> Any:
        found = self.held.get(resource_id.str_identifier)
        return None if found is None else self.serializer.deserialize(found, cls)

    def delete(self, resource_id: ResourceIdentifier) -> None:
        self.held.pop(resource_id.str_identifier, None)

    def query(self, spec: QuerySpec, cls: type[Any]) -> list[Any]:
        found = [self.serializer.deserialize(one, cls) for one in self.held.values()]
        held = [one for one in found if all(getattr(one, name) == value for name, value in spec.conditions.items())]
        return held[spec.offset :][: spec.limit]

    def count(self, spec: QuerySpec, cls: type[Any]) -> int:
        return len(self.query(QuerySpec(spec.conditions), cls))


class Reversed(JsonSerializer):
    """JSON, written backwards, so that nothing can be read without it."""

    def serialize(self, obj: Any) -> bytes:
        return super().serialize(obj)[::-1]

    def deserialize(self, data: bytes, cls: Any) -> Any:
        made = super().deserialize(data[::-1], cls)
        made.set_serializer(self)
        return made


class TheirStorageError(Exception):
    """The StorageError of DB-GPT, which is none of ours."""


class TheirStorage:
    """A stand-in for DB-GPT's ``InMemoryStorage``: it reads every item as one of the class that a query asks for."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def save(self, data: Any) -> None:
        if data.identifier.str_identifier in self.held:
            raise TheirStorageError("already exists")
        self.update(data)

    def update(self, data: Any) -> None:
        if not data._serializer:
            data.set_serializer(JsonSerializer())
        self.held[data.identifier.str_identifier] = data.serialize()

    save_or_update = update

    def save_list(self, data: list[Any]) -> None:
        for one in data:
            self.save(one)

    def save_or_update_list(self, data: list[Any]) -> None:
        for one in data:
            self.update(one)

    def load(self, resource_id: Any, cls: type[Any]) -> Any:
        found = self.held.get(resource_id.str_identifier)
        return None if found is None else cls(**json.loads(found))

    def load_list(self, resource_id: list[Any], cls: type[Any]) -> list[Any]:
        return [one for each in resource_id if (one := self.load(each, cls)) is not None]

    def delete(self, resource_id: Any) -> None:
        self.held.pop(resource_id.str_identifier, None)

    def delete_list(self, resource_id: list[Any]) -> None:
        for one in resource_id:
            self.delete(one)

    def query(self, spec: Any, cls: type[Any]) -> list[Any]:
        return [cls(**json.loads(one)) for one in self.held.values()]

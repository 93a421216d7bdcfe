"""A storage as a program may write its own: nothing but the abstract methods, over a dict of bytes."""

from __future__ import annotations

from typing import Any

from memwell.compat.dbgpt.storage import QuerySpec, ResourceIdentifier, StorageError, StorageInterface, StorageItem


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

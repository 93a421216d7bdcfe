"""Where an entity memory keeps what it knows: a text by the entity's name."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.records import Space
from memwell.storage.files import locked, replace_file
from memwell.storage.sharing import shared_backend
from memwell.values import shown


class BaseEntityStore(ABC):
    """Texts by name. A class of your own gives the five methods; the async twins follow from them."""

    @abstractmethod
    def get(self, key: str, default: str | None = None) -> str | None:
        """What is known of an entity, or the default."""

    @abstractmethod
    def set(self, key: str, value: str | None) -> None:
        """Say what is known of an entity."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Forget an entity."""

    @abstractmethod
    def exists(self, key: str) -> bool:
        """Whether anything is known of an entity."""

    @abstractmethod
    def clear(self) -> None:
        """Forget every entity."""

    aget = asyncify(get)
    aset = asyncify(set)  # noqa: A003 - the method above, not the builtin
    adelete = asyncify(delete)
    aexists = asyncify(exists)
    aclear = asyncify(clear)


class InMemoryEntityStore(BaseEntityStore):
    """Entities in a dict, ``store``, that is the object's own. Deleting one that is not there raises ``KeyError``."""

    def __init__(self, store: Mapping[str, str | None] | None = None) -> None:
        self.store: dict[str, str | None] = {} if store is None else dict(store)

    def get(self, key: str, default: str | None = None) -> str | None:
        """What is known of an entity, or the default."""
        return self.store.get(key, default)

    def set(self, key: str, value: str | None) -> None:
        """Say what is known of an entity; None is kept like any other value."""
        self.store[key] = value

    def delete(self, key: str) -> None:
        """Forget an entity. Raises ``KeyError`` when it is not known."""
        del self.store[key]

    def exists(self, key: str) -> bool:
        """Whether the entity was ever set."""
        return key in self.store

    def clear(self) -> None:
        """Forget every entity."""
        self.store.clear()


class SQLiteEntityStore(BaseEntityStore):
    """Entities in a store of ours in the file ``db_file``, apart for every table name and session.

    Both names must be Python identifiers, or ``InvalidInput`` (a ``ValueError``) is raised. Deleting an entity that is not
    there does nothing. Raises what ``open_backend`` raises.
    """

    def __init__(
        self,
        session_id: str = "default",
        db_file: str | os.PathLike[str] = "entities.db",
        table_name: str = "memory_store",
    ) -> None:
        if not table_name.isidentifier() or not session_id.isidentifier():
            raise InvalidInput("Table name and session ID must be valid Python identifiers.")
        self.session_id = session_id
        self.table_name = table_name
        self._space = Space("langchain", table_name, session_id)
        self._kv = shared_backend(db_file).kv

    @property
    def full_table_name(self) -> str:
        """The two names as one."""
        return f"{self.table_name}_{self.session_id}"

    def get(self, key: str, default: str | None = None) -> str | None:
        """What is known of an entity, or the default."""
        entry = self._kv.get(self._space, key)
        return default if entry is None else str(entry.value)

    def set(self, key: str, value: str | None) -> None:
        """Say what is known of an entity; nothing deletes it."""
        if not value:
            self.delete(key)
        else:
            self._kv.put(self._space, key, value)

    def delete(self, key: str) -> None:
        """Forget an entity, if it is known."""
        self._kv.delete(self._space, key)

    def exists(self, key: str) -> bool:
        """Whether anything is known of an entity."""
        return self._kv.get(self._space, key) is not None

    def clear(self) -> None:
        """Forget every entity of the table and the session."""
        while entries := self._kv.scan(self._space).items:
            for entry in entries:
                self._kv.delete(self._space, entry.key)


class FileEntityStore(BaseEntityStore):
    """Entities in a JSON file, an object of texts by name, which is replaced as a whole by every change.

    Safe for several processes; beside the file lies its lock. Raises ``InvalidInput`` naming the file when it holds
    something else, and never writes to it then.
    """

    def __init__(self, file_path: str | os.PathLike[str] = "entities.json", *, encoding: str = "utf-8") -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding

    def get(self, key: str, default: str | None = None) -> str | None:
        """What is known of an entity, or the default."""
        return self._read().get(key, default)

    def set(self, key: str, value: str | None) -> None:
        """Say what is known of an entity; nothing deletes it."""
        if not value:
            self.delete(key)
            return
        with self._changing() as entities:
            entities[key] = value

    def delete(self, key: str) -> None:
        """Forget an entity, if it is known."""
        with self._changing() as entities:
            entities.pop(key, None)

    def exists(self, key: str) -> bool:
        """Whether anything is known of an entity."""
        return key in self._read()

    def clear(self) -> None:
        """Forget every entity."""
        with self._changing() as entities:
            entities.clear()

    def _read(self) -> dict[str, str]:
        try:
            found: Any = json.loads(self.file_path.read_text(self.encoding))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise InvalidInput(f"{os.fspath(self.file_path)!r} is no file of entities: {error}") from error
        if not isinstance(found, dict):
            raise InvalidInput(f"{os.fspath(self.file_path)!r} is no file of entities: it holds {shown(found)}")
        return cast("dict[str, str]", found)

    @contextmanager
    def _changing(self) -> Generator[dict[str, str]]:
        """What the file holds; when the body has ended, the file holds what was made of it."""
        with locked(self.file_path.with_name(f"{self.file_path.name}.lock")):
            entities = self._read()
            before = dict(entities)
            yield entities
            if entities != before:
                replace_file(self.file_path, json.dumps(entities, ensure_ascii=False, indent=2).encode(self.encoding))


__all__ = ["BaseEntityStore", "FileEntityStore", "InMemoryEntityStore", "SQLiteEntityStore"]

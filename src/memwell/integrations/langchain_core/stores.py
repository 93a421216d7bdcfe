"""Values by key: langchain-core's ``BaseStore``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from langchain_core.stores import BaseStore

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput
from memwell.filters import Where
from memwell.integrations.langchain_core.places import DEFAULT_URL, inner_space
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_text, shown

V = TypeVar("V")
_BLOCK = 500


class _KeyValueStore(BaseStore[str, V]):
    """Values by key, in the order of the keys' code points. A batch is stored whole or not at all.

    Stores of different spaces see nothing of each other. Raises ``InvalidInput`` for a key that is empty or too long.
    """

    def __init__(self, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = shared_backend(url_or_backend)
        self.space = inner_space(space, "store")

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """The values of the keys, in their order; None where there is none."""
        entries = [self.backend.kv.get(self.space, key) for key in keys]
        return [None if entry is None else cast(V, entry.value) for entry in entries]

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Store values, all or none. Raises ``InvalidInput`` for a value that this store does not take."""
        pairs = [(key, self._checked(key, value)) for key, value in key_value_pairs]
        with self.backend.together():
            for key, value in pairs:
                self.backend.kv.put(self.space, key, value)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Drop keys, all or none; those that are not there are passed over."""
        with self.backend.together():
            for key in keys:
                self.backend.kv.delete(self.space, key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys that begin with ``prefix``, or all, in order."""
        cursor: str | None = None
        while True:
            keys, cursor = self._keys(prefix, cursor)
            yield from keys
            if cursor is None:
                return

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The async twin of ``yield_keys``."""
        cursor: str | None = None
        while True:
            keys, cursor = await run_blocking(partial(self._keys, prefix, cursor))
            for key in keys:
                yield key
            if cursor is None:
                return

    async def amget(self, keys: Sequence[str]) -> list[V | None]:
        """The async twin of ``mget``."""
        return await run_blocking(partial(self.mget, keys))

    async def amset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """The async twin of ``mset``."""
        await run_blocking(partial(self.mset, key_value_pairs))

    async def amdelete(self, keys: Sequence[str]) -> None:
        """The async twin of ``mdelete``."""
        await run_blocking(partial(self.mdelete, keys))

    def _keys(self, prefix: str | None, cursor: str | None) -> tuple[list[str], str | None]:
        """A block of keys, and the cursor of the next one or None. Keys of one prefix lie side by side."""
        where = Where("@id", "ge", check_text(prefix, "a prefix")) if prefix else None
        page = self.backend.kv.scan(self.space, where=where, limit=_BLOCK, cursor=cursor)
        keys = [entry.key for entry in page.items]
        found = [key for key in keys if key.startswith(prefix or "")]
        return found, page.next if len(found) == len(keys) else None

    def _checked(self, key: str, value: V) -> V:
        return value


class MemwellStore(_KeyValueStore[Any]):
    """Values by key: plain JSON data or bytes, which come back as they went in. A batch is stored whole or not at all.

    Stores of different spaces see nothing of each other.
    """


class MemwellByteStore(_KeyValueStore[bytes]):
    """Bytes by key, as ``CacheBackedEmbeddings`` and the like want them; shares its keys with ``MemwellStore``."""

    def _checked(self, key: str, value: bytes) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the value of {shown(key)} must be bytes, not {shown(value)}; MemwellStore takes JSON")
        return bytes(value)


__all__ = ["MemwellByteStore", "MemwellStore"]

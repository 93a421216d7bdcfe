"""A cache on disk, or wherever a backend keeps its values, shared by all processes that open the same store."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from memwell.compat.dbgpt.cache.agreement import agree, marks
from memwell.compat.dbgpt.cache.keys import CacheConfig, CachePolicy
from memwell.compat.dbgpt.cache.similarity import NEAREST, KeyText, LazyEmbedder, asked_text, text_of, wants_similar
from memwell.compat.dbgpt.cache.storage import CacheStorage, Key, StorageItem, key_parts, named_item, time_to_live
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import BackendUnavailable
from memwell.records import DEFAULT_SPACE, Record, Space, SpaceLike, as_space, unpack_half
from memwell.runtime.cache import Ring
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_count, check_id

_BATCH = 64
_TEXT, _KEY = "s", "k"
_SPACES = "similar"
_MARK = "read"


class KeyValueCacheStorage(CacheStorage):
    """At most ``max_entries`` entries in the store of any backend; the oldest go first, by the policy.

    ``store`` is a URL, the path of a file or an open backend. LRU is kept by halves: a use makes an entry the newest if it
    is in the older half, so that most reads write nothing. What cannot be read is a miss. One entry takes 16 MB at most.
    """

    def __init__(
        self,
        store: Store,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        name: str = "cache",
        max_entries: int = 10_000,
        cache_policy: CachePolicy | None = None,
        embedder: Any = None,
    ) -> None:
        self._backend = shared_backend(store)
        self._space = as_space(space) / "dbgpt-cache" / check_id(name, "the name of a cache")
        self._policy = CacheConfig(cache_policy=cache_policy).cache_policy
        self._embedder = LazyEmbedder(embedder)
        self._ring = Ring(
            self._backend.kv,
            self._space,
            "item",
            check_count(max_entries, "max_entries", least=1),
            self._backend.transaction,
            renews=True,
            dropped=self._forget_text,
        )

    def __len__(self) -> int:
        return self._ring.count()

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> StorageItem | None:
        """The item of a key, or None. Raises ``InvalidInput`` for a key or a config that is none."""
        digest, item = self._found(key, cache_config)
        if item is not None and self._uses(cache_config):
            # Who waits for the store to be free would wait for a hint only.
            with suppress(BackendUnavailable):
                self._ring.renew(digest)
        return item

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found. It does not count as a use."""
        return self._found(key, cache_config)[1] is not None

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        """Keep a value, for ``ttl`` seconds when given here or in the config, in the place of the oldest if need be.

        Raises ``InvalidInput`` for a value that is none or takes more than 16 MB: then nothing changes.
        """
        if cache_config is not None:
            self.check_config(cache_config)
        name, item = named_item(key, value)
        lifetime = time_to_live(cache_config, ttl)
        digest = _digest(name)
        with self._backend.transaction():
            self._ring.write({digest: item.serialize()}, ttl=lifetime)
            if self._uses(cache_config):
                self._ring.renew(digest)

    def delete(self, key: Key) -> bool:
        """Drop the entry of exactly this key. Returns whether there was one."""
        with self._backend.transaction():
            digest, item = self._exact(key)
            if item is not None:
                self._ring.drop(digest)
        return item is not None

    def clear(self) -> None:
        """Drop everything."""
        with self._backend.transaction():
            self._ring.clear()
            for space in self._text_spaces():
                self._backend.kv.delete(space, _MARK)

    def _uses(self, cache_config: CacheConfig | None) -> bool:
        """Whether a use makes an entry the newest."""
        policy = self._policy or (cache_config and cache_config.cache_policy)
        return policy is not CachePolicy.FIFO

    def _found(self, key: Key, cache_config: CacheConfig | None) -> tuple[str, StorageItem | None]:
        if cache_config is not None:
            self.check_config(cache_config)
        digest, item = self._exact(key)
        if item is None and cache_config is not None and wants_similar(cache_config):
            return self._nearest(key, cache_config.similarity_threshold) or (digest, None)
        return digest, item

    def _exact(self, key: Key) -> tuple[str, StorageItem | None]:
        name, _, data = key_parts(key)
        digest = _digest(name)
        item = self._read(digest)
        return digest, None if item is not None and item.key_data != data else item

    def _read(self, digest: str) -> StorageItem | None:
        """The item in the store; None when there is none, or nothing that can be read."""
        value = self._ring.read(digest)
        try:
            return StorageItem.deserialize(value) if isinstance(value, bytes) else None
        except StorageError:
            return None

    def _nearest(self, key: Key, threshold: float) -> tuple[str, StorageItem] | None:
        """The entry whose key's text is nearest and near enough."""
        field, asked = asked_text(key)
        if asked is None:
            return None
        vector = self._embedder.halves([asked.text])[0]
        if vector is None:
            return None
        numbers = unpack_half(vector)
        space = self._text_space(field, len(numbers))
        self._read_texts(space, field)
        wanted = marks(asked.text)
        while True:
            hits = self._backend.index.near(space, numbers, limit=NEAREST, where={"rest": asked.rest})
            gone: list[str] = []
            for hit in hits:
                if hit.score < threshold:
                    break
                item = self._read(hit.record.id)
                text = None if item is None else _text(hit.record.id, item, field)
                if item is None or text is None:
                    gone.append(hit.record.id)
                elif agree(wanted, marks(text.text)):
                    return hit.record.id, item
            if not gone:
                return None
            # Their time was over. What is nearest behind them counts.
            self._clean(space, gone)

    def _clean(self, space: Space, digests: list[str]) -> None:
        with self._backend.transaction():
            for digest in digests:
                if self._read(digest) is None:
                    self._ring.drop(digest)
            self._backend.index.delete(space, digests)

    def _read_texts(self, space: Space, field: str) -> None:
        """Embed the texts of what was set, by anybody, since somebody last asked for something similar."""
        taken = self._ring.taken()
        entry = self._backend.kv.get(space, _MARK)
        mark = entry.value if entry is not None and isinstance(entry.value, int) else 0
        if mark == taken:
            return
        digests = self._ring.latest(taken - mark if mark < taken else taken)
        for start in range(0, len(digests), _BATCH):
            self._take_in(space, field, digests[start : start + _BATCH])
        self._backend.kv.put(space, _MARK, taken)

    def _take_in(self, space: Space, field: str, digests: list[str]) -> None:
        known = {record.id for record in self._backend.index.get(space, digests)}
        items = {digest: self._read(digest) for digest in digests if digest not in known}
        texts = {digest: text for digest, item in items.items() if item and (text := _text(digest, item, field))}
        vectors = self._embedder.halves([text.text for text in texts.values()])
        records = [
            # The words are in the entry; here they would only be kept a second time.
            Record(
                text="", space=space, id=digest, kind="cache", metadata={"rest": text.rest}, vector=unpack_half(vector)
            )
            for (digest, text), vector in zip(texts.items(), vectors, strict=True)
            if vector is not None
        ]
        with self._backend.transaction():
            # What went meanwhile would never be taken out again.
            self._backend.index.upsert([one for one in records if self._ring.read(one.id) is not None])

    def _text_space(self, field: str, dimensions: int) -> Space:
        """Where the texts of keys with this field are kept, as this embedder sees them."""
        segments = [f".{field}", f"{self._embedder.embedder.name} {dimensions}"]
        if segments not in self._listed():
            with self._backend.transaction():
                self._backend.kv.put(self._space, _SPACES, [*self._listed(), segments])
        return self._space / segments[0] / segments[1]

    def _text_spaces(self) -> list[Space]:
        return [self._space / field / model for field, model in self._listed()]

    def _listed(self) -> list[list[str]]:
        entry = self._backend.kv.get(self._space, _SPACES)
        try:
            listed = [] if entry is None else msgspec.convert(entry.value, list[tuple[str, str]])
        except msgspec.ValidationError:
            # Somebody else wrote here.
            return []
        return [list(one) for one in listed]

    def _forget_text(self, digest: str) -> None:
        for space in self._text_spaces():
            self._backend.index.delete(space, [digest])


def _digest(name: str | bytes) -> str:
    if isinstance(name, str):
        return _TEXT + sha256(name.encode(errors="surrogatepass")).hexdigest()
    return _KEY + sha256(name).hexdigest()


def _text(digest: str, item: StorageItem, field: str) -> KeyText | None:
    return text_of(item.key_data, field, is_text=digest.startswith(_TEXT))


__all__ = ["KeyValueCacheStorage"]

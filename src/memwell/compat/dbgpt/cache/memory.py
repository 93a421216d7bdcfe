"""A cache in this process's memory, bounded by the bytes it takes."""

from __future__ import annotations

import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import compress, islice
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from memwell._asyncify import run_blocking
from memwell.compat.dbgpt.cache.agreement import Marks, agree, marks
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CachePolicy
from memwell.compat.dbgpt.cache.similarity import (
    KeyText,
    LazyEmbedder,
    SimilarTexts,
    asked_text,
    text_of,
    wants_similar,
)
from memwell.compat.dbgpt.cache.storage import CacheStorage, Key, StorageItem, key_parts, named_item, time_to_live
from memwell.errors import InvalidInput
from memwell.values import shown

_MEGABYTE = 1024 * 1024
_ROOM = 512
"""A table with more bytes than this for each of its entries was made for many more, and is made anew."""

_INTEGER = 32
_BATCH = 64
_SWEEP = 8
"""Looking for entries whose time is over costs one look at each; so it happens once in that many writes at most."""


class _Mortal(msgspec.Struct, frozen=True, gc=False):
    """An item and the moment its time is over. One that lives for ever is kept as it is: that is one step less to it."""

    item: StorageItem
    expires: float


_Entry: TypeAlias = StorageItem | _Mortal


class MemoryCacheStorage(CacheStorage):
    """Entries in memory: when they take more than ``max_memory_mb`` the oldest go, by the policy.

    ``cache_policy`` given here stands for every call; without it the config of each call says, and LRU is the default.
    ``embedder`` is for similar keys: any embedder or function of texts, the local one by default. Safe between threads.
    """

    def __init__(
        self, max_memory_mb: float = 256, *, cache_policy: CachePolicy | None = None, embedder: Any = None
    ) -> None:
        self.max_memory = _limit(max_memory_mb)
        self._policy = CacheConfig(cache_policy=cache_policy).cache_policy
        self._renews = self._policy is not CachePolicy.FIFO
        self._embedder = LazyEmbedder(embedder)
        self._entries: OrderedDict[str | bytes, _Entry] = OrderedDict()
        self._held = 0
        self._mortal = 0
        self._soonest = math.inf
        self._writes = 0
        self._similar: dict[str, SimilarTexts[str | bytes]] = {}
        self._unread: dict[str, dict[str | bytes, None]] = {}
        self._lock = threading.Lock()
        self._embedding = threading.Lock()

    @property
    def current_memory_usage(self) -> int:
        """The bytes that the cache takes now: its table, its entries and the vectors of their texts."""
        used = sys.getsizeof(self._entries) + self._held
        return used + _similar_bytes(self._similar, self._unread) if self._similar else used

    def __len__(self) -> int:
        with self._lock:
            self._drop_expired()
            return len(self._entries)

    def support_async(self) -> bool:
        """True: nothing here waits, but for the embedder."""
        return True

    # Reading takes no lock. Every step is one call into C on a table whose keys are plain text or bytes, so that no other
    # thread runs in the midst of one; an entry that goes between two steps is either returned, having been there when the
    # call began, or not moved.

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> StorageItem | None:
        """The item of a key, or None. Raises ``InvalidInput`` for a key or a config that is none."""
        entries = self._entries
        data: bytes | None = None
        if type(key) is str:
            name: str | bytes | None = key
        else:
            known: CacheKey[Any] = key  # pyright: ignore[reportAssignmentType]
            try:
                name, data = known.kept_hash, known.kept_data
            except AttributeError:
                # No key, or one that was never asked.
                name = None
            if name is None or data is None:
                name, _, data = key_parts(key)
        entry = entries.get(name)
        renews: bool | None = self._renews
        if cache_config is not None:
            if type(cache_config) is not CacheConfig or cache_config.renews is None:
                return self._found(key, name, data, cache_config, is_use=True)
            if self._policy is None:
                renews = cache_config.renews
        # Asking whether it is the same object first spares looking at the object itself, which is far away in memory.
        if type(entry) is StorageItem and (data is None or entry.key_data is data or entry.key_data == data):
            if renews:
                try:  # noqa: SIM105  (suppress would take as long as all the rest)
                    entries.move_to_end(name)
                except KeyError:
                    # It went in the meantime.
                    pass
            return entry
        return self._found(key, name, data, cache_config, is_use=True)

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found. It does not count as a use."""
        name, _, data = key_parts(key)
        return self._found(key, name, data, cache_config, is_use=False) is not None

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        """Keep a value, for ``ttl`` seconds when given here or in the config, and drop the oldest to make room.

        Raises ``InvalidInput`` for a value that is none, or that is larger than the whole cache: then nothing changes.
        """
        if cache_config is not None:
            self.check_config(cache_config)
        name, item = named_item(key, value)
        lifetime = time_to_live(cache_config, ttl)
        entry = item if lifetime is None else _Mortal(item, monotonic() + lifetime)
        cost = _cost(name, entry)
        _check_fits(cost, self.max_memory)
        with self._lock:
            self._put(name, entry, cost, self._uses(cache_config))
            self._sweep()
            self._shrink()

    def delete(self, key: Key) -> bool:
        """Drop the entry of exactly this key. Returns whether there was one."""
        with self._lock:
            name, _, data = key_parts(key)
            entry = _entry_of(self._entries, name, data)
            if entry is None:
                return False
            self._let_go(name, self._entries.pop(name))
        return _is_alive(entry, monotonic())

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries = OrderedDict()
            self._held = self._mortal = self._writes = 0
            self._soonest = math.inf
            self._similar, self._unread = {}, {}

    async def aget(self, key: Key, cache_config: CacheConfig | None = None) -> StorageItem | None:
        """The async twin of ``get``. Only an embedder takes so long that a thread is worth its cost."""
        if wants_similar(cache_config):
            return await run_blocking(lambda: self.get(key, cache_config))
        return self.get(key, cache_config)

    async def aset(
        self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None
    ) -> None:
        """The async twin of ``set``."""
        self.set(key, value, cache_config, ttl)

    def _uses(self, cache_config: CacheConfig | None) -> bool:
        """Whether a use makes an entry the newest."""
        if self._policy is not None or cache_config is None:
            return self._renews
        return cache_config.cache_policy is not CachePolicy.FIFO

    def _found(
        self, key: Key, name: str | bytes, data: bytes | None, cache_config: CacheConfig | None, *, is_use: bool
    ) -> StorageItem | None:
        if cache_config is not None:
            self.check_config(cache_config)
        entry = _entry_of(self._entries, name, data)
        if entry is not None and not _is_alive(entry, monotonic()):
            entry = None
        if entry is None and cache_config is not None and wants_similar(cache_config):
            name, entry = self._nearest(key, cache_config.similarity_threshold)
        if entry is None:
            return None
        if is_use and self._uses(cache_config):
            # It may have gone in the meantime.
            with suppress(KeyError):
                self._entries.move_to_end(name)
        return _item_of(entry)

    def _put(self, name: str | bytes, entry: _Entry, cost: int, renews: bool) -> None:
        old = self._entries.get(name)
        if old is not None and isinstance(name, bytes):
            # The table keeps the name it has, which is the old hash: a second one would not be counted.
            entry = _with_hash(entry, _item_of(old).key_hash)
        self._entries[name] = entry
        self._held += cost
        if old is not None:
            self._let_go(name, old)
            if renews:
                self._entries.move_to_end(name)
        if isinstance(entry, _Mortal):
            self._mortal += 1
            self._soonest = min(self._soonest, entry.expires)
        for unread in self._unread.values():
            unread[name] = None

    def _let_go(self, name: str | bytes, entry: _Entry) -> None:
        """Settle the account of an entry that is gone."""
        self._held -= _cost(name, entry)
        self._mortal -= type(entry) is _Mortal
        for similar in self._similar.values():
            similar.drop(name)
        for unread in self._unread.values():
            unread.pop(name, None)

    def _shrink(self) -> None:
        while self.current_memory_usage > self.max_memory:
            if len(self._entries) > 1:
                self._let_go(*self._entries.popitem(last=False))
            if len(self._entries) == 1:
                # It fits by itself: what is too large is what was made for others.
                self._similar, self._unread = {}, {}
            room = sys.getsizeof(self._entries)
            if len(self._entries) == 1 or room > max(_ROOM * len(self._entries), 65536):
                # A table never becomes smaller. Readers of the old one still find what they look for.
                self._entries = OrderedDict(self._entries)
            if len(self._entries) == 1:
                return

    def _sweep(self) -> None:
        self._writes += 1
        if self._mortal and self._writes * _SWEEP > len(self._entries) and monotonic() >= self._soonest:
            self._drop_expired()

    def _drop_expired(self) -> None:
        self._writes = 0
        if not self._mortal or (moment := monotonic()) < self._soonest:
            return
        mortal = _mortal(self._entries)
        for name, expires in mortal:
            if expires <= moment:
                self._let_go(name, self._entries.pop(name))
        self._soonest = min((expires for _, expires in mortal if expires > moment), default=math.inf)

    def _nearest(self, key: Key, threshold: float) -> tuple[str | bytes, _Entry | None]:
        """The live entry whose key's text is nearest and near enough."""
        field, asked = asked_text(key)
        if asked is None:
            return "", None
        # One at a time: two that ask at once would embed the same texts.
        with self._embedding:
            self._read_texts(field)
            vector = self._embedder.halves([asked.text])[0]
        with self._lock:
            self._drop_expired()
            similar = self._similar.get(field)
            if vector is None or similar is None:
                return "", None
            agrees = partial(_agrees, self._entries, marks(asked.text), field)
            found = similar.nearest(vector, asked.rest, threshold, agrees)
            return ("", None) if found is None else (found, self._entries.get(found))

    def _read_texts(self, field: str) -> None:
        """Embed the texts of what was set since somebody last asked for something similar."""
        while texts := self._next_texts(field):
            # Not under the lock: others read and write meanwhile.
            vectors = self._embedder.halves([text.text for text in texts.values()])
            with self._lock:
                similar, unread = self._similar.get(field), self._unread.get(field)
                if similar is None or unread is None:
                    continue
                # What went meanwhile is not taken in, nor what is another key's now.
                held = self._entries
                same = [name in held and _text(name, held[name], field) == text for name, text in texts.items()]
                similar.add(dict(compress(texts.items(), same)), compress(vectors, same))
                for name in compress(texts, same):
                    unread.pop(name, None)
                self._shrink()

    def _next_texts(self, field: str) -> dict[str | bytes, KeyText]:
        """Some texts that are not embedded yet. They count as not embedded until they are."""
        with self._lock:
            self._drop_expired()
            if field not in self._similar:
                self._similar[field] = SimilarTexts()
                self._unread[field] = dict.fromkeys(self._entries)
            return _some_texts(self._unread[field], self._entries, field)


def _mortal(entries: Mapping[str | bytes, _Entry]) -> list[tuple[str | bytes, float]]:
    # A list first: a use moves an entry without the lock, and no loop of ours would outlive that.
    return [(name, one.expires) for name, one in list(entries.items()) if isinstance(one, _Mortal)]


def _agrees(entries: Mapping[str | bytes, _Entry], asked: Marks, field: str, name: str | bytes) -> bool:
    """Whether the text of an entry may stand for the one that is asked for."""
    entry = entries.get(name)
    text = None if entry is None else _text(name, entry, field)
    return text is not None and agree(asked, marks(text.text))


def _some_texts(
    unread: dict[str | bytes, None], entries: Mapping[str | bytes, _Entry], field: str
) -> dict[str | bytes, KeyText]:
    """The first texts of those that are unread; what has none is read."""
    texts: dict[str | bytes, KeyText] = {}
    while unread and not texts:
        for name in list(islice(unread, _BATCH)):
            text = _text(name, entries[name], field)
            if text is None:
                del unread[name]
            else:
                texts[name] = text
    return texts


def _entry_of(entries: Mapping[str | bytes, _Entry], name: str | bytes, data: bytes | None) -> _Entry | None:
    """The entry of a name if its whole key is this one; a text is its own name."""
    entry = entries.get(name)
    if entry is None or data is None or _item_of(entry).key_data == data:
        return entry
    return None


def _similar_bytes(similar: Mapping[str, SimilarTexts[str | bytes]], unread: Mapping[str, object]) -> int:
    return sum(one.nbytes for one in similar.values()) + sum(map(sys.getsizeof, unread.values()))


def _limit(max_memory_mb: object) -> int:
    if isinstance(max_memory_mb, int | float) and not isinstance(max_memory_mb, bool) and 0 < max_memory_mb < math.inf:
        return int(max_memory_mb * _MEGABYTE)
    raise InvalidInput(f"max_memory_mb must be a number above 0, not {shown(max_memory_mb)}")


def _check_fits(cost: int, limit: int) -> None:
    needed = cost + _SMALLEST_TABLE
    if needed > limit:
        raise InvalidInput(f"the entry takes {needed:,} bytes, over the {limit:,} of the whole cache")


def _text(name: str | bytes, entry: _Entry, field: str) -> KeyText | None:
    return text_of(_item_of(entry).key_data, field, is_text=isinstance(name, str))


def _item_of(entry: _Entry) -> StorageItem:
    return entry.item if isinstance(entry, _Mortal) else entry


def _with_hash(entry: _Entry, key_hash: bytes) -> _Entry:
    item = _item_of(entry)
    same = StorageItem(item.length, key_hash, item.key_data, item.value_data, item.form)
    return _Mortal(same, entry.expires) if isinstance(entry, _Mortal) else same


def _is_alive(entry: _Entry, moment: float) -> bool:
    return not isinstance(entry, _Mortal) or entry.expires > moment


def _cost(name: str | bytes, entry: _Entry) -> int:
    """The bytes of all that an entry alone holds on to: the same whenever and with whichever equal name it is asked."""
    item = _item_of(entry)
    data = item.key_data
    cost = _ITEM + _size(data) + _size(item.value_data)
    if isinstance(name, bytes) or name.isascii():
        cost += _size(name)
    else:
        # A text that was once encoded may hold the result and be larger; a fresh one never does.
        cost += _size(data.decode(errors="surrogatepass"))
    if item.length > _SHARED_INTEGERS:
        cost += _INTEGER
    return cost if item is entry else cost + _MORTAL


_size = sys.getsizeof
_SHARED_INTEGERS = 256
_EMPTY = StorageItem(0, b"", b"", b"")
_ITEM = sys.getsizeof(_EMPTY)
_MORTAL = sys.getsizeof(_Mortal(_EMPTY, 0.5)) + sys.getsizeof(0.5)
_SMALLEST_TABLE = sys.getsizeof(OrderedDict({"": _EMPTY}))

__all__ = ["MemoryCacheStorage"]

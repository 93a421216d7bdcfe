"""Values by key in memory: the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from memwell.errors import Conflict
from memwell.filters import Filter, FilterLike, as_filter, holds_for_value
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.copies import copied_entries
from memwell.storage.memory.state import State, Store, Stored, page_of
from memwell.storage.protocols import (
    Entry,
    KeyValue,
)
from memwell.values import check_id, new_version


class MemoryKeyValue(KeyValue):
    """Values by key in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, space: Space, key: str) -> Entry | None:
        given.check_space(space)
        check_id(key, "a key")
        with self._store.use() as state:
            return self._live(state, space, key)

    def _live(self, state: State, space: Space, key: str) -> Entry | None:
        stored = state.entries.get(space, {}).get(key)
        if stored is None or (stored[2] is not None and stored[2] <= self._store.clock()):
            return None
        value, version, expires = stored
        return Entry(key, given.decode_value(value), version, None if expires is None else given.moment(expires))

    def put(
        self,
        space: Space,
        key: str,
        value: Any,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        given.check_space(space)
        check_id(key, "a key")
        expires = given.check_ttl(ttl, self._store.clock())
        encoded = given.encode_value(value)
        given.check_expect(expect)
        with self._store.use() as state:
            self._expect(state, space, key, expect)
            version = new_version()
            held = self._store.undo.opened(state.entries, space, dict[str, Stored])
            self._store.undo.update(held, {key: (encoded, version, expires)})
        moment = None if expires is None else given.moment(expires)
        return Entry(key, given.decode_value(encoded), version, moment)

    def _expect(self, state: State, space: Space, key: str, expect: int | None) -> None:
        if expect is None:
            return
        entry = self._live(state, space, key)
        at = 0 if entry is None else entry.version
        if at != expect:
            raise Conflict(f"key {key!r} is at version {at}, not at the expected {expect}")

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        given.check_space(space)
        check_id(key, "a key")
        given.check_expect(expect)
        with self._store.use() as state:
            self._expect(state, space, key, expect)
            live = self._live(state, space, key) is not None
            self._store.undo.drop(state.entries.get(space, {}), [key])
            return live

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        given.check_space(space)
        wanted = as_filter(where)
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        left_out = given.check_skip(skip)
        with self._store.use() as state:
            keys = sorted(key for key in state.entries.get(space, ()) if start is None or key > start)
            # One more than the page holds says whether there is another.
            kept = list(islice(self._satisfying(state, space, keys, wanted), left_out, left_out + limit + 1))
        return page_of(kept, limit, lambda entry: entry.key)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        given.check_space(space)
        wanted = as_filter(where)
        with self._store.use() as state:
            return sum(1 for _ in self._satisfying(state, space, state.entries.get(space, ()), wanted))

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        given.check_space(space)
        copied = copied_entries(entries)
        if not copied:
            return
        with self._store.use() as state:
            held = self._store.undo.opened(state.entries, space, dict[str, Stored])
            self._store.undo.update(held, {key: one[1:] for key, one in copied.items()})

    def _satisfying(self, state: State, space: Space, keys: Iterable[str], wanted: Filter | None) -> Iterator[Entry]:
        for key in keys:
            entry = self._live(state, space, key)
            if entry is not None and (wanted is None or holds_for_value(wanted, key, entry.value)):
                yield entry


__all__ = ["MemoryKeyValue"]

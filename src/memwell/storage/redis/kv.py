"""Values by key in Redis: the entries of a space share a hash tag.

Keys of a space: the hash ``v`` has the entries, the sorted set ``z`` their keys in order, ``e`` those whose time will be
over. An entry is kept as ``version expires kind value``. The client's clock says whether a time is over, as on every other
store; an entry whose time is over is invisible at once and dropped by later writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from memwell.errors import Conflict
from memwell.filters import Filter, FilterLike, as_filter, holds_for_value
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.placement import copied_entries
from memwell.storage.protocols import Entry, KeyValue
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.running import Argument
from memwell.storage.redis.scripts import define
from memwell.storage.redis.tags import Tag
from memwell.values import check_id, new_version

_AT_ONCE = 1000
"""Entries that one script gives out: a server does nothing else meanwhile."""

_SWEEP = """
local function drop_entry(key)
    drop_member('z', key)
    drop_member('e', key)
    return drop_field('v', key)
end
local function sweep(now)
    local over = redis.call('ZRANGEBYSCORE', base .. 'e', '-inf', now, 'LIMIT', 0, 8)
    for _, key in ipairs(over) do drop_entry(key) end
end
local function live(key, now)
    local entry = redis.call('HGET', base .. 'v', key)
    if not entry then return nil end
    local version, expires = string.match(entry, '^(%d+) (%S+) ')
    if expires ~= '-' and tonumber(expires) <= tonumber(now) then return nil end
    return version
end
local function put(key, entry)
    local expires = string.match(entry, '^%d+ (%S+) ')
    if redis.call('HEXISTS', base .. 'v', key) == 0 then set_score('z', key, '0') end
    set_field('v', key, entry)
    if expires == '-' then drop_member('e', key) else set_score('e', key, expires) end
end
"""

_PUT = define(
    "put",
    _SWEEP
    + """
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    if expect ~= '' then
        local at = live(key, now) or '0'
        if at ~= expect then return at end
    end
    if not listed() then
        if not fresh then return NEW end
        set_field('i', 'in', '1')
    end
    sweep(now)
    put(key, ARGV[FIRST + 3])
    return 1
    """,
    writes=True,
)

_RESTORE = define(
    "restore",
    _SWEEP
    + """
    if not listed() then
        if not fresh then return NEW end
        set_field('i', 'in', '1')
    end
    for n = FIRST, #ARGV, 2 do put(ARGV[n], ARGV[n + 1]) end
    return 1
    """,
    writes=True,
)

_DELETE = define(
    "delete entry",
    _SWEEP
    + """
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    local at = live(key, now)
    if expect ~= '' and (at or '0') ~= expect then return at or '0' end
    drop_entry(key)
    return at and 1 or 0
    """,
    writes=True,
    frees=True,
)

_GET = define("get", "return redis.call('HGET', base .. 'v', ARGV[FIRST])")

_SCAN = define(
    "scan",
    """
    local keys = redis.call('ZRANGEBYLEX', base .. 'z', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])
    local found = {}
    for from = 1, #keys, 500 do
        local to = math.min(#keys, from + 499)
        local entries = redis.call('HMGET', base .. 'v', unpack(keys, from, to))
        for n = from, to do found[#found + 1] = keys[n]; found[#found + 1] = entries[n - from + 1] end
    end
    return found
    """,
)

_COUNT = define(
    "count entries",
    "return redis.call('ZCARD', base .. 'z') - redis.call('ZCOUNT', base .. 'e', '-inf', ARGV[FIRST])",
)

_CHECK = define(
    "check entries",
    """
    local complaints, held = {}, redis.call('HGETALL', base .. 'v')
    local ending = 0
    for n = 1, #held, 2 do
        local expires = string.match(held[n + 1], '^%d+ (%S+) ')
        local score = redis.call('ZSCORE', base .. 'e', held[n])
        if expires ~= '-' then ending = ending + 1 end
        if not redis.call('ZSCORE', base .. 'z', held[n]) or (expires == '-') == (score and true or false) then
            complaints[#complaints + 1] = held[n]
        end
    end
    if #held / 2 ~= redis.call('ZCARD', base .. 'z') or ending ~= redis.call('ZCARD', base .. 'e') then
        complaints[#complaints + 1] = ''
    end
    return complaints
    """,
)


class RedisKeyValue(KeyValue):
    """Values by key in Redis."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock
        self._tags = connections.tags

    def get(self, space: Space, key: str) -> Entry | None:
        tag, now = self._tags.entries(given.check_space(space)), self._clock()
        stored = self._connections.call(_GET, tag, [check_id(key, "a key")])
        return None if stored is None else _live(key, stored, now)

    def put(
        self,
        space: Space,
        key: str,
        value: Any,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        tag, now = self._tags.entries(given.check_space(space)), self._clock()
        check_id(key, "a key")
        expires = given.check_ttl(ttl, now)
        encoded = given.encode_value(value)
        expected = "" if given.check_expect(expect) is None else str(expect)
        version = new_version()
        packed = _packed(version, expires, encoded)
        _check_stored(key, expect, self._connections.call(_PUT, tag, [repr(now), expected, key, packed]))
        moment = None if expires is None else given.moment(expires)
        return Entry(key, given.decode_value(encoded), version, moment)

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        tag, now = self._tags.entries(given.check_space(space)), self._clock()
        check_id(key, "a key")
        expected = "" if given.check_expect(expect) is None else str(expect)
        reply = self._connections.call(_DELETE, tag, [repr(now), expected, key])
        _check_stored(key, expect, reply)
        return bool(reply)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        tag = self._tags.entries(given.check_space(space))
        wanted = as_filter(where)
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        left_out = given.check_skip(skip)
        # One more than the page holds says whether there is another.
        most = left_out + limit + 1 if wanted is None else _AT_ONCE
        kept = list(islice(self._satisfying(tag, wanted, start, most), left_out, left_out + limit + 1))
        return Page(kept[:limit], kept[limit - 1].key if len(kept) > limit else None)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        tag = self._tags.entries(given.check_space(space))
        wanted = as_filter(where)
        if wanted is None:
            return self._connections.call(_COUNT, tag, [repr(self._clock())])
        return sum(1 for _ in self._satisfying(tag, wanted, None, _AT_ONCE))

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        tag = self._tags.entries(given.check_space(space))
        copied = copied_entries(entries)
        arguments: list[Argument] = []
        for key, encoded, version, expires in copied.values():
            arguments += (key, _packed(version, expires, encoded))
        if arguments:
            self._connections.call(_RESTORE, tag, arguments)

    def _satisfying(self, tag: Tag, wanted: Filter | None, start: str | None, most: int) -> Iterator[Entry]:
        now, step = self._clock(), min(most, _AT_ONCE)
        while True:
            found = self._connections.call(_SCAN, tag, ["-" if start is None else f"({start}", step])
            for name, stored in zip(found[::2], found[1::2], strict=True):
                key = name.decode()
                entry = _live(key, stored, now)
                if entry is not None and (wanted is None or holds_for_value(wanted, key, entry.value)):
                    yield entry
                start = key
            if len(found) < 2 * step:
                return

    def complaints(self, space: Space) -> list[str]:
        """What does not agree in a space, in words."""
        found = self._connections.call(_CHECK, self._tags.entries(space))
        return [f"the entries of {space!r} and their order do not agree at {key.decode()!r}" for key in found]

    def any_in(self, space: Space) -> bool:
        """Whether a live entry is there."""
        return self.count(space) > 0


def _check_stored(key: str, expect: int | None, reply: Any) -> None:
    if isinstance(reply, bytes):
        raise Conflict(f"key {key!r} is at version {int(reply)}, not at the expected {expect}")


def _packed(version: int, expires: float | None, encoded: str | bytes) -> bytes:
    kind, data = ("b", encoded) if isinstance(encoded, bytes) else ("j", encoded.encode())
    return f"{version} {'-' if expires is None else repr(expires)} {kind} ".encode() + data


def _live(key: str, stored: bytes, now: float) -> Entry | None:
    version, expires, kind, data = stored.split(b" ", 3)
    end = None if expires == b"-" else float(expires)
    if end is not None and end <= now:
        return None
    value = given.decode_value(data if kind == b"b" else data.decode())
    return Entry(key, value, int(version), None if end is None else given.moment(end))


__all__ = ["RedisKeyValue"]

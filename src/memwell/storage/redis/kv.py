"""Values by key in Redis: the entries of a space share a hash tag.

Keys of a space: the hash ``v`` has the entries, the sorted set ``z`` their keys in order, ``e`` those that expire. An entry
is stored as ``version expires kind value``. The client's clock decides what has expired, as on every other store. An
expired entry is invisible at once and dropped by later writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from memwell.filters import Filter, value_test
from memwell.records import Space
from memwell.storage import arguments as given
from memwell.storage.parts import BaseKeyValue, StoredEntry
from memwell.storage.protocols import Entry
from memwell.storage.redis.scripts import define
from memwell.storage.redis.servers import Argument, Connections

_AT_ONCE = 1000
"""The most entries that one script returns: a server does nothing else meanwhile."""

_HELPERS = """
local function drop_entry(key)
    redis.call('ZREM', base .. 'z', key)
    redis.call('ZREM', base .. 'e', key)
    return redis.call('HDEL', base .. 'v', key)
end
local function version_at(key, now)
    local entry = redis.call('HGET', base .. 'v', key)
    if not entry then return nil end
    local version, expires = string.match(entry, '^(%d+) (%S+) ')
    if expires ~= '-' and tonumber(expires) <= tonumber(now) then return nil end
    return version
end
local function put(key, entry)
    local expires = string.match(entry, '^%d+ (%S+) ')
    redis.call('ZADD', base .. 'z', '0', key)
    redis.call('HSET', base .. 'v', key, entry)
    if expires == '-' then redis.call('ZREM', base .. 'e', key) else redis.call('ZADD', base .. 'e', expires, key) end
end
"""
_MARKED = """
if not listed() then
    if not fresh() then return NEW end
    redis.call('HSET', base .. 'i', 'in', '1')
end
"""
_PUT = define(
    "put",
    f"""{_HELPERS}
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    if expect ~= '' then
        local at = version_at(key, now) or '0'
        if at ~= expect then return at end
    end
    {_MARKED}
    local over = redis.call('ZRANGEBYSCORE', base .. 'e', '-inf', now, 'LIMIT', 0, 8)
    for _, old in ipairs(over) do drop_entry(old) end
    put(key, ARGV[FIRST + 3])
    return 1
    """,
    writes=True,
)
_RESTORE = define(
    "restore",
    f"""{_HELPERS}{_MARKED}
    for n = FIRST, #ARGV, 2 do put(ARGV[n], ARGV[n + 1]) end
    return 1
    """,
    writes=True,
)
_DELETE = define(
    "delete entry",
    f"""{_HELPERS}
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    local at = version_at(key, now)
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
    "count entries", "return redis.call('ZCARD', base .. 'z') - redis.call('ZCOUNT', base .. 'e', '-inf', ARGV[FIRST])"
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


class RedisKeyValue(BaseKeyValue):
    """Values by key in Redis."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._call = connections.call
        self._clock = clock
        self._tags = connections.tags

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        stored = self._call(_GET, self._tags.of_space("k", space), [key])
        return None if stored is None else _live(key, stored, now)

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        arguments = [repr(now), "" if expect is None else str(expect), entry.key, _packed(entry)]
        _check_reply(entry.key, expect, self._call(_PUT, self._tags.of_space("k", space), arguments))

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        arguments = [repr(now), "" if expect is None else str(expect), key]
        reply = self._call(_DELETE, self._tags.of_space("k", space), arguments)
        _check_reply(key, expect, reply)
        return bool(reply)

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        most = skip + limit if where is None else _AT_ONCE
        return list(islice(self._satisfying(space, where, after, most, now), skip, skip + limit))

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        if where is None:
            return self._call(_COUNT, self._tags.of_space("k", space), [repr(now)])
        return sum(1 for _ in self._satisfying(space, where, None, _AT_ONCE, now))

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        arguments: list[Argument] = []
        for entry in entries:
            arguments += (entry.key, _packed(entry))
        if arguments:
            self._call(_RESTORE, self._tags.of_space("k", space), arguments)

    def _satisfying(
        self, space: Space, where: Filter | None, start: str | None, most: int, now: float
    ) -> Iterator[Entry]:
        tag, step = self._tags.of_space("k", space), min(most, _AT_ONCE)
        fits = None if where is None else value_test(where)
        while True:
            found = self._call(_SCAN, tag, ["-" if start is None else f"({start}", step])
            for name, stored in zip(found[::2], found[1::2], strict=True):
                key = name.decode()
                live = _live(key, stored, now)
                entry = None if live is None else live.entry()
                if entry is not None and (fits is None or fits(entry)):
                    yield entry
                start = key
            if len(found) < 2 * step:
                return

    def complaints(self, space: Space) -> list[str]:
        """Contradictions among the entries of a space, in words."""
        found = self._call(_CHECK, self._tags.of_space("k", space))
        return [f"the entries of {space!r} and their order do not agree at {key.decode()!r}" for key in found]


def _check_reply(key: str, expect: int | None, reply: Any) -> None:
    if isinstance(reply, bytes):
        given.check_version(key, int(reply), expect)


def _packed(entry: StoredEntry) -> bytes:
    value, expires = entry.value, "-" if entry.expires is None else repr(entry.expires)
    kind, data = ("b", value) if isinstance(value, bytes) else ("j", value.encode())
    return f"{entry.version} {expires} {kind} ".encode() + data


def _live(key: str, stored: bytes, now: float) -> StoredEntry | None:
    version, expires, kind, data = stored.split(b" ", 3)
    end = None if expires == b"-" else float(expires)
    entry = StoredEntry(key, data if kind == b"b" else data.decode(), int(version), end)
    return entry if entry.lives(now) else None

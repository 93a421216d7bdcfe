"""Looking a whole store over: what is kept in two ways agrees, and what is listed is there and the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from memwell.records import Space, Thread
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.kv import RedisKeyValue
from memwell.storage.redis.log import RedisLog
from memwell.storage.redis.scripts import define
from memwell.storage.redis.spaces import Spaces

_RECORDS = define(
    "check records",
    """
    local complaints, numbers = {}, redis.call('HGETALL', base .. 'n')
    local count = #numbers / 2
    for n = 2, #numbers, 2 do
        if redis.call('HEXISTS', base .. 'r', numbers[n]) == 0 or not redis.call('ZSCORE', base .. 'o', numbers[n]) then
            complaints[#complaints + 1] = 'record ' .. numbers[n - 1] .. ' has no row or no place in the order'
        end
    end
    if redis.call('HLEN', base .. 'r') ~= count or redis.call('ZCARD', base .. 'o') ~= count then
        complaints[#complaints + 1] = 'there are rows of no record'
    end
    for _, number in ipairs(redis.call('HKEYS', base .. 'v')) do
        if redis.call('HEXISTS', base .. 'r', number) == 0 then
            complaints[#complaints + 1] = 'there is a vector of no record'
        end
    end
    return complaints
    """,
)


def check_content(spaces: Spaces, log: RedisLog, kv: RedisKeyValue, connections: Connections) -> list[str]:
    """What does not agree inside of a thread, the entries or the records of a space, in words."""
    complaints: list[str] = []
    for path, kinds in spaces.listed():
        space = Space.decode(path)
        for name in log.names(space) if "l" in kinds else ():
            complaints += [f"thread {name!r}: {one}" for one in log.complaints(Thread(space, name))]
        if "k" in kinds:
            complaints += kv.complaints(space)
        if "r" in kinds:
            found = connections.call(_RECORDS, connections.tags.records(space))
            complaints += [f"the records of {space!r}: {one.decode()}" for one in found]
    return complaints


def check_lists(spaces: Spaces, log: RedisLog) -> list[str]:
    """Threads that are listed and not there, and keys of what is not listed anywhere, in words."""
    spaces.finish_transactions()
    found = set(_misplaced(spaces, log))
    # Others write meanwhile: what is really wrong is still so at a second look.
    return sorted(found & set(_misplaced(spaces, log))) if found else []


def _misplaced(spaces: Spaces, log: RedisLog) -> Iterator[str]:
    there = {key[:-1] for key in spaces.keys("[tlkrb]:*:i")}
    # What a transaction holds may have been made by it, and is listed when it is committed.
    held = {key[:-1] for key in spaces.keys("[tlkrb]:*:l")}
    listed: set[str] = set()
    for path, kinds in spaces.listed():
        space = Space.decode(path)
        listed |= {spaces.tag(space, kind).base for kind in kinds}
        for name in log.names(space) if "l" in kinds else ():
            base = log.base(Thread(space, name))
            listed.add(base)
            if base not in there:
                yield f"thread {name!r} of {space!r} is listed and not there"
    yield from (f"the keys {base!r} are listed nowhere" for base in there - held - listed)


__all__ = ["check_content", "check_lists"]

"""Scripts: everything that is read or written goes through one, over the keys of one tag.

How a part defines and calls one::

    _PUT = define("put", '''
        if not listed() then
            if not fresh then return NEW end
            set_field('i', 'in', '1')
        end
        set_field('v', ARGV[FIRST], ARGV[FIRST + 1])
        return redis.call('HLEN', base .. 'v')
    ''', writes=True)

    count = connections.call(_PUT, tags.entries(space), [key, value])

The body is a Lua function that returns the reply. It finds:

- ``base``: what all keys of the tag begin with. ``base .. 'v'`` is the key that the primitives call ``'v'``. The names
  ``l``, ``u``, ``d`` and those that begin with ``q`` or ``g`` are taken; ``i`` is the hash about the tag itself.
- ``ARGV[FIRST]``, ``ARGV[FIRST + 1]`` …: the arguments of the call, as strings. Values never enter the source.
- ``fresh``, ``listed()``, ``NEW``: a tag that has a parent is listed there. A script that makes the first thing of a tag
  returns ``NEW`` unless ``fresh``; then it is called again with ``fresh`` in a transaction that lists the tag, too.
- the primitives below, the only way to write: inside a transaction each notes what undoes it. Look first and refuse by a
  reply of your own before the first of them, because nothing undoes half a script outside a transaction.

``set_field(key, field, value)``, ``drop_field(key, field)``, ``add_to_field(key, field, number)`` for hashes;
``set_score(key, member, score)``, ``drop_member(key, member)`` for sorted sets; ``set_key(key, value)`` for strings;
``push(key, value)`` for lists; ``drop_key(key)`` for a key of any type, however large, at once.

Reading is ``redis.call``. Before the body runs, the lock of the tag is looked at (others' transactions: the caller waits
and comes again) and, for a script that writes, the seal. A reply may be any number, string or list; it is remembered for
a while under the call's id, so that a call whose answer was lost has one effect (``remembered=False`` for one that knows
its own effect when it sees it; ``again`` is true when it runs once more).

A server that is full refuses whatever could grow, until a script has written: it cannot stop in the middle of one. So a
script that takes away (``frees=True``), one that only reads, and those that transactions are made of begin by deleting
``base``, which never exists, and run to their end on a full server, too.

The two keys that are declared (``base`` itself, which never exists, and the seal) make a cluster that is just moving the
slot answer TRYAGAIN, and not let a script see half of the keys: whoever calls waits until the slot has moved.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

_LOOK = """
local base, sealed = KEYS[1], KEYS[2]
local T, mode, number = ARGV[1], ARGV[2], ARGV[3]
local FIRST = 4
local fresh, again = string.find(mode, 'n', 1, true), string.find(mode, 'a', 1, true)
local NEW = redis.error_reply('MWNEW')
local function listed() return redis.call('HGET', base .. 'i', 'in') end
"""

_LOOK_ALONE = """
local base, mode = KEYS[1], ARGV[2]
local both = redis.call('MGET', base .. 'l', KEYS[2])
if both[2] then return redis.error_reply('MWSEALED') end
if both[1] then return redis.error_reply('MWHELD ' .. both[1]) end
local FIRST = 4
"""

_UNDOING = """
local function undo(mark)
    local list = base .. 'u'
    while true do
        local packed = redis.call('LINDEX', list, -1)
        if not packed then return end
        local n, kind, key, field, old = unpack(cmsgpack.unpack(packed))
        if n <= mark then return end
        redis.call('RPOP', list)
        key = base .. key
        if kind == 'set field' then redis.call('HSET', key, field, old)
        elseif kind == 'drop field' then redis.call('HDEL', key, field)
        elseif kind == 'set score' then redis.call('ZADD', key, old, field)
        elseif kind == 'drop member' then redis.call('ZREM', key, field)
        elseif kind == 'set key' then redis.call('SET', key, old)
        elseif kind == 'drop key' then redis.call('UNLINK', key)
        elseif kind == 'pop' then redis.call('RPOP', key)
        elseif kind == 'bring back' then redis.call('RENAME', field, key)
        end
    end
end
"""

# From the first write on a server lets a script go on, however full it is.
_ROOM = "redis.call('DEL', base)\n"
_ROOM_TO_LOCK = "if T ~= '' and holder ~= T then redis.call('DEL', base) end\n"

_READING = """
local holder = redis.call('GET', base .. 'l')
"""

_WRITING = """
local both = redis.call('MGET', base .. 'l', sealed)
local holder = both[1]
if both[2] then return redis.error_reply('MWSEALED') end
"""

# Who comes again inside a transaction after a lost answer undoes what it may have done, and does it once more.
_LOCKING = """
if T == '' then
    if holder then return redis.error_reply('MWHELD ' .. holder) end
elseif holder ~= T then
    if string.find(mode, 'h', 1, true) then return redis.error_reply('MWFENCED') end
    if holder then return redis.error_reply('MWHELD ' .. holder) end
    redis.call('SET', base .. 'l', T)
elseif again then
    undo(tonumber(number) - 1)
end
"""

_PRIMITIVES = """
local note
if T == '' then
    note = function() end
else
    local n = tonumber(number)
    note = function(kind, key, field, old)
        redis.call('RPUSH', base .. 'u', cmsgpack.pack({n, kind, key, field, old}))
    end
end
local function set_field(key, field, value)
    if T ~= '' then
        local old = redis.call('HGET', base .. key, field)
        if old then note('set field', key, field, old) else note('drop field', key, field, '') end
    end
    redis.call('HSET', base .. key, field, value)
end
local function drop_field(key, field)
    local old = redis.call('HGET', base .. key, field)
    if not old then return 0 end
    note('set field', key, field, old)
    return redis.call('HDEL', base .. key, field)
end
local function add_to_field(key, field, value)
    if T ~= '' then
        local old = redis.call('HGET', base .. key, field)
        if old then note('set field', key, field, old) else note('drop field', key, field, '') end
    end
    return redis.call('HINCRBY', base .. key, field, value)
end
local function set_score(key, member, score)
    if T ~= '' then
        local old = redis.call('ZSCORE', base .. key, member)
        if old then note('set score', key, member, old) else note('drop member', key, member, '') end
    end
    redis.call('ZADD', base .. key, score, member)
end
local function drop_member(key, member)
    local old = redis.call('ZSCORE', base .. key, member)
    if not old then return 0 end
    note('set score', key, member, old)
    return redis.call('ZREM', base .. key, member)
end
local function set_key(key, value)
    if T ~= '' then
        local old = redis.call('GET', base .. key)
        if old then note('set key', key, '', old) else note('drop key', key, '', '') end
    end
    redis.call('SET', base .. key, value)
end
local function push(key, value)
    note('pop', key, '', '')
    return redis.call('RPUSH', base .. key, value)
end
local function drop_key(key)
    if T == '' then return redis.call('UNLINK', base .. key) end
    if redis.call('EXISTS', base .. key) == 0 then return 0 end
    local aside = base .. 'g' .. redis.call('LLEN', base .. 'd')
    redis.call('RPUSH', base .. 'd', aside)
    redis.call('RENAME', base .. key, aside)
    note('bring back', key, aside, '')
    return 1
end
"""

REMEMBERED_S = 180
"""How long replies are remembered: longer than anybody waits for an answer before asking again."""

_RECALLING = """
local receipt = base .. 'q' .. number
if T == '' then
    local known = redis.call('GET', receipt)
    if known then return cmsgpack.unpack(known)[1] end
end
"""

_REMEMBERING = f"""
local reply = main()
if T == '' and not (type(reply) == 'table' and reply.err) then
    redis.call('SET', receipt, cmsgpack.pack({{reply}}), 'EX', {REMEMBERED_S})
end
return reply
"""


class Script(NamedTuple):
    """A script: its source, the digest a server knows it by, and whether it writes."""

    name: str
    source: str
    digest: str
    writes: bool
    alone: Script | None = None
    """A leaner one that does the same outside of transactions."""


def define(
    name: str,
    body: str,
    *,
    writes: bool = False,
    frees: bool = False,
    remembered: bool = True,
    alone: Script | None = None,
) -> Script:
    """A script over one tag, with the lock looked at in front of the body. See the top of this module."""
    pieces = [_LOOK, _UNDOING]
    if writes and remembered:
        pieces.append(_RECALLING)
    pieces.append(_WRITING if writes else _READING)
    if frees or not writes:
        pieces.append(_ROOM if writes else _ROOM_TO_LOCK)
    pieces.append(_LOCKING)
    if writes:
        pieces.append(_PRIMITIVES)
    pieces += ["local function main()\n", body, "\nend\n"]
    pieces.append(_REMEMBERING if writes and remembered else "return main()\n")
    return _script(name, pieces, writes=writes)._replace(alone=alone)


def define_alone(name: str, body: str) -> Script:
    """A script that writes, for use outside of transactions alone, without primitives: making those takes a while.

    It writes by ``redis.call``, and knows its own effect when it sees it.
    """
    return _script(name, [_LOOK_ALONE, body], writes=True)


def define_unlocked(name: str, body: str, *, writes: bool = True) -> Script:
    """A script that does not look at locks: what transactions themselves are made of. It may call ``undo(mark)``."""
    return _script(name, [_LOOK, _UNDOING, _ROOM if writes else "", body], writes=writes)


def _script(name: str, pieces: list[str], *, writes: bool) -> Script:
    source = "".join(pieces)
    # The digest names the script to the server and protects nothing.
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), writes)


__all__ = ["REMEMBERED_S", "Script", "define", "define_alone", "define_unlocked"]

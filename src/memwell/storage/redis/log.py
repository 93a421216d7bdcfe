"""Conversations in Redis: the keys of a thread share a hash tag, so every change of a thread is one script on one server.

Keys of a thread: the hash ``i`` has its listing, ``m`` its rows by index, ``n`` the index of every id, ``v``
the earlier versions of a place. A row is ``round tokens time length-of-id id`` and the JSON of the message; one whose
message was removed begins with ``-`` and has no JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.messages import Message, Role, decode_message
from memwell.records import Space, Thread
from memwell.storage import arguments as given
from memwell.storage.parts import (
    MAX_INDEX,
    BaseLog,
    CopiedPlace,
    CopiedThread,
    Placed,
    Prepared,
    StoredPlace,
    StoredVersion,
    Tail,
    ThreadRow,
    check_follows,
    check_new_ids,
    place,
    replaced_body,
    taken_id,
)
from memwell.storage.protocols import ThreadInfo
from memwell.storage.redis.scripts import BURY, GENERATION, MEMBERS, REMEMBERED_S, UNLIST, HashTag, define
from memwell.storage.redis.servers import Argument, Connections

_AT_ONCE = 5_000
"""The most messages that one script returns: a server does nothing else meanwhile."""
_BOUND = MAX_INDEX + 1


class _Row(NamedTuple):
    """A stored place; ``body`` is empty for a removed message."""

    round: int
    tokens: int
    id: str
    body: str


class _Info(NamedTuple):
    """The stored listing of a thread."""

    first: int
    next: int
    messages: int
    tokens: int
    round: int
    created: float
    updated: str
    metadata: str
    ended: int
    edits: int
    last: int

    @property
    def seen(self) -> str:
        """The state that a script compares, to detect changes."""
        return f"{self.next} {self.round} {self.ended} {self.edits} {self.last}"

    def shown(self, thread: Thread) -> ThreadInfo:
        """The same for readers."""
        row = ThreadRow(*self[:6], *self[7:10])
        return row.info(thread, self.updated)


# Scripts

# Indexes may have gaps of any width; then the rows are listed, and not every number in between.
_INDEXES = """
local AT_ONCE = 500
local function indexes(low, high)
    local found = {}
    if high < low then return found end
    if high - low > 1000 + 4 * redis.call('HLEN', base .. 'm') then
        for _, key in ipairs(redis.call('HKEYS', base .. 'm')) do
            local index = tonumber(key)
            if index >= low and index <= high then found[#found + 1] = index end
        end
        table.sort(found)
    else
        for index = low, high do found[#found + 1] = index end
    end
    return found
end
local function rows(found, from, to)
    local names = {}
    for at = from, to do names[#names + 1] = string.format('%.0f', found[at]) end
    return redis.call('HMGET', base .. 'm', unpack(names))
end
local function lives(row) return row and string.byte(row) ~= 45 end
"""

_NEWEST = (
    _INDEXES
    + """
local function newest(low, high)
    local found = indexes(low, high)
    local to = #found
    while to > 0 do
        local from = math.max(1, to - 19)
        local some = rows(found, from, to)
        for at = #some, 1, -1 do
            if lives(some[at]) then return string.match(some[at], '^%d+ %d+ (%S+) ') end
        end
        to = from - 1
    end
    return ''
end
"""
)

# One command a key, however many messages. Ids in use are refused. A repeated call that finds its own messages in a row was
# stored by the first try.
_APPEND = define(
    "append",
    """
    local first, count = FIRST + 4, (#ARGV - FIRST - 3) / 3
    local ids, found = {}, nil
    for arg = first, #ARGV, 3 do ids[#ids + 1] = ARGV[arg] end
    for from = 1, count, 1000 do
        for n, place in ipairs(redis.call('HMGET', base .. 'n', unpack(ids, from, math.min(from + 999, count)))) do
            if place and not again then return {'taken', ids[from + n - 1]} end
            found = found or place
        end
    end
    if found then
        local mine, before = {'again'}, nil
        for n, id in ipairs(ids) do
            local place, encoded = redis.call('HGET', base .. 'n', id), ARGV[first + 3 * n - 1]
            local row = place and (n == 1 or tonumber(place) == before + 1) and redis.call('HGET', base .. 'm', place)
            if not row or string.sub(row, -#encoded) ~= encoded then return {'taken', id} end
            mine[n + 1], before = place .. ' ' .. string.match(row, '^%d+'), tonumber(place)
        end
        return mine
    end
    local known = redis.call('HMGET', base .. 'i', 'next', 'round', 'ended', 'messages')
    if not known[1] then
        if not fresh() then return NEW end
        known = {'0', '0', '-1', '0'}
        redis.call('HSET', base .. 'i', 'first', '0', 'ended', '-1', 'tokens', '0', 'metadata', '{}', 'edits', '0',
            'created', ARGV[FIRST])
    end
    local index, round, ended = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
    if index + count > 4294967296 then return {'full', known[1]} end
    local m, n, at, kinds, within = {}, {}, 1, ARGV[FIRST + 3], '' .. round
    for arg = first, #ARGV, 3 do
        if round == ended or string.byte(kinds, (at + 1) / 2) == 104 then
            round = round + 1
            within = '' .. round
        end
        local name = '' .. index
        m[at], n[at], n[at + 1] = name, ARGV[arg], name
        m[at + 1] = within .. ARGV[arg + 1] .. '{"index":' .. name .. ',"round":' .. within .. ',' .. ARGV[arg + 2]
        index, at = index + 1, at + 2
    end
    for from = 1, 2 * count, 1000 do
        local to = math.min(from + 999, 2 * count)
        redis.call('HSET', base .. 'm', unpack(m, from, to))
        redis.call('HSET', base .. 'n', unpack(n, from, to))
    end
    redis.call('HSET', base .. 'i', 'next', '' .. index, 'round', within, 'last', '' .. (index - 1),
        'messages', '' .. (known[4] + count), 'updated', ARGV[FIRST + 2])
    if ARGV[FIRST + 1] ~= '0' then redis.call('HINCRBY', base .. 'i', 'tokens', ARGV[FIRST + 1]) end
    return {tonumber(known[1]), tonumber(known[2]), ended}
    """,
    writes=True,
    remembered=False,
)

_GIVEN = f"return redis.call('HMGET', base .. 'i', {', '.join(map(repr, _Info._fields))})"
_INFO = define("thread info", _GIVEN)

# Rows with places computed by the client: refused when the thread has changed meanwhile.
_EXTEND = define(
    "extend",
    """
    local known = redis.call('HMGET', base .. 'i', 'next', 'round', 'ended', 'edits', 'last')
    local seen = known[1] and table.concat(known, ' ') or ''
    local fields, count = tonumber(ARGV[FIRST + 1]), tonumber(ARGV[FIRST + 2])
    local at = FIRST + 3 + 2 * fields
    if again and known[1] and seen ~= ARGV[FIRST] and count > 0 then
        local there = redis.call('HGET', base .. 'm', ARGV[at + 3 * count - 3])
        if there == ARGV[at + 3 * count - 1] then return 'done' end
    end
    if seen ~= ARGV[FIRST] then return 'moved' end
    if seen == '' and not fresh() then return NEW end
    for n = 1, count do
        local id = ARGV[at + 3 * n - 2]
        if redis.call('HEXISTS', base .. 'n', id) == 1 then return {'taken', id} end
    end
    for n = 1, fields do
        local name, value = ARGV[FIRST + 1 + 2 * n], ARGV[FIRST + 2 + 2 * n]
        if string.byte(name) == 43 then
            redis.call('HINCRBY', base .. 'i', string.sub(name, 2), value)
        else
            redis.call('HSET', base .. 'i', name, value)
        end
    end
    for n = 1, count do
        redis.call('HSET', base .. 'm', ARGV[at + 3 * n - 3], ARGV[at + 3 * n - 1])
        redis.call('HSET', base .. 'n', ARGV[at + 3 * n - 2], ARGV[at + 3 * n - 3])
    end
    for n = at + 3 * count, #ARGV, 2 do redis.call('HSET', base .. 'v', ARGV[n], ARGV[n + 1]) end
    return 'done'
    """,
    writes=True,
    remembered=False,
)

_READ = define(
    "read",
    _INDEXES
    + """
    local known = redis.call('HMGET', base .. 'i', 'first', 'next')
    if not known[1] then return {} end
    local low = math.max(tonumber(known[1]), tonumber(ARGV[FIRST]) + 1)
    local high = math.min(tonumber(known[2]), tonumber(ARGV[FIRST + 1])) - 1
    local most, backwards = tonumber(ARGV[FIRST + 2]), ARGV[FIRST + 3] == 'last'
    local found
    if #ARGV == FIRST + 3 then
        found = indexes(low, high)
    else
        found = {}
        local seen = {}
        for n = FIRST + 5, #ARGV do
            local index = tonumber(redis.call('HGET', base .. 'n', ARGV[n]) or -1)
            if index >= low and index <= high and not seen[index] then
                seen[index] = true
                found[#found + 1] = index
            end
        end
        table.sort(found)
    end
    local answer = {}
    local from, step = 1, AT_ONCE
    while from <= #found and #answer < most do
        local some
        local to = math.min(#found, from + math.min(AT_ONCE, most + 20) - 1)
        if backwards then some = rows(found, #found - to + 1, #found - from + 1) else some = rows(found, from, to) end
        for n = 1, #some do
            local row = some[backwards and #some - n + 1 or n]
            if lives(row) and #answer < most then answer[#answer + 1] = row end
        end
        from = to + 1
    end
    return answer
    """,
)

_ROWS = define(
    "rows",
    """
    local found = {redis.call('HGET', base .. 'i', 'edits'), redis.call('HGET', base .. 'i', 'created')}
    for n = FIRST, #ARGV do found[#found + 1] = redis.call('HGET', base .. 'm', ARGV[n]) end
    return found
    """,
)

_EDIT = define(
    "edit",
    _NEWEST
    + """
    local known = redis.call('HMGET', base .. 'i', 'edits', 'created', 'first', 'next')
    if not known[1] or known[1] ~= ARGV[FIRST] or known[2] ~= ARGV[FIRST + 1] then return 'moved' end
    for n = FIRST + 5, #ARGV, 2 do
        local old = redis.call('HGET', base .. 'm', ARGV[n])
        local body = false
        if lives(old) then
            local length, start = string.match(old, '^%d+ %d+ %S+ (%d+) ()')
            body = string.sub(old, start + tonumber(length))
        end
        local earlier = redis.call('HGET', base .. 'v', ARGV[n])
        local versions = earlier and cmsgpack.unpack(earlier) or {}
        versions[#versions + 1] = {ARGV[FIRST + 2], body}
        redis.call('HSET', base .. 'v', ARGV[n], cmsgpack.pack(versions))
        redis.call('HSET', base .. 'm', ARGV[n], ARGV[n + 1])
    end
    redis.call('HINCRBY', base .. 'i', 'edits', (#ARGV - FIRST - 4) / 2)
    redis.call('HINCRBY', base .. 'i', 'tokens', ARGV[FIRST + 3])
    redis.call('HINCRBY', base .. 'i', 'messages', ARGV[FIRST + 4])
    redis.call('HSET', base .. 'i', 'updated', newest(tonumber(known[3]), tonumber(known[4]) - 1))
    return 'done'
    """,
    writes=True,
)

_UNPACKED = """
local function unpacked(packed)
    local found = {}
    for n, version in ipairs(packed and cmsgpack.unpack(packed) or {}) do
        found[n] = version[2] and {version[1], version[2]} or {version[1]}
    end
    return found
end
"""
_VERSIONS = define("versions", _UNPACKED + "return unpacked(redis.call('HGET', base .. 'v', ARGV[FIRST]))")

_PLACES = define(
    "places",
    _INDEXES
    + _UNPACKED
    + """
    local known = redis.call('HMGET', base .. 'i', 'first', 'next')
    if not known[1] then return {} end
    local found = indexes(math.max(tonumber(known[1]), tonumber(ARGV[FIRST]) + 1), tonumber(known[2]) - 1)
    local answer, most = {}, tonumber(ARGV[FIRST + 1])
    for from = 1, #found, AT_ONCE do
        local some = rows(found, from, math.min(#found, from + AT_ONCE - 1))
        for n = 1, math.min(AT_ONCE, #found - from + 1) do
            if some[n] then
                if #answer == most then return answer end
                local name = string.format('%.0f', found[from + n - 1])
                answer[#answer + 1] = {name, some[n], unpacked(redis.call('HGET', base .. 'v', name))}
            end
        end
    end
    return answer
    """,
)

_TRIM = define(
    "trim",
    _NEWEST
    + """
    local known = redis.call('HMGET', base .. 'i', 'first', 'next', 'last')
    if not known[1] then return 0 end
    local first, next, last = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
    local spared = {}
    for n = FIRST + 1, #ARGV do spared[tonumber(ARGV[n])] = true end
    local stop = math.min(tonumber(ARGV[FIRST]), next)
    local found, oldest, latest, live, tokens = indexes(first, stop - 1), stop, -1, 0, 0
    for from = 1, #found, AT_ONCE do
        local some = rows(found, from, math.min(#found, from + AT_ONCE - 1))
        for n = 1, math.min(AT_ONCE, #found - from + 1) do
            local index, row = found[from + n - 1], some[n]
            if row and spared[index] then
                oldest, latest = math.min(oldest, index), index
            elseif row then
                local name = string.format('%.0f', index)
                local sign, counted, length, start = string.match(row, '^(%-?)%d+ (%d+) %S+ (%d+) ()')
                if sign == '' then live = live + 1 end
                tokens = tokens + tonumber(counted)
                redis.call('HDEL', base .. 'n', string.sub(row, start, start + tonumber(length) - 1))
                redis.call('HDEL', base .. 'm', name)
                redis.call('HDEL', base .. 'v', name)
            end
        end
    end
    if oldest > first then redis.call('HSET', base .. 'i', 'first', string.format('%.0f', oldest)) end
    if last < stop and latest ~= last then redis.call('HSET', base .. 'i', 'last', string.format('%.0f', latest)) end
    if live == 0 then return 0 end
    redis.call('HINCRBY', base .. 'i', 'messages', -live)
    if tokens > 0 then redis.call('HINCRBY', base .. 'i', 'tokens', string.format('%.0f', -tokens)) end
    redis.call('HINCRBY', base .. 'i', 'edits', 1)
    redis.call('HSET', base .. 'i', 'updated', newest(first, next - 1))
    return live
    """,
    writes=True,
    frees=True,
)

_DELETE = define(
    "delete thread",
    """
    if redis.call('EXISTS', base .. 'i') == 0 then return 0 end
    redis.call('UNLINK', base .. 'i', base .. 'm', base .. 'n', base .. 'v')
    bury(ARGV[FIRST])
    return 1
    """,
    writes=True,
    frees=True,
)

# The reply holds user data, so it is not kept under the call's number.
_ANNOTATE = define(
    "annotate",
    f"""
    if again and redis.call('EXISTS', base .. 'q' .. number) == 1 then {_GIVEN} end
    if redis.call('EXISTS', base .. 'i') == 0 then
        if not fresh() then return NEW end
        redis.call('HSET', base .. 'i', 'next', '0', 'round', '0', 'messages', '0', 'first', '0', 'ended', '-1',
            'tokens', '0', 'edits', '0', 'last', '-1', 'updated', '', 'metadata', '{{}}', 'created', ARGV[FIRST])
    end
    if ARGV[FIRST + 1] ~= '' then redis.call('HSET', base .. 'i', 'metadata', ARGV[FIRST + 1]) end
    if ARGV[FIRST + 2] == '1' then
        redis.call('HSET', base .. 'i', 'ended', redis.call('HGET', base .. 'i', 'round'))
    end
    redis.call('SET', base .. 'q' .. number, '1', 'EX', {REMEMBERED_S})
    {_GIVEN}
    """,
    writes=True,
    remembered=False,
)

_CHECK = define(
    "check thread",
    """
    local known = redis.call('HMGET', base .. 'i', 'messages', 'tokens', 'next', 'first', 'last')
    local complaints, count, live, tokens, last = {}, 0, 0, 0, -1
    if not known[1] then return complaints end
    local held = redis.call('HGETALL', base .. 'm')
    for n = 1, #held, 2 do
        local sign, counted, length, start = string.match(held[n + 1], '^(%-?)%d+ (%d+) %S+ (%d+) ()')
        local id = string.sub(held[n + 1], start, start + tonumber(length) - 1)
        count, tokens, last = count + 1, tokens + tonumber(counted), math.max(last, tonumber(held[n]))
        if sign == '' then live = live + 1 end
        if redis.call('HGET', base .. 'n', id) ~= held[n] then
            complaints[#complaints + 1] = 'the id at index ' .. held[n] .. ' leads to another index'
        end
        if tonumber(held[n]) < tonumber(known[4]) or tonumber(held[n]) >= tonumber(known[3]) then
            complaints[#complaints + 1] = 'index ' .. held[n] .. ' lies outside of the thread'
        end
    end
    if count ~= redis.call('HLEN', base .. 'n') then complaints[#complaints + 1] = 'there are ids without a message' end
    if live ~= tonumber(known[1]) then complaints[#complaints + 1] = 'the number of messages is wrong' end
    if tokens ~= tonumber(known[2]) then complaints[#complaints + 1] = 'the sum of tokens is wrong' end
    if last ~= tonumber(known[5]) then complaints[#complaints + 1] = 'the last index is wrong' end
    for _, index in ipairs(redis.call('HKEYS', base .. 'v')) do
        if redis.call('HEXISTS', base .. 'm', index) == 0 then
            complaints[#complaints + 1] = 'there are versions of index ' .. index .. ', which holds nothing'
        end
    end
    return complaints
    """,
)


class RedisLog(BaseLog):
    """Conversations in Redis."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._call = connections.call
        self._call_many = connections.call_many
        self._clock = clock
        self._tags = connections.tags

    # Writing

    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        if not prepared:
            return []
        check_new_ids(message.id for message, _ in prepared)
        tag = self._tags.thread_of(thread)
        return self._kept(tag, prepared) if keep_places else self._appended(tag, prepared)

    def _appended(self, tag: HashTag, prepared: Prepared) -> list[Placed]:
        tokens, kinds, parts = 0, "", list[Argument]()
        for message, encoded in prepared:
            count, id_ = message.tokens or 0, message.id.encode()
            tokens += count
            kinds += "h" if message.role is Role.HUMAN else "o"
            parts += (id_, f" {count} {message.time.isoformat()} {len(id_)} {message.id}", encoded)
        arguments = [repr(self._clock()), tokens, prepared[-1][0].time.isoformat(), kinds, *parts]
        return _placed(prepared, self._call(_APPEND, tag, arguments))

    def _kept(self, tag: HashTag, prepared: Prepared) -> list[Placed]:
        """Append messages with the places they carry. The thread must not change meanwhile."""
        while True:
            known = self._known(tag)
            tail = Tail(0, 0, -1) if known is None else Tail(known.next, known.round, known.ended)
            placed = place(prepared, tail, keep_places=True)
            last = placed[-1]
            fields: dict[str, Argument] = {"next": last.index + 1, "round": last.round, "last": last.index}
            if known is None:
                fields |= {"first": 0, "ended": -1, "created": repr(self._clock()), "metadata": "{}", "edits": 0}
            fields |= {"+messages": len(placed), "+tokens": sum(one.tokens for one in placed)}
            fields["updated"] = prepared[-1][0].time.isoformat()
            rows = [
                (one.index, one.id, _packed_row(one.round, one.tokens, message.time, one.id, one.body))
                for one, (message, _) in zip(placed, prepared, strict=True)
            ]
            if self._extended(tag, known, fields, rows):
                return placed

    def _known(self, tag: HashTag) -> _Info | None:
        return _info_of(self._call(_INFO, tag))

    def _extended(
        self,
        tag: HashTag,
        known: _Info | None,
        fields: Mapping[str, Argument],
        rows: Sequence[tuple[int, str, bytes]],
        versions: Sequence[tuple[int, bytes]] = (),
    ) -> bool:
        """Store places behind the known end; False when the thread has changed. Raises ``Conflict``."""
        arguments: list[Argument] = ["" if known is None else known.seen, len(fields), len(rows)]
        arguments += [part for pair in fields.items() for part in pair]
        arguments += [part for row in rows for part in row]
        arguments += [part for pair in versions for part in pair]
        reply: list[bytes] | bytes = self._call(_EXTEND, tag, arguments)
        if isinstance(reply, list):
            raise taken_id(reply[1].decode())
        return reply == b"done"

    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> Iterable[str | None]:
        tag = self._tags.thread_of(thread)
        while True:
            edits, created, *stored = self._call(_ROWS, tag, list(wanted))
            bodies: dict[int, str | None] = {}
            arguments: list[Argument] = [edits or b"", created or b"", repr(self._clock()), 0, 0]
            for (index, message), data in zip(wanted.items(), stored, strict=True):
                if data is None:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                row = _row(data)
                bodies[index] = body = None if message is None else replaced_body(message, index, row.round, row.id)
                if body is not None or row.body:
                    _note_change(arguments, index, row, message, body)
            if len(arguments) == 5 or self._call(_EDIT, tag, arguments) == b"done":
                return bodies.values()

    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        return self._call(_TRIM, self._tags.thread_of(thread), [before, *spared])

    def _delete(self, thread: Thread) -> bool:
        tag = self._tags.thread_of(thread)
        return self._unlisted(tag, lambda generation: self._call(_DELETE, tag, [generation]))

    def forget_name(self, thread: Thread) -> None:
        """Remove the name of a thread from the list, if the thread does not exist."""
        tag = self._tags.thread_of(thread)
        self._unlisted(tag, lambda generation: self._call(BURY, tag, [generation, "i"]))

    def _unlisted(self, tag: HashTag, emptied: Callable[[bytes], int]) -> bool:
        """Remove a tag from its list if ``emptied`` empties it or finds it empty; whether it does."""
        assert tag.parent is not None
        generation: bytes = self._call(GENERATION, tag.parent, [tag.member])
        if not emptied(generation):
            return False
        self._call(UNLIST, tag.parent, [tag.member, generation])
        return True

    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        arguments = [repr(self._clock()), metadata or "", int(end_round)]
        info = _info_of(self._call(_ANNOTATE, self._tags.thread_of(thread), arguments))
        if info is None:
            raise Conflict(f"thread {thread.id!r} was annotated, and then deleted by another caller")
        return info.shown(thread)

    # Reading

    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        tag, low, high = self._tags.thread_of(thread), wanted.low - 1, wanted.high + 1
        named: list[Argument] = [] if wanted.ids is None else ["ids", *wanted.ids]
        count = wanted.last if wanted.last is not None else wanted.first
        side = "first" if wanted.last is None else "last"
        rows: list[_Row] = []
        while count is None or len(rows) < count:
            most = _AT_ONCE if count is None else min(count - len(rows), _AT_ONCE)
            some = list(map(_row, self._call(_READ, tag, [low, high, most, side, *named])))
            rows += some
            if len(some) < most:
                break
            # A script returns a limited number; the next one goes on from there.
            reached = decode_message(some[-1].body).index or 0
            low, high = (low, reached) if wanted.last is not None else (reached, high)
        if wanted.last is not None:
            rows.reverse()
        return [row.body for row in rows]

    def _versions(self, thread: Thread, index: int) -> list[StoredVersion]:
        return _versions(self._call(_VERSIONS, self._tags.thread_of(thread), [index]))

    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        if ids is not None:
            return self._infos(space, [name for name in ids if after is None or name > after])
        found: list[ThreadInfo] = []
        while len(found) < limit and (names := self._listed(space, after, limit)):
            found += self._infos(space, names)
            after = names[-1]
        return found

    def _listed(self, space: Space, start: str | None, limit: int) -> list[str]:
        members = self._call(MEMBERS, self._tags.of_space("l", space), ["-" if start is None else f"({start}", limit])
        return [member.decode() for member in members]

    def _infos(self, space: Space, names: Sequence[str]) -> list[ThreadInfo]:
        threads = [Thread(space, name) for name in names]
        replies = self._call_many(_INFO, [(self._tags.thread_of(one), ()) for one in threads])
        infos = zip(threads, map(_info_of, replies), strict=True)
        # A caller that died may leave a name without a thread.
        return [info.shown(thread) for thread, info in infos if info is not None]

    # The whole

    def names(self, space: Space) -> Iterator[str]:
        """The listed thread ids of a space, whether their threads exist or not."""
        start: str | None = None
        while names := self._listed(space, start, _AT_ONCE):
            yield from names
            start = names[-1]

    def complaints(self, thread: Thread) -> list[str]:
        """In what a thread's listing disagrees with its rows, in words."""
        return [one.decode() for one in self._call(_CHECK, self._tags.thread_of(thread))]

    # Copying

    def _places(self, thread: Thread, start: int, limit: int) -> list[StoredPlace]:
        tag, after, found = self._tags.thread_of(thread), start - 1, list[StoredPlace]()
        while len(found) < limit:
            most = min(limit - len(found), _AT_ONCE)
            some = [_place(*one) for one in self._call(_PLACES, tag, [after, most])]
            found += some
            if len(some) < most:
                break
            after = some[-1][0]
        return found

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        tag, copied = self._tags.thread_of(thread), places
        fields: dict[str, Argument] = {
            "first": wanted.first,
            "next": wanted.next,
            "round": wanted.round,
            "ended": wanted.ended,
            "edits": wanted.edits,
            "created": repr(wanted.created),
            "metadata": wanted.metadata,
            "+messages": sum(one.body is not None for one in copied),
            "+tokens": sum(one.tokens for one in copied),
        }
        rows = [(one.index, one.id, _copied_row(one)) for one in copied]
        versions = [(one.index, _packed_versions(one)) for one in copied if one.versions]
        live = [one.body for one in copied if one.body is not None]
        while True:
            known = self._known(tag)
            for one in copied[:1]:
                check_follows(one, -1 if known is None else known.last)
            updated = decode_message(live[-1]).time.isoformat() if live else "" if known is None else known.updated
            last = copied[-1].index if copied else -1 if known is None else known.last
            if self._extended(tag, known, fields | {"updated": updated, "last": last}, rows, versions):
                return


# Rows


def _packed_row(round_: int, tokens: int, time: datetime | None, id_: str, body: str | None) -> bytes:
    """A place in its stored form; without a time, of a removed message."""
    encoded = id_.encode()
    sign, moment = ("-", "-") if time is None else ("", time.isoformat())
    return f"{sign}{round_} {tokens} {moment} {len(encoded)} ".encode() + encoded + (body or "").encode()


def _row(stored: bytes) -> _Row:
    round_, tokens, _, length, rest = stored.split(b" ", 4)
    start = int(length)
    return _Row(int(round_.lstrip(b"-")), int(tokens), rest[:start].decode(), rest[start:].decode())


def _info_of(reply: list[bytes | None]) -> _Info | None:
    """The stored listing of a thread; None when there is none."""
    if reply[0] is None:
        return None
    said = ["" if one is None else one.decode() for one in reply]
    first, next_, messages, tokens, round_ = map(int, said[:5])
    ended, edits, last = map(int, said[8:])
    return _Info(first, next_, messages, tokens, round_, float(said[5]), said[6], said[7], ended, edits, last)


def _copied_row(one: CopiedPlace) -> bytes:
    time = None if one.body is None else decode_message(one.body).time
    return _packed_row(one.round, one.tokens, time, one.id, one.body)


def _packed_versions(one: CopiedPlace) -> bytes:
    return msgspec.msgpack.encode([[repr(at), False if body is None else body] for body, at in one.versions])


def _note_change(arguments: list[Any], index: int, row: _Row, message: Message | None, body: str | None) -> None:
    """Add the effects of one change to the arguments: the sums of tokens and messages, and the row."""
    tokens, time = (0, None) if message is None else (message.tokens or 0, message.time)
    arguments[3] += tokens - row.tokens
    arguments[4] += (body is not None) - bool(row.body)
    arguments += (index, _packed_row(row.round, tokens, time, row.id, body))


def _versions(stored: list[list[bytes]]) -> list[StoredVersion]:
    return [(body[0].decode() if body else None, float(at)) for at, *body in stored]


def _place(index: bytes, stored: bytes, versions: list[list[bytes]]) -> StoredPlace:
    row = _row(stored)
    return int(index), row.round, row.id, row.body or None, _versions(versions)


def _placed(prepared: Prepared, reply: list[Any]) -> list[Placed]:
    """Where an append put the messages. Raises ``Conflict`` and ``InvalidInput`` when it refused them."""
    if reply[0] == b"taken":
        raise taken_id(reply[1].decode())
    if reply[0] == b"full":
        raise InvalidInput(f"a thread holds at most {_BOUND:,} messages; there is no index {_BOUND}")
    if reply[0] != b"again":
        return place(prepared, Tail(*reply), keep_places=False)
    # The first answer was lost: this is what it said.
    found: list[Placed] = []
    for (message, encoded), stored in zip(prepared, reply[1:], strict=True):
        index, round_ = map(int, stored.split())
        body = f'{{"index":{index},"round":{round_},{encoded}'
        found.append(Placed(index, round_, message.id, message.tokens or 0, body))
    return found

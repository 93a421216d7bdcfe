"""The scripts over one thread.

Keys of a thread: the hash ``i`` has what its listing shows, ``m`` its rows by index, ``n`` the index of every id, ``v``
the earlier versions of a place. A row is ``round tokens time length-of-id id`` and the JSON of the message; one whose
message was removed begins with ``-`` and has no JSON.
"""

from __future__ import annotations

from memwell.storage.redis.scripts import define, define_alone

# Indexes may have gaps as wide as somebody likes; then what is there is looked at, and not every number between.
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

# Whether the ids are free: false when they are, or the reply that says what they are. Who comes again because an answer was
# lost, and finds its own messages there one behind the other, has done its work.
_FREE_IDS = """
local first, count = FIRST + 3, (#ARGV - FIRST - 2) / 3
local function taken(again)
    local ids, found = {}, nil
    if count == 1 then
        found = {redis.call('HGET', base .. 'n', ARGV[first])}
    else
        found = {}
        for from = 1, count, 1000 do
            local some = {}
            for n = from, math.min(count, from + 999) do some[#some + 1] = ARGV[first + 3 * n - 3] end
            for n, there in ipairs(redis.call('HMGET', base .. 'n', unpack(some))) do found[from + n - 1] = there end
        end
    end
    local one, mine = nil, {}
    for n = 1, count do
        if found[n] then
            one = one or ARGV[first + 3 * n - 3]
            local row = again and redis.call('HGET', base .. 'm', found[n])
            local encoded = ARGV[first + 3 * n - 1]
            local follows = n == 1 or tonumber(found[n]) == tonumber(found[n - 1] or -9) + 1
            if row and follows and string.sub(row, -#encoded) == encoded then
                mine[#mine + 1] = found[n] .. ' ' .. string.match(row, '^%d+')
            end
        end
    end
    if not one then return false end
    if #mine == count then return {'again', unpack(mine)} end
    return {'taken', one}
end
"""

# One command a key, however many messages.
_APPEND_ALONE = define_alone(
    "append alone",
    _FREE_IDS
    + """
    local known = redis.call('HMGET', base .. 'i', 'next', 'round', 'ended', 'messages')
    if not known[1] then return redis.error_reply('MWNEW') end
    local refused = taken(mode ~= '')
    if refused then return refused end
    local index, round, ended = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
    if index + count > 4294967296 then return {'full', known[1]} end
    local m, n = {}, {}
    for at = 1, count do
        local id, head = ARGV[first + 3 * at - 3], ARGV[first + 3 * at - 2]
        if round == ended or string.byte(head) == 104 then round = round + 1 end
        local name = string.format('%.0f', index)
        m[2 * at - 1], n[2 * at - 1], n[2 * at] = name, id, name
        m[2 * at] = round .. string.sub(head, 2) .. id .. '{"index":' .. name .. ',"round":' .. round .. ','
            .. ARGV[first + 3 * at - 1]
        index = index + 1
    end
    for from = 1, 2 * count, 1000 do
        local to = math.min(from + 999, 2 * count)
        redis.call('HSET', base .. 'm', unpack(m, from, to))
        redis.call('HSET', base .. 'n', unpack(n, from, to))
    end
    redis.call('HSET', base .. 'i', 'next', string.format('%.0f', index), 'round', round,
        'last', string.format('%.0f', index - 1), 'messages', tonumber(known[4]) + count, 'updated', ARGV[FIRST + 2])
    if ARGV[FIRST + 1] ~= '0' then redis.call('HINCRBY', base .. 'i', 'tokens', ARGV[FIRST + 1]) end
    return {tonumber(known[1]), tonumber(known[2]), ended}
    """,
)

# The short way: the client knew where the thread ended and worked the rows out itself, so nothing is done here for each
# message. Refused when the thread ends elsewhere by now.
APPEND_KNOWN = define_alone(
    "append known",
    """
    local known = redis.call('HMGET', base .. 'i', 'next', 'round', 'ended', 'messages', 'tokens')
    local count = tonumber(ARGV[FIRST + 6])
    local m = FIRST + 7
    local n = m + 2 * count
    local ids = n + 2 * count
    if mode ~= '' and redis.call('HGET', base .. 'm', ARGV[n - 2]) == ARGV[n - 1] then return 1 end
    if known[1] ~= ARGV[FIRST] or known[2] ~= ARGV[FIRST + 1] or known[3] ~= ARGV[FIRST + 2] then return 0 end
    local tokens = tonumber(known[5]) + tonumber(ARGV[FIRST + 5])
    -- Larger sums are not exact here.
    if tokens > 9007199254740991 then return 0 end
    if count == 1 then
        if redis.call('HSETNX', base .. 'n', ARGV[n], ARGV[n + 1]) == 0 then return 0 end
    else
        for _, there in ipairs(redis.call('HMGET', base .. 'n', unpack(ARGV, ids, ids + count - 1))) do
            if there then return 0 end
        end
        redis.call('HSET', base .. 'n', unpack(ARGV, n, ids - 1))
    end
    redis.call('HSET', base .. 'm', unpack(ARGV, m, n - 1))
    redis.call('HSET', base .. 'i', 'next', string.format('%.0f', known[1] + count), 'round', ARGV[FIRST + 3],
        'last', ARGV[n - 2], 'messages', known[4] + count, 'updated', ARGV[FIRST + 4],
        'tokens', string.format('%.0f', tokens))
    return 1
    """,
)

APPEND = define(
    "append",
    _FREE_IDS
    + """
    local known = redis.call('HMGET', base .. 'i', 'next', 'round', 'ended', 'messages')
    local refused = taken(false)
    if refused then return refused end
    if not known[1] then
        if not fresh then return NEW end
        known = {'0', '0', '-1', '0'}
        local made = {'first', '0', 'ended', '-1', 'tokens', '0', 'metadata', '{}', 'edits', '0', 'created', ARGV[FIRST]}
        for n = 1, #made, 2 do set_field('i', made[n], made[n + 1]) end
    end
    local index, round, ended = tonumber(known[1]), tonumber(known[2]), tonumber(known[3])
    if index + count > 4294967296 then return {'full', known[1]} end
    for n = 1, count do
        local id, head, encoded = ARGV[first + 3 * n - 3], ARGV[first + 3 * n - 2], ARGV[first + 3 * n - 1]
        if round == ended or string.byte(head) == 104 then round = round + 1 end
        local name = string.format('%.0f', index)
        local place = '{"index":' .. name .. ',"round":' .. round .. ','
        set_field('m', name, round .. string.sub(head, 2) .. id .. place .. encoded)
        set_field('n', id, name)
        index = index + 1
    end
    set_field('i', 'next', string.format('%.0f', index))
    set_field('i', 'round', round)
    set_field('i', 'last', string.format('%.0f', index - 1))
    set_field('i', 'messages', tonumber(known[4]) + count)
    set_field('i', 'updated', ARGV[FIRST + 2])
    if ARGV[FIRST + 1] ~= '0' then add_to_field('i', 'tokens', ARGV[FIRST + 1]) end
    return {tonumber(known[1]), tonumber(known[2]), ended}
    """,
    writes=True,
    remembered=False,
    alone=_APPEND_ALONE,
)

INFO_FIELDS = (
    *("first", "next", "messages", "tokens", "round", "created", "updated", "metadata", "ended", "edits", "last"),
)
_GIVEN = f"return redis.call('HMGET', base .. 'i', {', '.join(repr(name) for name in INFO_FIELDS)})"
INFO = define("thread info", _GIVEN)

# Rows with places that were worked out from what the thread was: refused when it has become another meanwhile.
EXTEND = define(
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
    if seen == '' and not fresh then return NEW end
    for n = 1, count do
        local id = ARGV[at + 3 * n - 2]
        if redis.call('HEXISTS', base .. 'n', id) == 1 then return {'taken', id} end
    end
    for n = 1, fields do
        local name, value = ARGV[FIRST + 1 + 2 * n], ARGV[FIRST + 2 + 2 * n]
        if string.byte(name) == 43 then add_to_field('i', string.sub(name, 2), value) else set_field('i', name, value) end
    end
    for n = 1, count do
        set_field('m', ARGV[at + 3 * n - 3], ARGV[at + 3 * n - 1])
        set_field('n', ARGV[at + 3 * n - 2], ARGV[at + 3 * n - 3])
    end
    for n = at + 3 * count, #ARGV, 2 do set_field('v', ARGV[n], ARGV[n + 1]) end
    return 'done'
    """,
    writes=True,
    remembered=False,
)

READ = define(
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

ROWS = define(
    "rows",
    """
    local found = {redis.call('HGET', base .. 'i', 'edits'), redis.call('HGET', base .. 'i', 'created')}
    for n = FIRST, #ARGV do found[#found + 1] = redis.call('HGET', base .. 'm', ARGV[n]) end
    return found
    """,
)

EDIT = define(
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
        set_field('v', ARGV[n], cmsgpack.pack(versions))
        set_field('m', ARGV[n], ARGV[n + 1])
    end
    add_to_field('i', 'edits', (#ARGV - FIRST - 4) / 2)
    add_to_field('i', 'tokens', ARGV[FIRST + 3])
    add_to_field('i', 'messages', ARGV[FIRST + 4])
    set_field('i', 'updated', newest(tonumber(known[3]), tonumber(known[4]) - 1))
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
VERSIONS = define("versions", _UNPACKED + "return unpacked(redis.call('HGET', base .. 'v', ARGV[FIRST]))")

PLACES = define(
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

TRIM = define(
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
                drop_field('n', string.sub(row, start, start + tonumber(length) - 1))
                drop_field('m', name)
                drop_field('v', name)
            end
        end
    end
    if oldest > first then set_field('i', 'first', string.format('%.0f', oldest)) end
    if last < stop and latest ~= last then set_field('i', 'last', string.format('%.0f', latest)) end
    if live == 0 then return 0 end
    add_to_field('i', 'messages', -live)
    if tokens > 0 then add_to_field('i', 'tokens', string.format('%.0f', -tokens)) end
    add_to_field('i', 'edits', 1)
    set_field('i', 'updated', newest(first, next - 1))
    return live
    """,
    writes=True,
    frees=True,
)

DELETE = define(
    "delete thread",
    """
    if redis.call('EXISTS', base .. 'i') == 0 then return 0 end
    for _, key in ipairs({'i', 'm', 'n', 'v'}) do drop_key(key) end
    return 1
    """,
    writes=True,
    frees=True,
)

ANNOTATE = define(
    "annotate",
    f"""
    if redis.call('EXISTS', base .. 'i') == 0 then
        if not fresh then return NEW end
        local made = {{'next', '0', 'round', '0', 'messages', '0', 'first', '0', 'ended', '-1', 'tokens', '0', 'edits', '0',
            'last', '-1', 'updated', '', 'metadata', '{{}}', 'created', ARGV[FIRST]}}
        for n = 1, #made, 2 do set_field('i', made[n], made[n + 1]) end
    end
    if ARGV[FIRST + 1] ~= '' then set_field('i', 'metadata', ARGV[FIRST + 1]) end
    if ARGV[FIRST + 2] == '1' then set_field('i', 'ended', redis.call('HGET', base .. 'i', 'round')) end
    {_GIVEN}
    """,
    writes=True,
    # The reply holds what people wrote, and doing it again changes nothing.
    remembered=False,
)

CHECK = define(
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
            complaints[#complaints + 1] = 'the id at index ' .. held[n] .. ' leads elsewhere'
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

THREADS = define(
    "threads",
    """
    return redis.call('ZRANGEBYLEX', base .. 'z', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])
    """,
)

NAMED = define(
    "named threads",
    """
    local found = {}
    for n = FIRST, #ARGV do
        if redis.call('ZSCORE', base .. 'z', ARGV[n]) then found[#found + 1] = ARGV[n] end
    end
    return found
    """,
)

__all__ = [
    "ANNOTATE",
    "APPEND",
    "APPEND_KNOWN",
    "CHECK",
    "DELETE",
    "EDIT",
    "EXTEND",
    "INFO",
    "INFO_FIELDS",
    "NAMED",
    "PLACES",
    "READ",
    "ROWS",
    "THREADS",
    "TRIM",
    "VERSIONS",
]

"""Records in Redis: the rows and what changed lie there; every process that searches holds a copy of the space.

The keys of a space's records: ``n`` id to number, ``r`` number to row, ``v`` number to vector, ``o`` the numbers in order,
``c`` the numbers changed, the latest last, ``m`` the counters. A change has a number and a random mark; both together are
the state of the space. A server that lost its latest writes and went on has other marks, so a copy that has seen what was
lost is loaded anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from memwell.errors import InvalidInput
from memwell.records import Record, Space, Vector, pack_half, stored_record
from memwell.storage import arguments as given
from memwell.storage.mirrored import Delta, MirroredIndex, Row, given_out
from memwell.storage.placement import packed_vectors
from memwell.storage.protocols import IndexInfo
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.scripts import define
from memwell.storage.redis.tags import Tag

T = TypeVar("T")

_PIECE = 100
"""How many records one script handles, and how many bytes of them: other clients wait while it runs."""
_PIECE_BYTES = 2_000_000
_MARK_BITS = 24

# A change is pushed as its record's number and its mark. Nothing undoes the trimming, and nothing needs to: what a copy
# asks for is either there, mark and all, or the copy is loaded anew.
_WRITING = """
local mark = ARGV[FIRST]
local kept = tonumber(ARGV[FIRST + 1])
local held = redis.call('HMGET', base .. 'm', 'next', 'change', 'dimensions')
local next_number, change = tonumber(held[1] or 1), tonumber(held[2] or 0)
local function changed(record)
    change = change + 1
    push('c', record .. ':' .. mark)
end
local function save()
    set_field('m', 'next', string.format('%.0f', next_number))
    set_field('m', 'change', string.format('%.0f', change))
    set_field('m', 'mark', mark)
    if redis.call('LLEN', base .. 'c') > 2 * kept then redis.call('LTRIM', base .. 'c', -kept, -1) end
end
"""

_UPSERT = define(
    "upsert records",
    _WRITING
    + """
local dimensions = ARGV[FIRST + 2]
if dimensions ~= '' and held[3] and held[3] ~= dimensions and redis.call('HLEN', base .. 'v') > 0 then
    return held[3]
end
if not listed() then
    if not fresh then return NEW end
    set_field('i', 'in', '1')
end
for place = FIRST + 3, #ARGV, 3 do
    local id, row, vector = ARGV[place], ARGV[place + 1], ARGV[place + 2]
    local record = redis.call('HGET', base .. 'n', id)
    if not record then
        record = string.format('%.0f', next_number)
        next_number = next_number + 1
        set_field('n', id, record)
        set_score('o', record, record)
    elseif vector == '' then
        drop_field('v', record)
    end
    set_field('r', record, row)
    if vector ~= '' then set_field('v', record, vector) end
    changed(record)
end
if dimensions ~= '' then set_field('m', 'dimensions', dimensions) end
save()
return ''
""",
    writes=True,
)

_DELETE = define(
    "delete records",
    _WRITING
    + """
local gone = 0
for place = FIRST + 2, #ARGV do
    local record = redis.call('HGET', base .. 'n', ARGV[place])
    if record then
        drop_field('n', ARGV[place])
        drop_field('r', record)
        drop_field('v', record)
        drop_member('o', record)
        changed(record)
        gone = gone + 1
    end
end
if gone > 0 then save() end
return gone
""",
    writes=True,
    frees=True,
)

# Those that lose their vectors are named piece by piece; then all vectors go at once, however many.
_CLEAR_VECTORS = define(
    "clear vectors",
    _WRITING
    + """
if redis.call('HLEN', base .. 'v') == 0 then return '' end
local limit = tonumber(ARGV[FIRST + 3])
local records = redis.call('ZRANGEBYSCORE', base .. 'o', ARGV[FIRST + 2], '+inf', 'LIMIT', 0, limit)
for _, record in ipairs(records) do
    if redis.call('HEXISTS', base .. 'v', record) == 1 then changed(record) end
end
local more = #records == limit
if not more then drop_key('v') end
save()
return more and records[#records] or ''
""",
    writes=True,
)

_SET_VECTORS = define(
    "set vectors",
    _WRITING
    + """
local before = change
for place = FIRST + 3, #ARGV, 2 do
    local record = redis.call('HGET', base .. 'n', ARGV[place])
    if record then
        set_field('v', record, ARGV[place + 1])
        changed(record)
    end
end
if change > before then
    set_field('m', 'dimensions', ARGV[FIRST + 2])
    save()
end
return ''
""",
    writes=True,
)

# A reply of rows is flat: number, row, vector, and so on; it ends early when it grows large, and says so in front.
_READING = f"""
local found, size = {{'0'}}, 0
local function add(record)
    local row, vector = redis.call('HGET', base .. 'r', record), redis.call('HGET', base .. 'v', record)
    found[#found + 1], found[#found + 2], found[#found + 3] = record, row, vector
    size = size + (row and #row or 0) + (vector and #vector or 0)
    return size > {_PIECE_BYTES}
end
"""

_GET = define(
    "get records",
    _READING
    + """
for place = FIRST, #ARGV do
    local record = redis.call('HGET', base .. 'n', ARGV[place])
    if record and add(record) and place < #ARGV then
        found[1] = tostring(#ARGV - place)
        return found
    end
end
return found
""",
)

_PAGE = define(
    "page of records",
    _READING
    + """
local order, start, limit = ARGV[FIRST], ARGV[FIRST + 1], tonumber(ARGV[FIRST + 2])
local stop = order == 'ZRANGEBYSCORE' and '+inf' or '-inf'
local records = redis.call(order, base .. 'o', start, stop, 'LIMIT', 0, limit + 1)
local full = false
for place, record in ipairs(records) do
    if place > limit or full then
        found[1] = '1'
        return found
    end
    full = add(record)
end
return found
""",
)

_INFO = define(
    "count records",
    """
local held = redis.call('HMGET', base .. 'm', 'change', 'mark', 'dimensions')
local records, vectors = redis.call('HLEN', base .. 'n'), redis.call('HLEN', base .. 'v')
return {held[1] or '0', held[2] or '0', records, vectors, held[3] or '0'}
""",
)

# The list of changes ends with the latest, so the place of any change is known from the end.
_CHANGES = define(
    "changes of records",
    _READING
    + """
local held = redis.call('HMGET', base .. 'm', 'change', 'mark')
local change, mark = tonumber(held[1] or 0), held[2] or '0'
local since, seen, most = tonumber(ARGV[FIRST]), ARGV[FIRST + 1], tonumber(ARGV[FIRST + 2])
local state = {string.format('%.0f', change), mark}
if since == change and seen == mark then return {'same', state} end
if since < 0 or since >= change then return {'whole', state} end
local list, behind = base .. 'c', change - since
if since == 0 then
    if seen ~= '0' or redis.call('LLEN', list) < behind then return {'whole', state} end
else
    local entry = redis.call('LINDEX', list, -behind - 1)
    if not entry or string.match(entry, ':(.*)') ~= seen then return {'whole', state} end
end
local known = {}
local reached, passed = since, seen
for _, entry in ipairs(redis.call('LRANGE', list, -behind, math.min(most - behind, 0) - 1)) do
    local record, its = string.match(entry, '(.*):(.*)')
    reached, passed = reached + 1, its
    if not known[record] then
        known[record] = true
        if add(record) then break end
    end
end
return {'some', state, {string.format('%.0f', reached), passed}, found}
""",
)


class _Prepared(NamedTuple):
    id: str
    row: bytes
    vector: bytes


class RedisIndex(MirroredIndex):
    """Rows in Redis, searched in this process."""

    def __init__(self, connections: Connections, *, vector_cache_mb: int, kept_changes: int) -> None:
        super().__init__(most_bytes=vector_cache_mb * 2**20)
        self._connections = connections
        self._kept_changes = kept_changes

    def inside(self) -> bool:
        return self._connections.transaction_here() is not None

    def _tag(self, space: Space) -> Tag:
        return self._connections.tags.records(given.check_space(space))

    def _marked(self) -> list[str | int]:
        """What every script that changes something is told."""
        return [secrets.randbelow(2**_MARK_BITS - 1) + 1, self._kept_changes]

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        prepared: dict[Space, list[_Prepared]] = {}
        for record in given.check_records(records).values():
            prepared.setdefault(record.space, []).append(_prepared(record))
        calls = [(space, _one_size(group), piece) for space, group in prepared.items() for piece in _in_pieces(group)]

        def write() -> None:
            for space, dimensions, piece in calls:
                self._upsert(space, dimensions, piece)

        self._written(write, alone=len(calls) < 2)

    def _written(self, write: Callable[[], T], *, alone: bool) -> T:
        """Do what consists of several calls, all or none; those of a single one are so anyway."""
        return write() if alone else self._connections.together(write)

    def _upsert(self, space: Space, dimensions: int | None, piece: Sequence[_Prepared]) -> None:
        arguments = [*self._marked(), dimensions or ""]
        refused = self._connections.call(
            _UPSERT, self._tag(space), [*arguments, *(field for one in piece for field in one)]
        )
        if refused:
            first = next((one for one in piece if one.vector), piece[0])
            raise InvalidInput(
                f"record {first.id!r} has a vector of {dimensions} dimensions in a space of {int(refused)}"
            )

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        tag = self._tag(space)
        pieces = list(_cut(list(dict.fromkeys(given.check_ids(ids))), _PIECE))

        def write() -> int:
            return sum(self._connections.call(_DELETE, tag, [*self._marked(), *piece]) for piece in pieces)

        return self._written(write, alone=len(pieces) < 2)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        tag = self._tag(space)
        packed = packed_vectors(vectors)

        def write() -> None:
            start = b"-inf"
            while start:
                reached = self._connections.call(_CLEAR_VECTORS, tag, [*self._marked(), start, _PIECE])
                start = b"(" + reached if reached else b""
            for piece in _cut(list(packed.items()), _PIECE):
                fields = [field for pair in piece for field in pair]
                dimensions = len(piece[0][1]) // 2
                self._connections.call(_SET_VECTORS, tag, [*self._marked(), dimensions, *fields])

        self._written(write, alone=False)

    # Reading

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        tag = self._tag(space)
        wanted = given.check_ids(ids)
        found: dict[str, Row] = {}
        for piece in _cut(list(dict.fromkeys(wanted)), _PIECE):
            left = piece
            while left:
                reply = self._connections.call(_GET, tag, left)
                found.update({row.record.id: row for row in _rows(space, reply)[0]})
                left = left[len(left) - int(reply[0]) :]
        return [given_out(found[id_].record, found[id_].vector) for id_ in wanted if id_ in found]

    def scan_rows(self, space: Space, start: int | None, limit: int, *, newest_first: bool) -> list[Row]:
        found: list[Row] = []
        while len(found) < limit:
            rows, more = self._page(space, start, min(limit - len(found), _PIECE), newest_first=newest_first)
            found += rows
            if not more:
                break
            start = rows[-1].number
        return found

    def _page(
        self, space: Space, start: int | None, limit: int, *, newest_first: bool = False
    ) -> tuple[list[Row], bool]:
        order, end = ("ZREVRANGEBYSCORE", "+inf") if newest_first else ("ZRANGEBYSCORE", "-inf")
        arguments = [order, end if start is None else f"({start}", limit]
        return _rows(space, self._connections.call(_PAGE, self._tag(space), arguments))

    def info(self, space: Space) -> IndexInfo:
        change, mark, records, vectors, size = self._connections.call(_INFO, self._tag(space))
        return IndexInfo(records, vectors, int(size) if vectors else None, "exact", _state(change, mark))

    def delta(self, space: Space, since: int | None) -> Delta:
        known: dict[int, Row | None] = {}
        whole = since is None
        state = self._loaded(space, known) if since is None else since
        while True:
            reply = self._changed(space, state)
            if reply[0] == b"same":
                return _delta(None if self.inside() else state, known, whole=whole)
            if reply[0] == b"whole":
                known, whole = {}, True
                state = self._loaded(space, known)
            else:
                _, _, reached, found = reply
                _take(known, space, found)
                state = _state(*reached)
                if reached == reply[1]:
                    return _delta(None if self.inside() else state, known, whole=whole)

    def _changed(self, space: Space, since: int) -> Any:
        change, mark = since >> _MARK_BITS, since % 2**_MARK_BITS
        return self._connections.call(_CHANGES, self._tag(space), [change, mark, _PIECE])

    def _loaded(self, space: Space, known: dict[int, Row | None]) -> int:
        """Read all rows, and return the state from which on changes are to be looked at, to make one state of them."""
        state = self.info(space).state
        start: int | None = None
        more = True
        while more:
            rows, more = self._page(space, start, _PIECE)
            known.update({row.number: row for row in rows})
            start = rows[-1].number if rows else start
        return state


def _prepared(record: Record) -> _Prepared:
    vector = b"" if record.vector is None else pack_half(record.vector)
    metadata = given.encode_value(record.metadata)
    raw = msgspec.Raw(metadata.encode() if isinstance(metadata, str) else metadata)
    row = msgspec.json.encode((record.id, record.kind, record.time.isoformat(), record.text, raw))
    return _Prepared(record.id, row, vector)


def _one_size(group: Sequence[_Prepared]) -> int | None:
    """The size of the vectors of a space. Raises ``InvalidInput`` when there are two."""
    size: int | None = None
    for one in group:
        if one.vector:
            own = len(one.vector) // 2
            if size is not None and own != size:
                raise InvalidInput(f"record {one.id!r} has a vector of {own} dimensions in a space of {size}")
            size = own
    return size


def _in_pieces(group: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    piece: list[_Prepared] = []
    size = 0
    for one in group:
        if piece and (len(piece) == _PIECE or size > _PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(one)
        size += len(one.row) + len(one.vector)
    if piece:
        yield piece


def _cut(items: list[T], size: int) -> Iterator[list[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


_decode = msgspec.json.Decoder(tuple[str, str, str, str, dict[str, Any]]).decode


def _rows(space: Space, reply: list[Any]) -> tuple[list[Row], bool]:
    """The rows of a reply, and whether there are more."""
    known: dict[int, Row | None] = {}
    _take(known, space, reply)
    return [row for row in known.values() if row is not None], reply[0] != b"0"


def _take(known: dict[int, Row | None], space: Space, reply: list[Any]) -> None:
    for place in range(1, len(reply), 3):
        number, row, vector = reply[place : place + 3]
        known[int(number)] = None if row is None else Row(int(number), _record(space, row), vector)


def _record(space: Space, row: bytes) -> Record:
    id_, kind, stamp, text, metadata = _decode(row)
    return stored_record(text, space, id_, kind, datetime.fromisoformat(stamp), metadata, None)


def _state(change: bytes, mark: bytes) -> int:
    return (int(change) << _MARK_BITS) + int(mark)


def _delta(state: int | None, known: dict[int, Row | None], *, whole: bool) -> Delta:
    rows = sorted((row for row in known.values() if row is not None), key=lambda row: row.number)
    return Delta(state, whole, rows, [] if whole else sorted(n for n, row in known.items() if row is None))


__all__ = ["RedisIndex"]

"""Bytes in Redis: one key each, and for every space a sorted list of what it holds."""

from __future__ import annotations

import hashlib

from memwell.errors import NotFound
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.protocols import Blobs
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.scripts import define
from memwell.storage.redis.tags import Tag

# The bytes of a digest never change, so a second run finds them there and does nothing.
_PUT = define(
    "put blob",
    """
local digest, data = ARGV[FIRST], ARGV[FIRST + 1]
if redis.call('ZSCORE', base .. 'o', digest) then return 0 end
if not listed() then
    if not fresh then return NEW end
    set_field('i', 'in', '1')
end
set_key('b' .. digest, data)
set_score('o', digest, '0')
return 1
""",
    writes=True,
    remembered=False,
)
_GET = define("get blob", "return redis.call('GET', base .. 'b' .. ARGV[FIRST])")
_DELETE = define(
    "delete blob",
    """
local digest = ARGV[FIRST]
if drop_member('o', digest) == 0 then return 0 end
drop_key('b' .. digest)
return 1
""",
    writes=True,
    frees=True,
)
_SCAN = define(
    "scan blobs",
    "return redis.call('ZRANGEBYLEX', base .. 'o', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])",
)


class RedisBlobs(Blobs):
    """Bytes under keys of their own."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _tag(self, space: Space) -> Tag:
        return self._connections.tags.blobs(given.check_space(space))

    def put(self, space: Space, data: bytes) -> str:
        tag = self._tag(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        self._connections.call(_PUT, tag, [digest, blob])
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        data = self._connections.call(_GET, self._tag(space), [given.check_digest(digest)])
        if data is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return data

    def delete(self, space: Space, digest: str) -> bool:
        return self._connections.call(_DELETE, self._tag(space), [given.check_digest(digest)]) == 1

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        tag = self._tag(space)
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        found = self._connections.call(_SCAN, tag, ["-" if start is None else f"({start}", limit + 1])
        digests = [digest.decode() for digest in found[:limit]]
        return Page(digests, digests[-1] if len(found) > limit else None)


__all__ = ["RedisBlobs"]

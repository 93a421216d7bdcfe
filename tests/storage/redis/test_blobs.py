"""Bytes in Redis: whole, in order, and undone with their transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memwell.errors import NotFound
from memwell.records import Space, paged
from memwell.settings import Settings
from memwell.storage.redis.address import parsed
from memwell.storage.redis.blobs import RedisBlobs
from memwell.storage.redis.connections import Connections
from tests.engines.redis import single_url

HOME, AWAY = Space("home"), Space("away")


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[Connections]:
    opened = Connections(parsed(single_url(tmp_path, "lease=10")), Settings())
    yield opened
    opened.close()


@pytest.fixture
def blobs(connections: Connections) -> RedisBlobs:
    return RedisBlobs(connections)


class Undone(Exception): ...


def held(blobs: RedisBlobs, space: Space, limit: int = 100) -> list[str]:
    return list(paged(lambda cursor: blobs.scan(space, limit=limit, cursor=cursor)))


def test_large_bytes_come_back_whole(blobs: RedisBlobs):
    data = bytes(range(256)) * 16_384
    digest = blobs.put(HOME, data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert blobs.get(HOME, digest) == data


def test_digests_are_listed_in_their_order(blobs: RedisBlobs):
    digests = sorted(blobs.put(HOME, bytes([n])) for n in range(20))
    blobs.put(AWAY, b"other")
    for limit in (1, 7, 20, 100):
        assert held(blobs, HOME, limit) == digests
    assert blobs.scan(HOME, limit=20).next is None


def test_a_transaction_that_fails_leaves_the_bytes_as_they_were(blobs: RedisBlobs, connections: Connections):
    kept, data = blobs.put(HOME, b"kept"), b"x" * 100_000
    with suppress(Undone), connections.transaction():
        fresh = blobs.put(HOME, data)
        blobs.put(AWAY, data)
        assert blobs.delete(HOME, kept)
        assert held(blobs, HOME) == [fresh]
        with pytest.raises(NotFound):
            blobs.get(HOME, kept)
        assert blobs.put(HOME, b"kept") == kept
        assert blobs.delete(HOME, kept)
        raise Undone
    assert (held(blobs, HOME), held(blobs, AWAY)) == ([kept], [])
    assert blobs.get(HOME, kept) == b"kept"


def test_a_transaction_that_ends_well_keeps_them(blobs: RedisBlobs, connections: Connections):
    gone = blobs.put(HOME, b"gone")
    with connections.transaction():
        kept = blobs.put(HOME, b"kept")
        blobs.delete(HOME, gone)
    assert held(blobs, HOME) == [kept]
    assert not blobs.delete(HOME, gone)

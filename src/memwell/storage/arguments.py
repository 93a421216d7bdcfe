"""What every backend does before it touches its store: checks arguments, encodes values, and tells whose a space is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import msgspec

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, check_message
from memwell.records import Record, Space, Thread
from memwell.values import (
    check_count,
    check_id,
    check_items,
    check_json,
    check_list,
    check_size,
    check_text,
    check_type,
    shown,
)

REMEMBERED = Space("memwell", "parts")
"""The space of a store's layout in its home, and of the home's id in each part."""

MAX_INDEX = 2**32 - 1
MAX_LIMIT = 100_000
MAX_TTL = 1e10
_MOST_SKIPPED = 2**62
MAX_BLOB_BYTES = 512 * 1024 * 1024
_HEX = frozenset("0123456789abcdef")


class MessageRange(NamedTuple):
    """Which messages a read asks for: the indexes ``low`` to ``high``, of these ids, cut to the ``last`` or ``first``."""

    low: int
    high: int
    last: int | None
    first: int | None
    ids: list[str] | None


def check_space(space: object) -> Space:
    """Raises ``InvalidInput`` when it is not a ``Space``: a space is never guessed."""
    if not isinstance(space, Space):
        raise InvalidInput(f"a space must be a Space, not {shown(space)}; make one with Space('name')")
    return space


def check_thread(thread: object) -> Thread:
    """Raises ``InvalidInput`` when it is not a ``Thread``."""
    if not isinstance(thread, Thread):
        raise InvalidInput(f"a thread must be a Thread, not {shown(thread)}; make one with Thread(space, id)")
    return thread


def check_range(
    last: int | None, first: int | None, after: int | None, before: int | None, ids: Iterable[str] | None
) -> MessageRange:
    """The arguments of a read. Raises ``InvalidInput`` for bad counts, and for ``last`` and ``first`` together."""
    if last is not None and first is not None:
        raise InvalidInput("a read takes 'last' or 'first', not both")
    if last is not None:
        check_count(last, "last")
    if first is not None:
        check_count(first, "first")
    high = MAX_INDEX if before is None else min(check_count(before, "before") - 1, MAX_INDEX)
    low = 0 if after is None else min(check_count(after, "after", least=-1), MAX_INDEX) + 1
    return MessageRange(low, high, last, first, None if ids is None else check_ids(ids))


def check_ids(ids: Iterable[str]) -> list[str]:
    """The ids as a list. Raises ``InvalidInput`` for a bare string, which would be taken for its characters."""
    listed = cast("Iterable[object]", ids) if type(ids) is dict else check_list(ids, "ids must be a list of ids")
    return [check_id(one, "an id") for one in listed]


def check_places(keep: Iterable[int]) -> set[int]:
    """The indexes to keep. Raises ``InvalidInput`` for what is no index."""
    return {check_count(index, "an index to keep") for index in check_list(keep, "keep must be a list of indexes")}


def check_changes(changes: Mapping[int, Message | None]) -> dict[int, Message | None]:
    """The changes of an edit. Raises ``InvalidInput`` for what is no index and what is no message."""
    check_type(changes, Mapping, "changes must be a mapping from index to message")
    for index, message in changes.items():
        check_count(index, "an index")
        if message is not None:
            check_message(message)
    return dict(changes)


def check_limit(limit: int) -> int:
    """Raises ``InvalidInput`` for a limit below 1 or beyond what one answer may hold."""
    if check_count(limit, "limit", least=1) > MAX_LIMIT:
        raise InvalidInput(f"limit must be at most {MAX_LIMIT:,}, not {limit}")
    return limit


def check_skip(skip: int) -> int:
    """How many to skip, at most what any store can hold. Raises ``InvalidInput`` when it is no count."""
    return min(check_count(skip, "skip"), _MOST_SKIPPED)


def check_records(records: Sequence[Record]) -> dict[tuple[Space, str], Record]:
    """The records by space and id, the last of each. Raises ``InvalidInput`` for what is not a record."""
    found = check_items(records, Record, "records must be a list of Record")
    return {(record.space, record.id): record for record in found}


def check_cursor(cursor: object) -> int:
    """The number in a cursor, −1 without one. Raises ``InvalidInput`` when it is none of ours."""
    if cursor is None:
        return -1
    if not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput(f"not a cursor of this listing: {shown(cursor)}")
    return int(cursor)


def check_name_cursor(cursor: str | None) -> str | None:
    """A cursor that is a name. Raises ``InvalidInput`` when it is no text."""
    return None if cursor is None else check_text(cursor, "a cursor")


def encode_value(value: Any) -> str | bytes:
    """A value as a store keeps it: JSON text or bytes. Raises ``InvalidInput`` for anything else, or too much of it."""
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(cast(bytes, value))
        check_size(data, "a value")
        return data
    check_json(value, "a value")
    encoded = msgspec.json.encode(value)
    check_size(encoded, "a value")
    return encoded.decode()


def decode_value(stored: str | bytes) -> Any:
    """The value that ``encode_value`` wrote."""
    return stored if isinstance(stored, bytes) else msgspec.json.decode(stored)


def check_ttl(ttl: object, now: float) -> float | None:
    """The moment a time to live ends. Raises ``InvalidInput`` when it is not a positive, finite number of seconds."""
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= MAX_TTL:
        raise InvalidInput(f"ttl must be a positive number of seconds, not {shown(ttl)}")
    return now + ttl


def check_expect(expect: int | None) -> int | None:
    """Raises ``InvalidInput`` when an expected version is no version."""
    return None if expect is None else check_count(expect, "expect")


def check_version(key: str, version: int, expect: int | None) -> None:
    """Raises ``Conflict`` when a key is not at the expected version; 0 is that of a key that does not exist."""
    if expect is not None and version != expect:
        raise Conflict(f"key {key!r} is at version {version}, not at the expected {expect}")


def check_digest(digest: object) -> str:
    """Raises ``InvalidInput`` when it is not a SHA-256 digest in hexadecimal."""
    if not isinstance(digest, str) or len(digest) != 64 or not _HEX.issuperset(digest):
        raise InvalidInput(f"a digest is 64 lower-case hexadecimal characters, not {shown(digest)}")
    return digest


def check_blob(data: object) -> bytes:
    """Raises ``InvalidInput`` for what is not bytes, or too many of them."""
    blob = bytes(check_type(data, (bytes, bytearray, memoryview), "a blob must be bytes"))
    if len(blob) > MAX_BLOB_BYTES:
        raise InvalidInput(f"a blob is at most {MAX_BLOB_BYTES:,} bytes, not {len(blob):,}")
    return blob


def moment(timestamp: float) -> datetime:
    """The moment of a timestamp, in UTC."""
    return datetime.fromtimestamp(timestamp, UTC)


# The owner of a space: the space itself, or the space whose internal data it holds.


_OWN = "memwell"
"""The segment under which memwell keeps internal data about the space in front of it."""


def domain(space: Space) -> Space:
    """The owner of a space: the path up to the first segment ``memwell``, or the space itself."""
    for depth, segment in enumerate(space):
        if depth and segment == _OWN:
            return Space(*space[:depth])
    return space


def is_memwells(space: Space) -> bool:
    """Whether a space holds internal data of memwell, about another space or about the store."""
    return _OWN in space

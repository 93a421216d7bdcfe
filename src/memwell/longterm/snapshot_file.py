"""A snapshot as the bytes of a file: a header, and the arrays, which are used where they lie.

The header names every array with its type, shape and place. It has a checksum, and the length and the sum of the arrays:
a file that is torn, was cut off, has a flipped bit, or was written by another version or machine is not read. Only
numbers and words are in it, no code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._package import VERSION
from memwell.longterm.snapshot import Snapshot, Speakers

FORMAT = 4
"""The version of the layout. Raise it when what a column means changes: older files are then made again."""

_MAGIC = b"memwell snapshot\n"
_HEAD = len(_MAGIC) + 16
_ALIGNED = 64


class _Place(msgspec.Struct, frozen=True):
    """Where an array lies, and its type and shape. It has room for more rows than were written."""

    start: int
    dtype: str
    shape: list[int]


class _Header(msgspec.Struct, frozen=True):
    written_by: str
    size: int
    sum: int
    places: dict[str, _Place]
    speakers: list[str]
    counts: list[int]


def _written_by() -> str:
    """The version of the layout and of the words in it."""
    return f"{FORMAT} {VERSION} {sys.byteorder}"


def saved(snapshot: Snapshot) -> Iterator[bytes | memoryview]:
    """The bytes of the file, piece by piece. The snapshot must not be changed meanwhile."""
    arrays = {name: np.ascontiguousarray(part) for name, part in snapshot.arrays().items()}
    places: dict[str, _Place] = {}
    size = 0
    for name, part in arrays.items():
        shape = [_room(name, len(part), snapshot.limit), *part.shape[1:]]
        places[name] = _Place(size, part.dtype.str, shape)
        size += _aligned(part.itemsize * int(np.prod(shape)))
    total = sum(_sum(part.reshape(-1).view(np.uint8)) for part in arrays.values()) % 2**64
    head = msgspec.json.encode(
        _Header(_written_by(), size, total, places, list(snapshot.speakers.names), list(snapshot.speakers.counts))
    )
    yield _MAGIC + len(head).to_bytes(8, "little") + crc32(head).to_bytes(8, "little")
    yield head
    yield bytes(_aligned(_HEAD + len(head)) - _HEAD - len(head))
    ends = [*[place.start for place in places.values()][1:], size]
    for (name, part), end in zip(arrays.items(), ends, strict=True):
        yield part.reshape(-1).view(np.uint8).data
        yield bytes(end - places[name].start - part.nbytes)


def restored(data: Any, *, checked: bool = True) -> Snapshot | None:
    """The snapshot in the bytes of a file, or None when they are not what ``saved`` wrote.

    ``data`` is a writable buffer for this snapshot alone: its changes are made there. If it is not ``checked``, a flipped
    bit in the arrays is not noticed, and they are not read.
    """
    view = memoryview(data)
    if bytes(view[: len(_MAGIC)]) != _MAGIC:
        return None
    length, checksum = (int.from_bytes(view[at : at + 8], "little") for at in (len(_MAGIC), len(_MAGIC) + 8))
    head = bytes(view[_HEAD : _HEAD + length])
    if crc32(head) != checksum:
        return None
    try:
        header = msgspec.json.decode(head, type=_Header)
    except msgspec.DecodeError:
        return None
    start = _aligned(_HEAD + length)
    if header.written_by != _written_by() or len(view) != start + header.size:
        return None
    if checked and _sum(np.frombuffer(view, np.uint8, offset=start)) != header.sum:
        return None
    arrays = {name: _array(view[start:], place) for name, place in header.places.items()}
    if not arrays.keys() >= set(Snapshot.COLUMNS):
        return None
    return Snapshot.restored(arrays, Speakers(header.speakers, header.counts))


def _sum(data: NDArray[np.uint8]) -> int:
    """The sum of the bytes as numbers of eight. Any flipped bit changes it, and it takes an eighth of the time of a CRC."""
    whole = len(data) // 8 * 8
    rest = int.from_bytes(data[whole:].tobytes(), "little")
    return (int(data[:whole].view("<u8").sum(dtype=np.uint64)) + rest) % 2**64


def _array(view: memoryview, place: _Place) -> NDArray[Any]:
    count = int(np.prod(place.shape))
    if not count:
        return np.zeros(place.shape, place.dtype)
    return np.frombuffer(view, place.dtype, count, place.start).reshape(place.shape)


def _room(name: str, length: int, rows: int) -> int:
    """How many rows to leave room for: an array with rows grows with the snapshot, and would be copied without room."""
    in_rows = length == rows and ("." not in name or name.startswith("vectors."))
    return length + length // 8 + _ALIGNED if in_rows else length


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED

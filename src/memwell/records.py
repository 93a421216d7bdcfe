"""Records: what is known, where it belongs, and how it is asked for.

A ``Record`` lives in a ``Space``; a search returns ``Hit`` s; a ``Filter`` says which records count; a ``Page`` is one
piece of a long answer. The filter evaluator here is the reference: every backend pushes filters down to its engine and
must agree with it on every record.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from memwell.errors import InvalidInput
from memwell.values import (
    MAX_CONTENT_BYTES,
    as_utc,
    check_id,
    check_metadata,
    check_text,
    new_id,
    now,
    shown,
)

T = TypeVar("T")

MAX_DIMENSIONS = 8192
MAX_SEGMENTS = 16


class Space(tuple[str, ...]):
    """Whose memory it is: a path such as ``Space("acme", "user-7")``, compared segment by segment and never as text.

    A segment is opaque: ``"a/b"`` is one segment, case, accents' encoding and trailing spaces count. Raises
    ``InvalidInput`` for no segment, too many, or one that cannot be an id.
    """

    __slots__ = ()

    def __new__(cls, *segments: str) -> Space:
        if not 0 < len(segments) <= MAX_SEGMENTS:
            raise InvalidInput(f"a space has 1 to {MAX_SEGMENTS} segments, not {len(segments)}")
        for segment in segments:
            check_id(segment, "a segment of a space")
        return super().__new__(cls, segments)

    def __repr__(self) -> str:
        return f"Space({', '.join(map(repr, self))})"

    def __getnewargs__(self) -> tuple[str, ...]:
        return tuple(self)

    def __truediv__(self, segment: str) -> Space:
        return Space(*self, segment)

    def encoded(self) -> str:
        """One text that no other space has: what a store compares."""
        return msgspec.json.encode(tuple(self)).decode()

    @classmethod
    def decode(cls, encoded: str) -> Space:
        """The space that ``encoded`` wrote."""
        return cls(*msgspec.json.decode(encoded, type=list[str]))


DEFAULT_SPACE = Space("default")
SpaceLike: TypeAlias = Space | str
"""A space, or a string that names a space of one segment (it is not split)."""


def as_space(value: SpaceLike) -> Space:
    """The space meant. Raises ``InvalidInput`` when ``value`` is neither a space nor a string."""
    if isinstance(value, Space):
        return value
    if isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return Space(value)
    raise InvalidInput(f"a space must be a Space or a string, not {shown(value)}")


class Thread(msgspec.Struct, frozen=True):
    """The name of one conversation: a space and an id."""

    space: Space
    id: str

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):  # pyright: ignore[reportUnnecessaryIsInstance]
            force_setattr(self, "space", as_space(self.space))
        check_id(self.id, "a thread's id")


Vector: TypeAlias = Sequence[float]
"""A direction in the embedding's space; any sequence of numbers, numpy arrays included."""


def as_vector(value: Iterable[float]) -> array[float]:
    """A unit vector of single precision. Raises ``InvalidInput`` for an empty, zero, infinite or NaN one."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        raise InvalidInput(f"a vector must be a sequence of numbers, not {shown(value)}")
    try:
        vector = _numbers(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"a vector must be a sequence of numbers: {error}") from None
    if not 0 < len(vector) <= MAX_DIMENSIONS:
        raise InvalidInput(f"a vector has 1 to {MAX_DIMENSIONS} dimensions, not {len(vector)}")
    # hypot neither overflows nor underflows where the sum of squares would.
    length = math.hypot(*vector)
    if not math.isfinite(length) and not all(map(math.isfinite, vector)):
        raise InvalidInput(f"a vector must hold finite numbers, not {_first_infinite(vector)!r}")
    if length == 0.0 or not math.isfinite(length):
        raise InvalidInput("a vector must have a direction; all its numbers are zero or their size overflows")
    if vector.typecode == "f" and abs(length - 1.0) < 1e-6:
        return vector
    return array("f", [number / length for number in vector])


def _numbers(value: Iterable[float]) -> array[float]:
    """The numbers of a vector; those of a numpy array as they lie in memory, which is ten times as fast."""
    try:
        view = memoryview(cast(Any, value))
    except TypeError:
        return array("d", value)
    if view.ndim == 1 and view.contiguous and view.format in ("f", "d"):
        numbers = array(view.format)
        numbers.frombytes(view.cast("B"))
        return numbers
    return array("d", value)


def pack_half(vector: Vector) -> bytes:
    """A vector as stores keep it: half precision, two bytes a number."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return struct.pack(f"<{len(vector)}e", *vector)
    # Who writes many has loaded it.
    return numpy.asarray(vector, "=f8" if getattr(vector, "typecode", "") == "d" else "=f4").astype("<f2").tobytes()


def unpack_half(data: bytes) -> array[float]:
    """The vector that ``pack_half`` wrote, at single precision."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return array("f", struct.unpack(f"<{len(data) // 2}e", data))
    # Twenty times as fast, and who reads many vectors has loaded it; who reads one need not wait for it.
    vector = array("f")
    vector.frombytes(numpy.frombuffer(data, "<f2").astype("=f4").tobytes())
    return vector


def _first_infinite(vector: Iterable[float]) -> float:
    return next(number for number in vector if not math.isfinite(number))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One thing known. Its vector, when it has one, is kept as a direction (unit length, half precision).

    Raises ``InvalidInput`` when a field breaks a rule.
    """

    text: str
    space: Space = DEFAULT_SPACE
    id: str = msgspec.field(default_factory=new_id)
    kind: str = "memory"
    time: datetime = msgspec.field(default_factory=now)
    metadata: dict[str, Any] = {}
    vector: Vector | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "space", as_space(self.space))
        check_id(self.id, "a record's id")
        check_id(self.kind, "a record's kind")
        if len(check_text(self.text, "a record's text")) > MAX_CONTENT_BYTES:
            raise InvalidInput(f"a record's text is {len(self.text):,} characters, over {MAX_CONTENT_BYTES:,}")
        if type(self.time) is not datetime or self.time.tzinfo is not UTC:
            force_setattr(self, "time", as_utc(self.time, "a record's time"))
        force_setattr(self, "metadata", check_metadata(self.metadata))
        if self.vector is not None and not _is_unit(self.vector):
            force_setattr(self, "vector", as_vector(self.vector))


def _is_unit(vector: object) -> bool:
    # What came out of as_vector or a store goes in again untouched, or a round trip would change it.
    if type(vector) is not array or vector.typecode != "f":
        return False
    numbers = cast("array[float]", vector)
    return 0 < len(numbers) <= MAX_DIMENSIONS and abs(math.hypot(*numbers) - 1.0) < 1e-3


_BLANK = Record(text="")


def stored_record(
    text: str, space: Space, id_: str, kind: str, time: datetime, metadata: dict[str, Any], vector: Vector | None
) -> Record:
    """A record as a store kept it. It was checked when it was stored; checking ten hits again costs more than a search."""
    record = copy(_BLANK)
    force_setattr(record, "text", text)
    force_setattr(record, "space", space)
    force_setattr(record, "id", id_)
    force_setattr(record, "kind", kind)
    force_setattr(record, "time", time)
    force_setattr(record, "metadata", metadata)
    force_setattr(record, "vector", vector)
    return record


class Hit(msgspec.Struct, frozen=True):
    """A record found, and how well it fits: cosine for ``near`` (−1 to 1), BM25 for ``match`` (above 0)."""

    record: Record
    score: float


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One piece of a long answer. ``next`` is the cursor of the following piece, None when this is the last."""

    items: list[T]
    next: str | None = None


def paged(read: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """What page after page holds, as it is asked for; ``read`` gives the page at a cursor, the first one at None."""
    page = read(None)
    yield from page.items
    while page.next is not None:
        page = read(page.next)
        yield from page.items

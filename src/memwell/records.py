"""``Record``, ``Space``, ``Thread``, ``Hit`` and ``Page``: the values that stores hold and return, and vectors.

A ``Record`` is in a ``Space``; a search returns ``Hit`` s; a ``Page`` is one part of a long result.
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
    check_type,
    new_id,
    now,
    shown,
)

T = TypeVar("T")

MAX_DIMENSIONS = 8192
MAX_SEGMENTS = 16


class Space(tuple[str, ...]):
    """The owner of a memory: a path such as ``Space("acme", "user-7")``, compared by segment and never as text.

    A segment is opaque: ``"a/b"`` is one segment; case, Unicode form and trailing spaces count. Raises ``InvalidInput``
    for no segment, too many, or an invalid one.
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
        """A text that identifies the space, for stores."""
        return msgspec.json.encode(tuple(self)).decode()

    @classmethod
    def decode(cls, encoded: str) -> Space:
        """The space that ``encoded`` returned a text for."""
        return cls(*msgspec.json.decode(encoded, type=list[str]))


DEFAULT_SPACE = Space("default")
SpaceLike: TypeAlias = Space | str
"""A space, or a string that names a space of one segment (it is not split)."""


def as_space(value: SpaceLike) -> Space:
    """A space. Raises ``InvalidInput`` for anything but a space or a string."""
    if isinstance(value, Space):
        return value
    return Space(check_type(value, str, "a space must be a Space or a string"))


def as_opened(value: SpaceLike) -> Space:
    """The space that a program opens or shares. Raises ``InvalidInput`` as ``as_space``, and for a text with a slash.

    On the command line and in addresses such a text names several segments, in Python it would be one.
    """
    space = as_space(value)
    if isinstance(value, str) and "/" in value:
        inner = ", ".join(map(repr, value.split("/")))
        raise InvalidInput(
            f"the space {shown(value)} may mean one segment or several: write Space({inner}) for several, as "
            f"--space {value} does, or Space({value!r}) for one"
        )
    return space


def space_named(values: Sequence[str]) -> Space:
    """The space that a command line or an address names: by a value for each segment, or by one with ``/`` in between.

    One value may also be a JSON list of the segments, for a single segment that has a ``/``. Raises ``InvalidInput``.
    """
    if len(values) != 1:
        return Space(*values)
    [value] = values
    try:
        return Space(*msgspec.json.decode(value, type=list[str]))
    except (msgspec.DecodeError, UnicodeError):
        return Space(*value.split("/"))


class Thread(msgspec.Struct, frozen=True):
    """The name of one conversation: a space and an id."""

    space: Space
    id: str

    def __post_init__(self) -> None:
        if type(self.space) is not Space:
            force_setattr(self, "space", as_space(self.space))
        check_id(self.id, "a thread's id")


Vector: TypeAlias = Sequence[float]
"""A vector: any sequence of numbers, numpy arrays included."""


def as_vector(value: Iterable[float]) -> array[float]:
    """A unit vector in single precision. Raises ``InvalidInput`` for an empty, zero, infinite or NaN one."""
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
        raise InvalidInput(
            f"a vector must hold finite numbers, not {next(one for one in vector if not math.isfinite(one))!r}"
        )
    if length == 0.0 or not math.isfinite(length):
        raise InvalidInput("a vector must have a direction; all its numbers are zero or their size overflows")
    if vector.typecode == "f" and abs(length - 1.0) < 1e-6:
        return vector
    return array("f", [number / length for number in vector])


def _numbers(value: Iterable[float]) -> array[float]:
    """The numbers of a vector; a numpy array is copied as bytes, which is ten times as fast."""
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
    """A vector as stores hold it: half precision, two bytes a number."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return struct.pack(f"<{len(vector)}e", *vector)
    # A program that writes many vectors has loaded numpy.
    return numpy.asarray(vector, "=f8" if getattr(vector, "typecode", "") == "d" else "=f4").astype("<f2").tobytes()


def unpack_half(data: bytes) -> array[float]:
    """The vector that ``pack_half`` wrote, in single precision."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return array("f", struct.unpack(f"<{len(data) // 2}e", data))
    # Twenty times as fast, and a program that reads many vectors has loaded numpy.
    vector = array("f")
    vector.frombytes(numpy.frombuffer(data, "<f2").astype("=f4").tobytes())
    return vector


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One thing known. Its vector, if it has one, is stored in unit length and half precision.

    Raises ``InvalidInput`` for an invalid field.
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
    # A vector from as_vector or a store is not normalised again, because a round trip must not change it.
    if type(vector) is not array or vector.typecode != "f":
        return False
    numbers = cast("array[float]", vector)
    return 0 < len(numbers) <= MAX_DIMENSIONS and abs(math.hypot(*numbers) - 1.0) < 1e-3


_BLANK = Record(text="")


def stored_record(
    text: str, space: Space, id_: str, kind: str, time: datetime, metadata: dict[str, Any], vector: Vector | None
) -> Record:
    """A record from a store, without checks: it was checked when stored, and checking hits costs more than a search."""
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
    """A found record and its score: cosine for ``near`` (−1 to 1), BM25 for ``match`` (above 0)."""

    record: Record
    score: float


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One part of a long result. ``next`` is the cursor of the following part, None after the last."""

    items: list[T]
    next: str | None = None


def paged(read: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """The items of all pages, read on demand; ``read`` returns the page at a cursor, the first one for None."""
    page = read(None)
    yield from page.items
    while page.next is not None:
        page = read(page.next)
        yield from page.items

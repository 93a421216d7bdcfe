"""``Snapshot``: the records of one space in memory, as arrays that ranking reads.

A snapshot is a cache of the store; its owner applies the store's changes to it. Adding or removing a record costs the same
at any size, apart from an occasional doubling, and from a record that belongs far from the end of its session. A snapshot
after any changes ranks exactly as one built from the same entries. It must not be changed while another thread ranks with
it. All of it is arrays and a few names, so that it can be saved to a file and used from there without parsing it.

The indexed words of a record are those of its text, its speaker and its date, so that *in May* and *what did Anna say* find
it while its stored text stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numkong
import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.errors import InvalidInput
from memwell.language.claims import in_jest
from memwell.language.dates import shown_date
from memwell.language.segment import query_terms, segment
from memwell.language.updates import RETRACTING, corrects_earlier
from memwell.longterm.postings import (
    MOST_AT_ONCE,
    Arrays,
    BatchSegmenter,
    Names,
    RowPostings,
    WordBatch,
    asks,
    below,
    tells,
    under,
)

# Vectors in one byte a number: a quarter of the memory, and dot products in a quarter of the time.

Floats = NDArray[np.float32]

_MOST = 127.0
_LEAST = 1e-6
_FROM_ENGLISH, _TO_ENGLISH = np.float32(1.4), np.float32(1.15)
"""How much more alike an answer is to its question in one language than across two. An English question has an encoder of
its own for English memories, so those in other languages need more.
"""
_MOST_SIGNS = 512
"""How many signs of a vector are compared at most: that tells the nearest from the rest, and more are slower to read."""
_BLOCK = 16_384
_AT_ONCE = 256


class QuantizedVectors:
    """Vectors quantized to one byte a number, a row each. A row that was never set is zeros."""

    def __init__(self, saved: Arrays | None = None) -> None:
        # Without a dimension there are no rows yet, even if there was room for some.
        found: Arrays = saved if saved is not None and saved["codes"].shape[1] else {}
        self._codes: NDArray[np.int8] = found.get("codes", np.zeros((0, 0), np.int8))
        self._scales: Floats = found.get("scales", np.zeros(0, np.float32))
        self._lengths: Floats = found.get("lengths", np.zeros(0, np.float32))
        self._bits: NDArray[np.uint8] | None = found.get("bits")
        """The signs of the saved rows, a bit a number; what is not here is made from the codes."""
        self.dimensions: int = self._codes.shape[1]
        self._rows = len(self._codes)
        self._signs: dict[tuple[int, int], numkong.PackedMatrix | None] = {}
        """The packed signs of blocks of rows, by block and first number; None for one that was compared once."""
        place = int(found["shared_from"][0]) if found else NOWHERE
        self._shared_from: int | None = None if place == NOWHERE else place
        self._shared: Floats = found.get("shared", np.zeros(0, np.float32))
        self._foreign: dict[bool, Flags | None] = {}
        """Which rows are foreign to a vector with numbers of its language, and to one without; made when asked for."""

    def share_from(self, place: int | None) -> None:
        """Set from which number on vectors are comparable across languages; None: as a whole (see ``Embedder``)."""
        if place != self._shared_from:
            self._shared_from = place
            self._signs.clear()
            self._foreign.clear()
            for start in range(0, len(self._codes) if place is not None else 0, _BLOCK):
                self._measure(np.arange(start, min(start + _BLOCK, len(self._codes))))

    def _measure(self, rows: NDArray[np.intp]) -> None:
        """Note the length of the shared part of rows that have numbers of their language only; 0 for the others."""
        own, shared = np.split(self._codes[rows], [self._shared_from or 0], axis=1)
        lengths = np.linalg.norm(shared.astype(np.float32), axis=1) * self._scales[rows]
        self._shared[rows] = np.where(own.any(1), lengths, 0.0)

    def foreign(self, vector: NDArray[Any], rows: NDArray[np.intp] | slice) -> Flags | None:
        """Which rows are of a text in another language than a vector's; None where that is not known, or none is."""
        if self._shared_from is None or not self.dimensions:
            return None
        own = bool(vector[: self._shared_from].any())
        if own not in self._foreign:
            found = ((self._shared > 0.0) != own) & (self._lengths > 0.0)
            self._foreign[own] = found if found.any() else None
        foreign = self._foreign[own]
        return None if foreign is None else foreign[rows]

    def _across(self, vector: NDArray[Any]) -> np.float32:
        """What likeness to texts in another language than a vector's is multiplied by."""
        return _FROM_ENGLISH if vector[: self._shared_from].any() else _TO_ENGLISH

    def _translated(self, products: Floats, vector: NDArray[Any], rows: NDArray[np.intp] | slice) -> Floats:
        """Dot products with those of rows in another language replaced by the cosine of the shared parts, raised.

        There the dot product is that of the shared parts only, and small because each is only a part of its vector.
        """
        foreign = self.foreign(vector, rows)
        if foreign is not None and foreign.any():
            lengths = np.where(self._shared[rows] > 0.0, self._shared[rows], self._lengths[rows])
            asked = float(np.linalg.norm(vector[self._shared_from :]))
            cosines = products[foreign] / np.maximum(lengths[foreign] * np.float32(asked), _LEAST)
            products[foreign] = np.clip(cosines * self._across(vector), -1.0, 1.0)
        return products

    def arrays(self, rows: int) -> dict[str, NDArray[Any]]:
        """The first rows as arrays, from which they are made again."""
        codes = self._codes[:rows]
        bits = np.zeros((len(codes), (self.dimensions + 7) // 8), np.uint8)
        for start in range(0, len(codes), _BLOCK):
            bits[start : start + _BLOCK] = self._block_bits(start // _BLOCK)[: len(codes) - start]
        return {
            "codes": codes,
            "scales": self._scales[:rows],
            "lengths": self._lengths[:rows],
            "bits": bits,
            "shared": self._shared[:rows],
            "shared_from": np.array([NOWHERE if self._shared_from is None else self._shared_from]),
        }

    def grow(self, rows: int) -> None:
        """Make room for this many rows."""
        self._rows = rows
        if not self.dimensions or len(self._codes) >= rows:
            return
        old = self._codes, self._scales, self._lengths, self._shared
        self._codes = np.zeros((rows, self.dimensions), np.int8)
        self._scales, self._lengths, self._shared = (np.zeros(rows, np.float32) for _ in range(3))
        new = self._codes, self._scales, self._lengths, self._shared
        for before, now in zip(old, new, strict=True):
            if len(before):
                now[: len(before)] = before
        # The last block of signs may have ended with the rows.
        self._signs.clear()
        self._foreign.clear()
        self._bits = None

    def set_dimensions(self, dimensions: int) -> None:
        """Set the length of all vectors, before the first one is stored."""
        self.dimensions = dimensions
        self.grow(self._rows)

    def __setitem__(self, row: int, vector: NDArray[Any]) -> None:
        self.put([row], [vector])

    def put(self, rows: Sequence[int], vectors: Sequence[NDArray[Any]]) -> None:
        """Set each row to the vector at the same place."""
        if rows and not self.dimensions:
            self.set_dimensions(len(vectors[0]))
        for start in range(0, len(rows), _AT_ONCE):
            some = list(rows[start : start + _AT_ONCE])
            whole = np.array(vectors[start : start + _AT_ONCE], np.float32)
            self._codes[some], self._scales[some] = _coded(whole)
            self._lengths[some] = np.sqrt(np.einsum("ij,ij->i", whole, whole))
            if self._bits is not None:
                self._bits[some] = np.packbits(self._codes[some] > 0, axis=1)
            if self._shared_from is not None:
                self._measure(np.array(some, np.intp))
        self._foreign.clear()
        if self._signs:
            self._drop_signs({row // _BLOCK for row in rows})

    def _drop_signs(self, blocks: Collection[int]) -> None:
        self._signs = {key: packed for key, packed in self._signs.items() if key[0] not in blocks}

    def __delitem__(self, row: int) -> None:
        if self.dimensions:
            self._codes[row], self._scales[row], self._lengths[row], self._shared[row] = 0, 0.0, 0.0, 0.0
            if self._bits is not None:
                self._bits[row] = 0
            self._drop_signs({row // _BLOCK})
            self._foreign.clear()

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        return (
            self._codes.nbytes
            + 3 * self._scales.nbytes
            + sum(block.nbytes for block in self._signs.values() if block is not None)
        )

    def dots(self, vector: NDArray[Any], limit: int) -> Floats:
        """The dot products of the first ``limit`` rows with a vector."""
        return self._products(slice(limit), vector)

    def dots_of(self, rows: NDArray[np.intp], vector: NDArray[Any]) -> Floats:
        """The dot products of some rows with a vector: the same numbers as from ``dots``."""
        if not len(rows):
            return np.zeros(0, np.float32)
        return self._products(rows, vector)

    def _products(self, rows: NDArray[np.intp] | slice, vector: NDArray[Any]) -> Floats:
        (asked,), (scale,) = _coded(np.asarray(vector, np.float32)[None, :])
        # A text of one language has zeros in the place of the others, and they need not be read.
        given = np.flatnonzero(asked)
        part = slice(int(given[0]), int(given[-1]) + 1) if len(given) else slice(1)
        products = np.asarray(numkong.cdist(self._codes[:, part][rows], asked[None, part], metric="dot"))
        return self._translated((products[:, 0] * (self._scales[rows] * scale)).astype(np.float32), vector, rows)

    def cosine(self, one: int, other: int) -> float:
        """The cosine of two rows; 0 when one of them is zero."""
        mine, theirs = self._codes[one].astype(np.float32), self._codes[other].astype(np.float32)
        lengths = float(np.linalg.norm(mine) * np.linalg.norm(theirs))
        return float(product(mine, theirs)) / lengths if lengths else 0.0

    def cosines(self, rows: NDArray[np.intp]) -> Floats:
        """The cosine of each pair of some rows; 0 where one of them is zero."""
        codes = self._codes[rows]
        products = np.asarray(numkong.cdist(codes, codes, metric="dot"), np.float32)
        lengths = np.sqrt(np.maximum(products.diagonal(), 1.0))
        return np.divide(products, lengths[:, None] * lengths, dtype=np.float32)

    def rows(self, rows: NDArray[np.intp]) -> Floats:
        """Some rows as numbers again."""
        return self._codes[rows] * self._scales[rows][:, None]

    @property
    def shared_from(self) -> int | None:
        """From which number on vectors are comparable across languages; None: as a whole."""
        return self._shared_from

    def likely_dots(self, vector: NDArray[Any], limit: int) -> Floats:
        """Estimates of ``dots``, from the signs of the numbers alone.

        Texts of one language are compared by the numbers of this language, which weigh most; others by those they share.
        """
        # From the codes, as for the rows: the sign of a number that is rounded to 0 says nothing.
        asked = np.packbits(_coded(np.asarray(vector, np.float32)[None, :])[0] > 0, axis=1)
        start, end = self._shared_from or 0, self.dimensions
        first, last = (0, start) if start and vector[:start].any() else (start, end)
        likely = self._likely_cosines(asked, first, last, limit, np.linalg.norm(vector))
        likely *= self._lengths[:limit]
        foreign = self.foreign(vector, slice(limit))
        if foreign is not None:
            shared = self._likely_cosines(asked, start, end, limit, 1.0)[foreign]
            likely[foreign] = np.minimum(shared * self._across(vector), 1.0)
        return likely

    def _likely_cosines(
        self, asked: NDArray[np.uint8], first: int, last: int, limit: int, times: float | np.floating[Any]
    ) -> Floats:
        """The estimated cosines of the numbers from ``first`` to ``last``, times a number, given the signs asked for."""
        last = min(last, first + _MOST_SIGNS)
        likely, cosines = np.empty(limit, np.float32), _cosines(last - first) * np.float32(times)
        # Up to seven numbers at a border that is none of a byte are left out.
        part = slice(-(-first // 8), last // 8 if last < self.dimensions else None)
        asked = np.ascontiguousarray(asked[:, part])
        for start in range(0, limit, _BLOCK):
            unlike = self._unlike(asked, start // _BLOCK, first, part)[: limit - start]
            cosines.take(unlike, out=likely[start : start + _BLOCK], mode="clip")
        return likely

    def _unlike(self, asked: NDArray[np.uint8], block: int, first: int, part: slice) -> NDArray[Any]:
        """How many signs of each row of a block differ from those that are asked for."""
        packed = self._signs.get((block, first))
        if packed is None:
            bits = np.ascontiguousarray(self._block_bits(block)[:, part])
            if (block, first) not in self._signs:
                # Packing takes as long as ten comparisons without: a process may ask only once.
                self._signs[block, first] = None
                return np.asarray(numkong.cdist(asked, bits, metric="hamming", dtype="uint1"))[0].astype(np.intp)
            packed = self._signs[block, first] = numkong.hammings_pack(bits, dtype="uint1")
        return np.asarray(numkong.hammings_packed(asked, packed))[0]

    def _block_bits(self, number: int) -> NDArray[np.uint8]:
        rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
        return np.packbits(self._codes[rows] > 0, axis=1) if self._bits is None else self._bits[rows]


@cache
def _cosines(dimensions: int) -> Floats:
    """The estimated cosine of two vectors by how many of their signs differ."""
    # The share of differing signs is the share of a half turn between two directions.
    return np.cos(np.linspace(0.0, np.pi, dimensions + 1)).astype(np.float32)


class RoundedMatrices:
    """Matrices of one shape in one byte a number: products take half of the time, and are off by less than 1 %."""

    def __init__(self, matrices: Sequence[NDArray[Any]]) -> None:
        codes, steps = _coded(np.concatenate([np.ascontiguousarray(matrix.T) for matrix in matrices]))
        self._packed = [numkong.dots_pack(one, dtype="int8") for one in np.split(codes, len(matrices))]
        self._steps = steps.reshape(len(matrices), 1, -1)

    def products(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The sum of the products of parts, each with the matrix at its place."""
        codes, steps = _coded(np.concatenate(parts))
        made = np.empty((len(parts), len(parts[0]), self._steps.shape[2]), np.float32)
        for products, one, packed in zip(made, np.split(codes, len(parts)), self._packed, strict=True):
            products[:] = numkong.dots_packed(one, packed)
        made *= steps.reshape(len(parts), -1, 1)
        made *= self._steps
        return made.sum(0)


def _coded(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Each row in whole numbers from -127 to 127, and the value of one step of them."""
    largest = np.maximum(rows.max(1), -rows.min(1))
    steps = (largest.astype(np.float64) / _MOST).astype(np.float32)
    # A row of zeros, or too small for a step above 0, is divided by 1 and stays zeros.
    codes = rows / np.where(steps > 0.0, steps, np.float32(1.0))[:, None]
    return np.rint(codes, out=codes).astype(np.int8), steps


# The speakers in a snapshot by number, and which of them a query means.

ASKERS = frozenset({"user", "human", "me", "用户", "我"})
"""Roles that a question means by *I*."""
HELPERS = frozenset({"assistant", "ai", "bot", "助手"})
"""Roles that a question means by *you*."""
ROLES = ASKERS | HELPERS | {"system", "tool"}


def speaker_name(speaker: str) -> str:
    """The speaker's name; empty for a role such as *user*."""
    return "" if speaker.casefold() in ROLES else speaker


class Speakers:
    """The speakers of a snapshot by number. With its last record a speaker goes, and its number is reused."""

    def __init__(self, names: Sequence[str] = (), counts: Sequence[int] = ()) -> None:
        self._names, self._counts = list(names), list(counts)
        self._free = [number for number, count in enumerate(counts) if not count]
        self._numbers = {name: number for number, name in enumerate(names) if counts[number]}
        self._called: dict[str, set[int]] = {}
        for name, number in self._numbers.items():
            self._call(name, number)

    @property
    def names(self) -> Sequence[str]:
        """The names by number; empty for a record without a speaker, and for a number that is not in use."""
        return self._names

    @property
    def counts(self) -> Sequence[int]:
        """How many records each speaker has, by number."""
        return self._counts

    def add(self, speaker: str) -> int:
        """The speaker's number; counts one more record."""
        number = self._numbers.get(speaker)
        if number is None:
            number = self._new(speaker)
        self._counts[number] += 1
        return number

    def remove(self, number: int) -> None:
        """Count one record less."""
        self._counts[number] -= 1
        if not self._counts[number]:
            speaker = self._names[number]
            del self._numbers[speaker]
            for call in _calls(speaker):
                self._called[call].discard(number)
                if not self._called[call]:
                    del self._called[call]
            self._names[number] = ""
            self._free.append(number)

    def _new(self, speaker: str) -> int:
        if self._free:
            number = self._free.pop()
            self._names[number] = speaker
        else:
            number = len(self._names)
            self._names.append(speaker)
            self._counts.append(0)
        self._numbers[speaker] = number
        self._call(speaker, number)
        return number

    def _call(self, speaker: str, number: int) -> None:
        for call in _calls(speaker):
            self._called.setdefault(call, set()).add(number)

    def named(self, terms: Iterable[str]) -> list[int]:
        """The numbers of speakers that a term names."""
        return sorted({number for term in terms for number in self._called.get(term, ())})

    def has(self, name: str) -> bool:
        """Whether a name, or first name, is a speaker's."""
        terms = query_terms(name)
        return bool(terms) and bool(self.named(terms[:1]))

    def meant(self, *, asker: bool, helper: bool) -> list[int]:
        """The numbers of speakers with these roles."""
        roles = [call for call, wanted in ((_ASKER, asker), (_HELPER, helper)) if wanted]
        return self.named(roles)


# Terms hold no spaces, so no name equals a role.
_ASKER, _HELPER = " asker", " helper"


def _calls(speaker: str) -> list[str]:
    """The terms that name a speaker: the first part of a name, or every part of one written without spaces."""
    role = speaker.casefold()
    if role in ROLES:
        return [_ASKER] if role in ASKERS else [_HELPER] if role in HELPERS else []
    return query_terms(speaker)[:1] if speaker.isascii() else query_terms(speaker)


Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]

NOWHERE = -1
"""The row of a missing neighbour."""

_FIRST_ROWS = 64
_MANY_HEADS = 4096
_DAY = 86_400.0
_MANY_COME = 8
_GAP = 4 * 3_600.0
"""Turns without a session that are further apart, in seconds, are of different conversations."""
_LONGEST_RUN = 200
"""More turns without such a gap are no conversation, but an import without times."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


class SnapshotEntry(NamedTuple):
    """The fields of one record that ranking reads. A signal whose field is empty is not computed."""

    id: str
    text: str
    speaker: str = ""
    session: str = ""
    position: int = 0
    """The order inside the session."""
    time: float = 0.0
    """Seconds since 1970; 0 is unknown."""
    kind: str = ""
    importance: float = 0.0
    """Without its uses, which raise it."""
    uses: int = 0
    vector: NDArray[Any] | None = None
    accessed: float = 0.0
    """When it was last recalled, in seconds since 1970; 0 is never."""
    worth: float | None = None
    """The importance as it was given; None is the same as ``importance``."""
    expires: float = 0.0
    """When it expires, in seconds since 1970; 0 is never."""
    number: int = 0
    """The store's number of it."""
    learned: float = 0.0
    """When it was stored, in seconds since 1970; 0 is unknown."""


def is_chinese(text: str) -> bool:
    """Whether at least a third of a text's characters, spaces aside, are Chinese."""
    return not text.isascii() and 3 * len(_HAN.findall(text)) >= len(text.replace(" ", ""))


def embedded_text(speaker: str, text: str) -> str:
    """The text to embed for a record: the speaker's name in front, so that *what did Anna say* is near it."""
    name = speaker_name(speaker)
    return f"{name}: {text}" if name else text


def date_words(time: float, *, chinese: bool) -> str:
    """The day of a time in words, as people ask for it; empty for an unknown time."""
    return shown_date(datetime.fromtimestamp(time, UTC), "zh" if chinese else "en") if time else ""


def _head(entry: SnapshotEntry) -> tuple[str, ...]:
    """The words in front of the text's: the speaker's name, and the day."""
    day = entry.time // _DAY if entry.time else None
    return _head_words(speaker_name(entry.speaker), day, is_chinese(entry.text))


@lru_cache(_MANY_HEADS)
def _head_words(name: str, day: float | None, chinese: bool) -> tuple[str, ...]:
    # Noon, because 0, midnight of the first day, means an unknown time.
    words = "" if day is None else date_words((day + 0.5) * _DAY, chinese=chinese)
    return tuple(segment(f"{name} {words}"))


def _vector_of(entry: SnapshotEntry) -> Floats | None:
    if entry.vector is None:
        return None
    vector = np.asarray(entry.vector, np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise InvalidInput(f"the vector of {entry.id!r} must be a row of finite numbers")
    return vector


_Place: TypeAlias = tuple[int, str, int]
"""The position of a record in its session: its order, its id and its row."""
_Turn: TypeAlias = tuple[float, int, str, int]
"""The position of a turn without a session among all of them: its time, its order, its id and its row."""


class SessionRuns(NamedTuple):
    """Runs of rows of one session, in order: the first row of each, how many they are, and the number of the session."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]
    numbers: NDArray[np.intp]

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of sessions, by number, for each row."""
        return np.repeat(values.take(self.numbers), self.lengths)

    def rows(self, wanted: Flags) -> NDArray[np.intp]:
        """The rows of wanted sessions, given as flags by number, in order."""
        chosen = np.flatnonzero(wanted.take(self.numbers))
        lengths = self.lengths[chosen]
        ends = np.cumsum(lengths)
        return np.repeat(self.starts[chosen] - ends + lengths, lengths) + np.arange(int(lengths.sum()))


def may_retract(text: str) -> bool:
    """Whether a text may take back what was said just before it."""
    return bool(in_jest(text)) or corrects_earlier(text)


def _checked_vector(snapshot: Snapshot, entry: SnapshotEntry) -> Floats | None:
    vector, size = _vector_of(entry), snapshot.dimensions
    if vector is None:
        return None
    if size and len(vector) != size:
        raise InvalidInput(f"the vector of {entry.id!r} has {len(vector)} numbers; the others have {size}")
    if not size:
        snapshot.vectors.set_dimensions(len(vector))
    return vector


_OF_A_TEXT = (
    "alive", "has_vector", "lengths", "text_lengths", "times", "accessed", "importance", "uses", "worth", "asks",
    "tells_time", "tells_number", "retracts", "position", "expires", "number", "is_turn", "learned",
)  # fmt: skip
"""The columns that are 0 in a row that is not in use."""


class Snapshot:
    """The entries of one space in rows. Freed rows are reused; ``limit`` is one above the highest row ever used."""

    def __init__(self) -> None:
        self.ids = Names()
        self.sessions = Names()
        """The names of sessions; that of one that has none begins with NUL."""
        self.kinds = Names()
        self.postings = RowPostings()
        self.speakers = Speakers()
        self.vectors = QuantizedVectors()
        self.total_words = 0
        self._turns: list[_Turn] | None = []
        """The turns without a session in order; None while they are not needed."""
        self._runs: SessionRuns | None = None
        """The runs of rows of one session; None after a change of them."""
        self._make_columns()

    def _make_columns(self) -> None:
        rows = _FIRST_ROWS
        self.alive: Flags = np.zeros(rows, np.bool_)
        self.lengths: Floats = np.zeros(rows, np.float32)
        self.text_lengths: Floats = np.zeros(rows, np.float32)
        self.times = np.zeros(rows, np.float64)
        self.accessed = np.zeros(rows, np.float64)
        self.importance: Floats = np.zeros(rows, np.float32)
        self.uses: Floats = np.zeros(rows, np.float32)
        self.worth: Floats = np.zeros(rows, np.float32)
        self.speaker: Integers = np.zeros(rows, np.int32)
        self.session: Integers = np.zeros(rows, np.int32)
        self.previous: Integers = np.full(rows, NOWHERE, np.int32)
        self.following: Integers = np.full(rows, NOWHERE, np.int32)
        self.asks: Flags = np.zeros(rows, np.bool_)
        self.tells_time: Flags = np.zeros(rows, np.bool_)
        self.tells_number: Flags = np.zeros(rows, np.bool_)
        self.retracts: Flags = np.zeros(rows, np.bool_)
        self.has_vector: Flags = np.zeros(rows, np.bool_)
        self.kind: Integers = np.zeros(rows, np.int32)
        self.position = np.zeros(rows, np.int64)
        self.expires = np.zeros(rows, np.float64)
        self.number = np.zeros(rows, np.int64)
        self.learned = np.zeros(rows, np.float64)
        self.is_turn: Flags = np.zeros(rows, np.bool_)
        self.session_lengths: Floats = np.zeros(rows, np.float32)
        self.session_sizes: Integers = np.zeros(rows, np.int32)
        self.session_last: Integers = np.full(rows, NOWHERE, np.int32)
        self.vectors.grow(rows)

    COLUMNS = (
        "alive", "lengths", "text_lengths", "times", "accessed", "importance", "uses", "worth", "speaker", "session",
        "previous", "following", "asks", "tells_time", "tells_number", "retracts", "has_vector", "kind", "position",
        "expires", "number", "is_turn", "learned", "session_lengths", "session_sizes", "session_last",
    )  # fmt: skip
    """All columns: they grow together, and they are what a file holds. The last three have a row for each session."""
    _ROWS = ("previous", "following", "session_last")
    """The columns that hold rows; ``NOWHERE`` where there is none."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the speakers as arrays, from which ``restored`` makes the same snapshot."""
        return {
            **{name: getattr(self, name)[: self.limit] for name in self.COLUMNS},
            **under("vectors", self.vectors.arrays(self.limit)),
            **under("ids", self.ids.arrays()),
            **under("sessions", self.sessions.arrays()),
            **under("kinds", self.kinds.arrays()),
            **under("postings", self.postings.arrays()),
        }

    @classmethod
    def restored(cls, arrays: Arrays, speakers: Speakers) -> Snapshot:
        """The snapshot that ``arrays`` were made of. It changes these, where they have room for more rows."""
        snapshot = cls.__new__(cls)
        for name in cls.COLUMNS:
            setattr(snapshot, name, arrays[name])
        snapshot.ids, snapshot.sessions = Names(below(arrays, "ids")), Names(below(arrays, "sessions"))
        snapshot.kinds = Names(below(arrays, "kinds"))
        snapshot.postings = RowPostings(below(arrays, "postings"))
        snapshot.speakers, snapshot._turns, snapshot._runs = speakers, None, None
        snapshot.vectors = QuantizedVectors(below(arrays, "vectors"))
        snapshot.vectors.grow(len(snapshot.alive))
        snapshot.total_words = int(snapshot.lengths[: snapshot.limit].sum(dtype=np.float64))
        return snapshot

    @classmethod
    def build(cls, entries: Iterable[SnapshotEntry]) -> Snapshot:
        """A snapshot of these entries. Raises ``InvalidInput`` as ``apply`` does."""
        snapshot = cls()
        snapshot.apply(entries, ())
        return snapshot

    def apply(self, changed: Iterable[SnapshotEntry], removed: Iterable[str]) -> None:
        """Store entries, replacing those of the same id, and remove others; unknown ids are ignored.

        Raises ``InvalidInput`` for a vector of another length than the others; the entries before it are stored.
        """
        for identity in removed:
            row = self.ids.get(identity)
            if row is not None:
                self._remove(row)
        segmenter = BatchSegmenter(self.postings)
        batch: dict[str, tuple[SnapshotEntry, Floats | None]] = {}
        try:
            for entry in changed:
                vector = _checked_vector(self, entry)
                if entry.id in batch or len(batch) == MOST_AT_ONCE:
                    self._add(batch.values(), segmenter)
                    batch = {}
                row = self.ids.get(entry.id)
                if row is not None:
                    self._remove(row)
                batch[entry.id] = entry, vector
        finally:
            self._add(batch.values(), segmenter)

    def drop_unused(self) -> None:
        """Drop the kinds that no entry has. Of entries that were removed nothing else stays in memory."""
        used = set(self.kind[: self.limit][self.alive[: self.limit]].tolist())
        for number in range(self.kinds.limit):
            if number not in used and self.kinds[number]:
                self.kinds.remove(number)

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, identity: str) -> bool:
        return identity in self.ids

    @property
    def limit(self) -> int:
        """Every row in use is below this."""
        return self.ids.limit

    @property
    def dimensions(self) -> int:
        """The length of a vector; 0 while there is none."""
        return self.vectors.dimensions

    @property
    def session_count(self) -> int:
        """The number of sessions; an entry without one counts as its own."""
        return len(self.sessions)

    @property
    def session_limit(self) -> int:
        """One above the highest session number."""
        return self.sessions.limit

    @property
    def nbytes(self) -> int:
        """About how much memory the snapshot takes."""
        columns = sum(getattr(self, name).nbytes for name in self.COLUMNS) + self.vectors.nbytes
        return columns + self.postings.nbytes + self.ids.nbytes + self.sessions.nbytes

    @property
    def session_runs(self) -> SessionRuns:
        """The rows as runs of one session: most sessions are stored at once."""
        if self._runs is None:
            sessions = self.session[: self.limit]
            starts = np.flatnonzero(np.concatenate(([True], sessions[1:] != sessions[:-1]))[: self.limit])
            self._runs = SessionRuns(starts, np.diff(starts, append=self.limit), sessions[starts].astype(np.intp))
        return self._runs

    def row_of(self, identity: str) -> int:
        """The row of an entry. Raises ``KeyError``."""
        row = self.ids.get(identity)
        if row is None:
            raise KeyError(identity)
        return row

    def numbered(self, numbers: Collection[int]) -> list[str]:
        """The ids of the entries with these numbers of the store."""
        wanted = np.array(list(numbers), np.int64)
        found = np.flatnonzero(np.isin(self.number[: self.limit], wanted) & self.alive[: self.limit])
        return [self.ids[row] for row in found.tolist()]

    def touch(self, identity: str, moment: float) -> None:
        """Set when an entry was last recalled. Raises ``KeyError``."""
        self.accessed[self.row_of(identity)] = moment

    def _add(self, batch: Collection[tuple[SnapshotEntry, Floats | None]], segmenter: BatchSegmenter) -> None:
        """Store entries that are not here yet."""
        if not batch:
            return
        entries = [entry for entry, _ in batch]
        rows = self._new_rows(entries)
        cut = segmenter.cut((_head(entry), entry.text) for entry in entries)
        places = np.array(rows, np.int32)
        self.postings.add(places, cut)
        lengths = cut.lengths()
        self.lengths[places] = lengths
        self.total_words += int(lengths.sum())
        self._fill(rows, entries, cut)
        self._fill_vectors(rows, [vector for _, vector in batch])
        self._link(rows, entries)

    def _new_rows(self, entries: Sequence[SnapshotEntry]) -> list[int]:
        """Rows for entries, in ascending order."""
        before = self.limit
        rows = self.ids.add_all([entry.id for entry in entries])
        if self.limit > len(self.alive):
            self._grow(max(2 * before, self.limit))
        return rows

    def _grow(self, rows: int) -> None:
        for name in self.COLUMNS:
            old = getattr(self, name)
            new = np.full(rows, NOWHERE, old.dtype) if name in self._ROWS else np.zeros(rows, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self.vectors.grow(rows)

    def _fill(self, rows: Sequence[int], entries: Sequence[SnapshotEntry], cut: WordBatch) -> None:
        self.alive[rows] = True
        self.text_lengths[rows] = [len(one.text) * (4.0 if is_chinese(one.text) else 1.0) for one in entries]
        self.times[rows] = [one.time for one in entries]
        self.accessed[rows] = [one.accessed for one in entries]
        self.importance[rows] = [one.importance for one in entries]
        self.worth[rows] = [one.importance if one.worth is None else one.worth for one in entries]
        self.uses[rows] = [one.uses for one in entries]
        self.speaker[rows] = [self.speakers.add(one.speaker) for one in entries]
        self.kind[rows] = [self._kind(one.kind) for one in entries]
        self.position[rows] = [one.position for one in entries]
        self.expires[rows] = [one.expires for one in entries]
        self.number[rows] = [one.number for one in entries]
        self.learned[rows] = [one.learned for one in entries]
        self.is_turn[rows] = [bool(one.speaker and one.time and not one.session) for one in entries]
        self.asks[rows] = [asks(one.text) for one in entries]
        mentions = [tells(one.text, kinds) for one, kinds in zip(entries, cut.kinds.tolist(), strict=True)]
        self.tells_time[rows], self.tells_number[rows] = zip(*mentions, strict=True)
        may = cut.having(self.postings.numbers(RETRACTING)).tolist()
        self.retracts[rows] = [some and may_retract(one.text) for one, some in zip(entries, may, strict=True)]

    def _fill_vectors(self, rows: Sequence[int], vectors: Sequence[Floats | None]) -> None:
        given = {row: vector for row, vector in zip(rows, vectors, strict=True) if vector is not None}
        self.has_vector[list(given)] = True
        self.vectors.put(list(given), list(given.values()))

    def _kind(self, kind: str) -> int:
        # Kinds are few, so none is removed.
        return self.kinds.number(kind) if kind else NOWHERE

    def _link(self, rows: Sequence[int], entries: Sequence[SnapshotEntry]) -> None:
        """Link rows with their neighbours in their sessions."""
        self._runs = None
        come: dict[int, list[_Place]] = {}
        for row, entry in zip(rows, entries, strict=True):
            # A record without a session is a session of its own; NUL is in no session's name.
            self.session[row] = number = self._session(entry.session or f"\0{entry.id}")
            self.session_sizes[number] += 1
            self.previous[row] = self.following[row] = NOWHERE
            if entry.session:
                come.setdefault(number, []).append((entry.position, entry.id, row))
        np.add.at(self.session_lengths, self.session[rows], self.lengths[rows])
        for number, places in come.items():
            self._link_all(number, sorted(places, reverse=True))
        self._infer_sessions(
            sorted(
                (entry.time, entry.position, entry.id, row)
                for row, entry in zip(rows, entries, strict=True)
                if entry.speaker and entry.time and not entry.session
            )
        )

    def _session(self, name: str) -> int:
        number = self.sessions.get(name)
        if number is None:
            number = self.sessions.number(name)
            if number >= len(self.session_lengths):
                self._grow(2 * number)
            self.session_lengths[number], self.session_sizes[number], self.session_last[number] = 0.0, 0, NOWHERE
        return number

    def _turn(self, row: int) -> _Turn:
        return float(self.times[row]), *self._place(row)

    def _all_turns(self) -> list[_Turn]:
        if self._turns is None:
            rows = np.flatnonzero(self.is_turn[: self.limit] & self.alive[: self.limit])
            self._turns = sorted(map(self._turn, rows.tolist()))
        return self._turns

    def _infer_sessions(self, turns: Sequence[_Turn]) -> None:
        """Link turns without a session with those shortly before and after, and give them a session together.

        A text without a speaker is no turn: facts that are stored one after the other need not have to do with each other.
        """
        if not turns:
            return
        known = self._all_turns()
        missing = [turn for turn in turns if known[(at := bisect_left(known, turn)) : at + 1] != [turn]]
        if len(missing) * _MANY_COME < len(known):
            for turn in missing:
                insort(known, turn)
        else:
            self._turns = known = sorted([*known, *missing])
        done = 0
        for turn in turns:
            at = bisect_left(known, turn)
            self._link_turns(at)
            self._link_turns(at + 1)
            if at >= done:
                done = self._join_run(at)

    def _link_turns(self, at: int) -> None:
        """Link the turn at a place with the one before it, if they are of one conversation."""
        turns = self._all_turns()
        if 0 < at < len(turns):
            before, after = turns[at - 1][3], turns[at][3]
            near = self._is_near(at)
            self.following[before], self.previous[after] = (after, before) if near else (NOWHERE, NOWHERE)

    def _is_near(self, at: int) -> bool:
        """Whether the turn at a place is shortly after the one before it."""
        turns = self._all_turns()
        return turns[at][0] - turns[at - 1][0] < _GAP

    def _join_run(self, at: int) -> int:
        """Put the run of turns around a place into one session, or each into its own if it is too long.

        Returns the place after the turns that were looked at.
        """
        turns = self._all_turns()
        start, end = at, at + 1
        while start > 0 and at - start <= _LONGEST_RUN and self._is_near(start):
            start -= 1
        while end < len(turns) and end - at <= _LONGEST_RUN and self._is_near(end):
            end += 1
        for turn in turns[start:end]:
            first = turn if end - start > _LONGEST_RUN else turns[start]
            self._move(turn[3], f"\0{first[2]}")
        return end

    def _move(self, row: int, session: str) -> None:
        """Take a row out of its session and put it into another."""
        number = self._session(session)
        if number != self.session[row]:
            self._leave(row)
            self._runs = None
            self.session[row] = number
            self.session_sizes[number] += 1
            self.session_lengths[number] += self.lengths[row]

    def _leave(self, row: int) -> None:
        """Take a row out of its session."""
        number = int(self.session[row])
        self.session_sizes[number] -= 1
        self.session_lengths[number] -= self.lengths[row]
        if not self.session_sizes[number]:
            self.sessions.remove(number)

    def _link_all(self, number: int, places: Sequence[_Place]) -> None:
        """Link places, the last of them first, into a session. They are looked for from its end, where most belong."""
        after, before = NOWHERE, int(self.session_last[number])
        for place in places:
            while before != NOWHERE and self._place(before) > place:
                self._join(before, after)
                after, before = before, int(self.previous[before])
            row = place[2]
            self.following[row] = NOWHERE
            self._join(row, after)
            if after == NOWHERE:
                self.session_last[number] = row
            after = row
        self.previous[after] = NOWHERE
        self._join(before, after)

    def _place(self, row: int) -> _Place:
        return int(self.position[row]), self.ids[row], row

    def _join(self, before: int, after: int) -> None:
        if before != NOWHERE:
            self.following[before] = after
        if after != NOWHERE:
            self.previous[after] = before

    def _remove(self, row: int) -> None:
        self.postings.remove(row)
        self._unlink(row)
        self.speakers.remove(int(self.speaker[row]))
        self.total_words -= int(self.lengths[row])
        for name in _OF_A_TEXT:
            getattr(self, name)[row] = 0
        del self.vectors[row]
        self.ids.remove(row)

    def _unlink(self, row: int) -> None:
        number = int(self.session[row])
        before, after = int(self.previous[row]), int(self.following[row])
        self._join(before, after)
        self.previous[row] = self.following[row] = NOWHERE
        if self.session_last[number] == row:
            self.session_last[number] = before
        self._leave(row)
        if self.is_turn[row]:
            turns = self._all_turns()
            at = bisect_left(turns, self._turn(row))
            del turns[at]
            self._link_turns(at)
            for near in range(max(at - 1, 0), min(at + 1, len(turns))):
                self._join_run(near)

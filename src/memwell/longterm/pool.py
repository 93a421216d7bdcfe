"""The records of one space, held in memory as arrays, ready to be ranked.

A pool is a cache: the store is the truth, and whoever owns the pool applies the store's changes to it. Adding or removing
a record costs what that record costs, whatever the size of the pool, apart from a doubling now and then. A pool after any
changes ranks exactly as one that was built afresh from the same entries. It is not safe to change it while another thread
ranks with it.

The indexed words of a record are its text's, its speaker's, and the date of its time in words, so that *in May* and *what
did Anna say* find it while its stored text stays clean.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.errors import InvalidInput
from memwell.language.dates import shown_date
from memwell.language.segment import segment
from memwell.longterm.codes import Codes
from memwell.longterm.speakers import Speakers, speaker_name

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]

NOWHERE = -1
"""The row of a neighbour that does not exist."""

_FIRST_ROWS = 64
_COUNT_BITS = 4
MAX_COUNT = 2**_COUNT_BITS - 1
"""A word counts at most this often in one record: BM25 has long been saturated by then."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_QUESTION = re.compile(r"[?？]|[吗呢么][。!！~\s]*\Z")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|weekends?|"
    r"(?:last|next|this|past|coming|every|previous|few|couple of) "
    r"(?:night|morning|afternoon|evening|days?|weeks?|weekend|months?|years?|summer|winter|spring|fall|autumn|"
    r"mon|tues|wednes|thurs|fri|satur|sun)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|since|"
    r"january|february|march|april|june|july|august|september|october|november|december|(?:19|20)\d\d)\b"
    r"|昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|once|twice|couple|dozen)\b"
    r"|[二三四五六七八九十两百千][个只次天年本名位条张件]",
    re.IGNORECASE,
)


class Entry(NamedTuple):
    """What ranking needs of one record. What is not known stays empty, and the signals that need it stay silent."""

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
    uses: int = 0
    vector: NDArray[Any] | None = None
    accessed: float = 0.0
    """When it was last recalled, in seconds since 1970; 0 is never."""
    worth: float | None = None
    """The importance it was given, as it was given; None is the same as ``importance``."""


def is_chinese(text: str) -> bool:
    """Whether a text is mostly Chinese: every third character, spaces aside, is enough."""
    return not text.isascii() and 3 * len(_HAN.findall(text)) >= len(text.replace(" ", ""))


def embedded_text(entry: Entry) -> str:
    """The text whose vector an entry should carry: the speaker in front, so that *what did Anna say* is near it."""
    name = speaker_name(entry.speaker)
    return f"{name}: {entry.text}" if name else entry.text


def date_words(time: float, *, chinese: bool) -> str:
    """The day of a time in words, as people ask for it; nothing for a time that is unknown."""
    return shown_date(datetime.fromtimestamp(time, UTC), "zh" if chinese else "en") if time else ""


def indexed_words(entry: Entry) -> list[str]:
    """The words an entry is found by."""
    day = date_words(entry.time, chinese=is_chinese(entry.text))
    return segment(f"{speaker_name(entry.speaker)} {day} {entry.text}")


class Pool:
    """The entries of one space in rows; a freed row is used again. ``limit`` rows are in use or were."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.postings: dict[str, array[int]] = {}
        self.speakers = Speakers()
        self.vectors = Codes()
        self.total_words = 0
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._words: list[tuple[str, ...]] = []
        self._places: list[tuple[int, str, int]] = []
        self._sessions: dict[str, int] = {}
        self._members: list[list[tuple[int, str, int]]] = []
        self._session_names: list[str] = []
        self._free_sessions: list[int] = []
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
        self.has_vector: Flags = np.zeros(rows, np.bool_)
        self.session_lengths: Floats = np.zeros(rows, np.float32)
        self.vectors.grow(rows)

    _COLUMNS = (
        "alive", "lengths", "text_lengths", "times", "accessed", "importance", "uses", "worth", "speaker", "session",
        "previous", "following", "asks", "tells_time", "tells_number", "has_vector", "session_lengths",
    )  # fmt: skip

    @classmethod
    def build(cls, entries: Iterable[Entry]) -> Pool:
        """A pool of these entries. Raises ``InvalidInput`` as ``apply`` does."""
        pool = cls()
        pool.apply(entries, ())
        return pool

    def apply(self, changed: Iterable[Entry], removed: Iterable[str]) -> None:
        """Take in entries, each in place of the one with its id, and let others go; an unknown id is no error.

        Raises ``InvalidInput`` for a vector that is not as long as the others; entries before it are taken in.
        """
        for identity in removed:
            if identity in self._rows:
                self._remove(identity)
        for entry in changed:
            vector = self._checked_vector(entry)
            if entry.id in self._rows:
                self._remove(entry.id)
            self._add(entry, vector)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, identity: str) -> bool:
        return identity in self._rows

    @property
    def limit(self) -> int:
        """Every row in use is below this."""
        return len(self.ids)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; 0 while there is none."""
        return self.vectors.dimensions

    @property
    def session_count(self) -> int:
        """How many sessions there are; an entry without one is its own."""
        return len(self._sessions)

    @property
    def nbytes(self) -> int:
        """About how much memory the pool takes."""
        columns = sum(getattr(self, name).nbytes for name in self._COLUMNS) + self.vectors.nbytes
        postings = sum(112 + len(term) + posting.itemsize * len(posting) for term, posting in self.postings.items())
        return columns + postings + sum(56 + 8 * len(words) for words in self._words) + 200 * len(self._rows)

    def row_of(self, identity: str) -> int:
        """The row of an entry. Raises ``KeyError`` when it is not here."""
        return self._rows[identity]

    def touch(self, identity: str, moment: float) -> None:
        """Note that an entry was recalled at a moment. Raises ``KeyError`` when it is not here."""
        self.accessed[self._rows[identity]] = moment

    def likeness(self, one: int, other: int) -> float:
        """How much two rows say the same, from 0 to 1: by their words, and by their vectors where these are very near."""
        mine, theirs = set(self._words[one]), set(self._words[other])
        shared = len(mine & theirs) / max(len(mine | theirs), 1)
        if not (self.has_vector[one] and self.has_vector[other]):
            return shared
        near = self.vectors.cosine(one, other)
        return max(shared, min(near, 1.0) ** 4 if near > 0.0 else 0.0)

    def _checked_vector(self, entry: Entry) -> Floats | None:
        if entry.vector is None:
            return None
        vector = np.asarray(entry.vector, np.float32)
        if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
            raise InvalidInput(f"the vector of {entry.id!r} must be a row of finite numbers")
        if self.dimensions and len(vector) != self.dimensions:
            raise InvalidInput(
                f"the vector of {entry.id!r} has {len(vector)} numbers; the others have {self.dimensions}"
            )
        return vector

    def _add(self, entry: Entry, vector: Floats | None) -> None:
        row = self._new_row(entry.id)
        words = Counter(indexed_words(entry))
        for term, count in words.items():
            posting = self.postings.get(term)
            if posting is None:
                posting = self.postings[term] = array("i")
            posting.append(row << _COUNT_BITS | min(count, MAX_COUNT))
        self._words[row] = tuple(words)
        self.lengths[row] = words.total()
        self.total_words += words.total()
        self._fill(row, entry, vector)
        self._link(row, entry)

    def _new_row(self, identity: str) -> int:
        if self._free:
            row = self._free.pop()
            self.ids[row] = identity
        else:
            row = len(self.ids)
            self.ids.append(identity)
            self._words.append(())
            self._places.append((0, "", row))
            if row >= len(self.alive):
                self._grow(2 * row)
        self._rows[identity] = row
        return row

    def _grow(self, rows: int) -> None:
        for name in self._COLUMNS:
            old = getattr(self, name)
            new = np.full(rows, NOWHERE, old.dtype) if name in ("previous", "following") else np.zeros(rows, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self.vectors.grow(rows)

    def _fill(self, row: int, entry: Entry, vector: Floats | None) -> None:
        self.alive[row] = True
        self.text_lengths[row] = len(entry.text) * (4.0 if is_chinese(entry.text) else 1.0)
        self.times[row] = entry.time
        self.accessed[row] = entry.accessed
        self.importance[row] = entry.importance
        self.worth[row] = entry.importance if entry.worth is None else entry.worth
        self.uses[row] = entry.uses
        self.speaker[row] = self.speakers.add(entry.speaker)
        self.asks[row] = _QUESTION.search(entry.text) is not None
        self.tells_time[row] = _TIME.search(entry.text) is not None
        self.tells_number[row] = _NUMBER.search(entry.text) is not None
        self.has_vector[row] = vector is not None
        if vector is not None:
            self.vectors[row] = vector

    def _link(self, row: int, entry: Entry) -> None:
        """Put a row between its neighbours in its session."""
        # A record without a session is a session of its own; NUL is in no session's name.
        name = entry.session or f"\0{entry.id}"
        number = self._sessions.get(name)
        if number is None:
            number = self._new_session(name)
        members = self._members[number]
        place = self._places[row] = (entry.position, entry.id, row)
        at = bisect_left(members, place)
        members.insert(at, place)
        self.session[row] = number
        self.session_lengths[number] += self.lengths[row]
        self._join(members[at - 1][2] if at else NOWHERE, row)
        self._join(row, members[at + 1][2] if at + 1 < len(members) else NOWHERE)

    def _new_session(self, name: str) -> int:
        if self._free_sessions:
            number = self._free_sessions.pop()
            self._session_names[number] = name
        else:
            number = len(self._members)
            self._members.append([])
            self._session_names.append(name)
        self._sessions[name] = number
        return number

    def _join(self, before: int, after: int) -> None:
        if before != NOWHERE:
            self.following[before] = after
        if after != NOWHERE:
            self.previous[after] = before

    def _remove(self, identity: str) -> None:
        row = self._rows.pop(identity)
        for term in self._words[row]:
            self._unpost(term, row)
        self._unlink(row)
        self.speakers.remove(int(self.speaker[row]))
        self.total_words -= int(self.lengths[row])
        self.alive[row] = self.has_vector[row] = False
        self.lengths[row] = 0
        del self.vectors[row]
        self.ids[row], self._words[row] = "", ()
        self._free.append(row)

    def _unpost(self, term: str, row: int) -> None:
        posting = self.postings[term]
        if len(posting) == 1:
            del self.postings[term]
            return
        at = int(np.flatnonzero(np.frombuffer(posting, np.int32) >> _COUNT_BITS == row)[0])
        # Order does not matter in a posting, so the last one fills the gap.
        posting[at] = posting[-1]
        posting.pop()

    def _unlink(self, row: int) -> None:
        number = int(self.session[row])
        members = self._members[number]
        before, after = int(self.previous[row]), int(self.following[row])
        del members[bisect_left(members, self._places[row])]
        self._join(before, after)
        self.previous[row] = self.following[row] = NOWHERE
        self.session_lengths[number] -= self.lengths[row]
        if not members:
            del self._sessions[self._session_names[number]]
            self._free_sessions.append(number)


def unpacked(postings: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rows and the counts of postings."""
    return postings >> _COUNT_BITS, postings & MAX_COUNT


__all__ = [
    "MAX_COUNT",
    "NOWHERE",
    "Entry",
    "Flags",
    "Floats",
    "Integers",
    "Pool",
    "date_words",
    "embedded_text",
    "indexed_words",
    "is_chinese",
    "unpacked",
]

"""Which rows hold which words, how often, and back: the words of each row.

Words are numbers here, and rows come in batches, so that most of the work is done by arrays. A word that the last row has
let go of is gone, and so is its number. Rows of a word are kept in order.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple
from unicodedata import decimal

import numpy as np
from numpy.typing import NDArray

from memwell.language.segment import ascii_words, segment, token_of

# What a text does by its form: whether it asks something, tells a time, or tells a number.


TIME, FIRST, SECOND, NUMBER = 1, 2, 4, 8
"""What a word may be: a time of its own, the first or the second word of one (*last night*), a number."""

_QUESTION = re.compile(r"[?？]|[吗呢么][。!！~\s]*\Z")
_FIRST = "last next this past coming every previous few couple".split()
_SECOND = (
    "night morning afternoon evening day days week weeks weekend month months year years summer winter spring fall autumn "
    "mon tues wednes thurs fri satur sun"
).split()
_DAYS = [f"{day}day{end}" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun") for end in ("", "s")]
_TIMES = frozenset(
    "yesterday today tonight tomorrow ago recently lately weekend weekends since january february march april june july "
    "august september october november december".split()
).union(_DAYS, map(str, range(1900, 2100)))
_NUMBERS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty hundred once twice couple dozen".split()
)
# Each begins with its letters, which are searched for faster than a boundary; what stands before them is looked at after.
_PAIRS = [
    (first, re.compile(rf"{first}{' of' if first == 'couple' else ''} (?:{'|'.join(_SECOND)})\b")) for first in _FIRST
]
_TIME_CHINESE = re.compile(
    r"昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年"
)
_NUMBER_CHINESE = re.compile(r"\d|[二三四五六七八九十两百千][个只次天年本名位条张件]")
# What may be part of an English cue: letters, and the three that count as one of them whatever their case.
_LATIN = re.compile("[A-Za-zſıİ\u212a]|\\d")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
_SAME_LETTER = {"ſ": "s", "ı": "i", "İ": "i", "\u212a": "k"}
_REMEMBERED = 2**15


class _Kinds(dict[str, int]):
    """From a word in lower case to what it may be, remembered: most words have been seen before."""

    def __missing__(self, word: str) -> int:
        kind = 0
        for part in word.split("'"):
            kind |= TIME * (part in _TIMES) | FIRST * (part in _FIRST) | SECOND * (part in _SECOND)
            kind |= NUMBER * (part in _NUMBERS or any(map(str.isdigit, part)))
        if len(word) <= 64:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = kind
        return kind


kind_of: Callable[[str], int] = _Kinds().__getitem__
"""What a word of ``ascii_words`` may be: the sum of ``TIME``, ``FIRST``, ``SECOND`` and ``NUMBER``, or 0."""


def kinds_of(words: Iterable[str]) -> int:
    """What any of the words may be."""
    kinds = 0
    for word in words:
        kinds |= kind_of(word)
    return kinds


def asks(text: str) -> bool:
    """Whether a text asks something."""
    return "?" in text or (not text.isascii() and _QUESTION.search(text) is not None)


def tells(text: str, kinds: int) -> tuple[bool, bool]:
    """Whether a text tells a time, and whether it tells a number; ``kinds`` are those of its words if it is ASCII."""
    if not text.isascii():
        return _tells_beyond_ascii(text)
    if "_" in text:
        # It joins words, as far as a boundary between them goes; the words were cut at it.
        kinds = kinds_of(ascii_words(text.replace("_", "zz")))
    return _tells_time(text, kinds), bool(kinds & NUMBER)


def _tells_beyond_ascii(text: str) -> tuple[bool, bool]:
    time, number = _TIME_CHINESE.search(text) is not None, _NUMBER_CHINESE.search(text) is not None
    if (time and number) or not _LATIN.search(text):
        return time, number
    plain = _BEYOND_ASCII.sub(_stand_ins, text)
    found = tells(plain, kinds_of(ascii_words(plain)))
    return time or found[0], number or found[1]


def _stand_ins(match: re.Match[str]) -> str:
    """ASCII of the same kind: letters that are no word for letters, and what separates for the rest."""
    return "".join(_stand_in(char) for char in match[0])


def _stand_in(char: str) -> str:
    if char.isdecimal():
        return str(decimal(char))
    return _SAME_LETTER.get(char) or ("zz" if char.isalnum() else ".")


def _tells_time(text: str, kinds: int) -> bool:
    if kinds & TIME or not (kinds & FIRST and kinds & SECOND):
        return bool(kinds & TIME)
    text = text.lower()
    # A letter before it makes it the end of another word.
    return any(
        not _is_inside(text, found.start()) for first, pair in _PAIRS if first in text for found in pair.finditer(text)
    )


def _is_inside(text: str, place: int) -> bool:
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")


Integers = NDArray[np.int32]

_COUNT_BITS = 4
MAX_COUNT = 2**_COUNT_BITS - 1
"""A word counts at most this often in one record: BM25 has long been saturated by then."""

MOST_AT_ONCE = 4096
"""So many rows may be added by one call."""
_PLACE_BITS = 16
_NO_TERM = -1
_MOST_WRITTEN = 2**17
_COMMON = 16
"""A word that one in so many rows has is common."""
_MOST_COLUMNS = 64
_FEW = 64


class Cut(NamedTuple):
    """The words of a batch of texts: the number of each word, and the place in the batch of the text that has it."""

    terms: Integers
    places: NDArray[np.intp]
    kinds: NDArray[np.uint8]
    """What the words of each text may be, as ``memwell.longterm.postings`` says; of a text that is ASCII alone."""

    def lengths(self) -> NDArray[np.intp]:
        """How many words each text has."""
        return np.bincount(self.places, minlength=len(self.kinds))


class Postings:
    """The words of rows. It is as safe between threads as the pool it belongs to."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._rows: list[array[int]] = []
        self._free: list[int] = []
        self.forgotten = 0
        """How many terms have gone; a number known before the last one did may mean another term now."""
        self._words: list[bytes] = []
        self._columns: OrderedDict[int, NDArray[np.uint8]] = OrderedDict()

    def __contains__(self, term: str) -> bool:
        return term in self._numbers

    def __getitem__(self, term: str) -> Integers:
        """The rows that have a term with its counts, to be read by ``unpacked``. Let go of it before the next change."""
        return np.frombuffer(self._rows[self._numbers[term]], np.int32)

    @property
    def nbytes(self) -> int:
        """About how much memory the words take."""
        terms = sum(250 + len(term) for term in self._numbers)
        rows = sum(rows.itemsize * len(rows) for rows in self._rows)
        return terms + rows + sum(41 + len(words) for words in self._words) + sum(map(len, self._columns.values()))

    def words_of(self, row: int) -> set[int]:
        """The numbers of a row's words."""
        return set(self._terms_of(row).tolist())

    def column(self, term: str, rows: int) -> NDArray[np.uint8] | None:
        """How often each of so many rows has a term, when that is a common one; None when it is not."""
        number = self._numbers[term]
        posting = self._rows[number]
        if len(posting) * _COMMON < rows:
            return None
        column = self._columns.get(number)
        if column is None or len(column) < rows:
            column = self._columns[number] = np.zeros(max(rows, len(self._words)), np.uint8)
            where, counts = unpacked(np.frombuffer(posting, np.int32))
            column[where] = counts
            if len(self._columns) > _MOST_COLUMNS:
                self._columns.popitem(last=False)
        self._columns.move_to_end(number)
        return column

    def add(self, rows: Integers, cut: Cut) -> None:
        """Give rows their words; the rows rise, have none yet, and are as many as the texts that were cut."""
        missing = int(rows[-1]) + 1 - len(self._words) if len(rows) else 0
        fresh = len(rows) > 0 and int(rows[0]) >= len(self._words)
        self._words += [b""] * missing
        keys = np.sort(cut.terms.astype(np.int64) << _PLACE_BITS | cut.places)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.minimum(np.diff(starts, append=len(keys)), MAX_COUNT)
        keys = keys[starts]
        terms, places = (keys >> _PLACE_BITS).astype(np.int32), keys & (2**_PLACE_BITS - 1)
        self._note_words(rows, terms, places)
        self._post(terms, (rows[places] << _COUNT_BITS | counts).astype(np.int32), fresh=fresh)

    def _note_words(self, rows: Integers, terms: Integers, places: NDArray[np.int64]) -> None:
        order = np.argsort(places.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(rows))) * terms.itemsize
        data, start = terms[order].tobytes(), 0
        for row, end in zip(rows.tolist(), ends.tolist(), strict=True):
            self._words[row] = data[start:end]
            start = end

    def _post(self, terms: Integers, packed: Integers, *, fresh: bool) -> None:
        """Add to the rows of each term; ``fresh`` rows come after all there are."""
        starts = np.flatnonzero(np.diff(terms, prepend=-1))
        data = packed.tobytes()
        ends: list[int] = (np.append(starts[1:], len(terms)) * packed.itemsize).tolist() if len(terms) else []
        start = 0
        numbers: list[int] = terms[starts].tolist()
        for term, end in zip(numbers, ends, strict=True):
            posting = self._rows[term]
            if fresh or not posting:
                posting.frombytes(data[start:end])
            else:
                self._rows[term] = _merged(posting, packed[start // 4 : end // 4])
            if term in self._columns:
                self._fill_column(term, packed[start // 4 : end // 4])
            start = end

    def _fill_column(self, term: int, packed: Integers) -> None:
        rows, counts = unpacked(packed)
        if int(rows[-1]) < len(self._columns[term]):
            self._columns[term][rows] = counts
        else:
            del self._columns[term]

    def remove(self, row: int) -> None:
        """Take a row's words away."""
        numbers: list[int] = self._terms_of(row).tolist()
        for term in numbers:
            posting = self._rows[term]
            del posting[bisect_left(posting, row << _COUNT_BITS)]
            if term in self._columns:
                self._columns[term][row] = 0
            if not posting:
                self._forget(term)
        self._words[row] = b""

    def number(self, term: str) -> int:
        """The number of a term, which is given one when it is new. Rows that have it must be added next."""
        number = self._numbers.get(term)
        if number is None:
            number = self._free.pop() if self._free else len(self._terms)
            if number == len(self._terms):
                self._terms.append(term)
                self._rows.append(array("i"))
            self._terms[number] = term
            self._numbers[term] = number
        return number

    def _forget(self, number: int) -> None:
        del self._numbers[self._terms[number]]
        self._terms[number], self._rows[number] = "", array("i")
        self._columns.pop(number, None)
        self._free.append(number)
        self.forgotten += 1

    def _terms_of(self, row: int) -> Integers:
        return np.frombuffer(self._words[row], np.int32)


class Cutter:
    """Cuts texts into the numbers of their words, and remembers the words met for as long as it is used."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._forget()

    def _forget(self) -> None:
        self._forgotten = self._postings.forgotten
        self._met = _Met(self._postings)
        self._written, self._tokens = _Written(self._met), _Tokens(self._met)

    def cut(self, texts: Iterable[tuple[Iterable[str], str]]) -> Cut:
        """The words of texts, each given with tokens that count as words of it too."""
        if len(self._met.numbers) > _MOST_WRITTEN or self._forgotten != self._postings.forgotten:
            self._forget()
        written, known = self._written.__getitem__, self._tokens.__getitem__
        found: list[int] = []
        ends: list[int] = []
        for more, text in texts:
            found += map(written, ascii_words(text)) if text.isascii() else map(known, segment(text))
            found += map(known, more)
            ends.append(len(found))
        return self._told(np.array(found, np.int32), np.diff(np.array(ends, np.intp), prepend=0))

    def _told(self, found: Integers, sizes: NDArray[np.intp]) -> Cut:
        places = np.repeat(np.arange(len(sizes)), sizes)
        all_kinds = np.array(self._met.kinds, np.uint8)[found]
        kinds, special = np.zeros(len(sizes), np.uint8), np.flatnonzero(all_kinds)
        np.bitwise_or.at(kinds, places[special], all_kinds[special])
        terms = np.array(self._met.numbers, np.int32)[found]
        words = np.flatnonzero(terms != _NO_TERM)
        return Cut(terms, places, kinds) if len(words) == len(terms) else Cut(terms[words], places[words], kinds)


class _Met:
    """The words met: the number of each, and what kind it is."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self.numbers: list[int] = []
        self.kinds: list[int] = []

    def note(self, token: str, kind: int) -> int:
        """Its place among the words met."""
        self.numbers.append(self._postings.number(token) if token else _NO_TERM)
        self.kinds.append(kind)
        return len(self.numbers) - 1


class _Tokens(dict[str, int]):
    """The places of tokens among the words met."""

    def __init__(self, met: _Met) -> None:
        super().__init__()
        # Not a method of whoever holds this: the two would be a ring, which only the collector could free.
        self._met = met

    def __missing__(self, token: str) -> int:
        place = self[token] = self._met.note(token, 0)
        return place


class _Written(_Tokens):
    """The places of words as they are written."""

    def __missing__(self, word: str) -> int:
        place = self[word] = self._met.note(token_of(word), kind_of(word))
        return place


def _merged(posting: array[int], more: Integers) -> array[int]:
    if len(more) <= _FEW:
        for one in more.tolist():
            insort(posting, one)
        return posting
    together = array("i")
    together.frombytes(np.sort(np.concatenate((np.frombuffer(posting, np.int32), more))).tobytes())
    return together


def unpacked(postings: Integers) -> tuple[Integers, Integers]:
    """The rows and the counts of postings."""
    return postings >> _COUNT_BITS, postings & MAX_COUNT

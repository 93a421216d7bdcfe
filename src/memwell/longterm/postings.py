"""The words of a snapshot: which rows have which words and how often, and the words of each row.

Words are numbers and rows come in batches, so that arrays do most of the work. A word without rows is removed, and its
number reused. The rows of a word are kept in order.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from unicodedata import decimal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memwell.language.segment import ascii_words, segment, token_of

# The form of a text: whether it asks something, mentions a time, or mentions a number.

TIME, FIRST, SECOND, NUMBER = 1, 2, 4, 8
"""What a word may be: a time, the first or second word of a time (*last night*), a number."""

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
# Each pattern starts with its letters, which are searched faster than a boundary; the boundary is checked after.
_PAIRS = [
    (first, re.compile(rf"{first}{' of' if first == 'couple' else ''} (?:{'|'.join(_SECOND)})\b")) for first in _FIRST
]
_TIME_CHINESE = re.compile(
    r"昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年"
)
_NUMBER_CHINESE = re.compile(r"\d|[二三四五六七八九十两百千][个只次天年本名位条张件]")
# Letters that can be part of an English cue, and the three that equal one of them in another case.
_LATIN = re.compile("[A-Za-zſıİ\u212a]|\\d")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
_SAME_LETTER = {"ſ": "s", "ı": "i", "İ": "i", "\u212a": "k"}
_REMEMBERED = 2**15


class _Kinds(dict[str, int]):
    """A cache from a word in lower case to what it may be."""

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
    """What the words may be, together."""
    kinds = 0
    for word in words:
        kinds |= kind_of(word)
    return kinds


def asks(text: str) -> bool:
    """Whether a text asks something."""
    return "?" in text or (not text.isascii() and _QUESTION.search(text) is not None)


def tells(text: str, kinds: int) -> tuple[bool, bool]:
    """Whether a text mentions a time, and a number; ``kinds`` are those of its words if it is ASCII."""
    if not text.isascii():
        return _tells_beyond_ascii(text)
    if "_" in text:
        # An underscore joins words, but ``ascii_words`` splits at it.
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
    """ASCII characters of the same class, that form no cue."""
    return "".join(_stand_in(char) for char in match[0])


def _stand_in(char: str) -> str:
    if char.isdecimal():
        return str(decimal(char))
    return _SAME_LETTER.get(char) or ("zz" if char.isalnum() else ".")


def _tells_time(text: str, kinds: int) -> bool:
    if kinds & TIME or not (kinds & FIRST and kinds & SECOND):
        return bool(kinds & TIME)
    text = text.lower()
    # After a letter it is the end of another word.
    return any(
        not _is_inside(text, found.start()) for first, pair in _PAIRS if first in text for found in pair.finditer(text)
    )


def _is_inside(text: str, place: int) -> bool:
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")


Integers = NDArray[np.int32]

_COUNT_BITS = 4
MAX_COUNT = 2**_COUNT_BITS - 1
"""The highest count of a word in one record: BM25 is saturated by then."""

MOST_AT_ONCE = 4096
"""The most rows that one call may add."""
_PLACE_BITS = 16
_NO_TERM = -1
_MOST_WRITTEN = 2**17
_FEW = 64


class WordBatch(NamedTuple):
    """The words of a batch of texts: the number of each word, and which text of the batch has it."""

    terms: Integers
    places: NDArray[np.intp]
    kinds: NDArray[np.uint8]
    """What the words of each text may be (``TIME``, ``NUMBER``, …); for ASCII texts only."""

    def lengths(self) -> NDArray[np.intp]:
        """The number of words of each text."""
        return np.bincount(self.places, minlength=len(self.kinds))

    def having(self, numbers: Sequence[int]) -> NDArray[np.bool_]:
        """Which texts have one of some words."""
        flags = np.zeros(len(self.kinds), np.bool_)
        flags[self.places[np.isin(self.terms, numbers)]] = True
        return flags


class RowPostings:
    """The words of a snapshot's rows. It is as thread-safe as the snapshot.

    Words that were read from a file stay there; those of terms and rows that have changed since are held in addition.
    """

    def __init__(self, saved: Arrays | None = None) -> None:
        found: Arrays = saved or {}
        self._terms = Names(below(found, "terms"))
        self._posted = _Runs(found.get("posted"), found.get("posted_ends"))
        self._worded = _Runs(found.get("worded"), found.get("worded_ends"))
        self._rows: dict[int, array[int]] = {}
        """The rows of each changed term."""
        self._words: dict[int, bytes] = {}
        """The terms of each changed row."""
        self.forgotten = 0
        """How many terms were removed; a number read before a removal may mean another term after it."""
        self._limit = len(self._worded)
        self._count = self._posted.total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The words as arrays, from which they are made again."""
        posted = joined([self._posting(term) for term in range(self._terms.limit)])
        worded = joined([self._terms_of(row) for row in range(self._limit)])
        return {
            **under("terms", self._terms.arrays()),
            "posted": posted[0],
            "posted_ends": posted[1],
            "worded": worded[0],
            "worded_ends": worded[1],
        }

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def known(self, terms: Iterable[str]) -> list[str]:
        """Those of many terms that some row has."""
        return self._terms.known(terms)

    def numbers(self, terms: Iterable[str]) -> list[int]:
        """The numbers of those of many terms that some row has."""
        return [self._number(term) for term in self._terms.known(terms)]

    def __getitem__(self, term: str) -> Integers:
        """The packed rows and counts of a term, for ``unpacked``. Drop it before the next change."""
        return self._posting(self._number(term))

    def get(self, term: str) -> Integers | None:
        """The same, or None for a term that no row has."""
        number = self._terms.get(term)
        return None if number is None else self._posting(number)

    @property
    def nbytes(self) -> int:
        """About how much memory the words take."""
        return self._terms.nbytes + 8 * self._count + 64 * len(self._rows)

    def words_of(self, row: int) -> set[int]:
        """The numbers of a row's words."""
        return set(self._terms_of(row).tolist())

    def counts(self, term: str, rows: Integers) -> Integers:
        """How often each of some rows has a term; 0 for a row below 0."""
        if term not in self:
            return np.zeros(len(rows), np.int32)
        posting = self[term]
        found = posting.take(np.searchsorted(posting, rows << _COUNT_BITS), mode="clip")
        return np.where(found >> _COUNT_BITS == rows, found & MAX_COUNT, 0)

    def has(self, term: str, rows: Integers) -> NDArray[np.bool_]:
        """Which of some rows have a term."""
        number = self._terms.get(term)
        if number is None:
            return np.zeros(len(rows), np.bool_)
        posting = self._posting(number)
        return posting.take(posting.searchsorted(rows << _COUNT_BITS), mode="clip") >> _COUNT_BITS == rows

    def add(self, rows: Integers, cut: WordBatch) -> None:
        """Add the words of rows that have none; the rows are ascending, one for each text of the batch."""
        fresh = len(rows) > 0 and int(rows[0]) >= self._limit
        self._limit = max(self._limit, int(rows[-1]) + 1 if len(rows) else 0)
        keys = np.sort(cut.terms.astype(np.int64) << _PLACE_BITS | cut.places)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.minimum(np.diff(starts, append=len(keys)), MAX_COUNT)
        keys = keys[starts]
        terms, places = (keys >> _PLACE_BITS).astype(np.int32), keys & (2**_PLACE_BITS - 1)
        packed = (rows[places] << _COUNT_BITS | counts).astype(np.int32)
        if not (self._count or self._rows or self._words):
            self._begin(rows, terms, places, packed)
        else:
            self._note_words(rows, terms, places)
            self._post(terms, packed, fresh=fresh)
        self._count += len(terms)

    def _begin(self, rows: Integers, terms: Integers, places: NDArray[np.int64], packed: Integers) -> None:
        """Keep the first words as they would be read from a file: most small spaces never get others."""
        self._posted = _Runs(packed, np.cumsum(np.bincount(terms, minlength=self._terms.limit)))
        order = np.argsort(places.astype(np.uint16), kind="stable")
        sizes = np.zeros(self._limit, np.intp)
        sizes[rows] = np.bincount(places, minlength=len(rows))
        self._worded = _Runs(terms[order], np.cumsum(sizes))

    def _note_words(self, rows: Integers, terms: Integers, places: NDArray[np.int64]) -> None:
        order = np.argsort(places.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(rows))) * terms.itemsize
        data, start = terms[order].tobytes(), 0
        for row, end in zip(rows.tolist(), ends.tolist(), strict=True):
            self._words[row] = data[start:end]
            start = end

    def _post(self, terms: Integers, packed: Integers, *, fresh: bool) -> None:
        """Add rows to each term; ``fresh`` rows come after all others."""
        starts = np.flatnonzero(np.diff(terms, prepend=-1))
        data = packed.tobytes()
        ends: list[int] = (np.append(starts[1:], len(terms)) * packed.itemsize).tolist() if len(terms) else []
        start = 0
        numbers: list[int] = terms[starts].tolist()
        for term, end in zip(numbers, ends, strict=True):
            posting = self._own(term)
            if fresh or not posting:
                posting.frombytes(data[start:end])
            else:
                self._rows[term] = _merged(posting, packed[start // 4 : end // 4])
            start = end

    def remove(self, row: int) -> None:
        """Remove the words of a row."""
        numbers: list[int] = self._terms_of(row).tolist()
        self._count -= len(numbers)
        for term in numbers:
            posting = self._own(term)
            del posting[bisect_left(posting, row << _COUNT_BITS)]
            _blank(self._posted[term], row)
            if not posting:
                self._forget(term)
        self._worded[row][:] = 0
        self._words[row] = b""

    def number(self, term: str) -> int:
        """The number of a term, new if necessary. Rows that have the term must be added next."""
        return self._terms.number(term)

    def _number(self, term: str) -> int:
        number = self._terms.get(term)
        if number is None:
            raise KeyError(term)
        return number

    def _forget(self, number: int) -> None:
        self._terms.remove(number)
        self.forgotten += 1

    def _posting(self, number: int) -> Integers:
        changed = self._rows.get(number)
        return self._posted[number] if changed is None else np.frombuffer(changed, np.int32)

    def _own(self, number: int) -> array[int]:
        """The rows of a term, to be changed."""
        posting = self._rows.get(number)
        if posting is None:
            known = self._posted[number].tobytes() if number < len(self._posted) else b""
            posting = self._rows[number] = array("i", known)
        return posting

    def _terms_of(self, row: int) -> Integers:
        changed = self._words.get(row)
        return self._worded[row] if changed is None else np.frombuffer(changed, np.int32)


class _Runs:
    """Runs of numbers, one after the other in an array, by their place; a run that is not there is empty."""

    def __init__(self, data: Integers | None, ends: NDArray[np.int64] | None) -> None:
        self._data = np.zeros(0, np.int32) if data is None else data
        self._ends = np.zeros(0, np.int64) if ends is None else ends
        self.total = len(self._data)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> Integers:
        if place >= len(self._ends):
            return self._data[:0]
        return self._data[int(self._ends[place - 1]) if place else 0 : int(self._ends[place])]


def _blank(run: Integers, row: int) -> None:
    """Overwrite a row among those of a term by a neighbour, which keeps the order. The run is no longer read."""
    at = int(run.searchsorted(row << _COUNT_BITS))
    if at < len(run) and run[at] >> _COUNT_BITS == row:
        run[at] = run[at - 1] if at else run[1] if len(run) > 1 else 0


def joined(runs: Sequence[Integers]) -> tuple[Integers, NDArray[np.int64]]:
    """Runs of numbers in one array, and where each ends."""
    ends = np.cumsum(np.fromiter(map(len, runs), np.int64, len(runs)))
    return np.concatenate([np.zeros(0, np.int32), *runs]), ends


class BatchSegmenter:
    """Splits texts into the numbers of their words, with a cache of the words it has met."""

    def __init__(self, postings: RowPostings) -> None:
        self._postings = postings
        self._forget()

    def _forget(self) -> None:
        self._forgotten = self._postings.forgotten
        self._met = _Vocabulary(self._postings)
        self._raw_words, self._tokens = _RawWords(self._met), _Tokens(self._met)

    def cut(self, texts: Iterable[tuple[Iterable[str], str]]) -> WordBatch:
        """The words of texts; each text is given with more tokens that count as its words."""
        if len(self._met.numbers) > _MOST_WRITTEN or self._forgotten != self._postings.forgotten:
            self._forget()
        written, known = self._raw_words.__getitem__, self._tokens.__getitem__
        found: list[int] = []
        ends: list[int] = []
        for more, text in texts:
            found += map(written, ascii_words(text)) if text.isascii() else map(known, segment(text))
            found += map(known, more)
            ends.append(len(found))
        return self._batch(np.array(found, np.int32), np.diff(np.array(ends, np.intp), prepend=0))

    def _batch(self, found: Integers, sizes: NDArray[np.intp]) -> WordBatch:
        places = np.repeat(np.arange(len(sizes)), sizes)
        all_kinds = np.array(self._met.kinds, np.uint8)[found]
        kinds, special = np.zeros(len(sizes), np.uint8), np.flatnonzero(all_kinds)
        np.bitwise_or.at(kinds, places[special], all_kinds[special])
        terms = np.array(self._met.numbers, np.int32)[found]
        words = np.flatnonzero(terms != _NO_TERM)
        return (
            WordBatch(terms, places, kinds)
            if len(words) == len(terms)
            else WordBatch(terms[words], places[words], kinds)
        )


class _Vocabulary:
    """The words met so far: the number of each, and what it may be."""

    def __init__(self, postings: RowPostings) -> None:
        self._postings = postings
        self.numbers: list[int] = []
        self.kinds: list[int] = []

    def note(self, token: str, kind: int) -> int:
        """Add a word; returns its place."""
        self.numbers.append(self._postings.number(token) if token else _NO_TERM)
        self.kinds.append(kind)
        return len(self.numbers) - 1


class _Tokens(dict[str, int]):
    """The places of tokens in the vocabulary."""

    def __init__(self, met: _Vocabulary) -> None:
        super().__init__()
        # The vocabulary and not its owner: a reference back would be a cycle that only the garbage collector frees.
        self._met = met

    def __missing__(self, token: str) -> int:
        place = self[token] = self._met.note(token, 0)
        return place


class _RawWords(_Tokens):
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


def packed(rows: NDArray[Any]) -> Integers:
    """What postings of rows begin with: they are below those of the same row, and above those of the row before."""
    return rows.astype(np.int32) << _COUNT_BITS


def unpacked(postings: Integers) -> tuple[Integers, Integers]:
    """The rows and the counts of postings."""
    return postings >> _COUNT_BITS, postings & MAX_COUNT


# ``Names``: a numbered set of strings, such as the ids, words and sessions of a snapshot.
#
# Names that were read from a file stay in its bytes and are found by their hash, so that reading a table of any size costs
# nothing; names that are added later are in a dictionary in addition.

Arrays = Mapping[str, NDArray[Any]]

_NOTHING = np.zeros(0, np.uint8)


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with a prefix and a dot, without these."""
    return {name[len(prefix) + 1 :]: part for name, part in arrays.items() if name.startswith(f"{prefix}.")}


def under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays with a prefix and a dot before their names."""
    return {f"{prefix}.{name}": part for name, part in arrays.items()}


_hash = crc32
"""Not hash(): that is another in every process."""


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


class Names:
    """Names and their numbers. The number of a removed name is given to another. The empty name is never found."""

    def __init__(self, saved: Arrays | None = None) -> None:
        found: Arrays = saved or {}
        self._texts, self._ends = found.get("texts", _NOTHING), found.get("ends", _NOTHING)
        self._hashes, self._order = found.get("hashes", _NOTHING), found.get("order", _NOTHING)
        self._free: list[int] = found.get("free", _NOTHING).tolist()
        self._saved = len(self._ends)
        self._numbers: dict[str, int] = {}
        self._replaced: dict[int, str] = {}
        """The names of saved numbers that were removed or given again."""
        self._added: list[str] = []
        """The names of the numbers after the saved ones."""

    def __len__(self) -> int:
        return self.limit - len(self._free)

    @property
    def limit(self) -> int:
        """Every number is below this."""
        return self._saved + len(self._added)

    @property
    def nbytes(self) -> int:
        """About how much memory the names take."""
        saved = sum(part.nbytes for part in (self._texts, self._ends, self._hashes, self._order))
        return saved + 150 * (len(self._numbers) + len(self._added))

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __getitem__(self, number: int) -> str:
        if number >= self._saved:
            return self._added[number - self._saved]
        replaced = self._replaced.get(number)
        return self._saved_name(number) if replaced is None else replaced

    def get(self, name: str) -> int | None:
        """The number of a name, or None."""
        number = self._numbers.get(name)
        if number is None and self._saved and name:
            number = self._saved_number(name)
            if number is not None:
                self._numbers[name] = number
        return number

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of many names that have a number."""
        wanted = list(names)
        hashes = np.array([_hash(name.encode("utf-8", "surrogatepass")) for name in wanted], np.uint32)
        saved = self._hashes.searchsorted(hashes, "right") > self._hashes.searchsorted(hashes)
        # The hash of another name may be the same.
        return [
            name
            for name, at in zip(wanted, saved.tolist(), strict=True)
            if name in self._numbers or (at and name in self)
        ]

    def number(self, name: str) -> int:
        """The number of a name that is not empty, new if necessary."""
        number = self._numbers.get(name)
        if number is None and self._saved:
            number = self.get(name)
        if number is not None:
            return number
        if self._free:
            return self.add_all((name,))[0]
        # Every word of a space that is read for the first time comes by here.
        number = self._numbers[name] = self._saved + len(self._added)
        self._added.append(name)
        return number

    def add_all(self, names: Sequence[str]) -> list[int]:
        """Give numbers to names that have none, in ascending order."""
        reused = len(self._free) - min(len(self._free), len(names))
        numbers = sorted(self._free[reused:])
        del self._free[reused:]
        numbers += range(self.limit, self.limit + len(names) - len(numbers))
        for number, name in zip(numbers, names, strict=True):
            if number == self.limit:
                self._added.append(name)
            else:
                self._set(number, name)
            if name:
                self._numbers[name] = number
        return numbers

    def remove(self, number: int) -> None:
        """Remove a name. Nothing of it stays in memory."""
        name = self[number]
        self._numbers.pop(name, None)
        if name and number < self._saved and number not in self._replaced:
            self._blank(number, name)
        self._set(number, "")
        self._free.append(number)

    def _set(self, number: int, name: str) -> None:
        if number < self._saved:
            self._replaced[number] = name
        else:
            self._added[number - self._saved] = name

    def _blank(self, number: int, name: str) -> None:
        """Overwrite a saved name, and its hash by that of a neighbour, which keeps the order."""
        at = int(self._hashes.searchsorted(np.uint32(_hash(_encoded(name)))))
        while self._order[at] != number:
            at += 1
        self._hashes[at] = self._hashes[at - 1] if at else self._hashes[1] if len(self._hashes) > 1 else 0
        self._saved_bytes(number)[:] = 0

    def _saved_bytes(self, number: int) -> NDArray[np.uint8]:
        start = int(self._ends[number - 1]) if number else 0
        return self._texts[start : int(self._ends[number])]

    def _saved_name(self, number: int) -> str:
        return self._saved_bytes(number).tobytes().decode("utf-8", "surrogatepass")

    def _saved_number(self, name: str) -> int | None:
        # A plain int would make numpy convert all hashes.
        wanted = np.uint32(_hash(_encoded(name)))
        at = int(self._hashes.searchsorted(wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            number = int(self._order[at])
            if number not in self._replaced and self._saved_name(number) == name:
                return number
            at += 1
        return None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The names as arrays, from which a table is made again."""
        names = [_encoded(self[number]) for number in range(self.limit)]
        hashes = np.fromiter(map(_hash, names), np.uint32, len(names))
        sizes = np.fromiter(map(len, names), np.int64, len(names))
        order = np.argsort(hashes, kind="stable")
        order = order[sizes[order] > 0]
        return {
            "texts": np.frombuffer(bytearray().join(names), np.uint8),
            "ends": np.cumsum(sizes),
            "hashes": hashes[order],
            "order": order.astype(np.int32),
            "free": np.array(self._free, np.int32),
        }

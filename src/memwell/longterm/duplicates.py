"""What was said before: texts that are the same but for their form, and texts that say nearly the same.

``fingerprint`` is equal for the first kind. ``similar``, ``Twins`` and ``clusters`` find the second, by the words and pairs
of words that texts share. Another number or another negation makes another text, however much the rest agrees.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from memwell.errors import InvalidInput
from memwell.language.segment import query_terms
from memwell.language.words import STOP_WORDS
from memwell.values import shown

_STRETCH = 512
# What Chinese text is full of, and what alone would send it down the slow path of normalisation.
_WIDE_AND_PLAIN = tuple(zip("，！？：；（）～\u3000", ",!?:;()~ ", strict=True))


def compatible(text: str) -> str:
    """The text with compatibility forms (full-width letters, ligatures) made plain."""
    for wide, plain in _WIDE_AND_PLAIN:
        text = text.replace(wide, plain)
    if unicodedata.is_normalized("NFKC", text):
        return text
    # In stretches, because a long row of combining marks takes the square of its length to put in order.
    return "".join(unicodedata.normalize("NFKC", text[i : i + _STRETCH]) for i in range(0, len(text), _STRETCH))


_ENDING = " .!?~…。！？～,，;；:："


def fingerprint(text: str) -> str:
    """The same 32 hexadecimal characters for texts that differ in case, width, white space or their last marks only."""
    plain = text if text.isascii() else compatible(text)
    plain = " ".join(plain.casefold().split())
    return blake2b((plain.rstrip(_ENDING) or plain).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _terms(english: str, chinese: str) -> frozenset[str]:
    """The words as they come out of ``query_terms``. Chinese ones are cut here, or importing this would take 15 ms more."""
    pairs = {word[i : i + 2] for word in chinese.split() for i in range(len(word) - 1 or 1)}
    return frozenset(pairs).union(query_terms(english))


_NEGATIONS = _terms(
    "not no never none nobody nothing without cannot cant dont didnt doesnt isnt arent wasnt werent wont wouldnt shouldnt "
    "couldnt hasnt havent hadnt nor neither",
    "不 没 未 无 别 非 勿 莫",
)
_NUMBERS = _terms(
    "one two three four five six seven eight nine ten eleven twelve hundred thousand million half twice",
    "一 二 两 三 四 五 六 七 八 九 十 百 千 万 半",
)
_DECISIVE = _NEGATIONS | _NUMBERS
NO_TOPIC = _terms(" ".join(STOP_WORDS["en"]), " ".join(STOP_WORDS["zh"])) - _DECISIVE
"""The terms of words that carry no topic, without those that may turn a sentence into its opposite."""


class _Sketch(NamedTuple):
    """What is compared of a text: its terms and pairs of terms, and those terms that may not differ."""

    shingles: frozenset[str]
    decisive: frozenset[str]


def _sketch(text: str) -> _Sketch:
    terms = query_terms(text)
    pairs = [f"{a} {b}" for a, b in pairwise(terms)]
    return _Sketch(frozenset((*terms, *pairs)), decisive_terms(text, terms))


def decisive_terms(text: str, terms: Iterable[str]) -> frozenset[str]:
    """Numbers and negations: with another of them, a text that is otherwise the same says something else."""
    words = {term for term in terms if term in _DECISIVE or term[:1].isdigit() or term[-1:].isdigit()}
    return frozenset(words if text.isascii() else words | _DECISIVE.intersection(text))


def similar(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1: the share of their words and pairs of words that both have."""
    one, other = _sketch(a).shingles, _sketch(b).shingles
    either = len(one | other)
    return len(one & other) / either if either else float(fingerprint(a) == fingerprint(b))


class Twins:
    """Gathers texts, and tells which of them say nearly the same. It keeps their words as numbers, not the texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uses: list[int] = []
        self._topics: set[int] = set()
        self._items: list[_Item] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, text: str) -> None:
        """Take a text in; it is known by its place, from 0 on."""
        sketch = _sketch(text)
        self._items.append(_Item(array("L", map(self._number, sketch.shingles)), sketch.decisive))

    def _number(self, shingle: str) -> int:
        number = self._numbers.setdefault(shingle, len(self._uses))
        if number == len(self._uses):
            self._uses.append(0)
            if " " not in shingle and shingle not in NO_TOPIC:
                self._topics.add(number)
        self._uses[number] += 1
        return number

    def clusters(self, threshold: float = 0.8) -> list[list[int]]:
        """Groups of places, each text at least ``threshold`` like the first of its group; no text like it is overlooked.

        Texts with other numbers or negations are never together. Raises ``InvalidInput`` for a threshold beyond 0 to 1.
        """
        if not 0 < threshold <= 1:
            raise InvalidInput(f"a threshold is above 0 and at most 1, not {shown(threshold)}")
        groups: dict[int, list[int]] = {}
        leaders = _Leaders(threshold)
        for place, item in enumerate(self._items):
            # Two sets this alike share one of their few rarest members.
            rarest = sorted(item.shingles, key=self._rarity)[: _prefix(len(item.shingles), threshold)]
            leader = leaders.likest(item, rarest)
            if leader is None:
                leaders.add(place, item, [number for number in rarest if self._uses[number] > 1])
                groups[place] = [place]
            else:
                groups[leader].append(place)
        return [group for group in groups.values() if len(group) > 1]

    def _rarity(self, number: int) -> tuple[int, int]:
        return self._uses[number], number

    def restates(self, places: Sequence[int]) -> bool:
        """Whether one of these texts has all the words of topic of every other, so that nothing is lost with the others."""
        topics = [self._topics.intersection(self._items[place].shingles) for place in places]
        largest = max(topics, key=len)
        return all(words <= largest for words in topics)


class _Item(NamedTuple):
    shingles: array[int]
    decisive: frozenset[str]


def _prefix(size: int, threshold: float) -> int:
    return size - ceil(threshold * size - _ROUNDING) + 1


_ROUNDING = 1e-9


class _Leaders:
    """The first texts of all groups so far, found by any of their rarest shingles."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._by_shingle: dict[int, list[int]] = {}
        self._sets: dict[int, tuple[frozenset[int], frozenset[str]]] = {}

    def add(self, place: int, item: _Item, rarest: Iterable[int]) -> None:
        self._sets[place] = frozenset(item.shingles), item.decisive
        for number in rarest:
            self._by_shingle.setdefault(number, []).append(place)

    def likest(self, item: _Item, rarest: Iterable[int]) -> int | None:
        """The leader most like the text, the earliest when several are, or None when none is like it."""
        best, likest = None, self._threshold - _ROUNDING
        mine = frozenset(item.shingles)
        for place in sorted({one for number in rarest for one in self._by_shingle.get(number, ())}):
            theirs, decisive = self._sets[place]
            if min(len(mine), len(theirs)) < likest * max(len(mine), len(theirs)) or decisive != item.decisive:
                continue
            both = len(mine & theirs)
            likeness = both / (len(mine) + len(theirs) - both)
            if likeness > likest:
                best, likest = place, likeness
        return best


def clusters(items: Iterable[tuple[str, str]], threshold: float = 0.8) -> list[list[str]]:
    """From ids and texts to groups of ids whose texts say nearly the same, in the order given: see ``Twins.clusters``."""
    twins = Twins()
    ids: list[str] = []
    for id_, text in items:
        ids.append(id_)
        twins.add(text)
    return [[ids[place] for place in group] for group in twins.clusters(threshold)]


__all__ = ["NO_TOPIC", "Twins", "clusters", "compatible", "decisive_terms", "fingerprint", "similar"]

"""Whether two statements say the same of two things: "The ladder is in the garage", "The saw is in the shed".

Such statements are alike word for word, except near their beginning, where the thing is named, and later, where its value
stands. What gives one thing another value differs in the value alone. So no list of things is needed, and none of verbs
beyond what ends a name: the words before the first difference, and those that differ, must be a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memwell.language.claims.chinese_objects import KIN as CHINESE_KIN
from memwell.language.claims.chinese_objects import KIN_WORDS
from memwell.language.claims.english_objects import KIN as ENGLISH_KIN
from memwell.language.claims.english_objects import SAME_KIN
from memwell.language.patterns import LazyPattern

_LONGEST_NAME = 6
"""How many words or characters of the names may differ."""
_LEAST_SHARED = 0.3
"""Which part of what they say after the names must be the same."""
_MANY = 2**14


def kin(relation: str, usual: str) -> str:
    """The word for a relative by which two statements are compared: wife and girlfriend may be the same person."""
    if relation in ("married_to", "partner"):
        return "partner"
    return "child" if usual in _ANY_CHILD or usual.endswith(" child") else usual


_ANY_CHILD = frozenset("kid kids child children baby".split())
EN_KIN = {word: kin(relation, SAME_KIN.get(word, word)) for word, relation in ENGLISH_KIN.items()}
ZH_KIN = {word: kin(*one) for word, one in CHINESE_KIN.items()} | {"医生": "doctor", "大夫": "doctor"}
KIN = frozenset((*EN_KIN.values(), *ZH_KIN.values()))


class Frame(NamedTuple):
    """A statement as it is compared with another."""

    parts: tuple[str, ...]
    """Its words or characters without those that say nothing of which thing is meant; relatives by their usual name."""
    masked: tuple[str, ...]
    """The same with one sign for numbers and days, and one for marks."""
    named: int
    """How many of them may be a name: up to the first verb, mark or pronoun."""


def are_two(newer: Frame, older: Frame) -> bool:
    """Whether both say the same of things with two names, and give them two values."""
    if newer.masked.count(_MARK) != older.masked.count(_MARK):
        return False
    start = _common(newer.parts, older.parts)
    if start >= min(newer.named, older.named):
        return False
    for size in range(1, 2 * _LONGEST_NAME + 1):
        for ours in range(max(0, size - _LONGEST_NAME), min(_LONGEST_NAME, size) + 1):
            one, other = start + ours, start + size - ours
            if _common(newer.masked[one : one + 1], older.masked[other : other + 1]):
                return _named_apart(newer, older, start, one, other) and _valued_apart(newer, older, one, other)
    return False


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many parts both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _named_apart(newer: Frame, older: Frame, start: int, one: int, other: int) -> bool:
    """Whether the parts up to these places are names, and those from ``start`` on say which of them."""
    if newer.named < one or older.named < other or (start and newer.masked[one] == _NUMBER_SIGN):
        return False
    which, before = newer.parts[start:one], older.parts[start:other]
    if _ANY_OF_THEM.issuperset(which) or _ANY_OF_THEM.issuperset(before):
        return False
    # A name may be that of a relative; and what one names, the other may have as its value.
    may_be_one = KIN.isdisjoint(which) is not KIN.isdisjoint(before)
    return not (may_be_one or _has(older.parts, which) or _has(newer.parts, before))


def _has(parts: Sequence[str], name: Sequence[str]) -> bool:
    return any(parts[at : at + len(name)] == name for at in range(len(parts)))


def _valued_apart(newer: Frame, older: Frame, one: int, other: int) -> bool:
    """Whether much of the rest is the same, and each has something that the other has not."""
    now, before = set(newer.parts[one:]) - _SMALL, set(older.parts[other:]) - _SMALL
    if now <= before or before <= now:
        return False
    now, before = set(newer.masked[one:]) - _SMALL, set(older.masked[other:]) - _SMALL
    return len(now & before) >= _LEAST_SHARED * max(len(now), len(before))


@lru_cache(_MANY)
def frame(text: str, chinese: bool) -> Frame:
    """A statement as it is compared."""
    text = text.lower().rstrip(" .!。！")
    parts = _chinese_parts(text) if chinese else _english_parts(text)
    ends = _ends_chinese_name if chinese else _ends_english_name
    named = next((at for at in range(len(parts)) if parts[at] in _MARKS or ends(parts, at)), len(parts))
    masked = tuple(_MARK if part in _MARKS else _NUMBER_SIGN if _NUMBER(part) else part for part in parts)
    return Frame(parts, masked, named)


_MARK, _NUMBER_SIGN = ",", "#"
_MARKS = frozenset(",;:.!，。；：！")
_ANY_OF_THEM = frozenset("new old actual correct usual".split()).union("新旧老")
_SMALL = frozenset("now today currently nowadays again instead these days".split()).union("了的", _MARKS)
_NUMBER = LazyPattern(
    r"\d|(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|first|second|third|fourth|fifth|[零一二两三四五六七八九十百千万])\Z"
).match


def of_two_owners(newer: str, older: str, chinese: bool) -> bool:
    """Whether both begin with one kind of thing of two people: "My bus leaves at 7:40", "Leila's bus leaves at 8:10"."""
    now, before = (_owned(text, chinese) for text in (newer, older))
    if now is None or before is None or now[1] != before[1] or now[0] == before[0]:
        return False
    # A name may be that of a relative.
    return not (now[0] and before[0]) or (now[0] in KIN) is (before[0] in KIN)


@lru_cache(_MANY)
def _owned(text: str, chinese: bool) -> tuple[str, str] | None:
    """Whose thing a statement begins with, the speaker's as "", and which."""
    found = (_ZH_OWNED if chinese else _EN_OWNED)(text.lower().replace("’", "'"))
    if found is None:
        return None
    owner = found[1] or found[2] or ""
    return (ZH_KIN if chinese else EN_KIN).get(owner, owner), found[3]


_EN_OWNED = LazyPattern(r"\A(?:(?:my |our )(\w+)'s|(\w+(?: \w+)?)'s|(?:my|our)) (?:new |old )?(\w+)\b(?!')").match
_ZH_OWNED = LazyPattern(
    rf"\A(?:(?:我们?|咱们?)?({KIN_WORDS})的?|(?:(?:我们?|咱们?)(?=[^的]))?([^\W\x00-\x7f我咱]{{2,3}})的|(?:我们?|咱们?)的)\s*([a-z0-9]+|[^\W\x00-\x7f]{{2}})"
).match


# English.

_EN_OPENING = LazyPattern(r"\A(?:(?:by the way|[a-z]+)[,:] )?(?:now )?").sub
_EN_PARTS = LazyPattern(r"\w(?:[\w@'.:-]*[\w'])?|[,;:.!]").findall
_EN_LEFT_OUT = frozenset("the a an my our".split())
_EN_ENDS_NAME = frozenset(
    "is are was were am be been has have had will would can could do does did isn't aren't wasn't doesn't don't it's "
    "that's i'm i've we've we're there's he's she's they're i we he she it they you this that there these those his her "
    "their who which what and but because if when so now please".split()
)
_EN_PAST = frozenset(
    "left quit got went came took gave made began became broke bought sold lost found won chose grew kept put".split()
)


def _english_parts(text: str) -> tuple[str, ...]:
    words = _EN_PARTS(_EN_OPENING("", text.replace("’", "'")))
    return tuple(EN_KIN.get(word.removesuffix("'s"), word) for word in words if word not in _EN_LEFT_OUT)


def _ends_english_name(parts: Sequence[str], at: int) -> bool:
    word = parts[at]
    if word in _EN_ENDS_NAME or (at and word in _EN_PAST):
        return True
    if not at or word.endswith(("'s", "ss", "us", "is")) or not word.endswith(("s", "ed")):
        return False
    # *The saw lies there*, but not *the tyres are* and *the maths teacher is*.
    return _EN_ENDS_NAME.isdisjoint(parts[at + 1 : at + 3])


# Chinese.

_ZH_OPENING = LazyPattern(
    r"\A(?:[^\W\x00-\x7f]{2}[，：])?(?:其实)?"
    rf"(?:(?:我们?|咱们?)家?(?:的|的?(?={KIN_WORDS})))?|现在|目前|如今|已经|一直|每[天次]"
).sub
_ZH_PARTS = LazyPattern(rf"(?:{KIN_WORDS})家?|[a-z0-9][a-z0-9_.:@-]*|[^\W\x00-\x7f]|[，。；：！,;:!]").findall
_ZH_ENDS_NAME = frozenset(
    "了过着他她它我你咱吃喝想说坐用跑给从在不那这把再住爱去搬换改是叫姓有没养开买卖学当做到定延写填应该会要能"
)


def _chinese_parts(text: str) -> tuple[str, ...]:
    return tuple(ZH_KIN.get(part, part) for part in _ZH_PARTS(_ZH_OPENING("", text)))


def _ends_chinese_name(parts: Sequence[str], at: int) -> bool:
    return parts[at] in _ZH_ENDS_NAME

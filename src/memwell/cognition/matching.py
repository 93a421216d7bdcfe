"""Whether one text says what another asks for, by the stems of English words and the characters of Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from memwell.language.segment import query_terms

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_CLAUSE_ENDS = re.compile(
    r"[,;!?，；。、！？\n]|\.(?=\s|\Z)|\b(?:and|but|while|whereas|although|though|yet)\b|但是?|而且|并且|然而|可是",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:not?|never|none|nobody|nothing|without|cannot|lacks?|lacking|missing|fail(?:s|ed|ure)?|offline"
    r"|expired|lost|\w+n['’]t)\b"
    r"|[不没無无未勿]|失败|断开|丢失|过期|缺少|缺乏|并非|除非|非(?!常)|別|(?<![特分级区个派类性])别(?![人的名处墅])",
    re.I,
)
# Words with one of these characters in them that deny nothing.
_DENIES_NOTHING = re.compile("未来|无线|无论|不同|不过|不断|不仅|不但|不错|不久|差不多|无人机|无限|非常|不可或缺")
# Fewer than those that carry no topic: a disk that is full is not one that is new, nor 可用 断开.
_ENGLISH_STOPS = frozenset(
    query_terms(
        "a an the is are was were be been being am isn't aren't wasn't has have had hasn't do does did don't doesn't "
        "didn't will would can could can't should may might must of to in on at by for with from into as and or but if "
        "then than that this these those it its i you he she we they me him them my your our their his her there here "
        "what who whom whose which when where why how so just very please not no tell about some any"
    )
)
_CHINESE_STOPS = frozenset("的了是在有已吗呢吧啊嘛我你您他她它们这那哪谁就都也很请把被不没无")
_LONGER_STOPS = re.compile(
    "什么|怎么样|怎么|怎样|如何|为什么|多少|现在|已经|可以|请问|关于|一个|一种|这个|那个|没有|不是"
)
_ENOUGH_ENGLISH, _ENOUGH_CHINESE = 0.6, 0.55
_OPPOSITES = ("un", "in", "im", "dis", "non")


class _Content(NamedTuple):
    """What a text is about: stems of words, and of Chinese the characters and their pairs."""

    words: frozenset[str]
    characters: frozenset[str]
    pairs: frozenset[str]

    @property
    def weight(self) -> float:
        """How many words that is; most of Chinese have two characters."""
        return len(self.words) + len(self.characters) / 2


def _content(text: str) -> _Content:
    terms = {term for term in query_terms(text) if not _HAN.search(term)}
    words = terms - _ENGLISH_STOPS
    characters = {char for run in _HAN_RUN.findall(text) for char in run}
    runs = _HAN_RUN.findall(_LONGER_STOPS.sub(" ", text)) if characters else []
    kept = {char for run in runs for char in run} - _CHINESE_STOPS
    pairs = {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
    pairs = {pair for pair in pairs if kept.issuperset(pair)}
    if words or kept:
        return _Content(frozenset(words), frozenset(kept), frozenset(pairs))
    # Of nothing but small words each counts: there is nothing else to go by.
    return _Content(frozenset(terms), frozenset(characters), frozenset())


def coverage(wanted: str, text: str) -> float:
    """How much of what ``wanted`` is about the text speaks of too, from 0 to 1; 0 where it is about nothing."""
    return _covered(_content(wanted), _content(text))


def _covered(wanted: _Content, given: _Content) -> float:
    if not wanted.weight:
        return 0.0
    found = float(len(wanted.words & given.words))
    if wanted.characters:
        share = len(wanted.characters & given.characters) / len(wanted.characters)
        if wanted.pairs:
            # Characters alone meet by chance, pairs alone miss 装了 for 安装.
            share = (share + len(wanted.pairs & given.pairs) / len(wanted.pairs)) / 2
        found += share * len(wanted.characters) / 2
    return found / wanted.weight


def denies(text: str) -> bool:
    """Whether a clause says that something is not so."""
    return bool(_DENIES.search(_DENIES_NOTHING.sub("", text)))


def holds_in(condition: str, situation: Iterable[str]) -> bool:
    """Whether a condition is met by something that is said of a situation, and not by its opposite."""
    wanted, denied = _content(condition), denies(condition)
    enough = _ENOUGH_CHINESE if wanted.characters else _ENOUGH_ENGLISH
    given = [text for text in situation if text.strip()]
    for text in given:
        for clause in filter(None, map(str.strip, _CLAUSE_ENDS.split(text))):
            said = _content(clause)
            if denies(clause) is denied and _covered(wanted, said) >= enough and not _opposed(wanted, said):
                return True
    # A condition may be met by what several clauses say together, if none of them denies anything.
    together = " ".join(given)
    said = _content(together)
    return not (denied or denies(together) or _opposed(wanted, said)) and _covered(wanted, said) >= enough


def _opposed(one: _Content, other: _Content) -> bool:
    """Whether one speaks of *known* and the other of *unknown*."""
    return any(
        prefix + word in theirs.words and word not in theirs.words
        for ours, theirs in ((one, other), (other, one))
        for word in ours.words
        for prefix in _OPPOSITES
    )


__all__ = ["coverage", "denies", "holds_in"]

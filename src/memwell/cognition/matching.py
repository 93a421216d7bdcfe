"""Whether a condition holds in a situation, and whether two texts say the same, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memwell.language.asking import content, coverage, is_question
from memwell.language.segment import query_terms
from memwell.longterm.gate import fingerprint

_CLAUSE_ENDS = re.compile(
    r"([,;!?，；。、！？\n]|\.(?=\s|\Z)|\b(?:and|but|while|whereas|although|though|yet|however)\b|但(?!愿)是?|而且|并且|然而|可是|不过)",
    re.I,
)
_SENTENCE_ENDS = re.compile(r"[;!?；。！？\n.]")
# What follows these is stated, even if a condition stands before them.
_TURNS = re.compile(r"but|while|whereas|although|though|yet|however|但是?|然而|可是|不过", re.I)
# "No backup and permission" denies both.
_LISTS = re.compile(r"[、,]|and", re.I)
_SAYS_MORE = re.compile(
    r"\b(?:is|are|was|were|am|be|has|have|had|got|can|will|does|do|did|works?|runs?|passe?s?|exists?|\w{3,}ed)\b|['’](?:s|re|ve|m)\b"
    r"|[有已可能是在了会]|完成|正常|通过|收到",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:not?|nor|neither|never|none|nobody|nothing|without|cannot|lacks?|lacking|missing|fail(?:s|ed|ure)?|offline"
    r"|expired|lost|\w+n['’]t)\b"
    r"|[不没無无未勿]|失败|断开|丢失|过期|缺(?![陷点口])|并非|除非|非(?!常)|別|(?<![特分级区个派类性])别(?![人的名处墅])",
    re.I,
)
# Words with one of these characters in them that deny nothing.
_DENIES_NOTHING = re.compile(
    "未来|无线|无论|不同|不过|不断|不仅|不但|不错|不久|差不多|无人机|无限|非常|不可或缺|缺一不可"
)
# What begins a condition: the rest of the sentence holds only then.
_SUPPOSES = re.compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|provided|once|until|when|whenever)\b"
    r"|如果|要是|假如|假设|倘若|若是|万一|一旦|除非|只要|只有|等到|(?<![自])若(?!干)",
    re.I,
)
_WISHES = re.compile(
    r"\b(?:wish(?:es|ed)?|hop(?:es?|ed|ing|efully)|would|could|should|might|maybe|perhaps|possibly|probably|wants?|wanted"
    r"|needs?|needed|require[sd]?|expect(?:s|ed)?)\b"
    r"|但愿|希望|最好|应该|可能|也许|或许|大概|是否|能否|可否|需要|必须|想要|期待|盼",
    re.I,
)
_OPPOSITE_WORDS = tuple(
    tuple(frozenset(query_terms(side)) for side in pair.split("/"))
    for pair in (
        *("online/offline", "open opened/closed close shut", "enabled/disabled", "up/down", "on/off"),
        *("full/empty", "valid/expired", "locked/unlocked", "running started/stopped"),
    )
)
_OPPOSITE_ZH = tuple(
    tuple(re.compile(side).search for side in pair.split("/"))
    for pair in (
        *("在线|上线/离线|下线|掉线", "打开|开启|开着|开放|启用/关闭|关上|关着|关掉|停用|禁用"),
        *("连接|连上|接通/断开|断线|断了|中断",),
        *("正常/异常|故障", "运行|启动/停止|停机|宕机", "已满|满了/空的|空了", "有效/失效|过期", "充足|足够/不足|短缺"),
    )
)
_ENOUGH_ENGLISH, _ENOUGH_CHINESE = 0.6, 0.55
_OPPOSITES = ("un", "in", "im", "dis", "non")
_SAME = 0.6  # of the words: definitions that share this much say the same


class _Clause(NamedTuple):
    """A part of a sentence: whether it denies something, and whether it is only asked, wished or supposed."""

    text: str
    denied: bool
    open: bool


def holds_in(condition: str, situation: Iterable[str]) -> bool:
    """Whether the texts of a situation state a condition, and not its opposite."""
    wanted, denied = content(condition), denies(condition)
    enough = _ENOUGH_CHINESE if wanted.characters else _ENOUGH_ENGLISH
    clauses = [clause for text in situation for clause in _clauses(text)]
    # A condition may itself be that something is needed or expected.
    stated = [one for one in clauses if not one.open or (_WISHES.search(condition) and _WISHES.search(one.text))]

    def meets(text: str) -> bool:
        return wanted.covered(content(text)) >= enough and not _opposed(condition, text)

    if any(one.denied is denied and meets(one.text) for one in stated):
        return True
    # Several clauses may meet it together, if none of them denies anything.
    return not denied and not any(one.denied for one in clauses) and meets(" ".join(one.text for one in stated))


def says_same(one: str, other: str) -> bool:
    """Whether two definitions say the same."""
    return fingerprint(one) == fingerprint(other) or max(coverage(one, other), coverage(other, one)) >= _SAME


def denies(text: str) -> bool:
    """Whether a clause says that something is not so."""
    return bool(_DENIES.search(_DENIES_NOTHING.sub("", text)))


def _clauses(text: str) -> Iterator[_Clause]:
    parts = _CLAUSE_ENDS.split(text)
    supposed = denied = False
    before = ""
    for part, after in zip(parts[::2], [*parts[1::2], ""], strict=True):
        clause = part.strip()
        if clause:
            supposed = (supposed and not _TURNS.fullmatch(before)) or bool(_SUPPOSES.search(clause))
            goes_on = bool(_LISTS.fullmatch(before)) and not _SAYS_MORE.search(clause)
            denied = denies(clause) or (denied and goes_on)
            asked = after in ("?", "？") or is_question(clause)
            yield _Clause(clause, denied, supposed or asked or bool(_WISHES.search(clause)))
        if _SENTENCE_ENDS.fullmatch(after):
            supposed = denied = False
        before = after


def _opposed(one: str, other: str) -> bool:
    """Whether one says *known* and the other *unknown*, or one 在线 and the other 离线."""
    # All words count: "up" and "on" are too small to be content.
    ours, theirs = frozenset(query_terms(one)), frozenset(query_terms(other))
    for first, second in ((ours, theirs), (theirs, ours)):
        if any(prefix + word in second and word not in second for word in first for prefix in _OPPOSITES):
            return True
        if any(
            this & first and not that & first and that & second and not this & second for this, that in _OPPOSITE_WORDS
        ):
            return True
    for this, that in _OPPOSITE_ZH:
        if (this(one) and that(other) and not this(other)) or (that(one) and this(other) and not that(other)):
            return True
    return False

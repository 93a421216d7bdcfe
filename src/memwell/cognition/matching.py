"""Whether one text says what another asks for, by the stems of English words and the characters of Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from memwell.language.segment import query_terms
from memwell.language.sentences import sentences

# Whether a text asks something, by its marks and its words, in English and Chinese.


_LOOKED_AT = 2000
_QUESTION = re.compile(
    r"[?？]\s*\Z|[吗呢嘛么][。！!]?\s*\Z|\A\W*(?:who|what(?!\s+an?\b)|which|when(?!\s+(?:I|we|he|she|they|you|my|our)\b)|where"
    r"|why|how|is|are|do(?!\s+not\b|n['’]t\b)|does|did|can|could|will|would|should|tell|explain|describe)\b"
    r"|什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|是不是|有没有|\A请?(?:介绍|解释|告诉)",
    re.I,
)
# More is asked of what is to count for nothing but a question: "Where I live it rains" tells something.
_SURELY = re.compile(
    r"[?？]\W*\Z|[吗呢么][。！!]?\s*\Z"
    r"|\A\W*(?:who|what|which|where|why|how|when)(?:['’]s|\s+(?:is|are|was|were|do|does|did|can|could|will|would|should|has"
    r"|have|many|much|often|long|old))\b"
    r"|\A\W*(?:is|are|do|does|did|can|could|would|should)\s+(?:I|you|he|she|it|we|they|my|your|the|there|this|that|an?)\b"
    r"|\A\W*(?:please\s+)?(?:tell\s+me|explain|describe|remind\s+me)\b"
    r"|\A[^，,：:。]{0,24}(?:什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|谁)[^，,：:。]{0,16}[。！!]?\Z"
    r"|\A请?(?:介绍|解释|告诉我)",
    re.I,
)


def is_question(text: str) -> bool:
    """Whether a sentence asks something."""
    return bool(_QUESTION.search(text.strip()))


def only_asks(text: str) -> bool:
    """Whether every sentence of a text asks something, so that it tells nothing."""
    said = [one.text.strip() for one in sentences(text[:_LOOKED_AT])]
    return bool(said) and all(_SURELY.search(one) for one in said)


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_CLAUSE_ENDS = re.compile(
    r"([,;!?，；。、！？\n]|\.(?=\s|\Z)|\b(?:and|but|while|whereas|although|though|yet|however)\b|但(?!愿)是?|而且|并且|然而|可是|不过)",
    re.I,
)
_SENTENCE_ENDS = re.compile(r"[;!?；。！？\n.]")
_TURNS = re.compile(r"but|while|whereas|although|though|yet|however|但是?|然而|可是|不过", re.I)
"""What follows these is told, whatever was only supposed before."""
_LISTS = re.compile(r"[、,]|and", re.I)
"""What stands between the things of a list: "no backup and permission" denies both."""
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
_SUPPOSES = re.compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|provided|once|until|when|whenever)\b"
    r"|如果|要是|假如|假设|倘若|若是|万一|一旦|除非|只要|只有|等到|(?<![自])若(?!干)",
    re.I,
)
"""What begins a condition: all that follows in the sentence holds only then."""
_WISHES = re.compile(
    r"\b(?:wish(?:es|ed)?|hop(?:es?|ed|ing|efully)|would|could|should|might|maybe|perhaps|possibly|probably|wants?|wanted"
    r"|needs?|needed|require[sd]?|expect(?:s|ed)?)\b"
    r"|但愿|希望|最好|应该|可能|也许|或许|大概|是否|能否|可否|需要|必须|想要|期待|盼",
    re.I,
)
_OPPOSITE_WORDS = tuple(
    (frozenset(query_terms(one)), frozenset(query_terms(other)))
    for one, other in (
        ("online", "offline"),
        ("open opened", "closed close shut"),
        ("enabled", "disabled"),
        ("up", "down"),
        ("on", "off"),
        ("full", "empty"),
        ("valid", "expired"),
        ("locked", "unlocked"),
        ("running started", "stopped"),
    )
)
_OPPOSITE_ZH = tuple(
    (re.compile(one).search, re.compile(other).search)
    for one, other in (
        ("在线|上线", "离线|下线|掉线"),
        ("打开|开启|开着|开放|启用", "关闭|关上|关着|关掉|停用|禁用"),
        ("连接|连上|接通", "断开|断线|断了|中断"),
        ("正常", "异常|故障"),
        ("运行|启动", "停止|停机|宕机"),
        ("已满|满了", "空的|空了"),
        ("有效", "失效|过期"),
        ("充足|足够", "不足|短缺"),
    )
)
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


class _Clause(NamedTuple):
    """A part of a sentence: whether it says that something is not so, and whether it is only asked, wished or supposed."""

    text: str
    denied: bool
    open: bool


def _clauses(text: str) -> Iterator[_Clause]:
    parts = _CLAUSE_ENDS.split(text)
    supposed = denied = False
    before = ""
    for part, after in zip(parts[::2], [*parts[1::2], ""], strict=True):
        clause = part.strip()
        if clause:
            supposed = (supposed and not _TURNS.fullmatch(before)) or bool(_SUPPOSES.search(clause))
            # "No backup and permission": what only goes on with a list is denied with it.
            goes_on = bool(_LISTS.fullmatch(before)) and not _SAYS_MORE.search(clause)
            denied = denies(clause) or (denied and goes_on)
            asked = after in ("?", "？") or is_question(clause)
            yield _Clause(clause, denied, supposed or asked or bool(_WISHES.search(clause)))
        if _SENTENCE_ENDS.fullmatch(after):
            supposed = denied = False
        before = after


def holds_in(condition: str, situation: Iterable[str]) -> bool:
    """Whether a condition is met by something that is said of a situation, and not by its opposite.

    What is asked, wished or supposed is not said to be so.
    """
    wanted, denied = _content(condition), denies(condition)
    enough = _ENOUGH_CHINESE if wanted.characters else _ENOUGH_ENGLISH
    clauses = [clause for text in situation for clause in _clauses(text)]
    # A condition may itself be that something is needed or expected.
    told = [one for one in clauses if not one.open or (_WISHES.search(condition) and _WISHES.search(one.text))]
    for clause in told:
        said = _content(clause.text)
        if clause.denied is denied and _covered(wanted, said) >= enough and not _opposed(condition, clause.text):
            return True
    # A condition may be met by what several clauses say together, if none of them denies anything.
    if denied or any(clause.denied for clause in clauses):
        return False
    together = " ".join(clause.text for clause in told)
    return _covered(wanted, _content(together)) >= enough and not _opposed(condition, together)


def _opposed(one: str, other: str) -> bool:
    """Whether one speaks of *known* and the other of *unknown*, or one of 在线 and the other of 离线."""
    # All words count: "up" and "on" are too small to be what a text is about.
    ours, theirs = frozenset(query_terms(one)), frozenset(query_terms(other))
    for first, second in ((ours, theirs), (theirs, ours)):
        if any(prefix + word in second and word not in second for word in first for prefix in _OPPOSITES):
            return True
        if any(_only(this, that, first) and _only(that, this, second) for this, that in _OPPOSITE_WORDS):
            return True
    for this, that in _OPPOSITE_ZH:
        if (this(one) and that(other) and not this(other)) or (that(one) and this(other) and not that(other)):
            return True
    return False


def _only(these: frozenset[str], not_those: frozenset[str], words: frozenset[str]) -> bool:
    return bool(these & words) and not not_those & words


# Asking for as many candidates as it takes: repeats and what is hidden must not stand in the place of answers.


Found = TypeVar("Found")
Kept = TypeVar("Kept")

_AT_FIRST, _MORE, _AT_MOST = 2, 4, 128
"""How many times the limit is asked for at first, by what that grows, and where it ends."""


def enough_of(
    fetch: Callable[[int], Sequence[Found]], sift: Callable[[Sequence[Found]], list[Kept]], limit: int
) -> list[Kept]:
    """What ``sift`` keeps of what ``fetch`` finds, at least ``limit`` of it as long as there is more to be found."""
    wanted = _AT_FIRST * limit
    while True:
        found = fetch(wanted)
        kept = sift(found)
        if len(kept) >= limit or len(found) < wanted or wanted >= _AT_MOST * limit:
            return kept
        wanted *= _MORE

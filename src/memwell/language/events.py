"""``Event``: what a text says that happened to someone whom, or to something which, only what is known before can name.

"We got married" names no one, "Pickle's back" does not say what Pickle is, and "We moved in on Friday" not where. Who and
what is meant is found in the facts (``longterm/endings.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memwell.language.asking import is_question
from memwell.language.claims import chinese_clauses, chinese_objects, english_doubt, english_objects
from memwell.language.claims.english_objects import UPPER
from memwell.language.patterns import LazyPattern
from memwell.language.sentences import sentences

WEDDING, BACK, MOVED_IN, JOINED, LEFT = "wedding", "back", "moved in", "joined", "left"
GRADUATED, MOVED_OUT = "graduated", "moved out"
"""The speaker married; someone who was lost is there again; the speaker moved into a home; someone moved to the speaker;
someone left what may be an employer, or a school that they finished; someone left the home that they shared."""

_CAPITAL = rf"[{UPPER}][\w-]*[^\W_]"
_LOOKED_AT = 4_000
_HAN = re.compile("[\u4e00-\u9fff]").search


class Event(NamedTuple):
    """What happened, to whom as the text names them, the characters that say so, and what it is about."""

    kind: str
    name: str
    start: int
    end: int
    thing: str = ""


_ADVERBS = r"(?:(?:just|finally|actually|officially|now|also|both|all|have|['’]ve|['’]s|has|had|quietly|only) ?)*"
_WE = r"\b(?:[Ww]e|I) ?"
_KIN = "|".join(sorted(english_objects.KIN, key=len, reverse=True))
_SOMEONE = (
    rf"(?P<name>(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?(?:{_KIN})\b"
    rf"|(?:Mum|Mom|Dad|Mummy|Daddy|Gran|Grandma|Grandad|Nan)\b|{_CAPITAL})"
)
_HOME = r"(?:house|flat|home|place|apartment|cottage|bungalow|maisonette|condo|studio|terrace|semi)"
_ENGLISH = (
    (
        WEDDING,
        "marri hitched knot eloped",
        rf"{_WE}{_ADVERBS}(?:got (?:married|hitched)|gotten married|tied the knot|eloped)\b"
        rf"|\b[Ww]e(?:['’]re| are) (?:now |finally |officially |legally )*(?:married(?= now|[.!,]|\Z)|husband and|wife and)"
        r"|\A\W*(?:[Jj]ust |[Gg]uess what,? )*(?:got married|tied the knot|eloped)\b",
    ),
    (
        BACK,
        "back home found turned",
        rf"(?:\A|[,.!;:] |\b(?:and|but|so|yes|yay|yep|oh|guess what|great news|good news|update)[,:!]? )"
        rf"(?P<name>{_CAPITAL})(?:['’]s| is| has| was)? ?{_ADVERBS}(?:been )?"
        r"(?:(?:come |came |back |safely |safe )*(?:back|home)(?: home)?"
        r"(?=[.!,;]|\Z| (?:and|this|last|today|yesterday|safe|on|with us|at)\b)"
        r"|found(?=[.!,;]|\Z| (?:safe|him|her|this|last|today|yesterday|in|at|by)\b)|turned up|(?:showed|popped) up)"
        rf"|{_WE}{_ADVERBS}(?:found|got) (?P<name2>{_CAPITAL})(?: back)?"
        r"(?=[.!,;]|\Z| (?:safe|this|last|today|yesterday|in|at|under|hiding)\b)",
    ),
    (
        MOVED_IN,
        "moved keys",
        rf"(?:{_WE}{_ADVERBS}|\A\W*)(?:[Gg]ot|picked up|collected) (?:the|our) keys(?: to (?:the|our|my) (?:new )?{_HOME})?"
        r"(?=\s*(?:[.,;!]|\Z|(?:today|yesterday|on|last|this|at last|and)\b))"
        r"|(?:\b(?:the|our|get|getting) |, |\band |\A)keys (?:are |is )?(?:on (?:the )?(?:\d|\w+day)|next )"
        rf"|(?:{_WE}{_ADVERBS}|(?:\A|\band )(?:have |then |finally |we )*)[Mm]oved in"
        r"(?:to (?:the|our|my|a|it)\b[^,.;!?]{0,40}"
        r"|(?=\s*(?:[.,;!]|\Z|(?:on|last|this|today|yesterday|at|over|and|two|a|together"
        r"|finally|in \w+day)\b)))",
    ),
    (
        JOINED,
        "with us with me back home back in live",
        rf"{_SOMEONE}(?:['’]s| is| has)? ?{_ADVERBS}(?:moved (?:back )?in with (?:us|me)|moved back (?:home|in)"
        r"|come to live with (?:us|me)|came to live with (?:us|me)|liv(?:es|ing) with (?:us|me)(?: now)?)\b",
    ),
    (
        LEFT,
        "quit left leaving",
        rf"(?:{_SOMEONE}|(?P<me>\bI\b))(?:['’]s| has|['’]ve| have)? ?{_ADVERBS}(?:quit|left) (?:the|my|his|her|their) "
        r"(?P<thing>[a-z][a-z-]+(?: [a-z][a-z-]+)?)"
        r"(?=\s*(?:[.,;!]|\Z|(?:last|this|yesterday|today|on|in|and|because|after|to|for)\b))",
    ),
    (
        GRADUATED,
        "viva thesis dissertation",
        rf"(?:{_SOMEONE}|(?P<me>\bI\b))(?:['’]s| has|['’]ve| have)? ?{_ADVERBS}(?:passed|defended|aced) (?:the"
        rf"|my|his|her|their)"
        r" (?:phd |PhD |doctoral |master['’]?s )?(?:viva|thesis|dissertation)\b",
    ),
    (
        MOVED_OUT,
        "moved out",
        rf"{_SOMEONE}(?:['’]s| has)? ?{_ADVERBS}moved out(?: of the (?:house|flat|apartment))?"
        r"(?=\s*(?:[.,;!]|\Z|(?:last|this|yesterday|today|on|in \w+day|in [A-Z]\w+|and|for good|so|a \w+ ago)\b))",
    ),
)
_ZH_NAME = r"(?P<name>[^\W\dA-Za-z_]{2,3}?|[A-Z][A-Za-z]+)"
_ZH_TIME = (
    "(?:今天|昨天|前天|上周|上个月|刚刚?|终于|已经|今早|昨晚|早上|晚上|下午|上午|[上这]?周[一二三四五六日末]|自己|都|又|也|就"
    "|正式|悄悄|\\d+[月号日])*"
)
_CHINESE = (
    (
        WEDDING,
        "证 婚",
        rf"(?:我们俩?|我俩|我和(?:他|她|女朋友|男朋友|对象)|我跟(?:他|她|女朋友|男朋友|对象)|我){_ZH_TIME}(?:去)?(?:民政局)?{_ZH_TIME}"
        r"(?:领了?证|扯了?证|结了?婚|领了?结婚证|登记结?婚?|办了?婚礼)(?:啦|了)",
    ),
    (
        BACK,
        "回来 找到 找回 回家",
        rf"(?:我家|我们家)?(?:的)?{_ZH_NAME}{_ZH_TIME}(?:自己|被)?{_ZH_TIME}(?:回来|回家|找到|找回来|找回)(?:啦|了)",
    ),
    (
        GRADUATED,
        "毕业 答辩",
        rf"(?P<name>我?(?:{chinese_objects.KIN_WORDS})){_ZH_TIME}(?:大学|本科|研究生|硕士|博士|高中|顺利)*毕业(?:啦|了)(?![一两三四五六七八九十几\d])"
        rf"|(?P<name2>我?(?:{chinese_objects.KIN_WORDS})){_ZH_TIME}(?:顺利)?(?:通过|过)了?(?:大学|硕士|博士|毕业|论文)*答辩(?:啦|了|[，。！]|\Z)",
    ),
    (
        MOVED_OUT,
        "搬",
        rf"(?:\A|[，。！])(?P<name>我?(?:{chinese_objects.KIN_WORDS})|[^\W\dA-Za-z_我你他她]{{2,3}}?){_ZH_TIME}(?:从家里)?搬(?:走|出去)(?:啦|了)",
    ),
    (MOVED_IN, "搬", rf"(?:我们?|我们一家|全家){_ZH_TIME}(?:搬进|搬到|住进)了?(?:新家|新房子?|新公寓)(?:啦|了)?"),
    (
        JOINED,
        "住",
        rf"(?P<name>我?(?:{chinese_objects.KIN_WORDS})){_ZH_TIME}(?:搬)?(?:过来|来|到我[们]?家|过来我们?家)(?:和|跟|与)?(?:我们?|咱们?)?(?:家)?(?:一起|一块儿?)?住(?:啦|了)",
    ),
)


def events(text: str) -> list[Event]:
    """The events of a text, in its order; none of a question, a jest, a condition, a wish or a quotation."""
    found: list[Event] = []
    for start, _, sentence in sentences(text[:_LOOKED_AT]):
        found += _in_chinese(sentence, start) if _HAN(sentence) else _in_english(sentence, start)
    return found


def _in_english(sentence: str, offset: int) -> Iterator[Event]:
    lower = sentence.lower()
    for kind, hints, pattern in _patterns("en"):
        if not any(hint in lower for hint in hints):
            continue
        if is_question(sentence) or english_doubt.NO_STATEMENT(sentence) or english_doubt.is_not_meant(sentence):
            return
        plain = english_doubt.without_asides(sentence)
        limit = english_doubt.doubts(plain, len(plain))[0]
        yield from _found(pattern, kind, plain[:limit], offset)


def _in_chinese(sentence: str, offset: int) -> Iterator[Event]:
    for kind, hints, pattern in _patterns("zh"):
        if not any(hint in sentence for hint in hints):
            continue
        if is_question(sentence) or chinese_clauses.DOUBT(sentence) or chinese_clauses.HEDGE(sentence):
            return
        yield from _found(pattern, kind, chinese_clauses.QUOTED.sub(lambda said: " " * len(said[0]), sentence), offset)


@cache
def _patterns(language: str) -> tuple[tuple[str, tuple[str, ...], LazyPattern], ...]:
    rows = _ENGLISH if language == "en" else _CHINESE
    return tuple((kind, tuple(hints.split()), LazyPattern(pattern)) for kind, hints, pattern in rows)


def _found(pattern: LazyPattern, kind: str, text: str, offset: int) -> Iterator[Event]:
    found = pattern.search(text)
    if found is not None:
        parts = found.groupdict(default="")
        name = parts.get("name") or parts.get("name2") or parts.get("me") or ""
        yield Event(kind, name, offset + found.start(), offset + len(text.rstrip(" .!。！")), parts.get("thing", ""))

"""Whether two statements say the same of two things: "The ladder is in the garage", "The saw is in the shed".

Such statements are alike word for word, except near their beginning, where the thing is named, and later, where its value
stands. What gives one thing another value differs in the value alone. So no list of things is needed, and none of verbs
beyond what ends a name: the words before the first difference, and those that differ, must be a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memwell.language.claims.chinese_objects import KIN as CHINESE_KIN
from memwell.language.claims.chinese_objects import KIN_WORDS
from memwell.language.claims.english_objects import KIN as ENGLISH_KIN
from memwell.language.claims.english_objects import SAME_KIN
from memwell.language.patterns import LazyPattern
from memwell.language.segment import ascii_words

_LONGEST_NAME = 6
"""How many words or characters of the names may differ."""
_LEAST_SHARED = 0.3
"""Which part of what they say after the names must be the same."""
_MORE_SHARED = 0.6
"""The same where even the verbs differ."""
_MANY = 2**14


def kin(relation: str, usual: str) -> str:
    """The word for a relative by which two statements are compared: wife and girlfriend may be the same person."""
    if relation in ("married_to", "partner"):
        return "partner"
    return "child" if usual in _ANY_CHILD or usual.endswith(" child") else usual


_ANY_CHILD = frozenset("kid kids child children baby".split())
# The longest first, so that patterns do not find a mother in a mother-in-law.
EN_KIN = {
    word: kin(ENGLISH_KIN[word], SAME_KIN.get(word, word)) for word in sorted(ENGLISH_KIN, key=lambda word: -len(word))
}
ZH_KIN = {word: kin(*one) for word, one in CHINESE_KIN.items()} | {"医生": "doctor", "大夫": "doctor"}
EN_OWNERS = frozenset(form for word in EN_KIN for form in (word, f"{word}s", f"{word}'s"))
EN_KIN_ENDS = frozenset(ascii_words(f"{form}{end}")[-1] for form in EN_OWNERS for end in ("", "'"))
"""The last words of those for relatives: a text that names one has one of them."""
KIN = frozenset((*EN_KIN.values(), *ZH_KIN.values()))
_RELATIONS = {EN_KIN[word]: relation for word, relation in ENGLISH_KIN.items()} | {
    ZH_KIN[word]: one.relation for word, one in CHINESE_KIN.items()
}
ROLES = frozenset(word for word in KIN if _RELATIONS[word] in ("friend", "colleague", ""))
"""Those whose role passes from one person to another, so that a statement about one is also about the speaker."""
# My wife's mother is my mother-in-law.
RELATIVES = KIN - ROLES - {"partner"}


def may_be_one(one: str, other: str) -> bool:
    """Whether two words of ``KIN`` may mean the same person: *brother* and *older brother*, *sibling* and *sister*."""
    one, other = one.removesuffix("s"), other.removesuffix("s")
    if one == other or one.endswith(f" {other}") or other.endswith(f" {one}"):
        return True
    return _RELATIONS.get(one) == other or _RELATIONS.get(other) == one


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


def do_two_things(newer: Frame, older: Frame) -> bool:
    """Whether things with two names do two things at two times or prices: "The bus leaves at 7", "School starts at 8"."""
    if newer.masked.count(_MARK) != older.masked.count(_MARK):
        return False
    start, one, other = _common(newer.parts, older.parts), newer.named, older.named
    if start >= min(one, other) or max(one, other) - start > _LONGEST_NAME or _NUMBER_SIGN not in newer.masked[one:]:
        return False
    return _named_apart(newer, older, start, one, other) and _valued_apart(newer, older, one, other, _MORE_SHARED)


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
    may_be_one = KIN.isdisjoint(which) is not KIN.isdisjoint(before) and _NO_PERSON.isdisjoint((*which, *before))
    return not (may_be_one or _has(older.parts, which) or _has(newer.parts, before))


def _has(parts: Sequence[str], name: Sequence[str]) -> bool:
    return any(parts[at : at + len(name)] == name for at in range(len(parts)))


def _valued_apart(newer: Frame, older: Frame, one: int, other: int, least: float = _LEAST_SHARED) -> bool:
    """Whether much of the rest is the same, and each has something that the other has not, or a value that is hidden."""
    now, before = set(newer.parts[one:]) - _SMALL, set(older.parts[other:]) - _SMALL
    if (now <= before or before <= now) and not any(map(_HIDDEN, now & before)):
        return False
    now, before = set(newer.masked[one:]) - _SMALL, set(older.masked[other:]) - _SMALL
    return len(now & before) >= least * max(len(now), len(before))


_HIDDEN = LazyPattern(r"\[\w+\]").match
"""What stands for a secret in a text."""


@lru_cache(_MANY)
def frame(text: str, chinese: bool) -> Frame:
    """A statement as it is compared."""
    text = text.lower().rstrip(" .!。！")
    parts = _chinese_parts(text) if chinese else _english_parts(text)
    ends = _ends_chinese_name if chinese else _ends_english_name
    named = next((at for at in range(len(parts)) if parts[at] in _MARKS or ends(parts, at)), len(parts))
    masked = tuple(
        _MARK if part in _MARKS else _NUMBER_SIGN if part[:1].isdecimal() or part in _NUMBERS else part
        for part in parts
    )
    return Frame(parts, masked, named)


_MARK, _NUMBER_SIGN = ",", "#"
_MARKS = frozenset(",;:.!，。；：！")
_NO_PERSON = frozenset("home work office school".split()).union("家里")
_ANY_OF_THEM = frozenset("new old actual correct usual".split()).union("新旧老")
_SMALL = frozenset("now today currently nowadays again instead these days".split()).union("了的", _MARKS)
_NUMBERS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays one two three four five six seven eight nine ten eleven twelve first second third fourth fifth".split()
).union("零一二两三四五六七八九十百千万")


def of_two_owners(newer: str, older: str, chinese: bool) -> bool:
    """Whether both begin with one kind of thing of two people: "My bus leaves at 7:40", "Leila's bus leaves at 8:10".

    So are what an employer gave and one's own, what someone made for another and their trade, and the job of one of the
    speaker's people and the speaker's home.
    """
    if _is_given(newer, older) or (_OUR_HOME(older) and _THEIR_JOB(newer)):
        return True
    now, before = (_owned(text, chinese) for text in (newer, older))
    if now is None or before is None or now[1] != before[1] or now[0] == before[0]:
        return False
    # A name may be that of a relative.
    return not (now[0] and before[0]) or (now[0] in KIN) is (before[0] in KIN)


def _is_given(newer: str, older: str) -> bool:
    """Whether one tells that something was given or made, and not instead of what the other tells."""
    given = _GIVES(newer)
    if given is None or _INSTEAD(newer) or _GIVES(older):
        return False
    return bool(given["work"] or given["work_zh"]) or _TRADE(older) is not None


_GIVING = (
    "gave given made built baked cooked knitted knit sewed painted carved bought brought sent lent got issued wrote drew "
    "crocheted".split()
)
_GIVES = LazyPattern(
    r"\A\W*(?:(?P<work>(?:(?:my|our|the) )?(?:work|company|office|employer|boss|school|uni|job))|(?:(?:my|our) )?[\w'’-]+)"
    r"(?: has| have| just| also|['’]s)* "
    rf"(?:{'|'.join(_GIVING)}) (?:me|us|him|her|them|my \w+|our \w+) "
    r"|\A(?:(?P<work_zh>公司|单位|学校|老板|厂里)|[^\W\x00-\x7f]{1,4})(?:今天|昨天|刚|还|又|亲手)*[给送帮为](?:我们?|[他她]|大家)"
    r"(?:[发配送做买织画烤寄带打盖修]了|了)",
    re.IGNORECASE,
    needs=(*(f"{verb} {whom}" for verb in _GIVING for whom in "me us him her them my our".split()), *"给送帮为"),
).match
_INSTEAD = LazyPattern(
    r"\b(?:new|now|instead|replac\w+|swap\w*|old|no longer|any ?more|sold|gone|broke|broken|switch\w*|job"
    r"|promotion)\b|换|新|旧|不用|卖|坏",
    re.I,
).search
_TRADE = LazyPattern(
    r"(?:['’]s|\bis|\bworks as) an? [a-z -]+\W*\Z|是(?:一?[名个位])?[^\W\x00-\x7f]{2,6}\W*\Z", re.I
).search
"""What someone is, as far as a statement that says nothing else goes."""
_THEIR_JOB = LazyPattern(
    rf"(?:(?:my|our) )?(?:{'|'.join(sorted(EN_KIN, key=len, reverse=True))})\b[^.;]*\b(?:job|work|position"
    rf"|shift)\b(?! from home)"
    rf"(?!.*\b(?:mov|liv|relocat|home|house|flat))|(?:我们?|咱们?)?(?:{KIN_WORDS})[^。；]*(?:工作|上班|兼职)(?!.*[搬住])",
    re.IGNORECASE,
    needs="job work position shift 工作 上班 兼职".split(),
).match
_OUR_HOME = LazyPattern(
    r"\b(?:I|we)\b[^.;]*\b(?:live|living|flat|house|moved|home)\b|[我咱][^。；]*[住搬家]",
    re.I,
    needs="live living flat house moved home 住 搬 家".split(),
).match


@lru_cache(_MANY)
def _owned(text: str, chinese: bool) -> tuple[str, str] | None:
    """Whose thing a statement begins with, the speaker's as "", and which."""
    found = (_ZH_OWNED if chinese else _EN_OWNED)(text.lower().replace("’", "'"))
    if found is None:
        return None
    owner = found[1] or found[2] or ""
    return (ZH_KIN if chinese else EN_KIN).get(owner, owner), found[3]


_EN_OWNED = LazyPattern(
    r"\A(?:(?:my |our )(\w+)'s|(\w+(?: and)?(?: \w+)?)'s|(?:my|our)) (?:new |old )?(\w+)\b(?!')"
).match
_ZH_OWNED = LazyPattern(
    rf"\A(?:(?:我们?|咱们?)?({KIN_WORDS})的?|(?:(?:我们?|咱们?)(?=[^的]))?([^\W\x00-\x7f我咱]{{2,3}})的|(?:我们?|咱们?)的)\s*([a-z0-9]+|[^\W\x00-\x7f]{{2}})"
).match


def of_two_measures(newer: str, older: str) -> bool:
    """Whether both give numbers of units that measure two things: "Leo weighs 14 kilos", "Leo takes size 25"."""
    now, before = _measures(newer), _measures(older)
    return bool(now and before) and now.isdisjoint(before)


@lru_cache(_MANY)
def _measures(text: str) -> frozenset[str]:
    return frozenset(found.lastgroup or "" for found in _MEASURE(text))


_MEASURE = LazyPattern(
    r"(?i)(?P<weight>\b(?:weigh\w*|kilos?|kg|lbs?)\b|\d ?(?:kg|lbs)\b|公斤|体重)|(?P<size>\bsize\b|码)"
    r"|(?P<height>\b(?:cm|centimet\w+|met(?:re|er)s?|tall)\b|\dcm\b|厘米|[\d一二]米|身高)",
    needs="weigh kilo kg lb size cm met tall 公斤 体重 码 米 身高".split(),
).finditer


class Holder(NamedTuple):
    """Who has a role, as a statement says: *Lou* in "My best friend is Lou"."""

    role: str
    name: str

    @property
    def lasts(self) -> bool:
        """Whether they are family or a friend, who stay so wherever they move and whatever else changes."""
        chinese = CHINESE_KIN.get(self.role)
        return (ENGLISH_KIN.get(self.role, "") if chinese is None else chinese.relation) in _LASTING


_LASTING = frozenset("parent child sibling relative friend".split())


def holder_mentioned(newer: str, older: str, chinese: bool) -> Holder | None:
    """Who has the role that the older statement names, where the newer one is about that person and not about the role."""
    found = (_ZH_HOLDER if chinese else _EN_HOLDER)(older.replace("’", "'").strip())
    if found is None:
        return None
    holder = Holder((found["role"] or found["role_2"]).lower(), found["name"] or found["name_2"])
    names = holder.name if chinese else rf"{holder.name}\b(?!')"
    # A second clause may tell who has the role now.
    is_meant = re.match(names, newer) and holder.role not in newer.lower() and _CLAUSES(newer) is None
    return holder if is_meant else None


_CLAUSES = LazyPattern(r"[,;:，；：]|\band\b").search


_EN_NAME = r"(?:(?:Dr|Mrs?|Ms|Miss|Prof)\.? )?[A-Z][a-z]+(?: [A-Z][a-z]+)?"
_EN_HOLDER = LazyPattern(
    rf"(?:(?:My|Our|The) (?:[a-z'-]+ ){{0,3}}?(?P<role>[a-z-]+)(?: is|'s)(?: called| named)? (?P<name>{_EN_NAME})"
    rf"|(?P<name_2>{_EN_NAME}) is (?:my|our|the) (?:[a-z'-]+ ){{0,3}}?(?P<role_2>[a-z-]+))[.!]?\Z"
).match
_ZH_HOLDER = LazyPattern(
    r"(?:(?:我们?|咱们?)(?:家|的|最好的|现在的)*(?P<role>[^\W\x00-\x7f的]{1,5}?)(?:是|叫)(?P<name>[^\W\x00-\x7f的]{2,4}|[A-Z][a-z]+)"
    r"|(?P<name_2>[^\W\x00-\x7f的]{2,4}|[A-Z][a-z]+)是(?:我们?|咱们?)(?:家|的|最好的)*(?P<role_2>[^\W\x00-\x7f的]{1,5}))[。！]?\Z"
).match


def stays_after_death(newer: str, older: str, chinese: bool) -> bool:
    """Whether one tells that someone died, and the other what they are by kind: a breed is what it was."""
    kind = (_ZH_KIND if chinese else _EN_KIND)(older.replace("’", "'"))
    if kind is None or kind[kind.lastindex or 0] not in newer:
        return False
    return tells_of_death(newer, chinese)


def tells_of_death(text: str, chinese: bool) -> bool:
    """Whether a text tells that someone died."""
    return (_ZH_DIED if chinese else _EN_DIED)(text) is not None


_EN_KIND = LazyPattern(r"(?:(?:My|Our) [a-z]+ )?([A-Z][a-z]+) (?:is|was) an? [A-Za-z -]+[.!]?\Z").match
_EN_DIED = LazyPattern(r"\b(?:died|passed away|put (?:\w+ ){0,2}(?:to sleep|down)|buried)\b").search
_ZH_NAME, _ZH_IS = r"([^\W\x00-\x7f是]{2,3}|[A-Z][a-z]+)", r"是(?:一?[只条个])?[^\W\x00-\x7f]{2,6}"
_ZH_KIND = LazyPattern(
    rf"(?:(?:我们?家?的?[猫狗])?{_ZH_NAME}{_ZH_IS}|我们?家?的?[猫狗](?:叫{_ZH_NAME}，{_ZH_IS}|{_ZH_IS}，叫{_ZH_NAME}))[。！]?\Z"
).match
_ZH_DIED = LazyPattern("死了|去世|走了|离世|过世|安乐死|没了|埋").search


def is_pastime(text: str) -> bool:
    """Whether one clause tells what someone does again and again: what they collect, play or bake."""
    return _PASTIME(text) is not None


_PASTIME = LazyPattern(
    r"(?:(?:I|We|(?:My |Our )?[A-Za-z]+) (?:collect|play|bake|knit|sew|sing|paint|draw|brew|coach|run)s? [a-z][^,;.]*"
    r"|[^，。；了过]{1,4}(?:收集|收藏|会?弹|会?吹|会?拉|带|烤|画)[^，。；了过\d]+)[.!。！]?\Z",
    needs="collect play bake knit sew sing paint draw brew coach run 收 弹 吹 拉 带 烤 画".split(),
).match


EN_KINDS = {
    word: (kind, words.split()[0])
    for kind, some in {
        "visit": "dentist dentist's dental|optician optician's optometrist|gp doctor doctor's|physio physiotherapist"
        "|vet vet's|hairdresser hairdresser's barber barber's haircut|dermatologist|checkup|therapist",
        "paper": "passport passports|certificate certificates|licence license|diploma|deeds",
        "payment": "rent|electricity|water|internet broadband|council|insurance",
        "instrument": "violin|guitar|piano|cello|drums|flute|trumpet|ukulele|clarinet|saxophone sax|banjo|harp|accordion",
    }.items()
    for words in some.split("|")
    for word in words.split()
}
ZH_KINDS = {
    word: (kind, words.split()[0])
    for kind, some in {
        "visit": "牙医 洗牙 看牙 补牙 拔牙|中医|家庭医生|体检|配镜 验光 眼科|理发|产检|兽医",
        "paper": "护照|身份证|驾照 驾驶证|户口本|出生证|房产证|结婚证|社保卡|医保卡|毕业证|行驶证",
        "payment": "房租 月租 租金|物业费|水费|电费|燃气费 煤气费|宽带费 网费|话费|停车费|学费",
        "instrument": "小提琴|大提琴|钢琴|吉他|古筝|二胡|笛子|架子鼓|萨克斯|尤克里里|琵琶|口琴",
    }.items()
    for words in some.split("|")
    for word in words.split()
}
"""Words for things of a few kinds, with the kind and the usual word of each."""


# English.


def without_news(text: str) -> str:
    """An English text without an opening that only says that something is news: "Turns out Owen lives in Hull"."""
    return _EN_NEWS("", text, 1)


_EN_NEWS = LazyPattern(
    r"\A(?:(?:so|well|oh|and|but|ok|okay|anyway),? )*(?:(?:(?:it )?turns out|apparently|guess what|fun(?:ny)? "
    r"(?:thing|fact)|I(?:'ve| have)? (?:just )?(?:hear|heard|found out|learn(?:ed|t))|just (?:heard|found out|"
    r"learn(?:ed|t)))[,:!]? (?:that )?|so,? )(?=[A-Z])",
    re.IGNORECASE,
    needs=("so ", "so,", "turns out", "apparently", "guess what", "fun", "hear", "found out", "learn"),
).sub
_EN_OPENING = LazyPattern(r"\A(?:(?:by the way|[a-z]+)[,:] )?(?:now )?").sub
_EN_PARTS = LazyPattern(r"\[\w+\]|\w(?:[\w@'.:-]*[\w'])?|[,;:.!]").findall
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
_ZH_PARTS = LazyPattern(
    rf"\[\w+\]|[大二三小]宝|(?:{KIN_WORDS})家?|[a-z0-9][a-z0-9_.:@-]*|[^\W\x00-\x7f]|[，。；：！,;:!]"
).findall
_ZH_ENDS_NAME = frozenset(
    "了过着他她它我你咱吃喝想说坐用跑给从在不那这把再住爱去搬换改是叫姓有没养开买卖学当做到定延写填应该会要能"
)


_ZH_IN_NAMES, _ZH_SUBJECTS = frozenset("学能会开当做到定要用"), frozenset("数大中小文科化同医商哲")


def _chinese_parts(text: str) -> tuple[str, ...]:
    # 大宝 and 小宝 are two children.
    return tuple(part if part[1:] == "宝" else ZH_KIN.get(part, part) for part in _ZH_PARTS(_ZH_OPENING("", text)))


def _ends_chinese_name(parts: Sequence[str], at: int) -> bool:
    if parts[at] not in _ZH_ENDS_NAME:
        return False
    # 学 and 能 are verbs, but not in 数学 and 佳能.
    return parts[at] not in _ZH_IN_NAMES or (at > 1 and parts[at - 1] not in _ZH_SUBJECTS)


parts_in = LazyPattern(
    r"\b(?:screen|battery|batteries|clutch|exhaust|tyres?|tires?|pump|valve|lens(?:es)?|strap|brakes?|gearbox|bumper|charger"
    r"|hinge|filter|fuse)\b"
    "|屏幕?|电池|离合器?|排气管|轮胎|雪地胎|水泵|阀门?|镜片|表带|保护壳|手机壳|刹车片?|滤芯|充电器|键盘|密封圈",
    re.I,
).findall
"""Parts of things, which are repaired and replaced while the thing stays."""


def are_two_people(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether both are people with names, and not the same."""
    return bool(one and other) and one.isdisjoint(other) and "" not in one | other

"""What a question asks for, what it names exactly, and how much of it a text holds.

A question that names a year, a number, a code, a weekday or a month is not answered by a text with another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import NamedTuple, Self

from memwell.knowledge.synonyms import Synonyms
from memwell.language.asking import QUESTION_WORDS_ZH
from memwell.language.claims.english_objects import NATIONALITIES
from memwell.language.dates.chinese import DIGITS as HAN_DIGITS
from memwell.language.dates.chinese import TENS as HAN_TENS
from memwell.language.dates.chinese import WEEKDAYS as HAN_WEEKDAYS
from memwell.language.dates.english import MONTH_NAMES, MONTHS, SMALL, TEENS, WEEKDAY_NAMES, WEEKDAYS
from memwell.language.entities import (
    NOT_NAMES,
    ORGANISATION_ENDINGS,
    PERSON_ENDINGS_ZH,
    PLACE_ENDINGS,
    TITLES,
    entities,
)
from memwell.language.segment import query_terms, segment
from memwell.longterm.candidates import weighted_terms

_LOOKED_AT = 400
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|dozen|once|twice"
)
_ASKED = {
    "person": re.compile(r"\bwho(?:m|se)?\b|谁|哪位|什么人", re.I),
    "time": re.compile(
        # In "who pays when it is late" it asks for nothing.
        r"(?:\A\W*(?:\w+ )?|\b(?:and|or|know|say|tell me|remember),? |, )when\b|"
        r"\b(?:what|which) (?:time|day|date|year|month)s?\b|"
        r"\bhow late\b|什么时[候间]|何时|几[点号时月]|(?:星期|周)几|哪[天年]|多久|多长时间",
        re.I,
    ),
    "place": re.compile(
        r"\bwhere\b|\b(?:which|what) (?:room|place|town|city|country|address|shop)\b|哪里|哪儿|在哪|什么地方|何处", re.I
    ),
    "number": re.compile(
        r"\bhow (?:many|much|long|often|old|far|big|large|tall|high|deep|heavy|loud|fast|wide|hot|cold)\b|"
        r"\bat what (?:temperature|speed|price)\b|\bwhat [^?]{0,60}\b(?:costs?|price|fee|rent)\b|"
        r"多少|(?<!星期)(?<!周)几(?![乎月])|多[久长大高远重深快宽]",
        re.I,
    ),
    "phone": re.compile(
        r"\b(?:tele)?phone\b|\bnumber to (?:call|ring)\b|\bcall(?:ed)? at\b|电话|手机号|联系方式", re.I
    ),
    "advice": re.compile(
        r"\bwhat (?:should|shall|must|can|do) (?:i|we|one) do\b|\bhow (?:do|can|should) (?:i|we) (?:fix|repair|solve)\b|"
        r"怎么办|如何处理|怎么处理|怎么解决|如何解决",
        re.I,
    ),
}
_GIVEN = {
    "person": re.compile(
        "由[^，。；]{1,16}(?:负责|管理|主持|保管|设计|担任|审批|处理|承担|审核)|师傅|先生|女士|小姐|老师|医生|经理|主任|总监"
    ),
    "time": re.compile(
        rf"\b(?:{'|'.join(MONTH_NAMES)}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|o.clock|noon|midnight|mornings?|afternoons?|evenings?|"
        r"nights?|weekdays?|weekends?|daily|weekly|monthly|yearly|spring|summer|autumn|winter|today|tomorrow|hours?|minutes?|"
        rf"(?:at|from|until|till|by) (?:{_NUMBER_WORDS})|"
        r"weeks?|months?|(?:1[5-9]|20)\d\d|\d{1,2}(?:st|nd|rd|th))\b|\d{1,2}:\d\d|\b\d{1,2} ?[ap]\.?m\b|"
        "[0-9〇零一二两三四五六七八九十半每上下][点时日号月年周天]|(?:周|星期)[一二三四五六日天末]|个月|季度|小时|分钟|早上|上午|中午|下午|晚上|凌晨|[清早]晨|清明|春|夏|秋|冬",
        re.I,
    ),
    "place": re.compile(
        r"\b(?:at|near|behind|beside|under|above|opposite|between|inside|outside|next to)\b|"
        r"\b(?:shop|street|road|room|floor|building)\b|"
        r"\b(?:in|on|to|from) (?:the )?[A-Z]|\b(?:in|on) (?:the|your|our|a) |"
        r"[在于到][^，。]{1,2}|位于|旁|附近|[楼室路街区县市省国店馆]",
    ),
    "number": re.compile(
        rf"\d|\b(?:{_NUMBER_WORDS})\b|[二两三四五六七八九十百千万]|[一半][个天周月年次小米成点]",
        re.I,
    ),
    "phone": re.compile(r"(?<![\w.,])\+?\d(?:[ ()/-]{0,2}\d){5,}(?![\w])"),
}
_NAMED = ("person", "organisation", "organization")

HE = "(?<![吉其维耳排利倍伐雷托培孢])(?<![\u4e00-\u9fff](?=[他她它][汀啶滨赛唑]))[他她它](?!命)"
"""Chinese for *he*, *she* or *it*, and not a sound of a word such as 吉他, 其他 or 氯雷他定."""
_LEANS = re.compile(
    r"\A\W*(?:and|but|so|then|or|also|what about|how about)\b|"
    r"\b(?:it|its|that|this|those|these|them|they|their|he|him|his|she|her|hers|there|then|the (?:same|other)|ones?)\b|"
    f"\\A\\W*(?:那|还有|另外|然后|所以|但是|可是|不过|如果)|{HE}|[这那][个种些里儿样边]|其中|该(?!怎)|上面|刚才|前面|呢\\W*\\Z",
    re.I,
)


_POINTS = re.compile(rf"\b(?:it|its|them|they|their|he|him|his|she|her|hers)\b|{HE}|[这那][个种些]", re.I)


_MANY = re.compile(
    r"\bhow (?:do|does|did|to|can|could|should|is|are|will)\b|\bsteps?\b|\bwhat (?:are|were|\w+s)\b|\bwhich\b|\blist\b|"
    "步骤|流程|哪些|哪几|如何|怎么(?!办)|怎样|有什么|包括什么",
    re.I,
)
_CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{1,6}-?)?(\d[\dA-Za-z]*(?:[-/.:,][A-Za-z]?\d[\dA-Za-z]*)*)")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\Z")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_A_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNIT_BEHIND = re.compile(r" ?([A-Za-z]{1,3})(?![A-Za-z])")
_TEN_THOUSANDS = re.compile(r"(\d+(?:\.\d+)?) ?([万亿])")
_HAN_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万]+")
_HAN_NAMED = re.compile(
    "第([〇零一二两三四五六七八九十百千万]+)|([〇零一二两三四五六七八九十百千万]+)[号楼层章班室届]|"
    "(?<![〇零一二两三四五六七八九十百千万])([〇零一二三四五六七八九]{4})年"
)
_ONES = (*SMALL, *TEENS)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: at for at, word in enumerate(_ONES)} | {word: 10 * at for at, word in enumerate(_TENS, start=2)}
_ENGLISH_NUMBER = re.compile(
    rf"\b({'|'.join(_TENS)})(?:[- ]({'|'.join(_ONES[1:10])}))?\b|\b({'|'.join(_ONES)})\b", re.I
)
_WEEKDAY = re.compile(
    r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)([一二三四五六日天1-7](?![年月天日次个\d]))", re.I
)
_MONTH = re.compile(
    # "may" and "march" are verbs too, unless they are written as names.
    r"\b((?i:january|february|april|june|july|august|september|october|november|december)|May|March)\b|"
    r"(?<![\d〇零一二三四五六七八九十百千万])(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?!卡|饼)"
)
_MAY_I = re.compile(r"\A\W*May (?!and |or |to |is |was |until )(?=[a-z]|I\b)")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_SHORT_NAME = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b")
_DATE = re.compile(r"(?<!\d)\d{4}[-/.](0?[1-9]|1[0-2])(?!\d)")
_TO = re.compile(r"[\s,]*(?:to|through|until|till|[-–—~～至到])\s*", re.I)
_SPANS = (
    (re.compile(r"\b(?:every ?day|daily|seven days a week)\b|每[天日]|天天|全周", re.I), range(7)),
    (re.compile(r"\b(?:weekdays?|working days?)\b|工作日", re.I), range(5)),
    (re.compile(r"\bweekends?\b|周末", re.I), range(5, 7)),
)


def figures(text: str) -> frozenset[str]:
    """The numbers and codes of a text in one spelling, whole and in parts: 3,000, 三千 and 3000 are the same."""
    return frozenset(_figures(text))


def _figures(text: str) -> Iterator[str]:
    for found in _CODE.finditer(text):
        letters, written = (found[1] or "").rstrip("-").lower(), _written(found[2])
        yield letters + written
        yield written
        parts = re.split(r"[-/:]" if written.count(".") < 2 else r"[-/:.]", written)
        yield from (part.lstrip("0") or "0" for part in parts)
        for part in parts:
            yield from (number for number in _A_NUMBER.findall(part)[:1] if part.startswith(number))
        if unit := _UNIT_BEHIND.match(text, found.end()):
            yield written + unit[1].lower()
    yield from (
        str(int(float(number[1]) * (10**4 if number[2] == "万" else 10**8))) for number in _TEN_THOUSANDS.finditer(text)
    )
    yield from (str(_han_value(number[0])) for number in _HAN_NUMBER.finditer(text))
    for tens, ones, alone in _ENGLISH_NUMBER.findall(text):
        yield str(_VALUES[alone.lower()] if alone else _VALUES[tens.lower()] + _VALUES.get(ones.lower(), 0))


def _written(number: str) -> str:
    number = _ORDINAL.sub("", _THOUSANDS.sub("", number.lower()))
    return number.removesuffix(":00").lstrip("0") or "0"


def _han_value(number: str) -> int:
    """The value of a Chinese number: 三十 is 30, 五百万 is 5000000, 二〇二三 is 2023."""
    if not HAN_TENS.keys() & set(number) and "万" not in number:
        return int("".join(str(HAN_DIGITS[digit]) for digit in number))
    total, section, digit = 0, 0, None
    for char in number:
        if char == "万":
            total, section, digit = (total + section + (digit or 0)) * 10000, 0, None
        elif unit := HAN_TENS.get(char):
            section, digit = section + (1 if digit is None else digit) * unit, None
        else:
            digit = HAN_DIGITS[char] or None
    return total + section + (digit or 0)


def _days(text: str) -> Iterator[str]:
    """The weekdays and months named in a text."""
    yield from (f"day {_day(found)}" for found in _WEEKDAY.finditer(text))
    for english, chinese in _MONTH.findall(text):
        yield f"month {MONTHS[english.lower()] if english else _month(chinese)}"


def _day(found: re.Match[str]) -> int:
    return WEEKDAYS[f"{found[1].lower()}day"] if found[1] else HAN_WEEKDAYS[found[2]]


def _month(written: str) -> int:
    return int(written) if written.isdigit() else _han_value(written)


def _days_meant(text: str) -> Iterator[str]:
    """The weekdays and months a text covers: also by short names, in dates, and between two others."""
    text = _SHORT_NAME.sub(_in_full, text)
    yield from _days(text)
    yield from (f"month {int(month)}" for month in _DATE.findall(text))
    for words, days in _SPANS:
        if words.search(text):
            yield from (f"day {day}" for day in days)
    for one, other in pairwise(_WEEKDAY.finditer(text)):
        if _TO.fullmatch(text, one.end(), other.start()):
            first, last = _day(one), _day(other)
            yield from (f"day {day % 7}" for day in range(first, last + (1 if last >= first else 8)))


def _in_full(found: re.Match[str]) -> str:
    name = found[0].lower()
    return (MONTH_NAMES[MONTHS[name] - 1] if name in MONTHS else WEEKDAY_NAMES[WEEKDAYS[name]]).title()


def exact_things(question: str) -> frozenset[str]:
    """What a question names exactly: numbers, codes, weekdays and months.

    Numbers in words count only where they name something, as in 三号楼: *one* is seldom a number.
    """
    question = _MAY_I.sub(" ", question[:_LOOKED_AT])
    bare = _undated(question)
    codes = ((found[1] or "").rstrip("-").lower() + _written(found[2]) for found in _CODE.finditer(bare))
    words = (str(_han_value(next(filter(None, found)))) for found in _HAN_NAMED.findall(bare))
    return frozenset((*codes, *words, *_days(question), *_titles(question)))


def exact_things_in(text: str, exact: frozenset[str]) -> frozenset[str]:
    """Those of the exact things that a text has; a range of days has each weekday in it."""
    if not exact:
        return exact
    return exact & _has(text)


def _has(text: str) -> frozenset[str]:
    return frozenset((*_figures(text), *_figures(_undated(text)), *_days_meant(text), *_titles(text)))


def _titles(text: str) -> Iterator[str]:
    """The titles of works that a text names."""
    return (f"title {title}" for title in _WORK.findall(text))


_WORK = re.compile("《([^》]{1,40})》")


def _undated(text: str) -> str:
    return _MONTH.sub(" ", _WEEKDAY.sub(" ", text))


def exact_things_nearest(contexts: Iterable[str], exact: frozenset[str]) -> frozenset[str]:
    """Those of the exact things that a sentence is about; ``contexts`` are the sentence and what stands above it.

    A year, a weekday, a month, a title or a model hides those farther away: under *2023*, *in 2021* is not in 2023.
    """
    found, missing = frozenset[str](), exact
    for text in contexts:
        if not missing:
            break
        has = _has(_COMPARED.sub(" ", text))
        found |= missing & has
        kinds = {_kind(thing) for thing in has} - {""}
        missing = frozenset(thing for thing in missing - has if _kind(thing) not in kinds)
    return found


def hidden_by(text: str, exact: frozenset[str]) -> frozenset[str]:
    """Those of the exact titles and models of which a text has another one only."""
    has = _has(text)
    kinds = {_kind(thing) for thing in has} - {""}
    return frozenset(
        one for one in exact - has if (_MODEL.fullmatch(one) or one.startswith("title ")) and _kind(one) in kinds
    )


_COMPARED = re.compile(
    r"\b(?:than (?:in|on|at|last)|compared (?:to|with)|unlike) (?:(?:in|on|the|last) )*[\w'’]+|"
    "比[^，。；]{1,8}?(?=增|多|少|高|低|下降|上升|减|涨|跌)",
    re.I,
)
"""What a sentence compares with is not what it is about: 八月比七月增长 tells nothing of 七月."""


def is_code(thing: str) -> bool:
    """Whether an exact thing is a code, such as E4 or 17-3-2."""
    return " " not in thing and ("-" in thing or thing[:1].isalpha())


def is_year(thing: str) -> bool:
    """Whether an exact thing is a year."""
    return _YEAR.fullmatch(thing) is not None


def _kind(thing: str) -> str:
    """The measure of time of an exact thing, and what others of its kind begin with; empty for a number."""
    if is_year(thing):
        return "year"
    return thing.partition(" ")[0] if " " in thing else thing.rstrip("0123456789") if _MODEL.fullmatch(thing) else ""


_MODEL = re.compile(r"[a-z]+-?\d+")


def without_exact_things(question: str) -> str:
    """The question without its exact things."""
    for exact in (_WEEKDAY, _MONTH, _CODE, _HAN_NAMED, _WORK):
        question = exact.sub(" ", question)
    return question


def asks_for_many(question: str) -> bool:
    """Whether a question asks for steps, or for a whole list: *how do I*, *which are*, 步骤, 哪些."""
    return _MANY.search(question, 0, _LOOKED_AT) is not None


def kinds_asked(question: str) -> frozenset[str]:
    """The kinds of thing a question asks for: a person, a time, a place, a number, a phone number, advice."""
    return frozenset(kind for kind, asked in _ASKED.items() if asked.search(question, 0, _LOOKED_AT))


def kinds_in(text: str, kinds: frozenset[str], asked: str = "") -> frozenset[str]:
    """Those of the kinds that a text has. A time or a place that ``asked`` names is no answer to it: *the summer fair* is
    not when it takes place, and 送到表姐家 not where 表姐家 is.
    """
    found = {
        kind
        for kind in kinds & _GIVEN.keys()
        if any(not _is_named(kind, given[0].lower(), asked.lower()) for given in _GIVEN[kind].finditer(text))
    }
    if "person" in kinds and any(one.kind in _NAMED for one in entities(text)):
        found.add("person")
    return frozenset(found)


def _is_named(kind: str, given: str, asked: str) -> bool:
    if kind == "place":
        return given[0] in "在于到" and given[1:] in asked
    return kind == "time" and given in _WORD.findall(asked)


def share_lacking(text: str, kinds: frozenset[str], asked: str) -> float:
    """The share of the kinds that a text may have and lacks, from 0 to 1."""
    wanted = kinds & _GIVEN.keys()
    return len(wanted - kinds_in(text, wanted, asked)) / len(wanted) if wanted else 0.0


_DENIED = re.compile(
    r"(?:\b(?:not|never|no|without|cannot|instead of|rather than)|n['’]t)\s+(?:(?:been|be|being|have|has|had|yet|ever|any|"
    r"a|an|the|to|even|really|already|allowed to|it|them)\s+)*([a-z]+)|\bun([a-z]{3,}(?:ed|en|t))\b",
    re.I,
)
_DENIED_ZH = re.compile(
    "(?<![\u4e00-\u9fff]不)(?:还没有?|尚未|从未|没有|并未|并不|不可以?|不能|不会|不得|禁止|[不没未])(?:被|再|经|使用)?([\u4e00-\u9fff]{1,2})"
)
_EITHER_ZH = re.compile("([\u4e00-\u9fff])[不没]\\1|有没有|能否|是否")
_NEGATIVE = re.compile(
    r"\b(?:not?|never|none|nothing|without|cannot|un\w+ed|except|instead|rather|only|forbid\w*|exclud\w*|prohibit\w*)\b|n['’]t\b|"
    "[不没未无否别勿]|禁止|除外|仅|只",
    re.I,
)
_ASKS_NEGATED = re.compile(r"\A\W*\w+n['’]t\b", re.I)


def denied(text: str) -> frozenset[str]:
    """The stems of what a text says is not so: *open* of *haven't opened* and of *unopened*, 拆封 of 没拆封."""
    text = _EITHER_ZH.sub(" ", _ASKS_NEGATED.sub(" ", text[: 2 * _LOOKED_AT]))
    words = (found[1] or found[2] for found in _DENIED.finditer(text))
    return frozenset((*(term for word in words for term in query_terms(word)), *_DENIED_ZH.findall(text)))


def denies(text: str) -> bool:
    """Whether a text says that anything is not so."""
    return _NEGATIVE.search(text) is not None


def asserts(text: str, stem: str) -> bool:
    """Whether a text says something of a stem without denying it everywhere."""
    if stem in denied(text):
        return False
    return stem in text if _HAN.match(stem) else stem in segment(text)


def is_opposite(question: str, text: str) -> bool:
    """Whether a text is about the opposite case: about opened things, where the question is about unopened ones."""
    not_asked, not_said = denied(question), denied(text)
    if any(len(stem) > 1 and asserts(text, stem) for stem in not_asked):
        return True
    states = {term for found in _STATES.finditer(text) for term in query_terms(next(filter(None, found.groups())))}
    return any(stem in not_said and asserts(question, stem) for stem in states)


_STATES = re.compile("\\bun([a-z]{3,}(?:ed|en|t))\\b|未([\u4e00-\u9fff]{2})的", re.I)


_ONE_OF = (
    {
        "adult": r"\badults?\b|\bgrown-?ups?\b|(?<!未)成年|成人|大人",
        "child": r"\bchild(?:ren)?\b|\bkids?\b|\bminors?\b|\btoddlers?\b|\bbab(?:y|ies)\b|未成年|儿童|孩|婴儿",
        "senior": r"\bseniors?\b|\bpensioners?\b|\belderly\b|老年?人|长者",
        "student": r"\bstudents?\b|学生",
    },
    {
        "dog": r"\bdogs?\b|\bpupp(?:y|ies)\b|狗|犬",
        "cat": r"\bcats?\b|\bkittens?\b|猫",
        "bird": r"\bbirds?\b|\bparrots?\b|鸟|鹦鹉",
        "rabbit": r"\brabbits?\b|兔",
    },
    {
        "woman": r"\bwom[ae]n\b|\bfemales?\b|\bladies\b|\bgirls?\b|女",
        "man": r"\bm[ae]n\b|\bmales?\b|\bgentlemen\b|\bboys?\b|男",
    },
)
_UNITS_OF_TIME = "second|minute|hour|day|night|week|weekend|month|year|decade|centur"
_DURATION = (
    rf"\b(?<!watt[- ])(?:{_UNITS_OF_TIME})(?:s|ies|y)?\b|\b(?:until|till|forever|always|as long|permanent\w*|mornings?|"
    rf"afternoons?|at once|immediate\w*|seasons?|semesters?|terms?|sessions?|lessons?|quarters?|fortnight)\b|"
    r"\d ?(?:min|h|hrs?|s|d)\b|\w+days?|\d{1,2}:\d\d|o['’]clock|"
    "[秒时天日周月年夜季点钟]|学期|星期|永久|终身|一直|直到|长期|立即|马上|当场"
)
_MEASURES: tuple[tuple[str, str], ...] = (
    (  # Money
        r"\bhow much (?:(?:does|do|did|is|are|was|were|will|must|should)\b.*\b(?:costs?|pay|charged?|fee|rent|fine|"
        r"ticket|pass)\b|(?:rent|money)\b)|\bwhat (?:do|does|did|will|would|is|are|was)\b[^?]{0,60}\b(?:cost|price|fare)\b|"
        "多少钱|多少元|什么价",
        r"\b(?:euros?|dollars?|pounds?|pence|cents?|yuan|francs?|kron\w+|crowns?|yen|rupees?|usd|eur|gbp|rmb|chf|free|fee|"
        r"charge|included|nothing|half)\b|\d(?= (?:an?|per|each)\b|[.,;]?\s*\Z)|[€$£¥￥%元折]|"
        r"块(?:钱|半|[，。；！]|\Z)|费|百分|半价",
    ),
    (  # How often
        r"\bhow (?:often|many times|frequently)\b|多久[^，。？]{0,4}一次|几次|多少次",
        rf"\b(?:every|each|once|twice|times|daily|weekly|monthly|yearly|quarterly|hourly|annual(?:ly)?|always|never|per|"
        rf"nightly|alternate|fortnight\w*|regular\w*|an? (?:{_UNITS_OF_TIME})|\w+days)\b|"
        "每|(?<![上下这])次|天天|从不|隔|周[一二三四五六日]|(?:个?[年月周天]|小时|星期|公里)[以之]?后(?:就|要|应|须|需)?[更换洗清修检保]",
    ),
    (  # For how long
        r"\bhow many (?:seconds|minutes|hours|days|nights|weeks|months|years)\b|"
        "多久|多长时间|几(?:天|周|年(?!级)|个?(?:小时|月|星期)|分钟)",
        _DURATION,
    ),
    (  # A length in time or space
        r"\bhow long\b",
        rf"{_DURATION}|\b(?:(?:centi|kilo)?met(?:re|er)s?|km|cm|miles?|feet|inch\w*|pages)\b",
    ),
    (
        r"\bhow heavy\b|\bhow much\b.*\bweigh|多重|多少(?:公斤|千克|斤|克|吨)",
        r"\d ?(?:k?g|lb)\b|kilo|\bgram|\bpounds?\b|\btons?|tonne|克|斤|吨",
    ),
    (r"\bhow (?:warm|hot|cold)\b|\bwhat temperature\b|多少度|几度|多热|多冷", r"°|degrees?|℃|度"),
    (
        r"\bhow old\b|几岁|多大(?:年[纪龄]|[了啦]?\W*\Z)|多少岁",
        r"\b(?:years?|months?|age[ds]?|born|from|under|over|least)\b|岁|满|生于|出生|个月|\b1\d\d\d\b|\b20\d\d\b",
    ),
    (r"\bhow (?:wide|broad)\b|多宽", r"\b(?:wide|width|broad)\b|宽"),
    (r"\bhow deep\b|多深", r"\bdeep|\bdepth\b|深"),
    (r"\bhow (?:tall|high)\b|多高(?!兴)", r"\b(?:tall|high|height|up to)\b|高"),
    (  # By the clock
        r"\b(?:at )?what time\b|几点",
        rf"\d ?[ap]\.?m\b|\d{{1,2}}:\d\d|o['’]clock|\b(?:noon|midnight|half past|quarter (?:past|to)|all day|day or night|"
        rf"(?:at|by|from|until|till|to|before|after|around|about|between) (?:{_NUMBER_WORDS}|\d{{1,2}}))\b|"
        r"点|\d时|中午|午夜|全天",
    ),
    (r"怎么办", "请|检查|更换|清|联系|重[新启]|按|拨|打|预约|报修|用|放|由|应|可以|擦|扫|须"),
    (r"\be-?mail address\b|(?:邮箱|邮件地址)(?:地址)?是", r"@"),
)
_MEASURED = tuple((re.compile(asked, re.I), re.compile(given, re.I)) for asked, given in _MEASURES)


def lacks_measure(question: str, text: str) -> bool:
    """Whether a question asks for money, a frequency, a duration, a weight, a temperature, an age or an address, and a
    text has none: *ten minutes* is not how often the ferry runs.
    """
    # 多久换一次 asks how often, and not how long too: only the first that is asked for counts.
    given = next((given for asked, given in _MEASURED if asked.search(question, 0, _LOOKED_AT)), None)
    return (
        (given is not None and given.search(text) is None) or _lacks_count(question, text) or _lacks_way(question, text)
    )


_A_COUNT = re.compile(rf"\d[\d,.]*|(?!half\Z)(?:{_NUMBER_WORDS})|no|several", re.I)
_HOW_MANY = re.compile(r"\bhow many ([a-z]+)\b", re.I)
_HOW_MANY_ZH = re.compile("(?:多少|(?<!星期)(?<!周)几)([个位名辆张只条栋套间台本])(?!月|小时|星期|人)")
_SAME_COUNT = {"个": "个位名人只", "位": "个位名人", "名": "个位名人"}


def _lacks_count(question: str, text: str) -> bool:
    """Whether it is asked how many there are of something that a text names, but does not count."""
    if found := _HOW_MANY_ZH.search(question, 0, _LOOKED_AT):
        counted = _SAME_COUNT.get(found[1], found[1])
        return re.search(f"[0-9〇零一二两三四五六七八九十百千万半][{counted}]", text) is None
    found = _HOW_MANY.search(question, 0, _LOOKED_AT)
    stem = query_terms(found[1])[:1] if found else []
    words = [word.lower() for word in _WORD.findall(text)]
    places = [at for at, word in enumerate(words) if stem and query_terms(word)[:1] == stem]
    before = [word for at in places for word in words[max(0, at - 3) : at]]
    return bool(places) and not any(_A_COUNT.fullmatch(part) for word in before for part in word.split("-"))


_WAY = re.compile("(?:怎么|怎样|如何)([\u4e00-\u9fff]{1,2})[的呢]?\\W*\\Z")
_ANY_WAY = re.compile("办|处|做|弄|用|解|回|样|走|去|来|收|工|算|申|操|进|开始")


def _lacks_way(question: str, text: str) -> bool:
    """Whether it is asked how something is done, and a text has no character of the verb: 人脸识别怎么录入."""
    found = _WAY.search(question, 0, _LOOKED_AT)
    return found is not None and not _ANY_WAY.match(found[1]) and set(found[1]).isdisjoint(text)


_PER = r"\b(?:an?|per|each|one|every|by the)\s+(?:whole\s+|full\s+)?"
_PASS = r"[- ](?:pass|ticket|card|rate)"
_PRICED_BY = {
    "hour": rf"{_PER}hour\b|\bhourly\b|[一每]个?(?:小时|钟头)",
    "day": rf"{_PER}day\b|\bdaily\b|\bday{_PASS}|[一每][天日]|[日天][票卡]",
    "week": rf"{_PER}week\b|\bweekly\b|\bweek{_PASS}|[一每]个?(?:周|星期|礼拜)|周[票卡]",
    "month": rf"{_PER}month\b|\bmonthly\b|\bmonth{_PASS}|[一每]个?月|月[票卡]",
    "year": rf"{_PER}year\b|\byearly\b|\bannual(?:ly)?\b|\bseason{_PASS}|[一每]年(?!级)|年[票卡]",
}
_CASES, _PERIODS = (
    tuple({name: re.compile(pattern, re.I) for name, pattern in group.items()} for group in groups)
    for groups in (_ONE_OF, (_PRICED_BY,))
)
_ASKS_PRICE = re.compile(r"\b(?:how much|costs?|prices?|fees?|charged?|pay|rent)\b|多少钱|价格|费用|收费|租金", re.I)
_EXCLUDES = re.compile(r"\b(?:except|other|others|any|anyone|everyone)\b|除|其他|任何", re.I)
_ONLY = re.compile(r"\b(?:only|just)\b|仅|(?<![一二两三四五六七八九十几每这那\d])只", re.I)


def is_other_case(question: str, text: str) -> bool:
    """Whether a text is about another of the cases of which the question names one.

    About children, where adults are asked about; about dogs and not cats; the price of a day and not of a week. A rule
    for one case *only* tells whether another may, but not when, who or how much.
    """
    if _is_another_allergen(question, text):
        return True
    if not _ONLY.search(question) and _EXCLUDES.search(text):
        return False
    if _ONLY.search(text) and not kinds_asked(question):
        return False
    for group in (*_CASES, *(_PERIODS if _ASKS_PRICE.search(question) else ())):
        asked = {name for name, pattern in group.items() if pattern.search(question)}
        said = {name for name, pattern in group.items() if pattern.search(text)} if asked else asked
        if said and asked.isdisjoint(said):
            return True
    return False


_ALLERGEN = re.compile(
    r"\ballerg(?:ic|y) to (?:the |any )?([a-z]+)|对(?!什么|哪|啥)([\u4e00-\u9fff]{1,4}?)(?:[不没]?过敏)", re.I
)


def _is_another_allergen(question: str, text: str) -> bool:
    asked, said = ({one or other for one, other in _ALLERGEN.findall(each.lower())} for each in (question, text))
    return bool(asked and said) and not any(one in other or other in one for one in asked for other in said)


_TITLE = re.compile(r"\b(?:mrs?|ms|miss|dr|prof)\.? |先生|女士|小姐", re.I)
_OWNED = re.compile(
    "([\u4e00-\u9fffA-Za-z]{1,8}?)的([\u4e00-\u9fff]{1,6}?)[是有为在]?(?:多少|什么|谁|几|哪)|对(?!什么|哪)([\u4e00-\u9fff]{1,4}?)(?=过敏)"
)
_KIND_NOUN = re.compile(
    "(?:时间|日期|地[点址]|位置|人|名字?|费用?|价[格钱]?|钱|[重数容]?[量数]|期限?|重|龄|度|面积|大小|原因|[办方]法|内容|情况)\\Z"
)
"""What needs no word in an answer, where a time, a name or a number tells it."""


def names_in(question: str) -> list[str]:
    """The names in a question: a sentence that answers it has them, or what stands above it."""
    return [_TITLE.sub("", one.text) for one in entities(question[:_LOOKED_AT]) if "哪" not in one.text]


def owned_in(question: str) -> tuple[list[str], list[str]]:
    """Whose things a Chinese question asks for, and which: 加湿器 and 保修期 of 加湿器的保修期是几年."""
    found = _OWNED.findall(question[:_LOOKED_AT])
    things = [thing for _, thing, _ in found if thing and not _KIND_NOUN.search(thing)]
    return [owner or cause for owner, _, cause in found], things


_TOPIC = re.compile(
    "\\A\\W*(?:请问|那么?|如果|要是|请|有|在|用|给|对|把|被|[我你您他她它咱]们?的?)*([\u4e00-\u9fff]{2})"
)
_NO_TOPIC = re.compile(
    "[今明昨后前每某本下上这那早晚中周星节假春夏秋冬平现最一二两三四五六七八九十几多哪什怎为何谁可能需会要想应该是没不还也都][\u4e00-\u9fff]"
    "|[\u4e00-\u9fff][么样以的]|时候|时间|开始|结束|所有|全部|通常|一般"
)


_PRICED = re.compile(
    r"\A\W*(?:and |so )?how much (?:is|are|was|were|does|do|did|will|would) (?:it cost )?(?:an?|the|one) "
    r"([a-z'’-]+(?: [a-z'’-]+){0,2}?)(?=\W*\Z| (?:cost|of|for|to|in|on|at|with|from|per|an?|when|if|be|by)\b)",
    re.I,
)


def topic_of(question: str) -> str:
    """What a question is plainly about, or nothing: 家具 of 家具几天内可以退, *key* of "How much is a key to the gate?"."""
    if priced := _PRICED.match(question[:_LOOKED_AT]):
        return priced[1].strip()
    found = _TOPIC.match(question)
    return "" if found is None or _NO_TOPIC.match(found[1]) else found[1]


# Which names of a text another one does not have.

_NAME_WORD = re.compile(r"[^\W\d_]+")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_ALONE = re.compile(r"\W*([A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,3})\W*\Z")
_ENDED_ZH = re.compile(f"(?:{PERSON_ENDINGS_ZH}|[市省县])\\Z")
_LISTED_WORDS = {word.casefold() for word in (*PLACE_ENDINGS, *ORGANISATION_ENDINGS, *TITLES)}
_NO_PART = frozenset("of the a an and in on for to at by de la van von user assistant passage source document".split())
_ANOTHER_ROOT = {
    "french": "france", "dutch": "netherlands holland", "british": "britain uk united kingdom england", "welsh": "wales",
    "american": "america usa us united states", "filipino": "philippines", "emirati": "uae", "english": "uk",
}  # fmt: skip
_SAME_PEOPLE = 3
_A_STEM, _AN_ENDING = 4, 3


def names_lacking(text: str, known: str, also: str = "") -> list[str]:
    """The names in a text that neither ``known`` nor ``also`` has in any spelling: *NYC* is *New York City*, *Zurich* is
    *Zürich*, and who is *French* is from *France*. A name in letters that ``known`` has none of may be a translation.
    """
    alone = _ALONE.match(text)
    found = [one.text for one in entities(text)] or ([alone[1]] if alone and alone[1] not in NOT_NAMES else [])
    given = f"{known}\n{also}"
    words = [_folded(word) for word in _NAME_WORD.findall(given)]
    lacking = list[str]()
    for name in found:
        if _HAN.search(name):
            has = not _HAN.search(known) or _has_han(name, given)
        else:
            has = not _LATIN_WORD.search(known) or _has_name(name, given, words)
        if not has:
            lacking.append(name)
    return lacking


def without_names(text: str) -> str:
    """A text without the names in it."""
    for one in reversed(entities(text)):
        text = f"{text[: one.start]} {text[one.end :]}"
    return text


def _has_han(name: str, known: str) -> bool:
    """Whether a Chinese name is in a text, whole or in full: 北大 in 北京大学."""
    bare = _ENDED_ZH.sub("", name.strip("《》")) or name
    return bare in known or re.search("[\u4e00-\u9fff]{0,2}".join(map(re.escape, bare)), known) is not None


def _has_name(name: str, known: str, words: Sequence[str]) -> bool:
    """Whether a text has each word of a name, or the name in letters, or what its letters stand for."""
    own = [_folded(word) for word in _NAME_WORD.findall(name)]
    letters, squeezed = "".join(own), "".join(words)
    if len(letters) >= _A_STEM and letters in squeezed:
        return True
    initials = "".join(word[0] for word in own if word not in _NO_PART)
    capitals = "".join(word[0] for word in re.findall(r"[A-Z][^\W_]*|[a-z]{4,}", known)).lower()
    if (len(own) > 1 and initials in words) or (name.isupper() and len(name) > 1 and letters in capitals):
        return True
    wanted = [word for word in own if len(word) > 1 and word not in _NO_PART and word not in _LISTED_WORDS]
    return all(any(_is_same(word, other) for other in words) for word in wanted)


def _is_same(word: str, other: str) -> bool:
    """Whether two words are forms of one name: *London* and *Londoners*, *Spain* and *Spanish*."""
    short, long = sorted((word, other), key=len)
    if word == other or (len(short) >= _A_STEM and long.startswith(short) and len(long) - len(short) <= _AN_ENDING):
        return True
    people, place = (word, other) if word in NATIONALITIES else (other, word)
    if people not in NATIONALITIES:
        return False
    return place[:_SAME_PEOPLE] == people[:_SAME_PEOPLE] or place in _ANOTHER_ROOT.get(people, "").split()


def _folded(word: str) -> str:
    """A word without accents, in small letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char)).casefold()


def refers_back(question: str) -> bool:
    """Whether a question may refer to earlier messages: *it*, *and then*, 那, 它, …呢."""
    return _LEANS.search(question, 0, _LOOKED_AT) is not None


def has_pronoun(question: str) -> bool:
    """Whether a question has a pronoun for something said before: *it*, *her*, 它, 那个."""
    return _POINTS.search(question, 0, _LOOKED_AT) is not None


# How much of a question a text holds. This decides whether a question is answered.


_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ASKING_FIRST = re.compile("(?:我?该|应该|应当)?(?:怎么办|如何处理|怎么处理|怎么做)|东西")
"""Removed before the other question words, which would leave a part of them."""
_HOW_OFTEN = re.compile("(?:多久|多长时间)([^，。？]{0,8}?)一次")
_ASKING_ENGLISH = re.compile(
    r"\bhow (?:many|much|long|often|late)\b|\bwhat (?:should|shall|must|can|do) (?:i|we|one) do\b|"
    r"\b(?:some|any)(?:thing|one|body)\b|\bper\b",
    re.I,
)
_IRREGULAR = """
begin began begun; break broke broken; bring brought; build built; buy bought; catch caught; choose chose chosen;
drive drove driven; eat eaten; fall fell fallen; find found; fly flew flown; forget forgot forgotten; freeze froze
frozen; get got gotten; give gave given; go went gone; grow grew grown; hold held; keep kept; know knew known; lead
led; leave left; lend lent; lose lost; make made; mean meant; meet met; pay paid; rise rose risen; run ran; say said;
see saw seen; sell sold; send sent; shoot shot; speak spoke spoken; spend spent; steal stole stolen; take took taken;
teach taught; tell told; think thought; throw threw thrown; understand understood; wear wore worn; win won; write
wrote written; child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice
"""
_TELLING = "xylophone"
_PHONE = "\x00phone"  # A term for a phone number in a text; no text has it itself
_PHONE_TERMS = frozenset(("phone", "telephon", "number", "电话", "话号", "号码", "手机"))
_A_PHONE = frozenset(("phone",))
_PRICE = "\x00price"  # A term for an amount of money
_PRICE_TERMS = frozenset(("收费", "费用", "价格"))
_A_PRICE = re.compile("[0-9〇零一二两三四五六七八九十百千万] ?[元块]|免费|[¥￥$€]")
_STOP = re.compile("[。！？!?；;\n]")
_HOW_MUCH = "多少钱"
_SMALL = frozenset("的了是在有和与及或要被把我你您他她它们个为于之中就都也还很这那不没会对从到")
_A_CHARACTER = 0.5  # What a Chinese character counts, where a word counts 1
_BY_SYNONYM = 0.7  # What a synonym counts, where the word itself counts 1
_LONGEST_PHRASE = 6
_MOST_NEEDS = 64

Rarities = Callable[[Iterable[str]], Mapping[str, float]]


class Need(NamedTuple):
    """Something a question speaks of: any of ``terms`` meets it, and nearly as well all terms of one of ``others``."""

    terms: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    weight: float

    def met(self, held: set[str]) -> float:
        """How much of the need a text with these terms meets."""
        if not held.isdisjoint(self.terms):
            return self.weight
        return _BY_SYNONYM * self.weight if any(map(held.issuperset, self.others)) else 0.0


_MONEY = Need((_HOW_MUCH[1:],), ((_PRICE,),), 1.0)


class Needs:
    """The needs of a question, weighted by their rarity in the documents."""

    def __init__(self, question: str, *, synonyms: Synonyms, rarities: Rarities) -> None:
        needs = _needs(question[:_LOOKED_AT], synonyms)[:_MOST_NEEDS]
        rare = rarities(term for need in needs for term in need.terms)
        self._needs = [need._replace(weight=need.weight * max(rare[term] for term in need.terms)) for need in needs]
        self._total = sum(need.weight for need in self._needs)
        self._calls = any((_PHONE,) in need.others for need in self._needs)
        self._pays = any((_PRICE,) in need.others for need in self._needs)

    def __bool__(self) -> bool:
        return self._total > 0.0

    def __len__(self) -> int:
        return len(self._needs)

    def beyond(self, text: str) -> Self:
        """The needs that a text does not meet."""
        held, other = set(segment(text)), copy(self)
        other._needs = [need for need in self._needs if not need.met(held)]
        other._total = sum(need.weight for need in other._needs)
        return other

    def covered(self, text: str) -> float:
        """The share of the needs that a text meets, from 0 to 1."""
        if not self._total:
            return 0.0
        held = set(segment(text))
        if self._calls and kinds_in(text, _A_PHONE):
            held.add(_PHONE)
        if self._pays and self._prices(text):
            held.add(_PRICE)
        return sum(need.met(held) for need in self._needs) / self._total

    def _prices(self, text: str) -> bool:
        """Whether a sentence with an amount of money meets another need of the question too."""
        bought = [need for need in self._needs if (_PRICE,) not in need.others]
        priced = (sentence for sentence in _STOP.split(text) if _A_PRICE.search(sentence))
        return any(need.met(held) for held in map(set, map(segment, priced)) for need in bought)


def _needs(question: str, synonyms: Synonyms) -> list[Need]:
    calls = kinds_asked(question) >= _A_PHONE
    english = _ASKING_ENGLISH.sub(" ", _HAN.sub(" ", question))
    # Next to a telling word, function words are left out; alone they would be all there is.
    telling = weighted_terms(f"{english} {_TELLING}")
    needs = [need for word in _WORD.findall(english) for need in _of_word(word, telling, synonyms)]
    han = _HOW_OFTEN.sub(r" \1 ", question.replace(_HOW_MUCH, " "))
    telling_han = QUESTION_WORDS_ZH.sub(" ", _ASKING_FIRST.sub(" ", han))
    for run in _HAN.findall(telling_han):
        needs += (_or_met_by(_PRICE, _PRICE_TERMS, need) for need in _of_run(run, synonyms))
    if _HOW_MUCH in question:
        needs.append(_MONEY)
    return [_or_met_by(_PHONE, _PHONE_TERMS, need) if calls else need for need in dict.fromkeys(needs)]


def _or_met_by(mark: str, terms: frozenset[str], need: Need) -> Need:
    """A need for one of the terms, which what the mark stands for meets too: a phone number, an amount of money."""
    return need if terms.isdisjoint(need.terms) else need._replace(others=(*need.others, (mark,)))


def _of_word(word: str, telling: Mapping[str, float], synonyms: Synonyms) -> list[Need]:
    others = _forms((*OTHER_FORMS.get(word.lower(), ()), *synonyms.synonyms_of(word)))
    return [Need((term,), others, telling[term]) for term in query_terms(word) if term in telling]


def _of_run(run: str, synonyms: Synonyms) -> list[Need]:
    """The needs of a run of Chinese: each character is met by a pair that it is in, or by a synonym of its word."""
    others = _synonyms_in(run, synonyms)
    needs: list[Need] = []
    for at, char in enumerate(run):
        if char in _SMALL:
            continue
        pairs = [run[start : start + 2] for start in (at - 1, at) if 0 <= start < len(run) - 1]
        # A pair with a function word in it is no word.
        pairs = [pair for pair in pairs if not _SMALL.intersection(pair)] or [char]
        needs.append(Need(tuple(pairs), others[at], _A_CHARACTER))
    return needs


def _synonyms_in(run: str, synonyms: Synonyms) -> list[tuple[tuple[str, ...], ...]]:
    """For every character of a run, the synonyms of the longest known word around it."""
    found: list[tuple[tuple[str, ...], ...]] = [() for _ in run]
    at = 0
    while at < len(run):
        for length in range(min(_LONGEST_PHRASE, len(run) - at), 1, -1):
            forms = _forms(synonyms.synonyms_of(run[at : at + length]))
            if forms:
                found[at : at + length] = [forms] * length
                at += length - 1
                break
        at += 1
    return found


def _forms(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(form for word in words if (form := tuple(query_terms(word))))


OTHER_FORMS = {
    word: tuple(other for other in row if other != word)
    for row in map(str.split, _IRREGULAR.split(";"))
    for word in row
}
"""The other forms of English words whose forms share no stem: *mice* of *mouse*."""

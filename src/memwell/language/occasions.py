"""What leaves an earlier statement as it is: an occasion, a birthday, a first day, a move, of what someone is.

"Renee is a nurse" is still so after "Renee's on shift tonight" and "Renee moved in with us", and not after "Renee retired".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memwell.language.claims.chinese_objects import KIN_WORDS
from memwell.language.claims.english_objects import is_job
from memwell.language.claims.stated import StatedFact
from memwell.language.patterns import LazyPattern
from memwell.language.subjects import KIN
from memwell.language.updates import CHANGE, StatedText

_WORK = frozenset(("occupation", "studies", "studies_at", "studies_in", "works_at", "works_in"))
_WHAT_ONE_IS = frozenset(("occupation", "studies"))
_PEOPLE = frozenset("relative friend child sibling parent partner married_to colleague".split())
_HAD = frozenset(("pet", "kind", "owns", "child"))
_OF_A_BIRTHDAY = frozenset(("age", "bought", "owns"))
_TOPICS = frozenset(("job", "studies", "pay"))


def leaves_as_it_is(
    newer: StatedText, now: Sequence[StatedFact], older: StatedText, before: Sequence[StatedFact]
) -> bool:
    """Whether a later statement, with its facts, tells of another matter than an earlier one, which stays true."""
    owner = _OF_THEIRS(newer.stated)
    if owner is not None and older.stated.startswith(owner[1]) and not older.stated.startswith(owner[0]):
        # 陈宇的妈妈 is not 陈宇.
        return True
    if _ONE_MORE(newer.stated) and before and {one.relation for one in before} <= _HAD:
        return True
    if _FIRST_DAY(newer.stated) and _IS_TO_BEGIN(older.stated):
        # The day has come for what was to begin.
        return True
    if _BIRTHDAY(newer.stated) and "ends" not in newer.cues and {one.relation for one in now} <= _OF_A_BIRTHDAY:
        return not older.numbers and "age" not in older.topics
    if not _says_what_one_is(older, before) or _speaks_of_work(newer, now):
        return False
    if "home" not in older.topics and ("home" in newer.topics or _OF_HOME(newer.stated)):
        return True
    return _is_occasion(newer) and _is_of_same(newer, older)


def tells_of_birth(text: str) -> bool:
    """Whether a text tells that a child was born, which stays so whatever comes."""
    return _BIRTH(text) is not None


def _says_what_one_is(older: StatedText, before: Sequence[StatedFact]) -> bool:
    """Whether it says nothing that could change but someone's trade, or what they study."""
    relations = {one.relation for one in before if not one.negated}
    if relations & _WHAT_ONE_IS:
        return relations <= _WORK | _PEOPLE
    found = None if before or "love" in older.topics else _IS_WHAT(older.stated)
    return found is not None and (found[1] is None or is_job(found[1].split()[-1].lower()))


def _speaks_of_work(newer: StatedText, now: Sequence[StatedFact]) -> bool:
    stated = any(one.relation in _WORK for one in now) or not _TOPICS.isdisjoint(newer.topics)
    return stated or _OF_WORK(newer.stated) is not None


def _is_occasion(newer: StatedText) -> bool:
    """Whether it tells what someone did or does once, and of no change."""
    once = "happened" in newer.cues or _ONCE(newer.stated) is not None
    changes = newer.cues & ({"ends"} if _VISITS(newer.stated) else CHANGE)
    return once and not changes and not (newer.chinese and _CLAUSES(newer.stated.strip(" 。！")))


def _is_of_same(newer: StatedText, older: StatedText) -> bool:
    return bool(newer.words & older.words or newer.holders & older.holders & KIN)


_OF_THEIRS = LazyPattern(rf"\A([\u4e00-\u9fff]{{2,4}}?)(?:家的?|的)(?:{KIN_WORDS})").match
_ONE_MORE = LazyPattern("又[^，。]{0,3}(?:捡|养|领|收|买|添|生)[^，。]{0,2}了?[一两]").search
_IS_WHAT = LazyPattern(
    r"\b(?:s?he|who)(?:['’]s| is) (?:(?:studying|training)\b"
    r"|an? ((?:[a-z-]+ ){0,2}?[a-z-]+)(?=[.,;!]|\Z| (?:at|in|for|and)\b))"
    r"|[他她]在[读学念]",
    re.IGNORECASE,
    needs=(" a", " studying", " training", "在"),
).search
_OF_WORK = LazyPattern(
    r"\b(?:retir|redundan|promot|permanent|graduat|qualif|degree|course|appren|business|career|bakery|practice|salary"
    r"|boss|team|offer|interview|thesis|dissertation|last (?:day|show|shift|gig|class|game))"
    r"|退休|毕业|论文|转正|转行|升|考[上取了]|录取|合同|开了?[^，。]{0,2}家|辞|跳槽",
    re.IGNORECASE,
).search
_ONCE = LazyPattern(
    r"\b(?:tonight|last night|this (?:morning|afternoon|evening)|yesterday|fell|won|beat|ran|told|taken me|took me"
    r"|came (?:round|over|by))\b|今[晚早]|昨[天晚]",
    re.IGNORECASE,
).search
_VISITS = LazyPattern(r"\bcame (?:round|over|by)\b", re.IGNORECASE).search
_OF_HOME = LazyPattern(
    r"\b(?:flat|house|apartment|mov(?:ed|ing|es) (?:to|in|into|out|up|down|back))\b|搬[到去进家]|新房", re.IGNORECASE
).search
_CLAUSES = re.compile("[,;:，。；：]").search
_BIRTH = LazyPattern(
    r"\bhad (?:a|her|their|our) (?:(?:little|baby|beautiful|healthy|tiny|wee|first|second|third) )*(?:girl|boy|baby|son"
    r"|daughter)\b|\bgave birth\b|生[了下](?:一?个)?[^，。]{0,3}(?:男孩|女孩|儿子|女儿|闺女|宝宝|娃|小子)|出生了",
    re.IGNORECASE,
    needs=("had ", "birth", "生"),
).search
_BIRTHDAY = LazyPattern(
    r"\W*(?:(?:I|I['’]ve|just|finally|today) )*turn(?:ed|ing)? \d+|\W*(?:(?:today|it)(?:['’]s| is| was) )?my birthday\b"
    r"|我?(?:今天|昨天)?(?:是?我?的?)?(?:(?:[\d一二三四五六七八九十]+岁)?的?生日|[\d一二三四五六七八九十]+岁了)[，。！]|我?(?:今天|昨天)?满[\d一二三四五六七八九十]+岁",
    re.IGNORECASE,
    needs=("turn", "birthday", "生日", "岁"),
).match
_FIRST_DAY = LazyPattern(
    r"\A\W*(?:it(?:['’]s| was|is) |today(?:['’]s| was| is) |had |just had |finished |survived )?(?:my |the )?first "
    r"(?:day|week|morning|shift|lecture|class|lesson)\b|第一[天周节][^，。]{0,3}[上班课学]|今天[^，。]{0,12}第一[天周节]",
    re.IGNORECASE,
    needs=("first", "第一"),
).search
_IS_TO_BEGIN = LazyPattern(
    r"\b(?:start(?:s|ing)?|begin(?:s|ning)?|join(?:ing)?)\b[^.;]{0,60}\b(?:in|on|next)\b"
    r"|\b(?:got|been) (?:accepted|in(?:to)?|offered)\b"
    r"|\baccepted (?:to|at|by|into)\b|\boffer\b|录取|offer"
    r"|[要将]去[^，。]{0,12}(?:上[学班]|读)|下个?[周月][^，。]{0,12}(?:入职|报到|上班|开学)",
    re.IGNORECASE,
    needs=("start", "begin", "join", "got ", "been ", "accepted", "offer", "录取", "去", "下"),
).search


def denies_what_it_quotes(text: str) -> bool:
    """Whether a text tells what someone said and that it is not so: *She said "you work here now", I do not*."""
    return _DENIED_QUOTE(text) is not None


def never_was(newer: str, older: str) -> bool:
    """Whether a text tells that what was to come got another day or is off, so that it never happened as it was said."""
    return _MOVES_DAY(newer) is not None or (_CALLS_OFF(newer) is not None and _IS_TO_COME(older) is not None)


_DENIED_QUOTE = LazyPattern(
    r"[\"“][^\"“”]+[\"”][^\"“”]*\b(?:(?:do|does|am|is|are|did|have|has|was|will|would)(?:n['’]t| not)|no way|never"
    r"|nonsense|rubbish|untrue|as if|nope)\b"
    r"|[“「][^”」]+[”」][^“「]*(?:才不|不是|没有|哪有|瞎说|胡说|不对|假的|没这回事|不可能)",
    re.IGNORECASE,
    needs=tuple('"“「'),
).search
_DAY = (
    r"(?:the |next |this )?(?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov"
    r"|dec|spring|summer|autumn|winter|week|month|year|end of|later)"
)
_MOVES_DAY = LazyPattern(
    r"\b(?:push(?:ed|ing)?|put|postpon\w+|reschedul\w+|delay\w*|bump(?:ed)?|shift(?:ed)?|mov(?:ed|ing)|brought|slipped"
    rf"|rebooked|changed)\b[^.;]{{0,60}}?\b(?:to|till|until|for|forward|back)\b (?:to |till |until )?{_DAY}"
    r"|\b(?:postponed|rescheduled)\b|推[迟后]|延[期后]|[改挪推延提][^，。；]{0,3}到",
    re.IGNORECASE,
).search
_CALLS_OFF = LazyPattern(
    r"\b(?:cancel\w*|call(?:ed|ing)? (?:it )?off|called \w+ off|scrapped|f[ae]ll(?:en)? through|isn['’]t happening"
    r"|not (?:going|happening) (?:any ?more|after all))\b|(?:['’]s| is| are|['’]re| was) off(?=\W*\Z|[,.;!]| now\b)"
    r"|取消|泡汤|黄了|[去办]不[成了]|不去了",
    re.IGNORECASE,
).search
_IS_TO_COME = LazyPattern(
    r"\b(?:booked|having|going|getting|planned|planning|scheduled|tickets?|appointment|will|tomorrow|tonight|next"
    rf"|(?:on|in|at) {_DAY})"
    r"|['’]ll\b|订了|打算|计划|准备|要去|下个?[周月]|明[天年]|[\d一二三四五六七八九十]+[月号日]",
    re.IGNORECASE,
).search

"""``supersedes``: whether a later statement makes an earlier one outdated, read from the words of both without a model.

"I moved to Berlin" supersedes "I live in Paris"; "I also like coffee" supersedes nothing. A text is read on its own into
a ``StatedText``, so that many can be compared cheaply: whom it is about, what it gives a value to, and which of its words
say that something changed or ended. What is asked, planned, added, repeated or said of the past supersedes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from memwell.language.segment import ascii_words, query_terms
from memwell.language.words import STOP_WORDS

LONGEST, LONGEST_CHINESE, _LONGEST_HELD = 240, 80, 150
"""Longer texts state more than one thing, so that no other statement makes all of it outdated."""
_MANY = 2**16
_ALIKE, _ALIKE_CHINESE = 0.5, 0.3
"""The share of its topical words that a changed statement has in common with the earlier one. Of Chinese, where the words
are pairs of characters, less: half of the pairs lie between two words."""

_ENDED = 0.34
"""The share of the words of what ended that the earlier statement has, at least."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_SENTENCE = re.compile(r"(?<=[.!?。！？\n])")
_ASKED = re.compile(r"[?？]\W*\Z|[吗呢][。！!]?\s*\Z").search
_WANTS = re.compile(
    r"\blooking for (?:some|any|a few|tips|advice|ideas|inspiration|information|suggestions|recommendations)\b", re.I
).search


class Slot(NamedTuple):
    """A thing that has one value, such as *number* in "my work phone number"; ``narrowed`` says which number."""

    head: str
    narrowed: frozenset[str]

    def fits(self, other: Slot) -> bool:
        """Whether both may be the same: *deadline* and *project deadline*, but not *work email* and *private email*."""
        return self.head == other.head and (self.narrowed <= other.narrowed or other.narrowed <= self.narrowed)


class StatedText(NamedTuple):
    """What is read from one text."""

    keys: frozenset[str] = frozenset()
    """Everything by which it can be compared; statements without a common key have nothing to do with each other."""
    holders: frozenset[str] = frozenset()
    """Whom it is about; an empty holder is the speaker."""
    topics: frozenset[str] = frozenset()
    slots: tuple[Slot, ...] = ()
    """The things that it gives a value."""
    mentioned: tuple[Slot, ...] = ()
    """All things that it mentions."""
    words: frozenset[str] = frozenset()
    """The words that say what it is about, as stems or pairs of characters."""
    numbers: frozenset[str] = frozenset()
    counted: frozenset[tuple[str, str]] = frozenset()
    """A noun, and how many there are of it."""
    denied: frozenset[str] = frozenset()
    """The words of values that it denies: *not peanuts*."""
    ended: frozenset[str] = frozenset()
    """The words of the clauses that tell of an end."""
    holds: bool = False
    """Whether it says how things are, so that it can become outdated."""
    counts: bool = False
    """Whether it can make another statement outdated."""
    changes: bool = False
    """Whether it may speak of a change, also of what only began or happened."""
    turns: bool = False
    """Whether it names a change, an end or a correction as such."""
    opinion: int = 0
    """1 when it likes something, -1 when it does not."""
    troubled: bool = False
    """Whether it tells of something lost, broken or awaited."""
    resolves: bool = False
    mine: bool = False
    """Whether it speaks of the speaker as *I* or *we*."""
    label: str = ""
    """What it begins with, when a number distinguishes it from others: *note 7*."""


@lru_cache(_MANY)
def statement(text: str) -> StatedText:
    """A text as a statement. A long text holds nothing and supersedes nothing, nor does a question in it."""
    if len(text) > LONGEST:
        return StatedText()
    stated = text
    if "?" in text or "？" in text or _ASKED(text):
        stated = "".join(one for one in _SENTENCE.split(text) if not _ASKED(one))
    if _HAN.search(stated):
        read = _chinese(stated) if len(stated) <= LONGEST_CHINESE else StatedText()
    else:
        read = _english(stated.replace("’", "'")) if stated.strip() else StatedText()
    if stated != text:
        # What stands with a question mostly explains it: only a move, a new job and the like count.
        keys = _keys(read.topics, (), read.ended, ())
        return StatedText(
            keys, read.holders, read.topics, ended=read.ended, counts=read.counts, changes=read.changes, mine=read.mine
        )
    label = _LABEL(stated)
    read = read._replace(label=label[0].casefold() if label else "")
    return read._replace(holds=False) if len(text) > _LONGEST_HELD or _WANTS(text) else read


_LABEL = re.compile(
    r"(?:the )?[a-z]+ (?:no\.? ?|number |#)?\d+\b|[\u4e00-\u9fff]{1,4} ?\d+(?=[号是在的，])", re.IGNORECASE
).match


_ASKS_PAST = re.compile(
    r"\b(?:used to|use to|before|previous(?:ly)?|former(?:ly)?|earlier|(?<!how )old(?!er)|in the past|"
    r"original(?:ly)?|back then"
    r"|at first|initial(?:ly)?|prior|last (?:year|month|week)|ago|did|was|were|had|ever|once|until|histor(?:y|ically))\b"
    r"|以前|之前|原来|原先|过去|从前|曾经?|当时|那时|当初|最初|一开始|最早|旧|老地址|老号码|前任|前一|上一[个份任家]|"
    r"去年|上个?月|[换搬改]了?[^，。？]{0,4}前",
    re.IGNORECASE,
).search


def asks_about_past(query: str) -> bool:
    """Whether a question is about how things were, so that an outdated statement may be the answer."""
    return _ASKS_PAST(query) is not None


def supersedes(newer: StatedText, older: StatedText) -> bool:
    """Whether a later statement of the same speaker makes an earlier one outdated."""
    if older.keys.isdisjoint(newer.keys) or not newer.counts or not older.holds or older == newer:
        return False
    if older.label and newer.label and older.label != newer.label:
        return False
    if not _same_holder(newer.holders, older.holders):
        return False
    if _about_another(newer, older) or _another_attribute(newer, older):
        return False
    # What both are about is no sign that they are about the same of it.
    words = older.words - (older.holders & newer.holders)
    shared = words & newer.words
    if words & newer.denied or len(words & newer.ended) > _ENDED * len(newer.ended - newer.holders):
        return True
    topics = older.topics & newer.topics
    if older.slots and newer.slots and not topics and not _share_a_thing(older.slots, newer.slots):
        return False
    if shared and ((older.troubled and newer.resolves) or older.opinion * newer.opinion < 0):
        return True
    repeated = older.words <= newer.words and older.numbers <= newer.numbers
    if not newer.changes and (repeated or (older.numbers and older.numbers == newer.numbers)):
        return False
    return _revalued(newer, older, shared, topics)


def _same_holder(newer: frozenset[str], older: frozenset[str]) -> bool:
    """Whether both are about the same person, and not about two that the speaker has to do with."""
    roles = _EN_ROLES | _ZH_ROLES
    common = older & newer
    return bool(common) and (common != _SPEAKER or not (older & roles and newer & roles))


_VALUED = frozenset(
    """number phone telephon mobil email mail address password passcod pin code colour color size weight height salari
    rent price cost fee budget birthday nicknam deadlin
    号码 电话 手机号 邮箱 邮件 地址 密码 口令 颜色 尺码 体重 身高 工资 薪水
    月薪 房租 租金 价格 费用 预算 生日 昵称 期限""".split()
)
"""Attributes that have one value at a time. Of other things several can hold at once: *my car is red*, *… is old*."""
_PERSONAL = frozenset({"home", "job", "love"})
_BEGINS = frozenset({"start", "begin", "open", "leav", "depart", "开门", "上班", "起床", "出发", "开始"})
_ENDS = frozenset({"finish", "end", "clos", "stop", "arriv", "关门", "下班", "睡觉", "到达", "结束"})


def _another_attribute(newer: StatedText, older: StatedText) -> bool:
    """Whether a statement without a change in it tells something else of the same thing, or of another person."""
    topics = older.topics & newer.topics
    if topics & _PERSONAL and older.mine and not newer.mine:
        return True
    if (older.words & _BEGINS and newer.words & _ENDS) or (older.words & _ENDS and newer.words & _BEGINS):
        return True
    if older.slots and not newer.slots and not topics:
        return all(slot.head in _VALUED and slot.head not in newer.words for slot in older.slots)
    if newer.changes or newer.turns or topics:
        return False
    if newer.denied:
        return newer.denied.isdisjoint(older.words)
    pairs = [(slot, other) for slot in older.slots for other in newer.slots if slot.head == other.head]
    return bool(pairs) and not any(
        slot.head in _VALUED or "favourit" in slot.narrowed or other.narrowed & {"new", "新"} for slot, other in pairs
    )


_SPEAKER = frozenset({""})


def _about_another(newer: StatedText, older: StatedText) -> bool:
    """Whether both name a thing of one kind, but not the same: the meeting with Ann, the meeting with Ben."""
    pairs = [(one, other) for one in older.mentioned for other in newer.mentioned if one.head == other.head]
    return any(
        not one.fits(other) and (one in older.slots or not (_DIRECTIONS.isdisjoint(one.narrowed & other.narrowed)))
        for one, other in pairs
    )


_DIRECTIONS = frozenset("with to from 从 去 来".split())


def _share_a_thing(some: Iterable[Slot], others: Collection[Slot]) -> bool:
    return any(one.fits(other) for one in some for other in others)


def _revalued(newer: StatedText, older: StatedText, shared: frozenset[str], topics: frozenset[str]) -> bool:
    """Whether both give a value to the same thing, and not the same value."""
    changed = newer.changes or newer.resolves
    if _share_a_thing(older.slots, newer.mentioned if changed else newer.slots):
        return True
    if changed and older.numbers and newer.numbers and _share_a_thing(older.mentioned, newer.slots):
        return True
    if topics and (changed or not topics.isdisjoint(_SINGLE)):
        return True
    before = dict(older.counted)
    if (newer.holds or newer.changes) and any(before.get(noun, number) != number for noun, number in newer.counted):
        return True
    if not shared or older.mine != newer.mine:
        return False
    alike = _ALIKE if all(map(str.isascii, shared)) else _ALIKE_CHINESE
    if newer.turns and len(shared) >= alike * min(len(older.words), len(newer.words)):
        return True
    return newer.holds and bool(older.numbers and newer.numbers) and older.words == newer.words


_SINGLE = frozenset("home job age weight love baby children called language email car".split())
"""Topics with one value at a time: another value makes a statement outdated also without a word of change."""


class _Pattern(NamedTuple):
    """Words of which one suffices, and a pattern with the words or characters of which one is wherever it matches."""

    hints: frozenset[str]
    search: Callable[[str], re.Match[str] | None]
    words: frozenset[str] = frozenset()

    def found(self, text: str, parts: Collection[str]) -> bool:
        """Whether a text with these words or characters matches. Most texts have no hint and are not searched."""
        if not self.words.isdisjoint(parts):
            return True
        return not self.hints.isdisjoint(parts) and self.search(text) is not None


def _found(patterns: Mapping[str, _Pattern], text: str, parts: Collection[str]) -> frozenset[str]:
    return frozenset([name for name, pattern in patterns.items() if pattern.found(text, parts)])


def _keys(
    topics: Iterable[str], slots: Iterable[Slot], words: Iterable[str], counted: Iterable[tuple[str, str]]
) -> frozenset[str]:
    heads = (f"={slot.head}" for slot in slots)
    return frozenset((*words, *heads, *(f"#{name}" for name in topics), *(f"+{noun}" for noun, _ in counted)))


def _in_clauses(
    text: str, clause: re.Pattern[str], ends: Callable[[str], object], words: Callable[[str], frozenset[str]]
) -> frozenset[str]:
    """The words of the clauses that match."""
    return frozenset[str]().union(*(words(one) for one in clause.split(text) if ends(one)))


# English. Patterns are searched in lower case.


def _en(hints: str, *alternatives: str, words: str = "") -> _Pattern:
    return _Pattern(
        frozenset(hints.split()), re.compile(rf"\b(?:{'|'.join(alternatives)})").search, frozenset(words.split())
    )


_EN_KIN = {
    word: kin
    for kin, words in {
        "child": "baby child kid kids children",
        "parents": "parents folks",
        "mother": "mother mom mum",
        "father": "father dad",
        "partner": "wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse",
        **{
            word: word
            for word in "son daughter brother sister cousin aunt uncle niece nephew grandmother grandfather grandma "
            "grandpa friend neighbour neighbor roommate flatmate colleague boss manager landlord doctor dentist "
            "teacher advisor".split()
        },
    }.items()
    for word in words.split()
}
_EN_ROLES = frozenset(
    "friend neighbour neighbor roommate flatmate colleague boss manager landlord doctor dentist teacher advisor".split()
)
"""Roles that pass from one person to another, so that a statement about one is also about the speaker."""
_EN_OWNED = re.compile(
    r"(?:\A|[.,;:!]\s+|\b(?:and|but|so|that|because|now|when)\s+)(?:(?:my|our)\s+(?:(?:new|old|older|younger|little|"
    r"big|best|dear"
    r"|current|thesis)\s+)*|the\s+(?=baby))"
    rf"({'|'.join(_EN_KIN)})(?:s\b|('s)?\b)"
).finditer
_EN_OWNERS = frozenset(form for word in _EN_KIN for form in (word, f"{word}s", f"{word}'s"))
_EN_ME = frozenset("i we me us i'm i've i'd we've we're i'll".split())
_EN_IS_MY = re.compile(r"\bis (?:my|our)\b").search
_EN_NAMED = re.compile(
    r"(?:\A|[.;:,!]\s+|\band\s+|\b[Mm]y \w+ |\b[Oo]ur \w+ )(?:(?:Aunt|Uncle|Mrs?|Ms|Professor)\.? "
    r")?([A-Z][\w&.-]*)(?='s\b|\s+(?:and\s+(?:I|my|[A-Z]\w*)|is|"
    r"was|has|had"
    r"|isn't|doesn't|didn't|can|will|now|just|never|finally|left|quit|got|went|came|took|gave|made|began|became|"
    r"broke|bought|sold"
    r"|lost|found|won|chose|grew|[a-z]+(?:s|ed))\b)"
).findall
_EN_NO_NAMES = frozenset(
    "I We It He She They You My Our The This That These Those There Here What When Work Please Sorry New Actually "
    "Correction Update Now Today From Since After Before If And But So As In On At Dr Dr. Everyone Someone Nobody".split()
)
_EN_CLAUSE = re.compile(r"[,;:.!](?:\s+|\Z)|\s+(?:so|but|and)\s+(?!i\s|my\s|our\s|the\s)")
_EN_TOKEN = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d[\d:.,/-]*\d|\d|[.,;:!]").findall

_EN_DETERMINERS = frozenset("my our the new".split())
_EN_AFTER_NOUN = frozenset(
    "is are was were has have had will should would can went goes opens opened leaves closes starts costs called spelled "
    "now these from to at in on of for with by and or but so that who which because since until again i we it he she they "
    "you isn't aren't hasn't under over near there used moved changed broke died closed retired left gave grew got lives "
    "works switched hurts hurt weighs plays takes took came comes runs stands sits needs lasts begins ends ached aches "
    "turned away as instead".split()
)
_EN_GIVES = frozenset(
    "is are isn't aren't was were has have went opens closes leaves starts costs ends begins : moved needs hurts "
    "hurt weighs "
    "takes lasts runs turned".split()
)
_EN_IS = frozenset("is are isn't aren't".split())
_EN_NARROWING = frozenset("with to from back for at of in".split())
_EN_ASIDE = frozenset("now these days currently of".split())
_EN_TIMELY = frozenset("new current latest updated only own other old actual".split())
_MOST_NOUNS, _MOST_NARROWING = 4, 6

_EN_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen "
    "twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
_EN_NUMBERS = frozenset(
    f"zero one {_EN_COUNTS} first second third fourth fifth sixth seventh eighth ninth tenth monday tuesday "
    f"wednesday thursday "
    "friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january february march april "
    "june july august september october november december noon midnight".split()
)
_EN_DIGITS = re.compile(r"\d[\d:.,/-]*\d|\d").findall
_EN_COUNTED = re.compile(rf"\b(\d[\d.,]*|{'|'.join(_EN_COUNTS.split())})\s+(?:more\s+|new\s+)?([a-z]+)\b").findall
_EN_UNITS = frozenset(
    query_terms(
        "euro dollar pound km kilometre mile kilo kg minute hour day week month year am pm percent time floor "
        "o'clock people "
        "may june july of in at and to"
    )
)
_EN_BEGINS = _en(
    "got get been as since was were had seeing passed reached",
    r"g[oe]t (?:an?|the|my|our|married|engaged|hired|divorced)\b", r"ha(?:s|ve) been\b", r"as of\b",
    r"since (?:last|the|my)\b", r"(?:was|were) born\b", r"had (?:her|his|our|my|a) baby\b", r"seeing someone\b",
    r"(?:passed|reached) \d",
    words="started began joined hired bought found finally again adopted raise beat graduated recovered repaired "
    "fixed reopened "
    "restarted opened",
)  # fmt: skip
_EN_CHANGES = _en(
    "now these from moved moving down up back went gone come came got was were late took is are feels not fallen",
    r"now\b(?! and then)", r"these days\b", r"from (?:now|today|tomorrow|next \w+)\b",
    r"mov(?:ed|ing) (?:to|into|in|out|away|house|back|up|on|my|our|the)\b", r"(?:down|up|back) to\b",
    r"(?:went|gone) (?:up|down|over|back)\b", r"(?:come|came) (?:a?round|back|home)\b", r"got over\b",
    r"(?:was|were) wrong\b",
    r"of late\b", r"took (?:over|up)\b", r"(?:is|are|'s|feels) (?:back|gone|fine|over|better|ok|okay|healed)\b",
    r"not \d", r"fallen (?:in|out of) love\b",
    words="nowadays switch switched switching change changed changing upgrade upgraded relocated replaced replace "
    "transferred "
    "converted promoted demoted rescheduled postponed delayed updated renamed become became instead grown grew "
    "pushed rather "
    "turned actually correction wrong mistyped misspoke mistook mistaken misremembered misspelled meant typo only "
    "lately settled "
    "dyed cut painted swapped traded exchanged shortened extended raised lowered increased reduced doubled halved "
    "dropped rose",
)  # fmt: skip
_EN_ENDS = _en(
    "stepped called dropped backed "
    "longer more gave given broke broken split fell passed off laid rid moved threw never stand grown cut pulled "
    "handed took got",
    r"no longer\b", r"any ?more\b", r"g(?:ave|iven) (?:up|away|back|\w+ (?:\w+ )?(?:away|back))\b", r"brok(?:e|en) up\b",
    r"split up\b", r"fell out\b", r"passed away\b", r"(?:i'm|am|is|are|been) off\b", r"laid off\b",
    r"got (?:rid of|over)\b", r"moved (?:out|away)\b", r"threw \w+ (?:\w+ )?(?:out|away)\b", r"never again\b",
    r"can't stand\b", r"grown out of\b", r"cut out\b", r"pulled out\b",
    r"handed (?:\w+ ){1,4}(?:over|in)\b", r"handed (?:over|in)\b", r"stepped down\b", r"called off\b",
    r"(?:dropped|backed) out\b",
    words="discontinued anymore stopped cancelled canceled closed retired divorced resigned abandoned terminated "
    "unsubscribed "
    "dumped ditched "
    "dropped quit sold died left fired ended deleted returned swapped traded exchanged replaced",
)  # fmt: skip
_EN_TROUBLED = _en(
    "out looking sold not doesn't in on",
    r"(?:out of order|looking for|sold out|not working|doesn't work|in hospital|in the hospital|on hold|on (?:\w+ "
    r")?leave)\b",
    words="allergic missing lost broken down waiting pregnant expecting ill sick unemployed stuck injured pending delayed "
    "closed unpaid "
    "overdue blocked unfinished hurts hurt aches sore owe owes cold flu fever paused",
)
_EN_RESOLVES = _en(
    "had got", r"had (?:her|a|the) baby\b", r"got (?:the|my|our|it|back)\b",
    words="found repaired fixed solved resolved recovered healed healthy finished arrived returned back works "
    "working paid "
    "open reopened replaced delivered done born came received better gone fine again over running",
)  # fmt: skip
_EN_ADDS = _en(
    "also too well addition besides additionally another second both still said case always usual before",
    r"(?:also|too|as well|in addition|besides|additionally|another|a second|both|still|(?:as|like) i said|in case|"
    r"as (?:always|usual|before))\b",
)
_EN_PAST = _en(
    "used as when back in ago first before once formerly previously grew time those",
    r"used to\b", r"as an? (?:student|child|kid|teenager|boy|girl)\b", r"when i was\b", r"back (?:in|then|when)\b",
    r"in my (?:youth|childhood|\w+ies)\b", r"years ago\b", r"my first\b", r"before that\b", r"once\b", r"formerly\b",
    r"previously\b", r"grew up\b", r"at the time\b", r"in those days\b",
)  # fmt: skip
_EN_LIKES = frozenset("like likes love loves enjoy enjoys adore fan fond prefer prefers".split())
_EN_DISLIKES = _en(
    "can't don't doesn't not of", r"can't stand\b", r"(?:don't|doesn't|not) (?:\w+ )?(?:like|love|enjoy)\b",
    r"(?:afraid|scared) of\b",
    words="hate hates dislike dislikes detest fear",
)  # fmt: skip
_EN_WAS = frozenset("was were had did didn't wasn't lived worked played went".split())
_EN_PLANS = _en(
    "might may would want wants wish thinking plan plans planning consider considering considered hope hopes hoping "
    "if going "
    "will maybe perhaps should could dream dreams imagine wonder wondering unless i'll we'll he'll she'll they'll "
    "it'll remind "
    "book says said",
    r"(?:might|may(?! \d)|would (?:like|love)|wants? to|wish|thinking (?:about|of)|plan(?:s|ning)?|consider\w*|"
    r"hop(?:e|es|ing)|if"
    r"|going to|will|maybe|perhaps|should|could|dreams?|imagine|wonder\w*|unless|\w+'ll|remind|please book|says|said "
    r"that)\b",
)
_EN_EVENT = re.compile(
    r"\b(?:I|[Tt]he \w+|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[A-Z][a-z]+|[Mm]y \w+)\s+(?:just\s+|finally\s+|already\s+)?(?:was|"
    r"were|did|"
    r"had|went|bought"
    r"|met|saw|ran|ate|took|made|came|found|lost|gave|got|drank|wrote|heard|felt|said|spent|flew|drove|slept|"
    r"dreamt|forgot"
    r"|(?!need|mov|relocat|switch|chang|start|join|retir|divorc)[a-z]{2,}ed)\b"
).search
_EN_DENIED = re.compile(r"\b(?:not|isn't|wasn't)\s+(?:an?\s+|the\s+|in\s+|at\s+|on\s+|called\s+)?([\w@.-]+)").findall
_EN_DENIALS = frozenset("not isn't wasn't".split())
_EN_GENERIC = frozenset(
    {
        *(term for word in STOP_WORDS["en"] for term in query_terms(word)),
        *query_terms(
            "live lives living moved moving now new change changed switch switched longer anymore actually "
            "correction sorry "
            "wrong currently moment morning evening night week month year minute hour euro dollar pound km kilo am pm "
            "like love enjoy prefer hate favourite favorite really own have has speak play watch read buy bought visit "
            "subscribe called name names person people start started stop stopped found got left quit sold died gave "
            "every each today once daily use uses city town eat drink meet met going may "
            "finally only instead again rather become sometimes usually always never lately please answer need big small"
        ),
        *(term for word in (*_EN_KIN, *_EN_NUMBERS) for term in query_terms(word)),
        *(term for one in (_EN_BEGINS, _EN_CHANGES, _EN_ENDS) for word in one.words for term in query_terms(word)),
    }
)
"""Words that two statements may share without being about the same."""

_EN_TOPICS = {
    "home": _en(
        "live lives living reside resides based stay stays staying have has share moved moving relocated settled "
        "renting rent place "
        "bought home",
        r"(?:live|lives|living|reside|resides|based|stay|stays|staying) (?:in|at|on|with|near|outside|by)\b",
        r"ha(?:ve|s) an? (?:flat|house|apartment|place) (?:in|near|outside)\b",
        r"share (?:the|a|my) (?:flat|house|apartment)\b",
        r"live alone\b", r"mov(?:ed|ing) (?:to|into|in with|house|back)\b", r"(?:relocated|settled|renting)\b",
        r"(?:own|new) place\b",
        r"rent an? (?:flat|studio|room|house|apartment)\b", r"bought an? (?:house|flat|apartment|condo)\b", r"my home is\b",
    ),
    "job": _en(
        "freelance position work works working started joined hired unemployed jobs job promoted laid i'm am is as "
        "became become "
        "teaching lead he's she's",
        r"work(?:s|ing)? (?:at|for|as)\b", r"started (?:at [^\d\s]\w*(?! ?o'clock)|as|working)\b(?<! at the)",
        r"joined \w", r"hired\b",
        r"freelance\b", r"position at\b", r"unemployed\b", r"looking for work\b", r"between jobs\b",
        r"out of work\b", r"new job\b", r"promoted\b",
        r"laid off\b",
        r"teaching\b", r"team lead\b", r"job is\b",
        r"(?:i'm|i am|is|'s|as|bec[ao]me) an? (?:[a-z]+ ){0,2}(?:nurse|chef|cook|clerk|pilot|vet|guard|model|intern|"
        r"judge|coach|ceo"
        r"|[a-z]*(?:keeper|eer|yer|(?<!vegetar)ian|ist|maker|driver|worker|designer|developer|manager|engineer|"
        r"tender|gardener"
        r"|writer|tor|ssor|nter|teacher|assistant|consultant|accountant))\b",
    ),
    "love": _en(
        "dating seeing engaged married divorced broke split separated widowed relationship single girlfriend boyfriend "
        "girlfriend's boyfriend's",
        r"(?:dating|seeing someone|engaged|married|divorced|broke up|split up|separated|widowed|in a relationship)\b",
        r"(?:i'm|am|is|are) single\b", r"(?:girl|boy)friend(?:'s name)? is\b", r"have a (?:girl|boy)friend\b",
    ),
    "age": _en("years turned i'm am is", r"\d+ years old\b", r"turned \d+\b", r"(?:i'm|i am|is) \d\d(?: now)?[.!]?\Z"),
    "studies": _en(
        "study studies studying major student graduated degree",
        r"stud(?:y|ies|ying) [a-z]+\b", r"my (?:major|degree)\b", r"an? student\b", r"graduated\b",
    ),
    "weight": _en(
        "weigh weighs weighed weighing weight kilos kilo kg lbs pounds", r"weigh\w*", r"\d+ ?(?:kilos?|kg|lbs)\b"
    ),
    "pay": _en("salary earn earns wage income raise rise paid", r"(?:salary|earns?|wage|income|a raise|pay rise|paid)\b"),
    "diet": _en("vegetarian vegan pescatarian keto meat", r"(?:vegetarian|vegan|pescatarian|keto|eat(?:s|ing)? meat)\b"),
    "smoking": _en(
        "smoke smokes smoking smoker cigarette cigarettes", r"smok(?:e|es|ing|er)\b", r"cigarettes?\b"
    ),
    "children": _en(
        "kid kids child children", r"ha(?:ve|s) (?:\w+ )?(?:kids?|child|children)\b", r"child (?:was|is) born\b"
    ),
    "baby": _en("pregnant expecting baby birth", r"pregnant\b", r"expecting an?\b", r"had (?:her|a|the) baby\b",
    r"gave birth\b"),
    "email": _en("com example org net", r"[\w.+-]+@[\w-]+\.\w+"),
    "called": _en("called baby's daughter's son's", r"be called\b", r"(?:baby|daughter|son)'s name is\b"),
    "daytime": _en("late night morning early", r"late at night\b", r"night owl\b", r"morning person\b",
    r"early (?:riser|bird)\b"),
    "language": _en(
        "answer reply respond write speak talk switch",
        r"(?:answer|reply|respond|write|speak|talk)(?: to)? me in [a-z]", r"switch to (?:english|german|french|chinese)\b",
    ),
    "car": _en("drive drives driving car", r"driv(?:e|es|ing) an? \w", r"(?:bought|got) an? (?:new )?car\b"),
}  # fmt: skip


def _english(text: str) -> StatedText:
    lower = text.lower()
    parts = frozenset(ascii_words(lower))
    past, turns, ends = (one.found(lower, parts) for one in (_EN_PAST, _EN_CHANGES, _EN_ENDS))
    changes = turns or _EN_BEGINS.found(lower, parts)
    numbers = (parts & _EN_NUMBERS).union(_EN_DIGITS(lower))
    holds = not past and not _EN_EVENT(text)
    silent = past or _EN_PLANS.found(lower, parts) or (not _EN_WAS.isdisjoint(parts) and not (changes or ends))
    counts = not silent and (not _EN_ADDS.found(lower, parts) or bool(changes and numbers))
    if not holds and not counts:
        return StatedText()
    slots, mentioned = ((), ()) if _EN_DETERMINERS.isdisjoint(parts) else _english_slots(text)
    words = _english_words(lower)
    topics = _found(_EN_TOPICS, lower, parts)
    counted = frozenset(_english_counted(lower)) if numbers else frozenset[tuple[str, str]]()
    denied = () if _EN_DENIALS.isdisjoint(parts) else map(_english_words, _EN_DENIED(lower))
    return StatedText(
        keys=_keys(topics, mentioned, words, counted),
        holders=_english_holders(text, lower, parts),
        topics=topics,
        slots=slots,
        mentioned=mentioned,
        words=words,
        numbers=numbers,
        counted=counted,
        denied=frozenset().union(*denied),
        ended=_in_clauses(lower, _EN_CLAUSE, _english_ends, _english_words) if ends else frozenset(),
        holds=holds,
        counts=counts,
        changes=changes or ends,
        turns=turns or ends,
        opinion=-_EN_DISLIKES.found(lower, parts) or int(not _EN_LIKES.isdisjoint(parts)),
        troubled=_EN_TROUBLED.found(lower, parts),
        resolves=_EN_RESOLVES.found(lower, parts),
        mine=not (_EN_ME | {"my", "our"}).isdisjoint(parts),
    )


def _english_ends(clause: str) -> bool:
    return _EN_ENDS.found(clause, frozenset(ascii_words(clause)))


def _english_words(text: str) -> frozenset[str]:
    return frozenset([term for term in query_terms(text) if term not in _EN_GENERIC and not term.isdigit()])


def _english_counted(text: str) -> Iterable[tuple[str, str]]:
    for number, noun in _EN_COUNTED(text):
        terms = query_terms(noun)
        if terms and terms[0] not in _EN_UNITS and noun not in STOP_WORDS["en"]:
            yield terms[0], number


def _english_holders(text: str, lower: str, parts: frozenset[str]) -> frozenset[str]:
    """Relatives, people named at the beginning of a clause, and the speaker as ""."""
    found: set[str] = set()
    for match in () if _EN_OWNERS.isdisjoint(parts) else _EN_OWNED(lower):
        found.add(_EN_KIN[match[1]])
        if match[2] and match[1] not in ("baby", "kid"):
            # "my mother's doctor" is about my mother.
            return frozenset(found)
    found.update([name.rstrip(".").lower() for name in _EN_NAMED(text) if name not in _EN_NO_NAMES])
    if not found or not _EN_ME.isdisjoint(parts) or not _EN_ROLES.isdisjoint(found) or _EN_IS_MY(lower):
        found.add("")
    if "child" in found:
        found.update(("daughter", "son"))
    return frozenset(found)


def _english_slots(text: str) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """The things that a text gives a value, and all that it mentions: "my work email is …", "I changed the code"."""
    tokens = _EN_TOKEN(text)
    slots: list[Slot] = []
    mentioned: list[Slot] = []
    at = 0
    while at < len(tokens):
        at += 1
        if tokens[at - 1].lower() not in _EN_DETERMINERS:
            continue
        start = at
        while at < min(len(tokens), start + _MOST_NOUNS) and _in_noun(tokens[at]):
            at += 1
        terms = query_terms(" ".join(word for word in tokens[start:at] if word.lower() not in _EN_TIMELY))
        if terms:
            gives, narrowed = _narrowing(tokens, at)
            mentioned.append(Slot(terms[-1], frozenset(terms[:-1]) | narrowed))
            named = start > 1 and tokens[start - 2].lower() in _EN_IS and tokens[start - 1].lower() in ("my", "our")
            fresh = "new" in (tokens[start - 1].lower(), tokens[start].lower())
            if gives or named or fresh or tokens[at - 1].endswith("'s"):
                slots.append(mentioned[-1])
    return tuple(slots), tuple(mentioned)


def _in_noun(token: str) -> bool:
    return token[0].isalpha() and token.lower() not in _EN_AFTER_NOUN


def _narrowing(tokens: list[str], at: int) -> tuple[bool, frozenset[str]]:
    """Whether a noun is given a value, and what stands between them, as *with Lars* in "the meeting with Lars is …"."""
    start = at
    while at < min(len(tokens), start + _MOST_NARROWING) and tokens[at].lower() in _EN_NARROWING | _EN_ASIDE:
        at += 1
        while at < len(tokens) and (tokens[at][0].isupper() or tokens[at][0].isdigit() or tokens[at] in ("km", "home")):
            at += 1
    narrowed = frozenset(word.lower() for word in tokens[start:at]) - _EN_ASIDE
    gives = at < len(tokens) and tokens[at].lower() in _EN_GIVES
    if gives and tokens[at].lower() in ("has", "have") and tokens[at + 1 : at + 2] in (["a"], ["an"], ["no"]):
        gives = False
    # "to" alone begins what the noun is changed to.
    return gives, narrowed if gives or any(word[0].isupper() for word in tokens[start:at]) else frozenset()


# Chinese.


def _zh(hints: str, pattern: str) -> _Pattern:
    return _Pattern(frozenset(hints), re.compile(pattern).search)


_ZH_KIN = {
    word: kin
    for kin, words in {
        "孩子": "孩子 宝宝",
        "女儿": "女儿 闺女",
        "父母": "爸妈 父母",
        "妈": "妈妈 母亲 老妈 妈",
        "爸": "爸爸 父亲 老爸 爸",
        "哥": "哥哥 哥",
        "姐": "姐姐 姐",
        "弟": "弟弟 弟",
        "妹": "妹妹 妹",
        "伴侣": "老婆 妻子 媳妇 太太 老公 丈夫 爱人",
        **{
            word: word
            for word in "儿子 爷爷 奶奶 外公 外婆 舅舅 叔叔 阿姨 姑姑 同事 邻居 室友 朋友 领导 老板 经理 导师 医生 老师 "
            "房东".split()
        },
    }.items()
    for word in words.split()
}
_ZH_ROLES = frozenset("同事 邻居 室友 朋友 领导 老板 经理 导师 医生 老师 房东".split())
_ZH_OWNED = re.compile(
    "(?:\\A|[，。；：,;]|现在|已经|以后)(?:我们?家?的?|咱们?家?的?|带我的)?(?:最好的|现在的|新)?"
    rf"({'|'.join(_ZH_KIN)})(的(?!名字))?"
).finditer
_ZH_ME = re.compile(rf"我(?!们?家?的?(?:{'|'.join(_ZH_KIN)})|的)|咱").search
_ZH_NAMED = re.compile(
    "(?:\\A|[，。；,;])([小老阿](?![时区学说家房师公婆大二三心伙板实])[\u4e00-\u9fff]|[A-Z][a-z]+(?![\\w@]))"
).findall
_ZH_CLAUSE = re.compile("[，。；：！、,;:!\\s]+")
_ZH_VERB = re.compile(
    "是|叫|换|改|变|涨|降|推迟|提前|定在|停在|(?<!现)在|升|搬|扩|挪|移|还?剩|找到|拿到|修好|丢|坏|停|打算|定了|几|开|上|有|"
    "减|增|取消|退|卖|疼|痛|好了|能用"
    "|剪|染|姓"
)
_ZH_GIVES = re.compile("是|叫|为|改|换|变|涨|降|推迟|提前|定在|停在|升|在|搬|扩|疼|痛|姓|增|还?剩|有(?=\\d)").match
_ZH_ASIDE = re.compile(
    "现在|目前|如今|已经|从今天起|以后|今天|昨天|上周[一二三四五六日]?|上个?月|去年|今年|这个?[周月]|每[天周月年]|把|"
    "早上|晚上|中午|新的?|旧的?|打算|"
    "[一两]?[台部辆只条张个]|暂时|终于|刚刚?|都|也|就|了|其实|更正一?下?|不对|我说错了|另外|我们?|咱们?|用的|[那这]家|们"
)
_ZH_ALIAS = {"机号": "号码", "电话": "号码", "工资": "月薪"}
_ZH_OBJECT = re.compile(
    "(?:换|改|涨|升|退|停|辞|丢|找到|刷新|取消|卖|打破|更新)(?:掉|成)?了?([^，。；]{1,12}?)了?(?:[，。；！]|\\Z)"
).findall
_ZH_NARROWED = re.compile("([从去寄][^，。；的我]{1,6}|[^，。；的我从去]{1,5}寄?来)的([\u4e00-\u9fff]{2})").findall
_ZH_UNTOLD = frozenset("的家我手最好里")

_ZH_DIGITS = "零一二两三四五六七八九十百千万"
_ZH_NUMBER = re.compile(
    rf"\d[\d.:]*|周[一二三四五六日天]|星期[一二三四五六日天]|"
    rf"[{_ZH_DIGITS}]+(?=[个只本条根包台辆岁码点楼层级斤号月日年块元公人次天家分])"
    rf"|[{_ZH_DIGITS}]*[十百千万][{_ZH_DIGITS}]*"
).findall
_ZH_COUNTED = re.compile(rf"(\d+|[{_ZH_DIGITS}]+)([只个本条根包台辆名位口部支])([\u4e00-\u9fff])?").findall
_ZH_NO_NOUN = frozenset("小月星礼钟了人多半")
_ZH_BEGINS = _zh(
    "又开满到结交出领买找拿录入已生回毕",
    "又|开始|满\\d|到了|结婚|交[男女]朋友|出生|领养|买了|找到|拿到|录用|入职|已经|生了|回[来家]|毕业",
)
_ZH_CHANGES = _zh(
    "现如目改换搬升涨降跳变转推提延从以今其更不说写记弄打瘦胖减扩刷迷爱只住当定剪染烫挪移放重调缩加增剩",
    "现在|如今|目前|改|换|搬|升|涨|降|跳槽|变成|转[到去专行学入]|推迟|提前|延[后长期]|从[今明]天起|以后|今后|其实|"
    "更正|不对|"
    "[说写记弄打]错|不是|[瘦胖减扩增加缩挪移放调]到|刷新|打破|迷上|爱上|只[看用吃喝抽去]|住进|剩|当上?了?主管|定了|"
    "剪[短了]|[染烫]|重新|挪|移",
)
_ZH_ENDS = _zh(
    "卸不没再戒停放卖辞退取分离关倒去走调搬闹绝注扔送结断掉交让还删丢",
    "卸任|不再|没再|再也不|不[^，。；是对叫]{1,8}了|没有?[^，。；]{1,4}了|戒|停[了掉]|放弃|卖[了掉]|辞|退[了掉休出]|取消|"
    "分手|离[婚开职]|关门|倒闭|去世|走了|"
    "调走|搬走|闹翻|绝交|注销|扔了|送人|不用了|结束|断了|改掉|交给|让给|还清|删了|丢掉",
)
_ZH_TROUBLED = _zh(
    "敏丢坏排等怀病感失伤院卡没缺欠堵停暂延找疼痛休",
    "过敏|丢|坏|排队|等[着待从]?|怀孕|生病|感冒|失业|受伤|住院|卡住|没到|缺|欠|堵|停电|暂[住停]|延误|找不到|疼|痛|"
    "休[^，。]{0,2}假",
)
_ZH_RESOLVES = _zh(
    "到回好复院决成清通愈生用动完",
    "找[到回]|修好|拿到|收到|好了|康复|出院|解决|完成|到了|还清|通了|恢复|痊愈|生了|买到|能用|启动|回来|休完|不疼|不痛",
)
_ZH_ADDS = _zh(
    "也还另此同除依仍一说怕再", "也|还(?!在|没|清|剩)|另外|此外|同时|除了|依然|仍|一直|说过|怕你忘|再说一[遍次]"
)
_ZH_PAST = _zh(
    "前曾候年来先去从时一轻过",
    "以前|之前|曾经?|小时候|当年|原来|原先|过去|从前|的时候|第一[辆个份台次]|年轻|那时|当时|过婚|[住干做待]过",
)
_ZH_PLANS = _zh(
    "能虑想果要许划备望明下将定算醒请该说",
    "可能|考虑|想[要去换搬当学买]|如果|要是|要不要|也许|计划|准备|希望|明年|下个?月|下周|将要?|说不定|打算|提醒|"
    "请[订帮]|应该|说[他她]",
)
_ZH_LIKES = _zh("欢爱迷", "喜欢|爱[吃喝看听上]|最爱|迷上")
_ZH_DISLIKES = _zh("厌不怕", "讨厌|不喜欢|受不了|不爱|不吃|害怕|不能吃")
_ZH_LIKED = re.compile("(?:喜欢|讨厌|受不了|爱上?|迷上|怕)了?([\u4e00-\u9fff])").findall
_ZH_EVENT = re.compile(
    "(?:周[一二三四五六日]|昨[天晚]|今[天早]|[一二三四五六七八九十]+月|中午|刚才|那天)[^，。；]*(?<![改换搬到起烟家婚])了"
    "|(?<![养读租订住开有])了(?![，。；！\\s]|\\Z)|感到|感觉|觉得|发现|看到|收到|得到|参[加与]|期待|庆祝|一起(?!住)"
).search
_ZH_DENIED = re.compile("(?:不是|不叫|不在|并非)([\u4e00-\u9fff\\w]{2,8})").findall
_ZH_SMALL = re.compile(
    "现在|目前|如今|以前|之前|已经|每天|每周|从今天起|以后|今年|今天|昨天|上周|上个?月|去年|早上|晚上|上午|下午|中午|"
    "开始|喜欢|讨厌|其实|更正|不对|最爱|"
    "最好|特别|小时|分钟|我们?|咱们?|你们?|他们?|她们?|家里|家|自己|一个|一[只台本条辆家]|"
    "[的了是在有和跟与就都也还很又再不没把被给让从到对请要会能可以去来用说做上下里这那个吃喝"
    "看想当为着只改换新搬住爱叫]|过(?!敏)|[周星期月日年点分号岁]|\\d+"
)
_ZH_GENERIC = frozenset(_ZH_KIN) | frozenset(
    "工作 上班 公司 朋友 时候 时间 东西 事情 地方 孩子 城市 生活 名字 杂志 会议 中学".split()
)
_ZH_TOPICS = {
    "home": _zh(
        "住搬居租活房独",
        "住在|住进|搬[到去家]|定居|租房|在[^，。]{1,6}生活|暂住|住[^，。]{0,4}家|买了房|一起住|找到房|合租|一个人住|独居",
    ),
    "job": _zh(
        "班槽业职辞工做当教开是干",
        "兼职|全职|上班(?!的?路)|跳槽|职业|辞[职掉]|失业|找到工作|升职|入职|工程师|店干|在[^，。]{1,8}工作|做(?:产品|"
        "销售|设计|"
        "开发|会计|老师|运营)|"
        "当(?:店员|老师|主管|经理|司机|医生|护士|程序员)|教(?:生物|数学|英语|语文)|开(?:网约车|出租车)|是(?:老师|"
        "护士|医生|司机|程序员|会计)",
    ),
    "shift": _zh("班", "[夜白早晚中]班"),
    "love": _zh("恋单友婚手夫妻公婆", "恋爱|单身|[男女]朋友|订婚|婚约|结婚|离婚|分手|(?:丈夫|妻子|老公|老婆)是"),
    "age": _zh("岁", "\\d+岁|[十一二三四五六七八九]+岁"),
    "weight": _zh("重斤", "体重|公斤|[\\d十一二三四五六七八九]斤"),
    "studies": _zh("专学读毕考", "专业|学的是|在读[大研博高初]|读大学|毕业|考上"),
    "hospital": _zh("院病", "住院|出院|生病|病好"),
    "hair": _zh("发", "头发"),
    "pay": _zh("薪资收", "月薪|工资(?!卡)|年薪|薪水|收入"),
    "diet": _zh("素肉酮肥", "吃素|吃肉|素食|生酮|减肥"),
    "spicy": _zh("辣", "吃辣"),
    "smoking": _zh("烟", "抽烟|戒烟|抽[^，。]{0,5}烟|吸烟"),
    "children": _zh("孩生", "[一二两三四五六]个孩子|老[二三四五][^，。]{0,4}出生|孩子出生"),
    "baby": _zh("孕生", "怀孕|怀着孕|\\A[^，。]{1,4}生了"),
    "dog": _zh("狗", "狗"),
    "seat": _zh("窗道", "靠窗|靠过道|过道的"),
    "daytime": _zh("熬早夜", "熬夜|早睡早起|夜猫子|早起"),
    "language": _zh("文语", "用[^，。]{1,4}[文语]回答"),
    "surname": _zh("姓", "我姓"),
    "grade": _zh("级初高大", "[一二三四五六]年级|[初高][一二三]|大[一二三四]"),
    "size": _zh("码", "\\d+码"),
    "email": _zh("@", r"[\w.+-]+@[\w-]+\.\w+"),
    "car": _zh("开骑", "开一辆|开的是|开车|骑车上班"),
    "office days": _zh("公", "去公司|远程办公|居家办公"),
}


def _chinese(text: str) -> StatedText:
    parts = frozenset(text)
    past, turns, ends = (one.found(text, parts) for one in (_ZH_PAST, _ZH_CHANGES, _ZH_ENDS))
    changes = turns or _ZH_BEGINS.found(text, parts)
    numbers = frozenset(_ZH_NUMBER(text))
    adds = _ZH_ADDS.found(text, parts) and not (numbers and "现在" in text and "还" not in parts)
    holds = not past and not _ZH_EVENT(text)
    counts = not past and not adds and not _ZH_PLANS.found(text, parts)
    if not holds and not counts:
        return StatedText()
    slots, mentioned = _chinese_slots(text)
    words, topics = _chinese_words(text), _found(_ZH_TOPICS, text, parts)
    counted = frozenset(_chinese_counted(text)) if numbers else frozenset[tuple[str, str]]()
    return StatedText(
        keys=_keys(topics, mentioned, words, counted),
        holders=_chinese_holders(text),
        topics=topics,
        slots=slots,
        mentioned=mentioned,
        words=words,
        numbers=numbers,
        counted=counted,
        denied=frozenset().union(*map(_chinese_words, _ZH_DENIED(text))),
        ended=_in_clauses(text, _ZH_CLAUSE, _ZH_ENDS.search, _chinese_words) if ends else frozenset(),
        holds=holds,
        counts=counts,
        changes=changes or ends,
        turns=turns or ends,
        opinion=-_ZH_DISLIKES.found(text, parts) or int(_ZH_LIKES.found(text, parts)),
        troubled=_ZH_TROUBLED.found(text, parts),
        resolves=_ZH_RESOLVES.found(text, parts),
        mine="我" in parts or "咱" in parts,
    )


def _chinese_words(text: str) -> frozenset[str]:
    """The pairs of characters and the Latin words that say what a text is about."""
    pairs = frozenset([term for term in query_terms(_ZH_SMALL.sub(" ", text)) if len(term) > 1]) - _ZH_GENERIC
    return pairs.union(_ZH_LIKED(text))


def _chinese_counted(text: str) -> Iterable[tuple[str, str]]:
    for number, measure, noun in _ZH_COUNTED(text):
        # 一 is an article more often than a number.
        if number != "一":
            if measure != "个":
                yield measure, number
            if noun and noun not in _ZH_NO_NOUN:
                yield noun, number


def _chinese_holders(text: str) -> frozenset[str]:
    """Relatives, people named at the beginning of a clause as 小王, and the speaker as ""."""
    found: set[str] = set()
    for match in _ZH_OWNED(text):
        found.add(_ZH_KIN[match[1]])
        if match[2]:
            # 我妈妈的医生 is about my mother.
            return frozenset(found)
    found.update(name.lower() for name in _ZH_NAMED(text))
    if not found or not _ZH_ROLES.isdisjoint(found) or _ZH_ME(text):
        found.add("")
    return frozenset(found)


def _chinese_slots(text: str) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """The things that a text gives a value, and all that it mentions: 我的手机号是…, 密码改了."""
    slots: list[Slot] = []
    mentioned: list[Slot] = []
    for clause in _ZH_CLAUSE.split(text):
        verb = _ZH_VERB.search(clause)
        slot = None if verb is None else _chinese_slot(clause[: verb.start()])
        if verb is not None and slot is not None:
            mentioned.append(slot)
            if _ZH_GIVES(clause, verb.start()):
                slots.append(slot)
    mentioned += filter(None, map(_chinese_slot, _ZH_OBJECT(text)))
    mentioned += [Slot(head, frozenset(before)) for before, head in _ZH_NARROWED(text)]
    return tuple(slots), tuple(mentioned)


def _chinese_slot(words: str) -> Slot | None:
    """The last part of a noun with what stands before it: 密码 in 楼下大门的密码, narrowed down by 楼下大门."""
    before, _, head = _ZH_ASIDE.sub("", words).strip("的 ").rpartition("的")
    if not head or not _HAN.search(head):
        return None
    if len(head) > 2:
        before, head = before + head[:-2], head[-2:]
    return Slot(_ZH_ALIAS.get(head, head), frozenset(before) - _ZH_UNTOLD)

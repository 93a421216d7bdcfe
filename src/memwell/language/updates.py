"""What the words of two statements say about whether the later one makes the earlier one outdated.

"I moved to Berlin" makes "I live in Paris" outdated; "I also like coffee" makes nothing outdated. A text is read on its own
into a ``StatedText``, so that many can be compared cheaply: whom it is about, and which of its words tell of a change, an
end, a plan or the past. ``compared`` turns two of them into numbers; what these weigh is learnt (see
``memwell.longterm.superseding``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from memwell.language.claims import claims, corrects, in_jest, is_a_stay
from memwell.language.claims.chinese_objects import KIN_WORDS
from memwell.language.claims.english_objects import KIN as ENGLISH_KIN
from memwell.language.dates import usual_names
from memwell.language.entities import FIRST_NAMES
from memwell.language.patterns import LazyPattern
from memwell.language.segment import ascii_words, query_terms
from memwell.language.subjects import (
    EN_KIN,
    EN_KIN_ENDS,
    EN_KINDS,
    EN_OWNERS,
    KIN,
    RELATIVES,
    ROLES,
    ZH_KIN,
    ZH_KINDS,
    are_two,
    are_two_people,
    do_two_things,
    frame,
    holder_mentioned,
    of_two_measures,
    of_two_owners,
    parts_in,
    without_news,
)
from memwell.language.words import STOP_WORDS

LONGEST, LONGEST_CHINESE, LONGEST_HELD = 240, 80, 150
"""Longer texts state more than one thing, so that no other statement makes all of it outdated."""
_MANY = 2**16

_HAN = LazyPattern("[\u3400-\u4dbf\u4e00-\u9fff]")
_SENTENCE = LazyPattern(r"(?<=[.!?。！？\n])")
_ASKED = LazyPattern(
    r"[?？]\W*\Z|吗[。！!]?\s*\Z|(?:什么|[哪谁几]|怎么|多少|为何|不[^，。]{1,3})[^，。？！]*呢[。！!]?\s*\Z"
).search


class StatedText(NamedTuple):
    """What is read from one text."""

    cues: frozenset[str] = frozenset()
    """The names of the patterns of ``_EN_CUES`` or ``_ZH_CUES`` that it matches, and *asks* when a question was in it."""
    topics: frozenset[str] = frozenset()
    """The usual things it speaks of, such as *home* and *job*: the names in ``_EN_TOPICS`` and ``_ZH_TOPICS``."""
    holders: frozenset[str] = frozenset()
    """Whom it is about; an empty holder is the speaker."""
    words: frozenset[str] = frozenset()
    """The words that say what it is about, as stems or pairs of characters."""
    numbers: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    """The words of values that it denies: *not peanuts*."""
    ended: frozenset[str] = frozenset()
    """The words of the clauses that tell of an end."""
    stated: str = ""
    """The text without its questions."""
    subject: str = ""
    """Which one thing it says something of: *phone number* in "My phone number is …"."""
    thing: tuple[str, ...] = ()
    """The thing that it begins with, as words or characters: *the dentist appointment*."""
    kinds: Mapping[str, frozenset[str]] = MappingProxyType({})
    """Which of the things of one kind it names, by the kind: *spare* of the keys, *passport* of the papers."""
    moved: frozenset[str] = frozenset()
    """The words or characters of the one thing that it says got another time, place or value: "the choir moved to …"."""
    owner: str = ""
    """Whose thing it begins with, if that is not the speaker's: *plumber* in "The plumber's number is …"."""
    relative: str = ""
    """What the one that it begins with is to another: *friend* in "My sister's friend …"."""
    about: str = ""
    """Whom its first words are about: ``SPEAKER``, ``OTHER`` (one of the speaker's people), or neither."""
    of_me: bool = False
    """Whether it speaks of the speaker, not only as someone to whom another came: "My mum moved in with us"."""
    refers: bool = False
    """Whether *he*, *she* or *it* may mean someone that was named before."""
    chinese: bool = False
    """Whether a word of it is Chinese; numbers belong to any language."""
    states: bool = False
    """Whether it can make another outdated: it is no question, and not long."""
    holds: bool = False
    """Whether it can become outdated: it states something, and that is all it does."""


SPEAKER, OTHER = "speaker", "other"


@lru_cache(_MANY)
def statement(text: str) -> StatedText:
    """A text as a statement, without the questions in it. Of a long text nothing is read."""
    if len(text) > LONGEST:
        return StatedText()
    stated = text
    if "?" in text or "？" in text or (not text.isascii() and _ASKED(text)):
        stated = "".join(one for one in _SENTENCE.split(text) if not _ASKED(one))
    chinese = _HAN.search(stated) is not None
    if not stated.strip() or (chinese and len(stated) > LONGEST_CHINESE):
        return StatedText()
    read = _chinese(stated) if chinese else _english(stated.replace("’", "'"))
    read = read._replace(stated=stated, chinese=chinese)
    read = read._replace(states=read.states and not _only_supposed(stated, chinese))
    if stated != text:
        # What stands with a question mostly explains it.
        return read._replace(cues=read.cues | {"asks"}, holds=False)
    return read._replace(holds=len(text) <= LONGEST_HELD)


def _only_supposed(text: str, chinese: bool) -> bool:
    """Whether a text tells of no change but one that is only possible, or long past: "I might move to Rome, we'll see"."""
    supposed, clause = (_ZH_SUPPOSED, _ZH_CLAUSE) if chinese else (_EN_SUPPOSED, _EN_SENTENCE_PART)
    if not supposed(text):
        return False
    parts = [part for part in clause.split(_ZH_BEFORE_UNDECIDED("", text)) if part.strip()]
    rest = [(_chinese if chinese else _english)(part) for part in parts if not supposed(part)]
    if len(rest) == len(parts):
        return False
    return not any(one.subject or one.numbers or not CHANGE.isdisjoint(one.cues) for one in rest)


_NEVER = datetime(2000, 1, 1, tzinfo=UTC)  # Claims need a time, which decides nothing here.
CUES = tuple("begins changes ends adds past plans happened asks".split())
"""What a statement may tell of, as its words show."""
_SPEAKER = frozenset({""})


def compared(newer: StatedText, older: StatedText) -> dict[str, float]:
    """How the words of two statements relate, as numbers by name."""
    common = older.holders & newer.holders
    words = older.words - common
    least = min(len(words), len(newer.words)) or 1
    found = {
        # Two people that the speaker has to do with are not one.
        "same_holder": float(
            bool(common) and (common != _SPEAKER or not (older.holders & ROLES and newer.holders & ROLES))
        ),
        "same_topic": float(not older.topics.isdisjoint(newer.topics)),
        "same_words": len(words & newer.words) / least,
        "other_numbers": float(bool(older.numbers and newer.numbers) and older.numbers != newer.numbers),
        "ended": float(not words.isdisjoint(newer.ended)),
        "denied": float(not words.isdisjoint(newer.denied)),
        "same_subject": float(_same_subject(newer.subject, older.subject)),
    }
    return found | {"clear": float(_is_clear(newer, older, found))}


def _is_clear(newer: StatedText, older: StatedText, found: Mapping[str, float]) -> bool:
    """Whether the words leave little to guess: one denies, corrects, moves or ends what the other says, and names it."""
    if found["denied"] or (corrects_earlier(newer.stated) and _states_same(newer, older, found)):
        return True
    if older.numbers and not older.numbers.isdisjoint(_DENIED_NUMBER(newer.stated)):
        return True
    if not _NOT_PLAIN.isdisjoint(newer.cues):
        return False
    if found["same_subject"] and found["other_numbers"]:
        return True
    if not newer.moved.isdisjoint("".join(older.thing) if newer.chinese else older.thing):
        return True
    if newer.moved and found["other_numbers"] and all(word in older.stated.lower() for word in newer.moved):
        return True
    return bool(found["ended"]) and found["same_words"] >= 0.5


def _states_same(newer: StatedText, older: StatedText, found: Mapping[str, float]) -> bool:
    """Whether a correction is of what the other states: one word that both have, and nothing else, may be by chance."""
    if found["same_subject"] or found["denied"]:
        return True
    words = (older.words - (older.holders & newer.holders)) & newer.words
    if _OPENING(newer.stated):
        # "No wait, size 10, the 9s were for bowling" corrects a size: what is meant follows at once.
        return not words.isdisjoint(statement(_meant(newer.stated)).words)
    return len(words) > 1 or bool(words and (found["other_numbers"] or found["same_topic"]))


def _meant(text: str) -> str:
    """The beginning of a correction, up to the first clause that says more than that something was wrong."""
    said = ""
    for clause in _CLAUSES(text):
        said += clause
        opening = _OPENING(clause)
        if _WRONG(clause) is None and (opening is None or statement(clause[opening.end() :]).words):
            break
    return said


_OPENING = LazyPattern(
    r"\W*(?:(?:oh|ah|ugh)\b[\s,]*)?(?:no,? wait|wait|no(?=[,.!…])|sorry|actually|scratch that|make that)\b"
    r"|(?:[哦噢啊哎呃]，?)?(?:抱歉|不好意思|对不起|不对|不是|哦不|我是说|我?(?:刚才|刚刚)?[说打写讲记搞弄]错)",
    re.IGNORECASE,
    needs="wait no sorry actually scratch make 抱歉 意思 不 我是说 错".split(),
).match
_WRONG = LazyPattern(r"\b(?:wrong|typo|mix(?:ed)?|mis\w+)\b|[说写记弄打看听搞]错|看成", re.IGNORECASE).search
_CLAUSES = LazyPattern(r"[^,;:!.，。；：！]+[,;:!.，。；：！]*").findall
_NOT_PLAIN = frozenset({"adds", "past", "plans", "asks"})
_DENIED_NUMBER = LazyPattern(r"(?:\bnot (?:number |room |on |at )?|不是)(\d+)(?![\d:.])", re.IGNORECASE).findall


def is_about_another(newer: StatedText, older: StatedText) -> bool:
    """Whether both name what they are about, and that is not the same: two people, or two things.

    What takes back something that was just said is about nothing older that it does not name.
    """
    if _OPENING(newer.stated):
        found = compared(newer, older)
        at_once = _RETRACTS(newer.stated) or corrects(newer.stated) == "maybe" or not newer.words
        # 说错了 is also said days later, and then need not repeat a word; but a word that is not what is meant is chance.
        if (at_once or found["same_words"]) and not _states_same(newer, older, found):
            return True
    return _about_other_people(newer, older) or is_about_another_thing(newer, older)


def _about_other_people(newer: StatedText, older: StatedText) -> bool:
    """Whether they are about two relatives, or about the speaker and another."""
    if "love" in newer.topics - older.topics and "ends" in newer.cues and "home" not in older.topics:
        # Who parts from Marit still knows where Marit's grandmother is from.
        found = _THEIR_KIN(older.stated)
        if found and found[1] in newer.stated and older.stated.count(found[1]) == 1:
            return True
    named, before = newer.holders - KIN, older.holders - KIN
    if newer.about == OTHER and not (concerns(newer, older, named) or concerns(older, newer, before)):
        if older.about == OTHER:
            named, before = named - _SPEAKER, before - _SPEAKER
        if are_two_people(named, before):
            return True
    if not newer.holders.isdisjoint(older.holders - _SPEAKER):
        return False
    if newer.holders and RELATIVES.issuperset(newer.holders) and RELATIVES.issuperset(older.holders):
        return True
    if (older.about, newer.about) == (OTHER, SPEAKER):
        # A role passes from one to another: "We changed to another dentist".
        return not (
            newer.refers or tells_of_love(newer, older) or concerns(older, newer, older.holders & ROLES - {"friend"})
        )
    # In Chinese the speaker is often left out.
    of_speaker = older.about == SPEAKER or (
        older.chinese
        and not older.about
        and older.holders == _SPEAKER
        and older.words.isdisjoint(newer.words - newer.holders)
    )
    if not of_speaker or older.refers or not (newer.about == OTHER or _ZH_SHE(newer.stated)):
        return False
    # Who was alone is so no longer when another comes.
    return not (newer.of_me or concerns(newer, older, newer.holders) or _SINGLE(older.stated))


def tells_of_love(newer: StatedText, older: StatedText) -> bool:
    """Whether a statement is of whom the speaker loves, and the earlier one of a partner: "We broke up"."""
    return "love" in newer.topics and "partner" in older.holders


def concerns(newer: StatedText, older: StatedText, people: Collection[str]) -> bool:
    """Whether what happens to people concerns an earlier statement: it is about one of them, or was so only with one.

    "Otis moved out" concerns "I share a flat with Otis", "Otis moved to Hull" does not.
    """
    for name in filter(None, people):
        words = [word for word, kin in (ZH_KIN if older.chinese else EN_KIN).items() if kin == name]
        found = re.search(
            rf"([跟和与]|\b(?:with|and)(?: my| our)? )?(?:{'|'.join((name, *words))})", older.stated, re.I
        )
        if found and (not found[1] or "ends" in newer.cues):
            return True
    return False


_THEIR_KIN = LazyPattern(
    rf"([A-Z][a-z]+|[小老阿][\u4e00-\u9fff])(?:'s (?:{'|'.join(ENGLISH_KIN)})\b|家?的?(?:{KIN_WORDS}))"
).search
_SINGLE = LazyPattern(r"\b(?:alone|(?:by|to) myself|on my own|single|just me)\b|一个人|独[居自]|单身", re.I).search
_COMPANY = LazyPattern(r"\bwith\b|[跟和与]", re.I).search


def _says_only_alone(one: StatedText, other: StatedText) -> bool:
    """Whether one says that the speaker lives alone, and the other where, but not with whom."""
    is_alone = one.holders == _SPEAKER and not one.refers and _ALONE(one.stated) is not None
    return is_alone and "home" in other.topics and (_SINGLE(other.stated) or _COMPANY(other.stated)) is None


_ALONE = LazyPattern(
    r"\bliv(?:e|ed|ing) (?:alone|(?:by|to) myself|on my own)(?=[.!,]|\Z| for\b| since\b)|(?:一个人住|独居)(?!在)",
    re.I,
    needs=("alone", "myself", "my own", "住", "居"),
).search

CHANGE = frozenset({"begins", "changes", "ends"})
"""The cues of statements that tell of a change."""


def is_about_another_thing(newer: StatedText, older: StatedText) -> bool:
    """Whether they are about two things, or one is about something of another's, or denies something else."""
    earlier = older.stated.lower()
    if newer.owner and newer.owner not in earlier and (older.subject or older.about == SPEAKER):
        return True
    if _says_only_alone(newer, older) or _says_only_alone(older, newer) or newer.relative not in earlier:
        return True
    if "job" in newer.topics and _COMMUTES(earlier) and not _TRAVELS(newer.stated):
        return True
    if _PART_OF_DAY(newer.stated) and not _ANY_PART_OF_DAY(earlier) and older.words.isdisjoint(newer.words):
        return True
    if newer.moved and older.thing and not any(word in earlier for word in newer.moved):
        return True
    # A new strap is no other watch, and a stay of some days no other home.
    other = not newer.subject or newer.subject != older.subject
    if other and not all(part.lower() in earlier for part in parts_in(newer.stated)):
        return True
    stays = "home" in older.topics and is_a_stay(newer.stated)
    if stays or (CHANGE.isdisjoint(newer.cues) and _other_subject(newer.subject, older.subject)):
        return True
    if of_two_owners(newer.stated, older.stated, newer.chinese) or of_two_measures(newer.stated, older.stated):
        return True
    holder = holder_mentioned(newer.stated, older.stated, newer.chinese)
    if holder is not None and ({"ends"} if holder.lasts else CHANGE).isdisjoint(newer.cues):
        return True
    frames = frame(newer.stated, newer.chinese), frame(older.stated, older.chinese)
    if are_two(*frames) or (older.words.isdisjoint(newer.words) and do_two_things(*frames)):
        return True
    return _other_kind(newer.thing, older.thing) or _others_of_a_kind(newer, older)


_COMMUTES = LazyPattern(
    r"\b(?:ride|cycle|bike|drive|walk|commute|take)\b[^.,;]* to (?:work|the office)\b|[骑开坐乘走][^，。；]*上班"
).search
_TRAVELS = LazyPattern(
    r"(?i)\b(?:rid|cycl|driv|walk|commut|bus|train|tram|taxi|home|remote)|[骑坐乘车步走]|[在居]家|远程"
).search
_PART_OF_DAY = LazyPattern(
    r"(?i)(?:in the (?:morning|afternoon|evening)s?|at night),? (?:i|we) (?:only|just|usually|always)\b"
    "|我?(?:早上|上午|中午|下午|晚上)我?(?:只|一般|通常|都)",
    needs="only just usually always 只 般 常 都".split(),
).match
_ANY_PART_OF_DAY = LazyPattern(r"morning|noon|evening|night|[早晚夜]|[上中下]午").search


def _others_of_a_kind(newer: StatedText, older: StatedText) -> bool:
    """Whether both name things of one kind, and not the same: two keys, the dentist and the optician."""
    both = older.kinds.keys() & newer.kinds.keys()
    if "instrument" in both and ("ends" not in newer.cues or newer.cues & {"begins", "changes"}):
        # Who takes up one often gives up the other, but who sells one does not.
        both -= {"instrument"}
    return bool(both) and all(newer.kinds[kind].isdisjoint(older.kinds[kind]) for kind in both)


def _same_subject(one: str, other: str) -> bool:
    """Whether both have the same last words: *number* and *phone number*."""
    if not one or not other:
        return False
    return one == other or one.endswith(f" {other}") or other.endswith(f" {one}")


def _parts(words: str) -> frozenset[str]:
    """The words, or the characters of Chinese."""
    return frozenset(words if _HAN.search(words) else words.split())


def _other_subject(one: str, other: str) -> bool:
    """Whether both say something of one thing, and these have no word in common: *my office is …*, *my garden is …*."""
    if not (one and other) or _parts(one).isdisjoint(_parts(other)):
        return bool(one and other)
    return _other_kind(one.split(), other.split())


def _other_kind(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether they begin with two things of one kind: *the front door code* and *the bike shed code*."""
    if min(len(one), len(other)) < 2 or one[-1] != other[-1]:
        return False
    return _parts(" ".join(one[:-1])).isdisjoint(_parts(" ".join(other[:-1])))


_RETRACTS = LazyPattern(
    r"(?i)\W*(?:(?:no,? wait|wait,? no|(?:no,? )?sorry,? i mean?t?)\b|(?:sorry,? no|no,? sorry)(?= ?[,.!;:…]| \d))"
).match
_CORRECTS = LazyPattern(
    r"\b(?:correction|typo|turns out|(?:was|were|got it|told you) wrong|mistaken|mix(?:ed)? (?:\w+ ){0,3}up"
    r"|mis(?:read|heard|typed|spoke|took|remembered|spelt|spelled)|(?:i|we) meant|scratch that|(?:was|were) off)\b"
    r"|更正|[说写记弄打看听搞]错|不对|才知道|其实|弄混|记反",
    re.IGNORECASE,
    needs=(
        *"correction typo wrong mistake mix misread misheard mistyped misspoke mistook misremember misspel meant".split(),
        *("turns out", "scratch that", "was off", "were off", "正", "错", "不对", "才", "其实", "混", "反"),
    ),
).search


@lru_cache(_MANY)
def corrects_earlier(text: str) -> bool:
    """Whether a text says that something was never so, rather than that it has changed."""
    return bool(corrects(text)) or (_RETRACTS(text) or _CORRECTS(text)) is not None


RETRACTING = frozenset(
    "kid joke jk pull tease teas mess sorri no wait actual oop whoop correct typo mean meant bad mistak apolog scratch "
    "make move push reschedul postpon chang shift".split()
).union("错更纠误骗逗笑瞎胡滑歉不应意说")
"""Words, as they are indexed, of which every text that takes something back has one."""


def takes_back(newer: str, older: str) -> bool:
    """Whether a text takes back what the same person said just before it: a jest, or a wrong value."""
    if in_jest(newer):
        return True
    if not (corrects(newer) or _RETRACTS(newer)):
        return False
    stated = {(one.relation, one.object) for one in claims(older, time=_NEVER) if not one.negated}
    joint = claims(newer, time=_NEVER, preceding=(older, _NEVER))
    if any(one.negated and (one.relation, one.object) in stated for one in joint):
        return True
    words = compared(statement(newer), statement(older))
    # "No wait, the meeting is on Friday" takes nothing back of a flight.
    about_another = is_about_another_thing(statement(newer), statement(older))
    return bool(words["other_numbers"] or words["denied"]) and not about_another


def only_takes_back(text: str) -> bool:
    """Whether a text says only that what was said before it was a jest."""
    found = in_jest(text)
    return found is not None and _LAUGHS(text, found.end()) is not None


_LAUGHS = LazyPattern(r"(?:\W|lol|(?:ha)+h?|[哈嘿嘻])*\Z", re.IGNORECASE).match


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


def _in_clauses(
    text: str, clause: LazyPattern, ends: Callable[[str], object], words: Callable[[str], frozenset[str]]
) -> frozenset[str]:
    """The words of the clauses that match."""
    return frozenset[str]().union(*(words(one) for one in clause.split(text) if ends(one)))


# English. Patterns are searched in lower case.


def _en(hints: str, *alternatives: str, words: str = "") -> _Pattern:
    return _Pattern(
        frozenset(hints.split()), LazyPattern(rf"\b(?:{'|'.join(alternatives)})").search, frozenset(words.split())
    )


_EN_OWNED = LazyPattern(
    r"(?:\A|[.,;:!]\s+|\b(?:and|but|so|that|because|now|when)\s+)(?:(?:my|our)\s+(?:(?:new|old|older|younger|little|big"
    r"|best|dear|current|thesis)\s+)*|the\s+(?=baby))"
    rf"({'|'.join(EN_KIN)})(?:s\b|('s)?\b)"
).finditer
_EN_ME = frozenset("i we me us i'm i've i'd we've we're i'll".split())
_EN_TO_US = LazyPattern(
    r"\b(?:in|(?:live|lives|living|stay|stays|staying|home|back|over)(?: here)?) with (?:me|us)\b"
    r"|\bto (?:me|us|ours|mine)\b"
).sub
_EN_IS_MY = LazyPattern(r"\bis (?:my|our)\b").search
_EN_NAMED = LazyPattern(
    r"(?:\A|[.;:,!]\s+|\band\s+|\b[Mm]y \w+ |\b[Oo]ur \w+ )(?:(?:Aunt|Uncle|Mrs?|Ms|Professor)\.? )?([A-Z][\w&.-]*)(?='s\b"
    r"|\s+(?:and\s+(?:I|my|[A-Z]\w*)|is|was|has|had|isn't|doesn't|didn't|can|will|now|just|never|finally|left|quit|got"
    r"|went|came|took|gave|made|began|became|broke|bought|sold|lost|found|won|chose|grew|[a-z]+(?:s|ed))\b)"
)
_EN_NO_NAMES = frozenset(
    "I We It He She They You My Our The This That These Those There Here What When Work Please Sorry New Actually "
    "Correction Update Now Today From Since After Before If And But So As In On At Dr Dr. Everyone Someone Nobody".split()
)
_EN_SUBJECT = LazyPattern(
    r"\A(?:[a-z]+(?: [a-z]+)?[,:] )?(?:now )?(?:my|our|the) (?:(?:new|old|current|actual|right|correct) )*"
    r"((?:[\w'-]+ ){0,2}[\w'-]+?)(?: is| are| will be| has been|'s)(?: now)? \S"
    r"|\A(?:i|we) (?:keep|store|park|hang) (?:my|our|the) ((?:[\w'-]+ ){0,2}?[\w'-]+) (?:in|on|at|under|behind|by)\b"
).match
_EN_THING = LazyPattern(
    r"\A(?:[a-z]+(?: [a-z]+)?[,:] )?(?:now )?(?:(?:had to|have to|got to|we|i|they|they've|we've|i've|have|has)? "
    r"?[a-z]+(?:ed|t|d) )?(?:my|our|the) ([\w' -]{2,60}?)(?= (?:is|are|was|were|has|have|had|will|can|got|gets|now|moved"
    r"|starts|started|leaves|meets|closed|opens|costs|takes|goes|went|slipped|changed|runs|lives|works|for|on|in|at|to|of"
    r"|with|and|from|that|which|who|(?!shed\b)[a-z]+ed)\b|'s \w+ed\b|[.,;:!]|\Z)(?: (?:for|of|to|on|at|in|with) (?:the|my"
    r"|our|mr|mrs)? ?([\w-]+))?"
).match
_EN_MOVED = LazyPattern(
    r"\A(?:i|we|they)(?:'ve| have)? (?:pushed|switched|brought|bumped|rescheduled|postponed|shifted|moved|changed|painted)"
    r" (?:my|our|the) ((?:[\w'-]+ ){1,3}?)(?:to|until|back|forward|(?:\w+ )?\w+\W*\Z)"
    r"|\A(?:(?:my|our|the) )?(?!(?:i|we|he|she|they|it|you|this|that|there)\b)((?:[\w'-]+ ){1,3}?)(?:(?:(?:has|have) been"
    r"|was|were|got|is|are|gets) (?:\w+ )?(?:pushed|switched|brought|bumped|put|rescheduled|postponed|shifted|moved"
    r"|changed)|(?:has |have )?(?:moved|changed|slipped|shifted)) (?:\w+ )?(?:to|until|back|forward)\b",
    needs="pushed switched brought bumped put rescheduled postponed shifted moved changed slipped painted".split(),
).match
_EN_OWNER = LazyPattern(
    r"\A(?:the|my|our) ([a-z]+)'s (?!been\b|got\b|now\b|a\b|the\b|gone\b|not\b|\w+(?:ed|ing)\b)"
).match
_EN_OWNS = LazyPattern(r"(?:(?:my|our) )?[a-z]+'s ").match
_EN_RELATIVE = LazyPattern(
    r"\A(?:(?:my|our) [a-z]+|(?!my |our |the |it's|s?he's|that's|.*\b(?:i|me|we|us)\b)[a-z]+)'s (?:[a-z]+ )?"
    rf"({'|'.join(EN_KIN)})\b(?! is | was |'s name)"
).match
_EN_NO_THING = frozenset("new old current actual right correct other next last first".split())
_EN_OF_KIND = LazyPattern(
    r"((?:\b[a-z'-]+ ){1,3})(key|code|password|passcode|pin)(?:s|'s)?\b", needs=("key", "code", "passw", "pin")
).findall
_EN_NO_KIND = frozenset("lost found left put took gave got have has own only same your his her their house".split())
_EN_I = LazyPattern(r"(?:[a-z ]{0,25}[,:] )?(?:i|we)\b").match
_EN_MINE = LazyPattern(rf"(?:(?:now|actually|so),? )?(?:my|our) (?:\w+ )?(?:{'|'.join(EN_KIN)})\b").match
_EN_PRONOUNS = frozenset("he she they him her them his their it its hers theirs he's she's they're it's".split())
_EN_CLAUSE = LazyPattern(r"[,;:.!](?:\s+|\Z)|\s+(?:so|but|and)\s+(?!i\s|my\s|our\s|the\s)")

_EN_NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand first second third fourth "
    "fifth sixth seventh eighth ninth tenth monday tuesday wednesday thursday "
    "friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january february march april "
    "june july august september october november december noon midnight".split()
)
_EN_DIGITS = LazyPattern(r"\d[\d:.,/-]*\d|\d").findall
_EN_BEGINS = _en(
    "got get been as since was were had seeing passed reached",
    r"g[oe]t (?:an?|the|my|our|married|engaged|hired|divorced)\b", r"ha(?:s|ve) been\b", r"as of\b",
    r"since (?:last|the|my)\b", r"(?:was|were) born\b", r"had (?:her|his|our|my|a) baby\b", r"seeing someone\b",
    r"(?:passed|reached) \d",
    words="started began joined hired bought found finally again adopted raise beat graduated recovered repaired "
    "fixed reopened restarted opened",
)  # fmt: skip
_EN_CHANGES = _en(
    "now these from moved moving down up back went gone come came got was were late took is are feels not fallen "
    "brought put for",
    r"now\b(?! and then)", r"these days\b", r"from (?:now|today|tomorrow|next \w+)\b",
    r"mov(?:ed|ing) (?:to|into|in|out|away|house|back|up|on|my|our|the)\b", r"(?:down|up|back) to\b",
    r"(?:went|gone) (?:up|down|over|back)\b", r"(?:come|came) (?:a?round|back|home)\b", r"got over\b",
    r"(?:was|were) wrong\b",
    r"of late\b", r"took (?:over|up)\b", r"(?:is|are|'s|feels) (?:back|gone|fine|over|better|ok|okay|healed)\b",
    r"not \d", r"fallen (?:in|out of) love\b", r"brought forward\b", r"put (?:it |\w+ \w+ )?off until\b", r"for good\b",
    words="nowadays switch switched switching change changed changing upgrade upgraded relocated replaced replace "
    "transferred converted promoted demoted rescheduled postponed delayed updated renamed become became instead grown grew "
    "pushed rather turned actually correction wrong mistyped misspoke mistook mistaken misremembered misspelled meant typo "
    "only lately settled dyed cut painted swapped traded exchanged shortened extended raised lowered increased reduced "
    "doubled halved dropped rose retimed reshuffled bumped shifted slipped rebooked discharged",
)  # fmt: skip
_EN_ENDS = _en(
    "stepped called dropped backed longer more gave given broke broken split fell passed off laid rid moved threw never "
    "stand grown cut pulled handed took got goodbye put came come taken ran run ways gone",
    r"no longer\b", r"any(?: ?more| longer)\b", r"g(?:ave|iven) (?:up|away|back|\w+ (?:\w+ )?(?:away|back))\b",
    r"g(?:ave|iven) (?:the|my|our) (?:\w+ )?\w+ to\b",
    r"brok(?:e|en) up\b", r"split up\b", r"fell out\b", r"passed away\b", r"(?:i'm|am|is|are|been) off\b", r"laid off\b",
    r"got (?:rid of|over)\b", r"moved (?:out|away)\b", r"threw \w+ (?:\w+ )?(?:out|away)\b", r"never again\b",
    r"can't stand\b", r"grown out of\b", r"cut out\b", r"pulled out\b", r"handed (?:\w+ ){1,4}(?:over|in)\b",
    r"handed (?:over|in)\b", r"stepped down\b", r"called off\b", r"(?:dropped|backed) out\b", r"no more \w",
    r"sa(?:y|id) goodbye\b", r"put (?:to sleep|down)\b", r"(?:came|come|taken) off\b", r"(?:ran|run) out\b",
    r"(?:went our|parted|gone our)(?: separate)? ways\b", r"gone (?:bust|under)\b", r"off today\b",
    words="discontinued anymore stopped cancelled canceled closed retired divorced resigned abandoned terminated "
    "unsubscribed dumped ditched dropped quit sold died left fired ended deleted returned swapped traded exchanged "
    "replaced lapsed expired shut",
)  # fmt: skip
_EN_ADDS = _en(
    "also too well addition besides additionally another second both still said case always usual before",
    r"(?:also|too|as well|in addition|besides|additionally|(?<!to )another|a second|both|still(?!.*\bnow\b)"
    r"|(?:as|like) i said|in case|as (?:always|usual|before))\b",
)
_EN_PAST = _en(
    "used as when back in ago first before once formerly previously grew time those",
    r"used to\b", r"as an? (?:student|child|kid|teenager|boy|girl)\b", r"when i was\b", r"back (?:in|then|when)\b",
    r"in my (?:youth|childhood|\w+ies)\b", r"years ago\b", r"my first\b", r"before that\b", r"once\b", r"formerly\b",
    r"previously\b", r"grew up\b", r"at the time\b", r"in those days\b",
)  # fmt: skip
_EN_WAS = frozenset("was were had did didn't wasn't lived worked played went".split())
_EN_PLANS = _en(
    "might may would want wants wish thinking plan plans planning consider considering considered hope hopes hoping if "
    "going will maybe perhaps should could dream dreams imagine wonder wondering unless i'll we'll he'll she'll they'll "
    "it'll remind book says said",
    r"(?:might|may(?! \d)|would (?:like|love)|wants? to|wish|thinking (?:about|of)|plan(?:s|ning)?|consider\w*|hop(?:e|es"
    r"|ing)|if|going to|will|maybe|perhaps|should|could|dreams?|imagine|wonder\w*|unless|\w+'ll|remind|please book|says"
    r"|said that)\b",
)
_EN_SUPPOSED = LazyPattern(
    r"\b(?:might|maybe|perhaps|(?:i|we|he|she|they) may|would (?:like|love) to|(?:i|we)'d (?:like|love) to|wouldn't mind"
    r"|thinking (?:about|of)|considering|hop(?:e|ing) to|dream(?:ing)? of|tempted to|suppose|not sure (?:if|whether)"
    r"|if\b(?=.*(?:\b(?:might|could|would|may)\b|'d\b))|(?:would|could)\b.*\bif|(?:nearly|almost) (?:sold|bought|left|quit"
    r"|\w+ed)|when (?:i|we) (?:was|were|lived|worked|had)|as a (?:kid|child|boy|girl|student|teenager)|back (?:in|when) "
    r"(?:my|i)|in my (?:youth|childhood|\w+ies)|in those days)\b",
    re.IGNORECASE,
    needs=(
        *"might maybe perhaps would 'd thinking considering hop dream tempted suppose if nearly almost youth".split(),
        *(" may", "not sure", "when i", "when we", "as a ", "back in", "back when", "childhood", "ies", "those days"),
    ),
).search
_EN_SENTENCE_PART = LazyPattern(r"[.;!?]\s+|,\s+(?=(?:but|and|so|then|which)\b)|\s+but\s+")
_EN_EVENT = LazyPattern(
    r"\b(?:I|[Tt]he \w+|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[A-Z][a-z]+|[Mm]y \w+)\s+(?:just\s+|finally\s+|already\s+)?(?:was|were"
    r"|did|had|went|bought|met|saw|ran|ate|took|made|came|found|lost|gave|got|drank|wrote|heard|felt|said|spent|flew|drove"
    r"|slept|dreamt|forgot|(?!need|mov|relocat|switch|chang|start|join|retir|divorc)[a-z]{2,}ed)\b"
).search
_EN_DENIED = LazyPattern(r"\b(?:not|isn't|wasn't)\s+(?:an?\s+|the\s+|in\s+|at\s+|on\s+|called\s+)?([\w@.-]+)").findall
_EN_DENIALS = frozenset("not isn't wasn't".split())
_EN_GENERIC = frozenset(
    {
        *(term for word in STOP_WORDS["en"] for term in query_terms(word)),
        *query_terms(
            "live lives living moved moving now new change changed switch switched longer anymore actually correction "
            "sorry wrong currently moment morning evening night week month year minute hour euro dollar pound km kilo am "
            "pm like love enjoy prefer hate favourite favorite really own have has speak play watch read buy bought visit "
            "subscribe called name names person people start started stop stopped found got left quit sold died gave every "
            "each today once daily use uses city town eat drink meet met going may finally only instead again rather "
            "become sometimes usually always never lately please answer need big small"
        ),
        *(term for word in (*EN_KIN, *_EN_NUMBERS) if " " not in word for term in query_terms(word)),
        *(term for one in (_EN_BEGINS, _EN_CHANGES, _EN_ENDS) for word in one.words for term in query_terms(word)),
    }
)
"""Words that two statements may share without being about the same."""

_EN_TOPICS = {
    "home": _en(
        "live lives living reside resides based stay stays staying have has share moved moving relocated settled renting "
        "rent place bought home",
        r"(?:live|lives|living|reside|resides|based|stay|stays|staying) (?:in|at|on|with|near|outside|by)\b",
        r"ha(?:ve|s) an? (?:flat|house|apartment|place) (?:in|near|outside)\b",
        r"share (?:the|a|my) (?:flat|house|apartment)\b",
        r"live alone\b", r"mov(?:ed|ing) (?:to|into|in with|house|back)\b", r"(?:relocated|settled|renting)\b",
        r"(?:own|new) place\b",
        r"rent an? (?:flat|studio|room|house|apartment)\b", r"bought an? (?:house|flat|apartment|condo)\b", r"my home is\b",
    ),
    "job": _en(
        "freelance position work works working started joined hired unemployed jobs job promoted laid i'm am is as became "
        "become teaching lead he's she's",
        r"work(?:s|ing)? (?:at|for|as)\b", r"started (?:at [^\d\s]\w*(?! ?o'clock)|as|working)\b(?<! at the)",
        r"joined \w", r"hired\b", r"freelance\b", r"position at\b", r"unemployed\b", r"looking for work\b",
        r"between jobs\b", r"out of work\b", r"new job\b", r"promoted\b", r"laid off\b", r"teaching\b", r"team lead\b",
        r"job is\b",
        r"(?:i'm|i am|is|'s|as|bec[ao]me) an? (?:[a-z]+ ){0,2}(?:nurse|chef|cook|clerk|pilot|vet|guard|model|intern|judge"
        r"|coach|ceo|[a-z]*(?:keeper|eer|yer|(?<!vegetar)ian|ist|maker|driver|worker|designer|developer|manager|engineer"
        r"|tender|gardener|writer|tor|ssor|nter|teacher|assistant|consultant|accountant))\b",
    ),
    "love": _en(
        "dating seeing engaged married divorced broke split separated widowed relationship single girlfriend boyfriend "
        "girlfriend's boyfriend's official together",
        r"(?:been together|and \w+ (?:are |went )?official|we(?:'re| are) official|dating|seeing someone|engaged|married"
        r"|divorced|broke up|split up|separated|widowed|in a relationship)\b",
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
_EN_CUES: dict[str, _Pattern] = dict(
    zip(CUES, (_EN_BEGINS, _EN_CHANGES, _EN_ENDS, _EN_ADDS, _EN_PAST, _EN_PLANS), strict=False)
)


def _english(text: str) -> StatedText:
    lower = (text := without_news(text)).lower()
    parts = frozenset(ascii_words(lower))
    kin = not EN_KIN_ENDS.isdisjoint(parts)  # What names all kin is slow to compile.
    cues = _found(_EN_CUES, lower, parts)
    denied = () if _EN_DENIALS.isdisjoint(parts) else map(_english_words, _EN_DENIED(lower))
    return StatedText(
        cues=cues | {"happened"} if not _EN_WAS.isdisjoint(parts) or _EN_EVENT(text) else cues,
        topics=_found(_EN_TOPICS, lower, parts),
        subject=subject[1] or subject[2] if (subject := _EN_SUBJECT(lower)) else "",
        thing=_english_thing(lower),
        kinds=_english_kinds(lower, parts),
        moved=_english_moved(lower),
        owner=owner[1] if (owner := _EN_OWNER(lower)) else "",
        relative=relative[1] if kin and _EN_OWNS(lower) and (relative := _EN_RELATIVE(lower)) else "",
        about=SPEAKER if _EN_I(lower) else OTHER if (kin and _EN_MINE(lower)) or _begins_with_person(text) else "",
        of_me=_speaks_of_me(lower),
        refers=not _EN_PRONOUNS.isdisjoint(parts),
        holders=_english_holders(text, lower, parts),
        words=_english_words(lower),
        numbers=frozenset(one.removesuffix("s") for one in parts & _EN_NUMBERS).union(_EN_DIGITS(lower)),
        denied=frozenset().union(*denied),
        ended=_in_clauses(lower, _EN_CLAUSE, _english_ends, _english_words) if "ends" in cues else frozenset(),
        states=True,
    )


def _speaks_of_me(lower: str) -> bool:
    return not _EN_ME.isdisjoint(ascii_words(_EN_TO_US("", lower)))


def _begins_with_person(text: str) -> bool:
    """Whether its first words are about someone by a usual name; any word is capital there."""
    found = _EN_NAMED.match(text)
    return found is not None and found[1] in FIRST_NAMES


def _english_thing(lower: str) -> tuple[str, ...]:
    """The words of the thing that a text begins with, what it is last: *the code for the shed* is a shed code."""
    found = _EN_THING(lower)
    if found is None:
        return ()
    of = (found[2],) if found[2] and found[2] not in STOP_WORDS["en"] and not found[2][0].isdigit() else ()
    words = [word.removesuffix("'s").rstrip("'") for word in found[1].split()]
    return (*of, *(word for word in words if word not in _EN_NO_THING))


def _english_kinds(lower: str, parts: frozenset[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word in parts & EN_KINDS.keys():
        kind, name = EN_KINDS[word]
        found.setdefault(kind, set()).add(name)
    for words, kind in _EN_OF_KIND(lower):
        named = {word.removesuffix("'s") for word in words.split()} - _EN_NO_THING - _EN_NO_KIND - STOP_WORDS["en"]
        found.setdefault(kind, set()).update(word for word in named if not word.endswith("ed") or word == "shed")
    return {kind: frozenset(names) for kind, names in found.items() if names}


def _english_moved(lower: str) -> frozenset[str]:
    found = _EN_MOVED(lower)
    return frozenset() if found is None else frozenset((found[1] or found[2]).replace("'s", "").split()) - _EN_NO_THING


def _english_ends(clause: str) -> bool:
    return _EN_ENDS.found(clause, frozenset(ascii_words(clause)))


def _english_words(text: str) -> frozenset[str]:
    return frozenset([term for term in query_terms(text) if term not in _EN_GENERIC and not term.isdigit()])


def _english_holders(text: str, lower: str, parts: frozenset[str]) -> frozenset[str]:
    """Relatives, people named at the beginning of a clause, and the speaker as ""."""
    found: set[str] = set()
    may = not EN_OWNERS.isdisjoint(parts) and (not parts.isdisjoint(("my", "our")) or "baby" in lower)
    for match in _EN_OWNED(lower) if may else ():
        found.add(EN_KIN[match[1]])
        if match[2] and match[1] not in ("baby", "kid"):
            # "my mother's doctor" is about my mother.
            return frozenset(found)
    names: list[str] = [name.rstrip(".").lower() for name in _EN_NAMED.findall(text) if name not in _EN_NO_NAMES]
    found.update([EN_KIN.get(name, name) for name in names])
    if not found or _speaks_of_me(lower) or not ROLES.isdisjoint(found) or _EN_IS_MY(lower):
        found.add("")
    return _with_members(found)


def _with_members(people: Collection[str]) -> frozenset[str]:
    """People, with those whom *parents* and *child* may mean."""
    return frozenset(people).union(*(_MEMBERS.get(one, ()) for one in people))


_MEMBERS = {"child": ("daughter", "son"), "parents": ("mother", "father"), "sibling": ("brother", "sister")}


# Chinese.


def _zh(hints: str, pattern: str) -> _Pattern:
    return _Pattern(frozenset(hints), LazyPattern(pattern).search)


_ZH_KIN_WORDS = f"{KIN_WORDS}|医生|大夫"
# A class of all Chinese characters takes a millisecond to compile, one of what is beyond ASCII nothing.
_ZH_OWNED = LazyPattern(
    "(?:\\A|[，。；：,;]|现在|已经|以后)(?:我们?家?的?|咱们?家?的?|带我的)?(?:最好的|现在的|新)?"
    rf"({_ZH_KIN_WORDS})(的(?!名字))?"
).finditer
_ZH_ME = LazyPattern(rf"我(?!们?家?的?(?:{_ZH_KIN_WORDS})|的)|咱").search
_ZH_TO_US = LazyPattern(
    "[搬回过来住进接到]*[跟和与同到来]?我们?家?(?:一起|一块儿?|这[儿里边]?|身边)+(?:来?住|来)?|[搬来进住到]+我们?家"
).sub
_ZH_NO_NAME = "[小老阿][时区学说家房师公婆大二三心伙板实]"
_ZH_NAMED = LazyPattern(f"(?:\\A|[，。；,;])((?!{_ZH_NO_NAME})[小老阿][^\\W\\x00-\\x7f]|[A-Z][a-z]+(?![\\w@]))").findall
_ZH_SUBJECT = LazyPattern(
    "\\A(?:[^\\W\\x00-\\x7f]{2,4}[，：])?(?:现在)?(?:我们?|咱们?|家里)的?(?:新的?|现在的?)?([^\\W\\x00-\\x7f]{1,6}?)(?:现在|已经|以后)?"
    "(?:改?[是为叫在]|[改换]成|[改换]到)(?=.)"
    "|\\A(?:我们?|咱们?)?的?把?([^\\W\\x00-\\x7f的了过着他她它我你在不那这把住]{2,8}?)(?:[放存停挂]在|在(?=[^，。]+[里上下边旁后]\\W*\\Z))"
).match
_ZH_MOVED = LazyPattern(
    "\\A(?!公司|单位|学校)(?:我们?的?|咱们?的?)?([^\\W\\x00-\\x7f]{2,8}?)(?:已经|又|都|被|往后|往前|时间)?(?:改|推迟?|提前|延后?|挪|调整?|换)(?:到|成|为|至)"
    "|\\A(?:我们?|咱们?|他们)?把([^\\W\\x00-\\x7f]{2,8}?)(?:改|推|提前|延|挪|搬|移|刷|漆|换)(?:到|成|为|至)"
).match
_ZH_ANY_THING = frozenset("的课会班")
_ZH_OWNER = LazyPattern(
    "\\A(?!我|咱|家|你|自己|现在|以前|之前|新)([^\\W\\x00-\\x7f]{2,5}?)的(?!时候)[^\\W\\x00-\\x7f]{2,6}?(?:[是叫在]|[改换]成|[改换]到)"
).match
_ZH_RELATIVE = LazyPattern(
    rf"\A(?:我们?家?(?:{_ZH_KIN_WORDS})的|(?!老[公婆爸妈板师])(?:[小老阿][^\W\x00-\x7f]|[A-Za-z]+)家?的?)"
    rf"({_ZH_KIN_WORDS}|闺蜜|同学|对象)(?![是叫])"
).match
_ZH_NO_THING = LazyPattern("[了过着他她它我你吃喝想说坐用跑给从在不那这把再住爱]|喜欢|讨厌|今天|昨天|每天").search
_ZH_THING = LazyPattern(
    "\\A(?:[^\\W\\x00-\\x7f]{2,4}[，：])?(?:现在)?(?:我们?|咱们?)?的?(?:新的?|旧的?|现在的?)?([^\\W\\x00-\\x7f]{2,8}?)"
    "(?=[是在改换推提延叫要有没已现从搬定周约到涨降卖坏丢停死走今明，。\\d]|上[周个]|每)"
).match
_ZH_KIND = LazyPattern("|".join(ZH_KINDS)).findall
_ZH_OF_KIND = LazyPattern("([\u4e00-\u9fffA-Za-z]{1,3}?)的?(钥匙|密码)").findall
_ZH_NO_KIND = frozenset("的我把那个这新旧家你他她和跟是了用拿放在有没要给忘带改换找到配丢掉们不面下里")
_ZH_I = LazyPattern(rf"(?:现在|其实|更正：)?我(?!们?家?的?(?:{_ZH_KIN_WORDS})|们?的)").match
_ZH_ONE_OF_MINE = LazyPattern(
    rf"(?:现在)?我们?家?的?(?:{_ZH_KIN_WORDS})(?!的)|(?:邻居|同事|隔壁)[^的是叫]"
    rf"|(?:{_ZH_KIN_WORDS}|(?!{_ZH_NO_NAME})[小老阿][\u4e00-\u9fff])(?=[在住去搬换调不对喜爱有考上今现最也还穿戴吃喝用])[^，。；]*[。！]?\Z"
).match
_ZH_PRONOUNS = LazyPattern("[他她它]|(?<![个名])孩子|宝宝|老头|老太|老人家|小家伙|闺女|丫头").search
_ZH_SHE = LazyPattern(r"\W*(?:后来|现在|听说|昨天|上周|上个月)?[他她](?!.*[我咱])").match
_ZH_CLAUSE = LazyPattern("[，。；：！、,;:!\\s]+")

_ZH_DIGITS = "零一二两三四五六七八九十百千万"
_ZH_NUMBER = LazyPattern(
    rf"\d[\d.:]*|周[一二三四五六日]|"
    rf"[{_ZH_DIGITS}]+(?=[个只本条根包台辆岁码点楼层级斤号月日年块元公人次天家分])|[{_ZH_DIGITS}]*[十百千万][{_ZH_DIGITS}]*"
).findall
_ZH_BEGINS = _zh(
    "又开满到结交出领买找拿录入已生回毕",
    "又|开始|满\\d|到了|结婚|交[男女]朋友|出生|领养|买了|找到|拿到|录用|入职|已经|生了|回[来家]|毕业",
)
_ZH_CHANGES = _zh(
    "现如目改换搬升涨降跳变转推提延从以今其更不说写记弄打瘦胖减扩刷迷爱只住当定剪染烫挪移放重调缩加增剩往设派安",
    "现在|如今|目前|改|换|搬|升|涨|降|跳槽|变成|转[到去专行学入]|推迟|提前|延[后长期]|从[今明]天起|以后|今后|其实|更正|不对|[说写记弄打]错|不是|[瘦胖减扩增加缩挪移放调]到|刷新|打破|迷上|爱上"
    "|只[看用吃喝抽去]|住进|剩|当上?了?主管|定了|剪[短了]|[染烫]|重新|挪|移|延|[往]后|设成|派[到去]|定居|安[顿家]",
)
_ZH_ENDS = _zh(
    "卸不没再戒停放卖辞退取分离关倒去走调搬闹绝注扔送结断掉交让还删丢拆散到出痊好",
    "卸任|不再|没再|再也不|不[^，。；是对叫]{1,8}了|没有?[^，。；]{1,4}了|戒|停[了掉]|放弃|卖[了掉]|辞|退[了掉休出]|取消|分手|离[婚开职]|关门|倒闭|去世|走了|调走|搬走|闹翻|绝交|注销"
    "|扔[了下]|送人|不用了|结束|断了|改掉|交给|让给|还清|删了|丢[掉了]|拆[了掉]|散伙|没续|到期|出院|痊愈|好了",
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
    "可能|考虑|想[要去换搬当学买]|如果|要是|要不要|也许|计划|准备|希望|明年|下个?月|下周|将要?|说不定|打算|提醒|请[订帮]|应该|说[他她]",
)
_ZH_UNDECIDED = "(?:还没有?|尚未|没)(?:定|想好|决定|确定|商量好)"
_ZH_SUPPOSED = LazyPattern(
    "可能(?!性)|也许|或许|说不定|没准|如果|要是|假如|的话|考虑(?!过)|好想|(?<!不)打算|想着|琢磨着|犹豫|差一?点|险些|等[^，。]{1,8}再说"
    f"|{_ZH_UNDECIDED}|小时候|[^，。]那年|当年|年轻[时的]|那会儿|[大中小]学时|上学的?时候?"
).search
_ZH_BEFORE_UNDECIDED = LazyPattern(f"[，。,](?=(?:不过|但是?|可|[都也]|目前|现在|暂时)*{_ZH_UNDECIDED})").sub
_ZH_ONLY_PLANS = LazyPattern(
    "(?<!不)(?:想|打算|计划|准备|考虑|希望)(?:[要着过]|以后|明年|下个?月|将来)?[^，。；了]{0,2}[搬换去买学辞跳养转移卖戒改][^，。；了]*(?:[。！]|\\Z)"
).search
_ZH_LIKED = LazyPattern("(?:喜欢|讨厌|受不了|爱上?|迷上|怕)了?([^\\W\\x00-\\x7f])").findall
_ZH_EVENT = LazyPattern(
    "(?:周[一二三四五六日]|昨[天晚]|今[天早]|\\d+月|中午|刚才|那天)[^，。；]*(?<![改换搬到起烟家婚])了"
    "|(?<![养读租订住开有])了(?![，。；！\\s]|\\Z)|感到|感觉|觉得|发现|看到|收到|得到|参[加与]|期待|庆祝|一起(?!住)"
).search
_ZH_DENIED = LazyPattern("(?:不是|不叫|不在|并非)(\\w{2,8})").findall
_ZH_SMALL = LazyPattern(
    "现在|目前|如今|以前|之前|已经|每天|每周|从今天起|以后|今年|今天|昨天|上周|上个?月|去年|早上|晚上|上午|下午|中午|开始|喜欢|讨厌|其实|更正|不对|最爱|最好|特别|小时|分钟|我们?|咱们?|你们?|他们?"
    "|她们?|家里|家|自己|一个|一[只台本条辆家]|[的了是在有和跟与就都也还很又再不没把被给让从到对请要会能可以去来用说做上下里这那个吃喝看想当为着只改换新搬住爱叫]|过(?!敏)|[周星期月日年点分号岁]|\\d+"
)
_ZH_GENERIC = frozenset(ZH_KIN) | frozenset(
    "工作 上班 公司 朋友 时候 时间 东西 事情 地方 孩子 城市 生活 名字 杂志 会议 中学".split()
)


_ZH_TOPICS = {
    "home": _zh(
        "住搬居租活房独",
        "住在|住进|搬[到去家]|定居|租房|在[^，。]{1,6}生活|暂住|住[^，。]{0,4}家|买了房|一起住|找到房|合租|一个人住|独居",
    ),
    "job": _zh(
        "班槽业职辞工做当教开是干",
        "兼职|全职|上班(?!的?路)|跳槽|职业|辞[职掉]|失业|找到工作|升职|入职|工程师|店干|在[^，。]{1,8}工作|做(?:产品|销售|设计|开发|会计|老师|运营)|当(?:店员|老师|主管|经理|司机|医生|护士"
        "|程序员)|教(?:生物|数学|英语|语文)|开(?:网约车|出租车)|是(?:老师|护士|医生|司机|程序员|会计)",
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
_ZH_CUES: dict[str, _Pattern] = dict(
    zip(CUES, (_ZH_BEGINS, _ZH_CHANGES, _ZH_ENDS, _ZH_ADDS, _ZH_PAST, _ZH_PLANS), strict=False)
)


def _chinese(said: str) -> StatedText:
    text = usual_names(said)
    parts = frozenset(text)
    cues = _found(_ZH_CUES, text, parts)
    return StatedText(
        cues=cues | {"happened"} if _ZH_EVENT(text) else cues,
        topics=_found(_ZH_TOPICS, text, parts),
        subject=subject[1] or subject[2] if (subject := _ZH_SUBJECT(text)) else "",
        thing=_chinese_thing(text),
        kinds=_chinese_kinds(text),
        moved=frozenset(moved[1] or moved[2]) - _ZH_ANY_THING if (moved := _ZH_MOVED(text)) else frozenset(),
        owner=owner[1] if (owner := _ZH_OWNER(text)) else "",
        relative=relative[1] if (relative := _ZH_RELATIVE(text)) else "",
        about=SPEAKER if _ZH_I(text) else OTHER if _ZH_ONE_OF_MINE(text) else "",
        # The first one may belong to 我朋友.
        of_me="我" in _ZH_TO_US("", text)[2:],
        refers=_ZH_PRONOUNS(text) is not None,
        holders=_chinese_holders(text),
        words=_chinese_words(text),
        numbers=frozenset(_ZH_NUMBER(text)),
        denied=frozenset().union(*map(_chinese_words, _ZH_DENIED(text))),
        ended=_in_clauses(text, _ZH_CLAUSE, _ZH_ENDS.search, _chinese_words) if "ends" in cues else frozenset(),
        states=_ZH_ONLY_PLANS(text) is None,
    )


def _chinese_thing(text: str) -> tuple[str, ...]:
    """The thing that a text begins with: what it is of, and the two characters that say what it is."""
    found = _ZH_THING(text)
    words = "" if found is None or _ZH_NO_THING(found[1]) else found[1].replace("的", "").replace("家", "")
    return tuple(filter(None, (words[:-2], words[-2:])))


def _chinese_kinds(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word in _ZH_KIND(text):
        kind, name = ZH_KINDS[word]
        found.setdefault(kind, set()).add(name)
    for words, kind in _ZH_OF_KIND(text):
        found.setdefault(kind, set()).update(set(words.lower()) - _ZH_NO_KIND)
    return {kind: frozenset(names) for kind, names in found.items() if names}


def _chinese_words(text: str) -> frozenset[str]:
    """The pairs of characters and the Latin words that say what a text is about."""
    pairs = frozenset([term for term in query_terms(_ZH_SMALL.sub(" ", text)) if len(term) > 1]) - _ZH_GENERIC
    return pairs.union(_ZH_LIKED(text))


def _chinese_holders(text: str) -> frozenset[str]:
    """Relatives, people named at the beginning of a clause as 小王, and the speaker as ""."""
    found: set[str] = set()
    for match in _ZH_OWNED(text):
        if match.start() and not found:
            # 手环换成佳明了，老婆送的 is about what the speaker has.
            found.add("")
        found.add(ZH_KIN[match[1]])
        if match[2]:
            # 我妈妈的医生 is about my mother.
            return frozenset(found)
    found.update(name.lower() for name in _ZH_NAMED(text))
    if not found or not ROLES.isdisjoint(found) or _ZH_ME(_ZH_TO_US("", text)):
        found.add("")
    return _with_members(found)

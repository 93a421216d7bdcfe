"""Claims: what a text says about its speaker and others, read by rules, deterministically and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from memwell.language.claims import chinese_objects
from memwell.language.claims.beginnings import beginning_later
from memwell.language.claims.english_verbs import CONSULTED, OF_A_CHILD
from memwell.language.claims.relations import (
    EVENT,
    FAVOURITE,
    NICKNAME,
    PAST,
    PLAN,
    RELATIONS,
    USER,
    Claim,
    Relation,
    RuleMatch,
    Timing,
    relation_of,
    timing_of,
)
from memwell.language.claims.spelling import spelt
from memwell.language.dates import time_expressions
from memwell.language.patterns import LazyPattern
from memwell.language.sentences import TextSpan, sentences
from memwell.values import as_utc, check_text

if TYPE_CHECKING:
    from memwell.language.claims.chinese_said import NotOfSpeaker

__all__ = [
    "FAVOURITE",
    "RELATIONS",
    "USER",
    "Claim",
    "Reader",
    "Relation",
    "claims",
    "readings",
    "corrects",
    "in_jest",
    "is_a_stay",
    "follows",
    "is_secret",
    "relation_of",
]

Reader: TypeAlias = Callable[[str], Iterable[RuleMatch]]

LOOKED_AT = 100_000
"""How many characters of a text are read."""

_HAN = re.compile("[\u4e00-\u9fff]").search
_LATIN = re.compile("[A-Za-z]").search
_BEFORE_TIME = re.compile(
    r"\s+(?:in|on|at|since|for|from|by|until|till|around|back in|about|over|this|of)\s*\Z|[\s,]+\Z"
)
# How the words of a plan end that go on with what is no part of it, and verbs that alone are no plan.
_LEFT_OPEN = re.compile(
    r"(?:\s+(?:in|on|at|since|for|from|by|until|till|of|to|with))?\s+(?:the|an?)\Z|\s+(?:at|of|from|with)\Z"
).sub
_SAYS_NOTHING = frozenset("start starting begin beginning go going come coming be do get have make take".split())
_LONGEST_OBJECT = 120
_LONGEST_PRECEDING = 400
# What does not belong into a profile: words for secrets, and numbers as long as those of cards.
_SECRET = re.compile(
    r"\b(?:pins?|passwords?|passcodes?|passphrases?|cvv|cvc|ssn)\b|密码|口令|验证码|\d(?:[ -]?\d){11}", re.IGNORECASE
).search

# Days that no month has; by the lunar calendar, whose numbers are written out, the second month may have thirty.
_NO_DAY = re.compile(
    r"\bfeb[a-z]*\.? (?:the )?3[01](?!\d)|\b3[01](?:st|th)? (?:of )?feb"
    r"|\b(?:apr|jun|sep|nov)[a-z]*\.? (?:the )?31(?!\d)|\b31(?:st)? (?:of )?(?:apr|jun|sep|nov)"
    r"|^(?![农阴]历)(?:.*\D)?(?:0?2\s?月\s?3[01]|(?:0?[469]|11)\s?月\s?31)(?!\d)",
    re.IGNORECASE,
).search
_ENDS_IN_TIME = re.compile(r"\d(?:\s?[:：]\s?|[./-]|(?:st|nd|rd|th),? (?:(?:and|or|to) )?)\Z").search
_GOES_ON_AS_TIME = re.compile(
    r"\s?[:：]\s?\d|[./-]\d|\s?(?:[ap]\.?m\b|o['’]clock)|[点时分号日月]|(?:st|nd|rd|th)\b"
).match


# How a text begins that takes back what was said before it: surely, likely, or with words that may also answer a question.
_SORRY = r"(?:(?:oh|ah|ugh|sorry|no|wait|actually)\b[\s,.!…]*)*"
_SORRY_ZH = r"(?:[哦噢啊哎呃]，?)?(?:抱歉|不好意思|对不起)?[，,]?"
_TAKES_BACK = re.compile(
    rf"{_SORRY}(?:correction|typo|my (?:bad|mistake|apologies)|i (?:misspoke|mistyped))\b"
    rf"|{_SORRY_ZH}(?:我?(?:刚才|刚刚|上面|前面)?(?:说|打|写|讲|记|搞|弄)错|更正|纠正|口误|手滑)",
    re.IGNORECASE,
).match
_CLAUSE = (
    r"(?:he|she|it|they|i|we|my \w+)"
    r"(?:['’](?:s|m|re)| (?:is|am|are|was|lives?|works?|has|have|speaks?|stud(?:y|ies))\b)"
)
_LIKELY_TAKES_BACK = re.compile(
    rf"{_SORRY}(?:oops|whoops|i mean|i meant|scratch that|make that)\b"
    rf"|{_SORRY}sorry[\s,.!…]+{_CLAUSE}(?:\s+[\w'’-]+){{1,10}}[.!]*\s*\Z"
    rf"|{_SORRY}(?:and |but )?it(?:['’]s| has| was|['’]d)?(?: just| now)? (?:got |been |gotten )*"
    r"(?:moved|pushed|rescheduled|postponed|changed|shifted)(?: back| forward)? to\b"
    rf"|{_SORRY_ZH}(?:时间|日期|又|后来|已经|现在|被){{0,3}}(?:改|推迟|提前|延期|延后|挪|调整?)[到成为至]"
    rf"|{_SORRY_ZH}(?:应该是|我是说|我的意思是|不对[，,]?(?:应该)?是(?!不是))",
    re.IGNORECASE,
).match
_MAY_TAKE_BACK = re.compile(
    rf"{_SORRY}(?:sorry|no|wait|actually)[,.!…]+(?:\s*[\w'’-]+){{1,4}}[.!]*\s*\Z"
    rf"|{_SORRY}(?:no|wait|actually)[\s,.!…]+{_CLAUSE}(?:\s+[\w'’-]+){{1,10}}[.!]*\s*\Z"
    r"|(?:[哦噢啊哎呃]，?)?(?:不对|不是|哦不|不[，,])[^？?吗]{1,12}\Z",
    re.IGNORECASE,
).match
_LEADS = (
    r"(?:(?:oh|ah|ugh|argh|er+|um+|sorry|no|nope|wait|well|actually|rather|hang on|hold on|"
    r"(?P<sure>oops|whoops|typo|correction|my (?:bad|mistake)|I mean|I meant|make that|scratch that))\b[\s,.!:;…—–-]*)+"
)
_LEADS_ZH = (
    r"(?:(?:[哦噢啊哎呃嗯]|抱歉|不好意思|对不起|不对|不是|不|(?P<sure_zh>(?:我?(?:刚才|刚刚)?[说打写讲记搞弄])?错了?|更正(?:一下)?|口误"
    r"|手滑|我是说|应该是|准确地?说))[，,。.！!：:…\s]*)+"
)
_VALUE = r"[^\s,.;:!?，。！？、；：][^,;!?，。！？、；：]{0,39}?"
_BARE = re.compile(
    rf"\s*(?:{_LEADS}(?:not [^,.;!?]{{1,40}}[,;:—–-]+\s*)?|(?:no,? )?not [^,.;!?]{{1,40}}[,;:—–-]+\s*(?:but )?|\*\s?)"
    rf"(?:(?:it['’]s|that['’]s|an?|the|in|at|on|for|from|to) )*(?P<value>{_VALUE})"
    rf"(?:[,.]? (?:sorry|typo|oops|my (?:bad|mistake)))?"
    # "Sorry 975, Jonny says I can't read"
    rf"(?:(?<=\d)[,;.] (?:I|my|it|we|[a-z]+ (?:says|said|reckons|tells me))\b[^.!?\n]{{0,60}})?[.!\s]*\Z"
    rf"|\s*(?P<first>{_VALUE})[,.]? (?:sorry|I meant?|typo|oops|my (?:bad|mistake)|correction)[.!\s]*\Z"
    rf"|\s*{_LEADS_ZH}(?:是|叫|在|对)?(?P<value_zh>{_VALUE})[。.！!\s]*\Z"
    rf"|\s*(?P<first_zh>{_VALUE})[，,](?:抱歉|不好意思|对不起|[说打写讲记]错了)[。.！!\s]*\Z",
    re.IGNORECASE,
).match
"""A text that only gives a value, with words of correction before or behind it."""
_NO_VALUE = re.compile(
    r"(?:i|you|he|she|it|we|they|this|that|there|what|who|not|never|nothing|thanks?|please|yes|yeah|no|ok(?:ay)?|sure|my|your"
    r"|forget|ignore|wrong|again|too|really|just)\b|.*(?:['’](?:m|re|ve|ll)|n['’]t)\b|.*\b(?:is|are|was|were|am|have|has|had|do|does)\b"
    "|.*[我你您他她它这那谁啥吗呢吧了的]|(?:谢|没|不|是|好|可以|对|算|忘|别|再|也|都)",
    re.IGNORECASE,
).match
_NUMBER = re.compile(
    r"\d{1,3}|(?:[a-z]+teen|[a-z]+ty(?:[ -][a-z]+)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    "|[一二三四五六七八九十两百]+",
    re.IGNORECASE,
).fullmatch
_DAY_ZH = re.compile(r"[\d一二三十廿]{1,3}[号日]").fullmatch
_OF_INFANT = re.compile("[1-4一两二三四](?:岁半?)?").fullmatch
"""An age at which no one writes yet: that of a child or a pet."""
_IT = re.compile(r"\b(?:it|that|them)(?=[.!\s]*\Z)|(?:它们?|这个|那个)(?=[。！!\s]*\Z)", re.IGNORECASE).sub
_TRANSFERRED = re.compile(r"\b(?:transferred|reassigned|posted) to\b", re.IGNORECASE).search
_NAMES = frozenset(
    "name lives_in works_at works_in from studies_at studies_in graduated_from pet visited speaks".split()
)
_CLOSED = frozenset("age birthday diet email name nationality phone speaks".split())
"""Relations whose rules know a value when they see one."""
in_jest = re.compile(
    r"\W*(?:(?:ha)+h?\W+|lol\W+|oh\W+|no[,.!…]\W*|nah\W+)*(?:I['’]?m |I was |that was |it was )?(?:just |only |all )?"
    r"(?:(?:kidding|joking|jk)\b(?! aside)|(?:pulling|messing|teasing)\b.{0,12}\byou\b|a joke(?=\W*(?:\Z|[,.!])))|"
    "\\W*(?:[哈嘿嘻]+\\W*)?(?:我|刚才|刚刚|前面){0,2}(?:都是|就是|只是|是|在)?(?:[跟和]你)?"
    "(?:开(?:个|了个)?玩笑|逗你们?玩?|骗你们?|骗人|说着玩|瞎说|胡说|瞎编)(?:的|[啦呢哈呀哦了])*(?=\\W|\\Z)",
    re.I,
).match
"""How a text begins that takes back, as a jest, what was said just before it."""
_DISOWNS = re.compile(
    r"\W*(?:(?:but|well|actually|technically|really|sorry|no|oh|wait|though)\b[\s,.]*){0,3}"
    r"(?:(?:it|he|she|that)(?:['’]s| is| actually| really| technically|n['’]t|(?= belongs))*\s"
    r"(?:not |actually |really |technically )*(?:my \w+['’]s\b|mine\b|belongs to\b|borrowed\b)"
    r"|I['’]?m (?:just |only )*(?:borrowing|renting|minding) (?:it|him|her)\b|not mine\b|my \w+['’]s\W*\Z)"
    "|(?:不过|但|其实|可|哦|不对)*[，,]?(?:它|那|这)?(?:其实)?(?:不是我的|是(?:我|帮|替)?\\S{1,4}的\\W*\\Z|借的)",
    re.IGNORECASE,
).match
"""How a text begins that says that what was said before it is another's."""
# How a text begins that is about someone who was named before it.
_REFERS = re.compile(
    r"\W*(?:(?:and|but|so|oh|also|well|then|actually|sorry|no|wait|sadly|unfortunately|btw|by the way)\b[\s,]*){0,3}"
    r"(?:he|she|his|her)(?=['’ ])"
    r"|(?:[哦唉啊哎嗯对][，,]?|对了[，,]|后来|不过|但是?|可惜|而且)?[他她](?!们|俩)",
    re.IGNORECASE,
).match
_CANCELS = re.compile(
    r"\W*(?:(?:but|so|and|sadly|unfortunately|oh no|ugh)\b[,! ]*)*(?:my|the|our) [a-z]+(?:['’]s| is| was| got| has)"
    r"(?: just| been)* (?:cancell?ed|called off)\b"
    "|(?:我的?|可惜)?(?:航班|机票|车票|行程|高铁票?|火车票?|旅行|出差|酒店)(?:被|都|临时|已经|又)*(?:取消|退|停飞)掉?了",
    re.IGNORECASE,
).match
"""How a text begins that says that nothing will come of the plan before it."""
_NICKNAMES = re.compile(
    r"\b(?:calls? me|nicknam\w+|goe?s? by|knows? me as)\b[^,.;]*\Z|(?:[叫喊]我|称呼?我|外号|绰号|小名)[^，。]*\Z",
    re.IGNORECASE,
).search
_NOW = re.compile(r"\s+(?:now|these days|from now on)\b", re.IGNORECASE).match
"""Who goes by a name now has changed it."""
_LONGEST_RUN = 2_000
_LONGEST_BARE, _MOST_BARE_WORDS = 80, 4


def corrects(text: str) -> str:
    """Whether a text corrects what the same person said before it, or "".

    "surely"; "likely" (unless it answers a question); or "maybe" (only what stands directly before it).
    """
    if _TAKES_BACK(text) or in_jest(text):
        return "surely"
    if _DISOWNS(text):
        return "likely"
    return "likely" if _LIKELY_TAKES_BACK(text) else "maybe" if _MAY_TAKE_BACK(text) or _bare(text)[0] else ""


def follows(text: str) -> str:
    """Whether a text is understood by what the same person said before it: a correction, an end, or who *she* is."""
    return corrects(text) or ("likely" if _REFERS(text) or _CANCELS(text) else "")


def claims(
    text: str,
    *,
    speaker: str = "",
    time: datetime,
    preceding: tuple[str, datetime] | None = None,
    reader: Reader | None = None,
) -> list[Claim]:
    """What a text says about its speaker and people it names, in the order of the text; doubtful claims are left out.

    ``speaker`` is who says *I* ("user" when empty), ``time`` when. ``preceding`` is what the same person said just before,
    and when: "Sorry, I meant Leicester" and "She works there too" are understood by it. ``reader`` is a model that reads
    texts too: what only the rules read is left out where it is against it, and what it is sure of is added. Raises
    ``InvalidInput`` for a text or speaker that is no string and a time that is no datetime.
    """
    written = spelt(check_text(text, "a text")[:LOOKED_AT])
    found = _claims(written.text, speaker, time, preceding, reader)
    if written.shouted:
        found = [msgspec.structs.replace(one, subject=_titled(one.subject), object=_named(one)) for one in found]
    if written.places is None:
        return found
    spans = [(one, *written.written(one.start, one.end)) for one in found]
    return [msgspec.structs.replace(one, start=start, end=end) for one, start, end in spans]


def readings(text: str, reader: Reader, speaker: str = "") -> Iterator[Claim]:
    """What a reader reads from a text without the rules, however unsure it is: its probability is the confidence."""
    written = spelt(check_text(text, "a text")[:LOOKED_AT]).text
    spans = _runs(written)
    likely = _likely(reader, written, spans)
    for start, end, sentence in spans:
        read = _within(likely, start, end)
        for one in _of_whom(read, sentence) if _HAN(sentence) else read:
            words = sentence[one.object_start : one.object_end]
            if words and not is_secret(one.relation, words) and (_HAN(sentence) or not _is_mistaken(one, sentence)):
                subject = _subject(one, speaker.strip() or USER)
                yield Claim(
                    subject=subject, relation=one.relation, object=words, confidence=one.confidence, negated=one.negated
                )


def _named(claim: Claim) -> str:
    """The object of a claim that was read in small letters instead of capitals."""
    relation = relation_of(claim.relation)
    is_name = claim.relation in _NAMES or (relation is not None and relation.people)
    return _titled(claim.object) if is_name else claim.object


def _titled(words: str) -> str:
    return words if words.startswith(USER) else words.title()


def _claims(
    text: str, speaker: str, time: datetime, preceding: tuple[str, datetime] | None, reader: Reader | None
) -> list[Claim]:
    if preceding is not None and follows(text):
        said = _correcting(text, speaker, time, *preceding) if corrects(text) else []
        said = said or (_following(text, speaker, time, preceding[0]) if _REFERS(text) or _CANCELS(text) else [])
        if said:
            return said
    if _HAN(text) and "我" not in text and (corrects(text) == "maybe" or _NUMBER(_bare(text)[0].rstrip("岁"))):
        # 不是，在小米 answers a question, and does not say of whom; nor does 不对，是7岁 after what was not read.
        return []
    moment = as_utc(time, "time")
    who = check_text(speaker, "a speaker").strip() or USER
    stated: dict[tuple[str, str, str], Claim] = {}
    taken_out: list[tuple[str, str, str]] = []
    """What is stated better, or was not meant: "a cat" that has a name, an end in jest."""
    matched = _recently_matched(text) if len(text) <= _LONGEST_KEPT else _matched(text)
    likely = None if reader is None else _likely(reader, text, [span for span, _ in matched])
    for (start, end, sentence), matches in matched:
        if likely is not None:
            matches = _weighed(matches, _within(likely, start, end), sentence)
        # A clause may state several claims; its time is read once.
        timings: dict[tuple[int, int, str, bool], Timing] = {}
        for found in matches:
            clause = (found.start, found.end, found.kind, found.lasting)
            if clause not in timings:
                timings[clause] = _timing(found, sentence, moment)
            claim = _claim(found, sentence, start, who, moment, timings[clause])
            if claim is not None:
                claim = _specified(claim, text, stated)
                key = (claim.subject, claim.relation, claim.object.casefold())
                if not claim.confidence:
                    taken_out.append(key)
                    continue
                before = stated.get(key)
                # Said again it is the same claim, unless it is withdrawn, or was and is stated after all.
                if (
                    before is None
                    or (claim.negated and not before.negated)
                    or (before.negated and not claim.negated and claim.start >= before.end)
                ):
                    stated[key] = claim
    for gone in taken_out:
        for key in [one for one in stated if _is_taken_out(one, gone)]:
            del stated[key]
    found = beginning_later(_agreeing(stated, text, who), text, moment)
    return sorted(found, key=lambda claim: (claim.start, claim.end))


def _timing(found: RuleMatch, sentence: str, time: datetime) -> Timing:
    """When what was found in a sentence holds, by its clause; of a plan without a time there, by its sentence."""
    timing = timing_of(sentence[found.start : found.end], found.kind, time, lasting=found.lasting)
    return _dated(sentence, time) if found.kind == PLAN and not found.negated and timing.start < 0 else timing


def _dated(sentence: str, time: datetime) -> Timing:
    """The end of a plan by the only time that its sentence names outside of its clause: "My flight is on Friday"."""
    if len(sentence) > _LONGEST_DATED:
        return Timing()
    named = [one for one in time_expressions(sentence, now=time, ahead=True) if one.kind in ("date", "time", "range")]
    return timing_of(sentence, PLAN, time)._replace(start=-1) if len(named) <= 1 else Timing()


_LONGEST_DATED = 300


def _agreeing(stated: Mapping[tuple[str, str, str], Claim], text: str, speaker: str) -> list[Claim]:
    """The claims of a text as they are meant together."""
    gone = {one.object for one in stated.values() if one.relation == "pet" and one.negated}
    # Of a pet that is no more, nothing is stated.
    kept = [one for one in stated.values() if one.relation != "kind" or one.subject not in gone]
    named = [one for one in kept if one.relation == "kind" and (speaker, "pet", one.subject.casefold()) in stated]
    kinds = {one.object for one in named}
    works = {one.subject for one in kept if one.relation == "works_in"}
    return [
        # Who works in Boston and is transferred to Denver works there.
        msgspec.structs.replace(one, relation="works_in")
        if one.relation == "lives_in" and one.subject in works and _TRANSFERRED(text, one.start, one.end)
        else one
        for one in kept
        # In "My cat is called Tim. Can my cat eat fish?" there is one cat.
        if not (one.object in kinds and _is_mine(one, text))
    ]


def _specified(claim: Claim, text: str, stated: Iterable[tuple[str, str, str]]) -> Claim:
    """The claim: a nickname as one, and the end of a plan with the words in which that was stated, without its time."""
    at = text.rfind(claim.object, 0, claim.end) if claim.relation == "name" else -1
    if at >= 0 and _NICKNAMES(text, claim.start, at) and not _NOW(text, at + len(claim.object)):
        return msgspec.structs.replace(claim, confidence=NICKNAME)
    if claim.relation != "plans" or not claim.negated:
        return claim
    same = (one for one in stated if one[:2] == (claim.subject, claim.relation) and one[2])
    words = next((one[2] for one in same if claim.object.casefold().startswith(one[2])), "")
    return msgspec.structs.replace(claim, object=claim.object[: len(words)]) if words else claim


def _is_mine(claim: Claim, text: str) -> bool:
    """Whether a pet is only spoken of as the speaker's, without a name: *my cat*."""
    return claim.relation == "pet" and text[claim.start : claim.end].lower().startswith(("my ", "our "))


def _is_taken_out(one: tuple[str, str, str], gone: tuple[str, str, str]) -> bool:
    """Whether what is stated is what was not meant: a black cat is a cat; without a value, only what has none."""
    return one[:2] == gone[:2] and (one[2].endswith(gone[2]) if gone[2] else not one[2])


def _correcting(text: str, speaker: str, time: datetime, preceding: str, since: datetime) -> list[Claim]:
    """What a text takes back of the one before it, and what it says instead; nothing when it is about something else."""
    before = f"{preceding[-_LONGEST_PRECEDING:]}\n"
    known = {_stated(claim): claim for claim in claims(before, speaker=speaker, time=time)}
    joint = {_stated(claim): claim for claim in claims(before + text, speaker=speaker, time=time)}
    found = {key: claim for key, claim in joint.items() if key not in known}
    if in_jest(text) or _DISOWNS(text):
        gone = [claim for key, claim in known.items() if key not in joint]
        begins = as_utc(since, "time")
        # What was said in jest to be over goes on as if it had never been said.
        taken = [
            msgspec.structs.replace(
                one, negated=not one.negated, valid_from=begins, object="" if one.negated else one.object
            )
            for one in gone
        ]
        found |= {_stated(one): one for one in taken}
    elif {claim.negated for claim in found.values()} != {True, False}:
        # What is corrected must have something in its place: "no, Tuesday" may be about anything.
        given = (text, speaker, time, preceding[-_LONGEST_PRECEDING:], as_utc(since, "time"))
        return _replaced(*given) or _reversed(*given)
    return [_moved(claim, len(before), len(text), as_utc(since, "time")) for claim in found.values()]


def _bare(text: str) -> tuple[str, bool]:
    """The value of a text that is nothing else but a correction, and whether it surely is one; empty for others."""
    found = _BARE(text) if len(text) <= _LONGEST_BARE else None
    if found is None:
        return "", False
    value = found["value"] or found["first"] or found["value_zh"] or found["first_zh"]
    is_value = not _NO_VALUE(value) and len(value.split()) <= _MOST_BARE_WORDS
    return (value if is_value else ""), bool(found["sure"] or found["sure_zh"] or found["first"] or found["first_zh"])


def _replaced(text: str, speaker: str, time: datetime, before: str, since: datetime) -> list[Claim]:
    """The last statement with a bare value in place of its value of the same kind, and what that takes back.

    The value is of the same kind when the statement, read with it, says the same with it: "I'm 45." and "Sorry, 44".
    """
    value, sure = _bare(text)
    for claim in reversed(claims(before, speaker=speaker, time=time)) if value else ():
        at = before.find(claim.object, claim.start) if claim.object and not claim.negated else -1
        number = _NUMBER(claim.object) is not None
        new = value.rstrip("岁") if number else _ending(claim.object, value) if claim.relation == "phone" else value
        if _DAY_ZH(new) and "月" in claim.object:
            # 5月8号。不对，9号。
            new = claim.object[: claim.object.index("月") + 1] + new
        if at < 0 or number != (_NUMBER(new) is not None) or not _is_alike(claim, new, sure=sure):
            continue
        changed = f"{before[:at]}{new}{before[at + len(claim.object) :]}"
        if bool(_HAN(new)) != bool(_HAN(claim.object)):
            changed = _PLAINLY[claim.relation][_HAN(new) is not None].format(new) if claim.relation in _PLAINLY else ""
        for one in claims(changed, speaker=speaker, time=time):
            if (one.subject, one.relation, one.object, one.negated) == (claim.subject, claim.relation, new, False):
                place = {"start": 0, "end": len(text)}
                gone = msgspec.structs.replace(claim, negated=True, valid_from=since, valid_to=None, **place)
                return [gone, msgspec.structs.replace(one, **place)]
    return []


def _ending(number: str, value: str) -> str:
    """A telephone number whose last digits are those of a value such as *ends 0184*; else the value."""
    last = _LAST_DIGITS(value)
    places = [place for place, one in enumerate(number) if one.isdigit()]
    if last is None or len(last[1]) >= len(places):
        return value
    digits = list(number)
    for place, digit in zip(places[-len(last[1]) :], last[1], strict=True):
        digits[place] = digit
    return "".join(digits)


_LAST_DIGITS = re.compile(
    r"(?:(?:ends|ending|finishes|finishing)(?: in| with| on)? |(?:尾号|最后[几三四两]位|后[三四两]位)(?:是"
    r"|应该是)?)?(\d{2,5})",
    re.IGNORECASE,
).fullmatch
_PLAINLY = {
    "lives_in": ("I live in {}.", "我住在{}。"), "works_at": ("I work at {}.", "我在{}工作。"),
    "works_in": ("I work in {}.", "我在{}工作。"), "name": ("My name is {}.", "我叫{}。"),
    "from": ("I come from {}.", "我来自{}。"), "studies_at": ("I study at {}.", "我在{}读书。"),
    "occupation": ("I am a {}.", "我是{}。"), "allergic_to": ("I am allergic to {}.", "我对{}过敏。"),
}  # fmt: skip
"""How a value in the other language than the statement that it corrects is read: "I live in Lyon." and 不对，是南京."""
_TASTES = {"likes": "dislikes", "dislikes": "likes"}


def _reversed(text: str, speaker: str, time: datetime, before: str, since: datetime) -> list[Claim]:
    """The opposite of the last taste that was stated, and what that takes back: "I love jazz." and "No, I hate it"."""
    for claim in reversed(claims(before, speaker=speaker, time=time)):
        if claim.relation in _TASTES and not claim.negated:
            said = claims(_IT(claim.object.replace("\\", r"\\"), text), speaker=speaker, time=time)
            place = {"start": 0, "end": len(text)}
            return [
                msgspec.structs.replace(changed, **place)
                for one in said
                if (one.subject, one.relation, one.negated) == (claim.subject, _TASTES[claim.relation], False)
                and one.object.casefold() == claim.object.casefold()
                for changed in (msgspec.structs.replace(claim, negated=True, valid_from=since, valid_to=None), one)
            ]
    return []


def _is_alike(claim: Claim, value: str, *, sure: bool) -> bool:
    """Whether a value may stand for another by its looks: a name for a name; what is no name only where that is sure."""
    if value.casefold() == claim.object.casefold():
        return False
    if bool(_HAN(value)) != bool(_HAN(claim.object)):
        return claim.relation in _PLAINLY
    if claim.relation in _CLOSED or _HAN(value):
        return True
    return claim.object[0].isupper() == value[0].isupper() and (sure or value[0].isupper())


def _following(text: str, speaker: str, time: datetime, preceding: str) -> list[Claim]:
    """What a text says, where *he* and *she* may mean someone in the one before it."""
    before = f"{preceding[-_LONGEST_PRECEDING:]}\n"
    joint = claims(before + text, speaker=speaker, time=time)
    by = len(before)
    return [msgspec.structs.replace(one, start=one.start - by, end=one.end - by) for one in joint if one.start >= by]


def _stated(claim: Claim) -> tuple[str, str, str, bool]:
    return claim.subject, claim.relation, claim.object, claim.negated


def _moved(claim: Claim, by: int, length: int, said: datetime) -> Claim:
    """The claim at its place in the text that begins so much later; what that takes back was not true when it was said."""
    start, end = (claim.start - by, claim.end - by) if claim.end > by else (0, length)
    since = said if claim.negated else claim.valid_from
    return msgspec.structs.replace(claim, start=max(0, start), end=end, valid_from=since)


def _runs(text: str) -> list[TextSpan]:
    """The sentences; Chinese ones that follow each other are one span, because one may correct another."""
    joined: list[TextSpan] = []
    for span in sentences(text):
        before = joined[-1] if joined else None
        near = before and span.end - before.start <= _LONGEST_RUN and not text[before.end : span.start].strip()
        if before and near and _HAN(before.text) and _HAN(span.text):
            joined[-1] = TextSpan(before.start, span.end, text[before.start : span.end])
        else:
            joined.append(span)
    return joined


class _Trust(NamedTuple):
    """How far a reader is trusted, by writers whom it had not seen.

    What it gives less than ``doubted`` is left out although a rule reads it; what it gives ``sure`` is read without a rule.
    ``misread`` are relations that it takes for others more often, with thresholds of their own.

    An end that a rule reads is confirmed by any match of the reader: few words speak of nothing else.
    """

    doubted: float
    sure: float
    misread: frozenset[str]
    misread_doubted: float
    misread_sure: float

    def confirms(self, read: RuleMatch, *, doubtful: bool) -> bool:
        """Whether what a reader reads is enough for what a rule reads."""
        return read.confidence >= (self.misread_doubted if doubtful else self.doubted)

    def is_sure(self, read: RuleMatch) -> bool:
        """Whether what a reader reads needs no rule."""
        return read.confidence >= (self.misread_sure if read.relation in self.misread else self.sure)


_MISREAD = "occupation lives_in works_at plans pet speaks nationality from studies name friend sibling hobby relative"
_MISREAD_ZH = (
    "age nationality works_at studies_at speaks married_to partner parent child sibling owns likes dislikes allergic_to "
    "plans"
)
_TRUST = _Trust(0.1, 0.97, frozenset(_MISREAD.split()), 0.1, 0.99)
_TRUST_ZH = _Trust(0.1, 0.9, frozenset(_MISREAD_ZH.split()), 0.3, 0.97)
_NOT_DOUBTED = frozenset("kind believes works_in studies_in name allergic_to email phone".split())
"""What a reader does not know of, or less of than the rules; and allergies: to miss one harms more than one too many."""
_WITH_CAPITALS = LazyPattern(r"[A-Z][\w&-]*(?: (?:of|and|&|[A-Z][\w&-]*))+").fullmatch
"""The title of a job as firms write it, which is rarely a jest: *Head of Design*."""
_LEFT_TO_RULES = frozenset(("favourite", "email", "phone"))
_ALIKE = ({"likes", "hobby"}, {"bought", "owns"}, {"partner", "married_to"})


def _weighed(matches: Sequence[RuleMatch], likely: Sequence[RuleMatch], sentence: str) -> list[RuleMatch]:
    """What the rules found in a sentence and a reader does not doubt, and what else it is sure of."""
    likely = [one._replace(subject=_whole_name(one, likely, matches, sentence)) for one in likely]
    trust = _TRUST_ZH if _HAN(sentence) else _TRUST
    if trust is _TRUST_ZH:
        likely = list(_of_whom(likely, sentence))
    pets = {one.subject for one in matches if one.relation == "kind"}
    kept = [
        one
        for one in matches
        if not one.confidence
        or (one.relation == "pet" and _is_unread(one, sentence, pets, likely))
        # What ends of those that have a name is of nothing where there is no such pet.
        or (one.relation == "pet" and one.negated)
        or one.relation in _NOT_DOUBTED
        or (one.relation == "occupation" and _WITH_CAPITALS(one.object or sentence[one.object_start : one.object_end]))
        or one.relation.startswith(FAVOURITE)
        or not _has_object(one, sentence)
        or any(_confirms(other, _placed(one, sentence), trust) for other in likely)
    ]
    left = _LEFT_TO_RULES | {"partner"} if CONSULTED(sentence) else _LEFT_TO_RULES
    added = (
        one
        for one in likely
        if trust.is_sure(one)
        and one.relation not in left
        and not (one.relation == "lives_in" and _is_no_home(one, kept, sentence))
        and not (_is_mistaken_zh(one, likely, sentence) if trust is _TRUST_ZH else _is_mistaken(one, sentence))
    )
    return kept + [
        one
        for one in added
        # Where both read the same object, the rule says whether it is over.
        if not any(
            _is_same(_placed(other, sentence), one._replace(negated=other.negated or other.kind == PAST))
            for other in kept
        )
    ]


def _of_whom(likely: Sequence[RuleMatch], sentence: str) -> Iterator[RuleMatch]:
    """What a reader takes for the speaker's, of the person whom its clause is about; without it where that is not known."""
    others = _not_of_speaker()(sentence) if likely else []
    for one in likely:
        if not one.negated and _MISSAID(sentence[: one.object_start]):
            one = one._replace(negated=True)
        clause = next((some for some in others if some.start <= one.object_start < some.end), None)
        if clause is not None and not clause.states:
            # Enough for what a rule reads even there, not for what none does.
            yield one._replace(confidence=min(one.confidence, _TRUST_ZH.misread_doubted))
            continue
        if one.subject and clause is not None:
            # 柚子 of 小柚子
            yield one._replace(subject=next((who.name for who in clause.who if one.subject in who.name), one.subject))
            continue
        if one.kin or one.subject or clause is None or _OF_ME(sentence, *(clause[:2] if clause.who else ())):
            yield one
            continue
        named = [who for who in clause.who if who.name == sentence[one.object_start : one.object_end]]
        # 侄女洋洋出国了 says who she is; 陈浩结婚了 not that he is the speaker's husband.
        if one.relation in _KNOWN_TO or (named and one.relation in _NAMED_AS - {"married_to", "partner"}):
            yield one
        elif not named:
            yield from (one._replace(subject=who.name, kin=who.kin) for who in clause.who)


_MISSAID = LazyPattern("(?:说|打|写|记|念|叫|听|看|认|喊|署)(?:错?成|错?作|错?为)了?[“「『\"'‘]?\\Z").search
_OF_ME, _KNOWN_TO = LazyPattern("[我俺咱]").search, frozenset(("friend", "colleague"))


def _whole_name(read: RuleMatch, likely: Iterable[RuleMatch], ruled: Iterable[RuleMatch], sentence: str) -> str:
    """The subject that a reader read, whole where it read a part of a name (旺 of 旺财); no more of it than a rule reads.

    A lone character is no name: 领 of 领养.
    """
    read_as, ruled_as = (
        [sentence[one.object_start : one.object_end] for one in some if one.relation in _NAMED_AS]
        for some in (likely, ruled)
    )
    alone = "" if len(read.subject) == 1 and _HAN(read.subject) else read.subject
    longer = (one for one in read_as if read.subject and one.startswith(read.subject))
    # 桑桑领 of 桑桑领养了
    shorter = (one for one in ruled_as if len(one) > 1 and _HAN(one) and read.subject.startswith(one))
    return next(longer, None) or next(shorter, alone)


_NAMED_AS = frozenset("pet child sibling parent relative partner married_to friend colleague".split())


def _is_no_home(read: RuleMatch, kept: Iterable[RuleMatch], sentence: str) -> bool:
    """Whether a place that a reader takes for a home is one where someone stays for days, or by a rule works or studies."""
    places = [_placed(one, sentence) for one in kept if one.relation in _NO_HOMES]
    return is_a_stay(sentence) is not None or any(
        one.object_start < read.object_end and read.object_start < one.object_end for one in places
    )


_NO_HOMES = frozenset("works_in works_at studies_in studies_at visited from".split())


def _is_unread(pet: RuleMatch, sentence: str, named: Container[str], likely: Iterable[RuleMatch]) -> bool:
    """Whether a pet is named with its kind, as in "our lurcher, Basil", and a reader does not take it for another's."""
    first, last = pet.object_start, pet.object_end
    others = [one for one in likely if one.relation == "pet" and (one.subject or one.kin)]
    return sentence[first:last] in named and not any(
        one.object_start < last and first < one.object_end for one in others
    )


def _confirms(read: RuleMatch, one: RuleMatch, trust: _Trust) -> bool:
    """Whether what a reader reads is the match of a rule, of the same subject."""
    # Who is named in full is spoken of.
    doubtful = one.relation in trust.misread and " " not in one.subject
    # It reads a *twin sister* as a sister, which is preferred where it is sure.
    kin = read.kin == one.kin or (not trust.is_sure(read) and read.kin.split()[-1:] == one.kin.split()[-1:])
    same = read.subject.casefold() == one.subject.casefold() and kin
    # It takes a grandchild, whose parent is named, for a child of the speaker.
    same = same or (one.relation == "child" and bool(one.subject or one.kin) and not (read.subject or read.kin))
    if one.relation == read.relation and one.relation in ("pet", "married_to", "partner"):
        # It takes "our dog Rex was ill" for the end of Rex, and 我们结婚了 for that of a marriage.
        read = read._replace(negated=one.negated or one.kind == PAST)
    return same and (one.negated or trust.confirms(read, doubtful=doubtful)) and _is_same(one, read)


def _is_mistaken(read: RuleMatch, sentence: str) -> bool:
    """Whether the words speak against what a reader is sure of: a vet is no pet, nor a gym a school, nor a jest a fact."""
    if _JESTS(sentence):
        return True
    before = sentence[max(0, read.object_start - _LONGEST_BEFORE) : read.object_start]
    if read.relation in _NAMED_AS and not (read.subject or read.kin):
        called = _calls_other(before, sentence[read.object_start : read.object_end], sentence[read.object_end :])
        if _ASKS_AFTER(sentence) or (called and sentence.rstrip().endswith("!")):
            return True
    if read.relation == "pet":
        return _TITLED(sentence, read.object_start) is not None
    if read.relation == "age":
        return (_BARE_NUMBER(sentence) or _MEASURED(sentence)) is not None
    if read.relation == "studies_at":
        return _NO_SCHOOL(sentence) is not None
    if read.relation == "name" and not (read.subject or read.kin):
        return _calls_other(before, sentence[read.object_start : read.object_end], sentence[read.object_end :])
    if read.relation == "allergic_to":
        return _IS_SPARED(sentence) is not None
    if (read.relation == "occupation" and _APPLIES(before)) or (
        read.relation == "lives_in" and before.endswith(" with ")
    ):
        return True
    if read.relation == "child" and not (read.subject or read.kin):
        return bool(_OF_THEIRS(before)) or bool(_MY_BOY(before) and not OF_A_CHILD(sentence))
    if read.relation in ("married_to", "partner"):
        return _is_no_love(read, before, sentence)
    if read.relation in _NAMED_ASIDE:
        return (_GRADED if read.relation == "studies" else _APPOSED)(before) is not None
    return read.relation == "birthday" and _OF_BIRTH(sentence) is None


def _is_mistaken_zh(read: RuleMatch, likely: Iterable[RuleMatch], sentence: str) -> bool:
    """Whether Chinese words speak against what a reader is sure of: of whom it is no name, or of no degree."""
    if read.relation == "graduated_from" and (
        sentence.startswith("在", read.object_start) or (read.subject and not _GRADUATED(sentence))
    ):
        return True
    if not (_HAN(read.subject) and read.confidence < _TRUST_ZH.misread_sure):
        return False
    named = (sentence[one.object_start : one.object_end] for one in likely if one.relation in _NAMED_AS)
    return read.subject not in named and not chinese_objects.is_person(read.subject)


_GRADUATED = LazyPattern("毕业|畢業|母校|校友|学历|\\d届|出身|[读念]完|本科|硕|博").search


def _is_no_love(read: RuleMatch, before: str, sentence: str) -> bool:
    """Whether whom a reader takes for the partner is to be married, or only in company: "Me and Gwen are off to Wales"."""
    name = sentence[read.object_start : read.object_end]
    if (read.relation == "married_to" and _TO_MARRY(before)) or _TITLED(name) or _TITLED_BEFORE(before):
        return True
    if read.subject or read.kin or read.negated:
        return False
    after = sentence[read.object_end :]
    in_company = (_ME_AND(before) or _AND_ME(after)) and not _OF_LOVE(sentence)
    return bool(in_company or (_GETS_MARRIED(after) and not _OF_US(sentence)))


def _calls_other(before: str, name: str, after: str) -> bool:
    """Whether a name is that of who is greeted, thanked or asked: "Thanks, Tom!", "How nice, Tom.", "Tom?"."""
    before = _WITH_TITLE("", before)
    if not after.strip(' .!?…"”'):
        return not before or before.endswith((", ", "named it ")) or _GREETS(before) is not None
    # "Hello, Ann Lee, retired now" introduces.
    return " " not in name and _GREETS(before) is not None and _GOES_ON(after) is not None


_GREETS = LazyPattern(
    r"(?:\A|[.!?…:,] *)(?:hi|hiya|hey|hello|yo|thanks|thank you|thx|ty|cheers|congrats|congratulations|well done|bravo"
    r"|sorry|good (?:morning|afternoon|evening|night|luck|job|point|idea|call|one)|happy \w+(?: \w+)?|merry christmas|wow"
    r"|oh|ah|aw+|haha|yes|yeah|yep|no|nope|ok|okay|sure|right|exactly|absolutely|welcome|bye|goodbye|see (?:you|ya)"
    r"|love you|miss you|dear|please|come on|cool|nice|great|amazing|awesome|bless you|take care|sleep well|enjoy)"
    r"(?: (?:so much|very much|a lot|again|there|back|to you|everyone|all|too|then))*[,!.]? \Z",
    re.IGNORECASE,
).search
_WITH_TITLE = LazyPattern(
    r"\b(?:uncle|aunt(?:ie|y)?|grandma|grandpa|granny|nan|cousin|mrs?|ms|dr)\.? \Z", re.IGNORECASE
).sub
_APPLIES = LazyPattern(
    r"\b(?:appl(?:y|ied|ying)|interview\w*|hop(?:e|ing)|want\w*|dream\w*) [^.,;]*\Z", re.IGNORECASE
).search
_IS_SPARED = LazyPattern(
    r"\b(?:luckily|thankfully|fortunately|thank (?:god|goodness|heavens?)),? (?:not|no|without)\b", re.IGNORECASE
).search
"""That a food has nothing that harms: to leave out more would miss allergies that stand in other words."""
_GOES_ON = LazyPattern(r"[!.?…:]|,(?! ?(?:\d|aged?\b|from\b|an?\b|the\b|born\b))", re.IGNORECASE).match
_ASKS_AFTER = LazyPattern(r"\A(?!.*\b(?:I|my|our|we|us|me)\b).*\byour\b", re.IGNORECASE).search
"""What speaks of the one spoken to: "Glad your son is okay, Ann"."""
is_a_stay = LazyPattern(
    r"\buntil (?:\w+day|tomorrow|the weekend|\d)|\bstaying (?:with|at)\b"
    r"|\b(?:for|over) (?:the (?:week|weekend)|a few days|easter|christmas)\b"
    "|借住|住(?:一阵|几天|两天|一晚|几晚|一段)|来[^，。]{0,4}看[我你他她]|来玩|出差",
    re.I,
).search
"""Whether a text tells where someone is for some days, who lives elsewhere."""
_LONGEST_BEFORE = 100
_OF_THEIRS = LazyPattern(
    r"\b(?:[Hh]e|[Ss]he|[Tt]hey)\b(?!.*\b(?:I|[Ww]e|[Mm]y|[Oo]ur|I['’]\w+)\b).*\b(?:got|has|have|had|with)\b"
    r"|(?:\A|[!.;] )(?!I\b|We\b)[A-Z]\w+(?: and [A-Z]\w+)?(?:['’]s| has| have)?(?: just)? had (?:an?|their|her|his) "
).search
"""That a child is that of who was spoken of: "she's a nurse, got twins, Jo and Al"."""
_MY_BOY = LazyPattern(r"\b[Mm]y (?:boy|girl) \Z").search
_TO_MARRY = LazyPattern(r"\b(?:getting|get|be|marrying|remarrying)(?: re-?married)?(?: to)? \Z").search
_OF_US = LazyPattern(r"\b(?:I|we|us|me|my|our)\b|\b(?:I|we)['’]", re.IGNORECASE).search
_GETS_MARRIED = LazyPattern(
    r"(?:['’]s| is| are)?(?: just| finally)? (?:got|gets?|getting|was|is) (?:re-?)?married\b", re.IGNORECASE
).match
_ME_AND, _AND_ME = LazyPattern(r"\b[Mm]e and \Z").search, LazyPattern(r" and (?:I|me)\b").match
_OF_LOVE = LazyPattern(
    r"marr|wed|engage|dat(?:e|ed|ing)\b|love|\bliv(?:e|ing)\b|together|partner|boyfriend|girlfriend|husband|wife|\btied?\b"
    r"|tying|anniversar|\byears?\b|hitched|mortgage|\bkids?\b|baby|\bour\b|\bhouse\b|adopt|honeymoon|move[ds]? in|spouse"
    r"|fianc|relationship|\bexes?\b|split|broke|quits|\bROM\b",
    re.IGNORECASE,
).search
_NAMED_ASIDE = frozenset(("works_at", "studies"))
_APPOSED = LazyPattern(r", (?:the|an?) (?:[a-z-]+ ){1,4}(?:at|in|near|on|by) \Z").search
"""That a place is where an employer is: "I work at Greens, the garden centre at Hale"."""
_GRADED = LazyPattern(r"(?:\b[A-F][+-]?|[%\d]) (?:in|on|for) \Z").search
_JESTS = LazyPattern(r"\b(?:just|only) (?:kidding|joking)\b|\bjk\b", re.IGNORECASE).search
_BARE_NUMBER = LazyPattern(r"\W*\d+(?: years? old)?\W*", re.IGNORECASE).fullmatch
_MEASURED = LazyPattern(
    r"\bweigh(?:s|ed|ing)?\b|\bdown to \d|\d ?(?:kilos?|kgs?|lbs?)\b|\bgood age\b", re.IGNORECASE
).search
_NO_SCHOOL = LazyPattern(
    r"gym\b|\bfitness\b|\bhospital|\bclinic\b|\bcheck-?ups?\b|\bappointments?\b|\b(?:night|day|late)s at\b|\bshifts?\b",
    re.IGNORECASE,
).search
_TITLE = "(?:Mr|Mrs|Ms|Miss|Dr|Prof|Doctor)"
_TITLED, _TITLED_BEFORE = LazyPattern(rf"{_TITLE}\b").match, LazyPattern(rf"\b{_TITLE}\.? \Z").search
_OF_BIRTH = LazyPattern(
    r"birth|\bborn\b|\bb-?day|\bbig day\b|\bturn(?:s|ed|ing)?\b|\b(?:I['’]ll|will|to) be \d|\bdob\b|\bcake\b|\bcandles\b",
    re.IGNORECASE,
).search


def _has_object(one: RuleMatch, sentence: str) -> bool:
    """Whether the sentence has the object: not of an end of all values, nor of "gluten" that a rule reads in "coeliac"."""
    return one.object in sentence if one.object else one.object_start < one.object_end


def _placed(one: RuleMatch, sentence: str) -> RuleMatch:
    """The match with the place of its object, where a rule gives the words alone."""
    at = sentence.find(one.object) if one.object else -1
    return one if at < 0 else one._replace(object_start=at, object_end=at + len(one.object))


def _is_same(one: RuleMatch, other: RuleMatch) -> bool:
    """Whether two matches are of the same object, in the same or a like relation, and both over or not."""
    pair = {one.relation, other.relation}
    alike = len(pair) == 1 or any(pair <= some for some in _ALIKE)
    over = one.negated or one.kind == PAST
    if not alike or over != other.negated:
        return False
    if not (one.object_end and other.object_end):
        return over
    return one.object_start < other.object_end and other.object_start < one.object_end


def _likely(reader: Reader, text: str, spans: Sequence[TextSpan]) -> list[RuleMatch]:
    """What a reader finds in a text; Chinese sentences are read apart from those around them."""
    chinese = [span for span in spans if _HAN(span.text)]
    rest = text
    for start, end, _ in chinese:
        rest = f"{rest[:start]}{' ' * (end - start)}{rest[end:]}"
    found = list(reader(rest)) if _LATIN(rest) else []
    return found + [one.moved(span.start) for span in chinese for one in reader(span.text)]


def _within(likely: Iterable[RuleMatch], start: int, end: int) -> list[RuleMatch]:
    """What a reader found in a sentence of the text, placed in that sentence."""
    return [one.moved(-start) for one in likely if start <= one.object_start < end]


def _matched(text: str) -> list[tuple[TextSpan, tuple[RuleMatch, ...]]]:
    """The sentences of a text, and what the rules find in each."""
    found: list[tuple[TextSpan, tuple[RuleMatch, ...]]] = []
    english: Reader | None = None
    for span in _runs(text):
        matches: Iterable[RuleMatch] = ()
        if _HAN(span.text):
            matches = _chinese()(span.text)
        elif _LATIN(span.text):
            # One for the text: a sentence may correct the one before it, or be about the person in it.
            english = english or _english()()
            matches = english(span.text)
        found.append((span, tuple(matches)))
    return found


_LONGEST_KEPT = 1_000
_recently_matched = lru_cache(128)(_matched)
"""A text is read with a reader after it was read without one, and again for each text that may correct it."""


@cache
def _english() -> Callable[[], Reader]:
    # Imported here because it compiles hundreds of patterns, which a program that reads no text does not need.
    from memwell.language.claims.english import EnglishReader  # noqa: PLC0415

    return EnglishReader


@cache
def _chinese() -> Reader:
    # As for English.
    from memwell.language.claims.chinese import chinese  # noqa: PLC0415

    return chinese


@cache
def _not_of_speaker() -> Callable[[str], list[NotOfSpeaker]]:
    # As for English.
    from memwell.language.claims.chinese import not_of_speaker  # noqa: PLC0415

    return not_of_speaker


def _claim(found: RuleMatch, sentence: str, offset: int, speaker: str, time: datetime, timing: Timing) -> Claim | None:
    words = found.object or _words(sentence, found, timing)
    if found.relation == "plans" and not found.negated:
        words = _LEFT_OPEN("", words)
        words = "" if words.lower() in _SAYS_NOTHING else words
    # An end without an object ends every value: "I quit my job".
    ends_all = found.negated and not found.object and found.object_start == found.object_end
    if not (words or ends_all) or len(words) > _LONGEST_OBJECT or is_secret(found.relation, words):
        return None
    if found.relation == "birthday" and _NO_DAY(words):
        return None
    if found.relation == "age" and not (found.subject or found.kin) and _HAN(sentence) and _OF_INFANT(words):
        return None
    if found.relation == "age" and (_TOO_OLD(words) or _is_of_time(sentence, found.object_start, found.object_end)):
        return None
    # A negated claim says when something ended, not when it began.
    since = None if found.kind == PLAN else timing.valid_from
    until = None if found.negated or found.kind == EVENT else timing.valid_to
    return Claim(
        subject=_subject(found, speaker),
        relation=found.relation,
        object=words,
        valid_from=since,
        valid_to=until,
        start=offset + found.start,
        end=offset + found.end,
        confidence=found.confidence,
        negated=found.negated,
        time=time,
    )


_TOO_OLD = LazyPattern(r"(?:1[3-9]|[2-9]\d)\d").match
"""No age, but a height: 我178."""


def _is_of_time(sentence: str, start: int, end: int) -> bool:
    """Whether a number is a part of a time or a date: the 30 of 9:30."""
    return (_ENDS_IN_TIME(sentence[max(0, start - 10) : start]) or _GOES_ON_AS_TIME(sentence, end)) is not None


def is_secret(relation: str, words: str) -> bool:
    """Whether a value must not become a fact: a password, the number of a card."""
    # The rules of telephones have their own bounds.
    return relation not in ("phone", "email") and (_SECRET(words) or _SECRET(relation)) is not None


def _words(sentence: str, found: RuleMatch, timing: Timing) -> str:
    """The object as it was written, without a time before or after it."""
    first, last = found.object_start, found.object_end
    time_first, time_last = found.start + timing.start, found.start + timing.end
    # A birthday is itself a time.
    if timing.start < 0 or found.relation in ("birthday", "age") or not first <= time_first < last:
        return sentence[first:last]
    if time_first == first:
        return sentence[time_last:last].strip()
    return _BEFORE_TIME.sub("", sentence[first:time_first])


def _subject(found: RuleMatch, speaker: str) -> str:
    if not found.kin:
        return found.subject or speaker
    return f"{speaker}的{found.kin}" if _HAN(found.kin) else f"{speaker}'s {found.kin}"

"""Claims: what a text says about its speaker and others, read by rules, deterministically and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import TypeAlias

import msgspec

from memwell.language.claims.relations import (
    EVENT,
    FAVOURITE,
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
from memwell.language.sentences import TextSpan, sentences
from memwell.values import as_utc, check_text

__all__ = [
    "FAVOURITE",
    "RELATIONS",
    "USER",
    "Claim",
    "Relation",
    "claims",
    "corrects",
    "in_jest",
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
_LONGEST_RUN = 2_000


def corrects(text: str) -> str:
    """Whether a text corrects what the same person said before it, or "".

    "surely"; "likely" (unless it answers a question); or "maybe" (only what stands directly before it).
    """
    if _TAKES_BACK(text) or in_jest(text):
        return "surely"
    if _DISOWNS(text):
        return "likely"
    return "likely" if _LIKELY_TAKES_BACK(text) else "maybe" if _MAY_TAKE_BACK(text) else ""


def follows(text: str) -> str:
    """Whether a text is understood by what the same person said before it, as ``corrects`` says: or has *she*."""
    return corrects(text) or ("likely" if _REFERS(text) else "")


def claims(
    text: str, *, speaker: str = "", time: datetime, preceding: tuple[str, datetime] | None = None
) -> list[Claim]:
    """What a text says about its speaker and people it names, in the order of the text; doubtful claims are left out.

    ``speaker`` is who says *I* ("user" when empty), ``time`` when. ``preceding`` is what the same person said just before,
    and when: "Sorry, I meant Leicester" and "She works there too" are understood by it. Raises ``InvalidInput`` for a text
    or speaker that is no string and a time that is no datetime.
    """
    if preceding is not None and follows(check_text(text, "a text")):
        said = _correcting(text, speaker, time, *preceding) if corrects(text) else []
        said = said or (_following(text, speaker, time, preceding[0]) if _REFERS(text) else [])
        if said:
            return said
    if corrects(check_text(text, "a text")) == "maybe" and _HAN(text) and "我" not in text:
        # 不是，在小米 answers a question, and does not say of whom.
        return []
    moment = as_utc(time, "time")
    who = check_text(speaker, "a speaker").strip() or USER
    stated: dict[tuple[str, str, str], Claim] = {}
    taken_out: list[tuple[str, str, str]] = []
    """What is stated better, or was not meant: "a cat" that has a name, an end in jest."""
    english: Reader | None = None
    for start, _, sentence in _runs(check_text(text, "a text")[:LOOKED_AT]):
        if english is None and _LATIN(sentence):
            # One for the text: a sentence may correct the one before it, or be about the person in it.
            english = _english()()
        # A clause may state several claims; its time is read once.
        timings: dict[tuple[int, int, str, bool], Timing] = {}
        for found in _read(sentence, english):
            clause = (found.start, found.end, found.kind, found.lasting)
            if clause not in timings:
                words = sentence[found.start : found.end]
                timings[clause] = timing_of(words, found.kind, moment, lasting=found.lasting)
            claim = _claim(found, sentence, start, who, moment, timings[clause])
            if claim is not None:
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
    gone = {one.object for one in stated.values() if one.relation == "pet" and one.negated}
    # Of a pet that is no more, nothing is stated.
    kept = [one for one in stated.values() if one.relation != "kind" or one.subject not in gone]
    return sorted(kept, key=lambda claim: (claim.start, claim.end))


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
        return []
    return [_moved(claim, len(before), len(text), as_utc(since, "time")) for claim in found.values()]


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


def _read(sentence: str, english: Reader | None) -> Iterable[RuleMatch]:
    if _HAN(sentence):
        return _chinese()(sentence)
    return english(sentence) if english is not None and _LATIN(sentence) else ()


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


def _claim(found: RuleMatch, sentence: str, offset: int, speaker: str, time: datetime, timing: Timing) -> Claim | None:
    words = found.object or _words(sentence, found, timing)
    # An end without an object ends every value: "I quit my job".
    ends_all = found.negated and not found.object and found.object_start == found.object_end
    if not (words or ends_all) or len(words) > _LONGEST_OBJECT or is_secret(found.relation, words):
        return None
    if found.relation == "birthday" and _NO_DAY(words):
        return None
    if found.relation == "age" and _is_of_time(sentence, found.object_start, found.object_end):
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

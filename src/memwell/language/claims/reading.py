"""``claims``: reads claims from a text by rules, deterministically and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import TypeAlias

import msgspec

from memwell.language.claims.relations import EVENT, PLAN, USER, Claim, RuleMatch, Timing, timing_of
from memwell.language.sentences import TextSpan, sentences
from memwell.values import as_utc, check_text

Reader: TypeAlias = Callable[[str], Iterable[RuleMatch]]

LOOKED_AT = 100_000
"""How many characters of a text are read."""

_HAN = re.compile("[\u4e00-\u9fff]").search
_LATIN = re.compile("[A-Za-z]{2}").search
_BEFORE_TIME = re.compile(
    r"\s+(?:in|on|at|since|for|from|by|until|till|around|back in|about|over|this|of)\s*\Z|[\s,]+\Z"
)
_LONGEST_OBJECT = 120
_LONGEST_PRECEDING = 400
# What does not belong into a profile: words for secrets, and numbers as long as those of cards.
_SECRET = re.compile(
    r"\b(?:pins?|passwords?|passcodes?|passphrases?|cvv|cvc|ssn)\b|密码|口令|验证码|\d(?:[ -]?\d){11}", re.IGNORECASE
).search


# How a text begins that takes back what was said just before it.
_CORRECTS = re.compile(
    r"\W*(?:(?:oh|ah|ugh|sorry|oops|whoops|no|wait|actually|correction|typo|i (?:mean|meant)|my (?:bad|mistake|apologies)"
    r"|scratch that|make that|apologies|edit|(?:just |only )?(?:kidding|joking))\b"
    r"|(?:[哦噢啊哎呃]，?)?(?:抱歉|不好意思|对不起)?[，,]?"
    r"(?:我?(?:刚才|刚刚|上面|前面)?(?:说|打|写|讲|记|搞|弄)错|不对|不是|更正|纠正|口误|手滑|应该是))",
    re.IGNORECASE,
).match
_MARK_AT_END = re.compile(r"[。！？；.!?\s]+\Z")


def corrects(text: str) -> bool:
    """Whether a text may be a correction of what the same person said just before it."""
    return _CORRECTS(text) is not None


def claims(text: str, *, speaker: str = "", time: datetime, preceding: str = "") -> list[Claim]:
    """What a text says about its speaker and people it names, in the order of the text; doubtful claims are left out.

    ``speaker`` is who says *I* ("user" when empty), ``time`` when. ``preceding`` is what the same person said just before:
    "Sorry, I meant Leicester" is understood by it. Raises ``InvalidInput`` for a text or speaker that is no string and a
    time that is no datetime.
    """
    if preceding and corrects(check_text(text, "a text")):
        before = preceding[-_LONGEST_PRECEDING:] + "\n"
        known = {_stated(claim) for claim in claims(before, speaker=speaker, time=time)}
        found = [
            _moved(claim, len(before), len(text))
            for claim in claims(before + text, speaker=speaker, time=time)
            if _stated(claim) not in known
        ]
        if any(claim.negated for claim in found):
            return found
    moment = as_utc(time, "time")
    who = check_text(speaker, "a speaker").strip() or USER
    said: dict[tuple[str, str, str], Claim] = {}
    taken_out: list[tuple[str, str, str]] = []
    """What is stated better, or was not meant: "a cat" that has a name, an end in jest."""
    english: Reader | None = None
    for start, _, sentence in _with_corrections(sentences(check_text(text, "a text")[:LOOKED_AT])):
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
                before = said.get(key)
                # Said again it is the same claim, unless it is withdrawn, or was and is stated after all.
                if (
                    before is None
                    or (claim.negated and not before.negated)
                    or (before.negated and not claim.negated and claim.start > before.start)
                ):
                    said[key] = claim
    for subject, relation, thing in taken_out:
        for key in [key for key in said if key[:2] == (subject, relation) and key[2].endswith(thing)]:
            del said[key]
    return sorted(said.values(), key=lambda claim: (claim.start, claim.end))


def _stated(claim: Claim) -> tuple[str, str, str, bool]:
    return claim.subject, claim.relation, claim.object, claim.negated


def _moved(claim: Claim, by: int, length: int) -> Claim:
    """The claim at its place in the text that begins so much later; what that text takes back is the whole of it."""
    start, end = (claim.start - by, claim.end - by) if claim.end > by else (0, length)
    return msgspec.structs.replace(claim, start=max(0, start), end=end)


def _with_corrections(spans: list[TextSpan]) -> list[TextSpan]:
    """The sentences; a Chinese one that corrects the one before it is read together with it."""
    joined: list[TextSpan] = []
    for span in spans:
        before = joined[-1] if joined else None
        if before is not None and _HAN(before.text) and _HAN(span.text) and corrects(span.text):
            first = _MARK_AT_END.sub("", before.text)
            between = "，" * (span.start - before.start - len(first))
            joined[-1] = TextSpan(before.start, span.end, f"{first}{between}{span.text}")
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

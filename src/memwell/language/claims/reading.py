"""``claims``: reads claims from a text by rules, deterministically and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import TypeAlias

from memwell.language.claims.relations import EVENT, PLAN, USER, Claim, RuleMatch, Timing, timing_of
from memwell.language.sentences import sentences
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


def claims(text: str, *, speaker: str = "", time: datetime) -> list[Claim]:
    """What a text says about its speaker and people it names, in the order of the text; doubtful claims are left out.

    ``speaker`` is who says *I* ("user" when empty), ``time`` when. Raises ``InvalidInput`` for a text or speaker that
    is no string and a time that is no datetime.
    """
    moment = as_utc(time, "time")
    who = check_text(speaker, "a speaker").strip() or USER
    said: dict[tuple[str, str, str], Claim] = {}
    for start, _, sentence in sentences(check_text(text, "a text")[:LOOKED_AT]):
        # A clause may state several claims; its time is read once.
        timings: dict[tuple[int, int, str, bool], Timing] = {}
        for found in _read(sentence):
            clause = (found.start, found.end, found.kind, found.lasting)
            if clause not in timings:
                words = sentence[found.start : found.end]
                timings[clause] = timing_of(words, found.kind, moment, lasting=found.lasting)
            claim = _claim(found, sentence, start, who, moment, timings[clause])
            if claim is not None:
                said.setdefault((claim.subject, claim.relation, claim.object.casefold()), claim)
    return sorted(said.values(), key=lambda claim: (claim.start, claim.end))


def _read(sentence: str) -> Iterable[RuleMatch]:
    if _HAN(sentence):
        return _chinese()(sentence)
    return _english()(sentence) if _LATIN(sentence) else ()


@cache
def _english() -> Reader:
    # Imported here because it compiles a hundred patterns, which a program that reads no text does not need.
    from memwell.language.claims.english import english  # noqa: PLC0415

    return english


@cache
def _chinese() -> Reader:
    # As for English.
    from memwell.language.claims.chinese import chinese  # noqa: PLC0415

    return chinese


def _claim(found: RuleMatch, sentence: str, offset: int, speaker: str, time: datetime, timing: Timing) -> Claim | None:
    words = found.object or _words(sentence, found, timing)
    if (not words and not found.negated) or len(words) > _LONGEST_OBJECT:
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

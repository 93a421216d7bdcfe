"""The verb of an English clause: its tense, whether it is denied or over, and what a frame of it then states.

Hedged and hypothetical verbs state nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memwell.language import entities
from memwell.language.claims.english_frames import FORMS, FRAMES
from memwell.language.claims.english_homes_and_work import BEGINS, ENDS, HAPPENS, HOLDS, VerbFrame
from memwell.language.claims.english_objects import (
    ADULTS,
    CITIES,
    EMPLOYERS,
    KIN,
    NUMBERS,
    Place,
    Taker,
    is_first_name,
)
from memwell.language.claims.english_verbs import ING, PARTICIPLE, PAST_FORM, PRESENT, THIRD
from memwell.language.claims.relations import EVENT, PAST, RELATIONS, STARTED, STATE, RuleMatch
from memwell.language.patterns import LazyPattern


class Subject(NamedTuple):
    """Whom a clause is about: the speaker, someone by name, a relative, or a pet of the speaker."""

    name: str = ""
    kin: str = ""
    plural: bool = False
    pet: str = ""
    owner: str = ""
    """Whose relative it is when not the speaker's."""
    relation: str = ""
    of_kin: str = ""

    @property
    def is_speaker(self) -> bool:
        return not (self.name or self.kin or self.pet)


SPEAKER = Subject()
HE, THEY = "<he>", "<they>"


"""Stand for who was named before."""
ADVERBS = frozenset(
    "really also always just actually currently still now absolutely totally truly mostly recently finally already "
    "both even definitely too usually especially particularly honestly basically simply personally originally all so "
    "genuinely officially happily presently sometimes often kinda lately generally certainly deeply only mainly quite "
    "most very since then newly soon sadly once ever eventually obviously apparently? secretly proudly severely "
    "completely properly half".replace("?", "").split()
)
_NO_LY = frozenset(
    "family only fly apply reply rely early italy july supply multiply ugly lovely friendly daily".split()
)
_HEDGES = frozenset(
    "would could might may should must shall 'd wouldn't couldn't won't shouldn't mightn't 'd've ought wanna gotta "
    "maybe perhaps probably possibly apparently supposedly allegedly basically practically virtually almost nearly "
    "seemingly about roughly did hardly barely somewhat hope hopefully".split()
)
NEGATIONS = frozenset("don't dont doesn't doesnt not never isn't aren't ain't haven't hasn't isnt arent".split())
PAST_NEGATIONS = frozenset("wasn't weren't hadn't didn't didnt wasnt".split())
BE = frozenset("'m am is are 's 're been im m be being".split())
WAS = frozenset("was were".split())
HAVE = frozenset("'ve have has ve".split())
_GET = {"get": "present", "gets": "present", "got": "past", "getting": "ing", "gotten": "perfect"}
WORD = LazyPattern(r"\s*(['’]?[A-Za-zÀ-ÿ][\w’'-]*)").match
_MOST_WORDS_BEFORE_VERB = 9
_NOW = LazyPattern(
    r"\b(?:now|nowadays|these days|at the moment|again|since|no longer live|for good)\b", re.IGNORECASE
).search
_ANY_MORE = LazyPattern(
    r"[\s,]+(?:anymore\b|any longer\b|any more(?=\s*(?:\Z|[^\w\s]|(?:and|but|or|so|because|since|as|at|in|now"
    r"|though|either|"
    r"for|these|due|thanks|after|when|which|if)\b)))",
    re.IGNORECASE,
).search
_NO_MORE = LazyPattern(r"\s+no (?:more|longer)(?=\s*\Z)", re.IGNORECASE).search
NOT_SO_MUCH = LazyPattern(r"\b(?:as|so) (?:much|often)\b", re.IGNORECASE).search
DEGREE = LazyPattern(
    r"\b(?:degree|ph\.?d|master['’]?s|masters|bachelor['’]?s|diploma|mba|m\.?a|b\.?a|msc|bsc|doctorate|llm"
    r"|llb)\b",
    re.IGNORECASE,
).search
_SCHOOL = LazyPattern(
    r"\b(?:College|University|School|Academy|High|Institute|Elementary|Primary|Polytechnic|St\.? [A-Z]|Uni)\b"
).search
_PUPILS = frozenset("son daughter kid nephew niece grandson granddaughter sister brother cousin".split())
_CHILDREN = _PUPILS - {"sister", "brother", "cousin"}
_SCHOOLING = LazyPattern(
    r"\b(?:phd|thesis|graduated|reading (?=[a-z])|studying|school|schools|college|uni|university|degree|course|student"
    r"|class|classes|studies|semesters?"
    r"|major)\b",
    re.IGNORECASE,
).search
_WORKING = LazyPattern(
    r"\b(?:jobs?|employers?|compan(?:y|ies)|firm|work|worked|working|career|notice|joined|boss|years|role|team"
    r"|freelance|self-employed"
    r"|hired|start)\b",
    re.IGNORECASE,
).search
_BEFORE = LazyPattern(r"\b(?:before|previously|formerly|until)\b").search
_LEFT_BEHIND = frozenset("occupation lives_in works_at studies_at studies from pet partner".split())


class Predicate(NamedTuple):
    """A verb and what its auxiliaries say about it."""

    verb: str
    at: int
    start: int
    tense: str = "present"
    negated: bool = False
    ended: bool = False
    used_to: bool = False
    can: bool = False
    passive: bool = False
    got: bool = False
    form: str = ""
    will: bool = False


class Clause(NamedTuple):
    """A part of a sentence with its subjects; its verb is at ``at``."""

    subjects: tuple[Subject, ...]
    start: int
    at: int
    end: int
    how: str = "subject"
    """Where its subject is from: "subject", "carried", "bare" (an implied *is*) or "fragment"."""


class Stated(NamedTuple):
    """A claim that may be corrected, with how its object was cut out."""

    match: RuleMatch
    object: str
    take: Taker


def match_of(
    relation: str,
    place: Place,
    start: int,
    end: int,
    subject: Subject,
    *,
    kind: str = STATE,
    negated: bool = False,
    confidence: float = 0.8,
    lasting: bool = False,
) -> RuleMatch:
    return RuleMatch(
        relation,
        *place,
        start,
        end,
        subject.name,
        subject.kin if not subject.name else "",
        kind=kind,
        lasting=lasting,
        negated=negated,
        confidence=confidence,
    )


TAKEN_BACK = LazyPattern(
    r"(?:,|\.\.\.?| [-–—]|—| \()? ?(?:no,|no wait|wait|[Ii] mean\b|[Ii] meant\b|scratch that|oops|or rather"
    r"|correction)"
).match
_CONTRAST = LazyPattern(
    r"(?:,? with(?:out)? (?:an?|one|two|no) \w['’]?s?(?=,| not)|, (?:one|two|double) "
    r"\w['’]?s?(?=,))?(?P<other>(?:,? (?:now|these days|nowadays|currently|actually|today|at the moment|by the way"
    r"|btw|though))?"
    r"(?:,| [-–—]| \(|—)? ?(?:and |but )?(?:instead of|rather than|not|never)|[,;] (?:and )?(?:before that|previously"
    r"|formerly)(?: (?:it was|I was|we were))?) (?:(?:as|in|at|for"
    r"|from|with|to|my|on|called|named|an?|the) )*"
    r"|(?P<better>(?:,|\.\.\.?| [-–—]|—)? ?(?:or rather|or,? to be (?:exact|more exact|accurate)|[Ii] mean|[Ii] "
    r"meant|sorry|no,? wait|wait,? no"
    r"|no(?! (?!sorry|wait|actually|make)[a-z]{3})"
    r"|er"
    r"|erm|oops|correction|actually|scratch that|make that)(?:,? (?:sorry|no|wait))?,? |,? but (?:rather )?| "
    r"?\*)(?:(?:in|at|for|from|with|an?) )?"
).match


OF_PEOPLE = frozenset(name for name, known in RELATIONS.items() if known.people)


_DENIED = LazyPattern(r"\b(?:not|never|no)\b(?! longer)|n['’]t\b", re.IGNORECASE).search


def contrasts(text: str, match: RuleMatch, place: Place, take: Taker) -> list[RuleMatch]:
    """The other value of a correction after an object: "Anna, not Ann", "Leeds, sorry, York", "not Ann but Anna"."""
    found = _CONTRAST(text, place[1])
    if found is None or (found["better"] and ("but" in found["better"]) is not match.negated):
        return []
    if match.negated and not _DENIED(text, max(0, match.start), place[0]):
        # "I sold my bike, but …" corrects nothing.
        return []
    if _ANY_MORE(text, found.end() - 1, found.end() + 12):
        return []
    others = take(text, found.end(), min(len(text), found.end() + 120))
    if not others or text[slice(*others[0])].lower() == text[slice(*place)].lower():
        return []
    if match.relation not in OF_PEOPLE and text[: found.end()].endswith("my ") and text[slice(*others[0])] in KIN:
        # "My uncle owns the shop, not my dad" is about who owns it.
        return []
    first, last = others[0]
    other = match._replace(object_start=first, object_end=last, end=max(match.end, last))
    if found["other"]:
        return [] if match.negated else [other._replace(negated=True)]
    if match.negated:
        return [other._replace(negated=False)]
    # The first value is withdrawn: the same claim again, negated, replaces it.
    return [other, match._replace(negated=True)]


def agrees(clause: Clause, said: Predicate, subject: Subject) -> bool:
    """Whether the form of the verb goes with the subject; without an *s* it may depend on another verb."""
    if said.tense != "present" or said.negated or said.can or said.used_to or said.verb == "be" or said.passive:
        return True
    if clause.how == "fragment":
        return said.form != PRESENT or said.verb in ("love", "hate", "live", "like", "adore")
    third = (
        not subject.is_speaker
        and not (subject.kin.endswith("s") and not subject.kin.endswith("ss"))
        and len(clause.subjects) == 1
    )
    return said.form == THIRD if third else said.form == PRESENT


def is_allowed(frame: VerbFrame, said: Predicate, text: str, clause: Clause, subject: Subject) -> bool:
    """Whether the predicate has what the frame needs."""
    need = frame.after
    if said.can and not (said.negated and need == "cannot") and frame.relation != "speaks":
        return False
    if not need or need == "degree":
        return True
    checks = {
        "now": lambda: bool(
            _NOW(text, clause.start, clause.end) or _NOW(text, max(0, clause.start - 30), clause.start)
        ),
        "been": lambda: said.tense == "perfect",
        "since": lambda: bool(re.search(r"\bafter (?:[\w-]+ ){1,3}(?:years|months|ages)\b", text)),
        "before": lambda: said.tense == "past" and bool(_BEFORE(text, clause.start, clause.end)),
        "not": lambda: said.negated,
        "never does": lambda: said.negated and said.tense == "present" and not (said.ended or said.can),
        "cannot": lambda: said.can and said.negated,
        "over": lambda: said.ended or said.used_to,
        "ing": lambda: said.tense in ("ing", "perfect"),
        "present": lambda: said.tense == "present" and not said.negated,
        "job": lambda: bool(_WORKING(text)) and not _SCHOOL(text),
        "school": lambda: bool(_SCHOOL(text) or _SCHOOLING(text)) or subject.kin.split(" ")[-1] in _PUPILS,
        "pupil": lambda: (
            said.tense == "present" and (subject.kin.split(" ")[-1] in _CHILDREN or subject.relation == "child")
        ),
        "bare": lambda: clause.how == "bare",
        "trip": lambda: said.verb != "be" or said.tense == "perfect",
        "laid": lambda: (
            said.verb in ("be fire", "be sack", "be dismiss")
            or bool(re.match(r"\s*(?:off|go|redundant)\b", text[said.at : said.at + 12]))
        ),
    }
    return checks[need]()


def outcome_of(frame: VerbFrame, said: Predicate, clause: Clause) -> tuple[str, bool] | None:
    """The kind of the statement and whether it is negated; None when it states nothing."""
    mode, tense = frame.mode, said.tense
    if tense == "future" or (
        said.passive and said.verb in ("be marry", "be engage", "be divorce") and tense == "past" and not said.got
    ):
        return None
    if said.used_to:
        return (PAST, False) if mode == HOLDS else None
    if frame.after in ("cannot", "never does"):
        return STATE, False
    if mode == HOLDS or (said.passive and tense == "present" and mode == BEGINS):
        if tense == "past" and frame.relation == "from" and not said.negated:
            # Where someone was from, they are from.
            return STATE, False
        if tense == "past":
            return (
                (PAST, False) if frame.relation in _LEFT_BEHIND and not said.negated and clause.how != "bare" else None
            )
        return STATE, said.negated or said.ended
    done = (
        tense in ("past", "perfect")
        or (said.passive and tense == "present" and mode in (ENDS, HAPPENS))
        or frame.after == "present"
    )
    if mode == HAPPENS:
        # "I've never been to Japan", but of one journey: "I didn't go".
        denied = ("perfect",) if frame.relation == "visited" else ("perfect", "past")
        return (EVENT, said.negated) if done and (not said.negated or tense in denied) else None
    if not done or said.negated:
        return None
    return (STARTED, False) if mode == BEGINS else (STATE, True)


def relation_left(relation: str, text: str, place: Place, subject: Subject) -> str:
    """What was left: an employer, a school or a place, by the words around it; a pupil is at a school."""
    if relation == "works_at" and (_READING(text, place[1]) or _NEW_SCHOOL(text)):
        return "studies_at"
    is_child = subject.relation == "child" or subject.kin.split(" ")[-1] in _CHILDREN
    if relation == "works_at" and is_child and _SCHOOL(text, *place):
        return "studies_at"
    if relation == "with":
        words = text[slice(*place)]
        return "partner" if is_first_name(words) else "works_at" if words in EMPLOYERS else ""
    if relation == "lives_in" and text[slice(*place)] in EMPLOYERS:
        return "works_at"
    if relation not in ("left", "joined"):
        return relation
    if text[slice(*place)] in EMPLOYERS or text[slice(*place)].rsplit(maxsplit=1)[-1] in _COMPANIES:
        return "works_at"
    if _DEPARTS(text):
        return ""
    if _SCHOOL(text) or _SCHOOLING(text):
        return "studies_at"
    words = text[slice(*place)]
    if words in entities.PLACES or words in CITIES or re.search(r"\b(?:settled|living|moved|live|lives)\b", text):
        return "lives_in"
    return "works_at" if relation == "joined" or _WORKING(text) or re.search(r" for |\bat [A-Z]\S* now\b", text) else ""


_COMPANIES = frozenset(
    "Bank Group Inc Ltd Airlines Corp Holdings Labs Systems Software Media Insurance Motors Consulting Partners".split()
)
_NEW_SCHOOL = LazyPattern(r"\b[Nn]ew (?:school|uni|university|college|campus|term)\b").search
_READING = LazyPattern(r",? (?:reading|studying) [a-z]").match


_DEPARTS = LazyPattern(
    r"\b(?:this (?:morning|afternoon|evening)|today|tonight|early|late|at (?:\d|noon|dawn|six|seven|eight|nine"
    r"|ten|five|four))\b"
).search


def is_possible_age(words: str, subject: Subject) -> bool:
    number = int(words) if words.isdigit() else NUMBERS.get(words.lower().replace("-", " ").split()[0], 30)
    return number >= 14 if subject.kin in ADULTS else number >= 5 or not subject.is_speaker


def until_any_more(text: str, said: Predicate, end: int) -> tuple[Predicate, int]:
    """The predicate and the end of its object: "not … any more" ends something, and is no part of the object."""
    over = (_ANY_MORE if said.negated else _NO_MORE)(text, said.at, end)
    if over is None:
        return said, end
    # "I can't stand milk any more" states a dislike.
    return said._replace(ended=said.ended or not said.can), over.start()


def predicate_of(text: str, clause: Clause) -> Predicate | None:
    """The verb of a clause with its auxiliaries; None for a hypothetical clause, and for one without a known verb."""
    at, end = clause.at, clause.end
    is_ = clause.how == "bare"
    said = Predicate("be", at, at)
    for _ in range(_MOST_WORDS_BEFORE_VERB):
        found = WORD(text, at, end)
        word = "" if found is None else found[1].lower().replace("’", "'")
        after = at if found is None else found.end()
        start = at if found is None else found.start(1)
        following = WORD(text, after, end)
        next_word = "" if following is None else following[1].lower()
        if is_ and word == "going" and said.tense == "past" and next_word == "to":
            return None
        if word == "did" and next_word in ("my", "a", "an", "the", "his", "her"):
            return Predicate("do", after, start, "past", form=PAST_FORM)
        if (word in _HEDGES and not (word == "did" and next_word == "not")) or word == "hadn't":
            return None
        to = next_word == "to" and (_HAD_TO if word == "had" else _INFINITIVE)(text, after) is not None
        helped = _auxiliary(said, word, next_word, is_=is_, to=to)
        if helped is not None:
            said, is_, both = helped
            at = following.end() if both and following is not None else after
        elif _is_adverb(word, start, text):
            at = after
        elif word in _GET and not is_ and f"be {FORMS.get(next_word, {}).get(PARTICIPLE, '')}" in FRAMES and following:
            tense = _GET[word] if said.tense == "present" else said.tense
            verb = f"be {FORMS[next_word][PARTICIPLE]}"
            return said._replace(verb=verb, at=following.end(), start=start, tense=tense, passive=True, got=True)
        else:
            word = {"'ve": "have", "ve": "have"}.get(word, word)
            return _verb(text, word, after, said._replace(at=start, start=start), is_, clause)
    return said._replace(at=at, start=at) if is_ else None


def _auxiliary(
    said: Predicate, word: str, next_word: str, *, is_: bool, to: bool
) -> tuple[Predicate, bool, bool] | None:
    """What an auxiliary makes of the predicate, whether *be* is among them, and whether it takes the next word "
    "with it."""
    if word in PAST_NEGATIONS or word == "did":
        return said._replace(negated=said.negated or word != "did", tense="past"), is_ or word.startswith("w"), False
    if word in NEGATIONS:
        tense = "perfect" if word in ("haven't", "hasn't") else said.tense
        return (
            said._replace(negated=True, tense=tense),
            is_ or word in ("isn't", "aren't", "ain't", "isnt", "arent"),
            False,
        )
    if word in ("can", "can't", "cannot", "cant"):
        return said._replace(can=True, negated=said.negated or word != "can"), is_, False
    if word in ("will", "'ll", "gonna") or (is_ and word in ("going", "about", "due") and to):
        return said._replace(tense="future", will=word in ("will", "'ll")), is_, to
    if word == "anymore" or (word == "no" and next_word in ("longer", "more")):
        return said._replace(ended=True), is_, word == "no"
    if is_ and word in ("forced", "obliged", "made") and to:
        return said, False, True
    if word == "used" and next_word == "to":
        return said._replace(used_to=True), is_, True
    if word in BE:
        tense = {"been": "perfect", "being": "ing"}.get(word, said.tense) if said.tense == "present" else said.tense
        return said._replace(tense=tense), True, False
    if word in WAS:
        return said._replace(tense="past"), True, False
    if word == "had" and to:
        return said._replace(tense="past"), is_, True
    if (word in HAVE or word == "had") and _is_helper(next_word):
        return said._replace(tense="past" if word == "had" else "perfect"), is_, False
    if word in ("do", "does") and next_word in ("not", "n't"):
        return said, is_, False
    return None


def _is_adverb(word: str, start: int, text: str) -> bool:
    return word in ADVERBS or (word.endswith("ly") and word not in _NO_LY and text[start : start + 1].islower())


_INFINITIVE = LazyPattern(r"\s+to\s+(?!the\b|an?\b|my\b|our\b|bed\b|school\b|work\b|sleep\b|[A-Z])").match


_HAD_TO = LazyPattern(r"\s+to\s+(?:give|quit|leave|stop|sell|close|cancel|move|resign|drop)\b").match


def _is_helper(word: str) -> bool:
    return (
        PARTICIPLE in FORMS.get(word, {}) or word in ADVERBS or word in ("been", "never", "not") or word.endswith("ly")
    )


def _verb(text: str, word: str, after: int, said: Predicate, is_: bool, clause: Clause) -> Predicate | None:
    """The predicate with its main verb, by its form."""
    form, start = FORMS.get(word, {}), said.start
    if clause.how == "fragment" and not is_ and said.tense == "present":
        is_ = (
            _FRAGMENT_IS(text, start) is not None
            or ING in form
            or (f"be {form.get(PARTICIPLE, '')}" in FRAMES and text.startswith((" by", " in", " from", " to"), after))
        )
    if is_ and not (said.tense == "future" and PRESENT in form):
        if ING in form and said.tense != "future" and f"be {form[ING]}" not in FRAMES:
            return said._replace(
                verb=form[ING],
                at=after,
                tense="perfect" if said.tense == "perfect" else "past" if said.tense == "past" else "ing",
                form=ING,
            )
        if ING in form and said.tense == "future":
            return said._replace(verb=form[ING], at=after, form=ING)
        if ING in form:
            return said._replace(
                verb=form[ING], at=after, tense=said.tense if said.tense != "present" else "ing", form=ING
            )
        if PARTICIPLE in form and (f"be {form[PARTICIPLE]}" in FRAMES or said.tense == "ing"):
            return said._replace(verb=f"be {form[PARTICIPLE]}", at=after, passive=True)
        return said._replace(at=start)
    if word == "got" and said.tense == "perfect" and not _GOT_SO(text, after):
        return said._replace(verb="have", at=after, tense="present", form=PRESENT)
    if said.tense == "perfect":
        return said._replace(verb=form[PARTICIPLE], at=after, form=PARTICIPLE) if PARTICIPLE in form else None
    if said.tense == "future" or said.can or said.negated or said.used_to:
        verb = form.get(PRESENT) or ("be" if word == "be" else "")
        return said._replace(verb=verb, at=after, form=PRESENT) if verb else None
    if THIRD in form or PRESENT in form:
        which = THIRD if THIRD in form else PRESENT
        if PAST_FORM in form and which == PRESENT:
            # "quit", "put" and "split" look the same in the past, which they mostly are.
            return said._replace(verb=form[PAST_FORM], at=after, tense="past", form=PAST_FORM)
        return said._replace(verb=form[which], at=after, form=which)
    if PAST_FORM in form:
        return said._replace(verb=form[PAST_FORM], at=after, tense="past", form=PAST_FORM)
    return None


_GOT_SO = LazyPattern(r" (?:really |back |rid |to know |over )*(?:into|to|rid|over)\b").match
_FRAGMENT_IS = LazyPattern(
    r"(?:born|based|allergic|raised|living|working|studying|from|vegan|vegetarian|married|engaged|single|a|huge|big"
    r"|into|not|in)\b",
    re.IGNORECASE,
).match

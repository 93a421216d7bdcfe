"""Values of English properties ("his name is", "my favourite band:"), and corrections of what was said before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from memwell.language import entities
from memwell.language.claims.english_objects import Place, Taker, age, birthday, name, names, phrase, phrases, proper
from memwell.language.claims.english_people import ENDS_NAME
from memwell.language.claims.english_predicates import SPEAKER, Clause, Stated, Subject, contrasts, match_of
from memwell.language.claims.english_subjects import BOUND, ClauseFinder
from memwell.language.claims.english_words import CITIES, SECRETS
from memwell.language.claims.relations import FAVOURITE, PAST, STATE, RuleMatch
from memwell.language.patterns import LazyPattern

_MOST_SEARCHED = 2_000

_WHAT = (
    r"(?P<what>name|full name|first name|surname|birthday|date of birth|dob|bday|b-day|job|profession|occupation"
    r"|hometown|home "
    r"town|hobby|hobbies|"
    r"age|nationality|mother tongue|native language|first language|native tongue|(?:all-time |absolute |all "
    r"time )?(?:favou?rite|fav|fave) [a-z]+(?: [a-z]+)??)(?: of all time)?"
)
_COPULA = (
    r"(?:['’]s|(?P<was> was| were)| is| are| include| includes| has always been| falls| should (?:read|be)| (?:has"
    r"|have|would have|must|would)(?: got)?(?: to)? be|:|(?= \d)"
    r"|(?= isn['’]t| aren['’]t))(?P<not> not| isn['’]t| aren['’]t)?"
    r" (?:(?:now|on|in|currently|definitely|actually|called|spelled|spelt|either|the one called) )*"
)
_PROPERTY = LazyPattern(rf"(?:['’]s)? ?(?i:{_WHAT}){_COPULA}").match
_OWN = LazyPattern(
    r"(?:\W*(?i:(?:but|and|so|oh|well|now|actually|honestly|these days) ){0,3}|[^,;:]{0,20}?[,:] )"
    rf"(?P<my>(?i:my|his|her) )?(?:new |current |real )?(?i:{_WHAT}){_COPULA}"
).match
_IT_IS = LazyPattern(
    r"(?:[Ii]t|[Tt]hat)(?:['’]s| is| should be|(?= isn['’]t))(?P<not> not| isn['’]t)? (?:(?:now|on|in"
    r"|actually|really|only|just) )*"
    r"(?!(?:not|fine|ok|okay|an?|the(?! \d)|my|more|that|all|nothing|good|true|false|something|complicated|different"
    r"|been|so"
    r"|too|very"
    r"|because|like|called|getting|hard|funny|sad|bad|great|nice|about|what|why|how|when|where|who)\b)"
).match
PROPERTIES: dict[str, tuple[str, Taker]] = {
    **dict.fromkeys(("name", "full name", "first name"), ("name", name)),
    **dict.fromkeys(("birthday", "date of birth", "dob", "bday", "b-day"), ("birthday", birthday)),
    **dict.fromkeys(("job", "profession", "occupation"), ("occupation", phrase)),
    **dict.fromkeys(("hometown", "home town"), ("from", proper)),
    **dict.fromkeys(("hobby", "hobbies"), ("hobby", phrases)),
    **dict.fromkeys(("mother tongue", "native language", "first language", "native tongue"), ("speaks", proper)),
    "surname": ("name", name),
    "age": ("age", age),
    "nationality": ("nationality", proper),
}
_HAS_PROPERTY = LazyPattern(
    r"name|b-?(?:irth)?day|birth|dob|job|profession|occupation|home ?town|hobb|age|nationality|tongue|language"
    r"|fav",
    re.IGNORECASE,
).search
_CORRECTS = LazyPattern(
    r"(?:(?:\*|sorry|no|nope|wait|oops|whoops|actually|scratch that|correction|I mean|I meant|make that|typo|edit"
    r"|rather|ugh|hang on|hold on|my bad|apologies|argh|did I write \w+\?|it['’]s|it is|that should be|should "
    r"be)[,.!:;… -]*(?=\s|\Z|(?<=[*,.!:;… -]))\s*){1,5}(?:in |at |for |from |with |an? |the )?",
    re.IGNORECASE,
).match
_WRONGLY = LazyPattern(
    r"\b(?:I|you)(?:['’]ve)? (?:said|typed|wrote|put|gave you|told you|noted|have me down as|had me down "
    r"as)(?: that)?(?: I (?:was|am|live in|work at|work for)| I['’]m(?: from)?| my \w+ (?:was|is))?"
    r" (?:in |on |an? )?(?=\S)|\bwhy I (?:typed|wrote|said|put) ",
    re.IGNORECASE,
).search
_NOT_FIRST = LazyPattern(
    r"\A\W*(?:[Nn]o,? )?[Nn]ot (?:in |at |for |from |an? )?(?=[A-Z])"
).match  # "Not Samsung, I work for Sony"
_VALUE_END = LazyPattern(r"[.;!?…\n](?:\s|\Z)|\s[-–—]\s").search


def _end_of_value(text: str, at: int) -> int:
    found = _VALUE_END(text, at)
    return len(text) if found is None else found.start()


_MOST_MEANT = 8


def _likeness(words: str, last: Stated) -> int:
    """How likely words are meant instead of a value: they begin like it, or are a place or a name where it is one."""
    pairs = zip(words.lower(), last.object.lower(), strict=False)
    begins = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    place = last.match.relation in ("lives_in", "from") and (words in entities.PLACES or words in CITIES)
    person = words in entities.FIRST_NAMES and (last.take is name or last.take is names)
    return begins + 3 * (place or person)


class ValueReader(ClauseFinder):
    """Reads the values of properties, and what a sentence corrects; remembers what *it* may mean."""

    def __init__(self) -> None:
        super().__init__()
        self._topic: tuple[Subject, str, Taker] | None = None

    def _called(
        self, text: str, clause: Clause, places: list[Place], owner: Subject, subject: Subject, *, negated: bool = False
    ) -> list[RuleMatch]:
        match = match_of(
            subject.relation,
            places[0],
            clause.start,
            max(clause.end, places[-1][1]),
            owner,
            negated=negated,
            confidence=0.85,
        )
        self._topic = (owner, subject.relation, name)
        self._last = Stated(match, text[slice(*places[0])], name)
        if not negated:
            self._people = tuple(Subject(name=text[slice(*one)], relation=subject.relation) for one in places)
            self._person = self._people[0]
        found = [match._replace(object_start=first, object_end=last) for first, last in places]
        return found + contrasts(text, match, places[-1], name)

    def _property(self, text: str, clause: Clause) -> list[RuleMatch] | None:
        """The claims of a clause about a property of its subject, or None when it is about no property."""
        found = (
            _PROPERTY(text, clause.at, clause.end) if clause.how == "subject" and len(clause.subjects) == 1 else None
        )
        if found is None:
            return None
        return self._valued(text, clause.start, clause.end, clause.subjects[0], found)

    def _valued(self, text: str, start: int, end: int, owner: Subject, found: re.Match[str]) -> list[RuleMatch]:
        what = " ".join(found["what"].lower().split())
        relation, take = PROPERTIES.get(what, (FAVOURITE + what.partition(" ")[2].removesuffix(" of all"), phrase))
        if owner.owner or (found["was"] and relation not in ("name",)) or what.split()[-1] in SECRETS:
            return []
        if relation == "name" and not owner.is_speaker:
            if not owner.kin or not owner.relation:
                places = [] if owner.pet or owner.name or not owner.kin else name(text, found.end(), len(text))
                return [match_of("name", one, start, max(end, one[1]), owner) for one in places]
            places = names(text, found.end(), len(text))
            clause = Clause((owner,), start, start, end)
            return self._called(text, clause, places, SPEAKER, owner, negated=bool(found["not"])) if places else []
        self._topic = (owner, relation, take)
        places = take(text, found.end(), end if relation != "birthday" else len(text))
        if not places:
            return []
        match = match_of(
            relation,
            places[0],
            start,
            max(end, places[-1][1]),
            owner,
            kind=PAST if found["was"] else STATE,
            negated=bool(found["not"]),
            confidence=0.9,
        )
        self._last = Stated(match, text[slice(*places[0])], take)
        return [match._replace(object_start=one[0], object_end=one[1]) for one in places] + contrasts(
            text, match, places[-1], take
        )

    def _properties(self, text: str, short: str, doubt: int) -> Iterator[RuleMatch]:
        """Properties that are named in any part of a sentence: "his name is", "favourite band:", "it is"."""
        if self._topic is None and not _HAS_PROPERTY(short):
            return
        for start in (0, *(bound.end() for bound in BOUND.finditer(short))):
            own = _OWN(short, start)
            if own is not None and start < doubt:
                owner = self._person if own["my"] and own["my"].lower() in ("his ", "her ") else SPEAKER
                if owner is not None and not (owner.name and "name" in own["what"].lower()):
                    yield from self._valued(text, start, _end_of_value(short, own.end()), owner, own)
            its = _IT_IS(short, start)
            if its is not None and self._topic is not None and start < doubt:
                owner, relation, take = self._topic
                for place in take(text, its.end(), len(text))[:1]:
                    match = match_of(relation, place, start, place[1], owner, negated=bool(its["not"]), confidence=0.8)
                    yield match
                    yield from contrasts(text, match, place, take)

    def _corrections(self, text: str) -> list[RuleMatch]:
        """A sentence that only gives another value for what was said last: "Sorry, I meant Leicester"."""
        lead = _CORRECTS(text)
        if lead is None or not lead[0].strip() or self._last is None:
            return []
        meant = [
            (_likeness(text[slice(*places[0])], last), at, places[0], last)
            for at, last in enumerate(self._stated_last[-_MOST_MEANT:])
            if (places := last.take(text, lead.end(), len(text))) and ENDS_NAME(text, places[0][1])
        ]
        if not meant:
            return []
        _, _, place, last = max(meant, key=lambda one: one[:2])
        return self._replaced(text, place, last)

    def _replaced(self, text: str, place: Place, last: Stated) -> list[RuleMatch]:
        if text[slice(*place)].lower() == last.object.lower():
            return []
        match = last.match._replace(object_start=place[0], object_end=place[1], object="", start=0, end=len(text))
        self._last = Stated(match, text[slice(*place)], last.take)
        return [match, match._replace(object=last.object, negated=True)]

    def _wronged(self, text: str) -> Iterator[RuleMatch]:
        """Values that were said by mistake: "I said 52 earlier but I'm 53", "I don't know why I typed Delft"."""
        wrong = _WRONGLY(text[:_MOST_SEARCHED]) or _NOT_FIRST(text)
        if self._last is None or wrong is None:
            return
        last = self._last
        places = last.take(text, wrong.end(), len(text))
        if wrong.re.pattern.startswith("\\A") and not (places and text.startswith(", ", places[0][1])):
            return
        if places and text[slice(*places[0])].lower() != last.object.lower():
            yield last.match._replace(object=text[slice(*places[0])], negated=True, start=0, end=len(text))

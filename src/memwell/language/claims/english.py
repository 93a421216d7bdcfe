"""Reads claims from English sentences: clauses, the subject of each, its verb, and the frame of the verb.

A sentence is split into clauses; one without a subject has that of the clause before it, and at the beginning of a message
the speaker's. Questions, conditions, wishes, guesses, quotations and reported speech state nothing, but whom they mention
("my sister Ann") is known. A value that is corrected ("not Ann but Anna", "Sorry, I meant Leicester") is negated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from memwell.language import entities
from memwell.language.claims.english_doubt import (
    ASKED,
    CANCELLED,
    MATERIAL,
    NO_LONGER,
    NO_STATEMENT,
    NOT_AT_ALL,
    QUOTES,
    UNREAL,
    doubts,
    is_not_meant,
    without_asides,
)
from memwell.language.claims.english_frames import FRAMES
from memwell.language.claims.english_homes_and_work import ENDS, VerbFrame
from memwell.language.claims.english_objects import (
    CITIES,
    KIN,
    LANGUAGES,
    NAME,
    PETS,
    SAME_KIN,
    SECRETS,
    Place,
    Taker,
    age,
    birthday,
    listed,
    name,
    names,
    phrase,
    phrases,
    place,
    proper,
    several,
    title,
    titled,
)
from memwell.language.claims.english_paraphrases import DISPUTED, PARAPHRASES, PRESUPPOSED
from memwell.language.claims.english_predicates import (
    DEGREE,
    HE,
    NOT_SO_MUCH,
    OF_PEOPLE,
    SPEAKER,
    TAKEN_BACK,
    THEY,
    Clause,
    Predicate,
    Stated,
    Subject,
    agrees,
    contrasts,
    is_allowed,
    is_possible_age,
    match_of,
    outcome_of,
    predicate_of,
    relation_left,
    until_any_more,
)
from memwell.language.claims.english_sayings import (
    DISOWNS,
    OF_ANOTHER,
    contacts,
    cut,
    dropped_plan,
    plan_place,
    sayings,
)
from memwell.language.claims.english_subjects import (
    BOUND,
    ENDS_NAME,
    IS_KIN,
    KIN_WORDS,
    ClauseFinder,
    contact_owner,
    is_relative,
    named_pets,
    of_pet,
    over,
    together,
)
from memwell.language.claims.english_verbs import PRESENT
from memwell.language.claims.relations import EVENT, FAVOURITE, PAST, PLAN, RELATIONS, STARTED, STATE, RuleMatch
from memwell.language.patterns import LazyPattern

_MOST_READ = 2_000

_WHAT = (
    r"(?P<what>name|full name|first name|surname|birthday|date of birth|dob|bday|b-day|job title|job|profession|occupation"
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
    r"(?:\W*(?i:(?:but|and|so|oh|well|now|actually|honestly|while|whereas|because|since|though|these days) ){0,3}"
    r"|[^,;:]{0,20}?[,:] )"
    rf"(?P<my>(?i:my|his|her) )?(?:new |current |real |day |main )?(?i:{_WHAT}){_COPULA}"
).match
_IT_IS = LazyPattern(
    r"(?:but |and |no,? )?(?:[Ii]t|[Tt]hat|[Mm]ine)(?:['’]s| is| should be|(?= isn['’]t))(?P<not> not| isn['’]t)? "
    r"(?:(?:now|on|in|actually|really|only|just) )*"
    r"(?!(?:not|fine|ok|okay|an?|the(?! \d)|my|more|that|all|nothing|good|true|false|something|complicated|different"
    r"|been|so"
    r"|too|very"
    r"|because|like|called|getting|hard|funny|sad|bad|great|nice|about|what|why|how|when|where|who)\b)"
).match
_TITLED = frozenset(
    "film movie book novel song album show series play game poem musical opera podcast magazine".split()
)
PROPERTIES: dict[str, tuple[str, Taker]] = {
    **dict.fromkeys(("name", "full name", "first name"), ("name", name)),
    **dict.fromkeys(("birthday", "date of birth", "dob", "bday", "b-day"), ("birthday", birthday)),
    **dict.fromkeys(("job", "job title", "profession", "occupation"), ("occupation", phrase)),
    **dict.fromkeys(("hometown", "home town"), ("from", proper)),
    **dict.fromkeys(("hobby", "hobbies"), ("hobby", phrases)),
    **dict.fromkeys(
        ("mother tongue", "native language", "first language", "native tongue"), ("speaks", several(listed(LANGUAGES)))
    ),
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
    r"(?:(?:\*|sorry|no(?! (?!sorry|wait|actually|make|it|that|scratch|hang|hold)[a-z]{3})|nope|wait|oops|whoops"
    r"|actually|scratch that|correction|I mean|I meant|make that|typo|edit"
    r"|rather|ugh|hang on|hold on|my bad|apologies|argh|did I write \w+\?|it['’]s|it is|that should be|should "
    r"be|I should(?: have|['’]ve) (?:said|written))[,.!:;… -]*(?=\s|\Z|(?<=[*,.!:;… -]))\s*){1,5}(?:in |at |for "
    r"|from |with |an? |the )?",
    re.IGNORECASE,
).match
_VALUE_FIRST = LazyPattern(
    r"[A-Z\d][\w’'-]*(?: [A-Z][\w’'-]*)?,? (?i:sorry|I meant?|typo|oops|my mistake|correction)\b"
).match
_IS_A_CLAUSE = LazyPattern(
    r"(?:I|you|he|she|it|we|they|my \w+|our \w+)(?:['’](?:s|m|re|ve|d|ll)|dn['’]t)?\b(?! (?:and|or|but)\b)"
    # "Correction: the party is on Saturday" says something of the party.
    r"|[\w'’-]+(?: [\w'’-]+){0,3} (?:(?:is|are|was|were)(?! (?:what|where|who|how|right|it)\b)"
    r"|has|have|goes|starts|leaves|costs)\b",
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
_NOT_FIRST_END = LazyPattern(r", |\W*\Z").match
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
        taste = what.partition(" ")[2].removesuffix(" of all")
        favourite = (FAVOURITE + taste, title if taste.split(" ")[-1] in _TITLED else phrase)
        relation, take = PROPERTIES.get(what, favourite)
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
            if own is not None and own.start("what") < doubt:
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
        at_value = 0 if lead is None else lead.end()
        if not ((lead and lead[0].strip()) or _VALUE_FIRST(text)) or self._last is None or _IS_A_CLAUSE(text, at_value):
            return []
        meant = [
            (_likeness(text[slice(*places[0])], last), at, places[0], last)
            for at, last in enumerate(self._stated_last[-_MOST_MEANT:])
            if (places := last.take(text, at_value, len(text))) and ENDS_NAME(text, places[0][1])
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
        wrong = _WRONGLY(text[:_MOST_READ]) or _NOT_FIRST(text)
        if self._last is None or wrong is None:
            return
        last = self._last
        places = last.take(text, wrong.end(), len(text))
        if wrong.re.pattern.startswith("\\A") and not (places and _NOT_FIRST_END(text, places[0][1])):
            return
        if places and text[slice(*places[0])].lower() != last.object.lower():
            yield last.match._replace(object=text[slice(*places[0])], negated=True, start=0, end=len(text))


_MOST_SEARCHED = 2_000
_RECTIFIES = LazyPattern(
    r"\W*(?:sorry|no|nope|wait|oops|whoops|(?:well|actually),? (?:no\b|not\b)|correction|scratch|hang on|hold on"
    r"|typo)\b",
    re.IGNORECASE,
).match


# Of what may have several values it only adds one: "Actually I like coffee".
_ACTUALLY = LazyPattern(r"\W*actually\b(?!.* (?:now|these days|nowadays)\b)", re.IGNORECASE).match


def _settled(text: str, disputed: list[RuleMatch], found: list[RuleMatch]) -> list[RuleMatch]:
    """The negations of what was said wrongly, where the right value is stated."""
    right = [one for one in found if not one.negated]
    return [
        wrong._replace(negated=True, start=0, end=len(text))
        for wrong in disputed
        if any(
            _about(one) == _about(wrong)
            and (one.object or text[one.object_start : one.object_end]).lower() != wrong.object.lower()
            for one in right
        )
    ]


def _about(match: RuleMatch) -> tuple[str, str, str]:
    return match.relation, match.subject, match.kin


_AGED = LazyPattern(
    r"(?: ?\(|,? who(?:['’]s| is) |,? aged |, )(?P<age>\d{1,2})(?: years old)?(?=[,.;)]|\Z| and\b)"
).match


def _ages(text: str, found: list[RuleMatch]) -> list[RuleMatch]:
    """Ages in brackets after the names of people: "a son, Milo (4)"."""
    people = [one for one in found if (known := RELATIONS.get(one.relation)) and known.people and not one.object]
    return [
        RuleMatch("age", *aged.span("age"), one.start, aged.end(), text[one.object_start : one.object_end])
        for one in people
        if (aged := _AGED(text, one.object_end)) is not None
    ]


def _of_the_named(text: str, found: list[RuleMatch]) -> list[RuleMatch]:
    """The claims; what is over of an animal is over of the one whose name follows it: "We lost our collie Bess"."""
    pets = {one.object_start: one for one in found if one.relation == "pet" and not (one.negated or one.object)}
    over = [one for one in found if one.relation == "pet" and one.negated and one.object_end + 1 in pets]
    named = [pets[one.object_end + 1] for one in over]
    kept = [one for one in found if one not in over and one not in named and (one.relation != "kind" or not over)]
    return kept + [one._replace(negated=True) for one in named] if over else found


_NO_WAIT = LazyPattern(r"\b(?:no|wait|sorry|I mean|I meant|oops|scratch that|correction|hang on|hold on)\b").search


def _taken_back(text: str, found: list[RuleMatch]) -> list[RuleMatch]:
    """The negations of values that a later clause corrects: "she's 8, no wait, she's 9"."""
    last: dict[tuple[str, str, str], RuleMatch] = {}
    gone: list[RuleMatch] = []
    for one in found:
        relation = RELATIONS.get(one.relation)
        before = None if relation is None or not relation.single or one.negated else last.get(_about(one))
        if before is not None and before.object_end < one.start and _NO_WAIT(text, before.object_end, one.object_start):
            gone.append(before._replace(negated=True))
        if not one.negated:
            last[_about(one)] = one
    return gone


_PLURAL_SAYS = frozenset(
    "lives_in pet kind owns visited bought plans child from friend married_to partner works_at studies_at left "
    "joined likes dislikes name speaks diet nationality hobby studies".split()
)
_OPPOSITE = {"likes": "dislikes"}
_MEANS = {"coeliac": "gluten", "celiac": "gluten"}
"""What people cannot eat, by the word for them."""
_ALSO_ASKED = [one for one in PARAPHRASES if one[0] == "as a"]
"""What a question may say besides."""
_IS_OVER = LazyPattern(
    r"\b(?:quit|leave|leaving|left|lost|lose|resign\w*|sold|sell|fired|sacked|laid|last|(?<!-)old|former\w*|ex|used to"
    r"|died"
    r"|buried|gone"
    r"|no longer|any ?more|stopped|moved|wish|not|grown out|grew out|outgrown|outgrew|to sleep)\b",
    re.IGNORECASE,
).search
_WANTS = frozenset("want hope plan need try like love wish intend prefer decide think let make help".split())
_SO_TOO = LazyPattern(
    rf"\b(?:so|neither) (?:is|does|do|are|am|has|can) (?P<so>I\b|(?i:my) (?:[a-z]+ )?(?:{KIN_WORDS})\b|{NAME})(?=[,.;!]|\Z)"
    rf"|(?:and|,) (?P<too>(?i:my) (?:[a-z]+ )?(?:{KIN_WORDS})\b)(?: is| does| has)?,? too(?=[,.;!]|\Z)"
    rf"|, not (?P<no>(?i:my) (?:[a-z]+ )?(?:{KIN_WORDS})\b|me\b)(?=[,.;!]|\Z)"
).finditer
_AGAIN = LazyPattern(r"\b(?:again|now|these days|nowadays)\b").search
_OF_ANOTHER = frozenset("with of at in to for on near".split())
_NAMES_ONE = LazyPattern(r"\s*an? [a-z -]{3,40}? (?:called|named) ").match
_LIKEWISE = LazyPattern(r",? (?:(?P<where>in|at|for|from) (?=[A-Z])|(?P<to>to) |(?P<a>an?|the) )").match
_LIKEWISE_SAYS = {
    "in": ("lives_in",),
    "at": ("works_at", "studies_at"),
    "for": ("works_at",),
    "from": ("from",),
    "to": ("allergic_to",),
    "a": ("occupation",),
    "an": ("occupation",),
    "the": ("hobby",),
}
_SAID_INSTEAD = frozenset("allergic_to from lives_in works_at nationality studies_at name".split())
_PLAIN = frozenset(
    "lives_in works_at occupation studies_at studies from name age nationality speaks diet graduated_from pet "
    "likes dislikes hobby owns allergic_to".split()
)


class EnglishReader(ValueReader):
    """Reads the sentences of one text in order; remembers whom and what they are about."""

    def __init__(self) -> None:
        super().__init__()
        self._before: list[RuleMatch] = []
        self._sentence = ""
        self._quoted = self._material = False
        self._plain = False
        self._withdrawn: list[RuleMatch] = []
        self._planning = False
        self._disputed: list[RuleMatch] = []
        """What the speaker says was said, and may be about to correct: "I said I live in Kent. I live in Essex"."""

    def __call__(self, sentence: str) -> list[RuleMatch]:
        """The claims of the next sentence of the text."""
        jest = NOT_AT_ALL(sentence)
        if jest is not None:
            # What was said in jest was never said.
            before = {_about(one) for one in self._before}
            gone = [one._replace(negated=True, start=0, end=len(sentence), confidence=0.0) for one in self._before]
            # "Just kidding, it's Kwame"
            rest = self(" " * jest.end() + sentence[jest.end() :]) if before and jest.end() < len(sentence) else []
            return gone + [one for one in rest if _about(one) in before]
        if self._before and NO_LONGER(sentence):
            return [one._replace(negated=True, start=0, end=len(sentence)) for one in self._before if not one.negated]
        planned = [one for one in self._before if one.relation == "plans" and not one.negated]
        if planned and CANCELLED(sentence):
            return [one._replace(negated=True, start=0, end=len(sentence)) for one in planned[-1:]]
        self._material = self._material or MATERIAL(sentence) is not None
        if self._is_quoted(sentence) or self._material:
            return []
        self._new, self._withdrawn = True, []
        found = self._statements(sentence)
        short = sentence[:_MOST_SEARCHED]
        before, self._disputed = self._disputed, list(self._paraphrased(short, len(short), DISPUTED))
        found = _of_the_named(sentence, found)
        found += _ages(sentence, found)
        found += self._disowned(sentence, found) + self._of_another(sentence, found)
        stated = {_about(one) for one in found if not one.negated}
        found += [*_taken_back(sentence, found), *(one for one in self._withdrawn if _about(one) in stated)]
        found += self._rectified(sentence, found) + _settled(sentence, before + self._disputed, found)
        self._before = [one._replace(object=one.object or sentence[one.object_start : one.object_end]) for one in found]
        self._sentence = sentence
        return found

    def _disowned(self, text: str, found: list[RuleMatch]) -> list[RuleMatch]:
        """What is another's, and was never the speaker's: "I have a dog. It's my wife's"."""
        theirs = DISOWNS(text, 0, min(len(text), _MOST_SEARCHED))
        if theirs is None:
            return []
        said = [one for one in found if one.object_start <= theirs.start()]
        before = [one._replace(object=one.object or text[one.object_start : one.object_end]) for one in said]
        return [
            one._replace(start=0, end=len(text), negated=True, confidence=0.0)
            for one in before or self._before
            if one.relation in ("pet", "owns") and not (one.subject or one.kin)
        ]

    def _of_another(self, text: str, found: list[RuleMatch]) -> list[RuleMatch]:
        """What is true of a relative, and not of the speaker: "I don't play golf, that's my brother"."""
        theirs = OF_ANOTHER(text, 0, min(len(text), _MOST_SEARCHED))
        if theirs is None:
            return []
        said = [one for one in found if one.object_start < theirs.start()]
        before = [one._replace(object=one.object or text[one.object_start : one.object_end]) for one in said]
        # "thats my brothers"
        word = next(one for one in (theirs["kin"].removesuffix("s"), theirs["kin"]) if one in KIN)
        kin, at = SAME_KIN.get(word, word), theirs.start()
        mine = [
            one._replace(object_start=at, object_end=at, start=at, end=theirs.end())
            for one in before or self._before
            if one.object and one.relation in _PLAIN | {"birthday", "phone", "email"} and not (one.subject or one.kin)
        ]
        gone = [one._replace(negated=True) for one in mine if not one.negated]
        if gone and not theirs["sorry"]:
            return []
        return gone + [one._replace(negated=False, kin=kin, kind=STATE) for one in mine if one.kind != PAST]

    def _rectified(self, sentence: str, found: list[RuleMatch]) -> list[RuleMatch]:
        """The negations of what the sentence before stated, where this one says another value instead."""
        sorry, actually = _RECTIFIES(sentence), _ACTUALLY(sentence)
        return [
            before._replace(negated=True, start=0, end=len(sentence))
            for before in self._before
            for one in found
            if (sorry or (actually and (known := RELATIONS.get(one.relation)) and known.single))
            and not (one.negated or before.negated)
            and _about(one) == _about(before)
            and before.object.lower() not in sentence.lower()
        ]

    def _is_quoted(self, sentence: str) -> bool:
        """Whether a sentence begins in a quotation that another one opened."""
        quoted, self._quoted = self._quoted, self._quoted ^ bool(len(QUOTES.findall(sentence)) % 2)
        return quoted

    def _statements(self, sentence: str) -> list[RuleMatch]:
        """What a sentence states, and what it takes for granted."""
        text = without_asides(sentence)
        short = text[:_MOST_SEARCHED]
        if is_not_meant(text):
            return []
        found = self._stated_in(text, short)
        lower = short.lower()
        ways = [way for way in PRESUPPOSED if way[0] in lower]
        if ways and not (UNREAL(text) or _IS_OVER(short)):
            for way in ways:
                known = {_about(one) for one in found}
                found += [one for one in self._paraphrased(short, len(text), (way,)) if _about(one) not in known]
        return found

    def _stated_in(self, text: str, short: str) -> list[RuleMatch]:
        corrected = self._corrections(text)
        if corrected:
            return corrected
        asked = "?" in text[-4:]
        refused = NO_STATEMENT(text) is not None
        before = self._person
        unreal = UNREAL(text) is not None
        found = [] if unreal else list(self._mentions(text, short))
        if before is not None and _BEGINS_WITH_PRONOUN(text):
            # "She lives in Antwerp with her husband Piet" is about who was named before him.
            self._person = before
        if not unreal:
            found += self._paraphrased(short, len(text), _ALSO_ASKED)
        if refused:
            return found
        stop = len(text)
        if asked:
            question = ASKED(text)
            if question is None:
                self._notes_unnamed(short)
                return found
            stop = question.start()
        doubt, resumed = doubts(text, stop)
        found += self._introduces(short[:doubt])
        for clause in self._clauses(text, stop, doubt, resumed):
            found += self._read(text, clause)
        found += self._named_otherwise(text, short, doubt)
        found += self._so_too(short[:doubt], found)
        found += self._wronged(text)
        # "I don't have a son, I have a daughter, Elif"
        has = {_about(one) for one in found if not one.negated and one.relation in OF_PEOPLE}
        return [
            one
            for one in found
            if not (one.negated and one.object_start == one.object_end and not one.object) or _about(one) not in has
        ]

    def _read(self, text: str, clause: Clause) -> list[RuleMatch]:
        resolved = tuple(self._resolved(clause.subjects))
        self._meets(text, clause)
        clause = clause._replace(subjects=resolved)
        if not clause.subjects or _gives_ages(text, clause):
            return []
        subject = clause.subjects[-1] if clause.subjects[0].is_speaker else clause.subjects[0]
        if not subject.is_speaker and not subject.pet:
            self._person = subject
            self._people = clause.subjects if len(clause.subjects) > 1 or subject.kin.endswith("s") else self._people
        if subject.pet:
            pets = of_pet(text, clause, subject)
            self._topic = (SPEAKER, "pet", name) if pets else self._topic
            if pets and not pets[0].negated:
                self._last = Stated(pets[0], text[pets[0].object_start : pets[0].object_end], name)
            return pets
        owned = self._property(text, clause)
        if owned is not None:
            return owned
        said = predicate_of(text, clause)
        if said is None:
            return self._likewise(text, clause, subject)
        if len(clause.subjects) > 1 or subject.plural:
            both = together(text, clause, said)
            if both:
                return both
        related = over(text, clause, said, subject, self._kin) or self._related(text, clause, said, subject)
        if related:
            # "My partner is a musician called Lior"
            more = self._framed(text, clause, said, subject) if _NAMES_ONE(text, said.at) and subject.kin else []
            return [*related, *(one for one in more if one.relation == "occupation")]
        found: list[RuleMatch] = []
        now = text[max(0, clause.start - 5) : clause.start].endswith("now ") or _AGAIN(text, clause.start, clause.end)
        if clause.how == "carried" and said.form == PRESENT and not (self._plain or now):
            # "I want to live in Paris and work at Google"; but "I plan to sell up and move".
            place = cut(text, said.start, clause.end) if self._planning and not said.can else []
            return [
                match_of("plans", one, clause.start, clause.end, subject, kind=PLAN, confidence=0.7) for one in place
            ]
        for one in clause.subjects:
            if not one.owner:
                found += self._introduced(text, clause, said, one) or self._framed(text, clause, said, one)
        self._planning = any(one.relation == "plans" and not one.negated for one in found)
        # "I'm deaf and live in Derry", but not "I'm keen to live in Paris and work at Google".
        is_so = said.verb not in _WANTS and said.tense == "present" and not (said.negated or said.can)
        is_so = is_so and " to " not in text[said.at : clause.end]
        self._plain = is_so or any(one.relation in _PLAIN and one.kind in (STATE, EVENT, STARTED) for one in found)
        return found

    def _likewise(self, text: str, clause: Clause, subject: Subject) -> list[RuleMatch]:
        """A clause without a verb that says the same of another: "My brother lives in Leuven, my sister in Liège"."""
        last, joint = self._last, _LIKEWISE(text, clause.at, clause.end)
        if self._new or last is None or joint is None or subject.is_speaker or subject.owner or last.match.negated:
            return []
        if last.match.relation not in _LIKEWISE_SAYS[joint["where"] or joint["to"] or joint["a"]]:
            return []
        places = last.take(text, joint.end(), clause.end)
        start = clause.start
        relation, kind = last.match.relation, last.match.kind
        return [match_of(relation, one, start, max(clause.end, one[1]), subject, kind=kind) for one in places[:1]]

    def _introduced(self, text: str, clause: Clause, said: Predicate, subject: Subject) -> list[RuleMatch]:
        """The speaker by name ("I'm Ines, 29"), and when someone was born."""
        born = _BORN(text, said.at) if said.verb == "be bear" else None
        if born is not None:
            places, relation, take = birthday(text, born.end(), len(text)), "birthday", birthday
        elif (
            said.verb == "be"
            and subject.is_speaker
            and not subject.plural
            and clause.how == "subject"
            and not said.ended
        ):
            places, relation, take = name(text, said.at, clause.end), "name", name
            places = [one for one in places if text[one[0]].isupper() and _ENDS_INTRODUCTION(text, one[1])]
            places = [one for one in places if not text[slice(*one)].lower().endswith(_NO_NAME_ENDINGS)]
            places = [one for one in places if not (_IN_JEST_CALLED(text[slice(*one)]) or titled(text, *one))]
            # "I'm a mum with a toddler named Zuri" and "a cook at a place called Ember" name another.
            places = [one for one in places if not _OF_ANOTHER & set(text[said.at : one[0]].split())]
        else:
            return []
        if (
            not places
            or said.tense not in ("present", "past")
            or (said.verb == "be" and said.tense == "past" and not _BEFORE(text))
        ):
            return []
        kind = PAST if relation == "name" and said.tense == "past" else STATE
        match = match_of(
            relation,
            places[0],
            clause.start,
            max(clause.end, places[0][1]),
            subject,
            kind=kind,
            negated=said.negated,
            confidence=0.7,
        )
        self._last = Stated(match, text[slice(*places[0])], take)
        more = contrasts(text, match, _past_now(text, places[0]), take)
        found = _FROM(text, places[0][1]) if relation == "name" and kind == STATE and not said.negated else None
        # "Born on 3 May in Lima"
        found = _IN(text, places[0][1]) if relation == "birthday" else found
        aged = _AGED(text, places[0][1]) if relation == "name" and not said.negated else None
        if aged is not None:
            more.append(match._replace(relation="age", object_start=aged.start("age"), object_end=aged.end("age")))
        home = place(text, found.end(), len(text)) if found is not None else []
        more += [match._replace(relation="from", object_start=first, object_end=last) for first, last in home[:1]]
        return [match, *more]

    def _framed(self, text: str, clause: Clause, said: Predicate, subject: Subject) -> list[RuleMatch]:
        if said.negated and NOT_SO_MUCH(text, said.at, clause.end):
            return []
        said, end = until_any_more(text, said, clause.end)
        if not agrees(clause, said, subject):
            return []
        found: list[RuleMatch] = []
        relations: set[str] = set()
        for frame in FRAMES.get(said.verb, ()):
            matched = frame.match(text, said.at, end)
            if matched is None or (frame.after == "degree" and not DEGREE(matched[0])):
                continue
            again = f"{frame.relation} ends" if frame.mode == ENDS else frame.relation
            if (
                again in relations
                or (frame.relation in ("owns", "bought") and "pet" in relations)
                or not is_allowed(frame, said, text, clause, subject)
            ):
                continue
            first = matched.start("o")
            places = frame.take(text, first, matched.end("o"))
            stated = self._stated(frame, said, places, clause, subject, text) if places else []
            if stated:
                relations |= {f"{frame.relation} ends"} if frame.mode == ENDS else {frame.relation}
                found += stated
        if not found:
            found += _planned(text, clause, said, subject)
        return found

    def _stated(
        self, frame: VerbFrame, said: Predicate, places: list[Place], clause: Clause, subject: Subject, text: str
    ) -> list[RuleMatch]:
        outcome = outcome_of(frame, said, clause)
        meant = None if outcome is None else _meant(frame, said, places, subject, text, negated=outcome[1])
        if outcome is None or meant is None:
            return []
        kind = outcome[0]
        relation, subject, places, negated = meant
        match = match_of(
            relation,
            places[0],
            clause.start,
            clause.end,
            subject,
            kind=PAST if kind == STATE and not negated and _OR_WAS(text, places[-1][1]) else kind,
            negated=negated,
            confidence=frame.confidence,
            lasting=said.tense == "perfect",
        )
        found = [match._replace(object_start=first, object_end=last) for first, last in places]
        if relation == "allergic_to":
            found = [one._replace(object=_MEANS.get(text[slice(*one[1:3])].lower(), "")) for one in found]
        if relation == "pet":
            found = [one for each in found for one in named_pets(text, each)]
            return found + contrasts(text, match, places[-1], frame.take)
        if relation in ("married_to", "partner") and subject.name and not negated:
            self._people = (subject, Subject(name=text[slice(*places[0])]))
        self._last = Stated(match, text[slice(*places[0])], frame.take)
        if negated and relation in _SAID_INSTEAD:
            # "I'm not allergic to eggs, it's milk"
            self._topic = (subject, relation, frame.take)
        contrasted = contrasts(text, match, places[-1], frame.take)
        if not contrasted and TAKEN_BACK(text, places[-1][1]):
            # It states nothing, unless another value follows.
            self._withdrawn += [one._replace(negated=True) for one in found if not one.negated]
            return []
        return found + contrasted

    def _related(self, text: str, clause: Clause, said: Predicate, subject: Subject) -> list[RuleMatch]:
        simple = said.verb in ("be", "be spell") and said.tense in ("present", "past") and not said.used_to
        if not simple and said.verb not in ("be call", "be name"):
            return []
        is_kin = IS_KIN(text, said.at, clause.end) if said.verb == "be" else None
        if is_kin is not None and (subject.name or subject.is_speaker):
            people = clause.subjects if all(one.name for one in clause.subjects) else (subject,)
            return [match for one in people for match in is_relative(text, clause, said, one, is_kin)]
        if not subject.kin or not subject.relation:
            return []
        places = names(text, said.at + (text[said.at : said.at + 1] == " "), min(len(text), clause.end + 60))
        if said.verb == "be" and places and text[places[0][0]].islower():
            return []
        if not places or (said.verb == "be" and not ENDS_NAME(text, places[-1][1])):
            return []
        owner = Subject(name=subject.owner.removeprefix("'s"), kin=subject.of_kin) if subject.owner else SPEAKER
        # "My first wife was called Jean"
        was = said.tense == "past" and subject.relation in ("married_to", "partner")
        return self._called(text, clause, places, owner, subject, negated=said.negated or was)

    def _so_too(self, text: str, found: list[RuleMatch]) -> Iterator[RuleMatch]:
        """The same of another: "I'm vegan, and so is my wife", "my brother is too"; the contrary: "…, not me"."""
        for too in _SO_TOO(text) if found else ():
            at = max(too.start(way) for way in ("so", "too", "no"))
            who = SPEAKER if too["no"] == "me" else self._subject(text, at)[0]
            last = next((one for one in reversed(found) if one.start <= too.start()), None)
            if who is None or last is None or who.owner or who.pet or who.kin in (HE, THEY):
                continue
            words = last.object or text[last.object_start : last.object_end]
            kin = "" if who.name else who.kin
            same = last.relation in ("plans", "name", *OF_PEOPLE) or (who.name, kin) == (last.subject, last.kin)
            if words and not same:
                other = last._replace(subject=who.name, kin=kin, object=words, start=too.start(), end=too.end())
                yield other._replace(negated=last.negated or bool(too["no"]))

    def _named_otherwise(self, text: str, short: str, doubt: int) -> Iterator[RuleMatch]:
        """Statements that have no subject and verb of their own: favourites, lists, contacts, "it is …"."""
        for match, take in contacts(text, self._sentence, lambda before: contact_owner(before, self._person)):
            yield match
            self._last = Stated(match, text[match.object_start : match.object_end], take)
        yield from self._properties(text, short, doubt)
        yield from sayings(short, doubt)
        yield from self._paraphrased(short, doubt)

    def _paraphrased(
        self, text: str, doubt: int, ways: Iterable[tuple[str, LazyPattern, str]] = PARAPHRASES
    ) -> Iterator[RuleMatch]:
        """What a sentence says in other words, by the ways of saying it that are looked for."""
        lower = text.lower()
        for hint, pattern, plain in ways:
            found = pattern.search(text) if hint in lower else None
            if found is None or found.start() > doubt:
                continue
            sentence = plain.format(**found.groupdict())
            end = len(sentence)
            matches = [one for clause in self._clauses(sentence, end, end, end) for one in self._read(sentence, clause)]
            for match in (*matches, *self._properties(sentence, sentence, end)):
                words = match.object or sentence[match.object_start : match.object_end]
                place = (found.start(), found.start(), *found.span())
                yield RuleMatch(match.relation, *place, *match[5:])._replace(object=words)


_TWO_AGES = LazyPattern(r"(?:,? (?:are|were|aged))? ?\d{1,2}(?:,| and) \d{1,2}\b").match
_SECOND_AGE = LazyPattern(r"\d{1,2}\b").match


def _gives_ages(text: str, clause: Clause) -> bool:
    """Whether a clause gives the ages of several people, and not which is whose: "Our kids are 3 and 7"."""
    kin = clause.subjects[0].kin
    several = len(clause.subjects) > 1 or (kin.endswith(("s", "children")) and kin != "boss")
    second = clause.how == "bare" and _SECOND_AGE(text, clause.at) and text[: clause.at].endswith((" and ", ", "))
    return several and bool(second or _TWO_AGES(text, clause.at))


def _meant(
    frame: VerbFrame, said: Predicate, places: list[Place], subject: Subject, text: str, *, negated: bool
) -> tuple[str, Subject, list[Place], bool] | None:
    """The relation that a frame states, of whom, the objects, and whether it is denied; None when it states nothing."""
    relation = relation_left(frame.relation, text, places[0], subject)
    if relation == "owns" and text[slice(*places[0])].lower().rsplit(maxsplit=1)[-1] in PETS:
        relation = "pet"
    if relation == "name" and not subject.is_speaker and not (said.verb == "go" and subject.name):
        relation, subject = subject.relation if subject.kin else "", SPEAKER
    if relation == "occupation" and (retired := _RETIRED(text, places[0][0])):
        negated, places = True, [(retired.end(), places[0][1])]
    young = relation == "occupation" and subject.kin in ("toddler", "baby", "kid", "twins", "kids")
    too_young = relation == "age" and not is_possible_age(text[slice(*places[0])], subject)
    if not relation or young or too_young or (subject.plural and relation not in _PLURAL_SAYS):
        return None
    if negated and relation in _OPPOSITE and not said.ended and frame.mode != ENDS:
        relation, negated = _OPPOSITE[relation], False
    return relation, subject, places, negated


def _planned(text: str, clause: Clause, said: Predicate, subject: Subject) -> list[RuleMatch]:
    off = dropped_plan(text, clause.end, said)
    place = off or plan_place(text, clause.start, clause.end, said)
    found: list[RuleMatch] = []
    for first, last in place:
        found.append(
            match_of(
                "plans",
                (first, last),
                clause.start,
                max(last, clause.end),
                subject,
                kind=PLAN,
                confidence=0.7,
                negated=bool(off) or (said.verb in ("cancel", "call") and said.tense in ("past", "perfect")),
            )
        )
    return found


_BEGINS_WITH_PRONOUN = LazyPattern(r"\W*(?:and |but |so |oh,? |also,? )?(?:he|she|his|her)\b", re.IGNORECASE).match
_BORN = LazyPattern(
    r"\s*(?:on )?(?:the (?=\d))?(?=[A-Z\d]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?!\d{4}\b)"
).match
_FROM, _IN = LazyPattern(r",? from (?=[A-Z])").match, LazyPattern(r",? in (?=[A-Z])").match
_ENDS_INTRODUCTION = LazyPattern(r"\s*(?:\Z|[,.!;(]|(?:and|now|from|by the way|btw|but|not|instead|again)\b)").match
_BEFORE = LazyPattern(r"\b(?:before|formerly|previously|maiden|used to)\b").search
_NO_NAME_ENDINGS = tuple(
    "ish ese man woman virgo libra scorpio sagittarius capricorn aquarius pisces gemini taurus".split()
)
_IN_JEST_CALLED = LazyPattern(
    r"(?:Team|Camp|Gen|Generation|House|Type|Peak|Club)\b|(?:Little )?(?:Captain|Mr|Mrs|Miss|Ms|King|Queen|Lord|Lady"
    r"|Doctor|Dr|Professor|Major|General|Sergeant)\.? (?:\w+(?:ous|ful|[ai]ble|less|tive|tion|ality|shine|umpy|pendent|sed"
    r"|zed)|Chaos|Slow|Grumpy|Popular|Perfect|Right|Wrong|Clumsy|Tidy|Messy|Late|Lazy|Busy|Nice|Nobody|America|Marvel"
    r"|Universe|Disaster|Drama|Happy|Bossy|Muddle|Cool|Hindsight)\b"
).match
"""What people call themselves in jest, or the side they take: *Captain Obvious*, *Team Edward*."""
_NOW_WORD = LazyPattern(r" now\b").match


def _past_now(text: str, place: Place) -> Place:
    found = _NOW_WORD(text, place[1])
    return place if found is None else (place[0], found.end())


_OR_WAS = LazyPattern(
    r",? (?:or|well),? (?:at least )?(?:I )?(?:was|did|used to)\b"
).match  # "a nurse, or was until May"
_RETIRED = LazyPattern(r"(?:retired|former|ex-?) ?").match

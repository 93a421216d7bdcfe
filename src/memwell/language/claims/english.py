"""Reads claims from English sentences: clauses, the subject of each, its verb, and the frame of the verb.

A sentence is split into clauses; one without a subject has that of the clause before it, and at the beginning of a message
the speaker's. Questions, conditions, wishes, guesses, quotations and reported speech state nothing, but whom they mention
("my sister Ann") is known. A value that is corrected ("not Ann but Anna", "Sorry, I meant Leicester") is negated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memwell.language import entities
from memwell.language.claims.english_frames import (
    BEGINS,
    ENDS,
    FORMS,
    FRAMES,
    HAPPENS,
    HOLDS,
    NAME,
    UPPER,
    Frame,
    Place,
    Taker,
    age,
    birthday,
    is_casual,
    name,
    names,
    phrase,
    phrases,
    proper,
)
from memwell.language.claims.english_sayings import contacts, plan_place, sayings
from memwell.language.claims.english_words import (
    ADULTS,
    CALLED_BY_KIN,
    ING,
    INVERSE_KIN,
    KIN,
    NOT_NAMES,
    NUMBERS,
    PARTICIPLE,
    PAST_FORM,
    PETS,
    PRESENT,
    SAME_KIN,
    TELLS_APART,
    THIRD,
)
from memwell.language.claims.relations import EVENT, FAVOURITE, PAST, PLAN, STARTED, STATE, RuleMatch


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
"""Stand for whoever was named before."""
_MOST_SEARCHED = 2_000
_LONGEST_CLAUSE = 400

# What is taken out of a sentence before it is read: quotations, and talk about the talk.

_QUOTED = re.compile(r"[\"“][^\"“”\n]{0,400}[\"”]")
_TITLE = re.compile(r"[\"“][^\"“”\n]{0,400}\b(?:I|I['’]m|my|we|you|me|you)\b[^\"“”\n]{0,400}[\"”]", re.IGNORECASE)
_ASIDE = re.compile(
    r"\b(?:(?:not sure|dunno|don['’]t know|can['’]t remember|no idea|don['’]t remember|not certain|forgot) (?:if|whether) (?:I|you|we)\b[^,;:.!?]{0,60}"
    r"|(?:as|like) (?:I|we) (?:said|mentioned|told you|say|wrote)(?: (?:before|earlier|already|last time))?"
    r"|in case (?:you|anyone|it|that)(?: \w+){1,5}|(?:if|since|as|because) you (?:ask|asked|must know|want to know|were wondering|need to know|re asking|are asking)(?: \w+)?"
    r"|(?:forget|ignore|disregard) (?:what I (?:said|told you|wrote)|that)[^,;:.!?]{0,30}|contrary to (?:what|popular|rumou?rs?)\b[^,;:.!?]{0,50}|before (?:I|we) (?:forget|start|begin|go on)|if (?:it|that) (?:helps|matters)"
    r"|if I (?:haven['’]t|didn['’]t)[^,;:.!?]{0,40}|(?:I )?(?:forgot|wanted|meant|have|need|should|ought|just wanted|thought I['’]d)(?: to)? (?:say|mention|tell you|add|admit|confess|let you know)(?: that)?"
    r"|I don['’]t think I(?:['’]ve)? (?:told|mentioned|said)[^,;:.!?]{0,30}|(?:just )?so you know(?: \w+ you['’]re \w+ \w+)?|(?:for|to) the record|let me (?:correct|rephrase|clarify|fix) (?:that|this|myself)|to be (?:honest|fair|clear|frank|precise)(?: with you)?"
    r"|I (?:must|have to|gotta) say|you know what|fun fact|guess what|(?:don['’]t|dont) laugh|believe it or not|(?:can|would) you believe (?:it|that)|you won['’]t believe (?:it|this)"
    r"|turns out(?: that)?|as it turns out|it turns out(?: that)?|I should (?:mention|say|add)(?: that)?|sorry if [^,;:.!?]{0,50}|you (?:can|could|might) (?:probably )?(?:tell|guess|know)[^,;:.!?]{0,40}"
    r"|strictly speaking|please (?:note|remember|correct your notes|update your notes|be aware)(?: that)?|note that|remember that|keep in mind that|I['’]d (?:say|like you to know(?: that)?)|no offen[cs]e[^,;:.!?]{0,30})(?=[\s,;:.!?…]|\Z)",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:just kidding|kidding|joking|jk|just a joke|/s|yeah,? right|as if|lo{2,}ve|l+o+l+|in my dreams|said no one)\b(?:\W*\Z)?|😂|🤣|\A\W*(?:oh (?:sure|yeah|yes|great|joy|wonderful|fantastic|brilliant|perfect|lovely)|sure|right|yay)[,.!…] (?=.*\bjust\b|and i|.*\blo+ve\b)"
    r"|\bthe (?:school of hard|university of life)",
    re.IGNORECASE,
).search
_JOKES_AT_END = re.compile(r"\b(?:lol|haha\w*|lmao|rofl)\W*\Z", re.IGNORECASE).search
_FICTION = re.compile(
    r"\b(?:in|from|of|read|watch\w*|heard?) (?:the|this|that|a|my|her|his|an old) (?:\w+ )?(?:film|movie|book|novel|song|show|series|episode|game|story|poem|podcast|dream|sketch|"
    r"musical|opera|lyrics|play|sitcom|soap|drama|documentary)\b|\b(?:headline|lyrics|the character|bumper sticker|t-shirt|for this exercise|role-?play|hypothetically|in another life|in a past life|"
    r"translate|proofread|rephrase|rewrite|let['’]s (?:say|pretend|imagine|assume)|dreamt|dreamed|nightmare|once upon|stuck in my head|"
    r"someone told|somebody told|according to|the article|I read that|I heard that|in an alternate|as they say|as the saying)\b",
    re.IGNORECASE,
).search
_NO_STATEMENT = re.compile(
    r"\A[\s\"“]*(?:if|whenever|unless|suppose|supposing|imagine|pretend|until|whether|would|could|should|do|does|"
    r"did|am|is|are|was|were|can|will|have (?:I|you|we|they)|has (?:he|she|it|my)|who|what|where|why|how|which|let|maybe|perhaps|>|had (?:I|we|he|she)|isn['’]t|aren['’]t|say (?:some|I|my|you)|any idea|tell me)\b|\A\s*>",
    re.IGNORECASE,
).match
_UNREAL = re.compile(r"\A\W*(?:suppose|supposing|imagine|pretend|say |let['’]?s|had )", re.IGNORECASE).match
_DOUBT = re.compile(
    r"\b(?:(?P<unreal>if|whether|unless|wish|wishes|imagine|pretend|pretending|suppose|joked|joking|kidding|as though|dreamed|dreamt|lied|another life)"
    r"|said|says|say|told|tells|asked|claims|claimed|thinks|thought|assume|assumes|assumed|was like|goes(?= \x00))\b",
    re.IGNORECASE,
)
_RESUMES = re.compile(r"[;:]|, but |\bbut (?=I['’]m\b|I\b|my\b)").search
_ASKED = re.compile(
    r"(?:,| -|;|:)\s*(?:so |and |but )?(?:is|are|was|do|does|did|can|could|should|would|will|what|where|who|why|how|which|when|any|isn['’]t|aren['’]t|don['’]t|doesn['’]t|have|has)\b(?! (?:you )?right)",
    re.IGNORECASE,
).search

# Subjects.

_KIN_WORDS = "|".join(sorted(KIN, key=len, reverse=True))
_PET_WORDS = "|".join(sorted(PETS, key=len, reverse=True))
_ADJECTIVES = r"(?P<adjectives>(?:(?!(?:and|or|is|was|of|in|with|my|our|an?|the|not|just)\b)[a-z-]+ ){0,3}?)"
_MINE = re.compile(
    rf"(?P<my>[Mm]y|[Oo]ur|[Tt]he(?= (?:new |old )?(?:neighbou?r|boss|landlord|landlady|wife|husband|kids|missus)\b)|[Hh]is|[Hh]er|[Tt]heir"
    rf"|(?P<of>{NAME})['’]s?|(?P<mykin>[Mm]y (?:[a-z]+ )??(?P<ofkin>{_KIN_WORDS}))['’]s) {_ADJECTIVES}(?i:(?P<kin>{_KIN_WORDS})|(?P<pet>{_PET_WORDS}))\b(?!-| (?:sister|brother|cousin|friend|boy|girl)\b|['’]s (?:[a-z-]+ ){{0,2}}(?:{_KIN_WORDS})\b)"
    rf"(?P<named>(?:,? (?:named|called) |, | )(?=(?P<name>(?!I\b){NAME})))?"
)
_TITLED = re.compile(rf"(?P<title>Aunt|Auntie|Aunty|Uncle|Grandma|Grandpa|Granny|Gran|Nan|Grandad|Granddad|Cousin) (?=(?P<name>{NAME}))")
_APPOSED_AFTER = re.compile(rf"(?P<name>(?!I\b){NAME}),? (?:\(|who is |who['’]s )?my {_ADJECTIVES}(?P<kin>{_KIN_WORDS})(?=[,.;!)]|\Z)")
_APPOSED_SUBJECT = re.compile(rf", (?:who is )?my (?:[a-z-]+ )??(?P<kin>{_KIN_WORDS}),(?= )").match
_SPEAKS = re.compile(r"(?:I|i)(?=m\b|ve\b|['’ ,]|\Z)|(?P<we>[Ww]e)(?=['’ ,]|\Z)").match
_PRONOUN = re.compile(r"(?i:(?P<one>he|she)|(?P<they>they))(?=['’ ])").match
_NAMED = re.compile(rf"(?!I\b){NAME}").match
_BARE_KIN = re.compile(rf"(?i:(?P<kin>{'|'.join(sorted(CALLED_BY_KIN))}|partner|wife|husband|hubby|boyfriend|girlfriend|boss))(?=['’ ])").match
_ITS = re.compile(r"(?:[Ii]t|[Tt]hat|[Tt]his)(?=['’]s\b| is\b| was\b| should\b| isn['’]t\b| has\b)").match
_AND_SUBJECT = re.compile(r",? (?:and|&) ").match
_FILLER = re.compile(
    r"(?:(?:and|but|so|well|yeah|yes|yep|yup|oh|wow|actually|also|plus|btw|because|hi|hey|hello|there|sure|no|nope|ok|okay|thanks|"
    r"honestly|anyway|anyways|currently|right now|these days|nowadays|now|fun fact|by the way|since|as|then|though|although|while|random|fyi|tbh|ah|um|uh|hmm|haha|lol|lately|today|tomorrow|tonight|yesterday|recently|"
    r"finally|officially|sadly|luckily|update|news|good news|big news|great news|bad news|quick update|quick note|note|sorry|please|right|look|listen|yes and|in fact|for context|context|eventually|previously|before that|after that|originally|apparently not|eh|ha|man|dude|"
    r"unfortunately|fortunately|thankfully|happily|whereas|yet|still|just|already|personally|technically|obviously|clearly|naturally|again|turns out|ugh|whoa|yay|good morning|morning|good evening|correction|edit|typo|wait|that|alas|"
    r"(?:last|this|next|every|most|on) (?:\w+ )?(?:week|weeks|month|year|years|weekend|weekends|summer|winter|spring|autumn|fall|night|morning|monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays))(?![\w'’])[,:;.!…-]*\s*){0,6}",
    re.IGNORECASE,
).match
_ADVERBIAL = re.compile(
    r"(?:At|In|On|Most|After|Since|Next|Last|Every|For|During|Before|These|This|From|Until|Back|With|Until|By|Over|Once|As of|Following|Thanks to|Sometimes|Usually|About|Around|Just|A|Two|Three|Four|Five|Ever|When|To|Out|As) [^,;:.!?]{0,60}?[ ,]+(?=(?:I|we|my)\b)",
    re.IGNORECASE,
).match
_OPENING = re.compile(r"[\s\"“*•>-]*").match
_BOUND = re.compile(r"[,;:!…—–()*.]+\s*|\s[-–]\s|\s(?:and|but|so|because|then|plus|while|whereas|although|though|since|as|yet|who)\s|(?<=who)(?=['’]s)")
_HARD = re.compile(r"[;!?()\x00]|\s[-–—]\s|—|[.:…](?:\s|\Z)|\.\.").search

# Verbs.

_ADVERBS = frozenset(
    "really also always just actually currently still now absolutely totally truly mostly recently finally already both even "
    "definitely too usually especially particularly honestly basically simply personally originally all so genuinely officially "
    "happily presently sometimes often kinda lately generally certainly deeply only mainly quite most very since then newly "
    "soon sadly once ever eventually obviously apparently? secretly proudly severely completely properly half".replace("?", "").split()
)
_NO_LY = frozenset("family only fly apply reply rely early italy july supply multiply ugly lovely friendly daily".split())
_HEDGES = frozenset(
    "would could might may should must shall 'd wouldn't couldn't won't shouldn't mightn't 'd've ought wanna gotta maybe perhaps "
    "probably possibly apparently supposedly allegedly basically practically virtually almost nearly seemingly about roughly "
    "did didn't hardly barely somewhat hope hopefully".split()
)
_NEGATIONS = frozenset("don't dont doesn't doesnt not never isn't aren't ain't haven't hasn't isnt arent".split())
_PAST_NEGATIONS = frozenset("wasn't weren't hadn't".split())
_BE = frozenset("'m am is are 's 're been im m be being".split())
_WAS = frozenset("was were".split())
_HAVE = frozenset("'ve have has ve".split())
_GET = {"get": "present", "gets": "present", "got": "past", "getting": "ing", "gotten": "perfect"}
_WORD = re.compile(r"\s*(['’]?[A-Za-zÀ-ÿ][\w’'-]*)").match
_MOST_WORDS_BEFORE_VERB = 9
_NOW = re.compile(r"\b(?:now|nowadays|these days|at the moment|again|since)\b", re.IGNORECASE).search
_ANY_MORE = re.compile(
    r"[\s,]+(?:anymore\b|any longer\b|any more(?=\s*(?:\Z|[^\w\s]|(?:and|but|or|so|because|since|as|at|in|now|though|either|"
    r"for|these|due|thanks|after|when|which|if)\b)))",
    re.IGNORECASE,
).search
_NO_MORE = re.compile(r"\s+no (?:more|longer)(?=\s*\Z)", re.IGNORECASE).search
_NOT_SO_MUCH = re.compile(r"\b(?:as|so) (?:much|often)\b", re.IGNORECASE).search
_DEGREE = re.compile(r"\b(?:degree|ph\.?d|master['’]?s|masters|bachelor['’]?s|diploma|mba|m\.?a|b\.?a|msc|bsc|doctorate|llm|llb)\b", re.IGNORECASE).search
_SCHOOL = re.compile(r"\b(?:College|University|School|Academy|High|Institute|Elementary|Primary|Polytechnic|St\.? [A-Z]|Uni)\b").search
_PUPILS = frozenset("son daughter kid nephew niece grandson granddaughter sister brother cousin".split())
_SCHOOLING = re.compile(r"\b(?:school|schools|college|uni|university|degree|course|student|class|classes|studies|semesters?|major)\b", re.IGNORECASE).search
_WORKING = re.compile(r"\b(?:jobs?|employers?|compan(?:y|ies)|firm|work|worked|working|career|notice|joined|boss|years|role|team|hired|start)\b", re.IGNORECASE).search
_LOVING = re.compile(r"\b(?:dating|boyfriend|girlfriend|seeing|relationship|ended things|broke|split|single|partner|ex)\b", re.IGNORECASE).search
_THEN = re.compile(r"\b(?:last (?:week|weekend|month|year|summer|winter|spring|autumn|easter|christmas|january|february|march|april|may|june|july|august|september|october|november|december)|yesterday|ago)\b", re.IGNORECASE).search
_MAJOR = re.compile(r"\b(?:majors?|courses?|degree|subjects?)\b", re.IGNORECASE).search
_PLURAL_SAYS = frozenset(
    "lives_in pet kind owns visited bought plans child from friend married_to partner works_at studies_at left joined likes dislikes name".split()
)
_LEFT_BEHIND = frozenset("occupation lives_in works_at studies_at studies from pet partner".split())
_OPPOSITE = {"likes": "dislikes"}
_PLAIN = frozenset("lives_in works_at occupation studies_at studies from name age nationality speaks diet graduated_from pet likes dislikes hobby owns allergic_to".split())


class _Predicate(NamedTuple):
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


class _Clause(NamedTuple):
    """A part of a sentence with its subjects; its verb is at ``at``."""

    subjects: tuple[Subject, ...]
    start: int
    at: int
    end: int
    how: str = "subject"
    """Where its subject is from: "subject", "carried", "bare" (an implied *is*) or "fragment"."""


class _Stated(NamedTuple):
    """A claim that may be corrected, with how its object was cut out."""

    match: RuleMatch
    object: str
    take: Taker


class EnglishReader:
    """Reads the sentences of one text in order; remembers whom and what they are about."""

    def __init__(self) -> None:
        self._person: Subject | None = None
        self._people: tuple[Subject, ...] = ()
        self._topic: tuple[Subject, str, Taker] | None = None
        self._last: _Stated | None = None
        self._wrong: list[str] = []
        self._pet = False
        self._wed = ""
        self._plain = False

    def __call__(self, sentence: str) -> list[RuleMatch]:
        """The claims of the next sentence of the text."""
        text = _without_asides(sentence)
        short = text[:_MOST_SEARCHED]
        if _FICTION(short) or _JOKE(short) or _JOKES_AT_END(text[-12:]):
            return []
        corrected = self._corrections(text)
        if corrected:
            return corrected
        asked = "?" in text[-4:]
        refused = _NO_STATEMENT(text) is not None
        found = [] if _UNREAL(text) else list(self._mentions(text, short))
        if refused:
            return found
        stop = len(text)
        topic = _TOPIC(short)
        if topic is not None:
            self._topic = (SPEAKER, *_PROPERTIES[topic["what"].lower()])
        if asked:
            question = _ASKED(text)
            if question is None:
                return found
            stop = question.start()
        doubt, resumed = _doubts(text, stop)
        for clause in self._clauses(text, stop, doubt, resumed):
            found += self._read(text, clause)
        found += self._named_otherwise(text, short, doubt)
        found += self._wronged(text)
        return found

    # Who is mentioned, whatever the sentence says of them.

    def _mentions(self, text: str, short: str) -> Iterator[RuleMatch]:
        """People and pets with their names: "with my sister Anna", "Ann's husband Bob", "our cats, Tom and Kit"."""
        nearest = self._person
        if "y " in text or "ur " in text or "is " in text or "er " in text or "’s " in text or "'s " in text:
            for found in _MINE.finditer(text):
                owner = _owner(found, nearest)
                if not found["name"] or owner is None or found["adjectives"].split()[:1] == ["only"]:
                    continue
                places = self._names_of(text, found)
                word = (found["kin"] or found["pet"]).lower()
                relation = KIN[word] if found["kin"] else "pet"
                for first, last in places:
                    self._person = nearest = Subject(name=text[first:last], relation=relation)
                    if relation and (relation != "pet" or owner.is_speaker or found["pet"]):
                        ended = _is_past_kin(word, found["adjectives"])
                        match = _match(relation, (first, last), found.start(), last, owner, negated=ended)
                        yield match
                        self._last = _Stated(match, text[first:last], name)
                        yield from _contrasted(text, match, (first, last), name)
                        if relation == "pet" and not ended:
                            kind = (found.start("adjectives"), found.end("pet"))
                            yield RuleMatch("kind", *kind, found.start(), last, subject=text[first:last], confidence=0.85)
        for found in _TITLED.finditer(text):
            if text[max(0, found.start() - 3) : found.start()].lower() not in ("my ", "ur ", "is ", "er "):
                yield RuleMatch("relative", *found.span("name"), found.start(), found.end("name"), confidence=0.8)
                self._person = Subject(name=found["name"])
        if " my " in short:
            for found in _APPOSED_AFTER.finditer(short):
                if found["name"].lower() not in NOT_NAMES and KIN[found["kin"]] and not short[: found.start()].endswith("not "):
                    yield RuleMatch(KIN[found["kin"]], *found.span("name"), *found.span(), confidence=0.85)

    def _names_of(self, text: str, found: re.Match[str]) -> list[Place]:
        at = found.start("name")
        word = (found["kin"] or found["pet"]).lower()
        many = word.endswith("s") or word in ("children", "mice", "geese", "sheep", "fish", "family", "twins")
        places = names(text, at, len(text)) if many else name(text, at, min(len(text), at + 80))
        if found["named"] == ", " and places and text[places[-1][1] : places[-1][1] + 1] not in ("", ",", ".", ";", "!", "?", ")"):
            return []
        return [] if word == "family" else places

    # Clauses.

    def _clauses(self, text: str, stop: int, doubt: int, resumed: int) -> Iterator[_Clause]:
        """The clauses before ``stop``, without those between a doubt and where statements are resumed."""
        found: list[_Clause] = []
        opening = _OPENING(text)
        begin = 0 if opening is None else opening.end()
        starts = [begin, *(bound.end() for bound in _BOUND.finditer(text, begin, stop))]
        at = -1
        for start in starts:
            if start < at or start >= stop:
                continue
            clause = self._head(text, start, found, first=start == begin)
            if clause is not None:
                found.append(clause)
                at = clause.at
                # Whom a clause is about is known before the next one is read.
                if len(found) > 1:
                    yield from self._bounded(text, found[-2], clause.start, stop, doubt, resumed)
        if found:
            yield from self._bounded(text, found[-1], stop, stop, doubt, resumed)

    def _bounded(self, text: str, clause: _Clause, end: int, stop: int, doubt: int, resumed: int) -> Iterator[_Clause]:
        far = min(end, stop, clause.at + _LONGEST_CLAUSE)
        hard = _HARD(text, clause.at, far)
        end = far if hard is None else hard.start()
        if not (doubt < end and clause.start < resumed) and end > clause.at:
            yield clause._replace(end=end)

    def _head(self, text: str, start: int, before: list[_Clause], *, first: bool) -> _Clause | None:
        filler = _FILLER(text, start)
        at = start if filler is None else filler.end()
        if first and not _SPEAKS(text, at) and (adverbial := _ADVERBIAL(text, at) or _ADVERBIAL(text, start)):
            at = adverbial.end()
        if text[at - 5 : at].lower() == " who " or text[start - 3 : start].lower() == "who":
            return None if self._person is None else _Clause((self._person,), start, at, at)
        if _WHO(text, at) and self._person is not None and before:
            return _Clause((self._person,), at + 3, at + 3, at + 3)
        subjects, end = self._subjects(text, at)
        if subjects:
            return _Clause(subjects, at, end, end)
        if first:
            return _Clause((SPEAKER,), at, at, at, "fragment") if _is_fragment(text, at) else None
        if not before:
            return None
        word = _WORD(text, at)
        form = {} if word is None else FORMS.get(word[1].lower(), {})
        others = before[-1].subjects
        if text.startswith(("raised", "bred", "brought up"), at):
            return None
        if word is not None and others[0].is_speaker and (word[1].lower() in ("is", "has") or (THIRD in form and PRESENT not in form)):
            return None
        if word is not None and (word[1].lower() in ("is", "has", "can't", "am", "have", "was") or THIRD in form or PAST_FORM in form or PRESENT in form):
            if text[start - 1] != " " or _OF_ANOTHER(text, before[-1].at, start):
                return None
            return _Clause(others, at, at, at, "carried")
        if _BARE(text, at) and (text[start - 2 : start] == ", " or text[at : at + 1] not in "aA" or text[at : at + 3] in ("all", "age")):
            # "my sister Ann, a nurse": of whoever was named last in the clause, else of its subject.
            near = self._near(text, before[-1], at)
            return _Clause((near,) if near else others, at, at, at, "bare")
        return None

    def _near(self, text: str, clause: _Clause, at: int) -> Subject | None:
        if self._person and self._person.name and text.endswith(self._person.name, clause.at, at) is False:
            ahead = text[clause.at : at].rstrip(" ,(")
            return self._person if ahead.endswith(self._person.name) and not clause.subjects[0].is_speaker else None
        return None

    def _subjects(self, text: str, at: int) -> tuple[tuple[Subject, ...], int]:
        one, end = self._subject(text, at)
        if one is None:
            return (), at
        joint = _AND_SUBJECT(text, end)
        other, after = self._subject(text, joint.end()) if joint else (None, end)
        if other is not None and not (one.plural or other.plural) and not _IS_VERB_NEXT(text, end):
            return (one, other), after
        named = bool(one.name) and not one.relation and not text.startswith(("'s ", "’s "), end)
        if named and not _is_verb(text, end):
            return (), at
        return (one,), end

    def _subject(self, text: str, at: int) -> tuple[Subject | None, int]:
        """The person that is named at a place, and where the name ends."""
        found = _SPEAKS(text, at)
        if found is not None:
            return Subject(plural=found["we"] is not None), found.end()
        found = _MINE.match(text, at)
        if found is not None:
            owner = _owner(found, self._person)
            if owner is not None:
                return self._relative(text, found, owner)
        found = _TITLED.match(text, at)
        if found is not None:
            return Subject(name=found["name"], relation="relative"), found.end("name")
        found = _PRONOUN(text, at)
        if found is not None:
            # Who it is is known when the clauses before it have been read.
            return Subject(kin=HE if found["one"] else THEY), found.end()
        found = _BARE_KIN(text, at)
        if found is not None and (found["kin"].lower() in CALLED_BY_KIN or is_casual(text[at:])):
            word = SAME_KIN.get(found["kin"].lower(), found["kin"].lower())
            return Subject(kin=word, relation=KIN[word]), found.end()
        found = _NAMED(text, at)
        if found is not None and found[0].split()[0].lower().rstrip(".") not in _NO_SUBJECTS:
            apposed = _APPOSED_SUBJECT(text, found.end())
            if apposed is not None:
                return Subject(name=found[0], relation=KIN[apposed["kin"]] or "known"), apposed.end()
            return Subject(name=found[0]), found.end()
        return None, at

    def _relative(self, text: str, found: re.Match[str], owner: Subject) -> tuple[Subject | None, int]:
        word = (found["kin"] or found["pet"]).lower()
        if found["pet"]:
            places = self._names_of(text, found) if found["name"] else []
            called = text[places[0][0] : places[0][1]] if places else ""
            return Subject(pet=word, name="", owner=owner.name or owner.kin, relation=called), (places[0][1] if places else found.end())
        if found["name"] and (places := self._names_of(text, found)):
            end = places[-1][1]
            end += text.startswith(",", end) and found["named"] == ", "
            if len(places) > 1:
                self._people = tuple(Subject(name=text[slice(*one)], relation=KIN[word]) for one in places)
                return Subject(kin=THEY), end
            return Subject(name=text[places[0][0] : places[0][1]], relation=KIN[word]), end
        if not owner.is_speaker:
            return Subject(kin=word, owner=owner.name or "'s", relation=KIN[word], of_kin=owner.kin), found.end()
        if word == "family":
            return Subject(plural=True), found.end()
        apart = [one for one in found["adjectives"].split() if one in TELLS_APART]
        return Subject(kin=" ".join([*apart, SAME_KIN.get(word, word)]), relation=KIN[word]), found.end("kin")

    # What a clause says.

    def _read(self, text: str, clause: _Clause) -> list[RuleMatch]:
        clause = clause._replace(subjects=tuple(self._resolved(clause.subjects)))
        if not clause.subjects:
            return []
        subject = clause.subjects[-1] if clause.subjects[0].is_speaker else clause.subjects[0]
        if not subject.is_speaker and not subject.pet:
            self._person = subject
            self._people = clause.subjects if len(clause.subjects) > 1 or subject.kin.endswith("s") else self._people
        if subject.pet:
            return _of_pet(text, clause, subject)
        owned = self._property(text, clause)
        if owned is not None:
            return owned
        said = _predicate(text, clause)
        if said is None:
            return []
        if len(clause.subjects) > 1 or subject.plural:
            together = _together(text, clause, said)
            if together:
                return together
        related = _over(text, clause, said, subject) or self._related(text, clause, said, subject)
        if related:
            return related
        found: list[RuleMatch] = []
        if clause.how == "carried" and said.form == PRESENT and not self._plain:
            # "I want to live in Paris and work at Google".
            return []
        for one in clause.subjects:
            if not one.owner:
                found += self._introduced(text, clause, said, one) or self._framed(text, clause, said, one)
        self._plain = any(one.relation in _PLAIN and one.kind in (STATE, EVENT, STARTED) for one in found)
        return found

    def _introduced(self, text: str, clause: _Clause, said: _Predicate, subject: Subject) -> list[RuleMatch]:
        """The speaker by name ("I'm Ines, 29"), and when someone was born."""
        born = _BORN(text, said.at) if said.verb == "be bear" else None
        if born is not None:
            places, relation, take = birthday(text, born.end(), len(text)), "birthday", birthday
        elif said.verb == "be" and subject.is_speaker and not subject.plural and clause.how == "subject" and not said.ended:
            places, relation, take = name(text, said.at, clause.end), "name", name
            places = [one for one in places if text[one[0]].isupper() and _ENDS_INTRODUCTION(text, one[1])]
            places = [one for one in places if not text[slice(*one)].lower().endswith(_NO_NAME_ENDINGS)]
        else:
            return []
        if not places or said.tense not in ("present", "past") or (said.verb == "be" and said.tense == "past" and not _BEFORE(text)):
            return []
        kind = PAST if relation == "name" and said.tense == "past" else STATE
        match = _match(relation, places[0], clause.start, max(clause.end, places[0][1]), subject, kind=kind, negated=said.negated, confidence=0.7)
        self._last = _Stated(match, text[slice(*places[0])], take)
        more = _contrasted(text, match, _past_now(text, places[0]), take)
        return [match, *more]

    def _resolved(self, subjects: Iterable[Subject]) -> Iterator[Subject]:
        for one in subjects:
            if one.kin == THEY:
                yield from self._people
            elif one.kin != HE:
                yield one
            elif self._person is not None:
                yield self._person

    def _framed(self, text: str, clause: _Clause, said: _Predicate, subject: Subject) -> list[RuleMatch]:
        if said.negated and _NOT_SO_MUCH(text, said.at, clause.end):
            return []
        said, end = _until_any_more(text, said, clause.end)
        if not _agrees(clause, said, subject):
            return []
        found: list[RuleMatch] = []
        relations: set[str] = set()
        for frame in FRAMES.get(said.verb, ()):
            again = f"{frame.relation} ends" if frame.mode == ENDS else frame.relation
            if again in relations or (frame.relation in ("owns", "bought") and "pet" in relations) or not _allowed(frame, said, text, clause, subject):
                continue
            matched = frame.match(text, said.at, end)
            if matched is None or (frame.after == "degree" and not _DEGREE(matched[0])):
                continue
            first = matched.start("o")
            places = frame.take(text, first, matched.end("o"))
            stated = self._stated(frame, said, places, clause, subject, text) if places else []
            if stated:
                relations |= {f"{frame.relation} ends"} if frame.mode == ENDS else {frame.relation}
                found += stated
        if not found:
            found += self._planned(text, clause, said, subject)
        return found

    def _stated(self, frame: Frame, said: _Predicate, places: list[Place], clause: _Clause, subject: Subject, text: str) -> list[RuleMatch]:
        outcome = _outcome(frame, said, clause)
        if outcome is None:
            return []
        kind, negated = outcome
        relation = _resolved(frame.relation, text, places[0])
        if not relation:
            return []
        if relation == "name" and not subject.is_speaker:
            if not subject.kin:
                return []
            relation, subject = subject.relation, SPEAKER
            if not relation:
                return []
        if relation == "occupation" and (retired := _RETIRED(text, places[0][0])):
            negated, places = True, [(retired.end(), places[0][1])]
        if relation == "occupation" and subject.kin in ("toddler", "baby", "kid", "twins", "kids"):
            return []
        if relation == "age" and not _is_possible_age(text[slice(*places[0])], subject):
            return []
        if subject.plural and relation not in _PLURAL_SAYS:
            return []
        if negated and relation in _OPPOSITE and not said.ended and frame.mode != ENDS:
            relation, negated = _OPPOSITE[relation], False
        match = _match(relation, places[0], clause.start, clause.end, subject, kind=kind, negated=negated, confidence=frame.confidence, lasting=said.tense == "perfect")
        found = [match._replace(object_start=first, object_end=last) for first, last in places]
        if relation == "pet":
            self._pet = not negated and subject.is_speaker
            return [one for each in found for one in _named_pets(text, each)]
        if relation in ("married_to", "partner") and subject.name and not negated:
            self._people = (subject, Subject(name=text[slice(*places[0])]))
        self._last = _Stated(match, text[slice(*places[0])], frame.take)
        contrasted = _contrasted(text, match, places[-1], frame.take)
        # A value that is taken back, but not for one that can be read, states nothing.
        return [] if not contrasted and _TAKEN_BACK(text, places[-1][1]) else found + contrasted

    def _planned(self, text: str, clause: _Clause, said: _Predicate, subject: Subject) -> list[RuleMatch]:
        place = plan_place(text, clause.start, clause.end, said)
        found: list[RuleMatch] = []
        for first, last in place:
            found.append(_match("plans", (first, last), clause.start, max(last, clause.end), subject, kind=PLAN, confidence=0.7, negated=said.verb in ("cancel", "call") and said.tense in ("past", "perfect")))
        return found

    # Relatives by name: "my husband is Emeka", "Carla is my best friend", "Marguerite is Theo's sister".

    def _related(self, text: str, clause: _Clause, said: _Predicate, subject: Subject) -> list[RuleMatch]:
        if said.verb not in ("be", "be call", "be name", "be spell") or said.tense not in ("present", "past") or said.used_to:
            if said.verb not in ("be call", "be name"):
                return []
        is_kin = _IS_KIN(text, said.at, clause.end) if said.verb == "be" else None
        if is_kin is not None and (subject.name or subject.is_speaker):
            return self._is_relative(text, clause, said, subject, is_kin)
        if not subject.kin or not subject.relation:
            return []
        places = names(text, said.at + (text[said.at : said.at + 1] == " "), clause.end)
        if said.verb == "be" and places and text[places[0][0]].islower():
            return []
        if not places or (said.verb == "be" and not _ENDS_NAME(text, places[-1][1])):
            return []
        owner = Subject(name=subject.owner.removeprefix("'s"), kin=subject.of_kin) if subject.owner else SPEAKER
        return self._called(text, clause, places, owner, subject, negated=said.negated)

    def _called(self, text: str, clause: _Clause, places: list[Place], owner: Subject, subject: Subject, *, negated: bool = False) -> list[RuleMatch]:
        match = _match(subject.relation, places[0], clause.start, max(clause.end, places[-1][1]), owner, negated=negated, confidence=0.85)
        self._topic = (owner, subject.relation, name)
        self._last = _Stated(match, text[slice(*places[0])], name)
        if not negated:
            self._people = tuple(Subject(name=text[slice(*one)], relation=subject.relation) for one in places)
            self._person = self._people[0]
        found = [match._replace(object_start=first, object_end=last) for first, last in places]
        return found + _contrasted(text, match, places[-1], name)

    def _is_relative(self, text: str, clause: _Clause, said: _Predicate, subject: Subject, found: re.Match[str]) -> list[RuleMatch]:
        relation = KIN.get((found["kin"] or found["mine"] or "friend").lower(), "")
        if not relation or said.tense != "present":
            return []
        if subject.is_speaker:
            if not found["of"] or clause.how != "subject":
                return []
            inverse = INVERSE_KIN.get(relation, relation)
            return [RuleMatch(inverse, *found.span("of"), clause.start, found.end(), confidence=0.8)]
        owner = Subject(name=found["of"]) if found["of"] else SPEAKER
        start = clause.start
        match = _match(relation, (start, start), start, found.end(), owner, negated=said.negated, confidence=0.85)._replace(object=subject.name)
        other = _NOT_KIN(text, found.end(), clause.end + 40)
        more = [match._replace(relation=KIN[other["kin"]], negated=True)] if other and KIN.get(other["kin"]) else []
        return [match, *more]

    # Properties: "my name is", "Ravi's email is", "it is".

    def _property(self, text: str, clause: _Clause) -> list[RuleMatch] | None:
        """The claims of a clause about a property of its subject, or None when it is about no property."""
        found = _PROPERTY(text, clause.at, clause.end) if clause.how == "subject" and len(clause.subjects) == 1 else None
        if found is None:
            return None
        return self._valued(text, clause.start, clause.end, clause.subjects[0], found)

    def _valued(self, text: str, start: int, end: int, owner: Subject, found: re.Match[str]) -> list[RuleMatch]:
        what = " ".join(found["what"].lower().split())
        relation, take = _PROPERTIES.get(what, (FAVOURITE + what.partition(" ")[2].removesuffix(" of all"), phrase))
        if owner.owner or (found["was"] and relation not in ("name",)):
            return []
        if relation == "name" and not owner.is_speaker:
            if not owner.kin or not owner.relation:
                return [] if owner.pet or owner.name else self._neighbour(text, start, end, owner, found)
            places = names(text, found.end(), len(text))
            clause = _Clause((owner,), start, start, end)
            return self._called(text, clause, places, SPEAKER, owner, negated=bool(found["not"])) if places else []
        self._topic = (owner, relation, take)
        places = take(text, found.end(), end if relation != "birthday" else len(text))
        if not places:
            return []
        match = _match(relation, places[0], start, max(end, places[-1][1]), owner, negated=bool(found["not"]), confidence=0.9)
        self._last = _Stated(match, text[slice(*places[0])], take)
        return [match._replace(object_start=one[0], object_end=one[1]) for one in places] + _contrasted(text, match, places[-1], take)

    def _neighbour(self, text: str, start: int, end: int, owner: Subject, found: re.Match[str]) -> list[RuleMatch]:
        places = name(text, found.end(), len(text)) if owner.kin else []
        return [_match("name", one, start, max(end, one[1]), owner, confidence=0.8) for one in places]

    def _named_otherwise(self, text: str, short: str, doubt: int) -> Iterator[RuleMatch]:
        """Statements that have no subject and verb of their own: favourites, lists, contacts, "it is …"."""
        for match, take in contacts(text, self._contact_owner):
            yield match
            self._last = _Stated(match, text[match.object_start : match.object_end], take)
        for start in (0, *(bound.end() for bound in _BOUND.finditer(short))):
            own = _OWN(short, start)
            if own is not None and start < doubt:
                owner = self._person if own["my"] and own["my"].lower() in ("his ", "her ") else SPEAKER
                if owner is not None and not (owner.name and "name" in own["what"].lower()):
                    yield from self._valued(text, start, _end_of_value(short, own.end()), owner, own)
            its = _IT_IS(short, start)
            if its is not None and self._topic is not None and start < doubt:
                owner, relation, take = self._topic
                for place in take(text, its.end(), len(text))[:1]:
                    match = _match(relation, place, start, place[1], owner, negated=bool(its["not"]), confidence=0.8)
                    yield match
                    yield from _contrasted(text, match, place, take)
        if self._wed and (called := _THEIR_NAME(short)):
            yield RuleMatch(self._wed, *called.span("name"), *called.span(), confidence=0.8)
        for match in sayings(short, doubt):
            if match.relation == "pet?":
                if self._pet:
                    yield match._replace(relation="pet")
            elif match.relation.startswith("wed:"):
                self._wed = match.relation[4:]
                if called := _THEIR_NAME(short, match.end):
                    yield RuleMatch(self._wed, *called.span("name"), *called.span(), confidence=0.8)
            else:
                yield match

    def _contact_owner(self, before: str) -> Subject:
        found = None
        for found in _CONTACT_OF(before):
            pass
        if found is None or found["my"]:
            return SPEAKER
        if found["hers"]:
            return self._person or SPEAKER
        if found["kin"]:
            word = found["kin"].lower()
            return Subject(kin=SAME_KIN.get(word, word))
        return self._person if self._person and found["reached"] else Subject(name=found["name"] or "")

    # Corrections.

    def _corrections(self, text: str) -> list[RuleMatch]:
        """A sentence that only gives another value for what was said last: "Sorry, I meant Leicester"."""
        lead = _CORRECTS(text)
        if lead is None or not lead[0].strip() or self._last is None:
            return []
        last = self._last
        places = last.take(text, lead.end(), len(text))
        if not places or not _ENDS_NAME(text, places[0][1]):
            return []
        return self._replaced(text, places[0], last)

    def _replaced(self, text: str, place: Place, last: _Stated) -> list[RuleMatch]:
        if text[slice(*place)].lower() == last.object.lower():
            return []
        match = last.match._replace(object_start=place[0], object_end=place[1], object="", start=0, end=len(text))
        self._last = _Stated(match, text[slice(*place)], last.take)
        return [match, match._replace(object=last.object, negated=True)]

    def _wronged(self, text: str) -> Iterator[RuleMatch]:
        """Values that were said by mistake: "I said 52 earlier but I'm 53", "I don't know why I typed Delft"."""
        if self._last is None or not (wrong := _WRONGLY(text[:_MOST_SEARCHED])):
            return
        last = self._last
        places = last.take(text, wrong.end(), len(text))
        if places and text[slice(*places[0])].lower() != last.object.lower():
            yield last.match._replace(object=text[slice(*places[0])], negated=True, start=0, end=len(text))


# Parts of subjects.

_NO_SUBJECTS = (NOT_NAMES | _ADVERBS) - frozenset(("christian", "may", "june", "april"))


def _owner(found: re.Match[str], person: Subject | None) -> Subject | None:
    """Whose relative is mentioned: the speaker's, of someone by name, or of a relative of the speaker."""
    my = found["my"].lower()
    if my in ("my", "our", "the"):
        return SPEAKER
    if my in ("his", "her", "their"):
        return None if person is None or person.owner or person.pet else Subject(name=person.name, kin=person.kin)
    if found["mykin"]:
        word = found["ofkin"].lower()
        return Subject(kin=SAME_KIN.get(word, word))
    if found["of"].lower() in CALLED_BY_KIN:
        return Subject(kin=SAME_KIN.get(found["of"].lower(), found["of"].lower()))
    return None if found["of"].split()[0].lower() in NOT_NAMES else Subject(name=found["of"])


def _is_past_kin(word: str, adjectives: str) -> bool:
    said = adjectives.split()
    return word.startswith("ex") or not {"ex", "former", "late", "previous"}.isdisjoint(said) or ("old" in said and KIN.get(word) == "colleague")


def _match(relation: str, place: Place, start: int, end: int, subject: Subject, *, kind: str = STATE, negated: bool = False, confidence: float = 0.8, lasting: bool = False) -> RuleMatch:
    return RuleMatch(relation, *place, start, end, subject.name, subject.kin if not subject.name else "", kind=kind, lasting=lasting, negated=negated, confidence=confidence)


def _without_asides(sentence: str) -> str:
    """The sentence with the same length, quotations and talk about the talk blanked."""
    if '"' in sentence or "“" in sentence:
        sentence = _QUOTED.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    return _ASIDE.sub(lambda aside: " " * len(aside[0]), sentence)


def _doubts(text: str, stop: int) -> tuple[int, int]:
    """Where the statements of a sentence cease, and from where they are resumed."""
    doubt = _DOUBT.search(text, 0, stop)
    if doubt is None:
        return stop, stop
    resumed = None if doubt["unreal"] else _RESUMES(text, doubt.end(), stop)
    return doubt.start(), stop if resumed is None else resumed.start()


# Parts of clauses.

_BARE = re.compile(
    r"(?:now |currently |originally |presently )*(?:living|working|studying|based|born|married|from|allergic|aged|engaged|fluent|raised)\b|an? [a-z]|\d{1,3}(?=\s*(?:[,.;]|\Z| years))|originally |not from|in [A-Z]"
).match
_FRAGMENT = re.compile(
    r"(?:been|born|based|allergic to|raised|living|working as|studying|originally from|currently|married to|engaged to|vegan|vegetarian|gonna|going to|not a fan of|huge fan of|big fan of|love|hate|hired by|fired by|just|never|no longer|used to|into|don['’]?t|can['’]?t)\b",
    re.IGNORECASE,
).match
_OF_ANOTHER = re.compile(r"\b(?:who|whom|whose|that|which|where)\b").search
_WHO = re.compile(r"who(?=['’]s\b| )").match
_IS_VERB_NEXT = re.compile(r" (?:is|was|are|has|have)\b").match
_AUXILIARIES = _BE | _WAS | _HAVE | _NEGATIONS | _PAST_NEGATIONS | frozenset(("had", "does", "no", "used", "got", "will", "can't", "can", "cannot"))
_IS_KIN = re.compile(
    rf"\s*(?:(?:my|our|(?P<of>{NAME})['’]s) (?:[a-z-]+ )??(?P<kin>{_KIN_WORDS})|(?:just )?(?:an? )(?:good |close |dear |old |great )?(?P<mine>friend|colleague|cousin|relative|mate|buddy)(?: of mine)?)\b(?!['’-])(?! (?:called|named)\b)"
).match
_NOT_KIN = re.compile(rf",? (?:and )?not my (?:[a-z]+ )??(?P<kin>{_KIN_WORDS})\b").match
_ENDS_NAME = re.compile(r"\s*(?:\Z|[,.;!)*]|(?:and|but|now|not|by the way|btw|too|who|though|actually|these|instead|without|with|sorry|as|from)\b|\()").match
_WHAT = (
    r"(?P<what>name|full name|first name|surname|birthday|bday|b-day|job|profession|occupation|hometown|home town|hobby|hobbies|"
    r"age|nationality|mother tongue|native language|first language|native tongue|(?:all-time |absolute |all time )?(?:favou?rite|fav|fave) [a-z]+(?: [a-z]+)??)(?: of all time)?"
)
_COPULA = (
    r"(?:['’]s|(?P<was> was| were)| is| are| include| includes| has always been| falls| should (?:read|be)|:|(?= isn['’]t| aren['’]t))(?P<not> not| isn['’]t| aren['’]t)?"
    r" (?:(?:now|on|in|currently|definitely|actually|called|spelled|spelt|either|the one called) )*"
)
_PROPERTY = re.compile(rf"(?:['’]s)? ?(?i:{_WHAT}){_COPULA}").match
_OWN = re.compile(rf"(?:\W*|[^,;:]{{0,20}}?[,:] )(?P<my>(?i:my|his|her) )?(?:new |current |real )?(?i:{_WHAT}){_COPULA}").match
_IT_IS = re.compile(r"(?:[Ii]t|[Tt]hat)(?:['’]s| is| should be|(?= isn['’]t))(?P<not> not| isn['’]t)? (?:(?:now|on|in|actually) )*").match
_THEIR_NAME = re.compile(rf"\b(?i:his|her|their) name(?: is|['’]s) (?P<name>{NAME})").search
_PROPERTIES: dict[str, tuple[str, Taker]] = {
    **{what: ("name", name) for what in ("name", "full name", "first name")},
    **{what: ("birthday", birthday) for what in ("birthday", "bday", "b-day")},
    **{what: ("occupation", phrase) for what in ("job", "profession", "occupation")},
    **{what: ("from", proper) for what in ("hometown", "home town")},
    **{what: ("hobby", phrases) for what in ("hobby", "hobbies")},
    **{what: ("speaks", proper) for what in ("mother tongue", "native language", "first language", "native tongue")},
    "surname": ("name", name),
    "age": ("age", age),
    "nationality": ("nationality", proper),
}
_TOPIC = re.compile(r"\b[Mm]y (?P<what>birthday|age)\b").search
_CONTACT_OF = re.compile(
    rf"(?P<my>\b(?:my|me|mine|I)\b)|(?P<hers>\b(?:hers|his|her|their)\b)|\b(?i:(?P<kin>{'|'.join(CALLED_BY_KIN)}|wife|husband|sister|brother|boss))['’]s\b|(?P<name>{NAME})['’]s |(?P<reached>\bcan be reached)"
).finditer
_CORRECTS = re.compile(
    r"(?:(?:sorry|no|nope|wait|oops|whoops|actually|scratch that|correction|I mean|I meant|make that|typo|edit|rather|ugh|hang on|hold on|my bad|apologies|argh|did I write \w+\?|it['’]s|it is|that should be|should be)[,.!:;… -]*(?=\s|\Z|(?<=[,.!:;… -]))\s*){1,5}(?:in |at |for |from |with |an? |the )?",
    re.IGNORECASE,
).match
_WRONGLY = re.compile(
    r"\b(?:I|you)(?:['’]ve)? (?:said|typed|wrote|put|gave you|told you|noted|have me down as|had me down as)(?: that)?(?: I (?:was|am|live in|work at|work for)| I['’]m| my \w+ (?:was|is))?"
    r" (?:in |on |an? )?(?=\S)|\bwhy I (?:typed|wrote|said|put) ", re.IGNORECASE
).search
_TAKEN_BACK = re.compile(r"(?:,|\.\.\.?| [-–—]|—| \()? ?(?:no,|no wait|wait|[Ii] mean\b|[Ii] meant\b|scratch that|oops|or rather|correction)").match
_VALUE_END = re.compile(r"[.;!?…\n](?:\s|\Z)|\s[-–—]\s").search
_CONTRAST = re.compile(
    r"(?P<other>(?:,| [-–—]| \(|—)? ?(?:and |but )?(?:instead of|rather than|not|never)) (?:(?:as|in|at|for|from|with|to|my|on|called|named|an?|the) )*"
    r"|(?P<better>(?:,|\.\.\.?| [-–—]|—)? ?(?:or rather|[Ii] mean|[Ii] meant|sorry|no,? wait|wait,? no|no|er|erm|oops|correction|actually|scratch that|make that)(?:,? (?:sorry|no|wait))?,? |,? but (?:rather )?| ?\*)(?:(?:in|at|for|from|with|an?) )?"
).match


def _contrasted(text: str, match: RuleMatch, place: Place, take: Taker) -> list[RuleMatch]:
    """The other value of a correction after an object: "Anna, not Ann", "Leeds, sorry, York", "not Ann but Anna"."""
    found = _CONTRAST(text, place[1])
    if found is None or (found["better"] and ("but" in found["better"]) is not match.negated):
        return []
    if _ANY_MORE(text, found.end() - 1, found.end() + 12):
        return []
    others = take(text, found.end(), min(len(text), found.end() + 120))
    if not others or text[slice(*others[0])].lower() == text[slice(*place)].lower():
        return []
    first, last = others[0]
    other = match._replace(object_start=first, object_end=last, end=max(match.end, last))
    if found["other"]:
        return [] if match.negated else [other._replace(negated=True)]
    if match.negated:
        return [other._replace(negated=False)]
    # The first value is withdrawn: the same claim again, negated, replaces it.
    return [other, match._replace(negated=True)]


def _end_of_value(text: str, at: int) -> int:
    found = _VALUE_END(text, at)
    return len(text) if found is None else found.start()


def _is_fragment(text: str, at: int) -> bool:
    if _FRAGMENT(text, at):
        return True
    word = _WORD(text, at)
    form = {} if word is None else FORMS.get(word[1].lower(), {})
    return PAST_FORM in form


def _is_verb(text: str, at: int) -> bool:
    """Whether a verb follows a name; a few adverbs may be before it."""
    for _ in range(3):
        word = _WORD(text, at)
        if word is None or (word.start(1) == at and word[1][0] not in "'’"):
            return False
        plain = word[1].lower().replace("’", "'")
        if plain in _AUXILIARIES:
            return True
        if plain not in _ADVERBS and not plain.endswith("ly"):
            return not {THIRD, PAST_FORM}.isdisjoint(FORMS.get(plain, {}))
        at = word.end()
    return False


def _together(text: str, clause: _Clause, said: _Predicate) -> list[RuleMatch]:
    """What two people do with each other: "Malik and I broke up", "we are engaged"."""
    found = _TOGETHER(text, said.start, clause.end)
    if found is None or said.tense == "future" or (said.tense == "ing" and said.verb != "date"):
        if said.tense != "ing" or not text.startswith("getting married", said.start):
            return []
    speaker = any(one.is_speaker for one in clause.subjects)
    other = next((one for one in clause.subjects if not one.is_speaker), SPEAKER)
    mine = other.kin and other.relation in ("partner", "married_to")
    if not speaker or not (other.name or ((clause.subjects[0].plural or mine) and found and found["over"])):
        return []
    relation, negated = "partner", said.negated
    if found is not None:
        kind = found[0].lower()
        negated = negated or found["over"] is not None
        relation = "friend" if "friend" in kind else "colleague" if "colleague" in kind else "married_to" if kind.endswith(("married", "divorced", "divorcing")) else "partner"
    if not other.name and not negated:
        return []
    match = _match(relation, (clause.start, clause.start), clause.start, clause.end, SPEAKER, negated=negated)._replace(object=other.name)
    plan = plan_place(text, clause.start, clause.end, said) if found is None else []
    return [match, *(_match("plans", one, clause.start, clause.end, SPEAKER, kind=PLAN, confidence=0.7) for one in plan)]


_TOGETHER = re.compile(
    r"(?:(?P<over>broken? up|broke up|split(?: up)?|(?:got |are |get )?divorced|separated|called it quits|(?:are|have) separated|parted ways|broke off our engagement)"
    r"|(?:got |get |have been |been |are |were )?(?:married|engaged|dating|together|a couple|in a relationship|(?:good |close |best )*friends|colleagues))\b(?! (?:to|with|by (?!his|her|my|the))\b)"
).match
_PET_OVER = re.compile(
    r"(?:['’]s| has| was| had to be| is)?(?: \w+ly| just| sadly)? (?:no longer with us|died|dead|passed away|passed|put down|put to sleep|rehomed|gone|euthani[sz]ed|crossed the rainbow bridge)\b"
).match
_PET_CALLED = re.compile(r"(?:['’]s name (?:is|was)|(?:['’]s| is| are)(?: called| named)?)(?P<not> not)? ").match


def _over(text: str, clause: _Clause, said: _Predicate, subject: Subject) -> list[RuleMatch]:
    """Relatives who died, and colleagues who left."""
    died = said.verb == "die" or (said.verb == "pass" and text.startswith(" away", said.at))
    left = subject.relation == "colleague" and (said.verb == "be replace" or (said.verb == "leave" and _COMPANY(text, said.at)))
    if not (subject.name and subject.relation and (died or left) and said.tense in ("past", "perfect")) or said.negated:
        return []
    match = _match(subject.relation, (clause.start, clause.start), clause.start, clause.end, SPEAKER, negated=True)
    return [match._replace(object=subject.name)]


_BORN = re.compile(r"\s*(?:on )?(?:the (?=\d))?(?=[A-Z\d]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?!\d{4}\b)").match
_ENDS_INTRODUCTION = re.compile(r"\s*(?:\Z|[,.!;]|(?:and|now|from|by the way|btw|but|not|instead)\b)").match
_BEFORE = re.compile(r"\b(?:before|formerly|previously|maiden|used to)\b").search
_NO_NAME_ENDINGS = ("ish", "ese", "man", "woman", "virgo", "libra", "scorpio", "sagittarius", "capricorn", "aquarius", "pisces", "gemini", "taurus")
_NOW_WORD = re.compile(r" now\b").match


def _past_now(text: str, place: Place) -> Place:
    found = _NOW_WORD(text, place[1])
    return place if found is None else (place[0], found.end())


_RETIRED = re.compile(r"(?:retired|former|ex-?) ?").match
_COMPANY = re.compile(r" (?:the|our) (?:company|firm|team|office)\b").match


def _of_pet(text: str, clause: _Clause, pet: Subject) -> list[RuleMatch]:
    """What is said of a pet of the speaker: its name, and that it is no more."""
    if pet.owner:
        return []
    over = _PET_OVER(text, clause.at, clause.end)
    if over is not None:
        match = _match("pet", (clause.start, clause.start), clause.start, clause.end, SPEAKER, negated=True)
        return [match._replace(object=pet.relation or pet.pet)]
    called = _PET_CALLED(text, clause.at, clause.end)
    if called is None:
        return []
    places = names(text, called.end(), clause.end)
    if not places or ("call" not in called[0] and "name" not in called[0] and not _ENDS_NAME(text, places[-1][1])):
        return []
    found: list[RuleMatch] = []
    for place in places:
        match = _match("pet", place, clause.start, max(clause.end, place[1]), SPEAKER, negated=bool(called["not"]), confidence=0.85)
        found += [match, *_contrasted(text, match, place, name)]
        if not called["not"]:
            found.append(match._replace(relation="kind", subject=text[slice(*place)], object=pet.pet))
    return found


_CALLED = r"(?:,? (?:named|called)|,? whose name is|,? (?:and )?(?:his|her|its) name(?: is|['’]s)|,) "
_PET_NAMED = re.compile(rf"{_CALLED}(?={NAME}|(?<!, )[a-z])").match
_MOST_PETS = 10


def _named_pets(text: str, found: RuleMatch) -> list[RuleMatch]:
    """A pet with its name and kind, or by its animal."""
    named = _PET_NAMED(text, found.object_end)
    places: list[Place] = []
    if named is not None and not (named[0] == ", " and not NAME_NEXT(text, named.end())):
        places = names(text, named.end(), min(len(text), named.end() + 80))
        if named[0] == ", " and places and not _ENDS_NAME(text, places[-1][1]):
            places = []
    result: list[RuleMatch] = []
    for first, last in places[:_MOST_PETS]:
        result.append(found._replace(object_start=first, object_end=last, end=max(found.end, last)))
        if not found.negated:
            # The kind of a pet never changes.
            result.append(found._replace(relation="kind", subject=text[first:last], kin="", end=max(found.end, last), kind=STATE))
    return result or [found]


NAME_NEXT = re.compile(NAME).match


def _agrees(clause: _Clause, said: _Predicate, subject: Subject) -> bool:
    """Whether the form of the verb goes with the subject; without an *s* it may depend on another verb."""
    if said.tense != "present" or said.negated or said.can or said.verb == "be" or said.passive:
        return True
    if clause.how == "fragment":
        return said.form != PRESENT or said.verb in ("love", "hate", "live", "like", "adore")
    third = not subject.is_speaker and not (subject.kin.endswith("s") and not subject.kin.endswith("ss")) and len(clause.subjects) == 1
    return said.form == THIRD if third else said.form == PRESENT


def _allowed(frame: Frame, said: _Predicate, text: str, clause: _Clause, subject: Subject) -> bool:
    """Whether the predicate has what the frame needs."""
    need = frame.after
    if said.can and not (said.negated and need == "cannot") and need != "can" and said.verb != "speak":
        return False
    if not need or need == "degree":
        return not (need == "" and False)
    checks = {
        "now": lambda: bool(_NOW(text, clause.start, clause.end) or _NOW(text, max(0, clause.start - 30), clause.start)),
        "been": lambda: said.tense == "perfect",
        "not": lambda: said.negated,
        "never": lambda: said.negated and said.ended,
        "cannot": lambda: said.can and said.negated,
        "over": lambda: said.ended or said.used_to,
        "ing": lambda: said.tense in ("ing", "perfect"),
        "present": lambda: said.tense == "present" and not said.negated,
        "job": lambda: bool(_WORKING(text)) and not _SCHOOL(text),
        "school": lambda: bool(_SCHOOL(text) or _SCHOOLING(text)) or subject.kin.split(" ")[-1] in _PUPILS,
        "major": lambda: bool(_MAJOR(text)),
        "trip": lambda: said.verb != "be" or said.tense == "perfect",
        "can": lambda: said.can,
        "love": lambda: (said.ended or said.negated or bool(_NOW(text, clause.start, clause.end))) and bool(_LOVING(text)),
        "then": lambda: said.tense == "past" and bool(_THEN(text, clause.start, clause.end)),
        "laid": lambda: said.verb in ("be fire", "be sack", "be dismiss") or bool(re.match(r"\s*(?:off|go|redundant)\b", text[said.at : said.at + 12])),
    }
    return checks[need]()


def _outcome(frame: Frame, said: _Predicate, clause: _Clause) -> tuple[str, bool] | None:
    """The kind of the statement and whether it is negated; None when it states nothing."""
    mode, tense = frame.mode, said.tense
    if tense == "future" or (said.passive and said.verb in ("be marry", "be engage", "be divorce") and tense == "past" and not said.got):
        return None
    if said.used_to:
        return (PAST, False) if mode == HOLDS else None
    if frame.after == "cannot":
        return STATE, False
    if mode == HOLDS or (said.passive and tense == "present" and mode == BEGINS):
        if tense == "past":
            return (PAST, False) if frame.relation in _LEFT_BEHIND and not said.negated and clause.how != "bare" else None
        return STATE, said.negated or said.ended
    done = tense in ("past", "perfect") or (said.passive and tense == "present" and mode in (ENDS, HAPPENS)) or frame.after == "present"
    if mode == HAPPENS:
        return (EVENT, said.negated) if done and (not said.negated or tense in ("perfect", "past")) else None
    if said.ended and mode == ENDS and frame.after == "never":
        return STATE, True
    if not done or said.negated:
        return None
    return (STARTED, False) if mode == BEGINS else (STATE, True)


def _resolved(relation: str, text: str, place: Place) -> str:
    """What was left: an employer, a school or a place, by the words around it."""
    if relation not in ("left", "joined"):
        return relation
    if _DEPARTS(text):
        return ""
    if _SCHOOL(text) or _SCHOOLING(text):
        return "studies_at"
    if text[slice(*place)] in entities.PLACES or re.search(r"\b(?:settled|living|moved|live|lives)\b", text):
        return "lives_in"
    return "works_at" if relation == "joined" or _WORKING(text) or " for " in text else ""


_DEPARTS = re.compile(r"\b(?:this (?:morning|afternoon|evening)|today|tonight|early|late|at (?:\d|noon|dawn|six|seven|eight|nine|ten|five|four))\b").search


def _is_possible_age(words: str, subject: Subject) -> bool:
    number = int(words) if words.isdigit() else NUMBERS.get(words.lower().replace("-", " ").split()[0], 30)
    return number >= 14 if subject.kin in ADULTS else number >= 5 or not subject.is_speaker


def _until_any_more(text: str, said: _Predicate, end: int) -> tuple[_Predicate, int]:
    """The predicate and the end of its object: "not … any more" ends something, and is no part of the object."""
    over = (_ANY_MORE if said.negated else _NO_MORE)(text, said.at, end)
    if over is None:
        return said, end
    # "I can't stand milk any more" states a dislike.
    return said._replace(ended=said.ended or not said.can), over.start()


def _predicate(text: str, clause: _Clause) -> _Predicate | None:
    """The verb of a clause with its auxiliaries; None for a hypothetical clause, and for one without a known verb."""
    at, end = clause.at, clause.end
    negated = ended = used_to = can = will = False
    is_ = clause.how == "bare"
    tense = "present"
    for _ in range(_MOST_WORDS_BEFORE_VERB):
        found = _WORD(text, at, end)
        word = "" if found is None else found[1].lower().replace("’", "'")
        after = at if found is None else found.end()
        following = _WORD(text, after, end)
        next_word = "" if following is None else following[1].lower()
        if word == "did" and next_word in ("my", "a", "an", "the", "his", "her"):
            return _Predicate("do", after, at, "past", form=PAST_FORM)
        if word in _HEDGES or word in _PAST_NEGATIONS:
            return None
        if word in _NEGATIONS:
            negated, is_ = True, is_ or word in ("isn't", "aren't", "ain't", "isnt", "arent")
        elif word in ("can", "can't", "cannot", "cant"):
            can, negated = True, negated or word != "can"
        elif word in ("will", "'ll", "gonna") or (is_ and word in ("going", "about") and next_word == "to" and _INFINITIVE(text, after)):
            tense, will = "future", word in ("will", "'ll")
            after = following.end() if next_word == "to" and following else after
        elif word == "anymore" or (word == "no" and next_word in ("longer", "more")):
            ended, after = True, (following.end() if word == "no" and following else after)
        elif word == "used" and next_word == "to":
            used_to, after = True, (following.end() if following else after)
        elif word in _BE:
            is_, tense = True, ("perfect" if word == "been" and tense == "present" else tense)
        elif word in _WAS:
            is_, tense = True, "past"
        elif (word in _HAVE or (word == "'s" and False)) and _is_helper(next_word):
            tense = "perfect"
        elif word == "had" and _is_helper(next_word):
            tense = "past"
        elif word in ("do", "does") and (negated or next_word in ("not", "n't")):
            pass
        elif word in _GET and not is_ and f"be {FORMS.get(next_word, {}).get(PARTICIPLE, '')}" in FRAMES and following:
            verb = f"be {FORMS[next_word][PARTICIPLE]}"
            return _Predicate(verb, following.end(), found.start(1) if found else at, _GET[word] if tense == "present" else tense, negated, ended, used_to, can, True, True)
        elif (word in _ADVERBS or (word.endswith("ly") and word not in _NO_LY and found and found[1][0].islower())) and not (is_ and word == "half"):
            pass
        else:
            start = at if found is None else found.start(1)
            word = {"'ve": "have", "ve": "have"}.get(word, word)
            return _verb(text, word, start, after, _Predicate("be", start, start, tense, negated, ended, used_to, can, will=will), is_, clause)
        at = after
    return _Predicate("be", at, at, tense, negated, ended, used_to, can) if is_ else None


_INFINITIVE = re.compile(r"\s+to\s+(?!the\b|an?\b|my\b|our\b|bed\b|school\b|work\b|sleep\b|[A-Z])").match


def _is_helper(word: str) -> bool:
    return PARTICIPLE in FORMS.get(word, {}) or word in _ADVERBS or word in ("been", "never", "not") or word.endswith("ly")


def _verb(text: str, word: str, start: int, after: int, said: _Predicate, is_: bool, clause: _Clause) -> _Predicate | None:
    """The predicate with its main verb, by its form."""
    form = FORMS.get(word, {})
    if clause.how == "fragment" and not is_ and said.tense == "present":
        is_ = _FRAGMENT_IS(text, start) is not None or f"be {form.get(PARTICIPLE, '')}" in FRAMES and text.startswith((" by", " in", " from", " to"), after)
    if is_ and not (said.tense == "future" and PRESENT in form):
        if ING in form and said.tense != "future" and f"be {form[ING]}" not in FRAMES:
            return said._replace(verb=form[ING], at=after, tense="perfect" if said.tense == "perfect" else "past" if said.tense == "past" else "ing", form=ING)
        if ING in form and said.tense == "future":
            return said._replace(verb=form[ING], at=after, form=ING)
        if ING in form:
            return said._replace(verb=form[ING], at=after, tense=said.tense if said.tense != "present" else "ing", form=ING)
        if PARTICIPLE in form and f"be {form[PARTICIPLE]}" in FRAMES:
            return said._replace(verb=f"be {form[PARTICIPLE]}", at=after, passive=True)
        return said._replace(at=start)
    if word == "got" and said.tense in ("perfect", "present") and said.tense == "perfect":
        return said._replace(verb="have", at=after, tense="present", form=PRESENT if True else "")
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


_FRAGMENT_IS = re.compile(r"(?:born|based|allergic|raised|living|working|studying|from|vegan|vegetarian|married|engaged|a|huge|big|into|not|in)\b", re.IGNORECASE).match

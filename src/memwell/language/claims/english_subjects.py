"""The clauses of an English sentence, and whom each is about: the speaker, a relative, someone by name.

A clause without a subject has that of the clause before it, and at the beginning of a message the speaker's.
At the end: what is said of people and pets to each other, such as couples, deaths, and the names of pets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memwell.language.claims.english_frames import FORMS
from memwell.language.claims.english_objects import (
    CALLED_BY_KIN,
    INVERSE_KIN,
    KIN,
    NAME,
    NATIONALITIES,
    NOT_NAMES,
    PETS,
    PRONOUNS,
    SAME_KIN,
    TELLS_APART,
    UPPER,
    Place,
    job,
    name,
    names,
    singular,
)
from memwell.language.claims.english_predicates import (
    ADVERBS,
    BE,
    HAVE,
    HE,
    NEGATIONS,
    PAST_NEGATIONS,
    SPEAKER,
    THEY,
    WAS,
    WORD,
    Clause,
    Predicate,
    Stated,
    Subject,
    contrasts,
    match_of,
)
from memwell.language.claims.english_sayings import has_kin, plan_place
from memwell.language.claims.english_verbs import ING, OF_A_CHILD, PAST_FORM, PRESENT, THIRD
from memwell.language.claims.relations import PLAN, RELATIONS, STATE, RuleMatch
from memwell.language.patterns import LazyPattern

_LONGEST_CLAUSE = 400
KIN_WORDS = "|".join(sorted(KIN, key=len, reverse=True))
PET_WORDS = "|".join(sorted(PETS, key=len, reverse=True))
_ADJECTIVES = r"(?P<adjectives>(?:(?!(?:and|or|is|was|of|in|with|my|our|an?|the|not|just)\b)[a-z-]+ ){0,3}?)"
_MINE = LazyPattern(
    r"(?P<my>[Mm]y|[Oo]ur|[Tt]he(?= (?:new |old )?(?:neighbou?r|boss|landlord|landlady|wife|husband|kids"
    rf"|missus|(?:{PET_WORDS})(?=['’]s name ))\b)|[Hh]is|[Hh]er|[Tt]heir"
    rf"|(?P<of>{NAME})['’]s?|(?P<mykin>[Mm]y (?:[a-z]+ )??(?P<ofkin>{KIN_WORDS}))['’]s) "
    rf"{_ADJECTIVES}(?i:(?P<kin>{KIN_WORDS})|(?P<pet>{PET_WORDS}))\b(?!-| (?:sisters?|brothers?|daughters?|sons?"
    rf"|cousin|friend|boys?"
    rf"|girls?)\b|['’]s (?!an? )(?:[a-z-]+ ){{0,2}}(?:{KIN_WORDS})\b|(?<=s)['’] [a-z])"
    rf"(?: (?:since|from|at|in|back in) [a-z]+(?=, [{UPPER}]))?(?P<named>(?:,? (?:named|called) |, "
    rf"| )(?=(?P<name>(?!I\b){NAME})))?"
)
_IS_IT = LazyPattern(r"(?:\A|[,;:] )\W*(?:(?:and|so|but) )?(?:is|was|are|were)(?:n['’]t)? \Z", re.IGNORECASE).search
_ASKS_NAME = LazyPattern(r"(?:,? or\b[^?]*)?\s*(?:\?|\Z)").match
"""What stands around a name that is asked for: "Is my sister called Mia?", but not "Is my sister Mia asleep?"."""
_CAPITAL = LazyPattern(r"[A-Z]").search
_TITLED = LazyPattern(
    r"\b(?P<title>(?i:Aunt|Auntie|Aunty|Uncle|Grandma|Grandpa|Granny|Gran|Nan|Nana|Grandad|Granddad)|Cousin) "
    rf"(?=(?P<name>(?!Canaria\b){NAME}))"
)
_NOT_BEFORE_TITLES = ("my ", "ur ", "is ", "er ", "ir ", "'s ", "’s ", "an ", "he ")
_OF_A_WORK = LazyPattern(r"Uncle (?:Vanya|Tom['’]s Cabin|Sam\b|Buck\b|Ben['’]s)|Aunt Jemima").match
_A_WORK_BEFORE = LazyPattern(
    r"\b(?:(?:re-?)?read(?:s|ing)?|finish(?:ed|ing)|book|novel|play|film|movie|story|musical|production of|copy of"
    r"|tickets (?:for|to)|staging|performing)(?: called)?[ :,]+[\"'“‘]?\Z",
    re.IGNORECASE,
).search
"""A work with a title such as *Uncle Vanya*, and what stands before one."""
_OF_MINE = LazyPattern(
    rf"(?:[Aa]n?|[Tt]his|[Oo]ne) (?:[a-z-]+ )??(?P<kin>{KIN_WORDS}) of (?:mine|ours)(?:,? (?:named|called) |, | )"
    rf"(?P<name>(?!I\b){NAME}),?"
)
_APPOSED_AFTER = LazyPattern(
    rf"(?P<name>(?!I\b){NAME})(?: (?:from|in|at) [a-z]+(?=,))?(?P<joint>,? (?:\(|who is "
    rf"|who['’]s )?)my {_ADJECTIVES}(?P<kin>{KIN_WORDS})(?=[,.;!)]|\Z)"
)
_APPOSED_SUBJECT = LazyPattern(
    rf"(?: (?:from|in|at) [a-z]+)?, (?:who is |who['’]s )?(?:my|our"
    rf"|an?) (?:[a-z-]+ )??(?:(?P<kin>{KIN_WORDS})(?: of mine)?|(?P<pet>{PET_WORDS})),(?= )"
).match
_SPEAKS = LazyPattern(
    r"[Mm]e(?= (?:and|&) (?:my\b|[A-Z]))|(?:I|i)(?=m\b|ve\b|['’ ,]|\Z)|(?P<we>[Ww]e)(?=['’ ,]|\Z)"
).match
_PRONOUN = LazyPattern(r"(?i:(?P<one>he|she)|(?P<they>they))(?=['’ ])").match
_NAMED = LazyPattern(rf"(?!I\b|You\b){NAME}").match
_EPITHET = LazyPattern(r"(?:Little|Old|Young|Baby|Poor|Dear|Big) (?=[A-Z])").match
_BARE_KIN = LazyPattern(
    rf"(?i:(?P<kin>{'|'.join(sorted(CALLED_BY_KIN))}|partner|wife|husband|hubby|boyfriend|girlfriend"
    rf"|boss))(?=['’ ])"
).match
_AND_FAMILY = LazyPattern(
    r",? (?:and|&|with) (?:the|her|his|their) (?:(?:two|three|four|little) )?(?:kids|children|twins|boys|girls|family|baby"
    r"|little ones?|bairns|dogs?|cats?)(?=['’ ])"
).match
"""Who does what someone does, with them: "Monique and the twins moved to Columbus"."""
_AND_SUBJECT = LazyPattern(r",? (?:and|&) ").match
_FILLER = LazyPattern(
    r"(?:(?:and|but|so|well|yeah|yes|yep|yup|oh|wow|actually|also|plus|btw|because|hi|hey|hello|there|sure|no"
    r"|nope|ok|okay|thanks|"
    r"honestly|anyway|anyways|currently|right now|these days|nowadays|now|fun fact|by the way|since|as|then"
    r"|though|although|while|random|fyi|tbh|ah|um|uh|hmm|haha|lol|lately|today|tomorrow|tonight|yesterday"
    r"|recently|"
    r"finally|officially|sadly|luckily|update|news|good news|big news|great news|bad news|quick update|quick "
    r"note|note|sorry|please|right|look|listen|yes and|in fact|for context|context|eventually|previously"
    r"|before that|after that|originally|apparently not|eh|ha|man|dude|"
    r"given that|seeing as|seeing that|considering(?: that)?|now that|long story short|as you know|both|both of|all of"
    r"|unfortunately|fortunately|thankfully|happily|whereas|yet|still|just|already|personally|technically"
    r"|obviously|clearly|naturally|again|turns out|ugh|whoa|yay|good morning|morning|good evening|correction"
    r"|edit|typo|wait|oops|whoops|I mean|I meant(?: to say)?|that|alas|"
    r"(?:last|this|next|every|most|on) (?:\w+ )?(?:week|weeks|month|year|years|weekend|weekends|summer|winter"
    r"|spring|autumn|fall|night|morning|monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays"
    r"|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays))(?![\w'’])[,:;.!…-]*\s*){0,6}",
    re.IGNORECASE,
).match
_ADVERBIAL = LazyPattern(
    r"(?:At|In|On|Most|After|Since|Next|Last|Every|For|During|Before|These|This|From|Until|Back|With|Until|By"
    r"|Over|Once|As of|Following|Thanks to|Sometimes|Usually|About|Around|Just|A|Two|Three|Four|Five|Ever|When"
    r"|To|Out|As|Come) [^,;:.!?]{0,60}?[ ,]+(?=(?:I|we|my)\b)",
    re.IGNORECASE,
).match
_OPENING = LazyPattern(r"[\s\"“*•>-]*").match
BOUND = LazyPattern(
    r"[,;:!…—–()*.]+\s*|\s[-–]\s|\s(?:and|but|so|because|then|plus|while|whereas|although|though|since|as|yet"
    r"|who)\s|(?<=who)(?=['’]s)"
)
_HARD = LazyPattern(r"[;!?()\x00]|\s[-–—]\s|—|[.:…](?:\s|\Z)|\.\.").search
_NO_SUBJECTS = (NOT_NAMES | ADVERBS) - frozenset(("christian", "may", "june", "april"))


def _is_no_name(word: str) -> bool:
    """Whether a capitalised word only begins a sentence: "Unfortunately, my sister, …"."""
    filler = _FILLER(word)
    return word.lower() in _NO_SUBJECTS or (filler is not None and filler.end() == len(word))


_MAY_BE_FRIENDS = frozenset(("boy", "girl"))


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
    return (
        word.startswith("ex")
        or not {"ex", "former", "late", "previous"}.isdisjoint(said)
        or ("old" in said and KIN.get(word) == "colleague")
    )


_BARE = LazyPattern(
    r"(?:now |currently |originally |presently )*(?:living|working|studying|based|employed|born|married"
    r"|from(?! \S+(?: \S+)? to\b)|allergic"
    r"|aged|engaged|fluent|raised|vegan|vegetarian|veggie|divorced|widowed|single|(?:mad|crazy|nuts|passionate) about"
    r"|obsessed with|into(?! (?:an?|the|my|our) )|fond of"
    r"|keen on|hooked on|in love with)\b|an? [a-z]|\d{1,3}(?=\s*(?:[,.;]|\Z| years))"
    r"|originally |not from|in [A-Z]"
).match
_FRAGMENT = LazyPattern(
    r"(?:been|born|based|allergic to|raised|from(?= (?-i:[A-Z]))|originally from|currently|married to"
    r"|engaged to|fluent in|bilingual|vegan|vegetarian|gonna|going to|not a fan of|huge fan of|big fan of|love|like"
    r"|hate|hired by|fired "
    r"by|not (?:an?|allergic|vegan|vegetarian|veggie|married|from)|just|never|no longer|used to|into"
    r"|single(?=\s*(?:\Z|[,.!;]|(?:again|now|at \d+|since|and)\b))|don['’]?t|can['’]?t)\b",
    re.IGNORECASE,
).match
_OF_ANOTHER = LazyPattern(r"\b(?:who|whom|whose|that|which|where)\b").search
_WHO = LazyPattern(r"who(?=['’]s\b| )").match
_LONGEST_PERSON = 80
_MET = (
    r"(?:(?<!works )(?<!work )(?<!working )with|meets?|met|marry|married(?: to)?|marries|marrying|dat(?:es|ed|ing)"
    r"|engaged to|divorced|knows|fell for)"
)
_MET_WHOM = LazyPattern(
    rf"\b{_MET} (?:(?:my|our|his|her|their|an?) (?:[a-z-]+,? ){{1,3}})?(?P<name>(?!I\b){NAME})"
).search
_MET_LAST = LazyPattern(
    rf".*(?:\b(?:{_MET}|named|called|and) |\b(?:{KIN_WORDS}),? )(?P<name>(?!I\b){NAME})\Z", re.DOTALL
).match


def _is_aside(before: list[Clause]) -> bool:
    """Whether the last clause is about another than the one before it: after it, either may be meant."""
    if before[-1].how != "who" or len(before) < 2:
        return False
    one, other = before[-1].subjects[0], before[-2].subjects[0]
    return (one.name, one.kin) != (other.name, other.kin)


_AUXILIARIES = (
    BE
    | WAS
    | HAVE
    | NEGATIONS
    | PAST_NEGATIONS
    | frozenset(("had", "does", "no", "used", "got", "will", "can't", "can", "cannot"))
)


def _is_fragment(text: str, at: int) -> bool:
    word = WORD(text, at)
    form = {} if word is None else FORMS.get(word[1].lower(), {})
    if ING in form:
        # "Living in London is dear" is not about who speaks.
        return form[ING] != "see" and not _GERUND(text, at)
    return PAST_FORM in form or _FRAGMENT(text, at) is not None


_GERUND = LazyPattern(
    r"[^,;.!?]{3,80}? (?:is|was|are|can|would|will|makes?|has|isn['’]t|takes?|sounds?|seems?|feels?|sucks|helps?|costs?"
    r"|gets?|should|could)\b"
).match
_CARD = LazyPattern(
    r"[1-9]\d(?=[MFmf]?, (?:[a-z]+[,.]|an? |living|from|male|female|work|single|married|divorced|(?:dad|mum|mom|father"
    r"|mother) of))"
).match
_AFTER_JOB = LazyPattern(r"\s*(?:\Z|[,.;!]|(?:basically|now|by trade|here|\d+ years)\b)").match


def _is_verb(text: str, at: int, *, plural: bool = False) -> bool:
    """Whether a verb follows a name; a few adverbs may be before it."""
    for _ in range(3):
        word = WORD(text, at)
        if word is None or (word.start(1) == at and word[1][0] not in "'’"):
            return False
        plain = word[1].lower().replace("’", "'")
        if plain in _AUXILIARIES:
            return True
        if plain not in ADVERBS and not plain.endswith("ly"):
            return not {PRESENT if plural else THIRD, PAST_FORM}.isdisjoint(FORMS.get(plain, {}))
        at = word.end()
    return False


_UNNAMED = LazyPattern(
    r"(?:\b(?:[Mm]y|[Oo]ur) |(?:\b(?:I|i|[Ww]e)\b|\A\W*(?:[Jj]ust )?[Gg]ot\b)[^,;.!?]{0,30}? (?:an?|another|one"
    r"|two|three|four|five) )"
    rf"(?:[a-z-]+ ){{0,2}}?(?:(?P<kin>{KIN_WORDS})|(?P<pet>{PET_WORDS}))\b(?!['’-])"
    r"|\b(?:I|we)(?: just| finally)? (?P<wed>got married)(?! to)|\bI['’]?a?m seeing someone"
)
_NOT_WHO = {"he": "she", "his": "she", "she": "he", "her": "he"}
_NAMES_IT = LazyPattern(
    r"\b(?i:(?P<who>he|she|it|they|his|her|its|their)(?:(?<=s|r) names?(?: is| are|['’]s)|(?:['’]s|['’]re| is| "
    r"are)(?: been)? (?:called|named))"
    rf"|(?:named|called|call|calling|naming) (?:him|her|it|them)) (?P<o>(?!I\b){NAME})"
).search


class ClauseFinder:
    """Finds the clauses of a text's sentences and whom each is about; remembers who was named last."""

    def __init__(self) -> None:
        self._person: Subject | None = None
        self._people: tuple[Subject, ...] = ()
        self._stated_last: list[Stated] = []
        """What a correction may be about: what the last sentence that stated anything said."""
        self._new = True
        self._other = ""
        """Whom the last person was said to have met, or to be with: a pronoun may mean either."""
        self._kin: dict[str, str] = {}
        self._unnamed = ""
        """The word for a relative or a pet of the speaker that was mentioned without a name."""
        self._called_so: dict[str, Subject] = {}
        """The relatives of the speaker whose name a sentence gives after speaking of them."""

    @property
    def _last(self) -> Stated | None:
        """What was stated last."""
        return self._stated_last[-1] if self._stated_last else None

    @_last.setter
    def _last(self, stated: Stated) -> None:
        if self._new:
            self._stated_last, self._new = [], False
        self._stated_last.append(stated)

    def _mentions(self, text: str, short: str) -> Iterator[RuleMatch]:
        """People and pets with their names: "with my sister Anna", "Ann's husband Bob", "our cats, Tom and Kit"."""
        nearest = self._person
        if (
            "y " in text
            or "he " in text
            or "ur " in text
            or "is " in text
            or "er " in text
            or "’s " in text
            or "'s " in text
        ):
            for found in _MINE.finditer(text):
                owner = _owner(found, nearest)
                if not found["name"] and found["kin"] and owner == SPEAKER and nearest is None:
                    # "My brother lives with his girlfriend Tara"
                    word, last = found["kin"].lower(), found.end()
                    other = next(
                        (one for one in _MINE.finditer(text, last, last + _LONGEST_PERSON) if one["name"]), None
                    )
                    if other is not None and not _CAPITAL(text, last, other.start()):
                        nearest = Subject(kin=SAME_KIN.get(word, word), relation=KIN[word])
                if not found["name"] or owner is None or found["adjectives"].split()[:1] == ["only"]:
                    continue
                places = self._names_of(text, found)
                if places and _IS_IT(text[: found.start()]) and _ASKS_NAME(text, places[-1][1]):
                    continue
                word = (found["kin"] or found["pet"]).lower()
                relation = KIN[word] if found["kin"] else "pet"
                if word in _MAY_BE_FRIENDS and not (found["adjectives"] or OF_A_CHILD(text)):
                    relation = ""
                for first, last in places:
                    self._kin[text[first:last]] = SAME_KIN.get(word, word)
                    self._person = nearest = Subject(name=text[first:last], relation=relation)
                    if relation and (relation != "pet" or owner.is_speaker or found["pet"]):
                        ended = _is_past_kin(word, found["adjectives"]) or _is_left(relation, text, found.start())
                        match = match_of(relation, (first, last), found.start(), last, owner, negated=ended)
                        yield match
                        self._last = Stated(match, text[first:last], name)
                        yield from contrasts(text, match, (first, last), name)
                        if relation == "pet" and not ended:
                            kind = singular(text[found.start("adjectives") : found.end("pet")])
                            span = (first, last, found.start(), last, text[first:last])
                            yield RuleMatch("kind", *span, object=kind, confidence=0.85)
        yield from self._titled(text, short)

    def _titled(self, text: str, short: str) -> Iterator[RuleMatch]:
        """People with a title ("Uncle Raj"), "a friend of mine, Zoë", and "Ann, my sister"."""
        for found in _TITLED.finditer(text):
            if text[max(0, found.start() - 3) : found.start()].lower() in _NOT_BEFORE_TITLES:
                continue
            if not (_OF_A_WORK(text, found.start()) or _A_WORK_BEFORE(text[: found.start()])):
                yield RuleMatch("relative", *found.span("name"), found.start(), found.end("name"), confidence=0.8)
                self._person = Subject(name=found["name"])
        if " of mine" in short or " of ours" in short:
            for found in _OF_MINE.finditer(short):
                if KIN[found["kin"]] and found["name"].lower() not in NOT_NAMES:
                    self._person = Subject(name=found["name"], relation=KIN[found["kin"]])
                    yield RuleMatch(KIN[found["kin"]], *found.span("name"), *found.span(), confidence=0.8)
        if " my " in short:
            for found in _APPOSED_AFTER.finditer(short):
                # "Visiting my sister." is no name.
                begins = not found.start() and found["joint"] == " "
                if (
                    not (begins or _is_no_name(found["name"]))
                    and KIN[found["kin"]]
                    and not short[: found.start()].endswith("not ")
                ):
                    yield RuleMatch(KIN[found["kin"]], *found.span("name"), *found.span(), confidence=0.85)

    def _introduces(self, text: str) -> Iterator[RuleMatch]:
        """Relatives and pets whose name follows: "I have a sister. Her name is Ann"."""
        for match in has_kin(text, len(text)):
            yield match
            self._last = Stated(match, text[match.object_start : match.object_end], name)
            if not match.subject:
                self._person = Subject(name=text[match.object_start : match.object_end], relation=match.relation)
                self._people = (*(one for one in self._people if one.name in text), self._person)
        mentioned = self._notes_unnamed(text)
        called = _NAMES_IT(text)
        word = self._unnamed or mentioned
        relation = KIN.get(word, "pet") if word else ""
        kin = SAME_KIN.get(word, word)
        if (
            called is None
            or not relation
            or (called["who"] and PRONOUNS.get(kin, "") == _NOT_WHO.get(called["who"].lower()))
        ):
            return
        self._unnamed = ""
        for first, last in names(text, called.start("o"), len(text)):
            match = RuleMatch(relation, first, last, called.start(), last, confidence=0.85)
            yield match
            self._last = Stated(match, text[first:last], name)
            if relation == "pet":
                yield match._replace(relation="kind", subject=text[first:last], object=singular(word))
                yield match._replace(object=word, negated=True, confidence=0.0)
            else:
                self._person = self._called_so[kin] = Subject(name=text[first:last], relation=relation)
                self._kin[text[first:last]] = kin

    def _notes_unnamed(self, text: str) -> str:
        """Remember who a sentence speaks of without a name; the one before, who may be named in it."""
        mentioned, self._unnamed = self._unnamed, ""
        for one in _UNNAMED.finditer(text):
            # "We were given a puppy by my uncle, he's been named Ziggy"
            if not (self._unnamed in PETS and one["kin"] and text[: one.start()].endswith((" by ", " from "))):
                self._unnamed = one["kin"] or one["pet"] or ("spouse" if one["wed"] else "partner")
        return mentioned

    def _names_of(self, text: str, found: re.Match[str]) -> list[Place]:
        at = found.start("name")
        word = (found["kin"] or found["pet"]).lower()
        many = word.endswith("s") or word in ("children", "mice", "geese", "sheep", "fish", "family", "twins")
        places = names(text, at, len(text)) if many else name(text, at, min(len(text), at + 80))
        if (
            found["named"] == ", "
            and places
            and text[places[-1][1] : places[-1][1] + 1] not in ("", ",", ".", ";", "!", "?", ")")
        ):
            return []
        return [] if word == "family" else places

    def _clauses(self, text: str, stop: int, doubt: int, resumed: int) -> Iterator[Clause]:
        """The clauses before ``stop``, without those between a doubt and where statements are resumed."""
        found: list[Clause] = []
        opening = _OPENING(text)
        begin = 0 if opening is None else opening.end()
        starts = [begin, *(bound.end() for bound in BOUND.finditer(text, begin, stop))]
        at = -1
        for start in starts:
            if (
                start < at
                or start >= stop
                or (found and not text[at:start].strip() and not self._subject(text, start)[0])
            ):
                continue
            if found and (found[-1].subjects[0].name or found[-1].subjects[0].kin not in ("", HE, THEY)):
                # "Mum remarried, her husband is Alan": whose, is known from here on.
                self._person = found[-1].subjects[0]
            clause = self._head(text, start, found, first=start == begin)
            if clause is not None:
                found.append(clause)
                at = clause.at
                # Whom a clause is about is known before the next one is read.
                if len(found) > 1:
                    yield from self._bounded(text, found[-2], clause.start, stop, doubt, resumed)
        if found:
            yield from self._bounded(text, found[-1], stop, stop, doubt, resumed)

    def _bounded(self, text: str, clause: Clause, end: int, stop: int, doubt: int, resumed: int) -> Iterator[Clause]:
        far = min(end, stop, clause.at + _LONGEST_CLAUSE)
        hard = _HARD(text, clause.at, far)
        end = far if hard is None else hard.start()
        if text[doubt : doubt + 1] in (",", ";") and clause.start < doubt < end:
            # What follows is a sentence of its own: "I work at Acme, and if …".
            end = doubt
        if not (doubt < end and clause.start < resumed) and end > clause.at:
            yield clause._replace(end=end)

    def _head(self, text: str, start: int, before: list[Clause], *, first: bool) -> Clause | None:
        filler = _FILLER(text, start)
        at = start if filler is None else filler.end()
        first = first or not before
        if not _SPEAKS(text, at) and (adverbial := _ADVERBIAL(text, at) or (first and _ADVERBIAL(text, start))):
            at = adverbial.end()
        if text.startswith("who are ", at) and len(self._people) > 1:
            return Clause((Subject(kin=THEY),), at + 4, at + 4, at + 4, "who")
        if text[at - 5 : at].lower() == " who " or text[start - 3 : start].lower() == "who":
            who = self._before_who(text, start - (4 if text[start - 1].isspace() else 3))
            return None if who is None else Clause((who,), start, at, at, "who")
        if _WHO(text, at) and before:
            who = self._before_who(text, at)
            return None if who is None else Clause((who,), at + 3, at + 3, at + 3, "who")
        subjects, end = self._subjects(text, at)
        if subjects:
            return Clause(subjects, at, end, end)
        if (first or text[start - 2 : start] == ": ") and _CARD(text, at):
            return Clause((SPEAKER,), at, at, at, "bare")
        if first:
            return Clause((SPEAKER,), at, at, at, "fragment") if _is_fragment(text, at) else None
        return self._without_subject(text, start, at, before) if before else None

    def _without_subject(self, text: str, start: int, at: int, before: list[Clause]) -> Clause | None:
        """A clause that has the subject of the one before it."""
        word = WORD(text, at)
        form = {} if word is None else FORMS.get(word[1].lower(), {})
        others = before[-1].subjects
        if text.startswith(("raised", "bred", "brought up"), at):
            return None
        if (
            word is not None
            and others[0].is_speaker
            and (word[1].lower() in ("is", "has") or (THIRD in form and PRESENT not in form))
        ):
            return None
        if word is not None and (
            word[1].lower() in ("is", "has", "can't", "am", "have", "was")
            or THIRD in form
            or PAST_FORM in form
            or PRESENT in form
        ):
            if text[start - 1] != " " or _OF_ANOTHER(text, before[-1].at, start):
                return None
            if "," in text[max(before[-1].at, at - 6) : at] and _is_aside(before):
                return None
            return Clause(others, at, at, at, "carried")
        if (
            text[start - 2 : start] == ", "
            and not _BARE(text, at)
            and any(_AFTER_JOB(text, last) for _, last in job(text, at, at + 40))
        ):
            # "I met Ann, nurse at …" is about Ann.
            last = text[before[-1].at : start - 2].rsplit(" ", maxsplit=1)[-1]
            # "They had a boy, DJ" names a child.
            return None if last.istitle() or KIN.get(last) == "child" else Clause(others, at, at, at, "bare")
        if _BARE(text, at) and (
            text[start - 2 : start] == ", " or text[at : at + 1] not in "aA" or text[at : at + 3] in ("all", "age")
        ):
            return Clause(others, at, at, at, "bare")
        return None

    def _before_who(self, text: str, at: int) -> Subject | None:
        """Whom *who* at a place means: the person in the words before it, or None when they are no person."""
        first = max(0, at - _LONGEST_PERSON)
        last = first + len(text[first:at].rstrip(" ,("))
        if self._person is not None and self._person.name and text.endswith(self._person.name, first, last):
            return self._person
        for found in _MINE.finditer(text, first, last):
            if text[: found.start()].endswith("not "):
                return None
            owner = _owner(found, self._person)
            subject, end = (None, 0) if owner is None else self._relative(text, found, owner)
            if subject is not None and end == last and not subject.pet:
                return subject
        met = _MET_LAST(text, first, last)
        return Subject(name=met["name"]) if met and met["name"].lower() not in NOT_NAMES else None

    def _subjects(self, text: str, at: int) -> tuple[tuple[Subject, ...], int]:
        one, end = self._subject(text, at)
        if one is None:
            return (), at
        family = _AND_FAMILY(text, end) if one.name or one.relation else None
        if family is not None and _is_verb(text, family.end()):
            return (one,), family.end()
        joint = _AND_SUBJECT(text, end)
        other, after = self._subject(text, joint.end()) if joint else (None, end)
        if (
            other is not None
            and joint
            and joint[0].startswith(",")
            and (other.is_speaker or text[after : after + 1] in "'’")
        ):
            other = None
        if other is not None and not (one.plural or other.plural):
            strangers = one.name and other.name and not (one.relation or other.relation)
            return (
                ((), at)
                if strangers and not _is_verb(text, after + text.startswith(",", after), plural=True)
                else ((one, other), after)
            )
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
        found = _OF_MINE.match(text, at)
        if found is not None and found["name"].lower() not in NOT_NAMES:
            return Subject(name=found["name"], relation=KIN[found["kin"]] or "known"), found.end()
        found = _TITLED.match(text, at)
        if found is not None:
            return Subject(name=found["name"], relation="relative"), found.end("name")
        found = _PRONOUN(text, at)
        if found is not None:
            # Who it is is known when the clauses before it have been read.
            return Subject(kin=HE if found["one"] else THEY, relation=(found["one"] or "").lower()), found.end()
        found = _BARE_KIN(text, at)
        if found is not None and (found["kin"].lower() in CALLED_BY_KIN or found[0].islower()):
            word = SAME_KIN.get(found["kin"].lower(), found["kin"].lower())
            return Subject(kin=word, relation=KIN[word]), found.end()
        epithet = _EPITHET(text, at)
        found = _NAMED(text, at if epithet is None else epithet.end())
        if found is not None and found[0].split()[0].lower().rstrip(".") not in _NO_SUBJECTS:
            apposed = _APPOSED_SUBJECT(text, found.end())
            if apposed is not None and apposed["pet"]:
                return Subject(pet=apposed["pet"], relation=found[0]), apposed.end()
            if apposed is not None:
                return Subject(name=found[0], relation=KIN[apposed["kin"]] or "known"), apposed.end()
            return Subject(name=found[0]), found.end()
        return None, at

    def _relative(self, text: str, found: re.Match[str], owner: Subject) -> tuple[Subject | None, int]:
        word = (found["kin"] or found["pet"]).lower()
        if found["pet"]:
            places = self._names_of(text, found) if found["name"] else []
            called = text[places[0][0] : places[0][1]] if places else ""
            return Subject(pet=word, name="", owner=owner.name or owner.kin, relation=called), (
                places[0][1] if places else found.end()
            )
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
        return Subject(kin=" ".join([*apart, SAME_KIN.get(word, word)]), relation=KIN[word]), found.end()

    def _resolved(self, subjects: Iterable[Subject]) -> Iterator[Subject]:
        for one in subjects:
            if one.kin == THEY:
                yield from self._people
            elif one.kin != HE:
                yield one if one.owner else self._called_so.get(one.kin, one)
            elif (person := self._meant(one.relation)) is not None:
                yield person

    def _meets(self, text: str, clause: Clause) -> None:
        """Remember whom someone met in a clause; one about a person by name forgets who was met before."""
        met = _MET_WHOM(text, clause.at, clause.end)
        if met is not None:
            self._other = met["name"]
        elif all(one.kin != HE and not one.is_speaker for one in clause.subjects):
            self._other = ""

    def _meant(self, pronoun: str) -> Subject | None:
        """Whom *he* or *she* means; None when it may be either of two."""
        person = self._person
        kin = "" if person is None else person.kin.split(" ")[-1] or self._kin.get(person.name, "")
        fits = kin not in PRONOUNS or PRONOUNS[kin] == pronoun
        if not self._other or (fits and kin in PRONOUNS):
            return person if fits else None
        return None if fits else Subject(name=self._other)


# People and pets to each other.

IS_KIN = LazyPattern(
    rf"\s*(?:(?:my|our|(?P<of>{NAME})['’]s) (?:[a-z-]+ )??(?P<kin>{KIN_WORDS})|(?:just )?(?:an? )(?:good "
    rf"|close |dear |old |great )?(?P<mine>friend|colleague|cousin|relative|mate|buddy)(?: of "
    rf"mine)?)\b(?!['’-])(?! (?:called|named)\b)"
).match
_NOT_KIN = LazyPattern(rf",? (?:and )?not my (?:[a-z]+ )??(?P<kin>{KIN_WORDS})\b").match
ENDS_NAME = LazyPattern(
    r"\s*(?:\Z|[,.;!)*]|(?:and|but|now|not|by the way|btw|too|who|though|actually|these|instead|without|with"
    r"|sorry|as|from)\b|\()"
).match

_CONTACT_OF = LazyPattern(
    rf"(?P<my>\b(?:my|me|mine|I)\b)|(?P<hers>\b(?:hers|his|her|their)\b)"
    rf"|\b(?i:(?P<kin>{KIN_WORDS}))['’]s\b"
    rf"|(?P<name>{NAME})['’]s |(?P<reached>\bcan be reached)"
).finditer


def is_relative(text: str, clause: Clause, said: Predicate, subject: Subject, found: re.Match[str]) -> list[RuleMatch]:
    relation = KIN.get((found["kin"] or found["mine"] or "friend").lower(), "")
    if not relation or said.tense != "present":
        return []
    if subject.is_speaker:
        if not found["of"] or clause.how != "subject":
            return []
        inverse = INVERSE_KIN.get(relation, relation)
        return [RuleMatch(inverse, *found.span("of"), clause.start, found.end(), negated=said.negated, confidence=0.8)]
    owner = Subject(name=found["of"]) if found["of"] else SPEAKER
    start = clause.start
    match = match_of(
        relation, (start, start), start, found.end(), owner, negated=said.negated, confidence=0.85
    )._replace(object=subject.name)
    other = _NOT_KIN(text, found.end(), clause.end + 40)
    instead = KIN.get(other["kin"], relation) if other else relation
    more = [match._replace(relation=instead, negated=True)] if instead not in ("", relation) else []
    return [match, *more]


def contact_owner(before: str, person: Subject | None) -> Subject:
    found = next(iter(reversed(list(_CONTACT_OF(before)))), None)
    if found is None or found["my"]:
        return SPEAKER
    if found["hers"]:
        return person or SPEAKER
    if found["kin"]:
        word = found["kin"].lower()
        return Subject(kin=SAME_KIN.get(word, word))
    word = (found["name"] or "").removeprefix("And ").removeprefix("But ").removeprefix("Aunt ").removeprefix("Uncle ")
    return person if person and found["reached"] else Subject(name="" if word.lower() in NOT_NAMES else word)


def together(text: str, clause: Clause, said: Predicate) -> list[RuleMatch]:
    """What two people do with each other: "Malik and I broke up", "we are engaged"."""
    people = list(clause.subjects)
    found = _TOGETHER(text, said.start, clause.end)
    planned = said.tense == "ing" and text.startswith("getting married", said.start)
    going = said.tense == "ing" and said.verb != "date" and not (found and found["over"])
    if not planned and (found is None or said.tense == "future" or going):
        return []
    if any(one.name.lower() in _NO_COMPANY for one in people):
        return []
    speaker = any(one.is_speaker for one in people)
    other = next((one for one in people if not one.is_speaker), SPEAKER)
    mine = other.kin and other.relation in ("partner", "married_to")
    pair = not speaker and len(people) > 1 and all(one.name for one in people)
    if not (speaker or pair) or not (other.name or ((people[0].plural or mine) and found and found["over"])):
        return []
    relation, negated = "partner", said.negated or said.ended
    if found is not None:
        kind = found[0].lower()
        negated = negated or found["over"] is not None
        relation = (
            "friend"
            if "friend" in kind
            else "colleague"
            if "colleague" in kind
            else "married_to"
            if kind.endswith(("married", "divorced", "divorcing")) or (negated and other.relation == "married_to")
            else "partner"
        )
    if not other.name and not negated:
        return []
    who, other = (people[0], people[-1]) if pair else (SPEAKER, other)
    match = match_of(relation, (clause.start, clause.start), clause.start, clause.end, who, negated=negated)._replace(
        object=other.name
    )
    plan = plan_place(text, clause.start, clause.end, said) if found is None else []
    return [
        match,
        *(match_of("plans", one, clause.start, clause.end, who, kind=PLAN, confidence=0.7) for one in plan),
    ]


_NO_COMPANY = frozenset(
    "netflix coffee wine sleep mondays monday mornings pizza carbs chocolate cheese sugar alcohol gin beer "
    "tequila vodka math maths exercise cardio cooking money technology gravity winter summer autocorrect excel "
    "zoom tinder bread cake tea bacon whisky whiskey science luck fate work life sports nature caffeine dairy "
    "gluten tofu kale yoga".split()
)
"""Things that people are a couple with in jest: "Coffee and I broke up"."""
_TOGETHER = LazyPattern(
    r"(?:(?P<over>(?:over|history)(?=\s*(?:\Z|[,.!;]))|finished(?=\s*(?:\Z|[,.!;]))|done(?=\s*(?:\Z|[,.!;]))"
    r"|broken? up|broke up"
    r"|split(?: up)?|(?:got |are |get |getting )?divorc(?:ed|ing)|getting a divorce|separat(?:ed|ing)|splitting up"
    r"|breaking up|call(?:ed)? it (?:quits|a day)|gone our separate ways|went our separate ways"
    r"|(?:are|have) separated|parted ways|(?:broke|called) off (?:the|our) engagement)"
    r"|(?:got |get |have been |been |are |were )?(?:married|engaged|dating|together|a couple|in a relationship"
    r"|(?:good |close |best )*friends|colleagues))\b(?! (?:to|with|by (?!his|her|my|the))\b)"
).match
_PET_OVER = LazyPattern(
    r"(?:['’]s| has| was| had to be| is)?(?: \w+ly| just| sadly)?\s?(?:no longer with us|did(?:n['’]t| not) make "
    r"it|died|dead|passed away"
    r"|passed|put down|put to sleep|rehomed|gone|ran away|run away|escaped|run over|hit by a car|taken by|eaten by"
    r"|killed|euthani[sz]ed"
    r"|crossed the rainbow bridge)\b"
).match
_PET_CALLED = LazyPattern(
    r"(?:['’]s name)? is(?P<no>n['’]t) (?:called |named )?"
    r"|(?:['’]s name (?:is|was)|(?:['’]s| is| are| was)(?: called| named)?| (?:answers to|goes by|is known as)(?: "
    r"the name)?)(?P<not> not)? "
).match


def _is_left(relation: str, text: str, at: int) -> bool:
    """Whether the words before a partner say that it is over: "dumped her boyfriend Callum"."""
    return relation in ("partner", "married_to") and _LEFT_BY(text[max(0, at - _LONGEST_PERSON) : at]) is not None


_LEFT_BY = LazyPattern(
    r"\b(?<!not )(?<!n['’]t )(?:dumped|ditched|jilted|divorced|(?:broke|broken|split)(?: up)? with|separated from"
    r"|(?:ended|finished|over)(?: it| things)? with|(?:kicked|chucked|threw) out) \Z"
).search


def over(text: str, clause: Clause, said: Predicate, subject: Subject, kin: dict[str, str]) -> list[RuleMatch]:
    """Relatives who died, and colleagues who left."""
    with_us = said.verb == "be" and said.ended and text.startswith((" with us", "with us"), said.at)
    passed = said.verb == "die" or (said.verb == "pass" and _PASSED(text, said.at) is not None)
    died = with_us or (passed and not _IN_JEST(text, said.at))
    relation = subject.relation or KIN.get(kin.get(subject.name, ""), "")
    left = relation == "colleague" and (
        said.verb == "be replace" or (said.verb == "leave" and _COMPANY(text, said.at) is not None)
    )
    known = relation in RELATIONS and not subject.owner and (subject.name or (died and subject.kin))
    if not (known and (died or left) and (with_us or said.tense in ("past", "perfect"))) or said.negated:
        return []
    match = match_of(relation, (clause.start, clause.start), clause.start, clause.end, SPEAKER, negated=True)
    # Which parent it was, is known by the word for them.
    return [match._replace(object=subject.name or ("" if RELATIONS[relation].single else subject.kin))]


_PASSED = LazyPattern(
    r" (?:away|on(?= (?:last|in|this))|peacefully|last|this (?:week|month|year|morning|afternoon|evening)|yesterday|today"
    r"|in \d{4})\b|\s*[.!]?\Z"
).match
_IN_JEST = LazyPattern(r" (?:of )?(?:laugh|inside|a little)").match
_COMPANY = LazyPattern(r" (?:the|our) (?:company|firm|team|office)\b").match


def of_pet(text: str, clause: Clause, pet: Subject) -> list[RuleMatch]:
    """What is said of a pet of the speaker: its name, and that it is no more."""
    over = _PET_OVER(text, clause.at, clause.end)
    owner = Subject(kin=pet.owner) if pet.owner.islower() else Subject(name=pet.owner)
    if over is not None:
        match = match_of("pet", (clause.start, clause.start), clause.start, clause.end, owner, negated=True)
        return [match._replace(object=pet.relation or pet.pet)]
    called = _PET_CALLED(text, clause.at, clause.end)
    if called is None:
        return []
    places = names(text, called.end(), clause.end)
    names_it = any(word in called[0] for word in ("call", "name", "known", "goes", "answers"))
    # Of one that has its name, "is" tells how it is: "My dog Rex is ill"; so does a breed: "My cat is Siamese".
    is_name = places and text[slice(*places[0])].lower() not in PETS | NATIONALITIES
    if not places or (not names_it and (pet.relation or not is_name or not ENDS_NAME(text, places[-1][1]))):
        return []
    found: list[RuleMatch] = []
    for place in places:
        no = bool(called["not"] or called["no"]) or " was called " in called[0]
        match = match_of("pet", place, clause.start, max(clause.end, place[1]), owner, negated=no, confidence=0.85)
        found += [match, *contrasts(text, match, place, name)]
        if not no:
            found.append(match._replace(relation="kind", subject=text[slice(*place)], kin="", object=singular(pet.pet)))
    return found


_CALLED = r"(?: too| now)?(?:,? (?:named|called)|,? whose name is|,? (?:and )?(?:his|her|its) name(?: is|['’]s)|,) "
_PET_NAMED = LazyPattern(rf"{_CALLED}(?={NAME}|(?<!, )[a-z])").match
_MOST_PETS = 10


def named_pets(text: str, found: RuleMatch) -> list[RuleMatch]:
    """A pet with its name and kind, or by its animal."""
    named = _PET_NAMED(text, found.object_end)
    places: list[Place] = []
    if named is not None and not (named[0] == ", " and not NAME_NEXT(text, named.end())):
        places = names(text, named.end(), min(len(text), named.end() + 80))
        if named[0] == ", " and places and not ENDS_NAME(text, places[-1][1]):
            places = []
    result: list[RuleMatch] = []
    kind, at = text[found.object_start : found.object_end], len(text)
    for first, last in places[:_MOST_PETS]:
        if not KIN.keys().isdisjoint(text[at:first].split()):
            break
        pet = found._replace(object_start=first, object_end=last, end=max(found.end, last))
        # "a dog named Rex and a cat named Luna"
        kind, at = next((word for word in text[at:first].split() if word in PETS), kind), last
        result.append(pet)
        if not found.negated:
            # The kind of a pet never changes.
            result.append(
                pet._replace(relation="kind", subject=text[first:last], kin="", object=singular(kind), kind=STATE)
            )
    return result or [found]


NAME_NEXT = LazyPattern(NAME).match

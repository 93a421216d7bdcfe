"""What English sentences say of people and pets to each other: relatives, couples, deaths, and the names of pets."""

from __future__ import annotations

import re

from memwell.language.claims.english_objects import NAME, Place, name, names
from memwell.language.claims.english_predicates import SPEAKER, Clause, Predicate, Subject, contrasts, match_of
from memwell.language.claims.english_sayings import plan_place
from memwell.language.claims.english_subjects import KIN_WORDS
from memwell.language.claims.english_words import INVERSE_KIN, KIN, NOT_NAMES, PETS, SAME_KIN, singular
from memwell.language.claims.relations import PLAN, RELATIONS, STATE, RuleMatch
from memwell.language.patterns import LazyPattern

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
    more = [match._replace(relation=KIN[other["kin"]], negated=True)] if other and KIN.get(other["kin"]) else []
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
    word = (found["name"] or "").removeprefix("Aunt ").removeprefix("Uncle ")
    return person if person and found["reached"] else Subject(name="" if word.lower() in NOT_NAMES else word)


def together(text: str, clause: Clause, said: Predicate) -> list[RuleMatch]:
    """What two people do with each other: "Malik and I broke up", "we are engaged"."""
    people = list(clause.subjects)
    found = _TOGETHER(text, said.start, clause.end)
    planned = said.tense == "ing" and text.startswith("getting married", said.start)
    if not planned and (found is None or said.tense == "future" or (said.tense == "ing" and said.verb != "date")):
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
            if kind.endswith(("married", "divorced", "divorcing"))
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


_TOGETHER = LazyPattern(
    r"(?:(?P<over>over(?=\s*(?:\Z|[,.!;]))|finished(?=\s*(?:\Z|[,.!;]))|done(?=\s*(?:\Z|[,.!;]))|broken? up|broke up"
    r"|split(?: up)?|(?:got |are |get )?divorced|separated|called it quits"
    r"|(?:are|have) separated|parted ways|broke off our engagement)"
    r"|(?:got |get |have been |been |are |were )?(?:married|engaged|dating|together|a couple|in a relationship"
    r"|(?:good |close |best )*friends|colleagues))\b(?! (?:to|with|by (?!his|her|my|the))\b)"
).match
_PET_OVER = LazyPattern(
    r"(?:['’]s| has| was| had to be| is)?(?: \w+ly| just| sadly)?\s?(?:no longer with us|died|dead|passed away"
    r"|passed|put down|put to sleep|rehomed|gone|ran away|run away|escaped|run over|hit by a car|killed|euthani[sz]ed"
    r"|crossed the rainbow bridge)\b"
).match
_PET_CALLED = LazyPattern(
    r"(?:['’]s name)? is(?P<no>n['’]t) (?:called |named )?"
    r"|(?:['’]s name (?:is|was)|(?:['’]s| is| are| was)(?: called| named)?)(?P<not> not)? "
).match


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
    r" (?:away|on(?= (?:last|in|this))|peacefully|last|this (?:week|month|year|morning)|in \d{4})\b|\s*[.!]?\Z"
).match
_IN_JEST = LazyPattern(r" (?:of )?(?:laugh|inside|a little)").match
_COMPANY = LazyPattern(r" (?:the|our) (?:company|firm|team|office)\b").match


def of_pet(text: str, clause: Clause, pet: Subject) -> list[RuleMatch]:
    """What is said of a pet of the speaker: its name, and that it is no more."""
    over = _PET_OVER(text, clause.at, clause.end)
    if over is not None:
        owner = Subject(kin=pet.owner) if pet.owner.islower() else Subject(name=pet.owner)
        match = match_of("pet", (clause.start, clause.start), clause.start, clause.end, owner, negated=True)
        return [match._replace(object=pet.relation or pet.pet)]
    if pet.owner:
        return []
    called = _PET_CALLED(text, clause.at, clause.end)
    if called is None:
        return []
    places = names(text, called.end(), clause.end)
    if not places or ("call" not in called[0] and "name" not in called[0] and not ENDS_NAME(text, places[-1][1])):
        return []
    found: list[RuleMatch] = []
    for place in places:
        no = bool(called["not"] or called["no"])
        match = match_of("pet", place, clause.start, max(clause.end, place[1]), SPEAKER, negated=no, confidence=0.85)
        found += [match, *contrasts(text, match, place, name)]
        if not no:
            found.append(match._replace(relation="kind", subject=text[slice(*place)], object=singular(pet.pet)))
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

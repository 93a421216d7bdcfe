"""``StatedFact``: what a text states of now, and whether the facts of two texts exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from memwell.language.claims import RELATIONS, Claim, Reader, claims, readings, relation_of
from memwell.language.patterns import LazyPattern

_MANY = 2**16
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)
"""Claims need a time, which decides nothing here."""


class StatedFact(NamedTuple):
    """A fact that a text states, or denies, of now."""

    subject: str
    relation: str
    object: str
    negated: bool


def stated_facts(said: Iterable[Claim]) -> tuple[StatedFact, ...]:
    """What claims say of now."""
    return tuple(
        StatedFact(one.subject.lower(), one.relation, one.object.lower(), one.negated)
        for one in said
        if one.valid_to is None and not (one.valid_from and one.time and one.valid_from > one.time)
    )


_LIKELY = 0.5
"""How sure a reader is at least of what is likely stated. Of such readings without a rule half are right."""


def likely_facts(text: str, said: Iterable[StatedFact], reader: Reader, speaker: str = "") -> tuple[StatedFact, ...]:
    """What a text states of now in the view of a reader that is not sure, besides what it is known to state.

    It is no fact: it only helps to find the memory, where a question asks for such a thing.
    """
    # What is stated of one is not likely of another: 大刘换手机号了，13700551928.
    known = {pair for one in said for pair in ((one.subject, one.relation), (one.relation, one.object))}
    found = (
        StatedFact(one.subject.lower(), one.relation, one.object.lower(), negated=False)
        for one in readings(text, reader, speaker)
        if one.confidence >= _LIKELY and not one.negated
    )
    return tuple(dict.fromkeys(one for one in found if known.isdisjoint((one[:2], one[1:3]))))


@lru_cache(_MANY)
def read_facts(text: str) -> tuple[StatedFact, ...]:
    """What a text states of now; reading it takes longer than all else here."""
    return stated_facts(claims(text, time=_NEVER))


@lru_cache(_MANY)
def single_values(said: tuple[StatedFact, ...]) -> Mapping[str, str]:
    """What has one value at a time, such as where someone lives, with the value; an empty value is that it has none."""
    found: dict[str, str] = {}
    for fact in said:
        relation = relation_of(fact.relation)
        # What lasts is said otherwise rather than changed.
        if relation is None or relation.lasting:
            continue
        if relation.single:
            found[f"{fact.subject} {relation.name}"] = "" if fact.negated else fact.object
        elif relation.family:
            found[f"{fact.subject} {relation.family} {fact.object}"] = "" if fact.negated else relation.name
    return found


def denies_another(newer: Sequence[StatedFact], older: Sequence[StatedFact]) -> bool:
    """Whether one only denies other values of what the other states: "I am not allergic to eggs" of an allergy to nuts."""
    # "We have no dog any more" ends also the one that was named.
    denied = {(one.relation, one.object): one.negated and one.relation not in ("pet", "owns") for one in newer}
    if not denied or not all(denied.values()):
        return False
    stated = {(one.relation, one.object) for one in older}
    related = {one for one in stated if one[0] in {relation for relation, _ in denied}}
    return bool(related) and all(
        thing and not any(thing in other or other in thing for same, other in related if same == relation)
        for relation, thing in denied
    )


def states_allergy(facts: Sequence[StatedFact]) -> bool:
    """Whether an allergy is stated: only what speaks of the same thing ends it, and another one comes to it."""
    return any(one.relation == "allergic_to" and not one.negated for one in facts)


def cannot_change(facts: Sequence[StatedFact]) -> bool:
    """Whether nothing but what is so for life is stated: a birthday, where one was born."""
    found = [relation_of(one.relation) for one in facts]
    return bool(found) and all(one is not None and one.lasting for one in found)


def outlasts_events(facts: Sequence[StatedFact]) -> bool:
    """Whether nothing is stated but what someone likes, does or speaks, which no single event ends."""
    return bool(facts) and all(one.relation in _LASTING and not one.negated for one in facts)


_LASTING = frozenset(("hobby", "likes", "speaks"))


def only_names(facts: Sequence[StatedFact]) -> bool:
    """Whether nothing is stated but what someone is called: the speaker, a partner or a near relative."""
    return bool(facts) and all(one.relation in _NAMES and not one.negated for one in facts)


_NAMES = frozenset(("name", "child", "sibling", "parent", "partner", "married_to"))


def corrects_another(newer: Sequence[StatedFact], older: Sequence[StatedFact]) -> bool:
    """Whether one gives two values of one thing, the first of them denied, and the other states only other things."""
    values = {one[:2] for one in newer if not one.negated}
    corrected = any(one.negated and one[:2] in values for one in newer)
    return bool(older) and corrected and {one.relation for one in newer}.isdisjoint(one.relation for one in older)


def states_another(newer: Sequence[StatedFact], older: Sequence[StatedFact], speaker: str) -> bool:
    """Whether one states of the speaker what the other states of someone else; or a position, and the other an employer.

    Two others may be one, who is called otherwise: "my wife" and "Jo". An event ends nothing that is so.
    """
    now = {one.relation: {own.subject for own in newer if own.relation == one.relation} for one in newer}
    before = {one.relation: {own.subject for own in older if own.relation == one.relation} for one in older}
    if not now or not before or any(one.negated for one in newer):
        return False
    both = now.keys() & before.keys()
    if both:
        return all((speaker in now[one]) is not (speaker in before[one]) for one in both)
    return (
        (now.keys() == {"occupation"} and before.keys() <= _EMPLOYERS)
        or (now.keys() <= _EVENTS and before.keys() <= _STATES)
        # Who moves or changes jobs is still with the same people.
        or (now.keys() <= _EVENTS | _STATES and before.keys() <= _PEOPLE)
    )


_EMPLOYERS = frozenset(("works_at", "works_in"))
_EVENTS = frozenset(("bought", "visited", "plans"))
_STATES = frozenset(("lives_in", "works_at", "works_in", "occupation", "studies_at", "studies_in", "studies"))

_PEOPLE = frozenset(one.name for one in RELATIONS.values() if one.people and one.name not in ("friend", "colleague"))


def changes_another(text: str, newer: Sequence[StatedFact], older: Sequence[StatedFact]) -> bool:
    """Whether a clause changes a thing, and the other states only what is no matter of it: "I changed jobs" of a home."""
    changed = _CHANGED(text) if older else None
    if changed is None or not {one.relation for one in newer}.isdisjoint(one.relation for one in older):
        return False
    thing, own = changed[1] or changed[2], [_THINGS.get(one.relation) for one in older]
    return all(one is not None and one.search(thing) is None for one in own)


_CHANGED = LazyPattern(
    r"[^,;:]*\b(?:changed|switched|swapped|replaced|upgraded) (?:(?:my|our|his|her|their|the|an?|new) )*"
    r"(?!(?:to|from|over|for)\b)([a-z]+)\b(?! (?:to|for|with)\b)[^,;:]*\Z"
    r"|[^，；：。]*(?<![交转兑])换(?![到成去])了?(?:一?[个部台辆份家间]|新|的)*([^\W\x00-\x7f了]{2,4})了?[。！]?\Z",
    needs="changed switched swapped replaced upgraded 换".split(),
).match
_HOME = LazyPattern(
    r"flat|house|home|apartment|place|room|cit(?:y|ies)|town|area|address|countr|hood|[房住屋城区国]|地[方址]"
)
_JOB = LazyPattern(
    r"job|work|compan|employer|career|position|role|field|profession|trade|industr|firm|office|side"
    r"|工作|公司|单位|[行职岗]|东家|老板|地方"
)
_SCHOOL = LazyPattern(r"school|uni|college|course|major|degree|subject|[学专校]")
_PARTNER = LazyPattern(r"friend|partner|wife|husband|wives|朋友|对象|老[婆公伴]|[男女]友|太太|妻|丈夫")
_THINGS = {
    "name": LazyPattern("name|[名姓]"),
    "lives_in": _HOME,
    **dict.fromkeys(("works_at", "works_in", "occupation"), _JOB),
    **dict.fromkeys(("studies_at", "studies_in", "studies"), _SCHOOL),
    **dict.fromkeys(("partner", "married_to"), _PARTNER),
}
"""What is changed with a value of a relation: who changes jobs works elsewhere."""


def is_other_value(newer: tuple[StatedFact, ...], older: tuple[StatedFact, ...]) -> bool:
    """Whether a value is another one, or one that was stated is denied: "Rex died" of a dog that someone has.

    A value that is part of the other only says it otherwise.
    """
    now = single_values(newer)
    found = [(value, now[what]) for what, value in single_values(older).items() if what in now]
    denied = {one[:3] for one in newer if one.negated and one.object}
    if any(one[:3] in denied and not one.negated for one in older):
        return True
    return any(value != new and (not new or (new not in value and value not in new)) for value, new in found)

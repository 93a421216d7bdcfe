"""``StatedFact``: what a text states of now, and whether the facts of two texts exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from memwell.language.claims import Claim, claims, relation_of

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
        if one.valid_to is None
    )


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


def cannot_change(facts: Sequence[StatedFact]) -> bool:
    """Whether nothing but what is so for life is stated: a birthday, where one was born."""
    found = [relation_of(one.relation) for one in facts]
    return bool(found) and all(one is not None and one.lasting for one in found)


def is_other_value(newer: tuple[StatedFact, ...], older: tuple[StatedFact, ...]) -> bool:
    """Whether a value is another one, or is none any more; one that is part of the other only says it otherwise."""
    now = single_values(newer)
    found = [(value, now[what]) for what, value in single_values(older).items() if what in now]
    return any(value != new and (not new or (new not in value and value not in new)) for value, new in found)

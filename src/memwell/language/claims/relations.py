"""What can be known of someone: the closed list of relations, and the claim that says one.

A relation holds one value at a time (``lives_in``) or many (``speaks``). One value may also rule out another: who dislikes
a thing no longer likes it. ``favourite:<what>`` is open: any short word or phrase may stand after the colon.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from memwell.values import check_text

USER = "user"
"""Who is meant by *I* when nobody says who speaks."""

FAVOURITE = "favourite:"
_LONGEST_FAVOURITE = 60


class Relation(msgspec.Struct, frozen=True):
    """What a relation's facts obey."""

    name: str
    single: bool = False
    """Whether only one value holds at a time."""
    lasting: bool = False
    """Whether the value cannot change, so that two of them contradict each other."""
    family: str = ""
    """Relations of one family are opposites: of one object only one of them holds. Empty: it has none."""
    people: bool = False
    """Whether its object is a person."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a text says of someone. ``start`` and ``end`` bound the characters that say it.

    ``valid_from`` and ``valid_to`` are when it holds, None where the text does not say. A ``negated`` claim says that it
    does not hold, or no longer; one without an object denies every value. ``time`` is when it was said.
    """

    subject: str
    relation: str
    object: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    start: int = 0
    end: int = 0
    confidence: float = 0.8
    negated: bool = False
    time: datetime | None = None


RELATIONS: dict[str, Relation] = {
    relation.name: relation
    for relation in (
        Relation("name", single=True),
        Relation("age", single=True),
        Relation("birthday", single=True, lasting=True),
        Relation("from", single=True, lasting=True),
        Relation("nationality", single=True),
        Relation("lives_in", single=True),
        Relation("works_at", single=True),
        Relation("occupation", single=True),
        Relation("studies_at", single=True),
        Relation("studies"),
        Relation("graduated_from"),
        Relation("speaks"),
        Relation("email", single=True),
        Relation("phone", single=True),
        Relation("married_to", single=True, people=True),
        Relation("partner", single=True, people=True),
        Relation("parent", people=True),
        Relation("child", people=True),
        Relation("sibling", people=True),
        Relation("relative", people=True),
        Relation("friend", people=True),
        Relation("colleague", people=True),
        Relation("pet"),
        Relation("kind", single=True),
        Relation("owns"),
        Relation("likes", family="opinion"),
        Relation("dislikes", family="opinion"),
        Relation("hobby"),
        Relation("allergic_to"),
        Relation("diet", single=True),
        Relation("plans"),
        Relation("visited"),
        Relation("bought"),
        Relation("believes"),
    )
}


def relation_of(name: str) -> Relation | None:
    """The relation of this name, or None when there is none. Raises ``InvalidInput`` for a name that is no string."""
    found = RELATIONS.get(check_text(name, "a relation"))
    if found is None and name.startswith(FAVOURITE) and 0 < len(name[len(FAVOURITE) :].strip()) <= _LONGEST_FAVOURITE:
        return Relation(name, single=True)
    return found


__all__ = ["FAVOURITE", "RELATIONS", "USER", "Claim", "Relation", "relation_of"]

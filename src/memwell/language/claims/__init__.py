"""Claims: what a text says about its speaker and others, read by rules."""

from __future__ import annotations

from memwell.language.claims.reading import claims
from memwell.language.claims.relations import FAVOURITE, RELATIONS, USER, Claim, Relation, relation_of

__all__ = [
    "FAVOURITE",
    "RELATIONS",
    "USER",
    "Claim",
    "Relation",
    "claims",
    "relation_of",
]

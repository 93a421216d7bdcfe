"""What a text says of whom: claims, read by rule or by a chat model."""

from __future__ import annotations

from memwell.longterm.extraction.model import Extracted, model_claims
from memwell.longterm.extraction.reading import claims
from memwell.longterm.extraction.relations import FAVOURITE, RELATIONS, USER, Claim, Relation, relation_of

__all__ = [
    "FAVOURITE",
    "RELATIONS",
    "USER",
    "Claim",
    "Extracted",
    "Relation",
    "claims",
    "model_claims",
    "relation_of",
]

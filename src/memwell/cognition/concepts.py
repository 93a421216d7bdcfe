"""What a concept is, and how it is kept in a memory."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memwell.cognition.beliefs import Belief
from memwell.cognition.matching import coverage
from memwell.cognition.named import Draft, keeps
from memwell.language.detect import language_of
from memwell.longterm.duplicates import fingerprint
from memwell.longterm.recalling import Recalled

KIND = "concept"
STRENGTH = 5.0
"""The confidence that a concept is stored with counts like this many pieces of evidence."""
_BETWEEN = " — "
_SAME = 0.6
"""Definitions that share this much say the same."""


class Testimony(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of evidence: what or who says so, and whether for or against."""

    by: str
    supports: bool
    time: datetime
    source: str = ""
    """The memory in which it was said, by its id."""
    counted: bool = True
    """False for who said it first: that is the reason to assume it, and no evidence beyond that."""


class KeptConcept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a concept beside its text."""

    name: str
    definition: str
    related: tuple[str, ...] = ()
    belief: Belief = Belief(0.8, STRENGTH)
    evidence: tuple[Testimony, ...] = ()
    user: str | None = None
    """Whose turn taught it, empty for somebody without a name; None for what is everybody's."""
    order: int = 0
    """Which of a user's words on it this is; the latest counts."""
    stated: bool = False
    """Whether it was said without a source: then it holds whatever becomes of what was heard before."""


class Concept(msgspec.Struct, frozen=True):
    """What something is."""

    id: str
    name: str
    definition: str
    related: tuple[str, ...]
    belief: Belief
    evidence: tuple[Testimony, ...]
    time: datetime
    score: float = 0.0
    why: str = ""
    user: str | None = None
    """Whose turns taught it: others do not hear of it. Empty for somebody without a name, None for what is everybody's."""

    @property
    def confidence(self) -> float:
        """How sure it is, above 0 and below 1."""
        return self.belief.value


def is_concept(found: Recalled) -> bool:
    """Whether a memory keeps a concept."""
    return keeps(found, KIND, KeptConcept)


def as_concept(found: Recalled, gone: Container[str] = ()) -> Concept:
    """The concept that a memory keeps, without the evidence from memories that are ``gone``."""
    kept = kept_concept(found)
    language = "zh" if language_of(found.asked) == "zh" else "en"
    why = found.why(language=language) if found.signals else ""
    heard = tuple(one for one in kept.evidence if one.source not in gone)
    what = (kept.name, kept.definition, kept.related, _belief(kept, gone), heard)
    return Concept(found.id, *what, found.time, found.score, why, kept.user)


def _belief(kept: KeptConcept, gone: Container[str]) -> Belief:
    """The belief as if nobody had said what is gone."""
    lost = [one.supports for one in kept.evidence if one.counted and one.source in gone]
    believed = kept.belief
    support, against = believed.support - sum(lost), believed.against - (len(lost) - sum(lost))
    return replace(believed, support=max(0, support), against=max(0, against))


def sources_of(found: Recalled) -> set[str]:
    """The memories that a concept or its evidence was taken from."""
    rests_on = {one.record for one in found.evidence if one.record}
    return rests_on | {one.source for one in kept_concept(found).evidence if one.source}


def is_groundless(found: Recalled, gone: Container[str]) -> bool:
    """Whether all that a concept was learnt from is gone."""
    rests_on = [one.record for one in found.evidence if one.record]
    return bool(rests_on) and all(one in gone for one in rests_on) and not kept_concept(found).stated


def kept_concept(found: Recalled) -> KeptConcept:
    """What is kept of a concept beside its text."""
    return msgspec.convert(found.metadata[KIND], KeptConcept)


def concept_draft(kept: KeptConcept, reason: str, sources: tuple[str, ...]) -> Draft:
    """The memory that a concept becomes."""
    # What it is related to is a part of the text, so that a question about one finds the other.
    text = f"{kept.name}{_BETWEEN}{kept.definition}"
    if kept.related:
        chinese = language_of(text) == "zh"
        text += f"\n相关：{'、'.join(kept.related)}" if chinese else f"\nRelated: {', '.join(kept.related)}"
    return Draft(text, kept, reason, sources)


def says_same(one: str, other: str) -> bool:
    """Whether two definitions say the same, by their words."""
    return fingerprint(one) == fingerprint(other) or max(coverage(one, other), coverage(other, one)) >= _SAME


__all__ = [
    "KIND",
    "STRENGTH",
    "Concept",
    "KeptConcept",
    "Testimony",
    "as_concept",
    "concept_draft",
    "is_concept",
    "is_groundless",
    "kept_concept",
    "says_same",
    "sources_of",
]

"""What a rule has found in a sentence, before it becomes a claim."""

from __future__ import annotations

from typing import NamedTuple

from memwell.language.claims.timing import STATE


class Found(NamedTuple):
    """A relation read off a sentence; places are counted in the sentence.

    ``subject`` is empty for the speaker; ``kin`` is set when the subject is the speaker's ("my mother"). The clause that
    says it runs from ``start`` to ``end``, its object from ``object_start`` to ``object_end``; ``object`` replaces the
    words there when it is not empty.
    """

    relation: str
    object_start: int
    object_end: int
    start: int
    end: int
    subject: str = ""
    kin: str = ""
    object: str = ""
    kind: str = STATE
    lasting: bool = False
    negated: bool = False
    confidence: float = 0.8


__all__ = ["Found"]

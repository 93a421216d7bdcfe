"""How much a memory is worth keeping: by its content, and then by how it is used.

From 0 to 1. Something about a person, a date, a number or a decision is worth more than a greeting. The weights are few and
plain on purpose: they decide what a policy forgets first, so people must be able to foresee them.
"""

from __future__ import annotations

import math
import re

_CONCRETE = re.compile(r"\d|[A-Z][a-z]{2,}\s[A-Z][a-z]{2,}|[年月日号点]|@")
_MATTERS = re.compile(
    r"\b(?:always|never|must|prefer|allerg|birthday|married|died|born|moved|promise|decid|important|remember|deadline|"
    r"password|address|doctor|diagnos|contract|meeting|appointment|favou?rite|hate|love)\w*"
    r"|一定|从不|必须|喜欢|讨厌|过敏|生日|结婚|去世|出生|搬|答应|决定|重要|记住|记得|截止|地址|医生|合同|会议|预约|最爱",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?？]\s*\Z")
_SMALL_TALK = 12
"""Texts with fewer characters than this (Chinese ones count thrice) are seldom more than an answer or a greeting."""


_MOST_WORDS_OF_FEEDBACK = 32
"""After so many of one mind nothing moves any more."""


def importance_of(text: str, *, claims: int = 0) -> float:
    """What a text is worth by itself; ``claims`` is how many facts were read from it."""
    weight = len(text.strip()) if text.isascii() else 3 * len(text.strip())
    if weight < _SMALL_TALK:
        return 0.2 + 0.1 * min(claims, 2)
    score = 0.35 + 0.1 * min(math.log10(weight / _SMALL_TALK), 1.5)
    score += 0.1 * bool(_CONCRETE.search(text)) + 0.15 * bool(_MATTERS.search(text)) + 0.1 * min(claims, 2)
    if _ASKING.search(text):
        score -= 0.15
    return round(min(max(score, 0.05), 0.95), 3)


def moved(importance: float, *, useful: bool) -> float:
    """Importance after feedback: a third of the way to the end it points to, so that no single word decides."""
    goal = 1.0 if useful else 0.0
    return round(importance + (goal - importance) / 3, 3)


def effective(importance: float, uses: int) -> float:
    """Importance as ranking and policies see it: what is recalled often has shown its worth."""
    return min(1.0, importance + 0.04 * math.log1p(max(uses, 0)))


def evaluated(content: float, *, uses: int = 0, useful: int = 0) -> float:
    """What a memory has shown to be worth, from 0 to 1: its content, then every word of feedback, then its uses.

    ``useful`` is how often it was called useful, less how often useless.
    """
    importance = content
    for _ in range(min(abs(useful), _MOST_WORDS_OF_FEEDBACK)):
        importance = moved(importance, useful=useful > 0)
    return round(effective(importance, uses), 3)


__all__ = ["effective", "evaluated", "importance_of", "moved"]

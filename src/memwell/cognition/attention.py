"""Attention: scores turned into weights that add up to one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import msgspec

from memwell.errors import InvalidInput
from memwell.values import shown


def softmax(scores: Sequence[float], temperature: float = 1.0) -> list[float]:
    """A weight for every score, in order: none below 0, together 1, and a higher score never has a lower weight.

    The lower the ``temperature``, the more the best has. Raises ``InvalidInput`` for a score that is no finite number, and
    for a temperature that is not above 0.
    """
    check_temperature(temperature)
    for score in scores:
        if not is_finite(score):
            raise InvalidInput(f"a score must be a finite number, not {shown(score)}")
    if not scores:
        return []
    # Nothing overflows when the best stands at 0; a gap too wide for a number is as good as the widest.
    top = max(scores)
    powers = [math.exp(max(-_WIDEST, (score - top) / temperature)) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


def check_temperature(value: object) -> float:
    """Return it when it is one. Raises ``InvalidInput``."""
    if not is_finite(value) or not cast(float, value) > 0:
        raise InvalidInput(f"a temperature must be a number above 0, not {shown(value)}")
    return cast(float, value)


def is_finite(value: object) -> bool:
    """Whether it is a finite number, and not a boolean."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # A whole number too large for a float.
        return False


_WIDEST = 745.0
"""Beyond this a power of e is 0."""


# How sure one may be of something that was seen to hold so often and to fail so often.


class Belief(msgspec.Struct, frozen=True):
    """What was assumed, as ``strength`` observations of which the share ``prior`` spoke for it, and what was seen since."""

    prior: float = 0.5
    strength: float = 2.0
    support: int = 0
    against: int = 0

    @property
    def value(self) -> float:
        """``(strength * prior + support) / (strength + support + against)``: above 0 and below 1."""
        return (self.strength * self.prior + self.support) / (self.strength + self.support + self.against)

    @property
    def observations(self) -> int:
        """How often it was put to the test."""
        return self.support + self.against

    def seen(self, holds: bool) -> Belief:
        """The belief after one more observation."""
        return Belief(self.prior, self.strength, self.support + holds, self.against + (not holds))


def check_share(value: object, what: str) -> float:
    """Return a number between 0 and 1, neither of which it may be: nothing is certain. Raises ``InvalidInput``."""
    if not is_finite(value) or not 0 < cast(float, value) < 1:
        raise InvalidInput(f"{what} must be above 0 and below 1, since nothing is certain, not {shown(value)}")
    return float(cast(float, value))


def check_truth(value: object, what: str) -> bool:
    """Return a boolean when it is one. Raises ``InvalidInput``: of a text nobody knows which way it is meant."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, not {shown(value)}")
    return value

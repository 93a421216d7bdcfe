"""How sure one may be of something that was seen to hold so often and to fail so often.

The belief is the mean of a Beta distribution: what was assumed at first counts like a few observations, and every
observation counts one. So it moves with each, the less the more there were, and never reaches 0 or 1.
"""

from __future__ import annotations

from typing import cast

import msgspec

from memwell.cognition.attention import is_finite
from memwell.errors import InvalidInput
from memwell.values import shown


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


__all__ = ["Belief", "check_share", "check_truth"]

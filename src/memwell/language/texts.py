"""What every reader of language asks of its arguments."""

from __future__ import annotations

from memwell.errors import InvalidInput
from memwell.values import shown


def check_string(value: object, what: str = "a text") -> str:
    """Return ``value`` when it is a string, whatever its characters: what is read need not be fit to store.

    Raises ``InvalidInput`` otherwise.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    return value


__all__ = ["check_string"]

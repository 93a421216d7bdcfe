"""Asking for as many candidates as it takes: repeats and what is hidden must not stand in the place of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Found = TypeVar("Found")
Kept = TypeVar("Kept")

_AT_FIRST, _MORE, _AT_MOST = 2, 4, 128
"""How many times the limit is asked for at first, by what that grows, and where it ends."""


def enough_of(
    fetch: Callable[[int], Sequence[Found]], sift: Callable[[Sequence[Found]], list[Kept]], limit: int
) -> list[Kept]:
    """What ``sift`` keeps of what ``fetch`` finds, at least ``limit`` of it as long as there is more to be found."""
    wanted = _AT_FIRST * limit
    while True:
        found = fetch(wanted)
        kept = sift(found)
        if len(kept) >= limit or len(found) < wanted or wanted >= _AT_MOST * limit:
            return kept
        wanted *= _MORE


__all__ = ["enough_of"]

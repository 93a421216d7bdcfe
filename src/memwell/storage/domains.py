"""Which spaces belong together: a space, and what memwell keeps about it in the spaces under it.

What changes together lies in one domain. A store whose writers work side by side lets the transactions of one domain wait
for each other, and those of different domains not.
"""

from __future__ import annotations

from memwell.records import Space

_OWN = "memwell"
"""The segment under which memwell keeps what it knows about the space in front of it."""


def domain(space: Space) -> Space:
    """The space that owns this one: the path up to the first segment of memwell's own, or the space itself."""
    for depth, segment in enumerate(space):
        if depth and segment == _OWN:
            return Space(*space[:depth])
    return space

"""A part of the documents, small enough to be cut and embedded many times over."""

from __future__ import annotations

import random
from collections.abc import Sequence

from msgspec.structs import replace

from memwell.knowledge.documents import Parsed
from memwell.knowledge.tuning.places import length_of


def sample(documents: Sequence[Parsed], most: int, *, seed: int = 0) -> list[Parsed]:
    """Documents of about ``most`` characters together: all of them, or some and of the last one a stretch.

    A Chinese character counts as three. The same documents and the same seed give the same part.
    """
    chance = random.Random(seed)
    order = list(range(len(documents)))
    if sum(length_of(one.text) for one in documents) > most:
        chance.shuffle(order)
    taken: dict[int, Parsed] = {}
    left = most
    for number in order:
        parsed = documents[number]
        size = length_of(parsed.text)
        taken[number] = parsed if size <= left else _stretch(parsed, max(1, len(parsed.text) * left // size), chance)
        left -= size
        if left <= 0:
            break
    return [taken[number] for number in sorted(taken)]


def _stretch(parsed: Parsed, most: int, chance: random.Random) -> Parsed:
    """Blocks in a row that have about so many characters, from anywhere in the document."""
    blocks = parsed.blocks
    last_start = max(0, len(parsed.text) - most)
    fitting = [number for number, block in enumerate(blocks) if block.start <= last_start]
    if not fitting:
        return parsed
    first = chance.choice(fitting)
    start = blocks[first].start
    kept = [block for block in blocks[first:] if block.end - start <= most] or [blocks[first]]
    moved = tuple(replace(block, start=block.start - start, end=block.end - start) for block in kept)
    return replace(parsed, text=parsed.text[start : kept[-1].end], blocks=moved)


__all__ = ["sample"]

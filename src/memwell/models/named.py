"""Embedders by their names, so that vectors which another embedder made can still be searched.

What comes along is known by its name. Of any other, a program says it itself: ``offer_embedder(mine)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

from memwell.models.ports import Embedder

if TYPE_CHECKING:
    from memwell.models.local.embedder import Mode

_offered: dict[str, Embedder] = {}
_HASHED = re.compile(r"hash-(\d{1,5})-")


def offer_embedder(embedder: Embedder) -> None:
    """Have an embedder known by its name in this process, in place of one that was known by it before."""
    _offered[embedder.name] = embedder


def embedder_named(name: str) -> Embedder | None:
    """The embedder whose vectors carry this name, or None when it is not known. Nothing is loaded before it is used."""
    return _offered.get(name) or _hashed(name) or _local(name)


def _local(name: str) -> Embedder | None:
    # numpy takes a tenth of a second to load, and most spaces never ask.
    from memwell.models.local.embedder import LocalEmbedder, Mode  # noqa: PLC0415

    modes: tuple[Mode, ...] = get_args(Mode)
    made = {mode: LocalEmbedder(mode) for mode in modes}
    return next((one for mode, one in made.items() if name in (mode, one.name)), None)


def _hashed(name: str) -> Embedder | None:
    found = _HASHED.match(name)
    if found is None:
        return None
    from memwell.models.scripted import HashEmbedder  # noqa: PLC0415 - as above

    made = HashEmbedder(max(int(found[1]), 8))
    return made if made.name == name else None

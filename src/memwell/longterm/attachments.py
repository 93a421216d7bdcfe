"""Where what lies beside memories is kept: the blobs that belong to them, and the vectors of their features.

A memory names its blobs by their digests, so the same bytes are kept once for all that name them. A vector of features has
the id of its memory. Both are written in one transaction with the memory and erased with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from memwell.longterm.journal import inner_space
from memwell.longterm.traits import traits_of
from memwell.records import Record, Space


def blobs_space(space: Space) -> Space:
    """The space of the blobs that belong to the memories of a space."""
    return inner_space(space) / "media"


def features_space(space: Space, dimensions: int) -> Space:
    """The space of the feature vectors of so many numbers: vectors of two sizes cannot be compared."""
    return inner_space(space) / f"features {dimensions}"


def named_blobs(records: Iterable[Record]) -> set[str]:
    """The digests of all blobs that belong to memories."""
    return {digest for record in records for digest in traits_of(record).blobs}


__all__ = ["blobs_space", "features_space", "named_blobs"]

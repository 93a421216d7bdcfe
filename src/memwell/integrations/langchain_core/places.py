"""Where the objects of this room keep what they are given."""

from __future__ import annotations

from memwell.records import Space, SpaceLike, as_space

DEFAULT_URL = "memwell.db"


def inner_space(space: SpaceLike, kind: str) -> Space:
    """Where this room keeps what LangChain stores by key or vector, apart from the memories of the same space."""
    return as_space(space) / "langchain" / kind


__all__ = ["DEFAULT_URL", "inner_space"]

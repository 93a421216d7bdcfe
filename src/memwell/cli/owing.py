"""What the spaces of a store are still owed: words and vectors of memories that are kept, but not worked off."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memwell.longterm.journal import Journal, Owed
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.runtime.jobs import REGISTRY
from memwell.storage.protocols import Backend


def owed_by_space(backend: Backend) -> dict[Space, Owed]:
    """The spaces that are owed anything, and what."""
    listed: list[list[str]] = [one["space"] for one in backend.facts().get("spaces", [])]
    spaces = dict.fromkeys([*(Space(*segments) for segments in listed), *noted(backend)])
    found = {space: _owed(backend, space) for space in spaces if len(space) < MAX_SEGMENTS}
    return {space: owed for space, owed in found.items() if owed.words or owed.vectors}


def _owed(backend: Backend, space: Space) -> Owed:
    owed = Journal(backend, space).owed()
    # What documents are owed is vectors: their words are stored with them.
    return replace(owed, words=0) if space[-2:] == ("memwell", "knowledge") else owed


def noted(backend: Backend) -> Iterator[Space]:
    """The spaces whose first memories may still be on their way."""
    entries = paged(lambda cursor: backend.kv.scan(REGISTRY, cursor=cursor))
    return (Space.decode(entry.key) for entry in entries)

"""What a memory carries beside its text: kept in its record's metadata under one key, apart from the user's.

A memory is a ``Record``. Its ``metadata`` is the user's own, but for the key ``memwell``, which holds its ``Traits``. So a
memory goes through any store unchanged, and filters reach its traits by path:
``Where(("memwell", "speaker"), "eq", "Ann")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.records import Record

KEY = "memwell"
"""The key of the metadata that is not the user's."""

ACTIVE = "active"
FORGOTTEN = "forgotten"
SUPERSEDED = "superseded"


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something was said: a message of a thread, or another memory, and the characters of its text that say it."""

    thread: str = ""
    message: str = ""
    record: str = ""
    start: int | None = None
    end: int | None = None


class Traits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that memwell knows of a memory. What is not known stays at its default and is not stored."""

    speaker: str = ""
    session: str = ""
    position: int = 0
    importance: float | None = None
    """From 0 to 1: what its content is worth, moved by feedback; None until it has been weighed."""
    content: float | None = None
    """What its content alone was found to be worth; ``importance`` begins there unless it was given."""
    uses: int = 0
    """How often it was recalled."""
    accessed: datetime | None = None
    """When it was last recalled, as far as that has been noted; None when it never was."""
    useful: int = 0
    """Feedback: how often it was called useful, less how often it was not."""
    pinned: bool = False
    """Never forgotten by a policy, never fades."""
    expires: datetime | None = None
    learned: datetime | None = None
    """When it was stored; the record's ``time`` is when it was said."""
    changed: datetime | None = None
    """When it last became what it is; None when it never changed."""
    status: str = ACTIVE
    trust: str = "user"
    """Whose word it is: ``user``, ``model``, ``document``, ``tool``, or ``derived`` from other memories."""
    evidence: tuple[Evidence, ...] = ()
    version: int = 1
    seen: int = 1
    """How often the same was said."""
    replaced_by: str = ""
    """The memory that took its place, when it was merged or superseded."""
    flags: tuple[str, ...] = ()
    """What the gate noticed: ``secret``, ``email``, …"""
    blobs: tuple[str, ...] = ()
    """The blobs that belong to it, by their digests. One goes with the last memory that names it."""
    features: int = 0
    """How many numbers the vector of its features has, which is kept apart from that of its text; 0 without one."""
    details: dict[str, Any] = {}
    """What its kind has beside its text, such as the size of a picture."""

    @property
    def active(self) -> bool:
        """Whether it may be recalled."""
        return self.status == ACTIVE


_decode = msgspec.convert
_encode = msgspec.to_builtins


def traits_of(record: Record) -> Traits:
    """The traits of a memory; those of a record that was stored by other means are the defaults."""
    raw = record.metadata.get(KEY)
    if not isinstance(raw, Mapping):
        return Traits()
    try:
        return _decode(raw, Traits)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the record {record.id!r} carries traits that cannot be read: {error}") from error


def own_metadata(record: Record) -> dict[str, Any]:
    """The user's part of a memory's metadata."""
    return {key: value for key, value in record.metadata.items() if key != KEY}


def with_traits(metadata: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """The metadata of a memory: the user's and its traits. Raises ``InvalidInput`` when the user's has the key itself."""
    if KEY in metadata:
        raise InvalidInput(f"the metadata key {KEY!r} is memwell's own; choose another")
    return {**metadata, KEY: _encode(traits)}


__all__ = [
    "ACTIVE",
    "FORGOTTEN",
    "KEY",
    "SUPERSEDED",
    "Evidence",
    "Traits",
    "own_metadata",
    "traits_of",
    "with_traits",
]

"""What a memory carries beside its text: kept in its record's metadata under one key, apart from the user's.

A memory is a ``Record``. Its ``metadata`` is the user's own, but for the key ``memwell``, which holds its ``Traits``. So a
memory goes through any store unchanged, and filters reach its traits by path:
``Where(("memwell", "speaker"), "eq", "Ann")``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.journal import inner_space
from memwell.records import Record, Space

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


# How much a memory is worth keeping: by its content, and then by how it is used.


_CONCRETE = re.compile(r"\d|[A-Z][a-z]{2,}\s[A-Z][a-z]{2,}|[年月日号点]|@")
_MATTERS = re.compile(
    r"\b(?:always|never|must|prefer|allerg|birthday|married|died|born|moved|promise|decid|important|remember|deadline|"
    r"password|address|doctor|diagnos|contract|meeting|appointment|favou?rite|hate|love)\w*"
    r"|一定|从不|必须|喜欢|讨厌|过敏|生日|结婚|去世|出生|搬|答应|决定|重要|记住|记得|截止|地址|医生|合同|会议|预约|最爱",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?？]\s*\Z")
_SMALL_TALK = 12
"""Texts with fewer characters than this (Chinese ones count thrice) are seldom more than an answer or a greeting."""


_MOST_WORDS_OF_FEEDBACK = 32
"""After so many of one mind nothing moves any more."""


def importance_of(text: str, *, claims: int = 0) -> float:
    """What a text is worth by itself; ``claims`` is how many facts were read from it."""
    weight = len(text.strip()) if text.isascii() else 3 * len(text.strip())
    if weight < _SMALL_TALK:
        return 0.2 + 0.1 * min(claims, 2)
    score = 0.35 + 0.1 * min(math.log10(weight / _SMALL_TALK), 1.5)
    score += 0.1 * bool(_CONCRETE.search(text)) + 0.15 * bool(_MATTERS.search(text)) + 0.1 * min(claims, 2)
    if _ASKING.search(text):
        score -= 0.15
    return round(min(max(score, 0.05), 0.95), 3)


def moved(importance: float, *, useful: bool) -> float:
    """Importance after feedback: a third of the way to the end it points to, so that no single word decides."""
    goal = 1.0 if useful else 0.0
    return round(importance + (goal - importance) / 3, 3)


def effective(importance: float, uses: int) -> float:
    """Importance as ranking and policies see it: what is recalled often has shown its worth."""
    return min(1.0, importance + 0.04 * math.log1p(max(uses, 0)))


def evaluated(content: float, *, uses: int = 0, useful: int = 0) -> float:
    """What a memory has shown to be worth, from 0 to 1: its content, then every word of feedback, then its uses.

    ``useful`` is how often it was called useful, less how often useless.
    """
    importance = content
    for _ in range(min(abs(useful), _MOST_WORDS_OF_FEEDBACK)):
        importance = moved(importance, useful=useful > 0)
    return round(effective(importance, uses), 3)


# Where what lies beside memories is kept: the blobs that belong to them, and the vectors of their features.


def blobs_space(space: Space) -> Space:
    """The space of the blobs that belong to the memories of a space."""
    return inner_space(space) / "media"


def features_space(space: Space, dimensions: int) -> Space:
    """The space of the feature vectors of so many numbers: vectors of two sizes cannot be compared."""
    return inner_space(space) / f"features {dimensions}"


def named_blobs(records: Iterable[Record]) -> set[str]:
    """The digests of all blobs that belong to memories."""
    return {digest for record in records for digest in traits_of(record).blobs}

"""``Traits``: what memwell knows of a memory besides its text, stored in the record's metadata under one key.

A memory is a ``Record`` whose ``metadata`` is the user's own except for the key ``memwell``, which holds its ``Traits``. So
any store can hold a memory, and filters reach its traits by path: ``Where(("memwell", "speaker"), "eq", "Ann")``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims.stated import StatedFact
from memwell.longterm.journal import inner_space
from memwell.records import Record, Space

KEY = "memwell"
"""The metadata key of the traits."""

ACTIVE = "active"
FORGOTTEN = "forgotten"
SUPERSEDED = "superseded"


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The source of a memory: a message of a thread or another memory, and the characters of it."""

    thread: str = ""
    message: str = ""
    record: str = ""
    start: int | None = None
    end: int | None = None


class Traits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What memwell knows of a memory. Unknown fields keep their default and are not stored."""

    speaker: str = ""
    session: str = ""
    position: int = 0
    importance: float | None = None
    """From 0 to 1: the worth of its content, moved by feedback; None until it is computed."""
    content: float | None = None
    """The worth of its content alone; ``importance`` starts there unless it was given."""
    uses: int = 0
    """How often it was recalled; a record only has what was counted before ``longterm.uses``, or came with a copy."""
    accessed: datetime | None = None
    """When it was last recalled; as ``uses``."""
    useful: int = 0
    """Feedback: how often it was called useful, minus how often it was not."""
    pinned: bool = False
    """Whether policies and fading leave it alone."""
    expires: datetime | None = None
    learned: datetime | None = None
    """When it was stored; the record's ``time`` is when it was said."""
    changed: datetime | None = None
    """When its current version was made; None when it never changed."""
    status: str = ACTIVE
    trust: str = "user"
    """Its source: ``user``, ``model``, ``document``, ``tool``, ``imported``, or ``derived`` from other memories."""
    evidence: tuple[Evidence, ...] = ()
    version: int = 1
    seen: int = 1
    """How often it was said."""
    replaced_by: str = ""
    """The memory that replaced it, when it was merged or superseded."""
    flags: tuple[str, ...] = ()
    """What the gate found: ``secret``, ``email``, …"""
    blobs: tuple[str, ...] = ()
    """The digests of its blobs. A blob is deleted with the last memory that names it."""
    features: int = 0
    """The length of its feature vector, which is stored apart from that of its text; 0 without one."""
    stated: tuple[StatedFact, ...] | None = None
    """The facts that its text states or denies of now; None until it was read."""
    likely: tuple[StatedFact, ...] = ()
    """What its text likely states besides, in the view of a reader that is not sure: no facts, but a help in finding it."""
    details: dict[str, Any] = {}
    """Fields of its kind, such as the size of an image."""

    @property
    def active(self) -> bool:
        """Whether it can be recalled."""
        return self.status == ACTIVE


def traits_of(record: Record) -> Traits:
    """The traits of a memory; the defaults for a record that was stored by other means."""
    raw = record.metadata.get(KEY)
    if not isinstance(raw, Mapping):
        return Traits()
    try:
        return msgspec.convert(raw, Traits)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the record {record.id!r} carries traits that cannot be read: {error}") from error


def own_metadata(record: Record) -> dict[str, Any]:
    """The user's metadata of a memory."""
    return {key: value for key, value in record.metadata.items() if key != KEY}


def with_traits(metadata: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """The metadata of a memory: the user's and its traits. Raises ``InvalidInput`` when the user's has our key."""
    if KEY in metadata:
        raise InvalidInput(f"the metadata key {KEY!r} is memwell's own; choose another")
    return {**metadata, KEY: msgspec.to_builtins(traits)}


# Importance: how much a memory is worth keeping, by its content and its use.

_CONCRETE = re.compile(r"\d|[A-Z][a-z]{2,}\s[A-Z][a-z]{2,}|[年月日号点]|@")
_MATTERS = re.compile(
    r"\b(?:always|never|must|prefer|allerg|birthday|married|died|born|moved|promise|decid|important|remember|deadline|"
    r"password|address|doctor|diagnos|contract|meeting|appointment|favou?rite|hate|love)\w*"
    r"|一定|从不|必须|喜欢|讨厌|过敏|生日|结婚|去世|出生|搬|答应|决定|重要|记住|记得|截止|地址|医生|合同|会议|预约|最爱",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?？]\s*\Z")
_SMALL_TALK = 12
"""Texts below this many characters (Chinese ones count three times) are mostly answers and greetings."""

_MOST_FEEDBACK = 32
"""Further feedback in the same direction changes nothing."""


def importance_of(text: str, *, claims: int = 0) -> float:
    """The importance of a text by its content; ``claims`` is how many facts it states."""
    weight = len(text.strip()) if text.isascii() else 3 * len(text.strip())
    if weight < _SMALL_TALK:
        return 0.2 + 0.1 * min(claims, 2)
    score = 0.35 + 0.1 * min(math.log10(weight / _SMALL_TALK), 1.5)
    score += 0.1 * bool(_CONCRETE.search(text)) + 0.15 * bool(_MATTERS.search(text)) + 0.1 * min(claims, 2)
    if _ASKING.search(text):
        score -= 0.15
    return round(min(max(score, 0.05), 0.95), 3)


def moved(importance: float, *, useful: bool) -> float:
    """The importance after feedback: a third of the way to 1 or 0."""
    goal = 1.0 if useful else 0.0
    return round(importance + (goal - importance) / 3, 3)


USED = 0.04
"""How much more a memory counts for each time that its uses are multiplied by e."""


def effective(importance: float, uses: int) -> float:
    """The importance that ranking and policies use: frequent recalls raise it."""
    return min(1.0, importance + USED * math.log1p(max(uses, 0)))


def evaluated(content: float, *, uses: int = 0, useful: int = 0) -> float:
    """The worth of a memory from 0 to 1: its content, then its feedback, then its uses.

    ``useful`` is how often it was called useful, minus how often it was not.
    """
    importance = content
    for _ in range(min(abs(useful), _MOST_FEEDBACK)):
        importance = moved(importance, useful=useful > 0)
    return round(effective(importance, uses), 3)


# The spaces of the blobs and feature vectors of memories.


def blobs_space(space: Space) -> Space:
    """The space of the blobs of a space's memories."""
    return inner_space(space) / "media"


def features_space(space: Space, dimensions: int) -> Space:
    """The space of feature vectors of this length; vectors of two lengths cannot be compared."""
    return inner_space(space) / f"features {dimensions}"


def named_blobs(records: Iterable[Record]) -> set[str]:
    """The digests of all blobs of memories."""
    return {digest for record in records for digest in traits_of(record).blobs}

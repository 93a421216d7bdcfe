"""What the tools answer with, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from memwell.longterm.facts import Fact
from memwell.longterm.recall import Recalled
from memwell.runtime.context import Receipt
from memwell.service.mcp.fencing import entry, one_line, shortened

Language: TypeAlias = Annotated[
    Literal["en", "zh"] | None, Meta(description="Language of the explanations; by default that of the question.")
]
Moment: TypeAlias = Annotated[str, Meta(description="A time in ISO 8601, such as 2026-05-01 or 2026-05-01T09:30:00Z.")]


class Proof(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a memory comes from: a message of a conversation, or another memory."""

    thread: str = ""
    message: str = ""
    record: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A memory."""

    id: str
    text: str
    cut: bool
    """Whether the text is only the beginning; the resource of the memory has the whole."""
    time: str
    kind: str
    trust: str
    speaker: str
    session: str
    pinned: bool
    flags: list[str]
    evidence: list[Proof]


class Hit(Item, frozen=True, kw_only=True):
    """A memory that was recalled. The shares of its signals add up to its score."""

    score: float
    why: str
    signals: dict[str, float]


class Stored(msgspec.Struct, frozen=True):
    """What was stored."""

    ids: list[str]


class Found(msgspec.Struct, frozen=True):
    """What was recalled, best first."""

    hits: list[Hit]


class Listed(msgspec.Struct, frozen=True):
    """One page of memories."""

    memories: list[Item]
    next: str | None


class Turn(msgspec.Struct, frozen=True):
    """One message of a prompt."""

    role: str
    content: str


class Prompt(msgspec.Struct, frozen=True):
    """A prompt, and the receipt of what went into it."""

    messages: list[Turn]
    tokens: int
    budget: int
    receipt: Receipt


class Hidden(msgspec.Struct, frozen=True):
    """The memories that were forgotten by this call."""

    forgotten: list[str]


class Restored(msgspec.Struct, frozen=True):
    """A memory after its last change was taken back."""

    memory: Item


class Statement(msgspec.Struct, frozen=True):
    """A fact. Without ``valid_from`` or ``valid_to`` that end is open."""

    subject: str
    relation: str
    object: str
    valid_from: str | None
    valid_to: str | None
    learned_at: str
    confidence: float
    evidence: list[str]
    """The ids of the memories that say so."""


class Statements(msgspec.Struct, frozen=True):
    """Facts about one subject."""

    facts: list[Statement]


class Portrait(msgspec.Struct, frozen=True):
    """What is known of someone, in words."""

    subject: str
    text: str
    facts: int
    memories: int


class Passage(msgspec.Struct, frozen=True):
    """A passage of a document. The document's text has it from ``start`` to ``end``."""

    id: str
    text: str
    cut: bool
    score: float
    why: str
    document: str
    place: str
    start: int
    end: int
    page: int | None


class Passages(msgspec.Struct, frozen=True):
    """Passages that were found, best first."""

    passages: list[Passage]


class Reply(msgspec.Struct, frozen=True):
    """An answer from documents. ``supported`` is false when they do not answer the question."""

    answer: str
    supported: bool
    note: str
    sources: list[Passage]


def item(memory: Recalled) -> dict[str, Any]:
    """The fields of an ``Item``."""
    text, cut = shortened(memory.text)
    return {
        "id": memory.id,
        "text": text,
        "cut": cut,
        "time": memory.time.isoformat(),
        "kind": memory.kind,
        "trust": memory.trust,
        "speaker": one_line(memory.speaker),
        "session": memory.session,
        "pinned": memory.pinned,
        "flags": list(memory.flags),
        "evidence": [Proof(one.thread, one.message, one.record) for one in memory.evidence],
    }


def hit(memory: Recalled, query: str, language: str) -> Hit:
    """A recalled memory with its reasons."""
    shares = {name: round(signal.share, 4) for name, signal in memory.signals.items() if round(signal.share, 4)}
    why = one_line(memory.why(query=query, language=language))
    return Hit(**item(memory), score=round(memory.score, 4), why=why, signals=shares)


def statement(fact: Fact) -> Statement:
    """A fact with the ids of what it rests on."""
    return Statement(
        one_line(fact.subject),
        one_line(fact.relation),
        one_line(fact.object),
        None if fact.valid_from is None else fact.valid_from.isoformat(),
        None if fact.valid_to is None else fact.valid_to.isoformat(),
        fact.learned_at.isoformat(),
        fact.confidence,
        list(dict.fromkeys(one.record for one in fact.evidence)),
    )


def entries(memories: list[Item] | list[Hit], why: str = "") -> Iterator[str]:
    """Memories as a model reads them, numbered; ``why`` is the word before the reasons of a hit."""
    for number, one in enumerate(memories, start=1):
        heading = (one.time[:10], one.speaker, one.trust, *(("UNTRUSTED",) if "injection" in one.flags else ()))
        reasons = (f"{one.score:.2f}", f"{why}: {one.why}") if isinstance(one, Hit) else ()
        yield entry(number, heading, one.text, (f"id {one.id}", *reasons, "…" if one.cut else ""))


__all__ = [
    "Found",
    "Hidden",
    "Hit",
    "Item",
    "Language",
    "Listed",
    "Moment",
    "Passage",
    "Passages",
    "Portrait",
    "Prompt",
    "Proof",
    "Reply",
    "Restored",
    "Statement",
    "Statements",
    "Stored",
    "Turn",
    "entries",
    "hit",
    "item",
    "statement",
]

"""Memories, facts, profiles and prompts, as they are asked for and told of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memwell.longterm.audit import Action
from memwell.longterm.base import Version
from memwell.longterm.facts import Clash, Edge, Fact
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import Evidence
from memwell.longterm.weights import Curve
from memwell.messages import Message
from memwell.runtime.context.assembly import Shares
from memwell.runtime.context.choosing import Passage, Receipt
from memwell.runtime.wire.codec import Answer, Request

Where = dict[str, Any]
"""A filter over the metadata, as in ``{"city": "Paris"}``; ``memwell.filters`` says the whole grammar."""


class Remember(Request, frozen=True):
    """Something to remember: a text, a message, or several; ``owner`` is the space of a memory that was shared for writing.

    ``time`` is when it was said, ``ttl`` after how many seconds it is to vanish.
    """

    content: str | dict[str, Any] | list[str | dict[str, Any]]
    speaker: str | None = None
    session: str | None = None
    time: datetime | None = None
    kind: str | None = None
    metadata: dict[str, Any] | None = None
    importance: float | None = None
    ttl: float | None = None
    pinned: bool = False
    trust: str | None = None
    evidence: tuple[Evidence, ...] = ()
    id: str | None = None
    owner: list[str] | None = None


class WeightsGiven(Request, frozen=True):
    """Other weights for one recall: curves by the name of their signal."""

    curves: dict[str, Curve]
    decay: float = 0.001
    note: str = ""


class Recall(Request, frozen=True):
    """A question to the memory. ``language`` is that of the reasons (``en`` or ``zh``); ``owner`` is the space of a memory
    that was shared.
    """

    query: str
    limit: int = 10
    kinds: list[str] | None = None
    speaker: str | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    where: Where | None = None
    as_of: datetime | None = None
    now: datetime | None = None
    weights: WeightsGiven | None = None
    diversity: float = 0.0
    language: str = "en"
    owner: list[str] | None = None


class Recollection(Answer, frozen=True):
    """The memories that answer, best first, and for each the reasons in words."""

    hits: list[Recalled]
    why: list[str]


class ListMemories(Request, frozen=True):
    """Which page of the memories; ``where`` is a filter as JSON, ``owner`` the space of a memory that was shared."""

    limit: int = 50
    cursor: str | None = None
    newest_first: bool = True
    forgotten: bool = False
    where: str | None = None
    owner: list[str] | None = None


class OwnerOnly(Request, frozen=True):
    """Whose memory: the key's own, or that of a space that shared it."""

    owner: list[str] | None = None


class UpdateMemory(Request, frozen=True):
    """What to change of a memory. What is left out stays."""

    text: str | None = None
    metadata: dict[str, Any] | None = None
    time: datetime | None = None
    kind: str | None = None
    importance: float | None = None
    evidence: list[Evidence] | None = None
    trust: str | None = None
    reason: str = "updated"


class Pin(Request, frozen=True):
    """Whether a memory is never to be forgotten by a policy."""

    pinned: bool = True


class Feedback(Request, frozen=True):
    """Whether a memory was of use."""

    useful: bool


class Versions(Answer, frozen=True):
    """What a memory was before, oldest first."""

    versions: list[Version]


class Worth(Answer, frozen=True):
    """What a memory has shown to be worth, from 0 to 1."""

    worth: float


class Forget(Request, frozen=True):
    """Which memories to forget, and why. Each can be brought back until the retention time is over."""

    ids: list[str]
    reason: str = "forgotten"


class Ids(Answer, frozen=True):
    """The ids of memories."""

    ids: list[str]


class ForgetBy(Request, frozen=True):
    """A policy: memories that satisfy all that is given are forgotten; with ``dry_run`` it is only told which."""

    importance_below: float | None = None
    older_than_days: float | None = None
    unused: bool = False
    kinds: tuple[str, ...] = ()
    where: Where | None = None
    most: int | None = None
    dry_run: bool = False


class Erase(Request, frozen=True):
    """What to remove for good: memories by id, those that satisfy a filter, or ``everything``. Exactly one is given."""

    ids: list[str] | None = None
    where: Where | None = None
    everything: bool = False


class Compress(Request, frozen=True):
    """How alike memories must be to be merged."""

    threshold: float = 0.85
    where: Where | None = None
    dry_run: bool = False


class MergeMemories(Request, frozen=True):
    """Memories that say the same: which one stays, and which are merged into it."""

    kept: str
    others: list[str]


class Reflect(Request, frozen=True):
    """How many insights to make, and of what."""

    least: int = 3
    most: int = 10
    where: Where | None = None
    metadata: dict[str, Any] | None = None


class Memories(Answer, frozen=True):
    """Memories."""

    memories: list[Recalled]


class Similarities(Request, frozen=True):
    """Which memories to compare with a query."""

    query: str
    ids: list[str]


class Nearness(Answer, frozen=True):
    """How near memories are to a query in meaning, by their ids."""

    similarities: dict[str, float]


class AskContext(Request, frozen=True):
    """A question to put into a prompt of at most ``budget`` tokens.

    ``documents`` are passages to offer; with ``look_up`` so many are looked up in the documents as well.
    """

    query: str
    thread: str | None = None
    budget: int = 2000
    system: str | None = None
    profile: str | None = None
    documents: tuple[Passage, ...] = ()
    look_up: int = 0
    limit: int = 20
    language: str | None = None
    shares: Shares | None = None


class Prompt(Answer, frozen=True):
    """A prompt: its messages, what it takes, and the receipt of what went in; ``openai`` has the messages as Chat
    Completions takes them.
    """

    messages: list[Message]
    tokens: int
    budget: int
    receipt: Receipt
    openai: list[dict[str, Any]]


class ListReceipts(Request, frozen=True):
    """The newest receipts, or those of the prompts that a memory went into."""

    limit: int = 50
    memory: str | None = None


class ReceiptList(Answer, frozen=True):
    """Receipts, newest first."""

    receipts: list[Receipt]


class FactsAbout(Request, frozen=True):
    """Of whom or what, and when; ``known_at`` asks what was believed then."""

    subject: str
    relation: str | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None


class FactsHistory(Request, frozen=True):
    """Of whom or what: all that was ever believed."""

    subject: str
    relation: str | None = None


class ListFacts(Request, frozen=True):
    """Which page of all facts."""

    limit: int = 100
    cursor: str | None = None


class Conflicts(Request, frozen=True):
    """Of whom or what; of all without a name."""

    subject: str | None = None


class FactList(Answer, frozen=True):
    """Facts."""

    facts: list[Fact]


class Clashes(Answer, frozen=True):
    """Pairs of facts that cannot both be true."""

    clashes: list[Clash]


class WalkGraph(Request, frozen=True):
    """Where to begin, and how far to go."""

    start: str = "user"
    depth: int = 2
    as_of: datetime | None = None
    limit: int = 200


class Graph(Answer, frozen=True):
    """What is connected: facts as edges between names."""

    edges: list[Edge]


class ProfileOf(Request, frozen=True):
    """In which language a profile is told: ``en`` or ``zh``."""

    language: str = "en"


class Subjects(Answer, frozen=True):
    """Whom something is known of: names with how many facts, the most known first."""

    subjects: list[Subject]


class Subject(Answer, frozen=True):
    """A name, and how many facts there are of it."""

    name: str
    facts: int


class Mend(Request, frozen=True):
    """Steps of an audit's plan to carry out."""

    actions: list[Action]


__all__ = [
    "AskContext",
    "Clashes",
    "Compress",
    "Conflicts",
    "Erase",
    "FactList",
    "FactsAbout",
    "FactsHistory",
    "Feedback",
    "Forget",
    "ForgetBy",
    "Graph",
    "Ids",
    "ListFacts",
    "ListMemories",
    "ListReceipts",
    "Memories",
    "Mend",
    "MergeMemories",
    "Nearness",
    "OwnerOnly",
    "Pin",
    "ProfileOf",
    "Prompt",
    "Recall",
    "ReceiptList",
    "Recollection",
    "Reflect",
    "Remember",
    "Similarities",
    "Subject",
    "Subjects",
    "UpdateMemory",
    "Versions",
    "WalkGraph",
    "WeightsGiven",
    "Where",
    "Worth",
]

"""Conversations, as they are asked for and told of."""

from __future__ import annotations

from typing import Any

from memwell.longterm.remembering import Remembered
from memwell.messages import Message
from memwell.runtime.wire.codec import Answer, Request
from memwell.storage.protocols import Version
from memwell.windows import Round


class ListThreads(Request, frozen=True):
    """Which page of the conversations."""

    limit: int = 50
    cursor: str | None = None


class AnnotateThread(Request, frozen=True):
    """What to note of a conversation; metadata replaces what was noted before."""

    metadata: dict[str, Any] | None = None
    end_round: bool = False


class ListMessages(Request, frozen=True):
    """Which page of the messages."""

    limit: int = 100
    cursor: str | None = None
    newest_first: bool = False


class AddMessages(Request, frozen=True):
    """Messages to add at the end, all or none: in the shape of Chat Completions (``role``, ``content``), or memwell's own
    (``role``, ``parts``). With ``remember`` they are also remembered.
    """

    messages: list[dict[str, Any]]
    remember: bool = False


class Added(Answer, frozen=True):
    """The messages as they were stored, with their places."""

    messages: list[Message]
    remembered: Remembered | None = None


class EditMessage(Request, frozen=True):
    """What to put in a message's place: other words, or a whole message."""

    content: str | None = None
    message: dict[str, Any] | None = None


class SearchThread(Request, frozen=True):
    """What to look for in a conversation."""

    query: str
    limit: int = 10


class FoundMessage(Answer, frozen=True):
    """A message that was found, and how well it fits."""

    message: Message
    score: float


class FoundMessages(Answer, frozen=True):
    """Messages that were found, best first."""

    hits: list[FoundMessage]


class Window(Request, frozen=True):
    """What a model is to be given: at most so many tokens or rounds."""

    tokens: int | None = None
    rounds: int | None = None
    system: bool = True


class Messages(Answer, frozen=True):
    """Messages in order."""

    messages: list[Message]


class ListRounds(Request, frozen=True):
    """How many of the last rounds; all without a number."""

    last: int | None = None


class Rounds(Answer, frozen=True):
    """Rounds, oldest first."""

    rounds: list[Round]


class TrimThread(Request, frozen=True):
    """What to keep of a conversation: so many rounds, or what fits so many tokens."""

    rounds: int | None = None
    tokens: int | None = None


class MessageVersions(Answer, frozen=True):
    """What a message was before, oldest first."""

    versions: list[Version]


class Counted(Answer, frozen=True):
    """How many there were, or are."""

    count: int


__all__ = [
    "AddMessages",
    "Added",
    "AnnotateThread",
    "Counted",
    "EditMessage",
    "FoundMessage",
    "FoundMessages",
    "ListMessages",
    "ListRounds",
    "ListThreads",
    "MessageVersions",
    "Messages",
    "Rounds",
    "SearchThread",
    "TrimThread",
    "Window",
]

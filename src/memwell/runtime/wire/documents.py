"""Documents and media, as they are sent, asked for and told of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memwell.knowledge.documents import Document, Found
from memwell.longterm.media.items import MediaItem
from memwell.runtime.wire.codec import Answer, Request


class AddDocument(Request, frozen=True):
    """A text to take in as a document. One with the same ``id`` is replaced as a whole."""

    text: str
    id: str | None = None
    source: str = ""
    title: str = ""
    metadata: dict[str, Any] | None = None


class UploadDocument(Request, frozen=True):
    """What is known of a file whose bytes are the body. ``metadata`` is JSON. The same ``name`` again replaces it."""

    name: str
    title: str = ""
    metadata: str | None = None


class FetchDocument(Request, frozen=True):
    """A page on the web to take in. Addresses of private networks are refused."""

    url: str
    metadata: dict[str, Any] | None = None


class ListDocuments(Request, frozen=True):
    """Which documents; ``where`` is a filter as JSON."""

    where: str | None = None


class Documents(Answer, frozen=True):
    """Documents, by their ids."""

    documents: list[Document]


class DocumentText(Answer, frozen=True):
    """The text of a document as it was read."""

    text: str


class LookUp(Request, frozen=True):
    """A question to the documents. ``language`` is that of the reasons."""

    query: str
    limit: int = 5
    where: dict[str, Any] | None = None
    documents: list[str] | None = None
    expand: bool = True
    language: str = "en"


class Passages(Answer, frozen=True):
    """The passages that answer, best first, with the reasons and their places in words."""

    passages: list[Found]
    why: list[str]
    places: list[str]


class Ask(Request, frozen=True):
    """A question to be answered from the documents; ``history`` is the conversation so far, in the shape of messages."""

    question: str
    limit: int = 5
    language: str | None = None
    history: tuple[dict[str, Any], ...] = ()


class AddMedium(Request, frozen=True):
    """What is known of a picture, sound or film whose bytes are the body; without a body it is only described.

    ``features`` are words; ``vector`` a list of numbers as JSON; ``metadata`` is JSON.
    """

    kind: str | None = None
    description: str = ""
    transcript: str = ""
    features: list[str] | None = None
    vector: str | None = None
    sentiment: str | None = None
    session: str | None = None
    speaker: str | None = None
    name: str = ""
    metadata: str | None = None
    time: datetime | None = None


class ListMedia(Request, frozen=True):
    """Which media."""

    session: str | None = None
    kinds: list[str] | None = None
    limit: int = 50


class RecallMedia(Request, frozen=True):
    """A question to the media."""

    query: str
    kinds: list[str] | None = None
    session: str | None = None
    limit: int = 5
    language: str = "en"


class LikeMedia(Request, frozen=True):
    """A vector of features to find the like of."""

    vector: list[float]
    kinds: list[str] | None = None
    session: str | None = None
    limit: int = 5


class EraseMedia(Request, frozen=True):
    """Which media to remove for good."""

    ids: list[str]


class Media(Answer, frozen=True):
    """Media; those that were found best first, with the reasons in words."""

    media: list[MediaItem]
    why: tuple[str, ...] = ()


__all__ = [
    "AddDocument",
    "AddMedium",
    "Ask",
    "DocumentText",
    "Documents",
    "EraseMedia",
    "FetchDocument",
    "LikeMedia",
    "ListDocuments",
    "ListMedia",
    "LookUp",
    "Media",
    "Passages",
    "RecallMedia",
    "UploadDocument",
]

"""The values of knowledge: what a file says, what is known of it, and where a passage stands in it.

A position is always a place in the text that was read out of a document: ``text[start:end]`` is the passage itself.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.ranking import in_words as reasons_in_words
from memwell.longterm.weights import Signal
from memwell.values import check_count, check_text, shown

BLOCK_KINDS = ("heading", "paragraph", "list", "code", "table", "row")
"""What a block of a document can be. A ``row`` is a record of a table that stands by itself, as in a CSV file."""

_PHRASES = {
    "en": {"page": "{source}, p. {page}", "pages": "{source}, pp. {page}–{last}", "unnamed": "a text"},
    "zh": {"page": "{source}，第 {page} 页", "pages": "{source}，第 {page}–{last} 页", "unnamed": "文本"},
}
_STEP = " › "
_LAST_PART = re.compile(r"[^/\\]+(?=[/\\]*$)")


class Block(msgspec.Struct, frozen=True, gc=False):
    """A piece of a document that belongs together: ``text[start:end]``. ``level`` is that of a heading, from 1.

    ``page`` is the page it begins on, from 1, in documents that have pages.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    page: int | None = None


class Parsed(msgspec.Struct, frozen=True):
    """The text of a document and its structure. Blocks follow one another, do not overlap, and cover all but blanks."""

    text: str
    blocks: tuple[Block, ...]
    title: str = ""
    media_type: str = "text/plain"
    pages: int | None = None
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()


class Document(msgspec.Struct, frozen=True):
    """What is known of a document that was taken in. ``digest`` is the SHA-256 of its bytes, ``size`` their number."""

    id: str
    source: str
    title: str
    media_type: str
    digest: str
    size: int
    characters: int
    pages: int | None
    chunks: int
    time: datetime
    modified: datetime | None = None
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()


class Citation(msgspec.Struct, frozen=True):
    """Where a passage stands: the document, the span in its text, the pages and the headings above it."""

    document: str
    source: str
    title: str
    start: int
    end: int
    page: int | None = None
    last_page: int | None = None
    headings: tuple[str, ...] = ()

    def in_words(self, language: str = "en") -> str:
        """The place in one line, as in ``handbook.pdf, p. 12 › Leave``. Raises ``InvalidInput`` for another language."""
        phrases = _PHRASES[_language(language)]
        name = _file_name(self.source) or self.title or phrases["unnamed"]
        if self.page is not None:
            last = self.last_page if self.last_page is not None else self.page
            name = phrases["pages" if last > self.page else "page"].format(source=name, page=self.page, last=last)
        return _STEP.join((name, *self.headings))

    def __str__(self) -> str:
        return self.in_words()


class Found(msgspec.Struct, frozen=True):
    """A passage that was recalled. The shares of its signals add up to its score."""

    id: str
    text: str
    score: float
    citation: Citation
    signals: dict[str, Signal]
    metadata: dict[str, Any]
    asked: str
    """The query that found it."""
    flags: tuple[str, ...] = ()

    def why(self, most: int = 4, *, query: str = "", language: str = "en") -> str:
        """The reasons in one line for people, the weightiest first, as in ``same meaning (41 %); same words (33 %)``.

        Words are named as in ``query``, or else as in what was asked. Raises ``InvalidInput`` for another language.
        """
        return reasons_in_words(
            self.signals,
            text=self.text,
            speaker="",
            session="",
            query=check_text(query, "a query") or self.asked,
            language=language,
            most=check_count(most, "most"),
            asked=self.asked,
        )

    def __str__(self) -> str:
        return self.text


def _language(given: str) -> str:
    # As it is given on a machine: zh, zh-CN or zh_CN.
    if not isinstance(given, str) or re.split("[-_]", given, maxsplit=1)[0] not in _PHRASES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"citations are written in {' and '.join(_PHRASES)}, not in {shown(given)}")
    return given[:2]


def _file_name(source: str) -> str:
    """The last part of a path; an address stays whole, since its last part alone says little."""
    if "://" in source:
        return source
    found = _LAST_PART.search(source)
    return found[0] if found else ""

"""The values of knowledge: a parsed document with its blocks, its description, a passage and its citation.

A position is always one in the text read from a document: ``text[start:end]`` is the passage itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from memwell.errors import UnreadableDocument
from memwell.language.words import language_code
from memwell.longterm.ranking import why_found
from memwell.longterm.weights import Signal
from memwell.values import check_text

BLOCK_KINDS = ("heading", "paragraph", "list", "code", "table", "row")
"""The kinds of blocks. A ``row`` is a record of a CSV or JSON file."""

MOST_CHARACTERS = 10_000_000
"""The longest text of a document that is read: some twenty thick books."""

MOST_BLOCKS = 200_000
"""The most blocks of a document that is read."""

_PHRASES = {
    "en": {"page": "{source}, p. {page}", "pages": "{source}, pp. {page}–{last}", "unnamed": "a text"},
    "zh": {"page": "{source}，第 {page} 页", "pages": "{source}，第 {page}–{last} 页", "unnamed": "文本"},
}
_STEP = " › "
_LAST_PART = re.compile(r"[^/\\]+(?=[/\\]*$)")


class Block(msgspec.Struct, frozen=True, gc=False):
    """A paragraph, list, heading or the like: ``text[start:end]``. ``level`` is that of a heading, from 1.

    ``page`` is the page it begins on, from 1, in documents with pages.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    page: int | None = None


class Parsed(msgspec.Struct, frozen=True):
    """The text of a document and its structure. Blocks are in order, do not overlap, and cover all but white space."""

    text: str
    blocks: tuple[Block, ...]
    title: str = ""
    media_type: str = "text/plain"
    pages: int | None = None
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()


class Document(msgspec.Struct, frozen=True):
    """The description of a stored document. ``digest`` is the SHA-256 of its bytes, ``size`` their number."""

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
    """The place of a passage: the document, the span in its text, the pages and the headings above it."""

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
        phrases = _PHRASES[language_code(language, "citations")]
        name = _file_name(self.source) or self.title or phrases["unnamed"]
        if self.page is not None:
            last = self.last_page if self.last_page is not None else self.page
            name = phrases["pages" if last > self.page else "page"].format(source=name, page=self.page, last=last)
        return _STEP.join((name, *self.headings))

    def __str__(self) -> str:
        return self.in_words()


class Found(msgspec.Struct, frozen=True):
    """A recalled passage. The shares of its signals add up to its score."""

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
        """The reasons in one line, the strongest first, as in ``same meaning (41 %); same words (33 %)``.

        Words are named as in ``query``, or else as in what was asked. Raises ``InvalidInput`` for another language.
        """
        return why_found(self, most, check_text(query, "a query") or self.asked, language)

    def __str__(self) -> str:
        return self.text


def described(
    parsed: Parsed,
    data: bytes,
    *,
    id: str,  # noqa: A002 - the word that documents have
    source: str,
    title: str,
    time: datetime,
    metadata: dict[str, Any],
    modified: datetime | None = None,
) -> Document:
    """The description of a parsed document, before it is cut into chunks. ``data`` are the bytes it was read from."""
    digest, size, characters = sha256(data).hexdigest(), len(data), len(parsed.text)
    about = (parsed.media_type, digest, size, characters, parsed.pages, 0)
    return Document(id, source, title, *about, time, modified, metadata, parsed.warnings)


def _file_name(source: str) -> str:
    """The last part of a path; an address stays whole, since its last part alone says little."""
    if "://" in source:
        return source
    found = _LAST_PART.search(source)
    return found[0] if found else ""


# Building a document

_HAN_AND_KANA = (
    "\u2e80-\u303f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
)
_LINE_END_IN_CJK = re.compile(rf"(?<=[{_HAN_AND_KANA}])[^\S\n]*\n\s*(?=[{_HAN_AND_KANA}])")
_IS_CJK = re.compile(f"[{_HAN_AND_KANA}]").match
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which no store keeps."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _LONE_SURROGATE.sub("\ufffd", text)
    return text


def one_line(text: str) -> str:
    """The text in one line: white space becomes one space, and none between Chinese or Japanese lines."""
    if not text.isascii():
        text = _LINE_END_IN_CJK.sub("", text)
    return " ".join(text.split())


def is_cjk(character: str) -> bool:
    """Whether a character is Chinese or Japanese, or one of their punctuation marks."""
    return _IS_CJK(character) is not None


class Builder:
    """Builds a document block by block, so that every span is right by construction."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def add(self, kind: str, text: str, *, level: int = 0, page: int | None = None, apart: str = "\n\n") -> None:
        """Append a block; ``apart`` separates it from the one before. A blank text adds nothing."""
        # Blanks at the beginning of code are its indentation.
        text = storable(text).rstrip().lstrip("\n") if kind == "code" else storable(text).strip()
        if not text or text.isspace():
            return
        if self._blocks:
            self._parts.append(apart)
            self._length += len(apart)
        self._parts.append(text)
        end = self._length + len(text)
        self._blocks.append(Block(kind, self._length, end, level, page))
        self._length = end

    def heading(self, text: str, level: int, *, page: int | None = None) -> None:
        """Append a heading, in one line."""
        self.add("heading", one_line(text), level=level, page=page)

    def rows(self, texts: Iterable[str]) -> None:
        """Append rows, each on its own line."""
        apart = "\n\n"
        for text in texts:
            self.add("row", text, apart=apart)
            apart = "\n"

    def parsed(
        self,
        media_type: str,
        *,
        title: str = "",
        pages: int | None = None,
        metadata: dict[str, Any] | None = None,
        warnings: Iterable[str] = (),
    ) -> Parsed:
        """The finished document. Raises ``UnreadableDocument`` when there is no text in it."""
        if not self._blocks:
            raise UnreadableDocument("there is no text in it", reason="no-text")
        text = "".join(self._parts)
        about = title_of(title) or self._first_heading(text)
        return Parsed(text, tuple(self._blocks), about, media_type, pages, metadata or {}, tuple(warnings))

    def _first_heading(self, text: str) -> str:
        # A heading far down is that of a chapter, not of the document.
        first = next((block for block in self._blocks[:3] if block.kind == "heading"), None)
        return text[first.start : first.end] if first else ""


def title_of(text: str) -> str:
    """A title in one line of at most 300 characters."""
    return one_line(storable(text))[:300]

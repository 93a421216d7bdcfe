"""A document put together block by block, so that every span is right by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Block, Parsed

_HAN_AND_KANA = (
    "\u2e80-\u303f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
)
_LINE_END_IN_CJK = re.compile(rf"(?<=[{_HAN_AND_KANA}])[^\S\n]*\n\s*(?=[{_HAN_AND_KANA}])")
_IS_CJK = re.compile(f"[{_HAN_AND_KANA}]").match
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """A text without what no store keeps: NUL and lone surrogates."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _LONE_SURROGATE.sub("\ufffd", text)
    return text


def one_line(text: str) -> str:
    """A text with its blanks made single spaces. Chinese and Japanese lines are joined without one."""
    if not text.isascii():
        text = _LINE_END_IN_CJK.sub("", text)
    return " ".join(text.split())


def is_cjk(character: str) -> bool:
    """Whether a character is Chinese or Japanese, or one of their marks: no space stands beside it."""
    return _IS_CJK(character) is not None


class Builder:
    """The text of a document so far, and its blocks."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0

    def __bool__(self) -> bool:
        return bool(self._blocks)

    @property
    def length(self) -> int:
        """How many characters there are so far."""
        return self._length

    def add(self, kind: str, text: str, *, level: int = 0, page: int | None = None, apart: str = "\n\n") -> None:
        """Append a block; ``apart`` stands between it and the one before. A blank text adds nothing."""
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
        """Append rows, each in a line of its own."""
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
    """A title as it can be kept: in one line, and not longer than a line."""
    return one_line(storable(text))[:300]

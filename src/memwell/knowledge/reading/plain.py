"""Plain text and source code: a block is what stands between blank lines, exactly as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Block, Parsed
from memwell.knowledge.reading.building import title_of

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?=\n)\s*")
_INDENTED_ON = re.compile(r"[^\S\n]*\Z")
_ITEM = re.compile(
    r"(?:[-*+•·‣◦]|\(?\d{1,3}[.)、）]|[（(][一二三四五六七八九十]{1,3}[)）])[^\S\n]+\S|[一二三四五六七八九十]{1,3}、\S"
)
_NUMBER = r"(?:[0-9]{1,3}|[IVXLC]{1,7}|[〇零一二三四五六七八九十百千]{1,6})"
_LONGEST_HEADING = 60
_CHAPTERS = (
    (re.compile(rf"(?:part|book)\s+{_NUMBER}\b|第{_NUMBER}[篇部卷编]", re.IGNORECASE), 1),
    (re.compile(rf"(?:chapter|appendix)\s+{_NUMBER}\b|第{_NUMBER}[章回]", re.IGNORECASE), 2),
    (re.compile(rf"section\s+{_NUMBER}\b|第{_NUMBER}节", re.IGNORECASE), 3),
)


def read_plain(text: str, *, media_type: str = "text/plain", warnings: tuple[str, ...] = ()) -> Parsed:
    """The text as it is, cut at its blank lines. Lines that number a chapter and stand alone are headings.

    Raises ``UnreadableDocument`` when it is blank.
    """
    is_code = media_type != "text/plain"
    blocks: list[Block] = []
    for start, end in _spans(text, keep_indent=is_code):
        kind, level = ("code", 0) if is_code else _kind_of(text, start, end)
        blocks.append(Block(kind, start, end, level))
    if not blocks:
        raise UnreadableDocument("there is no text in it", reason="no-text")
    first = next((block for block in blocks[:1] if block.kind == "heading"), None)
    title = title_of(text[first.start : first.end]) if first else ""
    return Parsed(text, tuple(blocks), title, media_type, warnings=warnings)


def _spans(text: str, *, keep_indent: bool) -> Iterator[tuple[int, int]]:
    """From the first to the last character of each block that is not blank."""
    start = 0
    length = len(text)
    while start < length:
        gap = _BLANK_LINES.search(text, start)
        end, after = gap.span() if gap else (length, length)
        yield from _trimmed(text, start, end, keep_indent)
        start = after


def _trimmed(text: str, start: int, end: int, keep_indent: bool) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    kept = piece.rstrip()
    if not kept:
        return
    blanks = len(kept) - len(kept.lstrip())
    if keep_indent:
        # The gap before has eaten the indentation of the first line; it belongs to the code.
        indent = _INDENTED_ON.search(text[max(0, start - 200) : start + blanks])
        yield (start + blanks - len(indent[0]) if indent else start + blanks), start + len(kept)
    else:
        yield start + blanks, start + len(kept)


def _kind_of(text: str, start: int, end: int) -> tuple[str, int]:
    if end - start <= _LONGEST_HEADING and "\n" not in (line := text[start:end]):
        for pattern, level in _CHAPTERS:
            # A heading is no sentence.
            if pattern.match(line) and line[-1] not in ".。,，;；":
                return "heading", level
    return ("list" if _ITEM.match(text, start, end) else "paragraph"), 0


__all__ = ["read_plain"]

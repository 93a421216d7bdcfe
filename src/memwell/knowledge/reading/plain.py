"""Plain text, source code and Markdown, read into blocks exactly as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Block, Parsed
from memwell.knowledge.reading.building import Builder, title_of

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


# Markdown: headings, lists, code, tables and paragraphs, line by line.


_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_TABLE_RULE = re.compile(r"[-:|\s]*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_LINE = re.compile(r"([\w.-]{1,60})[ \t]*[:=][ \t]*(.*)$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t]+\"[^\"]*\")?\)")
_LONGEST_FRONT = 20_000
_LONGEST_MARKDOWN_HEADING = 2_000


def read_markdown(text: str, *, warnings: tuple[str, ...] = ()) -> Parsed:
    """A Markdown text with its structure. Raises ``UnreadableDocument`` when there is nothing in it."""
    metadata, start = _front_matter(text)
    title = metadata.pop("title", "")
    lines = _without_comments(text[start:]).split("\n")
    reader = _Reader(lines)
    reader.run()
    return reader.builder.parsed("text/markdown", title=str(title), metadata=metadata, warnings=warnings)


def _without_comments(text: str) -> str:
    # Inside code a comment is code.
    if "<!--" not in text or "```" in text or "~~~" in text:
        return text
    kept: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        kept.append(text[at:begin])
        at = end + 3
    return "".join((*kept, text[at:]))


def _front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The simple ``key: value`` lines between the two rules at the top, and where the text begins.

    Lists of one line and of indented items are read; anything deeper is left out, since it is about the page's making.
    """
    found = _FRONT.match(text, 0, _LONGEST_FRONT)
    if not found:
        return {}, 0
    values: dict[str, Any] = {}
    key = ""
    for line in found[2].split("\n"):
        if line.lstrip().startswith("- ") and isinstance(values.get(key), list | None) and key:
            values[key] = [*(values.get(key) or []), _unquoted(line.lstrip()[2:])]
        elif pair := _FRONT_LINE.match(line):
            key = pair[1].casefold()
            values[key] = _front_value(pair[2].strip())
    if not values and found[2].strip():
        return {}, 0
    return {name: value for name, value in values.items() if value is not None}, found.end()


def _front_value(value: str) -> str | list[str] | None:
    if not value or value in ("|", ">"):
        return None
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part) for part in value[1:-1].split(",") if part.strip()]
    return _unquoted(value)


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _without_closing(text: str) -> str:
    """A heading without the number signs that may end it."""
    text = text.strip()
    kept = text.rstrip("#")
    return kept if not kept or kept[-1].isspace() else text


def _heading_text(text: str) -> str:
    """A heading without the signs for links, emphasis and code."""
    if len(text) > _LONGEST_MARKDOWN_HEADING:
        return text
    text = _LINK.sub(r"\1", text)
    return re.sub(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", text)


class _Reader:
    """Takes a block at a time off the front of the lines; ``at`` is the next line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.builder = Builder()

    def run(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip():
                self.at += 1
            elif fence := _FENCE.match(line):
                self._code(fence[1])
            elif heading := _ATX.match(line):
                self.builder.heading(_heading_text(_without_closing(line[heading.end() :])), len(heading[1]))
                self.at += 1
            elif _RULE.match(line):
                self.at += 1
            elif _LIST_ITEM.match(line):
                self._list()
            elif self._is_table():
                self._take("table", self._table_end())
            elif line.startswith(("    ", "\t")):
                self._take("code", self._indented_end())
            else:
                self._paragraph()

    def _take(self, kind: str, end: int) -> None:
        self.builder.add(kind, "\n".join(self.lines[self.at : end]))
        self.at = end

    def _code(self, fence: str) -> None:
        closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        end = self.at + 1
        while end < len(self.lines) and not closing.match(self.lines[end]):
            end += 1
        self._take("code", min(end + 1, len(self.lines)))

    def _indented_end(self) -> int:
        end = self.at
        while end < len(self.lines) and (self.lines[end].startswith(("    ", "\t")) or not self.lines[end].strip()):
            end += 1
        return end

    def _list(self) -> None:
        """A list goes on over indented lines and lazy ones; a blank line ends it unless an item or indentation follows."""
        end = self.at + 1
        while end < len(self.lines):
            line = self.lines[end]
            if not line.strip():
                after = next((one for one in self.lines[end + 1 : end + 3] if one.strip()), "")
                if not (_LIST_ITEM.match(after) or after.startswith(("  ", "\t"))):
                    break
            elif (_ATX.match(line) or _FENCE.match(line)) and not line.startswith("  "):
                break
            end += 1
        self._take("list", end)

    def _is_table(self) -> bool:
        after = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return "|" in self.lines[self.at] and "-" in after and _TABLE_RULE.match(after) is not None

    def _table_end(self) -> int:
        end = self.at + 2
        while end < len(self.lines) and "|" in self.lines[end]:
            end += 1
        return end

    def _paragraph(self) -> None:
        end = self.at + 1
        while end < len(self.lines) and (line := self.lines[end]).strip():
            if setext := _SETEXT.match(line):
                self.builder.heading(
                    _heading_text("\n".join(self.lines[self.at : end])), 1 if setext[1][0] == "=" else 2
                )
                self.at = end + 1
                return
            if _ATX.match(line) or _FENCE.match(line) or _LIST_ITEM.match(line):
                break
            end += 1
        self._take("paragraph", end)

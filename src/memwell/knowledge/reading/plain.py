"""Readers of plain text, source code and Markdown: their blocks are spans of the text as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Block, Builder, Parsed, title_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

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
    """The span of each block, from its first to its last character that is not blank."""
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
        # The gap before includes the indentation of the first line, which belongs to the code.
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


# Markdown


_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_LINE = re.compile(r"([\w.-]{1,60})[ \t]*[:=][ \t]*(.*)$")
_LONGEST_FRONT = 20_000
_LONGEST_MARKDOWN_HEADING = 2_000
_KINDS = {"bullet_list_open": "list", "ordered_list_open": "list", "fence": "code", "code_block": "code",
          "table_open": "table", "paragraph_open": "paragraph", "blockquote_open": "paragraph"}  # fmt: skip


def read_markdown(text: str, *, warnings: tuple[str, ...] = ()) -> Parsed:
    """A Markdown text with its structure. Raises ``UnreadableDocument`` when there is nothing in it."""
    metadata, start = _front_matter(text)
    title = metadata.pop("title", "")
    text = _without_comments(text[start:])
    parser, lines, builder = _parser(), text.split("\n"), Builder()
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        if token.type == "heading_open":
            builder.heading(_heading_text(parser, tokens[at + 1].content), int(token.tag[1:]))
        elif token.type in _KINDS:
            builder.add(_KINDS[token.type], "\n".join(lines[slice(*token.map)]))
    return builder.parsed("text/markdown", title=str(title), metadata=metadata, warnings=warnings)


@cache
def _parser() -> MarkdownIt:
    """CommonMark and tables. Links and emphasis are left as written, so one pass over the lines is enough."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - takes 30 ms to load

    parser = MarkdownIt("commonmark").enable("table").disable(["html_block", "reference"])
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


def _heading_text(parser: MarkdownIt, text: str) -> str:
    """A heading without the signs for links, emphasis and code."""
    if len(text) > _LONGEST_MARKDOWN_HEADING:
        return text
    tokens: list[Token] = []
    parser.inline.parse(text, parser, {}, tokens)
    return "".join("\n" if one.type.endswith("break") else one.content for one in tokens if one.type != "html_inline")


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

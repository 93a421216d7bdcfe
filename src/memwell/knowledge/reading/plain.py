"""Readers of text: plain, source code and Markdown as spans of what is written, tables and JSON as a line for every row."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Block, Builder, Parsed, one_line, title_of
from memwell.values import shown

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


def read_plain(text: str, *, media_type: str = "text/plain") -> Parsed:
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
    return Parsed(text, tuple(blocks), title, media_type)


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


def read_markdown(text: str) -> Parsed:
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
    return builder.parsed("text/markdown", title=str(title), metadata=metadata)


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


# Readers of CSV, TSV, JSON and JSON Lines: every row becomes a line that can be understood alone.

_DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 32_768
_FEW_ROWS = 30
_NUMERIC = re.compile(r"[-+]?[\d.,\s%€$£¥]*\d[\d.,\s%€$£¥]*$|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LONGEST_NAME = 80
_SEP_LINE = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)


def read_table(text: str, *, media_type: str = "text/csv") -> Parsed:
    """A block for every row that is not empty, with the names of the columns where the first row has them.

    Raises ``UnreadableDocument`` when there is no row, or a field is longer than a table's may be.
    """
    text, delimiter = _delimiter(text, media_type)
    try:
        rows, more = _rows(text, delimiter), ()
    except csv.Error:
        # A quotation mark that never closes makes the rest of the file one field.
        rows, more = (
            _rows_as_they_stand(text, delimiter),
            ("its quotation marks do not close; they were read as they stand",),
        )
    names, records = _header(rows)
    builder = Builder()
    builder.rows("; ".join(_fields(names, row)) for row in records)
    if not builder and names:
        builder.rows(["; ".join(names)])
    metadata = {"columns": list(names)} if names else {}
    return builder.parsed(media_type, metadata=metadata, warnings=(*more, *_uneven(names, records)))


def _rows(text: str, delimiter: str, *, quoted: bool = True) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return [row for row in csv.reader(lines, delimiter=delimiter, quoting=quoting) if any(map(str.strip, row))]


def _rows_as_they_stand(text: str, delimiter: str) -> list[list[str]]:
    try:
        return _rows(text, delimiter, quoted=False)
    except csv.Error as error:
        raise UnreadableDocument(f"it is no table: {error}") from None


def _delimiter(text: str, media_type: str) -> tuple[str, str]:
    """The text of the table, and the delimiter that gives its first rows the same number of fields."""
    if said := _SEP_LINE.match(text):
        return text[said.end() :], said[1]
    if media_type == "text/tab-separated-values":
        return text, "\t"
    head = text[:_LOOKED_AT]
    # The last line of the head may be cut.
    head = head[: head.rfind("\n") + 1] or head
    return text, max(_DELIMITERS, key=lambda sign: _evenness(head, sign))


def _evenness(head: str, delimiter: str) -> tuple[float, int]:
    try:
        rows = _rows(head, delimiter)[:_FEW_ROWS]
    except csv.Error:
        return 0.0, 0
    widths = Counter(len(row) for row in rows)
    if not widths:
        return 0.0, 0
    width, times = widths.most_common(1)[0]
    return (times / widths.total(), width) if width > 1 else (0.0, 0)


def _header(rows: Sequence[list[str]]) -> tuple[tuple[str, ...], Sequence[list[str]]]:
    """The names of the columns and the rows below them; no names when the first row is like the others."""
    if not rows:
        return (), rows
    names = tuple(one_line(cell) for cell in rows[0])
    if not _can_be_names(names) or (len(rows) > 1 and _alike(rows[0], rows[1 : 1 + _FEW_ROWS])):
        return (), rows
    return names, rows[1:]


def _can_be_names(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    unlike_names = any(len(cell) > _LONGEST_NAME or _NUMERIC.match(cell) for cell in filled)
    return len(filled) > 1 and len(set(filled)) == len(filled) and not unlike_names and len(filled) * 2 >= len(cells)


def _alike(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether values of the first row occur again below it: then it is no header."""
    return any(cell.strip() and cell == row[place] for row in others for place, cell in enumerate(first[: len(row)]))


def _fields(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    for place, cell in enumerate(row):
        value = cell.strip()
        if not value:
            continue
        if "\n" in value or "\t" in value:
            value = one_line(value)
        name = names[place] if place < len(names) else ""
        yield f"{name}: {value}" if name else value


def _uneven(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    long = [row for row in rows if len(row) > len(names)] if names else []
    return (f"{len(long)} rows have more fields than there are columns, as {shown(long[0])}",) if long else ()


# JSON: ``address city: Lyon``, one row an object


_DEEPEST = 200
_TOO_DEEP = f"its JSON is nested too deep: at most {_DEEPEST} levels of lists and objects are read"
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])(?=[a-z]|$)")
_MOST_BAD_LINES = 0.5


def read_json(text: str) -> Parsed:
    """The leaves of a JSON text with their paths in words; each object of an array is a row.

    Raises ``UnreadableDocument`` for what is no JSON, or nested too deep.
    """
    value = _decoded(text)
    builder = Builder()
    if isinstance(value, dict):
        _object(builder, cast("dict[str, Any]", value))
    else:
        builder.rows(_json_rows(value))
    title = cast("dict[str, Any]", value).get("title") if isinstance(value, dict) else ""
    return builder.parsed("application/json", title=title if isinstance(title, str) else "")


def read_json_lines(text: str) -> Parsed:
    """A row for every line that is JSON; the others are counted in a warning.

    Raises ``UnreadableDocument`` when most lines are none.
    """
    rows: list[str] = []
    bad: list[int] = []
    lines = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        lines += 1
        try:
            rows.extend(_json_rows([_decoded(line)]))
        except UnreadableDocument:
            bad.append(number)
    if len(bad) > lines * _MOST_BAD_LINES:
        raise UnreadableDocument(f"line {bad[0]} is no JSON, and {len(bad) - 1} others are none either")
    warnings = [f"{len(bad)} lines are no JSON and were left out, the first is line {bad[0]}"] if bad else []
    builder = Builder()
    builder.rows(rows)
    return builder.parsed("application/jsonl", warnings=warnings)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise UnreadableDocument(_TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    try:
        # Slower, but it accepts NaN.
        return json.loads(text, parse_int=_whole_number)
    except RecursionError:
        raise UnreadableDocument(_TOO_DEEP) from None
    except ValueError as error:
        raise UnreadableDocument(f"it is no JSON: {error}") from None


def _whole_number(digits: str) -> int | str:
    # Python refuses numbers of thousands of digits; as text they do no harm.
    return int(digits) if len(digits) < 400 else digits


def _object(builder: Builder, value: dict[str, Any]) -> None:
    """The plain values in one row; every part with objects under its name as a heading."""
    parts = {key: part for key, part in value.items() if _holds_objects(part)}
    builder.rows(_json_rows({key: part for key, part in value.items() if key not in parts}))
    for key, part in parts.items():
        rows = list(_json_rows(part))
        if rows:
            builder.heading(_json_in_words(key), 1)
            builder.rows(rows)


def _holds_objects(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in cast("list[Any]", value))
    return isinstance(value, dict) and len(cast("dict[str, Any]", value)) > 0


def _json_rows(value: Any) -> Iterator[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    for item in items:
        row = "; ".join(_leaves(item))
        if row.strip():
            yield row


def _leaves(value: Any) -> Iterator[str]:
    """``path: value`` for every leaf, in order, without recursion."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        if len(path) > _DEEPEST:
            raise UnreadableDocument(_TOO_DEEP)
        if isinstance(item, dict):
            inner = cast("dict[str, Any]", item)
            stack.extend(((*path, _json_in_words(key)), part) for key, part in reversed(inner.items()))
        elif isinstance(item, list):
            listed = cast("list[Any]", item)
            if any(isinstance(part, dict | list) for part in listed):
                # An array adds to the depth too, though it has no name.
                stack.extend(((*path, ""), part) for part in reversed(listed))
            elif listed:
                yield _leaf(path, ", ".join(map(_text, listed)))
        elif item is not None and item != "":
            yield _leaf(path, _text(item))


def _leaf(path: tuple[str, ...], text: str) -> str:
    name = " ".join(filter(None, path))
    return f"{name}: {text}" if name else text


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _json_in_words(key: str) -> str:
    return _CAMEL.sub(lambda found: f" {found[1].lower()}", key.replace("_", " ")).strip()

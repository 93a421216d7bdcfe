"""The sentences of a passage that answer a question, each at its exact place in its document.

A sentence that only asks, or that leaves open what the question wants, is joined by those that stand beside it in the same
section: the answer of a ticket stands below its question, and a name is often followed by its number. A list is read with
the line that opens it, and a row of a table with the names of its columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from memwell.knowledge.chunking import Chunking, chunks, heading_words, plain
from memwell.knowledge.documents import Block, Parsed
from memwell.language.sentences import sentences
from memwell.tokens import default_counter

MOST_TOKENS = 80
"""What is quoted from one place takes at most this many tokens."""

_MOST_LINES = 3
_LEAST_ITEMS = 2
_PIECE = Chunking(tokens=60, overlap=0, least=0)
"""How a sentence is cut that is too long to be quoted."""
_AFTER = 800
"""So many characters behind a passage are looked at too: what answers may stand beyond the cut."""
_LONGEST_HEADING = 60
_MOST_HEADING_WORDS = 6

_MARKED = re.compile(r"(#{1,6})\s+\S[^\n]*\Z")
_ENDS = re.compile(r"[.!?。！？；;:：…][\"'”’」』）)\]*_]*\Z")
_OPENS = re.compile(r"[:：][*_]*\Z")
_ASKS = re.compile(r"[?？][\"'”’」』）)\]*_]*\Z|\A[*_]*(?:Q|Question|FAQ|问|问题|提问)[*_]*\s*\d*\s*[*_]*[:：]", re.I)
_ANSWERS = re.compile(r"[*_]*(?:Answer|答|答复|回答|答案)[*_]*\s*\d*\s*[*_]*[:：][*_]*\s*(?=\S)", re.I)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*$", re.M)
_CELLS = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(
    r"(?:[-*+•·‣◦]\s|\(?\d{1,2}[.)]\s|[(（]?\d{1,2}[、）．]|[①-⑳]|[a-z][.)]\s|第[一二三四五六七八九十]+步|[一二三四五六七八九十]+、|"
    r"(?:步骤|step)\s*[\d一二三四五六七八九十]+)\s*\S",
    re.I,
)


class Line(NamedTuple):
    """A sentence, or what stands for one: a row, an item, a line of code."""

    start: int
    end: int
    text: str
    kind: str
    block: int
    section: int
    headings: tuple[str, ...]
    page: int | None
    inside: bool
    """False for what stands behind the passage."""
    columns: tuple[str, ...] = ()
    """For a row of a table what its columns are called."""

    @property
    def said(self) -> str:
        """It as it is quoted: a row of a table with the names of its columns."""
        if not self.columns:
            return self.text
        colon, mark = ("：", "；") if "\u4e00" <= max("".join(self.columns)) <= "\u9fff" else (": ", "; ")
        named = zip_longest(self.columns, _cells(self.text), fillvalue="")
        return mark.join(f"{name}{colon}{cell}" if name else cell for name, cell in named if cell)

    @property
    def asks(self) -> bool:
        """Whether it is a question, which answers nothing."""
        return _ASKS.search(self.text) is not None


def lines_of(parsed: Parsed, start: int, end: int) -> list[Line]:
    """The lines of ``parsed.text[start:end]`` and some of those that follow in the same section; headings are none."""
    return list(_Reader(parsed, start, end).lines())


class _Reader:
    """Reads the lines of one passage."""

    def __init__(self, parsed: Parsed, start: int, end: int) -> None:
        self._parsed = parsed
        self._text = parsed.text
        self._start, self._end = start, end
        self._stop = min(len(parsed.text), end + _AFTER)
        self._stack: list[tuple[int, str]] = []
        self._section = 0

    def lines(self) -> Iterator[Line]:
        blocks = self._parsed.blocks
        first = bisect_right(blocks, self._start, key=lambda block: block.end)
        self._stack = _above(self._parsed, first)
        page = None
        for number in range(first, len(blocks)):
            block = blocks[number]
            page = block.page if block.page is not None else page
            if block.start >= self._stop or (block.kind == "heading" and block.start >= self._end):
                return
            if block.kind == "heading":
                self._enter(block.level, self._text[block.start : block.end])
            else:
                yield from self._of_block(block, number, page)

    def _enter(self, level: int, heading: str) -> None:
        self._section += 1
        self._stack = [one for one in self._stack if one[0] < max(level, 1)]
        self._stack.append((max(level, 1), heading_words(heading)))

    def _of_block(self, block: Block, number: int, page: int | None) -> Iterator[Line]:
        stop = min(block.end, self._stop)
        table = _table(self._text, block)
        for start, end in _spans(self._text, block.kind, max(block.start, self._start), stop):
            inside = start < self._end
            if end == stop < block.end and not inside:
                # Cut off in its middle.
                return
            if table and table.start <= start < table.rows:
                # The names of the columns are said with every row.
                continue
            marked = _MARKED.match(self._text, start, end) if block.kind == "paragraph" else None
            if marked and inside:
                # A text that was given as it is has its headings among its lines.
                self._enter(len(marked[1]), marked[0])
            elif marked:
                self._stop = start
                return
            else:
                headings = tuple(name for _, name in self._stack if name)
                label = _ANSWERS.match(self._text, start, end)
                start = label.end() if label else start
                text = self._text[start:end]
                columns = table.columns if table and start >= table.rows and "|" in text else ()
                yield Line(start, end, text, block.kind, number, self._section, headings, page, inside, columns)


class _Table(NamedTuple):
    """A table in Markdown: where its head begins, where its rows do, and what its columns are called."""

    start: int
    rows: int
    columns: tuple[str, ...]


def _table(text: str, block: Block) -> _Table | None:
    if block.kind not in ("table", "paragraph"):
        return None
    rule = next((one for one in _RULE.finditer(text, block.start, block.end) if "|" in one[0]), None)
    start = text.rfind("\n", block.start, max(rule.start() - 1, block.start)) + 1 if rule else 0
    start = max(start, block.start)
    if rule is None or "|" not in text[start : rule.start()]:
        return None
    return _Table(start, rule.end(), tuple(_cells(text[start : rule.start()])))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(row.strip().removeprefix("|").removesuffix("|"))]


def _above(parsed: Parsed, first: int) -> list[tuple[int, str]]:
    """The headings that the block stands under, outermost first."""
    found: list[tuple[int, str]] = []
    for block in reversed(parsed.blocks[:first]):
        level = max(block.level, 1)
        if block.kind == "heading" and (not found or level < found[-1][0]):
            found.append((level, heading_words(parsed.text[block.start : block.end])))
            if level == 1:
                break
    return found[::-1]


def _spans(text: str, kind: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What of a block may be quoted by itself, nothing longer than what one place may take."""
    for first, last in _whole(text, kind, start, end):
        piece = text[first:last]
        if default_counter().count(piece) <= MOST_TOKENS:
            yield first, last
        else:
            for part in chunks(plain(piece), _PIECE):
                yield first + part.start, first + part.end


def _whole(text: str, kind: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if kind in ("code", "row") and default_counter().count(piece) <= MOST_TOKENS:
        lead = len(piece) - len(piece.lstrip())
        yield start + lead, start + len(piece.rstrip())
    elif kind in ("code", "table"):
        yield from (line.span() for line in _LINE.finditer(text, start, end))
    else:
        yield from ((start + one.start, start + one.end) for one in sentences(piece))


def announces(lines: Sequence[Line], at: int) -> bool:
    """Whether a line only says what follows it is about: it ends with a colon, or stands alone like a heading."""
    line = lines[at]
    if at + 1 >= len(lines) or lines[at + 1].section != line.section:
        return False
    if _OPENS.search(line.text):
        return True
    following = lines[at + 1]
    alone = (
        line.kind == "paragraph" and following.block != line.block and (at == 0 or lines[at - 1].block != line.block)
    )
    short = len(line.text) <= _LONGEST_HEADING and len(line.text.split()) <= _MOST_HEADING_WORDS
    if not (alone and short) or _ENDS.search(line.text) or any(char.isdigit() for char in line.text):
        return False
    # Among lines that have no full stop either it is one of them, and says something itself.
    return following.kind != "paragraph" or _ENDS.search(following.text) is not None


class Run(NamedTuple):
    """Lines in a row, ``lines[first:last + 1]``."""

    first: int
    last: int

    def span(self, lines: Sequence[Line]) -> tuple[int, int]:
        """Its place in the document."""
        return lines[self.first].start, lines[self.last].end

    def fits(self, text: str, lines: Sequence[Line]) -> bool:
        """Whether it is no more than may be quoted from one place, and all of one section."""
        if self.first < 0 or self.last >= len(lines) or self.last - self.first >= _MOST_LINES:
            return False
        if lines[self.first].section != lines[self.last].section:
            return False
        start, end = self.span(lines)
        return end - start <= MOST_TOKENS * 20 and default_counter().count(text[start:end]) <= MOST_TOKENS

    def pieces(self, text: str, lines: Sequence[Line]) -> list[str]:
        """It as it is said: sentences of a paragraph together, what stands on another line apart."""
        said: list[str] = []
        for at in range(self.first, self.last + 1):
            line = lines[at]
            words = line.said
            gap = text[lines[at - 1].end : line.start] if at > self.first else "\n"
            if "\n" in gap:
                said.append(words)
            else:
                said[-1] += gap + words
        return said


class Listing(NamedTuple):
    """A list, and whether the first line of it is the one that opens it."""

    run: Run
    opened: bool


def listing(text: str, lines: Sequence[Line], at: int) -> Listing | None:
    """The list that a line opens or stands in, with the line that opens it; not one of a single item, or of questions."""
    section = lines[at].section
    first = at if _listed(text, lines, at) else at + 1
    if first > at and not _OPENS.search(lines[at].text):
        return None
    while first > 0 and lines[first - 1].section == section and _listed(text, lines, first - 1):
        first -= 1
    last = first - 1
    while last + 1 < len(lines) and lines[last + 1].section == section and _listed(text, lines, last + 1):
        last += 1
    items = [one for one in range(first, last + 1) if _is_item(text, lines, one)]
    if len(items) < _LEAST_ITEMS or any(line.asks for line in lines[first : last + 1]):
        return None
    opened = first > 0 and lines[first - 1].section == section and bool(_OPENS.search(lines[first - 1].text))
    return Listing(Run(first - 1 if opened else first, last), opened)


def _is_item(text: str, lines: Sequence[Line], at: int) -> bool:
    return _ITEM.match(lines[at].text) is not None and (at == 0 or _on_its_own_line(text, lines, at))


def _on_its_own_line(text: str, lines: Sequence[Line], at: int) -> bool:
    return at == 0 or "\n" in text[lines[at - 1].end : lines[at].start]


def _listed(text: str, lines: Sequence[Line], at: int) -> bool:
    """Whether a line is of a list: it begins an item, or goes on with one."""
    while at > 0 and not _is_item(text, lines, at):
        # An item goes on behind its first sentence, and on lines that are set in.
        set_in = text[lines[at].start - 2 : lines[at].start].isspace() and not text[: lines[at].start].endswith("\n")
        if _on_its_own_line(text, lines, at) and not set_in:
            return False
        at -= 1
    return _is_item(text, lines, at)


__all__ = ["Line", "Listing", "MOST_TOKENS", "Run", "announces", "lines_of", "listing"]

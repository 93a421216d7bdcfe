"""Chunking: cuts a document into pieces small enough to embed and to cite.

A chunk keeps to its section. Sentences, lines of code and rows of tables stay whole where they fit, and the last sentences
of a chunk begin the next one. Headings with hardly any text of their own are joined with what follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.knowledge.documents import Block, Parsed
from memwell.language.sentences import sentences
from memwell.tokens import default_counter
from memwell.values import check_count, shown

Size: TypeAlias = Callable[[str], int]

LENGTHS = ("tokens", "characters")
LEAST_TOKENS = 8
"""The smallest limit of a chunk: one character can take several tokens."""

_CHARACTERS_A_TOKEN = 8
_LATE = 0.8  # A piece of a long sentence ends at its last gap, if that is in the last fifth
_FULL = 0.7  # A chunk that is this full ends before a paragraph that does not fit
_GAP = re.compile(r"[\s,，、;；:：)）\]】]+")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?![ \t\r]*\n))*")
_HEADING_MARKS = re.compile(r"\A#{1,6}\s+|\s+#*\Z|\s*\n[=-]+\Z")
_LONGEST_HEADING = 200


class Chunking(msgspec.Struct, frozen=True):
    """How documents are cut: at most ``tokens`` a chunk, up to ``overlap`` of them repeated from the one before.

    A section of fewer than ``least`` is joined with its neighbour. With ``length="characters"`` all three count characters.
    Raises ``InvalidInput`` when they contradict each other.
    """

    tokens: int = 256
    overlap: int = 32
    least: int = 32
    length: str = "tokens"

    def __post_init__(self) -> None:
        check_count(self.tokens, "tokens", least=LEAST_TOKENS)
        check_count(self.overlap, "overlap")
        check_count(self.least, "least")
        if self.overlap >= self.tokens:
            raise InvalidInput(f"overlap must be smaller than tokens ({self.tokens}), not {shown(self.overlap)}")
        if self.length not in LENGTHS:
            raise InvalidInput(f"length must be one of {', '.join(LENGTHS)}, not {shown(self.length)}")

    @property
    def size(self) -> Size:
        """The function that measures a text."""
        return len if self.length == "characters" else default_counter().count


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of a document: ``text[start:end]``, the headings above it, outermost first, and its pages."""

    start: int
    end: int
    headings: tuple[str, ...]
    page: int | None
    last_page: int | None
    ordinal: int


class _Unit(NamedTuple):
    """What is not cut: a sentence, a line, a row, a block of code."""

    start: int
    end: int
    size: int
    page: int | None
    block: int
    """The number of its block, so that a chunk may end with a paragraph."""


class _Section(NamedTuple):
    path: tuple[str, ...]
    level: int
    units: list[_Unit]

    @property
    def size(self) -> int:
        return sum(unit.size for unit in self.units)


def plain(text: str) -> Parsed:
    """A text whose only structure is its paragraphs."""
    blocks = tuple(Block("paragraph", *_trimmed(text, *found.span())) for found in _PARAGRAPH.finditer(text))
    return Parsed(text, blocks)


def chunks(parsed: Parsed, chunking: Chunking | None = None) -> list[Chunk]:
    """The chunks of a document, in order. Together they hold every character but white space, and each fits the limit."""
    chunking = chunking or Chunking()
    found: list[Chunk] = []
    for section in _joined(_sections(parsed, chunking), chunking):
        for units in _packed(parsed.text, section.units, chunking):
            pages = [unit.page for unit in units if unit.page is not None]
            page, last = (min(pages), max(pages)) if pages else (None, None)
            found.append(Chunk(units[0].start, units[-1].end, section.path, page, last, len(found)))
    return found


# Sections


def _sections(parsed: Parsed, chunking: Chunking) -> Iterator[_Section]:
    """The sections of a document: a heading and what follows it up to the next."""
    stack: list[tuple[int, str]] = []
    units: list[_Unit] = []
    for number, block in enumerate(_whole(parsed)):
        if block.kind == "heading":
            if units:
                yield _section(stack, units)
            units = []
            level = max(block.level, 1)
            stack = [one for one in stack if one[0] < level]
            stack.append((level, heading_words(parsed.text[block.start : block.end])))
        for start, end, size in spans(parsed.text, block, chunking):
            units.append(_Unit(start, end, size, block.page, number))
    if units:
        yield _section(stack, units)


def _section(stack: Sequence[tuple[int, str]], units: list[_Unit]) -> _Section:
    return _Section(tuple(name for _, name in stack if name), stack[-1][0] if stack else 0, units)


def heading_words(text: str) -> str:
    """The words of a heading in one line, without the marks of Markdown."""
    return " ".join(_HEADING_MARKS.sub("", text.strip()).split())[:_LONGEST_HEADING]


def _whole(parsed: Parsed) -> Iterator[Block]:
    """The blocks, and any text between them."""
    at, page = 0, None
    for block in parsed.blocks:
        yield from _between(parsed.text, at, block.start, page)
        start, end = _trimmed(parsed.text, max(block.start, at), block.end)
        page = block.page if block.page is not None else page
        if start < end:
            yield Block(block.kind, start, end, block.level, page)
        at = max(at, block.end)
    yield from _between(parsed.text, at, len(parsed.text), page)


def _between(text: str, start: int, end: int, page: int | None) -> Iterator[Block]:
    start, end = _trimmed(text, start, end)
    if start < end:
        yield Block("paragraph", start, end, 0, page)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space around it."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _joined(sections: Iterable[_Section], chunking: Chunking) -> list[_Section]:
    """Sections with small ones joined to the one below, or to a neighbour of their level that has room."""
    joined: list[_Section] = []
    sizes: list[int] = []
    for section in sections:
        size = section.size
        if joined and _belong(joined[-1], sizes[-1], section, size, chunking):
            joined[-1], sizes[-1] = _together(joined[-1], section), sizes[-1] + size
        else:
            joined.append(section)
            sizes.append(size)
    return joined


def _belong(one: _Section, size: int, other: _Section, other_size: int, chunking: Chunking) -> bool:
    if other.level > one.level and size < chunking.least:
        return True
    tiny = min(size, other_size) < chunking.least
    return tiny and other.level >= one.level and size + other_size <= chunking.tokens


def _together(one: _Section, other: _Section) -> _Section:
    """Two sections as one, under the headings of the lower one if it lies in the other, else under those of both."""
    if other.path[: len(one.path)] == one.path and one.size < other.size:
        return _Section(other.path, one.level, one.units + other.units)
    shared = 0
    for mine, yours in zip(one.path, other.path, strict=False):
        if mine != yours:
            break
        shared += 1
    return _Section(one.path[:shared], one.level, one.units + other.units)


# Units


def spans(text: str, block: Block, chunking: Chunking) -> Iterator[tuple[int, int, int]]:
    """The spans of a block that are not cut, and their sizes: rows and code that fit, lines, sentences.

    One that is too long is cut at gaps between words where there are any.
    """
    measure = chunking.size
    for start, end in _uncut(text, block, chunking, measure):
        size = measure(text[start:end])
        if size <= chunking.tokens:
            yield start, end, size
            continue
        for piece_start, piece_end in _pieces(text, start, end, chunking):
            yield piece_start, piece_end, measure(text[piece_start:piece_end])


def _uncut(text: str, block: Block, chunking: Chunking, measure: Size) -> Iterator[tuple[int, int]]:
    """The spans of a block that stay whole: a heading, row or code that fits; else its lines or sentences."""
    piece = text[block.start : block.end]
    if block.kind in ("heading", "row", "code") and measure(piece) <= chunking.tokens:
        yield _trimmed(text, block.start, block.end)
    elif block.kind in ("code", "table"):
        for line in _LINE.finditer(text, block.start, block.end):
            yield _trimmed(text, *line.span())
    else:
        for sentence in sentences(piece):
            yield block.start + sentence.start, block.start + sentence.end


def _pieces(text: str, start: int, end: int, chunking: Chunking) -> Iterator[tuple[int, int]]:
    """The pieces of a span that is too long."""
    while start < end:
        stop = start + len(_fitting(text, start, end, chunking))
        if stop < end:
            stop = _last_gap(text, start, stop)
        trimmed = _trimmed(text, start, stop)
        while chunking.size(text[slice(*trimmed)]) > chunking.tokens:
            # Fewer characters can take more tokens than the same with what followed them.
            stop = trimmed[1] - 1
            trimmed = _trimmed(text, start, stop)
        if trimmed[0] < trimmed[1]:
            yield trimmed
        start = stop


def _fitting(text: str, start: int, end: int, chunking: Chunking) -> str:
    if chunking.length == "characters":
        return text[start : min(end, start + chunking.tokens)]
    # Only the part that may fit is counted: a megabyte without a gap would be counted again for every piece.
    piece = text[start : min(end, start + _CHARACTERS_A_TOKEN * chunking.tokens)]
    return default_counter().truncate(piece, chunking.tokens)


def _last_gap(text: str, start: int, stop: int) -> int:
    least = start + int(_LATE * (stop - start))
    gaps = [found.end() for found in _GAP.finditer(text, least, stop)]
    return gaps[-1] if gaps and gaps[-1] > start else stop


# Packing


def _packed(text: str, units: Sequence[_Unit], chunking: Chunking) -> Iterator[Sequence[_Unit]]:
    """Chunks of about the same size; each after the first begins with the end of the one before."""
    limit = _even(sum(unit.size for unit in units), chunking)
    blocks = _block_sizes(units)
    at, carried = 0, 0
    while at < len(units):
        stop = _filled(units, at - carried, at, limit, blocks)
        first = at - carried
        while chunking.size(text[units[first].start : units[stop - 1].end]) > chunking.tokens:
            # The gaps between units count too: drop repeated units first, then the last ones.
            first, stop = (first + 1, stop) if first < at else (first, stop - 1)
        yield units[first:stop]
        carried = _repeated(units, first, stop, chunking.overlap) if stop < len(units) else 0
        at = stop


def _even(total: int, chunking: Chunking) -> int:
    """A limit with which the last chunk is about as large as the others."""
    if total <= chunking.tokens:
        return chunking.tokens
    count = -(-(total - chunking.overlap) // (chunking.tokens - chunking.overlap))
    return min(chunking.tokens, max(chunking.least, -(-total // count) + chunking.overlap + chunking.least // 2))


def _block_sizes(units: Iterable[_Unit]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for unit in units:
        sizes[unit.block] = sizes.get(unit.block, 0) + unit.size
    return sizes


def _filled(units: Sequence[_Unit], first: int, at: int, limit: int, blocks: dict[int, int]) -> int:
    """Where the chunk ends that begins with the unit ``first``; the units before ``at`` are repeated."""
    used = sum(unit.size for unit in units[first : at + 1])
    stop = at + 1
    while stop < len(units) and used + units[stop].size <= limit:
        begins = units[stop].block != units[stop - 1].block
        if begins and used >= _FULL * limit and used + blocks[units[stop].block] > limit:
            break
        used += units[stop].size
        stop += 1
    return stop


def _repeated(units: Sequence[_Unit], first: int, stop: int, overlap: int) -> int:
    """The number of last units of a chunk that begin the next one; never all."""
    used = count = 0
    while count < stop - first - 1 and used + units[stop - 1 - count].size <= overlap:
        used += units[stop - 1 - count].size
        count += 1
    return count

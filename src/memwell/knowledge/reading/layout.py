"""Lines on pages to paragraphs: what a page's layout has torn apart is joined again.

A line knows where it stands and how high its letters are; a paragraph ends where the gap widens, the letters change or an
item of a list begins. Headers and footers that run through the pages are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import dropwhile, pairwise
from statistics import median_low
from typing import NamedTuple

import msgspec

from memwell.knowledge.reading.building import is_cjk

HYPHEN = "\ufffe"
"""What a hyphen at the end of a line has become; the line end after it is gone."""

_ITEM = re.compile(r"(?:[•·‣◦▪●○■–*]|\(?\d{1,3}[.)、）]|\([a-z]\)|[（(][一二三四五六七八九十]{1,3}[)）])\s*\S")
_ENDS = re.compile(r"[.!?。！？…:：;；][\"'”’」』)）\]]*$")
_DIGITS = re.compile(r"\d{1,6}")
# Each word is looked at from its beginning only: a page without blanks is one long word.
_COMPOUND = re.compile(r"(?<![\w-])\w++(?:-\w++)++")
_TORN = re.compile(rf"(?<!\w)(\w*+)(?:{HYPHEN}|[-\u00ad]\n)(?=(\w*))")
_PAGE_NUMBER = re.compile(
    r"[-–—\s]*(?:page\s+)?(?:\d{1,5}|[ivxlc]{1,7})(?:\s*(?:/|of)\s*\d{1,5})?[-–—\s]*$"
    r"|[-–—\s]*第\s*\d{1,5}\s*页(?:[\s,，/]*共\s*\d{1,5}\s*页)?[-–—\s]*$",
    re.I,
)
_SAID_TO_BE_A_NUMBER = re.compile(
    r"[-–—\s]*(?:page\s+(\d{1,5})(?:\s*(?:/|of)\s*(\d{1,5}))?|第\s*(\d{1,5})\s*页(?:[\s,，/]*共\s*(\d{1,5})\s*页)?)"
    r"[-–—\s]*$",
    re.I,
)
_WIDER = 1.3
_OTHER_SIZE = 0.12
_TOUCHING = 0.6
_SHORT = 0.7
_SET_IN = 0.7
_LINES_AT_EDGE = 2
_ENOUGH_PAGES = 4
_MOST_FRONT_MATTER = 60
"""The number that is printed on a page and its place in the file differ by so many at most."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of text; ``top`` and ``bottom`` are the heights of its first and last character on the page, from below.

    They differ when hyphens have joined lines. ``size`` is how high its letters are, ``left`` where it begins.
    """

    text: str
    top: float = 0.0
    bottom: float = 0.0
    size: float = 0.0
    left: float = 0.0


class Paragraph(msgspec.Struct, frozen=True, gc=False):
    """A paragraph or a list, and how high on the page it begins."""

    text: str
    kind: str
    top: float


def without_running_lines(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without what stands at the top or the bottom of most of them, and without page numbers there."""
    numbered = [(page, _without_number(lines, page)) for page, lines in enumerate(pages, 1)]
    if len(pages) < _ENOUGH_PAGES:
        return [lines for _, lines in numbered]
    seen = Counter(sign for page, lines in numbered for sign in {_sign(line, page) for line in _edges(lines)})
    enough = max(_ENOUGH_PAGES, len(pages) * 0.5)
    running = {sign for sign, times in seen.items() if times >= enough}
    return [_stripped(lines, running, page) for page, lines in numbered]


def _without_number(lines: Sequence[Line], page: int) -> list[Line]:
    """A page without a first or last line such as ``Page 1 of 3``: it needs no other page to be told from text."""
    kept = list(lines)
    for place in (0, -1):
        if len(kept) > 1 and _is_said_number(kept[place].text, page):
            del kept[place]
    return kept


def _is_said_number(text: str, page: int) -> bool:
    found = _SAID_TO_BE_A_NUMBER.match(text)
    if found is None:
        return False
    number, total = int(found[1] or found[3]), int(found[2] or found[4] or 0)
    return number <= total if total else number == page


def _edges(lines: Sequence[Line]) -> Sequence[Line]:
    if len(lines) <= 2 * _LINES_AT_EDGE:
        # On a page of a few lines everything is at an edge: only the outermost can be a header or a footer.
        return [*lines[:1], *lines[-1:]] if len(lines) > 2 else ()
    return [*lines[:_LINES_AT_EDGE], *lines[-_LINES_AT_EDGE:]]


def _sign(line: Line, page: int) -> str:
    """What a line says wherever it stands: the number of the page counts as the same on every page, others do not."""

    def from_here(found: re.Match[str]) -> str:
        away = int(found[0]) - page
        return f"#{away}" if abs(away) <= _MOST_FRONT_MATTER else found[0]

    return _DIGITS.sub(from_here, line.text.strip().casefold())


def _stripped(lines: Sequence[Line], running: Container[str], page: int) -> list[Line]:
    """From the outside inwards, as far as there are such lines: what stands behind a line of text is text."""
    edges = {id(line) for line in _edges(lines)}

    def runs(line: Line) -> bool:
        return id(line) in edges and (_sign(line, page) in running or _PAGE_NUMBER.match(line.text) is not None)

    inner = list(dropwhile(runs, lines))
    return list(dropwhile(runs, reversed(inner)))[::-1]


def paragraphs(lines: Sequence[Line], compounds: Container[str] = ()) -> Iterator[Paragraph]:
    """The paragraphs of a page. ``compounds`` are words that are written with a hyphen elsewhere in the document."""
    usual = _usual(lines)
    gathered: list[Line] = []
    for line in lines:
        if gathered and _begins_another(gathered, line, usual):
            yield _paragraph(gathered, compounds)
            gathered = []
        gathered.append(line)
    if gathered:
        yield _paragraph(gathered, compounds)


class _Usual(NamedTuple):
    """How the lines of a page stand: the gap between two, the left edge, and how long the longest is."""

    gap: float
    left: float
    length: int


def _usual(lines: Sequence[Line]) -> _Usual:
    size = median_low([line.size for line in lines]) if lines else 0.0
    gaps = [above.bottom - below.top for above, below in pairwise(lines)]
    # Lines that nearly touch are one line with something raised in it.
    gaps = sorted(gap for gap in gaps if gap > max(0.0, size * _TOUCHING))
    # A page of short paragraphs has more wide gaps than narrow ones, so not the one in the middle.
    gap = gaps[len(gaps) // 4] if gaps else size * 1.25
    lefts = Counter(round(line.left) for line in lines)
    left = min((place for place, times in lefts.items() if times * 4 >= len(lines)), default=0)
    return _Usual(min(gap, size * 2.5) if size else gap, left, max(map(_length, lines), default=0))


def _length(line: Line) -> int:
    return len(line.text)


def _begins_another(gathered: Sequence[Line], line: Line, usual: _Usual) -> bool:
    before = gathered[-1]
    distance = before.bottom - line.top
    wider = distance > usual.gap * _WIDER > 0.0
    if _ITEM.match(line.text):
        # A list stays one block; text before its first item is not part of it.
        return not _ITEM.match(gathered[0].text) or wider
    if before.size and line.size and abs(before.size - line.size) > _OTHER_SIZE * before.size:
        return True
    ended = _ENDS.search(before.text) is not None
    if distance < 0.0 < usual.gap:
        # Further up again: the next column. A sentence may go on there.
        return ended
    # A sentence that ends early in its line, or a first line that is set in.
    short = len(before.text) < usual.length * _SHORT or line.left - usual.left > line.size * _SET_IN > 0.0
    return wider or (ended and short and not _ITEM.match(gathered[0].text))


def _paragraph(lines: Sequence[Line], compounds: Container[str]) -> Paragraph:
    if _ITEM.match(lines[0].text):
        return Paragraph(_list(lines, compounds), "list", lines[0].top)
    return Paragraph(joined([line.text for line in lines], compounds), "paragraph", lines[0].top)


def _list(lines: Sequence[Line], compounds: Container[str]) -> str:
    items: list[list[str]] = []
    for line in lines:
        if _ITEM.match(line.text) or not items:
            items.append([])
        items[-1].append(line.text)
    return "\n".join(joined(item, compounds) for item in items)


def joined(lines: Sequence[str], compounds: Container[str] = ()) -> str:
    """Lines as one: without a space between Chinese characters, and with words whole that were hyphenated."""

    def mended(torn: re.Match[str]) -> str:
        left, right = torn[1], torn[2]
        whole = left[-1:].isalpha() and right[:1].islower() and f"{left}-{right}".casefold() not in compounds
        return left if whole else f"{left}-"

    text = _TORN.sub(mended, "\n".join(line.strip() for line in lines))
    if "\n" not in text:
        return text
    parts = [part for part in text.split("\n") if part]
    whole = parts[:1]
    for before, part in pairwise(parts):
        whole.append(part if is_cjk(before[-1]) and is_cjk(part[0]) else f" {part}")
    return "".join(whole)


def compounds_in(texts: Sequence[str]) -> frozenset[str]:
    """The words with a hyphen inside a line."""
    return frozenset(word.casefold() for text in texts if "-" in text for word in _COMPOUND.findall(text))


def ends_a_sentence(text: str) -> bool:
    """Whether nothing is missing at the end of a text, as there is when a page ends within a sentence."""
    return _ENDS.search(text) is not None


__all__ = [
    "HYPHEN",
    "Line",
    "Paragraph",
    "compounds_in",
    "ends_a_sentence",
    "joined",
    "paragraphs",
    "without_running_lines",
]

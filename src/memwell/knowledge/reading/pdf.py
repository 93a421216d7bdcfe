"""PDF reader, by pdfium: the paragraphs of every page, with the outline as headings.

Large letters are not taken for headings: a wrong heading would be cited.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import dropwhile, pairwise
from statistics import median_low
from typing import Any, NamedTuple

import msgspec

from memwell.errors import MissingDependency, UnreadableDocument
from memwell.knowledge.documents import MOST_CHARACTERS, Builder, Parsed, is_cjk, one_line, title_of

# Lines of a page to paragraphs


HYPHEN = "\ufffe"
"""What pdfium makes of a hyphen at the end of a line; the line end after it is gone."""

_ITEM = re.compile(r"(?:[•·‣◦▪●○■–*]|\(?\d{1,3}[.)、）]|\([a-z]\)|[（(][一二三四五六七八九十]{1,3}[)）])\s*\S")
_ENDS = re.compile(r"[.!?。！？…:：;；][\"'”’」』)）\]]*$")
_DIGITS = re.compile(r"\d{1,6}")
# Each word is matched from its beginning only: a page without blanks is one long word.
_COMPOUND = re.compile(r"(?<![\w-])\w++(?:-\w++)++")
_TORN = re.compile(rf"(?<!\w)(\w*+)(?:{HYPHEN}|[-\u00ad]\n)(?=(\w*))")
_PAGE_NUMBER = re.compile(
    r"[-–—\s]*(?:page\s+)?(?:\d{1,5}|[ivxlc]{1,7})(?:\s*(?:/|of)\s*\d{1,5})?[-–—\s]*$"
    r"|[-–—\s]*第\s*\d{1,5}\s*页(?:[\s,，/]*共\s*\d{1,5}\s*页)?[-–—\s]*$",
    re.I,
)
_WIDER = 1.3
_OTHER_SIZE = 0.12
_TOUCHING = 0.6
_SHORT = 0.7
_SET_IN = 0.7
_LINES_AT_EDGE = 2
_ENOUGH_PAGES = 4
_MOST_FRONT_MATTER = 60  # The largest difference between a printed page number and its place in the file


class PdfLine(msgspec.Struct, frozen=True, gc=False):
    """A line of text; ``top`` and ``bottom`` are the heights of its first and last character on the page, from below.

    They differ when hyphens have joined lines. ``size`` is the height of its letters, ``left`` where it begins.
    """

    text: str
    top: float = 0.0
    bottom: float = 0.0
    size: float = 0.0
    left: float = 0.0


class Paragraph(msgspec.Struct, frozen=True, gc=False):
    """A paragraph or a list, and its height on the page."""

    text: str
    kind: str
    top: float


def without_running_lines(pages: Sequence[Sequence[PdfLine]]) -> list[list[PdfLine]]:
    """The pages without the headers, footers and page numbers that most of them have."""
    numbered = list(enumerate(pages, 1))
    if len(pages) < _ENOUGH_PAGES:
        return [list(lines) for lines in pages]
    seen = Counter(sign for page, lines in numbered for sign in {_sign(line, page) for line in _edges(lines)})
    enough = max(_ENOUGH_PAGES, len(pages) * 0.5)
    running = {sign for sign, times in seen.items() if times >= enough}
    return [_stripped(lines, running, page) for page, lines in numbered]


def _edges(lines: Sequence[PdfLine]) -> Sequence[PdfLine]:
    if len(lines) <= 2 * _LINES_AT_EDGE:
        # On a page of a few lines only the outermost can be a header or a footer.
        return [*lines[:1], *lines[-1:]] if len(lines) > 2 else ()
    return [*lines[:_LINES_AT_EDGE], *lines[-_LINES_AT_EDGE:]]


def _sign(line: PdfLine, page: int) -> str:
    """The text of a line with the number of its page replaced, so that it is the same on every page."""

    def from_here(found: re.Match[str]) -> str:
        away = int(found[0]) - page
        return f"#{away}" if abs(away) <= _MOST_FRONT_MATTER else found[0]

    return _DIGITS.sub(from_here, line.text.strip().casefold())


def _stripped(lines: Sequence[PdfLine], running: Container[str], page: int) -> list[PdfLine]:
    """A page without running lines, from the outside inwards up to the first line of text."""
    edges = {id(line) for line in _edges(lines)}

    def runs(line: PdfLine) -> bool:
        return id(line) in edges and (_sign(line, page) in running or _PAGE_NUMBER.match(line.text) is not None)

    inner = list(dropwhile(runs, lines))
    return list(dropwhile(runs, reversed(inner)))[::-1]


def paragraphs(lines: Sequence[PdfLine], compounds: Container[str] = ()) -> Iterator[Paragraph]:
    """The paragraphs of a page. ``compounds`` are words with a hyphen elsewhere in the document."""
    usual = _usual(lines)
    gathered: list[PdfLine] = []
    for line in lines:
        if gathered and _begins_another(gathered, line, usual):
            yield _paragraph(gathered, compounds)
            gathered = []
        gathered.append(line)
    if gathered:
        yield _paragraph(gathered, compounds)


class _Usual(NamedTuple):
    """The usual gap between lines of a page, their left edge, and the length of the longest."""

    gap: float
    left: float
    length: int


def _usual(lines: Sequence[PdfLine]) -> _Usual:
    size = median_low([line.size for line in lines]) if lines else 0.0
    gaps = [above.bottom - below.top for above, below in pairwise(lines)]
    # Lines that nearly touch are one line with something raised in it.
    gaps = sorted(gap for gap in gaps if gap > max(0.0, size * _TOUCHING))
    # A page of short paragraphs has more wide gaps than narrow ones, so the median would be wrong.
    gap = gaps[len(gaps) // 4] if gaps else size * 1.25
    lefts = Counter(round(line.left) for line in lines)
    left = min((place for place, times in lefts.items() if times * 4 >= len(lines)), default=0)
    return _Usual(min(gap, size * 2.5) if size else gap, left, max((len(line.text) for line in lines), default=0))


def _begins_another(gathered: Sequence[PdfLine], line: PdfLine, usual: _Usual) -> bool:
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
        # Further up again: the next column, where a sentence may go on.
        return ended
    # A sentence that ends early in its line, or an indented first line.
    short = len(before.text) < usual.length * _SHORT or line.left - usual.left > line.size * _SET_IN > 0.0
    return wider or (ended and short and not _ITEM.match(gathered[0].text))


def _paragraph(lines: Sequence[PdfLine], compounds: Container[str]) -> Paragraph:
    if _ITEM.match(lines[0].text):
        return Paragraph(_list(lines, compounds), "list", lines[0].top)
    return Paragraph(joined([line.text for line in lines], compounds), "paragraph", lines[0].top)


def _list(lines: Sequence[PdfLine], compounds: Container[str]) -> str:
    items: list[list[str]] = []
    for line in lines:
        if _ITEM.match(line.text) or not items:
            items.append([])
        items[-1].append(line.text)
    return "\n".join(joined(item, compounds) for item in items)


def joined(lines: Sequence[str], compounds: Container[str] = ()) -> str:
    """Lines joined into one: without a space between Chinese characters, and without the hyphens of line ends."""

    def joined_word(torn: re.Match[str]) -> str:
        left, right = torn[1], torn[2]
        whole = left[-1:].isalpha() and right[:1].islower() and f"{left}-{right}".casefold() not in compounds
        return left if whole else f"{left}-"

    text = _TORN.sub(joined_word, "\n".join(line.strip() for line in lines))
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


MOST_PAGES = 20_000
_MOST_BOOKMARKS = 20_000
_LOCK = threading.Lock()  # pdfium keeps state for the whole process: only one thread may be in it

_NUMBERING = re.compile(
    r"^(?:\d{1,3}(?:\.\d{1,3})*\.?|[ivxlc]{1,6}\.|第[〇零一二三四五六七八九十百0-9]{1,5}[章节篇部条])\s*"
)
_NO_TITLE = re.compile(
    r"untitled|microsoft word - |.*\.(?:docx?|indd|tex|dvi|qxd|xlsx?|pptx?|pdf|ps|eps|fm|rtf|odt)$", re.IGNORECASE
)
_ABOUT = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
_MOST_NAMED = 10


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """An entry of the outline: its level from 1, its page from 0, and its height on the page if given."""

    title: str
    level: int
    page: int
    height: float | None = None


class _Content(msgspec.Struct):
    pages: list[list[PdfLine]]
    bookmarks: list[Bookmark]
    about: dict[str, str]
    unread: list[int]


def read_pdf(data: bytes) -> Parsed:
    """The text of a PDF, each block with its page. Raises ``UnreadableDocument`` when it is damaged or protected, has no
    text or too much, and ``MissingDependency`` without pypdfium2."""
    content = _extracted(data)
    pages = without_running_lines(content.pages)
    compounds = compounds_in([line.text for lines in pages for line in lines])
    marks = _by_page(content.bookmarks)
    builder = Builder()
    broken_off = False
    for number, lines in enumerate(pages, 1):
        for piece in _with_headings(list(paragraphs(lines, compounds)), marks.get(number - 1, [])):
            if isinstance(piece, Bookmark):
                builder.heading(piece.title, piece.level, page=number)
                broken_off = False
                continue
            goes_on = broken_off and piece.kind == "paragraph" and not piece.text[0].isupper()
            builder.add(piece.kind, piece.text, page=number, apart="\n" if goes_on else "\n\n")
            # Only the last paragraph of a page can go on overleaf.
            broken_off = False
        broken_off = bool(lines) and _ENDS.search(lines[-1].text) is None
    if not builder:
        raise UnreadableDocument("its pages have no text; they may be scanned pictures", reason="no-text")
    title = content.about.get("Title", "")
    return builder.parsed(
        "application/pdf",
        # Many programs write the name of a file there.
        title="" if _NO_TITLE.match(title.strip()) else title,
        pages=len(pages),
        metadata={
            ours: title_of(content.about[theirs]) for theirs, ours in _ABOUT.items() if content.about.get(theirs)
        },
        warnings=_about_pages(content),
    )


def _about_pages(content: _Content) -> Iterator[str]:
    unread = set(content.unread)
    empty = [number for number, lines in enumerate(content.pages, 1) if not lines and number not in unread]
    if content.unread:
        yield f"pages that are damaged and could not be read: {_listed(content.unread)}"
    if empty:
        yield f"pages without text (scanned?): {_listed(empty)}"


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return ", ".join(map(str, numbers[:_MOST_NAMED])) + more


# Reading with pdfium


def _extracted(data: bytes) -> _Content:
    pdfium = _pdfium()
    with _LOCK:
        document = _opened(pdfium, data)
    try:
        with _LOCK:
            count = len(document)
            if count > MOST_PAGES:
                raise UnreadableDocument(f"it has {count} pages; at most {MOST_PAGES} are read", reason="too-large")
            content = _Content([], _outline(pdfium, document), _properties(document), [])
        _read_pages(pdfium, document, count, content)
    finally:
        with _LOCK:
            document.close()
    return content


def _pdfium() -> Any:
    try:
        # It loads a library of several megabytes.
        return import_module("pypdfium2")
    except ImportError:
        raise MissingDependency("PDF files are read with pypdfium2: pip install pypdfium2") from None


def _opened(pdfium: Any, data: bytes) -> Any:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD or "password" in str(error).casefold():
            raise UnreadableDocument("it is protected by a password", reason="encrypted") from None
        raise UnreadableDocument(f"it is a damaged PDF: {error}") from None


def _read_pages(pdfium: Any, document: Any, count: int, content: _Content) -> None:
    characters = 0
    for number in range(count):
        # The lock is released after each page, so that a long document does not hold up a short one.
        with _LOCK:
            try:
                lines = _lines_of(pdfium.raw, document, number)
            except pdfium.PdfiumError:
                content.unread.append(number + 1)
                lines = []
        characters += sum(len(line.text) for line in lines)
        if characters > MOST_CHARACTERS:
            raise UnreadableDocument(f"it has more than {MOST_CHARACTERS:,} characters", reason="too-large")
        content.pages.append(lines)


def _lines_of(raw: Any, document: Any, number: int) -> list[PdfLine]:
    with closing(document.get_page(number)) as page, closing(page.get_textpage()) as textpage:
        return list(_lines(raw, textpage, textpage.get_text_range()))


def _lines(raw: Any, textpage: Any, text: str) -> Iterator[PdfLine]:
    place = 0
    for piece in text.split("\r\n"):
        # pdfium counts in UTF-16.
        length = len(piece) if piece.isascii() else len(piece.encode("utf-16-le", "surrogatepass")) // 2
        kept = piece.replace("\x02", HYPHEN).strip()
        if kept:
            first = raw.FPDFText_GetCharIndexFromTextIndex(textpage, place + len(piece) - len(piece.lstrip()))
            last = raw.FPDFText_GetCharIndexFromTextIndex(textpage, place + max(0, length - 1))
            left, top = _origin(raw, textpage, first)
            yield PdfLine(kept, top, _origin(raw, textpage, last)[1], _height(raw, textpage, first), left)
        place += length + 2


def _origin(raw: Any, textpage: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, index, x, y)
    return x.value, y.value


def _height(raw: Any, textpage: Any, index: int) -> float:
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage, index, box)
    return abs(box.top - box.bottom)


def _properties(document: Any) -> dict[str, str]:
    try:
        return {key: one_line(value) for key, value in document.get_metadata_dict(skip_empty=True).items()}
    except UnicodeDecodeError:
        return {}


def _outline(pdfium: Any, document: Any) -> list[Bookmark]:
    found: list[Bookmark] = []
    try:
        for entry in document.get_toc(max_depth=8):
            if mark := _bookmark(entry):
                found.append(mark)
            if len(found) >= _MOST_BOOKMARKS:
                break
    except (pdfium.PdfiumError, UnicodeDecodeError):
        # A damaged outline is no reason to refuse the text.
        return found
    return found


def _bookmark(entry: Any) -> Bookmark | None:
    title = one_line(entry.get_title())
    target = entry.get_dest()
    page = target.get_index() if target else None
    if not title or page is None:
        return None
    mode, view = target.get_view()
    # XYZ: left, top, zoom.
    height = view[1] if mode == 1 and len(view) > 1 and view[1] else None
    return Bookmark(title, entry.level + 1, page, height)


# Headings


def _by_page(bookmarks: Sequence[Bookmark]) -> dict[int, list[Bookmark]]:
    found: dict[int, list[Bookmark]] = {}
    for mark in bookmarks:
        found.setdefault(mark.page, []).append(mark)
    return found


def _with_headings(page: Sequence[Paragraph], marks: Sequence[Bookmark]) -> Iterator[Paragraph | Bookmark]:
    """The paragraphs of a page with its headings in their places.

    A paragraph that is the title of a bookmark is that heading. Other bookmarks precede the text below the height they lead
    to, or the whole page.
    """
    after = 0
    for mark in marks:
        place, is_title = _place_of(mark, page, after)
        yield from page[after:place]
        yield mark
        after = place + is_title
    yield from page[after:]


def _place_of(mark: Bookmark, page: Sequence[Paragraph], after: int) -> tuple[int, bool]:
    """The paragraph that a heading precedes or is, and whether it is that heading."""
    title = _plain(mark.title)
    for place in range(after, len(page)):
        if title and title in (_plain(page[place].text), _plain(_NUMBERING.sub("", page[place].text))):
            return place, True
    if mark.height is None:
        return after, False
    below = (place for place in range(after, len(page)) if page[place].top <= mark.height)
    return next(below, len(page)), False


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())

"""HTML reader: the text that a visitor reads, without scripts, menus, footers, forms and hidden parts.

When nothing else is left, or a menu is never closed, the page is read again with all of it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Builder, Parsed, one_line

# Tags and texts in one linear pass. Our own: parsers that build a tree take minutes for a page nested 100,000 deep.


_TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>\x00]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>\"'<]{1,100})(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']*)))?")
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose content is no markup: only their own end tag ends it."""
_LONG_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")
_QUOTES = re.compile("[\"']")
_MOST_OF_A_TAG = 20_000


class HtmlTag(msgspec.Struct, frozen=True, gc=False):
    """A start or end tag. Its attributes are parsed when they are needed: most never are."""

    name: str
    end: bool = False
    source: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.source):
            found.setdefault(name.casefold(), unescaped(double or single or bare))
        return found


def unescaped(text: str) -> str:
    """The text with its character references resolved."""
    if "&" not in text:
        return text
    # Python's int() refuses references of thousands of digits.
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


def tags_and_texts(page: str) -> Iterator[HtmlTag | str]:
    """Tags and the texts between them, in order, without comments, declarations and scripts."""
    return _Tokens(page).run()


class _Tokens:
    """The position in a page, and the strings that do not occur any more."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.at = 0
        self._gone: set[str] = set()

    def run(self) -> Iterator[HtmlTag | str]:
        page, length = self.page, len(self.page)
        while self.at < length:
            opened = page.find("<", self.at)
            if opened != self.at:
                yield unescaped(page[self.at : opened if opened >= 0 else length])
                self.at = opened if opened >= 0 else length
            elif tag := _TAG_NAME.match(page, opened):
                yield from self._tag(tag[1].casefold(), tag.end(), end=page[opened + 1] == "/")
            elif page.startswith(("<!", "<?", "</"), opened):
                self._skip_declaration()
            else:
                yield "<"
                self.at += 1

    def _find(self, what: str, start: int) -> int:
        """``find`` that searches once for a string that does not occur any more."""
        if what in self._gone:
            return -1
        found = self.page.find(what, start)
        if found < 0:
            self._gone.add(what)
        return found

    def _skip_declaration(self) -> None:
        comment = self.page.startswith("<!--", self.at)
        end = self._find("-->" if comment else ">", self.at + 2)
        self.at = len(self.page) if end < 0 else end + (3 if comment else 1)

    def _tag(self, name: str, start: int, *, end: bool) -> Iterator[HtmlTag | str]:
        closed = self._closing(start)
        if closed < 0:
            # The page ends inside a tag.
            self.at = len(self.page)
            return
        source = self.page[start : min(closed, start + _MOST_OF_A_TAG)]
        self.at = closed + 1
        yield HtmlTag(name, end, source)
        if name in _RAW and not end:
            yield from self._raw(name)

    def _closing(self, start: int) -> int:
        """The ``>`` that ends a tag, outside quoted values."""
        closed = self._find(">", start)
        at = start
        while closed >= 0 and (quote := _QUOTES.search(self.page, at, closed)):
            after = self._find(quote[0], quote.end())
            if after < 0 or after - start > _MOST_OF_A_TAG:
                # A stray mark: the tag ends where it seems to.
                return closed
            at = after + 1
            if after > closed:
                closed = self._find(">", at)
        return closed

    def _raw(self, name: str) -> Iterator[HtmlTag | str]:
        ending = re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE).search(self.page, self.at)
        end = ending.start() if ending else len(self.page)
        if name in ("title", "textarea", "xmp"):
            yield unescaped(self.page[self.at : end])
        self.at = end


# Boilerplate: menus, banners, buttons, hidden elements. The names of classes decide nothing: they mislead.


ELEMENTS = frozenset({"nav", "footer", "aside", "form", "dialog", "menu", "button"})
"""Elements that are boilerplate by themselves."""

_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"})
_HIDING = re.compile(r"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse))\b", re.IGNORECASE)
# One search is faster than parsing the attributes of every element.
_MAY_HIDE = re.compile("hidden|display|visibility", re.IGNORECASE).search
_MAY_HAVE_ROLE = re.compile("role", re.IGNORECASE).search


def is_hidden(tag: HtmlTag) -> bool:
    """Whether an attribute or its own style hides an element."""
    if not _MAY_HIDE(tag.source):
        return False
    attributes = tag.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    return _HIDING.search(attributes.get("style", "")) is not None


def has_role(tag: HtmlTag) -> bool:
    """Whether the role of an element is that of a menu, a banner or the like."""
    return _MAY_HAVE_ROLE(tag.source) is not None and tag.attributes.get("role", "").strip().casefold() in _ROLES


_NEVER_SHOWN = frozenset(
    "script style noscript template svg math iframe object canvas audio video textarea select datalist noembed "
    "noframes".split()
)
_INLINE = frozenset(
    "a abbr b bdi bdo big button cite code em font i ins kbd mark q s small span strong sub sup u".split()
)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BREAKS = frozenset(
    "p div section article main header footer nav aside form address blockquote body html head center details summary "
    "figure figcaption fieldset legend dl dt dd ul ol li table thead tbody tfoot tr caption pre hr h1 h2 h3 h4 h5 h6 "
    "hgroup dialog menu title option".split()
)
_META = {
    "description": "description", "author": "author", "keywords": "keywords", "og:description": "description",
    "article:published_time": "published", "article:modified_time": "modified", "og:site_name": "site", "date": "published",
}  # fmt: skip
_DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE)
_XML_DECLARED = re.compile(rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w-]{2,40})", re.IGNORECASE)
_ENOUGH_IN_MAIN = 200
_LONG_CELL = 600
_DEEPEST_INDENT = 8


def declared_encoding(head: bytes) -> str | None:
    """The encoding that a page declares."""
    found = _DECLARED.search(head, 0, 4096) or _XML_DECLARED.search(head, 0, 4096)
    return found[1].decode("ascii", "replace") if found else None


def read_webpage(page: str) -> Parsed:
    """The text of a page with its headings, lists and tables. Raises ``UnreadableDocument`` when there is none."""
    reader = _read(page)
    builder = Builder()
    for piece in _of_the_page(reader):
        builder.add(piece.kind, piece.text, level=piece.level)
    if not builder and reader.has_scripts:
        raise UnreadableDocument("there is no text in it; a script would put it there", reason="no-text")
    title = reader.title or reader.metadata.pop("og:title", "")
    reader.metadata.pop("og:title", None)
    return builder.parsed("text/html", title=title, metadata=reader.metadata)


def _read(page: str) -> _Reader:
    reader = _Reader(page, whole=False)
    return _Reader(page, whole=True) if reader.unclosed or not reader.pieces else reader


def _of_the_page(reader: _Reader) -> list[_Piece]:
    """The pieces of this page, without those of its site."""
    inner = [piece for piece in reader.pieces if piece.place == "main"]
    if sum(len(piece.text) for piece in inner) >= _ENOUGH_IN_MAIN:
        return inner
    below = [piece for piece in reader.pieces if piece.place != "header"] if reader.has_main else []
    return below or reader.pieces


def _note_meta(tag: HtmlTag, metadata: dict[str, Any]) -> None:
    attributes = tag.attributes
    name = (attributes.get("name") or attributes.get("property") or "").casefold()
    value = one_line(attributes.get("content", ""))[:1000]
    if value and name == "og:title":
        metadata["og:title"] = value
    elif value and name in _META:
        metadata.setdefault(_META[name], value)


class _Piece(NamedTuple):
    """A block, and its place: in the ``main`` part or an article, in the ``header`` of the site, or elsewhere."""

    kind: str
    text: str
    level: int
    place: str


class _Reader:
    """Reads a page in one pass. It counts open elements instead of nesting, so any depth is safe."""

    def __init__(self, page: str, *, whole: bool) -> None:
        self.pieces: list[_Piece] = []
        self.title = ""
        self.metadata: dict[str, Any] = {}
        self.has_scripts = False
        self.has_main = False
        self._whole = whole
        self._text: list[str] = []
        self._heading = 0
        self._pre = 0
        self._main = 0
        self._header = 0
        self._in_title = False
        self._skipped: list[str] = []
        self._lists: list[int] = []
        self._lines: list[str] = []
        self._item: str = ""
        self._tables = 0
        self._rows: list[list[str]] = []
        self._in_cell = False
        for token in tags_and_texts(page):
            if isinstance(token, str):
                self._on_text(token)
            elif token.end:
                self._on_end(token.name)
            else:
                self._on_start(token)
        self.unclosed = any(name not in _NEVER_SHOWN for name in self._skipped)
        self._finish()

    # Input

    def _on_text(self, text: str) -> None:
        if self._in_title:
            self.title = self.title or one_line(text)
        elif not self._skipped:
            self._text.append(text)

    def _on_start(self, tag: HtmlTag) -> None:
        name = tag.name
        if self._skipped:
            # Elements of the name of the outermost are counted, so that an inner end tag does not end it.
            if name == self._skipped[0] and name not in _VOID:
                self._skipped.append(name)
            return
        if name == "script":
            self.has_scripts = True
        if self._is_left_out(tag):
            if name not in _INLINE:
                self._break()
            self._skipped.append(name)
        elif name == "meta":
            _note_meta(tag, self.metadata)
        elif name == "html":
            if language := tag.attributes.get("lang", "").strip():
                self.metadata["language"] = language
        elif name == "br":
            self._text.append("\n" if self._pre else "\u2028")
        elif name == "title":
            self._in_title = True
        else:
            self._on_structure(name)

    def _is_left_out(self, tag: HtmlTag) -> bool:
        name = tag.name
        if name in _NEVER_SHOWN:
            return True
        if self._whole or name in _VOID or name in ("html", "body", "main"):
            return False
        if is_hidden(tag):
            return True
        if name in ELEMENTS:
            # A note in an article is part of it, and so is a heading that is a button.
            return not ((name == "aside" and self._main) or (name == "button" and self._heading))
        return name != "article" and not (name == "header" and self._main) and has_role(tag)

    def _on_structure(self, name: str) -> None:
        if name in ("td", "th"):
            self._close_cell()
            self._in_cell = True
            if self._rows:
                self._rows[-1].append("")
            return
        if name not in _BREAKS:
            return
        self._break()
        if name in _HEADINGS:
            self._close_list()
            self._heading = _HEADINGS[name]
        elif name in ("ul", "ol"):
            self._lists.append(0 if name == "ol" else -1)
        elif name == "li":
            self._item = self._next_item()
        elif name == "pre":
            self._pre += 1
        elif name in ("main", "article"):
            self._main += 1
            self.has_main = self.has_main or name == "main"
            # A header that was never closed ends here.
            self._header = 0
        elif name == "header" and not self._main:
            self._header += 1
        elif name == "table":
            self._open_table()
        elif name == "tr" and self._tables:
            self._rows.append([])

    def _on_end(self, name: str) -> None:
        if self._skipped:
            if name == self._skipped[-1]:
                self._skipped.pop()
            return
        if name == "title":
            self._in_title = False
            return
        if name in ("td", "th"):
            self._close_cell()
            return
        if name not in _BREAKS:
            return
        self._break()
        if name in _HEADINGS:
            self._heading = 0
        elif name in ("ul", "ol"):
            self._end_list()
        elif name == "pre":
            self._pre = max(0, self._pre - 1)
        elif name in ("main", "article"):
            self._main = max(0, self._main - 1)
        elif name == "header" and not self._main:
            self._header = max(0, self._header - 1)
        elif name == "table":
            self._close_table()

    # Output

    def _taken(self) -> str:
        text, self._text = "".join(self._text), []
        if self._pre:
            return text
        # A forced line end stays; other white space becomes one space.
        lines = (one_line(line) for line in text.split("\u2028"))
        return "\n".join(filter(None, lines))

    def _break(self) -> None:
        """Make the gathered text a block, an item of a list, or a part of a cell."""
        if not self._text:
            return
        text = self._taken()
        if not text.strip():
            return
        if self._in_cell:
            self._add_to_cell(text)
        elif self._lists and not self._heading and not self._pre:
            self._add_to_list(text)
        else:
            self._close_list()
            kind = "heading" if self._heading else "code" if self._pre else "paragraph"
            self._piece(kind, one_line(text) if self._heading else text, self._heading)

    @property
    def _place(self) -> str:
        return "main" if self._main else "header" if self._header else ""

    def _piece(self, kind: str, text: str, level: int = 0) -> None:
        self.pieces.append(_Piece(kind, text, level, self._place))

    def _next_item(self) -> str:
        if not self._lists or self._lists[-1] < 0:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1]}. "

    def _add_to_list(self, text: str) -> None:
        indent = "  " * min(len(self._lists) - 1, _DEEPEST_INDENT)
        mark, self._item = self._item or "  ", ""
        self._lines.append(indent + mark + text.replace("\n", " "))

    def _end_list(self) -> None:
        if self._lists:
            self._lists.pop()
        if not self._lists:
            self._close_list()

    def _close_list(self) -> None:
        if self._lines:
            self._piece("list", "\n".join(self._lines))
            self._lines = []

    def _open_table(self) -> None:
        if self._tables:
            # Tables inside tables are layout: their content is plain text.
            self._rows_as_paragraphs()
        else:
            self._close_list()
        self._tables += 1
        self._in_cell = False

    def _add_to_cell(self, text: str) -> None:
        text = text.replace("\n", " ")
        if not self._rows or not self._rows[-1]:
            self._piece("paragraph", text)
            return
        before = self._rows[-1][-1]
        self._rows[-1][-1] = f"{before} {text}" if before else text

    def _close_cell(self) -> None:
        self._break()
        self._in_cell = False

    def _close_table(self) -> None:
        self._tables = max(0, self._tables - 1)
        self._in_cell = False
        rows = [row for row in self._rows if any(row)]
        if any(len(cell) > _LONG_CELL for row in rows for cell in row) or all(len(row) == 1 for row in rows):
            self._rows_as_paragraphs()
            return
        self._rows = []
        if rows:
            self._piece("table", "\n".join(" | ".join(row) for row in rows))

    def _rows_as_paragraphs(self) -> None:
        for row in self._rows:
            for cell in filter(None, row):
                self._piece("paragraph", cell)
        self._rows = []

    def _finish(self) -> None:
        self._break()
        self._close_list()
        self._rows_as_paragraphs()

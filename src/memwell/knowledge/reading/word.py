"""DOCX reader: headings by their styles, lists, tables and footnotes, straight from the XML.

Zip and XML can be made to explode, so this is our own code: every part is unpacked under a limit, document types are
refused, and only the text is built up in memory.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Builder, Parsed, one_line, title_of

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MOST_UNPACKED = 200_000_000
"""Bytes of all parts together when unpacked."""
MOST_MEMBERS = 20_000
_HEADING_STYLE = re.compile(r"(?:heading|标题|überschrift|titre|título|заголовок)\s*([1-9])$", re.IGNORECASE)
_SKIPPED = frozenset({"Fallback", "moveFrom", "del"})
_DEEPEST_INDENT = 8
_MOST_DEPTH = 5_000


def read_word(data: bytes) -> Parsed:
    """The text of a DOCX file. Raises ``UnreadableDocument`` when it is damaged, protected, or unpacks to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = _Parts(archive)
            styles = _Styles(parts.read("word/styles.xml"))
            body = _Body(styles)
            _parse(parts.read("word/document.xml"), body.start, body.end, body.text)
            _parse(parts.read("word/footnotes.xml"), body.start, body.end, body.text)
            _parse(parts.read("word/endnotes.xml"), body.start, body.end, body.text)
            about = _properties(parts.read("docProps/core.xml"))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, IndexError) as error:
        if isinstance(error, UnreadableDocument):
            raise
        raise UnreadableDocument(f"it is a damaged Word file: {error}") from None
    title = about.pop("title", "") or body.title
    return body.builder.parsed(DOCX, title=title_of(title), metadata=about)


class _Parts:
    """The parts of the file, unpacked one at a time and within the limit."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = MOST_UNPACKED
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise UnreadableDocument(f"it holds {len(members)} parts", reason="too-large")
        self._members = {member.filename: member for member in members}

    def read(self, name: str) -> bytes:
        """A part, or nothing when there is none of this name."""
        member = self._members.get(name)
        if member is None:
            return b""
        if member.flag_bits & 1:
            raise UnreadableDocument("it is protected by a password", reason="encrypted")
        with self._archive.open(member) as stream:
            # The size that the file states may be wrong: the unpacked bytes count.
            content = stream.read(self._left + 1)
        if len(content) > self._left:
            raise UnreadableDocument(f"it unpacks to more than {MOST_UNPACKED:,} bytes", reason="too-large")
        self._left -= len(content)
        return content


def _parse(
    xml: bytes,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    if not xml:
        return
    depth = 0

    def deeper(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise UnreadableDocument("its XML is nested too deep")
        start(name.rpartition(":")[2], {key.rpartition(":")[2]: value for key, value in attributes.items()})

    def higher(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name.rpartition(":")[2])

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = deeper
    parser.EndElementHandler = higher
    parser.CharacterDataHandler = text
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise UnreadableDocument(f"its XML is damaged: {error}") from None


def _refuse_doctype(*_: Any) -> None:
    raise UnreadableDocument("its XML declares a document type, which no Word file does")


class _Styles:
    """The heading levels of styles, and the styles of lists."""

    def __init__(self, xml: bytes) -> None:
        self._levels: dict[str, int] = {}
        self._lists: set[str] = set()
        self._based_on: dict[str, str] = {}
        self._style = ""
        _parse(xml, self._start, lambda name: None, lambda text: None)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("val", "")
        if name == "style":
            self._style = attributes.get("styleId", "")
        elif name == "name" and (level := heading_level(value)):
            self._levels.setdefault(self._style, level)
        elif name == "outlineLvl" and value.isdigit() and int(value[:3]) < 9:
            self._levels.setdefault(self._style, int(value) + 1)
        elif name == "basedOn":
            self._based_on[self._style] = value
        elif name == "numId" and value != "0":
            self._lists.add(self._style)

    def level(self, style: str) -> int:
        return next((self._levels[one] for one in self._with_bases(style) if one in self._levels), 0)

    def is_list(self, style: str) -> bool:
        return any(one in self._lists for one in self._with_bases(style))

    def _with_bases(self, style: str) -> list[str]:
        chain: list[str] = []
        while style and style not in chain and len(chain) < 20:
            chain.append(style)
            style = self._based_on.get(style, "")
        return chain


def heading_level(style: str) -> int:
    """The level of a heading by the name of its style; 0 for another style."""
    if style.casefold() in ("title", "标题"):
        return 1
    found = _HEADING_STYLE.match(style.strip())
    return int(found[1]) if found else 0


class _Paragraph:
    """A paragraph being read. In a text box, one may be inside another."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.style = ""
        self.level = -1
        self.indent = -1


class _Body:
    """Handles the XML events of a part and builds the document."""

    def __init__(self, styles: _Styles) -> None:
        self.builder = Builder()
        self.title = ""
        self._styles = styles
        self._open: list[_Paragraph] = []
        self._skipping = 0
        self._in_text = False
        self._list: list[str] = []
        self._rows: list[list[list[str]]] = []
        """The texts of the cells by row, of the outermost table."""
        self._tables = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._skipping or name in _SKIPPED:
            self._skipping += 1
        elif name == "t":
            self._in_text = True
        elif name == "p":
            self._open.append(_Paragraph())
        elif name in ("tbl", "tr", "tc"):
            self._start_of_table(name)
        elif self._open:
            self._on_property(name, attributes.get("val", ""), self._open[-1])

    def _on_property(self, name: str, value: str, paragraph: _Paragraph) -> None:
        if name == "pStyle":
            paragraph.style = value
        elif name == "ilvl" and value.isdigit():
            paragraph.indent = max(paragraph.indent, min(int(value[:3]), _DEEPEST_INDENT))
        elif name == "numId":
            paragraph.indent = max(paragraph.indent, 0) if value != "0" else -1
        elif name == "outlineLvl" and value.isdigit() and int(value[:3]) < 9:
            paragraph.level = int(value) + 1
        elif name in ("tab", "br", "cr", "noBreakHyphen"):
            # A tab in the properties is a stop with a position, and no text.
            paragraph.parts.append({"tab": "\t", "noBreakHyphen": "-"}.get(name, "\n") if not value else "")

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
        elif name == "t":
            self._in_text = False
        elif name == "p" and self._open:
            self._close_paragraph(self._open.pop())
        elif name == "tbl":
            self._tables = max(0, self._tables - 1)
            if not self._tables:
                self._close_table()
        elif name in ("body", "footnotes", "endnotes"):
            self._close_list()

    def text(self, text: str) -> None:
        if self._in_text and self._open and not self._skipping:
            self._open[-1].parts.append(text)

    def _start_of_table(self, name: str) -> None:
        if name == "tbl":
            self._tables += 1
        elif self._tables == 1 and name == "tr":
            self._rows.append([])
        elif self._tables == 1 and self._rows:
            self._rows[-1].append([])

    def _close_paragraph(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.parts).strip()
        if not text:
            return
        if self._tables:
            self._add_to_cell(one_line(text))
            return
        level = paragraph.level if paragraph.level > 0 else self._styles.level(paragraph.style)
        if level:
            self._close_list()
            self.title = self.title or (text if level == 1 else "")
            self.builder.heading(text, level)
        elif paragraph.indent >= 0 or self._styles.is_list(paragraph.style):
            self._list.append("  " * max(paragraph.indent, 0) + "- " + one_line(text))
        else:
            self._close_list()
            self.builder.add("paragraph", text)

    def _add_to_cell(self, text: str) -> None:
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text)
        else:
            self.builder.add("paragraph", text)

    def _close_table(self) -> None:
        self._close_list()
        lines = [" | ".join(" ".join(cell) for cell in row) for row in self._rows if any(row)]
        self.builder.add("table", "\n".join(lines))
        self._rows = []

    def _close_list(self) -> None:
        self.builder.add("list", "\n".join(self._list))
        self._list = []


def _properties(xml: bytes) -> dict[str, Any]:
    """Title, author and other properties of the file."""
    kept = {"title": "title", "creator": "author", "subject": "subject", "keywords": "keywords", "modified": "modified"}
    found: dict[str, Any] = {}
    inside: list[str] = []

    def text(value: str) -> None:
        if inside and (name := kept.get(inside[-1])) and value.strip():
            found[name] = title_of(found.get(name, "") + value)

    def end(_: str) -> None:
        inside.pop()

    _parse(xml, lambda name, _: inside.append(name), end, text)
    return found

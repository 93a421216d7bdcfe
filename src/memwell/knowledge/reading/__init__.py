"""Readers of documents: text, Markdown, HTML, PDF, DOCX, CSV and JSON become a text with its structure."""

from __future__ import annotations

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading import sniffing
from memwell.knowledge.reading.pdf import read_pdf
from memwell.knowledge.reading.plain import read_markdown, read_plain
from memwell.knowledge.reading.sniffing import FileType, decoded, kind_of, media_type_of
from memwell.knowledge.reading.tables import read_json, read_json_lines, read_table
from memwell.knowledge.reading.webpages import declared_encoding, read_webpage
from memwell.knowledge.reading.word import read_word
from memwell.values import check_type


def read_document(data: bytes, *, name: str = "", media_type: str | None = None) -> Parsed:
    """The text of a document, its blocks, and what it says of itself.

    What it is, its bytes say; ``name`` and ``media_type`` (as in a header, with the charset) only tell kinds of text apart.
    Raises ``UnreadableDocument`` with a reason for whatever cannot be read, and ``MissingDependency`` for a PDF without
    pypdfium2.
    """
    data = bytes(check_type(data, (bytes, bytearray, memoryview), "a document must be bytes"))
    if not data.strip():
        raise UnreadableDocument("it is empty", reason="empty")
    kind = kind_of(data, name, media_type)
    warnings = (kind.warning,) if kind.warning else ()
    if kind.media_type == sniffing.PDF:
        return read_pdf(data, warnings=warnings)
    if kind.media_type == sniffing.DOCX:
        return read_word(data, warnings=warnings)
    return _read_text(data, kind, _charset(media_type), warnings)


def _read_text(data: bytes, kind: FileType, charset: str | None, warnings: tuple[str, ...]) -> Parsed:
    if kind.media_type == sniffing.HTML:
        charset = charset or declared_encoding(data)
    text, more = decoded(data, declared=charset)
    warnings = (*warnings, *more)
    match kind.media_type:
        case sniffing.HTML:
            return read_webpage(text, warnings=warnings)
        case sniffing.MARKDOWN:
            return read_markdown(text, warnings=warnings)
        case sniffing.CSV | sniffing.TSV:
            return read_table(text, media_type=kind.media_type, warnings=warnings)
        case sniffing.JSON:
            return _read_json(text, kind, warnings)
        case sniffing.JSON_LINES:
            return read_json_lines(text, warnings=warnings)
        case _:
            return read_plain(text, media_type=kind.media_type, warnings=warnings)


def _read_json(text: str, kind: FileType, warnings: tuple[str, ...]) -> Parsed:
    try:
        return read_json(text, warnings=warnings)
    except UnreadableDocument:
        if kind.certain:
            raise
        # It only looked like JSON.
        return read_plain(text, warnings=warnings)


def _charset(media_type: str | None) -> str | None:
    for part in (media_type or "").split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().casefold() == "charset":
            return value.strip().strip("\"'") or None
    return None


__all__ = ["media_type_of", "read_document"]

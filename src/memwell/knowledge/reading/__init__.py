"""Readers of documents: text, Markdown, HTML, PDF, DOCX, CSV and JSON become a text with its structure."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from pathlib import PurePosixPath

import msgspec
from msgspec.structs import replace

from memwell.confined import confined
from memwell.errors import UnreadableDocument
from memwell.history.media import types_of
from memwell.knowledge.documents import MOST_BLOCKS, MOST_CHARACTERS, Parsed
from memwell.knowledge.reading.pdf import read_pdf
from memwell.knowledge.reading.plain import read_json, read_json_lines, read_markdown, read_plain, read_table
from memwell.knowledge.reading.webpages import declared_encoding, read_webpage
from memwell.knowledge.reading.word import DOCX, MOST_MEMBERS, read_word
from memwell.values import check_type, shown

__all__ = ["media_type_of", "read_document"]


def read_document(data: bytes, *, name: str = "", media_type: str | None = None) -> Parsed:
    """The text of a document, its blocks, and what it says of itself.

    What it is, its bytes say; ``name`` and ``media_type`` (as in a header, with the charset) only tell kinds of text apart.
    All but a small text is read in a worker process with limits (``memwell.confined``).
    Raises ``UnreadableDocument`` with a reason for whatever cannot be read, also when a limit was hit, and
    ``MissingDependency`` for a PDF without pypdfium2.
    """
    data = bytes(check_type(data, (bytes, bytearray, memoryview), "a document must be bytes"))
    if len(data) <= _SMALL and kind_of(data, name, media_type).media_type not in (PDF, DOCX):
        return read_here(data, name, media_type)
    return confined(read_here, data, name, media_type)


def read_here(data: bytes, name: str, media_type: str | None) -> Parsed:
    """As ``read_document``, in this process and without its limits of memory and time."""
    parsed = _read(data, kind_of(data, name, media_type), media_type)
    if len(parsed.text) > MOST_CHARACTERS:
        message = f"it has {len(parsed.text):,} characters; at most {MOST_CHARACTERS:,} are read"
        raise UnreadableDocument(message, reason="too-large")
    if len(parsed.blocks) > MOST_BLOCKS:
        message = f"it has {len(parsed.blocks):,} paragraphs or rows; at most {MOST_BLOCKS:,} are read"
        raise UnreadableDocument(message, reason="too-large")
    return parsed


def _read(data: bytes, kind: FileType, media_type: str | None) -> Parsed:
    warnings = (kind.warning,) if kind.warning else ()
    if reader := {PDF: read_pdf, DOCX: read_word}.get(kind.media_type):
        parsed = reader(data)
    else:
        declared = _charset(media_type) or (declared_encoding(data) if kind.media_type == HTML else None)
        text, more = decoded(data, declared=declared)
        parsed, warnings = _read_text(text, kind), (*warnings, *more)
    return replace(parsed, warnings=(*warnings, *parsed.warnings))


def _read_text(text: str, kind: FileType) -> Parsed:
    try:
        if reader := _READERS.get(kind.media_type):
            return reader(text)
    except UnreadableDocument:
        if kind.certain or kind.media_type != JSON:
            raise
        # It only looked like JSON.
        return read_plain(text)
    reader = read_table if kind.media_type in (CSV, TSV) else read_plain
    return reader(text, media_type=kind.media_type)


def _charset(media_type: str | None) -> str | None:
    for part in (media_type or "").split(";")[1:]:
        key, _, value = part.partition("=")
        if key.strip().casefold() == "charset":
            return value.strip().strip("\"'") or None
    return None


_SMALL = 65_536
"""The bytes of the largest text that is read in place: that costs less than the way to a worker, however it is made."""


# Bytes to text.


_SAMPLE = 65536
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSES = ("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252", "cp1251", "koi8_r", "cp1253")
"""The encodings that may be guessed; of those that fit equally well the first is taken."""
_MOST_BAD = 0.002
"""With no more wrong bytes than this share, it is damaged UTF-8."""
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")


def decoded(data: bytes, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text with ``\\n`` at its line ends, and warnings. ``declared`` is what the document itself says it is in.

    Raises ``UnreadableDocument`` with the reason ``binary`` or ``encoding``.
    """
    text, warnings = _decoded(data, declared)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x00" in text:
        warnings = (*warnings, f"{text.count(chr(0))} NUL characters were dropped")
        text = text.replace("\x00", "")
    return text, warnings


def _decoded(data: bytes, declared: str | None) -> tuple[str, tuple[str, ...]]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _known(data[len(bom) :], encoding)
    if looks_binary(data):
        raise UnreadableDocument("its bytes are not those of a text", reason="binary")
    try:
        return data.decode(), ()
    except UnicodeDecodeError:
        return _from_declared(data, declared) or _from_damaged(data) or _guessed(data)


def looks_binary(data: bytes) -> bool:
    """Whether the beginning of a file has NUL or many control characters."""
    head = data[:_SAMPLE]
    if head.startswith(tuple(bom for bom, _ in _BOMS)):
        return False
    if 0 in head:
        return True
    return len(head) - len(head.translate(None, _CONTROLS)) > len(head) * 0.02


def _known(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        bad = text.count("\ufffd")
        if bad > max(1, len(text) * _MOST_BAD):
            message = f"it is marked as {encoding.upper()}, but byte {error.start} is not"
            raise UnreadableDocument(message, reason="encoding") from None
        return text, (f"{bad} characters could not be read and stand as \ufffd",)


def _from_declared(data: bytes, declared: str | None) -> tuple[str, tuple[str, ...]] | None:
    if not declared:
        return None
    # GB2312 nearly always means its extension.
    name = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin-1": "cp1252"}.get(
        declared.strip().casefold(), declared.strip()
    )
    try:
        return data.decode(name), ()
    except (LookupError, ValueError):
        return None


def _from_damaged(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    """UTF-8 with a few wrong bytes, as after a cut inside a character."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(data) - len(data.translate(None, bytes(range(0x80, 0x100)))) - bad
    if bad > max(1, len(data) * _MOST_BAD) or good < bad * 20:
        return None
    return text, (f"{bad} bytes are not UTF-8 and stand as \ufffd",)


def _guessed(data: bytes) -> tuple[str, tuple[str, ...]]:
    from charset_normalizer import from_bytes  # noqa: PLC0415 - takes 30 ms to load, and UTF-8 needs none of it

    # The end of a line is no part of a character in any of them.
    sample = data if len(data) <= _SAMPLE else data[:_SAMPLE].rpartition(b"\n")[0] or data
    found = from_bytes(sample, cp_isolation=list(_GUESSES))
    fits = [match.encoding for match in found if (match.chaos, match.coherence) == (found[0].chaos, found[0].coherence)]
    if best := next((name for name in _GUESSES if name in fits), ""):
        text = data.decode(best, "replace")
        bad = text.count("\ufffd")
        if bad <= max(1, len(data) * _MOST_BAD):
            more = f"; {bad} characters could not be read" if bad else ""
            return text, (f"its encoding is not named; it was read as {best}{more}",)
    message = f"it is not UTF-8, and no other encoding fits: {shown(bytes(sample[:40]))}; save it as UTF-8"
    raise UnreadableDocument(message, reason="encoding")


PDF = "application/pdf"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/jsonl"
UNKNOWN = "application/octet-stream"
_OLE = "application/x-ole-storage"

# Our own few signatures: puremagic takes any zip for a Word file, and texts that begin with BZ or ID3 for binaries.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLE),
    (b"{\\rtf", "application/rtf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x7fELF", "application/x-elf"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"%!PS", "application/postscript"),
)
_ARCHIVES = frozenset({
    "application/zip", "application/gzip", "application/x-bzip2", "application/x-xz", "application/x-7z-compressed",
    "application/vnd.rar", "application/zstd", "application/x-tar",
})  # fmt: skip
_NOT_YET = {
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel workbooks (.xlsx)",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint slides (.pptx)",
    "application/epub+zip": "EPUB books",
    "application/vnd.oasis.opendocument.text": "OpenDocument files",
    "application/rtf": "RTF files",
    "application/postscript": "PostScript files",
    _OLE: "the Office formats from before 2007 (.doc, .xls, .ppt)",
}
_ZIP_MEMBERS = (
    ("word/document.xml", DOCX),
    ("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("META-INF/container.xml", "application/epub+zip"),
    ("content.xml", "application/vnd.oasis.opendocument.text"),
)
_CODE_SUFFIXES = frozenset(
    "py js ts tsx jsx java c h cc cpp hpp cs go rs rb php sh bash zsh ps1 sql r lua pl kt swift scala dart m css scss xml "
    "yaml yml toml ini cfg conf properties env dockerfile makefile tex bib proto graphql vue svelte".split()
)
_SUFFIXES = {
    "txt": PLAIN, "text": PLAIN, "log": PLAIN, "rst": PLAIN, "srt": PLAIN, "vtt": PLAIN,
    "md": MARKDOWN, "markdown": MARKDOWN, "mdown": MARKDOWN, "mdx": MARKDOWN, "qmd": MARKDOWN,
    "html": HTML, "htm": HTML, "xhtml": HTML,
    "csv": CSV, "tsv": TSV, "tab": TSV,
    "json": JSON, "geojson": JSON, "jsonl": JSON_LINES, "ndjson": JSON_LINES,
    "pdf": PDF, "docx": DOCX,
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "mp3": "audio/mpeg", "wav": "audio/wav", "mp4": "video/mp4", "zip": "application/zip", "gz": "application/gzip",
    "doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    **dict.fromkeys(_CODE_SUFFIXES, "text/x-code"),
}  # fmt: skip
_TEXTUAL = frozenset({PLAIN, MARKDOWN, HTML, CSV, TSV, JSON, JSON_LINES, "text/x-code"})
_READERS = {HTML: read_webpage, MARKDOWN: read_markdown, JSON: read_json, JSON_LINES: read_json_lines}
_ALIASES = {
    "application/xhtml+xml": HTML, "text/x-markdown": MARKDOWN, "application/csv": CSV, "application/x-ndjson": JSON_LINES,
    "application/jsonlines": JSON_LINES, "application/x-jsonlines": JSON_LINES, "text/json": JSON,
    "application/ld+json": JSON, "application/geo+json": JSON,
}  # fmt: skip
_HTML_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*>\s*+|<!--.*?-->\s*+)*+<(?:!doctype\s+html|html)[\s>]", re.I | re.S
)
_JSON_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:\{\s*+[\"}]|\[\s*+[\[{\"\]])")
_HEAD = 4096


class FileType(msgspec.Struct, frozen=True):
    """The media type of a file; ``certain`` when its bytes say so, or its name does and they agree."""

    media_type: str
    certain: bool = True
    warning: str = ""


def media_type_of(head: bytes, name: str = "") -> str:
    """The media type of a file by its first bytes and its name; with more bytes zipped formats are known better.

    ``application/octet-stream`` when they are no text and nothing known.
    """
    if found := _by_magic(head):
        return found
    if _HTML_HEAD.match(head[:_HEAD]):
        return HTML
    named = _by_name(name)
    if looks_binary(head):
        return UNKNOWN
    if named in _TEXTUAL:
        return named
    return JSON if _JSON_HEAD.match(head[:_HEAD]) else PLAIN


def kind_of(data: bytes, name: str, media_type: str | None) -> FileType:
    """What a whole file is, with what its sender says of it.

    Raises ``UnreadableDocument`` for what is not read: archives, pictures, formats not supported, names that lie, nothing.
    """
    if not data or data.isspace():
        raise UnreadableDocument("it is empty", reason="empty")
    by_bytes = media_type_of(data, name)
    said = _said(name, media_type)
    if by_bytes in (PDF, DOCX):
        return FileType(by_bytes, warning=_lie(said, by_bytes))
    if by_bytes not in _TEXTUAL:
        _refuse(data, by_bytes, said)
    if said and said not in _TEXTUAL:
        if by_bytes != HTML:
            message = f"it is called {said}, but its bytes are those of a text"
            raise UnreadableDocument(message, reason="not-what-it-says")
        return FileType(HTML, warning=_lie(said, HTML))
    if by_bytes == HTML:
        return FileType(HTML, warning=_lie(said, HTML) if said != PLAIN else "")
    return FileType(said) if said else FileType(by_bytes, certain=False)


def _said(name: str, media_type: str | None) -> str:
    """The media type that the sender gives; servers call any text plain, so there the name decides."""
    given = (media_type or "").partition(";")[0].strip().casefold()
    given = _ALIASES.get(given, given)
    if given.startswith(("text/x-", "application/xml", "text/xml", "text/css", "text/javascript")):
        given = "text/x-code"
    named = _by_name(name)
    if given in ("", PLAIN, UNKNOWN, "binary/octet-stream"):
        return named or (PLAIN if given == PLAIN else "")
    if given.startswith("text/") and given not in _TEXTUAL:
        return PLAIN
    return given


def _lie(said: str, found: str) -> str:
    return f"it is called {said}, but it is {found}" if said and said != found else ""


def _by_name(name: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    suffix = path.suffix[1:] or path.name
    return _SUFFIXES.get(suffix.casefold(), "")


def _by_magic(head: bytes) -> str:
    if b"%PDF-" in head[:1024]:
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(head)
    for magic, media_type in _MAGIC:
        if head.startswith(magic) and (len(magic) > 3 or looks_binary(head)):
            return media_type
    if looks_binary(head) and (medium := types_of(head)):
        return medium[0]
    return "application/x-tar" if head[257:262] == b"ustar" else ""


def _zip_type(head: bytes) -> str:
    """The media type of a zip file; by the names in its beginning when only that is given."""
    try:
        if head.count(b"PK\x01\x02") > MOST_MEMBERS:
            raise zipfile.BadZipFile("its list of names is too long")
        with zipfile.ZipFile(io.BytesIO(head)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, IndexError):
        names = {name for name, _ in _ZIP_MEMBERS if name.encode() in head}
    return next((media_type for name, media_type in _ZIP_MEMBERS if name in names), "application/zip")


def _refuse(data: bytes, found: str, said: str) -> None:
    if found == _OLE and "EncryptedPackage".encode("utf-16-le") in data:
        raise UnreadableDocument("it is protected by a password", reason="encrypted")
    if found in _NOT_YET:
        raise UnreadableDocument(f"{_NOT_YET[found]} cannot be read yet", reason="unsupported")
    if found in _ARCHIVES:
        raise UnreadableDocument(f"it is an archive ({found}); unpack it first", reason="archive")
    if said and said != found:
        what = "not a text" if found == UNKNOWN else found
        raise UnreadableDocument(f"it is called {said}, but it is {what}", reason="not-what-it-says")
    raise UnreadableDocument(f"it is no document but {found}", reason="binary")

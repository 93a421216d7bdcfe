"""What a file is: told by its first bytes, and by its name only where bytes cannot tell.

Files lie about what they are, by accident and on purpose. What has an unmistakable beginning is what it begins as, and a
name only says which kind of text a text is.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

import msgspec

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.encodings import looks_binary

PDF = "application/pdf"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/jsonl"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
UNKNOWN = "application/octet-stream"
_OLE = "application/x-ole-storage"

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLE),
    (b"{\\rtf", "application/rtf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
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


class Kind(msgspec.Struct, frozen=True):
    """What a file is and how sure that is: ``certain`` when its bytes say so or its name does and they agree."""

    media_type: str
    certain: bool = True
    warning: str = ""


def media_type_of(head: bytes, name: str = "") -> str:
    """The media type of a file by its first bytes and its name; the more bytes, the better zipped formats are told apart.

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


def kind_of(data: bytes, name: str, media_type: str | None) -> Kind:
    """What a whole file is, with what its sender says of it.

    Raises ``UnreadableDocument`` for what is not read: archives, pictures, formats not supported, names that lie.
    """
    by_bytes = media_type_of(data, name)
    said = _said(name, media_type)
    if by_bytes in (PDF, DOCX):
        return Kind(by_bytes, warning=_lie(said, by_bytes))
    if by_bytes not in _TEXTUAL:
        _refuse(data, by_bytes, said)
    if said and said not in _TEXTUAL:
        if by_bytes != HTML:
            message = f"it is called {said}, but its bytes are those of a text"
            raise UnreadableDocument(message, reason="not-what-it-says")
        return Kind(HTML, warning=_lie(said, HTML))
    if by_bytes == HTML:
        return Kind(HTML, warning=_lie(said, HTML) if said != PLAIN else "")
    return Kind(said) if said else Kind(by_bytes, certain=False)


def _said(name: str, media_type: str | None) -> str:
    """What the sender calls it; servers call any text plain, so there the name knows better."""
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
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(head[8:12], UNKNOWN)
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return "application/x-tar" if head[257:262] == b"ustar" else ""


def _zip_type(head: bytes) -> str:
    """What a zip file is a document of; when only its beginning is at hand, by the names that stand there."""
    try:
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


__all__ = [
    "CSV", "DOCX", "HTML", "JSON", "JSON_LINES", "Kind", "MARKDOWN", "PDF", "PLAIN", "TSV", "kind_of", "media_type_of",
]  # fmt: skip

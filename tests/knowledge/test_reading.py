"""Any bytes are read as what they are, or refused with a reason; nothing else happens."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.errors import InvalidInput, UnreadableDocument
from memwell.knowledge.documents import BLOCK_KINDS, Parsed
from memwell.knowledge.reading import media_type_of, read_document

NAMES = ("", "a.txt", "a.md", "a.html", "a.csv", "a.tsv", "a.json", "a.jsonl", "a.pdf", "a.docx", "a.py", "a.png", "a")
REASONS = {
    "empty", "binary", "broken", "encrypted", "archive", "too-large", "not-what-it-says", "no-text", "encoding",
    "unsupported",
}  # fmt: skip
PIECES = st.sampled_from(
    ["# ", "\n", "\n\n", "- ", "1. ", "```", "|", "---", "<p>", "</p>", "<table>", "<td>", "<ul><li>", "<nav>", "</nav>",
     "<pre>", "<title>", "<!--", "-->", "<h2>", "</h2>", "&amp;", "&#0;", '"', ",", ";", "{", "}", "[", "]", ":", "\t",
     "word", "中文，", "  ", "\u2028", "\x0b", "\x1c", "=", "<script>", "\r\n", "第一章 总则", "a: b"]
)  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def holds(parsed: Parsed) -> None:
    """What is promised of every document: blocks in order, inside the text, over all of it that is not blank."""
    end = 0
    for block in parsed.blocks:
        assert parsed.text[end : block.start].strip() == ""
        assert block.end > block.start >= end
        assert parsed.text[block.start : block.end].strip()
        assert block.kind in BLOCK_KINDS
        assert (block.level > 0) == (block.kind == "heading")
        end = block.end
    assert end <= len(parsed.text)
    assert parsed.text[end:].strip() == ""
    assert parsed.blocks
    assert "\x00" not in parsed.text
    parsed.text.encode()


def outcome_of(data: bytes, name: str) -> str:
    """``read``, when what was read holds what is promised, or the reason of the refusal."""
    try:
        parsed = read_document(data, name=name)
    except UnreadableDocument as refused:
        return refused.reason
    holds(parsed)
    return "read"


def reason_for(data: bytes, **options: str) -> str:
    with pytest.raises(UnreadableDocument) as refused:
        read_document(data, **options)
    return refused.value.reason


@given(st.binary(max_size=300), st.sampled_from(NAMES))
@example(b"%PDF-1.4\n%%EOF", "")
@example(b"PK\x03\x04word/document.xml", "a.docx")
@example(b'{"a": "\\ud800"}', "a.json")
@example(b"\xff\xfe\x00\xd8", "")
def test_any_bytes_are_read_or_refused(data: bytes, name: str):
    assert outcome_of(data, name) in {"read", *REASONS}


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from(NAMES))
def test_any_text_keeps_its_blocks_in_order(text: str, name: str):
    assert outcome_of(text.encode(), name) in {"read", *REASONS}


@given(st.text(max_size=200), st.sampled_from(["a.txt", "a.py"]))
def test_plain_text_is_kept_to_the_letter(text: str, name: str):
    data = text.encode("utf-8", "ignore")
    try:
        parsed = read_document(data, name=name, media_type="text/plain; charset=utf-8")
    except UnreadableDocument:
        return
    # With NUL in them, the bytes may be those of a text in UTF-16 just as well.
    is_plain = b"\0" not in data and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    if parsed.media_type != "text/html" and is_plain:
        assert parsed.text == text.encode("utf-8", "ignore").decode().replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.txt", "empty"),
        (b" \n\t", "a.txt", "empty"),
        (PNG, "a.txt", "not-what-it-says"),
        (PNG, "a.png", "binary"),
        (PNG, "", "binary"),
        (b"plain words", "a.pdf", "not-what-it-says"),
        (b"plain words", "a.docx", "not-what-it-says"),
        (b"plain words", "a.png", "not-what-it-says"),
        (bytes(range(256)), "a.bin", "binary"),
        (b"\x00\x01\x02\x03" * 20, "a.md", "not-what-it-says"),
        (gzip.compress(b"hello", mtime=0), "a.gz", "archive"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "a.7z", "archive"),
        (b"Rar!\x1a\x07\x00", "a.rar", "archive"),
        (b"{\\rtf1 hello}", "a.rtf", "unsupported"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.doc", "unsupported"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx", "encrypted"),
        (b"<html><script>x()</script></html>", "a.html", "no-text"),
        (b'{"a": ', "a.json", "broken"),
    ],
)
def test_what_is_no_document_is_refused_by_its_reason(data: bytes, name: str, reason: str):
    assert reason_for(data, name=name) == reason


def zipped(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return packed.getvalue()


def test_zips_are_told_apart_by_what_is_in_them():
    assert reason_for(zipped("notes.txt"), name="a.docx") == "archive"
    assert reason_for(zipped("[Content_Types].xml", "xl/workbook.xml"), name="a.docx") == "unsupported"
    assert reason_for(zipped("ppt/presentation.xml"), name="a.zip") == "unsupported"
    assert reason_for(zipped("META-INF/container.xml"), name="book.epub") == "unsupported"
    assert media_type_of(zipped("word/document.xml"), "a.zip").endswith("wordprocessingml.document")


def test_html_is_html_whatever_it_is_called():
    page = b"<!doctype html><title>T</title><p>Hello"
    for name in ("a.pdf", "a.md", "a.txt", ""):
        parsed = read_document(page, name=name)
        assert (parsed.media_type, parsed.text, parsed.title) == ("text/html", "Hello", "T")
    assert read_document(page, name="a.pdf").warnings == ("it is called application/pdf, but it is text/html",)


def test_the_servers_word_counts_less_than_the_name_for_plain_text():
    assert read_document(b"# Hello", name="a.md", media_type="text/plain").media_type == "text/markdown"
    assert read_document(b"a,b\n1,2", media_type="text/csv; charset=utf-8").media_type == "text/csv"
    assert read_document("é".encode("cp1252") * 3, media_type="text/plain; charset=iso-8859-1").text == "ééé"


def test_only_bytes_are_documents():
    with pytest.raises(InvalidInput, match="bytes"):
        read_document("text")  # pyright: ignore[reportArgumentType]
    assert read_document(bytes(bytearray(b"hello"))).text == "hello"

"""Any bytes are read as what they are, or refused with a reason; nothing else happens."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.errors import InvalidInput, UnreadableDocument
from memwell.knowledge import reading
from memwell.knowledge.documents import BLOCK_KINDS, Parsed
from memwell.knowledge.reading import decoded, media_type_of, read_document

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
        (b"", "a.txt", "empty"), (b" \n\t", "a.txt", "empty"), (PNG, "a.txt", "not-what-it-says"),
        (PNG, "a.png", "binary"), (PNG, "", "binary"), (b"plain words", "a.pdf", "not-what-it-says"),
        (b"plain words", "a.docx", "not-what-it-says"), (b"plain words", "a.png", "not-what-it-says"),
        (bytes(range(256)), "a.bin", "binary"), (b"\x00\x01\x02\x03" * 20, "a.md", "not-what-it-says"),
        (gzip.compress(b"hello", mtime=0), "a.gz", "archive"), (b"7z\xbc\xaf\x27\x1c\x00\x04", "a.7z", "archive"),
        (b"Rar!\x1a\x07\x00", "a.rar", "archive"), (b"{\\rtf1 hello}", "a.rtf", "unsupported"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.doc", "unsupported"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "a.docx", "encrypted"),
        (b"<html><script>x()</script></html>", "a.html", "no-text"), (b'{"a": ', "a.json", "broken"),
    ],
)  # fmt: skip
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


# Encodings: what is certain is silent, what is guessed is said, what cannot be guessed is refused.


TEXTS = {
    "gb18030": "公司员工请假制度：工作满一年的员工，每年有十天年假。\n病假需要医院证明。",
    "big5": "公司員工請假制度：工作滿一年的員工，每年有十天年假。\n病假需要醫院證明。",
    "shift_jis": "これは日本語のテキストです。会社の規則を説明します。",
    "euc_jp": "これは日本語のテキストです。会社の規則を説明します。",
    "euc_kr": "한국어 문서입니다. 이것은 회사의 규칙을 설명한다.",
    "cp1251": "Это документ на русском языке о правилах компании.",
    "koi8_r": "Это документ на русском языке о правилах компании.",
    "cp1253": "Αυτό είναι ένα ελληνικό έγγραφο για τους κανόνες της εταιρείας.",
    "cp1252": "Le café est fermé à Noël — déjà vu, l’été “ici”. Größe über alles, señor.",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_guess_is_right_and_says_so(encoding: str):
    text, warnings = decoded(TEXTS[encoding].encode(encoding))
    assert text == TEXTS[encoding]
    assert warnings == (f"its encoding is not named; it was read as {encoding}",)


@pytest.mark.parametrize(
    "text",
    ["你好", "深度学习框架的使用", "张三：我喜欢喝咖啡。李四：我不喜欢。", "第一章 总则\n本办法自发布之日起施行。"],
)
def test_short_chinese_of_old_programs_is_read(text: str):
    assert decoded(text.encode("gbk"))[0] == text


@given(
    st.text(alphabet=st.characters(blacklist_characters="\x00\r", blacklist_categories=("Cs",))),
    st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
)
def test_a_mark_is_certain(text: str, encoding: str):
    bom = {
        "utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE, "utf-32-be": codecs.BOM_UTF32_BE,
    }[encoding]  # fmt: skip
    assert decoded(bom + text.encode(encoding)) == (text, ())


def test_damage_is_counted_and_shown():
    whole = ("员工每年有十天年假。" * 50).encode()
    text, warnings = decoded(whole[:-1])
    assert text.endswith("年假\ufffd")
    assert warnings == ("1 bytes are not UTF-8 and stand as \ufffd",)


@pytest.mark.parametrize(
    "data", [bytes(range(128, 256)) * 3, "Zażółć gęślą jaźń, proszę państwa: łódź, żółw.".encode("cp1250")]
)
def test_what_nothing_fits_is_refused_and_not_read_as_something_else(data: bytes):
    with pytest.raises(UnreadableDocument, match="UTF-8") as refused:
        decoded(data)
    assert refused.value.reason == "encoding"


def test_a_declared_encoding_is_taken_when_it_fits():
    assert decoded("员工".encode("gbk"), declared="GB2312") == ("员工", ())
    assert decoded("员工".encode(), declared="nonsense") == ("员工", ())
    assert decoded("公司的员工".encode("gbk"), declared="rot13")[0] == "公司的员工"


@pytest.mark.parametrize(
    ("head", "name", "media_type"),
    [
        (b"%PDF-1.7", "a.txt", "application/pdf"), (b"\n\n  <!-- x --><HTML>", "a.txt", "text/html"),
        (b"<?xml version='1.0'?><!DOCTYPE html>", "", "text/html"), (b"# Title", "README.MD", "text/markdown"),
        (b"a,b", "x/y.csv", "text/csv"), (b"a\tb", "a.tsv", "text/tab-separated-values"),
        (b'{"a": 1}', "", "application/json"), (b"{}", "a.jsonl", "application/jsonl"),
        (b"import x", "a.py", "text/x-code"), (b"words", "", "text/plain"), (b"words", "no.such", "text/plain"),
        ("中文".encode("utf-16"), "a.txt", "text/plain"), (b"\x89PNG\r\n\x1a\n", "a.txt", "image/png"),
        (b"RIFF\x00\x00\x00\x00WEBP", "", "image/webp"), (b"\x00\x00\x00\x18ftypmp42", "", "video/mp4"),
        (b"PK\x03\x04", "a.docx", "application/zip"), (b"BZhello, she said", "", "text/plain"),
        (b"\x00\x01", "", "application/octet-stream"),
    ],
)  # fmt: skip
def test_bytes_decide_and_names_help(head: bytes, name: str, media_type: str):
    assert media_type_of(head, name) == media_type


def docx_of(paragraphs: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w:document><w:body>" + paragraphs + b"</w:body></w:document>")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        # Small files that cost gigabytes or minutes: what they cost is limited, and the limit is named.
        (b"[" + b"[]," * 10_000_000 + b"1]", "512 MB of memory"),
        (docx_of(b"<w:p><w:r><w:t>" + b"word " * 2_200_000 + b"</w:t></w:r></w:p>"), "10,000,000 are read"),
        (docx_of(b"<w:p><w:r><w:t>word</w:t></w:r></w:p>" * 210_000), "200,000 are read"),
        (b"word " * 2_200_000, "10,000,000 are read"),
    ],
    ids=["json", "docx", "paragraphs", "plain"],
)
def test_a_file_that_costs_too_much_is_refused_with_the_limit(data: bytes, limit: str):
    with pytest.raises(UnreadableDocument, match=limit) as refused:
        read_document(data)
    assert refused.value.reason == "too-large"


def test_a_zip_of_very_many_names_is_not_listed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MOST_MEMBERS", 3)
    data = zipped("word/document.xml", "b", "c", "d")
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert media_type_of(data).endswith("wordprocessingml.document")

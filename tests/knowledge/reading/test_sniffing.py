"""What a file is, by its bytes first."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.sniffing import decoded, media_type_of

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

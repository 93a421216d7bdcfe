"""What a file is, by its bytes first."""

from __future__ import annotations

import pytest

from memwell.knowledge.reading.sniffing import kind_of, media_type_of


@pytest.mark.parametrize(
    ("head", "name", "media_type"),
    [
        (b"%PDF-1.7", "a.txt", "application/pdf"),
        (b"\n\n  <!-- x --><HTML>", "a.txt", "text/html"),
        (b"<?xml version='1.0'?><!DOCTYPE html>", "", "text/html"),
        (b"# Title", "README.MD", "text/markdown"),
        (b"a,b", "x/y.csv", "text/csv"),
        (b"a\tb", "a.tsv", "text/tab-separated-values"),
        (b'{"a": 1}', "", "application/json"),
        (b"{}", "a.jsonl", "application/jsonl"),
        (b"import x", "a.py", "text/x-code"),
        (b"words", "", "text/plain"),
        (b"words", "no.such", "text/plain"),
        ("中文".encode("utf-16"), "a.txt", "text/plain"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "image/png"),
        (b"RIFF\x00\x00\x00\x00WEBP", "", "image/webp"),
        (b"\x00\x00\x00\x18ftypmp42", "", "video/mp4"),
        (b"PK\x03\x04", "a.docx", "application/zip"),
        (b"BZhello, she said", "", "text/plain"),
        (b"\x00\x01", "", "application/octet-stream"),
    ],
)
def test_bytes_decide_and_names_help(head: bytes, name: str, media_type: str):
    assert media_type_of(head, name) == media_type


def test_a_guess_is_known_as_one():
    assert not kind_of(b'{"a": 1}', "", None).certain
    assert kind_of(b'{"a": 1}', "a.json", None).certain

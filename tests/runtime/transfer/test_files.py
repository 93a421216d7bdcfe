"""Files are read piece by piece, whatever is in them."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import FileError, InvalidInput
from memwell.runtime.transfer import files
from memwell.runtime.transfer.files import Piece, decoded, items, lines, reading, written
from memwell.testing.strategies import json_values

VALUES = st.lists(json_values(), max_size=4)


def pieces(data: bytes, *keys: str, longest: int = 10_000_000) -> list[Piece]:
    with reading(io.BytesIO(data)) as source:
        return list(items(source, keys, longest))


@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.integers(1, 9))
def test_items_are_cut_where_json_cuts_them(values: list, ascii_: bool, indent: int | None, chunk: int) -> None:
    data = json.dumps(values, ensure_ascii=ascii_, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_CHUNK", chunk)
        found = pieces(data)
    assert [json.loads(piece.data) for piece in found] == values
    assert [piece.number for piece in found] == list(range(1, len(values) + 1))


@given(VALUES)
def test_items_under_a_key_are_found(values: list) -> None:
    data = json.dumps({"total": [[1]], "results": values, "next": None}).encode()
    assert [json.loads(piece.data) for piece in pieces(data, "results")] == values


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no JSON array"),
        (b"{}", "no JSON array"),
        (b'"text"', "no JSON array"),
        (b"[1, 2", "ends in the middle"),
        (b'["', "ends in the middle"),
        (b"[" * 100_000, "ends in the middle"),
    ],
)
def test_a_file_that_is_no_list_says_so(data: bytes, reason: str) -> None:
    assert reason in pieces(data)[-1].wrong


def test_an_item_that_is_too_long_is_passed_over() -> None:
    found = pieces(b'[1, "' + b"x" * 5000 + b'", 2]', longest=1000)
    assert [(piece.number, piece.data, piece.wrong) for piece in found] == [
        (1, b"1", ""),
        (2, b"", "the item is longer than 1,000 bytes"),
        (3, b"2", ""),
    ]


@given(st.binary(max_size=200))
def test_anything_can_be_scanned(data: bytes) -> None:
    assert all(isinstance(piece, Piece) for piece in pieces(data, "results"))
    assert all(isinstance(piece, Piece) for piece in pieces(b"[" + data))


def test_lines_are_numbered_and_bounded() -> None:
    with reading(io.BytesIO(b"\xef\xbb\xbfone\r\n\n" + b"x" * 20 + b"\nfour")) as source:
        assert list(lines(source, 10)) == [
            (1, b"one", ""),
            (3, b"", "the line is longer than 10 bytes"),
            (4, b"four", ""),
        ]


@pytest.mark.parametrize("data", [b"NaN", b"1e999", b'"\\ud800"', b"\xff", b"[" * 100_000, b"{", b""])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not what belongs here"):
        decoded(data)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with written(path) as out:
        out.write(b"old")
    with pytest.raises(ZeroDivisionError), written(path) as out:
        out.write(b"new" * (1 // 0))
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"old")]


def test_what_is_wrong_with_a_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path, reason in ((tmp_path / "no" / "file", "does not exist"), (tmp_path / "folder", "directory")):
        with pytest.raises(FileError, match=reason) as raised, written(path):
            pass
        assert repr(str(path)) in str(raised.value)
        assert ".part" not in str(raised.value)
        with pytest.raises(FileError, match="cannot be read") as raised, reading(path):
            pass
        assert isinstance(raised.value, OSError)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_full_disk_is_named_as_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"out\.jsonl' cannot be written: .*space"), written(tmp_path / "out.jsonl"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / ".out.jsonl.x.part"))
    assert list(tmp_path.iterdir()) == []

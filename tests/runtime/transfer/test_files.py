"""Files are read, whatever is in them."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import FileError, InvalidInput
from memwell.runtime.transfer.files import (
    Piece,
    PrivateFolder,
    _by_brackets,
    decoded,
    few,
    items,
    lines,
    read_piece,
    reading,
    written,
)
from memwell.testing.strategies import json_values

VALUES = st.lists(json_values(), max_size=4)


def pieces(data: bytes, *keys: str) -> list[Piece]:
    with reading(io.BytesIO(data)) as source:
        return list(items(source, keys))


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_items_are_those_of_the_array(values: list, ascii_: bool, indent: int | None) -> None:
    data = json.dumps(values, ensure_ascii=ascii_, indent=indent).encode()
    for found in (
        pieces(data),
        pieces(b"\xef\xbb\xbf" + data),
        pieces(b'{"a": 1, "results": %b}' % data, "x", "results"),
    ):
        assert [json.loads(piece.data) for piece in found] == values
        assert [piece.number for piece in found] == list(range(1, len(values) + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'"text"',
        b'{"results": 7}',
        b"[1, 2",
        b'["',
        b"[" * 100_000,
        b"[NaN}",
        b"[NaN] 7",
        b"7 [NaN]",
        b'[NaN, "]',
    ],
)
def test_a_file_that_is_no_list_says_so(data: bytes) -> None:
    [problem] = pieces(data, "results")
    assert "no JSON array" in problem.wrong


DEEP = b"[" * 10_000 + b"]" * 10_000


@pytest.mark.parametrize("wrong", [DEEP, b"NaN", b'{"a": -Infinity}', b"'x'", b"\xff", b"", b'{"b": [1 2]}'])
@pytest.mark.parametrize("around", [b"[%b]", b' {"n": {"results": [0]}, "results": [%b], "o": "[{"} '])
def test_an_item_that_is_wrong_is_cut_out_of_the_others(wrong: bytes, around: bytes) -> None:
    right = [{"text": 'a "[" and \\"'}, ["]", "\\"], 7]
    data = b" , ".join([*(json.dumps(one).encode() for one in right[:2]), wrong, json.dumps(right[2]).encode()])
    found = pieces(around % data, "results")
    assert [piece.data for piece in found][2] == wrong
    assert [json.loads(piece.data) for piece in found if piece.data != wrong] == right
    with pytest.raises(InvalidInput):
        decoded(found[2].data)


@given(VALUES, st.dictionaries(st.text(), json_values(), max_size=4), st.sampled_from([None, 1]))
def test_brackets_cut_what_is_json_as_a_parser_does(values: list, named: dict, indent: int | None) -> None:
    listed, found = (_by_brackets(json.dumps(one, indent=indent).encode()) for one in (values, named))
    assert isinstance(listed, list)
    assert isinstance(found, dict)
    assert [json.loads(bytes(one)) for one in listed] == values
    assert {name: json.loads(bytes(one)) for name, one in found.items()} == named


def test_the_items_of_a_large_array_are_cut_in_another_process() -> None:
    values = [["[]", number, {"a": [number]}] for number in range(5_000)]
    data = b' {"x": [[]], "results" : %b}' % json.dumps(values, indent=1).encode()
    assert [json.loads(piece.data) for piece in pieces(data, "results")] == values


def test_lines_are_numbered_and_bounded() -> None:
    with reading(io.BytesIO(b"\xef\xbb\xbfone\r\n\n" + b"x" * 20 + b"\nfour")) as source:
        assert list(lines(source, 10)) == [
            (1, b"one", ""),
            (3, b"", "the line is longer than 10 bytes"),
            (4, b"four", ""),
        ]


@pytest.mark.parametrize("data", [b"NaN", b"1e999", b'"\\ud800"', b"\xff", b"[" * 100_000, b"{", b""])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"not what belongs here|nested too deep"):
        decoded(data)


def own_process(data: bytes) -> int:
    return os.getpid()


@pytest.mark.parametrize(
    ("data", "here"),
    [
        (b"[" + b"1," * 19_000 + b"1]", True),
        (b'"' + b"a" * 1_000_000 + b'"', True),
        (b"[" + b"[]," * 50_000 + b"1]", False),
    ],
)
def test_what_may_cost_much_is_read_in_another_process(data: bytes, here: bool) -> None:
    assert (read_piece(own_process, data) == os.getpid()) == here


def test_a_result_of_too_many_values_is_refused() -> None:
    assert len(few([1] * 99_999)) == 99_999
    for many in ([1] * 100_001, {"a": [[2]] * 60_000}):
        with pytest.raises(InvalidInput, match="more than 100,000 values"):
            few(many)


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


# Temporary folders

KILLED = """
    import sys, tempfile, time
    from memwell.runtime.transfer.files import PrivateFolder

    tempfile.tempdir = sys.argv[1]
    folder = PrivateFolder("uploads")
    (folder.path / "upload-1").write_text("my diary")
    print(folder.path, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with PrivateFolder("jobs") as first, PrivateFolder("uploads") as second:
            assert (left / "upload-1").read_text() == "my diary"
            process.kill()
            process.wait()
            with PrivateFolder("uploads"):
                assert not left.exists()
                assert first.is_dir()
                assert second.is_dir()
    assert list(tmp_path.iterdir()) == []

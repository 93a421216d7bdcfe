"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwell.storage.replacing import replace_file


def test_what_is_written_is_there_and_nothing_beside_it(tmp_path: Path):
    file = tmp_path / "a.json"
    replace_file(file, b"old")
    replace_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_the_rights_of_the_file_stay(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    file.chmod(0o640)
    replace_file(file, b"new")
    assert file.stat().st_mode & 0o777 == 0o640


def test_who_has_the_old_one_open_reads_it_to_its_end(tmp_path: Path):
    file = tmp_path / "a.json"
    replace_file(file, b"old")
    with file.open("rb") as opened:
        replace_file(file, b"something else")
        assert opened.read() == b"old"


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    (tmp_path / "a.json.new").mkdir()
    with pytest.raises(OSError, match=r"a\.json\.new"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"

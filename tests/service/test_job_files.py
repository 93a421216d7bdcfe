"""The files of jobs: for this user alone, and none left behind."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from memwell.errors import FileError
from memwell.service.job_files import JobFiles, Made


def test_folders_of_killed_processes_are_removed_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, fresh, others = (tmp_path / name for name in ("memwell-jobs-old", "memwell-jobs-fresh", "theirs"))
    for folder in (old, fresh, others):
        folder.mkdir()
        (folder / "export.jsonl").write_text("x")
    long_ago = time.time() - 2 * 86_400
    os.utime(old, (long_ago, long_ago))
    os.utime(others, (long_ago, long_ago))
    (tmp_path / "memwell-jobs-link").symlink_to(others)
    files = JobFiles()
    path = files.path("1", ".jsonl")
    assert not old.exists()
    assert (fresh / "export.jsonl").exists()
    assert (others / "export.jsonl").exists()
    files.close()
    assert not path.parent.exists()


def test_a_folder_that_was_taken_away_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = JobFiles()
    files.path("1", ".md").parent.rmdir()
    path = files.path("2", ".md")
    path.write_text("x")
    files.keep("2", Made(path=path, name="memories.md"))
    assert files.get("2") == (path, "memories.md")
    files.close()
    assert files.get("2") is None


def test_after_the_end_no_file_is_made_or_kept(tmp_path: Path):
    files = JobFiles()
    files.close()
    with pytest.raises(FileError):
        files.path("1", ".md")
    late = tmp_path / "late"
    late.write_text("x")
    files.keep("1", Made(path=late, name="late"))
    assert not late.exists()

"""The files of a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwell.errors import FileError
from memwell.knowledge.reading.folders import files_under


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "shelf"
    for name in (
        "b.md",
        "a.txt",
        "sub/c.md",
        "sub/deep/d.txt",
        ".hidden/e.md",
        "node_modules/f.md",
        ".g.md",
        "休假.md",
        "~$x.docx",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return root


def names(root: Path, **options: object) -> list[str]:
    return [path.relative_to(root).as_posix() for path in files_under(root, **options)]  # pyright: ignore[reportArgumentType]


def test_always_in_the_same_order_without_what_is_hidden(shelf: Path):
    assert names(shelf) == ["a.txt", "b.md", "休假.md", "sub/c.md", "sub/deep/d.txt"]
    assert names(shelf, exclude=("*.txt",)) == [
        ".g.md",
        "b.md",
        "~$x.docx",
        "休假.md",
        ".hidden/e.md",
        "node_modules/f.md",
        "sub/c.md",
    ]


def test_patterns_choose(shelf: Path):
    assert names(shelf, patterns=("*.md",)) == ["b.md", "休假.md", "sub/c.md"]
    assert names(shelf, patterns=("sub/*.txt",)) == ["sub/deep/d.txt"]


def test_links_lead_nowhere(shelf: Path, tmp_path: Path):
    (tmp_path / "outside.md").write_text("secret")
    (shelf / "link.md").symlink_to(tmp_path / "outside.md")
    (shelf / "loop").symlink_to(shelf, target_is_directory=True)
    (shelf / "up").symlink_to(tmp_path, target_is_directory=True)
    (shelf / "broken.txt").symlink_to(shelf / "nowhere")
    os.mkfifo(shelf / "pipe.md")
    assert names(shelf) == ["a.txt", "b.md", "休假.md", "sub/c.md", "sub/deep/d.txt"]
    told: list[str] = []
    names(shelf, on_link=lambda path: told.append(path.name))
    assert told == ["broken.txt", "link.md", "loop", "up"]
    told.clear()
    names(shelf, patterns=("*.md",), on_link=lambda path: told.append(path.name))
    assert told == ["link.md", "loop", "up"], "a folder may hold files that are wanted"


def test_a_file_is_itself_and_nothing_is_an_error(shelf: Path):
    assert list(files_under(shelf / "b.md")) == [shelf / "b.md"]
    with pytest.raises(FileError, match="nowhere"):
        list(files_under(shelf / "nowhere"))
    (shelf / "empty").mkdir()
    assert list(files_under(shelf / "empty")) == []


def test_a_folder_that_cannot_be_read_is_told_of(shelf: Path, monkeypatch: pytest.MonkeyPatch):
    whole = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(FileError, match="Permission denied"):
        list(files_under(shelf))
    told: list[Path] = []
    assert names(shelf, on_error=lambda path, _: told.append(path)) == ["a.txt", "b.md", "休假.md"]
    assert told == [shelf / "sub"]

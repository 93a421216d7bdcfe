from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Run, running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return running(capsys, monkeypatch, tmp_path)


def test_all_pictures_are_drawn_where_they_are_wanted(run: Run, tmp_path: Path):
    done = run("explain", "--to", "pictures", language="zh")
    assert done.code == 0
    assert "图片已写入" in done.out
    drawn = sorted(one.name for one in (tmp_path / "pictures").iterdir())
    assert drawn == ["memwell-attention.png", "memwell-context.png", "memwell-roadmap.png"]
    assert all((tmp_path / "pictures" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)


def test_one_is_enough_and_an_unknown_one_is_named(run: Run, tmp_path: Path):
    assert run("explain", "context").code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["memwell-context.png"]
    wrong = run("explain", "everything")
    assert wrong.code == 1
    assert "'everything'" in wrong.err
    assert "attention" in wrong.err

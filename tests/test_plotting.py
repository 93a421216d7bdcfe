"""Figures: whole or not at all, in a font that shows Chinese, and without a trace in the program that asked for them."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memwell.errors import FileError
from memwell.plotting import chinese_font, figure, save


def saved(path: Path, title: str, ticks: tuple[str, ...] = ()) -> bytes:
    fig = figure(3, 2)
    axes = fig.subplots()
    axes.set_title(title)
    if ticks:
        # Names as places: their labels are made only when they are drawn, or asked for.
        axes.bar(ticks, range(len(ticks)))
    save(fig, path)
    return path.read_bytes()


def test_a_figure_is_written_as_png_in_the_place_of_the_one_before(tmp_path: Path):
    path = tmp_path / "one.png"
    path.write_bytes(b"before")
    assert saved(path, "A title").startswith(b"\x89PNG\r\n\x1a\n")
    assert [one.name for one in tmp_path.iterdir()] == ["one.png"]


def test_chinese_is_shown_in_titles_and_labels(tmp_path: Path):
    font = chinese_font()
    assert font is not None, "no font here shows Chinese, and the package zhplot is not installed"
    # A character without a glyph is a warning of matplotlib's, and a warning is an error here.
    first = saved(tmp_path / "one.png", "分块大小", ("小块", "中块"))
    second = saved(tmp_path / "two.png", "召回率高", ("小块", "中块"))
    assert first != second


def test_without_a_font_nothing_is_lost_but_the_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.plotting.chinese_font", lambda: None)
    with pytest.warns(UserWarning, match="missing from font"):
        assert saved(tmp_path / "one.png", "分块大小")


def test_a_failed_write_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "folder.png", tmp_path / "nowhere" / "one.png"):
        with pytest.raises(FileError, match="cannot be written"):
            saved(path, "A title")
    assert [one.name for one in tmp_path.iterdir()] == ["folder.png"]
    assert list((tmp_path / "folder.png").iterdir()) == []


def test_figures_may_be_made_in_several_threads(tmp_path: Path):
    made: list[bytes] = []
    threads = [
        threading.Thread(target=lambda number=number: made.append(saved(tmp_path / f"{number}.png", f"标题 {number}")))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(set(made)) == 4


def test_nothing_of_matplotlib_that_belongs_to_the_program_is_touched(tmp_path: Path):
    program = (
        "import sys, matplotlib\n"
        # Reading the backend chooses one, which is not ours to do.
        "settings = lambda: {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != 'backend'}\n"
        "before = settings()\n"
        "from memwell.plotting import figure, save\n"
        "fig = figure(3, 2); fig.subplots().set_title('标题')\n"
        f"save(fig, {str(tmp_path / 'one.png')!r})\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'zhplot' not in sys.modules\n"
        "print('clean')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "clean\n", done.stderr


def test_matplotlib_is_not_loaded_by_importing_the_room():
    program = "import sys, memwell.plotting; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

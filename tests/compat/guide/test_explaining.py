from __future__ import annotations

from pathlib import Path

import pytest

from memwell.compat.guide.explaining import demonstrate_attention_complexity, plot_context_length_evolution
from memwell.errors import FileError, InvalidInput


def test_the_table_shows_and_returns_the_cost_of_each_length(capsys: pytest.CaptureFixture[str]):
    rows = demonstrate_attention_complexity()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 + len(rows) == 6
    assert [row["memory_mb"] for row in rows] == [1, 4, 16, 64, 256]
    for row, line in zip(rows, printed[1:], strict=True):
        assert f"{row['computations']}" in line


@pytest.mark.parametrize("lengths", ["512", [0], [512, "x"], 7])
def test_what_is_no_length_is_refused(lengths: list[int]):
    with pytest.raises(InvalidInput):
        demonstrate_attention_complexity(lengths)


def test_the_picture_is_written_or_the_file_is_as_it_was(tmp_path: Path):
    path = tmp_path / "context.png"
    assert plot_context_length_evolution(path) is not None
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileError):
        plot_context_length_evolution(tmp_path / "nowhere" / "context.png")
    plot_context_length_evolution(None)
    assert [one.name for one in tmp_path.iterdir()] == ["context.png"]

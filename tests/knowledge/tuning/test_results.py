"""What tuning reports: a table that lines up in both languages, words that claim no more than was measured, and a plot."""

from __future__ import annotations

import builtins
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memwell.errors import FileError, InvalidInput, MissingDependency
from memwell.knowledge.chunking import Chunking
from memwell.knowledge.tuning.measuring import Figures
from memwell.knowledge.tuning.results import OUTCOMES, Trial, Tuned, Verdict


def trial(tokens: int, overlap: int, score: float, *, expand: bool = True, rerank: bool = False) -> Trial:
    held_out = Figures(0.9, 0.8, 0.95, score, score - 0.05, min(1.0, score + 0.05), 50)
    return Trial(Chunking(tokens, overlap), expand, rerank, 0.9, 0.8, 0.95, score, 120, held_out)


TUNED = Tuned(
    best=Chunking(128, 0),
    expand=True,
    rerank=False,
    trials=(
        trial(256, 32, 0.80),
        *(trial(size, overlap, score) for size, overlap, score in ((64, 0, 0.85), (64, 10, 0.84), (128, 0, 0.9))),
        *(trial(size, overlap, score) for size, overlap, score in ((128, 19, 0.88), (512, 0, 0.7), (512, 77, 0.69))),
        trial(128, 0, 0.91, rerank=True),
        trial(128, 0, 0.89, expand=False),
    ),
    questions=100,
    held_out=50,
    in_use=Chunking(),
    cutting=Verdict("better", 0.1, 0.02, 0.18),
    asking=Verdict("noise", 0.01, -0.02, 0.04),
)
NOTHING = replace(TUNED, trials=(), cutting=Verdict("few"), asking=Verdict("few"), best=Chunking())


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.mark.parametrize("language", ["en", "zh", "zh-CN", "zh_CN"])
def test_the_table_has_a_line_for_every_trial_and_lines_up(language: str):
    lines = TUNED.table(language).split("\n")
    rows = lines[: lines.index("")]
    assert len(rows) == 1 + len(TUNED.trials)
    # The column of the sizes ends at the same place in each, wide characters counted as two.
    ends = {columns(row[: len(row) - len(row.lstrip())] + row.split()[0]) for row in rows}
    assert len(ends) == 1


def test_the_table_marks_what_is_in_use_and_what_is_advised():
    english, chinese = TUNED.table(), TUNED.table("zh")
    assert [line.split()[:2] for line in english.split("\n") if "advised" in line] == [["128", "0"]]
    assert [line.split()[:2] for line in english.split("\n") if "(in use)" in line] == [["256", "32"]]
    assert [line.split()[:2] for line in chinese.split("\n") if "建议" in line] == [["128", "0"]]
    assert "留出" in chinese


def test_the_words_claim_what_was_measured():
    assert "0.100 higher" in TUNED.note
    assert "+0.020 to +0.180" in TUNED.note
    assert "may be chance" in TUNED.note
    assert "高 0.100" in TUNED.in_words("zh")
    assert "可能只是偶然" in TUNED.in_words("zh")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_has_its_words(outcome: str, language: str):
    verdict = Verdict(outcome, 0.1, 0.0, 0.2)
    told = replace(TUNED, cutting=verdict, asking=verdict, share=0.5).in_words(language)
    assert "128" in told
    assert "50%" in told
    assert "{" not in told


def test_what_is_advised_is_a_trial_or_nothing():
    assert TUNED.advised == TUNED.trials[3]
    assert NOTHING.advised is None
    assert "too few" in NOTHING.table()


def test_another_language_is_refused():
    for language in ("fr", "", None, 3):
        with pytest.raises(InvalidInput):
            TUNED.table(language)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput):
            TUNED.plot("/nowhere.png", language=language)  # pyright: ignore[reportArgumentType]


# The plot


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_plot_is_a_png(tmp_path: Path, language: str):
    written = TUNED.plot(tmp_path / "tuned.png", language=language)
    assert written.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [one.name for one in tmp_path.iterdir()] == ["tuned.png"]


def test_a_plot_of_one_way_of_asking_and_one_size_is_drawn_too(tmp_path: Path):
    few = replace(TUNED, trials=TUNED.trials[:1], best=Chunking())
    assert few.plot(tmp_path / "one.png").stat().st_size > 5_000


def test_nothing_tried_is_nothing_to_draw(tmp_path: Path):
    with pytest.raises(InvalidInput, match="no questions"):
        NOTHING.plot(tmp_path / "none.png")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(FileError, match="nowhere"):
        TUNED.plot(tmp_path / "nowhere" / "tuned.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"memwell\[plots\]"):
        TUNED.plot(tmp_path / "tuned.png")

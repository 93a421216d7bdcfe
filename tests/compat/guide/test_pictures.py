"""Pictures and tables that explain memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwell.compat.guide.pictures import (
    CONTEXT_LENGTHS,
    TechnologyRoadmap,
    attention_figure,
    context_figure,
    demonstrate_attention_complexity,
    plot_context_length_evolution,
    roadmap_figure,
)
from memwell.errors import FileError, InvalidInput


def texts(fig: object) -> list[str]:
    from matplotlib.text import Text

    return [one.get_text() for one in fig.findobj(Text) if one.get_text()]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_picture_is_labelled_in_its_language(language: str):
    for fig in (attention_figure([512, 1024], language), context_figure(language)):
        has_chinese = any("\u4e00" <= char <= "\u9fff" for text in texts(fig) for char in text)
        assert has_chinese == (language == "zh")


def test_every_model_and_every_milestone_is_on_the_picture():
    shown = " ".join(texts(context_figure("en")))
    assert all(one.model in shown for one in CONTEXT_LENGTHS)
    drawn = texts(roadmap_figure({"2024": ("检索", ["混合检索", "多模态"]), "2030": ("远方", [])}))
    assert {"2024", "2030", "检索", "混合检索", "多模态", "远方"} <= set(drawn)


def test_chinese_is_set_in_a_font_that_has_it():
    from matplotlib import ft2font
    from matplotlib.text import Text

    fig = roadmap_figure({"2024": ("检索", ["混合检索"])})
    for one in fig.findobj(Text):
        if "\u4e00" <= one.get_text()[:1] <= "\u9fff":
            font = ft2font.FT2Font(str(one.get_fontproperties().get_file()))
            assert all(font.get_char_index(ord(char)) for char in one.get_text())


@pytest.mark.parametrize(
    "make",
    [
        lambda: context_figure("fr"),
        lambda: roadmap_figure({}),
        lambda: TechnologyRoadmap("fr"),
        lambda: demonstrate_attention_complexity([0]),
        lambda: demonstrate_attention_complexity([512, -1]),
    ],
)
def test_what_cannot_be_drawn_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_the_table_shows_and_returns_the_cost_of_each_length(capsys: pytest.CaptureFixture[str]):
    rows = demonstrate_attention_complexity()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 + len(rows) == 6
    assert [row["memory_mb"] for row in rows] == [1, 4, 16, 64, 256]
    for row, line in zip(rows, printed[1:], strict=True):
        assert f"{row['computations']}" in line


def test_the_picture_is_written_or_the_file_is_as_it_was(tmp_path: Path):
    path = tmp_path / "context.png"
    assert plot_context_length_evolution(path) is not None
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileError):
        plot_context_length_evolution(tmp_path / "nowhere" / "context.png")
    plot_context_length_evolution(None)
    assert [one.name for one in tmp_path.iterdir()] == ["context.png"]


def test_a_year_that_is_added_is_drawn():
    roadmap = TechnologyRoadmap()
    roadmap.roadmap["2028"] = {"focus": "联邦记忆", "milestones": ["隐私记忆"]}
    assert {"2028", "联邦记忆", "隐私记忆"} <= set(texts(roadmap.generate_roadmap_chart()))
    assert "2028" not in TechnologyRoadmap().roadmap

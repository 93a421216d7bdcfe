from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.examples.running import Printed

SVG = "{http://www.w3.org/2000/svg}"


def words(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def run(printed: Printed, folder: Path, *options: str) -> tuple[str, str]:
    """What it prints and what it draws."""
    said = printed("three_agents.py", folder, *options)
    return said, (folder / "who_knows_what.svg").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def english(printed: Printed, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return run(printed, tmp_path_factory.mktemp("english"))


def test_the_three_find_a_place_and_keep_to_what_was_granted(english: tuple[str, str]):
    printed, _ = english
    assert "Planner: Then it is Harbour Hall." in printed
    assert "Space('critic') for reading only" in printed
    assert "Space('planner') has not granted its memory to Space('critic')" in printed
    assert "closed to it: Space('blackboard') has not granted" in printed


def test_who_can_answer_follows_from_whose_memory_it_is(english: tuple[str, str]):
    printed, _ = english
    table = printed.partition("What each of them can answer\n")[2]
    found = [line.split(": ")[1] for line in table.splitlines() if line.startswith("    ")]
    own, board, heard, unknown = "from its own memory", "from the blackboard", "heard it said", "does not know"
    assert found == [own, unknown, unknown, unknown, own, unknown, heard, heard, own, board, board, board]


def test_the_picture_stands_alone_and_tells_the_same(english: tuple[str, str]):
    _, picture = english
    drawn = ElementTree.fromstring(picture)
    assert {one.tag.removeprefix(SVG) for one in drawn.iter()}.isdisjoint({"script", "image", "use", "foreignObject"})
    assert picture.count("http") == 1, "the name of SVG's own vocabulary, and no address"
    said = words(picture)
    for expected in (
        "Who knows what",
        "Planner",
        "Researcher",
        "Critic",
        "nobody else knows",
        "has left",
        "reads and writes",
    ):
        assert expected in said
    assert said.count("nobody else knows") == 2
    # The secret is in the planner's memory alone.
    assert sum("may raise the budget" in one for one in said) == 1


def test_it_is_the_same_every_time(english: tuple[str, str], tmp_path: Path, printed: Printed):
    assert run(printed, tmp_path) == english


def test_it_speaks_chinese(tmp_path: Path, printed: Printed):
    said, picture = run(printed, tmp_path, "--language", "zh")
    assert "策划: 那就定在海港大厅。" in said
    assert "谁知道什么" in words(picture)
    assert not any("Planner" in one for one in words(picture))

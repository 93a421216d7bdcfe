from __future__ import annotations

import pytest

from memwell.compat.guide.roadmap import TechnologyRoadmap
from memwell.errors import InvalidInput


def test_both_languages_have_the_same_years_and_as_many_milestones():
    chinese, english = TechnologyRoadmap(), TechnologyRoadmap("en")
    assert list(chinese.roadmap) == list(english.roadmap) == ["2024", "2025", "2026", "2027"]
    for year in chinese.roadmap:
        assert len(chinese.roadmap[year]["milestones"]) == len(english.roadmap[year]["milestones"]) == 3


def test_a_year_that_is_added_is_drawn():
    from matplotlib.text import Text

    roadmap = TechnologyRoadmap()
    roadmap.roadmap["2028"] = {"focus": "联邦记忆", "milestones": ["隐私记忆"]}
    drawn = {one.get_text() for one in roadmap.generate_roadmap_chart().findobj(Text)}
    assert {"2028", "联邦记忆", "隐私记忆"} <= drawn
    assert "2028" not in TechnologyRoadmap().roadmap


def test_another_language_is_refused():
    with pytest.raises(InvalidInput):
        TechnologyRoadmap("fr")

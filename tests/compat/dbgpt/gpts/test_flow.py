"""The plan as SVG: boxes that do not overlap, below what they build on."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.drawing import links_of
from memwell.compat.dbgpt.gpts.flow import MOST_BOXES, flow_svg
from memwell.compat.dbgpt.gpts.phrases import phrases_in
from memwell.compat.dbgpt.gpts.values import GptsPlan

ENGLISH = phrases_in("en")


def corners(svg: str) -> list[tuple[int, int]]:
    return [(int(x), int(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)" width="190"', svg)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=10))
def test_boxes_stand_apart_and_the_drawing_is_well_formed(relies: list[list[int]]) -> None:
    plans = [GptsPlan("c", place, "<&>\0\n" * 9, rely=",".join(map(str, rely))) for place, rely in enumerate(relies)]
    svg = flow_svg(plans, links_of(plans), ENGLISH)
    root = ElementTree.fromstring(svg)
    places = corners(svg)
    assert len(places) == len(plans)
    for at, (x, y) in enumerate(places):
        assert x + 190 <= int(root.attrib["width"])
        assert y + 76 <= int(root.attrib["height"])
        assert all(abs(x - a) >= 190 or abs(y - b) >= 76 for a, b in places[:at])


def test_a_step_stands_below_all_it_builds_on() -> None:
    plans = [GptsPlan("c", number, "x", rely=rely) for number, rely in ((1, None), (2, "1"), (3, "1"), (4, "2,3"))]
    heights = [y for _, y in corners(flow_svg(plans, links_of(plans), ENGLISH))]
    assert heights[0] < heights[1] == heights[2] < heights[3]


def test_steps_in_a_circle_are_drawn_too() -> None:
    plans = [GptsPlan("c", 1, "x", rely="2"), GptsPlan("c", 2, "y", rely="1")]
    svg = flow_svg(plans, links_of(plans), ENGLISH)
    assert len(corners(svg)) == svg.count('class="link"') == 2


def test_without_links_the_order_is_dotted() -> None:
    plans = [GptsPlan("c", number, "x") for number in range(3)]
    assert flow_svg(plans, [], ENGLISH).count('class="link order"') == 2


def test_a_very_long_plan_is_drawn_in_part_and_says_so() -> None:
    plans = [GptsPlan("c", number, "x", rely=str(number - 1)) for number in range(1, 100)]
    svg = flow_svg(plans, links_of(plans), ENGLISH)
    assert len(corners(svg)) == MOST_BOXES
    assert "39 further steps are not drawn." in svg


def test_long_titles_take_two_lines() -> None:
    texts = re.findall(
        r'class="name">([^<]*)<', flow_svg([GptsPlan("c", 1, "Compare with earlier quarters")], [], ENGLISH)
    )
    assert texts == ["1. Compare with", "earlier quarters"]
    chinese = re.findall(r'class="name">([^<]*)<', flow_svg([GptsPlan("c", 1, "比较" * 30)], [], ENGLISH))
    assert len(chinese) == 2
    assert chinese[1].endswith("…")

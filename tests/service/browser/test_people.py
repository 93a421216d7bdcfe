"""The page of a person or a thing, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from tests.service.browser.conftest import House, Visit

Begin = Callable[..., Visit]
SPACE = Space("acme", "folk")


@pytest.fixture(scope="module")
def folk(house: House) -> str:
    """The key of a space with the facts of a few people."""
    memory, now = house.service.memory_of(SPACE), utc_now()
    for days, speaker, text in (
        (400, "Ann", "I live in Hamburg."),
        (240, "Ann", "I moved to Lisbon."),
        (120, "Ann", "My sister is Dora."),
        (100, "Ann", "I like jazz."),
        (90, "Ann", "My birthday is on 3 May 1990."),
        (80, "Dora", "I work at Globex."),
        (70, "Ben", "I live in Lisbon."),
        *((60 - day, "Ann", f"Today I saw ship number {day}.") for day in range(30)),
    ):
        memory.remember(text, speaker=speaker, time=now - timedelta(days=days), id=f"{speaker}-{days}")
    memory.catch_up()
    _, token = house.service.keys.create("folk", space=SPACE, scopes=["read", "write"])
    return token


def _memory(here: Visit) -> Engine:
    return here.house.service.memory_of(SPACE)


def _along(graph: Any, name: str, *, outwards: bool = True) -> str:
    """The relation to a name, whose arrow points along it on whichever side of the middle the name stands."""
    node = graph.locator(f".ego-node[data-name={name}] rect").bounding_box()
    middle = graph.locator(".n-start rect").bounding_box()
    to_the_right = (node["x"] > middle["x"]) == outwards
    for label in graph.locator(".edge-name").all():
        box = label.bounding_box()
        if box["y"] < node["y"] + node["height"] and node["y"] < box["y"] + box["height"]:
            beside = abs(box["x"] + box["width"] - node["x"]) < 20 or abs(node["x"] + node["width"] - box["x"]) < 20
            if beside:
                text = label.text_content()
                assert text.endswith(" →") if to_the_right else text.startswith("← ")
                return text.strip(" ←→")
    raise AssertionError(f"no relation stands at {name}")


def test_what_is_known_has_its_time_and_evidence_and_what_is_over_on_demand(visit: Begin, folk: str) -> None:
    here = visit()
    here.enter("/people/Ann", key=folk)
    known = here.page.locator("[data-part=known]")
    lives = known.locator("tr", has_text="lives in")
    assert "Lisbon" in lives.inner_text()
    assert lives.locator(".evidence a").count() == 1
    assert "Hamburg" not in known.inner_text()
    known.locator("input[type=checkbox]").check()
    assert "Hamburg" in known.locator("tbody").inner_text()
    assert known.locator(".over").inner_text() == "Hamburg"
    known.locator("input[type=checkbox]").uncheck()
    known.locator("input[type=date]").fill((utc_now() - timedelta(days=300)).date().isoformat())
    here.settle()
    assert "Hamburg" in known.locator("tbody").inner_text()
    assert "Lisbon" not in known.locator("tbody").inner_text()


def test_a_past_day_is_shown_as_the_service_tells_it(visit: Begin, folk: str) -> None:
    """What was corrected since then is right for that day, too."""
    here, day = visit(), utc_now() - timedelta(days=45)
    memory = _memory(here)
    memory.remember("I live in Rome. My email is max@example.com.", speaker="Max", time=utc_now() - timedelta(days=60))
    memory.catch_up()
    memory.facts.correct("Max", "lives_in", "Bari")
    here.enter("/people/Max", key=folk)
    known = here.page.locator("[data-part=known]")
    known.locator("input[type=date]").fill(day.date().isoformat())
    here.settle()
    expected = {fact.object for fact in memory.facts_about("Max", as_of=day)}
    assert expected == {"Bari", "max@example.com"}
    assert set(known.locator("tbody td:nth-child(2)").all_inner_texts()) == expected


def test_relatives_and_favourites_are_named_in_chinese(visit: Begin, house: House) -> None:
    space = Space("acme", "kin")
    memory = house.service.memory_of(space)
    memory.remember("My mother lives in Graz.")
    memory.remember("我最喜欢的菜是水煮鱼。")
    memory.catch_up()
    _, token = house.service.keys.create("kin", space=space, scopes=["read"])
    here = visit(language="zh-CN")
    here.enter("/people/user", key=token)
    assert "用户的母亲" in here.page.inner_text(".side-list")
    assert here.page.locator("[data-part=known] tr", has_text="水煮鱼").locator("td").first.inner_text() == "最喜欢的菜"


@pytest.mark.parametrize("width", [1100, 390])
def test_the_graph_has_names_as_nodes_values_as_attributes_and_opens_on_a_click(
    visit: Begin, folk: str, width: int
) -> None:
    here = visit(width=width)
    here.enter("/people/Ann", key=folk)
    graph = here.page.locator("[data-part=relations]")
    names = {one.get_attribute("data-name") for one in graph.locator("[data-name]").all()}
    assert names == {"Lisbon", "Dora"}
    assert "jazz" in graph.locator(".attributes").inner_text()
    assert "3 May 1990" in graph.locator(".attributes").inner_text()
    assert {_along(graph, "Lisbon"), _along(graph, "Dora")} == {"lives in", "brother or sister"}
    graph.locator("[data-name=Dora]").click()
    graph.locator("[data-name=Globex]").wait_for()
    assert graph.locator("[data-name=Dora]").get_attribute("aria-expanded") == "true"
    # All of it is seen, also where the picture is too narrow for both sides and what was opened.
    box, node = (graph.locator(one).bounding_box() for one in (".ego-box", "[data-name=Globex] rect"))
    assert box["x"] <= node["x"]
    assert node["x"] + node["width"] <= box["x"] + box["width"]
    # By the keyboard: closed again, and gone to.
    here.page.keyboard.press("Enter")
    graph.locator("[data-name=Globex]").wait_for(state="detached")
    here.page.keyboard.press("o")
    here.page.wait_for_selector(".profile-head >> text=Dora")


def test_a_thing_is_found_by_its_name_with_who_is_connected(visit: Begin, folk: str) -> None:
    here = visit()
    here.enter("/people", key=folk)
    here.page.fill("[data-search]", "lisbon")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".profile-head >> text=lisbon")
    here.settle()
    names = {one.get_attribute("data-name") for one in here.page.locator("[data-part=relations] [data-name]").all()}
    assert names == {"Ann", "Ben"}
    relations = here.page.locator("[data-part=relations]")
    assert _along(relations, "Ann", outwards=False) == _along(relations, "Ben", outwards=False) == "lives in"
    assert "mentions it" in here.page.inner_text("[data-part=when] h3")


def test_at_most_thirty_names_are_drawn(visit: Begin, house: House) -> None:
    space = Space("acme", "hub")
    memory = house.service.memory_of(space)
    _, token = house.service.keys.create("hub", space=space, scopes=["read"])
    cities = [
        f"{one}{other}burg"
        for one in ("Kal", "Mor", "Sel", "Tan", "Ver", "Wol")
        for other in ("a", "e", "i", "o", "u", "y")
    ]
    memory.remember([f"I visited {city}." for city in cities], speaker="Hub")
    memory.catch_up()
    assert len(memory.facts_about("Hub", relation="visited")) > 30
    here = visit()
    here.enter("/people/Hub", key=token)
    assert here.page.locator(".ego-node").count() == 30
    assert "more are not drawn" in here.page.inner_text("[data-part=relations]")


def test_the_timeline_counts_all_memories_and_zooms(visit: Begin, folk: str) -> None:
    """The service counts: a closer look has its own numbers, and leads to the table of just these."""
    here = visit()
    here.enter("/people/Ann", key=folk)
    strip = here.page.locator(".strip")
    strip.wait_for()
    here.page.wait_for_selector(".strip[data-total='35']")
    span = "node => Number(node.dataset.to) - Number(node.dataset.from)"
    whole = strip.evaluate(span)
    strip.focus()
    here.page.keyboard.press("ArrowUp")
    assert strip.evaluate(span) == pytest.approx(whole / 2, rel=0.01)
    here.page.keyboard.press("End")
    here.page.wait_for_selector(".strip[data-total='33']")
    assert here.page.locator(".strip circle.e-began").count() >= 3
    here.page.click("[data-part=when] >> text=in the table")
    here.page.wait_for_selector("tr.memory")
    assert {"Ann"} == set(here.page.locator("tr.memory .c-speaker").all_inner_texts())


def test_prompts_that_used_what_is_known_are_listed(visit: Begin, folk: str) -> None:
    here = visit()
    _memory(here).context("Where does Ann live?", budget=400)
    here.enter("/people/Ann", key=folk)
    here.page.wait_for_selector("[data-part=prompts] tbody tr")
    assert here.page.locator("[data-part=prompts] .evidence a").count() >= 1


@pytest.mark.parametrize(
    ("language", "correct", "retract", "by_hand"),
    [("en-US", "Correct: lives in", "Not true: likes", "by hand"), ("zh-CN", "更正：住在", "不属实：喜欢", "人工")],
)
def test_a_fact_is_put_right_in_place(visit: Begin, language: str, correct: str, retract: str, by_hand: str) -> None:
    """Corrected with its former value in the history, and retracted; a reader may not."""
    here = visit(language=language)
    name = f"Cleo {language[:2]}"
    memory = here.house.service.memory_of(here.house.service.keys.check(here.house.owner).space)
    for text in ("I live in Rome.", "I like jazz.", "I used to work at Acme."):
        memory.remember(text, speaker=name)
    memory.catch_up()
    here.enter(f"/people/{name}")
    here.page.locator(f".known [aria-label^='{correct}']").click()
    here.page.fill("dialog input >> nth=0", "Porto")
    here.page.click("dialog button[type=submit]")
    here.page.wait_for_selector("dialog", state="detached")
    lived = here.page.locator(".known tr", has_text="Porto")
    lived.wait_for()
    assert [fact.object for fact in memory.facts_about(name, relation="lives_in")] == ["Porto"]
    assert by_hand in lived.inner_text()
    undo, undone = ("Undo", "Undone") if language == "en-US" else ("撤销", "已撤销")
    here.page.click(f".toast button:has-text('{undo}')")
    here.page.wait_for_selector(f".toast >> text={undone}")
    assert [fact.object for fact in memory.facts_about(name, relation="lives_in")] == ["Rome"]
    memory.facts.correct(name, "lives_in", "Porto")
    here.page.reload()
    here.settle()
    here.page.locator(f".known [aria-label^='{retract}']").click()
    here.page.click("dialog button[type=submit]")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.locator(".known tr", has_text="jazz").wait_for(state="detached")
    assert memory.facts_about(name, relation="likes") == []
    here.page.click(f".toast button:has-text('{undo}')")
    here.page.locator(".known tr", has_text="jazz").wait_for()
    assert [fact.object for fact in memory.facts_about(name, relation="likes")] == ["jazz"]
    memory.facts.retract(name, "likes", "jazz")
    here.page.reload()
    here.settle()
    here.page.check("[data-part=known] input[type=checkbox]")
    told = here.page.inner_text("[data-part=known] table")
    assert "Rome" in told
    assert "jazz" in told
    here.enter(f"/people/{name}", key=here.house.reader)
    assert here.page.locator(f".known [aria-label^='{correct}']").is_disabled()

"""The table of memories and what answers a question, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.engine import Engine
from tests.service.browser.conftest import House, Visit

Begin = Callable[..., Visit]
SPACE = Space("acme", "desk")


@pytest.fixture(scope="module")
def desk(house: House) -> str:
    """The key of a space with sixty notes of two people in three projects."""
    memory, now = house.service.memory_of(SPACE), utc_now()
    for number in range(60):
        memory.remember(
            f"Note {number} of the {'budget' if number % 3 else 'release'}.",
            speaker="Ann" if number % 2 else "Ben",
            session="standup" if number % 5 else "lunch",
            metadata={"project": ("apollo", "orion", "zephyr")[number % 3], "urgent": number % 10 == 0},
            time=now - timedelta(days=number),
            id=f"note-{number}",
        )
    memory.remember("I live in Hamburg.", speaker="Cleo", time=now - timedelta(days=300), id="old-home")
    memory.remember("I moved to Lisbon.", speaker="Cleo", time=now - timedelta(days=200), id="new-home")
    _, token = house.service.keys.create("desk", space=SPACE, scopes=["read", "write", "erase"])
    return token


def _memory(here: Visit) -> Engine:
    return here.house.service.memory_of(SPACE)


def _texts(here: Visit) -> list[str]:
    return here.page.locator("tr.memory .text").all_inner_texts()


def test_a_laptop_shows_at_least_25_memories_at_once(visit: Begin, desk: str) -> None:
    here = visit(width=1366)
    here.page.set_viewport_size({"width": 1366, "height": 768})
    here.enter("/memories", key=desk)
    seen = "[...document.querySelectorAll('tr.memory')].filter(r => r.getBoundingClientRect().bottom <= innerHeight).length"
    assert here.page.evaluate(seen) >= 25
    assert "62 memories" in here.page.inner_text(".page-head")


def test_the_table_is_narrowed_while_words_are_typed(visit: Begin, desk: str) -> None:
    """In any case; the address tells of it, so that it can be shared."""
    here = visit()
    here.enter("/memories", key=desk)
    here.page.focus("[data-search]")
    here.page.keyboard.type("NOTE 1 rel", delay=5)
    here.page.wait_for_selector("tr.memory[data-id=note-1]", state="detached")
    here.page.wait_for_selector("text=/^\\d+ memories$/")
    assert all("release" in text and "Note" in text for text in _texts(here))
    assert "text=NOTE" in here.page.url
    marks = {text.casefold() for text in here.page.locator("tr.memory mark").all_inner_texts()}
    assert marks == {"note", "1", "rel"}
    here.page.fill("[data-search]", "")
    here.page.wait_for_selector("text=62 memories")


def test_a_word_far_behind_is_seen_in_its_row(visit: Begin, desk: str) -> None:
    here = visit()
    _memory(here).remember(f"{'Many words about nothing. ' * 20}The anchor is green.", id="far")
    here.enter("/memories?text=anchor", key=desk)
    row, mark = (here.page.locator(f"tr[data-id=far] {one}").bounding_box() for one in (".c-text", "mark"))
    assert mark["x"] + mark["width"] < row["x"] + row["width"]
    _memory(here).erase(["far"])


def test_facets_count_and_narrow_the_table(visit: Begin, desk: str) -> None:
    """Each is counted without its own choice, so that a second value can be added; also a range of days."""
    here = visit()
    here.enter("/memories", key=desk)
    here.page.click("details[data-field=speaker] summary")
    assert here.page.locator("details[data-field=speaker] label").all_inner_texts() == ["Ann\n30", "Ben\n30", "Cleo\n2"]
    here.page.check("details[data-field=speaker] input[value=Ann]")
    here.page.wait_for_selector("text=30 memories")
    here.page.check("details[data-field=speaker] input[value=Cleo]")
    here.page.wait_for_selector("text=32 memories")
    here.page.click("details[data-field='metadata.project'] summary")
    here.page.check("details[data-field='metadata.project'] input[value=apollo]")
    here.page.wait_for_selector("text=10 memories")
    assert {"Ann"} == set(here.page.locator("tr.memory .c-speaker").all_inner_texts())
    here.go("/memories?metadata.urgent=true")
    here.page.wait_for_selector("text=6 memories")
    day = (utc_now() - timedelta(days=3)).date().isoformat()
    here.go(f"/memories?since={day}&until={day}")
    here.page.wait_for_selector("text=One memory")


def test_columns_that_tell_nothing_leave_their_room_to_the_text(visit: Begin, house: House) -> None:
    space = Space("acme", "plain")
    memory = house.service.memory_of(space)
    for number in range(3):
        memory.remember(f"Plain note {number}.", speaker="Ann" if number else None)
    _, token = house.service.keys.create("plain", space=space, scopes=["read", "write"])
    here = visit()
    here.enter("/memories", key=token)
    columns = here.page.locator("thead th:visible").all_inner_texts()
    assert [name.strip(" ↓") for name in columns[1:]] == ["Text", "Speaker", "Importance", "Said"]
    assert here.page.locator("th.c-text").bounding_box()["width"] > 500
    here.go("/memories?sort=kind")
    assert here.page.locator("th.c-kind").is_visible(), "what it is sorted by is seen"


def test_days_in_the_wrong_order_are_said_to_be_so(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories?since=2026-08-01&until=2026-06-01", key=desk)
    assert "The first day lies after the last one." in here.page.inner_text("#memories-list .empty")


def test_columns_sort_both_ways(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories", key=desk)
    assert here.page.get_attribute("th.c-said", "aria-sort") == "descending"
    here.page.click("th.c-speaker button")
    here.page.wait_for_selector("th.c-speaker[aria-sort=ascending]")
    names = here.page.locator("tr.memory .c-speaker").all_inner_texts()
    assert names == sorted(names)
    assert names[0] == "Ann"
    here.page.click("th.c-speaker button")
    here.page.wait_for_selector("th.c-speaker[aria-sort=descending]")
    assert here.page.inner_text("tr.memory .c-speaker >> nth=0") == "Cleo"
    here.page.click("th.c-said button")
    here.page.click("th.c-said button")
    here.page.wait_for_selector("th.c-said[aria-sort=ascending]")
    assert _texts(here)[0] == "I live in Hamburg."
    here.page.click("th.c-weight button")
    here.page.wait_for_selector("th.c-weight[aria-sort=descending]")
    here.settle()
    weights = [float(text) for text in here.page.locator("tr.memory .c-weight").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) > 1


def test_a_memory_is_added_opened_by_its_row_and_edited(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories", key=desk)
    here.page.click(".page-head >> text=Add")
    assert "One memory, also with several lines." in here.page.inner_text("#new-memory")
    here.page.fill("#new-memory textarea >> nth=0", "The printer is on the third floor.")
    here.page.fill("#new-memory input >> nth=0", "Dora")
    here.page.fill("#new-memory textarea.mono", '{"project": "office"}')
    here.page.click("#new-memory button[type=submit]")
    row = here.page.locator("tr.memory", has_text="printer")
    row.locator(".c-speaker").click()
    here.page.wait_for_selector("dialog .full-text >> text=third floor")
    assert row.get_attribute("data-id") in here.page.inner_text("dialog .facts-list").split(), "the whole id"
    here.page.click("dialog >> text=Edit")
    here.page.fill("dialog textarea", "The printer is on the fourth floor.")
    here.page.click("dialog >> text=Save")
    here.page.wait_for_selector("dialog .full-text >> text=fourth floor")
    (found,) = _memory(here).browse(text="printer").items
    assert (found.text, found.speaker, found.metadata) == (
        "The printer is on the fourth floor.", "Dora", {"project": "office"},
    )  # fmt: skip
    _memory(here).erase([found.id])


def test_several_are_forgotten_restored_pinned_saved_and_erased(visit: Begin, desk: str) -> None:
    here = visit()
    memory = _memory(here)
    for name in ("one", "two", "three"):
        memory.remember(f"Bulk {name}.", id=f"bulk-{name}")
    here.enter("/memories?text=bulk", key=desk)

    def choose(*names: str) -> None:
        for name in names:
            here.page.check(f"tr[data-id=bulk-{name}] input")

    choose("one", "two")
    assert "2 chosen" in here.page.inner_text(".bulk")
    here.page.click(".bulk >> text=Forget")
    here.page.wait_for_selector("tr[data-id=bulk-one]", state="detached")
    assert [one.id for one in memory.browse(text="bulk").items] == ["bulk-three"]
    here.page.click(".toast >> text=Undo")
    here.page.wait_for_selector("tr[data-id=bulk-one]")
    choose("one", "two")
    here.page.click(".bulk >> text=Pin")
    here.page.wait_for_selector("tr[data-id=bulk-two] .icon")
    assert memory.browse(chosen={"pinned": [True]}).total == 2
    here.page.check("thead input[type=checkbox]")
    with here.page.expect_download() as saved:
        here.page.click(".bulk >> text=Save as file")
    lines = [json.loads(line) for line in saved.value.path().read_text().splitlines()]
    assert {line["id"] for line in lines} == {"bulk-one", "bulk-two", "bulk-three"}
    here.page.click(".bulk >> text=Erase for good")
    assert "Their texts, their versions" in here.page.inner_text("dialog")
    here.page.fill("dialog input", "erase")
    here.page.click("dialog button.danger")
    here.page.wait_for_selector("text=No memory fits these filters")
    assert memory.browse(text="bulk").total == 0


def test_what_was_done_covers_nothing_of_what_can_be_done_next(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories", key=desk)
    here.page.check("tr[data-id=note-3] input")
    here.page.click(".bulk >> text=Pin")
    here.page.wait_for_selector("tr[data-id=note-3] .icon")
    here.page.check("tr[data-id=note-4] input")
    bar, toast = (here.page.locator(one).bounding_box() for one in (".bulk", ".toast"))
    assert toast["y"] + toast["height"] <= bar["y"]
    _memory(here).pin("note-3", pinned=False)


def test_all_that_fits_the_filters_is_erased_at_once(visit: Begin, desk: str) -> None:
    """Also what is not shown; not while nothing is narrowed, nor by words, which are no filter."""
    here = visit()
    memory = _memory(here)
    for number in range(70):
        memory.remember(f"Heap {number}.", session="heap", kind="old" if number else "new", id=f"heap-{number}")
    button = ".page-head >> text=Erase all of these"
    here.enter("/memories?text=heap&session=heap", key=desk)
    here.page.wait_for_selector("text=70 memories")
    assert not here.page.is_visible(button)
    here.go("/memories?session=heap&kind=old")
    here.page.wait_for_selector("text=69 memories")
    here.page.set_viewport_size({"width": 390, "height": 844})
    assert here.page.locator(".page-head h1").bounding_box()["height"] < 40, "on a phone the heading keeps to one line"
    here.page.click(button)
    assert "69 memories" in here.page.inner_text("dialog")
    here.page.fill("dialog input", "erase")
    here.page.click("dialog button.danger")
    here.page.wait_for_selector(".toast >> text=Erased: 69 memories")
    here.page.wait_for_selector("text=No memory fits these filters")
    assert [one.id for one in memory.browse(text="heap").items] == ["heap-0"]
    assert memory.browse(chosen={"session": ["standup"]}).total == 48
    memory.erase("heap-0")


def test_undo_takes_back_only_what_its_button_was_shown_for(visit: Begin, desk: str) -> None:
    """Not a change that came after it."""
    here = visit()
    memory = _memory(here)
    memory.remember("The alarm code is 1.", id="alarm")
    here.enter("/memories/alarm", key=desk)
    here.page.click("dialog >> text=Edit")
    here.page.fill("dialog textarea", "The alarm code is 2.")
    here.page.click("dialog >> text=Save")
    here.page.wait_for_selector(".toast >> text=Undo")
    memory.update("alarm", text="The alarm code is 3.")
    here.page.click(".toast >> text=Undo")
    here.page.wait_for_selector(".toast >> text=Somebody changed it")
    assert memory.get("alarm").text == "The alarm code is 3."
    here.errors.clear()  # The browser writes every refusal down.
    memory.erase(["alarm"])


def test_a_hit_is_one_line_with_one_bar_on_a_scale_for_all(visit: Begin, desk: str) -> None:
    """Its words are marked, the reasons are told once, and what is outdated is grey and leads to what replaced it."""
    here = visit(width=1366)
    here.enter("/memories", key=desk)
    here.page.keyboard.press("/")
    here.page.keyboard.type("where does Cleo live")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("tr.hit")
    hits = here.page.locator("tr.hit")
    assert all(box["height"] < 40 for box in (hits.nth(at).bounding_box() for at in range(2)))
    lengths: list[Any] = here.page.evaluate(
        "[...document.querySelectorAll('.stacked')].map(s => [...s.querySelectorAll('rect')]"
        ".reduce((sum, r) => sum + parseFloat(r.getAttribute('width')), 0))"
    )
    assert max(lengths) == pytest.approx(100, abs=1)
    assert lengths[0] >= lengths[-1]
    assert "live" in here.page.locator("tr.hit mark").all_inner_texts()
    assert here.page.locator(".reasons").count() == 1
    assert "In the order of the score" in here.page.inner_text(".reasons")
    assert "supersedes another hit" in here.page.inner_text(".reasons")
    assert here.page.locator("tr.hit[data-id=new-home] rect.f-current").count() == 1
    old = here.page.locator("tr.hit.old[data-id=old-home]")
    assert "Lisbon" in old.locator(".newer").inner_text()
    assert old.locator(".newer").get_attribute("href") == "#/memories/new-home"
    old.locator(".text").click()
    here.page.wait_for_selector("dialog .why >> text=“I moved to Lisbon.”")
    assert "new-home" not in here.page.inner_text("dialog .why")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.locator("tr.hit[data-id=new-home] .c-said").click()
    here.page.wait_for_selector("dialog .signals.parts")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    before = _memory(here).get("new-home").importance
    here.page.click("tr.hit[data-id=new-home] [aria-label=Useful]")
    here.page.wait_for_selector("tr.hit[data-id=new-home] [aria-pressed=true]")
    assert _memory(here).get("new-home").importance > before


def test_the_cut_off_is_seen_with_what_lies_below_it(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories?q=hunter2", key=desk)
    here.page.get_by_text("Nothing relevant was found").wait_for()
    assert here.page.locator("tr.hit:not(.faint)").count() == 0
    assert here.page.locator("tr.cut + tr.hit.faint").count() == 1
    assert "0.5%" in here.page.inner_text("tr.cut")


def test_as_of_says_that_it_goes_by_when_a_memory_was_stored(visit: Begin, desk: str) -> None:
    here = visit()
    here.enter("/memories?q=where+does+Cleo+live&as_of=2020-01-01T12:00", key=desk)
    here.page.get_by_text("A memory that was said before, but stored later, was not known yet.").wait_for()
    assert "What was stored later is left out" in here.page.inner_text("#memories-list .notice")


def test_a_phone_shows_rows_first_and_filters_when_they_are_asked_for(visit: Begin, desk: str) -> None:
    """And who said what answers a question."""
    here = visit(width=390)
    # With a question the values of the fields are there, too.
    here.enter("/memories?speaker=Cleo&q=where+does+Cleo+live", key=desk)
    assert here.page.locator("details[data-field=speaker]").is_hidden()
    assert here.page.inner_text(".all-filters").split() == ["Filters", "(1)"]
    first = here.page.locator("tr.hit").first
    assert first.bounding_box()["y"] < 400
    assert first.locator(".c-speaker").is_visible()
    assert first.locator(".c-speaker").inner_text() == "Cleo"
    here.page.click(".all-filters")
    assert here.page.locator("details[data-field=speaker]").is_visible()
    assert here.page.locator("details[data-field=session]").is_visible()
    assert here.page.get_attribute(".all-filters", "aria-expanded") == "true"

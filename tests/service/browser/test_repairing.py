"""What a new user of the dashboard stumbled over, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from memwell.records import Space
from memwell.runtime.engine import Engine
from tests.service.browser.conftest import House, Visit

Begin = Callable[..., Visit]


def _space(house: House) -> Space:
    return house.service.keys.check(house.owner).space


@pytest.fixture
def memory(house: House) -> Engine:
    """The memory that the key of the house opens."""
    return house.service.memory_of(_space(house))


def _active(memory: Engine) -> set[str]:
    return {one.id for one in memory.memories()}


def test_what_an_audit_mended_is_undone_on_the_same_page(visit: Begin, memory: Engine) -> None:
    """Also what was merged, which no list shows."""
    here = visit()
    memory.remember("The weekly meeting of the team is on Tuesday at ten in Oslo.", id="tuesday")
    memory.remember("The weekly meeting of the team is on Tuesday at ten in Oslo. ", id="tuesday-too")
    before = _active(memory)
    here.enter("/audit")
    here.page.click("text=Look the memory over")
    here.page.wait_for_selector("[data-kind=duplicate]")
    here.page.click(".repair-bar button")
    merged = here.page.locator("#repaired li", has_text="merged")
    merged.wait_for()
    assert before - _active(memory)
    merged.locator("button").click()
    merged.locator("text=undone").wait_for()
    assert before == _active(memory)
    here.errors.clear()  # What was merged is not read any more while the audit looks for its words.


def test_a_contradiction_is_shown_with_both_texts(visit: Begin, memory: Engine) -> None:
    """In words, not as ids."""
    here = visit()
    memory.remember("My birthday is on 3 May 1990.", speaker="Dora", id="third")
    memory.remember("My birthday is on 4 June 1991.", speaker="Dora", id="fourth")
    memory.flush()
    here.enter("/audit")
    here.page.click("text=Look the memory over")
    row = here.page.locator("[data-kind=contradiction] .problem-row", has_text="4 June 1991")
    row.wait_for()
    assert "It contradicts “My birthday is on" in row.inner_text()
    assert "3 May 1990" in row.inner_text()


def test_a_secret_that_was_blacked_out_is_hidden_among_the_versions(visit: Begin, memory: Engine) -> None:
    """Until it is asked for, also in versions before; and it is said what removes it."""
    here = visit()
    memory.remember("The gate opens with 4711 at night.", id="held")
    memory.pin("held")
    memory.update("held", "The gate opens with ██ at night.", reason="audit: it holds a code")
    here.enter("/memories/held")
    here.page.wait_for_selector("dialog .versions")
    assert "4711" not in here.page.inner_text("dialog")
    assert "Only erasing the whole memory removes it" in here.page.inner_text("dialog")
    here.page.click("dialog >> text=Show it")
    assert "4711" in here.page.inner_text("dialog .versions")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")


def test_what_was_forgotten_is_opened_and_brought_back(visit: Begin, memory: Engine) -> None:
    """From the list, by its address alone, and the tab follows the address."""
    here = visit()
    memory.remember("The spare key lies under the third stone.", id="stone")
    memory.forget("stone")
    here.enter("/memories?tab=forgotten")
    here.page.click(".memory[data-id=stone] .text")
    assert "third stone" in here.page.inner_text("dialog .full-text")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.wait_for_selector(".memory[data-id=stone] .text:focus")
    here.page.click(".side a[href='#/memories']")
    here.page.wait_for_selector(".page-head input[value=all]:checked", state="attached")
    here.errors.clear()
    here.go("/memories/stone")
    here.page.click("dialog >> text=Bring back")
    here.page.wait_for_selector("dialog button:has-text('Forget')")
    assert "stone" in _active(memory)
    here.errors.clear()  # The browser writes down that the memory could not be read before.


def test_a_change_is_undone_in_the_drawer_and_votes_say_what_they_changed(visit: Begin, memory: Engine) -> None:
    """Long after the message that told of it has gone."""
    here = visit()
    memory.remember("The bakery opens at six.", id="bakery")
    memory.feedback("bakery", useful=True)
    memory.update("bakery", "The bakery opens at seven.")
    here.enter("/memories/bakery")
    told = here.page.locator("dialog .versions li")
    assert "The bakery opens at six." in told.nth(0).inner_text()
    assert re.search(r"called useful · same text · importance [\d.]+ → [\d.]+", told.nth(1).inner_text())
    here.page.click("dialog >> text=Undo last change")
    here.page.wait_for_selector("dialog .full-text >> text=at six")
    assert memory.get("bakery").text == "The bakery opens at six."


def test_after_forgetting_the_focus_is_on_what_took_its_place(visit: Begin, memory: Engine) -> None:
    """And not lost to the page."""
    here = visit()
    memory.remember("A note that may go.", id="may-go")
    here.enter("/memories")
    here.page.click(".memory[data-id=may-go] .text")
    here.page.click("dialog button:has-text('Forget')")
    here.page.wait_for_selector(".memory[data-id=may-go]", state="detached")
    focused = here.page.wait_for_selector(".memory .text:focus")
    assert focused is not None


def test_filters_narrow_the_list_without_a_question(visit: Begin) -> None:
    """By the speaker and by the session, and both together."""
    here = visit(language="zh-CN")
    here.enter("/memories?speaker=Ann&session=kitchen")
    assert {card.get_attribute("data-id") for card in here.page.locator(".memory").all()} == {"nuts"}
    here.go("/memories?kind=memory&speaker=小安")
    assert [card.get_attribute("data-id") for card in here.page.locator(".memory").all()] == ["zh"]
    here.go("/memories?speaker=nobody")
    assert "没有符合这些条件的记忆" in here.page.inner_text("#memories-list")


def test_a_page_that_could_not_be_fetched_is_there_when_the_service_is_back(visit: Begin) -> None:
    """A browser remembers the failure; the page asks under another address."""
    here = visit()
    here.enter()
    down = "**/*"
    here.page.route(down, lambda route: route.abort())
    here.page.evaluate("location.hash = '#/people'")
    here.page.wait_for_selector("main [role=alert]")
    assert "cannot be reached" in here.page.inner_text("main [role=alert]")
    here.page.unroute(down)
    here.page.click("text=Try again")
    here.page.wait_for_selector("main[data-shown=people]")
    here.settle()
    here.errors.clear()  # What could not be fetched is written down.


def test_a_second_question_takes_the_place_of_the_first(visit: Begin, memory: Engine) -> None:
    """The answer that is shown names its question."""
    here = visit()
    memory.knowledge.add("Every employee has 28 days of paid leave a year.", id="leave", source="leave.md")
    here.enter("/documents")
    held: list[Any] = []
    here.page.route("**/v1/ask", lambda route: held.append(route) if not held else route.continue_())
    for question in ("What is the first?", "How many days of leave are there?"):
        here.page.fill("#ask input[type=search]", question)
        here.page.keyboard.press("Enter")
        here.page.wait_for_selector(f"#ask >> text={question}")
    here.page.wait_for_selector(".answer")
    assert "How many days of leave are there?" in here.page.inner_text("#ask .asked")
    assert len(held) == 1


def test_what_is_seen_to_be_wrong_is_not_sent(visit: Begin) -> None:
    """An empty file and an empty address are told in the page's own words."""
    here = visit()
    asked: list[str] = []
    here.page.on("request", lambda request: asked.append(request.method))
    here.enter("/documents")
    asked.clear()
    here.page.click("[data-part=fetch] button")
    assert "address first" in here.page.inner_text("[data-part=fetch] [role=alert]")
    here.page.set_input_files("input[type=file]", {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""})
    here.page.wait_for_selector(".upload[data-state=failed] >> text=The file is empty")
    assert "POST" not in asked


def test_an_upload_goes_on_when_the_page_is_left(visit: Begin) -> None:
    """And is shown again to who comes back."""
    here = visit()
    here.enter("/documents")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    here.page.route("**/v1/documents/upload*", hold)
    here.page.set_input_files(
        "input[type=file]", {"name": "slow.md", "mimeType": "text/plain", "buffer": b"# Slow\n\nIt came."}
    )
    here.page.wait_for_selector(".upload >> text=slow.md")
    here.go("/memories")
    here.go("/documents")
    here.page.wait_for_selector(".upload >> text=slow.md")
    held[0].continue_()
    here.page.wait_for_selector(".upload[data-state=done] >> text=slow.md")
    seen = here.page.wait_for_selector("#documents-list >> text=slow.md")
    assert seen is not None


def test_a_key_that_ended_is_told_so_and_the_own_one_is_revoked_after_a_word(visit: Begin) -> None:
    """In a box that looks like an error, and never for a wrong secret."""
    here = visit()
    keys = here.house.service.keys
    own, token = keys.create("mine", space=Space("acme", "mine"), scopes=["read", "admin"])
    here.enter("/settings?tab=keys", key=token)
    here.page.locator("#keys-list tr", has_text="yours").locator("[aria-label=Revoke]").click()
    assert here.page.locator("dialog button.danger").is_disabled()
    here.page.fill("dialog input", "revoke")
    here.page.click("dialog button.danger")
    here.page.wait_for_selector("input[name=key]")
    assert keys.get(own.id).revoked
    here.page.fill("input[name=key]", token)
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".notice.error >> text=This key was revoked.")
    here.page.fill("input[name=key]", token[:-4] + "0000")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".notice.error >> text=does not know this key")
    here.errors.clear()  # The browser writes every refusal down.


def test_a_key_stays_on_the_device_only_when_it_is_asked_for(visit: Begin) -> None:
    """Another tab is then signed in, until somebody signs out."""
    here = visit()
    here.page.goto(here.house.address)
    here.page.fill("input[name=key]", here.house.owner)
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".frame h1")
    assert here.page.evaluate("localStorage.getItem('memwell.key')") is None
    here.page.click("text=Sign out")
    here.page.fill("input[name=key]", here.house.owner)
    here.page.check("input[name=stay]")
    here.page.click("button[type=submit]")
    here.page.wait_for_selector(".frame h1")
    other = here.page.context.new_page()
    other.goto(here.house.address)
    other.wait_for_selector(".frame h1")
    other.click("text=Sign out")
    assert other.evaluate("localStorage.getItem('memwell.key')") is None


def test_a_receipt_names_documents_and_tells_why_within_the_page(visit: Begin, memory: Engine) -> None:
    """At 1280 pixels nothing of it has to be scrolled for."""
    here = visit()
    memory.knowledge.add(
        "# Leave\n\nEvery employee has 28 days of paid leave.", id="days", source="days.md", title="Days"
    )
    here.enter("/playground")
    here.page.check("main input[type=checkbox]")
    here.page.fill("main textarea >> nth=0", "How many days of paid leave has Ann?")
    here.page.click("main button[type=submit]")
    here.page.wait_for_selector(".receipt strong >> text=Days")
    assert here.page.locator(".receipt .why").count() > 0
    assert here.page.evaluate(
        "[...document.querySelectorAll('.receipt .table-box')].every(b => b.scrollWidth <= b.clientWidth)"
    )

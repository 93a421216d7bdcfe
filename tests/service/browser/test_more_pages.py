"""The pages of conversations, facts, documents, the audit and the keys, in a real browser."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from datetime import timedelta

import pytest

from memwell.longterm.base import utc_now
from memwell.records import Space
from tests.service.browser.conftest import House, Visit

Begin = Callable[..., Visit]

_PLACES = {
    "/conversations": "Dinner for Ann", "/conversations/dinner": "Which dishes have no peanuts?",
    "/memories": "I moved to Lisbon.", "/people/Ann": "Lisbon", "/people/小安": "龙井茶",
    "/documents": "leave.md", "/documents?tab=media": "A sunset over the harbour",
    "/audit": "", "/settings": "", "/settings?tab=keys": "newcomer", "/settings?tab=log": "",
    "/settings?tab=grants": "acme / support", "/spaces": "acme / ann",
}  # fmt: skip
"""Every place, and what of the memory is to be seen there."""

_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_LEFT = """() => {
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), parent = walk.currentNode.parentElement;
    const ours = parent.checkVisibility() && !parent.closest('[translate=no], pre, code, .memory');
    if (ours && /[a-z]{3}/.test(text) && !/\\p{Script=Han}/u.test(text)) found.push(text);
  }
  return found;
}"""


@pytest.fixture(scope="module", autouse=True)
def filled(house: House) -> Space:
    """What these pages show, beside what every house holds."""
    space = house.service.keys.check(house.owner).space
    memory, now = house.service.memory_of(space), utc_now()
    for days, speaker, text in (
        (400, "Ann", "I live in Hamburg."),
        (240, "Ann", "I moved to Lisbon."),
        (200, "Ann", "I am so happy, the ocean is wonderful."),
        (90, "小安", "我喜欢喝龙井茶。"),
        (20, "Ann", "The weekly meeting of the team is on Tuesday at ten in Oslo."),
        (10, "Ann", "The weekly meeting of the team is on Tuesday at ten in Oslo. "),
    ):
        memory.remember(text, speaker=speaker, time=now - timedelta(days=days), id=f"said-{days}")
    thread = memory.thread("dinner")
    for number in range(60):
        thread.add_human(f"Question {number}: what shall we cook?")
    thread.add_human("Which dishes have no peanuts?")
    thread.set_metadata(title="Dinner for Ann")
    memory.knowledge.add("# Leave\n\nEvery employee has 28 days of paid leave a year.", id="leave", source="leave.md")
    memory.media.add(_picture(), description="A sunset over the harbour of Lisbon", name="harbour.png")
    memory.grant(Space("acme", "support"))
    return space


def _picture() -> bytes:
    """A small blue PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes((20, 80, 160)) * 40) * 30)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("chinese", [False, True])
def test_every_place_shows_what_there_is_fits_a_phone_and_speaks_chinese(visit: Begin, chinese: bool) -> None:
    """In English at 360 pixels, with nothing to scroll sideways; in Chinese and dark, with nothing left in English."""
    here = visit(language="zh-CN", scheme="dark") if chinese else visit(width=360)
    here.enter()
    wrong = []
    for place, content in _PLACES.items():
        here.go(place)
        left = set(here.page.evaluate(_LEFT)) - {"memwell"} if chinese else here.page.evaluate(_WIDE) > 0
        if content not in here.page.locator("main").text_content() or left:
            wrong.append((place, left))
    assert wrong == []


def test_a_conversation_is_read_backwards_searched_and_added_to(visit: Begin) -> None:
    """The newest end comes first; a message that was found is gone to; one that is written is there."""
    here = visit()
    here.enter("/conversations/dinner")
    assert "Which dishes have no peanuts?" in here.page.inner_text(".said >> nth=-1")
    assert here.page.locator(".said").count() == 40
    here.page.click("text=Show older messages")
    here.page.locator(".said >> nth=60").wait_for()
    here.page.fill(".pane-main input[type=search]", "peanuts")
    here.page.keyboard.press("Enter")
    assert here.page.inner_text(".hits mark >> nth=0") == "peanuts"
    here.page.click(".hits button >> nth=0")
    here.page.wait_for_selector(".said.wanted:focus")
    here.page.fill(".pane-main textarea", "<b>Rice</b> it is.")
    here.page.click("text=Add")
    here.page.locator(".said .words", has_text="<b>Rice</b> it is.").wait_for()


def test_a_conversation_goes_only_after_a_typed_word(visit: Begin, filled: Space) -> None:
    """It is remembered before, and not in the list afterwards."""
    here = visit()
    memory = here.house.service.memory_of(filled)
    memory.thread("short").add_human("My favourite colour is green.")
    here.enter("/conversations/short")
    here.page.click(".pane-main button:has-text('Remember it')")
    here.page.wait_for_selector(".toast")
    assert "green" in str(memory.recall("favourite colour", limit=1)[0])
    here.page.click(".pane-main button.danger")
    sure = here.page.locator("dialog button.danger")
    assert sure.is_disabled()
    here.page.fill("dialog input", "delete")
    sure.click()
    here.page.wait_for_selector("#threads [data-id=short]", state="detached")
    assert memory.thread("short").info() is None


def test_an_upload_shows_how_far_it_is_and_is_found_by_a_question(visit: Begin) -> None:
    """And the source of the answer opens at the place."""
    here = visit()
    here.enter("/documents")
    here.page.evaluate(
        """() => {
          window.states = [];
          new MutationObserver(() => states.push(document.querySelector('.upload')?.dataset.state))
            .observe(document.body, { subtree: true, childList: true, attributes: true });
        }"""
    )
    text = "# Garantie 😀\n\nThe warranty of the motor lasts five years.\n"
    here.page.set_input_files(
        "input[type=file]", {"name": "warranty.md", "mimeType": "text/markdown", "buffer": text.encode()}
    )
    here.page.wait_for_selector(".upload[data-state=done]")
    assert {"sending", "done"} <= set(here.page.evaluate("states"))
    here.page.wait_for_selector("#documents-list >> text=warranty.md")
    here.page.fill("#ask input[type=search]", "How long does the warranty of the motor last?")
    here.page.click("#ask button[type=submit]")
    assert "five years" in here.page.inner_text(".answer .full-text")
    here.page.click(".cite >> nth=0")
    assert here.page.inner_text("dialog mark") == "The warranty of the motor lasts five years."


def test_an_address_that_is_refused_is_told_in_a_sentence(visit: Begin) -> None:
    """With the number of the request."""
    here = visit()
    here.enter("/documents")
    here.page.fill("[data-part=fetch] input", "http://127.0.0.1/secret")
    here.page.click("[data-part=fetch] button")
    told = here.page.inner_text("[data-part=fetch] [role=alert]")
    assert "public internet" in told
    assert "Request " in told
    here.errors.clear()  # The browser writes every refusal down.


def test_media_are_seen_found_and_described(visit: Begin) -> None:
    """The small picture is fetched with the key."""
    here = visit()
    here.enter("/documents?tab=media")
    here.page.wait_for_selector(".medium img[src^='blob:']")
    here.page.fill("main input[type=search]", "harbour at sunset")
    here.page.click("text=Find")
    here.page.wait_for_selector(".medium >> text=A sunset over the harbour")
    here.page.click(".medium >> nth=0")
    shown = here.page.wait_for_selector("dialog img[src^='blob:']")
    assert shown is not None
    assert shown.is_visible()


def test_everything_goes_out_as_a_file_and_comes_in_again(visit: Begin) -> None:
    """What is there already is not brought in twice."""
    here = visit()
    here.enter("/settings")
    with here.page.expect_download() as saved:
        here.page.click("text=Export and save")
    content = saved.value.path().read_bytes()
    assert b"I moved to Lisbon." in content
    restoring = here.page.inner_text("[data-part=backup]")
    assert "stop the service first" in restoring
    assert "memwell restore backups/FILE --store app.db --force" in restoring
    here.page.set_input_files("input[type=file]", {"name": "all.jsonl", "mimeType": "text/plain", "buffer": content})
    here.page.wait_for_selector(".upload[data-state=done]")
    assert "Nothing in it was new." in here.page.inner_text("[data-part=import]")


def test_a_key_that_was_made_works_until_it_is_revoked(visit: Begin) -> None:
    """Its token is shown once, and the log tells of both."""
    here = visit()
    here.enter("/settings?tab=keys")
    here.page.click("text=New key")
    here.page.fill("#new-key input >> nth=0", "phone")
    here.page.click("#new-key button[type=submit]")
    token = here.page.inner_text(".token")
    status = "token => fetch('v1/me', { headers: { Authorization: `Bearer ${token}` } }).then(told => told.status)"
    assert here.page.evaluate(status, token) == 200
    here.page.keyboard.press("Escape")
    row = here.page.locator("#keys-list tr", has_text="phone")
    row.locator("[aria-label=Revoke]").click()
    here.page.click("dialog button.danger")
    row.locator("text=revoked").wait_for()
    assert here.page.evaluate(status, token) == 401
    here.errors.clear()  # The browser writes every refusal down.
    here.go("/settings?tab=log")
    assert {"Key made", "Key revoked"} <= set(here.page.locator("#log [data-action]").all_inner_texts())
    assert {"owner", "phone"} <= set(here.page.inner_text("#log").split()), "entries name keys as people do"
    here.page.click("text=Check the log")
    here.page.wait_for_selector("text=The log is whole")


def test_the_own_key_gets_another_secret_and_the_page_goes_on(visit: Begin) -> None:
    """Without the old one working any longer."""
    here = visit()
    keys = here.house.service.keys
    own, token = keys.create("turning", space=Space("acme", "turn"), scopes=["read", "write", "admin"])
    here.enter("/settings?tab=keys", key=token)
    here.page.locator("#keys-list tr", has_text=own.id).locator("[aria-label='New secret']").click()
    here.page.fill("dialog input", "0")
    here.page.click("dialog button[type=submit]")
    fresh = here.page.inner_text(".token")
    here.page.keyboard.press("Escape")
    here.go("/people")
    assert "Nobody is known yet" in here.page.inner_text("main")
    assert keys.check(fresh).id == own.id
    assert fresh != token


def test_sharing_is_for_those_who_may_write(visit: Begin) -> None:
    """A reader sees who may see, and cannot change it; keys and log are not offered."""
    here = visit()
    here.enter("/settings?tab=grants", key=here.house.reader)
    assert here.page.locator("[role=tab]").all_inner_texts() == ["Data", "Sharing"]
    assert here.page.locator("#give button[type=submit]").is_disabled()
    assert "acme / support" in here.page.inner_text("#grants")


def test_what_is_empty_says_what_would_be_there(visit: Begin) -> None:
    """On a phone too, and it leads to the first memory."""
    here = visit(width=360)
    here.enter(key=here.house.newcomer)
    for place in ("/memories", "/people"):
        here.go(place)
        assert here.page.locator(".empty a[href='#/start']").is_visible(), place
    for place in ("/conversations", "/documents", "/documents?tab=media", "/audit"):
        here.go(place)
        assert here.page.locator(".empty p").first.is_visible(), place


def test_an_operator_looks_into_a_space_and_comes_back(visit: Begin, house: House) -> None:
    other = Space("beta", "user-17")
    house.service.memory_of(other).remember("Bo keeps bees.", id="bees")
    here = visit()
    here.enter("/spaces")
    here.page.fill("[data-search]", "USER-17")
    (row,) = here.page.locator("#spaces tbody tr").all_inner_texts()
    assert row.split()[:4] == ["beta", "/", "user-17", "1"]
    here.page.click("#spaces tbody button")
    here.page.wait_for_selector(".visiting")
    assert "beta / user-17" in here.page.inner_text(".visiting")
    here.go("/memories")
    assert "Bo keeps bees." in here.page.inner_text("main")
    assert "peanuts" not in here.page.inner_text("main")
    assert here.page.locator(".nav [data-page=start], .nav [data-page=spaces]").count() == 0, "nothing is changed there"
    looked = [one.space for one in house.service.log.entries(limit=50).items if one.action == "look_into"]
    assert other in looked
    # It stays there when the page is loaded again.
    here.page.reload()
    here.page.wait_for_selector(".visiting")
    here.page.click(".visiting a")
    here.page.wait_for_selector("#spaces tbody")
    assert here.page.locator(".visiting").count() == 0
    here.go("/memories")
    assert "peanuts" in here.page.inner_text("main")


WRITING = (
    "Add", "Pin", "Edit", "Forget", "Useful", "Not useful", "Undo last change", "Erase for good", "Erase all of these",
    "New conversation", "Remember it", "Delete", "Choose files", "Choose a file", "Add the page", "Remove", "Share",
)  # fmt: skip


def test_an_operator_can_change_nothing_in_a_space_that_is_only_looked_into(visit: Begin, house: House) -> None:
    """What changes something, or would leave a receipt or a job, cannot be pressed, and says why. The log has each look."""
    other = Space("gamma", "user-18")
    memory = house.service.memory_of(other)
    memory.remember("I live in Rome and keep bees.", id="bees", speaker="Cy")
    memory.update("bees", text="I live in Rome and keep many bees.")
    memory.thread("talk").add_human("Hello bees.")
    memory.knowledge.add("Whales sing.", id="whales", title="Whales")
    memory.flush()
    before = memory.get("bees"), memory.count(), list(memory.receipts.all()), house.service.jobs.all(other)
    here = visit()
    here.enter("/spaces")
    here.page.fill("[data-search]", "user-18")
    here.page.click("#spaces tbody button")
    here.page.wait_for_selector(".visiting")
    assert "Nothing can be changed here" in here.page.inner_text(".visiting")
    seen: set[str] = set()
    for place in (
        "/memories?speaker=Cy", "/memories/bees", "/memories?q=bees", "/conversations/talk", "/people/Cy", "/documents",
        "/documents?tab=media", "/settings", "/settings?tab=grants",
    ):  # fmt: skip
        here.go(place)
        if place == "/memories/bees":
            here.page.wait_for_selector("dialog .full-text")
        buttons = here.page.locator("main button:visible, dialog[open] button:visible").all()
        named = [(one.inner_text().strip() or one.get_attribute("aria-label") or "", one) for one in buttons]
        writing = [
            (name, one) for name, one in named if name in WRITING or name.startswith(("Correct: ", "Not true: "))
        ]
        assert [name for name, one in writing if one.is_enabled()] == [], place
        seen |= {name.partition(":")[0] for name, _ in writing}
        here.page.keyboard.press("Escape")
    assert seen == {*WRITING, "Correct", "Not true"}
    for place, button in (
        ("/playground", "Make the prompt"),
        ("/audit", "Look the memory over"),
        ("/settings", "Export and save"),
    ):
        here.go(place)
        one = here.page.locator("main button", has_text=button)
        assert one.is_disabled(), place
        assert one.get_attribute("title") == "You only look into this space; nothing is changed here."
    assert here.page.locator("[title*='lacks the scope']").count() == 0, "that is not the reason"
    here.go("/overview")
    assert "The space “gamma / user-18”" in here.page.inner_text(".page-head")
    assert (memory.get("bees"), memory.count(), list(memory.receipts.all()), house.service.jobs.all(other)) == before
    here.page.click(".visiting a")
    here.page.wait_for_selector("#spaces tbody")
    here.go("/settings?tab=log")
    assert "Look into a space" in here.page.inner_text("main")
    assert "Memories listed" in here.page.inner_text("main")
    entries = house.service.log.entries(limit=500).items
    assert {str(one.detail["operation"]) for one in entries if one.space == other} >= {"browse", "memory", "messages"}
    assert {one.action for one in entries if one.space == other} == {"look_into"}


def test_a_key_for_many_spaces_writes_below_its_own_and_is_told_where_it_may_not_go(visit: Begin, house: House) -> None:
    _, token = house.service.keys.create("backend", space=Space("acme"), scopes=["read", "write", "spaces"])
    here = visit()
    here.enter("/spaces", key=token)
    listed = here.page.inner_text("#spaces")
    assert "acme / ann" in listed
    assert "beta" not in listed
    here.page.fill("[data-search]", "acme / ann")
    assert here.page.locator("#spaces tbody tr").count() == 1
    here.page.fill("[data-search]", "beta / user-17")
    here.page.press("[data-search]", "Enter")
    here.page.wait_for_selector("main .notice.error")
    assert here.page.locator(".visiting").count() == 0
    here.page.fill("[data-search]", "acme/user-18")
    here.page.press("[data-search]", "Enter")
    here.page.wait_for_selector(".visiting")
    here.go("/start")
    assert here.page.locator("main form").count() > 0
    here.go("/settings?tab=grants")
    assert "acme / support" not in here.page.inner_text("main")
    here.errors.clear()

"""The dashboard as people use it, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from memwell.records import Space
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.http import FOLDER
from memwell.service.keys import OneTimeLink
from tests.service.browser.conftest import Visit
from tests.service.waiting import until

Begin = Callable[..., Visit]

_NAMES = {"memwell", "p50", "p95", "kitchen", "owner", "Python", "curl"}
"""What is called the same in both languages, or was written by somebody."""

_PAGES = "import(document.querySelector('script[type=module]').src.replace('app.js', 'pages.js'))"
_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_TEXTS = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), parent = walk.currentNode.parentElement;
    if (text && parent.checkVisibility() && !parent.closest(
      '[translate=no], .memory, .message, pre, code, kbd, .who, .plot, noscript'))
      found.push(text);
  }
  const spoken = [...document.querySelectorAll('[aria-label], [placeholder], [title]')].filter(e => e.checkVisibility());
  return [...found, ...spoken.flatMap(e => [e.ariaLabel, e.placeholder, e.title].filter(Boolean))];
}"""
_FAINT = """() => {
  const number = colour => colour.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((part, at) => part * a + under[at] * (1 - a));
  const light = rgb => rgb.map(part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(number(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), faint = [];
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest(':disabled, noscript')) continue;
    const style = getComputedStyle(node), behind = ground(node), size = parseFloat(style.fontSize);
    const [one, other] = [light(over(number(style.color), behind)), light(behind)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5))
      faint.push([walk.currentNode.data.trim().slice(0, 40), Math.round(ratio * 100) / 100]);
  }
  return faint;
}"""


def _names(visit: Visit) -> list[str]:
    return visit.page.evaluate(f"{_PAGES}.then(found => found.PAGES.map(page => page.name))")


def test_every_page_loads_fits_a_phone_and_leaves_no_text_behind_in_the_other_language(visit: Begin) -> None:
    """Loads without errors or violations of the policy; nothing to scroll sideways at 360 pixels.

    The language is changed on every page, to the one and to the other in turn.
    """
    here = visit(width=360)
    here.enter()
    wide, left, languages = [], {}, ["en", "zh"]
    for name in _names(here):
        texts: dict[str, set[str]] = {}
        here.go(f"/{name}")
        for language in languages:
            _speak(here, language)
            texts[language] = set(here.page.evaluate(_TEXTS))
            if here.page.evaluate(_WIDE) > 0:
                wide.append((name, language))
        left[name] = {text for text in texts["en"] & texts["zh"] if _is_said(text)} - _NAMES
        languages.reverse()
    assert wide == []
    assert {name: texts for name, texts in left.items() if texts} == {}
    assert len(left) > 8


def _is_said(text: str) -> bool:
    """Whether a text is more than signs, numbers and what they are measured in."""
    return re.search("[a-z]", text) is not None and re.fullmatch(r"[\d.,]+\s(ms|s|kB|MB)", text) is None


def _speak(here: Visit, language: str) -> None:
    """Choose a language, unless the page speaks it."""
    if here.page.evaluate("document.documentElement.lang").startswith(language):
        return
    here.page.click(".bottom button")
    here.page.click(f"dialog input[value={language}]")
    here.page.wait_for_selector(f"html[lang^={language}]")
    here.settle()


def test_the_words_of_both_languages_have_the_same_keys(visit: Begin) -> None:
    """And the same blanks to fill in. Only English tells one from many."""
    here = visit()
    here.page.goto(here.house.address)
    files = [file.name for file in (FOLDER / "js" / "words").iterdir()]
    assert len(files) >= 6
    for file in files:
        words = here.page.evaluate("file => import('./dashboard/js/words/' + file).then(found => found.default)", file)
        assert set(words) == {"en", "zh"}
        assert {key for key in words["en"] if not key.endswith("|one")} == set(words["zh"]), file
        for key, text in words["zh"].items():
            blanks = [set(_blanks(words[language][key])) for language in words]
            assert text.strip(), (file, key)
            assert blanks[0] == blanks[1], (file, key)


def _blanks(text: str) -> list[str]:
    return [part.partition("}")[0] for part in text.split("{")[1:]]


def test_a_hit_tells_why_it_was_found_in_words_and_bars(visit: Begin) -> None:
    """The bars have the same names and add up to the whole; each signal by itself comes on demand."""
    here = visit()
    here.enter("/memories")
    here.page.keyboard.press("/")
    here.page.keyboard.type("allergic to peanuts")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".memory.hit")
    assert "Ann is allergic to peanuts." in here.page.inner_text(".memory.hit >> nth=0")
    here.page.click(".memory.hit >> nth=0")
    shown = here.page.locator("dialog[open]")
    why = shown.locator(".why").inner_text()
    assert "same words" in why
    assert "peanuts" in why
    parts = dict(
        zip(
            shown.locator(".parts .name").all_inner_texts(),
            [int(text.rstrip("%")) for text in shown.locator(".parts .value").all_inner_texts()],
            strict=True,
        )
    )
    assert sum(parts.values()) == 100
    told = re.findall(r"(same words|[^;:]+?)(?:: [^;]+?)? \((\d+) %\)", why)
    assert told
    assert all(parts[name.strip()] == int(part) for name, part in told)
    shown.locator(".signals-box button").click()
    assert all(value[0] in "+-−" for value in shown.locator(".single .value").all_inner_texts())
    here.page.keyboard.press("Escape")
    here.go("/memories")
    here.page.wait_for_selector(".memory[data-id=odd]:not(.hit)")
    assert here.page.locator("main img").count() == 0


def test_forgetting_can_be_undone_at_once_and_later(visit: Begin) -> None:
    """By the message that tells of it, and from the list of what was forgotten."""
    here = visit()
    here.enter("/memories/nuts")
    memory, nuts = here.house.service.memory_of(_space(here)), here.page.locator(".memory[data-id=nuts]")
    here.page.click("dialog >> text=Forget")
    nuts.wait_for(state="detached")
    assert [one.id for one in memory.memories()].count("nuts") == 0
    here.page.click(".toast >> text=Undo")
    nuts.wait_for()
    assert "nuts" in [one.id for one in memory.memories()]
    memory.forget("nuts")
    here.go("/memories?tab=forgotten")
    nuts.locator("text=Bring back").click()
    nuts.wait_for(state="detached")
    assert "nuts" in [one.id for one in memory.memories()]


def _space(here: Visit) -> Space:
    return here.house.service.keys.check(here.house.owner).space


def test_a_memory_is_edited_pinned_and_erased_only_after_a_typed_word(visit: Begin) -> None:
    """The drawer shows the earlier versions; erasing needs the word."""
    here = visit()
    memory = here.house.service.memory_of(_space(here))
    memory.remember("The code of the gate is 4711.", id="gate")
    here.enter("/memories/gate")
    here.page.click("dialog >> text=Edit")
    here.page.fill("dialog textarea", "The code of the gate is 1147.")
    here.page.click("dialog >> text=Save")
    assert "4711" in here.page.locator(".versions").inner_text()
    here.page.click("dialog button:has-text('Pin')")
    here.page.wait_for_selector("dialog button[aria-pressed=true]")
    assert memory.get("gate").pinned
    here.page.click("dialog >> text=Erase for good")
    sure = here.page.locator("dialog.modal button.danger")
    assert sure.is_disabled()
    here.page.fill("dialog.modal input", "erase")
    sure.click()
    here.page.wait_for_selector("dialog", state="detached")
    assert "gate" not in [one.id for one in memory.memories()]


def test_from_signing_in_to_an_answer_by_the_keyboard_alone(visit: Begin) -> None:
    """No pointer is needed, and where the focus is can be seen."""
    here = visit()
    here.page.goto(here.house.address)
    here.page.wait_for_selector("input[name=key]:focus")
    here.page.keyboard.type("mw_wrong")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("[role=alert]")
    here.errors.clear()  # The browser writes every refusal down.
    here.page.keyboard.press("Control+A")
    here.page.keyboard.type(here.house.owner)
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("h1:focus")
    here.page.keyboard.press("/")
    here.page.wait_for_selector("[data-search]:focus")
    here.page.keyboard.type("where did Ann move")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector(".memory.hit")
    for _ in range(40):
        here.page.keyboard.press("Tab")
        if here.page.evaluate("document.activeElement.matches('.memory .text')"):
            break
    assert here.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("dialog[open] .full-text")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    assert "q=where" in here.page.url


def test_every_text_stands_out_from_its_ground(visit: Begin) -> None:
    """By at least 4.5 to 1, or 3 to 1 where it is large, in light colours and in dark ones."""
    here = visit()
    here.enter("/memories?q=peanuts")
    faint, grounds = {}, set[str]()
    for place in ("memories?q=peanuts", *_names(here)):
        here.go(f"/{place}")
        for scheme in ("light", "dark"):
            here.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            grounds.add(here.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            found = here.page.evaluate(_FAINT)
            if found:
                faint[place, scheme] = found
    assert faint == {}
    assert len(grounds) == 2


def test_a_link_signs_in_once_and_replaces_no_session_unasked(visit: Begin) -> None:
    here = visit()
    link = here.house.service.link = OneTimeLink(lambda: here.house.owner)
    here.page.goto(f"{here.house.address}/#once={link.code}")
    here.page.wait_for_selector(".frame h1")
    assert link.code not in here.page.url
    kept = "sessionStorage.getItem('memwell.key')"
    asked: list[str] = []
    here.page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    here.page.evaluate("key => { location.hash = `#key=${key}`; }", here.house.newcomer)
    assert until(lambda: bool(here.page.evaluate("!location.hash") and asked))
    assert "another key" in asked[0]
    assert here.page.evaluate(kept) == here.house.owner
    # Used again it signs nobody in, and out neither.
    here.page.once("dialog", lambda dialog: dialog.accept())
    here.page.evaluate("code => { location.hash = `#once=${code}`; }", link.code)
    assert until(lambda: bool(here.page.evaluate("!location.hash") and here.errors))
    here.errors.clear()  # The browser writes every refusal down.
    assert here.page.evaluate(kept) == here.house.owner
    here.house.service.link = None


def test_the_first_view_is_small_and_the_key_leaves_the_address(visit: Begin) -> None:
    """All that the overview needs is under 200 kB, even before it is compressed."""
    here = visit(first=True)
    sent, plain = [], []
    tools = here.page.context.new_cdp_session(here.page)
    tools.send("Network.enable")
    tools.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    tools.on("Network.dataReceived", lambda event: plain.append(event["dataLength"]))
    here.ask("peanuts")
    here.enter()
    here.page.wait_for_selector(".plot svg")
    here.settle()
    assert here.house.owner not in here.page.url
    assert len(sent) > 10
    assert sum(sent) < 100_000
    assert sum(plain) < 200_000


def test_a_newcomer_is_led_to_a_first_memory_in_either_language(visit: Begin) -> None:
    """Three steps, and the lines for one's own program, with the key only when it is asked for."""
    here = visit(language="zh-CN")
    here.enter(key=here.house.newcomer)
    for step in ("tell", "ask", "see"):
        here.page.click(f"[data-step={step}] button[type=submit]")
        here.page.wait_for_selector(f"[data-step={step}].done")
    assert "小安对花生过敏" in here.page.locator("[data-step=ask] .memory").first.inner_text()
    assert "意思" in here.page.inner_text("[data-step=ask]") or "用词" in here.page.inner_text("[data-step=ask]")
    assert "小安对什么过敏？" in here.page.inner_text("[data-step=see] .message:last-child")
    assert here.house.newcomer not in here.page.inner_text("main")
    here.page.check("main input[type=checkbox]")
    assert here.house.newcomer in here.page.inner_text("[data-snippet=vscode] pre")
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
    for name in ("claude-desktop", "claude-code", "cursor", "vscode"):
        shown = here.page.inner_text(f"[data-snippet={name}] pre").replace(here.house.newcomer, "mw_…")
        assert re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:7411", shown) in page


def test_the_reference_has_every_operation_and_can_be_searched(visit: Begin) -> None:
    here = visit()
    here.page.goto(f"{here.house.address}/docs#recall")
    here.page.wait_for_selector("article#recall")
    assert here.page.locator("article").count() == len(OPERATIONS)
    recall = here.page.inner_text("article#recall")
    assert "POST/v1/recall" in recall.replace(" ", "")
    assert "RecalledHitPage" in recall
    assert "What to look for, in your own words." in recall
    here.page.click("article#recall details details summary >> nth=0")
    here.page.wait_for_selector("article#recall details details table")
    here.page.fill("nav input", "receipt")
    assert here.page.locator("nav a").all_inner_texts() == ["receipts", "receipt"]


def test_the_playground_shows_the_exact_prompt_and_its_receipt(visit: Begin) -> None:
    """What the bar says adds up to what the prompt takes."""
    here = visit()
    here.enter("/playground")
    here.page.fill("main textarea >> nth=0", "What can Ann not eat?")
    here.page.click("main button[type=submit]")
    here.page.wait_for_selector(".tokens")
    used = int(here.page.inner_text(".tokens h2").split()[0])
    parts = here.page.locator(".tokens .legend .plain").all_inner_texts()
    assert used == sum(int(part.split()[-1]) for part in parts) > 0
    assert "Ann is allergic to peanuts." in here.page.inner_text(".message >> nth=0")
    here.page.wait_for_selector("td >> text=Ann is allergic to peanuts.")


def test_a_key_shows_what_it_may_do_and_a_dead_one_leads_back_to_the_door(visit: Begin) -> None:
    """Without a scope a button says why it cannot be used; a key that was revoked is forgotten."""
    here = visit()
    here.enter("/memories/zh", key=here.house.reader)
    forget = here.page.locator("dialog button:has-text('Forget')")
    assert forget.is_disabled()
    assert "write" in forget.get_attribute("title")
    assert "lacks the scope “write”" in here.page.inner_text("dialog")
    here.page.keyboard.press("Escape")
    keys = here.house.service.keys
    keys.revoke(keys.check(here.house.reader).id)
    here.page.evaluate("location.hash = '#/memories?q=x'")
    here.page.wait_for_selector("input[name=key]")
    assert "This key was revoked." in here.page.inner_text("main [role=alert]")
    assert here.page.evaluate("sessionStorage.length") == 0
    here.errors.clear()  # The browser writes every refusal down.


def test_the_palette_rows_and_help_by_the_keyboard(visit: Begin) -> None:
    """Ctrl-K goes to a page, a person or an action; j and k go through the rows, x chooses one, ? shows all keys."""
    here = visit()
    here.enter("/overview")
    here.page.keyboard.press("Control+k")
    here.page.wait_for_selector("dialog.palette input:focus")
    here.page.keyboard.type("memor")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("main[data-shown=memories] tr.memory")
    here.page.evaluate("document.activeElement.blur()")
    here.page.keyboard.press("j")
    here.page.keyboard.press("j")
    second = here.page.get_attribute("tr.memory:nth-child(2)", "data-id")
    focused = "document.activeElement.closest('tr').dataset.id"
    assert here.page.evaluate(focused) == second
    here.page.keyboard.press("x")
    assert "1 chosen" in here.page.inner_text(".bulk")
    here.page.keyboard.press("k")
    assert here.page.evaluate(focused) != second
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("dialog .full-text")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.keyboard.press("?")
    assert "next row" in here.page.inner_text("dialog .shortcuts")
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.keyboard.press("Control+k")
    here.page.keyboard.type("an")
    here.page.wait_for_selector("#palette-list >> text=Ann")
    assert here.page.locator("#palette-list li").first.inner_text() == "Ann"
    here.page.keyboard.press("Escape")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.keyboard.press("Control+k")
    here.page.wait_for_selector("dialog.palette")
    here.go("/overview")
    here.page.wait_for_selector("dialog", state="detached")
    here.page.keyboard.press("Control+k")
    here.page.wait_for_selector("dialog.palette input:focus")
    here.page.keyboard.type("add a mem")
    here.page.wait_for_selector("#palette-list li:first-child >> text=/add a memory/i")
    here.page.keyboard.press("Enter")
    here.page.wait_for_selector("#new-memory")


_UNNAMED = """() => {
  const wrong = [];
  const name = e => e.ariaLabel || e.title || e.innerText?.trim() || e.textContent?.trim() || e.placeholder
    || [...(e.labels ?? [])].map(l => l.innerText).join('') || e.querySelector('[aria-label]')?.ariaLabel;
  for (const e of document.querySelectorAll('a[href], button, input, select, textarea, [role=button], summary'))
    if (e.checkVisibility() && e.type !== 'hidden' && !name(e)) wrong.push('no name: ' + e.outerHTML.slice(0, 120));
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map(id => 'id twice: ' + id));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (walk.currentNode.data.trim() && parent.checkVisibility()
        && !parent.closest('main, nav, header, aside, dialog, [role=status], .skip, noscript, [role=region]'))
      wrong.push('outside of a landmark: ' + walk.currentNode.data.trim().slice(0, 60));
  }
  for (const e of document.querySelectorAll('img:not([alt]), [role=img]:not([aria-label])'))
    wrong.push(e.outerHTML.slice(0, 80));
  if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
  if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1');
  return wrong;
}"""


def test_every_control_has_a_name_and_everything_stands_in_a_landmark(visit: Begin) -> None:
    here = visit()
    here.enter()
    wrong = {}
    for place in (*_names(here), "memories?q=peanuts"):
        here.go(f"/{place}")
        found = here.page.evaluate(_UNNAMED)
        if found:
            wrong[place] = found
    assert wrong == {}

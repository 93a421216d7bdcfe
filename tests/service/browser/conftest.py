"""A running service with something in it, and a browser that looks at it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memwell.records import Space
from memwell.runtime.wire.codec import Key
from memwell.service.app import App
from memwell.service.parts import Service
from tests.runtime.remote.serving import listening_to
from tests.service.asking import service_at
from tests.service.browser.finding import NoBrowser, find

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no page was looked at")

PATIENCE_MS = 60_000
_FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_FLAGS += ["--disable-component-update", "--disable-sync"]
# Its sandbox cannot be had by root, nor by others in most containers; only pages of our own are looked at.
_FLAGS += ["--no-sandbox"]
# What the browser refuses because of the policy is also told to the page; it is written down from the first moment.
_WATCH = (
    "addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective + ' ' + e.blockedURI))"
)

_GO = """place => location.hash === place || new Promise(done => {
  addEventListener("hashchange", () => setTimeout(done), { once: true });
  location.hash = place;
})"""


class House(NamedTuple):
    """A service that runs: where, and the tokens of its keys."""

    address: str
    service: Service
    owner: str
    reader: str
    newcomer: str
    """The key of a space with nothing in it."""


def _accept(dialog: Any) -> None:
    dialog.accept()


class Visit(NamedTuple):
    """A page that is looked at, and what went wrong in it so far."""

    page: Any
    house: House
    errors: list[str]

    def enter(self, place: str = "", *, key: str = "") -> None:
        """Sign in by the address, as the first start of a service prints it, and go to a place such as ``/memories``."""
        # A page that is open would go on meanwhile, and asks before it replaces the key that is in use.
        self.page.goto("about:blank")
        self.page.on("dialog", _accept)
        self.page.goto(f"{self.house.address}/#key={key or self.house.owner}")
        self.page.wait_for_selector(".frame h1")
        self.page.remove_listener("dialog", _accept)
        if place:
            self.go(place)

    def go(self, place: str) -> None:
        """Go to another page of the dashboard, and wait until nothing is loading any more."""
        self.page.evaluate(_GO, "#" + place)
        self.settle()

    def ask(self, query: str) -> None:
        """Ask the memory something past the page, so that there are figures to show."""
        headers = {"Authorization": f"Bearer {self.house.owner}"}
        answer = self.page.request.post(f"{self.house.address}/v1/recall", headers=headers, data={"query": query})
        assert answer.ok, answer.text()

    def settle(self) -> None:
        """Wait until nothing is loading any more."""
        self.page.wait_for_selector("main[data-shown]")
        # Not by a function that is tried until it holds: the driver would have to evaluate it, which the policy forbids.
        self.page.wait_for_selector(".skeleton, [aria-busy]", state="detached")


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """One service for the tests of a module."""
    with service_at(work=True) as service, listening_to(App(service), lifespan="on") as address:
        key = _filled(service)
        _, reader = service.keys.create("reader", space=key[0].space, scopes=["read"])
        _, newcomer = service.keys.create("newcomer", space=Space("acme", "new"), scopes=["read", "write"])
        yield House(address, service, key[1], reader, newcomer)


def _filled(service: Service) -> tuple[Key, str]:
    key, token = service.keys.create("owner", space=Space("acme", "ann"), scopes=["read", "write", "erase", "admin"])
    memory = service.memory_of(key.space)
    memory.remember("Ann is allergic to peanuts.", speaker="Ann", session="kitchen", id="nuts")
    memory.remember("Ann moved from Hamburg to Lisbon.", speaker="Ann", session="travel", id="moved")
    memory.remember("小安对花生过敏。", speaker="小安", id="zh")
    memory.remember(f"<img src=x onerror=alert(1)>{'x' * 400}", speaker="<b>" * 30, session="s" * 200, id="odd")
    memory.update("moved", text="Ann moved from Hamburg to Lisbon in March.")
    memory.thread("kitchen").add_human("What shall we cook for Ann?")
    return key, token


class Browser:
    """A browser, and what it keeps between two visits: a context for each choice of colours and language.

    Each context has one page that stays open. With it the browser need not start a process for every visit, nor read the
    scripts of the dashboard again.
    """

    def __init__(self, launched: Any) -> None:
        self._launched = launched
        self._kept: dict[tuple[str, str], Any] = {}

    def context(self, scheme: str, language: str) -> Any:
        """A new context, which knows nothing."""
        made = self._launched.new_context(
            viewport={"width": 1280, "height": 800}, color_scheme=scheme, locale=language, reduced_motion="reduce"
        )
        made.add_init_script(_WATCH)
        return made

    def kept(self, scheme: str, language: str, address: str) -> Any:
        """A context that others may have used before; nothing is stored in it, and no other page of theirs is open."""
        asked = (scheme, language)
        if asked not in self._kept:
            self._kept[asked] = self.context(scheme, language)
            self._kept[asked].new_page().goto(f"{address}/health/live")
        return self._kept[asked]

    def leave(self, context: Any) -> None:
        """End a visit."""
        if context not in self._kept.values():
            context.close()
            return
        for page in context.pages[1:]:
            if page.url.startswith("http"):
                page.evaluate("localStorage.clear()")
            page.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for the tests of a module. Not for all tests of a process: beside it, no other event loop can run."""
    try:
        program, environment = find()
    except NoBrowser as missing:
        pytest.skip(f"no page was looked at in a browser: {missing}")
    home: Path = tmp_path_factory.mktemp("browser")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=str(program), args=_FLAGS, env={**os.environ, "HOME": str(home), **environment}
        )
        yield Browser(launched)
        launched.close()


@pytest.fixture
def visit(browser: Browser, house: House) -> Iterator[Callable[..., Visit]]:
    """Makes visits; at the end nothing may have gone wrong in any of them but what a test took out of its ``errors``."""
    visits: list[Visit] = []

    def begin(*, width: int = 1280, scheme: str = "light", language: str = "en-US", first: bool = False) -> Visit:
        """``first`` is for a browser that was never here."""
        context = browser.context(scheme, language) if first else browser.kept(scheme, language, house.address)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.set_default_timeout(PATIENCE_MS)
        errors: list[str] = []
        page.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        visits.append(Visit(page, house, errors))
        return visits[-1]

    yield begin
    found = [one.errors for one in visits]
    for one in visits:
        browser.leave(one.page.context)
    assert not any(found), found

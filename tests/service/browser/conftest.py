"""A running service with something in it, and a browser that looks at it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn

from memwell.records import Space
from memwell.runtime.wire.running import Key
from memwell.service.app import create_app
from memwell.service.parts import Service
from tests.service.browser.finding import NoBrowser, find
from tests.service.rest.asking import service_at

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no page was looked at")

PATIENCE_MS = 20_000
_FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_FLAGS += ["--disable-component-update", "--disable-sync"]
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


class Visit(NamedTuple):
    """A page that is looked at, and what went wrong in it so far."""

    page: Any
    house: House
    errors: list[str]

    def enter(self, place: str = "", *, key: str = "") -> None:
        """Sign in by the address, as the first start of a service prints it, and go to a place such as ``/memories``."""
        self.page.goto(f"{self.house.address}/#key={key or self.house.owner}")
        self.page.wait_for_selector(".frame h1")
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
    with service_at(work=True) as service, _listening(service) as address:
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


@contextmanager
def _listening(service: Service) -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(service), log_config=None, lifespan="on", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for the tests of a module. Not for all tests of a process: beside it, no other event loop can run."""
    try:
        program, environment = find()
    except NoBrowser as missing:
        pytest.skip(f"no page was looked at in a browser: {missing}")
    home: Path = tmp_path_factory.mktemp("browser")
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=str(program), args=flags, env={**os.environ, "HOME": str(home), **environment}
        )
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Any, house: House) -> Iterator[Callable[..., Visit]]:
    """Makes visits; at the end nothing may have gone wrong in any of them but what a test took out of its ``errors``."""
    visits: list[tuple[Any, Visit]] = []

    def begin(*, width: int = 1280, scheme: str = "light", language: str = "en-US") -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, locale=language, reduced_motion="reduce"
        )
        context.add_init_script(_WATCH)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        errors: list[str] = []
        page.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        visits.append((context, Visit(page, house, errors)))
        return visits[-1][1]

    yield begin
    found = [one.errors for _, one in visits]
    for context, _ in visits:
        context.close()
    assert not any(found), found

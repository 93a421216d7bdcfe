"""The site of the documentation: it builds, has every public name, fetches nothing, and is searched in two languages."""

from __future__ import annotations

import ast
import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.browser.finding import NoBrowser, find
from tests.test_documentation import PAGES, examples
from tests.test_public_surface import FRONT_DOOR, modules_that_list_their_names, source_of

ROOT = Path(__file__).resolve().parents[1]
FRONT = "memwell"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as ``make docs`` builds it: a broken link or anchor, or a page outside the navigation, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4_000:]
    return folder


def listed_names(source: str) -> list[str]:
    """What a module's ``__all__`` says."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
    return []


def names_imported_in(code: str) -> set[str]:
    """The names of memwell's that a program imports from one of its modules."""
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    return {
        f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
        if (node.module or "").split(".")[0] == FRONT and not modules_path(f"{node.module}.{alias.name}").exists()
    }


def modules_path(name: str) -> Path:
    """Where the module or package of this name would be."""
    path = FRONT_DOOR.parent.joinpath(*name.split(".")[1:])
    return path if path.is_dir() else path.with_suffix(".py")


def public_names() -> set[str]:
    """All that modules list, and all that the pages and the examples import."""
    found = {f"{FRONT}.{name}" for name in listed_names(FRONT_DOOR.read_text("utf-8"))}
    for module in modules_that_list_their_names():
        found |= {f"{module}.{name}" for name in listed_names(source_of(module))}
    codes = [example.code for page in PAGES for example in examples(page.read_text("utf-8"))]
    codes += [path.read_text("utf-8") for path in ROOT.glob("examples/*.py")]
    return found.union(*map(names_imported_in, codes))


def documented(site: Path) -> set[str]:
    """The names in the site's inventory, which other projects link to."""
    packed = (site / "objects.inv").read_bytes().split(b"zlib.\n", 1)[1]
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}


def front_door_has(name: str, names: set[str]) -> bool:
    """Whether the name is documented at the front door, from which most programs import it."""
    return f"{FRONT}.{name.rpartition('.')[2]}" in names


def test_the_reference_has_every_public_name(site: Path):
    names = documented(site)
    public = public_names()
    assert len(public) > 400
    assert sorted(name for name in public if name not in names and not front_door_has(name, names)) == []


def test_names_are_found_in_programs():
    code = "from memwell import ai\nfrom memwell.models.http import Patience\nfrom memwell import knowledge\nimport os"
    assert names_imported_in(code) == {"memwell.ai", "memwell.models.http.Patience"}


def test_a_page_fetches_nothing_from_elsewhere(site: Path):
    fetched = re.compile(r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//[^"]*|<link[^>]+href="https?://[^"]*')
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    assert {found for page in pages for found in fetched.findall(page.read_text("utf-8"))} == set()


@pytest.fixture
def page(site: Path) -> Iterator[Any]:
    """The site in a browser, from a server; the test is skipped, and says why, where there is no browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no page was looked at")
    try:
        program, extra = find()
    except NoBrowser as missing:
        pytest.skip(f"{missing}: nothing was searched for in the site")
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_api.sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(
            executable_path=str(program), env={**os.environ, **extra}, args=["--no-sandbox", "--disable-gpu"]
        )
        opened = browser.new_page()
        opened.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        yield opened
        browser.close()
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def test_the_search_finds_words_in_both_languages(page: Any):
    address = page.url
    for query, expected in (
        ("forget undo", "Forgetting and changing"),
        ("事实", "人物与事实"),
        ("聊天机器人", "聊天机器人"),
    ):
        page.goto(address)
        page.click("input.md-search__input")
        page.keyboard.type(query)
        # Words that the index divides are joined by a space without width.
        script = """expected => [...document.querySelectorAll(".md-search-result__item h1")]
            .some(title => title.innerText.replaceAll("\\u200b", "") === expected)"""
        page.wait_for_function(script, arg=expected, timeout=60_000)
        assert page.input_value("input.md-search__input") == query

"""Every example in the README files and the documentation is run, and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [
        *ROOT.glob("README*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/compat/*.md"),
        *ROOT.glob("docs/integrations/*.md"),
    ]
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "== end of example =="


class Example(NamedTuple):
    code: str
    printed: str | None


def examples(page: str) -> list[Example]:
    """The Python blocks of a page; a text block right behind one is what it prints."""
    found: list[Example] = []
    end = -1
    for fence in FENCE.finditer(page):
        language, body = fence.groups()
        if language == "python":
            found.append(Example(body, None))
        elif language == "text" and found and not page[end : fence.start()].strip():
            found[-1] = found[-1]._replace(printed=body)
        end = fence.end()
    return found


def run_page(page: str, folder: Path) -> list[tuple[Example, str]]:
    """Run a page's examples one after the other, as a reader would, and return what each printed."""
    found = examples(page)
    script = "\n".join(f"{example.code}\nprint({MARK!r}, flush=True)" for example in found)
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return list(zip(found, run.stdout.split(f"{MARK}\n"), strict=False))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for example, printed in run_page(page.read_text(encoding="utf-8"), tmp_path):
        assert printed == (example.printed or ""), example.code


def test_a_wrong_example_is_noticed(tmp_path: Path) -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    (example, printed), *_ = run_page(page, tmp_path)
    assert (example.printed, printed) == ("3\n", "2\n")


def test_an_example_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_page("```python\n1 / 0\n```\n", tmp_path)


def test_there_is_something_to_run() -> None:
    assert sum(len(examples(page.read_text(encoding="utf-8"))) for page in PAGES) >= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_both_readmes_say_the_same_in_code() -> None:
    english, chinese = (
        examples((ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "README.zh-CN.md")
    )
    assert [e.code.count("\n") for e in english] == [c.code.count("\n") for c in chinese]

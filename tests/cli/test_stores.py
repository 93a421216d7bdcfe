"""Commands about a store that a service holds: they work on it, or say in one line that they cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import Run, running
from tests.runtime.remote.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as found:
        with found.memory("acme") as memory:
            memory.remember("我喜欢喝绿茶。")
            memory.thread("tea").add_human("Which tea?")
        yield found


@pytest.fixture
def run(served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    run = running(capsys, monkeypatch, tmp_path)
    monkeypatch.setenv("MEMWELL_KEY", served.token("acme"))
    return run


def test_an_export_to_the_output_is_that_of_the_service(run: Run, served: Served, tmp_path: Path):
    outcome = run("export", "-", "--store", served.address)
    assert (outcome.code, outcome.err) == (0, "")
    first, *lines, last = [json.loads(line) for line in outcome.out.splitlines()]
    assert (first["type"], first["space"], last["type"]) == ("header", ["acme"], "end")
    assert {"我喜欢喝绿茶。", "Which tea?"} <= set(
        re.findall(r'"text": "(.*?)"', json.dumps(lines, ensure_ascii=False))
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "arguments", [("tune",), ("keys", "create", "phone"), ("keys", "list"), ("doctor",)], ids=lambda one: one[-1]
)
def test_what_needs_the_store_itself_says_so(run: Run, served: Served, arguments: tuple[str, ...], language: str):
    outcome = run(*arguments, "--store", served.address, language=language)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert served.address in outcome.err
    assert ("where the store is" if language == "en" else "存储所在") in outcome.err


def test_the_space_that_is_named_is_that_of_the_key(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch):
    assert "in space acme" in run("show", "nope", "--store", served.address).err
    monkeypatch.setenv("MEMWELL_KEY", served.token("empty"))
    assert "in space empty" in run("threads", "--store", served.address).out

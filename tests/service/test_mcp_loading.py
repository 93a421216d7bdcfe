"""MCP is loaded when somebody asks for it, once for all who do, and ends with the service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from memwell.errors import MissingDependency
from memwell.service import mcp_loading
from memwell.service.mcp_loading import LazyMcp


class Counted:
    """What is loaded: it counts how often it ran and what it was asked."""

    def __init__(self) -> None:
        self.runs = self.ended = self.asked = 0

    def running(self) -> Counted:
        return self

    async def __aenter__(self) -> Counted:
        self.runs += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self.ended += 1

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1


async def asked(app: LazyMcp) -> None:
    nothing: Any = None
    await app({}, nothing, nothing)


def test_it_is_loaded_once_for_all_who_ask_at_once(monkeypatch: pytest.MonkeyPatch):
    made, loads, go_on = Counted(), list[int](), threading.Event()

    def load() -> Counted:
        loads.append(1)
        assert go_on.wait(60)
        return made

    async def several() -> None:
        app = LazyMcp()
        assert not app.is_loaded
        asking = [asyncio.create_task(asked(app)) for _ in range(4)]
        await asyncio.sleep(0)
        # One who hangs up while it is loaded ends nothing for the others.
        asking.pop().cancel()
        go_on.set()
        await asyncio.gather(*asking)
        assert (made.runs, made.ended) == (1, 0)
        await app.close()

    monkeypatch.setattr(mcp_loading, "_load", load)
    asyncio.run(several())
    assert (loads, made.runs, made.asked, made.ended) == ([1], 1, 3, 1)


def test_what_nobody_asked_for_has_nothing_to_end():
    app = LazyMcp()
    asyncio.run(app.close())
    assert not app.is_loaded


def test_why_it_could_not_be_loaded_is_raised_to_everybody_who_asks(monkeypatch: pytest.MonkeyPatch):
    def load() -> Counted:
        raise MissingDependency("a part of it is missing")

    async def twice() -> None:
        app = LazyMcp()
        for _ in range(2):
            with pytest.raises(MissingDependency, match="a part of it"):
                await asked(app)
        await app.close()

    monkeypatch.setattr(mcp_loading, "_load", load)
    asyncio.run(twice())


def test_that_it_is_not_installed_is_told_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingDependency, match="memwell\\[server\\]"):
        LazyMcp()


def test_a_service_starts_without_it():
    told = "import sys, memwell.service.server; print([name for name in sys.modules if name.startswith('mcp')])"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.strip() == "[]"

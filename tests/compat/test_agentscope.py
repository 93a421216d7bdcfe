"""The room as a whole: its page names everything there is, and a test for every fault it says is not here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memwell.compat import agentscope
from tests.compat.named_tests import missing_in, named_on

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compat" / "agentscope.md").read_text(encoding="utf-8")
FAULTS = named_on(PAGE)


def test_every_name_is_there_and_on_the_page() -> None:
    told = set(re.findall(r"`(\w+)`", PAGE))
    for name in agentscope.__all__:
        assert getattr(agentscope, name) is not None
        assert name in told, f"{name} is not on the page"
    assert set(agentscope.__all__) <= set(dir(agentscope))


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        agentscope.Nothing  # noqa: B018 - asking is the test


def test_the_page_lists_many_faults() -> None:
    assert len(FAULTS) >= 25


def test_every_fault_on_the_page_has_its_test() -> None:
    assert missing_in(ROOT / "tests", FAULTS) == []


def test_a_program_of_agents_and_memories_loads_no_numpy() -> None:
    program = """
import asyncio
import sys
from memwell.compat.agentscope import AgentBase, InMemoryMemory, Msg, MsgHub
async def main():
    memory = InMemoryMemory()
    await memory.add(Msg("anna", "hello", "user"))
    async with MsgHub([AgentBase()]):
        print(await memory.size(), "numpy" in sys.modules)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"

"""The room as a whole: its page names everything there is, and a test for every fault it says is not here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memwell.compat import dbgpt
from tests.compat.named_tests import missing_in, named_on

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compat" / "dbgpt.md").read_text(encoding="utf-8")
FAULTS = named_on(PAGE)


def test_every_name_is_there_and_on_the_page() -> None:
    told = set(re.findall(r"`(\w+)`", PAGE))
    for name in dbgpt.__all__:
        assert getattr(dbgpt, name) is not None
        assert name in told, f"{name} is not on the page"
    assert set(dbgpt.__all__) <= set(dir(dbgpt))


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        dbgpt.Nothing  # noqa: B018 - asking is the test


def test_the_page_lists_many_faults() -> None:
    assert len(FAULTS) >= 40


def test_every_fault_on_the_page_has_its_test() -> None:
    assert missing_in(ROOT / "tests" / "compat" / "dbgpt", FAULTS) == []


def test_a_program_that_only_converses_loads_no_numpy() -> None:
    program = """
import sys
from memwell.compat.dbgpt import InMemoryStorage, MemoryCacheStorage, ShortTermMemory, StorageConversation
talk = StorageConversation("talk", conv_storage=InMemoryStorage(), message_storage=InMemoryStorage())
talk.add_user_message("hello")
talk.end_current_round()
MemoryCacheStorage().set("key", "value")
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

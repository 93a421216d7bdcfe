"""The room as a whole: its page names everything there is, and a test for every fault it says is not here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memwell.compat import guide
from tests.compat.named_tests import missing_in, named_on

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compat" / "guide.md").read_text(encoding="utf-8")
FAULTS = named_on(PAGE)


def test_every_name_is_there_and_on_the_page() -> None:
    told = set(re.findall(r"`(\w+)`", PAGE))
    for name in guide.__all__:
        assert getattr(guide, name) is not None
        assert name in told, f"{name} is not on the page"
    assert set(guide.__all__) <= set(dir(guide))


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        guide.Nothing  # noqa: B018 - asking is the test


def test_the_page_lists_many_faults() -> None:
    assert len(FAULTS) >= 25


def test_every_fault_on_the_page_has_its_test() -> None:
    assert missing_in(ROOT / "tests", FAULTS) == []


def test_who_looks_at_one_class_does_not_load_the_others() -> None:
    program = """
import sys
from memwell.compat.guide import SimpleLLMChat
chat = SimpleLLMChat()
chat.add_message("user", "hello")
print(len(chat.conversation), sorted({"numpy", "matplotlib", "memwell.knowledge"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 []\n"

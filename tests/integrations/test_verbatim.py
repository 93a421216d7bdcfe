"""Items of other libraries are kept word for word; without a library its room says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memwell.integrations.verbatim import Item, VerbatimHistory
from memwell.messages import Role
from memwell.storage import open_backend


def test_items_are_kept_popped_and_replaced():
    with open_backend("memory:") as backend:
        kept = VerbatimHistory(backend, "t", "ann", "other")
        items = [Item(Role.HUMAN, "a", {"n": 1}), Item(Role.AI, "", [None, 2.5])]
        kept.add(items)
        kept.add([])
        assert kept.items() == [{"n": 1}, [None, 2.5]]
        assert kept.items(1) == [[None, 2.5]]
        assert kept.items(-1) == []
        assert kept.pop() == [None, 2.5]
        assert kept.items() == [{"n": 1}]
        kept.replace(items[1:])
        assert kept.items() == [[None, 2.5]]
        kept.clear()
        assert kept.pop() is None


@pytest.mark.parametrize(
    ("room", "library", "extra"),
    [
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("llama_index", "llama_index", "llama-index"),
        ("autogen", "autogen_core", "autogen"),
    ],
)
def test_without_its_library_a_room_says_what_to_install(room: str, library: str, extra: str):
    code = f"""
import sys
sys.modules[{library!r}] = None
from memwell.errors import MissingDependency
try:
    import memwell.integrations.{room}
except ImportError as error:
    print(isinstance(error, MissingDependency), error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("True ")
    assert f'pip install "path/to/memwell[{extra}]"' in run.stdout

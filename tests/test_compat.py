"""The rooms of ``memwell.compat``: each has a page that names everything, a test for every promise, and loads little."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agentscope", "basememory", "dbgpt", "guide", "langchain")
TESTS = {"agentscope": ROOT / "tests", "basememory": ROOT / "tests", "guide": ROOT / "tests"}
TESTS |= {"dbgpt": ROOT / "tests" / "compat" / "dbgpt", "langchain": ROOT / "tests" / "compat"}
"""The folder to which the names of tests on a page are relative."""


def page(room: str) -> str:
    return (ROOT / "docs" / "compat" / f"{room}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_there_and_on_the_page(room: str) -> None:
    module, on_page = import_module(f"memwell.compat.{room}"), set(re.findall(r"`(\w+)`", page(room)))
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in on_page, f"{name} is not on the page"
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        module.Nothing  # noqa: B018 - asking is the test


def names_in(tree: ast.AST) -> set[str]:
    """The functions and classes in a module: also those of a class, as ``Class::function``."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names |= {node.name, *(f"{node.name}::{inner}" for inner in names_in(node))}
    return names


@pytest.mark.parametrize("room", TESTS)
def test_every_promise_on_the_page_has_its_test(room: str) -> None:
    named = re.findall(r"^\| .* \| `([\w./]+\.py)::([\w:]+)` \|$", page(room), re.MULTILINE)
    files = {file: (TESTS[room] / file).read_text(encoding="utf-8") for file, _ in named}
    defined = {file: names_in(ast.parse(text)) for file, text in files.items()}
    assert len(named) >= 20
    assert [f"{file}::{name}" for file, name in named if name not in defined[file]] == []


PROGRAMS = {
    "agentscope": """
import asyncio
from memwell.compat.agentscope import AgentBase, InMemoryMemory, Msg, MsgHub
async def main():
    memory = InMemoryMemory()
    await memory.add(Msg("anna", "hello", "user"))
    async with MsgHub([AgentBase()]):
        await memory.size()
asyncio.run(main())
""",
    "basememory": """
from memwell.compat.basememory import BaseChatMessageMemory
memory = BaseChatMessageMemory()
memory.add_message("hello", sender="anna")
memory.optimize()
""",
    "dbgpt": """
from memwell.compat.dbgpt import InMemoryStorage, MemoryCacheStorage, ShortTermMemory, StorageConversation
talk = StorageConversation("talk", conv_storage=InMemoryStorage(), message_storage=InMemoryStorage())
talk.add_user_message("hello")
talk.end_current_round()
MemoryCacheStorage().set("key", "value")
""",
    "guide": """
from memwell.compat.guide import SimpleLLMChat
SimpleLLMChat().add_message("user", "hello")
""",
    "langchain": "from memwell.compat.langchain import *",
}
NOT_LOADED = {room: {"numpy", "matplotlib", "memwell.knowledge"} for room in PROGRAMS}
NOT_LOADED["langchain"] = {"langchain_core", "pydantic", "redis", "sqlalchemy"}


@pytest.mark.parametrize("room", PROGRAMS)
def test_a_small_program_loads_little(room: str) -> None:
    program = f"{PROGRAMS[room]}\nimport sys\nprint(sorted({NOT_LOADED[room]!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

"""The room as a whole: what it offers, and what it says when langchain-core is not there."""

from __future__ import annotations

import subprocess
import sys

import pytest
from langchain_core.caches import BaseCache
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore

from memwell.integrations import langchain_core as room

BASES = {
    "MemwellByteStore": BaseStore, "MemwellCache": BaseCache, "MemwellChatMessageHistory": BaseChatMessageHistory,
    "MemwellEmbeddings": Embeddings, "MemwellRetriever": BaseRetriever, "MemwellStore": BaseStore,
    "MemwellVectorStore": VectorStore,
}  # fmt: skip


def test_every_class_is_a_true_subclass():
    assert sorted(BASES) == room.__all__
    assert all(issubclass(getattr(room, name), base) for name, base in BASES.items())


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("module", ["langchain_core", "langchain_core.vectorstores"])
def test_without_langchain_it_says_what_to_install(module: str):
    code = f"""
import sys
sys.modules["langchain_core"] = None
from memwell.errors import MissingDependency
try:
    import memwell.integrations.{module}
except ImportError as error:
    print(isinstance(error, MissingDependency), error)
"""
    said = python(code)
    assert said.startswith("True ")
    assert 'pip install "memwell[langchain]"' in said


def test_another_missing_module_is_not_blamed_on_langchain():
    code = """
import sys
sys.modules["msgspec.structs"] = None
try:
    import memwell.integrations.langchain_core
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert python(code) == "msgspec.structs"


def test_memwell_itself_does_not_load_langchain():
    assert python("import sys, memwell; print('langchain_core' in sys.modules)") == "False"

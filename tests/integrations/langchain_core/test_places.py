"""Where things are kept: what names the same store shares it, and each kind has a place of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.outputs import Generation

from memwell.errors import BackendError
from memwell.integrations.langchain_core import (
    MemwellByteStore,
    MemwellCache,
    MemwellChatMessageHistory,
    MemwellStore,
    MemwellVectorStore,
)
from memwell.records import DEFAULT_SPACE
from memwell.storage import Backend


def test_a_file_that_was_deleted_is_begun_anew(tmp_path: Path):
    old = MemwellChatMessageHistory("s", tmp_path / "app.db")
    old.add_user_message("gone")
    for file in tmp_path.iterdir():
        file.unlink()
    MemwellChatMessageHistory("s", tmp_path / "app.db").add_user_message("kept")
    assert [one.content for one in MemwellChatMessageHistory("s", tmp_path / "app.db").messages] == ["kept"]
    # Who still holds the old one is told, rather than losing what it writes.
    with pytest.raises(BackendError):
        old.add_user_message("lost")


def test_what_is_kept_in_one_space_is_apart_by_kind(backend: Backend):
    store, cache = MemwellStore(backend), MemwellCache(backend)
    notes = MemwellVectorStore(DeterministicFakeEmbedding(size=4), backend)
    store.mset([("key", 1)])
    cache.update("prompt", "model", [Generation(text="x")])
    notes.add_texts(["note"], ids=["key"])
    assert list(store.yield_keys()) == ["key"]
    cache.clear()
    notes.delete()
    assert store.mget(["key"]) == [1]
    assert backend.kv.scan(DEFAULT_SPACE).items == []


def test_histories_of_the_memory_store_share_it():
    MemwellChatMessageHistory("shared", "memory:").add_user_message("Hello")
    assert [one.content for one in MemwellChatMessageHistory("shared", "memory:").messages] == ["Hello"]


def test_the_default_is_a_file_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    MemwellStore().mset([("key", b"value")])
    assert (tmp_path / "memwell.db").exists()
    assert MemwellByteStore("memwell.db").mget(["key"]) == [b"value"]


def test_a_process_that_never_closes_ends_cleanly(tmp_path: Path):
    code = (
        "from memwell.integrations.langchain_core import MemwellChatMessageHistory\n"
        "MemwellChatMessageHistory('s', 'app.db').add_user_message('kept')\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    # Closed, and so in one file.
    assert os.listdir(tmp_path) == ["app.db"]
    assert len(MemwellChatMessageHistory("s", tmp_path / "app.db").messages) == 1

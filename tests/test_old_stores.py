"""A store that an earlier version wrote opens: what it held is there, and what it had pending is done.

``tests/stored/store-0.1.0.db.gz`` was written before the packages were merged: memories, facts, an edited conversation, a
document, a grant, a conversation of DB-GPT's vocabulary, and one memory whose indexing was still pending.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memwell
from memwell.compat.dbgpt import BackendStorage, StorageConversation
from memwell.records import Space

STORED = Path(__file__).parent / "stored"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((STORED / "store-0.1.0.db.gz").read_bytes()))
    return path


@pytest.fixture
def memory(store: Path) -> Iterator[memwell.Engine]:
    with memwell.open(store, space="ann") as opened:
        yield opened


def test_memories_are_found_and_their_changes_are_known(memory: memwell.Engine):
    # Its vectors are those of an earlier embedder, and are made again.
    memory.flush()
    assert memory.recall("What must I not eat?")[0].text == "I am allergic to nuts."
    assert memory.recall("谁喜欢运动？")[0].text == "我周末喜欢去打篮球。"
    assert memory.get("changed").text == "The boiler is new."
    assert memory.undo("changed").text == "The boiler is old."
    assert memory.get("pinned").pinned


def test_what_was_forgotten_stays_hidden_and_can_be_restored(memory: memwell.Engine):
    assert all("secret" not in hit.text for hit in memory.recall("a secret"))
    memory.undo("hidden")
    assert memory.recall("a secret")[0].text == "A secret nobody needs."


def test_facts_keep_their_times(memory: memwell.Engine):
    [now] = memory.facts_about("Ann", relation="lives_in")
    [then] = memory.facts_about("Ann", relation="lives_in", as_of=datetime(2026, 3, 10, tzinfo=UTC))
    assert (now.object, then.object) == ("Bergen", "Oslo")


def test_the_conversation_has_its_messages_and_versions(memory: memwell.Engine):
    chat = memory.thread("trip")
    assert [message.text for message in chat] == ["In May I want to go to Kyoto.", "Which week?", "The second week."]
    [before] = chat.versions(2)
    assert before.message is not None
    assert before.message.text == "The seconde week."


def test_documents_and_grants_are_there(memory: memwell.Engine):
    assert memory.knowledge.answer("Who services the boiler?").text.startswith("Mrs Okafor services the boiler.")
    assert [grant.to for grant in memory.grants()] == [Space("bob")]


def test_what_was_pending_is_done(memory: memwell.Engine):
    assert memory.recall("When does the train leave?")[0].id == "pending"


def test_a_conversation_of_another_vocabulary_is_read(store: Path):
    storage = BackendStorage(str(store))
    talk = StorageConversation("dbgpt-talk", conv_storage=storage, message_storage=storage)
    assert [(message.type, message.content) for message in talk.messages] == [
        ("human", "I am Anna."),
        ("ai", "Hello Anna."),
    ]

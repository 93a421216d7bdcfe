"""LlamaIndex's chat store and memory block over memwell, with LlamaIndex's own ``Memory`` and buffer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed: make test installs it apart")
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.base import BaseChatStore

from memwell.integrations.llama_index import MemwellChatStore, MemwellMemoryBlock
from memwell.runtime.opening import open as open_memory
from memwell.storage.registry import close_shared

EVERY_KIND = [
    ChatMessage(role=MessageRole.SYSTEM, content="Be kind."),
    ChatMessage(
        role=MessageRole.USER,
        blocks=[TextBlock(text="look"), ImageBlock(url="https://example.org/a.png")],
    ),
    ChatMessage(role=MessageRole.ASSISTANT, content="", additional_kwargs={"tool_calls": [{"id": "c", "n": 1.5}]}),
    ChatMessage(role=MessageRole.TOOL, content="42", additional_kwargs={"tool_call_id": "c"}),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemwellChatStore]:
    yield MemwellChatStore(url_or_backend=str(tmp_path / "app.db"))
    close_shared()


def test_every_message_comes_back_equal(store: MemwellChatStore):
    assert isinstance(store, BaseChatStore)
    assert store.get_messages("a") == []
    store.set_messages("a", EVERY_KIND)
    assert store.get_messages("a") == EVERY_KIND
    store.add_message("b", EVERY_KIND[0])
    assert sorted(store.get_keys()) == ["a", "b"]
    assert store.delete_message("a", 1) == EVERY_KIND[1]
    assert store.delete_message("a", 7) is None
    assert store.delete_last_message("a") == EVERY_KIND[3]
    assert store.get_messages("a") == [EVERY_KIND[0], EVERY_KIND[2]]
    assert store.delete_messages("a") == [EVERY_KIND[0], EVERY_KIND[2]]
    assert store.delete_messages("a") is None
    assert store.get_keys() == ["b"]


async def test_the_buffer_of_llama_index_uses_it(store: MemwellChatStore):
    buffer = ChatMemoryBuffer.from_defaults(
        chat_store=store, chat_store_key="ann", token_limit=1000, tokenizer_fn=str.split
    )
    await buffer.aput(ChatMessage(role=MessageRole.USER, content="Hello"))
    assert [one.content for one in buffer.get()] == ["Hello"]
    assert await store.aget_messages("ann") == buffer.get_all()


async def test_the_block_remembers_and_recalls():
    with open_memory("memory:") as held:
        block = MemwellMemoryBlock(memory=held, limit=1)
        said = [ChatMessage(role=MessageRole.USER, content="I am allergic to nuts.")]
        await block.aput(said, session_id="s")
        assert held.memories()[0].session == "s"
        asked = [ChatMessage(role=MessageRole.USER, content="What am I allergic to?")]
        assert await block.aget(asked) == "I am allergic to nuts."
        assert await block.aget([]) == ""
        memory = Memory.from_defaults(session_id="s2", memory_blocks=[block], tokenizer_fn=str.split)
        await memory.aput(asked[0])
        assert any("I am allergic to nuts." in (one.content or "") for one in await memory.aget())
        engine = getattr(memory.sql_store, "_async_engine", None)
        assert engine is not None
        await engine.dispose()

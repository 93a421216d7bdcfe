"""AutoGen's ``Memory`` over memwell."""

from __future__ import annotations

import pytest

pytest.importorskip("autogen_core", reason="autogen-core is not installed: make test installs it apart")
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import SystemMessage, UserMessage

from memwell.errors import Unsupported
from memwell.integrations.autogen import MemwellMemory
from memwell.runtime.opening import open as open_memory


async def test_contents_are_added_found_put_into_a_context_and_cleared():
    with open_memory("memory:") as held:
        held.remember("The flight leaves at 7:40.")
        memory = MemwellMemory(held, limit=1)
        assert isinstance(memory, Memory)
        await memory.add(
            MemoryContent(content="Ann is allergic to nuts.", mime_type=MemoryMimeType.TEXT, metadata={"a": 1})
        )
        await memory.add(MemoryContent(content={"city": "Oslo"}, mime_type=MemoryMimeType.JSON))
        [found] = (await memory.query("What is Ann allergic to?")).results
        assert (found.content, found.mime_type) == ("Ann is allergic to nuts.", MemoryMimeType.TEXT)
        assert (found.metadata or {})["a"] == 1
        [found] = (await memory.query("Oslo city")).results
        assert found.content == {"city": "Oslo"}
        assert (await memory.query(" ")).results == []

        context = BufferedChatCompletionContext(buffer_size=5)
        await context.add_message(UserMessage(content="What is Ann allergic to?", source="ann"))
        done = await memory.update_context(context)
        assert len(done.memories.results) == 1
        last = (await context.get_messages())[-1]
        assert isinstance(last, SystemMessage)
        assert "- Ann is allergic to nuts." in last.content

        with pytest.raises(Unsupported):
            await memory.add(MemoryContent(content=b"x", mime_type=MemoryMimeType.BINARY))
        await memory.clear()
        await memory.close()
        assert [one.text for one in held.memories()] == ["The flight leaves at 7:40."]

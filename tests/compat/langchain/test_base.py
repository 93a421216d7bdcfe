from __future__ import annotations

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as theirs

from memwell.compat import langchain
from memwell.compat.langchain import (
    AIMessage,
    BaseChatMemory,
    BaseMemory,
    ConversationBufferMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    HumanMessage,
    InMemoryChatMessageHistory,
    MissingKey,
    get_prompt_input_key,
)
from memwell.errors import InvalidInput, Unsupported
from memwell.integrations.langchain_core import MemwellChatMessageHistory as CoreHistory
from memwell.storage.memory import MemoryBackend
from memwell.storage.sharing import close_shared


@given(st.lists(st.sampled_from(["a", "b", "history", "stop"]), unique=True))
def test_the_input_key_is_the_one_that_is_left(keys: list[str]) -> None:
    left = [key for key in keys if key in "ab"]
    inputs = dict.fromkeys(keys, "x")
    if len(left) == 1:
        assert get_prompt_input_key(inputs, ["history"]) == left[0]
    else:
        with pytest.raises(ValueError, match=r"One input key expected got \["):
            get_prompt_input_key(inputs, ["history"])


def test_no_input_at_all() -> None:
    with pytest.raises(ValueError, match=r"One input key expected got \[\]"):
        get_prompt_input_key({}, [])


def test_the_default_key_of_several_outputs_is_used_and_told() -> None:
    memory = ConversationBufferMemory()
    with pytest.warns(UserWarning, match="got multiple output keys"):
        memory.save_context({"input": "a"}, {"output": "b", "sources": "c"})
    assert memory.buffer == "Human: a\nAI: b"


def test_keys_that_are_given() -> None:
    memory = ConversationBufferMemory(input_key="q", output_key="a")
    memory.save_context({"q": "x", "other": "y"}, {"a": "z", "b": "w"})
    assert memory.buffer == "Human: x\nAI: z"


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    ({"other": "x"}, {"a": "y"}, MissingKey, "the inputs have no key 'q', only"),
    ({"q": "x"}, {"b": "y"}, KeyError, "the outputs have no key 'a', only"),
    ({"q": 3}, {"a": "y"}, InvalidInput, "3"),
    ({"q": "x"}, {"a": None}, InvalidInput, "None"),
    ({"q": "x"}, {"a": [3]}, InvalidInput, "3"),
    ({"q": "\ud800"}, {"a": "y"}, InvalidInput, "surrogates"),
    ("x", {"a": "y"}, InvalidInput, "the inputs must be a dict"),
    ({"q": "x"}, ["y"], InvalidInput, "the outputs must be a dict"),
]


@pytest.mark.parametrize(("inputs", "outputs", "kind", "text"), BAD)
def test_bad_input_stores_nothing(inputs: Any, outputs: Any, kind: type[Exception], text: str) -> None:
    memory = ConversationBufferMemory(input_key="q", output_key="a")
    memory.save_context({"q": "before"}, {"a": "before"})
    with pytest.raises(kind, match=text):
        memory.save_context(inputs, outputs)
    with pytest.raises(kind, match=text):
        asyncio.run(memory.asave_context(inputs, outputs))
    assert memory.buffer == "Human: before\nAI: before"


def test_empty_texts_and_blocks_are_content() -> None:
    memory = ConversationBufferMemory(return_messages=True)
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    memory.save_context({"input": [{"type": "text", "text": "what is it?"}, picture]}, {"output": ""})
    asked, answered = memory.load_memory_variables({})["history"]
    assert asked == HumanMessage([{"type": "text", "text": "what is it?"}, picture])
    assert answered == AIMessage("")


class Counting(BaseMemory):
    """A memory that somebody else wrote."""

    seen: int = 0
    name: str = "count"

    @property
    def memory_variables(self) -> list[str]:
        return [self.name]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {self.name: self.seen}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        self.seen += 1

    def clear(self) -> None:
        self.seen = 0


def test_a_memory_of_ones_own_has_its_async_twins() -> None:
    memory = Counting(name="n")
    asyncio.run(memory.asave_context({}, {}))
    memory.save_context({}, {})
    assert asyncio.run(memory.aload_memory_variables({})) == {"n": 2}
    asyncio.run(memory.aclear())
    assert memory.load_memory_variables({}) == {"n": 0}
    assert Counting().seen == 0


class Shouting(ConversationBufferMemory):
    mark: str = "!"

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        super().save_context({"input": inputs["input"].upper() + self.mark}, outputs)


def test_a_subclass_of_ours() -> None:
    memory = Shouting(mark="?", memory_key="m")
    asyncio.run(memory.asave_context({"input": "a"}, {"output": "b"}))
    assert memory.load_memory_variables({}) == {"m": "Human: A?\nAI: b"}


def test_a_base_cannot_be_made() -> None:
    kinds: list[Any] = [BaseMemory, BaseChatMemory]
    for kind in kinds:
        with pytest.raises(TypeError):
            kind()


def test_objects_share_no_history() -> None:
    one, other = ConversationBufferMemory(), ConversationBufferMemory()
    one.save_context({"input": "a"}, {"output": "b"})
    assert (one.buffer, other.buffer) == ("Human: a\nAI: b", "")
    shared = InMemoryChatMessageHistory()
    one.chat_memory = other.chat_memory = shared
    other.save_context({"input": "c"}, {"output": "d"})
    assert one.buffer == other.buffer == "Human: c\nAI: d"


def test_the_room_has_every_name() -> None:
    for name in langchain.__all__:
        assert getattr(langchain, name) is not None
    with pytest.raises(AttributeError, match="ZepMemory"):
        _ = langchain.ZepMemory


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_the_text_of_a_message_may_be_saved(kind: str) -> None:
    memory = ConversationBufferMemory()
    text = (AIMessage if kind == "ours" else theirs.AIMessage)("I am fine.").text
    memory.save_context({"input": text}, {"output": text})
    memory.chat_memory.add_messages([HumanMessage([text, {"type": "text", "text": text}])])
    assert memory.buffer.splitlines()[:2] == ["Human: I am fine.", "AI: I am fine."]
    assert memory.chat_memory.messages[2].content == ["I am fine.", {"type": "text", "text": "I am fine."}]


@pytest.mark.parametrize("kind", [ConversationSummaryMemory, ConversationSummaryBufferMemory])
def test_over_a_history_of_langchain_the_summary_is_one_of_its_messages_too(kind: Any) -> None:
    limit = {"max_token_limit": 8} if kind is ConversationSummaryBufferMemory else {}
    memory = kind(
        llm=lambda _: "A summary.",
        chat_memory=CoreHistory(kind.__name__, MemoryBackend()),
        return_messages=True,
        **limit,
    )
    memory.save_context({"input": "one two three"}, {"output": "four"})
    memory.save_context({"input": "five six seven"}, {"output": "eight"})
    shown = memory.load_memory_variables({})["history"]
    assert shown[0].text == "A summary."
    assert all(isinstance(one, theirs.BaseMessage) for one in shown)


COPIED: list[Any] = [
    ConversationBufferMemory,
    langchain.ConversationBufferWindowMemory,
    langchain.ConversationTokenBufferMemory,
    ConversationSummaryMemory,
    lambda **fields: ConversationSummaryBufferMemory(max_token_limit=12, **fields),
    langchain.ConversationEntityMemory,
    langchain.ConversationKGMemory,
    lambda **fields: langchain.MemoryMetrics(ConversationBufferMemory(**fields)),
    lambda **fields: langchain.ReadOnlySharedMemory(ConversationBufferMemory(**fields)),
]


def remember(memory: Any, *names: str) -> Any:
    inner = getattr(memory, "memory", memory)
    for name in names:
        inner.save_context({"input": f"{name} lives in Oslo."}, {"output": f"Hello {name}."})
    return memory.load_memory_variables({"input": "Where do Anna, Ben and Carla live?"})


@pytest.mark.parametrize("kind", COPIED)
def test_a_deep_copy_of_a_memory_goes_its_own_way(kind: Any) -> None:
    memory = kind()
    said = remember(memory, "Anna", "Ben")
    copied = deepcopy(memory)
    assert remember(copied) == said
    both = remember(copied, "Carla")
    assert both != said
    assert remember(memory) == said
    assert remember(memory, "Carla") == both


@pytest.mark.parametrize("kind", COPIED)
def test_a_deep_copy_over_a_store_is_of_the_same_conversation(kind: Any, tmp_path: Path) -> None:
    memory = kind(chat_memory=langchain.MemwellChatMessageHistory("s", str(tmp_path / "m.db")))
    remember(memory, "Anna")
    copied = deepcopy(memory)
    said = remember(copied, "Ben")
    assert remember(memory) == said
    close_shared()


def test_a_deep_copy_of_an_empty_memory_with_a_summary() -> None:
    memory = ConversationSummaryMemory(buffer="Human: I am Anna.")
    copied = deepcopy(memory)
    copied.save_context({"input": "I live in Oslo."}, {"output": ""})
    assert (memory.buffer, copied.buffer) == ("Human: I am Anna.", "Human: I am Anna. I live in Oslo.")


def test_what_cannot_be_copied_says_so(tmp_path: Path) -> None:
    memory = ConversationSummaryMemory(chat_memory=langchain.FileChatMessageHistory(tmp_path / "c.json"))
    remember(memory, "Anna")
    with pytest.raises(Unsupported, match="this ConversationSummaryMemory cannot be copied"):
        deepcopy(memory)
    plain = ConversationBufferMemory(chat_memory=memory.chat_memory)
    assert deepcopy(plain).buffer == plain.buffer

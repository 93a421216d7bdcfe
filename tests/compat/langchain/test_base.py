"""The base of all memories: fields, and input and output keys."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as theirs

from memwell.compat.langchain import (
    AIMessage,
    BaseChatMemory,
    BaseMemory,
    ConversationBufferMemory,
    HumanMessage,
    get_prompt_input_key,
)
from memwell.compat.langchain.base import MissingKey, WithFields, made_by
from memwell.errors import InvalidInput


class Made(WithFields):
    needed: str
    number: int = 3
    plain: list[str] = []
    own: dict[str, int] = made_by(dict[str, int])
    shared: ClassVar[int] = 0
    _private: int = 1
    _positional = ("needed",)


class More(Made):
    extra: str = "x"
    number = 5

    @property
    def plain(self) -> Any:
        return ("now a property",)


def test_fields_and_defaults_are_each_objects_own() -> None:
    one, other = Made("a"), Made(needed="b", number=1)
    one.plain.append("x")
    one.own["x"] = 1
    assert (other.needed, other.number, other.plain, other.own, Made.plain) == ("b", 1, [], {}, [])
    assert repr(other) == "Made(needed='b', number=1, plain=[], own={})"
    more = More("a", extra="y")
    assert (more.extra, more.number, more.plain) == ("y", 5, ("now a property",))


@pytest.mark.parametrize(
    ("args", "given", "text"),
    [
        ((), {}, "Field required"), (("a",), {"numbr": 1}, "no field 'numbr'; its fields are needed, number"),
        (("a", "b"), {}, "takes 1 values without a name"), (("a",), {"needed": "b"}, "got needed twice"),
        (("a",), {"shared": 1}, "no field 'shared'"), (("a",), {"_private": 1}, "no field '_private'"),
    ],
)  # fmt: skip
def test_wrong_fields_are_refused(args: Any, given: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        Made(*args, **given)


@given(st.lists(st.sampled_from(["a", "b", "history", "stop"]), unique=True))
def test_the_input_key_is_the_one_that_is_left(keys: list[str]) -> None:
    left = [key for key in keys if key in "ab"]
    inputs = dict.fromkeys(keys, "x")
    if len(left) == 1:
        assert get_prompt_input_key(inputs, ["history"]) == left[0]
    else:
        with pytest.raises(ValueError, match=r"One input key expected got \["):
            get_prompt_input_key(inputs, ["history"])


def test_output_keys() -> None:
    memory = ConversationBufferMemory()
    with pytest.warns(UserWarning, match="got multiple output keys"):
        memory.save_context({"input": "a"}, {"output": "b", "sources": "c"})
    memory.input_key, memory.output_key = "q", "a"
    memory.save_context({"q": "x", "other": "y"}, {"a": "z", "b": "w"})
    assert memory.buffer == "Human: a\nAI: b\nHuman: x\nAI: z"


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    ({"other": "x"}, {"a": "y"}, MissingKey, "the inputs have no key 'q', only"),
    ({"q": "x"}, {"b": "y"}, KeyError, "the outputs have no key 'a', only"),
    ({"q": 3}, {"a": "y"}, InvalidInput, "3"),
    ({"q": "x"}, {"a": None}, InvalidInput, "None"),
    ({"q": "x"}, {"a": [3]}, InvalidInput, "3"),
    ("x", {"a": "y"}, InvalidInput, "the inputs must be a dict"),
    ({"q": "x"}, ["y"], InvalidInput, "the outputs must be a dict"),
]


@pytest.mark.parametrize(("inputs", "outputs", "kind", "text"), BAD)
def test_bad_input_stores_nothing(inputs: Any, outputs: Any, kind: type[Exception], text: str) -> None:
    memory = ConversationBufferMemory(input_key="q", output_key="a")
    with pytest.raises(kind, match=text):
        memory.save_context(inputs, outputs)
    with pytest.raises(kind, match=text):
        asyncio.run(memory.asave_context(inputs, outputs))
    assert memory.buffer == ""


@pytest.mark.parametrize("kind", [AIMessage, theirs.AIMessage])
def test_texts_of_messages_and_blocks_are_content(kind: Any) -> None:
    memory = ConversationBufferMemory(return_messages=True)
    blocks = [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    memory.save_context({"input": kind("I am fine.").text}, {"output": ""})
    memory.save_context({"input": blocks}, {"output": kind("x").text})
    expected = [HumanMessage("I am fine."), AIMessage(""), HumanMessage(blocks), AIMessage("x")]
    assert memory.load_memory_variables({})["history"] == expected


@pytest.mark.parametrize("kind", [(HumanMessage, AIMessage), (theirs.HumanMessage, theirs.AIMessage)])
def test_a_message_is_saved_as_it_is(kind: Any) -> None:
    called = kind[1]("see", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    memory = ConversationBufferMemory(return_messages=True)
    memory.save_context({"input": kind[0]("hi", id="7")}, {"output": called})
    assert memory.load_memory_variables({})["history"] == [HumanMessage("hi", id="7"), called]


def test_none_is_a_history_of_its_own() -> None:
    memory, other = ConversationBufferMemory(chat_memory=None), ConversationBufferMemory(chat_memory=None)
    memory.save_context({"input": "a"}, {"output": "b"})
    assert (memory.buffer, other.buffer, memory.input_key) == ("Human: a\nAI: b", "", None)


class Counting(BaseMemory):
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


def test_subclasses_have_async_twins() -> None:
    memory = Counting(name="n")
    asyncio.run(memory.asave_context({}, {}))
    memory.save_context({}, {})
    assert asyncio.run(memory.aload_memory_variables({})) == {"n": 2}
    asyncio.run(memory.aclear())
    assert memory.seen == Counting().seen == 0
    kinds: list[Any] = [BaseMemory, BaseChatMemory]
    for kind in kinds:
        with pytest.raises(TypeError):
            kind()

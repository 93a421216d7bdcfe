"""Messages are cut and counted as LangChain's own functions do it."""

from __future__ import annotations

from typing import Any

import langchain_core.messages as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages.utils import count_tokens_approximately as their_count

from memwell.compat.langchain import messages as ours
from memwell.compat.langchain.message_trimming import count_tokens_approximately, trim_messages
from memwell.errors import InvalidInput

words = st.text("ab你\n ", max_size=30)
block = st.fixed_dictionaries({"type": st.just("text"), "text": words})
image = st.just({"type": "image_url", "image_url": {"url": "x"}})
contents = words | st.lists(words | block | image | st.just({"type": "odd", "x": 1}), max_size=3)
calls = st.lists(st.just({"name": "f", "args": {"a": 1}, "id": "x"}), max_size=1)
usage = st.none() | st.just({"input_tokens": 10, "output_tokens": 20, "total_tokens": 30})
provider = st.sampled_from([{}, {"model_provider": "one"}, {"model_provider": "two"}])
drawn = st.one_of(
    st.builds(theirs.HumanMessage, content=contents, name=st.none() | st.just("ann")),
    st.builds(theirs.SystemMessage, content=contents),
    st.builds(theirs.AIMessage, content=contents, tool_calls=calls, usage_metadata=usage, response_metadata=provider),
    st.builds(theirs.ToolMessage, content=words, tool_call_id=st.just("x")),
)
conversations = st.lists(drawn, max_size=7)
types = st.none() | st.sampled_from(["human", "ai", ["human", "tool"], theirs.HumanMessage])


@given(conversations, st.booleans(), st.booleans(), st.sampled_from([1.5, 4.0]))
def test_the_rough_count(messages: list[Any], scaled: bool, named: bool, characters: float) -> None:
    options: dict[str, Any] = {
        "use_usage_metadata_scaling": scaled,
        "count_name": named,
        "chars_per_token": characters,
        "tools": [{"name": "f", "parameters": {"x": 1}}],
    }
    expected = their_count(messages, **options)
    assert count_tokens_approximately(messages, **options) == expected
    assert count_tokens_approximately([ours.ours(one) for one in messages], **options) == expected


def test_tools_of_langchain_are_counted() -> None:
    from langchain_core.tools import tool

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert count_tokens_approximately([], tools=[add]) == their_count([], tools=[add])


def size(messages: list[Any]) -> int:
    return sum(len(str(one.text)) for one in messages) + len(messages)


@given(
    conversations, st.integers(0, 80), st.booleans(), st.booleans(), types, types, st.sampled_from(["first", "last"])
)
def test_cut(
    messages: list[Any], most: int, partial: bool, system: bool, end_on: Any, start_on: Any, strategy: Any
) -> None:
    options: dict[str, Any] = {"max_tokens": most, "token_counter": size, "allow_partial": partial, "end_on": end_on}
    if strategy == "last":
        options |= {"include_system": system, "start_on": start_on}
    expected = theirs.trim_messages(messages, strategy=strategy, **options)
    found = trim_messages(messages, strategy=strategy, **options)
    assert theirs.messages_to_dict(found) == theirs.messages_to_dict(expected)
    mine = [ours.ours(one) for one in messages]
    kept = ours.messages_to_dict(mine)
    cut = trim_messages(mine, strategy=strategy, **options)
    assert ours.messages_to_dict(cut) == theirs.messages_to_dict(expected)
    assert ours.messages_to_dict(mine) == kept


def test_ways_to_count() -> None:
    messages = [ours.HumanMessage("one two"), ours.AIMessage("three"), ours.HumanMessage("four")]

    class Model:
        def get_num_tokens_from_messages(self, counted: list[Any]) -> int:
            return len(counted)

    def one_by_one(message: ours.BaseMessage) -> int:
        return 1

    for counter in (len, Model(), one_by_one):
        assert trim_messages(messages, max_tokens=2, token_counter=counter) == messages[1:]
    rough = count_tokens_approximately(messages[1:])
    assert trim_messages(messages, max_tokens=rough, token_counter="approximate") == messages[1:]


def test_another_splitter() -> None:
    message = ours.HumanMessage("one two three")
    found = trim_messages(
        [message], max_tokens=8, token_counter=size, allow_partial=True, text_splitter=lambda text: text.split(" ")
    )
    assert [one.content for one in found] == ["three"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"token_counter": "odd"},
        {"token_counter": 7},
        {"strategy": "odd"},
        {"strategy": "first", "start_on": "human"},
        {"strategy": "first", "include_system": True},
    ],
)
def test_arguments_that_do_not_go_together(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        trim_messages([ours.HumanMessage("x")], **{"max_tokens": 1, "token_counter": len, **wrong})

"""Lists of messages are converted, filtered and merged as LangChain's own functions do it."""

from __future__ import annotations

from typing import Any

import langchain_core.messages as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import messages as ours
from memwell.compat.langchain.message_tools import (
    convert_to_messages,
    filter_messages,
    merge_message_runs,
    to_langchain_messages,
)
from memwell.errors import InvalidInput

words = st.text("ab你\n ", max_size=6)
names = st.none() | st.sampled_from(["ann", "bob"])
ids = st.none() | st.sampled_from(["1", "2", "lc_3", "lc_run-4"])
objects = st.dictionaries(st.sampled_from(["a", "b", "id", "index"]), words, max_size=2)
block = st.fixed_dictionaries({"type": st.just("text"), "text": words}, optional={"index": st.integers(0, 1)})
use = st.fixed_dictionaries({"type": st.just("tool_use"), "id": st.sampled_from("xyz")})
contents = words | st.lists(words | block | use, max_size=3)
base = {"name": names, "id": ids, "additional_kwargs": objects}
calls = st.lists(
    st.fixed_dictionaries({"name": st.just("f"), "args": st.just({"a": 1}), "id": st.sampled_from("xyz")}), max_size=2
)
usage = st.just({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"cached": 1}})
drawn = st.one_of(
    st.builds(theirs.HumanMessage, content=contents, **base),
    st.builds(theirs.SystemMessage, content=contents, **base, response_metadata=objects),
    st.builds(theirs.AIMessage, content=contents, **base, tool_calls=calls, usage_metadata=st.none() | usage),
    st.builds(theirs.ToolMessage, content=words, tool_call_id=st.sampled_from("xyz"), name=names),
    st.builds(theirs.ChatMessage, content=contents, role=st.just("judge")),
)
conversations = st.lists(drawn, max_size=6)


def same(mine: list[Any], other: list[Any]) -> bool:
    return ours.messages_to_dict(mine) == theirs.messages_to_dict(other)


@given(conversations, st.sampled_from(["\n", " | "]))
def test_runs_are_merged(messages: list[Any], separator: str) -> None:
    mine = [ours.ours(one) for one in messages]
    try:
        expected = theirs.merge_message_runs(messages, chunk_separator=separator)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            merge_message_runs(mine, chunk_separator=separator)
        return
    assert same(merge_message_runs(messages, chunk_separator=separator), expected)
    assert same(merge_message_runs(mine, chunk_separator=separator), expected)


rules = st.fixed_dictionaries(
    {},
    optional={
        "include_names": st.lists(st.sampled_from(["ann", "bob"])),
        "exclude_names": st.lists(st.sampled_from(["ann", "bob"]), max_size=1),
        "include_types": st.just("human") | st.lists(st.sampled_from(["ai", "tool", theirs.HumanMessage]), max_size=2),
        "exclude_types": st.lists(st.sampled_from(["system", theirs.ToolMessage]), max_size=1),
        "include_ids": st.lists(st.sampled_from("12"), max_size=1),
        "exclude_ids": st.lists(st.sampled_from("12"), max_size=1),
        "exclude_tool_calls": st.booleans() | st.sets(st.sampled_from("xyz")),
    },
)


@given(conversations, rules)
def test_filters(messages: list[Any], rule: dict[str, Any]) -> None:
    expected = theirs.filter_messages(messages, **rule)
    assert same(filter_messages(messages, **rule), expected)
    assert same(filter_messages([ours.ours(one) for one in messages], **rule), expected)


def test_our_classes_name_types_too() -> None:
    messages = [theirs.HumanMessage("a"), ours.AIMessage("b"), ours.HumanMessage("c")]
    assert [one.content for one in filter_messages(messages, include_types=ours.HumanMessage)] == ["a", "c"]
    assert [one.content for one in filter_messages(messages, exclude_types=[theirs.HumanMessage])] == ["b"]


LIKE = [
    "你好",
    ("human", "a"),
    ("system", "b"),
    ["ai", "c"],
    {"role": "user", "content": "d", "name": "ann", "id": "1", "color": "red"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "developer", "content": "e"},
    {"role": "tool", "content": "f", "tool_call_id": "1", "status": "error", "artifact": {"x": 1}},
    {"type": "ai", "content": "g", "response_metadata": {"m": 1}, "additional_kwargs": {"z": 1}},
    {"role": "function", "content": "h", "name": "f"},
    {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "i"}},
    {"type": "remove", "content": "", "id": "9"},
]


@pytest.mark.parametrize("value", LIKE)
def test_what_stands_for_a_message(value: Any) -> None:
    assert same(convert_to_messages([value]), theirs.convert_to_messages([value]))


def test_messages_stay_themselves() -> None:
    foreign, mine = theirs.HumanMessage("a"), ours.HumanMessage("b")
    found = convert_to_messages([foreign, mine])
    assert found[0] is foreign
    assert found[1] is mine

    class Prompt:
        def to_messages(self) -> list[Any]:
            return [mine]

    assert convert_to_messages(Prompt()) == [mine]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (("a", "b", "c"), NotImplementedError),
        (7, NotImplementedError),
        (("nobody", "x"), InvalidInput),
        ({"role": "user"}, InvalidInput),
        ({"content": "x"}, InvalidInput),
    ],
)
def test_what_stands_for_no_message(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        convert_to_messages([value])
    with pytest.raises((ValueError, NotImplementedError)):
        theirs.convert_to_messages([value])


@given(conversations)
def test_to_langchain_and_back(messages: list[Any]) -> None:
    assert to_langchain_messages(map(ours.ours, messages)) == messages

"""Messages in OpenAI's form, as LangChain's own function gives them."""

from __future__ import annotations

from typing import Any

import langchain_core.messages as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import messages as ours
from memwell.compat.langchain.openai_messages import convert_to_openai_messages
from memwell.errors import InvalidInput

words = st.text("ab你\n ", max_size=6)
blocks = st.one_of(
    words,
    st.fixed_dictionaries({"type": st.just("text"), "text": words}),
    st.sampled_from(
        [
            {"type": "image_url", "image_url": {"url": "u"}},
            {"type": "image", "url": "u"},
            {"type": "image", "base64": "AA", "mime_type": "image/png"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
            {"image": {"source": {"bytes": b"x"}, "format": "png"}},
            {"type": "media", "mime_type": "image/png", "data": b"x"},
            {"type": "file", "file": {"file_data": "x", "filename": "y"}},
            {"type": "file", "file_id": "f"},
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            {"type": "audio", "base64": "AA", "mime_type": "audio/wav"},
            {"json": {"a": 1}},
            {"guard_content": {"text": {"text": "guarded"}}},
            {"type": "thinking", "thinking": "hm"},
            {"type": "odd", "x": 1},
        ]
    ),
)
spoken = st.sampled_from(
    [
        {"type": "tool_use", "id": "x", "name": "f", "input": {"a": "你"}},
        {"type": "tool_use", "id": "known", "name": "f", "input": {}},
        {"type": "function_call", "call_id": "y", "name": "g", "arguments": "{}"},
    ]
)
results = st.sampled_from(
    [
        {"type": "tool_result", "tool_use_id": "x", "content": "done"},
        {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "a"}], "is_error": True},
    ]
)
calls = st.lists(st.just({"name": "f", "args": {"a": "你"}, "id": "known"}), max_size=1)
extra = st.sampled_from([{}, {"refusal": "no"}])
drawn = st.one_of(
    st.builds(theirs.HumanMessage, content=words | st.lists(blocks | results, max_size=3), name=st.none() | words),
    st.builds(
        theirs.AIMessage,
        content=words | st.lists(blocks | spoken, max_size=3),
        tool_calls=calls,
        additional_kwargs=extra,
        id=st.none() | words,
    ),
    st.builds(
        theirs.SystemMessage, content=words, additional_kwargs=st.sampled_from([{}, {"__openai_role__": "developer"}])
    ),
    st.builds(theirs.ToolMessage, content=words, tool_call_id=words),
    st.builds(theirs.FunctionMessage, content=words, name=words),
    st.builds(theirs.ChatMessage, content=words, role=words),
)


@given(st.lists(drawn, max_size=4), st.sampled_from(["string", "block"]), st.booleans(), st.booleans())
def test_as_theirs(messages: list[Any], form: Any, include_id: bool, lenient: bool) -> None:
    options: dict[str, Any] = {
        "text_format": form,
        "include_id": include_id,
        "pass_through_unknown_blocks": lenient,
    }
    try:
        expected = theirs.convert_to_openai_messages(messages, **options)
    except ValueError:
        with pytest.raises(InvalidInput, match="Unrecognized content block"):
            convert_to_openai_messages(messages, **options)
        return
    assert convert_to_openai_messages(messages, **options) == expected
    assert convert_to_openai_messages([ours.ours(one) for one in messages], **options) == expected


def test_one_message() -> None:
    assert convert_to_openai_messages("你好") == {"role": "user", "content": "你好"}
    assert convert_to_openai_messages({"role": "user", "content": "x"}) == {"role": "user", "content": "x"}
    assert convert_to_openai_messages(ours.AIMessage("x")) == {"role": "assistant", "content": "x"}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text"},
        {"type": "image_url"},
        {"type": "image"},
        {"type": "tool_use", "id": "x"},
        {"type": "tool_result"},
        {"type": "json"},
        {"type": "guard_content"},
        {"type": "media", "mime_type": "x"},
        {"type": "media", "mime_type": "video/mp4", "data": b""},
    ],
)
def test_blocks_that_lack_something(block: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"content block|media"):
        theirs.convert_to_openai_messages([theirs.AIMessage([block])], text_format="block")
    with pytest.raises(InvalidInput):
        convert_to_openai_messages([ours.AIMessage([block])], text_format="block")


def test_what_nobody_says() -> None:
    with pytest.raises(InvalidInput):
        convert_to_openai_messages([ours.RemoveMessage("1")])
    with pytest.raises(InvalidInput):
        convert_to_openai_messages([], text_format="odd")  # pyright: ignore[reportArgumentType]

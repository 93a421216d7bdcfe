"""Whatever a server says is an answer or a ``BadModelOutput``, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BadModelOutput, InvalidInput
from memwell.messages import human
from memwell.models.wire import Answer, StreamedAnswer, chat_body, read_completion, read_embeddings

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
junk = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
function = st.fixed_dictionaries({}, optional={"name": junk, "arguments": junk | st.just("{}")})
call = junk | st.fixed_dictionaries({}, optional={"id": junk, "type": junk, "index": junk, "function": junk | function})
message = junk | st.fixed_dictionaries(
    {}, optional={"role": junk, "content": junk, "tool_calls": junk | st.lists(call, max_size=2), "refusal": junk}
)
choice = st.fixed_dictionaries({}, optional={"message": message, "delta": message, "finish_reason": junk})
body = st.fixed_dictionaries(
    {}, optional={"choices": junk | st.lists(choice | junk, max_size=2), "usage": junk, "model": junk, "error": junk}
)


@given(body | junk, st.booleans())
def test_a_body_is_an_answer_or_refused(value: Any, wants_json: bool):
    try:
        found = read_completion(json.dumps(value).encode(), wants_json=wants_json)
    except BadModelOutput:
        return
    assert isinstance(found, Answer)


@given(st.binary(max_size=40))
def test_bytes_are_an_answer_or_refused(data: bytes):
    with pytest.raises(BadModelOutput):
        read_completion(data, wants_json=False)
    with pytest.raises(BadModelOutput):
        read_embeddings(data, 1)


@given(st.lists(body | junk, max_size=4), st.booleans())
def test_a_stream_is_an_answer_or_refused(values: list[Any], done: bool):
    lines = [f"data: {json.dumps(value)}" for value in values] + (["data: [DONE]"] if done else [])
    stream = StreamedAnswer()
    try:
        texts = list(stream.texts(lines))
        found = stream.answer(wants_json=False)
    except BadModelOutput:
        return
    assert "".join(texts) == found.message.text


@given(junk | st.fixed_dictionaries({"data": junk | st.lists(st.fixed_dictionaries({"embedding": junk}) | junk)}))
def test_vectors_are_numbers_or_refused(value: Any):
    try:
        rows, _ = read_embeddings(json.dumps(value).encode(), 1)
    except BadModelOutput:
        return
    assert all(isinstance(number, int | float) for number in rows[0])


@pytest.mark.parametrize("options", [{"temperature": float("nan")}, {"schema": {"x": object()}}, {"stop": [b"x"]}])
def test_options_that_are_no_json_are_refused(options: Any):
    with pytest.raises(InvalidInput):
        chat_body("m", [human("Hi")], options, stream=False)

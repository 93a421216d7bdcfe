"""The rules that hold for the shapes of both APIs, and for the text of a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Message, Part, ToolCall, Video, ai, encode_message, human
from memwell.testing import strategies
from memwell.transcript import from_anthropic, from_openai, to_anthropic, to_openai, to_text
from tests.transcript.wrecking import wreck

Out = Callable[[Sequence[Message]], Any]
OUT: dict[str, Out] = {"openai": to_openai, "anthropic": lambda said: list(to_anthropic(said))}


@pytest.fixture(params=OUT)
def out(request: pytest.FixtureRequest) -> Out:
    return OUT[request.param]


@pytest.mark.parametrize("api", OUT)
@given(said=st.lists(strategies.messages(), max_size=3))
def test_what_goes_out_is_json_for_models_and_shares_nothing(api: str, said: list[Message]):
    shapes = OUT[api](said)
    assert json.loads(json.dumps(shapes)) == shapes
    assert shapes == OUT[api]([item for item in said if item.for_model])
    assert not any(OUT[api]([item.changed(hidden=True) for item in said]))
    before = [encode_message(item) for item in said]
    wreck(shapes)
    assert [encode_message(item) for item in said] == before


def content(out: Out, item: Message) -> Any:
    """The content of the one message that goes out."""
    *_, last = out([item])
    return (last[0] if isinstance(last, list) else last)["content"]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Video(url="https://example.org/a.mp4", text="a dog"), "[video: a dog]"),
        (Audio(url="https://example.org/a.mp3"), "[audio]"),
        (Image(blob="abc", text="a cat"), "[image: a cat]"),
        (Image(), "[image]"),
        (ToolCall("1", "f", {"a": 1}), '[calls f({"a":1})]'),
    ],
)
def test_what_a_shape_cannot_carry_goes_as_words(out: Out, part: Part, words: str):
    assert content(out, human(part)) == words


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\n\x00\x00\x00WEBPVP8", "image/webp"),
        (b"?", "image/png"),
    ],
)
def test_the_type_of_a_picture_is_read_from_its_bytes(out: Out, data: bytes, media_type: str):
    assert media_type in json.dumps(content(out, human(Image(data=data))))


@pytest.mark.parametrize("lookalike", strategies.SERIALISED_LOOKALIKES)
def test_a_dict_that_looks_like_an_object_stays_a_dict(lookalike: dict[str, Any]):
    said = [ai(tool_calls=[ToolCall("1", "f", lookalike)])]
    prompt, shapes = to_anthropic(said)
    for (read,) in (from_openai(to_openai(said)), from_anthropic(shapes, prompt)):
        arguments = read.tool_calls[0].arguments
        assert type(arguments) is dict
        assert arguments == lookalike


@pytest.mark.parametrize("call", [to_openai, to_anthropic, to_text])
def test_what_no_store_would_keep_is_refused(call: Any):
    with pytest.raises(InvalidInput, match=r"messages\[0\]: a tool call's arguments\['a'\] must be plain JSON"):
        call([ai(tool_calls=[ToolCall("1", "f", {"a": {1}})])])
    with pytest.raises(InvalidInput, match=r"messages\[1\]: expected a Message, not 'x'"):
        call([human("x"), "x"])
    with pytest.raises(InvalidInput, match=r"messages\[0\]: text must not contain NUL"):
        call([human("\x00")])

"""OpenAI's Chat Completions, to our messages and back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import (
    Audio,
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ai,
    encode_message,
    human,
    message,
    system,
    tool_result,
)
from memwell.testing import strategies
from memwell.transcript import from_openai, to_openai
from tests.transcript.wrecking import wreck

PIXEL = b"\x89PNG\r\n\x1a\n"
PIXEL_URL = "data:image/png;base64,iVBORw0KGgo="
KNOWN_TYPES = {"text", "image_url", "input_audio"}


def carried(item: Message) -> tuple[Any, ...]:
    """What the shape carries of a message."""
    return item.role, item.parts, item.name, item.chat_role


def options(*taken: str) -> st.SearchStrategy[dict[str, Any]]:
    return strategies.json_objects().map(lambda found: {key: found[key] for key in found if key not in taken})


def contents() -> st.SearchStrategy[Text | Image | Audio | Opaque]:
    """Parts that the shape carries whole."""
    types = st.sampled_from(["image/png", "image/jpeg", "application/x-a+b"])
    sounds = st.sampled_from(["audio/wav", "audio/mpeg", "audio/flac"])
    urls = strategies.texts(min_size=1).filter(lambda url: not url.startswith("data:"))
    unknown = st.builds(
        lambda kind, data: Opaque(f"openai.{kind}", {**data, "type": kind}),
        strategies.ids().filter(lambda kind: kind not in KNOWN_TYPES)
        | st.sampled_from(["file", "refusal", "video_url"]),
        strategies.json_objects(),
    )
    return st.one_of(
        st.builds(Text, strategies.texts(min_size=1)),
        st.builds(Image, url=urls, options=options("url")),
        st.builds(Image, data=st.binary(max_size=20), media_type=types, options=options("url")),
        st.builds(Audio, data=st.binary(max_size=20), media_type=sounds, options=options("data", "format")),
        unknown,
    )


def calls() -> st.SearchStrategy[Part]:
    written = st.sampled_from(["", "null", "[1]", '{"a":', "{a: 1}", '"{}"', '{"a": 1e999}']) | strategies.words()
    bad_json = written.filter(lambda text: not text.strip().startswith("{}"))
    function = st.builds(ToolCall, strategies.ids(), strategies.ids(), strategies.json_objects() | bad_json)
    custom = st.builds(lambda data: Opaque("openai-call.custom", {**data, "type": "custom"}), strategies.json_objects())
    return function | custom


def fields() -> st.SearchStrategy[Opaque]:
    keys = st.sampled_from(["refusal", "audio", "reasoning_content", "注"])
    values = strategies.json_values().filter(lambda value: value not in (None, [], {}))
    return st.builds(lambda key, value: Opaque(f"openai-field.{key}", {key: value}), keys, values)


ROLES = st.sampled_from(["user", "assistant", "system", "developer", "tool", "function"])
IDS = strategies.ids()
NAMES = st.none() | IDS
CONTENTS = st.lists(contents(), max_size=2)
CALLS = st.lists(calls(), max_size=2)
FIELDS = st.lists(fields(), max_size=2, unique_by=lambda part: part.kind)


@st.composite
def carriable(draw: st.DrawFn) -> Message:
    """A message that the shape carries whole."""
    role = draw(ROLES)
    name = draw(NAMES)
    content = tuple(draw(CONTENTS))
    if role == "tool":
        return message(Role.TOOL, ToolResult(draw(IDS), content, name), name=name)
    if role == "function":
        name = draw(IDS)
        return message(Role.FUNCTION, ToolResult(f"function_call_{name}", content, name), name=name)
    if role == "assistant":
        return ai((*content, *draw(CALLS), *draw(FIELDS)), name=name)
    if role == "user":
        return human(content, name=name)
    return system(content, name=name, chat_role="developer" if role == "developer" else None)


class TestLaws:
    @given(st.lists(carriable(), max_size=3))
    def test_messages_come_back_as_they_went_and_share_nothing(self, said: list[Message]):
        shapes = to_openai(said)
        untouched = copy.deepcopy(shapes)
        back = from_openai(shapes)
        assert shapes == untouched == to_openai(back)
        wreck(shapes)
        assert [carried(item) for item in back] == [carried(item) for item in said]

    @given(strategies.conversations())
    def test_a_conversation_comes_back_with_one_message_a_result(self, said: list[Message]):
        apart = [
            carried(item)
            for whole in said
            for item in ([message(Role.TOOL, part) for part in whole.parts] if whole.role is Role.TOOL else [whole])
        ]
        assert [carried(item) for item in from_openai(to_openai(said))] == apart


class TestShapes:
    def test_a_usual_conversation(self):
        said = [
            system("Be kind."),
            human("hi", name="ann"),
            ai(tool_calls=[ToolCall("c1", "weather", {"city": "北京"}), ToolCall("c2", "time", "now!")]),
            tool_result("c1", "rain", name="weather"),
            tool_result("c2", ["late", Image(url="https://example.org/clock.png", options={"detail": "low"})]),
            ai("It rains."),
        ]
        clock = {"type": "image_url", "image_url": {"detail": "low", "url": "https://example.org/clock.png"}}
        assert to_openai(said) == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi", "name": "ann"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"北京"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "time", "arguments": "now!"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "rain", "name": "weather"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "late"}, clock]},
            {"role": "assistant", "content": "It rains."},
        ]

    @pytest.mark.parametrize(
        ("chat_role", "expected"),
        [
            ("assistant", {"role": "assistant", "content": "x"}),
            ("user", {"role": "user", "content": "x"}),
            ("developer", {"role": "developer", "content": "x"}),
            ("Judge", {"role": "user", "content": "x", "name": "Judge"}),
            ("tool", {"role": "user", "content": "x", "name": "tool"}),
            (None, {"role": "user", "content": "x"}),
        ],
    )
    def test_a_chat_role_is_a_role_or_else_the_name_of_a_person(self, chat_role: str | None, expected: dict[str, Any]):
        assert to_openai([message("chat", "x", chat_role=chat_role)]) == [expected]

    def test_results_go_before_a_users_words_and_after_a_models(self):
        result = ToolResult("a", (Text("1"),))
        assert [shape["role"] for shape in to_openai([human(["x", result])])] == ["tool", "user"]
        assert [shape["role"] for shape in to_openai([message("tool", ["x", result])])] == ["tool", "user"]
        assert [shape["role"] for shape in to_openai([ai([result, "x"])])] == ["assistant", "tool"]

    @pytest.mark.parametrize(
        ("part", "sound"),
        [
            (Audio(data=b"RIFF"), "wav"),
            (Audio(data=b"ID3"), "mp3"),
            (Audio(data=b"", media_type="audio/x-wav"), "wav"),
            (Audio(data=b"", media_type="audio/mp3"), "mp3"),
            (Audio(data=b"", media_type="audio/ogg"), "ogg"),
        ],
    )
    def test_the_format_of_a_sound(self, part: Audio, sound: str):
        (shape,) = to_openai([human(part)])
        assert shape["content"][0]["input_audio"]["format"] == sound

    def test_a_data_url_becomes_bytes(self):
        for given_as in ({"url": PIXEL_URL, "detail": "low"}, PIXEL_URL):
            (read,) = from_openai([{"role": "user", "content": [{"type": "image_url", "image_url": given_as}]}])
            (image,) = read.parts
            assert isinstance(image, Image)
            assert (image.data, image.media_type, image.url) == (PIXEL, "image/png", None)

    @pytest.mark.parametrize(
        "url",
        [
            "data:image/png;base64,iVBORw0KGgo", "data:image/png;base64,iVBORw0KGgp=", "data:image/png;base64,!!!!",
            "data:image/png;base64,é", "data:image/svg+xml;charset=utf-8;base64,AAAA", "data:image/svg+xml,<svg/>",
            "data:;base64,AAAA", "https://example.org/a.png",
        ],
    )  # fmt: skip
    def test_an_address_that_could_not_be_made_again_stays_one(self, url: str):
        shapes = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
        (read,) = from_openai(shapes)
        assert read.parts == (Image(url=url),)
        assert to_openai([read]) == shapes

    def test_a_retired_function_call_is_paired_with_its_result(self):
        call, result = from_openai(
            [
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "1"},
            ]
        )
        assert call.tool_calls[0].id == result.tool_results[0].call_id

    def test_what_belongs_to_another_provider_stays_behind(self):
        thinking = Opaque("anthropic.thinking", {"type": "thinking", "thinking": "hm"})
        unowned = Opaque("mine", {"type": "mine"})
        assert to_openai([ai([thinking, "x"])]) == [{"role": "assistant", "content": "x"}]
        assert to_openai([human([thinking, ToolResult("1", (thinking,))])]) == [
            {"role": "tool", "tool_call_id": "1", "content": ""}
        ]
        assert to_openai([ai(unowned)]) == [{"role": "assistant", "content": [{"type": "mine"}]}]
        refusal = Opaque("openai-field.refusal", {"refusal": "No."})
        assert to_openai([ai(["x", refusal])]) == [{"refusal": "No.", "role": "assistant", "content": "x"}]


class TestArguments:
    @pytest.mark.parametrize(
        "text",
        [
            "", "null", "[1]", "not json", '{"a": ', '{"a": NaN}', '{"a": 1e999}',
            '{"a": 123456789012345678901234567890}', '{"a": ' + "9" * 5000 + "}", '{"a": "\\u0000"}',
            '{"a": "\\ud800"}', '{"a": ' + "[" * 100 + "]" * 100 + "}",
            '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        ],
    )  # fmt: skip
    def test_what_is_no_object_that_a_store_can_keep_stays_text(self, text: str):
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": text}}
        (read,) = from_openai([{"role": "assistant", "content": None, "tool_calls": [call]}])
        assert read.tool_calls == (ToolCall("1", "f", text),)
        assert encode_message(read)
        assert to_openai([read])[0]["tool_calls"] == [call]

    @pytest.mark.parametrize(
        ("given_as", "expected"), [(None, {}), ({"a": 1}, {"a": 1}), ("{}", {}), (' {"a":1} ', {"a": 1})]
    )
    def test_other_ways_to_say_an_object(self, given_as: Any, expected: dict[str, Any]):
        call = {"id": "1", "function": {"name": "f", "arguments": given_as}}
        (read,) = from_openai([{"role": "assistant", "tool_calls": [call]}])
        assert read.tool_calls == (ToolCall("1", "f", expected),)


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **fields}


class TestBadShapes:
    @pytest.mark.parametrize(
        ("shape", "rule"),
        [
            ("text", "a message must be an object, not 'text'"),
            ({}, "unknown role None; known roles: user, assistant, system, developer, tool, function"),
            ({"role": ["user"]}, r"unknown role \['user'\]"),
            ({"role": "user", "content": 5}, "content must be a list, not 5"),
            ({"role": "user", "content": "\x00"}, "text must not contain NUL: '.x00'"),
            ({"role": "user", "content": "x", "name": 5}, "name must be a string, not 5"),
            ({"role": "user", "content": "x", "extra": {1}}, r"a message\['extra'\] must be plain JSON data, not set"),
            (user("text"), r"content\[0\]: a part must be an object, not 'text'"),
            (user({}), r"content\[0\]: type must be a string, not None"),
            (user({"type": "text"}), r"content\[0\]: text must be a string, not None"),
            (user({"type": "text", "text": ""}, {"type": "image_url"}), r"content\[1\]: image_url must be an object"),
            (user({"type": "image_url", "image_url": {}}), "url must be a string, not None"),
            (user({"type": "image_url", "image_url": {"url": "u", "a": {1}}}), r"options\['a'\] must be plain JSON"),
            (
                user({"type": "input_audio", "input_audio": {"data": "?", "format": "wav"}}),
                r"data must be base64, not '\?'",
            ),
            (user({"type": "new", "a": float("nan")}), r"a part\['a'\] must hold finite numbers, not nan"),
            (user({"type": ""}), None),
            ({"role": "tool", "content": "x"}, "tool_call_id must be a string, not None"),
            ({"role": "function", "content": "x"}, "name must be a string, not None"),
            (assistant(tool_calls=5), "tool_calls must be a list, not 5"),
            (assistant(tool_calls=[{"id": "1"}]), r"tool_calls\[0\]: function must be an object, not None"),
            (assistant(tool_calls=[{"function": {"name": "f"}}]), "id must be a string, not None"),
            (
                assistant(tool_calls=[{"id": "1", "function": {"name": "f", "arguments": 5}}]),
                "arguments must be an object",
            ),
            (assistant(function_call="x"), "function_call must be an object, not 'x'"),
        ],
    )
    def test_the_place_the_value_and_the_rule_are_named(self, shape: Any, rule: str | None):
        if rule is None:
            assert to_openai(from_openai([shape])) == [shape]
            return
        with pytest.raises(InvalidInput, match=rule) as caught:
            from_openai([{"role": "user", "content": "fine"}, shape])
        assert str(caught.value).startswith("messages[1]: ")

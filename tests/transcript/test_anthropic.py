"""Anthropic's Messages, to our messages and back."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import (
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ai,
    human,
    message,
    system,
    tool_result,
)
from memwell.testing import strategies
from memwell.transcript import from_anthropic, from_openai, to_anthropic, to_openai
from tests.transcript.wrecking import wreck

PIXEL = b"\x89PNG\r\n\x1a\n"
PIXEL_SOURCE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "abc=="}


def turns(messages: Iterable[Message]) -> list[tuple[str, list[Part]]]:
    """What the shape carries: the system's parts first, then the parts of each side, its tool results in front."""
    prompt: list[Part] = []
    said: list[tuple[str, Part]] = []
    for item in messages:
        for part in item.parts:
            if item.role is Role.SYSTEM:
                prompt.append(part)
            else:
                said.append(("assistant" if item.role is Role.AI else "user", part))
    out = [("system", prompt)] if prompt else []
    for side, group in itertools.groupby(said, key=lambda pair: pair[0]):
        parts = [part for _, part in group]
        out.append((side, sorted(parts, key=lambda part: side == "user" and not isinstance(part, ToolResult))))
    return out


def texts() -> st.SearchStrategy[Text]:
    return st.builds(Text, strategies.words())


def images() -> st.SearchStrategy[Image]:
    urls = strategies.texts(min_size=1).filter(lambda url: not url.startswith("data:"))
    by_bytes = st.builds(Image, data=st.binary(max_size=20), media_type=st.sampled_from(["image/png", "image/webp"]))
    return st.builds(Image, url=urls) | by_bytes


def blocks() -> st.SearchStrategy[Opaque]:
    kinds = st.sampled_from(["thinking", "redacted_thinking", "document", "server_tool_use", "某种"])
    return st.builds(lambda kind, data: Opaque(f"anthropic.{kind}", {**data, "type": kind}), kinds, DATA)


DATA = strategies.json_objects()
IDS = strategies.ids()
CONTENTS = st.lists(texts() | images() | blocks(), max_size=2).map(tuple)
PROMPTS = st.lists(texts() | blocks(), max_size=2).map(tuple)
CALLS = st.lists(st.builds(ToolCall, IDS, IDS, DATA), max_size=2).map(tuple)
RESULTS = st.lists(
    st.builds(ToolResult, IDS, CONTENTS, name=st.none(), is_error=st.booleans()), min_size=1, max_size=2
).map(tuple)


def carriable() -> st.SearchStrategy[Message]:
    """Messages that the shape carries whole, up to the merging of neighbours."""
    return st.one_of(
        CONTENTS.map(human),
        st.tuples(CONTENTS, CALLS).map(lambda pair: ai((*pair[0], *pair[1]))),
        RESULTS.map(lambda results: message(Role.TOOL, results)),
        st.tuples(RESULTS, CONTENTS).map(lambda pair: human((*pair[1], *pair[0]))),
        PROMPTS.map(system),
    )


class TestLaws:
    @given(st.lists(carriable(), max_size=4))
    def test_what_was_said_comes_back_up_to_merging_and_shares_nothing(self, said: list[Message]):
        prompt, shapes = to_anthropic(said)
        untouched = copy.deepcopy((prompt, shapes))
        back = from_anthropic(shapes, prompt)
        assert (prompt, shapes) == untouched == to_anthropic(back)
        wreck(prompt)
        wreck(shapes)
        assert turns(back) == turns(said)

    @given(strategies.conversations())
    def test_a_conversation_comes_back_with_one_message_a_result(self, said: list[Message]):
        prompt, shapes = to_anthropic(said)
        back = from_anthropic(shapes, prompt)
        assert turns(back) == turns(said)
        assert all(len(item.parts) == 1 for item in back if item.role is Role.TOOL)

    @given(st.lists(strategies.messages() | carriable(), max_size=4))
    def test_sides_alternate_no_turn_is_empty_and_results_stand_first(self, said: list[Message]):
        _, shapes = to_anthropic(said)
        roles = [shape["role"] for shape in shapes]
        assert all(first != second for first, second in itertools.pairwise(roles))
        assert set(roles) <= {"user", "assistant"}
        assert all(shape["content"] for shape in shapes)
        for shape in shapes:
            if shape["role"] == "user" and isinstance(shape["content"], list):
                is_result = [block.get("type") == "tool_result" for block in shape["content"]]
                assert is_result == sorted(is_result, reverse=True)

    @given(strategies.conversations())
    def test_a_conversation_survives_a_journey_through_both_shapes(self, said: list[Message]):
        prompt, shapes = to_anthropic(from_openai(to_openai(said)))
        assert turns(from_openai(to_openai(from_anthropic(shapes, prompt)))) == turns(said)


class TestShapes:
    def test_a_usual_conversation(self):
        said = [
            system("Be kind."),
            human(["hi", Image(data=PIXEL), Image(url="https://example.org/a.png")]),
            ai(
                [Opaque("anthropic.thinking", THINKING), "Let me see."],
                tool_calls=[ToolCall("c1", "weather", {"city": "北京"}), ToolCall("c2", "time")],
            ),
            tool_result("c1", "rain"),
            tool_result("c2", ["late", Image(data=PIXEL)], is_error=True),
            human("And?"),
            ai("It rains."),
        ]
        prompt, shapes = to_anthropic(said)
        assert prompt == "Be kind."
        assert shapes == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "image", "source": PIXEL_SOURCE},
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    THINKING,
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "北京"}},
                    {"type": "tool_use", "id": "c2", "name": "time", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "rain"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "late"}, {"type": "image", "source": PIXEL_SOURCE}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "And?"},
                ],
            },
            {"role": "assistant", "content": "It rains."},
        ]

    def test_the_prompt_is_empty_text_or_blocks(self):
        assert to_anthropic([human("x")])[0] == ""
        assert to_anthropic([system("a"), human("x"), system("b")])[0] == [
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b"},
        ]
        picture = system([Image(url="u", text="a cat")])
        assert to_anthropic([picture])[0] == "[image: a cat]"

    def test_a_result_inside_a_models_message_is_a_users_turn(self):
        mixed = ai(["a", ToolCall("1", "f"), ToolResult("1", (Text("r"),)), "b"])
        assert [shape["role"] for shape in to_anthropic([mixed])[1]] == ["assistant", "user", "assistant"]
        assert [shape["role"] for shape in to_anthropic([system([ToolResult("1")])])[1]] == ["user"]
        assert to_anthropic([human(["x", ToolResult("1")])])[1][0]["content"][0]["type"] == "tool_result"

    @pytest.mark.parametrize(
        ("arguments", "given_input"),
        [
            ("", {}), ("not json", {"arguments": "not json"}), ("[1]", {"arguments": "[1]"}),
            ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}), ({"a": 1}, {"a": 1}),
        ],
    )  # fmt: skip
    def test_arguments_that_are_text_become_an_object(self, arguments: Any, given_input: dict[str, Any]):
        (shape,) = to_anthropic([ai(tool_calls=[ToolCall("1", "f", arguments)])])[1]
        assert shape["content"][0]["input"] == given_input

    def test_what_belongs_to_another_provider_stays_behind(self):
        said = from_openai(
            [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "audio": {"id": "1"}}]
        )
        assert to_anthropic(said) == ("", [])


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


class TestBadShapes:
    @pytest.mark.parametrize(
        ("shape", "rule"),
        [
            ("text", "a message must be an object, not 'text'"),
            ({}, "unknown role None; known roles: user, assistant"),
            ({"role": "system", "content": "x"}, "unknown role 'system'"),
            ({"role": "user"}, "content must be a list, not None"),
            ({"role": "user", "content": "\x00"}, "text must not contain NUL: '.x00'"),
            (user("x"), r"content\[0\]: a block must be an object, not 'x'"),
            (user({}), r"content\[0\]: type must be a string, not None"),
            (user({"type": "text"}), r"content\[0\]: text must be a string, not None"),
            (user({"type": "image"}), r"content\[0\]: source must be an object, not None"),
            (user({"type": "image", "source": {"type": "base64", "data": "?"}}), r"data must be base64, not '\?'"),
            (
                user({"type": "image", "source": {"type": "base64", "data": ""}}),
                "media_type must be a string, not None",
            ),
            (user({"type": "tool_use", "name": "f", "input": {}}), "id must be a string, not None"),
            (user({"type": "tool_use", "id": "1", "name": "f"}), "input must be an object, not None"),
            (
                user({"type": "tool_use", "id": "1", "name": "f", "input": {"a": {1}}}),
                r"input\['a'\] must be plain JSON",
            ),
            (user({"type": "tool_result"}), "tool_use_id must be a string, not None"),
            (user({"type": "tool_result", "tool_use_id": "1", "content": 5}), r"content\[0\]: content must be a list"),
            (
                user({"type": "tool_result", "tool_use_id": "1", "content": [{}]}),
                r"content\[0\]: content\[0\]: type must",
            ),
            (user({"type": "new", "a": 2**70}), r"a block\['a'\] must hold integers of 64 bits"),
        ],
    )
    def test_the_place_the_value_and_the_rule_are_named(self, shape: Any, rule: str):
        with pytest.raises(InvalidInput, match=rule) as caught:
            from_anthropic([{"role": "user", "content": "fine"}, shape])
        assert str(caught.value).startswith("messages[1]: ")

    def test_a_bad_prompt_is_refused(self):
        with pytest.raises(InvalidInput, match=r"system must be a list, not 5"):
            from_anthropic([], 5)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match=r"system\[0\]: text must be a string, not None"):
            from_anthropic([], [{"type": "text"}])
        with pytest.raises(InvalidInput, match=r"text must not contain NUL"):
            from_anthropic([], "\x00")

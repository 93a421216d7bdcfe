from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell import messages as messages_module
from memwell.errors import InvalidInput
from memwell.messages import (
    Audio,
    Image,
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Video,
    ai,
    check_message,
    decode_message,
    decode_messages,
    encode_message,
    forget_decoded,
    human,
    message,
    system,
    tool_result,
)
from memwell.testing import strategies
from memwell.values import MAX_CONTENT_BYTES

A_TIME = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)


class TestConstruction:
    def test_content_may_be_a_string_a_part_or_several(self):
        expected = (Text("a"),)
        assert human("a").parts == human(Text("a")).parts == human(["a"]).parts == human(("a",)).parts == expected
        assert human(part for part in ("a", Image(url="u"))).parts == (Text("a"), Image(url="u"))
        assert Message(Role.HUMAN, "a").parts == expected  # pyright: ignore[reportArgumentType]
        assert Message(Role.HUMAN, ["a"]).parts == expected  # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize(
        ("made", "role"),
        [
            (human("x"), Role.HUMAN), (ai("x"), Role.AI), (system("x"), Role.SYSTEM),
            (tool_result("c", "x"), Role.TOOL), *((message(role, "x"), role) for role in Role),
            *((message(role.value, "x"), role) for role in Role),
        ],
    )  # fmt: skip
    def test_a_role_may_be_given_by_its_name(self, made: Message, role: Role):
        assert made.role is role
        assert made.text == "x"

    @pytest.mark.parametrize("role", ["bogus", "", "HUMAN", "usr", None, 5, [], {}])
    def test_an_unknown_role_is_refused(self, role: Any):
        with pytest.raises(InvalidInput, match="unknown role") as caught:
            message(role, "x")
        assert repr(role) in str(caught.value)
        assert "human, ai, system, tool, function, chat, view" in str(caught.value)

    @pytest.mark.parametrize("content", [None, 5, 1.5, b"bytes", {"text": "x"}, object])
    def test_content_of_another_kind_is_refused(self, content: Any):
        for make in (human, ai, system, lambda given: message("chat", given)):
            with pytest.raises(InvalidInput, match="content must be text or parts, not"):
                make(content)

    def test_calls_and_results_are_found_among_the_parts(self):
        calls = (ToolCall("1", "a"), ToolCall("2", "b", {"x": 1}))
        assert ai("thinking", tool_calls=calls).tool_calls == calls
        answer = tool_result("1", ["yes", Image(url="u", text="a cat")], name="a", is_error=True)
        assert answer.tool_results == (ToolResult("1", (Text("yes"), Image(url="u", text="a cat")), "a", True),)
        assert answer.text == "yes\na cat"
        assert answer.name == "a"

    def test_a_tool_result_takes_content_like_a_message(self):
        expected = ToolResult("1", (Text("a"),))
        assert ToolResult("1", "a") == ToolResult("1", ["a"]) == expected  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match="content must be text or parts, not None"):
            ToolResult("1", None)  # pyright: ignore[reportArgumentType]

    def test_text_is_the_words_alone(self):
        parts = ("a", Image(url="u", text="caption"), ToolCall("1", "f"), Opaque("k", {"text": "no"}), "b")
        assert human(parts).text == "a\nb"

    @pytest.mark.parametrize(
        ("made", "expected"),
        [
            (human("x"), True), (human("x", hidden=True), False), (message("view", "x"), False),
            (message("view", "x", hidden=True), False),
        ],
    )  # fmt: skip
    def test_hidden_and_view_messages_are_not_for_the_model(self, made: Message, expected: bool):
        assert made.for_model is expected


class TestTime:
    @pytest.fixture(autouse=True)
    def far_from_greenwich(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """The machine's own zone must never matter."""
        with monkeypatch.context() as changed:
            changed.setenv("TZ", "FAR-8")
            time.tzset()
            yield
        time.tzset()

    def test_a_naive_time_is_taken_as_utc(self):
        assert human("x", time=datetime(2024, 1, 2, 3)).time == datetime(2024, 1, 2, 3, tzinfo=UTC)  # noqa: DTZ001

    def test_a_zone_that_knows_no_offset_is_naive(self):
        class NoOffset(tzinfo):
            def utcoffset(self, dt: datetime | None) -> None:
                return None

        assert human("x", time=datetime(2024, 1, 2, 3, tzinfo=NoOffset())).time == datetime(2024, 1, 2, 3, tzinfo=UTC)

    @given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.integers(-1439, 1439))  # noqa: DTZ001
    def test_any_time_becomes_the_same_moment_in_utc(self, naive: datetime, minutes: int):
        given_time = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
        made = human("x", time=given_time)
        assert made.time == given_time
        assert made.time.tzinfo is UTC
        assert decode_message(encode_message(made)) == made

    def test_a_kind_of_datetime_is_kept_as_a_plain_one(self):
        class Stamp(datetime):
            pass

        made = human("x", time=Stamp(2024, 1, 1, tzinfo=UTC))
        assert type(made.time) is datetime
        assert decode_message(encode_message(made)) == made

    @pytest.mark.parametrize("value", [5, 1700000000.0, "2024-01-01", None, A_TIME.date()])
    def test_another_kind_of_time_is_refused(self, value: Any):
        with pytest.raises(InvalidInput, match="time must be a datetime, not") as caught:
            human("x", time=value)
        assert repr(value) in str(caught.value)

    def test_a_moment_that_utc_cannot_say_is_refused(self):
        late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
        with pytest.raises(InvalidInput, match="time must be between the years 1 and 9999 in UTC, not"):
            human("x", time=late)


class TestChanged:
    @pytest.mark.parametrize("change", [{"content": "new"}, {"parts": (Text("new"),)}, {"content": ("new",)}])
    def test_a_changed_content_loses_its_token_count(self, change: dict[str, Any]):
        changed = human("old", tokens=7).changed(**change)
        assert changed.tokens is None
        assert changed.text == "new"
        assert human("old", tokens=7).changed(name="Anna").tokens is None

    @given(strategies.messages())
    def test_other_fields_leave_the_rest_alone(self, original: Message):
        changed = original.changed(index=3, round=1)
        assert (changed.index, changed.round, changed.tokens) == (3, 1, original.tokens)
        assert changed.changed(index=None, round=None) == original


class TestJson:
    @given(strategies.messages())
    def test_every_message_survives_the_round_trip(self, original: Message):
        assert check_message(original) is original
        encoded = encode_message(original)
        assert decode_message(encoded) == original
        assert decode_message(encoded.decode()) == original
        assert json.loads(encoded)["id"] == original.id

    @given(strategies.messages())
    def test_changing_the_metadata_of_one_reading_does_not_show_in_the_next(self, original: Message):
        encoded = [encode_message(original).decode()]
        for _ in range(3):
            (read,) = decode_messages(encoded)
            assert read == original
            read.metadata["changed"] = True
            for part in read.parts:
                if isinstance(part, Opaque):
                    part.data["changed"] = True

    @pytest.mark.parametrize("lookalike", strategies.SERIALISED_LOOKALIKES)
    def test_a_dict_that_looks_like_an_object_stays_a_dict(self, lookalike: dict[str, Any]):
        parts = (ToolCall("1", "f", lookalike), Opaque("k", lookalike), Image(url="u", options=lookalike))
        back = decode_message(encode_message(ai(parts, metadata={"a": lookalike, **lookalike})))
        call, opaque, image = back.parts
        assert isinstance(call, ToolCall)
        assert isinstance(opaque, Opaque)
        assert isinstance(image, Image)
        for value in (call.arguments, opaque.data, image.options, back.metadata["a"]):
            assert type(value) is dict
            assert value == lookalike

    def test_a_message_of_the_largest_size_is_kept(self):
        room = MAX_CONTENT_BYTES - len(encode_message(human("x", id="i", time=A_TIME))) + 1
        assert len(encode_message(human("x" * room, id="i", time=A_TIME))) == MAX_CONTENT_BYTES
        with pytest.raises(InvalidInput, match="over the limit of 16,777,216"):
            encode_message(human("x" * (room + 1), id="i", time=A_TIME))

    @pytest.mark.parametrize(
        "large",
        [
            human("x" * MAX_CONTENT_BYTES), human("字" * (MAX_CONTENT_BYTES // 3)),
            human("x", metadata={"a": "x" * MAX_CONTENT_BYTES}), human(Image(data=bytes(MAX_CONTENT_BYTES * 3 // 4))),
            ai(tool_calls=[ToolCall("1", "f", {"a": "x" * MAX_CONTENT_BYTES})]),
        ],
    )  # fmt: skip
    def test_oversize_content_is_refused(self, large: Message):
        with pytest.raises(InvalidInput, match=r"a message is .* bytes, over the limit of 16,777,216"):
            encode_message(large)

    @pytest.mark.parametrize(
        "encoded",
        [
            b"", b"null", b"[]", b"{}", b'{"role":"bogus","parts":[]}', b'{"role":"human"}',
            b'{"role":"human","parts":"x"}', b'{"role":"human","parts":[{"type":"bogus"}]}',
            b'{"role":"human","parts":[],"time":5}', b'{"role":"human","parts":[{"type":"text","text":"\xff"}]}',
            '{"role":"human","parts":[{"type":"text","text":"\ud800"}]}',
            b'{"role":"human","parts":[{"type":"text","text":"\\ud800"}]}',
            '{"role":"human","parts":[],"metadata":{"a":' + "[" * 100_000 + "]" * 100_000 + "}}", 5, None,
        ],
    )  # fmt: skip
    def test_what_is_no_message_is_refused(self, encoded: Any):
        with pytest.raises(InvalidInput, match="not a message: "):
            decode_message(encoded)
        with pytest.raises(InvalidInput, match="not a list of messages: "):
            decode_messages([encoded.decode("latin-1") + "!" if isinstance(encoded, bytes) else encoded])


BAD_TEXT = {
    "NUL": ("a\x00b", "must not contain NUL"),
    "lone surrogate": ("a\ud800b", "must not contain lone surrogates"),
    "number": (5, "must be a string"),
}


def with_bad_text(value: Any) -> dict[str, Message]:
    """A message for every place that holds a string, with ``value`` there."""
    media: dict[str, Part] = {
        f"{kind.__name__}.{field}": kind(**{field: value})
        for kind in (Image, Audio, Video)
        for field in ("url", "blob", "media_type", "text")
    }
    parts: dict[str, Part] = {
        "Text.text": Text(value),
        "ToolCall.id": ToolCall(value, "f"),
        "ToolCall.name": ToolCall("1", value),
        "ToolResult.call_id": ToolResult(value),
        "ToolResult.name": ToolResult("1", (), value),
        "ToolResult.content": ToolResult("1", (Text(value),)),
        "Opaque.kind": Opaque(value, {}),
        **media,
    }
    fields = {field: human("x", **{field: value}) for field in ("id", "name", "chat_role")}
    return {name: ai(part) for name, part in parts.items()} | fields


PLACES = sorted(with_bad_text("x"))


class TestRules:
    @pytest.mark.parametrize("bad", BAD_TEXT)
    def test_bad_text_is_refused_wherever_it_stands(self, bad: str):
        value, rule = BAD_TEXT[bad]
        for place in PLACES:
            with pytest.raises(InvalidInput) as caught:
                encode_message(with_bad_text(value)[place])
            assert rule in str(caught.value), place
            assert repr(value) in str(caught.value), place

    @pytest.mark.parametrize("value", [None, [], [1], "", "x", 0, 5, {1, 2}])
    def test_what_must_be_an_object_is_one(self, value: Any):
        for bad in (human("x", metadata=value), ai(Opaque("k", value)), human(Image(url="u", options=value))):
            with pytest.raises(InvalidInput, match="must be a mapping, not") as caught:
                encode_message(bad)
            assert repr(value) in str(caught.value)

    @pytest.mark.parametrize("value", [None, [], [1], 5, {1, 2}])
    def test_arguments_are_an_object_or_text(self, value: Any):
        with pytest.raises(InvalidInput, match="arguments must be a mapping, not") as caught:
            encode_message(ai(tool_calls=[ToolCall("1", "f", value)]))
        assert repr(value) in str(caught.value)

    @pytest.mark.parametrize("value", ["yes", 1, 0, None])
    def test_a_flag_is_true_or_false(self, value: Any):
        with pytest.raises(InvalidInput, match="a message's hidden must be True or False, not"):
            encode_message(human("x", hidden=value))
        with pytest.raises(InvalidInput, match="a tool result's is_error must be True or False, not"):
            encode_message(tool_result("1", is_error=value))

    @pytest.mark.parametrize("part", [5, None, {"type": "text", "text": "x"}, Media(url="u"), human("x")])
    def test_a_part_is_one_of_the_known_kinds(self, part: Any):
        for bad in (human([part]), human(("x", part)), Message(Role.HUMAN, (part,))):
            with pytest.raises(InvalidInput, match="a part must be one of Text, Image, Audio, Video, ToolCall"):
                encode_message(bad)

    @pytest.mark.parametrize("part", [ToolCall("1", "f"), ToolResult("1"), 5, None])
    def test_a_tool_result_holds_no_calls_and_no_results(self, part: Any):
        with pytest.raises(InvalidInput, match="a tool result holds text, media and opaque parts, not"):
            encode_message(tool_result("1", [part]))

    @pytest.mark.parametrize("data", ["text", bytearray(b"x"), 5])
    def test_the_bytes_of_media_are_bytes(self, data: Any):
        with pytest.raises(InvalidInput, match="a part's data must be bytes, not"):
            encode_message(human(Image(data=data)))

    @pytest.mark.parametrize("value", ["text", None, {"role": "human"}])
    def test_only_messages_are_messages(self, value: Any):
        with pytest.raises(InvalidInput, match="expected a Message, not") as caught:
            check_message(value)
        assert repr(value) in str(caught.value)


def test_messages_that_were_read_can_be_let_go():
    encoded = [encode_message(human("a secret that nobody else says")).decode()]
    decode_messages(encoded)
    assert encoded[0] in messages_module._recent
    forget_decoded()
    assert messages_module._recent == {}
    assert decode_messages(encoded)[0].text == "a secret that nobody else says"


@pytest.mark.parametrize(("given", "role"), [("user", Role.HUMAN), ("assistant", Role.AI), ("developer", Role.SYSTEM)])
def test_the_roles_of_chat_completions_are_known(given: str, role: Role) -> None:
    assert message(given, "hello").role is role

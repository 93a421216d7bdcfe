"""Messages without LangChain, equal to LangChain's own in everything a program can see."""

from __future__ import annotations

from typing import Any

import langchain_core.messages as theirs
import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memwell.compat.langchain import messages as ours
from memwell.errors import InvalidInput
from memwell.messages import Message, Role
from memwell.testing import strategies
from memwell.transcript.langchain import apart, from_langchain

words = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=10)
objects = st.dictionaries(words, words | st.integers(-9, 9), max_size=2)
blocks = (
    words
    | st.fixed_dictionaries({"type": st.just("text"), "text": words})
    | st.fixed_dictionaries({"type": st.just("reasoning"), "reasoning": words})
    | st.fixed_dictionaries({"type": st.sampled_from(["image", "audio", "video"]), "url": words})
    | st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": words})})
    | st.fixed_dictionaries({"type": st.just("text-plain"), "text": st.just("long " * 200)})
    | st.fixed_dictionaries({"type": st.just("server_tool_call"), "id": words, "name": words, "args": objects})
    | st.fixed_dictionaries({"type": st.just("server_tool_result"), "tool_call_id": words, "output": objects})
    | st.fixed_dictionaries({"type": st.just("image"), "base64": st.just("AAAA")})
)
contents = words | st.lists(blocks, max_size=3)
calls = st.lists(st.fixed_dictionaries({"name": words, "args": objects, "id": st.none() | words}), max_size=2)
base: dict[str, st.SearchStrategy[Any]] = {
    "name": st.none() | words, "id": st.none() | words | st.integers(0, 9),
    "additional_kwargs": objects | st.just({"function_call": {"name": "f", "arguments": "{}"}}),
    "response_metadata": objects, "extra": words,
}  # fmt: skip


def fields(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"content": contents, **more}, optional=base)


kinds: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "HumanMessage": fields(),
    "SystemMessage": fields(),
    "AIMessage": fields(tool_calls=calls) | fields(),
    "ToolMessage": fields(tool_call_id=words, status=st.sampled_from(["success", "error"]), artifact=objects),
    "FunctionMessage": st.fixed_dictionaries({"content": contents, "name": words}),
    "ChatMessage": fields(role=words),
}
made = st.one_of([st.tuples(st.just(kind), drawn) for kind, drawn in kinds.items()])


@given(made)
def test_a_message_is_the_same_as_theirs(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, given_fields = drawn
    mine, other = getattr(ours, kind)(**given_fields), getattr(theirs, kind)(**given_fields)
    assert ours.message_to_dict(mine) == theirs.message_to_dict(other)
    assert list(mine.model_dump()) == list(other.model_dump())
    assert (mine == other, other == mine, mine.text) == (True, True, str(other.text))
    assert (str(mine), repr(mine)) == (str(other), repr(other))
    assert ours.messages_from_dict(ours.messages_to_dict([mine])) == [mine]


@given(made)
def test_the_core_keeps_all_of_it(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, given_fields = drawn
    assert ours.from_core(ours.to_core(getattr(ours, kind)(**given_fields))) == getattr(theirs, kind)(**given_fields)


@given(st.lists(made, max_size=4), words)
def test_the_buffer_string_is_theirs(drawn: list[tuple[str, dict[str, Any]]], prefix: str) -> None:
    foreign = [getattr(theirs, kind)(**given_fields) for kind, given_fields in drawn]
    mine = [getattr(ours, kind)(**given_fields) for kind, given_fields in drawn]
    expected = theirs.get_buffer_string(foreign, human_prefix=prefix, message_separator="|")
    for given_messages in (foreign, mine):
        assert ours.get_buffer_string(given_messages, human_prefix=prefix, message_separator="|") == expected


def unnamed(found: list[Any]) -> list[dict[str, Any]]:
    """Blocks without the ids that LangChain makes up at random."""
    return [{key: value for key, value in one.items() if not str(value).startswith("lc_")} for one in found]


@given(made)
def test_content_blocks_are_theirs(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, given_fields = drawn
    mine, other = getattr(ours, kind)(**given_fields), getattr(theirs, kind)(**given_fields)
    # LangChain fails at an image without an address.
    assume("{'url': ''}" not in str(given_fields))
    assert unnamed(mine.content_blocks) == unnamed(other.content_blocks)


CALL = {"type": "tool_call", "name": "f", "args": {}, "id": "1"}
THOUGHT = {"type": "reasoning", "reasoning": "first"}


@pytest.mark.parametrize(
    "given_fields",
    [
        {"content": "x", "tool_calls": [CALL], "additional_kwargs": {"reasoning_content": "first"}},
        {"content": [THOUGHT, "x", CALL], "tool_calls": [CALL], "additional_kwargs": {"reasoning_content": "no"}},
        {"content": [{"type": "odd", "x": 1}], "tool_calls": [CALL]},
        {"content": [{"x": 1}], "tool_calls": [CALL], "response_metadata": {"output_version": "v1"}},
        {"content": "", "tool_calls": [{**CALL, "id": None}]},
        {"content_blocks": [{"type": "text", "text": "x"}, CALL]},
    ],
)
def test_a_model_s_blocks_hold_its_tool_calls_and_reasoning(given_fields: Any) -> None:
    mine, other = ours.AIMessage(**given_fields), theirs.AIMessage(**given_fields)
    assert mine.content_blocks == other.content_blocks
    assert (mine.tool_calls, mine.text()) == (other.tool_calls, str(other.text))


def test_the_parts_of_a_model_s_message_have_langchains_names() -> None:
    call = ours.tool_call(name="f", args={}, id="1")
    assert call == {**CALL} == {**ours.ToolCall(name="f", args={}, id="1", type="tool_call")}
    usage = ours.UsageMetadata(
        input_tokens=1,
        output_tokens=2,
        total_tokens=3,
        input_token_details=ours.InputTokenDetails(cache_read=1),
        output_token_details=ours.OutputTokenDetails(reasoning=1),
    )
    broken: Any = [{"name": "f", "args": "{", "id": "1", "error": None}]
    how: Any = {"tool_calls": [call], "usage_metadata": usage, "invalid_tool_calls": broken}
    mine, other = ours.AIMessage("x", **how), theirs.AIMessage("x", **how)
    assert mine == other
    assert (str(mine), repr(mine)) == (str(other), repr(other))


def test_a_message_may_be_the_content_of_another() -> None:
    assert ours.HumanMessage(theirs.AIMessage("x")).content == ours.HumanMessage(ours.AIMessage("x")).content == "x"


def test_messages_are_fields_of_pydantic_models() -> None:
    class Turn(pydantic.BaseModel):
        said: list[ours.BaseMessage]
        any_of_them: ours.AnyMessage
        answer: ours.AIMessage | None = None

    answer = ours.AIMessage("b", tool_calls=[CALL])
    turn = Turn(said=[ours.HumanMessage("a"), theirs.SystemMessage("s")], any_of_them=answer, answer=answer)  # pyright: ignore[reportArgumentType]
    assert turn.said == [ours.HumanMessage("a"), ours.SystemMessage("s")]
    assert Turn.model_validate_json(turn.model_dump_json()) == turn
    assert Turn(said=[], any_of_them=answer).model_dump()["any_of_them"] == answer.model_dump()
    assert Turn.model_json_schema()["properties"]["said"]["type"] == "array"
    for wrong in (ours.HumanMessage("x"), "x", {"content": 3}, {"type": "human", "content": "x"}):
        with pytest.raises(pydantic.ValidationError):
            Turn(said=[], any_of_them=answer, answer=wrong)  # pyright: ignore[reportArgumentType]


def test_copies_share_no_content() -> None:
    message = ours.HumanMessage([{"type": "text", "text": "a"}])
    deep = message.model_copy(deep=True)
    ours.message_to_dict(message)["data"]["content"][0]["text"] = "changed"
    assert isinstance(deep.content, list)
    assert message.text == "a"
    assert message.model_copy(update={"content": "b"}).content == "b"
    assert message != ours.HumanMessage("a")
    assert message != ours.SystemMessage(message.content)
    assert message != "a"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ours.HumanMessage(7), lambda: ours.HumanMessage(None), lambda: ours.HumanMessage([7]),
        lambda: ours.HumanMessage("x", type="ai"), lambda: ours.HumanMessage("x", name=7),
        lambda: ours.HumanMessage("x", additional_kwargs=7), lambda: ours.ToolMessage("x"),
        lambda: ours.ToolMessage("x", tool_call_id="1", status="odd"), lambda: ours.ChatMessage("x"),
        lambda: ours.FunctionMessage("x"), lambda: ours.AIMessage("x", tool_calls=7),
        lambda: ours.AIMessage("x", tool_calls=[{"name": "f"}]), lambda: ours.AIMessage("x", invalid_tool_calls=[7]),
        lambda: ours.RemoveMessage("x", content="y"), lambda: ours.message_from_dict({"type": "human"}),
        lambda: ours.message_from_dict({"type": "human", "data": 7}), lambda: ours.message_to_dict("x"),
        lambda: ours.to_core("x"), lambda: ours.get_buffer_string([ours.RemoveMessage("x")]),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_a_chunk_and_any_object_with_a_type_and_a_content_are_read_as_whole_messages() -> None:
    class Said:
        type = "human"
        content = "你好"

    assert ours.to_core(Said()).text == "你好"
    with pytest.raises(ValueError, match="Got unexpected message type: odd"):
        ours.messages_from_dict([{"type": "odd", "data": {}}])
    piece = theirs.AIMessageChunk(content="x", id="1")
    assert ours.messages_from_dict(theirs.messages_to_dict([piece])) == [ours.from_core(ours.to_core(piece))]
    assert type(ours.from_core(ours.to_core(piece))) is ours.AIMessage
    called = theirs.AIMessageChunk(
        content="x", id="1", tool_call_chunks=[{"name": "f", "args": "{}", "id": "1", "index": 0}]
    )
    assert ours.message_chunk_to_message(called) == theirs.message_chunk_to_message(called)
    whole = ours.HumanMessage("x")
    assert ours.message_chunk_to_message(whole) is whole


def test_numbers_and_other_things_a_tool_may_answer() -> None:
    assert ours.ToolMessage(7, tool_call_id=8) == theirs.ToolMessage(7, tool_call_id=8)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert ours.ToolMessage(("a", 1), tool_call_id="x").content == ["a", "1"]


@given(strategies.messages(), st.sampled_from(["Human", "我"]))
def test_the_text_of_core_messages_is_the_buffer_string(message: Message, prefix: str) -> None:
    if message.role is not Role.VIEW:
        expected = ours.get_buffer_string(map(ours.from_core, apart(message)), human_prefix=prefix, ai_prefix="Bot")
        assert ours.as_text([message, message], prefix, "Bot") == f"{expected}\n{expected}"


OLDER: list[Any] = [
    [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    [
        {"id": "1", "function": {"name": "f", "arguments": "{broken"}},
        {"id": "2", "function": {"name": "g", "arguments": "null"}},
    ],
    [{"id": "1"}],
    [{"function": {"arguments": "{}"}}],
    [7],
]


@pytest.mark.parametrize("calls", OLDER)
def test_calls_in_the_form_of_older_versions_are_read_as_langchain_does(calls: list[Any]) -> None:
    mine, its = (one.AIMessage("", additional_kwargs={"tool_calls": calls}) for one in (ours, theirs))
    assert (mine.tool_calls, mine.invalid_tool_calls) == (its.tool_calls, its.invalid_tool_calls)
    assert mine == its
    assert ours.from_core(ours.to_core(mine)) == mine
    older = from_langchain({"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": calls}}})
    assert [one.id for one in older.tool_calls] == [one["id"] for one in (*its.tool_calls, *its.invalid_tool_calls)]
    assert ours.from_core(older) == its
    own = ours.AIMessage(
        "", additional_kwargs={"tool_calls": calls}, tool_calls=[ours.tool_call(name="h", args={}, id="3")]
    )
    assert [one["name"] for one in own.tool_calls] == ["h"]

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history import History
from memwell.history.handle import kept_beside
from memwell.messages import Image, Message, Role, Text, ToolCall, ToolResult, ai, human, message, system, tool_result
from memwell.storage import Backend
from memwell.storage.memory import MemoryBackend
from memwell.testing import strategies
from memwell.tokens import counted, default_counter, get_counter
from memwell.transcript import to_openai
from memwell.windows import paired

A_TIME = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)


def texts(messages: Any) -> list[str]:
    return [one.text for one in messages]


# Adding.


def test_what_is_added_comes_back_with_its_place(history: History):
    first = history.add_system("be brief")
    second = history.add_human("Hello", name="Anna", time=A_TIME, metadata={"mood": ["good"]})
    third = history.add_ai("Hi", hidden=True)
    assert [(one.index, one.round) for one in (first, second, third)] == [(0, 0), (1, 1), (2, 1)]
    assert list(history) == [first, second, third]
    assert (second.role, second.name, second.time, second.metadata) == (
        Role.HUMAN,
        "Anna",
        A_TIME,
        {"mood": ["good"]},
    )
    assert [one.tokens for one in history] == [default_counter().count_message(one) for one in history]
    assert history.add() == []


def test_a_tool_is_called_and_answers(history: History):
    history.add_human("weather?")
    call = history.add_tool_call("weather", {"place": "Kyoto"})
    second = history.add_tool_call("clock", call_id="mine")
    assert second == ToolCall("mine", "clock", {})
    result = history.add_tool_result(call.id, "19 °C")
    failed = history.add_tool_result("mine", "no clock", is_error=True, name="clock")
    both = history.add_ai("So.", tool_calls=(ToolCall("a", "x"), ToolCall("b", "y")))
    assert history.get(1).tool_calls == (ToolCall(call.id, "weather", {"place": "Kyoto"}),)
    assert result.tool_results == (ToolResult(call.id, (Text("19 °C"),)),)
    assert failed.tool_results[0].is_error
    assert [one.id for one in both.tool_calls] == ["a", "b"]
    assert {one.round for one in history} == {1}


def test_content_may_be_text_parts_or_both(history: History):
    stored = history.add_human(["look", Image(url="https://example.org/x.png", text="a lighthouse")])
    assert history.get(0) == stored
    assert stored.text == "look"
    assert history.add_human("").parts == ()


BROKEN: list[Any] = [
    human("\ud800"),
    human("a\x00b"),
    human("x", id=""),
    human("x", id="x" * 2_000),
    human([3]),  # pyright: ignore[reportArgumentType]
    human([None]),  # pyright: ignore[reportArgumentType]
    Message(Role.TOOL, (ToolResult("1", (3,)),)),  # pyright: ignore[reportArgumentType]
    human("x", metadata={"a": float("nan")}),
    human("x", metadata={"a": object()}),
    human("x", tokens=-1),
    ai(tool_calls=[ToolCall("", "look")]),
    ai(tool_calls=[ToolCall("1", "look", {"a": {1, 2}})]),
    human("x" * 17_000_000, tokens=1),
]


def test_a_message_that_breaks_a_rule_is_not_added(history: History):
    broken: list[Any] = [*BROKEN, None, "text", {"role": "human", "content": "x"}]
    for wrong in broken:
        with pytest.raises(InvalidInput):
            history.add(human("fine"), wrong)
        assert history.info() is None, wrong


def test_a_message_that_breaks_a_rule_is_not_put_in_anothers_place(history: History):
    history.add_human("was here")
    broken: list[Any] = [*BROKEN, None, 3, b"bytes", {"role": "human"}, [3]]
    for wrong in broken:
        with pytest.raises(InvalidInput):
            history.edit(0, wrong)
        assert texts(history) == ["was here"], wrong
        assert history.versions(0) == [], wrong


@pytest.mark.parametrize("arguments", [3, "text", [1], {1: 2}, {"a": object()}])
def test_arguments_of_a_call_are_plain_data(history: History, arguments: Any):
    with pytest.raises(InvalidInput, match="arguments"):
        history.add_tool_call("look", arguments)
    assert history.info() is None


def test_an_empty_id_is_refused_and_not_replaced(history: History):
    with pytest.raises(InvalidInput, match="must not be empty"):
        history.add_tool_call("look", call_id="")
    with pytest.raises(InvalidInput, match="must not be empty"):
        history.add_tool_result("", "r")
    with pytest.raises(InvalidInput, match="unknown role"):
        history.add(message("narrator", "x"))
    assert history.info() is None


def test_an_id_is_taken_once(history: History):
    first = history.add_human("one")
    with pytest.raises(Conflict, match=first.id):
        history.add(ai("two"), human("three", id=first.id))
    assert texts(history) == ["one"]


def test_what_a_caller_does_afterwards_does_not_reach_the_store(history: History):
    arguments = {"list": [1]}
    metadata = {"list": [1]}
    history.add_human("q", metadata=metadata)
    history.add_tool_call("look", arguments)
    arguments["list"].append(2)
    metadata["list"].append(2)
    assert history.get(0).metadata == {"list": [1]}
    assert history.get(1).tool_calls[0].arguments == {"list": [1]}


def test_many_writers_lose_nothing(store: Backend):
    def write(name: str) -> None:
        history = History(store, "talk")
        for number in range(25):
            history.add_human(f"{name}{number}")

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = texts(History(store, "talk"))
    assert sorted(found) == sorted(f"{name}{number}" for name in "abcd" for number in range(25))
    for name in "abcd":
        assert [text for text in found if text[0] == name] == [f"{name}{number}" for number in range(25)]


# Changing.


def test_an_edit_keeps_what_was_there(history: History):
    stored = history.add_human("first", metadata={"kept": True}, name="Anna")
    second = history.edit(stored, "second")
    third = history.edit(stored.id, human("third"))
    assert (third.id, third.index, third.round, third.name) == (stored.id, 0, 1, None)
    assert (second.metadata, second.name, second.time) == ({"kept": True}, "Anna", stored.time)
    assert list(history) == [third]
    assert [version.message for version in history.versions(0)] == [stored, second]
    assert [version.message for version in history.versions(third)] == [stored, second]
    assert history.get(0).tokens == default_counter().count_message(third.changed(tokens=None))


def test_a_removed_message_is_gone_until_it_is_restored(history: History):
    one, two, three = history.add(human("one"), ai("two"), human("three"))
    history.remove(two, three.id)
    assert texts(history) == ["one"]
    assert len(history) == 1
    with pytest.raises(NotFound):
        history.get(two)
    assert [version.message for version in history.versions(1)] == [two]
    assert history.restore(two) == two
    assert history.restore(2) == three
    assert texts(history) == ["one", "two", "three"]
    history.remove()
    history.remove(0, 0)
    history.remove(0)
    assert texts(history) == ["two", "three"]
    assert history.restore(one) == one


def test_restoring_an_edit_goes_back_and_forth(history: History):
    stored = history.add_human("old")
    history.edit(0, "new")
    assert history.restore(0).text == "old"
    assert history.restore(stored).text == "new"
    history.remove(0)
    assert history.restore(0).text == "new"


def test_an_edited_tool_result_answers_its_call_still(history: History):
    calling = ai("Let me see.", tool_calls=[ToolCall("c1", "look")])
    history.add(human("q"), calling, tool_result("c1", "secret", is_error=True, name="look"))
    edited = history.edit(2, "redacted")
    assert edited.tool_results == (ToolResult("c1", (Text("redacted"),), "look", True),)
    assert (edited.role, edited.text, edited.tokens) == (
        Role.TOOL,
        "redacted",
        counted(edited.changed(tokens=None)).tokens,
    )
    assert texts(history.window()) == ["q", "Let me see.", "redacted"]
    assert [shape.get("tool_call_id") for shape in to_openai(history.window())] == [None, None, "c1"]
    assert history.restore(2).text == "secret"


def test_edited_words_leave_the_calls(history: History):
    call = ToolCall("c1", "look")
    history.add(human("q"), ai("Let me see.", tool_calls=[call]), tool_result("c1", "r"))
    assert history.edit(1, ["Looking.", Text("So.")]).parts == (Text("Looking."), Text("So."), call)
    assert history.edit(1, "").parts == (call,)
    assert len(history.window()) == 3
    assert history.edit(1, ToolCall("c2", "other")).tool_calls == (ToolCall("c2", "other"),)
    assert history.edit(1, ai("No tools.")).parts == (Text("No tools."),)
    assert texts(history.window()) == ["q", "No tools."]


def test_nothing_that_was_said_before_is_left_by_an_edit(history: History):
    history.add(human("q"), ai(tool_calls=[ToolCall("1", "look"), ToolCall("2", "look")]))
    history.add(
        message(Role.TOOL, [Text("secret"), ToolResult("1", (Text("secret"),)), ToolResult("2", (Text("secret"),))])
    )
    edited = history.edit(2, "gone")
    assert [(one.call_id, one.text) for one in edited.tool_results] == [("1", "gone"), ("2", "gone")]
    assert "secret" not in edited.text


def test_what_is_not_there_is_not_changed(history: History):
    history.add(human("one"), ai("two"))
    for change in (
        lambda: history.edit(2, "x"),
        lambda: history.edit("unknown", "x"),
        lambda: history.edit(human("never stored"), "x"),
        lambda: history.edit(2, human("x")),
        lambda: history.remove(0, 2),
        lambda: history.remove(0, "unknown"),
        lambda: history.restore(2),
        lambda: history.restore(0),
        lambda: history.versions("unknown"),
    ):
        with pytest.raises(NotFound):
            change()
    for wrong in (-1, True, 1.5, ""):
        with pytest.raises(InvalidInput):
            history.edit(wrong, "x")  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput):
            history.remove(wrong)  # pyright: ignore[reportArgumentType]
    assert texts(history) == ["one", "two"]
    assert history.versions(0) == []


def test_a_message_of_another_conversation_changes_nothing_here(talk: Callable[..., History]):
    other = talk("other").add_human("other")
    history = talk()
    mine = history.add_human("mine")
    for change in (
        lambda: history.edit(other, "x"),
        lambda: history.remove(mine, other),
        lambda: history.restore(other),
        lambda: history.versions(other),
    ):
        with pytest.raises(NotFound, match="no message"):
            change()
    assert texts(history) == ["mine"]
    history.remove(mine)
    with pytest.raises(NotFound, match="no message"):
        history.restore(other)


def test_metadata_is_set_key_by_key(history: History):
    assert history.set_metadata(title="Trip", stars=5) == {"title": "Trip", "stars": 5}
    assert history.set_metadata(stars=None, tags=["a"]) == {"title": "Trip", "tags": ["a"]}
    assert history.metadata() == {"title": "Trip", "tags": ["a"]}
    assert history.set_metadata() == {"title": "Trip", "tags": ["a"]}
    with pytest.raises(InvalidInput):
        history.set_metadata(bad=float("inf"))
    assert history.metadata() == {"title": "Trip", "tags": ["a"]}


def test_metadata_set_by_two_at_once_is_all_there(store: Backend):
    def write(name: str) -> None:
        for number in range(10):
            History(store, "talk").set_metadata(**{f"{name}{number}": number})

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(History(store, "talk").metadata()) == 20


def test_content_edited_by_two_at_once_loses_no_metadata(store: Backend):
    history = History(store, "talk")
    history.add_human("old", metadata={"n": 0})

    def count() -> None:
        for _ in range(10):
            mine = History(store, "talk")
            with store.transaction():
                now = mine.get(0)
                mine.edit(0, now.changed(metadata={"n": now.metadata["n"] + 1}))

    def rewrite() -> None:
        for number in range(10):
            History(store, "talk").edit(0, str(number))

    writers = [threading.Thread(target=work) for work in (count, rewrite)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert history.get(0).metadata == {"n": 10}


def test_a_deleted_conversation_begins_anew(history: History):
    assert not history.delete()
    history.add(human("one"), ai("two"))
    history.set_metadata(title="t")
    assert history.delete()
    assert (history.info(), list(history), history.versions(0)) == (None, [], [])
    assert history.add_human("again").index == 0


# Trimming.


def test_trimming_keeps_the_last_rounds_and_the_instructions(history: History):
    history.add(system("s"), ai("Welcome."), system("t"), human("1"), ai("a"), human("2"), ai("b"), human("3"))
    assert history.trim(rounds=3) == history.trim(rounds=9) == 0
    assert texts(history)[1] == "Welcome."
    assert history.trim(rounds=2) == 3
    assert texts(history) == ["s", "t", "2", "b", "3"]
    assert history.trim(rounds=2) == 0
    assert [one.number for one in history.rounds()] == [2, 3]
    assert history.add_human("4").round == 4
    assert [one.index for one in history] == [0, 2, 5, 6, 7, 8]


def test_trimming_to_nothing_keeps_the_instructions_only(talk: Callable[..., History]):
    for name, limit in (("a", {"rounds": 0}), ("b", {"tokens": 0})):
        history = talk(name)
        history.add(system("s"), human("1"), ai("a"), human("2"))
        assert history.trim(**limit) == 3
        assert texts(history) == texts(history.window()) == ["s"]
        assert len(history) == 1
        assert history.tokens == history.get(0).tokens
        new = history.add_human("3")
        assert (new.index, new.round) == (4, 3)


def test_trimming_to_nothing_without_instructions_keeps_nothing(history: History):
    history.add(human("1"), ai("a"))
    assert history.trim(tokens=0) == 2
    assert (len(history), history.tokens, list(history)) == (0, 0, [])
    new = history.add_human("2")
    assert (new.index, new.round) == (2, 2)
    assert history.round(2).messages == [new]


def test_trimming_by_tokens_keeps_what_fits(history: History):
    history.add(system("s"), *(one for at in range(9) for one in (human(f"question {at}"), ai("long " * at))))
    fixed = history.get(0).tokens or 0
    last_two = sum(one.tokens or 0 for one in history.last(4))
    history.trim(tokens=fixed + last_two)
    assert history.tokens == fixed + last_two
    assert [one.number for one in history.rounds()] == [8, 9]
    history.trim(tokens=fixed + last_two - 1)
    assert [one.number for one in history.rounds()] == [9]
    history.trim(tokens=1)
    assert texts(history)[:2] == ["s", "question 8"]


def test_what_fits_as_it_is_loses_nothing(history: History):
    history.add(system("s"), ai("Welcome."), human("1"), ai("a"), human("2"), message(Role.VIEW, "a chart"))
    assert history.trim(tokens=history.tokens) == 0
    assert history.trim(tokens=history.tokens - 1) == 1
    assert texts(history) == ["s", "1", "a", "2", "a chart"]


def test_trimming_takes_one_limit(history: History):
    history.add_human("x")
    for limits in ({}, {"rounds": 1, "tokens": 1}):
        with pytest.raises(InvalidInput, match="either 'rounds' or 'tokens'"):
            history.trim(**limits)
    for wrong in (-1, True, 0.5, "1"):
        with pytest.raises(InvalidInput, match="limit"):
            history.trim(rounds=wrong)  # pyright: ignore[reportArgumentType]
    assert len(history) == 1


def test_trimming_what_has_not_begun_begins_nothing(history: History):
    assert history.trim(rounds=1) == history.trim(tokens=0) == 0
    assert history.info() is None


def test_trimming_never_parts_a_result_from_its_call(history: History):
    history.add_human("1")
    call = history.add_tool_call("slow")
    history.add(human("2"), ai("still waiting"), human("3"), tool_result(call.id, "at last"), ai("done"))
    assert history.trim(rounds=1) == 0
    history.add(human("4"), ai("b"))
    assert history.trim(rounds=1) == 7
    assert texts(history) == ["4", "b"]


def test_a_result_whose_call_is_gone_does_not_keep_the_rest(history: History):
    history.add(human("1"), ai("a"), human("2"))
    call = history.add_tool_call("look")
    history.add(tool_result(call.id, "r"), human("3"), tool_result("nowhere", "?"), ai("c"))
    history.remove(3)
    assert history.trim(rounds=1) == 4
    assert texts(history)[0] == "3"


@given(
    st.lists(strategies.conversations(max_rounds=2), min_size=1, max_size=3).map(
        lambda talks: [one for talk in talks for one in talk]
    ),
    st.integers(0, 4),
    st.integers(0, 300),
)
def test_trimming_keeps_its_promises(conversation: list[Message], rounds: int, tokens: int):
    for limits in ({"rounds": rounds}, {"tokens": tokens}):
        history = History(MemoryBackend(), "talk")
        stored = history.add(*conversation)
        preamble = [one for one in stored if one.round == 0 and one.role is Role.SYSTEM]
        gone = history.trim(**limits)
        left = list(history)
        assert gone == len(stored) - len(left)
        assert left[: len(preamble)] == preamble
        rest = left[len(preamble) :]
        assert rest == stored[len(stored) - len(rest) :]
        assert paired(left) == left
        if "rounds" in limits:
            assert len(history.rounds()) == min(rounds, len({one.round for one in stored} - {0}))
        else:
            assert history.tokens <= tokens or len(history.rounds()) <= 1


# Tokens.


class Changes(RuleBasedStateMachine):
    """Any changes in any order; the totals are those of the messages that are there."""

    def __init__(self) -> None:
        super().__init__()
        backend = MemoryBackend()
        self.histories = [History(backend, "talk"), History(backend, "talk", counter=get_counter("cl100k_base"))]
        self.history = self.histories[0]

    @rule(conversation=strategies.conversations(max_rounds=2))
    def add(self, conversation: list[Message]) -> None:
        self.history.add(*(copy.copy(one) for one in conversation))

    @rule(index=st.integers(0, 12), text=strategies.words())
    def edit(self, index: int, text: str) -> None:
        self._try(lambda: self.history.edit(index, text))

    @rule(index=st.integers(0, 12), new=strategies.messages())
    def replace(self, index: int, new: Message) -> None:
        self._try(lambda: self.history.edit(index, new))

    @rule(indexes=st.lists(st.integers(0, 12), max_size=3))
    def remove(self, indexes: list[int]) -> None:
        self._try(lambda: self.history.remove(*indexes))

    @rule(index=st.integers(0, 12))
    def restore(self, index: int) -> None:
        self._try(lambda: self.history.restore(index))

    @rule(rounds=st.integers(0, 3))
    def trim(self, rounds: int) -> None:
        self.history.trim(rounds=rounds)

    @rule()
    def end_round(self) -> None:
        self.history.end_round()

    def _try(self, change: Callable[[], object]) -> None:
        before = list(self.history)
        try:
            change()
        except NotFound:
            assert list(self.history) == before

    @invariant()
    def the_totals_are_right(self) -> None:
        for history in self.histories:
            assert history.tokens == sum(map(history.counter.count_message, history))
        assert len(self.history) == len(list(self.history))

    @invariant()
    def places_rise(self) -> None:
        places = [(one.index or 0, one.round or 0) for one in self.history]
        assert [index for index, _ in places] == sorted({index for index, _ in places})
        assert [number for _, number in places] == sorted(number for _, number in places)


def test_tokens_are_the_sum_over_the_messages_whatever_was_done():
    run_state_machine_as_test(Changes, settings=settings(max_examples=30, stateful_step_count=15))


def test_tokens_are_kept_in_any_store(talk: Callable[..., History]):
    history, other = talk(), talk(counter=get_counter("cl100k_base"))
    history.add(human("我搬到北京了"), *(ai("word " * at) for at in range(6)))
    history.edit(1, "longer than it was before")
    history.remove(0, 3)
    history.restore(0)
    history.add_human("next")
    history.trim(rounds=1)
    for one in (history, other):
        assert one.tokens == sum(map(one.counter.count_message, one)) > 0


def test_what_was_made_of_a_conversation_goes_with_it(talk: Callable[..., History]):
    history, other = talk("one"), talk("one two")
    history.add_human("hello")
    other.add_human("hello")
    assert history.backend is not None
    for one in (history, other):
        space, prefix = kept_beside(one.thread)
        history.backend.kv.put(space, f"{prefix}summary", "they said hello")
    assert history.delete()
    kept = [entry.key for entry in history.backend.kv.scan(kept_beside(other.thread)[0]).items]
    assert kept == [f"{kept_beside(other.thread)[1]}summary"]

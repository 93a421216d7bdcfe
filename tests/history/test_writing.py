from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memwell.errors import Conflict, InvalidInput, NotFound, Unsupported
from memwell.history import History
from memwell.history.reading import thread_blobs, thread_keys
from memwell.history.writing import MessageMarks, every_place, places_at, stretches
from memwell.messages import (
    Audio,
    Image,
    Media,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Video,
    ai,
    human,
    message,
    system,
    tool_result,
)
from memwell.storage import Backend
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend
from memwell.testing import strategies
from memwell.testing.conformance.backend import in_threads
from memwell.tokens import counted, default_counter, get_counter
from memwell.transcript import to_openai
from memwell.windows import paired
from tests.media_files import film, picture, wav

if TYPE_CHECKING:
    from tests.history.conftest import Talker, Watched


PNG = picture("PNG")


def media(history: History) -> list[Media]:
    return [part for message in history for part in message.parts if isinstance(part, Media)]


def blobs(store: Backend) -> int:
    return int(store.facts()["blobs"])


def test_bytes_go_beside_the_conversation_and_come_back(history: History):
    said = human((Text("look"), Image(data=PNG, text="a red square"), Audio(data=wav()), Video(data=film("mp4"))))
    kept = history.with_blobs(said)
    assert (kept.id, kept.text, kept.time) == (said.id, said.text, said.time)
    history.add(kept)
    assert [history.data_of(part) for part in media(history)] == [PNG, wav(), film("mp4")]
    assert [part.data for part in media(history)] == [None, None, None]
    assert [part.media_type for part in media(history)] == ["image/png", "audio/wav", "video/mp4"]
    assert media(history)[0].text == "a red square"


def test_bytes_in_the_result_of_a_tool_are_moved_too(history: History):
    history.add(human("draw"), ai((), tool_calls=(ToolCall("c", "draw"),)))
    [stored] = history.add(history.with_blobs(tool_result("c", (Text("done"), Image(data=PNG)))))
    result = stored.parts[0]
    assert isinstance(result, ToolResult)
    assert isinstance(result.content[1], Image)
    assert result.content[1].data is None
    assert history.data_of(result.content[1]) == PNG


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Image(data=b"no picture"), "no image"), (Audio(data=PNG), "not audio"),
        (Image(data=PNG, media_type="image/jpeg"), "says image/jpeg"), (Image(data=b""), "none"),
    ],
)  # fmt: skip
def test_bytes_that_are_not_what_they_say_are_refused_with_nothing_stored(
    history: History, store: Backend, part: Image | Audio, said: str
):
    with pytest.raises(InvalidInput, match=said):
        history.with_blobs(human((Image(data=PNG), part)))
    assert blobs(store) == 0


def test_bytes_and_message_are_stored_together_or_not_at_all(store: Backend):
    history = History(store, "talk")

    def fail_late() -> None:
        with store.transaction():
            history.add(history.with_blobs(human(Image(data=PNG))))
            raise OSError("now")

    with pytest.raises(OSError, match="now"):
        fail_late()
    assert blobs(store) == len(history) == 0


def test_bytes_go_with_the_conversation(history: History, store: Backend, talk: Talker):
    other = talk("other")
    for one in (history, other):
        one.add(one.with_blobs(human((Image(data=PNG), Image(data=PNG)))))
    assert blobs(store) == 2
    history.delete()
    assert blobs(store) == 1
    assert other.data_of(media(other)[0]) == PNG
    other.delete()
    assert blobs(store) == 0
    assert store.kv.scan(thread_blobs(other.thread)).items == []


def test_a_copy_has_bytes_of_its_own(history: History, talk: Talker):
    history.add(history.with_blobs(human(Image(data=PNG))))
    history.add_ai("nice")
    history.edit(0, "never mind")
    forked, copied = history.fork("forked"), talk("copied")
    history.copy_to(copied)
    part = copied.versions(0)[0].message
    assert part is not None
    history.delete()
    kept = part.parts[0]
    assert isinstance(kept, Image)
    assert copied.data_of(kept) == PNG
    # The fork has no earlier versions, and so nothing that names the bytes.
    with pytest.raises(NotFound):
        forked.data_of(kept)


def test_what_is_copied_to_another_store_has_its_bytes(
    history: History, talk: Talker, opened: Callable[[str], Backend]
):
    history.add(history.with_blobs(human(Image(data=PNG))))
    there = talk("there", store=opened("sqlite"))
    history.copy_to(there)
    history.delete()
    assert there.data_of(media(there)[0]) == PNG


def test_bytes_cannot_be_copied_to_a_log_alone(history: History, talk: Talker, opened: Callable[[str], Backend]):
    history.add(history.with_blobs(human(Image(data=PNG))))
    there = talk("there", store=opened("memory").log)
    with pytest.raises(Unsupported, match="copy the conversation to a store"):
        history.copy_to(there)
    assert there.info() is None
    assert history.data_of(media(history)[0]) == PNG


def test_a_log_alone_keeps_no_bytes(talk: Talker, watched: Watched):
    history = talk(store=watched)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Unsupported, match="a log alone"):
        history.with_blobs(human(Image(data=PNG)))
    assert history.data_of(Image(data=PNG)) == PNG


def test_data_of_says_why_there_are_none(history: History, store: Backend):
    with pytest.raises(InvalidInput, match=r"example\.org"):
        history.data_of(Image(url="https://example.org/a.png"))
    with pytest.raises(InvalidInput, match="Image, Audio or Video"):
        history.data_of(Text("words"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFound):
        history.data_of(Image(blob="0" * 64))
    with pytest.raises(InvalidInput, match="digest"):
        history.data_of(Image(blob="../../etc/passwd"))


def test_conversations_do_not_see_each_others_bytes(history: History, talk: Talker, store: Backend):
    kept = history.with_blobs(human(Image(data=PNG))).parts[0]
    assert isinstance(kept, Image)
    for other in (talk("another"), talk(space="away")):
        with pytest.raises(NotFound):
            other.data_of(kept)
    assert store.blobs.get(thread_blobs(history.thread), kept.blob or "") == PNG


def texts(messages: Any) -> list[str]:
    return [one.text for one in messages]


def all_of(history: History) -> dict[str, Any]:
    """All that a conversation holds, but for the times at which it was changed."""
    info = history.info()
    if info is None:
        return {}
    places = {at: [version.message for version in history.versions(at)] for at in range(info.next)}
    return {
        "messages": list(history),
        "versions": {at: held for at, held in places.items() if held},
        "metadata": info.metadata,
        "bounds": (info.first, info.next, info.messages, info.tokens, info.rounds),
        "round is open": info.ended_round != info.rounds,
    }


def eventful(history: History) -> History:
    """Give a conversation messages of all kinds, versions, removed messages, metadata and a closed round."""
    history.add(system("s"), human("1"), ai(tool_calls=[ToolCall("c", "look", {"lc": 1})]), tool_result("c", "r"))
    history.add(*(one for at in range(2, 6) for one in (human(f"问{at}"), ai(f"a{at}"))))
    history.edit(1, "one")
    history.edit(1, "uno")
    history.remove(5)
    history.remove(6)
    history.restore(6)
    history.remove(history.last(1)[0])
    history.set_metadata(title="Trip", nested={"a": [1, None]})
    history.end_round()
    return history


@pytest.fixture(params=["memory", "sqlite"])
def elsewhere(request: pytest.FixtureRequest, opened: Callable[[str], Backend]) -> Backend:
    """Another store, of either kind."""
    return opened(request.param)


def test_a_copy_has_everything(talk: Callable[..., History], elsewhere: Backend):
    source, target = eventful(talk()), talk("copy", store=elsewhere, space="away")
    before = all_of(source)
    assert source.copy_to(target) == len(source) == 10
    assert all_of(target) == all_of(source) == before
    assert target.search("问3")[0][0].text == "问3"
    assert target.restore(5).text == source.restore(5).text
    assert target.round(3) == source.round(3)


def test_what_has_begun_is_not_written_over(talk: Callable[..., History], elsewhere: Backend):
    source = eventful(talk())
    for name, begin in (
        ("said", lambda other: other.add_human("mine")),
        ("titled", lambda other: other.set_metadata(title="mine")),
        ("begun", lambda other: other.start_round()),
    ):
        target = talk(name, store=elsewhere)
        begin(target)
        before, ours = all_of(target), all_of(source)
        with pytest.raises(Conflict, match=f"'{name}' has already begun"):
            source.copy_to(target)
        assert (all_of(target), all_of(source)) == (before, ours)


def test_two_handles_of_one_file_copy_without_waiting_for_each_other(tmp_path: Any):
    path = str(tmp_path / "chat.db")
    with History.open(path, "one") as one, History.open(path, "two") as two:
        one.add(human("q"), ai("a"))
        assert one.copy_to(two) == 2
        assert texts(one) == texts(two) == ["q", "a"]


def test_a_copy_that_fails_leaves_no_trace(talk: Callable[..., History], watched: Any, elsewhere: Backend):
    source = talk(store=watched)
    source.add(*(human(str(at)) for at in range(600)))
    for fails_at in (("places", 1), ("places", 2)):
        for target in (talk("copy", store=elsewhere), talk("copy", store=elsewhere.log)):
            watched.forget()
            watched.fails_at = fails_at
            with pytest.raises(OSError, match="this log fails"):
                source.copy_to(target)
            assert target.info() is None, fails_at
    watched.fails_at = None
    assert len(source) == 600
    assert source.copy_to(talk("copy", store=elsewhere)) == 600


def test_a_target_that_fails_is_left_as_it_was(talk: Callable[..., History], watched: Any, elsewhere: Backend):
    source = talk("source", store=elsewhere)
    source.add(*(human(str(at)) for at in range(600)))
    source.edit(3, "edited")
    for fails_at in (("restore", 1), ("restore", 2)):
        watched.forget()
        watched.fails_at = fails_at
        with pytest.raises(OSError, match="this log fails"):
            source.copy_to(talk(store=watched))
        assert talk().info() is None, fails_at
        assert len(source) == 600, fails_at


@given(st.data())
def test_any_conversation_is_copied_whole(data: st.DataObject):
    source = History(MemoryBackend(), "talk")
    for change in data.draw(st.lists(st.sampled_from(("add", "add", "edit", "remove", "restore", "trim", "end")))):
        apply(source, change, data)
    target = History(MemoryBackend(), "copy")
    source.copy_to(target)
    assert all_of(target) == all_of(source)
    if source.info() is not None:
        ours, theirs = source.add_ai("next"), target.add_ai("next")
        assert (ours.index, ours.round) == (theirs.index, theirs.round)


def apply(history: History, change: str, data: st.DataObject) -> None:
    info = history.info()
    places = [one for one in range(info.next if info else 0) if history.versions(one) or holds(history, one)]
    if change == "add":
        history.add(*data.draw(strategies.conversations(max_rounds=2)))
    elif change == "end":
        history.end_round()
    elif change == "trim":
        history.trim(rounds=data.draw(st.integers(0, 3)))
    elif places:
        place = data.draw(st.sampled_from(places))
        if change == "edit" and holds(history, place):
            history.edit(place, data.draw(strategies.words()))
        elif change == "remove":
            history.remove(place)
        elif change == "restore" and history.versions(place):
            history.restore(place)


def holds(history: History, place: int) -> bool:
    return bool(history.log.read(history.thread, after=place - 1, before=place + 1))


def test_a_fork_begins_alike_and_goes_its_own_way(talk: Callable[..., History]):
    history = eventful(talk())
    fork = history.fork("other")
    assert list(fork) == list(history)
    assert fork.metadata() == {**history.metadata(), "forked_from": {"thread": "talk", "index": None}}
    assert fork.versions(1) == []
    before = all_of(history)
    fork.add_human("only there")
    fork.edit(0, "changed there")
    fork.trim(rounds=1)
    assert all_of(history) == before
    history.delete()
    assert texts(fork)[-1] == "only there"


def test_a_fork_goes_up_to_a_message(talk: Callable[..., History]):
    history = talk()
    stored = history.add(human("1"), ai("a"), human("2"), ai("b"))
    history.end_round()
    for number, upto in enumerate((stored[2], stored[2].id, 2)):
        fork = history.fork(str(number), upto=upto)
        assert list(fork) == stored[:3]
        assert fork.metadata()["forked_from"] == {"thread": "talk", "index": 2}
        assert fork.add_ai("another answer").round == 2
    assert texts(history.fork("first", upto=0)) == ["1"]


def test_a_fork_needs_a_new_name_and_a_message_that_is_there(talk: Callable[..., History]):
    history = talk()
    history.add(human("1"), ai("a"))
    talk("taken").add_human("mine")
    talk("titled").set_metadata(title="mine")
    for name in ("taken", "titled", "talk"):
        with pytest.raises(Conflict, match=name):
            history.fork(name)
    assert texts(talk("taken")) == ["mine"]
    assert talk("titled").metadata() == {"title": "mine"}
    history.remove(1)
    for upto in (1, 9, "unknown", human("never stored")):
        with pytest.raises(NotFound):
            history.fork("new", upto=upto)
    assert talk("new").info() is None


A_TIME = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)


def test_what_is_added_comes_back_with_its_place(history: History):
    first = history.add_system("be brief")
    second = history.add_human("Hello", name="Anna", time=A_TIME, metadata={"mood": ["good"]})
    third = history.add_ai("Hi", hidden=True)
    assert [(one.index, one.round) for one in (first, second, third)] == [(0, 0), (1, 1), (2, 1)]
    assert list(history) == [first, second, third]
    assert (second.role, second.name, second.time, second.metadata) == (Role.HUMAN, "Anna", A_TIME, {"mood": ["good"]})
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


BROKEN: list[Any] = [
    human("\ud800"), human("x", id=""), Message(Role.TOOL, (ToolResult("1", cast(Any, (3,))),)), [3],
    human("x", metadata={"a": float("nan")}), ai(tool_calls=[ToolCall("1", "look", {"a": {1, 2}})]), None,
    {"role": "human"},
]  # fmt: skip
"""A few of each kind: the suites of the stores try them all."""


def test_a_message_that_breaks_a_rule_is_neither_added_nor_put_in_anothers_place(history: History, talk: Talker):
    other = talk("other")
    other.add_human("was here")
    for wrong in BROKEN:
        with pytest.raises(InvalidInput):
            history.add(human("fine"), wrong)
        with pytest.raises(InvalidInput):
            other.edit(0, wrong)
        assert history.info() is None, wrong
        assert (texts(other), other.versions(0)) == (["was here"], []), wrong


def test_what_a_caller_does_afterwards_does_not_reach_the_store(history: History):
    arguments = {"list": [1]}
    metadata = {"list": [1]}
    history.add_human("q", metadata=metadata)
    history.add_tool_call("look", arguments)
    arguments["list"].append(2)
    metadata["list"].append(2)
    assert history.get(0).metadata == {"list": [1]}
    assert history.get(1).tool_calls[0].arguments == {"list": [1]}


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
    def write(writer: int) -> None:
        for number in range(10):
            History(store, "talk").set_metadata(**{f"{writer} {number}": number})

    in_threads(2, write)
    assert len(History(store, "talk").metadata()) == 20


def test_content_edited_by_two_at_once_loses_no_metadata(store: Backend):
    history = History(store, "talk")
    history.add_human("old", metadata={"n": 0})

    def work(writer: int) -> None:
        for number in range(10):
            mine = History(store, "talk")
            if writer == 0:
                mine.edit(0, str(number))
                continue
            with store.transaction():
                now = mine.get(0)
                mine.edit(0, now.changed(metadata={"n": now.metadata["n"] + 1}))

    in_threads(2, work)
    assert history.get(0).metadata == {"n": 10}


def test_a_deleted_conversation_begins_anew(history: History):
    assert not history.delete()
    history.add(human("one"), ai("two"))
    history.set_metadata(title="t")
    assert history.delete()
    assert (history.info(), list(history), history.versions(0)) == (None, [], [])
    assert history.add_human("again").index == 0


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


def test_trimming_takes_one_limit(history: History):
    history.add_human("x")
    for limits in ({}, {"rounds": 1, "tokens": 1}):
        with pytest.raises(InvalidInput, match="either 'rounds' or 'tokens'"):
            history.trim(**limits)
    for wrong in (-1, True, 0.5, "1"):
        with pytest.raises(InvalidInput, match="limit"):
            history.trim(rounds=wrong)  # pyright: ignore[reportArgumentType]
    assert len(history) == 1


def test_trimming_never_parts_a_result_from_its_call(history: History):
    history.add_human("1")
    call = history.add_tool_call("slow")
    history.add(human("2"), ai("still waiting"), human("3"), tool_result(call.id, "at last"), ai("done"))
    assert history.trim(rounds=1) == 0
    history.add(human("4"), ai("b"))
    assert history.trim(rounds=1) == 7
    assert texts(history) == ["4", "b"]


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
            assert history.tokens <= tokens or len(history.rounds()) <= bool(tokens)


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
    run_state_machine_as_test(Changes, settings=settings(max_examples=20, stateful_step_count=15))


def test_what_was_made_of_a_conversation_goes_with_it(talk: Callable[..., History]):
    history, other = talk("one"), talk("one two")
    history.add_human("hello")
    other.add_human("hello")
    assert history.backend is not None
    for one in (history, other):
        space, prefix = thread_keys(one.thread)
        history.backend.kv.put(space, f"{prefix}summary", "they said hello")
    assert history.delete()
    kept = [entry.key for entry in history.backend.kv.scan(thread_keys(other.thread)[0]).items]
    assert kept == [f"{thread_keys(other.thread)[1]}summary"]


# Marks on places: what is stored of them, and the ranges to read.

_PLACES = st.sets(st.integers(0, 40) | st.integers(4090, 4100) | st.integers(0, 20_000), max_size=12)


@given(_PLACES)
def test_stretches_cover_every_place_in_order_and_little_else(places: set[int]) -> None:
    found = list(stretches(places_at(places)))
    covered = [place for start, stop in found for place in range(start, stop)]
    assert covered == sorted(set(covered))
    assert places <= set(covered)
    # Each range begins and ends with a place that is wanted, and no two of them could be one.
    assert all(start in places and stop - 1 in places for start, stop in found)
    assert all(after[0] - before[1] > 16 for before, after in pairwise(found))
    assert len(covered) <= 17 * len(places)


def test_marks_over_several_blocks_and_in_the_order_of_first_use() -> None:
    with open_backend("memory:") as backend:
        history = History(backend, "t")
        history.add(*(human("x") for _ in range(9_000)))
        info = history.info()
        assert info is not None
        assert list(stretches(every_place(info))) == [(0, 9_000)]
        marks = MessageMarks(history)
        marks.add("z", places_at([1, 4_096, 8_999]))
        marks.add("a", places_at([4_096]))
        marks.add("z", places_at([2]))
        assert list(marks.all()) == ["z", "a"]
        assert marks.places("z", info) == places_at([1, 2, 4_096, 8_999])
        marks.remove("z", places_at([8_999, 5_000, 4_096]))
        marks.remove("a", places_at([4_096]))
        assert marks.all() == {"z": places_at([1, 2])}
        history.trim(rounds=1)
        trimmed = history.info()
        assert trimmed is not None
        assert list(stretches(every_place(trimmed))) == [(8_999, 9_000)]
        history.delete()
        assert marks.all() == {}

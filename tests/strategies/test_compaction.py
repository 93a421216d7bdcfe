from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memwell.errors import InvalidInput, ModelError, NotFound
from memwell.history import History
from memwell.history.reading import thread_blobs
from memwell.messages import Image, Message, Text, ToolCall, ToolResult, ai, human, message, system, tool_result
from memwell.models.scripted import ScriptedChat
from memwell.storage import open_backend
from memwell.strategies import Buffer, Compaction
from memwell.windows import paired

SHARED = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

Talk = Callable[..., History]

LONG = "\n".join(f"row {number}: {number * 7919 % 1000} units in Oslo" for number in range(2_000)) + "\nTOTAL 42"


def called(history: History, number: int, result: str, answer: str = "Done.") -> None:
    history.add(
        human(f"Look up number {number}."),
        ai(tool_calls=[ToolCall(f"call-{number}", "lookup", {"n": number})]),
        tool_result(f"call-{number}", result, name="lookup"),
        ai(answer),
    )


def size(history: History, messages: list[Message]) -> int:
    return sum(map(history.counter.count_message, messages))


def the_handle(messages: list[Message]) -> str:
    [shown] = [one.text for one in messages if "read_tool_result" in one.text]
    return shown.split('handle="')[1].split('"')[0]


def test_a_long_tool_result_is_shown_as_its_beginning_and_end_and_fetched_whole(talk: Talk):
    history = talk()
    called(history, 1, LONG)
    compaction = Compaction(history)
    compaction.observe()
    view = compaction.recall()
    [shown] = [one for one in view if one.tool_results]
    assert shown.text.startswith("row 0: 0 units")
    assert shown.text.endswith("TOTAL 42")
    assert history.counter.count_message(shown) < 300
    handle = the_handle(view)
    assert compaction.fetch(handle) == LONG
    assert asyncio.run(compaction.afetch(handle)) == LONG
    assert compaction.fetch(handle, start=len(LONG) - 8) == "TOTAL 42"
    assert history.counter.count(compaction.fetch(handle, start=5, tokens=50)) <= 50
    [kept] = compaction.offloaded()
    assert (kept.handle, kept.message, kept.call, kept.characters) == (handle, shown.id, "call-1", len(LONG))
    # The log is as it was, and the rest of the view too.
    assert [one.text for one in history if one.tool_results] == [LONG]
    assert [one for one in view if not one.tool_results] == [one for one in history if not one.tool_results]


def test_what_nobody_observed_is_shown_short_and_can_be_fetched_too(talk: Talk):
    history = talk()
    called(history, 1, LONG)
    compaction = Compaction(history)
    assert compaction.fetch(the_handle(compaction.recall())) == LONG
    assert compaction.offloaded() == []


def test_media_and_other_results_of_a_message_stay(talk: Talk):
    history = talk()
    picture = Image(url="https://example.org/a.png")
    results = [ToolResult("a", (Text(LONG), picture)), ToolResult("b", (Text("short"),))]
    calls = [ToolCall("a", "lookup"), ToolCall("b", "lookup")]
    history.add(human("Go."), ai(tool_calls=calls), message("tool", results))
    [one, other] = Compaction(history).recall()[-1].tool_results
    assert one.content[1:] == (picture,)
    assert len(one.text) < 2_000
    assert other == results[1]


def test_an_edited_result_has_another_preview(talk: Talk):
    history = talk()
    called(history, 1, LONG)
    compaction = Compaction(history)
    before = the_handle(compaction.recall())
    index = next(one.index for one in history if one.tool_results)
    assert index is not None
    history.edit(index, tool_result("call-1", LONG.replace("Oslo", "Rome"), name="lookup").parts)
    after = the_handle(compaction.recall())
    assert before != after
    assert "Rome" in compaction.fetch(after)


@SHARED
@given(
    sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=8),
    tokens=st.integers(300, 3_000),
    keep=st.integers(0, 12),
    mode=st.sampled_from(["auto", "compact", "compress"]),
)
def test_the_view_fits_and_pairs_stay_together(talk: Talk, sizes: list[int], tokens: int, keep: int, mode: Any):
    history = talk()
    history.add(system("Be brief."))
    compaction = Compaction(
        history, tokens=tokens, tool_tokens=100, preview_tokens=40, keep_recent=keep, mode=mode, name=f"c{tokens}"
    )
    for number, length in enumerate(sizes):
        called(history, number, LONG[:length] or "nothing")
        compaction.observe()
    view = compaction.recall()
    assert paired(view) == view
    assert view[0].text == "Be brief."
    assert size(history, view) <= tokens
    if mode == "compress":
        assert not any("read_tool_result" in one.text for one in view if one.tool_results)
    # Nothing is lost: every result can be read back, from the view or from the log.
    for one in view:
        if "read_tool_result(handle" in one.text and one.tool_results:
            raw = history.get(one.id)
            assert compaction.fetch(the_handle([one])) == raw.text


def test_old_turns_fold_only_when_previews_are_not_enough(talk: Talk):
    history = talk()
    compaction = Compaction(history, tokens=1_500, tool_tokens=200, preview_tokens=60)
    for number in range(3):
        called(history, number, LONG)
    compaction.observe()
    assert compaction.summary == ""
    assert size(history, Buffer(history).recall()) > 50_000
    for number in range(3, 20):
        called(history, number, LONG, answer=f"I found {number} units in Oslo for customer {number}.")
        compaction.observe()
    assert "units in Oslo" in compaction.summary
    view = compaction.recall()
    assert view[-1].text.startswith("I found 19 units")
    # Folding makes room for several rounds at once, so that a prompt's beginning changes seldom.
    folds = compaction._inner._state.read().fields["folds"]  # type: ignore[union-attr] - how often is not told otherwise
    assert folds <= 6
    compaction.restart()
    assert compaction.summary == ""
    assert [one.text for one in history if one.tool_results] == [LONG] * 20
    compaction.observe()
    assert "units in Oslo" in compaction.summary


def test_a_summary_holds_what_was_said_and_no_shortened_results(talk: Talk):
    history = talk()
    compaction = Compaction(history, tokens=1_500, tool_tokens=100, preview_tokens=30)
    for number in range(60):
        called(history, number, f"result {number} " * 300, answer=f"Item {number} is in room {number * 3}.")
    compaction.observe()
    assert "is in room" in compaction.summary
    assert "left out" not in compaction.summary
    assert "read_tool_result" not in compaction.summary


def test_the_last_messages_stay_as_long_as_they_fit(talk: Talk):
    history = talk()
    few = Compaction(history, tokens=2_000, keep_recent=0, name="few")
    many = Compaction(history, tokens=2_000, keep_recent=70, name="many")
    for number in range(60):
        history.add(human(f"I have {number} cats in Oslo and a long story about them."), ai(f"So {number} cats it is."))
    for one in (few, many):
        one.observe()
    assert len(many.recall()) >= 70
    assert len(few.recall()) < len(many.recall())


def test_a_model_that_fails_moves_nothing(talk: Talk):
    history = talk()
    for number in range(10):
        called(history, number, LONG, answer="words " * 60)
    compaction = Compaction(history, tokens=600, tool_tokens=200, preview_tokens=50, summariser=ScriptedChat([]))
    with pytest.raises(ModelError):
        compaction.observe()
    assert compaction.summary == ""
    assert len(compaction.offloaded()) == 1
    assert size(history, compaction.recall()) <= 600
    assert len(history) == 40


def test_handles_of_others_open_nothing(talk: Talk):
    mine, other = talk(), talk()
    for history, text in ((mine, LONG), (other, LONG.replace("Oslo", "Rome"))):
        called(history, 1, text)
        Compaction(history).observe()
    handle = the_handle(Compaction(other).recall())
    for bad in (handle, "0" * 16, "", "../../etc/passwd"):
        with pytest.raises(NotFound):
            Compaction(mine).fetch(bad)
    with pytest.raises(InvalidInput):
        Compaction(mine).fetch(None)  # type: ignore[arg-type]


def test_a_deleted_conversation_takes_its_blobs_along():
    with open_backend("memory:") as store:
        history, twin = History(store, "talk"), History(store, "twin")
        for one in (history, twin):
            called(one, 1, LONG)
            Compaction(one).observe()
        [kept] = Compaction(history).offloaded()
        digest = store.blobs.put(thread_blobs(history.thread), LONG.encode())
        assert digest.startswith(kept.handle)
        history.delete()
        with pytest.raises(NotFound):
            store.blobs.get(thread_blobs(history.thread), digest)
        # Another conversation that got the same result keeps its own.
        assert Compaction(twin).fetch(kept.handle) == LONG


@pytest.mark.parametrize(
    "bad", [{"mode": "all"}, {"tokens": -1}, {"tool_tokens": "2"}, {"preview_tokens": 1.5}, {"keep_recent": -1}]
)
def test_bad_limits_are_refused(talk: Talk, bad: dict[str, Any]):
    with pytest.raises(InvalidInput):
        Compaction(talk(), **bad)
    with pytest.raises(InvalidInput):
        Compaction("talk")  # type: ignore[arg-type]


def test_more_previews_than_are_cached_are_read_all_the_same():
    with open_backend("memory:") as store:
        history = History(store, "talk")
        for number in range(300):
            called(history, number, f"result {number} " * 4)
        log, thread = Compaction(history, tool_tokens=5, preview_tokens=2)._view, history.thread
        assert sum("read_tool_result" in one.text for one in log.read(thread, after=399)) == 200
        whole = log.read(thread)
        assert [one.id for one in whole] == [one.id for one in history]
        assert sum("read_tool_result" in one.text for one in whole) == 300
        for most in (0, 1, 399, 500, 5_000):
            assert log.read(thread, first=most) == whole[:most]
            assert log.read(thread, last=most, before=1_100) == whole[max(1_100 - most, 0) : 1_100]

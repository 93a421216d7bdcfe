from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendError, ConfigurationError, InvalidInput, NotFound
from memwell.history import History, HistoryReader
from memwell.messages import Message, Role, ToolCall, ai, human, message, system, tool_result
from memwell.records import Space
from memwell.storage import Backend
from memwell.storage.memory import MemoryBackend
from memwell.testing import strategies
from memwell.windows import Round, fitted, rounds_of


def test_a_conversation_is_opened_by_path_and_closed_with_its_store(tmp_path: Path):
    path = str(tmp_path / "chat.db")
    with History.open(path, "trip", space=Space("acme", "anna")) as history:
        history.add_human("Hello")
        assert history.thread.space == Space("acme", "anna")
    with pytest.raises(BackendError, match="closed"):
        history.add_human("too late")
    with HistoryReader.open(f"sqlite:{path}", "trip", space=Space("acme", "anna")) as reader:
        assert [message.text for message in reader] == ["Hello"]
        assert not hasattr(reader, "add")


def test_a_conversation_is_opened_and_closed_by_twins(tmp_path: Path):
    async def converse() -> list[str]:
        async with await History.aopen(str(tmp_path / "chat.db"), "trip") as history:
            await history.aadd_human("Hello")
            texts = [message.text async for message in history]
        with pytest.raises(BackendError, match="closed"):
            await history.alast(1)
        return texts

    assert asyncio.run(converse()) == ["Hello"]


def test_a_store_that_was_passed_in_stays_open(store: Backend):
    with History(store, "talk") as history:
        history.add_human("Hello")
    history.close()
    assert len(history) == 1


def test_a_store_that_cannot_be_opened_says_why(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="folder"):
        History.open(str(tmp_path / "no" / "chat.db"), "trip")
    with pytest.raises(ConfigurationError, match="folder"):
        asyncio.run(History.aopen(str(tmp_path / "no" / "chat.db"), "trip"))


@pytest.mark.parametrize("thread", ["../x", "%", "a_b", "*", "a|b", "'; DROP TABLE thread; --", "\n", " ", "中文"])
def test_a_name_means_only_itself(store: Backend, thread: str):
    History(store, thread).add_human("mine")
    for other in ("x", "aXb", "ab", "a", "", "anything"):
        if other:
            assert len(History(store, other)) == 0
    assert len(History(store, thread, space="elsewhere")) == 0
    assert [message.text for message in History(store, thread)] == ["mine"]


@pytest.mark.parametrize("store", ["chat.db", None, 3, object()])
def test_what_is_no_store_is_refused_at_once(store: object):
    with pytest.raises(InvalidInput, match=r"Backend.*History\.open"):
        History(store, "trip")  # type: ignore[arg-type]


MANY = 5_000


def texts(messages: Any) -> list[str]:
    return [one.text for one in messages]


def numbered(count: int) -> list[Message]:
    """Rounds of a question and an answer, behind an instruction."""
    return [system("be brief"), *(human(f"q{at}") if at % 2 else ai(f"a{at}") for at in range(1, count))]


def blocking_methods(kind: type) -> set[str]:
    members = inspect.getmembers(kind, callable)
    return {name for name, member in members if not name.startswith("_") and not inspect.iscoroutinefunction(member)}


@pytest.mark.parametrize("kind", [History, HistoryReader])
def test_every_blocking_method_has_a_twin(kind: type):
    names = blocking_methods(kind)
    assert {"open", "close", "info", "window", "round"} <= names
    without = {name for name in names if not inspect.iscoroutinefunction(getattr(kind, f"a{name}", None))}
    assert without == set()
    assert inspect.iscoroutinefunction(HistoryReader.atokens)


def test_a_conversation_that_has_not_begun_is_empty(history: History, store: Backend):
    assert history.info() is None
    assert bool(history)
    assert (len(history), history.tokens, history.metadata()) == (0, 0, {})
    assert list(history) == list(reversed(history)) == history.last(5) == history.window() == history.rounds() == []
    assert history.page().items == history.search("anything") == history.versions(0) == []
    assert history.latest_round() is None
    for missing in (0, "id", human("x")):
        with pytest.raises(NotFound, match="'talk' has no message"):
            history.get(missing)
    with pytest.raises(NotFound, match="has no round 1"):
        history.round(1)
    # Reading began nothing.
    assert store.log.threads(history.thread.space).items == []


def test_a_message_is_found_by_index_by_id_and_by_itself(history: History):
    stored = history.add(human("one"), ai("two"), human("three"))
    for one in stored:
        assert history.get(one.index or 0) == history.get(one.id) == history.get(one) == one
    assert history.get(human("a copy").changed(id=stored[1].id)).text == "two"
    for missing in (3, "unknown", human("never stored")):
        with pytest.raises(NotFound):
            history.get(missing)
    for wrong in (-1, True, 1.5, "", None):
        with pytest.raises(InvalidInput):
            history.get(wrong)  # pyright: ignore[reportArgumentType]


@given(count=st.integers(0, 12), gone=st.sets(st.integers(0, 11)), limit=st.integers(1, 13))
def test_pages_join_to_the_whole(count: int, gone: set[int], limit: int):
    history = History(MemoryBackend(), "talk")
    history.add(*(human(str(at)) for at in range(count)))
    history.remove(*(at for at in gone if at < count))
    left = [str(at) for at in range(count) if at not in gone]
    assert all_pages(history, limit=limit) == left
    assert all_pages(history, limit=limit, newest_first=True) == left[::-1]
    assert texts(history) == texts(reversed(history))[::-1] == left


def all_pages(history: History, **options: Any) -> list[str]:
    page = history.page(**options)
    found = texts(page.items)
    while page.next is not None:
        page = history.page(cursor=page.next, **options)
        assert page.items
        found += texts(page.items)
    return found


def test_a_cursor_from_elsewhere_is_refused(history: History):
    history.add_human("hello")
    for cursor in ("x", "", "-1", "1.5", "٣", "9" * 30, 3):
        with pytest.raises(InvalidInput, match="not a cursor"):
            history.page(cursor=cursor)  # pyright: ignore[reportArgumentType]
    for limit in (0, -1, True, 2.0):
        with pytest.raises(InvalidInput, match="limit"):
            history.page(limit=limit)  # pyright: ignore[reportArgumentType]
    assert history.page(cursor="9" * 18).items == []


FRUGAL: list[tuple[Callable[[History], Any], int, int]] = [
    (lambda history: history.page(limit=10), 1, 11),
    (lambda history: history.page(limit=10, newest_first=True), 1, 11), (lambda history: history.last(20), 1, 20),
    (lambda history: history.get(MANY // 2), 1, 1), (lambda history: history.window(rounds=3), 2, 80),
    (lambda history: history.window(tokens=60), 2, 80), (lambda history: history.rounds(2), 1, 65),
    (lambda history: history.latest_round(), 1, 65), (lambda history: history.round(MANY // 4), 16, 80), (len, 0, 0),
    (lambda history: history.tokens, 0, 0), (lambda history: history.info(), 0, 0),
]  # fmt: skip
"""What a question may cost at most: calls of ``read``, and messages read."""


def test_a_large_conversation_is_read_in_small_pieces(talk: Callable[..., History], watched: Any):
    history = talk(store=watched)
    history.add(*numbered(MANY))
    for read, most_calls, most_rows in FRUGAL:
        watched.forget()
        assert read(history) is not None
        assert watched.calls["read"] <= most_calls, inspect.getsource(read)
        assert watched.rows <= most_rows, inspect.getsource(read)
        assert watched.calls.total() <= most_calls + 1


def test_a_search_follows_edits_and_removals(history: History):
    history.add(human("我想去北京看长城"), ai("北京五月天气很好"), human("上海呢"))
    assert {one.index for one, _ in history.search("北京")} == {0, 1}
    assert [one.index for one, _ in history.search("上海")] == [2]
    history.edit(0, "我想去南京")
    assert [one.index for one, _ in history.search("北京")] == [1]
    assert [one.index for one, _ in history.search("南京")] == [0]
    history.remove(1)
    assert history.search("北京") == []
    history.restore(1)
    assert [one.index for one, _ in history.search("北京", limit=1)] == [1]
    history.trim(rounds=1)
    assert history.search("北京 南京") == []
    assert [one.index for one, _ in history.search("上海")] == [2]


def test_rounds_begin_with_people_and_end_by_hand(history: History):
    assert history.start_round() == 1
    history.add(system("s"))
    history.add(human("q"), ai("a"))
    history.end_round()
    history.add_ai("on my own")
    assert history.start_round() == history.start_round() == 4
    history.add(human("p"), ai("b"))
    assert [(one.number, texts(one.messages)) for one in history.rounds()] == [
        (1, ["s"]),
        (2, ["q", "a"]),
        (3, ["on my own"]),
        (4, ["p", "b"]),
    ]
    assert history.latest_round() == history.round(4)
    assert texts(history.round(3).messages) == ["on my own"]


def test_what_came_before_the_first_round_is_round_0(history: History):
    history.add(system("s"), ai("Welcome."), human("q"))
    assert [one.number for one in history.rounds()] == [1]
    assert texts(history.round(0).messages) == ["s", "Welcome."]
    history.remove(0, 1)
    with pytest.raises(NotFound, match="no round 0"):
        history.round(0)
    with pytest.raises(InvalidInput):
        history.round(-1)


@given(
    rounds=st.lists(st.integers(1, 4), min_size=1, max_size=8), gone=st.sets(st.integers(0, 20)), kept=st.integers(1, 8)
)
def test_a_round_is_found_by_its_number_whatever_went(rounds: list[int], gone: set[int], kept: int):
    history = History(MemoryBackend(), "talk")
    for length in rounds:
        history.add(human("q"), *(ai("a") for _ in range(length - 1)))
    history.remove(*(at for at in gone if at < sum(rounds)))
    history.trim(rounds=kept)
    whole = list(rounds_of(history))
    assert history.rounds() == whole
    assert all(history.round(one.number) == one for one in whole)
    assert history.rounds(2) == whole[-2:]
    assert history.rounds(0) == []
    there = {one.number for one in whole}
    for number in set(range(len(rounds) + 2)) - there:
        with pytest.raises(NotFound):
            history.round(number)


def test_a_window_is_instructions_and_the_last_rounds(history: History):
    history.add(system("s"), ai("Welcome."), human("1"), ai("a"), human("2"), ai("b"))
    assert texts(history.window(rounds=1)) == ["s", "2", "b"]
    assert texts(history.window()) == ["s", "1", "a", "2", "b"]
    assert texts(history.window(rounds=1, system=False)) == ["2", "b"]
    assert texts(history.window(rounds=0)) == ["s"]
    assert history.window(rounds=0, system=False) == []
    least = history.counter.count_message(history.get(0))
    assert texts(history.window(tokens=least)) == ["s"]
    with pytest.raises(InvalidInput, match=f"system messages take {least} tokens"):
        history.window(tokens=least - 1)
    assert history.window(tokens=least - 1, system=False) == []


def called(messages: list[Message]) -> list[str]:
    return [call.id for one in messages for call in one.tool_calls]


def test_a_call_whose_result_was_taken_out_is_not_in_a_window(history: History):
    history.add(human("q"), ai("Wait.", tool_calls=[ToolCall("1", "look"), ToolCall("2", "look")]))
    assert called(history.window()) == ["1", "2"]
    history.add(tool_result("1", "one"), message(Role.VIEW, "a chart"), tool_result("2", "two"))
    history.remove(4)
    assert called(history.window()) == called(history.window(rounds=1, tokens=500)) == ["1"]
    history.remove(2)
    assert called(history.window()) == []
    assert texts(history.window()) == ["q", "Wait."]
    history.add(tool_result("2", "two again"))
    assert called(history.window()) == ["2"]
    history.restore(2)
    assert called(history.window()) == ["1", "2"]


def test_no_budget_keeps_nothing(history: History):
    history.add(human("1"), ai("a"))
    assert history.window(tokens=0) == history.window(rounds=0) == history.window(tokens=100, rounds=0) == []
    for wrong in (-1, True, 1.5, "9"):
        with pytest.raises(InvalidInput, match="tokens"):
            history.window(tokens=wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput, match="rounds"):
            history.window(rounds=wrong)  # pyright: ignore[reportArgumentType]


@given(strategies.conversations(max_rounds=5), st.integers(0, 400), st.none() | st.integers(0, 4))
def test_a_window_is_what_fits(conversation: list[Message], tokens: int, rounds: int | None):
    history = History(MemoryBackend(), "talk")
    stored = history.add(*conversation)
    whole = [one for one in rounds_of(stored) if one.number]
    latest = whole[len(whole) - min(len(whole), rounds) :] if rounds is not None else whole
    assert history.window(tokens=tokens, rounds=rounds, system=False) == fitted(
        latest[::-1], tokens, history.counter.count_message
    )


@given(strategies.messages())
def test_a_message_comes_back_as_it_went_in(sent: Message):
    history = History(MemoryBackend(), "talk")
    [stored] = history.add(sent)
    assert history.get(0) == stored
    assert stored.changed(index=None, round=None, tokens=sent.tokens) == sent


def test_a_bare_log_is_enough(store: Backend):
    history = History(store.log, "talk")
    assert history.backend is None
    call = history.add_tool_call("look")
    history.add(human("q"), tool_result(call.id, "r"), ai("a"))
    history.edit(1, "question")
    history.set_metadata(title="t")
    assert texts(history.window()) == ["question", "a"]
    assert len(history.fork("other")) == 4
    assert history.rounds() == [Round(1, history.last(3))]
    assert isinstance(call, ToolCall)

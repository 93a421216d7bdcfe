from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history import History
from memwell.messages import Message, ToolCall, ai, human, system, tool_result
from memwell.storage import Backend
from memwell.storage.memory import MemoryBackend
from memwell.testing import strategies


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


# Between stores.


def test_a_copy_has_everything(talk: Callable[..., History], elsewhere: Backend):
    source, target = eventful(talk()), talk("copy", store=elsewhere, space="away")
    before = all_of(source)
    assert source.copy_to(target) == len(source) == 10
    assert all_of(target) == all_of(source) == before
    assert target.search("问3")[0][0].text == "问3"
    assert target.restore(5).text == source.restore(5).text
    assert target.round(3) == source.round(3)


def test_a_copy_goes_on_as_its_source_would(talk: Callable[..., History], elsewhere: Backend):
    source, target = eventful(talk()), talk("copy", store=elsewhere)
    source.copy_to(target)
    ours, theirs = source.add_ai("by myself"), target.add_ai("by myself")
    assert (ours.index, ours.round) == (theirs.index, theirs.round) == (12, 6)
    target.edit(0, "other instructions")
    assert source.get(0).text == "s"


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_trimmed_conversation_is_copied_with_its_places(talk: Callable[..., History], elsewhere: Backend, limit: int):
    source, target = eventful(talk()), talk("copy", store=elsewhere)
    source.trim(rounds=limit)
    source.copy_to(target)
    assert all_of(target) == all_of(source)
    assert target.add_human("next").index == source.add_human("next").index == 12
    assert target.last(1)[0].round == source.last(1)[0].round == 6


def test_a_conversation_without_messages_is_copied_too(talk: Callable[..., History], elsewhere: Backend):
    source = talk()
    assert source.copy_to(talk("nothing", store=elsewhere)) == 0
    assert talk("nothing", store=elsewhere).info() is None
    source.set_metadata(title="not begun")
    assert source.copy_to(talk("titled", store=elsewhere)) == 0
    assert talk("titled", store=elsewhere).metadata() == {"title": "not begun"}
    source.add(human("1"))
    source.trim(rounds=0)
    source.copy_to(talk("trimmed", store=elsewhere))
    assert all_of(talk("trimmed", store=elsewhere)) == all_of(source)


def test_a_large_conversation_is_copied_in_pieces(talk: Callable[..., History], elsewhere: Backend):
    source, target = talk(), talk("copy", store=elsewhere)
    source.add(*(human(str(at)) for at in range(1_203)))
    source.remove(*range(490, 510))
    source.edit(1_200, "edited")
    assert source.copy_to(target) == 1_183
    assert list(target) == list(source)
    assert [len(target.versions(at)) for at in (489, 490, 509, 510, 1_200)] == [0, 1, 1, 0, 1]


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
        for take in (source.copy_to, source.move_to):
            with pytest.raises(Conflict, match=f"'{name}' has already begun"):
                take(target)
        assert (all_of(target), all_of(source)) == (before, ours)


def test_a_conversation_is_not_copied_onto_itself(talk: Callable[..., History]):
    history = eventful(talk())
    before = all_of(history)
    for take in (history.copy_to, history.move_to):
        with pytest.raises(Conflict):
            take(talk())
    assert all_of(history) == before


def test_a_moved_conversation_is_only_there(talk: Callable[..., History], elsewhere: Backend):
    source, target = eventful(talk()), talk("copy", store=elsewhere)
    before = all_of(source)
    assert source.move_to(target) == 10
    assert source.info() is None
    assert all_of(target) == before


def test_a_conversation_is_moved_within_its_store(talk: Callable[..., History], store: Backend):
    source = eventful(talk())
    before = all_of(source)
    source.move_to(talk("talk", space="away"))
    assert all_of(talk("talk", space="away")) == before
    assert store.log.threads(source.thread.space).items == []


def test_two_handles_of_one_file_move_without_waiting_for_each_other(tmp_path: Any):
    path = str(tmp_path / "chat.db")
    with History.open(path, "one") as one, History.open(path, "two") as two:
        one.add(human("q"), ai("a"))
        assert one.move_to(two) == 2
        assert (texts(one), texts(two)) == ([], ["q", "a"])


def test_a_copy_that_fails_leaves_no_trace(talk: Callable[..., History], watched: Any, elsewhere: Backend):
    source = talk(store=watched)
    source.add(*(human(str(at)) for at in range(600)))
    for fails_at in (("read", 1), ("read", 2), ("versions", 1), ("versions", 550)):
        for target in (talk("copy", store=elsewhere), talk("copy", store=elsewhere.log)):
            for take in (source.copy_to, source.move_to):
                watched.forget()
                watched.fails_at = fails_at
                with pytest.raises(OSError, match="this log fails"):
                    take(target)
                assert target.info() is None, fails_at
    watched.fails_at = None
    assert len(source) == 600
    assert source.copy_to(talk("copy", store=elsewhere)) == 600


def test_a_target_that_fails_is_left_as_it_was(talk: Callable[..., History], watched: Any, elsewhere: Backend):
    source = talk("source", store=elsewhere)
    source.add(*(human(str(at)) for at in range(600)))
    source.edit(3, "edited")
    for fails_at in (("append", 2), ("edit", 1), ("trim", 1), ("annotate", 1)):
        watched.forget()
        watched.fails_at = fails_at
        with pytest.raises(OSError, match="this log fails"):
            source.move_to(talk(store=watched))
        assert talk().info() is None, fails_at
        assert len(source) == 600, fails_at


@pytest.mark.parametrize(
    "write",
    [
        lambda history: history.add_human("just now"),
        lambda history: history.edit(0, "just now"),
        lambda history: history.remove(1),
        lambda history: history.set_metadata(title="just now"),
        lambda history: history.delete(),
    ],
)
def test_what_is_written_during_a_move_is_not_deleted(
    store: Backend, elsewhere: Backend, write: Callable[[History], object]
):
    class Overtaken(History):
        def copy_to(self, other: History) -> int:
            copied = super().copy_to(other)
            write(History(store, "talk"))
            return copied

    history, target = Overtaken(store, "talk"), History(elsewhere, "copy")
    history.add(human("q"), ai("a"))
    with pytest.raises(Conflict, match="was changed while it was moved"):
        history.move_to(target)
    assert texts(target) == ["q", "a"]
    assert (list(history), history.metadata()) != (list(target), target.metadata())


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


# Forks.


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


def test_a_fork_of_nothing_has_begun_nothing_but_its_name(talk: Callable[..., History]):
    fork = talk().fork("other")
    assert list(fork) == []
    assert fork.metadata() == {"forked_from": {"thread": "talk", "index": None}}


def test_a_fork_keeps_space_and_counter(talk: Callable[..., History]):
    history = talk(space="acme")
    history.add_human("1")
    fork = history.fork("other")
    assert (fork.thread.space, fork.thread.id, fork.counter) == (history.thread.space, "other", history.counter)


def test_a_fork_that_fails_leaves_no_trace(talk: Callable[..., History], watched: Any):
    history = talk(store=watched)
    history.add(human("1"))
    watched.fails_at = ("annotate", 1)
    with pytest.raises(OSError, match="this log fails"):
        history.fork("other")
    assert talk("other").info() is None
    assert isinstance(history.get(0), Message)


@pytest.mark.parametrize("target", [None, "chat.db", 3])
def test_a_copy_goes_to_a_conversation_and_nothing_else(target: object):
    history = History(MemoryBackend(), "trip")
    history.add_human("Hello")
    for copy in (history.copy_to, history.move_to):
        with pytest.raises(InvalidInput, match="copied to a History"):
            copy(target)  # type: ignore[arg-type]
    assert len(history) == 1

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.compat.langchain import ConversationBufferWindowMemory
from memwell.compat.langchain.histories import ThreadChatMessageHistory
from memwell.errors import Conflict
from memwell.history import History
from memwell.messages import Message, ToolCall, ai, human, message, tool_result
from memwell.records import Space
from memwell.storage import Backend
from memwell.storage.memory import MemoryBackend
from memwell.strategies.compaction import Compaction
from memwell.strategies.state import StrategyState


def test_a_state_moves_only_from_where_it_was_read(history: History):
    history.add(*(human(str(number)) for number in range(5)))
    mine, theirs = StrategyState(history, "notes"), StrategyState(history, "notes")
    held = mine.read()
    assert (held.upto, held.round, held.fields) == (0, 0, {})
    theirs.move(theirs.read(), upto=3, round=3, fields={"a": 1})
    with pytest.raises(Conflict):
        mine.move(held, upto=2, round=2, fields={})
    assert (mine.read().upto, mine.read().fields) == (3, {"a": 1})
    assert [one.text for one in mine.unread(mine.read())] == ["3", "4"]
    assert [one.text for one in mine.unread(mine.read(), most=1)] == ["3"]
    assert mine.unread(mine.read(), before=3) == []
    assert (mine.read().next, mine.read().last_round) == (5, 5)


@given(
    st.lists(st.sampled_from(["add", "add", "view", "tool", "edit", "remove", "delete", "move", "back"]), max_size=20)
)
def test_what_is_held_is_what_would_be_read(steps: list[str]):
    history = History(MemoryBackend(), "a thread")
    state = StrategyState(history, "notes")
    for number, step in enumerate(steps):
        held, last = state.read(), history.last(3)
        if step == "add":
            history.add(human(f"q{number}"), ai(f"a{number}", metadata={"n": number} if number % 5 == 0 else {}))
        elif step == "view":
            history.add(message("view", f"v{number}"))
        elif step == "tool":
            history.add_tool_call("look", {"n": number})
        elif step == "edit" and last:
            history.edit(last[0], f"e{number}")
        elif step == "remove" and last:
            history.remove(last[-1])
        elif step == "delete":
            history.delete()
        elif step in ("move", "back"):
            upto = min(held.upto + 2, held.next) if step == "move" else max(held.upto - 3, 0)
            state.move(held, upto=upto, round=0, fields={})
        held = state.read()
        for before, most in ((None, 64), (None, 3), (held.upto + 2, 64), (None, 64)):
            found = state.unread(held, before, most=most)
            assert found == StrategyState(history, "notes").unread(held, before, most=most), step
            for one in found:
                one.metadata["mine"] = True


def test_only_new_messages_are_read(history: History, monkeypatch: pytest.MonkeyPatch):
    history.add(*(human(str(number)) for number in range(5)))
    state = StrategyState(history, "notes")
    state.unread(state.read())
    history.add(human("5"))
    kind, read, seen = type(history.log), type(history.log).read, list[str]()

    def noted(*args: Any, **how: Any) -> list[Message]:
        found = read(*args, **how)
        seen.extend(one.text for one in found)
        return found

    monkeypatch.setattr(kind, "read", noted)
    assert [one.text for one in state.unread(state.read())] == ["0", "1", "2", "3", "4", "5"]
    assert len(state.unread(state.read())) == 6
    assert seen == ["4", "5"], "the last one that is held tells whether the store lost it"


def test_values_move_with_the_state_or_not_at_all(history: History):
    history.add(human("one"))
    state = StrategyState(history, "notes")
    held = state.read()
    state.put("anna", {"age": 30})

    def both() -> None:
        with state.together():
            state.move(held, upto=1, round=1, fields={})
            state.put("anna", {"age": 31}, expect=12345)

    with pytest.raises(Conflict):
        both()
    assert state.read() == held
    entry = state.get("anna")
    assert entry is not None
    assert entry.value == {"age": 30}


def test_states_are_kept_apart(store: Backend):
    names = ["a", "a/1.b", "ab", "名", "x" * 400, "x" * 401]
    spaces = [Space("s"), Space("s", "t")]
    states = [
        StrategyState(History(store, thread, space=space), name)
        for name in names
        for thread in names
        for space in spaces
    ]
    for number, state in enumerate(states):
        state.put("key", {"number": number})
    assert len({state.id for state in states}) == len(states)
    for number, state in enumerate(states):
        assert [entry.value for entry in state.entries()] == [{"number": number}]
    states[0].clear()
    assert states[0].entries() == []
    assert len(states[1].entries()) == 1
    assert states[1].drop("key")
    assert not states[1].drop("key")


def test_a_conversation_begun_anew_has_a_blank_state(history: History):
    history.add(*(human(str(number)) for number in range(5)))
    state = StrategyState(history, "notes")
    state.move(state.read(), upto=5, round=5, fields={"a": 1})
    history.delete()
    assert (state.read().upto, state.read().fields) == (0, {})
    history.add(*(human(str(number)) for number in range(9)))
    assert (state.read().upto, state.read().fields) == (0, {})
    state.move(state.read(), upto=2, round=2, fields={})
    assert state.read().upto == 2


def test_a_state_from_before_the_conversation_counts_for_the_one_that_begins_next(history: History):
    state = StrategyState(history, "notes")
    state.move(state.read(), upto=0, round=0, fields={"a": 1})
    assert state.read().fields == {"a": 1}
    history.add(human("one"))
    held = state.read()
    assert (held.upto, held.next, held.fields) == (0, 1, {"a": 1})
    # Deleted below us, without what lies beside it: whoever read the state knows whose it was.
    history.log.delete(history.thread)
    assert state.read().fields == {}
    history.add(human("two"))
    assert state.read().fields == {}


# A store that lost messages: a standby was promoted, or an older copy restored


def lose_last(history: History, fresh: list[list[Message]], lost: list[Message], look: Callable[[], str]) -> str:
    """What is shown of a conversation after its store lost the last messages, and got others."""
    log, thread = history.log, history.thread
    [before], places = log.threads(thread.space, ids=[thread.id]).items, log.places(thread)
    log.append(thread, lost)
    assert "lost" in look()
    log.delete(thread)
    log.restore(before, places)
    for messages in fresh:
        log.append(thread, messages)
    shown = look()
    assert "lost" not in shown
    assert "lost" not in look()
    return shown


def used_tool(text: str) -> list[Message]:
    return [human("look"), ai(tool_calls=[ToolCall(text, "see", {})]), tool_result(text, f"{text} {'word ' * 200}")]


@pytest.mark.parametrize("fresh", [[], ["new"], ["new", "newer"]], ids=["none", "as many", "more"])
@pytest.mark.parametrize("cache", ["state", "window", "previews"])
def test_messages_that_a_store_lost_are_not_shown(cache: str, fresh: list[str]):
    with memwell.open("memory:", embedder=None, work=False) as engine:
        history = engine.thread("talk")
        state = StrategyState(history, "test")
        window = ConversationBufferWindowMemory(chat_memory=ThreadChatMessageHistory(history), k=9)
        previews = Compaction(history, mode="compact", tool_tokens=10, preview_tokens=20)
        said = used_tool if cache == "previews" else lambda text: [human(text)]
        look = {
            "state": lambda: str([one.text for one in state.unread(state.read())]),
            "window": lambda: window.buffer_as_str,
            "previews": lambda: str([one.parts for one in previews.recall()]),
        }[cache]
        history.log.append(history.thread, said("kept"))
        look()
        shown = lose_last(history, [said(text) for text in fresh], said("lost"), look)
        assert all(text in shown for text in ("kept", *fresh))

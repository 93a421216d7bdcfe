"""Any chat history, read as a conversation of ours, and never more of it than is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import langchain_core.messages as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.chat_history import InMemoryChatMessageHistory as Theirs

from memwell.compat.langchain.conversations import ChatLog, conversation
from memwell.compat.langchain.files import FileChatMessageHistory
from memwell.compat.langchain.histories import ChatMessageHistory, TailedChatMessageHistory
from memwell.compat.langchain.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, from_core
from memwell.compat.langchain.redis import RedisChatMessageHistory
from memwell.compat.langchain.sql import SQLChatMessageHistory
from memwell.errors import InvalidInput, Unsupported
from memwell.messages import Role
from memwell.records import Space, Thread
from tests.servers import redis_server


class Listed:
    """The least a chat history can be."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages


KINDS = {"h": HumanMessage, "a": AIMessage, "s": SystemMessage}


@given(st.text("has", max_size=12), st.integers(0, 5), st.integers(0, 40))
def test_a_view_is_like_a_conversation_of_ours(kinds: str, rounds: int, tokens: int) -> None:
    said = [KINDS[kind](f"{kind}{place}") for place, kind in enumerate(kinds)]
    ours, view = ChatMessageHistory(said).history, conversation(Listed(said))
    assert conversation(ChatMessageHistory(said)) is not view
    assert [one.text for one in view] == [one.text for one in ours]
    assert len(view) == len(ours)
    assert view.tokens == ours.tokens
    assert [[one.text for one in found.messages] for found in view.rounds()] == [
        [one.text for one in found.messages] for found in ours.rounds()
    ]
    assert [one.text for one in view.last(3)] == [one.text for one in ours.last(3)]
    assert [one.text for one in reversed(view)] == [one.text for one in reversed(ours)]
    for limits in ({"rounds": rounds}, {"tokens": tokens, "system": False}):
        expected = [one.text for one in ours.window(**limits)]  # pyright: ignore[reportArgumentType]
        assert [one.text for one in view.window(**limits)] == expected  # pyright: ignore[reportArgumentType]


def test_the_history_of_a_history_is_taken_itself() -> None:
    memory = ChatMessageHistory()
    assert conversation(memory) is memory.history


def test_theirs_is_read_too() -> None:
    with warnings.catch_warnings():
        # Its newer versions say that it is no longer maintained.
        warnings.simplefilter("ignore")
        memory = Theirs(messages=[theirs.HumanMessage("你好", id="7"), theirs.AIMessage("b")])
    view = conversation(memory)
    assert [(one.role, one.text, one.index) for one in view] == [(Role.HUMAN, "你好", 0), (Role.AI, "b", 1)]
    assert [from_core(one) for one in view] == memory.messages
    first = view.get(0)
    assert view.get(first.id).text == "你好"
    assert view.get(first.id).id == first.id


def test_any_object_that_speaks_is_read() -> None:
    class Said:
        type = "human"
        content = "你好"

    assert [one.text for one in conversation(Listed([Said(), Said()])).window(rounds=1)] == ["你好"]


def test_it_only_reads() -> None:
    log, thread = ChatLog(Listed([HumanMessage("x")])), Thread(Space("s"), "chat")
    assert log.versions(thread, 0) == []
    for attempt in (
        lambda: log.append(thread, []),
        lambda: log.edit(thread, {}),
        lambda: log.trim(thread, 0),
        lambda: log.delete(thread),
        lambda: log.annotate(thread),
        lambda: log.match(thread, "x"),
    ):
        with pytest.raises(Unsupported):
            attempt()


def test_what_is_no_history() -> None:
    with pytest.raises(InvalidInput, match="messages"):
        conversation(object())


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(params=["file", "redis", "sql"])
def tailed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TailedChatMessageHistory]:
    if request.param == "file":
        yield FileChatMessageHistory(tmp_path / "chat.json")
    elif request.param == "redis":
        history = RedisChatMessageHistory("flat", request.getfixturevalue("redis_url"))
        yield history
        history.clear()
        history.redis_client.close()
    else:
        history = SQLChatMessageHistory("flat", f"sqlite:///{tmp_path / 'chat.db'}")
        yield history
        history.engine.dispose()


def messages_read(history: TailedChatMessageHistory, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many messages are made to answer what a memory asks in one turn."""
    made = 0
    real = BaseMessage.__init__

    def counted(self: BaseMessage, *args: Any, **fields: Any) -> None:
        nonlocal made
        made += 1
        real(self, *args, **fields)

    with monkeypatch.context() as patched:
        patched.setattr(BaseMessage, "__init__", counted)
        view = conversation(history)
        assert view.window(rounds=3, system=False)[-1].text == "last"
        assert view.window(tokens=50, system=False)[-1].text == "last"
        assert len(view.log.read(view.thread, after=len(view) - 3)) == 2
    return made


def test_a_turn_reads_the_same_however_long_the_history_is(
    tailed: TailedChatMessageHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = [HumanMessage("question"), AIMessage("answer")]
    tailed.add_messages([*turn * 50, HumanMessage("first"), AIMessage("last")])
    short = messages_read(tailed, monkeypatch)
    tailed.add_messages([*turn * 500, HumanMessage("first"), AIMessage("last")])
    assert 0 < messages_read(tailed, monkeypatch) == short < 200
    assert len(tailed) == 1104
    assert [one.content for one in tailed.between(100, 102)] == ["first", "last"]
    assert [one.content for one in tailed.since(1102)] == ["first", "last"]
    assert tailed.tail(0) == tailed.between(5, 5) == tailed.between(2000, 2001) == []

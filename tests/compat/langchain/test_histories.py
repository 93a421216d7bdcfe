"""Chat histories over conversations of ours, and the class that programs derive their own from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import langchain_core.messages as theirs
import pytest

from memwell.compat.langchain.histories import (
    BaseChatMessageHistory,
    ChatMessageHistory,
    InMemoryChatMessageHistory,
    MemwellChatMessageHistory,
    ThreadChatMessageHistory,
)
from memwell.compat.langchain.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.storage import open_backend
from memwell.storage.sharing import close_shared, shared_backend

SAID = [
    SystemMessage("be brief"),
    HumanMessage("你好", id="1", additional_kwargs={"a": 1}),
    AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}], response_metadata={"m": 1}),
    ToolMessage("done", tool_call_id="c", artifact={"k": [1]}),
]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_shared()


@pytest.fixture(params=["memory", "thread", "file"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ThreadChatMessageHistory]:
    if request.param == "memory":
        yield InMemoryChatMessageHistory()
    elif request.param == "file":
        yield MemwellChatMessageHistory("s", str(tmp_path / "chat.db"))
    else:
        with open_backend(tmp_path / "other.db") as backend:
            yield ThreadChatMessageHistory(History(backend, "s"))


def test_what_was_added_comes_back(history: ThreadChatMessageHistory) -> None:
    history.add_messages(SAID)
    history.add_user_message("more")
    history.add_ai_message("indeed")
    history.add_message(theirs.HumanMessage("theirs", id="9"))
    history.add_user_message(theirs.HumanMessage("theirs too"))
    history.add_messages([])
    expected = [*SAID, HumanMessage("more"), AIMessage("indeed"), HumanMessage("theirs", id="9")]
    assert history.messages == [*expected, HumanMessage("theirs too")]
    assert str(history).splitlines()[0] == "System: be brief"
    assert [message.text for message in history.history][:2] == ["be brief", "你好"]
    history.clear()
    assert (history.messages, str(history), bool(history)) == ([], "", True)


def test_the_same_message_twice(history: ThreadChatMessageHistory) -> None:
    history.add_messages(SAID)
    history.add_messages(SAID)
    history.add_messages([SAID[1], SAID[1]])
    assert history.messages == [*SAID, *SAID, SAID[1], SAID[1]]


def test_assigning_replaces(history: ThreadChatMessageHistory) -> None:
    history.add_messages(SAID)
    history.messages = history.messages[2:]
    assert history.messages == SAID[2:]
    history.messages.clear()
    assert history.messages == SAID[2:]
    history.messages = [SAID[1], SAID[1], *SAID]
    assert history.messages == [SAID[1], SAID[1], *SAID]
    history.messages = SAID[2:]
    with pytest.raises(InvalidInput):
        history.messages = ["x"]
    assert history.messages == SAID[2:]


def test_all_or_none(history: ThreadChatMessageHistory) -> None:
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, HumanMessage("x", extra=object())])
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, "text"])
    assert history.messages == []


def test_async_is_the_same(history: ThreadChatMessageHistory) -> None:
    async def talk() -> list[BaseMessage]:
        await history.aadd_messages(SAID)
        found = await history.aget_messages()
        await history.aclear()
        return found

    assert asyncio.run(talk()) == SAID
    assert history.messages == []


def test_a_session_is_there_again(tmp_path: Path) -> None:
    url = str(tmp_path / "chat.db")
    MemwellChatMessageHistory("one", url).add_messages(SAID)
    MemwellChatMessageHistory("one", url, space="other").add_user_message("apart")
    assert MemwellChatMessageHistory("two", url).messages == []
    assert shared_backend(url) is shared_backend(f"sqlite:{url}") is shared_backend(tmp_path / "chat.db")
    close_shared()
    again = MemwellChatMessageHistory("one", url)
    assert (again.messages, again.session_id) == (SAID, "one")


def test_objects_in_memory_share_nothing() -> None:
    one, two = ChatMessageHistory(), ChatMessageHistory(messages=SAID)
    one.add_user_message("x")
    assert (len(one.messages), two.messages) == (1, SAID)


def test_a_class_of_ones_own() -> None:
    class Single(BaseChatMessageHistory):
        def __init__(self) -> None:
            self.messages = []

        def add_message(self, message: Any) -> None:
            self.messages.append(message)

        def clear(self) -> None:
            self.messages = []

    class Bulk(Single):
        def add_messages(self, messages: Sequence[Any]) -> None:
            self.messages = [*self.messages, *messages]

        def add_message(self, message: Any) -> None:
            BaseChatMessageHistory.add_message(self, message)

    for made in (Single(), Bulk()):
        made.add_messages([HumanMessage("a")])
        made.add_ai_message("b")
        asyncio.run(made.aadd_messages([HumanMessage("c")]))
        assert asyncio.run(made.aget_messages()) == [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
        asyncio.run(made.aclear())
        assert made.messages == []


def test_a_class_that_cannot_add() -> None:
    class Neither(BaseChatMessageHistory):
        def clear(self) -> None: ...

    for attempt in (lambda: Neither().add_message(HumanMessage("x")), lambda: Neither().add_messages([SAID[0]])):
        with pytest.raises(NotImplementedError, match="add_message is not implemented for this class"):
            attempt()

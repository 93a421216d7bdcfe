"""The messages of a chat, in a conversation or in any storage."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from memwell.compat.basememory import BaseChatMessageMemory, CannotOptimize, ListStorage, RecallMessage
from memwell.compat.basememory.conversation import PlainChat, StoredMessages
from memwell.compat.basememory.handlers import Handlers
from memwell.errors import Unsupported
from memwell.history import History
from memwell.messages import Role
from memwell.storage.memory import MemoryBackend


def _counted(chat: Any, user: str, after: int = 0) -> int:
    return chat.ask(after, lambda tally: tally.count(user, after))


def test_a_conversation_is_a_storage() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), Handlers())
        assert len(messages) == 0
        assert messages
        for at in range(5):
            messages.append(f"message {at}")
        assert [messages[0], messages[-1], messages[1:3]] == ["message 0", "message 4", ["message 1", "message 2"]]
        assert list(messages) == [f"message {at}" for at in range(5)]
        for index in (5, -6):
            with pytest.raises(IndexError, match="the chat holds 5"):
                messages[index]


def test_positions_have_no_gaps_when_places_do() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), Handlers())
        for at in range(8):
            messages.append(str(at))
        messages.drop({0, 3, 4})
        assert [messages[at] for at in range(5)] == ["1", "2", "5", "6", "7"]
        assert [messages[at] for at in range(-5, 0)] == ["1", "2", "5", "6", "7"]
        assert [messages.place(at) for at in range(5)] == [1, 2, 5, 6, 7]
        assert [messages.position(place) for place in (0, 1, 3, 5, 8, 99)] == [0, 0, 2, 2, 5, 5]
        assert messages.add("8", None) == 5


def test_what_was_dropped_is_gone_for_good() -> None:
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        messages = StoredMessages(history, Handlers())
        for at in range(4):
            messages.append(str(at))
        before = messages.stored_bytes()
        messages.drop({1})
        assert history.versions(1) == []
        assert messages.stored_bytes() < before


def test_the_tally_sees_what_other_rooms_write_change_and_take_out() -> None:
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        messages = StoredMessages(history, Handlers())
        assert _counted(messages, "Anna") == 0
        history.add_human("hi", name="Anna")
        history.add_ai("hello", name="bot")
        assert [_counted(messages, "Anna"), _counted(messages, "bot"), _counted(messages, "Ben")] == [1, 1, 2]
        history.remove(1)
        assert _counted(messages, "Ben") == 1
        history.restore(1)
        history.add_human("more", name="Anna")
        assert [_counted(messages, "Ben"), _counted(messages, "Ben", 2), _counted(messages, "Ben")] == [3, 1, 3]
        history.delete()
        history.add_human("anew", name="Anna")
        assert _counted(messages, "Ben") == 1


def test_who_is_further_behind_is_counted_after_who_is_ahead() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), Handlers())
        for at in range(5):
            messages.append(str(at))
        assert [_counted(messages, "Anna", after) for after in (3, 0, 4, 1)] == [2, 5, 1, 4]


def test_two_who_count_at_once_count_nothing_twice() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), Handlers())
        for text in "abc":
            messages.append(text)
        log, interrupted = messages.history.log, list[int]()

        class Interrupted:
            @staticmethod
            def read(*arguments: Any, **options: Any) -> Any:
                found = log.read(*arguments, **options)
                if not interrupted:
                    # Another thread asks after this one has read, and before it has noted what it read.
                    interrupted.append(0)
                    interrupted.append(_counted(messages, "Anna"))
                return found

            threads = staticmethod(log.threads)

        messages.history.log = Interrupted()  # type: ignore[assignment]
        assert [_counted(messages, "Anna"), _counted(messages, "Anna", 1), interrupted] == [3, 2, [0, 3]]


def test_what_was_taken_back_stays_in_its_place_for_people_alone() -> None:
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        messages = StoredMessages(history, Handlers())
        messages.add("a secret", "Anna")
        messages.add("fine", "Anna")
        messages.recall(0, RecallMessage())
        assert isinstance(messages[0], RecallMessage)
        assert messages[0].sender == "Anna"
        assert history.get(0).role is Role.VIEW
        assert [message.text for message in history.window()] == ["fine"]
        assert _counted(messages, "Ben") == 1


def test_a_conversation_is_neither_shared_nor_packed() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), Handlers())
        for ask in (lambda: messages.share({}), lambda: messages.pack(6)):
            with pytest.raises(CannotOptimize, match="conversation"):
                ask()


def test_a_plain_storage_may_be_changed_without_us() -> None:
    storage: list[Any] = ["before"]
    chat = PlainChat(storage, Handlers(), threading.RLock())
    chat.add("hi", "Anna")
    storage.append({"sender": "Ben", "content": "yo"})
    assert [_counted(chat, "Anna"), _counted(chat, "Ben"), _counted(chat, "Clara")] == [2, 2, 3]
    assert chat.owners() == [None, "Anna", "Ben"]
    del storage[1:]
    assert _counted(chat, "Clara") == 1
    assert chat.sender(0) is None


def test_dropped_messages_take_their_senders_along() -> None:
    storage = ListStorage()
    chat = PlainChat(storage, Handlers(), threading.RLock())
    for sender in ("Anna", "Ben", "Anna", "Ben"):
        chat.add("x", sender)
    chat.recall(3, RecallMessage())
    storage.drop({0, 1})
    chat.dropped([0, 1])
    assert chat.owners() == ["Anna", "Ben"]
    assert chat.ask(0, lambda tally: tally.unread("Ben", 0)) == [0]


def test_a_storage_that_takes_nothing_back_says_so() -> None:
    class Stream:
        def __init__(self) -> None:
            self.rows: list[Any] = []

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, index: int) -> Any:
            return self.rows[index]

        def append(self, item: Any) -> None:
            self.rows.append(item)

    memory = BaseChatMessageMemory(messages=Stream())
    memory.add_message("hi")
    with pytest.raises(Unsupported, match="Stream cannot take a message back"):
        memory.recall(0)
    assert memory.unread("Anna") == 1

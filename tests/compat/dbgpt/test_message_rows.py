"""Messages of a storage as a conversation of the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.dbgpt.media import MediaContent, MediaObject
from memwell.compat.dbgpt.message_items import ConversationIdentifier, MessageIdentifier, MessageStorageItem
from memwell.compat.dbgpt.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ViewMessage
from memwell.compat.dbgpt.storage import QuerySpec, StorageError, StorageItem
from memwell.compat.dbgpt.stores import BackendStorage, InMemoryStorage
from memwell.storage import open_backend

Storage = BackendStorage[MessageStorageItem]
KINDS = (HumanMessage, AIMessage, ViewMessage, SystemMessage)


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "memory":
        yield InMemoryStorage()
        return
    with open_backend(tmp_path / "chat.db") as backend:
        yield BackendStorage(backend)


def item(index: int, content: Any = None, uid: str = "c") -> MessageStorageItem:
    said: BaseMessage = KINDS[index % 4](f"m{index}" if content is None else content, index, index // 2, {"k": [index]})
    return MessageStorageItem(uid, index, said.to_dict())


def of(uid: str) -> QuerySpec:
    return QuerySpec({"conv_uid": uid})


def words(storage: Storage, uid: str = "c") -> list[Any]:
    return [one.to_message().content for one in storage.query(of(uid), MessageStorageItem)]


def test_messages_are_a_conversation(storage: Storage) -> None:
    items = [item(at) for at in range(12)]
    storage.save_list(items)
    assert [one.to_dict() for one in storage.query(of("c"), MessageStorageItem)] == [one.to_dict() for one in items]
    assert [one.text for one in storage.history("c")] == [f"m{at}" for at in range(12)]
    assert storage.history("c").tokens > 12
    loaded = storage.load(MessageIdentifier("c", 10), MessageStorageItem)
    assert loaded is not None
    assert loaded.to_dict() == items[10].to_dict()
    assert storage.load(MessageIdentifier("c", 12), MessageStorageItem) is None
    assert storage.load(MessageIdentifier("d", 0), MessageStorageItem) is None


def test_an_index_that_is_taken_is_refused(storage: Storage) -> None:
    storage.save_list([item(0), item(1)])
    for wrong in ([item(1)], [item(2), item(1)], [item(2), item(2)], [item(0, uid="d"), item(0)]):
        with pytest.raises(StorageError, match=r"message___c___\d already exists"):
            storage.save_list(wrong)
    assert words(storage) == ["m0", "m1"]
    assert storage.count(QuerySpec({}), MessageStorageItem) == 2, "of a list that was refused nothing is stored"


def test_messages_may_come_in_any_order_and_leave_gaps(storage: Storage) -> None:
    storage.save_list([item(5), item(2), item(3, uid="d")])
    storage.save(item(9))
    assert [one.index for one in storage.query(of("c"), MessageStorageItem)] == [2, 5, 9]
    with pytest.raises(StorageError, match="past such an index"):
        storage.save(item(4))
    with pytest.raises(StorageError, match="past such an index"):
        storage.update(item(4))
    assert [one.index for one in storage.query(QuerySpec({}), MessageStorageItem)] == [2, 5, 9, 3]


def test_an_update_takes_the_place(storage: Storage) -> None:
    storage.save_list([item(0), item(1)])
    before = storage.history("c").get(1)
    storage.save_or_update_list([item(1, "changed"), item(2)])
    storage.update(item(2, [MediaContent(MediaObject("u", "url"), "image")]))
    assert words(storage) == ["m0", "changed", [MediaContent(MediaObject("u", "url"), "image")]]
    after = storage.history("c").get(1)
    assert (after.id, after.time, after.index) == (before.id, before.time, 1)


def test_what_is_deleted_is_gone_and_may_come_again(storage: Storage) -> None:
    storage.save_list([item(at) for at in range(4)])
    storage.delete(MessageIdentifier("c", 3))
    storage.delete_list([MessageIdentifier("c", 1), MessageIdentifier("c", 77), MessageIdentifier("d", 0)])
    assert words(storage) == ["m0", "m2"]
    assert storage.count(of("c"), MessageStorageItem) == 2
    storage.save(item(1, "again"))
    storage.save_list([item(3, "last"), item(4)])
    assert words(storage) == ["m0", "again", "m2", "last", "m4"]
    storage.delete_list([MessageIdentifier("c", at) for at in range(5)])
    assert storage.history("c").info() is None, "the last to go takes the conversation along"
    storage.save(item(0))
    assert words(storage) == ["m0"]


def test_questions_are_answered_in_order(storage: Storage) -> None:
    storage.save_list([item(at, uid=uid) for uid in ("b", "a", "c") for at in range(5)])
    storage.delete(MessageIdentifier("a", 2))
    everything = [(uid, at) for uid in "abc" for at in range(5) if (uid, at) != ("a", 2)]
    cases: list[tuple[dict[str, Any], list[tuple[str, int]]]] = [
        ({}, everything),
        ({"conv_uid": "a"}, [("a", at) for at in (0, 1, 3, 4)]),
        ({"conv_uid": "b", "index": 3}, [("b", 3)]),
        ({"index": 2}, [("b", 2), ("c", 2)]),
        ({"index": "2"}, []),
        ({"conv_uid": "nobody"}, []),
        ({"conv_uid": ""}, []),
        ({"conv_uid": None}, []),
        ({"message_detail": item(1).message_detail}, [("a", 1), ("b", 1), ("c", 1)]),
        ({"message_detail": 7, "conv_uid": "a"}, []),
    ]
    for conditions, expected in cases:
        for limit in (None, 0, 1, 3, 100):
            for offset in (0, 1, 2, 3, 4, 6, 50):
                found = storage.query(QuerySpec(conditions, limit, offset), MessageStorageItem)
                end = None if limit is None else offset + limit
                assert [(one.conv_uid, one.index) for one in found] == expected[offset:end], (conditions, limit, offset)
        assert storage.count(QuerySpec(conditions, 1, 1), MessageStorageItem) == len(expected)


def test_a_long_conversation_is_read_in_blocks(storage: Storage) -> None:
    storage.save_list([item(at) for at in range(1_203)])
    assert len(words(storage)) == 1_203
    page = storage.paginate_query(121, 10, MessageStorageItem, of("c"))
    assert [one.index for one in page.items] == [1_200, 1_201, 1_202]
    assert storage.count(QuerySpec({"index": 1_100}), MessageStorageItem) == 1


def test_any_uid_that_can_name_a_conversation_does(storage: Storage) -> None:
    for uid in ("a___b", "conversation:x", "a/../b", "你好", "x" * 1024, "'; --", " ", "a\nb", "%"):
        storage.save_list([item(0, uid=uid), item(1, uid=uid)])
        assert words(storage, uid) == ["m0", "m1"]
        loaded = storage.load(MessageIdentifier.from_str_identifier(f"message___{uid}___1"), MessageStorageItem)
        assert loaded is not None
        assert loaded.conv_uid == uid


def test_what_cannot_be_stored_is_refused(storage: Storage) -> None:
    storage.save(item(0))
    good = HumanMessage("x").to_dict()
    broken: list[Any] = [
        MessageStorageItem("", 1, good),
        MessageStorageItem("a\0", 1, good),
        MessageStorageItem("x" * 1025, 1, good),
        MessageStorageItem(None, 1, good),  # type: ignore[arg-type]
        MessageStorageItem("c", -1, good),
        MessageStorageItem("c", "1", good),  # type: ignore[arg-type]
        MessageStorageItem("c", 2**33, good),
        MessageStorageItem("c", 1, {}),
        MessageStorageItem("c", 1, {"type": "robot", "data": {"content": "x"}}),
        MessageStorageItem("c", 1, HumanMessage("\0").to_dict()),
        MessageStorageItem("c", 1, HumanMessage("x", additional_kwargs={"a": object()}).to_dict()),
        MessageStorageItem("c", 1, None),  # type: ignore[arg-type]
    ]
    for one in broken:
        for write in (storage.save, storage.update):
            with pytest.raises(StorageError):
                write(one)
        with pytest.raises(StorageError):
            storage.save_list([item(1), one, item(2)])
    assert words(storage) == ["m0"]
    with pytest.raises(StorageError, match="MessageStorageItem has no attribute 'mood'"):
        storage.query(QuerySpec({"mood": 1}), MessageStorageItem)
    with pytest.raises(StorageError):
        storage.load(MessageIdentifier("c", -1), MessageStorageItem)


class Note(StorageItem):
    def __init__(self, conv_uid: str) -> None:
        self.conv_uid = conv_uid

    @property
    def identifier(self) -> ConversationIdentifier:
        return ConversationIdentifier(self.conv_uid)

    def merge(self, other: StorageItem) -> None:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {"conv_uid": self.conv_uid}


def test_messages_and_other_items_may_share_a_storage(storage: BackendStorage[Any]) -> None:
    storage.save_list([Note("c"), item(0), Note("d")])
    with pytest.raises(StorageError, match="already exists"):
        storage.save_list([item(1), Note("c")])
    assert storage.count(QuerySpec({}), Note) == 2
    assert storage.count(QuerySpec({}), MessageStorageItem) == 1
    storage.delete_list([ConversationIdentifier("c"), MessageIdentifier("c", 0)])
    assert [one.conv_uid for one in storage.query(QuerySpec({}), Note)] == ["d"]
    assert storage.count(QuerySpec({}), MessageStorageItem) == 0

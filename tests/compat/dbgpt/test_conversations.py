"""Conversations: rounds in memory, messages as items, and conversations that several write and any room reads."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.compat.dbgpt.conversations import (
    ConversationIdentifier,
    MessageIdentifier,
    MessageStorageItem,
    OnceConversation,
    StorageConversation,
)
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MediaContent,
    MediaObject,
    SystemMessage,
    ViewMessage,
)
from memwell.compat.dbgpt.storage import (
    BackendStorage,
    InMemoryStorage,
    QuerySpec,
    ResourceIdentifier,
    StorageError,
    StorageInterface,
    StorageItem,
    StorageItemAdapter,
)
from memwell.compat.langchain import MemwellChatMessageHistory
from memwell.compat.langchain.messages import AIMessage as LangChainAI
from memwell.compat.langchain.messages import HumanMessage as LangChainHuman
from memwell.errors import ConfigurationError, InvalidInput
from memwell.storage import open_backend
from memwell.storage.protocols import Backend
from memwell.storage.registry import close_shared
from tests.compat.conftest import RunWithOriginals
from tests.compat.dbgpt.dict_storage import DictStorage, Reversed, TheirStorage


def talk(rounds: int = 3) -> OnceConversation:
    made = OnceConversation("chat_normal", user_name="ana", model_name="m", param_type="t", param_value="v")
    made.add_system_message("be brief")
    for number in range(1, rounds + 1):
        made.start_new_round()
        made.add_user_message(f"q{number}")
        made.add_ai_message(f"a{number}")
        made.add_view_message(f"v{number}")
        made.end_current_round()
    return made


def contents(messages: list[Any]) -> list[Any]:
    return [one.content for one in messages]


def test_a_view_message_is_in_no_history_and_reaches_no_model() -> None:
    made = talk(1)
    assert [one.type for one in made.get_history_message()] == ["human", "ai"]
    latest = made.get_latest_user_message()
    assert latest is not None
    assert (latest.content, contents(made.get_system_messages())) == ("q1", ["be brief"])
    with pytest.raises(ValueError, match="Already Have Human message"):
        made.add_user_message("q", check_duplicate_type=True)
    assert [one.type for one in made.get_history_message(include_system_message=True)] == ["system", "human", "ai"]
    assert [(one.role, one.round_index) for one in made.get_model_messages()] == [
        ("system", 0),
        ("human", 1),
        ("ai", 1),
    ]


@given(st.lists(st.sampled_from(["user", "ai", "view", "system", "round"]), max_size=20), st.integers(0, 6))
def test_the_last_rounds_hold_what_was_said_in_them(steps: list[str], count: int) -> None:
    made = OnceConversation("chat_normal")
    for at, step in enumerate(steps):
        if step == "round":
            made.start_new_round()
        else:
            getattr(made, f"add_{step}_message")(str(at))
    latest = steps.count("round")
    expected = [one for one in made.messages if one.round_index > latest - count]
    assert made.get_messages_with_round(count) == expected
    assert made.get_messages_by_round(0) == made.messages[: [*steps, "round"].index("round")]
    assert made.get_latest_round() == made.get_messages_with_round(1)
    assert all(one.pass_to_model for one in made.get_history_message(include_system_message=True))


def test_an_answer_that_grows_changes_only_the_round_under_way() -> None:
    made = OnceConversation("chat_normal")
    for number in (1, 2):
        made.start_new_round()
        made.add_user_message(f"q{number}")
        for part in ("a", "ab", "abc"):
            made.add_ai_message(f"{part}{number}", update_if_exist=True)
    assert contents(made.messages) == ["q1", "abc1", "q2", "abc2"]
    assert [one.index for one in made.messages] == [0, 1, 2, 3]
    with pytest.raises(InvalidInput):
        made.add_ai_message(7, update_if_exist=True)  # type: ignore[arg-type]
    assert contents(made.messages) == ["q1", "abc1", "q2", "abc2"]


def test_a_copy_shares_no_message() -> None:
    first, second = talk(), OnceConversation("chat_other", model_name="mine")
    second.from_conversation(first)
    assert second.messages == first.messages
    assert (second.chat_mode, second.user_name, second.model_name) == ("chat_normal", "ana", "mine")
    second.messages[1].content = "changed"
    second.messages[1].additional_kwargs["x"] = 1
    second.add_user_message("more")
    assert first.messages[1].content == "q1"
    assert "x" not in first.messages[1].additional_kwargs
    assert len(first.messages) == 10
    assert second.messages[-1].index == 10


def test_messages_may_be_given() -> None:
    given: list[BaseMessage] = [SystemMessage("s"), HumanMessage("q", index=1), ViewMessage("v", index=2)]
    stored: list[Any] = [given[0].to_dict(), *given[1:]]
    made = OnceConversation("chat_normal", messages=stored)
    assert made.messages == given
    made.add_ai_message("a")
    assert isinstance(made.messages[-1], AIMessage)
    assert made.messages[-1].index == 3
    with pytest.raises(InvalidInput):
        OnceConversation("chat_normal", messages=["text"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput):
        made.get_messages_with_round(-1)
    made.set_start_time(datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert made.start_date == "2024-01-02 03:04:05"


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", "你\0好", "é\udfff"])
@pytest.mark.parametrize("add", ["add_user_message", "add_ai_message", "add_view_message", "add_system_message"])
def test_what_no_store_can_hold_is_replaced_at_once(add: str, bad: str):
    talk = OnceConversation("chat_normal")
    good = re.sub("[\0\ud800-\udfff]", "\ufffd", bad)
    for content in (bad, [bad], [MediaContent.build_text(bad)], [MediaContent(MediaObject("data", bad), "image")]):
        getattr(talk, add)(content)
    said = [one.content for one in talk.messages]
    assert said == [good, *[[MediaContent.build_text(good)]] * 2, [MediaContent(MediaObject("data", good), "image")]]
    getattr(talk, add)([MediaContent(MediaObject(b"\0\xff", "binary"), "image")])
    assert talk.messages[-1].content == [MediaContent(MediaObject(b"\0\xff", "binary"), "image")]


Storages = tuple[StorageInterface[Any, Any], StorageInterface[Any, Any]]
Make = Callable[..., StorageConversation]


class Untouched(StorageItemAdapter[Any, dict[str, Any]]):
    def to_storage_format(self, item: Any) -> dict[str, Any]:
        return item.to_dict()

    def from_storage_format(self, data: dict[str, Any]) -> Any:
        return MessageStorageItem(**data)

    def get_query_for_identifier(self, storage_format: Any, resource_id: ResourceIdentifier, **kwargs: Any) -> Any:
        return None


def _storages(kind: str, backend: Backend) -> Storages:
    shared, theirs = BackendStorage[Any](backend, "conversations"), cast(Any, TheirStorage())
    kinds: dict[str, Callable[[], Storages]] = {
        "memory": lambda: (InMemoryStorage(Reversed()), InMemoryStorage()),
        "serializer": lambda: (shared, BackendStorage(backend, "messages", serializer=Reversed())),
        "theirs": lambda: (theirs, theirs),
        "file": lambda: (shared, BackendStorage(backend, "messages")),
        "foreign": lambda: (DictStorage(), DictStorage()),
        "adapter": lambda: (shared, InMemoryStorage(adapter=Untouched())), "mixed": lambda: (DictStorage(), shared),
        "inside": lambda: (shared, shared),
    }  # fmt: skip
    return kinds[kind]()


SAFE = ["memory", "file", "adapter", "serializer", "mixed", "inside"]


@pytest.fixture(params=[*SAFE, "foreign", "theirs"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a conversation, over and over, in the same storages."""
    independent = request.param != "inside"
    with open_backend(tmp_path / "chat.db" if request.param == "file" else "memory:") as backend:
        conv_storage, message_storage = _storages(request.param, backend)

        def conversation(uid: str = "c", **more: Any) -> StorageConversation:
            options: dict[str, Any] = {"save_message_independent": independent, **more}
            return StorageConversation(uid, conv_storage=conv_storage, message_storage=message_storage, **options)

        yield conversation


def words(conversation: StorageConversation) -> list[Any]:
    return contents(conversation.messages)


def spoken(make: Make, *contents: str, **more: Any) -> StorageConversation:
    made = make(**more)
    made.start_new_round()
    for at, content in enumerate(contents):
        (made.add_ai_message if at % 2 else made.add_user_message)(content)
    made.end_current_round()
    return made


def test_rounds_are_saved_and_loaded(make: Make) -> None:
    first = make(user_name="ana", model_name="m", param_type="t", param_value="v")
    first.add_system_message("be brief")
    for number in (1, 2):
        first.start_new_round()
        first.add_user_message(f"q{number}")
        first.add_ai_message(f"a{number}")
        first.add_view_message(f"v{number}")
        first.end_current_round()
    second = make(chat_mode="other", user_name="bob")
    assert second.messages == first.messages
    assert (second.chat_order, second.chat_mode, second.user_name) == (2, "chat_normal", "ana")
    assert (second.model_name, second.param_type, second.param_value) == ("m", "t", "v")
    assert second.message_ids == [f"message___c___{at}" for at in range(7)] == first.message_ids
    assert [one.round_index for one in second.messages] == [0, 1, 1, 1, 2, 2, 2]
    assert second.messages[-1].additional_kwargs == {"param_type": "t", "param_value": "v", "model_name": "m"}
    second.start_new_round()
    second.add_user_message("q3")
    second.end_current_round()
    assert (second.messages[-1].index, second.messages[-1].round_index) == (7, 3)
    assert words(make())[-1] == "q3"
    assert [one.role for one in make().get_model_messages()] == ["system", *("human", "ai") * 2, "human"]


def test_a_round_costs_the_same_however_long_the_conversation_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made, other = StorageConversation("c"), StorageConversation("c")
    sizes: list[tuple[int, int]] = []
    for length in (10, 1_000):
        for number in range(length):
            made.add_user_message(str(number))
        made.end_current_round()
        log, appended, read = made.history.log, list[int](), list[object]()
        append = log.append
        with monkeypatch.context() as patched:
            patched.setattr(log, "read", lambda *_, read=read, **more: read.append(more) or [])
            patched.setattr(
                log,
                "append",
                lambda thread, some, append=append, appended=appended, **more: (
                    appended.append(len(some)) or append(thread, some, **more)
                ),
            )
            made.start_new_round()
            made.add_user_message("q")
            made.add_ai_message("a")
            made.end_current_round()
        assert (appended, read) == ([2], [])
        row = {**made.to_dict(), "message_index": 0}
        sizes.append((len(row), len(str(row))))
    assert sizes[0] == sizes[1], "the row grows with the conversation"
    assert other.messages == [], "each has storages of its own"


def test_an_answer_that_grows_after_it_was_saved_is_saved(make: Make) -> None:
    made = spoken(make, "q", "a")
    made.add_ai_message("a longer answer", update_if_exist=True)
    made.end_current_round()
    assert words(make()) == ["q", "a longer answer"]
    made.messages.append(HumanMessage("by hand"))
    made.end_current_round()
    made.add_ai_message("indeed")
    made.end_current_round()
    assert [(one.index, one.content) for one in make().messages][2:] == [(2, "by hand"), (3, "indeed")]


def test_a_place_whose_message_was_taken_out_is_not_used_again() -> None:
    made = spoken(lambda **more: StorageConversation("c", **more), "q", "a")
    made.history.remove(1)
    made.load_from_storage(made.conv_storage, made.message_storage)
    made.add_ai_message("another")
    made.end_current_round()
    assert [(one.index, one.content) for one in made.messages] == [(0, "q"), (2, "another")]
    assert made.message_ids == ["message___c___0", "message___c___2"]
    made.history.remove(0, 2)
    made.delete()
    assert made.history.info() is None, "what was removed before goes too"


def test_a_conversation_is_given_its_storages_later() -> None:
    rows, messages = InMemoryStorage[Any](), InMemoryStorage[Any]()
    talk = StorageConversation("talk")
    talk.conv_storage, talk.message_storage = rows, messages
    talk.add_user_message("hello")
    talk.save_to_storage()
    assert words(StorageConversation("talk", conv_storage=rows, message_storage=messages)) == ["hello"]


def test_a_conversation_can_go_on_without_its_messages(make: Make) -> None:
    spoken(make, "q", "a", user_name="ana")
    blind = make(load_message=False)
    kept_inside = not blind.save_message_independent
    assert words(blind) == (["q", "a"] if kept_inside else [])
    assert (blind.chat_order, blind.user_name) == (1, "ana")
    blind.start_new_round()
    blind.add_user_message("q2")
    blind.end_current_round()
    assert words(make()) == ["q", "a", "q2"]
    assert make().messages[-1].round_index == 2
    assert blind.message_ids == [f"message___c___{at}" for at in range(3)]


def test_the_rest_of_a_conversation_is_kept(make: Make) -> None:
    made = make(summary="x" * 5_000, app_code="app", sys_code="sys", cost=3, tokens=4, start_date="2024-01-02 03:04:05")
    made.end_current_round()
    read = make()
    assert read.summary == "x" * 4_000
    assert (read.app_code, read.sys_code, read.cost, read.tokens) == ("app", "sys", 3, 4)
    assert read.start_date == "2024-01-02 03:04:05"
    read.end_current_round()
    assert make().summary == "x" * 4_000, "a summary is not lost by saving again"


@pytest.mark.parametrize("step", ["delete", "clear"])
def test_a_deleted_conversation_can_be_used_again(make: Make, step: str) -> None:
    made = spoken(make, "q", "a", user_name="ana")
    getattr(made, step)()
    assert (made.messages, made.message_ids, make().messages) == ([], [], [])
    made.start_new_round()
    made.add_user_message("again")
    made.end_current_round()
    read = make()
    assert [(one.index, one.round_index, one.content) for one in read.messages] == [(0, 1, "again")]
    assert (read.user_name, read.message_ids) == ("ana", ["message___c___0"])
    getattr(made, step)()
    getattr(made, step)()
    assert make().messages == []


def test_who_saves_later_comes_behind(make: Make) -> None:
    spoken(make, "q0", "a0")
    first, second, third = make(), make(), make(load_message=False)
    for made, number in ((first, 1), (second, 2), (third, 3)):
        made.start_new_round()
        made.add_user_message(f"q{number}")
        made.add_ai_message(f"a{number}")
    for made in (first, second, third):
        made.end_current_round()
    expected = ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"]
    read = make()
    assert words(read) == expected
    assert [one.index for one in read.messages] == list(range(8))
    assert [one.round_index for one in read.messages] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert words(second) == expected[:6]
    assert second.chat_order == 3
    first.start_new_round()
    first.add_user_message("q4")
    first.end_current_round()
    assert words(first) == [*expected, "q4"] == words(make())
    assert first.messages[-1].round_index == 5


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["user", "ai", "round", "save", "reload"])), max_size=40))
def test_whatever_the_order_nothing_saved_is_lost(steps: list[tuple[int, str]]) -> None:
    conv_storage, message_storage = InMemoryStorage[Any](), InMemoryStorage[Any]()

    def conversation() -> StorageConversation:
        return StorageConversation("c", conv_storage=conv_storage, message_storage=message_storage)

    writers = [conversation() for _ in range(3)]
    waiting: list[list[str]] = [[], [], []]
    saved: list[str] = []
    for at, (who, step) in enumerate([*steps, (0, "save"), (1, "save"), (2, "save")]):
        if step in ("user", "ai"):
            getattr(writers[who], f"add_{step}_message")(str(at))
            waiting[who].append(str(at))
        elif step == "round":
            writers[who].start_new_round()
        elif step == "save":
            writers[who].end_current_round()
            saved += waiting[who]
            waiting[who] = []
        else:
            writers[who], waiting[who] = conversation(), []
    read = conversation()
    assert words(read) == saved
    assert [one.index for one in read.messages] == list(range(len(saved)))


WRITER = """
import sys
from memwell.compat.dbgpt.conversations import StorageConversation
made = StorageConversation("c", conv_storage=sys.argv[1], message_storage=sys.argv[1])
for number in range(25):
    made.start_new_round()
    made.add_user_message(f"{sys.argv[2]}.{number}")
    made.add_ai_message("indeed")
    made.end_current_round()
"""


def test_threads_with_one_object_lose_nothing(make: Make) -> None:
    made = make()

    def write(who: int) -> None:
        for number in range(10):
            made.add_user_message(f"{who}.{number}")
            made.end_current_round()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert sorted(words(make())) == sorted(f"{who}.{number}" for who in range(4) for number in range(10))


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "chat.db")
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, who], stderr=subprocess.PIPE) for who in ("x", "y")
    ]
    assert [one.communicate(timeout=60)[1] for one in started] == [b"", b""]
    read = StorageConversation("c", conv_storage=path, message_storage=path)
    close_shared()
    asked = [one.content for one in read.messages if one.type == "human"]
    assert sorted(asked) == sorted(f"{who}.{number}" for who in "xy" for number in range(25))
    assert [one.index for one in read.messages] == list(range(100))
    for question, answer in zip(read.messages[::2], read.messages[1::2], strict=True):
        assert (question.type, answer.type, question.round_index) == ("human", "ai", answer.round_index)


class Unsavable(BackendStorage[Any]):
    def save_or_update(self, data: Any) -> None:
        raise StorageError("the disk is full")


@pytest.mark.parametrize("apart", [True, False])
def test_when_the_row_cannot_be_stored_nothing_is(tmp_path: Path, apart: bool) -> None:
    with open_backend(tmp_path / "a.db") as backend, open_backend("memory:") as other:
        messages = BackendStorage[Any](backend)
        made = StorageConversation("c", conv_storage=Unsavable(other if apart else backend), message_storage=messages)
        made.add_user_message("q")
        with pytest.raises(StorageError, match="disk is full"):
            made.end_current_round()
        assert messages.count(QuerySpec({}), MessageStorageItem) == 0
        made.load_from_storage(BackendStorage[Any](backend), messages)
        made.end_current_round()
        assert [one.text for one in made.history] == ["q"]


@pytest.mark.parametrize("uid", ["", None, 7, "a\0b", "\ud800", "x" * 1025])
def test_a_uid_that_names_nothing_is_refused(uid: Any) -> None:
    with pytest.raises(InvalidInput, match="conv_uid"):
        StorageConversation(uid)
    with pytest.raises(TypeError, match="colour"):
        StorageConversation("c", colour="red")
    with pytest.raises(StorageError, match="StorageConversation has no attribute 'colour'"):
        InMemoryStorage[Any]().query(QuerySpec({"colour": "red"}), StorageConversation)


def test_a_uid_may_hold_anything_else_and_deleting_one_leaves_the_others(make: Make) -> None:
    spoken(make, "p", uid="a")
    for uid in ("a___b___3", "message___x___1", "conversation:y", "你好", "../x", "'; --", "x" * 1024):
        spoken(make, "q", "a", uid=uid)
        read = make(uid)
        assert words(read) == ["q", "a"]
        assert read.message_ids == [f"message___{uid}___{at}" for at in range(2)]
        read.delete()
        assert make(uid).messages == []
    assert words(make("a")) == ["p"]


def test_a_conversation_becomes_a_copy_of_another_and_has_a_history_where_it_is_kept_as_one() -> None:
    first, second = StorageConversation("a"), StorageConversation("b")
    first.add_user_message("q")
    second.merge(first)
    second.end_current_round()
    assert [one.text for one in second.history] == ["q"]
    assert first.message_ids == []
    with pytest.raises(ValueError, match="Can not merge"):
        second.merge(MessageStorageItem("b", 0, {}))
    foreign = StorageConversation("c", message_storage=DictStorage())
    for made in (foreign, StorageConversation("c", save_message_independent=False)):
        with pytest.raises(InvalidInput, match="not kept as a conversation"):
            _ = made.history


def test_a_conversation_goes_on_with_what_other_rooms_wrote(tmp_path: Path) -> None:
    path = str(tmp_path / "chat.db")
    made = StorageConversation("trip", conv_storage=path, message_storage=path)
    made.start_new_round()
    made.add_user_message("去巴黎吗？")
    made.add_view_message("a map")
    made.end_current_round()
    MemwellChatMessageHistory("trip", path).add_messages([LangChainHuman("When?"), LangChainAI("In May.")])
    with memwell.open(path) as engine:
        assert [(one.role.value, one.round) for one in engine.thread("trip")][:2] == [("human", 1), ("view", 1)]
        engine.thread("trip").add_human("Good.")
    back = StorageConversation("trip", conv_storage=path, message_storage=path)
    assert [(one.type, one.content, one.round_index) for one in back.messages][2:] == [
        ("human", "When?", 2), ("ai", "In May.", 2), ("human", "Good.", 3),
    ]  # fmt: skip
    made.add_ai_message("Goodbye.")
    made.end_current_round()
    assert words(made)[2:] == ["When?", "In May.", "Good.", "Goodbye."]


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BackendStorage[Any]]:
    if request.param == "memory":
        yield InMemoryStorage()
        return
    with open_backend(tmp_path / "chat.db") as backend:
        yield BackendStorage(backend)


@pytest.mark.parametrize("conv", [InMemoryStorage[Any](), DictStorage()])
def test_what_a_query_finds_is_the_row_and_is_opened_by_its_uid(conv: Any) -> None:
    messages = InMemoryStorage[Any]()

    def opened() -> StorageConversation:
        return StorageConversation("trip", user_name="ana", conv_storage=conv, message_storage=messages)

    spoken(opened, "q", "a")
    (one,) = conv.query(QuerySpec({"user_name": "ana"}), StorageConversation)
    loaded = conv.load(ConversationIdentifier("trip"), StorageConversation)
    assert [(found.chat_order, found.messages) for found in (one, loaded)] == [(1, [])] * 2
    assert repr(one) == "StorageConversation('trip', 'chat_normal', user_name='ana', 0 messages)"
    _ = one.conv_storage, one.message_storage
    for change in (one.delete, one.clear, one.end_current_round, one.save_to_storage):
        with pytest.raises(StorageError, match="open it by its conv_uid"):
            change()
    assert words(opened()) == ["q", "a"]
    loaded.load_from_storage(conv, messages)
    assert words(loaded) == ["q", "a"]
    loaded.delete()
    assert opened().messages == []


def test_a_row_of_the_version_before_is_read() -> None:
    storage = InMemoryStorage[Any]()
    made = StorageConversation("trip", conv_storage=storage, message_storage=storage)
    made.end_current_round()
    space = storage.space / "dbgpt" / storage.name
    (entry,) = storage.backend.kv.scan(space).items
    storage.backend.kv.put(space, entry.key, {**entry.value, "messages_elsewhere": True})  # type: ignore[dict-item]
    assert len(storage.query(QuerySpec({}), StorageConversation)) == 1


Storage = BackendStorage[MessageStorageItem]
KINDS = (HumanMessage, AIMessage, ViewMessage, SystemMessage)


def item(index: int, content: Any = None, uid: str = "c") -> MessageStorageItem:
    said: BaseMessage = KINDS[index % 4](f"m{index}" if content is None else content, index, index // 2, {"k": [index]})
    return MessageStorageItem(uid, index, said.to_dict())


def of(uid: str) -> QuerySpec:
    return QuerySpec({"conv_uid": uid})


def stored_words(storage: Storage, uid: str = "c") -> list[Any]:
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
    assert stored_words(storage) == ["m0", "m1"]
    assert storage.count(QuerySpec({}), MessageStorageItem) == 2, "of a list that was refused nothing is stored"


def test_messages_may_come_in_any_order_and_leave_gaps(storage: Storage) -> None:
    storage.save_list([item(5), item(2), item(3, uid="d")])
    storage.save(item(9))
    assert [one.index for one in storage.query(of("c"), MessageStorageItem)] == [2, 5, 9]
    with pytest.raises(StorageError, match="cannot be stored"):
        storage.save(item(4))
    with pytest.raises(StorageError, match="cannot be stored"):
        storage.update(item(4))
    assert [one.index for one in storage.query(QuerySpec({}), MessageStorageItem)] == [2, 5, 9, 3]


def test_an_update_takes_the_place(storage: Storage) -> None:
    storage.save_list([item(0), item(1)])
    before = storage.history("c").get(1)
    storage.save_or_update_list([item(1, "changed"), item(2)])
    storage.update(item(2, [MediaContent(MediaObject("u", "url"), "image")]))
    assert stored_words(storage) == ["m0", "changed", [MediaContent(MediaObject("u", "url"), "image")]]
    after = storage.history("c").get(1)
    assert (after.id, after.time, after.index) == (before.id, before.time, 1)


def test_what_is_deleted_is_gone_and_may_come_again(storage: Storage) -> None:
    storage.save_list([item(at) for at in range(4)])
    storage.delete(MessageIdentifier("c", 3))
    storage.delete_list([MessageIdentifier("c", 1), MessageIdentifier("c", 77), MessageIdentifier("d", 0)])
    assert stored_words(storage) == ["m0", "m2"]
    assert storage.count(of("c"), MessageStorageItem) == 2
    storage.save(item(1, "again"))
    storage.save_list([item(3, "last"), item(4)])
    assert stored_words(storage) == ["m0", "again", "m2", "last", "m4"]
    storage.delete_list([MessageIdentifier("c", at) for at in range(5)])
    assert storage.history("c").info() is None, "the last to go takes the conversation along"
    storage.save(item(0))
    assert stored_words(storage) == ["m0"]


def test_questions_are_answered_in_order(storage: Storage) -> None:
    storage.save_list([item(at, uid=uid) for uid in ("b", "a", "c") for at in range(5)])
    storage.delete(MessageIdentifier("a", 2))
    everything = [(uid, at) for uid in "abc" for at in range(5) if (uid, at) != ("a", 2)]
    cases: list[tuple[dict[str, Any], list[tuple[str, int]]]] = [
        ({}, everything), ({"conv_uid": "a"}, [("a", at) for at in (0, 1, 3, 4)]),
        ({"conv_uid": "b", "index": 3}, [("b", 3)]), ({"index": 2}, [("b", 2), ("c", 2)]), ({"index": "2"}, []),
        ({"conv_uid": "nobody"}, []), ({"conv_uid": ""}, []), ({"conv_uid": None}, []),
        ({"message_detail": item(1).message_detail}, [("a", 1), ("b", 1), ("c", 1)]),
        ({"message_detail": 7, "conv_uid": "a"}, []),
    ]  # fmt: skip
    for conditions, expected in cases:
        for limit in (None, 0, 1, 3, 100):
            for offset in (0, 1, 2, 3, 4, 6, 50):
                found = storage.query(QuerySpec(conditions, limit, offset), MessageStorageItem)
                end = None if limit is None else offset + limit
                assert [(one.conv_uid, one.index) for one in found] == expected[offset:end], (conditions, limit, offset)
        assert storage.count(QuerySpec(conditions, 1, 1), MessageStorageItem) == len(expected)


def test_what_cannot_be_stored_is_refused(storage: Storage) -> None:
    storage.save(item(0))
    good = HumanMessage("x").to_dict()
    fields: list[tuple[Any, Any, Any]] = [
        ("", 1, good), ("a\0", 1, good), ("x" * 1025, 1, good), (None, 1, good), ("c", -1, good), ("c", "1", good),
        ("c", 2**33, good), ("c", 1, {}), ("c", 1, {"type": "robot", "data": {"content": "x"}}), ("c", 1, None),
        ("c", 1, HumanMessage("x", additional_kwargs={"a": object()}).to_dict()),
    ]  # fmt: skip
    for one in (MessageStorageItem(*each) for each in fields):
        for write in (storage.save, storage.update):
            with pytest.raises(StorageError):
                write(one)
        with pytest.raises(StorageError):
            storage.save_list([item(1), one, item(2)])
    assert stored_words(storage) == ["m0"]
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


UIDS = st.text("ab_:-你1", max_size=12)


@given(UIDS, st.integers(0, 10**6))
def test_a_uid_may_hold_the_separator(uid: str, index: int) -> None:
    named = MessageIdentifier(uid, index)
    read = MessageIdentifier.from_str_identifier(named.str_identifier)
    assert (read.conv_uid, read.index, read.identifier_type) == (uid, index, "message")
    assert read == named


def test_names_have_the_shape_of_old() -> None:
    assert MessageIdentifier("c", 3).str_identifier == "message___c___3"
    assert MessageIdentifier("c", 3, "note").to_dict() == {"conv_uid": "c", "index": 3, "identifier_type": "note"}
    assert MessageIdentifier.from_str_identifier("note___c___3").identifier_type == "note"
    for text in ("", "message", "message___c", "message___c___", "message___c___x", "message___c___-1", "a__b__1"):
        with pytest.raises(ValueError, match="Invalid str identifier"):
            MessageIdentifier.from_str_identifier(text)
    assert ConversationIdentifier("c").str_identifier == "conversation:c"
    assert ConversationIdentifier("c").to_dict() == {"conv_uid": "c", "identifier_type": "conversation"}


def test_a_message_as_an_item() -> None:
    said = HumanMessage("你好", 3, 1)
    item, other = MessageStorageItem("c", 3, said.to_dict()), MessageStorageItem("c", 3, HumanMessage("x").to_dict())
    assert item.identifier == MessageIdentifier("c", 3)
    assert MessageStorageItem(**item.to_dict()).to_message() == said
    item.merge(other)
    assert item.to_message().content == "x"

    class Stranger(MessageStorageItem):
        pass

    item.merge(Stranger("c", 3, said.to_dict()))
    assert item.to_message() == said
    with pytest.raises(ValueError, match="Can not merge"):
        item.merge(Note("c"))
    with pytest.raises(InvalidInput):
        MessageStorageItem("c", 3, {}).to_message()


def test_a_serializer_of_the_users_own_writes_messages_too(tmp_path: Path) -> None:
    with open_backend(tmp_path / "chat.db") as backend:
        storage = BackendStorage[Any](backend, serializer=Reversed())
        talk = StorageConversation("c", conv_storage=storage, message_storage=storage)
        talk.add_user_message("The secret is 4711.")
        talk.end_current_round()
        again = StorageConversation("c", conv_storage=storage, message_storage=storage)
        assert words(again) == ["The secret is 4711."]
        with pytest.raises(InvalidInput, match="serializer"):
            storage.history("c")
    assert b"4711" not in b"".join(one.read_bytes() for one in tmp_path.iterdir())


class _TheirMessage:
    """A MessageStorageItem of DB-GPT's own, by its shape."""

    _serializer = None

    def __init__(self, conv_uid: str, index: int, message_detail: dict[str, Any]) -> None:
        self.conv_uid, self.index, self.message_detail = conv_uid, index, message_detail
        self.identifier = MessageIdentifier(conv_uid, index)

    def to_dict(self) -> dict[str, Any]:
        return {"conv_uid": self.conv_uid, "index": self.index, "message_detail": self.message_detail}

    def set_serializer(self, serializer: Any) -> None:
        self._serializer = serializer


def test_messages_of_dbgpts_own_class_are_a_conversation_like_any_other() -> None:
    storage = InMemoryStorage[Any]()
    said = [HumanMessage("Hello.", 0, 1), AIMessage("Hi.", 1, 1)]
    storage.save_list([_TheirMessage("c", one.index, one.to_dict()) for one in said])
    assert [one.text for one in storage.history("c")] == ["Hello.", "Hi."]
    talk = StorageConversation("c", conv_storage=storage, message_storage=storage)
    assert talk.messages == said
    found: Any = storage.load(MessageIdentifier("c", 1), _TheirMessage)
    assert (type(found), found.message_detail) == (_TheirMessage, said[1].to_dict())


def test_what_is_no_storage_is_refused_with_the_reason() -> None:
    class Half:
        def load(self) -> None: ...

    with pytest.raises(InvalidInput, match="no storage of conversations: it has no save_list, save_or_update, "):
        StorageConversation("c", conv_storage=cast(Any, Half()))
    with pytest.raises(ConfigurationError, match="URL or a path"):
        StorageConversation("c", conv_storage=cast(Any, object()))


def test_the_real_dbgpt_works_with_the_room(run_with_originals: RunWithOriginals) -> None:
    """Both go on with what the other wrote: in one storage, in two, in a file, with a serializer, in DB-GPT's own."""
    assert run_with_originals("dbgpt", REAL) == [
        "9 kinds of storages, 36 conversations, 0 wrong",
        "3 messages in a conversation of memwell",
        "their client over our storage: Paris",
        "our client over their storage: Paris",
    ]


REAL = """
import asyncio, tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from dbgpt.core.interface.message import StorageConversation as Theirs
from dbgpt.core.interface.storage import InMemoryStorage as TheirStorage
from dbgpt.storage.cache.llm_cache import LLMCacheClient as TheirClient
from dbgpt.storage.cache.manager import LocalCacheManager
from dbgpt.storage.cache.storage.base import MemoryCacheStorage as TheirCache
from dbgpt.util.serialization.json_serialization import JsonSerializer as TheirSerializer
from memwell.compat.dbgpt import BackendStorage, InMemoryStorage, JsonSerializer, StorageConversation as Ours
from memwell.compat.dbgpt import LLMCacheClient, MemoryCacheStorage


class Own(JsonSerializer):
    pass


folder, files = tempfile.mkdtemp(), count()
kinds = (
    lambda: (InMemoryStorage(),),
    lambda: (InMemoryStorage(), InMemoryStorage()),
    lambda: (BackendStorage(f"{folder}/{next(files)}.db"),),
    lambda: [BackendStorage(path, name) for path in [f"{folder}/{next(files)}.db"] for name in "ab"],
    lambda: (InMemoryStorage(serializer=Own()),),
    lambda: (InMemoryStorage(serializer=Own()), InMemoryStorage(serializer=Own())),
    lambda: (InMemoryStorage(serializer=TheirSerializer()),),
    lambda: (TheirStorage(),),
    lambda: (TheirStorage(), TheirStorage()),
)


def said_by(talk, number):
    talk.start_new_round()
    talk.add_user_message(f"question {number}")
    talk.add_ai_message(f"answer {number}")
    talk.add_view_message(f"view {number}")
    talk.end_current_round()


def wrong(storages, turns):
    def opened(kind):
        return kind("c", conv_storage=storages[0], message_storage=storages[-1])

    said = []
    for number, turn in enumerate(turns):
        said_by(opened(turn), number)
        said += [(number + 1, f"{what} {number}") for what in ("question", "answer", "view")]
    seen = [[(one.round_index, one.content) for one in opened(kind).messages] for kind in (Ours, Theirs)]
    opened(turns[0]).delete()
    return seen != [said, said] or opened(Ours).messages != [] or opened(Theirs).messages != []


orders = [(Ours, Theirs), (Theirs, Ours), (Ours, Theirs, Ours, Theirs), (Theirs, Ours, Theirs, Ours)]
found = [wrong(make(), order) for make in kinds for order in orders]
print(len(kinds), "kinds of storages,", len(found), "conversations,", sum(found), "wrong")
storage = InMemoryStorage()
said_by(Theirs("c", conv_storage=storage, message_storage=storage), 0)
print(len(storage.history("c")), "messages in a conversation of memwell")


class Manager(LocalCacheManager):
    executor = ThreadPoolExecutor(1)


async def cached(client):
    key = client.new_key(prompt="What is the capital of France?", model_name="m")
    await client.set(key, client.new_value(output={"error_code": 0, "text": "Paris"}))
    return (await client.get(key)).get_value().output.text


manager = Manager(None, TheirSerializer(), MemoryCacheStorage())
print("their client over our storage:", asyncio.run(cached(TheirClient(manager))))
print("our client over their storage:", asyncio.run(cached(LLMCacheClient(TheirCache()))))
"""

"""A memory over any storages, and a chat: unread counts that are right, people who come and go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory import (
    AudioMessage,
    BaseChatMessageMemory,
    BaseMemory,
    ChatMessage,
    Deduplicate,
    Evict,
    ImageMessage,
    ListStorage,
    NoSuchStorage,
    StoredMessages,
    SystemMessage,
    TextMessage,
    VideoMessage,
)
from memwell.compat.basememory.memory import MessageKinds, sender_of
from memwell.errors import BackendError, Conflict, InvalidInput, Unsupported
from memwell.history import History
from memwell.messages import Image, Message, Part, Role, Text, decode_message, encode_message, human
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend
from memwell.testing.conformance.suite import Clock
from tests.compat.basememory.kinds import Bare, Readable, Sketch


class SketchOfItems:
    def __iter__(self) -> Any:
        pass


def test_sketches_make_a_memory() -> None:
    data, items = Sketch(), SketchOfItems()
    memory = BaseMemory(data=data, items=items)
    assert memory.data is data
    assert memory.items is items
    assert memory
    memory.expand(more=Sketch())
    assert {step.skipped for step in memory.optimize().steps} == {"its __len__ returns no number"}
    assert BaseChatMessageMemory(messages=Sketch(), state=Sketch()).names == ("messages", "state")


def test_any_object_with_a_length_and_items_will_do() -> None:
    memory = BaseMemory(data=Readable(0, 10, 20))
    assert len(memory) == 3
    assert list(memory) == list(memory.items) == [0, 10, 20]
    assert (memory[1], memory.data[2]) == (10, 20)


def test_iteration_goes_through_the_items_given() -> None:
    assert list(BaseMemory(data=Readable(0, 10, 20), items=["a", "b"])) == ["a", "b"]
    assert list(BaseMemory(items=(n * n for n in range(3)))) == [0, 1, 4]


def test_storages_have_names() -> None:
    messages, logs = ["hi"], ["started"]
    memory = BaseMemory(messages=messages, logs=logs)
    assert memory["messages"] is memory.messages is memory.data is messages
    assert memory["logs"][0] == memory.logs[0] == "started"
    assert memory.names == ("messages", "logs")
    assert "'x'" not in repr(memory)
    with pytest.raises(NoSuchStorage, match="there is no storage 'x'; there are: messages, logs"):
        memory["x"]
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = memory.x


def test_it_has_a_storage_of_its_own_when_none_is_given() -> None:
    memory = BaseMemory()
    memory.data.append("kept")
    assert type(memory.data) is ListStorage
    assert (memory["data"], list(memory), memory.names) == (memory.data, ["kept"], ("data",))


def test_storages_are_added_at_run_time() -> None:
    memory = BaseMemory()
    memory.expand(new_data_type=[1, 2], more={"a": 1})
    assert memory["new_data_type"][1] == memory.new_data_type[1] == 2
    assert memory.names == ("data", "new_data_type", "more")


@pytest.mark.parametrize("name", ["taken", "data", "items", "store", "space", "optimize", "add_message", "_x", "names"])
def test_a_name_that_is_taken_or_reserved_changes_nothing(name: str) -> None:
    memory = BaseMemory(taken=[1])
    with pytest.raises(Conflict, match=f"'{name}'"):
        memory.expand(fresh=[2], **{name: [3]})
    assert memory.names == ("taken",)
    assert memory.taken == [1]


def test_what_is_no_storage_changes_nothing() -> None:
    memory = BaseMemory()
    with pytest.raises(InvalidInput, match="other must be a storage"):
        memory.expand(fresh=[2], other=5)
    assert memory.names == ("data",)
    for arguments in (
        {"items": 5},
        {"messages": None},
        *({"data": one} for one in (5, "text", b"bytes", {1}, iter([]))),
    ):
        with pytest.raises(InvalidInput):
            BaseMemory(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"write Sketch\(\)"):
        BaseMemory(data=Sketch)  # type: ignore[arg-type]


def test_messages_are_added_when_there_is_a_storage_for_them() -> None:
    memory = BaseMemory()
    with pytest.raises(Unsupported, match=r"expand\(messages=…\)"):
        memory.add_message("hi")
    memory.expand(messages=ListStorage())
    memory.add_message("hi")
    memory.add_message("你好")
    assert list(memory["messages"]) == ["hi", "你好"]
    with pytest.raises(Unsupported, match="give it add_message or append"):
        BaseMemory(messages=Sketch()).add_message("hi")


def test_a_storage_without_init_gets_what_its_length_asks_for() -> None:
    class Lazy(Bare):
        def __init__(self) -> None:
            pass

    state: Any = BaseMemory(messages=Bare(), state=Bare(), lazy=Lazy()).state
    assert state.rows == {}

    class Listed(Bare):
        def __len__(self) -> int:
            return len(self.messages)  # type: ignore[attr-defined]

        def __getitem__(self, index: int) -> Any:
            return self.messages[index]  # type: ignore[attr-defined]

    chat = BaseChatMessageMemory(messages=Listed())
    chat.add_message({"timestamp": 1, "content": "你好", "user_id": "u1"})
    assert (chat.get_message(0)["content"], chat.unread("u1"), chat.unread("u2")) == ("你好", 0, 1)
    assert not hasattr(BaseMemory(lazy=Lazy()).lazy, "rows")


USERS = ["Anna", "本", "Clara"]


@dataclass(eq=False)
class Said:
    text: str
    sender: str | None
    read_by: set[str] = field(default_factory=set)


class Oracle:
    """A chat as one would write it down: every message with the names of those who need not read it any more."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def unread(self, user: str) -> list[str]:
        return [one.text for one in self.said if user not in one.read_by and one.sender != user]

    def read(self, user: str, upto: int) -> None:
        for one in self.said[: upto + 1]:
            one.read_by.add(user)

    def drop_repeated(self) -> None:
        firsts: dict[tuple[str | None, str], Said] = {}
        for one in self.said:
            firsts.setdefault((one.sender, one.text), one)
        self.said = list(firsts.values())


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "add", "read", "get", "drop", "evict", "tidy"]),
        st.sampled_from(USERS),
        st.integers(0, 30),
    ),
    min_size=4,
    max_size=40,
)


def _chats() -> list[Callable[[Any], BaseChatMessageMemory]]:
    return [
        lambda backend: BaseChatMessageMemory(),
        lambda backend: BaseChatMessageMemory(messages=[], state={}),
        lambda backend: BaseChatMessageMemory(store=backend),
    ]


@pytest.mark.parametrize("make", _chats(), ids=["own", "given", "stored"])
@given(steps=STEPS)
def test_unread_is_what_one_would_count_by_hand(
    make: Callable[[Any], BaseChatMessageMemory], steps: list[tuple[str, str, int]]
) -> None:
    with MemoryBackend() as backend:
        memory, oracle = make(backend), Oracle()
        for verb, user, number in steps:
            _step(memory, oracle, verb, user, number)
            assert len(memory) == len(oracle.said)
            for one in USERS:
                assert memory.unread(one) == len(oracle.unread(one))
                assert memory.get_unread(one, mark=False) == oracle.unread(one)


def _step(memory: BaseChatMessageMemory, oracle: Oracle, verb: str, user: str, number: int) -> None:
    at = number % len(oracle.said) if oracle.said else None
    if verb == "add":
        text = f"消息 {number % 5}"
        assert memory.add_message(text, sender=user if number % 4 else None) == len(oracle.said)
        oracle.said.append(Said(text, user if number % 4 else None))
    elif verb == "get":
        assert memory.get_unread(user) == oracle.unread(user)
        unread = [at for at, one in enumerate(oracle.said) if user not in one.read_by and one.sender != user]
        oracle.read(user, unread[-1] if unread else -1)
    elif verb == "read" and at is not None:
        memory.read(user, upto=at)
        oracle.read(user, at)
    elif verb == "drop":
        memory.optimize(Deduplicate(drop=True))
        oracle.drop_repeated()
    elif verb == "evict":
        memory.optimize(Evict(keep=number))
        oracle.said = oracle.said[max(0, len(oracle.said) - number) :]
    elif verb == "tidy":
        memory.optimize()


@pytest.mark.parametrize("make", _chats(), ids=["own", "given", "stored"])
def test_unread_is_right_under_eight_writers_and_readers(make: Callable[[Any], BaseChatMessageMemory]) -> None:
    with MemoryBackend() as backend:
        memory = make(backend)
        got: list[Any] = []

        def write(who: int) -> None:
            for at in range(50):
                memory.add_message(f"{who}:{at}", sender=f"user{who}")
                # One's own messages are never one's unread, also in the middle of it.
                assert memory.unread(f"user{who}") <= 7 * 50

        def read() -> None:
            for _ in range(60):
                got.extend(memory.get_unread("reader"))

        _together([lambda who=who: write(who) for who in range(8)] + [read, read])
        assert {user: memory.unread(user) for user in map("user{}".format, range(8))} == {
            f"user{who}": 350 for who in range(8)
        }
        got.extend(memory.get_unread("reader"))
        # Two readers of one name: each message went to one of them.
        assert sorted(got) == sorted(f"{who}:{at}" for who in range(8) for at in range(50))
        assert memory.unread("reader") == 0


def test_unread_is_right_while_messages_are_dropped() -> None:
    memory = BaseChatMessageMemory()
    for at in range(400):
        memory.add_message(f"old {at}")
    memory.read("reader", upto=199)
    counts: list[int] = []

    def drop() -> None:
        for keep in range(399, 199, -1):
            memory.optimize(Evict(keep=keep))

    _together([drop, lambda: counts.extend(memory.unread("reader") for _ in range(500))])
    assert set(counts) == {200}


def _together(calls: list[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(len(calls)) as threads:
        for done in [threads.submit(call) for call in calls]:
            done.result()


WRITER = """
import sys
from memwell.compat.basememory import BaseChatMessageMemory
path, who = sys.argv[1:]
memory = BaseChatMessageMemory(store=path)
for at in range(10):
    memory.add_message(f"{who}:{at}", sender=f"user{who}")
    memory.heartbeat(f"user{who}")
    memory.get_unread("reader") if at % 5 == 0 else memory.read("watcher", upto=-1)
print(memory.unread("nobody") >= 10)
"""


def test_unread_is_right_under_eight_processes(tmp_path: Path) -> None:
    path = str(tmp_path / "chat.db")
    memory = BaseChatMessageMemory(store=path)
    command = [sys.executable, "-W", "error", "-c", WRITER, path]
    writers = [subprocess.Popen([*command, str(who)], stdout=subprocess.PIPE, text=True) for who in range(8)]
    assert [writer.communicate()[0] for writer in writers] == ["True\n"] * 8
    assert (len(memory), memory.unread("nobody")) == (80, 80)
    assert {memory.unread(f"user{who}") for who in range(8)} == {70}
    assert memory.online_users() == [f"user{who}" for who in range(8)]
    memory.get_unread("reader")
    assert memory.unread("reader") == 0
    memory.messages.history.backend.close()


def test_get_message_counts_from_both_ends_and_may_mark_as_read() -> None:
    memory = BaseChatMessageMemory()
    for at in range(5):
        memory.add_message(f"message {at}")
    assert (memory.get_message(2), memory.get_message(-1)) == ("message 2", "message 4")
    assert memory.get_message(2, reader="Anna") == "message 2"
    assert (memory.unread("Anna"), memory.state["Anna"].last_read) == (2, 2)
    for ask in (memory.get_message, lambda at: memory.read("Anna", upto=at)):
        with pytest.raises(IndexError):
            ask(5)


@pytest.mark.parametrize("index", ["a", None, 1.0, True])
def test_what_is_no_position_is_named(index: Any) -> None:
    for memory in (BaseChatMessageMemory(), BaseChatMessageMemory(store=MemoryBackend())):
        memory.add_message("hi", sender="Anna")
        for ask in (memory.get_message, lambda at: memory.get_message(at, reader="Ben")):  # noqa: B023
            with pytest.raises(InvalidInput, match=rf"a position is a whole number, not {index!r}"):
                ask(index)
        assert memory.unread("Ben") == 1
    with pytest.raises(InvalidInput, match="a position is a whole number, not 'a'"):
        memory.read("Ben", upto="a")  # pyright: ignore[reportArgumentType]
    assert BaseChatMessageMemory(messages={"a": "hi"}).get_message("a") == "hi"  # pyright: ignore[reportArgumentType]


def test_presence_needs_a_heartbeat() -> None:
    clock = Clock()
    memory = BaseChatMessageMemory(clock=clock, online_seconds=30)
    assert not memory.is_online("Anna")
    memory.heartbeat("Anna")
    memory.heartbeat("Ben")
    clock.advance(29)
    assert memory.online_users() == ["Anna", "Ben"]
    memory.heartbeat("Ben")
    clock.advance(1)
    assert memory.online_users() == ["Ben"]
    memory.offline("Ben")
    state = memory.state_of("Ben")
    assert (state.online, state.last_seen is not None) == (False, True)


def test_typing_ends_in_time_or_with_a_message() -> None:
    clock = Clock()
    memory = BaseChatMessageMemory(clock=clock, typing_seconds=5)
    memory.set_typing("Anna")
    memory.set_typing("Ben")
    memory.set_typing("Clara")
    memory.set_typing("Clara", typing=False)
    assert memory.typing_users() == ["Anna", "Ben"]
    memory.add_message("done", sender="Anna")
    assert memory.typing_users() == ["Ben"]
    assert memory.state_of("Ben").typing
    clock.advance(5)
    assert memory.typing_users() == []


def test_state_survives_reopening_but_typing_does_not(tmp_path: Path) -> None:
    clock = Clock()
    with open_backend(tmp_path / "app.db") as backend, BaseChatMessageMemory(store=backend, clock=clock) as memory:
        memory.heartbeat("本")
        for text in ("hi", "你好"):
            memory.add_message(text, sender="本")
        memory.get_message(0, reader="Anna")
        memory.heartbeat("Anna")
        memory.set_typing("Anna")
        before = memory.state_of("Anna")
    with open_backend(tmp_path / "app.db") as backend:
        again = BaseChatMessageMemory(store=backend, clock=clock)
        after = again.state["Anna"]
        assert (before.typing, after.typing) == (True, False)
        assert (after.unread, after.last_read, after.online) == (1, 0, True)
        assert again.users() == ["Anna", "本"]
        assert again.get_unread("Anna") == ["你好"]
        assert again.unread_counts() == {"Anna": 0, "本": 0}


def test_state_may_be_kept_in_a_storage_of_ones_own() -> None:
    kept: dict[str, Any] = {}
    memory = BaseChatMessageMemory(state=kept)
    memory.add_message("hi", sender="Ben")
    memory.read("Anna")
    assert memory.state is kept
    assert kept["Anna"]["read"] == 1
    other = BaseChatMessageMemory(messages=["hi", "there"], state=kept)
    assert other.unread("Anna") == 1
    other.optimize(Evict(keep=0))
    assert list(kept) == ["Anna"], "people are not evicted"


@pytest.mark.parametrize("user", ["", 5, None, "\0"])
def test_a_name_must_be_one(user: Any) -> None:
    memory = BaseChatMessageMemory()
    for call in (memory.unread, memory.heartbeat, memory.set_typing):
        with pytest.raises(InvalidInput):
            call(user)
    assert memory.users() == []


def test_what_was_closed_is_read_and_not_written() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend, messages=None)
        memory.add_message("hi", sender="Ben")
        memory.close()
        memory.close()
        methods: list[Any] = [memory.add_message, memory.get_unread, memory.read]
        methods += [memory.heartbeat, memory.offline, memory.set_typing]
        methods += [lambda user: memory.get_message(0, reader=user), lambda _: memory.expand(more=[])]
        for write in (*methods, lambda _: memory.optimize()):
            with pytest.raises(BackendError, match="the memory is closed"):
                write("Anna")
        assert (memory.get_message(0), memory.get_unread("Anna", mark=False)) == ("hi", ["hi"])
        assert (memory.is_online("Anna"), memory.typing_users()) == (False, [])


# The messages of a chat


def test_positions_have_no_gaps_when_places_do() -> None:
    with MemoryBackend() as backend:
        messages = StoredMessages(History(backend, "chat"), MessageKinds())
        for at in range(8):
            messages.append(str(at))
        messages.drop({0, 3, 4})
        assert list(messages) == [messages[at] for at in range(5)] == ["1", "2", "5", "6", "7"]
        assert messages[:] == [messages[at] for at in range(-5, 0)] == ["1", "2", "5", "6", "7"]
        for index in (5, -6):
            with pytest.raises(IndexError, match="the chat holds 5"):
                messages[index]
        assert [messages.place(at) for at in range(5)] == [1, 2, 5, 6, 7]
        assert [messages.position(place) for place in (0, 1, 3, 5, 8, 99)] == [0, 0, 2, 2, 5, 5]
        assert messages.add("8", None) == 5


def test_a_plain_storage_may_be_changed_without_us() -> None:
    storage: list[Any] = ["before"]
    memory = BaseChatMessageMemory(messages=storage)
    memory.add_message("hi", sender="Anna")
    storage.append({"sender": "Ben", "content": "yo"})
    assert [memory.unread(user) for user in ("Anna", "Ben", "Clara")] == [2, 2, 3]
    del storage[1:]
    assert memory.unread("Clara") == 1


def test_unread_sees_what_other_rooms_write_change_and_remove() -> None:
    with MemoryBackend() as backend:
        history, memory = History(backend, "chat"), BaseChatMessageMemory(store=backend)
        history.add_human("hi", name="Anna")
        history.add_ai("hello", name="bot")
        assert [memory.unread(user) for user in ("Anna", "bot", "Ben")] == [1, 1, 2]
        history.remove(1)
        assert memory.unread("Ben") == 1
        history.restore(1)
        assert memory.unread("Ben") == 2


def test_state_goes_with_its_conversation_and_others_rows_are_not_ours() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        memory.add_message("hi", sender="a/b " * 200)
        memory.read("a/b " * 200)
        memory.set_typing("Anna")
        assert memory.users() == ["a/b " * 200]
        memory.messages.history.delete()
        assert (memory.users(), memory.typing_users()) == ([], [])
    kept = {"Anna": "something else", "Ben": {"user": "Ben", "read": 2}, "Cy": {"user": "Cy", "read": "far"}}
    given_rows = BaseChatMessageMemory(messages=["a", "b", "c"], state=kept)
    assert [given_rows.unread(user) for user in ("Anna", "Ben")] == [3, 1]
    with pytest.raises(InvalidInput, match="the state of 'Cy' is no row of ours"):
        given_rows.unread("Cy")


URL = "https://example.org/cat.png"
MESSAGES = [
    TextMessage(text="你好", sender="Anna"), TextMessage(text=""), SystemMessage(text="Ben joined"),
    ImageMessage(url=URL, text="一只猫", sender="Ben"),
    AudioMessage(data=b"RIFF....", media_type="audio/wav", text="see you at six", sender="Ben"),
    VideoMessage(url="https://example.org/film.mp4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TextMessage(text=5), "the text of a message must be a string, not 5"),  # pyright: ignore[reportArgumentType]
        (lambda: ImageMessage(url=7), "an address must be a string, not 7"),  # pyright: ignore[reportArgumentType]
        (lambda: AudioMessage(data="words"), "the bytes of a medium must be bytes, not 'words'"),  # pyright: ignore[reportArgumentType]
        (lambda: TextMessage("hi", sender=3), "a sender must be a string, not 3"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_message_of_wrong_values_is_not_made(make: Callable[[], ChatMessage], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        make()


def test_every_kind_comes_back_from_a_store() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        for message in MESSAGES:
            memory.add_message(message)
        assert list(BaseChatMessageMemory(store=backend)) == MESSAGES


def test_words_that_were_stored_as_the_text_of_a_medium_are_read() -> None:
    kinds = MessageKinds()
    told, said = ImageMessage(url=URL, text="猫", sender="Ben"), {"type": "image", "url": URL, "caption": "猫"}
    for item in (told, said):
        earlier = kinds.to_core(item).changed(content=[Image(url=URL, text="猫")])
        assert kinds.from_core(earlier) == item


class Place(ChatMessage, frozen=True, kw_only=True):
    """A kind of somebody's own."""

    kind: ClassVar[str] = "place"
    north: float
    east: float

    def parts(self) -> tuple[Part, ...]:
        return (Text(f"{self.north}, {self.east}"),)

    def extras(self) -> dict[str, Any]:
        return {"north": self.north, "east": self.east}

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        mark = stored.metadata["basememory"]
        return {"north": mark["north"], "east": mark["east"]}


def test_a_kind_of_ones_own_needs_nothing_but_its_class() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        here = Place(north=59.9, east=10.7, sender="Anna")
        memory.add_message(here)
        assert memory.get_message(0) == here
        # Whoever does not know the kind reads a message all the same.
        other = BaseChatMessageMemory(store=backend)
        assert other.get_message(0).text == "59.9, 10.7"
        other.register(Place)
        assert other.get_message(0) == here


def test_what_is_no_message_is_refused() -> None:
    class Shout(TextMessage, frozen=True, kw_only=True):
        pass

    memory = BaseChatMessageMemory(store=MemoryBackend())
    with pytest.raises(Conflict, match="a class has its own kind"):
        memory.add_message(Shout(text="HI"))
    for item, said in ((5, "int is none of them"), ({"thing": object()}, "plain JSON data")):
        with pytest.raises(InvalidInput, match=said):
            memory.add_message(item)
    with pytest.raises(InvalidInput, match="derived from ChatMessage"):
        memory.register(int)  # pyright: ignore[reportArgumentType]
    assert len(memory) == 0


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
VALUES = TEXT | st.integers(-9, 9) | st.none() | st.booleans() | st.lists(TEXT, max_size=2)
KEYS = st.sampled_from(["content", "text", "sender", "user_id", "type", "role", "url", "target", "x"])


@given(TEXT | st.dictionaries(KEYS, VALUES | st.sampled_from(["image", "audio", "system"]), max_size=5))
def test_text_and_dicts_come_back_as_they_were(item: Any) -> None:
    kinds = MessageKinds()
    stored = decode_message(encode_message(kinds.to_core(item)))
    assert kinds.from_core(stored) == item


def test_a_dict_is_where_other_rooms_look_for_it() -> None:
    kinds = MessageKinds()
    said = kinds.to_core({"user_id": "Anna", "content": "你好", "timestamp": 5})
    assert (said.name, said.text, said.role) == ("Anna", "你好", Role.HUMAN)
    shown = kinds.to_core({"type": "image", "url": "https://example.org/c.png", "data": b"PNG", "caption": "猫"})
    assert shown.parts == (Text("猫"), Image(url="https://example.org/c.png", data=b"PNG"))
    assert kinds.from_core(shown)["data"] == b"PNG"
    assert kinds.to_core({"role": "assistant", "content": "yes"}).role is Role.AI


def test_what_another_room_changed_is_read_as_it_is_now() -> None:
    kinds = MessageKinds()
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        history.add(kinds.to_core({"content": "old", "x": 1}), kinds.to_core("old"))
        history.edit(0, "new")
        history.edit(1, "new")
        assert list(map(kinds.from_core, history)) == [{"content": "new", "x": 1}, "new"]


def test_a_sender_is_who_the_message_names_or_who_is_named_beside_it() -> None:
    kinds = MessageKinds()
    assert kinds.to_core("hi", "Anna").name == "Anna"
    assert kinds.to_core({"sender": "Ben"}, "Anna").name == "Ben"
    assert kinds.to_core(human("hi", name="Ben"), "Anna").name == "Ben"
    assert [sender_of(one) for one in ("hi", {"user": "Ben"}, human("x", name="Cy"), 5, {"user": 5})] == [
        None, "Ben", "Cy", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("timestamp", [10**9, 1e9, "2001-09-09T01:46:40", "2001-09-09T03:46:40+02:00"])
def test_a_dict_is_stored_with_its_timestamp(timestamp: Any) -> None:
    history = History(open_backend("memory:"), "chat")
    chat = BaseChatMessageMemory(history)
    said = {"content": "hi", "timestamp": timestamp}
    chat.add_message(said)
    assert chat.get_message(0) == said
    assert history.get(0).time == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)


@pytest.mark.parametrize("timestamp", ["yesterday", "", 1e99, True, [2001]])
def test_a_timestamp_that_is_no_time_is_refused(timestamp: Any) -> None:
    chat = BaseChatMessageMemory(store=MemoryBackend())
    with pytest.raises(InvalidInput, match="a timestamp is seconds since 1970 or ISO 8601, not "):
        chat.add_message({"content": "hi", "timestamp": timestamp})
    chat.add_message({"content": "hi", "timestamp": None})
    assert len(chat) == 1

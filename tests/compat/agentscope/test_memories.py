"""One suite for every memory: in the process, in a file, next to a database of SQLAlchemy, and in a real Redis."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import memwell
from memwell.compat.agentscope import memories
from memwell.compat.agentscope.memories import (
    AsyncSQLAlchemyMemory,
    InMemoryMemory,
    MemoryBase,
    MemwellMemory,
    RedisMemory,
    WrongType,
    _store_of,
)
from memwell.compat.agentscope.messages import Msg
from memwell.compat.langchain import AIMessage, HumanMessage, MemwellChatMessageHistory, ToolMessage
from memwell.errors import InvalidInput, Unsupported
from memwell.history import History
from memwell.messages import Message, ToolCall
from memwell.records import Space
from memwell.runtime.state import MissingState, Sessions, StateModule
from memwell.storage.registry import open_backend
from memwell.values import new_id
from tests.servers import redis_server

KINDS = ("process", "file", "redis")
HOSTILE = ["%3A", "*", "?", "[a]", "../../etc", "'; DROP TABLE message; --", "{user_id}", "用户", "x" * 900]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield int(url.rpartition(":")[2].partition("/")[0])


class World:
    """Where memories are kept. What one run leaves, the next one finds."""

    def __init__(self, kind: str, folder: Path, port: int) -> None:
        self.kind = kind
        self._folder, self._port, self._prefix = folder, port, new_id()

    def made(self, session_id: str = "s", user_id: str = "u") -> MemoryBase:
        if self.kind == "process":
            return InMemoryMemory()
        if self.kind == "file":
            return MemwellMemory(self._folder / "a.db", session_id, user_id)
        return RedisMemory(session_id, user_id, port=self._port, key_prefix=self._prefix)


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path, port: int) -> World:
    return World(request.param, tmp_path, port)


@pytest.fixture(params=[kind for kind in KINDS if kind != "process"])
def lasting(request: pytest.FixtureRequest, tmp_path: Path, port: int) -> World:
    return World(request.param, tmp_path, port)


def said(count: int) -> list[Msg]:
    return [Msg("ann", f"第{place}", "user", metadata={"place": place}) for place in range(count)]


async def places(memory: MemoryBase, **wanted: Any) -> list[int]:
    return [one.metadata["place"] for one in await memory.get_memory(prepend_summary=False, **wanted)]


async def test_messages_come_back_as_they_were_added(world: World) -> None:
    content: Any = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "好"}]
    result: Any = {"type": "tool_result", "id": "1", "name": "f", "output": "x"}
    messages = [Msg("bot", content, "assistant", {"a": [1]}, invocation_id="i"), Msg("system", [result], "system")]

    memory = world.made()
    assert (await memory.get_memory(), await memory.size()) == ([], 0)
    await memory.add(None)
    await memory.add([])
    await memory.add(messages[0])
    await memory.add(messages[1:], marks=[])
    assert await memory.size() == 2
    assert [vars(one) for one in await memory.get_memory()] == [vars(one) for one in messages]


async def test_what_is_stored_and_what_is_read_are_copies() -> None:
    memory, message = InMemoryMemory(), Msg("ann", [{"type": "text", "text": "x"}], "user", {"a": [1]})
    await memory.add(message)
    message.content[0]["text"] = message.name = "changed"  # type: ignore[index]
    message.metadata["a"].append(2)
    [read] = await memory.get_memory()
    assert (read.name, read.get_text_content(), read.metadata) == ("ann", "x", {"a": [1]})
    read.metadata["a"].append(3)
    read.content.clear()  # type: ignore[union-attr]
    [again] = await memory.get_memory()
    assert (again.get_text_content(), again.metadata) == ("x", {"a": [1]})


async def test_the_summary_comes_first_and_outlives_clear(world: World) -> None:
    memory = world.made()
    await memory.add(said(2), marks="m")
    await memory.update_compressed_summary("他们聊过茶。")
    first, *rest = await memory.get_memory(mark="m")
    assert (first.name, first.role, first.content, len(rest)) == ("user", "user", "他们聊过茶。", 2)
    assert len(await memory.get_memory(prepend_summary=False)) == 2
    await memory.clear()
    assert [one.content for one in await memory.get_memory()] == ["他们聊过茶。"]
    assert (await memory.size(), await places(memory, mark="m")) == (0, [])
    await memory.update_compressed_summary("")
    assert await memory.get_memory() == []
    await memory.add(said(1), marks="other")
    assert await places(memory, mark="m") == []


class OfTheirs(str, Enum):  # noqa: UP042 - as AgentScope writes it
    """As AgentScope's own marks are."""

    HINT = "hint"


async def test_a_mark_may_be_of_an_enumeration_of_texts() -> None:
    memory = InMemoryMemory()
    await memory.add(said(2), marks=OfTheirs.HINT)
    assert [marks for _, marks in memory.content] == [["hint"], ["hint"]]
    assert len(await memory.get_memory(mark=OfTheirs.HINT)) == 2
    assert await memory.update_messages_mark("seen", OfTheirs.HINT, [(await memory.get_memory())[0].id]) == 1
    assert await memory.delete_by_mark(OfTheirs.HINT) == 1


@pytest.mark.parametrize("mark", [1, None, ["a", 1], ("a",)])
async def test_marks_that_are_no_text_are_refused(mark: Any) -> None:
    memory = InMemoryMemory()
    await memory.add(said(1), marks="m")
    if mark is not None:
        with pytest.raises(WrongType):
            await memory.add(said(1), marks=mark)
        with pytest.raises(WrongType):
            await memory.delete_by_mark(mark)
        for wrong in ({"mark": mark}, {"exclude_mark": mark}):
            with pytest.raises(TypeError):
                await memory.get_memory(**wrong)
        with pytest.raises(ValueError, match="mark"):
            await memory.update_messages_mark(mark)
    with pytest.raises(TypeError):
        await memory.update_messages_mark("x", msg_ids=cast("Any", [mark]))
    assert (await memory.size(), await places(memory, mark="m")) == (1, [0])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("role", "tool"), ("content", [{"type": "card"}]), ("content", None), ("metadata", {"x": object()}),
        ("name", 3), ("id", ""), ("id", "x" * 2000),
    ],
)  # fmt: skip
async def test_a_message_that_breaks_a_rule_is_refused_and_so_are_those_beside_it(field: str, value: Any) -> None:
    memory, broken = InMemoryMemory(), Msg("a", "x", "user")
    vars(broken)[field] = value
    with pytest.raises(InvalidInput):
        await memory.add([*said(1), broken], marks="m")
    assert (await memory.size(), await memory.get_memory(mark="m")) == (0, [])


async def test_sessions_and_users_see_only_their_own(lasting: World) -> None:
    owners = [(user, session) for user in ("u", "u-s", "u:session:s") for session in ("s", "s-s", "s:session:s")]
    owners += [(name, "s") for name in HOSTILE]

    memories = [lasting.made(session, user) for user, session in owners]
    shared = Msg("hub", "to all", "assistant")
    for place, memory in enumerate(memories):
        await memory.add([Msg("ann", "x", "user", {"place": place})], marks="m")
        # The same message is in every memory of a hub.
        await memory.add(shared, marks="shared")
    for place, memory in enumerate(memories):
        assert await places(memory, mark="m") == [place]
        assert await memory.size() == 2
    for memory in memories[1:]:
        assert await memory.delete([shared.id]) == 1
        assert await memory.delete_by_mark("m") == 1
        await memory.update_compressed_summary("gone")
        await memory.clear()
    assert await places(memories[0], mark="m") == [0]
    assert [one.id for one in await memories[0].get_memory(mark="shared")] == [shared.id]


def test_everything_is_there_after_a_restart(lasting: World) -> None:
    async def before() -> None:
        memory = lasting.made()
        await memory.add(said(3), marks="m")
        await memory.update_messages_mark("n", msg_ids=[(await memory.get_memory())[1].id])
        await memory.update_compressed_summary("sum")

    async def after() -> None:
        memory = lasting.made()
        assert [one.content for one in await memory.get_memory()] == ["sum", "第0", "第1", "第2"]
        assert await places(memory, mark="n") == [1]
        assert await places(memory, exclude_mark="n") == [0, 2]

    asyncio.run(before())
    asyncio.run(after())


async def test_without_transactions_nothing_is_lost_or_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Redis has none.
    monkeypatch.setattr(memories, "transaction_of", lambda history: nullcontext())

    several = [MemwellMemory(tmp_path / "a.db", "s") for _ in range(3)]
    messages = said(15)
    for some in (messages[:5], messages[5:10], messages[10:]):
        await asyncio.gather(*(one.add(some, marks="m") for one in several))
        await asyncio.gather(*(one.add(message, marks="n") for message in some for one in several))
    assert sorted(await places(several[0], mark="m")) == list(range(15))
    assert await several[0].size() == 15


_IDS = st.lists(st.integers(0, 7), max_size=4)
_MARK = st.sampled_from(["a", "b", "ab", "é"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _IDS, st.lists(_MARK, max_size=2)),
        st.tuples(st.just("delete"), _IDS, st.none()),
        st.tuples(st.just("delete_by_mark"), st.lists(_MARK, max_size=2), st.none()),
        st.tuples(st.just("mark"), st.none() | _IDS, st.tuples(st.none() | _MARK, st.none() | _MARK)),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=12,
)


class Model:
    """What a memory should hold: messages by place of creation, each with its marks."""

    def __init__(self) -> None:
        self.held: dict[int, set[str]] = {}

    def add(self, which: list[int], marks: list[str]) -> None:
        for one in which:
            self.held.setdefault(one, set(marks))

    def delete(self, gone: set[int]) -> int:
        before = len(self.held)
        self.held = {one: marks for one, marks in self.held.items() if one not in gone}
        return before - len(self.held)

    def mark(self, which: list[int] | None, new: str | None, old: str | None) -> int:
        changed = 0
        for one, marks in self.held.items():
            if (which is not None and one not in which) or (old is not None and old not in marks):
                continue
            now = (marks - {old}) | ({new} if new is not None else set())
            changed += now != marks
            self.held[one] = now
        return changed

    def chosen(self, mark: str | None, exclude: str | None) -> list[int]:
        return [
            one
            for one, marks in self.held.items()
            if (mark is None or mark in marks) and (exclude is None or exclude not in marks)
        ]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
@example(steps=[("add", [0], []), ("delete", [0], None), ("add", [0, 1], []), ("add", [1], [])])
def test_messages_marks_and_counts_are_those_of_a_simple_model(world: World, steps: list[Any]) -> None:
    async def body() -> None:
        memory, model, messages = world.made(new_id()), Model(), said(8)
        for verb, which, more in steps:
            if verb == "add":
                model.add(which, more)
                await memory.add([messages[one] for one in which], marks=more)
            elif verb == "delete":
                assert await memory.delete([messages[one].id for one in which]) == model.delete(set(which))
            elif verb == "delete_by_mark":
                gone = {one for mark in which for one in model.chosen(mark, None)}
                assert await memory.delete_by_mark(which) == model.delete(gone)
            elif verb == "mark":
                ids = None if which is None else [messages[one].id for one in which]
                assert await memory.update_messages_mark(*more, msg_ids=ids) == model.mark(which, *more)
            else:
                model.held.clear()
                await memory.clear()
            for mark, exclude in [(None, None), ("a", None), (None, "a"), ("ab", "a"), ("b", "é")]:
                assert await places(memory, mark=mark, exclude_mark=exclude) == model.chosen(mark, exclude)
        assert await memory.size() == len(model.held)

    asyncio.run(body())


# The memory in the process: its state


def held(memory: InMemoryMemory) -> list[tuple[str, list[str]]]:
    return [(one.id, marks) for one, marks in memory.content]


@pytest.mark.parametrize("kind", ["process", "redis"])
@pytest.mark.parametrize("wanted", [{"allow_duplicates": True}, {"skip_duplicated": False}])
async def test_duplicates_are_kept_when_they_are_asked_for(kind: str, wanted: Any, tmp_path: Path, port: int) -> None:
    memory = World(kind, tmp_path, port).made()
    one, two = said(2)
    await memory.add([one, two, one], **wanted)
    one.content = "later"
    await memory.add(one, marks="m", **wanted)
    found = await memory.get_memory()
    assert [read.id for read in found] == [one.id, two.id, one.id, one.id]
    assert [read.content for read in found] == ["第0", "第1", "第0", "later"]
    assert [read.content for read in await memory.get_memory(mark="m")] == ["later"]
    await memory.add(one)
    assert await memory.update_messages_mark("n", msg_ids=[one.id]) == 3
    assert await memory.delete_by_mark("m") == 1
    assert await memory.delete([one.id]) == 2
    assert await places(memory) == [1]
    assert await memory.get_memory(mark="n") == []


async def test_a_state_is_restored_also_to_empty_and_from_the_years_before_marks() -> None:
    full, memory, messages = InMemoryMemory(), InMemoryMemory(), said(2)
    await full.add(messages, marks=["b", "a"])
    await full.update_compressed_summary("sum")
    state, blank = full.state_dict(), memory.state_dict()
    assert list(state) == ["_compressed_summary", "content"]
    assert [marks for _, marks in state["content"]] == [["b", "a"], ["b", "a"]]
    memory.load_state_dict(state)
    assert (held(memory), memory.state_dict()) == (held(full), state)
    memory.load_state_dict(blank)
    assert (memory.content, memory.state_dict()) == ([], blank)
    memory.load_state_dict({"content": [one.to_dict() for one in messages]})
    assert held(memory) == [(one.id, []) for one in messages]
    memory.load_state_dict({"content": [(messages[0].to_dict(), ("m",))], "_compressed_summary": "s"})
    assert held(memory) == [(messages[0].id, ["m"])]
    assert memory.state_dict()["_compressed_summary"] == "s"


@pytest.mark.parametrize(
    "state",
    [
        None, [], {"content": 1}, {"content": [1]}, {"content": [[{}, []]]},
        {"content": [[said(1)[0].to_dict(), [1]]]}, {"content": [[said(1)[0].to_dict(), [], []]]},
        {"content": [{**said(1)[0].to_dict(), "role": "tool"}]}, {"content": [], "_compressed_summary": 3},
    ],
)  # fmt: skip
def test_what_is_no_state_changes_nothing(state: Any) -> None:
    memory = InMemoryMemory()
    asyncio.run(memory.add(said(1), marks="m"))
    before = memory.state_dict()
    with pytest.raises(InvalidInput):
        memory.load_state_dict(state)
    with pytest.raises(KeyError):
        memory.load_state_dict({"_compressed_summary": "x"})
    assert memory.state_dict() == before
    memory.load_state_dict({"_compressed_summary": "x"}, strict=False)
    assert memory.state_dict() == {"_compressed_summary": "x", "content": []}


def test_a_memory_is_saved_in_a_session_with_the_agent_that_has_it() -> None:
    class Agent(StateModule):
        def __init__(self) -> None:
            self.memory = InMemoryMemory()

    with Sessions("memory:") as sessions:
        agent, other = Agent(), Agent()
        asyncio.run(agent.memory.add(said(2), marks="m"))
        sessions.save("s", agent=agent)
        assert sessions.load("s", agent=other)
        assert held(other.memory) == held(agent.memory)


# The memory in a file: what its state does


async def test_a_file_takes_the_messages_of_a_state_that_it_has_not(tmp_path: Path) -> None:
    old, memory = InMemoryMemory(), MemwellMemory(tmp_path / "a.db")
    await old.add(said(2), marks="m")
    await old.update_compressed_summary("sum")
    memory.load_state_dict(old.state_dict())
    assert await places(memory, mark="m") == [0, 1]
    assert memory.state_dict() == {"_compressed_summary": "sum"}
    await memory.add(Msg("a", "later", "user", {"place": 7}))
    memory.load_state_dict({**old.state_dict(), "_compressed_summary": "older"})
    assert await places(memory) == [0, 1, 7]
    assert (await memory.get_memory())[0].content == "older"
    with pytest.raises(MissingState):
        memory.load_state_dict({})
    memory.load_state_dict({}, strict=False)
    assert memory.state_dict() == {"_compressed_summary": "older"}
    # An older layout, without marks and without a summary.
    more = [Msg("a", "more", "user", {"place": place}) for place in (8, 9)]
    memory.load_state_dict({"content": [one.to_dict() for one in (await memory.get_memory())[1:2] + more]})
    assert await places(memory) == [0, 1, 7, 8, 9]
    assert memory.state_dict() == {"_compressed_summary": "older"}
    with pytest.raises(InvalidInput, match="for MemwellMemory"):
        memory.load_state_dict({"content": [more[0].to_dict(), 3]})
    await memory.clear()
    memory.load_state_dict({"content": [one.to_dict() for one in more]})
    assert await places(memory) == [8, 9]


async def test_a_memory_of_redis_is_a_conversation_of_the_engine(port: int) -> None:
    async with RedisMemory("trip", "ann:x", port=port, key_prefix="app:") as memory:
        await memory.add(Msg("ann", "hello", "user"), "m", False)
        await memory.add(Msg("ann", "hello", "user"), marks="m")
        assert (memory.session_id, memory.user_id, memory.key_prefix) == ("trip", "ann:x", "app:")
    with open_backend(f"redis://localhost:{port}/0") as backend:
        thread = History(backend, "trip", space=Space("app", "ann:x"))
        assert [one.text for one in thread] == ["hello", "hello"]
    pool = type("Pool", (), {"connection_kwargs": {"host": "localhost", "port": port, "db": 0}})()
    assert await RedisMemory("trip", "ann:x", connection_pool=pool, key_prefix="app:").size() == 2
    await memory.clear()
    with pytest.raises(Unsupported, match="do not expire"):
        RedisMemory(port=port, key_ttl=60)
    with pytest.raises(InvalidInput):
        RedisMemory("s", "", port=port)


async def test_a_memory_of_sqlalchemy_is_next_to_its_database(tmp_path: Path) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'app.db'}")
    async with AsyncSQLAlchemyMemory(engine, "s", "ann") as memory, AsyncSession(engine) as session:
        await memory.add(said(2), marks="m")
        # Two users with sessions of one name do not see each other.
        assert await AsyncSQLAlchemyMemory(session, "s", "bob").size() == 0
        assert await places(AsyncSQLAlchemyMemory(session, "s", "ann"), mark="m") == [0, 1]
    assert len(History.open(str(tmp_path / "app.db.memwell"), "s", space="ann")) == 2
    await engine.dispose()
    inside = create_async_engine("sqlite+aiosqlite:///:memory:")
    await AsyncSQLAlchemyMemory(inside).add(said(1))
    assert await AsyncSQLAlchemyMemory(inside).size() == 1
    await inside.dispose()
    server = SimpleNamespace(url=make_url("postgresql+asyncpg://ann:s%40cret@db/app"), sync_engine=object())
    assert _store_of(server) == "postgresql://ann:s%40cret@db/app"
    server.url = make_url("mysql+aiomysql://db/app")
    with pytest.raises(InvalidInput, match="not in mysql"):
        _store_of(server)
    for wrong in (None, "sqlite://", object()):
        with pytest.raises(InvalidInput, match="engine_or_session"):
            AsyncSQLAlchemyMemory(wrong)


CALL: Any = {"type": "tool_use", "id": "7", "name": "search", "input": {"q": "茶"}}


RESULT: Any = {"type": "tool_result", "id": "7", "name": "search", "output": [{"type": "text", "text": "绿茶"}]}


TALK = [
    Msg("system", "Be brief.", "system"),
    Msg("ann", "Which tea?", "user"),
    Msg("bot", [{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": "I look."}, CALL], "assistant"),
    Msg("system", [RESULT], "system"),
    Msg("bot", "绿茶", "assistant"),
]


def test_a_conversation_reads_right_through_the_engine_and_another_room(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    asyncio.run(MemwellMemory(store, "trip").add(TALK, marks="m"))
    with memwell.open(store, embedder=None) as engine:
        thread = engine.thread("trip")
        roles = [(one.role.value, one.name, one.text) for one in thread]
        assert roles == [
            ("system", "system", "Be brief."),
            ("human", "ann", "Which tea?"),
            ("ai", "bot", "I look."),
            ("tool", "system", "绿茶"),
            ("ai", "bot", "绿茶"),
        ]
        assert thread.get(2).tool_calls == (ToolCall("7", "search", {"q": "茶"}),)
        assert [one.id for one in thread] == [one.id for one in TALK]
        assert (len(thread.rounds()), len(thread.search("tea"))) == (1, 1)
        assert thread.search("SECRET") == []
    system, human, called, answered, last = MemwellChatMessageHistory("trip", store).messages
    assert (system.content, human.content, last.content) == ("Be brief.", "Which tea?", "绿茶")
    assert isinstance(human, HumanMessage)
    assert isinstance(called, AIMessage)
    assert called.tool_calls[0]["name"] == "search"
    assert isinstance(answered, ToolMessage)
    assert (answered.tool_call_id, answered.content) == ("7", "绿茶")


# The conversation below a memory


_WRITER = """
import asyncio, sys
from memwell.compat.agentscope.memories import MemwellMemory
from memwell.compat.agentscope.messages import Msg

async def main(store, who):
    memory = MemwellMemory(store, "s", "u")
    shared = [Msg("hub", "x", "user") for _ in range(5)]
    for place, one in enumerate(shared):
        one.id = f"shared-{place}"
    for place in range(25):
        await memory.add(Msg(who, str(place), "user"), marks=[who, "all"])
        await memory.add(shared, marks="shared")
        await memory.update_messages_mark("late", old_mark=who)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_other_rooms_write_is_read(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    chat = MemwellChatMessageHistory("trip", store, space="ann")
    chat.add_messages([HumanMessage("hi"), AIMessage("hello", id="1")])
    with memwell.open(store, space="ann", embedder=None) as engine:
        engine.thread("trip").add(memwell.human("shown only", hidden=True), memwell.human("bye", name="Ann"))

    memory = MemwellMemory(store, "trip", "ann")
    read = await memory.get_memory()
    assert [(one.name, one.role, one.content) for one in read] == [
        ("user", "user", "hi"),
        ("assistant", "assistant", "hello"),
        ("Ann", "user", "bye"),
    ]
    assert await memory.update_messages_mark("seen", msg_ids=[read[2].id]) == 1
    assert [one.content for one in await memory.get_memory(mark="seen")] == ["bye"]


def test_two_processes_on_one_file_lose_no_message_and_no_mark(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(store), who]) for who in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    async def body() -> None:
        memory = MemwellMemory(store, "s", "u")
        late = await memory.get_memory(mark="late")
        for who in ("one", "two"):
            assert [one.content for one in late if one.name == who] == [str(place) for place in range(25)]
            assert await memory.get_memory(mark=who) == []
        assert len(await memory.get_memory(mark="all")) == 50
        assert len(await memory.get_memory(mark="shared")) == 5
        assert await memory.size() == 55

    asyncio.run(body())


class Counted:
    """How many messages a log was asked for, by whatever reads them."""

    def __init__(self, history: History) -> None:
        self.read = 0
        self._log_read = history.log.read
        history.log.read = self._counting

    def _counting(self, *args: Any, ids: Iterable[str] | None = None, **wanted: Any) -> list[Message]:
        found = self._log_read(*args, ids=ids, **wanted)
        self.read += len(found)
        return found


async def test_reading_by_mark_and_adding_read_no_more_than_they_need() -> None:
    memory = InMemoryMemory()
    old = [Msg("ann", str(place), "user") for place in range(3_000)]
    await memory.add(old, marks="compressed")
    await memory.add([Msg("ann", "new", "user") for _ in range(5)])
    await memory.update_messages_mark("hint", msg_ids=[old[7].id, old[2_000].id])
    counted = Counted(memory.history)
    assert len(await memory.get_memory(mark="hint")) == 2
    assert len(await memory.get_memory(exclude_mark="compressed")) == 5
    await memory.add(Msg("ann", "newer", "user"), marks="compressed")
    await memory.add(old[0])
    assert counted.read <= 8
    assert await memory.delete_by_mark("hint") == 2
    assert counted.read <= 12


@pytest.mark.parametrize("kind", KINDS)
async def test_messages_are_deleted_by_their_place_and_retrieved_by_their_words(kind: str, tmp_path: Path, port: int):
    memory = cast(Any, World(kind, tmp_path, port).made())
    said = [Msg("ann", text, "user") for text in ("I live in Oslo.", "Tea, please.", "Oslo is cold.", "Good night.")]
    await memory.add(said, allow_duplicates=False)
    assert await memory.delete(1) == 1
    assert await memory.delete(index=[2]) == 1
    with pytest.raises(IndexError, match="no message at 2; there are 2"):
        await memory.delete([0, 2])
    with pytest.raises(WrongType):
        await memory.delete(["x", 1])
    assert [one.content for one in await memory.get_memory()] == ["I live in Oslo.", "Oslo is cold."]
    await memory.add(said[0], allow_duplicates=True)
    assert await memory.delete(2) == 1, "of two with one id the one at this place"
    assert [one.id for one in await memory.retrieve("Where is it cold?")] == [said[2].id]
    assert {one.id for one in await memory.retrieve(Msg("ann", "Oslo", "user"), limit=5)} == {said[0].id, said[2].id}
    assert len(await memory.retrieve("Oslo", limit=1)) == 1
    assert await memory.retrieve("") == []

"""Chat histories over conversations of ours and in files, and any chat history read as a conversation."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import langchain_core.messages as theirs
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.chat_history import InMemoryChatMessageHistory as Theirs
from sqlalchemy import Engine, create_engine, event, inspect

from memwell.compat.langchain.buffers import ConversationBufferMemory
from memwell.compat.langchain.entities import RedisEntityStore
from memwell.compat.langchain.histories import (
    BaseChatMessageHistory,
    ChatLog,
    ChatMessageHistory,
    FileChatMessageHistory,
    InMemoryChatMessageHistory,
    MemwellChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLChatMessageHistory,
    ThreadChatMessageHistory,
    conversation,
)
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    from_core,
    messages_to_dict,
)
from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    InvalidInput,
    MissingDependency,
    Unsupported,
)
from memwell.history import History
from memwell.messages import Message, Role, Text, ToolCall, ai, human
from memwell.messages import ToolResult as CoreResult
from memwell.records import Space, Thread
from memwell.storage import open_backend
from memwell.storage.registry import close_shared, shared_backend
from memwell.strategies.state import StrategyState
from memwell.values import now
from tests.engines import postgres
from tests.ports import closed_port
from tests.servers import redis_server

with warnings.catch_warnings():
    # It says that it is no longer maintained.
    warnings.simplefilter("ignore")
    from langchain_community.chat_message_histories import FileChatMessageHistory as TheirFile
    from langchain_community.chat_message_histories import PostgresChatMessageHistory as TheirPostgres
    from langchain_community.chat_message_histories import RedisChatMessageHistory as TheirRedis
    from langchain_community.chat_message_histories import SQLChatMessageHistory as TheirSql

ROOT = Path(__file__).parents[3]
SAID = [
    SystemMessage("be brief"),
    HumanMessage("你好", id="1", additional_kwargs={"a": 1}),
    AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}], response_metadata={"m": 1}),
    ToolMessage("done", tool_call_id="c", artifact={"k": [1]}),
]


@pytest.fixture(params=["memory", "thread", "stored"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ThreadChatMessageHistory]:
    if request.param == "memory":
        yield InMemoryChatMessageHistory()
    elif request.param == "stored":
        yield MemwellChatMessageHistory("s", str(tmp_path / "chat.db"))
    else:
        with open_backend(tmp_path / "other.db") as backend:
            yield ThreadChatMessageHistory(History(backend, "s"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.json"


def test_what_was_added_comes_back(history: ThreadChatMessageHistory) -> None:
    history.add_messages(SAID)
    history.add_user_message("more")
    history.add_ai_message("indeed")
    history.add_message(theirs.HumanMessage("theirs", id="9"))
    history.add_messages([])
    assert history.messages == [*SAID, HumanMessage("more"), AIMessage("indeed"), HumanMessage("theirs", id="9")]
    assert str(history).splitlines()[0] == "System: be brief"
    assert [message.text for message in history.history][:2] == ["be brief", "你好"]
    history.clear()
    assert (history.messages, str(history), bool(history)) == ([], "", True)


def test_a_message_may_come_twice_and_assigning_replaces(history: ThreadChatMessageHistory) -> None:
    history.add_messages(SAID)
    history.add_messages([*SAID, SAID[1], SAID[1]])
    assert history.messages == [*SAID, *SAID, SAID[1], SAID[1]]
    history.messages = history.messages[-1:]
    history.messages.clear()
    assert history.messages == [SAID[1]]
    history.messages = [SAID[1], SAID[1], *SAID]
    for wrong in (["x"], [*SAID, HumanMessage("x", extra=object())]):
        with pytest.raises(InvalidInput):
            history.messages = wrong
        with pytest.raises(InvalidInput):
            history.add_messages([*SAID, *wrong])
    assert history.messages == [SAID[1], SAID[1], *SAID]


@pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory` was deprecated")
def test_every_result_of_a_message_is_shown_and_assigning_keeps_them(history: ThreadChatMessageHistory) -> None:
    results = (CoreResult("1", (Text("Ten."),), "f"), CoreResult("2", (Text("No."),), "g", is_error=True))
    history.history.add(human("Count."), ai("", tool_calls=[ToolCall("1", "f"), ToolCall("2", "g")]))
    history.history.add(Message(Role.TOOL, results), Message(Role.AI, (Text("So."), ToolCall("3", "f"), *results[:1])))
    shown = [(one.type, one.text, getattr(one, "tool_call_id", None)) for one in history.messages]
    expected = [
        *(("human", "Count.", None), ("ai", "", None), ("tool", "Ten.", "1"), ("tool", "No.", "2")),
        *(("ai", "So.", None), ("tool", "Ten.", "1")),
    ]
    assert shown == expected
    failed = history.messages[3]
    assert isinstance(failed, ToolMessage)
    assert (failed.name, failed.status) == ("g", "error")
    assert "No." in ConversationBufferMemory(chat_memory=history).buffer_as_str
    history.messages = history.messages
    assert [(one.type, one.text, getattr(one, "tool_call_id", None)) for one in history.messages] == expected


@pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory` was deprecated")
def test_equal_histories_are_equal() -> None:
    one, other = InMemoryChatMessageHistory(SAID), InMemoryChatMessageHistory(SAID)
    assert one == other == Theirs(messages=theirs.messages_from_dict(messages_to_dict(SAID)))
    other.add_user_message("more")
    assert one != other
    assert one != SAID
    assert ChatMessageHistory() == InMemoryChatMessageHistory()


def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    url = str(tmp_path / "chat.db")
    MemwellChatMessageHistory("one", url).add_messages(SAID)
    MemwellChatMessageHistory("one", url, space="other").add_user_message("separate")
    assert MemwellChatMessageHistory("two", url).messages == []
    assert shared_backend(url) is shared_backend(f"sqlite:{url}") is shared_backend(tmp_path / "chat.db")
    close_shared()
    again = MemwellChatMessageHistory("one", url)
    assert (again.messages, again.session_id) == (SAID, "one")
    assert ChatMessageHistory(messages=SAID).messages == SAID
    assert ChatMessageHistory().messages == []


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


class Neither(BaseChatMessageHistory):
    def clear(self) -> None: ...


def test_subclasses() -> None:
    for made in (Single(), Bulk()):
        made.add_messages([HumanMessage("a")])
        made.add_ai_message("b")
        asyncio.run(made.aadd_messages([HumanMessage("c")]))
        assert asyncio.run(made.aget_messages()) == [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
        asyncio.run(made.aclear())
        assert made.messages == []
    for attempt in (lambda: Neither().add_message(SAID[0]), lambda: Neither().add_messages([SAID[0]])):
        with pytest.raises(NotImplementedError, match="add_message is not implemented for this class"):
            attempt()


def test_the_file_has_langchains_layout(path: Path) -> None:
    history = FileChatMessageHistory(str(path))
    assert (path.read_text(), history.file_path) == ("[]", path)
    history.add_messages(SAID)
    history.add_messages([])
    history.add_user_message("more")
    assert TheirFile(str(path)).messages == history.messages == [*SAID, HumanMessage("more")]
    layouts = theirs.messages_to_dict(TheirFile(str(path)).messages)
    assert path.read_bytes() == json.dumps(layouts, ensure_ascii=False).encode()
    assert "你好" in path.read_text("utf-8")


@settings(max_examples=25)
@given(data=st.data())
def test_both_may_write_in_turn(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("both") / "chat.json"
    mine, other, second = FileChatMessageHistory(path), TheirFile(str(path)), FileChatMessageHistory(path)
    expected: list[BaseMessage] = []
    for number in range(data.draw(st.integers(1, 6))):
        who = data.draw(st.sampled_from(["mine", "second", "theirs", "indent", "clear", "delete"]))
        message = HumanMessage(f"{number}: {data.draw(st.text(max_size=5))}")
        if who in ("clear", "delete"):
            expected = []
            mine.clear() if who == "clear" else path.unlink()
            TheirFile(str(path))
        elif who == "indent":
            path.write_text(json.dumps(json.loads(path.read_text()), indent=2, ensure_ascii=True) + "\n")
        else:
            {"mine": mine, "second": second, "theirs": other}[who].add_message(message)
            expected.append(message)
        assert mine.messages == expected
    assert second.messages == other.messages == expected


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "utf-16", "gb18030", "latin-1"])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_encodings(path: Path, encoding: str | None, ensure_ascii: bool) -> None:
    words = "héllo" if encoding == "latin-1" else "你好 héllo"
    history = FileChatMessageHistory(path, encoding=encoding, ensure_ascii=ensure_ascii)
    for _ in range(3):
        history.add_user_message(words)
    again = TheirFile(str(path), encoding=encoding)
    assert again.messages == history.messages == FileChatMessageHistory(path, encoding=encoding).messages
    again.add_user_message("theirs")
    assert [message.content for message in history.messages] == [words, words, words, "theirs"]


def test_half_a_character_is_escaped_as_langchain_does(path: Path) -> None:
    history = FileChatMessageHistory(path)
    history.add_user_message("你\ud800好")
    assert TheirFile(str(path)).messages == history.messages == [HumanMessage("你\ud800好")]


def test_a_message_that_cannot_be_written_changes_nothing(path: Path) -> None:
    history = FileChatMessageHistory(path, encoding="ascii", ensure_ascii=False)
    history.add_user_message("a")
    with pytest.raises(InvalidInput, match="ascii"):
        history.add_user_message("你好")
    with pytest.raises(InvalidInput, match="JSON"):
        history.add_message(HumanMessage("x", extra=object()))
    assert [message.content for message in history.messages] == ["a"]


@pytest.mark.parametrize("broken", ['[{"type": "human"', "{}", "[1]", '{"a": 1}', "[] []", "\xff", "null"])
def test_a_broken_file_is_named_and_not_written_to(path: Path, broken: str) -> None:
    path.write_bytes(broken.encode("latin-1"))
    history = FileChatMessageHistory(path, encoding="utf-8")
    for attempt in (lambda: history.messages, lambda: history.add_user_message("x")):
        with pytest.raises(InvalidInput, match=r"chat\.json"):
            attempt()
    assert path.read_bytes() == broken.encode("latin-1")
    path.write_text('[{"type": "odd", "data": {}}]')
    with pytest.raises(InvalidInput, match=r"chat\.json.*odd"):
        _ = history.messages


@pytest.mark.parametrize("blank", [b"", b" \n", b"[ ]", b" [\n]\n", codecs.BOM_UTF8])
def test_a_file_without_messages(path: Path, blank: bytes) -> None:
    path.write_bytes(blank)
    history = FileChatMessageHistory(path, encoding="utf-8")
    assert history.messages == []
    history.add_messages(SAID)
    assert TheirFile(str(path), encoding="utf-8-sig").messages == history.messages == SAID


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig"])
def test_what_other_programs_write_beyond_the_standard(path: Path, encoding: str | None) -> None:
    layouts = [
        *messages_to_dict([HumanMessage("我")]),
        {"type": "human", "data": {"content": "\ud800", "x": float("inf")}},
    ]
    path.write_bytes(codecs.BOM_UTF8 + json.dumps(layouts).encode())
    history = FileChatMessageHistory(path, encoding=encoding)
    history.add_ai_message("two")
    for reader in (history, FileChatMessageHistory(path, encoding=encoding)):
        assert [message.content for message in reader.messages] == ["我", "\ud800", "two"]


def test_links_and_rights_stay(path: Path) -> None:
    link = path.with_name("link.json")
    FileChatMessageHistory(path).add_messages(SAID)
    path.chmod(0o600)
    link.symlink_to(path)
    FileChatMessageHistory(link).add_user_message("through the link")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600


def test_threads_and_tasks_of_one_history(path: Path) -> None:
    history = FileChatMessageHistory(path)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: [history.add_user_message("x") or history.messages for _ in range(10)], range(4)))

    async def more() -> None:
        await asyncio.gather(*(history.aadd_messages([HumanMessage(str(number))]) for number in range(10)))

    asyncio.run(more())
    assert len(TheirFile(str(path)).messages) == len(history.messages) == 50
    asyncio.run(history.aclear())
    assert path.read_text() == "[]"


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
def test_kills_and_two_processes() -> None:
    command = [sys.executable, "-m", "benchmarks.langchain_files", "--kills", "30", "--ours", "--json", "--dry"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)
    kills, crowd = found["kills"][0], found["crowds"][0]
    assert kills["acknowledged"] >= 20
    assert {kills[name] for name in ("unreadable", "destroyed", "lost", "phantom")} == {0}
    assert (crowd["stored"], crowd["errors"], crowd["invalid_reads"]) == (400, 0, 0)


def test_without_transactions_a_failed_replacement_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis_server(tmp_path) as url:
        history = MemwellChatMessageHistory("s", url)
        history.add_messages(SAID)
        state = StrategyState(history.history, "summary")
        state.move(state.read(), upto=4, round=1, fields={"summary": "of the old messages"})
        with monkeypatch.context() as patched:
            patched.setattr(type(history.history.log), "append", lambda *args: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                history.messages = [HumanMessage("new")]
        assert history.messages == SAID
        history.messages = [SAID[1], HumanMessage("new")]
        assert history.messages == [SAID[1], HumanMessage("new")]
        assert state.read().fields == {}
        history.messages = []
        assert history.messages == []
        close_shared()


# Any history as a conversation


class Listed:
    """The least that a chat history can be."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages


KINDS = {"h": HumanMessage, "a": AIMessage, "s": SystemMessage}


@given(st.text("has", max_size=12), st.integers(0, 5), st.integers(0, 40))
def test_a_view_reads_like_a_conversation_of_ours(kinds: str, rounds: int, tokens: int) -> None:
    said = [KINDS[kind](f"{kind}{place}") for place, kind in enumerate(kinds)]
    ours, view = ChatMessageHistory(said).history, conversation(Listed(said))
    assert (len(view), view.tokens) == (len(ours), ours.tokens)

    def texts(messages: Any) -> list[str]:
        return [one.text for one in messages]

    assert [texts(one.messages) for one in view.rounds()] == [texts(one.messages) for one in ours.rounds()]
    assert texts(view.last(3)) == texts(ours.last(3))
    assert texts(reversed(view)) == texts(reversed(ours))
    assert texts(view.window(rounds=rounds)) == texts(ours.window(rounds=rounds))
    assert texts(view.window(tokens=tokens, system=False)) == texts(ours.window(tokens=tokens, system=False))


def test_what_a_view_is_of() -> None:
    memory = ChatMessageHistory()
    assert conversation(memory) is memory.history
    with warnings.catch_warnings():
        # Its newer versions say that it is no longer maintained.
        warnings.simplefilter("ignore")
        other = Theirs(messages=[theirs.HumanMessage("你好", id="7"), theirs.AIMessage("b")])
    view = conversation(other)
    assert [(one.role, one.text, one.index) for one in view] == [(Role.HUMAN, "你好", 0), (Role.AI, "b", 1)]
    assert [from_core(one) for one in view] == other.messages
    assert view.get(view.get(0).id).text == "你好"
    with pytest.raises(InvalidInput, match="messages"):
        conversation(object())
    log, thread = ChatLog(Listed([HumanMessage("x")])), Thread(Space("s"), "chat")
    assert log.versions(thread, 0) == []
    for attempt in (lambda: log.append(thread, []), lambda: log.trim(thread, 0), lambda: log.match(thread, "x")):
        with pytest.raises(Unsupported):
            attempt()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    client = RedisChatMessageHistory("x", server).redis_client
    client.flushall()
    client.close()


def test_both_may_write_in_turn_in_redis(url: str) -> None:
    mine, other = RedisChatMessageHistory("s", url), TheirRedis("s", url)
    other.add_user_message("first")
    mine.add_messages(SAID)
    other.add_ai_message("last")
    expected = [HumanMessage("first"), *SAID, AIMessage("last")]
    assert mine.messages == other.messages == expected
    assert mine.key == "message_store:s"
    assert RedisChatMessageHistory("other", url).messages == []
    mine.clear()
    assert other.messages == []


def test_time_to_live(url: str) -> None:
    history = RedisChatMessageHistory("s", url, key_prefix="p:", ttl=100)
    history.add_messages(SAID)
    history.redis_client.expire("p:s", 5)
    history.add_messages([])
    assert history.redis_client.ttl("p:s") <= 5
    history.add_user_message("more")
    assert 90 < history.redis_client.ttl("p:s") <= 100
    by_default, for_ever = RedisChatMessageHistory("t", url), RedisChatMessageHistory("t", url, ttl=None)
    for other, least in ((by_default, 86_000), (for_ever, -1)):
        other.clear()
        other.add_user_message("x")
        assert least <= other.redis_client.ttl("message_store:t") <= max(least, 86_400)


def test_what_cannot_be(url: str) -> None:
    history = RedisChatMessageHistory("s", url)
    with pytest.raises(NotImplementedError, match="Direct assignment"):
        history.messages = []
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, HumanMessage("x", extra=object())])
    assert history.messages == []
    history.redis_client.lpush(history.key, "no message")
    with pytest.raises(InvalidInput, match="message_store:s"):
        _ = history.messages
    history.redis_client.set("message_store:text", "x")
    with pytest.raises(BackendError):
        _ = RedisChatMessageHistory("text", url).messages
    with pytest.raises(ConfigurationError):
        RedisChatMessageHistory("s", "nonsense")


def test_without_their_packages_they_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, extra in (("redis", "redis"), ("sqlalchemy", "sql")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependency, match=rf'pip install "path/to/memwell\[{extra}\]"'):
            RedisChatMessageHistory("s") if package == "redis" else SQLChatMessageHistory("s", "sqlite://")


def test_no_server() -> None:
    with closed_port() as port:
        history = RedisChatMessageHistory("s", f"redis://127.0.0.1:{port}/0")
        for attempt in (lambda: history.messages, lambda: history.add_user_message("x")):
            with pytest.raises(BackendUnavailable):
                attempt()
        with pytest.raises(BackendUnavailable):
            RedisEntityStore(url=f"redis://127.0.0.1:{port}/0").get("x")


def test_entities_live_longer_when_recalled(url: str) -> None:
    store, other = RedisEntityStore("s", url, ttl=100, recall_ttl=1000), RedisEntityStore("s*", url)
    store.set("小明", "住在北京")
    kv, space = shared_backend(url).kv, Space("langchain", "memory_store", "s")

    def left() -> float:
        entry = kv.get(space, "小明")
        assert entry is not None
        assert entry.expires is not None
        return (entry.expires - now()).total_seconds()

    assert left() <= 100
    assert (store.get("小明"), store.get("nobody"), store.get("nobody", "?")) == ("住在北京", "", "?")
    assert 900 < left() <= 1000
    other.set("Ann", "a pilot")
    store.clear()
    assert (store.exists("小明"), other.exists("Ann")) == (False, True)
    close_shared()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'chat.db'}")
    yield made
    made.dispose()


@pytest.mark.parametrize("ours_first", [True, False])
def test_both_may_write_in_turn_in_sql(engine: Engine, ours_first: bool) -> None:
    makers: list[Any] = [SQLChatMessageHistory, TheirSql]
    made = [make("s", connection=engine) for make in (makers if ours_first else makers[::-1])]
    made[0].add_user_message("first")
    made[1].add_messages(SAID)
    made[0].add_ai_message("last")
    expected = [HumanMessage("first"), *SAID, AIMessage("last")]
    assert made[0].messages == made[1].messages == expected
    mine = next(one for one in made if isinstance(one, SQLChatMessageHistory))
    assert SQLChatMessageHistory("other", connection=engine).messages == []
    mine.clear()
    assert made[0].messages == made[1].messages == []
    indexes = inspect(engine).get_indexes("message_store")
    assert [one["column_names"] for one in indexes] == ([["session_id", "id"]] if ours_first else [])


def test_both_may_write_in_turn_in_postgres() -> None:
    url = postgres.server().url()
    for ours_first in (True, False):
        with psycopg.connect(url) as connection:
            connection.execute("DROP TABLE IF EXISTS message_store")
        made: list[Any] = []
        for make in (PostgresChatMessageHistory, TheirPostgres)[:: 1 if ours_first else -1]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.append(make("s", url))
        made[0].add_user_message("first")
        made[1].add_messages(SAID)
        made[0].add_ai_message("last")
        assert made[0].messages == made[1].messages == [HumanMessage("first"), *SAID, AIMessage("last")]
        # LangChain's own leaves its transaction open, which would hold up the next statements.
        next(one for one in made if isinstance(one, TheirPostgres)).connection.close()
        mine = next(one for one in made if isinstance(one, PostgresChatMessageHistory))
        mine.clear()
        assert mine.messages == []
        mine.engine.dispose()
    with closed_port() as port, pytest.raises(BackendUnavailable):
        PostgresChatMessageHistory("s", f"postgresql://nobody@127.0.0.1:{port}/none")


def test_one_transaction_for_all(engine: Engine) -> None:
    history = SQLChatMessageHistory("s", connection=engine)
    commits: list[Any] = []
    event.listen(engine, "commit", commits.append)
    history.add_messages([*SAID, *SAID, *SAID])
    assert len(commits) == 1
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, HumanMessage("x", extra=object())])
    assert len(history.messages) == 3 * len(SAID)


def test_connections(tmp_path: Path, engine: Engine) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    history = SQLChatMessageHistory(
        "s", url, table_name="said", session_id_field_name="who", engine_args={"echo": False}
    )
    history.add_messages(SAID)
    assert inspect(history.engine).get_table_names() == ["said"]
    history.engine.dispose()
    with pytest.raises(AssertionError):
        SQLChatMessageHistory("s", url, connection=engine)
    for nothing in (None, 7):
        with pytest.raises(ValueError, match="connection should be a connection string"):
            SQLChatMessageHistory("s", connection=nothing)  # pyright: ignore[reportArgumentType]
    for wrong in ("nonsense", "nosuchbase://x"):
        with pytest.raises(ConfigurationError):
            SQLChatMessageHistory("s", wrong)


def test_a_database_that_fails(tmp_path: Path, engine: Engine) -> None:
    history = SQLChatMessageHistory("s", connection=engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("insert into message_store (session_id, message) values ('s', 'no message')")
    with pytest.raises(InvalidInput, match="row 1"):
        _ = history.messages
    with engine.begin() as connection:
        connection.exec_driver_sql("drop table message_store")
    with pytest.raises(BackendError):
        _ = history.messages
    with pytest.raises(BackendUnavailable):
        SQLChatMessageHistory("s", f"sqlite:///{tmp_path}/no/such/folder/x.db")

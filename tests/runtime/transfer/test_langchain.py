"""What LangChain's own classes kept comes over whole, once, and is left as it was."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from typer.testing import CliRunner

import memwell
from memwell.cli import app
from memwell.errors import BackendUnavailable, ConfigurationError, InvalidInput, NotFound
from memwell.runtime.transfer.langchain import import_redis, import_sql
from tests.ports import closed_port
from tests.servers import redis_server

with warnings.catch_warnings():
    # It says that it is no longer maintained.
    warnings.simplefilter("ignore")
    from langchain_community.chat_message_histories import RedisChatMessageHistory, SQLChatMessageHistory

TALKS: dict[str, list[Any]] = {
    "anna": [
        SystemMessage("Be brief."),
        HumanMessage("What is in the fridge?"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"where": "fridge"}, "id": "c1"}]),
        ToolMessage("milk", tool_call_id="c1"),
        AIMessage("Milk.", response_metadata={"model": "small"}),
    ],
    "李雷": [HumanMessage("我六月去京都。"), AIMessage("好的。"), HumanMessage("好的。")],
    "a*b": [HumanMessage("one")],
}


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def memory() -> Iterator[memwell.Engine]:
    with memwell.open("memory:", embedder=None, work=False) as engine:
        yield engine


def kept(engine: memwell.Engine) -> dict[str, list[str]]:
    return {name: [one.text for one in engine.thread(name)] for name in TALKS}


def told() -> dict[str, list[str]]:
    return {name: [one.text for one in talk] for name, talk in TALKS.items()}


def as_url(path: Path) -> str:
    return f"sqlite:///{path}"


def make_table(url: str, **options: Any) -> None:
    for name, talk in TALKS.items():
        SQLChatMessageHistory(name, connection=url, **options).add_messages(talk)


def test_every_session_of_a_table_becomes_a_conversation(memory: memwell.Engine, tmp_path: Path) -> None:
    url, seen = as_url(tmp_path / "theirs.db"), list[tuple[int, int | None]]()
    make_table(url)
    done = import_sql(memory, url, progress=lambda at, of: seen.append((at, of)))
    assert kept(memory) == told()
    assert (done.counts, done.failed, seen[-1]) == ({"threads": 3, "messages": 9}, 0, (9, 9))
    calls = [call for one in memory.thread("anna") for call in one.tool_calls]
    assert [(call.name, call.arguments) for call in calls] == [("look", {"where": "fridge"})]
    SQLChatMessageHistory("李雷", connection=url).add_messages([AIMessage("再见。")])
    again = import_sql(memory, url, remember=True)
    assert (again.counts["messages"], again.known) == (1, 9)
    assert memory.thread("李雷").last(1)[0].text == "再见。"
    assert memory.recall("再见", limit=1)[0].text == "再见。"


def test_a_row_that_is_no_message_is_reported_and_the_others_come_over(memory: memwell.Engine, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    make_table(as_url(path))
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO message_store (session_id, message) VALUES ('anna', '{broken')")
        raw.execute(
            "INSERT INTO message_store (session_id, message) VALUES ('anna', ?)", (json.dumps({"type": "odd"}),)
        )
    raw.close()
    done = import_sql(memory, as_url(path))
    assert (done.failed, len(done.problems)) == (2, 2)
    assert kept(memory) == told()
    with pytest.raises(InvalidInput):
        import_sql(memory, as_url(path), strict=True)


def test_a_table_that_is_not_there_is_not_made(memory: memwell.Engine, tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    make_table(as_url(path))
    with pytest.raises(NotFound, match="'elsewhere'"):
        import_sql(memory, as_url(path), table_name="elsewhere")
    with pytest.raises(NotFound, match="person"):
        import_sql(memory, as_url(path), session_id_field_name="person")
    with pytest.raises(ConfigurationError):
        import_sql(memory, "no database")
    with pytest.raises(InvalidInput):
        import_sql(memory, 7)
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT name FROM sqlite_master WHERE name = 'elsewhere'").fetchall() == []
    raw.close()


def test_a_file_that_is_not_there_is_not_made(memory: memwell.Engine, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no database"):
        import_sql(memory, f"sqlite:///{tmp_path}/theirs.db")
    assert not (tmp_path / "theirs.db").exists()


def test_a_driver_that_is_not_installed_is_named(memory: memwell.Engine) -> None:
    with pytest.raises(ConfigurationError, match="pip install MySQLdb"):
        import_sql(memory, "mysql://localhost/theirs")


def test_every_list_in_redis_becomes_a_conversation(memory: memwell.Engine, redis: str) -> None:
    for name, talk in TALKS.items():
        RedisChatMessageHistory(name, url=redis, key_prefix="import:").add_messages(talk)
    done = import_redis(memory, redis, key_prefix="import:")
    assert kept(memory) == told()
    assert (done.counts, done.failed) == ({"threads": 3, "messages": 9}, 0)
    assert import_redis(memory, redis, key_prefix="import:").new == 0
    assert import_redis(memory, redis, key_prefix="imp*").new == 0
    RedisChatMessageHistory("anna", url=redis, key_prefix="import:").add_messages([HumanMessage("More?")] * 700)
    assert import_redis(memory, redis, key_prefix="import:").counts == {"messages": 700}
    assert len(memory.thread("anna")) == 705


def test_a_server_that_is_away_is_told(memory: memwell.Engine) -> None:
    with closed_port() as port, pytest.raises(BackendUnavailable):
        import_redis(memory, f"redis://127.0.0.1:{port}/0")


def test_the_command_takes_urls(tmp_path: Path, redis: str) -> None:
    url, store = as_url(tmp_path / "theirs.db"), str(tmp_path / "ours.db")
    make_table(url)
    run = CliRunner().invoke(app, ["import", url, "--store", store])
    assert run.exit_code == 0, run.output
    RedisChatMessageHistory("from redis", url=redis, key_prefix="command:").add_messages([HumanMessage("hello")])
    run = CliRunner().invoke(app, ["import", redis, "--key-prefix", "command:", "--store", store])
    assert run.exit_code == 0, run.output
    with memwell.open(store, work=False) as engine:
        assert kept(engine) == told()
        assert [one.text for one in engine.thread("from redis")] == ["hello"]
    refused = CliRunner().invoke(app, ["import", url, "--format", "mem0", "--store", store])
    assert refused.exit_code != 0


def test_conversations_of_one_name_from_two_places_stay_apart(memory: memwell.Engine, tmp_path: Path) -> None:
    said = {"a": ["hello", "ok", "I am Anna"], "b": ["hello", "ok", "I am Ben"]}
    for place, texts in said.items():
        SQLChatMessageHistory("s", connection=as_url(tmp_path / f"{place}.db")).add_messages(
            list(map(HumanMessage, texts))
        )
    for _ in range(2):
        for place in said:
            import_sql(memory, as_url(tmp_path / f"{place}.db"))
    SQLChatMessageHistory("s", connection=as_url(tmp_path / "b.db")).add_messages([HumanMessage("ok")])
    import_sql(memory, as_url(tmp_path / "." / "b.db"))
    found = memory.backend.log.threads(memory.space).items
    talks = {info.thread.id: [one.text for one in memory.thread(info.thread.id)] for info in found}
    assert sorted(talks.values()) == sorted([said["a"], [*said["b"], "ok"]])
    assert talks["s"] == said["a"]

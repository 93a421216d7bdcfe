"""Histories in a database, in the table LangChain's own class uses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, inspect

from memwell.compat.langchain.messages import AIMessage, HumanMessage
from memwell.compat.langchain.sql import SQLChatMessageHistory
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, InvalidInput

with warnings.catch_warnings():
    # It says that it is no longer maintained.
    warnings.simplefilter("ignore")
    from langchain_community.chat_message_histories import SQLChatMessageHistory as Theirs

SAID = [HumanMessage("你好", id="1"), AIMessage("b", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'chat.db'}")
    yield made
    made.dispose()


@pytest.mark.parametrize("ours_first", [True, False])
def test_both_may_write_in_turn(engine: Engine, ours_first: bool) -> None:
    makers: list[Any] = [SQLChatMessageHistory, Theirs]
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


def test_one_transaction_for_all(engine: Engine) -> None:
    history = SQLChatMessageHistory("s", connection=engine)
    commits: list[Any] = []
    event.listen(engine, "commit", commits.append)
    history.add_messages([*SAID, *SAID, *SAID])
    assert len(commits) == 1
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, HumanMessage("x", extra=object())])
    assert len(history.messages) == 6


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

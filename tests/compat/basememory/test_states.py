"""What is known of people is kept where it should be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.compat.basememory.states import ChatState, GivenRows, Row, Rows, StoredRows, Typing, UserState, moment
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.records import Space, Thread
from memwell.storage.memory import MemoryBackend

THREAD = Thread(Space("default"), "chat")


class Cupboard:
    """A storage as somebody may write it."""

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, user: str) -> Any:
        return self.rows[user]

    def __setitem__(self, user: str, row: Any) -> None:
        self.rows[user] = row


def test_rows_come_back_wherever_they_are_kept() -> None:
    with MemoryBackend() as backend:
        for rows in (StoredRows(backend, THREAD), GivenRows({}), GivenRows(Cupboard())):
            _check(rows)


def _check(rows: Rows) -> None:
    anna = Row("安娜", read=3, seen=5.5, online_until=9.0, member=False)
    with rows.together():
        rows.put(anna)
        rows.put(Row("a/b " * 200))
    assert rows.get("安娜") == anna
    assert rows.get("nobody") is None
    assert rows.users() == sorted(["安娜", "a/b " * 200])


def test_what_others_keep_in_their_storage_is_not_ours() -> None:
    rows = GivenRows({"Anna": "something else", "Ben": {"user": "Ben", "read": 2}})
    assert rows.get("Anna") is None
    assert rows.get("Ben") == Row("Ben", read=2)
    with pytest.raises(InvalidInput, match="the state of 'Cy' is no row of ours"):
        GivenRows({"Cy": {"user": "Cy", "read": "far"}}).get("Cy")


def test_rows_go_with_their_conversation() -> None:
    with MemoryBackend() as backend:
        history, rows = History(backend, "chat"), StoredRows(backend, THREAD)
        history.add_human("hi")
        rows.put(Row("Anna"))
        Typing(backend, THREAD).start("Anna", 0.0, 5.0)
        history.delete()
        assert rows.users() == []
        assert Typing(backend, THREAD).users(0.0) == []


def test_typing_is_over_in_time_when_told_and_at_the_end() -> None:
    with MemoryBackend() as backend:
        typing, other = Typing(backend, THREAD), Typing(backend, THREAD)
        typing.start("Anna", 100.0, 6.0)
        typing.start("Ben", 103.0, 6.0)
        assert other.users(105.9) == ["Anna", "Ben"]
        assert other.users(106.0) == ["Ben"]
        typing.stop("Anna")
        assert other.users(100.0) == ["Ben"]
        other.sent("Ben")
        assert typing.users(100.0) == ["Ben"]
        typing.close()
        assert other.users(100.0) == []


def test_the_view_asks_at_the_moment() -> None:
    known = {"Anna": UserState("Anna", True, None, 0, None, False, True)}
    view = ChatState(known.__getitem__, lambda: list(known))
    assert (len(view), list(view), view["Anna"].online, bool(view)) == (1, ["Anna"], True, True)
    with pytest.raises(KeyError):
        view["Ben"]
    known.clear()
    assert len(view) == 0
    assert view


def test_a_time_is_in_utc() -> None:
    assert moment(0.0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert moment(None) is None

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memwell.errors import BackendError, ConfigurationError, InvalidInput
from memwell.history import History, HistoryReader
from memwell.records import Space
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend


def test_a_conversation_is_opened_by_path_and_closed_with_its_store(tmp_path: Path):
    path = str(tmp_path / "chat.db")
    with History.open(path, "trip", space=Space("acme", "anna")) as history:
        history.add_human("Hello")
        assert history.thread.space == Space("acme", "anna")
    with pytest.raises(BackendError, match="closed"):
        history.add_human("too late")
    with HistoryReader.open(f"sqlite:{path}", "trip", space=Space("acme", "anna")) as reader:
        assert [message.text for message in reader] == ["Hello"]
        assert not hasattr(reader, "add")


def test_a_conversation_is_opened_and_closed_by_twins(tmp_path: Path):
    async def converse() -> list[str]:
        async with await History.aopen(str(tmp_path / "chat.db"), "trip") as history:
            await history.aadd_human("Hello")
            texts = [message.text async for message in history]
        with pytest.raises(BackendError, match="closed"):
            await history.alast(1)
        return texts

    assert asyncio.run(converse()) == ["Hello"]


def test_a_store_that_was_passed_in_stays_open(store: Backend):
    with History(store, "talk") as history:
        history.add_human("Hello")
    history.close()
    assert len(history) == 1


def test_a_store_opened_for_a_bad_name_is_closed_again(monkeypatch: pytest.MonkeyPatch):
    closed: list[Backend] = []

    def close(backend: Backend) -> None:
        closed.append(backend)

    monkeypatch.setattr(MemoryBackend, "close", close)
    for thread, space in (("", "home"), ("talk", ""), ("x" * 2_000, "home")):
        with pytest.raises(InvalidInput):
            History.open("memory:", thread, space=space)
    assert len(closed) == 3


def test_a_store_that_cannot_be_opened_says_why(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="folder"):
        History.open(str(tmp_path / "no" / "chat.db"), "trip")
    with pytest.raises(ConfigurationError, match="folder"):
        asyncio.run(History.aopen(str(tmp_path / "no" / "chat.db"), "trip"))


def test_it_shows_which_conversation_it_is():
    assert repr(History(open_backend("memory:"), "trip", space="acme")) == "History('trip', space=Space('acme'))"


@pytest.mark.parametrize("thread", ["../x", "%", "a_b", "*", "a|b", "'; DROP TABLE thread; --", "\n", " ", "中文"])
def test_a_name_means_only_itself(store: Backend, thread: str):
    History(store, thread).add_human("mine")
    for other in ("x", "aXb", "ab", "a", "", "anything"):
        if other:
            assert len(History(store, other)) == 0
    assert len(History(store, thread, space="elsewhere")) == 0
    assert [message.text for message in History(store, thread)] == ["mine"]


@pytest.mark.parametrize("store", ["chat.db", None, 3, object()])
def test_what_is_no_store_is_refused_at_once(store: object):
    with pytest.raises(InvalidInput, match=r"Backend.*History\.open"):
        History(store, "trip")  # type: ignore[arg-type]

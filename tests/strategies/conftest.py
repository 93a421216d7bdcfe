"""Strategies run over both backends, through the blocking methods and through their twins."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memwell.history import History
from memwell.messages import Message, ai, human
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import MessageLog
from memwell.values import new_id


class Numbering:
    """A summariser whose summary is the indexes of all messages folded in, in the order they came."""

    def __init__(self) -> None:
        self.fails: BaseException | str | None = None
        self.calls = 0

    def fold(self, summary: str, messages: Sequence[Message]) -> str:
        self.calls += 1
        if isinstance(self.fails, BaseException):
            raise self.fails
        if self.fails is not None:
            return self.fails
        return " ".join([*summary.split(), *(str(one.index) for one in messages)])


class Watched:
    """A log that counts the calls it gets and the messages it gives out."""

    def __init__(self, log: MessageLog) -> None:
        self.log = log
        self.seen: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.log, name)

        def call(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            self.seen[name] += 1
            if name == "read":
                self.seen["messages"] += len(result)
            return result

        return call


MessageLog.register(Watched)


class Driven:
    """A strategy whose verbs go through their async twins."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self.strategy, f"a{name}", None)
        if twin is None:
            return getattr(self.strategy, name)
        return lambda *args, **options: asyncio.run(twin(*args, **options))


@pytest.fixture(scope="session", params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A store for many conversations."""
    folder: Path = tmp_path_factory.mktemp("strategies")
    with open_backend("memory:" if request.param == "memory" else str(folder / "talk.db")) as backend:
        yield backend
        assert backend.check() == []


@pytest.fixture
def talk(store: Backend) -> Callable[..., History]:
    """Makes a conversation that has not begun."""
    return lambda **options: History(store, new_id(), **options)


@pytest.fixture
def history(talk: Callable[..., History]) -> History:
    """A conversation that has not begun."""
    return talk()


@pytest.fixture(params=["sync", "async"])
def driven(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A strategy as it is, then one whose verbs go through their async twins."""
    return Driven if request.param == "async" else lambda strategy: strategy


@pytest.fixture
def numbering() -> Callable[[], Numbering]:
    """Makes a summariser that tells which messages it was given."""
    return Numbering


def reads_of_a_turn(log: Watched, history: History, strategy: Any, said: str, turns: int = 400) -> list[dict[str, int]]:
    """What one turn reads after a hundred turns and after many."""
    costs: list[dict[str, int]] = []
    turn = (human(said), ai("I see."))
    for count in (100, turns):
        history.add(*(one.changed(id=new_id()) for _ in range(len(history) // 2, count) for one in turn))
        strategy.observe()
        history.add(*(one.changed(id=new_id()) for one in turn))
        log.seen.clear()
        strategy.observe()
        strategy.recall(said)
        costs.append(dict(log.seen))
    return costs


@pytest.fixture
def watch() -> Callable[[History], Watched]:
    """Puts a counter between a history and its log."""

    def watched(history: History) -> Watched:
        history.log = Watched(history.log)  # pyright: ignore[reportAttributeAccessIssue]
        return history.log  # pyright: ignore[reportReturnType]

    return watched

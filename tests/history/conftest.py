"""Every test of a conversation runs over both backends, and through the blocking methods and through their twins."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

from memwell.history import History, HistoryReader
from memwell.records import SpaceLike
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import MessageLog
from memwell.tokens import TokenCounter


class Driven:
    """A history, each call of which goes through the async twin, with the signatures of the blocking methods."""

    def __init__(self, history: HistoryReader, runner: asyncio.Runner) -> None:
        self._history = history
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        if name == "tokens":
            return self._runner.run(self._history.atokens())
        twin = getattr(self._history, f"a{name}", None)
        return getattr(self._history, name) if twin is None else self._calling(twin)

    def _calling(self, twin: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            plain = [one._history if isinstance(one, Driven) else one for one in args]
            result = self._runner.run(twin(*plain, **options))
            return Driven(result, self._runner) if isinstance(result, HistoryReader) else result

        return call

    def __iter__(self) -> Iterator[Any]:
        async def collect() -> list[Any]:
            return [message async for message in self._history]

        return iter(self._runner.run(collect()))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._history)

    def __len__(self) -> int:
        return len(self._history)

    def __bool__(self) -> bool:
        return bool(self._history)


class Watched:
    """A log that counts the calls it gets and the messages it gives out, and fails when it is told to."""

    def __init__(self, log: MessageLog) -> None:
        self.log = log
        self.calls: Counter[str] = Counter()
        self.rows = 0
        self.fails_at: tuple[str, int] | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.log, name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls[name] += 1
            if self.fails_at == (name, self.calls[name]):
                raise OSError("this log fails")
            result = method(*args, **options)
            if name == "read":
                self.rows += len(result)
            return result

        return call

    def forget(self) -> None:
        """Begin to count anew."""
        self.calls.clear()
        self.rows = 0


MessageLog.register(Watched)


class Talker(Protocol):
    def __call__(
        self,
        thread: str = "talk",
        *,
        store: Backend | MessageLog | None = None,
        space: SpaceLike = "home",
        counter: TokenCounter | None = None,
    ) -> History: ...


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of backend that the test runs over."""
    return request.param


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Backend]]:
    """Opens an empty store of a kind. It must be sound at the end."""
    backends: list[Backend] = []

    def open_one(kind: str) -> Backend:
        backends.append(open_backend("memory:" if kind == "memory" else str(tmp_path / f"{len(backends)}.db")))
        return backends[-1]

    yield open_one
    for backend in backends:
        assert backend.check() == []
        backend.close()


@pytest.fixture
def store(kind: str, opened: Callable[[str], Backend]) -> Backend:
    """An empty store."""
    return opened(kind)


@pytest.fixture(params=["sync", "async"])
def talk(request: pytest.FixtureRequest, store: Backend) -> Iterator[Talker]:
    """Makes a history, ``store``'s unless told otherwise: itself, then driven through its async twins."""
    with asyncio.Runner() as runner:

        def make(
            thread: str = "talk", *, store: Any = store, space: SpaceLike = "home", counter: Any = None
        ) -> History:
            history = History(store, thread, space=space, counter=counter)
            return cast(History, Driven(history, runner)) if request.param == "async" else history

        yield make


@pytest.fixture
def history(talk: Talker) -> History:
    """A conversation that has not begun."""
    return talk()


@pytest.fixture
def watched(store: Backend) -> Watched:
    """The store's log, watched."""
    return Watched(store.log)

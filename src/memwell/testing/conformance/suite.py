"""The base class of the suites: opens the backend, and runs every test with its methods and with their async twins.

``through_twins`` makes a backend whose blocking methods call its async twins, so that a test written once runs both ways.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import pytest
from hypothesis import settings

from memwell.errors import BackendError
from memwell.messages import Message, human
from memwell.records import Page, Space, Thread
from memwell.storage.protocols import ABILITIES, Backend

HOME = Space("home")
TALK = Thread(HOME, "talk")

T = TypeVar("T", bound=Callable[..., object] | type)


class Clock:
    """The time in seconds, for a backend's ``clock``. It starts at a fixed moment and moves only by ``advance``.

    A backend whose clock is its server's sets ``sleeps`` in its ``open``: then the time is the real one, and to advance is
    to wait.
    """

    def __init__(self) -> None:
        self.now = 1_750_000_000.25
        self.sleeps = False

    def __call__(self) -> float:
        return time.time() if self.sleeps else self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        if self.sleeps:
            time.sleep(seconds)
        self.now += seconds


def needs(*abilities: str) -> Callable[[T], T]:
    """Mark a test, or all tests of a class, as needing abilities that a backend may not have."""

    def mark(tested: T) -> T:
        tests: list[Any] = [tested]
        if isinstance(tested, type):
            tests = [one for name, one in vars(tested).items() if name.startswith("test")]
        for test in tests:
            test.needs = getattr(test, "needs", frozenset[str]()) | set(abilities)
        return cast(T, tested)

    return mark


class Suite:
    """Inherit a suite next to a class that overrides ``open``, and pytest runs all of it against that backend.

    A backend that does less names its ``abilities``; tests of the others are not collected.
    """

    abilities: ClassVar[frozenset[str]] = ABILITIES
    """What the backend declares."""

    share: ClassVar[float] = 1.0
    """The share of the random examples to try: less where each is slow, as with a server."""
    ways: ClassVar[tuple[str, ...]] = ("sync", "async")
    """How the calls of a test are made: directly, and through the async twins."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            if name.startswith("test") and getattr(getattr(cls, name), "needs", frozenset[str]()) - cls.abilities:
                # pytest collects nothing under this name.
                setattr(cls, name, None)

    def open(self, place: Path, clock: Clock) -> Backend:
        """Open the backend under test: what it keeps, it keeps under the folder ``place``; the time is the clock's."""
        raise NotImplementedError(f"{type(self).__name__} must override open(place, clock)")

    @pytest.fixture
    def clock(self) -> Clock:
        """The time that the store goes by."""
        return Clock()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test with a store in each of the ways."""
        if "way" in metafunc.fixturenames:
            metafunc.parametrize("way", self.ways)

    @pytest.fixture
    def store(self, way: str, tmp_path: Path, clock: Clock) -> Iterator[Backend]:
        """An empty store: the backend itself, or the same through its async twins. It must be sound at the end."""
        backend = self.open(tmp_path, clock)
        assert backend.abilities == self.abilities, "a suite runs all that a backend declares"
        with asyncio.Runner() as runner:
            yield through_twins(backend, runner) if way == "async" else backend
        assert _complaints(backend) == []
        backend.close()


class _Twin:
    """Any attribute is a function that runs the async twin of that name."""

    def __init__(self, target: object, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self._target, f"a{name}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._runner.run(twin(*args, **kwargs))

        return call


class _TwinBackend(_Twin):
    def __init__(self, backend: Backend, runner: asyncio.Runner) -> None:
        super().__init__(backend, runner)
        self._backend = backend
        self.durable, self.abilities = backend.durable, backend.abilities
        self.log = _Twin(backend.log, runner)
        self.kv = _Twin(backend.kv, runner)
        self.index = _Twin(backend.index, runner)
        self.blobs = _Twin(backend.blobs, runner)

    def together(self) -> AbstractContextManager[None]:
        return self._transaction() if "transactions" in self.abilities else nullcontext()

    def transaction(self) -> AbstractContextManager[None]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        # The runner keeps one context for all it runs, so what is called in between is inside the transaction.
        transaction = self._backend.atransaction()
        self._runner.run(transaction.__aenter__())
        try:
            yield
        except BaseException as error:
            self._runner.run(transaction.__aexit__(type(error), error, error.__traceback__))
            raise
        self._runner.run(transaction.__aexit__(None, None, None))


def through_twins(backend: Backend, runner: asyncio.Runner) -> Backend:
    """The backend, every call of which goes through its async twin on the runner's loop. For one thread at a time."""
    return cast(Backend, _TwinBackend(backend, runner))


def _complaints(backend: Backend) -> list[str]:
    try:
        return backend.check()
    except BackendError as error:
        # A test may have closed it.
        return [] if "closed" in str(error) else [str(error)]


def some(examples: int, share: float) -> settings:
    """Settings for ``examples`` where hypothesis' own default is a hundred, times the share."""
    return settings(max_examples=max(1, round(examples * share * settings().max_examples / 100)))


def said(*texts: str) -> list[Message]:
    """A human message for each text."""
    return [human(text) for text in texts]


def texts_of(messages: list[Message]) -> list[str]:
    """What the messages say."""
    return [message.text for message in messages]


def all_pages(listing: Any, space: Space, **options: Any) -> list[Any]:
    """All items of a listing, page by page; no page is empty but a lone one, and none is longer than its limit."""
    page: Page[Any] = listing(space, **options)
    items = list(page.items)
    while page.next is not None:
        assert page.items, "a page that names a next one is not empty"
        page = listing(space, cursor=page.next, **options)
        assert len(page.items) <= options.get("limit", 100)
        items += page.items
    return items


def has(store: Backend, part: str) -> bool:
    """Whether the store has the part of this name."""
    return {"index": "records", "blobs": "blobs"}.get(part, part) in store.abilities | {"log", "kv"}

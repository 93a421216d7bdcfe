"""What all suites share: how a backend is opened, and that every test runs with it and with its async twins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings

from memwell.errors import BackendError
from memwell.messages import Message, human
from memwell.records import Page, Space, Thread
from memwell.storage.protocols import Backend
from memwell.testing.clock import Clock
from memwell.testing.twins import through_twins

HOME = Space("home")
TALK = Thread(HOME, "talk")


class Suite:
    """Inherit a suite beside a class that overrides ``open``, and pytest runs all of it against that backend."""

    share: ClassVar[float] = 1.0
    """How much of the random examples is tried. Less where each of them is dear, as with a server behind the store."""
    ways: ClassVar[tuple[str, ...]] = ("sync", "async")
    """How the calls of a test are made: as they are, then all of them through their async twins."""

    def open(self, place: Path, clock: Clock) -> Backend:
        """Open the backend under test: what it keeps, it keeps under the folder ``place``; the time is the clock's."""
        raise NotImplementedError(f"{type(self).__name__} must override open(place, clock)")

    @pytest.fixture
    def clock(self) -> Clock:
        """The time that the store goes by."""
        return Clock()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test that asks for a store, or for the way alone, in each of the ways."""
        if "way" in metafunc.fixturenames:
            metafunc.parametrize("way", self.ways)

    @pytest.fixture
    def store(self, way: str, tmp_path: Path, clock: Clock) -> Iterator[Backend]:
        """An empty store: the backend itself, or the same through its async twins. It must be sound at the end."""
        backend = self.open(tmp_path, clock)
        with asyncio.Runner() as runner:
            yield through_twins(backend, runner) if way == "async" else backend
        assert _complaints(backend) == []
        backend.close()


def _complaints(backend: Backend) -> list[str]:
    try:
        return backend.check()
    except BackendError as error:
        # A test may have closed it.
        return [] if "closed" in str(error) else [str(error)]


def some(examples: int, share: float) -> settings:
    """So many examples where hypothesis' own default would be a hundred, and of these the share."""
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

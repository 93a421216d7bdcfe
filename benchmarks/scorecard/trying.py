"""What the rows share: an outcome, stores to try them on, and tests that are called as programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memwell.errors import MemwellError
from memwell.records import Space
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend

SECRET = "0123456789abcdef" * 4
HOME = Space("home")


@dataclass
class Outcome:
    """What a row found: how many cases were tried, what was wrong, and what else is worth a word."""

    tried: int
    wrong: list[str] = field(default_factory=list)
    note: str = ""


def settings_of(store: str, **options: Any) -> Settings:
    return Settings(secret=SECRET if store == "encrypted" else "", **options)


@contextmanager
def url_of(store: str, folder: Path) -> Iterator[str]:
    """The URL of an empty store of a kind, with a server of its own where it needs one."""
    if store == "postgres":
        from tests.engines import postgres

        server = postgres.Server()
        try:
            yield server.url(schema="scorecard", durable="yes")
        finally:
            server.remove()
    elif store == "redis":
        from tests.servers import redis_server

        with redis_server(folder) as url:
            yield url
    else:
        yield str(folder / "store.db")


@contextmanager
def files_of(store: str, folder: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The URL of an empty store of a kind, and what its files hold now; of a PostgreSQL server those of its tables."""
    if store != "postgres":
        with url_of(store, folder) as url:
            yield url, lambda: _content(folder)
        return
    from tests.engines import postgres

    server = postgres.Server()

    def tables() -> bytes:
        with server.admin() as connection:
            connection.execute("CHECKPOINT")
        return _content(server.data / "base")

    try:
        yield server.url(schema="scorecard", durable="yes"), tables
    finally:
        server.remove()


def _content(folder: Path) -> bytes:
    return b"\0".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@contextmanager
def opened(store: str, folder: Path, **options: Any) -> Iterator[Backend]:
    with url_of(store, folder) as url, open_backend(url, settings=settings_of(store, **options)) as backend:
        yield backend


def explore(examples: int) -> None:
    """Let hypothesis try so many examples, each time others. Tests take their settings when they are imported, after it."""
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "scorecard", max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    settings.load_profile("scorecard")


def judged(tried: int, work: Callable[[], object], note: str = "") -> Outcome:
    """What a test found that is called here: nothing, or what it complains of."""
    try:
        work()
    except (AssertionError, MemwellError) as error:
        return Outcome(tried, [f"{type(error).__name__}: {error}"[:2_000]], note)
    return Outcome(tried, [], note)

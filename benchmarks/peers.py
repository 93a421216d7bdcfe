"""The stores that users would pick instead, behind one face. A peer that is not installed is said to be so.

Each is used as its own documentation shows, with its own defaults; what those defaults mean for a power cut is asked of its
connection and reported.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memwell.messages import Message, encode_message


class Peer(ABC):
    """A store of conversations by somebody else, in a fresh file in a folder."""

    name: str
    package: str
    most_messages: int
    """A thread longer than this is not worth waiting for."""

    @abstractmethod
    def __init__(self, folder: Path) -> None: ...

    @abstractmethod
    def fill(self, items: Sequence[dict[str, Any]]) -> None:
        """Make a thread of these messages."""

    @abstractmethod
    def append(self, items: Sequence[dict[str, Any]]) -> None:
        """Append messages, each by a call and a commit of its own."""

    @abstractmethod
    def last(self, count: int) -> list[Any]:
        """The last messages."""

    @abstractmethod
    def pragmas(self) -> tuple[str, int]:
        """Its journal mode and its level of synchronisation."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""

    @property
    def durable(self) -> bool:
        """Whether a commit waits for the disk: level 2 (FULL) or more; in a rollback journal 1 may be lost too."""
        return self.pragmas()[1] >= 2

    @property
    def label(self) -> str:
        """Its name with its version."""
        return f"{self.name} {version(self.package)}"


def as_item(message: Message) -> dict[str, Any]:
    """The message as the plain JSON object that peers are given."""
    return json.loads(encode_message(message))


class AgentsSession(Peer):
    """OpenAI Agents' ``SQLiteSession``. Its interface is async, so it is called from a running event loop."""

    name = "OpenAI Agents SQLiteSession"
    package = "openai-agents"
    most_messages = 100_000

    def __init__(self, folder: Path) -> None:
        from agents import SQLiteSession

        self._loop = asyncio.new_event_loop()
        # Any: it takes plain dicts, but types them as the many shapes of OpenAI's items.
        self._session: Any = SQLiteSession("thread", folder / "agents.db")

    def fill(self, items: Sequence[dict[str, Any]]) -> None:
        self._loop.run_until_complete(self._session.add_items(list(items)))

    def append(self, items: Sequence[dict[str, Any]]) -> None:
        async def one_by_one() -> None:
            for item in items:
                await self._session.add_items([item])

        self._loop.run_until_complete(one_by_one())

    def last(self, count: int) -> list[Any]:
        return self._loop.run_until_complete(self._session.get_items(limit=count))

    def pragmas(self) -> tuple[str, int]:
        # It has no public way to ask; every connection is made alike by this one.
        return _pragmas(self._session._get_connection())

    def close(self) -> None:
        self._session.close()
        self._loop.close()


class LanggraphStore(Peer):
    """langgraph's ``SqliteStore``, a message a key; it has no conversations of its own."""

    name = "langgraph SqliteStore"
    package = "langgraph-checkpoint-sqlite"
    most_messages = 10_000

    def __init__(self, folder: Path) -> None:
        from langgraph.store.sqlite import SqliteStore

        self._opened = SqliteStore.from_conn_string(str(folder / "langgraph.db"))
        self._store = self._opened.__enter__()
        self._store.setup()

    def fill(self, items: Sequence[dict[str, Any]]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(items), 500):
            self._store.batch([PutOp(("bench", "thread"), item["id"], item) for item in items[start : start + 500]])

    def append(self, items: Sequence[dict[str, Any]]) -> None:
        for item in items:
            self._store.put(("bench", "thread"), item["id"], item)

    def last(self, count: int) -> list[Any]:
        return self._store.search(("bench", "thread"), limit=count)

    def pragmas(self) -> tuple[str, int]:
        return _pragmas(self._store.conn)

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


def _pragmas(connection: Any) -> tuple[str, int]:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return str(mode), int(connection.execute("PRAGMA synchronous").fetchone()[0])


KINDS: tuple[type[Peer], ...] = (AgentsSession, LanggraphStore)


def installed(folder: Path) -> tuple[list[Peer], list[str]]:
    """The peers that are installed, each with a fresh file in ``folder``, and what to say of those that are not."""
    found: list[Peer] = []
    missing: list[str] = []
    for kind in KINDS:
        try:
            version(kind.package)
            found.append(kind(folder))
        except (PackageNotFoundError, ImportError) as error:
            missing.append(f"{kind.name}: not installed ({error}); pip install {kind.package}")
    return found, missing


__all__ = ["Peer", "as_item", "installed"]

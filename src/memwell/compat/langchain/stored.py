"""Messages as LangChain's own classes left them in some store, on their way in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class StoredMessage(NamedTuple):
    """A message as it was found: whose it is, its number there (from 1), and its layout as JSON text."""

    session: str
    number: int
    layout: str | bytes


class StoredMessages(NamedTuple):
    """The messages of all sessions, one session after the other, how many there are, and where they come from."""

    origin: str
    total: int
    messages: Iterable[StoredMessage]


__all__ = ["StoredMessage", "StoredMessages"]

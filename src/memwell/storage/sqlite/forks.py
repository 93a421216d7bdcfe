"""Forks: no connection of SQLite crosses one.

SQLite's locks belong to a process, but its knowledge of them is copied by a fork: a child that inherits an open connection
believes it holds the parent's locks, and loses what it writes once the parent closes. So before a fork every store lets go
of its connections, and opens them again when they are next needed, on both sides.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """A store's connections, as a fork sees them."""

    def prepare_fork(self) -> bool:
        """Close what is open and keep others from writing; whether that was done, and ``finish_fork`` must follow."""
        ...

    def finish_fork(self) -> None:
        """Let others write again, in the parent."""
        ...


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_prepared: list[Forkable] = []


def watch(connections: Forkable) -> None:
    """Prepare these for every fork to come, as long as they live."""
    _watched.add(connections)


def _before() -> None:
    _prepared.extend(connections for connections in list(_watched) if connections.prepare_fork())


def _after_in_parent() -> None:
    while _prepared:
        _prepared.pop().finish_fork()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_prepared.clear)

__all__ = ["Forkable", "watch"]

"""The caller of a request: the memory that it may touch, and what it may do with it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from memwell.errors import AccessDenied
from memwell.runtime.engine import Engine

READ = "read"
WRITE = "write"


class Caller(Protocol):
    """The caller of a request. It holds the one memory that the request may touch."""

    @property
    def memory(self) -> Engine: ...
    @property
    def scopes(self) -> tuple[str, ...]: ...

    def allow(self, scope: str) -> None:
        """Return when the scope is held. Raises ``AccessDenied`` when it is not."""
        ...

    def note_refusal(self, action: str) -> None:
        """Log that a scope was missing for something."""
        ...

    def log(self, *targets: str, action: str, **detail: str | int) -> object:
        """Log what was changed: ids and numbers, never a text."""
        ...


class LocalCaller(msgspec.Struct, frozen=True):
    """The user who started the program: the memory is theirs to read, and to write unless it is opened read-only."""

    memory: Engine
    scopes: tuple[str, ...] = (READ, WRITE)

    def allow(self, scope: str) -> None:
        """Return when the scope is held. Raises ``AccessDenied`` when it is not."""
        if scope not in self.scopes:
            raise AccessDenied(f"this memory was opened without the scope {scope!r}", code="missing-scope")

    def note_refusal(self, action: str) -> None:
        """Does nothing, as ``log``."""

    def log(self, *targets: str, action: str, **detail: str | int) -> None:
        """Does nothing: the memory has no audit log."""

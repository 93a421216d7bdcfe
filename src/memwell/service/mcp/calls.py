"""Who is asking: the memory that a request may touch, and what it may do with it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from memwell.errors import AccessDenied
from memwell.runtime.engine import Engine

READ = "read"
WRITE = "write"


class Caller(Protocol):
    """Whoever a request comes from. It holds the one memory that the request may touch."""

    @property
    def memory(self) -> Engine: ...
    @property
    def scopes(self) -> tuple[str, ...]: ...

    def allow(self, scope: str) -> None:
        """Return when the scope is held. Raises ``AccessDenied`` when it is not."""
        ...

    def note_refusal(self, action: str) -> None:
        """Note that a scope was missing for something, for whoever looks after the memory."""
        ...

    def log(self, *targets: str, action: str, **detail: str | int) -> object:
        """Note what was changed, for whoever looks after the memory: ids and numbers, never a text."""
        ...


class LocalCaller(msgspec.Struct, frozen=True):
    """Who started the program: the memory is theirs, to read and, unless told otherwise, to write."""

    memory: Engine
    scopes: tuple[str, ...] = (READ, WRITE)

    def allow(self, scope: str) -> None:
        """Return when the scope is held. Raises ``AccessDenied`` when it is not."""
        if scope not in self.scopes:
            raise AccessDenied(f"this memory was opened without the scope {scope!r}", code="missing-scope")

    def note_refusal(self, action: str) -> None:
        """Nothing, as for ``log``."""

    def log(self, *targets: str, action: str, **detail: str | int) -> None:
        """Nothing: nobody but its owner looks after it."""

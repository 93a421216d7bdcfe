"""What a handler gets, what it may give back, and the register of handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from memwell.errors import AccessDenied, InvalidInput
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory
from memwell.runtime.wire.routes import ANY_KEY, ANYONE, ROUTES, Route
from memwell.runtime.wire.running import Key, LogEntry

if TYPE_CHECKING:
    from memwell.service.parts import Service

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)

HANDLERS: dict[str, Handler] = {}
"""What answers each route, by its name."""


def handles(name: str) -> Callable[[H], H]:
    """Register the handler of a route: ``handler(call)``, or ``handler(call, asked)`` where the route takes something."""
    if name not in ROUTES:
        raise KeyError(f"there is no route {name!r}")

    def register(handler: H) -> H:
        if name in HANDLERS:
            raise KeyError(f"the route {name!r} has a handler already")
        HANDLERS[name] = handler
        return handler

    return register


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is a file: its bytes, or where they lie. ``name`` is what a browser saves it as."""

    content: bytes | Path
    media_type: str = "application/octet-stream"
    name: str = ""
    forget: bool = False
    """Whether a file is removed once it was sent."""


class Events(msgspec.Struct, frozen=True):
    """An answer that goes on: values as they come, each sent when it is there. ``None`` keeps the line open."""

    values: Iterator[Any]
    pause_s: float = 0.2


class Call:
    """One request, after its key was found good: who asks, for what, and with which file."""

    __slots__ = ("_memory", "id", "key", "path", "route", "service", "speaker", "upload")

    def __init__(
        self,
        service: Service,
        route: Route,
        key: Key,
        path: dict[str, str],
        *,
        upload: Path | None = None,
        id: str = "",  # noqa: A002 - what everybody calls it
    ) -> None:
        self.service = service
        self.route = route
        self.key = key
        self.path = path
        self.upload = upload
        self.id = id
        self.speaker: str | None = None
        """Who is named as having said something, for the count of active users."""
        self._memory: Engine | None = None

    @property
    def space(self) -> Space:
        """The space of the key: no request can name another."""
        return self.key.space

    @property
    def scopes(self) -> tuple[str, ...]:
        """What the key may do."""
        return self.key.scopes

    @property
    def memory(self) -> Engine:
        """The memory of the key's space."""
        if self._memory is None:
            self._memory = self.service.memory_of(self.key.space)
        return self._memory

    def memory_of(self, owner: list[str] | None) -> Engine | SharedMemory:
        """The key's own memory, or that of a space that has shared it. Raises ``NotGranted`` when it has not."""
        if owner is None or Space(*owner) == self.space:
            return self.memory
        return self.memory.shared(Space(*owner))

    def allow(self, scope: str) -> None:
        """Raises ``AccessDenied`` when the key has not this scope."""
        if scope not in (ANYONE, ANY_KEY, *self.key.scopes):
            raise AccessDenied(
                f"the key {self.key.name!r} may {', '.join(self.key.scopes) or 'nothing'}, not {scope}",
                code="missing-scope",
            )

    def note_refusal(self, action: str) -> None:
        """Let the audit log tell that the key may not do this. Not on the event loop: it writes."""
        self.service.log.refuse(action, code="missing-scope", key=self.key.id, space=self.space)

    def take_upload(self) -> Path:
        """The file that was sent, from now on the caller's to remove. Raises ``InvalidInput`` when there is none."""
        if self.upload is None:
            raise InvalidInput("the body is empty; send the bytes of a file")
        taken, self.upload = self.upload, None
        return taken

    def log(self, *targets: str, action: str = "", **detail: str | int) -> LogEntry:
        """Note in the audit log what was done. Only ids and numbers, never a text of somebody's."""
        return self.service.log.append(
            action=action or self.route.name, key=self.key.id, space=self.space, targets=targets, detail=detail
        )

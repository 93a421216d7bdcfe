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
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, Operation, place_of
from memwell.runtime.wire.running import Key, LogEntry
from memwell.runtime.wire.table import OPERATIONS

if TYPE_CHECKING:
    from memwell.service.parts import Service

Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)


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
        route: Operation,
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

    def run(self, asked: Any = None, **instead: Any) -> Any:
        """What the engine's method returns for this request; ``instead`` are arguments in the place of the request's."""
        return self.route.run(self.memory_of(getattr(asked, "owner", None)), self.path, asked, **instead)

    def place(self) -> int:
        """The place of a message in the address. Raises ``InvalidInput`` for anything but a number in plain digits."""
        return place_of(self.path["index"])

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
        """Note in the audit log what was done: ids and numbers, never a text of somebody's."""
        return self.service.log.append(
            action=action or self.route.name, key=self.key.id, space=self.space, targets=targets, detail=detail
        )

    def log_erased(self, *targets: str, **detail: str | int) -> None:
        """Note what was removed for good, and drop the results of jobs: an export may hold the words of what is gone."""
        self.log(*targets, **detail)
        self.service.jobs.drop_results(self.space)


def perform(call: Call, asked: Any = None) -> Any:
    """The handler of an operation that is a method of the engine, and no more."""
    return call.route.told(call.run(asked))


HANDLERS: dict[str, Handler] = {name: perform for name, operation in OPERATIONS.items() if operation.does is not None}
"""What answers each operation, by its name: ``handler(call)``, or ``handler(call, asked)`` where it takes something."""


def handles(*names: str) -> Callable[[H], H]:
    """Register the handler of some operations. One that is a method of the engine may have a handler around it."""
    for name in names:
        if name not in OPERATIONS:
            raise KeyError(f"there is no operation {name!r}")

    def register(handler: H) -> H:
        for name in names:
            if HANDLERS.get(name, perform) is not perform:
                raise KeyError(f"the operation {name!r} has a handler already")
            HANDLERS[name] = handler
        return handler

    return register

"""A tool as data: its name and words for models, the shapes of its arguments and its answer, and the operation it does.

The shapes are msgspec structs. Their JSON schemas are what a client sees, and decoding by them is the only check, so the
two cannot differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from memwell.errors import InvalidInput
from memwell.runtime.engine import Engine
from memwell.runtime.transfer.intake import as_moment
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.mcp.answers import language_for
from memwell.service.mcp.calls import READ

Group: TypeAlias = Literal["memory", "graph"]
Moment: TypeAlias = Annotated[str, Meta(description="A time in ISO 8601, such as 2026-05-01 or 2026-05-01T09:30:00Z.")]


class Answer(msgspec.Struct, frozen=True):
    """What a tool gives back: a text for models, and the same as data. ``changed`` are the ids of the memories that were
    there before and that it changed, ``notes`` are for programs: models do not see them.
    """

    text: str
    data: msgspec.Struct
    changed: tuple[str, ...] = ()
    notes: dict[str, Any] = {}


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. It runs in a thread of its own.

    ``operation`` is the row of the table that it does: its arguments are those of the engine's method that the tool takes
    by the same names, times read and the language filled in, or what ``means`` makes of them. ``shows`` makes the answer
    of the result, the arguments and the language. A tool without an operation ``does`` something itself.
    """

    name: str
    title: str
    description: str
    takes: Any
    gives: Any
    operation: str = ""
    means: Callable[[Any], dict[str, Any]] | None = None
    shows: Callable[[Any, Any, str], Answer] | None = None
    does: Callable[[Engine, Any], Answer] | None = None
    scope: str = READ
    group: Group = "memory"
    destructive: bool = False
    idempotent: bool = True

    def decoded(self, arguments: object) -> Any:
        """The arguments by their shape. Raises ``InvalidInput``, which says where they break it."""
        try:
            return msgspec.convert({} if arguments is None else arguments, self.takes)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"wrong arguments for {self.name}: {error}") from None
        except RecursionError:
            raise InvalidInput(f"wrong arguments for {self.name}: they are nested too deep") from None

    def used(self, memory: Engine, given: Any) -> Answer:
        """What comes of using it with some arguments."""
        if self.does is not None:
            return self.does(memory, given)
        assert self.shows is not None
        operation = OPERATIONS[self.operation]
        said = getattr(given, self.takes.__struct_fields__[0])
        language = language_for(said if isinstance(said, str) else "", getattr(given, "language", None))
        named = self._arguments(given, language) if self.means is None else self.means(given)
        path = [named.pop(name) for name in operation.places]
        return self.shows(operation.call(memory, *path, **named), given, language)

    def _arguments(self, given: Any, language: str) -> dict[str, Any]:
        operation = OPERATIONS[self.operation]
        known = {*inspect.signature(operation.does).parameters, *operation.places}
        values = {name: value for name, value in msgspec.structs.asdict(given).items() if name in known}
        times = {name: as_moment(values[name], name) for name in ("since", "until", "as_of") if name in values}
        return {**values, **times, **({"language": language} if "language" in known else {})}


def arguments(**fields: tuple[Any, ...]) -> Any:
    """The shape of a tool's arguments: the type of each, and its default if it has one. An unknown one is refused."""
    listed: list[Any] = [(name, *field) for name, field in fields.items()]
    return msgspec.defstruct("Arguments", listed, frozen=True, kw_only=True, forbid_unknown_fields=True)


def argument(about: str, type_: Any, *default: Any, **bounds: Any) -> tuple[Any, ...]:
    """One argument: a sentence about it, its type, its default if it has one, and its bounds."""
    return (Annotated[type_, Meta(description=about, **bounds)], *default)


def optional(about: str, type_: Any = str) -> tuple[Any, ...]:
    """An argument that may be left out."""
    return argument(about, type_ | None, None)


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, with an object at its root as the protocol wants it."""
    [root], shapes = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    named = str(root["$ref"]).rsplit("/", 1)[-1]
    schema = {key: value for key, value in shapes.pop(named).items() if key not in ("title", "description")}
    for inner in shapes.values():
        inner.pop("title", None)
    return {**schema, "$defs": shapes} if shapes else schema


def json_of(data: object) -> str:
    """Data as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()

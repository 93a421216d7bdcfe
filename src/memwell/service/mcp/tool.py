"""A tool as data: its name and words for models, the shapes of its arguments and its answer, its scope, and what it does.

The shapes are msgspec structs. Their JSON schemas are what a client is told, and decoding by them is the only check, so the
two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.runtime.engine import Engine
from memwell.service.mcp.calls import READ

Group: TypeAlias = Literal["memory", "graph"]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes. A field that it does not know is refused."""


class NoArguments(Arguments, frozen=True):
    """Nothing at all."""


class Answer(msgspec.Struct, frozen=True):
    """What a tool gives back: a text for models, and the same as data. ``changed`` are the ids of the memories that were
    there before and that it changed, ``notes`` are for programs: models do not see them.
    """

    text: str
    data: msgspec.Struct
    changed: tuple[str, ...] = ()
    notes: dict[str, Any] = {}


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. ``does`` gets a memory and decoded arguments; it runs in a thread of its own."""

    name: str
    title: str
    description: str
    takes: type[Arguments]
    gives: type[msgspec.Struct]
    does: Callable[[Engine, Any], Answer]
    scope: str = READ
    group: Group = "memory"
    destructive: bool = False
    idempotent: bool = True

    def decoded(self, arguments: object) -> Arguments:
        """The arguments by their shape. Raises ``InvalidInput``, which says where they break it."""
        try:
            return msgspec.convert({} if arguments is None else arguments, self.takes)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"wrong arguments for {self.name}: {error}") from None
        except RecursionError:
            raise InvalidInput(f"wrong arguments for {self.name}: they are nested too deep") from None


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


__all__ = ["Answer", "Arguments", "Group", "NoArguments", "Tool", "json_of", "schema_of"]

"""Methods of a memory behind a service, derived from the table of operations, and names that it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from memwell._asyncify import asyncify
from memwell.errors import Unsupported
from memwell.runtime.remote.connection import Connection
from memwell.runtime.wire.table import OPERATIONS

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)


class Remote:
    """A memory behind a service, or a room of it. ``fixed`` are the segments and fields that all its requests have."""

    def __init__(self, connection: Connection, **fixed: Any) -> None:
        self._connection = connection
        self._fixed = fixed


def called(
    name: str,
    like: Callable[Concatenate[Any, P], T],
    *,
    reads: Callable[[Any], Any] | None = None,
    nothing: Mapping[str, Callable[[], Any]] | None = None,
) -> tuple[Callable[Concatenate[Any, P], T], Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]]:
    """The method that asks the service for an operation, and its async twin, as the engine's method declares itself.

    ``reads`` makes the method's result of the answer. ``nothing`` says which argument, when it is empty, needs no request,
    and what is returned then.
    """
    operation = OPERATIONS[name]
    signature = inspect.signature(operation.does)
    positional = list(signature.parameters)[1:]

    @wraps(like)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        fixed: dict[str, Any] = self._fixed
        given: dict[str, Any] = {**bound.arguments, **fixed}
        named = iter(positional)
        path = {place: fixed[place] if place in fixed else given.pop(next(named)) for place in operation.places}
        asked = operation.request(given)
        for argument, empty in (nothing or {}).items():
            if not getattr(asked, argument):
                return empty()
        answer = self._connection.call(name, asked, **path)
        result = getattr(answer, operation.field) if operation.field else answer
        return result if reads is None else reads(result)

    return call, asyncify(call)


class Refused:
    """A name that cannot be had over the wire. Reading it raises ``Unsupported``, which says why."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise Unsupported(f"{self._name!r} is not to be had of a memory behind a service: {self._why}")


def refuses(why: str, *names: str) -> Callable[[C], C]:
    """Let a class refuse some names of the engine's, and their async twins, for a reason."""

    def refusing(class_: C) -> C:
        for name in names:
            setattr(class_, name, Refused(name, why))
            setattr(class_, f"a{name}", Refused(f"a{name}", why))
        return class_

    return refusing

"""What a memory behind a service does not have, and what to do instead."""

from __future__ import annotations

from typing import Any, overload

from memwell.errors import Unsupported


class Refused:
    """A name that cannot be had over the wire. Who asks for it gets ``Unsupported``, which says why."""

    def __init__(self, why: str) -> None:
        self.why = why
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Refused: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Any: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise Unsupported(f"{self._name!r} is not to be had of a memory behind a service: {self.why}")


def refuse(given: object, what: str, why: str) -> None:
    """Raises ``Unsupported`` for an argument that was given and cannot be sent."""
    if given is not None:
        raise Unsupported(f"{what} cannot be sent to a service: {why}")


__all__ = ["Refused", "refuse"]

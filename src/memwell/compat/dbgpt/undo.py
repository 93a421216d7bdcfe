"""All or nothing over several memories in one process: what changes a memory says how to change it back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Step: TypeAlias = Callable[[], None]

_steps: ContextVar[list[Step] | None] = ContextVar("memwell_dbgpt_undo", default=None)


def undone_by(step: Step) -> None:
    """Remember how to undo what was just done, if anybody might want to."""
    steps = _steps.get()
    if steps is not None:
        steps.append(step)


@contextmanager
def all_or_nothing() -> Generator[None]:
    """When the body raises or is cancelled, undo what it did to buffers, last first, and raise on.

    They may be nested: an inner one that went well is undone with the outer one. Steps neither wait nor raise.
    """
    outer = _steps.get()
    steps: list[Step] = []
    token = _steps.set(steps)
    try:
        yield
    except BaseException:
        for step in reversed(steps):
            step()
        raise
    else:
        if outer is not None:
            outer.extend(steps)
    finally:
        _steps.reset(token)


__all__ = ["all_or_nothing", "undone_by"]

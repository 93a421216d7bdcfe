"""The stages of an operation that a tracer may follow: reading the store, embedding, ranking, asking a model.

    @stage("rank")
    def rank(…): …

    with followed_by(tracer.stage):
        engine.recall("…")

Without a follower nothing is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Literal, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Stage: TypeAlias = Literal["store", "embed", "rank", "model"]
Follower: TypeAlias = Callable[[Stage], AbstractContextManager[object]]

_follower: ContextVar[Follower | None] = ContextVar("follower", default=None)


@contextmanager
def followed_by(follower: Follower) -> Generator[None]:
    """A context in which ``follower`` is entered around every stage. A thread follows if it runs in this context."""
    token = _follower.set(follower)
    try:
        yield
    finally:
        _follower.reset(token)


def stage(name: Stage) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a stage."""

    def made(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def staged(*args: P.args, **options: P.kwargs) -> T:
            follower = _follower.get()
            if follower is None:
                return work(*args, **options)
            with follower(name):
                return work(*args, **options)

        return staged

    return made

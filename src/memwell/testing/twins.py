"""A backend driven through its async twins, with the signatures of the blocking methods.

A test written once against ``Backend`` so runs both ways: given the backend itself, or given it through here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from memwell.records import Page, Space
from memwell.storage.protocols import Backend


class _Twin:
    """Any attribute is a function that runs the twin of that name to its end."""

    def __init__(self, target: object, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self._target, f"a{name}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._runner.run(twin(*args, **kwargs))

        return call


class _TwinBackend:
    def __init__(self, backend: Backend, runner: asyncio.Runner) -> None:
        self._backend = backend
        self._runner = runner
        self.log = _Twin(backend.log, runner)
        self.kv = _Twin(backend.kv, runner)
        self.index = _Twin(backend.index, runner)
        self.blobs = _Twin(backend.blobs, runner)

    @property
    def durable(self) -> bool:
        return self._backend.durable

    def transaction(self) -> AbstractContextManager[None]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        # The runner keeps one context for all it runs, so what is called in between is inside the transaction.
        transaction = self._backend.atransaction()
        self._runner.run(transaction.__aenter__())
        try:
            yield
        except BaseException as error:
            self._runner.run(transaction.__aexit__(type(error), error, error.__traceback__))
            raise
        self._runner.run(transaction.__aexit__(None, None, None))

    def check(self) -> list[str]:
        return self._runner.run(self._backend.acheck())

    def scrub(self) -> None:
        self._runner.run(self._backend.ascrub())

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        return self._runner.run(self._backend.aspaces(limit=limit, cursor=cursor))

    def seal(self, reason: str | None) -> None:
        self._runner.run(self._backend.aseal(reason))

    def facts(self) -> dict[str, Any]:
        return self._runner.run(self._backend.afacts())

    def close(self) -> None:
        self._runner.run(self._backend.aclose())


def through_twins(backend: Backend, runner: asyncio.Runner) -> Backend:
    """The backend, every call of which goes through its async twin on the runner's loop. For one thread at a time."""
    return cast(Backend, _TwinBackend(backend, runner))

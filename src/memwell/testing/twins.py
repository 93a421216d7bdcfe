"""A backend whose blocking methods call its async twins, so that a test written once runs both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from memwell.storage.protocols import Backend


class _Twin:
    """Any attribute is a function that runs the async twin of that name."""

    def __init__(self, target: object, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self._target, f"a{name}")

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._runner.run(twin(*args, **kwargs))

        return call


class _TwinBackend(_Twin):
    def __init__(self, backend: Backend, runner: asyncio.Runner) -> None:
        super().__init__(backend, runner)
        self._backend = backend
        self.durable, self.abilities = backend.durable, backend.abilities
        self.log = _Twin(backend.log, runner)
        self.kv = _Twin(backend.kv, runner)
        self.index = _Twin(backend.index, runner)
        self.blobs = _Twin(backend.blobs, runner)

    def together(self) -> AbstractContextManager[None]:
        return self._transaction() if "transactions" in self.abilities else nullcontext()

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


def through_twins(backend: Backend, runner: asyncio.Runner) -> Backend:
    """The backend, every call of which goes through its async twin on the runner's loop. For one thread at a time."""
    return cast(Backend, _TwinBackend(backend, runner))

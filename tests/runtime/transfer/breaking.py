"""A store that stops in the middle of its work."""

from __future__ import annotations

from memwell.errors import BackendError
from memwell.storage import Backend


class Breaking:
    """A store whose transactions fail from the n-th on, as if the process had been killed there."""

    def __init__(self, backend: Backend, good: int) -> None:
        self._backend, self._good = backend, good

    def __getattr__(self, name: str) -> object:
        return getattr(self._backend, name)

    def transaction(self) -> object:
        self._good -= 1
        if self._good < 0:
            raise BackendError("killed")
        return self._backend.transaction()

"""Whether the store answers, told within a second also while it does not."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from memwell.errors import BackendUnavailable, MemwellError
from memwell.service.keys import SERVICE
from memwell.storage.protocols import Backend

_WITHIN_S = 1.0
_KNOWN_S = 1.0
"""How long a failure counts before the store is asked again."""


class Readiness:
    """Asks the store in a thread of its own, once at a time: whoever comes meanwhile waits for the same answer."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memwell-ready")
        self._lock = threading.Lock()
        self._asked: Future[None] | None = None
        self._latest = 0.0
        self._failed: MemwellError | None = None
        self._failed_at = 0.0

    def check(self) -> None:
        """Raises what the store raised a moment ago or raises now, ``BackendUnavailable`` when it says nothing."""
        with self._lock:
            if self._failed is not None and time.monotonic() - self._failed_at < _KNOWN_S:
                raise BackendUnavailable(str(self._failed)) from self._failed
            if self._asked is None or self._asked.done():
                self._asked, self._latest = self._thread.submit(self._look), time.monotonic() + _WITHIN_S
            asked, latest = self._asked, self._latest
        try:
            asked.result(max(0.0, latest - time.monotonic()))
        except TimeoutError as error:
            raise BackendUnavailable(f"the store has not answered within {_WITHIN_S:g} s") from error

    def _look(self) -> None:
        self._failed = None
        try:
            self._backend.kv.get(SERVICE, "ready")
        except MemwellError as error:
            self._failed, self._failed_at = error, time.monotonic()
            raise

    def close(self) -> None:
        """Ask no more; an answer that is still to come is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)


__all__ = ["Readiness"]

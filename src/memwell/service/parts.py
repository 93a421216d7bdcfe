"""The parts of a running service, put together: what all requests share."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from memwell._asyncify import Closing
from memwell.errors import BackendUnavailable, MemwellError
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import Metrics
from memwell.runtime.tracing import Tracer
from memwell.service.idempotency import Once
from memwell.service.jobs import Jobs
from memwell.service.keys import SERVICE, Failures, Keys, RateLimits
from memwell.service.log import AuditLog
from memwell.settings import Settings
from memwell.storage.protocols import Backend

# Whether the store answers, told within a second also while it does not.


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


_HELD = 256
"""How many spaces' memories are held ready; those of others are made again when they are asked for."""

_LAST_JOBS_S = 2.0
"""How long jobs may go on at the end."""

_ALL_S = 8.5
"""How long after it was told to stop nothing is waited for any more. The promise is ten seconds for everything."""

_LEAST_S = 0.5


class Service(Closing):
    """One store, served. Closing it closes the store."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.backend = engine.backend
        self.keys = Keys(self.backend)
        self.keys.watch()
        self.log = AuditLog(self.backend)
        self.once = Once(self.backend)
        self.rates = RateLimits(settings.serve_rate)
        self.failures = Failures()
        self.metrics = Metrics(self.backend)
        self.tracer = Tracer.of(settings)
        self.jobs = Jobs(self.backend)
        self.ledger = KeptLedger.of(self.backend, settings)
        self.readiness = Readiness(self.backend)
        self._stopping_since: float | None = None
        self.lingering = False
        """Whether something was still worked on when it was closed: a request, a job, vectors. It cannot be stopped in the
        middle of a model's work; a process that ends should not wait for it, nor take its own parts away from under it."""

        self.models = "loading" if engine.embedder is not None else "none"
        """Whether they are there: ``loading``, ``ok``, ``failed``, or ``none`` where none are used."""
        self._engines: OrderedDict[Space, Engine] = OrderedDict()
        self._closed = False
        self._lock = threading.Lock()
        self._last_words: list[Callable[[], None]] = []
        self._every_tick: list[Callable[[], object]] = []

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping_since is not None

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        if not stopping:
            self._stopping_since = None
        elif self._stopping_since is None:
            self._stopping_since = time.monotonic()

    def memory_of(self, space: Space) -> Engine:
        """The memory of a space."""
        with self._lock:
            held = self._engines.get(space)
            if held is None:
                held = self._engines[space] = self.engine.at(space)
                if len(self._engines) > _HELD:
                    self._engines.popitem(last=False)
            else:
                self._engines.move_to_end(space)
            return held

    def warm(self) -> None:
        """Load the models, so that the first question need not wait for them."""
        if self.engine.embedder is None:
            return
        try:
            self.engine.embedder.embed(["ready", "就绪"])
        except MemwellError:
            # Whoever needs them is told why; what needs none goes on.
            self.models = "failed"
        else:
            self.models = "ok"

    def tick(self) -> None:
        """Write down what is gathered between requests: figures, and when keys were last used."""
        self.metrics.flush()
        self.keys.write_uses()
        for one in self._every_tick:
            one()

    def look(self) -> None:
        """See whether another process has left something to do: jobs that it was at, or work that spaces are owed."""
        if not self.stopping:
            self.jobs.take_up(self.memory_of)
            self.engine.attend()

    def at_tick(self, often: Callable[[], object]) -> None:
        """Do something every few seconds as long as the service runs."""
        self._every_tick.append(often)

    def at_end(self, last: Callable[[], None]) -> None:
        """Do something when the service is closed, while there is still a store."""
        self._last_words.append(last)

    def close(self) -> None:
        """Finish what is under way, write the last figures, and let go of the store."""
        self.stopping = True
        if self._closed:
            return
        self._closed = True
        for last in self._last_words:
            last()
        self.jobs.close(wait_s=_LAST_JOBS_S)
        self.keys.unwatch()
        self.readiness.close()
        with suppress(MemwellError):
            self.tick()
        self.tracer.close()
        self._engines.clear()
        closed = _within(self._patience(), self.engine.close)
        self.lingering = self.lingering or self.jobs.lingering or not closed

    def _patience(self) -> float:
        """How long may still be waited for the work in the background."""
        since = self._stopping_since or time.monotonic()
        return max(_LEAST_S, _ALL_S - (time.monotonic() - since))


def _within(seconds: float, call: Callable[[], None]) -> bool:
    """Do something for at most so long; whether it was done by then. Raises what it raises."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            ended.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            ended.set_exception(error)

    threading.Thread(target=run, name="memwell-closing", daemon=True).start()
    try:
        ended.result(seconds)
    except TimeoutError:
        if not ended.done():
            return False
        raise
    return True

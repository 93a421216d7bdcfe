"""The parts of a running service that all requests share: store, keys, limits, logs, jobs, metrics."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from memwell._asyncify import Closing
from memwell.confined import FairQueue, reading_for
from memwell.errors import BackendUnavailable, MemwellError
from memwell.records import Space
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import Metrics
from memwell.runtime.tracing import Tracer
from memwell.service.idempotency import Once, kept_under
from memwell.service.jobs import Jobs
from memwell.service.keys import SERVICE, Failures, Keys, OneTimeLink, RateLimits
from memwell.service.logs import AuditLog
from memwell.settings import Settings
from memwell.storage.protocols import Backend

T = TypeVar("T")
_WITHIN_S = 1.0
_KNOWN_S = 1.0
"""How long a failure is remembered before the store is asked again."""


class Readiness:
    """Checks in a thread whether the store answers. Concurrent callers wait for the same check."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memwell-ready")
        self._lock = threading.Lock()
        self._asked: Future[None] | None = None
        self._latest = 0.0
        self._failed: MemwellError | None = None
        self._failed_at = 0.0

    def check(self) -> None:
        """Raises the error of the store, now or a second ago; ``BackendUnavailable`` without an answer within a second."""
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
        """Stop checking, without waiting for a check under way."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class FairThreads:
    """Threads for requests: tenants with fewer requests under way come first, and none has all the threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memwell-request")
        self._turns: FairQueue[tuple[Hashable, Future[Any], Callable[[], Any]]] = FairQueue(threads)
        self._lock = threading.Lock()

    def submit(self, tenant: Hashable, work: Callable[[], T]) -> Future[T]:
        """Run work when it is this tenant's turn. Files that it reads are read on behalf of the tenant."""
        future: Future[T] = Future()
        with self._lock:
            self._turns.add(tenant, (tenant, future, work))
        self._begin_next()
        return future

    def later(self, work: Callable[[], object]) -> None:
        """Run short work of the service itself."""
        self._pool.submit(work)

    def _begin_next(self) -> None:
        while True:
            with self._lock:
                taken = self._turns.take()
            if taken is None:
                return
            try:
                self._pool.submit(self._run, *taken)
            except RuntimeError:
                # The service has closed.
                taken[1].cancel()

    def _run(self, tenant: Hashable, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                with reading_for(tenant):
                    future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            future.set_exception(error)
        finally:
            with self._lock:
                self._turns.ended(tenant)
            self._begin_next()

    def close(self) -> None:
        """Cancel what waits, and wait for the rest."""
        with self._lock:
            waiting = self._turns.drop_all()
        for _, future, _ in waiting:
            future.cancel()
        self._pool.shutdown(cancel_futures=True)


_HELD = 256
"""How many engines, one a space, are cached."""

_LAST_JOBS_S = 2.0
"""How long jobs may go on when the service closes."""

_ALL_S = 8.5
"""How long closing may take in all. The service promises ten seconds."""

_LEAST_S = 0.5


class Service(Closing):
    """A store with everything that serves it. Closing it closes the store.

    Raises ``Unsupported`` for a store without records.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        engine.backend.require("records")
        self.engine = engine
        self.settings = settings
        self.backend = engine.backend
        self.keys = Keys(self.backend)
        self.keys.watch()
        self.log = AuditLog(self.backend)
        self.once = Once(self.backend)
        self.rates = RateLimits(settings.serve_rate, backend=self.backend)
        self.failures = Failures()
        self.metrics = Metrics(self.backend)
        self.tracer = Tracer(settings.otlp_url)
        self.jobs = Jobs(self.backend)
        self.jobs.drop_answers = self.drop_answers
        self.threads = FairThreads(settings.serve_threads)
        self.ledger = KeptLedger.of(self.backend, settings)
        self.readiness = Readiness(self.backend)
        self.link: OneTimeLink | None = None
        """The link by which the user who started the service signs in."""
        self._stopping_since: float | None = None
        self.lingering = False
        """Whether a thread still worked when the service closed: at a request, a job or vectors. A model cannot be
        interrupted, so the process should exit without waiting for it."""

        self.models = "loading" if engine.embedder is not None else "none"
        """The state of the models: ``loading``, ``ok``, ``failed``, or ``none`` where none are used."""
        self._engines: OrderedDict[Space, Engine] = OrderedDict()
        self._closed = False
        self._lock = threading.Lock()
        self._at_end: list[Callable[[], None]] = []
        self._every_tick: list[Callable[[], object]] = []

    @property
    def stopping(self) -> bool:
        """Whether the service is stopping."""
        return self._stopping_since is not None

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        if not stopping:
            self._stopping_since = None
        elif self._stopping_since is None:
            self._stopping_since = time.monotonic()

    def memory_of(self, space: Space) -> Engine:
        """The engine of a space."""
        with self._lock:
            held = self._engines.get(space)
            if held is None:
                held = self._engines[space] = self.engine.at(space)
                if len(self._engines) > _HELD:
                    self._engines.popitem(last=False)
            else:
                self._engines.move_to_end(space)
            return held

    def drop_answers(self, space: Space) -> None:
        """Drop the stored answers of a space, which may hold erased texts."""
        for key in self.keys.reaching(space):
            self.once.drop_bodies(kept_under(key, space))

    def warm(self) -> None:
        """Load the models before the first request needs them."""
        if self.engine.embedder is None:
            return
        try:
            self.engine.embedder.embed(["ready", "就绪"])
        except MemwellError:
            # A request that needs them gets the error; the others work.
            self.models = "failed"
        else:
            self.models = "ok"

    def tick(self) -> None:
        """Store metrics and the last uses of keys, and call what ``at_tick`` registered."""
        self.metrics.flush()
        self.keys.write_uses()
        for one in self._every_tick:
            one()

    def look(self) -> None:
        """Take over jobs and pending work of processes that are gone."""
        if not self.stopping:
            self.jobs.take_up(self.memory_of)
            self.engine.attend()

    def at_tick(self, often: Callable[[], object]) -> None:
        """Call a function every few seconds while the service runs."""
        self._every_tick.append(often)

    def at_end(self, last: Callable[[], None]) -> None:
        """Call a function when the service closes, before the store does."""
        self._at_end.append(last)

    def close(self) -> None:
        """Finish the jobs under way, store the last metrics, and close the store."""
        self.stopping = True
        if self._closed:
            return
        self._closed = True
        for last in self._at_end:
            last()
        self.jobs.close(wait_s=_LAST_JOBS_S)
        self.keys.unwatch()
        self.readiness.close()
        with suppress(MemwellError):
            self.tick()
        self.tracer.close()
        self._engines.clear()
        stopping_s = time.monotonic() - (self._stopping_since or time.monotonic())
        closed = _within(max(_LEAST_S, _ALL_S - stopping_s), self.engine.close)
        self.lingering = self.lingering or self.jobs.lingering or not closed


def _within(seconds: float, call: Callable[[], None]) -> bool:
    """Call a function in a thread; whether it returned within the time. Raises what it raises."""
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

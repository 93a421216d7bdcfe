"""Batches: work over many records in pieces, on several processes or machines, that can be killed and go on.

A batch is a list of pieces and a function. The pieces are jobs of a queue in the store (``memwell.runtime.jobs``): each
process claims one, does it, and stores its result at once. A run that was killed continues where it stopped; a finished
batch only reads its results. The results do not depend on the runner.

A runner starts workers, as processes of this machine or as tasks of Ray. Each worker opens the store for itself and does
pieces of the queue until none is free.
"""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec.structs import replace

from memwell.errors import BackendError, Conflict, InvalidInput, MissingDependency
from memwell.longterm.base import utc_now
from memwell.records import Space, paged
from memwell.runtime.jobs import FoundJob, Job, JobQueue, Kept
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import JSONValue
from memwell.values import check_count, check_id, check_json, new_id, shown

Work: TypeAlias = Callable[[Backend, Any], JSONValue]
RunnerName: TypeAlias = Literal["auto", "processes", "inline", "ray"]
Pieces: TypeAlias = Sequence[JSONValue] | Callable[[Backend], Iterable[JSONValue]]
Progress: TypeAlias = Callable[[int, int], None]

MOST_TRIES = 3
DIED = "the process that did it has died"

_HEAD = "head"
_OLD = "pieces/00000000"
"""Where an earlier version kept the first pieces."""
_PAGE = 500
_ENDING_S = 10.0
_LOOK_S = 0.1
"""How often a run reads how far its processes are."""


class Failure(msgspec.Struct, frozen=True):
    """A piece that failed every time it was tried, with its last error."""

    number: int
    piece: JSONValue
    error: str
    tries: int


class BatchOutcome(msgspec.Struct, frozen=True):
    """The results in the order of the pieces, with None for those in ``failures``."""

    results: list[JSONValue]
    failures: list[Failure]

    @property
    def complete(self) -> bool:
        """Whether every piece has its result."""
        return not self.failures


class Batch:
    """Work over a store in pieces, each done once, also when processes are killed.

    ``pieces`` are small plain values, or a function of the open store that lists them, called when the batch is begun.
    ``work`` is a function of a module, or its name as ``module:function``; it is called with an open store and a piece, and
    returns plain JSON data. It must be safe to do twice: a process may be killed between its end and the storing of its
    result. ``runner`` is ``processes`` (of this machine), ``inline`` (here, one after the other), ``ray``, or ``auto``:
    Ray where the program is connected to it or an address is given, by default that of the settings, else processes; but
    inline for a store that no other process can open. Raises ``InvalidInput`` for a value that breaks a rule.
    """

    def __init__(
        self,
        store: str | Path | Backend,
        name: str,
        pieces: Pieces,
        work: Work | str,
        *,
        workers: int | None = None,
        runner: RunnerName = "auto",
        ray_address: str | None = None,
        tries: int = MOST_TRIES,
    ) -> None:
        if runner not in get_args(RunnerName):
            raise InvalidInput(f"a runner is one of {', '.join(get_args(RunnerName))}, not {shown(runner)}")
        if workers is not None:
            check_count(workers, "workers", least=1)
        self._store = store
        self._url = _url(store)
        self._name = check_id(name, "a batch's name")
        self._pieces = pieces
        self._work = named_work(work)
        self._workers = workers
        self._runner = runner
        self._ray_address = load_settings().ray_address if ray_address is None else ray_address
        self._tries = check_count(tries, "tries", least=1)
        if self._url is None and runner in ("processes", "ray"):
            raise InvalidInput(f"no other process can open this store; runner={shown(runner)} needs one with a URL")

    def run(self, *, again: bool = False, progress: Progress | None = None, **earlier: bool) -> BatchOutcome:
        """Do all pieces that have no result yet, and return the results of all, in the order of the pieces.

        A piece that fails is tried again; one that still fails is among the ``failures``, and the next run tries it once
        more. ``again`` drops all results and begins again. ``progress`` is called with how many pieces have ended, and of
        how many. Raises ``Conflict`` when the batch was begun with other pieces or another function.
        """
        # The name of the option in the version before.
        again = earlier.pop("anew", again)
        if earlier:
            raise InvalidInput(f"a run has no option {', '.join(map(repr, earlier))}")
        with self._opened() as backend:
            stored = _Stored(backend, self._name)
            try:
                if again:
                    stored.clear()
                report = _reporter(stored, self._begin(backend, stored), progress)
                report()
                self._do(backend, stored, report)
                return stored.outcome()
            finally:
                stored.queue.close()

    def outcome(self) -> BatchOutcome:
        """The results so far."""
        with self._opened() as backend:
            return _Stored(backend, self._name).outcome()

    def forget(self) -> None:
        """Drop the pieces and the results."""
        with self._opened() as backend:
            _Stored(backend, self._name).clear()

    def _opened(self) -> AbstractContextManager[Backend]:
        return nullcontext(self._store) if isinstance(self._store, Backend) else open_backend(self._store)

    def _begin(self, backend: Backend, stored: _Stored) -> int:
        pieces = self._pieces
        if not stored.begun(self._work):
            stored.begin(self._work, pieces(backend) if callable(pieces) else pieces)
        elif not callable(pieces):
            stored.check_same(pieces)
        return stored.reopen_failed()

    def _do(self, backend: Backend, stored: _Stored, report: Callable[[], None]) -> None:
        left = stored.left()
        runner = self._chosen(left) if left else None
        if runner is None:
            drain(backend, stored.queue, self._work, self._tries, ended=report)
            return
        setting = Setting(self._url or "", self._name, self._work, self._tries, list(sys.path))
        running, in_vain = set[str](), 0
        with runner:
            while not stored.queue.pending.is_empty():
                free = len(list(islice(stored.queue.pending.free(), runner.workers)))
                for _ in range(min(free, runner.workers - len(running))):
                    running.add(owner := new_id())
                    runner.start(replace(setting, owner=owner))
                for owner, has_failed in runner.ended(_LOOK_S):
                    running.discard(owner)
                    lost = stored.abandon(owner, self._tries)
                    in_vain = in_vain + 1 if has_failed and not lost else 0
                if in_vain >= self._tries:
                    raise BackendError(
                        "the processes of the batch end before they begin a piece; see what they printed"
                    )
                report()

    def _chosen(self, pieces: int) -> Runner | None:
        """The runner; None for inline."""
        wanted = self._runner
        if wanted == "auto":
            wanted = "ray" if ray_is_running() or self._ray_address else "processes"
            wanted = "inline" if self._url is None or pieces == 1 or self._workers == 1 else wanted
        if wanted == "ray":
            return OnRay(self._workers, self._ray_address)
        return None if wanted == "inline" else Processes(min(self._workers or os.cpu_count() or 1, pieces))


def _reporter(stored: _Stored, total: int, progress: Progress | None) -> Callable[[], None]:
    """A function that calls ``progress`` when more pieces have ended."""
    last = -1

    def report() -> None:
        nonlocal last
        ended = last if progress is None else total - stored.left()
        if progress is not None and ended != last:
            last = ended
            progress(ended, total)

    return report


class _Stored:
    """A batch in its store: its function, and its pieces as jobs of a queue."""

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend = backend
        self._kv = backend.kv
        self._name = name
        self._space = Space("memwell", "batch", name)
        self.queue = queue_of(backend, name)

    def begun(self, work: str) -> bool:
        """Whether the batch was begun. Raises ``Conflict`` when it was begun with another function."""
        head = self._kv.get(self._space, _HEAD)
        if head is None or self._kv.get(self._space, _OLD) is not None:
            # A batch in the layout of an earlier version begins again.
            return False
        known = cast("dict[str, Any]", head.value)
        if known["work"] != work:
            raise Conflict(f"the batch {shown(self._name)} is one of {known['work']}, not of {work}; begin it again")
        return True

    def begin(self, work: str, pieces: Iterable[JSONValue]) -> None:
        """Store the pieces, all or none, unless another program does so at the same time."""
        count = 0
        with self._backend.transaction():
            if self.begun(work):
                return
            self.clear()
            for count, piece in enumerate(pieces, 1):
                kept = new_piece(work, count - 1, piece)
                self.queue.add(kept.job.id, kept, mine=False)
            self._kv.put(self._space, _HEAD, {"work": work, "count": count})

    def check_same(self, pieces: Sequence[JSONValue]) -> None:
        """Raises ``Conflict`` when these are not the pieces that are stored."""
        if msgspec.json.encode(pieces) != msgspec.json.encode([piece_of(found) for found in self.queue.all()]):
            raise Conflict(f"the batch {shown(self._name)} was begun with other pieces; begin it again")

    def reopen_failed(self) -> int:
        """Open the pieces that failed for another try, and return how many pieces there are."""
        count = 0
        for found in list(self.queue.all()):
            count += 1
            if found.kept.job.status == "failed":
                self.queue.reopen(found.key, new_piece(found.kept.job.action, int(found.key), piece_of(found)))
        return count

    def left(self) -> int:
        """How many pieces have not ended."""
        return self.queue.pending.count()

    def abandon(self, owner: str, tries: int) -> int:
        """Release the pieces of a process that has ended, each after a failed try, and return how many it had."""
        pending = self.queue.pending
        pending.end_lease(owner)
        claimed = [found for key in pending.owned_by(owner) if (found := self.queue.claim(key)) is not None]
        for found in claimed:
            self.queue.retry(found, failed(found.kept.job, DIED), tries)
        return len(claimed)

    def outcome(self) -> BatchOutcome:
        """The results so far."""
        results, failures = list[JSONValue](), list[Failure]()
        for found in self.queue.all():
            job = self.queue.with_result(found) if found.kept.apart else found.kept.job
            results.append(None if job.result is None else job.result["result"])
            if job.status == "failed":
                error = (job.problem or {}).get("detail", "")
                failures.append(Failure(int(found.key), piece_of(found), error, found.kept.begun))
        return BatchOutcome(results, failures)

    def clear(self) -> None:
        """Drop everything; the head first, so that no process goes on with a part of it."""
        self._kv.delete(self._space, _HEAD)
        for entry in list(paged(lambda cursor: self._kv.scan(self._space, limit=_PAGE, cursor=cursor))):
            self._kv.delete(self._space, entry.key)
        self.queue.clear()


def _url(store: str | Path | Backend) -> str | None:
    """The URL by which another process opens the store; None when none can."""
    if isinstance(store, Backend):
        path = getattr(store, "path", None)
        return None if path is None else f"sqlite:{Path(path).resolve()}"
    text = str(store).removeprefix("sqlite:")
    if text == "memory:":
        return None
    # Absolute, as another process may run in another folder.
    is_path = ":" not in text.split("/", maxsplit=1)[0] and "," not in text
    return f"sqlite:{Path(text).expanduser().resolve()}" if is_path else str(store)


# Workers


class Setting(msgspec.Struct, frozen=True):
    """The settings of a worker."""

    url: str
    batch: str
    work: str
    tries: int
    path: list[str]
    """The module search path of the program that runs the batch."""
    owner: str = ""
    """The worker's name in the queue."""


def named_work(work: Work | str) -> str:
    """The name of a function as ``module:function``, for other processes. Raises ``InvalidInput`` for a function
    without one: of a script, inside another function, or a lambda.
    """
    if isinstance(work, str):
        loaded(work)
        return work
    name = f"{work.__module__}:{work.__qualname__}"
    if work.__module__ == "__main__" or "<" in name or "." in work.__qualname__:
        raise InvalidInput(
            f"the work of a batch must be a function of a module that can be imported, not {shown(name)}"
        )
    return name


def loaded(name: str) -> Work:
    """The function of this name. Raises ``InvalidInput`` when there is none."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(f"there is no work {shown(name)}; write module:function ({error})") from error
    if not callable(found):
        raise InvalidInput(f"{shown(name)} is no function")
    return found


def drain(
    backend: Backend,
    queue: JobQueue,
    work: str,
    tries: int,
    *,
    shuffled: bool = False,
    ended: Callable[[], None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Do pieces of a batch until none is free, or ``stopped``. ``ended`` is called after each."""
    while True:
        keys = list(queue.pending.free())
        if shuffled:
            # In random order: processes that take the same order would meet at every piece.
            random.shuffle(keys)
        claimed = 0
        for key in keys:
            if stopped():
                return
            found = queue.claim(key)
            if found is not None:
                claimed += 1
                _do_piece(backend, queue, found, work, tries)
                ended()
        if not claimed:
            return


def _do_piece(backend: Backend, queue: JobQueue, found: FoundJob, work: str, tries: int) -> None:
    try:
        result = loaded(work)(backend, piece_of(found))
        check_json(result, "the result of a piece")
        queue.write(found.key, replace(found.kept, job=done(found.kept.job, result)), found.version)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything, and the other pieces must go on
        queue.retry(found, failed(found.kept.job, f"{type(error).__name__}: {error}"), tries)


def queue_of(backend: Backend, name: str, owner: str | None = None) -> JobQueue:
    """The pieces of a batch as jobs."""
    return JobQueue(backend, Space("memwell", "batch", name, "queue"), owner=owner)


def new_piece(work: str, number: int, piece: JSONValue) -> Kept:
    """The stored job of a new piece."""
    now = utc_now()
    job = Job(id=f"{number:012d}", action=work, status="waiting", created=now, updated=now)
    return Kept(job, again=msgspec.json.encode(piece), begun=0)


def piece_of(found: FoundJob) -> Any:
    """The input of a piece."""
    return msgspec.json.decode(found.kept.again or b"null")


def done(job: Job, result: JSONValue) -> Job:
    """The job of a piece with its result."""
    # In an object: a result may be any JSON value, also None.
    return replace(job, status="done", updated=utc_now(), result={"result": result})


def failed(job: Job, error: str) -> Job:
    """The job of a piece that was given up."""
    return replace(job, status="failed", updated=utc_now(), problem={"detail": error})


def work_through(setting: Setting, stopped: Callable[[], bool] = lambda: False) -> None:
    """Run a worker: do pieces of the queue until none is free, or ``stopped``."""
    for place in setting.path:
        if place not in sys.path:
            sys.path.append(place)
    with open_backend(setting.url) as backend:
        queue = queue_of(backend, setting.batch, setting.owner)
        try:
            drain(backend, queue, setting.work, setting.tries, shuffled=True, stopped=stopped)
        finally:
            queue.close()


def main() -> None:
    """The program of a worker process. When its input ends, its parent is gone, and it stops after the current piece."""
    setting = msgspec.json.decode(sys.stdin.buffer.readline(), type=Setting)
    over = threading.Event()

    def wait_for_the_end() -> None:
        # Not through ``sys.stdin``: a thread that is blocked there keeps the interpreter from ending.
        while os.read(0, 1024):
            pass
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    work_through(setting, over.is_set)


class Runner(ABC):
    """A way to run workers, at most ``workers`` at a time. Use it in a ``with`` block."""

    workers: int

    @abstractmethod
    def start(self, setting: Setting) -> None:
        """Start one worker."""

    @abstractmethod
    def ended(self, wait_s: float) -> list[tuple[str, bool]]:
        """The workers that have ended, by their names, and whether each has failed. Waits a while for one."""

    @abstractmethod
    def __enter__(self) -> Runner: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...


class Processes(Runner):
    """Workers as processes of this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Processes:
        return self

    def start(self, setting: Setting) -> None:
        # With the search path of this process. What the work prints goes to the error stream.
        run = f"import sys; sys.path[:] = {setting.path!r}; from memwell.runtime.batch import main; main()"
        process = subprocess.Popen([sys.executable, "-X", "utf8", "-c", run], stdin=subprocess.PIPE, stdout=2)
        self._running[setting.owner] = process
        # Not as an argument: the URL may hold a password. A process that has died already is found by ``ended``.
        with suppress(OSError):
            cast("IO[bytes]", process.stdin).write(msgspec.json.encode(setting) + b"\n")
            cast("IO[bytes]", process.stdin).flush()

    def ended(self, wait_s: float) -> list[tuple[str, bool]]:
        over = {owner: process.returncode for owner, process in self._running.items() if process.poll() is not None}
        if not over:
            time.sleep(wait_s)
        for owner in over:
            _close(self._running.pop(owner))
        return [(owner, code != 0) for owner, code in over.items()]

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            _close(process)
        for process in self._running.values():
            try:
                process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _close(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        cast("IO[bytes]", process.stdin).close()


def ray_is_running() -> bool:
    """Whether this program is connected to Ray already. It does not import Ray."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


class OnRay(Runner):
    """Workers as tasks of Ray. Every machine must reach the store by its URL.

    Raises ``MissingDependency`` when Ray is not installed.
    """

    def __init__(self, workers: int | None, address: str = "") -> None:
        try:
            # Imported when needed, as it is large. It has no types.
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise MissingDependency('batches on Ray need: pip install "memwell[ray]"') from error
        self._address = address
        self._wanted = workers
        self.workers = workers or 1
        self._started = False
        self._running: dict[Any, str] = {}

    def __enter__(self) -> OnRay:
        if not self._ray.is_initialized():
            self._started = True
            if self._address:
                self._ray.init(address=self._address, log_to_driver=False)
            else:
                # A local cluster that other machines cannot reach.
                self._ray.init(
                    num_cpus=self._wanted, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
                )
        self.workers = self._wanted or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._running:
            self._ray.cancel(task)
        if self._started:
            self._ray.shutdown()

    def start(self, setting: Setting) -> None:
        # The queue counts the tries.
        task = self._ray.remote(max_retries=0)(work_through).remote(setting)
        self._running[task] = setting.owner

    def ended(self, wait_s: float) -> list[tuple[str, bool]]:
        if not self._running:
            time.sleep(wait_s)
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=wait_s)
        return [(self._running.pop(task), self._has_failed(task)) for task in ready]

    def _has_failed(self, task: Any) -> bool:
        try:
            self._ray.get(task)
        except self._ray.exceptions.RayError:
            return True
        return False


__all__ = ["Batch", "Failure", "BatchOutcome", "named_work"]

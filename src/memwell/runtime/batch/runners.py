"""Runners of batches: workers as processes of this machine, or as tasks of Ray.

Each worker opens the store for itself and takes pieces from the batch's queue until none is free.
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
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, MissingDependency
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.runtime.jobs import FoundJob, Job, JobQueue, Kept
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import JSONValue
from memwell.values import check_json, shown

Work: TypeAlias = Callable[[Backend, Any], JSONValue]

DIED = "the process that did it has died"
_ENDING_S = 10.0


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
        run = f"import sys; sys.path[:] = {setting.path!r}; from memwell.runtime.batch.runners import main; main()"
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

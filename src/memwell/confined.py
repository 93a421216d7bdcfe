"""Readers of untrusted bytes in worker processes with limits of memory, processor time and time.

A small file can be made to cost gigabytes or minutes: a picture that claims fifty million rows, a zip that unpacks a
thousandfold. ``confined(reader, data, …)`` calls such a reader in a worker, which is killed at a limit. A worker is reused
for many files, is replaced after a limit was hit, and ends after a minute without work. Callers wait for a worker in turn:
tenants with fewer files in work come first, and none has all workers.

Memory and processor time are limited by the kernel, on Linux (elsewhere at most the processor time; Windows has neither).
The time is limited everywhere. Where no process can be started, as in a frozen program, the reader runs in place.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import queue
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from typing import IO, Any, Generic, NamedTuple, TypeVar, cast, get_type_hints

import msgspec

from memwell import errors
from memwell.errors import MemwellError, UnreadableDocument
from memwell.settings import environment_of_workers

MEMORY_MB = 512
"""How much memory the reading of a file may take, besides the worker itself."""

CPU_S = 60
"""How much processor time it may take."""

TIME_S = 120.0
"""How long it may take."""

WORKERS = max(2, min(4, os.cpu_count() or 2))
"""How many workers a process has at most."""

_IDLE_S = 60.0
_LOOK_S = 0.1
"""How often a caller that waits looks whether it should stop."""

_GROWN = 128 * 2**20
"""A worker that has kept so much memory after a file is replaced."""

_NICENESS = 10
"""Workers yield the processor to the program itself."""

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from memwell.confined import work; work()"
_LENGTH = struct.Struct(">QQ")
_DONE, _REFUSED, _NO_MEMORY, _BROKEN = range(4)
_logger = logging.getLogger("memwell.confined")
R = TypeVar("R")
T = TypeVar("T")


class FairQueue(Generic[T]):
    """Decides who is next: tenants with fewer running come first, and none has all the places.

    The caller holds a lock.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        # The last place is for another tenant: long work of one does not stop the rest.
        self._most_running = max(1, places - 1)
        self._waiting: list[tuple[Hashable, T]] = []
        self._running: Counter[Hashable] = Counter()

    def add(self, tenant: Hashable, one: T) -> None:
        """Add one that waits."""
        self._waiting.append((tenant, one))

    def take(self) -> T | None:
        """The next to run, or None when none may. Call ``ended`` after it."""
        if self.running >= self._places:
            return None
        allowed = [one for one in self._waiting if self._running[one[0]] < self._most_running]
        if not allowed:
            return None
        taken = min(allowed, key=lambda one: self._running[one[0]])
        self._waiting.remove(taken)
        self._running[taken[0]] += 1
        return taken[1]

    def drop(self, tenant: Hashable, one: T) -> bool:
        """Remove one that waits; whether it waited."""
        if (tenant, one) not in self._waiting:
            return False
        self._waiting.remove((tenant, one))
        return True

    def drop_all(self) -> list[T]:
        """Remove all that wait."""
        dropped, self._waiting = self._waiting, []
        return [one for _, one in dropped]

    def ended(self, tenant: Hashable) -> None:
        """Free the place of one that was taken."""
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]

    def waiting(self, tenant: Hashable) -> int:
        """How many of a tenant wait."""
        return sum(1 for one in self._waiting if one[0] == tenant)

    @property
    def running(self) -> int:
        """How many were taken and have not ended."""
        return self._running.total()


# Calling


class _Caller(NamedTuple):
    """On whose behalf files are read, and a function that raises when that should end."""

    tenant: Hashable = None
    check: Callable[[], object] = lambda: None


_caller: ContextVar[_Caller] = ContextVar("_caller", default=_Caller())  # noqa: B039 - it is immutable


@contextmanager
def reading_for(tenant: Hashable, check: Callable[[], object] = lambda: None) -> Generator[None]:
    """Read files on behalf of a tenant. When ``check`` raises, the worker is killed and the call raises that."""
    token = _caller.set(_Caller(tenant, check))
    try:
        yield
    finally:
        _caller.reset(token)


def confined(reader: Callable[..., R], data: bytes, *arguments: Any) -> R:
    """What ``reader(data, *arguments)`` returns, called in a worker.

    ``reader`` is a function of a module of memwell; its arguments and its result are plain data or structs, as annotated.
    Raises the ``MemwellError`` that it raises, and ``UnreadableDocument`` (``too-large``) that names the limit it hit.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        _warn_once()
        return reader(data, *arguments)
    header = msgspec.msgpack.encode([f"{reader.__module__}:{reader.__qualname__}", arguments])
    with _pool.worker() as worker:
        reply = worker.call(header, data)
    code, body = reply[0], memoryview(reply)[1:]
    if code == _DONE:
        return msgspec.msgpack.decode(body, type=_hints(reader)["return"])
    if code == _NO_MEMORY:
        raise _too_much_memory()
    name, message, reason = msgspec.msgpack.decode(body, type=tuple[str, str, str])
    if code == _BROKEN:
        _logger.error("the reader %s failed: %s", reader.__qualname__, message)
        raise MemwellError(f"the reader failed: {name}")
    kind: type[MemwellError] = getattr(errors, name)
    raise UnreadableDocument(message, reason=reason) if kind is UnreadableDocument else kind(message)


def _hints(reader: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(reader)


def _too_much_memory() -> UnreadableDocument:
    message = f"reading it takes more than {MEMORY_MB} MB of memory, which is the limit for one file"
    return UnreadableDocument(message, reason="too-large")


_warned = threading.Event()


def _warn_once() -> None:
    if not _warned.is_set():
        _warned.set()
        _logger.warning("files are read without limits of memory and time: this program cannot start a Python process")


class _Died(Exception):
    """The worker ended without a reply, and for no fault of the file that is known."""


class _Worker:
    """A process that reads one file after another."""

    def __init__(self) -> None:
        # Our own modules are found as here, and nothing is loaded from the current folder that is not loaded here.
        command = [sys.executable, "-P", "-c", _BOOT, *sys.path]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # An interrupt from the terminal is for the program, which ends its workers itself.
            start_new_session=True,
            env=environment_of_workers(),
        )
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._receive, name="reading-worker", daemon=True).start()

    def _receive(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError), self._process.stdout as pipe:
            while head := _whole(pipe, _LENGTH.size):
                self._replies.put(_whole(pipe, _LENGTH.unpack(head)[0]))
        self._replies.put(None)

    @property
    def works(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def call(self, header: bytes, data: bytes) -> bytes:
        """The reply to one file. Raises ``_Died``, and ``UnreadableDocument`` when a limit was hit."""
        try:
            self._send(header, data)
            return self._reply(time.monotonic() + TIME_S)
        except BaseException:
            self.end()
            raise

    def _send(self, header: bytes, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_LENGTH.pack(len(header), len(data)) + header)
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except (OSError, ValueError):
            # Why it ended, its exit code says.
            return

    def _reply(self, latest: float) -> bytes:
        while True:
            with suppress(queue.Empty):
                reply = self._replies.get(timeout=_LOOK_S)
                if reply:
                    return reply
                raise _reason_of(self._process.wait())
            _caller.get().check()
            if time.monotonic() > latest:
                message = f"reading it takes longer than {TIME_S:g} s, which is the limit for one file"
                raise UnreadableDocument(message, reason="too-large")

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()


_BROKE_OFF = f"its reader broke off: it is damaged, or needs more than the {MEMORY_MB} MB of memory for one file"


def _reason_of(code: int) -> Exception:
    if code == 0:
        return _Died()
    if sys.platform != "win32":
        import signal  # noqa: PLC0415 - its names differ by platform

        if -code == signal.SIGKILL:
            # By someone, or by the system for want of memory: we kill one only after the last look at its reply.
            return _Died(f"{_BROKE_OFF}, or its reader was killed; try again")
        if -code == signal.SIGXCPU:
            message = f"reading it takes more than {CPU_S} s of processor time, which is the limit for one file"
            return UnreadableDocument(message, reason="too-large")
    # Native readers end the process when there is no memory.
    return UnreadableDocument(_BROKE_OFF)


class _Pool:
    """The workers of this process."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._turns: FairQueue[threading.Event] = FairQueue(WORKERS)
        self._lock = threading.Lock()

    @contextmanager
    def worker(self) -> Generator[_Retrying]:
        """A worker, when it is this caller's turn."""
        caller, turn = _caller.get(), threading.Event()
        with self._lock:
            self._turns.add(caller.tenant, turn)
            self._wake()
        try:
            while not turn.wait(_LOOK_S):
                caller.check()
        except BaseException:
            with self._lock:
                if not self._turns.drop(caller.tenant, turn):
                    self._leave(caller.tenant)
            raise
        used = _Retrying(self._taken())
        try:
            yield used
        finally:
            works = used.worker.works
            if not works:
                used.worker.end()
            with self._lock:
                if works:
                    self._idle.append(used.worker)
                self._leave(caller.tenant)

    def _taken(self) -> _Worker:
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return _Worker()
            if worker.works:
                return worker
            worker.end()

    def _leave(self, tenant: Hashable) -> None:
        self._turns.ended(tenant)
        self._wake()

    def close(self) -> None:
        """End the workers without work."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _wake(self) -> None:
        while (turn := self._turns.take()) is not None:
            turn.set()


class _Retrying:
    """A worker, replaced once: it may end for want of work at the moment it is called, or be killed by others."""

    def __init__(self, worker: _Worker) -> None:
        self.worker = worker

    def call(self, header: bytes, data: bytes) -> bytes:
        """The reply, as of ``_Worker.call``."""
        try:
            return self.worker.call(header, data)
        except _Died:
            self.worker = _Worker()
        try:
            return self.worker.call(header, data)
        except _Died as error:
            if error.args:
                raise UnreadableDocument(str(error)) from None
            raise MemwellError("the worker that reads files does not start") from None


_pool = _Pool()
_of_parents: list[_Pool] = []


def _forget() -> None:
    """After a fork the workers belong to the parent. They are kept as they are: to drop them would wait for them."""
    global _pool  # noqa: PLW0603
    _of_parents.append(_pool)
    _pool = _Pool()


def _close() -> None:
    _pool.close()


atexit.register(_close)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# Working, in the worker


def work() -> None:
    """Read files from standard input until it ends, or none comes for a minute."""
    # What a library prints must not get among the replies.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    source = sys.stdin.buffer
    begun_with = _mapped()
    while _has_work() and (head := _whole(source, _LENGTH.size)):
        sizes = _LENGTH.unpack(head)
        reply = _worked(_whole(source, sizes[0]), _whole(source, sizes[1]))
        out.write(_LENGTH.pack(len(reply), 0))
        out.write(reply)
        out.flush()
        if reply[0] == _NO_MEMORY or _mapped() - begun_with > _GROWN:
            break
    # Without the end of native libraries, which a broken file may have left in any state.
    os._exit(0)


def _has_work() -> bool:
    if sys.platform == "win32":
        return True
    import select  # noqa: PLC0415 - only of sockets on Windows

    # Nothing of the next file is in the buffer of the pipe: it is sent after the reply to the last.
    return bool(select.select([sys.stdin.fileno()], [], [], _IDLE_S)[0])


def _worked(header: bytes, data: bytes) -> bytes:
    try:
        module, _, name = cast("str", (asked := msgspec.msgpack.decode(header))[0]).partition(":")
        reader = getattr(import_module(module), name)
        hints = _hints(reader)
        wanted = [hints[one] for one in list(hints)[1:-1]]
        arguments = [msgspec.convert(*one) for one in zip(asked[1], wanted, strict=True)]
        _limit()
        return bytes([_DONE]) + msgspec.msgpack.encode(reader(data, *arguments))
    except MemoryError:
        return bytes([_NO_MEMORY])
    except MemwellError as error:
        said = (type(error).__name__, str(error), getattr(error, "reason", ""))
        return bytes([_REFUSED]) + msgspec.msgpack.encode(said)
    except Exception as error:  # noqa: BLE001 - the program logs it
        said = (type(error).__name__, traceback.format_exc(), "")
        return bytes([_BROKEN]) + msgspec.msgpack.encode(said)


def _limit() -> None:
    """Limit what the next file may cost, above what the worker has used by now."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = {
        resource.RLIMIT_CPU: math.ceil(used.ru_utime + used.ru_stime) + CPU_S,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
    }
    if mapped := _mapped():
        soft[resource.RLIMIT_AS] = mapped + MEMORY_MB * 2**20
    for limit, value in soft.items():
        hard = resource.getrlimit(limit)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _mapped() -> int:
    """The memory that this process has mapped, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _whole(pipe: IO[bytes], size: int) -> bytes:
    """``size`` bytes, or none when the pipe ends before."""
    found = pipe.read(size)
    return found if len(found) == size else b""

"""A backend in a process of its own, so that it can be killed at any moment.

A *nursery* is one process that has loaded memwell and forks a child whenever it is asked to: a child costs some
milliseconds, and killing it is what a power cut is to the program. ``python -m memwell.testing.child`` is the nursery.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from memwell.errors import MemwellError
from memwell.storage.protocols import Backend
from memwell.testing.clock import Clock
from memwell.testing.operations import Operation, Outcome, outcome


class Undone(Exception):
    """Raised inside a transaction to have it undone."""


class Nursery:
    """Starts children. Close it when they are done with."""

    def __init__(self, *preloaded: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memwell.testing.child", str(theirs.fileno()), *preloaded],
                pass_fds=[theirs.fileno()],
            )
        self._socket = ours

    def start(self, opener: str, path: str) -> Child:
        """A child with the backend that ``opener`` (``module:name``) opens at ``path`` with a clock of the child's."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._socket, [b"x"], [theirs.fileno()])
        pid = int.from_bytes(self._socket.recv(8), "big")
        child = Child(Connection(ours.detach()), pid)
        child.ask("open", (opener, path))
        return child

    def close(self) -> None:
        """End the nursery; it forks no more."""
        self._socket.close()
        self._process.wait()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Child:
    """A process that holds a backend and does as it is told, one thing at a time."""

    def __init__(self, connection: Connection, pid: int) -> None:
        self._connection = connection
        self._pid = pid

    def ask(self, verb: str, payload: object = None) -> Any:
        """Have something done and return, or raise, what came of it."""
        self.tell(verb, payload)
        return self.answer()

    def tell(self, verb: str, payload: object = None) -> None:
        """Have something done, without waiting."""
        self._connection.send((verb, payload))

    def answer(self) -> Any:
        """What came of the last thing told. Raises ``EOFError`` when the child died before it answered."""
        failed, result = self._connection.recv()
        if failed:
            raise result
        return result

    def kill(self) -> None:
        """Kill the process as a power cut would, and wait until it is gone. What it had answered can still be read."""
        os.kill(self._pid, signal.SIGKILL)
        # Nobody else holds the other end: it closes when the process is gone, and then reading does not wait.
        _wait_for_death(self._pid)

    def close(self) -> None:
        """Let the process end: it does when nobody can tell it anything any more. Its number may be another's by now."""
        self._connection.close()


def _wait_for_death(pid: int) -> None:
    # The nursery reaps its children at once, so the number vanishes when the process does.
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            os.sched_yield()


class _Worker:
    """What runs in the child."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._backend: Backend | None = None
        self._transaction: AbstractContextManager[None] | None = None

    def open(self, what: tuple[str, str]) -> None:
        opener, path = what
        module, _, name = opener.partition(":")
        self._backend = getattr(importlib.import_module(module), name)(path, clock=self._clock)

    def reopen(self, what: tuple[str, str]) -> None:
        self._require().close()
        self.open(what)

    def calls(self, what: tuple[float, list[Operation]]) -> list[Outcome]:
        self._clock.now, operations = what
        return [outcome(operation, self._require()) for operation in operations]

    def begin(self, _: None) -> None:
        self._transaction = self._require().transaction()
        self._transaction.__enter__()

    def end(self, undo: bool) -> None:
        transaction, self._transaction = self._transaction, None
        assert transaction is not None
        with contextlib.suppress(Undone):
            if undo:
                transaction.__exit__(Undone, Undone(), None)
            else:
                transaction.__exit__(None, None, None)

    def check(self, _: None) -> list[str]:
        return self._require().check()

    def _require(self) -> Backend:
        assert self._backend is not None, "nothing is open"
        return self._backend


def _serve(connection: Connection) -> None:
    worker = _Worker()
    for verb, payload in _received(connection):
        try:
            answer = (False, getattr(worker, verb)(payload))
        except MemwellError as error:
            answer = (True, type(error)(str(error)))
        connection.send(answer)


def _received(connection: Connection) -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield connection.recv()


def _nurse(channel: socket.socket) -> None:
    # Children are reaped by the kernel: nobody here would wait for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asked, handles, _, _ = socket.recv_fds(channel, 1, 1)
        if not asked:
            return
        pid = os.fork()
        if pid == 0:
            channel.close()
            _serve(Connection(handles[0]))
            os._exit(0)
        os.close(handles[0])
        channel.send(pid.to_bytes(8, "big"))


if __name__ == "__main__":
    for _module in sys.argv[2:]:
        importlib.import_module(_module)
    _nurse(socket.socket(fileno=int(sys.argv[1])))


__all__ = ["Child", "Nursery", "Undone"]

"""Where pieces are done: here, or in processes of this machine. Each way tells what came of every piece, in any order."""

from __future__ import annotations

import selectors
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import IO, cast

import msgspec

from memwell.runtime.batch.working import Order, Report, Setting, done, loaded
from memwell.storage import Backend

_ENDING_S = 10.0
DIED = "the process that did it has died"


class Runner(ABC):
    """A way to have pieces done."""

    @abstractmethod
    def run(self, setting: Setting, orders: Iterable[Order]) -> Iterator[Report]:
        """Have pieces done, and tell of each as it ends; one whose process has died is reported as failed.

        ``orders`` is read as there is somebody free, so more may be put into it while it is read.
        """


class Inline(Runner):
    """One after the other, in this process, with the store that is open here."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def run(self, setting: Setting, orders: Iterable[Order]) -> Iterator[Report]:
        work = loaded(setting.work)
        for order in orders:
            yield done(self._backend, setting.batch, work, order)


class Processes(Runner):
    """In so many processes of this machine, each with the store opened for itself."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, setting: Setting, orders: Iterable[Order]) -> Iterator[Report]:
        waiting = iter(orders)
        idle: list[_Process] = []
        with selectors.DefaultSelector() as selector, ExitStack() as started:
            while True:
                while len(selector.get_map()) < self._workers and (order := next(waiting, None)) is not None:
                    process = idle.pop() if idle else _Process(setting)
                    started.callback(process.end)
                    process.give(order)
                    selector.register(process.output, selectors.EVENT_READ, process)
                if not selector.get_map():
                    return
                for key, _ in selector.select():
                    process = cast("_Process", key.data)
                    selector.unregister(process.output)
                    report = process.report()
                    if process.alive:
                        idle.append(process)
                    yield report


class _Process:
    """A process that does one piece at a time. It ends when its input does, so also when this process is killed."""

    def __init__(self, setting: Setting) -> None:
        # It finds modules where this one does, however this one was started.
        run = f"import sys; sys.path[:] = {setting.path!r}; from memwell.runtime.batch.working import main; main()"
        command = [sys.executable, "-X", "utf8", "-c", run]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._input = cast("IO[bytes]", self._process.stdin)
        self.output = cast("IO[bytes]", self._process.stdout)
        self.alive = True
        self._number = 0
        self._say(setting)

    def give(self, order: Order) -> None:
        """Have a piece done."""
        self._number = order.number
        self._say(order)

    def report(self) -> Report:
        """What came of it. Waits for it."""
        line = self.output.readline()
        if not line.endswith(b"\n"):
            self.alive = False
            return Report(self._number, DIED)
        return msgspec.json.decode(line, type=Report)

    def end(self) -> None:
        """Let it go, after what it does just now; what it does not end in time is ended."""
        with suppress(OSError):
            self._input.close()
        try:
            self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.output.close()

    def _say(self, what: msgspec.Struct) -> None:
        # One that has died is noticed when it is asked for its report.
        with suppress(OSError):
            self._input.write(msgspec.json.encode(what) + b"\n")
            self._input.flush()


__all__ = ["DIED", "Inline", "Processes", "Runner"]

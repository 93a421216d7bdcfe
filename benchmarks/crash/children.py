"""Writers that can be killed, and the process they are forked from.

Starting Python takes longer than a child lives, so they are forked from a *nursery*: a process with everything imported, no
store open and one thread. It forks when told to, and says when the child is ready and when it has ended.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.crash.operations import Clock, Operation, Planner, attempt, spaces_of
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend

Task = dict[str, Any]
_LONGEST_LIFE_S = 30


class Nursery:
    """Forks children that run ``work``. Make it before the parent opens a store or starts a thread."""

    def __init__(self, work: Callable[[Task], None]) -> None:
        self._work = work
        commands, self._commands = os.pipe()
        news, self._news = os.pipe()
        _warm_up()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._commands)
            self._serve(os.fdopen(commands))
        os.close(commands)
        os.close(self._news)
        self._heard = os.fdopen(news)

    def _serve(self, commands: Any) -> None:
        # The parent's Ctrl-C is the parent's to handle; the nursery ends when its pipe does.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for line in commands:
            pid = os.fork()
            if pid == 0:
                self._live(json.loads(line))
            _, status = os.waitpid(pid, 0)
            self._tell(f"ended {os.waitstatus_to_exitcode(status)}")
        os._exit(0)

    def _live(self, task: Task) -> None:
        # Told by the child itself, so that it comes before anything else the child has to tell.
        self._tell(f"born {os.getpid()}")
        # Nobody kills a child whose parent was interrupted.
        signal.alarm(_LONGEST_LIFE_S)
        try:
            self._work({**task, "ready": self._news})
        except BaseException:  # noqa: BLE001 - whatever it was, the parent is to read it
            Path(task["log"], "failed").write_text(traceback.format_exc(), encoding="utf-8")
            os._exit(1)
        os._exit(0)

    def _tell(self, news: str) -> None:
        os.write(self._news, f"{news}\n".encode())

    def start(self, task: Task) -> int:
        """Fork a child for a task and return its process id."""
        os.write(self._commands, f"{json.dumps(task)}\n".encode())
        return int(self._hear("born").split()[1])

    def wait_ready(self) -> bool:
        """Wait until the child has opened its store; False when it ended before."""
        return self._hear("ready", "ended") == "ready"

    def wait_ended(self) -> int:
        """Wait for the child's end and return its exit code, −9 when it was killed."""
        return int(self._hear("ended").split()[1])

    def _hear(self, *wanted: str) -> str:
        for line in self._heard:
            if line.split()[0] in wanted:
                return line.strip()
        raise RuntimeError("the nursery has died")

    def close(self) -> None:
        """End the nursery."""
        os.close(self._commands)
        os.waitpid(self._pid, 0)


def _warm_up() -> None:
    """Do once what is slow the first time, so that no child spends its short life on it: imports, tables of characters."""
    importlib.import_module("memwell.storage.sqlite.vectors")
    backend, planner = MemoryBackend(), Planner(0, 0, {})
    for _ in range(300):
        attempt(backend, planner.next())


def open_store(path: str, clock: Clock, *, graphs_above: int, secret: str) -> SqliteBackend:
    """The store as both sides open it: with few changes kept and, in some stores, graphs for small spaces or a secret."""
    settings = Settings(hnsw_above=graphs_above, kept_changes=16, secret=secret)
    return SqliteBackend(path, settings=settings, clock=clock)


def write_until_killed(task: Task) -> None:
    """The life of a child: open the store, say so, and let every lane write until the kill."""
    clock = Clock()
    clock.now = task["now"]
    backend = open_store(task["path"], clock, graphs_above=task["graphs_above"], secret=task["secret"])
    lanes = [_Lane(backend, task, lane) for lane in task["lanes"]]
    os.write(task["ready"], b"ready\n")
    threads = [threading.Thread(target=lane.run, daemon=True) for lane in lanes[1:]]
    for thread in threads:
        thread.start()
    lanes[0].run()


class _Lane:
    """One thread of a child, with spaces, a plan and a log of its own."""

    def __init__(self, backend: Backend, task: Task, lane: int) -> None:
        self._backend = backend
        self._log = os.open(f"{task['log']}/lane-{lane}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        lengths = {
            (*info.thread.space, info.thread.id): (info.first, info.next)
            for space in spaces_of(lane)
            for info in backend.log.threads(space).items
        }
        self._planner = Planner(task["seed"] + lane, lane, lengths)

    def run(self) -> None:
        try:
            while True:
                self._one(self._planner.next())
        except BaseException:  # noqa: BLE001 - as above
            # One broken lane must not look like a quiet one.
            traceback.print_exc(file=sys.stderr)
            os._exit(1)

    def _one(self, operation: Operation) -> None:
        self._write("begin", operation)
        result = attempt(self._backend, operation)
        self._write("done", result)
        self._planner.learn(operation, result)

    def _write(self, kind: str, value: Any) -> None:
        # Into the page cache: only the process is killed, not the machine.
        os.write(self._log, f"{kind} {json.dumps(value)}\n".encode())


def read_log(path: Path) -> tuple[list[tuple[Operation, Any]], Operation | None, bool]:
    """What a lane did: the acknowledged operations with their results, and the one in flight, if any.

    The third is True when that last one had returned, but the kill cut its acknowledgement short.
    """
    if not path.exists():
        return [], None, False
    done: list[tuple[Operation, Any]] = []
    begun: Operation | None = None
    *lines, rest = path.read_bytes().split(b"\n")
    for line in lines:
        kind, _, value = line.partition(b" ")
        if kind == b"begin":
            begun = json.loads(value)
        elif begun is not None:
            done.append((begun, json.loads(value)))
            begun = None
    return done, begun, rest.startswith(b"d")


__all__ = ["Nursery", "Task", "open_store", "read_log", "write_until_killed"]

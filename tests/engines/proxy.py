"""A proxy between a client and a server that breaks connections the ways that networks do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Literal

Direction = Literal["to_server", "to_client"]

_CHUNK = 65_536
_LOOK_S = 0.05


class _Pair:
    """One client's connection and ours to the server for it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server

    def reset(self) -> None:
        """Cut both ends at once."""
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Carries bytes between clients of ``port`` and the server at ``target_port``, until it is told to misbehave.

    ``to_client`` changes what the server says.
    """

    def __init__(self, target_port: int, to_client: Callable[[bytes], bytes] = bytes) -> None:
        self._target_port = target_port
        self._to_client = to_client
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LOOK_S)
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: list[_Pair] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self._closed = False
        self._refusing = False
        self._left: dict[Direction, int | None] = {"to_server": None, "to_client": None}
        self.carried: dict[Direction, int] = {"to_server": 0, "to_client": 0}
        """How many bytes went each way."""
        self.connections = 0
        """How many connections were made through it."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    # Misbehaving

    def cut(self) -> None:
        """Cut every connection there is; new ones are let through."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            pair.reset()

    def refuse(self, refusing: bool = True) -> None:
        """From now on cut every new connection as soon as it is made, or let them through again."""
        self._refusing = refusing

    def hold(self) -> None:
        """Carry nothing any more, and say nothing of it, until ``resume``."""
        self._flowing.clear()

    def resume(self) -> None:
        """Go on carrying."""
        self._flowing.set()

    def cut_after_bytes(self, count: int, direction: Direction) -> None:
        """Cut the connection that carries the byte after these many more, before it is carried; then behave again."""
        with self._lock:
            self._left[direction] = count

    def half_close(self) -> None:
        """Tell each client that the server will say no more, while the server is told nothing."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            with suppress(OSError):
                pair.client.shutdown(socket.SHUT_WR)

    # Carrying

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target_port))
        except OSError:
            client.close()
            return
        pair = _Pair(client, server)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.append(pair)
            self.connections += 1
        for source, sink, direction in ((client, server, "to_server"), (server, client, "to_client")):
            thread = threading.Thread(target=self._carry, args=(pair, source, sink, direction), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _carry(self, pair: _Pair, source: socket.socket, sink: socket.socket, direction: Direction) -> None:
        try:
            while read := source.recv(_CHUNK):
                self._flowing.wait()
                data = self._to_client(read) if direction == "to_client" else read
                allowed = self._allowed(len(data), direction)
                sink.sendall(data[:allowed])
                self.carried[direction] += allowed
                if allowed < len(data):
                    break
        except OSError:
            return
        finally:
            self._end(pair)

    def _allowed(self, size: int, direction: Direction) -> int:
        with self._lock:
            left = self._left[direction]
            if left is None:
                return size
            self._left[direction] = None if size > left else left - size
            return min(size, left)

    def _end(self, pair: _Pair) -> None:
        with self._lock:
            if pair in self._pairs:
                self._pairs.remove(pair)
        pair.reset()

    def close(self) -> None:
        """Cut everything and listen no more."""
        self._closed = True
        self._flowing.set()
        self.cut()
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

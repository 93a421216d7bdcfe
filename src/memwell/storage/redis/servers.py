"""The servers: connections to each, and which of them has a slot.

redis-py's own clients send a command again by themselves when its answer is lost. Whether a write may be sent again is
for us to know, so these are plain connections, each used by one thread at a time, and who calls decides.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeAlias, cast

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, MissingDependency
from memwell.settings import Settings
from memwell.storage.redis.address import Address

try:
    from redis import Connection, ConnectionPool
    from redis.backoff import NoBackoff
    from redis.exceptions import (
        AuthenticationError,
        AuthorizationError,
        BusyLoadingError,
        RedisError,
        ResponseError,
    )
    from redis.exceptions import ConnectionError as LostConnection
    from redis.exceptions import TimeoutError as LateAnswer
    from redis.retry import Retry
except ImportError as missing:
    raise MissingDependency('a store in Redis needs the package redis: pip install "memwell[redis]"') from missing

Command: TypeAlias = tuple[Any, ...]
Where: TypeAlias = tuple[str, int]

_LOOKED_AT_S = 0.05
"""A connection that was not used for so long is looked at first: who finds it closed has sent nothing."""


class Lost(Exception):
    """The server went away. Nobody knows whether it did what it was told, unless ``sent`` is false: then it did not."""

    def __init__(self, cause: Exception, *, sent: bool) -> None:
        super().__init__(str(cause))
        self.sent = sent


class Server:
    """The connections of this process to one server, at most so many."""

    def __init__(self, url: str, settings: Settings, *, where: Where | None = None) -> None:
        self._timeout_s = settings.connect_timeout_s
        self._patience_s = settings.statement_timeout_s
        self._tls = url.startswith("rediss:")
        self._met = False
        self._size = settings.pool_size
        try:
            pool: Any = cast(Any, ConnectionPool).from_url(
                url,
                protocol=2,
                decode_responses=False,
                # Until it is connected: a server that does not speak TLS never answers, and has no statement to work on.
                socket_timeout=settings.connect_timeout_s,
                socket_connect_timeout=settings.connect_timeout_s,
                socket_keepalive=True,
                retry=Retry(NoBackoff(), 0),
                **_introduction(),
            )
            if where is not None:
                pool.connection_kwargs["host"], pool.connection_kwargs["port"] = where
            self.where: Where = (pool.connection_kwargs.get("host", ""), pool.connection_kwargs.get("port", 0))
            # redis-py's pool counts what it makes and never lets it go; only what it read off the URL is used.
            self._make: Callable[[], Any] = partial(pool.connection_class, **pool.connection_kwargs)
            self._make()
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"the URL of the Redis server cannot be used: {error}") from None
        self._idle: list[tuple[Any, float]] = []
        self._free = threading.BoundedSemaphore(self._size)

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands together and return their answers; one that was refused is answered by its error.

        Raises ``Lost`` when the server went away, ``BackendUnavailable`` when all connections stay in use.
        """
        if not self._free.acquire(timeout=self._timeout_s):
            raise BackendUnavailable(
                f"all {self._size} connections to Redis are in use and none came free for {self._timeout_s:g} s; "
                "set pool_size higher, or use fewer threads"
            )
        try:
            return self._exchanged(commands)
        finally:
            self._free.release()

    def _exchanged(self, commands: Sequence[Command]) -> list[Any]:
        connection = self._taken()
        whole = False
        try:
            connection.send_packed_command([_packed(command) for command in commands], check_health=False)
            answers = [_answer(connection) for _ in commands]
            whole = True
            return answers
        except (AuthenticationError, AuthorizationError) as error:
            raise ConfigurationError(f"the Redis server asks for a user or a password: {error}") from None
        except BusyLoadingError as error:
            raise Lost(error, sent=False) from error
        except (LostConnection, LateAnswer, OSError) as error:
            raise Lost(error, sent=True) from error
        finally:
            # One on which an answer is still to come must not be used for another question.
            if whole:
                self._idle.append((connection, time.monotonic()))
            else:
                connection.disconnect()

    def _taken(self) -> Any:
        with suppress(IndexError):
            while True:
                connection, used = self._idle.pop()
                if time.monotonic() - used < _LOOKED_AT_S or _is_quiet(connection):
                    return connection
                connection.disconnect()
        return self.connected()

    def connected(self) -> Any:
        """A connection of its own, not shared with anybody. Raises ``Lost`` and ``ConfigurationError``."""
        connection = self._make()
        try:
            connection.connect()
        except (AuthenticationError, AuthorizationError) as error:
            raise ConfigurationError(f"the Redis server refuses the user or the password: {error}") from None
        except ResponseError as error:
            raise ConfigurationError(f"the Redis server refuses the connection: {error}") from None
        except (RedisError, OSError) as error:
            self._check_tls(error)
            raise Lost(error, sent=False) from error
        self._met = True
        connection.socket_timeout = self._patience_s
        connection._sock.settimeout(self._patience_s)
        return connection

    def _check_tls(self, error: Exception) -> None:
        """Raises ``ConfigurationError`` when a server that was never spoken to does not seem to speak TLS."""
        if not self._tls or self._met:
            return
        if isinstance(error, LateAnswer):
            raise ConfigurationError(
                f"the Redis server did not answer for {self._timeout_s:g} s where TLS was expected (rediss://); "
                "if it has none, write redis://"
            ) from error
        if "SSL" in str(error) or "TLS" in str(error):
            raise ConfigurationError(
                f"TLS was expected (rediss://), and the Redis server failed in it: {error}"
            ) from error

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with suppress(IndexError):
            while True:
                self._idle.pop()[0].disconnect()


@cache
def _introduction() -> dict[str, Any]:
    """What every connection says of its client. Left to itself, redis-py looks its version up on the disk for each."""
    known = getattr(cast(Any, Connection)(), "driver_info", None)
    return {} if known is None else {"driver_info": known}


def _is_quiet(connection: Any) -> bool:
    """Whether a connection that nobody uses is open, with nothing on the way."""
    try:
        return not connection.can_read(0)
    except (RedisError, OSError):
        return False


def _packed(command: Command) -> bytes:
    """A command as it is sent. redis-py's own packing is made for more kinds of values, and takes twice as long."""
    parts = [b"*%d\r\n" % len(command)]
    for one in command:
        data = one if type(one) is bytes else str(one).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


class Servers:
    """One server, or the masters of a cluster by their slots. Safe to use from any thread, and after a fork."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self.address = address
        self._settings = settings
        self._lock = threading.Lock()
        self._abandoned: list[object] = []
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._named = [Server(url, self._settings) for url in self.address.urls]
        self._known: dict[Where, Server] = {}
        self._slots: list[Server] = [self._named[0]] * 16384

    def _ready(self) -> None:
        if self._pid != os.getpid():
            # What crossed the fork is kept, so that it is not closed under the parent.
            self._abandoned.append((self._named, self._known, self._slots))
            self._lock = threading.Lock()
            self._reset()
        if self.address.cluster and not self._known:
            self.learn()

    def of_slot(self, slot: int) -> Server:
        """The server that has a slot, as far as is known."""
        self._ready()
        return self._slots[slot]

    def masters(self) -> list[Server]:
        """Every server that has slots."""
        self._ready()
        return list(self._known.values()) if self.address.cluster else [self._named[0]]

    def at(self, where: Where) -> Server:
        """The server at an address that another one named."""
        with self._lock:
            if where not in self._known:
                self._known[where] = Server(self.address.urls[0], self._settings, where=where)
            return self._known[where]

    def learn(self) -> None:
        """Ask who has which slots. Raises ``Lost`` when nobody answers."""
        if not self.address.cluster:
            return
        failure: Exception = BackendError("nobody was asked")
        for server in [*self._known.values(), *self._named]:
            try:
                [answer] = server.exchange([("CLUSTER", "SLOTS")])
            except Lost as error:
                failure = error
                continue
            if isinstance(answer, ResponseError):
                raise ConfigurationError(f"the Redis server is not a member of a cluster: {answer}")
            if self._follow(server, answer):
                return
            failure = BackendError("the cluster has slots that nobody serves")
        raise Lost(failure, sent=False) from failure

    def _follow(self, asked: Server, ranges: list[Any]) -> bool:
        if not ranges:
            return False
        slots = list(self._slots)
        masters: dict[Where, Server] = {}
        for low, high, master, *_ in ranges:
            # A server that does not know its own name says nothing: it is the one that was asked.
            host = master[0].decode() if master[0] else asked.where[0]
            where = (host, int(master[1]))
            masters[where] = self._known.get(where) or Server(self.address.urls[0], self._settings, where=where)
            slots[low : high + 1] = [masters[where]] * (high + 1 - low)
        with self._lock:
            self._slots, self._known = slots, masters
        return True

    def close(self) -> None:
        """Close all connections that nobody uses."""
        if self._pid != os.getpid():
            return
        for server in [*self._named, *self._known.values()]:
            server.close()


__all__ = ["Command", "LateAnswer", "LostConnection", "Lost", "ResponseError", "Server", "Servers", "Where"]

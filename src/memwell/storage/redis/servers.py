"""The servers of a store: its URL, connections, cluster slots, and running scripts exactly once.

redis-py's own clients repeat a command when its answer is lost. Whether a write may be repeated depends on the script, so
these are plain connections, each used by one thread at a time, and ``Connections`` decides.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from redis import Connection, ConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import TimeoutError as LateAnswer
from redis.retry import Retry

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, MemwellError, ReadOnlyStore
from memwell.settings import Settings
from memwell.storage.redis.scripts import LIST, SEALED, HashTag, Script, Tags
from memwell.storage.urls import check_login, without_secrets
from memwell.values import drawn_between, new_version, shown

Command: TypeAlias = tuple[Any, ...]
Where: TypeAlias = tuple[str, int]
Argument: TypeAlias = str | bytes | int | float

OLDEST = (6, 2)
"""The oldest Redis that has all that the scripts use."""
_LOOKED_AT_S = 0.05
"""A connection that was idle for this long is checked before it is used, so that nothing is sent on a closed one."""
_RESTARTING_S = 1.5
"""How long a single server may be unavailable before a call fails. A cluster needs longer to elect a master."""


# Addresses: the URL of a store, parsed

_URL_FORM = "redis://host:6379/0, rediss://… or redis+cluster://host:6379,host:6379"
_SCHEMES = {"redis": ("redis", False), "rediss": ("rediss", False)} | {
    "redis+cluster": ("redis", True),
    "rediss+cluster": ("rediss", True),
}
_PORT = 6379
_NUMBER = re.compile(r"[0-9]{0,9}")


class Address(NamedTuple):
    """The servers and options of a URL. ``shown`` is the URL without secrets."""

    urls: tuple[str, ...]
    """A URL that redis-py understands for every server named."""
    cluster: bool
    shown: str
    prefix: str
    durable: str
    """The durability that the user vouches for: ``everysec`` or ``yes``."""
    wait: int
    """How many replicas must have a write before it is acknowledged."""


def parsed(url: str) -> Address:
    """Parse a URL. Raises ``ConfigurationError``."""
    check_login(url, "the Redis server")
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise ConfigurationError(f"not the URL of a Redis server: {shown(without_secrets(url))}; write {_URL_FORM}")
    scheme, cluster = _SCHEMES[parts.scheme]
    login, _, hosts = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    ours = _own_options(options)
    names = tuple(hosts.split(","))
    if len(names) > 1 and not cluster:
        raise ConfigurationError(f"several servers are a cluster: write redis+cluster://{hosts}")
    database = options.get("db", "") or parts.path.strip("/")
    if not _NUMBER.fullmatch(database):
        raise ConfigurationError(
            f"the database of a Redis server is a number, not {shown(database)}; write {_URL_FORM}"
        )
    if cluster and database not in ("", "0"):
        raise ConfigurationError("a cluster has one database only: leave out the number behind the servers")
    rest = f"{parts.path}?{urlencode(options)}" if options else parts.path
    found = tuple(f"{scheme}://{login + '@' if login else ''}{_with_port(name)}{rest}" for name in names)
    place = f"{parts.scheme}://{hosts}{parts.path}"
    return Address(found, cluster, place, ours["prefix"], ours["durable"], int(ours["wait"]))


class _Option(NamedTuple):
    default: str
    form: re.Pattern[str]
    expected: str


_OPTIONS = {
    # It is part of hash tags.
    "prefix": _Option("memwell", re.compile(r"[A-Za-z0-9_.:-]{1,64}"), "1 to 64 letters, digits and _ . : -"),
    "durable": _Option("", re.compile("(everysec|yes)?"), "'everysec' or 'yes'"),
    "wait": _Option("0", re.compile("[0-9]{1,3}"), "the number of replicas"),
}
_DRIVERS = (
    *("client_name", "db", "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs"),
    *("ssl_certfile", "ssl_check_hostname", "ssl_keyfile", "ssl_password"),
)
"""Options that redis-py reads from a URL."""


def _own_options(options: dict[str, str]) -> dict[str, str]:
    """Take memwell's options out of those of a URL, and refuse unknown ones."""
    ours: dict[str, str] = {}
    for name, (default, form, expected) in _OPTIONS.items():
        ours[name] = options.pop(name, default)
        if not form.fullmatch(ours[name]):
            given = shown(ours[name])
            raise ConfigurationError(f"{name}= in the URL of a Redis server must be {expected}, not {given}")
    for name in options:
        if name not in _DRIVERS:
            known = ", ".join((*_OPTIONS, *_DRIVERS))
            raise ConfigurationError(
                f"{shown(name)} is nothing that the URL of a Redis server can say; it can: {known}"
            )
    return ours


def _with_port(name: str) -> str:
    if not name:
        raise ConfigurationError(f"a server without a name; write {_URL_FORM}")
    return name if re.search(r":\d+$", name) else f"{name}:{_PORT}"


# Connections


class Lost(Exception):
    """The connection was lost. What was sent may or may not have run, unless ``sent`` is false: then it did not."""

    def __init__(self, cause: Exception, *, sent: bool) -> None:
        super().__init__(str(cause))
        self.sent = sent


class Server:
    """The connections of this process to one server."""

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
                # While connecting: a server without TLS never answers a handshake.
                socket_timeout=settings.connect_timeout_s,
                socket_connect_timeout=settings.connect_timeout_s,
                socket_keepalive=True,
                retry=Retry(NoBackoff(), 0),
                **_introduction(),
            )
            if where is not None:
                pool.connection_kwargs["host"], pool.connection_kwargs["port"] = where
            self.where: Where = (pool.connection_kwargs.get("host", ""), pool.connection_kwargs.get("port", 0))
            # Only the options that redis-py's pool reads from the URL are used, not the pool.
            self._make: Callable[[], Any] = partial(pool.connection_class, **pool.connection_kwargs)
            self._make()
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"the URL of the Redis server cannot be used: {error}") from None
        self._idle: list[tuple[Any, float]] = []
        self._free = threading.BoundedSemaphore(self._size)

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in one pipeline and return their answers; a refused one is answered by its error.

        Raises ``Lost`` when the connection was lost, ``BackendUnavailable`` when all connections stay in use.
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
            # A connection with a pending answer must not be used again.
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
        return self._connected()

    def _connected(self) -> Any:
        """A new connection. Raises ``Lost`` and ``ConfigurationError``."""
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
        """Raises ``ConfigurationError`` when a server that never answered does not seem to speak TLS."""
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
        """Close the idle connections."""
        with suppress(IndexError):
            while True:
                self._idle.pop()[0].disconnect()


@cache
def _introduction() -> dict[str, Any]:
    """The client info of a connection. redis-py would look its version up on the disk for each."""
    known = getattr(cast(Any, Connection)(), "driver_info", None)
    return {} if known is None else {"driver_info": known}


def _is_quiet(connection: Any) -> bool:
    """Whether an idle connection is open and has no unread data."""
    try:
        return not connection.can_read(0)
    except (RedisError, OSError):
        return False


def _packed(command: Command) -> bytes:
    """A command on the wire. redis-py's own packing handles more types, and takes twice as long."""
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
    """One server, or the masters of a cluster by their slots. Safe for any thread, and after a fork."""

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
            # The parent's connections are kept alive, so that they are not closed here.
            self._abandoned.append((self._named, self._known, self._slots))
            self._lock = threading.Lock()
            self._reset()
        if self.address.cluster and not self._known:
            self.learn()

    def of_slot(self, slot: int) -> Server:
        """The server of a slot, as far as is known."""
        self._ready()
        return self._slots[slot]

    def masters(self) -> list[Server]:
        """Every server that has slots."""
        self._ready()
        return list(self._known.values()) if self.address.cluster else [self._named[0]]

    def at(self, where: Where) -> Server:
        """The server at an address that another server named."""
        with self._lock:
            if where not in self._known:
                self._known[where] = Server(self.address.urls[0], self._settings, where=where)
            return self._known[where]

    def learn(self) -> None:
        """Read the slot table of the cluster. Raises ``Lost`` when no server answers."""
        if not self.address.cluster:
            return
        failure: Exception = BackendError("no server was asked")
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
            failure = BackendError("the cluster has slots that no server has")
        raise Lost(failure, sent=False) from failure

    def _follow(self, asked: Server, ranges: list[Any]) -> bool:
        if not ranges:
            return False
        slots = list(self._slots)
        masters: dict[Where, Server] = {}
        for low, high, master, *_ in ranges:
            # A server that does not know its own name leaves it out: it is the one that was asked.
            host = master[0].decode() if master[0] else asked.where[0]
            where = (host, int(master[1]))
            masters[where] = self._known.get(where) or Server(self.address.urls[0], self._settings, where=where)
            slots[low : high + 1] = [masters[where]] * (high + 1 - low)
        with self._lock:
            self._slots, self._known = slots, masters
        return True

    def close(self) -> None:
        """Close all idle connections."""
        if self._pid != os.getpid():
            return
        for server in [*self._named, *self._known.values()]:
            server.close()


class Unlisted(Exception):
    """The tag holds nothing yet, or is not listed under the generation given, and must be listed first."""


class Sealed(Exception):
    """The store takes no writes."""


_OURS = {"MWNEW": Unlisted, "MWSEALED": Sealed}
_PASSING = (ClusterDownError, MasterDownError, ReadOnlyError, TryAgainError)
"""What a cluster says while it finds a new master or moves a slot: nothing was done, and it will be over soon."""
_CLUSTERS = (MovedError, AskError, ClusterDownError)
"""What only a member of a cluster says."""
_ANY_WRITE = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '1', 'EX', 1)"
"""A write of no account, also on a server that is full."""
_WHERE_IN_SCRIPT = re.compile(
    r"\s*script: [0-9a-f]{40}, on @?\w+: ?\d+\.?|(ERR )?Error \w+ script \(call to f_[0-9a-f]{40}\):\s*"
    r"|@user_script: ?\d+: ?-?"
)


class _Patience:
    """The time limit of a call's retries, with random sleeps in between."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._naps = 0

    def nap(self) -> bool:
        """Sleep a little; False, at once, when the time is over."""
        if time.monotonic() > self._end:
            return False
        self._naps += 1
        time.sleep(drawn_between(0.0002, min(0.0005 * self._naps, 0.1)))
        return True


class Connections:
    """Runs scripts on the servers of a store, each exactly once; the error says where that is not certain.

    Safe for any thread, and after a fork.
    """

    def __init__(self, address: Address, settings: Settings) -> None:
        self.address = address
        self.tags = Tags(address.prefix)
        self.servers = Servers(address, settings)
        self.wait: Command | None = ("WAIT", address.wait, int(settings.connect_timeout_s * 1000))
        if not address.wait:
            self.wait = None
        self._patience_s = settings.connect_timeout_s if address.cluster else _RESTARTING_S
        self._closed = False

    # Scripts

    def call(self, script: Script, tag: HashTag, arguments: Sequence[Argument] = ()) -> Any:
        """The reply of a script on one tag, which is listed first when it is new.

        Raises ``BackendError``, ``BackendUnavailable`` and ``ReadOnlyStore``.
        """
        generation: str | None = None
        while True:
            self.check_open()
            try:
                return self.run(script, tag, arguments, generation)
            except (Unlisted, Sealed) as answer:
                met = type(answer)
            # Outside of the handler, so that later errors do not chain to an internal exception.
            if met is Sealed:
                raise self._sealed(tag)
            generation = self._listed(tag, generation)

    def _listed(self, tag: HashTag, refused: str | None) -> str:
        """The generation under which the tag is now listed; never the refused one."""
        assert tag.parent is not None
        arguments = [tag.member, int(tag.parent.parent is not None)]
        arguments += ["-" if refused is None else refused, f"{new_version():x}"]
        return self.call(LIST, tag.parent, arguments).decode()

    def call_many(self, script: Script, calls: Sequence[tuple[HashTag, Sequence[Argument]]]) -> list[Any]:
        """The replies of an idempotent script for several tags, in one pipeline for each server."""
        self.check_open()
        if len(calls) < 2:
            return [self.call(script, tag, arguments) for tag, arguments in calls]
        return [
            self.call(script, tag, arguments) if isinstance(reply, Exception) else reply
            for (tag, arguments), reply in zip(calls, self._run_many(script, calls), strict=True)
        ]

    def _run_many(self, script: Script, calls: Sequence[tuple[HashTag, Sequence[Argument]]]) -> list[Any]:
        """The replies; an error of one is its reply."""
        groups: dict[int, tuple[Server, list[int]]] = {}
        try:
            for number, (tag, _) in enumerate(calls):
                server = self.servers.of_slot(tag.slot)
                groups.setdefault(id(server), (server, []))[1].append(number)
        except Lost as lost:
            return [lost] * len(calls)
        replies: list[Any] = [None] * len(calls)
        for server, numbers in groups.values():
            commands = [_command(script, *calls[number]) for number in numbers]
            answers = _exchanged(server, commands)
            if isinstance(answers[0], NoScriptError):
                _exchanged(server, [("SCRIPT", "LOAD", script.source)])
                answers = _exchanged(server, commands)
            for number, answer in zip(numbers, answers, strict=True):
                replies[number] = answer
        return replies

    def run(
        self, script: Script, tag: HashTag, arguments: Sequence[Argument] = (), generation: str | None = None
    ) -> Any:
        """The reply of a script. Raises ``Unlisted``, ``Sealed``, and ``BackendError``."""
        wait = self.wait if script.writes else None
        command = _command(script, tag, arguments, generation)
        try:
            answers = self.servers.of_slot(tag.slot).exchange((command,) if wait is None else (command, wait))
        except Lost as lost:
            return _Retrying(self, script, tag, command, lost).reply()
        answer = answers[0]
        if isinstance(answer, ResponseError):
            _raise_ours(answer)
            return _Retrying(self, script, tag, command, answer).reply()
        if wait is not None:
            self.check_replicas(answers[1])
        return answer

    def check_replicas(self, reached: Any) -> None:
        """Raises ``BackendUnavailable`` when fewer replicas than asked for have the write."""
        if isinstance(reached, ResponseError):
            raise translated(reached, self.address.shown) from reached
        if reached < self.address.wait:
            raise BackendUnavailable(
                f"only {reached} of {self.address.wait} replicas have the write in time; it may yet be stored"
            )

    # Plain commands

    def ask(self, server: Server, *commands: Command) -> list[Any]:
        """The answers of one server to idempotent commands; a refused one is answered by its error."""
        try:
            return server.exchange(commands)
        except Lost:
            try:
                return server.exchange(commands)
            except Lost as lost:
                raise self.unavailable(lost) from lost

    # Errors

    def unavailable(self, lost: Lost, *, doubtful: bool = False) -> BackendUnavailable:
        """The error for a server that stays unavailable."""
        doubt = "; the write may yet be stored: its answer was lost" if doubtful else ""
        return BackendUnavailable(f"the Redis server {self.address.shown} cannot be reached: {lost}{doubt}")

    def _sealed(self, tag: HashTag) -> ReadOnlyStore:
        reason = self.run(SEALED, tag)
        return ReadOnlyStore(f"the store takes no writes: {'it was sealed' if reason is None else reason.decode()}")

    @property
    def patience(self) -> _Patience:
        """The retries of one call while servers are unavailable."""
        return _Patience(self._patience_s)

    # Beginning and end

    def check_open(self) -> None:
        """Raises ``BackendError`` after ``close``."""
        if self._closed:
            raise BackendError(f"the store {self.address.shown!r} is closed")

    def check_server(self) -> None:
        """Raises ``BackendUnavailable`` when no server answers, ``ConfigurationError`` when it cannot be used."""
        self.run(SEALED, self.tags.shard(0))
        [answer] = self.ask(self.servers.of_slot(0), ("INFO", "server"))
        if not self.address.cluster and isinstance(answer, bytes) and b"redis_mode:cluster" in answer:
            raise _of_cluster(self.servers.of_slot(0))
        # A new master may be without replicas for a while; then only its writes wait.
        if self.address.wait:
            said = [self.ask(server, ("INFO", "replication"))[0] for server in self.servers.masters()]
            if all(isinstance(one, bytes) and b"connected_slaves:0" in one for one in said):
                raise ConfigurationError(
                    f"wait={self.address.wait} in the URL asks for replicas, and the Redis server "
                    f"{self.address.shown} has none"
                )
        found = re.search(rb"redis_version:(\d+)\.(\d+)", answer) if isinstance(answer, bytes) else None
        if found is not None and (int(found[1]), int(found[2])) < OLDEST:
            raise ConfigurationError(
                f"the Redis server is version {int(found[1])}.{int(found[2])}; a store needs 6.2 or newer"
            )

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self.servers.close()


def _command(script: Script, tag: HashTag, arguments: Sequence[Argument], generation: str | None = None) -> Command:
    number = f"{new_version():x}" if script.writes else ""
    listed = "-" if generation is None else generation
    return ("EVALSHA", script.digest, 2, tag.base, tag.seal, "", number, listed, *arguments)


def _exchanged(server: Server, commands: Sequence[Command]) -> list[Any]:
    try:
        return server.exchange(commands)
    except Lost as lost:
        return [lost] * len(commands)


class _Retrying:
    """Retries a script whose first try failed, until it has an answer or the time is over."""

    def __init__(
        self, connections: Connections, script: Script, tag: HashTag, command: Command, trouble: Lost | ResponseError
    ) -> None:
        self._connections = connections
        self._script = script
        self._tag = tag
        self._command = list(command)
        self._trouble: Lost | ResponseError = trouble
        self._asked: Server | None = None
        self._doubtful = False

    def reply(self) -> Any:
        """The reply of the script. Raises as ``Connections.run``."""
        patience = self._connections.patience
        while True:
            self._prepare(patience)
            try:
                return self._try()
            except (Lost, ResponseError) as trouble:
                self._trouble = trouble

    def _prepare(self, patience: _Patience) -> None:
        """React to the last failure, or raise what it means."""
        trouble = self._trouble
        self._asked = None
        if isinstance(trouble, NoScriptError):
            # The server knows the script from now on.
            self._command[:2] = ["EVAL", self._script.source]
            return
        if isinstance(trouble, _CLUSTERS) and not self._connections.address.cluster:
            raise _of_cluster(self._connections.servers.of_slot(0)) from trouble
        # MovedError is an AskError, too.
        if isinstance(trouble, AskError) and not isinstance(trouble, MovedError):
            where = (str(cast(Any, trouble).host), int(cast(Any, trouble).port))
            self._asked = self._connections.servers.at(where)
        elif isinstance(trouble, (Lost, MovedError, *_PASSING)):
            if isinstance(trouble, Lost) and trouble.sent and self._script.writes:
                self._doubtful = True
                # From now on the script checks whether it has run already.
                self._command[5] = "a"
            with suppress(Lost):
                self._connections.servers.learn()
        else:
            raise translated(trouble, self._connections.address.shown) from trouble
        if not patience.nap():
            self._give_up(trouble)

    def _give_up(self, trouble: Lost | ResponseError) -> NoReturn:
        if isinstance(trouble, Lost):
            raise self._connections.unavailable(trouble, doubtful=self._doubtful) from trouble
        why = "it is moving what was asked for" if isinstance(trouble, AskError) else _plain(str(trouble))
        raise BackendUnavailable(f"the Redis server {self._connections.address.shown} stayed busy: {why}") from trouble

    def _try(self) -> Any:
        connections = self._connections
        commands: list[Command] = [tuple(self._command)]
        if self._script.writes and connections.wait is not None:
            if self._doubtful:
                # A script that has run already writes nothing, and newer servers wait only for writes of the connection.
                commands.append(("EVAL", _ANY_WRITE, 1, f"{self._tag.base}q"))
            commands.append(connections.wait)
        server = self._asked or connections.servers.of_slot(self._tag.slot)
        if self._asked is not None:
            commands.insert(0, ("ASKING",))
        answers = server.exchange(commands)
        answer = answers[1 if self._asked is not None else 0]
        if isinstance(answer, ResponseError):
            _raise_ours(answer)
            raise answer
        if commands[-1][0] == "WAIT":
            connections.check_replicas(answers[-1])
        return answer


def _raise_ours(answer: ResponseError) -> None:
    """Raise the exception for an error reply of our scripts."""
    code, _, rest = str(answer).partition(" ")
    if code in _OURS:
        raise _OURS[code](rest)


def _plain(text: str) -> str:
    """A server's message without the script and line."""
    return _WHERE_IN_SCRIPT.sub("", text).strip()


def _of_cluster(server: Server) -> ConfigurationError:
    """The error for a cluster member that the URL names as a single server."""
    host, port = server.where
    return ConfigurationError(f"this Redis server is a member of a cluster: write redis+cluster://{host}:{port}")


def translated(error: ResponseError, where: str) -> MemwellError:
    """memwell's error for a server's."""
    text = _plain(str(error))
    if "OOM" in text or "maxmemory" in text:
        return BackendError(
            f"the Redis server {where} is full (maxmemory is reached), and nothing was stored; delete something, which "
            "works all the same, or give it more memory"
        )
    if "NOPERM" in text or "permission" in text:
        return ConfigurationError(f"the Redis server {where} does not let this user do what a store needs: {text}")
    if "MISCONF" in text:
        return BackendError(f"the Redis server {where} cannot write to its disk and takes no writes: {text}")
    if "BUSY" in text:
        return BackendUnavailable(f"the Redis server {where} is busy with a long script: {text}")
    return BackendError(f"the Redis server {where} failed: {text}")

"""Running scripts on servers that may go away, move slots, or be busy: each has one effect, or an error says more."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    TryAgainError,
)

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, MemwellError
from memwell.settings import Settings
from memwell.storage.redis.address import Address
from memwell.storage.redis.scripts import Script
from memwell.storage.redis.servers import Command, Lost, ResponseError, Server, Servers
from memwell.storage.redis.tags import Tag
from memwell.values import drawn_between, new_version

_RESTARTING_S = 1.5
"""How long a single server may be away before a call fails. A cluster needs longer to find a new master."""

Argument = str | bytes | int | float


class Held(Exception):
    """The tag is another transaction's, whose id this is."""


class Unlisted(Exception):
    """The tag holds nothing yet and must be listed with its first content."""


class Fenced(Exception):
    """The tag is no longer this transaction's: it took too long and was undone."""


class Sealed(Exception):
    """The store takes no writes."""


_OURS = {"MWHELD": Held, "MWNEW": Unlisted, "MWFENCED": Fenced, "MWSEALED": Sealed}
_PASSING = (ClusterDownError, MasterDownError, ReadOnlyError, TryAgainError)
"""What a cluster says while it finds a new master or moves a slot: nothing was done, and it will be over soon."""
_CLUSTERS = (MovedError, AskError, ClusterDownError)
"""What only a member of a cluster says. One that was moved is one that is asked where to, too."""
_ANY_WRITE = "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '1', 'EX', 1)"
"""A write of no account, also on a server that is full."""
_WHERE_IN_SCRIPT = re.compile(
    r"\s*script: [0-9a-f]{40}, on @?\w+: ?\d+\.?|(ERR )?Error \w+ script \(call to f_[0-9a-f]{40}\):\s*"
    r"|@user_script: ?\d+: ?-?"
)


class Patience:
    """How long something may still take. Naps are random, so that those who wait do not come back together."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.naps = 0

    def nap(self, longest: float = 0.02) -> bool:
        """Wait a little; False, at once, when the time is over."""
        if time.monotonic() > self._end:
            return False
        self.naps += 1
        time.sleep(drawn_between(0.0002, min(0.0005 * self.naps, longest)))
        return True


class Runner:
    """Runs scripts: each has one effect, however often its answer is lost, or says what may have become of it."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self.servers = Servers(address, settings)
        self.address = address
        self.wait: Command | None = ("WAIT", address.wait, int(settings.connect_timeout_s * 1000))
        if not address.wait:
            self.wait = None
        self._patience_s = settings.connect_timeout_s if address.cluster else _RESTARTING_S

    def run(
        self,
        script: Script,
        tag: Tag,
        arguments: Sequence[Argument] = (),
        *,
        transaction: str = "",
        mode: str = "",
        number: str = "",
    ) -> Any:
        """The reply of a script, run for a transaction or for nobody's.

        Raises ``Held``, ``Unlisted``, ``Fenced``, ``Sealed``, and ``BackendError`` when the servers fail.
        """
        wait = self.wait if script.writes else None
        number = number or (f"{new_version():x}" if script.writes else "")
        command: Command = (
            *("EVALSHA", script.digest, 2, tag.base, tag.seal),
            *(transaction, mode, number, *arguments),
        )
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

    def run_many(
        self, script: Script, calls: Sequence[tuple[Tag, Sequence[Argument]]], transaction: str = ""
    ) -> list[Any]:
        """The replies of a script for several tags, in one exchange a server; an error of one is its reply.

        Only for scripts that may be run twice, and nothing is waited for: look at the replies.
        """
        groups: dict[int, tuple[Server, list[int]]] = {}
        try:
            for number, (tag, _) in enumerate(calls):
                server = self.servers.of_slot(tag.slot)
                groups.setdefault(id(server), (server, []))[1].append(number)
        except Lost as lost:
            return [lost] * len(calls)
        replies: list[Any] = [None] * len(calls)
        for server, numbers in groups.values():
            commands = [
                ("EVALSHA", script.digest, 2, tag.base, tag.seal, transaction, "", "", *arguments)
                for tag, arguments in (calls[number] for number in numbers)
            ]
            answers = _exchanged(server, commands)
            if isinstance(answers[0], NoScriptError):
                _exchanged(server, [("SCRIPT", "LOAD", script.source)])
                answers = _exchanged(server, commands)
            for number, answer in zip(numbers, answers, strict=True):
                replies[number] = answer
        return replies

    def commands(self, *commands: Command) -> list[Any]:
        """The answers of any server to plain commands that may be run twice. Raises ``BackendError``."""
        return self.ask(self.servers.of_slot(0), *commands)

    def ask(self, server: Server, *commands: Command) -> list[Any]:
        """The answers of one server; one that was refused is answered by its error."""
        try:
            return server.exchange(commands)
        except Lost:
            try:
                return server.exchange(commands)
            except Lost as lost:
                raise self.unavailable(lost) from lost

    def check_replicas(self, reached: Any) -> None:
        """Raises ``BackendUnavailable`` when fewer replicas than asked for have the write."""
        if isinstance(reached, ResponseError):
            raise translated(reached, self.address.shown) from reached
        if reached < self.address.wait:
            raise BackendUnavailable(
                f"only {reached} of {self.address.wait} replicas have the write in time; it may yet be stored"
            )

    def unavailable(self, lost: Lost, *, doubtful: bool = False) -> BackendUnavailable:
        """The error for a server that stays away."""
        doubt = "; the write may yet be stored: its answer was lost" if doubtful else ""
        return BackendUnavailable(f"the Redis server {self.address.shown} cannot be reached: {lost}{doubt}")

    @property
    def patience(self) -> Patience:
        """For one call, while servers are away."""
        return Patience(self._patience_s)


def _exchanged(server: Server, commands: Sequence[Command]) -> list[Any]:
    try:
        return server.exchange(commands)
    except Lost as lost:
        return [lost] * len(commands)


class _Retrying:
    """The longer way of a script whose first try met trouble."""

    def __init__(
        self, runner: Runner, script: Script, tag: Tag, command: Command, trouble: Lost | ResponseError
    ) -> None:
        self._runner = runner
        self._script = script
        self._tag = tag
        self._command = list(command)
        self._trouble: Lost | ResponseError = trouble
        self._asked: Server | None = None
        self._doubtful = False

    def reply(self) -> Any:
        patience = self._runner.patience
        while True:
            self._prepare(patience)
            try:
                return self._try()
            except (Lost, ResponseError) as trouble:
                self._trouble = trouble

    def _prepare(self, patience: Patience) -> None:
        """Do something about the trouble, or raise what it means."""
        trouble = self._trouble
        self._asked = None
        if isinstance(trouble, NoScriptError):
            # The server knows the script from now on.
            self._command[:2] = ["EVAL", self._script.source]
        elif isinstance(trouble, _CLUSTERS) and not self._runner.address.cluster:
            raise of_cluster(self._runner.servers.of_slot(0)) from trouble
        elif isinstance(trouble, MovedError):
            self._learn()
        elif isinstance(trouble, AskError):
            self._asked = self._runner.servers.at((str(cast(Any, trouble).host), int(cast(Any, trouble).port)))
        elif isinstance(trouble, Lost):
            self._come_again(trouble)
        elif not isinstance(trouble, _PASSING):
            raise translated(trouble, self._runner.address.shown) from trouble
        else:
            self._learn()
        if not isinstance(trouble, NoScriptError) and not patience.nap(0.1):
            self._give_up(trouble)

    def _come_again(self, lost: Lost) -> None:
        if lost.sent and self._script.writes:
            self._doubtful = True
            # From now on the script looks whether it has run.
            if "a" not in self._command[6]:
                self._command[6] += "a"
        self._learn()

    def _learn(self) -> None:
        try:
            self._runner.servers.learn()
        except Lost as lost:
            self._trouble = lost

    def _give_up(self, trouble: Lost | ResponseError) -> NoReturn:
        if isinstance(trouble, Lost):
            raise self._runner.unavailable(trouble, doubtful=self._doubtful) from trouble
        why = "it is moving what was asked for" if isinstance(trouble, AskError) else plain(str(trouble))
        raise BackendUnavailable(f"the Redis server {self._runner.address.shown} stayed busy: {why}") from trouble

    def _try(self) -> Any:
        runner = self._runner
        commands: list[Command] = [tuple(self._command)]
        if self._script.writes and runner.wait is not None:
            if self._doubtful:
                # A script that finds itself done writes nothing, and newer servers wait only for what a connection wrote.
                commands.append(("EVAL", _ANY_WRITE, 1, f"{self._tag.base}q"))
            commands.append(runner.wait)
        server = self._asked or runner.servers.of_slot(self._tag.slot)
        if self._asked is not None:
            commands.insert(0, ("ASKING",))
        answers = server.exchange(commands)
        answer = answers[1 if self._asked is not None else 0]
        if isinstance(answer, ResponseError):
            _raise_ours(answer)
            raise answer
        if commands[-1][0] == "WAIT":
            runner.check_replicas(answers[-1])
        return answer


def _raise_ours(answer: ResponseError) -> None:
    """Raise what a script of ours means by an error."""
    code, _, rest = str(answer).partition(" ")
    if code in _OURS:
        raise _OURS[code](rest)


def plain(text: str) -> str:
    """What a server says, without the script and the line that it was at."""
    return _WHERE_IN_SCRIPT.sub("", text).strip()


def of_cluster(server: Server) -> ConfigurationError:
    """The error for a member of a cluster that was named as a single server."""
    host, port = server.where
    return ConfigurationError(f"this Redis server is a member of a cluster: write redis+cluster://{host}:{port}")


def translated(error: ResponseError, where: str) -> MemwellError:
    """memwell's error for a server's."""
    text = plain(str(error))
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


__all__ = [
    "Argument",
    "Fenced",
    "Held",
    "Patience",
    "Runner",
    "Sealed",
    "Unlisted",
    "of_cluster",
    "plain",
    "translated",
]

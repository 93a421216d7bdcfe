"""Taking what was deleted out of the servers' files: the log of writes and the snapshot are written anew."""

from __future__ import annotations

import time

from memwell.storage.redis.running import Runner
from memwell.storage.redis.servers import ResponseError, Server

_PATIENCE_S = 60.0


def rewrite_files(runner: Runner) -> None:
    """Have every server write its files anew, where it keeps any and lets us; wait until they are.

    Replicas and backups have files of their own, which are not reached from here.
    """
    for server in runner.servers.masters():
        appends, saves = _setting(runner, server, "appendonly"), _setting(runner, server, "save")
        if appends == "yes":
            _done(runner, server, ("BGREWRITEAOF",), b"aof_rewrite_")
        if saves:
            _done(runner, server, ("BGSAVE", "SCHEDULE"), b"rdb_bgsave_")


def _setting(runner: Runner, server: Server, name: str) -> str:
    [answer] = runner.ask(server, ("CONFIG", "GET", name))
    return "" if isinstance(answer, ResponseError) or len(answer) < 2 else answer[1].decode()


def _done(runner: Runner, server: Server, command: tuple[str, ...], what: bytes) -> None:
    [answer] = runner.ask(server, command)
    end = time.monotonic() + _PATIENCE_S
    while not isinstance(answer, ResponseError) and time.monotonic() < end:
        [told] = runner.ask(server, ("INFO", "persistence"))
        if isinstance(told, ResponseError) or not any(
            what + word in told for word in (b"in_progress:1", b"scheduled:1")
        ):
            return
        time.sleep(0.01)


__all__ = ["rewrite_files"]

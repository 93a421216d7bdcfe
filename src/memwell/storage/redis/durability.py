"""What a crash of the servers can lose, read off their settings and said in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from memwell.storage.redis.running import Runner
from memwell.storage.redis.servers import ResponseError, Server

_ASKED = ("appendonly", "appendfsync", "save")


class Durability(NamedTuple):
    """Whether what was acknowledged survives, and what does not, in words."""

    durable: bool
    words: str


def durability(runner: Runner) -> Durability:
    """What the servers promise by their settings; the URL's ``durable=`` is the user's word for what they do not say."""
    kept = [_kept(runner, server) for server in runner.servers.masters()]
    weakest = min(kept, key=_STRENGTH.index)
    vouched = runner.address.durable
    words = _WORDS[weakest]
    if runner.address.wait:
        words += f" Every write waits until {runner.address.wait} replica(s) have it, too, in memory at least."
    elif runner.address.cluster:
        words += (
            " Replicas follow a moment later: a master that is lost takes its latest writes with it (wait=1 waits)."
        )
    if weakest == "always":
        return Durability(True, words)
    if vouched == "yes" or (vouched == "everysec" and weakest == "everysec"):
        return Durability(True, f"{words} The URL vouches for it (durable={vouched}).")
    return Durability(False, words)


_STRENGTH = ("unknown", "nothing", "snapshots", "no", "everysec", "always")
_WORDS = {
    "always": "Every write is on the server's disk before it is acknowledged (appendfsync always).",
    "everysec": "A crash of the server's machine loses up to about a second of acknowledged writes (appendfsync everysec).",
    "no": "A crash of the server's machine loses what its system had not yet written to the disk (appendfsync no).",
    "snapshots": "A crash of the server loses everything since its last snapshot (appendonly is off).",
    "nothing": "A restart of the server loses everything (appendonly is off and there are no snapshots).",
    "unknown": "The server does not tell its settings (CONFIG is forbidden), so nothing is known of what a crash loses.",
}


def _kept(runner: Runner, server: Server) -> str:
    answers = runner.ask(server, *(("CONFIG", "GET", name) for name in _ASKED))
    if any(isinstance(answer, ResponseError) or len(answer) < 2 for answer in answers):
        return "unknown"
    appends, syncs, saves = (_text(answer) for answer in answers)
    if appends == "yes":
        return syncs if syncs in _WORDS else "unknown"
    return "snapshots" if saves else "nothing"


def _text(answer: list[Any]) -> str:
    return answer[1].decode()


__all__ = ["Durability", "durability"]

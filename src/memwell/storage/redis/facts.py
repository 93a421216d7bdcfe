"""What a store in Redis says of itself: versions, memory, counts."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from memwell.records import Space, paged
from memwell.storage.protocols import Backend
from memwell.storage.redis.running import Runner


def server_facts(runner: Runner) -> dict[str, Any]:
    """The version of the servers, how many there are, and the memory they use, for whatever they hold."""
    masters = runner.servers.masters()
    told = [_told(runner.ask(server, ("INFO", "server"), ("INFO", "memory"))) for server in masters]
    return {
        "redis": sorted({one.get("redis_version", "unknown") for one in told}),
        "cluster": runner.address.cluster,
        "servers": len(masters),
        "bytes": {"memory": sum(int(one.get("used_memory", 0)) for one in told)},
    }


def _told(answers: list[Any]) -> dict[str, str]:
    text = b"\n".join(answer for answer in answers if isinstance(answer, bytes)).decode()
    return dict(re.findall(r"^(\w+):([^\r\n]*)", text, re.MULTILINE))


_COUNTED = ("threads", "messages", "entries", "records", "vectors", "blobs")


def counted(store: Backend) -> dict[str, int]:
    """How much there is of everything. It asks about every thread, so it takes a while where there are many."""
    counts: Counter[str] = Counter()
    for space in paged(lambda cursor: store.spaces(limit=1000, cursor=cursor)):
        counts.update(_of_space(store, space))
    return {name: counts[name] for name in _COUNTED}


def _of_space(store: Backend, space: Space) -> dict[str, int]:
    threads = [info.messages for info in paged(lambda cursor: store.log.threads(space, limit=1000, cursor=cursor))]
    info = store.index.info(space)
    return {
        "threads": len(threads),
        "messages": sum(threads),
        "entries": store.kv.count(space),
        "records": info.records,
        "vectors": info.vectors,
        "blobs": sum(1 for _ in paged(lambda cursor: store.blobs.scan(space, limit=1000, cursor=cursor))),
    }


__all__ = ["counted", "server_facts"]

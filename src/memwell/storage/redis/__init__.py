"""A store in Redis: on one server or on a cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError
from memwell.messages import forget_decoded
from memwell.records import Page, Space
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.joining import Joined, Joining, Verdict
from memwell.storage.protocols import Backend
from memwell.storage.redis.address import parsed
from memwell.storage.redis.blobs import RedisBlobs
from memwell.storage.redis.checking import check_content, check_lists
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.durability import Durability, durability
from memwell.storage.redis.facts import counted, server_facts
from memwell.storage.redis.files import rewrite_files
from memwell.storage.redis.index import RedisIndex
from memwell.storage.redis.kv import RedisKeyValue
from memwell.storage.redis.log import RedisLog
from memwell.storage.redis.spaces import Spaces
from memwell.storage.redis.transactions import current_transaction
from memwell.storage.redis.waking import Waking
from memwell.values import check_text

_log = logging.getLogger("memwell.storage")
_warned: set[str] = set()
"""The URLs, without their secrets, that this process was warned of."""


class RedisBackend(Backend, Joining):
    """A store in Redis 6.2 or newer, under keys that begin with the URL's ``prefix=``.

    Raises ``ConfigurationError`` for a URL that cannot be used, ``BackendUnavailable`` when nobody answers there.
    """

    def __init__(self, url: str, *, settings: Settings | None = None, clock: Callable[[], float] = time.time) -> None:
        chosen = settings or Settings()
        self._connections = Connections(parsed(url), chosen)
        self._log = self.log = RedisLog(self._connections, clock)
        self._kv = self.kv = RedisKeyValue(self._connections, clock)
        self.index = RedisIndex(
            self._connections, vector_cache_mb=chosen.vector_cache_mb, kept_changes=chosen.kept_changes
        )
        self.blobs = RedisBlobs(self._connections)
        self._spaces = Spaces(self._connections)
        self._waking = Waking(self._connections.runner, self._connections.tags.prefix)
        # Who opens a store wants to know now that nobody is there.
        self._connections.check_server()
        self._warn_once()

    def _warn_once(self) -> None:
        """Say that acknowledged writes can be lost, for those who do not know it: who does says so in the URL."""
        shown = self._connections.address.shown
        if shown not in _warned and not self.durable:
            _warned.add(shown)
            _log.warning("the store %s is not durable: %s", shown, self._durability.words)

    @property
    def durable(self) -> bool:
        return self._durability.durable

    @cached_property
    def _durability(self) -> Durability:
        return durability(self._connections.runner)

    def transaction(self) -> AbstractContextManager[None]:
        return self._connections.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._connections.transaction(), current_transaction)

    def joined(self) -> Joined:
        return self._connections.joined()

    def follow(self, verdict: Verdict) -> None:
        self._connections.follow(verdict)

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        start = given.check_name_cursor(cursor)
        found: list[tuple[str, Space]] = []
        for path, kinds in self._spaces.listed(start):
            space = Space.decode(path)
            if any(self._holds(space, kind) for kind in kinds):
                found.append((path, space))
            if len(found) > limit:
                break
        return Page([space for _, space in found[:limit]], found[limit - 1][0] if len(found) > limit else None)

    def _holds(self, space: Space, kind: str) -> bool:
        if kind == "l":
            return bool(self.log.threads(space, limit=1).items)
        if kind == "k":
            return self._kv.any_in(space)
        return bool(self.index.info(space).records if kind == "r" else self.blobs.scan(space, limit=1).items)

    def seal(self, reason: str | None) -> None:
        self._refuse_inside("sealed")
        self._spaces.seal(None if reason is None else check_text(reason, "a reason"))

    def check(self) -> list[str]:
        self._connections.check_open()
        return [
            *check_content(self._spaces, self._log, self._kv, self._connections),
            *check_lists(self._spaces, self._log),
        ]

    def scrub(self) -> None:
        self._refuse_inside("scrubbed")
        self._spaces.finish_transactions()
        for path, kinds in list(self._spaces.listed()):
            for kind in kinds:
                if not self._holds(Space.decode(path), kind):
                    self._spaces.forget(Space.decode(path), kind)
        forget_decoded()
        rewrite_files(self._connections.runner)

    def facts(self) -> dict[str, Any]:
        self._connections.check_open()
        # Asked anew: whoever runs the server may have changed its settings.
        said = durability(self._connections.runner)
        return {
            "kind": "redis",
            "url": self._connections.address.shown,
            "prefix": self._connections.tags.prefix,
            **server_facts(self._connections.runner),
            "durable": said.durable,
            "durability": said.words,
            "sealed": self._spaces.sealed(),
            **counted(self),
        }

    def notify(self, topic: str) -> None:
        self._connections.check_open()
        self._waking.notify(check_text(topic, "a topic"))

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        self._connections.check_open()
        return self._waking.listen(heard)

    def _refuse_inside(self, done: str) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError(f"a store cannot be {done} inside its own transaction")
        self._connections.check_open()

    def close(self) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be closed inside its own transaction")
        self._waking.close()
        self._connections.close()


__all__ = ["RedisBackend"]

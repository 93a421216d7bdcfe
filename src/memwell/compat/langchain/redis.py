"""Chat histories and entities in Redis, under the keys LangChain's own classes use. Needs the package redis."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from memwell.compat.langchain.entity_stores import BaseEntityStore
from memwell.compat.langchain.histories import TailedChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, message_from_dict, message_to_dict
from memwell.compat.langchain.stored import StoredMessage, StoredMessages
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, InvalidInput, MissingDependency
from memwell.values import check_count, shown

_URL = "redis://localhost:6379/0"
_DAY = 60 * 60 * 24
_BATCH = 500


def _client(url: str, **options: Any) -> Any:
    """A client for the server at ``url``; it connects when it is first used."""
    try:
        # Optional: whoever uses no Redis need not have the package.
        redis = import_module("redis")
    except ImportError as error:
        raise MissingDependency('histories in Redis need the package redis: pip install "memwell[redis]"') from error
    try:
        return redis.Redis.from_url(url, **options)
    except ValueError as error:
        raise ConfigurationError(f"no Redis server is named by {shown(url)}: {error}") from error


@contextmanager
def _translated() -> Generator[None]:
    # A client was made, so the package is there.
    errors = import_module("redis.exceptions")
    try:
        yield
    except (errors.ConnectionError, errors.TimeoutError) as error:
        raise BackendUnavailable(f"the Redis server cannot be reached: {error}") from error
    except errors.RedisError as error:
        raise BackendError(f"the Redis server failed: {error}") from error


class RedisChatMessageHistory(TailedChatMessageHistory):
    """The messages of a session in Redis, for ``ttl`` seconds after the last was added when that is given.

    The key is ``key_prefix`` and the session's id, its value the list LangChain's own class keeps: existing keys just
    work. It connects when it is first used. Raises ``BackendUnavailable`` when the server cannot be reached.
    """

    def __init__(
        self, session_id: str, url: str = _URL, key_prefix: str = "message_store:", ttl: int | None = None
    ) -> None:
        self.redis_client = _client(url)
        self.session_id = session_id
        self.key_prefix = key_prefix
        self.ttl = ttl

    @property
    def key(self) -> str:
        """The key of the list."""
        return self.key_prefix + self.session_id

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first. They cannot be assigned: that raises ``NotImplementedError``."""
        return self._range(0, -1)

    @messages.setter
    def messages(self, messages: Iterable[Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise NotImplementedError("Direct assignment to 'messages' is not allowed. Use the 'add_messages' instead.")

    def __len__(self) -> int:
        with _translated():
            return int(self.redis_client.llen(self.key))

    def between(self, start: int, stop: int) -> list[BaseMessage]:
        """The messages from place ``start`` up to, but not with, place ``stop``; only these are fetched."""
        # The list is kept newest first, so a place counts from its end, whatever has been added since.
        return self._range(-stop, -(start + 1)) if start < stop else []

    def tail(self, count: int) -> list[BaseMessage]:
        """The last messages, at most ``count`` of them."""
        return self._range(0, count - 1) if check_count(count, "count") else []

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none, and begin the time to live anew."""
        written = [_written(one) for one in messages]
        if not written:
            return
        with _translated(), self.redis_client.pipeline(transaction=True) as together:
            together.lpush(self.key, *written)
            if self.ttl:
                together.expire(self.key, self.ttl)
            together.execute()

    def clear(self) -> None:
        """Take all messages out."""
        with _translated():
            self.redis_client.delete(self.key)

    def _range(self, first: int, last: int) -> list[BaseMessage]:
        with _translated():
            found: list[bytes] = self.redis_client.lrange(self.key, first, last)
        return [self._read(one) for one in reversed(found)]

    def _read(self, written: bytes) -> BaseMessage:
        try:
            return message_from_dict(json.loads(written))
        except ValueError as error:
            raise InvalidInput(f"the key {self.key!r} holds something that is no message: {error}") from error


def stored_messages(url: str, key_prefix: str) -> StoredMessages:
    """What the lists of messages under a prefix hold, one session after the other; nothing of it is changed."""
    client = _client(url)
    with _translated():
        found = {bytes(key) for key in client.scan_iter(match=_literally(key_prefix) + "*", count=_BATCH)}
        keys = sorted(key for key in found if client.type(key) == b"list")
        total = sum(int(client.llen(key)) for key in keys)

    def rows() -> Iterator[StoredMessage]:
        for key in keys:
            session = key.decode(errors="replace").removeprefix(key_prefix)
            for start in range(1, 2**62, _BATCH):
                with _translated():
                    # The list is kept newest first, so its oldest are at its end.
                    batch: list[bytes] = client.lrange(key, -(start + _BATCH - 1), -start)
                for place, written in enumerate(reversed(batch), start):
                    yield StoredMessage(session, place, written)
                if len(batch) < _BATCH:
                    break

    where = client.connection_pool.connection_kwargs
    origin = f"redis {where.get('host')} {where.get('port')} {where.get('path')} {where.get('db')} {key_prefix}"
    return StoredMessages(origin, total, rows())


def _literally(text: str) -> str:
    """A pattern that this text alone fits."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


def _written(message: Any) -> str:
    try:
        return json.dumps(message_to_dict(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a message cannot be written as JSON: {error}") from error


class RedisEntityStore(BaseEntityStore):
    """What is known of each entity of a session, in Redis, for ``ttl`` seconds; reading one keeps it ``recall_ttl`` more.

    Raises ``BackendUnavailable`` when the server cannot be reached.
    """

    def __init__(
        self,
        session_id: str = "default",
        url: str = _URL,
        key_prefix: str = "memory_store",
        ttl: int | None = _DAY,
        recall_ttl: int | None = 3 * _DAY,
    ) -> None:
        self.redis_client = _client(url, decode_responses=True)
        self.session_id = session_id
        self.key_prefix = key_prefix
        self.ttl = ttl
        self.recall_ttl = recall_ttl or ttl

    @property
    def full_key_prefix(self) -> str:
        """What every key of the session begins with."""
        return f"{self.key_prefix}:{self.session_id}"

    def get(self, key: str, default: str | None = None) -> str:
        """What is known of an entity; without a default that is "" when nothing is."""
        with _translated():
            return self.redis_client.getex(self._key(key), ex=self.recall_ttl or None) or default or ""

    def set(self, key: str, value: str | None) -> None:
        """Say what is known of an entity; nothing deletes it."""
        if not value:
            self.delete(key)
            return
        with _translated():
            self.redis_client.set(self._key(key), value, ex=self.ttl or None)

    def delete(self, key: str) -> None:
        """Forget an entity, if it is known."""
        with _translated():
            self.redis_client.delete(self._key(key))

    def exists(self, key: str) -> bool:
        """Whether anything is known of an entity."""
        with _translated():
            return self.redis_client.exists(self._key(key)) == 1

    def clear(self) -> None:
        """Forget every entity of the session."""
        # A session's id may hold what is a wildcard in a pattern, and must not clear another session's.
        pattern = _literally(f"{self.full_key_prefix}:") + "*"
        with _translated():
            keys = list(self.redis_client.scan_iter(match=pattern, count=_BATCH))
            for start in range(0, len(keys), _BATCH):
                self.redis_client.delete(*keys[start : start + _BATCH])

    def _key(self, key: str) -> str:
        return f"{self.full_key_prefix}:{key}"


__all__ = ["RedisChatMessageHistory", "RedisEntityStore", "stored_messages"]

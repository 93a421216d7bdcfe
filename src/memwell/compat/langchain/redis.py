"""Chat histories in Redis, under the keys of LangChain's own class. Needs the package redis."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, message_from_json, message_to_json
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, MissingDependency
from memwell.values import shown

_URL = "redis://localhost:6379/0"
_BATCH = 500


def _client(url: str) -> Any:
    """A client for the server at ``url``; it connects when it is first used."""
    try:
        # Optional: only a program that uses Redis needs the package.
        redis = import_module("redis")
    except ImportError as error:
        raise MissingDependency('histories in Redis need the package redis: pip install "memwell[redis]"') from error
    try:
        return redis.Redis.from_url(url)
    except ValueError as error:
        raise ConfigurationError(f"no Redis server is named by {shown(url)}: {error}") from error


@contextmanager
def _translated() -> Generator[None]:
    # A client was made, so the package is installed.
    errors = import_module("redis.exceptions")
    try:
        yield
    except (errors.ConnectionError, errors.TimeoutError) as error:
        raise BackendUnavailable(f"the Redis server cannot be reached: {error}") from error
    except errors.RedisError as error:
        raise BackendError(f"the Redis server failed: {error}") from error


class RedisChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session in Redis, for ``ttl`` seconds after the last was added when that is given.

    The key is ``key_prefix`` and the session's id, its value the list of LangChain's own class, newest message first. It
    connects when it is first used. Raises ``BackendUnavailable`` when the server cannot be reached.
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
        with _translated():
            found: list[bytes] = self.redis_client.lrange(self.key, 0, -1)
        return [message_from_json(one, f"the key {self.key!r}") for one in reversed(found)]

    @messages.setter
    def messages(self, messages: Iterable[Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise NotImplementedError("Direct assignment to 'messages' is not allowed. Use the 'add_messages' instead.")

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none, and start the time to live again."""
        written = [message_to_json(one) for one in messages]
        if not written:
            return
        with _translated(), self.redis_client.pipeline(transaction=True) as together:
            together.lpush(self.key, *written)
            if self.ttl:
                together.expire(self.key, self.ttl)
            together.execute()

    def clear(self) -> None:
        """Remove all messages."""
        with _translated():
            self.redis_client.delete(self.key)


def stored_messages(url: str, key_prefix: str) -> tuple[str, int, Iterator[tuple[str, int, str]]]:
    """The messages under a prefix: their origin, their number, and each as session, position, JSON.

    They come session by session, with positions from 1. Nothing is written.
    """
    client = _client(url)
    with _translated():
        found = {bytes(key) for key in client.scan_iter(match=_literally(key_prefix) + "*", count=_BATCH)}
        keys = sorted(key for key in found if client.type(key) == b"list")
        total = sum(int(client.llen(key)) for key in keys)

    def rows() -> Iterator[tuple[str, int, str]]:
        for key in keys:
            session = key.decode(errors="replace").removeprefix(key_prefix)
            start, batch = 1, [b""] * _BATCH
            while len(batch) == _BATCH:
                with _translated():
                    batch = client.lrange(key, -(start + _BATCH - 1), -start)
                for place, written in enumerate(reversed(batch), start):
                    yield session, place, written.decode(errors="replace")
                start += _BATCH

    where = client.connection_pool.connection_kwargs
    origin = f"redis {where.get('host')} {where.get('port')} {where.get('path')} {where.get('db')} {key_prefix}"
    return origin, total, rows()


def _literally(text: str) -> str:
    """A pattern that matches this text alone."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)

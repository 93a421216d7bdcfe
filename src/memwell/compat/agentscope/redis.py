"""The memory of an agent in Redis, under the keys AgentScope's own class uses. Needs the package redis."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeAlias, TypeVar, cast

from memwell.compat.agentscope.databases import DatabaseMemory
from memwell.compat.agentscope.memories import (
    ids_in,
    mark_in,
    marks_in,
    messages_in,
    refuse_unknown,
    with_summary,
)
from memwell.compat.agentscope.messages import Msg
from memwell.errors import BackendError, BackendUnavailable, InvalidInput, MissingDependency
from memwell.values import check_id, check_json, new_id, shown

try:
    from redis import asyncio as redis
    from redis.exceptions import ConnectionError as Unreachable
    from redis.exceptions import RedisError
    from redis.exceptions import TimeoutError as TooSlow
except ImportError as missing:
    raise MissingDependency('memories in Redis need the package redis: pip install "memwell[redis]"') from missing

T = TypeVar("T")
_Written: TypeAlias = tuple[str, str]
_AT_ONCE = 1000
_FEW = 32
# How the second id of a message begins that is there twice.
_SECOND = "memwell-second:"


class RedisMemory(DatabaseMemory):
    """The memory of a session of a user in Redis, for ``key_ttl`` seconds after it was last used when that is given.

    It connects when it is first used; further options go to the client. A time to live is renewed for every message at
    every use, so it costs more the longer the session is. Raises ``BackendUnavailable`` when the server cannot be reached.
    """

    def __init__(
        self,
        session_id: str = "default_session",
        user_id: str = "default_user",
        host: str = "localhost",
        port: int = 6379,
        db: int = 0,
        password: str | None = None,
        connection_pool: redis.ConnectionPool | None = None,
        key_prefix: str = "",
        key_ttl: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.session_id = check_id(session_id, "a session's id")
        self.user_id = check_id(user_id, "a user's id")
        self.key_prefix = key_prefix or ""
        self.key_ttl = key_ttl
        place = {"host": host, "port": port, "db": db, "password": password}
        self._client: Any = redis.Redis(**place, connection_pool=connection_pool, decode_responses=True, **kwargs)
        # The ids are opaque: with the separator in one, two sessions could have the same keys.
        self._base = f"{self.key_prefix}user_id:{_quoted(user_id)}:session:{_quoted(session_id)}:"

    def get_client(self) -> Any:
        """The client that is used."""
        return self._client

    # Reading

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages in order, those with ``mark`` and without ``exclude_mark`` when they are named.

        Only the messages that are returned are fetched. The summary, if there is one, comes first.
        """
        mark, exclude = mark_in(mark, "mark"), mark_in(exclude_mark, "exclude_mark")
        async with _translated():
            ids = await self._list(self._client, self._messages if mark is None else self._mark(mark))
            if exclude is not None:
                left_out = set(await self._list(self._client, self._mark(exclude)))
                ids = [id_ for id_ in ids if id_ not in left_out]
            found = [message for some in _parts(ids) for message in await self._fetched(some)]
            await self._renew()
        return with_summary(found, await self._summary() if prepend_summary else "")

    async def _fetched(self, ids: Sequence[str]) -> list[Msg]:
        written: list[Any] = await self._client.mget([self._message(id_) for id_ in ids])
        # A mark may still name a message that somebody else took out.
        return [self._read(one) for one in written if one is not None]

    def _read(self, written: str | bytes) -> Msg:
        try:
            return Msg.from_dict(json.loads(written))
        except ValueError as error:
            raise InvalidInput(f"a key of {self._base!r} holds something that is no message: {error}") from error

    async def size(self) -> int:
        """How many messages there are."""
        async with _translated():
            found = int(await self._client.llen(self._messages))
            await self._renew()
            return found

    # Writing

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        skip_duplicated: bool = True,
        *,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add a message or several, all or none; None adds nothing.

        One whose id is there already, or was earlier in the list, is passed over, unless ``skip_duplicated`` is off or, by
        its other name, ``allow_duplicates`` is set; then it is there twice. Raises ``WrongType`` (a ``TypeError``) for an
        unknown keyword.
        """
        refuse_unknown(kwargs)
        messages, wanted = messages_in(memories), marks_in(marks)
        written = [(one.id, _written(one)) for one in messages]
        if not written:
            return

        async def change(pipe: Any) -> None:
            once = skip_duplicated and not allow_duplicates
            added = await (_fresh if once else _each)(pipe, written, self._message)
            pipe.multi()
            if added:
                pipe.mset({self._message(id_): text for id_, text in added})
                for key in (self._messages, *map(self._mark, wanted)):
                    pipe.rpush(key, *(id_ for id_, _ in added))
                if wanted:
                    pipe.sadd(self._marks, *wanted)

        await self._changed(change, self._messages)

    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Take out the messages of these ids; returns how many there were."""
        wanted = set(ids_in(msg_ids))

        async def change(pipe: Any) -> int:
            there = await self._list(pipe, self._messages)
            return await self._remove(pipe, wanted.union(id_ for id_ in there if _first_id(id_) in wanted))

        return await self._changed(change, self._messages)

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Take out the messages with one of these marks; returns how many there were."""
        keys = [self._mark(one) for one in marks_in(mark)]

        async def change(pipe: Any) -> int:
            return await self._remove(pipe, {id_ for key in keys for id_ in await self._list(pipe, key)})

        return await self._changed(change, self._messages, *keys)

    async def _remove(self, pipe: Any, gone: set[str]) -> int:
        lists = {self._messages: await self._list(pipe, self._messages)}
        names = await self._names(pipe)
        for key in map(self._mark, names):
            await pipe.watch(key)
            lists[key] = await self._list(pipe, key)
        pipe.multi()
        for key, ids in lists.items():
            _rewrite(pipe, key, ids, [id_ for id_ in ids if id_ not in gone])
        emptied = [name for name in names if gone >= set(lists[self._mark(name)])]
        if emptied:
            pipe.srem(self._marks, *emptied)
        for some in _parts(gone):
            pipe.delete(*map(self._message, some))
        return sum(id_ in gone for id_ in lists[self._messages])

    async def clear(self) -> None:
        """Take all messages and marks out; the summary stays."""

        async def change(pipe: Any) -> None:
            ids, names = await self._list(pipe, self._messages), await self._names(pipe)
            pipe.multi()
            pipe.delete(self._messages, self._marks, *map(self._mark, names))
            for some in _parts(ids):
                pipe.delete(*map(self._message, some))

        await self._changed(change, self._messages, self._marks)

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Put ``new_mark`` on messages, in the place of ``old_mark`` when that is named; without a new one take it off.

        ``msg_ids`` says which messages, ``old_mark`` those that have it. Returns how many have other marks than before.
        """
        new, old = mark_in(new_mark, "new_mark"), mark_in(old_mark, "old_mark")
        wanted = None if msg_ids is None else set(ids_in(msg_ids))
        if new == old:
            return 0
        keys = [self._mark(one) for one in (new, old) if one is not None]
        return await self._changed(lambda pipe: self._mark_anew(pipe, new, old, wanted), self._messages, *keys)

    async def _mark_anew(self, pipe: Any, new: str | None, old: str | None, wanted: set[str] | None) -> int:
        order = list(dict.fromkeys(await self._list(pipe, self._messages)))
        having_old = None if old is None else await self._list(pipe, self._mark(old))
        having_new = [] if new is None else await self._list(pipe, self._mark(new))
        chosen = {id_ for id_ in order if wanted is None or _first_id(id_) in wanted}
        if having_old is not None:
            chosen &= set(having_old)
        pipe.multi()
        if old is not None and having_old is not None:
            left = [id_ for id_ in having_old if id_ not in chosen]
            _rewrite(pipe, self._mark(old), having_old, left)
            if not left:
                pipe.srem(self._marks, old)
        having = chosen.union(having_new)
        if new is not None and len(having) > len(having_new):
            # In the order of the conversation, so that whoever reads by this mark need not sort.
            _rewrite(pipe, self._mark(new), having_new, [id_ for id_ in order if id_ in having])
            pipe.sadd(self._marks, new)
        return len(chosen) if old is not None else len(chosen.difference(having_new))

    # The summary

    async def _read_summary(self) -> str:
        async with _translated():
            return _text(await self._client.get(f"{self._base}summary") or "")

    async def _write_summary(self, summary: str) -> None:
        async with _translated():
            if summary:
                await self._client.set(f"{self._base}summary", summary, ex=self.key_ttl)
            else:
                await self._client.delete(f"{self._base}summary")

    # Keys and transactions

    @property
    def _messages(self) -> str:
        return f"{self._base}messages"

    @property
    def _marks(self) -> str:
        return f"{self._base}marks_index"

    def _mark(self, mark: str) -> str:
        return f"{self._base}mark:{mark}"

    def _message(self, id_: str) -> str:
        return f"{self._base}msg:{id_}"

    async def _list(self, client: Any, key: str) -> list[str]:
        return [_text(one) for one in await client.lrange(key, 0, -1)]

    async def _names(self, client: Any) -> list[str]:
        return sorted(_text(one) for one in await client.smembers(self._marks))

    async def _changed(self, change: Callable[[Any], Awaitable[T]], *watched: str) -> T:
        """What ``change`` does, all or none; it is done again when somebody else changed a watched key meanwhile."""
        async with _translated():
            result = await self._client.transaction(change, *watched, value_from_callable=True)
            await self._renew()
            return cast(T, result)

    async def _renew(self) -> None:
        if self.key_ttl is None:
            return
        ids, names = await self._list(self._client, self._messages), await self._names(self._client)
        keys = [self._messages, self._marks, f"{self._base}summary", *map(self._mark, names), *map(self._message, ids)]
        for some in _parts(keys):
            pipe = self._client.pipeline(transaction=False)
            for key in some:
                pipe.expire(key, self.key_ttl)
            await pipe.execute()

    async def close(self, close_connection_pool: bool | None = None) -> None:
        """Close the connections. A pool that was given is its owner's to close, unless told otherwise."""
        await self._client.aclose(close_connection_pool=close_connection_pool)


def _rewrite(pipe: Any, key: str, old: Sequence[str], new: Sequence[str]) -> None:
    """Make one list of another, by taking out what is gone when that is little."""
    if list(old) == list(new):
        return
    gone = set(old) - set(new)
    if len(gone) <= _FEW and len(new) < len(old):
        for id_ in gone:
            pipe.lrem(key, 0, id_)
        return
    pipe.delete(key)
    for some in _parts(new):
        pipe.rpush(key, *some)


async def _fresh(pipe: Any, written: Sequence[_Written], key: Callable[[str], str]) -> list[_Written]:
    """Those whose ids are not taken, each once."""
    first = dict(reversed(written))
    once = [(id_, first.pop(id_)) for id_, _ in written if id_ in first]
    keys = [key(id_) for id_, _ in once]
    if not await pipe.exists(*keys):
        return once
    there = [await pipe.exists(one) for one in keys]
    return [pair for pair, known in zip(once, there, strict=True) if not known]


async def _each(pipe: Any, written: Sequence[_Written], key: Callable[[str], str]) -> list[_Written]:
    """All of them; one whose id is taken is listed under a second one, of which the first is a part."""
    taken: set[str] = set()
    listed: list[_Written] = []
    for id_, text in written:
        twice = id_ in taken or await pipe.exists(key(id_))
        listed.append((f"{_SECOND}{new_id()}:{id_}" if twice else id_, text))
        taken.add(id_)
    return listed


def _first_id(listed: str) -> str:
    """The id of a message by the one that it is listed under."""
    return listed.split(":", 2)[2] if listed.startswith(_SECOND) and listed.count(":") > 1 else listed


def _quoted(id_: str) -> str:
    return id_.replace("%", "%25").replace(":", "%3A")


def _text(value: str | bytes) -> str:
    # A pool that was given may not decode.
    return value.decode() if isinstance(value, bytes) else value


def _written(message: Msg) -> str:
    if check_id(message.id, "a message's id").startswith(_SECOND):
        raise InvalidInput(f"a message's id must not begin with {_SECOND!r}, and {shown(message.id)} does")
    plain = message.to_dict()
    check_json(plain, "a message")
    return json.dumps(plain, ensure_ascii=False)


def _parts(values: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(values)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


@asynccontextmanager
async def _translated() -> AsyncGenerator[None]:
    try:
        yield
    except (Unreachable, TooSlow) as error:
        raise BackendUnavailable(f"the Redis server cannot be reached: {error}") from error
    except RedisError as error:
        raise BackendError(f"the Redis server failed: {error}") from error


__all__ = ["RedisMemory"]

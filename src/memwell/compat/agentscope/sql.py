"""The memory of an agent in any database that SQLAlchemy speaks to with an async driver. Needs SQLAlchemy 2.

The tables are AgentScope's own, so that what it wrote is read on; the summary has a table of ours beside them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from typing import Any
from weakref import WeakSet

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
from memwell.values import check_id, check_json, shown

try:
    from sqlalchemy import (
        JSON,
        BigInteger,
        Column,
        Connection,
        Engine,
        ForeignKey,
        Index,
        MetaData,
        Select,
        String,
        Table,
        Text,
        func,
        insert,
        select,
        update,
    )
    from sqlalchemy import delete as delete_from
    from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as PoolTimeout
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
except ImportError as missing:
    raise MissingDependency('memories in SQL need SQLAlchemy and greenlet: pip install "memwell[sql]"') from missing

_LONGEST = 255
_AT_ONCE = 500
_DIGESTED = "sha256:"
_TRIES = 8

_tables = MetaData()
_users = Table("users", _tables, Column("id", String(_LONGEST), primary_key=True))
_sessions = Table(
    "session",
    _tables,
    Column("id", String(_LONGEST), primary_key=True),
    Column("user_id", String(_LONGEST), ForeignKey("users.id"), nullable=False),
)
_messages = Table(
    "message",
    _tables,
    Column("id", String(_LONGEST), primary_key=True),
    Column("msg", JSON, nullable=False),
    Column("session_id", String(_LONGEST), ForeignKey("session.id"), nullable=False),
    Column("index", BigInteger, nullable=False, index=True),
)
_marks = Table(
    "message_mark",
    _tables,
    Column("msg_id", String(_LONGEST), ForeignKey("message.id", ondelete="CASCADE"), primary_key=True),
    Column("mark", String(_LONGEST), primary_key=True),
)
_summaries = Table(
    "message_summary",
    _tables,
    Column("session_id", String(_LONGEST), primary_key=True),
    Column("summary", Text, nullable=False),
)
# Without it every read of one session looks at the rows of all. AgentScope's own tables get it too.
_by_session = Index("ix_message_session_id_index", _messages.c.session_id, _messages.c.index)

# Asking for each table whether it is there takes longer than reading a memory, so an engine is asked once.
_prepared: WeakSet[Engine] = WeakSet()


class AsyncSQLAlchemyMemory(DatabaseMemory):
    """The memory of a session of a user in a database, whose tables are made when they are not there.

    An engine opens a session for every call; a session that is given is used as it is, committed after every change, and
    left open. Two users may have sessions of the same name. Raises ``InvalidInput`` (a ``ValueError``) for anything but an
    async engine or session, and ``BackendUnavailable`` when the database cannot be reached or stays busy.
    """

    def __init__(
        self, engine_or_session: AsyncEngine | AsyncSession, session_id: str | None = None, user_id: str | None = None
    ) -> None:
        super().__init__()
        self._given: AsyncSession | None = None
        if isinstance(engine_or_session, AsyncEngine):
            self._make_session = async_sessionmaker(bind=engine_or_session, expire_on_commit=False)
        elif isinstance(engine_or_session, AsyncSession):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._given = engine_or_session
        else:
            raise InvalidInput(
                "The 'engine_or_session' parameter must be an instance of sqlalchemy.ext.asyncio.AsyncEngine."
            )
        self.session_id = check_id(session_id or "default_session", "a session's id")
        self.user_id = check_id(user_id or "default_user", "a user's id")
        self._key: str | None = None
        # One session, and one connection to a database in memory, can do one thing at a time.
        self._lock = asyncio.Lock()

    # Reading

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """The messages, those with ``mark`` and without ``exclude_mark`` when these are named, the summary first."""
        mark, exclude = mark_in(mark, "mark"), mark_in(exclude_mark, "exclude_mark")
        async with self._session() as (session, key):
            statement = select(_messages.c.msg).where(_messages.c.session_id == key).order_by(_messages.c.index)
            if mark is not None:
                statement = statement.where(_has(mark))
            if exclude is not None:
                statement = statement.where(~_has(exclude))
            found = [Msg.from_dict(row) for row in (await session.execute(statement)).scalars()]
        return with_summary(found, await self._summary() if prepend_summary else "")

    async def size(self) -> int:
        """How many messages there are."""
        async with self._session() as (session, key):
            counting = select(func.count()).select_from(_messages).where(_messages.c.session_id == key)
            return (await session.execute(counting)).scalar_one()

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
        """Add a message or several, all or none; one whose id is there already, or came earlier in them, is passed over.

        With ``skip_duplicated`` off or, by its other name, ``allow_duplicates`` that is ``InvalidInput``, for the tables
        hold an id once. An unknown keyword raises ``WrongType`` (a ``TypeError``).
        """
        refuse_unknown(kwargs)
        messages, wanted = messages_in(memories), marks_in(marks)
        if not (written := [(one.id, _plain(one)) for one in messages]):
            return
        async with self._writing() as (session, key):
            known, taken = await self._ids(session, key, [id_ for id_, _ in written])
            fresh = {id_: msg for id_, msg in reversed(written) if id_ not in known}
            if allow_duplicates or not skip_duplicated:
                _refuse_twice([id_ for id_, _ in written], set(known))
            rows = await self._rows(session, key, [(id_, fresh.pop(id_)) for id_, _ in written if id_ in fresh], taken)
            if rows:
                await session.execute(insert(_messages), rows)
            tagged = [{"msg_id": row["id"], "mark": mark} for row in rows for mark in wanted]
            if tagged:
                await session.execute(insert(_marks), tagged)

    async def _rows(
        self, session: AsyncSession, key: str, fresh: Sequence[tuple[str, Any]], taken: set[str]
    ) -> list[dict[str, Any]]:
        last = select(func.max(_messages.c.index)).where(_messages.c.session_id == key)
        highest = (await session.execute(last)).scalar_one()
        start = 0 if highest is None else highest + 1
        return [
            {"id": self._row_id(id_, taken), "msg": msg, "session_id": key, "index": start + place}
            for place, (id_, msg) in enumerate(fresh)
        ]

    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Take out the messages of these ids; returns how many there were."""
        wanted = ids_in(msg_ids)
        async with self._writing() as (session, key):
            known, _ = await self._ids(session, key, wanted)
            return await _delete(session, list(known.values()))

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Take out the messages with one of these marks; returns how many there were."""
        wanted = marks_in(mark)
        async with self._writing() as (session, key):
            marked = select(_marks.c.msg_id).where(_marks.c.mark.in_(wanted))
            mine = select(_messages.c.id).where(_messages.c.session_id == key, _messages.c.id.in_(marked))
            return await _delete(session, list((await session.execute(mine)).scalars()))

    async def clear(self) -> None:
        """Take all messages and marks out; the summary stays."""
        async with self._writing() as (session, key):
            mine = select(_messages.c.id).where(_messages.c.session_id == key)
            await session.execute(delete_from(_marks).where(_marks.c.msg_id.in_(mine)))
            await session.execute(delete_from(_messages).where(_messages.c.session_id == key))

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Put ``new_mark`` on messages, in the place of ``old_mark`` when that is named; without a new one take it off.

        ``msg_ids`` says which messages, ``old_mark`` those that have it. Returns how many have other marks than before.
        """
        new, old = mark_in(new_mark, "new_mark"), mark_in(old_mark, "old_mark")
        wanted = None if msg_ids is None else ids_in(msg_ids)
        if new == old:
            return 0
        async with self._writing() as (session, key):
            chosen = await self._chosen(session, key, old, wanted)
            if old is not None:
                for some in _parts(chosen):
                    await session.execute(delete_from(_marks).where(_marks.c.msg_id.in_(some), _marks.c.mark == old))
            if new is None:
                return len(chosen)
            having = await _having(session, chosen, new)
            lacking = [row for row in chosen if row not in having]
            if lacking:
                await session.execute(insert(_marks), [{"msg_id": row, "mark": new} for row in lacking])
            return len(lacking) if old is None else len(chosen)

    async def _chosen(self, session: AsyncSession, key: str, old: str | None, ids: list[str] | None) -> list[str]:
        statement = select(_messages.c.id).where(_messages.c.session_id == key).order_by(_messages.c.index)
        if old is not None:
            statement = statement.where(_has(old))
        found = list((await session.execute(statement)).scalars())
        if ids is None:
            return found
        known = set((await self._ids(session, key, ids))[0].values())
        return [row for row in found if row in known]

    # The summary

    async def _read_summary(self) -> str:
        async with self._session() as (session, key):
            statement = select(_summaries.c.summary).where(_summaries.c.session_id == key)
            return (await session.execute(statement)).scalar_one_or_none() or ""

    async def _write_summary(self, summary: str) -> None:
        async with self._writing() as (session, key):
            await session.execute(delete_from(_summaries).where(_summaries.c.session_id == key))
            if summary:
                await session.execute(insert(_summaries).values(session_id=key, summary=summary))

    # Ids: AgentScope's own where they are nobody else's, and digests where two could be taken for one

    def _row_id(self, id_: str, taken: set[str]) -> str:
        plain, digest = self._row_ids(id_)
        return digest if plain in taken or len(plain) > _LONGEST or plain.startswith(_DIGESTED) else plain

    def _row_ids(self, id_: str) -> tuple[str, str]:
        return f"{self.user_id}-{self.session_id}-{id_}", _digest("message", self.user_id, self.session_id, id_)

    async def _ids(self, session: AsyncSession, key: str, ids: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """The rows of those messages that are there, by the message's id, and the ids of rows of other sessions."""
        both = {row: id_ for id_ in ids for row in self._row_ids(id_)}
        known: dict[str, str] = {}
        taken: set[str] = set()
        for some in _parts(both):
            statement = select(_messages.c.id, _messages.c.session_id).where(_messages.c.id.in_(some))
            for row, whose in await session.execute(statement):
                if whose == key:
                    known[both[row]] = row
                else:
                    taken.add(row)
        return known, taken

    # Sessions

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[tuple[AsyncSession, str]]:
        async with self._lock:
            with _translated():
                if self._given is not None:
                    yield self._given, await self._begun(self._given)
                    return
                async with self._make_session() as session:
                    yield session, await self._begun(session)

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[tuple[AsyncSession, str]]:
        async with self._session() as (session, key):
            try:
                # Whoever writes to a session holds its row from the start: what is read from here on is still true when it
                # is written, beside any number of other processes.
                mine = update(_sessions).where(_sessions.c.id == key)
                await session.execute(mine.values(user_id=_sessions.c.user_id))
                yield session, key
                await session.commit()
            except BaseException:
                await session.rollback()
                raise

    async def _begun(self, session: AsyncSession) -> str:
        """The key of this user's session, whose row is made if it is not there, and the tables with it."""
        for left in range(_TRIES, -1, -1):
            if self._key is not None:
                break
            connection = await session.connection()
            try:
                await connection.run_sync(_prepare)
                self._key = await self._entered(session)
            except (IntegrityError, OperationalError, ProgrammingError):
                # Another may be making the very same tables and rows at this moment; then they are there in the next.
                await session.rollback()
                if not left:
                    raise
                await asyncio.sleep(0.01)
        assert self._key is not None
        return self._key

    async def _entered(self, session: AsyncSession) -> str:
        user, plain = _fitting("user", self.user_id), _fitting("session", self.session_id)
        if (await session.execute(select(_users.c.id).where(_users.c.id == user))).first() is None:
            await session.execute(insert(_users).values(id=user))
        for key in (plain, _digest("session", self.user_id, self.session_id)):
            whose = (
                await session.execute(select(_sessions.c.user_id).where(_sessions.c.id == key))
            ).scalar_one_or_none()
            if whose in (None, user):
                break
        if whose is None:
            await session.execute(insert(_sessions).values(id=key, user_id=user))
        await session.commit()
        return key

    async def close(self) -> None:
        """Forget what was read of the database. An engine, or a session that was given, is its owner's to close."""
        self._key = None


def _prepare(connection: Connection) -> None:
    if connection.engine not in _prepared:
        _tables.create_all(connection)
        _by_session.create(connection, checkfirst=True)
        _prepared.add(connection.engine)


def _has(mark: str) -> Any:
    return select(_marks.c.msg_id).where(_marks.c.msg_id == _messages.c.id, _marks.c.mark == mark).exists()


async def _having(session: AsyncSession, rows: Sequence[str], mark: str) -> set[str]:
    found: set[str] = set()
    for some in _parts(rows):
        statement: Select[Any] = select(_marks.c.msg_id).where(_marks.c.msg_id.in_(some), _marks.c.mark == mark)
        found.update((await session.execute(statement)).scalars())
    return found


async def _delete(session: AsyncSession, rows: Sequence[str]) -> int:
    for some in _parts(rows):
        await session.execute(delete_from(_marks).where(_marks.c.msg_id.in_(some)))
        await session.execute(delete_from(_messages).where(_messages.c.id.in_(some)))
    return len(rows)


def _parts(values: Iterable[str]) -> Iterator[list[str]]:
    """A few at a time: a database takes only so many values in one statement."""
    rest = iter(values)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _fitting(kind: str, id_: str) -> str:
    return id_ if len(id_) <= _LONGEST and not id_.startswith(_DIGESTED) else _digest(kind, id_)


def _digest(*names: str) -> str:
    return _DIGESTED + hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _refuse_twice(ids: Iterable[str], there: set[str]) -> None:
    for id_ in ids:
        if id_ in there:
            raise InvalidInput(f"message {shown(id_)} would be there twice, and the tables hold an id once")
        there.add(id_)


def _plain(message: Msg) -> dict[str, Any]:
    check_id(message.id, "a message's id")
    written = message.to_dict()
    check_json(written, "a message")
    return written


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (OperationalError, PoolTimeout) as error:
        raise BackendUnavailable(f"the database cannot be reached or is busy: {error}") from error
    except SQLAlchemyError as error:
        raise BackendError(f"the database failed: {error}") from error


__all__ = ["AsyncSQLAlchemyMemory"]

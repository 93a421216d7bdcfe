"""Imports AgentScope's memories from SQL and Redis: each session becomes a conversation, with its marks and its summary.

The tables and keys are only read. A conversation has the name of its session, with a suffix for its origin where another
conversation has that name. Importing again adds only what is new.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple, cast

import msgspec

from memwell.errors import BackendUnavailable, ConfigurationError, Conflict, InvalidInput, MissingDependency, NotFound
from memwell.history import History
from memwell.history.reading import thread_keys
from memwell.history.writing import MessageMarks, places_at
from memwell.messages import Message
from memwell.records import Space
from memwell.runtime.transfer.files import ImportCounts, Imported, Progress, decoded
from memwell.runtime.transfer.intake import as_imported
from memwell.storage.protocols import Backend
from memwell.storage.urls import without_secrets
from memwell.transcript.agentscope import SUMMARY, from_agentscope
from memwell.values import shown

_AT_ONCE = 500
_TABLES = ("session", "message", "message_mark")
_DIGESTED = "sha256:"
"""The prefix of a key that is the digest of a name which was too long or not unique."""
_SYNC = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


class _Session(NamedTuple):
    """The memory of one session. Messages are JSON, each with the id under which it is listed."""

    user: str
    name: str
    messages: Sequence[tuple[str, str]]
    marks: dict[str, list[str]]
    summary: str


def import_agentscope(
    target: Any,
    url: str,
    *,
    user: str | None = None,
    key_prefix: str = "",
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import every session in the tables or keys at ``url`` as a conversation; with ``remember`` also remember it.

    ``target`` is an open memory, or a store such as ``open_backend("redis://…")``, which cannot remember. The
    conversations of a user go into the space of that name, where ``MemwellMemory(store, session_id, user_id)`` finds
    them; with ``user`` only those of this user, into the memory's own space. ``url`` is SQLAlchemy's for a database, or
    ``redis://…`` for the keys under ``key_prefix``. A message that cannot be read is reported and the others are
    imported, unless ``strict``. Raises ``NotFound`` when the tables are not there and ``BackendUnavailable`` when the
    server cannot be reached.
    """
    is_redis = url.startswith(("redis://", "rediss://", "unix://"))
    sessions = _in_redis(url, key_prefix) if is_redis else _in_sql(url)
    counts = ImportCounts("agentscope", strict=strict)
    origin = _digest(f"agentscope {without_secrets(url)} {key_prefix}")
    for number, session in enumerate(sessions, 1):
        if user in (None, session.user):
            space = Space(session.user) if user is None or isinstance(target, Backend) else target.space
            backend = target if isinstance(target, Backend) else target.backend
            taken = _taken(backend, space, session, origin, counts)
            if remember and not isinstance(target, Backend):
                said = [one for one in taken if one.for_model and one.text.strip()]
                target.at(space).remember(said, session=session.name, trust="imported")
        if progress is not None:
            progress(number, None)
    return counts.report()


def _taken(backend: Backend, space: Space, session: _Session, origin: str, counts: ImportCounts) -> list[Message]:
    """Store the new messages, marks and summary of a session, and return the messages."""
    history = History(backend, session.name, space=space)
    info = history.info()
    if info is not None and info.metadata.get("origin", origin) != origin:
        # Another origin's conversation has this name.
        history = History(backend, f"{session.name} ({origin[:6]})", space=space)
        info = history.info()
    read = list(_read(session, counts))
    known = {one.id for one in history.log.read(history.thread, ids=[one.id for one in read])}
    fresh = [one for one in read if one.id not in known]
    stored = [
        one for start in range(0, len(fresh), _AT_ONCE) for one in _added(history, fresh[start : start + _AT_ONCE])
    ]
    if read and info is None:
        history.set_metadata(source="agentscope", origin=origin)
        counts.add("threads")
    counts.add("messages", len(stored))
    counts.add_known(len(read) - len(stored))
    for mark, ids in session.marks.items():
        found = history.log.read(history.thread, ids=ids)
        MessageMarks(history).add(mark, places_at(one.index or 0 for one in found))
    inner, prefix = thread_keys(history.thread)
    if session.summary and backend.kv.get(inner, prefix + SUMMARY) is None:
        backend.kv.put(inner, prefix + SUMMARY, {"text": session.summary})
    return stored


def _added(history: History, messages: Sequence[Message]) -> list[Message]:
    """Add messages, except those whose id is taken: such a message was removed here, and is not added again."""
    try:
        return history.add(*messages)
    except Conflict:
        return [] if len(messages) == 1 else [one for each in messages for one in _added(history, [each])]


def _read(session: _Session, counts: ImportCounts) -> Iterator[Message]:
    for number, (listed, written) in enumerate(session.messages, 1):
        try:
            found = decoded(written.encode())
            if not isinstance(found, dict):
                raise InvalidInput(f"a message of AgentScope must be an object, not {shown(found)}")
            layout = cast("dict[str, Any]", found)
            id_ = listed or _digest(written)
            made: dict[str, Any] = {"id": id_, "timestamp": "", **layout, "metadata": layout.get("metadata") or {}}
            yield as_imported(from_agentscope(made, id=id_))
        except InvalidInput as error:
            counts.problem(number, error)


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _in_sql(url: str) -> Iterator[_Session]:
    try:
        # Only an import from a database needs SQLAlchemy.
        import sqlalchemy as sql  # noqa: PLC0415
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError  # noqa: PLC0415
    except ImportError as missing:
        raise MissingDependency('reading tables needs SQLAlchemy: pip install "memwell[sql]"') from missing
    try:
        place = sql.make_url(url)
        kind = place.get_backend_name()
        engine = sql.create_engine(place.set(drivername=_SYNC.get(kind, place.drivername)))
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigurationError(f"the URL names no database: {without_secrets(url)}") from error
    try:
        with engine.connect() as connection:
            there = set(sql.inspect(connection).get_table_names())
            if not set(_TABLES) <= there:
                raise NotFound(f"the database has no tables of AgentScope: {', '.join(_TABLES)}")
            names = [*_TABLES, *(there & {"message_summary"})]
            tables = {name: sql.Table(name, sql.MetaData(), autoload_with=connection) for name in names}
            session = tables["session"]
            for key, user in connection.execute(sql.select(session.c.id, session.c.user_id).order_by(session.c.id)):
                yield from _sql_sessions(sql, connection, tables, str(key), str(user))
    except OperationalError as error:
        raise BackendUnavailable(f"the database cannot be reached: {error}") from error
    finally:
        engine.dispose()


def _sql_sessions(sql: Any, connection: Any, tables: dict[str, Any], key: str, owner: str) -> Iterator[_Session]:
    """The memory of a session, or those of all users who have one of this name: AgentScope's table names the first."""
    message, mark, summary = tables["message"], tables["message_mark"], tables.get("message_summary")
    mine = message.c.session_id == key
    found: list[tuple[int, str, str, str]] = []
    for id_, msg, index in connection.execute(sql.select(message.c.id, message.c.msg, message.c.index).where(mine)):
        text = msg if isinstance(msg, str) else msgspec.json.encode(msg).decode()
        found.append((index, _field(text, "timestamp"), str(id_), text))
    # Two processes may give out one index.
    rows = {id_: text for _, _, id_, text in sorted(found)}
    marks: dict[str, list[str]] = {}
    joined = sql.select(mark.c.mark, mark.c.msg_id).join(message, message.c.id == mark.c.msg_id).where(mine)
    for name, id_ in connection.execute(joined):
        marks.setdefault(str(name), []).append(_own_id(rows[str(id_)]))
    said = None if summary is None else sql.select(summary.c.summary).where(summary.c.session_id == key)
    kept = None if said is None else connection.execute(said).scalar_one_or_none()
    of_users: dict[str, dict[str, str]] = {owner: {}}
    for id_, msg in rows.items():
        user = id_.removesuffix(f"-{key}-{_own_id(msg)}")
        of_users.setdefault(owner if user == id_ else user, {})[id_] = msg
    for user, their_rows in of_users.items():
        messages = [(_own_id(msg), msg) for msg in their_rows.values()]
        name = _session_name(key, user, their_rows)
        ids = {id_ for id_, _ in messages}
        theirs = {mark: [id_ for id_ in marked if id_ in ids] for mark, marked in marks.items()}
        yield _Session(user, name, messages, theirs, kept or "" if user == owner else "")


def _session_name(key: str, user: str, rows: dict[str, str]) -> str:
    """The name of a session. Where its key is a digest, the ids of its rows contain the name."""
    if key.startswith(_DIGESTED):
        for id_, msg in rows.items():
            if not id_.startswith(_DIGESTED):
                return id_.removeprefix(f"{user}-").removesuffix(f"-{_own_id(msg)}")
    return key


def _own_id(msg: str) -> str:
    return _field(msg, "id")


def _field(msg: str, name: str) -> str:
    """A field of a message; empty for what is no message, which the import reports."""
    try:
        value: object = msgspec.json.decode(msg)
    except msgspec.DecodeError:
        return ""
    held = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return held if isinstance(held, str) else ""


def _in_redis(url: str, key_prefix: str) -> Iterator[_Session]:
    with _redis(url) as client:
        begin = re.sub(r"([*?\[\]\\])", r"\\\1", key_prefix)
        for key in sorted(client.scan_iter(match=f"{begin}user_id:*:session:*:messages", count=1000)):
            base = key.removesuffix("messages")
            user, _, name = base.removeprefix(f"{key_prefix}user_id:").removesuffix(":").partition(":session:")
            ids = list(dict.fromkeys(client.lrange(key, 0, -1)))
            found = [(id_, client.get(f"{base}msg:{id_}")) for id_ in ids]
            marks = {mark: client.lrange(f"{base}mark:{mark}", 0, -1) for mark in client.smembers(f"{base}marks_index")}
            messages = [(id_, msg) for id_, msg in found if msg is not None]
            yield _Session(_unquoted(user), _unquoted(name), messages, marks, client.get(f"{base}summary") or "")


@contextmanager
def _redis(url: str) -> Generator[Any]:
    try:
        # Only an import from Redis needs its package.
        import redis  # noqa: PLC0415
    except ImportError as missing:
        raise MissingDependency(
            'reading keys of Redis needs the package redis: pip install "memwell[redis]"'
        ) from missing
    client: Any = redis.Redis.from_url(url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType]
    try:
        yield client
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise BackendUnavailable(f"the Redis server cannot be reached: {error}") from error
    finally:
        client.close()


def _unquoted(name: str) -> str:
    return name.replace("%3A", ":").replace("%25", "%")

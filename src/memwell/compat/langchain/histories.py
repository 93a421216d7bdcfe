"""Chat histories, in which a memory stores a conversation: in this process, a memwell store, a JSON file, Redis or SQL.

``conversation`` reads any chat history, also one of LangChain's, as a conversation of the core.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    from_core,
    get_buffer_string,
    kind_of,
    message_from_dict,
    message_from_json,
    message_to_dict,
    message_to_json,
    to_core,
)
from memwell.errors import Conflict, InvalidInput, Unsupported
from memwell.filters import id_begins_with
from memwell.history import History, HistoryReader
from memwell.history.reading import thread_keys
from memwell.history.writing import transaction_of
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, Page, Space, SpaceLike, Thread, paged
from memwell.storage.clients import redis_client, redis_errors, sql_engine, sql_errors, sqlalchemy
from memwell.storage.files import locked, replace_file
from memwell.storage.protocols import Backend, MessageLog, Place, ThreadInfo, Version
from memwell.storage.registry import open_backend, shared_backend
from memwell.tokens import TokenCounter
from memwell.transcript.langchain import apart, is_shown
from memwell.values import check_count, new_id, now, shown

if TYPE_CHECKING:
    import sqlalchemy as sa

_THREAD = "chat"


class BaseChatMessageHistory(ABC):
    """A conversation as a list of messages. A subclass gives ``messages``, ``clear`` and one of ``add_message`` and
    ``add_messages``; the async twins follow from those.
    """

    messages: list[BaseMessage]

    def add_user_message(self, message: Any) -> None:
        """Add what a person said: text, or a message."""
        self.add_message(HumanMessage(message) if isinstance(message, str | list) else message)

    def add_ai_message(self, message: Any) -> None:
        """Add what a model said: text, or a message."""
        self.add_message(AIMessage(message) if isinstance(message, str | list) else message)

    def add_message(self, message: Any) -> None:
        """Add one message. Raises ``NotImplementedError`` in a class that gives neither way of adding."""
        if type(self).add_messages is BaseChatMessageHistory.add_messages:
            raise NotImplementedError(
                "add_message is not implemented for this class. Please implement add_message or add_messages."
            )
        self.add_messages([message])

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order."""
        for message in messages:
            self.add_message(message)

    @abstractmethod
    def clear(self) -> None:
        """Remove all messages."""

    async def aget_messages(self) -> list[BaseMessage]:
        return await run_blocking(lambda: self.messages)

    aadd_messages = asyncify(add_messages)
    aclear = asyncify(clear)

    def __str__(self) -> str:
        return get_buffer_string(self.messages)

    def __bool__(self) -> bool:
        # An empty conversation is still a conversation.
        return True


class ThreadChatMessageHistory(BaseChatMessageHistory):
    """The messages of a memwell conversation, in any store.

    ``messages`` is a new list each time; assigning to it replaces the conversation. Raises what the store raises.
    """

    def __init__(self, history: History) -> None:
        self.history = history

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first. What another room wrote and is hidden from models is left out."""
        return [from_core(one) for message in self.history if is_shown(message) for one in apart(message)]

    @messages.setter
    def messages(self, messages: Iterable[Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        made = [to_core(one) for one in messages]
        with transaction_of(self.history):
            backend = self.history.backend
            if made and backend is not None and "transactions" not in backend.abilities:
                self._replace(backend, made)
            else:
                self.history.delete()
                self._add(made)

    def _replace(self, backend: Backend, messages: Sequence[Message]) -> None:
        """Replace the conversation in a store without transactions: a crash leaves too much and loses nothing."""
        info, (space, prefix) = self.history.info(), thread_keys(self.history.thread)
        self._add(messages)
        self.history.log.trim(self.history.thread, info.next if info else 0)
        scan = partial(backend.kv.scan, space, where=id_begins_with(prefix))
        for entry in list(paged(lambda cursor: scan(cursor=cursor))):
            backend.kv.delete(space, entry.key)

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none."""
        self._add([to_core(one) for one in messages])

    def clear(self) -> None:
        """Delete the conversation."""
        self.history.delete()

    def _add(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        try:
            self.history.add(*messages)
        except Conflict:
            # LangChain lets a message be added twice. The core needs one id for each; LangChain's is in the metadata.
            self.history.add(*(one.changed(id=new_id()) for one in messages))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.history.thread.id!r})"


class InMemoryChatMessageHistory(ThreadChatMessageHistory):
    """A conversation in memory, which lasts as long as the object."""

    def __init__(self, messages: Iterable[Any] | None = None) -> None:
        super().__init__(History(open_backend("memory:"), _THREAD))
        if messages is not None:
            self.add_messages(list(messages))

    def __eq__(self, other: object) -> bool:
        if type(self).__name__ != type(other).__name__:
            return NotImplemented
        return self.messages == cast(Any, other).messages

    __hash__ = None  # pyright: ignore[reportAssignmentType] - its messages change


ChatMessageHistory = InMemoryChatMessageHistory


class MemwellChatMessageHistory(ThreadChatMessageHistory):
    """A durable conversation, safe for several processes.

    ``url`` is a path or a store's URL; a process opens each store once, for all sessions. Raises what ``open_backend``
    raises.
    """

    def __init__(self, session_id: str, url: str = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        super().__init__(History(shared_backend(url), session_id, space=space))
        self.session_id = session_id


class FileChatMessageHistory(BaseChatMessageHistory):
    """The messages in the JSON file at ``file_path``, in LangChain's layout and UTF-8; it is made when it is missing.

    Every change replaces the whole file under a lock, so a reader or a crash finds the old file or the new one, and
    processes take turns. The lock is the file's name with ``.lock``. Raises ``InvalidInput`` naming the file when it is no
    chat history, and never writes to it then; raises ``OSError`` when it cannot be read or written.
    """

    def __init__(
        self, file_path: str | os.PathLike[str], *, encoding: str | None = None, ensure_ascii: bool = False
    ) -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding or "utf-8"
        self.ensure_ascii = ensure_ascii
        # A link stays a link: the file it names is replaced.
        self._path = Path(os.path.realpath(file_path))
        if not self._path.exists():
            self._change(lambda text, layouts: text or "[]")

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first, as a new list."""
        try:
            return [message_from_dict(one) for one in self._read()[1]]
        except InvalidInput as error:
            raise InvalidInput(f"{os.fspath(self.file_path)!r} holds something that is no message: {error}") from error

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none. Raises ``InvalidInput`` for one that is not plain data."""
        written = ", ".join(message_to_json(one, ensure_ascii=self.ensure_ascii) for one in messages)
        if written:
            self._change(lambda text, layouts: f"{text[:-1].rstrip()}{', ' if layouts else ''}{written}]")

    def clear(self) -> None:
        """Remove all messages: the file becomes ``[]``."""
        self._change(lambda text, layouts: "[]")

    def _change(self, change: Callable[[str, list[dict[str, Any]]], str]) -> None:
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            new = change(*self._read())
            # UTF-8 has no half of a pair of surrogates, and this escape of one is JSON's own.
            errors = "backslashreplace" if self.encoding == "utf-8" else "strict"
            try:
                data = new.encode(self.encoding, errors)
            except UnicodeEncodeError as error:
                raise InvalidInput(f"a message cannot be written in {self.encoding!r}: {error}") from error
            replace_file(self._path, data)

    def _read(self) -> tuple[str, list[dict[str, Any]]]:
        """The array as text and its elements."""
        try:
            return _array(self._path.read_bytes().decode(self.encoding))
        except FileNotFoundError:
            return "[]", []
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{os.fspath(self._path)!r} is no chat history, a JSON array of messages: {error}; it is left as it is"
            ) from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.fspath(self.file_path)!r})"


def _array(text: str) -> tuple[str, list[dict[str, Any]]]:
    # Some programs write a byte order mark. A blank file was made and not yet written to.
    text = text.removeprefix("\ufeff").strip() or "[]"
    items = json.loads(text)
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in cast("list[Any]", items)):
        raise ValueError("it is no array of objects")
    return text, cast("list[dict[str, Any]]", items)


# Under the keys and in the tables of LangChain's own classes


class RedisChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session in Redis, for ``ttl`` seconds after the last was added: by default a day, None for ever.

    The key is ``key_prefix`` and the session's id, its value the list of LangChain's own class, newest message first. It
    connects when it is first used. Raises ``BackendUnavailable`` when the server cannot be reached.
    """

    def __init__(
        self,
        session_id: str,
        url: str = "redis://localhost:6379/0",
        key_prefix: str = "message_store:",
        ttl: int | None = 60 * 60 * 24,
    ) -> None:
        self.redis_client = redis_client(url)
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
        with redis_errors():
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
        with redis_errors(), self.redis_client.pipeline(transaction=True) as together:
            together.lpush(self.key, *written)
            if self.ttl:
                together.expire(self.key, self.ttl)
            together.execute()

    def clear(self) -> None:
        """Remove all messages."""
        with redis_errors():
            self.redis_client.delete(self.key)


class SQLChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session in a table that LangChain's own class may share; the table is made when it is missing.

    ``connection`` is a URL or an engine of SQLAlchemy. A table that is made here has an index on the session, without which
    every read scans every row. Raises ``BackendUnavailable`` when the database cannot be reached.
    """

    _as_text = True
    """Whether a message is a text in the table, and not PostgreSQL's own JSON."""

    def __init__(
        self,
        session_id: str,
        connection_string: str | None = None,
        table_name: str = "message_store",
        session_id_field_name: str = "session_id",
        *,
        connection: sa.Engine | str | None = None,
        engine_args: dict[str, Any] | None = None,
    ) -> None:
        if connection_string and connection:
            # Programs written for LangChain expect an AssertionError here.
            raise AssertionError("connection_string and connection are mutually exclusive")
        sa = sqlalchemy()
        self.engine = sql_engine(connection or connection_string, engine_args or {})
        self.session_id = session_id
        self._session = sa.Column(session_id_field_name, sa.Text)
        self._id = sa.Column("id", sa.Integer, primary_key=True)
        kind = sa.Text if self._as_text else import_module("sqlalchemy.dialects.postgresql").JSONB
        self._message = sa.Column("message", kind, nullable=self._as_text)
        self._table = sa.Table(table_name, sa.MetaData(), self._id, self._session, self._message)
        # MySQL indexes no text without a length; this many characters of four bytes fit its shortest limit.
        prefix = {session_id_field_name: 191}
        sa.Index(f"ix_{table_name}_session", self._session, self._id, mysql_length=prefix)
        with sql_errors():
            self._table.create(self.engine, checkfirst=True)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first."""
        rows = self._table.select().where(self._session == self.session_id).order_by(self._id)
        with sql_errors(), self.engine.connect() as connected:
            found = connected.execute(rows).all()
        return [message_from_json(message, f"row {number}") for number, _, message in found]

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction. Raises ``InvalidInput`` for one that is not plain data."""
        written = map(message_to_json if self._as_text else message_to_dict, messages)
        rows = [{self._session.name: self.session_id, "message": one} for one in written]
        if rows:
            with sql_errors(), self.engine.begin() as connected:
                connected.execute(self._table.insert(), rows)

    def clear(self) -> None:
        """Delete all messages of the session."""
        with sql_errors(), self.engine.begin() as connected:
            connected.execute(self._table.delete().where(self._session == self.session_id))


class PostgresChatMessageHistory(SQLChatMessageHistory):
    """The messages of a session in PostgreSQL, in the table of LangChain's own class, whose messages are of the type JSONB.

    Needs SQLAlchemy and psycopg. Raises ``BackendUnavailable`` when the database cannot be reached.
    """

    _as_text = False

    def __init__(self, session_id: str, connection_string: str, table_name: str = "message_store") -> None:
        driver = connection_string.replace("postgresql://", "postgresql+psycopg://", 1)
        super().__init__(session_id, driver, table_name)


# Any chat history as a conversation


def conversation(chat_memory: Any, *, counter: TokenCounter | None = None) -> HistoryReader:
    """The conversation of a chat history: its own, or a read-only view of its messages, which is always current.

    In a view the number of a round is the index of its human message plus 1.
    Raises ``InvalidInput`` for an object that is no chat history.
    """
    history = getattr(chat_memory, "history", None)
    if isinstance(history, HistoryReader):
        return history
    if not hasattr(chat_memory, "messages"):
        raise InvalidInput(f"a chat history has 'messages', which {shown(chat_memory)} has not")
    return _ChatReader(ChatLog(chat_memory), _THREAD, counter=counter)


class _ChatReader(HistoryReader):
    """A read-only view of a chat history."""

    @property
    def tokens(self) -> int:
        """How many tokens the whole conversation has; all of it is read to count them."""
        return sum(map(self.counter.count_message, self))


class ChatLog(MessageLog):
    """The one thread of a chat history, read only."""

    def __init__(self, chat_memory: Any) -> None:
        self._memory = chat_memory
        self._made = now()

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        messages: Sequence[Any] = self._memory.messages
        start = 0 if after is None else max(0, after + 1)
        stop = len(messages) if before is None else min(before, len(messages))
        if last is not None:
            start = max(start, stop - check_count(last, "last"))
        if first is not None:
            stop = min(stop, start + check_count(first, "first"))
        round_ = _round_at(messages, start - 1)
        found: list[Message] = []
        for index, one in enumerate(messages[start : max(start, stop)], start):
            round_ = index + 1 if kind_of(one) == "human" else round_
            # The id is the place: a message without an id of its own must have the same one in every read.
            found.append(to_core(one).changed(id=f"{_THREAD}-{index}", index=index, round=round_, time=self._made))
        wanted = None if ids is None else set(ids)
        return [one for one in found if wanted is None or one.id in wanted]

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        """The one thread, once it has a message; its ``tokens`` are not counted."""
        messages: Sequence[Any] = self._memory.messages
        length = len(messages)
        if not length or cursor is not None or (ids is not None and _THREAD not in ids):
            return Page([], None)
        rounds = _round_at(messages, length - 1)
        info = ThreadInfo(Thread(space, _THREAD), 0, length, length, 0, rounds, self._made, self._made, {})
        return Page([info], None)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        return []

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        found = self.read(thread, after=after, first=limit)
        return [Place(one.index or 0, one.round or 0, one.id, one) for one in found]

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises ``Unsupported``."""
        raise Unsupported("this is a view of a chat history, to read; write through the chat history itself")

    append = edit = trim = delete = annotate = match = restore = _refuse


def _round_at(messages: Sequence[Any], index: int) -> int:
    """The round of a position: one more than that of the last human message up to it, 0 when there is none."""
    return next((at + 1 for at in range(min(index, len(messages) - 1), -1, -1) if kind_of(messages[at]) == "human"), 0)

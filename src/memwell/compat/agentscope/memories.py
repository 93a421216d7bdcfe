"""Memories of an agent's conversation: messages, marks on them, and a summary of compressed messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Self, TypeAlias, TypeVar, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary

from memwell._asyncify import run_blocking
from memwell.compat.agentscope.messages import (
    Msg,
    SeenAsTheirs,
    WrongType,
    check_message,
    from_core,
    messages_in,
    to_core,
)
from memwell.errors import Conflict, InvalidInput, Unsupported
from memwell.history import History
from memwell.history.reading import key_part, thread_keys
from memwell.history.writing import MessageMarks, every_place, places_at, stretches, transaction_of
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, Space, SpaceLike
from memwell.runtime.state import MissingState, StateModule
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.registry import Store, open_backend, shared_backend
from memwell.transcript.agentscope import SUMMARY, original_id
from memwell.values import check_id, check_text, new_id, shown

T = TypeVar("T")
_STATE = "_compressed_summary"
_AT_ONCE = 2000
Marked: TypeAlias = tuple[Msg, list[str]]
"""A message with its marks."""


class NoSuchPlace(InvalidInput, IndexError):
    """There is no message at this place. Nothing was removed."""


class MemoryBase(SeenAsTheirs, StateModule, ABC):
    """The memory of an agent. A class of your own gives the abstract methods.

    A message that is stored is a copy, and so is one that is read: changing either changes nothing in the memory.
    """

    _their_module = "agentscope.memory"

    _compressed_summary: str = ""

    def __init__(self) -> None:
        super().__init__()
        self.register_state(_STATE)

    async def update_compressed_summary(self, summary: str) -> None:
        """Set the summary of the compressed messages; the empty text removes it. Raises ``InvalidInput`` for no text."""
        self._compressed_summary = check_text(summary, "a summary")

    @abstractmethod
    async def add(self, memories: Msg | list[Msg] | None, marks: str | list[str] | None = None) -> None:
        """Add a message or several, each with these marks."""

    @abstractmethod
    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        """Remove the messages of these ids; returns how many there were."""

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        """Remove the messages with one of these marks; returns how many there were."""
        raise NotImplementedError(f"The delete_by_mark method is not implemented in {type(self).__name__} class.")

    @abstractmethod
    async def size(self) -> int:
        """How many messages there are."""

    @abstractmethod
    async def clear(self) -> None:
        """Remove all messages; the summary stays."""

    @abstractmethod
    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """The messages in order, those with one mark and without another when they are named, the summary first."""

    async def retrieve(self, *args: Any, **kwargs: Any) -> Any:
        """The messages that a query asks for."""
        raise NotImplementedError(f"The retrieve method is not implemented in {type(self).__name__} class.")

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Add, replace or remove a mark; returns how many messages were changed."""
        raise NotImplementedError(f"The update_messages_mark method is not implemented in {type(self).__name__} class.")


class Conversation:
    """A conversation with marks and a summary: the blocking half of every memory over a memwell store.

    Each change is one transaction where the store has transactions. Redis has none: there messages and marks are written
    one after the other, and no message and no mark is lost when several processes write.
    """

    def __init__(self, history: History) -> None:
        if not isinstance(cast(object, history), History):
            raise WrongType(f"a memory needs a History, not {shown(history)}")
        if history.backend is None:
            raise InvalidInput("a memory needs a History over a whole store, not over a bare MessageLog")
        self.history = history
        self.marks = MessageMarks(history)
        self._kv = history.backend.kv
        self._space, prefix = thread_keys(history.thread)
        self._summary = prefix + SUMMARY
        self._twins = f"{prefix}agentscope/twins/"

    async def run(self, call: Callable[[], T]) -> T:
        """Run a blocking call in a thread, or here if the store is in memory and never blocks."""
        return call() if isinstance(self.history.backend, MemoryBackend) else await run_blocking(call)

    # Reading

    def messages(self, mark: str | None = None, exclude_mark: str | None = None) -> list[Msg]:
        """The messages in order, those with a mark and without another when these are named.

        Messages that are hidden from models are left out.
        """
        is_whole = mark is None and exclude_mark is None
        found = iter(self.history) if is_whole else self._at(self._marked(mark, exclude_mark))
        return [from_core(one) for one in found if one.for_model]

    def size(self) -> int:
        """How many messages ``messages`` returns."""
        return sum(one.for_model for one in self.history)

    def _marked(self, mark: str | None, exclude_mark: str | None) -> int:
        info = self.history.info()
        if info is None:
            return 0
        wanted = every_place(info) if mark is None else self.marks.places(mark, info)
        return wanted if exclude_mark is None else wanted & ~self.marks.places(exclude_mark, info)

    def _at(self, places: int) -> Iterator[Message]:
        log, thread = self.history.log, self.history.thread
        for start, stop in stretches(places):
            for begin in range(start, stop, _AT_ONCE):
                found = log.read(thread, after=begin - 1, before=min(begin + _AT_ONCE, stop))
                yield from (one for one in found if places >> (one.index or 0) & 1)

    def with_marks(self) -> list[Marked]:
        """Every message with its marks."""
        marks = self.marks.all()
        return [
            (from_core(one), [mark for mark, places in marks.items() if places >> (one.index or 0) & 1])
            for one in self.history
            if one.for_model
        ]

    def summary(self) -> str:
        """The summary of the compressed messages; empty when there is none."""
        entry = self._kv.get(self._space, self._summary)
        return "" if entry is None else cast("dict[str, str]", entry.value)["text"]

    # Writing

    def add(self, messages: Sequence[Msg], marks: Sequence[str] = (), *, allow_duplicates: bool = False) -> None:
        """Add messages with marks. A message whose id is stored, or comes twice, is skipped or gets a second id."""
        if not messages or (not marks and self._added_at_once(messages)):
            return
        with transaction_of(self.history):
            fresh = list(messages) if allow_duplicates else self._fresh(messages)
            places = _indexes(self._stored(fresh, allow_duplicates))
            for mark in marks:
                self.marks.add(mark, places)

    def _added_at_once(self, messages: Sequence[Msg]) -> bool:
        """Try to add without reading first: the log refuses an id that is taken, which is rare."""
        if len({one.id for one in messages}) < len(messages):
            return False
        try:
            self.history.add(*map(to_core, messages))
        except Conflict:
            return False
        return True

    def _fresh(self, messages: Sequence[Msg]) -> list[Msg]:
        fresh: dict[str, Msg] = {}
        for one in messages:
            fresh.setdefault(one.id, one)
        for known in self._known(fresh):
            fresh.pop(original_id(known), None)
        return list(fresh.values())

    def _stored(self, messages: Sequence[Msg], allow_duplicates: bool) -> list[Message]:
        if not messages:
            return []
        try:
            with transaction_of(self.history):
                return self.history.add(*map(to_core, messages))
        except Conflict:
            # Without transactions another writer may have added some of them since they were looked for.
            left = messages if allow_duplicates else self._fresh(messages)
            if len(left) < len(messages):
                return self._stored(left, allow_duplicates)
            return [self._stored_alone(one) for one in messages]

    def _stored_alone(self, message: Msg) -> Message:
        """One message, with a second id if its own is used: the log uses none twice, not even that of a removed message."""
        try:
            with transaction_of(self.history):
                return self.history.add(to_core(message))[0]
        except Conflict:
            twins = [*self._twins_of(message.id), new_id()]
            self._kv.put(self._space, self._twins + key_part(message.id), {"ids": twins})
            return self.history.add(to_core(message, id=twins[-1]))[0]

    def _twins_of(self, id_: str) -> list[str]:
        entry = self._kv.get(self._space, self._twins + key_part(id_))
        return [] if entry is None else cast("dict[str, list[str]]", entry.value)["ids"]

    def _known(self, ids: Iterable[str]) -> list[Message]:
        """The stored messages of these ids, duplicates with a second id included."""
        wanted = [each for id_ in ids for each in (id_, *self._twins_of(id_))]
        return self.history.log.read(self.history.thread, ids=wanted)

    def known(self, ids: Iterable[str]) -> set[str]:
        """The ids of these that stored messages have."""
        return set(map(original_id, self._known(ids)))

    def delete(self, ids: Iterable[str]) -> int:
        """Remove the messages of these ids with their marks; returns how many there were."""
        with transaction_of(self.history):
            return self._remove(self._known(set(ids)))

    def delete_at(self, places: object) -> int:
        """Remove the messages at one place or several, counted from 0; returns how many.

        Raises ``WrongType`` for anything but whole numbers, and ``NoSuchPlace`` for a place without a message.
        """
        several = cast("Iterable[Any]", places) if isinstance(places, Iterable) else [places]
        wanted: list[Any] = list(dict.fromkeys(several))
        if not all(type(one) is int for one in wanted):
            raise WrongType(f"indices must be a whole number or several, not {shown(cast(object, places))}")
        with transaction_of(self.history):
            kept = [one for one in self.history if one.for_model]
            wrong = [place for place in wanted if not 0 <= place < len(kept)]
            if wrong:
                raise NoSuchPlace(f"there is no message at {wrong[0]}; there are {len(kept)}")
            return self._remove([kept[place] for place in cast("list[int]", wanted)])

    def delete_by_mark(self, marks: Iterable[str]) -> int:
        """Remove the messages with one of these marks; returns how many there were."""
        with transaction_of(self.history):
            places = 0
            for mark in marks:
                places |= self._marked(mark, None)
            return self._remove(list(self._at(places)))

    def _remove(self, found: Sequence[Message]) -> int:
        if not found:
            return 0
        self.history.remove(*(one.index or 0 for one in found))
        gone = _indexes(found)
        for mark, marked in self.marks.all().items():
            self.marks.remove(mark, marked & gone)
        for one in found:
            if (id_ := original_id(one)) != one.id:
                left = [twin for twin in self._twins_of(id_) if twin != one.id]
                self._kv.put(self._space, self._twins + key_part(id_), {"ids": left})
        return len(found)

    def change_marks(self, new_mark: str | None, old_mark: str | None, ids: Iterable[str] | None) -> int:
        """Add, replace or remove a mark; returns how many messages have other marks now than before."""
        if new_mark == old_mark:
            return 0
        with transaction_of(self.history):
            info = self.history.info()
            if info is None:
                return 0
            chosen = every_place(info) if ids is None else _indexes(self._known(set(ids)))
            if old_mark is not None:
                chosen &= self.marks.places(old_mark, info)
            changed = _indexes(self._at(chosen))
            if old_mark is not None:
                self.marks.remove(old_mark, changed)
            elif new_mark is not None:
                changed &= ~self.marks.places(new_mark, info)
            if new_mark is not None:
                self.marks.add(new_mark, changed)
            return changed.bit_count()

    def set_summary(self, text: str) -> None:
        """Set the summary; the empty text removes it."""
        if text:
            self._kv.put(self._space, self._summary, {"text": text})
        else:
            self._kv.delete(self._space, self._summary)

    def replace(self, content: Iterable[Marked], summary: str) -> None:
        """Replace all messages, marks and the summary."""
        with transaction_of(self.history):
            self.history.delete()
            self.set_summary(summary)
            self.take_in(content, None)

    def take_in(self, content: Iterable[Marked], summary: str | None) -> None:
        """Add the messages whose ids are not stored, with their marks, and set the summary unless it is None."""
        with transaction_of(self.history):
            # Into an empty conversation duplicates are added too.
            duplicates = not len(self.history)
            for marks, pairs in groupby(content, key=lambda pair: pair[1]):
                self.add([message for message, _ in pairs], marks, allow_duplicates=duplicates)
            if summary is not None:
                self.set_summary(summary)


def _indexes(messages: Iterable[Message]) -> int:
    return places_at(one.index or 0 for one in messages)


class ThreadMemory(MemoryBase):
    """A memory over a ``History``: every program that reads the conversation sees the messages.

    Raises ``InvalidInput`` for an unknown role or block and for data that is not plain, and ``WrongType``, which is also a
    ``TypeError``, for anything but messages and for marks that are not text.
    """

    def __init__(self, history: History) -> None:
        self._conversation = Conversation(history)
        super().__init__()

    @property
    def history(self) -> History:
        """The conversation itself."""
        return self._conversation.history

    @property
    def _compressed_summary(self) -> str:
        return self._conversation.summary()

    @_compressed_summary.setter
    def _compressed_summary(self, summary: str) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._conversation.set_summary(check_text(summary, "a summary"))

    async def update_compressed_summary(self, summary: str) -> None:
        check_text(summary, "a summary")
        await self._conversation.run(lambda: self._conversation.set_summary(summary))

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        *,
        skip_duplicated: bool = True,
    ) -> None:
        """Add a message or several, all or none; None adds nothing.

        A message whose id is there already, or came earlier in the list, is skipped, unless ``allow_duplicates`` is set or
        ``skip_duplicated``, its other name, is off; then it is there twice.
        """
        messages, wanted = messages_in(memories), marks_in(marks)
        twice = allow_duplicates or not skip_duplicated
        await self._conversation.run(lambda: self._conversation.add(messages, wanted, allow_duplicates=twice))

    async def delete(self, msg_ids: list[str] | Iterable[int] | int = (), **kwargs: Any) -> int:
        """Remove the messages of these ids, or at these places, also named ``index``; returns how many there were.

        The conversation can restore them. Raises ``NoSuchPlace`` (an ``IndexError``) for a place without a message.
        """
        given: Any = kwargs.get("index", msg_ids)
        if is_ids(given):
            return await self._conversation.run(lambda: self._conversation.delete(given))
        return await self._conversation.run(lambda: self._conversation.delete_at(given))

    async def retrieve(self, query: Msg | str, limit: int = 5, **kwargs: Any) -> list[Msg]:
        """The messages that share words with a text, or with the text of a message, best first."""
        text = query if isinstance(query, str) else check_message(query).get_text_content() or ""
        found = await self._conversation.run(lambda: self.history.search(text, limit=limit))
        return [from_core(one) for one, _ in found if one.for_model]

    async def delete_by_mark(self, mark: str | list[str], *args: Any, **kwargs: Any) -> int:
        wanted = marks_in(mark)
        return await self._conversation.run(lambda: self._conversation.delete_by_mark(wanted))

    async def size(self) -> int:
        """How many messages there are; those that are hidden from models do not count."""
        return await self._conversation.run(self._conversation.size)

    async def clear(self) -> None:
        await self._conversation.run(lambda: self._conversation.replace([], self._conversation.summary()))

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """The messages in order, those with ``mark`` and without ``exclude_mark`` when they are named.

        No other message is read. The summary, if there is one, comes first as a message of the user, unless
        ``prepend_summary`` is off.
        """
        mark, exclude = mark_in(mark, "mark"), mark_in(exclude_mark, "exclude_mark")
        found = await self._conversation.run(lambda: self._conversation.messages(mark, exclude))
        return with_summary(found, await self._conversation.run(self._conversation.summary) if prepend_summary else "")

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Put ``new_mark`` on messages, in place of ``old_mark`` when that is named; without a new one remove the old.

        ``msg_ids`` names the messages; otherwise they are all, or all with ``old_mark``. Returns how many messages have
        other marks than before.
        """
        new, old = mark_in(new_mark, "new_mark"), mark_in(old_mark, "old_mark")
        wanted = None if msg_ids is None else _strings_in(msg_ids, "msg_ids")
        return await self._conversation.run(lambda: self._conversation.change_marks(new, old, wanted))


class InMemoryMemory(ThreadMemory):
    """A memory that lasts as long as the object."""

    def __init__(self) -> None:
        super().__init__(History(open_backend("memory:"), "memory"))

    @property
    def content(self) -> list[Marked]:
        """The messages with their marks, as copies."""
        return self._conversation.with_marks()

    def state_dict(self) -> dict[str, Any]:
        """The messages with their marks, and the summary."""
        pairs = [[message.to_dict(), marks] for message, marks in self.content]
        return {**super().state_dict(), "content": pairs}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Replace everything by a state, also one of the layout before 1.0.12, a list of messages without marks.

        Raises ``MissingState`` (a ``KeyError``) when there are no messages in it, unless ``strict`` is off, and
        ``InvalidInput`` for an invalid state. Then nothing changes.
        """
        name = type(self).__name__
        summary, content = _state_in(state_dict, name)
        if content is None and strict:
            raise MissingState(f"The state_dict does not contain 'content' keys required for {name}.")
        self._conversation.replace(content or [], summary or "")


class MemwellMemory(ThreadMemory):
    """A memory in a file or any other memwell store. It lasts, and several processes may use it.

    ``store`` is a path, a URL or an open backend; a process opens each store once. ``session_id`` names the conversation
    and ``user_id`` its space: ``memwell.open(url, space=user_id)`` has it as ``thread(session_id)``. Raises what
    ``open_backend`` raises.
    """

    def __init__(
        self, store: Store = "memwell.db", session_id: str = "default_session", user_id: SpaceLike | None = None
    ) -> None:
        space = DEFAULT_SPACE if user_id is None else user_id
        super().__init__(History(shared_backend(store), session_id, space=space))
        self.session_id = session_id
        self.user_id = user_id

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Set the summary of a state. The messages are in the store; those that only the state has are added at the end.

        Raises ``MissingState`` (a ``KeyError``) when it has neither a summary nor messages, unless ``strict`` is off.
        """
        summary, content = _state_in(state_dict, type(self).__name__)
        if strict and summary is None and content is None:
            raise MissingState(f"the state of {type(self).__name__} has neither {_STATE!r} nor 'content'")
        self._conversation.take_in(content or [], summary)


class _DatabaseMemory(MemwellMemory):
    """The base of the two classes for databases: AgentScope's order of arguments, and ``async with``."""

    async def add(  # pyright: ignore[reportIncompatibleMethodOverride] - AgentScope's classes differ here too
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        skip_duplicated: bool = True,
        *,
        allow_duplicates: bool = False,
    ) -> None:
        """As ``MemwellMemory.add``, with ``skip_duplicated`` in third place."""
        await super().add(memories, marks, allow_duplicates, skip_duplicated=skip_duplicated)

    async def close(self, **kwargs: Any) -> None:
        """Do nothing: the process shares the store and closes it at its end."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class RedisMemory(_DatabaseMemory):
    """The memory of a session in Redis, as a memwell conversation: ``redis://host:port/db``, space ``user_id``.

    ``key_prefix`` is one more level of the space. A ``connection_pool`` says where the server is. Of further options
    ``username`` and ``ssl`` are used. ``key_ttl`` raises ``Unsupported``, because conversations do not expire.
    """

    def __init__(
        self,
        session_id: str = "default_session",
        user_id: str = "default_user",
        host: str = "localhost",
        port: int = 6379,
        db: int = 0,
        password: str | None = None,
        connection_pool: Any = None,
        key_prefix: str = "",
        key_ttl: int | None = None,
        **kwargs: Any,
    ) -> None:
        if key_ttl is not None:
            raise Unsupported(
                "conversations in Redis do not expire: leave key_ttl out, and clear() those that are over"
            )
        known = {"host": host, "port": port, "db": db, "password": password, **kwargs}
        user = check_id(user_id, "a user's id")
        space = Space(key_prefix.strip(":"), user) if key_prefix.strip(":") else Space(user)
        super().__init__(redis_url(known, connection_pool), session_id, space)
        self.user_id, self.key_prefix = user_id, key_prefix


def redis_url(known: Mapping[str, Any], connection_pool: Any = None) -> str:
    """The URL of a server, from the arguments of a client of Redis."""
    known = {**known, **getattr(connection_pool, "connection_kwargs", {})}
    login = f"{quote(known.get('username') or '', safe='')}:{quote(known.get('password') or '', safe='')}@"
    place = f"[{known['host']}]" if ":" in known["host"] else known["host"]
    scheme = "rediss" if known.get("ssl") else "redis"
    return f"{scheme}://{login if login != ':@' else ''}{place}:{known['port']}/{known['db']}"


class AsyncSQLAlchemyMemory(_DatabaseMemory):
    """The memory of a session in the database of an async engine or session of SQLAlchemy, as a memwell conversation.

    For PostgreSQL it is in the same database, in the schema ``memwell``. For SQLite it is in a file of its own next to
    the database, with ``.memwell`` behind the name; for a database in memory it lasts as long as the engine. Raises
    ``InvalidInput`` (a ``ValueError``) for another database and for anything but an engine. ``memwell import --format
    agentscope`` reads the tables that AgentScope wrote.
    """

    def __init__(self, engine_or_session: Any, session_id: str | None = None, user_id: str | None = None) -> None:
        user = check_id(user_id or "default_user", "a user's id")
        super().__init__(_store_of(engine_or_session), session_id or "default_session", Space(user))
        self.user_id = user


_in_memory: WeakKeyDictionary[Any, Backend] = WeakKeyDictionary()


def _store_of(engine_or_session: Any) -> Store:
    engine = getattr(engine_or_session, "bind", engine_or_session)
    url = getattr(engine, "url", None)
    if url is None or not hasattr(engine, "sync_engine"):
        raise InvalidInput(
            "The 'engine_or_session' parameter must be an instance of sqlalchemy.ext.asyncio.AsyncEngine."
        )
    kind = url.get_backend_name()
    if kind == "postgresql":
        return url.set(drivername="postgresql").render_as_string(hide_password=False)
    if kind != "sqlite":
        raise InvalidInput(f"memories are kept in PostgreSQL or SQLite, not in {kind}; MemwellMemory names a store")
    if url.database in (None, "", ":memory:"):
        return _in_memory.setdefault(engine.sync_engine, open_backend("memory:"))
    return f"{url.database}.memwell"


def _state_in(value: object, owner: str) -> tuple[str | None, list[Marked] | None]:
    """The summary and the content of a state of a memory of class ``owner``, None for what it lacks.

    Raises ``InvalidInput`` for an invalid state of this or the older layout.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the state of {owner} must be a mapping, not {shown(value)}")
    state = cast("Mapping[str, Any]", value)
    summary = check_text(state[_STATE], "a summary") if _STATE in state else None
    content = state.get("content")
    if content is None:
        return summary, None
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"the content of a state of {owner} must be a list, not {shown(content)}")
    return summary, [_pair(item, owner) for item in cast("Sequence[object]", content)]


def _pair(item: object, owner: str) -> Marked:
    if isinstance(item, dict):
        return Msg.from_dict(cast("dict[str, Any]", item)), []
    if not isinstance(item, list | tuple) or len(cast("list[Any]", item)) != 2:
        raise InvalidInput(f"Invalid item format in state_dict for {owner}: {shown(cast(object, item))}")
    message, marks = cast("list[Any]", item)
    return Msg.from_dict(message), marks_in([*cast("Sequence[Any]", marks)] if isinstance(marks, tuple) else marks)


# Arguments of the methods of every memory


def marks_in(marks: object) -> list[str]:
    """The marks of one, several or None, each once. Raises ``WrongType`` for anything else."""
    given = _strings_in([] if marks is None else [marks] if isinstance(marks, str) else marks, "marks")
    return list(dict.fromkeys(_plain(one) for one in given))


def mark_in(mark: object, what: str) -> str | None:
    """One mark or None. Raises ``WrongType`` for anything else."""
    if mark is not None and not isinstance(mark, str):
        raise WrongType(f"The {what} should be a string or None, but got {type(mark)}.")
    return None if mark is None else _plain(mark)


def _plain(mark: str) -> str:
    # AgentScope's own marks are members of an enumeration of texts.
    return str.__str__(check_text(mark, "a mark"))


def is_ids(value: object) -> bool:
    """Whether it is a list of ids, and not places."""
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[object]", value))


def _strings_in(value: object, what: str) -> list[str]:
    if not is_ids(value):
        raise WrongType(f"{what} must be a list of strings, not {shown(value)}")
    return cast("list[str]", value)


def with_summary(messages: list[Msg], summary: str) -> list[Msg]:
    """The messages, with the summary in front of them when there is one."""
    return [Msg("user", summary, "user"), *messages] if summary else messages

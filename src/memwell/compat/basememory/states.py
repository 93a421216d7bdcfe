"""What is known of the people in a chat: who is there, who types, who has read how far, who belongs to the group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import id_begins_with
from memwell.history.reading import key_part, thread_keys
from memwell.records import Thread, paged
from memwell.storage.protocols import Backend
from memwell.values import shown


class UserState(msgspec.Struct, frozen=True):
    """One person in a chat at one moment."""

    user: str
    online: bool
    last_seen: datetime | None
    unread: int
    last_read: int | None
    """The position of the last message that was read, or None."""
    typing: bool
    member: bool


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a person. Times are seconds since 1970."""

    user: str
    read: int = 0
    """The place from which on messages are unread."""
    seen: float | None = None
    online_until: float = 0.0
    member: bool | None = None
    """None for somebody who neither joined nor left."""


class Rows(Protocol):
    """Where rows are kept."""

    def get(self, user: str) -> Row | None:
        """A person's row."""
        ...

    def put(self, row: Row) -> None:
        """Keep a row in the place of the person's last."""
        ...

    def users(self) -> list[str]:
        """Everybody there is a row of."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Whatever is done inside is done as one."""
        ...


class StoredRows:
    """Rows beside a conversation in a store: they go when it is deleted."""

    def __init__(self, backend: Backend, thread: Thread) -> None:
        self._backend = backend
        self._space, beside = thread_keys(thread)
        self._prefix = f"{beside}basememory/user/"

    def get(self, user: str) -> Row | None:
        """A person's row."""
        entry = self._backend.kv.get(self._space, self._prefix + key_part(user))
        return None if entry is None else msgspec.convert(entry.value, Row)

    def put(self, row: Row) -> None:
        """Keep a row in the place of the person's last."""
        self._backend.kv.put(self._space, self._prefix + key_part(row.user), msgspec.to_builtins(row))

    def users(self) -> list[str]:
        """Everybody there is a row of."""
        where = id_begins_with(self._prefix)
        found = paged(lambda cursor: self._backend.kv.scan(self._space, where=where, cursor=cursor))
        return sorted(cast("dict[str, str]", entry.value)["user"] for entry in found)

    def together(self) -> AbstractContextManager[None]:
        """A transaction of the store."""
        return self._backend.transaction()


class GivenRows:
    """Rows in a storage of the user's, by name: dicts of plain data that it may keep as it likes."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._users = (
            {str(key) for key in cast("Mapping[Any, Any]", storage)} if isinstance(storage, Mapping) else set[str]()
        )

    def get(self, user: str) -> Row | None:
        """A person's row."""
        try:
            value = self._storage[user]
        except LookupError:
            return None
        try:
            return msgspec.convert(value, Row) if isinstance(value, dict) and "user" in value else None
        except msgspec.ValidationError as error:
            raise InvalidInput(f"the state of {shown(user)} is no row of ours: {error}") from error

    def put(self, row: Row) -> None:
        """Keep a row in the place of the person's last."""
        self._storage[row.user] = msgspec.to_builtins(row)
        self._users.add(row.user)

    def users(self) -> list[str]:
        """Everybody there is a row of, as far as we put it."""
        return sorted(self._users)

    @contextmanager
    def together(self) -> Generator[None]:
        """A lock: other processes have storages of their own."""
        with self._lock:
            yield


class Typing:
    """Who is typing, until a time; seen by every process, and gone when it is over or the chat is closed."""

    def __init__(self, backend: Backend, thread: Thread) -> None:
        self._kv = backend.kv
        self._space, beside = thread_keys(thread)
        self._prefix = f"{beside}basememory/typing/"
        self._ours: set[str] = set()

    def start(self, user: str, now: float, seconds: float) -> None:
        """Somebody types for the next seconds."""
        self._ours.add(user)
        # The store sweeps it away a little later than it is over, whatever the two clocks say.
        self._kv.put(
            self._space, self._prefix + key_part(user), {"user": user, "until": now + seconds}, ttl=seconds + 60
        )

    def stop(self, user: str) -> None:
        """Somebody types no longer."""
        self._ours.discard(user)
        self._kv.delete(self._space, self._prefix + key_part(user))

    def sent(self, user: str) -> None:
        """Somebody has sent what they typed here."""
        if user in self._ours:
            self.stop(user)

    def users(self, now: float) -> list[str]:
        """Everybody who is typing now."""
        where = id_begins_with(self._prefix)
        entries = paged(lambda cursor: self._kv.scan(self._space, where=where, cursor=cursor))
        found = (cast("dict[str, Any]", entry.value) for entry in entries)
        return sorted(one["user"] for one in found if one["until"] > now)

    def close(self) -> None:
        """Stop whoever started to type here."""
        for user in list(self._ours):
            self.stop(user)


class ChatState(Mapping[str, UserState]):
    """The people of a chat by name, each as they are at the moment of asking."""

    def __init__(self, state_of: Callable[[str], UserState], users: Callable[[], list[str]]) -> None:
        self._state_of = state_of
        self._users = users

    def __getitem__(self, user: str) -> UserState:
        if user not in self._users():
            raise KeyError(user)
        return self._state_of(user)

    def __iter__(self) -> Iterator[str]:
        return iter(self._users())

    def __len__(self) -> int:
        return len(self._users())

    def __bool__(self) -> bool:
        return True


def moved_up(rows: Rows, dropped: Sequence[int]) -> None:
    """Move everybody's mark with the messages that were read, when those at some places are gone."""
    for row in filter(None, map(rows.get, rows.users())):
        gone = sum(place < row.read for place in dropped)
        if gone:
            rows.put(msgspec.structs.replace(row, read=row.read - gone))


def moment(seconds: float | None) -> datetime | None:
    """A time in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


__all__ = ["ChatState", "GivenRows", "Row", "Rows", "StoredRows", "Typing", "UserState", "moment", "moved_up"]

"""``BaseMemory``, a container of storages by name, and ``BaseChatMessageMemory``, the messages and people of a chat.

A message of a chat has a *position*, from 0 without a gap, and a *place*, to which a reader's mark points. In a stored
conversation the place is the message's index and never changes; in a plain storage it is the position.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import islice
from types import NoneType
from typing import Any, ClassVar, SupportsIndex, TypeVar, cast

import msgspec
from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.compat.basememory.optimizing import (
    DEFAULT,
    OptimizationReport,
    Shelf,
    Step,
    Strategy,
    step_of,
    total_bytes,
)
from memwell.compat.basememory.storages import (
    ListStorage,
    Storage,
    add_to,
    check_storage,
    has_method,
    items_of,
    with_attribute,
)
from memwell.errors import BackendError, Conflict, InvalidInput, NotFound, Unsupported
from memwell.filters import id_begins_with
from memwell.history import History
from memwell.history.reading import key_part, thread_keys
from memwell.history.writing import transaction_of
from memwell.messages import Audio, Image, Media, Message, Part, Role, Text, Video, encode_message, human, message
from memwell.records import DEFAULT_SPACE, SpaceLike, paged
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.storage.registry import Store, open_backend, shared_backend
from memwell.transcript.text import storable
from memwell.values import as_utc, check_id, check_json, check_text, check_type, new_id, now, shown

_ARGUMENTS = frozenset({"data", "items", "store", "space", "thread"})


class NoSuchStorage(NotFound, KeyError):
    """A memory has no storage of a name."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f"there is no storage {name!r}; there are: {', '.join(names)}")

    __str__ = Exception.__str__


class BaseMemory(Closing):
    """A memory over storages: ``data``, and any others by name. ``memory["messages"]`` and ``memory.messages`` are one.

    ``data`` is the first storage given, or a ``ListStorage``. Iteration goes through ``items``, or through ``data`` without
    them. A number or a slice in brackets reads ``data``. Raises ``InvalidInput`` for what is no
    storage, and ``Conflict`` for a name that is reserved.
    """

    def __init__(
        self,
        data: Storage | None = None,
        items: Iterable[Any] | None = None,
        **storages: Any,
    ) -> None:
        self._lock = threading.RLock()
        self._is_closed = False
        self._storages: dict[str, Storage] = {}
        if items is not None and not (has_method(items, "__iter__") or has_method(items, "__getitem__")):
            raise InvalidInput(f"items must be something to iterate over, not {shown(items)}")
        self._items = items
        given = self._checked(storages)
        if data is not None:
            self._data = with_attribute(check_storage(data, "data"), "data")
        elif given:
            self._data = next(iter(given.values()))
        else:
            self._data = ListStorage()
        main = {} if any(self._data is one for one in given.values()) else {"data": self._data}
        self._storages = main | given

    def _checked(self, storages: dict[str, Any]) -> dict[str, Storage]:
        for name, storage in storages.items():
            if name in self._storages:
                raise Conflict(f"the memory has a storage {name!r} already")
            if name in _ARGUMENTS or name.startswith("_") or hasattr(type(self), name):
                raise Conflict(f"{name!r} is reserved and cannot name a storage")
            check_storage(storage, name)
        return {name: with_attribute(storage, name) for name, storage in storages.items()}

    def expand(self, **storages: Any) -> None:
        """Add storages at run time by name, all or none.

        Raises ``Conflict`` for a name that is taken or reserved, and ``InvalidInput`` for what is no storage.
        """
        self._check_open()
        with self._lock:
            self._storages = {**self._storages, **self._checked(storages)}

    @property
    def data(self) -> Any:
        """The main storage."""
        return self._data

    @property
    def items(self) -> Iterable[Any]:
        """What iteration goes through: the items given, or those of ``data``."""
        return items_of(self._data) if self._items is None else self._items

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all storages."""
        return tuple(self._storages)

    def __getitem__(self, name: str | int | slice) -> Any:
        if not isinstance(name, str):
            return self._data[name]
        if name == "data":
            return self._data
        if name not in self._storages:
            raise NoSuchStorage(name, self.names)
        return self._storages[name]

    def __getattr__(self, name: str) -> Any:
        storages: dict[str, Storage] = self.__dict__.get("_storages", {})
        if name not in storages:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return storages[name]

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        # An empty memory is still a memory.
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.names)})"

    def add_message(self, message: Any) -> int | None:
        """Add a message to the storage ``messages``, by its ``add_message`` or ``append``.

        Raises ``Unsupported`` when there is no such storage, or when nothing can be added to it.
        """
        self._check_open()
        with self._lock:
            if "messages" not in self._storages:
                raise Unsupported("the memory has no storage for messages: give one, or expand(messages=…)")
            add_to(self._storages["messages"], "messages", message)

    def optimize(self, *strategies: Strategy, only: Iterable[str] | None = None) -> OptimizationReport:
        """Apply strategies to every storage, or to those named by ``only``, and report what they did.

        Without strategies equal items are shared and items compressed, and nothing is lost. A storage that lacks what a
        strategy needs is skipped, and the report says why. Raises ``InvalidInput`` for what is no strategy and ``NotFound``
        for a name without a storage, before anything is done.
        """
        self._check_open()
        chosen = strategies or DEFAULT
        for strategy in chosen:
            if isinstance(strategy, type) or not callable(getattr(strategy, "apply", None)):
                raise InvalidInput(f"a strategy has a method apply(shelf); {shown(strategy)} has none")
        with self._lock:
            names = self._optimizable() if only is None else [only] if isinstance(only, str) else only
            shelves = [self._shelf(name, self[name]) for name in names]
            before = total_bytes(shelves)
            steps = [step for shelf in shelves for step in self._steps(shelf, chosen)]
            return OptimizationReport(bytes_before=before, bytes_after=total_bytes(shelves), steps=tuple(steps))

    def _optimizable(self) -> tuple[str, ...]:
        return self.names

    def _shelf(self, name: str, storage: Any) -> Shelf:
        return Shelf(name, storage)

    def _steps(self, shelf: Shelf, strategies: Iterable[Strategy]) -> Iterator[Step]:
        size = shelf.bytes()
        for strategy in strategies:
            step = step_of(shelf, strategy, size)
            if shelf.dropped:
                self._dropped(shelf)
                shelf.dropped = []
            size = step.bytes_after
            yield step

    def _dropped(self, shelf: Shelf) -> None:
        """Called after a strategy dropped items of a storage, to adjust positions that refer to it."""

    def close(self) -> None:
        """Close for writing: every later write raises ``BackendError``. A store named by its path stays open."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise BackendError("the memory is closed and read-only; open another one over the same storage to write")


# Messages of a chat: text, images, audio, video and notices, and how messages of each class are stored


MARK = "basememory"
"""The key of a stored message's metadata that holds the rest of a chat message."""

Self = TypeVar("Self", bound="ChatMessage")

_SENDERS = ("sender", "user", "user_id", "from", "name")
_TEXTS = ("content", "text", "message", "caption")
_ROLES = {"assistant": Role.AI, "ai": Role.AI, "system": Role.SYSTEM}
_MEDIA = {"image": Image, "audio": Audio, "video": Video}


def check_position(index: object) -> int:
    """The position of a message as a plain number. Raises ``InvalidInput`` for what is no whole number."""
    if isinstance(index, bool) or not isinstance(index, SupportsIndex):
        raise InvalidInput(f"a position is a whole number, not {shown(index)}")
    return operator.index(index)


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The base of chat messages: a sender, an id and a time. Derive further kinds from it or from one below.

    Each raises ``InvalidInput`` for values of another type than it declares.
    """

    kind: ClassVar[str] = "chat"
    role: ClassVar[Role] = Role.HUMAN

    sender: str | None = None
    id: str = msgspec.field(default_factory=new_id)
    time: datetime = msgspec.field(default_factory=now)

    def __post_init__(self) -> None:
        if self.sender is not None:
            check_text(self.sender, "a sender")

    def parts(self) -> tuple[Part, ...]:
        """The parts of the stored message, which other programs read."""
        return ()

    def to_core(self) -> Message:
        """The message as it is stored."""
        mark = {"kind": self.kind, **self.extras()}
        return message(self.role, self.parts(), name=self.sender, id=self.id, time=self.time, metadata={MARK: mark})

    def extras(self) -> dict[str, Any]:
        """Fields that a stored message has no place for, as plain JSON data."""
        return {}

    @classmethod
    def from_core(cls: type[Self], stored: Message) -> Self:
        """The message that ``to_core`` made."""
        return cls(sender=stored.name, id=stored.id, time=stored.time, **cls.fields_from(stored))

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """The fields of this kind, read from a stored message."""
        return {}


class TextMessage(ChatMessage, frozen=True):
    """Text, which may be given by position: ``TextMessage("hi")``."""

    kind: ClassVar[str] = "text"
    text: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.text, "the text of a message")

    def parts(self) -> tuple[Part, ...]:
        return (Text(self.text),) if self.text else ()

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        return {"text": stored.text}


class SystemMessage(TextMessage, frozen=True):
    """A notice of the chat itself, such as that a person joined."""

    kind: ClassVar[str] = "system"
    role: ClassVar[Role] = Role.SYSTEM


class MediaMessage(ChatMessage, frozen=True, kw_only=True):
    """An image, audio or video by its address or its bytes, with a text."""

    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Image

    url: str | None = None
    data: bytes | None = None
    media_type: str | None = None
    text: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.text, "the text of a message")
        if self.url is not None:
            check_text(self.url, "an address")
        check_type(self.data, (bytes, NoneType), "the bytes of a medium must be bytes")

    def parts(self) -> tuple[Part, ...]:
        return _with_words(self.text, self.part(url=self.url, data=self.data, media_type=self.media_type))

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        found, words = _medium_of(stored), _words_of(stored)
        if found is None:
            return {"text": words}
        return {"url": found.url, "data": found.data, "media_type": found.media_type, "text": words}


def _with_words(words: str, *media: Media) -> tuple[Part, ...]:
    """The parts of a message: its words in a part of their own, which every program shows, and its medium."""
    parts: tuple[Any, ...] = (Text(words), *media) if words else media
    return parts


def _medium_of(stored: Message) -> Media | None:
    return next((part for part in stored.parts if isinstance(part, Media)), None)


def _words_of(stored: Message) -> str:
    """The words of a stored message. Once they were stored as the text of its medium."""
    medium = _medium_of(stored)
    return stored.text or ("" if medium is None else medium.text)


class ImageMessage(MediaMessage, frozen=True, kw_only=True):
    """An image."""

    kind: ClassVar[str] = "image"


class AudioMessage(MediaMessage, frozen=True, kw_only=True):
    """A voice message."""

    kind: ClassVar[str] = "audio"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Audio


class VideoMessage(MediaMessage, frozen=True, kw_only=True):
    """A video."""

    kind: ClassVar[str] = "video"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Video


_KINDS = (TextMessage, SystemMessage, ImageMessage, AudioMessage, VideoMessage)


class MessageKinds:
    """The kinds of messages of a chat, by name: ``str``, ``dict``, memwell's ``Message``, and classes of chat messages."""

    def __init__(self) -> None:
        self._classes: dict[str, type[ChatMessage]] = {one.kind: one for one in _KINDS}

    def register(self, class_: type[ChatMessage]) -> None:
        """Read messages of a class derived from ``ChatMessage``. Raises ``Conflict`` for a kind that is taken."""
        if ChatMessage not in getattr(class_, "__mro__", ()):
            raise InvalidInput(f"register takes a class derived from ChatMessage, not {shown(class_)}")
        kind = check_id(class_.kind, "a message's kind")
        if self._classes.get(kind, class_) is not class_ or kind in ("str", "dict"):
            raise Conflict(f"the kind {kind!r} of {class_.__name__} is taken: a class has its own kind")
        self._classes[kind] = class_

    def to_core(self, item: object, sender: str | None = None) -> Message:
        """The item as it is stored, from ``sender`` unless it names one itself.

        Raises ``InvalidInput`` for an item of another class.
        """
        if isinstance(item, ChatMessage):
            self.register(type(item))
            made = item.to_core()
        elif isinstance(item, str):
            made = human(storable(item)).changed(metadata={MARK: {"kind": "str"}})
        elif isinstance(item, dict):
            made = _from_dict(storable(item))
        elif isinstance(item, Message):
            made = item
        else:
            raise InvalidInput(
                f"a message is a str, a dict or a ChatMessage, and {type(item).__name__} is none of them"
            )
        return made.changed(name=check_id(sender, "a sender")) if sender is not None and made.name is None else made

    def from_core(self, stored: Message) -> Any:
        """The item that was stored. A message of another program, or of an unknown kind, comes as a ``Message``."""
        mark = stored.metadata.get(MARK)
        kind = str(cast("dict[str, Any]", mark).get("kind", "")) if isinstance(mark, dict) else ""
        if kind == "str":
            return stored.text
        if kind == "dict":
            return _to_dict(stored)
        return self._classes[kind].from_core(stored) if kind in self._classes else stored


def sender_of(item: object) -> str | None:
    """The sender that an item names, or None."""
    named = (getattr(item, key, None) for key in _SENDERS)
    if isinstance(item, dict):
        named = (cast("dict[str, object]", item).get(key) for key in _SENDERS)
    return next((one for one in named if isinstance(one, str) and one), None)


def _from_dict(item: dict[str, Any]) -> Message:
    """A dict as a message: its text, sender and medium in the fields for them, the rest in the metadata."""
    media = _MEDIA.get(str(item.get("type")))
    data = item.get("data") if media is not None and isinstance(item.get("data"), bytes) else None
    fields = {key: None if key == "data" and data is not None else value for key, value in item.items()}
    check_json(fields, "a message")
    key = next((one for one in _TEXTS if isinstance(item.get(one), str)), None)
    words = "" if key is None else cast(str, item[key])
    url = item.get("url")
    medium = () if media is None else (media(url=url if isinstance(url, str) else None, data=data),)
    role = _ROLES.get(str(item.get("role", item.get("type"))), Role.HUMAN)
    # The text is stored once, in the part.
    kept = {**fields, key: None} if key is not None else fields
    mark = {"kind": "dict", "fields": kept, "words": key}
    parts = _with_words(words, *medium)
    return message(role, parts, name=sender_of(item), time=_time_of(item) or now(), metadata={MARK: mark})


def _time_of(item: dict[str, Any]) -> datetime | None:
    """The time of a dict's timestamp, or None without one. Raises ``InvalidInput`` for a timestamp that is no time."""
    said = item.get("timestamp")
    try:
        if isinstance(said, str):
            return as_utc(datetime.fromisoformat(said), "a timestamp")
        if isinstance(said, int | float) and not isinstance(said, bool):
            return datetime.fromtimestamp(said, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    if said is not None:
        raise InvalidInput(f"a timestamp is seconds since 1970 or ISO 8601, not {shown(said)}")
    return None


def _to_dict(stored: Message) -> dict[str, Any]:
    mark = cast("Mapping[str, Any]", stored.metadata[MARK])
    fields = dict(cast("dict[str, Any]", mark["fields"]))
    medium = _medium_of(stored)
    if mark["words"] is not None:
        fields[mark["words"]] = _words_of(stored)
    if medium is not None and medium.data is not None:
        fields["data"] = medium.data
    return fields


_AT_ONCE = 2000


class UserState(msgspec.Struct, frozen=True):
    """One person in a chat at one moment."""

    user: str
    online: bool
    last_seen: datetime | None
    unread: int
    last_read: int | None
    """The position of the last message that was read, or None."""
    typing: bool


class ChatState(Mapping[str, UserState]):
    """The people of a chat by name, each as they are when asked."""

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


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a person. Times are seconds since 1970."""

    user: str
    read: int = 0
    """The place from which on messages are unread."""
    seen: float | None = None
    online_until: float = 0.0


class _RowsInStore:
    """The rows of people in the store of a conversation, deleted with it. Typing is stored there too, and expires."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kv = cast(Backend, history.backend).kv
        self._space, prefix = thread_keys(history.thread)
        self._rows, self._typing = f"{prefix}basememory/user/", f"{prefix}basememory/typing/"

    def get(self, user: str) -> _Row | None:
        entry = self._kv.get(self._space, self._rows + key_part(user))
        return None if entry is None else msgspec.convert(entry.value, _Row)

    def put(self, row: _Row) -> None:
        self._kv.put(self._space, self._rows + key_part(row.user), msgspec.to_builtins(row))

    def users(self) -> list[str]:
        return sorted(value["user"] for value in self._values(self._rows))

    def together(self) -> AbstractContextManager[None]:
        return transaction_of(self._history)

    def _values(self, prefix: str) -> Iterator[dict[str, Any]]:
        found = paged(lambda cursor: self._kv.scan(self._space, where=id_begins_with(prefix), cursor=cursor))
        return (cast("dict[str, Any]", entry.value) for entry in found)

    def type(self, user: str, now: float, seconds: float) -> None:
        # The store deletes it a little later than it ends, because its clock may differ.
        until = {"user": user, "until": now + seconds}
        self._kv.put(self._space, self._typing + key_part(user), until, ttl=seconds + 60)

    def stop_typing(self, user: str) -> None:
        self._kv.delete(self._space, self._typing + key_part(user))

    def typing(self, now: float) -> list[str]:
        return sorted(value["user"] for value in self._values(self._typing) if value["until"] > now)


class _RowsInStorage:
    """The rows of people in a storage that the user gave, by name, as dicts of plain data."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        known = cast("Mapping[Any, Any]", storage) if isinstance(storage, Mapping) else ()
        self._users = {str(key) for key in known}

    def get(self, user: str) -> _Row | None:
        try:
            value = self._storage[user]
            return msgspec.convert(value, _Row) if isinstance(value, dict) and "user" in value else None
        except LookupError:
            return None
        except msgspec.ValidationError as error:
            raise InvalidInput(f"the state of {shown(user)} is no row of ours: {error}") from error

    def put(self, row: _Row) -> None:
        self._storage[row.user] = msgspec.to_builtins(row)
        self._users.add(row.user)

    def users(self) -> list[str]:
        return sorted(self._users)

    def together(self) -> AbstractContextManager[Any]:
        return self._lock


class StoredMessages:
    """The messages of a conversation as a storage. A message of another program is read as a ``Message``."""

    def __init__(self, history: History, kinds: MessageKinds) -> None:
        self.history = history
        self._kinds = kinds

    def __len__(self) -> int:
        return len(self.history)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return map(self._kinds.from_core, self.history)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return self._kinds.from_core(self.history.get(self.place(check_position(index))))

    def append(self, item: Any) -> None:
        """Add a message at the end."""
        self.add(item, None)

    add_message = append

    def __repr__(self) -> str:
        return f"StoredMessages({self.history!r})"

    def add(self, item: Any, sender: str | None) -> int:
        """Add a message at the end, on disk when it returns, and return its position."""
        stored = self.history.add(self._kinds.to_core(item, sender))[0]
        return self.position(stored.index or 0)

    def end(self) -> int:
        """The place of the next message."""
        info = self.history.info()
        return info.next if info else 0

    def place(self, position: int) -> int:
        """The place of the message at a position; negative positions count from the end. Raises ``IndexError``."""
        info = self.history.info()
        count = info.messages if info else 0
        if info is None or not -count <= position < count:
            raise IndexError(f"there is no message {position}: the chat holds {count}")
        if _has_no_gaps(info):
            return info.first + position % count
        return self.history.last(count - position % count)[0].index or 0

    def position(self, place: int) -> int:
        """How many messages are before a place."""
        info = self.history.info()
        if info is None:
            return 0
        if _has_no_gaps(info):
            return min(max(place - info.first, 0), info.messages)
        return sum(1 for _ in self._between(info.first, place))

    def _between(self, start: int, stop: int) -> Iterator[Message]:
        for begin in range(start, stop, _AT_ONCE):
            yield from self.history.log.read(self.history.thread, after=begin - 1, before=min(begin + _AT_ONCE, stop))

    def unread(self, user: str, start: int) -> list[tuple[int, Any]]:
        """The messages from a place on that others sent, each with its place."""
        found = (one for one in self._between(start, self.end()) if one.name != user)
        return [(one.index or 0, self._kinds.from_core(one)) for one in found]

    def senders(self) -> list[str | None]:
        """Who sent the message at each position."""
        return [message.name for message in self.history]

    def together(self) -> AbstractContextManager[None]:
        """A transaction, where the store has them."""
        return transaction_of(self.history)

    def drop(self, positions: Collection[int]) -> None:
        """Delete messages; the others keep their places."""
        with self.together():
            kept = [message.index or 0 for at, message in enumerate(self.history) if at not in positions]
            self.history.log.trim(self.history.thread, self.end(), keep=kept)

    def stored_bytes(self) -> int:
        """The bytes of the messages as they are stored."""
        return sum(len(encode_message(message)) for message in self.history)


def _has_no_gaps(info: ThreadInfo) -> bool:
    return info.messages == info.next - info.first


class _PlainMessages:
    """The messages of a chat in any storage. Senders are kept in this object; the place of a message is its position."""

    def __init__(self, storage: Any, lock: threading.RLock) -> None:
        self.storage = storage
        self._lock = lock
        self._senders: list[str | None] = []

    def _catch_up(self) -> None:
        """Read the senders of messages that other code added to the storage, and forget those of removed ones."""
        count = len(self.storage)
        del self._senders[count:]
        for position in range(len(self._senders), count):
            self._senders.append(sender_of(self.storage[position]))

    def add(self, item: Any, sender: str | None) -> int:
        with self._lock:
            self._catch_up()
            add_to(self.storage, "messages", item)
            self._senders.append(sender_of(item) or sender)
            return len(self._senders) - 1

    def end(self) -> int:
        return len(self.storage)

    def place(self, position: int) -> int:
        count = len(self.storage)
        if not -count <= position < count:
            raise IndexError(f"there is no message {position}: the chat holds {count}")
        return position % count

    def position(self, place: int) -> int:
        return min(place, len(self.storage))

    def unread(self, user: str, start: int) -> list[tuple[int, Any]]:
        with self._lock:
            self._catch_up()
            items = enumerate(items_of(self.storage))
            return [(place, item) for place, item in islice(items, start, None) if self._senders[place] != user]

    def senders(self) -> list[str | None]:
        # A storage that is only a sketch may return no number as its length.
        if not isinstance(cast(Any, type(self.storage)).__len__(self.storage), int):
            return []
        self._catch_up()
        return list(self._senders)

    def together(self) -> AbstractContextManager[Any]:
        return self._lock

    def dropped(self, gone: Collection[int]) -> None:
        self._senders = [sender for place, sender in enumerate(self._senders) if place not in gone]


class BaseChatMessageMemory(BaseMemory):
    """A chat: its messages, and the state of its people.

    ``messages`` is any storage, or a ``History``; without one it is a list in memory, or the conversation ``thread`` of
    ``store``. The state of people is stored in ``state`` if that has ``__setitem__``, otherwise with the conversation.
    Raises what ``BaseMemory`` raises.
    """

    messages: Any
    state: Any

    def __init__(
        self,
        messages: Storage | History | None = None,
        state: Storage | None = None,
        *,
        data: Storage | None = None,
        items: Iterable[Any] | None = None,
        store: Store | None = None,
        thread: str = "chat",
        space: SpaceLike = DEFAULT_SPACE,
        online_seconds: float = 60.0,
        typing_seconds: float = 6.0,
        clock: Callable[[], float] = time.time,
        **storages: Any,
    ) -> None:
        self._online_seconds = _seconds(online_seconds, "online_seconds")
        self._typing_seconds = _seconds(typing_seconds, "typing_seconds")
        self._clock = clock
        self._kinds = MessageKinds()
        history = messages if isinstance(messages, History) else None
        if history is None:
            backend = open_backend("memory:") if store is None else shared_backend(store)
            history = History(backend, thread, space=space)
        if history.backend is None:
            raise InvalidInput("a History over a MessageLog alone cannot be a chat: make it over a Backend")
        is_stored = messages is history or (messages is None and store is not None)
        held: Any = StoredMessages(history, self._kinds) if is_stored else messages
        held = ListStorage() if held is None else held
        view = ChatState(self.state_of, self.users) if state is None else state
        super().__init__(data, items, messages=held, state=view, **storages)
        self._chat = held if is_stored else _PlainMessages(held, self._lock)
        self._stored = _RowsInStore(history)
        own = state is not None and hasattr(type(state), "__setitem__") and not isinstance(state, list)
        self._rows: _RowsInStore | _RowsInStorage = _RowsInStorage(state) if own else self._stored
        self._typing_here: set[str] = set()

    # Messages

    def register(self, class_: type[ChatMessage]) -> None:
        """Read stored messages of a class derived from ``ChatMessage``. Raises ``Conflict`` for a kind that is taken."""
        self._kinds.register(class_)

    def add_message(self, message: Any, sender: str | None = None) -> int | None:
        """Add a message of any kind and return its position. ``sender`` sent it, if it does not name one itself.

        Raises ``InvalidInput`` for a message that the storage cannot keep; then nothing is added.
        """
        self._check_open()
        if sender is not None and check_id(sender, "a sender") in self._typing_here:
            self.set_typing(sender, typing=False)
        return self._chat.add(message, sender)

    def get_message(self, index: int, *, reader: str | None = None) -> Any:
        """The message at a position, from the end when it is negative; ``reader`` has then read it and all before.

        Raises ``IndexError`` when there is no such message, ``InvalidInput`` for a position that is no whole number.
        """
        messages: Any = self.messages
        if not isinstance(messages, Mapping):
            check_position(index)
        if reader is None:
            return self.messages[index]
        # In one transaction, because another message may come in between.
        with self._chat.together():
            found = self.messages[index]
            self.read(reader, upto=index)
            return found

    # Reading

    def unread(self, user: str) -> int:
        """How many messages a person has not read: those after the last one read that others sent."""
        return len(self._unread(user))

    def _unread(self, user: str) -> list[tuple[int, Any]]:
        # In one transaction, because places of a plain storage move when items are dropped, and marks with them.
        with self._chat.together():
            return self._chat.unread(user, self._row_of(user).read)

    def unread_counts(self) -> dict[str, int]:
        """The number of unread messages of every known person."""
        return {user: self.unread(user) for user in self.users()}

    def get_unread(self, user: str, *, mark: bool = True) -> list[Any]:
        """The messages a person has not read, in order; they are read then, unless ``mark`` is False.

        Of several calls at once for one person, each message is in one alone.
        """
        with self._chat.together(), self._rows.together():
            found = self._unread(user)
            if mark and found:
                self._put_row(replace(self._row_of(user), read=found[-1][0] + 1))
            return [item for _, item in found]

    def read(self, user: str, upto: int | None = None) -> int:
        """Mark everything as read, up to and with the position ``upto``; returns how many messages are still unread.

        A message that was read stays read. Raises ``IndexError`` when there is no message at ``upto``.
        """
        with self._chat.together(), self._rows.together():
            row = self._row_of(user)
            end = self._chat.end() if upto is None else self._chat.place(check_position(upto)) + 1
            self._put_row(replace(row, read=max(row.read, end)))
            return self.unread(user)

    # People

    def _row_of(self, user: str) -> _Row:
        return self._rows.get(check_id(user, "a user")) or _Row(user)

    def _put_row(self, row: _Row) -> None:
        self._check_open()
        self._rows.put(row)

    def users(self) -> list[str]:
        """Every person who was online or has read something."""
        return self._rows.users()

    def heartbeat(self, user: str) -> None:
        """Mark a person as online for the next ``online_seconds``."""
        now = self._clock()
        with self._rows.together():
            self._put_row(replace(self._row_of(user), seen=now, online_until=now + self._online_seconds))

    def offline(self, user: str) -> None:
        """Mark a person as offline."""
        with self._rows.together():
            self._put_row(replace(self._row_of(user), seen=self._clock(), online_until=0.0))

    def is_online(self, user: str) -> bool:
        """Whether the last heartbeat of a person is recent enough."""
        return self._row_of(user).online_until > self._clock()

    def online_users(self) -> list[str]:
        return [user for user in self.users() if self.is_online(user)]

    def set_typing(self, user: str, typing: bool = True) -> None:
        """Mark a person as typing for the next ``typing_seconds`` or until they send a message, or as not typing."""
        self._check_open()
        check_id(user, "a user")
        if typing:
            self._typing_here.add(user)
            self._stored.type(user, self._clock(), self._typing_seconds)
        else:
            self._typing_here.discard(user)
            self._stored.stop_typing(user)

    def typing_users(self) -> list[str]:
        return self._stored.typing(self._clock())

    def state_of(self, user: str) -> UserState:
        """The state of a person now."""
        row = self._row_of(user)
        read = self._chat.position(row.read)
        return UserState(
            user=user,
            online=row.online_until > self._clock(),
            last_seen=None if row.seen is None else datetime.fromtimestamp(row.seen, UTC),
            unread=self.unread(user),
            last_read=read - 1 if read else None,
            typing=user in self.typing_users(),
        )

    # Memory

    def _optimizable(self) -> tuple[str, ...]:
        # The state of people is small, and a default must not evict a person.
        return tuple(name for name in self.names if name != "state")

    def _shelf(self, name: str, storage: Any) -> Shelf:
        return Shelf(name, storage, owners=self._chat.senders() if storage is self.messages else None)

    def _dropped(self, shelf: Shelf) -> None:
        if shelf.storage is not self.messages or not isinstance(self._chat, _PlainMessages):
            return
        self._chat.dropped(shelf.dropped)
        with self._rows.together():
            for row in filter(None, map(self._rows.get, self._rows.users())):
                gone = sum(place < row.read for place in cast("Sequence[int]", shelf.dropped))
                self._rows.put(replace(row, read=row.read - gone))

    def close(self) -> None:
        """End the typing marks of this object; every later write raises. A store named by its path stays open."""
        for user in list(self._typing_here):
            self._typing_here.discard(user)
            self._stored.stop_typing(user)
        super().close()


def _seconds(value: float, what: str) -> float:
    if not 0 < value < 1e9:
        raise InvalidInput(f"{what} must be a number of seconds above 0, not {shown(value)}")
    return float(value)

"""Conversations in rounds: in memory, or in storages, where their messages are a ``History`` of memwell."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar, TypeAlias, cast

from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MessageContent,
    ModelMessage,
    SystemMessage,
    ViewMessage,
    from_core,
    message_from_dict,
    storable_content,
    to_core,
)
from memwell.compat.dbgpt.storage import (
    KEPT_AS,
    BackendStorage,
    InMemoryStorage,
    ItemRows,
    QuerySpec,
    ResourceIdentifier,
    StorageError,
    StorageInterface,
    StorageItem,
    checked_conditions,
    holds,
    made_from,
)
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history import History
from memwell.messages import Message
from memwell.records import Thread, paged
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.storage.registry import Store
from memwell.tokens import counted
from memwell.values import check_count, check_id, check_shape, shown

AnyStorage: TypeAlias = StorageInterface[Any, Any]

_LONGEST_SUMMARY = 4000
_NEXT = "message_index"
"""The field of a row with the index of the next message, which DB-GPT's own class knows too."""
_TAKEN = ("chat_mode", "chat_order", "cost", "tokens")
_COMPLETED = ("model_name", "app_code", "param_type", "param_value", "summary")
_FIELDS = (*_TAKEN, *_COMPLETED, "user_name", "sys_code")
"""The fields of a stored row. A copy of a conversation takes the first group, and the second where it has none."""


@dataclass(eq=False, repr=False)
class OnceConversation:
    """A conversation in rounds. ``messages`` are its messages, oldest first; ``chat_order`` is the number of the round.

    Messages added before the first ``start_new_round`` belong to round 0. ``messages`` may be given as ``to_dict`` of each.
    Raises ``InvalidInput`` for anything but messages.
    """

    chat_mode: str
    user_name: str | None = None
    sys_code: str | None = None
    summary: str | None = None
    app_code: str | None = None
    _: KW_ONLY
    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    start_date: str | datetime = ""
    chat_order: int = 0
    model_name: str = ""
    param_type: str = ""
    param_value: str = ""
    cost: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        self.messages = [_as_message(one) for one in self.messages or ()]
        self._message_index = _next_index(self.messages)

    # Adding

    def start_new_round(self) -> None:
        """Start the next round; messages added from now on belong to it."""
        self.chat_order += 1

    def end_current_round(self) -> None:
        """End the round: a stored conversation is saved, others do nothing."""

    def add_user_message(self, message: MessageContent, check_duplicate_type: bool | None = False) -> None:
        """Add what a person said.

        Raises ``InvalidInput`` for what is neither text nor pieces, and on request when a person spoke already.
        """
        if check_duplicate_type and any(isinstance(one, HumanMessage) for one in self.messages):
            raise InvalidInput("Already Have Human message")
        self._append_message(HumanMessage(storable_content(message)))

    def add_ai_message(self, message: MessageContent, update_if_exist: bool | None = False) -> None:
        """Add what a model said; with ``update_if_exist`` it replaces the model's last message of this round."""
        content = storable_content(message)
        said = [one for one in self.get_latest_round() if isinstance(one, AIMessage)] if update_if_exist else []
        if said:
            said[-1].content = content
            self._content_changed(said[-1])
        else:
            self._append_message(AIMessage(content))

    def add_view_message(self, message: MessageContent) -> None:
        self._append_message(ViewMessage(storable_content(message)))

    def add_system_message(self, message: MessageContent) -> None:
        self._append_message(SystemMessage(storable_content(message)))

    def _append_message(self, message: BaseMessage) -> None:
        message.index = self._message_index
        message.round_index = self.chat_order
        message.additional_kwargs["param_type"] = self.param_type
        message.additional_kwargs["param_value"] = self.param_value
        message.additional_kwargs["model_name"] = self.model_name
        self._message_index += 1
        self.messages.append(message)

    def _content_changed(self, message: BaseMessage) -> None:
        """Called when the content of an earlier message has changed."""

    def set_start_time(self, datatime: datetime) -> None:
        self.start_date = _as_text(datatime)

    def clear(self) -> None:
        """Remove all messages; the next message is the first again."""
        self.messages.clear()
        self._message_index = self.chat_order = 0

    def from_conversation(self, conversation: OnceConversation) -> None:
        """Become a copy of another conversation; the two share no message.

        A model, an application, parameters and a summary that are set here already stay.
        """
        self._become(check_shape(conversation, (*_FIELDS, "messages"), "a conversation is copied from another one"))
        self.messages = [one.copy() for one in conversation.messages]
        self._message_index = conversation._message_index

    def _become(self, other: OnceConversation) -> None:
        """Take over everything but the messages."""
        for name in (*_TAKEN, "start_date"):
            setattr(self, name, getattr(other, name))
        for name in _COMPLETED:
            setattr(self, name, getattr(self, name) or getattr(other, name))
        self.user_name = self.user_name if other.user_name is None else other.user_name
        self.sys_code = self.sys_code if other.sys_code is None else other.sys_code

    # Reading

    def get_latest_user_message(self) -> HumanMessage | None:
        return next((one for one in reversed(self.messages) if isinstance(one, HumanMessage)), None)

    def get_system_messages(self) -> list[SystemMessage]:
        return [one for one in self.messages if isinstance(one, SystemMessage)]

    def get_messages_by_round(self, round_index: int) -> list[BaseMessage]:
        return [one for one in self.messages if one.round_index == round_index]

    def get_latest_round(self) -> list[BaseMessage]:
        """The messages of the current round."""
        return self.get_messages_by_round(self.chat_order)

    def get_messages_with_round(self, round_count: int) -> list[BaseMessage]:
        """The messages of the last rounds, the current one included; round 0 counts when it holds messages.

        Raises ``InvalidInput`` for a count below 0.
        """
        check_count(round_count, "round_count")
        return [one for one in self.messages if self.chat_order - round_count < one.round_index <= self.chat_order]

    def get_model_messages(self) -> list[ModelMessage]:
        """The messages for a model, in order. A subclass may choose others."""
        return ModelMessage.from_base_messages(self.messages)

    def get_history_message(self, include_system_message: bool = False) -> list[BaseMessage]:
        """The messages that are passed to models, instructions only on request; view messages never."""
        return [one for one in self.messages if one.pass_to_model and (include_system_message or one.type != "system")]

    def _row(self) -> dict[str, Any]:
        """Everything but the messages, as plain data."""
        return {**{name: getattr(self, name) for name in _FIELDS}, "start_date": _as_text(self.start_date)}


def _next_index(messages: Iterable[BaseMessage]) -> int:
    return max((one.index for one in messages), default=-1) + 1


def _as_text(moment: str | datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if isinstance(moment, datetime) else moment or ""


def _as_message(given: object) -> BaseMessage:
    if isinstance(given, BaseMessage):
        return given
    if isinstance(given, Mapping):
        return message_from_dict(cast("Mapping[str, Any]", given))
    raise InvalidInput(f"a conversation holds messages such as HumanMessage, not {shown(given)}")


# Messages as items of a storage


class _MessageRows(ItemRows):
    """Messages in the log of a backend, each at its own index: the conversation is a ``History`` like any other."""

    def __init__(self, storage: BackendStorage[Any]) -> None:
        super().__init__(storage)
        self._backend, self._log, self._space = storage.backend, storage.backend.log, storage.space

    def write(self, items: Sequence[Any], *, replace: bool) -> None:
        for thread, messages in self._threads(items):
            with _as_storage_errors(thread.id):
                try:
                    self._log.append(thread, messages, keep_places=True)
                except Conflict:
                    # An index is taken, or it is one whose message was deleted.
                    with self._backend.transaction():
                        self._write_at(thread, messages, replace=replace)

    def _write_at(self, thread: Thread, messages: Sequence[Message], *, replace: bool) -> None:
        info = self._info(thread)
        begin = 0 if info is None else info.next
        old = {one.index or 0: one for one in messages if (one.index or 0) < begin}
        new = [one for one in messages if (one.index or 0) >= begin]
        if old:
            held = {one.index: one for one in self._log.read(thread, after=min(old) - 1, before=max(old) + 1)}
            for index in () if replace else old.keys() & held.keys():
                raise StorageError(f"Data with identifier message___{thread.id}___{index} already exists")
            # A message keeps the time at which the one in its place was said.
            self._log.edit(thread, {at: one.changed(time=held.get(at, one).time) for at, one in old.items()})
        if new:
            self._log.append(thread, new, keep_places=True)

    def drop(self, identifiers: Sequence[Any]) -> None:
        """Remove messages; a conversation whose last message goes is deleted with everything derived from it."""
        indexes: dict[str, set[int]] = {}
        for one in identifiers:
            indexes.setdefault(one.conv_uid, set()).add(one.index)
        with self._backend.transaction():
            for uid, wanted in indexes.items():
                thread = self._thread(uid)
                span = self._log.read(thread, after=max(min(wanted), 0) - 1, before=max(*wanted, 0) + 1)
                held = {one.index: None for one in span if one.index is not None and one.index in wanted}
                if held:
                    self._log.edit(thread, held)
                info = self._info(thread)
                if info is not None and info.messages == 0:
                    History(self._backend, thread.id, space=thread.space).delete()

    def get(self, identifier: Any, cls: type[Any]) -> Any:
        thread = self._thread(identifier.conv_uid)
        with _as_storage_errors(thread.id):
            index = check_count(identifier.index, "a message's index")
        found = self._log.read(thread, after=index - 1, before=index + 1)
        return self._item(thread, found[0], cls) if found else None

    def find(self, conditions: Mapping[str, Any], cls: type[Any], limit: int | None, offset: int) -> list[Any]:
        """The messages that satisfy the conditions, by conversation and in order."""
        infos, rest = self._wanted(conditions, cls)
        items = (self._item(info.thread, one, cls) for info in infos for one in self._log.read(info.thread))
        found = (item for item in items if holds(item, rest))
        return list(islice(found, offset, None if limit is None else offset + limit))

    def count(self, conditions: Mapping[str, Any], cls: type[Any]) -> int:
        infos, rest = self._wanted(conditions, cls)
        return len(self.find(conditions, cls, None, 0)) if rest else sum(info.messages for info in infos)

    def _wanted(self, conditions: Mapping[str, Any], cls: type[Any]) -> tuple[Iterable[ThreadInfo], Mapping[str, Any]]:
        """The conversations to read, and the conditions on their messages."""
        rest = dict(checked_conditions(conditions, cls))
        if "conv_uid" not in rest:
            return paged(lambda cursor: self._log.threads(self._space, cursor=cursor)), rest
        try:
            info = self._info(Thread(self._space, rest.pop("conv_uid")))
        except InvalidInput:
            # An invalid name is the name of no conversation.
            info = None
        return [] if info is None else [info], rest

    def next(self, uid: str) -> int:
        """The lowest index that no message of a conversation has had."""
        info = self._info(self._thread(uid))
        return 0 if info is None else info.next

    def _info(self, thread: Thread) -> ThreadInfo | None:
        return next(iter(self._log.threads(thread.space, ids=[thread.id]).items), None)

    def _item(self, thread: Thread, message: Message, cls: type[Any]) -> Any:
        detail = from_core(message).to_dict()
        fields = {"conv_uid": thread.id, "index": message.index or 0, "message_detail": detail}
        return made_from(fields, cls, self._serializer)

    def _threads(self, items: Sequence[MessageStorageItem]) -> list[tuple[Thread, list[Message]]]:
        """The messages of each conversation, in order. Raises ``StorageError`` for two of one index."""
        found: dict[Thread, dict[int, Message]] = {}
        for item in items:
            messages = found.setdefault(self._thread(item.conv_uid), {})
            with _as_storage_errors(item.conv_uid):
                index = check_count(item.index, "a message's index")
                message = counted(to_core(message_from_dict(item.message_detail)).changed(index=index))
            if index in messages:
                raise StorageError(f"Data with identifier message___{item.conv_uid}___{index} already exists")
            messages[index] = message
        return [(thread, [said[index] for index in sorted(said)]) for thread, said in found.items()]

    def _thread(self, uid: str) -> Thread:
        with _as_storage_errors(uid):
            return Thread(self._space, uid)


@contextmanager
def _as_storage_errors(uid: object) -> Generator[None]:
    """Raise what a log refuses as ``StorageError``."""
    try:
        yield
    except (Conflict, InvalidInput, NotFound) as error:
        raise StorageError(f"a message of conversation {shown(uid)} cannot be stored: {error}") from error


@dataclass(eq=False)
class ConversationIdentifier(ResourceIdentifier):
    """Names a conversation."""

    conv_uid: str
    identifier_type: str = "conversation"

    @property
    def str_identifier(self) -> str:
        """``conversation:<uid>``."""
        return f"{self.identifier_type}:{self.conv_uid}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(eq=False)
class MessageIdentifier(ResourceIdentifier):
    """Names a message: the conversation, and its index there."""

    identifier_split: ClassVar[str] = "___"

    conv_uid: str
    index: int
    identifier_type: str = "message"

    @property
    def str_identifier(self) -> str:
        """``message___<uid>___<index>``."""
        return self.identifier_split.join((self.identifier_type, self.conv_uid, str(self.index)))

    @staticmethod
    def from_str_identifier(str_identifier: str) -> MessageIdentifier:
        """The identifier of a text, whose uid may hold the separator. Raises ``InvalidInput`` for any other text."""
        split = MessageIdentifier.identifier_split
        kind, first, rest = str_identifier.partition(split)
        uid, second, index = rest.rpartition(split)
        if not (first and second and index.isascii() and index.isdigit()):
            raise InvalidInput(f"Invalid str identifier: {shown(str_identifier)}")
        return MessageIdentifier(uid, int(index), kind)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(eq=False)
class MessageStorageItem(StorageItem):
    """A message to be stored: its conversation, its index, and the message as ``to_dict`` gives it."""

    conv_uid: str
    index: int
    message_detail: dict[str, Any]

    @property
    def identifier(self) -> MessageIdentifier:
        return MessageIdentifier(self.conv_uid, self.index)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_message(self) -> BaseMessage:
        """The message. Raises ``InvalidInput`` for details that are no message's."""
        return message_from_dict(self.message_detail)

    def merge(self, other: StorageItem) -> None:
        """Take over what another message says. Raises ``InvalidInput`` for an item that is no message."""
        if not isinstance(other, MessageStorageItem):
            raise InvalidInput(f"Can not merge {shown(other)} to {shown(self)}")
        self.message_detail = other.message_detail


for _last in ("identifier_type", "message_detail"):
    KEPT_AS[frozenset({"conv_uid", "index", _last})] = _MessageRows


class _ConversationRows(ItemRows):
    """The rows of conversations. A row of ours says how far its messages go; DB-GPT's own class gets their names."""

    def __init__(self, storage: BackendStorage[Any]) -> None:
        super().__init__(storage)
        self._said = _MessageRows(storage)

    def get(self, identifier: Any, cls: type[Any]) -> Any:
        made = super().get(identifier, cls)
        if made is None or isinstance(made, StorageConversation):
            return made
        # Other rooms may have added to it since, where the messages are in the same store.
        end = max(getattr(made, f"_{_NEXT}", 0), self._said.next(identifier.conv_uid))
        names = [MessageIdentifier(identifier.conv_uid, index).str_identifier for index in range(end)]
        made._message_ids = list(dict.fromkeys((*(getattr(made, "_message_ids", None) or ()), *names)))
        return made


KEPT_AS[frozenset({"conv_uid", "identifier_type"})] = _ConversationRows

# Stored conversations


class StorageConversation(OnceConversation, StorageItem):
    """A conversation that is read from its storages when it is made, and saved at the end of each round.

    A storage may be one of DB-GPT's own, and may be given as a path, a URL or a backend; without one it lasts as long as
    the object. In a storage of DB-GPT's own the row names the messages, as there, and nothing is undone when saving fails.
    Of a conversation
    that is stored already the stored messages, chat mode, user, system and counts stand; a model, an application,
    parameters and a summary that are given replace stored ones. With ``save_message_independent=False`` the messages are
    kept inside the conversation's own row. Several
    objects, threads and processes may write one conversation: the messages of one that saves later are numbered after the
    others. What a query of a storage finds is the row alone, without messages, and cannot be saved or deleted. Raises
    ``InvalidInput`` for a ``conv_uid`` that cannot name a conversation.
    """

    def __init__(
        self,
        conv_uid: str,
        chat_mode: str = "chat_normal",
        user_name: str | None = None,
        sys_code: str | None = None,
        message_ids: list[str] | None = None,
        summary: str | None = None,
        app_code: str | None = None,
        save_message_independent: bool = True,
        conv_storage: AnyStorage | Store | None = None,
        message_storage: AnyStorage | Store | None = None,
        load_message: bool = True,
        **kwargs: Any,
    ) -> None:
        self._lock = threading.RLock()
        # Rows that memwell 0.1 wrote may hold it.
        kwargs.pop("messages_elsewhere", None)
        kwargs.pop(_NEXT, None)
        super().__init__(chat_mode, user_name, sys_code, summary, app_code, **kwargs)
        self.conv_uid = check_id(conv_uid, "a conv_uid")
        self.save_message_independent = save_message_independent
        self._id = ConversationIdentifier(conv_uid)
        self._load_message = load_message
        self._message_ids = message_ids or []
        self._conv_storage = _as_storage(conv_storage)
        self._message_storage = _as_storage(message_storage)
        # Only a storage that makes it from its row gives the number of the round.
        self._is_found = conv_storage is None and message_storage is None and "chat_order" in kwargs
        self._mark_stored(0, -1, 0)
        # Storages of its own are empty, and made when they are first needed: a row that is read back is made here too.
        if self._conv_storage is not None or self._message_storage is not None:
            self.load_from_storage(self.conv_storage, self.message_storage)

    def __repr__(self) -> str:
        held = f"user_name={self.user_name!r}, {len(self.messages)} messages"
        return f"{type(self).__name__}({self.conv_uid!r}, {self.chat_mode!r}, {held})"

    @property
    def identifier(self) -> ConversationIdentifier:
        return self._id

    @property
    def conv_storage(self) -> AnyStorage:
        """The storage of the conversation's row."""
        if self._conv_storage is None:
            self._conv_storage = InMemoryStorage[Any]()
        return self._conv_storage

    @conv_storage.setter
    def conv_storage(self, storage: AnyStorage | Store) -> None:
        self._conv_storage = _as_storage(storage)

    @property
    def message_storage(self) -> AnyStorage:
        """The storage of the messages."""
        if self._message_storage is None:
            self._message_storage = InMemoryStorage[Any]()
        return self._message_storage

    @message_storage.setter
    def message_storage(self, storage: AnyStorage | Store) -> None:
        self._message_storage = _as_storage(storage)

    @property
    def message_ids(self) -> list[str]:
        """The identifiers of all stored messages, in order."""
        if not self.save_message_independent:
            return [one.identifier.str_identifier for one in self._items(self.messages[: self._stored_count])]
        return [one.identifier.str_identifier for one in self._stored_items()]

    @property
    def history(self) -> History:
        """The conversation as the rest of memwell sees it.

        Raises ``InvalidInput`` when its messages are in a storage of another kind, or inside its row.
        """
        history = self._kept_history() if self.save_message_independent else None
        if history is None:
            raise InvalidInput(
                f"the messages of {self.conv_uid!r} are not kept as a conversation in a store of memwell"
            )
        return history

    def to_dict(self) -> dict[str, Any]:
        """The row of the conversation."""
        row = {**self._row(), "conv_uid": self.conv_uid, "save_message_independent": self.save_message_independent}
        if not self.save_message_independent:
            return {**row, "messages": [one.to_dict() for one in self.messages]}
        if _keeps_conversations(self._conv_storage) and _keeps_conversations(self._message_storage):
            return {**row, _NEXT: self._message_index}
        self._note_ids(self.messages)
        return {**row, "message_ids": self._message_ids}

    def _note_ids(self, messages: Sequence[BaseMessage]) -> None:
        """Note the names of messages for the row: DB-GPT's own class reads no others."""
        ids = (MessageIdentifier(self.conv_uid, one.index).str_identifier for one in messages)
        self._message_ids = list(dict.fromkeys((*self._message_ids, *ids)))

    def merge(self, other: StorageItem) -> None:
        """Become a copy of another conversation. Raises ``InvalidInput`` for an item that is none."""
        if not isinstance(other, StorageConversation):
            raise InvalidInput(f"Can not merge {shown(other)} to {shown(self)}")
        self.from_conversation(other)

    def _append_message(self, message: BaseMessage) -> None:
        with self._lock:
            super()._append_message(message)

    def _content_changed(self, message: BaseMessage) -> None:
        if message.index <= self._stored_index:
            self._changed[message.index] = message

    # Saving

    def end_current_round(self) -> None:
        """Save the conversation. Raises what the storages raise; then nothing was stored, and it can be tried again."""
        self.save_to_storage()

    def save_to_storage(self) -> None:
        """Store the messages that are not stored yet, and the conversation's row.

        Messages that other writers stored meanwhile are read, and those of this object are numbered after them. Raises what
        the storages raise; then nothing was stored.
        """
        with self._lock:
            self._check_not_found()
            if self.summary is not None:
                self.summary = self.summary[:_LONGEST_SUMMARY]
            with self._transactions():
                self._save_messages()
                self.conv_storage.save_or_update(self)
            last = self.messages[-1:]
            index = max([self._stored_index, *(one.index for one in last)])
            self._mark_stored(len(self.messages), index, max([self._stored_round, *(one.round_index for one in last)]))

    def _save_messages(self) -> None:
        if not self.save_message_independent:
            row = self._stored_row()
            self._take_in([] if row is None else row.messages[self._stored_count :])
            return
        if self._changed:
            self.message_storage.save_or_update_list(self._items(list(self._changed.values())))
        fresh = self._fresh()
        try:
            self._add(fresh)
        except Exception:
            # A StorageError of ours, or one of DB-GPT's own.
            theirs = self._stored_since(self._stored_index)
            if not theirs:
                raise
            self._take_in(theirs)
            self._add(fresh)

    def _add(self, fresh: Sequence[BaseMessage]) -> None:
        if fresh:
            self.message_storage.save_list(self._items(fresh))

    def _items(self, messages: Sequence[BaseMessage]) -> list[MessageStorageItem]:
        return [MessageStorageItem(self.conv_uid, one.index, one.to_dict()) for one in messages]

    def _mark_stored(self, count: int, index: int, round_index: int) -> None:
        """Note how many of the messages, from the first on, are stored, and the highest stored index and round."""
        self._stored_count, self._stored_index, self._stored_round = count, index, round_index
        self._changed: dict[int, BaseMessage] = {}

    def _fresh(self) -> list[BaseMessage]:
        """The messages that are not stored yet, each with an index after all stored ones."""
        fresh = self.messages[self._stored_count :]
        index = self._stored_index + 1
        for one in fresh:
            # A message that was put into the list by hand has no index of its own.
            one.index = max(index, one.index)
            index = one.index + 1
        self._message_index = max(self._message_index, index)
        return fresh

    def _take_in(self, theirs: Sequence[BaseMessage]) -> None:
        """Insert the messages of other writers before the fresh ones, which get later indexes and rounds."""
        fresh = self._fresh()
        if not theirs:
            return
        self._note_ids(theirs)
        later = max(0, max(one.round_index for one in theirs) - self._stored_round)
        for one in fresh:
            one.round_index += later if one.round_index > self._stored_round else 0
        self.chat_order += later
        if self._holds_messages:
            self.messages[self._stored_count : self._stored_count] = theirs
            self._stored_count += len(theirs)
        self._stored_index = _next_index(theirs) - 1
        self._stored_round += later
        self._fresh()

    # Loading

    def load_from_storage(self, conv_storage: AnyStorage, message_storage: AnyStorage) -> None:
        """Replace this conversation by the stored one, if there is one. Unsaved messages are lost."""
        with self._lock:
            self._conv_storage, self._message_storage = _as_storage(conv_storage), _as_storage(message_storage)
            self._is_found = False
            row = self._stored_row()
            if row is not None:
                self.save_message_independent = row.save_message_independent
                self._message_ids = row._message_ids
                self._become(row)
            inside = [] if row is None else row.messages
            found, next_index = self._stored_messages() if self.save_message_independent else (inside, 0)
            if row is not None or found:
                self._note_ids(found)
                self._hold(found, next_index)

    @property
    def _holds_messages(self) -> bool:
        """Whether stored messages are held here; those inside the row always are, or the next save would lose them."""
        return self._load_message or not self.save_message_independent

    def _hold(self, stored: list[BaseMessage], next_index: int = 0) -> None:
        """Hold the stored messages, or with ``load_message=False`` only note them."""
        self.messages = stored if self._holds_messages else []
        self._message_index = max(next_index, _next_index(stored))
        if stored:
            self.chat_order = max(one.round_index for one in stored)
        # Go on with the parameters of the last message that has any.
        given = (one.additional_kwargs for one in reversed(stored) if one.additional_kwargs)
        last = next(given, dict[str, Any]())
        self.param_type = self.param_type or last.get("param_type", "")
        self.param_value = self.param_value or last.get("param_value", "")
        self._mark_stored(len(self.messages), self._message_index - 1, self.chat_order)

    # Stored messages: a conversation of memwell, items of another storage, or inside the row.

    def _kept_history(self) -> History | None:
        storage = self.message_storage
        if isinstance(storage, BackendStorage) and storage.keeps_conversations:
            return storage.history(self.conv_uid)
        return None

    def _stored_row(self) -> StorageConversation | None:
        return self.conv_storage.load(self._id, StorageConversation)

    def _stored_messages(self) -> tuple[list[BaseMessage], int]:
        """The stored messages, or with ``load_message=False`` only the last, and the lowest index that was never used."""
        history = self._kept_history()
        if history is not None:
            info = history.info()
            found = [from_core(one) for one in (history if self._load_message else history.last(1))]
            return found, 0 if info is None else info.next
        items = self._stored_items()
        return [one.to_message() for one in (items if self._load_message else items[-1:])], 0

    def _stored_since(self, index: int) -> list[BaseMessage]:
        history = self._kept_history()
        if history is not None:
            return [from_core(one) for one in history.log.read(history.thread, after=index)]
        return [one.to_message() for one in self._stored_items() if one.index > index]

    def _stored_items(self) -> list[MessageStorageItem]:
        if not _is_theirs(self.message_storage):
            found = self.message_storage.query(QuerySpec({"conv_uid": self.conv_uid}), MessageStorageItem)
        else:
            # A query there reads every item as one of the class that is asked for.
            row = self._stored_row()
            ids = map(MessageIdentifier.from_str_identifier, [] if row is None else row._message_ids)
            found = self.message_storage.load_list(list(ids), MessageStorageItem)
        return sorted(found, key=lambda one: one.index)

    def _check_not_found(self) -> None:
        """Raises ``StorageError`` for a conversation that a query found: it does not know where its messages are."""
        if self._is_found:
            raise StorageError(
                f"the conversation {self.conv_uid!r} was found by a query, without messages; to change it, open it by its "
                f"conv_uid, with its conv_storage and message_storage"
            )

    @contextmanager
    def _transactions(self) -> Generator[None]:
        """A transaction of every memwell store that is written to: the row and the messages are stored together."""
        storages = (self.conv_storage, self.message_storage)
        backends = {id(one.backend): one.backend for one in storages if isinstance(one, BackendStorage)}
        with ExitStack() as stack:
            # Always in the same order: two writers with different orders would wait for each other.
            for _, backend in sorted(backends.items()):
                stack.enter_context(backend.transaction())
            yield

    # Deleting

    def delete(self) -> None:
        """Delete the messages and the row for good. The object is an empty conversation of the same kind afterwards."""
        with self._lock:
            self._check_not_found()
            with self._transactions():
                if self.save_message_independent:
                    history = self._kept_history()
                    if history is not None:
                        # Also what was removed from it before, and is kept as versions.
                        history.delete()
                    else:
                        self.message_storage.delete_list([one.identifier for one in self._stored_items()])
                self.conv_storage.delete(self._id)
            self.messages = []
            self._message_index = self.chat_order = self.cost = self.tokens = 0
            self.summary = None
            self.start_date = ""
            self._message_ids = []
            self._mark_stored(0, -1, 0)

    def clear(self) -> None:
        """Delete the messages and the row for good, as ``delete`` does."""
        self.delete()


_METHODS = ("save_list", "save_or_update", "save_or_update_list", "load", "load_list", "delete", "delete_list")


def _keeps_conversations(storage: object) -> bool:
    """Whether it is a storage of ours without a serializer or an adapter, or none yet: then it will be one."""
    return storage is None or (
        isinstance(storage, BackendStorage) and cast("BackendStorage[Any]", storage).keeps_conversations
    )


def _is_theirs(storage: object) -> bool:
    return storage is not None and not isinstance(storage, StorageInterface)


def _as_storage(given: Any) -> AnyStorage | None:
    """A storage, ours or by its methods, or one over a store. Raises ``InvalidInput`` for a storage that lacks a method."""
    if given is None or isinstance(given, StorageInterface):
        return cast("AnyStorage | None", given)
    missing = [name for name in _METHODS if not callable(getattr(given, name, None))]
    if len(missing) == len(_METHODS) or isinstance(given, Backend):
        return BackendStorage[Any](given)
    if missing:
        raise InvalidInput(f"{shown(given)} is no storage of conversations: it has no {', '.join(missing)}")
    return given

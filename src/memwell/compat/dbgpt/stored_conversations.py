"""Conversations that are there after a restart: a row of their own, and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memwell._asyncify import asyncify
from memwell.compat.dbgpt.conversations import next_index
from memwell.compat.dbgpt.message_homes import AnyStorage, Held, HistoryHome, MessageHome
from memwell.compat.dbgpt.message_items import ConversationIdentifier, MessageIdentifier, MessageStorageItem
from memwell.compat.dbgpt.messages import BaseMessage, messages_to_dict
from memwell.compat.dbgpt.placed_conversations import PlacedConversation
from memwell.compat.dbgpt.storage import StorageItem
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.storage.sharing import Store
from memwell.values import shown

_LONGEST_SUMMARY = 4000
_ATTEMPTS = 100
"""How often a save begins anew because another writer was first; in a store of ours the second attempt succeeds."""


class StorageConversation(PlacedConversation, StorageItem):
    """A conversation that is read from its storages when it is made, and saved at the end of each round.

    A storage may be given as a path, a URL or a backend; without one it lasts as long as the object. Of a conversation that
    is stored already the stored messages, chat mode, user, system and counts stand; a model, an application, parameters and
    a summary that are given stand over stored ones. With ``save_message_independent=False`` the messages are kept inside
    the conversation's own row. Several objects, threads and processes may write one conversation: who saves later comes
    behind. Raises ``InvalidInput`` for a ``conv_uid`` that cannot name a conversation.
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
        about = {"chat_mode": chat_mode, "user_name": user_name, "sys_code": sys_code, "summary": summary}
        super().__init__(conv_uid, conv_storage, message_storage, **about, app_code=app_code, **kwargs)
        self.save_message_independent = save_message_independent
        self._id = ConversationIdentifier(conv_uid)
        self._message_ids = list(message_ids or ())
        self._load_message = load_message
        # Storages of its own are empty, and made when they are first needed: a row that is read back is made here too.
        if self._conv_storage is not None or self._message_storage is not None:
            self.load_from_storage(self.conv_storage, self.message_storage)

    def __repr__(self) -> str:
        # Without reading what is not read yet.
        held = "messages not read yet" if self._unread else f"{len(self._messages)} messages"
        return f"{type(self).__name__}({self.conv_uid!r}, {self.chat_mode!r}, user_name={self.user_name!r}, {held})"

    @property
    def identifier(self) -> ConversationIdentifier:
        """What names the conversation."""
        return self._id

    @property
    def message_ids(self) -> list[str]:
        """The identifiers of all stored messages, in order."""
        if self.save_message_independent:
            return self._home().names(self._message_ids)
        return [self._name(one.index) for one in self.messages[: self._stored_count]]

    @property
    def history(self) -> History:
        """The conversation as the rest of memwell sees it.

        Raises ``InvalidInput`` when its messages are in a storage of another kind, or inside its row.
        """
        home = self._home()
        if not self.save_message_independent or not isinstance(home, HistoryHome):
            raise InvalidInput(
                f"the messages of {self.conv_uid!r} are not kept as a conversation in a store of memwell"
            )
        return home.history

    def to_dict(self) -> dict[str, Any]:
        """The row of the conversation. It names the messages only where they could not be found without."""
        row = {**self._row(), "conv_uid": self.conv_uid, "save_message_independent": self.save_message_independent}
        if not self.save_message_independent:
            row["messages"] = messages_to_dict(self.messages)
        elif self._names_are_kept:
            row["message_ids"] = self._message_ids
        if self.save_message_independent and self._messages_elsewhere:
            row["messages_elsewhere"] = True
        return row

    def merge(self, other: StorageItem) -> None:
        """Become a copy of another conversation. Raises ``InvalidInput`` for an item that is none."""
        if not isinstance(other, StorageConversation):
            raise InvalidInput(f"Can not merge {shown(other)} to {shown(self)}")
        self.from_conversation(other)

    def _name(self, index: int) -> str:
        return MessageIdentifier(self.conv_uid, index).str_identifier

    # Saving

    def end_current_round(self) -> None:
        """Save the conversation. Raises what the storages raise; then nothing was stored, and it can be tried again."""
        self.save_to_storage()

    def save_to_storage(self) -> None:
        """Store the messages that are not stored yet, and the conversation's row.

        What other writers stored meanwhile is taken in, and the messages of this object are numbered behind it. Raises what
        the storages raise; then nothing was stored.
        """
        with self._guard:
            self._check_placed()
            if self.summary is not None:
                self.summary = self.summary[:_LONGEST_SUMMARY]
            before = self._message_ids
            try:
                with self._together():
                    self._save()
            except BaseException:
                self._message_ids = before
                raise
            self._know_all_stored()

    def _save(self) -> None:
        if self.save_message_independent:
            self._save_messages(self._home())
        else:
            stored: StorageConversation | None = self.conv_storage.load(self._id, StorageConversation)
            self._take_in([] if stored is None else stored.messages[self._stored_count :], hold=True)
            self._fresh()
        self.conv_storage.save_or_update(self)

    def _save_messages(self, home: MessageHome) -> None:
        if self._changed:
            home.change(list(self._changed.values()))
        for _ in range(_ATTEMPTS):
            fresh = self._fresh()
            try:
                if fresh:
                    home.add(fresh)
            except StorageError:
                theirs = home.since(self._stored_index)
                if not theirs:
                    raise
                self._take_in(theirs, hold=self._holds_messages)
                self._add_names(theirs)
            else:
                self._add_names(fresh)
                return
        raise StorageError(f"conversation {self.conv_uid!r} is written by others all the time; nothing was stored")

    def _add_names(self, messages: Sequence[BaseMessage]) -> None:
        if self._names_are_kept:
            self._message_ids = [*self._message_ids, *(self._name(one.index) for one in messages)]

    # Loading

    def load_from_storage(self, conv_storage: AnyStorage, message_storage: AnyStorage) -> None:
        """Become what is stored, if anything is. What was not saved is lost."""
        with self._guard:
            self._conv_storage, self._message_storage = conv_storage, message_storage
            self._found_home = None
            stored: StorageConversation | None = conv_storage.load(self._id, StorageConversation)
            if stored is not None:
                self.save_message_independent = stored.save_message_independent
                self._message_ids = stored._message_ids
                self._become(stored)
            held = self._held(stored)
            if stored is not None or held.messages:
                self._hold(held)

    def found_in(self, storage: AnyStorage) -> None:
        """Belong to the storage that found it. Its messages are read when they are first needed, if they are there too."""
        self._conv_storage = storage
        if not self.save_message_independent:
            self._message_storage = storage
            self._hold(Held(self.messages, next_index(self.messages)))
        elif not self._noted_elsewhere:
            self._message_storage, self._unread = storage, True

    def _read_messages(self) -> None:
        self._hold(self._home().load(self._message_ids, whole=self._load_message))

    def _held(self, stored: StorageConversation | None) -> Held:
        if self.save_message_independent:
            return self._home().load(self._message_ids, whole=self._load_message)
        messages = [] if stored is None else stored.messages
        return Held(messages, next_index(messages))

    @property
    def _holds_messages(self) -> bool:
        """Whether stored messages are held here; those inside the row always are, or the next save would lose them."""
        return self._load_message or not self.save_message_independent

    def _hold(self, held: Held) -> None:
        """Hold the stored messages, or with ``load_message=False`` only know of them."""
        self.messages = held.messages if self._holds_messages else []
        self._message_index = held.next
        if held.messages:
            self.chat_order = max(one.round_index for one in held.messages)
        # Go on with the parameters of the last message that has any.
        given = (one.additional_kwargs for one in reversed(held.messages) if one.additional_kwargs)
        last = next(given, dict[str, Any]())
        self.param_type = self.param_type or last.get("param_type", "")
        self.param_value = self.param_value or last.get("param_value", "")
        self._know_stored(len(self.messages), held.next - 1, self.chat_order)

    # Deleting

    def delete(self) -> None:
        """Delete the messages and the row for good. The object is an empty conversation of the same kind afterwards."""
        with self._guard:
            self._check_placed()
            with self._together():
                if self.save_message_independent:
                    self._home().delete(self._message_ids)
                self.conv_storage.delete(self._id)
            self.messages = []
            self._message_ids = []
            self._message_index = self.chat_order = self.cost = self.tokens = 0
            self.summary = None
            self.start_date = ""
            self._know_stored(0, -1, 0)

    def clear(self) -> None:
        """Delete the messages and the row for good, as ``delete`` does."""
        self.delete()

    aend_current_round = asyncify(end_current_round)
    asave_to_storage = asyncify(save_to_storage)
    aload_from_storage = asyncify(load_from_storage)
    adelete = asyncify(delete)
    aclear = asyncify(clear)


__all__ = ["ConversationIdentifier", "MessageIdentifier", "MessageStorageItem", "StorageConversation"]

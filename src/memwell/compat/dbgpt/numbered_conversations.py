"""A conversation that others write too: which of its messages are stored, and how the rest is numbered behind theirs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from memwell.compat.dbgpt.conversations import OnceConversation, next_index
from memwell.compat.dbgpt.messages import BaseMessage


class NumberedConversation(OnceConversation):
    """A conversation whose first messages are stored, and whose others are fresh."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard = threading.RLock()
        self._know_stored(0, -1, 0)

    def _know_stored(self, count: int, index: int, round_index: int) -> None:
        """Know how many of the messages, from the first on, are stored, and the highest index and round there are."""
        self._stored_count = count
        self._stored_index = index
        self._stored_round = round_index
        self._changed: dict[int, BaseMessage] = {}

    def _know_all_stored(self) -> None:
        last = self.messages[-1:]
        index = max([self._stored_index, *(one.index for one in last)])
        self._know_stored(len(self.messages), index, max([self._stored_round, *(one.round_index for one in last)]))

    def _fresh(self) -> list[BaseMessage]:
        """The messages that are not stored yet, each with an index behind all that are."""
        fresh = self.messages[self._stored_count :]
        index = self._stored_index + 1
        for one in fresh:
            # One that was put into the list by hand has no index of its own.
            one.index = max(index, one.index)
            index = one.index + 1
        self._message_index = max(self._message_index, index)
        return fresh

    def _take_in(self, theirs: Sequence[BaseMessage], *, hold: bool) -> None:
        """Put what others stored before what is fresh, and number that anew, its rounds too.

        Without ``hold`` theirs are only known of.
        """
        if not theirs:
            return
        later = max(0, max(one.round_index for one in theirs) - self._stored_round)
        for one in self._fresh():
            one.round_index += later if one.round_index > self._stored_round else 0
        self.chat_order += later
        if hold:
            self.messages[self._stored_count : self._stored_count] = theirs
            self._stored_count += len(theirs)
        self._stored_index = next_index(theirs) - 1
        self._stored_round += later
        self._fresh()

    def _append_message(self, message: BaseMessage) -> None:
        with self._guard:
            super()._append_message(message)

    def _content_changed(self, message: BaseMessage) -> None:
        if message.index <= self._stored_index:
            self._changed[message.index] = message


__all__ = ["NumberedConversation"]

"""A conversation held in memory: rounds of messages, and what a model gets of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from memwell.compat.dbgpt.media import MessageContent, storable_content
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ViewMessage,
    messages_from_dict,
    messages_to_dict,
)
from memwell.compat.dbgpt.model_messages import ModelMessage
from memwell.errors import InvalidInput
from memwell.values import check_count, shown


class OnceConversation:
    """A conversation in rounds. ``messages`` are its messages, oldest first; ``chat_order`` is the number of the round.

    Messages added before the first ``start_new_round`` belong to round 0. ``messages`` may be given as ``to_dict`` of each.
    Raises ``InvalidInput`` for messages that are none.
    """

    def __init__(
        self,
        chat_mode: str,
        user_name: str | None = None,
        sys_code: str | None = None,
        summary: str | None = None,
        app_code: str | None = None,
        *,
        messages: Iterable[BaseMessage | Mapping[str, Any]] | None = None,
        start_date: str | datetime = "",
        chat_order: int = 0,
        model_name: str = "",
        param_type: str = "",
        param_value: str = "",
        cost: int = 0,
        tokens: int = 0,
        message_index: int | None = None,
    ) -> None:
        self.chat_mode = chat_mode
        self.user_name = user_name
        self.sys_code = sys_code
        self.summary = summary
        self.app_code = app_code
        self.messages = _as_messages(messages)
        self.start_date = start_date
        self.chat_order = int(chat_order)
        self.model_name = model_name
        self.param_type = param_type
        self.param_value = param_value
        self.cost = int(cost)
        self.tokens = int(tokens)
        self._message_index = next_index(self.messages) if message_index is None else int(message_index)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return self._messages

    @messages.setter
    def messages(self, messages: list[BaseMessage]) -> None:
        self._messages = messages

    # Adding

    def start_new_round(self) -> None:
        """Begin the next round: what is added from now on belongs to it."""
        self.chat_order += 1

    def end_current_round(self) -> None:
        """End the round. Here there is nothing to do; a stored conversation is saved."""

    def add_user_message(self, message: MessageContent, check_duplicate_type: bool | None = False) -> None:
        """Add what a person said.

        Raises ``InvalidInput`` for what no store can keep, such as NUL, and on request when a person spoke already.
        """
        if check_duplicate_type and any(isinstance(one, HumanMessage) for one in self.messages):
            raise InvalidInput("Already Have Human message")
        self._append_message(HumanMessage(storable_content(message)))

    def add_ai_message(self, message: MessageContent, update_if_exist: bool | None = False) -> None:
        """Add what a model said; on request in the place of what it said before in this round, as a stream grows."""
        said = self._said_in_this_round() if update_if_exist else None
        if said is None:
            self._append_message(AIMessage(storable_content(message)))
        else:
            said.content = storable_content(message)
            self._content_changed(said)

    def add_view_message(self, message: MessageContent) -> None:
        """Add what is shown to people and never passed to a model."""
        self._append_message(ViewMessage(storable_content(message)))

    def add_system_message(self, message: MessageContent) -> None:
        """Add an instruction."""
        self._append_message(SystemMessage(storable_content(message)))

    def _append_message(self, message: BaseMessage) -> None:
        message.index = self._message_index
        message.round_index = self.chat_order
        message.additional_kwargs["param_type"] = self.param_type
        message.additional_kwargs["param_value"] = self.param_value
        message.additional_kwargs["model_name"] = self.model_name
        self._message_index += 1
        self.messages.append(message)

    def _said_in_this_round(self) -> AIMessage | None:
        for one in reversed(self.messages):
            if one.round_index != self.chat_order:
                return None
            if isinstance(one, AIMessage):
                return one
        return None

    def _content_changed(self, message: BaseMessage) -> None:
        """Called when a message that was there has another content now."""

    def set_start_time(self, datatime: datetime) -> None:
        """Note when the conversation began."""
        self.start_date = _as_text(datatime)

    def clear(self) -> None:
        """Take all messages out; the next one added is the first again."""
        self.messages.clear()
        self._message_index = 0
        self.chat_order = 0

    def from_conversation(self, conversation: OnceConversation) -> None:
        """Become a copy of another conversation; the two share no message.

        A model, an application, parameters and a summary that are set here already stay.
        """
        self._become(conversation)
        self.messages = [one.copy() for one in conversation.messages]
        self._message_index = conversation._message_index

    def _become(self, other: OnceConversation) -> None:
        """Take over everything but the messages."""
        self.chat_mode = other.chat_mode
        self.start_date = other.start_date
        self.chat_order = other.chat_order
        self.model_name = self.model_name or other.model_name
        self.app_code = self.app_code or other.app_code
        self.param_type = self.param_type or other.param_type
        self.param_value = self.param_value or other.param_value
        self.summary = self.summary or other.summary
        self.cost = other.cost
        self.tokens = other.tokens
        self.user_name = self.user_name if other.user_name is None else other.user_name
        self.sys_code = self.sys_code if other.sys_code is None else other.sys_code

    # Reading

    def get_latest_user_message(self) -> HumanMessage | None:
        """What a person said last, or None."""
        return next((one for one in reversed(self.messages) if isinstance(one, HumanMessage)), None)

    def get_system_messages(self) -> list[SystemMessage]:
        """The instructions."""
        return [one for one in self.messages if isinstance(one, SystemMessage)]

    def get_messages_by_round(self, round_index: int) -> list[BaseMessage]:
        """The messages of one round."""
        return [one for one in self.messages if one.round_index == round_index]

    def get_latest_round(self) -> list[BaseMessage]:
        """The messages of the round under way."""
        return self.get_messages_by_round(self.chat_order)

    def get_messages_with_round(self, round_count: int) -> list[BaseMessage]:
        """The messages of the last rounds, the one under way included; round 0 is one when it holds messages.

        Raises ``InvalidInput`` for a count below 0.
        """
        check_count(round_count, "round_count")
        return [one for one in self.messages if self.chat_order - round_count < one.round_index <= self.chat_order]

    def get_model_messages(self) -> list[ModelMessage]:
        """What a model gets to see, in order. A class of your own may choose otherwise."""
        return ModelMessage.from_base_messages(self.messages)

    def get_history_message(self, include_system_message: bool = False) -> list[BaseMessage]:
        """The messages that are passed to models, instructions only on request; view messages never."""
        return [one for one in self.messages if one.pass_to_model and (include_system_message or one.type != "system")]

    def _to_dict(self) -> dict[str, Any]:
        return {**self._row(), "messages": messages_to_dict(self.messages)}

    def _row(self) -> dict[str, Any]:
        """Everything but the messages, as plain data."""
        return {
            "chat_mode": self.chat_mode,
            "model_name": self.model_name,
            "chat_order": self.chat_order,
            "start_date": _as_text(self.start_date),
            "cost": self.cost or 0,
            "tokens": self.tokens or 0,
            "param_type": self.param_type,
            "param_value": self.param_value,
            "user_name": self.user_name,
            "sys_code": self.sys_code,
            "summary": self.summary,
            "app_code": self.app_code,
        }


def next_index(messages: Iterable[BaseMessage]) -> int:
    """The index of the message that comes behind these."""
    return max((one.index for one in messages), default=-1) + 1


def _as_text(moment: str | datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if isinstance(moment, datetime) else moment or ""


def _as_messages(given: Iterable[BaseMessage | Mapping[str, Any]] | None) -> list[BaseMessage]:
    if given is None:
        return []
    made: list[BaseMessage] = []
    for one in given:
        if isinstance(one, BaseMessage):
            made.append(one)
        elif isinstance(one, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            made += messages_from_dict([one])
        else:
            raise InvalidInput(f"a conversation holds messages such as HumanMessage, not {shown(cast(object, one))}")
    return made


__all__ = ["OnceConversation", "next_index"]

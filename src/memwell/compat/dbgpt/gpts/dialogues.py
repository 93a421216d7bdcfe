"""The dialogue of several agents as a conversation of the core: who speaks is the name, the rest goes in the metadata."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any, cast

from memwell.compat.dbgpt.gpts.values import GptsMessage, check_gpts_message, moment_of
from memwell.messages import Message, Role
from memwell.values import MAX_ID_LENGTH

KEY = "gpts"
"""The key of a message's metadata that holds what the message itself has no place for."""

_ROLES = {
    "human": Role.HUMAN,
    "user": Role.HUMAN,
    "ai": Role.AI,
    "assistant": Role.AI,
    "system": Role.SYSTEM,
    "view": Role.VIEW,
}
_FIELDS = tuple(one.name for one in dataclasses.fields(GptsMessage))
_TIMES = frozenset({"created_at", "updated_at"})


def as_core(message: GptsMessage) -> Message:
    """The core's message. Raises ``InvalidInput`` for one that breaks a rule of any store."""
    check_gpts_message(message)
    role = _ROLES.get(message.role.lower(), Role.CHAT if _names(message.role) else Role.AI)
    core = Message(
        role,
        cast(Any, message.content),
        name=str(message.sender) if _names(message.sender) else None,
        time=message.created_at,
        chat_role=str(message.role) if role is Role.CHAT else None,
    )
    # What the core's message says by itself is not kept a second time.
    told = _told_by(core, message.conv_id)
    rest = {name: _plain(getattr(message, name)) for name in _FIELDS if getattr(message, name) != getattr(told, name)}
    return core.changed(metadata={KEY: rest})


def as_gpts(core: Message, conv_id: str) -> GptsMessage:
    """The message back, also one that another room wrote into the conversation."""
    told = _told_by(core, conv_id)
    rest = core.metadata.get(KEY)
    if isinstance(rest, dict):
        for name, value in cast("dict[str, Any]", rest).items():
            if name in _FIELDS:
                setattr(told, name, moment_of(value, name) if name in _TIMES else value)
    return told


def _told_by(core: Message, conv_id: str) -> GptsMessage:
    role = core.chat_role or core.role.value
    moment = core.time.replace(tzinfo=None)
    return GptsMessage(conv_id, core.name or "", "", role, core.text, created_at=moment)


def _names(text: str) -> bool:
    return 0 < len(text) <= MAX_ID_LENGTH


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    # A Status, or another kind of text, is kept as the text it is.
    return str(value) if isinstance(value, str) else value


__all__ = ["KEY", "as_core", "as_gpts"]

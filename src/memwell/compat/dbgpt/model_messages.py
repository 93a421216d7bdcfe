"""Messages as a model gets them: a role and a content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from memwell.compat.dbgpt.media import MediaContent, MessageContent, as_content, openai_content, plain_content
from memwell.compat.dbgpt.messages import BaseMessage
from memwell.errors import InvalidInput
from memwell.values import shown


class ModelMessageRoleType:
    """The roles."""

    SYSTEM: Final = "system"
    HUMAN: Final = "human"
    AI: Final = "ai"
    VIEW: Final = "view"


_TO_OPENAI = {"human": "user", "ai": "assistant", "system": "system"}
_FROM_OPENAI = {name: role for role, name in _TO_OPENAI.items()}


@dataclass
class ModelMessage:
    """What one side said. Raises ``InvalidInput`` for a content that is neither text nor a list of pieces."""

    role: str
    content: MessageContent
    round_index: int | None = 0

    def __post_init__(self) -> None:
        self.content = as_content(self.content)

    @property
    def pass_to_model(self) -> bool:
        """Whether a model gets to see it."""
        return self.role in _TO_OPENAI

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data."""
        return {"role": self.role, "content": plain_content(self.content), "round_index": self.round_index}

    @staticmethod
    def from_base_messages(messages: Iterable[BaseMessage]) -> list[ModelMessage]:
        """The messages of a conversation that models may see."""
        return [ModelMessage(one.type, one.content, one.round_index) for one in messages if one.pass_to_model]

    @staticmethod
    def from_openai_messages(messages: str | Iterable[Mapping[str, Any]]) -> list[ModelMessage]:
        """The messages of a list in OpenAI's shape, or of one bare text. Several texts in one become several messages; with
        a picture or a sound among them they stay one.

        Raises ``InvalidInput`` for a role or a content that has no place here.
        """
        if isinstance(messages, str):
            return [ModelMessage.build_human_message(messages)]
        return [made for one in messages for made in _from_openai(one)]

    @staticmethod
    def to_common_messages(
        messages: Iterable[ModelMessage],
        convert_to_compatible_format: bool = False,
        support_system_role: bool = True,
        support_media_content: bool = True,
        type_mapping: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """The messages that models may see, in OpenAI's shape; on request the last of the user's comes last.

        Raises ``InvalidInput`` for an unknown role, for a system message where there is no such role, and for a piece the
        shape cannot hold.
        """
        messages = list(messages)
        for one in messages:
            if one.role not in _TO_OPENAI and one.role != ModelMessageRoleType.VIEW:
                raise InvalidInput(f"Unsupported message role: {shown(one.role)}")
        seen = [one for one in messages if one.pass_to_model]
        if not support_system_role and any(one.role == ModelMessageRoleType.SYSTEM for one in seen):
            raise InvalidInput("Current model not support system role")
        common = [
            {
                "role": _TO_OPENAI[one.role],
                "content": openai_content(one.content, media=support_media_content, names=type_mapping),
            }
            for one in seen
        ]
        if convert_to_compatible_format:
            users = [place for place, one in enumerate(common) if one["role"] == "user"]
            common += [common.pop(users[-1])] if users else []
        return common

    @staticmethod
    def to_dict_list(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
        """The messages as plain data."""
        return [one.to_dict() for one in messages]

    @staticmethod
    def build_human_message(content: MessageContent) -> ModelMessage:
        """What a person says."""
        return ModelMessage(ModelMessageRoleType.HUMAN, content)

    @staticmethod
    def get_printable_message(messages: Iterable[ModelMessage]) -> str:
        """A line for each message, with its round and its role."""
        lines = (f"(Round {one.round_index}) {one.role}: {one.content}".rstrip() for one in messages)
        return "".join(f"{line}\n" for line in lines)

    @staticmethod
    def messages_to_string(
        messages: Iterable[ModelMessage | BaseMessage],
        human_prefix: str = "Human",
        ai_prefix: str = "AI",
        system_prefix: str = "System",
    ) -> str:
        """The messages as lines of text, each with who said it: a model's with its role, others with the prefix."""
        prefixes = {"human": human_prefix, "ai": ai_prefix, "system": system_prefix}
        lines: list[str] = []
        for one in messages:
            prefix = one.role if isinstance(one, ModelMessage) else prefixes.get(one.type)
            if prefix:
                lines.append(f"{prefix}: {one.content}")
        return "\n".join(lines)

    @staticmethod
    def parse_user_message(messages: Sequence[ModelMessage]) -> MessageContent:
        """What the user said last. Raises ``InvalidInput`` when the user said nothing."""
        for one in reversed(messages):
            if one.role == ModelMessageRoleType.HUMAN and one.content:
                return one.content
        raise InvalidInput("No user message")


def parse_model_messages(
    messages: Sequence[ModelMessage],
) -> tuple[MessageContent, list[MessageContent], list[list[MessageContent]]]:
    """What the user asks, the instructions, and the pairs of question and answer before.

    A question without an answer, or an answer without a question, is in no pair. Raises ``InvalidInput`` when the last
    message is not the user's.
    """
    if not messages or messages[-1].role != ModelMessageRoleType.HUMAN:
        raise InvalidInput("Hi! What do you want to talk about？")
    instructions = [one.content for one in messages[:-1] if one.role == ModelMessageRoleType.SYSTEM]
    exchanges: list[list[MessageContent]] = [[]]
    for one in messages[:-1]:
        if one.role in (ModelMessageRoleType.HUMAN, ModelMessageRoleType.AI):
            exchanges[-1].append(one.content)
        if one.role == ModelMessageRoleType.AI:
            exchanges.append([])
    return messages[-1].content, instructions, [pair for pair in exchanges if len(pair) == 2]


def _from_openai(message: Mapping[str, Any]) -> list[ModelMessage]:
    name = message.get("role")
    role = _FROM_OPENAI.get(name) if isinstance(name, str) else None
    if role is None:
        known = name in ("function", "tool")
        raise InvalidInput(
            f"{str(name).title()} role is not supported in ModelMessage format" if known else f"Unknown role: {name}"
        )
    content = message.get("content")
    if isinstance(content, str):
        return [ModelMessage(role, content)]
    if not isinstance(content, Iterable):
        raise InvalidInput(f"Unknown content type: {shown(message)} of {role} message")
    pieces = MediaContent.parse_chat_completion_message(
        {"content": [_refusal(one) for one in cast("Iterable[Any]", content)]}
    )
    if all(one.type == "text" for one in pieces):
        return [ModelMessage(role, one.get_text()) for one in pieces]
    return [ModelMessage(role, list(pieces))]


def _refusal(item: Any) -> Any:
    """A refusal is what the assistant said; anything else as it is."""
    match item:
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case _:
            return item


__all__ = ["ModelMessage", "ModelMessageRoleType", "parse_model_messages"]

"""Pydantic AI over memwell: message histories that last, and a toolset with which an agent remembers, recalls and forgets.

    from memwell.integrations.pydantic_ai import MemwellMessageHistory, MemwellToolset

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when Pydantic AI is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memwell._asyncify import asyncify
from memwell.errors import MissingDependency, NotFound
from memwell.history import History
from memwell.integrations.verbatim import Item, VerbatimHistory
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.messages import Role
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.registry import Store

try:
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, UserPromptPart
    from pydantic_ai.toolsets import FunctionToolset
except ModuleNotFoundError as error:

    class _MissingPydanticAI(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingPydanticAI.of("memwell.integrations.pydantic_ai needs pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["MemwellMessageHistory", "MemwellToolset"]


class MemwellMessageHistory:
    """The messages of a conversation: the thread ``session_id`` of a space, on disk when a call returns.

    ``agent.run(prompt, message_history=history.load())``, then ``history.add(result.new_messages())``. Messages
    come back as from Pydantic AI's own JSON: equal, but for a picture's ``BinaryContent``, which becomes a ``BinaryImage``.
    """

    def __init__(
        self, session_id: str, url_or_backend: Store = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE
    ) -> None:
        self.session_id = session_id
        self._kept = VerbatimHistory(url_or_backend, session_id, space, "pydantic_ai")

    @property
    def history(self) -> History:
        """The same conversation as memwell sees it."""
        return self._kept.history

    def load(self, limit: int | None = None) -> list[ModelMessage]:
        """All messages, or the last ``limit``, oldest first."""
        return ModelMessagesTypeAdapter.validate_python(self._kept.items(limit))

    def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append messages, such as ``result.new_messages()``, all or none."""
        self._kept.add(_items(messages))

    def save(self, messages: Sequence[ModelMessage]) -> None:
        """Put these messages in the place of all, such as ``result.all_messages()``, in one transaction."""
        self._kept.replace(_items(messages))

    def clear(self) -> None:
        """Delete the conversation."""
        self._kept.clear()

    aload = asyncify(load)
    aadd = asyncify(add)
    asave = asyncify(save)
    aclear = asyncify(clear)


def _items(messages: Sequence[ModelMessage]) -> list[Item]:
    made: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [Item(_role(one), _text(one), data) for one, data in zip(messages, made, strict=True)]


def _role(message: ModelMessage) -> Role:
    if not isinstance(message, ModelRequest):
        return Role.AI
    if any(isinstance(part, UserPromptPart) for part in message.parts):
        return Role.HUMAN
    return Role.TOOL if any(part.part_kind != "system-prompt" for part in message.parts) else Role.SYSTEM


def _text(message: ModelMessage) -> str:
    said: list[str] = []
    for part in message.parts:
        content: Any = getattr(part, "content", "")
        said += [one for one in (content if isinstance(content, list) else [content]) if isinstance(one, str)]  # pyright: ignore[reportUnknownVariableType]
    return "\n".join(filter(None, said))


class MemwellToolset(FunctionToolset[Any]):
    """The tools ``remember``, ``recall`` and ``forget`` over a memory that ``memwell.open`` gave.

    What the model remembers has the trust ``model``, so that it is never taken for a user's own word. ``limit`` is how many
    memories a recall returns at most.
    """

    def __init__(self, memory: MemoryLike, *, limit: int = 5, id: str | None = "memwell") -> None:  # noqa: A002
        held = as_memory(memory)

        async def remember(text: str) -> str:
            """Store a fact or a preference for later conversations. Returns its id.

            Args:
                text: One complete statement.
            """
            kept = await held.aremember(text, trust="model")
            return kept.ids[0] if kept.ids else f"Not stored: {'; '.join(kept.rejected[0].reasons)}"

        async def recall(query: str) -> list[dict[str, str]]:
            """Find what is known from earlier conversations.

            Args:
                query: A question or keywords.
            """
            hits = await held.arecall(query, limit=limit)
            return [{"id": hit.id, "text": hit.text, "when": hit.time.date().isoformat()} for hit in hits]

        async def forget(memory_id: str) -> str:
            """Forget a memory.

            Args:
                memory_id: The id that remember or recall returned.
            """
            try:
                await held.aforget(memory_id)
            except NotFound:
                return "There is no such memory."
            return "Forgotten."

        super().__init__([remember, recall, forget], id=id)

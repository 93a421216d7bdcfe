"""AutoGen over memwell: a ``Memory`` for its agents.

    from memwell.integrations.autogen import MemwellMemory

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when autogen-core is not installed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from memwell.errors import MissingDependency, Unsupported
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.recall import Recalled

try:
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import SystemMessage
except ModuleNotFoundError as error:

    class _MissingAutogen(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingAutogen.of("memwell.integrations.autogen needs autogen-core", "autogen") from error

__all__ = ["MemwellMemory"]

_KEY = "autogen"


class MemwellMemory(Memory):
    """A memory that ``memwell.open`` gave, for AutoGen's agents: texts, Markdown and JSON; ``limit`` at most are recalled.

    The context of a model gets what its last message asks for. ``clear`` erases what came through this class, and nothing
    else. Raises ``Unsupported`` for images and bytes.
    """

    component_type = "memory"

    def __init__(self, memory: MemoryLike, *, limit: int = 5) -> None:
        self.memory = as_memory(memory)
        self.limit = limit

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember a content; its metadata must be plain JSON data."""
        given = content.content
        if not isinstance(given, str | dict):
            raise Unsupported(f"a memory of AutoGen's is a text or JSON here, not {type(given).__name__}")
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        kind = content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type
        await self.memory.aremember(text, metadata={**(content.metadata or {}), _KEY: kind})

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """What answers a query, best first; keywords are options of ``recall``. A blank query finds nothing."""
        text = query if isinstance(query, str) else str(query.content)
        if not text.strip():
            return MemoryQueryResult(results=[])
        options: dict[str, Any] = {"limit": self.limit, **kwargs}
        hits = await self.memory.arecall(text, **options)
        return MemoryQueryResult(results=[_content(hit) for hit in hits])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add a system message with what the last message of the context asks for."""
        messages = await model_context.get_messages()
        last = messages[-1].content if messages else ""
        found = await self.query(last if isinstance(last, str) else "")
        if found.results:
            lines = "\n".join(f"- {one.content}" for one in found.results)
            await model_context.add_message(
                SystemMessage(content=f"What is known from earlier conversations:\n{lines}")
            )
        return UpdateContextResult(memories=found)

    async def clear(self) -> None:
        """Erase every memory that came through this class."""
        await self.memory.aerase_where({_KEY: {"$exists": True}})

    async def close(self) -> None:
        """Nothing: who opened the memory closes it."""


def _content(hit: Recalled) -> MemoryContent:
    kind: str = hit.metadata.get(_KEY, MemoryMimeType.TEXT.value)
    own = {key: value for key, value in hit.metadata.items() if key != _KEY}
    is_json = kind == MemoryMimeType.JSON.value
    known = {one.value: one for one in MemoryMimeType}
    return MemoryContent(
        content=msgspec.json.decode(hit.text) if is_json else hit.text,
        mime_type=known.get(kind, kind),
        metadata={**own, "id": hit.id, "score": hit.score, "when": hit.time.isoformat()},
    )

"""The OpenAI Agents SDK over memwell: a session that stores conversations, and instructions with what is recalled.

    from memwell.integrations.openai_agents import MemwellSession

    result = await Runner.run(agent, "Hello", session=MemwellSession("ann", "app.db"))

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when the SDK is not installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from memwell._asyncify import run_blocking
from memwell.errors import MissingDependency
from memwell.history import History
from memwell.integrations.verbatim import Item, VerbatimHistory
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.messages import Role
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.registry import Store
from memwell.values import check_count

try:
    from agents import Agent, RunContextWrapper, SessionSettings, TResponseInputItem
    from agents.memory.session import SessionABC
except ModuleNotFoundError as error:

    class _MissingAgents(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingAgents.of("memwell.integrations.openai_agents needs openai-agents", "openai-agents") from error

__all__ = ["MemwellSession", "recalled_instructions"]

Summarize = Callable[[list[TResponseInputItem]], "str | Awaitable[str]"]
_ROLES = {"user": Role.HUMAN, "assistant": Role.AI, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_TEXTS = ("text", "output", "arguments", "refusal", "summary")


class MemwellSession(SessionABC):
    """A conversation that is on disk when a call returns: the thread ``session_id`` of a space.

    Every item comes back equal to what went in, whatever its type. With ``summarize`` and ``compact_after``, the older half
    of a conversation of more items than that becomes one item with what ``summarize`` says of it; a tool's call is never
    parted from its output. ``session_settings.limit`` bounds what a run reads.
    """

    def __init__(
        self,
        session_id: str,
        url_or_backend: Store = "memwell.db",
        *,
        space: SpaceLike = DEFAULT_SPACE,
        session_settings: SessionSettings | None = None,
        summarize: Summarize | None = None,
        compact_after: int = 100,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._kept = VerbatimHistory(url_or_backend, session_id, space, "openai_agents")
        self._summarize = summarize
        self._compact_after = check_count(compact_after, "compact_after")

    @property
    def history(self) -> History:
        """The same conversation as memwell sees it."""
        return self._kept.history

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items, or the latest ``limit``, oldest first."""
        most = limit if limit is not None else self.session_settings.limit if self.session_settings else None
        return await run_blocking(lambda: self._kept.items(most))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all or none. Raises ``InvalidInput`` for one that is not plain JSON data."""
        made = [_item(one) for one in items]
        await run_blocking(lambda: self._kept.add(made))
        if self._summarize is not None:
            held = await run_blocking(self._kept.items)
            if len(held) > self._compact_after:
                await self._compact(held, self._summarize)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item and return it; None when there is none."""
        return await run_blocking(self._kept.pop)

    async def clear_session(self) -> None:
        """Delete the conversation."""
        await run_blocking(self._kept.clear)

    async def _compact(self, held: Sequence[Any], summarize: Summarize) -> None:
        cut = len(held) // 2
        # A model refuses an output whose call is gone, so the rest begins with a message.
        while cut < len(held) and "role" not in held[cut]:
            cut += 1
        said = summarize(list(held[:cut]))
        text = await said if inspect.isawaitable(said) else said
        rest = [_item(one) for one in ({"role": "user", "content": text}, *held[cut:])]
        await run_blocking(lambda: self._kept.replace(rest))


def recalled_instructions(
    memory: MemoryLike, instructions: str = "", *, limit: int = 5, min_relevance: float = 0.0
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """Instructions for ``Agent(instructions=…)``: yours, and below them what is recalled of the user's input."""

    async def instruct(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        said = [_text(one) for one in map(_fields, context.turn_input) if one.get("role") == "user"]
        if not said or not said[-1].strip():
            return instructions
        hits = await as_memory(memory).arecall(said[-1], limit=limit, min_relevance=min_relevance)
        known = "\n".join(f"- {hit.text}" for hit in hits)
        return "\n\n".join(
            filter(None, (instructions, known and f"What is known from earlier conversations:\n{known}"))
        )

    return instruct


def _fields(item: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}


def _item(item: Any) -> Item:
    fields = _fields(item)
    role = _ROLES.get(str(fields.get("role")))
    if role is None:
        role = Role.TOOL if str(fields.get("type", "")).endswith("_output") else Role.AI
    return Item(role, _text(fields), item)


def _text(value: Any) -> str:
    """The words of an item or of a part of it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return "\n".join(filter(None, (_text(fields.get(key)) for key in ("content", *_TEXTS))))
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, cast("list[Any]", value))))
    return ""

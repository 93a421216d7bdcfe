"""memwell: memory for LLM applications and agents.

    import memwell

    m = memwell.open("app.db")
    m.remember("Ann is allergic to nuts.")
    m.recall("what can Ann not eat?")

A write is on disk when a call returns, and can be recalled at once. ``m.thread("trip")`` is a conversation,
``m.context("and now?", thread="trip", budget=2000)`` is what to give a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import VERSION as _VERSION
from memwell._package import load_lazily as _load_lazily
from memwell.errors import BackendError, ConfigurationError, Conflict, InvalidInput, MemwellError, NotFound
from memwell.history import History
from memwell.messages import Message, Role, Text, ToolCall, ToolResult, ai, human, message, system, tool_result
from memwell.records import Hit, Page, Record, Space, Thread
from memwell.settings import Settings
from memwell.storage import Backend, open_backend
from memwell.windows import Round

if TYPE_CHECKING:
    from memwell.longterm.memory import Memory
    from memwell.runtime.engine import Engine
    from memwell.runtime.opening import open  # noqa: A004 - the first word users type

__version__ = _VERSION

_LAZY = {
    "Engine": "memwell.runtime.engine",
    "Memory": "memwell.longterm.memory",
    "open": "memwell.runtime.opening",
}
"""Loaded lazily: searching by meaning needs numpy, which takes a tenth of a second to load."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = _load_lazily(globals(), _LAZY)

__all__ = [
    "Backend",
    "BackendError",
    "ConfigurationError",
    "Conflict",
    "Engine",
    "History",
    "Hit",
    "InvalidInput",
    "Memory",
    "MemwellError",
    "Message",
    "NotFound",
    "Page",
    "Record",
    "Role",
    "Round",
    "Settings",
    "Space",
    "Text",
    "Thread",
    "ToolCall",
    "ToolResult",
    "__version__",
    "ai",
    "human",
    "message",
    "open",
    "open_backend",
    "system",
    "tool_result",
]

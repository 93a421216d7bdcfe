"""memwell: memory for LLM applications and agents.

    from memwell import History

    chat = History.open("chat.db", "trip")
    chat.add_human("Where did we leave off?")

What was said is on disk when a call returns; ``chat.window(tokens=2000)`` is what to give a model.
"""

from memwell.errors import BackendError, ConfigurationError, Conflict, InvalidInput, MemwellError, NotFound
from memwell.history import History
from memwell.messages import Message, Role, Text, ToolCall, ToolResult, ai, human, message, system, tool_result
from memwell.records import Hit, Page, Record, Space, Thread
from memwell.settings import Settings
from memwell.storage import Backend, open_backend
from memwell.windows import Round

__version__ = "0.1.0"

__all__ = [
    "Backend",
    "BackendError",
    "ConfigurationError",
    "Conflict",
    "History",
    "Hit",
    "InvalidInput",
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
    "open_backend",
    "system",
    "tool_result",
]

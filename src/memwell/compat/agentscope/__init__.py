"""The names of AgentScope over memwell: state, messages, memories, agents on a hub, caches. AgentScope is not needed.

Change the import line, and the rest of a program stays. The page "From AgentScope's memory" lists what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily
from memwell.compat.agentscope.agents import (
    AgentBase,
    FanoutPipeline,
    JSONSession,
    MemwellSession,
    MsgHub,
    RedisSession,
    SequentialPipeline,
    SessionBase,
    SessionNotFound,
    StateModule,
    fanout_pipeline,
    sequential_pipeline,
    stream_printing_messages,
)
from memwell.compat.agentscope.memories import (
    AsyncSQLAlchemyMemory,
    InMemoryMemory,
    MemoryBase,
    MemwellMemory,
    NoSuchPlace,
    RedisMemory,
    ThreadMemory,
)
from memwell.compat.agentscope.messages import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    ImageBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
    WrongType,
)

if TYPE_CHECKING:
    from memwell.compat.agentscope.embedding_cache import EmbeddingCacheBase, FileEmbeddingCache
    from memwell.compat.agentscope.long_term import (
        LongTermMemoryBase,
        NotStarted,
        ReMeLongTermMemoryBase,
        ReMePersonalLongTermMemory,
        ReMeTaskLongTermMemory,
        ReMeToolLongTermMemory,
        ToolResponse,
    )
    from memwell.compat.agentscope.short_term import (
        InMemoryMessageStorage,
        MemoryWithCompress,
        MessageStorageBase,
        ReMeShortTermMemory,
    )

_LAZY = {
    **dict.fromkeys(("EmbeddingCacheBase", "FileEmbeddingCache"), ".embedding_cache"),
    **dict.fromkeys(("LongTermMemoryBase", "NotStarted", "ReMeLongTermMemoryBase", "ToolResponse"), ".long_term"),
    **{f"ReMe{kind}LongTermMemory": ".long_term" for kind in ("Personal", "Task", "Tool")},
    **dict.fromkeys(("MemoryWithCompress", "MessageStorageBase", "ReMeShortTermMemory"), ".short_term"),
    "InMemoryMessageStorage": ".short_term",
}
"""Loaded when first used, because they load numpy."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = load_lazily(globals(), _LAZY)

__all__ = [
    "AgentBase", "AsyncSQLAlchemyMemory", "AudioBlock", "Base64Source", "ContentBlock", "EmbeddingCacheBase",
    "FanoutPipeline", "FileEmbeddingCache", "ImageBlock", "InMemoryMemory", "InMemoryMessageStorage", "JSONSession",
    "LongTermMemoryBase", "MemoryBase", "MemoryWithCompress", "MemwellMemory", "MemwellSession",
    "MessageStorageBase", "Msg", "MsgHub", "NoSuchPlace", "NotStarted", "ReMeLongTermMemoryBase",
    "ReMePersonalLongTermMemory", "ReMeShortTermMemory", "ReMeTaskLongTermMemory", "ReMeToolLongTermMemory",
    "RedisMemory", "RedisSession", "SequentialPipeline", "SessionBase", "SessionNotFound", "StateModule",
    "TextBlock", "ThinkingBlock", "ThreadMemory", "ToolResponse", "ToolResultBlock", "ToolUseBlock", "URLSource",
    "VideoBlock", "WrongType", "fanout_pipeline", "sequential_pipeline", "stream_printing_messages",
]  # fmt: skip

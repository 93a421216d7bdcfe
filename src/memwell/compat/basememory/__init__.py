"""``BaseMemory`` and ``BaseChatMessageMemory``: containers over any storage, and the messages and people of a chat.

Change the import line, and the rest of a program stays.
"""

from memwell.compat.basememory.memory import (
    AudioMessage,
    BaseChatMessageMemory,
    BaseMemory,
    ChatMessage,
    ChatState,
    ImageMessage,
    MediaMessage,
    NoSuchStorage,
    StoredMessages,
    SystemMessage,
    TextMessage,
    UserState,
    VideoMessage,
)
from memwell.compat.basememory.optimizing import (
    CannotOptimize,
    Compress,
    Deduplicate,
    Evict,
    OptimizationReport,
    Outcome,
    Shelf,
    SparsifyVectors,
    Step,
    Strategy,
    deep_size,
)
from memwell.compat.basememory.storages import ListStorage, SparseVector, Storage

__all__ = [
    "AudioMessage", "BaseChatMessageMemory", "BaseMemory", "CannotOptimize", "ChatMessage", "ChatState", "Compress",
    "Deduplicate", "Evict", "ImageMessage", "ListStorage", "MediaMessage", "NoSuchStorage",
    "OptimizationReport", "Outcome", "Shelf", "SparseVector", "SparsifyVectors", "Step", "Storage",
    "StoredMessages", "Strategy", "SystemMessage", "TextMessage", "UserState", "VideoMessage", "deep_size",
]  # fmt: skip

"""``BaseMemory`` and ``BaseChatMessageMemory``: containers over any storage, and the state of a chat, over the one engine.

Change the import line, and the rest of a program stays. Kinds of messages, strategies and storages of our own are here too.
"""

from memwell.compat.basememory.chat import BaseChatMessageMemory
from memwell.compat.basememory.conversation import StoredMessages
from memwell.compat.basememory.durable import DurableStorage
from memwell.compat.basememory.handlers import Handler
from memwell.compat.basememory.kinds import (
    AudioMessage,
    ChatMessage,
    ImageMessage,
    MediaMessage,
    RecallMessage,
    SystemMessage,
    TextMessage,
    VideoMessage,
)
from memwell.compat.basememory.memory import BaseMemory, NoSuchStorage
from memwell.compat.basememory.optimizing import Compress, Deduplicate, Evict, Outcome, SparsifyVectors, Strategy
from memwell.compat.basememory.reports import OptimizationReport, Step
from memwell.compat.basememory.shelf import CannotOptimize, Shelf
from memwell.compat.basememory.sizes import deep_size
from memwell.compat.basememory.states import ChatState, UserState
from memwell.compat.basememory.storages import ListStorage, Storage
from memwell.compat.basememory.vectors import SparseVector

__all__ = [
    "AudioMessage",
    "BaseChatMessageMemory",
    "BaseMemory",
    "CannotOptimize",
    "ChatMessage",
    "ChatState",
    "Compress",
    "Deduplicate",
    "DurableStorage",
    "Evict",
    "Handler",
    "ImageMessage",
    "ListStorage",
    "MediaMessage",
    "NoSuchStorage",
    "OptimizationReport",
    "Outcome",
    "RecallMessage",
    "Shelf",
    "SparseVector",
    "SparsifyVectors",
    "Step",
    "Storage",
    "StoredMessages",
    "Strategy",
    "SystemMessage",
    "TextMessage",
    "UserState",
    "VideoMessage",
    "deep_size",
]

"""Storage: the protocols, the backends, and ``open_backend``."""

from memwell.storage.protocols import (
    Backend,
    Blobs,
    Entry,
    IndexInfo,
    KeyValue,
    MessageLog,
    RecordIndex,
    ThreadInfo,
    Version,
)
from memwell.storage.registry import open_backend

__all__ = [
    "Backend",
    "Blobs",
    "Entry",
    "IndexInfo",
    "KeyValue",
    "MessageLog",
    "RecordIndex",
    "ThreadInfo",
    "Version",
    "open_backend",
]

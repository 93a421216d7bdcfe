"""Stores of several parts: a home store that is the truth, and what is placed next to it."""

from memwell.storage.composed.backend import Bytes, ComposedBackend, Part
from memwell.storage.composed.feeding import Reconciled
from memwell.storage.composed.index import FollowedIndex, StoreVectors
from memwell.storage.engines import Attached, VectorEngine

__all__ = [
    "Attached",
    "Bytes",
    "ComposedBackend",
    "FollowedIndex",
    "Part",
    "Reconciled",
    "StoreVectors",
    "VectorEngine",
]

"""Stores of several parts: a home store that is the truth, and parts and followers in other stores."""

from memwell.storage.composed.backend import ComposedBackend, Part
from memwell.storage.composed.follower import Attached, FollowedIndex, Reconciled, StoreVectors
from memwell.storage.composed.placed import Bytes
from memwell.storage.protocols import VectorEngine

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

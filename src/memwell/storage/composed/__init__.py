"""Stores of several parts: a home store that is the truth, and parts and followers in other stores."""

from memwell.storage.composed.backend import ComposedBackend, Part
from memwell.storage.composed.follower import FollowedIndex, Reconciled, StoreVectors
from memwell.storage.composed.placed import Bytes
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

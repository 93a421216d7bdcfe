"""Stores of several parts: one home that decides, and engines beside it."""

from memwell.storage.composed.attached import Attached
from memwell.storage.composed.backend import Bytes, ComposedBackend, Part
from memwell.storage.composed.beside import IndexBeside
from memwell.storage.composed.engines import StoreVectors
from memwell.storage.composed.feeding import Reconciled
from memwell.storage.engines import VectorEngine

__all__ = ["Attached", "Bytes", "ComposedBackend", "IndexBeside", "Part", "Reconciled", "StoreVectors", "VectorEngine"]

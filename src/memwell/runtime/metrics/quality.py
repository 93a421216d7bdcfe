"""How well recall did when it was last measured, kept in a store for its overview."""

from __future__ import annotations

import msgspec

from memwell.runtime.metrics.trends import FIGURES
from memwell.runtime.wire.figures import Quality
from memwell.storage.protocols import KeyValue

_KEY = "quality"


def note_quality(kv: KeyValue, quality: Quality) -> None:
    """Keep a measurement in the place of the one before."""
    kv.put(FIGURES, _KEY, msgspec.to_builtins(quality))


def last_quality(kv: KeyValue) -> Quality | None:
    """The last measurement, or None when there was none."""
    entry = kv.get(FIGURES, _KEY)
    return None if entry is None else msgspec.convert(entry.value, Quality)


__all__ = ["last_quality", "note_quality"]

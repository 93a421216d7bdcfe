"""The last measurement is found again."""

from __future__ import annotations

from datetime import UTC, datetime

from memwell.runtime.metrics import last_quality, note_quality
from memwell.runtime.wire.figures import Quality
from memwell.storage.memory import MemoryBackend


def test_the_last_measurement_is_found_again():
    kv = MemoryBackend().kv
    assert last_quality(kv) is None
    when = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
    for data in ("LoCoMo", "茶"):
        told = Quality(data=data, ndcg10=0.61, recall10=0.75, queries=12, time=when)
        note_quality(kv, told)
        assert last_quality(kv) == told

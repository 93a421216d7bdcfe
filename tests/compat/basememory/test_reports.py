"""A report reads well in both languages."""

from __future__ import annotations

import pytest

from memwell.compat.basememory import (
    BaseMemory,
    Deduplicate,
    Evict,
    ListStorage,
    OptimizationReport,
    SparsifyVectors,
    Step,
)
from memwell.compat.basememory.reports import _REASONS, _WORDS
from memwell.errors import InvalidInput


def test_every_phrase_is_in_both_languages() -> None:
    for english, chinese in [*_REASONS.values(), *_WORDS.values()]:
        assert english.isascii() or "·" in english or "…" in english
        assert any("\u4e00" <= one <= "\u9fff" for one in chinese)


def test_it_says_what_was_done_and_what_was_lost() -> None:
    memory = BaseMemory(messages=ListStorage(["x" * 1000 for _ in range(4)]), vectors=[[0.5, 0.25] * 20])
    report = memory.optimize(Deduplicate(drop=True), Evict(keep=0), SparsifyVectors(), only=["messages", "vectors"])
    english, chinese = report.in_words(), report.in_words("zh")
    assert str(report) == english
    assert "messages · Deduplicate: 4 items, now 1" in english
    assert "1 distinct items lost, as told" in english
    assert "按要求丢弃了 1 项不同的内容" in chinese
    assert len(english.splitlines()) == len(chinese.splitlines()) == 7


def test_repeats_that_were_dropped_are_counted() -> None:
    memory = BaseMemory(messages=ListStorage(["a", "b", "a", "a", "c"]))
    [step] = memory.optimize(Deduplicate(drop=True)).steps
    assert (step.repeats, step.lost, step.items_after) == (2, 0, 3)
    assert step.in_words().endswith("; no distinct content lost, 2 repeats removed")
    assert step.in_words("zh").endswith("；没有丢失不同的内容，移除了 2 项重复")
    memory = BaseMemory(messages=ListStorage(["a", "b", "a", "c", "c"]))
    [step] = memory.optimize(Evict(keep=2)).steps
    assert (step.repeats, step.lost) == (1, 2)
    assert step.in_words().endswith("; 2 distinct items lost, as told, 1 repeats removed")
    [step] = BaseMemory(messages=ListStorage(["a", "b"])).optimize(Deduplicate(drop=True)).steps
    assert step.in_words().endswith("; nothing lost")


def test_what_was_skipped_says_why() -> None:
    step = BaseMemory((str(12345), str(12345))).optimize(Deduplicate()).steps[0]
    assert step.skipped == "no-setitem"
    assert step.in_words() == "data · Deduplicate: skipped, the storage has no __setitem__"
    assert step.in_words("zh") == "data · Deduplicate：跳过，该存储没有 __setitem__"


def test_an_empty_memory_saves_nothing() -> None:
    empty = OptimizationReport(bytes_before=0, bytes_after=0, steps=())
    assert (empty.saved, empty.share, empty.lost) == (0, 0.0, 0)


def test_another_language_is_refused() -> None:
    step = Step(strategy="s", storage="d", items_before=0, items_after=0, bytes_before=0, bytes_after=0)
    with pytest.raises(InvalidInput, match="'en' or 'zh'"):
        step.in_words("fr")

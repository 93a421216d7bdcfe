"""Retrieval by meaning, time and importance, of documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from memwell.compat.dbgpt.retriever import Chunk, LongTermRetriever
from memwell.errors import InvalidInput
from memwell.filters import Where

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.0] if "apple" in text else [0.6, 0.8] for text in texts]


def chunk(text: str, hours_ago: float = 0.0, **metadata: Any) -> Chunk:
    return Chunk(text, {"last_accessed_at": NOW - timedelta(hours=hours_ago), **metadata})


@pytest.fixture
def retriever() -> Iterator[LongTermRetriever]:
    made = LongTermRetriever(NOW, embedder=embed)
    yield made
    made.memory.close()  # type: ignore[attr-defined] - it was opened here, so it is an engine


def test_the_score_is_the_sum(retriever: LongTermRetriever):
    ids = retriever.load_document([chunk("apple", 10, importance=0.5), chunk("pear", 30, importance=0.8)])
    found = retriever.retrieve("apple")
    assert [one.chunk_id for one in found] == ids
    expected = [1.0 + 0.99**10 + 0.5, 0.6 + 0.99**30 + 0.8]
    assert [one.score for one in found] == pytest.approx(expected, abs=1e-3)
    assert found[0].metadata == {"importance": 0.5, "last_accessed_at": (NOW - timedelta(hours=10)).astimezone(UTC)}
    assert retriever.retrieve_with_scores("apple", 2.5)[0].score == pytest.approx(1.0 + 1.0 + 0.5, abs=1e-3)
    assert retriever.retrieve_with_scores("apple", 99.0) == []


def test_what_is_loaded_again_takes_the_place_of_the_old(retriever: LongTermRetriever):
    one = chunk("apple")
    assert retriever.load_documents([one]) == asyncio.run(retriever.aload_document([one])) == [one.chunk_id]
    one.content = "pear"
    asyncio.run(retriever.aload_documents([one]))
    assert [found.content for found in asyncio.run(retriever.aretrieve("x"))] == ["pear"]


def test_only_the_best_are_returned():
    retriever = LongTermRetriever(NOW, None, 2, embedder=None, k=3, alpha=0, beta=0, gamma=1)
    retriever.load_document([chunk(f"number {n}", importance=n) for n in range(5)])
    assert [one.content for one in retriever.retrieve("x")] == ["number 4", "number 3"]


@pytest.mark.parametrize(
    "filters",
    [
        {"city": "Paris"},
        Where("city", "eq", "Paris"),
        SimpleNamespace(filters=[SimpleNamespace(key="city", value="Paris")]),
        SimpleNamespace(filters=[SimpleNamespace(key="city", value="Paris", operator=SimpleNamespace(value="=="))]),
        SimpleNamespace(filters=[Where("city", "eq", "Paris")]),
    ],
)
def test_filters_come_in_many_shapes(retriever: LongTermRetriever, filters: Any):
    retriever.load_document([chunk("apple", city="Paris"), chunk("pear", city="Rome"), chunk("stone")])
    assert [one.content for one in retriever.retrieve("x", filters)] == ["apple"]
    assert len(retriever.retrieve("x", {})) == len(retriever.retrieve("x", SimpleNamespace(filters=[]))) == 3


@pytest.mark.parametrize(
    "bad",
    [7, "x", {"$odd": 1}, SimpleNamespace(filters=[SimpleNamespace(key="a", value=1, operator=">")])],
)
def test_filters_that_are_none_are_refused(retriever: LongTermRetriever, bad: Any):
    retriever.load_document([chunk("apple", a=1)])
    with pytest.raises(InvalidInput):
        retriever.retrieve("x", bad)


@pytest.mark.parametrize(
    "bad",
    [
        "apple",
        None,
        Chunk(7),  # pyright: ignore[reportArgumentType]
        chunk("apple", importance=-1),
        chunk("apple", importance="high"),
        Chunk("apple", {"last_accessed_at": "today"}),
        Chunk("apple", {"odd": {1, 2}}),
    ],
)
def test_a_document_that_cannot_be_kept_keeps_out_the_others(retriever: LongTermRetriever, bad: Any):
    with pytest.raises(InvalidInput):
        retriever.load_document([chunk("pear"), bad])
    assert retriever.retrieve("x") == []


def test_times_may_be_seconds(retriever: LongTermRetriever):
    retriever.load_document([Chunk("apple", {"last_accessed_at": NOW.timestamp() - 36_000})])
    retriever.load_document([Chunk("apple too")], current_time=NOW - timedelta(hours=10))
    assert [one.score for one in retriever.retrieve("apple")] == pytest.approx([1.0 + 0.99**10] * 2, abs=1e-3)


@pytest.mark.parametrize(
    "bad",
    [{"k": -1}, {"top_k": "x"}, {"decay_rate": 1.0}, {"decay_rate": True}, {"alpha": float("inf")}, {"now": "today"}],
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]):
    with pytest.raises(InvalidInput):
        LongTermRetriever(**bad, embedder=None)

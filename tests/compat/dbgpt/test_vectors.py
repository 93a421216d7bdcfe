from __future__ import annotations

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.vectors import TextVectors
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.models.scripted import HashEmbedder


class Documents:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class AsyncDocuments:
    async def embed_documents(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return [[float(len(text)), 1.0] for text in texts]


class Query:
    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class AsyncQuery:
    async def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class Embeds:
    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]


async def later(texts: list[str]) -> list[tuple[float, int]]:
    return [(float(len(text)), 1) for text in texts]


def hands_over(texts: list[str]) -> Any:
    return later(texts)


@pytest.mark.parametrize(
    "embeddings",
    [Documents(), AsyncDocuments(), Query(), AsyncQuery(), Embeds(), Embeds().embed, later, hands_over],
)
def test_whatever_makes_vectors(embeddings: Any) -> None:
    vectors = TextVectors(embeddings)
    assert asyncio.run(vectors.of_fragment(AgentMemoryFragment("tea"))) == [3.0, 1.0]
    assert asyncio.run(vectors.of_query("green")) == [5.0, 1.0]


def test_an_embedder_of_the_house() -> None:
    vectors = TextVectors(HashEmbedder(16))
    found = asyncio.run(vectors.of_fragment(AgentMemoryFragment("tea")))
    assert found == asyncio.run(vectors.of_query("tea"))
    assert (len(found), math.hypot(*found)) == (16, pytest.approx(1.0))


def test_a_fragment_may_calculate_its_own() -> None:
    class Own(AgentMemoryFragment):
        def calculate_current_embeddings(self, embedding_func: Any) -> list[float]:
            return [2 * one for one in embedding_func([self.raw_observation])[0]]

    assert asyncio.run(TextVectors(Documents()).of_fragment(Own("tea"))) == [6.0, 2.0]
    assert asyncio.run(TextVectors(later).of_fragment(Own("tea"))) == [6.0, 2.0]


def test_blocking_calls_run_in_the_executor() -> None:
    names: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        names.append(threading.current_thread().name)
        return [[1.0]]

    with ThreadPoolExecutor(1, thread_name_prefix="mine") as executor:
        asyncio.run(TextVectors(embed, executor).of_fragment(AgentMemoryFragment("tea")))
        asyncio.run(TextVectors(embed).of_query("tea"))
    assert names[0].startswith("mine")
    assert not names[1].startswith("mine")
    assert names[1] != threading.current_thread().name


def fails(texts: list[str]) -> Any:
    raise OSError("no line")


async def fails_later(texts: list[str]) -> Any:
    raise OSError("no line")


@pytest.mark.parametrize(
    ("embeddings", "error"),
    [
        (fails, ModelError),
        (fails_later, ModelError),
        (lambda texts: [[math.nan]], BadModelOutput),
        (lambda texts: [["a"]], BadModelOutput),
        (lambda texts: [[]], BadModelOutput),
        (lambda texts: [], BadModelOutput),
        (lambda texts: 5, BadModelOutput),
    ],
)
def test_a_model_that_fails(embeddings: Any, error: type[Exception]) -> None:
    for call in (TextVectors(embeddings).of_query("x"), TextVectors(embeddings).of_fragment(AgentMemoryFragment("x"))):
        with pytest.raises(error):
            asyncio.run(call)


@pytest.mark.parametrize("bad", [None, 5, "words", Documents])
def test_what_makes_no_vectors_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="embeddings must be"):
        TextVectors(bad)

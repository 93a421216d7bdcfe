"""Semantic Kernel's vector store over memwell, beside Semantic Kernel's own in memory."""

# Semantic Kernel reads the annotations of a record's fields, so they are no texts here.
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

pytest.importorskip("semantic_kernel", reason="semantic-kernel is not installed: make test installs it apart")
from semantic_kernel.connectors.in_memory import InMemoryStore
from semantic_kernel.data.vector import DistanceFunction, VectorStore, VectorStoreField, vectorstoremodel
from semantic_kernel.exceptions import VectorStoreException

from memwell.integrations.semantic_kernel import MemwellKernelStore
from memwell.storage.registry import close_shared
from tests.engines.postgres import store_url


@vectorstoremodel(collection_name="notes")
@dataclass
class Note:
    id: Annotated[str, VectorStoreField("key")]
    text: Annotated[str, VectorStoreField("data")]
    year: Annotated[int, VectorStoreField("data")]
    tags: Annotated[list[str], VectorStoreField("data")]
    vector: Annotated[
        list[float] | None,
        VectorStoreField("vector", dimensions=2, distance_function=DistanceFunction.COSINE_SIMILARITY),
    ] = None


NOTES = [
    Note("a", "green tea", 2020, ["x"], [1.0, 0.0]),
    Note("b", "绿茶", 2021, ["x", "y"], [0.0, 1.0]),
    Note("c", "coffee", 2022, [], [0.7071067811865476, 0.7071067811865476]),
]
FILTERS = [
    None,
    "lambda x: x.year >= 2021",
    "lambda x: x.year > 2020 and not x.text == 'coffee'",
    "lambda x: x.text in ['coffee', 'green tea'] or x.year != 2021",
    "lambda x: 'y' in x.tags",
]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemwellKernelStore]:
    url = store_url(tmp_path / "store") if request.param == "postgres" else str(tmp_path / "app.db")
    yield MemwellKernelStore(url)
    close_shared()


async def searched(collection: Any, **options: Any) -> list[tuple[str, float]]:
    found = await collection.search(vector=[1.0, 0.1], **options)
    return [(one.record.id, round(one.score, 2)) async for one in found.results]


async def test_searches_and_reads_are_those_of_semantic_kernels_own_store(store: MemwellKernelStore):
    assert isinstance(store, VectorStore)
    ours, theirs = (one.get_collection(Note) for one in (store, InMemoryStore()))
    for one in (ours, theirs):
        assert await one.upsert(NOTES) == ["a", "b", "c"]
        assert await one.upsert(Note("a", "black tea", 2020, ["x"], [1.0, 0.0])) == "a"
    for wanted in FILTERS:
        for options in ({"top": 10}, {"top": 1}, {"top": 2, "skip": 1}):
            assert await searched(ours, filter=wanted, **options) == await searched(theirs, filter=wanted, **options)
    # All filters of a list must hold, as Semantic Kernel's documentation says; its store in memory takes any of them.
    both = ["lambda x: x.year < 2022", "lambda x: x.year <= 2020"]
    assert await searched(ours, filter=both, top=10) == [("a", 1.0)]
    for vectors in (False, True):
        assert await ours.get(["b", "none"], include_vectors=vectors) == await theirs.get(
            ["b", "none"], include_vectors=vectors
        )
    read = await ours.get("a", include_vectors=True)
    assert read == Note("a", "black tea", 2020, ["x"], [1.0, 0.0])
    await ours.delete(["a", "none"])
    assert await ours.get("a") is None


async def test_collections_are_apart_listed_and_deleted(store: MemwellKernelStore):
    notes, other = store.get_collection(Note), store.get_collection(Note, collection_name="other")
    assert not await notes.collection_exists()
    await notes.upsert(NOTES)
    await other.ensure_collection_exists()
    assert await store.list_collection_names() == ["notes", "other"]
    assert await other.get("a") is None
    ordered = await notes.get(top=2, order_by={"year": False})
    assert [one.id for one in ordered] == ["c", "b"]
    found = await notes.search(vector=[1.0, 0.0], include_total_count=True, include_vectors=True, top=1)
    [result] = [one async for one in found.results]
    assert (found.total_count, result.record.vector) == (3, [1.0, 0.0])
    await store.ensure_collection_deleted("notes")
    assert await store.list_collection_names() == ["other"]
    assert await store.get_collection(Note).get("a") is None


async def test_what_memwell_cannot_do_is_refused(store: MemwellKernelStore):
    notes = store.get_collection(Note)
    await notes.upsert(NOTES)
    for wanted in ("lambda x: x.text.startswith('a')", "lambda x: x.year == x.id", "lambda x: len(x.text) > 1"):
        with pytest.raises(VectorStoreException):
            await notes.search(vector=[1.0, 0.0], filter=wanted)

    @vectorstoremodel(collection_name="far")
    @dataclass
    class Far:
        id: Annotated[str, VectorStoreField("key")]
        vector: Annotated[
            list[float] | None,
            VectorStoreField("vector", dimensions=2, distance_function=DistanceFunction.EUCLIDEAN_DISTANCE),
        ] = None

    with pytest.raises(VectorStoreException, match="cosine"):
        store.get_collection(Far)

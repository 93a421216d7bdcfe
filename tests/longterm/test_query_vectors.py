from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memwell.longterm.makers import Makers
from memwell.longterm.memory import Memory
from memwell.longterm.query_vectors import Asked, QueryVectors
from memwell.models.named import offer_embedder
from memwell.records import Space
from memwell.storage import open_backend
from tests.senses import Sense

INNER = Space("ann", "memwell")


def test_a_query_is_embedded_once_by_whoever_made_the_vectors():
    with open_backend("memory:") as backend:
        chosen, other = Sense("chosen"), Sense("other, and offered")
        offer_embedder(other)
        vectors = QueryVectors(Makers(backend.kv, INNER, chosen))
        for _ in range(3):
            assert vectors.of("tea").model is None
        assert (chosen.embedded, other.embedded) == (1, 0)
        asked = vectors.of("tea")
        Makers(backend.kv, INNER, other).give_way(other.name)
        assert not vectors.still(asked, 7), "others were made meanwhile"
        asked = vectors.of("tea")
        assert asked.model == other.name
        assert vectors.still(asked, 8)
        assert (chosen.embedded, other.embedded) == (1, 1)
        vectors.clear()
        vectors.of("tea")
        assert other.embedded == 2


def test_where_nothing_was_written_the_store_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    with open_backend("memory:") as backend:
        vectors = QueryVectors(Makers(backend.kv, INNER, Sense("chosen")))
        assert vectors.still(vectors.of("tea"), 3)
        monkeypatch.setattr(type(backend.kv), "get", lambda *given: pytest.fail("it was asked"))
        assert vectors.still(vectors.of("coffee"), 3)
        assert vectors.still(Asked(None, None))


@pytest.mark.parametrize("query", ["", " \n"])
def test_nothing_has_no_direction(query: str):
    with open_backend("memory:") as backend:
        assert QueryVectors(Makers(backend.kv, INNER, Sense("chosen"))).of(query) == Asked(None, None)
        assert QueryVectors(Makers(backend.kv, INNER, None)).of("tea") == Asked(None, None)


@pytest.mark.parametrize("size", [256, 192])
@pytest.mark.parametrize("held", [True, False])
def test_a_swap_between_the_embedding_and_the_search_is_noticed(size: int, held: bool, monkeypatch: pytest.MonkeyPatch):
    """Whether the whole space is held or the store is asked: never are vectors of two models compared."""
    offer_embedder(Sense("swapped in", size))
    with open_backend("memory:") as backend:

        class Slow(Sense):
            def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
                if texts == ["vehicle"]:
                    Memory(backend, "ann", embedder=Sense("swapped in", size)).settle()
                return super().embed(texts)

        memory = Memory(backend, "ann", embedder=Slow("slow"))
        memory.remember(["Ann bought an automobile.", "Bob has a feline.", "Cy drinks oolong."])
        memory.settle()
        if not held:
            monkeypatch.setattr(type(memory._pools), "suits", lambda self, space: False)
        hit = memory.recall("vehicle", limit=1)[0]
        assert hit.text == "Ann bought an automobile."
        assert hit.signals["dense"].value > 0.3
        assert list(memory.similarities("vehicle", [hit.id])) == [hit.id]

from __future__ import annotations

import pytest

from memwell.models.local import LocalEmbedder
from memwell.models.named import embedder_named, offer_embedder
from memwell.models.scripted import HashEmbedder
from tests.senses import Sense


@pytest.mark.parametrize("mode", ["local", "minilm", "use"])
def test_what_comes_along_is_known_by_its_name(mode: str):
    name = LocalEmbedder(mode).name  # type: ignore[arg-type]
    for known in (mode, name):
        found = embedder_named(known)
        assert found is not None
        assert found.name == name


@pytest.mark.parametrize("size", [8, 64, 1000])
def test_a_scripted_one_is_known_by_its_name(size: int):
    found = embedder_named(HashEmbedder(size).name)
    assert found is not None
    assert found.dimensions == size


@pytest.mark.parametrize("name", ["", "hash-3-1", "hash-64-0", "hash-64", "hash-٦٤-1", "Local", "gpt"])
def test_a_name_that_nobody_has_is_not_known(name: str):
    assert embedder_named(name) is None


def test_any_other_can_be_offered():
    mine = Sense("mine and nobody else's")
    assert embedder_named(mine.name) is None
    offer_embedder(mine)
    assert embedder_named(mine.name) is mine

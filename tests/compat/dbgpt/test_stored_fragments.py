"""Fragments as memories: ids, labels, importances."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.stored_fragments import Owner, as_core_embedder, as_share, fragment_id, opened, stored
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend

NOW = datetime(2024, 5, 7, 12, tzinfo=UTC)


@given(
    st.integers(1, 2**63 - 1),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)),
    st.sampled_from([None, "s", "t"]),
)
def test_the_id_of_a_fragment_is_read_back_from_that_of_its_memory(number: int, labels: dict[str, int], session: Any):
    assert fragment_id(Owner(labels, session).record_id(number)) == number


@given(st.text())
def test_what_was_never_a_fragment_has_an_id_of_63_bits(name: str):
    assert 0 <= fragment_id(f"insight:{name}") < 2**63
    assert fragment_id(f"insight:{name}") != fragment_id(f"insight:{name}!")


def test_owners_differ_by_labels_and_session():
    owners = [Owner(None), Owner({"a": 1}), Owner({"a": "1"}), Owner({"a": 1}, "s"), Owner(None, "s"), Owner(None, "t")]
    assert len({owner.record_id(7) for owner in owners}) == len(owners)
    assert Owner(None).record_id(7) == Owner({}).record_id(7) == "7"


def test_a_fragment_is_stored_with_what_it_says_of_itself():
    one = AgentMemoryFragment("apple", memory_id=7, is_insight=True)
    made = stored(one, 2.5, NOW, Owner({"agent": "me"}, "s"))
    assert (made.text, made.importance, made.time, made.kind) == ("apple", 0.25, NOW, "insight")
    labels = {"memory_type": "long_term", "agent": "me", "session_id": "s"}
    assert made.metadata == {**labels, "dbgpt": {"labelled": True}}


@pytest.mark.parametrize("bad", [-1, 10.5, "x", None, True, float("nan")])
def test_an_importance_is_from_0_to_10(bad: Any):
    with pytest.raises(InvalidInput):
        as_share(bad)
    assert (as_share(0), as_share(10)) == (0.0, 1.0)


def test_what_people_have_for_embedding():
    given_one = HashEmbedder(8)
    assert as_core_embedder(given_one) is given_one
    assert (as_core_embedder(None), as_core_embedder("local")) == (None, "local")
    with pytest.raises(InvalidInput):
        as_core_embedder(7)


def test_a_backend_is_the_callers_to_close():
    backend = open_backend("memory:")
    assert opened(backend, "local", "me").embedder is not None
    memory = opened(backend, None, "me")
    assert type(memory) is Memory
    assert memory.backend is backend
    backend.close()

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition import Belief, Cognition, concepts
from memwell.cognition.concepts import KeptConcept, as_concept, concept_draft, is_groundless, says_same
from memwell.cognition.named import NamedMemories
from memwell.longterm.memory import Memory
from memwell.storage import open_backend

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8))
def test_a_belief_without_what_is_gone_is_that_of_the_rest(heard: list[tuple[bool, bool]]) -> None:

    with open_backend("memory:") as backend:
        named = NamedMemories(Memory(backend, "ann", embedder=None), "concept", KeptConcept)
        belief, rest = Belief(0.8, 5.0), Belief(0.8, 5.0)
        evidence: list[concepts.Testimony] = []
        for number, (supports, stays) in enumerate(heard):
            evidence.append(concepts.Testimony(f"{number}", supports, NOON, "here" if stays else "gone"))
            belief = belief.seen(supports)
            rest = rest.seen(supports) if stays else rest
        kept = KeptConcept("tea", "a drink", belief=belief, evidence=tuple(evidence))
        found = named.change("tea", lambda old: concept_draft(kept, "stored", ()))
        assert as_concept(found).belief == belief
        seen = as_concept(found, {"gone"})
        assert seen.belief == rest
        assert {one.source for one in seen.evidence} <= {"here"}


def test_what_was_stated_stands_whatever_it_was_heard_from(mind: Cognition) -> None:
    turn = mind.episodic.store("A canary is a bird")
    mind.semantic.learn("canary", "a bird", by="ann", source=turn)
    found = mind.memory.get(mind.semantic.get("canary").id)
    assert is_groundless(found, {turn})
    assert not is_groundless(found, set())
    mind.memory.forget(turn)
    assert mind.semantic.concepts() == []
    mind.semantic.store("canary", "a bird")
    assert [one.name for one in mind.semantic.concepts()] == ["canary"]


def test_definitions_say_the_same_in_other_words() -> None:
    assert says_same("a red planet", "The red planet.")
    assert says_same("一种检索增强生成技术", "检索增强生成技术")
    assert not says_same("a red planet", "a chocolate bar")

"""The memory of one agent over any other memory."""

from __future__ import annotations

from datetime import datetime

from memwell.compat.dbgpt.agent import AgentMemory
from memwell.compat.dbgpt.fragments import AgentMemoryFragment, WriteOperation
from memwell.compat.dbgpt.hybrid import HybridMemory
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.compat.dbgpt.memory import ContentImportanceScorer, LLMInsightExtractor
from memwell.compat.dbgpt.short_term import ShortTermMemory

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it


def texts(fragments: list[AgentMemoryFragment]) -> list[str]:
    return [one.raw_observation for one in fragments]


def test_by_itself_it_has_the_last_five_in_mind():
    memory = AgentMemory()
    for number in range(5):
        assert memory.write_sync(AgentMemoryFragment(f"number {number}")) is None
    discarded = memory.write_sync(AgentMemoryFragment("number 5"))
    assert discarded is not None
    assert texts(discarded.discarded_memory_fragments) == ["number 0"]
    assert texts(memory.read_sync("x")) == [f"number {n}" for n in range(1, 6)]
    assert len(memory.clear_sync()) == 5
    assert memory.read_sync("x") == []


def test_why_something_is_written_is_passed_on():
    memory = AgentMemory()
    memory.write_sync(AgentMemoryFragment("recalled"), op=WriteOperation.RETRIEVAL)
    memory.write_batch_sync([AgentMemoryFragment("new")])
    assert texts(memory.read_sync("x")) == ["new"]


def test_weights_are_passed_on():
    with LongTermMemory[AgentMemoryFragment](now=NOW, embedder=None) as long:
        memory = AgentMemory(long)
        memory.write_batch_sync([AgentMemoryFragment("low", importance=1), AgentMemoryFragment("high", importance=9)])
        assert texts(memory.read_sync("x", gamma=1.0))[0] == "high"
        assert texts(memory.read_sync("x", gamma=-1.0))[0] == "low"


def test_it_names_the_scorer_of_its_memory():
    scorer, extractor = ContentImportanceScorer[AgentMemoryFragment](), LLMInsightExtractor[AgentMemoryFragment]()
    memory = AgentMemory(None, scorer, extractor)
    memory.initialize("me", session_id="s")
    assert (memory.memory.name, memory.memory.session_id) == ("me", "s")
    assert (memory.memory.importance_scorer, memory.memory.insight_extractor) == (scorer, extractor)
    assert memory.memory.real_memory_fragment_class is AgentMemoryFragment


def test_a_clone_shares_plans_and_messages_and_what_is_kept():
    with LongTermMemory[AgentMemoryFragment](now=NOW, embedder=None) as long:
        short = ShortTermMemory[AgentMemoryFragment](1)
        memory = AgentMemory(HybridMemory(NOW, short_term_memory=short, long_term_memory=long))
        memory.initialize("me")
        memory.write_batch_sync([AgentMemoryFragment("apple"), AgentMemoryFragment("pear")])
        clone = memory.structure_clone()
        assert clone.gpts_memory is memory.gpts_memory
        assert clone.plans_memory is memory.plans_memory
        assert clone.message_memory is memory.message_memory
        assert clone.name == clone.memory.name == "me"
        assert texts(clone.read_sync("apple")) == ["apple"]
        assert set(texts(memory.read_sync("apple"))) == {"apple", "pear"}


def test_the_session_that_is_set_is_that_of_its_memory():
    with LongTermMemory[AgentMemoryFragment](now=NOW, embedder=None, _default_importance=1.0) as long:
        memory = AgentMemory(HybridMemory(NOW, long_term_memory=long))
        for session in ("s1", "s2"):
            memory.session_id = session
            long.write_sync(AgentMemoryFragment(f"apple of {session}"))
        assert (memory.session_id, memory.memory.session_id, long.session_id) == ("s2", "s2", "s2")
        assert texts(memory.read_sync("apple")) == ["apple of s2"]
        assert texts(memory.clear_sync()) == ["apple of s2"]
        assert [one.text for one in long.memory.memories()] == ["apple of s1"]

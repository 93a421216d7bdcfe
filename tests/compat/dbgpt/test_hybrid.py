"""The three memories as one: a fragment goes all the way or nowhere, and a read finds it wherever it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memwell
from memwell.compat.dbgpt.hybrid import HybridMemory
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.compat.dbgpt.memory import AgentMemoryFragment, ImportanceScorer, InsightExtractor, InsightMemoryFragment
from memwell.compat.dbgpt.short_term import EnhancedShortTermMemory, SensoryMemory, ShortTermMemory
from memwell.errors import BackendError, FileError
from memwell.longterm.memory import Memory as LastingMemory
from memwell.longterm.traits import importance_of

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it
Fragment = AgentMemoryFragment
Hybrid = HybridMemory[AgentMemoryFragment]


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[float("apple" in text), float("pear" in text), 0.1 + float("stone" in text)] for text in texts]


def hybrid(
    store: Any = None,
    *,
    buffer_size: int = 2,
    sensory: int = 0,
    scorer: Any = None,
    extractor: Any = None,
    k: int = 100,
) -> Hybrid:
    return HybridMemory(
        NOW, SensoryMemory(sensory), ShortTermMemory(buffer_size),
        LongTermMemory(vector_store=store, now=NOW, embedder=None, k=k), default_insight_extractor=extractor,
        default_importance_scorer=scorer,
    )  # fmt: skip


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hybrid]:
    made = hybrid(None if request.param == "memory" else tmp_path / "agent.db")
    yield made
    made.long_term_memory.close()


def in_mind(memory: Hybrid) -> list[str]:
    return [one.raw_observation for one in memory.short_term_memory.short_term_memories]


def kept(memory: Hybrid) -> set[str]:
    return {one.text for one in memory.long_term_memory.memory.memories()}


def write(memory: Hybrid, *texts: str) -> list[Fragment]:
    made = [Fragment(text) for text in texts]
    for one in made:
        memory.write_sync(one)
    return made


def weighed(text: str) -> float:
    """What the content of a text is worth to a memory that asks nobody else."""
    return round(9 * importance_of(text), 9)


class Extractor(InsightExtractor[Fragment]):
    async def extract_insights(self, memory_fragment: Fragment, llm_client: Any = None) -> Any:
        text = memory_fragment.raw_observation
        return InsightMemoryFragment(memory_fragment, [f"first of {text}", f"second of {text}"])


class Failing(ImportanceScorer[Fragment], InsightExtractor[Fragment]):
    """Raises, or is cancelled, when it comes to a text."""

    def __init__(self, text: str, error: BaseException) -> None:
        self.text, self.error = text, error

    async def score_importance(self, memory_fragment: Fragment, llm_client: Any = None) -> float:
        await asyncio.sleep(0)
        if self.text in memory_fragment.raw_observation:
            raise self.error
        return 5.0

    async def extract_insights(self, memory_fragment: Fragment, llm_client: Any = None) -> Any:
        await self.score_importance(memory_fragment)
        return InsightMemoryFragment(memory_fragment, [f"of {memory_fragment.raw_observation}"])


class TestWriting:
    def test_all_that_was_concluded_is_kept_with_an_importance(self):
        memory = hybrid(extractor=Extractor(), buffer_size=1)
        write(memory, "apple", "pear")
        assert kept(memory) == {"apple", "first of apple", "second of apple"}
        found = memory.long_term_memory.read_sync("apple")
        assert {(one.raw_observation, one.is_insight, one.importance) for one in found} == {
            ("apple", False, 1.8),
            ("first of apple", True, weighed("first of apple")),
            ("second of apple", True, weighed("second of apple")),
        }

    def test_without_a_scorer_the_content_says_what_a_fragment_is_worth(self, memory: Hybrid):
        said = ["ok", "Ann is allergic to nuts.", "会议定在5月3日，记住地址。"]
        write(memory, *said, "one", "two")
        held = {one.text: round(one.importance * 10, 9) for one in memory.long_term_memory.memory.memories()}
        assert held == {text: weighed(text) for text in said}
        assert len(set(held.values())) == len(said)

    @given(importance=st.floats(0.1, 10), sensory=st.integers(0, 2), size=st.integers(0, 2), batch=st.booleans())
    def test_an_importance_that_was_given_arrives_as_it_is(
        self, importance: float, sensory: int, size: int, batch: bool
    ):
        memory = hybrid(scorer=Failing("mine", ZeroDivisionError()), sensory=sensory, buffer_size=size)
        mine = Fragment("this is mine", importance=importance)
        others = [Fragment(f"other {number}") for number in range(sensory + size + 2)]
        if batch:
            memory.write_batch_sync([mine, *others])
        else:
            for one in (mine, *others):
                memory.write_sync(one)
        found = {one.id: one.importance for one in memory.long_term_memory.read_sync("mine")}
        assert found[mine.id] == pytest.approx(importance, abs=1e-9)
        assert mine.importance == importance
        assert others[0].importance == 4.5

    def test_a_batch_goes_the_whole_way(self, memory: Hybrid):
        assert memory.write_batch_sync([Fragment(text) for text in ("one", "two", "three", "four")]) is None
        assert in_mind(memory) == ["three", "four"]
        assert kept(memory) == {"one", "two"}

    def test_names_and_sessions_reach_all_three(self, memory: Hybrid):
        scorer = Failing("never", RuntimeError())
        memory.initialize("me", importance_scorer=scorer, real_memory_fragment_class=Fragment, session_id="s")
        parts = (memory, memory.sensory_memory, memory.short_term_memory, memory.long_term_memory)
        assert {(one.name, one.importance_scorer, one.session_id) for one in parts} == {("me", scorer, "s")}


def evidence(memory: Hybrid) -> dict[str, tuple[str, set[str]]]:
    """What each memory kept for good rests on, in texts, and whose word it is."""
    held = {one.id: one for one in memory.long_term_memory.memory.memories()}
    return {
        one.text: (one.trust, {held[other.record].text for other in one.evidence if other.record})
        for one in held.values()
    }


class TestEvidence:
    @pytest.mark.parametrize("batch", [False, True])
    @pytest.mark.parametrize("session", [None, "s"])
    def test_an_insight_names_what_it_was_concluded_from(self, memory: Hybrid, batch: bool, session: str | None):
        memory.initialize(insight_extractor=Extractor(), session_id=session)
        texts = ["apple", "pear", "stone", "plum"]
        if batch:
            memory.write_batch_sync([Fragment(text) for text in texts])
        else:
            write(memory, *texts)
        expected: dict[str, tuple[str, set[str]]] = {"apple": ("tool", set()), "pear": ("tool", set())}
        for text in ("apple", "pear"):
            expected |= {f"{which} of {text}": ("derived", {text}) for which in ("first", "second")}
        assert evidence(memory) == expected


class TestFailing:
    @pytest.mark.parametrize("role", ["scorer", "extractor"])
    def test_who_raises_leaves_all_as_it_was(self, role: str):
        failing = Failing("three" if role == "scorer" else "one", RuntimeError("no"))
        memory = hybrid(scorer=failing) if role == "scorer" else hybrid(extractor=failing)
        first = write(memory, "one", "two")
        for call in (
            lambda: memory.write_sync(Fragment("three")),
            lambda: memory.write_batch_sync([Fragment("three")]),
        ):
            with pytest.raises(RuntimeError, match="no"):
                call()
            assert memory.short_term_memory.short_term_memories == first
            assert kept(memory) == set()
            assert len(memory.sensory_memory) == 0

    def test_a_store_that_fails_leaves_all_as_it_was(self, memory: Hybrid, monkeypatch: pytest.MonkeyPatch):
        first = write(memory, "one", "two")
        remember = LastingMemory.remember

        def failing(self: LastingMemory, content: Any, **options: Any) -> Any:
            if content == "two":
                raise BackendError("the disk is full")
            return remember(self, content, **options)

        monkeypatch.setattr(LastingMemory, "remember", failing)
        with pytest.raises(BackendError):
            memory.write_batch_sync([Fragment("three"), Fragment("four")])
        assert memory.short_term_memory.short_term_memories == first
        assert [one.importance for one in first] == [weighed("one")] * 2
        assert kept(memory) == set()
        monkeypatch.undo()
        write(memory, "three", "four")
        assert (in_mind(memory), kept(memory)) == (["three", "four"], {"one", "two"})

    async def test_a_write_that_is_cancelled_leaves_what_is_in_mind_as_it_was(self, memory: Hybrid):
        first = write(memory, "one", "two")
        memory.short_term_memory.insight_extractor = Failing("never", RuntimeError())

        task = asyncio.ensure_future(memory.write(Fragment("three")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert memory.short_term_memory.short_term_memories == first
        assert kept(memory) == set()
        write(memory, "three")
        assert (in_mind(memory), kept(memory)) == (["two", "three"], {"one", "of one"})

    def test_what_is_only_perceived_is_read_too(self):
        memory = hybrid(sensory=3)
        made = write(memory, "apple one", "apple two")
        assert len(memory.sensory_memory) == 2
        found = memory.read_sync("apple")
        assert {one.id for one in found} == {one.id for one in made}
        assert not any(one is other for one in found for other in made)
        memory.close()

    def test_what_is_in_mind_belongs_to_the_session_it_came_in(self, memory: Hybrid):
        memory.session_id = "s1"
        memory.short_term_memory.insight_extractor = Extractor()
        write(memory, "apple one", "apple two")
        memory.session_id = "s2"
        assert memory.read_sync("apple") == memory.read_sync("apple", alpha=1.0) == []
        write(memory, "apple three")
        assert [one.raw_observation for one in memory.read_sync("apple")] == ["apple three"]
        assert [one.raw_observation for one in memory.clear_sync()] == ["apple three"]
        memory.session_id = "s1"
        assert {one.raw_observation for one in memory.read_sync("apple")} == {
            "apple one",
            "first of apple one",
            "second of apple one",
            "apple two",
        }
        assert len(memory.clear_sync()) == 4
        assert in_mind(memory) == []


class TestReading:
    def test_a_read_finds_both_each_once_and_changes_nothing(self, memory: Hybrid):
        made = write(memory, "apple one", "apple two", "apple three")
        memory.long_term_memory.write_sync(made[1])
        found = memory.read_sync("apple")
        assert sorted(one.id for one in found) == sorted(one.id for one in made)
        assert all(one is not other for one in found for other in made)
        found[0].update_importance(9.0)
        assert [one.importance for one in made] == [weighed("apple one")] * 3
        assert (in_mind(memory), len(kept(memory))) == (["apple two", "apple three"], 2)
        assert [one.id for one in memory.read_sync("apple")] == [one.id for one in found]

    def test_fetched_memories_come_without_anything_let_go(self, memory: Hybrid):
        write(memory, "one", "two", "three")
        alone, gone = asyncio.run(memory.fetch_memories("one"))
        assert ([one.raw_observation for one in alone], gone) == (["one"], [])
        both, _ = memory.fetch_memories_sync("one", memory.short_term_memory)
        assert {one.raw_observation for one in both} == {"one", "two", "three"}


def test_clear_empties_all_three_and_returns_what_was_in_them(memory: Hybrid):
    write(memory, "one", "two", "three", "four")
    assert {one.raw_observation for one in memory.clear_sync()} == {"one", "two", "three", "four"}
    assert memory.read_sync("one") == []
    assert (in_mind(memory), kept(memory), memory.clear_sync()) == ([], set(), [])
    write(memory, "one", "two", "three")
    assert kept(memory) == {"one"}


def test_a_clone_has_nothing_in_mind_and_shares_what_is_kept(memory: Hybrid):
    memory.initialize("me", session_id="s")
    write(memory, "one", "two", "three")
    clone = memory.structure_clone()
    assert (clone.name, clone.session_id, clone.now, in_mind(clone)) == ("me", "s", NOW, [])
    assert [one.raw_observation for one in clone.read_sync("one")] == ["one"]
    clone.close()
    write(memory, "four")
    assert kept(memory) == {"one", "two"}


class TestManyWriters:
    @settings(max_examples=10)
    @given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 25), st.sets(st.integers(0, 24)))
    def test_tasks_lose_nothing_whoever_fails(self, buffer_size: int, sensory: int, count: int, failing: set[int]):
        class Picky(ImportanceScorer[Fragment]):
            async def score_importance(self, memory_fragment: Fragment, llm_client: Any = None) -> float:
                await asyncio.sleep(0)
                return 5.0

        class Moody(InsightExtractor[Fragment]):
            async def extract_insights(self, memory_fragment: Fragment, llm_client: Any = None) -> Any:
                await asyncio.sleep(0)
                if len(failing) % 2 and memory_fragment.importance == 3.0:
                    raise RuntimeError("no")
                return None

        memory = hybrid(buffer_size=buffer_size, sensory=sensory, scorer=Picky(), extractor=Moody())
        made = [Fragment(f"number {n}") for n in range(count)]

        async def all_at_once() -> list[Any]:
            return await asyncio.gather(*(memory.write(one) for one in made), return_exceptions=True)

        done = asyncio.run(all_at_once())
        written = {one.raw_observation for one, outcome in zip(made, done, strict=True) if outcome is None}
        perceived = [one.raw_observation for one in memory.sensory_memory.read_sync("x")]
        everywhere = [*perceived, *in_mind(memory), *kept(memory)]
        assert sorted(everywhere) == sorted(written)
        memory.long_term_memory.close()


class TestMaking:
    def test_one_that_is_given_nothing_works(self):
        with HybridMemory[Fragment].from_vstore(embeddings=embed) as memory:
            assert isinstance(memory.short_term_memory, EnhancedShortTermMemory)
            write(memory, "apple")
            assert [one.raw_observation for one in memory.read_sync("apple")] == ["apple"]

    def test_a_file_is_opened_and_closed(self, tmp_path: Path):
        with Hybrid.from_vstore(tmp_path / "agent.db", embed, short_term_memory=ShortTermMemory(1)) as memory:
            write(memory, "apple", "pear")
        with Hybrid.from_vstore(str(tmp_path / "agent.db"), embed) as memory:
            assert [one.raw_observation for one in memory.read_sync("apple")] == ["apple"]

    def test_what_was_chroma_is_a_file_of_our_own(self, tmp_path: Path):
        folder = tmp_path / "deep" / "down"
        with Hybrid.from_chroma("notes", str(folder), embed, short_term_memory=ShortTermMemory(0)) as memory:
            write(memory, "apple")
        with memwell.open(folder / "notes.db", embedder=None) as engine:
            assert [one.text for one in engine.memories()] == ["apple"]
        (tmp_path / "taken").write_text("")
        with pytest.raises(FileError):
            Hybrid.from_chroma(vstore_path=str(tmp_path / "taken"), embeddings=embed)

    def test_a_store_that_was_given_stays_open(self):
        with memwell.open("memory:", embedder=None) as engine:
            with Hybrid.from_vstore(engine, short_term_memory=ShortTermMemory(0)) as memory:
                write(memory, "a red apple")
            assert engine.recall("apple")[0].text == "a red apple"
            with LongTermMemory[Fragment](vector_store=engine) as long, HybridMemory(long_term_memory=long):
                assert long.memory is engine
            assert isinstance(Hybrid.from_vstore(engine, embed).short_term_memory, EnhancedShortTermMemory)
            assert engine.count() == 1

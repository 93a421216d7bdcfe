from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.enhanced import EnhancedShortTermMemory
from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    StructuredAgentMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.scoring import InsightExtractor
from memwell.compat.dbgpt.undo import all_or_nothing
from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import HashEmbedder

Fragments = list[AgentMemoryFragment]
LETTERS = "abcdef"


def embed(texts: list[str]) -> list[list[float]]:
    """Texts that begin with the same letter are alike, others are not."""
    return [[float(text[:1] == letter) for letter in LETTERS] for text in texts]


class Concludes(InsightExtractor[AgentMemoryFragment]):
    def __init__(self, rests: int = 1, fails_for: str = "?") -> None:
        self.rests = rests
        self.fails_for = fails_for

    async def extract_insights(
        self, memory_fragment: AgentMemoryFragment, llm_client: Any = None
    ) -> InsightMemoryFragment[AgentMemoryFragment]:
        for _ in range(self.rests):
            await asyncio.sleep(0)
        if memory_fragment.raw_observation.startswith(self.fails_for):
            raise KeyError(memory_fragment.raw_observation)
        return InsightMemoryFragment(memory_fragment, [f"of {memory_fragment.raw_observation}"])


def enhanced(size: int = 10, threshold: int = 3, **options: Any) -> EnhancedShortTermMemory[AgentMemoryFragment]:
    return EnhancedShortTermMemory[AgentMemoryFragment](
        options.pop("embeddings", embed), buffer_size=size, enhance_threshold=threshold, **options
    )


def fragments(*texts: str) -> Fragments:
    return [AgentMemoryFragment(text) for text in texts]


def texts(found: DiscardedMemoryFragments[AgentMemoryFragment] | Fragments | None) -> list[str]:
    listed = found if isinstance(found, list) else [] if found is None else found.discarded_memory_fragments
    return [one.raw_observation for one in listed]


def state(memory: EnhancedShortTermMemory[AgentMemoryFragment]) -> list[tuple[str, int, list[str]]]:
    rows = zip(memory.short_term_memories, memory.enhance_cnt, memory.enhance_memories, strict=True)
    return [(one.raw_observation, count, texts(enhancers)) for one, count, enhancers in rows]


async def _undone(memory: EnhancedShortTermMemory[AgentMemoryFragment], written: Fragments) -> None:
    with all_or_nothing():
        for one in written:
            await memory.write(one)
        raise ZeroDivisionError


def test_the_defaults() -> None:
    memory = EnhancedShortTermMemory[AgentMemoryFragment](HashEmbedder(16), None)
    assert (memory.enhance_similarity_threshold, memory.enhance_threshold) == (0.7, 3)
    for number in range(12):
        memory.write_sync(AgentMemoryFragment(f"word{number}"))
    assert len(memory) == 10


def test_what_is_alike_strengthens_and_the_strong_leaves_merged() -> None:
    memory = enhanced(10, 2)
    memory.insight_extractor = Concludes()
    one, two, three = fragments("a1", "a2", "a3")
    one.update_importance(7.0)
    assert texts(memory.write_sync(one)) == texts(memory.write_sync(AgentMemoryFragment("b1"))) == []
    assert texts(memory.write_sync(two)) == []
    assert state(memory) == [("a1", 1, ["a2"]), ("b1", 0, []), ("a2", 0, [])]
    discarded = memory.write_sync(three)
    (merged,) = discarded.discarded_memory_fragments
    assert (merged.raw_observation, merged.importance) == ("a1;a2;a3", 7.0)
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["of a1;a2;a3"]
    assert state(memory) == [("b1", 0, []), ("a2", 1, ["a3"]), ("a3", 0, [])]


def test_it_is_the_same_every_time() -> None:
    written = [f"{letter}{number}" for number in range(8) for letter in "aab"]
    runs = []
    for _ in range(3):
        memory = enhanced(4)
        runs.append(([texts(memory.write_sync(AgentMemoryFragment(text))) for text in written], state(memory)))
    assert runs[0] == runs[1] == runs[2]


def test_a_seed_draws_and_repeats() -> None:
    def run(seed: int | None) -> list[int]:
        memory = enhanced(20, 100, seed=seed)
        for number in range(20):
            memory.write_sync(AgentMemoryFragment(f"a{number}"))
        return memory.enhance_cnt

    assert run(None) == list(range(19, -1, -1))
    assert run(1) == run(1)
    assert len({tuple(run(seed)) for seed in range(5)}) > 1
    assert sum(run(1)) < sum(run(None))


def test_a_write_that_failed_draws_nothing() -> None:
    memory, other = enhanced(20, 100, seed=5), enhanced(20, 100, seed=5)
    for number in range(20):
        text = f"a{number}"
        memory.write_sync(AgentMemoryFragment(text))
        with pytest.raises(ZeroDivisionError):
            asyncio.run(_undone(other, fragments("a")))
        other.write_sync(AgentMemoryFragment(text))
    assert other.enhance_cnt == memory.enhance_cnt


def test_the_threshold_is_of_the_sigmoid() -> None:
    near, far = [1.0, 0.0], [0.84, (1 - 0.84**2) ** 0.5]
    table = {"near": near, "nearer": [0.86, (1 - 0.86**2) ** 0.5], "far": far}
    memory = enhanced(embeddings=lambda given: [table[text] for text in given])
    for text in table:
        memory.write_sync(AgentMemoryFragment(text))
    assert memory.enhance_cnt[0] == 1
    assert texts(memory.enhance_memories[0]) == ["nearer"]


def test_overflow_hands_on_the_least_important() -> None:
    memory = enhanced(2)
    memory.insight_extractor = Concludes()
    grave, none, new = AgentMemoryFragment("a", importance=5.0), AgentMemoryFragment("b"), AgentMemoryFragment("c")
    memory.write_sync(grave)
    memory.write_sync(none)
    discarded = memory.write_sync(new)
    assert discarded.discarded_memory_fragments == [none]
    assert discarded.discarded_insights[0].original_memory_fragment is none
    assert memory.short_term_memories == [grave, new]
    assert memory.write_sync(AgentMemoryFragment("d", importance=0.0)).discarded_memory_fragments == [new]


def test_of_the_equally_important_the_least_strengthened_and_oldest_goes_never_the_newest() -> None:
    memory = enhanced(3, 9)
    for text in ("a1", "b1", "c1"):
        memory.write_sync(AgentMemoryFragment(text, importance=1.0))
    memory.write_sync(AgentMemoryFragment("a2"), op=WriteOperation.RETRIEVAL)
    assert texts(memory.write_sync(AgentMemoryFragment("d", importance=-5.0))) == ["b1"]
    assert [one for one, *_ in state(memory)] == ["a1", "c1", "d"]


def test_counts_stay_with_their_fragments_when_another_is_dropped() -> None:
    memory = enhanced(3, 9)
    first, middle, last = AgentMemoryFragment("a", importance=3.0), AgentMemoryFragment("b"), AgentMemoryFragment("c")
    last.update_importance(3.0)
    for one in (first, middle, last):
        memory.write_sync(one)
    for text in ("a+", "c+", "c+"):
        memory.write_sync(AgentMemoryFragment(text), op=WriteOperation.RETRIEVAL)
    memory.write_sync(AgentMemoryFragment("d", importance=9.0))
    assert state(memory) == [("a", 1, ["a+"]), ("c", 2, ["c+", "c+"]), ("d", 0, [])]
    assert memory.short_embeddings == embed(["a", "c", "d"])


def test_what_a_dropped_fragment_strengthened_is_weaker_again() -> None:
    memory = enhanced(2, 9)
    memory.write_sync(AgentMemoryFragment("a1", importance=5.0))
    memory.write_sync(AgentMemoryFragment("a2", importance=1.0))
    assert memory.enhance_cnt == [1, 0]
    assert texts(memory.write_sync(AgentMemoryFragment("b", importance=5.0))) == ["a2"]
    assert state(memory) == [("a1", 0, []), ("b", 0, [])]


def test_what_was_recalled_strengthens_and_is_not_taken_in() -> None:
    memory = enhanced(5, 2)
    memory.write_sync(AgentMemoryFragment("a"))
    assert texts(memory.write_sync(AgentMemoryFragment("a+"), op=WriteOperation.RETRIEVAL)) == []
    assert state(memory) == [("a", 1, ["a+"])]
    assert texts(memory.write_sync(AgentMemoryFragment("a!"), op=WriteOperation.RETRIEVAL)) == ["a;a+;a!"]
    assert state(memory) == []


def test_a_fragment_does_not_strengthen_itself() -> None:
    memory = enhanced(5, 1)
    (one,) = fragments("a")
    memory.write_sync(one)
    memory.write_sync(one)
    again = AgentMemoryFragment("b", memory_id=one.id)
    memory.write_sync(again)
    assert state(memory) == [("b", 0, [])]
    assert memory.short_term_memories == [again]
    assert again.embeddings == embed(["b"])[0]


def test_structured_fragments_are_merged_without_loss() -> None:
    memory = EnhancedShortTermMemory[StructuredAgentMemoryFragment](
        lambda texts: [[1.0] for _ in texts], enhance_threshold=1
    )
    memory.write_sync(StructuredAgentMemoryFragment({"thought": "x"}))
    (merged,) = memory.write_sync(StructuredAgentMemoryFragment({"thought": "y"})).discarded_memory_fragments
    assert merged.structured_observation == [{"thought": "x"}, {"thought": "y"}]


def test_reading_goes_by_vectors() -> None:
    memory = enhanced()
    one, two, three = fragments("a", "b", "c")
    memory.write_batch_sync([one, two, three])
    assert memory.read_sync("b!", alpha=0, gamma=0)[0] is two
    assert memory.read_sync("b!") == [one, two, three]


def test_a_clone_has_the_settings_and_no_content() -> None:
    with ThreadPoolExecutor(1) as executor:
        memory = enhanced(4, 2, executor=executor, enhance_similarity_threshold=0.6, seed=3)
        memory.write_sync(AgentMemoryFragment("a"))
        clone = memory.structure_clone()
        assert (len(clone), clone.enhance_threshold, clone.enhance_similarity_threshold) == (0, 2, 0.6)
        assert clone.enhance_cnt == clone.short_embeddings == clone.enhance_memories == []
        clone.write_sync(AgentMemoryFragment("b"))
        assert [one for one, *_ in state(memory)] == ["a"]


def test_clear_forgets_the_strength_too() -> None:
    memory = enhanced()
    written = fragments("a1", "a2")
    memory.write_batch_sync(written)
    assert memory.clear_sync() == written
    memory.write_sync(written[0])
    assert state(memory) == [("a1", 0, [])]


@pytest.mark.parametrize(
    "bad",
    [
        {"embeddings": None},
        {"buffer_size": -1},
        {"enhance_threshold": 0},
        {"enhance_similarity_threshold": float("nan")},
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        EnhancedShortTermMemory(**{"embeddings": embed, **bad})


def test_a_buffer_of_nothing_hands_everything_on() -> None:
    memory = enhanced(0)
    assert texts(memory.write_sync(AgentMemoryFragment("a"))) == ["a"]
    assert state(memory) == []


@pytest.mark.parametrize("why", ["embeddings", "insights of a merged one", "insights of a dropped one", "reduce"])
def test_what_fails_leaves_everything_as_it_was(why: str) -> None:
    def failing(given_: list[str]) -> list[list[float]]:
        if why == "embeddings" and given_ == ["a3"]:
            raise OSError("no line")
        return embed(given_)

    class Stubborn(AgentMemoryFragment):
        def reduce(self, memory_fragments: Any, **kwargs: Any) -> Any:
            raise KeyError("not with me")

    memory = enhanced(3, 1 if why in ("reduce", "insights of a merged one") else 9, embeddings=failing)
    first = (Stubborn if why == "reduce" else AgentMemoryFragment)("a1")
    held = [first, *fragments("b1", "c1")]
    memory.write_batch_sync(held)
    if why.startswith("insights"):
        memory.insight_extractor = Concludes(1, "a1" if "merged" in why else "b1")
    before, new = state(memory), AgentMemoryFragment("a3")
    with pytest.raises(ModelError if why == "embeddings" else KeyError):
        memory.write_sync(new)
    assert state(memory) == before
    assert new.embeddings is None
    memory.insight_extractor = None
    assert memory.short_term_memories == held


@pytest.mark.parametrize("after", range(9))
def test_a_write_cancelled_at_any_await_leaves_everything_as_it_was(after: int) -> None:
    async def later(given_: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed(given_)

    async def run() -> bool:
        memory = enhanced(2, 2, embeddings=later)
        await memory.write_batch(fragments("a1", "b1"))
        await memory.write(AgentMemoryFragment("a2"), op=WriteOperation.RETRIEVAL)
        memory.insight_extractor = Concludes(3)
        before = state(memory)
        task = asyncio.create_task(memory.write(AgentMemoryFragment("a3")))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, asyncio.CancelledError):
            assert state(memory) == before
            return True
        assert not isinstance(result, BaseException)
        assert texts(result) == ["a1;a2;a3"]
        return False

    assert asyncio.run(run()) or after > 3


def _check_accounted(written: Fragments, memory: Any, given_on: Fragments) -> None:
    """Each fragment is held, or was handed on, itself or as the one that others were merged into: exactly once."""
    places = [one.raw_observation for one in memory.short_term_memories]
    places += [one.raw_observation.split(";")[0] for one in given_on]
    assert Counter(places) == Counter(one.raw_observation for one in written)
    assert len(memory.enhance_cnt) == len(memory)


PLANS = st.lists(
    st.tuples(st.sampled_from(LETTERS[:3]), st.none() | st.integers(0, 3), st.booleans(), st.integers(0, 6)),
    max_size=14,
)


@given(size=st.integers(0, 4), threshold=st.integers(1, 3), plan=PLANS, seed=st.none() | st.just(1))
def test_tasks_lose_nothing(size: int, threshold: int, plan: list[Any], seed: int | None) -> None:
    async def later(given_: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed(given_)

    async def run() -> None:
        memory = enhanced(size, threshold, embeddings=later, seed=seed)
        memory.insight_extractor = Concludes(1)
        written = [
            AgentMemoryFragment(f"{letter}{number}", importance=importance)
            for number, (letter, importance, *_) in enumerate(plan)
        ]
        tasks = [asyncio.create_task(memory.write(one)) for one in written]
        cancelling = [
            asyncio.create_task(_cancel(task, after))
            for task, (_, _, cancelled, after) in zip(tasks, plan, strict=True)
            if cancelled
        ]
        results = await asyncio.gather(*tasks, *cancelling, return_exceptions=True)
        taken, given_on = [], list[AgentMemoryFragment]()
        for one, result in zip(written, results, strict=False):
            if not isinstance(result, BaseException):
                taken.append(one)
                assert result is not None
                given_on += result.discarded_memory_fragments
        _check_accounted(taken, memory, given_on)
        assert len(memory) <= size

    asyncio.run(run())


async def _cancel(task: asyncio.Task[Any], after: int) -> None:
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()


def test_threads_lose_nothing() -> None:
    memory = enhanced(5, 2)
    memory.insight_extractor = Concludes()
    written = [AgentMemoryFragment(f"{LETTERS[number % 4]}{number}") for number in range(80)]
    given_on: Fragments = []

    def write(part: Fragments) -> None:
        for one in part:
            given_on.extend(memory.write_sync(one).discarded_memory_fragments)

    async def write_all(part: Fragments) -> None:
        for discarded in await asyncio.gather(*(memory.write(one) for one in part)):
            given_on.extend(discarded.discarded_memory_fragments)

    threads = [threading.Thread(target=write, args=(written[at::4],)) for at in (0, 1)]
    threads += [threading.Thread(target=lambda at=at: asyncio.run(write_all(written[at::4]))) for at in (2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    _check_accounted(written, memory, given_on)


@given(plan=PLANS, size=st.integers(1, 4))
def test_an_undone_write_leaves_everything_as_it_was(plan: list[Any], size: int) -> None:
    async def at_once(given_: list[str]) -> list[list[float]]:
        return embed(given_)

    async def run() -> None:
        memory = enhanced(size, 2, embeddings=at_once)
        for number, (letter, importance, undone, _) in enumerate(plan):
            one = AgentMemoryFragment(f"{letter}{number}", importance=importance)
            if not undone:
                await memory.write(one)
                continue
            before = state(memory)
            with pytest.raises(ZeroDivisionError):
                await _undone(memory, [one, AgentMemoryFragment(f"{letter}+")])
            assert state(memory) == before
            assert one.embeddings is None

    asyncio.run(run())

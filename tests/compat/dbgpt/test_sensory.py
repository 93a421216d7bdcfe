from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import AgentMemoryFragment, DiscardedMemoryFragments, WriteOperation
from memwell.compat.dbgpt.scoring import ImportanceScorer
from memwell.compat.dbgpt.sensory import SensoryMemory
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.compat.dbgpt.undo import all_or_nothing
from memwell.errors import InvalidInput

Fragments = list[AgentMemoryFragment]


class Scores(ImportanceScorer[AgentMemoryFragment]):
    """Scores a fragment by the number that is its text, in its own time; a text that is no number makes it fail."""

    def __init__(self, rests: int = 1) -> None:
        self.rests = rests

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> float:
        for _ in range(self.rests):
            await asyncio.sleep(0)
        return float(memory_fragment.raw_observation)


def fragments(*texts: str) -> Fragments:
    return [AgentMemoryFragment(text) for text in texts]


def handed(discarded: DiscardedMemoryFragments[AgentMemoryFragment] | None) -> Fragments:
    return [] if discarded is None else discarded.discarded_memory_fragments


def sensory(size: int = 0, scorer: Any = None) -> SensoryMemory[AgentMemoryFragment]:
    memory = SensoryMemory[AgentMemoryFragment](size)
    memory.importance_scorer = scorer
    return memory


def test_by_default_everything_passes_through_scored() -> None:
    memory = sensory()
    (one,) = fragments("x")
    assert handed(memory.write_sync(one)) == [one]
    assert one.importance == 4.5
    assert memory.read_sync("x") == []


def test_a_full_buffer_is_emptied_whole() -> None:
    memory = sensory(2)
    one, two, three, four = fragments("a", "b", "c", "d")
    assert [handed(memory.write_sync(each)) for each in (one, two, three)] == [[], [], [one, two, three]]
    assert memory.read_sync("x") == []
    assert memory.write_sync(four) is None
    assert memory.read_sync("x") == [four] == memory.clear_sync()


def test_what_does_not_matter_is_dropped() -> None:
    memory = sensory(1, Scores())
    grave, light = fragments("10", "0.1")
    memory.write_sync(light)
    assert handed(memory.write_sync(grave)) == [grave]
    assert (grave.importance, light.importance) == (9.0, None)
    assert memory.write_batch_sync(fragments("0", "0")) is None
    assert len(memory) == 0


@pytest.mark.parametrize("size", [0, 2])
def test_an_importance_that_was_given_is_the_score(size: int) -> None:
    memory = sensory(size, Scores())
    worth: list[tuple[str, float | None]] = [("a", 7.25), ("5", None), ("c", 0.05)]
    out = handed(memory.write_batch_sync([AgentMemoryFragment(text, importance=given_) for text, given_ in worth]))
    assert [(one.observation, one.importance) for one in out] == [("a", 7.25), ("5", 4.5)]


def test_what_was_recalled_is_not_perceived() -> None:
    memory = sensory(2)
    assert memory.write_sync(fragments("a")[0], None, WriteOperation.RETRIEVAL) is None
    assert len(memory) == 0


def test_a_clone_keeps_the_settings() -> None:
    memory = sensory(3, Scores())
    memory.threshold_to_short_term, memory.importance_weight = 2.0, 0.5
    memory.write_sync(fragments("1")[0])
    clone = memory.structure_clone()
    assert (clone.threshold_to_short_term, clone.importance_weight, len(clone)) == (2.0, 0.5, 0)
    assert clone.importance_scorer is memory.importance_scorer


@pytest.mark.parametrize("bad", ["text", None])
def test_what_is_no_fragment_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="MemoryFragment"):
        sensory().write_sync(bad)


@pytest.mark.parametrize("size", [0, 2])
def test_a_scorer_that_raises_leaves_everything_as_it_was(size: int) -> None:
    memory = sensory(size, Scores())
    held = fragments("1", "2")[:size]
    memory.write_batch_sync(held)
    bad = AgentMemoryFragment("no number")
    with pytest.raises(ValueError, match="no number"):
        memory.write_sync(bad)
    assert memory.read_sync("x") == held
    assert [one.importance for one in (*held, bad)] == [None] * (size + 1)


def test_a_failed_batch_is_taken_back_whole() -> None:
    memory = sensory(2, Scores())
    held = fragments("0.01", "5")
    memory.write_batch_sync(held)
    with pytest.raises(ValueError, match="no number"):
        memory.write_batch_sync(fragments("7", "1", "1", "no number"))
    assert memory.read_sync("x") == held
    assert [one.importance for one in held] == [None, None]


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("after", range(7))
def test_a_write_cancelled_at_any_await_leaves_everything_as_it_was(size: int, after: int) -> None:
    async def run() -> bool:
        memory = sensory(size, Scores(2))
        held = fragments("1", "2")[:size]
        await memory.write_batch(held)
        new = AgentMemoryFragment("3")
        task = asyncio.create_task(memory.write(new))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, asyncio.CancelledError):
            assert await memory.read("x") == held
            assert [one.importance for one in (*held, new)] == [None] * (size + 1)
            return True
        assert not isinstance(result, BaseException)
        assert handed(result) == [*held, new]
        return False

    assert asyncio.run(run()) or after > 2


@given(
    size=st.integers(0, 3),
    rests=st.integers(0, 2),
    plan=st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=12),
)
def test_tasks_lose_nothing(size: int, rests: int, plan: list[tuple[bool, int]]) -> None:
    """Every fragment that was taken matters, so each is held or was handed on once; of the refused ones none is."""

    async def run() -> None:
        memory = sensory(size, Scores(rests))
        written = fragments(*("5" for _ in plan))
        tasks = [asyncio.create_task(memory.write(one)) for one in written]
        for task, (cancelled, after) in zip(tasks, plan, strict=True):
            if cancelled:
                asyncio.get_running_loop().call_later(0.0001 * after, task.cancel)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        found = await memory.read("x")
        for result in results:
            found += [] if isinstance(result, BaseException) else handed(result)
        taken = [one for one, result in zip(written, results, strict=True) if not isinstance(result, BaseException)]
        assert sorted(one.id for one in found) == [one.id for one in taken]

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 5])
def test_threads_lose_nothing(size: int) -> None:
    memory = sensory(size, Scores())
    written, given_on = fragments(*("5" for _ in range(160))), list[AgentMemoryFragment]()

    def write(part: Fragments) -> None:
        for one in part:
            given_on.extend(handed(memory.write_sync(one)))

    async def write_all(part: Fragments) -> None:
        for discarded in await asyncio.gather(*(memory.write(one) for one in part)):
            given_on.extend(handed(discarded))

    threads = [threading.Thread(target=write, args=(written[at::4],)) for at in (0, 1)]
    threads += [threading.Thread(target=lambda at=at: asyncio.run(write_all(written[at::4]))) for at in (2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(one.id for one in (*given_on, *memory.read_sync("x"))) == [one.id for one in written]


def test_without_a_buffer_scorers_are_asked_at_once() -> None:
    class Meets(Scores):
        async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> float:
            await asyncio.wait_for(meeting.wait(), 60)
            return 5.0

    meeting = asyncio.Barrier(3)

    async def run() -> int:
        memory = sensory(0, Meets())
        return len(await asyncio.gather(*(memory.write(one) for one in fragments("a", "b", "c"))))

    assert asyncio.run(run()) == 3


@pytest.mark.parametrize("size", [0, 2])
def test_a_batch_is_as_if_written_one_by_one(size: int) -> None:
    at_once, one_by_one = sensory(size, Scores()), sensory(size, Scores())
    written = fragments("5", "0", "7", "0.2", "1")
    again = [one.copy() for one in written]
    gone = [gone for one in again for gone in handed(one_by_one.write_sync(one))]
    assert [one.id for one in handed(at_once.write_batch_sync(written))] == [one.id for one in gone]
    assert [one.importance for one in written] == [one.importance for one in again]
    assert [one.id for one in at_once.read_sync("x")] == [one.id for one in one_by_one.read_sync("x")]
    assert at_once.write_batch_sync([]) is None


def test_a_batch_is_not_torn_by_other_writers() -> None:
    async def run() -> None:
        memory = sensory(3, Scores())
        failing = asyncio.create_task(memory.write_batch(fragments("5", "5", "5", "5", "no", "5", "5", "5")))
        others = fragments(*"123456")
        results = await asyncio.gather(failing, *(memory.write(one) for one in others), return_exceptions=True)
        assert isinstance(results[0], ValueError)
        found = await memory.read("x")
        for result in results[1:]:
            assert not isinstance(result, BaseException)
            found += handed(result)
        assert sorted(one.id for one in found) == [one.id for one in others]

    asyncio.run(run())


def test_without_a_buffer_a_batch_is_scored_at_once() -> None:
    class Meets(Scores):
        async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> float:
            await asyncio.wait_for(meeting.wait(), 60)
            return 5.0

    meeting = asyncio.Barrier(3)

    async def run() -> int:
        return len(handed(await sensory(0, Meets()).write_batch(fragments("a", "b", "c"))))

    assert asyncio.run(run()) == 3


def test_several_memories_are_undone_together() -> None:
    first, second = sensory(1), ShortTermMemory[AgentMemoryFragment](1)
    held, kept = fragments("a", "b")
    first.write_sync(held)
    second.write_sync(kept)
    new = AgentMemoryFragment("c")

    async def run() -> None:
        with all_or_nothing():
            for one in handed(await first.write(new)):
                await second.write(one)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert first.read_sync("x") == [held]
    assert second.read_sync("x") == [kept]
    assert (held.importance, new.importance) == (None, None)


def test_an_overflow_of_ones_own_may_keep_something() -> None:
    class Keeps(SensoryMemory[AgentMemoryFragment]):
        async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
            return memory_fragments[-1:], memory_fragments[:-1]

    memory = Keeps(0)
    one, two = fragments("a", "b")
    assert [handed(memory.write_sync(each)) for each in (one, two)] == [[], [one]]
    assert memory.read_sync("x") == [two]

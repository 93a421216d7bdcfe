from __future__ import annotations

import asyncio
import math
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.scoring import InsightExtractor
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.compat.dbgpt.undo import all_or_nothing
from memwell.errors import InvalidInput

Fragments = list[AgentMemoryFragment]
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Concludes(InsightExtractor[AgentMemoryFragment]):
    """Takes its time over every fragment, and fails for those it was told to fail for."""

    def __init__(self, rests: int = 1, fails: set[int] | None = None) -> None:
        self.rests = rests
        self.fails = fails or set()
        self.asked: list[int] = []

    async def extract_insights(
        self, memory_fragment: AgentMemoryFragment, llm_client: Any = None
    ) -> InsightMemoryFragment[AgentMemoryFragment]:
        self.asked.append(memory_fragment.id)
        for _ in range(self.rests):
            await asyncio.sleep(0)
        if memory_fragment.id in self.fails:
            raise KeyError(memory_fragment.id)
        return InsightMemoryFragment(memory_fragment, [f"of {memory_fragment.raw_observation}"])


def fragments(*texts: str) -> Fragments:
    return [AgentMemoryFragment(text) for text in texts]


def numbered(count: int) -> Fragments:
    return fragments(*map(str, range(count)))


def handed(discarded: DiscardedMemoryFragments[AgentMemoryFragment] | None) -> Fragments:
    return [] if discarded is None else discarded.discarded_memory_fragments


def filled(size: int, extractor: InsightExtractor[AgentMemoryFragment] | None = None) -> tuple[Any, Fragments]:
    memory = ShortTermMemory[AgentMemoryFragment](size)
    held = numbered(size)
    memory.write_batch_sync(held)
    memory.insight_extractor = extractor
    return memory, held


def test_overflow_hands_on_the_oldest() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](3)
    one, two, three, four = numbered(4)
    assert [memory.write_sync(each) for each in (one, two, three)] == [None] * 3
    discarded = memory.write_sync(four)
    assert handed(discarded) == [one]
    assert discarded is not None
    assert discarded.discarded_insights == []
    assert memory.short_term_memories == memory.read_sync("anything") == [two, three, four]


def test_the_default_holds_five() -> None:
    memory = ShortTermMemory[AgentMemoryFragment]()
    gone = [one for each in numbered(8) for one in handed(memory.write_sync(each))]
    assert [one.raw_observation for one in gone] == ["0", "1", "2"]
    assert len(memory) == 5


def test_what_leaves_comes_with_its_insights() -> None:
    memory, held = filled(2, Concludes())
    discarded = memory.write_sync(AgentMemoryFragment("new"))
    assert discarded is not None
    (insight,) = discarded.discarded_insights
    assert insight.original_memory_fragment is held[0]
    assert [one.raw_observation for one in insight.insights] == ["of 0"]


def test_what_is_read_is_the_readers_own_list() -> None:
    memory, held = filled(3)
    memory.read_sync("x").clear()
    memory.short_term_memories.clear()
    assert memory.short_term_memories == held


def test_what_was_recalled_is_not_taken_in() -> None:
    memory, held = filled(2)
    assert memory.write_sync(AgentMemoryFragment("old"), None, WriteOperation.RETRIEVAL) is None
    assert memory.short_term_memories == held


def test_a_fragment_of_the_same_id_takes_its_place() -> None:
    memory, held = filled(3)
    again = AgentMemoryFragment("again", memory_id=held[1].id)
    assert memory.write_sync(again) is None
    assert memory.short_term_memories == [held[0], again, held[2]]


def test_clear_returns_what_was_held() -> None:
    memory, held = filled(3)
    assert memory.clear_sync() == held
    assert memory.clear_sync() == [] == memory.short_term_memories
    assert memory.write_sync(held[0]) is None
    assert memory.short_term_memories == held[:1]


def test_a_buffer_of_nothing_hands_everything_on() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](0)
    held = numbered(3)
    assert [handed(memory.write_sync(one)) for one in held] == [[one] for one in held]
    assert handed(memory.write_batch_sync(held)) == held
    assert memory.short_term_memories == []


@pytest.mark.parametrize("bad", [-1, 1.5, None, "5", True])
def test_a_size_is_a_whole_number(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="buffer_size"):
        ShortTermMemory(bad)


def test_what_is_no_fragment_is_refused() -> None:
    memory, held = filled(2)
    for write in (memory.write_sync, lambda bad: memory.write_batch_sync([AgentMemoryFragment("x"), bad])):
        with pytest.raises(InvalidInput, match="MemoryFragment"):
            write("text")
    with pytest.raises(InvalidInput, match="now"):
        memory.write_sync(AgentMemoryFragment("x"), "today")
    assert memory.short_term_memories == held


def test_a_clone_has_the_structure_and_no_content() -> None:
    memory, _ = filled(2, Concludes())
    memory.name = "agent"
    clone = memory.structure_clone()
    assert (len(clone), clone.name, clone.insight_extractor) == (0, "agent", memory.insight_extractor)
    gone = handed(clone.write_batch_sync(numbered(3)))
    assert len(gone) == 1
    assert len(memory) == 2


# --- reading best first


def test_recency_relevance_and_importance_each_decide() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](5)
    late = AgentMemoryFragment("a walk", last_accessed_time=NOW)
    fitting = AgentMemoryFragment("green tea", last_accessed_time=NOW - timedelta(hours=500))
    grave = AgentMemoryFragment("a fall", importance=9.0, last_accessed_time=NOW.replace(month=4, tzinfo=None))
    memory.write_batch_sync([fitting, grave, late], NOW)
    assert memory.read_sync("green tea", alpha=10, beta=0, gamma=0)[0] is late
    assert memory.read_sync("green tea", alpha=0, beta=1, gamma=0)[0] is fitting
    assert memory.read_sync("green tea", gamma=1)[0] is grave
    assert memory.read_sync("green tea", alpha=0, beta=0, gamma=-1)[-1] is grave
    assert memory.read_sync("green tea") == [fitting, grave, late]


def test_recency_counts_since_writing_when_nothing_was_used() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](5)
    one, two, three = numbered(3)
    memory.write_sync(two, NOW - timedelta(days=2))
    memory.write_sync(three, NOW.replace(tzinfo=None) - timedelta(days=9))
    memory.write_sync(one, NOW)
    assert memory.read_sync("", alpha=1) == [one, two, three]


def test_who_tells_the_time_when_writing_has_it_when_reading() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](5)
    long_ago = NOW.replace(year=2000)
    older, newer = AgentMemoryFragment("a", importance=0.05), AgentMemoryFragment("b")
    memory.write_sync(older, long_ago - timedelta(hours=10))
    memory.write_sync(newer, long_ago)
    assert memory.read_sync("x", alpha=1) == [newer, older]
    memory.write_sync(AgentMemoryFragment("c"))
    assert memory.read_sync("x", alpha=1)[1:] == [older, newer]


def test_a_read_changes_nothing() -> None:
    memory, held = filled(3)
    memory.read_sync("1", alpha=1, beta=1, gamma=1)
    assert memory.short_term_memories == held
    assert all(one.last_accessed_time is None and one.importance is None for one in held)


@pytest.mark.parametrize("bad", [math.nan, "1"])
def test_a_bad_coefficient_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="alpha"):
        filled(1)[0].read_sync("x", alpha=bad)


# --- the model: a plain list

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 7)),
        st.tuples(st.just("batch"), st.lists(st.integers(0, 7), max_size=5)),
        st.tuples(st.just("undone"), st.lists(st.integers(0, 7), max_size=5)),
        st.tuples(st.just("recall"), st.integers(0, 7)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=25,
)


class Hooked(ShortTermMemory[AgentMemoryFragment]):
    """The same behaviour by way of the hooks."""

    async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
        return await super().handle_overflow(memory_fragments)


class Model:
    def __init__(self, size: int) -> None:
        self.size = size
        self.held: Fragments = []

    def write(self, one: AgentMemoryFragment) -> Fragments:
        places = [place for place, held in enumerate(self.held) if held.id == one.id]
        if places:
            self.held[places[0]] = one
        else:
            self.held.append(one)
        over = max(len(self.held) - self.size, 0)
        gone, self.held = self.held[:over], self.held[over:]
        return gone


@pytest.mark.parametrize("kind", [ShortTermMemory, Hooked])
@given(size=st.integers(0, 5), steps=STEPS, concluding=st.booleans())
def test_it_is_first_in_first_out(kind: type[Any], size: int, steps: list[Any], concluding: bool) -> None:
    asyncio.run(_check_against(kind(size), Model(size), steps, concluding))


async def _check_against(memory: Any, model: Model, steps: list[Any], concluding: bool) -> None:
    memory.insight_extractor = Concludes() if concluding else None
    for verb, what in steps:
        if verb == "write":
            one = AgentMemoryFragment(str(what), memory_id=what + 1)
            assert handed(await memory.write(one)) == model.write(one)
        elif verb == "batch":
            batch = [AgentMemoryFragment(str(each), memory_id=each + 1) for each in what]
            expected = [gone for one in batch for gone in model.write(one)]
            assert handed(await memory.write_batch(batch)) == expected
        elif verb == "undone":
            with pytest.raises(ZeroDivisionError):
                await _undone(memory, [AgentMemoryFragment(str(each), memory_id=each + 1) for each in what])
        elif verb == "recall":
            await memory.write(AgentMemoryFragment("x", memory_id=what + 1), op=WriteOperation.RETRIEVAL)
        else:
            assert await memory.clear() == model.held
            model.held = []
        assert [id(one) for one in memory.short_term_memories] == [id(one) for one in model.held]


async def _undone(memory: Any, written: Fragments) -> None:
    with all_or_nothing():
        for one in written:
            await memory.write(one)
        raise ZeroDivisionError


@given(size=st.integers(0, 4), before=st.integers(0, 4), count=st.integers(0, 9), concluding=st.booleans())
def test_a_batch_of_new_fragments_is_as_if_written_one_by_one(
    size: int, before: int, count: int, concluding: bool
) -> None:
    one_by_one, at_once = ShortTermMemory[AgentMemoryFragment](size), ShortTermMemory[AgentMemoryFragment](size)
    at_once.insight_extractor = Concludes() if concluding else None
    held, batch = numbered(before), numbered(count)

    async def run() -> None:
        await one_by_one.write_batch(held)
        await at_once.write_batch(held)
        gone = [gone for one in batch for gone in handed(await one_by_one.write(one))]
        discarded = await at_once.write_batch(batch)
        assert handed(discarded) == gone
        assert at_once.short_term_memories == one_by_one.short_term_memories
        if discarded is not None and concluding:
            assert [one.original_memory_fragment for one in discarded.discarded_insights] == gone

    asyncio.run(run())


# --- nothing is lost: many writers, failures, cancellations

PLANS = st.lists(st.tuples(st.sampled_from(["well", "well", "cancel"]), st.integers(0, 8), st.booleans()), max_size=12)


@pytest.mark.parametrize("kind", [ShortTermMemory, Hooked])
@given(size=st.integers(0, 3), rests=st.integers(0, 3), plan=PLANS)
def test_tasks_lose_nothing(kind: type[Any], size: int, rests: int, plan: list[tuple[str, int, bool]]) -> None:
    asyncio.run(_check_crowd(kind(size), rests, plan))


async def _check_crowd(memory: Any, rests: int, plan: list[tuple[str, int, bool]]) -> None:
    first, written = numbered(2), numbered(len(plan))
    given_on = handed(await memory.write_batch(first))
    extractor = Concludes(rests, {one.id for one, (_, _, fails) in zip(written, plan, strict=True) if fails})
    memory.insight_extractor = extractor
    tasks = [asyncio.create_task(memory.write(one)) for one in written]
    cancelling = [
        asyncio.create_task(_cancel(task, after))
        for task, (how, after, _) in zip(tasks, plan, strict=True)
        if how == "cancel"
    ]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*cancelling)
    for result in results:
        given_on += [] if isinstance(result, BaseException) else handed(result)
    taken = [one for one, result in zip(written, results, strict=True) if not isinstance(result, BaseException)]
    found = [one.id for one in (*given_on, *memory.short_term_memories)]
    assert sorted(found) == sorted(one.id for one in (*first, *taken))
    assert len(memory) <= size_of(memory)


async def _cancel(task: asyncio.Task[Any], after: int) -> None:
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()


def size_of(memory: Any) -> int:
    return memory._buffer_size


@pytest.mark.parametrize("kind", [ShortTermMemory, Hooked])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("after", range(8))
def test_a_write_cancelled_at_any_await_leaves_the_memory_as_it_was(kind: type[Any], batch: bool, after: int) -> None:
    async def run() -> bool:
        memory = kind(2)
        held = numbered(2)
        await memory.write_batch(held)
        memory.insight_extractor = Concludes(3)
        new = fragments("new", "newer")
        task = asyncio.create_task(memory.write_batch(new) if batch else memory.write(new[0]))
        await _cancel(task, after)
        (result,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(result, asyncio.CancelledError):
            assert memory.short_term_memories == held
            assert memory._turns.free
            return True
        assert not isinstance(result, BaseException)
        assert handed(result) == (held if batch else held[:1])
        return False

    cancelled = asyncio.run(run())
    assert cancelled or after > 3


@pytest.mark.parametrize("kind", [ShortTermMemory, Hooked])
def test_an_extractor_that_raises_leaves_the_memory_as_it_was(kind: type[Any]) -> None:
    memory = kind(3)
    held = numbered(3)
    memory.write_batch_sync(held)
    memory.insight_extractor = Concludes(1, {held[1].id})
    new = fragments("new", "newer")
    with pytest.raises(KeyError):
        memory.write_batch_sync(new)
    assert memory.short_term_memories == held
    assert handed(memory.write_sync(new[0])) == held[:1]
    with pytest.raises(KeyError):
        memory.write_sync(new[1])
    assert memory.short_term_memories == [*held[1:], new[0]]
    memory.insight_extractor = None
    assert handed(memory.write_sync(new[1])) == [held[1]]


@pytest.mark.parametrize("kind", [ShortTermMemory, Hooked])
@pytest.mark.parametrize("extractor", [None, Concludes(2)])
def test_threads_lose_nothing(kind: type[Any], extractor: Any) -> None:
    memory = kind(7)
    memory.insight_extractor = extractor
    written, given_on = numbered(240), list[AgentMemoryFragment]()

    def by_the_blocking_twin(part: Fragments) -> None:
        for one in part:
            given_on.extend(handed(memory.write_sync(one)))

    def by_a_loop_of_its_own(part: Fragments) -> None:
        async def run() -> None:
            for discarded in await asyncio.gather(*(memory.write(one) for one in part)):
                given_on.extend(handed(discarded))

        asyncio.run(run())

    ways = [by_the_blocking_twin, by_a_loop_of_its_own] * 3
    threads = [threading.Thread(target=way, args=(written[at::6],)) for at, way in enumerate(ways)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(memory) == 7
    assert sorted(one.id for one in (*given_on, *memory.short_term_memories)) == [one.id for one in written]


def test_the_order_of_one_writer_is_kept_among_others() -> None:
    async def run() -> None:
        memory = ShortTermMemory[AgentMemoryFragment](3)
        memory.insight_extractor = Concludes(2)
        gone: Fragments = []

        async def write(part: Fragments) -> None:
            for one in part:
                gone.extend(handed(await memory.write(one)))

        parts = [numbered(10) for _ in range(3)]
        await asyncio.gather(*map(write, parts))
        gone += memory.short_term_memories
        for part in parts:
            mine = {one.id for one in part}
            assert [one for one in gone if one.id in mine] == part

    asyncio.run(run())


def test_nothing_is_asked_twice_when_many_write() -> None:
    async def run() -> None:
        memory = ShortTermMemory[AgentMemoryFragment](3)
        memory.insight_extractor = extractor = Concludes(2)
        await asyncio.gather(*(memory.write(one) for one in numbered(20)))
        assert len(extractor.asked) == len(set(extractor.asked)) == 17

    asyncio.run(run())


# --- undoing


def test_put_back_restores_what_was() -> None:
    memory, held = filled(2)
    new = AgentMemoryFragment("new")
    memory.put_back(new, memory.write_sync(new))
    assert memory.short_term_memories == held
    empty = ShortTermMemory[AgentMemoryFragment](0)
    empty.put_back(new, empty.write_sync(new))
    assert empty.short_term_memories == []
    roomy = ShortTermMemory[AgentMemoryFragment](2)
    roomy.put_back(new, roomy.write_sync(new))
    assert roomy.short_term_memories == []


def test_put_back_while_another_writes_loses_nothing() -> None:
    async def run() -> None:
        memory, held = filled(2)
        one, two = fragments("one", "two")
        first = await memory.write(one)
        memory.insight_extractor = Concludes(4)
        writing = asyncio.create_task(memory.write(two))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        memory.put_back(one, first)
        second = await writing
        assert handed(first) == handed(second) == held[:1]
        assert memory.short_term_memories == [held[1], two]

    asyncio.run(run())


def test_put_back_may_make_room_for_the_one_that_waits() -> None:
    async def run() -> None:
        memory = ShortTermMemory[AgentMemoryFragment](2)
        held, one, two = fragments("held", "one", "two")
        await memory.write_batch([held, one])
        memory.insight_extractor = Concludes(4)
        writing = asyncio.create_task(memory.write(two))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        memory.put_back(one, None)
        assert await writing is None
        assert memory.short_term_memories == [held, two]

    asyncio.run(run())


def test_a_buffer_put_back_over_its_size_is_brought_down_by_the_next_write() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](1)
    held, back, other = fragments("held", "back", "other")
    memory.write_sync(held)
    memory.put_back(other, DiscardedMemoryFragments([back]))
    assert memory.short_term_memories == [back, held]
    again = AgentMemoryFragment("again", memory_id=back.id)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(_undone(memory, [again]))
    assert memory.short_term_memories == [back, held]
    assert handed(memory.write_sync(other)) == [back, held]


# --- what users override


class Upstream(ShortTermMemory[AgentMemoryFragment]):
    """As a subclass is written there: the list is changed in place and replaced, and all of it leaves when it is full."""

    async def transfer_to_long_term(
        self, memory_fragment: AgentMemoryFragment
    ) -> DiscardedMemoryFragments[AgentMemoryFragment] | None:
        if len(self._fragments) <= self._buffer_size:
            return None
        assert self._fragments[-1] is memory_fragment
        leaving = self._fragments[:-1]
        insights = await self.get_insights(leaving)
        self._fragments = self._fragments[-1:]
        self._fragments.append(AgentMemoryFragment("added in place", memory_id=1))
        return DiscardedMemoryFragments(leaving, insights)


class Merging(ShortTermMemory[AgentMemoryFragment]):
    """Takes no text twice, and lets the longest go."""

    async def handle_duplicated(self, memory_fragments: Fragments, new_memory_fragments: Fragments) -> Fragments:
        known = {one.raw_observation for one in memory_fragments}
        return memory_fragments + [one for one in new_memory_fragments if one.raw_observation not in known]

    async def transfer_to_long_term(
        self, memory_fragment: AgentMemoryFragment
    ) -> DiscardedMemoryFragments[AgentMemoryFragment] | None:
        return None

    async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
        kept = sorted(memory_fragments, key=lambda one: len(one.raw_observation))
        return kept[: self._buffer_size], kept[self._buffer_size :]


def test_an_overridden_transfer_is_honoured() -> None:
    memory = Upstream(2)
    one, two, three = numbered(3)
    assert [handed(memory.write_sync(each)) for each in (one, two, three)] == [[], [], [one, two]]
    assert [held.raw_observation for held in memory.short_term_memories] == ["2", "added in place"]


def test_overridden_duplicates_and_overflow_are_honoured_and_nothing_vanishes() -> None:
    memory = Merging(2)
    long, short, mid = fragments("a long one", "b", "mid")
    assert memory.write_batch_sync([long, short, AgentMemoryFragment("b")]) is None
    assert handed(memory.write_sync(mid)) == [long]
    assert memory.short_term_memories == [short, mid]


def test_what_both_hooks_let_go_is_handed_on_once() -> None:
    class Both(ShortTermMemory[AgentMemoryFragment]):
        async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
            return memory_fragments[1:], [*transferred, memory_fragments[0]]

    memory = Both(2)
    transferred: Fragments = []
    one, two, three = numbered(3)
    memory._fragments = [one, two]
    transferred.append(one)
    discarded = memory.write_sync(three)
    assert handed(discarded) == [one, two]
    assert memory.short_term_memories == [three]


def test_a_hook_that_raises_leaves_the_memory_as_it_was() -> None:
    class Breaks(Upstream):
        async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
            if len(memory_fragments) == 2 and memory_fragments[1].id == 1:
                memory_fragments.clear()
                await self.clear()
                raise KeyError("broken")
            return memory_fragments, []

    memory = Breaks(2)
    held = numbered(2)
    memory.write_batch_sync(held)
    with pytest.raises(KeyError):
        memory.write_sync(AgentMemoryFragment("new"))
    assert memory.short_term_memories == held
    assert memory.clear_sync() == held


def test_overridden_insights_are_asked_for() -> None:
    class Knows(ShortTermMemory[AgentMemoryFragment]):
        async def get_insights(self, memory_fragments: Any) -> list[InsightMemoryFragment[AgentMemoryFragment]]:
            return [InsightMemoryFragment(one, ["known"]) for one in memory_fragments]

    memory = Knows(0)
    discarded = memory.write_sync(AgentMemoryFragment("x"))
    assert discarded is not None
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["known"]


# --- the cost of a write


def test_a_write_does_as_much_at_any_size() -> None:
    """Counted, not timed: how often a write looks at a fragment does not hang on how many are held."""

    class Counted(AgentMemoryFragment):
        looks = 0

        @property
        def id(self) -> int:
            Counted.looks += 1
            return self.memory_id

    counts: list[int] = []
    for size in (5, 1000):
        memory = ShortTermMemory[Counted](size)
        memory.write_batch_sync([Counted("x") for _ in range(size)])
        Counted.looks = 0
        memory.write_sync(Counted("new"))
        counts.append(Counted.looks)
    assert counts[0] == counts[1] < 20

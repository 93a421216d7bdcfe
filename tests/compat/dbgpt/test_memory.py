"""Fragments, insights, the contract of a memory, and the scorers and extractors it asks."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell._asyncify import block_on
from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    ContentImportanceScorer,
    DiscardedMemoryFragments,
    EnhancedShortTermMemory,
    ImportanceScorer,
    InsightExtractor,
    InsightMemoryFragment,
    SensoryMemory,
    ShortTermMemory,
    WriteOperation,
)
from memwell.errors import BadModelOutput, InvalidInput
from memwell.models.scripted import HashEmbedder


class Plain(ShortTermMemory[AgentMemoryFragment]):
    """A memory that concludes something from every fragment."""

    async def write(
        self, memory_fragment: AgentMemoryFragment, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[AgentMemoryFragment]:
        await super().write(memory_fragment, now, op)
        return DiscardedMemoryFragments([], [InsightMemoryFragment(memory_fragment, ["so it is"])])


class Together(InsightExtractor[AgentMemoryFragment]):
    """Answers only once so many have asked: it would wait for ever if they came one by one."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.asked: list[Any] = []
        self.all_asked = asyncio.Event()

    async def extract_insights(
        self, memory_fragment: AgentMemoryFragment, llm_client: Any = None
    ) -> InsightMemoryFragment[AgentMemoryFragment]:
        self.asked.append(llm_client)
        if len(self.asked) == self.expected:
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), 60)
        return InsightMemoryFragment(memory_fragment, [memory_fragment.raw_observation.upper()])


class Gives(ImportanceScorer[AgentMemoryFragment], InsightExtractor[AgentMemoryFragment]):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer

    async def extract_insights(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer


def fragments(*texts: str) -> list[AgentMemoryFragment]:
    return [AgentMemoryFragment(text) for text in texts]


def test_a_batch_hands_on_lone_insights() -> None:
    discarded = block_on(Plain().write_batch(fragments("a", "b")))
    assert discarded is not None
    assert discarded.discarded_memory_fragments == []
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["so it is"] * 2
    assert block_on(Plain().write_batch([])) is None
    assert block_on(Plain().reflect(made := fragments("a"))) == made


async def test_insights_are_asked_for_at_once_and_come_in_order() -> None:
    memory = Plain()
    memory.insight_extractor = Together(3)
    memory.llm_client = "client"
    found = await memory.get_insights(fragments("a", "b", "c"))
    assert memory.insight_extractor.asked == ["client"] * 3
    assert [one.insights[0].raw_observation for one in found] == ["A", "B", "C"]


def test_nothing_concluded_is_no_error() -> None:
    memory = Plain()
    assert block_on(memory.get_insights(fragments("a"))) == []
    memory.insight_extractor = Gives(None)
    (found,) = block_on(memory.get_insights(fragments("a")))
    assert found.insights == []
    memory.insight_extractor = Gives(["a"])
    with pytest.raises(InvalidInput, match="InsightMemoryFragment"):
        block_on(memory.get_insights(fragments("a")))


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "8", True])
def test_scores_are_weighted_and_finite(bad: object) -> None:
    memory = Plain()
    assert block_on(memory.score_memory_importance(fragments("a", "b"))) == [0.75, 0.75]
    memory.importance_scorer = Gives(8)
    memory.importance_weight = 0.5
    assert block_on(memory.score_memory_importance(fragments("a"))) == [4.0]
    memory.importance_scorer = Gives(bad)
    with pytest.raises(InvalidInput, match="a score must be a finite number"):
        block_on(memory.score_memory_importance(fragments("a")))


async def test_when_one_fails_the_others_are_not_left_running() -> None:
    left: list[str] = []

    class Fails(Gives):
        async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
            if memory_fragment.raw_observation == "bad":
                raise KeyError("bad")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                left.append(memory_fragment.raw_observation)
                raise

    memory = Plain()
    memory.importance_scorer = Fails(1)
    with pytest.raises(KeyError):
        await memory.score_memory_importance(fragments("a", "bad", "c"))
    await asyncio.sleep(0)
    assert left == ["a", "c"]


def score(text: str) -> float:
    return asyncio.run(ContentImportanceScorer().score_importance(AgentMemoryFragment(text)))


def test_what_matters_scores_more() -> None:
    assert (
        score("I am allergic to peanuts and my doctor is Anna Berg.")
        > score("Well, that was a nice day.")
        > score("ok")
    )
    assert score("我对花生过敏，必须记住。") > score("好的")


MOMENT = datetime(2026, 5, 1, tzinfo=UTC)


def test_a_fragment_has_what_it_was_given() -> None:
    made = AgentMemoryFragment("saw a cat", [1, 0.5], 7, 3.0, MOMENT, True, "/tmp/snapshot")
    assert (made.id, made.memory_id, made.raw_observation, made.observation) == (7, 7, "saw a cat", "saw a cat")
    assert (made.embeddings, made.importance, made.last_accessed_time) == ([1.0, 0.5], 3.0, MOMENT)
    assert (made.is_insight, made.snapshot_path, made.metadata) == (True, "/tmp/snapshot", {})
    built = AgentMemoryFragment.build_from("x", is_insight=True, snapshot_path="p", unknown=1)
    assert (built.raw_observation, built.is_insight, built.snapshot_path, built.current_class) == (
        "x",
        True,
        "p",
        AgentMemoryFragment,
    )
    assert AgentMemoryFragment("x").importance is None
    assert repr(made) == "AgentMemoryFragment(id=7, observation='saw a cat')"


def test_updates_return_what_was() -> None:
    made = AgentMemoryFragment("x", importance=1.0)
    assert (made.update_importance(2.0), made.importance) == (1.0, 2.0)
    assert (made.update_accessed_time(MOMENT), made.last_accessed_time) == (None, MOMENT)
    made.update_embeddings([1.0])
    assert made.embeddings == [1.0]
    assert made.calculate_current_embeddings(lambda texts: [[float(len(text))] for text in texts]) == [1.0]
    assert made.embeddings == [1.0]


def test_a_copy_is_another_object_of_the_same_class() -> None:
    class Sighting(AgentMemoryFragment):
        pass

    made = Sighting("x", [1.0])
    twin = made.copy()
    assert type(twin) is Sighting
    assert twin is not made
    assert twin.id == made.id
    twin.update_importance(9.0)
    assert twin.embeddings is not None
    twin.embeddings.append(2.0)
    assert (made.importance, made.embeddings) == (None, [1.0])


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"observation": 5}, "an observation"), ({"observation": "a\x00"}, "NUL"),
        ({"importance": math.nan}, "importance"), ({"importance": "high"}, "importance"),
        ({"memory_id": -1}, "memory_id"),
    ],
)  # fmt: skip
def test_bad_values_are_refused(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        AgentMemoryFragment(**{"observation": "x", **given_})


def test_reduce_joins_observations() -> None:
    made = fragments("a", "", "b;c")
    whole = made[0].reduce(made, importance=4.0)
    assert (whole.raw_observation, whole.importance) == ("a;;b;c", 4.0)
    assert whole.id not in {one.id for one in made}
    with pytest.raises(InvalidInput, match=r"Memory fragments is empty\."):
        made[0].reduce([])


def test_insights_are_fragments_that_know_what_they_were_concluded_from() -> None:
    first, second = AgentMemoryFragment("one"), AgentMemoryFragment("two")
    own = AgentMemoryFragment("three", is_insight=True)
    own.derived_from = (7, first.id)
    found = InsightMemoryFragment([first, second], ["text", own, first])
    assert [one.derived_from for one in found.insights] == [
        (first.id, second.id),
        (7, first.id, second.id),
        (second.id,),
    ]
    assert second.derived_from == ()
    assert (found.insights[0].raw_observation, found.insights[0].is_insight) == ("text", True)
    assert found.insights[1] is own
    assert InsightMemoryFragment(first, []).insights == []
    assert InsightMemoryFragment(first, []).original_memory_fragment is first
    with pytest.raises(InvalidInput, match="from a fragment"):
        InsightMemoryFragment([], ["a"])


Fragment = AgentMemoryFragment
Fragments = list[AgentMemoryFragment]
LETTERS = "abcdef"


class Concludes(InsightExtractor[Fragment], ImportanceScorer[Fragment]):
    """Takes its time over every fragment, and fails for some."""

    def __init__(self, fails: str = "?", rests: int = 1) -> None:
        self.fails, self.rests = fails, rests

    async def score_importance(self, memory_fragment: Fragment, llm_client: Any = None) -> float:
        for _ in range(self.rests):
            await asyncio.sleep(0)
        if memory_fragment.raw_observation.startswith(self.fails):
            raise KeyError(memory_fragment.raw_observation)
        return 5.0

    async def extract_insights(
        self, memory_fragment: Fragment, llm_client: Any = None
    ) -> InsightMemoryFragment[Fragment]:
        await self.score_importance(memory_fragment)
        return InsightMemoryFragment(memory_fragment, [f"of {memory_fragment.raw_observation}"])


def handed(discarded: DiscardedMemoryFragments[Fragment] | None) -> Fragments:
    return [] if discarded is None else discarded.discarded_memory_fragments


def texts(found: Any) -> list[str]:
    return [one.raw_observation for one in (found if isinstance(found, list) else handed(found))]


def sensory(size: int = 0, scorer: Any = None) -> SensoryMemory[Fragment]:
    memory = SensoryMemory[Fragment](size)
    memory.importance_scorer = scorer
    return memory


def filled(size: int, extractor: Any = None) -> tuple[ShortTermMemory[Fragment], Fragments]:
    memory, held = ShortTermMemory[Fragment](size), fragments(*map(str, range(size)))
    block_on(memory.write_batch(held))
    memory.insight_extractor = extractor
    return memory, held


def embed(given_: list[str]) -> list[list[float]]:
    """Texts that begin with the same letter are alike, others are not."""
    return [[float(text[:1] == letter) for letter in LETTERS] for text in given_]


def enhanced(size: int = 10, threshold: int = 3, **options: Any) -> EnhancedShortTermMemory[Fragment]:
    vectors = options.pop("embeddings", embed)
    return EnhancedShortTermMemory[Fragment](vectors, buffer_size=size, enhance_threshold=threshold, **options)


def enhancers(memory: EnhancedShortTermMemory[Any]) -> list[list[Any]]:
    return [list(memory._enhancers.get(one.id, ())) for one in memory.short_term_memories]


def state(memory: EnhancedShortTermMemory[Fragment]) -> list[tuple[str, int, list[str]]]:
    rows = zip(memory.short_term_memories, memory.enhance_cnt, enhancers(memory), strict=True)
    return [(one.raw_observation, count, texts(enhancers)) for one, count, enhancers in rows]


def test_by_default_everything_passes_through_scored_and_a_full_buffer_is_emptied_whole() -> None:
    memory, (one,) = sensory(), fragments("x")
    assert handed(block_on(memory.write(one))) == [one]
    assert one.importance == 4.5
    assert block_on(memory.read("x")) == []
    memory, (one, two, three, four) = sensory(2), fragments("a", "b", "c", "d")
    assert [handed(block_on(memory.write(each))) for each in (one, two, three)] == [[], [], [one, two, three]]
    assert block_on(memory.write(four)) is None
    assert block_on(memory.read("x")) == [four] == block_on(memory.clear())


@pytest.mark.parametrize("size", [0, 2])
def test_what_does_not_matter_is_dropped_and_a_given_importance_is_the_score(size: int) -> None:
    memory = sensory(size, Concludes())
    worth: list[tuple[str, float | None]] = [("a", 7.25), ("b", None), ("c", 0.05)]
    out = handed(block_on(memory.write_batch([Fragment(text, importance=given_) for text, given_ in worth])))
    assert [(one.observation, one.importance) for one in out] == [("a", 7.25), ("b", 4.5)]
    assert len(memory) == 0


def test_what_is_read_is_the_readers_own_list() -> None:
    memory, held = filled(3)
    block_on(memory.read("x")).clear()
    memory.short_term_memories.clear()
    assert memory.short_term_memories == held


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 7)),
        st.tuples(st.just("batch"), st.lists(st.integers(0, 7), max_size=5)),
        st.tuples(st.just("recall"), st.integers(0, 7)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=25,
)


class Model:
    """What a short-term memory is, as a plain list."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held: Fragments = []

    def write(self, one: Fragment) -> Fragments:
        places = [place for place, held in enumerate(self.held) if held.id == one.id]
        if places:
            self.held[places[0]] = one
        else:
            self.held.append(one)
        over = max(len(self.held) - self.size, 0)
        gone, self.held = self.held[:over], self.held[over:]
        return gone


@given(size=st.integers(0, 5), steps=STEPS, concluding=st.booleans())
async def test_it_is_first_in_first_out(size: int, steps: list[Any], concluding: bool) -> None:
    memory, model = ShortTermMemory[Fragment](size), Model(size)
    memory.insight_extractor = Concludes() if concluding else None
    for verb, what in steps:
        if verb == "write":
            one = Fragment(str(what), memory_id=what + 1)
            assert handed(await memory.write(one)) == model.write(one)
        elif verb == "batch":
            batch = [Fragment(str(each), memory_id=each + 1) for each in what]
            expected = [gone for one in batch for gone in model.write(one)]
            assert handed(await memory.write_batch(batch)) == expected
        elif verb == "recall":
            assert await memory.write(Fragment("x", memory_id=what + 1), op=WriteOperation.RETRIEVAL) is None
        else:
            assert await memory.clear() == model.held
            model.held = []
        assert [id(one) for one in memory.short_term_memories] == [id(one) for one in model.held]


class Upstream(ShortTermMemory[Fragment]):
    """As a subclass is written there: the list is changed in place and replaced, and all of it leaves when it is full."""

    async def transfer_to_long_term(self, memory_fragment: Fragment) -> DiscardedMemoryFragments[Fragment] | None:
        if len(self._fragments) <= self._buffer_size:
            return None
        assert self._fragments[-1] is memory_fragment
        leaving = self._fragments[:-1]
        self._fragments = self._fragments[-1:]
        self._fragments.append(Fragment("added in place", memory_id=1))
        return DiscardedMemoryFragments(leaving, await self.get_insights(leaving))


class Merging(ShortTermMemory[Fragment]):
    """Takes no text twice, and lets the longest go."""

    async def handle_duplicated(self, memory_fragments: Fragments, new_memory_fragments: Fragments) -> Fragments:
        known = set(texts(memory_fragments))
        return memory_fragments + [one for one in new_memory_fragments if one.raw_observation not in known]

    async def transfer_to_long_term(self, memory_fragment: Fragment) -> DiscardedMemoryFragments[Fragment] | None:
        return None

    async def handle_overflow(self, memory_fragments: Fragments) -> tuple[Fragments, Fragments]:
        kept = sorted(memory_fragments, key=lambda one: len(one.raw_observation))
        return kept[: self._buffer_size], kept[self._buffer_size :]


def test_what_is_overridden_is_honoured_and_nothing_vanishes() -> None:
    memory, (one, two, three) = Upstream(2), fragments(*"123")
    assert [handed(block_on(memory.write(each))) for each in (one, two, three)] == [[], [], [one, two]]
    assert texts(memory.short_term_memories) == ["3", "added in place"]
    merging, (long, short, mid) = Merging(2), fragments("a long one", "b", "mid")
    assert block_on(merging.write_batch([long, short, Fragment("b")])) is None
    assert handed(block_on(merging.write(mid))) == [long]
    assert merging.short_term_memories == [short, mid]


def test_what_is_alike_strengthens_and_the_strong_leaves_merged() -> None:
    memory = enhanced(10, 2)
    memory.insight_extractor = Concludes()
    one, two, three = fragments("a1", "a2", "a3")
    one.update_importance(7.0)
    assert texts(block_on(memory.write(one))) == texts(block_on(memory.write(Fragment("b1")))) == []
    assert texts(block_on(memory.write(two))) == []
    assert state(memory) == [("a1", 1, ["a2"]), ("b1", 0, []), ("a2", 0, [])]
    discarded = block_on(memory.write(three))
    assert discarded is not None
    (merged,) = discarded.discarded_memory_fragments
    assert (merged.raw_observation, merged.importance) == ("a1;a2;a3", 7.0)
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["of a1;a2;a3"]
    assert state(memory) == [("b1", 0, []), ("a2", 1, ["a3"]), ("a3", 0, [])]
    assert [one.embeddings for one in memory.short_term_memories] == embed(["b", "a", "a"])
    recalling = enhanced(5, 2)
    block_on(recalling.write(Fragment("a")))
    assert texts(block_on(recalling.write(Fragment("a+"), op=WriteOperation.RETRIEVAL))) == []
    assert state(recalling) == [("a", 1, ["a+"])], "what was recalled is not taken in"
    assert texts(block_on(recalling.write(Fragment("a!"), op=WriteOperation.RETRIEVAL))) == ["a;a+;a!"]
    same, again = enhanced(5, 1), Fragment("b", memory_id=one.id)
    for each in (one, one, again):
        block_on(same.write(each))
    assert (state(same), same.short_term_memories) == ([("b", 0, [])], [again]), "not by itself"


def test_it_is_the_same_every_time() -> None:
    written = [f"{letter}{number}" for number in range(8) for letter in "aab"]
    runs = []
    for _ in range(3):
        memory = enhanced(4)
        runs.append(([texts(block_on(memory.write(Fragment(text)))) for text in written], state(memory)))
    assert runs[0] == runs[1] == runs[2]


def test_the_threshold_is_of_the_sigmoid() -> None:
    table = {"near": [1.0, 0.0], "nearer": [0.86, (1 - 0.86**2) ** 0.5], "far": [0.84, (1 - 0.84**2) ** 0.5]}
    memory = enhanced(embeddings=lambda given_: [table[text] for text in given_])
    block_on(memory.write_batch(fragments(*table)))
    assert memory.enhance_cnt[0] == 1
    assert texts(enhancers(memory)[0]) == ["nearer"]


def test_overflow_hands_on_the_least_important() -> None:
    memory = enhanced(2)
    memory.insight_extractor = Concludes()
    grave, none, new = Fragment("a", importance=5.0), Fragment("b"), Fragment("c")
    block_on(memory.write_batch([grave, none]))
    discarded = block_on(memory.write(new))
    assert discarded is not None
    assert discarded.discarded_memory_fragments == [none]
    assert discarded.discarded_insights[0].original_memory_fragment is none
    assert handed(block_on(memory.write(Fragment("d", importance=-1.0)))) == [new], "never the newest"
    assert texts(block_on(enhanced(0).write(Fragment("a")))) == ["a"]


def test_counts_stay_with_their_fragments_when_another_is_dropped() -> None:
    memory = enhanced(3, 9)
    block_on(memory.write_batch([Fragment("a", importance=3.0), Fragment("b"), Fragment("c", importance=3.0)]))
    for text in ("a+", "c+", "c+"):
        block_on(memory.write(Fragment(text), op=WriteOperation.RETRIEVAL))
    block_on(memory.write(Fragment("d", importance=9.0)))
    assert state(memory) == [("a", 1, ["a+"]), ("c", 2, ["c+", "c+"]), ("d", 0, [])]
    assert texts(block_on(memory.clear())) == ["a", "c", "d"]
    assert memory.enhance_cnt == []


class Documents:
    """Embeddings as LangChain and DB-GPT have them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


async def embed_later(given_: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return embed(given_)


@pytest.mark.parametrize("embeddings", [embed, embed_later, Documents(), HashEmbedder(16)])
def test_whatever_makes_vectors(embeddings: Any) -> None:
    memory = enhanced(embeddings=embeddings)
    block_on(memory.write_batch(fragments("a", "a")))
    assert memory.enhance_cnt == [1]


def test_bad_settings_and_vectors_are_refused() -> None:
    for bad in (
        {"embeddings": None},
        {"buffer_size": -1},
        {"enhance_threshold": 0},
        {"enhance_similarity_threshold": float("nan")},
    ):
        with pytest.raises(InvalidInput):
            EnhancedShortTermMemory(**{"embeddings": embed, **bad})
    for wrong in ([[]], [["x"]], [[float("nan")]]):
        with pytest.raises(BadModelOutput):
            block_on(enhanced(embeddings=lambda _, wrong=wrong: wrong).write(Fragment("a")))


KINDS: list[Callable[[], Any]] = [lambda: sensory(2), lambda: ShortTermMemory[Fragment](2), lambda: enhanced(2, 9)]


@pytest.mark.parametrize("make", KINDS)
def test_a_clone_has_the_settings_and_no_content(make: Callable[[], Any]) -> None:
    memory = make()
    with pytest.raises(InvalidInput, match=r"The real memory fragment class is not set\."):
        _ = memory.real_memory_fragment_class
    memory.initialize("agent", "client", Concludes(), Concludes(), Fragment, "session")
    block_on(memory.write(Fragment("a")))
    clone = memory.structure_clone()
    assert (len(clone), len(memory), clone._buffer_size) == (0, 1, 2)
    for name in ("name", "llm_client", "importance_scorer", "insight_extractor", "session_id"):
        assert getattr(clone, name) is getattr(memory, name)
    assert clone.real_memory_fragment_class is Fragment
    memory.initialize()
    assert (memory.name, memory.session_id, clone.name) == (None, None, "agent")
    tuned = sensory(3)
    tuned.threshold_to_short_term, tuned.importance_weight = 2.0, 0.5
    assert tuned.structure_clone().threshold_to_short_term == 2.0


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("make", KINDS)
def test_what_fails_leaves_everything_as_it_was(make: Callable[[], Any], batch: bool) -> None:
    memory, held, new = make(), fragments("a", "b"), fragments("c", "d")
    block_on(memory.write_batch(held))
    before = state(memory) if isinstance(memory, EnhancedShortTermMemory) else None
    memory.importance_scorer = memory.insight_extractor = Concludes("a")
    with pytest.raises(KeyError):
        block_on(memory.write_batch(new)) if batch else block_on(memory.write(new[0]))
    assert block_on(memory.read("x")) == held
    assert [one.importance for one in (*held, *new)] == [None] * 4
    assert before is None or state(memory) == before
    memory.importance_scorer = memory.insight_extractor = None
    assert len(handed(block_on(memory.write(new[0])))) in (1, 3)


PLANS = st.lists(st.tuples(st.sampled_from(LETTERS[:3]), st.booleans(), st.integers(0, 8)), max_size=12)


@pytest.mark.parametrize("kind", ["sensory", "short", "enhanced"])
@given(size=st.integers(0, 3), rests=st.integers(0, 3), plan=PLANS)
async def test_tasks_lose_nothing(kind: str, size: int, rests: int, plan: list[tuple[str, bool, int]]) -> None:
    """Each fragment that was taken is held or was handed on once; of those that were cancelled or failed none is."""

    memory: Any = {"sensory": sensory, "short": ShortTermMemory, "enhanced": enhanced}[kind](size)
    memory.importance_scorer = memory.insight_extractor = Concludes("c", rests)
    written = [Fragment(f"{letter}{number}") for number, (letter, *_) in enumerate(plan)]
    tasks = [asyncio.create_task(memory.write(one)) for one in written]
    for task, (_, cancelled, after) in zip(tasks, plan, strict=True):
        if cancelled:
            asyncio.get_running_loop().call_later(0.0002 * after, task.cancel)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    found = texts(await memory.read("x"))
    for result in results:
        found += [] if isinstance(result, BaseException) else texts(result)
    taken = [one for one, result in zip(written, results, strict=True) if not isinstance(result, BaseException)]
    # A strong fragment is handed on merged with others, which are still held.
    assert Counter(text.split(";")[0] for text in found) == Counter(texts(taken))
    assert len(memory) <= size


@pytest.mark.parametrize("make", KINDS)
def test_threads_lose_nothing(make: Callable[[], Any]) -> None:
    memory = make()
    memory.importance_scorer = memory.insight_extractor = Concludes()
    written, given_on = fragments(*(f"{LETTERS[at % 4]}{at}" for at in range(80))), list[str]()

    def write(part: Fragments) -> None:
        for one in part:
            given_on.extend(texts(block_on(memory.write(one))))

    async def write_all(part: Fragments) -> None:
        for discarded in await asyncio.gather(*(memory.write(one) for one in part)):
            given_on.extend(texts(discarded))

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(write, written[at::4]) for at in (0, 1)]
        running += [threads.submit(lambda at=at: asyncio.run(write_all(written[at::4]))) for at in (2, 3)]
        for one in running:
            one.result(60)
    places = [*texts(block_on(memory.read("x"))), *(text.split(";")[0] for text in given_on)]
    assert sorted(places) == sorted(texts(written))


async def test_what_short_term_memory_holds_already_is_dropped() -> None:
    memory = ShortTermMemory[AgentMemoryFragment](2)
    first, again = (
        AgentMemoryFragment("Anna lives in Oslo.", importance=2),
        AgentMemoryFragment("Anna lives in Oslo.", importance=7),
    )
    assert await memory.write(first) is None
    assert await memory.write(again) is None
    assert memory.short_term_memories == [first]
    assert first.importance == 7, "the higher of the two"
    assert await memory.write_batch([AgentMemoryFragment("It rains."), AgentMemoryFragment("It rains.")]) is None
    assert [one.raw_observation for one in memory.short_term_memories] == ["Anna lives in Oslo.", "It rains."]
    elsewhere = AgentMemoryFragment("It rains.")
    elsewhere.session_id = "another"
    discarded = await memory.write(elsewhere)
    assert discarded is not None
    assert discarded.discarded_memory_fragments == [first], "another session says it for itself"

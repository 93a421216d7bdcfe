"""The long-term memory of an agent: what is written is read, by the sum that is promised, and deleted for good."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memwell
from memwell._asyncify import block_on
from memwell.compat.dbgpt.long_term import Chunk, HybridMemory, LongTermMemory, LongTermRetriever
from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    EnhancedShortTermMemory,
    ImportanceScorer,
    InsightExtractor,
    InsightMemoryFragment,
    MemoryFragment,
    SensoryMemory,
    ShortTermMemory,
    WriteOperation,
)
from memwell.errors import BackendError, FileError, InvalidInput, NotFound
from memwell.filters import Where
from memwell.longterm.gate import Gate, Policy
from memwell.longterm.memory import Memory as LastingMemory
from memwell.longterm.traits import importance_of

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
MOMENTS = st.datetimes(NOW - timedelta(days=16_000), NOW + timedelta(days=16_000))
DIRECTIONS = {"apple": (1.0, 0.0, 0.0), "pear": (0.6, 0.8, 0.0), "stone": (0.1, 0.2, 0.97), "": (0.3, 0.3, 0.3)}
ROWS = [("apple", 0.5, 10), ("pear", 0.9, 30), ("stone", 0.1, 1)]
SAID = "Ann really likes green tea with honey in the morning"
Long = LongTermMemory[AgentMemoryFragment]


def embed(texts: Sequence[str]) -> list[tuple[float, float, float]]:
    return [next(vector for word, vector in DIRECTIONS.items() if word in text) for text in texts]


def cosine(one: str, other: str) -> float:
    a, b = embed([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def fragment(text: str, importance: Any = 1.0, hours_ago: float = 0.0, **more: Any) -> AgentMemoryFragment:
    return AgentMemoryFragment(text, importance=importance, last_accessed_time=NOW - timedelta(hours=hours_ago), **more)


def texts(fragments: Sequence[MemoryFragment]) -> list[str]:
    return [one.raw_observation for one in fragments]


def held(long: Long) -> set[str]:
    return {one.text for one in long.memory.memories()}


def scores(long: Long, query: str) -> dict[str, float]:
    return {one.text: one.score for one in long.memory_retriever.recalled(query, None)}


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Long]:
    with Long(vector_store=tmp_path / "agent.db", now=NOW, embedder=embed) as memory:
        yield memory


class TestReading:
    def test_what_is_read_is_what_was_written(self, long: Long):
        moment = datetime(2024, 5, 1, 8, 30, 0, 123456, tzinfo=timezone(timedelta(hours=8)))
        written = [
            AgentMemoryFragment("苹果 is [1] an apple", importance=7.3, last_accessed_time=moment, is_insight=True),
            fragment("pear ", 0.0, 3, snapshot_path="/shots/1.png"),
        ]
        block_on(long.write_batch(written))
        found = {one.id: one for one in block_on(long.read("apple"))}
        for one in written:
            read = found[one.id]
            assert (read.observation, read.importance, read.is_insight, read.snapshot_path) == (
                one.observation,
                one.importance,
                one.is_insight,
                one.snapshot_path,
            )
            assert read.last_accessed_time == one.last_accessed_time
            assert read.last_accessed_time is not None
            assert (read.last_accessed_time.tzinfo is None) is (one is written[1])

    def test_a_score_is_the_sum_of_similarity_time_and_importance(self, long: Long):
        block_on(long.write_batch([fragment(*row) for row in ROWS]))
        expected = {text: cosine("apple", text) + 0.99**hours + worth / 10 for text, worth, hours in ROWS}
        assert scores(long, "apple") == pytest.approx(expected, abs=1e-2)
        assert texts(block_on(long.read("apple", beta=0.0, alpha=0.0))) == ["pear", "apple", "stone"]
        block_on(long.write(fragment("a stone of weight", 9.0)))
        assert texts(block_on(long.read("apple")))[0] == "apple", "an important fragment does not answer every question"

    @pytest.mark.parametrize(
        ("weights", "first"), [((1, 0, 0), "stone"), ((0, 1, 0), "apple"), ((0, 0, 1), "pear"), ((-1, 0, 0), "pear")]
    )
    def test_each_weight_alone_decides_the_order(self, long: Long, weights: tuple[int, int, int], first: str):
        block_on(long.write_batch([fragment(*row) for row in ROWS]))
        assert texts(block_on(long.read("apple", *weights)))[0] == first

    def test_a_memory_has_its_own_number_and_decay_and_weights_are_finite(self):
        with Long(now=NOW, embedder=embed, k=1, decay_rate=0.5) as long:
            block_on(long.write_batch([fragment("apple", 0.5), fragment("pear", 0.9, 1)]))
            assert scores(long, "apple") == pytest.approx({"apple": 2.05}, abs=1e-2)
            bad_weights: list[dict[str, Any]] = [{"alpha": "x"}, {"beta": math.nan}, {"gamma": True}]
            for bad in bad_weights:
                with pytest.raises(InvalidInput):
                    block_on(long.read("apple", **bad))

    def test_what_is_read_counts_as_used_then(self, long: Long):
        block_on(long.write_batch([fragment("apple", 1.0, 48), fragment("pear", 1.0, 24)]))
        assert texts(block_on(long.read("x", 1, 0, 0))) == ["pear", "apple"]
        first = long.structure_clone(NOW + timedelta(hours=10))
        assert {one.last_accessed_time for one in block_on(first.read("apple"))} == {NOW}
        only = Long(vector_store=long.memory, now=NOW + timedelta(hours=20), k=1)
        assert texts(block_on(only.read("apple", 0, 1, 0))) == ["apple"]
        later = long.structure_clone(NOW + timedelta(hours=30))
        assert texts(block_on(later.read("x", 1, 0, 0))) == ["apple", "pear"]
        assert len(block_on(later.fetch_memories("x", NOW))) == 2

    def test_a_real_clock_goes_on(self):
        with Long(embedder=embed) as long:
            block_on(long.write(AgentMemoryFragment("apple", importance=1.0)))
            before = datetime.now()  # noqa: DTZ005 - as naive as what the memory gives
            assert abs(long.now - before) < timedelta(minutes=1)
            assert scores(long, "apple") == pytest.approx({"apple": 2.1}, abs=1e-2)

    def test_without_an_embedder_words_decide(self):
        with Long(now=NOW, embedder=None) as long:
            block_on(long.write_batch([fragment("a red apple"), fragment("a green pear"), fragment("红色的苹果")]))
            assert texts(block_on(long.read("the green pear", 0, 1, 0)))[0] == "a green pear"
            assert texts(block_on(long.read("苹果", 0, 1, 0)))[0] == "红色的苹果"

    def test_many_new_ones_are_found_by_meaning_at_once(self):
        with Long(now=NOW, embedder=embed) as long:
            block_on(long.write_batch([fragment(f"stone {n}") for n in range(100)] + [fragment("apple")]))
            assert texts(block_on(long.read("pineapple", 0, 1, 0)))[0] == "apple"

    def test_the_class_of_fragments_is_the_one_that_was_named(self, long: Long):
        class Sighting(AgentMemoryFragment):
            pass

        other = LongTermMemory[Any](vector_store=long.memory, now=NOW)
        other.initialize(real_memory_fragment_class=Sighting)
        block_on(other.write(Sighting("an apple", importance=1.0)))
        (found,) = block_on(other.read("apple"))
        assert type(found) is Sighting

    def test_all_of_it_survives_a_restart(self, tmp_path: Path):
        path = tmp_path / "agent.db"
        with Long(vector_store=path, now=NOW, embedder=embed) as long:
            long.initialize(session_id="s")
            block_on(long.write_batch([fragment("apple", 0.5, 10), fragment("pear", 0.7, 30)]))
            before = block_on(long.read("apple"))
        with Long(vector_store=str(path), now=NOW, embedder=embed) as long:
            long.initialize(session_id="s")
            assert [one.id for one in block_on(long.read("apple"))] == [one.id for one in before]
        with memwell.open(path, embedder=None) as engine:
            found = engine.recall("apple")[0]
            assert (found.text, found.importance, found.trust) == ("apple", 0.05, "tool")


class TestOwners:
    def test_a_session_filters_only_when_it_is_set(self, long: Long):
        for session, text in ((None, "apple of nobody"), ("s1", "apple of one"), ("s2", "apple of two")):
            long.initialize(session_id=session)
            block_on(long.write(fragment(text)))
        assert texts(block_on(long.read("apple"))) == ["apple of two"]
        long.session_id = "s1"
        assert texts(block_on(long.read("apple"))) == ["apple of one"]
        long.initialize()
        assert len(block_on(long.read("apple"))) == 3

    def test_labels_filter_what_was_asked_and_nothing_else(self, long: Long):
        def memory(**labels: Any) -> Long:
            return Long(vector_store=long.memory, now=NOW, metadata=labels)

        ann, both = memory(agent="ann"), memory(agent="ann", team=1, tags=["x"])
        block_on(ann.write(fragment("apple of ann")))
        block_on(both.write(fragment("apple of the team")))
        assert len(block_on(ann.read("apple"))) == len(block_on(long.read("apple"))) == 2, "without labels it sees all"
        assert texts(block_on(both.read("apple"))) == ["apple of the team"]
        assert block_on(memory(agent="ann", team=True).read("apple")) == []

    def test_one_fragment_in_two_memories_is_in_both(self, long: Long):
        mine, yours = (Long(vector_store=long.memory, now=NOW, metadata={"agent": one}) for one in ("me", "you"))
        shared = fragment("apple")
        for one in (mine, yours, long):
            block_on(one.write(shared))
        assert [one.id for one in block_on(long.read("apple"))] == [shared.id], "each id once"
        block_on(mine.clear())
        assert (block_on(mine.read("apple")), texts(block_on(yours.read("apple")))) == ([], ["apple"])

    def test_a_clone_shares_the_store_and_the_labels(self, long: Long):
        labelled = Long(vector_store=long.memory, now=NOW, metadata={"agent": "me"}, k=2)
        labelled.initialize("me", session_id="s")
        block_on(labelled.write(fragment("apple")))
        clone = labelled.structure_clone()
        assert texts(block_on(clone.read("apple"))) == ["apple"]
        assert (clone.name, clone.session_id, clone.now, clone.memory_retriever.k) == ("me", "s", NOW, 2)

    @pytest.mark.parametrize("bad", [{"dbgpt": 1}, {"a": {1, 2}}, {"memwell": {}}, "text", 7])
    def test_labels_that_cannot_be_kept_are_refused(self, bad: Any):
        with pytest.raises(InvalidInput):
            block_on(Long(metadata=bad, embedder=None).write(fragment("apple")))


class _Scorer(ImportanceScorer[AgentMemoryFragment]):
    def __init__(self, score: Any) -> None:
        self.score = score

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> float:
        return self.score


class TestWriting:
    def test_an_importance_that_is_missing_comes_from_the_default_or_the_scorer(self, long: Long):
        with pytest.raises(InvalidInput, match=r"^importance is required\."):
            block_on(long.write(fragment("apple", None)))
        assert long.memory.count() == 0
        long.initialize(importance_scorer=_Scorer(8))
        block_on(long.write(fragment("apple", None)))
        assert block_on(long.read("apple"))[0].importance == pytest.approx(8 * 0.15)
        default = Long(vector_store=long.memory, now=NOW, _default_importance=2.5)
        block_on(default.write(fragment("pear", None)))
        assert block_on(default.read("pear", 0, 1, 0))[0].importance == 2.5

    @pytest.mark.parametrize("bad", [-0.1, 10.1, math.nan, "high", True])
    def test_an_importance_that_is_none_is_refused_and_nothing_is_written(self, long: Long, bad: Any):
        one = fragment("pear")
        one._importance = bad
        with pytest.raises(InvalidInput):
            block_on(long.write_batch([fragment("apple"), one]))
        assert block_on(long.read("apple")) == []
        with pytest.raises(InvalidInput):
            Long(vector_store=long.memory, _default_importance=bad)

    def test_the_same_id_again_is_a_change(self, long: Long):
        one = fragment("apple", 1.0)
        block_on(long.write(one))
        one.observation = "a pear, after all"
        one.update_importance(3.0)
        block_on(long.write(one))
        found = block_on(long.read("fruit"))
        assert [(f.id, f.observation, f.importance) for f in found] == [(one.id, "a pear, after all", 3.0)]
        assert scores(long, "apple") == pytest.approx({one.observation: cosine("apple", "pear") + 1.3}, abs=1e-2)
        history = long.memory.history(str(one.id))
        block_on(long.write_batch([one, one]))
        assert long.memory.history(str(one.id)) == history

    def test_a_batch_needs_no_time_and_an_empty_one_is_nothing(self, long: Long):
        assert block_on(long.write_batch([])) is None
        assert block_on(long.write(fragment("pear"), op=WriteOperation.RETRIEVAL)) is None
        assert long.memory.count() == 0, "what is only recalled is not written"
        assert block_on(long.write_batch([AgentMemoryFragment("apple", importance=1.0)])) is None
        assert block_on(long.read("apple"))[0].last_accessed_time == NOW

    @given(TEXTS, st.floats(0, 10), st.booleans(), MOMENTS)
    def test_whatever_an_agent_writes_comes_back(self, text: str, importance: float, insight: bool, moment: datetime):
        with Long(now=NOW, embedder=None) as long:
            aware = moment.replace(tzinfo=UTC)
            one = AgentMemoryFragment(text, importance=importance, is_insight=insight, last_accessed_time=aware)
            block_on(long.write(one))
            (found,) = block_on(long.read("anything"))
            assert (found.id, found.observation, found.is_insight) == (one.id, text, insight)
            assert found.importance == pytest.approx(importance, abs=1e-8)
            assert found.last_accessed_time == aware

    def test_nothing_an_agent_writes_is_refused_but_by_the_gate_of_ones_own_engine(self, long: Long):
        for text in ("", "   ", "asdfghjkl", "ha" * 100, "As an AI language model, I cannot help with that."):
            block_on(long.write(fragment(text)))
        assert long.memory.count() == 5
        with memwell.open("memory:", embedder=None, gate=Gate(Policy(least_characters=5))) as engine:
            own = Long(vector_store=engine, now=NOW)
            with pytest.raises(InvalidInput, match="short: 4 characters"):
                block_on(own.write_batch([fragment("a whole apple"), fragment("pear")]))
            assert engine.count() == 0
            own.close()
            block_on(own.write(fragment("a whole apple")))
            assert engine.recall("apple")[0].text == "a whole apple"

    def test_an_open_memory_has_its_own_embedder(self, long: Long):
        with pytest.raises(InvalidInput, match="has its own embedder"):
            Long(vector_store=long.memory, embedder=embed)

    def test_an_object_that_embeds_documents_is_an_embedder(self):
        embeddings = SimpleNamespace(model_name="fruit", embed_documents=embed)
        with Long(now=NOW, embedder=embeddings) as long:
            block_on(long.write_batch([fragment("apple"), fragment("pear")]))
            assert long.memory.embedder is not None
            assert long.memory.embedder.name == "SimpleNamespace fruit"
            assert texts(block_on(long.read("pear", 0, 1, 0)))[0] == "pear"


class TestFailing:
    def test_an_embedder_that_fails_holds_nothing_up_and_is_asked_again(self):
        broken = True

        def moody(given: Sequence[str]) -> Any:
            if broken:
                raise RuntimeError("out of order")
            return embed(given)

        with Long(now=NOW, embedder=moody) as long:
            block_on(long.write_batch([fragment("a red apple", 1.0, 9), fragment("a pear")]))
            assert texts(block_on(long.read("apple", 0, 1, 0)))[0] == "a red apple"
            broken = False
            assert scores(long, "apple")["a pear"] == pytest.approx(cosine("apple", "pear") + 1.1, abs=1e-2)


class TestDeleting:
    def test_clear_returns_all_of_this_memory_and_leaves_the_others(self, long: Long):
        other = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        block_on(other.write(fragment("yours")))
        mine = Long(vector_store=long.memory, now=NOW, metadata={"agent": "me"})
        for session, text in (("s", "mine, of the session"), (None, "mine")):
            mine.session_id = session
            block_on(mine.write(fragment(text, 3.5)))
        mine.session_id = "s"
        assert texts(block_on(mine.clear())) == ["mine, of the session"]
        mine.session_id = None
        assert [(one.observation, one.importance) for one in block_on(mine.clear())] == [("mine", 3.5)]
        assert (held(long), block_on(mine.clear())) == ({"yours"}, [])

    def test_clear_takes_a_part_by_importance_and_age(self, long: Long):
        old = 40 * 24
        block_on(
            long.write_batch(
                [fragment("low"), fragment("high", 9), fragment("low, old", 1, old), fragment("high, old", 9, old)]
            )
        )
        pinned = fragment("pinned", 1, old)
        block_on(long.write(pinned))
        long.memory.pin(str(pinned.id))
        month = timedelta(days=30)
        assert texts(block_on(long.clear(importance_below=8, older_than=month))) == ["low, old"]
        assert texts(block_on(long.clear(importance_below=8))) == ["low"]
        assert texts(block_on(long.clear(older_than=month))) == ["high, old"]
        assert block_on(long.clear(older_than=timedelta.max)) == []
        assert held(long) == {"high", "pinned"}
        assert texts(block_on(long.clear())) == ["pinned", "high"]

    def test_what_is_cleared_is_in_no_file(self, tmp_path: Path):
        canary = "kanarienvogel-7391"
        with Long(vector_store=tmp_path / "agent.db", now=NOW, embedder=None) as long:
            one = fragment(f"The bird is called {canary}.", 1.0)
            said = f"{SAID}, says {canary}"
            block_on(
                long.write_batch([one, fragment(said), fragment(said + " now"), fragment("Bob drives a truck.", 5.0)])
            )
            block_on(long.read(canary))
            block_on(long.write(AgentMemoryFragment(f"It was {canary}.", memory_id=one.id, importance=1.0)))
            assert block_on(long.compress_memories(0.7)).after == 3
            assert canary.encode() in bytes_of(tmp_path)
            assert len(block_on(long.clear(importance_below=2.0))) == 2
            assert canary.encode() not in bytes_of(tmp_path)
            assert held(long) == {"Bob drives a truck."}

    def test_insights_go_with_what_they_rest_on(self, long: Long):
        given = [fragment("apple", 1.0), fragment("pear", 9.0)]
        insights = [made for one in given for made in InsightMemoryFragment(one, [f"of {one.observation}"]).insights]
        insights += InsightMemoryFragment([insights[0]], ["of all of it"]).insights
        for one in insights:
            one.update_importance(9.0)
        block_on(long.write_batch([*given, *insights]))
        derived = {one.raw_observation: one.derived_from for one in block_on(long.read("of apple", 0, 0, 1))}
        assert derived["of apple"] == (given[0].id,)
        assert texts(block_on(long.clear(importance_below=5.0))) == ["apple"]
        assert held(long) == {"pear", "of pear"}
        insights[1].derived_from = (insights[2].id,)
        block_on(long.write(insights[1]))
        rests = {one.text: {other.record for other in one.evidence} for one in long.memory.memories()}
        assert rests["of pear"] == {str(given[1].id), str(insights[2].id)}

    @pytest.mark.parametrize(
        "bad", [{"importance_below": -1}, {"importance_below": "x"}, {"older_than": timedelta(days=-1)}]
    )
    def test_conditions_that_make_no_sense_delete_nothing(self, long: Long, bad: dict[str, Any]):
        block_on(long.write(fragment("apple")))
        with pytest.raises(InvalidInput):
            block_on(long.clear(**bad))
        assert held(long) == {"apple"}


class TestUpkeep:
    def test_what_says_the_same_becomes_one_with_the_evidence_of_all(self, long: Long):
        one, two, other = fragment(SAID), fragment(SAID + " now"), fragment("Bob drives a truck")
        block_on(long.write_batch([one, two, other]))
        done = block_on(long.compress_memories(0.7))
        assert (done.before, done.after) == (3, 2)
        assert {f.id for f in block_on(long.read("green tea"))} == {two.id, other.id}
        assert str(one.id) in {evidence.record for evidence in long.memory.get(str(two.id)).evidence}
        block_on(long.write(one))
        assert {f.id for f in block_on(long.read("green tea"))} == {one.id, two.id, other.id}, (
            "written again, it is back"
        )
        other_agent = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        block_on(other_agent.write(fragment(SAID + " too")))
        assert SAID + " too" in held(long)
        assert block_on(long.compress_memories(0.7)).after == 2, "what another labelled is not merged"
        for bad in (0, 1.5, "x", None):
            with pytest.raises(InvalidInput):
                block_on(long.compress_memories(bad))  # type: ignore[arg-type]

    def test_worth_moves_with_use_and_with_feedback(self, long: Long):
        one = fragment("Ann is allergic to nuts and must never eat them.", 0.5)
        unstored = block_on(long.evaluate_importance(one))
        block_on(long.write(one))
        plain = block_on(long.evaluate_importance(one))
        assert 0.0 < plain == unstored < 1.0
        for _ in range(3):
            block_on(long.read("nuts"))
        used = block_on(long.evaluate_importance(one))
        assert used > plain
        assert (block_on(long.feedback(one, useful=True)).importance or 0.0) > 0.5
        assert block_on(long.evaluate_importance(one)) > used
        long.session_id = "s"
        of_session = fragment("Ann is allergic to nuts.", 0.5)
        block_on(long.write(of_session))
        long.session_id = None
        assert block_on(long.feedback(of_session.id, useful=False)).id == of_session.id
        with pytest.raises(NotFound):
            block_on(long.feedback(12345, useful=True))

    def test_insights_are_drawn_when_enough_has_come_together(self):
        with Long(now=NOW, embedder=None, reflection_threshold=3.0, k=10, metadata={"agent": "me"}) as long:
            for word, importance in (("hot", 1.5), ("wet", 1.0)):
                block_on(long.write(fragment(f"The trip to Zanzibar was {word}.", importance)))
            assert not any(one.is_insight for one in block_on(long.read("Zanzibar")))
            block_on(long.write(fragment("The trip to Zanzibar was long.", 0.5)))
            insights = [one for one in block_on(long.read("Zanzibar")) if one.is_insight]
            assert insights
            assert long.aggregate_importance == 0.0
            assert block_on(long.feedback(insights[0].id, useful=True)).id == insights[0].id

    def test_what_fails_while_reflecting_undoes_no_write_and_is_tried_again(self):
        class Moody(LongTermMemory[AgentMemoryFragment]):
            calls = 0

            async def reflect(self, memory_fragments: list[AgentMemoryFragment]) -> list[AgentMemoryFragment]:
                self.calls += 1
                raise RuntimeError("no thoughts")

        with Moody(now=NOW, embedder=None, reflection_threshold=1.0) as long:
            block_on(long.write(fragment("apple")))
            block_on(long.write(fragment("pear")))
            assert (long.calls, long.aggregate_importance, len(block_on(long.read("fruit")))) == (2, 2.0, 2)


def chunk(text: str, hours_ago: float = 0.0, **metadata: Any) -> Chunk:
    return Chunk(text, {"last_accessed_at": NOW - timedelta(hours=hours_ago), **metadata})


class TestRetriever:
    @pytest.fixture
    def retriever(self) -> Iterator[LongTermRetriever]:
        made = LongTermRetriever(NOW, embedder=embed)
        yield made
        made.memory.close()

    def test_the_score_is_the_sum_and_only_the_best_are_returned(self, retriever: LongTermRetriever):
        ids = retriever.load_document([chunk("apple", 10, importance=0.5), chunk("pear", 30, importance=0.8)])
        found = retriever.retrieve("apple")
        assert [one.chunk_id for one in found] == ids
        expected = [1.0 + 0.99**10 + 0.05, 0.6 + 0.99**30 + 0.08]
        assert [one.score for one in found] == pytest.approx(expected, abs=1e-2)
        moment = (NOW - timedelta(hours=10)).astimezone(UTC)
        assert found[0].metadata == {"importance": 0.5, "last_accessed_at": moment}
        found[0].content = "stone"
        assert retriever.load_document(found[:1]) == ids[:1]
        assert {one.content for one in retriever.retrieve("x")} == {"stone", "pear"}, "loaded again, it is replaced"
        best = LongTermRetriever(NOW, None, 2, embedder=None, k=3)
        best.load_document([chunk(f"number {n}", importance=n) for n in range(5)])
        assert [one.content for one in best.retrieve("x")] == ["number 4", "number 3"]
        settings_that_are_none: list[dict[str, Any]] = [{"k": -1}, {"top_k": "x"}, {"decay_rate": 1.0}]
        for bad in settings_that_are_none:
            with pytest.raises(InvalidInput):
                LongTermRetriever(**bad, embedder=None)

    def test_filters_select_by_metadata(self, retriever: LongTermRetriever):
        retriever.load_document([chunk("apple", city="Paris"), chunk("pear", city="Rome"), chunk("stone")])
        for filters in ({"city": "Paris"}, Where("city", "eq", "Paris")):
            assert [one.content for one in retriever.retrieve("x", filters)] == ["apple"]
        assert len(retriever.retrieve("x", {})) == 3
        for bad in (7, {"$odd": 1}):
            with pytest.raises(InvalidInput):
                retriever.retrieve("x", bad)  # type: ignore[arg-type]

    @pytest.mark.parametrize("bad", [chunk("\0"), chunk("apple", importance=-1), Chunk("apple", {"odd": {1, 2}})])
    def test_a_document_that_cannot_be_kept_keeps_out_the_others(self, retriever: LongTermRetriever, bad: Any):
        with pytest.raises(InvalidInput):
            retriever.load_document([chunk("pear"), bad])
        assert retriever.retrieve("x") == []


Fragment = AgentMemoryFragment
Hybrid = HybridMemory[AgentMemoryFragment]


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
        block_on(memory.write(one))
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


class TestHybridWriting:
    def test_all_that_was_concluded_is_kept_with_an_importance(self):
        memory = hybrid(extractor=Extractor(), buffer_size=1)
        write(memory, "apple", "pear")
        assert kept(memory) == {"apple", "first of apple", "second of apple"}
        found = block_on(memory.long_term_memory.read("apple"))
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
            block_on(memory.write_batch([mine, *others]))
        else:
            for one in (mine, *others):
                block_on(memory.write(one))
        found = {one.id: one.importance for one in block_on(memory.long_term_memory.read("mine"))}
        assert found[mine.id] == pytest.approx(importance, abs=1e-9)
        assert mine.importance == importance
        assert others[0].importance == 4.5

    def test_a_batch_goes_the_whole_way(self, memory: Hybrid):
        assert block_on(memory.write_batch([Fragment(text) for text in ("one", "two", "three", "four")])) is None
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
            block_on(memory.write_batch([Fragment(text) for text in texts]))
        else:
            write(memory, *texts)
        expected: dict[str, tuple[str, set[str]]] = {"apple": ("tool", set()), "pear": ("tool", set())}
        for text in ("apple", "pear"):
            expected |= {f"{which} of {text}": ("derived", {text}) for which in ("first", "second")}
        assert evidence(memory) == expected


class TestHybridFailing:
    @pytest.mark.parametrize("role", ["scorer", "extractor"])
    def test_who_raises_leaves_all_as_it_was(self, role: str):
        failing = Failing("three" if role == "scorer" else "one", RuntimeError("no"))
        memory = hybrid(scorer=failing) if role == "scorer" else hybrid(extractor=failing)
        first = write(memory, "one", "two")
        for call in (
            lambda: block_on(memory.write(Fragment("three"))),
            lambda: block_on(memory.write_batch([Fragment("three")])),
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
            block_on(memory.write_batch([Fragment("three"), Fragment("four")]))
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
        found = block_on(memory.read("apple"))
        assert {one.id for one in found} == {one.id for one in made}
        assert not any(one is other for one in found for other in made)
        memory.close()

    def test_what_is_in_mind_belongs_to_the_session_it_came_in(self, memory: Hybrid):
        memory.session_id = "s1"
        memory.short_term_memory.insight_extractor = Extractor()
        write(memory, "apple one", "apple two")
        memory.session_id = "s2"
        assert block_on(memory.read("apple")) == block_on(memory.read("apple", alpha=1.0)) == []
        write(memory, "apple three")
        assert [one.raw_observation for one in block_on(memory.read("apple"))] == ["apple three"]
        assert [one.raw_observation for one in block_on(memory.clear())] == ["apple three"]
        memory.session_id = "s1"
        assert {one.raw_observation for one in block_on(memory.read("apple"))} == {
            "apple one",
            "first of apple one",
            "second of apple one",
            "apple two",
        }
        assert len(block_on(memory.clear())) == 4
        assert in_mind(memory) == []


class TestHybridReading:
    def test_a_read_finds_both_each_once_and_changes_nothing(self, memory: Hybrid):
        made = write(memory, "apple one", "apple two", "apple three")
        block_on(memory.long_term_memory.write(made[1]))
        found = block_on(memory.read("apple"))
        assert sorted(one.id for one in found) == sorted(one.id for one in made)
        assert all(one is not other for one in found for other in made)
        found[0].update_importance(9.0)
        assert [one.importance for one in made] == [weighed("apple one")] * 3
        assert (in_mind(memory), len(kept(memory))) == (["apple two", "apple three"], 2)
        assert [one.id for one in block_on(memory.read("apple"))] == [one.id for one in found]

    def test_fetched_memories_come_without_anything_let_go(self, memory: Hybrid):
        write(memory, "one", "two", "three")
        alone, gone = asyncio.run(memory.fetch_memories("one"))
        assert ([one.raw_observation for one in alone], gone) == (["one"], [])
        both, _ = block_on(memory.fetch_memories("one", memory.short_term_memory))
        assert {one.raw_observation for one in both} == {"one", "two", "three"}


def test_clear_empties_all_three_and_returns_what_was_in_them(memory: Hybrid):
    write(memory, "one", "two", "three", "four")
    assert {one.raw_observation for one in block_on(memory.clear())} == {"one", "two", "three", "four"}
    assert block_on(memory.read("one")) == []
    assert (in_mind(memory), kept(memory), block_on(memory.clear())) == ([], set(), [])
    write(memory, "one", "two", "three")
    assert kept(memory) == {"one"}


def test_a_clone_has_nothing_in_mind_and_shares_what_is_kept(memory: Hybrid):
    memory.initialize("me", session_id="s")
    write(memory, "one", "two", "three")
    clone = memory.structure_clone()
    assert (clone.name, clone.session_id, clone.now, in_mind(clone)) == ("me", "s", NOW, [])
    assert [one.raw_observation for one in block_on(clone.read("one"))] == ["one"]
    clone.close()
    write(memory, "four")
    assert kept(memory) == {"one", "two"}


class TestManyWriters:
    @settings(max_examples=10)
    @given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 25), st.integers(0, 24))
    def test_tasks_lose_nothing_whoever_fails(self, buffer_size: int, sensory: int, count: int, failing: int):
        scorer = Failing(f"number {failing}", RuntimeError("no"))
        memory = hybrid(
            buffer_size=buffer_size, sensory=sensory, scorer=scorer, extractor=Failing("never", RuntimeError())
        )
        made = [Fragment(f"number {n}") for n in range(count)]

        async def all_at_once() -> list[Any]:
            return await asyncio.gather(*(memory.write(one) for one in made), return_exceptions=True)

        done = asyncio.run(all_at_once())
        written = {one.raw_observation for one, outcome in zip(made, done, strict=True) if outcome is None}
        perceived = [one.raw_observation for one in block_on(memory.sensory_memory.read("x"))]
        everywhere = [*perceived, *in_mind(memory), *(one for one in kept(memory) if not one.startswith("of "))]
        assert sorted(everywhere) == sorted(written)
        memory.long_term_memory.close()


class TestMaking:
    def test_a_file_is_opened_and_closed(self, tmp_path: Path):
        with Hybrid.from_vstore(tmp_path / "agent.db", embed, short_term_memory=ShortTermMemory(1)) as memory:
            write(memory, "apple", "pear")
        with Hybrid.from_vstore(str(tmp_path / "agent.db"), embed) as memory:
            assert [one.raw_observation for one in block_on(memory.read("apple"))] == ["apple"]
        with Hybrid.from_vstore(embeddings=embed) as memory:
            assert isinstance(memory.short_term_memory, EnhancedShortTermMemory)
            write(memory, "apple")
            assert [one.raw_observation for one in block_on(memory.read("apple"))] == ["apple"]

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

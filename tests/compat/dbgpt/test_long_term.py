"""The long-term memory of an agent: what is written is read, by the sum that is promised, and deleted for good."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.compat.dbgpt.long_term import Chunk, LongTermMemory, LongTermRetriever
from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    ImportanceScorer,
    InsightMemoryFragment,
    MemoryFragment,
    WriteOperation,
)
from memwell.errors import BackendError, InvalidInput, NotFound
from memwell.filters import Where
from memwell.longterm.gate import Gate, Policy
from memwell.longterm.memory import Memory

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
MOMENTS = st.datetimes(NOW - timedelta(days=16_000), NOW + timedelta(days=16_000))
DIRECTIONS = {"apple": (1.0, 0.0, 0.0), "pear": (0.6, 0.8, 0.0), "stone": (0.1, 0.2, 0.97), "": (0.3, 0.3, 0.3)}
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
    def test_fragments_of_other_importance_are_all_read(self, long: Long):
        long.write_sync(fragment("apple", 0.5))
        long.write_sync(fragment("pear", 0.9))
        found = long.read_sync("fruit")
        assert {(one.raw_observation, one.importance) for one in found} == {("apple", 0.5), ("pear", 0.9)}

    def test_what_is_read_is_what_was_written(self, long: Long):
        moment = datetime(2024, 5, 1, 8, 30, 0, 123456, tzinfo=timezone(timedelta(hours=8)))
        written = [
            AgentMemoryFragment("苹果 is [1] an apple", importance=7.3, last_accessed_time=moment, is_insight=True),
            fragment("pear ", 0.0, 3, snapshot_path="/shots/1.png"),
        ]
        long.write_batch_sync(written)
        found = {one.id: one for one in long.read_sync("apple")}
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
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.9, 30), fragment("stone", 0.1, 1)])
        expected = {
            text: cosine("apple", text) + 0.99**hours + importance / 10
            for text, importance, hours in [("apple", 0.5, 10), ("pear", 0.9, 30), ("stone", 0.1, 1)]
        }
        assert scores(long, "apple") == pytest.approx(expected, abs=1e-2)
        assert texts(long.read_sync("apple", beta=0.0, alpha=0.0)) == ["pear", "apple", "stone"]

    @pytest.mark.parametrize(
        ("alpha", "beta", "gamma", "first"),
        [(1, 0, 0, "stone"), (0, 1, 0, "apple"), (0, 0, 1, "pear"), (-1, 0, 0, "pear")],
    )
    def test_each_weight_alone_decides_the_order(self, long: Long, alpha: int, beta: int, gamma: int, first: str):
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.9, 30), fragment("stone", 0.1, 1)])
        assert texts(long.read_sync("apple", alpha, beta, gamma))[0] == first

    def test_a_memory_has_its_own_number_and_decay_and_weights_are_finite(self):
        with Long(now=NOW, embedder=embed, k=1, decay_rate=0.5) as long:
            long.write_batch_sync([fragment("apple", 0.5), fragment("pear", 0.9, 1)])
            assert scores(long, "apple") == pytest.approx({"apple": 2.05}, abs=1e-2)
            bad_weights: list[dict[str, Any]] = [{"alpha": "x"}, {"beta": math.nan}, {"gamma": True}]
            for bad in bad_weights:
                with pytest.raises(InvalidInput):
                    long.read_sync("apple", **bad)

    def test_what_is_read_counts_as_used_then(self, long: Long):
        long.write_batch_sync([fragment("apple", 1.0, 48), fragment("pear", 1.0, 24)])
        assert texts(long.read_sync("x", 1, 0, 0)) == ["pear", "apple"]
        first = long.structure_clone(NOW + timedelta(hours=10))
        assert {one.last_accessed_time for one in first.read_sync("apple")} == {NOW}
        only = Long(vector_store=long.memory, now=NOW + timedelta(hours=20), k=1)
        assert texts(only.read_sync("apple", 0, 1, 0)) == ["apple"]
        later = long.structure_clone(NOW + timedelta(hours=30))
        assert texts(later.read_sync("x", 1, 0, 0)) == ["apple", "pear"]
        assert len(later.fetch_memories_sync("x", NOW)) == 2

    def test_an_important_fragment_does_not_answer_every_question(self, long: Long):
        long.write_batch_sync([fragment("apple", 1.0), fragment("stone", 9.0)])
        assert texts(long.read_sync("apple"))[0] == "apple"

    def test_a_real_clock_goes_on(self):
        with Long(embedder=embed) as long:
            long.write_sync(AgentMemoryFragment("apple", importance=1.0))
            before = datetime.now()  # noqa: DTZ005 - as naive as what the memory gives
            assert abs(long.now - before) < timedelta(minutes=1)
            assert scores(long, "apple") == pytest.approx({"apple": 2.1}, abs=1e-2)

    def test_without_an_embedder_words_decide(self):
        with Long(now=NOW, embedder=None) as long:
            long.write_batch_sync([fragment("a red apple"), fragment("a green pear"), fragment("红色的苹果")])
            assert texts(long.read_sync("the green pear", 0, 1, 0))[0] == "a green pear"
            assert texts(long.read_sync("苹果", 0, 1, 0))[0] == "红色的苹果"

    def test_many_new_ones_are_found_by_meaning_at_once(self):
        with Long(now=NOW, embedder=embed) as long:
            long.write_batch_sync([fragment(f"stone {n}") for n in range(100)] + [fragment("apple")])
            assert texts(long.read_sync("pineapple", 0, 1, 0))[0] == "apple"

    def test_the_class_of_fragments_is_the_one_that_was_named(self, long: Long):
        class Sighting(AgentMemoryFragment):
            pass

        other = LongTermMemory[Any](vector_store=long.memory, now=NOW)
        other.initialize(real_memory_fragment_class=Sighting)
        other.write_sync(Sighting("an apple", importance=1.0))
        (found,) = other.read_sync("apple")
        assert type(found) is Sighting

    def test_all_of_it_survives_a_restart(self, tmp_path: Path):
        path = tmp_path / "agent.db"
        with Long(vector_store=path, now=NOW, embedder=embed) as long:
            long.initialize(session_id="s")
            long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.7, 30)])
            before = long.read_sync("apple")
        with Long(vector_store=str(path), now=NOW, embedder=embed) as long:
            long.initialize(session_id="s")
            assert [one.id for one in long.read_sync("apple")] == [one.id for one in before]
        with memwell.open(path, embedder=None) as engine:
            found = engine.recall("apple")[0]
            assert (found.text, found.importance, found.trust) == ("apple", 0.05, "tool")


class TestOwners:
    def test_a_session_filters_only_when_it_is_set(self, long: Long):
        for session, text in ((None, "apple of nobody"), ("s1", "apple of one"), ("s2", "apple of two")):
            long.initialize(session_id=session)
            long.write_sync(fragment(text))
        assert texts(long.read_sync("apple")) == ["apple of two"]
        long.session_id = "s1"
        assert texts(long.read_sync("apple")) == ["apple of one"]
        long.initialize()
        assert len(long.read_sync("apple")) == 3

    def test_labels_filter_what_was_asked_and_nothing_else(self, long: Long):
        def memory(**labels: Any) -> Long:
            return Long(vector_store=long.memory, now=NOW, metadata=labels)

        ann, both = memory(agent="ann"), memory(agent="ann", team=1, tags=["x"])
        ann.write_sync(fragment("apple of ann"))
        both.write_sync(fragment("apple of the team"))
        assert len(ann.read_sync("apple")) == len(long.read_sync("apple")) == 2, "without labels it sees all"
        assert texts(both.read_sync("apple")) == ["apple of the team"]
        assert memory(agent="ann", team=True).read_sync("apple") == []

    def test_one_fragment_in_two_memories_is_in_both(self, long: Long):
        mine, yours = (Long(vector_store=long.memory, now=NOW, metadata={"agent": one}) for one in ("me", "you"))
        shared = fragment("apple")
        for one in (mine, yours, long):
            one.write_sync(shared)
        assert [one.id for one in long.read_sync("apple")] == [shared.id], "each id once"
        mine.clear_sync()
        assert (mine.read_sync("apple"), texts(yours.read_sync("apple"))) == ([], ["apple"])

    def test_a_clone_shares_the_store_and_the_labels(self, long: Long):
        labelled = Long(vector_store=long.memory, now=NOW, metadata={"agent": "me"}, k=2)
        labelled.initialize("me", session_id="s")
        labelled.write_sync(fragment("apple"))
        clone = labelled.structure_clone()
        assert texts(clone.read_sync("apple")) == ["apple"]
        assert (clone.name, clone.session_id, clone.now, clone.memory_retriever.k) == ("me", "s", NOW, 2)

    @pytest.mark.parametrize("bad", [{"dbgpt": 1}, {"a": {1, 2}}, {"memwell": {}}, "text", 7])
    def test_labels_that_cannot_be_kept_are_refused(self, bad: Any):
        with pytest.raises(InvalidInput):
            Long(metadata=bad, embedder=None).write_sync(fragment("apple"))


class _Scorer(ImportanceScorer[AgentMemoryFragment]):
    def __init__(self, score: Any) -> None:
        self.score = score

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> float:
        if isinstance(self.score, Exception):
            raise self.score
        return self.score


class TestWriting:
    def test_an_importance_that_is_missing_comes_from_the_default_or_the_scorer(self, long: Long):
        with pytest.raises(InvalidInput, match=r"^importance is required\."):
            long.write_sync(fragment("apple", None))
        assert long.memory.count() == 0
        long.initialize(importance_scorer=_Scorer(8))
        long.write_sync(fragment("apple", None))
        assert long.read_sync("apple")[0].importance == pytest.approx(8 * 0.15)
        default = Long(vector_store=long.memory, now=NOW, _default_importance=2.5)
        default.write_sync(fragment("pear", None))
        assert default.read_sync("pear", 0, 1, 0)[0].importance == 2.5

    @pytest.mark.parametrize("bad", [-0.1, 10.1, math.nan, "high", True])
    def test_an_importance_that_is_none_is_refused_and_nothing_is_written(self, long: Long, bad: Any):
        one = fragment("pear")
        one._importance = bad
        with pytest.raises(InvalidInput):
            long.write_batch_sync([fragment("apple"), one])
        assert long.read_sync("apple") == []
        with pytest.raises(InvalidInput):
            Long(vector_store=long.memory, _default_importance=bad)

    def test_the_same_id_again_is_a_change(self, long: Long):
        one = fragment("apple", 1.0)
        long.write_sync(one)
        one.observation = "a pear, after all"
        one.update_importance(3.0)
        long.write_sync(one)
        found = long.read_sync("fruit")
        assert [(f.id, f.observation, f.importance) for f in found] == [(one.id, "a pear, after all", 3.0)]
        assert scores(long, "apple") == pytest.approx({one.observation: cosine("apple", "pear") + 1.3}, abs=1e-2)
        history = long.memory.history(str(one.id))
        long.write_batch_sync([one, one])
        assert long.memory.history(str(one.id)) == history

    def test_what_is_only_recalled_is_not_written(self, long: Long):
        assert long.write_sync(fragment("apple"), op=WriteOperation.RETRIEVAL) is None
        assert long.memory.count() == 0

    def test_a_batch_needs_no_time_and_an_empty_one_is_nothing(self, long: Long):
        assert long.write_batch_sync([]) is None
        assert long.write_batch_sync([AgentMemoryFragment("apple", importance=1.0)]) is None
        assert long.read_sync("apple")[0].last_accessed_time == NOW

    @given(TEXTS, st.floats(0, 10), st.booleans(), MOMENTS)
    def test_whatever_an_agent_writes_comes_back(self, text: str, importance: float, insight: bool, moment: datetime):
        with Long(now=NOW, embedder=None) as long:
            aware = moment.replace(tzinfo=UTC)
            one = AgentMemoryFragment(text, importance=importance, is_insight=insight, last_accessed_time=aware)
            long.write_sync(one)
            (found,) = long.read_sync("anything")
            assert (found.id, found.observation, found.is_insight) == (one.id, text, insight)
            assert found.importance == pytest.approx(importance, abs=1e-8)
            assert found.last_accessed_time == aware

    def test_nothing_an_agent_writes_is_refused_but_by_the_gate_of_ones_own_engine(self, long: Long):
        for text in ("", "   ", "asdfghjkl", "ha" * 100, "As an AI language model, I cannot help with that."):
            long.write_sync(fragment(text))
        assert long.memory.count() == 5
        with memwell.open("memory:", embedder=None, gate=Gate(Policy(least_characters=5))) as engine:
            own = Long(vector_store=engine, now=NOW)
            with pytest.raises(InvalidInput, match="short: 4 characters"):
                own.write_batch_sync([fragment("a whole apple"), fragment("pear")])
            assert engine.count() == 0
            own.close()
            own.write_sync(fragment("a whole apple"))
            assert engine.recall("apple")[0].text == "a whole apple"

    def test_an_open_memory_has_its_own_embedder(self, long: Long):
        with pytest.raises(InvalidInput, match="has its own embedder"):
            Long(vector_store=long.memory, embedder=embed)

    def test_an_object_that_embeds_documents_is_an_embedder(self):
        embeddings = SimpleNamespace(model_name="fruit", embed_documents=embed)
        with Long(now=NOW, embedder=embeddings) as long:
            long.write_batch_sync([fragment("apple"), fragment("pear")])
            assert long.memory.embedder is not None
            assert long.memory.embedder.name == "SimpleNamespace fruit"
            assert texts(long.read_sync("pear", 0, 1, 0))[0] == "pear"


class TestFailing:
    def test_an_embedder_that_fails_holds_nothing_up_and_is_asked_again(self):
        broken = True

        def moody(given: Sequence[str]) -> Any:
            if broken:
                raise RuntimeError("out of order")
            return embed(given)

        with Long(now=NOW, embedder=moody) as long:
            long.write_batch_sync([fragment("a red apple", 1.0, 9), fragment("a pear")])
            assert texts(long.read_sync("apple", 0, 1, 0))[0] == "a red apple"
            broken = False
            assert scores(long, "apple")["a pear"] == pytest.approx(cosine("apple", "pear") + 1.1, abs=1e-2)

    def test_a_store_that_fails_in_the_middle_keeps_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        with Long(vector_store=tmp_path / "a.db", now=NOW, embedder=None) as long:
            long.write_sync(fragment("stone"))
            remember, calls = Memory.remember, 0

            def failing(self: Memory, *args: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == 3:
                    raise BackendError("the disk is full")
                return remember(self, *args, **options)

            monkeypatch.setattr(Memory, "remember", failing)
            with pytest.raises(BackendError):
                long.write_batch_sync([fragment(f"apple {n}") for n in range(5)])
            monkeypatch.undo()
            assert texts(long.read_sync("apple")) == ["stone"]
            assert long.aggregate_importance == 1.0


class TestDeleting:
    def test_clear_returns_all_of_this_memory_and_leaves_the_others(self, long: Long):
        other = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        other.write_sync(fragment("yours"))
        mine = Long(vector_store=long.memory, now=NOW, metadata={"agent": "me"})
        for session, text in (("s", "mine, of the session"), (None, "mine")):
            mine.session_id = session
            mine.write_sync(fragment(text, 3.5))
        mine.session_id = "s"
        assert texts(mine.clear_sync()) == ["mine, of the session"]
        mine.session_id = None
        assert [(one.observation, one.importance) for one in mine.clear_sync()] == [("mine", 3.5)]
        assert (held(long), mine.clear_sync()) == ({"yours"}, [])

    def test_clear_takes_a_part_by_importance_and_age(self, long: Long):
        old = 40 * 24
        long.write_batch_sync(
            [fragment("low"), fragment("high", 9), fragment("low, old", 1, old), fragment("high, old", 9, old)]
        )
        pinned = fragment("pinned", 1, old)
        long.write_sync(pinned)
        long.memory.pin(str(pinned.id))
        month = timedelta(days=30)
        assert texts(long.clear_sync(importance_below=8, older_than=month)) == ["low, old"]
        assert texts(long.clear_sync(importance_below=8)) == ["low"]
        assert texts(long.clear_sync(older_than=month)) == ["high, old"]
        assert long.clear_sync(older_than=timedelta.max) == []
        assert held(long) == {"high", "pinned"}
        assert texts(long.clear_sync()) == ["pinned", "high"]

    def test_what_is_cleared_is_in_no_file(self, tmp_path: Path):
        canary = "kanarienvogel-7391"
        with Long(vector_store=tmp_path / "agent.db", now=NOW, embedder=None) as long:
            one = fragment(f"The bird is called {canary}.", 1.0)
            said = f"{SAID}, says {canary}"
            long.write_batch_sync([one, fragment(said), fragment(said + " now"), fragment("Bob drives a truck.", 5.0)])
            long.read_sync(canary)
            long.write_sync(AgentMemoryFragment(f"It was {canary}.", memory_id=one.id, importance=1.0))
            assert long.compress_memories_sync(0.7).after == 3
            assert canary.encode() in bytes_of(tmp_path)
            assert len(long.clear_sync(importance_below=2.0)) == 2
            assert canary.encode() not in bytes_of(tmp_path)
            assert held(long) == {"Bob drives a truck."}

    def test_insights_go_with_what_they_rest_on(self, long: Long):
        given = [fragment("apple", 1.0), fragment("pear", 9.0)]
        insights = [made for one in given for made in InsightMemoryFragment(one, [f"of {one.observation}"]).insights]
        insights += InsightMemoryFragment([insights[0]], ["of all of it"]).insights
        for one in insights:
            one.update_importance(9.0)
        long.write_batch_sync([*given, *insights])
        derived = {one.raw_observation: one.derived_from for one in long.read_sync("of apple", 0, 0, 1)}
        assert derived["of apple"] == (given[0].id,)
        assert texts(long.clear_sync(importance_below=5.0)) == ["apple"]
        assert held(long) == {"pear", "of pear"}
        insights[1].derived_from = (insights[2].id,)
        long.write_sync(insights[1])
        rests = {one.text: {other.record for other in one.evidence} for one in long.memory.memories()}
        assert rests["of pear"] == {str(given[1].id), str(insights[2].id)}

    @pytest.mark.parametrize(
        "bad", [{"importance_below": -1}, {"importance_below": "x"}, {"older_than": timedelta(days=-1)}]
    )
    def test_conditions_that_make_no_sense_delete_nothing(self, long: Long, bad: dict[str, Any]):
        long.write_sync(fragment("apple"))
        with pytest.raises(InvalidInput):
            long.clear_sync(**bad)
        assert held(long) == {"apple"}


class TestUpkeep:
    def test_what_says_the_same_becomes_one_with_the_evidence_of_all(self, long: Long):
        one, two, other = fragment(SAID), fragment(SAID + " now"), fragment("Bob drives a truck")
        long.write_batch_sync([one, two, other])
        done = long.compress_memories_sync(0.7)
        assert (done.before, done.after) == (3, 2)
        assert {f.id for f in long.read_sync("green tea")} == {two.id, other.id}
        assert str(one.id) in {evidence.record for evidence in long.memory.get(str(two.id)).evidence}
        long.write_sync(one)
        assert {f.id for f in long.read_sync("green tea")} == {one.id, two.id, other.id}, "written again, it is back"
        other_agent = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        other_agent.write_sync(fragment(SAID + " too"))
        assert SAID + " too" in held(long)
        assert long.compress_memories_sync(0.7).after == 2, "what another labelled is not merged"
        for bad in (0, 1.5, "x", None):
            with pytest.raises(InvalidInput):
                long.compress_memories_sync(bad)  # type: ignore[arg-type]

    def test_worth_moves_with_use_and_with_feedback(self, long: Long):
        one = fragment("Ann is allergic to nuts and must never eat them.", 0.5)
        unstored = long.evaluate_importance_sync(one)
        long.write_sync(one)
        plain = long.evaluate_importance_sync(one)
        assert 0.0 < plain == unstored < 1.0
        for _ in range(3):
            long.read_sync("nuts")
        used = long.evaluate_importance_sync(one)
        assert used > plain
        assert (long.feedback_sync(one, useful=True).importance or 0.0) > 0.5
        assert long.evaluate_importance_sync(one) > used
        long.session_id = "s"
        of_session = fragment("Ann is allergic to nuts.", 0.5)
        long.write_sync(of_session)
        long.session_id = None
        assert long.feedback_sync(of_session.id, useful=False).id == of_session.id
        with pytest.raises(NotFound):
            long.feedback_sync(12345, useful=True)

    def test_insights_are_drawn_when_enough_has_come_together(self):
        with Long(now=NOW, embedder=None, reflection_threshold=3.0, k=10, metadata={"agent": "me"}) as long:
            for word, importance in (("hot", 1.5), ("wet", 1.0)):
                long.write_sync(fragment(f"The trip to Zanzibar was {word}.", importance))
            assert not any(one.is_insight for one in long.read_sync("Zanzibar"))
            long.write_sync(fragment("The trip to Zanzibar was long.", 0.5))
            insights = [one for one in long.read_sync("Zanzibar") if one.is_insight]
            assert insights
            assert long.aggregate_importance == 0.0
            assert long.feedback_sync(insights[0].id, useful=True).id == insights[0].id

    def test_what_fails_while_reflecting_undoes_no_write_and_is_tried_again(self):
        class Moody(LongTermMemory[AgentMemoryFragment]):
            calls = 0

            async def reflect(self, memory_fragments: list[AgentMemoryFragment]) -> list[AgentMemoryFragment]:
                self.calls += 1
                raise RuntimeError("no thoughts")

        with Moody(now=NOW, embedder=None, reflection_threshold=1.0) as long:
            long.write_sync(fragment("apple"))
            long.write_sync(fragment("pear"))
            assert (long.calls, long.aggregate_importance, len(long.read_sync("fruit"))) == (2, 2.0, 2)


def chunk(text: str, hours_ago: float = 0.0, **metadata: Any) -> Chunk:
    return Chunk(text, {"last_accessed_at": NOW - timedelta(hours=hours_ago), **metadata})


class TestRetriever:
    @pytest.fixture
    def retriever(self) -> Iterator[LongTermRetriever]:
        made = LongTermRetriever(NOW, embedder=embed)
        yield made
        made.memory.close()

    def test_the_score_is_the_sum(self, retriever: LongTermRetriever):
        ids = retriever.load_document([chunk("apple", 10, importance=0.5), chunk("pear", 30, importance=0.8)])
        found = retriever.retrieve("apple")
        assert [one.chunk_id for one in found] == ids
        expected = [1.0 + 0.99**10 + 0.05, 0.6 + 0.99**30 + 0.08]
        assert [one.score for one in found] == pytest.approx(expected, abs=1e-2)
        moment = (NOW - timedelta(hours=10)).astimezone(UTC)
        assert found[0].metadata == {"importance": 0.5, "last_accessed_at": moment}

    def test_what_is_loaded_again_takes_the_place_of_the_old(self, retriever: LongTermRetriever):
        one = chunk("apple")
        assert retriever.load_document([one]) == [one.chunk_id]
        one.content = "pear"
        retriever.load_document([one])
        assert [found.content for found in retriever.retrieve("x")] == ["pear"]

    def test_only_the_best_are_returned(self):
        retriever = LongTermRetriever(NOW, None, 2, embedder=None, k=3)
        retriever.load_document([chunk(f"number {n}", importance=n) for n in range(5)])
        assert [one.content for one in retriever.retrieve("x")] == ["number 4", "number 3"]

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

    @pytest.mark.parametrize("bad", [{"k": -1}, {"top_k": "x"}, {"decay_rate": 1.0}])
    def test_settings_that_make_no_sense_are_refused(self, bad: dict[str, Any]):
        with pytest.raises(InvalidInput):
            LongTermRetriever(**bad, embedder=None)

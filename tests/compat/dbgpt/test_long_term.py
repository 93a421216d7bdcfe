"""The long-term memory of an agent: what is written is read, by the sum that is promised, and deleted for good."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    MemoryFragment,
    StructuredAgentMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.compat.dbgpt.scoring import ImportanceScorer
from memwell.errors import BackendError, InvalidInput, NotFound
from memwell.longterm.gate import Gate, Policy
from memwell.longterm.memory import Memory
from memwell.storage import open_backend

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
MOMENTS = st.datetimes(NOW - timedelta(days=16_000), NOW + timedelta(days=16_000))
DIRECTIONS = {"apple": (1.0, 0.0, 0.0), "pear": (0.6, 0.8, 0.0), "stone": (0.1, 0.2, 0.97), "": (0.3, 0.3, 0.3)}


def embed(texts: Sequence[str]) -> list[tuple[float, float, float]]:
    return [next(vector for word, vector in DIRECTIONS.items() if word in text) for text in texts]


def cosine(one: str, other: str) -> float:
    a, b = embed([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def fragment(text: str, importance: Any = 1.0, hours_ago: float = 0.0, **more: Any) -> AgentMemoryFragment:
    return AgentMemoryFragment(text, importance=importance, last_accessed_time=NOW - timedelta(hours=hours_ago), **more)


def texts(fragments: Sequence[MemoryFragment]) -> list[str]:
    return [one.raw_observation for one in fragments]


@pytest.fixture(params=["memory", "sqlite", "backend"])
def long(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LongTermMemory[AgentMemoryFragment]]:
    backend = open_backend("memory:")
    store = {"memory": None, "sqlite": tmp_path / "agent.db", "backend": backend}[request.param]
    with LongTermMemory[AgentMemoryFragment](vector_store=store, now=NOW, embedder=embed) as memory:
        yield memory
    backend.close()


Long = LongTermMemory[AgentMemoryFragment]


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
        assert set(found) == {one.id for one in written}
        for one in written:
            read = found[one.id]
            assert (read.observation, read.importance, read.is_insight, read.snapshot_path) == (
                one.observation,
                one.importance,
                one.is_insight,
                one.snapshot_path,
            )
            assert read.last_accessed_time == one.last_accessed_time
        moment = found[written[1].id].last_accessed_time
        assert moment is not None
        assert moment.tzinfo is None

    def test_a_score_is_the_sum_of_similarity_time_and_importance(self, long: Long):
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.9, 30), fragment("stone", 0.1, 1)])
        found = asyncio.run(long.scored("apple"))
        expected = {
            text: cosine("apple", text) + 0.99**hours + importance
            for text, importance, hours in [("apple", 0.5, 10), ("pear", 0.9, 30), ("stone", 0.1, 1)]
        }
        assert {one.raw_observation: score for one, score in found} == pytest.approx(expected, abs=1e-3)
        assert texts([one for one, _ in found]) == sorted(expected, key=lambda text: -expected[text])

    @pytest.mark.parametrize(
        ("alpha", "beta", "gamma", "first"),
        [(1, 0, 0, "stone"), (0, 1, 0, "apple"), (0, 0, 1, "pear"), (-1, 0, 0, "pear")],
    )
    def test_each_weight_alone_decides_the_order(self, long: Long, alpha: int, beta: int, gamma: int, first: str):
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.9, 30), fragment("stone", 0.1, 1)])
        assert texts(long.read_sync("apple", alpha, beta, gamma))[0] == first

    def test_a_weight_that_is_not_given_is_one(self, long: Long):
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.9, 30)])
        (_, all_of_it), _ = asyncio.run(long.scored("apple"))
        found = long.read_sync("apple", gamma=0.0)
        assert len(found) == 2
        assert all_of_it == pytest.approx(1.0 + 0.99**10 + 0.5, abs=1e-3)

    def test_the_weights_of_a_memory_are_its_own(self):
        with Long(now=NOW, embedder=embed, alpha=0.0, beta=0.0, gamma=2.0, k=1, decay_rate=0.5) as long:
            long.write_batch_sync([fragment("apple", 0.5), fragment("pear", 0.9, 50)])
            assert [(one.raw_observation, round(score, 3)) for one, score in asyncio.run(long.scored("apple"))] == [
                ("pear", 1.8)
            ]
            assert len(long.read_sync("apple", 1.0)) == 1

    def test_what_is_read_counts_as_used_then(self, long: Long):
        long.write_batch_sync([fragment("apple", 1.0, 48), fragment("pear", 1.0, 24)])
        assert texts(long.read_sync("x", 1, 0, 0)) == ["pear", "apple"]
        first = long.structure_clone(NOW + timedelta(hours=10))
        assert {one.last_accessed_time for one in first.read_sync("apple")} == {NOW}
        only = Long(vector_store=long.memory, now=NOW + timedelta(hours=20), k=1)
        assert only.read_sync("apple", 0, 1, 0)[0].raw_observation == "apple"
        later = long.structure_clone(NOW + timedelta(hours=30))
        found = asyncio.run(later.scored("x"))
        assert {
            one.raw_observation: round(score - cosine("x", one.raw_observation) - 1.0, 3) for one, score in found
        } == {
            "apple": round(0.99**10, 3),
            "pear": round(0.99**20, 3),
        }

    def test_a_real_clock_goes_on(self):
        with Long(embedder=embed) as long:
            long.write_sync(AgentMemoryFragment("apple", importance=1.0))
            before = datetime.now()  # noqa: DTZ005 - as naive as what the memory gives
            assert abs(long.now - before) < timedelta(minutes=1)
            (one, score), *_ = asyncio.run(long.scored("apple"))
            assert one.last_accessed_time is not None
            assert score == pytest.approx(3.0, abs=1e-2)

    def test_without_an_embedder_words_decide(self):
        with Long(now=NOW, embedder=None) as long:
            long.write_batch_sync([fragment("a red apple"), fragment("a green pear"), fragment("红色的苹果")])
            assert texts(long.read_sync("the green pear", 0, 1, 0))[0] == "a green pear"
            assert texts(long.read_sync("苹果", 0, 1, 0))[0] == "红色的苹果"

    def test_more_than_a_few_new_ones_are_found_by_meaning_at_once(self):
        with open_backend("memory:") as backend:
            long = Long(vector_store=backend, now=NOW, embedder=embed)
            long.write_batch_sync([fragment(f"stone {n}") for n in range(100)] + [fragment("apple")])
            assert texts(long.read_sync("pineapple", 0, 1, 0))[0] == "apple"

    def test_when_it_was_used_is_known_to_all_who_share_a_backend(self):
        with open_backend("memory:") as backend:
            long = Long(vector_store=backend, now=NOW, embedder=None)
            long.write_sync(fragment("apple", 1.0, 24))
            long.read_sync("apple")
            other = Long(vector_store=backend, now=NOW, embedder=None)
            assert other.read_sync("apple")[0].last_accessed_time == NOW

    def test_the_class_of_fragments_is_the_one_that_was_named(self, long: Long):
        other = LongTermMemory[Any](vector_store=long.memory, now=NOW)
        other.initialize(real_memory_fragment_class=StructuredAgentMemoryFragment)
        step = {"thought": "eat the apple", "action": "吃"}
        other.write_sync(StructuredAgentMemoryFragment(step, importance=1.0))
        (found,) = other.read_sync("apple")
        assert found.structured_observation == step


class TestWhose:
    def test_importance_and_times_never_become_filters(self, long: Long):
        for number in range(4):
            long.write_sync(fragment(f"apple {number}", number / 4, number))
        labels = {"memory_type": "long_term"}
        assert all(one.metadata == {**labels, "dbgpt": {"naive": True}} for one in long.memory.memories())
        assert len(long.read_sync("apple")) == 4

    def test_without_labels_of_its_own_a_memory_sees_what_others_labelled(self):
        with Long(embedder=None, _default_importance=1.0) as plain:
            labelled = {
                name: Long(vector_store=plain.memory, _default_importance=1.0, metadata={"agent": name})
                for name in ("x", "y")
            }
            plain.write_sync(AgentMemoryFragment("apple of nobody"))
            for name, one in labelled.items():
                one.write_sync(AgentMemoryFragment(f"apple of {name}"))
            assert set(texts(plain.read_sync("apple"))) == {"apple of nobody", "apple of x", "apple of y"}
            assert texts(labelled["x"].read_sync("apple")) == ["apple of x"]
            assert texts(labelled["x"].clear_sync()) == ["apple of x"]
            assert set(texts(plain.clear_sync())) == {"apple of nobody", "apple of y"}
            assert plain.memory.memories() == []

    def test_a_session_filters_only_when_it_is_set(self, long: Long):
        for session, text in ((None, "apple of nobody"), ("s1", "apple of one"), ("s2", "apple of two")):
            long.initialize(session_id=session)
            long.write_sync(fragment(text))
        assert texts(long.read_sync("apple")) == ["apple of two"]
        long.initialize(session_id="s1")
        assert texts(long.read_sync("apple")) == ["apple of one"]
        long.initialize()
        assert len(long.read_sync("apple")) == 3

    def test_labels_filter_what_was_asked_and_nothing_else(self, long: Long):
        def memory(**labels: Any) -> Long:
            return Long(vector_store=long.memory, now=NOW, metadata=labels)

        ann, both = memory(agent="ann"), memory(agent="ann", team=1, tags=["x"])
        ann.write_sync(fragment("apple of ann"))
        both.write_sync(fragment("apple of the team"))
        long.write_sync(fragment("apple of all"))
        assert len(ann.read_sync("apple")) == 2
        assert texts(both.read_sync("apple")) == ["apple of the team"]
        assert texts(memory(agent="ann", team=True).read_sync("apple")) == []
        assert set(texts(long.read_sync("apple"))) == {"apple of all", "apple of ann", "apple of the team"}

    def test_one_fragment_in_two_memories_is_in_both(self, long: Long):
        mine, yours = (Long(vector_store=long.memory, now=NOW, metadata={"agent": one}) for one in ("me", "you"))
        shared = fragment("apple")
        mine.write_sync(shared)
        yours.write_sync(shared)
        mine.clear_sync()
        assert texts(mine.read_sync("apple")) == []
        assert [one.id for one in yours.read_sync("apple")] == [shared.id]

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

    @pytest.mark.parametrize("bad", [-0.1, 10.1, math.nan, math.inf, "high", True, 10**400])
    def test_an_importance_that_is_none_is_refused_and_nothing_is_written(self, long: Long, bad: Any):
        one = fragment("pear")
        one._importance = bad
        with pytest.raises(InvalidInput):
            long.write_batch_sync([fragment("apple"), one])
        assert long.read_sync("apple") == []
        with pytest.raises(InvalidInput):
            Long(vector_store=long.memory, _default_importance=bad)

    @pytest.mark.parametrize("score", [RuntimeError("no"), math.nan, "high", 10**3])
    def test_a_scorer_that_fails_leaves_nothing_behind(self, long: Long, score: Any):
        long.initialize(importance_scorer=_Scorer(score))
        with pytest.raises(RuntimeError if isinstance(score, RuntimeError) else InvalidInput):
            long.write_batch_sync([fragment("apple"), fragment("pear", None)])
        assert long.memory.count() == 0
        assert long.aggregate_importance == 0.0

    def test_the_same_id_again_is_a_change(self, long: Long):
        one = fragment("apple", 1.0)
        long.write_sync(one)
        one.observation = "a pear, after all"
        one.update_importance(3.0)
        long.write_sync(one)
        assert [(f.id, f.observation, f.importance) for f in long.read_sync("fruit")] == [
            (one.id, "a pear, after all", 3.0)
        ]
        assert cosine("apple", "pear") == pytest.approx(asyncio.run(long.scored("apple"))[0][1] - 1.0 - 3.0, abs=1e-3)
        history = long.memory.history(str(one.id))
        long.write_batch_sync([one, one])
        assert long.memory.history(str(one.id)) == history

    def test_what_was_only_recalled_is_not_written(self, long: Long):
        assert long.write_sync(fragment("apple"), op=WriteOperation.RETRIEVAL) is None
        assert long.memory.count() == 0

    @pytest.mark.parametrize("bad", [None, "apple", 7, {}])
    def test_what_is_no_fragment_is_refused(self, long: Long, bad: Any):
        with pytest.raises(InvalidInput):
            long.write_sync(bad)
        with pytest.raises(InvalidInput):
            long.write_batch_sync([fragment("apple"), bad])
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

    def test_naive_and_aware_times_stand_side_by_side(self, long: Long):
        aware = (NOW - timedelta(hours=5)).astimezone()
        long.write_batch_sync(
            [AgentMemoryFragment("apple", importance=1.0, last_accessed_time=aware), fragment("pear", 1.0, 5)],
            now=NOW.astimezone(),
        )
        (_, one), (_, other) = asyncio.run(long.scored("x", now=NOW.astimezone(UTC)))
        assert abs(one - other) < 2
        recency = {
            round(score, 4)
            for _, score in asyncio.run(long.scored("x", long.memory_retriever.weights._replace(beta=0, gamma=0)))
        }
        assert recency == {1.0}
        clone = long.structure_clone(NOW.astimezone())
        assert len(clone.read_sync("apple")) == 2

    def test_nothing_an_agent_writes_is_refused(self, long: Long):
        for text in ("", "   ", "asdfghjkl", "ha" * 100, "As an AI language model, I cannot help with that."):
            long.write_sync(fragment(text))
        assert long.memory.count() == 5

    def test_what_the_gate_of_ones_own_engine_refuses_is_an_error_with_its_reasons(self):
        with memwell.open("memory:", embedder=None, gate=Gate(Policy(least_characters=5))) as engine:
            long = Long(vector_store=engine, now=NOW)
            with pytest.raises(InvalidInput, match="short: 4 characters"):
                long.write_batch_sync([fragment("a whole apple"), fragment("pear")])
            assert engine.count() == 0
            long.close()
            long.write_sync(fragment("a whole apple"))
            assert engine.recall("apple")[0].text == "a whole apple"

    @pytest.mark.parametrize("bad", [7, b"x", ["a"], SimpleNamespace(similar_search=None)])
    def test_a_store_that_is_none_is_refused(self, bad: Any):
        with pytest.raises(InvalidInput):
            Long(vector_store=bad)

    def test_a_memory_that_is_open_has_its_own_embedder(self, long: Long):
        with pytest.raises(InvalidInput, match="has its own embedder"):
            Long(vector_store=long.memory, embedder=embed)


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
            scores = {one.raw_observation: score for one, score in asyncio.run(long.scored("apple"))}
            assert scores["a pear"] == pytest.approx(cosine("apple", "pear") + 1.0 + 1.0, abs=1e-3)

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


class TestManyWriters:
    def test_tasks_lose_nothing(self, long: Long):
        async def all_at_once() -> None:
            await asyncio.gather(*(long.write(fragment(f"apple {n}", n % 10)) for n in range(40)))

        asyncio.run(all_at_once())
        assert {one.text for one in long.memory.memories()} == {f"apple {n}" for n in range(40)}

    def test_threads_lose_nothing_and_agree_on_one_id(self, long: Long):
        same = [fragment(f"apple {n}", memory_id=77) for n in range(4)]

        def work(number: int) -> None:
            for n in range(8):
                long.write_sync(fragment(f"pear {number} {n}"))
            long.write_sync(same[number])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [one.text for one in long.memory.memories()]
        assert len(found) == 33
        assert sum(text.startswith("apple") for text in found) == 1

    def test_two_processes_on_one_file_lose_nothing(self, tmp_path: Path):
        script = """
            import sys
            from memwell.compat.dbgpt.fragments import AgentMemoryFragment
            from memwell.compat.dbgpt.long_term import LongTermMemory
            with LongTermMemory(vector_store=sys.argv[1], embedder=None) as long:
                for n in range(15):
                    long.write_sync(AgentMemoryFragment(f"{sys.argv[2]} {n}", importance=1.0))
        """
        path = str(tmp_path / "agent.db")
        command = [sys.executable, "-c", textwrap.dedent(script), path]
        running = [subprocess.Popen([*command, name]) for name in ("ann", "bob")]
        assert [process.wait(60) for process in running] == [0, 0]
        with Long(vector_store=path, embedder=None, k=100) as long:
            assert {one.raw_observation for one in long.read_sync("ann")} == {
                f"{name} {n}" for name in ("ann", "bob") for n in range(15)
            }


def test_all_of_it_survives_a_restart(tmp_path: Path):
    path = tmp_path / "agent.db"
    with Long(vector_store=path, now=NOW, embedder=embed) as long:
        long.initialize(session_id="s")
        long.write_batch_sync([fragment("apple", 0.5, 10), fragment("pear", 0.7, 30)])
        before = asyncio.run(long.scored("apple", now=NOW + timedelta(hours=2)))
    with Long(vector_store=str(path), now=NOW + timedelta(hours=12), embedder=embed) as long:
        long.initialize(session_id="s")
        after = asyncio.run(long.scored("apple"))
        assert [one.id for one, _ in after] == [one.id for one, _ in before]
        expected = [1.0 + 0.99**10 + 0.5, cosine("apple", "pear") + 0.99**10 + 0.7]
        assert [score for _, score in after] == pytest.approx(expected, abs=1e-3)


def test_an_open_store_reads_what_an_agent_wrote(tmp_path: Path):
    with Long(vector_store=tmp_path / "agent.db", embedder=None) as long:
        long.write_sync(fragment("The apple is red.", 8.0))
    with memwell.open(tmp_path / "agent.db", embedder=None) as engine:
        (found,) = engine.recall("apple")
        assert (found.text, found.importance, found.trust) == ("The apple is red.", 0.8, "tool")


def test_an_object_that_embeds_documents_is_an_embedder():
    class Embeddings:
        model_name = "fruit"

        def embed_documents(self, given: list[str]) -> Any:
            return embed(given)

        def embed_query(self, text: str) -> Any:
            return embed([text])[0]

    with Long(now=NOW, embedder=Embeddings()) as long:
        long.write_batch_sync([fragment("apple"), fragment("pear")])
        assert long.memory.embedder is not None
        assert long.memory.embedder.name.endswith("Embeddings fruit")
        assert texts(long.read_sync("pear", 0, 1, 0))[0] == "pear"


class TestReflecting:
    def test_insights_are_drawn_when_enough_has_come_together(self):
        with Long(now=NOW, embedder=None, reflection_threshold=3.0, k=10, metadata={"agent": "me"}) as long:
            for word in ("hot", "wet"):
                long.write_sync(fragment(f"The trip to Zanzibar was {word}.", 1.5 - 0.5 * (word == "wet")))
            assert not any(one.is_insight for one in long.read_sync("Zanzibar"))
            long.write_sync(fragment("The trip to Zanzibar was long.", 0.5))
            insights = [one for one in long.read_sync("Zanzibar") if one.is_insight]
            assert insights
            assert {one.importance for one in insights} == {1.5}
            assert long.aggregate_importance == 0.0
            assert (long.feedback_sync(insights[0].id, useful=True).importance or 0.0) > 1.5

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


def test_a_feedback_on_what_is_not_there_is_not_found(long: Long):
    with pytest.raises(NotFound):
        long.feedback_sync(12345, useful=True)
    with pytest.raises(InvalidInput):
        long.feedback_sync("x", useful=True)  # pyright: ignore[reportArgumentType]

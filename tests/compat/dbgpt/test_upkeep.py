"""Clearing, forgetting, compressing and weighing: what is deleted is gone from the file, what is merged can be parted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.dbgpt.fragments import AgentMemoryFragment, InsightMemoryFragment
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.errors import InvalidInput, NotFound
from memwell.models.scripted import HashEmbedder

NOW = datetime(2024, 5, 7, 12)  # noqa: DTZ001 - naive, as most people write it
Long = LongTermMemory[AgentMemoryFragment]


def fragment(text: str, importance: float = 1.0, days_ago: float = 0.0) -> AgentMemoryFragment:
    return AgentMemoryFragment(text, importance=importance, last_accessed_time=NOW - timedelta(days=days_ago))


def held(long: Long) -> set[str]:
    return {one.text for one in long.memory.memories()}


@pytest.fixture(params=["memory", "sqlite"])
def long(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Long]:
    store = None if request.param == "memory" else tmp_path / "agent.db"
    with Long(vector_store=store, now=NOW, embedder=HashEmbedder(64)) as memory:
        yield memory


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


class TestDeleting:
    def test_clear_returns_all_of_this_memory_and_leaves_the_others(self, long: Long):
        other = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        other.write_sync(fragment("yours"))
        long = Long(vector_store=long.memory, now=NOW, metadata={"agent": "me"})
        long.initialize(session_id="s")
        long.write_sync(fragment("mine, of the session"))
        long.initialize()
        mine = [fragment("mine", 3.5), fragment("mine too", 2.0, 9)]
        long.write_batch_sync(mine)
        long.initialize(session_id="s")
        assert [one.observation for one in long.clear_sync()] == ["mine, of the session"]
        long.initialize()
        cleared = {one.id: (one.observation, one.importance) for one in long.clear_sync()}
        assert cleared == {mine[0].id: ("mine", 3.5), mine[1].id: ("mine too", 2.0)}
        assert held(long) == {"yours"}
        assert long.clear_sync() == []

    def test_clear_takes_a_part_by_importance_and_age(self, long: Long):
        long.write_batch_sync(
            [fragment("low", 0.5), fragment("high", 0.9), fragment("low, old", 0.5, 40), fragment("high, old", 0.9, 40)]
        )
        long.read_sync("low")
        long.read_sync("low")
        month = timedelta(days=30)
        assert [one.observation for one in long.clear_sync(importance_below=0.8, older_than=month)] == ["low, old"]
        assert [one.observation for one in long.clear_sync(importance_below=0.8)] == ["low"]
        assert [one.observation for one in long.clear_sync(older_than=month)] == ["high, old"]
        assert held(long) == {"high"}

    def test_what_is_cleared_is_in_no_file(self, tmp_path: Path):
        canary = "kanarienvogel-7391"
        with Long(vector_store=tmp_path / "agent.db", now=NOW, embedder=HashEmbedder(64)) as long:
            one = fragment(f"The bird is called {canary}.", 1.0)
            long.write_batch_sync([one, fragment("Ann likes tea.", 5.0)])
            long.read_sync(canary)
            long.write_sync(AgentMemoryFragment(f"It was {canary}.", memory_id=one.id, importance=1.0))
            assert canary.encode() in bytes_of(tmp_path)
            assert len(long.clear_sync(importance_below=2.0)) == 1
            assert canary.encode() not in bytes_of(tmp_path)
            assert held(long) == {"Ann likes tea."}
        assert canary.encode() not in bytes_of(tmp_path)

    def test_what_was_merged_away_is_deleted_with_the_rest(self, tmp_path: Path):
        canary = "kanarienvogel-7391"
        with Long(vector_store=tmp_path / "agent.db", now=NOW, embedder=None) as long:
            said = f"Ann really likes green tea with honey in the morning, says {canary}"
            long.write_batch_sync([fragment(said), fragment(said + " now")])
            assert long.compress_memories_sync(0.7).after == 1
            assert len(long.clear_sync()) == 1
            assert canary.encode() not in bytes_of(tmp_path)

    def test_forget_reports_what_it_deletes_and_why(self, long: Long):
        low, high, old = fragment("low", 0.5), fragment("high", 5.0), fragment("old", 0.6, 40)
        long.write_batch_sync([low, high, old])
        dry = long.forget_sync(importance_below=1.0, dry_run=True)
        assert (set(dry.deleted), dry.kept, dry.erased.total, dry.dry_run) == ({low.id, old.id}, 1, 0, True)
        assert len(held(long)) == 3
        done = long.forget_sync(importance_below=1.0, older_than=timedelta(days=30))
        assert (done.deleted, done.kept, done.erased.memories, done.dry_run) == ([old.id], 2, 1, False)
        assert (
            done.reasons[old.id]
            == "its importance 0.60 is below 1.00; it is 40 days, 0:00:00 old, more than 30 days, 0:00:00"
        )
        assert held(long) == {"low", "high"}
        with pytest.raises(NotFound):
            long.memory.get(str(old.id))

    def test_what_is_pinned_outlives_every_condition_but_not_a_clear(self, long: Long):
        one = fragment("low", 0.5, 40)
        long.write_sync(one)
        long.memory.pin(str(one.id))
        assert long.forget_sync(importance_below=9.0).deleted == []
        assert long.clear_sync(older_than=timedelta(days=1)) == []
        assert [gone.id for gone in long.clear_sync()] == [one.id]

    @pytest.mark.parametrize(
        "bad",
        [{"importance_below": -1}, {"importance_below": "x"}, {"older_than": 7}, {"older_than": timedelta(days=-1)}],
    )
    def test_conditions_that_make_no_sense_delete_nothing(self, long: Long, bad: dict[str, Any]):
        long.write_sync(fragment("apple"))
        for call in (long.forget_sync, long.clear_sync):
            with pytest.raises(InvalidInput):
                call(**bad)
        with pytest.raises(InvalidInput, match="say what to forget"):
            long.forget_sync()
        assert long.forget_sync(older_than=timedelta.max).deleted == []
        assert held(long) == {"apple"}

    def test_who_clears_at_the_same_time_clears_once(self, long: Long):
        long.write_batch_sync([fragment(f"apple {n}") for n in range(30)])

        async def both() -> list[list[AgentMemoryFragment]]:
            return await asyncio.gather(long.clear(), long.clear(), long.write(fragment("pear")))  # type: ignore[return-value]

        asyncio.run(both())
        assert held(long) <= {"pear"}


class TestInsights:
    def write(self, long: Long) -> tuple[list[AgentMemoryFragment], list[AgentMemoryFragment]]:
        """Two fragments, the first of which matters less, an insight of each, and one of the first insight."""
        given = [fragment("apple", 1.0, 40), fragment("pear", 9.0)]
        insights = [made for one in given for made in InsightMemoryFragment(one, [f"of {one.observation}"]).insights]
        insights += InsightMemoryFragment([insights[0]], ["of all of it"]).insights
        for one in insights:
            one.update_importance(9.0)
        long.write_batch_sync([*given, *insights])
        return given, insights

    @pytest.mark.parametrize("rule", [{"importance_below": 5.0}, {"older_than": timedelta(days=9)}])
    def test_they_are_forgotten_with_what_they_rest_on(self, long: Long, rule: dict[str, Any]):
        given, insights = self.write(long)
        planned = long.forget_sync(**rule, dry_run=True)
        assert set(planned.deleted) == {given[0].id, insights[0].id, insights[2].id}
        assert planned.kept == 2
        assert str(given[0].id) in planned.reasons[insights[0].id]
        assert len(held(long)) == 5
        done = long.forget_sync(**rule)
        assert (done.reasons, done.kept) == (planned.reasons, 2)
        assert (done.erased.memories, done.erased.derived) == (1, 2)
        assert held(long) == {"pear", "of pear"}

    def test_they_are_cleared_with_what_they_rest_on(self, long: Long):
        self.write(long)
        cleared = long.clear_sync(importance_below=5.0)
        assert {one.observation for one in cleared} == {"apple", "of apple", "of all of it"}
        assert held(long) == {"pear", "of pear"}
        assert {one.observation for one in long.clear_sync()} == {"pear", "of pear"}

    def test_one_that_gets_another_source_has_both(self, long: Long):
        given, insights = self.write(long)
        insights[1].derived_from = (given[0].id,)
        long.write_sync(insights[1])
        rests = {one.text: {other.record for other in one.evidence} for one in long.memory.memories()}
        assert rests["of pear"] == {str(one.id) for one in given}
        plain = fragment("stone")
        long.write_sync(plain)
        plain.derived_from = (given[0].id,)
        long.write_sync(plain)
        long.memory.erase(str(given[0].id))
        assert held(long) == {"pear"}


class TestMerging:
    def test_what_says_the_same_becomes_one_with_the_evidence_of_all(self, long: Long):
        said = "Ann really likes green tea with honey in the morning"
        one, two, other = fragment(said), fragment(said + " now"), fragment("Bob drives a truck")
        long.write_batch_sync([one, two, other])
        done = long.compress_memories_sync(0.7)
        assert (done.before, done.after) == (3, 2)
        assert {f.id for f in long.read_sync("green tea")} == {two.id, other.id}
        assert str(one.id) in {evidence.record for evidence in long.memory.get(str(two.id)).evidence}
        assert long.undo_compression_sync(done) == 1
        assert {f.id for f in long.read_sync("green tea")} == {one.id, two.id, other.id}
        assert long.memory.get(str(two.id)).evidence == ()
        assert long.undo_compression_sync(done) == 0

    def test_only_this_memory_is_compressed(self, long: Long):
        said = "Ann really likes green tea with honey in the morning"
        other = Long(vector_store=long.memory, now=NOW, metadata={"agent": "you"})
        long.write_sync(fragment(said))
        other.write_sync(fragment(said + " now"))
        assert long.compress_memories_sync(0.7).merges == []
        assert len(held(long)) == 2

    def test_a_merged_fragment_that_is_written_again_is_back(self, long: Long):
        said = "Ann really likes green tea with honey in the morning"
        one, two = fragment(said), fragment(said + " now")
        long.write_batch_sync([one, two])
        long.compress_memories_sync(0.7)
        long.write_sync(one)
        assert {f.id for f in long.read_sync("green tea")} == {one.id, two.id}

    @pytest.mark.parametrize("bad", [0, 1.5, "x", None])
    def test_a_threshold_that_is_none_is_refused(self, long: Long, bad: Any):
        with pytest.raises(InvalidInput):
            long.compress_memories_sync(bad)
        with pytest.raises(InvalidInput):
            long.undo_compression_sync(bad)


class TestWorth:
    def test_it_moves_with_use_and_with_feedback(self, long: Long):
        one = fragment("Ann is allergic to nuts and must never eat them.", 0.5)
        unstored = long.evaluate_importance_sync(one)
        long.write_sync(one)
        plain = long.evaluate_importance_sync(one)
        assert 0.0 < plain == unstored < 1.0
        for _ in range(3):
            long.read_sync("nuts")
        used = long.evaluate_importance_sync(one)
        assert used > plain
        praised = long.feedback_sync(one, useful=True)
        assert praised.importance is not None
        assert praised.importance > 0.5
        assert long.evaluate_importance_sync(one) > used
        for _ in range(4):
            long.feedback_sync(one.id, useful=False)
        assert long.evaluate_importance_sync(one) < plain
        assert long.read_sync("nuts")[0].importance == pytest.approx(long.memory.get(str(one.id)).importance * 10)

    def test_a_fragment_of_a_session_is_found_without_one(self, long: Long):
        long.initialize(session_id="s")
        one = fragment("Ann is allergic to nuts.", 0.5)
        long.write_sync(one)
        long.initialize()
        assert long.feedback_sync(one.id, useful=True).id == one.id
        with pytest.raises(InvalidInput):
            long.feedback_sync(one.id, useful="yes")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("wrong", [None, "text", 3])
def test_only_a_fragment_is_weighed(wrong: Any):
    with LongTermMemory[AgentMemoryFragment](embedder=None) as long, pytest.raises(InvalidInput):
        long.evaluate_importance_sync(wrong)

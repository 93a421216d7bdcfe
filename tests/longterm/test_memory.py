"""The memory as its users meet it."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memwell.errors import Conflict, InvalidInput, ModelError, NotFound
from memwell.longterm.audit import Action
from memwell.longterm.changing import Forgetting
from memwell.longterm.memory import Memory
from memwell.longterm.snapshot_cache import Snapshots
from memwell.longterm.traits import Evidence, importance_of
from memwell.longterm.uses import all_uses
from memwell.longterm.weights import Weights
from memwell.messages import ai, human
from memwell.models.ports import Embedder
from memwell.models.scripted import HashEmbedder, ScriptedChat, ScriptedReranker
from memwell.records import Record

if TYPE_CHECKING:
    from tests.longterm.conftest import Bench

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


def texts(memory: Memory, query: str, **options: Any) -> list[str]:
    return [hit.text for hit in memory.recall(query, **options)]


class TestRemembering:
    def test_what_was_remembered_is_recalled_at_once(self, memory: Memory):
        memory.remember("Ann is allergic to nuts.")
        memory.remember("小明喜欢打篮球。")
        assert texts(memory, "what is Ann allergic to?", limit=1) == ["Ann is allergic to nuts."]
        assert texts(memory, "谁喜欢篮球？", limit=1) == ["小明喜欢打篮球。"]

    def test_messages_bring_who_when_and_where(self, memory: Memory):
        said = [human("Where is my red bicycle?", name="Ann", time=NOON), ai("In the cellar.", time=NOON)]
        done = memory.remember(said, session="talk")
        first = memory.get(done.ids[0])
        assert (first.id, first.speaker, first.session, first.time) == (said[0].id, "Ann", "talk", NOON)
        assert first.evidence[0].message == said[0].id
        assert memory.get(done.ids[1]).trust == "model"

    def test_a_message_remembered_twice_is_one_memory(self, memory: Memory):
        said = human("The bicycle is red.")
        assert memory.remember(said, session="talk").ids == memory.remember(said, session="talk").ids
        memory.flush()
        memory.remember([said, human("The car is blue.")], session="talk")
        assert memory.count() == 2

    def test_the_same_text_twice_is_one_memory_seen_twice(self, memory: Memory):
        first, second = memory.remember("Ann likes tea.").id, memory.remember("Ann likes  tea").id
        assert memory.count() == 1
        assert memory.get(second).id == memory.get(first).id == first

    def test_a_taken_id_is_a_conflict(self, memory: Memory):
        memory.remember("one", id="x")
        with pytest.raises(Conflict, match="'x'"):
            memory.remember("two", id="x")
        memory.flush()
        with pytest.raises(Conflict, match="'x'"):
            memory.remember("two", id="x")
        assert [hit.text for hit in memory.memories()] == ["one"]

    def test_the_same_words_of_two_people_are_two_memories(self, memory: Memory):
        memory.remember("I am allergic to nuts.", speaker="Ann")
        memory.remember("I am allergic to nuts.", speaker="Bob")
        memory.remember("I am allergic to nuts.", speaker="Bob", metadata={"sure": True})
        assert memory.count() == 3
        assert memory.facts_about("Bob")[0].object == memory.facts_about("Ann")[0].object == "nuts"

    def test_a_message_in_openais_shape_is_a_message(self, memory: Memory):
        memory.remember(
            [{"role": "user", "content": "My bicycle is red."}, {"role": "assistant", "content": "Red it is."}]
        )
        assert [(hit.text, hit.speaker) for hit in memory.memories()] == [
            ("My bicycle is red.", "user"),
            ("Red it is.", "assistant"),
        ]

    def test_what_is_worth_nothing_is_refused_with_a_reason(self, memory: Memory):
        done = memory.remember(["   ", "Ann likes tea."])
        assert len(done.ids) == 1
        assert len(done.rejected) == 1
        assert done.rejected[0].reasons
        with pytest.raises(InvalidInput, match="not one"):
            _ = memory.remember("  ").id

    def test_a_secret_is_not_kept_in_the_clear(self, memory: Memory):
        memory.remember("my key is sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD, keep it")
        assert all("abcdefghijklmnop" not in hit.text for hit in memory.memories())

    def test_nothing_recalled_is_learnt_as_new(self, memory: Memory):
        memory.remember("Ann is allergic to nuts and to shellfish.")
        memory.recall("what is Ann allergic to?")
        done = memory.remember(ai("Ann is allergic to nuts and to shellfish."))
        assert done.ids == []
        assert "echo" in done.rejected[0].reasons[0]

    @pytest.mark.parametrize(
        "bad",
        [
            {"importance": 2}, {"importance": "high"}, {"importance": True}, {"ttl": "1h"}, {"ttl": 0}, {"ttl": -5},
            {"trust": "nobody"}, {"speaker": "a\0b"}, {"session": "x" * 2_000_000}, {"time": "yesterday"},
            {"metadata": {"memwell": 1}}, {"metadata": {"x": float("nan")}}, {"kind": ""},
        ],
    )  # fmt: skip
    def test_bad_input_is_refused_and_nothing_is_stored(self, memory: Memory, bad: dict[str, Any]):
        with pytest.raises(InvalidInput):
            memory.remember("Ann likes tea.", **bad)
        assert memory.count() == 0

    @pytest.mark.parametrize("bad", [7, None, b"text", [7], "\ud800", ["fine words here", "\0"], {"a": 1}, {}])
    def test_only_texts_and_messages_are_remembered(self, memory: Memory, bad: Any):
        with pytest.raises(InvalidInput):
            memory.remember(bad)
        assert memory.count() == 0

    def test_an_entry_that_makes_no_sense_holds_nobody_up(self, memory: Memory):
        bad = human("Zoe reads a book.", metadata={"memwell": {"speaker": None}})
        memory.indexer.journal.write([bad])
        memory.remember("Ann likes tea.")
        assert texts(memory, "tea") == ["Ann likes tea."]
        assert memory.failures() == [bad.id]

    def test_what_is_said_again_lives_as_long_and_counts_as_much_as_either(self, bench: Bench, memory: Memory):
        first = memory.remember("The pool opens at 8.", ttl=1).id
        again = memory.remember("The pool opens at 8.", pinned=True, importance=0.99, time=NOON + timedelta(days=1)).id
        bench.pass_time(days=2)
        hit = memory.get(again)
        assert (hit.id, hit.importance, hit.time) == (first, 0.99, NOON + timedelta(days=1))
        assert memory.forget_by(Forgetting()).ids == []

    def test_who_names_a_memory_means_that_one(self, memory: Memory):
        memory.remember("Ann likes tea.", id="one")
        memory.remember("Ann likes tea.", id="two")
        assert memory.get("two").id == "two"

    def test_evidence_that_is_given_is_kept(self, memory: Memory):
        first = memory.remember("Ann is allergic to nuts.", id="first").id
        made = memory.remember("No nuts for Ann.", trust="derived", evidence=[Evidence(record=first)]).id
        assert memory.get(made).evidence == (Evidence(record=first),)
        said = human("And none for Bob.")
        told = memory.remember(said, session="talk", evidence=[Evidence(record=first)]).id
        assert memory.get(told).evidence == (Evidence(thread="talk", message=said.id), Evidence(record=first))
        assert memory.erase(first).derived == 1
        assert memory.count() == 1

    @pytest.mark.parametrize("bad", ["first", ["first"], [None], 7, {"record": "first"}])
    def test_what_is_no_evidence_is_refused(self, memory: Memory, bad: Any):
        with pytest.raises(InvalidInput):
            memory.remember("No nuts for Ann.", evidence=bad)
        held = memory.remember("No nuts for Bob.").id
        with pytest.raises(InvalidInput):
            memory.update(held, evidence=bad)
        assert memory.count() == 1
        assert memory.get(held).evidence == ()


class TestRecalling:
    def test_filters_narrow_it(self, memory: Memory):
        day = timedelta(days=1)
        for number, (who, where) in enumerate([("Ann", "one"), ("Bob", "one"), ("Ann", "two")]):
            memory.remember(
                f"tea number {number}", speaker=who, session=where, time=NOON + number * day, metadata={"n": number}
            )
        assert len(texts(memory, "tea")) == 3
        assert texts(memory, "tea", speaker="Bob") == ["tea number 1"]
        assert texts(memory, "tea", speaker="bob") == texts(memory, "tea", speaker="BOB") == ["tea number 1"]
        assert texts(memory, "tea", speaker="bo") == []
        large = Memory(memory.backend, memory.space, snapshots=Snapshots(memory.backend.index, most_records=0))
        assert texts(large, "tea", speaker="bOB") == texts(large, "tea", speaker="Bob") == ["tea number 1"]
        assert texts(memory, "tea", session="two") == ["tea number 2"]
        assert texts(memory, "tea", since=NOON + day, until=NOON + 2 * day) == ["tea number 1"]
        assert texts(memory, "tea", where={"n": {"$gt": 1}}) == ["tea number 2"]
        assert texts(memory, "tea", kinds="insight") == []
        assert len(texts(memory, "tea", limit=2)) == 2
        assert texts(memory, "tea", limit=0) == []

    def test_every_hit_says_why_and_its_shares_add_up(self, memory: Memory):
        memory.remember(["Ann drinks green tea every morning.", "Bob drinks coffee.", "The tea is in the cupboard."])
        hits = memory.recall("what tea does Ann drink?")
        assert hits
        for hit in hits:
            assert sum(signal.share for signal in hit.signals.values()) == pytest.approx(hit.score)
            assert hit.why()

    @pytest.mark.parametrize("seed", range(5))
    def test_hits_are_in_the_order_of_the_reranker(self, bench: Bench, seed: int):
        told = ["tea, tea and tea", "tea is kept in the cellar", "no tea", "tea for two", "green tea", "tea time"]
        worth = dict(zip(told, random.Random(seed).sample([0.0, 0.01, 0.5, 0.99, 1.0, -7.0], 6), strict=True))
        memory = bench.memory(reranker=ScriptedReranker(lambda query, text: worth[text]))
        memory.remember(told)
        hits = memory.recall("tea, and tea again")
        assert [hit.text for hit in hits] == sorted(told, key=lambda text: -worth[text])
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert sum(signal.share for signal in hit.signals.values()) == pytest.approx(hit.score)

    def test_a_reranker_without_an_opinion_changes_nothing(self, bench: Bench):
        memory = bench.memory(reranker=ScriptedReranker(lambda query, text: 1.0))
        memory.remember(["tea, tea and tea", "tea is kept in the cellar", "no tea", "green tea"])
        assert texts(memory, "green tea") == texts(bench.memory(), "green tea")

    def test_diversity_is_kept_with_a_reranker(self, bench: Bench):
        memory = bench.memory(reranker=ScriptedReranker(lambda query, text: 1.0))
        memory.remember(["Ann likes green tea.", "Ann likes green tea a lot.", "Ann has tea cups."])
        assert "Ann has tea cups." not in texts(memory, "does Ann like green tea", limit=2)
        assert "Ann has tea cups." in texts(memory, "does Ann like green tea", limit=2, diversity=1.0)

    def test_what_expires_is_gone_when_its_time_is_over(self, bench: Bench, memory: Memory):
        id_ = memory.remember("the code of the door is on the table", ttl=60).id
        assert texts(memory, "door")
        bench.pass_time(seconds=61)
        assert texts(memory, "door") == []
        with pytest.raises(NotFound, match="expired"):
            memory.get(id_)
        assert memory.purge(0).memories == 1

    def test_spaces_see_only_themselves(self, bench: Bench):
        mine, theirs = bench.memory("acme"), bench.memory("acme-corp")
        mine.remember("the plan is to buy tea")
        theirs.remember("the plan is to buy coffee")
        assert texts(mine, "plan") == ["the plan is to buy tea"]
        assert texts(theirs, "plan") == ["the plan is to buy coffee"]
        theirs.erase_all()
        assert mine.count() == 1
        assert theirs.count() == 0

    def test_what_was_known_then(self, bench: Bench, memory: Memory):
        id_ = memory.remember("Ann lives in Paris.").id
        memory.flush()
        before = bench.now
        bench.pass_time(days=1)
        memory.update(id_, "Ann lives in Rome.")
        bench.pass_time(days=1)
        memory.remember("Ann has a dog.")
        assert texts(memory, "where does Ann live", as_of=before) == ["Ann lives in Paris."]
        assert texts(memory, "where does Ann live", as_of=before - timedelta(days=9)) == []
        assert texts(memory, "where does Ann live", limit=1) == ["Ann lives in Rome."]

    def test_recall_inside_a_transaction_leaves_no_trace_of_it(self, bench: Bench, memory: Memory):
        memory.remember("Ann likes tea.")
        memory.flush()
        with suppress(ZeroDivisionError), bench.backend.transaction():
            memory.remember("Ann likes coffee.")
            assert set(texts(memory, "Ann likes")) == {"Ann likes tea.", "Ann likes coffee."}
            raise ZeroDivisionError
        assert texts(memory, "Ann likes") == ["Ann likes tea."]

    def test_a_space_too_large_to_hold_is_asked_through_the_indexes(self, bench: Bench):
        whole = bench.memory()
        large = bench.memory(snapshots=Snapshots(bench.backend.index, most_records=10))
        ids = whole.remember([f"{word} number {n} of the list" for n, word in enumerate(["tea", "rice"] * 20)]).ids
        whole.flush()
        whole.forget(ids[0])
        for query in ("tea number 4", "rice of the list"):
            assert texts(large, query, limit=1) == texts(whole, query, limit=1)
        assert ids[0] not in {hit.id for hit in large.recall("tea number 0", limit=50)}
        assert {hit.id for hit in large.recall("tea", where={"n": 1})} == set()

    @pytest.mark.parametrize(
        "bad",
        [
            {"limit": -1}, {"where": {"a": {"$no": 1}}}, {"since": "now"}, {"as_of": 7}, {"kinds": 7}, {"session": 3},
            {"speaker": ""}, {"diversity": 7},
        ],
    )  # fmt: skip
    def test_bad_questions_are_refused(self, memory: Memory, bad: dict[str, Any]):
        memory.remember("Ann likes tea.")
        with pytest.raises(InvalidInput):
            memory.recall("tea", **bad)

    def test_a_few_vectors_do_not_beat_the_words_of_those_that_have_none_yet(self, memory: Memory):
        memory.remember(["The red box holds pears.", "The blue box holds plums."])
        memory.flush()
        memory.remember([f"Drawer {n} contains screws." for n in range(40)] + ["The crate holds walnuts."])
        assert texts(memory, "Where are walnuts?", limit=1) == ["The crate holds walnuts."]
        assert memory.pending().vectors > 16

    @pytest.mark.parametrize("query", ["", "   ", "?!", "的", "the of and", "x" * 100_000, "😀", 'NEAR("a" *) OR -'])
    def test_any_text_may_be_asked(self, memory: Memory, query: str):
        memory.remember(["Ann likes tea.", "小明喜欢茶。"])
        assert len(memory.recall(query)) <= 2


class TestChanging:
    def test_every_change_can_be_undone(self, memory: Memory):
        id_ = memory.remember("Dave drives a red car.").id
        memory.update(id_, "Dave drives a blue car.", metadata={"sure": True})
        memory.pin(id_)
        memory.feedback(id_, useful=False)
        memory.forget(id_)
        assert [version.reason for version in memory.history(id_)] == [
            "updated", "pinned", "called useless", "forgotten",
        ]  # fmt: skip
        for _ in range(3):
            memory.undo(id_)
        assert memory.get(id_).text == "Dave drives a blue car."
        assert memory.undo(id_).text == "Dave drives a red car."
        assert memory.get(id_).metadata == {}
        with pytest.raises(NotFound, match="nothing to undo"):
            memory.undo(id_)

    def test_a_changed_text_is_found_by_its_new_words_and_meaning(self, memory: Memory):
        id_ = memory.remember("Dave drives a red car.").id
        memory.flush()
        memory.update(id_, "Dave rides a bicycle.")
        assert memory.pending().vectors == 1
        memory.flush()
        record = memory.backend.index.get(memory.space, [id_])[0]
        assert record.vector is not None
        wanted = memory.embedder.embed(["Dave rides a bicycle."])[0] if memory.embedder else np.zeros(1)
        assert np.dot(np.array(record.vector), wanted) == pytest.approx(1.0, abs=1e-2)

    def test_what_is_forgotten_is_found_by_nothing(self, memory: Memory):
        id_ = memory.remember("Dave drives a red car.").id
        assert memory.forget(id_) == [id_]
        assert texts(memory, "Dave car") == []
        assert memory.memories() == []
        with pytest.raises(NotFound, match="undo"):
            memory.get(id_)
        assert memory.forget(id_) == []
        with pytest.raises(NotFound):
            memory.forget([id_, "never was"])

    @pytest.mark.parametrize("id_", ["x" * 1024, "a/b", "a", "../up", "%", "字" * 300, "1/a/"])
    def test_any_id_has_its_own_versions(self, memory: Memory, id_: str):
        other = memory.remember("Somebody else drives a green car.", id="a/").id
        memory.remember("Dave drives a red car.", id=id_, session="talk")
        memory.update(id_, "Dave drives a blue car.")
        memory.update(other, "Somebody else rides a bicycle.")
        assert [version.record.id for version in memory.history(id_)] == [id_]
        assert memory.undo(id_).text == "Dave drives a red car."
        assert memory.erase(id_).memories == 1
        assert len(memory.history(other)) == 1

    @pytest.mark.parametrize("useful", [object(), 1, "yes", None])
    def test_feedback_is_yes_or_no(self, memory: Memory, useful: Any):
        [id_] = memory.remember("Ann is allergic to nuts.").ids
        with pytest.raises(InvalidInput, match="useful must be True or False"):
            memory.feedback(id_, useful=useful)
        assert memory.history(id_) == []

    def test_a_recalled_memory_says_whether_it_is_pinned(self, memory: Memory):
        [id_] = memory.remember("Ann is allergic to nuts.").ids
        assert not memory.get(id_).pinned
        memory.pin(id_)
        assert memory.get(id_).pinned
        assert memory.recall("nuts")[0].pinned

    def test_what_was_called_useful_comes_before_what_was_not(self, memory: Memory):
        same = "The tea is on the upper shelf."
        ids = [memory.remember(same, metadata={"copy": n}, time=NOON).id for n in range(4)]
        memory.feedback(ids[0], useful=False)
        memory.feedback(ids[2], useful=True)
        found = [hit.id for hit in memory.recall("where is the tea?")]
        assert (found[0], found[-1]) == (ids[2], ids[0])

    def test_use_counts_without_a_version(self, memory: Memory):
        id_ = memory.remember("Dave drives a red car.").id
        memory.flush()
        memory.note_uses({id_: 3, "never was": 1})
        assert memory.history(id_) == []
        assert all_uses(memory.backend.kv, memory.space)[id_].times == 3

    def test_when_it_was_last_used_is_kept_and_never_goes_back(self, bench: Bench, memory: Memory):
        id_ = memory.remember("Dave drives a red car.").id
        memory.flush()
        later = NOON + timedelta(hours=5)
        memory.note_uses({id_: 1}, later)
        memory.note_uses({id_: 1}, {id_: NOON})
        assert memory.get(id_).accessed == later
        bench.pass_time(hours=9)
        memory.note_uses({id_: 1})
        assert memory.get(id_).accessed == bench.now

    def test_what_is_recalled_counts_as_used_at_once(self, bench: Bench, memory: Memory):
        red, blue = memory.remember("Dave drives a red car.").id, memory.remember("Eve rides a blue bicycle.").id
        memory.flush()
        newest = Weights.time_weighted(similarity=0.0, importance=0.0)
        bench.pass_time(hours=10)
        assert memory.recall("a red car", limit=1)[0].id == red
        bench.pass_time(hours=10)
        found = memory.recall("anything", weights=newest)
        assert [hit.id for hit in found] == [red, blue]
        assert [hit.score for hit in found] == pytest.approx([0.99**10, 0.99**20], abs=1e-4)
        assert (found[0].accessed, found[1].accessed) == (NOON + timedelta(hours=10), None)

    def test_a_recall_that_the_store_has_not_heard_of_outlives_a_change(self, bench: Bench, memory: Memory):
        red = memory.remember("Dave drives a red car.").id
        memory.recall("a red car")
        memory.pin(red)
        bench.pass_time(hours=1)
        assert memory.recall("a red car")[0].accessed == NOON

    def test_what_it_has_shown_to_be_worth_moves_with_use_and_with_what_was_said_of_it(self, memory: Memory):
        id_ = memory.remember("Dave drives a red car.", importance=0.1).id
        plain = memory.evaluate(id_)
        assert plain == pytest.approx(importance_of("Dave drives a red car.", claims=1), abs=0.11)
        memory.note_uses({id_: 5})
        used = memory.evaluate(id_)
        memory.feedback(id_, useful=True)
        praised = memory.evaluate(id_)
        memory.feedback(id_, useful=False)
        memory.feedback(id_, useful=False)
        assert memory.evaluate(id_) < plain < used < praised
        memory.forget(id_)
        with pytest.raises(NotFound):
            memory.evaluate(id_)

    def test_a_filter_that_nothing_satisfies_finds_nothing_however_diverse(self, memory: Memory):
        memory.remember("a cup of tea", metadata={"n": 1})
        assert memory.recall("tea", where={"n": 9}, diversity=0.3) == []

    def test_pages_go_newest_first_and_leave_out_what_is_gone(self, memory: Memory):
        ids = [memory.remember(f"number {number} of seven things").id for number in range(7)]
        memory.forget(ids[3])
        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = memory.page(limit=2, cursor=cursor)
            seen += [one.id for one in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert seen == [ids[number] for number in (6, 5, 4, 2, 1, 0)]
        assert [one.id for one in memory.page(newest_first=False).items] == seen[::-1]
        assert [one.id for one in memory.page(forgotten=True).items] == [ids[3]]
        memory.undo(ids[3])
        assert memory.page(forgotten=True).items == []
        with pytest.raises(InvalidInput):
            memory.page(limit=0)
        with pytest.raises(InvalidInput):
            memory.page(cursor="nowhere")

    def test_the_nearness_of_memories_is_that_of_their_vectors(self, memory: Memory):
        ids = [memory.remember(text).id for text in ("a red car", "a blue bicycle")]
        memory.flush()
        rows = HashEmbedder(64).embed(["a red car", "a blue bicycle", "my red car"])
        expected = rows[:2] @ rows[2]
        assert memory.similarities("my red car", [*ids, "never was"]) == pytest.approx(
            dict(zip(ids, expected.tolist(), strict=True)), abs=1e-3
        )
        assert memory.similarities("my red car", []) == {}

    def test_a_policy_forgets_what_it_names_and_says_why(self, bench: Bench, memory: Memory):
        old = memory.remember("hello there you", importance=0.1).id
        kept = memory.remember("Ann is allergic to nuts.", importance=0.9).id
        pinned = memory.remember("hello again you", importance=0.1, pinned=True).id
        bench.pass_time(days=40)
        fresh = memory.remember("hi hello friend", importance=0.1).id
        policy = Forgetting(importance_below=0.3, older_than=timedelta(days=30), unused=True)
        dry = memory.forget_by(policy, dry_run=True)
        assert dry.ids == [old]
        assert memory.count() == 4
        assert memory.forget_by(policy).ids == [old]
        assert {hit.id for hit in memory.memories()} == {kept, pinned, fresh}
        assert "days old" in dry.reasons[old]
        assert memory.forget_by(Forgetting(importance_below=0.95, most=1)).ids == [fresh]

    def test_what_has_expired_cannot_be_changed(self, bench: Bench, memory: Memory):
        memory.remember("The code of the door is 1234.", id="door", ttl=60)
        memory.pin("door")
        bench.pass_time(seconds=61)
        for change in (
            lambda: memory.update("door", "The code of the door is 5678."),
            lambda: memory.undo("door"),
            lambda: memory.pin("door"),
            lambda: memory.feedback("door", useful=True),
        ):
            with pytest.raises(NotFound, match="'door' has expired"):
                change()

    @pytest.mark.parametrize("settled", [True, False])
    def test_the_id_of_what_has_expired_is_free_again(self, bench: Bench, memory: Memory, settled: bool):
        memory.remember("The code of the door is 1234.", id="door", ttl=60)
        memory.remember("Ann likes tea.", id="tea")
        if settled:
            memory.flush()
        with pytest.raises(Conflict):
            memory.remember("The code of the door is 5678.", id="door")
        bench.pass_time(seconds=61)
        assert memory.remember("The code of the door is 5678.", id="door").id == "door"
        assert memory.get("door").text == "The code of the door is 5678."
        assert memory.get("tea").text == "Ann likes tea."
        assert texts(memory, "1234", limit=5, as_of=bench.now)[0] == "The code of the door is 5678."


@pytest.mark.parametrize("bad", [None, 7, b"x", {"a": 1}, [None], [""], [7]])
def test_what_is_no_id_is_refused(memory: Memory, bad: Any):
    memory.remember("Ann likes tea.", id="a")
    for call in (memory.forget, memory.erase, lambda ids: memory.merge("a", ids)):
        with pytest.raises(InvalidInput):
            call(bad)
    assert memory.count() == 1


def test_evidence_and_trust_can_be_changed(memory: Memory):
    first = memory.remember("Ann is allergic to nuts.").id
    other = memory.remember("No nuts for Ann at all.", trust="tool").id
    changed = memory.update(other, evidence=[Evidence(record=first)], trust="derived")
    assert (changed.evidence, changed.trust) == ((Evidence(record=first),), "derived")
    assert memory.update(other, "No nuts for Ann.").evidence == (Evidence(record=first),)
    with pytest.raises(InvalidInput):
        memory.update(other, trust="rumour")
    memory.erase(first)
    assert memory.count() == 0


class TestErasing:
    def test_erasing_takes_all_that_was_made_of_it(self, memory: Memory):
        ids = [memory.remember(f"Zanzibar trip number {n} was with Ann Miller.").id for n in range(3)]
        insights = memory.reflect()
        assert insights
        done = memory.erase(ids[0])
        assert done.memories == 1
        assert done.derived >= 1
        assert {hit.id for hit in memory.memories()} == {ids[1], ids[2]}
        with pytest.raises(NotFound):
            memory.erase(ids[0])

    def test_erasing_one_of_several_leaves_the_facts_of_the_others(self, memory: Memory):
        ids = [
            memory.remember(f"I visited Zanzibar and I like {what}.", speaker="Ann").id
            for what in ("tea", "rice", "figs")
        ]
        assert memory.reflect(least=3)
        memory.erase(ids[0])
        assert {fact.object for fact in memory.facts_about("Ann", relation="likes")} == {"rice", "figs"}

    def test_what_others_were_merged_into_outlives_them(self, bench: Bench, memory: Memory):
        texts_ = [f"Ann really likes green tea with honey in the morning {word}" for word in ("", "now", "too now")]
        memory.remember(texts_)
        memory.compress(threshold=0.6)
        [kept] = memory.memories()
        bench.pass_time(days=99)
        assert memory.purge(0).memories == 0
        merged = next(evidence.record for evidence in kept.evidence)
        assert memory.erase(merged).memories == 1
        assert [hit.id for hit in memory.memories()] == [kept.id]
        assert merged not in {evidence.record for evidence in memory.get(kept.id).evidence}

    @pytest.mark.parametrize("nothing", [{}, None])
    def test_a_filter_that_says_nothing_erases_nothing(self, memory: Memory, nothing: Any):
        memory.remember("Ann likes tea.")
        with pytest.raises(InvalidInput, match="erase_all"):
            memory.erase_where(nothing)
        with pytest.raises(InvalidInput):
            memory.purge(-1)
        assert memory.count() == 1

    def test_versions_and_forgotten_ones_go_too(self, memory: Memory):
        id_ = memory.remember("the first text of it").id
        memory.update(id_, "the second text of it")
        memory.forget(id_)
        done = memory.erase(id_)
        assert (done.memories, done.versions, done.total) == (1, 2, 3)
        assert memory.memories() == []

    def test_what_was_forgotten_long_ago_is_purged(self, bench: Bench, memory: Memory):
        id_ = memory.remember("the first text of it").id
        memory.forget(id_)
        assert memory.purge(retention_s=60).memories == 0
        bench.pass_time(minutes=2)
        assert memory.purge(retention_s=60).memories == 1
        with pytest.raises(NotFound):
            memory.undo(id_)

    def test_erasing_by_filter(self, memory: Memory):
        memory.remember("tea with milk and honey", metadata={"drink": True})
        memory.remember("bread with butter and jam", metadata={"drink": False})
        assert memory.erase_where({"drink": True}).memories == 1
        assert [hit.text for hit in memory.memories()] == ["bread with butter and jam"]


@pytest.mark.parametrize("bad", [{"importance_below": 7}, {"importance_below": "low"}, {"older_than": 7}, {"most": -1}])
def test_a_policy_that_makes_no_sense_is_refused(bad: dict[str, Any]):
    with pytest.raises(InvalidInput):
        Forgetting(**bad)


class TestConsolidation:
    def test_near_duplicates_become_one_with_the_evidence_of_all(self, memory: Memory):
        one = memory.remember("Ann really likes green tea with honey in the morning").id
        two = memory.remember("Ann really likes green tea with honey in the morning now").id
        other = memory.remember("Bob drives a truck").id
        dry = memory.compress(threshold=0.7, dry_run=True)
        assert (dry.before, dry.after) == (3, 2)
        memory.compress(threshold=0.7)
        assert {hit.id for hit in memory.memories()} == {two, other}
        assert one in {evidence.record for evidence in memory.get(two).evidence}
        memory.undo(one)
        assert memory.count() == 3

    def test_only_what_a_filter_names_is_merged(self, memory: Memory):
        said = "Ann really likes green tea with honey in the morning"
        mine = [memory.remember(said + tail, metadata={"of": "me"}).id for tail in ("", " now")]
        memory.remember(said + " too", metadata={"of": "you"})
        done = memory.compress(threshold=0.7, where={"of": "me"})
        assert (done.before, done.after) == (2, 1)
        assert {*done.merges[0].merged, done.merges[0].kept} == set(mine)
        assert memory.count() == 2
        with pytest.raises(InvalidInput):
            memory.compress(where={"$odd": 1})

    def test_an_insight_of_some_memories_is_theirs_alone(self, memory: Memory):
        for of in ("me", "you"):
            for word in ("hot", "wet", "dry"):
                memory.remember(f"The trip to Zanzibar was {word} for {of}.", metadata={"of": of})
        mine, yours = (memory.reflect(where={"of": of}, metadata={"of": of})[0] for of in ("me", "you"))
        assert mine.id != yours.id
        assert {memory.get(one.record).metadata["of"] for one in mine.evidence} == {"me"}
        assert yours.id in {one.id for one in memory.memories(where={"of": "you"}) if one.kind == "insight"}
        assert memory.reflect(where={"of": "me"}, metadata={"of": "me"})[0].id == mine.id

    def test_conversations_are_left_as_they_were(self, memory: Memory):
        memory.remember([human("yes, that is fine with me"), human("yes, that is fine with me")], session="talk")
        assert memory.compress(threshold=0.5).merges == []

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (
                ("I live in Paris.", "I moved to Berlin.", "I moved to Rome."),
                "The user moved twice in 2026: from Paris to Berlin to Rome.",
            ),
            (("我住在北京。", "我搬到上海了。", "我搬到杭州了。"), "用户2026年搬了两次家：北京 → 上海 → 杭州。"),
            (("I live in Paris.", "I moved to Berlin."), None),
            (("I live in Paris.", "I live in Leeds.", "Sorry, I meant Leicester."), None),
        ],
    )
    def test_what_changed_twice_is_told(self, memory: Memory, said: tuple[str, ...], told: str | None):
        ids = [
            memory.remember(text, time=datetime(2026, 1, 5, 9, 10 * at, tzinfo=UTC)).id for at, text in enumerate(said)
        ]
        found = memory.reflect()
        assert [one.text for one in found] == ([] if told is None else [told])
        assert [[evidence.record for evidence in one.evidence] for one in found] == ([] if told is None else [ids])

    def test_an_insight_is_what_matters_or_nothing(self, memory: Memory):
        for text in ("Is Ann Miller here?", "Has Ann Miller called?", "Where is Ann Miller?"):
            memory.remember(text)
        assert memory.reflect() == []
        memory.remember("Hello Ann Miller, nice day. Ann Miller decided to postpone the launch to 5 May.")
        assert next(one.text for one in memory.reflect()).endswith(
            "Ann Miller decided to postpone the launch to 5 May."
        )

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (("Paris was lovely.", "We stayed in Paris.", "I return to Paris."),
             "Paris: Paris was lovely. We stayed in Paris. I return to Paris."),
            (("I'm Ann and I live in Paris.", "Paris is dear.", "We love Paris.", "I live in Lyon now."),
             "Paris: Paris is dear. We love Paris."),
            (("Our office is in Bath.", "The office is in Wells now.", "The office has a garden."),
             "office: The office is in Wells now. The office has a garden."),
            (("I bought a boat.", "Just kidding!", "A boat is dear.", "My uncle has a boat.", "I know a boat that sank."),
             "boat: A boat is dear. My uncle has a boat. I know a boat that sank."),
        ],
    )  # fmt: skip
    def test_an_insight_says_what_holds_in_the_spelling_of_its_memories(
        self, memory: Memory, said: tuple[str, ...], told: str
    ):
        for at, text in enumerate(said):
            memory.remember(text, time=datetime(2020, 1, 5, 9, at, tzinfo=UTC))
        assert told in [one.text for one in memory.reflect(least=3)]

    def test_an_insight_names_what_it_rests_on(self, memory: Memory):
        ids = {memory.remember(f"Trip {n} to Zanzibar was {word}.").id for n, word in enumerate(["hot", "wet", "dry"])}
        [insight, *_] = memory.reflect(least=3)
        assert {evidence.record for evidence in insight.evidence} == ids
        assert "Zanzibar" in insight.text
        again = memory.reflect(least=3)
        assert again[0].id == insight.id
        assert memory.history(insight.id) == []

    @pytest.mark.parametrize(
        "answer",
        ["no json", '{"insight": "x"}', '{"insight": 7, "evidence": [1]}', '{"insight": "made up", "evidence": [99]}'],
    )
    def test_a_model_that_answers_nonsense_changes_nothing(self, bench: Bench, answer: str):
        memory = bench.memory(chat=ScriptedChat([answer] * 9))
        for number in range(3):
            memory.remember(f"Trip {number} to Zanzibar was long.")
        for insight in memory.reflect(least=3):
            assert "made up" not in insight.text
            assert insight.evidence

    def test_a_model_that_names_its_evidence_is_believed(self, bench: Bench):
        memory = bench.memory(chat=ScriptedChat(['{"insight": "Zanzibar is a habit.", "evidence": [1, 2]}'] * 9))
        for number in range(3):
            memory.remember(f"Trip {number} to Zanzibar was long.")
        insight = memory.reflect(least=3)[0]
        assert insight.text == "Zanzibar is a habit."
        assert len(insight.evidence) == 2


class TestPeople:
    def test_facts_and_profile_come_from_what_was_said(self, memory: Memory):
        id_ = memory.remember("I live in Berlin.", speaker="Ann").id
        memory.remember("我喜欢打篮球。", speaker="小明")
        [fact] = memory.facts_about("Ann", relation="lives_in")
        assert fact.object == "Berlin"
        assert fact.evidence[0].record == id_
        assert "Berlin" in memory.profile("Ann").text("en")
        memory.forget(id_)
        assert memory.facts_about("Ann", relation="lives_in") == []
        memory.undo(id_)
        assert memory.facts_about("Ann", relation="lives_in")[0].object == "Berlin"
        memory.update(id_, "I live in Rome.")
        assert [one.object for one in memory.facts_about("Ann", relation="lives_in")] == ["Rome"]

    def test_what_is_true_again_is_true(self, memory: Memory):
        for year, town in ((2022, "Porto"), (2023, "Lyon"), (2024, "Porto")):
            moment = datetime(year, 1, 1, tzinfo=UTC)
            memory.remember(f"I live in {town}.", speaker="Ann", time=moment)
        assert [fact.object for fact in memory.facts_about("Ann", relation="lives_in")] == ["Porto"]
        memory.forget([hit.id for hit in memory.recall("Porto", limit=1)])
        assert [fact.object for fact in memory.facts_about("Ann", relation="lives_in")] == ["Lyon"]

    def test_an_undone_change_brings_back_only_its_own_facts(self, memory: Memory):
        id_ = memory.remember("I live in Berlin.", speaker="Ann").id
        memory.update(id_, "The weather was fine on that day.")
        memory.forget(id_)
        memory.undo(id_)
        assert memory.facts_about("Ann") == []
        memory.undo(id_)
        assert [fact.object for fact in memory.facts_about("Ann")] == ["Berlin"]

    def test_what_a_model_says_is_no_evidence(self, memory: Memory):
        memory.remember(ai("I live in Berlin.", name="Ann"))
        assert memory.facts_about("Ann") == []


def _raw(memory: Memory, text: str) -> Any:
    return Record(text=text, space=memory.space, time=datetime(2020, 1, 1, tzinfo=NOON.tzinfo))


class TestAudit:
    def test_an_audit_finds_and_mends(self, memory: Memory):
        for text in (
            "The meeting about the budget of the new house is on Friday.",
            "The meeting about the budget of the new house is on Friday!!",
            "asdkjh qwlekj zxmcnb qpwoei",
        ):
            memory.backend.index.upsert([_raw(memory, text)])
        report = memory.audit()
        assert report.plan
        assert memory.repair(report.plan).done >= 1
        assert len(memory.audit().plan) < len(report.plan)


class _Broken(Embedder):
    @property
    def name(self) -> str:
        return "broken"

    @property
    def dimensions(self) -> int:
        return 4

    def embed(self, texts: Any) -> Any:
        raise ModelError("no power")


class _Renamed(HashEmbedder):
    """Works, under the name of the one that did not."""

    @property
    def name(self) -> str:
        return "broken"


class _Picky(HashEmbedder):
    def embed(self, texts: Any) -> Any:
        if any("poison" in text for text in texts):
            raise ModelError("cannot take that")
        return super().embed(texts)


class TestFailingModels:
    def test_a_broken_embedder_costs_no_memory(self, bench: Bench):
        memory = bench.memory(embedder=_Broken())
        memory.remember("Ann is allergic to nuts.")
        for _ in range(9):
            assert texts(memory, "allergic") == ["Ann is allergic to nuts."]
            assert memory.indexer.work() == 0 or memory.pending().vectors == 1
        assert memory.pending().vectors == 1
        mended = bench.memory(embedder=_Renamed(16))
        mended.flush()
        assert mended.pending().vectors == 0
        assert bench.backend.index.info(mended.space).vectors == 1

    def test_a_text_that_cannot_be_embedded_does_not_hold_up_the_others(self, bench: Bench):
        memory = bench.memory(embedder=_Picky(16))
        memory.remember(["Ann likes tea.", "this one is poison", "Bob likes rice."])
        for _ in range(5):
            memory.indexer.work()
        assert memory.pending().vectors == 0
        assert bench.backend.index.info(memory.space).vectors == 2
        assert [memory.get(id_).text for id_ in memory.failures()] == ["this one is poison"]


def test_the_async_twins_do_the_same(memory: Memory):
    async def talk() -> list[str]:
        id_ = (await memory.aremember("Ann is allergic to nuts.")).id
        await memory.aupdate(id_, "Ann is allergic to milk.")
        hits = await memory.arecall("allergic")
        await memory.aforget(id_)
        return [hit.text for hit in hits]

    assert asyncio.run(talk()) == ["Ann is allergic to milk."]
    assert memory.count() == 0


def test_a_filter_used_before_sees_what_has_changed_since(bench: Bench):
    memory = bench.memory()

    def tagged(value: Any) -> set[str]:
        return {hit.id for hit in memory.recall("tea", where={"tag": value}, limit=500)}

    ids = [memory.remember(f"tea number {n}", metadata={"tag": n % 2}).id for n in range(6)]
    assert tagged(1) == {ids[1], ids[3], ids[5]}
    memory.update(ids[1], metadata={"tag": 0})
    memory.forget(ids[3])
    more = [memory.remember(f"tea again {n}", metadata={"tag": 1}).id for n in range(150)]
    assert tagged(1) == {ids[5], *more}
    assert tagged(True) == set()
    assert ids[1] in tagged(0)
    assert ids[3] not in tagged(1)
    memory.undo(ids[3])
    for other in range(20):
        assert tagged(other + 2) == set()
    assert ids[3] in {hit.id for hit in memory.recall("tea number 3", where={"tag": 1}, limit=500)}
    memory.erase_all()
    assert tagged(1) == set()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_filter_on_a_space_too_large_to_hold_finds_what_satisfies_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, narrow: bool
):
    memory = bench.memory(snapshots=Snapshots(bench.backend.index, most_records=10))
    for number in range(200):
        memory.remember(f"tea number {number}", metadata={"of": "me" if not narrow or number % 20 == 0 else "you"})
    memory.flush()
    asked: list[object] = []
    match = bench.backend.index.match

    def spied(*args: Any, **options: Any) -> Any:
        asked.append(options["where"])
        return match(*args, **options)

    monkeypatch.setattr(bench.backend.index, "match", spied)
    for _ in range(2):
        found = memory.recall("tea number", where={"of": "me"}, limit=20)
        assert len(found) == (10 if narrow else 20)
        assert {hit.metadata["of"] for hit in found} == {"me"}
    assert [one is not None for one in asked] == ([False, True, True] if narrow else [False, False])


def test_who_has_no_embedder_takes_no_vector_from_who_has_one(bench: Bench):
    bench.memory(embedder=None).remember(["Ann likes tea.", "Ben likes coffee."])
    bench.memory(embedder=None).flush()
    memory = bench.memory(embedder=HashEmbedder(64))
    memory.flush()
    assert memory.backend.index.info(memory.space).vectors == 2
    assert memory.pending().vectors == 0
    bench.memory(embedder=None).flush()
    bench.memory(embedder=HashEmbedder(64)).flush()
    assert memory.backend.index.info(memory.space).vectors == 2


def test_repair_takes_a_plan_and_not_the_whole_report(memory: Memory):
    memory.remember("Ann likes tea.")
    report: Any = memory.audit()
    with pytest.raises(InvalidInput, match=r"report\.plan, not AuditReport"):
        memory.repair(report)
    assert memory.repair(report.plan).done == 0
    wrong: Any
    for wrong in ("x", [1], [report]):
        with pytest.raises(InvalidInput, match="a plan holds actions"):
            memory.repair(wrong)


def test_a_plan_is_for_one_space(bench: Bench):
    memory, other = bench.memory(), bench.memory("bob")
    plan = [Action(verb="forget", space=other.space, record=memory.remember("Ann likes tea.").id, reason="")]
    with pytest.raises(InvalidInput, match="the plan is for the space"):
        memory.repair(plan)
    assert memory.count() == 1


class TestProfiles:
    @pytest.mark.parametrize("seed", range(4))
    def test_a_profile_that_is_kept_up_to_date_is_the_one_counted_anew(self, bench: Bench, seed: int):
        memory, rng = bench.memory(), random.Random(seed)
        ids: list[str] = []
        for step in range(25):
            some = rng.choice(ids) if ids else None
            match rng.choice(("remember", "remember", "remember", "update", "forget", "undo", "erase", "wait")):
                case "update" if some:
                    memory.update(some, text=f"I went sailing on lake {step}.")
                case "forget" if some:
                    memory.forget(some)
                case "undo" if some:
                    with suppress(Conflict, InvalidInput, NotFound):
                        memory.undo(some)
                case "erase" if some:
                    memory.erase(some)
                    ids.remove(some)
                case "wait":
                    bench.pass_time(hours=3)
                case _:
                    ttl = rng.choice((3_600, 18_000)) if rng.random() < 0.3 else None
                    text = f"I like sailing and the number {step}."
                    speaker = rng.choice(("Ann", "", "Bob"))
                    ids.append(memory.remember(text, speaker=speaker, session=f"s{step % 3}", ttl=ttl).id)
            ids = [one for one in ids if _can_be_read(memory, one)]
            for name in ("Ann", "user"):
                assert memory.profile(name) == bench.memory().profile(name)
                assert memory.profile_text(name) == memory.profile(name).text()
            assert memory.count() == len(memory.memories())

    def test_a_profile_in_a_prompt_is_read_from_facts_alone(self, memory: Memory, monkeypatch: pytest.MonkeyPatch):
        memory.remember("I am allergic to nuts.", trust="user")
        memory.remember("I live in Oslo.", trust="imported")
        memory.flush()
        whole = memory.profile().text()
        trusted = memory.profile(trust="user").text()
        assert "Oslo" in whole
        assert "Oslo" not in trusted
        monkeypatch.setattr(memory, "_active", lambda *_: pytest.fail("all memories were read"))
        assert memory.profile_text() == whole
        assert memory.profile_text(trust="user") == trusted
        assert memory.count() == 2


def _can_be_read(memory: Memory, id_: str) -> bool:
    with suppress(NotFound):
        return bool(memory.get(id_))
    return False

"""What counts as use of a memory; questions that ask for several things, or name nothing but a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from memwell.longterm.memory import Memory
from memwell.longterm.recall import looking
from memwell.longterm.weights import Weights
from memwell.records import Space
from tests.longterm.conftest import NOON, Bench

NEWEST = Weights.time_weighted(similarity=0.0, importance=0.0)


class Counted:
    """The recalls that were counted as use."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, space: Space, ids: Sequence[str], at: datetime) -> None:
        self.ids += ids


def test_a_look_is_no_use_and_leaves_the_ranking_as_it_was(bench: Bench):
    counted = Counted()
    memory = bench.memory(used=counted)
    red, blue = memory.remember("Dave drives a red car.").id, memory.remember("Eve rides a blue bicycle.").id
    memory.flush()
    bench.pass_time(hours=10)
    with looking():
        assert [hit.id for hit in memory.recall("a red car", limit=1)] == [red]
    assert counted.ids == []
    found = memory.recall("anything", weights=NEWEST)
    assert {hit.id: hit.accessed for hit in found} == {red: None, blue: None}
    assert len({hit.score for hit in found}) == 1
    assert counted.ids == [hit.id for hit in found]


def test_a_look_lasts_as_long_as_its_block_and_a_use_inside_one_is_a_look(bench: Bench):
    counted = Counted()
    memory = bench.memory(used=counted)
    red = memory.remember("Dave drives a red car.").id
    with looking():
        with looking(False):
            memory.recall("a red car")
        memory.recall("a red car")
    assert counted.ids == []
    with looking(False):
        memory.recall("a red car")
    memory.recall("a red car")
    assert counted.ids == [red, red]


def test_a_recall_in_a_store_that_takes_no_writes_is_no_use(bench: Bench):
    counted = Counted()
    memory = bench.memory(used=counted)
    memory.remember("Dave drives a red car.")
    memory.flush()
    bench.backend.seal("moved")
    for _ in range(2):
        assert [hit.accessed for hit in memory.recall("a red car")] == [None]
    assert counted.ids == []
    bench.backend.seal(None)
    memory.recall("a red car")
    assert len(counted.ids) == 1


SAID = {
    "pizza": ("We had pizza with Lena.", 1), "bike": ("I broke my bike on the hill.", 15),
    "fox": ("I saw a fox in the garden.", 90), "cat": ("My cat is called Minka.", 200), "鱼": ("我们在湖边钓鱼。", 1),
}  # fmt: skip


class TestQuestions:
    """Recall of ``SAID``."""

    @pytest.fixture(autouse=True)
    def said(self, memory: Memory) -> None:
        for id_, (text, days) in SAID.items():
            memory.remember(text, id=id_, time=NOON - timedelta(days=days), speaker="user")

    @pytest.mark.parametrize(
        ("question", "found"),
        [
            ("What is my cat called, and what did I see in the garden?", {"cat", "fox"}),
            ("Who had pizza? Where did my bike break?", {"pizza", "bike"}),
        ],
    )
    def test_each_of_two_questions_finds_its_answer(self, memory: Memory, question: str, found: set[str]):
        hits = memory.recall(question, limit=2)
        assert {hit.id for hit in hits} == found
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.asked == question for hit in hits)
        assert all(abs(sum(one.share for one in hit.signals.values()) - hit.score) < 1e-6 for hit in hits)

    def test_no_hit_of_several_questions_comes_twice(self, memory: Memory):
        hits = memory.recall("Where is the garden fox? Who saw the garden?", limit=10)
        assert len({hit.id for hit in hits}) == len(hits) == len(SAID)

    @pytest.mark.parametrize("question", ["What happened yesterday?", "昨天发生了什么？", "What did I do yesterday?"])
    def test_a_question_of_a_time_finds_what_was_said_then(self, memory: Memory, question: str):
        hits = memory.recall(question, now=NOON)
        assert {hit.id for hit in hits[:2]} == {"pizza", "鱼"}
        assert [hit.relevance for hit in hits] == [0.5, 0.5, *[0.0] * (len(SAID) - 2)]

    def test_a_time_at_which_nothing_was_said_hides_nothing(self, memory: Memory):
        assert len(memory.recall("What happened in 1990?", now=datetime(2026, 1, 1, tzinfo=NOON.tzinfo))) == len(SAID)

    def test_other_words_beside_a_time_decide_as_before(self, memory: Memory):
        assert memory.recall("What did the fox do yesterday?", now=NOON)[0].id == "fox"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("Jon", "john"), ("Johnn", "john"), ("Jhon", "john"), ("Johm", "john"), ("Marry", "mary"), ("Mari", "mary")],
)
def test_a_name_that_nobody_has_is_read_as_the_one_that_differs_by_a_letter(bench: Bench, asked: str, meant: str):
    memory = bench.memory(embedder=None)
    memory.remember("John bakes on Sundays.", id="john")
    memory.remember("Mary bakes on Mondays.", id="mary")
    hit = memory.recall(f"When does {asked} bake?")[0]
    assert (hit.id, hit.signals["coverage"].value) == (meant, pytest.approx(1.0))


def test_a_short_name_with_another_first_letter_is_another(bench: Bench):
    memory = bench.memory(embedder=None)
    memory.remember("Jan lives in Oslo.")
    assert memory.recall("Where does Dan live?")[0].signals["coverage"].value < 0.9


def test_a_name_that_may_be_one_of_two_is_left_as_it_is(bench: Bench):
    memory = bench.memory(embedder=None)
    memory.remember("Mark bakes on Sundays.", id="mark")
    memory.remember("Mork bakes on Mondays.", id="mork")
    one, other = memory.recall("When does Mirk bake?")
    assert one.score == pytest.approx(other.score, rel=0.2)
    assert max(one.signals["coverage"].value, other.signals["coverage"].value) < 0.9


def test_a_misspelt_name_is_first_that_of_a_speaker(bench: Bench):
    memory = bench.memory(embedder=None)
    memory.remember("I sold a boat.", id="ann", speaker="Ann")
    memory.remember("An ant sold a boat.", id="ant", speaker="Bob")
    assert memory.recall("What has Anm sold?")[0].id == "ann"

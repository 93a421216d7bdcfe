"""What counts as use of a memory: recalls by who may write, and nobody's look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memwell.longterm.recall import looking
from memwell.longterm.weights import Weights
from memwell.records import Space
from tests.longterm.conftest import Bench

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

"""Every strategy saves, and loses nothing it was not told to lose."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.compat.basememory import (
    BaseMemory,
    CannotOptimize,
    Compress,
    Deduplicate,
    Evict,
    ListStorage,
    Outcome,
    Shelf,
    SparseVector,
    SparsifyVectors,
    Strategy,
)
from memwell.compat.basememory.storages import sparse_vector
from memwell.errors import InvalidInput
from tests.compat.basememory.kinds import Bare, Readable, Writable

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
ITEMS = st.lists(
    st.sampled_from(["", "short", "a longer text " * 20, "猫" * 90, 1, 1.0, True, None, b"bytes" * 30])
    | st.dictionaries(st.sampled_from("ab"), WORDS, max_size=2),
    max_size=60,
)


def _key(item: Any) -> tuple[str, str]:
    return type(item).__name__, repr(item)


@given(ITEMS, st.booleans())
def test_by_default_every_place_keeps_its_item(items: list[Any], own: bool) -> None:
    memory = BaseMemory(ListStorage(items) if own else list(items))
    report = memory.optimize()
    assert list(map(_key, memory)) == list(map(_key, items))
    assert report.bytes_after <= report.bytes_before
    assert report.lost == 0
    assert memory.optimize().saved == 0


@given(ITEMS)
def test_dropping_repeats_keeps_the_first_of_each_in_order(items: list[Any]) -> None:
    firsts = list({_key(item): item for item in reversed(items)}.values())
    for storage in (ListStorage(items), list(items)):
        memory = BaseMemory(storage)
        report = memory.optimize(Deduplicate(drop=True))
        assert sorted(map(_key, memory)) == sorted(map(_key, firsts))
        order = [[_key(one) for one in items].index(_key(item)) for item in memory]
        assert order == sorted(order)
        assert report.lost == 0


def _half_repeated(count: int = 2000) -> list[str]:
    # Made one by one: equal texts, but not one object.
    texts = [f"User{at % (count // 2)} says: " + "Hello, world!" for at in range(count)]
    random.Random(7).shuffle(texts)
    return texts


def test_half_of_it_repeated_saves_40_percent_and_loses_no_distinct_item() -> None:
    texts = _half_repeated()
    for storage in (ListStorage(texts), Writable(*_half_repeated()), _half_repeated()):
        memory = BaseMemory(messages=storage)
        report = memory.optimize()
        assert report.share >= 0.40, storage
        assert list(memory) == texts


def test_what_others_could_change_is_left_and_the_report_says_so() -> None:
    memory = BaseMemory([{"a": 1}, {"a": 1}])
    step = memory.optimize(Deduplicate()).steps[0]
    assert (step.changed, step.left) == (0, 1)
    assert "1 left" in str(step)
    assert memory[0] is not memory[1]
    assert memory.optimize(Deduplicate(drop=True)).steps[0].items_after == 1


def test_a_storage_that_got_its_list_from_us_is_made_smaller_through_it() -> None:
    class Adding(Bare):
        def add_message(self, message: Any) -> None:
            self.rows.append(message)

    memory = BaseMemory(messages=Adding())
    for text in _half_repeated():
        memory.add_message(text + " How are you?")
    before = list(memory)
    assert memory.optimize().share >= 0.40
    assert list(memory) == before
    assert memory.optimize(Evict(keep=3)).lost > 0
    assert list(memory) == before[-3:]


def test_evicting_keeps_the_newest_and_says_what_is_lost() -> None:
    memory = BaseMemory(ListStorage(["a", "b", "a", "c"]), other=[1, 2, 3])
    report = memory.optimize(Evict(keep=2), only=["data"])
    assert (list(memory), memory.other) == (["a", "c"], [1, 2, 3])
    assert (report.lost, report.steps[0].items_before, report.steps[0].items_after) == (1, 4, 2)
    assert memory.optimize(Evict(keep=5)).steps[0].changed == 0
    assert BaseMemory([object(), object(), object()]).optimize(Evict(keep=1)).lost == 2, "not to be compared"


def test_vectors_are_made_sparse_only_when_told() -> None:
    dice = random.Random(3)
    vectors = [[dice.gauss(0, 1) for _ in range(64)] for _ in range(20)]
    memory = BaseMemory(vectors=ListStorage([*vectors, "no vector"]))
    report = memory.optimize(SparsifyVectors(error=0.05))
    assert report.share > 0.8
    assert 0 < report.steps[0].error <= 0.05
    assert type(memory[0]) is SparseVector
    assert len(memory[0]) == 64
    assert memory[20] == "no vector"
    assert memory.optimize(SparsifyVectors(error=0.05)).steps[0].changed == 0


def test_a_strategy_of_ones_own() -> None:
    class Shorten:
        name = "shorten"

        def apply(self, shelf: Shelf) -> Outcome:
            if shelf.name == "keep":
                raise CannotOptimize("told to keep it")
            for place, item in enumerate(list(shelf)):
                shelf.replace(place, item[:3])
            return Outcome(len(shelf), lost=len(shelf))

    assert isinstance(Shorten(), Strategy)
    memory = BaseMemory(texts=["long text", "another"], keep=["long text"])
    done, kept = memory.optimize(Shorten()).steps
    assert (memory["texts"], memory["keep"]) == (["lon", "ano"], ["long text"])
    assert (done.strategy, done.lost, kept.skipped) == ("shorten", 2, "told to keep it")


def test_senseless_options_and_strategies_are_refused() -> None:
    class Silent:
        def apply(self, shelf: Shelf) -> Any:
            return 5

    with pytest.raises(InvalidInput, match="Silent must return an Outcome, not 5"):
        BaseMemory(texts=["a"]).optimize(Silent())
    for make in (
        lambda: Evict(keep=-1),
        lambda: Compress(level=0),
        lambda: SparsifyVectors(error=0),
        lambda: SparsifyVectors(error=float("nan")),
        lambda: BaseMemory().optimize(Deduplicate),  # type: ignore[arg-type]
        lambda: BaseMemory().optimize("dedup"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput):
            make()


def test_items_are_dropped_in_the_way_the_storage_has() -> None:
    for storage in (Writable(*"abcde"), ListStorage("abcde"), list("abcde")):
        shelf = Shelf("x", storage)
        shelf.drop([1, 3])
        assert list(shelf) == ["a", "c", "e"]
        assert shelf.dropped == [1, 3]
    named = dict(enumerate("abcde", 10))
    shelf = Shelf("x", named)
    shelf.drop([1, 3])
    shelf.drop([0])
    assert named == {12: "c", 14: "e"}


def test_what_a_storage_lacks_is_said() -> None:
    shelf = Shelf("x", Readable("a", "b"))
    asked = [
        (lambda: shelf.drop([0]), "no __delitem__"),
        (lambda: shelf.replace(0, "c"), "no __setitem__"),
        (lambda: shelf.compress(6), "hand out compressed"),
    ]
    for ask, reason in asked:
        with pytest.raises(CannotOptimize, match=reason):
            ask()
    shelf.drop([])
    assert list(shelf) == ["a", "b"]


def test_the_same_words_of_two_people_are_two_items() -> None:
    one, two, three = Shelf("x", ["ok", "ok", "ok"], owners=["Anna", "Ben", "Anna"]).identities()
    assert one == three != two


NUMBERS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=8, max_size=60)


@example([0.0] * 7 + [1.7e-208], 0.001)
@given(NUMBERS, st.sampled_from([0.001, 0.02, 0.3]))
def test_no_vector_is_further_off_than_it_may_be(numbers: list[float], error: float) -> None:
    made = sparse_vector(numbers, error)
    length = math.hypot(*numbers)
    if made is None:
        # Nothing, or too little for half precision.
        assert length == 0 or error < 1e-6
        return
    assert len(made) == len(numbers)
    assert math.dist(made.dense(), numbers) <= error * length * (1 + 1e-9)
    assert made.error <= error * (1 + 1e-9)
    assert list(made) == made.dense()
    assert made[-1] == made.dense()[-1]


def test_an_error_too_small_for_a_byte_takes_the_next_wider_form() -> None:
    dice = random.Random(2)
    numbers = [dice.gauss(0, 1) for _ in range(64)]
    forms = [made.form for error in (0.02, 0.001, 1e-6) if (made := sparse_vector(numbers, error)) is not None]
    assert forms == ["int8", "float16", "float32"]
    assert sparse_vector(numbers, 1e-12) is None


def test_a_report_is_in_numbers_and_in_a_line_a_step() -> None:
    report = BaseMemory(tags=["a", "a"], fixed=("a",)).optimize(Evict(keep=1))
    assert str(report.steps[0]).startswith("tags · Evict: 2 items, now 1, ")
    assert str(report).splitlines()[2] == "fixed · Evict: 1 item, now 1, 0 bytes saved; nothing changed"
    assert (report.saved, report.steps[0].repeats, report.lost) == (report.bytes_before - report.bytes_after, 1, 0)

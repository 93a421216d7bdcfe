"""The figures of tuning, against sums done by hand and against a slow oracle that looks at every character."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.documents import Citation, Found
from memwell.knowledge.tuning.measuring import SHARES, Outcome, figures, interval, outcome
from memwell.knowledge.tuning.questions import SyntheticQuestion

PLACES = st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(1, 40))


def found(document: str, start: int, length: int) -> Found:
    return Found("id", "x" * length, 1.0, Citation(document, "", "", start, start + length), {}, {}, "asked")


def judged(answer: tuple[int, int], passages: list[tuple[str, int, int]], budget: int = 100, first: int = 5) -> Outcome:
    question = SyntheticQuestion("asked", 0, *answer, "keywords", "en")
    return outcome(question, [found(*one) for one in passages], document="a", size=len, budget=budget, first=first)


def test_a_small_passage_that_hits_first_has_the_full_score():
    assert judged((10, 20), [("a", 8, 12)]) == Outcome(1.0, 1.0, 1.0, 1.0)


def test_a_large_one_scores_less_because_its_answer_comes_late():
    late = judged((90, 100), [("a", 0, 100)])
    assert late == Outcome(1.0, 1.0, 1.0, 0.25)


def test_one_too_small_for_the_answer_covers_a_part_of_it():
    part = judged((0, 100), [("a", 0, 10)], budget=1_000)
    assert part.covered == pytest.approx(0.1)
    assert (part.found, part.reciprocal) == (0.0, 1.0)


def test_a_passage_of_another_document_takes_room_and_gives_nothing():
    assert judged((0, 10), [("b", 0, 10), ("a", 0, 10)], budget=80) == Outcome(1.0, 0.5, 1.0, 0.75)
    assert judged((0, 10), [("b", 0, 10)]) == Outcome(0.0, 0.0, 0.0, 0.0)


def test_what_lies_behind_the_first_few_is_not_found_but_may_be_in_the_budget():
    one = judged((0, 10), [("b", 0, 10)] * 5 + [("a", 0, 10)])
    assert (one.found, one.covered) == (0.0, 1.0)
    assert one.reciprocal == pytest.approx(1 / 6)


def test_passages_that_overlap_are_not_counted_twice():
    assert judged((0, 20), [("a", 0, 12), ("a", 5, 10)]).covered == pytest.approx(15 / 20)


def test_nothing_recalled_is_nothing_found():
    assert judged((0, 10), []) == Outcome(0.0, 0.0, 0.0, 0.0)


@given(st.integers(0, 50), st.integers(1, 50), st.lists(PLACES, max_size=8), st.sampled_from([8, 40, 160]))
def test_the_covered_share_is_that_of_an_oracle_that_reads_on_till_the_budget_ends(
    start: int, length: int, passages: list[tuple[str, int, int]], budget: int
):
    read: list[tuple[str, int]] = [
        (document, place) for document, at, size in passages for place in range(at, at + size)
    ]
    answer = {("a", place) for place in range(start, start + length)}
    shares = [len(answer.intersection(read[: round(part * budget)])) / length for part in SHARES]
    one = judged((start, start + length), passages, budget)
    assert one.covered == pytest.approx(shares[-1], abs=2 / length)
    assert one.score == pytest.approx(sum(shares) / len(shares), abs=2 / length)
    assert 0.0 <= one.score <= one.covered + 1e-9


def test_figures_are_means_and_their_interval_holds_the_mean():
    outcomes = [Outcome(1.0, 1.0, 1.0, 1.0), Outcome(0.0, 0.5, 0.5, 0.25)] * 20
    made = figures(outcomes, seed=3)
    assert (made.recall, made.mrr, made.budget_recall, made.score) == (0.5, 0.75, 0.75, 0.625)
    assert made.low < made.score < made.high
    assert made.questions == 40
    assert made == figures(outcomes, seed=3)
    assert figures([], seed=0).questions == 0


def test_an_interval_is_narrower_for_more_values_and_a_point_for_equal_ones():
    few, many = np.tile([0.0, 1.0], 10), np.tile([0.0, 1.0], 1_000)
    assert (
        interval(many, seed=0).high - interval(many, seed=0).low
        < interval(few, seed=0).high - interval(few, seed=0).low
    )
    assert interval(np.full(9, 0.5), seed=0) == (0.5, 0.5, 0.5)

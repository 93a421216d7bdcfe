"""Where ways are tried: what the choice rests on, and what becomes of an embedder that is asked twice or fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memwell.errors import ModelError
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.tuning.bench import Bench, RememberingEmbedder, Tried, Way
from memwell.knowledge.tuning.measuring import Outcome
from memwell.knowledge.tuning.questions import QuestionSet, SyntheticQuestion, make_questions
from memwell.models.scripted import HashEmbedder
from tests.knowledge.tuning.corpora import facts

USUAL, OTHER = Way(Chunking(), True, False), Way(Chunking(64, 0), True, False)
HALF = 20


class Counting(HashEmbedder):
    """Notes how many texts it was asked to embed, and fails from a certain one on."""

    def __init__(self, fails_after: int | None = None) -> None:
        super().__init__(64)
        self.asked = 0
        self._fails_after = fails_after

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        if self._fails_after is not None and self.asked > self._fails_after:
            raise ModelError("out of service")
        return super().embed(texts)


def outcomes(*scores: float) -> list[Outcome]:
    return [Outcome(score, score, score, score) for score in scores]


def bench(kinds: Sequence[str] = ("keywords",) * HALF) -> Bench:
    half = tuple(SyntheticQuestion(str(number), 0, 0, 1, kind, "en") for number, kind in enumerate(kinds))
    questions = QuestionSet(half, half)
    return Bench([plain("text")], questions, embedder=None, synonyms=None, budget=100, seed=0)


def tried(way: Way, choosing: Sequence[float], held_out: Sequence[float]) -> Tried:
    return Tried(way, 1, outcomes(*choosing), outcomes(*held_out))


def test_what_is_better_on_both_halves_is_taken():
    usual = tried(USUAL, [0.2] * HALF, [0.2] * HALF)
    other = tried(OTHER, [0.9] * HALF, [0.8, 0.9] * (HALF // 2))
    chosen, verdict = bench().judged([usual, other], usual)
    assert (chosen, verdict.outcome) == (other, "better")
    assert verdict.gain == pytest.approx(0.65)
    assert 0 < verdict.low < verdict.gain < verdict.high


def test_what_only_the_choosing_half_likes_is_not():
    usual = tried(USUAL, [0.2] * HALF, [0.5] * HALF)
    other = tried(OTHER, [0.9] * HALF, [0.4] * HALF)
    chosen, verdict = bench().judged([usual, other], usual)
    assert (chosen, verdict.outcome) == (usual, "noise")


def test_what_only_the_held_out_half_likes_is_not_either():
    usual = tried(USUAL, [0.5] * HALF, [0.2] * HALF)
    other = tried(OTHER, [0.4] * HALF, [0.9] * HALF)
    assert bench().judged([usual, other], usual)[0] == usual


def test_a_difference_that_may_be_chance_keeps_what_is_in_use():
    usual = tried(USUAL, [0.5] * HALF, [0.0, 1.0] * (HALF // 2))
    other = tried(OTHER, [0.6] * HALF, [1.0, 0.0] * (HALF // 2 - 1) + [1.0, 1.0])
    chosen, verdict = bench().judged([usual, other], usual)
    assert (chosen, verdict.outcome) == (usual, "noise")
    assert verdict.low < 0 < verdict.gain


def test_equals_keep_what_is_in_use():
    usual = tried(USUAL, [0.5] * HALF, [0.5] * HALF)
    other = tried(OTHER, [0.5] * HALF, [0.5] * HALF)
    chosen, verdict = bench().judged([other, usual], usual)
    assert (chosen, verdict.outcome) == (usual, "default")


def test_too_few_questions_say_nothing():
    usual, other = tried(USUAL, [0.0] * 5, [0.0] * 5), tried(OTHER, [1.0] * 5, [1.0] * 5)
    chosen, verdict = bench(("keywords",) * 5).judged([usual, other], usual)
    assert (chosen, verdict.outcome) == (usual, "few")


def test_questions_made_of_synonyms_have_no_say_in_whether_to_use_them():
    kinds = ("paraphrase", "keywords") * HALF
    usual = tried(USUAL, [0.5] * 2 * HALF, [0.5] * 2 * HALF)
    other = tried(OTHER, [1.0, 0.4] * HALF, [1.0, 0.4] * HALF)
    assert bench(kinds).judged([usual, other], usual)[0] == other
    assert bench(kinds).judged([usual, other], usual, by_synonyms=False)[0] == usual


def test_a_trial_keeps_the_halves_apart():
    trial = bench().trial(tried(OTHER, [0.0] * HALF, [1.0] * HALF))
    assert (trial.score, trial.held_out.score) == (0.0, 1.0)
    assert (trial.recall, trial.mrr, trial.budget_recall) == (0.0, 0.0, 0.0)
    assert trial.chunking == OTHER.chunking


def test_a_text_is_embedded_once_and_a_repeated_trial_costs_nothing():
    documents = [plain(text) for text in facts(2, 20)]
    embedder = Counting()
    questions = make_questions(documents, 20)
    made = Bench(documents, questions, embedder=embedder, synonyms=None, budget=500, seed=0)
    first = made.tried(OTHER)
    asked = embedder.asked
    assert asked > 0
    assert made.tried(OTHER) == first
    assert embedder.asked == asked


def test_an_embedder_that_fails_is_not_passed_over():
    documents = [plain(text) for text in facts(2, 20)]
    for fails_after in (0, 15):
        made = Bench(
            documents, make_questions(documents, 20), embedder=Counting(fails_after), synonyms=None, budget=500, seed=0
        )
        with pytest.raises(ModelError, match="out of service"):
            made.tried(OTHER)


def test_remembered_vectors_are_those_of_the_embedder():
    inner = HashEmbedder(64)
    remembering = RememberingEmbedder(inner)
    texts = ["one", "two", "one", ""]
    for _ in range(2):
        assert np.array_equal(remembering.embed(texts), inner.embed(texts))
    assert remembering.embed([]).shape == (0, 64)
    assert (remembering.name, remembering.dimensions) == (inner.name, inner.dimensions)

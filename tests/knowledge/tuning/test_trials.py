"""Tuning: small passages for short facts, larger ones where the answer is longer, and the same result for the same seed."""

from __future__ import annotations

import builtins
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import FileError, InvalidInput, MissingDependency, ModelError
from memwell.knowledge import Knowledge, read_document
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.documents import Citation, Found
from memwell.knowledge.tuning import tune
from memwell.knowledge.tuning.questions import QuestionSet, SyntheticQuestion, make_questions
from memwell.knowledge.tuning.trials import (
    OUTCOMES,
    SHARES,
    Bench,
    Figures,
    Outcome,
    RememberingEmbedder,
    Trial,
    Tried,
    Tuned,
    Verdict,
    Way,
    figures,
    interval,
    outcome,
)
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend
from tests.knowledge.tuning.corpora import chinese_facts, facts, passages

# The figures of tuning, against sums done by hand and against a slow oracle that looks at every character.


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


# What tuning reports: a table that lines up in both languages, words that claim no more than was measured, and a
# plot.


def trial(tokens: int, overlap: int, score: float, *, expand: bool = True, rerank: bool = False) -> Trial:
    held_out = Figures(0.9, 0.8, 0.95, score, score - 0.05, min(1.0, score + 0.05), 50)
    return Trial(Chunking(tokens, overlap), expand, rerank, 0.9, 0.8, 0.95, score, 120, held_out)


TUNED = Tuned(
    best=Chunking(128, 0),
    expand=True,
    rerank=False,
    trials=(
        trial(256, 32, 0.80),
        *(trial(size, overlap, score) for size, overlap, score in ((64, 0, 0.85), (64, 10, 0.84), (128, 0, 0.9))),
        *(trial(size, overlap, score) for size, overlap, score in ((128, 19, 0.88), (512, 0, 0.7), (512, 77, 0.69))),
        trial(128, 0, 0.91, rerank=True),
        trial(128, 0, 0.89, expand=False),
    ),
    questions=100,
    held_out=50,
    in_use=Chunking(),
    cutting=Verdict("better", 0.1, 0.02, 0.18),
    asking=Verdict("noise", 0.01, -0.02, 0.04),
)
NOTHING = replace(TUNED, trials=(), cutting=Verdict("few"), asking=Verdict("few"), best=Chunking())


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.mark.parametrize("language", ["en", "zh", "zh-CN", "zh_CN"])
def test_the_table_has_a_line_for_every_trial_and_lines_up(language: str):
    lines = TUNED.table(language).split("\n")
    rows = lines[: lines.index("")]
    assert len(rows) == 1 + len(TUNED.trials)
    # The column of the sizes ends at the same place in each, wide characters counted as two.
    ends = {columns(row[: len(row) - len(row.lstrip())] + row.split()[0]) for row in rows}
    assert len(ends) == 1


def test_the_table_marks_what_is_in_use_and_what_is_advised():
    english, chinese = TUNED.table(), TUNED.table("zh")
    assert [line.split()[:2] for line in english.split("\n") if "advised" in line] == [["128", "0"]]
    assert [line.split()[:2] for line in english.split("\n") if "(in use)" in line] == [["256", "32"]]
    assert [line.split()[:2] for line in chinese.split("\n") if "建议" in line] == [["128", "0"]]
    assert "留出" in chinese


def test_the_words_claim_what_was_measured():
    assert "0.100 higher" in TUNED.note
    assert "+0.020 to +0.180" in TUNED.note
    assert "may be chance" in TUNED.note
    assert "高 0.100" in TUNED.in_words("zh")
    assert "可能只是偶然" in TUNED.in_words("zh")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_has_its_words(outcome: str, language: str):
    verdict = Verdict(outcome, 0.1, 0.0, 0.2)
    told = replace(TUNED, cutting=verdict, asking=verdict, share=0.5).in_words(language)
    assert "128" in told
    assert "50%" in told
    assert "{" not in told


def test_what_is_advised_is_a_trial_or_nothing():
    assert TUNED.advised == TUNED.trials[3]
    assert NOTHING.advised is None
    assert "too few" in NOTHING.table()


def test_another_language_is_refused():
    for language in ("fr", "", None, 3):
        with pytest.raises(InvalidInput):
            TUNED.table(language)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput):
            TUNED.plot("/nowhere.png", language=language)  # pyright: ignore[reportArgumentType]


# The plot


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_plot_is_a_png(tmp_path: Path, language: str):
    written = TUNED.plot(tmp_path / "tuned.png", language=language)
    assert written.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [one.name for one in tmp_path.iterdir()] == ["tuned.png"]


def test_a_plot_of_one_way_of_asking_and_one_size_is_drawn_too(tmp_path: Path):
    few = replace(TUNED, trials=TUNED.trials[:1], best=Chunking())
    assert few.plot(tmp_path / "one.png").stat().st_size > 5_000


def test_nothing_tried_is_nothing_to_draw(tmp_path: Path):
    with pytest.raises(InvalidInput, match="no questions"):
        NOTHING.plot(tmp_path / "none.png")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(FileError, match="nowhere"):
        TUNED.plot(tmp_path / "nowhere" / "tuned.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r"memwell\[plots\]"):
        TUNED.plot(tmp_path / "tuned.png")


# Where ways are tried: what the choice rests on, and what becomes of an embedder that is asked twice or fails.


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


FACTS = facts()


def quick(texts: object, **options: object) -> Tuned:
    chosen = {"sizes": (32, 256), "overlaps": (0.0,), "questions": 40, "rerank": (False,), "expand": (True,)}
    return tune(texts, **{"embedder": None, **chosen, **options})  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def of_facts() -> Tuned:
    return tune(FACTS, embedder=HashEmbedder(64), sizes=(32, 256), overlaps=(0.0,), questions=40)


@pytest.fixture
def of_passages() -> Iterator[Knowledge]:
    with open_backend("memory:") as backend:
        knowledge = Knowledge(backend, "reader", chunking=Chunking(48, 0, 16))
        for number, text in enumerate(passages()):
            knowledge.add(text, id=str(number))
        yield knowledge


def test_short_facts_are_best_cut_small(of_facts: Tuned):
    assert of_facts.best.tokens == 32
    assert of_facts.cutting.outcome == "better"
    assert of_facts.cutting.low > 0
    assert of_facts.in_use == Chunking()
    advised = of_facts.advised
    assert advised is not None
    assert advised.held_out.score > of_facts.trials[0].held_out.score


def test_so_are_chinese_ones():
    assert quick(chinese_facts()).best.tokens == 32


def test_what_is_understood_as_a_whole_is_best_cut_large(of_passages: Knowledge):
    tuned = quick(of_passages, sizes=(32, 256))
    assert tuned.in_use == Chunking(48, 0, 16)
    assert (tuned.best.tokens, tuned.cutting.outcome) == (256, "better")
    assert of_passages.chunking == Chunking(48, 0, 16)


def test_a_difference_that_is_none_keeps_what_is_in_use():
    short = [text for document in FACTS[:2] for text in document.split("\n\n")]
    tuned = quick(short, sizes=(512,), overlaps=(0.0, 0.15))
    assert (tuned.best, tuned.cutting.outcome) == (Chunking(), "default")
    assert len({trial.score for trial in tuned.trials}) == 1


def test_every_size_is_tried_with_every_overlap_and_then_the_ways_of_asking_with_the_best(of_facts: Tuned):
    tried = [(one.chunking.tokens, one.chunking.overlap, one.expand, one.rerank) for one in of_facts.trials]
    assert tried == [
        (256, 32, True, False),
        (32, 0, True, False),
        (256, 0, True, False),
        (32, 0, True, True),
        (32, 0, False, False),
        (32, 0, False, True),
    ]
    assert (of_facts.questions, of_facts.held_out) == (40, 20)
    assert all(one.held_out.questions == 20 for one in of_facts.trials)
    assert sum(of_facts.kinds.values()) == 40


def test_the_same_documents_and_seed_give_the_same_and_another_seed_other_questions(of_facts: Tuned):
    again = tune(FACTS, embedder=HashEmbedder(64), sizes=(32, 256), overlaps=(0.0,), questions=40)
    assert again == of_facts
    assert quick(FACTS, sizes=(), seed=1).trials != quick(FACTS, sizes=(), seed=2).trials


def test_progress_is_told_from_none_to_all():
    told: list[tuple[int, int | None]] = []
    quick(FACTS[:2], expand=(False, True), progress=lambda done, total: told.append((done, total)))
    assert told == [(number, 4) for number in range(5)]


def test_a_large_collection_is_measured_on_a_part():
    tuned = quick(FACTS, most_characters=4_000)
    assert 0.1 < tuned.share < 0.6
    assert "part" in tuned.note
    assert quick(FACTS, most_characters=None).share == 1.0


def test_too_little_to_ask_about_keeps_what_is_in_use_and_says_so():
    for texts in (["Short."], FACTS[0][:300]):
        tuned = quick(texts)
        assert (tuned.best, tuned.cutting.outcome, tuned.asking.outcome) == (Chunking(), "few", "few")
        assert "too few" in tuned.note
        assert "题太少" in tuned.in_words("zh")


@pytest.mark.parametrize(
    "options",
    [
        {"texts": []},
        {"texts": ["", "  \n"]},
        {"texts": [3]},
        {"sizes": (4,)},
        {"sizes": (100_000,)},
        {"sizes": ("64",)},
        {"overlaps": (0.9,)},
        {"overlaps": (-0.1,)},
        {"overlaps": (float("nan"),)},
        {"overlaps": (True,)},
        {"questions": 1},
        {"expand": ()},
        {"rerank": (1,)},
        {"budget": 0},
        {"most_characters": 0},
    ],
)
def test_bad_input_is_refused(options: dict[str, object]):
    with pytest.raises(InvalidInput):
        quick(**{"texts": FACTS[:1], **options})


def test_the_headings_of_documents_that_were_taken_in_count():
    text = "\n\n".join(f"# Tool {number}\n\n{fact}" for number, fact in enumerate(FACTS[0].split("\n\n")[:30]))
    parsed = read_document(text.encode(), name="tools.md")
    knowledge = Knowledge(open_backend("memory:"), "reader")
    knowledge.add(parsed, id="tools")
    assert any(block.kind == "heading" for block in parsed.blocks)
    assert quick(knowledge).trials == quick([parsed]).trials != quick([parsed.text]).trials

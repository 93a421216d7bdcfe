"""Tuning: small passages for short facts, larger ones where the answer is longer, and the same result for the same seed."""

from __future__ import annotations

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

from memwell.errors import FileError, InvalidInput, ModelError
from memwell.knowledge import Knowledge
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.documents import Citation, Found, Parsed
from memwell.knowledge.tuning import (
    OUTCOMES,
    SHARES,
    Bench,
    QuestionScore,
    QuestionSet,
    SyntheticQuestion,
    Trial,
    TrialFigures,
    Tried,
    Tuned,
    Verdict,
    Way,
    figures,
    interval,
    length_of,
    make_questions,
    outcome,
    sample,
    tune,
)
from memwell.language.segment import query_terms
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend
from tests.knowledge.corpora import chinese_facts, facts, passages

FACTS, CHINESE, PASSAGES = ([plain(text) for text in texts] for texts in (facts(), chinese_facts(), passages()))
DOCUMENTS = [*FACTS, *CHINESE]

# A part of the documents


@given(st.integers(200, 100_000), st.integers(0, 50))
def test_a_part_is_about_as_long_as_wanted_and_made_of_whole_blocks(most: int, seed: int):
    part = sample(DOCUMENTS, most, seed=seed)
    assert part == sample(DOCUMENTS, most, seed=seed)
    assert part == DOCUMENTS or sum(length_of(one.text) for one in DOCUMENTS) > most
    assert sum(length_of(one.text) for one in part) <= most * 1.1 + 400
    originals = {document.text[block.start : block.end] for document in DOCUMENTS for block in document.blocks}
    for one in part:
        assert {one.text[block.start : block.end] for block in one.blocks} <= originals
        assert one.blocks[-1].end == len(one.text.rstrip())


# Questions


def all_of(documents: list[Parsed], count: int = 60, seed: int = 0) -> list[SyntheticQuestion]:
    made = make_questions(documents, count, seed=seed)
    return [*made.choosing, *made.held_out]


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_half_of_the_questions_are_held_out_and_the_seed_decides_them(documents: list[Parsed]):
    made = make_questions(documents, 40)
    assert len(made.choosing) == len(made.held_out) == 20
    assert len(make_questions(documents, 41).choosing) == 21
    assert make_questions(documents, 30, seed=7) == make_questions(documents, 30, seed=7)
    assert make_questions(documents, 30, seed=7) != make_questions(documents, 30, seed=8)


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_no_question_comes_twice_and_the_halves_share_no_answer(documents: list[Parsed]):
    made = make_questions(documents, 80)
    texts = [one.text for one in (*made.choosing, *made.held_out)]
    assert len(texts) == len(set(texts))
    for one in made.choosing:
        for other in made.held_out:
            assert one.document != other.document or one.end <= other.start or other.end <= one.start


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_the_answer_stands_in_the_document_and_has_words_of_the_question(documents: list[Parsed]):
    made = all_of(documents)
    assert made
    for one in made:
        answer = documents[one.document].text[one.start : one.end]
        assert answer == answer.strip() != ""
        assert set(query_terms(one.text)) & set(query_terms(answer)), one


def test_a_question_points_to_few_places():
    assert all_of(FACTS)
    assert all_of(PASSAGES)
    for one in all_of(FACTS):
        asked = set(query_terms(one.text))
        having = [line for parsed in FACTS for line in parsed.text.split("\n\n") if asked <= set(query_terms(line))]
        assert 1 <= len(having) <= 2
    for one in all_of(PASSAGES):
        answer = PASSAGES[one.document].text[one.start : one.end]
        assert len(answer) > 600 or answer.startswith(("One begins", "At the very end"))


@given(st.lists(st.text(max_size=300), max_size=4), st.integers(2, 10))
def test_any_text_at_all_gives_questions_or_none(texts: list[str], count: int):
    documents = [plain(text) for text in texts]
    for one in all_of(documents, count):
        assert 0 <= one.start < one.end <= len(documents[one.document].text)


# TrialFigures, against sums done by hand and against a slow oracle that looks at every character

PLACES = st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(1, 40))


def found(document: str, start: int, length: int) -> Found:
    return Found("id", "x" * length, 1.0, Citation(document, "", "", start, start + length), {}, {}, "asked")


def judged(answer: tuple[int, int], passages: list[tuple[str, int, int]], budget: int = 100) -> QuestionScore:
    return outcome(answer, [found(*one) for one in passages], document="a", size=len, budget=budget)


@pytest.mark.parametrize(
    ("answer", "passages", "expected"),
    [
        ((10, 20), [("a", 8, 12)], QuestionScore(1.0, 1.0)),
        ((90, 100), [("a", 0, 100)], QuestionScore(1.0, 0.25)),
        ((0, 100), [("a", 0, 10)], QuestionScore(0.0, 0.1)),
        ((0, 10), [("b", 0, 10)], QuestionScore(0.0, 0.0)),
        ((0, 20), [("a", 0, 12), ("a", 5, 10)], QuestionScore(1.0, (12 / 20 + 3 * 15 / 20) / 4)),
        ((0, 10), [], QuestionScore(0.0, 0.0)),
    ],
)
def test_a_score_falls_with_late_and_partial_answers(
    answer: tuple[int, int], passages: list[tuple[str, int, int]], expected: QuestionScore
):
    assert judged(answer, passages) == pytest.approx(expected, abs=0.03)


@given(st.integers(0, 50), st.integers(1, 50), st.lists(PLACES, max_size=8), st.sampled_from([8, 40, 160]))
def test_the_score_is_that_of_an_oracle_that_reads_on_till_the_budget_ends(
    start: int, length: int, passages: list[tuple[str, int, int]], budget: int
):
    read = [(document, place) for document, at, size in passages for place in range(at, at + size)]
    answer = {("a", place) for place in range(start, start + length)}
    shares = [len(answer.intersection(read[: round(part * budget)])) / length for part in SHARES]
    one = judged((start, start + length), passages, budget)
    assert one.score == pytest.approx(sum(shares) / len(shares), abs=2 / length)


def test_figures_are_means_with_an_interval():
    made = figures([QuestionScore(1.0, 0.4), QuestionScore(0.0, 0.2)] * 20, seed=3)
    assert (made.recall, made.questions) == (0.5, 40)
    assert made.score == pytest.approx(0.3)
    assert made.low < made.score < made.high
    assert figures([], seed=0).questions == 0
    assert interval(np.full(9, 0.5), seed=0) == (0.5, 0.5, 0.5)


# The choice

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


def bench(embedder: HashEmbedder | None = None) -> Bench:
    documents = [plain(text) for text in facts(2, 20)]
    questions = make_questions(documents, 20) if embedder else QuestionSet((), ())
    return Bench(documents, questions, embedder=embedder, seed=0)


def tried(way: Way, choosing: Sequence[float], held_out: Sequence[float]) -> Tried:
    halves = ([QuestionScore(score, score) for score in scores] for scores in (choosing, held_out))
    return Tried(way, 1, *halves)


@pytest.mark.parametrize(
    ("usual", "other", "verdict"),
    [
        (([0.2] * HALF, [0.2] * HALF), ([0.9] * HALF, [0.8, 0.9] * (HALF // 2)), "better"),
        (([0.2] * HALF, [0.5] * HALF), ([0.9] * HALF, [0.4] * HALF), "noise"),
        (([0.5] * HALF, [0.2] * HALF), ([0.4] * HALF, [0.9] * HALF), "default"),
        (([0.5] * HALF, [0.0, 1.0] * 10), ([0.6] * HALF, [1.0, 0.0] * 9 + [1.0, 1.0]), "noise"),
        (([0.5] * HALF, [0.5] * HALF), ([0.5] * HALF, [0.5] * HALF), "default"),
        (([0.0] * 5, [0.0] * 5), ([1.0] * 5, [1.0] * 5), "few"),
    ],
)
def test_only_what_is_better_on_both_halves_is_taken(
    usual: tuple[list[float], list[float]], other: tuple[list[float], list[float]], verdict: str
):
    one, two = tried(USUAL, *usual), tried(OTHER, *other)
    chosen, given = bench().judged([two, one], one)
    assert (chosen, given.outcome) == (two if verdict == "better" else one, verdict)
    assert given.low <= given.gain <= given.high


def test_a_text_is_embedded_once_and_a_repeated_trial_costs_nothing():
    embedder = Counting()
    made = bench(embedder)
    first = made.tried(OTHER)
    asked = embedder.asked
    assert asked > 0
    assert made.tried(OTHER) == first
    assert embedder.asked == asked
    trial = made.trial(first)
    assert (trial.chunking, trial.choosing.questions, trial.held_out.questions) == (OTHER.chunking, 10, 10)


@pytest.mark.parametrize("fails_after", [0, 15])
def test_an_embedder_that_fails_ends_the_measuring(fails_after: int):
    with pytest.raises(ModelError, match="out of service"):
        bench(Counting(fails_after)).tried(OTHER)


# The whole


def quick(texts: object, **options: object) -> Tuned:
    chosen = {"sizes": (32, 256), "overlaps": (0.0,), "questions": 40, "rerank": (False,), "expand": (True,)}
    return tune(texts, **{"embedder": None, **chosen, **options})  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def of_facts() -> Tuned:
    return tune(facts(), embedder=HashEmbedder(64), sizes=(32, 256), overlaps=(0.0,), questions=40)


@pytest.fixture
def of_passages() -> Iterator[Knowledge]:
    with open_backend("memory:") as backend:
        knowledge = Knowledge(backend, "reader", chunking=Chunking(48, 0, 16))
        for number, text in enumerate(passages()):
            knowledge.add(text, id=str(number))
        yield knowledge


def test_short_facts_are_best_cut_small(of_facts: Tuned):
    assert (of_facts.best.tokens, of_facts.cutting.outcome, of_facts.in_use) == (32, "better", Chunking())
    assert of_facts.advised is not None
    assert of_facts.advised.held_out.score > of_facts.trials[0].held_out.score
    assert quick(chinese_facts()).best.tokens == 32


def test_what_is_understood_as_a_whole_is_best_cut_large(of_passages: Knowledge):
    tuned = quick(of_passages)
    assert tuned.in_use == Chunking(48, 0, 16)
    assert (tuned.best.tokens, tuned.cutting.outcome) == (256, "better")
    assert of_passages.chunking == Chunking(48, 0, 16)


def test_a_difference_that_is_none_keeps_the_chunking_in_use():
    short = [text for document in facts()[:2] for text in document.split("\n\n")]
    tuned = quick(short, sizes=(512,), overlaps=(0.0, 0.15))
    assert (tuned.best, tuned.cutting.outcome) == (Chunking(), "default")


def test_every_size_is_tried_with_every_overlap_and_then_the_searches_with_the_best(of_facts: Tuned):
    tried = [(one.chunking.tokens, one.chunking.overlap, one.expand, one.rerank) for one in of_facts.trials]
    assert tried == [
        (256, 32, True, False),
        (32, 0, True, False),
        (256, 0, True, False),
        (32, 0, True, True),
        (32, 0, False, False),
        (32, 0, False, True),
    ]
    assert (of_facts.questions, of_facts.held_out, of_facts.share) == (40, 20, 1.0)
    assert tune(facts(), embedder=HashEmbedder(64), sizes=(32, 256), overlaps=(0.0,), questions=40) == of_facts


def test_progress_goes_from_none_to_all():
    seen: list[tuple[int, int | None]] = []
    quick(facts()[:2], expand=(False, True), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 4) for number in range(5)]


def test_a_large_collection_is_measured_on_a_part(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.knowledge.tuning.MOST_CHARACTERS", 4_000)
    tuned = quick(facts())
    assert 0.1 < tuned.share < 0.6
    assert "part" in tuned.in_words()


def test_too_little_to_ask_about_keeps_the_setting_in_use_and_says_so():
    for texts in (["Short."], facts()[0][:300]):
        tuned = quick(texts)
        assert (tuned.best, tuned.cutting.outcome, tuned.asking.outcome) == (Chunking(), "few", "few")
        assert "too few" in tuned.in_words()
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
        {"overlaps": (float("nan"),)},
        {"overlaps": (True,)},
        {"questions": 1},
        {"expand": ()},
        {"rerank": (1,)},
    ],
)
def test_bad_input_is_refused(options: dict[str, object]):
    with pytest.raises(InvalidInput):
        quick(**{"texts": facts()[:1], **options})


# The report


def trial(tokens: int, overlap: int, score: float, *, expand: bool = True, rerank: bool = False) -> Trial:
    held_out = TrialFigures(0.9, score, score - 0.05, min(1.0, score + 0.05), 50)
    return Trial(Chunking(tokens, overlap), expand, rerank, 120, TrialFigures(0.9, score), held_out)


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


def test_the_table_marks_the_settings_in_use_and_advised():
    english, chinese = TUNED.table().split("\n\n")[0], TUNED.table("zh").split("\n\n")[0]
    assert [line.split()[:2] for line in english.split("\n") if "advised" in line] == [["128", "0"]]
    assert [line.split()[:2] for line in english.split("\n") if "in use" in line] == [["256", "32"]]
    assert [line.split()[:2] for line in chinese.split("\n") if "建议" in line] == [["128", "0"]]
    assert TUNED.advised == TUNED.trials[3]
    assert NOTHING.advised is None


def test_the_words_claim_what_was_measured():
    english, chinese = TUNED.in_words(), TUNED.in_words("zh")
    assert "0.100 higher" in english
    assert "+0.020 to +0.180" in english
    assert "may be chance" in english
    assert "高 0.100" in chinese
    assert "可能只是偶然" in chinese


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_has_its_words(outcome: str, language: str):
    verdict = Verdict(outcome, 0.1, 0.0, 0.2)
    said = replace(TUNED, cutting=verdict, asking=verdict, share=0.5).in_words(language)
    assert "128" in said
    assert "50%" in said
    assert "{" not in said


@pytest.mark.parametrize("language", ["fr", "", None, 3])
def test_another_language_is_refused(language: Any):
    with pytest.raises(InvalidInput):
        TUNED.table(language)
    with pytest.raises(InvalidInput):
        TUNED.plot("/nowhere.png", language=language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_plot_is_a_png(tmp_path: Path, language: str):
    written = TUNED.plot(tmp_path / "tuned.png", language=language)
    assert written.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [one.name for one in tmp_path.iterdir()] == ["tuned.png"]


def test_what_cannot_be_drawn_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="no questions"):
        NOTHING.plot(tmp_path / "none.png")
    with pytest.raises(FileError, match="nowhere"):
        TUNED.plot(tmp_path / "nowhere" / "tuned.png")
    assert list(tmp_path.iterdir()) == []

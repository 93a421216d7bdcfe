"""Tuning: small passages for short facts, larger ones where the answer is longer, and the same result for the same seed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import InvalidInput, ModelError
from memwell.knowledge import Knowledge
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.documents import Citation, Found, Parsed
from memwell.knowledge.tuning import (
    OUTCOMES,
    SHARES,
    Bench,
    Measured,
    SyntheticQuestion,
    Trial,
    Tuned,
    Verdict,
    interval,
    make_questions,
    outcome,
    sample,
    tune,
)
from memwell.language.segment import query_terms
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend
from memwell.tokens import default_counter
from tests.knowledge.corpora import chinese_facts, facts, passages

FACTS, CHINESE, PASSAGES = ([plain(text) for text in texts] for texts in (facts(), chinese_facts(), passages()))
DOCUMENTS = [*FACTS, *CHINESE]


@given(st.integers(200, 100_000), st.integers(0, 50))
def test_a_part_is_about_as_long_as_wanted_and_made_of_whole_blocks(most: int, seed: int):
    count = default_counter().count
    part = sample(DOCUMENTS, most, seed=seed)
    assert part == sample(DOCUMENTS, most, seed=seed)
    assert part == DOCUMENTS or sum(count(one.text) for one in DOCUMENTS) > most
    assert sum(count(one.text) for one in part) <= most * 1.1 + 100
    originals = {document.text[block.start : block.end] for document in DOCUMENTS for block in document.blocks}
    for one in part:
        assert {one.text[block.start : block.end] for block in one.blocks} <= originals
        assert one.blocks[-1].end == len(one.text.rstrip())


def all_of(documents: list[Parsed], count: int = 60) -> list[SyntheticQuestion]:
    choosing, held_out = make_questions(documents, count)
    return [*choosing, *held_out]


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_half_of_the_questions_are_held_out_and_ask_for_other_places(documents: list[Parsed]):
    choosing, held_out = make_questions(documents, 41)
    assert (len(choosing), len(held_out)) == (21, 20)
    assert len({one.text for one in (*choosing, *held_out)}) == 41
    assert make_questions(documents, 30, seed=7) == make_questions(documents, 30, seed=7)
    assert make_questions(documents, 30, seed=7) != make_questions(documents, 30, seed=8)
    for one in choosing:
        for other in held_out:
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
    for one in all_of(FACTS):
        asked = set(query_terms(one.text))
        having = [line for parsed in FACTS for line in parsed.text.split("\n\n") if asked <= set(query_terms(line))]
        assert 1 <= len(having) <= 2
    answers = [PASSAGES[one.document].text[one.start : one.end] for one in all_of(PASSAGES)]
    assert any(len(answer) > 600 for answer in answers)
    assert all(len(answer) > 600 or answer.startswith(("One begins", "At the very end")) for answer in answers)


@given(st.lists(st.text(max_size=300), max_size=4), st.integers(2, 10))
def test_any_text_at_all_gives_questions_or_none(texts: list[str], count: int):
    documents = [plain(text) for text in texts]
    for one in all_of(documents, count):
        assert 0 <= one.start < one.end <= len(documents[one.document].text)


# Scores, against sums done by hand and against a slow oracle that looks at every character

PLACES = st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(1, 40))


def found(document: str, start: int, length: int) -> Found:
    return Found("id", "x" * length, 1.0, Citation(document, "", "", start, start + length), {}, {}, "asked")


def judged(answer: tuple[int, int], passages: list[tuple[str, int, int]], budget: int = 100) -> tuple[float, float]:
    return outcome(answer, [found(*one) for one in passages], document="a", size=len, budget=budget)


@given(st.integers(0, 50), st.integers(1, 50), st.lists(PLACES, max_size=8), st.sampled_from([8, 40, 160]))
def test_the_score_is_that_of_an_oracle_that_reads_on_till_the_budget_ends(
    start: int, length: int, passages: list[tuple[str, int, int]], budget: int
):
    read = [(document, place) for document, at, size in passages for place in range(at, at + size)]
    answer = {("a", place) for place in range(start, start + length)}
    shares = [len(answer.intersection(read[: round(part * budget)])) / length for part in SHARES]
    _, score = judged((start, start + length), passages, budget)
    assert score == pytest.approx(sum(shares) / len(shares), abs=2 / length)


USUAL, OTHER = Chunking(), Chunking(64, 0)
HALF = 20


class Failing(HashEmbedder):
    """Fails after it was asked for some texts."""

    def __init__(self, after: int) -> None:
        super().__init__(64)
        self._left = after

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._left -= len(texts)
        if self._left < 0:
            raise ModelError("out of service")
        return super().embed(texts)


def measured(chunking: Chunking, choosing: Sequence[float], held_out: Sequence[float]) -> Measured:
    scores = np.array([*choosing, *held_out])
    return Measured(chunking, 1, scores, scores)


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
    bench = Bench([], [SyntheticQuestion("", 0, 0, 0)] * len(usual[0]), [], embedder=None, seed=0)
    chosen, given = bench.judged([measured(USUAL, *usual), measured(OTHER, *other)])
    assert (chosen, given.outcome) == (OTHER if verdict == "better" else USUAL, verdict)
    assert given.low <= given.gain <= given.high
    assert interval(np.full(9, 0.5), seed=0) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("after", [0, 15])
def test_an_embedder_that_fails_ends_the_measuring(after: int):
    with pytest.raises(ModelError, match="no chunk size"):
        tune(facts(2, 20), embedder=Failing(after), sizes=(32,), questions=20)


def quick(texts: object, **options: object) -> Tuned:
    return tune(texts, **{"embedder": None, "sizes": (32, 256), "questions": 40, **options})  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def of_facts() -> Tuned:
    return quick(facts(), embedder=HashEmbedder(64))


@pytest.fixture
def of_passages() -> Iterator[Knowledge]:
    with open_backend("memory:") as backend:
        knowledge = Knowledge(backend, "reader", chunking=Chunking(48, 0, 16))
        for number, text in enumerate(passages()):
            knowledge.add(text, id=str(number))
        yield knowledge


def test_short_facts_are_best_cut_small(of_facts: Tuned):
    assert (of_facts.best.tokens, of_facts.verdict.outcome, of_facts.in_use) == (32, "better", Chunking())
    assert of_facts.trials[1].held_out > of_facts.trials[0].held_out
    assert quick(chinese_facts()).best.tokens == 32


def test_what_is_understood_as_a_whole_is_best_cut_large(of_passages: Knowledge):
    tuned = quick(of_passages)
    assert tuned.in_use == Chunking(48, 0, 16)
    assert (tuned.best.tokens, tuned.verdict.outcome) == (256, "better")
    assert of_passages.chunking == Chunking(48, 0, 16)


def test_a_difference_that_is_none_keeps_the_chunking_in_use():
    short = [text for document in facts()[:2] for text in document.split("\n\n")]
    tuned = quick(short, sizes=(512,))
    assert (tuned.best, tuned.verdict.outcome) == (Chunking(), "default")


def test_every_size_is_tried_after_the_chunking_in_use_and_the_result_is_the_same_again(of_facts: Tuned):
    assert [(one.chunking.tokens, one.chunking.overlap) for one in of_facts.trials] == [(256, 32), (32, 4)]
    assert (of_facts.questions, of_facts.held_out, of_facts.share) == (40, 20, 1.0)
    assert quick(facts(), embedder=HashEmbedder(64)) == of_facts


def test_progress_goes_from_none_to_all():
    seen: list[tuple[int, int | None]] = []
    quick(facts()[:2], sizes=(32, 64, 128), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 4) for number in range(5)]


def test_a_large_collection_is_measured_on_a_part(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.knowledge.tuning.MOST_TOKENS", 1_000)
    tuned = quick(facts())
    assert 0.1 < tuned.share < 0.6
    assert "part" in tuned.in_words()


def test_too_little_to_ask_about_keeps_the_setting_in_use_and_says_so():
    for texts in (["Short."], facts()[0][:300]):
        tuned = quick(texts)
        assert (tuned.best, tuned.verdict.outcome) == (Chunking(), "few")
        assert "too few" in tuned.in_words()
        assert "题太少" in tuned.in_words("zh")


@pytest.mark.parametrize(
    "options",
    [
        *({"texts": []}, {"texts": ["", "  \n"]}, {"texts": [3]}),
        *({"sizes": (4,)}, {"sizes": (100_000,)}, {"sizes": ("64",)}),
        {"questions": 1},
    ],
)
def test_bad_input_is_refused(options: dict[str, object]):
    with pytest.raises(InvalidInput):
        quick(**{"texts": facts()[:1], **options})


def trial(tokens: int, overlap: int, score: float) -> Trial:
    return Trial(Chunking(tokens, overlap), 120, 0.9, score, score, score - 0.05, score + 0.05)


TUNED = Tuned(
    best=Chunking(128, 0), verdict=Verdict("better", 0.1, 0.02, 0.18), in_use=Chunking(),
    trials=(trial(256, 32, 0.80), trial(64, 10, 0.84), trial(128, 0, 0.9)), questions=100, held_out=50,
)  # fmt: skip


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


@pytest.mark.parametrize(("language", "advised", "in_use"), [("en", "advised", "in use"), ("zh-CN", "建议", "现用")])
def test_the_table_lines_up_and_marks_the_settings_in_use_and_advised(language: str, advised: str, in_use: str):
    lines = TUNED.table(language).split("\n")
    rows = lines[: lines.index("")]
    assert len(rows) == 1 + len(TUNED.trials)
    # The column of the sizes ends at the same place in each, wide characters counted as two.
    ends = {columns(row[: len(row) - len(row.lstrip())] + row.split()[0]) for row in rows}
    assert len(ends) == 1
    assert [line.split()[:2] for line in rows if advised in line] == [["128", "0"]]
    assert [line.split()[:2] for line in rows if in_use in line] == [["256", "32"]]


def test_the_words_claim_what_was_measured():
    english, chinese = TUNED.in_words(), TUNED.in_words("zh")
    assert "0.100 higher" in english
    assert "+0.020 to +0.180" in english
    assert "高 0.100" in chinese


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_outcome_has_its_words(outcome: str, language: str):
    verdict = Verdict(outcome, 0.1, 0.0, 0.2)
    said = replace(TUNED, verdict=verdict, share=0.5).in_words(language)
    assert "128" in said
    assert "50%" in said
    assert "{" not in said


@pytest.mark.parametrize("language", ["fr", "", None, 3])
def test_another_language_is_refused(language: Any):
    with pytest.raises(InvalidInput):
        TUNED.table(language)

"""Tuning: small passages for short facts, larger ones where the answer is longer, and the same result for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memwell.errors import InvalidInput
from memwell.knowledge import Chunking, Knowledge, read_document
from memwell.knowledge.tuning import Tuned, tune
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend
from tests.knowledge.tuning.corpora import chinese_facts, facts, passages

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

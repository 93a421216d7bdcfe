"""Questions made from documents: answerable, spread over both halves, the same for the same seed, in two languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.knowledge.chunking import plain
from memwell.knowledge.documents import Block, Parsed
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning.questions import KINDS, SyntheticQuestion, length_of, make_questions, sample
from memwell.language.segment import query_terms
from tests.knowledge.tuning.corpora import chinese_facts, facts, passages

# A part of the documents: about as long as wanted, made of whole blocks, and the same for the same seed.


DOCUMENTS = [plain(text) for text in (*facts(), *chinese_facts())]
TOTAL = sum(length_of(one.text) for one in DOCUMENTS)


def test_all_of_them_when_they_fit():
    assert sample(DOCUMENTS, TOTAL) == DOCUMENTS


def test_one_long_document_gives_a_stretch():
    whole = plain("\n\n".join(facts(1, 500)))
    (part,) = sample([whole], 2_000, seed=4)
    assert part.text in whole.text
    assert 1_800 <= len(part.text) <= 2_000
    assert len({one.text for seed in range(5) for one in sample([whole], 2_000, seed=seed)}) > 1


def test_a_chinese_character_counts_as_several():
    chinese = [plain(text) for text in chinese_facts()]
    assert sum(len(one.text) for one in sample(chinese, 3_000)) < 2_000


@given(st.integers(200, 20_000), st.integers(0, 50))
def test_it_is_about_as_long_as_wanted_and_made_of_whole_blocks(most: int, seed: int):
    part = sample(DOCUMENTS, most, seed=seed)
    assert part == sample(DOCUMENTS, most, seed=seed)
    assert sum(length_of(one.text) for one in part) <= most * 1.1 + 400
    originals = {document.text[block.start : block.end] for document in DOCUMENTS for block in document.blocks}
    for one in part:
        assert {one.text[block.start : block.end] for block in one.blocks} <= originals
        assert one.blocks[-1].end == len(one.text.rstrip())


FACTS = [plain(text) for text in facts()]
CHINESE = [plain(text) for text in chinese_facts()]
PASSAGES = [plain(text) for text in passages()]


def all_of(documents: list[Parsed], count: int = 60, seed: int = 0) -> list[SyntheticQuestion]:
    made = make_questions(documents, count, seed=seed)
    return [*made.choosing, *made.held_out]


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_as_many_as_asked_half_of_them_held_out(documents: list[Parsed]):
    made = make_questions(documents, 40)
    assert len(made.choosing) == len(made.held_out) == 20
    assert len(make_questions(documents, 41).choosing) == 21


@pytest.mark.parametrize("documents", [FACTS, CHINESE, PASSAGES])
def test_the_same_seed_gives_the_same_questions_and_another_others(documents: list[Parsed]):
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
    for one in all_of(documents):
        answer = documents[one.document].text[one.start : one.end]
        assert answer == answer.strip() != ""
        assert set(query_terms(one.text)) & set(query_terms(answer)), one
        assert one.kind in KINDS


def test_facts_give_questions_about_sentences_only_and_passages_about_wholes():
    assert "passage" not in {one.kind for one in all_of(FACTS)}
    wholes = [one for one in all_of(PASSAGES) if one.kind == "passage"]
    assert len(wholes) >= 20
    assert all(one.end - one.start > 600 for one in wholes)


def test_a_question_without_exchanged_words_points_to_few_places():
    for one in all_of(FACTS):
        if one.kind == "keywords":
            asked = set(query_terms(one.text))
            having = [line for parsed in FACTS for line in parsed.text.split("\n\n") if asked <= set(query_terms(line))]
            assert 1 <= len(having) <= 2


def test_a_sentence_that_stands_everywhere_is_not_asked_about():
    repeated = sum(parsed.text.count("rinsed in cold water") for parsed in PASSAGES)
    assert repeated > 20
    for one in all_of(PASSAGES):
        if one.kind != "passage":
            answer = PASSAGES[one.document].text[one.start : one.end]
            assert answer.startswith(("One begins", "At the very end"))


def test_several_kinds_are_made_and_each_language_is_asked_in_its_own():
    assert {"blank", "keywords", "name"} <= {one.kind for one in all_of(FACTS)}
    assert {one.language for one in all_of(FACTS)} == {"en"}
    assert {one.language for one in all_of(CHINESE)} == {"zh"}
    assert any("多少" in one.text or "什么" in one.text for one in all_of(CHINESE))


def test_a_definition_is_asked_for():
    text = (
        "A gromlin is a small animal that lives under old wooden floors.\n\n粘菌是一种没有大脑却能找到最短路径的生物。"
    )
    found = {one.text for one in all_of([plain(text)] * 2, 4)}
    assert found & {"What is gromlin?", "什么是粘菌？"}


def test_a_paraphrase_has_a_synonym_that_the_answer_has_not():
    table = Synonyms([["bridge", "viaduct"], ["mill", "grinder"], ["tower", "spire"], ["pump", "siphon"]])
    made = make_questions(FACTS, 60, synonyms=table)
    exchanged = [one for one in (*made.choosing, *made.held_out) if one.kind == "paraphrase"]
    assert exchanged
    for one in exchanged:
        answer = FACTS[one.document].text[one.start : one.end]
        assert any(word in one.text and word not in answer for word in ("viaduct", "grinder", "spire", "siphon"))


def test_a_list_goes_with_the_words_that_announce_it():
    lead = "To prime the Kestrel pump after a long winter, do the following things one after the other:"
    items = "\n".join(
        f"- Then turn the valve number {number} slowly until the {word} needle stands still."
        for number, word in enumerate(("red", "green", "blue", "white", "black"), 1)
    )
    text = f"{lead}\n\n{items}"
    parsed = Parsed(text, (Block("paragraph", 0, len(lead)), Block("list", len(lead) + 2, len(text))))
    wholes = [one for one in all_of([parsed, *FACTS[:1]], 60) if one.kind == "passage"]
    assert [(one.start, one.end) for one in wholes] == [(0, len(text))]


def test_a_text_without_paragraphs_is_asked_about_in_both_halves():
    for text in (" ".join(facts()).replace("\n\n", " "), "".join(chinese_facts()).replace("\n\n", "")):
        made = make_questions([plain(text)], 40)
        assert len(made.choosing) == len(made.held_out) == 20
        assert "passage" not in {one.kind for one in (*made.choosing, *made.held_out)}


def test_few_documents_give_halves_that_are_even():
    made = make_questions([plain(facts(1, 40)[0])], 30)
    assert len(made.choosing) == len(made.held_out) == 15


def test_code_headings_and_tables_are_not_asked_about():
    code = "def prime(pump):\n    return pump.valve[0] = open(pump, mode='slow')"
    parsed = Parsed(code, (Block("code", 0, len(code)),))
    assert all_of([parsed]) == []
    assert all_of([Parsed("A heading that is long enough", (Block("heading", 0, 29, 1),))]) == []


@given(st.lists(st.text(max_size=300), max_size=4), st.integers(2, 10))
def test_any_text_at_all_gives_questions_or_none(texts: list[str], count: int):
    documents = [plain(text) for text in texts]
    for one in all_of(documents, count):
        assert 0 <= one.start < one.end <= len(documents[one.document].text)


@pytest.mark.parametrize("count", [0, 1, -5, True, 2.0, "3"])
def test_a_bad_count_is_refused(count: object):
    with pytest.raises(InvalidInput):
        make_questions(FACTS, count)  # pyright: ignore[reportArgumentType]

"""A part of the documents: about as long as wanted, made of whole blocks, and the same for the same seed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.chunking import plain
from memwell.knowledge.tuning.places import length_of
from memwell.knowledge.tuning.sampling import sample
from tests.knowledge.tuning.corpora import chinese_facts, facts

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

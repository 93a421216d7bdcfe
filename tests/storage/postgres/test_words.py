"""Words in tsvector: what is stored of a text, and that a score is the reference's, however long the text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.segment import segment
from memwell.records import Record, Space
from memwell.storage.memory import MemoryBackend
from memwell.storage.postgres import words
from memwell.storage.postgres.words import Part, parts, space_prefix
from memwell.testing.machine import assert_same_match
from tests.engines.postgres import open_store

HOME, AWAY = Space("home"), Space("away")
WORDS = st.lists(st.sampled_from(["tea", "samovar", "北京", "京", "😀", "x1"]), max_size=20)


def counted(stored: list[Part], prefix: str) -> Counter[str]:
    """What the parts say of a text: each term and how often it occurs."""
    found: Counter[str] = Counter()
    for part in stored:
        repeated = msgspec.json.decode(part.repeated or "{}", type=dict[str, int])
        for lexeme in part.lexemes.split(" "):
            assert lexeme.startswith(prefix)
            term = lexeme.removeprefix(prefix)
            assert term not in found, "no term is in two parts"
            found[term] = repeated.get(term, 1)
    return found


@given(WORDS)
def test_parts_say_how_often_each_term_occurs(terms: list[str]):
    assert counted(parts("ab12", terms), "ab12") == Counter(terms)


def test_a_long_text_has_several_parts():
    terms = [f"{number:060}" for number in range(20_000)]
    terms += terms[:3] * 2
    stored = parts("ab12", terms)
    assert len(stored) > 1
    assert all(len(part.lexemes.encode()) < 2**20 for part in stored)
    assert counted(stored, "ab12") == Counter(terms)


def test_spaces_have_prefixes_of_their_own():
    names = [space_prefix(Space(str(n)).encoded()) for n in range(500)]
    assert {len(name) for name in names} == {4}
    assert len(set(names)) > 490


def test_a_record_with_more_words_than_a_tsvector_takes_is_found_by_any(tmp_path: Path):
    text = " ".join(f"q{number}z" for number in range(70_000)) + " tea" * 300
    records = [Record(id="long", text=text, space=HOME), Record(id="short", text="tea q1z", space=HOME)]
    reference = MemoryBackend()
    with open_store(tmp_path) as store:
        for backend in (store, reference):
            backend.index.upsert(records)
        for query in ("q1z", "q69999z tea", "q35000z q1z q69999z", "tea"):
            assert_same_match(store.index.match(HOME, query), reference.index.match(HOME, query), 10)
        assert store.check() == []
        assert store.index.delete(HOME, ["long"]) == 1
        assert store.index.match(HOME, "q69999z") == []
        assert store.check() == []


def test_spaces_that_share_a_prefix_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.postgres.index.space_prefix", lambda space: "same")
    monkeypatch.setattr(words, "space_prefix", lambda space: "same")
    with open_store(tmp_path) as store:
        store.index.upsert([Record(id="a", text="tea", space=HOME), Record(id="b", text="cup", space=HOME)])
        alone = store.index.match(HOME, "tea")
        store.index.upsert([Record(id=str(n), text="tea tea", space=AWAY) for n in range(5)])
        assert store.index.match(HOME, "tea") == alone
        assert [hit.record.id for hit in alone] == ["a"]


def test_a_query_of_very_many_terms(tmp_path: Path):
    text = " ".join(f"w{number}" for number in range(400))
    with open_store(tmp_path) as store:
        store.index.upsert([Record(id="a", text=text, space=HOME), Record(id="b", text="w5 w399", space=HOME)])
        found = [hit.record.id for hit in store.index.match(HOME, text + " 'quoted' \\ : & | ! ( ) <-> *")]
    assert found == ["a", "b"]
    assert len(segment(text)) == 400

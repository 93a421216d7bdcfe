"""Synonyms: found as words, exchanged one at a time, bounded, and extended by whoever knows better."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import FileError, InvalidInput
from memwell.knowledge.synonyms import LONGEST_TERM, Synonyms

BUNDLED = Synonyms.bundled()
TERMS = sorted({term for group in BUNDLED.groups for term in group})
TABLE = Synonyms(
    [
        ["car", "automobile", "汽车"], ["汽车", "轿车"], ["大模型", "LLM"], ["模型", "样式"], ["C++", "cpp"],
        ["C#", "csharp"],
    ]
)  # fmt: skip


def test_the_table_that_comes_along_has_the_words_of_both_languages():
    assert len(BUNDLED) >= 300
    assert {"LLM", "大语言模型", "语言模型"} <= set(Synonyms.bundled().synonyms_of("大模型"))
    assert {"存储", "缓存", "记住"} <= set(Synonyms.bundled().synonyms_of("记忆"))
    assert {"检索增强", "知识增强"} <= set(Synonyms.bundled().synonyms_of("rag"))
    assert "photo" in Synonyms.bundled().synonyms_of("pictures")


def test_every_word_of_it_stands_for_the_others_of_its_group_and_never_for_itself():
    for group in BUNDLED.groups:
        for term in group:
            others = BUNDLED.synonyms_of(term)
            assert term not in others, term
            assert {other for other in group if other not in others} == {term}, group


@pytest.mark.parametrize("query", ["a car", "Cars!", "CAR", "ｃａｒ"])
def test_an_english_word_is_found_in_any_case_and_number(query: str):
    assert "automobile" in TABLE.terms(query)


@pytest.mark.parametrize("query", ["carpet", "scar", "oscar", "car2"])
def test_an_english_word_is_not_found_inside_another(query: str):
    assert TABLE.expand(query) == [query]


def test_a_phrase_is_found_over_spaces_and_hyphens_but_not_over_a_full_stop():
    table = Synonyms([["open source", "free software"]])
    assert table.expand("Open-Source licence") == ["Open-Source licence", "free software licence"]
    assert table.expand("it is open. source unknown") == ["it is open. source unknown"]


def test_chinese_is_found_without_spaces_and_the_longest_word_wins():
    assert TABLE.expand("这个大模型好吗") == ["这个大模型好吗", "这个LLM好吗"]
    assert TABLE.expand("这个模型好吗") == ["这个模型好吗", "这个样式好吗"]


# Being alike is not handed on


def test_a_synonym_of_a_synonym_is_none():
    assert TABLE.synonyms_of("car") == ("automobile", "汽车")
    assert TABLE.synonyms_of("汽车") == ("轿车", "car", "automobile")


def test_every_word_gets_its_first_synonym_before_any_gets_its_second():
    table = Synonyms([["a1", "b1", "c1"], ["a2", "b2", "c2"]])
    assert table.expand("a1 a2", most=5) == ["a1 a2", "b1 a2", "a1 b2", "c1 a2", "a1 c2"]
    assert table.expand("a1 a2", most=2) == ["a1 a2", "b1 a2"]
    assert table.expand("a1 a2", most=1) == ["a1 a2"]


@given(st.lists(st.one_of(st.sampled_from(TERMS), st.text(max_size=6)), max_size=8), st.integers(1, 12))
def test_expanding_is_bounded_repeats_nothing_and_begins_with_the_query(words: list[str], most: int):
    query = " ".join(words)
    found = BUNDLED.expand(query, most=most)
    assert found[0] == query
    assert len(found) == len(set(found)) <= most
    assert found == BUNDLED.expand(query, most=most)
    assert len(BUNDLED.terms(query, most=most)) <= most


@given(st.sampled_from(TERMS))
def test_every_word_of_the_table_is_found_in_a_query(term: str):
    assert BUNDLED.terms(f"? {term} !", most=100) == list(BUNDLED.synonyms_of(term))


def test_extending_leaves_the_table_as_it_was_and_puts_the_new_first():
    more = TABLE.extended([["car", "Wagen"]])
    assert more.synonyms_of("car") == ("Wagen", "automobile", "汽车")
    assert TABLE.synonyms_of("car") == ("automobile", "汽车")


@pytest.mark.parametrize(
    "written",
    [
        "# ours\n\ncar = auto = 汽车\nLLM，大模型\n", "car, auto, 汽车\nLLM、大模型",
        "\ufeffcar=auto=汽车=\r\nLLM=大模型\r\n", json.dumps([["car", "auto", "汽车"], ["LLM", "大模型"]]),
        json.dumps({"car": ["auto", "汽车"], "LLM": "大模型"}, ensure_ascii=False),
    ],
)  # fmt: skip
def test_a_file_is_lines_or_json(tmp_path: Path, written: str):
    file = tmp_path / "table"
    file.write_bytes(written.encode())
    assert Synonyms.load(file).groups == (("car", "auto", "汽车"), ("LLM", "大模型"))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("car = auto\nalone\n", "line 2"), ("car = Cars\n", "two different"), ("!! = ??\n", "letter"),
        ("[[1, 2]]", "string"), ("[3]", "list of words"), ('{"a": 5}', "string"), ("{", "JSON"),
        ("[" * 100_000, "JSON"), ("a = " + "b" * (LONGEST_TERM + 1), "characters"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_and_says_why(tmp_path: Path, written: str, told: str):
    file = tmp_path / "table"
    file.write_text(written)
    with pytest.raises(InvalidInput, match=told):
        Synonyms.load(file)


def test_a_file_that_is_no_text_or_not_there_is_named(tmp_path: Path):
    (tmp_path / "gbk").write_bytes("汽车 = 轿车".encode("gbk"))
    with pytest.raises(InvalidInput, match="UTF-8"):
        Synonyms.load(tmp_path / "gbk")
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FileError, match="cannot be read"):
            Synonyms.load(path)


def test_bad_queries_are_refused():
    for bad in (None, 3, b"car"):
        with pytest.raises(InvalidInput):
            TABLE.expand(bad)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput):
            TABLE.synonyms_of(bad)  # pyright: ignore[reportArgumentType]
    for most in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput):
            TABLE.expand("car", most=most)  # pyright: ignore[reportArgumentType]

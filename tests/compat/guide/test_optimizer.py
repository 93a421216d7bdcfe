from __future__ import annotations

import pytest

from memwell.compat.guide.optimizer import RAGOptimizer
from memwell.errors import InvalidInput
from memwell.models.scripted import HashEmbedder

TOWNS = "Oslo Bergen Turku Malmo Aarhus Tallinn Riga Vilnius Gdansk Lubeck Bremen Ghent Bruges Lille Nantes".split()
THINGS = "ferries bakeries libraries gardens bridges museums theatres markets towers harbours orchards mills".split()
FACTS = "\n\n".join(
    f"The {thing} of {town} were counted in {1500 + 7 * number + 31 * place} by the clerk {town[:3]}{thing[:4]}son."
    for number, town in enumerate(TOWNS)
    for place, thing in enumerate(THINGS[:6])
)


def test_the_size_is_chosen_by_what_is_found():
    assert RAGOptimizer.optimize_chunk_size(FACTS, [100, 2000], embedder=HashEmbedder()) == 100
    tuned = RAGOptimizer.compare_chunk_sizes(FACTS, [100, 2000], embedder=HashEmbedder())
    assert "characters" in tuned.table()
    assert "字符" in tuned.table("zh")
    assert {trial.chunking.tokens for trial in tuned.trials} == {100, 2000}


def test_where_nothing_can_be_told_apart_it_is_a_size_that_was_given():
    same = "这是同一句话。" * 100
    assert RAGOptimizer.optimize_chunk_size(same, embedder=HashEmbedder()) in (100, 200, 500, 1000)
    assert RAGOptimizer.optimize_chunk_size("短文。", [300], embedder=HashEmbedder()) == 300


@pytest.mark.parametrize(
    ("text", "sizes"), [("", [100]), ("   ", [100]), ("text", []), ("text", [0]), ("text", "100"), (7, [100])]
)
def test_bad_input_is_refused(text: str, sizes: list[int]):
    with pytest.raises(InvalidInput):
        RAGOptimizer.optimize_chunk_size(text, sizes, embedder=HashEmbedder())


DOCUMENTS = ["LLM 可以保留前文。", "Gardening in spring.", "大语言模型按概率生成文字。", "Cooking rice."]


def test_expansion_and_reranking_are_shown_at_work():
    made = RAGOptimizer.improve_retrieval_accuracy(
        ["大模型怎么生成文字", "plot of greens"],
        DOCUMENTS,
        2,
        synonyms={"plot of greens": ["cooking"]},
        embedder=HashEmbedder(),
    )
    expanded = made["query_expansion"]("大模型怎么生成文字")
    assert expanded[0] == "大模型怎么生成文字"
    assert any("大语言模型" in one for one in expanded)
    assert made["results"]["大模型怎么生成文字"]["after"][0] == DOCUMENTS[2]
    found = made["results"]["plot of greens"]
    assert found["before"][0] != "Cooking rice."
    assert found["after"][0] == "Cooking rice.", "a synonym that was added"


def test_reranking_understands_chinese():
    rerank = RAGOptimizer.improve_retrieval_accuracy([], ["文档"], embedder=HashEmbedder())["reranking"]
    results = [{"document": "今天天气很好", "score": 0.5}, {"document": "上下文窗口有长度限制", "score": 0.45}]
    judged = rerank("上下文窗口的限制", results)
    assert [one["document"] for one in judged] == ["上下文窗口有长度限制", "今天天气很好"]
    assert judged[0]["reranked_score"] > judged[1]["reranked_score"]
    assert results[0] == {"document": "今天天气很好", "score": 0.5}, "what was given stays as it was"
    assert rerank("x", []) == []


@pytest.mark.parametrize(
    ("queries", "documents", "top_k"), [("q", ["d"], 1), (["q"], "d", 1), (["q"], ["d"], 0), ([7], ["d"], 1)]
)
def test_what_is_no_list_is_refused(queries: list[str], documents: list[str], top_k: int):
    with pytest.raises(InvalidInput):
        RAGOptimizer.improve_retrieval_accuracy(queries, documents, top_k, embedder=HashEmbedder())

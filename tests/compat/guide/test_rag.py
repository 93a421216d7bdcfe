from __future__ import annotations

from pathlib import Path

import pytest

from memwell.compat.guide.rag import SimpleRAGSystem
from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat

DOCUMENTS = [
    "检索增强生成让模型在回答之前先查资料，因此知识可以随时更新。",
    "向量数据库保存文本的语义向量，按相似度查找。",
    "The context window of a model limits how much text it can read at once.",
]


@pytest.fixture(scope="module")
def rag():
    with SimpleRAGSystem(store="memory:") as system:
        system.add_documents(DOCUMENTS, [{"page": number} for number in range(3)])
        yield system


def test_what_fits_best_is_first_with_its_metadata_and_score(rag: SimpleRAGSystem):
    found = rag.search("向量数据库是做什么的？", top_k=3)
    assert found[0]["document"] == DOCUMENTS[1]
    assert found[0]["metadata"] == {"page": 1}
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    for one in found:
        assert 0 <= one["score"] <= 1
        assert one["score"] + one["distance"] == pytest.approx(1)
    assert "用词相同" in found[0]["why"]


def test_a_second_call_adds_and_the_same_text_is_there_once(rag: SimpleRAGSystem, capsys: pytest.CaptureFixture[str]):
    before = rag.knowledge.count().documents
    first = rag.add_documents(["第一次的文档。", "第二篇文档。"])
    assert "成功添加 2 个文档" in capsys.readouterr().out
    second = rag.add_documents(["完全不同的文档。"])
    assert len({*first, *second}) == 3
    assert rag.add_documents(["第二篇文档。"]) == [first[1]]
    assert rag.add_documents(["第二篇文档。"], [{"lang": "zh"}]) != [first[1]]
    assert rag.knowledge.count().documents == before + 4
    rag.knowledge.remove(*first, *second, *rag.add_documents(["第二篇文档。"], [{"lang": "zh"}]))


def test_an_answer_names_its_sources_and_what_is_not_known_is_said(rag: SimpleRAGSystem):
    answer = rag.generate_answer("向量数据库保存什么？")
    assert "语义向量" in answer
    assert "\n[1] " in answer
    assert rag.generate_answer("明天的火车几点开？").startswith("我不知道")
    assert "context window" in rag.generate_answer("What does the context window of a model limit?")


def test_the_prompt_holds_the_question_and_what_was_found(rag: SimpleRAGSystem):
    prompt = rag.create_prompt("向量数据库保存什么？")
    assert DOCUMENTS[1] in prompt
    assert prompt.endswith("向量数据库保存什么？")
    assert "参考材料" in prompt


def test_a_model_that_fails_is_named_and_the_documents_answer(tmp_path: Path):
    failing = ScriptedChat([ModelError("the server is away")] * 3)
    with SimpleRAGSystem(store=tmp_path / "kb.db", chat=failing) as system:
        system.add_documents(DOCUMENTS)
        answer = system.answer("向量数据库保存什么？")
    assert answer.extractive
    assert "语义向量" in answer.text
    assert answer.note


def test_documents_outlive_the_process(tmp_path: Path):
    with SimpleRAGSystem(store=tmp_path / "kb.db") as system:
        system.add_documents(DOCUMENTS)
    with SimpleRAGSystem(store=tmp_path / "kb.db") as system:
        assert system.search("向量数据库", top_k=1)[0]["document"] == DOCUMENTS[1]


@pytest.mark.parametrize(
    ("documents", "metadatas"),
    [("text", None), (["a", "b"], [{}]), ([7], None), (["a"], [{"x": object()}]), (None, None)],
)
def test_bad_input_adds_nothing(rag: SimpleRAGSystem, documents: list[str], metadatas: list[dict[str, object]] | None):
    before = rag.knowledge.count()
    with pytest.raises(InvalidInput):
        rag.add_documents(documents, metadatas)
    assert rag.knowledge.count() == before


def test_another_embedder_is_not_taken_for_ours():
    with pytest.raises(InvalidInput, match="bge-large"):
        SimpleRAGSystem("bge-large", store="memory:")

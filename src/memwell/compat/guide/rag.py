"""Retrieval-augmented generation with the guide's names: documents go in, answers with their sources come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memwell._asyncify import Closing, asyncify
from memwell.compat.guide.given_texts import add_texts
from memwell.errors import InvalidInput
from memwell.knowledge import Answer, Found
from memwell.knowledge.recall import DOCUMENT_WEIGHTS
from memwell.language.detect import language_of
from memwell.models.ports import ChatModel
from memwell.runtime.engine import open as open_memory
from memwell.values import check_count, shown

_LOCAL_MODELS = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "local")


class SimpleRAGSystem(Closing):
    """Documents in one file, found by meaning and words, in English and Chinese.

    ``model_name`` names the embedder that comes along; another one is given as ``embedder``. Without a ``chat`` model
    answers are sentences of the documents. Raises ``InvalidInput`` for a model that is not here.
    """

    def __init__(
        self,
        model_name: str = "all-MiniLM-L6-v2",
        *,
        store: str | Path = "knowledge_base.db",
        chat: ChatModel | Any = None,
        embedder: Any = "local",
    ) -> None:
        if embedder == "local" and model_name not in _LOCAL_MODELS:
            raise InvalidInput(
                f"the embedder {shown(model_name)} is not here; known: {_LOCAL_MODELS[0]!r}, or give your own as embedder="
            )
        self.engine = open_memory(store, embedder=embedder, chat=chat)
        self.knowledge = self.engine.knowledge

    def add_documents(
        self, documents: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None = None
    ) -> list[str]:
        """Add texts, each with its metadata, and return their ids. The same text with the same metadata is there once.

        Raises ``InvalidInput`` when there are not as many metadatas as documents; then nothing is added.
        """
        ids = [document.id for document in add_texts(self.knowledge, documents, metadatas)]
        print(f"成功添加 {len(ids)} 个文档到知识库")  # noqa: T201 - the guide's examples show it
        return ids

    def search(self, query: str, top_k: int = 3) -> list[dict[str, Any]]:
        """The passages that fit best, best first: ``document``, ``metadata``, ``score`` and ``distance``, where they stand
        and why they were found. A score is from 0 to 1; the distance is what is missing to 1.
        """
        return [_result(one) for one in self.knowledge.recall(query, limit=check_count(top_k, "top_k", least=1))]

    def create_prompt(self, query: str, top_k: int = 3) -> str:
        """The question with what was found for it, as it would go to a model; what was found is fenced as data."""
        found = self.knowledge.recall(query, limit=top_k)
        return self.engine.context(query, documents=found, language=_language(query)).text()

    def answer(self, query: str, top_k: int = 3) -> Answer:
        """The answer with its sources; a model that cannot be reached is named in its note."""
        return self.knowledge.answer(query, limit=top_k)

    def generate_answer(self, query: str, top_k: int = 3) -> str:
        """The answer in words, its sources below it, and what a reader must know, such as that no model was asked."""
        found = self.answer(query, top_k)
        lines = [found.text, *(f"[{number}] {one.citation}" for number, one in enumerate(found.sources, 1))]
        return "\n".join([*lines, found.note] if found.note else lines)

    def close(self) -> None:
        """Let go of the store."""
        self.engine.close()

    aadd_documents = asyncify(add_documents)
    asearch = asyncify(search)
    agenerate_answer = asyncify(generate_answer)


def _language(query: str) -> str:
    return "zh" if language_of(query) == "zh" else "en"


_HIGHEST = sum(max(curve.shares) for curve in DOCUMENT_WEIGHTS.curves.values())
"""What a passage would score that fits in every way."""


def _result(one: Found) -> dict[str, Any]:
    score = min(max(one.score / _HIGHEST, 0.0), 1.0)
    return {
        "document": one.text,
        "metadata": one.metadata,
        "distance": 1.0 - score,
        "score": score,
        "citation": str(one.citation),
        "why": one.why(language="zh"),
    }


__all__ = ["SimpleRAGSystem"]

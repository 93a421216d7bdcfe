"""Better retrieval, measured: which chunk size finds most, other words for a question, a second look at what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memwell.compat.guide.given_texts import add_texts
from memwell.errors import InvalidInput
from memwell.knowledge import Chunking, Knowledge
from memwell.knowledge.recall import FeatureReranker
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning import Tuned, tune
from memwell.models.local import LocalEmbedder
from memwell.models.ports import Embedder
from memwell.records import DEFAULT_SPACE
from memwell.storage import open_backend
from memwell.values import check_count, check_text, shown

CHUNK_SIZES = (100, 200, 500, 1000)
_OWN_SHARE, _FEATURE_SHARE = 0.7, 0.3
Groups = Mapping[str, Sequence[str]]


class RAGOptimizer:
    """Measures on your own text; nothing is assumed."""

    @staticmethod
    def optimize_chunk_size(
        text: str, chunk_sizes: Sequence[int] = CHUNK_SIZES, *, embedder: Embedder | None = None
    ) -> int:
        """The size in characters whose chunks answer most questions about the text; ``compare_chunk_sizes`` shows them all.

        Where the sizes differ by no more than chance, it is the one nearest to what is usual. Raises ``InvalidInput`` for
        no text and for sizes that are none.
        """
        sizes = _checked(chunk_sizes)
        best = RAGOptimizer.compare_chunk_sizes(text, sizes, embedder=embedder).best.tokens
        return min(sizes, key=lambda size: (abs(size - best), size))

    @staticmethod
    def compare_chunk_sizes(
        text: str, chunk_sizes: Sequence[int] = CHUNK_SIZES, *, embedder: Embedder | None = None
    ) -> Tuned:
        """All that was measured: ``table()`` for reading, ``plot(path)`` for looking."""
        if not check_text(text, "a text").strip():
            raise InvalidInput("there is no text to measure with")
        return tune(
            [text],
            embedder=embedder or LocalEmbedder(),
            sizes=_checked(chunk_sizes),
            length="characters",
            expand=(False,),
        )

    @staticmethod
    def improve_retrieval_accuracy(
        queries: Sequence[str],
        documents: Sequence[str],
        top_k: int = 5,
        *,
        synonyms: Groups | None = None,
        embedder: Embedder | None = None,
    ) -> dict[str, Any]:
        """Two functions to use, ``query_expansion(query)`` and ``reranking(query, results)``, and what they do to your
        queries: ``results`` has, for each, the documents found without and with them.

        ``synonyms`` adds to the table that comes along. Raises ``InvalidInput`` for queries or documents that are no lists.
        """
        table = Synonyms.bundled() if synonyms is None else Synonyms.bundled().extended(synonyms)
        asked = [check_text(query, "a query") for query in _listed(queries, "queries")]
        rerank = _reranking(FeatureReranker())
        with open_backend("memory:") as backend:
            knowledge = Knowledge(backend, DEFAULT_SPACE, embedder=embedder or LocalEmbedder(), synonyms=table)
            add_texts(knowledge, _listed(documents, "documents"), None)
            results = {
                query: _compared(knowledge, query, check_count(top_k, "top_k", least=1), rerank) for query in asked
            }
        return {"query_expansion": table.expand, "reranking": rerank, "results": results}


def _compared(knowledge: Knowledge, query: str, top_k: int, rerank: Callable[..., Any]) -> dict[str, list[str]]:
    plain = knowledge.recall(query, limit=top_k, expand=False)
    wider = [{"document": one.text, "score": one.score} for one in knowledge.recall(query, limit=2 * top_k)]
    return {
        "before": [one.text for one in plain],
        "after": [one["document"] for one in rerank(query, wider)[:top_k]],
    }


def _reranking(judge: FeatureReranker) -> Callable[[str, Sequence[Mapping[str, Any]]], list[dict[str, Any]]]:
    def rerank(query: str, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Results in a new order, each with a ``reranked_score``: most of it its own score, the rest what its words say."""
        features = judge.scores(query, [str(one["document"]) for one in results])
        top = max(features, default=0.0) or 1.0
        judged = [
            {**one, "reranked_score": _OWN_SHARE * float(one.get("score", 0.0)) + _FEATURE_SHARE * feature / top}
            for one, feature in zip(results, features, strict=True)
        ]
        return sorted(judged, key=lambda one: -one["reranked_score"])

    return rerank


def _checked(sizes: Sequence[int]) -> tuple[int, ...]:
    given = tuple(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
    if not given:
        raise InvalidInput(f"chunk_sizes must be a list of sizes, not {shown(sizes)}")
    return tuple(Chunking(tokens=size, overlap=0, least=0, length="characters").tokens for size in given)


def _listed(texts: Sequence[str], what: str) -> list[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be a list of texts, not {shown(texts)}")
    return list(texts)


__all__ = ["CHUNK_SIZES", "RAGOptimizer"]

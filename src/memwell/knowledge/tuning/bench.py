"""Where ways to cut and to ask are tried: the documents in a store of their own, asked every question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.errors import ModelError
from memwell.knowledge.chunking import Chunking
from memwell.knowledge.documents import Parsed
from memwell.knowledge.handle import Knowledge
from memwell.knowledge.reranking import FeatureReranker
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning.measuring import Outcome, figures, interval, outcome
from memwell.knowledge.tuning.questions import QuestionSet, SyntheticQuestion
from memwell.knowledge.tuning.results import Trial, Verdict
from memwell.models.checking import zero_rows
from memwell.models.ports import Embedder
from memwell.records import Space
from memwell.storage import open_backend
from memwell.tokens import default_counter

FIRST = 5
"""Among so many passages an answer is found, or not."""

_FEWEST = 10  # questions a half, below which no difference is believed
_MOST_RECALLED = 60
_MORE_THAN_FITS = 1.5  # passages recalled, over those that fill the budget on the average
_MOST_VECTORS = 50_000
_MADE_OF_SYNONYMS = "paraphrase"


class Way(NamedTuple):
    """How documents are cut and asked."""

    chunking: Chunking
    expand: bool
    rerank: bool


class Tried(NamedTuple):
    """A way, and how each question did, in the order of the questions."""

    way: Way
    chunks: int
    choosing: list[Outcome]
    held_out: list[Outcome]


class Bench:
    """Documents and the questions about them."""

    def __init__(
        self,
        documents: Sequence[Parsed],
        questions: QuestionSet,
        *,
        embedder: Embedder | None,
        synonyms: Synonyms | None,
        budget: int,
        seed: int,
    ) -> None:
        self._documents = documents
        self._questions = questions
        self._embedder = None if embedder is None else RememberingEmbedder(embedder)
        self._synonyms = synonyms
        self._budget = budget
        self._seed = seed
        self._sizes: dict[str, int] = {}

    def tried(self, way: Way) -> Tried:
        """Cut the documents and ask every question. Raises ``ModelError`` when the embedder fails."""
        with open_backend("memory:") as backend:
            knowledge = Knowledge(
                backend,
                Space("tuning"),
                embedder=self._embedder,
                reranker=FeatureReranker() if way.rerank else None,
                chunking=way.chunking,
                synonyms=self._synonyms,
            )
            for number, parsed in enumerate(self._documents):
                knowledge.add(parsed, id=str(number))
            chunks = knowledge.count().chunks
            limit = self._limit(chunks)
            asked = [self._asked(knowledge, one, way, limit) for one in self._all]
        if self._embedder is not None and self._embedder.failure is not None:
            # A store goes on without vectors then, but these figures would be another thing's.
            raise self._embedder.failure
        half = len(self._questions.choosing)
        return Tried(way, chunks, asked[:half], asked[half:])

    @cached_property
    def _all(self) -> tuple[SyntheticQuestion, ...]:
        return (*self._questions.choosing, *self._questions.held_out)

    @cached_property
    def _tokens(self) -> int:
        return sum(self._size(parsed.text) for parsed in self._documents)

    def _limit(self, chunks: int) -> int:
        """How many passages to recall, so that they fill the budget."""
        mean = max(1.0, self._tokens / chunks)
        return max(FIRST, min(_MOST_RECALLED, round(_MORE_THAN_FITS * self._budget / mean)))

    def _asked(self, knowledge: Knowledge, question: SyntheticQuestion, way: Way, limit: int) -> Outcome:
        passages = knowledge.recall(question.text, limit=limit, expand=way.expand)
        document = str(question.document)
        return outcome(question, passages, document=document, size=self._size, budget=self._budget, first=FIRST)

    def _size(self, text: str) -> int:
        size = self._sizes.get(text)
        if size is None:
            size = self._sizes[text] = default_counter().count(text)
        return size

    def trial(self, tried: Tried) -> Trial:
        """The figures of a way."""
        chosen = figures(tried.choosing, seed=self._seed)
        return Trial(
            *tried.way,
            recall=chosen.recall,
            mrr=chosen.mrr,
            budget_recall=chosen.budget_recall,
            score=chosen.score,
            chunks=tried.chunks,
            held_out=figures(tried.held_out, seed=self._seed),
        )

    def judged(self, tried: Sequence[Tried], usual: Tried, *, by_synonyms: bool = True) -> tuple[Tried, Verdict]:
        """The way to take: the best by the one half of the questions if the other half confirms it, else the usual one.

        Without ``by_synonyms`` the questions made from the table of synonyms have no say.
        """
        choosing = self._counted(self._questions.choosing, by_synonyms)
        held_out = self._counted(self._questions.held_out, by_synonyms)
        if min(choosing.sum(), held_out.sum()) < _FEWEST:
            return usual, Verdict("few")
        scores = [_scores(one.choosing)[choosing].mean() for one in tried]
        best = tried[int(np.argmax(scores))]
        if max(scores) <= _scores(usual.choosing)[choosing].mean():
            return usual, Verdict("default")
        gain = interval((_scores(best.held_out) - _scores(usual.held_out))[held_out], seed=self._seed)
        return (best, Verdict("better", *gain)) if gain.low > 0 else (usual, Verdict("noise", *gain))

    @staticmethod
    def _counted(questions: Sequence[SyntheticQuestion], by_synonyms: bool) -> NDArray[np.bool_]:
        return np.array([by_synonyms or one.kind != _MADE_OF_SYNONYMS for one in questions], np.bool_)


def _scores(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    return np.array([one.score for one in outcomes], np.float64)


class RememberingEmbedder(Embedder):
    """Another embedder, whose vectors are kept: a passage or question that comes again costs nothing."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.failure: ModelError | None = None
        """The last error of the embedder, if it failed."""

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self._vectors) > _MOST_VECTORS:
            # Dropping all of them at once is rare and needs no order.
            self._vectors.clear()
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._made(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts]) if texts else zero_rows([], self.dimensions)

    def _made(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            return self._inner.embed(texts)
        except ModelError as error:
            self.failure = error
            raise


__all__ = ["Bench", "FIRST", "RememberingEmbedder", "Tried", "Way"]

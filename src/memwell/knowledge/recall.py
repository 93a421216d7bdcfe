"""Recalling passages: a question goes in, the chunks that answer it best come out, each with its exact place.

Chunks are ranked as memories are, by weights of their own: what counts is the words, how many of the question's they are,
and the meaning; who said something and when counts for nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell._products import product
from memwell.errors import InvalidInput, ModelError
from memwell.filters import AllOf, Filter, Where
from memwell.knowledge.documents import Citation, Found, Parsed
from memwell.knowledge.shelf import Place, Shelf, own_part
from memwell.knowledge.synonyms import Synonyms
from memwell.longterm.query_vectors import MOST_TRIES, QueryVectors
from memwell.longterm.query_vectors import Asked as QueryVector
from memwell.longterm.traits import traits_of
from memwell.longterm.weights import Signal, Weights
from memwell.models.ports import Reranker
from memwell.records import Record

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load, and these bring it.
    import numpy as np
    from numpy.typing import NDArray

    from memwell.longterm.pools import HeldPool, Pools
    from memwell.longterm.question import Question

DOCUMENT_WEIGHTS = Weights.linear(
    {"words": 1.0, "coverage": 1.0, "rarest": 0.3, "dense": 0.6, "dense_best": 0.6},
    note="chosen by hand and measured on questions about English and Chinese documents",
)
"""How passages are weighed unless the caller says otherwise."""

SYNONYM_WEIGHT = 0.25
"""What a synonym of a word counts beside the word itself."""

_RERANKED = 4
"""A reranker sees this many times as many passages as are wanted."""
_DECISIVE = 3.0
"""The reranker's best stands above every other, whatever our scores say."""
_CANDIDATES = 200
_MOST_TERMS = 128
_FEW_DOCUMENTS = 32


class Asked(NamedTuple):
    """What to look for, and among which chunks."""

    query: str
    limit: int
    wanted: Filter | None
    documents: tuple[str, ...] | None
    expand: bool
    weights: Weights | None


class Search:
    """Finds the passages of one space."""

    def __init__(
        self, shelf: Shelf, *, pools: Pools | None, reranker: Reranker | None, synonyms: Synonyms | None
    ) -> None:
        self._shelf = shelf
        self._reranker = reranker
        self._synonyms = synonyms
        self._pools = pools
        self._query_vectors = QueryVectors(shelf.vectors.makers)
        self._told_of: str | None = None

    @property
    def synonyms(self) -> Synonyms:
        """The table of synonyms; read when first needed."""
        if self._synonyms is None:
            self._synonyms = Synonyms.bundled()
        return self._synonyms

    @property
    def pools(self) -> Pools:
        """Where chunks are held for ranking."""
        if self._pools is None:
            from memwell.longterm.pools import Pools  # noqa: PLC0415 - brings numpy, see above

            self._pools = Pools(self._shelf.backend.index)
        return self._pools

    def find(self, asked: Asked) -> list[Found]:
        """The passages that answer best, best first."""
        moment = self._shelf.clock()
        tries = 0
        while True:
            query = self._asked_now(asked.query) if tries < MOST_TRIES else QueryVector(None, None)
            question = self._question(asked, moment, query.vector)
            with self._held(asked, question) as held:
                if self._query_vectors.still(query, held.state):
                    return self._ranked(held, question, asked, moment)
            tries += 1

    @contextmanager
    def _held(self, asked: Asked, question: Question) -> Generator[HeldPool]:
        """The chunks among which to rank: all of the space, or the likeliest of very many."""
        space = self._shelf.space
        if not self.pools.suits(space):
            yield self._likeliest(asked, question)
            return
        with self.pools.of(space) as held:
            yield held

    def _question(self, asked: Asked, moment: datetime, vector: NDArray[np.float32] | None) -> Question:
        from memwell.longterm.question import Question, weighted_terms  # noqa: PLC0415 - brings numpy, see above

        question = Question.of(asked.query, now=moment.timestamp(), vector=vector)
        others = self.synonyms.terms(asked.query) if asked.expand else []
        if not others:
            return question
        known = dict(zip(question.terms, question.term_weights.tolist(), strict=True))
        for term, weight in weighted_terms(" ".join(others)).items():
            known.setdefault(term, SYNONYM_WEIGHT * weight)
        terms = tuple(known)[: max(_MOST_TERMS, len(question.terms))]
        weights = [known[term] for term in terms]
        return question._replace(terms=terms, term_weights=_floats(weights))

    def _asked_now(self, query: str) -> QueryVector:
        """The query's direction among the vectors that are there; whoever works is told when they are to be others."""
        asked, makers = self._query_vectors.of(query), self._shelf.vectors.makers
        if makers.chosen is not None and asked.model not in (None, makers.chosen.name, self._told_of):
            self._told_of = asked.model
            if makers.wants_others():
                self._shelf.tell()
        return asked

    def nearness(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near texts are to a query in meaning: cosines, 0 for each when nothing can be embedded."""
        asked = self._query_vectors.of(query)
        maker = self._shelf.vectors.makers.maker_of(asked.model)
        if asked.vector is None or maker is None or not texts:
            return [0.0] * len(texts)
        try:
            rows = maker.embed(texts)
        except ModelError:
            return [0.0] * len(texts)
        return [float(near) for near in product(rows, asked.vector)]

    def document(self, id_: str) -> Parsed:
        """A document as it was read. Raises ``NotFound`` when it is gone."""
        return self._shelf.parsed(self._shelf.required(id_))

    def _likeliest(self, asked: Asked, question: Question) -> HeldPool:
        """The likeliest chunks of a space too large to hold, found by the store's indexes."""
        from memwell.longterm.pools import HeldPool  # noqa: PLC0415 - brings numpy, see above

        index, space = self._shelf.backend.index, self._shelf.space
        wanted = _narrowed(asked)
        most = max(_CANDIDATES, asked.limit)
        hits = index.match(space, asked.query, limit=most, where=wanted)
        if question.vector is not None:
            # Another size: all vectors were made anew this moment. Whoever asked notices it, and asks again.
            with suppress(InvalidInput):
                hits += index.near(space, question.vector.tolist(), limit=most, where=wanted)
        return HeldPool.of(index.get(space, list(dict.fromkeys(hit.record.id for hit in hits))))

    def _ranked(self, held: HeldPool, question: Question, asked: Asked, moment: datetime) -> list[Found]:
        from memwell.longterm.ranking import rank  # noqa: PLC0415 - brings numpy, see above

        ranked = rank(
            held.pool,
            question,
            allowed=_allowed(held, asked, moment),
            limit=asked.limit * _RERANKED if self._reranker else asked.limit,
            weights=asked.weights or DOCUMENT_WEIGHTS,
        )
        hits = self._cited([(held.records[one.id], one.score, one.signals) for one in ranked], asked.query)
        if self._reranker is not None and hits:
            hits = self._reranked(self._reranker, asked.query, hits)
        return hits[: asked.limit]

    def _cited(self, ranked: Iterable[tuple[Record, float, dict[str, Signal]]], query: str) -> list[Found]:
        """Passages with their places. One whose document is gone by now is left out."""
        names: dict[str, tuple[str, str] | None] = {}
        found: list[Found] = []
        for record, score, signals in ranked:
            document: str = record.metadata["document"]
            if document not in names:
                manifest = self._shelf.manifest(document)
                names[document] = manifest and (manifest.document.source, manifest.document.title)
            named = names[document]
            if named is not None:
                found.append(_found(record, score, signals, named, query))
        return found

    @staticmethod
    def _reranked(reranker: Reranker, query: str, hits: Sequence[Found]) -> list[Found]:
        """In the order of the reranker's scores, scaled to the span of ours; when it fails, in the order they were."""
        try:
            scores = reranker.scores(query, ["\n".join((*hit.citation.headings, hit.text)) for hit in hits])
        except ModelError:
            return list(hits)
        low, high = min(scores), max(scores)
        top = max(abs(hit.score) for hit in hits) or 1.0
        judged: list[Found] = []
        for hit, score in zip(hits, scores, strict=True):
            share = _DECISIVE * top * (score - low) / ((high - low) or 1.0)
            signals = {**hit.signals, "reranker": Signal(score, share)}
            judged.append(replace(hit, score=hit.score + share, signals=signals))
        return sorted(judged, key=lambda hit: -hit.score)

    def rarities(self, terms: Iterable[str]) -> dict[str, float]:
        """How telling words are: near 0 for one that all chunks have, 1 for one that none has.

        A word that is nowhere counts most, so that a question about something else is seen to be one.
        """
        wanted = set(terms)
        if not self.pools.suits(self._shelf.space):
            return dict.fromkeys(wanted, 1.0)
        with self.pools.of(self._shelf.space) as held:
            postings, total = held.pool.postings, len(held.pool)
            return {term: _rarity(len(postings[term]) if term in postings else 0, total) for term in wanted}


def _rarity(size: int, total: int) -> float:
    return math.log1p((total - size + 0.5) / (size + 0.5)) / math.log1p((total + 0.5) / 0.5)


def _floats(numbers: Sequence[float]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - see above

    return np.array(numbers, np.float32)


def _narrowed(asked: Asked) -> Filter | None:
    """One filter for what the caller wants and the documents it names."""
    if asked.documents is None:
        return asked.wanted
    named = Where(("memwell", "session"), "in", list(asked.documents))
    return named if asked.wanted is None else AllOf((asked.wanted, named))


def _allowed(held: HeldPool, asked: Asked, moment: datetime) -> NDArray[np.bool_] | None:
    if asked.documents is None or not 0 < len(asked.documents) <= _FEW_DOCUMENTS:
        return held.allowed(_narrowed(asked), moment)
    # Equality is looked up in a column that is kept; a list of ids would be asked of every chunk the first time.
    flags = held.allowed(asked.wanted, moment)
    named: Any = None
    for document in asked.documents:
        one = held.allowed(Where(("memwell", "session"), "eq", document), moment)
        named = one if named is None else named | one
    return named if flags is None else flags & named


def _found(record: Record, score: float, signals: dict[str, Signal], named: tuple[str, str], query: str) -> Found:
    place = msgspec.convert(record.metadata["chunk"], Place)
    source, title = named
    citation = Citation(
        record.metadata["document"],
        source,
        title,
        place.start,
        place.end,
        place.page,
        place.last_page,
        place.headings,
    )
    own = own_part(record.metadata)
    return Found(record.id, record.text[place.lead :], score, citation, signals, own, query, traits_of(record).flags)


__all__ = ["Asked", "DOCUMENT_WEIGHTS", "SYNONYM_WEIGHT", "Search"]

"""Recall of passages: ranks the chunks of a space against a question, by words and by meaning, and cites each.

Chunks are ranked as memories are, with weights of their own: speaker and time count for nothing here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell.errors import ModelError
from memwell.filters import AllOf, Filter, Where
from memwell.knowledge.documents import Citation, Document, Found, Parsed
from memwell.knowledge.shelf import ChunkPlace, DocumentStore, Manifest, chunk_key, own_part
from memwell.knowledge.synonyms import Synonyms
from memwell.language.asking import QUESTION_WORDS_ZH
from memwell.language.segment import query_terms
from memwell.language.words import STOP_WORDS, check_string
from memwell.longterm.candidates import ParsedQuery, weighted_terms
from memwell.longterm.embedding import MOST_TRIES, QueryVector, QueryVectors
from memwell.longterm.ranking import rank
from memwell.longterm.recall import cosine, likeliest, reranked
from memwell.longterm.snapshot_cache import HeldSnapshot, Snapshots
from memwell.longterm.traits import traits_of
from memwell.longterm.weights import Signal, Weights
from memwell.models.ports import Reranker, given_texts
from memwell.records import Record

_MOST_TERMS = 64  # of a query that a reranker looks at
_HAN_OR_OTHER = re.compile("[\u3400-\u9fff]+|[^\u3400-\u9fff]+")
_SMALL_ZH = re.compile("关于|以及|[的了是在和与或及有]")
_PHRASE = 0.35  # What the longest phrase counts in reranking, where the words and the first place count 1


class FeatureReranker(Reranker):
    """Reranks texts without a model: by the words of the question in them, rare ones counting for more, by the longest
    phrase of the question, and by the order they come in.
    """

    @property
    def name(self) -> str:
        return "features"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number from 0 to 1 for every text, in order. Raises ``InvalidInput`` for arguments that are no texts."""
        asked = _asked(check_string(query, "a query"))
        read = [_terms(text) for text in given_texts(texts)]
        having = Counter(term for terms in read for term in set(terms).intersection(asked))
        telling = {term: math.log(1.0 + (len(read) + 1.0) / (having[term] + 0.5)) for term in asked}
        total = sum(telling.values()) or 1.0
        scores: list[float] = []
        for place, terms in enumerate(read):
            covered = sum(weight for term, weight in telling.items() if term in terms) / total
            phrase = _longest_phrase(asked, terms) / max(len(asked), 1)
            scores.append((covered + _PHRASE * phrase + 1.0 / (1 + place)) / (2.0 + _PHRASE))
        return scores


def _asked(query: str) -> list[str]:
    """The terms of a question in their order, without those that only ask; all of them where there are no others."""
    content = _SMALL_ZH.sub(" ", QUESTION_WORDS_ZH.sub(" ", query)).replace("’", "'")
    words = [word for word in content.split() if word.lower().strip("?!.,:;\"'()") not in STOP_WORDS["en"]]
    return (_terms(" ".join(words)) or _terms(query))[:_MOST_TERMS]


def _terms(text: str) -> list[str]:
    """The terms of a text in the order they are read, whatever its scripts."""
    return [term for run in _HAN_OR_OTHER.findall(text) for term in query_terms(run)]


def _longest_phrase(asked: Sequence[str], terms: Sequence[str]) -> int:
    """The most terms of the question that follow each other in the text as they do in the question."""
    longest = 0
    ending: dict[int, int] = {}  # the length of the phrase that ends at a place
    for term in asked:
        ending = {place: ending.get(place - 1, 0) + 1 for place, one in enumerate(terms) if one == term}
        longest = max(longest, *ending.values(), 0)
    return longest


DOCUMENT_WEIGHTS = Weights.linear(
    {"words": 1.0, "coverage": 1.0, "rarest": 0.3, "dense": 0.6, "dense_best": 0.6},
    note="chosen by hand and measured on questions about English and Chinese documents",
)
"""The default weights of passages."""

SYNONYM_WEIGHT = 0.25
"""What a synonym counts, where the word itself counts 1."""

_RERANKED = 4  # A reranker gets this many times the wanted number of passages
_CANDIDATES = 200
_MOST_QUERY_TERMS = 128
_FEW_DOCUMENTS = 32


class SearchRequest(NamedTuple):
    """A query, and the chunks to look among."""

    query: str
    limit: int
    wanted: Filter | None
    documents: tuple[str, ...] | None
    expand: bool
    weights: Weights | None


class Search:
    """Finds the passages of one space."""

    def __init__(
        self, shelf: DocumentStore, *, snapshots: Snapshots | None, reranker: Reranker | None, synonyms: Synonyms | None
    ) -> None:
        self._shelf = shelf
        self._reranker = reranker
        self._synonyms = synonyms
        self.snapshots = Snapshots(shelf.backend.index) if snapshots is None else snapshots
        self._query_vectors = QueryVectors(shelf.vectors.embedders)
        self._reported: str | None = None

    @property
    def synonyms(self) -> Synonyms:
        """The table of synonyms; read when first needed."""
        if self._synonyms is None:
            self._synonyms = Synonyms.bundled()
        return self._synonyms

    def find(self, asked: SearchRequest) -> list[Found]:
        """The passages that answer best, best first."""
        moment = self._shelf.clock()
        tries = 0
        while True:
            query = self._asked_now(asked.query) if tries < MOST_TRIES else QueryVector(None, None)
            question = self._question(asked, moment, query)
            with self._held(asked, query) as held:
                if self._query_vectors.still(query, held.state):
                    return self._ranked(held, question, asked, moment)
            tries += 1

    @contextmanager
    def _held(self, asked: SearchRequest, query: QueryVector) -> Generator[HeldSnapshot]:
        """The chunks to rank: all of the space, or the likeliest of very many."""
        space = self._shelf.space
        if not self.snapshots.suits(space, query.shared_from):
            yield self._likeliest(asked, query)
            return
        with self.snapshots.of(space) as held:
            yield held

    def _question(self, asked: SearchRequest, moment: datetime, query: QueryVector) -> ParsedQuery:
        question = ParsedQuery.of(
            asked.query, now=moment.timestamp(), vector=query.vector, shared_from=query.shared_from
        )
        others = self.synonyms.terms(asked.query) if asked.expand else []
        if not others:
            return question
        known = dict(zip(question.terms, question.term_weights.tolist(), strict=True))
        for term, weight in weighted_terms(" ".join(others)).items():
            known.setdefault(term, SYNONYM_WEIGHT * weight)
        terms = tuple(known)[: max(_MOST_QUERY_TERMS, len(question.terms))]
        weights = [known[term] for term in terms]
        return question._replace(terms=terms, term_weights=np.array(weights, np.float32))

    def _asked_now(self, query: str) -> QueryVector:
        """Embed the query with the model that the stored vectors were made with; schedule re-embedding when that is no
        longer the configured one."""
        asked, embedders = self._query_vectors.of(query), self._shelf.vectors.embedders
        if embedders.chosen is not None and asked.model not in (None, embedders.chosen.name, self._reported):
            self._reported = asked.model
            if embedders.needs_reembedding():
                self._shelf.notify()
        return asked

    def embedder_of(self, query: str) -> str | None:
        """The name of the embedder that a query is compared by; None without one."""
        asked = self._query_vectors.of(query)
        # Without a document there is no stored model yet.
        embedder = self._shelf.vectors.embedders.embedder_for(asked.model)
        return None if asked.vector is None or embedder is None else embedder.name

    def nearness(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosines of texts with a query; 0 for each without an embedder."""
        asked = self._query_vectors.of(query)
        embedder = self._shelf.vectors.embedders.embedder_for(asked.model)
        if asked.vector is None or embedder is None or not texts:
            return [0.0] * len(texts)
        try:
            rows = embedder.embed(texts)
        except ModelError:
            return [0.0] * len(texts)
        return [cosine(asked, row) for row in rows]

    def document(self, id_: str) -> Parsed:
        """A document as it was read. Raises ``NotFound``."""
        return self._shelf.parsed(self._shelf.required(id_))

    def _likeliest(self, asked: SearchRequest, query: QueryVector) -> HeldSnapshot:
        """The likeliest chunks of a space too large to hold, found by the store's indexes."""
        index, space = self._shelf.backend.index, self._shelf.space
        most = max(_CANDIDATES, asked.limit)
        by_vector = [query] if self.snapshots.has_vectors_compared(space) else []
        return HeldSnapshot.of(likeliest(index, space, asked.query, by_vector, _narrowed(asked), most))

    def _ranked(self, held: HeldSnapshot, question: ParsedQuery, asked: SearchRequest, moment: datetime) -> list[Found]:
        ranked = rank(
            held.snapshot,
            question,
            allowed=_allowed(held, asked, moment),
            limit=asked.limit * _RERANKED if self._reranker else asked.limit,
            weights=asked.weights or DOCUMENT_WEIGHTS,
        )
        chunks = held.memories([one.id for one in ranked])
        found = [(chunks[one.id][0], one.score, one.signals) for one in ranked if one.id in chunks]
        hits = self._cited(found, asked.query)
        if self._reranker is not None:
            texts = ["\n".join((*hit.citation.headings, hit.text)) for hit in hits]
            hits = reranked(self._reranker, asked.query, hits, texts)
        return hits[: asked.limit]

    def _cited(self, ranked: Iterable[tuple[Record, float, dict[str, Signal]]], query: str) -> list[Found]:
        """Passages with their citations, without those whose document is gone."""
        manifests: dict[str, Manifest | None] = {}
        found: list[Found] = []
        for record, score, signals in ranked:
            id_: str = record.metadata["document"]
            if id_ not in manifests:
                manifests[id_] = self._shelf.manifest(id_)
            manifest = manifests[id_]
            # Chunks of another version are those of a document that is being replaced.
            if manifest is not None and record.id.startswith(chunk_key(manifest)):
                found.append(_found(record, score, signals, manifest.document, query))
        return found

    def rarities(self, terms: Iterable[str]) -> dict[str, float]:
        """The rarity of terms: near 0 for one in all chunks, 1 for one in none, so that foreign questions are noticed."""
        wanted = set(terms)
        if not self.snapshots.suits(self._shelf.space):
            return dict.fromkeys(wanted, 1.0)
        with self.snapshots.of(self._shelf.space) as held:
            postings, total = held.snapshot.postings, len(held.snapshot)
            return {term: _rarity(len(postings[term]) if term in postings else 0, total) for term in wanted}


def _rarity(size: int, total: int) -> float:
    return math.log1p((total - size + 0.5) / (size + 0.5)) / math.log1p((total + 0.5) / 0.5)


def _narrowed(asked: SearchRequest) -> Filter | None:
    """One filter for the wanted metadata and the named documents."""
    if asked.documents is None:
        return asked.wanted
    named = Where(("memwell", "session"), "in", list(asked.documents))
    return named if asked.wanted is None else AllOf((asked.wanted, named))


def _allowed(held: HeldSnapshot, asked: SearchRequest, moment: datetime) -> NDArray[np.bool_] | None:
    if asked.documents is None or not 0 < len(asked.documents) <= _FEW_DOCUMENTS:
        return held.allowed(_narrowed(asked), moment)
    # A column answers equality; a list of ids would be compared with every chunk the first time.
    flags = held.allowed(asked.wanted, moment)
    named: Any = None
    for document in asked.documents:
        one = held.allowed(Where(("memwell", "session"), "eq", document), moment)
        named = one if named is None else named | one
    return named if flags is None else flags & named


def _found(record: Record, score: float, signals: dict[str, Signal], document: Document, query: str) -> Found:
    place = msgspec.convert(record.metadata["chunk"], ChunkPlace)
    pages = place.page, place.last_page
    citation = Citation(document.id, document.source, document.title, place.start, place.end, *pages, place.headings)
    own = own_part(record.metadata)
    return Found(record.id, record.text[place.lead :], score, citation, signals, own, query, traits_of(record).flags)

"""Recalling passages: a question goes in, the chunks that answer it best come out, each with its exact place.

Chunks are ranked as memories are, by weights of their own: what counts is the words, how many of the question's they are,
and the meaning; who said something and when counts for nothing here.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from math import isfinite, log
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell._products import product
from memwell.errors import InvalidInput, ModelError
from memwell.filters import AllOf, Filter, Where
from memwell.knowledge.documents import Citation, Found, Parsed
from memwell.knowledge.shelf import Place, Shelf, own_part
from memwell.knowledge.synonyms import Synonyms
from memwell.language.segment import query_terms
from memwell.language.words import STOP_WORDS, check_string
from memwell.longterm.embedding import MOST_TRIES, QueryVectors
from memwell.longterm.embedding import Asked as QueryVector
from memwell.longterm.traits import traits_of
from memwell.longterm.weights import Signal, Weights
from memwell.models.ports import Reranker, given_texts
from memwell.records import Record
from memwell.values import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memwell.longterm.candidates import Question
    from memwell.longterm.snapshot_cache import HeldPool, Pools


# A second look at the passages that were found, by what can be read off their words; no model is asked.


WEIGHTS: Mapping[str, float] = {"coverage": 1.0, "phrase": 0.35, "proximity": 0.25, "heading": 0.3, "order": 1.0}
"""How much each feature counts. ``order`` is for the place a text was given at: the first look is not thrown away."""

_MOST_TERMS = 64  # of a query: what is longer is a text, and its first words say what it is about
_ANCHORS = 24  # places around which the words are looked for
_LONGEST_HEADING = 100  # characters
_MOST_HEADINGS = 4  # lines
_RUNS = re.compile(
    "[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+|[^\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+"
)
_HEADING_MARKS = "#*= \t"
_SENTENCE_ENDS = tuple(".。!！?？;；,，")
# Words that ask, and the commonest small ones; the longest first, so that 是什么 goes before 什么.
_CHINESE_SMALL = re.compile(
    "是什么|为什么|什么时候|有没有|是不是|怎么样|多少|什么|怎么|怎样|如何|哪些|哪个|哪里|哪儿|请问|关于|可以|以及|[的了是吗呢吧在和与或及有谁几]"
)


class Features(NamedTuple):
    """What a text has of a question, each from 0 to 1."""

    coverage: float
    """How much of the question's words, the rare ones counting for more."""
    phrase: float
    """The longest stretch of the question that stands in the text as it is."""
    proximity: float
    """How closely the words stand together."""
    heading: float
    """How much of the question's words its heading has."""


class FeatureReranker(Reranker):
    """Scores texts by the question's words in them, and by the order they come in, the best of the first look first.

    ``weights`` overrides some of ``WEIGHTS``; with ``order=0`` the order has no say. Raises ``InvalidInput`` for a feature
    that there is not and a weight that is no finite number of at least 0.
    """

    def __init__(self, **weights: float) -> None:
        self._weights = {**WEIGHTS, **{name: _checked(name, weight) for name, weight in weights.items()}}

    @property
    def name(self) -> str:
        return "features"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for every text, in order; the higher the better. Raises ``InvalidInput`` for what is no text."""
        weights = self._weights
        total = sum(weights.values()) or 1.0
        scores: list[float] = []
        for place, features in enumerate(self.features(query, texts)):
            found = sum(weights[name] * value for name, value in features._asdict().items())
            scores.append((found + weights["order"] / (1 + place)) / total)
        return scores

    def features(self, query: str, texts: Sequence[str]) -> list[Features]:
        """The features of every text, in order, for whoever weighs them otherwise."""
        asked = _asked(check_string(query, "a query"))
        read = [_terms(text) for text in given_texts(texts)]
        telling = _telling(asked, read)
        return [_features(asked, telling, text, terms) for text, terms in zip(texts, read, strict=True)]


def _checked(name: str, weight: object) -> float:
    if name not in WEIGHTS:
        raise InvalidInput(f"there is no feature {name!r}; there are {', '.join(WEIGHTS)}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
        raise InvalidInput(f"the weight of {name!r} must be a finite number of at least 0, not {shown(weight)}")
    return float(weight)


def _asked(query: str) -> list[str]:
    """The words of a question in their order, without those that only ask."""
    query = _CHINESE_SMALL.sub(" ", query)
    words = [
        word for word in query.replace("’", "'").split() if word.lower().strip("?!.,:;\"'()") not in STOP_WORDS["en"]
    ]
    # A question of nothing but small words is still a question.
    return (_terms(" ".join(words)) or _terms(query))[:_MOST_TERMS]


def _terms(text: str) -> list[str]:
    """The terms of a text in the order they are read: the parts of each script on their own keep their places."""
    return [term for run in _RUNS.findall(text) for term in query_terms(run)]


def _telling(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """How much each word of the question tells: more, the fewer of the texts have it."""
    having = Counter(term for terms in texts for term in set(terms).intersection(asked))
    return {term: log(1.0 + (len(texts) + 1.0) / (having[term] + 0.5)) for term in asked}


def _features(asked: Sequence[str], telling: Mapping[str, float], text: str, terms: Sequence[str]) -> Features:
    places = _places(telling, terms)
    if not places:
        return Features(0.0, 0.0, 0.0, 0.0)
    return Features(
        coverage=_share(telling, places),
        phrase=_longest_run(asked, places) / len(asked),
        proximity=_proximity(places, len(telling)),
        heading=_share(telling, set(_terms(_heading(text)))),
    )


def _share(telling: Mapping[str, float], held: Mapping[str, object] | set[str]) -> float:
    return sum(weight for term, weight in telling.items() if term in held) / (sum(telling.values()) or 1.0)


def _places(telling: Mapping[str, float], terms: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if term in telling:
            places.setdefault(term, []).append(place)
    return places


def _longest_run(asked: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    """The most words of the question that stand in the text one after the other, as they do in the question."""
    longest = 0
    ending: dict[int, int] = {}  # how long the run is that ends at a place
    for term in asked:
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(term, ())}
        longest = max(longest, max(ending.values(), default=0))
    return longest


def _proximity(places: Mapping[str, Sequence[int]], wanted: int) -> float:
    """The share of the words that the text has, over how far around one of them the nearest of each are spread."""
    if wanted == 1:
        return 1.0
    # Around the rarest words first: a common one in a long text stands everywhere.
    anchors = [place for rare_first in sorted(places.values(), key=len) for place in rare_first[:_ANCHORS]][:_ANCHORS]
    spread = min(sum(_away(anchor, others) for others in places.values()) for anchor in anchors)
    others = len(places) - 1
    # On both sides of a word the nearest are 1, 1, 2, 2, 3… away, which is as near as they can be.
    nearest = (others + 1) ** 2 // 4
    return len(places) / wanted * nearest / max(spread, nearest) if others else 0.0


def _away(anchor: int, places: Sequence[int]) -> int:
    at = bisect_left(places, anchor)
    return min(abs(anchor - place) for place in places[max(0, at - 1) : at + 1])


def _heading(text: str) -> str:
    """The lines at its beginning that are no sentences."""
    lines: list[str] = []
    for line in text[: _LONGEST_HEADING * _MOST_HEADINGS * 2].strip().split("\n")[:_MOST_HEADINGS]:
        plain = line.strip(_HEADING_MARKS)
        if not plain or len(plain) > _LONGEST_HEADING or plain.endswith(_SENTENCE_ENDS):
            break
        lines.append(plain)
    # A text of one line is all text.
    return "\n".join(lines) if "\n" in text.strip() else ""


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
_MOST_QUERY_TERMS = 128
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
            from memwell.longterm.snapshot_cache import Pools  # noqa: PLC0415 - brings numpy, see above

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
        from memwell.longterm.candidates import Question, weighted_terms  # noqa: PLC0415 - brings numpy, see above

        question = Question.of(asked.query, now=moment.timestamp(), vector=vector)
        others = self.synonyms.terms(asked.query) if asked.expand else []
        if not others:
            return question
        known = dict(zip(question.terms, question.term_weights.tolist(), strict=True))
        for term, weight in weighted_terms(" ".join(others)).items():
            known.setdefault(term, SYNONYM_WEIGHT * weight)
        terms = tuple(known)[: max(_MOST_QUERY_TERMS, len(question.terms))]
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
        from memwell.longterm.snapshot_cache import HeldPool  # noqa: PLC0415 - brings numpy, see above

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

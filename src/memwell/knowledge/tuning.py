"""Tuning: measures which chunk size and which way of searching find most in the user's own documents.

Questions are made from the documents by rule. Half of them choose among the trials, the other half checks the choice: a
setting is advised only if it is better there by more than chance. Otherwise the setting in use is kept.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import InvalidInput, ModelError
from memwell.knowledge.chunking import LEAST_TOKENS, Chunking, heading_words, plain
from memwell.knowledge.documents import Block, Found, Parsed
from memwell.knowledge.handle import Knowledge
from memwell.knowledge.recall import FeatureReranker
from memwell.language.keywords import keywords
from memwell.language.segment import query_terms
from memwell.language.sentences import sentences
from memwell.language.words import by_language, han_share, language_code, terminal_width
from memwell.models.checking import zero_rows
from memwell.models.ports import Embedder
from memwell.plotting import figure, save
from memwell.records import Space
from memwell.storage import open_backend
from memwell.tokens import default_counter
from memwell.values import check_count, check_text, shown

BUDGET = 1_000
"""Tokens of passages that go into a prompt."""
FIRST = 5
"""An answer is found when it is in this many first passages."""
SHARES = (0.125, 0.25, 0.5, 1.0)
"""The parts of the budget in which answers are looked for."""
OUTCOMES = ("better", "default", "noise", "few")
"""A verdict: another setting is better; none is; the difference may be chance; there are too few questions to tell."""
MOST_CHARACTERS = 200_000
"""Larger collections are measured on a part of their text: each trial embeds it again, which takes minutes."""

_LARGEST = 8_192
_LEAST_SECTION = 32
_FEWEST_QUESTIONS = 10  # in each half
_MOST_RECALLED = 60
_RESAMPLES = 2_000
_ENOUGH = 0.5  # share of an answer that counts as having found it
_USUAL_SEARCH = (True, False)  # with synonyms, without reranking: the defaults of Knowledge

Progress: TypeAlias = Callable[[int, int | None], None]
Span: TypeAlias = tuple[int, int]
Scores: TypeAlias = NDArray[np.float64]


def tune(
    texts: Sequence[Parsed | str] | Knowledge,
    *,
    embedder: Embedder | None,
    sizes: Sequence[int] = (64, 128, 256, 512),
    overlaps: Sequence[float] = (0.0, 0.15),
    questions: int = 100,
    seed: int = 0,
    expand: Sequence[bool] = (False, True),
    rerank: Sequence[bool] = (False, True),
    length: str = "tokens",
    progress: Progress | None = None,
) -> Tuned:
    """Measure chunk sizes and ways of searching on documents; stored data is not changed.

    Every size is tried with every overlap (a share of the size), next to the chunking in use: that of a given
    ``Knowledge``, else the default. Then synonyms and reranking are tried with the best chunking. ``progress`` is called
    with the number of finished trials and their total. ``length`` is the unit of sizes, ``tokens`` or ``characters``, for
    texts outside a ``Knowledge``; in characters the middle size counts as the one in use. The same documents and seed give
    the same result. Raises ``InvalidInput`` for no documents and for sizes, overlaps or counts out of range, and
    ``ModelError`` when the embedder fails.
    """
    in_use = texts.chunking if isinstance(texts, Knowledge) else _usual(length, sizes, overlaps)
    cuts, searches = _cuts(in_use, sizes, overlaps), _searches(expand, rerank)
    documents = _documents(texts)
    part = sample(documents, MOST_CHARACTERS, seed=seed)
    asked = make_questions(part, questions, seed=seed)
    bench = Bench(part, asked, embedder=embedder, seed=seed)
    if not asked.choosing or not asked.held_out:
        cuts, searches = cuts[:0], searches[:1]
    tuned = _tuned(bench, in_use, cuts, searches, progress)
    share = _length(part) / _length(documents)
    return replace(tuned, questions=len(asked), held_out=len(asked.held_out), share=share)


def _tuned(
    bench: Bench,
    in_use: Chunking,
    cuts: Sequence[Chunking],
    searches: Sequence[tuple[bool, bool]],
    progress: Progress | None,
) -> Tuned:
    """Run the trials: first every chunking, then every way of searching with the best chunking."""
    total = len(cuts) + len(searches) - 1
    done: list[Tried] = []

    def tried(way: Way) -> Tried:
        report()
        done.append(bench.tried(way))
        return done[-1]

    def report() -> None:
        if progress is not None:
            progress(len(done), total)

    chunking, (expand, rerank), few = in_use, searches[0], Verdict("few")
    cutting = searching = few
    if cuts:
        usual, *others = [tried(Way(cut, expand, rerank)) for cut in cuts]
        best, cutting = bench.judged([usual, *others], usual)
        chunking = best.way.chunking
        ways = [best, *(tried(Way(chunking, *search)) for search in searches[1:])]
        way, searching = bench.judged(ways, best)
        expand, rerank = way.way.expand, way.way.rerank
    report()
    return Tuned(
        best=chunking,
        expand=expand,
        rerank=rerank,
        trials=tuple(map(bench.trial, done)),
        in_use=in_use,
        cutting=cutting,
        asking=searching,
    )


def _documents(texts: Sequence[Parsed | str] | Knowledge) -> list[Parsed]:
    if isinstance(texts, Knowledge):
        given: Iterable[object] = [texts.parsed(document.id) for document in texts.documents()]
    else:
        given = [texts] if isinstance(texts, str | Parsed) else cast("Iterable[object]", texts)
    read = [one if isinstance(one, Parsed) else plain(check_text(one, "a document's text")) for one in given]
    documents = [one for one in read if one.text.strip()]
    if not documents:
        raise InvalidInput("there are no documents with any text to tune on")
    return documents


def _usual(length: str, sizes: Sequence[int], overlaps: Sequence[float]) -> Chunking:
    """The chunking in use outside a ``Knowledge``: the default, or the middle size when sizes count characters."""
    if length == "tokens":
        return Chunking()
    cuts = _cuts(Chunking(length=length), sizes, overlaps)[1:]
    return sorted(cuts, key=lambda cut: cut.tokens)[len(cuts) // 2] if cuts else Chunking(length=length)


def _cuts(in_use: Chunking, sizes: Sequence[int], overlaps: Sequence[float]) -> list[Chunking]:
    """The chunking in use, then every size with every overlap."""
    cuts = [in_use]
    for size in sizes:
        if check_count(size, "a size", least=LEAST_TOKENS) > _LARGEST:
            raise InvalidInput(f"a size must be at most {_LARGEST} tokens, not {shown(size)}")
        shares = [_checked_share(share) for share in overlaps]
        cuts += [Chunking(size, round(size * share), min(_LEAST_SECTION, size // 2), in_use.length) for share in shares]
    return list(dict.fromkeys(cuts))


def _checked_share(share: object) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not isfinite(share) or not 0 <= share <= 0.5:
        raise InvalidInput(f"an overlap is a share of the size from 0 to 0.5, not {shown(share)}")
    return float(share)


def _searches(expand: Sequence[bool], rerank: Sequence[bool]) -> list[tuple[bool, bool]]:
    """With and without synonyms and reranking; the usual way of searching first, if it is among them."""
    for name, values in (("expand", expand), ("rerank", rerank)):
        if not values or not all(isinstance(value, bool) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name} must be a list of what to try, such as (False, True), not {shown(values)}")
    ways = dict.fromkeys((one, other) for one in expand for other in rerank)
    return sorted(ways, key=lambda way: (way[0] != _USUAL_SEARCH[0], way[1] != _USUAL_SEARCH[1]))


# Questions made from documents: keywords of a sentence or a passage, each with the span that answers it. They compare
# chunkings; they are not what people ask.

_REGION = (400, 2_500)  # characters of a region; a Chinese character counts as three
_REGIONS = 40  # at least this many regions, where the text is long enough for even halves
_SENTENCE = (30, 420)
_PASSAGE = (320, 2_000)
_FEWEST_SENTENCES = 3  # of a passage
_MARKS = re.compile(r"[(){}\[\]=<>_|\\/\"`]")
_MOST_MARKS = 0.06  # a text with a larger share of such characters is code
_MOST_ALIKE = 2  # places that may have all words of a question


class SyntheticQuestion(msgspec.Struct, frozen=True):
    """A question, and the span of its answer: ``start`` to ``end`` in the text of the document of that number."""

    text: str
    document: int
    start: int
    end: int


class QuestionSet(msgspec.Struct, frozen=True):
    """Questions to choose by, and questions about other places to check the choice by."""

    choosing: tuple[SyntheticQuestion, ...]
    held_out: tuple[SyntheticQuestion, ...]

    def __len__(self) -> int:
        return len(self.choosing) + len(self.held_out)


class _Place(NamedTuple):
    """A sentence, or with ``whole`` a passage, that a question may be about."""

    document: int
    start: int
    end: int
    text: str
    heading: str
    whole: bool


def make_questions(documents: Sequence[Parsed], count: int = 100, *, seed: int = 0) -> QuestionSet:
    """At most ``count`` questions about documents, half of them held out. Raises ``InvalidInput`` for a count below 2."""
    check_count(count, "questions", least=2)
    regions = _regions(documents)
    maker = _Maker(regions, random.Random(seed))
    maker.chance.shuffle(regions)
    choosing = maker.questions(regions[::2], count - count // 2)
    return QuestionSet(tuple(choosing), tuple(maker.questions(regions[1::2], count // 2)))


def length_of(text: str) -> int:
    """The length of a text as if it were English: a Chinese character counts as three."""
    return len(text) if text.isascii() else round(len(text) * (1 + 2 * han_share(text)))


def _length(documents: Iterable[Parsed]) -> int:
    return sum(length_of(one.text) for one in documents)


def sample(documents: Sequence[Parsed], most: int, *, seed: int = 0) -> list[Parsed]:
    """All documents, or some of about ``most`` characters together, the last of them in part."""
    chance = random.Random(seed)
    order = list(range(len(documents)))
    if _length(documents) > most:
        chance.shuffle(order)
    taken: dict[int, Parsed] = {}
    for number in order:
        parsed, size = documents[number], length_of(documents[number].text)
        taken[number] = parsed if size <= most else _stretch(parsed, max(1, len(parsed.text) * most // size), chance)
        most -= size
        if most <= 0:
            break
    return [taken[number] for number in sorted(taken)]


def _stretch(parsed: Parsed, most: int, chance: random.Random) -> Parsed:
    """Consecutive blocks of about ``most`` characters from anywhere in a document."""
    blocks = parsed.blocks
    fitting = [at for at, block in enumerate(blocks) if block.start <= max(0, len(parsed.text) - most)]
    if not fitting:
        return parsed
    first = chance.choice(fitting)
    start = blocks[first].start
    kept = [block for block in blocks[first:] if block.end - start <= most] or [blocks[first]]
    moved = tuple(replace(block, start=block.start - start, end=block.end - start) for block in kept)
    return replace(parsed, text=parsed.text[start : kept[-1].end], blocks=moved)


def _regions(documents: Sequence[Parsed]) -> list[list[_Place]]:
    """Places to ask about in stretches of the documents: the halves of the questions share no stretch."""
    most = max(_REGION[0], min(_REGION[1], _length(documents) // _REGIONS))
    regions: list[list[_Place]] = []
    for number, parsed in enumerate(documents):
        size, heading = 0, None
        for places in _pieces(number, parsed):
            added = length_of(parsed.text[places[0].start : places[-1].end])
            if heading != places[0].heading or size + added > most:
                regions.append([])
                size, heading = 0, places[0].heading
            regions[-1] += places
            size += added
    return regions


def _pieces(number: int, parsed: Parsed) -> Iterator[list[_Place]]:
    """The places of a document that belong in one region: a passage with its sentences, or one sentence."""
    heading, blocks = "", list(reversed(parsed.blocks))
    while blocks:
        block = blocks.pop()
        if block.kind == "heading":
            heading = heading_words(parsed.text[block.start : block.end])
        if block.kind not in ("paragraph", "list", "row"):
            continue
        last, announces = block, parsed.text[: block.end].rstrip().endswith((":", "："))
        while announces and blocks and blocks[-1].kind == "list":
            last = blocks.pop()
        singles = list(_sentences(number, parsed, heading, block, last.end))
        text = parsed.text[block.start : last.end]
        # The items of a list alone may have nothing to do with one another.
        passage = block.kind == "paragraph" and len(sentences(text)) >= _FEWEST_SENTENCES
        if passage and _is_askable(text, _PASSAGE):
            yield [_Place(number, block.start, last.end, text, heading, True), *singles]
        else:
            yield from ([one] for one in singles)


def _sentences(number: int, parsed: Parsed, heading: str, block: Block, end: int) -> Iterator[_Place]:
    text = parsed.text[block.start : end]
    spans = [(0, len(text))] if block.kind == "row" else [(one.start, one.end) for one in sentences(text)]
    for start, stop in spans:
        if _is_askable(text[start:stop], _SENTENCE):
            yield _Place(number, block.start + start, block.start + stop, text[start:stop], heading, False)


def _is_askable(text: str, limits: tuple[int, int]) -> bool:
    return limits[0] <= length_of(text) <= limits[1] and len(_MARKS.findall(text)) <= _MOST_MARKS * len(text)


class _Word(NamedTuple):
    """A content word as written, where it stands, and one over the number of places that have its rarest term."""

    written: str
    at: int
    telling: float


class _Terms:
    """Which of some places have a term."""

    def __init__(self, places: Iterable[_Place]) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, place in enumerate(places):
            for term in set(query_terms(place.text)):
                self._places[term].append(number)

    def words(self, text: str) -> list[_Word]:
        """The content words of a text that do not overlap, the most telling first."""
        found: list[_Word] = []
        for keyword in keywords(text, limit=12 if len(text) <= _SENTENCE[1] else 60):
            at = text.lower().find(keyword.word.lower())
            if at >= 0 and not any(one.at < at + len(keyword.word) and at < one.at + len(one.written) for one in found):
                counts = (len(self._places.get(term, ())) or 1 for term in query_terms(keyword.word))
                found.append(_Word(text[at : at + len(keyword.word)], at, 1.0 / min(counts, default=1)))
        return sorted(found, key=lambda word: (-word.telling, word.at))

    def point_to_one(self, words: str) -> bool:
        """Whether hardly more than one place has all the words: other questions measure nothing."""
        rows = sorted((self._places.get(term, []) for term in query_terms(words)), key=len)
        return bool(rows) and 1 <= len(set(rows[0]).intersection(*rows[1:])) <= _MOST_ALIKE


class _Maker:
    """Makes questions about places; it knows how common every term is in all of them."""

    def __init__(self, regions: Sequence[Sequence[_Place]], chance: random.Random) -> None:
        self.chance = chance
        places = [place for region in regions for place in region]
        self._sentences = _Terms(place for place in places if not place.whole)
        self._passages = _Terms(place for place in places if place.whole)
        self._asked: set[str] = set()

    def questions(self, regions: Sequence[Sequence[_Place]], count: int) -> list[SyntheticQuestion]:
        """Up to ``count`` questions, one from each region in turn."""
        waiting = [self._from_region(region) for region in regions]
        made: list[SyntheticQuestion] = []
        while waiting and len(made) < count:
            row = [(region, next(region, None)) for region in waiting]
            made += [question for _, question in row if question is not None]
            waiting = [region for region, question in row if question is not None]
        return made[:count]

    def _from_region(self, region: Sequence[_Place]) -> Iterator[SyntheticQuestion]:
        left = [[place for place in region if place.whole is whole] for whole in (False, True)]
        for places in left:
            self.chance.shuffle(places)
        while any(left):
            # Where there are passages, every other question is about one.
            whole = bool(left[True]) and (not left[False] or self.chance.random() < 0.5)
            if question := self._about(left[whole].pop()):
                yield question

    def _about(self, place: _Place) -> SyntheticQuestion | None:
        text = self._passage(place) if place.whole else self._keywords(place)
        if not text or text in self._asked:
            return None
        self._asked.add(text)
        return SyntheticQuestion(text, place.document, place.start, place.end)

    def _keywords(self, place: _Place) -> str:
        """Some words of a sentence, as typed into a search box."""
        words = self._sentences.words(place.text)
        # More words where three say too little.
        for count in range(min(3, len(words)), min(5, len(words)) + 1):
            some = sorted(self.chance.sample(words, count), key=lambda word: word.at)
            asked = " ".join(word.written for word in some)
            if count >= 2 and self._sentences.point_to_one(asked):
                return asked
        return ""

    def _passage(self, place: _Place) -> str:
        """The heading and a word from each half of a passage: only the whole passage answers that."""
        words, middle = self._passages.words(place.text), len(place.text) // 2
        halves = [[word for word in words if (word.at < middle) is first] for first in (True, False)]
        if not all(halves):
            return ""
        telling = [half[0].written for half in halves if half[0].written not in place.heading]
        asked = [part for part in (place.heading, *telling) if part]
        return " ".join(asked) if len(asked) >= 2 and self._passages.point_to_one(" ".join(telling)) else ""


# Trials: the documents in a store of their own, asked every question.


class QuestionScore(NamedTuple):
    """How well one question found its answer."""

    found: float
    """1 when the first passages hold at least half of the answer, else 0."""
    score: float
    """The share of the answer in the first tokens: mean over the whole budget, a half, a quarter and an eighth of it."""


class TrialFigures(msgspec.Struct, frozen=True):
    """Means over questions. ``low`` to ``high`` is the 95 % interval of the score."""

    recall: float = 0.0
    score: float = 0.0
    low: float = 0.0
    high: float = 0.0
    questions: int = 0


class Way(NamedTuple):
    """How documents are cut and searched."""

    chunking: Chunking
    expand: bool
    rerank: bool


class Tried(NamedTuple):
    """A way, and the outcome of each question in order."""

    way: Way
    chunks: int
    choosing: list[QuestionScore]
    held_out: list[QuestionScore]


class Trial(msgspec.Struct, frozen=True):
    """The figures of one way, on the questions to choose by and on those held out."""

    chunking: Chunking
    expand: bool
    rerank: bool
    chunks: int
    choosing: TrialFigures
    held_out: TrialFigures


class Verdict(msgspec.Struct, frozen=True):
    """One of ``OUTCOMES``, and by how much the best other way differed on the held-out questions, with 95 %."""

    outcome: str
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0


def outcome(
    answer: Span, passages: Sequence[Found], *, document: str, size: Callable[[str], int], budget: int
) -> QuestionScore:
    """Judge recalled passages, best first, for an answer at this span of the document of that id."""
    spans = [(one.citation.start, one.citation.end) if one.citation.document == document else None for one in passages]
    sizes = [size(one.text) for one in passages]
    within = [_covered(answer, _fitting(spans, sizes, round(share * budget))) for share in SHARES]
    found = _covered(answer, [span for span in spans[:FIRST] if span]) >= _ENOUGH
    return QuestionScore(float(found), sum(within) / len(within))


def _fitting(spans: Sequence[Span | None], sizes: Sequence[int], budget: int) -> list[Span]:
    """The spans that fit the budget; passages of other documents only take room."""
    kept: list[Span] = []
    for span, size in zip(spans, sizes, strict=True):
        if budget > 0 and span is not None:
            kept.append((span[0], span[0] + int((span[1] - span[0]) * min(1.0, budget / max(size, 1)))))
        budget -= size
    return kept


def _covered(answer: Span, spans: Sequence[Span]) -> float:
    """The share of the answer that the spans hold together."""
    held, at = 0, answer[0]
    for start, end in sorted(spans):
        start, end = max(start, at), min(end, answer[1])
        if end > start:
            held, at = held + end - start, end
    return held / max(answer[1] - answer[0], 1)


def figures(outcomes: Sequence[QuestionScore], *, seed: int) -> TrialFigures:
    """The means over questions; zeros for none."""
    if not outcomes:
        return TrialFigures()
    recall, score = (float(np.mean(column)) for column in zip(*outcomes, strict=True))
    _, low, high = interval(_scores(outcomes), seed=seed)
    return TrialFigures(recall, score, low, high, len(outcomes))


def interval(values: Scores, *, seed: int) -> tuple[float, float, float]:
    """The mean of values and its bootstrap interval of 95 %."""
    chance = np.random.default_rng(seed)
    means = values[chance.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(values.mean()), float(low), float(high)


def _scores(outcomes: Sequence[QuestionScore]) -> Scores:
    return np.array([one.score for one in outcomes], np.float64)


class Bench:
    """Documents and the questions about them."""

    def __init__(
        self, documents: Sequence[Parsed], questions: QuestionSet, *, embedder: Embedder | None, seed: int
    ) -> None:
        self._documents = documents
        self._questions = questions
        self._embedder = None if embedder is None else RememberingEmbedder(embedder)
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
            )
            for number, parsed in enumerate(self._documents):
                knowledge.add(parsed, id=str(number))
            chunks = knowledge.count().chunks
            # One and a half times as many passages as fill the budget on average.
            mean = max(1.0, sum(self._size(parsed.text) for parsed in self._documents) / chunks)
            limit = max(FIRST, min(_MOST_RECALLED, round(1.5 * BUDGET / mean)))
            questions = (*self._questions.choosing, *self._questions.held_out)
            asked = [self._asked(knowledge, one, way, limit) for one in questions]
        if self._embedder is not None and self._embedder.failure is not None:
            # A store goes on without vectors then, but these figures would be another thing's.
            raise self._embedder.failure
        half = len(self._questions.choosing)
        return Tried(way, chunks, asked[:half], asked[half:])

    def _asked(self, knowledge: Knowledge, question: SyntheticQuestion, way: Way, limit: int) -> QuestionScore:
        passages = knowledge.recall(question.text, limit=limit, expand=way.expand)
        answer, document = (question.start, question.end), str(question.document)
        return outcome(answer, passages, document=document, size=self._size, budget=BUDGET)

    def _size(self, text: str) -> int:
        if text not in self._sizes:
            self._sizes[text] = default_counter().count(text)
        return self._sizes[text]

    def trial(self, tried: Tried) -> Trial:
        """The figures of a way."""
        chosen, held_out = (figures(half, seed=self._seed) for half in (tried.choosing, tried.held_out))
        return Trial(*tried.way, tried.chunks, chosen, held_out)

    def judged(self, tried: Sequence[Tried], usual: Tried) -> tuple[Tried, Verdict]:
        """The way to take: the best by one half of the questions if the other half confirms it, else the usual one."""
        if min(len(usual.choosing), len(usual.held_out)) < _FEWEST_QUESTIONS:
            return usual, Verdict("few")
        best = max(tried, key=lambda one: _scores(one.choosing).mean())
        if _scores(best.choosing).mean() <= _scores(usual.choosing).mean():
            return usual, Verdict("default")
        gain = interval(_scores(best.held_out) - _scores(usual.held_out), seed=self._seed)
        return (best, Verdict("better", *gain)) if gain[1] > 0 else (usual, Verdict("noise", *gain))


class RememberingEmbedder(Embedder):
    """Keeps the vectors of another embedder in memory: a repeated text costs nothing."""

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

    @property
    def shared_from(self) -> int | None:
        return self._inner.shared_from

    def distinct(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._inner.distinct(vector)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            try:
                self._vectors.update(zip(missing, self._inner.embed(missing), strict=True))
            except ModelError as error:
                self.failure = error
                raise
        return np.stack([self._vectors[text] for text in texts]) if texts else zero_rows([], self.dimensions)


# The report: a table, a text and a plot, in English and Chinese.

_WORDS = by_language(
    {
        "columns": (
            "{unit} overlap synonyms rerank chunks recall@{first} score held-out",
            "{unit}数 重叠 同义词 重排 块数 召回@{first} 得分 留出题",
        ),
        "tokens": ("tokens", "词元"),
        "characters": ("characters", "字符"),
        "yes": ("yes", "是"),
        "no": ("no", "否"),
        "advised": ("advised", "建议"),
        "in_use": ("in use", "现用"),
        "measured": (
            "{questions} questions: {choosing} to choose by, {held} held out to check. "
            "Score: the share of the answer in the first {parts} tokens. Held-out: the score with its 95 % interval.",
            "共 {questions} 题：{choosing} 题用于选择，{held} 题留出用于检验。"
            "得分：答案在前 {parts} 个词元中出现的比例。留出题：得分及其 95% 区间。",
        ),
        "sampled": (
            "Measured on a part of the documents: {share} of their text.",
            "只在部分文档上测量：占全部文字的 {share}。",
        ),
        "cut": ("Chunks of {size} {unit} with {overlap} overlapping", "每块 {size} 个{unit}、重叠 {overlap}"),
        "search": ("Synonyms {expand}, reranking {rerank}", "同义词：{expand}，重排：{rerank}"),
        "better": (
            "{what}: advised, scored {gain} higher than the setting in use on the held-out questions "
            "(95 %: {low} to {high}).",
            "{what}：建议采用，在留出题上比现用设置高 {gain}（95%：{low} 至 {high}）。",
        ),
        "default": ("{what}: kept, no other setting did better.", "{what}：保持不变，没有更好的设置。"),
        "noise": (
            "{what}: kept, the best other setting differed by {gain}, which may be chance (95 %: {low} to {high}).",
            "{what}：保持不变，其他设置中最好的相差 {gain}，可能只是偶然（95%：{low} 至 {high}）。",
        ),
        "few": (
            "{what}: kept, the documents give too few questions to tell.",
            "{what}：保持不变，从文档能出的题太少，无法判断。",
        ),
        "title": ("Which passages find the answers", "怎样分块最容易找到答案"),
        "size_axis": ("{unit} a passage", "每块的{unit}数"),
        "score_axis": ("score, held-out questions", "得分（留出题）"),
        "overlap": ("overlap {share} %", "重叠 {share}%"),
    }
)


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """The advice, and all trials. Believe the figures of the held-out questions."""

    best: Chunking
    expand: bool
    rerank: bool
    trials: tuple[Trial, ...]
    in_use: Chunking
    cutting: Verdict
    asking: Verdict
    questions: int = 0
    held_out: int = 0
    share: float = 1.0
    """The part of the documents' text that was measured."""

    @property
    def advised(self) -> Trial | None:
        """The trial of the advised setting; None when there was nothing to ask."""
        return next((one for one in self.trials if self._is_advised(one)), None)

    def in_words(self, language: str = "en") -> str:
        """The advice and how sure it is. Raises ``InvalidInput`` for a language other than ``en`` and ``zh``."""
        words = _WORDS[language_code(language, "the results of tuning")]
        unit, yes = words[self.in_use.length], (words["no"], words["yes"])
        cut = words["cut"].format(size=self.best.tokens, overlap=self.best.overlap, unit=unit)
        search = words["search"].format(expand=yes[self.expand], rerank=yes[self.rerank])
        lines = [_judged(words, cut, self.cutting), _judged(words, search, self.asking)]
        if self.share < 1.0:
            lines.append(words["sampled"].format(share=f"{self.share:.0%}"))
        return "\n".join(lines)

    def table(self, language: str = "en") -> str:
        """A line for every trial, and the advice. Raises ``InvalidInput`` for another language."""
        words = _WORDS[language_code(language, "the results of tuning")]
        rows = [[*words["columns"].format(first=FIRST, unit=words[self.in_use.length]).split(), ""]]
        rows += [self._row(words, trial) for trial in self.trials]
        counts = {"questions": self.questions, "choosing": self.questions - self.held_out, "held": self.held_out}
        parts = " / ".join(str(round(part * BUDGET)) for part in SHARES)
        measured = words["measured"].format(parts=parts, **counts)
        return "\n".join([*_aligned(rows), "", measured, self.in_words(language)])

    def plot(self, path: str | Path, *, language: str = "en") -> Path:
        """Draw the held-out scores by size into a PNG file, which appears whole or not at all.

        Raises ``MissingDependency`` without matplotlib, ``InvalidInput`` for another language or when nothing was tried,
        and ``FileError`` when the file cannot be written.
        """
        words = _WORDS[language_code(language, "the results of tuning")]
        if not self.trials:
            raise InvalidInput("there is nothing to draw: the documents gave no questions")
        fig = figure(7.0, 4.6)
        _draw(fig.subplots(), self, words)
        fig.suptitle(words["title"])  # pyright: ignore[reportUnknownMemberType] - of its further options
        return save(fig, path)

    def _row(self, words: Mapping[str, str], trial: Trial) -> list[str]:
        chosen, held, yes = trial.choosing, trial.held_out, (words["no"], words["yes"])
        first = self.trials[0]
        in_use = trial.chunking == self.in_use and (trial.expand, trial.rerank) == (first.expand, first.rerank)
        marks = [words["in_use"]] * in_use + [words["advised"]] * self._is_advised(trial)
        return [
            *map(str, (trial.chunking.tokens, trial.chunking.overlap, yes[trial.expand], yes[trial.rerank])),
            *(str(trial.chunks), f"{chosen.recall:.3f}", f"{chosen.score:.3f}"),
            f"{held.score:.3f} ({held.low:.2f}–{held.high:.2f})",
            f"<- {', '.join(marks)}" if marks else "",
        ]

    def _is_advised(self, trial: Trial) -> bool:
        return (trial.chunking, trial.expand, trial.rerank) == (self.best, self.expand, self.rerank)


def _judged(words: Mapping[str, str], what: str, verdict: Verdict) -> str:
    gain = f"{verdict.gain:.3f}" if verdict.outcome == "better" else f"{verdict.gain:+.3f}"
    return words[verdict.outcome].format(what=what, gain=gain, low=f"{verdict.low:+.3f}", high=f"{verdict.high:+.3f}")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their columns aligned to the right, the last one to the left."""
    widths = [max(map(terminal_width, column)) for column in zip(*rows, strict=True)][:-1]
    padded = (
        [" " * (width - terminal_width(cell)) + cell for cell, width in zip(row, widths, strict=False)] for row in rows
    )
    return ["  ".join((*cells, row[-1])).rstrip() for cells, row in zip(padded, rows, strict=True)]


def _draw(axes: Any, tuned: Tuned, words: Mapping[str, str]) -> None:
    """A line with error bars for each overlap, and rings around the advised setting and the one in use."""
    first = tuned.trials[0]
    trials = [one for one in tuned.trials if (one.expand, one.rerank) == (first.expand, first.rerank)]
    sizes = sorted({one.chunking.tokens for one in trials})
    for number, share in enumerate(sorted({_overlap(one) for one in trials})):
        line = sorted((one for one in trials if _overlap(one) == share), key=lambda one: one.chunking.tokens)
        # A little apart: the error bars of one line must not hide those of the other.
        places = [sizes.index(one.chunking.tokens) + 0.07 * number for one in line]
        held = [one.held_out for one in line]
        away = [[one.score - one.low for one in held], [one.high - one.score for one in held]]
        label = words["overlap"].format(share=share)
        axes.errorbar(places, [one.score for one in held], yerr=away, label=label, marker="o", capsize=3)
        rings = ((tuned.best, "advised", "#c0392b", 190), (tuned.in_use, "in_use", "#333333", 90))
        for chunking, name, colour, size in rings:
            ringed = [(place, one) for place, one in zip(places, line, strict=True) if one.chunking == chunking]
            for place, one in ringed:
                style = {"s": size, "facecolors": "none", "edgecolors": colour, "linewidths": 1.6, "zorder": 5}
                axes.scatter([place], [one.held_out.score], label=words[name], **style)
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel(words["size_axis"].format(unit=words[tuned.in_use.length]))
    axes.set_ylabel(words["score_axis"])
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="best", fontsize="small")


def _overlap(trial: Trial) -> int:
    """The overlap in per cent, to the nearest five: whole tokens do not give the share exactly."""
    return 5 * round(20 * trial.chunking.overlap / trial.chunking.tokens)

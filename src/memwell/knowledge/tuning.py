"""Tuning: measures which chunk size finds most in the user's own documents.

Questions are made from the documents by rule. Half of them choose among the sizes, the other half checks the choice: a
size is advised only if it is better there by more than chance. Otherwise the chunking in use is kept.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import InvalidInput, ModelError
from memwell.knowledge.chunking import LEAST_TOKENS, Chunking, heading_words, plain
from memwell.knowledge.documents import Found, Parsed
from memwell.knowledge.handle import Knowledge
from memwell.language.keywords import keywords
from memwell.language.segment import query_terms
from memwell.language.sentences import sentences
from memwell.language.words import by_language, language_code, terminal_width
from memwell.models.ports import Embedder
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
"""A verdict: another size is better; none is; the difference may be chance; there are too few questions to tell."""
MOST_TOKENS = 50_000
"""Larger collections are measured on a part of their text: each size embeds it again, which takes minutes."""

_LARGEST = 8_192
_LEAST_SECTION = 32
_OVERLAP = 8  # An eighth of a chunk is repeated in the next one, as by default
_FEWEST_QUESTIONS = 10  # in each half
_MOST_RECALLED = 60
_RESAMPLES = 2_000
_ENOUGH = 0.5  # share of an answer that counts as having found it

Progress: TypeAlias = Callable[[int, int | None], None]
Span: TypeAlias = tuple[int, int]
Scores: TypeAlias = NDArray[np.float64]


def tune(
    texts: Sequence[Parsed | str] | Knowledge,
    *,
    embedder: Embedder | None,
    sizes: Sequence[int] = (64, 128, 256, 512),
    questions: int = 100,
    seed: int = 0,
    length: str = "tokens",
    progress: Progress | None = None,
) -> Tuned:
    """Measure chunk sizes on documents; stored data is not changed.

    Every size is tried next to the chunking in use: that of a given ``Knowledge``, else the default. ``progress`` is called
    with the number of finished trials and their total. ``length`` is the unit of sizes, ``tokens`` or ``characters``, for
    texts outside a ``Knowledge``; in characters the middle size counts as the one in use. The same documents and seed give
    the same result. Raises ``InvalidInput`` for no documents and for sizes or counts out of range, and ``ModelError`` when
    the embedder fails.
    """
    in_use = texts.chunking if isinstance(texts, Knowledge) else _usual(length, sizes)
    cuts = _cuts(in_use, sizes)
    documents = _documents(texts)
    part = sample(documents, MOST_TOKENS, seed=seed)
    choosing, held_out = make_questions(part, questions, seed=seed)
    bench = Bench(part, choosing, held_out, embedder=embedder, seed=seed)
    tried: list[Measured] = []
    for cut in cuts if choosing and held_out else ():
        if progress is not None:
            progress(len(tried), len(cuts))
        tried.append(bench.measured(cut))
    if progress is not None:
        progress(len(tried), len(tried))
    best, verdict = bench.judged(tried) if tried else (in_use, Verdict("few"))
    return Tuned(
        best=best,
        verdict=verdict,
        in_use=in_use,
        trials=tuple(map(bench.trial, tried)),
        questions=len(choosing) + len(held_out),
        held_out=len(held_out),
        share=_length(part) / _length(documents),
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


def _usual(length: str, sizes: Sequence[int]) -> Chunking:
    """The chunking in use outside a ``Knowledge``: the default, or the middle size when sizes count characters."""
    default = Chunking(length=length)
    cuts = sorted(_cuts(default, sizes)[1:], key=lambda cut: cut.tokens)
    return cuts[len(cuts) // 2] if cuts and length == "characters" else default


def _cuts(in_use: Chunking, sizes: Sequence[int]) -> list[Chunking]:
    """The chunking in use, then every size with the overlap that is usual for it."""
    cuts = [in_use]
    for size in sizes:
        if check_count(size, "a size", least=LEAST_TOKENS) > _LARGEST:
            raise InvalidInput(f"a size must be at most {_LARGEST} tokens, not {shown(size)}")
        cuts.append(Chunking(size, size // _OVERLAP, min(_LEAST_SECTION, size // 2), in_use.length))
    return list(dict.fromkeys(cuts))


# Questions made from documents: keywords of a sentence or a paragraph, each with the span that answers it. They compare
# chunkings; they are not what people ask.

_SENTENCE = (6, 120)  # tokens of a sentence to ask about
_PARAGRAPH = (64, 500)
_FEWEST_SENTENCES = 3  # of a paragraph that is asked about as a whole
_MOST_ALIKE = 2  # paragraphs that may have all words of a question


class SyntheticQuestion(NamedTuple):
    """A question, and the span of its answer: ``start`` to ``end`` in the text of the document of that number."""

    text: str
    document: int
    start: int
    end: int


class _Paragraph(NamedTuple):
    document: int
    start: int
    text: str
    kind: str
    heading: str


def _tokens(text: str) -> int:
    return default_counter().count(text)


def _length(documents: Iterable[Parsed]) -> int:
    return sum(_tokens(one.text) for one in documents)


def sample(documents: Sequence[Parsed], most: int, *, seed: int = 0) -> list[Parsed]:
    """All documents, or some of about ``most`` tokens together, the last of them cut behind a block."""
    taken: dict[int, Parsed] = {}
    for number in random.Random(seed).sample(range(len(documents)), len(documents)):
        parsed, size = documents[number], _tokens(documents[number].text)
        taken[number] = parsed if size <= most else _beginning(parsed, len(parsed.text) * most // size)
        most -= size
        if most <= 0:
            break
    return [taken[number] for number in sorted(taken)]


def _beginning(parsed: Parsed, most: int) -> Parsed:
    kept = [block for block in parsed.blocks if block.end <= most] or list(parsed.blocks[:1])
    return replace(parsed, text=parsed.text[: kept[-1].end], blocks=tuple(kept))


def make_questions(
    documents: Sequence[Parsed], count: int = 100, *, seed: int = 0
) -> tuple[list[SyntheticQuestion], list[SyntheticQuestion]]:
    """At most ``count`` questions: half to choose by, and half about other paragraphs to check the choice by.

    Raises ``InvalidInput`` for a count below 2.
    """
    check_count(count, "questions", least=2)
    paragraphs = list(_paragraphs(documents))
    maker = _Maker(paragraphs, random.Random(seed))
    maker.chance.shuffle(paragraphs)
    return maker.questions(paragraphs[::2], count - count // 2), maker.questions(paragraphs[1::2], count // 2)


def _paragraphs(documents: Sequence[Parsed]) -> Iterator[_Paragraph]:
    for number, parsed in enumerate(documents):
        heading = ""
        for block in parsed.blocks:
            text = parsed.text[block.start : block.end]
            if block.kind == "heading":
                heading = heading_words(text)
            elif block.kind in ("paragraph", "list", "row"):
                yield _Paragraph(number, block.start, text, block.kind, heading)


class _Maker:
    """Makes questions about paragraphs; it knows which of them have a term."""

    def __init__(self, paragraphs: Iterable[_Paragraph], chance: random.Random) -> None:
        self.chance = chance
        self._asked: set[str] = set()
        self._having: defaultdict[str, set[int]] = defaultdict(set)
        for number, paragraph in enumerate(paragraphs):
            for term in query_terms(paragraph.text):
                self._having[term].add(number)

    def questions(self, paragraphs: Iterable[_Paragraph], count: int) -> list[SyntheticQuestion]:
        """Up to ``count`` questions, one about each paragraph in turn."""
        waiting = [self._about(paragraph) for paragraph in paragraphs]
        made: list[SyntheticQuestion] = []
        while waiting and len(made) < count:
            row = [(paragraph, next(paragraph, None)) for paragraph in waiting]
            made += [question for _, question in row if question is not None]
            waiting = [paragraph for paragraph, question in row if question is not None]
        return made[:count]

    def _about(self, paragraph: _Paragraph) -> Iterator[SyntheticQuestion]:
        said = sentences(paragraph.text)
        spans = [(0, len(paragraph.text))] if paragraph.kind == "row" else [(one.start, one.end) for one in said]
        self.chance.shuffle(spans)
        # The items of a list may have nothing to do with one another.
        if paragraph.kind == "paragraph" and len(said) >= _FEWEST_SENTENCES and _fits(paragraph.text, _PARAGRAPH):
            # Every other paragraph is asked about as a whole before its sentences are.
            spans.insert(self.chance.choice((0, len(spans))), (said[0].start, said[-1].end))
        for start, end in spans:
            text = paragraph.text[start:end]
            whole = (start, end) == (said[0].start, said[-1].end) and len(said) >= _FEWEST_SENTENCES
            asked = self._of_both_halves(text, paragraph.heading) if whole else self._keywords(text)
            if asked and asked not in self._asked:
                self._asked.add(asked)
                yield SyntheticQuestion(asked, paragraph.document, paragraph.start + start, paragraph.start + end)

    def _keywords(self, sentence: str) -> str:
        """Some words of a sentence, as typed into a search box; more of them where three say too little."""
        words = [one.word for one in keywords(sentence, limit=12)] if _fits(sentence, _SENTENCE) else []
        for count in (3, 4, 5) if len(words) > 1 else ():
            asked = " ".join(self.chance.sample(words, min(count, len(words))))
            if self._points_to_one(asked):
                return asked
        return ""

    def _of_both_halves(self, text: str, heading: str) -> str:
        """The heading and the rarest word of each half of a paragraph: only the whole paragraph answers that."""
        middle = len(text) // 2
        words = [[one.word for one in keywords(half, limit=30)] for half in (text[:middle], text[middle:])]
        if not all(words):
            return ""
        rarest = [min(half, key=self._places) for half in words]
        return " ".join(filter(None, (heading, *rarest))) if self._points_to_one(" ".join(rarest)) else ""

    def _places(self, word: str) -> int:
        """The number of paragraphs that have the rarest term of a word; many for a word without a term."""
        return min((len(self._having[term]) for term in query_terms(word) if term in self._having), default=1 << 30)

    def _points_to_one(self, words: str) -> bool:
        """Whether hardly more than one paragraph has all the words: other questions measure nothing."""
        having = [self._having[term] for term in query_terms(words) if term in self._having]
        return bool(having) and 1 <= len(set[int].intersection(*having)) <= _MOST_ALIKE


def _fits(text: str, limits: tuple[int, int]) -> bool:
    return limits[0] <= _tokens(text) <= limits[1]


# Trials: the documents in a store of their own, asked every question.


class Measured(NamedTuple):
    """A chunking, and two figures for every question, in their order."""

    chunking: Chunking
    chunks: int
    found: Scores
    """1 when the first passages hold at least half of the answer, else 0."""
    scores: Scores
    """The share of the answer in the first tokens: mean over the whole budget, a half, a quarter and an eighth of it."""


class Trial(msgspec.Struct, frozen=True):
    """The figures of one chunking: means over the questions to choose by (``recall``, ``score``) and over those held out.

    ``low`` to ``high`` is the 95 % interval of ``held_out``.
    """

    chunking: Chunking
    chunks: int
    recall: float
    score: float
    held_out: float
    low: float
    high: float


class Verdict(msgspec.Struct, frozen=True):
    """One of ``OUTCOMES``, and by how much the best other size differed on the held-out questions, with 95 %."""

    outcome: str
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0


def outcome(
    answer: Span, passages: Sequence[Found], *, document: str, size: Callable[[str], int], budget: int
) -> tuple[float, float]:
    """The two figures of a question: recalled passages, best first, for an answer at this span of a document."""
    spans = [(one.citation.start, one.citation.end) if one.citation.document == document else None for one in passages]
    sizes = [size(one.text) for one in passages]
    within = [_covered(answer, _fitting(spans, sizes, round(share * budget))) for share in SHARES]
    found = _covered(answer, [span for span in spans[:FIRST] if span]) >= _ENOUGH
    return float(found), sum(within) / len(within)


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


def interval(values: Scores, *, seed: int) -> tuple[float, float, float]:
    """The mean of values and its bootstrap interval of 95 %."""
    chance = np.random.default_rng(seed)
    means = values[chance.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(values.mean()), float(low), float(high)


class Bench:
    """Documents and the questions about them."""

    def __init__(
        self,
        documents: Sequence[Parsed],
        choosing: Sequence[SyntheticQuestion],
        held_out: Sequence[SyntheticQuestion],
        *,
        embedder: Embedder | None,
        seed: int,
    ) -> None:
        self._documents = documents
        self._questions = (*choosing, *held_out)
        self._half = len(choosing)
        self._embedder = embedder
        self._seed = seed

    def measured(self, chunking: Chunking) -> Measured:
        """Cut the documents and ask every question. Raises ``ModelError`` when the embedder fails."""
        with open_backend("memory:") as backend:
            knowledge = Knowledge(backend, Space("tuning"), embedder=self._embedder, chunking=chunking)
            for number, parsed in enumerate(self._documents):
                knowledge.add(parsed, id=str(number))
            if self._embedder is not None and knowledge.pending().vectors:
                # A store goes on without vectors then, but these figures would be another thing's.
                raise ModelError(f"the embedder {self._embedder.name} fails: no chunk size can be measured with it")
            chunks = knowledge.count().chunks
            # One and a half times as many passages as fill the budget on average.
            mean = max(1.0, _length(self._documents) / chunks)
            limit = max(FIRST, min(_MOST_RECALLED, round(1.5 * BUDGET / mean)))
            asked = np.array([self._asked(knowledge, one, limit) for one in self._questions], np.float64)
        return Measured(chunking, chunks, asked[:, 0], asked[:, 1])

    def _asked(self, knowledge: Knowledge, question: SyntheticQuestion, limit: int) -> tuple[float, float]:
        passages = knowledge.recall(question.text, limit=limit)
        answer, document = (question.start, question.end), str(question.document)
        return outcome(answer, passages, document=document, size=_tokens, budget=BUDGET)

    def trial(self, one: Measured) -> Trial:
        """The figures of a chunking."""
        recall, score = float(one.found[: self._half].mean()), float(one.scores[: self._half].mean())
        return Trial(one.chunking, one.chunks, recall, score, *interval(one.scores[self._half :], seed=self._seed))

    def judged(self, tried: Sequence[Measured]) -> tuple[Chunking, Verdict]:
        """The chunking to take: the best by one half of the questions if the other half confirms it, else the first."""
        half, usual = self._half, tried[0]
        if min(half, len(usual.scores) - half) < _FEWEST_QUESTIONS:
            return usual.chunking, Verdict("few")
        best = max(tried, key=lambda one: one.scores[:half].mean())
        if best.scores[:half].mean() <= usual.scores[:half].mean():
            return usual.chunking, Verdict("default")
        gain = interval(best.scores[half:] - usual.scores[half:], seed=self._seed)
        if gain[1] > 0:
            return best.chunking, Verdict("better", *gain)
        return usual.chunking, Verdict("noise", *gain)


# The report, in English and Chinese.

_WORDS = by_language(
    {
        "columns": (
            "{unit} overlap chunks recall@{first} score held-out",
            "{unit}数 重叠 块数 召回@{first} 得分 留出题",
        ),
        "tokens": ("tokens", "词元"),
        "characters": ("characters", "字符"),
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
    }
)


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """The advice, and all trials. Believe the figures of the held-out questions."""

    best: Chunking
    verdict: Verdict
    in_use: Chunking
    trials: tuple[Trial, ...]
    questions: int = 0
    held_out: int = 0
    share: float = 1.0
    """The part of the documents' text that was measured."""

    def in_words(self, language: str = "en") -> str:
        """The advice and how sure it is. Raises ``InvalidInput`` for a language other than ``en`` and ``zh``."""
        words = _WORDS[language_code(language, "the results of tuning")]
        best, found = self.best, self.verdict
        cut = words["cut"].format(size=best.tokens, overlap=best.overlap, unit=words[self.in_use.length])
        gain = f"{found.gain:.3f}" if found.outcome == "better" else f"{found.gain:+.3f}"
        said = words[found.outcome].format(what=cut, gain=gain, low=f"{found.low:+.3f}", high=f"{found.high:+.3f}")
        return said if self.share == 1.0 else f"{said}\n{words['sampled'].format(share=f'{self.share:.0%}')}"

    def table(self, language: str = "en") -> str:
        """A line for every trial, and the advice. Raises ``InvalidInput`` for another language."""
        words = _WORDS[language_code(language, "the results of tuning")]
        rows = [[*words["columns"].format(first=FIRST, unit=words[self.in_use.length]).split(), ""]]
        rows += [self._row(words, trial) for trial in self.trials]
        counts = {"questions": self.questions, "choosing": self.questions - self.held_out, "held": self.held_out}
        parts = " / ".join(str(round(part * BUDGET)) for part in SHARES)
        measured = words["measured"].format(parts=parts, **counts)
        return "\n".join([*_aligned(rows), "", measured, self.in_words(language)])

    def _row(self, words: Mapping[str, str], trial: Trial) -> list[str]:
        marks = [words["in_use"]] * (trial.chunking == self.in_use) + [words["advised"]] * (trial.chunking == self.best)
        return [
            *map(str, (trial.chunking.tokens, trial.chunking.overlap, trial.chunks)),
            *(f"{trial.recall:.3f}", f"{trial.score:.3f}", f"{trial.held_out:.3f} ({trial.low:.2f}–{trial.high:.2f})"),
            f"<- {', '.join(marks)}" if marks else "",
        ]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their columns aligned to the right, the last one to the left."""
    widths = [max(map(terminal_width, column)) for column in zip(*rows, strict=True)][:-1]
    padded = (
        [" " * (width - terminal_width(cell)) + cell for cell, width in zip(row, widths, strict=False)] for row in rows
    )
    return ["  ".join((*cells, row[-1])).rstrip() for cells, row in zip(padded, rows, strict=True)]

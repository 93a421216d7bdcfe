"""Tuning: the same documents cut in several ways, asked the same questions, and the winner checked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import InvalidInput, ModelError
from memwell.knowledge.chunking import LEAST_TOKENS, Chunking, plain
from memwell.knowledge.documents import Found, Parsed
from memwell.knowledge.handle import Knowledge
from memwell.knowledge.recall import FeatureReranker
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning.questions import QuestionSet, SyntheticQuestion, length_of, make_questions, sample
from memwell.models.ports import Embedder, zero_rows
from memwell.plotting import figure, save
from memwell.records import Space
from memwell.storage import open_backend
from memwell.tokens import default_counter
from memwell.values import check_count, check_text, shown

# How well questions find their answers, measured so that neither tiny passages nor huge ones win for free.


Numbers = NDArray[np.float64]

SHARES = (0.125, 0.25, 0.5, 1.0)
"""The parts of the budget that answers are looked for in."""

_RESAMPLES = 2_000
_INTERVAL = (2.5, 97.5)
_ENOUGH = 0.5  # of an answer, to have found it


class Outcome(NamedTuple):
    """How well one question found its answer."""

    found: float
    """1 when the first passages hold at least half of the answer, else 0."""
    reciprocal: float
    """One over the rank of the first passage that has to do with it."""
    covered: float
    """How much of the answer stands in what fits the budget."""
    score: float
    """The mean of that over the whole budget, a half, a quarter and an eighth of it."""


class Figures(msgspec.Struct, frozen=True):
    """Means over questions; ``low`` to ``high`` is where the score's true mean lies, 19 times out of 20."""

    recall: float
    mrr: float
    budget_recall: float
    score: float
    low: float
    high: float
    questions: int


class Interval(NamedTuple):
    """A mean and where the true one lies, 19 times out of 20."""

    mean: float
    low: float
    high: float


def outcome(
    question: SyntheticQuestion,
    passages: Sequence[Found],
    *,
    document: str,
    size: Callable[[str], int],
    budget: int,
    first: int,
) -> Outcome:
    """Judge what was recalled, best first, for a question whose answer stands in the document of that id."""
    answer = (question.start, question.end)
    spans = [(one.citation.start, one.citation.end) if one.citation.document == document else None for one in passages]
    sizes = [size(one.text) for one in passages]
    within = [_covered(answer, _fitting(spans, sizes, round(share * budget))) for share in SHARES]
    return Outcome(
        found=float(_covered(answer, [span for span in spans[:first] if span]) >= _ENOUGH),
        reciprocal=_reciprocal(answer, spans),
        covered=within[-1],
        score=sum(within) / len(within),
    )


def figures(outcomes: Sequence[Outcome], *, seed: int) -> Figures:
    """The means over questions; zeros for none."""
    if not outcomes:
        return Figures(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    means = [float(np.mean(column)) for column in zip(*outcomes, strict=True)]
    scores = interval(np.array([one.score for one in outcomes]), seed=seed)
    return Figures(means[0], means[1], means[2], means[3], scores.low, scores.high, len(outcomes))


def interval(values: Numbers, *, seed: int) -> Interval:
    """The mean of values and its bootstrap interval of 95 %."""
    chance = np.random.default_rng(seed)
    means = values[chance.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, _INTERVAL)
    return Interval(float(values.mean()), float(low), float(high))


Span = tuple[int, int]


def _fitting(spans: Sequence[Span | None], sizes: Sequence[int], budget: int) -> list[Span]:
    """What of the answer's document fits the budget; passages of other documents only take their room."""
    kept: list[Span] = []
    left = budget
    for span, size in zip(spans, sizes, strict=True):
        if span is not None:
            share = min(1.0, left / max(size, 1))
            kept.append((span[0], span[0] + int((span[1] - span[0]) * share)))
        left -= size
        if left <= 0:
            break
    return kept


def _covered(answer: Span, spans: Sequence[Span]) -> float:
    """The share of the answer that the spans hold together."""
    start, end = answer
    held, at = 0, start
    for one in sorted(spans):
        from_, to = max(one[0], at), min(one[1], end)
        if to > from_:
            held += to - from_
            at = to
    return held / max(end - start, 1)


def _reciprocal(answer: Span, spans: Sequence[Span | None]) -> float:
    for rank, span in enumerate(spans, 1):
        if span is not None:
            shared = min(answer[1], span[1]) - max(answer[0], span[0])
            # Of a long answer a passage may be a part, as an answer of a long passage.
            if shared >= _ENOUGH * max(1, min(answer[1] - answer[0], span[1] - span[0])):
                return 1.0 / rank
    return 0.0


# What tuning tried, what came of it, and what it advises, as a table and as a plot.


OUTCOMES = ("better", "default", "noise", "few")
"""Something else was better and is advised; nothing was; something seemed to be, but by no more than chance may give; or
there were too few questions to tell. In all but the first what was in use is kept."""

_WORDS = {
    "en": {
        "tokens": "tokens",
        "overlap": "overlap",
        "expand": "synonyms",
        "rerank": "rerank",
        "chunks": "chunks",
        "recall": "recall@{first}",
        "mrr": "MRR",
        "budget": "in budget",
        "score": "score",
        "held": "held-out (95 %)",
        "yes": "yes",
        "no": "no",
        "best": "<- advised",
        "now": "(in use)",
        "measured": "{questions} questions: {choosing} to choose by, {held} held out to check. "
        "Score: how much of the answer stands in the first {parts} tokens.",
        "sampled": "Measured on a part of the documents: {share} of their text.",
        "cut.better": "{tokens} tokens with {overlap} overlapping scored {gain} higher than what is in use on the held-out "
        "questions (95 %: {low} to {high}).",
        "cut.default": "No other size did better than what is in use: {tokens} tokens, {overlap} overlapping.",
        "cut.noise": "What is in use is kept, {tokens} tokens with {overlap} overlapping: the best other size differed by "
        "{gain} on the held-out questions, which may be chance (95 %: {low} to {high}).",
        "cut.few": "What is in use is kept, {tokens} tokens with {overlap} overlapping: the documents give too few "
        "questions to tell.",
        "way.better": "Asking with synonyms: {expand}, with reranking: {rerank} scored {gain} higher "
        "(95 %: {low} to {high}).",
        "way.default": "Synonyms ({expand}) and reranking ({rerank}) stay: no other way of asking did better.",
        "way.noise": "Synonyms ({expand}) and reranking ({rerank}) stay: the best other way of asking differed by {gain}, "
        "which may be chance (95 %: {low} to {high}).",
        "way.few": "Synonyms ({expand}) and reranking ({rerank}) stay: there are too few questions to tell.",
        "paraphrases": "Questions in other words are made from the table of synonyms, so they have no say in whether to "
        "use it.",
        "title": "Which passages find the answers",
        "size_axis": "tokens a passage",
        "score_axis": "score, held-out questions",
        "overlap_line": "overlap {share} %",
        "in_use": "in use",
        "advised": "advised",
        "ways": "Ways of asking",
        "way": "synonyms: {expand}, rerank: {rerank}",
    },
    "zh": {
        "tokens": "词元数",
        "overlap": "重叠",
        "expand": "同义词",
        "rerank": "重排",
        "chunks": "块数",
        "recall": "召回@{first}",
        "mrr": "MRR",
        "budget": "预算内",
        "score": "得分",
        "held": "留出题（95%）",
        "yes": "是",
        "no": "否",
        "best": "<- 建议",
        "now": "（现用）",
        "measured": "共 {questions} 题：{choosing} 题用于选择，{held} 题留出用于检验。"
        "得分：答案在前 {parts} 个词元中出现的比例。",
        "sampled": "只在部分文档上测量：占全部文字的 {share}。",
        "cut.better": "在留出题上，每块 {tokens} 个词元、重叠 {overlap} 比现用设置高 {gain}（95%：{low} 至 {high}）。",
        "cut.default": "没有更好的大小，保持现用设置：每块 {tokens} 个词元，重叠 {overlap}。",
        "cut.noise": "保持现用设置（每块 {tokens} 个词元，重叠 {overlap}）：其他大小中最好的在留出题上相差 {gain}，"
        "可能只是偶然（95%：{low} 至 {high}）。",
        "cut.few": "保持现用设置（每块 {tokens} 个词元，重叠 {overlap}）：从文档能出的题太少，无法判断。",
        "way.better": "提问方式改为 同义词：{expand}，重排：{rerank}，得分高 {gain}（95%：{low} 至 {high}）。",
        "way.default": "同义词（{expand}）和重排（{rerank}）保持不变：没有更好的提问方式。",
        "way.noise": "同义词（{expand}）和重排（{rerank}）保持不变：其他方式中最好的相差 {gain}，可能只是偶然"
        "（95%：{low} 至 {high}）。",
        "way.few": "同义词（{expand}）和重排（{rerank}）保持不变：题太少，无法判断。",
        "paraphrases": "换词题由同义词表生成，因此不参与判断是否使用同义词。",
        "title": "怎样分块最容易找到答案",
        "size_axis": "每块的词元数",
        "score_axis": "得分（留出题）",
        "overlap_line": "重叠 {share}%",
        "in_use": "现用",
        "advised": "建议",
        "ways": "提问方式",
        "way": "同义词：{expand}，重排：{rerank}",
    },
}


class Trial(msgspec.Struct, frozen=True):
    """One way to cut the documents and to ask: its figures on the questions to choose by, and on those held out."""

    chunking: Chunking
    expand: bool
    rerank: bool
    recall: float
    mrr: float
    budget_recall: float
    score: float
    chunks: int
    held_out: Figures


class Verdict(msgspec.Struct, frozen=True):
    """What the held-out questions say: one of ``OUTCOMES``, and by how much the best other way differed, with 95 %."""

    outcome: str
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What is advised, and all that was tried. Figures to believe are those of the held-out questions."""

    best: Chunking
    expand: bool
    rerank: bool
    trials: tuple[Trial, ...]
    questions: int
    held_out: int
    in_use: Chunking
    cutting: Verdict
    asking: Verdict
    budget: int = 1_000
    first: int = 5
    share: float = 1.0
    """Which part of the documents' text was measured on."""
    kinds: dict[str, int] = {}
    """How many questions were made in which way."""

    @property
    def advised(self) -> Trial | None:
        """The trial of what is advised; None when there was nothing to ask."""
        return next((one for one in self.trials if self._is_advised(one)), None)

    @property
    def note(self) -> str:
        """What is advised and how sure that is, in English."""
        return self.in_words()

    def in_words(self, language: str = "en") -> str:
        """What is advised and how sure that is, for people. Raises ``InvalidInput`` for another language."""
        words = _words(language, self.in_use.length)
        cut = _verdict(words, "cut", self.cutting, tokens=self.best.tokens, overlap=self.best.overlap)
        way = _verdict(words, "way", self.asking, expand=_yes(words, self.expand), rerank=_yes(words, self.rerank))
        lines = [cut, way, words["paraphrases"]] if len({one.expand for one in self.trials}) > 1 else [cut, way]
        if self.share < 1.0:
            lines.append(words["sampled"].format(share=f"{self.share:.0%}"))
        return "\n".join(lines)

    def table(self, language: str = "en") -> str:
        """All that was tried, a line each, and below it what is advised. Raises ``InvalidInput`` for another language."""
        words = _words(language, self.in_use.length)
        names = ("tokens", "overlap", "expand", "rerank", "chunks", "recall", "mrr", "budget", "score", "held")
        rows = [[words[name].format(first=self.first) for name in names] + [""]]
        rows += [self._row(words, trial) for trial in self.trials]
        measured = words["measured"].format(
            questions=self.questions,
            choosing=self.questions - self.held_out,
            held=self.held_out,
            parts=" / ".join(str(round(part * self.budget)) for part in SHARES),
        )
        return "\n".join([*_aligned(rows), "", measured, self.in_words(language)])

    def plot(self, path: str | Path, *, language: str = "en") -> Path:
        """Draw the held-out scores into a PNG file, which appears whole or not at all.

        Raises ``MissingDependency`` without matplotlib, ``InvalidInput`` for another language or when nothing was tried,
        and ``FileError`` when the file cannot be written.
        """
        from memwell.knowledge.tuning.trials import draw  # noqa: PLC0415 - it draws these, and so imports this

        return draw(self, _words(language, self.in_use.length), path)

    def _row(self, words: dict[str, str], trial: Trial) -> list[str]:
        held = trial.held_out
        marks = (words["now"] if self._is_in_use(trial) else "", words["best"] if self._is_advised(trial) else "")
        return [
            str(trial.chunking.tokens),
            str(trial.chunking.overlap),
            _yes(words, trial.expand),
            _yes(words, trial.rerank),
            str(trial.chunks),
            *(f"{value:.3f}" for value in (trial.recall, trial.mrr, trial.budget_recall, trial.score)),
            f"{held.score:.3f} ({held.low:.2f}–{held.high:.2f})",
            " ".join(mark for mark in marks if mark),
        ]

    def _is_advised(self, trial: Trial) -> bool:
        return (trial.chunking, trial.expand, trial.rerank) == (self.best, self.expand, self.rerank)

    def _is_in_use(self, trial: Trial) -> bool:
        first = self.trials[0]
        return trial.chunking == self.in_use and (trial.expand, trial.rerank) == (first.expand, first.rerank)


def _words(language: object, length: str) -> dict[str, str]:
    # As it is given on a machine: zh, zh-CN or zh_CN.
    short = language.replace("_", "-").partition("-")[0] if isinstance(language, str) else ""
    if short not in _WORDS:
        raise InvalidInput(f"the results of tuning are written in {' and '.join(_WORDS)}, not in {shown(language)}")
    words = _WORDS[short]
    return words if length == "tokens" else {**words, **{name: _in_characters(words[name]) for name in _OF_SIZES}}


_OF_SIZES = ("tokens", "cut.better", "cut.default", "cut.noise", "cut.few", "size_axis")


def _in_characters(phrase: str) -> str:
    # The name of a value in braces stays.
    return re.sub(r"(?<!\{)\btokens\b", "characters", phrase).replace("词元", "字符")


def _verdict(words: dict[str, str], what: str, verdict: Verdict, **values: object) -> str:
    signed = {name: f"{value:+.3f}" for name, value in (("low", verdict.low), ("high", verdict.high))}
    gain = f"{verdict.gain:.3f}" if verdict.outcome == "better" else f"{verdict.gain:+.3f}"
    return words[f"{what}.{verdict.outcome}"].format(gain=gain, **signed, **values)


def _yes(words: dict[str, str], value: bool) -> str:
    return words["yes" if value else "no"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    lines: list[str] = []
    for row in rows:
        cells = [
            cell if at == last else " " * (width - _width(cell)) + cell
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """How many columns a text takes in a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


# The plot of what tuning tried.


Axes = Any
"""matplotlib's: the types it comes with leave the options of its methods open, so naming it here would check nothing."""

_COLOURS = ("#1b6ca8", "#d1793a", "#3b8f5a", "#8a5ba6", "#7a7a7a")
_APART = 0.07  # of the way from one size to the next
_ADVISED, _IN_USE = "#c0392b", "#333333"


def draw(tuned: Tuned, words: Mapping[str, str], path: str | Path) -> Path:
    """Draw the held-out scores: by size, and beside that by the way of asking. See ``Tuned.plot``."""
    if not tuned.trials:
        raise InvalidInput("there is nothing to draw: the documents gave no questions")
    way = (tuned.trials[0].expand, tuned.trials[0].rerank)
    cuts = [one for one in tuned.trials if (one.expand, one.rerank) == way]
    asked = [one for one in tuned.trials if one.chunking == tuned.best]
    several = len(asked) > 1
    fig = figure(11.0 if several else 7.0, 4.6)
    panels = fig.subplots(1, 2, width_ratios=(3, 2)) if several else [fig.subplots()]
    _draw_sizes(panels[0], cuts, tuned, words)
    if several:
        _draw_ways(panels[1], asked, tuned, words)
    fig.suptitle(words["title"])  # pyright: ignore[reportUnknownMemberType] - of its further options
    return save(fig, path)


def _draw_sizes(axes: Axes, trials: Sequence[Trial], tuned: Tuned, words: Mapping[str, str]) -> None:
    sizes = sorted({one.chunking.tokens for one in trials})
    for number, share in enumerate(sorted({_share(one) for one in trials})):
        line = sorted((one for one in trials if _share(one) == share), key=lambda one: one.chunking.tokens)
        # A little apart, so that the error bars of one line do not hide those of the other.
        places = [sizes.index(one.chunking.tokens) + _APART * number for one in line]
        # A point alone is what is in use, and is named by its ring.
        label = words["overlap_line"].format(share=share) if len(line) > 1 or len(sizes) == 1 else None
        _bars(axes, places, line, label, _COLOURS[number % len(_COLOURS)])
        for place, one in zip(places, line, strict=True):
            _mark(axes, place, one, tuned, words)
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel(words["size_axis"])
    axes.set_ylabel(words["score_axis"])
    axes.set_xlim(-0.4, len(sizes) - 0.4)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="best", fontsize="small")


def _share(trial: Trial) -> int:
    """The overlap in per cent, to the nearest five: whole tokens do not give the share exactly."""
    return 5 * round(20 * trial.chunking.overlap / trial.chunking.tokens)


def _bars(axes: Axes, places: Sequence[float], trials: Sequence[Trial], label: str | None, colour: str) -> None:
    scores = [one.held_out.score for one in trials]
    away = [
        [one.held_out.score - one.held_out.low for one in trials],
        [one.held_out.high - one.held_out.score for one in trials],
    ]
    axes.errorbar(places, scores, yerr=away, label=label, color=colour, marker="o", capsize=3, linewidth=1.5)


def _mark(axes: Axes, place: float, trial: Trial, tuned: Tuned, words: Mapping[str, str]) -> None:
    """Ring what is advised and what is in use, each named once in the legend."""
    rings = ((tuned.best, "advised", _ADVISED, 190), (tuned.in_use, "in_use", _IN_USE, 90))
    for chunking, name, colour, size in rings:
        if trial.chunking == chunking:
            axes.scatter(
                [place],
                [trial.held_out.score],
                s=size,
                facecolors="none",
                edgecolors=colour,
                linewidths=1.6,
                label=words[name],
                zorder=5,
            )


def _draw_ways(axes: Axes, trials: Sequence[Trial], tuned: Tuned, words: Mapping[str, str]) -> None:
    def yes(value: bool) -> str:
        return words["yes" if value else "no"]

    names = [words["way"].format(expand=yes(one.expand), rerank=yes(one.rerank)) for one in trials]
    places = range(len(trials))
    scores = [one.held_out.score for one in trials]
    away = [
        [one.held_out.score - one.held_out.low for one in trials],
        [one.held_out.high - one.held_out.score for one in trials],
    ]
    is_advised = [(one.expand, one.rerank) == (tuned.expand, tuned.rerank) for one in trials]
    axes.barh(
        places, scores, xerr=away, color=[_ADVISED if one else _COLOURS[0] for one in is_advised], alpha=0.8, capsize=3
    )
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_title(words["ways"])
    axes.set_xlabel(words["score_axis"])


# Where ways to cut and to ask are tried: the documents in a store of their own, asked every question.


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


BUDGET = 1_000
"""So many tokens of passages go into a prompt."""

MOST_CHARACTERS = 200_000
"""Larger collections are measured on a part: every way to cut them is embedded anew, which takes minutes."""

_LARGEST = 8_192
_SMALL_SECTION = 32
_USUAL_ASKING = (True, False)  # with synonyms, without reranking: as Knowledge asks when nothing is said

Progress: TypeAlias = Callable[[int, int | None], None]


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
    synonyms: Synonyms | None = None,
    budget: int = BUDGET,
    most_characters: int | None = MOST_CHARACTERS,
    length: str = "tokens",
    progress: Progress | None = None,
) -> Tuned:
    """Find out how documents are best cut and asked, by questions made from them; nothing that is stored is changed.

    Every size is tried with every overlap (a share of the size), beside what is in use: that of a ``Knowledge`` given,
    else the default. Then synonyms and reranking are tried with the winner. ``progress`` is told how many trials are done,
    of how many. ``length`` says what sizes count, ``tokens`` or ``characters``, for texts that are in no ``Knowledge``;
    with characters the size in the middle is taken for the one in use. The same documents and seed give the same result.
    Raises ``InvalidInput`` for no documents and for what makes no sense as a size, an overlap or a number, and
    ``ModelError`` when the embedder fails.
    """
    in_use = texts.chunking if isinstance(texts, Knowledge) else _usual(length, sizes, overlaps)
    cuts = _cuts(in_use, sizes, overlaps)
    asking = _ways_of_asking(expand, rerank)
    check_count(budget, "budget", least=1)
    documents = _documents(texts)
    part = documents
    if most_characters is not None:
        part = sample(documents, check_count(most_characters, "most_characters", least=1), seed=seed)
    asked = make_questions(part, questions, seed=seed, synonyms=synonyms)
    bench = Bench(part, asked, embedder=embedder, synonyms=synonyms, budget=budget, seed=seed)
    tuned = _Tuning(bench, in_use, progress).run(cuts, asking) if asked.choosing and asked.held_out else None
    return _with_questions(tuned or _untried(in_use, asking[0]), asked, budget, _length(part) / _length(documents))


class _Tuning:
    """The trials in their order: the cuts first, then the ways of asking with the best cut."""

    def __init__(self, bench: Bench, in_use: Chunking, progress: Progress | None) -> None:
        self._bench = bench
        self._in_use = in_use
        self._progress = progress
        self._tried: list[Tried] = []

    def run(self, cuts: Sequence[Chunking], asking: Sequence[tuple[bool, bool]]) -> Tuned:
        total = len(cuts) + len(asking) - 1
        self._tell(total)
        for chunking in cuts:
            self._try(Way(chunking, *asking[0]), total)
        cut, cutting = self._bench.judged(self._tried, self._tried[0])
        ways = [cut, *(self._try(Way(cut.way.chunking, *way), total) for way in asking[1:])]
        way, judged = self._bench.judged(ways, cut, by_synonyms=False)
        return Tuned(
            best=cut.way.chunking,
            expand=way.way.expand,
            rerank=way.way.rerank,
            trials=tuple(map(self._bench.trial, self._tried)),
            questions=0,
            held_out=0,
            in_use=self._in_use,
            cutting=cutting,
            asking=judged,
        )

    def _try(self, way: Way, total: int) -> Tried:
        tried = self._bench.tried(way)
        self._tried.append(tried)
        self._tell(total)
        return tried

    def _tell(self, total: int) -> None:
        if self._progress is not None:
            self._progress(len(self._tried), total)


def _untried(in_use: Chunking, asking: tuple[bool, bool]) -> Tuned:
    """What is advised when there was nothing to ask: what is in use."""
    few = Verdict("few")
    expand, rerank = asking
    return Tuned(
        best=in_use,
        expand=expand,
        rerank=rerank,
        trials=(),
        questions=0,
        held_out=0,
        in_use=in_use,
        cutting=few,
        asking=few,
    )


def _with_questions(tuned: Tuned, asked: QuestionSet, budget: int, share: float) -> Tuned:
    kinds = Counter(one.kind for one in (*asked.choosing, *asked.held_out))
    return replace(
        tuned,
        questions=len(asked),
        held_out=len(asked.held_out),
        budget=budget,
        first=FIRST,
        share=share,
        kinds=dict(kinds),
    )


def _documents(texts: Sequence[Parsed | str] | Knowledge) -> list[Parsed]:
    if isinstance(texts, Knowledge):
        given: Iterable[object] = [texts.parsed(document.id) for document in texts.documents()]
    elif isinstance(texts, str | Parsed):
        given = [texts]
    else:
        given = cast("Iterable[object]", texts)
    documents = [_parsed(one) for one in given]
    documents = [one for one in documents if one.text.strip()]
    if not documents:
        raise InvalidInput("there are no documents with any text to tune on")
    return documents


def _parsed(text: object) -> Parsed:
    return text if isinstance(text, Parsed) else plain(check_text(text, "a document's text"))


def _length(documents: Iterable[Parsed]) -> int:
    return sum(length_of(one.text) for one in documents)


def _usual(length: str, sizes: Sequence[int], overlaps: Sequence[float]) -> Chunking:
    """What is in use where nothing is: the default, or the size in the middle when sizes count characters."""
    if length == "tokens":
        return Chunking()
    cuts = _cuts(Chunking(length=length), sizes, overlaps)[1:]
    return sorted(cuts, key=lambda cut: cut.tokens)[len(cuts) // 2] if cuts else Chunking(length=length)


def _cuts(in_use: Chunking, sizes: Sequence[int], overlaps: Sequence[float]) -> list[Chunking]:
    """What is in use, and then every size with every overlap."""
    cuts = [in_use]
    for size in sizes:
        check_count(size, "a size", least=LEAST_TOKENS)
        if size > _LARGEST:
            raise InvalidInput(f"a size must be at most {_LARGEST} tokens, not {shown(size)}")
        shares = [_checked_share(share) for share in overlaps]
        cuts += [Chunking(size, round(size * share), min(_SMALL_SECTION, size // 2), in_use.length) for share in shares]
    return list(dict.fromkeys(cuts))


def _checked_share(share: object) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not isfinite(share) or not 0 <= share <= 0.5:
        raise InvalidInput(f"an overlap is a share of the size from 0 to 0.5, not {shown(share)}")
    return float(share)


def _ways_of_asking(expand: Sequence[bool], rerank: Sequence[bool]) -> list[tuple[bool, bool]]:
    """With and without synonyms, with and without reranking; the usual way first, where it is wanted."""
    for name, values in (("expand", expand), ("rerank", rerank)):
        if not values or not all(isinstance(value, bool) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name} must be a list of what to try, such as (False, True), not {shown(values)}")
    ways = dict.fromkeys((one, other) for one in expand for other in rerank)
    return sorted(ways, key=lambda way: (way[0] != _USUAL_ASKING[0], way[1] != _USUAL_ASKING[1]))

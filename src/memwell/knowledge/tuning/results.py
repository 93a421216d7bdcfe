"""What tuning tried, what came of it, and what it advises, as a table and as a plot."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memwell.errors import InvalidInput
from memwell.knowledge.chunking import Chunking
from memwell.knowledge.tuning.measuring import SHARES, Figures
from memwell.values import shown

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
        from memwell.knowledge.tuning.drawing import draw  # noqa: PLC0415 - it draws these, and so imports this

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


__all__ = ["OUTCOMES", "Trial", "Tuned", "Verdict"]

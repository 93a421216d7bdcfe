"""``python -m benchmarks.answers``: whether answers without a model are right, and whether what is not known is refused.

The documents of ``answers.json`` (policies, manuals, minutes, notes, in English and Chinese) and the questions about them
were written for this. A family is a document with its questions: those that it answers, each with the words that the
answer must hold, and those that it does not. Every part of the file is one store. The families under ``test`` were written
first; weights and thresholds were fitted to those under ``dev`` alone, and only the sums of ``test`` were seen meanwhile.
The figures go to ``benchmarks/results/answers.json`` and ``answers.md``.

``show`` prints what went wrong in the dev families, and ``fit`` the odds of ``memwell.knowledge.choosing`` that suit the
bundled embedder's vectors best, by the dev families: after a change of the vectors, write them there. Both write nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.report import RESULTS, today
from memwell.knowledge import read_document
from memwell.knowledge.choosing import FITTED_TO, ODDS, Odds
from memwell.language.words import en_or_zh
from memwell.models.local.embedder import LocalEmbedder
from memwell.runtime.engine import Engine

DATA = Path(__file__).with_name("answers.json")
PARTS = ("dev", "test")
KINDS = ("plain", "paraphrase", "opposite", "across", "near", "far")
AIMS = {"right": "at least 70", "wrong": "at most 3", "refused": "at least 95"}


class Asked(NamedTuple):
    """A question with the words its answer must hold, none when nothing answers it, and what came of it."""

    family: str
    question: str
    expected: tuple[str, ...]
    kind: str
    answer: memwell.knowledge.Answer

    @property
    def outcome(self) -> str:
        """``right``, ``wrong`` or ``refused``."""
        if not self.answer.supported:
            return "refused"
        return "right" if self.expected and all(word in self.answer.text for word in self.expected) else "wrong"


def filled(engine: Engine, families: Sequence[dict[str, Any]]) -> Engine:
    """The store with the documents of the families."""
    for one in families:
        parsed = read_document(one["text"].encode(), name=f"{one['family']}.md")
        engine.knowledge.add(parsed, id=one["family"], source=f"{one['family']}.md", title=one["title"])
    return engine


def asked(engine: Engine, families: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    """All questions of the families, and their answers."""
    for one in families:
        for question, expected, kind in one["answerable"]:
            yield Asked(one["family"], question, tuple(expected), kind, engine.knowledge.answer(question))
        for question, kind in one["unanswerable"]:
            yield Asked(one["family"], question, (), kind, engine.knowledge.answer(question))


def summary(every: Sequence[Asked]) -> dict[str, Any]:
    """The shares in percent: of the answerable questions right, wrong and unknown; of the others refused."""
    found = {"answerable": _shares([one for one in every if one.expected], ("right", "wrong", "refused"))}
    found["unanswerable"] = _shares([one for one in every if not one.expected], ("refused",))
    for kind in KINDS:
        for name, own in (("answerable", True), ("unanswerable", False)):
            some = [one for one in every if one.kind == kind and bool(one.expected) == own]
            if some:
                found[f"{name}, {kind}"] = _shares(some, ("right", "wrong", "refused") if own else ("refused",))
    return found


def _shares(some: Sequence[Asked], outcomes: Sequence[str]) -> dict[str, Any]:
    shares = {name: round(100 * sum(one.outcome == name for one in some) / len(some), 1) for name in outcomes}
    return {"questions": len(some), **shares}


def page(known: dict[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# Answers without a model",
        "",
        "Measured by `python -m benchmarks.answers` through the public interface, with the shipped defaults. An answer is "
        "right when it holds the expected words, and wrong when it is given without them. *Across* are questions in the "
        "other language than the document, *opposite* those whose answer is no, *near* those about the subject of a "
        "document that does not answer them. The test families were written first; rules and thresholds were "
        "chosen by the dev families, and only sums of the test ones were seen between versions. In percent. "
        f"{known['date']}.",
        "",
        f"Aims on test: {AIMS['right']} right, {AIMS['wrong']} wrong, {AIMS['refused']} of the unanswerable refused.",
    ]
    for part, figures in known["figures"].items():
        lines += ["", f"## {part}", "", "| | questions | right | wrong | I don't know |", "|---|---|---|---|---|"]
        lines += [
            f"| {name} | {row['questions']} | {row.get('right', '–')} | "
            f"{row.get('wrong', round(100 - row['refused'], 1))} | {row['refused']} |"
            for name, row in figures.items()
        ]
    return "\n".join(lines) + "\n"


def measured(families: Sequence[dict[str, Any]], **options: Any) -> list[Asked]:
    """All questions of the families asked in one store."""
    with memwell.open("memory:", work=False, **options) as engine:
        return list(asked(filled(engine, families), families))


def show(families: Sequence[dict[str, Any]]) -> None:
    """Print what went wrong."""
    every = measured(families)
    for one in every:
        if one.outcome != ("right" if one.expected else "refused"):
            print(f"{one.family} {one.kind} {one.question} {one.expected} -> {one.answer.text}")
    for name, row in summary(every).items():
        print(name, row)


# What is fitted: how likely an answer is by itself (the bases of the odds), and what the question's own words add. Four
# numbers are as many as the dev questions tell: with all weights fitted again, a family left out was answered worse.
SHIFTS = tuple(step / 4 for step in range(-8, 9))
IN_ITS_WORDS = (0.0, 1.0, 2.0, 3.0)
A_WRONG_ONE = 3  # Right answers that one wrong answer outweighs
_WIDTH = 0.5  # A few questions make a rough count, so the counts at neighbouring shifts are averaged
_NEAR = np.exp(-0.5 * np.square(np.subtract.outer(SHIFTS, SHIFTS) / _WIDTH))
_END = 4  # The outermost shifts have too few neighbours to be chosen themselves


class _Remembering(LocalEmbedder):
    """Embeds each text once: all trials need the same vectors."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        self._rows.update(zip(new, super().embed(new), strict=True) if new else ())
        return np.array([self._rows[text] for text in texts])


class Trials(NamedTuple):
    """What came of each question (the last axis) with each of ``IN_ITS_WORDS`` (the first) and of ``SHIFTS``."""

    outcomes: NDArray[np.str_]
    groups: NDArray[np.str_]
    """The odds that decide about each question."""

    def best(self, among: NDArray[np.bool_]) -> tuple[int, dict[str, int]]:
        """What is best for these questions: the place in ``IN_ITS_WORDS``, and one in ``SHIFTS`` for each odds."""
        worth = (self.outcomes == "right") - A_WRONG_ONE * (self.outcomes == "wrong").astype(float)
        sums = {group: worth[:, :, among & (self.groups == group)].sum(axis=2) for group in ODDS}
        smooth = {group: (one @ _NEAR / _NEAR.sum(axis=0))[:, _END:-_END] for group, one in sums.items()}
        words = int(np.argmax(np.sum([one.max(axis=1) for one in smooth.values()], axis=0)))
        return words, {group: int(one[words].argmax()) + _END for group, one in smooth.items()}

    def of(self, words: int, shifts: dict[str, int]) -> NDArray[np.str_]:
        """What came of each question there."""
        return self.outcomes[words, [shifts[group] for group in self.groups], np.arange(len(self.groups))]


def shifted(words: float, shifts: dict[str, float]) -> dict[str, Odds]:
    """The present odds with other bases, and with another weight of sentences in the question's own words."""
    return {
        group: odds._replace(base=round(odds.base + shifts[group], 2), in_its_words=0.0 if group == "across" else words)
        for group, odds in ODDS.items()
    }


def tried(families: Sequence[dict[str, Any]]) -> tuple[list[Asked], Trials]:
    """All questions of the families, and what comes of them with other odds than the present ones."""
    present, every = dict(ODDS), list[list[Asked]]()
    with memwell.open("memory:", work=False, embedder=_Remembering()) as engine:
        filled(engine, families)
        for words, shift in product(IN_ITS_WORDS, SHIFTS):
            ODDS.update(shifted(words, dict.fromkeys(present, shift)))
            every.append(list(asked(engine, families)))
            ODDS.update(present)
    outcomes = np.array([[one.outcome for one in some] for some in every])
    groups = np.array([one.kind if one.kind in ODDS else en_or_zh(one.question) for one in every[0]])
    return every[0], Trials(outcomes.reshape(len(IN_ITS_WORDS), len(SHIFTS), -1), groups)


def fit(families: Sequence[dict[str, Any]]) -> None:
    """Print the best odds, and what comes of the questions: with them, and with those fitted to all other families."""
    if LocalEmbedder().name != FITTED_TO:
        raise SystemExit(f"no odds decide with the vectors of {LocalEmbedder().name!r}: write that in FITTED_TO first")
    every, trials = tried(families)
    words, shifts = trials.best(np.full(len(every), fill_value=True))
    for group, odds in shifted(IN_ITS_WORDS[words], {group: SHIFTS[at] for group, at in shifts.items()}).items():
        print(group, odds)
    fitted = trials.of(words, shifts)
    apart = fitted.copy()
    for family in {one.family for one in every}:
        among = np.array([one.family == family for one in every])
        apart[among] = trials.of(*trials.best(~among))[among]
    known = np.array([bool(one.expected) for one in every])
    for name, outcomes in (("fitted", fitted), ("each family by the others", apart)):
        right, wrong = (100 * np.mean(outcomes[known] == one) for one in ("right", "wrong"))
        refused = 100 * np.mean(outcomes[~known] == "refused")
        print(f"{name}: right {right:.1f}, wrong {wrong:.1f}; unanswerable refused {refused:.1f}")


def main() -> None:
    """Measure all parts, with vectors and by words alone, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    asks = {"show": show, "fit": fit}
    parser.add_argument(
        "what", nargs="?", choices=asks, help="print only: what went wrong in dev, or odds fitted to it"
    )
    what = parser.parse_args().what
    data = json.loads(DATA.read_text("utf-8"))
    if what:
        asks[what](data["dev"])
        return
    figures = {part: summary(measured(data[part])) for part in PARTS}
    figures |= {f"{part}, by words alone": summary(measured(data[part], embedder=None)) for part in PARTS}
    known = {"date": today(), "figures": figures}
    (RESULTS / "answers.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "answers.md").write_text(page(known), "utf-8")
    print(page(known))


if __name__ == "__main__":
    main()

"""``python -m benchmarks.answers``: whether answers without a model are right, and whether what is not known is refused.

The documents of ``answers.json`` (policies, manuals, minutes, notes, in English and Chinese) and the questions about them
were written for this. A family is a document with its questions: those that it answers, each with the words that the
answer must hold, and those that it does not. Every part of the file is one store. The families under ``test`` were written
first; weights and thresholds were fitted to those under ``dev`` alone, and only the sums of ``test`` were seen meanwhile.
The figures go to ``benchmarks/results/answers.json`` and ``answers.md``.

``--show`` prints what went wrong in the dev families, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import memwell
from benchmarks.report import RESULTS, today
from memwell.knowledge import read_document
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


def main() -> None:
    """Measure all parts, with vectors and by words alone, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what went wrong in the dev families")
    options = parser.parse_args()
    data = json.loads(DATA.read_text("utf-8"))
    if options.show:
        show(data["dev"])
        return
    figures = {part: summary(measured(data[part])) for part in PARTS}
    figures |= {f"{part}, by words alone": summary(measured(data[part], embedder=None)) for part in PARTS}
    known = {"date": today(), "figures": figures}
    (RESULTS / "answers.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "answers.md").write_text(page(known), "utf-8")
    print(page(known))


if __name__ == "__main__":
    main()

"""``python -m benchmarks.facts``: how many of the facts in sentences are read, and how many of those read are right.

``facts.json`` has sentences in English and Chinese, each with the facts that a careful reader would note: plain statements,
preambles, passives, other people, corrections, negations, endings, moves, and hypotheticals, jokes, questions and quotes
that state nothing. The rules were written with the sentences under ``dev``; those under ``test`` are by other writers, and
only their figures were looked at, in all and by relation, which led to some of the changes. ``--failures en`` prints what
is missed or wrong in ``dev``. ``--model qwen3:4b --url http://localhost:11434/v1`` has a chat model read ``test`` too, and
prints its figures next to those of the rules.

A fact is right when its subject, relation, object and state (it holds, or no longer does) are; an object may have more
words around it. The figures go to ``benchmarks/results/facts.json`` and ``facts.md``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import track

from memwell.language.claims import claims
from memwell.longterm.indexing import SaidText, model_claims
from memwell.models.http import OpenAICompatible
from memwell.models.ports import ChatModel

RESULTS = Path(__file__).with_name("results")
DATA = Path(__file__).with_suffix(".json")
PARTS = ("dev", "test")
_NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
_SMALL = re.compile(r"\b(?:a|an|the|my|our|his|her|their|some|any|to|in|at|on|for|of)\b|[^\w]+|[的了]", re.IGNORECASE)
_ALIKE = (frozenset({"likes", "hobby"}), frozenset({"bought", "owns"}), frozenset({"partner", "married_to"}))
_UNLABELLED = frozenset(("kind", "believes"))
"""Relations that the writers of the sentences were not asked for, so that none of them is labelled."""
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}
_KIN = {"mom": "mother", "mum": "mother", "dad": "father", "wife": "partner", "husband": "partner"}


class Fact(NamedTuple):
    """A fact as it is compared."""

    subject: str
    relation: str
    object: str
    ended: bool

    def is_same(self, other: Fact) -> bool:
        """Whether both say the same."""
        if _plain(self.subject) != _plain(other.subject):
            return False
        if self.ended is not other.ended:
            return _OPPOSITE.get(self.relation) == other.relation and _same_words(self.object, other.object)
        if self.ended and not (self.object and other.object):
            return self.relation == other.relation
        relations = {self.relation, other.relation}
        alike = len(relations) == 1 or any(relations <= group for group in _ALIKE)
        return alike and _same_words(self.object, other.object)


def _plain(text: str) -> str:
    words = _SMALL.sub(" ", text.lower().replace("'s", " ")).split()
    return " ".join(_KIN.get(word, word) for word in words)


def _same_words(one: str, other: str) -> bool:
    one, other = _plain(one).replace(" ", ""), _plain(other).replace(" ", "")
    return bool(one and other) and (one in other or other in one)


def read(text: str, chat: ChatModel | None = None) -> list[Fact]:
    """The facts that are read from a text, by the rules or by a model."""
    found = claims(text, time=_NOW) if chat is None else model_claims(chat, [SaidText(text, "", _NOW)])[0].claims
    return [
        Fact(one.subject, one.relation, one.object, one.negated or (one.valid_to is not None and one.valid_to <= _NOW))
        for one in found
        if one.relation not in _UNLABELLED
    ]


class Judged(NamedTuple):
    """What was made of one sentence."""

    kind: str
    text: str
    right: list[Fact]
    missed: list[Fact]
    wrong: list[Fact]


def judged(sentence: dict[str, Any], chat: ChatModel | None = None) -> Judged:
    """Compare what is read from a sentence with its labels."""
    missed = [
        Fact(subject, relation, object_, state == "ended") for subject, relation, object_, state in sentence["facts"]
    ]
    right: list[Fact] = []
    wrong: list[Fact] = []
    for found in dict.fromkeys(read(sentence["text"], chat)):
        same = next((fact for fact in missed if fact.is_same(found)), None)
        if same is not None:
            missed.remove(same)
            right.append(same)
        elif not any(fact.is_same(found) for fact in right):
            wrong.append(found)
    return Judged(sentence["kind"], sentence["text"], right, missed, wrong)


def summary(some: Sequence[Judged]) -> dict[str, Any]:
    """The shares in percent, of all and for each relation and kind."""
    return {
        **_shares(some),
        "relations": {
            name: _shares([_only(one, name) for one in some])
            for name, _ in Counter(_name(fact) for one in some for fact in (*one.right, *one.missed)).most_common()
        },
        "kinds": {
            kind: _shares([one for one in some if one.kind == kind]) for kind in dict.fromkeys(one.kind for one in some)
        },
    }


def _name(fact: Fact) -> str:
    return fact.relation.partition(":")[0]


def _only(one: Judged, name: str) -> Judged:
    def chosen(facts: Iterable[Fact]) -> list[Fact]:
        return [fact for fact in facts if _name(fact) == name]

    return Judged(one.kind, one.text, chosen(one.right), chosen(one.missed), chosen(one.wrong))


def _shares(some: Sequence[Judged]) -> dict[str, Any]:
    right, missed, wrong = (
        sum(len(facts) for facts in column) for column in zip(*(one[2:] for one in some), strict=True)
    )
    return {
        "facts": right + missed,
        "read": right + wrong,
        "precision": round(100 * right / (right + wrong), 1) if right + wrong else None,
        "recall": round(100 * right / (right + missed), 1) if right + missed else None,
    }


def page(known: dict[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# Facts read from sentences\n",
        f"Measured by `python -m benchmarks.facts` on {known['date']}. The rules were written with the "
        "sentences under *dev*; those under *test* are by other writers, and only their figures were looked at, in all "
        "and by relation. Precision "
        "is the share of what is read that is right, recall the share of what is stated that is read, in percent.\n",
        "| | sentences | facts | read | precision | recall |\n|---|---|---|---|---|---|",
    ]
    for name, one in known["figures"].items():
        lines.append(
            f"| {name} | {one['sentences']} | {one['facts']} | {one['read']} | {one['precision']} | {one['recall']} |"
        )
    for group in ("relations", "kinds"):
        names = list(known["figures"])
        rows = dict.fromkeys(row for one in known["figures"].values() for row in one[group])
        lines += [
            f"\n## By {group[:-1]}: precision / recall (facts)\n",
            f"| | {' | '.join(names)} |\n|{'---|' * (1 + len(names))}",
        ]
        for row in rows:
            cells = [known["figures"][name][group].get(row) for name in names]
            shown = [
                "–" if one is None else f"{_or(one['precision'])} / {_or(one['recall'])} ({one['facts']})"
                for one in cells
            ]
            lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _or(share: float | None) -> str:
    return "–" if share is None else str(share)


def _by_both(data: dict[str, Any], chat: ChatModel) -> dict[str, Any]:
    """The figures of the test part, by the rules and by a model."""
    figures: dict[str, Any] = {}
    for language, parts in data.items():
        sentences = parts["test"]
        by_model = [judged(one, chat) for one in track(sentences, f"{language}, {chat.name}")]
        for name, found in (("rules", [judged(one) for one in sentences]), (chat.name, by_model)):
            figures[f"{language}, {name}"] = {"sentences": len(sentences), **summary(found)}
    return figures


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def main() -> None:
    """Measure both languages and write the figures, or print what is missed or wrong in a language's dev part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts", description=__doc__)
    parser.add_argument(
        "--failures", choices=("en", "zh"), help="print what is missed or wrong in dev, and write nothing"
    )
    parser.add_argument("--model", help="a chat model that reads the test part too; writes nothing")
    parser.add_argument("--url", default="http://localhost:11434/v1", help="where it is served (%(default)s)")
    options = parser.parse_args()
    data = json.loads(DATA.read_text("utf-8"))
    if options.failures:
        for one in map(judged, data[options.failures]["dev"]):
            if one.missed or one.wrong:
                print(f"{one.kind}: {one.text}", *(f"  missed {fact}" for fact in one.missed), sep="\n")
                print(*(f"  WRONG  {fact}" for fact in one.wrong), sep="\n", end="\n" if one.wrong else "")
        return
    if options.model:
        print(page({"date": _today(), "figures": _by_both(data, OpenAICompatible(options.url).chat(options.model))}))
        return
    figures: dict[str, Any] = {}
    for language, parts in data.items():
        for part in PARTS:
            figures[f"{language}, {part}"] = {
                "sentences": len(parts[part]),
                **summary([judged(one) for one in parts[part]]),
            }
    known = {"date": _today(), "figures": figures}
    (RESULTS / "facts.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "facts.md").write_text(page(known), "utf-8")
    print(page(known))


if __name__ == "__main__":
    main()

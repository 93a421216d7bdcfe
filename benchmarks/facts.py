"""``python -m benchmarks.facts``: how many of the facts in sentences are read, and how many of those read are right.

``facts.json`` has sentences in English and Chinese, each with the facts that a careful reader would note: plain statements,
preambles, passives, other people, corrections, negations, endings, moves, and hypotheticals, jokes, questions and quotes
that state nothing. The rules were written with the sentences under ``dev``; those under ``test`` are by other writers, and
only their figures were looked at, in all and by relation, which led to some of the changes. Those of another writer were
added later, and those of a third writer after that; by the figures of these nothing was chosen. Both languages are read by
the rules and a reader, which has learnt from ``dev`` (``benchmarks/reader``), and by the rules alone. ``--failures en``
prints what is missed or wrong in ``dev``. ``memwell bench facts benchmarks/facts.json --model …`` has a chat model
read them too.

A fact is right when its subject, relation, object and state (it holds, or no longer does) are; an object may have more
words around it. The figures go to ``benchmarks/results/facts.json`` and ``facts.md``.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memwell.longterm.indexing import read_by_model
from memwell.runtime.evaluation import fact_summary, judge, load_facts

RESULTS = Path(__file__).with_name("results")
DATA = Path(__file__).with_suffix(".json")


def page(known: dict[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# Facts read from sentences\n",
        f"Measured by `python -m benchmarks.facts` on {known['date']}. The rules were written with the "
        "sentences under *dev*, and the readers learnt from them; those under *test* are by other writers, and only their "
        "figures were looked at, in all and by relation. Nothing was chosen by the test of a third writer. Precision "
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


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def main() -> None:
    """Measure both languages and write the figures, or print what is missed or wrong in a language's dev part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts", description=__doc__)
    parser.add_argument(
        "--failures", choices=("en", "zh"), help="print what is missed or wrong in dev, and write nothing"
    )
    options = parser.parse_args()
    data = load_facts(DATA)
    if options.failures:
        for one in judge(data[f"facts, {options.failures}, dev"]):
            if one.mistakes():
                print(f"{one.kind}: {one.text}", *(f"  {what} {fact}" for what, fact in one.mistakes()), sep="\n")
        return
    figures: dict[str, Any] = {}
    for name, sentences in data.items():
        plain = name.removeprefix("facts, ")
        for shown, reader in ((plain, read_by_model), (f"{plain}, rules alone", None)):
            found = judge(sentences, reader=reader)
            figures[shown] = {"sentences": len(found), **fact_summary(found)}
    known = {"date": _today(), "figures": figures}
    (RESULTS / "facts.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "facts.md").write_text(page(known), "utf-8")
    print(page(known))


if __name__ == "__main__":
    main()

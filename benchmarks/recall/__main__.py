"""``python -m benchmarks.recall DATA_FILE …``: measure recall through the public interface and keep what was found.

Each file is a data set that ``memwell bench recall`` takes. The summary goes to ``benchmarks/results/recall.json`` and
``recall.md``, the first twenty ids of every ranking to ``benchmarks/results/recall/``, without the data set's own words.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memwell.runtime.evaluation import Evaluation, evaluate

RESULTS = Path(__file__).resolve().parents[1] / "results"
_KEPT = 20
_LEARNT = {
    "LoCoMo": "not fitted to it; its results were looked at while the signals and the generated dialogues were chosen",
    "LongMemEval, pooled": (
        "learnt from a fifth of its questions, the encoder from all; cross-validated in five folds, each with an encoder "
        "that was not trained on it, macro 77.9, all 79.2 / 90.7 (`recall-folds.md`)"
    ),
    "madial_zh_user1": "learnt from it; cross-validated 64.4 / 76.5",
}


def main() -> None:
    """Measure the data sets that were named, and write all that is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="data sets: LoCoMo, LongMemEval, or in the common form")
    for path in parser.parse_args().files:
        started = time.process_time()
        run = evaluate(path)
        keep(run, time.process_time() - started)
        print(f"{run.data}: {run.queries:,} questions, {time.process_time() - started:.0f} s of CPU", flush=True)


def keep(run: Evaluation, seconds: float) -> None:
    """Write what a run found beside what earlier ones did."""
    (RESULTS / "recall").mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in run.data.lower())
    lines = [
        {"store": one["store"], "query": one["query"], "type": one["type"], "ranking": one["ranking"][:_KEPT]}
        for one in run.rankings
    ]
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    (RESULTS / "recall" / f"{name}.jsonl").write_text(text, "utf-8")
    path = RESULTS / "recall.json"
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    known[run.data] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "memories": run.units,
        "questions": run.queries,
        "cpu_seconds": round(seconds),
        **run.settings,
        "ways": {
            way: {
                "macro": found.macro,
                "all": found.all._asdict(),
                "answerable": found.answerable._asdict(),
                "by_type": {kind: scores._asdict() for kind, scores in found.by_type.items()},
            }
            for way, found in run.summaries.items()
        },
    }
    path.write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "recall.md").write_text(page(known), "utf-8")


def page(known: dict[str, Any]) -> str:
    """All that was found, as a page."""
    parts = [
        "# Recall\n\nMeasured by `python -m benchmarks.recall` through the public interface: every unit remembered in "
        "order, every question asked raw, with the shipped defaults, the same for all sets. nDCG@10 / R@10 in percent; "
        "the macro figure is the mean of the question types' nDCG@10. Rankings are in the folder `recall`.\n"
    ]
    for data, found in known.items():
        parts.append(
            f"\n## {data}\n\n{found['memories']:,} memories, {found['questions']:,} questions, {found['date']}. "
        )
        parts.append(f"The weights: {_LEARNT.get(data, 'never saw it')}.\n\n")
        kinds = list(next(iter(found["ways"].values()))["by_type"])
        parts.append(f"| | macro | all | without adversarial | {' | '.join(kinds)} |\n|{'---|' * (4 + len(kinds))}\n")
        for way, scores in found["ways"].items():
            cells = [_both(scores["all"]), _both(scores["answerable"]), *(_both(scores["by_type"][k]) for k in kinds)]
            parts.append(f"| {way} | {100 * scores['macro']:.1f} | {' | '.join(cells)} |\n")
    return "".join(parts)


def _both(scores: dict[str, float]) -> str:
    return f"{100 * scores['ndcg10']:.1f} / {100 * scores['recall10']:.1f}"


if __name__ == "__main__":
    main()

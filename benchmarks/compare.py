"""``python -m benchmarks.compare [DATA_FILE …]``: memwell and other memories on the same conversations, in one run.

All are given the same texts and the same embedder, called by each of them inside the clock. They take turns: a turn of a
conversation is stored by one after the other, and so is a question asked. Without files the conversations are made-up
ones from this folder, which nothing of memwell was learnt from. Writes ``results/comparison.json`` and the tables of
``docs/comparison.md``.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import memwell
from benchmarks.report import RESULTS, step, today
from benchmarks.rivals import IN_MEMORY, KINDS, Embed, Item, Rival, installed_rivals
from memwell.models.local import LocalEmbedder
from memwell.records import Space
from memwell.runtime.evaluation import Query, Sample, Unit, judged, load, summary

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "comparison.md"
KEPT = RESULTS / "comparison.json"
LIMIT = 10
_SETTLE = 50
"""After as many writes memwell's own background work is done, inside the clock."""


class Memwell(Rival):
    """memwell as it is opened by default, a space a user."""

    name = "memwell"
    package = "memwell"

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        self._engine = memwell.open(folder / "memwell.db", work=False)

    def fill(self, items: Sequence[Item]) -> None:
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        self._engine.at(Space("bench", item.user)).remember(item.text)

    def add_unit(self, user: str, unit: Unit) -> None:
        """Store what was said with who said it and when, for which it has arguments."""
        said = datetime.fromtimestamp(unit.time, UTC) if unit.time else None
        self._engine.at(Space("bench", user)).remember(unit.text, speaker=unit.speaker, session=unit.session, time=said)

    def find(self, user: str, query: str, limit: int) -> list[str]:
        return [hit.text for hit in self._engine.at(Space("bench", user)).recall(query, limit=limit)]

    def find_at(self, user: str, query: Query, limit: int) -> list[str]:
        """The same, asked at the time of the question."""
        now = datetime.fromtimestamp(query.now, UTC) if query.now else None
        return [hit.text for hit in self._engine.at(Space("bench", user)).recall(query.text, limit=limit, now=now)]

    def work(self, user: str) -> None:
        """Index what was stored, as the background worker does."""
        self._engine.at(Space("bench", user)).flush()

    def close(self) -> None:
        self._engine.close()

    @property
    def label(self) -> str:
        return f"memwell {memwell.__version__}"


class Run:
    """One data set in all memories: who found what, and the CPU of each write and question."""

    def __init__(self, folder: Path) -> None:
        embedder = LocalEmbedder()
        self._embed: Embed = lambda text: embedder.embed([text])[0].tolist()
        # The first text loads the models.
        self._embed("Where did we leave off?"), self._embed("我们上次说到哪里了？")
        rivals, self.missing = installed_rivals(folder, embedder.dimensions, self._embed, (*KINDS, *IN_MEMORY))
        self.own = Memwell(folder, embedder.dimensions, self._embed)
        self.all: list[Rival] = [self.own, *rivals]
        self.writes: dict[str, list[float]] = {one.label: [] for one in self.all}
        self.asks: dict[str, list[float]] = {one.label: [] for one in self.all}
        self.embeds: list[float] = []
        self.rankings: list[dict[str, Any]] = []
        self.found: dict[str, list[tuple[str, Any]]] = {one.label: [] for one in self.all}

    def warm_up(self, sample: Sample) -> None:
        """Store and ask for a user of its own, uncounted: the first call of each loads what it needs."""
        self.store(sample._replace(name="warm-up"))
        self.ask(sample._replace(name="warm-up", queries=sample.queries[:5]))
        for kept in (*self.writes.values(), *self.asks.values(), *self.found.values(), self.embeds, self.rankings):
            kept.clear()

    def store(self, sample: Sample) -> None:
        """Store the turns of a conversation one by one, in each memory in turn."""
        for number, unit in enumerate(sample.units, 1):
            item = Item(sample.name, said(unit))
            for one in self._turns(number):
                self.writes[one.label].append(cpu(lambda: self._add(one, item, unit))[0])  # noqa: B023 - called at once
            if number % _SETTLE == 0 or number == len(sample.units):
                self.writes[self.own.label][-1] += cpu(lambda: self.own.work(sample.name))[0]

    def ask(self, sample: Sample) -> None:
        """Ask the questions to a conversation, each of every memory in turn."""
        units = [*reversed(sample.units)]
        # A text that was said twice stands for its first turn, for all alike.
        by_text = {unit.text: unit for unit in units}
        by_said = {said(unit): unit for unit in units}
        same = {unit.id: by_text[unit.text].id for unit in units}
        for number, query in enumerate(sample.queries):
            if not query.gold_sessions:
                query = query._replace(gold=frozenset(same[one] for one in query.gold))
            self.embeds.append(cpu(lambda: self._embed(query.text))[0])  # noqa: B023 - called at once
            line: dict[str, Any] = {"store": sample.name, "query": query.id, "gold": sorted(query.gold), "found": {}}
            for one in self._turns(number):
                spent, texts = cpu(lambda: self._find(one, sample.name, query))  # noqa: B023 - called at once
                self.asks[one.label].append(spent)
                ranking = list(dict.fromkeys((by_text if one is self.own else by_said)[text] for text in texts))
                self.found[one.label].append((query.type, judged(query, ranking)))
                line["found"][one.label] = [unit.id for unit in ranking]
            self.rankings.append(line)

    def _add(self, one: Rival, item: Item, unit: Unit) -> None:
        self.own.add_unit(item.user, unit) if one is self.own else one.add(item)

    def _find(self, one: Rival, user: str, query: Query) -> list[str]:
        return self.own.find_at(user, query, LIMIT) if one is self.own else one.find(user, query.text, LIMIT)

    def _turns(self, number: int) -> list[Rival]:
        start = number % len(self.all)
        return [*self.all[start:], *self.all[:start]]

    def close(self) -> None:
        """Close all memories."""
        for one in self.all:
            one.close()


def said(unit: Unit) -> str:
    """A turn as one text, for memories that have no argument for who said it: with the name they find more."""
    return f"{unit.speaker}: {unit.text}"


def cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU seconds of a call, in all threads, and what it returned."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def compared(name: str, samples: Sequence[Sample]) -> dict[str, Any]:
    """Run one data set, and sum it up."""
    with tempfile.TemporaryDirectory(prefix="memwell-compare-") as folder:
        run = Run(Path(folder))
        run.warm_up(samples[0])
        for number, sample in enumerate(samples, 1):
            size = f"{len(sample.units)} turns, {len(sample.queries)} questions"
            step(f"{name}: conversation {number} of {len(samples)}, {size}")
            run.store(sample)
        for sample in samples:
            run.ask(sample)
        run.close()
    for line in run.missing:
        step(line)
    scores = {label: summary(found) for label, found in run.found.items()}
    return {
        "date": today(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}, other programs running at the same time",
        "conversations": len(samples),
        "memories": sum(len(one.units) for one in samples),
        "questions": len(run.rankings),
        "embedder_ms": round(statistics.median(run.embeds) * 1e3, 2),
        "contenders": {
            label: {
                "ndcg10": round(scores[label].all.ndcg10 * 100, 1),
                "recall10": round(scores[label].all.recall10 * 100, 1),
                "write_ms": round(statistics.mean(run.writes[label]) * 1e3, 2),
                "ask_ms": round(statistics.median(run.asks[label]) * 1e3, 2),
            }
            for label in run.found
        },
        "versions": {one: version(one) for one in ("qdrant-client", "numpy", "onnxruntime")},
        "rankings": run.rankings,
    }


def made_up() -> list[tuple[str, list[Sample]]]:
    """Conversations written for this project, of which nothing was learnt: two of each kind in English, four in Chinese."""
    english = load(HERE / "recall" / "written_en.json")[1]
    kinds = {one.name.partition("-")[0] for one in english}
    some = [one for kind in sorted(kinds) for one in [e for e in english if e.name.startswith(f"{kind}-")][:2]]
    return [("Written, English", some), ("Written, Chinese", load(HERE / "recall" / "written_zh.json")[1][:4])]


def tables(known: dict[str, Any]) -> str:
    """The tables of the page."""
    lines: list[str] = []
    for name, one in known.items():
        lines += [
            f"### {name}",
            "",
            f"{one['conversations']} conversations, {one['memories']:,} memories, {one['questions']:,} questions. "
            f"{one['date']}, "
            f"{one['machine']}. The embedder alone takes {one['embedder_ms']} ms for a question; every figure includes it.",
            "",
            "| | nDCG@10 | R@10 | CPU ms a write | CPU ms a question |",
            "|---|---|---|---|---|",
            *(
                f"| {label} | {row['ndcg10']} | {row['recall10']} | {row['write_ms']} | {row['ask_ms']} |"
                for label, row in one["contenders"].items()
            ),
            "",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Compare on the data sets that were named, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="data sets as `memwell bench recall` takes them, such as LoCoMo"
    )
    parser.add_argument("--conversations", type=int, default=3, help="how many of each file (3)")
    parser.add_argument("--dry", action="store_true", help="print and write nothing")
    given = parser.parse_args()
    sets = [(name, found[: given.conversations]) for name, found in map(load, given.files)] or made_up()
    known: dict[str, Any] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    # A process each: the SQLite that langgraph's index needs (sqlean) and that of memwell crash when both are opened twice.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for name, samples in sets:
            known[name] = processes.submit(compared, name, samples).result()
            print(tables({name: known[name]}), flush=True)
            if not given.dry:
                write(known)


def write(known: dict[str, Any]) -> None:
    """Keep what was found, and put its tables on the page."""
    KEPT.write_text(json.dumps(known, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    begin, end = "<!-- tables: begin -->\n", "<!-- tables: end -->"
    head, rest = PAGE.read_text("utf-8").split(begin)
    PAGE.write_text(f"{head}{begin}{tables(known)}{end}{rest.split(end)[1]}", "utf-8")


if __name__ == "__main__":
    main()

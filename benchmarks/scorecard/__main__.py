"""``python -m benchmarks.scorecard``: run the rows; exit code 1 when anything went wrong.

Each row runs in a process of its own, within a time limit, on this machine alone. ``--row 4`` runs one row, ``--store
postgres`` one kind of store, ``--long`` the long form. Results go to ``benchmarks/results/scorecard.json`` and
``docs/scorecard.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import RESULTS, console, facts, step, today
from benchmarks.scorecard import attacking, keeping
from benchmarks.scorecard.trying import Outcome
from memwell.storage.files import locked

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "scorecard.md"
KEPT = RESULTS / "scorecard.json"
_STORIES = 5


@dataclass(frozen=True)
class Row:
    """One row: what is done, how often in the short and in the long form, and on which stores."""

    name: str
    unit: str
    short: int
    long: int
    run: Callable[[str, int, Path], Outcome]
    stores: tuple[str, ...] = ("sqlite",)
    long_stores: tuple[str, ...] = ()
    """Those that only the long form runs."""


_FILES = ("sqlite", "encrypted")
_BOTH = ("sqlite", "postgres")
_POSTGRES = ("postgres",)
ROWS: dict[int, Row] = {
    1: Row("kill -9 at any moment of mixed operations; the store is opened and compared", "kills", 60, 5_000,
           keeping.killed, (*_FILES, "postgres", "redis")),
    2: Row("exit before every step that an operation does to the files", "exits", 130, 3_000,
           keeping.on_disk("exits"), _FILES),
    3: Row("no room or an error of the disk at every step of an operation", "faults", 300, 5_000,
           keeping.on_disk("faults"), _FILES),
    4: Row("power cut: recorded writes replayed, unsynced ones dropped, torn, reordered", "states", 300, 10_000,
           keeping.on_disk("replays"), _FILES),
    5: Row("random calls, reopenings and kills, compared with the in-memory reference", "sequences", 4, 200,
           keeping.sequences, (*_FILES, "postgres", "redis"), ("sqlite+milvus",)),
    6: Row("8 processes and 8 threads append to one conversation", "appends", 1_600, 8_000, keeping.crowded, _BOTH),
    7: Row("readers while they write", "reads", 1_600, 8_000, keeping.read_meanwhile, ("sqlite",), _POSTGRES),
    8: Row("bits flipped in the store; index files truncated, flipped, deleted", "damages", 40, 1_000,
           keeping.damaged, _FILES),
    9: Row("killed between the two writes of two stores, then reconciled", "deaths", 20, 200,
           keeping.apart, ("memory+engine", "sqlite+redis"), ("sqlite+milvus",)),
    10: Row("connections cut, held and half closed; requests repeated with their key", "requests", 150, 1_000,
            keeping.cut, ("sqlite",), _POSTGRES),
    11: Row("slow summaries and merging during writes", "writes", 60, 500, keeping.consolidated, ("sqlite",), _POSTGRES),
    12: Row("names that differ by a wildcard, blank, accent, quote or prefix", "pairs", 2_500, 100_000,
            keeping.neighbours, (*_BOTH, "redis")),
    13: Row("random filters over hostile keys and values, compared with Python", "filters", 1_000, 50_000,
            keeping.filtered, _BOTH),
    14: Row("every route and tool without a key, with wrong ones, without the scope, of another tenant", "requests", 1, 1,
            attacking.identities),
    15: Row("orders and forged frames remembered with every trust, then asked for", "texts", 1, 1,
            attacking.poisoned, ("memory",)),
    16: Row("memories erased; their words and vectors searched in every file", "memories", 200, 1_000, keeping.erased,
            (*_FILES, "postgres")),
    17: Row("words of an encrypted store searched in every file; wrong keys", "keys", 50, 1_000,
            keeping.encrypted, ("encrypted",)),
    18: Row("requests made of the API's description", "requests", 400, 20_000, attacking.fuzzed, ("sqlite",), _POSTGRES),
    19: Row("bodies that are too large, too deep or no JSON", "requests", 60, 500, attacking.limited),
    20: Row("three times as many clients as may wait, and SIGTERM in the middle", "clients", 60, 200,
            attacking.overloaded),
    21: Row("secrets in every field and address of every route; the audit log changed", "requests", 500, 1_000,
            attacking.planted),
    22: Row("writes with forgetting: memory and size of the store", "writes", 20_000, 1_000_000,
            keeping.forgotten, ("sqlite",), ("encrypted", "postgres")),
}  # fmt: skip


# Running rows, each in a process of its own


def run_row(number: int, store: str, count: int) -> Outcome:
    """Run one row in this process. Where an engine cannot be started, the note says so and nothing is tried."""
    with tempfile.TemporaryDirectory(prefix=f"memwell-row-{number}-") as folder:
        try:
            return ROWS[number].run(store, count, Path(folder))
        except pytest.skip.Exception as skipped:
            return Outcome(0, [], f"not run: {skipped}")


def in_process(number: int, store: str, count: int, limit_s: float) -> dict[str, Any]:
    """The result of a row in a process of its own, which is ended when it takes too long."""
    command = [sys.executable, "-m", "benchmarks.scorecard", "--inside"]
    begun, spent = time.monotonic(), _cpu_of_children()
    with tempfile.NamedTemporaryFile(suffix=".json") as answer:
        asked = ["--row", str(number), "--store", store, "--count", str(count), "--answer", answer.name]
        # From the folder that holds this package, whatever folder the caller is in.
        process = subprocess.Popen([*command, *asked], start_new_session=True, cwd=_ROOT)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            # With what it has started: all of it is a group of its own.
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        told = Path(answer.name).read_text(encoding="utf-8")
    found = json.loads(told) if told else asdict(Outcome(0, [f"ended with {code} after {limit_s:.0f} s at most"]))
    seconds = round(time.monotonic() - begun, 1)
    return {
        "row": number,
        "store": store,
        "date": today(),
        "seconds": seconds,
        "cpu_seconds": round(_cpu_of_children() - spent, 1),
        **found,
        "wrong": len(found["wrong"]),
    } | {"stories": [one[:300] for one in found["wrong"][:_STORIES]]}


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def keep(found: dict[str, Any]) -> None:
    """Put a result in the place of an earlier one of fewer cases, or of one where either went wrong."""
    RESULTS.mkdir(exist_ok=True)
    lock = KEPT.with_suffix(".lock")
    with locked(lock):
        rows = json.loads(KEPT.read_text(encoding="utf-8"))["rows"] if KEPT.exists() else []
        key = found["row"], found["store"]
        [before] = [one for one in rows if (one["row"], one["store"]) == key] or [None]
        if before is None or found["tried"] >= before["tried"] or found["wrong"] or before["wrong"]:
            others = [one for one in rows if one is not before]
            made = [*others, {**found, "made_with": _MADE_WITH.format(**facts())}]
            kept = {"rows": sorted(made, key=lambda one: (one["row"], one["store"]))}
            KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            PAGE.write_text(page(kept), encoding="utf-8")
        lock.unlink(missing_ok=True)


def page(kept: dict[str, Any]) -> str:
    """The page of the documentation."""
    columns = ("row", "what is done", "store", "tried", "lost or wrong", "details", "seconds", "date")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in kept["rows"]:
        row = ROWS[one["row"]]
        tried = f"{one['tried']:,} {row.unit}" + (f" (aim {row.long:,})" if one["tried"] < row.long else "")
        cells = [f"{one['row']}", row.name, one["store"], tried, f"{one['wrong']:,}", one["note"].replace("|", "/")]
        lines.append(" | ".join(["", *cells, f"{one['seconds']:,.0f}", one["date"], ""]).strip())
    made = Counter(one["made_with"] for one in kept["rows"])
    machines = "; ".join(f"{count} lines of the table with {machine}" for machine, count in sorted(made.items()))
    return f"{_WORDS}Made: {machines}.\n\n" + "\n".join(lines) + "\n"


_MADE_WITH = "{cores} cores ({architecture}, {system}), Python {python}, SQLite {sqlite}"


_WORDS = """# Scorecard

What memwell must not lose or let happen, tried in 22 ways, and what was found. The aim is nothing lost and nothing wrong
in any row.

    make scorecard          the short form: about 250 s of processor time, without that of the servers
    make scorecard-long     the long form, in hours on two cores
    python -m benchmarks.scorecard --row 4                              one row
    python -m benchmarks.scorecard --row 4 --store encrypted --long     on one store, in the long form

Each row runs in a process of its own, on this machine alone; the exit code is 1 when a row found something. A row keeps
its largest run, so the table shows the long form where one was made; where fewer cases were tried than the long form
aims at, the aim stands beside them. A smaller run than the one that is kept changes no file. *sqlite* is a store with page
checksums, *encrypted* one with a secret. This page is made from `benchmarks/results/scorecard.json`.

Row 16 searches every file of a SQLite store, and the files of the tables of a PostgreSQL server, whose write-ahead log
keeps what was written until it is recycled; see [forgetting](forgetting.md#erasing).

"""


def main() -> int:
    """Run what was asked for; returns the exit code."""
    options = _options()
    if options.inside:
        found = run_row(options.row, options.store, options.count)
        Path(options.answer).write_text(json.dumps(asdict(found)), encoding="utf-8")
        return 0
    bad, begun = 0, time.monotonic()
    for number in [options.row] if options.row else list(ROWS):
        row = ROWS[number]
        stores = row.stores + (row.long_stores if options.long or options.row else ())
        for store in [options.store] if options.store else stores:
            step(f"row {number}, {store}: {row.name}")
            count = options.count or (row.long if options.long else row.short)
            found = in_process(number, store, count, options.limit)
            took = f"{found['seconds']} s, {found['cpu_seconds']} s of CPU"
            step(f"… {found['tried']:,} {row.unit}, {found['wrong']} wrong, {took}. {found['note']}")
            for story in found["stories"]:
                console.print(f"• {story}", markup=False, soft_wrap=True)
            bad += bool(found["wrong"])
            if not options.dry and (found["tried"] or found["wrong"]):
                keep(found)
    step(f"{time.monotonic() - begun:,.0f} s, {_cpu_of_children():,.0f} s of CPU")
    console.print("[bold green]nothing was lost[/]" if not bad else f"[bold red]{bad} rows went wrong[/]")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scorecard", description=__doc__)
    parser.add_argument("--row", type=int, choices=list(ROWS), help="only this row (all)")
    parser.add_argument("--store", help="only this kind of store (those of the row)")
    parser.add_argument("--count", type=int, help="the number of cases, instead of that of the short or long form")
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds that a row may take on a store (3,600)")
    parser.add_argument("--dry", action="store_true", help="do not write results")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

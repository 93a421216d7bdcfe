"""``python -m benchmarks.crash``: kill writers, then crowd them; print what was lost. Exit code 1 when anything was."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.crash import contention, killing
from benchmarks.crash.children import Nursery, write_until_killed
from benchmarks.crash.judgement import Counts
from benchmarks.crash.results import keep
from benchmarks.report import console, facts, step, today


def main() -> int:
    """Run what was asked for; returns the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="memwell-crash-") as folder:
        # Before anything is opened here: children are forked from a process that has nothing open.
        nursery = None if options.contention else Nursery(write_until_killed)
        run: dict[str, Any] = {"date": today(), "facts": facts()}
        if nursery is not None:
            run["kills"] = _kill(Path(folder), nursery, options)
            nursery.close()
        run["contention"] = _contend(Path(folder))
    bad = run.get("kills", {}).get("bad", 0) + len(run["contention"]["errors"])
    if not options.dry:
        keep(run)
    console.print("[bold green]nothing was lost[/]" if not bad else f"[bold red]{bad} things went wrong[/]")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=2000, help="how many writers to kill (2000)")
    parser.add_argument("--stores", type=int, default=4, help="over how many stores in turn (4)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the plan of an earlier run; its moments differ")
    parser.add_argument("--contention", action="store_true", help="only the crowd of writers, no kills")
    parser.add_argument("--dry", action="store_true", help="do not add the result to benchmarks/results")
    return parser.parse_args()


def _kill(folder: Path, nursery: Nursery, options: argparse.Namespace) -> dict[str, Any]:
    seed = secrets.randbits(32) if options.seed is None else options.seed
    step(f"{options.kills:,} kills over {options.stores} stores, seed {seed}")
    began = time.perf_counter()
    with _progress() as progress:
        bar = progress.add_task("kills", total=options.kills)

        def advance(counts: Counts) -> None:
            progress.update(
                bar,
                completed=counts.kills,
                description=f"kills ({counts.acknowledged:,} acknowledged, {counts.bad} wrong)",
            )
            if not console.is_terminal and counts.kills % 100 == 0:
                step(f"{counts.kills:,} kills, {counts.acknowledged:,} operations acknowledged, {counts.bad} wrong")

        counts = killing.run(folder, nursery, kills=options.kills, stores=options.stores, seed=seed, progress=advance)
    found = {
        "seed": seed,
        "stores": options.stores,
        "seconds": round(time.perf_counter() - began, 1),
        "bad": counts.bad,
    }
    found |= asdict(counts)
    _show("Kills", {name: value for name, value in found.items() if name != "stories"})
    for story in counts.stories:
        console.print(f"[red]•[/] {story}", markup=True, soft_wrap=True)
    return found


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _contend(folder: Path) -> dict[str, Any]:
    processes, threads, appends = contention.PROCESSES, contention.THREADS, contention.APPENDS
    step(f"{processes} processes and {threads} threads of another, {appends} appends each, to one conversation")
    findings = contention.run(folder)
    found: dict[str, Any] = asdict(findings) | {"expected": (processes + threads) * appends}
    if findings.stored != found["expected"] and not findings.errors:
        found["errors"] = [f"{findings.stored} stored of {found['expected']}"]
    shown = {name: f"{value:,.2f}" if isinstance(value, float) else value for name, value in found.items()}
    _show("Contention", shown | {"errors": len(found["errors"])})
    for text in found["errors"][:5]:
        console.print(text, soft_wrap=True)
    return found


def _show(title: str, values: dict[str, Any]) -> None:
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value}")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())

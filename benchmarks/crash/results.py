"""The crash runs that are kept: numbers only, the newest last."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.crash import contention
from benchmarks.report import RESULTS

_KEPT_RUNS = 20

_KILLS = {
    "kills": "kills",
    "met an operation": "hit",
    "acknowledged": "acknowledged",
    "lost": "lost",
    "phantom": "phantom",
    "torn": "torn",
    "disagreed": "disagreed",
    "unreadable": "unreadable",
    "check failed": "check_failures",
    "child failed": "child_failures",
    "seconds": "seconds",
}
_CONTENTION = {
    "appends": "appends",
    "stored": "stored",
    "a second": "rate",
    "median ms": "median_ms",
    "p99 ms": "p99_ms",
    "slowest ms": "slowest_ms",
    "reads meanwhile": "reads",
    "errors": "errors",
}


def keep(run: dict[str, Any]) -> None:
    """Add a run to those kept."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "crash.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    runs = [*runs, _numbers(run)][-_KEPT_RUNS:]
    path.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "crash.md").write_text(_markdown(runs), encoding="utf-8")


def _numbers(run: dict[str, Any]) -> dict[str, Any]:
    """The run without its stories, which name temporary files; of those the number is enough."""
    kept = dict(run)
    if "kills" in run:
        kept["kills"] = {name: value for name, value in run["kills"].items() if name != "stories"}
    kept["contention"] = run["contention"] | {"errors": len(run["contention"]["errors"])}
    return kept


def _markdown(runs: list[dict[str, Any]]) -> str:
    kills = [run for run in runs if "kills" in run]
    return f"""# Crash runs

Made by `make crash`, the newest last.

## Kills

A child writes to a store from one or two threads and is killed with SIGKILL. The store is opened again and compared with
the in-memory reference: rows, versions, values, vectors, blobs and `check()` after every kill, and the answers of searches
by word and by vector after every third. *Met an operation*: a call was under way when the kill came; it must be there
wholly or not at all. *Disagreed*: an answer differed from the reference's.

{_table("kills", kills, _KILLS)}

## Contention

{contention.PROCESSES} processes and {contention.THREADS} threads of one more, {contention.APPENDS} appends each, to one
conversation, while others read it and check every message, its place and its writer's order.

{_table("contention", runs, _CONTENTION)}
"""


def _table(part: str, runs: list[dict[str, Any]], columns: dict[str, str]) -> str:
    lines = [f"| date | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for run in runs:
        cells = [_cell(run[part][name]) for name in columns.values()]
        lines.append(f"| {run['date']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


__all__ = ["keep"]

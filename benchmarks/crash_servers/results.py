"""The runs that are kept: numbers only, the newest last."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.report import RESULTS

_KEPT_RUNS = 40

_COLUMNS = {
    "writers killed": "writer_kills",
    "servers killed": "server_kills",
    "connections broken": "cuts",
    "looks": "looks",
    "acknowledged": "acknowledged",
    "under way": "under_way",
    "of these stored": "under_way_stored",
    "raised": "raised",
    "of these stored ": "raised_stored",
    "lost": "lost",
    "phantom": "phantom",
    "torn": "torn",
    "misplaced": "misplaced",
    "miscounted": "miscounted",
    "unreadable": "unreadable",
    "check failed": "check_failures",
    "writer failed": "child_failures",
    "seconds": "seconds",
}


def keep(run: dict[str, Any]) -> None:
    """Add a run to those kept."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "crash-servers.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    # Stories name temporary files; their number is enough.
    runs = [*runs, {name: value for name, value in run.items() if name != "stories"}][-_KEPT_RUNS:]
    path.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "crash-servers.md").write_text(_markdown(runs), encoding="utf-8")


def _markdown(runs: list[dict[str, Any]]) -> str:
    return f"""# Crash runs with servers

Made by `make crash-servers`, the newest last.

Two writers append to one conversation, count one counter up with compare-and-set, put entries, upsert records, and book
transactions over all four parts of the store (a message, its record, a sum, its bytes), some of which are given up on
purpose; on Redis alone the first three. Where messages are in Redis and the rest in SQLite, the message of a booking is
stored at once. *Writers killed*: SIGKILL at any moment. *Servers killed*: SIGKILL of all of PostgreSQL (fsync on), of Redis
(appendfsync always), or of a master of the cluster (wait=1), whose replica takes over; the writers go on. *Connections
broken*: cut between two bytes of a request or an answer, cut at once, half closed, or held for up to 0.3 s and,
where a note does not say otherwise, sometimes for up to 1.6 s: longer than writers wait for Redis to answer (1 s), so that
a request arrives after it was sent again.

After each the whole store is read and compared with what the writers were told. *Acknowledged* deeds must be there once,
in their places. *Under way*: a kill met them; *raised*: they ended in `BackendUnavailable` after four tries (entries and
counters after one); both may be there, wholly, once, or not at all. *Torn*: a transaction, or one append of several
messages, is there in part. *Miscounted*: the counter is not the number of increments that were acknowledged, give or take
those nobody knows the end of; such an increment is not among those *stored*. *Check failed*: what `check()` found.

{_table(runs)}

{_notes(runs)}
"""


def _notes(runs: list[dict[str, Any]]) -> str:
    return "\n".join(f"- Run {number}: {run['note']}" for number, run in enumerate(runs, 1) if "note" in run)


def _table(runs: list[dict[str, Any]]) -> str:
    lines = [f"| date | store | {' | '.join(name.strip() for name in _COLUMNS)} |", "|---" * (len(_COLUMNS) + 2) + "|"]
    for run in runs:
        cells = [_cell(run[name]) for name in _COLUMNS.values()]
        lines.append(f"| {run['date']} | {run['store']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


__all__ = ["keep"]

"""``python -m benchmarks.service``: 200 clients for a minute; then stopped, then killed in the middle. Exit code 1 when
anything acknowledged was lost, an answer was an error, or stopping took ten seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, console, facts, step, today
from benchmarks.service.load import Crowd, Run, lost
from benchmarks.service.serving import Served, make_key

_LONGEST_STOP_S = 10.0


def main() -> int:
    """Run all of it; returns the exit code."""
    options = _options()
    rounds = [
        ("to the end", None),
        ("SIGTERM in the middle", signal.SIGTERM),
        ("SIGKILL in the middle", signal.SIGKILL),
    ]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memwell-load-") as folder:
        for number, (name, how) in enumerate(rounds):
            step(f"{options.clients} clients for {options.seconds} s: {name}")
            rows.append(measured(Path(folder) / f"{number}.db", name, how, options.clients, options.seconds))
            console.print(rows[-1])
    bad = [row for row in rows if row["lost"] or row["errors"] or row["stopped_s"] > _LONGEST_STOP_S]
    if not options.dry:
        _keep(rows, options)
    console.print("[bold green]nothing was lost[/]" if not bad else f"[bold red]{len(bad)} rounds went wrong[/]")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--clients", type=int, default=200, help="how many at once (200)")
    parser.add_argument("--seconds", type=float, default=60, help="for how long (60)")
    parser.add_argument("--dry", action="store_true", help="do not write the result to benchmarks/results")
    return parser.parse_args()


def measured(
    store: Path, name: str, how: signal.Signals | None, clients: int, seconds: float, **environment: str
) -> dict[str, Any]:
    """One round: so many clients for so long, and in the middle perhaps a signal. ``environment`` is the service's."""
    token = make_key(store)
    served = Served(store, **environment)
    served.wait_ready()
    crowd = Crowd(served.port, token, clients=clients, seconds=seconds)
    stopped, held = 0.0, 0.0

    async def go() -> Run:
        nonlocal stopped, held
        going = asyncio.create_task(crowd.go())
        if how is not None:
            await asyncio.sleep(seconds / 2)
            held = served.memory_mb
            stopped, _ = await asyncio.to_thread(served.stop, how)
        return await going

    run = asyncio.run(go())
    if how is None:
        held = served.memory_mb
        stopped, _ = served.stop()
    return {
        "round": name,
        "answered": run.answered,
        "a_second": round(run.answered / run.took, 1),
        # Told to come back later while it stops, which is what a client should be told.
        "sent_away": run.statuses[503] if how is not None else 0,
        "errors": sum(number for status, number in run.statuses.items() if _is_error(status, how)),
        "cut": run.cut,
        "memories": len(run.memories),
        "messages": len(run.messages),
        "lost": lost(store, run),
        "stopped_s": round(stopped, 2),
        "memory_mb": round(held),
        **{
            f"{kind}_{word}_ms": round(run.quantile(kind, share), 1)
            for kind in ("write", "recall", "message")
            for word, share in (("p50", 0.5), ("p95", 0.95))
        },
        "statuses": dict(run.statuses),
        "first_errors": run.errors[:5],
    }


def _is_error(status: int, how: signal.Signals | None) -> bool:
    return status not in (200, 201) and not (status == 503 and how is not None)


def _keep(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    run = {"date": today(), "facts": facts(), "clients": options.clients, "seconds": options.seconds, "rounds": rows}
    (RESULTS / "service-load.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    columns = [name for name in rows[0] if name not in ("first_errors", "statuses")]
    lines = [
        "# The service under load",
        "",
        f"`python -m benchmarks.service`, {run['date']}: {options.clients} clients at once for {options.seconds:.0f} s "
        "each round, half of the requests remember, three of ten recall, two of ten add a message. The clients share the",
        "cores with the service. After each round the store is opened and everything acknowledged is looked for.",
        "",
        "| " + " | ".join(["", *(row["round"] for row in rows)]) + " |",
        "|" + "---|" * (len(rows) + 1),
        *(
            "| " + " | ".join([name.replace("_", " "), *(str(row[name]) for row in rows)]) + " |"
            for name in columns[1:]
        ),
    ]
    (RESULTS / "service-load.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""``python -m benchmarks.crash_servers``: kill writers, servers and connections; exit code 1 when anything was lost."""

from __future__ import annotations

import argparse
import importlib
import secrets
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.crash.children import Nursery
from benchmarks.crash_servers.judgement import Counts
from benchmarks.crash_servers.results import keep
from benchmarks.crash_servers.running import Run
from benchmarks.crash_servers.sites import SITES
from benchmarks.crash_servers.writing import write_until_killed
from benchmarks.report import console, facts, step, today

_WRITERS = 2
_DRIVERS = ("memwell.storage.postgres", "memwell.storage.redis", "memwell.storage.sqlite", "memwell.storage.composed")


def main() -> int:
    """Run what was asked for; returns the exit code."""
    options = _options()
    # Before anything is opened here: writers are forked from processes that have nothing open.
    for name in _DRIVERS:
        importlib.import_module(name)
    nurseries = [Nursery(write_until_killed) for _ in range(_WRITERS)]
    bad = sum(_torment(store, nurseries, options) for store in options.store or list(SITES))
    # The later one was forked with the pipes of the earlier one open.
    for nursery in reversed(nurseries):
        nursery.close()
    console.print("[bold green]nothing was lost[/]" if not bad else f"[bold red]{bad} things went wrong[/]")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash_servers", description=__doc__)
    parser.add_argument("--store", action="append", choices=list(SITES), help="only this one; may be given again (all)")
    parser.add_argument("--kills", type=int, default=100, help="how many writers to kill (100)")
    parser.add_argument("--server-kills", type=int, default=10, help="how often to kill a server (10)")
    parser.add_argument("--cuts", type=int, default=100, help="how often to break connections; not for clusters (100)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the plan of an earlier run; its moments differ")
    parser.add_argument("--dry", action="store_true", help="do not add the result to benchmarks/results")
    return parser.parse_args()


def _torment(store: str, nurseries: list[Nursery], options: argparse.Namespace) -> int:
    seed = secrets.randbits(32) if options.seed is None else options.seed
    site = SITES[store]()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="memwell-crash-") as folder:
        try:
            step(f"{store}, seed {seed}")
            run = Run(site, nurseries, Path(folder), seed, _tell)
            run.kill_writers(options.kills)
            run.kill_server(options.server_kills)
            if site.proxy is not None:
                run.cut(options.cuts)
        finally:
            site.close()
    found: dict[str, Any] = {"date": today(), "store": store, "facts": facts(), "seed": seed, **asdict(run.counts)}
    found["seconds"] = round(time.perf_counter() - began, 1)
    _show(found)
    if not options.dry:
        keep(found)
    return run.counts.bad


def _tell(counts: Counts) -> None:
    if counts.looks % 10 == 0:
        step(
            f"{counts.writer_kills} writers, {counts.server_kills} servers, {counts.cuts} connections; "
            f"{counts.acknowledged:,} acknowledged, {counts.bad} wrong"
        )


def _show(found: dict[str, Any]) -> None:
    table = Table(title=found["store"], title_justify="left", show_header=False)
    for name, value in found.items():
        if name not in ("stories", "facts", "store"):
            table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value}")
    console.print(table)
    for story in found["stories"]:
        console.print(f"• {story}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())

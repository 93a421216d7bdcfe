"""Starting: importing the library, and opening a large store, each in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks.report import Figure, Grid, Section, step
from benchmarks.stores import Tenants

_IMPORT = """
import time
cpu, wall = time.process_time(), time.perf_counter()
{statement}
print([time.process_time() - cpu, time.perf_counter() - wall])
"""

_OPEN = """
import json, os, resource, sys, time
from memwell.records import Space
from memwell.storage.sqlite import SqliteBackend

def resident():
    if not os.path.exists("/proc/self/statm"):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

before = resident()
cpu, wall = time.process_time(), time.perf_counter()
backend = SqliteBackend(sys.argv[1])
found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "grown": resident() - before}
space = Space(*json.loads(sys.argv[2]))
records = backend.index.info(space).records
backend.index.get(space, ["0"])
found |= {"used": resident() - before, "records": records, "heavy": "numpy" in sys.modules}
cpu = time.process_time()
backend.index.near(space, [1.0] * 384)
found |= {"first_search": time.process_time() - cpu, "searched": resident() - before}
print(json.dumps(found))
"""


def _fresh(code: str, *arguments: str) -> Any:
    """What a fresh interpreter prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def import_(*, quick: bool) -> Section:
    """``import memwell``, beside an import of the peers."""
    section = Section("import")
    step("import: fresh processes")
    wanted = {
        "import memwell": "import memwell",
        "… and open a store": "import memwell, memwell.storage.sqlite",
        "… and search by vector": "import memwell, memwell.storage.sqlite.vectors",
        "agents (openai-agents)": "import agents",
        "langgraph.store.sqlite": "import langgraph.store.sqlite",
    }
    times: dict[str, list[list[float]]] = {name: [] for name in wanted}
    missing: dict[str, str] = {}
    for _ in range(3 if quick else 10):
        for name, statement in wanted.items():
            if name not in missing:
                try:
                    times[name].append(_fresh(_IMPORT.format(statement=statement)))
                except subprocess.CalledProcessError as error:
                    missing[name] = error.stderr.strip().splitlines()[-1]
    grid = Grid("Import in a fresh process", ["", "CPU ms", "wall ms"])
    for name, found in times.items():
        if name in missing:
            grid.add(f"{name}: {missing[name]}", "–", "–")
        else:
            grid.add(name, *(f"{median(column) * 1e3:.0f}" for column in zip(*found, strict=True)))
    section.grids.append(grid)
    cpu = median(pair[0] for pair in times["import memwell"])
    section.figures.append(Figure("import memwell: CPU", "< 0.3 s", f"{cpu:.3f} s", cpu < 0.3))
    return section


def open_(tenants: Tenants, *, quick: bool) -> Section:
    """Opening a store of 100k records, before and after the first search."""
    section = Section("open")
    step("open: fresh processes")
    path, space = str(tenants.path), json.dumps(list(tenants.largest))
    runs = [_fresh(_OPEN, path, space) for _ in range(3 if quick else 9)]
    middle = {name: median(run[name] for run in runs) for name in runs[0]}
    total = sum(tenants.sizes.values())
    grid = Grid(
        f"Open a store of {total:,} records ({tenants.path.stat().st_size / 2**20:.0f} MB)",
        ["", "time", "RSS grown by"],
    )
    grid.add(
        "open", f"{middle['wall'] * 1e3:.1f} ms wall, {middle['cpu'] * 1e3:.1f} ms CPU", _megabytes(middle["grown"])
    )
    grid.add("… and read a record", "", _megabytes(middle["used"]))
    first = f"{middle['first_search'] * 1e3:.0f} ms CPU"
    grid.add(f"… and search {middle['records']:,.0f} vectors", first, _megabytes(middle["searched"]))
    section.grids.append(grid)
    slowest, largest = max(run["wall"] for run in runs), max(run["used"] for run in runs)
    section.figures += [
        Figure(f"open {total:,} records: slowest of {len(runs)}", "< 100 ms", f"{slowest * 1e3:.1f} ms", slowest < 0.1),
        Figure("open: RSS grown before the first search", "< 50 MB", _megabytes(largest), largest < 50 * 2**20),
    ]
    return section


def _megabytes(size: float) -> str:
    return f"{size / 2**20:.1f} MB"


__all__ = ["import_", "open_"]

"""``python -m benchmarks.agentscope_files``: kill writers of a cache of embeddings, then let four write at once.

The same is done to AgentScope's own class, when it is installed. Exit code 1 when ours lost, tore or refused anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.forking import child, forked, rest_of
from benchmarks.report import RESULTS, console, facts, step, today
from memwell.compat.agentscope.embedding_cache import FileEmbeddingCache

_PROCESSES = 4
_LIMIT = 50
"""Files that the cache may hold."""
_TIMES = 2
"""So often a name is stored: first as a new file, for which an old one goes, then over itself."""
_KEPT = 25
"""So many of the newest are surely there: the others may have gone for newer ones, in the order of the clock's ticks."""
_LONG = 20_000
"""Numbers of a vector: its file spans pages, which one write may be torn between."""
_SHORT = 384
_KEPT_RUNS = 20
_FAILURES = (OSError, ValueError, EOFError, RuntimeError)
"""What either class raises when a file is gone or torn."""

Opener = Callable[[str], Any]


@dataclass
class Kills:
    """What the kills left."""

    writer: str
    kills: int = 0
    acknowledged: int = 0
    unreadable: int = 0
    """Files that numpy could not read right after the kill."""
    lost: int = 0
    """Embeddings that had been acknowledged, were among the newest, and are gone."""
    wrong: int = 0
    """Embeddings that are others than those acknowledged last, or under way."""
    over: int = 0
    """Times that there were more files than the limit after the next store."""
    failed: int = 0
    """Stores after a kill, and writers before one, that raised."""
    seconds: float = 0.0


@dataclass
class Crowd:
    """What four writers at once left."""

    writer: str
    stores: int = 0
    errors: int = 0
    """Stores and reads that raised, and processes that died."""
    reads: int = 0
    """Files read meanwhile, by numpy alone."""
    torn_reads: int = 0
    unreadable: int = 0
    """Files that numpy could not read in the end."""
    files: int = 0
    """Files in the end; there may be 100."""
    seconds: float = 0.0


# Kills


def kill_writers(folder: Path, opener: Opener, writer: str, kills: int, seed: int = 6) -> Kills:
    """Kill that many writers with SIGKILL, each at a random moment, and compare the files with what they acknowledged."""
    lot, found = random.Random(seed), Kills(writer)
    place = str(folder / f"{writer}-killed")
    os.mkdir(place)
    began = time.perf_counter()
    for number in range(kills):
        done = _killed(place, opener, number, lot, found)
        found.kills += 1
        found.acknowledged += len(done)
        for path in _unreadable(place):
            found.unreadable += 1
            # It is counted; the next kill is to count its own alone.
            path.unlink()
        asyncio.run(_judge(opener(place), number, len(done), found))
        found.over += len(list(_files(place))) > _LIMIT
    found.seconds = round(time.perf_counter() - began, 1)
    return found


def _killed(place: str, opener: Opener, number: int, lot: random.Random, found: Kills) -> list[bytes]:
    """What a writer acknowledged until it was killed."""
    early, life = lot.random() < 0.1, lot.uniform(0.0, 0.05)
    with child(lambda tell: asyncio.run(_write_on(opener(place), number, tell))) as (pid, pipe):
        # One in ten is killed at a moment counted from its birth: while it looks through what the one before left.
        first = b"" if early else os.read(pipe, 64)
        time.sleep(life)
        # One that has raised is still there to be killed, for nobody has waited for it yet.
        found.failed += _has_raised(pid)
        os.kill(pid, signal.SIGKILL)
        said = first + rest_of(pipe)
    return said.splitlines()


def _has_raised(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


async def _write_on(cache: Any, number: int, tell: int) -> None:
    turn = 0
    while True:
        await cache.store(_vectors(turn, _LONG), [number, turn // _TIMES], overwrite=True)
        os.write(tell, b"x\n")
        turn += 1


async def _judge(cache: Any, number: int, done: int, found: Kills) -> None:
    """Compare the newest embeddings with what was acknowledged, then store once more."""
    names = -(-done // _TIMES)
    for name in range(max(0, names - _KEPT), names):
        held = await cache.retrieve([number, name])
        newest = min((name + 1) * _TIMES, done) - 1
        # The one under way is number ``done``, and may be there in the place of one with the same name.
        allowed = {float(newest)} | ({float(done)} if done // _TIMES == name else set())
        found.lost += held is None
        found.wrong += held is not None and (len(held[0]) != _LONG or not allowed.issuperset(held[0]))
    try:
        await cache.store(_vectors(0, _LONG), ["after", number])
    except _FAILURES:
        found.failed += 1


def _vectors(number: int, length: int) -> list[list[float]]:
    return [[float(number)] * length]


# A crowd


def crowd_writers(folder: Path, opener: Opener, writer: str, processes: int, stores: int) -> Crowd:
    """Let processes store in one folder at once, while its files are read by numpy alone."""
    found = Crowd(writer, stores=processes * stores)
    place = str(folder / f"{writer}-crowd")
    os.mkdir(place)
    began = time.perf_counter()
    running = [
        forked(lambda tell, name=name: asyncio.run(_store_all(opener(place), name, processes, stores, tell)))
        for name in range(processes)
    ]
    while running:
        for path in _files(place):
            found.reads += 1
            found.torn_reads += not _is_readable(path)
        running = [one for one in running if not _has_ended(one, found)]
    found.seconds = round(time.perf_counter() - began, 1)
    found.unreadable = len(list(_unreadable(place)))
    found.files = len(list(_files(place)))
    return found


async def _store_all(cache: Any, name: int, processes: int, stores: int, tell: int) -> None:
    """Store one's own embeddings and read those of the next process; tell how often that raised."""
    errors = 0
    for number in range(stores):
        try:
            await cache.store(_vectors(number, _SHORT), [name, number])
            await cache.retrieve([(name + 1) % processes, number])
        except _FAILURES:
            errors += 1
    os.write(tell, str(errors).encode())


def _has_ended(one: tuple[int, int], found: Crowd) -> bool:
    pid, status = os.waitpid(one[0], os.WNOHANG)
    if pid:
        found.errors += int(rest_of(one[1]) or b"1")
        os.close(one[1])
        found.errors += os.waitstatus_to_exitcode(status) != 0
    return pid != 0


def _files(place: str) -> Iterable[Path]:
    return list(Path(place).glob("*.npy"))


def _unreadable(place: str) -> list[Path]:
    return [path for path in _files(place) if not _is_readable(path)]


def _is_readable(path: Path) -> bool:
    try:
        np.load(path)
    except FileNotFoundError:
        # It went for a newer one, as it should.
        return True
    except (ValueError, EOFError):
        return False
    return True


# Who writes, and what is told


def _writers() -> dict[str, Callable[..., Any]]:
    """Ours, and AgentScope's own if it is here."""
    writers: dict[str, Callable[..., Any]] = {"memwell": FileEmbeddingCache}
    try:
        theirs = import_module("agentscope.embedding")
    except ImportError as error:
        console.print(f"AgentScope is not installed ({error}): ours alone")
        return writers
    # It says of every file it removes that it did.
    logging.getLogger("as").setLevel(logging.CRITICAL)
    return writers | {"agentscope": theirs.FileEmbeddingCache}


def main() -> int:
    """Run what was asked for; returns the exit code."""
    options = _options()
    run: dict[str, Any] = {"date": today(), "facts": facts(), "kills": [], "crowds": []}
    for writer, cache in _writers().items() if not options.ours else [("memwell", FileEmbeddingCache)]:
        with tempfile.TemporaryDirectory(prefix="memwell-files-") as folder:
            if not options.json:
                step(f"{writer}: {options.kills} kills, then {_PROCESSES} processes × {options.stores} stores")
            bounded = _bounded(cache, _LIMIT)
            run["kills"].append(asdict(kill_writers(Path(folder), bounded, writer, options.kills)))
            wider = _bounded(cache, 2 * _LIMIT)
            run["crowds"].append(asdict(crowd_writers(Path(folder), wider, writer, _PROCESSES, options.stores)))
    if options.json:
        print(json.dumps(run))
    else:
        _show(run)
    if not options.dry:
        _keep(run)
    return 0 if _is_sound(run["kills"][0], run["crowds"][0]) else 1


def _bounded(cache: Callable[..., Any], files: int) -> Opener:
    return lambda place: cache(place, max_file_number=files)


def _is_sound(kills: dict[str, Any], crowd: dict[str, Any]) -> bool:
    bad = [kills[name] for name in ("unreadable", "lost", "wrong", "over", "failed")]
    bad += [crowd[name] for name in ("errors", "torn_reads", "unreadable")]
    return not any(bad) and crowd["files"] == min(2 * _LIMIT, crowd["stores"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agentscope_files", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many writers to kill (200)")
    parser.add_argument("--stores", type=int, default=500, help="how often each of four writers stores (500)")
    parser.add_argument("--ours", action="store_true", help="leave AgentScope's own class out")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--dry", action="store_true", help="do not add the result to benchmarks/results")
    return parser.parse_args()


def _show(run: dict[str, Any]) -> None:
    for title, rows in (("Kills", run["kills"]), ("Four writers at once", run["crowds"])):
        table = Table(*rows[0], title=title, title_justify="left")
        for row in rows:
            table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
        console.print(table)


def _keep(run: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "agentscope-files.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    runs = [*runs, run][-_KEPT_RUNS:]
    path.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "agentscope-files.md").write_text(_markdown(runs), encoding="utf-8")


def _markdown(runs: list[dict[str, Any]]) -> str:
    return f"""# A cache of embeddings under kills and four writers

Made by `python -m benchmarks.agentscope_files`, the newest last.

## Kills

A child stores vectors of {_LONG:,} numbers in a cache that may hold {_LIMIT} files, every second one over the one before,
and is killed with SIGKILL at a random moment. *Unreadable*: files that numpy could not read right after the kill. *Lost*:
of the {_KEPT} that were acknowledged last, those that are gone. *Wrong*: those that hold something else. *Over*: how often
there were more than {_LIMIT} files after the next store. *Failed*: stores that raised.

{_lines(runs, "kills")}

## Four writers at once

Four processes store in one folder that may hold {2 * _LIMIT} files, and each reads what another has stored. *Errors*: calls
that raised. *Torn reads*: files that numpy alone, reading meanwhile, could not read. *Unreadable*: those in the end.

{_lines(runs, "crowds")}
"""


def _lines(runs: list[dict[str, Any]], part: str) -> str:
    columns = list(runs[-1][part][0])
    lines = [f"| date | {' | '.join(columns).replace('_', ' ')} |", "|---" * (len(columns) + 1) + "|"]
    for run in runs:
        for row in run[part]:
            cells = [f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()]
            lines.append(f"| {run['date']} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

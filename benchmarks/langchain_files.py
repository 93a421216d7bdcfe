"""``python -m benchmarks.langchain_files``: kill writers of chat history files, then let two write at once.

The same is done to LangChain's own class, when it is installed. Exit code 1 when ours lost anything.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.forking import child, forked, rest_of
from benchmarks.report import RESULTS, console, facts, step, today
from memwell.compat.langchain import FileChatMessageHistory, HumanMessage

_LIFE = 40
"""So many kills a file lives through; then a new one takes its place, whose creation is killed too."""
_LONGEST = 9_000
"""Characters of the longest message: it spans pages, which one write may be torn between."""
_KEPT_RUNS = 20

Opener = Callable[[str], Any]


@dataclass
class Kills:
    """What the kills left."""

    writer: str
    kills: int = 0
    met: int = 0
    acknowledged: int = 0
    unreadable: int = 0
    """Files that another program, without our lock, found to be no JSON right after the kill."""
    destroyed: int = 0
    """Files that the class itself could not read any more."""
    lost: int = 0
    """Messages that had been acknowledged, or seen in the file after an earlier kill, and were gone."""
    phantom: int = 0
    """Messages that were there and had not been written, or not there in order."""
    seconds: float = 0.0


@dataclass
class Crowd:
    """What two writers at once left."""

    writer: str
    appends: int = 0
    stored: int = 0
    errors: int = 0
    reads: int = 0
    """Reads of the file meanwhile, by a program without our lock."""
    invalid_reads: int = 0
    seconds: float = 0.0


def kill_writers(folder: Path, opener: Opener, writer: str, kills: int, seed: int = 0) -> Kills:
    """Kill that many writers with SIGKILL, each at a random moment, and compare the file with what they acknowledged."""
    lot, found = random.Random(seed), Kills(writer)
    began = time.perf_counter()
    path, expected = folder / f"{writer}-0.json", 0
    for number in range(kills):
        if number % _LIFE == 0:
            path, expected = folder / f"{writer}-{number}.json", 0
        done = _killed(path, opener, expected, lot)
        found.kills += 1
        found.acknowledged += len(done)
        expected, sound = _judged(path, opener, expected + len(done), found)
        if not sound:
            # It is counted; the next one begins anew.
            path, expected = folder / f"{writer}-{number}-again.json", 0
    found.seconds = round(time.perf_counter() - began, 1)
    return found


def _killed(path: Path, opener: Opener, start: int, lot: random.Random) -> list[bytes]:
    """What a writer acknowledged until it was killed."""
    early, life, seed = lot.random() < 0.1, lot.uniform(0.0, 0.06), lot.getrandbits(32)
    with child(lambda pipe: _write_on(path, opener, start, seed, pipe)) as (pid, pipe):
        # One in ten is killed at a moment counted from its birth: while it opens or creates the file.
        first = b"" if early else os.read(pipe, 64)
        time.sleep(life)
        os.kill(pid, signal.SIGKILL)
        said = first + rest_of(pipe)
    return said.splitlines()


def _write_on(path: Path, opener: Opener, start: int, seed: int, pipe: int) -> None:
    lot, history, number = random.Random(seed), opener(str(path)), start
    while True:
        history.add_message(_message(number, lot))
        os.write(pipe, f"{number}\n".encode())
        number += 1


def _message(number: int, lot: random.Random) -> Any:
    return HumanMessage(f"{number} 你好 {'x' * lot.choice([10, 200, lot.randrange(_LONGEST)])}")


def _judged(path: Path, opener: Opener, acknowledged: int, found: Kills) -> tuple[int, bool]:
    """How many messages the file holds, and whether it is sound."""
    found.unreadable += path.exists() and not _is_json(path)
    try:
        texts = [str(one.content) for one in opener(str(path)).messages]
    except ValueError:
        found.destroyed += 1
        found.lost += acknowledged
        return 0, False
    in_order = all(text.startswith(f"{number} ") for number, text in enumerate(texts))
    found.lost += max(0, acknowledged - len(texts))
    # One more than was acknowledged may be there: it was under way when the kill came.
    found.met += len(texts) == acknowledged + 1
    found.phantom += max(0, len(texts) - acknowledged - 1) + (not in_order)
    return len(texts), in_order and acknowledged <= len(texts) <= acknowledged + 1


def crowd_writers(folder: Path, opener: Opener, writer: str, processes: int, appends: int) -> Crowd:
    """Let processes append to one file at once, while its raw text is read without any lock."""
    path, found = folder / f"{writer}-crowd.json", Crowd(writer, appends=processes * appends)
    opener(str(path))
    began = time.perf_counter()
    running = [forked(lambda _, name=name: _append(path, opener, name, appends)) for name in range(processes)]
    while running:
        found.reads += 1
        found.invalid_reads += not _is_json(path)
        running = [one for one in running if not _has_ended(one, found)]
    found.seconds = round(time.perf_counter() - began, 1)
    try:
        texts = [str(one.content) for one in opener(str(path)).messages]
    except ValueError:
        texts = []
    found.stored = len(texts)
    for name in range(processes):
        mine = [text for text in texts if text.startswith(f"{name}/")]
        found.errors += mine != [f"{name}/{number}" for number in range(appends)]
    return found


def _append(path: Path, opener: Opener, name: int, appends: int) -> None:
    history = opener(str(path))
    for number in range(appends):
        history.add_message(HumanMessage(f"{name}/{number}"))


def _has_ended(child: tuple[int, int], found: Crowd) -> bool:
    pid, status = os.waitpid(child[0], os.WNOHANG)
    if pid:
        os.close(child[1])
        found.errors += os.waitstatus_to_exitcode(status) != 0
    return pid != 0


def _is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), list)
    except ValueError:
        return False


def _writers() -> dict[str, Opener]:
    """Ours, and LangChain's own if it is here."""
    writers: dict[str, Opener] = {"memwell": FileChatMessageHistory}
    try:
        with warnings.catch_warnings():
            # It says that it is no longer maintained.
            warnings.simplefilter("ignore")
            theirs = import_module("langchain_community.chat_message_histories")
    except ImportError:
        return writers
    return writers | {"langchain-community": theirs.FileChatMessageHistory}


def main() -> int:
    """Run what was asked for; returns the exit code."""
    options = _options()
    run: dict[str, Any] = {"date": today(), "facts": facts(), "kills": [], "crowds": []}
    for writer, opener in _writers().items() if not options.ours else [("memwell", FileChatMessageHistory)]:
        with tempfile.TemporaryDirectory(prefix="memwell-files-") as folder:
            if not options.json:
                step(f"{writer}: {options.kills} kills, then 2 processes × {options.appends} appends")
            run["kills"].append(asdict(kill_writers(Path(folder), opener, writer, options.kills)))
            run["crowds"].append(asdict(crowd_writers(Path(folder), opener, writer, 2, options.appends)))
    if options.json:
        print(json.dumps(run))
    else:
        _show(run)
    if not options.dry:
        _keep(run)
    ours, crowd = run["kills"][0], run["crowds"][0]
    bad = ours["unreadable"] + ours["destroyed"] + ours["lost"] + ours["phantom"] + crowd["errors"]
    return 1 if bad or crowd["stored"] != crowd["appends"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.langchain_files", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many writers to kill (200)")
    parser.add_argument("--appends", type=int, default=200, help="how many messages each of two writers appends (200)")
    parser.add_argument("--ours", action="store_true", help="leave LangChain's own class out")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--dry", action="store_true", help="do not add the result to benchmarks/results")
    return parser.parse_args()


def _show(run: dict[str, Any]) -> None:
    for title, rows in (("Kills", run["kills"]), ("Two writers at once", run["crowds"])):
        table = Table(*rows[0], title=title, title_justify="left")
        for row in rows:
            table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
        console.print(table)


def _keep(run: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "langchain-files.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    runs = [*runs, run][-_KEPT_RUNS:]
    path.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "langchain-files.md").write_text(_markdown(runs), encoding="utf-8")


def _markdown(runs: list[dict[str, Any]]) -> str:
    return f"""# Chat history files under kills and two writers

Made by `python -m benchmarks.langchain_files`, the newest last.

## Kills

A child appends to a file and is killed with SIGKILL at a random moment. *Met*: an append was under way and is there.
*Unreadable*: right after the kill the file was no JSON. *Destroyed*: the class itself could
not read it any more. *Lost*: messages that were acknowledged, or seen after an earlier kill, and are gone. *Phantom*:
messages that were never written, or not in order.

{_lines(runs, "kills")}

## Two writers at once

Two processes append to one file. *Invalid reads*: the raw file, read meanwhile without any lock, was no JSON.

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

"""Appending from eight threads of a program at once: those who wait for a commit share the next one.

What that gains depends on how long the disk takes to sync, so that is measured too, and the same is run on a disk that was
made slower: its syncs wait for a millisecond first, as many a disk's do.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from benchmarks.corpus import message_text
from benchmarks.report import Figure, Grid, Section, step
from memwell.messages import Message, human
from memwell.records import Space, Thread
from memwell.storage.sqlite import SqliteBackend

_THREAD = Thread(Space("bench"), "thread")
_MANY = 8
_SLOW_S = 0.001


@dataclass
class Crowd:
    """What appending with so many threads gave, a round each."""

    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    syncs: float = 0.0


def group(folder: Path, *, quick: bool) -> Section:
    """Eight threads beside one, on this disk and on a slower one."""
    folder = folder / "group"
    folder.mkdir()
    section = Section("group")
    rounds, calls = (3, 40) if quick else (15, 150)
    sync = _sync_us(folder)
    step(f"group: 1 and {_MANY} threads appending; a sync takes {sync:.0f} µs here")
    here = _crowds(folder / "here.db", None, rounds, calls)
    for threads, crowd in here.items():
        crowd.syncs = _syncs(folder, threads, calls)
    step(f"group: the same with a sync of {_SLOW_S * 1e3:.0f} ms")
    slow = _crowds(folder / "slow.db", CountingVFS("slow", _SLOW_S), max(2, rounds // 3), calls)
    section.grids += [
        _grid(f"Append to one conversation, a sync takes {sync:.0f} µs", here),
        _grid(f"Append to one conversation, a sync takes {_SLOW_S * 1e3:.0f} ms more", slow),
    ]
    gain, slow_gain = _gain(here), _gain(slow)
    measured = f"{gain:.2f}× where a sync takes {sync:.0f} µs; {slow_gain:.2f}× where it takes 1 ms more"
    section.figures.append(Figure(f"group: rate of {_MANY} threads to 1", "≥ 3×", measured, gain >= 3.0))
    return section


def _sync_us(folder: Path) -> float:
    """How long it takes to write a page and have it on disk."""
    times: list[float] = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(100):
            started = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return median(times) * 1e6


def _crowds(path: Path, vfs: CountingVFS | None, rounds: int, calls: int) -> dict[int, Crowd]:
    """One thread and many by turns, as many appends each."""
    backend = SqliteBackend(path, vfs=None if vfs is None else vfs.name)
    crowds = {1: Crowd(), _MANY: Crowd()}
    counted = dict.fromkeys(crowds, 0)
    _append(backend, _MANY, 10)
    for _ in range(rounds):
        for threads, crowd in crowds.items():
            cpu, syncs = time.process_time(), vfs.syncs if vfs else 0
            crowd.rates.append(_append(backend, threads, calls * _MANY // threads))
            crowd.cpu.append((time.process_time() - cpu) / (calls * _MANY))
            counted[threads] += (vfs.syncs if vfs else 0) - syncs
    backend.close()
    for threads, crowd in crowds.items():
        crowd.syncs = counted[threads] / (rounds * calls * _MANY)
    return crowds


def _append(backend: SqliteBackend, threads: int, calls: int) -> float:
    """Appends a second, by the wall, of so many threads with so many calls each."""
    text = message_text()
    running = [
        threading.Thread(target=_append_all, args=(backend, [human(text) for _ in range(calls)]))
        for _ in range(threads)
    ]
    started = time.perf_counter()
    for one in running:
        one.start()
    for one in running:
        one.join()
    return threads * calls / (time.perf_counter() - started)


def _append_all(backend: SqliteBackend, messages: Sequence[Message]) -> None:
    for one in messages:
        backend.log.append(_THREAD, [one])


def _syncs(folder: Path, threads: int, calls: int) -> float:
    """Syncs an append on this disk, in a run of its own: a VFS in Python takes time, so it is not the run that is timed."""
    vfs = CountingVFS(f"counting-{threads}")
    backend = SqliteBackend(folder / f"counting-{threads}.db", vfs=vfs.name)
    _append(backend, threads, 5)
    before = vfs.syncs
    _append(backend, threads, calls)
    counted = vfs.syncs - before
    backend.close()
    return counted / (threads * calls)


def _gain(crowds: dict[int, Crowd]) -> float:
    return median(many / one for one, many in zip(crowds[1].rates, crowds[_MANY].rates, strict=True))


def _grid(title: str, crowds: dict[int, Crowd]) -> Grid:
    grid = Grid(title, ["threads", "appends a second", "to one thread", "CPU µs an append", "syncs an append"])
    for threads, crowd in crowds.items():
        gain = median(mine / one for mine, one in zip(crowd.rates, crowds[1].rates, strict=True))
        cpu = f"{median(crowd.cpu) * 1e6:.0f}"
        grid.add(f"{threads}", f"{median(crowd.rates):,.0f}", f"{gain:.2f}×", cpu, f"{crowd.syncs:.2f}")
    return grid


class _CountingFile(apsw.VFSFile):
    def __init__(self, vfs: CountingVFS, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._vfs = vfs

    def xSync(self, flags: int) -> None:
        self._vfs.syncs += 1
        if self._vfs.pause_s:
            time.sleep(self._vfs.pause_s)
        super().xSync(flags)


class CountingVFS(apsw.VFS):
    """The usual way to the disk, counting syncs and, if wanted, pausing before each."""

    def __init__(self, name: str, pause_s: float = 0.0) -> None:
        self.name = name
        self.pause_s = pause_s
        self.syncs = 0
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _CountingFile(self, name, flags)


__all__ = ["group"]

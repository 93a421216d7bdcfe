"""The CPU and the memory of a server: all the processes that it is made of, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


def cpu_s(pids: list[int]) -> float:
    """Seconds of CPU that the processes have taken, those of their ended children included."""
    # utime, stime, cutime and cstime: the twelfth field behind the name and the three after it.
    return sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _fields(pid))) / _TICK


def resident_bytes(pids: list[int]) -> int:
    """What they hold in memory; pages that they share are counted for each."""
    return sum(int(fields[21]) for pid in pids if (fields := _fields(pid))) * _PAGE


def _fields(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name may hold spaces and parentheses; the last closing one ends it.
    return text.rpartition(")")[2].split()


__all__ = ["cpu_s", "family", "resident_bytes"]

"""``python -m benchmarks.capacity.users [sqlite] [postgres] [--dry]``: what a user costs with the shipped embedder.

Measured is the CPU of memwell's process and of the server for each operation, with the local embedder, the model that reads
facts and the worker in it, and the bytes of a memory and of a message. ``needed`` multiplies that by what users do, which
is assumed, and ``priced`` by list prices, which are neither measured nor memwell's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# Before anything loads usearch: on some machines onnxruntime crashes when it is loaded after it.
import onnxruntime  # noqa: F401

import memwell
from benchmarks.capacity.__main__ import Running, started
from benchmarks.capacity.processes import cpu_s, resident_bytes
from benchmarks.corpus import Writer
from benchmarks.report import RESULTS, console, facts, step, today
from memwell.messages import human
from memwell.models.local import LocalEmbedder
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.worker import listed_spaces

ENGINES = ("sqlite", "postgres")
KEPT = RESULTS / "users.json"
_SPACES, _MEMORIES, _ASKED, _MESSAGES = 20, 40, 100, 4_000


class Day(NamedTuple):
    """What is assumed of users: what one has, what one does on a day, and when."""

    memories: int = 500
    messages: int = 2_000
    recalls: int = 10
    appends: int = 20
    remembers: int = 4
    active: float = 0.3
    """The share of users who are there on a day."""
    busiest: float = 0.1
    """The share of a day's work in its busiest hour."""
    load: float = 0.5
    """How busy processors may be in that hour."""


class Needs(NamedTuple):
    """Cores of the services and of all servers, gigabytes of the services' memory and of all disks, and the copies."""

    cores: float
    server_cores: float
    memory_gb: float
    disk_gb: float
    copies: int


VCPU_MONTH, GB_MONTH = 0.0816 / 2 * 730, 0.08
"""A vCPU with 4 GB (m7g.large, on demand) and a gigabyte of disk (gp3) for a month at us-east-1, in dollars, June 2026."""
_GB_A_VCPU = 4
_LEAST_VCPUS = 2


def needed(costs: dict[str, float], users: int, day: Day = Day(), copies: int = 1) -> Needs:  # noqa: B008 - a constant
    """What so many users need. A server and its disk are there ``copies`` times, the others as standbys."""
    done = {"recall": day.recalls, "append": day.appends, "remember": day.remembers}
    per_s = users * day.active * day.busiest / 3_600 / day.load

    def cores(which: str) -> float:
        return per_s * sum(count * costs[f"{name}_{which}_ms"] for name, count in done.items()) / 1e3

    held = users * day.active * day.busiest * day.memories * costs["held_bytes"]
    stored = users * (day.memories * costs["memory_bytes"] + day.messages * costs["message_bytes"])
    return Needs(cores("own"), copies * cores("server"), held / 1e9, copies * stored / 1e9, copies)


def priced(needs: Needs) -> float:
    """Dollars a month at the list prices, for whole machines of two vCPUs and their disks."""
    services = max(needs.cores, needs.memory_gb / _GB_A_VCPU)
    vcpus = _whole(services) + needs.copies * _whole(needs.server_cores / needs.copies)
    return vcpus * VCPU_MONTH + needs.disk_gb * GB_MONTH


def _whole(cores: float) -> int:
    return _LEAST_VCPUS * math.ceil(cores / _LEAST_VCPUS)


# Measuring


def measured(running: Running) -> dict[str, float]:
    """The costs on one engine, in milliseconds of CPU and in bytes."""
    writer, rng, found = Writer(seed=7), random.Random(7), dict[str, float]()

    # Closed after each part, so that a file is as large as what is in it.
    def opened() -> Engine:
        return memwell.open(running.url, embedder=LocalEmbedder())

    def user(memory: Engine, number: int) -> Engine:
        return memory.at(Space("user", str(number)))

    with opened() as memory:
        # The models are loaded, and the rules compiled.
        memory.remember([writer.text() for _ in range(_ASKED)])
        memory.flush()
        memory.recall(writer.text())
    empty = running.size()
    with opened() as memory:
        for number in range(_SPACES):
            user(memory, number).remember([writer.text() for _ in range(_MEMORIES)])
            user(memory, number).flush()
    found["memory_bytes"] = (running.size() - empty) / (_SPACES * _MEMORIES)
    with opened() as memory:
        memory.attend()
        held = resident_bytes([os.getpid()])
        for number in range(_SPACES):
            user(memory, number).recall(writer.text()[:60])
        found["held_bytes"] = (resident_bytes([os.getpid()]) - held) / (_SPACES * _MEMORIES)

        def each(name: str, call: Callable[[Engine, str], object]) -> None:
            def work() -> None:
                for _ in range(_ASKED):
                    call(user(memory, rng.randrange(_SPACES)), writer.text())

            own, server = _taken(memory, running, work)
            found[f"{name}_own_ms"], found[f"{name}_server_ms"] = own / _ASKED * 1e3, server / _ASKED * 1e3

        each("remember", lambda one, text: one.remember(text))
        each("recall", lambda one, text: one.recall(text[:60]))
        each("append", lambda one, text: one.thread("talk").add(human(text)))
    before = running.size()
    with opened() as memory:
        for number in range(_MESSAGES // 20):
            memory.thread(f"sized {number % 10}").add(*(human(writer.text()) for _ in range(20)))
    found["message_bytes"] = (running.size() - before) / _MESSAGES
    return {name: round(value, 3) for name, value in found.items()}


def _taken(memory: Engine, running: Running, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU here and in the server, until the worker has done all that is pending and stored the uses."""
    before = cpu_s([os.getpid()]), cpu_s(running.pids())
    work()
    while any(True for _ in listed_spaces(memory.backend)):
        time.sleep(0.2)
    memory._parts.worker.store_uses()
    return cpu_s([os.getpid()]) - before[0], cpu_s(running.pids()) - before[1]


def main() -> None:
    """Measure the engines that were named, or all, and keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity.users", description=__doc__)
    parser.add_argument("engines", nargs="*", metavar="engine", help=f"which: {', '.join(ENGINES)}; all by default")
    parser.add_argument("--dry", action="store_true", help="do not write what was found")
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for engine in options.engines or ENGINES:
        step(engine)
        with tempfile.TemporaryDirectory(prefix="memwell-users-") as folder, started(engine, Path(folder)) as running:
            found[engine] = {"measured": today(), **measured(running)}
        console.print(found[engine])
        if not options.dry:
            KEPT.write_text(json.dumps({**found, "machine": facts()}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

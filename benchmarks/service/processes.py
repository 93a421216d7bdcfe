"""``python -m benchmarks.service.processes``: one service and two over one PostgreSQL, how many requests they answer.

All share this machine's cores: the clients, the services and the database. Where there are fewer cores than that takes, two
services cannot be faster than the cores. So each service is held to a share of one core, by stopping it whenever it has
used up its share of the last moments; the rest of the machine is for the database and the clients. What two such services
answer, divided by what one answers, is what two services on cores of their own would gain over one. Beside it stands what
a request costs in seconds of CPU, in the services, the database and the clients, which does not depend on the cores.

The rounds of one and of two take turns. Exit code 1 when a request failed or something acknowledged was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import memwell
from benchmarks.report import RESULTS, console, facts, step, today
from benchmarks.service.load import Crowd, Run
from benchmarks.service.serving import Served, make_key
from memwell.records import Space
from tests.engines.postgres import Server

_TICK = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.01
_SETTLING_S = 2.0
_WANTED = 1.7


class Holding:
    """Holds a process to a share of one core, as long as the block lasts."""

    def __init__(self, served: Served, share: float) -> None:
        self._served, self._share = served, share
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)

    def __enter__(self) -> None:
        if self._share < 1:
            self._thread.start()

    def __exit__(self, *args: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._send(signal.SIGCONT)

    def _hold(self) -> None:
        begun, used, stopped = time.monotonic(), self._served.cpu, False
        while not self._over.wait(_LOOK_S):
            # Never more than a tenth of a second in arrears: a quiet time is not saved up for a busy one.
            begun = max(begun, time.monotonic() - 0.1 - (self._served.cpu - used) / self._share)
            over = self._served.cpu - used > (time.monotonic() - begun) * self._share
            if over != stopped:
                self._send(signal.SIGSTOP if over else signal.SIGCONT)
                stopped = over

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._served.pid, number)


def _cpu_of_children(pid: int) -> float:
    """Seconds of CPU of a process and all it has started, those that have ended too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    total = sum(int(one) for one in fields[11:15])
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):
            own = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += int(own[11]) + int(own[12])
    return total / _TICK


class Measured:
    """The server, and what its database, the services and the clients take meanwhile."""

    def __init__(self, server: Server, options: argparse.Namespace) -> None:
        self.server, self.options = server, options
        self.problems: list[str] = []

    def round(self, processes: int, number: int) -> dict[str, float]:
        """One round over a fresh store: so many services for so long, each tenant at one of them."""
        url = self.server.url(schema=f"round_{number}")
        tenants = [f"tenant-{which}" for which in range(self.options.tenants)]
        tokens = [make_key(url, tenant) for tenant in tenants]
        with _serving(url, processes) as services:
            return self._load(url, services, dict(zip(tenants, tokens, strict=True)))

    def _load(self, url: str, services: list[Served], tokens: dict[str, str]) -> dict[str, float]:
        each = self.options.clients // len(tokens)
        crowds = [
            Crowd(services[which % len(services)].port, token, clients=each, seconds=self.options.seconds, seed=which)
            for which, token in enumerate(tokens.values())
        ]
        before = self._cpu(services)
        with _held(services, self.options.share):
            begun = time.perf_counter()
            runs = asyncio.run(_together(crowds))
            took = time.perf_counter() - begun
        used = [now - then for now, then in zip(self._cpu(services), before, strict=True)]
        answered = sum(run.answered for run in runs)
        self._judge(url, dict(zip(tokens, runs, strict=True)))
        return {
            "a_second": answered / took,
            "service_ms": 1000 * used[0] / answered,
            "database_ms": 1000 * used[1] / answered,
            "client_ms": 1000 * used[2] / answered,
            "cores": sum(used) / took,
            "p50_ms": statistics.median(run.median_ms for run in runs),
        }

    def _cpu(self, services: list[Served]) -> list[float]:
        first = int((self.server.data / "postmaster.pid").read_text().split()[0])
        return [sum(one.cpu for one in services), _cpu_of_children(first), time.process_time()]

    def _judge(self, url: str, runs: dict[str, Run]) -> None:
        for tenant, run in runs.items():
            bad = {status: many for status, many in run.statuses.items() if status not in (200, 201)}
            with memwell.open(url, embedder=None, work=False, space=Space(tenant)) as memory:
                missing = run.memories - {one.id for one in memory.memories()}
            if bad or run.cut or missing:
                self.problems.append(f"{tenant}: {bad}, {run.cut} lines cut, {len(missing)} lost; {run.errors[:2]}")


async def _together(crowds: list[Crowd]) -> list[Run]:
    return list(await asyncio.gather(*(crowd.go() for crowd in crowds)))


@contextmanager
def _serving(url: str, processes: int) -> Generator[list[Served]]:
    services = [Served(url) for _ in range(processes)]
    try:
        # The models are loaded meanwhile.
        time.sleep(_SETTLING_S)
        yield services
    finally:
        for one in services:
            one.stop()


@contextmanager
def _held(services: list[Served], share: float) -> Generator[None]:
    holding = [Holding(one, share) for one in services]
    for one in holding:
        one.__enter__()
    try:
        yield
    finally:
        for one in holding:
            one.__exit__()


def main() -> int:
    """Run all of it; returns the exit code."""
    options = _options()
    server = Server(durable=True, options={"shared_buffers": "256MB"})
    rounds: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    try:
        measured = Measured(server, options)
        for number in range(2 * options.rounds):
            processes = 1 + number % 2
            step(f"{processes} of {options.share:g} of a core, {options.clients} clients for {options.seconds:g} s")
            rounds[processes].append(measured.round(processes, number))
            console.print({name: round(value, 2) for name, value in rounds[processes][-1].items()})
    finally:
        server.remove()
    rows = {many: _median(found) for many, found in rounds.items()}
    gain = rows[2]["a_second"] / rows[1]["a_second"]
    console.print(f"two answer {gain:.2f} times as many as one; wanted: {_WANTED}")
    console.print("\n".join(measured.problems) or "nothing was lost, and nothing failed")
    if not options.dry:
        _keep(rows, gain, options)
    return 1 if measured.problems else 0


def _median(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.processes", description=__doc__)
    parser.add_argument("--clients", type=int, default=32, help="how many at once (32)")
    parser.add_argument("--tenants", type=int, default=8, help="of how many spaces, each with a key of its own (8)")
    parser.add_argument("--seconds", type=float, default=15, help="for how long (15)")
    parser.add_argument("--rounds", type=int, default=3, help="how many of each (3)")
    parser.add_argument(
        "--share", type=float, default=0.3, help="of one core for each service, 1 for all it gets (0.3)"
    )
    parser.add_argument("--dry", action="store_true", help="do not write the result to benchmarks/results")
    return parser.parse_args()


def _keep(rows: dict[int, dict[str, float]], gain: float, options: argparse.Namespace) -> None:
    run: dict[str, Any] = {"date": today(), "facts": facts(), **vars(options), "gain": gain, "processes": rows}
    (RESULTS / "service-processes.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    words = {
        "a_second": "requests a second",
        "service_ms": "ms of CPU a request, services",
        "database_ms": "ms of CPU a request, PostgreSQL",
        "client_ms": "ms of CPU a request, clients",
        "cores": "cores in use, all together",
        "p50_ms": "median time of a request, ms",
    }
    lines = [
        "# One service and two over one PostgreSQL",
        "",
        f"`python -m benchmarks.service.processes`, {run['date']}: {options.clients} clients of {options.tenants} tenants "
        f"for {options.seconds:g} s,",
        f"medians of {options.rounds} rounds each, in turns, each round over an empty store. Half of",
        "the requests remember, three of ten recall, two of ten add a message; vectors are made in the background by the",
        f"services themselves. PostgreSQL syncs every commit. Each service is held to {options.share:g} of a core, so that "
        f"the machine's {os.cpu_count()} cores",
        "have room for the database and the clients; what two answer beyond one is then what a second core would give.",
        "",
        f"Two services answer **{gain:.2f} times** as many requests as one (wanted: {_WANTED}).",
        "",
        "| | one | two |",
        "|---|---|---|",
        *(f"| {said} | {rows[1][name]:.1f} | {rows[2][name]:.1f} |" for name, said in words.items()),
    ]
    (RESULTS / "service-processes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

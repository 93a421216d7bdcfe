"""Many clients at once, each with a connection of its own: they write, ask and talk, and remember what was acknowledged."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import memwell
from benchmarks.service.talking import Talking

_WORDS = "river table winter music garden letter bridge coffee morning train silver paper window market island".split()
_NAMES = "Ann Ben Chloe Dan Eva Finn Grace Hugo Ida Jonas".split()


@dataclass
class Run:
    """What came of a run: answers by status, times, and what was acknowledged."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"write": [], "recall": [], "message": []})
    memories: set[str] = field(default_factory=set)
    messages: set[tuple[str, str]] = field(default_factory=set)
    cut: int = 0
    """Requests whose line was cut: their writers do not know whether they were done."""
    errors: list[str] = field(default_factory=list)
    took: float = 0.0

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return sum(self.statuses.values())

    def quantile(self, kind: str, share: float) -> float:
        """How long requests of a kind took, in milliseconds."""
        times = sorted(self.seconds[kind])
        return 1000 * times[min(len(times) - 1, int(share * len(times)))] if times else 0.0

    @property
    def median_ms(self) -> float:
        """The median of all."""
        every = [one for times in self.seconds.values() for one in times]
        return 1000 * statistics.median(every) if every else 0.0


class Crowd:
    """So many clients over a service for so long."""

    def __init__(self, port: int, token: str, *, clients: int, seconds: float, seed: int = 7) -> None:
        self._port, self._token = port, token
        self._clients, self._seconds, self._seed = clients, seconds, seed
        self.run = Run()
        self._over = asyncio.Event()

    async def go(self) -> Run:
        """Until the time is over, or every line is cut for good."""
        begun = time.perf_counter()
        tasks = [asyncio.create_task(self._client(number)) for number in range(self._clients)]
        await asyncio.wait(tasks, timeout=self._seconds)
        self._over.set()
        await asyncio.wait(tasks, timeout=30)
        self.run.took = time.perf_counter() - begun
        return self.run

    async def _client(self, number: int) -> None:
        chance = random.Random(self._seed * 1000 + number)
        line = Talking(self._port, self._token)
        turn = 0
        while not self._over.is_set():
            turn += 1
            try:
                await self._turn(line, chance, number, turn)
            except (OSError, asyncio.IncompleteReadError):
                self.run.cut += 1
                line.close()
                # The service is gone or about to be; whoever started it knows.
                return
        line.close()

    async def _turn(self, line: Talking, chance: random.Random, number: int, turn: int) -> None:
        kind = chance.choices(("write", "recall", "message"), (5, 3, 2))[0]
        words = " ".join(chance.sample(_WORDS, 4))
        name = chance.choice(_NAMES)
        begun = time.perf_counter()
        if kind == "write":
            # Each says something else: what was said before is counted and not kept twice.
            status, body = await line.ask(
                "POST", "/v1/memories", {"content": f"{name} saw the {words} on walk {number}-{turn}.", "speaker": name}
            )
        elif kind == "recall":
            status, body = await line.ask("POST", "/v1/recall", {"query": f"what did {name} see?", "limit": 5})
        else:
            said = {"messages": [{"role": "user", "content": f"{turn}: {words}"}]}
            status, body = await line.ask("POST", f"/v1/threads/client-{number}/messages", said)
        self.run.seconds[kind].append(time.perf_counter() - begun)
        self.run.statuses[status] += 1
        if status not in (200, 201):
            self._note(status, body)
        elif kind == "write":
            self.run.memories.update(json.loads(body)["ids"])
        elif kind == "message":
            self.run.messages.update((f"client-{number}", one["id"]) for one in json.loads(body)["messages"])

    def _note(self, status: int, body: bytes) -> None:
        if len(self.run.errors) < 20:
            self.run.errors.append(f"{status} {body[:200].decode(errors='replace')}")


def lost(store: Path, run: Run) -> int:
    """How much of what was acknowledged is not in the store."""
    with memwell.open(store, embedder=None, work=False) as memory:
        kept = {one.id for one in memory.memories()}
        missing = len(run.memories - kept)
        for thread in {thread for thread, _ in run.messages}:
            here = {message.id for message in memory.thread(thread)}
            missing += sum(1 for name, id_ in run.messages if name == thread and id_ not in here)
        problems = memory.backend.check()
    if problems:
        raise RuntimeError(f"the store is damaged: {problems}")
    return missing


__all__ = ["Crowd", "Run", "lost"]

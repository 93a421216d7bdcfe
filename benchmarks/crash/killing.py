"""The run: start a writer, kill it, look at what is left; a few thousand times."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.crash.children import Nursery, Task, open_store, read_log, write_until_killed
from benchmarks.crash.judgement import Counts, LaneModel
from memwell.errors import MemwellError

LANES = (0, 1)
_LIFE = 120
"""So many kills a store lives through; then a new one takes its place, whose creation is killed too."""
_NO_GRAPHS = 50_000
_SMALL_GRAPHS = 20


class Victim:
    """One store, and what it must hold."""

    def __init__(self, folder: Path, number: int, secret: str = "") -> None:
        self._folder = folder
        self._number = number
        self._generation = 0
        # Every second store builds graphs of its vectors, in the background, and is killed while it does.
        self.graphs_above = _SMALL_GRAPHS if number % 2 else _NO_GRAPHS
        self.secret = secret
        self.begin_anew()

    def begin_anew(self) -> None:
        """Drop the store; the next child makes another."""
        self._generation += 1
        self.kills = 0
        self.now = 1_700_000_000.0
        self.models = [LaneModel(lane) for lane in LANES]
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir(parents=True)

    @property
    def _place(self) -> Path:
        return self._folder / f"store-{self._number}"

    @property
    def path(self) -> str:
        """The store's file."""
        return str(self._place / f"{self._generation}.db")

    def task(self, seed: int, log: Path, lanes: list[int]) -> Task:
        """What the next child is to do."""
        self.now += 1.0
        for model in self.models:
            model.clock.now = self.now
        return {
            "path": self.path,
            "log": str(log),
            "seed": seed,
            "lanes": lanes,
            "now": self.now,
            "graphs_above": self.graphs_above,
            "secret": self.secret,
        }

    def judge(self, log: Path, counts: Counts, *, searching: bool) -> None:
        """Open what the kill has left and compare it with what was acknowledged."""
        in_flight = False
        clock = self.models[0].clock
        try:
            with open_store(self.path, clock, graphs_above=self.graphs_above, secret=self.secret) as store:
                for model, lane in zip(self.models, LANES, strict=True):
                    done, begun, returned = read_log(log / f"lane-{lane}")
                    for operation, result in done:
                        model.follow(operation, result, counts)
                    counts.acknowledged += len(done)
                    counts.in_flight += begun is not None
                    in_flight |= begun is not None
                    model.judge(store, begun, counts, returned=returned)
                    if searching:
                        model.judge_searches(store, counts)
                wrong = store.check()
                counts.check_failures += len(wrong)
                for text in wrong:
                    counts.tell(f"check: {text}")
        except MemwellError as error:
            counts.unreadable += 1
            counts.tell(f"unreadable: {type(error).__name__}: {error}")
        counts.hit += in_flight


def run(
    folder: Path,
    nursery: Nursery,
    *,
    kills: int,
    stores: int,
    seed: int,
    progress: Callable[[Counts], None],
    secret: str = "",
) -> Counts:
    """Kill that many children over that many stores, encrypted if there is a secret, and return what was found."""
    lot = random.Random(seed)
    victims = [Victim(folder, number, secret) for number in range(stores)]
    counts = Counts()
    log = folder / "log"
    for number in range(kills):
        victim = victims[number % stores]
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir()
        _kill_one(nursery, victim, log, lot, counts)
        bad = counts.bad
        # Searching brings the word indexes up to date; sparing most kills that leaves them half done for the next child.
        searching = number % (3 * stores) < stores
        counts.full_searches += searching
        victim.judge(log, counts, searching=searching)
        victim.kills += 1
        if counts.bad > bad or victim.kills >= _LIFE:
            victim.begin_anew()
        progress(counts)
    return counts


def _kill_one(nursery: Nursery, victim: Victim, log: Path, lot: random.Random, counts: Counts) -> None:
    lanes = lot.choice([[0], [1], [0, 1], [1, 0]])
    pid = nursery.start(victim.task(lot.getrandbits(32), log, lanes))
    # One in ten is killed at a moment counted from its birth: while it opens, recovers or creates the store.
    early = lot.random() < 0.1
    if early:
        time.sleep(lot.uniform(0.0, 0.012))
    elif nursery.wait_ready():
        time.sleep(lot.uniform(0.001, 0.040))
    os.kill(pid, signal.SIGKILL)
    code = nursery.wait_ended()
    counts.kills += 1
    counts.before_open += not any(log.iterdir())
    if code != -signal.SIGKILL:
        counts.child_failures += 1
        failed = log / "failed"
        counts.tell(f"a child ended by itself ({code}): {failed.read_text()[-1500:] if failed.exists() else ''}")


__all__ = ["Nursery", "Victim", "run", "write_until_killed"]

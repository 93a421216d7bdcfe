"""The run: let writers write, kill one of them, the server or their connections, and look at what is left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.crash.children import Nursery
from benchmarks.crash_servers.judgement import Counts, Model
from benchmarks.crash_servers.sites import Site
from benchmarks.crash_servers.writing import open_store, read_log
from memwell.errors import MemwellError
from tests.engines.proxy import Proxy

_LIFE = 12
"""So many looks a store lives through; then an empty one takes its place, whose making meets kills too."""
_TOGETHER = 8
"""So many cuts the connections of one set of writers live through."""
_NUMBERS = 10_000
"""More than a writer does in its life."""
_HELD_LONG = 0.95
_LONG_S, _SHORT_S = 10.0, 1.0
"""How long a writer waits for an answer; those whose connections are held wait less than they may be held."""


class Run:
    """One site under one kind of violence after another."""

    def __init__(
        self, site: Site, nurseries: list[Nursery], folder: Path, seed: int, progress: Callable[[Counts], None]
    ) -> None:
        self._site = site
        self._nurseries = nurseries[: site.writers]
        self._log = folder / "log"
        self._lot = random.Random(seed)
        self._progress = progress
        self.counts = Counts()
        self._generation = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._site.begin_anew()
        self._model = Model(self.counts)
        self._lives = 0

    def kill_writers(self, count: int) -> None:
        """Kill writers, each at a moment of its own."""
        while self.counts.writer_kills < count:
            # One time in ten while they open, or make, the store.
            pids = self._started(early=self._lot.random() < 0.1)
            for number in self._lot.sample(range(len(pids)), len(pids)):
                time.sleep(self._lot.uniform(0.001, 0.12))
                self._end(number, pids[number])
                self.counts.writer_kills += 1
            self._look()

    def kill_server(self, count: int) -> None:
        """Kill the server while all write; they find it again by themselves."""
        while self.counts.server_kills < count:
            pids = self._started()
            time.sleep(self._lot.uniform(0.01, 0.3))
            self._site.kill_server(self._lot)
            self.counts.server_kills += 1
            time.sleep(self._lot.uniform(0.1, 0.5))
            self._end_all(pids)
            self._look()

    def cut(self, count: int) -> None:
        """Break the connections while all write, in one way after another."""
        proxy = self._site.proxy
        assert proxy is not None
        while self.counts.cuts < count:
            pids = self._started(proxied=True)
            for _ in range(_TOGETHER):
                time.sleep(self._lot.uniform(0.005, 0.08))
                self._cut_once(proxy)
                self.counts.cuts += 1
            time.sleep(0.1)
            self._end_all(pids)
            proxy.cut()
            self._look()

    def _cut_once(self, proxy: Proxy) -> None:
        draw = self._lot.random()
        if draw < 0.25:
            proxy.cut()
        elif draw < 0.65:
            # In the middle of a request, or of its answer.
            proxy.cut_after_bytes(self._lot.randint(0, 3000), self._lot.choice(["to_server", "to_client"]))
        elif draw < 0.8:
            proxy.half_close()
        else:
            # Sometimes for so long that the writer has asked again when the first request arrives.
            proxy.hold()
            time.sleep(self._lot.uniform(1.1, 1.6) if draw > _HELD_LONG else self._lot.uniform(0.01, 0.3))
            if self._lot.random() < 0.5:
                proxy.cut()
            proxy.resume()

    # Writers

    def _started(self, *, proxied: bool = False, early: bool = False) -> list[int]:
        shutil.rmtree(self._log, ignore_errors=True)
        self._log.mkdir()
        self._generation += 1
        url, answer_s = self._site.url(proxied=proxied), _SHORT_S if proxied else _LONG_S
        tasks = [self._task(number, url, answer_s) for number in range(len(self._nurseries))]
        pids = [nursery.start(task) for nursery, task in zip(self._nurseries, tasks, strict=True)]
        if not early:
            for nursery in self._nurseries:
                nursery.wait_ready()
        return pids

    def _task(self, number: int, url: str, answer_s: float) -> dict[str, object]:
        return {
            "name": f"w{number}",
            "url": url,
            "log": str(self._log),
            "answer_s": answer_s,
            "seed": self._lot.getrandbits(32),
            "number": self._generation * _NUMBERS,
        }

    def _end_all(self, pids: list[int]) -> None:
        for number, pid in enumerate(pids):
            self._end(number, pid)

    def _end(self, number: int, pid: int) -> None:
        # One that failed has ended already.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        code = self._nurseries[number].wait_ended()
        if code != -signal.SIGKILL:
            self.counts.child_failures += 1
            failed = self._log / "failed"
            text = failed.read_text()[-1500:] if failed.exists() else ""
            self.counts.tell(f"a writer ended by itself ({code}): {text}")

    # Looking

    def _look(self) -> None:
        bad = self.counts.bad
        for number in range(len(self._nurseries)):
            self._model.follow(read_log(self._log / f"w{number}"))
        try:
            self._site.settle()
            with open_store(self._site.url()) as store:
                self._model.judge(store)
                for text in self._site.orphans(store):
                    self.counts.orphans += 1
                    self.counts.tell(text)
        except MemwellError as error:
            self.counts.unreadable += 1
            self.counts.tell(f"unreadable: {type(error).__name__}: {error}")
        self._lives += 1
        if self._lives >= _LIFE or self.counts.bad > bad:
            self._begin_anew()
        self._progress(self.counts)


__all__ = ["Run"]

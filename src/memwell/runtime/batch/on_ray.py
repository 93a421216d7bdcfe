"""Pieces on Ray: on whatever machines its cluster has, or on this one when there is none."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from memwell.errors import MissingDependency
from memwell.runtime.batch.runners import DIED, Runner
from memwell.runtime.batch.working import Order, Report, Setting, done_elsewhere


def ray_is_running() -> bool:
    """Whether this program is connected to Ray already. Ray is not imported for the asking."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


class OnRay(Runner):
    """As tasks of Ray. The store must be one that every machine reaches by its URL.

    Raises ``MissingDependency`` when Ray is not installed.
    """

    def __init__(self, workers: int | None, address: str = "") -> None:
        try:
            # Large, and only wanted by who runs batches on it. It comes without types.
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise MissingDependency('batches on Ray need: pip install "memwell[ray]"') from error
        self._address = address
        self._workers = workers

    def run(self, setting: Setting, orders: Iterable[Order]) -> Iterator[Report]:
        started = self._start()
        try:
            yield from self._reports(setting, orders)
        finally:
            if started:
                self._ray.shutdown()

    def _start(self) -> bool:
        """Connect, unless the program has done so; whether it was done here."""
        if self._ray.is_initialized():
            return False
        if self._address:
            self._ray.init(address=self._address, log_to_driver=False)
        else:
            # Nobody asked for a cluster that others can reach.
            self._ray.init(
                num_cpus=self._workers, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
            )
        return True

    def _reports(self, setting: Setting, orders: Iterable[Order]) -> Iterator[Report]:
        # Tries are counted where all ways of running are alike.
        task = self._ray.remote(max_retries=0)(done_elsewhere)
        most = self._workers or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
        waiting, running = iter(orders), dict[Any, int]()
        while True:
            while len(running) < most and (order := next(waiting, None)) is not None:
                running[task.remote(setting, order)] = order.number
            if not running:
                return
            ready, _ = self._ray.wait(list(running), num_returns=1)
            for one in ready:
                yield self._report(one, running.pop(one))

    def _report(self, reference: Any, number: int) -> Report:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.WorkerCrashedError:
            return Report(number, DIED)
        except self._ray.exceptions.RayError as error:
            return Report(number, f"{type(error).__name__}: {error}")


__all__ = ["OnRay", "ray_is_running"]

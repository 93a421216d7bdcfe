"""Timing several contenders in one run: they take turns in small batches, so that a busy machine is unfair to nobody."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Something that is timed. ``make`` prepares the input of a call, outside the clock; ``run`` takes a batch of them."""

    name: str
    run: Callable[[Sequence[Any]], object]
    make: Callable[[], Any] = lambda: None


def each(call: Callable[[Any], object]) -> Callable[[Sequence[Any]], None]:
    """A batch as one call after the other."""

    def run(inputs: Sequence[Any]) -> None:
        for one in inputs:
            call(one)

    return run


@dataclass
class Timing:
    """Seconds a call took, round by round: CPU of the whole process, and by the clock on the wall."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @property
    def cpu_us(self) -> float:
        """Median CPU of a call in microseconds."""
        return statistics.median(self.cpu) * 1e6

    @property
    def wall_us(self) -> float:
        """Median wall time of a call in microseconds."""
        return statistics.median(self.wall) * 1e6

    def ratio(self, other: Timing) -> float:
        """How many times the CPU of ``other`` a call takes: the median of the rounds' ratios."""
        return statistics.median(mine / its for mine, its in zip(self.cpu, other.cpu, strict=True))

    def wall_ratio(self, other: Timing) -> float:
        """The same by the clock on the wall."""
        return statistics.median(mine / its for mine, its in zip(self.wall, other.wall, strict=True))


def take_turns(contenders: Sequence[Contender], *, rounds: int, batch: int) -> dict[str, Timing]:
    """Time every contender ``rounds`` times; the first batch of each is a warm-up and not counted.

    Who begins changes from round to round.
    """
    timings = {one.name: Timing() for one in contenders}
    for one in contenders:
        one.run([one.make() for _ in range(batch)])
    gc.collect()
    for number in range(rounds):
        start = number % len(contenders)
        for one in (*contenders[start:], *contenders[:start]):
            cpu, wall = timed(one, batch)
            timings[one.name].cpu.append(cpu)
            timings[one.name].wall.append(wall)
    return timings


def timed(contender: Contender, batch: int) -> tuple[float, float]:
    """CPU and wall seconds of one call, over one batch."""
    inputs = [contender.make() for _ in range(batch)]
    wall, cpu = time.perf_counter(), time.process_time()
    contender.run(inputs)
    return (time.process_time() - cpu) / batch, (time.perf_counter() - wall) / batch


def cycle_through(values: Iterable[Any]) -> Callable[[], Any]:
    """A ``make`` that hands out the values over and over."""
    kept = list(values)
    position = -1

    def make() -> Any:
        nonlocal position
        position = (position + 1) % len(kept)
        return kept[position]

    return make


__all__ = ["Contender", "Timing", "cycle_through", "each", "take_turns", "timed"]

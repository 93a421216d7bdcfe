"""Any sequence of calls gives the answers that the reference gives, also when the process is killed in between."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from memwell.storage.protocols import Backend
from memwell.testing.clock import Clock
from memwell.testing.conformance.suite import Suite, some
from memwell.testing.machine import ChildSubject, LocalSubject, Nursery, StoreMachine, Subject
from memwell.testing.twins import through_twins


def check_sequences(
    folder: Path, make: Callable[[Path, Clock], Subject], examples: int, steps: int, share: float = 1.0
) -> None:
    """Run the machine, on a fresh store for every example; of the examples only the share is tried."""
    numbers = itertools.count(1)

    def machine() -> StoreMachine:
        number = next(numbers)
        # What an example left behind is of no use to the next one.
        shutil.rmtree(folder / str(number - 1), ignore_errors=True)
        place = folder / str(number)
        place.mkdir()
        clock = Clock()
        return StoreMachine(make(place, clock), clock)

    chosen = settings(some(examples, share), stateful_step_count=steps)
    run_state_machine_as_test(machine, settings=chosen)  # pyright: ignore[reportArgumentType]


class SequencesSuite(Suite):
    """Random sequences of calls, in this process."""

    def test_any_sequence_of_calls_agrees_with_the_reference(self, way: str, tmp_path: Path) -> None:
        with asyncio.Runner() as runner:

            def opened(place: Path, clock: Clock) -> Backend:
                backend = self.open(place, clock)
                return through_twins(backend, runner) if way == "async" else backend

            def make(place: Path, clock: Clock) -> Subject:
                return LocalSubject(lambda: opened(place, clock))

            examples, steps = (10, 20) if way == "async" else (30, 25)
            check_sequences(tmp_path, make, examples, steps, self.share)


class KillsSuite:
    """Random sequences of calls to a store in a process that is killed now and then. For durable backends."""

    opener: str
    """``module:name`` of what opens the backend, called with a path inside a folder and ``clock=``."""
    share: ClassVar[float] = 1.0
    """How much of the random examples is tried."""

    @pytest.fixture(scope="class")
    @classmethod
    def nursery(cls) -> Iterator[Nursery]:
        """The process that the children come from."""
        with Nursery(cls.opener.partition(":")[0], "memwell.storage.vectors") as nursery:
            yield nursery

    def test_a_killed_store_has_all_it_acknowledged_and_no_half_of_the_rest(
        self, tmp_path: Path, nursery: Nursery
    ) -> None:
        def make(place: Path, clock: Clock) -> Subject:
            return ChildSubject(nursery, self.opener, str(place / "store.db"), clock)

        check_sequences(tmp_path, make, examples=20, steps=20, share=self.share)

"""One leads at a time, all who wait are served once, and whoever gives up leaves the queue working."""

from __future__ import annotations

import random
import threading
import time
from typing import Any, cast

import pytest

from memwell.storage.sqlite.turns import MAX_GROUP, Pending, Turns


def serve(group: list[Pending[Any]]) -> None:
    for one in group:
        if one.operation is not None:
            one.result = one.operation(None)


def is_free(turns: Turns) -> bool:
    return turns.wait(Pending(None), 5)


def test_everybody_is_served_once_and_alone():
    turns, leading, served = Turns(), threading.Lock(), []

    def work(number: int) -> None:
        chance = random.Random(number)
        for step in range(100):
            kind = chance.randrange(4)
            if kind == 0 and turns.take():
                assert leading.acquire(blocking=False)
                served.append((number, step))
                leading.release()
                turns.hand_on()
                continue
            operation = None if kind == 1 else lambda _, done=(number, step): served.append(done)
            mine: Pending[None] = Pending(operation)
            timeout = 0.0005 if kind == 2 else -1
            led = turns.wait(mine, timeout)
            if led:
                assert leading.acquire(blocking=False)
                if operation is None:
                    served.append((number, step))
                    leading.release()
                    turns.hand_on()
                else:

                    def serve_and_let_go(group: list[Pending[Any]]) -> None:
                        serve(group)
                        leading.release()

                    turns.lead(mine, serve_and_let_go)
            elif not mine.done:
                served.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(served) == [(number, step) for number in range(6) for step in range(100)]
    assert turns.waiting == 0
    assert is_free(turns)


def test_a_group_ends_before_one_who_wants_to_lead_and_at_its_limit():
    turns, groups = Turns(), []
    assert turns.take()

    def queue(operation: Any) -> threading.Thread:
        def run() -> None:
            mine = Pending(operation)
            if turns.wait(mine):
                if operation is None:
                    groups.append("alone")
                    turns.hand_on()
                else:
                    turns.lead(mine, lambda group: groups.append(len(group)))

        before = turns.waiting
        thread = threading.Thread(target=run)
        thread.start()
        while turns.waiting == before:
            time.sleep(0.0001)
        return thread

    threads = [queue(serve) for _ in range(3)] + [queue(None)] + [queue(serve) for _ in range(2)]
    turns.hand_on()
    for thread in threads:
        thread.join(30)
    assert groups == [3, "alone", 2]
    assert MAX_GROUP > 1


class _InterruptedGate:
    """A gate at which an interrupt comes just after it was passed."""

    def __init__(self, gate: threading.Lock) -> None:
        self._gate = gate
        self._passed = False

    def acquire(self, timeout: float = -1) -> bool:
        if self._passed:
            return self._gate.acquire(timeout=timeout)
        self._passed = True
        self._gate.acquire()
        raise KeyboardInterrupt

    def release(self) -> None:
        self._gate.release()


@pytest.mark.parametrize("told", ["to lead", "that it is done"])
def test_an_interrupt_just_behind_the_gate_does_not_lose_the_turn(told: str):
    turns = Turns()
    assert turns.take()
    mine: Pending[None] = Pending(None if told == "to lead" else lambda _: None)
    mine.gate = cast(threading.Lock, _InterruptedGate(mine.gate))
    interrupted = threading.Event()

    def run() -> None:
        try:
            turns.wait(mine)
        except KeyboardInterrupt:
            interrupted.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not turns.waiting:
        time.sleep(0.0001)
    if told == "to lead":
        turns.hand_on()
    else:
        turns.lead(Pending(None), serve)
    thread.join(30)
    assert interrupted.is_set()
    assert is_free(turns)


def test_who_cannot_wait_leaves_the_queue():
    turns = Turns()
    assert turns.take()
    assert not turns.take()
    mine: Pending[None] = Pending(None)
    assert turns.wait(mine, 0.01) is False
    assert turns.waiting == 0
    turns.hand_on()
    assert is_free(turns)

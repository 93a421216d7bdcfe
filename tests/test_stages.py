"""Stages are entered where somebody follows, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Thread

import memwell
from memwell.stages import Stage, followed_by


def test_the_stages_of_a_recall_and_of_a_write_are_followed_in_their_context_alone():
    entered: list[str] = []

    @contextmanager
    def follow(name: Stage) -> Iterator[None]:
        entered.append(name)
        yield

    with memwell.open("memory:", work=False) as memory:
        memory.remember("Ann plays chess.")
        assert entered == []
        with followed_by(follow):
            memory.remember("Ben plays golf.")
            assert entered == ["store"]
            memory.recall("Who plays chess?")
            assert entered[1:] == ["store", "embed", "rank", "store"]
            entered.clear()
            alone = Thread(target=memory.recall, args=("chess",))
            alone.start()
            alone.join()
            assert entered == []
            carried = Thread(target=copy_context().run, args=(memory.recall, "chess"))
            carried.start()
            carried.join()
            assert "rank" in entered
        entered.clear()
        memory.recall("golf")
        assert entered == []

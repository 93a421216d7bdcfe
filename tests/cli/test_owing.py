"""What spaces are owed is found in the journals, and what is worked off is not listed."""

from __future__ import annotations

from memwell.cli.owing import noted, owed_by_space
from memwell.longterm.journal import PendingWork
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.jobs import REGISTRY
from memwell.storage import open_backend


def test_only_what_is_owed_is_listed():
    with open_backend("memory:") as backend:
        ann, bob = Memory(backend, "ann"), Memory(backend, "bob")
        for memory in (ann, bob):
            memory.remember(["tea", "milk"])
            backend.kv.put(REGISTRY, memory.space.encoded(), True)
        bob.flush()
        assert set(noted(backend)) == {Space("ann"), Space("bob")}
        assert owed_by_space(backend) == {Space("ann"): PendingWork(2, 2)}

"""Two transactions that go through the stores in opposite orders wait for each other, and both are stored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memwell.errors import BackendUnavailable
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.composed import ComposedBackend, Part
from memwell.storage.redis import RedisBackend
from memwell.testing.conformance.backend import in_threads
from tests.engines import postgres, redis

HOME = Space("home")
TALK = Thread(HOME, "talk")
ABOUT = Space("home", "memwell", "about")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ComposedBackend]:
    # Who has to wait longer than this has waited in vain.
    follower = RedisBackend(redis.single_url(tmp_path), settings=Settings(busy_timeout_s=1.0))
    part = Part(follower, "a server")
    with ComposedBackend(postgres.open_recycled(tmp_path), log=part, kv=part, one_writer=False) as backend:
        yield backend
    postgres.recycle(tmp_path)


Step = Callable[[ComposedBackend, str], object]
STEPS: dict[str, Step] = {
    "say": lambda store, text: store.log.append(TALK, [human(text)]),
    "look": lambda store, text: store.log.threads(HOME),
    "note": lambda store, text: store.kv.put(ABOUT, text, 1),
    "record": lambda store, text: store.index.upsert([Record(id=text, text=text, space=HOME)]),
}


@pytest.mark.parametrize("order", [("say", "record"), ("note", "record"), ("look", "note", "record", "say")])
def test_whatever_comes_first_nobody_waits_in_vain(store: ComposedBackend, order: tuple[str, ...]):
    for name, step in STEPS.items():
        step(store, f"first {name}")
    met = threading.Barrier(2)

    def work(number: int) -> None:
        steps = order if number else tuple(reversed(order))
        for turn in range(3):
            met.wait(30)
            with store.transaction():
                for name in steps:
                    STEPS[name](store, f"{number} {turn}")

    in_threads(2, work)
    counts = {
        "say": len(store.log.read(TALK)),
        "look": 7,
        "note": store.kv.count(ABOUT),
        "record": store.index.info(HOME).records,
    }
    assert {name: counts[name] for name in order} == dict.fromkeys(order, 7)


def test_what_an_undone_part_held_is_let_go_and_held_again(store: ComposedBackend):
    other = Space("other")

    def held() -> bool:
        """Whether somebody else has to wait for the other space."""
        done = threading.Event()

        def touch() -> None:
            try:
                with store.transaction():
                    store.kv.get(other, "key")
            except BackendUnavailable:
                return
            done.set()

        worker = threading.Thread(target=touch)
        worker.start()
        free = done.wait(0.3)
        waiting.append(worker)
        return not free

    waiting: list[threading.Thread] = []
    with store.transaction():
        store.kv.put(HOME, "kept", 1)
        with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
            store.index.get(other, ["nothing"])
            store.log.threads(other)
            raise ZeroDivisionError
        assert not store._home.kv.get(HOME, "turn")
        store.kv.put(other, "again", 1)
        assert held()
    for worker in waiting:
        worker.join()
    assert store.kv.get(other, "again") is not None

"""The same random question to the backend and to the reference has the same answer."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from memwell.filters import Filter, holds, value_test
from memwell.records import Record, Space, Thread
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import ABILITIES, Backend
from memwell.testing.clock import Clock
from memwell.testing.conformance.suite import Suite, all_pages, needs, some, through_twins
from memwell.testing.machine import (
    EVERYTHING,
    ChildStore,
    LocalStore,
    StoreMachine,
    Versions,
    assert_same,
    assert_same_match,
    assert_same_near,
)
from memwell.testing.strategies import (
    filters,
    findable_metadata,
    json_values,
    messages,
    records,
    scalars,
    sentences,
    vectors,
)
from memwell.values import new_id

_IDS = ("r0", "r1", "r2", "a", "A", "%", "1")
_EXAMPLES = 50


def _tried(way: str, share: float) -> settings:
    """Fewer through the async twins: they pass the same question on to the same code."""
    return some(_EXAMPLES if way == "sync" else _EXAMPLES // 4, share)


def _fresh_space() -> Space:
    """A space of its own for every example, so that one store serves them all."""
    return Space(new_id())


def _in(space: Space, stored: list[Record]) -> list[Record]:
    return [msgspec.structs.replace(one, space=space) for one in stored]


class CongruenceSuite(Suite):
    """Random data, random questions, one answer."""

    @needs("records")
    def test_filters_agree_on_records(self, store: Backend, way: str) -> None:
        reference = MemoryBackend()

        @_tried(way, self.share)
        @given(st.lists(records(Space("x"), _IDS), max_size=6), st.lists(filters(), min_size=1, max_size=4))
        def check(stored: list[Record], questions: list[Filter]) -> None:
            space = _fresh_space()
            for one in (store, reference):
                one.index.upsert(_in(space, stored))
            for where in questions:
                found = all_pages(store.index.scan, space, where=where, limit=3)
                assert_same(found, all_pages(reference.index.scan, space, where=where), Versions())
                assert all(holds(where, one) for one in found)

        check()

    def test_filters_agree_on_values(self, store: Backend, way: str) -> None:
        reference = MemoryBackend()
        values = findable_metadata() | json_values() | st.binary(max_size=5)

        @_tried(way, self.share)
        @given(st.dictionaries(st.sampled_from(_IDS), values, max_size=5), st.lists(filters(), min_size=1, max_size=4))
        def check(stored: dict[str, Any], questions: list[Filter]) -> None:
            space = _fresh_space()
            for key, value in stored.items():
                for one in (store, reference):
                    one.kv.put(space, key, value)
            for where in questions:
                found = all_pages(store.kv.scan, space, where=where, limit=2)
                assert_same(found, all_pages(reference.kv.scan, space, where=where), Versions())
                assert all(map(value_test(where), found))
                assert store.kv.count(space, where=where) == len(found)

        check()

    @needs("records")
    def test_numbers_agree_to_the_last_bit(self, store: Backend, way: str) -> None:
        reference = MemoryBackend()
        numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1) | scalars()

        @_tried(way, self.share)
        @given(st.lists(numbers, min_size=1, max_size=8))
        def check(found: list[Any]) -> None:
            space = _fresh_space()
            stored = [Record(id=str(i), text="", space=space, metadata={"n": n}) for i, n in enumerate(found)]
            for one in (store, reference):
                one.index.upsert(stored)
            for operator in ("$eq", "$lt", "$ge"):
                for number in found:
                    where = {"n": {operator: number}}
                    subject = [one.id for one in store.index.scan(space, where=where).items]
                    assert subject == [one.id for one in reference.index.scan(space, where=where).items], where

        check()

    @needs("records")
    def test_searches_agree(self, store: Backend, way: str) -> None:
        reference = MemoryBackend()
        question = st.tuples(vectors(), sentences(), st.integers(1, 8), st.none() | filters())

        @_tried(way, self.share)
        @given(
            st.lists(records(Space("x"), [*_IDS, *map(str, range(20))]), max_size=12),
            st.lists(question, min_size=1, max_size=3),
        )
        def check(stored: list[Record], questions: list[tuple[list[float], str, int, Filter | None]]) -> None:
            space = _fresh_space()
            for one in (store, reference):
                one.index.upsert(_in(space, stored))
            for vector, text, limit, where in questions:
                near = reference.index.near(space, vector, limit=EVERYTHING, where=where)
                assert_same_near(store.index.near(space, vector, limit=limit, where=where), near, limit)
                match = reference.index.match(space, text, limit=EVERYTHING, where=where)
                assert_same_match(store.index.match(space, text, limit=limit, where=where), match, limit)

        check()

    def test_conversations_agree(self, store: Backend, way: str) -> None:
        reference = MemoryBackend()

        @_tried(way, self.share)
        @given(st.lists(messages(), max_size=5), st.lists(st.tuples(sentences(), st.integers(1, 5)), max_size=2))
        def check(said: list[Any], questions: list[tuple[str, int]]) -> None:
            thread = Thread(_fresh_space(), "talk")
            assert store.log.append(thread, said) == reference.log.append(thread, said)
            assert store.log.read(thread) == reference.log.read(thread)
            for text, limit in questions:
                found = store.log.match(thread, text, limit=limit)
                assert_same_match(found, reference.log.match(thread, text, limit=EVERYTHING), limit)

        check()


# Any sequence of calls gives the answers that the reference gives, also when the process is killed in between.


def check_sequences(
    folder: Path, make: Callable[[Path, Clock], LocalStore | ChildStore], examples: int, steps: int, share: float = 1.0
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

            def make(place: Path, clock: Clock) -> LocalStore | ChildStore:
                return LocalStore(lambda: opened(place, clock))

            examples, steps = (10, 20) if way == "async" else (30, 25)
            check_sequences(tmp_path, make, examples, steps, self.share)


class KillsSuite:
    """Random sequences of calls to a store in a process that is killed now and then. For durable backends."""

    opener: str
    """``module:name`` of what opens the backend, called with a path inside a folder and ``clock=``."""
    share: ClassVar[float] = 1.0
    """How much of the random examples is tried."""
    abilities: ClassVar[frozenset[str]] = ABILITIES
    """What the backend declares."""

    def test_a_killed_store_has_all_it_acknowledged_and_no_half_of_the_rest(self, tmp_path: Path) -> None:
        def make(place: Path, clock: Clock) -> LocalStore | ChildStore:
            return ChildStore(self.opener, str(place / "store.db"), clock, self.abilities)

        check_sequences(tmp_path, make, examples=20, steps=20, share=self.share)

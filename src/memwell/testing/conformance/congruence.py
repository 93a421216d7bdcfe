"""The same random question, and the same sequence of calls, to the backend and to the reference have the same answer.

``StoreMachine`` is a hypothesis state machine over a ``LocalStore``, a backend in this process (blocking or through its
async twins), or a ``ChildStore``, in a process that can be killed. After a kill the store must hold everything it
acknowledged, and the pending call whole or not at all.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import itertools
import math
import multiprocessing
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from memwell.errors import MemwellError
from memwell.filters import Filter, holds, value_test
from memwell.messages import Message
from memwell.records import Hit, Page, Record, Space, Thread
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import ABILITIES, Backend, Entry, IndexInfo
from memwell.testing.conformance.suite import Clock, Suite, all_pages, needs, some, through_twins
from memwell.testing.strategies import (
    CURRENT,
    Outcome,
    StoreCall,
    everything,
    filters,
    findable_metadata,
    json_values,
    messages,
    outcome,
    reads,
    records,
    scalars,
    searches,
    sentences,
    vectors,
    writes,
)
from memwell.values import new_id

# Whether two stores gave the same answer: equal where it is exact, close where it is computed.


NEAR_TOLERANCE = 1e-3
MATCH_TOLERANCE = 1e-6
EVERYTHING = 10_000
"""A limit beyond what a test stores: the reference's whole ranking."""


class Versions:
    """Which version of one store is which of the other: they are random, but must correspond one to one."""

    def __init__(self) -> None:
        self._to_reference: dict[int, int] = {0: 0}
        self._to_subject: dict[int, int] = {0: 0}

    def pair(self, subject: int, reference: int) -> bool:
        """Whether the two correspond; two that were never seen do from now on."""
        known = self._to_reference.setdefault(subject, reference)
        known_back = self._to_subject.setdefault(reference, subject)
        return (known, known_back) == (reference, subject)

    def of_subject(self, reference: int) -> int:
        """The subject's name for a version of the reference; one that neither knows stays itself."""
        return self._to_subject.get(reference, reference)


def assert_same(subject: Any, reference: Any, versions: Versions) -> None:
    """Whether two answers are the same, whatever they are of."""
    assert type(subject) is type(reference), (subject, reference)
    if isinstance(subject, Entry):
        assert versions.pair(subject.version, reference.version), (subject, reference)
        assert (subject.key, subject.expires) == (reference.key, reference.expires)
        assert _plain(subject.value) == _plain(reference.value)
    elif isinstance(subject, IndexInfo):
        # How a space is searched is the backend's own choice.
        assert subject.__class__(*_counts(subject), "") == subject.__class__(*_counts(reference), "")
    elif isinstance(subject, Page):
        items: Sequence[Any] = reference.items
        # A cursor is opaque; that there is one is not.
        assert (subject.next is None) == (reference.next is None)
        assert_same(subject.items, items, versions)  # pyright: ignore[reportUnknownMemberType]
    elif isinstance(subject, list):
        assert len(subject) == len(reference), (subject, reference)  # pyright: ignore[reportUnknownArgumentType]
        for one, other in zip(subject, reference, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            assert_same(one, other, versions)
    else:
        assert subject == reference


def _counts(info: IndexInfo) -> tuple[int, int, int | None]:
    return info.records, info.vectors, info.dimensions


def _plain(value: Any) -> Any:
    """A value in a form whose equality tells 1, 1.0 and True apart."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return type(value), value


Ranking = Sequence[tuple[str, float, Any]]
"""What was found: an id, a score, and the thing itself; best first."""


def ranking_of(hits: Sequence[Hit] | Sequence[tuple[Message, float]]) -> Ranking:
    """Hits of an index or of a log as one shape."""
    return [(h.record.id, h.score, h.record) if isinstance(h, Hit) else (h[0].id, h[1], h[0]) for h in hits]


def assert_same_ranking(subject: Ranking, reference: Ranking, limit: int, *, relative: float, absolute: float) -> None:
    """Whether ``subject`` is a right answer, given the reference's whole ranking: equals may come in any order."""
    known = {id_: (score, thing) for id_, score, thing in reference}
    ids = [id_ for id_, _, _ in subject]
    assert len(set(ids)) == len(ids), "nothing is found twice"
    assert len(subject) == min(limit, len(reference)), (subject, reference)
    for (id_, score, thing), (_, expected, _) in zip(subject, reference, strict=False):
        assert math.isclose(score, expected, rel_tol=relative, abs_tol=absolute), (subject, reference)
        assert math.isclose(score, known[id_][0], rel_tol=relative, abs_tol=absolute), (id_, subject, reference)
        assert thing == known[id_][1]


def assert_same_near(subject: list[Hit], reference: list[Hit], limit: int) -> None:
    """Whether two searches by vector agree."""
    subject_ranking, whole = ranking_of(subject), ranking_of(reference)
    assert_same_ranking(subject_ranking, whole, limit, relative=0.0, absolute=NEAR_TOLERANCE)


def assert_same_match(
    subject: list[Hit] | list[tuple[Message, float]], reference: list[Hit] | list[tuple[Message, float]], limit: int
) -> None:
    """Whether two searches by words agree."""
    subject_ranking, whole = ranking_of(subject), ranking_of(reference)
    assert_same_ranking(subject_ranking, whole, limit, relative=MATCH_TOLERANCE, absolute=0.0)


# A backend in a process of its own, so that it can be killed at any moment.


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["memwell.testing.conformance.congruence", "memwell.storage.sqlite.vectors"])


class Undone(Exception):
    """Raised inside a transaction to have it undone."""


class Child:
    """A process with a backend that handles one request at a time. ``opener`` is ``module:name``."""

    def __init__(self, opener: str, path: str) -> None:
        self._connection, theirs = _FORKS.Pipe()
        with theirs:
            self._process = _FORKS.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
        self.ask("open", opener, path)

    def ask(self, verb: str, *arguments: object) -> Any:
        """Send a request, and return or raise its result."""
        self.send(verb, *arguments)
        return self.answer()

    def send(self, verb: str, *arguments: object) -> None:
        """Send a request without waiting."""
        self._connection.send((verb, *arguments))

    def answer(self) -> Any:
        """The result of the last request. Raises ``EOFError`` when the child died before it answered."""
        failed, result = self._connection.recv()
        if failed:
            raise result
        return result

    def kill(self) -> None:
        """Kill the process, and wait until it is gone. An answer that was sent can still be read."""
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        """Close the connection, which ends the process."""
        self._connection.close()
        self._process.join()


class _Worker:
    """Carries out the requests that a child process receives."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._store: LocalStore | None = None

    def open(self, opener: str, path: str) -> None:
        module, _, name = opener.partition(":")
        make = getattr(importlib.import_module(module), name)
        self._store = LocalStore(lambda: make(path, clock=self._clock))

    def calls(self, now: float, operations: list[StoreCall]) -> list[Outcome]:
        self._clock.now = now
        return self.outcomes(operations)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._store, verb)


def _serve(connection: Connection) -> None:
    worker = _Worker()
    for verb, *arguments in _received(connection):
        try:
            answer = (False, getattr(worker, verb)(*arguments))
        except MemwellError as error:
            answer = (True, type(error)(str(error)))
        connection.send(answer)


def _received(connection: Connection) -> Iterator[tuple[Any, ...]]:
    with suppress(EOFError, OSError):
        while True:
            yield connection.recv()


class LocalStore:
    """The store under test, in this process."""

    def __init__(self, open_store: Callable[[], Backend]) -> None:
        self._open = open_store
        self._store = open_store()
        self.durable = self._store.durable
        self.abilities = self._store.abilities
        self._transaction: AbstractContextManager[None] | None = None

    def outcomes(self, operations: list[StoreCall]) -> list[Outcome]:
        """The outcome of each of several calls."""
        return [outcome(operation, self._store) for operation in operations]

    def begin(self) -> None:
        """Begin a transaction."""
        self._transaction = self._store.transaction()
        self._transaction.__enter__()

    def end(self, undo: bool) -> None:
        """Commit the transaction, or roll it back."""
        transaction, self._transaction = self._transaction, None
        assert transaction is not None
        with suppress(Undone):
            if undo:
                transaction.__exit__(Undone, Undone(), None)
            else:
                transaction.__exit__(None, None, None)

    def check(self) -> list[str]:
        """The faults of the store."""
        return self._store.check()

    def reopen(self) -> None:
        """Close the store and open it again."""
        self._store.close()
        self._store = self._open()

    def close(self) -> None:
        """Close the store."""
        if self._transaction is not None:
            self.end(undo=True)
        self._store.close()


class ChildStore:
    """The store under test, in a child process. ``opener`` (``module:name``) is called with the path and a clock."""

    durable = True

    def __init__(self, opener: str, path: str, clock: Clock, abilities: frozenset[str] = ABILITIES) -> None:
        self.abilities = abilities
        self._start = partial(Child, opener, path)
        self._clock = clock
        self._child = self._start()

    def outcomes(self, operations: list[StoreCall]) -> list[Outcome]:
        """The outcome of each of several calls."""
        return self._child.ask("calls", self._clock(), operations)

    def begin(self) -> None:
        """Begin a transaction."""
        self._child.ask("begin")

    def end(self, undo: bool) -> None:
        """Commit the transaction, or roll it back."""
        self._child.ask("end", undo)

    def check(self) -> list[str]:
        """The faults of the store."""
        return self._child.ask("check")

    def reopen(self) -> None:
        """Close the store and open it again."""
        self._child.ask("reopen")

    def kill(self) -> bool:
        """Kill the process and open the store in a new one; whether the last request was answered."""
        self._child.kill()
        try:
            self._child.answer()
            answered = True
        except (EOFError, OSError):
            answered = False
        self._child.close()
        self._child = self._start()
        return answered

    def kill_during(self, operation: StoreCall | None, delay: float) -> bool:
        """Start a call (or the commit), kill the process meanwhile, and open the store again; whether it was answered."""
        if operation is None:
            self._child.send("end", False)
        else:
            self._child.send("calls", self._clock(), [operation])
        time.sleep(delay)
        return self.kill()

    def close(self) -> None:
        """End the process."""
        self._child.close()


class StoreMachine(RuleBasedStateMachine):
    """Random calls to a subject and to the reference."""

    def __init__(self, subject: LocalStore | ChildStore, clock: Clock) -> None:
        super().__init__()
        self.subject = subject
        self.clock = clock
        self.reference = MemoryBackend(clock=clock)
        self.versions = Versions()

    # Making one call on both

    def _versioned(self, operation: StoreCall, *, for_subject: bool) -> StoreCall:
        """The call with its expected version in the store's own terms."""
        expect = operation.options.get("expect")
        if expect is None:
            return operation
        if expect == CURRENT:
            entry = self.reference.kv.get(*operation.args[:2])
            expect = 0 if entry is None else entry.version
        if for_subject:
            expect = self.versions.of_subject(expect)
        return operation._replace(options={**operation.options, "expect": expect})

    def _on_reference(self, operation: StoreCall) -> Outcome:
        return outcome(self._versioned(operation, for_subject=False), self.reference)

    def _has(self, operation: StoreCall) -> bool:
        """Whether the subject has the part that the call is made on."""
        return {"index": "records", "blobs": "blobs"}.get(operation.part, "") in self.subject.abilities | {""}

    def _do(self, operation: StoreCall) -> None:
        if not self._has(operation):
            return
        for_subject = self._versioned(operation, for_subject=True)
        expected, answer = self._on_reference(operation)
        [(raised, found)] = self.subject.outcomes([for_subject])
        assert raised is expected, (operation, raised, expected)
        assert_same(found, answer, self.versions)
        self._follow_pages(operation, found, answer)

    def _follow_pages(self, operation: StoreCall, found: Any, answer: Any) -> None:
        while isinstance(found, Page) and found.next is not None:
            onward = {**operation.options, "cursor": found.next}
            [(_, found)] = self.subject.outcomes([operation._replace(options=onward)])
            onward = {**operation.options, "cursor": answer.next}
            answer = operation._replace(options=onward).on(self.reference)
            assert_same(found, answer, self.versions)

    def _compare_everything(self, versions: Versions | None = None) -> None:
        operations = [operation for operation in everything() if self._has(operation)]
        for operation, found in zip(operations, self.subject.outcomes(operations), strict=True):
            answer = outcome(operation, self.reference)
            assert found[0] is answer[0], (operation, found, answer)
            assert_same(found[1], answer[1], versions or self.versions)

    def _is_as_reference(self) -> bool:
        try:
            self._compare_everything(copy.deepcopy(self.versions))
        except AssertionError:
            return False
        return True

    # The rules

    @rule(operation=writes())
    def write(self, operation: StoreCall) -> None:
        self._do(operation)

    @rule(operations=st.lists(writes(), min_size=2, max_size=6))
    def write_several(self, operations: list[StoreCall]) -> None:
        for operation in operations:
            self._do(operation)

    @rule(operation=reads())
    def read(self, operation: StoreCall) -> None:
        self._do(operation)

    @rule(operation=searches())
    def search(self, operation: StoreCall) -> None:
        if not self._has(operation):
            return
        limit: int = operation.options["limit"]
        whole = operation._replace(options={**operation.options, "limit": EVERYTHING})
        expected, answer = self._on_reference(whole)
        [(raised, found)] = self.subject.outcomes([operation])
        assert raised is expected, (operation, raised, expected)
        if expected is None:
            same = assert_same_near if operation.method == "near" else assert_same_match
            same(found, answer, limit)

    @rule(seconds=st.sampled_from((0.25, 0.5, 1.0)))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: "transactions" in self.subject.abilities)
    @rule(operations=st.lists(writes() | reads() | searches(), max_size=5), undo=st.booleans())
    def transact(self, operations: list[StoreCall], undo: bool) -> None:
        self.subject.begin()
        with suppress(Undone), self.reference.transaction():
            for operation in operations:
                if operation.method in ("near", "match"):
                    self.search(operation)
                else:
                    self._do(operation)
            if undo:
                raise Undone
        self.subject.end(undo=undo)
        self._compare_everything()

    @precondition(lambda self: self.subject.durable)
    @rule()
    def reopen(self) -> None:
        self.subject.reopen()
        self._compare_everything()
        assert self.subject.check() == []

    @precondition(lambda self: isinstance(self.subject, ChildStore))
    @rule(operation=st.none() | writes(), delay=st.floats(0.0, 0.004))
    def kill_during_a_write(self, operation: StoreCall | None, delay: float) -> None:
        assert isinstance(self.subject, ChildStore)
        if operation is None:
            self.subject.kill()
        elif self._has(operation):
            answered = self.subject.kill_during(self._versioned(operation, for_subject=True), delay)
            if answered or not self._is_as_reference():
                self._on_reference(operation)
        self._compare_everything()
        assert self.subject.check() == []

    @precondition(lambda self: isinstance(self.subject, ChildStore) and "transactions" in self.subject.abilities)
    @rule(operations=st.lists(writes(), min_size=1, max_size=4), delay=st.floats(0.0, 0.004))
    def kill_during_a_commit(self, operations: list[StoreCall], delay: float) -> None:
        assert isinstance(self.subject, ChildStore)
        before = copy.deepcopy(self.versions)
        self.subject.begin()
        with suppress(Undone), self.reference.transaction():
            for operation in operations:
                self._do(operation)
            raise Undone
        self.versions = before
        answered = self.subject.kill_during(None, delay)
        if answered or not self._is_as_reference():
            for operation in operations:
                self._on_reference(operation)
        self._compare_everything()
        assert self.subject.check() == []

    def teardown(self) -> None:
        try:
            self._compare_everything()
            assert self.subject.check() == []
        finally:
            self.subject.close()


# Searches, filters and sequences of calls, as suites.

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

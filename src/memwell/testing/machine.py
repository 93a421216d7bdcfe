"""A hypothesis state machine that drives a store beside the reference, and compares every answer.

The store is a ``Subject``: a backend in this process (blocking or through its async twins), or one in a child process that
can be killed. After a kill the store must hold everything it acknowledged, and of what it was doing all or nothing.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from memwell.records import Page
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import ABILITIES, Backend
from memwell.testing.answers import EVERYTHING, Versions, assert_same, assert_same_match, assert_same_near
from memwell.testing.child import Child, Nursery, Undone
from memwell.testing.clock import Clock
from memwell.testing.operations import CURRENT, Operation, Outcome, everything, outcome, reads, searches, writes


class Subject(Protocol):
    """The store that is compared with the reference."""

    durable: bool
    killable: bool
    abilities: frozenset[str]

    def call(self, operation: Operation) -> Any:
        """Make a call."""
        ...

    def outcomes(self, operations: list[Operation]) -> list[Outcome]:
        """What comes of each of several calls."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def end(self, *, undo: bool) -> None:
        """End it."""
        ...

    def check(self) -> list[str]:
        """Look the store over."""
        ...

    def reopen(self) -> None:
        """Close the store and open it again."""
        ...

    def kill(self) -> None:
        """Kill the process that holds it, and open the store anew."""
        ...

    def kill_during(self, operation: Operation | None, delay: float) -> bool:
        """Start a call (or the end of the transaction), kill the process meanwhile, open the store anew.

        Returns whether the call was acknowledged.
        """
        ...

    def close(self) -> None:
        """End with it."""
        ...


class LocalSubject:
    """A backend in this process."""

    killable = False

    def __init__(self, open_store: Callable[[], Backend]) -> None:
        self._open = open_store
        self._store = open_store()
        self.durable = self._store.durable
        self.abilities = self._store.abilities
        self._transaction: AbstractContextManager[None] | None = None

    def call(self, operation: Operation) -> Any:
        return operation.on(self._store)

    def outcomes(self, operations: list[Operation]) -> list[Outcome]:
        return [outcome(operation, self._store) for operation in operations]

    def begin(self) -> None:
        self._transaction = self._store.transaction()
        self._transaction.__enter__()

    def end(self, *, undo: bool) -> None:
        transaction, self._transaction = self._transaction, None
        assert transaction is not None
        with suppress(Undone):
            if undo:
                transaction.__exit__(Undone, Undone(), None)
            else:
                transaction.__exit__(None, None, None)

    def check(self) -> list[str]:
        return self._store.check()

    def reopen(self) -> None:
        self._store.close()
        self._store = self._open()

    def kill(self) -> None:
        raise NotImplementedError("a store in this process dies with it")

    def kill_during(self, operation: Operation | None, delay: float) -> bool:
        raise NotImplementedError("a store in this process dies with it")

    def close(self) -> None:
        if self._transaction is not None:
            self.end(undo=True)
        self._store.close()


class ChildSubject:
    """A backend in a child process. ``opener`` (``module:name``) is called with the path and a clock."""

    durable = True
    killable = True

    def __init__(
        self, nursery: Nursery, opener: str, path: str, clock: Clock, abilities: frozenset[str] = ABILITIES
    ) -> None:
        self.abilities = abilities
        self._nursery = nursery
        self._what = (opener, path)
        self._clock = clock
        self._child = self._start()

    def _start(self) -> Child:
        return self._nursery.start(*self._what)

    def call(self, operation: Operation) -> Any:
        [(raised, found)] = self.outcomes([operation])
        if raised is not None:
            raise raised(f"raised in the child by {operation}")
        return found

    def outcomes(self, operations: list[Operation]) -> list[Outcome]:
        return self._child.ask("calls", (self._clock(), operations))

    def begin(self) -> None:
        self._child.ask("begin")

    def end(self, *, undo: bool) -> None:
        self._child.ask("end", undo)

    def check(self) -> list[str]:
        return self._child.ask("check")

    def reopen(self) -> None:
        self._child.ask("reopen", self._what)

    def kill(self) -> None:
        self._child.kill()
        self._child.close()
        self._child = self._start()

    def kill_during(self, operation: Operation | None, delay: float) -> bool:
        if operation is None:
            self._child.tell("end", False)
        else:
            self._child.tell("calls", (self._clock(), [operation]))
        time.sleep(delay)
        self._child.kill()
        try:
            self._child.answer()
            answered = True
        except (EOFError, OSError):
            answered = False
        self._child.close()
        self._child = self._start()
        return answered

    def close(self) -> None:
        self._child.close()


class StoreMachine(RuleBasedStateMachine):
    """Random calls to a subject and to the reference."""

    def __init__(self, subject: Subject, clock: Clock) -> None:
        super().__init__()
        self.subject = subject
        self.clock = clock
        self.reference = MemoryBackend(clock=clock)
        self.versions = Versions()

    # Making one call on both

    def _versioned(self, operation: Operation, *, for_subject: bool) -> Operation:
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

    def _on_reference(self, operation: Operation) -> Outcome:
        return outcome(self._versioned(operation, for_subject=False), self.reference)

    def _has(self, operation: Operation) -> bool:
        """Whether the subject has the part that the call is made on."""
        return {"index": "records", "blobs": "blobs"}.get(operation.part, "") in self.subject.abilities | {""}

    def _do(self, operation: Operation) -> None:
        if not self._has(operation):
            return
        for_subject = self._versioned(operation, for_subject=True)
        expected, answer = self._on_reference(operation)
        [(raised, found)] = self.subject.outcomes([for_subject])
        assert raised is expected, (operation, raised, expected)
        assert_same(found, answer, self.versions)
        self._follow_pages(operation, found, answer)

    def _follow_pages(self, operation: Operation, found: Any, answer: Any) -> None:
        while isinstance(found, Page) and found.next is not None:
            onward = {**operation.options, "cursor": found.next}
            found = self.subject.call(operation._replace(options=onward))
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
    def write(self, operation: Operation) -> None:
        self._do(operation)

    @rule(operations=st.lists(writes(), min_size=2, max_size=6))
    def write_several(self, operations: list[Operation]) -> None:
        for operation in operations:
            self._do(operation)

    @rule(operation=reads())
    def read(self, operation: Operation) -> None:
        self._do(operation)

    @rule(operation=searches())
    def search(self, operation: Operation) -> None:
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
    def transact(self, operations: list[Operation], undo: bool) -> None:
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

    @precondition(lambda self: self.subject.killable)
    @rule()
    def kill_when_idle(self) -> None:
        self.subject.kill()
        self._compare_everything()
        assert self.subject.check() == []

    @precondition(lambda self: self.subject.killable)
    @rule(operation=writes(), delay=st.floats(0.0, 0.004))
    def kill_during_a_write(self, operation: Operation, delay: float) -> None:
        if not self._has(operation):
            return
        answered = self.subject.kill_during(self._versioned(operation, for_subject=True), delay)
        if answered or not self._is_as_reference():
            self._on_reference(operation)
        self._compare_everything()
        assert self.subject.check() == []

    @precondition(lambda self: self.subject.killable and "transactions" in self.subject.abilities)
    @rule(operations=st.lists(writes(), min_size=1, max_size=4), delay=st.floats(0.0, 0.004))
    def kill_during_a_commit(self, operations: list[Operation], delay: float) -> None:
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


__all__ = ["ChildSubject", "LocalSubject", "StoreMachine", "Subject"]

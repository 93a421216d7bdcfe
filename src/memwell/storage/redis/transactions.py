"""Transactions over any number of tags, on any number of servers; see ``states`` for how one is committed.

The first read or write of a tag inside takes the tag, so everything that was read stays as it was until the end. Others who
meet a taken tag wait. Two that wait for each other are found out, and the younger one gives way.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol

from memwell.errors import BackendError, BackendUnavailable, ReadOnlyStore
from memwell.storage.joining import Joined
from memwell.storage.redis.running import Argument, Fenced, Held, Patience, Runner, Sealed, Unlisted
from memwell.storage.redis.scripts import Script, define
from memwell.storage.redis.states import State, States
from memwell.storage.redis.tags import Tag
from memwell.values import new_id

_YIELDING = "z"
"""Ids sort by the time they were made, those of a single call's own transaction behind all others: they give way first."""
_LOOKED_TWICE = 3
"""Who has napped so often looks whether it waits for somebody who waits for it."""

LIST = define(
    "list",
    """
    if not listed() then
        if ARGV[FIRST + 1] == '1' and not fresh then return NEW end
        set_field('i', 'in', '1')
    end
    if not redis.call('ZSCORE', base .. 'z', ARGV[FIRST]) then set_score('z', ARGV[FIRST], '0') end
    return 1
    """,
    writes=True,
    remembered=False,
)
UNLIST = define("unlist", "return drop_member('z', ARGV[FIRST])", writes=True, frees=True, remembered=False)


class GaveWay(BackendUnavailable):
    """Nothing was stored, and the same may be tried again at once."""


class Owner(Protocol):
    """What a transaction needs of the connections it belongs to."""

    runner: Runner
    states: States
    heartbeat: Heartbeat

    def check_open(self) -> None: ...
    def transaction_here(self) -> Transaction | None: ...
    def patience(self) -> Patience: ...
    def settle(self, holder: str, tag: Tag) -> State: ...
    def sealed(self, tag: Tag) -> ReadOnlyStore: ...
    def verdict(self, id_: str) -> bool | None: ...


_current: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_redis", default=None)


class Transaction:
    """One transaction; a context manager. Inside another on the same store it is a part that can fail alone."""

    def __init__(self, owner: Owner, *, yielding: bool = False) -> None:
        self.owner = owner
        self.id = f"{_YIELDING}{new_id()}" if yielding else new_id()
        self.open = False
        self.outer: Transaction | None = None
        self.around: Transaction | None = None
        self.taken: dict[str, Tag] = {}
        """Tags that may be ours by now, the answer being lost."""
        self.wrote = False
        self.prepared = False
        self._mark = 0
        self._held: set[str] = set()
        self._number = 0
        self._begun = False
        self._failed = ""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self.owner.check_open()
        self.outer = _current.get()
        self.around = self.owner.transaction_here()
        if self.around is not None:
            self._mark = self.around.mark()
            return
        self.open = True
        _current.set(self)

    def mark(self) -> int:
        """Where a part begins."""
        with self._lock:
            self._check()
            return self._number

    def _check(self) -> None:
        self.owner.check_open()
        if not self.open:
            raise BackendError("the transaction has ended")
        if self._failed:
            raise BackendUnavailable(f"the transaction was given up: {self._failed}; nothing was stored")

    # Inside

    def call(self, script: Script, tag: Tag, arguments: Sequence[Argument], *, fresh: bool = False) -> Any:
        """The reply of a script, run inside. One that raises has changed nothing and leaves the transaction open."""
        with self._lock:
            self._check()
            self._begin()
            self._number += 1
            try:
                return self._replied(script, tag, arguments, fresh)
            except Fenced:
                raise self.fail("it was away for longer than its lease, and others undid it") from None
            except Sealed:
                # Below, outside of the handler: asking for the reason may fail, and that error must not name this one.
                pass
            except BackendUnavailable as error:
                # Nobody knows what became of this call, so the rest must not be committed without it.
                self._failed = self._failed or str(error)
                raise
            except BackendError:
                self.owner.states.undo_to(self.id, tag, self._number - 1)
                raise
            raise self.owner.sealed(tag)

    def _replied(self, script: Script, tag: Tag, arguments: Sequence[Argument], fresh: bool) -> Any:
        patience, waited = self.owner.patience(), False
        while True:
            mode = ("h" if tag.base in self._held else "") + ("n" if fresh else "")
            self.taken[tag.base] = tag
            try:
                reply = self.owner.runner.run(
                    script, tag, arguments, transaction=self.id, mode=mode, number=str(self._number)
                )
            except (Held, Unlisted) as answer:
                met, holder = type(answer), str(answer)
            else:
                break
            # Outside of the handler: whatever fails from here on must not name an exception that callers do not know.
            if met is Unlisted:
                self._held.add(tag.base)
                return self._listed(script, tag, arguments)
            waited = self._wait_for(holder, tag, patience) or waited
        if waited:
            self.owner.states.wait_for(self.id, "")
        self._held.add(tag.base)
        self.wrote = self.wrote or script.writes
        return reply

    def _listed(self, script: Script, tag: Tag, arguments: Sequence[Argument]) -> Any:
        """Make the first content of a tag and list the tag where it belongs."""
        mark = self._number
        try:
            reply = self.call(script, tag, arguments, fresh=True)
            if tag.parent is not None:
                self.call(LIST, tag.parent, [tag.member, "1" if tag.parent.parent else "0"])
            return reply
        except BackendError:
            if not self._failed:
                self.undo_to(mark)
            raise

    def _begin(self) -> None:
        if not self._begun:
            self.owner.states.begin(self.id)
            self._begun = True
            self.owner.heartbeat.add(self)

    def _wait_for(self, holder: str, tag: Tag, patience: Patience) -> bool:
        """Do what can be done about the holder of a tag, or nap; whether it was said that we wait."""
        state = self.owner.settle(holder, tag)
        if state.status not in ("open", "prepared"):
            return False
        told = patience.naps >= _LOOKED_TWICE
        if told:
            self.owner.states.wait_for(self.id, holder)
            self._look_for_circle(holder, state)
        if not patience.nap():
            raise self.fail("another transaction holds what it needs and did not end in time")
        return told

    def _look_for_circle(self, holder: str, state: State) -> None:
        circle = [self.id, holder]
        while state.waits and state.waits not in circle:
            circle.append(state.waits)
            state = self.owner.states.look(state.waits)
        if state.waits == self.id and max(circle) == self.id:
            raise self.fail("it and another waited for each other")

    def fail(self, why: str) -> BackendUnavailable:
        """Give the whole transaction up."""
        self._failed = why
        return GaveWay(f"the transaction was given up: {why}; nothing was stored, try again")

    def undo_to(self, mark: int) -> None:
        """Take back what was written after a mark."""
        with self._lock:
            if not self._failed and self._number > mark:
                for tag in self.taken.values():
                    self.owner.states.undo_to(self.id, tag, mark)

    def renew(self) -> None:
        """Go on living. Called by the heartbeat."""
        if not self.owner.states.renew(self.id) and self.open and not self.prepared:
            self._failed = self._failed or "it was away for longer than its lease, and others undid it"

    # The end

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.around is not None:
            if error is not None:
                self.around.undo_to(self._mark)
            return
        with self._lock:
            self.open = False
            _current.set(self.outer)
            try:
                self._end(error)
            finally:
                self.owner.heartbeat.drop(self)

    def _end(self, error: BaseException | None) -> None:
        if error is not None or self._failed:
            self.abort()
            if error is None:
                raise GaveWay(f"the transaction was given up: {self._failed}; nothing was stored, try again")
        elif self.wrote:
            self.commit()
        elif self.taken:
            # Nothing to decide: whoever finds a tag after our death may undo nothing in it.
            self._free()

    def leave(self) -> None:
        """End here and leave what was prepared to whoever comes across it."""
        with self._lock:
            self.open = False
            _current.set(self.outer)
            self.owner.heartbeat.drop(self)

    def abort(self) -> None:
        """Undo everything. What cannot be reached now is undone by whoever comes across it."""
        if self._begun:
            with suppress(BackendError):
                self.owner.states.abort(self.id)
                self.owner.states.undo(self.id, self.taken.values())

    def prepare(self) -> bool:
        """Be ready for a verdict; False when nothing was written. Raises ``BackendError``, and nothing will be stored."""
        with self._lock:
            self._check()
            if not self.wrote:
                return False
            try:
                ready = self.owner.states.prepare(self.id, self.taken.values())
            except Sealed:
                ready = None
            if ready is None:
                raise self.owner.sealed(next(iter(self.taken.values())))
            if not ready:
                raise self.fail("it was away for longer than its lease, and others undid it")
            self.prepared = True
            return True

    def commit(self) -> None:
        """Commit, and let go of the tags. Raises ``BackendError`` when nothing was stored, or nobody knows."""
        states, tags = self.owner.states, list(self.taken.values())
        alone = len(tags) == 1 and not self.prepared
        try:
            done = states.commit_alone(self.id, tags[0]) if alone else states.commit(self.id, tags)
        except Sealed:
            done = None
        if done is None:
            self.abort()
            raise self.owner.sealed(tags[0])
        if not done:
            self.abort()
            raise self.fail("it was away for longer than its lease, and others undid it")
        if not alone:
            self._free()

    def _free(self) -> None:
        # From here on everybody can see that it is committed, and would do this in our place.
        with suppress(BackendError):
            self.owner.states.free(self.id, self.taken.values())
            self.owner.states.abort(self.id)


class JoinedTransaction(Joined):
    """A transaction that follows another store's verdict. Inside another on the same store it is a part of that one."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transaction = Transaction(owner)
        self.id = self._transaction.id

    def __enter__(self) -> JoinedTransaction:
        self._transaction.__enter__()
        return self

    def prepare(self) -> bool:
        return self._transaction.around is None and self._transaction.prepare()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not self._transaction.prepared:
            self._transaction.__exit__(kind, error, trace)
            return
        decided = self._owner.verdict(self.id)
        if decided is None:
            # Nobody can say now. It stays prepared, and whoever comes across it asks again.
            self._transaction.leave()
        else:
            self._transaction.__exit__(*((None, None, None) if decided else (kind, error, trace)))


class Heartbeat:
    """Keeps the transactions of this process alive, so that a lease may be short and their owners slow."""

    def __init__(self, lease_s: float) -> None:
        self._every_s = lease_s / 4
        self._living: set[Transaction] = set()
        self._wake = threading.Condition()
        self._pid = 0
        self._stopped = False

    def add(self, transaction: Transaction) -> None:
        """Keep it alive from now on."""
        with self._wake:
            self._living.add(transaction)
            if self._pid != os.getpid():
                self._pid = os.getpid()
                threading.Thread(target=self._beat, name="memwell-redis", daemon=True).start()
            elif len(self._living) == 1:
                self._wake.notify()

    def drop(self, transaction: Transaction) -> None:
        """Let it end."""
        with self._wake:
            self._living.discard(transaction)

    def stop(self) -> None:
        """End the thread."""
        with self._wake:
            self._stopped = True
            self._wake.notify()

    def _beat(self) -> None:
        while not self._stopped:
            with self._wake:
                if not self._living:
                    self._wake.wait()
                self._wake.wait_for(lambda: self._stopped, self._every_s)
                living = list(self._living)
            # Most transactions end between two beats, and cost nothing.
            for transaction in living:
                with suppress(BackendError):
                    transaction.renew()


current_transaction = _current
"""Carried into async callers by ``AsyncContext``."""

__all__ = ["GaveWay", "Heartbeat", "JoinedTransaction", "LIST", "Owner", "Transaction", "UNLIST", "current_transaction"]

"""The way of a part to its keys: ``call(script, tag, arguments)``, inside a transaction or outside.

A part defines its scripts with ``scripts.define`` (see there), finds the tag with ``connections.tags`` and calls. What
comes back is the script's reply: numbers as int, strings as bytes, lists of them. Everything else is seen to here:
another transaction's lock is waited for (and cleared when its owner is dead), a new tag is listed with its first content,
a lost answer is asked for again without a second effect, slots that have moved are followed, errors are translated.
"""

from __future__ import annotations

import contextvars
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, ReadOnlyStore
from memwell.settings import Settings
from memwell.storage.joining import Verdict
from memwell.storage.redis.address import Address
from memwell.storage.redis.running import Argument, Held, Patience, Runner, Sealed, Unlisted, of_cluster
from memwell.storage.redis.scripts import Script, define_unlocked
from memwell.storage.redis.states import State, States
from memwell.storage.redis.tags import Tag, Tags
from memwell.storage.redis.transactions import (
    GaveWay,
    Heartbeat,
    JoinedTransaction,
    Transaction,
    current_transaction,
)

T = TypeVar("T")

OLDEST = (6, 2)
"""The oldest Redis that has all that the scripts use."""

_REASON = define_unlocked("reason", "return redis.call('GET', sealed)", writes=False)


class Connections:
    """All of one store's servers, for its parts. Safe to use from any thread, and after a fork."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self.address = address
        self.tags = Tags(address.prefix)
        self.runner = Runner(address, settings)
        self.states = States(self.runner, self.tags, address.lease_s)
        self.heartbeat = Heartbeat(address.lease_s)
        self.closed = False
        self._busy_timeout_s = settings.busy_timeout_s
        self._verdict: Verdict | None = None

    # Calling scripts

    def call(self, script: Script, tag: Tag, arguments: Sequence[Argument] = ()) -> Any:
        """The reply of a script over one tag. Raises ``BackendError``, ``BackendUnavailable`` and ``ReadOnlyStore``."""
        transaction = None if current_transaction.get() is None else self.transaction_here()
        if transaction is not None:
            return transaction.call(script, tag, arguments)
        return self._alone(script, tag, arguments)

    def call_many(self, script: Script, calls: Sequence[tuple[Tag, Sequence[Argument]]]) -> list[Any]:
        """The replies of a script that only reads, over several tags, together as far as they lie together."""
        self.check_open()
        if self.transaction_here() is not None or len(calls) < 2:
            return [self.call(script, tag, arguments) for tag, arguments in calls]
        replies = self.runner.run_many(script, calls)
        return [
            self.call(script, tag, arguments) if isinstance(reply, Exception) else reply
            for (tag, arguments), reply in zip(calls, replies, strict=True)
        ]

    def _alone(self, script: Script, tag: Tag, arguments: Sequence[Argument]) -> Any:
        """The reply of a script outside of any transaction, once nobody else's holds the tag."""
        patience: Patience | None = None
        while True:
            self.check_open()
            try:
                return self.runner.run(script.alone or script, tag, arguments)
            except (Held, Unlisted, Sealed) as answer:
                met, holder = type(answer), str(answer)
            # Outside of the handler: whatever fails from here on must not name an exception that callers do not know.
            if met is Unlisted:
                return self._listed(script, tag, arguments)
            if met is Sealed:
                raise self.sealed(tag)
            patience = patience or self.patience()
            state = self.settle(holder, tag)
            if state.status in ("open", "prepared") and not patience.nap():
                raise BackendUnavailable(
                    f"the store stayed busy: a transaction held what was asked for over {self._busy_timeout_s:g} s"
                )

    def _listed(self, script: Script, tag: Tag, arguments: Sequence[Argument]) -> Any:
        """The first content of a tag, in a transaction that lists the tag, too."""
        return self.together(lambda: self.call(script, tag, arguments))

    def together(self, operation: Callable[[], T]) -> T:
        """Run calls that are stored together, for one method of a part. It may be run again, so it does nothing else."""
        patience, inside = self.patience(), self.transaction_here() is not None
        while True:
            try:
                with Transaction(self, yielding=True):
                    return operation()
            except GaveWay:
                if inside or not patience.nap():
                    raise

    # Others' transactions

    def settle(self, holder: str, tag: Tag) -> State:
        """Do what can be done about a transaction that holds a tag: free it, undo it, or ask for the verdict."""
        state = self.states.look(holder)
        if state.status == "prepared":
            state = self._decided(holder, state)
        if state.status == "committed" and not self.states.confirm(holder):
            # Its owner has freed everything meanwhile, or the server that knew of the commit died with it.
            state = self.states.look(holder)
        if state.status == "committed":
            self.states.free(holder, state.tags)
            if tag.base not in {one.base for one in state.tags}:
                # Sent before the commit and late on the way: it is no part of what was committed.
                self.states.undo(holder, [tag])
            self.states.forget_later(holder)
        elif state.status == "gone":
            self.states.undo(holder, [tag, *state.tags])
        return state

    def _decided(self, id_: str, state: State) -> State:
        """What a transaction that was left behind prepared is by the verdict; as it was when nobody can say."""
        verdict = self.verdict(id_)
        if verdict is None:
            return state
        if verdict:
            self.states.commit(id_, state.tags)
            return state._replace(status="committed")
        self.states.abort(id_)
        return state._replace(status="gone")

    def verdict(self, id_: str) -> bool | None:
        """Whether a prepared transaction was committed; None when nobody can say now."""
        if self._verdict is None:
            return None
        # Who gives the verdict is not inside of our transaction, whatever the caller is inside of.
        context = contextvars.copy_context()
        context.run(current_transaction.set, None)
        try:
            return context.run(self._verdict, id_)
        except BackendUnavailable:
            return None

    def follow(self, verdict: Verdict) -> None:
        """Ask this about prepared transactions from now on."""
        self._verdict = verdict

    # Transactions

    def transaction(self) -> Transaction:
        """Everything written inside is committed together."""
        return Transaction(self)

    def joined(self) -> JoinedTransaction:
        """The same, following another store's verdict."""
        return JoinedTransaction(self)

    def transaction_here(self) -> Transaction | None:
        """The open transaction on this store that the calling context is inside of."""
        transaction = current_transaction.get()
        while transaction is not None:
            if transaction.owner is self and transaction.open:
                return transaction
            transaction = transaction.outer
        return None

    def patience(self) -> Patience:
        """For one call, while others hold what it needs."""
        return Patience(self._busy_timeout_s)

    def sealed(self, tag: Tag) -> ReadOnlyStore:
        """The error for a write to a sealed store."""
        reason = self.runner.run(_REASON, tag)
        return ReadOnlyStore(f"the store takes no writes: {'it was sealed' if reason is None else reason.decode()}")

    def check_open(self) -> None:
        """Raises ``BackendError`` after ``close``."""
        if self.closed:
            raise BackendError(f"the store {self.address.shown!r} is closed")

    def check_server(self) -> None:
        """Raises ``BackendUnavailable`` when no server answers, ``ConfigurationError`` when it cannot be used."""
        self.runner.run(_REASON, self.tags.shard(0))
        [answer] = self.runner.commands(("INFO", "server"))
        if not self.address.cluster and isinstance(answer, bytes) and b"redis_mode:cluster" in answer:
            raise of_cluster(self.runner.servers.of_slot(0))
        self._check_replicas()
        found = re.search(rb"redis_version:(\d+)\.(\d+)", answer) if isinstance(answer, bytes) else None
        if found is not None and (int(found[1]), int(found[2])) < OLDEST:
            raise ConfigurationError(
                f"the Redis server is version {int(found[1])}.{int(found[2])}; a store needs 6.2 or newer"
            )

    def _check_replicas(self) -> None:
        # One master that has just taken over may be without: its writes wait, and the others' go on.
        if not self.address.wait:
            return
        told = [self.runner.ask(server, ("INFO", "replication"))[0] for server in self.runner.servers.masters()]
        if all(isinstance(one, bytes) and b"connected_slaves:0" in one for one in told):
            raise ConfigurationError(
                f"wait={self.address.wait} in the URL asks for replicas, and the Redis server {self.address.shown} has none"
            )

    def close(self) -> None:
        """Let go of the servers."""
        self.closed = True
        self.heartbeat.stop()
        self.runner.servers.close()


__all__ = ["Connections"]

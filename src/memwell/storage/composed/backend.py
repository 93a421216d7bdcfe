"""A store whose parts live in different engines, with one home that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, ConfigurationError
from memwell.records import Page, Space, paged
from memwell.storage import arguments as given
from memwell.storage.composed.attached import Attached
from memwell.storage.composed.beside import IndexBeside
from memwell.storage.composed.blobs import BlobsBeside
from memwell.storage.composed.feeding import Progress, Reconciled
from memwell.storage.composed.spaces import spaces_of
from memwell.storage.composed.transactions import Transaction, Verdicts, current_transaction, transaction_on
from memwell.storage.composed.turns import KeyValueInTurn, LogInTurn
from memwell.storage.joining import Joining
from memwell.storage.protocols import Backend, Blobs

_PAGE = 500


class Part(NamedTuple):
    """A store that is opened for one part of another, and its place without secrets."""

    store: Backend
    place: str


class Bytes(NamedTuple):
    """Where bytes are to live: how it is opened, how it is closed, its place without secrets, and what it is."""

    open: Callable[[], Blobs]
    close: Callable[[], None]
    place: str
    kind: str = "store"


class ComposedBackend(Backend):
    """The home store, with conversations, values, the search by vector or bytes elsewhere.

    ``log`` and ``kv`` are stores that can follow the home's verdict, ``index`` is an engine that is fed from the home's
    rows. All of them belong to this backend and are closed with it. ``one_writer`` says that the home lets one writer at
    a time. Raises ``ConfigurationError`` for a log or a kv that cannot follow.
    """

    def __init__(
        self,
        home: Backend,
        *,
        log: Part | None = None,
        kv: Part | None = None,
        index: Attached | None = None,
        blobs: Bytes | None = None,
        place: str = "",
        one_writer: bool = True,
        ask_above: int = 0,
    ) -> None:
        self._home = home
        self.path: Any = getattr(home, "path", None)
        """The home's file, where it has one."""
        self._place = place
        self._parts = {name: part for name, part in (("log", log), ("kv", kv)) if part is not None}
        for name, part in self._parts.items():
            _check_follows(name, part)
        self._others = list({id(part.store): part.store for part in self._parts.values()}.values())
        self._verdicts = Verdicts(home.kv, self._inside, one_writer=one_writer)
        for store in self._others:
            if isinstance(store, Joining):
                store.follow(self._verdicts)
        self.log = home.log if log is None else log.store.log
        self.kv = home.kv if kv is None else kv.store.kv
        if not one_writer:
            self.log = self.log if log is None else LogInTurn(self.log, home)
            self.kv = self.kv if kv is None else KeyValueInTurn(self.kv, home)
        self._beside = None if index is None else self._index_beside(index, ask_above)
        self.index = self._beside or home.index
        self._bytes = blobs
        self._blobs = None if blobs is None else self._blobs_beside(blobs)
        self.blobs = self._blobs or home.blobs

    def _index_beside(self, attached: Attached, ask_above: int) -> IndexBeside:
        return IndexBeside(
            self._home, attached, ask_above=ask_above, transaction=self.transaction, touched=self._touched
        )

    def _blobs_beside(self, blobs: Bytes) -> BlobsBeside:
        return BlobsBeside(
            self._home.kv,
            blobs.open,
            blobs.place,
            transaction=self.transaction,
            inside=lambda: transaction_on(self._home),
        )

    @property
    def home(self) -> Backend:
        """The store that decides."""
        return self._home

    @property
    def beside(self) -> IndexBeside | None:
        """The index with an engine beside it, where there is one."""
        return self._beside

    @property
    def durable(self) -> bool:
        return self._home.durable and all(store.durable for store in self._others)

    # Transactions

    def transaction(self) -> Transaction:
        return Transaction(self._home, self._others, self._verdicts)

    def atransaction(self) -> AsyncContext[None]:
        carried = [one for store in (self._home, *self._others) for one in store.atransaction().carried]
        return AsyncContext(self.transaction(), current_transaction, *carried)

    def _inside(self) -> bool:
        return transaction_on(self._home) is not None

    def _touched(self, spaces: Iterable[Space]) -> None:
        beside, found, transaction = self._beside, list(spaces), transaction_on(self._home)
        if beside is None:
            return
        if transaction is None:
            beside.due(found)
        else:
            # What is not committed yet, the feeder cannot see.
            transaction.afterwards(lambda: beside.due(found))

    # As a whole

    def check(self) -> list[str]:
        found = self._home.check()
        for name, part in self._parts.items():
            try:
                found += [f"{name}: {complaint}" for complaint in part.store.check()]
            except BackendError as error:
                if "closed" in str(error):
                    raise
                found.append(f"the {name} at {part.place} does not answer: {error}")
        if self._beside is not None:
            found += self._beside.problems()
        if self._blobs is not None and self._blobs.facts()["answers"]:
            found += self._blobs.problems(self._all_spaces())
        return found

    def reconcile(self, space: Space | None = None, progress: Progress | None = None) -> Reconciled:
        """Mend the engine beside the store, and remove bytes that nobody refers to. Raises ``BackendUnavailable``."""
        found = Reconciled() if self._beside is None else self._beside.reconcile(space, progress)
        self.remove_unreferenced(space)
        return found

    def remove_unreferenced(self, space: Space | None = None) -> int | None:
        """Remove bytes that nobody refers to; how many, or None where all bytes are in the home store."""
        if self._blobs is None:
            return None
        return self._blobs.reconcile(self._all_spaces() if space is None else iter([space]))

    def rebuild(self, space: Space | None = None, progress: Progress | None = None) -> int:
        """Feed the engine beside the store anew from the rows; how many spaces. Raises ``BackendUnavailable``."""
        return 0 if self._beside is None else self._beside.rebuild(space, progress)

    def scrub(self) -> None:
        if self._inside():
            raise BackendError("a store cannot be scrubbed inside its own transaction")
        if self._beside is not None:
            # An engine that is away is told what was deleted when it is back.
            with suppress(BackendError):
                self._beside.catch_up_everywhere()
        for store in self._others:
            store.scrub()
        # Nothing is left behind there now that could ask what became of it.
        self._verdicts.sweep()
        self._home.scrub()

    def facts(self) -> dict[str, Any]:
        facts = self._home.facts()
        parts: dict[str, Any] = {"home": {"place": self._place, "answers": True, "kind": facts.get("kind")}}
        for name, part in self._parts.items():
            parts[name], counts = _part_facts(name, part)
            facts.update(counts)
        if self._beside is not None:
            parts["index"] = self._beside.facts()
        if self._bytes is not None and self._blobs is not None:
            parts["blobs"] = {"kind": self._bytes.kind, **self._blobs.facts()}
            facts["blobs"] = self._blobs.count(paged(lambda cursor: self._home.spaces(limit=_PAGE, cursor=cursor)))
        return {**facts, "parts": parts}

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        return spaces_of(self._home, self._others, limit, given.check_name_cursor(cursor))

    def _all_spaces(self) -> Iterator[Space]:
        return paged(lambda cursor: self.spaces(limit=_PAGE, cursor=cursor))

    def seal(self, reason: str | None) -> None:
        if self._inside():
            raise BackendError("a store cannot be sealed inside its own transaction")
        for store in (*self._others, self._home):
            store.seal(reason)

    def notify(self, topic: str) -> None:
        self._home.notify(topic)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        return self._home.listen(heard)

    def close(self) -> None:
        if self._inside():
            raise BackendError("a store cannot be closed inside its own transaction")
        if self._beside is not None:
            self._beside.close()
        if self._bytes is not None:
            self._bytes.close()
        self._verdicts.forget_heard()
        for store in (*self._others, self._home):
            store.close()


_COUNTED = {"log": ("threads", "messages", "messages_indexed"), "kv": ("entries",)}


def _part_facts(name: str, part: Part) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where a part is and whether it answers, and the counts that are its own."""
    try:
        facts = part.store.facts()
    except BackendError as error:
        return {"kind": "redis", "place": part.place, "answers": False, "why": str(error)}, {}
    own = {key: facts[key] for key in ("kind", "durability") if key in facts}
    counts = {key: facts[key] for key in _COUNTED[name] if key in facts}
    return {"place": part.place, "answers": True, "durable": part.store.durable, **own}, counts


def _check_follows(name: str, part: Part) -> None:
    if not isinstance(part.store, Joining):
        raise ConfigurationError(
            f"{name} cannot live in {part.place}: only Redis can follow the transactions of another store"
        )


__all__ = ["Bytes", "ComposedBackend", "Part"]

"""Stores of several parts: a home store that is the truth, and parts and followers in other stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.composed.follower import Attached, FollowedIndex, Reconciled
from memwell.storage.composed.placed import (
    Transaction,
    current,
    placed,
    spaces_of,
    transaction_on,
)
from memwell.storage.protocols import Backend, KeyValue, MessageLog, VectorEngine, Written

__all__ = [
    "Attached",
    "ComposedBackend",
    "FollowedIndex",
    "Part",
    "Reconciled",
    "VectorEngine",
]


_OF_HOME = frozenset({"records", "blobs"})
"""Abilities that a composed store has when its home has them; the others, when all of its stores have them."""


class Part(NamedTuple):
    """A store that is opened for one part of another, and its place without secrets."""

    store: Backend
    place: str


class ComposedBackend(Backend):
    """The home store, with conversations, values or the search by vector in other places.

    A transaction is the home's. Conversations and values in ``log`` and ``kv`` are stored at once, even inside a
    transaction, and stay when it is rolled back. ``index`` is an engine that follows the home's rows. This backend closes
    all of them.
    """

    def __init__(
        self,
        home: Backend,
        *,
        log: Part | None = None,
        kv: Part | None = None,
        index: Attached | None = None,
        place: str = "",
        ask_above: int = 0,
    ) -> None:
        self.home = home
        """The store that is the truth."""
        self.path: Any = getattr(home, "path", None)
        """The home's file, where it has one."""
        self._place = place
        self._parts = {name: part for name, part in (("log", log), ("kv", kv)) if part is not None}
        self._others = list({id(part.store): part.store for part in self._parts.values()}.values())
        self.abilities = home.abilities.intersection(*(store.abilities | _OF_HOME for store in self._others))
        self.log = home.log if log is None else placed(MessageLog, home.log, log.store.log)
        self.kv = home.kv if kv is None else placed(KeyValue, home.kv, kv.store.kv)
        self.follower = None if index is None else FollowedIndex(home, index, ask_above)
        """The index with the following engine, if there is one."""
        self.index = self.follower or home.index
        self.blobs = home.blobs

    @property
    def encrypted(self) -> bool:
        return self.home.encrypted

    def export_writer(self, path: Path) -> BinaryIO:
        return self.home.export_writer(path)

    def export_reader(self, path: Path) -> BinaryIO | None:
        return self.home.export_reader(path)

    @property
    def durable(self) -> bool:
        return self.home.durable and all(store.durable for store in self._others)

    @property
    def read_only(self) -> bool:
        return self.home.read_only

    # Transactions

    def transaction(self) -> Transaction:
        return Transaction(self.home)

    def together(self) -> Transaction:
        return self.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self.transaction(), current, *self.home.atransaction().carried)

    def _refuse_inside(self, done: str) -> None:
        if transaction_on(self.home) is not None:
            raise BackendError(f"a store cannot be {done} inside its own transaction")

    # As a whole

    def check(self) -> list[str]:
        found = self.home.check()
        for name, part in self._parts.items():
            try:
                found += [f"{name}: {complaint}" for complaint in part.store.check()]
            except BackendError as error:
                if "closed" in str(error):
                    raise
                found.append(f"the {name} at {part.place} does not answer: {error}")
        if self.follower is not None:
            found += self.follower.problems()
        return found

    @property
    def scrubs_quickly(self) -> bool:
        return self.follower is None and all(store.scrubs_quickly for store in (*self._others, self.home))

    def scrub(self) -> bool:
        self._refuse_inside("scrubbed")
        followed = True
        if self.follower is not None:
            try:
                self.follower.catch_up_everywhere()
            except BackendError:
                # An unavailable engine gets the deletions when it is back.
                followed = False
        return all([followed, *(store.scrub() for store in (*self._others, self.home))])

    def connections(self) -> dict[str, int]:
        return self.home.connections()

    def facts(self) -> dict[str, Any]:
        facts = self.home.facts()
        parts: dict[str, Any] = {"home": {"place": self._place, "answers": True, "kind": facts.get("kind")}}
        for name, part in self._parts.items():
            parts[name], counts = _part_facts(name, part)
            facts.update(counts)
        if self.follower is not None:
            parts["index"] = self.follower.facts()
        return {**facts, "parts": parts}

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        return spaces_of(self.home, self._others, limit, given.check_name_cursor(cursor))

    def seal(self, reason: str | None) -> None:
        self._refuse_inside("sealed")
        self.require("seal")
        for store in (*self._others, self.home):
            store.seal(reason)

    def watch(self, name: str | None) -> bool:
        # A part in Redis notes nothing.
        return False if self._others else self.home.watch(name)

    def watched(self) -> str | None:
        return self.home.watched()

    def written(self, part: str, *, after: Written | None = None, limit: int = 100) -> list[Written]:
        return self.home.written(part, after=after, limit=limit)

    def drop_written(self, notes: Sequence[Written]) -> None:
        self.home.drop_written(notes)

    def notify(self, topic: str) -> None:
        self.home.notify(topic)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        return self.home.listen(heard)

    def close(self) -> None:
        self._refuse_inside("closed")
        if self.follower is not None:
            self.follower.close()
        for store in (*self._others, self.home):
            store.close()


_COUNTED = {"log": ("threads", "messages", "messages_indexed"), "kv": ("entries",)}


def _part_facts(name: str, part: Part) -> tuple[dict[str, Any], dict[str, Any]]:
    """The place of a part and whether it answers, and the counts that are its own."""
    try:
        facts = part.store.facts()
    except BackendError as error:
        return {"kind": "redis", "place": part.place, "answers": False, "why": str(error)}, {}
    own = {key: facts[key] for key in ("kind", "durability") if key in facts}
    counts = {key: facts[key] for key in _COUNTED[name] if key in facts}
    return {"place": part.place, "answers": True, "durable": part.store.durable, **own}, counts

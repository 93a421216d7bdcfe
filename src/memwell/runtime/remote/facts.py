"""Facts and receipts behind a service: what holds, what was believed, and what went into which prompt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memwell._asyncify import asyncify
from memwell.longterm.facts import Clash, Edge, Fact
from memwell.longterm.journal import inner_space
from memwell.records import Page, Space
from memwell.runtime.context.choosing import Receipt
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import moment
from memwell.runtime.remote.refusing import Refused
from memwell.runtime.wire import memories
from memwell.values import check_count, check_id

_LEARNED = "facts are read from what is remembered, and go when it is forgotten; call remember, forget or undo"
_MOST_RECEIPTS = 1000


class RemoteFacts:
    """The facts of the key's space. Every method has an async twin with an ``a`` in front."""

    learn = Refused(_LEARNED)
    alearn = Refused(_LEARNED)
    retract = Refused(_LEARNED)
    aretract = Refused(_LEARNED)
    restore = Refused(_LEARNED)
    arestore = Refused(_LEARNED)

    def __init__(self, connection: Connection, space: Space) -> None:
        self.space = inner_space(space)
        self._connection = connection

    def about(
        self,
        subject: str,
        *,
        relation: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> list[Fact]:
        """What holds of a subject: now, or at ``as_of`` in the world, as it was believed now, or at ``known_at``.

        Raises ``InvalidInput`` for an empty subject or an unknown relation.
        """
        asked = memories.FactsAbout(
            subject=subject, relation=relation, as_of=moment(as_of, "as_of"), known_at=moment(known_at, "known_at")
        )
        return self._connection.call("facts_about", memories.FactList, asked).facts

    def history(self, subject: str, relation: str | None = None) -> list[Fact]:
        """All that was ever believed of a subject, the earliest first; what was superseded or retracted says so."""
        asked = memories.FactsHistory(subject=subject, relation=relation)
        return self._connection.call("facts_history", memories.FactList, asked).facts

    def all(self, *, limit: int = 100, cursor: str | None = None) -> Page[Fact]:
        """Every fact of the space, held or not, by subject. A page may run over ``limit`` to end with a whole question."""
        asked = memories.ListFacts(limit=check_count(limit, "limit", least=1), cursor=cursor)
        return self._connection.call("all_facts", Page[Fact], asked)

    def conflicts(self, subject: str | None = None) -> list[Clash]:
        """The facts that contradict each other, rather than follow each other: of one subject, or of the whole space."""
        return self._connection.call("conflicts", memories.Clashes, memories.Conflicts(subject=subject)).clashes

    def walk(self, start: str, *, depth: int = 2, as_of: datetime | None = None, limit: int = 200) -> list[Edge]:
        """The facts that lead from a name to others and on, in both directions, the nearest first, at most ``limit``.

        Raises ``InvalidInput`` for an empty name, or a depth or limit below 1.
        """
        asked = memories.WalkGraph(
            start=start,
            depth=check_count(depth, "depth", least=1),
            as_of=moment(as_of, "as_of"),
            limit=check_count(limit, "limit", least=1),
        )
        return self._connection.call("graph", memories.Graph, asked).edges

    aabout = asyncify(about)
    ahistory = asyncify(history)
    aall = asyncify(all)  # noqa: A003 - the method above, not the builtin
    aconflicts = asyncify(conflicts)
    awalk = asyncify(walk)


class RemoteReceipts:
    """The receipts of the key's space, the newest thousand of them."""

    put = Refused("context() writes the receipt of the prompt that it makes")
    aput = Refused("context() writes the receipt of the prompt that it makes")
    forget = Refused("erase() takes what it removes out of the receipts")
    aforget = Refused("erase() takes what it removes out of the receipts")

    def __init__(self, connection: Connection, space: Space) -> None:
        self.space = inner_space(space)
        self._connection = connection

    def get(self, receipt_id: str) -> Receipt:
        """One receipt. Raises ``NotFound`` when there is none, or it was so old that it went."""
        return self._connection.call("receipt", Receipt, None, id=receipt_id)

    def all(self) -> Iterator[Receipt]:
        """The receipts, newest first."""
        return iter(self._listed(memories.ListReceipts(limit=_MOST_RECEIPTS)))

    def of_memory(self, memory_id: str) -> list[Receipt]:
        """The prompts that a memory went into, newest first."""
        check_id(memory_id, "a memory's id")
        return self._listed(memories.ListReceipts(limit=_MOST_RECEIPTS, memory=memory_id))

    def _listed(self, asked: memories.ListReceipts) -> list[Receipt]:
        return self._connection.call("receipts", memories.ReceiptList, asked).receipts

    aget = asyncify(get)
    aof_memory = asyncify(of_memory)


__all__ = ["RemoteFacts", "RemoteReceipts"]

"""Asking a memory behind a service: what it recalls, holds, knows and would put into a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice

from memwell._asyncify import asyncify
from memwell.filters import FilterLike
from memwell.knowledge.documents import Found
from memwell.longterm.base import Version
from memwell.longterm.facts import Fact
from memwell.longterm.journal import Owed
from memwell.longterm.profiles import Profile
from memwell.longterm.recall import Recalled
from memwell.longterm.weights import Weights
from memwell.records import Page, paged
from memwell.runtime.context import Context, Passage, Shares
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import filter_text, moment, passages, recall_data
from memwell.runtime.wire import memories
from memwell.runtime.wire.threads import Counted, ListThreads
from memwell.storage.protocols import ThreadInfo
from memwell.values import check_count, check_text

_BLOCK = 500


class Asking:
    """The part of a ``RemoteMemory`` that changes nothing."""

    _connection: Connection

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kinds: str | Iterable[str] | None = None,
        speaker: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: FilterLike | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        weights: Weights | None = None,
        diversity: float = 0.0,
    ) -> list[Recalled]:
        """The memories that answer ``query`` best, best first; a service gives a thousand at most.

        The arguments are those of a memory in a file. Raises ``InvalidInput`` for a query or a filter that breaks a rule.
        """
        asked = recall_data(
            query,
            limit=limit,
            kinds=kinds,
            speaker=speaker,
            session=session,
            since=since,
            until=until,
            where=where,
            as_of=as_of,
            now=now,
            weights=weights,
            diversity=diversity,
        )
        return self._connection.call("recall", memories.Recollection, asked).hits if limit else []

    def similarities(self, query: str, ids: Sequence[str]) -> dict[str, float]:
        """How near memories are to a query in meaning: the cosines of their stored vectors, by their ids.

        Those without a vector are left out; so are all when there is no embedder, or it fails.
        """
        check_text(query, "a query")
        if not ids:
            return {}
        asked = memories.Similarities(query=query, ids=list(ids))
        return self._connection.call("similarities", memories.Nearness, asked).similarities

    def get(self, id_: str, /) -> Recalled:
        """One memory. Raises ``NotFound`` when there is none, it was forgotten, or it has expired."""
        return self._connection.call("memory", Recalled, memories.OwnerOnly(), id=id_)

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The memories of the space, oldest first. They are fetched page by page."""
        wanted = None if limit is None else check_count(limit, "limit")
        block = _BLOCK if wanted is None else max(1, min(wanted, _BLOCK))
        if wanted == 0:
            return []
        pages = paged(lambda cursor: self.page(where=where, limit=block, cursor=cursor, newest_first=False))
        return list(islice(pages, wanted))

    def page(
        self,
        *,
        where: FilterLike | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
        forgotten: bool = False,
    ) -> Page[Recalled]:
        """One page of the memories, the last stored first; give ``next`` of a page as ``cursor`` to get the following.

        With ``forgotten`` it is those that were forgotten and can still be brought back. A page may hold fewer than
        ``limit`` and still not be the last. Raises ``InvalidInput`` for a filter, limit or cursor that breaks a rule.
        """
        asked = memories.ListMemories(
            limit=check_count(limit, "limit", least=1),
            cursor=cursor,
            newest_first=newest_first,
            forgotten=forgotten,
            where=filter_text(where),
        )
        return self._connection.call("memories", Page[Recalled], asked)

    def history(self, id_: str, /) -> list[Version]:
        """What a memory was before, oldest first, and what changed it. Raises ``NotFound``."""
        return self._connection.call("versions", memories.Versions, None, id=id_).versions

    def count(self) -> int:
        """How many memories may be recalled."""
        return self._connection.call("count", Counted, memories.OwnerOnly()).count

    def evaluate(self, id_: str, /) -> float:
        """What a memory has shown to be worth, from 0 to 1, all uses until now counted. Raises ``NotFound``."""
        return self._connection.call("worth", memories.Worth, None, id=id_).worth

    def profile(self, subject: str = "user", *, language: str = "en") -> Profile:
        """What is known of someone: attributes, preferences, people, topics, each with its evidence."""
        return self._connection.call("profile", Profile, memories.ProfileOf(language=language), subject=subject)

    def facts_about(self, subject: str, *, relation: str | None = None, as_of: datetime | None = None) -> list[Fact]:
        """The facts that hold of someone or something, now or at a moment."""
        asked = memories.FactsAbout(subject=subject, relation=relation, as_of=moment(as_of, "as_of"))
        return self._connection.call("facts_about", memories.FactList, asked).facts

    def owed(self) -> Owed:
        """What has been stored but not yet given all its words and vectors."""
        return self._connection.call("owed", Owed)

    def failures(self) -> list[str]:
        """The ids of memories that the embedder cannot take; they are found by their words alone."""
        return self._connection.call("failures", memories.Ids).ids

    def threads(self, *, limit: int = 50, cursor: str | None = None) -> Page[ThreadInfo]:
        """One page of the conversations of this space, by their ids; what is known of each without reading it."""
        asked = ListThreads(limit=check_count(limit, "limit", least=1), cursor=cursor)
        return self._connection.call("threads", Page[ThreadInfo], asked)

    def catch_up(self) -> None:
        """Does nothing: the service makes all findable by its words before it answers any question."""

    def context(
        self,
        query: str,
        *,
        thread: str | None = None,
        budget: int = 2000,
        system: str | None = None,
        profile: str | None = None,
        documents: Sequence[Passage | Found] = (),
        limit: int = 20,
        language: str | None = None,
        shares: Shares | None = None,
    ) -> Context:
        """A prompt of at most ``budget`` tokens that asks ``query``: the conversation, what is known, and the question.

        The arguments are those of a memory in a file; ``language`` is the service's own unless it is given. Raises
        ``InvalidInput`` when the query and the system text alone are over the budget.
        """
        asked = memories.AskContext(
            query=check_text(query, "a query"),
            thread=thread,
            budget=check_count(budget, "budget"),
            system=system,
            profile=profile,
            documents=passages(documents),
            limit=check_count(limit, "limit"),
            language=language,
            shares=shares,
        )
        made = self._connection.call("context", memories.Prompt, asked)
        return Context(made.messages, made.tokens, made.budget, made.receipt)

    arecall = asyncify(recall)
    asimilarities = asyncify(similarities)
    aget = asyncify(get)
    amemories = asyncify(memories)
    apage = asyncify(page)
    ahistory = asyncify(history)
    acount = asyncify(count)
    aevaluate = asyncify(evaluate)
    aprofile = asyncify(profile)
    afacts_about = asyncify(facts_about)
    aowed = asyncify(owed)
    afailures = asyncify(failures)
    athreads = asyncify(threads)
    acatch_up = asyncify(catch_up)
    acontext = asyncify(context)


__all__ = ["Asking"]

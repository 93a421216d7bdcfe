"""``recall``: ranks the memories of a space against a query and explains each hit."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
import numpy as np
from msgspec.structs import force_setattr, replace
from numpy.typing import NDArray

from memwell._asyncify import asyncify
from memwell._native import product
from memwell.errors import InvalidInput, ModelError, NotFound
from memwell.filters import AllOf, AnyOf, Filter, FilterLike, Not, Where, as_filter, record_test
from memwell.language.answers import may_answer
from memwell.language.asking import is_question, separate_questions
from memwell.language.fact_questions import FactQuestion, relations_with
from memwell.language.patterns import LazyPattern
from memwell.language.updates import LONGEST, statement, takes_back
from memwell.longterm.base import MemoryBase, MemoryVersion
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.embedding import MOST_TRIES, Embedders, LateInteraction, QueryVector, QueryVectors, TokenStore
from memwell.longterm.facts import Facts, StatedFacts
from memwell.longterm.gate import TRUSTS
from memwell.longterm.indexing import CORRECTED_WITHIN, facts_of
from memwell.longterm.question_model import asked_fact
from memwell.longterm.ranking import Ranked, diverse, rank, why_found
from memwell.longterm.relevance import BEST_OF, relevances
from memwell.longterm.snapshot import NOWHERE, Flags, Snapshot, embedded_text
from memwell.longterm.snapshot_cache import HeldSnapshot, Snapshots
from memwell.longterm.stating import stating
from memwell.longterm.superseding import (
    COMPARED,
    LEAST_RELEVANCE,
    POOL,
    SUPERSEDED,
    ComparedHit,
    ComparedVectors,
    Successor,
    default_models,
    how_likely_stated,
    in_order,
    meant_and_whole,
    names_asked,
    outdated,
    precedence,
    speaks_for,
    states_of_another,
    states_other_number,
)
from memwell.longterm.traits import FORGOTTEN, KEY, Evidence, Traits, own_metadata, traits_of
from memwell.longterm.uses import all_uses, counted_traits, uses_of
from memwell.longterm.weights import Signal, Weights, default_weights
from memwell.models.ports import Reranker, WordMatch
from memwell.records import Page, Record, Space
from memwell.stages import stage
from memwell.storage.protocols import Backend, RecordIndex
from memwell.values import as_utc, check_count, check_id, check_known, check_list, check_number, check_text, check_type

_RERANKED = 3
"""A reranker gets this many times ``limit`` hits."""
_DIVERSIFIED = 4
"""With diversity, this many times ``limit`` hits are considered."""
_CANDIDATES = 200
_MOST_ASKED = 256
_STATES_ASKED = 0.9
"""The least relevance of what states a fact that is asked for. Of 154 such hits in ``benchmarks/recall``, 153 answer."""
_OF_MANY = 0.1
"""The same where a question is likely for such facts, and people have many of them: "What do I drive?" of all one owns."""
_OF_ANOTHER = 0.1
"""The part of its relevance that is left to what states the fact that is asked for of someone else."""
_OTHER_NUMBER = 0.03
"""The same of the number of a phone, where that of something else is asked for: these have but the one word in common."""
_LOOKED_AHEAD = 8
"""How many turns after a memory the one may be that takes it back."""
_DECISIVE = 3.0
"""How far the reranker's scores are stretched, in units of the best score without it."""
_SAYS_MORE = 2
"""From this many words on, or with a name, the rest of a text without its facts says something of its own."""
_NAMES = re.compile(r"[a-z] [A-Z][a-z]").search
_RECURS = LazyPattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|every|each|weekly|daily)\b|每[天周个隔]|每?逢",
    re.IGNORECASE,
).search

_looking: ContextVar[bool] = ContextVar("memwell_looking", default=False)


@contextmanager
def looking(only: bool = True) -> Generator[None]:
    """Do not count recalls in this block as use, so that looking at memories does not change their ranking.

    With ``only`` False it changes nothing.
    """
    token = _looking.set(only or _looking.get())
    try:
        yield
    finally:
        _looking.reset(token)


class Recalled(msgspec.Struct, frozen=True):
    """A recalled memory. The shares of its signals add up to its score."""

    id: str
    text: str
    score: float
    time: datetime
    kind: str
    speaker: str
    session: str
    importance: float
    metadata: dict[str, Any]
    signals: dict[str, Signal]
    evidence: tuple[Evidence, ...] = ()
    trust: str = "user"
    flags: tuple[str, ...] = ()
    pinned: bool = False
    asked: str = ""
    """The query that found it."""
    accessed: datetime | None = None
    """When it was last recalled before, as far as that is recorded."""
    matches: Sequence[WordMatch] = ()
    """The words of the query that it answers best, each with its own word for it; only of embedders with token vectors."""
    relevance: float = 0.0
    """The probability that it helps to answer ``asked``, from 0 to 1; 0 for a memory that was not recalled."""
    superseded_by: str = ""
    """The id of the later memory that makes it outdated; then ``superseded`` is among its flags."""
    version: int = 1
    """How often it was changed, from 1 on; ``update``, ``undo`` and ``feedback`` take it to change no other version."""

    def __post_init__(self) -> None:
        # A decoder makes a list of any sequence; a hit from a service is equal to the same hit from a file.
        if isinstance(self.matches, list):
            force_setattr(self, "matches", tuple(self.matches))

    def why(self, most: int = 4, *, query: str = "", language: str = "en") -> str:
        """The reasons in one line, the weightiest first, as in ``same meaning: job ~ works (41 %); same words (33 %)``.

        With the ``query`` it names the words; ``language`` is ``en`` or ``zh``. ``signals`` has every signal by itself.
        Raises ``InvalidInput`` for a query that is no text, or another language.
        """
        return why_found(
            self,
            most,
            query,
            language,
            speaker=self.speaker,
            session=self.session,
            matches=self.matches,
            superseded_by=self.superseded_by,
        )

    def __str__(self) -> str:
        return self.text


class RecallingMemory(MemoryBase):
    """Answers queries: ranks memories, and reads single memories, pages of them and their history."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._query_vectors = QueryVectors(Embedders(self.backend.kv, self._inner, self.embedder, self.wanted_embedder))
        self._notified_of: str | None = None
        self._view_snapshots: tuple[Backend, Snapshots] | None = None
        self._narrow_filters: set[str] = set()

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
        trust: str | Iterable[str] | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        weights: Weights | None = None,
        diversity: float = 0.0,
        min_relevance: float = 0.0,
    ) -> list[Recalled]:
        """The memories that answer ``query`` best, best first.

        ``kinds``, ``speaker`` (any case), ``session``, ``since`` (inclusive), ``until`` (exclusive), ``where`` (over the
        metadata) and ``trust`` (whose word it is) restrict it; ``as_of`` asks what was known at that time; ``now`` is the
        reference for words such as *yesterday*. Hits whose relevance is below ``min_relevance`` take no place of others.
        Raises ``InvalidInput`` for an invalid query or filter.
        """
        check_text(query, "a query")
        check_count(limit, "limit")
        check_number(min_relevance, "min_relevance")
        check_number(diversity, "diversity")
        check_type(weights, (Weights, NoneType), "weights must be Weights")
        moment = self.clock() if now is None else as_utc(now, "now")
        wanted = _wanted(kinds, session, since, until, where, trust)
        questions = separate_questions(query)
        ranked = partial(
            self._ranked, moment=moment, limit=limit, weights=weights, diversity=diversity, min_relevance=min_relevance
        )
        self.indexer.catch_up()
        tries = 0
        while True:
            known = tries < MOST_TRIES
            asked = {one: self._embedded_query(one) if known else QueryVector(None, None) for one in questions}
            with self._held_for(query, asked.values(), as_of, speaker, wanted, max(_CANDIDATES, limit)) as (
                held,
                narrowed,
            ):
                state = held.state if self.indexer.view is self.backend else None
                if all(self._query_vectors.still(one, state) for one in asked.values()):
                    found = [
                        ranked(held, vector, one, narrowed, strict=not tries, historic=as_of is not None)
                        for one, vector in asked.items()
                    ]
                    if None not in found:
                        hits = _merged([hits for hits in found if hits is not None], query)[:limit]
                        self._count_use(held, hits, moment)
                        return hits
            tries += 1

    @contextmanager
    def _held_for(
        self,
        query: str,
        asked: Collection[QueryVector],
        as_of: datetime | None,
        speaker: str | None,
        wanted: Filter | None,
        most: int,
    ) -> Generator[tuple[HeldSnapshot, Filter | None]]:
        """The snapshot to rank: the whole space, the space at ``as_of``, or the best matches of a large space."""
        if as_of is not None:
            held = self._held_at(as_utc(as_of, "as_of"))
            yield held, _spoken_by(speaker, held, wanted)
            return
        snapshots = self._current_snapshots()
        if not snapshots.suits(self.space, next((one.shared_from for one in asked), None)):
            wanted = _spoken_by(speaker, None, wanted)
            by_vector = asked if snapshots.has_vectors_compared(self.space) else ()
            yield self._held_about(query, by_vector, wanted, most), wanted
            return
        with snapshots.of(self.space) as held:
            yield held, _spoken_by(speaker, held, wanted)

    @stage("embed")
    def _embedded_query(self, query: str) -> QueryVector:
        """Embed the query with the model of the stored vectors; notify the worker when they need re-embedding."""
        asked = self._query_vectors.of(query)
        if self.embedder is not None and asked.model not in (None, self.embedder.name, self._notified_of):
            self._notified_of = asked.model
            if self.indexer.embedders.needs_reembedding():
                self._notify(self.space)
        return asked

    def _current_snapshots(self) -> Snapshots:
        """The snapshots of the store, or of the read-only view of it."""
        view = self.indexer.view
        if view is self.backend:
            return self._snapshots
        if self._view_snapshots is None or self._view_snapshots[0] is not view:
            self._view_snapshots = (view, Snapshots(view.index, uses=partial(all_uses, view.kv)))
        return self._view_snapshots[1]

    def _ranked(
        self,
        held: HeldSnapshot,
        asked: QueryVector,
        query: str,
        wanted: Filter | None,
        moment: datetime,
        limit: int,
        weights: Weights | None,
        diversity: float,
        min_relevance: float,
        strict: bool,
        historic: bool,
    ) -> list[Recalled] | None:
        """The hits. One that was deleted or changed meanwhile is left out; if ``strict`` it is None then."""
        question = ParsedQuery.of(
            query, now=moment.timestamp(), vector=asked.towards_answers, shared_from=asked.shared_from
        ).understood(held.snapshot)
        late = self._late(held, asked)
        weighed = weights or self.weights or default_weights()
        pool = limit * (_RERANKED if self.reranker else _DIVERSIFIED if diversity > 0.0 else 1)
        allowed = held.allowed(wanted, moment)
        found = rank(
            held.snapshot,
            question,
            allowed=allowed,
            # The relevance of one hit must not depend on how many were asked for.
            limit=max(pool, BEST_OF, POOL) if limit else 0,
            weights=weighed,
            late=None if late is None else late.best,
        )
        memories = held.memories([one.id for one in found], wanted)
        if strict and len(memories) < len(found):
            return None
        found = [one for one in found if one.id in memories]
        said = [memories[one.id][0].text for one in found]
        judged = relevances(held.snapshot, question, found, said, weighed, asked.model, late)
        relevant = dict(zip([one.id for one in found], judged, strict=True))
        fact = asked_fact(query, asked, of_a_time=bool(question.times))
        known, over = list[str](), _Over()
        if not historic:
            known = self._stating(held, query, fact, moment, found, memories, relevant, wanted, allowed)
            over = _over(held, self._known_facts(), fact, moment, found, memories, relevant, wanted, allowed)
        order, whole = _superseded(
            held, asked, query, fact, found, memories, relevant, over, wanted, allowed, known, self.reranker is not None
        )
        order = {} if weights or self.weights else order  # Own weights decide the order alone.
        kept = [one for one in in_order(found, order) if relevant[one[0].id] >= min_relevance]
        hits = [
            _raised(as_recalled(record, one.score, one.signals, traits, query, relevant[one.id]), share)
            for one, share in kept[:pool]
            for record, traits in [memories[one.id]]
        ]
        if self.reranker:
            judged = reranked(self.reranker, query, hits, [hit.text for hit in hits])
            hits = [_raised(hit, share) for hit, share in in_order(judged, order)]
        if diversity > 0.0:
            hits = _diversified(held.snapshot, hits, diversity)
        hits = [_flagged(hit, whole[hit.id]) if hit.id in whole else hit for hit in hits[:limit]]
        return hits if late is None else _with_matches(held.snapshot, late, hits)

    def _late(self, held: HeldSnapshot, asked: QueryVector) -> LateInteraction | None:
        if asked.tokens is None or asked.embedder is None:
            return None
        store = TokenStore(self.indexer.view.kv, self._inner)
        return LateInteraction(asked.embedder, asked.tokens, store, held.tokens, held.snapshot.ids.__getitem__)

    def _stating(
        self,
        held: HeldSnapshot,
        query: str,
        fact: FactQuestion | None,
        moment: datetime,
        found: list[Ranked],
        memories: dict[str, tuple[Record, Traits]],
        relevant: dict[str, float],
        wanted: Filter | None,
        allowed: Flags | None,
    ) -> list[str]:
        """The memories that state a fact which is asked for, with their relevance raised; added where they are no hits."""
        ids = [
            self.indexer.resolved(id_)
            for id_ in stating(self._known_facts(), query, fact, moment, held.snapshot.speakers.has)
        ]
        best = {one.id for one in found[:POOL]}
        known = {id_: row for id_ in ids if id_ not in best and (row := held.snapshot.ids.get(id_)) is not None}
        rows = {
            id_: row for id_, row in known.items() if held.snapshot.alive[row] and (allowed is None or allowed[row])
        }
        missing = [id_ for id_ in rows if id_ not in memories]
        if missing:
            memories |= held.memories(missing, wanted)
        ranked = {one.id: one for one in found}
        further = [ranked.get(id_) or Ranked(id_, row, [], (), []) for id_, row in rows.items() if id_ in memories]
        found[:] = [one for one in found if one.id not in rows]
        found[POOL - 1 : POOL - 1] = further
        known_ids = [id_ for id_ in ids if id_ in memories]
        least = _STATES_ASKED if fact is None else _STATES_ASKED * fact.probability
        relevant |= {id_: max(relevant.get(id_, 0.0), least) for id_ in known_ids}
        return known_ids

    def _known_facts(self) -> Facts:
        """The facts without those of memories that came since the last catching up."""
        view = self.indexer.view
        return self.indexer.facts if view is self.backend else facts_of(view, self.space)

    def fact_asked(self, question: str) -> FactQuestion | None:
        """The fact that a question asks for, by its words or, likely, by its meaning; None where it asks for none."""
        return asked_fact(question, self._embedded_query(question), former=True)

    def _count_use(self, held: HeldSnapshot, hits: Sequence[Recalled], moment: datetime) -> None:
        """Note that hits were given to the caller, and count them as used unless the caller only looks."""
        ids = [hit.id for hit in hits]
        self._echoes.heard({hit.id: hit.text for hit in hits})
        if not (_looking.get() or self.backend.read_only):
            held.touch(ids, moment)
            self._used(self.space, ids, moment)

    def forget_query_vectors(self) -> None:
        """Drop the cached vectors of queries."""
        self._query_vectors.clear()

    def similarities(self, query: str, ids: Sequence[str]) -> dict[str, float]:
        """The cosine similarity of a query with the stored vectors of memories, by their ids.

        Memories without a vector are left out. The result is empty without an embedder, and when it fails.
        """
        check_text(query, "a query")
        for _ in range(MOST_TRIES):
            query_vector = self._embedded_query(query)
            if query_vector.vector is None or not ids:
                return {}
            records = self.indexer.view.index.get(self.space, list(ids))
            if self._query_vectors.still(query_vector):
                return _cosines(query_vector, records)
        return {}

    def exchanges(self, ids: Sequence[str], /) -> dict[str, tuple[Recalled, Recalled]]:
        """A question of the assistant and the bare answer to it, by the ids of each; others are left out.

        Of a space that is too large to hold in memory it finds none.
        """
        snapshots = self._current_snapshots()
        if not ids or not snapshots.suits(self.space):
            return {}
        found: dict[str, tuple[Recalled, Recalled]] = {}
        with snapshots.of(self.space) as held:
            for id_ in ids:
                row = held.snapshot.ids.get(id_)
                if row is not None and id_ not in found:
                    found |= _exchange(held, row)
        return found

    # Reading without a query

    def get(self, id_: str, /) -> Recalled:
        """One memory. Raises ``NotFound`` when there is none, it was forgotten, or it has expired."""
        self.indexer.catch_up()
        record = self._lasting(id_)
        if not traits_of(record).active:
            raise NotFound(f"the memory {id_!r} was forgotten; undo() restores it")
        return as_recalled(record, traits=self._traits(record))

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The memories of the space, oldest first."""
        if limit is not None:
            check_count(limit, "limit")
        return self._shown(islice(self._active(as_filter(where)), limit))

    def _shown(self, records: Iterable[Record]) -> list[Recalled]:
        return [as_recalled(one, traits=traits) for one, traits in counted_traits(self.indexer.view.kv, records)]

    def page(
        self,
        *,
        where: FilterLike | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
        forgotten: bool = False,
    ) -> Page[Recalled]:
        """One page of the memories, newest first. Pass ``next`` of a page as ``cursor`` to get the following one.

        With ``forgotten`` it lists memories that were forgotten and can be restored. A page may hold fewer than ``limit``
        and not be the last. Raises ``InvalidInput`` for an invalid filter, limit or cursor.
        """
        check_count(limit, "limit", least=1)
        status = Where((KEY, "status"), "eq", FORGOTTEN)
        narrowed = as_filter(where)
        parts = [one for one in (narrowed, status if forgotten else Not(Where((KEY, "status"), "exists"))) if one]
        self.indexer.catch_up()
        found = self.indexer.view.index.scan(
            self.space, where=AllOf(tuple(parts)), limit=limit, cursor=cursor, newest_first=newest_first
        )
        return Page(self._shown(record for record in found.items if not self._has_expired(record)), found.next)

    def history(self, id_: str, /) -> list[MemoryVersion]:
        """The earlier versions of a memory, oldest first, with what changed each. Raises ``NotFound``."""
        return self._versions(self._found(id_).id)

    def count(self) -> int:
        """How many memories can be recalled."""
        self.indexer.catch_up()
        snapshots = self._current_snapshots()
        if not snapshots.suits(self.space):
            return sum(1 for _ in self._active())
        with snapshots.of(self.space) as held:
            lasting = held.allowed(None, self.clock())
            alive = held.snapshot.alive[: held.snapshot.limit]
            return int(np.count_nonzero(alive if lasting is None else alive & lasting))

    def _held_about(self, query: str, asked: Collection[QueryVector], wanted: Filter | None, most: int) -> HeldSnapshot:
        """The best matches of a space too large to hold, from the store's own indexes."""
        name = repr(wanted)
        if wanted is not None and name not in self._narrow_filters:
            # Without the filter the search is several times faster, and if all hits satisfy it they are its best too.
            records = likeliest(self.indexer.view.index, self.space, query, asked, None, most)
            if all(map(record_test(wanted), records)):
                return self._held_of(records)
            if len(self._narrow_filters) >= _MOST_ASKED:
                self._narrow_filters.clear()
            self._narrow_filters.add(name)
        return self._held_of(likeliest(self.indexer.view.index, self.space, query, asked, wanted, most))

    def _held_of(self, records: Sequence[Record]) -> HeldSnapshot:
        return HeldSnapshot.of(records, uses_of(self.indexer.view.kv, self.space, [one.id for one in records]))

    def _held_at(self, moment: datetime) -> HeldSnapshot:
        """The memories as they were known at a time."""
        versions: dict[str, MemoryVersion] = {}
        for version in self._versions():
            if version.until > moment and version.record.id not in versions:
                versions[version.record.id] = version
        known: list[Record] = []
        for record in self._all():
            past = versions.get(record.id)
            then = record if past is None else replace(past.record, vector=record.vector)
            if (traits_of(then).learned or then.time) <= moment:
                known.append(then)
        return HeldSnapshot.of(known)

    arecall = asyncify(recall)
    aexchanges = asyncify(exchanges)
    afact_asked = asyncify(fact_asked)
    asimilarities = asyncify(similarities)
    aget = asyncify(get)
    amemories = asyncify(memories)
    apage = asyncify(page)
    ahistory = asyncify(history)
    acount = asyncify(count)


def _exchange(held: HeldSnapshot, row: int) -> dict[str, tuple[Recalled, Recalled]]:
    """The question and the bare answer of which a row is one, by the ids of both; nothing for other rows."""
    snapshot = held.snapshot
    for before, after in ((row, int(snapshot.following[row])), (int(snapshot.previous[row]), row)):
        if NOWHERE in (before, after) or not (
            snapshot.asks[before] and snapshot.alive[before] and snapshot.alive[after]
        ):
            continue
        ids = [snapshot.ids[before], snapshot.ids[after]]
        read = held.memories(ids)
        if len(read) == len(ids):
            question, answer = (as_recalled(record, traits=traits) for record, traits in (read[id_] for id_ in ids))
            said_there = question.trust == "model" != answer.trust and question.session == answer.session != ""
            if said_there and may_answer(answer.text) and is_question(question.text):
                return dict.fromkeys(ids, (question, answer))
    return {}


def _with_matches(snapshot: Snapshot, late: LateInteraction, hits: Sequence[Recalled]) -> list[Recalled]:
    """The hits with the words of each that answer words of the query."""
    texts = [embedded_text(hit.speaker, hit.text) for hit in hits]
    matches = late.matches([snapshot.row_of(hit.id) for hit in hits], texts)
    return [replace(hit, matches=one) for hit, one in zip(hits, matches, strict=True)]


def _merged(found: Sequence[list[Recalled]], query: str) -> list[Recalled]:
    """The hits of several questions in one list, each where it answers best."""
    if len(found) == 1:
        return found[0]
    best: dict[str, Recalled] = {}
    for hit in sorted((hit for hits in found for hit in hits), key=lambda hit: -hit.score):
        best.setdefault(hit.id, replace(hit, asked=query))
    return list(best.values())


def _superseded(
    held: HeldSnapshot,
    asked: QueryVector,
    query: str,
    fact: FactQuestion | None,
    found: list[Ranked],
    memories: dict[str, tuple[Record, Traits]],
    relevant: dict[str, float],
    over: _Over,
    wanted: Filter | None,
    allowed: Flags | None,
    known: Sequence[str],
    reranks: bool,
) -> tuple[dict[str, list[Successor]], dict[str, str]]:
    """Which hits stand before which, and which are outdated as a whole, with what superseded them.

    Adds what took a hit back, if it is no hit itself, and raises the relevance of what stands before others and of what
    states a fact that is asked for, in whichever words.
    """
    taken_back = {**over.asked, **_taken_back(held, found, memories, wanted, allowed)}
    compared, vectors = _compared(held.snapshot, found, taken_back.values(), memories, relevant, asked.model)
    names = frozenset[str]() if fact is None else names_asked(compared, fact)
    judged = list(compared)
    for at, one in enumerate(compared):
        states = 0.0 if fact is None else fact.probability * how_likely_stated(one, fact, names)
        if fact is not None and states > 0.0:
            least = _STATES_ASKED if fact.is_answered_by_any else _OF_MANY
            relevant[one.id] = max(relevant[one.id], least * states)
            compared[at] = one._replace(relevance=relevant[one.id])
            judged[at] = compared[at] if states == 1.0 else one
        elif fact is not None and fact.is_certain and one.id not in known and states_of_another(one, fact, names):
            relevant[one.id] *= _OF_ANOTHER
        elif states_other_number(one, query):
            relevant[one.id] *= _OTHER_NUMBER
    # What is only likely meant makes nothing outdated that was not.
    replaced = outdated(query, judged, vectors, {older: newer.id for older, newer in taken_back.items()})
    embed = None if asked.embedder is None else asked.embedder.embed
    by_id = {one.id: one for one in compared}
    meant, whole = meant_and_whole(query, replaced, by_id, embed)
    # A plan in whose place nothing came is what is known best, also when its day is past.
    newest = {some[-1].id for some in replaced.values()}
    whole = {older: by for older, by in over.whole.items() if by or older not in newest} | whole
    # Whose a statement is, a reranker can read; what is outdated, it cannot.
    order = precedence(query, fact, meant, by_id, own_first=not reranks, known=known)
    _raise_relevance(relevant, order)
    found += [one for one in taken_back.values() if one not in found]
    return order, whole


class _Over(NamedTuple):
    """Memories that are over by the facts."""

    asked: Mapping[str, Ranked] = {}
    """Those of which all, or what is asked for, was ended by another memory, with that one."""
    whole: Mapping[str, str] = {}
    """Those of which all is over, with the id of what ended it, which is empty where only its day is past."""


def _over(
    held: HeldSnapshot,
    facts: Facts,
    fact: FactQuestion | None,
    moment: datetime,
    found: Sequence[Ranked],
    memories: dict[str, tuple[Record, Traits]],
    relevant: Mapping[str, float],
    wanted: Filter | None,
    allowed: Flags | None,
) -> _Over:
    """What is over by the facts among the hits, with what ended it.

    That is added to the memories: "Taffy had to be put down" resembles no question for a dog.
    """
    relations = () if fact is None else fact.relations or relations_with(fact.called)
    best = [one.id for one in found[:POOL]]
    asked = [id_ for id_ in best if any(fact.relation in relations for fact in memories[id_][1].stated or ())]
    # Facts are read from the store, so that those of strangers would cost more than all else here.
    ids = [one.id for one in found if relevant[one.id] >= LEAST_RELEVANCE]
    stated = StatedFacts(facts, {*ids, *asked}, held.stated)
    ended = {
        id_: by
        for id_ in ids
        if (by := stated.ended_by(id_, as_of=moment)) is not None
        and _says_no_more(memories[id_][0].text, stated.spans(id_), is_past=not by)
    }
    of_asked = {id_: stated.ended_by(id_, as_of=moment, relations=relations) for id_ in asked}
    by_asked = {**ended, **{id_: by for id_, by in of_asked.items() if by is not None}}
    rows = {by: row for by in by_asked.values() if (row := held.snapshot.ids.get(by)) is not None}
    rows = {by: row for by, row in rows.items() if held.snapshot.alive[row] and (allowed is None or allowed[row])}
    missing = [by for by in rows if by not in memories]
    memories |= held.memories(missing, wanted) if missing else {}
    ranked = {one.id: one for one in found}
    found_by = {
        older: ranked.get(by) or Ranked(by, rows[by], [], (), [])
        for older, by in by_asked.items()
        # What was said once more is a later memory than what once ended it.
        if by in rows and by in memories and _order(memories[by][0]) > _order(memories[older][0])
    }
    whole = {older: by for older, by in ended.items() if not by or older in found_by}
    return _Over({older: found_by[older] for older in best if older in found_by}, whole)


def _says_no_more(text: str, spans: Iterable[tuple[int, int]], *, is_past: bool) -> bool:
    """Whether a text says nothing besides its facts, which stand there; where these are past, nothing that recurs."""
    if is_past and _RECURS(text):
        return False
    rest, end = "", 0
    for start, stop in spans:
        rest, end = f"{rest} {text[end:start]}", max(end, stop)
    rest = f"{rest} {text[end:]}"
    return not (len(rest) > LONGEST or _NAMES(rest) or len(statement(rest).words) >= _SAYS_MORE)


def _order(record: Record) -> tuple[datetime, str]:
    return record.time, record.id


def _taken_back(
    held: HeldSnapshot,
    found: Sequence[Ranked],
    memories: dict[str, tuple[Record, Traits]],
    wanted: Filter | None,
    allowed: Flags | None,
) -> dict[str, Ranked]:
    """What the same speaker took back just after saying it, among the best hits, with what took it back.

    That is added to the memories: it seldom repeats the words, so that it need not be a hit itself.
    """
    snapshot = held.snapshot
    rows = {one.id: row for one in found[:COMPARED] if (row := _said_next(snapshot, one.row)) != NOWHERE}
    following = {
        id_: snapshot.ids[row]
        for id_, row in rows.items()
        if snapshot.retracts[row] and (allowed is None or allowed[row])
    }
    if not following:
        return {}
    memories |= held.memories([id_ for id_ in set(following.values()) if id_ not in memories], wanted)
    ranked = {one.id: one for one in found}
    return {
        older: ranked.get(newer) or Ranked(newer, rows[older], [], (), [])
        for older, newer in following.items()
        if newer in memories
        and speaks_for(memories[newer][1], memories[older][1])
        and takes_back(memories[newer][0].text, memories[older][0].text)
    }


def _said_next(snapshot: Snapshot, row: int) -> int:
    """The row of what the same speaker said next in the same conversation, soon enough to correct it; else ``NOWHERE``."""
    after = int(snapshot.following[row])
    if after == NOWHERE and not snapshot.is_turn[row] and snapshot.session_sizes[snapshot.session[row]] == 1:
        # Without speakers nothing is linked, and what was stored next was said next.
        after = row + 1 if row + 1 < snapshot.limit and not snapshot.is_turn[row + 1] else NOWHERE
    for _ in range(_LOOKED_AHEAD):
        age = snapshot.times[after] - snapshot.times[row]
        if after == NOWHERE or not 0.0 <= age <= CORRECTED_WITHIN.total_seconds():
            break
        if snapshot.alive[after] and snapshot.speaker[after] == snapshot.speaker[row]:
            return after
        after = int(snapshot.following[after])
    return NOWHERE


def _compared(
    snapshot: Snapshot,
    found: Sequence[Ranked],
    further: Iterable[Ranked],
    memories: Mapping[str, tuple[Record, Traits]],
    relevant: dict[str, float],
    embedder: str | None,
) -> tuple[list[ComparedHit], ComparedVectors | None]:
    """The best hits and further memories as they are compared, with their vectors where the model knows the embedder."""
    best = list({one.id: one for one in (*found[:POOL], *further)}.values())
    hits = [
        ComparedHit(record.id, record.text, record.time, traits, relevant.setdefault(record.id, 0.0))
        for record, traits in (memories[one.id] for one in best)
    ]
    rows = np.array([one.row for one in best], np.intp)
    if embedder != default_models().embedder or not snapshot.has_vector[rows].all():
        return hits, None
    return hits, ComparedVectors(snapshot.vectors, rows)


def _raise_relevance(relevant: dict[str, float], before: Mapping[str, Sequence[Successor]]) -> None:
    """Let what stands before another gain as much of its relevance as it is likely to speak for it.

    It is no less relevant then. So it is not left out where the other is not, and one that stands there by mistake is
    not called the answer.
    """
    for behind, some in before.items():
        for one in some:
            gained = one.probability * (relevant[behind] - relevant[one.id])
            relevant[one.id] += max(gained, 0.0)
        relevant[behind] = min(relevant[behind], *(relevant[one.id] for one in some))


class ScoredHit(Protocol):
    """A hit with a score that is the sum of the shares of its signals."""

    @property
    def score(self) -> float: ...
    @property
    def signals(self) -> dict[str, Signal]: ...


H = TypeVar("H", bound=ScoredHit)


def reranked(reranker: Reranker, query: str, hits: Sequence[H], texts: Sequence[str]) -> list[H]:
    """Hits in the order of the reranker's scores of their texts, scaled to ours; unchanged when the reranker fails."""
    try:
        scores = reranker.scores(query, texts) if hits else []
    except ModelError:
        return list(hits)
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    top = max((abs(hit.score) for hit in hits), default=0.0) or 1.0
    judged: list[H] = []
    total = -math.inf
    # From the worst to the best, so that no total falls below that of a hit which the reranker likes less.
    for score, _, at in sorted(
        (score, hit.score, -at) for at, (hit, score) in enumerate(zip(hits, scores, strict=True))
    ):
        hit = hits[-at]
        total = max(total, hit.score + _DECISIVE * top * (score - low) / ((high - low) or 1.0))
        signals = {**hit.signals, "reranker": Signal(score, total - hit.score)}
        judged.append(cast(H, replace(cast(Any, hit), score=total, signals=signals)))
    return judged[::-1]


def _raised(hit: Recalled, share: float) -> Recalled:
    """A hit that stands for an outdated one, with what that adds to its score."""
    if not share:
        return hit
    before = hit.signals.get("current", Signal(1.0, 0.0))
    signals = {**hit.signals, "current": Signal(1.0, before.share + share)}
    return replace(hit, score=hit.score + share, signals=signals)


def _flagged(hit: Recalled, superseded_by: str) -> Recalled:
    return replace(hit, flags=(*hit.flags, SUPERSEDED), superseded_by=superseded_by)


def _diversified(snapshot: Snapshot, hits: Sequence[Recalled], diversity: float) -> list[Recalled]:
    rows = np.array([snapshot.row_of(hit.id) for hit in hits], np.intp)
    order = diverse(snapshot, rows, np.array([hit.score for hit in hits]), range(len(hits)), diversity)
    return [hits[at] for at in order]


def likeliest(
    index: RecordIndex,
    space: Space,
    query: str,
    asked: Collection[QueryVector],
    where: Filter | None,
    most: int,
) -> list[Record]:
    """The best matches of a space by the store's own indexes of words and vectors."""
    # Forgotten memories are removed later: filtering every row would cost more than a few lost hits.
    hits = index.match(space, query, limit=most, where=where)
    for vector in (vector for one in asked for vector in _searched(one)):
        # A vector of another size means that the space was just re-embedded; the caller then asks again.
        with suppress(InvalidInput):
            hits += index.near(space, vector.tolist(), limit=most, where=where)
    return index.get(space, list(dict.fromkeys(hit.record.id for hit in hits)))


def _searched(asked: QueryVector) -> list[NDArray[np.float32]]:
    """The vectors to search for: the query's, and its shared part alone, which is nearest to other languages."""
    vector, start = asked.vector, asked.shared_from
    if vector is None or start is None or not vector[:start].any():
        return [] if vector is None else [vector]
    shared = vector.copy()
    shared[:start] = 0.0
    return [vector, shared] if shared.any() else [vector]


def _cosines(asked: QueryVector, records: Sequence[Record]) -> dict[str, float]:
    size = 0 if asked.vector is None else len(asked.vector)
    rows = {one.id: np.asarray(one.vector, np.float32) for one in records if one.vector is not None}
    return {id_: cosine(asked, row) for id_, row in rows.items() if len(row) == size}


def cosine(asked: QueryVector, row: NDArray[np.float32]) -> float:
    """The cosine of a query's vector with another; where their languages differ, that of the parts they share."""
    vector, start = asked.vector, asked.shared_from
    assert vector is not None, "the caller checked it"
    if start is not None and vector[:start].any() != row[:start].any():
        vector, row = vector[start:], row[start:]
    lengths = float(np.linalg.norm(vector) * np.linalg.norm(row))
    return float(product(row, vector)) / lengths if lengths else 0.0


def _wanted(
    kinds: str | Iterable[str] | None,
    session: str | None,
    since: datetime | None,
    until: datetime | None,
    where: FilterLike | None,
    trust: str | Iterable[str] | None = None,
) -> Filter | None:
    parts: list[Filter] = [] if trust is None else [trusted(trust)]
    if kinds is not None:
        listed = [kinds] if isinstance(kinds, str) else check_list(kinds, "kinds must be a kind or several")
        parts.append(Where("@kind", "in", listed))
    if session is not None:
        parts.append(Where(("memwell", "session"), "eq", check_id(session, "a session")))
    if since is not None:
        parts.append(Where("@time", "ge", as_utc(since, "since")))
    if until is not None:
        parts.append(Where("@time", "lt", as_utc(until, "until")))
    own = as_filter(where)
    if own is not None:
        parts.append(own)
    return AllOf(tuple(parts)) if len(parts) > 1 else (parts[0] if parts else None)


def trusted(trust: str | Iterable[str]) -> Filter:
    """A filter of memories by whose word they are. Raises ``InvalidInput`` for an unknown trust."""
    listed = [trust] if isinstance(trust, str) else check_list(trust, "trust must be one or several")
    named = [check_known(one, TRUSTS, "trust") for one in listed]
    path = (KEY, "trust")
    found = Where(path, "in", named)
    # The default is not stored.
    return AnyOf((found, Not(Where(path, "exists")))) if _DEFAULT_TRUST in named else found


_DEFAULT_TRUST = Traits().trust


def _spoken_by(speaker: str | None, held: HeldSnapshot | None, wanted: Filter | None) -> Filter | None:
    """A filter with the speaker added, in any case; in a space that is not held, in the usual spellings of the name."""
    if speaker is None:
        return wanted
    name = check_id(speaker, "a speaker").casefold()
    spellings = {speaker, speaker.lower(), speaker.upper(), speaker.title(), speaker.capitalize()}
    if held is not None:
        spellings = {known for known in held.snapshot.speakers.names if known.casefold() == name} or {speaker}
    spoken = Where(("memwell", "speaker"), "in", sorted(spellings))
    return spoken if wanted is None else AllOf((wanted, spoken))


def as_recalled(
    record: Record,
    score: float = 0.0,
    signals: Mapping[str, Signal] | None = None,
    traits: Traits | None = None,
    asked: str = "",
    relevance: float = 0.0,
) -> Recalled:
    """A memory as callers see it: its traits as fields, apart from the user's metadata."""
    traits = traits_of(record) if traits is None else traits
    own = own_metadata(record)
    return Recalled(
        record.id,
        record.text,
        score,
        record.time,
        record.kind,
        traits.speaker,
        traits.session,
        0.5 if traits.importance is None else traits.importance,
        copy.deepcopy(own) if own else own,
        dict(signals or {}),
        traits.evidence,
        traits.trust,
        traits.flags,
        traits.pinned,
        asked,
        traits.accessed,
        relevance=relevance,
        version=traits.version,
    )

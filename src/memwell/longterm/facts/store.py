"""Facts: who is what to whom, since when, and how we know.

Only what records said is stored. What holds is worked out from it on reading (``memwell.longterm.facts.timeline``), so the
order of learning does not matter, nothing is ever overwritten, and what is retracted leaves no scar.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import TypeVar

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.language.claims.relations import Claim, relation_of
from memwell.longterm.facts.names import name_key
from memwell.longterm.facts.statements import BY_SUBJECT, Statements, by_key, prefix_of, statement_of
from memwell.longterm.facts.timeline import Fact, Statement, timeline
from memwell.records import Page, Space, SpaceLike, as_space
from memwell.storage.protocols import KeyValue
from memwell.values import as_utc, check_count, check_id, check_text, now, shown

T = TypeVar("T")
_MOST_EDGES = 200


class Learned(msgspec.Struct, frozen=True):
    """What learning changed: facts that are new, facts with more evidence, and facts that ended."""

    added: tuple[Fact, ...] = ()
    confirmed: tuple[Fact, ...] = ()
    superseded: tuple[Fact, ...] = ()


class Retracted(msgspec.Struct, frozen=True):
    """What retracting changed: how many statements went, and the facts that were believed for no other reason."""

    statements: int = 0
    facts: tuple[Fact, ...] = ()


class Clash(msgspec.Struct, frozen=True):
    """Two facts that cannot both be true; ``kept`` is the one that is believed."""

    kept: Fact
    other: Fact


class Edge(msgspec.Struct, frozen=True):
    """A fact as an edge of a graph: the keys of the names at its ends, and how far from the start it was found."""

    source: str
    target: str
    depth: int
    fact: Fact


class Facts:
    """The facts of one space. A call's work grows with what is known of the names it asks about, not with the rest.

    Safe inside a transaction of the backend; without one, a call that is cut short has done a part of its work, and
    doing it again does the rest.
    """

    def __init__(self, kv: KeyValue, space: SpaceLike) -> None:
        self.space: Space = as_space(space)
        self._statements = Statements(kv, self.space)

    def learn(self, claims: Iterable[Claim], *, record: str, learned_at: datetime | None = None) -> Learned:
        """Take in what a record says. The same claim of the same record again changes nothing, unless it was retracted.

        Raises ``InvalidInput`` for what is no claim, an unknown relation or an empty name; then nothing was learned.
        """
        moment = now() if learned_at is None else as_utc(learned_at, "learned_at")
        wanted = by_key([statement_of(claim, record, moment) for claim in _row(claims, "claims")])
        changes = [change for question, group in wanted.items() for change in self._learned(question, group)]
        return Learned(*(tuple(fact for kind, fact in changes if kind == which) for which in _KINDS))

    def _learned(self, question: str, group: list[Statement]) -> Iterator[tuple[str, Fact]]:
        stored = self._statements.group(question)
        added = {one.key: one for one in group if self._statements.add(one)}
        if not added:
            return iter(())
        others = [one for one in stored if one.key not in added]
        return _changes(timeline(stored), timeline([*others, *added.values()]))

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
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        believed = self._believed(prefix_of(subject, relation), known_at)
        wanted = [fact for fact in believed if fact.holds_at(moment) and relation in (None, fact.relation)]
        return sorted(wanted, key=_by_relation)

    def history(self, subject: str, relation: str | None = None) -> list[Fact]:
        """All that was ever believed of a subject, the earliest first; what was superseded or retracted says so."""
        everything = [
            fact for _, group in self._statements.groups(prefix_of(subject, relation)) for fact in timeline(group)
        ]
        return [fact for fact in everything if relation in (None, fact.relation)]

    def all(self, *, limit: int = 100, cursor: str | None = None) -> Page[Fact]:
        """Every fact of the space, held or not, by subject. A page may run over ``limit`` to end with a whole question.

        Raises ``InvalidInput`` for a limit below 1, or a cursor that is no string.
        """
        check_count(limit, "limit", least=1)
        if cursor is not None:
            check_text(cursor, "a cursor")
        found: list[Fact] = []
        for question, group in self._statements.groups(BY_SUBJECT, after=cursor or ""):
            if len(found) >= limit:
                return Page(found, cursor)
            found += timeline(group)
            cursor = f"{question}\U0010ffff"
        return Page(found)

    def conflicts(self, subject: str | None = None) -> list[Clash]:
        """The facts that contradict each other, rather than follow each other: of one subject, or of the whole space."""
        prefix = BY_SUBJECT if subject is None else prefix_of(subject)
        groups = (timeline(group) for _, group in self._statements.groups(prefix))
        return [clash for facts in groups for clash in _clashes([fact for fact in facts if fact.retired_at is None])]

    def walk(
        self, start: str, *, depth: int = 2, as_of: datetime | None = None, limit: int = _MOST_EDGES
    ) -> list[Edge]:
        """The facts that lead from a name to others and on, in both directions, the nearest first, at most ``limit``.

        Raises ``InvalidInput`` for an empty name, or a depth or limit below 1.
        """
        check_count(depth, "depth", least=1)
        check_count(limit, "limit", least=1)
        prefix_of(start)
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        edges: dict[str, Edge] = {}
        seen = {name_key(start)}
        ring = [name_key(start)]
        for distance in range(1, depth + 1):
            following: dict[str, None] = {}
            for name in ring:
                for fact in self._touching(name, moment, limit):
                    if len(edges) >= limit:
                        return list(edges.values())
                    edge = Edge(name_key(fact.subject), name_key(fact.object), distance, fact)
                    edges.setdefault(fact.id, edge)
                    following.update(dict.fromkeys((edge.source, edge.target)))
            ring = [name for name in following if name not in seen]
            seen.update(ring)
        return list(edges.values())

    def _touching(self, name: str, moment: datetime, limit: int) -> Iterator[Fact]:
        """The facts that hold at a moment with this name at one of their ends."""
        yield from self.about(name, as_of=moment)
        for question in self._statements.questions_about(name, limit):
            for fact in self._believed(question, None):
                if fact.holds_at(moment) and name_key(fact.object) == name:
                    yield fact

    def retract(self, records: Iterable[str], *, final: bool = False, at: datetime | None = None) -> Retracted:
        """Take back what records said. Facts that nothing else says are retired, and ``restore`` brings them back.

        With ``final`` all they said is deleted with every trace. Records that said nothing are passed over. Raises
        ``InvalidInput`` for what is no row of ids.
        """
        moment = now() if at is None else as_utc(at, "at")
        ids = _ids(records)
        gone = [one for record in ids for one in self._statements.of_record(record) if final or not one.retired_at]
        before = {question: self._held(question) for question in by_key(gone)}
        if final:
            for record in ids:
                self._statements.drop(record)
        else:
            for one in gone:
                self._statements.set_retired(one, moment)
        lost = [fact for question, held in before.items() for fact in _missing(held, self._held(question))]
        return Retracted(len(gone), tuple(lost))

    def restore(self, records: Iterable[str]) -> int:
        """Undo the last retraction of each record, as if it had never been; returns how many statements came back.

        Raises ``InvalidInput`` for what is no row of ids.
        """
        restored = 0
        for record in _ids(records):
            for one in _retracted_last(self._statements.of_record(record)):
                self._statements.set_retired(one, None)
                restored += 1
        return restored

    def _held(self, question: str) -> list[Fact]:
        return self._believed(question, None)

    def _believed(self, prefix: str, known_at: datetime | None) -> list[Fact]:
        """The facts that are believed, or were at ``known_at``, whenever they hold in the world."""
        moment = None if known_at is None else as_utc(known_at, "known_at")
        groups = (group for _, group in self._statements.groups(prefix))
        facts = (fact for group in groups for fact in timeline(_known(group, moment)))
        return [fact for fact in facts if fact.retired_at is None]

    alearn = asyncify(learn)
    aabout = asyncify(about)
    ahistory = asyncify(history)
    aall = asyncify(all)  # noqa: A003 — the method above, which is what is meant
    aconflicts = asyncify(conflicts)
    awalk = asyncify(walk)
    aretract = asyncify(retract)
    arestore = asyncify(restore)


_KINDS = ("added", "confirmed", "superseded")


def _row(values: Iterable[T], what: str) -> Iterable[T]:
    # A string is a row of characters, but nobody means one.
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be a list, not {shown(values)}")
    return values


def _ids(records: Iterable[str]) -> list[str]:
    """The ids of records, each once."""
    return list(dict.fromkeys(check_id(record, "a record's id") for record in _row(records, "records")))


def _retracted_last(statements: list[Statement]) -> list[Statement]:
    last = max((one.retired_at for one in statements if one.retired_at is not None), default=None)
    return [one for one in statements if last is not None and one.retired_at == last]


def _known(group: Iterable[Statement], moment: datetime | None) -> list[Statement]:
    """What was believed at a moment, as it looked then."""
    if moment is None:
        return list(group)
    known = [one for one in group if one.learned_at <= moment]
    later = [one.retired_at is not None and one.retired_at > moment for one in known]
    return [
        msgspec.structs.replace(one, retired_at=None) if unaware else one
        for one, unaware in zip(known, later, strict=True)
    ]


def _changes(before: list[Fact], after: list[Fact]) -> Iterator[tuple[str, Fact]]:
    old = {fact.id: fact for fact in before if fact.retired_at is None}
    for fact in after:
        was = old.get(fact.id)
        if was is None:
            yield "added", fact
        elif fact.valid_to is not None and (was.valid_to is None or fact.valid_to < was.valid_to):
            yield "superseded", fact
        elif len(fact.evidence) > len(was.evidence):
            yield "confirmed", fact


def _missing(before: Iterable[Fact], after: Iterable[Fact]) -> Iterator[Fact]:
    left = {(name_key(fact.object), fact.relation) for fact in after}
    return (fact for fact in before if (name_key(fact.object), fact.relation) not in left)


def _clashes(facts: list[Fact]) -> Iterator[Clash]:
    """Of a value that cannot change, every two; of one that can, those for which the other left no time."""
    by_id = {fact.id: fact for fact in facts}
    relation = relation_of(facts[0].relation) if facts else None
    if relation is not None and relation.lasting:
        for earlier, later in pairwise(facts):
            yield Clash(kept=later, other=earlier)
        return
    for fact in facts:
        rival = by_id.get(fact.superseded_by or "")
        if rival is not None and fact.valid_from is not None and fact.valid_from == fact.valid_to:
            yield Clash(kept=rival, other=fact)


def _by_relation(fact: Fact) -> tuple[str, datetime, str]:
    return (fact.relation, fact.said_at, fact.id)


__all__ = ["Clash", "Edge", "Facts", "Learned", "Retracted"]

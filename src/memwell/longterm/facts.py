"""Facts with two times: when each holds in the world, and when it was believed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, NotFound
from memwell.language.claims.beginnings import coming
from memwell.language.claims.english_objects import NUMBERS
from memwell.language.claims.relations import NICKNAME, USER, Claim, Relation, known_relation, relation_of
from memwell.longterm.endings import meant
from memwell.longterm.statements import (
    BY_HAND,
    BY_SUBJECT,
    FactStatement,
    FactStatements,
    Source,
    Subjects,
    by_key,
    digest,
    group_of,
    is_one_of_several,
    name_key,
    prefix_of_name,
    statement_of,
)
from memwell.records import Page, Space, SpaceLike, as_space
from memwell.storage.protocols import KeyValue
from memwell.values import as_utc, check_count, check_id, check_line, check_list, check_text, check_type, now, shown

# From statements to facts: a pure function of the set of statements, in any order.

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
_MOST_CERTAIN = 0.99


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact about a subject.

    ``valid_from`` and ``valid_to`` are when it holds in the world, None where that is open; they are equal when the time is
    unknown. ``learned_at`` and ``retired_at`` are when it was first believed and when it was retracted.
    """

    id: str
    subject: str
    relation: str
    object: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    learned_at: datetime
    retired_at: datetime | None = None
    superseded_by: str | None = None
    evidence: tuple[Source, ...] = ()
    confidence: float = 0.8
    said_at: datetime

    def holds_at(self, moment: datetime) -> bool:
        """Whether it holds in the world at this time."""
        return (self.valid_from or EARLIEST) <= moment < (self.valid_to or LATEST)


class _Stretch(NamedTuple):
    """A value on the time line, from ``start`` to the start of the next stretch."""

    start: datetime
    value: str | None


def timeline(statements: Iterable[FactStatement]) -> list[Fact]:
    """The facts that the statements about one question add up to, the earliest first; retracted ones come last."""
    given = list(statements)
    if len(given) == 1 and _stands_alone(given[0]):
        # The usual case: one statement.
        return [_fact(_Span(0, "", *_bounds(given[0]), None), {0: digest(given[0].key)}, given[0], given)]
    given = sorted(_without_denied(_without_nicknames(given)), key=_order)
    held = [one for one in given if one.retired_at is None]
    facts = _facts(held)
    believed = {one.value for one in held if not one.negated}
    gone = [one for one in given if one.retired_at is not None and one.value not in believed]
    return facts + [_retired(fact, gone) for fact in _facts(gone)]


def _without_nicknames(given: list[FactStatement]) -> list[FactStatement]:
    """The statements; what others call someone is left out where the name itself was stated."""
    nicknames = [one for one in given if _is_nickname(one)]
    named = nicknames and any(not (_is_nickname(one) or one.negated or one.retired_at) for one in given)
    return [one for one in given if one not in nicknames] if named else given


def _is_nickname(one: FactStatement) -> bool:
    return one.relation == "name" and one.confidence == NICKNAME and not one.by_hand


def _without_denied(given: list[FactStatement]) -> Iterator[FactStatement]:
    """The statements; one that was made before a person denied it counts as retracted then.

    What a person said to be over before it was stated, without a beginning, counts as stated to be over.
    """
    denials = [one for one in given if one.by_hand and one.negated]
    for one in given:
        against = [denial for denial in denials if denial.value == one.value and one.said_at < denial.said_at]
        learned = [denial.learned_at for denial in against if denial.denies]
        ends = [denial.valid_from for denial in against if denial.valid_from and denial.valid_from < one.said_at]
        if one.negated or one.retired_at is not None:
            yield one
        elif learned:
            yield msgspec.structs.replace(one, retired_at=min(learned))
        elif ends and one.valid_from is None and one.valid_to is None:
            yield msgspec.structs.replace(one, valid_to=min(ends))
        else:
            yield one


def _stands_alone(one: FactStatement) -> bool:
    since, until = _bounds(one)
    return not one.negated and one.retired_at is None and since < until and not one.is_undated


def _bounds(one: FactStatement) -> tuple[datetime, datetime]:
    return one.valid_from or EARLIEST, one.valid_to or LATEST


def _order(one: FactStatement) -> tuple[datetime, bool, datetime, int, str, str]:
    # Without the time of learning: the facts must not depend on the order of learning. Who denies and states something at
    # one moment denies what was said before.
    return (one.said_at, not one.denies, one.begins, one.source.start, one.value, one.key)


def _retired(fact: Fact, gone: Iterable[FactStatement]) -> Fact:
    records, thing = {source.record for source in fact.evidence}, name_key(fact.object)
    made = (one for one in gone if one.source.record in records and name_key(one.object) == thing)
    ends = [one.retired_at for one in made if one.retired_at is not None]
    return msgspec.structs.replace(fact, retired_at=max(ends), superseded_by=None)


def _facts(statements: list[FactStatement]) -> list[Fact]:
    positive = [one for one in statements if not one.negated]
    shown = _spans(_painted(statements))
    supporters = _supporters(positive, shown)
    spans = _reaching_back(shown, supporters, positive)
    # A fact's id comes from its first statement, so more evidence never changes it.
    first = {place: min(backing, key=lambda one: (one.learned_at, one.key)) for place, backing in supporters.items()}
    ids = {place: digest(one.key) for place, one in first.items()}
    return [_fact(span, ids, first[span.place], supporters[span.place]) for span in spans if span.place in supporters]


def _painted(statements: Iterable[FactStatement]) -> list[_Stretch]:
    """The time line of values, with a stretch for each change."""
    line = [_Stretch(EARLIEST, None)]
    for one in statements:
        if one.negated:
            line = _laid(line, one.begins, one.valid_to or LATEST, None, only=one.value)
        elif one.is_past:
            line = _laid(line, one.valid_to or LATEST, LATEST, None, only=one.value)
        else:
            line = _laid(line, one.begins, one.valid_to or LATEST, one.value)
    return line


def _laid(
    line: list[_Stretch], start: datetime, end: datetime, value: str | None, *, only: str | None = None
) -> list[_Stretch]:
    """The line with a value from ``start`` to ``end``; with ``only``, just where that value was ("" for any)."""
    if start >= end:
        return line
    if only is None and end == LATEST and start > line[-1].start:
        # The usual case: the last statement holds last.
        _push(line, _Stretch(start, value))
        return line
    laid: list[_Stretch] = []
    for place, stretch in enumerate(line):
        ends = line[place + 1].start if place + 1 < len(line) else LATEST
        if ends <= start or stretch.start >= end or (only and stretch.value != only):
            _push(laid, stretch)
            continue
        if stretch.start < start:
            _push(laid, stretch)
        _push(laid, _Stretch(max(start, stretch.start), value))
        if end < ends:
            _push(laid, _Stretch(end, stretch.value))
    return laid


def _push(line: list[_Stretch], stretch: _Stretch) -> None:
    if not line or line[-1].value != stretch.value:
        line.append(stretch)


class _Span(NamedTuple):
    """A period of one value. ``place`` identifies it on its line; ``adjacent`` is the place that follows at once."""

    place: int
    value: str
    start: datetime
    end: datetime
    adjacent: int | None


def _spans(line: list[_Stretch]) -> list[_Span]:
    spans: list[_Span] = []
    for place, (start, value) in enumerate(line):
        last = place + 1 == len(line)
        if value is not None:
            follows = None if last or line[place + 1].value is None else place + 1
            spans.append(_Span(place, value, start, LATEST if last else line[place + 1].start, follows))
    return spans


def _supporters(positive: Iterable[FactStatement], spans: list[_Span]) -> dict[int, list[FactStatement]]:
    """The statements behind each span; those without a visible span get places below zero."""
    by_value: dict[str, list[_Span]] = {}
    for span in spans:
        by_value.setdefault(span.value, []).append(span)
    found: dict[int, list[FactStatement]] = {}
    hidden: dict[str, int] = {}
    for one in positive:
        span = _nearest(one, by_value.get(one.value, ()))
        place = hidden.setdefault(one.value, -1 - len(hidden)) if span is None else span.place
        found.setdefault(place, []).append(one)
    return found


def _nearest(one: FactStatement, spans: Iterable[_Span]) -> _Span | None:
    """The span of a statement: the one that contains it, or the last that begins before it, or the first."""
    found: _Span | None = None
    moment = one.valid_to if one.is_past and one.valid_to is not None else one.begins
    for span in spans:
        if found is not None and span.start > moment:
            break
        found = span
    return found


def _reaching_back(
    spans: list[_Span], supporters: dict[int, list[FactStatement]], positive: list[FactStatement]
) -> list[_Span]:
    """The spans with those of hidden values, and one span extended back to the earliest time.

    Extended is the one said to have ended on a day, else the first span, else the one said to be over, else a hidden one;
    the others have no period. What is over at an unknown time is extended only up to what began on a known day.
    """
    first = min((span.start for span in spans), default=LATEST)
    hidden = [_hidden(place, backing, spans, first) for place, backing in supporters.items() if place < 0]
    past = [span for span in hidden if supporters[span.place][-1].is_past]
    ended = [span for span in past if not supporters[span.place][-1].is_undated]
    covered = [span for span in hidden if supporters[span.place][-1].valid_from is None and span not in past]
    opening = [span for span in spans if span.start == first and _start_unknown(span, positive)]
    everything = spans + hidden
    choices = ended[-1:] or opening or (past[-1:] if spans else []) or covered[-1:]
    if choices:
        chosen = choices[0]
        ends = chosen.end if chosen.place >= 0 else min(chosen.start, first)
        adjacent = chosen.adjacent if chosen.place >= 0 else _place_at(spans, ends)
        everything[everything.index(chosen)] = chosen._replace(start=EARLIEST, end=ends, adjacent=adjacent)
    return sorted(everything, key=lambda span: (span.start, span.end, span.place))


def _hidden(place: int, backing: list[FactStatement], spans: list[_Span], first: datetime) -> _Span:
    """A span of no length, for a value that is nowhere on the line."""
    last = backing[-1]
    moment = last.valid_to if last.is_past and last.valid_to is not None else last.begins
    if last.valid_from is None and last.valid_to is None:
        moment = min(moment, first)
    # What is over at an unknown time contradicts nothing.
    return _Span(place, last.value, moment, moment, None if last.is_undated else _place_at(spans, moment))


def _start_unknown(span: _Span, positive: Iterable[FactStatement]) -> bool:
    return any(one.value == span.value and one.begins == span.start and one.valid_from is None for one in positive)


def _place_at(spans: Iterable[_Span], moment: datetime) -> int | None:
    return next((span.place for span in spans if span.start <= moment < span.end), None)


def _fact(span: _Span, ids: dict[int, str], first: FactStatement, backing: list[FactStatement]) -> Fact:
    return Fact(
        id=ids[span.place],
        subject=first.subject,
        relation=first.relation,
        object=first.object,
        valid_from=None if span.start == EARLIEST else span.start,
        valid_to=None if span.end == LATEST else span.end,
        learned_at=first.learned_at,
        superseded_by=None if span.adjacent is None else ids.get(span.adjacent),
        evidence=tuple(one.source for one in backing),
        confidence=_together(backing),
        said_at=backing[-1].said_at,
    )


def _together(backing: Iterable[FactStatement]) -> float:
    """The confidence of several records together; a record counts once."""
    surest: dict[str, float] = {}
    for one in backing:
        surest[one.source.record] = max(one.confidence, surest.get(one.source.record, 0.0))
    doubt = 1.0
    for confidence in surest.values():
        doubt *= 1.0 - confidence
    return round(min(max(_MOST_CERTAIN, *surest.values()), 1.0 - doubt), 4)


def _needs_words(claim: Claim) -> bool:
    """Whether what a claim means depends on the words that state it."""
    return claim.negated or claim.relation in ("diet", "pet", "plans", "bought")


def _ends_all_of_many(claim: object) -> bool:
    if not isinstance(claim, Claim) or claim.object != "" or claim.negated is not True:
        return False
    relation = relation_of(claim.relation)
    return relation is not None and not relation.single


# The facts of a space.

T = TypeVar("T")
_MOST_EDGES = 200


class Learned(msgspec.Struct, frozen=True):
    """The result of learning: new facts, facts with more evidence, and facts that ended."""

    added: tuple[Fact, ...] = ()
    confirmed: tuple[Fact, ...] = ()
    superseded: tuple[Fact, ...] = ()


class Withdrawn(msgspec.Struct, frozen=True):
    """The result of withdrawing: how many statements, and the facts that no other statement supports."""

    statements: int = 0
    facts: tuple[Fact, ...] = ()


class Clash(msgspec.Struct, frozen=True):
    """Two facts that contradict each other; ``kept`` is the believed one."""

    kept: Fact
    other: Fact


class FactEdge(msgspec.Struct, frozen=True):
    """A fact as an edge of a graph: the compared names at its ends, and its distance from the start."""

    source: str
    target: str
    depth: int
    fact: Fact


class Facts:
    """The facts of one space. The cost of a call grows with what is known of its names, not with the rest.

    Call it inside a transaction of the backend; without one, repeat a call that was interrupted.
    """

    def __init__(self, kv: KeyValue, space: SpaceLike, *, text_of: Callable[[str], str] = lambda record: "") -> None:
        self.space: Space = as_space(space)
        self._statements = FactStatements(kv, self.space)
        self._subjects = Subjects(self._statements, text_of)
        self._text_of = text_of

    def said(self, source: Source) -> str:
        """The words of a record that state something; nothing without its text."""
        return self._text_of(source.record)[source.start : source.end]

    def learn(self, claims: Iterable[Claim], *, record: str, learned_at: datetime | None = None) -> Learned:
        """Store the claims of a record. The same claim again changes nothing, unless it was retracted.

        That a relation with many values has none ("I have no pets") is not stored: only a value that is named ends.

        Raises ``InvalidInput`` for anything but claims, an unknown relation or an empty name, and then stores nothing.
        """
        moment = now() if learned_at is None else as_utc(learned_at, "learned_at")
        given = [claim for claim in check_list(claims, "claims must be a list") if not _ends_all_of_many(claim)]
        checked = [_in_digits(check_type(claim, Claim, "a claim must be a Claim")) for claim in given]
        said = self._text_of(check_id(record, "a record's id")) if any(map(_needs_words, checked)) else ""
        checked += coming(checked, said)
        named = [one for claim in checked for one in meant(claim, checked, self, said)]
        wanted = by_key([statement_of(claim, record, moment) for claim in named])
        changes = [change for question, group in wanted.items() for change in self._learned(question, group)]
        return Learned(*(tuple(fact for kind, fact in changes if kind == which) for which in _KINDS))

    def _learned(self, question: str, group: list[FactStatement]) -> Iterator[tuple[str, Fact]]:
        stored = self._statements.group(question)
        added = {one.key: one for one in group if self._statements.add(one)}
        if not added:
            return iter(())
        others = [one for one in stored if one.key not in added]
        return _changes(timeline(stored), timeline([*others, *added.values()]))

    def about(
        self,
        subject: str = USER,
        *,
        relation: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> list[Fact]:
        """The facts that hold of a subject now or at ``as_of``, as believed now or at ``known_at``.

        The subject is named as people do: *my mother*, 我妈, a first name. Raises ``InvalidInput`` for an empty subject or
        an unknown relation.
        """
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        believed = self._believed_of(subject, relation, known_at)
        return sorted(
            (fact for fact in believed if fact.holds_at(moment)),
            key=lambda fact: (fact.relation, fact.said_at, fact.id),
        )

    def history(self, subject: str = USER, relation: str | None = None) -> list[Fact]:
        """All facts ever believed of a subject, the earliest first, superseded and retracted ones included."""
        return self._history(subject, relation, misspelt=True)

    def history_heard(
        self, subject: str, relation: str | None = None, *, heard: Callable[[str], bool] | None
    ) -> list[Fact]:
        """The history as only the records whose ids ``heard`` accepts state it, and what was said by hand."""
        return self._history(subject, relation, misspelt=True, heard=heard)

    def _history(
        self, subject: str, relation: str | None, *, misspelt: bool, heard: Callable[[str], bool] | None = None
    ) -> list[Fact]:
        groups = self._groups_of(subject, relation, misspelt=misspelt)
        everything = [fact for group in groups for fact in timeline(_heard(group, heard))]
        return [fact for fact in everything if relation in (None, fact.relation)]

    def endings(
        self, subject: str, relation: str, objects: Collection[str], *, heard: Callable[[str], bool] | None = None
    ) -> list[Source]:
        """Where it was said that a relation to one of these objects, or to every one, is over; the last said last."""
        values = {name_key(one) for one in objects}
        said = [
            (one.said_at, one.key, one.source)
            for group in self._groups_of(subject, relation)
            for one in _heard(group, heard)
            if one.negated and one.retired_at is None and (not one.object or name_key(one.object) in values)
        ]
        return [source for _, _, source in sorted(said, key=lambda one: one[:2])]

    def names_of(self, subject: str) -> list[str]:
        """The compared names under which someone is known, the best first; the given one alone for a stranger.

        Raises ``InvalidInput`` for an empty name.
        """
        return self._subjects.named(subject)

    def _groups_of(
        self, subject: str, relation: str | None = None, *, misspelt: bool = True
    ) -> Iterable[list[FactStatement]]:
        """The statements about each question of someone, by all names together."""
        found: dict[str, list[FactStatement]] = {}
        names = self._subjects.named(subject, misspelt=misspelt)
        # Two sisters, who may both be meant, do not end each other's facts.
        several = sum(map(is_one_of_several, names)) > 1
        for name in names:
            for question, group in self._statements.groups(prefix_of_name(name, relation)):
                found.setdefault(question if several else question.split("/", 3)[3], []).extend(group)
        return found.values()

    def _believed_of(
        self, subject: str, relation: str | None = None, known_at: datetime | None = None, *, misspelt: bool = True
    ) -> list[Fact]:
        """The facts of someone that are believed now, or were at ``known_at``, whenever they hold in the world."""
        moment = None if known_at is None else as_utc(known_at, "known_at")
        groups = self._groups_of(subject, relation, misspelt=misspelt)
        facts = (fact for group in groups for fact in timeline(_known(group, moment)))
        return [fact for fact in facts if fact.retired_at is None and relation in (None, fact.relation)]

    def all(self, *, limit: int = 100, cursor: str | None = None) -> Page[Fact]:
        """Every fact of the space by subject, also past ones. A page may exceed ``limit`` to complete a question.

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

    def conflicts(self, subject: str | None = None, *, limit: int | None = None) -> list[Clash]:
        """The facts that contradict each other instead of following each other, up to ``limit``: of a subject or all."""
        everything = (group for _, group in self._statements.groups(BY_SUBJECT))
        groups = map(timeline, everything if subject is None else self._groups_of(subject))
        found = (clash for facts in groups for clash in _clashes([fact for fact in facts if fact.retired_at is None]))
        return list(islice(found, None if limit is None else check_count(limit, "limit", least=1)))

    def walk(
        self, start: str, *, depth: int = 2, as_of: datetime | None = None, limit: int = _MOST_EDGES
    ) -> list[FactEdge]:
        """The facts that connect a name to others, in both directions, the nearest first, at most ``limit``.

        Raises ``InvalidInput`` for an empty name, or a depth or limit below 1.
        """
        check_count(depth, "depth", least=1)
        check_count(limit, "limit", least=1)
        ring = self.names_of(start)
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        edges: dict[str, FactEdge] = {}
        seen = set(ring)
        for distance in range(1, depth + 1):
            following: dict[str, None] = {}
            for name in ring:
                for fact in self._touching(name, moment, limit):
                    if len(edges) >= limit:
                        return list(edges.values())
                    edge = FactEdge(name_key(fact.subject), name_key(fact.object), distance, fact)
                    edges.setdefault(fact.id, edge)
                    following.update(dict.fromkeys((edge.source, edge.target)))
            ring = [name for name in following if name not in seen]
            seen.update(ring)
        return list(edges.values())

    def _touching(self, name: str, moment: datetime, limit: int) -> Iterator[Fact]:
        """The facts at a time with this name at one of their ends."""
        for fact in self._believed(prefix_of_name(name)):
            if fact.holds_at(moment):
                yield fact
        for question in self._statements.questions_about(name, limit):
            for fact in self._believed(question):
                if fact.holds_at(moment) and name_key(fact.object) == name:
                    yield fact

    def withdraw(self, records: Iterable[str], *, final: bool = False, at: datetime | None = None) -> Withdrawn:
        """Withdraw the statements of records. Facts that no other statement supports are retired; ``restore`` undoes it.

        With ``final`` the statements are deleted for good. Records without statements are ignored. Raises
        ``InvalidInput`` for anything but a list of ids.
        """
        moment = now() if at is None else as_utc(at, "at")
        ids = _ids(records)
        gone = [one for record in ids for one in self._statements.of_record(record) if final or not one.retired_at]
        before = {question: self._believed(question) for question in by_key(gone)}
        if final:
            for record in ids:
                self._statements.drop(record)
        else:
            for one in gone:
                self._statements.set_retired(one, moment)
        lost = [fact for question, held in before.items() for fact in _missing(held, self._believed(question))]
        return Withdrawn(len(gone), tuple(lost))

    def erase(self, records: Iterable[str]) -> Withdrawn:
        """Delete the statements of records for good, and what a person denied of them alone.

        Raises ``InvalidInput`` for anything but a list of ids.
        """
        ids = _ids(records)
        questions = by_key(one for record in ids for one in self._statements.of_record(record))
        done = self.withdraw(ids, final=True)
        for question in questions:
            left = self._statements.group(question)
            affirmed = {one.value for one in left if not one.negated}
            for one in left:
                if one.by_hand and one.negated and one.value not in affirmed:
                    self._statements.drop_made_by_hand(one)
        return done

    def restore(self, records: Iterable[str]) -> int:
        """Undo the last withdrawal of each record. Returns how many statements were restored.

        Raises ``InvalidInput`` for anything but a list of ids.
        """
        restored = 0
        for record in _ids(records):
            for one in _withdrawn_last(self._statements.of_record(record)):
                self._statements.set_retired(one, None)
                restored += 1
        return restored

    def _believed(self, prefix: str) -> list[Fact]:
        """The facts that are believed now, whenever they hold in the world."""
        facts = (fact for _, group in self._statements.groups(prefix) for fact in timeline(group))
        return [fact for fact in facts if fact.retired_at is None]

    # By hand

    def correct(
        self,
        subject: str,
        relation: str,
        value: str,
        *,
        former: str | None = None,
        valid_from: datetime | None = None,
        at: datetime | None = None,
    ) -> Fact:
        """Replace a value by hand, and return the fact as it is believed now; nothing said before it changes that.

        The value takes the whole period of the former one, which stays in the history with the time until which it was
        believed. With ``valid_from`` the former value was true until then. Without a ``former`` it is the value that
        holds now, if there is one. A value that holds already goes on; one of several that was retracted is believed again.
        Raises ``NotFound`` when the former value is not believed, and ``InvalidInput`` for an unknown relation, a name or
        value that is empty, too long or not one line, an age, a birthday, an email address or a telephone number that
        cannot be one, and another one of several values without ``former``.
        """
        moment, since = now() if at is None else as_utc(at, "at"), valid_from and as_utc(valid_from, "valid_from")
        known = known_relation(check_line(relation, "the relation"))
        value = _checked_value(relation, check_line(value, "the value"))
        thing = _thing(value)
        # Who is looked for may be misspelt; who is written about is who was named.
        held = self._believed_of(check_line(subject, "the subject"), known.name, misspelt=False)
        everything = [] if known.single else self._history(subject, known.name, misspelt=False)
        past = [one for one in everything if _is_of(one, thing)]
        again = bool(past) and (former is None or name_key(check_text(former, "a value")) == thing)
        old = self._former(subject, relation, value if again else former, past if again else held, moment)
        said, who = self._after(subject, relation, moment), self._spelt(subject) if old is None else old.subject
        if since is not None or old is None:
            # After a value that has ended, it holds from this moment on, also by a clock that stands still.
            begins, ends = since or (moment if held else None), None
        elif again:
            begins, ends = _reopened(old)
        else:
            begins, ends = _period(old, said)
            if ends is not None and ends > said:
                # That the former value would end some day says nothing of this one.
                ends = None
            if begins is None and any(_is_of(fact, thing) and fact.holds_at(moment) for fact in held):
                # What is stated only to be over would end what holds.
                ends = None
        claim = Claim(
            subject=who, relation=relation, object=value, valid_from=begins, valid_to=ends, confidence=1.0, time=said
        )
        self.state(claim, learned_at=moment)
        for fact in held if known.lasting else [old] if old is not None else []:
            for until in _denied(fact, thing, since, known):
                self._deny(fact, said, moment, until)
        found = [fact for fact in self._believed_of(who, known.name, misspelt=False) if _is_of(fact, thing)]
        return next((fact for fact in found if fact.said_at == said), found[-1])

    def retract(
        self,
        subject: str,
        relation: str,
        value: str | None = None,
        *,
        ended: datetime | None = None,
        at: datetime | None = None,
    ) -> Fact:
        """Say by hand that a value was never true, or with ``ended`` that it is over since then; return what is left of it.

        Nothing said before it brings the value back; the history keeps it. Without a ``value`` it is the one that holds
        now. Raises ``NotFound`` when it is not believed, and ``InvalidInput`` for an unknown relation, a relation of
        several values without a value, and an end before its beginning.
        """
        moment, until = now() if at is None else as_utc(at, "at"), ended and as_utc(ended, "ended")
        held = self._believed_of(subject, known_relation(relation).name, misspelt=False)
        old = self._former(subject, relation, value, held, moment)
        if old is None:
            raise NotFound(f"nothing is known of {shown(subject)} and {shown(relation)}")
        if until is not None and old.valid_from is not None and until <= old.valid_from:
            raise InvalidInput(f"{shown(old.object)} holds since {old.valid_from}, so it did not end at {until}")
        self._deny(old, self._after(subject, relation, moment), moment, until)
        past = self._history(subject, relation, misspelt=False)
        left = [fact for fact in past if name_key(fact.object) == name_key(old.object)]
        return next((fact for fact in reversed(left) if fact.id == old.id), left[-1])

    def by_hand(self) -> list[FactStatement]:
        """What was stated and denied by hand, for a copy of it."""
        return list(self._statements.made_by_hand())

    def state(self, claim: Claim, *, learned_at: datetime) -> bool:
        """Store a claim that a person made, not a record. False when it is stored already. Raises ``InvalidInput``."""
        return self._statements.add(statement_of(claim, BY_HAND, learned_at, by_hand=True))

    def _former(
        self, subject: str, relation: str, value: str | None, held: list[Fact], moment: datetime
    ) -> Fact | None:
        """The fact of this value, or else the one that holds. Raises ``NotFound`` and ``InvalidInput``."""
        if value is None and held and not known_relation(relation).single:
            raise InvalidInput(f"{relation!r} may have several values; name the former one")
        wanted = None if value is None else name_key(check_text(value, "a value"))
        fits = [fact for fact in held if wanted is None or name_key(fact.object) == wanted]
        found = next((fact for fact in fits if fact.holds_at(moment)), None)
        if found is None and wanted is not None:
            if not fits:
                raise NotFound(f"it is not known of {shown(subject)} that {shown(relation)} is {shown(value)}")
            return fits[-1]
        return found

    def _after(self, subject: str, relation: str, moment: datetime) -> datetime:
        """When a person speaks of facts: after all that was said and denied of them, also by a clock that is ahead."""
        groups = self._groups_of(subject, relation, misspelt=False)
        said = (one.said_at for group in groups for one in group)
        return max([moment, *(time + datetime.resolution for time in said)])

    def _spelt(self, subject: str) -> str:
        """The name of someone as it was first written, or as it is given for a stranger."""
        groups = self._statements.groups(prefix_of_name(self._subjects.named(subject, misspelt=False)[0]))
        return next((group[0].subject for _, group in groups), subject)

    def _deny(self, fact: Fact, said: datetime, moment: datetime, since: datetime | None = None) -> None:
        """Store that a fact was never true, or is not since a time, under each name that it is stated of."""
        names = [name for name in self.names_of(fact.subject) if self._states(name, fact)]
        for name in names or [name_key(fact.subject)]:
            denied = Claim(
                subject=name, relation=fact.relation, object=fact.object, valid_from=since, negated=True, time=said
            )
            self.state(denied, learned_at=moment)

    def _states(self, name: str, fact: Fact) -> bool:
        prefix, thing = prefix_of_name(name, fact.relation), name_key(fact.object)
        return any(name_key(one.object) == thing and not one.negated for one in self._statements.group(prefix))

    asaid = asyncify(said)
    alearn = asyncify(learn)
    aabout = asyncify(about)
    ahistory = asyncify(history)
    aall = asyncify(all)  # noqa: A003 - the method above
    aconflicts = asyncify(conflicts)
    awalk = asyncify(walk)
    acorrect = asyncify(correct)
    aretract = asyncify(retract)
    awithdraw = asyncify(withdraw)
    aerase = asyncify(erase)
    anames_of = asyncify(names_of)
    aby_hand = asyncify(by_hand)
    astate = asyncify(state)
    arestore = asyncify(restore)
    ahistory_heard = asyncify(history_heard)
    aendings = asyncify(endings)


class StatedFacts:
    """What records state and what became of it, read once for all of them.

    The keys of the statements of a record are taken from ``known``, which is given those that had to be read.
    """

    def __init__(self, facts: Facts, records: Iterable[str], known: dict[str, tuple[str, ...]] | None = None) -> None:
        self._statements = facts._statements  # pyright: ignore[reportPrivateUsage] - of this module
        self._made = self._statements.of_records(records, {} if known is None else known)
        self._lines: dict[str, tuple[list[Fact], list[FactStatement]]] = {}

    def ended_by(self, record: str, *, as_of: datetime, relations: Collection[str] | None = None) -> str | None:
        """What ended all that a record states, by ``relations``; "" where only its day is past, None while one holds."""
        stated = self._made.get(record, [])
        return _end_of([one for one in stated if relations is None or one.relation in relations], self._line, as_of)

    def spans(self, record: str) -> list[tuple[int, int]]:
        """Where the statements of a record stand in its text, in order."""
        return sorted((one.source.start, one.source.end) for one in self._made.get(record, []))

    def _line(self, question: str) -> tuple[list[Fact], list[FactStatement]]:
        # Records often state the same of someone.
        if question not in self._lines:
            group = self._statements.group(question)
            self._lines[question] = timeline(group), group
        return self._lines[question]


def _end_of(
    stated: Iterable[FactStatement],
    read: Callable[[str], tuple[list[Fact], list[FactStatement]]],
    as_of: datetime,
) -> str | None:
    """Which record ended all that the statements of one say; "" where only its day is past, None while one holds."""
    ended: str | None = None
    for one in stated:
        if one.negated or one.retired_at is not None:
            continue
        if one.valid_to is not None and one.valid_to <= one.said_at:
            # It was said to be over, which is still so.
            return None
        line, group = read(group_of(one.key))
        own = [fact for fact in line if one.source in fact.evidence]
        if not own or any(fact.valid_to is None or fact.valid_to > as_of for fact in own):
            return None
        ended = _successor(own[-1], line, group) or ended or ""
    return ended


def _successor(fact: Fact, line: Sequence[Fact], group: Sequence[FactStatement]) -> str:
    """The record that gives another value, or says that a fact is over; "" for none."""
    by = [one.evidence[-1].record for one in line if one.id == fact.superseded_by and one.evidence]
    denials = [
        one for one in group if one.negated and (not one.object or name_key(one.object) == name_key(fact.object))
    ]
    by += [max(denials, key=lambda one: one.said_at).source.record] if denials else []
    return next((one for one in by if one != BY_HAND), "")


def _thing(value: str) -> str:
    """The compared form of a value that a person gives. Raises ``InvalidInput``."""
    thing = name_key(check_line(value, "the value"))
    if not thing:
        raise InvalidInput(f"the value must be at least one word, not {shown(value)}")
    return thing


_NUMBER = "|".join(NUMBERS)
_AGE = re.compile(
    rf"(?:(?P<years>\d{{1,3}})|(?:{_NUMBER})(?:[- ](?:{_NUMBER}))?|[零〇一二两三四五六七八九十百半]{{1,5}})"
    r"(?:\s*(?:years?|months?|weeks?|days?|yrs?)(?: old| of age)?|周?岁半?|个?月大?)?",
    re.IGNORECASE,
).fullmatch
_OLDEST = 130
_CHINESE_NUMBER = re.compile("(?:([一二两三四五六七八九])?(十))?([一二两三四五六七八九])?(?<=.)").fullmatch
_FIGURES = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}


_MONTHS = {name: place for place, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DATES = [
    re.compile(pattern, re.IGNORECASE).search
    for pattern in (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]{_MONTH}",
        rf"\b{_MONTH} (?:the )?(?P<day>\d{{1,2}})(?!\d)",
        r"\b\d{4}[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})\b",
        r"(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]?",
    )
]
_SAYS_WHEN = re.compile(rf"\d|\b{_MONTH}|[零〇一二三四五六七八九十]+[年月日号]", re.IGNORECASE).search
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_day(words: str) -> bool:
    """Whether words can say when someone was born; of a day and a month, whether the month has that day."""
    found = next((match for search in _DATES if (match := search(words))), None)
    if found is None:
        return _SAYS_WHEN(words) is not None
    month = _MONTHS.get(found["month"][:3].lower()) or int(found["month"])
    return 1 <= month <= len(_LONGEST_MONTHS) and 1 <= int(found["day"]) <= _LONGEST_MONTHS[month - 1]


def _in_digits(claim: Claim) -> Claim:
    """A claim, an age in digits."""
    if claim.relation != "age":
        return claim
    return msgspec.structs.replace(claim, object=_age_in_digits(check_text(claim.object, "a claim's object")))


def _age_in_digits(words: str) -> str:
    """An age without its number words: *thirty-one* is 31, and so is 三十一."""
    if (chinese := _CHINESE_NUMBER(words)) is not None:
        tens, ten, ones = chinese.groups()
        return str((10 * _FIGURES.get(tens, 1) if ten else 0) + _FIGURES.get(ones, 0))
    parts = words.lower().replace("-", " ").split()
    numbers = [NUMBERS[part] for part in parts if part in NUMBERS]
    return " ".join([str(sum(numbers)), *parts[len(numbers) :]]) if numbers else words


def _checked_value(relation: str, value: str) -> str:
    """The value, an age with digits. Raises ``InvalidInput`` for what cannot be an age, a day, an address or a number."""
    words = value.strip()
    if relation == "birthday" and not _is_day(words):
        raise InvalidInput(f"a birthday must be a day that exists, such as 4 May or 1990-05-04, not {shown(value)}")
    if relation == "age":
        age = _AGE(words)
        years = None if age is None else age["years"]
        if age is None or (years and int(years) > _OLDEST):
            raise InvalidInput(f"an age must be a number such as 31, at most {_OLDEST}, not {shown(value)}")
    if relation == "email" and not re.fullmatch(r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+", words):
        raise InvalidInput(f"an email address must be like ann@example.org, not {shown(value)}")
    if relation == "phone" and (sum(map(str.isdigit, words)) < _LEAST_DIGITS or re.search(r"[^\d\s+()./-]", words)):
        raise InvalidInput(f"a phone number must have at least {_LEAST_DIGITS} digits and no words, not {shown(value)}")
    return _age_in_digits(words) if relation == "age" else value


_LEAST_DIGITS = 3


def _is_of(fact: Fact, thing: str) -> bool:
    return name_key(fact.object) == thing


def _period(old: Fact, said: datetime) -> tuple[datetime | None, datetime | None]:
    """The period of a fact, for the value that takes its place at a time."""
    unknown = old.valid_from is not None and old.valid_from == old.valid_to
    return (None, said) if unknown else (old.valid_from, old.valid_to)


def _reopened(old: Fact) -> tuple[datetime | None, None]:
    """The period of one of several values that holds again: as before, without its end."""
    begins, ends = _period(old, old.said_at)
    # It goes on where it ended, if it was on the line until then.
    goes_on = begins is None and old.retired_at is None and ends is not None and old.said_at < ends
    return ends if goes_on else begins, None


def _denied(fact: Fact, thing: str, since: datetime | None, relation: Relation) -> tuple[datetime | None, ...]:
    """Since when a fact does not hold, if a value takes its place: None for never; nothing when that need not be said."""
    if _is_of(fact, thing):
        # Only a later beginning contradicts what was said of the same value.
        return (None,) if since is not None and (fact.valid_from or EARLIEST) < since else ()
    if relation.lasting or _replaces(fact, since):
        return (None,)
    return () if relation.single else (since,)


def _replaces(old: Fact, since: datetime | None) -> bool:
    """Whether a value that holds since a time, or always did, leaves no time to the old one."""
    return since is None or (old.valid_from is not None and since <= old.valid_from)


_KINDS = ("added", "confirmed", "superseded")


def _ids(records: Iterable[str]) -> list[str]:
    """The ids of records, without repetitions."""
    listed = check_list(records, "records must be a list")
    return list(dict.fromkeys(check_id(record, "a record's id") for record in listed))


def _withdrawn_last(statements: list[FactStatement]) -> list[FactStatement]:
    last = max((one.retired_at for one in statements if one.retired_at is not None), default=None)
    return [one for one in statements if last is not None and one.retired_at == last]


def _known(group: Iterable[FactStatement], moment: datetime | None) -> list[FactStatement]:
    """The statements known at a time, as they were then."""
    if moment is None:
        return list(group)
    known = [one for one in group if one.learned_at <= moment]
    later = [one.retired_at is not None and one.retired_at > moment for one in known]
    return [
        msgspec.structs.replace(one, retired_at=None) if unaware else one
        for one, unaware in zip(known, later, strict=True)
    ]


def _heard(group: list[FactStatement], heard: Callable[[str], bool] | None) -> list[FactStatement]:
    """The statements made by hand and by the records that are accepted; all without a rule for them."""
    return group if heard is None else [one for one in group if one.by_hand or heard(one.source.record)]


def _changes(before: list[Fact], after: list[Fact]) -> Iterator[tuple[str, Fact]]:
    old = {fact.id: fact for fact in before if fact.retired_at is None}
    for fact in (one for one in after if one.retired_at is None):
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
    """Contradictions: for a value that cannot change, every pair; else facts whose period another fact took over."""
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

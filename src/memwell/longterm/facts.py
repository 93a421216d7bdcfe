"""Facts with two times: when each holds in the world, and when it was believed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar
from unicodedata import normalize

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import BackendError, InvalidInput
from memwell.filters import AllOf, Where
from memwell.language.claims.relations import USER, Claim, Relation, relation_of
from memwell.records import Page, Space, SpaceLike, as_space, paged
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import as_utc, check_count, check_id, check_text, now, shown

# How names are compared and stored in keys.

_SPEAKER = frozenset("i me my mine myself user 用户 我 本人 我自己 俺 咱".split())
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])\Z")
_ARTICLE = re.compile(r"(?:a|an|the|my|our)\s+(?=\S)")
_EDGES = " \t\r\n.,;:!?\"'“”‘’()[]。，、；：！？「」『』《》"
_LONGEST_PART = 200


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """The form in which names are compared: NFKC, case-folded, without article, possessive and outer punctuation.

    *I*, *me*, *user*, 我 and 用户 are one name. Empty for punctuation and spaces alone.
    """
    plain = " ".join(normalize("NFKC", name).casefold().split()).strip(_EDGES)
    plain = _ARTICLE.sub("", _POSSESSIVE.sub("", plain), count=1)
    return USER if plain in _SPEAKER else plain


def key_part(text: str) -> str:
    """A text as one part of a key: without ``/``, of limited length, and unique.

    A long text is replaced by its digest, marked so that no text equals it.
    """
    written = text.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    return written if len(written) <= _LONGEST_PART else f"%~{digest(text)}"


def digest(*parts: str) -> str:
    """32 hexadecimal characters that identify these texts in this order."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        data = part.encode(errors="surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


# From statements to facts: a pure function of the set of statements, in any order.

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
_MOST_CERTAIN = 0.99


class Source(msgspec.Struct, frozen=True):
    """A record that states something, and the characters of its text."""

    record: str
    start: int = 0
    end: int = 0


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


class FactStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of one record, as it is stored."""

    key: str
    subject: str
    relation: str
    object: str
    value: str
    """The relation and the object in the compared form; empty for every value."""
    valid_from: datetime | None
    valid_to: datetime | None
    negated: bool
    said_at: datetime
    learned_at: datetime
    retired_at: datetime | None
    confidence: float
    source: Source

    @property
    def begins(self) -> datetime:
        """From when on it certainly holds."""
        return self.valid_from or self.said_at

    @property
    def is_past(self) -> bool:
        """Whether it says only that something is over, not since when it was true."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at


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
    given.sort(key=_order)
    held = [one for one in given if one.retired_at is None]
    facts = _facts(held)
    believed = {one.value for one in held if not one.negated}
    gone = [one for one in given if one.retired_at is not None and one.value not in believed]
    return facts + [_retired(fact, gone) for fact in _facts(gone)]


def _stands_alone(one: FactStatement) -> bool:
    since, until = _bounds(one)
    return not one.negated and one.retired_at is None and since < until


def _bounds(one: FactStatement) -> tuple[datetime, datetime]:
    return one.valid_from or EARLIEST, one.valid_to or LATEST


def _order(one: FactStatement) -> tuple[datetime, datetime, int, str, str]:
    # Without the time of learning: the facts must not depend on the order of learning.
    return (one.said_at, one.begins, one.source.start, one.value, one.key)


def _retired(fact: Fact, gone: Iterable[FactStatement]) -> Fact:
    records = {source.record for source in fact.evidence}
    ends = [one.retired_at for one in gone if one.retired_at is not None and one.source.record in records]
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

    Extended is the one said to be past, else the first span, else a hidden one; the others have no period.
    """
    first = min((span.start for span in spans), default=LATEST)
    hidden = [_hidden(place, backing, spans, first) for place, backing in supporters.items() if place < 0]
    past = [span for span in hidden if supporters[span.place][-1].is_past]
    covered = [span for span in hidden if supporters[span.place][-1].valid_from is None and span not in past]
    opening = [span for span in spans if span.start == first and _start_unknown(span, positive)]
    everything = spans + hidden
    choices = past[-1:] or opening or covered[-1:]
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
    return _Span(place, last.value, moment, moment, _place_at(spans, moment))


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


# The keys of statements: by subject, by object, by record.

BY_SUBJECT = "fact/s/"
BY_OBJECT = "fact/o/"
BY_RECORD = "fact/r/"
_PAGE = 500


class _Pointer(msgspec.Struct, frozen=True, array_like=True):
    """The entry of a record: the statement's key, and its key by object ("" without one)."""

    statement: str
    by_object: str


class FactStatements:
    """The statements of one space of a store."""

    def __init__(self, kv: KeyValue, space: Space) -> None:
        self._kv = kv
        self._space = space

    def add(self, statement: FactStatement) -> bool:
        """Store a statement, also over a retracted one. False when it is stored already."""
        stored = self._kv.get(self._space, statement.key)
        if stored is not None and _decoded(stored).retired_at is None:
            return False
        name = statement.key.rpartition("/")[2]
        by_object = "" if not statement.object else f"{BY_OBJECT}{key_part(name_key(statement.object))}/{name}"
        pointer = _Pointer(statement.key, by_object)
        self._kv.put(self._space, f"{_of_record(statement.source.record)}{name}", msgspec.to_builtins(pointer))
        if by_object:
            self._kv.put(self._space, by_object, statement.key)
        self._kv.put(self._space, statement.key, _encoded(statement))
        return True

    def group(self, prefix: str) -> list[FactStatement]:
        """The statements with a key prefix."""
        return [_decoded(entry) for entry in self._entries(prefix)]

    def groups(self, prefix: str, *, after: str = "") -> Iterator[tuple[str, list[FactStatement]]]:
        """The statements by question, with its prefix, in the order of keys."""
        for question, entries in groupby(self._entries(prefix, after=after), key=lambda entry: group_of(entry.key)):
            yield question, [_decoded(entry) for entry in entries]

    def questions_about(self, name: str, limit: int) -> list[str]:
        """The prefixes of at most ``limit`` questions that this name answers."""
        found: dict[str, None] = {}
        for entry in self._entries(f"{BY_OBJECT}{key_part(name)}/"):
            found[group_of(str(entry.value))] = None
            if len(found) >= limit:
                break
        return list(found)

    def of_record(self, record: str) -> list[FactStatement]:
        """The stored statements of one record."""
        keys = [_pointer(entry).statement for entry in self._entries(_of_record(record))]
        return [_decoded(entry) for key in keys if (entry := self._kv.get(self._space, key)) is not None]

    def set_retired(self, statement: FactStatement, retired_at: datetime | None) -> None:
        """Mark a statement as retracted, or as believed again."""
        changed = msgspec.structs.replace(statement, retired_at=retired_at)
        self._kv.put(self._space, statement.key, _encoded(changed))

    def drop(self, record: str) -> int:
        """Delete the statements of one record and all keys that point to them. Returns how many statements."""
        gone = 0
        for entry in list(self._entries(_of_record(record))):
            pointer = _pointer(entry)
            gone += self._kv.delete(self._space, pointer.statement)
            if pointer.by_object:
                self._kv.delete(self._space, pointer.by_object)
            # Last, so that a crash leaves entries that can be found by their record.
            self._kv.delete(self._space, entry.key)
        return gone

    def _entries(self, prefix: str, *, after: str = "") -> Iterator[Entry]:
        # "0" is the character after "/", so it is above every key with the prefix.
        bounds = [Where("@id", "ge", prefix), Where("@id", "lt", f"{prefix[:-1]}0")]
        if after:
            bounds.append(Where("@id", "gt", after))
        where = AllOf(tuple(bounds))
        return paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_PAGE, cursor=cursor))


def _ends_all_of_many(claim: object) -> bool:
    if not isinstance(claim, Claim) or claim.object != "" or claim.negated is not True:
        return False
    relation = relation_of(claim.relation)
    return relation is not None and not relation.single


def statement_of(claim: Claim, record: str, learned_at: datetime) -> FactStatement:
    """A claim as a statement.

    Raises ``InvalidInput`` for an unknown relation, a missing subject or object, and a value of the wrong type.
    """
    if not isinstance(claim, Claim):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a claim must be a Claim, not {shown(claim)}")
    relation = relation_of(claim.relation)
    if relation is None:
        raise InvalidInput(f"unknown relation {shown(claim.relation)}")
    subject = name_key(check_text(claim.subject, "a claim's subject"))
    thing = name_key(check_text(claim.object, "a claim's object"))
    if not subject or not (thing or (claim.negated and relation.single)):
        raise InvalidInput(f"a claim needs a subject and an object: {shown(claim)}")
    if not isinstance(claim.confidence, float | int) or not 0.0 <= claim.confidence <= 1.0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a claim's confidence must be from 0 to 1, not {shown(claim.confidence)}")
    if not isinstance(claim.negated, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a claim's negated must be True or False, not {shown(claim.negated)}")
    start, end = check_count(claim.start, "a claim's start"), check_count(claim.end, "a claim's end")
    since = _moment(claim.valid_from, "valid_from")
    until = _moment(claim.valid_to, "valid_to")
    record = check_id(record, "a record's id")
    name = digest(record, subject, relation.name, thing, str(claim.negated), str(since), str(until), str(start))
    return FactStatement(
        key=f"{question(subject, relation, thing)}{name}",
        subject=claim.subject.strip(),
        relation=relation.name,
        object=claim.object.strip(),
        value=f"{relation.name}/{thing}" if thing else "",
        valid_from=since,
        valid_to=until,
        negated=claim.negated,
        said_at=_moment(claim.time, "time") or learned_at,
        learned_at=learned_at,
        retired_at=None,
        confidence=claim.confidence,
        source=Source(record, start, end),
    )


def _moment(value: datetime | None, what: str) -> datetime | None:
    return None if value is None else as_utc(value, f"a claim's {what}")


def prefix_of(subject: str, relation: str | None = None) -> str:
    """The prefix of all statements about a subject, or about one relation of it.

    Raises ``InvalidInput`` for an empty name and an unknown relation.
    """
    name = name_key(check_text(subject, "a subject"))
    if not name:
        raise InvalidInput(f"a subject must be a name, not {shown(subject)}")
    everything = f"{BY_SUBJECT}{key_part(name)}/"
    if relation is None:
        return everything
    known = relation_of(relation)
    if known is None:
        raise InvalidInput(f"unknown relation {shown(relation)}")
    return f"{everything}{key_part(known.family or known.name)}/"


def question(subject: str, relation: Relation, thing: str) -> str:
    """The prefix of a question: of the statements of which one holds at a time."""
    return f"{prefix_of(subject, relation.name)}{'' if relation.single else key_part(thing)}/"


def group_of(key: str) -> str:
    """The question of the statement with this key."""
    return f"{key.rpartition('/')[0]}/"


def _of_record(record: str) -> str:
    return f"{BY_RECORD}{key_part(check_id(record, 'a record id'))}/"


def _encoded(statement: FactStatement) -> object:
    # Without the key, which would double the size.
    return msgspec.to_builtins(msgspec.structs.replace(statement, key=""))


def _decoded(entry: Entry) -> FactStatement:
    try:
        return msgspec.structs.replace(msgspec.convert(entry.value, FactStatement), key=entry.key)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a statement: {error}") from error


def _pointer(entry: Entry) -> _Pointer:
    try:
        return msgspec.convert(entry.value, _Pointer)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a pointer: {error}") from error


def by_key(statements: Iterable[FactStatement]) -> dict[str, list[FactStatement]]:
    """Statements by question."""
    found: dict[str, list[FactStatement]] = {}
    for one in statements:
        found.setdefault(group_of(one.key), []).append(one)
    return found


# The facts of a space.

T = TypeVar("T")
_MOST_EDGES = 200


class Learned(msgspec.Struct, frozen=True):
    """The result of learning: new facts, facts with more evidence, and facts that ended."""

    added: tuple[Fact, ...] = ()
    confirmed: tuple[Fact, ...] = ()
    superseded: tuple[Fact, ...] = ()


class Retracted(msgspec.Struct, frozen=True):
    """The result of retracting: how many statements, and the facts that no other statement supports."""

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

    def __init__(self, kv: KeyValue, space: SpaceLike) -> None:
        self.space: Space = as_space(space)
        self._statements = FactStatements(kv, self.space)

    def learn(self, claims: Iterable[Claim], *, record: str, learned_at: datetime | None = None) -> Learned:
        """Store the claims of a record. The same claim again changes nothing, unless it was retracted.

        That a relation with many values has none ("I have no pets") is not stored: only a value that is named ends.

        Raises ``InvalidInput`` for anything but claims, an unknown relation or an empty name, and then stores nothing.
        """
        moment = now() if learned_at is None else as_utc(learned_at, "learned_at")
        named = [claim for claim in _row(claims, "claims") if not _ends_all_of_many(claim)]
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
        subject: str,
        *,
        relation: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> list[Fact]:
        """The facts that hold of a subject now or at ``as_of``, as believed now or at ``known_at``.

        Raises ``InvalidInput`` for an empty subject or an unknown relation.
        """
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        believed = self._believed(prefix_of(subject, relation), known_at)
        wanted = [fact for fact in believed if fact.holds_at(moment) and relation in (None, fact.relation)]
        return sorted(wanted, key=lambda fact: (fact.relation, fact.said_at, fact.id))

    def history(self, subject: str, relation: str | None = None) -> list[Fact]:
        """All facts ever believed of a subject, the earliest first, superseded and retracted ones included."""
        everything = [
            fact for _, group in self._statements.groups(prefix_of(subject, relation)) for fact in timeline(group)
        ]
        return [fact for fact in everything if relation in (None, fact.relation)]

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

    def conflicts(self, subject: str | None = None) -> list[Clash]:
        """The facts that contradict each other instead of following each other: of one subject, or of the space."""
        prefix = BY_SUBJECT if subject is None else prefix_of(subject)
        groups = (timeline(group) for _, group in self._statements.groups(prefix))
        return [clash for facts in groups for clash in _clashes([fact for fact in facts if fact.retired_at is None])]

    def walk(
        self, start: str, *, depth: int = 2, as_of: datetime | None = None, limit: int = _MOST_EDGES
    ) -> list[FactEdge]:
        """The facts that connect a name to others, in both directions, the nearest first, at most ``limit``.

        Raises ``InvalidInput`` for an empty name, or a depth or limit below 1.
        """
        check_count(depth, "depth", least=1)
        check_count(limit, "limit", least=1)
        prefix_of(start)
        moment = now() if as_of is None else as_utc(as_of, "as_of")
        edges: dict[str, FactEdge] = {}
        seen = {name_key(start)}
        ring = [name_key(start)]
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
        yield from self.about(name, as_of=moment)
        for question in self._statements.questions_about(name, limit):
            for fact in self._believed(question):
                if fact.holds_at(moment) and name_key(fact.object) == name:
                    yield fact

    def retract(self, records: Iterable[str], *, final: bool = False, at: datetime | None = None) -> Retracted:
        """Retract the statements of records. Facts that no other statement supports are retired; ``restore`` undoes it.

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
        return Retracted(len(gone), tuple(lost))

    def restore(self, records: Iterable[str]) -> int:
        """Undo the last retraction of each record. Returns how many statements were restored.

        Raises ``InvalidInput`` for anything but a list of ids.
        """
        restored = 0
        for record in _ids(records):
            for one in _retracted_last(self._statements.of_record(record)):
                self._statements.set_retired(one, None)
                restored += 1
        return restored

    def _believed(self, prefix: str, known_at: datetime | None = None) -> list[Fact]:
        """The facts believed now, or at ``known_at``, whenever they hold in the world."""
        moment = None if known_at is None else as_utc(known_at, "known_at")
        groups = (group for _, group in self._statements.groups(prefix))
        facts = (fact for group in groups for fact in timeline(_known(group, moment)))
        return [fact for fact in facts if fact.retired_at is None]

    alearn = asyncify(learn)
    aabout = asyncify(about)
    ahistory = asyncify(history)
    aall = asyncify(all)  # noqa: A003 - the method above
    aconflicts = asyncify(conflicts)
    awalk = asyncify(walk)
    aretract = asyncify(retract)
    arestore = asyncify(restore)


_KINDS = ("added", "confirmed", "superseded")


def _row(values: Iterable[T], what: str) -> Iterable[T]:
    # A string is iterable too, but never meant.
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be a list, not {shown(values)}")
    return values


def _ids(records: Iterable[str]) -> list[str]:
    """The ids of records, without repetitions."""
    return list(dict.fromkeys(check_id(record, "a record's id") for record in _row(records, "records")))


def _retracted_last(statements: list[FactStatement]) -> list[FactStatement]:
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

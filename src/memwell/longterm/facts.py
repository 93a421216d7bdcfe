"""Facts with two times: when they hold in the world, and when they were believed."""

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

# How names are compared, and how they stand in the keys of a store.


_SPEAKER = frozenset("i me my mine myself user 用户 我 本人 我自己 俺 咱".split())
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])\Z")
_ARTICLE = re.compile(r"(?:a|an|the|my|our)\s+(?=\S)")
_EDGES = " \t\r\n.,;:!?\"'“”‘’()[]。，、；：！？「」『』《》"
_LONGEST_PART = 200


def name_key(name: str) -> str:
    """The form in which names are compared: NFKC, case folded, without article, possessive and outer marks.

    *I*, *me*, *user*, 我 and 用户 are one. It is empty for a name of marks and spaces alone. Raises ``InvalidInput`` for
    what is no string.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a name must be a string, not {shown(name)}")
    return _key(name)


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    plain = " ".join(normalize("NFKC", name).casefold().split()).strip(_EDGES)
    plain = _ARTICLE.sub("", _POSSESSIVE.sub("", plain), count=1)
    return USER if plain in _SPEAKER else plain


def key_part(text: str) -> str:
    """A text as one part of a key: without ``/``, of bounded length, and no other text's part.

    What is too long is replaced by its digest, which is marked so that no text can spell it.
    """
    written = text.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    return written if len(written) <= _LONGEST_PART else f"%~{digest(text)}"


def digest(*parts: str) -> str:
    """32 hexadecimal characters that stand for these texts in this order."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        data = part.encode(errors="surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


# From what was said to what holds when: a pure function of a set of statements, whatever the order they came in.


EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
_MOST_CERTAIN = 0.99


class Source(msgspec.Struct, frozen=True):
    """A record that says something, and the characters of its text that do."""

    record: str
    start: int = 0
    end: int = 0


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds, or held, of a subject.

    ``valid_from`` and ``valid_to`` are when it holds in the world, None where that is open; where they are equal it is not
    known when it held. ``learned_at`` and ``retired_at`` are when it was first believed and when it was retracted.
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
        """Whether it holds in the world at this moment."""
        return (self.valid_from or EARLIEST) <= moment < (self.valid_to or LATEST)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of one record, as it is stored."""

    key: str
    subject: str
    relation: str
    object: str
    value: str
    """The relation and the object in the form in which they are compared; empty for every value."""
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
        """Whether it says of something only that it is over, not since when it was."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at


class _Stretch(NamedTuple):
    start: datetime
    value: str | None


def timeline(statements: Iterable[Statement]) -> list[Fact]:
    """The facts that the statements of one question add up to, the earliest first; what was retracted comes last."""
    given = list(statements)
    if len(given) == 1 and _stands_alone(given[0]):
        # Most questions have one answer, given once: nothing is to be weighed.
        return [_fact(_Span(0, "", *_bounds(given[0]), None), {0: digest(given[0].key)}, given[0], given)]
    given.sort(key=_order)
    held = [one for one in given if one.retired_at is None]
    facts = _facts(held)
    believed = {one.value for one in held if not one.negated}
    gone = [one for one in given if one.retired_at is not None and one.value not in believed]
    return facts + [_retired(fact, gone) for fact in _facts(gone)]


def _stands_alone(one: Statement) -> bool:
    since, until = _bounds(one)
    return not one.negated and one.retired_at is None and since < until


def _bounds(one: Statement) -> tuple[datetime, datetime]:
    return one.valid_from or EARLIEST, one.valid_to or LATEST


def _order(one: Statement) -> tuple[datetime, datetime, int, str, str]:
    # Nothing of when it was learned: the picture must not depend on the order of learning.
    return (one.said_at, one.begins, one.source.start, one.value, one.key)


def _retired(fact: Fact, gone: Iterable[Statement]) -> Fact:
    records = {source.record for source in fact.evidence}
    ends = [one.retired_at for one in gone if one.retired_at is not None and one.source.record in records]
    return msgspec.structs.replace(fact, retired_at=max(ends), superseded_by=None)


def _facts(statements: list[Statement]) -> list[Fact]:
    positive = [one for one in statements if not one.negated]
    shown = _spans(_painted(statements))
    supporters = _supporters(positive, shown)
    spans = _reaching_back(shown, supporters, positive)
    # A fact is named after what it was first learned from, so more evidence never renames it.
    first = {place: min(backing, key=lambda one: (one.learned_at, one.key)) for place, backing in supporters.items()}
    ids = {place: digest(one.key) for place, one in first.items()}
    return [_fact(span, ids, first[span.place], supporters[span.place]) for span in spans if span.place in supporters]


def _painted(statements: Iterable[Statement]) -> list[_Stretch]:
    """The line of time, cut where the value changes: each stretch runs to the next one's start."""
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
    """The line with a value from ``start`` to ``end``; with ``only``, just where that value stood ("" for any)."""
    if start >= end:
        return line
    if only is None and end == LATEST and start > line[-1].start:
        # What is said last mostly holds last: no need to walk the whole line.
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
    """A stretch of one value. ``place`` tells those of one line apart; ``adjacent`` is the place that follows at once."""

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


def _supporters(positive: Iterable[Statement], spans: list[_Span]) -> dict[int, list[Statement]]:
    """Which statements stand behind each span; those that no span shows have places of their own, below zero."""
    by_value: dict[str, list[_Span]] = {}
    for span in spans:
        by_value.setdefault(span.value, []).append(span)
    found: dict[int, list[Statement]] = {}
    hidden: dict[str, int] = {}
    for one in positive:
        span = _nearest(one, by_value.get(one.value, ()))
        place = hidden.setdefault(one.value, -1 - len(hidden)) if span is None else span.place
        found.setdefault(place, []).append(one)
    return found


def _nearest(one: Statement, spans: Iterable[_Span]) -> _Span | None:
    """The span that a statement speaks of: the one it lies in, or the last that begins before it, or the first."""
    found: _Span | None = None
    moment = one.valid_to if one.is_past and one.valid_to is not None else one.begins
    for span in spans:
        if found is not None and span.start > moment:
            break
        found = span
    return found


def _reaching_back(
    spans: list[_Span], supporters: dict[int, list[Statement]], positive: list[Statement]
) -> list[_Span]:
    """With the spans of values that no stretch shows, and one span reaching back to the earliest times.

    Of several that could, the one said to be past comes first, then the first span, then what was covered; the others
    are left without a time.
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


def _hidden(place: int, backing: list[Statement], spans: list[_Span], first: datetime) -> _Span:
    """A span without a length, for a value that nothing of the line shows."""
    last = backing[-1]
    moment = last.valid_to if last.is_past and last.valid_to is not None else last.begins
    if last.valid_from is None and last.valid_to is None:
        moment = min(moment, first)
    return _Span(place, last.value, moment, moment, _place_at(spans, moment))


def _start_unknown(span: _Span, positive: Iterable[Statement]) -> bool:
    return any(one.value == span.value and one.begins == span.start and one.valid_from is None for one in positive)


def _place_at(spans: Iterable[_Span], moment: datetime) -> int | None:
    return next((span.place for span in spans if span.start <= moment < span.end), None)


def _fact(span: _Span, ids: dict[int, str], first: Statement, backing: list[Statement]) -> Fact:
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


def _together(backing: Iterable[Statement]) -> float:
    """Several records that say the same are surer than one; a record counts once."""
    surest: dict[str, float] = {}
    for one in backing:
        surest[one.source.record] = max(one.confidence, surest.get(one.source.record, 0.0))
    doubt = 1.0
    for confidence in surest.values():
        doubt *= 1.0 - confidence
    return round(min(max(_MOST_CERTAIN, *surest.values()), 1.0 - doubt), 4)


# Where statements lie in a store, and how they are found: by subject, by object, by record.


BY_SUBJECT = "fact/s/"
BY_OBJECT = "fact/o/"
BY_RECORD = "fact/r/"
_PAGE = 500


class _Pointer(msgspec.Struct, frozen=True, array_like=True):
    """What a record's entry holds: the statement's key, and the key under its object ("" when there is none)."""

    statement: str
    by_object: str


class Statements:
    """The statements of one space of a store."""

    def __init__(self, kv: KeyValue, space: Space) -> None:
        self._kv = kv
        self._space = space

    def add(self, statement: Statement) -> bool:
        """Store a statement, in the place of a retracted one too; False when it is held already."""
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

    def group(self, prefix: str) -> list[Statement]:
        """The statements whose keys begin so."""
        return [_decoded(entry) for entry in self._entries(prefix)]

    def groups(self, prefix: str, *, after: str = "") -> Iterator[tuple[str, list[Statement]]]:
        """The statements by the question they answer, with its prefix, in the order of keys."""
        for question, entries in groupby(self._entries(prefix, after=after), key=lambda entry: group_of(entry.key)):
            yield question, [_decoded(entry) for entry in entries]

    def questions_about(self, name: str, limit: int) -> list[str]:
        """The prefixes of at most ``limit`` questions to which this name is an answer."""
        found: dict[str, None] = {}
        for entry in self._entries(f"{BY_OBJECT}{key_part(name)}/"):
            found[group_of(str(entry.value))] = None
            if len(found) >= limit:
                break
        return list(found)

    def of_record(self, record: str) -> list[Statement]:
        """What one record said, so far as it is stored."""
        keys = [_pointer(entry).statement for entry in self._entries(_of_record(record))]
        return [_decoded(entry) for key in keys if (entry := self._kv.get(self._space, key)) is not None]

    def set_retired(self, statement: Statement, retired_at: datetime | None) -> None:
        """Mark a statement as retracted, or as held again."""
        changed = msgspec.structs.replace(statement, retired_at=retired_at)
        self._kv.put(self._space, statement.key, _encoded(changed))

    def drop(self, record: str) -> int:
        """Delete all that one record said, with what points to it, for good. Returns how many statements went."""
        gone = 0
        for entry in list(self._entries(_of_record(record))):
            pointer = _pointer(entry)
            gone += self._kv.delete(self._space, pointer.statement)
            if pointer.by_object:
                self._kv.delete(self._space, pointer.by_object)
            # Last, so that what a crash leaves behind can still be found by its record.
            self._kv.delete(self._space, entry.key)
        return gone

    def _entries(self, prefix: str, *, after: str = "") -> Iterator[Entry]:
        # "0" is the character after "/", so it bounds every key that begins with the prefix.
        bounds = [Where("@id", "ge", prefix), Where("@id", "lt", f"{prefix[:-1]}0")]
        if after:
            bounds.append(Where("@id", "gt", after))
        where = AllOf(tuple(bounds))
        return paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_PAGE, cursor=cursor))


def statement_of(claim: Claim, record: str, learned_at: datetime) -> Statement:
    """A claim as it is stored.

    Raises ``InvalidInput`` for what is no claim, an unknown relation, a claim without subject or object, and a value that
    is not of its kind.
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
    return Statement(
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
    """The prefix of all that is said of a subject, or of one relation of it.

    Raises ``InvalidInput`` for a name of marks and spaces alone and for an unknown relation.
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
    """The prefix of the statements that are weighed against each other: one question of which one answer holds."""
    return f"{prefix_of(subject, relation.name)}{'' if relation.single else key_part(thing)}/"


def group_of(key: str) -> str:
    """The question that the statement of this key answers."""
    return f"{key.rpartition('/')[0]}/"


def _of_record(record: str) -> str:
    return f"{BY_RECORD}{key_part(check_id(record, 'a record id'))}/"


def _encoded(statement: Statement) -> object:
    # The key is where it lies; storing it again would double the size.
    return msgspec.to_builtins(msgspec.structs.replace(statement, key=""))


def _decoded(entry: Entry) -> Statement:
    try:
        return msgspec.structs.replace(msgspec.convert(entry.value, Statement), key=entry.key)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a statement: {error}") from error


def _pointer(entry: Entry) -> _Pointer:
    try:
        return msgspec.convert(entry.value, _Pointer)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a pointer: {error}") from error


def by_key(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Statements by the question they answer."""
    found: dict[str, list[Statement]] = {}
    for one in statements:
        found.setdefault(group_of(one.key), []).append(one)
    return found


# Facts: who is what to whom, since when, and how we know.


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

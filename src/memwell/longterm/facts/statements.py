"""Where statements lie in a store, and how they are found: by subject, by object, by record.

    fact/s/<subject>/<relation or family>/<object, where many hold>/<digest>    the statement
    fact/o/<object>/<digest>                                                    where it is, for whoever has the object
    fact/r/<record>/<digest>                                                    where it is and what points to it

A statement is one value and is never read to be written again while it is learned, so writers do not get in each other's
way. What points to it is written before it and dropped after it: a crash in between leaves a pointer to nothing, which
readers pass over and the next try mends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

import msgspec

from memwell.errors import BackendError, InvalidInput
from memwell.filters import AllOf, Where
from memwell.language.claims.relations import Claim, Relation, relation_of
from memwell.longterm.facts.names import digest, key_part, name_key
from memwell.longterm.facts.timeline import Source, Statement
from memwell.records import Space, paged
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import as_utc, check_count, check_id, check_text, shown

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


__all__ = ["BY_SUBJECT", "Statements", "by_key", "group_of", "prefix_of", "question", "statement_of"]

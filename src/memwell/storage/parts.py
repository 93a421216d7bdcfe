"""What backends share: stored forms of messages and values, BM25, filters as SQL, and base classes of the parts.

The base classes check arguments, encode and decode. A backend implements the methods that begin with an underscore. They
get checked arguments and work on stored forms: the JSON of a message, an encoded value, a digest and its bytes.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import AllOf, AnyOf, Filter, FilterLike, Not, Where, as_filter
from memwell.language.segment import query_terms, segment
from memwell.messages import Message, Role, Text, check_message, decode_message, decode_messages, encode_message
from memwell.records import Page, Record, Space, Thread, Vector, as_vector, pack_half
from memwell.storage import arguments as given
from memwell.storage.protocols import Blobs, Entry, KeyValue, MessageLog, Place, ThreadInfo, Version, unsupported
from memwell.values import (
    as_utc,
    check_count,
    check_id,
    check_items,
    check_list,
    check_metadata,
    check_text,
    check_type,
    new_version,
    shown,
)

T = TypeVar("T")

MAX_INDEX = given.MAX_INDEX
MAX_TOKENS = 2**31 - 1
"""A message may carry a count up to this, so that the sum of a full thread still fits 64 bits."""


class Tail(NamedTuple):
    """The end of a thread: the next free index, the latest round, and the round that was closed by hand (or −1)."""

    next: int
    round: int
    ended: int


class Placed(NamedTuple):
    """A message ready to be stored: its place, and its JSON with the place written into it."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - the one meaning of the word here
    round: int
    id: str
    tokens: int
    body: str


def prepare(messages: Sequence[Message], *, keep_places: bool) -> list[tuple[Message, str]]:
    """Encode messages before any lock is taken, without the opening brace: their places will go in front.

    Raises ``InvalidInput`` for one that breaks a rule.
    """
    prepared: list[tuple[Message, str]] = []
    for message in check_list(messages, "messages must be a list of messages"):
        if type(message) is not Message:
            check_message(message)
        if message.tokens is not None:
            _check_tokens(message.tokens)
        placeless = message
        if message.index is not None or message.round is not None:
            if keep_places:
                check_message(message)
            placeless = message.changed(index=None, round=None)
        prepared.append((message, encode_message(placeless)[1:].decode()))
    return prepared


def _check_tokens(tokens: object) -> None:
    if check_count(tokens, "a message's tokens") > MAX_TOKENS:
        raise InvalidInput(f"a message's tokens must be at most {MAX_TOKENS:,}, not {shown(tokens)}")


def place(prepared: Sequence[tuple[Message, str]], tail: Tail, *, keep_places: bool) -> list[Placed]:
    """Give messages their indexes and rounds behind ``tail``.

    Raises ``Conflict`` when kept places do not follow the tail, ``InvalidInput`` when the thread is full.
    """
    placed: list[Placed] = []
    index, round_, ended = tail
    for message, encoded in prepared:
        if keep_places and message.index is not None:
            index = _kept(message.index, index, "index")
        if keep_places and message.round is not None:
            round_ = _kept(message.round, round_, "round")
        elif message.role is Role.HUMAN or round_ == ended:
            round_ += 1
        if index > MAX_INDEX:
            raise InvalidInput(f"a thread holds at most {MAX_INDEX + 1:,} messages; there is no index {index}")
        body = f'{{"index":{index},"round":{round_},{encoded}'
        placed.append(Placed(index, round_, message.id, message.tokens or 0, body))
        index += 1
    return placed


def as_stored(prepared: Sequence[tuple[Message, str]], placed: Sequence[Placed]) -> list[Message]:
    """The messages with their places, as a reader would get them."""
    return [
        # What holds JSON is read back: it must not be shared with the caller, and a tuple in it was stored as a list.
        replace(message, index=one.index, round=one.round)
        if not message.metadata and all(type(part) is Text for part in message.parts)
        else decode_message(one.body)
        for (message, _), one in zip(prepared, placed, strict=True)
    ]


def _kept(number: int, least: int, what: str) -> int:
    if number > MAX_INDEX:
        raise InvalidInput(f"a message's {what} must be at most {MAX_INDEX:,}, not {number}")
    if number < least:
        raise Conflict(f"a message keeps {what} {number}, but the thread is already at {least}")
    return number


def check_new_ids(ids: Iterable[str], known: Collection[str] = ()) -> None:
    """Raises ``Conflict`` for a message's id that is known, or is there twice."""
    seen: set[str] = set()
    for id_ in ids:
        if id_ in known or id_ in seen:
            raise taken_id(id_)
        seen.add(id_)


def taken_id(id_: str) -> Conflict:
    """The error for a message's id that the thread has."""
    return Conflict(f"the thread already holds a message with the id {id_!r}")


def replaced_body(message: Message, index: int, round_: int, id_: str) -> str:
    """The JSON of a message put in another's place. Raises ``InvalidInput`` for one that breaks a rule."""
    if check_message(message).tokens is not None:
        _check_tokens(message.tokens)
    encoded = encode_message(message.changed(index=None, round=None, id=id_)).decode()
    return f'{{"index":{index},"round":{round_},{encoded[1:]}'


# Copies from one store to another: the same checks and the same JSON on every backend.


class CopiedPlace(NamedTuple):
    """A place ready to be stored: the JSON of what it holds (None: removed) and of what it held, with the moments."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - the one meaning of the word here
    round: int
    id: str
    tokens: int
    body: str | None
    versions: list[tuple[str | None, float]]


class CopiedThread(NamedTuple):
    """The fields of a thread's listing that its places do not have, ready to be stored. ``ended`` is −1 for no round."""

    created: float
    metadata: str
    first: int
    next: int
    round: int
    ended: int
    edits: int


class StoredEntry(NamedTuple):
    """A key, its encoded value, its version, and when it expires."""

    key: str
    value: str | bytes
    version: int
    expires: float | None

    @classmethod
    def of(cls, key: str, value: Any, expires: float | None) -> StoredEntry:
        """A new entry. Raises ``InvalidInput`` for what is no value."""
        return cls(key, given.encode_value(value), new_version(), expires)

    def entry(self) -> Entry:
        """The same for readers."""
        expires = None if self.expires is None else given.moment(self.expires)
        return Entry(self.key, given.decode_value(self.value), self.version, expires)

    def lives(self, now: float) -> bool:
        """Whether it has not expired."""
        return self.expires is None or self.expires > now


def copied_thread(info: ThreadInfo) -> CopiedThread:
    """The stored form of a listing. Raises ``InvalidInput`` for one that no thread can have."""
    given.check_thread(check_type(info, ThreadInfo, "expected a ThreadInfo").thread)
    next_ = check_count(info.next, "a thread's next index")
    if check_count(info.first, "a thread's first index") > next_ or next_ > MAX_INDEX + 1:
        raise InvalidInput(f"no thread has the indexes {info.first} to {info.next}")
    return CopiedThread(
        as_utc(info.created, "a thread's time").timestamp(),
        cast(str, given.encode_value(check_metadata(info.metadata))),
        info.first,
        next_,
        check_count(info.rounds, "a thread's rounds"),
        -1 if info.ended_round is None else check_count(info.ended_round, "a round"),
        check_count(info.edits, "a thread's edits"),
    )


def copied_places(thread: CopiedThread, places: Sequence[Place]) -> list[CopiedPlace]:
    """The places, encoded. Raises ``InvalidInput`` for what is no place of this thread, ``Conflict`` for a wrong order."""
    found: list[CopiedPlace] = []
    ids: set[str] = set()
    last = -1
    for place in check_items(places, Place, "places must be a list of Place"):
        copied = _copied(thread, place)
        check_follows(copied, last)
        if copied.id in ids:
            raise Conflict(f"two places have the id {copied.id!r}")
        ids.add(copied.id)
        last = copied.index
        found.append(copied)
    return found


def check_follows(place: CopiedPlace, last: int) -> None:
    """Raises ``Conflict`` when a place does not come behind the one at the index ``last`` (−1 when there is none)."""
    if place.index <= last:
        raise Conflict(f"a place has the index {place.index}, but the thread is already at {last}")


def _copied(thread: CopiedThread, place: Place) -> CopiedPlace:
    index = check_count(place.index, "an index")
    round_ = check_count(place.round, "a round")
    if not thread.first <= index < thread.next or round_ > thread.round:
        raise InvalidInput(f"the thread's listing has no place for index {index} in round {round_}")
    id_ = check_id(place.id, "a message's id")

    def body(message: Message | None) -> str | None:
        return None if message is None else replaced_body(message, index, round_, id_)

    versions = [
        (body(version.message), as_utc(version.replaced, "a version's time").timestamp()) for version in place.versions
    ]
    tokens = 0 if place.message is None else place.message.tokens or 0
    return CopiedPlace(index, round_, id_, tokens, body(place.message), versions)


def copy_thread(source: MessageLog, target: MessageLog, thread: Thread, *, limit: int = 1000) -> None:
    """Copy a thread that the target does not have, ``limit`` places at a time."""
    [info] = source.threads(thread.space, ids=[thread.id]).items
    places = source.places(thread, limit=limit)
    target.restore(info, places)
    while places:
        places = source.places(thread, after=places[-1].index, limit=limit)
        target.restore(info, places)


def copied_entries(entries: Sequence[Entry]) -> list[StoredEntry]:
    """Entries, encoded; the last of each key. Raises ``InvalidInput`` for what cannot be one."""
    found: dict[str, StoredEntry] = {}
    for entry in check_items(entries, Entry, "entries must be a list of Entry"):
        expires = None if entry.expires is None else as_utc(entry.expires, "the end of an entry").timestamp()
        version = check_count(entry.version, "a version", least=1)
        value = given.encode_value(entry.value)
        found[check_id(entry.key, "a key")] = StoredEntry(entry.key, value, version, expires)
    return list(found.values())


def packed_vectors(vectors: Mapping[str, Vector]) -> dict[str, bytes]:
    """Vectors by id as stores keep them. Raises ``InvalidInput`` when they are not all of one size."""
    check_type(vectors, Mapping, "vectors must be a mapping from id to vector")
    packed = {check_id(id_, "a record's id"): pack_half(as_vector(vector)) for id_, vector in vectors.items()}
    sizes = sorted({len(data) // 2 for data in packed.values()})
    if len(sizes) > 1:
        raise InvalidInput(f"the vectors of a space have one size, not {' and '.join(map(str, sizes))}")
    return packed


class PreparedRecord(NamedTuple):
    """A record ready to be stored: its terms, the JSON of its metadata, and its packed vector."""

    record: Record
    terms: list[str]
    metadata: str
    vector: bytes | None


def prepare_records(records: Sequence[Record]) -> dict[Space, list[PreparedRecord]]:
    """The records of each space, prepared before any lock is taken. Raises ``InvalidInput`` for what is not a record."""
    prepared: dict[Space, list[PreparedRecord]] = {}
    for record in given.check_records(records).values():
        vector = None if record.vector is None else pack_half(record.vector)
        metadata = str(given.encode_value(record.metadata))
        one = PreparedRecord(record, segment(record.text), metadata, vector)
        prepared.setdefault(record.space, []).append(one)
    return prepared


def check_dimensions(id_: str, size: int, dimensions: int | None) -> int:
    """The size of a record's vector. Raises ``InvalidInput`` when those of its space have another."""
    if dimensions is not None and size != dimensions:
        raise InvalidInput(f"record {id_!r} has a vector of {size} dimensions in a space of {dimensions}")
    return size


# Okapi BM25 with the statistics of one space or one thread. No other space's words enter a score, so a score says nothing
# of other spaces' records, and every backend gives the same.

K1 = 1.2
B = 0.75
MAX_TERMS = 256
"""A query uses at most this many different terms."""
MOST_POSTINGS = 32_768
"""A search by words reads at most about this many of their rows: it leaves out the most common words, if it has others."""


def inverse_frequency(documents: int, containing: int) -> float:
    """The weight of a term: always above 0, the rarer the larger."""
    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def distinct_terms(terms: Iterable[str]) -> list[str]:
    """The terms of a query, each once, in their order, at most ``MAX_TERMS``."""
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def bm25_scores(documents: Mapping[int, Sequence[str]], terms: Sequence[str]) -> dict[int, float]:
    """The score of every document that holds one of the terms: the plain definition, for small collections."""
    counts = {key: {term: words.count(term) for term in terms if term in words} for key, words in documents.items()}
    containing = {term: sum(term in found for found in counts.values()) for term in terms}
    average = sum(map(len, documents.values())) / max(len(documents), 1) or 1.0
    return {
        key: sum(
            inverse_frequency(len(documents), containing[term])
            * (count * (K1 + 1.0))
            / (count + K1 * (1.0 - B + B * len(documents[key]) / average))
            for term, count in found.items()
        )
        for key, found in counts.items()
        if found
    }


def best_messages(messages: Iterable[Message], text: str, limit: int) -> list[tuple[Message, float]]:
    """The messages of one thread that share a word with ``text``, best first, for a store without an index of words."""
    placed = {message.index or 0: message for message in messages}
    found = bm25_scores(
        {index: segment(one.searchable) for index, one in placed.items()}, distinct_terms(query_terms(text))
    )
    best = heapq.nlargest(limit, ((score, index) for index, score in found.items()))
    return [(placed[index], score) for score, index in best]


# Filters as SQL: walks the filter; a dialect says how a field is written.


class Condition(NamedTuple):
    """A piece of SQL that is true or false (never NULL) and the values it binds."""

    sql: str
    bindings: tuple[Any, ...]


class FilterTarget(NamedTuple):
    """The rows that a filter is for: the SQL of their attributes by name, and of their JSON object."""

    attributes: dict[str, str]
    document: str


ORDER = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}

OfAttribute: TypeAlias = Callable[[Where, str], Condition]
OfDocument: TypeAlias = Callable[[Where, tuple[str, ...], str], Condition]


class Dialect(NamedTuple):
    """The conditions *always* and *never* of a SQL dialect, and how it compares a column or a path in a JSON document."""

    always: Condition
    never: Condition
    of_attribute: OfAttribute
    of_document: OfDocument

    def compiled(self, node: Filter | None, target: FilterTarget) -> Condition:
        """The filter as SQL. It agrees with the reference evaluator in ``memwell.filters`` on every row."""
        if node is None:
            return self.always
        if isinstance(node, AllOf | AnyOf):
            members = [self.compiled(member, target) for member in node.filters]
            if not members:
                return self.always if isinstance(node, AllOf) else self.never
            return joined(" AND " if isinstance(node, AllOf) else " OR ", members)
        if isinstance(node, Not):
            return _negated(self.compiled(node.filter, target))
        return self._where(node, target)

    def _where(self, node: Where, target: FilterTarget) -> Condition:
        if node.operator == "ne":
            return _negated(self._where(Where(node.field, "eq", node.value), target))
        if node.operator == "exists" and not node.value:
            return _negated(self._where(Where(node.field, "exists", True), target))
        if isinstance(node.field, str) and node.field.startswith("@"):
            column = target.attributes.get(node.field)
            return self.never if column is None else self.of_attribute(node, column)
        path = (node.field,) if isinstance(node.field, str) else node.field
        return self.of_document(node, path, target.document)


def joined(word: str, members: Sequence[Condition]) -> Condition:
    """Conditions with ``AND`` or ``OR`` between them."""
    sql = word.join(member.sql for member in members)
    return Condition(f"({sql})", tuple(value for member in members for value in member.bindings))


def _negated(condition: Condition) -> Condition:
    return Condition(f"(NOT {condition.sql})", condition.bindings)


# The parts

Prepared: TypeAlias = Sequence[tuple[Message, str]]
"""Messages, each with its JSON up to the place, which is written in front of it."""

StoredVersion: TypeAlias = tuple[str | None, float]
"""The JSON that a place held (None: removed), and until when."""

StoredPlace: TypeAlias = tuple[int, int, str, str | None, Iterable[StoredVersion]]
"""Index, round, id and JSON of a place, and its versions."""


class ThreadRow(NamedTuple):
    """A thread without its messages, as backends store it. ``ended`` is −1 while no round was closed by hand."""

    first: int
    next: int
    messages: int
    tokens: int
    round: int
    created: float
    metadata: str
    ended: int
    edits: int

    def info(self, thread: Thread, newest: str | None) -> ThreadInfo:
        """The same for readers; ``newest`` is the time of the newest message in ISO 8601."""
        created = given.moment(self.created)
        return ThreadInfo(
            thread=thread,
            first=self.first,
            next=self.next,
            messages=self.messages,
            tokens=self.tokens,
            rounds=self.round,
            created=created,
            updated=datetime.fromisoformat(newest) if newest else created,
            metadata=msgspec.json.decode(self.metadata),
            ended_round=self.ended if self.ended >= 0 else None,
            edits=self.edits,
        )


def message_of(body: str | None) -> Message | None:
    """The message in its JSON; None for one that was removed."""
    return None if body is None else decode_message(body)


def _decoded(stored: Iterable[StoredVersion]) -> list[Version]:
    return [Version(message_of(body), given.moment(at)) for body, at in stored]


class BaseLog(MessageLog):
    """Conversations over rows of JSON. Search reads the whole thread unless ``_match`` is overridden."""

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        given.check_thread(thread)
        prepared = prepare(messages, keep_places=keep_places)
        return as_stored(prepared, self._append(thread, prepared, keep_places=keep_places))

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        given.check_thread(thread)
        return decode_messages(self._read(thread, given.check_range(last, first, after, before, ids)))

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        return list(map(message_of, self._edit(thread, given.check_changes(changes))))

    def versions(self, thread: Thread, index: int) -> list[Version]:
        given.check_thread(thread)
        return _decoded(self._versions(thread, min(check_count(index, "an index"), given.MAX_INDEX + 1)))

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        given.check_thread(thread)
        end = min(check_count(before, "before"), given.MAX_INDEX + 1)
        return self._trim(thread, end, {index for index in given.check_places(keep) if index <= given.MAX_INDEX})

    def delete(self, thread: Thread) -> bool:
        return self._delete(given.check_thread(thread))

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else str(given.encode_value(check_metadata(metadata)))
        return self._annotate(thread, encoded, bool(end_round))

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        named = None if ids is None else sorted(set(given.check_ids(ids)))
        found = self._threads(space, named, given.check_name_cursor(cursor), given.check_limit(limit) + 1)
        return page_of(found, limit, lambda info: info.thread.id)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        given.check_thread(thread)
        return self._match(thread, check_text(text, "text"), given.check_limit(limit))

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        given.check_thread(thread)
        start = 0 if after is None else min(check_count(after, "after", least=-1), given.MAX_INDEX) + 1
        return [
            Place(index, round_, id_, message_of(body), _decoded(versions))
            for index, round_, id_, body, versions in self._places(thread, start, given.check_limit(limit))
        ]

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        self._restore(info.thread, wanted, copied_places(wanted, places))

    @abstractmethod
    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        """Store messages at the end of a thread, all or none."""

    @abstractmethod
    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        """The JSON of the messages in a range, in order."""

    @abstractmethod
    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> Iterable[str | None]:
        """Change places, all or none, and give what they hold then. Raises ``NotFound``."""

    @abstractmethod
    def _versions(self, thread: Thread, index: int) -> Iterable[StoredVersion]:
        """What a place held before, oldest first."""

    @abstractmethod
    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        """Drop the places below ``before`` that are not spared; how many held a message."""

    @abstractmethod
    def _delete(self, thread: Thread) -> bool:
        """Drop a thread; whether there was one."""

    @abstractmethod
    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        """Set the metadata of a thread and close its round; the thread is made if need be."""

    @abstractmethod
    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        """The first threads behind the id ``after``, by id; at least ``limit`` of them if there are as many."""

    def _match(self, thread: Thread, text: str, limit: int) -> list[tuple[Message, float]]:
        return best_messages(self.read(thread), text, limit)

    def _places(self, thread: Thread, start: int, limit: int) -> Iterable[StoredPlace]:
        """The places from the index ``start`` on, at most ``limit``; for the ability ``copies``."""
        raise unsupported("copies")

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        """Store copied places behind the existing ones, and take over the rest. Raises ``Conflict``."""
        raise unsupported("copies")


class BaseKeyValue(KeyValue):
    """Values by key over encoded entries. ``_clock`` gives the time in seconds."""

    _clock: Callable[[], float]

    def get(self, space: Space, key: str) -> Entry | None:
        given.check_space(space)
        found = self._get(space, check_id(key, "a key"), self._clock())
        return None if found is None else found.entry()

    def get_many(self, space: Space, keys: Sequence[str]) -> dict[str, Entry]:
        given.check_space(space)
        wanted = [check_id(key, "a key") for key in keys]
        return {found.key: found.entry() for found in self._get_many(space, wanted, self._clock())} if wanted else {}

    def put(self, space: Space, key: str, value: Any, *, ttl: float | None = None, expect: int | None = None) -> Entry:
        given.check_space(space)
        check_id(key, "a key")
        now = self._clock()
        stored = StoredEntry.of(key, value, given.check_ttl(ttl, now))
        self._put(space, stored, given.check_expect(expect), now)
        return stored.entry()

    def put_many(self, space: Space, values: Mapping[str, Any]) -> None:
        given.check_space(space)
        entries = [StoredEntry.of(check_id(key, "a key"), value, None) for key, value in values.items()]
        if entries:
            self._put_many(space, entries)

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        given.check_space(space)
        return self._delete(space, check_id(key, "a key"), given.check_expect(expect), self._clock())

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        given.check_space(space)
        wanted, start = as_filter(where), given.check_name_cursor(cursor)
        given.check_limit(limit)
        # One more than the page holds says whether there is another.
        found = self._scan(space, wanted, start, limit + 1, given.check_skip(skip), self._clock())
        return page_of(found, limit, lambda entry: entry.key)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        given.check_space(space)
        return self._count(space, as_filter(where), self._clock())

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        given.check_space(space)
        self._restore(space, copied_entries(entries))

    @abstractmethod
    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        """The entry of a key that lives at the moment ``now``."""

    def _get_many(self, space: Space, keys: Sequence[str], now: float) -> list[StoredEntry]:
        """The entries of keys that live at the moment ``now``, in any order."""
        return [found for key in keys if (found := self._get(space, key, now)) is not None]

    @abstractmethod
    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        """Store an entry. Raises ``Conflict``."""

    def _put_many(self, space: Space, entries: list[StoredEntry]) -> None:
        """Store entries of different keys, all or none where the store can."""
        for entry in entries:
            self._put(space, entry, None, self._clock())

    @abstractmethod
    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        """Drop a key; whether it lived. Raises ``Conflict``."""

    @abstractmethod
    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        """The live entries behind the key ``after`` that satisfy the filter, by key."""

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        """How many live entries satisfy the filter."""
        return len(self._scan(space, where, None, sys.maxsize, 0, now))

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        """Store copied entries, all or none; for the ability ``copies``."""
        raise unsupported("copies")


class BaseBlobs(Blobs):
    """Bytes by their digest."""

    def put(self, space: Space, data: bytes) -> str:
        given.check_space(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        self._put(space, digest, blob)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        found = self._get(given.check_space(space), given.check_digest(digest))
        if found is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return found

    def delete(self, space: Space, digest: str) -> bool:
        return self._delete(given.check_space(space), given.check_digest(digest))

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        given.check_space(space)
        found = self._scan(space, given.check_name_cursor(cursor) or "", given.check_limit(limit) + 1)
        return page_of(found, limit, str)

    @abstractmethod
    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        """Store bytes; the same again changes nothing."""

    @abstractmethod
    def _get(self, space: Space, digest: str) -> bytes | None:
        """The bytes, or None."""

    @abstractmethod
    def _delete(self, space: Space, digest: str) -> bool:
        """Drop the bytes; whether they were there."""

    @abstractmethod
    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        """The first digests behind ``after``, in their order."""


def page_of(found: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """The first ``limit`` items, and a cursor when there are more."""
    return Page(list(found[:limit]), cursor(found[limit - 1]) if len(found) > limit else None)

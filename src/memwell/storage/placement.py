"""Places of messages (index and round) and stored forms, for appends and for copies: the same in every backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, Role, Text, check_message, decode_message, encode_message
from memwell.records import Vector, as_vector, pack_half
from memwell.storage import arguments as given
from memwell.storage.protocols import Entry, Place, ThreadInfo
from memwell.values import as_utc, check_count, check_id, check_metadata, new_version, shown

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
    if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"messages must be a list of messages, not {shown(messages)}")
    prepared: list[tuple[Message, str]] = []
    for message in messages:
        if not isinstance(message, Message):  # pyright: ignore[reportUnnecessaryIsInstance]
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


def _kept(given: int, least: int, what: str) -> int:
    if given > MAX_INDEX:
        raise InvalidInput(f"a message's {what} must be at most {MAX_INDEX:,}, not {given}")
    if given < least:
        raise Conflict(f"a message keeps {what} {given}, but the thread is already at {least}")
    return given


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
    if not isinstance(info, ThreadInfo):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"expected a ThreadInfo, not {shown(info)}")
    given.check_thread(info.thread)
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
    if not isinstance(places, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"places must be a list of places, not {shown(places)}")
    found: list[CopiedPlace] = []
    ids: set[str] = set()
    last = -1
    for place in places:
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
    if not isinstance(place, Place):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"expected a Place, not {shown(place)}")
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


def copied_entries(entries: Sequence[Entry]) -> list[StoredEntry]:
    """Entries, encoded; the last of each key. Raises ``InvalidInput`` for what cannot be one."""
    if not isinstance(entries, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"entries must be a list of entries, not {shown(entries)}")
    found: dict[str, StoredEntry] = {}
    for entry in entries:
        if not isinstance(entry, Entry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"expected an Entry, not {shown(entry)}")
        expires = None if entry.expires is None else as_utc(entry.expires, "the end of an entry").timestamp()
        version = check_count(entry.version, "a version", least=1)
        value = given.encode_value(entry.value)
        found[check_id(entry.key, "a key")] = StoredEntry(entry.key, value, version, expires)
    return list(found.values())


def packed_vectors(vectors: Mapping[str, Vector]) -> dict[str, bytes]:
    """Vectors by id as stores keep them. Raises ``InvalidInput`` when they are not all of one size."""
    if not isinstance(vectors, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"vectors must be a mapping from id to vector, not {shown(cast(Any, vectors))}")
    packed = {check_id(id_, "a record's id"): pack_half(as_vector(vector)) for id_, vector in vectors.items()}
    sizes = sorted({len(data) // 2 for data in packed.values()})
    if len(sizes) > 1:
        raise InvalidInput(f"the vectors of a space have one size, not {' and '.join(map(str, sizes))}")
    return packed

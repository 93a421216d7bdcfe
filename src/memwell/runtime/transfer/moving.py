"""Moves a store from any backend to any other, while it is in use, and checks the copy.

A move makes a few passes over the source. Each copies what differs, so the first copies everything and the next ones
what was written meanwhile. A killed move continues where it stopped. With ``seal`` the source refuses writes before the
last pass, so nothing is lost; without it, what is written after the last pass is not in the copy, and another move
copies it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import (
    BackendError,
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    ReadOnlyStore,
)
from memwell.messages import Message, encode_message
from memwell.records import Record, Space, Thread, pack_half
from memwell.runtime.transfer.files import (
    MOST_BYTES,
    MOVING,
    Progress,
    canonical,
    digests_of,
    entries_of,
    entry_weight,
    place_pages,
    record_weight,
    records_of,
    spaces_of,
    threads_of,
)
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.values import new_id

T = TypeVar("T")
Report: TypeAlias = Callable[[int], None]
"""Called with how many more things were read."""

_PASSES = 5
_TRIES = 3
_REPORT_EVERY = 50
_COUNTED = ("entries", "records", "messages", "blobs")
_BATCH = 500
_SMALL = 300
"""About how many bytes a message takes."""
_LONG = 20_000
"""A longer thread is copied in pieces that are each committed, so that a killed move loses one piece only."""
_IDENTITY = "identity"
_COPY = "copy"

REFUSALS = {
    "same": "the source and the target are the same store, or one is a copy of the other's file",
    "unfinished": "the source is itself the unfinished copy of another store; finish that move first",
    "other": "the target holds the copy of another store; name one that is empty",
    "holds": "the target already holds something else; name one that is empty or does not exist",
    "touched": "the target was written to since it became the copy of this store, and that would be lost. "
    "If it is in use already, the move was done before; else name another target",
}


class MoveRefused(ConfigurationError):
    """A move that would destroy something. ``code`` says what: same, unfinished, other, holds or touched."""

    def __init__(self, code: str) -> None:
        super().__init__(REFUSALS[code])
        self.code = code


class Moved(msgspec.Struct, frozen=True):
    """The report of a move: what it did, and what the target holds now of what was stored there."""

    spaces: int
    threads: int
    messages: int
    """Places of conversations, also those whose message was removed."""
    entries: int
    records: int
    blobs: int
    internal: int
    """How much memwell keeps about it in spaces of its own: journals, facts, keys."""
    copied: int
    """How many entries, records, threads and blobs were written or removed: 0 when nothing had changed."""
    passes: int
    sealed: bool
    """Whether the source refuses writes now."""
    changing: list[Space]
    """Spaces that were written to while they were checked: the copy is a moment old. Empty when sealed."""
    checksum: str
    """Of everything in the target that does not expire, in a form that is the same on every backend."""


def move(
    source: Backend,
    target: Backend,
    *,
    seal: bool = False,
    reason: str = "its content was moved to another store",
    progress: Progress | None = None,
) -> Moved:
    """Copy ``source`` to ``target``, and check the copy. A target that holds a part of it is completed.

    With ``seal`` the source refuses every write before the last pass, with ``reason``; when the move then fails, the seal
    is lifted again. Raises ``MoveRefused`` when the target holds something else, or was written to since it became
    the copy, and ``BackendError`` when the copy differs in the end.
    """
    return _Move(source, target, seal, reason, progress).run()


class _Move:
    """One run of a move: passes until nothing changes, the last one with the source sealed, and the check."""

    def __init__(self, source: Backend, target: Backend, seal: bool, reason: str, progress: Progress | None) -> None:
        self._source = source
        self._target = target
        self._seal = seal
        self._reason = reason
        self._progress = progress
        self._read = self._reported = 0
        self._expected: int | None = None
        self._copier = Copier(source, target, self._report)
        self._copied = 0
        self._passes = 0

    def run(self) -> Moved:
        facts = self._source.facts()
        finished = _claim(self._source, self._target)
        if finished is not None:
            if total_of(self._target).hexdigest() != finished:
                raise MoveRefused("touched")
            _note(self._source, self._target, None)
        counts = [count for name in _COUNTED if isinstance(count := facts.get(name), int)]
        self._expected = sum(counts) if len(counts) == len(_COUNTED) else None
        sealed = facts.get("sealed") is not None
        if sealed:
            self._pass(strict=True)
            return self._finish(sealed=True)
        for _ in range(_PASSES):
            if not self._pass(strict=False):
                break
        return self._sealed() if self._seal else self._finish(sealed=False)

    def _report(self, count: int, *, last: bool = False) -> None:
        self._read += count
        if self._progress is None or (self._read < self._reported + _REPORT_EVERY and not last):
            return
        self._reported = self._read
        # Each thing is read twice, to copy and to check it, and more often in later passes.
        total = self._read if last else max(self._read, 2 * (self._expected or 0))
        self._progress(self._read, None if self._expected is None and not last else total)

    def _sealed(self) -> Moved:
        self._source.seal(self._reason)
        try:
            self._pass(strict=True)
            return self._finish(sealed=True)
        except BaseException:
            # The source is unchanged: its users can go on, and the move can be tried again.
            self._source.seal(None)
            raise

    def _pass(self, *, strict: bool) -> int:
        self._passes += 1
        changed = sum(self._copy(space, part, strict=strict) for part in PARTS for space in self._all_spaces())
        changed += self._tried(self._copier.flush, strict=strict)
        self._copied += changed
        return changed

    def _all_spaces(self) -> Iterator[Space]:
        for mine, theirs in merged(spaces_of(self._source), spaces_of(self._target), Space.encoded):
            space = mine or theirs
            if space is not None:
                yield space

    def _copy(self, space: Space, part: str, *, strict: bool) -> int:
        return self._tried(lambda: self._copier.copy(space, part), strict=strict)

    def _tried(self, copy: Callable[[], int], *, strict: bool) -> int:
        try:
            return copy()
        except (Conflict, InvalidInput, NotFound):
            if strict:
                raise
            # It was changed while it was copied, and does not fit the rest. The next pass copies it.
            return 1

    def _finish(self, *, sealed: bool) -> Moved:
        total, changing = Total(), list[Space]()
        for space in self._all_spaces():
            checksums = {part: self._checked(space, part, sealed) for part in PARTS}
            if None in checksums.values():
                changing.append(space)
            total.add(space, {part: one or checksum(self._target, space, part) for part, one in checksums.items()})
        _note(self._source, self._target, total.hexdigest())
        self._report(0, last=True)
        return Moved(
            spaces=total.spaces,
            **{kind: total.counts[kind] for kind in ("threads", "messages", "entries", "records", "blobs")},
            internal=total.internal,
            copied=self._copied,
            passes=self._passes,
            sealed=sealed,
            changing=changing,
            checksum=total.hexdigest(),
        )

    def _checked(self, space: Space, part: str, sealed: bool) -> Checksum | None:
        """The checksum that both sides have; None when the source is being changed."""
        seen: set[str] = set()
        for attempt in range(_TRIES):
            theirs = _checksum_or_none(self._target, space, part)
            mine = _checksum_or_none(self._source, space, part, self._report)
            if mine is not None and mine == theirs:
                return mine
            seen.add("" if mine is None else mine.digest)
            if attempt and len(seen) == 1:
                self._copier.forget(space, part)
            self._copied += self._copy(space, part, strict=sealed) + self._tried(self._copier.flush, strict=sealed)
        if not sealed and len(seen) > 1:
            return None
        raise BackendError(f"the copy of the {part} of {space!r} differs from what the source holds")


# Checksums: both sides are put into one form and digested, part by part


class Checksum(NamedTuple):
    """The checksum of a part of a space: how many things of each kind it holds, and their digest in order."""

    counts: dict[str, int]
    digest: str
    lasting: str
    """The digest of what does not expire; empty when there is nothing."""


class _Thing(NamedTuple):
    kind: str
    data: bytes
    lasts: bool = True


def _entries(backend: Backend, space: Space) -> Iterator[_Thing]:
    for entry in entries_of(backend, space):
        value = entry.value
        kind, encoded = ("bytes", value) if isinstance(value, bytes) else ("json", canonical(value))
        expires = None if entry.expires is None else entry.expires.isoformat()
        yield _Thing("entries", canonical([entry.key, entry.version, expires, kind]) + encoded, expires is None)


def _records(backend: Backend, space: Space) -> Iterator[_Thing]:
    for record in records_of(backend, space):
        yield _Thing("records", _record_bytes(record))


def _record_bytes(record: Record) -> bytes:
    plain = [record.id, record.kind, record.time.isoformat(), record.metadata, record.text]
    return canonical(plain) + (b"" if record.vector is None else pack_half(record.vector))


def _threads(backend: Backend, space: Space) -> Iterator[_Thing]:
    for info in threads_of(backend, space):
        yield _Thing("threads", canonical([*_listing(info), info.updated.isoformat()]))
        for places in place_pages(backend, info.thread, -1, info.next):
            for place in places:
                held = [_message_bytes(one.message) + one.replaced.isoformat().encode() for one in place.versions]
                head = canonical([place.index, place.round, place.id])
                yield _Thing("messages", b"\x00".join([head, _message_bytes(place.message), *held]))


def _listing(info: ThreadInfo) -> list[Any]:
    """The listing of a thread without what is derived from its newest message: while it is the same, the thread is."""
    numbers = attrgetter("first", "next", "messages", "tokens", "rounds")(info)
    return [info.thread.id, *numbers, info.created.isoformat(), info.metadata, info.ended_round, info.edits]


def _message_bytes(message: Message | None) -> bytes:
    return b"null" if message is None else canonical(msgspec.json.decode(encode_message(message)))


def _blobs(backend: Backend, space: Space) -> Iterator[_Thing]:
    # Of the bytes themselves: a store may list a digest whose bytes are damaged.
    for digest in digests_of(backend, space):
        yield _Thing("blobs", hashlib.sha256(backend.blobs.get(space, digest)).digest() + digest.encode())


class SpacePart(NamedTuple):
    """One kind of thing in a space."""

    read: Callable[[Backend, Space], Iterator[Any]]
    things: Callable[[Backend, Space], Iterator[_Thing]]
    """The same in one form, for checksums."""
    key: Callable[[Any], str]
    state: Callable[[Any], object]
    """Things with the same key and the same state are the same."""


PARTS: Final = {
    "entries": SpacePart(entries_of, _entries, attrgetter("key"), attrgetter("version")),
    "records": SpacePart(records_of, _records, attrgetter("id"), _record_bytes),
    "threads": SpacePart(threads_of, _threads, attrgetter("thread.id"), _listing),
    "blobs": SpacePart(digests_of, _blobs, str, str),
}
"""The parts of a space, in the order in which they are copied.

The order matters while the source is in use. Entries say how far records and conversations have been indexed, so they are
copied first; what refers to a blob is copied before the blobs. The process that opens the copy indexes again what is ahead
of the entries, and nothing is skipped.
"""


def checksum(backend: Backend, space: Space, part: str, report: Report | None = None) -> Checksum:
    """The checksum of one part of one space, read piece by piece."""
    digest, lasting, counts, lasts = hashlib.sha256(), hashlib.sha256(), Counter[str](), False
    for thing in PARTS[part].things(backend, space):
        framed = len(thing.data).to_bytes(8, "big") + thing.data
        digest.update(framed)
        if thing.lasts:
            lasting.update(framed)
            lasts = True
        counts[thing.kind] += 1
        if report is not None:
            report(thing.kind != "threads")
    return Checksum(dict(counts), digest.hexdigest(), lasting.hexdigest() if lasts else "")


def _checksum_or_none(backend: Backend, space: Space, part: str, report: Report | None = None) -> Checksum | None:
    try:
        return checksum(backend, space, part, report)
    except NotFound:
        # A blob was deleted while the blobs were read.
        return None


class Total:
    """The checksum of everything in a store that does not expire, over the parts of its spaces in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.counts = Counter[str]()
        self.internal = self.spaces = 0

    def add(self, space: Space, checksums: dict[str, Checksum]) -> None:
        """Add one space."""
        is_internal = "memwell" in space
        self.spaces += not is_internal and any(one.counts for one in checksums.values())
        for part, one in checksums.items():
            for kind, count in one.counts.items():
                # The records there are the chunks of documents.
                if is_internal and kind not in ("records", "blobs"):
                    self.internal += count
                else:
                    self.counts[kind] += count
            if one.lasting:
                self._digest.update(f"{space.encoded()} {part} {one.lasting}\n".encode())

    def hexdigest(self) -> str:
        """The checksum of all spaces that were added."""
        return self._digest.hexdigest()


def total_of(backend: Backend) -> Total:
    """The checksum of a whole store."""
    total = Total()
    for space in spaces_of(backend):
        total.add(space, {part: checksum(backend, space, part) for part in PARTS})
    return total


# Notes, in a space of the target: which store it is a copy of, and the checksum of the copy once it is finished


def _claim(source: Backend, target: Backend) -> str | None:
    """Note that the target is this source's copy; returns the checksum of a copy that was finished before.

    Raises ``MoveRefused`` when the target is the source itself, or holds something else.
    """
    identity = _identity_of(source)
    if _value(source, _COPY).get("finished", "") is None:
        raise MoveRefused("unfinished")
    here = target.kv.get(MOVING, _IDENTITY)
    if target is source or (here is not None and here.value == identity):
        raise MoveRefused("same")
    noted = _value(target, _COPY)
    if noted and noted["source"] != identity:
        raise MoveRefused("other")
    if not noted and next(spaces_of(target), None) is not None:
        raise MoveRefused("holds")
    if not noted:
        target.kv.put(MOVING, _COPY, {"source": identity, "finished": None}, expect=0)
    return noted.get("finished")


def _note(source: Backend, target: Backend, finished: str | None) -> None:
    """Note the checksum of the finished copy; None while it is being changed."""
    target.kv.put(MOVING, _COPY, {"source": _identity_of(source), "finished": finished})


def _identity_of(source: Backend) -> str:
    """A name for the store that stays with it, made when it is first moved."""
    known = source.kv.get(MOVING, _IDENTITY)
    if known is not None:
        return str(known.value)
    made = new_id()
    try:
        source.kv.put(MOVING, _IDENTITY, made, expect=0)
    except ReadOnlyStore:
        # A read-only store cannot change, so its address identifies it.
        facts = source.facts()
        return f"{facts.get('kind')}:{facts.get('path', facts.get('url'))}"
    return made


def _value(backend: Backend, key: str) -> dict[str, Any]:
    found = backend.kv.get(MOVING, key)
    return {} if found is None else cast("dict[str, Any]", found.value)


# Copying


class Copier:
    """Makes parts of spaces of the target equal to the source's, writing only what differs.

    Writes are buffered over many small spaces, and flushed in one transaction when the buffer is full.
    """

    def __init__(self, source: Backend, target: Backend, report: Report) -> None:
        self._source = source
        self._target = target
        self._report = report
        self._held: dict[tuple[str, Space, str], list[Any]] = {}
        """What is to be deleted and put, by space and part."""
        self._count = self._weight = 0
        self._states: dict[Space, int] = {}
        """The states of spaces whose records were copied: while it is the same, they are not read again."""

    def copy(self, space: Space, part: str) -> int:
        """Copy one part of a space, and return how many things were written or removed."""
        return self._records(space) if part == "records" else self._by_key(space, part)

    def _by_key(self, space: Space, part: str) -> int:
        """Things with a key are the same when their versions, listings or digests are."""
        read, _, key, state = PARTS[part]
        changed = 0
        for mine, theirs in merged(read(self._source, space), read(self._target, space), key):
            if mine is not None:
                self._report(mine.messages if part == "threads" else 1)
            if mine is not None and theirs is not None and state(mine) == state(theirs):
                continue
            changed += 1
            if mine is None:
                self._add("delete", space, part, key(theirs))
            elif part == "entries":
                self._add("put", space, part, mine, entry_weight(mine))
            elif part == "threads":
                self._thread(mine, theirs)
            else:
                # It may have been deleted meanwhile; the next pass sees that.
                with suppress(NotFound):
                    data = self._source.blobs.get(space, mine)
                    self._add("put", space, part, data, len(data))
        return changed

    def _thread(self, info: ThreadInfo, held: ThreadInfo | None) -> None:
        """Copy what was added to a thread, or all of it after any other change; a long one in pieces."""
        # These stay the same while a thread only grows.
        stable = attrgetter("created", "edits", "first")
        grown = held is not None and stable(held) == stable(info) and held.next <= info.next
        after = held.next - 1 if held is not None and grown else -1
        if info.next - max(after, info.first) <= _LONG:
            self._add("put", info.thread.space, "threads", (info, after, not grown), _SMALL * (info.next - after))
        else:
            self._restore(info, after, whole=not grown)

    def _restore(self, info: ThreadInfo, after: int, whole: bool) -> None:
        if whole:
            self._target.log.delete(info.thread)
        for places in place_pages(self._source, info.thread, after, info.next):
            # The listing says how far the copy is: a killed move goes on from there.
            self._target.log.restore(replace(info, next=places[-1].index + 1), places)
        self._target.log.restore(info, [])

    def _records(self, space: Space) -> int:
        """Copy records, in the same order."""
        if "records" not in self._source.abilities:
            return 0
        info = self._source.index.info(space)
        if not info.records and "records" not in self._target.abilities:
            return 0
        if self._states.get(space) == info.state:
            self._report(info.records)
            return 0
        index = self._target.index
        dimensions = index.info(space).dimensions
        if None not in (info.dimensions, dimensions) and info.dimensions != dimensions:
            index.revector(space, {})
        changed = self._align(space)
        self._states[space] = info.state
        return changed

    def _align(self, space: Space) -> int:
        """Read both sides in their order. New records are last in the source, so one that is not next there is gone."""
        changed = 0
        others = records_of(self._target, space)
        other = next(others, None)
        for record in chain(records_of(self._source, space), [None]):
            self._report(record is not None)
            while other is not None and (record is None or other.id != record.id):
                self._add("delete", space, "records", other.id)
                changed, other = changed + 1, next(others, None)
            if record is not None and (other is None or _record_bytes(other) != _record_bytes(record)):
                self._add("put", space, "records", record, record_weight(record))
                changed += 1
            other = None if other is None else next(others, None)
        return changed

    def forget(self, space: Space, part: str) -> None:
        """Remove a part of a space from the target, so that it is copied again."""
        self.flush()
        self._states.pop(space, None)
        for item in PARTS[part].read(self._target, space):
            self._delete(space, part, [PARTS[part].key(item)])

    def _add(self, verb: str, space: Space, part: str, item: Any, weight: int = 0) -> None:
        self._held.setdefault((verb, space, part), []).append(item)
        self._count += 1
        self._weight += weight
        if self._count >= _BATCH or self._weight >= MOST_BYTES:
            self.flush()

    def flush(self) -> int:
        """Write what is buffered. When that fails it is dropped; the next pass finds that it is missing."""
        held, self._held, self._count, self._weight = self._held, {}, 0, 0
        if not held:
            return 0
        try:
            with self._target.together():
                # Deletions first: a record that comes later in the source now is deleted and put again.
                for verb, write in (("delete", self._delete), ("put", self._put)):
                    for (wanted, space, part), items in held.items():
                        if wanted == verb:
                            write(space, part, items)
        except BaseException:
            self._states.clear()
            raise
        return 0

    def _put(self, space: Space, part: str, items: list[Any]) -> None:
        if part == "entries":
            self._target.kv.restore(space, items)
        elif part == "records":
            self._target.index.upsert(items)
        for item in items:
            if part == "threads":
                self._restore(*item)
            elif part == "blobs":
                self._target.blobs.put(space, item)

    def _delete(self, space: Space, part: str, keys: list[str]) -> None:
        if part == "records":
            self._target.index.delete(space, keys)
            return
        for key in keys:
            if part == "entries":
                self._target.kv.delete(space, key)
            elif part == "threads":
                self._target.log.delete(Thread(space, key))
            else:
                self._target.blobs.delete(space, key)


def merged(left: Iterator[T], right: Iterator[T], key_of: Callable[[T], str]) -> Iterator[tuple[T | None, T | None]]:
    """Pairs of two listings that are sorted by key; None for what one of them lacks."""
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and key_of(mine) < key_of(theirs)):
            yield mine, None
            mine = next(left, None)
        elif mine is None or key_of(theirs) < key_of(mine):
            yield None, theirs
            theirs = next(right, None)
        else:
            yield mine, theirs
            mine, theirs = next(left, None), next(right, None)

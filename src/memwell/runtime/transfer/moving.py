"""Moves a store from any backend to any other, while it is in use, and checks the copy.

A move copies the source space by space, then reads both sides once more and compares them. Meanwhile the source is
watched (``Backend.watch``): it notes what is written, and the move copies that again. With ``seal`` the source refuses
writes while the last notes are copied, so nothing is lost, and the time depends on what was written last, not on the
size of the store. A killed move continues where it stopped: the notes are in the source, and how far it came is in the
target. A source that cannot be watched is read again as a whole while it is sealed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, groupby
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
    Unsupported,
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
from memwell.storage.arguments import is_memwells
from memwell.storage.protocols import Backend, Entry, ThreadInfo, Written
from memwell.values import new_id

T = TypeVar("T")
Report: TypeAlias = Callable[[int], None]
"""Called with how many more things were read."""

_PASSES = 5
_TRIES = 3
_FEW = 20
"""So few things are left to the time when the source is sealed."""
_PAGE = 100
"""How many notes of the watch are followed in one transaction."""
_REPORT_EVERY = 50
_NOTE_EVERY = 20_000
"""After how many things a move notes, at the end of a space, how far it came."""
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
    spaces: Progress | None = None,
) -> Moved:
    """Copy ``source`` to ``target``, and check the copy. A target that holds a part of it is completed.

    With ``seal`` the source refuses every write before the last pass, with ``reason``; when the move then fails, the seal
    is lifted again. ``progress`` counts what is read, ``spaces`` the spaces that are done: each is copied, then checked.
    Raises ``MoveRefused`` when the target holds something else, or was written to since it became
    the copy, and ``BackendError`` when the copy differs in the end.
    """
    return _Move(source, target, seal, reason, progress, spaces).run()


class _Move:
    """One run of a move: every space is copied and checked, then what was written meanwhile, the last with a seal."""

    def __init__(
        self,
        source: Backend,
        target: Backend,
        seal: bool,
        reason: str,
        progress: Progress | None,
        spaces: Progress | None,
    ) -> None:
        self._source = source
        self._target = target
        self._seal = seal
        self._reason = reason
        self._progress = progress
        self._spaces_progress = spaces
        self._read = self._reported = self._noted = 0
        self._expected: int | None = None
        self._spaces_done = self._spaces = 0
        self._copier = Copier(source, target, self._report)
        self._copied = 0
        self._passes = 0
        self._position = _Position()
        self._total = Total()

    def run(self) -> Moved:
        facts = self._source.facts()
        noted = _claim(self._source, self._target)
        finished = noted.get("finished")
        if finished is not None and total_of(self._target).hexdigest() != finished:
            raise MoveRefused("touched")
        counts = [count for name in _COUNTED if isinstance(count := facts.get(name), int)]
        self._expected = sum(counts) if len(counts) == len(_COUNTED) else None
        sealed = facts.get("sealed") is not None
        watched = self._watch(noted, sealed=sealed)
        if finished is not None or watched:
            _note(self._source, self._target, None, self._position, self._total)
        self._count_spaces()
        if not watched:
            return self._unwatched(sealed)
        try:
            self._copy_spaces(strict=sealed)
        except Unsupported:
            # The target cannot hold it, so the move is not continued.
            self._source.watch(None)
            raise
        self._check_spaces(sealed=sealed)
        for _ in range(_PASSES):
            if self._catch_up(strict=sealed) <= _FEW:
                break
        return self._sealed(lambda: self._catch_up(strict=True)) if self._seal and not sealed else self._finish(sealed)

    def _watch(self, noted: dict[str, Any], *, sealed: bool) -> bool:
        """Watch the source; go on where a killed move stopped, if its watch goes on. False where that cannot be."""
        watched = self._source.watched()
        if watched is not None and watched == noted.get("watch"):
            self._position = _Position(watched, str(noted["stage"]), noted["after"])
            if self._position.after is not None or self._position.stage == "follow":
                self._total = Total.of(noted["total"])
            return True
        if sealed:
            # Nothing is written any more.
            return False
        name = new_id()
        # A read-only store cannot note what is written.
        with suppress(ReadOnlyStore):
            if self._source.watch(name):
                self._position = _Position(name)
        return self._position.watch is not None

    def _count_spaces(self) -> None:
        """Count the spaces, for reports: all of them, and those that are done."""
        _, stage, after = self._position
        for space in spaces_of(self._source):
            self._spaces += 1
            self._spaces_done += after is not None and space.encoded() <= after
        self._spaces_done += self._spaces * ("copy", "check", "follow").index(stage)

    def _unwatched(self, sealed: bool) -> Moved:
        """Passes over everything until nothing changes; the last one, and the check, with the source sealed."""
        if sealed:
            self._pass(strict=True)
            self._check_spaces(sealed=True)
            return self._finish(sealed=True)
        for _ in range(_PASSES):
            if not self._pass(strict=False):
                break
        if self._seal:
            return self._sealed(lambda: (self._pass(strict=True), self._check_spaces(sealed=True)))
        changing = self._check_spaces(sealed=False)
        return self._finish(sealed=False, changing=changing)

    def _report(self, count: int, *, last: bool = False) -> None:
        self._read += count
        if self._progress is None or (self._read < self._reported + _REPORT_EVERY and not last):
            return
        self._reported = self._read
        # Each thing is read twice, to copy and to check it, and more often in later passes.
        total = self._read if last else max(self._read, 2 * (self._expected or 0))
        self._progress(self._read, None if self._expected is None and not last else total)

    def _report_space(self) -> None:
        self._spaces_done += 1
        if self._spaces_progress is not None:
            self._spaces_progress(self._spaces_done, max(self._spaces_done, 2 * self._spaces))

    def _sealed(self, last: Callable[[], object]) -> Moved:
        self._source.seal(self._reason)
        try:
            last()
            return self._finish(sealed=True)
        except BaseException:
            # The source is unchanged: its users can go on, and the move can be tried again.
            self._source.seal(None)
            raise

    # The first pass, and the check, space by space

    def _copy_spaces(self, *, strict: bool) -> None:
        self._passes += 1
        for space in self._stage("copy"):
            self._copied += sum(self._copy(space, part, strict=strict) for part in PARTS)
        self._copied += self._tried(self._copier.flush, strict=strict)
        if self._position.stage == "copy":
            self._advance("check", None)

    def _check_spaces(self, *, sealed: bool) -> list[Space]:
        """Compare both sides; the spaces that are written to all the while."""
        changing = list[Space]()
        for space in self._stage("check"):
            checksums = {part: self._checked(space, part, sealed) for part in PARTS}
            if None in checksums.values():
                changing.append(space)
            self._total.add(
                space, {part: one or checksum(self._target, space, part) for part, one in checksums.items()}
            )
        self._advance("follow", None)
        return changing

    def _stage(self, stage: str) -> Iterator[Space]:
        """The spaces that are left of a stage. How far it came is noted now and then; nothing when it is behind."""
        if self._position.watch is not None and self._position.stage != stage:
            return
        for space in self._all_spaces(self._position.after):
            yield space
            self._report_space()
            if self._read >= self._noted + _NOTE_EVERY:
                self._copier.flush()
                self._advance(stage, space)

    def _advance(self, stage: str, after: Space | None) -> None:
        self._noted = self._read
        self._position = self._position._replace(stage=stage, after=None if after is None else after.encoded())
        if self._position.watch is not None:
            _note(self._source, self._target, None, self._position, self._total)

    def _pass(self, *, strict: bool) -> int:
        """Copy what differs, one part of all spaces after the other."""
        self._passes += 1
        changed = sum(self._copy(space, part, strict=strict) for part in PARTS for space in self._all_spaces())
        changed += self._tried(self._copier.flush, strict=strict)
        self._copied += changed
        return changed

    def _all_spaces(self, after: str | None = None) -> Iterator[Space]:
        mine, theirs = (spaces_of(store, after) for store in (self._source, self._target))
        for one, other in merged(mine, theirs, Space.encoded):
            space = one or other
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
        raise _differs(space, part)

    # What was written meanwhile

    def _catch_up(self, *, strict: bool) -> int:
        """Copy again what was written since it was copied, and check it; returns how many notes there were.

        One part after the other, in the order of ``PARTS``, as its notes are then.
        """
        self._passes += 1
        count = 0
        for part in PARTS:
            busy, after = set[Space](), None
            while notes := self._source.written(part, after=after, limit=_PAGE):
                if not count:
                    # When the move is killed from here on, everything is checked again.
                    self._advance("check", None)
                after, count = notes[-1], count + len(notes)
                followed = [note for note in notes if note.space != MOVING and note.space not in busy]
                busy |= self._follow(part, followed, strict=strict)
                self._source.drop_written([note for note in notes if note.space not in busy])
        if self._source.watched() != self._position.watch:
            raise BackendError("another move of this store has begun; run this one again when that one is finished")
        self._advance("follow", None)
        return count

    def _follow(self, part: str, notes: list[Written], *, strict: bool) -> set[Space]:
        """Copy what a page of notes names; returns the spaces in which it was changed again meanwhile."""
        groups = [_Written(space, part, list(group)) for space, group in groupby(notes, attrgetter("space"))]
        for group in groups:
            group.before(self._source, self._target)
        failed = False
        try:
            with self._target.together():
                for group in groups:
                    self._copier.follow(group)
        except (Conflict, InvalidInput, NotFound):
            if strict:
                raise
            failed = True
        busy = set[Space]()
        for group in groups:
            self._copied += group.after(self._source, self._target, self._total)
            self._report(len(group.keys))
            if group.differs and strict:
                raise _differs(group.space, part)
            if group.differs or failed:
                busy.add(group.space)
        return busy

    def _finish(self, sealed: bool, *, changing: list[Space] | None = None) -> Moved:
        total = self._total
        _note(self._source, self._target, total.hexdigest())
        if self._position.watch is not None:
            left = {note.space for part in PARTS for note in self._source.written(part)} - {MOVING}
            changing = sorted(left, key=Space.encoded)
            with suppress(ReadOnlyStore):
                self._source.watch(None)
        self._report(0, last=True)
        return Moved(
            spaces=total.spaces,
            **{kind: total.counts[kind] for kind in ("threads", "messages", "entries", "records", "blobs")},
            internal=total.internal,
            copied=self._copied,
            passes=self._passes,
            sealed=sealed,
            changing=changing or [],
            checksum=total.hexdigest(),
        )


def _differs(space: Space, part: str) -> BackendError:
    return BackendError(f"the copy of the {part} of {space!r} differs from what the source holds")


class _Position(NamedTuple):
    """How far a move has come: the name of its watch, the stage, and the last space that is done there."""

    watch: str | None = None
    stage: str = "copy"
    after: str | None = None


# Checksums: both sides are put into one form and digested, part by part


class Checksum(NamedTuple):
    """The checksum of a part of a space: how many things of each kind it holds, and their digest in order."""

    counts: dict[str, int]
    digest: str
    lasting: int
    """The sum of the digests of what does not expire."""


class _Thing(NamedTuple):
    kind: str
    data: bytes
    lasts: bool = True


def _entries(backend: Backend, space: Space) -> Iterator[_Thing]:
    return map(_entry_thing, entries_of(backend, space))


def _entry_thing(entry: Entry) -> _Thing:
    value = entry.value
    kind, encoded = ("bytes", value) if isinstance(value, bytes) else ("json", canonical(value))
    expires = None if entry.expires is None else entry.expires.isoformat()
    return _Thing("entries", canonical([entry.key, entry.version, expires, kind]) + encoded, expires is None)


def _records(backend: Backend, space: Space) -> Iterator[_Thing]:
    return map(_record_thing, records_of(backend, space))


def _record_thing(record: Record) -> _Thing:
    return _Thing("records", _record_bytes(record))


def _record_bytes(record: Record) -> bytes:
    plain = [record.id, record.kind, record.time.isoformat(), record.metadata, record.text]
    return canonical(plain) + (b"" if record.vector is None else pack_half(record.vector))


def _threads(backend: Backend, space: Space) -> Iterator[_Thing]:
    for info in threads_of(backend, space):
        yield from _thread_things(backend, info)


def _thread_things(backend: Backend, info: ThreadInfo, after: int = -1) -> Iterator[_Thing]:
    """The listing of a thread, and its places behind an index."""
    yield _Thing("threads", canonical([*_listing(info), info.updated.isoformat()]))
    for places in place_pages(backend, info.thread, after, info.next):
        for place in places:
            held = [_message_bytes(one.message) + one.replaced.isoformat().encode() for one in place.versions]
            head = canonical([info.thread.id, place.index, place.round, place.id])
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
        yield _blob_thing(backend.blobs.get(space, digest), digest)


def _blob_thing(data: bytes, digest: str) -> _Thing:
    return _Thing("blobs", hashlib.sha256(data).digest() + digest.encode())


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
    return _checksum_of(space, PARTS[part].things(backend, space), report)


def _checksum_of(space: Space, things: Iterable[_Thing], report: Report | None = None) -> Checksum:
    digest, lasting, counts, place = hashlib.sha256(), 0, Counter[str](), space.encoded().encode()
    for thing in things:
        framed = len(thing.data).to_bytes(8, "big") + thing.data
        digest.update(framed)
        if thing.lasts:
            lasting += int.from_bytes(
                hashlib.sha256(b"\x00".join([thing.kind.encode(), place, framed])).digest(), "big"
            )
        counts[thing.kind] += 1
        if report is not None:
            report(thing.kind != "threads")
    return Checksum(dict(counts), digest.hexdigest(), lasting)


def _checksum_or_none(backend: Backend, space: Space, part: str, report: Report | None = None) -> Checksum | None:
    try:
        return checksum(backend, space, part, report)
    except NotFound:
        # A blob was deleted while the blobs were read.
        return None


class Total:
    """The checksum of everything in a store that does not expire: the sum of the digests of all things.

    Because it is a sum, it can be kept current when a few things change, without reading the others.
    """

    def __init__(self) -> None:
        self._digest = 0
        self.counts = Counter[str]()
        self.internal = self.spaces = 0

    @classmethod
    def of(cls, noted: dict[str, Any]) -> Total:
        """A total that ``noted`` described."""
        total = cls()
        total._digest, total.counts = int(noted["digest"], 16), Counter[str](noted["counts"])
        total.internal, total.spaces = noted["internal"], noted["spaces"]
        return total

    def noted(self) -> dict[str, Any]:
        """The total as JSON data."""
        counts = dict(self.counts)
        return {"digest": self.hexdigest(), "counts": counts, "internal": self.internal, "spaces": self.spaces}

    def add(self, space: Space, checksums: dict[str, Checksum]) -> None:
        """Add one space."""
        self.spaces += not is_memwells(space) and any(one.counts for one in checksums.values())
        for one in checksums.values():
            self.change(space, one, 1)

    def change(self, space: Space, one: Checksum, sign: int) -> None:
        """Add some of a space, or with the sign −1 remove it."""
        self._digest += sign * one.lasting
        for kind, count in one.counts.items():
            # The records there are the chunks of documents.
            if is_memwells(space) and kind not in ("records", "blobs"):
                self.internal += sign * count
            else:
                self.counts[kind] += sign * count

    def hexdigest(self) -> str:
        """The checksum."""
        return f"{self._digest % 2**256:064x}"


def total_of(backend: Backend) -> Total:
    """The checksum of a whole store."""
    total = Total()
    for space in spaces_of(backend):
        total.add(space, {part: checksum(backend, space, part) for part in PARTS})
    return total


# Notes, in a space of the target: which store it is a copy of, and the checksum of the copy once it is finished


def _claim(source: Backend, target: Backend) -> dict[str, Any]:
    """Note that the target is this source's copy; returns what an earlier move noted there.

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
    return noted


def _note(
    source: Backend,
    target: Backend,
    finished: str | None,
    position: _Position | None = None,
    total: Total | None = None,
) -> None:
    """Note the checksum of the finished copy; while it is being changed, None and how far the move came."""
    noted: dict[str, Any] = {"source": _identity_of(source), "finished": finished}
    if position is not None and position.watch is not None:
        noted |= {**position._asdict(), "total": (total or Total()).noted()}
    target.kv.put(MOVING, _COPY, noted)


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
        grown = held is not None and _has_grown(held, info)
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

    def follow(self, group: _Written) -> None:
        """Make what a watch noted in a space equal to the source's now. Not buffered."""
        space, part = group.space, group.part
        if group.whole:
            self._states.pop(space, None)
            self.copy(space, part)
            self.flush()
        elif part == "threads":
            found = _listed(self._source, space, group.keys)
            for info in found.values():
                after = group.starts.get(info.thread.id, -1)
                self._restore(info, after, whole=after < 0)
            self._delete(space, part, [key for key in group.keys if key not in found])
        else:
            found = dict(_found(self._source, space, part, group.keys))
            gone = [key for key in group.keys if key not in found]
            # A record that was not there before goes behind the others, in the order of the numbers.
            self._delete(space, part, [*gone, *group.fresh])
            later = [key for key in group.fresh if key in found]
            self._put(
                space, part, [found[key] for key in found if key not in group.fresh] + [found[key] for key in later]
            )

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
        if part == "entries" and items:
            self._target.kv.restore(space, items)
        elif part == "records" and items:
            self._target.index.upsert(items)
        for item in items:
            if part == "threads":
                self._restore(*item)
            elif part == "blobs":
                self._target.blobs.put(space, item)

    def _delete(self, space: Space, part: str, keys: list[str]) -> None:
        if part == "records":
            if keys:
                self._target.index.delete(space, keys)
            return
        for key in keys:
            if part == "entries":
                self._target.kv.delete(space, key)
            elif part == "threads":
                self._target.log.delete(Thread(space, key))
            else:
                self._target.blobs.delete(space, key)


def _has_grown(held: ThreadInfo, info: ThreadInfo) -> bool:
    """Whether a thread only grew. These stay the same then."""
    stable = attrgetter("created", "edits", "first")
    return stable(held) == stable(info) and held.next <= info.next


# What a watch noted: one part of one space


class _Written:
    """The things of one part of one space that were written, and the checksums of them in the target before and after."""

    def __init__(self, space: Space, part: str, notes: list[Written]) -> None:
        self.space = space
        self.part = part
        self.keys = list(dict.fromkeys(note.key for note in notes))
        # The last number of each, in their order.
        numbers = {note.key: note.number for note in notes if note.number >= 0}
        self.fresh = sorted(numbers, key=numbers.__getitem__)
        self.starts: dict[str, int] = {}
        """Of threads that only grew: the last index that the target has."""
        self.whole = False
        """Whether the whole part must be copied: the vectors have another size."""
        self.differs = False
        self._held: dict[str, Checksum] = {}
        self._is_new = False

    def before(self, source: Backend, target: Backend) -> None:
        """Read what the target holds of them."""
        if self.part == "threads":
            mine, theirs = (_listed(store, self.space, self.keys) for store in (source, target))
            grown = {key: held for key, held in theirs.items() if key in mine and _has_grown(held, mine[key])}
            self.starts = {key: held.next - 1 for key, held in grown.items()}
        elif self.part == "records":
            sizes = {
                store.index.info(self.space).dimensions for store in (source, target) if "records" in store.abilities
            }
            self.whole = len(sizes - {None}) > 1
        self._held = self._checksums(target)
        self._is_new = not self._held and not _holds(target, self.space)

    def after(self, source: Backend, target: Backend, total: Total) -> int:
        """Compare, and bring the total up to date; returns how many things changed in the target."""
        wanted, now = self._checksums(source), self._checksums(target)
        self.differs = wanted != now
        for sign, found in ((-1, self._held), (1, now)):
            for one in found.values():
                total.change(self.space, one, sign)
        if not is_memwells(self.space):
            total.spaces += bool(self._is_new and now)
            total.spaces -= bool(self._held and not now and not _holds(target, self.space))
        return sum(self._held.get(key) != now.get(key) for key in self._held | now)

    def _checksums(self, backend: Backend) -> dict[str, Checksum]:
        """By key; the things that are not there are left out."""
        if self.whole:
            found = checksum(backend, self.space, self.part)
            return {"": found} if found.counts else {}
        if self.part == "threads":
            listed = _listed(backend, self.space, self.keys)
            return {
                key: _checksum_of(self.space, _thread_things(backend, info, self.starts.get(key, -1)))
                for key, info in listed.items()
            }
        return {
            key: _checksum_of(self.space, [_THINGS[self.part](item, key)])
            for key, item in _found(backend, self.space, self.part, self.keys)
        }


_THINGS: dict[str, Callable[[Any, str], _Thing]] = {
    "entries": lambda entry, _: _entry_thing(entry),
    "records": lambda record, _: _record_thing(record),
    "blobs": _blob_thing,
}


def _found(backend: Backend, space: Space, part: str, keys: list[str]) -> Iterator[tuple[str, Any]]:
    """The entries, records or blobs of these keys that are there."""
    if part == "entries":
        yield from backend.kv.get_many(space, keys).items()
    elif part == "records":
        found = backend.index.get(space, keys) if "records" in backend.abilities else []
        yield from ((record.id, record) for record in found)
    else:
        for key in keys if "blobs" in backend.abilities else []:
            with suppress(NotFound):
                yield key, backend.blobs.get(space, key)


def _listed(backend: Backend, space: Space, ids: list[str]) -> dict[str, ThreadInfo]:
    return {info.thread.id: info for info in backend.log.threads(space, ids=ids, limit=len(ids)).items}


def _holds(backend: Backend, space: Space) -> bool:
    """Whether a space holds anything."""
    return bool(
        ("records" in backend.abilities and backend.index.info(space).records)
        or backend.kv.scan(space, limit=1).items
        or backend.log.threads(space, limit=1).items
        or ("blobs" in backend.abilities and backend.blobs.scan(space, limit=1).items)
    )


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

"""Moving a store: from any backend to any other, while it is in use, and checked to the last byte.

A move is a few passes over the source. Each copies what differs, so the first copies everything and the next ones what was
written meanwhile. A killed move goes on where it was. With ``seal`` the source is closed to writers before the last pass,
and nothing can be lost; without it, what is written after the last pass is not in the copy, and another move copies it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
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
from memwell.records import Space, Thread
from memwell.runtime.transfer.files import (
    MOST_BYTES,
    MOVING,
    Progress,
    digests_of,
    entries_of,
    entry_bytes,
    entry_weight,
    info_bytes,
    info_key,
    merged,
    place_bytes,
    place_pages,
    record_bytes,
    record_weight,
    records_of,
    spaces_of,
    threads_of,
)
from memwell.storage.protocols import Backend, Entry, ThreadInfo
from memwell.values import new_id

T = TypeVar("T")
Tell: TypeAlias = Callable[[int], None]
"""Is called with how many more things were read."""

_PASSES = 5
_TRIES = 3
_TOLD_EVERY = 50
_COUNTED = ("entries", "records", "messages", "blobs")
_BATCH = 500
_SMALL = 300
"""About how many bytes a message takes."""
_LONG = 20_000
"""A longer thread is copied in pieces that are each committed, so that a kill costs one piece and not all of it."""
_IDENTITY = "identity"
_COPY = "copy"

_REFUSALS = {
    "same": "the source and the target are the same store, or one is a copy of the other's file",
    "unfinished": "the source is itself the unfinished copy of another store; finish that move first",
    "other": "the target holds the copy of another store; name one that is empty",
    "holds": "the target already holds something else; name one that is empty or does not exist",
    "touched": "the target was written to since it became the copy of this store, and that would be lost; "
    "name another target",
}


class MoveRefused(ConfigurationError):
    """A move that would destroy something. ``code`` says what: same, unfinished, other, holds or touched."""

    def __init__(self, code: str) -> None:
        super().__init__(_REFUSALS[code])
        self.code = code


class Moved(msgspec.Struct, frozen=True):
    """What a move did, and what the target holds now."""

    spaces: int
    threads: int
    messages: int
    """Places of conversations, those whose message was removed among them."""
    entries: int
    records: int
    blobs: int
    copied: int
    """How many entries, records, threads and blobs were written or removed: 0 when nothing had changed."""
    passes: int
    sealed: bool
    """Whether nothing can be written to the source any more."""
    changing: list[Space]
    """Spaces that were written to while they were checked; they are copied as of a moment ago. Empty when sealed."""
    checksum: str
    """Of all that the target holds for good, in a form that is the same on every backend."""
    finished_before: bool = False
    """Whether the source had been sealed and copied by an earlier move, so that nothing was done now."""
    written_since: bool = False
    """Whether the target has been written to since that move; the counts and the checksum are of what it holds now."""


def move(
    source: Backend,
    target: Backend,
    *,
    seal: bool = False,
    reason: str = "its content was moved to another store",
    progress: Progress | None = None,
) -> Moved:
    """Make ``target`` hold what ``source`` holds, and check it. A target that holds part of it is completed.

    With ``seal`` the source refuses every write before the last pass, with ``reason``; when the move then fails, the seal
    is lifted again. Raises ``MoveRefused`` when the target holds something else, or was written to since it became
    the copy, and ``BackendError`` when the copy differs in the end. A move that was finished with ``seal`` is not done
    again, and that is no error, even when the target was written to since.
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
        self._looked_at = self._told = 0
        self._expected: int | None = None
        self._marks = Marks(target)
        self._copier = Copier(source, target, self._marks, self._tell)
        self._copied = 0
        self._passes = 0

    def run(self) -> Moved:
        facts = self._source.facts()
        if facts.get("unread"):
            raise Unsupported(f"nothing was moved: {facts['unread']}")
        finished = self._marks.claim(self._source)
        if finished is not None:
            if finished.sealed and self._is_sealed_for(finished, facts.get("sealed")):
                return self._nothing_to_do(finished)
            if total_of(self._target).hexdigest() != finished.checksum:
                raise MoveRefused("touched")
            self._marks.resume(self._source)
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

    def _is_sealed_for(self, finished: Finished, seal: str | None) -> bool:
        """Whether the source was sealed for this target and is still what was copied there."""
        if seal is None:
            return False
        # The URL of the same target can be written in several ways; then the content says whether it is the one.
        return seal == self._reason or total_of(self._source).hexdigest() == finished.checksum

    def _nothing_to_do(self, finished: Finished) -> Moved:
        total = total_of(self._target)
        self._tell(0, last=True)
        return self._moved(total, sealed=True, before=True, since=total.hexdigest() != finished.checksum)

    def _tell(self, count: int, *, last: bool = False) -> None:
        self._looked_at += count
        if self._progress is None or (self._looked_at < self._told + _TOLD_EVERY and not last):
            return
        self._told = self._looked_at
        # Every thing is read twice: when it is copied and when it is checked. Later passes come on top.
        total = self._looked_at if last else max(self._looked_at, 2 * (self._expected or 0))
        self._progress(self._looked_at, None if self._expected is None and not last else total)

    def _sealed(self) -> Moved:
        self._source.seal(self._reason)
        try:
            self._pass(strict=True)
            return self._finish(sealed=True)
        except BaseException:
            # The source is whole, and its users can go on; the move can be tried again.
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
        return self._tried(lambda: getattr(self._copier, part)(space), strict=strict)

    def _tried(self, copy: Callable[[], int], *, strict: bool) -> int:
        try:
            return copy()
        except (Conflict, InvalidInput, NotFound):
            if strict:
                raise
            # It was changed while it was copied, into something that does not fit the rest. The next pass sees it.
            return 1

    def _finish(self, *, sealed: bool) -> Moved:
        total, changing = Total(), list[Space]()
        for space in self._all_spaces():
            checksums = {part: self._checked(space, part, sealed) for part in PARTS}
            if None in checksums.values():
                changing.append(space)
            total.add(space, {part: one or checksum(self._target, space, part) for part, one in checksums.items()})
        self._marks.complete(self._source, total.hexdigest(), sealed=sealed)
        self._tell(0, last=True)
        return self._moved(total, sealed=sealed, changing=changing)

    def _moved(
        self,
        total: Total,
        *,
        sealed: bool,
        changing: list[Space] | None = None,
        before: bool = False,
        since: bool = False,
    ) -> Moved:
        counts = {kind: total.counts[kind] for kind in ("threads", "messages", "entries", "records", "blobs")}
        return Moved(
            **counts,
            spaces=total.spaces,
            copied=self._copied,
            passes=self._passes,
            sealed=sealed,
            changing=changing or [],
            checksum=total.hexdigest(),
            finished_before=before,
            written_since=since,
        )

    def _checked(self, space: Space, part: str, sealed: bool) -> Checksum | None:
        """The checksum that both sides have; None when the source is being changed all the while."""
        seen: set[str] = set()
        for attempt in range(_TRIES):
            theirs = _checksum_or_none(self._target, space, part)
            mine = _checksum_or_none(self._source, space, part, self._tell)
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
    """How many things of each kind a part of a space holds, and the digest of all of them in order."""

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
        yield _Thing("entries", entry_bytes(entry), entry.expires is None)


def _records(backend: Backend, space: Space) -> Iterator[_Thing]:
    for record in records_of(backend, space):
        yield _Thing("records", record_bytes(record))


def _threads(backend: Backend, space: Space) -> Iterator[_Thing]:
    for info in threads_of(backend, space):
        yield _Thing("threads", info_bytes(info))
        for places in place_pages(backend, info.thread, -1, info.next):
            for place in places:
                yield _Thing("messages", place_bytes(place))


def _blobs(backend: Backend, space: Space) -> Iterator[_Thing]:
    # The digest is made of the bytes themselves: a store may list one whose bytes are damaged.
    for digest in digests_of(backend, space):
        yield _Thing("blobs", hashlib.sha256(backend.blobs.get(space, digest)).digest() + digest.encode())


PARTS: Final[dict[str, Callable[[Backend, Space], Iterator[_Thing]]]] = {
    "entries": _entries,
    "records": _records,
    "threads": _threads,
    "blobs": _blobs,
}
"""What a space is made of, in the order in which it is copied.

The order matters for a copy that is taken while the source is in use. Entries say how far records and conversations have
been indexed, so they are copied first; what refers to a blob is copied before the blobs. What is then ahead of the entries
is indexed once more by the process that opens the copy, and nothing is skipped.
"""


def checksum(backend: Backend, space: Space, part: str, tell: Tell | None = None) -> Checksum:
    """The checksum of one part of one space, read piece by piece."""
    digest, lasting, counts, lasts = hashlib.sha256(), hashlib.sha256(), Counter[str](), False
    for thing in PARTS[part](backend, space):
        framed = len(thing.data).to_bytes(8, "big") + thing.data
        digest.update(framed)
        if thing.lasts:
            lasting.update(framed)
            lasts = True
        counts[thing.kind] += 1
        if tell is not None:
            tell(thing.kind != "threads")
    return Checksum(dict(counts), digest.hexdigest(), lasting.hexdigest() if lasts else "")


def _checksum_or_none(backend: Backend, space: Space, part: str, tell: Tell | None = None) -> Checksum | None:
    try:
        return checksum(backend, space, part, tell)
    except NotFound:
        # A blob that was deleted while the blobs were read.
        return None


class Total:
    """The checksum of what a store holds for good, made of those of its parts in the order of their spaces."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.counts = Counter[str]()
        self.spaces = 0

    def add(self, space: Space, checksums: dict[str, Checksum]) -> None:
        """Add one space."""
        self.spaces += any(one.counts for one in checksums.values())
        for part, one in checksums.items():
            self.counts.update(one.counts)
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


# The notes of a move: whose copy a target is, and how far it is


class Finished(NamedTuple):
    """What a finished move left in its target: the checksum of the copy, and whether the source was sealed for it."""

    checksum: str
    sealed: bool


class Marks:
    """The notes of a move in the target's own space for them, so that a killed one goes on where it was."""

    def __init__(self, target: Backend) -> None:
        self._target = target

    def claim(self, source: Backend) -> Finished | None:
        """Note that the target is to be this source's copy; returns the note of a copy that was finished before.

        Raises ``MoveRefused`` when the target is the source itself, or holds something else.
        """
        identity = _identity_of(source)
        if _value(source, _COPY).get("finished", "") is None:
            raise MoveRefused("unfinished")
        here = self._target.kv.get(MOVING, _IDENTITY)
        if self._target is source or (here is not None and here.value == identity):
            raise MoveRefused("same")
        noted = _value(self._target, _COPY)
        if noted and noted["source"] != identity:
            raise MoveRefused("other")
        if not noted and next(spaces_of(self._target), None) is not None:
            raise MoveRefused("holds")
        if not noted:
            self._target.kv.put(MOVING, _COPY, {"source": identity, "finished": None}, expect=0)
        finished = noted.get("finished")
        return None if finished is None else Finished(finished, noted.get("sealed", False))

    def resume(self, source: Backend) -> None:
        """Note that the copy is being changed again."""
        self._target.kv.put(MOVING, _COPY, {"source": _identity_of(source), "finished": None})

    def complete(self, source: Backend, checksum: str, *, sealed: bool) -> None:
        """Remove all notes but whose copy this is, its checksum, and whether the source was sealed for it."""
        for entry in entries_of(self._target, MOVING):
            if entry.key not in (_COPY, _IDENTITY):
                self._target.kv.delete(MOVING, entry.key)
        note = {"source": _identity_of(source), "finished": checksum, "sealed": sealed}
        self._target.kv.put(MOVING, _COPY, note)

    def state_of(self, space: Space) -> int | None:
        """The state of the source's space that the target's records are at least at."""
        return _number(self._target, _name("records", space.encoded()))

    def set_state(self, space: Space, state: int | None) -> None:
        """Note it; None for not known."""
        self._target.kv.put(MOVING, _name("records", space.encoded()), state)


def _identity_of(source: Backend) -> str:
    """A name for the store that stays with it, made when it is first moved."""
    known = source.kv.get(MOVING, _IDENTITY)
    if known is not None:
        return str(known.value)
    made = new_id()
    try:
        source.kv.put(MOVING, _IDENTITY, made, expect=0)
    except ReadOnlyStore:
        # It cannot be written, so it cannot change either: its address names it well enough.
        facts = source.facts()
        return f"{facts.get('kind')}:{facts.get('path', facts.get('url'))}"
    return made


def _value(backend: Backend, key: str) -> dict[str, Any]:
    found = backend.kv.get(MOVING, key)
    return {} if found is None else cast("dict[str, Any]", found.value)


def _number(backend: Backend, key: str) -> int | None:
    found = backend.kv.get(MOVING, key)
    return None if found is None else cast("int | None", found.value)


def _name(kind: str, *parts: str) -> str:
    # Paths and ids can be longer than a key may be.
    return f"{kind}:{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()}"


# Copying


class _Writes:
    """Writes that are held back until there are enough for a transaction: a store of many small spaces needs few."""

    def __init__(self, target: Backend) -> None:
        self._target = target
        self._held: list[tuple[Callable[[list[Any]], object], list[Any]]] = []
        self._count = 0
        self._weight = 0

    def add(self, write: Callable[[list[T]], object], item: T, weight: int = 0) -> None:
        """Hold an item back. Items in a row that have the same ``write`` are given to it together."""
        if not self._held or self._held[-1][0] is not write:
            self._held.append((write, []))
        self._held[-1][1].append(item)
        self._count += 1
        self._weight += weight
        if self._count >= _BATCH or self._weight >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write all that is held, together. What cannot be written is dropped; the next pass finds that it is missing."""
        held, self._held, self._count, self._weight = self._held, [], 0, 0
        if held:
            with self._target.together():
                for write, items in held:
                    write(items)


class Copier:
    """Makes parts of spaces of the target equal to the source's: only what differs is written.

    Each method returns how many things it had to write or remove.
    """

    def __init__(self, source: Backend, target: Backend, marks: Marks, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._marks = marks
        self._tell = tell
        self._writes = _Writes(target)
        self._upsert = target.index.upsert

    def flush(self) -> int:
        """Write what is still held back."""
        self._writes.flush()
        return 0

    def entries(self, space: Space) -> int:
        """Entries are the same when their versions are."""
        kv, changed = self._target.kv, 0

        def store(entries: list[Entry]) -> None:
            kv.restore(space, entries)

        def drop(entries: list[Entry]) -> None:
            for entry in entries:
                kv.delete(space, entry.key)

        both = merged(entries_of(self._source, space), entries_of(self._target, space), lambda entry: entry.key)
        for mine, theirs in both:
            self._tell(mine is not None)
            if mine is not None and theirs is not None and mine.version == theirs.version:
                continue
            entry = mine or theirs
            if entry is not None:
                self._writes.add(drop if mine is None else store, entry, entry_weight(entry))
                changed += 1
        return changed

    def records(self, space: Space) -> int:
        """Records are the same in the same order. A space that has not changed since it was copied is not read."""
        if "records" not in self._source.abilities:
            return 0
        info = self._source.index.info(space)
        if not info.records and "records" not in self._target.abilities:
            return 0
        if self._marks.state_of(space) == info.state:
            self._tell(info.records)
            return 0
        index = self._target.index
        dimensions = index.info(space).dimensions
        if None not in (info.dimensions, dimensions) and info.dimensions != dimensions:
            index.revector(space, {})
        changed = self._align(space)
        self._writes.add(lambda states: self._marks.set_state(space, states[-1]), info.state)
        return changed

    def _align(self, space: Space) -> int:
        """Walk both sides in their order. What the source adds, it adds at the end, so what is not next there is gone."""
        index, changed = self._target.index, 0

        def drop(ids: list[str]) -> None:
            index.delete(space, ids)

        others = records_of(self._target, space)
        other = next(others, None)
        for record in records_of(self._source, space):
            self._tell(1)
            while other is not None and other.id != record.id:
                self._writes.add(drop, other.id)
                changed, other = changed + 1, next(others, None)
            if other is None or record_bytes(other) != record_bytes(record):
                self._writes.add(self._upsert, record, record_weight(record))
                changed += 1
            other = None if other is None else next(others, None)
        while other is not None:
            self._writes.add(drop, other.id)
            changed, other = changed + 1, next(others, None)
        return changed

    def threads(self, space: Space) -> int:
        """Threads are the same when their listings are."""
        changed = 0
        both = merged(threads_of(self._source, space), threads_of(self._target, space), lambda info: info.thread.id)
        for mine, theirs in both:
            if mine is None:
                if theirs is not None:
                    self._writes.add(self._drop_threads, theirs.thread)
                    changed += 1
                continue
            self._tell(mine.messages)
            if theirs is None or info_key(mine) != info_key(theirs):
                self._thread(mine, theirs)
                changed += 1
        return changed

    def _drop_threads(self, threads: list[Thread]) -> None:
        for thread in threads:
            self._target.log.delete(thread)

    def _thread(self, info: ThreadInfo, held: ThreadInfo | None) -> None:
        """Copy what a thread has grown by, or all of it again after anything else; a long one in pieces of their own."""
        grown = held is not None and _made_of(held) == _made_of(info) and held.next <= info.next
        after = held.next - 1 if held is not None and grown else -1
        if info.next - max(after, info.first) <= _LONG:
            self._writes.add(lambda _: self._restore(info, after, whole=not grown), None, _SMALL * (info.next - after))
        else:
            self._restore(info, after, whole=not grown)

    def _restore(self, info: ThreadInfo, after: int, *, whole: bool) -> None:
        if whole:
            self._target.log.delete(info.thread)
        for places in place_pages(self._source, info.thread, after, info.next):
            # The listing says how far the copy is: a killed move goes on from there.
            self._target.log.restore(replace(info, next=places[-1].index + 1), places)
        self._target.log.restore(info, [])

    def blobs(self, space: Space) -> int:
        """Blobs are the same when their digests are."""
        blobs, changed = self._target.blobs, 0

        def store(data: list[bytes]) -> None:
            for one in data:
                blobs.put(space, one)

        def drop(digests: list[str]) -> None:
            for digest in digests:
                blobs.delete(space, digest)

        for mine, theirs in merged(digests_of(self._source, space), digests_of(self._target, space), str):
            self._tell(mine is not None)
            changed += mine is None or theirs is None
            if mine is None and theirs is not None:
                self._writes.add(drop, theirs)
            elif theirs is None and mine is not None:
                # It may have been deleted a moment ago; the next pass sees that.
                with suppress(NotFound):
                    data = self._source.blobs.get(space, mine)
                    self._writes.add(store, data, len(data))
        return changed

    def forget(self, space: Space, part: str) -> None:
        """Remove a part of a space from the target, so that it is copied again."""
        self.flush()
        if part == "entries":
            for entry in entries_of(self._target, space):
                self._target.kv.delete(space, entry.key)
        elif part == "records":
            self._marks.set_state(space, None)
            for record in records_of(self._target, space):
                self._target.index.delete(space, [record.id])
        elif part == "threads":
            for info in threads_of(self._target, space):
                self._target.log.delete(info.thread)
        else:
            for digest in digests_of(self._target, space):
                self._target.blobs.delete(space, digest)


def _made_of(info: ThreadInfo) -> tuple[object, ...]:
    """What stays while a thread only grows."""
    return info.created, info.edits, info.first

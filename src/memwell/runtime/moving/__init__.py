"""Moving a store: from any backend to any other, while it is in use, and checked to the last byte.

A move is a few passes over the source. Each copies what differs, so the first copies everything and the next ones what was
written meanwhile. A killed move goes on where it was. With ``seal`` the source is closed to writers before the last pass,
and nothing can be lost; without it, what is written after the last pass is not in the copy, and another move brings it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from memwell.errors import BackendError, Conflict, InvalidInput, NotFound, Unsupported
from memwell.records import Space
from memwell.runtime.moving.checksums import PARTS, Checksum, Total, checksum, total_of
from memwell.runtime.moving.copying import Copier
from memwell.runtime.moving.marks import Finished, Marks, MoveRefused
from memwell.runtime.moving.reading import merged, spaces_of
from memwell.storage.protocols import Backend

Progress = Callable[[int, int | None], None]
"""Is told how many things have been looked at, and how many there will be, as far as that is known."""

_PASSES = 5
_TRIES = 3
_TOLD_EVERY = 50
_COUNTED = ("entries", "records", "messages", "blobs")


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
    """How many entries, records, threads and blobs were written or taken away: 0 when nothing had changed."""
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
    again, and that is no error, whatever became of the target since.
    """
    return _Move(source, target, seal, reason, progress).run()


class _Move:
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
            self._check_untouched(finished)
            self._marks.resume(self._source)
        self._expected = _things(facts)
        sealed = facts.get("sealed") is not None
        if not sealed:
            self._until_nothing_changes()
        if self._seal and not sealed:
            return self._sealed()
        if sealed:
            self._pass(strict=True)
        return self._finish(sealed=sealed)

    def _is_sealed_for(self, finished: Finished, seal: str | None) -> bool:
        """Whether the source was sealed for this target and is still what was copied there."""
        if seal is None:
            return False
        # The same target can be written in several ways; then what the source holds says whether it is the one.
        return seal == self._reason or total_of(self._source).hexdigest() == finished.checksum

    def _nothing_to_do(self, finished: Finished) -> Moved:
        total = total_of(self._target)
        self._tell(0, last=True)
        return self._moved(total, sealed=True, before=True, since=total.hexdigest() != finished.checksum)

    def _check_untouched(self, finished: Finished) -> None:
        if total_of(self._target).hexdigest() != finished.checksum:
            raise MoveRefused("touched")

    def _tell(self, count: int, *, last: bool = False) -> None:
        self._looked_at += count
        if self._progress is None or (self._looked_at < self._told + _TOLD_EVERY and not last):
            return
        self._told = self._looked_at
        # Every thing is looked at twice: when it is copied and when it is checked. Later passes come on top.
        total = self._looked_at if last else max(self._looked_at, 2 * (self._expected or 0))
        self._progress(self._looked_at, None if self._expected is None and not last else total)

    def _until_nothing_changes(self) -> None:
        for _ in range(_PASSES):
            if not self._pass(strict=False):
                return

    def _sealed(self) -> Moved:
        self._source.seal(self._reason)
        try:
            self._pass(strict=True)
            return self._finish(sealed=True)
        except BaseException:
            # The source is whole, and whoever uses it can go on; the move can be tried again.
            self._source.seal(None)
            raise

    def _pass(self, *, strict: bool) -> int:
        self._passes += 1
        changed = sum(self._copy(space, part, strict=strict) for part in PARTS for space in self._all_spaces())
        changed += self._tried(self._flushed, strict=strict)
        self._copied += changed
        return changed

    def _all_spaces(self) -> Iterator[Space]:
        for mine, theirs in merged(spaces_of(self._source), spaces_of(self._target), Space.encoded):
            space = mine or theirs
            if space is not None:
                yield space

    def _flushed(self) -> int:
        self._copier.flush()
        return 0

    def _copy(self, space: Space, part: str, *, strict: bool) -> int:
        return self._tried(lambda: getattr(self._copier, part)(space), strict=strict)

    def _tried(self, copy: Callable[[], int], *, strict: bool) -> int:
        try:
            return copy()
        except (Conflict, InvalidInput, NotFound):
            if strict:
                raise
            # What was being copied was changed under our hands into what does not fit the rest. The next pass sees it.
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
        return Moved(
            spaces=total.spaces,
            threads=total.counts["threads"],
            messages=total.counts["messages"],
            entries=total.counts["entries"],
            records=total.counts["records"],
            blobs=total.counts["blobs"],
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
            theirs = self._checksum(self._target, space, part)
            mine = self._checksum(self._source, space, part, self._tell)
            if mine is not None and mine == theirs:
                return mine
            seen.add("" if mine is None else mine.digest)
            if attempt and len(seen) == 1:
                self._copier.forget(space, part)
            self._copied += self._copy(space, part, strict=sealed) + self._tried(self._flushed, strict=sealed)
        if not sealed and len(seen) > 1:
            return None
        raise BackendError(f"the copy of the {part} of {space!r} differs from what the source holds")

    @staticmethod
    def _checksum(
        backend: Backend, space: Space, part: str, tell: Callable[[int], None] | None = None
    ) -> Checksum | None:
        try:
            return checksum(backend, space, part, tell)
        except NotFound:
            # A blob that was deleted while the blobs were read.
            return None


def _things(facts: dict[str, object]) -> int | None:
    """How many things a store says it holds; None when it does not count them."""
    counts = [count for name in _COUNTED if isinstance(count := facts.get(name), int)]
    return sum(counts) if len(counts) == len(_COUNTED) else None


__all__ = ["MoveRefused", "Moved", "Progress", "move"]

"""Conversations in and out of an export: places, rounds, edits, removals and their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.messages import Message, Role
from memwell.records import Thread, paged
from memwell.runtime.transfer.lines import Held, MessageLine, ThreadLine
from memwell.runtime.transfer.report import Tally
from memwell.runtime.transfer.shelf import Shelf
from memwell.storage.protocols import ThreadInfo
from memwell.values import check_count

CHUNK = 200
_MOVED = "moved/"
_LONGEST_GAP = 1_000_000
"""Places that were never used cost time whenever a conversation is copied, so a file may not leave out more than these."""


def infos(shelf: Shelf) -> Iterator[ThreadInfo]:
    """The conversations of a space, by id."""
    return paged(lambda cursor: shelf.backend.log.threads(shelf.space, limit=CHUNK, cursor=cursor))


def thread_lines(shelf: Shelf, info: ThreadInfo) -> Iterator[MessageLine | ThreadLine]:
    """The lines of a conversation: its places in order, then the conversation itself."""
    log, moved = shelf.backend.log, _moved(shelf, info)
    for start in range(info.first, info.next, CHUNK):
        end = min(start + CHUNK, info.next)
        live = {one.index: one for one in log.read(info.thread, after=start - 1, before=end)}
        for index in range(start, end):
            versions = log.versions(info.thread, index)
            if versions or index in live:
                times = moved["replaced"].get(str(index), [])
                held = [
                    Held(version.message, datetime.fromisoformat(times[n]) if n < len(times) else version.replaced)
                    for n, version in enumerate(versions)
                ]
                yield MessageLine(thread=info.thread.id, index=index, message=live.get(index), versions=tuple(held))
    yield ThreadLine(
        id=info.thread.id,
        created=datetime.fromisoformat(moved["created"]),
        first=info.first,
        next=info.next,
        rounds=info.rounds,
        ended=info.ended_round == info.rounds,
        metadata=info.metadata,
    )


def _moved(shelf: Shelf, info: ThreadInfo) -> dict[str, Any]:
    """The times of a conversation that came from elsewhere: a store sets them itself, so they are kept beside it."""
    note = shelf.value(_moved_key(info.thread))
    here = info.created.isoformat()
    # A conversation that was deleted and begun again under the same name is another one.
    if isinstance(note, dict) and note.get("here") == here:  # pyright: ignore[reportUnknownMemberType]
        return note  # pyright: ignore[reportUnknownVariableType]
    return {"created": here, "replaced": {}}


def _moved_key(thread: Thread) -> str:
    # A digest, because a thread's id may by itself be as long as a key may be.
    return _MOVED + sha256(thread.id.encode()).hexdigest()


class ThreadWriter:
    """Puts conversations back, a few places at a time. What is there stays, and an import that was cut short goes on."""

    def __init__(self, shelf: Shelf, tally: Tally) -> None:
        self._shelf = shelf
        self._log = shelf.backend.log
        self._tally = tally
        self._waiting: list[tuple[int, MessageLine]] = []
        self._places: list[int] = []
        self._replaced: dict[str, list[str]] = {}
        self._thread: str | None = None

    def add(self, number: int, line: MessageLine) -> None:
        """Take a place of a conversation."""
        if line.thread != self._thread:
            self._begin(line.thread)
        self._waiting.append((number, line))
        self._places.append(line.index)
        if line.versions:
            self._replaced[str(line.index)] = [held.replaced.isoformat() for held in line.versions]
        if len(self._waiting) >= CHUNK:
            self.flush()

    def _begin(self, thread: str | None) -> None:
        self.flush()
        self._thread, self._places, self._replaced = thread, [], {}

    def flush(self) -> None:
        """Store the places that wait, together if that works, else each that can be."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            taken = self._store([line for _, line in waiting])
        except (InvalidInput, Conflict, NotFound):
            self._store_singly(waiting)
        else:
            self._count(taken, len(waiting))

    def _store_singly(self, waiting: Sequence[tuple[int, MessageLine]]) -> None:
        for number, line in waiting:
            try:
                taken = self._store([line])
            except (InvalidInput, Conflict, NotFound) as error:
                self._tally.problem(number, error)
            else:
                self._count(taken, 1)

    def _count(self, taken: int, of: int) -> None:
        self._tally.took("messages", taken)
        self._tally.knew(of - taken)

    def _store(self, lines: Sequence[MessageLine]) -> int:
        """Store places, all or none; how many were not there yet."""
        thread = Thread(self._shelf.space, lines[0].thread)
        with self._shelf.backend.transaction():
            info = self._info(thread)
            fresh: dict[int, list[Message | None]] = {}
            live = self._live(thread, info, [line.index for line in lines])
            for line in lines:
                held = _lives(line)
                if info is None or line.index >= info.next:
                    fresh[line.index] = held
                elif line.index >= info.first and live.get(line.index) != (held[0] and held[0].id):
                    self._check_removed(thread, line.index, held)
            self._check_gaps(info, list(fresh))
            self._replay(thread, fresh)
        return len(fresh)

    def _live(self, thread: Thread, info: ThreadInfo | None, indexes: Sequence[int]) -> dict[int | None, str]:
        """The ids of the messages at these places."""
        known = [index for index in indexes if info is not None and index < info.next]
        if not known or min(known) < 0:
            return {}
        found = self._log.read(thread, after=min(known) - 1, before=max(known) + 1)
        return {one.index: one.id for one in found}

    def _check_removed(self, thread: Thread, index: int, held: list[Message | None]) -> None:
        """Raises ``Conflict`` unless the place once held this very message."""
        before = [version.message for version in self._log.versions(thread, index)]
        if not any(one is not None and held[0] is not None and one.id == held[0].id for one in before):
            raise Conflict(f"the conversation {thread.id!r} has gone on past index {index} without this message")

    def _check_gaps(self, info: ThreadInfo | None, indexes: list[int]) -> None:
        last = info.next if info else indexes[0] if indexes else 0
        for index in indexes:
            if index - last > _LONGEST_GAP:
                raise InvalidInput(f"the index {index} leaves out more than {_LONGEST_GAP:,} places behind {last}")
            last = index

    def _replay(self, thread: Thread, fresh: dict[int, list[Message | None]]) -> None:
        first = [held[0] for held in fresh.values() if held[0] is not None]
        self._log.append(thread, first, keep_places=True)
        for step in range(1, max(map(len, fresh.values()), default=0)):
            self._log.edit(thread, {index: held[step] for index, held in fresh.items() if step < len(held)})

    def end(self, number: int, line: ThreadLine) -> None:
        """A conversation is whole: give it its metadata, and the end it had."""
        if line.id != self._thread:
            self._begin(line.id)
        self.flush()
        try:
            new = self._finish(line)
        except (InvalidInput, Conflict, NotFound) as error:
            self._tally.problem(number, error)
        else:
            self._count_thread(new)
        self._begin(None)

    def _count_thread(self, new: bool) -> None:
        if new:
            self._tally.took("threads")
        else:
            self._tally.knew()

    def _finish(self, line: ThreadLine) -> bool:
        thread = Thread(self._shelf.space, line.id)
        for field in ("first", "next", "rounds"):
            check_count(getattr(line, field), f"a conversation's {field}")
        with self._shelf.backend.transaction():
            info = self._info(thread)
            if info is not None and self._is_whole(info, line):
                return False
            self._end_alike(thread, info, line)
            self._log.trim(thread, line.first, keep=self._places)
            now = self._log.annotate(thread, metadata=line.metadata, end_round=line.ended)
            note = {"here": now.created.isoformat(), "created": line.created.isoformat(), "replaced": self._replaced}
            self._shelf.keep(_moved_key(thread), note)
        return True

    def _is_whole(self, info: ThreadInfo, line: ThreadLine) -> bool:
        """Whether the conversation is the very one, was brought here before, or has gone on since."""
        return info.next > line.next or info.created == line.created or "here" in _moved(self._shelf, info)

    def _end_alike(self, thread: Thread, info: ThreadInfo | None, line: ThreadLine) -> None:
        """Let the next message get the index and round it would have got where it came from."""
        begun = info.next if info else 0
        if line.next > begun:
            if info and line.next - begun > _LONGEST_GAP:
                raise InvalidInput(
                    f"the conversation {line.id!r} ends {line.next - begun:,} places behind its last message"
                )
            last = Message(Role.SYSTEM, (), index=line.next - 1, round=line.rounds)
            self._log.append(thread, [last], keep_places=True)
            self._log.trim(thread, line.next, keep=self._places)

    def _info(self, thread: Thread) -> ThreadInfo | None:
        found = self._log.threads(thread.space, ids=[thread.id]).items
        return found[0] if found else None


def _lives(line: MessageLine) -> list[Message | None]:
    """All that a place ever held, oldest first, in our own form. Raises ``InvalidInput`` when that is nothing."""
    held = [*(one.message for one in line.versions), line.message]
    if held[0] is None:
        raise InvalidInput(f"the place {line.index} of {line.thread!r} never held a message")
    # A time may carry another zone, and only a message that is made anew is put into our form.
    lives = [None if one is None else one.changed(index=line.index) for one in held]
    if any(one is not None and one.id != held[0].id for one in held):
        raise InvalidInput(f"the place {line.index} of {line.thread!r} held messages of more than one id")
    return lives


__all__ = ["ThreadWriter", "infos", "thread_lines"]

"""Other systems' memories on their way in: each item is remembered once, through the gate, or reported."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

from memwell.errors import Conflict, InvalidInput
from memwell.longterm.remembering import Rememberer
from memwell.messages import Message
from memwell.records import Thread
from memwell.runtime.transfer.files import Piece
from memwell.runtime.transfer.report import Imported, Tally
from memwell.runtime.transfer.shelf import Shelf
from memwell.values import as_utc, check_text, shown

_BATCH = 100


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as another system had it."""

    id: str
    text: str
    time: datetime | None = None
    session: str = ""
    kind: str | None = None
    metadata: dict[str, Any] = {}
    trust: str = "user"
    expires: datetime | None = None


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as another system had it."""

    id: str
    messages: Sequence[Message]
    metadata: dict[str, Any] = {}
    remember: bool = False


class Intake:
    """Takes what arrives into a memory. What is there already, or ever was, is left alone."""

    def __init__(self, memory: Rememberer, format_: str, *, strict: bool = False) -> None:
        self._memory = memory
        self._shelf = Shelf.of(memory)
        self._taken: set[str] = set()
        self.tally = Tally(format_, strict=strict)

    def take_all(self, pieces: Iterator[Piece], read: Callable[[Piece], Sequence[Arrival | Talk]]) -> Imported:
        """Take what ``read`` makes of each piece of a file; what it or the memory refuses is reported."""
        # What was remembered a moment ago is known by its id only once it is in the index.
        self._memory.catch_up()
        batch: list[Piece] = []
        for piece in pieces:
            batch.append(piece)
            if len(batch) >= _BATCH:
                self._take_batch(batch, read)
                batch = []
        self._take_batch(batch, read)
        self._shelf.done()
        return self.tally.report()

    def _take_batch(self, batch: Sequence[Piece], read: Callable[[Piece], Sequence[Arrival | Talk]]) -> None:
        if not batch:
            return
        with self._memory.backend.transaction():
            for piece in batch:
                try:
                    if piece.wrong:
                        raise InvalidInput(piece.wrong)
                    # Inside the other, so that a piece is taken as a whole or not at all.
                    with self._memory.backend.transaction(), self._counted():
                        for one in read(piece):
                            self._take(piece.number, one)
                except (InvalidInput, Conflict) as error:
                    self.tally.problem(piece.number, error)
                except RecursionError:
                    self.tally.problem(piece.number, "it is nested too deep")

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count what was taken only once it is known to stay."""
        mark = self.tally.mark()
        try:
            yield
        except (InvalidInput, Conflict, RecursionError):
            self.tally.back_to(mark)
            raise

    def _take(self, number: int, one: Arrival | Talk) -> None:
        if isinstance(one, Talk):
            self._take_talk(number, one)
        else:
            self._take_arrival(number, one)

    def _take_arrival(self, number: int, one: Arrival) -> None:
        if one.id in self._taken:
            self.tally.skip(number, f"the file has another item with the id {shown(one.id)}, or with the same words")
            return
        self._taken.add(one.id)
        if self._shelf.knows(one.id):
            self.tally.knew()
            return
        ttl = None if one.expires is None else (one.expires - self._memory.clock()).total_seconds()
        if ttl is not None and ttl <= 0:
            self.tally.skip(number, "it has expired")
            return
        done = self._memory.remember(
            one.text,
            id=one.id,
            time=one.time,
            session=one.session,
            kind=one.kind,
            metadata=one.metadata,
            trust=one.trust,
            ttl=ttl,
        )
        self.tally.took("memories", len(done.ids))
        for refused in done.rejected:
            self.tally.skip(number, "; ".join(refused.reasons))

    def _take_talk(self, number: int, talk: Talk) -> None:
        thread = Thread(self._memory.space, talk.id)
        log = self._memory.backend.log
        _check_distinct(talk)
        here = {one.id for one in log.read(thread, ids=[one.id for one in talk.messages])}
        begun = bool(log.threads(thread.space, ids=[thread.id]).items)
        # One that was removed here must not come back, and its id is still taken.
        here |= self._removed(thread, [one for one in talk.messages if one.id not in here]) if begun else set()
        fresh = [one for one in talk.messages if one.id not in here]
        log.append(thread, fresh)
        if not begun:
            log.annotate(thread, metadata=talk.metadata)
            self.tally.took("threads")
        self.tally.took("messages", len(fresh))
        self.tally.knew(len(here))
        if talk.remember and fresh:
            self._remember_messages(number, talk.id, fresh)

    def _removed(self, thread: Thread, missing: Sequence[Message]) -> set[str]:
        if not missing:
            return set()
        log = self._memory.backend.log
        info = log.threads(thread.space, ids=[thread.id]).items[0]
        if info.messages == info.next - info.first:
            return set()
        live = {one.index for one in log.read(thread)}
        gaps = (index for index in range(info.first, info.next) if index not in live)
        held = (version.message for index in gaps for version in log.versions(thread, index))
        return {one.id for one in held if one is not None} & {one.id for one in missing}

    def _remember_messages(self, number: int, session: str, fresh: Sequence[Message]) -> None:
        worded = [one for one in fresh if one.text.strip() and not self._shelf.knows(one.id)]
        done = self._memory.remember(worded, session=session)
        self.tally.took("memories", len(done.ids))
        for refused in done.rejected:
            self.tally.skip(number, "; ".join(refused.reasons))


def _check_distinct(talk: Talk) -> None:
    if len({one.id for one in talk.messages}) != len(talk.messages):
        raise InvalidInput(f"the conversation {shown(talk.id)} has two messages of one id")


# Reading what others wrote


def derived_id(source: str, *parts: object) -> str:
    """An id for something that came without one: the same content has the same id whenever it comes."""
    digest = sha256(msgspec.json.encode([source, *map(str, parts)])).hexdigest()
    return f"{source}:{digest[:32]}"


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be an object, not {shown(value)}")
    return value  # pyright: ignore[reportUnknownVariableType] - JSON's keys are text


def as_list(value: Any, what: str) -> list[Any]:
    """A JSON list. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, list):
        raise InvalidInput(f"{what} must be a list, not {shown(value)}")
    return value  # pyright: ignore[reportUnknownVariableType] - anything may be in it


def as_text(value: Any, what: str) -> str:
    """A text that says something. Raises ``InvalidInput`` for anything else."""
    text = check_text(value, what)
    if not text.strip():
        raise InvalidInput(f"{what} must not be empty")
    return text


def as_moment(value: Any, what: str) -> datetime | None:
    """A time written as ISO 8601 or as seconds since 1970; None stays None. Raises ``InvalidInput`` for anything else."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return as_utc(datetime.fromisoformat(value), what)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"{what} must be a time, not {shown(value)}")


__all__ = ["Arrival", "Intake", "Talk", "as_list", "as_moment", "as_object", "as_text", "derived_id"]
